"""Brings what the user said with a yes to the model, and what they decided about single hunks into the action too."""

from collections.abc import Sequence
from dataclasses import replace

from outrider.tools.context import Action, ToolResult
from outrider.tools.edit.changes import action_of
from outrider.workspace.edits.review import Review

REVIEWED = "\nThe user reviewed this and decided hunk by hunk:\n"
"""What stands in a result before what the user decided."""
SAID = "\nThe user allowed this and said: "
"""What stands in a result before what the user said with their yes."""


def applied(review: Review, action: Action) -> Action | None:
    """An action with a review in it; None where its hunks are not those that were proposed, or nothing is left."""
    if len(action.changes) != len(review.changes):
        return None
    ids = [was.change_id for was in review.changes]
    left = review.amended(list(zip(ids, action.changes, strict=True)))
    if not left:
        return None
    now = action_of(*(change for _, change in left), note=action.note, whole=action.whole)
    return replace(now, besides=action.besides)


def amended(action: Action, reviews: Sequence[Review]) -> Action:
    """An action with everything that the user has decided about it so far.

    Where one of the reviews does not fit any more the action is as it was worked out: it is asked for anew then.
    """
    if action.as_reviewed:
        return action
    now: Action | None = action
    for review in reviews:
        now = now and applied(review, now)
    return replace(now, as_reviewed=bool(reviews)) if now is not None else action


def told_of(result: ToolResult, reviews: Sequence[Review], notes: Sequence[str]) -> ToolResult:
    """A result that tells the model what the user said with their yes, and decided about hunks of its edit."""
    told = "\n".join(said for review in reviews if (said := review.told(done=result.status == "ok")))
    said = "".join(f"{SAID}{note}" for note in notes) + (f"{REVIEWED}{told}" if told else "")
    if not said or result.status == "denied":
        return result
    return replace(result, content=f"{result.content}{said}")


def untold(content: str) -> str:
    """The content of a result without what `told_of` said besides."""
    return content.partition(SAID)[0].partition(REVIEWED)[0]
