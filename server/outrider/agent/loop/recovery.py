"""After a crash: what became of the calls that had begun.

An edit is looked up in the text as it is now and found applied, alone or beside what somebody else wrote, not
applied or altered. A command is not run again: its effect is unknown. A call of a client's tool is handed to the
client again, which knows whether it ran it. What had not begun, or has no effect, is simply run.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from outrider.agent.services import Services
from outrider.agent.state.turn_state import CallState, TurnState
from outrider.ports.model import content_hash
from outrider.ports.text import visible
from outrider.store.log import Store
from outrider.tools.client import HandedTool
from outrider.tools.context import ToolContext, ToolResult
from outrider.tools.edit import changes
from outrider.tools.edit.review import told_of
from outrider.workspace.documents.overlay import ReadProblem, as_seen, is_alike
from outrider.workspace.edits.verify import is_in_place, without_part
from outrider.workspace.history.journal import Journal
from outrider.workspace.history.records import ChangeRecord
from outrider.workspace.paths import PathProblem
from outrider.workspace.text.diff import text_hunks
from outrider.workspace.text.merge import merge
from outrider_protocol import logged
from outrider_protocol.events import (
    ChangeEvent,
    EditApplied,
    EditEvent,
    EditMerged,
    EditRejected,
    ToolFinished,
    ToolStatus,
)


async def settle(context: ToolContext, services: Services, turn: TurnState) -> None:
    """Give every call whose effect had begun its result.

    Raises:
        StoreReadError: the log is damaged or cannot be read.
    """
    for call in [call for call in turn.calls.values() if call.started and not call.finished]:
        if found := await _found(context, services, call):
            status, told = found
            result = told_of(ToolResult(status, told), call.reviews, call.notes)
            finished = ToolFinished(
                call_id=call.call.id,
                name=call.call.name,
                status=result.status,
                content=visible(result.content),
            )
            context.log.record(finished)


async def _found(context: ToolContext, services: Services, call: CallState) -> tuple[ToolStatus, str] | None:
    """The result of a call that had begun; None if its effect had not."""
    if len(call.proposed) > 1 and (call.applying or call.in_place):
        return await _settle_all(context, services.runtime.store, call)
    for data in list(call.applying.values()):
        settled = await settle_change(context, services.runtime.store, data)
        # What was allowed and did not happen is worked out anew; the same effect needs no second yes.
        return None if settled.missing else (settled.status, settled.told)
    if call.in_place:
        return "ok", "The edit was made; the server stopped just after it."
    if call.returned is not None:
        return "error" if call.returned.is_error else "ok", call.returned.content
    tool = services.tools.get(call.call.name)
    if isinstance(tool, str):  # it has begun, so there was one
        return "error", _not_registered(call)
    if isinstance(tool, HandedTool) or tool.effect in {"read", "ask", "edit"}:
        return None
    return (
        "interrupted",
        f"{_what_ran(call)} was interrupted when the server stopped; the effect is unknown. {_LOOK}",
    )


_LOOK = "Check before you do it again."


def _what_ran(call: CallState) -> str:
    """A call, for a user and the model: by its command, if it is one."""
    try:
        given: Any = json.loads(call.call.arguments or "{}")
    except (ValueError, RecursionError):
        given = None
    command = cast("dict[str, Any]", given).get("command") if isinstance(given, dict) else None
    return f"`{command.strip()}`" if isinstance(command, str) else call.call.name


async def _settle_all(context: ToolContext, store: Store, call: CallState) -> tuple[ToolStatus, str] | None:
    """Find out which of the changes of a call are in place. None is taken back any more; None where nothing was begun."""
    found = {
        change_id: await settle_change(context, store, data)
        for change_id, data in list(call.applying.items())
    }
    if not call.in_place and all(one.missing for one in found.values()):
        return None
    names = {data["changeId"]: _name(data) for data in call.proposed}
    whole = [one for one in names if one in call.in_place and (one not in found or found[one].status == "ok")]
    if len(whole) == len(names):
        return "ok", "The changes were applied before the server stopped."
    there = [names[one] for one in whole]
    missing = [name for one, name in names.items() if one not in whole]
    told = f"The server stopped while it made several changes. Not in place: {', '.join(missing)}."
    told += f" In place: {', '.join(there)}." if there else " Nothing was changed."
    return "interrupted", f"{told} Read the files before you continue."


def _name(data: logged.EditProposed) -> str:
    done = f"{data['operation']} {data['path']}"
    return f"{done} to {data['to']}" if "to" in data else done


def _not_registered(call: CallState) -> str:
    gone = f"The current client does not provide {call.call.name}, so it cannot be run."
    return f"{gone} It is unknown whether the previous client ran it." if call.handed else gone


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of a change that was cut off."""

    status: ToolStatus
    told: str
    """What the model is told of it."""
    missing: bool = False
    """Whether it did not happen at all."""


