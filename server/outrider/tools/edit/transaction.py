"""Several changes as one: all of them are in place in the end, or those that were made are taken back.

What cannot be taken back, because somebody else was there in the meantime, is never forced: the result names it.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import uniform

from outrider.ports.clock import Clock
from outrider.ports.model import ToolCall
from outrider.tools.context import Action, ToolContext, ToolResult, error, ok
from outrider.tools.edit import changes
from outrider.tools.edit.changes import TakesBack
from outrider.tools.edit.report import besides
from outrider.workspace.documents.overlay import ReadProblem
from outrider.workspace.edits.apply import PART_GONE
from outrider.workspace.edits.change import Change, NotWritten, Written
from outrider.workspace.paths import Located, folders_down
from outrider.workspace.text.merge import merge
from outrider_protocol.events import EditRejected

MOST_TRIES = 16
"""How often a change is worked out again and tried whose file somebody else changes each time: for some five seconds.

They are counted, not timed, so that a replay gives up where the log does.
"""
_FIRST_PAUSE = 0.01
_LONGEST_PAUSE = 0.5
_SPREAD = (0.5, 1.5)


class Patience:
    """Says whether something is tried again, after a pause: each is longer, and none as long as that of another server."""

    def __init__(self, clock: Clock) -> None:
        """Begin.

        Args:
            clock: Times the pauses.
        """
        self._clock = clock
        self._left = MOST_TRIES
        self._pause = _FIRST_PAUSE

    async def again(self) -> bool:
        """Wait for a while; False if it was tried often enough."""
        if not self._left:
            return False
        self._left -= 1
        await self._clock.sleep(self._pause * uniform(*_SPREAD))  # noqa: S311 - it only spreads
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        return True


@dataclass(frozen=True, slots=True)
class _Done:
    change_id: str
    change: Change
    written: Written


async def write_all(
    context: ToolContext, call: ToolCall, action: Action, ids: Sequence[str]
) -> ToolResult | None:
    """Make the changes of an action in order.

    Args:
        context: Where it happens.
        call: The call that they are for.
        action: What the call does.
        ids: The ids of its changes.

    Returns:
        The result for the model; None if a text is not any more what its change was worked out for, and all is as
        it was before.
    """
    wanted = list(zip(ids, action.changes, strict=True))
    done: list[_Done] = []
    for index, (change_id, change) in enumerate(wanted):
        written = await changes.make(context, call, change_id, change)
        if isinstance(written, Written):
            done.append(_Done(change_id, change, written))
            if not written.stays:
                continue
        for later_id, later in wanted[index + 1 :]:
            changes.record_rejected(context, call, later_id, later, "another change of this call failed")
        if isinstance(written, Written) and len(wanted) == 1:
            return error(changes.in_part(change, written))
        standing = {one.change_id: await _take_back(context, call, one) for one in reversed(done)}
        left = [one for one in done if standing[one.change_id] is not None]
        if isinstance(written, NotWritten) and written.kind == "changed" and not left:
            return None
        if isinstance(written, NotWritten):
            told = changes.not_changed(change, written)
        elif standing[change_id] is None:
            told = f"{change.located.shown} was not changed: {PART_GONE}"
        else:
            told = changes.in_part(change, written)
        if len(wanted) > 1:
            told += "\nIt is one of several changes that are applied together or not at all."
            back = [one.change.located.display for one in done if one not in left]
            told += f"\nReverted: {', '.join(back)}." if back else ""
            told += "".join(
                f"\nStill in place, because it could not be reverted: {_said(one)} "
                f"({standing[one.change_id]})"
                for one in left
            )
            told += "" if left else "\nNothing was changed."
        return error(told + (changes.text_now(written) if isinstance(written, NotWritten) else ""))
    said = "\n".join(changes.said(one.change, one.written) for one in done)
    made = [(one.change, one.written) for one in done]
    judged, told = await asyncio.gather(context.verdicts.after(call, made), besides(context, action, made))
    if judged is None:
        return ok(said + told)
    return replace(ok(said + told + judged.told), verdict=judged.verdict)


async def _take_back(context: ToolContext, call: ToolCall, done: _Done) -> str | None:
    """Take a change back in the text as it is now; a text says why it stays."""
    patience, goes_on = Patience(context.clock), True
    while goes_on:
        inverse = await _inverse(context, done)
        if isinstance(inverse, str):
            return _gave_up(context, call, done, inverse)
        written = await changes.make(
            context, call, context.log.new_id("chg"), inverse, undoes=TakesBack(done.change_id)
        )
        if isinstance(written, Written):
            if (made := done.written.made_folder) is not None:
                at = inverse.located.display
                made_for = [await context.workspace.folders.locate(one) for one in folders_down(made, at)]
                await context.workspace.changes.remove_folders(
                    [one for one in made_for if isinstance(one, Located)]
                )
            return None
        if written.kind != "changed":
            return written.message
        goes_on = await patience.again()
    return _gave_up(context, call, done, "someone is changing it right now")


async def _inverse(context: ToolContext, done: _Done) -> Change | str:
    change, was = done.change, done.written.after
    at = change.to if change.operation == "rename" and change.to is not None else change.located
    there = await context.workspace.texts.read(at)
    if isinstance(there, ReadProblem) and (there.kind != "not_found" or change.operation != "delete"):
        return there.message
    now = None if isinstance(there, ReadProblem) else there.text
    match change.operation:
        case "rename":
            return Change("rename", at, change.located, now, now)
        case "delete":
            if now is not None:
                return "the file exists again"
            return Change("create", at, None, None, change.before, change.encoding, change.mode)
        case "create":
            return Change("delete", at, None, now, None) if now == was else "it was changed afterwards"
        case "edit":
            after, before = change.after or "", change.before or ""
            if done.written.without is not None:
                after, before = was or "", done.written.without
            merged = merge(after, now or "", before)
            if merged.conflicts:
                return "someone changed the same place since"
            return Change("edit", at, None, now, merged.text)


def _said(done: _Done) -> str:
    if done.written.stays:
        return f"a part of the edit of {done.change.located.shown}."
    return changes.said(done.change, done.written)


def _gave_up(context: ToolContext, call: ToolCall, done: _Done, reason: str) -> str:
    context.log.record(
        EditRejected(
            change_id=context.log.new_id("chg"),
            call_id=call.id,
            path=done.change.located.display,
            hunks=[],
            reason=reason,
        )
    )
    return reason
