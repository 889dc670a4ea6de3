"""What can be wrong with the store, in words for the person. Nothing here touches a file."""

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, slots=True)
class StoreProblem:
    """Why the log cannot be used. `message` says what is wrong, with which file, and what can be done."""

    reason: Literal["damaged", "newer", "unwritable", "locked"]
    message: str


class StoreReadError(Exception):
    """A read met a damaged row or file; rare, as opening the log finds most damage."""

    def __init__(self, problem: StoreProblem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def damaged(path: Path, detail: object) -> StoreProblem:
    """The file is not what was written."""
    return StoreProblem(
        "damaged",
        f"The log {path} is damaged ({detail}). It is left as it is: move it and the files beside it "
        f"({path.name}-wal, {path.name}-shm) away to start with an empty log, or put a copy of it back.",
    )


def newer(path: Path, version: int) -> StoreProblem:
    """The file was written by a newer program."""
    return StoreProblem(
        "newer",
        f"The log {path} has schema version {version}, written by a newer Outrider. "
        "It is left as it is: install that version, or set another state folder.",
    )


def unwritable(path: Path, detail: object) -> StoreProblem:
    """The file or its folder cannot be written."""
    return StoreProblem(
        "unwritable",
        f"The log {path} cannot be written ({detail}). "
        "Make room on the disk, check who may write there, or set another state folder.",
    )


def problem_of(error: sqlite3.Error | OSError, path: Path) -> StoreProblem:
    """The problem that `error`, raised for the log at `path`, stands for."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return damaged(path, error)
    if is_busy(error):
        return StoreProblem(
            "locked",
            f"The log {path} is held by another program ({error}). End that program or wait, then try again.",
        )
    return unwritable(path, error)


def is_busy(error: Exception) -> bool:
    """Whether waiting may help."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
