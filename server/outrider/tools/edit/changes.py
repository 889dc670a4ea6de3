"""A change of a file, from its proposal to its verified end, as events and as something a user can judge."""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from outrider.permissions.policy.decide import Access
from outrider.ports.model import ToolCall
from outrider.ports.text import one_line, visible
from outrider.tools.context import OUTSIDE, Action, ToolContext, ToolResult
from outrider.workspace.documents.overlay import OnDisk
from outrider.workspace.edits.change import Change, NotWritten, Written
from outrider.workspace.history.patch import hidden_in
from outrider.workspace.text.diff import CONTEXT, LineHunk, line_hunks, unified
from outrider.workspace.text.encoding import apart
from outrider.workspace.text.lines import split_lines
from outrider_protocol.events import (
    EditApplied,
    EditApplying,
    EditMerged,
    EditProposed,
    EditRejected,
    GoingFolder,
    RulePattern,
    WireHunk,
)


@dataclass(frozen=True, slots=True)
class TakesBack:
    """What a change takes back."""

    change_id: str
    """The change, or the undo."""
    hunks: tuple[int, ...] | None = None
    """The numbers of the hunks, as the first change counts them; None: all."""


async def action_for(*changes: Change, title: str = "", note: str = "", whole: bool = False) -> Action:
    """What `action_of` gives, worked out in a thread: texts may be long."""
    return await asyncio.to_thread(action_of, *changes, title=title, note=note, whole=whole)


def action_of(*changes: Change, title: str = "", note: str = "", whole: bool = False) -> Action:
    """The action that makes changes, as it is shown to the user.

    Args:
        changes: The changes, in their order.
        title: What they are called together; empty: by their number.
        note: What the result says besides.
        whole: Whether they were worked out without a look at the text that is there.
    """
    for change in changes:
        _ = change.contents  # what is hashed here is not hashed where others wait
    inside = all(change.located.inside and (change.to is None or change.to.inside) for change in changes)
    first = changes[0]
    is_alone = len(changes) == 1
    grant = (
        f"edit:{first.located.uri}" if is_alone and inside and first.operation in {"edit", "create"} else None
    )

    involved = [place for change in changes for place in (change.located, change.to) if place is not None]

    async def perform() -> ToolResult:
        raise AssertionError("a change is written by the executor")

    return Action(
        access=Access("edit", inside=inside, grant=grant, paths=[located.names for located in involved]),
        perform=perform,
        title=(title or (_title(first) if is_alone else _title_of_all(changes)))
        + ("" if inside else OUTSIDE),
        detail=_detail(changes, inside=inside),
        digest=digest(first) if is_alone else _digest_of_all(changes),
        covers=f"further edits of {first.located.shown}" if grant else "",
        always=[RulePattern(tool="edit", path=first.located.display)]
        if grant and not set(first.located.display) & set("*?")
        else (),
        changes=changes,
        note=note,
        whole=whole,
    )


def _title(change: Change) -> str:
    path, (added, removed) = change.located.shown, _counts(change)
    match change.operation:
        case "edit":
            return f"Edit {path} (+{added} −{removed})"
        case "create":
            mode = "" if change.mode is None else f", mode {change.mode:03o}"
            return f"Create {path} (+{added}{mode})"
        case "delete":
            return f"Delete {path} (−{removed})"
        case "rename":
            return f"Rename {path} to {change.to.shown if change.to else ''}"


def _title_of_all(changes: Sequence[Change]) -> str:
    counts = [_counts(change) for change in changes]
    # A file that is renamed and edited is one.
    files = {change.located.uri for change in changes} - {change.to.uri for change in changes if change.to}
    count = f"{len(files)} files" if len(files) != 1 else "1 file"
    return f"Change {count} (+{sum(added for added, _ in counts)} −{sum(removed for _, removed in counts)})"


def _counts(change: Change) -> tuple[int, int]:
    hunks = change.difference.hunks
    return sum(len(split_lines(h.added)) for h in hunks), sum(len(split_lines(h.removed)) for h in hunks)


def _detail(changes: Sequence[Change], *, inside: bool) -> str:
    parts: list[str] = []
    if not inside:
        places = [
            one.resolved for change in changes for one in (change.located, change.to) if one is not None
        ]
        parts.append(f"It resolves to {' and '.join(map(str, places))}.\n")
    if len(changes) > 1:
        parts += [f"{_title(change)}\n" for change in changes] + ["\n"]
    parts += [
        change.difference.unified(change.located.display)
        for change in changes
        if change.operation != "rename"
    ]
    detail = "".join(parts)
    return detail if inside else detail.rstrip("\n")


