"""An edit of which the person chooses the hunks in the editor: what they left out, they rejected."""

from collections.abc import Sequence
from typing import cast

from outrider.ports.model import ToolCall
from outrider.tools import changes
from outrider.tools.changes import Making
from outrider.tools.context import ToolContext
from outrider.tools.result import ToolResult, error, ok
from outrider.tools.review import REVIEWED
from outrider.workspace.change import Change, NotWritten, Written
from outrider.workspace.choosing import REASONS, Chosen, Stop
from outrider.workspace.history.records import hunk_id
from outrider.workspace.review import Proposed, Review
from outrider_protocol.events import ReviewedHunk

TOOK_NOTHING = "The person looked at this in the editor and rejected all of it."
CANCELLED = "The turn was cancelled before the person chose in the editor. Nothing was changed."


async def choose(
    context: ToolContext, call: ToolCall, wanted: Sequence[tuple[str, Change]], stop: Stop
) -> ToolResult | None:
    """Have the person choose, and record what came of it.

    Args:
        context: Where it happens.
        call: The call that the changes are for.
        wanted: The changes, each with its id.
        stop: Says that nobody waits any more.

    Returns:
        The result for the model; None where the person has decided nothing, so that they are to be asked again.
    """
    came: list[Chosen] = []

    async def offer(some: Sequence[Change], _label: str) -> Sequence[Written | NotWritten]:
        came.append(await context.choose(some, stop))
        return came[0].done

    making = [Making(change_id, change) for change_id, change in wanted]
    done = await changes.make_all(context, call, making, write=offer)
    if not came:
        return error(f"Nothing was done: {cast('NotWritten', done[0]).message}")
    match came[0].why_not:
        case None:
            return _told(wanted, came[0])
        case "answered":
            return ToolResult("denied", TOOK_NOTHING)
        case "cancelled":
            return ToolResult("interrupted", CANCELLED)
        case "unclear":
            return error("\n".join(_left_out(wanted, came[0])))
        case _:
            return None


def _told(wanted: Sequence[tuple[str, Change]], chosen: Chosen) -> ToolResult:
    """What is in place, what was left out, and what nobody knows of."""
    there = [
        changes.said(change, written)
        for (_, change), written in zip(wanted, chosen.done, strict=True)
        if isinstance(written, Written)
    ]
    told = _review(wanted, chosen).told()
    lines = [*there, *_left_out(wanted, chosen)]
    return ok("\n".join(lines) + (f"{REVIEWED}{told}" if told else ""))


def _left_out(wanted: Sequence[tuple[str, Change]], chosen: Chosen) -> list[str]:
    """Of the changes of which nothing is in place, and nobody left them out."""
    return [
        f"{changes.not_changed(change, problem)}.{changes.text_now(problem)}"
        for (_, change), problem in zip(wanted, chosen.done, strict=True)
        if isinstance(problem, NotWritten) and problem.message != REASONS["answered"]
    ]


def _review(wanted: Sequence[tuple[str, Change]], chosen: Chosen) -> Review:
    """The choice as a review: what was not taken was rejected."""
    proposed = tuple(
        Proposed(change_id, change.located.display, change.operation, None, tuple(change.difference.hunks))
        for change_id, change in wanted
    )
    left = [
        hunk_id(change_id, number)
        for (change_id, change), taken in zip(wanted, chosen.taken, strict=True)
        for number in range(1, len(change.difference.hunks) + 1)
        if number not in taken
    ]
    return Review(proposed, {name: ReviewedHunk(id=name, decision="reject") for name in left})
