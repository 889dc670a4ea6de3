"""What a command did to files: found by their texts before and after it, and recorded, so that it can be taken back.

Looked at are the files that the model has read or edited, those that are open, and all others of the workspace that
are not ignored. Of these the texts are kept where the workspace is small; else it is only found out which they are,
and they are named as what no undo brings back. What an editor or another session put there meanwhile is not the
command's; of other programs nobody here can tell. Everything is bounded, in number, in size and in time.
"""

import asyncio
import logging
import os
import stat
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from outrider.permissions.policy.commands import Command
from outrider.permissions.secrets.secret_files import is_secret_file
from outrider.ports.model import ToolCall, content_hash
from outrider.ports.text import bytes_spelled_out, is_utf_8
from outrider.tools.context import ToolContext
from outrider.tools.edit.changes import MOST_COMPARED, encode, telling, wire_hunks
from outrider.tools.run_command.put_back import Copied, in_place_of_folder
from outrider.workspace.disk.disk import mode_of
from outrider.workspace.disk.file_stat import Mark, Status, is_being_written, mark_of
from outrider.workspace.documents.documents import Document, uri_key
from outrider.workspace.documents.overlay import ReadProblem, read_text, same_text, unusual, unusual_mode
from outrider.workspace.edits.change import Change
from outrider.workspace.paths import Folders, Located
from outrider.workspace.text.encoding import BOM, Decoded, NoText, decode
from outrider.workspace.text.encoding import encode as as_on_disk
from outrider.workspace.watch.copies import Lost
from outrider.workspace.watch.snapshot import (
    CLOCK_STEP,
    Count,
    Difference,
    EntryDifference,
    differences,
    entry_differences,
    folders_only_in,
)
from outrider_protocol.events import GoingFolder, TouchedFile, WorkspaceChanged, WorkspaceTouched

_CLOCK_STEP = 20_000_000
"""Nanoseconds by which the time of a file may be behind."""


class Meanwhile:
    """Listens from the moment it is made until it is asked to stop."""

    def __init__(self, context: ToolContext) -> None:
        """Begin to listen."""
        workspace = context.workspace
        self._documents, self._editing, self._clock = workspace.documents, workspace.editing, context.clock
        self._saves = {uri_key(one.uri): one.saves for one in self._documents.all()}
        self._texts: dict[str, list[str | None]] = {}
        """What was put there, by the key of the URI; None where the file was taken away."""
        self._held: frozenset[Path] = frozenset()
        """Real paths that other processes held unsaved at the beginning."""
        self._shown: dict[str, dict[int, int]] = {}
        """When an open document first had a text, in nanoseconds since the epoch, by the key of the URI and of the text."""
        self._late = 0
        """Nanoseconds by which the editor may have told of a text after it saved it."""
        for document in self._documents.all():
            self._has(document, 0)
        self._stops = (
            self._documents.subscribe(self._happened),
            self._editing.subscribe(self._written),
        )

    async def hear_out(self) -> None:
        """Wait, after the command, for what an editor may be late to tell."""
        if (late := self._editing.late_seconds) > 0:
            await self._clock.sleep(late)
            self._late = int(late * 1e9)

    async def look(self) -> None:
        """See what other processes hold, before the command begins."""
        self._held = await self._editing.held_elsewhere()

    def stop(self) -> None:
        """Listen no longer."""
        for stop in self._stops:
            stop()

    def wrote(self, path: Path | None) -> bool:
        """Whether somebody else wrote the file of that path."""
        return path is not None and uri_key(path.as_uri()) in self._texts

    def is_theirs(self, path: Path | None, text: str | None) -> bool:
        """Whether what is there now is what somebody else put there, or nothing where they took it away."""
        for theirs in self._texts.get(uri_key(path.as_uri()), ()) if path is not None else ():
            if theirs is None or text is None:
                if theirs is text:
                    return True
            # Some editors end the last line on disk alone.
            elif same_text(theirs, text) or same_text(f"{theirs}\n", text):
                return True
        return False

    def may_be_theirs(self, path: Path | None, text: str | None) -> bool:
        """Whether what is there now may be what somebody else put there, though nobody said so. Blocks.

        An editor that loads what the command wrote has the text later than the disk; one that saves has it before.
        """
        if path is None:
            return False
        if self.wrote(path) or path.resolve() in self._held:
            return True
        since = None if text is None else self._shown.get(uri_key(path.as_uri()), {}).get(_key(text))
        try:
            return since is not None and since <= path.stat().st_ctime_ns + _CLOCK_STEP + self._late
        except OSError:
            return True

    def _has(self, document: Document, since: int) -> None:
        self._shown.setdefault(uri_key(document.uri), {}).setdefault(_key(document.text), since)

    def _happened(self, uri: str) -> None:
        key, document = uri_key(uri), self._documents.get(uri)
        if document is None:
            self._saves.pop(key, None)
            return
        # A document that is opened has the text of a disk that the user looks at; one that comes back was loaded.
        self._has(document, time.time_ns() if key in self._shown else 0)
        if document.saves > self._saves.get(key, 0):
            self._texts.setdefault(key, []).append(document.text)
        self._saves[key] = document.saves

    def _written(self, change: Change) -> None:
        if change.located.path is not None:
            left = None if change.operation in {"delete", "rename"} else change.after
            self._texts.setdefault(uri_key(change.located.uri), []).append(left)
        if change.to is not None:
            self._texts.setdefault(uri_key(change.to.uri), []).append(change.after)


