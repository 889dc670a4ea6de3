"""Holds what came of a scenario against what must come of it. It only looks; every expectation that fails is said."""

import asyncio
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from outrider.models.scripted import key, unmet_by
from outrider.ports.model import ModelRequest
from outrider.testing.diffs import Failure, differing, event_diff, line_diff, text_diff
from outrider.testing.scenario_files.play import Played, play
from outrider.testing.scenario_folder import holds
from outrider_protocol.scenario import Connection, Expect, Occurrence, Scenario, WireMessage
from outrider_protocol.script import Expectation

Object = dict[str, Any]

_SHOWN: Final = 200
_DIRECTIONS: Final = {"server": "to server", "editor": "to editor"}


def judge(expect: Expect, played: Played) -> list[Failure]:
    """What failed while a scenario was played, and every expectation that does not hold; the golden's is not held."""
    return [
        *played.failures,
        *_turn(expect, played),
        *_log(expect, played),
        *_texts(expect, played),
        *_requests(expect.requests, played),
        *_messages(expect.messages, played),
        *_told(expect, played),
    ]


def _turn(expect: Expect, played: Played) -> Iterator[Failure]:
    turn = next(reversed(played.run.state.turns.values()), None)
    outcome, reason, summary = "no turn at all", None, None
    if turn is not None:
        summary = played.places.neutral(turn.summary)
        outcome = turn.outcome or ("needs_input" if turn.parked else "running")
        reason = turn.reason
    if expect.outcome not in (None, outcome):
        more = f" ({reason}): {_excerpt(summary or '')}" if reason else ""
        yield Failure("expect.outcome", str(expect.outcome), f"{outcome}{more}")
    if expect.reason not in (None, reason):
        yield Failure("expect.reason", str(expect.reason), reason or "none")
    if expect.response is not None and expect.response != summary:
        yield Failure(
            "expect.response", repr(expect.response), repr(summary), text_diff(expect.response, summary or "")
        )


# --- the log -------------------------------------------------------------------------------------------------


def _log(expect: Expect, played: Played) -> Iterator[Failure]:
    events = played.events
    if expect.events is not None:
        wanted = _occurrences(expect.events)
        if len(wanted) != len(events) or not all(map(_fits, wanted, events)):
            yield _unlike("expect.events", wanted, events)
    yield from _contains(_occurrences(expect.contains), events)
    if expect.ends_with:
        wanted = _occurrences(expect.ends_with)
        last = events[-len(wanted) :]
        if len(wanted) != len(last) or not all(map(_fits, wanted, last)):
            yield _unlike("expect.ends_with", wanted, last)
    for number, unwanted in enumerate(_occurrences(expect.lacks)):
        for event in events:
            if _fits(unwanted, event):
                yield Failure(
                    f"expect.lacks[{number}]",
                    f"no {_named(unwanted)}",
                    f"event {event['seq']}: {_named(event)}",
                )


def _contains(wanted: Sequence[Object], events: Sequence[Object]) -> Iterator[Failure]:
    start = 0
    for number, occurrence in enumerate(wanted):
        found = next((n for n in range(start, len(events)) if _fits(occurrence, events[n])), None)
        if found is not None:
            start = found + 1
            continue
        after = f" after event {events[start - 1]['seq']}, {events[start - 1]['type']}" if start else ""
        yield Failure(
            f"expect.contains[{number}]",
            f"{_named(occurrence)}{after}",
            _alike(occurrence, events, start),
        )


def _alike(occurrence: Object, events: Sequence[Object], start: int) -> str:
    same = [event for event in events if event["type"] == occurrence["type"]]
    if not same:
        return f"there is none; there are {', '.join(dict.fromkeys(event['type'] for event in events)) or 'no events'}"
    if any(_fits(occurrence, event) for event in same):
        return f"only before it: event {next(event['seq'] for event in same if _fits(occurrence, event))}"
    closest = min(
        (event for event in events[start:] if event["type"] == occurrence["type"]),
        key=lambda event: len(differing(occurrence["data"], event["data"])),
        default=same[-1],
    )
    return f"event {closest['seq']} {closest['type']}: " + "; ".join(
        line.strip() for line in differing(occurrence["data"], closest["data"])
    )


def _occurrences(listed: Sequence[str | Occurrence]) -> list[Object]:
    return [
        {"type": item, "data": {}} if isinstance(item, str) else {"type": item.type, "data": item.data}
        for item in listed
    ]


def _fits(occurrence: Object, event: Object) -> bool:
    return event["type"] == occurrence["type"] and holds(occurrence["data"], event["data"])


def _named(event: Object) -> str:
    return f"{event['type']} {_json(event['data'])}" if event["data"] else event["type"]


def _unlike(where: str, wanted: Sequence[Object], events: Sequence[Object]) -> Failure:
    return Failure(where, f"{len(wanted)} events", f"{len(events)} events", event_diff(wanted, events))


# --- texts ---------------------------------------------------------------------------------------------------


def _texts(expect: Expect, played: Played) -> Iterator[Failure]:
    files, buffers = played.run.files, played.run.buffers
    for name, wanted in expect.files.items():
        yield from _text(f"expect.files{key(name)}", wanted, files.get(name), "there is no such file")
    for name, wanted in expect.buffers.items():
        yield from _text(f"expect.buffers{key(name)}", wanted, buffers.get(name), "it is not open")


def _text(where: str, wanted: str | None, actual: str | None, absent: str) -> Iterator[Failure]:
    if wanted == actual:
        return
    if wanted is None:
        yield Failure(where, "no such file", _excerpt(actual or ""))
    elif actual is None:
        yield Failure(where, _excerpt(wanted), absent)
    else:
        yield Failure(where, _excerpt(wanted), _excerpt(actual), text_diff(wanted, actual))


