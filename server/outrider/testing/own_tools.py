"""The editor's own tools of a scenario file: what they answer, call by call."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from outrider.testing.answers import Dismiss, Fail, Never, Reply, ToolAnswer, ToolCall, Wrong
from outrider.testing.failures import Failure
from outrider.testing.fake_editor import FakeEditor
from outrider_protocol.scenario import Scenario
from outrider_protocol.scenario import ToolAnswer as Planned

GARBAGE: Mapping[str, Any] = {"content": [{"type": "text", "text": "?"}]}
"""A result of the wrong shape."""


def registered(scenario: Scenario) -> list[dict[str, Any]]:
    """The tools as they stand in `initializationOptions.tools`."""
    return [
        {
            "name": tool.name,
            "description": tool.description,
            "inputSchema": tool.input_schema,
            "effect": tool.effect,
        }
        for tool in scenario.tools
    ]


class OwnTools:
    """Answers the calls of the editor's tools, each tool in its own order."""

    def __init__(self, scenario: Scenario, editor: FakeEditor, fail: Callable[[Failure], None]) -> None:
        """Tools nobody has called.

        Args:
            scenario: What they answer.
            editor: Which editor runs them.
            fail: Told what goes wrong.
        """
        self._replies = {tool.name: list(tool.replies) for tool in scenario.tools}
        self._calls = dict.fromkeys(self._replies, 0)
        self._editor = editor
        self._fail = fail

    def __call__(self, call: ToolCall) -> ToolAnswer:
        """Decide about a call."""
        replies, number = self._replies.get(call.name, []), self._calls.get(call.name, 0)
        self._calls[call.name] = number + 1
        if number >= len(replies):
            self._fail(Failure(f"tools, {call.name}", f"no more than {len(replies)} calls", f"{call.input}"))
            return Dismiss()
        planned = replies[number]
        if planned.how == "twice":
            asyncio.get_running_loop().call_soon(self._editor.answer_tool, call, Wrong("once more"))
        return _answer(planned)

    def check(self) -> None:
        """Say which answers nobody asked for."""
        for name, replies in self._replies.items():
            if self._calls[name] < len(replies):
                self._fail(Failure(f"tools, {name}", f"{len(replies)} calls", f"{self._calls[name]}"))


def _answer(planned: Planned) -> ToolAnswer:
    match planned.how:
        case "null":
            return Dismiss()
        case "never":
            return Never()
        case "fail":
            return Fail()
        case "garbage":
            return Reply(dict(GARBAGE))
        case _:
            content = planned.content or ""
            return Wrong(content) if planned.is_error else content
