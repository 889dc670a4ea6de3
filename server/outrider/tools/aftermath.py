"""What a command did to the files that the session knows: found by their texts before and after it, and recorded.

Known are the files that the model has read or edited, and those that are open. What else a command changed, nobody
here can know. Everything is bounded, in number, in size and in time.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from outrider.permissions.secret_files import is_secret_file
from outrider.ports.model import ToolCall, content_hash
from outrider.tools.changes import encode, wire_hunks
from outrider.tools.context import ToolContext
from outrider.tools.told import MOST_COMPARED, telling
from outrider.workspace.disk import mode_of
from outrider.workspace.encoding import Decoded
from outrider.workspace.marks import Mark, mark_of
from outrider.workspace.overlay import ReadProblem, read_text, same_text, unusual_mode
from outrider.workspace.paths import Folders, Located
from outrider_protocol.events import WorkspaceChanged

log = logging.getLogger(__name__)

MOST_FILES = 400
"""Files that are compared; those that were known last."""
MOST_CHARACTERS = 32_000_000
"""Of all texts that are kept while a command runs."""
LOOK_SECONDS = 3.0
"""How long one look may take, before the command and after it."""
MOST_SHOWN = 80
"""Characters of the command that stand in what the model is told."""
MOST_NAMED = 20
"""Files that the result names."""


@dataclass(frozen=True, slots=True)
class Was:
    """A file before the command."""

    path: str
    located: Located
    mark: Mark
    content: Decoded | ReadProblem
    mode: int | None
    """Its permission bits, where they are not those of any new file."""
    bits: int | None
    """Its permission bits."""


@dataclass(frozen=True, slots=True)
class _Changed:
    was: Was
    now: Decoded | ReadProblem
    bits: int | None


async def before(context: ToolContext) -> Sequence[Was]:
    """Look at the files that the session knows, on the disk: that is where commands change them."""
    known = context.known_paths()
    opened = [context.folders.display_of(uri) for uri in context.documents.uris()]
    paths = list(dict.fromkeys([*opened, *known]))[-MOST_FILES:]
    try:
        async with context.clock.timeout(LOOK_SECONDS):
            return await asyncio.to_thread(_look, context.folders, paths, frozenset(known))
    except TimeoutError:
        log.warning("the files before the command could not be looked at in %g s", LOOK_SECONDS)
        return ()


async def record(context: ToolContext, call: ToolCall, command: str, files: Sequence[Was]) -> list[str]:
    """Look at the files again, and record what the command changed.

    Args:
        context: The turn.
        call: The call of the command.
        command: The command.
        files: What was there before it.

    Returns:
        What the result of the call says of it; nothing where nothing changed.
    """
    try:
        async with context.clock.timeout(LOOK_SECONDS):
            changed = await asyncio.to_thread(_changed, files)
    except TimeoutError:
        log.warning("the files after the command could not be looked at in %g s", LOOK_SECONDS)
        return ["which files it changed could not be found out in time"]
    shown: list[str] = []
    under: list[str] = []
    lost: list[str] = []
    line = command.strip().splitlines()[0] if command.strip() else ""
    line = line if len(line) <= MOST_SHOWN else f"{line[: MOST_SHOWN - 1]}…"
    for one in changed:
        document = await context.overlay.document_of(one.was.located)
        unshown = document is not None and not (
            isinstance(one.now, Decoded) and same_text(document.text, one.now.text)
        )
        event, blobs = await _event(context, call, line, one, unshown=unshown)
        context.record(event, blobs)
        (under if unshown else shown).append(_named(one))
        if event.change_id is None or (isinstance(one.now, ReadProblem) and one.now.kind != "not_found"):
            lost.append(one.was.path)
    notes: list[str] = []
    if shown:
        notes.append(f"it changed files that you know or that are open: {_listed(shown)}")
    if under:
        notes.append(
            f"it changed files on the disk whose open buffers still have their own text: {_listed(under)}"
        )
    if lost:
        notes.append(f"no undo can bring back {_listed(lost)}")
    return notes


def _look(folders: Folders, paths: Sequence[str], known: frozenset[str]) -> list[Was]:
    """The files of these paths as they are. Blocks."""
    found: list[Was] = []
    looked_at: set[Path | None] = set()
    left = MOST_CHARACTERS
    for path in reversed(paths):
        located = folders.locate_now(path)
        if not isinstance(located, Located) or located.own or located.path is None or is_secret_file(path):
            continue
        if located.resolved in looked_at or (not located.inside and path not in known):
            continue
        looked_at.add(located.resolved)
        mark = mark_of(located.path)
        content = read_text(located)
        if isinstance(content, Decoded):
            if len(content.text) > min(left, MOST_COMPARED):
                content = ReadProblem("too_big", f"{path} is too big to be kept")
            else:
                left -= len(content.text)
        found.append(Was(path, located, mark, content, unusual_mode(located), mode_of(located.path)))
    return found[::-1]


def _changed(files: Sequence[Was]) -> list[_Changed]:
    """What is not as it was. Blocks."""
    changed: list[_Changed] = []
    for was in files:
        mark = mark_of(was.located.path) if was.located.path is not None else was.mark
        if was.mark.holds(mark):
            continue
        now = read_text(was.located)
        if isinstance(now, Decoded) and len(now.text) > MOST_COMPARED:
            now = ReadProblem("too_big", f"{was.path} is too big to be kept")
        if isinstance(was.content, ReadProblem) and isinstance(now, ReadProblem):
            # There are no texts to compare; what the system says of the file is all there is.
            differs = was.content.kind != now.kind or was.mark.numbers != mark.numbers
        else:
            differs = was.content != now
        if differs:
            bits = None if was.located.path is None else mode_of(was.located.path)
            changed.append(_Changed(was, now, bits))
    return changed


async def _event(
    context: ToolContext, call: ToolCall, command: str, changed: _Changed, *, unshown: bool
) -> tuple[WorkspaceChanged, dict[str, bytes]]:
    was, now = _text(changed.was.content), _text(changed.now)
    why_not = (
        changed.now.message
        if isinstance(changed.now, ReadProblem) and changed.now.kind != "not_found"
        else ""
    )
    blobs = {
        content_hash(encoded): encoded
        for encoded in (encode(text) for text in (was, now) if text is not None)
    }
    told = None
    seen = await context.seen(changed.was.path)
    if seen is not None and not unshown and seen.text != now:
        told = await asyncio.to_thread(telling, changed.was.path, seen.text, now, "command", why_not, command)
    # Of what was no text before nothing is kept that could be put back.
    is_kept = isinstance(changed.was.content, Decoded) or changed.was.content.kind == "not_found"
    mode, mode_after = changed.was.mode if now is None else None, None
    if was is not None and now is not None and None not in {changed.was.bits, changed.bits}:
        differs = changed.was.bits != changed.bits
        mode, mode_after = (changed.was.bits, changed.bits) if differs else (None, None)
    event = WorkspaceChanged(
        path=changed.was.path,
        hunks=await asyncio.to_thread(wire_hunks, was or "", now or ""),
        before=None if was is None else content_hash(encode(was)),
        after=None if now is None else content_hash(encode(now)),
        by="command",
        change_id=context.new_id("chg") if is_kept else None,
        call_id=call.id,
        encoding=_encoding(changed),
        mode=None if mode is None else f"{mode:03o}",
        mode_after=None if mode_after is None else f"{mode_after:03o}",
        unshown=True if unshown else None,
        told=told.text if told else None,
        whole=False if told and not told.whole else None,
    )
    return event, blobs


def _text(content: Decoded | ReadProblem) -> str | None:
    return content.text if isinstance(content, Decoded) else None


def _encoding(changed: _Changed) -> Literal["utf-16-le", "utf-16-be"] | None:
    """How the file held its text, if that is not UTF-8."""
    for content in (changed.was.content, changed.now):
        if isinstance(content, Decoded):
            return None if content.encoding == "utf-8" else content.encoding
    return None


def _named(changed: _Changed) -> str:
    was, now = changed.was.content, changed.now
    if isinstance(now, ReadProblem) and now.kind == "not_found":
        return f"{changed.was.path} (deleted)"
    if isinstance(was, ReadProblem) and was.kind == "not_found":
        return f"{changed.was.path} (created)"
    return changed.was.path


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
