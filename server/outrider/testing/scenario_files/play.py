"""Plays a scenario file with a `ScenarioRun`: each step is one of its methods, or something done in its editor.

What came of it is judged by `expectations`; here fails only what no scenario may do.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import outrider_protocol as names
from outrider.testing.diffs import Failure, counted
from outrider.testing.editor import answers as editors
from outrider.testing.editor.answers import Question, ToolCall
from outrider.testing.editor.checks import capability
from outrider.testing.editor.profiles import PROFILES
from outrider.testing.editor.wire_client import RpcError, Traffic
from outrider.testing.scenario_files.transcript import Hashes, hashes_in, transcript
from outrider.testing.scenario_folder import Places, holds, read_contents
from outrider.testing.scenario_run import ScenarioRun, Setup, as_sent
from outrider.testing.script import SCRIPT_REASONS, ScriptedModel
from outrider_protocol import scenario as file
from outrider_protocol.scenario import Answer, Connection, Scenario, Step

Object = dict[str, Any]

WAIT_SECONDS: Final = 30.0
"""Real seconds that a turn may take, and each command."""

_STEPS: Final = "steps"
_HOW: Final[Mapping[str, editors.Answer]] = {
    "dismiss": editors.Dismiss(),
    "never": editors.Never(),
    "null": editors.Reply(None),
    "fail": editors.Fail(),
    "unknown_title": editors.Reply({"title": "Certainly"}),
}
_TOOL_HOW: Final[Mapping[str, editors.ToolAnswer]] = {
    "null": editors.Dismiss(),
    "never": editors.Never(),
    "fail": editors.Fail(message="the tool is broken"),
    "garbage": editors.Reply({"content": [{"type": "text", "text": "of another protocol"}]}),
}


class Unexpected(Exception):  # noqa: N818 - not an error of the program
    """A step came out differently than it must."""

    def __init__(self, expected: str, actual: str) -> None:
        super().__init__(f"expected {expected}, got {actual}")
        self.expected = expected
        self.actual = actual


class User:
    """Answers the questions of a scenario, in order."""

    def __init__(self, scenario: Scenario, player: "Player") -> None:
        """A user who has not been asked yet."""
        self._answers = scenario.answers
        self._otherwise = scenario.otherwise
        self._player = player
        self._asked = 0
        self._busy: set[asyncio.Task[None]] = set()

    def __call__(self, question: Question) -> editors.Answer:
        """Decide about a question."""
        self._asked += 1
        where, planned = self._planned(question)
        said = f"{self._player.places.neutral(question.message)!r} with {', '.join(question.titles)}"
        if planned is None:
            if self._player.run.editor.profile.forced_answer is None:
                self._player.fail(where, f"no more than {self._asked - 1} questions", said)
            return editors.Dismiss()
        planned = Answer(title=planned) if isinstance(planned, str) else planned
        if planned.to is not None and planned.to not in self._player.places.neutral(question.message):
            self._player.fail(where, f"a question that contains {planned.to!r}", said)
            return editors.Dismiss()
        if planned.title is not None and planned.title not in question.titles:
            self._player.fail(where, f"a button {planned.title!r}", said)
            return editors.Dismiss()
        if not planned.first:
            return _answer(planned)
        task = asyncio.create_task(self._answer_after_steps(question, planned, where, said))
        self._busy.add(task)
        task.add_done_callback(self._busy.discard)
        return editors.Never()

    async def done(self) -> None:
        """Wait until every step before an answer is done; each of them is bounded."""
        while self._busy:
            await asyncio.gather(*self._busy)

    def check(self) -> None:
        """Report the answers that no question took."""
        for number, planned in enumerate(self._answers[self._asked :], self._asked):
            named = planned if isinstance(planned, str) else planned.to or planned.title or str(planned.how)
            asked = f"{self._asked} questions were asked"
            self._player.fail(f"answers[{number}]", f"a question for {named!r}", asked)

    def _planned(self, question: Question) -> tuple[str, str | Answer | None]:
        """The place of an answer in the file, and the answer, for a question that was just counted."""
        if self._asked > len(self._answers):
            return "otherwise", self._otherwise
        return f"answers[{self._asked - 1}]", self._answers[self._asked - 1]

    async def _answer_after_steps(self, question: Question, planned: Answer, where: str, said: str) -> None:
        await self._player.play(planned.first, f"{where}.first")
        if question.answered or planned.how == "never":
            return
        if question.replaced:
            self._player.fail(where, "a question that is still on the screen", f"it is gone: {said}")
            return
        self._player.run.editor.answer_late(question, _answer(planned))


class Player:
    """Does the steps of one scenario, until one fails."""

    def __init__(
        self, scenario: Scenario, folder: Path, profile: str, how: Connection, user: type[User]
    ) -> None:
        """Prepare.

        Args:
            scenario: What is played.
            folder: An empty folder for all its files.
            profile: Which editor it is.
            how: How the server is reached.
            user: Who answers questions.
        """
        self.places = Places(folder)
        """Takes the places of this machine out of what is compared."""
        self.user = user(scenario, self)
        self.failures: list[Failure] = []
        self.stopped = False
        """Whether a step failed, so that no further one is done."""
        self.marks: list[int] = []
        """How many events the editor had got when each step was done, those before answers not counted."""
        self._tools = {tool.name: (f"tools[{n}].replies", tool) for n, tool in enumerate(scenario.tools)}
        self._tool_calls: Counter[str] = Counter()
        self._item: str | None = None
        self._selectable = scenario.open[:1]
        registered = [
            {**tool.model_dump(include={"name", "description", "effect"}), "inputSchema": tool.input_schema}
            for tool in scenario.tools
        ]
        self.run = ScenarioRun(
            Setup(
                script=ScriptedModel(**scenario.model.model_dump(mode="json", exclude_none=True)),
                settings=scenario.settings,
                workspace=scenario.workspace,
                answers=self.user,
                tools=tuple(registered),
                tool_answers=self._answer_tool if scenario.tools else None,
                profile=PROFILES[profile],
                connection=how,
                open=tuple(scenario.open),
                configuration=scenario.configuration,
                keep_in=folder,
                allowed_reasons=SCRIPT_REASONS,
                allow_ignored=True,
                allow_left_over=True,
                seconds=WAIT_SECONDS,
            )
        )

    def fail(self, where: str, expected: str, actual: str) -> None:
        """Note something that did not hold."""
        self.failures.append(Failure(where, expected, actual))

    async def play(self, steps: Sequence[Step], where: str) -> None:
        """Do steps, until one fails; that is noted.

        Args:
            steps: What is to be done.
            where: Their place in the file.
        """
        for number, step in enumerate(steps):
            if self.stopped:
                return
            failure: tuple[str, str] | None = None
            try:
                await self._step(step)
            except Unexpected as problem:
                failure = (problem.expected, problem.actual)
            except RpcError as problem:
                failure = ("no error", str(problem))
            except (
                AssertionError,
                ConnectionError,
                TimeoutError,
                ValueError,
                LookupError,
                OSError,
            ) as problem:
                failure = ("that it can be done", self.places.neutral(str(problem)))
            if failure is not None:
                self.stopped = True
                self.fail(f"{where}[{number}] {step.do}", *failure)
            if where == _STEPS:
                self.marks.append(len(self.run.editor.events))

    async def _step(self, step: Step) -> None:
        run, editor = self.run, self.run.editor
        match step:
            case file.Run():
                given = step.model_dump(include={"prompt", "mode", "model", "limits", "new_session", "wait"})
                await run.go_on(**given, context=self._context(step))
            case file.Wait():
                await run.wait()
            case file.Until(event=event):
                await run.until(
                    event.type,
                    count=step.count,
                    fits=lambda data: holds(event.data, self.places.neutral(data)),
                    any_turn=True,
                )
            case file.Cancel(by="progress"):
                running = lambda: any(one.running for one in editor.progress.values())  # noqa: E731
                await editor.wait_for(running, "progress that runs", seconds=WAIT_SECONDS)
                editor.cancel_progress()
            case file.Reply() | file.Steer() | file.Cancel() | file.Undo() | file.Command():
                await self._command(step)
            case file.Action():
                await self._action(step)
            case file.Configure():
                await run.configure(step.values)
            case file.Restart():
                await run.restart(kill=step.do == "kill", resume=step.resume, wait=False)
            case file.ReadLog():
                await self._read_log(step.from_seq)
            case file.OpenFile():
                editor.open(step.path)
            case file.Type():
                at = (step.at[0], step.at[1]) if step.at else None
                editor.type(step.path, step.text, at=at, replace=step.replace)
            case file.Save():
                editor.save_all() if step.path is None else editor.save(step.path)
            case file.Close():
                editor.close(step.path)
            case file.Rename():
                editor.rename(step.path, step.to)
            case file.EditorUndo():
                done = editor.undo(step.path) if step.do == "editor_undo" else editor.redo(step.path)
                if not done:
                    raise Unexpected(f"something to {step.do[7:]} in {step.path}", "nothing")
            case file.Write():
                await asyncio.to_thread(_write, editor.root / step.path, step.text)

    def _context(self, step: file.Run) -> Object | None:
        if step.selection is None:
            return None
        if not self._selectable:
            raise Unexpected("an open document to select in", "none in `open`")
        editor, (path,) = self.run.editor, self._selectable
        return {"selection": {"uri": editor.desk.uri(path), "range": editor.range_of(path, step.selection)}}

    async def _action(self, step: file.Action) -> None:
        editor = self.run.editor
        start = {"line": 0, "character": 0}
        span = None if step.at is None else editor.range_of(step.path, step.at)
        found = {"range": span or {"start": start, "end": start}, "severity": 1, "message": step.diagnostic}
        await editor.code_actions(step.path, span, diagnostics=[] if step.diagnostic is None else [found])
        self.run.adopt(await editor.take_action(step.title))

    # --- commands --------------------------------------------------------------------------------------------

    async def _command(self, step: file.Reply | file.Steer | file.Cancel | file.Undo | file.Command) -> None:
        """Run the command that a step stands for; it may have to be refused."""
        name, params = await self._params(step)
        refused = None if isinstance(step, file.Steer | file.Cancel) else step.refused
        try:
            result = await self.run.command(name, {key: it for key, it in params.items() if it is not None})
        except RpcError as error:
            if refused is None:
                raise
            if refused not in (capability({"error": error.data}, "error.reason"), str(error.code)):
                raise Unexpected(f"refused: {refused}", str(error)) from None
            return
        neutral = self.places.neutral(result)
        if refused is not None:
            raise Unexpected(f"refused: {refused}", f"done: {neutral}")
        if isinstance(step, file.Command):
            self.run.adopt(result)
            if step.result is not None and not holds(step.result, neutral):
                raise Unexpected(f"a result that holds {step.result}", str(neutral))

    async def _params(
        self, step: file.Reply | file.Steer | file.Cancel | file.Undo | file.Command
    ) -> tuple[str, Object]:
        session_id, turn_id = self.run.session_id, self.run.turn_id
        match step:
            case file.Reply():
                said = step.model_dump(include={"decision", "answer", "error", "note"})
                review = None if step.review is None else [one.to_wire() for one in step.review]
                return names.ANSWER, {"id": await self._open_item(step.item), **said, "review": review}
            case file.Steer():
                return names.STEER, {"sessionId": session_id, "text": step.text}
            case file.Cancel():
                return names.CANCEL, {"turnId": turn_id, "reason": step.reason}
            case file.Undo():
                name = names.UNDO if step.do == "undo" else names.REDO
                return name, {"sessionId": session_id, "scope": step.scope, "id": step.id}
            case file.Command():
                ids = {"$session": session_id or "", "$turn": turn_id or ""}
                if "$item" in str(step.params):
                    ids["$item"] = await self._open_item(None)
                return step.name, _with_ids(step.params, ids)

    async def _open_item(self, title: str | None) -> str:
        """The id of the open item that is meant."""
        result = await self.run.command(names.STATUS, {})
        items = [item for session in result["sessions"] for item in session["open"]]
        fitting = [item for item in items if title is None or title in item["title"]]
        if len(fitting) == 1:
            self._item = fitting[0]["id"]
        if len(fitting) > 1 or self._item is None or (title is not None and not fitting):
            wanted = "one open item" if title is None else f"one open item whose title contains {title!r}"
            raise Unexpected(wanted, f"open are {[item['title'] for item in items]}")
        return self._item

    async def _read_log(self, first: int) -> None:
        session = self.run.session_id
        live = {event["seq"]: event for event in self.run.editor.events if event["sessionId"] == session}
        more = True
        while more:
            page = await self.run.command(names.EVENTS, {"sessionId": session, "fromSeq": first})
            for event in page["events"]:
                if event["seq"] != first:
                    raise Unexpected(f"event {first}", f"event {event['seq']}")
                first += 1
                sent = live.get(event["seq"])
                if sent is None and self.run.killed:
                    continue  # committed, and never sent
                if sent != event:
                    raise Unexpected(f"event {event['seq']} as it was sent live, {sent}", str(event))
            more = page["more"]

    # --- tools of the editor ---------------------------------------------------------------------------------

    def check(self) -> None:
        """Note the answers of the user and of the editor's tools that nobody asked for."""
        self.user.check()
        for where, tool in self._tools.values():
            if (done := self._tool_calls[tool.name]) < len(tool.replies):
                self.fail(where, f"{len(tool.replies)} calls of {tool.name}", f"{done} calls")

    def _answer_tool(self, call: ToolCall) -> editors.ToolAnswer:
        where, tool = self._tools[call.name]
        done = self._tool_calls[call.name]
        self._tool_calls[call.name] += 1
        if done >= len(tool.replies):
            self.fail(where, f"no more than {done} calls of {call.name}", f"a call with {call.input}")
            return editors.Dismiss()
        if tool.replies[done].how == "twice":
            asyncio.get_running_loop().call_soon(self.run.editor.answer_tool, call, "another answer")
        return _tool_answer(tool.replies[done])


