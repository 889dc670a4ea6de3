"""After a crash: what became of the calls that had begun.

An edit is looked up in the text as it is now and found applied, not applied or altered. A command is not run
again: its effect is unknown. A call of a client's tool is handed to the client again, which knows whether it ran
it. What had not begun, or has no effect, is simply run.
"""

from typing import Any

from outrider.agent.state import CallState, TurnState
from outrider.ports.model import content_hash
from outrider.tools import changes
from outrider.tools.client import HandedTool
from outrider.tools.context import ToolContext
from outrider.tools.registry import Registry
from outrider.tools.result import ToolResult
from outrider.tools.review import told_of
from outrider.workspace.history.journal import Journal
from outrider.workspace.overlay import ReadProblem
from outrider.workspace.paths import PathProblem
from outrider_protocol.events import EditApplied, EditRejected, ToolFinished, ToolStatus


async def settle(context: ToolContext, tools: Registry, turn: TurnState) -> None:
    """Give every call whose effect had begun its result."""
    for call in [call for call in turn.calls.values() if call.started and not call.finished]:
        if found := await _found(context, tools, call):
            result = told_of(ToolResult(*found), call.reviews)
            finished = ToolFinished(
                call_id=call.call.id, name=call.call.name, status=result.status, content=result.content
            )
            context.record(finished)


async def _found(context: ToolContext, tools: Registry, call: CallState) -> tuple[ToolStatus, str] | None:
    """The result of a call that had begun; None if its effect had not."""
    if len(call.proposed) > 1 and (call.applying or call.in_place):
        return await _settle_all(context, call)
    for data in list(call.applying.values()):
        return await settle_change(context, data)
    if call.in_place:
        return "ok", "The edit was made; the server stopped just after it."
    if call.returned is not None:
        return "error" if call.returned.is_error else "ok", call.returned.content
    tool = tools.get(call.call.name)
    if isinstance(tool, str):  # it has begun, so there was one
        return "error", _not_registered(call)
    if isinstance(tool, HandedTool) or tool.effect in {"read", "ask", "edit"}:
        return None
    return (
        "interrupted",
        "Interrupted when the server stopped; the effect is unknown. Look before you do it again.",
    )


async def _settle_all(context: ToolContext, call: CallState) -> tuple[ToolStatus, str]:
    """Find out which of the changes of a call are in place. None is made or taken back any more."""
    for data in list(call.applying.values()):
        await settle_change(context, data)
    names = {data["changeId"]: _name(data) for data in call.proposed}
    there = [name for change_id, name in names.items() if change_id in call.in_place]
    if len(there) == len(names):
        return "ok", "The changes were found applied after the server had stopped."
    missing = [name for change_id, name in names.items() if change_id not in call.in_place]
    told = f"The server stopped in the middle of several changes. Not in place: {', '.join(missing)}."
    told += f" In place: {', '.join(there)}." if there else " Nothing was changed."
    return "interrupted", f"{told} Read the files before you go on."


def _name(data: dict[str, Any]) -> str:
    done = f"{data['operation']} {data['path']}"
    return f"{done} to {data['to']}" if "to" in data else done


def _not_registered(call: CallState) -> str:
    gone = f"The client of now has not registered {call.call.name}, so that it cannot be run."
    return f"{gone} Whether the client of then did it is unknown." if call.handed else gone


async def settle_change(context: ToolContext, data: dict[str, Any]) -> tuple[ToolStatus, str]:
    """Find out what became of a change, and record it.

    Args:
        context: Where it happened.
        data: The data of its `edit.applying`.
    """
    renamed = data["operation"] == "rename"
    at, gone = (data["to"], data["path"]) if renamed else (data["path"], None)
    now = await _hash_of(context, at)
    if renamed and now == data.get("after") and await _hash_of(context, gone or "") is not None:
        now = "both"
    described = {
        key: data[key]
        for key in ("changeId", "callId", "path", "operation", "to", "hunks", "encoding", "mode", "folder")
        if key in data
    }
    hashes = {key: data[key] for key in ("before", "after", "undoes", "undoesHunks") if key in data}
    before = None if renamed else data.get("before")
    if data["operation"] == "delete" and now == before and await _is_gone(context, at):
        now = None
    if now == data.get("after"):
        where = await _where(context, at)
        context.record(EditApplied.model_validate({**described, **hashes, "where": where}))
        return "ok", "The edit was found applied after the server had stopped."
    if now == before:
        context.record(
            EditRejected.model_validate({**described, "reason": "the server stopped before it was applied"})
        )
        return "interrupted", "The server stopped before the edit was applied. Nothing was changed."
    context.record(
        EditRejected.model_validate({**described, "reason": "found altered after the server had stopped"})
    )
    return (
        "interrupted",
        "The server stopped during the edit, and the text is neither as before nor as planned. Read it.",
    )


async def unsaved_buffers(context: ToolContext, journal: Journal) -> dict[str, int]:
    """The open documents that the session changed and that are not saved: URI → how often each had been saved."""
    found: dict[str, int] = {}
    for path in {record.to or record.path for record in journal.changes() if record.state == "applied"}:
        located = await context.folders.locate(path)
        if isinstance(located, PathProblem):
            continue
        snapshot = await context.overlay.read(located)
        document = await context.overlay.document_of(located)
        if document is not None and not isinstance(snapshot, ReadProblem) and snapshot.unsaved:
            found[document.uri] = document.saves
    return found


async def _hash_of(context: ToolContext, path: str) -> str | None:
    located = await context.folders.locate(path)
    if isinstance(located, PathProblem):
        return None
    snapshot = await context.overlay.read(located)
    if isinstance(snapshot, ReadProblem):
        return None if snapshot.kind == "not_found" else "unreadable"
    return content_hash(changes.encode(snapshot.text))


async def _is_gone(context: ToolContext, path: str) -> bool:
    """Whether only the document of a deleted file is left, which the editor has not closed."""
    located = await context.folders.locate(path)
    if isinstance(located, PathProblem) or await context.overlay.on_disk(located) is not None:
        return False
    if (document := await context.overlay.document_of(located)) is not None:
        context.documents.set_outdated(document.uri)
    return document is not None


async def _where(context: ToolContext, path: str) -> str:
    located = await context.folders.locate(path)
    is_open = not isinstance(located, PathProblem) and context.documents.get(located.uri) is not None
    return "buffer" if is_open else "disk"
