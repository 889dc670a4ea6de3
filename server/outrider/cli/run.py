"""`outrider run`: gives a task to a server of its own and stays until the turn is over or waits for the user."""

import asyncio
import json
import shlex
import signal
import sys
from collections.abc import Coroutine, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, TextIO, cast

import outrider_protocol as names
from outrider.cli.answers import Answerer, OpenItem, OpenItems, Rules
from outrider.cli.exits import ExitCode
from outrider.cli.render import Renderer, counted
from outrider.cli.terminal import Keyboard
from outrider.lsp.client import Client, ClientError, CommandError, Question
from outrider_protocol import logged

Object = dict[str, Any]

ASK_SECONDS = 7 * 24 * 3600.0
"""How long a question may wait for a user who sits at the keyboard."""
CANCEL_SECONDS = 30.0
"""How long a cancelled turn may take to end."""


_NO_SESSION = "there is no session"
"""How the server says that an id is not in its log."""
GOES_ON_HERE = "What ran this task has ended; it goes on here."
_ERROR = 1
"""The level of an error among messages (LSP, `MessageType`)."""
_EXIT_OF_OUTCOME = {
    "completed": ExitCode.COMPLETED,
    "failed": ExitCode.FAILED,
    "refused": ExitCode.FAILED,
    "needs_input": ExitCode.NEEDS_INPUT,
    "budget_exhausted": ExitCode.BUDGET_EXHAUSTED,
    "cancelled": ExitCode.CANCELLED,
}


def exit_code(outcome: str, left_over: int = 0, *, check_failed: bool = False) -> ExitCode:
    """The exit code of an outcome; a completed turn that left answers of its script over has failed."""
    if outcome == "completed" and left_over:
        return ExitCode.FAILED
    if outcome == "completed" and check_failed:
        return ExitCode.CHECK_FAILED
    return _EXIT_OF_OUTCOME.get(outcome, ExitCode.FAILED)


@dataclass(frozen=True, slots=True)
class Task:
    """What to run, and how."""

    workspace: Path
    options: Object
    """`initializationOptions`."""
    prompt: str | None = None
    """None resumes `session_id` without a new task, or starts `plan`."""
    plan: Path | None = None
    """The plan document to start."""
    session_id: str | None = None
    of_latest: bool = False
    """Whether the folder's latest session is meant, whose id nobody wrote."""
    goes_on: bool = False
    """Whether a turn that stopped before its task was done goes on, where none is unfinished and no task is given."""
    forks: bool = False
    """Whether the session is forked, and the task given to the fork."""
    mode: str = "agent"
    thinking: str | int | None = None
    """How much the model is to think; None: as is set."""
    rules: Rules = field(default_factory=Rules)
    checks: Sequence[str] = ()
    """Commands that decide whether it is done."""
    always: str | None = None
    """Answers every approval with this title, and says so."""
    answers: Sequence[str] = ()
    """What is given ahead to the questions of the model, in their order."""
    resumable: bool = True
    """Whether the session outlives the program, so that it can be gone on with."""
    server: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """How it went."""

    code: ExitCode
    session_id: str | None = None
    summary: str = ""


def _going_on(task: Task, session_id: str) -> str:
    """The command that goes on with a session."""
    words = ["outrider", "run", "--session", session_id]
    if task.workspace != Path.cwd():
        words += ["-C", str(task.workspace)]
    if state_dir := task.options.get("stateDir"):
        words += ["--state-dir", str(state_dir)]
    for provider in cast("dict[str, Object]", task.options.get("providers", {})).values():
        words += ["--model", str(task.options["model"]), "--provider-url", str(provider["baseUrl"])]
        if key := provider.get("apiKeyEnv"):
            words += ["--key-env", str(key)]
    return shlex.join(words)


