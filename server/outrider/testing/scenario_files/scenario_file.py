"""Reads scenario files: what they include, what they say, and what can be known to be impossible before they are played.

A file is somebody else's: nothing outside its own folder is read for it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final, cast, get_args

from pydantic import ValidationError

from outrider.models.scripted import JsonProblem, key, keys_of, places_of, read_json, said_at
from outrider.testing.diffs import counted
from outrider.testing.editor.profiles import PROFILES
from outrider.tools.all import own_tools
from outrider_protocol import scenario as file
from outrider_protocol.events import EVENT_TYPES
from outrider_protocol.scenario import Answer, Expect, Occurrence, Scenario, Step

Object = dict[str, Any]

VERSIONS: Final = get_args(Scenario.model_fields["version"].annotation)
"""Versions of the format that can be played."""
_MOST_FILES: Final = 32
_OF_A_TURN: Final = frozenset({"wait", "until", "answer", "steer", "cancel", "read_log"})
"""Steps that need a turn."""


@dataclass(frozen=True, slots=True)
class ScenarioProblem:
    """Why a file is no scenario: the file, the place in it and what is wrong there."""

    message: str


@dataclass(slots=True)
class _Parts:
    """The files that a scenario is made of, the included ones first."""

    folder: Path
    files: list[tuple[Path, Object]] = field(default_factory=list[tuple[Path, Object]])

    def where(self, place: str) -> Path:
        """The file in which a place of the whole stands: the last one that has it."""
        for path, data in reversed(self.files):
            if place in _places(data, ""):
                return path
        return self.files[-1][0]


def load_scenario(path: Path) -> Scenario | ScenarioProblem:
    """Read a scenario file and what it includes, and look for what cannot be. Blocks."""
    parts = _Parts(path.parent.resolve())
    problem = _collect(path, parts, ())
    if problem is not None:
        return ScenarioProblem(problem)
    whole: Object = {}
    for _, data in parts.files:
        whole = _merged(whole, data)
    version = whole.get("version")
    # True and 1.0 are 1 for Python, and not for JSON.
    if type(version) is not int or version not in VERSIONS:
        known = ", ".join(map(str, VERSIONS))
        said = f"{whole['version']!r} is not known" if "version" in whole else "is missing"
        return ScenarioProblem(f"{parts.where('version')}: version: {said}; known are: {known}")
    try:
        scenario = Scenario.from_wire(whole)
    except ValidationError as error:
        places = places_of(error, whole, keys_of(Scenario))
        return ScenarioProblem(f"{parts.where(places[0][0])}: {said_at(places)}")
    impossible = list(_impossible(scenario))
    if impossible:
        return ScenarioProblem(f"{parts.where(impossible[0][0])}: {said_at(impossible)}")
    return scenario


def outside(name: str) -> str | None:
    """Why a path of a scenario does not stay in its folder, None if it does."""
    path = PurePosixPath(name)
    if not path.parts or "\0" in name:
        return f"{name!r} names no file"
    if path.is_absolute() or ".." in path.parts:
        return f"{name!r} leaves the folder"
    return None


# --- includes ------------------------------------------------------------------------------------------------


def _collect(path: Path, parts: _Parts, chain: tuple[Path, ...]) -> str | None:
    """Read `path` and what it includes into `parts`; gives what is wrong. `chain`: the files that led here."""
    way = "".join(f"{earlier}: includes " for earlier in chain)
    if path.resolve() in [earlier.resolve() for earlier in chain]:
        return f"{way}{path}, which includes itself"
    if len(parts.files) + len(chain) >= _MOST_FILES:
        return f"{way}{path}: more than {_MOST_FILES} files"
    data = read_json(path, called="scenario" if not chain else "file")
    if isinstance(data, JsonProblem):
        return f"{way}{data.message}"
    if not isinstance(data, dict):
        return f"{way}{path}: not an object"
    own = cast("Object", data)
    names = own.get("include", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in cast("list[Any]", names)):
        return f"{way}{path}: include: must be a list of file names"
    for name in cast("list[str]", names):
        if problem := outside(name):
            return f"{way}{path}: include: {problem}"
        if not (path.parent / name).resolve().is_relative_to(parts.folder):
            return f"{way}{path}: include: {name!r} leaves the folder by a link"
        if problem := _collect(path.parent / name, parts, (*chain, path)):
            return problem
    parts.files.append((path, own))
    return None


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> Object:
    merged = dict(base)
    for name, value in over.items():
        if isinstance(value, dict) and isinstance(merged.get(name), dict):
            merged[name] = _merged(merged[name], cast("Object", value))
        else:
            merged[name] = value
    return merged


def _places(value: Any, place: str) -> Iterator[str]:
    yield place.removeprefix(".")
    if isinstance(value, dict):
        for name, item in cast("Object", value).items():
            yield from _places(item, place + key(name))
    elif isinstance(value, list):
        for number, item in enumerate(cast("list[Any]", value)):
            yield from _places(item, f"{place}[{number}]")


# --- what cannot be ------------------------------------------------------------------------------------------


def _impossible(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Places and what is impossible there."""
    if scenario.profile not in PROFILES:
        yield "profile", f"there is no editor {scenario.profile!r}; there are {', '.join(sorted(PROFILES))}"
    yield from _bad_paths(scenario)
    for number, name in enumerate(scenario.open):
        if outside(name) is None and not _is_there(name, scenario.workspace):
            yield f"open[{number}]", f"`workspace` has no file {name!r}"
    yield from _bad_order(scenario)
    yield from _unknown_events(scenario)
    known: dict[str, int] = {}
    for number, tool in enumerate(scenario.tools):
        if known.setdefault(tool.name, number) != number:
            yield f"tools[{number}].name", f"tools[{known[tool.name]}] is called {tool.name!r} too"
        if tool.name in own_tools():
            yield f"tools[{number}].name", f"{tool.name!r} is a tool of Outrider's own"
    if "stateDir" in scenario.settings:
        yield "settings.stateDir", "a scenario keeps its log in its own folder"
    expect = scenario.expect
    if expect == Expect() and all(turn.expect is None for turn in scenario.model.turns):
        yield "expect", "nothing is expected, so nothing can fail"
    for number, event in enumerate(expect.lacks):
        if event in expect.contains:
            yield f"expect.lacks[{number}]", f"`contains` has {_type(event)!r} too"
    in_script = counted(len(scenario.model.turns), "answer")
    # Every request uses an answer; one that finds none fails its turn.
    most = len(scenario.model.turns) + sum(step.do == "run" for step in scenario.steps)
    if expect.requests is not None and len(expect.requests) > most and not _begins_otherwise(scenario):
        yield (
            "expect.requests",
            f"{counted(len(expect.requests), 'request')}, but the script has {in_script}",
        )
    if expect.left_over > len(scenario.model.turns):
        yield "expect.left_over", f"the script has {in_script}"
    if expect.questions is not None and len(expect.questions) < len(scenario.answers):
        yield (
            "expect.questions",
            (
                f"{counted(len(scenario.answers), 'answer')} to {counted(len(expect.questions), 'question')}; "
                "one that is not asked fails"
            ),
        )