def _key(text: str) -> int:
    """What a text has in common with the ones that editors and the disk make of it."""
    return hash(text.removeprefix(BOM).replace("\r\n", "\n").removesuffix("\n"))


log = logging.getLogger(__name__)

MOST_FILES = 400
"""Files that are compared; those that were known last."""
MOST_CHARACTERS = 32_000_000
"""Of all texts that are kept while a command runs."""
LOOK_SECONDS = 3.0
"""How long one look may take, before the command and after it."""
SETTLE_SECONDS = 2.0
"""How long a file that somebody is writing may take to be written, before it is said what became of it."""
SETTLE_STEP = 0.05
"""How long to wait until such a file is looked at again."""
MOST_SHOWN = 80
"""Characters of the command that stand in what the model is told."""
MOST_NAMED = 20
"""Files that the result names."""
MOST_RECORDED = 5000
"""Files that were not known whose texts are recorded."""
MOST_TOUCHED = 200
"""Files without a text that are recorded by name."""


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
    real: str = ""
    """How its real path is written, where a link leads to it."""

    @property
    def shown(self) -> str:
        """How it is named: a link to it is not what changed."""
        return self.real or self.path


@dataclass(frozen=True, slots=True)
class Before:
    """What there was before a command."""

    known: Sequence[Was]
    """The files that the session knows, and those that are open."""
    count: Count
    """All files of the workspace that are not ignored."""
    meanwhile: Meanwhile


@dataclass(frozen=True, slots=True)
class _Changed:
    was: Was
    now: Decoded | ReadProblem
    bits: int | None
    is_known: bool = True
    was_written_after: bool = False
    """Whether somebody was writing it when the command had ended: the command did not do that, or not alone."""
    came: Sequence[Path] = ()
    """The folders that came with it, the topmost first."""
    went: Mapping[Path, int] = field(default_factory=dict[Path, int])
    """Those that went with it, with their permission bits."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a command did."""

    notes: Sequence[str] = ()
    """What the result of the call says of it; nothing where nothing changed."""
    lost: Sequence[Copied] = ()
    """The files that undo cannot restore, of which there are copies."""


