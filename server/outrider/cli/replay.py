"""The command `replay`: a session run again from its log, up to the first event that differs."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from difflib import ndiff
from pathlib import Path
from typing import Any, cast

from rich.console import Console
from rich.text import Text

from outrider.cli.export import fetch_export
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
    console.print(Text("\n".join(verdict(replayed, len(export.events)))), soft_wrap=True)
    return ExitCode.FAILED if must_agree and replayed.difference else ExitCode.COMPLETED


def _ignore(event: LoggedEvent) -> None:
    pass


async def _export_of(
    workspace: Path, options: Object, subject: str | None, console: Console
) -> Export | ExitCode:
    if subject is not None and await asyncio.to_thread(Path(subject).is_file):
        export = await asyncio.to_thread(read_export, Path(subject))
    elif subject is not None and ("/" in subject or subject.endswith(".json")):
        Renderer(console).problem(f"there is no file {subject}")
        return ExitCode.USAGE
    else:
        fetched = await fetch_export(workspace, options, subject, console)
        if isinstance(fetched, ExitCode):
            return fetched
        export = await asyncio.to_thread(lambda: parse_export(json.dumps(fetched).encode()))
    if isinstance(export, ExportProblem):
        Renderer(console).problem(export.message)
        return ExitCode.USAGE
    return export


def verdict(replayed: Replayed, recorded: int) -> Iterator[str]:
    """How a replay went, line by line.

    Args:
        replayed: The replay.
        recorded: Events in the log.
    """
    before = (
        f" ({counted(replayed.taken_over, 'event')} before them taken over)" if replayed.taken_over else ""
    )
    if replayed.difference is None:
        yield f"The same: {counted(replayed.events, 'event')} of {recorded} came again as they were{before}."
        return
    difference = replayed.difference
    yield f"Different at event {difference.seq} of {recorded}; {counted(replayed.events, 'event')} were the same{before}."
    yield from _compared(difference)


def _compared(difference: Difference) -> Iterator[str]:
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
        yield from _told("  - ", "", expected["data"])
        yield from _told("  + ", "", got["data"])
        return
    yield f"  {_titled(expected)}"
    yield from _differing("", expected["data"], got["data"])


def _differing(place: str, expected: Any, got: Any) -> Iterator[str]:
    """The values that differ, each with its place; `-` is the log, `+` the replay."""
    if isinstance(expected, dict) and isinstance(got, dict):
        one, other = cast("Object", expected), cast("Object", got)
        for key in dict.fromkeys([*one, *other]):
            if one.get(key) != other.get(key):
                yield from _differing(f"{place}.{key}".removeprefix("."), one.get(key), other.get(key))
    elif isinstance(expected, str) and isinstance(got, str) and "\n" in expected + got:
        yield f"    {place}:"
        lines = [line for line in ndiff(expected.splitlines(), got.splitlines()) if line[0] != "?"]
        yield from (f"    {visible(line)}" for line in lines[:MOST_LINES])
        if len(lines) > MOST_LINES:
            yield f"    … {len(lines) - MOST_LINES} further lines"
    else:
        yield f"    {place}:"
        yield f"    - {_shown(expected)}"
        yield f"    + {_shown(got)}"


def _told(mark: str, place: str, value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in cast("Object", value).items():
            yield from _told(mark, f"{place}.{key}".removeprefix("."), inner)
    else:
        yield f"{mark}{place}: {_shown(value)}"


def _titled(event: Object) -> str:
    return f"{event['type']} ({event['turnId']})" if event.get("turnId") else str(event["type"])


def _shown(value: Any, most: int = 300) -> str:
    if value is None:
        return "nothing"
    text = visible(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= most else f"{text[:most]}…"
