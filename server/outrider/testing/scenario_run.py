"""The player of scenarios: a task, a script, and what came of it. Scenario files are played by it too (`scenario_files/`).

    run = await run_scenario("Correct the price.", [call("edit_file", …), say("Done.")], workspace={…})

plays one turn and ends the server; `async with run_scenario(…) as run:` keeps it for more turns. What went wrong with the
scenario itself (a script that ran out or was not used up, a rule that the server broke) raises; what the agent did is
there to be asserted.
"""

import asyncio
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, Literal, Self, TypeVar, cast

import outrider_protocol as names
from outrider.agent.state.state import SessionState
from outrider.ports.events import LoggedEvent
from outrider.testing.diffs import counted
from outrider.testing.editor.answers import (
    Answer,
    Question,
    ToolAnswer,
    ToolCall,
    Wrong,
)
from outrider.testing.editor.connections import Stdio
from outrider.testing.editor.fake_editor import EditRequest, FakeEditor, Said
from outrider.testing.editor.profiles import Profile
from outrider.testing.editor.wire_client import RpcError, TookTooLongError, Traffic
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
from outrider.testing.scenario_folder import fill, texts_in
from outrider.testing.script import SCRIPT_REASONS, ScriptedModel
from outrider_protocol.events import EVENT_TYPES

Object = dict[str, Any]
T = TypeVar("T")
Mode = Literal["agent", "plan", "explore"]

_ASKING: Final = ("approval.requested", "question.asked")


@dataclass(frozen=True, slots=True)
class Setup:
    """How a scenario is played: what `run_scenario` takes, and what a scenario file says."""

    script: ScriptedModel
    settings: Mapping[str, Any]
    workspace: Path | Mapping[str, str]
    profile: Profile
    connection: Literal["in-process", "stdio"]
    seconds: float
    on_confirmation: OnConfirmation | None = None
    on_user_question: OnUserQuestion | None = None
    answers: list[Answer] | Callable[[Question], Answer] | None = None
    tools: tuple[Mapping[str, Any], ...] = ()
    tool_answers: list[ToolAnswer] | Callable[[ToolCall], ToolAnswer] | None = None
    open: tuple[str, ...] = ()
    configuration: Mapping[str, Any] | None = None
    keep_in: Path | None = None
    allowed_reasons: frozenset[str] = frozenset()
    """Reasons for which a turn may fail although they mean that the script does not fit."""
    allow_ignored: bool = False
    allow_left_over: bool = False