# --- what came of it -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a scenario. Paths in it begin with `/workspace`, wherever it was played."""

    run: ScenarioRun
    places: Places
    """Takes the places of this machine out of what is shown."""
    logs: Mapping[str, list[Object]]
    """The log of every session, as it was before the server was shut down."""
    marks: list[int]
    """How many events had come when each step was done."""
    failures: list[Failure]
    """Steps that could not be done, questions that were not to be asked, answers nobody asked for, broken rules."""

    @property
    def events(self) -> list[Object]:
        """The log of the last session."""
        return self.logs.get(self.run.session_id or "", [])

    @property
    def messages(self) -> list[Traffic]:
        """Everything that went over the wire."""
        return [Traffic(each.direction, self.places.neutral(each.message)) for each in self.run.messages]

    @property
    def questions(self) -> list[str]:
        """What the user was asked."""
        return [self.places.neutral(question.message) for question in self.run.questions]

    async def transcript(self) -> str:
        """What is the same in every run; see `transcript.py`."""
        contents = await read_contents(self.run.state_dir, hashes_in(list(self.logs.values())))
        hashes = Hashes(contents, self.places)
        return transcript(self.logs, self.messages, hashes, self.run.editor.profile.name)


async def play(
    scenario: Scenario,
    folder: Path,
    *,
    connection: Connection | None = None,
    profile: str | None = None,
    user: type[User] = User,
) -> Played:
    """Play a scenario.

    Args:
        scenario: What is played.
        folder: An empty folder that everything of it lies in.
        connection: How the server is reached, instead of what the scenario says.
        profile: Which editor it is, instead of what the scenario says.
        user: Who answers.
    """
    folder = await asyncio.to_thread(folder.resolve)
    how = connection or scenario.connection
    player = Player(scenario, folder, profile or scenario.profile, how, user)
    run, places = player.run, player.places
    try:
        await run.begin()
        await player.play(scenario.steps, _STEPS)
        await player.user.done()
        await run.look()
    except (AssertionError, ConnectionError, RpcError) as problem:
        player.fail("the server", "that it serves", places.neutral(str(problem)))
    finally:
        await run.shut_down()
    _check(scenario, player)
    logs = {name: places.neutral(list(map(as_sent, log))) for name, log in run.logs.items()}
    return Played(run, places, logs, player.marks, player.failures)


