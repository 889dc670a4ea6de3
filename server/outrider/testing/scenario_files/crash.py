"""Kills the server at every event of a scenario, and looks whether the end is the same as without.

The same end: the texts of files and buffers, one result for each call, each edit once, a command once at most. What
was cut off in the middle may be missing, if its result says so.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from outrider.agent.interaction.inbox import WHY_AGAIN
from outrider.ports.events import LoggedEvent, from_wire
from outrider.testing.diffs import Failure
from outrider.testing.editor.answers import Question
from outrider.testing.scenario_files.play import Played, User, play
from outrider_protocol import logged
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

_UNKNOWN: Final = "effect is unknown"


class _Steadfast(User):
    """Gives the same answer to the same question, however often it is asked."""

    _did: frozenset[str] = frozenset()

    def _planned(self, question: Question) -> tuple[str, str | Answer | None]:
        asked = _plain(self._player.places.neutral(question.message))
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
    kinds: bool = False,
) -> list[Failure]:
    """Play a scenario once as it is, then once for each of its events: with that one its server is killed.

    Args:
        scenario: One session, without restarts and tools of its own.
        folder: An empty folder that everything lies in.
        connection: How the server is reached, instead of what the scenario says.
        profile: Which editor it is, instead of what the scenario says.
        every: Only each so many-th event.
        kinds: Only the first of these of each type and, for what belongs to a tool call, of each tool.

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

    async def run(variant: Scenario, name: str, user: type[User]) -> Played:
        await asyncio.to_thread((folder / name).mkdir)
        return await play(variant, folder / name, connection=connection, profile=profile, user=user)

    whole = await run(plain, "whole", User)
    if whole.failures:
        return whole.failures
    answers = _answers(scenario, whole)
    if isinstance(answers, Failure):
        return [answers]
    if len(whole.logs) != 1:
        return [Failure("steps", "one session", str(len(whole.logs)))]
    failures: list[Failure] = []
    seen: set[tuple[str, str]] = set()
    tools = {e["data"]["callId"]: e["data"]["name"] for e in whole.events if e["type"] == "tool.requested"}
    for seq in range(2, len(whole.events) + 1, every):
        event = whole.events[seq - 1]
        kind = event["type"], tools.get(event["data"].get("callId", ""), "")
        if kinds and kind in seen:
            continue
        seen.add(kind)
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
    results: Mapping[str, logged.ToolFinished] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "results", _results(self.played))

    @property
    def interrupted(self) -> set[str]:
        """The calls that were cut off in the middle, and whose effect is missing or unknown."""
        return {call for call, data in self.results.items() if data["status"] == "interrupted"}

    def differences(self) -> Iterator[Failure]:
        """What is not as it must be."""
        yield from self._turns()
        yield from self._calls()
        yield from self._edits()
        yield from self._texts("file", self.whole.run.files, self.played.run.files)
        yield from self._texts("buffer", self.whole.run.buffers, self.played.run.buffers)

    def _turns(self) -> Iterator[Failure]:
        ends = [
            [event.data["outcome"] for event in _log(played) if event.type == "turn.finished"]
            for played in (self.whole, self.played)
        ]
        if ends[0] != ends[1]:
            yield Failure("outcomes", str(ends[0]), str(ends[1]))

    def _calls(self) -> Iterator[Failure]:
        expected = _results(self.whole)
        steps: Counter[tuple[str, str]] = Counter()
        for event in _log(self.played):
            match event.type:
                case "tool.requested" | "tool.started" | "tool.finished":
                    steps[event.data["callId"], event.type] += 1
                case _:
                    pass
        for (call, kind), times in steps.items():
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
        for event in _log(self.played):
            if event.type == "tool.started":
                begun.add(event.data["callId"])
            elif event.type == "tool.finished":
                begun.discard(event.data["callId"])
            elif event.type == "session.restored":
                cut |= begun
        for call in sorted(cut & self.results.keys()):
            result = self.results[call]
            if result["name"] == "run_command" and call not in self.interrupted:
                yield Failure(f"call {call}", "interrupted, as it had begun", result["status"])

    def _edits(self) -> Iterator[Failure]:
        made = Counter(data["callId"] for data in _edits_in_place(self.played) if "callId" in data)
        for call in {data["callId"]: None for data in _edits_in_place(self.whole) if "callId" in data}:
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
            data["callId"]
            for data in _edits_in_place(self.whole)
            if "callId" in data and path in (data["path"], data.get("to"))
        }
        return edits <= self.interrupted if edits else bool(self.interrupted)


def _log(played: Played) -> list[LoggedEvent]:
    return [from_wire(cast("logged.WireEvent", event)) for event in played.events]


def _results(played: Played) -> dict[str, logged.ToolFinished]:
    return {event.data["callId"]: event.data for event in _log(played) if event.type == "tool.finished"}


def _edits_in_place(played: Played) -> Iterator[logged.EditApplied | logged.EditMerged]:
    for event in _log(played):
        if event.type == "edit.applied" or event.type == "edit.merged":
            yield event.data
