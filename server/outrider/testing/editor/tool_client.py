"""The tools of a fake editor: what the server asks it to run, and what it answers."""

from pathlib import Path
from typing import Any

from outrider.testing.editor.answers import (
    Dismiss,
    Fail,
    Late,
    Never,
    Reply,
    ToolAnswer,
    ToolAnswers,
    ToolCall,
    Wrong,
)  # fmt: skip
from outrider.testing.editor.checks import Watch
from outrider.testing.editor.profiles import Profile
from outrider.testing.editor.saving_client import SavingClient
from outrider.testing.editor.wire_client import WAIT_SECONDS

Object = dict[str, Any]


class ToolClient(SavingClient):
    """A client that runs the tools it registered, as it is told."""

    def __init__(self, profile: Profile, root: Path, watch: Watch) -> None:
        """A client that is not connected; see `DocumentClient`."""
        super().__init__(profile, root, watch)
        self.tool_answers: ToolAnswers | None = None
        """What its tools give; None: it knows no `outrider/tool`."""
        self.tool_calls: list[ToolCall] = []

    async def tool_call(self, count: int = 1, *, seconds: float = WAIT_SECONDS) -> ToolCall:
        """Wait for the `count`-th call of a tool of this editor."""
        await self.wait_for(
            lambda: len(self.tool_calls) >= count, f"tool call number {count}", seconds=seconds
        )
        return self.tool_calls[count - 1]

    def answer_tool(self, call: ToolCall, answer: ToolAnswer | None = None) -> None:
        """Answer a call that had no answer, or once more; absent means what its `Late` says."""
        if answer is None:
            if not isinstance(call.answer, Late):
                raise ValueError(f"nothing was planned for {call.name}")
            answer = call.answer.title
        call.answer = answer
        match answer:
            case Never() | Late():
                return
            case Fail():
                self._respond_error(call.request_id, answer.code, answer.message)
            case Reply():
                self._respond(call.request_id, answer.result)
            case Dismiss():
                self._respond(call.request_id, None)
            case Wrong():
                self._respond(call.request_id, {"content": answer.content, "isError": True})
            case str():
                self._respond(call.request_id, {"content": answer})
        call.answered = True

    def _run_tool(self, number: int | str, params: Object) -> None:
        call = ToolCall(
            number,
            params["id"],
            params["callId"],
            params["name"],
            params["input"],
            params.get("again") is True,
        )
        self.tool_calls.append(call)
        answers = self.tool_answers or []
        answer = answers(call) if callable(answers) else answers.pop(0) if answers else Dismiss()
        match self.profile.tool_fault:
            case "garbage":
                answer = Reply({"content": [{"type": "text", "text": "?"}]})
            case "error":
                answer = Fail(message="the tool is broken")
            case _:
                pass
        self.answer_tool(call, answer)
        if self.profile.tool_fault == "twice" and call.answered:
            self.answer_tool(call, "another answer")