@dataclass(slots=True)
class _Notes:
    """What is said of it: names of files."""

    known: list[str] = field(default_factory=list[str])
    unsure: list[str] = field(default_factory=list[str])
    unshown: list[str] = field(default_factory=list[str])
    others: list[str] = field(default_factory=list[str])
    lost: list[str] = field(default_factory=list[str])
    modes: set[str] = field(default_factory=set[str])
    """The files whose permission bits go back with their text."""


async def before(context: ToolContext, command: Command) -> Before | None:
    """Look at the files, on disk: that is where commands change them.

    Args:
        context: The turn.
        command: What will run; where it only reads, there is nothing to look for.
    """
    if command.only_reads:
        return None
    # From before the look: what is saved while it goes on is not in it.
    meanwhile = Meanwhile(context)
    try:
        await meanwhile.look()
        known = context.knowledge.known_paths()
        opened = [context.workspace.folders.display_of(uri) for uri in context.workspace.documents.uris()]
        paths = list(dict.fromkeys([*opened, *known]))[-MOST_FILES:]
        count = await context.workspace.census.take(contents=True)
        try:
            async with context.clock.timeout(LOOK_SECONDS):
                looked_at = await asyncio.to_thread(_look, context.workspace.folders, paths, frozenset(known))
        except TimeoutError:
            log.warning("no snapshot of the files before the command in %g s", LOOK_SECONDS)
            looked_at = []
    except BaseException:
        meanwhile.stop()
        raise
    return Before(looked_at, count, meanwhile)


@asynccontextmanager
async def held(context: ToolContext, call: ToolCall, before: Before | None) -> AsyncGenerator[None]:
    """Have the copies of the files outlive this process until what the command changed is in the log."""
    if before is None:
        yield
        return
    release = await context.workspace.census.hold(before.count, context.log.turn_id, call.id)
    try:
        yield
    finally:
        await context.log.settled()
        await release()


async def record(context: ToolContext, call: ToolCall, command: str, before: Before | None) -> Recorded:
    """Look at the files again, and record what the command changed.

    Args:
        context: The turn.
        call: The call of the command.
        command: The command.
        before: What was there before it.
    """
    if before is None:
        return Recorded()
    seconds = context.workspace.census.look_seconds
    try:
        after = before.count if before.count.unseen else await context.workspace.census.take(contents=False)
        async with context.clock.timeout(seconds):
            changed = await asyncio.to_thread(_changed, before.known)
            others, touched, lost = await asyncio.to_thread(_others, context.workspace.folders, before, after)
            touched += await asyncio.to_thread(_entries, context.workspace.folders, before, after)
        changed, others = await _settled(context, changed), await _settled(context, others)
        if await _is_open(context, [*changed, *others]):
            await before.meanwhile.hear_out()
    except TimeoutError:
        log.warning("no snapshot of the files after the command in %g s", seconds)
        context.log.record(_touched(call, _shown(command), [], "checking the files took too long"))
        return Recorded(["the files that it changed could not be determined in time"])
    finally:
        before.meanwhile.stop()
    notes = _Notes()
    roots = [folder.path for folder in context.workspace.folders.folders]
    for one in [_with_folders(one, before.count, after) for one in (*changed, *others)]:
        await _record(context, call, _shown(command), one, before.meanwhile, notes)
        lost += await asyncio.to_thread(_displaced, one, roots)
    touched = [one for one in touched if one.how != "mode" or one.path not in notes.modes]
    unseen = before.count.unseen or after.unseen
    if touched or unseen:
        context.log.record(_touched(call, _shown(command), touched, unseen))
    named = {one.was.path for one in (*changed, *others)}
    notes.others += [_how(one) for one in touched if one.how != "mode" or one.path not in named]
    notes.lost += [one.path for one in touched if one.how != "mode"]
    said = [*_said(notes), *([f"what else it changed is unknown: {unseen}"] if unseen else [])]
    return Recorded(said, lost)


