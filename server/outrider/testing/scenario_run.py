"""A scenario as a call: a task, a script, and all that came of it.

    run = await run_scenario("Correct the price.", [call("edit_file", …), say("Done.")], workspace={…})

plays one turn and ends the server; `async with run_scenario(…) as run:` keeps it for more turns. What went wrong with the
scenario itself (a script that ran out or was not used up, a rule that the server broke) raises; what the agent did is
there to be asserted.
"""

import asyncio
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, Literal, Self, TypeVar

import outrider_protocol as names
from outrider.agent.state import SessionState
from outrider.ports.events import LoggedEvent
from outrider.testing.editor.answers import (
    Answer,
    Dismiss,
    Late,
    Never,
    Question,
    ToolAnswer,
    ToolCall,
    Wrong,
)
from outrider.testing.editor.connections import Stdio
from outrider.testing.editor.fake_editor import EditRequest, FakeEditor, Said
from outrider.testing.editor.profiles import Profile
from outrider.testing.editor.wire_client import TookTooLongError, Traffic
from outrider.testing.failures import counted
from outrider.testing.folder import fill, texts_in
from outrider.testing.invocations import Invocation, read_events, read_invocations
from outrider.testing.kill import kill as end_suddenly
from outrider.testing.open_items import (
    Decider,
    OnConfirmation,
    OnUserQuestion,
    OpenItem,
    Reject,
    Review,
    answer_params,
    asked,
    open_item,
)
from outrider.testing.scenario import connect, options, scripted
from outrider.testing.script import SCRIPT_REASONS, ScriptedModel
from outrider_protocol.events import EVENT_TYPES

Object = dict[str, Any]
T = TypeVar("T")
Mode = Literal["agent", "plan", "explore"]

HELD_SECONDS: Final = 0.2
"""`limits.askSeconds` in an editor that never says that a question was closed: after it the turn parks."""


@dataclass(frozen=True, slots=True)
class Setup:
    """How a scenario is played; the arguments of `run_scenario`."""

    script: ScriptedModel
    settings: Mapping[str, Any]
    workspace: Path | Mapping[str, str]
    on_confirmation: OnConfirmation | None
    on_user_question: OnUserQuestion | None
    answers: list[Answer] | Callable[[Question], Answer] | None
    tools: tuple[Mapping[str, Any], ...]
    tool_answers: list[ToolAnswer] | Callable[[ToolCall], ToolAnswer] | None
    profile: Profile
    connection: Literal["in-process", "stdio"]
    open: tuple[str, ...]
    configuration: Mapping[str, Any] | None
    keep_in: Path | None
    allow_exhausted: bool
    allow_ignored: bool
    allow_left_over: bool
    seconds: float


