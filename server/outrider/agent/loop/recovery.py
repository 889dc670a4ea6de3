"""After a crash: what became of the calls that had begun.

An edit is looked up in the text as it is now and found applied, alone or beside what somebody else wrote, not
applied or altered. A command is not run again: its effect is unknown. A call of a client's tool is handed to the
client again, which knows whether it ran it. What had not begun, or has no effect, is simply run.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from outrider.agent.services import Services
from outrider.agent.state.turn_state import CallState, TurnState
from outrider.ports.model import content_hash
from outrider.ports.text import visible
from outrider.store.log import Store
from outrider.tools.client import HandedTool
from outrider.tools.context import ToolContext, ToolResult
from outrider.tools.edit import changes
from outrider.tools.edit.review import told_of
from outrider.tools.mcp import ServerTool
from outrider.tools.registry import Registry
from outrider.workspace.documents.overlay import ReadProblem
from outrider.workspace.edits.change import NotWritten, Written
from outrider.workspace.edits.cut_off import ALTERED, CutOff
from outrider.workspace.history.journal import Journal
from outrider.workspace.history.records import ChangeRecord
from outrider.workspace.paths import PathProblem
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


async def settle(
    context: ToolContext, services: Services, turn: TurnState, registry: Registry, *, may_ask: bool
) -> None:
    """Give every call whose effect had begun its result.

    Args:
        context: The turn.
        services: The house.
        turn: What the log says of it.
        registry: Its tools.
        may_ask: Whether the user can be asked: else a call that needs it stays cut off.

    Raises:
        StoreReadError: the log is damaged or cannot be read.
    """
    for call in [call for call in turn.calls.values() if call.started and not call.finished]:
        if found := await _found(context, services, call, registry, may_ask=may_ask):
            status, told = found
            result = told_of(ToolResult(status, told), call.reviews, call.notes)
            finished = ToolFinished(
                call_id=call.call.id,
                name=call.call.name,
                status=result.status,
                content=visible(result.content),
            )
            context.log.record(finished)


async def _found(
    context: ToolContext, services: Services, call: CallState, registry: Registry, *, may_ask: bool
) -> tuple[ToolStatus, str] | None:
    """The result of a call that had begun; None if its effect had not, or it stays cut off."""
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
    tool = registry.get(call.call.name)
    if isinstance(tool, str):  # it has begun, so there was one
        return "error", _not_registered(call)
    if call.wanted is not None:
        return None  # its server waited for the user
    if (isinstance(tool, HandedTool) and not isinstance(tool, ServerTool)) or tool.effect in {
        "read",
        "ask",
        "edit",
    }:
        return None
    told = await tool.settle(call.call, context, may_ask=may_ask)
    return None if told is None else ("interrupted", told)


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
        return _record(context, data, ALTERED)
    change = CutOff(
        data["changeId"],
        data["operation"],
        data["path"],
        data.get("to"),
        _text(texts, data.get("before")),
        _text(texts, data.get("after")),
    )
    return _record(context, data, await context.workspace.cut_off.became(change))


def _record(context: ToolContext, data: logged.EditApplying, found: Written | NotWritten) -> Settled:
    if isinstance(found, Written) and found.without is not None and "undoes" in data:
        # Which hunks are back is not known by their numbers; what is left of it belongs to nobody.
        found = ALTERED
    if isinstance(found, NotWritten):
        context.log.record(EditRejected.from_wire({**EditEvent.shared(data), "reason": found.message}))
        return Settled("interrupted", _TOLD[found.kind], missing=found.kind == "not_applied")
    described = ChangeEvent.shared(data)
    blobs: dict[str, bytes] = {}
    if found.without is not None:
        hunks = changes.wire_hunks(found.without, found.after or "")
        described["hunks"] = [hunk.to_wire() for hunk in hunks]
        described["before"] = _kept(found.without, blobs)
    if found.after is not None and (found.merged or found.without is not None):
        described["after"] = _kept(found.after, blobs)
    if found.uri:
        context.buffers.changed(found.uri)
    if found.merged:
        context.log.record(EditMerged.from_wire(described), blobs)
        return Settled("ok", _TOLD["merged"])
    context.log.record(EditApplied.from_wire({**described, "where": found.where}), blobs)
    return Settled("ok", _TOLD["applied"]) if found.without is None else Settled("interrupted", _TOLD["part"])


_TOLD = {
    "applied": "The edit was applied before the server stopped.",
    "merged": "The edit was applied before the server stopped, together with what someone else wrote.",
    "part": "The server stopped during the edit, and only part of it was applied. Read the file before you continue.",
    "not_applied": "The server stopped before the edit was applied. Nothing was changed.",
    "altered": "The server stopped during the edit, and the text is neither the old nor the planned one. Read the file.",
}


def _text(texts: Mapping[str, bytes], digest: str | None) -> str | None:
    return None if digest is None else texts[digest].decode("utf-8", "surrogatepass")


def _kept(text: str, blobs: dict[str, bytes]) -> str:
    encoded = changes.encode(text)
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