async def _settled(context: ToolContext, changed: list[_Changed]) -> list[_Changed]:
    """The same changes once nobody writes to their files any more; those that leave a file as it was are dropped."""
    ends = context.clock.monotonic() + SETTLE_SECONDS
    while unsettled := await asyncio.to_thread(_being_written, changed):
        late = context.clock.monotonic() >= ends
        if not late:
            await context.clock.sleep(SETTLE_STEP)
        again = await asyncio.to_thread(_look_again, unsettled)
        changed = [now for one in changed if (now := again.get(id(one), one)) is not None]
        if late:
            break
    return changed


def _being_written(changed: Sequence[_Changed]) -> list[_Changed]:
    return [one for one in changed if (path := one.was.located.path) is not None and is_being_written(path)]


def _look_again(changed: Sequence[_Changed]) -> dict[int, _Changed | None]:
    """What became of files by now, by the identity of what was known of it; None: they are as they were. Blocks."""
    found: dict[int, _Changed | None] = {}
    for one in changed:
        now = read_text(one.was.located)
        found[id(one)] = None if now == one.was.content else replace(one, now=now, was_written_after=True)
    return found


async def _record(
    context: ToolContext, call: ToolCall, command: str, one: _Changed, meanwhile: Meanwhile, notes: _Notes
) -> None:
    path = one.was.located.path
    is_known = not isinstance(one.now, ReadProblem) or one.now.kind == "not_found"
    if is_known and meanwhile.is_theirs(path, _text(one.now)):
        return
    document = await context.workspace.overlay.document_of(one.was.located)
    unshown = document is not None and not (
        isinstance(one.now, Decoded) and same_text(document.text, one.now.text)
    )
    # Of what was, or is, no text nothing is kept that could be put back, and what is whose is not known otherwise.
    is_kept = isinstance(one.was.content, Decoded) or one.was.content.kind == "not_found"
    is_kept = is_kept and is_known and not _is_recoded(one)
    unsure = is_kept and (
        one.was_written_after or await asyncio.to_thread(meanwhile.may_be_theirs, path, _text(one.now))
    )
    event, blobs = await _event(context, call, command, one, unshown=unshown, unsure=unsure)
    if is_kept and not unsure:
        event = event.model_copy(update={"change_id": context.log.new_id("chg")})
        notes.modes |= {one.was.shown} if event.mode_after is not None else set()
    context.log.record(event, blobs)
    whose = notes.unsure if unsure else notes.unshown if unshown else notes.known
    (whose if one.is_known or unsure or unshown else notes.others).append(_named(one))
    if event.change_id is None or (isinstance(one.now, ReadProblem) and one.now.kind != "not_found"):
        notes.lost.append(one.was.shown)


def _with_folders(one: _Changed, before: Count, after: Count) -> _Changed:
    """With the folders that came or went with a file, as far as both looks tell."""
    path = one.was.located.path
    if path is None or before.unseen or after.unseen:
        return one
    if not isinstance(one.was.content, Decoded) and isinstance(one.now, Decoded):
        return replace(one, came=tuple(folders_only_in(after.entries, before.entries, path)))
    if isinstance(one.was.content, Decoded) and not isinstance(one.now, Decoded):
        return replace(one, went=folders_only_in(before.entries, after.entries, path))
    return one


async def _is_open(context: ToolContext, changed: Sequence[_Changed]) -> bool:
    """Whether a document of any of the files is open."""
    if not context.workspace.documents.all():
        return False
    return any([await context.workspace.overlay.document_of(one.was.located) is not None for one in changed])


def _said(notes: _Notes) -> list[str]:
    said: list[str] = []
    if notes.known:
        said.append(f"it changed files that you have read or that are open: {_listed(notes.known)}")
    if notes.unsure:
        said.append(f"while it ran, it or someone else changed {_listed(notes.unsure)}")
    if notes.unshown:
        said.append(
            f"it changed files on disk whose open buffers still show other text: {_listed(notes.unshown)}"
        )
    if notes.others:
        folders = sum(
            one.endswith(("(folder created)", "(folder deleted)", "(folder mode)")) for one in notes.others
        )
        files = len(notes.others) - folders
        counts = [_counted(files, "another file", "other files"), _counted(folders, "a folder", "folders")]
        said.append(f"it changed {' and '.join(filter(None, counts))}: {_listed(notes.others)}")
    if notes.lost:
        said.append(f"undo cannot restore {_listed(notes.lost)}")
    return said


