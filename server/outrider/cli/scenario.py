"""`outrider scenario`: plays scenario files and says of each whether what it expects came true, or makes one."""

import asyncio
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TextIO, cast

import typer
from rich.console import Console

from outrider.cli.answers import COMMAND_TOOL
from outrider.cli.export import read_given, write_file
from outrider.cli.problems import Problems
from outrider.cli.render import counted
from outrider.models.scripted import read_json
from outrider.store.exported import ExportProblem
from outrider.testing.diffs import Failure
from outrider.testing.editor.profiles import PROFILES
from outrider.testing.scenario_files.crash import play_killed
from outrider.testing.scenario_files.expectations import play_and_judge
from outrider.testing.scenario_files.from_export import Untold, scenario_of, written
from outrider.testing.scenario_files.scenario_file import ScenarioProblem, load_scenario
from outrider_protocol.scenario import Connection, Scenario

_SCENARIO_KEYS: Final = frozenset({"steps", "model"})
"""In a folder, an object with one of them is taken for a scenario."""


@dataclass(frozen=True, slots=True)
class How:
    """How scenarios are played, where that is not left to them."""

    connection: Connection | None = None
    profile: str | None = None
    keep: bool = False
    """Whether the folder of each is left for a look."""
    update_golden: bool = False
    killed: bool = False
    """Whether the server is killed at every event, and only the end is looked at."""


def run_scenarios(paths: Sequence[Path], how: How, console: Console, json_lines: TextIO | None) -> int:
    """Play scenarios one after another, and show how each went.

    Args:
        paths: Their files, or folders with such files in them.
        how: How they are played.
        console: Where it is shown.
        json_lines: Where to write one JSON object a scenario, if anywhere.

    Returns:
        The exit code: 0 where all are as expected, 1 where not, 2 where one cannot be played.

    Raises:
        typer.BadParameter: There is no such editor, no scenario, or options that exclude each other.
    """
    if how.profile is not None and how.profile not in PROFILES:
        named = ", ".join(sorted(PROFILES))
        raise typer.BadParameter(
            f"there is no editor “{how.profile}”; available: {named}", param_hint="--profile"
        )
    if how.profile is not None and how.update_golden:
        raise typer.BadParameter("transcripts need the scenario's own editor", param_hint="--update-golden")
    found = list(_found(paths))
    if not found:
        raise typer.BadParameter("it contains no scenarios", param_hint="FILE…")
    failed = bad = 0
    for path in found:
        verdict = _play(path, how)
        failed += bool(verdict.failures)
        bad += verdict.problem is not None
        for line in verdict.lines():
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        if json_lines is not None:
            print(json.dumps(verdict.to_json(), ensure_ascii=False), file=json_lines, flush=True)
    if len(found) > 1:
        said = f"{len(found)} scenarios: {len(found) - failed - bad} ok, {failed} failed"
        console.print(f"{said}, {bad} cannot be played" if bad else said, highlight=False, markup=False)
    return 2 if bad else 1 if failed else 0


@dataclass(frozen=True, slots=True)
class _Verdict:
    path: Path
    name: str
    seconds: float
    failures: tuple[Failure, ...] = ()
    problem: str | None = None
    folder: Path | None = None
    notes: tuple[str, ...] = ()
    """What became of its transcript, where that is not among the failures."""

    def lines(self) -> Iterator[str]:
        if self.problem is not None:
            yield f"cannot be played  {self.problem}"
            return
        yield f"{'failed' if self.failures else 'ok    '}  {self.name}  {self.seconds:.2f} s"
        if self.failures:
            yield f"  {self.path}"
        for note in self.notes:
            yield f"  {note}"
        for failure in self.failures:
            yield "\n".join(f"  {line}" for line in str(failure).split("\n"))
        if self.folder is not None:
            yield f"  in {self.folder}"

    def to_json(self) -> dict[str, Any]:
        result: dict[str, Any] = {
            "file": str(self.path),
            "name": self.name,
            "status": "bad" if self.problem is not None else "failed" if self.failures else "ok",
            "seconds": round(self.seconds, 3),
            "failures": [
                {"where": each.where, "expected": each.expected, "actual": each.actual, "diff": each.diff}
                for each in self.failures
            ],
        }
        if self.problem is not None:
            result["problem"] = self.problem
        if self.notes:
            result["notes"] = list(self.notes)
        if self.folder is not None:
            result["folder"] = str(self.folder)
        return result