# --- what went over wires ------------------------------------------------------------------------------------


def _requests(expected: list[Expectation] | None, played: Played) -> Iterator[Failure]:
    if expected is None:
        return
    made = [invocation for invocation in played.run.invocations if invocation.purpose == "main"]
    for number, (wanted, invocation) in enumerate(zip(expected, made, strict=False)):
        request = ModelRequest(invocation.purpose, invocation.messages, invocation.tools)
        if unmet := unmet_by(wanted, request):
            messages = "\n".join(
                f"  {index} {message.role}: {_excerpt(message.text, end=True)}"
                for index, message in enumerate(invocation.messages)
            )
            shown = played.places.neutral(f"{unmet}\nthe messages are\n{messages}")
            yield Failure(f"expect.requests[{number}]", "", "", shown)
    if len(expected) != len(made):
        yield Failure("expect.requests", f"{len(expected)} requests", f"{len(made)}")


def _messages(expected: Sequence[WireMessage], played: Played) -> Iterator[Failure]:
    start = 0
    traffic = played.messages
    for number, wanted in enumerate(expected):
        same = [
            index
            for index, each in enumerate(traffic)
            if each.direction == _DIRECTIONS[wanted.to] and each.message.get("method") == wanted.method
        ]
        found = next(
            (i for i in same if i >= start and holds(wanted.params, traffic[i].message.get("params") or {})),
            None,
        )
        if found is not None:
            start = found + 1
            continue
        after = f" after {traffic[start - 1].message.get('method')}" if start else ""
        shown = "; ".join(
            ", ".join(differing(wanted.params, traffic[i].message.get("params") or {})) or "there only before"
            for i in same
        )
        yield Failure(
            f"expect.messages[{number}]",
            f"{wanted.method} to the {wanted.to}{after}, with {_json(wanted.params)}",
            shown or "there is none",
        )


def _told(expect: Expect, played: Played) -> Iterator[Failure]:
    said = [played.places.neutral(said.text) for said in played.run.said if said.shown]
    for number, wanted in enumerate(expect.said):
        if not any(wanted in text for text in said):
            yield Failure(f"expect.said[{number}]", f"a message that contains {wanted!r}", _listed(said))
    if expect.questions is None:
        return
    asked = played.questions
    for number, (wanted, question) in enumerate(zip(expect.questions, asked, strict=False)):
        if wanted not in question:
            yield Failure(
                f"expect.questions[{number}]", f"a question that contains {wanted!r}", repr(question)
            )
    if len(asked) != len(expect.questions):
        yield Failure("expect.questions", f"{len(expect.questions)} questions", _listed(asked))


def _listed(texts: Sequence[str]) -> str:
    return f"{len(texts)}: " + ", ".join(map(repr, texts)) if texts else "none"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _excerpt(text: str, *, end: bool = False) -> str:
    if len(text) <= _SHOWN:
        return repr(text)
    return repr("…" + text[-_SHOWN:]) if end else repr(text[:_SHOWN] + "…")


UPDATE_VARIABLE: Final = "UPDATE_GOLDEN"
"""Set to 1, it has golden transcripts written instead of looked at."""


async def play_and_judge(
    scenario: Scenario,
    folder: Path,
    *,
    beside: Path,
    connection: Connection | None = None,
    profile: str | None = None,
    update_golden: bool | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> list[Failure]:
    """Play a scenario and give everything that did not hold; nothing if all did.

    Args:
        scenario: What is played.
        folder: An empty folder that everything of it lies in.
        beside: The folder of its file, where its golden transcript is.
        connection: How the server is reached, instead of what the scenario says.
        profile: Which editor it is, instead of what the scenario says.
        update_golden: Whether the golden transcript is written instead of looked at, where nothing else fails;
            absent: whether the variable UPDATE_GOLDEN is 1.
        tell: Told what became of the golden transcript, where that is no failure and not a comparison.
    """
    played = await play(scenario, folder, connection=connection, profile=profile)
    failures = judge(scenario.expect, played)
    if scenario.expect.golden is None:
        return failures
    if profile not in (None, scenario.profile):
        tell(f"the transcript is of profile {scenario.profile}; it is not compared")
        return failures
    update = os.environ.get(UPDATE_VARIABLE) == "1" if update_golden is None else update_golden
    file = beside / scenario.expect.golden
    if update and failures:
        failures.append(Failure("expect.golden", "a scenario that holds", "it is not written"))
    elif failure := await asyncio.to_thread(_write if update else _compare, file, await played.transcript()):
        failures.append(failure)
    elif update:
        tell(f"golden written: {file}")
    return failures


def _write(file: Path, transcript: str) -> Failure | None:
    if problem := _outside(file):
        return problem
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(transcript.encode("utf-8", "backslashreplace"))
    return None


def _compare(file: Path, transcript: str) -> Failure | None:
    if problem := _outside(file):
        return problem
    if not file.is_file():
        return Failure(
            "expect.golden",
            str(file),
            f"there is no such file; --update-golden or {UPDATE_VARIABLE}=1 writes it",
        )
    kept, came = file.read_bytes(), transcript.encode("utf-8", "backslashreplace")
    if kept == came:
        return None
    diff = line_diff(kept.decode("utf-8", "backslashreplace"), came.decode())
    return Failure("expect.golden", str(file), "another transcript", diff)


def _outside(file: Path) -> Failure | None:
    # A link there would let a scenario write anywhere.
    folder = file.parent
    if any(path.is_symlink() for path in (file, folder)):
        return Failure("expect.golden", str(file), "it is a link, or lies in one")
    return None
