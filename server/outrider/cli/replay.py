"""The command `replay`: a session run again from its log, up to the first event that differs."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from itertools import takewhile
from pathlib import Path
from typing import Any, cast

from rich.console import Console
from rich.text import Text

from outrider.cli.export import exported_file, fetch_export
from outrider.cli.problems import Problems
from outrider.cli.render import Renderer, counted
from outrider.cli.run import ExitCode
from outrider.cli.terminal import visible
from outrider.ports.events import LoggedEvent, to_wire
from outrider.replay.log import Difference
from outrider.replay.play import Replayed, ReplayProblem, play
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
    export = await _export_of(workspace, options, subject, renderer.problems)
    if isinstance(export, ExitCode):
        return export

    def show(event: LoggedEvent) -> None:
        renderer.event(to_wire(event))

    replayed = await play(export, from_seq=from_seq, on_event=_ignore if must_agree else show)
    if isinstance(replayed, ReplayProblem):
        renderer.problems.error(replayed.message)
        return ExitCode.USAGE
    console.print(Text("\n".join(verdict(replayed, export))), soft_wrap=True)
    return ExitCode.FAILED if must_agree and replayed.difference else ExitCode.COMPLETED


def _ignore(event: LoggedEvent) -> None:
    pass


async def _export_of(
    workspace: Path, options: Object, subject: str | None, problems: Problems
) -> Export | ExitCode:
    file = None if subject is None else await asyncio.to_thread(exported_file, subject)
    if file is not None:
        export = await asyncio.to_thread(read_export, file)
    else:
        fetched = await fetch_export(workspace, options, subject, problems)
        if isinstance(fetched, ExitCode):
            return fetched
        export = await asyncio.to_thread(lambda: parse_export(json.dumps(fetched).encode()))
    if isinstance(export, ExportProblem):
        problems.error(export.message)
        return ExitCode.USAGE
    return export


def verdict(replayed: Replayed, export: Export) -> Iterator[str]:
    """How a replay went, line by line.

    Args:
        replayed: The replay.
        export: The log that was replayed.
    """
    recorded = len(export.events)
    before = f" ({counted(replayed.taken_over, 'event')} before them reused)" if replayed.taken_over else ""
    if replayed.unknown_from is not None:
        yield (
            f"The same up to event {replayed.unknown_from - 1} of {recorded}{before}. What the model saw there "
            "depends on the lengths of texts, and this export has texts removed."
        )
        return
    if replayed.difference is None:
        yield f"The same: of {recorded} events, the loop ran {replayed.events} again{before}, with the same results."
        return
    difference = replayed.difference
    yield f"Different at event {difference.seq} of {recorded}; {counted(replayed.events, 'event')} were the same{before}."
    yield from _compared(difference, {**export.contents, **difference.texts})


def _compared(difference: Difference, texts: Mapping[str, str]) -> Iterator[str]:
    """Both events, and the values that differ, each with its place; `-` is the log, `+` the replay."""
    expected, got = difference.expected, difference.got
    if expected is None or got is None or _titled(expected) != _titled(got):
        yield f"  the log:    {_titled(expected) if expected else 'ends here'}"
        yield f"  the replay: {_titled(got) if got else 'nothing came'}"
    else:
        yield f"  {_titled(expected)}"
    of_log, of_replay = (dict(_values("", one["data"], texts) if one else ()) for one in (expected, got))
    places = [key for key in {**of_log, **of_replay} if of_log.get(key) != of_replay.get(key)]
    # Of messages the first counts, because what follows goes on from it.
    first = next((place.partition(".")[0] for place in places if place.startswith("message ")), "")
    for place in places:
        if not place.startswith("message ") or place.partition(".")[0] == first:
            yield f"    {place}:"
            yield from _differing(of_log.get(place), of_replay.get(place))


def _values(place: str, value: Any, texts: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """The single values within one, each with its place. A hash stands for its text, that of a message for what is in it."""
    if isinstance(value, Mapping):
        for key, inner in cast("Object", value).items():
            yield from _values(f"{place}.{key}".removeprefix("."), inner, texts)
    elif isinstance(value, list):
        for number, inner in enumerate(cast("list[Any]", value)):
            if place == "messages" and inner in texts:
                message = json.loads(texts[inner])
                yield from _values(f"message {number + 1} ({message['role']})", message, {})
            else:
                yield from _values(f"{place}.{number}", inner, texts)
    else:
        yield place, texts.get(value, value) if isinstance(value, str) else value


def _differing(expected: Any, got: Any) -> Iterator[str]:
    if isinstance(expected, str) and isinstance(got, str) and "\n" in expected + got:
        _, _, *lines = unified_diff(expected.split("\n"), got.split("\n"), lineterm="", n=AROUND_LINES)
        for line in lines[:MOST_LINES]:
            cut = line if len(line) <= MOST_CHARACTERS else f"{line[:MOST_CHARACTERS]}…"
            yield f"    {visible(cut)}"
        if len(lines) > MOST_LINES:
            yield f"    … {counted(len(lines) - MOST_LINES, 'further line')}"
        return
    one, other = (json.dumps(value, ensure_ascii=False) for value in (expected, got))
    same = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))))
    for mark, value, text in (("-", expected, one), ("+", got, other)):
        first = max(0, same - AROUND_CHARACTERS) if len(text) > MOST_CHARACTERS else 0
        piece = visible(text[first : first + MOST_CHARACTERS])
        cut = f"{'…' if first else ''}{piece}{'…' if first + MOST_CHARACTERS < len(text) else ''}"
        yield f"    {mark} {'nothing' if value is None else cut}"


def _titled(event: Object) -> str:
    return f"{event['type']} ({event['turnId']})" if event.get("turnId") else str(event["type"])