async def settle_change(context: ToolContext, store: Store, data: logged.EditApplying) -> Settled:
    """Find out what became of a change, and record it.

    A change is in place where its hunks are, whatever somebody wrote beside them since.

    Args:
        context: Where it happened.
        store: Where its texts are.
        data: The data of its `edit.applying`.

    Raises:
        StoreReadError: the log is damaged or cannot be read.
    """
    named = {digest for digest in (data.get("before"), data.get("after")) if digest is not None}
    texts = await store.blobs(named)
    if named - texts.keys():
        return await _record(context, _Then(None, None, data), _ALTERED)
    then = _Then(_text(texts, data.get("before")), _text(texts, data.get("after")), data)
    match data["operation"]:
        case "delete":
            outcome = await _deleted(context, then)
        case "rename":
            outcome = await _renamed(context, then)
        case _:
            found = await _look(context, data["path"], then)
            outcome = await asyncio.to_thread(_written, then, found)
    return await _record(context, then, outcome)


@dataclass(frozen=True, slots=True)
class _Then:
    """A change that was cut off, with the texts that it was worked out for."""

    before: str | None
    planned: str | None
    data: logged.EditApplying


@dataclass(frozen=True, slots=True)
class _Now:
    """A file as it is found."""

    text: str | None
    """None: there is none, or it cannot be read."""
    readable: bool = True
    left_open: str | None = None
    """The document that is left of a file that is gone."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What became of a change."""

    kind: Literal["applied", "merged", "part", "not_applied", "altered"]
    after: str | None = None
    """What is there now, of a change that is there with what somebody wrote."""
    without: str | None = None
    """The same without the part of the change that is there."""


_APPLIED, _NOT_APPLIED, _ALTERED = _Outcome("applied"), _Outcome("not_applied"), _Outcome("altered")


def _written(then: _Then, found: _Now) -> _Outcome:
    """What became of an edit, or of a file that was to be made."""
    before, planned, now = then.before, then.planned or "", found.text
    if not found.readable:
        return _ALTERED
    if now is None:
        return _NOT_APPLIED if before is None else _ALTERED
    if is_alike(now, planned):
        return _APPLIED
    if before is None:
        # There was no file, and there is one that has all that was to be in it.
        all_there = planned and not any(hunk.old for hunk in text_hunks(planned, now))
        return _Outcome("merged", now) if all_there else _ALTERED
    if is_alike(now, before):
        return _NOT_APPLIED
    if is_in_place(before, planned, now):
        return _Outcome("merged", now)
    if (without := without_part(before, planned, now)) is not None:
        return _Outcome("part", now, without)
    return _ALTERED if merge(before, now, planned).conflicts else _NOT_APPLIED


async def _deleted(context: ToolContext, then: _Then) -> _Outcome:
    found = await _look(context, then.data["path"], then)
    if not found.readable:
        return _ALTERED
    if found.text is None:
        return _APPLIED
    return _NOT_APPLIED if found.left_open is None else _taken_away(context, then, found, None)


async def _renamed(context: ToolContext, then: _Then) -> _Outcome:
    found, left = (
        await _look(context, then.data.get("to", then.data["path"]), then),
        await _look(context, then.data["path"], then),
    )
    if found.readable and found.text is None:
        return _NOT_APPLIED
    is_gone = left.left_open is not None or (left.readable and left.text is None)
    if found.text is None or not is_gone:
        return _ALTERED
    if left.left_open is not None:
        return _taken_away(context, then, left, found.text)
    return _APPLIED if is_alike(found.text, then.planned) else _Outcome("merged", found.text)


def _taken_away(context: ToolContext, then: _Then, left: _Now, after: str | None) -> _Outcome:
    """A file is gone from its place, and its document is still open: somebody may have written in it."""
    if not is_alike(left.text, then.before) or left.left_open is None:
        return _Outcome("merged", after)
    context.workspace.documents.set_outdated(left.left_open)
    return _APPLIED if is_alike(after, then.planned) else _Outcome("merged", after)


