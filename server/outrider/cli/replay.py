"""The command `replay`: a session run again from its log, up to the first event that differs."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from itertools import zip_longest
from pathlib import Path
from typing import Any, cast

from rich.console import Console
from rich.text import Text

from outrider.cli.export import exported_file, fetch_export
from outrider.cli.render import Renderer, counted
from outrider.cli.run import ExitCode
from outrider.cli.terminal import visible
from outrider.ports.events import LoggedEvent
from outrider.replay.play import Difference, Replayed, ReplayProblem, play
from outrider.store.exported import ExportProblem, parse_export, read_export
from outrider_protocol.export import Export

Object = dict[str, Any]

MOST_LINES = 40
"""Lines of one text that a difference shows."""
AROUND_LINES = 2
"""Lines that are the same, shown before and after those that differ."""
MOST_CHARACTERS = 300
"""Of one value, or of one line."""
AROUND_CHARACTERS = 60
"""Characters that are the same, shown before a difference in a long value."""


async def replay(
    workspace: Path,
    options: Object,
    subject: str | None,
    from_seq: int,
    console: Console,
    *,
    must_agree: bool,
) -> ExitCode:
    """Run a session again, and show its events; with `must_agree` nothing but the verdict.

    Args:
        workspace: Where the log of a session is looked for.
        options: Settings for that.
        subject: A file that `outrider export` wrote, or a session's id; None for the latest session.
        from_seq: The first event that is wanted.
        console: Where it is shown.
        must_agree: Whether a difference is a failure.
    """
    renderer = Renderer(console)
    export = await _export_of(workspace, options, subject, console)
    if isinstance(export, ExitCode):
        return export

    def show(event: LoggedEvent) -> None:
        shown = {"seq": event.seq, "ts": event.ts, "type": event.type, "data": event.data}
        renderer.event(shown | {"sessionId": event.session_id, "turnId": event.turn_id})

    replayed = await play(export, from_seq=from_seq, on_event=_ignore if must_agree else show)
    if isinstance(replayed, ReplayProblem):
        renderer.problem(replayed.message)
        return ExitCode.USAGE
    console.print(Text("\n".join(verdict(replayed, export))), soft_wrap=True)
    return ExitCode.FAILED if must_agree and replayed.difference else ExitCode.COMPLETED


def _ignore(event: LoggedEvent) -> None:
    pass


async def _export_of(
    workspace: Path, options: Object, subject: str | None, console: Console
) -> Export | ExitCode:
    file = None if subject is None else await asyncio.to_thread(exported_file, subject)
    if file is not None:
        export = await asyncio.to_thread(read_export, file)
    else:
        fetched = await fetch_export(workspace, options, subject, console)
        if isinstance(fetched, ExitCode):
            return fetched
        export = await asyncio.to_thread(lambda: parse_export(json.dumps(fetched).encode()))
    if isinstance(export, ExportProblem):
        Renderer(console).problem(export.message)
        return ExitCode.USAGE
    return export


def verdict(replayed: Replayed, export: Export) -> Iterator[str]:
    """How a replay went, line by line.

    Args:
        replayed: The replay.
        export: The log that was replayed.
    """
    recorded = len(export.events)
    before = (
        f" ({counted(replayed.taken_over, 'event')} before them taken over)" if replayed.taken_over else ""
    )
    if replayed.difference is None:
        yield f"The same: of {recorded} events the loop ran {replayed.events} again{before}, and all that it computes came again."
        return
    difference = replayed.difference
    yield f"Different at event {difference.seq} of {recorded}; {counted(replayed.events, 'event')} were the same{before}."
    yield from _compared(difference, {**export.contents, **difference.texts})


def _compared(difference: Difference, texts: Mapping[str, str]) -> Iterator[str]:
    expected, got = difference.expected, difference.got
    if expected is None or got is None:
        present = expected or got or {}
        yield f"  the log:    {_titled(expected) if expected else 'ends here'}"
        yield f"  the replay: {_titled(got) if got else 'nothing came'}"
        yield from _told("  " + ("- " if expected else "+ "), "", present.get("data", {}))
        return
    if (expected["type"], expected["turnId"]) != (got["type"], got["turnId"]):
        yield f"  the log:    {_titled(expected)}"
        yield f"  the replay: {_titled(got)}"
    else:
        yield f"  {_titled(expected)}"
    yield from _differing("", expected["data"], got["data"], texts)


def _differing(place: str, expected: Any, got: Any, texts: Mapping[str, str]) -> Iterator[str]:
    """The values that differ, each with its place; `-` is the log, `+` the replay. A hash stands for its text."""
    if isinstance(expected, dict) and isinstance(got, dict):
        one, other = cast("Object", expected), cast("Object", got)
        for key in dict.fromkeys([*one, *other]):
            if one.get(key) != other.get(key):
                inner = f"{place}.{key}".removeprefix(".")
                yield from _differing(inner, one.get(key), other.get(key), texts)
    elif isinstance(expected, list) and isinstance(got, list):
        yield from _differing_items(place, cast("list[Any]", expected), cast("list[Any]", got), texts)
    elif isinstance(expected, str) and isinstance(got, str) and expected in texts and got in texts:
        yield from _differing(place, texts[expected], texts[got], {})
    elif isinstance(expected, str) and isinstance(got, str) and "\n" in expected + got:
        yield f"    {place}:"
        yield from _differing_lines(expected.split("\n"), got.split("\n"))
    else:
        yield f"    {place}:"
        start = _first_difference(expected, got)
        yield f"    - {_shown(expected, start)}"
        yield f"    + {_shown(got, start)}"


def _differing_items(
    place: str, expected: list[Any], got: list[Any], texts: Mapping[str, str]
) -> Iterator[str]:
    """The items of two lists that differ; of messages the first, because what follows goes on from it."""
    if place == "messages":
        pairs = enumerate(zip_longest(expected, got))
        number, (one, other) = next((n, pair) for n, pair in pairs if pair[0] != pair[1])
        left, right = _message(one, texts), _message(other, texts)
        role = (left or right or {}).get("role", "")
        yield from _differing(
            f"message {number + 1} ({role})" if role else f"message {number + 1}", left, right, {}
        )
        if len(expected) != len(got):
            yield f"    {counted(len(expected), 'message')} in the log, {len(got)} in the replay"
        return
    for number, (one, other) in enumerate(zip_longest(expected, got)):
        if one != other:
            yield from _differing(f"{place}.{number}", one, other, texts)


def _message(digest: str | None, texts: Mapping[str, str]) -> Object | None:
    if digest is None:
        return None
    return json.loads(texts[digest]) if digest in texts else {"hash": digest}


def _differing_lines(expected: list[str], got: list[str]) -> Iterator[str]:
    """The lines that differ and a few around them, from the first difference on."""
    _, _, *lines = unified_diff(expected, got, lineterm="", n=AROUND_LINES)
    yield from (f"    {visible(_cut_around(line))}" for line in lines[:MOST_LINES])
    if len(lines) > MOST_LINES:
        yield f"    … {counted(len(lines) - MOST_LINES, 'further line')}"


def _cut_around(line: str) -> str:
    return line if len(line) <= MOST_CHARACTERS else f"{line[:MOST_CHARACTERS]}…"


def _first_difference(expected: Any, got: Any) -> int:
    """Where the JSON texts of two values begin to differ."""
    one, other = _as_text(expected), _as_text(got)
    same = zip(one, other, strict=False)
    return next(
        (index for index, (left, right) in enumerate(same) if left != right), min(len(one), len(other))
    )


def _told(mark: str, place: str, value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in cast("Object", value).items():
            yield from _told(mark, f"{place}.{key}".removeprefix("."), inner)
    else:
        yield f"{mark}{place}: {_shown(value)}"


def _titled(event: Object) -> str:
    return f"{event['type']} ({event['turnId']})" if event.get("turnId") else str(event["type"])


def _as_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _shown(value: Any, start: int = 0) -> str:
    """A value on one line; of a long one what lies around `start`."""
    if value is None:
        return "nothing"
    text = _as_text(value)
    first = max(0, start - AROUND_CHARACTERS) if len(text) > MOST_CHARACTERS else 0
    piece = visible(text[first : first + MOST_CHARACTERS])
    return f"{'…' if first else ''}{piece}{'…' if first + MOST_CHARACTERS < len(text) else ''}"