def _digest_of_all(changes: Sequence[Change]) -> str:
    return hashlib.sha256(json.dumps([digest(change) for change in changes]).encode()).hexdigest()


def digest(change: Change) -> str:
    """Hash of what the user is shown: per hunk the text removed, the text put in and the lines around it.

    Line numbers and versions are not part of it: the same hunk at unchanged text elsewhere is the same effect.
    """
    lines = change.difference.old
    # The real places, too: a link may be turned while the user reads.
    places = [
        (located.uri, str(located.resolved)) for located in (change.located, change.to) if located is not None
    ]
    shown: list[Any] = [change.operation, places]
    shown.append([change.before is None, change.after is None])
    if change.operation == "create" and change.mode is not None:
        shown.append(change.mode)
    for hunk in change.difference.hunks:
        first = hunk.line - 1 - change.difference.skipped
        last = first + len(split_lines(hunk.removed))
        around = [lines[max(0, first - CONTEXT) : first], lines[last : last + CONTEXT]]
        shown.append([hunk.removed, hunk.added, around])
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()


def are_near(earlier: Sequence[Change], later: Sequence[Change]) -> bool:
    """Whether some change would be another one once the earlier ones are made: its lines, or those shown around it, are theirs."""
    return any(_is_near(one, other) for one in earlier for other in later)


def _is_near(earlier: Change, later: Change) -> bool:
    files = [{located.uri for located in (one.located, one.to) if located} for one in (earlier, later)]
    if not files[0] & files[1]:
        return False
    if {earlier.operation, later.operation} != {"edit"}:
        return True
    spans = [
        [(hunk.line, hunk.line + len(split_lines(hunk.removed))) for hunk in one.difference.hunks]
        for one in (earlier, later)
    ]
    return any(a[0] - CONTEXT <= b[1] and b[0] - CONTEXT <= a[1] for a in spans[0] for b in spans[1])


def describe(change_id: str, call: ToolCall | None, change: Change) -> dict[str, Any]:
    """The fields that all edit events of a change share."""
    return {
        "change_id": change_id,
        "call_id": call.id if call else None,
        "path": change.located.display,
        "operation": change.operation,
        "to": change.to.display if change.to else None,
        "hunks": _on_wire(change.difference.hunks),
        "encoding": None if change.encoding == "utf-8" else change.encoding,
        "folder": change.folder.display if change.folder else None,
        "folders": [
            GoingFolder(path=path, mode=f"{mode:03o}") for path, mode in sorted(change.folders.items())
        ]
        or None,
        "mode": None if change.mode is None else f"{change.mode:03o}",
    }


def wire_hunks(before: str, after: str) -> list[WireHunk]:
    """The line hunks between two texts, for the wire."""
    return _on_wire(line_hunks(before, after))


def _on_wire(hunks: Sequence[LineHunk]) -> list[WireHunk]:
    return [WireHunk(line=h.line, removed=h.removed, added=h.added) for h in hunks]


def encode(text: str) -> bytes:
    """A text as its blob."""
    return text.encode("utf-8", "surrogatepass")


def propose(context: ToolContext, call: ToolCall, changes: Sequence[Change]) -> list[str]:
    """Record what was worked out, in one go; gives the ids of the changes."""
    ids: list[str] = []
    for change in changes:
        change_id = context.log.new_id("chg")
        hashes, blobs = _texts(change)
        context.log.record(EditProposed(**describe(change_id, call, change), **hashes), blobs)
        ids.append(change_id)
    return ids


def _taken_back(undoes: TakesBack | None) -> dict[str, Any]:
    if undoes is None:
        return {}
    return {"undoes": undoes.change_id, "undoes_hunks": None if undoes.hunks is None else list(undoes.hunks)}


async def _kept(context: ToolContext, wanted: Sequence[Change]) -> list[dict[str, Any]]:
    """What is about files and their texts do not tell: without it they could not be made again as they are."""
    there = [change.located for change in wanted if change.operation in {"edit", "delete"}]
    found = iter(await context.workspace.texts.on_disk_all(there) if there else ())
    return [
        _besides_text(change, next(found)) if change.operation in {"edit", "delete"} else {}
        for change in wanted
    ]


