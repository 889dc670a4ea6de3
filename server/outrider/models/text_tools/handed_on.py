"""Calls that nobody read: a server handed them on as text, or the model was told of another format than it writes."""

from collections.abc import Mapping, Sequence
from typing import Final

from outrider.models.text_tools.formats import FORMATS, read_message
from outrider.models.text_tools.reading import Call
from outrider.ports.model import ToolSpec

_MARKS: Final[Mapping[str, tuple[str, ...]]] = {
    "qwen3-coder-xml": ("<function=",),
    "hermes": ("<tool_call>", "<function_call>"),
    "llama3-json": ("<|python_tag|>",),
    "llama4-pythonic": ("<|python_start|>",),
    "mistral": ("[TOOL_CALLS]",),
    "deepseek": ("<｜",),
    "glm-xml": ("<arg_key>",),
    "kimi": ("<|tool_call_begin|>",),
    "granite": ("<|tool_call|>",),
    "harmony": ("<|channel|>",),
    "minimax-xml": ("<invoke name=",),
    "gemma": ("```tool_code", "<start_function_call>", "<|tool_call>"),
    "lfm2": ("<|tool_call_start|>",),
    "outrider": ("<call tool=",),
}
"""What stands in a call of these formats and hardly in anything else; the narrower ones first."""


def handed_on(
    text: str, tools: Sequence[ToolSpec], likely: str | None = None, *, marked: bool = False
) -> str | None:
    """The format of the calls that an answer ends with, None where it ends with none: behind one that is only shown something is said.

    Args:
        text: The answer.
        tools: The tools that were offered; other names are no calls.
        likely: The format that is tried first.
        marked: Whether nothing counts but the likely format and those that cannot be mistaken for anything else.
    """
    if not any(tool.name in text for tool in tools):
        return None
    with_marks = [form for form, marks in _MARKS.items() if any(mark in text for mark in marks)]
    forms = [likely] if likely in FORMATS else []
    for form in dict.fromkeys([*forms, *with_marks, *(() if marked else FORMATS)]):
        if any(isinstance(last, Call) for last in read_message(FORMATS[form], text, tools)[-1:]):
            return form
    return None
