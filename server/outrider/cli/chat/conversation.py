"""A conversation: the client's side of one session, from the first message to the last."""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from rich.text import Text

import outrider_protocol as names
from outrider.agent.interaction.quoting import code_block
from outrider.cli.answers import Answerer, OpenItem, OpenItems, Rules
from outrider.cli.chat.status import Status
from outrider.cli.exits import ExitCode
from outrider.cli.render import Renderer
from outrider.cli.run import ASK_SECONDS, CANCEL_SECONDS, GOES_ON_HERE, explained
from outrider.cli.sessions import NO_SESSIONS
from outrider.cli.terminal import Keyboard, plain_output, visible
from outrider.lsp.client import Client, ClientError, CommandError, Question
from outrider_protocol import logged
from outrider_protocol.choices import PermissionMode

Object = dict[str, Any]

LATEST: Final = "latest"
"""Stands for the id of the folder's latest session."""
AGAIN_SECONDS: Final = 2.0
"""In which a second Ctrl-C leaves."""
LIST_SECONDS: Final = 5.0
"""How long a list for a completion may take."""
FRESH_SECONDS: Final = 5.0
"""How long it is good."""
SHELL_CHARACTERS: Final = 10_000
"""Of the output of a command of the user, the last ones, that the model gets with the next message."""


@dataclass(frozen=True, slots=True)
class Surface:
    """The terminal, as a conversation uses it."""

    renderer: Renderer
    keyboard: Keyboard
    changed: Callable[[], None]
    """Called when the status is another."""
    ask: Callable[[str], Coroutine[Any, Any, str | None]]
    """Has a line typed; None where the user left it."""
    compose: Callable[[str], bool]
    """Puts a text into the composer, if that is empty."""
    complete: Callable[[], None]
    """Completes once more what is typed: more is known."""
    show_prompt: Callable[[str], None] | None = None
    suspended: Callable[[], AbstractAsyncContextManager[None]] = nullcontext