def _counted(count: int, one: str, several: str) -> str:
    return "" if not count else one if count == 1 else f"{count} {several}"


def _shown(command: str) -> str:
    line = command.strip().splitlines()[0] if command.strip() else ""
    return line if len(line) <= MOST_SHOWN else f"{line[: MOST_SHOWN - 1]}…"


def _touched(call: ToolCall, command: str, files: Sequence[TouchedFile], unseen: str) -> WorkspaceTouched:
    return WorkspaceTouched(
        call_id=call.id,
        command=command,
        files=list(files[:MOST_TOUCHED]),
        more=len(files) - MOST_TOUCHED if len(files) > MOST_TOUCHED else None,
        unseen=unseen or None,
    )


def _others(
    folders: Folders, before: Before, after: Count
) -> tuple[list[_Changed], list[TouchedFile], list[Copied]]:
    """What became of files that nobody knew: those of which both texts are there, the names of the rest, and copies of these. Blocks."""
    known = {str(path) for was in before.known for path in (was.located.path, was.located.resolved)}
    changed: list[_Changed] = []
    touched: list[TouchedFile] = []
    lost: list[Copied] = []
    roots = [(folder.path, Path(os.path.realpath(folder.path))) for folder in folders.folders]
    left = MOST_CHARACTERS
    real_roots = [real for _, real in roots]
    shut_off: set[tuple[int, int]] = set()
    # A search lists files in no order.
    found = sorted(differences(before.count, after), key=lambda one: (one.kind == "created", one.path))
    for one in found:
        located = _as_counted(one.path, folders, roots)
        if located is None:
            continue
        if one.before is not None and in_place_of_folder(located.resolved, real_roots) is not None:
            shut_off.add((one.before.st_dev, one.before.st_ino))
        if one.kind == "mode":
            modes = [f"{_mode(side):03o}" for side in (one.before, one.after) if side is not None]
            touched.append(TouchedFile(path=located.display, how="mode", mode=modes[0], mode_after=modes[1]))
            continue
        if str(one.path) in known:
            continue
        # The log is UTF-8: a name that is none is told, but nothing could be put back there.
        if not is_utf_8(str(one.path)):
            touched.append(TouchedFile(path=located.display, how=one.kind))
            continue
        copied = [
            Copied(located, one.path, one.content, _mode(before_it), one.kind == "deleted")
            for before_it in (one.before,)
            if before_it is not None and one.content is not None
        ]
        if one.after is not None and not stat.S_ISREG(one.after.st_mode):
            lost += copied
            touched.append(TouchedFile(path=located.display, how=one.kind))
            continue
        was, wrote = _was(located, one), before.meanwhile.wrote(one.path)
        if (
            one.kind == "created"
            and one.after is not None
            and (one.after.st_dev, one.after.st_ino) in shut_off
        ):
            was = None  # it was moved, and does not go where it came from by an undo: so it stays
        now = read_text(located) if was is not None or wrote else ReadProblem("unreadable", "")
        if wrote and before.meanwhile.is_theirs(one.path, _text(now)):
            continue
        is_text = isinstance(now, Decoded) and len(now.text) <= MOST_COMPARED
        if was is None or len(changed) >= MOST_RECORDED or not (is_text or one.kind == "deleted"):
            lost += copied
            touched.append(TouchedFile(path=located.display, how=one.kind))
            continue
        size = sum(len(content.text) for content in (was.content, now) if isinstance(content, Decoded))
        if size > left:
            lost += copied
            touched.append(TouchedFile(path=located.display, how=one.kind))
            continue
        left -= size
        bits = None if one.after is None else _mode(one.after)
        changed.append(_Changed(was, now, bits, is_known=False))
    return changed, touched, lost