def _check(scenario: Scenario, player: Player) -> None:
    """Note what no scenario may do: answers are left over, the script does not fit, the server breaks rules."""
    run, places, expect = player.run, player.places, scenario.expect
    if not player.stopped:
        player.check()
    for text in dict.fromkeys(run.violations):
        player.fail("the server", "that it keeps the rules", places.neutral(text))
    for event in (event for log in run.logs.values() for event in log if event.type == "turn.finished"):
        reason = event.data["reason"]
        if reason in SCRIPT_REASONS and reason != expect.reason:
            said = places.neutral(f"{reason}: {event.data['summary']}")
            player.fail("model", "a script that fits (or `expect.reason` names it)", said)
    for text in map(places.neutral, run.editor.not_taken):
        if not any(expected in text for expected in expect.said):
            where = "tools" if ": tools" in text else "settings"
            player.fail(where, "settings that are taken (or `expect.said` names the message)", text)
    left_over = max(0, len(run.model) - run.used)
    if not player.stopped and left_over != expect.left_over:
        wanted = f"{counted(expect.left_over, 'answer')} left over"
        player.fail("model", wanted, f"{left_over} of {len(run.model)}")


def _answer(planned: Answer) -> editors.Answer:
    return planned.title or "" if planned.how is None else _HOW[planned.how]


def _tool_answer(planned: file.ToolAnswer) -> editors.ToolAnswer:
    if planned.how not in (None, "twice"):
        return _TOOL_HOW[planned.how]
    content = planned.content or ""
    return editors.Wrong(content) if planned.is_error else content


def _with_ids(value: Any, ids: Mapping[str, str]) -> Any:
    """JSON data in which the names of ids are replaced by the ids."""
    match value:
        case str():
            for name, found in ids.items():
                value = value.replace(name, found)
            return value
        case dict():
            return {name: _with_ids(item, ids) for name, item in cast("Object", value).items()}
        case list():
            return [_with_ids(item, ids) for item in cast("list[Any]", value)]
        case _:
            return value


def _write(path: Path, text: str | None) -> None:
    if text is None:
        path.unlink()
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8"))
