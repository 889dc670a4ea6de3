"""The tools that the editor of a scenario file brings: how they are registered, and what they answer."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from outrider.testing.editor import answers as editors
from outrider.testing.editor.answers import ToolCall
from outrider.testing.editor.fake_editor import FakeEditor
from outrider.testing.failures import Failure
from outrider_protocol.scenario import Scenario, ToolAnswer

_GARBAGE: Final = {"content": [{"type": "text", "text": "of another protocol"}]}
_SECOND: Final = "another answer"


def registered(scenario: Scenario) -> list[dict[str, Any]]:
    """The tools as they stand in the `initializationOptions`."""
    return [
        {
            "name": tool.name,
            "description": tool.description,
            "inputSchema": tool.input_schema,
            "effect": tool.effect,
        }
        for tool in scenario.tools
    ]


class EditorTools:
    """Answers the calls of each tool in order."""

    def __init__(self, scenario: Scenario, editor: FakeEditor, fail: Callable[[Failure], None]) -> None:
        """Tools that were not called yet; `fail` is told of calls that nobody expects."""
        self._tools = {tool.name: (number, tool) for number, tool in enumerate(scenario.tools)}
        self._editor = editor
        self._fail = fail
        self._called: Counter[str] = Counter()

    def __call__(self, call: ToolCall) -> editors.ToolAnswer:
        """Answer a call."""
        number, tool = self._tools[call.name]
        done = self._called[call.name]
        self._called[call.name] += 1
        if done >= len(tool.replies):
            where = f"tools[{number}].replies"
            self._fail(
                Failure(where, f"no more than {done} calls of {call.name}", f"a call with {call.input}")
            )
            return editors.Dismiss()
        planned = tool.replies[done]
        if planned.how == "twice":
            asyncio.get_running_loop().call_soon(self._editor.answer_tool, call, _SECOND)
        return _answer(planned)

    def check(self) -> None:
        """Say which answers nobody asked for."""
        for number, tool in self._tools.values():
            if (done := self._called[tool.name]) < len(tool.replies):
                where = f"tools[{number}].replies"
                self._fail(Failure(where, f"{len(tool.replies)} calls of {tool.name}", f"{done} calls"))


def _answer(planned: ToolAnswer) -> editors.ToolAnswer:
    content = planned.content or ""
    match planned.how:
        case None | "twice":
            return editors.Wrong(content) if planned.is_error else content
        case "null":
            return editors.Dismiss()
        case "never":
            return editors.Never()
        case "fail":
            return editors.Fail(message="the tool is broken")
        case "garbage":
            return editors.Reply(_GARBAGE)
