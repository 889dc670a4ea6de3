"""Which files a repository tracks, read from its index; git shows their texts whether they are asked for or not.

Only what is tracked now is known: a file that was taken out of the index is still in the history.
"""

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from stat import S_ISREG
from typing import Final, NamedTuple

from outrider.permissions.secret_files import is_secret_file
from outrider.tools.git.settings import common_folder, find_repository, text_of

MOST_BYTES: Final = 64_000_000
"""Bytes of the largest index that is read."""
_SHA256: Final = re.compile(r"^\s*objectformat\s*=\s*\"?sha256", re.IGNORECASE | re.MULTILINE)
_FLAGS_BYTES: Final = 2
_STAT_BYTES: Final = 40
_MODE_AT: Final = 24
_TYPE: Final = 0o170000
_REPOSITORY: Final = 0o160000
_EXTENDED: Final = 0x4000
_SPLIT: Final = b"link"


def tracked_files(folder: str, *, secret: bool) -> tuple[str, ...] | None:
    """The absolute paths of the files that the repository of a folder tracks; None where that cannot be read. Blocks.

    Args:
        folder: Where git runs; a real path.
        secret: Only those whose names are those of secrets.
    """
    found = _tracked(folder)
    return None if found is None else tuple(found.secret if secret else found.names)


def tracked_repositories(folder: str) -> tuple[str, ...] | None:
    """The absolute paths of the other repositories that the one of a folder tracks; None where that cannot be read. Blocks.

    Args:
        folder: Where git runs; a real path.
    """
    found = _tracked(folder)
    return None if found is None else found.repositories


class _Tracked(NamedTuple):
    names: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()


def _tracked(folder: str) -> _Tracked | None:
    found = find_repository(folder)
    if found is None:
        return _Tracked()
    root, place = found
    index = place / "index"
    try:
        status = index.stat()
        if not S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:  # a pipe or a device would not end
            return None
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        return _read(root, index, _hash_bytes(common_folder(place)), stamp)
    except FileNotFoundError:
        return _Tracked()
    except (OSError, ValueError, IndexError):
        return None


@lru_cache(maxsize=8)
def _read(
    root: Path,
    index: Path,
    hash_bytes: int,
    stamp: tuple[int, int, int],  # noqa: ARG001 - what is kept is that of this state alone
) -> _Tracked:
    entries = [
        (f"{root}/{os.fsdecode(name)}", mode) for name, mode in _entries(index.read_bytes(), hash_bytes)
    ]
    names = tuple(name for name, _ in entries)
    return _Tracked(
        names,
        tuple(filter(is_secret_file, names)),
        tuple(name for name, mode in entries if mode & _TYPE == _REPOSITORY),
    )


def _hash_bytes(common: Path) -> int:
    return 32 if _SHA256.search(text_of(common / "config") or "") else 20


def _entries(data: bytes, hash_bytes: int) -> Iterator[tuple[bytes, int]]:
    """The names in an index, each with its mode (gitformat-index(5)).

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
        mode = int.from_bytes(data[at + _MODE_AT : at + _MODE_AT + 4])
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
        yield name, mode
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
