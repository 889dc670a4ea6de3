"""The command `replay`: a session run again from its log, up to the first event that differs."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

from outrider.cli.exits import ExitCode
from outrider.cli.export import encoded, exported_file, fetch_export, read_given
from outrider.cli.problems import Problems
from outrider.cli.progress import Bar, in_progress
from outrider.cli.render import Renderer, counted
from outrider.cli.terminal import print_json, visible
from outrider.ports.events import LoggedEvent, to_wire
from outrider.replay.log import Difference, leaves
from outrider.replay.play import Replayed, ReplayProblem, play
from outrider.store.exported import ExportProblem, parse_export
from outrider_protocol.export import Export

Object = dict[str, Any]

MOST_LINES = 40
"""Lines of one text that a difference shows."""
AROUND_LINES = 2
"""Lines that are the same, shown before and after those that differ."""
MOST_CHARACTERS = 150
"""Of one line; a longer one goes on in the next."""


async def replay(
    workspace: Path,
    options: Object,
    subject: str | None,
    from_seq: int,
    console: Console,
    *,
    must_agree: bool,
    lines: TextIO | None = None,
) -> ExitCode:
    """Run a session again, and show its events; with `must_agree` nothing but the verdict.

    Args:
        workspace: Where the log of a session is looked for.
        options: Settings for that.
        subject: A file that `outrider export` wrote, or a session's id; None for the latest session.
        from_seq: The first event that is wanted.
        console: Where it is shown.
        must_agree: Whether a difference is a failure.
        lines: Where the verdict goes as JSON instead of all that.
    """
    renderer = Renderer(console)
    export = await _export_of(workspace, options, subject, renderer.problems)
    if isinstance(export, ExitCode):
        return export

    def show(event: LoggedEvent) -> None:
        bar.step()
        if is_shown:
            renderer.event(to_wire(event))

    is_shown = not must_agree and lines is None
    if is_shown:  # which says how far it is
        bar = Bar("", renderer.problems)
        replayed = await play(export, from_seq=from_seq, on_event=show)
    else:
        async with in_progress("replaying", renderer.problems, len(export.events)) as bar:
            replayed = await play(export, from_seq=from_seq, on_event=show)
    if isinstance(replayed, ReplayProblem):
        renderer.problems.error(replayed.message)
        return ExitCode.USAGE
    if lines is not None:
        print_json(told(replayed, export), lines)
    else:
        console.print(Text("\n".join(verdict(replayed, export))), soft_wrap=True)
    return ExitCode.FAILED if must_agree and replayed.difference else ExitCode.COMPLETED


async def _export_of(
    workspace: Path, options: Object, subject: str | None, problems: Problems
) -> Export | ExitCode:
    file = None if subject is None else await asyncio.to_thread(exported_file, subject)
    if file is not None:
        export = await asyncio.to_thread(read_given, file)
    elif isinstance(fetched := await fetch_export(workspace, options, subject, problems), ExitCode):
        return fetched
    else:
        export = await asyncio.to_thread(lambda: parse_export(encoded(fetched)))
    if isinstance(export, ExportProblem):
        problems.error(export.message)
        return ExitCode.USAGE
    return export


def told(replayed: Replayed, export: Export) -> Object:
    """How a replay went, as a `ReplayResult`."""
    difference = replayed.difference
    result: Object = {
        "sessionId": export.session_id,
        "same": difference is None and replayed.unknown_from is None,
        "recorded": len(export.events),
        "events": replayed.events,
        "reused": replayed.taken_over,
        "verdict": list(verdict(replayed, export)),
    }
    result |= {} if replayed.unknown_from is None else {"unknownFrom": replayed.unknown_from}
    return result | ({} if difference is None else {"differentAt": difference.seq})


def verdict(replayed: Replayed, export: Export) -> Iterator[str]:
    """How a replay went, line by line.

    Args:
        replayed: The replay.
        export: The log that was replayed.
    """
    recorded, difference = len(export.events), replayed.difference
    before = f" ({counted(replayed.taken_over, 'event')} before them reused)" if replayed.taken_over else ""
    if replayed.unknown_from is not None:
        yield (
            f"The same up to event {replayed.unknown_from - 1} of {recorded}{before}. What the model saw there "
            "depends on the lengths of texts, and this export has texts removed."
        )
    elif difference is None:
        yield f"The same: of {recorded} events, the loop ran {replayed.events} again{before}, with the same results."
    else:
        same = counted(replayed.events, "event")
        yield f"Different at event {difference.seq} of {recorded}; {same} were the same{before}."
        yield from _compared(difference, {**export.contents, **difference.texts})


def _compared(difference: Difference, texts: Mapping[str, str]) -> Iterator[str]:
    """Both events, and the values that differ, each with its place; `-` is the log, `+` the replay."""
    expected, got = difference.expected, difference.got
    if expected is None or got is None or _titled(expected) != _titled(got):
        yield f"  the log:    {_titled(expected) if expected else 'ends here'}"
        yield f"  the replay: {_titled(got) if got else 'nothing came'}"
    else:
        yield f"  {_titled(expected)}"
    of_log, of_replay = (_values(one, texts) for one in (expected, got))
    places = [key for key in {**of_log, **of_replay} if of_log.get(key) != of_replay.get(key)]
    # Of messages the first counts, because what follows goes on from it.
    first = next((place.partition(".")[0] for place in places if place.startswith("message ")), "")
    for place in places:
        if not place.startswith("message ") or place.partition(".")[0] == first:
            yield f"    {place}:"
            yield from _differing(of_log.get(place), of_replay.get(place))


def _values(event: Object | None, texts: Mapping[str, str]) -> Object:
    """The single values of an event, by their places. A hash stands for its text, that of a message for what is in it."""
    data: Object = dict(event["data"]) if event is not None else {}
    for number, digest in enumerate(data.pop("messages", ()), 1):
        message = json.loads(texts[digest])
        data[f"message {number} ({message['role']})"] = message
    return {place: texts.get(str(value), value) for place, value in leaves(data)}


def _differing(expected: Any, got: Any) -> Iterator[str]:
    of_log, of_replay = _lines_of(expected), _lines_of(got)
    _, _, *lines = unified_diff(of_log, of_replay, lineterm="", n=AROUND_LINES)
    if len(of_log) == len(of_replay) == 1:
        del lines[0]  # one line needs no number
    for line in lines[:MOST_LINES]:
        yield f"    {visible(line)}"
    if len(lines) > MOST_LINES:
        yield f"    … {counted(len(lines) - MOST_LINES, 'further line')}"


def _lines_of(value: Any) -> list[str]:
    """A value in lines that are not too long, so that a long one is shown where it differs."""
    if value is None:
        return [" nothing"]
    text = value if isinstance(value, str) and "\n" in value else json.dumps(value, ensure_ascii=False)
    most = MOST_CHARACTERS
    return [f" {line[at : at + most]}" for line in text.split("\n") for at in range(0, len(line) or 1, most)]


def _titled(event: Object) -> str:
    return f"{event['type']} ({event['turnId']})" if event.get("turnId") else str(event["type"])