def _besides_text(change: Change, found: OnDisk | None) -> dict[str, Any]:
    if found is None:
        return {}
    if change.operation == "delete":
        return {"besides": list(found.besides) or None}
    return {
        "encoding": None if found.encoding == "utf-8" else found.encoding,
        "kept_mode": None if found.mode is None else f"{found.mode:03o}",
        "hidden": hidden_in(change.before or "", found.text) or None,
    }


def _texts(change: Change) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The hashes of the texts before and after a change, and those texts by their hash."""
    contents = change.contents
    return {name: digest for name, (digest, _) in contents.items()}, dict(contents.values())


@dataclass(frozen=True, slots=True)
class Making:
    """A change that is to be made."""

    change_id: str
    change: Change
    undoes: TakesBack | None = None


Writer = Callable[[Sequence[Change], str], Awaitable[Sequence[Written | NotWritten]]]
"""Makes changes, which the editor's undo list calls by a label; gives what became of each."""


async def make(
    context: ToolContext,
    call: ToolCall | None,
    change_id: str,
    change: Change,
    *,
    undoes: TakesBack | None = None,
) -> Written | NotWritten:
    """Record a change as applying, on disk before its effect; make it, verify it, and record how it went."""
    return (await make_all(context, call, [Making(change_id, change, undoes)]))[0]


async def make_all(
    context: ToolContext, call: ToolCall | None, wanted: Sequence[Making], *, write: Writer | None = None
) -> list[Written | NotWritten]:
    """Make changes of different files, each for itself: whether one is made says nothing of the others.

    Args:
        context: Where it happens.
        call: The call that they are for; none for an undo.
        wanted: The changes.
        write: What makes them; None: `Editing.write_all`.
    """
    kept = await _kept(context, [one.change for one in wanted])
    for one, besides in zip(wanted, kept, strict=True):
        _begin(context, call, one, besides)
    if problem := await context.log.settled(durable=True):
        done: Sequence[Written | NotWritten] = [NotWritten("failed", problem) for _ in wanted]
    else:
        done = await (write or context.workspace.changes.write_all)(
            [one.change for one in wanted], context.label
        )
    return [
        _end(context, call, one, besides, written)
        for one, besides, written in zip(wanted, kept, done, strict=True)
    ]


def _begin(context: ToolContext, call: ToolCall | None, making: Making, besides: dict[str, Any]) -> None:
    """Record that a change is applying, with its whole text before and after, so that it can be recovered and undone."""
    change = making.change
    described, (hashes, blobs) = describe(making.change_id, call, change), _texts(change)
    place, to_place = context.log.place_of(change.located), change.to and context.log.place_of(change.to)
    applying = EditApplying(
        **described | _taken_back(making.undoes) | besides, **hashes, place=place, to_place=to_place
    )
    context.log.record(applying, blobs)


def _end(
    context: ToolContext,
    call: ToolCall | None,
    making: Making,
    besides: dict[str, Any],
    written: Written | NotWritten,
) -> Written | NotWritten:
    """Record how a change went."""
    change, change_id = making.change, making.change_id
    if isinstance(written, Written) and written.stays and making.undoes is not None:
        # Which hunks are back is not known by their numbers; what is left of it belongs to nobody.
        written = NotWritten("not_applied", written.stays, written.after)
    if isinstance(written, NotWritten):
        record_rejected(context, call, change_id, change, written.message)
        return written
    there = change
    if written.without is not None:
        # The change is what is there of it; what somebody typed meanwhile was there before it.
        there = replace(change, before=written.without, after=written.after)
    elif written.after != change.after:
        there = replace(change, after=written.after)
    hashes, blobs = _texts(there)
    if written.where == "buffer":
        context.buffers.changed(written.uri or change.located.uri)
        if (digest := hashes.get("after")) is not None and written.after is not None:
            context.workspace.watch.note(change.located.display, change.located, written.after, digest)
    told = there if written.without is not None else change
    described = describe(change_id, call, told) | _taken_back(making.undoes) | besides
    described.pop("besides", None)
    if written.merged:
        context.log.record(EditMerged(**described, **hashes), blobs)
    else:
        stays = written.stays or None
        applied = EditApplied(
            **described, **hashes, where=written.where, made_folder=written.made_folder, stays=stays
        )
        context.log.record(applied, blobs)
    return written


