"""The bodies of HTTP answers, unpacked in small pieces: a few bytes can stand for gigabytes, more so if they are packed twice."""

import zlib
from collections.abc import Iterator
from typing import Final

ACCEPTED: Final = "gzip"
"""What a request says in `Accept-Encoding`. Of `deflate` there are two kinds, of which one is taken where it comes unasked."""
AT_ONCE: Final = 64 * 1024
"""Bytes of a piece at most."""
_PACKED: Final = frozenset({"gzip", "x-gzip", "deflate"})
_GZIP_OR_ZLIB: Final = 32 + zlib.MAX_WBITS


class UnpackingError(ValueError):
    """A body is broken, or packed in a way that was not asked for."""


class Unpacking:
    """Unpacks one body, packed once at most."""

    def __init__(self, encoding: str) -> None:
        """Begin.

        Args:
            encoding: Its `Content-Encoding` (RFC 9110, 8.4).

        Raises:
            UnpackingError: The encoding was not asked for.
        """
        named = encoding.strip().lower()
        if named not in _PACKED | {"", "identity"}:
            raise UnpackingError("unknown content encoding")
        self._packed = zlib.decompressobj(_GZIP_OR_ZLIB) if named in _PACKED else None

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        """What a chunk stands for. It may be much: whoever reads it lets others have their turn after each piece.

        Raises:
            UnpackingError: The body is broken.
        """
        if self._packed is None:
            yield chunk
            return
        while chunk:
            try:
                piece = self._packed.decompress(chunk, AT_ONCE)
            except zlib.error as error:
                raise UnpackingError(str(error)) from error
            chunk = self._packed.unconsumed_tail
            yield piece
