"""A conversation as steps: an answer of the model with all that followed it. Between them it may be cut. Pure."""

import json
from collections.abc import Sequence
from typing import Any, cast

from outrider.ports.model import Message, ToolCall

STEERING = "The person says, while you work: "
"""What a text that the person sent to the running turn begins with, as the model gets it."""


def step_starts(messages: Sequence[Message]) -> list[int]:
    """Where the steps begin. A call and its results are never in two of them."""
    return [index for index, message in enumerate(messages) if message.role == "assistant"]


def task_of(messages: Sequence[Message], prompt: str) -> int | None:
    """Where the message is that brought the task with that prompt."""
    for index in range(len(messages) - 1, 0, -1):
        message = messages[index]
        if message.role == "user" and message.text.startswith(prompt):
            return index
    return None


def calls_of(messages: Sequence[Message]) -> dict[str, ToolCall]:
    """All calls, by their ids."""
    return {call.id: call for message in messages for call in message.tool_calls}


def arguments_of(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call; empty where they are no JSON object."""
    try:
        read = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", read) if isinstance(read, dict) else {}