def record_rejected(
    context: ToolContext, call: ToolCall | None, change_id: str, change: Change, reason: str
) -> None:
    """Record that a change does not happen."""
    context.log.record(EditRejected(**describe(change_id, call, change), reason=reason))


def said(change: Change, written: Written) -> str:
    """What the model is told of a change that is in place."""
    done = {"edit": "Edited", "create": "Created", "delete": "Deleted", "rename": "Renamed"}[change.operation]
    path = f"{change.located.shown} to {change.to.shown}" if change.to else change.located.shown
    if written.merged and change.operation in {"delete", "rename"} and written.after == change.after:
        left = f"Their text is unsaved, in the open buffer of {change.located.shown}"
        return f"{done} {path}. Someone else typed in it at the same time. {left}."
    if written.merged:
        return f"{done} {path}. Someone else changed the file at the same time; both changes are in it."
    where = " The change is in the open buffer and not saved yet." if written.where == "buffer" else ""
    mode = f" with the mode {change.mode:03o}" if change.operation == "create" and change.mode else ""
    return f"{done} {path}{mode}.{where}"


def in_part(change: Change, written: Written) -> str:
    """What the model is told of a change that is in place in part, or at a wrong place."""
    there = unified(written.without or "", written.after or "", change.located.display)
    return (
        f"{change.located.shown} was not changed as planned: {written.stays}. These changes are in place, unsaved:\n{_cut(there)}"
        "\nRead the file before you continue."
    )


def not_changed(change: Change, problem: NotWritten) -> str:
    """What the model is told of a change that did not happen."""
    return f"{change.located.shown} was not changed: {problem.message}"


def text_now(problem: NotWritten) -> str:
    """The text as it is instead, where that helps; else nothing."""
    return f"\nThe text is now:\n{_cut(apart(problem.current)[1])}" if problem.current is not None else ""


def _cut(text: str, limit: int = 20_000) -> str:
    return text if len(text) <= limit else f"{text[:limit]}\n[{len(text) - limit} further characters]"


MOST_CHARACTERS = 3000
"""Of a diff that is told."""
MOST_COMPARED = 1_000_000
"""Characters of the biggest text that is compared; comparing more takes too long for what it tells."""

By = Literal["editor", "disk", "command", "undo"]

_WAYS: dict[By, str] = {
    "editor": "in the editor",
    "disk": "on disk, by another program",
    "command": "by the command",
    "undo": "by an undo that the user asked for",
}


@dataclass(frozen=True, slots=True)
class Telling:
    """What is said."""

    text: str
    whole: bool
    """Whether it says all of it."""
    compared: bool
    """Whether the texts are small enough to be compared."""


def telling(
    path: str, before: str | None, after: str | None, by: By, why_not: str = "", command: str = ""
) -> Telling:
    """Say what changed between the text that the model knows and the text of now.

    Args:
        path: The file.
        before: The text that it knows; None: there was none.
        after: The text of now; None: there is none.
        by: Who changed it.
        why_not: Why there is no text, if the file is there all the same.
        command: Which command, as it is shown.
    """
    way = f"{_WAYS[by]} `{command}`" if command else _WAYS[by]
    if after is None:
        told = f"changed {way} and can no longer be read: {why_not}" if why_not else f"deleted {way}"
        return Telling(
            f"[{one_line(path)} was {told}.]", whole=True, compared=len(before or "") <= MOST_COMPARED
        )
    before, after = before and apart(before)[1], apart(after)[1]
    compared = len(before or "") <= MOST_COMPARED and len(after) <= MOST_COMPARED
    verb = "created" if before is None else "changed"
    diff = unified(before or "", after, path, context=2) if compared else ""
    if not diff and compared and before is None:
        return Telling(f"[{one_line(path)} was created {way}. It is empty.]", whole=True, compared=True)
    if not diff or len(diff) > MOST_CHARACTERS:
        return Telling(_too_much(path, verb, way), whole=False, compared=compared)
    told = f"[{one_line(path)} was {verb} {way} since you last saw it:]\n{diff}"
    return Telling(visible(told), whole=True, compared=compared)


def telling_without(path: str, by: By) -> Telling:
    """Say that a text changed, where it is not known any more what the model knows of it."""
    return Telling(_too_much(path, "changed", _WAYS[by]), whole=False, compared=False)


def _too_much(path: str, verb: str, way: str) -> str:
    return (
        f"[{one_line(path)} was {verb} {way} since you last saw it. The change is too large to show: read it again "
        "before you rely on it.]"
    )