def _play(path: Path, how: How) -> _Verdict:
    scenario = load_scenario(path)
    if isinstance(scenario, ScenarioProblem):
        return _Verdict(path, path.stem, 0.0, problem=scenario.message)
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="outrider-scenario-"))
    notes: list[str] = []
    try:
        failures = asyncio.run(_failures(scenario, path, folder, how, notes.append))
    finally:
        if not how.keep:
            shutil.rmtree(folder, ignore_errors=True)
    taken = time.monotonic() - began
    kept = folder if how.keep else None
    return _Verdict(path, scenario.name, taken, tuple(failures), folder=kept, notes=tuple(notes))


async def _failures(
    scenario: Scenario, path: Path, folder: Path, how: How, tell: Callable[[str], None]
) -> list[Failure]:
    if how.killed:
        return await play_killed(scenario, folder, connection=how.connection, profile=how.profile)
    return await play_and_judge(
        scenario,
        folder,
        beside=path.parent,
        connection=how.connection,
        profile=how.profile,
        update_golden=how.update_golden,
        tell=tell,
    )


def _found(paths: Iterable[Path]) -> Iterator[Path]:
    """The files themselves, and the scenarios in folders."""
    for path in paths:
        if os.path.isdir(path):  # noqa: PTH112 - a name that is too long is not a folder, and no exception
            yield from _in_folder(path)
        else:
            yield path


def _in_folder(folder: Path) -> Iterator[Path]:
    """Files that are meant to be played. One that cannot be read as an object may be one, so it is not passed over."""
    files = [file for file in sorted(folder.rglob("*.json")) if not file.is_dir()]
    read: dict[Path, object] = {
        file: read_json(file, called="scenario") for file in files if not file.name.startswith("_")
    }
    included = {
        (file.parent / name).resolve()
        for file, data in read.items()
        for name in _strings(_object(data).get("include"))
    }
    for file, data in read.items():
        own = _object(data)
        broken = not isinstance(data, dict)
        if broken or (_SCENARIO_KEYS & own.keys() and file.resolve() not in included):
            yield file


def _object(data: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", data) if isinstance(data, dict) else {}


def _strings(data: Any) -> list[str]:
    items = cast("list[Any]", data) if isinstance(data, list) else []
    return [item for item in items if isinstance(item, str)]


def scenario_from(source: Path, target: Path | None, name: str | None, *, force: bool) -> int:
    """Write the scenario that plays an exported session again.

    Args:
        source: What `outrider export` wrote.
        target: The scenario's file; None for standard output.
        name: What it is called; None takes the name of the file.
        force: Whether a file that is there may be replaced.

    Returns:
        The exit code: 0, or 2 where the export cannot be read or the file cannot be written.
    """
    export = read_given(source)
    if isinstance(export, ExportProblem):
        is_session = source.name.startswith("ses_") and not os.path.exists(source)  # noqa: PTH110 - as above
        hint = f"; to make a file of a session, run `outrider export {source} -o FILE`" if is_session else ""
        return _refused(f"{export.message}{hint}")
    stem = re.sub(r"[^a-z0-9_-]+", "_", (name or (target or source).stem).lower()).strip("_-") or "session"
    scenario = scenario_of(export, stem)
    if isinstance(scenario, Untold):
        return _refused(f"{source}: {scenario.message}")
    content = json.dumps(written(scenario), ensure_ascii=False, indent=2) + "\n"
    if target is None:
        sys.stdout.write(content)
    elif problem := write_file(target, content.encode("utf-8", "surrogatepass"), force=force):
        return _refused(problem)
    Problems().note(_made(scenario, target))
    return 0


def _made(scenario: Scenario, target: Path | None) -> str:
    """What was made, and what it cannot know, for the user."""
    files = sorted(scenario.workspace)
    where = "" if target is None else f" in {target}"
    said = f"Scenario{where}: {counted(len(files), 'file')}."
    ran = sum(call.name == COMMAND_TOOL for turn in scenario.model.turns for call in turn.tool_calls)
    if ran:
        beside = f" beside {', '.join(files)}" if files else ""
        said += f" {counted(ran, 'command')} ran; what {'they need' if ran > 1 else 'it needs'}{beside} has to be added to `workspace`."
    return said


def _refused(problem: str) -> int:
    Problems().error(problem)
    return 2
