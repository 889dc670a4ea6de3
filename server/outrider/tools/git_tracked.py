"""Which files a repository tracks, read from its index; git shows their texts whether they are asked for or not.

Only what is tracked now is known: a file that was taken out of the index is still in the history.
"""

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from stat import S_ISREG
from typing import Final

from outrider.permissions.secret_files import is_secret_file
from outrider.tools.git_settings import common_folder, find_repository, text_of

MOST_BYTES: Final = 64_000_000
"""Bytes of the largest index that is read."""
_SHA256: Final = re.compile(r"^\s*objectformat\s*=\s*\"?sha256", re.IGNORECASE | re.MULTILINE)
_FLAGS_BYTES: Final = 2
_STAT_BYTES: Final = 40
_EXTENDED: Final = 0x4000
_SPLIT: Final = b"link"


def tracked_files(folder: str, *, secret: bool) -> tuple[str, ...] | None:
    """The absolute paths of the files that the repository of a folder tracks; None where that cannot be read. Blocks.

    Args:
        folder: Where git runs; a real path.
        secret: Only those whose names are those of secrets.
    """
    found = find_repository(folder)
    if found is None:
        return ()
    root, place = found
    index = place / "index"
    try:
        status = index.stat()
        if not S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:  # a pipe or a device would not end
            return None
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        names, secrets = _names(index, _hash_bytes(common_folder(place)), stamp)
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, IndexError):
        return None
    return tuple(f"{root}/{name}" for name in (secrets if secret else names))


@lru_cache(maxsize=8)
def _names(
    index: Path,
    hash_bytes: int,
    stamp: tuple[int, int, int],  # noqa: ARG001 - what is kept is that of this state alone
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    names = tuple(os.fsdecode(name) for name in _entries(index.read_bytes(), hash_bytes))
    return names, tuple(filter(is_secret_file, names))


def _hash_bytes(common: Path) -> int:
    return 32 if _SHA256.search(text_of(common / "config") or "") else 20


def _entries(data: bytes, hash_bytes: int) -> Iterator[bytes]:
    """The names in an index (gitformat-index(5)).

    Raises:
        ValueError: It is not one that can be read here.
        IndexError: It ends too early.
    """
    version = int.from_bytes(data[4:8])
    if data[:4] != b"DIRC" or version not in {2, 3, 4}:
        raise ValueError("not an index of a known version")
    at, name = 12, b""
    for _ in range(int.from_bytes(data[8:12])):
        start = at
        at += _STAT_BYTES + hash_bytes
        flags = int.from_bytes(data[at : at + _FLAGS_BYTES])
        at += _FLAGS_BYTES * (2 if flags & _EXTENDED else 1)
        kept = b""
        if version == 4:
            dropped, at = _number(data, at)
            kept = name[: len(name) - dropped]
        end = data.index(b"\0", at)
        name = kept + data[at:end]
        at = end + 1 if version == 4 else start + ((end - start) // 8 + 1) * 8
        yield name
    if data[at : at + 4] == _SPLIT:
        raise ValueError("the most of it is in another file")


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number of variable length, as packs have for offsets, and where it ends."""
    byte = data[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = data[at]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, at + 1
