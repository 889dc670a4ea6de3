"""Plays a scenario and judges it: the one call for whoever only wants to know whether it holds."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from outrider.testing.diffs import line_diff
from outrider.testing.failures import Failure
from outrider.testing.scenario_files.expectations import judge
from outrider.testing.scenario_files.play import play
from outrider_protocol.scenario import Connection, Scenario

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
    elif failure := await asyncio.to_thread(_write if update else _compare, file, played.transcript):
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
