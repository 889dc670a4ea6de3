"""Files that a command changed and undo cannot restore, as they hold no text: in mode `auto` the user may have them put back at once.

The mode asks nothing before a command because all can be undone. Of these files the copies from before the command are there
until the next one, so they are asked about now. Where the server was killed while the command ran, they are asked about when its turn
goes on.
"""

import asyncio
import hashlib
import json
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from outrider.permissions.policy.decide import Access
from outrider.ports.model import ToolCall
from outrider.tools.context import Action, ToolContext, ToolResult, ok
from outrider.tools.run_command.shown import in_one_line
from outrider.workspace.disk import disk
from outrider.workspace.disk.disk import DiskProblem
from outrider.workspace.paths import Located
from outrider_protocol import KEEP, PUT_BACK
from outrider_protocol.events import TouchedFile, WorkspaceTouched

_MOST_NAMED: Final = 10
_MOST_BYTES: Final = 64 * 1024 * 1024
"""Bytes of a file as the command left it."""


@dataclass(frozen=True, slots=True)
class Copied:
    """A file that was changed or deleted, with what was in it before."""

    located: Located
    path: Path
    content: bytes
    mode: int
    """Its permission bits before."""
    is_gone: bool
    """Whether it was deleted."""

    @property
    def said(self) -> str:
        """How the user is told of it."""
        return f"{self.located.shown} ({'deleted' if self.is_gone else 'changed'})"


async def offer(
    context: ToolContext, call: ToolCall, command: str, found: Sequence[Copied], *, cut_off: bool = False
) -> list[str]:
    """Ask whether these are put back, and do so after a yes.

    Args:
        context: The turn.
        call: The call of the command.
        command: The command.
        found: The files, as they were.
        cut_off: Whether the command was cut off when the server stopped, so that nobody knows who changed them.

    Returns:
        What the result of the call says of it.
    """
    if not found:
        return []
    now = [await asyncio.to_thread(disk.read_bytes, one.path, _MOST_BYTES) for one in found]
    action = _question(found, now, command if cut_off else None)
    if (await context.user.approve(call, action, ())).decision != "put_back":
        return ["the user kept them as they are now"]
    roots = [folder.path for folder in context.workspace.folders.folders]
    problems: list[str] = []
    for one, was in zip(found, now, strict=True):
        problem = await asyncio.to_thread(_restore, one, was, roots)
        if problem is not None:
            problems.append(f"{one.located.shown}, which {problem.message}")
        else:
            how = "created" if one.is_gone else "changed"
            files = [TouchedFile(path=one.located.display, how=how)]
            context.log.record(
                WorkspaceTouched(call_id=call.id, command=f"{PUT_BACK} after: {command[:80]}", files=files)
            )
    done = "they were restored, as the user chose"
    return [f"{done}, but for {'; '.join(problems)}" if problems else done]


def named(found: Sequence[Copied]) -> str:
    """The first of them by name, and how many more there are."""
    names = ", ".join(one.located.shown for one in found[:_MOST_NAMED])
    return f"{names} and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else names


def _restore(one: Copied, now: bytes | DiskProblem, roots: Sequence[Path]) -> DiskProblem | None:
    """Put a file back, if it still is what the question was about. Blocks."""
    taken = in_place_of_folder(one.path, roots) if one.is_gone else one.path
    if taken is not None and (one.is_gone or _is_no_file(taken)):
        # What a folder holds, or a link leads to, is not looked at: it goes where it can be found.
        if problem := disk.move_aside(taken, disk.beside(taken)):
            return problem
        return disk.create(one.path, one.content, parents=True, mode=one.mode)
    if one.is_gone:
        return disk.create(one.path, one.content, parents=True, mode=one.mode)
    return now if isinstance(now, DiskProblem) else disk.replace(one.path, now, one.content)


def in_place_of_folder(path: Path | None, roots: Sequence[Path]) -> Path | None:
    """What is where a folder above a file was, a link or a file, the topmost; None where all are folders, or missing. Blocks.

    Args:
        path: The file.
        roots: The workspace folders.
    """
    root = next((root for root in roots if path is not None and path.is_relative_to(root)), None)
    if path is None or root is None:
        return None
    for folder in reversed(path.relative_to(root).parents[:-1]):
        try:
            if not stat.S_ISDIR(os.lstat(root / folder).st_mode):
                return root / folder
        except OSError:
            return None
    return None


def _is_no_file(path: Path) -> bool:
    """Whether a link, a pipe or a folder has that place. Blocks."""
    with suppress(OSError):
        return not stat.S_ISREG(os.lstat(path).st_mode)
    return False


def _question(found: Sequence[Copied], now: Sequence[bytes | DiskProblem], cut_off: str | None) -> Action:
    async def perform() -> ToolResult:
        return ok("")

    marks = [hashlib.sha256(one).hexdigest() if isinstance(one, bytes) else "" for one in now]
    listed = [[str(one.path), mark] for one, mark in zip(found, marks, strict=True)]
    if cut_off is None:
        these = "the files that the command changed and undo cannot restore"
        why = "They hold no text, or something else has their place now, so a later undo cannot restore them:"
    else:
        these = "the files that are not as they were before the command that was interrupted"
        why = (
            f"“{in_one_line(cut_off)}” was interrupted when the server stopped. Since it began, it or someone else "
            "changed these files:"
        )
    return Action(
        access=Access("edit", paths=[one.located.names for one in found]),
        perform=perform,
        title=f"{PUT_BACK}: {named(found)}",
        summary=f"Restore {these}: {named(found)}",
        detail=f"{why}\n"
        f"{''.join(f'- {one.said}{chr(10)}' for one in found[:_MOST_NAMED])}"
        f"“{PUT_BACK}” restores them as they were before the command; “{KEEP}” leaves them as they are now.",
        digest=hashlib.sha256(json.dumps(listed).encode("utf-8", "surrogatepass")).hexdigest(),
        puts_back=True,
        amid_call=True,
    )
