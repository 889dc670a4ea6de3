"""What a fake editor's user is asked, by a message of LSP or by a request of ours, and how they answer."""

from pathlib import Path
from typing import Any, cast

from outrider.testing.editor.answers import (
    Answer,
    Answers,
    Dismiss,
    Fail,
    Late,
    Never,
    Question,
    Reply,
    ToolAnswer,
    ToolAnswers,
    ToolCall,
    Wrong,
)  # fmt: skip
from outrider.testing.editor.checks import Watch, capability
from outrider.testing.editor.document_client import SavingClient
from outrider.testing.editor.profiles import Profile
from outrider_protocol import DECISIONS

Object = dict[str, Any]


class ToolClient(SavingClient):
    """A client that runs the tools it registered, as it is told."""

    def __init__(self, profile: Profile, root: Path, watch: Watch) -> None:
        """A client that is not connected; see `DocumentClient`."""
        super().__init__(profile, root, watch)
        self.tool_answers: ToolAnswers | None = None
        """What its tools give; None: it knows no `outrider/tool`."""
        self.tool_calls: list[ToolCall] = []

    async def tool_call(self, count: int = 1, *, seconds: float | None = None) -> ToolCall:
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


METHOD_NOT_FOUND = -32601


class AskedClient(ToolClient):
    """A client with a user at it."""

    def __init__(self, profile: Profile, root: Path, watch: Watch) -> None:
        """A client that is not connected; see `DocumentClient`."""
        super().__init__(profile, root, watch)
        self.answers: Answers = []
        self.questions: list[Question] = []
        self.slips: list[str] = []
        """What the test itself does wrong: answers that no button says."""

    def answer_late(self, question: Question, answer: Answer | None = None) -> None:
        """Answer a question that is still on the screen; absent means what its `Late` says."""
        if answer is None:
            if not isinstance(question.answer, Late):
                raise ValueError(f"nothing was planned for {question.message!r}")
            answer = question.answer.title
        if question.answered:
            raise ValueError(f"{question.message!r} is answered already")
        if question.replaced:
            raise ValueError(f"{question.message!r} is not on the screen any more")
        question.answer = answer
        self._answer(question, answer)

    def _ask(self, number: int | str, params: Object) -> None:
        if not self.profile.can_ask:
            self._respond_error(number, METHOD_NOT_FOUND, "Method not found: window/showMessageRequest")
            return
        actions = cast("list[Object]", params.get("actions") or [])
        titles = tuple(str(action.get("title")) for action in actions)
        question = Question(number, params.get("message", ""), titles, tuple(actions))
        if self.profile.newest_question_only:
            for other in self.questions:
                other.replaced = other.replaced or not other.answered
        self.questions.append(question)
        answer = self._decide(question)
        question.answer = answer
        self._answer(question, answer)

    def _ask_item(self, number: int | str, params: Object) -> None:
        """Put an open item before the user, as a plugin does that shows approvals itself."""
        item = cast("Object", params["item"])
        titles = tuple(cast("list[str]", item.get("options") or []))
        message = f"{item.get('summary') or item['title']}\n{item.get('detail', '')}".strip()
        question = Question(number, message, titles, (), item)
        self.questions.append(question)
        answer = self._decide(question)
        question.answer = answer
        self._answer(question, answer)

    def _decide(self, question: Question) -> Answer:
        answers = self.answers
        answer = answers(question) if callable(answers) else answers.pop(0) if answers else Dismiss()
        free = question.item is not None and question.item.get("allowFreeForm") is True
        if isinstance(answer, str) and answer not in question.titles and not free:
            first = question.message.partition("\n")[0]
            takes = ", ".join(map(repr, question.titles))
            self.slips.append(f"the test answers {answer!r} to {first!r}; it takes {takes}")
            answer = Dismiss()
        return answer if self.profile.forced_answer is None else self.profile.forced_answer

    def _answer(self, question: Question, answer: Answer) -> None:
        match answer:
            case Dismiss():
                if isinstance(self.profile.dismissal, Dismiss):
                    raise ValueError(f"the profile {self.profile} does not say how it dismisses")
                self._answer(question, self.profile.dismissal)
                return
            case Never() | Late():
                return
            case Fail():
                self._respond_error(question.request_id, answer.code, answer.message)
            case Reply():
                self._respond(question.request_id, answer.result)
            case str() if question.item is not None:
                is_approval = question.item["kind"] == "approval"
                given = {"decision": DECISIONS.get(answer, answer)} if is_approval else {"answer": answer}
                self._respond(question.request_id, given)
            case str():
                chosen = question.actions[question.titles.index(answer)]
                keeps = capability(
                    self.profile.capabilities,
                    "window.showMessage.messageActionItem.additionalPropertiesSupport",
                )
                self._respond(question.request_id, chosen if keeps else {"title": answer})
        question.answered = True
