"""What an image is, by its first bytes. Pure: nothing is decoded, and no name is believed."""

import struct
from dataclasses import dataclass
from typing import Final

BYTES_LIMIT: Final = 3_750_000
"""Bytes of the largest image that is shown: in base64 it has the 5 MB that every provider takes."""
SIDE_LIMIT: Final = 8_000
"""Pixels of the longest side that every provider takes."""

_PNG: Final = b"\x89PNG\r\n\x1a\n"
_MARKERS_ALONE: Final = frozenset({0x01, *range(0xD0, 0xD9)})
"""Markers of a JPEG that no length follows."""
_NO_FRAME: Final = frozenset({0xC4, 0xC8, 0xCC})
"""Markers among those of frames that begin something else."""


@dataclass(frozen=True, slots=True)
class ImageHead:
    """What the beginning of an image says of it."""

    media_type: str
    width: int
    height: int
    """Pixels."""


def image_head(content: bytes) -> ImageHead | None:
    """What image a content is; None where it is no PNG, JPEG, GIF or WebP, or has no size.

    Source: the PNG specification 5.2 and 11.2.1, the GIF89a specification 17 and 18, ITU-T T.81 annex B, RFC 9649.
    """
    try:
        head = _png(content) or _gif(content) or _webp(content) or _jpeg(content)
    except (struct.error, IndexError):
        return None  # it breaks off
    return head if head is not None and head.width and head.height else None


def _png(content: bytes) -> ImageHead | None:
    if not content.startswith(_PNG) or content[12:16] != b"IHDR":
        return None
    return ImageHead("image/png", *struct.unpack_from(">II", content, 16))


def _gif(content: bytes) -> ImageHead | None:
    if not content.startswith((b"GIF87a", b"GIF89a")):
        return None
    return ImageHead("image/gif", *struct.unpack_from("<HH", content, 6))


def _webp(content: bytes) -> ImageHead | None:
    if content[:4] != b"RIFF" or content[8:12] != b"WEBP":
        return None
    match content[12:16]:
        case b"VP8X":
            low, width, height_low, height = struct.unpack_from("<HBHB", content, 24)
            width, height = (low | width << 16) + 1, (height_low | height << 16) + 1
        case b"VP8L" if content[20] == 0x2F:
            (bits,) = struct.unpack_from("<I", content, 21)
            width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 " if content[23:26] == b"\x9d\x01\x2a":
            width, height = (side & 0x3FFF for side in struct.unpack_from("<HH", content, 26))
        case _:
            return None
    return ImageHead("image/webp", width, height)


def _jpeg(content: bytes) -> ImageHead | None:
    if not content.startswith(b"\xff\xd8\xff"):
        return None
    at = 2
    while content[at] == 0xFF:
        marker = content[at + 1]
        if marker == 0xFF:  # filled up
            at += 1
        elif marker in _MARKERS_ALONE:
            at += 2
        elif 0xC0 <= marker <= 0xCF and marker not in _NO_FRAME:
            height, width = struct.unpack_from(">HH", content, at + 5)
            return ImageHead("image/jpeg", width, height)
        else:
            (length,) = struct.unpack_from(">H", content, at + 2)
            at += 2 + max(length, 2)
    return None