class Conversation:
    """One session at a time, over one server."""

    def __init__(
        self, workspace: Path, options: Object, surface: Surface, checks: Sequence[str] = ()
    ) -> None:
        """Prepare to speak.

        Args:
            workspace: The folder to work in.
            options: The `initializationOptions`.
            surface: Where the user is.
            checks: Commands that decide whether its tasks are done.
        """
        self.workspace = workspace
        self.checks = list(checks)
        """Those that decide whether the next tasks are done."""
        self.plan: str | None = None
        """The plan document that the session wrote last."""
        self._options = {
            **options,
            "limits": {"askSeconds": ASK_SECONDS} | cast("Object", options.get("limits", {})),
        }
        self.surface = surface
        self.renderer = surface.renderer
        self.status = Status(time.time)
        self.session_id: str | None = None
        self.mode = "agent"
        self.model: str | None = cast("str | None", options.get("model"))
        """The one that was chosen here; None: as the settings say."""
        self.thinking: str | None = None
        self.code = ExitCode.COMPLETED
        self.ended = asyncio.Event()
        self.idle = asyncio.Event()
        """Set while no turn runs."""
        self.idle.set()
        self._client: Client | None = None
        self._started = asyncio.Event()
        """Set when the server has started: what is typed before waits for it."""
        self._items = OpenItems()
        self._answerer = Answerer(
            surface.renderer,
            self._items,
            Rules(),
            surface.keyboard,
            self.answer,
            show_prompt=surface.show_prompt,
            suspended=surface.suspended,
        )
        self._asking = asyncio.Lock()
        """One question after the other."""
        self._questions: set[asyncio.Task[Any]] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._widest: PermissionMode | None = None
        self._ran: list[str] = []
        """What the user ran here, for the next message."""
        self._interrupted = 0.0
        self._custom: Sequence[Object] = ()
        self._custom_at = float("-inf")

    # --- life ---------------------------------------------------------------------------------------------------

    async def run(self, started: Callable[[], Coroutine[Any, Any, None]], session_id: str | None) -> ExitCode:
        """Start a server, and stay until the conversation is ended.

        Args:
            started: Run beside it, as soon as there is a server; ends the conversation with its end.
            session_id: A session of the log to go on with, or `LATEST`.
        """
        problems = self.renderer.problems
        try:
            async with Client.start(
                self.workspace,
                self._options,
                on_question=self._question,
                on_event=self._event,
                on_frame=self.renderer.frame,
                on_left=self._left,
                on_message=problems.message,
            ) as client:
                self._client = client
                self._started.set()
                self.known_commands()
                if session_id == LATEST:
                    session_id = await self._latest()
                if session_id is not None:
                    await self.open(session_id)
                # No error follows that would say it again, and the next message may be long in coming.
                problems.hold_no_more()
                surface = asyncio.ensure_future(started())
                gone = asyncio.ensure_future(client.gone())
                waiting: list[asyncio.Task[Any]] = [surface, gone, asyncio.ensure_future(self.ended.wait())]
                try:
                    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                    if gone.done() and not self.ended.is_set():
                        raise gone.result()
                    if surface.done():
                        surface.result()
                finally:
                    for task in (*waiting, *self._tasks, *self._questions):
                        task.cancel()
                    await asyncio.gather(*waiting, return_exceptions=True)
        except CommandError as problem:
            problems.error(explained(problem), told=str(problem))
            self.code = ExitCode.USAGE
        except ClientError as problem:
            if not self.ended.is_set():
                problems.error(str(problem))
                self.code = ExitCode.FAILED
        finally:
            problems.show_held()
        return self.code

    async def _latest(self) -> str | None:
        """The folder's latest session; None where it has none, which is said."""
        listed = cast("list[Object]", (await self.command(names.SESSIONS, {"limit": 1}))["sessions"])
        if not listed:
            self.renderer.note(NO_SESSIONS)
        return str(listed[0]["sessionId"]) if listed else None

    def end(self) -> None:
        """Leave."""
        self.ended.set()

    def leave(self) -> None:
        """Leave, unless a task runs: that would be cut off by one key."""
        if self.status.is_running:
            self.renderer.note("A task runs: Ctrl-C cancels it, a second Ctrl-C leaves.")
        else:
            self.end()

    def status_line(self, width: int) -> str:
        """How the conversation stands, in one line."""
        return self.status.line(width)

    def waiting_lines(self) -> list[str]:
        """What waits for the model, a line each."""
        return [
            f"{'for the next step' if steers else 'next'}: {text}" for _, text, steers in self.status.queue
        ]

    async def open(self, session_id: str) -> None:
        """Go on with a session of the log; its last turn is shown. Raises CommandError."""
        events = await self._log(session_id)
        self.status, self.plan = Status(time.time), None
        self.session_id = session_id
        last = max((at for at, one in enumerate(events) if one["type"] == "turn.started"), default=0)
        for at, event in enumerate(events):
            self.status.event(event)
            self._items.event(event)
            if at >= last:
                self._said(event)
                self.renderer.event(event)
            elif event["type"] == "plan.written":
                self.plan = event["data"]["path"]
        await self._resume(session_id)

    async def _log(self, session_id: str) -> list[logged.WireEvent]:
        events: list[logged.WireEvent] = []
        first, more = 1, True
        while more:
            page = await self.command(names.EVENTS, {"sessionId": session_id, "fromSeq": first})
            events += cast("list[logged.WireEvent]", page["events"])
            more, first = bool(page["more"]), int(page["nextSeq"])
        return events

    async def turns(self) -> list[str]:
        """The ids of the session's turns, in their order. Raises CommandError."""
        events = await self._log(self.session_id) if self.session_id is not None else []
        return [str(event.get("turnId")) for event in events if event["type"] == "turn.started"]

    async def messages(self) -> dict[str, str]:
        """What the user said of what the model still knows: turn → the message that began it. Raises CommandError."""
        said: dict[str, str] = {}
        for event in await self._log(self.session_id) if self.session_id is not None else []:
            if event["type"] == "turn.started":
                said[str(event.get("turnId"))] = event["data"]["prompt"]
            elif event["type"] == "conversation.restored":
                for turn_id in event["data"]["turns"]:
                    said.pop(turn_id, None)
        return said

    def new(self) -> None:
        """Begin a session with the next message."""
        self.session_id = self.plan = None
        self.status = Status(time.time)
        self.surface.changed()

    # --- what the server says -----------------------------------------------------------------------------------

    def _event(self, event: logged.WireEvent) -> None:
        if self.session_id is not None and event["sessionId"] != self.session_id:
            return
        self._said(event)
        self.status.event(event)
        self._items.event(event)
        self.renderer.event(event)
        match event["type"]:
            case "turn.started":
                self.idle.clear()
            case "turn.finished":
                if not self.status.is_running:
                    self.idle.set()
            case "turn.parked":
                # What has no buttons is never asked as a message.
                for item in self._items:
                    if not item.has_buttons:
                        self.ask_about(item)
            case _:
                pass
        self.surface.changed()

    def _left(self, params: Object) -> None:
        """The process ended that ran the session which is watched: an open turn goes on here."""
        if params["unfinished"] and params["sessionId"] == self.session_id:
            self.renderer.note(GOES_ON_HERE)
            self.spawn(self._resume(str(self.session_id)))

    async def _resume(self, session_id: str) -> None:
        told = await self.command(names.RESUME, {"sessionId": session_id})
        self._items.status(told.get("open", []))
        if "turnId" not in told:
            self.status.turn_id = None
            self.idle.set()
        else:
            self.idle.clear()
        self.surface.changed()

    def _said(self, event: logged.WireEvent) -> None:
        """Show what the user said, where the model gets it."""
        match event["type"]:
            case "turn.started":
                # Of a plan that is carried out only its title is for the user: its steps are in the plan.
                prompt = event["data"]["prompt"]
                self._quote(prompt.partition("\n")[0] if "plan" in event["data"] else prompt)
            case "plan.written":
                self.plan = event["data"]["path"]
            case "model.requested" if event["data"]["purpose"] == "main":
                texts = {name: text for name, text, steers in self.status.queue if steers}
                for pending_id in event["data"]["steering"]:
                    self._quote(texts.get(pending_id, ""))
            case _:
                pass

    def _quote(self, text: str) -> None:
        if text:
            self.renderer.console.print(Text(f"\n> {visible(text)}", style="bold"))

    async def _question(self, question: Question) -> str | None:
        asking = asyncio.ensure_future(self._ask(question))
        self._questions.add(asking)
        asking.add_done_callback(self._questions.discard)
        try:
            return await asking
        except asyncio.CancelledError:
            if asking.cancelled():
                return None  # the turn was cancelled
            asking.cancel()
            raise

    async def _ask(self, question: Question) -> str | None:
        async with self._asking:
            if self._items.asked_by(question) is None and self.session_id is not None:
                told = await self.command(names.STATUS, {"sessionId": self.session_id})
                for session in cast("list[Object]", told.get("sessions", [])):
                    self._items.status(session.get("open", []))
            return await self._answerer(question)

    def ask_about(self, item: OpenItem) -> None:
        """Ask about an open item here."""

        async def ask() -> None:
            async with self._asking:
                if any(one.id == item.id for one in self._items):
                    await self._answerer.ask_here(item)

        self.spawn(ask())

    @property
    def open_items(self) -> Sequence[OpenItem]:
        """What waits for an answer."""
        return list(self._items)

    async def answer(self, params: Object) -> None:
        """Answer an open item."""
        await self.command(names.ANSWER, params)

    # --- what the user says -------------------------------------------------------------------------------------

    async def command(self, name: str, params: Object, *, seconds: float | None = 60.0) -> Object:
        """Run a command of the server; raises ClientError."""
        await self._started.wait()
        if self._client is None:
            raise ClientError("there is no server")
        return await self._client.command(name, params, seconds=seconds)

    def known_commands(self) -> Sequence[Object]:
        """The custom commands that were listed last. They are listed anew in the background: a completion waits for nothing."""
        if time.monotonic() - self._custom_at > FRESH_SECONDS:
            self._custom_at = time.monotonic()
            self.spawn(self.list_commands())
        return self._custom

    async def list_commands(self) -> None:
        """List the custom commands; they stay as they are where the server does not."""
        with suppress(ClientError):
            listed = await self.command(names.CUSTOM_COMMANDS, {}, seconds=LIST_SECONDS)
            before, self._custom = self._custom, cast("Sequence[Object]", listed["commands"])
            if self._custom != before:
                self.surface.complete()

    async def widest_mode(self) -> PermissionMode:
        """The permission mode that the server began with: one that allows more is for its start alone."""
        if self._widest is None:
            from outrider.cli.policy.permissions import (
                mode_of_settings,
            )  # all of the policy, which is seldom asked

            named = cast("PermissionMode | None", self._options.get("permissionMode"))
            self._widest = named or await asyncio.to_thread(mode_of_settings, self.workspace)
        return self._widest

    def configure(self, settings: Object) -> None:
        """Change settings of this server alone."""
        if self._client is not None:
            changed = {"settings": {"outrider": settings}}
            self._client.notify("workspace/didChangeConfiguration", changed)

    async def send(self, text: str, *, queue: bool = False, mode: str | None = None) -> None:
        """Give a task, or a word to the running one unless it is to wait behind that."""
        if self.status.is_running and self.session_id is not None and not queue and mode is None:
            await self.command(names.STEER, {"sessionId": self.session_id, "text": text})
            return
        ran, self._ran = self._ran, []
        mode = mode or self.mode
        await self._begin(
            names.RUN, {"prompt": "\n\n".join([text, *ran]), "mode": mode}, can_change=mode == "agent"
        )

    async def start(self, plan: Path) -> None:
        """Carry out the plan document at an absolute path."""
        await self._begin(names.PLAN, {"uri": plan.as_uri()}, can_change=True)

    async def go_on(self) -> None:
        """Go on where the latest turn stopped, with new limits."""
        await self._begin(names.CONTINUE, {}, can_change=False)

    async def _begin(self, command: str, params: Object, *, can_change: bool) -> None:
        if self.session_id is not None:
            params["sessionId"] = self.session_id
        if self.model is not None:
            params["model"] = self.model
        if self.thinking is not None:
            params["thinking"] = self.thinking
        if self.checks and can_change:
            params["acceptance"] = list(self.checks)
        started = await self.command(command, params)
        self.session_id = str(started["sessionId"])

    async def withdraw(self) -> None:
        """Take the latest text that waits back into the composer."""
        if not self.status.queue or self.session_id is None:
            return
        name, text, steers = self.status.queue[-1]
        if not self.surface.compose(text):
            self.renderer.note("The composer is not empty.")
            return
        if steers:
            await self.command(names.STEER, {"sessionId": self.session_id, "remove": name})
        else:
            await self.command(names.CANCEL, {"turnId": name, "reason": "withdrawn"})

    async def shell(self, command: str) -> None:
        """Run a command of the user, not of the model: without a sandbox, as in any shell. The next message tells of it."""
        if not command:
            return
        console = self.renderer.console
        console.print(Text(f"\n! {visible(command)}", style="bold"))
        running = await asyncio.create_subprocess_exec(
            os.environ.get("SHELL") or "/bin/sh",
            "-c",
            command,
            cwd=self.workspace,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        output = ""
        try:
            while running.stdout is not None and (piece := await running.stdout.read(65536)):
                text = plain_output(piece.decode("utf-8", "replace"))
                console.print(Text(text), end="")
                output = (output + text)[-SHELL_CHARACTERS:]
            code = await running.wait()
        finally:
            if running.returncode is None:
                os.killpg(running.pid, signal.SIGKILL)
        if not output.endswith("\n"):
            console.print()
        if code:
            self.renderer.note(f"exit code {code}")
        self._ran.append(f"I ran `{command}` (exit code {code}):\n{code_block(output)}")

    def interrupt(self, draft: str, clear: Callable[[], None]) -> None:
        """Ctrl-C: cancels what runs, and leaves at once the second time; at rest it clears the draft, or leaves the second time."""
        is_second = time.monotonic() - self._interrupted < AGAIN_SECONDS
        self._interrupted = time.monotonic()
        if self.status.is_running or any(not task.done() for task in self._questions):
            if is_second:
                self.code = ExitCode.CANCELLED
                self.end()
                if self._client is not None:
                    self._client.kill()
                return
            self.renderer.note("cancelling; Ctrl-C again leaves at once")
            for task in (*self._questions, *self._tasks):
                task.cancel()
            self.spawn(self._cancel())
        elif draft:
            clear()
        elif is_second:
            self.end()
        else:
            self.renderer.note("Ctrl-C again, or Ctrl-D, leaves")

    async def _cancel(self) -> None:
        if self.status.turn_id is not None:
            params = {"turnId": self.status.turn_id, "reason": "interrupted"}
            await self.command(names.CANCEL, params, seconds=CANCEL_SECONDS)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something that nobody waits for; a refusal is shown."""
        task = asyncio.ensure_future(self.shown(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def shown(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something; a refusal is shown."""
        try:
            await work
        except CommandError as problem:
            self.renderer.problems.error(explained(problem), told=str(problem))
        except ClientError as problem:
            if not self.ended.is_set():
                self.renderer.problems.error(str(problem))
        except OSError as problem:
            self.renderer.problems.error(f"{problem.filename or ''} {problem.strerror}".strip())