async def run_task(
    task: Task, renderer: Renderer, keyboard: Keyboard | None, event_lines: TextIO | None = None
) -> Ended:
    """Run a task to its end, or until it waits for an answer that nobody here gives.

    Args:
        task: What to run.
        renderer: Where the user sees it.
        keyboard: The user; None if nobody is there.
        event_lines: Where each event is written as one line of JSON.
    """
    options = dict(task.options)
    if keyboard is not None:
        options["limits"] = {"askSeconds": ASK_SECONDS} | cast("Object", options.get("limits", {}))
    turn = _Turn(task, renderer, keyboard, event_lines)
    try:
        async with Client.start(
            task.workspace,
            options,
            on_question=turn.question,
            on_event=turn.event,
            on_frame=renderer.frame,
            on_left=turn.left,
            on_message=turn.message,
            server=task.server,
        ) as client:
            outcome = await turn.drive(client)
            running = list(turn.jobs.values())
    except NothingToResumeError as problem:
        renderer.problems.error(str(problem))
        return Ended(ExitCode.USAGE, turn.session_id)
    except CommandError as problem:
        renderer.problems.error(explained(problem), told=str(problem))
        return Ended(exit_of_refusal(problem), turn.session_id)
    except ClientError as problem:
        if turn.interrupts > 1:
            renderer.problems.error("stopped at once; the effects of running work are unknown")
            return Ended(ExitCode.CANCELLED, turn.session_id)
        renderer.problems.error(str(problem))
        if turn.session_id and task.resumable:
            renderer.cut_off(_going_on(task, turn.session_id))
        return Ended(ExitCode.FAILED, turn.session_id)
    finally:
        renderer.problems.show_held()
    for command in running:
        renderer.note(f"ended with this run: the background job `{command}`")
    if outcome == "completed" and turn.left_over:
        were = "was" if turn.left_over == 1 else "were"
        renderer.problems.error(f"{counted(turn.left_over, 'answer')} of the script {were} never used")
    if outcome == "needs_input" and turn.session_id:
        approvals = [item for item in turn.items if item.kind == "approval"]
        rules = sorted(
            {
                "put-back" if item.puts_back else "outside" if item.leaves_sandbox else "all"
                for item in approvals
            }
        )
        for rule in turn.unused_rules():
            renderer.note(f"never used: --yes-to {shlex.quote(rule)}")
        go_on = _going_on(task, turn.session_id) if task.resumable else None
        renderer.open_items(
            [item.head for item in turn.items],
            go_on,
            rules,
            has_question=any(item.kind == "question" for item in turn.items),
        )
    return Ended(
        exit_code(outcome, turn.left_over, check_failed=turn.check_failed), turn.session_id, turn.summary
    )


def explained(problem: CommandError) -> str:
    """A refusal of the server in words: what, where, why."""
    where = problem.data.get("path")
    detail = problem.data.get("problem")
    text = with_the_way_to_a_model(str(problem))
    if problem.reason == "unknown_id" and text.startswith(_NO_SESSION):
        text += "; `outrider sessions` lists those of a folder, -C names the folder"
    if isinstance(detail, str) and detail not in text:
        text += f": {detail}"
    if isinstance(where, str) and where and where not in text:
        text += f" ({where})"
    return text


def with_the_way_to_a_model(text: str) -> str:
    """What the server says of a missing model, with what can be done about it on the command line."""
    return text.replace("run `outrider setup` in a terminal", "run `outrider setup`, or give --model")


def exit_of_refusal(problem: CommandError) -> ExitCode:
    """The exit code of a refusal: wrong params and settings, and sessions that are not there, are usage errors."""
    asked = problem.code == names.INVALID_PARAMS or problem.reason in {"model_unavailable", "unknown_id"}
    return ExitCode.USAGE if asked else ExitCode.FAILED


class NothingToResumeError(ClientError):
    """The session has no turn that could go on."""


