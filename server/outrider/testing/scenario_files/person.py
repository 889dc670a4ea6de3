"""The person of a scenario file: what they say to each question, and what they do before they say it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from outrider.testing.editor import answers as editors
from outrider.testing.editor.answers import Question
from outrider.testing.editor.fake_editor import FakeEditor
from outrider.testing.failures import Failure
from outrider.testing.places import Places
from outrider_protocol.scenario import Answer, Scenario, Step

NOBODY_OFFERED = "Certainly"
"""The title that `unknown_title` answers with."""

PlaySteps = Callable[[Sequence[Step], str], Awaitable[None]]
"""Does steps; the text is their place in the file."""


class Person:
    """Answers the questions of one editor, in order."""

    def __init__(
        self,
        scenario: Scenario,
        editor: FakeEditor,
        places: Places,
        play: PlaySteps,
        fail: Callable[[Failure], None],
    ) -> None:
        """A person who has not been asked yet.

        Args:
            scenario: What they say.
            editor: Where they are asked.
            places: Takes the places of this machine out of what they are asked.
            play: Does what they do before they answer.
            fail: Told what goes wrong.
        """
        self._places = places
        self._answers = scenario.answers
        self._otherwise = scenario.otherwise
        self._editor = editor
        self._play = play
        self._fail = fail
        self._asked = 0
        self._busy: set[asyncio.Task[None]] = set()

    def __call__(self, question: Question) -> editors.Answer:
        """Decide about a question."""
        self._asked += 1
        where, planned = self._planned(question)
        if planned is None:
            if self._editor.profile.forced_answer is None:
                self._fail(Failure(where, f"no more than {self._asked - 1} questions", self._said(question)))
            return editors.Dismiss()
        if isinstance(planned, str):
            planned = Answer(title=planned)
        if planned.to is not None and planned.to not in self._places.neutral(question.message):
            self._fail(Failure(where, f"a question that contains {planned.to!r}", self._said(question)))
            return editors.Dismiss()
        if planned.title is not None and planned.title not in question.titles:
            self._fail(Failure(where, f"a button {planned.title!r}", self._said(question)))
            return editors.Dismiss()
        answer = _answer(planned)
        if not planned.first:
            return answer
        task = asyncio.create_task(self._act(question, planned, answer, where))
        self._busy.add(task)
        task.add_done_callback(self._busy.discard)
        return editors.Never()

    def _planned(self, question: Question) -> tuple[str, str | Answer | None]:
        """The answer to a question that was just counted, and its place in the file."""
        if self._asked > len(self._answers):
            return "otherwise", self._otherwise
        return f"answers[{self._asked - 1}]", self._answers[self._asked - 1]

    async def done(self) -> None:
        """Wait until everything that was to be done before an answer is done; every step has its own bound."""
        while self._busy:
            await asyncio.gather(*self._busy)

    def check(self) -> None:
        """Say which answers nobody asked for."""
        for number, planned in enumerate(self._answers[self._asked :], self._asked):
            named = planned if isinstance(planned, str) else planned.to or planned.title or str(planned.how)
            self._fail(
                Failure(
                    f"answers[{number}]", f"a question for {named!r}", f"{self._asked} questions were asked"
                )
            )

    async def _act(self, question: Question, planned: Answer, answer: editors.Answer, where: str) -> None:
        await self._play(planned.first, f"{where}.first")
        if question.answered or planned.how == "never":
            return
        if question.replaced:
            self._fail(
                Failure(
                    where, "a question that is still on the screen", f"it is gone: {self._said(question)}"
                )
            )
            return
        self._editor.answer_late(question, answer)

    def _said(self, question: Question) -> str:
        return f"{self._places.neutral(question.message)!r} with {', '.join(question.titles)}"


def _answer(planned: Answer) -> editors.Answer:
    match planned.how:
        case None:
            return planned.title or ""
        case "dismiss":
            return editors.Dismiss()
        case "never":
            return editors.Never()
        case "null":
            return editors.Reply(None)
        case "fail":
            return editors.Fail()
        case "unknown_title":
            return editors.Reply({"title": NOBODY_OFFERED})