def left_behind(folders: Folders, lost: Sequence[Lost]) -> list[Copied]:
    """The files that are not as they were before a command that was cut off. Blocks."""
    roots = [(folder.path, Path(os.path.realpath(folder.path))) for folder in folders.folders]
    return [
        Copied(located, one.path, one.content, one.mode, one.is_gone)
        for one in lost
        if (located := _as_counted(one.path, folders, roots)) is not None
    ]


def _as_counted(path: Path, folders: Folders, roots: Sequence[tuple[Path, Path]]) -> Located | None:
    """Where a file was when it was counted, whatever a link in its place, or above it, leads to now. Blocks."""
    located = folders.locate_now(bytes_spelled_out(str(path)))
    if not isinstance(located, Located) or located.own:
        return None
    for root, real in roots:
        if path.is_relative_to(root):
            return replace(located, resolved=real / path.relative_to(root), inside=True)
    return located if located.inside else None


def _displaced(one: _Changed, roots: Sequence[Path]) -> list[Copied]:
    """The file, where its text was known and something else has its place now, or that of a folder above it. Blocks."""
    was, path = one.was, one.was.located.path
    if not isinstance(was.content, Decoded) or path is None or not isinstance(one.now, ReadProblem):
        return []
    is_gone = in_place_of_folder(path, roots) is not None
    try:
        if not is_gone and stat.S_ISREG(os.lstat(path).st_mode):
            return []
    except OSError:
        return []
    content = as_on_disk(was.content.text, was.content.encoding)
    return [Copied(was.located, path, content, was.bits or 0o644, is_gone)]


def _entries(folders: Folders, before: Before, after: Count) -> list[TouchedFile]:
    """What became of links, folders and shut files. Blocks."""
    if before.count.unseen or after.unseen:
        return []
    known = {was.located.resolved for was in before.known}
    found = entry_differences(
        before.count.entries, after.entries, before.count.at - CLOCK_STEP, before.count.files
    )
    return [
        _entry(folders, one)
        for one in found
        if one.kind != "shut" or not (one.path in known or before.meanwhile.wrote(one.path))
    ]


def _entry(folders: Folders, one: EntryDifference) -> TouchedFile:
    modes: tuple[str | None, str | None] = (None, None)
    if one.how == "mode" and one.before is not None and one.after is not None:
        modes = f"{_mode(one.before.status):03o}", f"{_mode(one.after.status):03o}"
    return TouchedFile(
        path=folders.display_of(one.path.as_uri()),
        how=one.how,
        mode=modes[0],
        mode_after=modes[1],
        kind=one.kind,
        to=(one.before.to or None) if one.before is not None else None,
    )


def _was(located: Located, one: Difference) -> Was | None:
    """A file before the command, if it is known well enough to be put back; None if it is not."""
    if one.before is None:
        missing = ReadProblem("not_found", f"{located.display} does not exist")
        return (
            Was(located.display, located, Mark((), is_firm=True), missing, None, None)
            if one.is_sure
            else None
        )
    if one.content is None:
        return None
    content = decode(one.content)
    if isinstance(content, NoText) or len(content.text) > MOST_COMPARED:
        return None
    bits = _mode(one.before)
    return Was(located.display, located, Mark((), is_firm=False), content, unusual(bits), bits)


def _mode(status: Status) -> int:
    return stat.S_IMODE(status.st_mode) & 0o777


def _how(one: TouchedFile) -> str:
    how = f"{one.kind} {one.how}" if one.kind in {"link", "folder"} else one.how
    return one.path if how == "changed" else f"{one.path} ({how})"


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
                content = ReadProblem("too_big", f"{path} is too big to keep")
            else:
                left -= len(content.text)
        bits = mode_of(located.path)
        found.append(Was(path, located, mark, content, unusual_mode(located), bits, _real(folders, located)))
    return found[::-1]