async def _record(context: ToolContext, then: _Then, outcome: _Outcome) -> Settled:
    data = then.data
    if outcome.kind == "part" and "undoes" in data:
        # Which hunks are back is not known by their numbers; what is left of it belongs to nobody.
        outcome = _ALTERED
    if outcome.kind in {"not_applied", "altered"}:
        reason = _REASONS[outcome.kind]
        context.log.record(EditRejected.from_wire({**EditEvent.shared(data), "reason": reason}))
        return Settled("interrupted", _TOLD[outcome.kind], outcome == _NOT_APPLIED)
    described = ChangeEvent.shared(data)
    where = await _where(context, data.get("to", data["path"]))
    blobs: dict[str, bytes] = {}
    if outcome.kind == "part":
        hunks = changes.wire_hunks(outcome.without or "", outcome.after or "")
        described["hunks"] = [hunk.to_wire() for hunk in hunks]
        described["before"] = _kept(outcome.without, blobs)
    if outcome.after is not None:
        described["after"] = _kept(outcome.after, blobs)
    if outcome.kind == "merged":
        context.log.record(EditMerged.from_wire(described), blobs)
    else:
        context.log.record(EditApplied.from_wire({**described, "where": where}), blobs)
    return Settled("interrupted" if outcome.kind == "part" else "ok", _TOLD[outcome.kind])


_REASONS = {
    "not_applied": "the server stopped before it was applied",
    "altered": "found changed after the server stopped",
}
_TOLD = {
    "applied": "The edit was applied before the server stopped.",
    "merged": "The edit was applied before the server stopped, together with what someone else wrote.",
    "part": "The server stopped during the edit, and only part of it was applied. Read the file before you continue.",
    "not_applied": "The server stopped before the edit was applied. Nothing was changed.",
    "altered": "The server stopped during the edit, and the text is neither the old nor the planned one. Read the file.",
}


def _text(texts: Mapping[str, bytes], digest: str | None) -> str | None:
    return None if digest is None else texts[digest].decode("utf-8", "surrogatepass")


def _kept(text: str | None, blobs: dict[str, bytes]) -> str:
    encoded = changes.encode(text or "")
    digest = content_hash(encoded)
    blobs[digest] = encoded
    return digest


async def look_at_documents(context: ToolContext, journal: Journal) -> dict[str, int]:
    """Look at what is open of the files that the session changed.

    A document with the very text with which its file was taken away is what the editor left open: it is outdated, as it
    was before the restart.

    Returns:
        The documents that are not saved: URI → how often each had been saved.
    """
    latest: dict[str, ChangeRecord] = {}
    for record in journal.changes():
        if record.state == "applied":
            latest |= {path: record for path in (record.path, record.to) if path}
    found: dict[str, int] = {}
    for path, record in latest.items():
        located = await context.workspace.folders.locate(path)
        if isinstance(located, PathProblem):
            continue
        snapshot = await context.workspace.texts.read(located)
        document = await context.workspace.texts.document_of(located)
        if document is None or isinstance(snapshot, ReadProblem) or not snapshot.unsaved:
            continue
        is_away = record.operation in {"delete", "rename"} and path == record.path
        if is_away and content_hash(changes.encode(snapshot.text)) == record.before:
            context.workspace.documents.set_outdated(document.uri)
        else:
            found[document.uri] = document.saves
    return found


async def _look(context: ToolContext, path: str, then: _Then) -> _Now:
    """A file, in the way in which the texts of the change were seen."""
    located = await context.workspace.folders.locate(path)
    if isinstance(located, PathProblem):
        return _Now(None)
    snapshot = await context.workspace.texts.read(located)
    if isinstance(snapshot, ReadProblem):
        return _Now(None, readable=snapshot.kind == "not_found")
    only_open = snapshot.source == "buffer" and await context.workspace.texts.on_disk(located) is None
    known = then.before if then.planned is None else then.planned
    text = snapshot.text if known is None else as_seen(snapshot.text, known)
    return _Now(text, left_open=snapshot.uri if only_open else None)


async def _where(context: ToolContext, path: str) -> str:
    located = await context.workspace.folders.locate(path)
    if isinstance(located, PathProblem):
        return "disk"
    if (document := await context.workspace.texts.document_of(located)) is None:
        return "disk"
    snapshot = await context.workspace.texts.read(located)
    if not isinstance(snapshot, ReadProblem) and snapshot.unsaved:
        context.buffers.changed(document.uri)
    return "buffer"
