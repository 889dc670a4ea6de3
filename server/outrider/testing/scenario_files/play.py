"""Plays a scenario file: builds its workspace, does its steps with a fake editor, and collects what came of it.

What came of it is judged by `expectations`; here fails only what no scenario may do.
"""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from outrider.agent.state import SessionState
from outrider.ports.events import LoggedEvent
from outrider.testing.contents import read_contents
from outrider.testing.editor.fake_editor import FakeEditor, Said
from outrider.testing.editor.profiles import PROFILES
from outrider.testing.editor.wire_client import RpcError, Traffic
from outrider.testing.failures import Failure, counted
from outrider.testing.folder import files_in
from outrider.testing.invocations import Invocation, read_invocations
from outrider.testing.places import Places
from outrider.testing.scenario import connect, options, scripted
from outrider.testing.scenario_files.editor_tools import EditorTools, registered
from outrider.testing.scenario_files.person import Person
from outrider.testing.scenario_files.steps import STEPS, Player
from outrider.testing.scenario_files.transcript import Hashes, hashes_in, transcript
from outrider.testing.script import SCRIPT_REASONS
from outrider_protocol.scenario import Connection, Scenario

Object = dict[str, Any]


@dataclass(slots=True)
class Played:
    """What came of a scenario. Paths in it begin with `/workspace`, wherever it was played."""

    profile: str
    places: Places
    """Takes the places of this machine out of what is shown."""
    events: list[Object] = field(default_factory=list[Object])
    """The log of the last session."""
    logs: dict[str, list[Object]] = field(default_factory=dict[str, list[Object]])
    """The log of every session."""
    frames: list[Object] = field(default_factory=list[Object])
    messages: list[Traffic] = field(default_factory=list[Traffic])
    """Everything that went over the wire."""
    questions: list[str] = field(default_factory=list[str])
    """What the person was asked."""
    said: list[Said] = field(default_factory=list[Said])
    buffers: dict[str, str] = field(default_factory=dict[str, str])
    """Texts of the open documents, by path."""
    files: dict[str, str] = field(default_factory=dict[str, str])
    """Texts of the workspace's files, by path; bytes that are no UTF-8 are escaped."""
    invocations: list[Invocation] = field(default_factory=list[Invocation])
    """The requests to the model in the last session."""
    left_over: int = 0
    """Answers of the script that the model was not asked for."""
    state: SessionState | None = None
    """The fold of the last session's log; None where there was none."""
    transcript: str = ""
    """What is the same in every run; see `transcript`."""
    not_taken: list[str] = field(default_factory=list[str])
    """Messages about settings that the server did not take."""
    marks: list[int] = field(default_factory=list[int])
    """How many events had come when each step was done."""
    failures: list[Failure] = field(default_factory=list[Failure])
    """Steps that could not be done, questions that were not to be asked, answers nobody asked for, broken rules."""


async def play(
    scenario: Scenario,
    folder: Path,
    *,
    connection: Connection | None = None,
    profile: str | None = None,
    person: type[Person] = Person,
) -> Played:
    """Play a scenario.

    Args:
        scenario: What is played.
        folder: An empty folder that everything of it lies in.
        connection: How the server is reached, instead of what the scenario says.
        profile: Which editor it is, instead of what the scenario says.
        person: Who answers.
    """
    folder = await asyncio.to_thread(folder.resolve)
    workspace, places = folder / "workspace", Places(folder)
    await asyncio.to_thread(_lay_out, workspace, scenario.workspace)
    script = scenario.model.model_dump(mode="json", exclude_none=True)
    model = scripted(workspace, script.pop("turns"), **script)
    tools = {"tools": registered(scenario)} if scenario.tools else {}
    given = options(workspace, model, {**tools, **scenario.settings})
    state_dir = Path(given.get("stateDir") or folder / "workspace.home" / "state" / "outrider")
    editor = FakeEditor(
        PROFILES[profile or scenario.profile], workspace, options=given, configuration=scenario.configuration
    )
    how = connection or scenario.connection
    played = Played(editor.profile.name, places)
    player = Player(scenario, editor, state_dir, places, played.failures.append, connection=how)
    answering = person(scenario, editor, places, player.play, played.failures.append)
    tools_of_editor = EditorTools(scenario, editor, played.failures.append)
    editor.answers = answering
    editor.tool_answers = tools_of_editor if scenario.tools else None
    try:
        await editor.start(connect(how, workspace))
        for path in scenario.open:
            editor.open(path)
        await player.play(scenario.steps, STEPS)
        await answering.done()
        for session_id in player.sessions:
            played.logs[session_id] = await player.log(session_id)
    except (AssertionError, ConnectionError, RpcError) as problem:
        played.failures.append(Failure("the server", "that it serves", places.neutral(str(problem))))
    finally:
        await editor.shut_down()
    if not player.stopped:
        answering.check()
        tools_of_editor.check()
    played.marks = player.marks
    turns = len(scenario.model.turns)
    await _collect(played, editor, turns, state_dir, places)
    played.failures += [*_of_the_script(scenario, played), *_ignored(scenario, played)]
    if not player.stopped and played.left_over != scenario.expect.left_over:
        played.failures.append(
            Failure(
                "model",
                f"{counted(scenario.expect.left_over, 'answer')} left over",
                f"{played.left_over} of {turns}",
            )
        )
    return played


