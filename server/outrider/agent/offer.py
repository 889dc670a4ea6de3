"""The tools that a turn offers its model, by the way of writing edits that suits it."""

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

from outrider.ports.model import ToolSpec, content_hash
from outrider_protocol.settings import EditFormat

_NOT_FOR: Final[Mapping[EditFormat, frozenset[str]]] = {
    "replace": frozenset({"apply_patch"}),
    "patch": frozenset({"edit_file", "insert_lines"}),
    "whole": frozenset({"edit_file", "insert_lines", "apply_patch"}),
}
"""What is not offered to a model of a format. Whole files can always be written, and calling is not forbidden."""


class Offer:
    """The tools of a turn."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        """Offer `tools`."""
        self.tools = tools
        self._encoded: dict[tuple[str, ...], tuple[str, bytes]] = {}

    @cached_property
    def everything(self) -> bytes:
        """All tools, encoded."""
        return encoded(self.tools)

    def to(self, form: EditFormat | None) -> Sequence[ToolSpec]:
        """What a model is offered; None: everything."""
        left_out = _NOT_FOR[form] if form is not None else frozenset[str]()
        return [tool for tool in self.tools if tool.name not in left_out]

    def content(self, offered: Sequence[ToolSpec]) -> tuple[str, bytes]:
        """Some of the tools, encoded, behind their content hash."""
        names = tuple(tool.name for tool in offered)
        if names not in self._encoded:
            content = encoded(offered)
            self._encoded[names] = content_hash(content), content
        return self._encoded[names]


def encoded(tools: Sequence[ToolSpec]) -> bytes:
    """Canonical JSON of the definitions of tools: what the store keeps of them."""
    listed = [{"name": tool.name, "description": tool.description, "schema": tool.schema} for tool in tools]
    return json.dumps(listed, sort_keys=True, separators=(",", ":")).encode()