class ScenarioRun:
    """A scenario: what came of it so far, and the handle for more.

    Awaiting it plays the first turn and closes it; `async with` closes it at the end of the block.
    """

    def __init__(
        self, setup: Setup, prompt: str | None = None, first: Mapping[str, Any] | None = None
    ) -> None:
        """A scenario that has not begun.

        Args:
            setup: How it is played.
            prompt: The first task; absent, it begins without one.
            first: How the first task is given, as `go_on` takes it.
        """
        self.model = setup.script
        """The script."""
        self.session_id: str | None = None
        self.turn_id: str | None = None
        """The last turn."""
        self.invocations: list[Invocation] = []
        """What the model was asked."""
        self.logs: dict[str, list[LoggedEvent]] = {}
        """The log of each session, in the order in which they began."""
        self.violations: list[str] = []
        """Rules of LSP and of the wire contract that the server broke; `close` raises them."""
        self._setup = setup
        self._prompt = prompt
        self._first = dict(first or {})
        self._result: Object | None = None
        self._editor: FakeEditor | None = None
        self._user: Decider | None = None
        self._stdio: Stdio | None = None
        self._beside = Path()
        """Names the script, the log and the home: they lie beside it."""
        self._root = Path()
        self._temporary: Path | None = None
        self._files: dict[str, str] | None = None
        self._closed = False
        self._serving = asyncio.Event()
        """Clear while the server is restarted."""
        self._serving.set()
        self.killed = False
        """Whether a server was killed, so that the editor may have missed events."""
        self._told: list[str] = []

    # --- beginning and end -----------------------------------------------------------------------------------

    def __await__(self) -> Generator[Any, None, Self]:
        """Play the one turn of a scenario, and end the server."""
        return self._whole().__await__()

    async def __aenter__(self) -> Self:
        """Begin, with the first turn."""
        __tracebackhide__ = True
        try:
            await self.begin()
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
        try:
            await self.shut_down()
            await self.look()
        finally:
            if self._temporary is not None:
                self._files = await asyncio.to_thread(texts_in, self._root)
                await asyncio.to_thread(shutil.rmtree, self._temporary, ignore_errors=True)
        if self._editor is None:
            return
        problems: list[str] = []
        if self.violations:
            problems.append("the server broke rules:\n  " + "\n  ".join(self.violations))
        problems += self._left_over()
        if problems:
            problems.append(self._what_went_before())
        if problems := [*self._causes(), *problems]:
            raise AssertionError("\n".join(problems))

    async def begin(self) -> None:
        """Start the server and the editor, and give the first task if there is one."""
        __tracebackhide__ = True
        if self._editor is not None:
            raise RuntimeError("the scenario has begun already")
        setup = self._setup
        await asyncio.to_thread(self._make_folders)
        model = await asyncio.to_thread(scripted, self._beside, **setup.script.data)
        settings = {**setup.settings, "tools": list(setup.tools)} if setup.tools else setup.settings
        given = options(self._beside, model, settings)
        editor = FakeEditor(setup.profile, self._root, options=given, configuration=setup.configuration)
        editor.tool_answers = setup.tool_answers
        editor.seconds = setup.seconds
        self.violations = editor.watch.violations
        self._editor = editor
        await self._connect()
        for path in setup.open:
            editor.open(path)
        if self._prompt is not None:
            await self.go_on(self._prompt, **self._first)

    async def shut_down(self) -> None:
        """End the server; the records stay as they are."""
        if self._user is not None:
            await self._user.leave()
        if self._editor is not None:
            await self._editor.shut_down()

    async def _whole(self) -> Self:
        __tracebackhide__ = True
        if not self._first.get("wait", True):
            raise ValueError("`wait=False` needs `async with`: what is awaited is a whole turn")
        async with self:
            pass
        return self

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
                raise ValueError(f"the workspace {workspace} is not a folder")
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
            self._user = Decider(editor, setup.on_confirmation, setup.on_user_question)
        await (editor.start(connection) if not editor.messages else editor.reconnect(connection))

    # --- turns -----------------------------------------------------------------------------------------------

    async def go_on(
        self,
        prompt: str,
        *,
        mode: Mode = "agent",
        model: str | None = None,
        context: Mapping[str, Any] | None = None,
        limits: Mapping[str, Any] | None = None,
        new_session: bool = False,
        wait: bool = True,
    ) -> Self:
        """Give the session its next task.

        Args:
            prompt: The task.
            mode: As in `run_scenario`, and so are `context` and `limits`.
            model: Another model for the turn.
            context: What the user is looking at.
            limits: Limits of the turn.
            new_session: Whether a new session begins with it.
            wait: Whether this returns when the turn has ended or needs an answer, or at once.

        Raises:
            AssertionError: The script ran out or expected another request; or it took too long.
        """
        __tracebackhide__ = True
        params: Object = {"prompt": prompt} if mode == "explore" else {"prompt": prompt, "mode": mode}
        session_id = None if new_session else self.session_id
        given = {"sessionId": session_id, "model": model, "limits": limits, "context": context}
        params |= {key: value for key, value in given.items() if value is not None}
        self.adopt(await self.command(names.EXPLORE if mode == "explore" else names.RUN, params))
        return await self.wait() if wait else self

    def adopt(self, result: Any) -> None:
        """Go on with the turn that a command or a code action began, if its result names one."""
        begun = cast("Object", result) if isinstance(result, dict) else Object()
        if "sessionId" not in begun or "turnId" not in begun or "state" in begun:
            return
        self.session_id, self.turn_id = begun["sessionId"], begun["turnId"]
        self.editor.session_id, self.editor.turn_id = begun["sessionId"], begun["turnId"]
        self.logs.setdefault(begun["sessionId"], [])
        self._result = {"outcome": "running"}

    async def wait(self) -> Self:
        """Wait until the turn has ended or needs an answer that nobody gives.

        Raises:
            AssertionError: The script ran out or expected another request; or it took too long.
        """
        __tracebackhide__ = True
        while True:
            connection = self.editor.connection
            turn = self.editor.wait_turn(self.turn_id, seconds=self._setup.seconds)
            try:
                self._result = await self._unless_the_user_fails(turn)
            except TookTooLongError as problem:
                raise AssertionError(f"{self._waits_for()}{problem}") from None
            except (ConnectionError, RpcError):
                # A restart while a question is open takes this server away; the turn goes on with the next one.
                if self._serving.is_set() and connection is self.editor.connection:
                    raise
                async with asyncio.timeout(self._setup.seconds):
                    await self._serving.wait()
                continue
            if self._result.get("outcome") != "needs_input" or self._user is None:
                break
            if not await self._unless_the_user_fails(self._user.settle(self._result["open"])):
                break
        await self.look()
        if causes := self._causes():
            raise AssertionError("\n".join(causes))
        if self.reason in SCRIPT_REASONS - self._setup.allowed_reasons:
            hint = "; add an answer, or allow_exhausted=True" if self.reason == "script_exhausted" else ""
            raise AssertionError(f"{self.reason}: {self.response}{hint}\n{self._what_went_before()}")
        return self

    async def until(
        self,
        event_type: str,
        *,
        count: int = 1,
        fits: Callable[[Object], bool] | None = None,
        any_turn: bool = False,
    ) -> Object:
        """Wait for the `count`-th event of a type, and for the question that it puts on the screen.

        Args:
            event_type: Such as `tool.started`.
            count: Which one, from 1.
            fits: Says by the data of an event whether it counts; absent, each one does.
            any_turn: Whether the events of other turns than the last one count too.

        Returns:
            The event.

        Raises:
            ValueError: There is no such type of event.
            AssertionError: The turn ended without it, or it took too long.
        """
        __tracebackhide__ = True
        if event_type not in EVENT_TYPES:
            close = get_close_matches(event_type, EVENT_TYPES, 1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise ValueError(f"there is no event {event_type!r}{hint}")
        editor, turn_id, what = self.editor, self.turn_id or "", f"{event_type} number {count}"

        def found() -> Object | None:
            events = editor.events_of(event_type, turn_id=None if any_turn else turn_id)
            fitting = [event for event in events if fits is None or fits(event["data"])]
            if len(fitting) >= count:
                return fitting[count - 1]
            if came := editor.came_of(turn_id, event_type):
                raise AssertionError(f"no {what}: {came}")
            return None

        seconds = self._setup.seconds
        event = await self._unless_the_user_fails(editor.wait_for(found, what, seconds=seconds))
        if event_type in _ASKING and editor.profile.can_ask:
            # The event is sent before the question: what a test does next must not depend on which one is faster.
            shown = editor.wait_for(lambda: self._is_shown(event), f"question of {what}", seconds=seconds)
            await self._unless_the_user_fails(shown)
        return event

    def _is_shown(self, event: Object) -> bool:
        """Whether the question of an event is on the screen, or needs no answer any more."""
        text = event["data"].get("title") or event["data"].get("question") or ""
        later = [known for known in self.editor.events if known["seq"] > event["seq"]]
        return (
            any(text in question.message or not question.answered for question in self.editor.questions)
            or any(known["data"].get("id") == event["data"]["id"] for known in later)
            or any(known["type"] in ("turn.parked", "turn.finished") for known in later)
        )

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
        await self.command(names.ANSWER, answer_params(item, said))
        return await self.wait()

    async def command(self, name: str, params: Mapping[str, Any] | None = None) -> Any:
        """Run a command of the server, such as `outrider.status`, and give its result.

        Raises:
            RpcError: The server refused it.
        """
        __tracebackhide__ = True
        if self._closed:
            raise RuntimeError(
                "the scenario is closed: use `async with run_scenario(…) as run:` to go on with it"
            )
        return await self._unless_the_user_fails(self.editor.command(name, params))

    async def steer(self, text: str) -> str:
        """Say something to the running turn; gives the id of the text."""
        return (await self.command(names.STEER, {"sessionId": self.session_id, "text": text}))["pendingId"]

    async def cancel(self, reason: str | None = None) -> Self:
        """End the turn."""
        __tracebackhide__ = True
        params = {"turnId": self.turn_id} if reason is None else {"turnId": self.turn_id, "reason": reason}
        await self.command(names.CANCEL, params)
        return await self.wait()

    async def undo(self, scope: str | None = None, item_id: str | None = None) -> Object:
        """Take changes back (`outrider.undo`): of the last turn, or as `scope` and `item_id` say."""
        return await self._take_back(names.UNDO, scope, item_id)

    async def redo(self, scope: str | None = None, item_id: str | None = None) -> Object:
        """Bring changes back that were undone (`outrider.redo`)."""
        return await self._take_back(names.REDO, scope, item_id)

    async def configure(self, values: Mapping[str, Any] | None) -> None:
        """Change the editor's configuration (section `outrider`), and wait until the server has taken it over."""
        editor = self.editor
        asked = _pulls(editor)
        editor.configure(values)
        if editor.profile.pulls_configuration:
            await editor.wait_for(lambda: _pulls(editor) > asked, "new look at the configuration")
        await self.command(names.STATUS, {})

    async def restart(self, *, kill: bool = False, resume: bool = True, wait: bool = True) -> Self:
        """End the server, start it again on the same log, and go on with the session.

        Args:
            kill: Whether it is killed in the middle of what it does.
            resume: Whether the session is resumed, so that a turn that was cut off goes on.
            wait: Whether this returns when that turn has ended or needs an answer, or at once.

        Raises:
            AssertionError: As `wait`.
        """
        __tracebackhide__ = True
        if self._user is not None:
            await self._user.leave()
        self._serving.clear()
        try:
            if kill:
                self.killed = True
                await end_suddenly(self.editor.connection, self.state_dir)
            await self.editor.shut_down()
            await self._connect()
            if resume and self.session_id is not None:
                await self.command(names.RESUME, {"sessionId": self.session_id})
        finally:
            self._serving.set()
        if wait and resume and self.session_id is not None:
            return await self.wait()
        await self.look()
        return self

    # --- what came of it -------------------------------------------------------------------------------------

    @property
    def editor(self) -> FakeEditor:
        """The editor: there the user types, saves and undoes. Raises RuntimeError before the scenario has begun."""
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
    def used(self) -> int:
        """How many answers of the script the model has given, in the session that took most of them."""
        return max((_fold(name, log).cursor for name, log in self.logs.items()), default=0)

    @property
    def state(self) -> SessionState:
        """The session as its log has it."""
        return _fold(self.session_id or "", self._log())

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
        """Messages to the user, and lines of the editor's log."""
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
        return [as_sent(event) for event in self._log()]

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
    def state_dir(self) -> Path:
        """The folder of the log."""
        return Path(self.editor.options["stateDir"])

    async def _take_back(self, command: str, scope: str | None, item_id: str | None) -> Object:
        given = {"sessionId": self.session_id, "scope": scope, "id": item_id}
        done = await self.command(command, {key: value for key, value in given.items() if value is not None})
        await self.look()
        return done

    async def _unless_the_user_fails(self, work: Awaitable[T]) -> T:
        """The result of `work`, or the error of a function of the test that was asked meanwhile."""
        __tracebackhide__ = True
        task = asyncio.ensure_future(work)
        failed = self._user.failed if self._user is not None else None
        try:
            await asyncio.wait({task, failed} if failed else {task}, return_when=asyncio.FIRST_COMPLETED)
            if failed is not None and failed.done():
                failed.result()
            return await task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def look(self) -> None:
        """Read the logs as they are now."""
        for session_id in self.logs:
            self.logs[session_id] = await read_events(self.state_dir, session_id)
        if self.session_id is not None:
            self.invocations = await read_invocations(self.state_dir, self.session_id)

    def _log(self) -> list[LoggedEvent]:
        return self.logs.get(self.session_id or "", [])

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
        problems: list[str] = []
        if left := self.model.left_after(self.used):
            problems.append(
                f"left over: {len(left)} of {len(self.model)} answers of the script:\n  " + "\n  ".join(left)
            )
        setup = self._setup
        for whose, unasked in (("user", setup.answers), ("editor's tools", setup.tool_answers)):
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


def _pulls(editor: FakeEditor) -> int:
    return sum(
        traffic.direction == "to editor" and traffic.message.get("method") == "workspace/configuration"
        for traffic in editor.messages
    )


def _fold(session_id: str, log: Sequence[LoggedEvent]) -> SessionState:
    state = SessionState(session_id)
    for event in log:
        state.apply(event)
    return state


def as_sent(event: LoggedEvent) -> Object:
    """An event as `outrider/event` has it."""
    turn = {} if event.turn_id is None else {"turnId": event.turn_id}
    head = {"v": names.PROTOCOL_VERSION, "seq": event.seq, "ts": event.ts, "sessionId": event.session_id}
    return {**head, **turn, "type": event.type, "data": event.data}