def _of_the_script(scenario: Scenario, played: Played) -> Iterator[Failure]:
    """Turns that ended because the script did not fit, unless that is expected by its name."""
    for event in (event for log in played.logs.values() for event in log if event["type"] == "turn.finished"):
        reason = event["data"]["reason"]
        if reason in SCRIPT_REASONS and reason != scenario.expect.reason:
            said = event["data"]["summary"]
            yield Failure("model", "a script that fits (or `expect.reason` names it)", f"{reason}: {said}")


def _ignored(scenario: Scenario, played: Played) -> Iterator[Failure]:
    """Settings that the server does not take as they are given, unless that is expected to be said."""
    for text in played.not_taken:
        if not any(expected in text for expected in scenario.expect.said):
            yield Failure(
                "tools" if ": tools" in text else "settings",
                "settings that are taken (or `expect.said` names the message)",
                text,
            )


async def _collect(played: Played, editor: FakeEditor, turns: int, state_dir: Path, places: Places) -> None:
    played.files = await asyncio.to_thread(_texts, editor.root)
    root = editor.root.as_uri() + "/"
    played.buffers = {uri.removeprefix(root): buffer.text for uri, buffer in editor.desk.buffers.items()}
    played.frames = editor.frames
    played.questions = [places.neutral(question.message) for question in editor.questions]
    played.said = [Said(said.level, places.neutral(said.text), said.shown) for said in editor.said]
    played.not_taken = [places.neutral(text) for text in editor.not_taken]
    played.messages = [Traffic(each.direction, places.neutral(each.message)) for each in editor.messages]
    wrong = dict.fromkeys(editor.watch.violations)
    played.failures += [
        Failure("the server", "that it keeps the rules", places.neutral(text)) for text in wrong
    ]
    left = [turns - _fold(session, log).cursor for session, log in played.logs.items()]
    played.left_over = max(min(left, default=turns), 0)
    played.logs = {session: places.neutral(log) for session, log in played.logs.items()}
    if editor.session_id:
        played.events = played.logs.get(editor.session_id, [])
        played.state = _fold(editor.session_id, played.events)
        played.invocations = await read_invocations(state_dir, editor.session_id)
    contents = await read_contents(state_dir, hashes_in(list(played.logs.values())))
    played.transcript = transcript(played.logs, played.messages, Hashes(contents, places), played.profile)


def _fold(session_id: str, log: list[Object]) -> SessionState:
    state = SessionState(session_id)
    for event in log:
        state.apply(
            LoggedEvent(
                event["seq"], event["ts"], session_id, event.get("turnId"), event["type"], event["data"]
            )
        )
    return state


def _lay_out(workspace: Path, files: Mapping[str, str]) -> None:
    workspace.mkdir()
    for name, text in files.items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))


def _texts(workspace: Path) -> dict[str, str]:
    return {
        path.relative_to(workspace).as_posix(): path.read_bytes().decode("utf-8", "backslashreplace")
        for path in files_in(workspace)
    }
