"""A change of a file, from its proposal to its verified end, as events and as something a person can judge."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from outrider.permissions.decide import Access
from outrider.ports.model import ToolCall, content_hash
from outrider.tools.context import Action, ToolContext
from outrider.tools.result import ToolResult, error, ok
from outrider.workspace.diff import line_hunks, split_lines, unified
from outrider.workspace.editing import Change, Written
from outrider_protocol.events import (
    EditApplied,
    EditApplying,
    EditMerged,
    EditProposed,
    EditRejected,
    WireHunk,
)

OUTSIDE = " outside the workspace"
"""What the title of an approval ends with, if what it is for does not stay inside."""
CONTEXT_LINES = 3
"""Lines around a hunk that belong to what was approved."""


@dataclass(frozen=True, slots=True)
class TakesBack:
    """What a change takes back."""

    change_id: str
    """The change, or the undo."""
    hunks: tuple[int, ...]
    """The numbers of the hunks, as the first change counts them."""


def action_for(change: Change) -> Action:
    """The action that makes `change`, as it is shown to the person."""
    path, inside = change.located.display, change.located.inside and (change.to is None or change.to.inside)
    before, after = change.before or "", change.after or ""
    hunks = line_hunks(before, after)
    removed = sum(len(split_lines(hunk.removed)) for hunk in hunks)
    added = sum(len(split_lines(hunk.added)) for hunk in hunks)
    titles = {
        "edit": f"Edit {path} (+{added} −{removed})",
        "create": f"Create {path} (+{added})",
        "delete": f"Delete {path} (−{removed})",
        "rename": f"Rename {path} to {change.to.display if change.to else ''}",
    }
    grant = f"edit:{change.located.uri}" if inside and change.operation in {"edit", "create"} else None

    places = [str(located.resolved) for located in (change.located, change.to) if located is not None]
    detail = unified(before, after, path) if change.operation != "rename" else ""

    async def perform() -> ToolResult:
        raise AssertionError("a change is written by the executor")

    return Action(
        access=Access("edit", inside=inside, grant=grant),
        perform=perform,
        title=titles[change.operation] + ("" if inside else OUTSIDE),
        detail=detail if inside else f"It resolves to {' and '.join(places)}.\n{detail}".rstrip("\n"),
        digest=digest(change),
        covers=f"further edits of {path}" if grant else "",
        change=change,
    )


def digest(change: Change) -> str:
    """Hash of what the person is shown: per hunk the text removed, the text put in and the lines around it.

    Line numbers and versions are not part of it: the same hunk at unchanged text elsewhere is the same effect.
    """
    lines = split_lines(change.before or "")
    # The real places, too: a link may be turned while the person reads.
    places = [
        (located.uri, str(located.resolved)) for located in (change.located, change.to) if located is not None
    ]
    shown: list[Any] = [change.operation, places]
    shown.append([change.before is None, change.after is None])
    for hunk in line_hunks(change.before or "", change.after or ""):
        first = hunk.line - 1
        last = first + len(split_lines(hunk.removed))
        around = [lines[max(0, first - CONTEXT_LINES) : first], lines[last : last + CONTEXT_LINES]]
        shown.append([hunk.removed, hunk.added, around])
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()


def describe(change_id: str, call: ToolCall | None, change: Change) -> dict[str, Any]:
    """The fields that all edit events of a change share."""
    return {
        "change_id": change_id,
        "call_id": call.id if call else None,
        "path": change.located.display,
        "operation": change.operation,
        "to": change.to.display if change.to else None,
        "hunks": wire_hunks(change.before or "", change.after or ""),
    }


def wire_hunks(before: str, after: str) -> list[WireHunk]:
    """The line hunks between two texts, for the wire."""
    return [WireHunk(line=h.line, removed=h.removed, added=h.added) for h in line_hunks(before, after)]


def encode(text: str) -> bytes:
    """A text as its blob."""
    return text.encode("utf-8", "surrogatepass")


def record_proposed(context: ToolContext, call: ToolCall, change_id: str, change: Change) -> None:
    """Record what is about to be asked for."""
    hashes, blobs = _texts(change)
    context.record(EditProposed(**describe(change_id, call, change), **hashes), blobs)


def _record_applying(
    context: ToolContext, call: ToolCall | None, change_id: str, change: Change, undoes: TakesBack | None
) -> None:
    # With its whole text before and after, so that it can be recovered and undone.
    hashes, blobs = _texts(change)
    context.record(EditApplying(**describe(change_id, call, change), **hashes, **_taken_back(undoes)), blobs)


def _taken_back(undoes: TakesBack | None) -> dict[str, Any]:
    return {} if undoes is None else {"undoes": undoes.change_id, "undoes_hunks": list(undoes.hunks)}


def _texts(change: Change) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The hashes of the texts before and after a change, and those texts by their hash."""
    texts = {"before": change.before, "after": change.after}
    encoded = {name: encode(text) for name, text in texts.items() if text is not None}
    hashes = {name: content_hash(text) for name, text in encoded.items()}
    return hashes, {hashes[name]: text for name, text in encoded.items()}


async def write(
    context: ToolContext,
    call: ToolCall | None,
    change_id: str,
    change: Change,
    *,
    undoes: TakesBack | None = None,
) -> ToolResult | None:
    """Record a change as applying, on the disk before its effect; make it, verify it, and record how it went.

    Returns:
        The result for the model; None if the text is not any more what the change was worked out for.
    """
    _record_applying(context, call, change_id, change, undoes)
    if problem := await context.settled(durable=True):
        context.record(EditRejected(**describe(change_id, call, change), reason=problem))
        return error(f"Nothing was done: {problem}")
    written = await context.editing.write(change, context.label)
    if isinstance(written, Written):
        return _record_written(context, call, change_id, change, written, undoes)
    context.record(EditRejected(**describe(change_id, call, change), reason=written.message))
    if written.kind == "changed":
        return None
    now = f"\nThe text is now:\n{_cut(written.current)}" if written.current is not None else ""
    return error(f"{change.located.display} was not changed: {written.message}{now}")


def _record_written(
    context: ToolContext,
    call: ToolCall | None,
    change_id: str,
    change: Change,
    written: Written,
    undoes: TakesBack | None,
) -> ToolResult:
    described = describe(change_id, call, change)
    hashes: dict[str, Any] = {
        "before": None if change.before is None else content_hash(encode(change.before)),
        "after": None if written.after is None else content_hash(encode(written.after)),
    }
    blobs = {} if written.after is None else {content_hash(encode(written.after)): encode(written.after)}
    done = {"edit": "Edited", "create": "Created", "delete": "Deleted", "rename": "Renamed"}[change.operation]
    path = f"{described['path']} to {described['to']}" if change.to else described["path"]
    if written.where == "buffer":
        context.changed_buffer(written.uri or change.located.uri)
    if written.merged:
        context.record(EditMerged(**described, **hashes, **_taken_back(undoes)), blobs)
        return ok(f"{done} {path}. Somebody else changed the file at the same time; both changes are in it.")
    context.record(EditApplied(**described, **hashes, **_taken_back(undoes), where=written.where), blobs)
    where = " The change is in the open buffer and not saved yet." if written.where == "buffer" else ""
    return ok(f"{done} {path}.{where}")


def _cut(text: str, limit: int = 20_000) -> str:
    return text if len(text) <= limit else f"{text[:limit]}\n[{len(text) - limit} further characters]"
