"""A call of several at once, which models write that were taught so: it stands for the calls in it.

    multi_tool_use.parallel {"tool_uses": [{"recipient_name": "functions.NAME", "parameters": {…}}, …]}

No provider has such a tool; it is an invention of OpenAI's models, and of those that learned from them.
"""

from collections.abc import Mapping
from typing import Any, Final

from outrider.models.text_tools import literal
from outrider.models.text_tools.tools import Tools

WRAPPERS: Final = frozenset({"multi_tool_use.parallel", "multi_tool_use_parallel"})
PREFIX: Final = "functions."
"""Before the name of a tool: the namespace that these models know tools by."""


def without_prefix(name: str, tools: Tools) -> str:
    """The name of a tool that is written with its namespace; any other name as it is."""
    bare = name.removeprefix(PREFIX)
    return bare if bare != name and not tools.has(name) and tools.knows(bare) else name


def several(
    name: str, arguments: Mapping[str, Any], tools: Tools
) -> list[tuple[str, Mapping[str, Any]]] | None:
    """The calls that a call stands for; None where it is no such wrapper, or not all in it are calls of `tools`.

    Args:
        name: The name of the call.
        arguments: Its arguments.
        tools: What may be called; one of that very name is what is meant.
    """
    if name.removeprefix(PREFIX) not in WRAPPERS or tools.has(name):
        return None
    calls: list[tuple[str, Mapping[str, Any]]] = []
    for use in literal.listed(arguments.get("tool_uses")) or ():
        fields = literal.mapping(use) or {}
        recipient, given = fields.get("recipient_name"), literal.mapping(fields.get("parameters") or {})
        if not isinstance(recipient, str) or given is None:
            return None
        called = without_prefix(recipient.strip(), tools)
        if not called or not tools.knows(called):
            return None
        calls.append((called, given))
    return calls or None
