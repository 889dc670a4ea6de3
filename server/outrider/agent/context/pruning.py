"""Leaves old output of tools out of a conversation, that of reads first which a later read or edit made stale. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from outrider.agent.context.compaction import calls_of, step_starts
from outrider.agent.state.memory import Touch
from outrider.ports.model import Message

MOST_IMAGES: Final = 20
MOST_IMAGE_BYTES: Final = 12_000_000
"""Images of one request: in base64 they have 16 MB, and some providers take no longer requests than 20."""
SHORTEST: Final = 400
"""Characters; shorter output is kept."""
STALE: Final = "[Left out: the file was read again or changed since. Read it again if you need it.]"
OLD: Final = "[Left out to save room. Call it again if you need it.]"
_KEPT: Final = frozenset({"ask_user", "update_plan"})
"""Tools whose results are the user's own words, or nothing to speak of."""


def stale_reads(touches: Sequence[Touch]) -> set[str]:
    """The calls of which everything that they read was read again or changed by a later call."""
    later: dict[str, list[Touch]] = {}
    fresh: set[str] = set()
    stale: set[str] = set()
    for touch in reversed(touches):
        after = later.setdefault(touch.path, [])
        if not touch.changed:
            is_stale = any(one.call_id != touch.call_id and one.supersedes(touch) for one in after)
            (stale if is_stale else fresh).add(touch.call_id)
        after.append(touch)
    return stale - fresh


def to_prune(
    messages: Sequence[Message], touches: Sequence[Touch], wanted: int, protected: int = 0
) -> dict[str, str]:
    """The results that are left out, each with the text in its place: stale reads, then the oldest until it is enough.

    Args:
        messages: The conversation.
        touches: What the session's calls read and changed.
        wanted: Bytes that are to be saved.
        protected: Bytes of the latest steps whose output is kept. That of the last step is kept however long it is.
    """
    starts = step_starts(messages)
    end = starts[-1] if starts else 0
    size = sum(message.weight for message in messages[end:])
    for start in reversed(starts[:-1]):
        size += sum(message.weight for message in messages[start:end])
        if size > protected:
            break
        end = start
    calls = calls_of(messages)
    results = [
        message
        for message in messages[:end]
        if message.role == "tool"
        and (len(message.text) >= SHORTEST or message.images)
        and (call := calls.get(message.tool_call_id or "")) is not None
        and call.name not in _KEPT
    ]
    stale, saved, pruned = stale_reads(touches), 0, dict[str, str]()
    for message in results:
        if message.tool_call_id in stale:
            pruned[message.tool_call_id] = STALE
            saved += message.weight
    for message in results:
        if saved >= wanted:
            break
        if message.tool_call_id is not None and message.tool_call_id not in pruned:
            pruned[message.tool_call_id] = OLD
            saved += message.weight
    return pruned


def pruned(messages: Sequence[Message], left_out: dict[str, str]) -> list[Message]:
    """The conversation with these texts as the results of those calls."""
    return [
        replace(message, text=left_out[message.tool_call_id], images=())
        if message.role == "tool" and message.tool_call_id in left_out
        else message
        for message in messages
    ]


def shortened(messages: Sequence[Message], of_calls: Collection[str], limit: int) -> list[Message]:
    """The conversation with the results of those calls cut to `limit` characters each, in their middle, without images."""
    return [
        replace(message, text=_cut(message.text, limit), images=())
        if message.role == "tool" and message.tool_call_id in of_calls and is_longer(message, limit)
        else message
        for message in messages
    ]


def too_many_images(messages: Sequence[Message]) -> list[str]:
    """The calls, in their order, whose images are left out because later ones are as many as a provider takes."""
    count, size, calls = 0, 0, list[str]()
    for message in reversed([one for one in messages if one.images]):
        count += len(message.images)
        size += sum(image.size for image in message.images)
        if message.tool_call_id and (count > MOST_IMAGES or size > MOST_IMAGE_BYTES):
            calls.append(message.tool_call_id)
    return calls[::-1]


def without_images(messages: Sequence[Message], of_calls: Collection[str]) -> list[Message]:
    """The conversation without the images of those calls."""
    return [
        replace(message, text=f"{message.text}\n{OLD}", images=())
        if message.images and message.tool_call_id in of_calls
        else message
        for message in messages
    ]


def is_longer(message: Message, limit: int) -> bool:
    """Whether a result is longer than so many characters; its images count as well."""
    return len(message.text) > limit or (bool(message.images) and message.weight > limit)


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:  # it was an image that made it too long
        return f"{text}\n{OLD}"
    half = limit // 2
    missing = len(text) - 2 * half
    return f"{text[:half]}\n[… {missing} characters left out to save room …]\n{text[len(text) - half :]}"