def _real(folders: Folders, located: Located) -> str:
    if not located.inside or located.path == located.resolved:
        return ""
    real = folders.locate_now(str(located.resolved))
    return real.display if isinstance(real, Located) else ""


def _changed(files: Sequence[Was]) -> list[_Changed]:
    """What is not as it was. Blocks."""
    changed: list[_Changed] = []
    for was in files:
        mark = mark_of(was.located.path) if was.located.path is not None else was.mark
        if was.mark.holds(mark):
            continue
        now = read_text(was.located)
        if isinstance(now, Decoded) and len(now.text) > MOST_COMPARED:
            now = ReadProblem("too_big", f"{was.path} is too big to keep")
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
    context: ToolContext, call: ToolCall, command: str, changed: _Changed, *, unshown: bool, unsure: bool
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
    seen = await context.knowledge.seen(changed.was.path)
    if seen is not None and not unshown and seen.text != now:
        told = await asyncio.to_thread(
            telling, changed.was.shown, seen.text, now, "command", why_not, command
        )
    mode, mode_after = changed.was.mode if now is None else None, None
    if was is not None and now is not None and None not in {changed.was.bits, changed.bits}:
        differs = changed.was.bits != changed.bits
        mode, mode_after = (changed.was.bits, changed.bits) if differs else (None, None)

    def shown_folder(folder: Path | None) -> str | None:
        return None if folder is None else context.workspace.folders.display_of(folder.as_uri())

    event = WorkspaceChanged(
        path=changed.was.path,
        hunks=await asyncio.to_thread(wire_hunks, was or "", now or ""),
        before=None if was is None else content_hash(encode(was)),
        after=None if now is None else content_hash(encode(now)),
        by="command",
        call_id=call.id,
        encoding=_encoding(changed),
        mode=None if mode is None else f"{mode:03o}",
        mode_after=None if mode_after is None else f"{mode_after:03o}",
        folder=shown_folder(next(iter(changed.went), None)),
        folders=_going(changed.went),
        made_folder=shown_folder(next(iter(changed.came), None)),
        place=context.log.place_of(changed.was.located),
        unsure=True if unsure else None,
        unshown=True if unshown else None,
        told=told.text if told else None,
        whole=False if told and not told.whole else None,
    )
    return event, blobs


def _going(folders: Mapping[Path, int]) -> list[GoingFolder] | None:
    top = next(iter(folders), None)
    if top is None:
        return None
    return [GoingFolder(path=str(one.relative_to(top)), mode=f"{mode:03o}") for one, mode in folders.items()]


def _text(content: Decoded | ReadProblem) -> str | None:
    return content.text if isinstance(content, Decoded) else None


def _encoding(changed: _Changed) -> Literal["utf-16-le", "utf-16-be"] | None:
    """How the file held its text, if that is not UTF-8."""
    for content in (changed.was.content, changed.now):
        if isinstance(content, Decoded):
            return None if content.encoding == "utf-8" else content.encoding
    return None


def _is_recoded(changed: _Changed) -> bool:
    """Whether the bytes of the text are others than before: an undo would write the text in the encoding of now."""
    was, now = changed.was.content, changed.now
    return isinstance(was, Decoded) and isinstance(now, Decoded) and was.encoding != now.encoding


def _named(changed: _Changed) -> str:
    was, now = changed.was.content, changed.now
    if isinstance(now, ReadProblem) and now.kind == "not_found":
        return f"{changed.was.shown} (deleted)"
    if isinstance(was, ReadProblem) and was.kind == "not_found":
        return f"{changed.was.shown} (created)"
    bits = {changed.was.bits, changed.bits}
    return f"{changed.was.shown} (its mode, too)" if len(bits) > 1 and None not in bits else changed.was.shown


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
