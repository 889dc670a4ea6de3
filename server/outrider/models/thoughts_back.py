"""Models that want their thoughts back with their answers, wherever they are served, and how those stand in a request.

A server that gives the thoughts in a key of their own gets them back in that key; one that leaves them in the text gets them back there, with the tags that they had. What other models thought goes back only where their server asks for it
(`chat_servers.py`), signed it, or has a place for it: their templates leave it out.

Sources: MiniMax's guide to tool use and interleaved thinking (the whole answer goes back, `<think>` in its content too);
vLLM's page on interleaved thinking (MiniMax M2 and Kimi K2 Thinking); chat templates of MiniMax M3 and Kimi K3.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from outrider.models.dialects.kept import (
    THOUGHT_IN_TEXT,
    CallBlock,
    TextBlock,
    Verbatim,
    blocks_of,
    provider_data,
    thought_in_text,
)
from outrider.ports.model import Message, ModelResponse, ProviderData, ToolCall

_WANTED: Final = re.compile(r"(?<![a-z0-9])(minimax-?m\d|kimi-k(2(\.\d+|-thinking)|[3-9]))")
_IN_TEXT: Final = re.compile(r"(?<![a-z0-9])minimax-?m\d")
_OWN_TAG: Final = re.compile(r"(?<![a-z0-9])minimax-?m[3-9]")
"""Whose tag for thoughts has a name of its own."""


def wants_thoughts(model: str) -> bool:
    """Whether it wants back what a server tells apart.

    Args:
        model: Its name, with or without its provider.
    """
    return _WANTED.search(model.lower()) is not None


def noted(answer: ModelResponse, model: str) -> ModelResponse:
    """The answer, whose thoughts stood in its text, with a note of that for a model that wants them back there.

    Args:
        answer: As it was read.
        model: `provider/name`.
    """
    if not answer.reasoning or answer.provider_data is not None or not _IN_TEXT.search(model.lower()):
        return answer
    said = [TextBlock(answer.text)] if answer.text else []
    blocks = [THOUGHT_IN_TEXT, *said, *(CallBlock(call) for call in answer.tool_calls)]
    return replace(answer, provider_data=provider_data(model, blocks, answer.tool_calls))


def apart(message: Message, text: str, calls: Sequence[ToolCall], model: str) -> ProviderData | None:
    """What goes back word for word with an answer whose text is another one now, as its calls stood or stand in it.

    Args:
        message: The answer as it was.
        text: Its text now.
        calls: Its calls now.
        model: `provider/name` of who is asked.

    Returns:
        What is kept with the new one; None where there was nothing.
    """
    kept = [block for block in blocks_of(message, model) if isinstance(block, Verbatim)]
    if not kept:
        return None
    said = [TextBlock(text)] if text else []
    return provider_data(model, [*kept, *said, *(CallBlock(call) for call in calls)], calls)


def text_of(message: Message, model: str) -> str:
    """The text of an answer as it goes back: with its thoughts before it, if they stood there.

    Args:
        message: The answer.
        model: `provider/name` of who is asked.
    """
    if message.reasoning and thought_in_text(message, model):
        tag = "mm:think" if _OWN_TAG.search(model.lower()) else "think"
        thoughts = f"<{tag}>\n{message.reasoning.strip()}\n</{tag}>"
        return f"{thoughts}\n\n{message.text}" if message.text else thoughts
    return message.text
