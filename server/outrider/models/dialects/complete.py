"""What goes to a provider is complete: each call is followed by its one result, in the order of the calls.

The loop sees to that already. A conversation that was cut, summarised or taken over may break it, and every
provider refuses the whole request then. Some refuse an answer without a word as well.
"""

from collections.abc import Sequence

from outrider.ports.model import Message

NO_RESULT = "There is no result: the call was not run, or its result is not there any more."


def completed(messages: Sequence[Message]) -> Sequence[Message]:
    """`messages` with the results of each answer right behind it, missing ones filled in and stray ones left out."""
    done: list[Message] = []
    position = 0
    while position < len(messages):
        message = messages[position]
        position += 1
        if message.role == "tool":
            continue  # the result of no call
        if message.role == "assistant" and not message.tool_calls and not message.text.strip():
            continue  # white space, which says nothing
        done.append(message)
        if not message.tool_calls:
            continue
        results: dict[str | None, Message] = {}
        others: list[Message] = []
        while position < len(messages) and messages[position].role not in ("assistant", "system"):
            later = messages[position]
            position += 1
            if later.role == "tool":
                results.setdefault(later.tool_call_id, later)
            else:
                others.append(later)
        done += [
            results.get(call.id) or Message("tool", NO_RESULT, tool_call_id=call.id)
            for call in message.tool_calls
        ]
        done += others
    return done