class ScenarioRun:
    """A scenario: what came of it so far, and the handle for more.

    Awaiting it plays the first turn and closes it; `async with` closes it at the end of the block.
    """

    def __init__(self, setup: Setup, prompt: str, first: Mapping[str, Any]) -> None:
        """A scenario that has not begun; `run_scenario` makes it."""
        self.model = setup.script
        """The script."""
        self.session_id: str | None = None
        self.turn_id: str | None = None
        """The last turn."""
        self.invocations: list[Invocation] = []
        """What the model was asked."""
        self.violations: list[str] = []
        """Rules of LSP and of the wire contract that the server broke; `close` raises them."""
        self._setup = setup
        self._prompt = prompt
        self._first = first
        self._result: Object | None = None
        self._editor: FakeEditor | None = None
        self._person: Decider | None = None
        self._stdio: Stdio | None = None
        self._beside = Path()
        """Names the script, the log and the home: they lie beside it."""
        self._root = Path()
        self._temporary: Path | None = None
        self._files: dict[str, str] | None = None
        self._log: list[LoggedEvent] = []
        self._closed = False
        self._told: list[str] = []

    # --- beginning and end -----------------------------------------------------------------------------------

    def __await__(self) -> Generator[Any, None, Self]:
        """Play the one turn of a scenario, and end the server."""
        return self._whole().__await__()

    async def __aenter__(self) -> Self:
        """Begin, with the first turn."""
        __tracebackhide__ = True
        try:
            await self._begin()
        except BaseException as problem:
            await self._end(problem)
            raise
        return self

    async def __aexit__(self, kind: object, problem: BaseException | None, traceback: object) -> None:
        """Close."""
        __tracebackhide__ = True
        await self._end(problem)

    async def close(self) -> None:
        """End the server and look whether all went by the rules; doing it again does nothing.

        Raises:
            AssertionError: The server broke rules or did not take a setting, or answers of a script are left over
                after a completed turn.
        """
        __tracebackhide__ = True
        if self._closed:
            return
        self._closed = True
        problems: list[str] = []
        try:
            if self._person is not None:
                await self._person.leave()
            if self._editor is not None:
                await self._editor.shut_down()
                if self.violations:
                    problems.append("the server broke rules:\n  " + "\n  ".join(self.violations))
                await self._look()
                problems += self._left_over()
                if problems:
                    problems.append(self._what_went_before())
                problems = [*self._causes(), *problems]
        finally:
            if self._temporary is not None:
                self._files = await asyncio.to_thread(texts_in, self._root)
                await asyncio.to_thread(shutil.rmtree, self._temporary, ignore_errors=True)
        if problems:
            raise AssertionError("\n".join(problems))

    async def _whole(self) -> Self:
        __tracebackhide__ = True
        if not self._first["wait"]:
            raise ValueError("`wait=False` needs `async with`: what is awaited is a whole turn")
        async with self:
            pass
        return self

    async def _begin(self) -> None:
        __tracebackhide__ = True
        if self._editor is not None:
            raise RuntimeError("the scenario has begun already")
        setup = self._setup
        await asyncio.to_thread(self._make_folders)
        model = await asyncio.to_thread(scripted, self._beside, **setup.script.data)
        settings = _with_patience(setup.settings, setup.profile)
        if setup.tools:
            settings = {**settings, "tools": list(setup.tools)}
        given = options(self._beside, model, settings)
        editor = FakeEditor(setup.profile, self._root, options=given, configuration=setup.configuration)
        editor.tool_answers = setup.tool_answers
        self.violations = editor.watch.violations
        self._editor = editor
        await self._connect()
        for path in setup.open:
            editor.open(path)
        await self.go_on(self._prompt, **self._first)

    async def _end(self, problem: BaseException | None) -> None:
        __tracebackhide__ = True
        if problem is None:
            await self.close()
            return
        if self._stdio is not None and self._stdio.stderr:
            problem.add_note(self._standard_error())
        try:
            await self.close()
        except (AssertionError, ConnectionError, RuntimeError) as broken:
            problem.add_note(str(broken))

    def _make_folders(self) -> None:
        workspace = self._setup.workspace
        if self._setup.keep_in is not None:
            base = self._setup.keep_in.resolve()
            base.mkdir(parents=True, exist_ok=True)
        else:
            base = self._temporary = Path(tempfile.mkdtemp(prefix="outrider-")).resolve()
        if isinstance(workspace, Path):
            self._root = workspace.resolve()
            if not self._root.is_dir():
                raise ValueError(f"the workspace {workspace} is no folder")
        else:
            self._root = base / "workspace"
            fill(self._root, workspace)
        for name in self._setup.open:
            if not (self._root / name).is_file():
                raise ValueError(f"open: there is no file {name!r} in the workspace")
        self._beside = base / self._root.name

    async def _connect(self) -> None:
        setup, editor = self._setup, self.editor
        connection = connect(setup.connection, self._beside)
        self._stdio = connection if isinstance(connection, Stdio) else None
        if setup.answers is not None:
            editor.answers = setup.answers
        else:
            self._person = Decider(editor, setup.on_confirmation, setup.on_user_question)
        await (editor.start(connection) if not editor.messages else editor.reconnect(connection))

    # --- turns -----------------------------------------------------------------------------------------------

    async def go_on(
        self,
        prompt: str,
        *,
        mode: Mode = "agent",
        context: Mapping[str, Any] | None = None,
        limits: Mapping[str, Any] | None = None,
        wait: bool = True,
    ) -> Self:
        """Give the session its next task.

        Args:
            prompt: The task.
            mode: As in `run_scenario`, and so are `context` and `limits`.
            context: What the person is looking at.
            limits: Limits of the turn.
            wait: Whether this returns when the turn has ended or needs an answer, or at once.

        Raises:
            AssertionError: The script ran out or expected another request; or it took too long.
        """
        __tracebackhide__ = True
        params: Object = {"prompt": prompt}
        given = {"sessionId": self.session_id, "context": context, "limits": limits}
        params |= {key: value for key, value in given.items() if value is not None}
        if mode != "explore":
            params["mode"] = mode
        started = await self._command(names.EXPLORE if mode == "explore" else names.RUN, params)
        self.session_id, self.turn_id = started["sessionId"], started["turnId"]
        self.editor.session_id, self.editor.turn_id = started["sessionId"], started["turnId"]
        self._result = {"outcome": "running"}
        return await self.wait() if wait else self

    async def wait(self) -> Self:
        """Wait until the turn has ended or needs an answer that nobody gives.

        Raises:
            AssertionError: The script ran out or expected another request; or it took too long.
        """
        __tracebackhide__ = True
        while True:
            turn = self.editor.wait_turn(self.turn_id, seconds=self._setup.seconds)
            try:
                self._result = await self._unless_the_person_fails(turn)
            except TookTooLongError as problem:
                raise AssertionError(f"{self._waits_for()}{problem}") from None
            if self._result.get("outcome") != "needs_input" or self._person is None:
                break
            if not await self._unless_the_person_fails(self._person.settle(self._result["open"])):
                break
        await self._look()
        if causes := self._causes():
            raise AssertionError("\n".join(causes))
        expected = self._setup.allow_exhausted and self.reason == "script_exhausted"
        if self.reason in SCRIPT_REASONS and not expected:
            hint = "; add an answer, or allow_exhausted=True" if self.reason == "script_exhausted" else ""
            raise AssertionError(f"{self.reason}: {self.response}{hint}\n{self._what_went_before()}")
        return self

    async def until(self, event_type: str, *, count: int = 1) -> Object:
        """Wait for the `count`-th event of a type in this turn, and give it.

        Raises:
            ValueError: There is no such type of event.
            AssertionError: The turn ended without it, or it took too long.
        """
        __tracebackhide__ = True
        if event_type not in EVENT_TYPES:
            close = get_close_matches(event_type, EVENT_TYPES, 1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise ValueError(f"there is no event {event_type!r}{hint}")
        event = self.editor.event(event_type, count=count, turn_id=self.turn_id, seconds=self._setup.seconds)
        return await self._unless_the_person_fails(event)

    async def answer(
        self, said: bool | str | Reject | Review | Wrong, *, item: OpenItem | None = None
    ) -> Self:
        """Answer what waits, by command, and wait for the turn.

        Args:
            said: As `on_confirmation` and `on_user_question` give it; for a tool its result, or `Wrong`.
            item: One of `open`; absent, the first.

        Raises:
            AssertionError: Nothing waits, or as `wait`.
        """
        __tracebackhide__ = True
        if item is None:
            if not self.open:
                raise AssertionError(f"nothing waits for an answer: the turn is {self.outcome}")
            item = self.open[0]
        await self._command(names.ANSWER, answer_params(item, said))
        return await self.wait()

    async def steer(self, text: str) -> str:
        """Say something to the running turn; gives the id of the text."""
        return (await self._command(names.STEER, {"sessionId": self.session_id, "text": text}))["pendingId"]

    async def cancel(self, reason: str | None = None) -> Self:
        """End the turn."""
        __tracebackhide__ = True
        params = {"turnId": self.turn_id} if reason is None else {"turnId": self.turn_id, "reason": reason}
        await self._command(names.CANCEL, params)
        return await self.wait()

    async def undo(self, scope: str | None = None, item_id: str | None = None) -> Object:
        """Take changes back (`outrider.undo`): of the last turn, or as `scope` and `item_id` say."""
        return await self._take_back(names.UNDO, scope, item_id)

    async def redo(self, scope: str | None = None, item_id: str | None = None) -> Object:
        """Bring changes back that were undone (`outrider.redo`)."""
        return await self._take_back(names.REDO, scope, item_id)

    async def restart(self, *, kill: bool = False, resume: bool = True) -> Self:
        """End the server, start it again on the same log, and go on with the session.

        Args:
            kill: Whether it is killed in the middle of what it does.
            resume: Whether the session is resumed, so that a turn that was cut off goes on.

        Raises:
            AssertionError: As `wait`.
        """
        __tracebackhide__ = True
        if self._person is not None:
            await self._person.leave()
        if kill:
            await end_suddenly(self.editor.connection, self._state_dir)
        await self.editor.shut_down()
        await self._connect()
        if not resume or self.session_id is None:
            await self._look()
            return self
        await self._command(names.RESUME, {"sessionId": self.session_id})
        return await self.wait()

    # --- what came of it -------------------------------------------------------------------------------------

    @property
    def editor(self) -> FakeEditor:
        """The editor: there the person types, saves and undoes. Raises RuntimeError before the scenario has begun."""
        if self._editor is None:
            raise RuntimeError("the scenario has not begun: await it, or use `async with`")
        return self._editor

    @property
    def workspace(self) -> Path:
        """The workspace folder; after `close` a temporary one is gone."""
        return self.editor.root

    @property
    def outcome(self) -> str:
        """`completed`, `cancelled`, `budget_exhausted`, `failed`, `refused`, `needs_input`, or `running`."""
        return self._turn.get("outcome", "running")

    @property
    def reason(self) -> str:
        """As in `turn.finished`; empty while the turn has not ended."""
        return self._turn.get("reason", "")

    @property
    def response(self) -> str:
        """The model's last words, mostly; empty while the turn has not ended."""
        return self._turn.get("summary", "")

    @property
    def usage(self) -> Object:
        """Tokens of the turn."""
        return self._turn.get("usage", {})

    @property
    def open(self) -> list[OpenItem]:
        """What waits for an answer: of a parked turn, or of a running one what is on the screen."""
        waiting = (
            self._turn.get("open", ()) if self.outcome != "running" else asked(self.editor, self.turn_id)
        )
        return [open_item(self.editor, wire) for wire in waiting]

    @property
    def questions(self) -> list[Question]:
        """The dialogs that the editor was asked to show."""
        return self.editor.questions

    @property
    def edits(self) -> list[EditRequest]:
        """The workspace edits that the editor was asked to apply, with its answers."""
        return self.editor.edits

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The calls of the editor's own tools."""
        return self.editor.tool_calls

    @property
    def said(self) -> list[Said]:
        """Messages to the person, and lines of the editor's log."""
        return self.editor.said

    @property
    def messages(self) -> list[Traffic]:
        """Everything that went over the wire."""
        return self.editor.messages

    @property
    def files(self) -> dict[str, str]:
        """Texts of the workspace's files on disk by their path, without `.git` and `.outrider`."""
        return texts_in(self.workspace) if self._files is None else dict(self._files)

    @property
    def buffers(self) -> dict[str, str]:
        """Texts of the open documents, by their path in the workspace or as `untitled:NAME`."""
        root = self.workspace
        return {
            buffer.path.relative_to(root).as_posix()
            if buffer.path is not None and buffer.path.is_relative_to(root)
            else buffer.uri: buffer.text
            for buffer in self.editor.desk.buffers.values()
        }

    @property
    def events(self) -> list[Object]:
        """The session's log, as `outrider/event` has it; after `close` with the session's end."""
        return [_as_sent(event) for event in self._log]

    def events_of(self, event_type: str) -> list[Object]:
        """The data of the events of a type, in order."""
        return [event["data"] for event in self.events if event["type"] == event_type]

    # --- within ----------------------------------------------------------------------------------------------

    @property
    def _turn(self) -> Object:
        if self._result is None:
            raise RuntimeError("the scenario has not begun: await it, or use `async with`")
        return self._result

    @property
    def _state_dir(self) -> Path:
        return Path(self.editor.options["stateDir"])

    async def _command(self, name: str, params: Mapping[str, Any]) -> Any:
        __tracebackhide__ = True
        if self._closed:
            raise RuntimeError(
                "the scenario is closed: use `async with run_scenario(…) as run:` to go on with it"
            )
        return await self._unless_the_person_fails(
            self.editor.command(name, params, seconds=self._setup.seconds)
        )

    async def _take_back(self, command: str, scope: str | None, item_id: str | None) -> Object:
        given = {"sessionId": self.session_id, "scope": scope, "id": item_id}
        done = await self._command(command, {key: value for key, value in given.items() if value is not None})
        await self._look()
        return done

    async def _unless_the_person_fails(self, work: Awaitable[T]) -> T:
        """The result of `work`, or the error of a function of the test that was asked meanwhile."""
        __tracebackhide__ = True
        task = asyncio.ensure_future(work)
        failed = self._person.failed if self._person is not None else None
        try:
            await asyncio.wait({task, failed} if failed else {task}, return_when=asyncio.FIRST_COMPLETED)
            if failed is not None and failed.done():
                failed.result()
            return await task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _look(self) -> None:
        """Read the log as it is now."""
        if self.session_id is None:
            return
        self._log = await read_events(self._state_dir, self.session_id)
        self.invocations = await read_invocations(self._state_dir, self.session_id)

    def _waits_for(self) -> str:
        titles = ", ".join(
            repr(open_item(self.editor, wire).title) for wire in asked(self.editor, self.turn_id)
        )
        hint = 'it parks after `settings={"limits": {"askSeconds": …}}`'
        return f"the turn waits for an answer to {titles}; {hint}\n" if titles else ""

    def _causes(self) -> list[str]:
        """What the test itself got wrong, each once: the cause of much else, and the whole of what is to be said."""
        causes = list(self.editor.slips)
        if self.editor.not_taken and not self._setup.allow_ignored:
            causes.append("settings that are not taken:\n  " + "\n  ".join(self.editor.not_taken))
        news = [cause for cause in causes if cause not in self._told]
        self._told += news
        return news

    def _left_over(self) -> list[str]:
        if self._setup.allow_left_over or self._result is None or self.outcome != "completed":
            return []
        state = SessionState(self.session_id or "")
        for event in self._log:
            state.apply(event)
        problems: list[str] = []
        if left := self.model.left_after(state.cursor):
            problems.append(
                f"left over: {len(left)} of {len(self.model)} answers of the script:\n  " + "\n  ".join(left)
            )
        setup = self._setup
        for whose, unasked in (("person", setup.answers), ("editor's tools", setup.tool_answers)):
            if unasked and not callable(unasked):
                told = ", ".join(map(repr, unasked))
                problems.append(f"left over: {counted(len(unasked), 'answer')} of the {whose}: {told}")
        return problems

    def _what_went_before(self) -> str:
        shown = self.editor.last_messages().removeprefix("; ")
        return shown if self._stdio is None else f"{shown}\n{self._standard_error()}"

    def _standard_error(self) -> str:
        lines = self._stdio.stderr if self._stdio is not None else ()
        return "\n  ".join(["the server's standard error:", *(lines or ("(nothing)",))])


def _with_patience(settings: Mapping[str, Any], profile: Profile) -> Mapping[str, Any]:
    """The settings, with the limit without which a question that nobody answers would hold a test for minutes."""
    closes = profile.dismissal if profile.forced_answer in (None, Dismiss()) else profile.forced_answer
    if not isinstance(closes, Never | Late):
        return settings
    return {**settings, "limits": {"askSeconds": HELD_SECONDS, **(settings.get("limits") or {})}}


def _as_sent(event: LoggedEvent) -> Object:
    turn = {} if event.turn_id is None else {"turnId": event.turn_id}
    head = {"v": names.PROTOCOL_VERSION, "seq": event.seq, "ts": event.ts, "sessionId": event.session_id}
    return {**head, **turn, "type": event.type, "data": event.data}
