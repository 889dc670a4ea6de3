"""Kills the server at every event of a scenario, and looks whether the end is the same as without.

The same end: the texts of files and buffers, one result for each call, each edit once, a command once at most. What
was cut off in the middle may be missing, if its result says so.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from outrider.agent.open_items import WHY_AGAIN
from outrider.testing.editor.answers import Question
from outrider.testing.failures import Failure
from outrider.testing.scenario_files.person import Person
from outrider.testing.scenario_files.play import Played, play
from outrider_protocol.scenario import (
    Answer,
    Connection,
    Occurrence,
    Restart,
    Run,
    Save,
    Scenario,
    Step,
    Until,
    Wait,
)

Object = dict[str, Any]

_EDITS: Final = frozenset({"edit.applied", "edit.merged"})
_UNKNOWN: Final = "effect is unknown"


class _Steadfast(Person):
    """Gives the same answer to the same question, however often it is asked."""

    _did: frozenset[str] = frozenset()

    def _planned(self, question: Question) -> tuple[str, str | Answer | None]:
        asked = _plain(self._places.neutral(question.message))
        for number, answer in enumerate(self._answers):
            if isinstance(answer, Answer) and answer.to == asked:
                again, self._did = asked in self._did, self._did | {asked}
                first = [] if again else answer.first
                return f"answers[{number}]", answer.model_copy(update={"to": None, "first": first})
        return "otherwise", self._otherwise

    def check(self) -> None:
        """A question that was answered before the kill need not be asked again."""


async def play_killed(
    scenario: Scenario,
    folder: Path,
    *,
    connection: Connection | None = None,
    profile: str | None = None,
    every: int = 1,
) -> list[Failure]:
    """Play a scenario once as it is, then once for each of its events: with that one its server is killed.

    Args:
        scenario: One session, without restarts and tools of its own.
        folder: An empty folder that everything lies in.
        connection: How the server is reached, instead of what the scenario says.
        profile: Which editor it is, instead of what the scenario says.
        every: Only each so many-th event.

    Returns:
        Each difference, with the event; nothing if the end was the same every time.
    """
    turns = [turn.model_copy(update={"expect": None}) for turn in scenario.model.turns]
    plain = scenario.model_copy(
        update={
            "model": scenario.model.model_copy(update={"turns": turns}),
            "steps": [*scenario.steps, Save(do="save")],
        }
    )
    if scenario.tools or any(isinstance(step, Restart) for step in scenario.steps):
        return [
            Failure("scenario", "no restart and no tools of its own", "it cannot be killed at every event")
        ]

    async def run(variant: Scenario, name: str, person: type[Person]) -> Played:
        await asyncio.to_thread((folder / name).mkdir)
        return await play(variant, folder / name, connection=connection, profile=profile, person=person)

    whole = await run(plain, "whole", Person)
    if whole.failures:
        return whole.failures
    answers = _answers(scenario, whole)
    if isinstance(answers, Failure):
        return [answers]
    if len(whole.logs) != 1:
        return [Failure("steps", "one session", str(len(whole.logs)))]
    failures: list[Failure] = []
    for seq in range(2, len(whole.events) + 1, every):
        event = whole.events[seq - 1]
        steps = _with_a_kill(plain.steps, whole, seq)
        if steps is None:
            break
        killed = plain.model_copy(update={"steps": steps, "answers": answers})
        cut = await run(killed, str(seq), _Steadfast)
        where = f"killed at event {seq}, {event['type']}"
        failures += [
            Failure(f"{where}: {each.where}", each.expected, each.actual, each.diff)
            for each in (*cut.failures, *_End(scenario, whole, cut).differences())
        ]
    return failures


def _answers(scenario: Scenario, whole: Played) -> list[Answer] | Failure:
    """What is said to each question, by the whole of its text."""
    said: dict[str, Answer] = {}
    for number, message in enumerate(whole.questions):
        planned = scenario.answers[number] if number < len(scenario.answers) else scenario.otherwise
        if planned is None:
            continue
        answer = Answer(title=planned) if isinstance(planned, str) else planned
        answer = answer.model_copy(update={"to": _plain(message)})
        if said.setdefault(_plain(message), answer) != answer:
            return Failure(
                f"answers[{number}]", f"the same answer to the same question {message!r}", "another one"
            )
    return list(said.values())


def _plain(message: str) -> str:
    """A question without what it says of those before it: after a kill other ones came before it."""
    return "\n".join(line for line in message.split("\n") if line not in WHY_AGAIN)


def _with_a_kill(steps: Sequence[Step], whole: Played, seq: int) -> list[Step] | None:
    """The steps, with a kill as soon as event `seq` has come; None where it comes after all steps."""
    kind = whole.events[seq - 1]["type"]
    count = sum(event["type"] == kind for event in whole.events[:seq])
    cut: list[Step] = [
        Until(do="until", event=Occurrence(type=kind), count=count),
        Restart(do="kill"),
    ]
    during = next((number for number, mark in enumerate(whole.marks) if mark >= seq), None)
    if during is None:
        return None
    match steps[during]:
        case Wait() as step:
            cut.append(step)
        case Run(wait=True) as step:
            cut = [step.model_copy(update={"wait": False}), *cut, Wait(do="wait")]
        case step:
            cut.insert(0, step)
    return [*steps[:during], *cut, *steps[during + 1 :]]


@dataclass(frozen=True, slots=True)
class _End:
    """How the run that was cut off ended, beside the whole one."""

    scenario: Scenario
    whole: Played
    played: Played
    results: Mapping[str, Object] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "results", _by_call(self.played, "tool.finished"))

    @property
    def interrupted(self) -> set[str]:
        """The calls that were cut off in the middle, and whose effect is missing or unknown."""
        return {call for call, data in self.results.items() if data["status"] == "interrupted"}

    def differences(self) -> Iterator[Failure]:
        """What is not as it must be."""
        yield from self._turns()
        yield from self._calls()
        yield from self._edits()
        yield from self._texts("file", self.whole.files, self.played.files)
        yield from self._texts("buffer", self.whole.buffers, self.played.buffers)

    def _turns(self) -> Iterator[Failure]:
        ends = [
            [event["data"]["outcome"] for event in played.events if event["type"] == "turn.finished"]
            for played in (self.whole, self.played)
        ]
        if ends[0] != ends[1]:
            yield Failure("outcomes", str(ends[0]), str(ends[1]))

    def _calls(self) -> Iterator[Failure]:
        expected = _by_call(self.whole, "tool.finished")
        for kind in ("tool.requested", "tool.started", "tool.finished"):
            for call, times in _times(self.played, {kind}).items():
                if times > 1:
                    yield Failure(f"call {call}", f"one {kind}", f"{times}")
        if missing := expected.keys() - self.results.keys():
            yield Failure("calls", "a result for each", f"none for {', '.join(sorted(missing))}")
        yield from self._again()
        as_before = True
        for call, data in self.results.items():
            wanted = expected.get(call)
            if call in self.interrupted:
                as_before = False
                if data["name"] == "run_command" and _UNKNOWN not in data["content"]:
                    yield Failure(f"call {call}", f"a result that says: {_UNKNOWN}", data["content"])
            elif wanted is None:
                yield Failure(f"call {call}", "no such call", data["status"])
            elif as_before and data["status"] != wanted["status"]:
                # Later calls may find something else where an earlier one was cut off.
                yield Failure(f"call {call}", wanted["status"], data["status"])

    def _again(self) -> Iterator[Failure]:
        """Commands that had begun before the kill and have another end than an unknown effect: they ran again."""
        begun: set[str] = set()
        cut: set[str] = set()
        for event in self.played.events:
            data = event["data"]
            if event["type"] == "tool.started":
                begun.add(data["callId"])
            elif event["type"] == "tool.finished":
                begun.discard(data["callId"])
            elif event["type"] == "session.restored":
                cut |= begun
        for call in sorted(cut & self.results.keys()):
            result = self.results[call]
            if result["name"] == "run_command" and call not in self.interrupted:
                yield Failure(f"call {call}", "interrupted, as it had begun", result["status"])

    def _edits(self) -> Iterator[Failure]:
        made = _times(self.played, _EDITS)
        for call in _times(self.whole, _EDITS):
            wanted = 0 if call in self.interrupted else 1
            if made[call] != wanted:
                yield Failure(f"edit of {call}", f"made {wanted} times", f"{made[call]} times")

    def _texts(self, what: str, whole: Mapping[str, str], played: Mapping[str, str]) -> Iterator[Failure]:
        for path in sorted(whole.keys() | played.keys()):
            wanted, text = whole.get(path), played.get(path)
            before = self.scenario.workspace.get(path)
            if text != wanted and not (text == before and self._may_be_missing(path)):
                yield Failure(f"{what} {path}", repr(wanted), repr(text))

    def _may_be_missing(self, path: str) -> bool:
        """Whether what was done to a file was cut off: all its edits, or, where it has none, a command."""
        edits = {
            event["data"]["callId"]
            for event in self.whole.events
            if event["type"] in _EDITS and path in (event["data"]["path"], event["data"].get("to"))
        }
        return edits <= self.interrupted if edits else bool(self.interrupted)


def _by_call(played: Played, kind: str) -> dict[str, Object]:
    return {event["data"]["callId"]: event["data"] for event in played.events if event["type"] == kind}


def _times(played: Played, kinds: set[str] | frozenset[str]) -> Counter[str]:
    return Counter(
        event["data"]["callId"]
        for event in played.events
        if event["type"] in kinds and "callId" in event["data"]
    )