class _Turn:
    """The client's side of one turn."""

    def __init__(
        self, task: Task, renderer: Renderer, keyboard: Keyboard | None, event_lines: TextIO | None
    ) -> None:
        self._task = task
        self._renderer = renderer
        self._event_lines = event_lines
        self._client: Client | None = None
        self._outcomes: dict[str, str] = {}
        self._parked = False
        self._may_have_failed = False
        """Whether an error was said that may be the end of the turn."""
        self._left: set[str] = set()
        """Open items that the server has asked for and nobody here answers."""
        self._changed = asyncio.Event()
        self._asking: asyncio.Task[Any] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.session_id: str | None = task.session_id
        self.turn_id: str | None = None
        self.items = OpenItems()
        self.jobs: dict[str, str] = {}
        """The commands of background jobs that run; they end with the server, which is this run's own."""
        self.left_over = 0
        self.summary = ""
        self.check_failed = False
        """Whether a check failed, or one that was demanded did not run."""
        self.interrupts = 0
        self._problem: BaseException | None = None
        self._answerer = Answerer(
            renderer,
            self.items,
            task.rules,
            keyboard,
            self._answer_command,
            always=task.always,
            answers=list(task.answers),
        )

    def unused_rules(self) -> list[str]:
        given = [
            rule for rule in self._task.rules.patterns if rule.removeprefix("Run: ") not in self._task.checks
        ]
        return [rule for rule in given if rule not in self._answerer.used]

    # --- what the server says --------------------------------------------------------------------------------

    def event(self, event: logged.WireEvent) -> None:
        if self._event_lines is not None:
            self._event_lines.write(json.dumps(event, ensure_ascii=False, separators=(",", ":")) + "\n")
            self._event_lines.flush()
        self._renderer.event(event)
        self.items.event(event)
        match event["type"]:
            case "turn.finished":
                self._outcomes[event.get("turnId", "")] = event["data"]["outcome"]
                self.summary = event["data"]["summary"]
                done = event["data"].get("done")
                self.check_failed = done is not None and (
                    done["state"] == "check_failed" or bool(done["notRun"])
                )
            case "turn.parked":
                self._parked = True
                # What has no buttons is never asked as a message: only a user here can answer it.
                self._left |= {item["id"] for item in event["data"]["open"] if self._has_buttons(item["id"])}
            case "turn.resumed" | "turn.started":
                self._parked = False
            case "job.started":
                self.jobs[event["data"]["jobId"]] = event["data"]["command"]
            case "job.finished":
                self.jobs.pop(event["data"]["jobId"], None)
            case "session.closed":
                self.left_over = event["data"].get("leftOver", 0)
            case _:
                return
        self._changed.set()

    def message(self, level: int, text: str) -> None:
        """Show a message. An error may be that the log cannot be written: then no event tells of the turn's end."""
        self._renderer.problems.message(level, text)
        if level == _ERROR:
            self._may_have_failed = True
            self._changed.set()

    def left(self, params: Object) -> None:
        """The process ended that ran the turn which is watched: it goes on here, as if it had not run anywhere."""
        session_id = self.session_id
        if session_id is None or session_id != params["sessionId"] or self._client is None:
            return
        if params["unfinished"]:
            self._renderer.note(GOES_ON_HERE)
            self._start(self._go_on_here(self._client, session_id))

    async def _go_on_here(self, client: Client, session_id: str) -> None:
        try:
            status = await client.command(names.RESUME, {"sessionId": session_id})
        except ClientError as problem:
            self._problem = problem
        else:
            self.items.status(status.get("open", []))
        self._changed.set()

    async def _look_for_the_end(self, client: Client) -> None:
        self._may_have_failed = False
        try:
            how = await client.command(names.WAIT, {"turnId": self.turn_id, "timeout": 0})
        except ClientError:
            return  # whatever it is, the turn itself says so
        if how.get("reason") == "store_failed":
            self._outcomes.setdefault(str(self.turn_id), str(how["outcome"]))
            self.summary = str(how.get("summary", ""))

    async def question(self, question: Question) -> str | None:
        if self.items.asked_by(question) is None and self._client is not None and self.session_id:
            status = await self._client.command(names.STATUS, {"sessionId": self.session_id})
            for session in cast("list[Object]", status.get("sessions", [])):
                self.items.status(session.get("open", []))
        title = await self._interruptible(self._answerer(question))
        if title is None and (item := self.items.asked_by(question)):
            self._left.add(item.id)
        return title

    async def _interruptible(self, asking: Coroutine[Any, Any, str | None]) -> str | None:
        self._asking = asyncio.ensure_future(asking)
        try:
            return await self._asking
        except asyncio.CancelledError:
            if self.interrupts:
                return None
            raise
        finally:
            self._asking = None
            self._changed.set()

    def _has_buttons(self, item_id: str) -> bool:
        return any(item.id == item_id and item.has_buttons for item in self.items)

    async def _ask_here(self, item: OpenItem) -> None:
        await self._interruptible(self._answerer.ask_here(item))

    async def _answer_command(self, params: Object) -> None:
        if self._client is None:
            return
        try:
            await self._client.command(names.ANSWER, params)
        except CommandError as problem:
            self._renderer.problems.error(explained(problem), told=str(problem))
        else:
            self._parked = False

    # --- what the user wants -------------------------------------------------------------------------------

    async def drive(self, client: Client) -> str:
        """Start the turn and give its outcome, or `needs_input`."""
        self._client = client
        with self._signals(client):
            ending = asyncio.ensure_future(client.gone())
            try:
                await self._begin(client)
                while (outcome := self._outcome()) is None:
                    if self._problem is not None:
                        raise self._problem
                    self._changed.clear()
                    if self._may_have_failed:
                        await self._look_for_the_end(client)
                        continue
                    waiting = asyncio.ensure_future(self._changed.wait())
                    await asyncio.wait({waiting, ending}, return_when=asyncio.FIRST_COMPLETED)
                    waiting.cancel()
                    if ending.done() and self._outcome() is None:
                        raise ending.result()
                return outcome
            finally:
                for task in (ending, *self._tasks):
                    task.cancel()

    def _outcome(self) -> str | None:
        if self.turn_id is None:
            return None
        if (outcome := self._outcomes.get(self.turn_id)) is not None:
            return outcome
        if not self._parked or self._asking is not None:
            return None
        for item in self.items:
            if item.id in self._left:
                continue
            if item.has_buttons:
                return None  # the server asks it in a moment: it does so again after a resume
            if self._answerer.can_answer(item):
                self._start(self._ask_here(item))
                self._left.add(item.id)
                return None
        return "needs_input"

    async def _session(self, client: Client) -> str | None:
        """The session that the task is for; None for a new one.

        Raises:
            NothingToResumeError: there is no session to continue.
        """
        if not self._task.of_latest:
            return self._task.session_id
        listed = cast("list[Object]", (await client.command(names.SESSIONS))["sessions"])
        if not listed:
            raise NothingToResumeError(
                "this folder has no sessions yet; give a task without --continue, --last or --fork"
            )
        return str(listed[0]["sessionId"])

    async def _begin(self, client: Client) -> None:
        session_id = self.session_id = await self._session(client)
        if session_id is not None and not self._task.forks and await self._resumed(client, session_id):
            return
        if self._task.plan is not None:
            command, params = names.PLAN, Object({"uri": self._task.plan.as_uri()})
        else:
            command, params = names.RUN, Object({"prompt": self._task.prompt, "mode": self._task.mode})
        if self._task.checks:
            params["acceptance"] = list(self._task.checks)
        if self._task.thinking is not None:
            params["thinking"] = self._task.thinking
        if "model" in self._task.options:  # given here: it overrules the tiers of the settings
            params["model"] = self._task.options["model"]
        if session_id is not None and self._task.forks:
            params["fork"] = {"sessionId": session_id}
        elif session_id is not None:
            params["sessionId"] = session_id
        started = await client.command(command, params)
        self.session_id, self.turn_id = str(started["sessionId"]), str(started["turnId"])
        if self.interrupts:
            self._cancel(client)

    async def _resumed(self, client: Client, session_id: str) -> bool:
        """Open a session again; whether that is all, because one of its turns goes on.

        Raises:
            NothingToResumeError: There is no turn to go on with, and no task.
        """
        # What the turn did and asks is known before the server asks it again.
        before = await self._unfinished_turn(client, session_id)
        for event in before:
            self.items.event(event)
        self._renderer.recall(before, {item.id for item in self.items})
        status = await client.command(names.RESUME, {"sessionId": session_id})
        self.items.status(status.get("open", []))
        self._parked = self._parked or status.get("state") == "parked"
        if self._task.prompt is not None or self._task.plan is not None:
            return False
        if "turnId" in status:
            self.turn_id = str(status["turnId"])
        elif self._task.goes_on:
            started = await client.command(names.CONTINUE, {"sessionId": session_id})
            self.turn_id = str(started["turnId"])
            if self.interrupts:
                self._cancel(client)
        else:
            raise NothingToResumeError(f"{session_id} has no unfinished turn; give a task")
        return True

    async def _unfinished_turn(self, client: Client, session_id: str) -> list[logged.WireEvent]:
        events: list[logged.WireEvent] = []
        first, more = 1, True
        while more:
            page = await client.command(names.EVENTS, {"sessionId": session_id, "fromSeq": first})
            for event in cast("list[logged.WireEvent]", page["events"]):
                if event["type"] in ("turn.started", "turn.finished"):
                    events = []
                if event["type"] != "turn.finished":
                    events.append(event)
            more, first = bool(page["more"]), int(page["nextSeq"])
        return events

    @contextmanager
    def _signals(self, client: Client) -> Generator[None]:
        loop = asyncio.get_running_loop()
        if sys.platform == "win32":  # no loop takes handlers there

            def interrupted(_number: int, _frame: FrameType | None) -> None:
                loop.call_soon_threadsafe(self._interrupt, client)

            before = signal.signal(signal.SIGINT, interrupted)
            try:
                yield
            finally:
                signal.signal(signal.SIGINT, before)
            return
        handled = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        for number in handled:
            loop.add_signal_handler(number, self._interrupt, client)
        try:
            yield
        finally:
            for number in handled:
                loop.remove_signal_handler(number)

    def _interrupt(self, client: Client) -> None:
        self.interrupts += 1
        if self.interrupts > 1:
            client.kill()
            return
        self._renderer.note("cancelling; press again to stop at once")
        if self._asking is not None:
            self._asking.cancel()
        if self.turn_id is not None:
            self._cancel(client)

    def _cancel(self, client: Client) -> None:
        self._start(self._cancelled(client))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (problem := task.exception()):
            self._problem = self._problem or problem
            self._changed.set()

    async def _cancelled(self, client: Client) -> None:
        try:
            params = {"turnId": self.turn_id, "reason": "interrupted"}
            done = await client.command(names.CANCEL, params, seconds=CANCEL_SECONDS)
        except ClientError as problem:
            self._renderer.problems.error(f"the turn could not be cancelled: {problem}")
            client.kill()
            return
        self._outcomes.setdefault(str(self.turn_id), str(done.get("outcome", "cancelled")))
        self._changed.set()
