"""The tools that a model is offered: as it edits best, and in short where its context window is small. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Final, cast

from outrider.ports.model import ToolSpec, content_hash
from outrider_protocol.choices import EditFormat

SMALL_WINDOW: Final = 24_000
"""Tokens; in a smaller window, what every request has is told in short. In full it has about 3,400: with less room it would be a good part of
what the model can take."""
_NOT_FOR: Final[Mapping[EditFormat, frozenset[str]]] = {
    "replace": frozenset({"apply_patch"}),
    "patch": frozenset({"edit_file", "insert_lines"}),
    "whole": frozenset({"edit_file", "insert_lines", "apply_patch"}),
}
"""What is not offered to a model of a format. Whole files can always be written, and calling is not forbidden."""
_OTHER_WAYS: Final = frozenset(
    {
        "insert_lines",
        "read_job",
        "symbols",
        "hover",
        "call_hierarchy",
        "rename_symbol",
        "code_actions",
        "format",
    }
)
"""What others do as well (`edit_file`, `wait`, `search`, `references`); a small window has no room for it."""


def is_small(context_window: int) -> bool:
    """Whether a model with that window, in tokens, is told in short what every request has."""
    return context_window < SMALL_WINDOW


class Offer:
    """The tools of a turn, in full or in short."""

    def __init__(self, tools: Sequence[ToolSpec], *, in_short: bool = False) -> None:
        """Offer `tools`."""
        self._in_short = in_short
        self._tools = (
            [shortened(tool) for tool in tools if tool.name not in _OTHER_WAYS] if in_short else list(tools)
        )
        self._encoded: dict[tuple[str, ...], tuple[str, bytes]] = {}

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._tools)

    @cached_property
    def everything(self) -> bytes:
        """All tools, encoded."""
        return encoded(self.to(None))

    def to(self, form: EditFormat | None) -> Sequence[ToolSpec]:
        """What a model is offered; None: it edits well in any form."""
        if form is None and self._in_short:
            form = "replace"
        left_out = _NOT_FOR[form] if form is not None else frozenset[str]()
        return [tool for tool in self._tools if tool.name not in left_out]

    def content(self, offered: Sequence[ToolSpec]) -> tuple[str, bytes]:
        """Some of the tools, encoded, behind their content hash."""
        names = tuple(tool.name for tool in offered)
        if names not in self._encoded:
            content = encoded(offered)
            self._encoded[names] = content_hash(content), content
        return self._encoded[names]


def encoded(tools: Sequence[ToolSpec]) -> bytes:
    """Canonical JSON of the definitions of tools: what the store keeps of them."""
    listed = [
        {"name": tool.name, "description": tool.description, "schema": tool.schema}
        | ({} if tool.effect is None else {"effect": tool.effect})
        for tool in tools
    ]
    return json.dumps(listed, sort_keys=True, separators=(",", ":")).encode()


def shortened(tool: ToolSpec) -> ToolSpec:
    """The tool with the first sentence of each description, which says what it is for."""
    return replace(tool, description=_first(tool.description), schema=_shortened(tool.schema))


def _shortened(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_shortened(one) for one in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _first(value) if key == "description" and isinstance(value, str) else _shortened(value)
        for key, value in cast("dict[str, Any]", schema).items()
    }


def _first(text: str) -> str:
    sentence, stop, _ = text.partition(". ")
    return f"{sentence}." if stop else text
