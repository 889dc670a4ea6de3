"""`outrider trust`: which workspace folders were said to be trusted, or only to be read."""

import json
import os
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.table import Table

from outrider.cli.exits import ExitCode
from outrider.cli.problems import Problems
from outrider.cli.terminal import visible
from outrider.permissions.policy.trust import TRUST, TrustFile, TrustProblem, Word
from outrider.ports.clock import SystemClock
from outrider.surroundings import surroundings


def open_file() -> TrustFile:
    """The user's file, as it is now; what is wrong in it is told. Blocks."""
    path = surroundings().user_settings.with_name(TRUST)
    file = TrustFile(path, SystemClock(), Problems().warning)
    file.refresh_now()
    return file


def show_folders(file: TrustFile, out: Console | None, raw: TextIO) -> ExitCode:
    """List what was said of folders; 1 if the file cannot be read.

    Args:
        file: The file.
        out: A console for a user; None for one JSON object on `raw`, as `outrider.trust` gives it.
        raw: Where that object goes.
    """
    if out is None:
        _print_folders(file, raw)
    elif words := file.words:
        table = Table(box=None, show_header=False, pad_edge=False)
        for word in words:
            below = "and the folders below" if word.below else ""
            table.add_row(word.trust, visible(word.path), below, word.to_wire().get("added", ""))
        out.print(table)
    elif file.problem is None:
        out.print(f"No folder is listed in {file.path}.")
    return ExitCode.FAILED if file.problem else ExitCode.COMPLETED


def _print_folders(file: TrustFile, raw: TextIO) -> None:
    """What is in the file, and what holds in this folder."""
    here = Path.cwd()
    told: dict[str, object] = {
        "path": str(file.path),
        "folders": [word.to_wire() for word in file.words],
        "workspace": [{"path": str(here), "trust": file.of(os.path.realpath(here))}],
    }
    told |= {"problem": file.problem} if file.problem else {}
    print(json.dumps(told, ensure_ascii=False), file=raw)


def show_done(
    done: Word | TrustProblem, file: TrustFile, out: Console | None, raw: TextIO, before: str = ""
) -> ExitCode:
    """Show what was written down, or taken out; 2 if it was not.

    Args:
        done: What came of it.
        file: The file.
        out: A console for a user; None for what is in the file now, as JSON on `raw`.
        raw: Where that goes.
        before: What stands before the words for a user.
    """
    if isinstance(done, TrustProblem):
        Problems().error(done.message)
        return ExitCode.USAGE
    if out is None:
        _print_folders(file, raw)
    else:
        below = " and the folders below it" if done.below else ""
        out.print(f"{before}{visible(done.path)}{below}: {done.trust}")
    return ExitCode.COMPLETED


def show_forgotten(
    done: Word | TrustProblem | None, folder: Path, file: TrustFile, out: Console | None, raw: TextIO
) -> ExitCode:
    """Show what was taken back of a folder, or of the commands in its settings alone; 2 if nothing was."""
    if done is not None:
        return show_done(done, file, out, raw, "forgotten: ")
    if out is None:
        _print_folders(file, raw)
    else:
        out.print(f"forgotten: what was said of the commands in {visible(str(folder))}")
    return ExitCode.COMPLETED


def absolute(path: Path) -> Path:
    """A path that need not exist, absolute."""
    return path.expanduser().absolute()
