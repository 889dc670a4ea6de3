"""What can be wrong with the store, in words for the user. Nothing here touches a file."""

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, slots=True)
class StoreProblem:
    """Why the log cannot be used. `message` says what is wrong, with which file, and what can be done."""

    reason: Literal["damaged", "foreign", "newer", "unwritable", "locked"]
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
        f"The log {path} is damaged ({detail}). Start Outrider again: if the file itself is damaged, it is kept under "
        "another name, and what can be recovered goes into a new log.",
    )


def foreign(path: Path, detail: object) -> StoreProblem:
    """The file is a database, but no log that this program can use."""
    return StoreProblem(
        "foreign",
        f"The log {path} cannot be used ({detail}). It was not changed: move it and the files beside it "
        f"({path.name}-wal, {path.name}-shm) away to start with an empty log.",
    )


def newer(path: Path, version: int) -> StoreProblem:
    """The file was written by a newer program."""
    return StoreProblem(
        "newer",
        f"The log {path} has schema version {version}, written by a newer Outrider. "
        "It was not changed: install that version, or set another state folder.",
    )


def unwritable(path: Path, detail: object) -> StoreProblem:
    """The file or its folder cannot be written."""
    return StoreProblem(
        "unwritable",
        f"The log {path} cannot be written ({detail}). "
        "Free disk space, check the permissions of the folder, or set another state folder.",
    )


def problem_of(error: sqlite3.Error | OSError, path: Path) -> StoreProblem:
    """The problem that `error`, raised for the log at `path`, stands for."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    # A text that is no UTF-8 is found by Python, which gives no code.
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or "Could not decode" in str(error):
        return damaged(path, error)
    if is_busy(error):
        return StoreProblem(
            "locked",
            f"The log {path} is locked by another program ({error}). End that program or wait, then try again.",
        )
    return unwritable(path, error)


def is_busy(error: Exception) -> bool:
    """Whether waiting may help."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
