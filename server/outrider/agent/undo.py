"""Taking changes back, and taking that back: a three-way merge into the text as it is now.

What somebody wrote since stays. Where it overlaps with what is taken back, the place is left as it is and
named as a conflict.
"""

from dataclasses import dataclass, field
from pathlib import PurePath

from outrider.ports.model import content_hash
from outrider.store.log import Store
from outrider.tools import changes
from outrider.tools.context import ToolContext
from outrider.workspace.diff import line_hunks
from outrider.workspace.editing import Change
from outrider.workspace.journal import ChangeRecord
from outrider.workspace.merge import merge
from outrider.workspace.overlay import ReadProblem
from outrider.workspace.paths import Located, PathProblem
from outrider_protocol.commands import Conflict, NotUndoable, UndonePath, UndoResult

TIMES_TRIED = 3
"""A change whose file is changed while it is taken back is worked out again."""


@dataclass(slots=True)
class _Report:
    change_id: str = ""
    """The latest change that was made."""
    undone: dict[str, int] = field(default_factory=dict[str, int])
    conflicts: list[Conflict] = field(default_factory=list[Conflict])
    not_undoable: list[NotUndoable] = field(default_factory=list[NotUndoable])


async def take_back(context: ToolContext, store: Store, records: list[ChangeRecord]) -> UndoResult:
    """Take back changes, the latest first.

    Args:
        context: Where it happens.
        store: Where the texts before and after are.
        records: The changes, the latest first.
    """
    report = _Report()
    for record in records:
        await _take_back_one(context, store, record, report)
    return UndoResult(
        change_id=report.change_id,
        undone=[UndonePath(path=path, hunks=hunks) for path, hunks in report.undone.items()],
        conflicts=report.conflicts,
        not_undoable=report.not_undoable,
    )


async def _take_back_one(context: ToolContext, store: Store, record: ChangeRecord, report: _Report) -> None:
    for _ in range(TIMES_TRIED):
        change = await _inverse(context, store, record, report)
        if change is None:
            return
        change_id = context.new_id("chg")
        result = await changes.write(context, None, change_id, change, undoes=record.change_id)
        if result is not None and result.status == "ok":
            hunks = len(line_hunks(change.before or "", change.after or "")) or 1
            report.undone[record.path] = report.undone.get(record.path, 0) + hunks
            report.change_id = change_id
            return
        if result is not None:
            _no(report, record, result.content)
            return
        # The person is typing there: what they wrote belongs into the merge.
    _no(report, record, "somebody is changing it right now; try again")


async def _inverse(
    context: ToolContext, store: Store, record: ChangeRecord, report: _Report
) -> Change | None:
    """The change that takes `record` back in the text as it is now; None: there is none, and the report says why."""
    before, after = await _text(store, record.before), await _text(store, record.after)
    located = await context.folders.locate(record.path)
    if isinstance(located, PathProblem):
        return _no(report, record, located.message)
    if _leads_out(located, record.path):
        return _no(report, record, "a link on its path leads out of the workspace")
    if record.operation == "rename":
        moved = await context.folders.locate(record.to or "")
        if isinstance(moved, PathProblem):
            return _no(report, record, moved.message)
        if _leads_out(moved, record.to or ""):
            return _no(report, record, "a link on its path leads out of the workspace")
        there = await context.overlay.read(moved)
        if isinstance(there, ReadProblem):
            return _no(report, record, there.message)
        return Change("rename", moved, located, there.text, there.text)
    current = await context.overlay.read(located)
    if isinstance(current, ReadProblem) and current.kind != "not_found":
        return _no(report, record, current.message)
    now = None if isinstance(current, ReadProblem) else current.text
    if now == before:
        return None
    if record.operation == "delete":
        if now is not None:
            return _conflict(report, record, 1, "the file exists again")
        return Change("create", located, None, None, before, record.encoding)
    if now is None:
        return _conflict(report, record, 1, "the file does not exist any more")
    if before is None:
        if content_hash(changes.encode(now)) != record.after:
            return _conflict(report, record, 1, "the new file was changed since, so it is not deleted")
        return Change("delete", located, None, now, None)
    merged = merge(after or "", now, before)
    for conflict in merged.conflicts:
        _conflict(report, record, conflict.line, "somebody changed the same place since")
    if merged.text == now:
        return None
    return Change("edit", located, None, now, merged.text)


def _leads_out(located: Located, path: str) -> bool:
    """Whether a path of the workspace is outside by a link: what was approved may have been another place."""
    return not located.inside and not PurePath(path).is_absolute()


async def _text(store: Store, digest: str | None) -> str | None:
    blob = await store.blob(digest) if digest is not None else None
    return None if blob is None else blob.decode("utf-8", "surrogatepass")


def _no(report: _Report, record: ChangeRecord, reason: str) -> None:
    report.not_undoable.append(NotUndoable(what=record.path, reason=reason))


def _conflict(report: _Report, record: ChangeRecord, line: int, reason: str) -> None:
    report.conflicts.append(Conflict(path=record.path, line=line, reason=reason))
