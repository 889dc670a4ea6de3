"""Calls that a server handed on as text, since it does not read what its model writes."""

from collections.abc import Sequence

from outrider.models.text_tools.formats import FORMATS, read_message
from outrider.models.text_tools.reading import Call
from outrider.ports.model import ToolSpec


def handed_on(text: str, tools: Sequence[ToolSpec], likely: str | None = None) -> str | None:
    """The format of the calls that an answer ends with, None where it ends with none: behind one that is only shown something is said.

    Args:
        text: The answer.
        tools: The tools that were offered; other names are no calls.
        likely: The format that is tried first.
    """
    if not any(tool.name in text for tool in tools):
        return None
    forms = dict.fromkeys([likely, *FORMATS] if likely in FORMATS else FORMATS)
    for form in filter(None, forms):
        if any(isinstance(last, Call) for last in read_message(FORMATS[form], text, tools)[-1:]):
            return form
    return None