def _is_there(name: str, workspace: Mapping[str, str]) -> bool:
    return PurePosixPath(name) in map(PurePosixPath, workspace)


def _begins_otherwise(scenario: Scenario) -> bool:
    # Each session begins the script anew; code actions and commands may begin turns too.
    return any(
        step.do in {"action", "command"} or (isinstance(step, file.Run) and step.new_session)
        for _, step in _steps(scenario)
    )


def _steps(scenario: Scenario) -> Iterator[tuple[str, Step]]:
    """Every step with its place, those before answers included."""
    for number, step in enumerate(scenario.steps):
        yield f"steps[{number}]", step
    answers: list[tuple[str, str | Answer | None]] = [
        *((f"answers[{number}]", answer) for number, answer in enumerate(scenario.answers)),
        ("otherwise", scenario.otherwise),
    ]
    for place, answer in answers:
        if isinstance(answer, Answer):
            for number, step in enumerate(answer.first):
                yield f"{place}.first[{number}]", step


def _bad_paths(scenario: Scenario) -> Iterator[tuple[str, str]]:
    named = [(f"workspace{key(name)}", name) for name in scenario.workspace]
    named += [(f"open[{number}]", name) for number, name in enumerate(scenario.open)]
    for place, step in _steps(scenario):
        paths = {field: getattr(step, field, None) for field in ("path", "to")}
        named += [(f"{place}.{field}", path) for field, path in paths.items() if path is not None]
    named += [(f"expect.files{key(name)}", name) for name in scenario.expect.files]
    named += [(f"expect.buffers{key(name)}", name) for name in scenario.expect.buffers]
    if scenario.expect.golden is not None:
        named.append(("expect.golden", scenario.expect.golden))
    for place, name in named:
        if problem := outside(name):
            yield place, problem
    files = {PurePosixPath(name) for name in scenario.workspace}
    for name in scenario.workspace:
        if files & set(PurePosixPath(name).parents):
            yield f"workspace{key(name)}", "it lies in something that is a file itself"


def _bad_order(scenario: Scenario) -> Iterator[tuple[str, str]]:
    for number, step in enumerate(scenario.steps):
        if step.do in {"run", "action", "command"}:
            return
        if step.do in _OF_A_TURN:
            yield f"steps[{number}]", f"{step.do}: no turn has been begun by a step before it"


def _unknown_events(scenario: Scenario) -> Iterator[tuple[str, str]]:
    named = [
        (f"expect.{name}[{number}]", _type(event))
        for name in ("events", "contains", "ends_with", "lacks")
        for number, event in enumerate(getattr(scenario.expect, name) or [])
    ]
    named += [
        (f"{place}.event", step.event.type)
        for place, step in _steps(scenario)
        if isinstance(step, file.Until)
    ]
    for place, kind in named:
        if kind not in EVENT_TYPES:
            yield place, f"there is no event {kind!r}"


def _type(event: str | Occurrence) -> str:
    return event if isinstance(event, str) else event.type
