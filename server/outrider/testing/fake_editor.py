"""The fake editor: a client that treats the server as a real editor would, message by message.

It acts out a `Profile` with plain JSON-RPC dicts, records everything, and checks what the server sends (`Watch`).
It must never smooth over a fault of the server, and never do by itself what a person would have to do. It has a
clock of its own, which stands still unless it is told to move.
"""

import asyncio
import json
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, cast

import outrider_protocol as names
from outrider.testing.answers import Answer, Answers, Dismiss, Fail, Late, Never, Question, Reply
from outrider.testing.buffers import Buffer, PositionEncoding, position_at
from outrider.testing.checks import Watch, capability
from outrider.testing.connections import Connection
from outrider.testing.desk import Desk, EditOutcome, first_edit_only, path_of, targets
from outrider.testing.profiles import Profile

Object = dict[str, Any]
T = TypeVar("T")

WAIT_SECONDS: Final = 10.0
"""Real seconds that anything may take before the test fails."""
SETTLE_TURNS: Final = 20
"""Turns of the event loop between the answer to an edit and its `didChange`, where the answer goes first."""
SHOWN_MESSAGES: Final = 25
"""Messages that a failure prints."""

METHOD_NOT_FOUND: Final = -32601
INTERNAL_ERROR: Final = -32603

_LANGUAGES: Final[Mapping[str, str]] = {
    ".py": "python", ".md": "markdown", ".json": "json", ".js": "javascript", ".toml": "toml", ".lua": "lua",
}  # fmt: skip


class RpcError(Exception):
    """The server answered with an error (JSON-RPC 2.0, section 5.1)."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{message} ({code}, {data})")
        self.code = code
        self.message = message
        self.data = data


class Pending:
    """A request on its way; awaiting it gives its result or raises RpcError."""

    def __init__(self, number: int, method: str, future: "asyncio.Future[Any]") -> None:
        self.id = number
        self.method = method
        self._future = future

    @property
    def done(self) -> bool:
        """Whether a response came."""
        return self._future.done()

    def __await__(self) -> Generator[Any, None, Any]:
        return asyncio.shield(self._future).__await__()


@dataclass(frozen=True, slots=True)
class Traffic:
    """A message that went over the wire."""

    direction: Literal["to server", "to editor"]
    message: Object

    def __str__(self) -> str:
        text = json.dumps(self.message, ensure_ascii=False)
        arrow = "→" if self.direction == "to server" else "←"
        return f"{arrow} {text if len(text) <= 300 else text[:300] + '…'}"


@dataclass(frozen=True, slots=True)
class Said:
    """A message for the person, or a line of the log."""

    level: int
    """LSP `MessageType`: 1 error, 2 warning, 3 info, 4 log."""
    text: str
    shown: bool
    """Whether it was shown (`window/showMessage`) or only logged."""


@dataclass(frozen=True, slots=True)
class EditRequest:
    """A `workspace/applyEdit` and the answer to it."""

    label: str
    edit: Object
    answer: Object | None
    """The result; None where there was an error or no answer."""


@dataclass(slots=True)
class Progress:
    """The life of one progress token."""

    begin: Object | None = None
    reports: list[Object] = field(default_factory=list[Object])
    end: Object | None = None

    @property
    def running(self) -> bool:
        """Whether it has begun and not ended."""
        return self.begin is not None and self.end is None


class FakeEditor:
    """An editor with a workspace, a person and a server."""

    def __init__(
        self,
        profile: Profile,
        root: Path,
        *,
        options: Mapping[str, Any] | None = None,
        folders: Sequence[Path] | None = None,
        configuration: Mapping[str, Any] | None = None,
    ) -> None:
        """An editor that has not been started.

        Args:
            profile: Which editor it is.
            root: The folder that relative paths are meant from.
            options: The `initializationOptions`.
            folders: The workspace folders; absent means `root` alone.
            configuration: What the section `outrider` of its configuration holds.
        """
        self.profile = profile
        self.root = root
        self.options = dict(options or {})
        self.folders = list(folders) if folders is not None else [root]
        self.configuration: Mapping[str, Any] | None = configuration
        self.answers: Answers = []
        self.auto_settle = True
        """Whether changes made by an edit are sent by themselves; else `step` and `settle` send them."""
        self.now = 0.0
        """The editor's clock, in seconds."""
        self.server: Object = {}
        """The result of `initialize`."""
        self.session_id = ""
        """Session of the last `run`."""
        self.turn_id = ""
        """Turn of the last `run`."""

        self.messages: list[Traffic] = []
        self.events: list[Object] = []
        self.frames: list[Object] = []
        self.questions: list[Question] = []
        self.edits: list[EditRequest] = []
        self.progress: dict[int | str, Progress] = {}
        self.shown: list[Object] = []
        self.said: list[Said] = []
        self.diagnostics: dict[str, list[Object]] = {}
        self.registrations: list[Object] = []
        self.actions: list[Object] = []
        """What the last `code_actions` gave."""
        self.ended: str | None = None
        """Why the connection is gone; None while it stands."""

        self.watch = Watch(
            profile.capabilities, self.options, lenient_edits=profile.edits_unadvertised_document_changes
        )
        self.desk = Desk(profile, root)
        self._connection: Connection | None = None
        self._next_id = 0
        self._pending: dict[int | str, tuple[Pending, asyncio.Future[Any]]] = {}
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._edit_groups = 0
        self._typed = 0

    # --- the connection --------------------------------------------------------------------------------------

    async def start(self, connection: Connection) -> None:
        """Reach the server and initialize it."""
        self._connection = connection
        connection.on_message = self._receive
        connection.on_end = self._gone
        await connection.start()
        self.server = await self.request("initialize", self._initialize_params())
        encoding = capability(self.server, "capabilities.positionEncoding") or "utf-16"
        self.desk.encoding = cast("PositionEncoding", encoding)
        self.notify("initialized", {})
        if self.profile.stops_reading:
            connection.pause_reading()

    async def stop(self) -> None:
        """Shut the server down as the specification says.

        Raises:
            AssertionError: The server broke rules: all of them are named.
        """
        connection = self.connection
        connection.resume_reading()
        if self.ended is None:
            try:
                await self.request("shutdown")
            except (ConnectionError, RpcError, AssertionError) as problem:
                self.watch.violations.append(f"shutdown: {problem}")
            self.notify("exit")
            code = await connection.close()
            if code not in (0, None):
                self.watch.violations.append(f"exit: the server ended with code {code}; {self.ended}")
            self.watch.violations.extend(
                f"{method}: the request got no response" for method in self.watch.unanswered()
            )
        else:
            await connection.close()
        if connection.fault is not None:
            self.watch.violations.append(connection.fault)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.watch.violations:
            raise AssertionError("the server broke rules:\n  " + "\n  ".join(self.watch.violations))

    @property
    def connection(self) -> Connection:
        """The connection. Raises RuntimeError before `start`."""
        if self._connection is None:
            raise RuntimeError("the editor has not been started")
        return self._connection

    def read_on(self) -> None:
        """Read again, after the profile or a test stopped it."""
        self.connection.resume_reading()

    # --- requests --------------------------------------------------------------------------------------------

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification."""
        self._send({"method": method} if params is None else {"method": method, "params": params})

    def request_nowait(self, method: str, params: Any = None) -> Pending:
        """Send a request, and every unsent change before it, as editors do."""
        self.settle()
        self._next_id += 1
        number = self._next_id
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        # A test may leave a request alone; its error is then nobody's.
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        pending = Pending(number, method, future)
        self._pending[number] = (pending, future)
        if self.ended is not None:
            future.set_exception(ConnectionError(f"the server is gone: {self.ended}"))
        message: Object = {"id": number, "method": method}
        self._send(message if params is None else {**message, "params": params})
        return pending

    async def request(self, method: str, params: Any = None, *, seconds: float = WAIT_SECONDS) -> Any:
        """Send a request and give its result.

        Raises:
            RpcError: The server answered with an error.
            AssertionError: There was no answer within `seconds` of real time.
            ConnectionError: The server is gone.
        """
        pending = self.request_nowait(method, params)
        await self.wait_for(lambda: pending.done, f"the answer to {method}", seconds=seconds)
        return await pending

    async def command(
        self, name: str, argument: Mapping[str, Any] | None = None, *, seconds: float = WAIT_SECONDS
    ) -> Any:
        """Run a command with one object and give its result. Raises like `request`."""
        return await self.request("workspace/executeCommand", _command(name, argument), seconds=seconds)

    def command_nowait(self, name: str, argument: Mapping[str, Any] | None = None) -> Pending:
        """Run a command without waiting for its result."""
        return self.request_nowait("workspace/executeCommand", _command(name, argument))

    def cancel_request(self, pending: Pending) -> None:
        """Cancel a request (`$/cancelRequest`)."""
        self.notify("$/cancelRequest", {"id": pending.id})

    async def run(self, prompt: str, *, seconds: float = WAIT_SECONDS, **params: Any) -> Object:
        """Give a task and wait until its turn is finished or needs an answer.

        Args:
            prompt: The task.
            seconds: Real seconds it may take.
            params: Further params of `outrider.run`, as on the wire.

        Returns:
            The result of `outrider.wait`.
        """
        started = await self.command(names.RUN, {"prompt": prompt, **params})
        self.session_id, self.turn_id = started["sessionId"], started["turnId"]
        return await self.wait_turn(seconds=seconds)

    async def wait_turn(self, turn_id: str | None = None, *, seconds: float = WAIT_SECONDS) -> Object:
        """Wait until a turn is finished or needs an answer; absent means the turn of the last `run`."""
        return await self.command(names.WAIT, {"turnId": turn_id or self.turn_id}, seconds=seconds)

    async def code_actions(
        self,
        path: str | Path,
        span: Object | None = None,
        *,
        diagnostics: Sequence[Object] = (),
        only: Sequence[str] | None = None,
        automatic: bool = False,
    ) -> list[Object]:
        """Ask for the code actions at a place.

        Args:
            path: The document.
            span: An LSP range; absent means the document's start.
            diagnostics: Those at the place.
            only: Kinds that are wanted.
            automatic: Whether the editor asks by itself, as it does when the cursor moves.
        """
        start = {"line": 0, "character": 0}
        context: Object = {"diagnostics": list(diagnostics), "triggerKind": 2 if automatic else 1}
        if only is not None:
            context["only"] = list(only)
        params = {
            "textDocument": {"uri": self.desk.uri(path)},
            "range": span or {"start": start, "end": start},
            "context": context,
        }
        self.actions = cast("list[Object]", await self.request("textDocument/codeAction", params) or [])
        self._check_actions(self.actions, only)
        return self.actions

    async def take_action(self, title: str) -> Any:
        """Take one of the last `code_actions` by its title, or by the only title that begins so.

        Returns:
            The result of its command.
        """
        exact = [action for action in self.actions if action["title"] == title]
        found = exact or [action for action in self.actions if action["title"].startswith(title)]
        if len(found) != 1:
            offered = [action["title"] for action in self.actions]
            raise AssertionError(f"{len(found)} actions are called {title!r}; offered were {offered}")
        (action,) = found
        if "edit" in action:
            self._edit_groups += 1
            self._flush_outcome(self.desk.apply(action["edit"], self._edit_groups))
        command = action.get("command")
        if isinstance(command, dict):
            action = cast("Object", command)
        if not isinstance(action.get("command"), str):
            return None
        advertised: list[str] = capability(self.server, "capabilities.executeCommandProvider.commands") or []
        if action["command"] not in advertised:
            self._violation(f"the code action {title!r} has the command {action['command']}, not advertised")
        params = {"command": action["command"], "arguments": action.get("arguments", [])}
        return await self.request("workspace/executeCommand", params)

    def cancel_progress(self, token: int | str | None = None) -> None:
        """Press Cancel on a progress; absent means the last one that runs."""
        if token is None:
            running = [key for key, progress in self.progress.items() if progress.running]
            if not running:
                raise AssertionError("no progress is running")
            token = running[-1]
        self.notify("window/workDoneProgress/cancel", {"token": token})

    def configure(self, values: Mapping[str, Any] | None) -> None:
        """Change the configuration's section `outrider`, and tell the server."""
        self.configuration = values
        settings = None if self.profile.pulls_configuration else {names.CONFIGURATION_SECTION: values}
        self.notify("workspace/didChangeConfiguration", {"settings": settings})

    # --- documents -------------------------------------------------------------------------------------------

    def open(self, path: str | Path) -> None:
        """Open a file; one that is open stays as it is."""
        uri = self.desk.uri(path)
        if uri in self.desk.buffers:
            self.desk.buffers[uri].opened_by_edit = False
            return
        self._send_open(self.desk.load(uri))

    def open_untitled(self, name: str, text: str = "") -> str:
        """Open a new document without a file; gives its URI, `untitled:NAME`."""
        buffer = self.desk.new_buffer(f"untitled:{name}", None, text)
        self._send_open(buffer)
        return buffer.uri

    def type(
        self,
        path: str | Path,
        text: str,
        *,
        at: tuple[int, int] | None = None,
        replace: str | None = None,
        unsent: bool = False,
    ) -> None:
        """Type into an open document, as one undo step.

        Args:
            path: The document.
            text: What is typed.
            at: Line and column, from 0, in characters; absent means the end of the text.
            replace: A text that occurs once and is replaced.
            unsent: Whether a debouncing editor still holds the change back when this returns.
        """
        buffer = self.desk.buffer(path)
        if replace is not None:
            if buffer.text.count(replace) != 1:
                raise ValueError(f"{replace!r} occurs {buffer.text.count(replace)} times in {path}")
            start = buffer.text.index(replace)
            end = start + len(replace)
        elif at is not None:
            start = end = _offset(buffer.text, *at)
        else:
            start = end = len(buffer.text)
        buffer.type(start, end, text)
        self._plan(buffer)
        if not unsent:
            self.settle()

    def range_of(self, path: str | Path, text: str) -> Object:
        """The LSP range of a text that occurs once in an open document."""
        buffer = self.desk.buffer(path)
        if buffer.text.count(text) != 1:
            raise ValueError(f"{text!r} occurs {buffer.text.count(text)} times in {path}")
        start = buffer.text.index(text)
        return {
            "start": position_at(buffer.text, start, buffer.encoding),
            "end": position_at(buffer.text, start + len(text), buffer.encoding),
        }

    def save(self, path: str | Path) -> None:
        """Save an open document."""
        buffer = self.desk.buffer(path)
        self.desk.save(buffer)
        self._flush(buffer)
        save = self._sync("save")
        if save is None or save is False:
            return
        params: Object = {"textDocument": {"uri": buffer.uri}}
        if isinstance(save, dict) and cast("Object", save).get("includeText"):
            params["text"] = buffer.text
        self.notify("textDocument/didSave", params)

    def save_all(self) -> None:
        """Save every document that has a file and unsaved text."""
        for buffer in list(self.desk.buffers.values()):
            if buffer.dirty and buffer.path is not None:
                self.save(buffer.uri)

    def reload(self, path: str | Path) -> None:
        """Take over what is on disk now, as editors do with a file that another program changed."""
        old = self.desk.buffer(path)
        self.desk.buffers.pop(old.uri)
        text = self.desk.load(old.uri).text
        self.desk.buffers[old.uri] = old
        old.replace_text(text)
        old.saved = text
        self._flush(old)

    def close(self, path: str | Path) -> None:
        """Close a document; unsaved text is thrown away."""
        buffer = self.desk.buffer(path)
        self._flush(buffer)
        del self.desk.buffers[buffer.uri]
        self.notify("textDocument/didClose", {"textDocument": {"uri": buffer.uri}})

    def undo(self, path: str | Path) -> bool:
        """Take back the last step in a document; False if there is none."""
        buffer = self.desk.buffer(path)
        step = buffer.undo()
        if step is None:
            return False
        others: list[Buffer] = []
        if self.profile.undo_spans_files and step.group is not None:
            others = self.desk.undo_group(step.group, buffer)
        self._flush(buffer)
        for other in others:
            if self.profile.late_changes_after_close and other.opened_by_edit:
                del self.desk.buffers[other.uri]
                self.notify("textDocument/didClose", {"textDocument": {"uri": other.uri}})
        for other in others:
            self._flush(other)
        return True

    def redo(self, path: str | Path) -> bool:
        """Do the step that was last taken back again; False if there is none."""
        buffer = self.desk.buffer(path)
        step = buffer.redo()
        if step is None:
            return False
        self._flush(buffer)
        if self.profile.undo_spans_files and step.group is not None:
            for other in self.desk.redo_group(step.group, buffer):
                self._flush(other)
        return True

    def text(self, path: str | Path) -> str:
        """The text of an open document."""
        return self.desk.buffer(path).text

    def dirty(self, path: str | Path) -> bool:
        """Whether an open document has unsaved text."""
        return self.desk.buffer(path).dirty

    def disk(self, path: str | Path) -> str:
        """The text of a file on disk, its line ends as they are."""
        return (self.root / path).read_bytes().decode("utf-8")

    def set_folders(self, folders: Sequence[Path]) -> None:
        """Change the workspace folders."""
        added = [folder for folder in folders if folder not in self.folders]
        removed = [folder for folder in self.folders if folder not in folders]
        self.folders = list(folders)
        event = {"added": [_folder(path) for path in added], "removed": [_folder(path) for path in removed]}
        self.notify("workspace/didChangeWorkspaceFolders", {"event": event})

    # --- the editor's clock ----------------------------------------------------------------------------------

    def step(self, seconds: float) -> None:
        """Move the editor's clock, and send the changes whose time has come."""
        self.now += seconds
        for buffer in list(self.desk.buffers.values()):
            if buffer.due is not None and buffer.due <= self.now:
                self._flush(buffer)

    def settle(self) -> None:
        """Move the clock as far as it takes to send every unsent change."""
        due = [buffer.due for buffer in self.desk.buffers.values() if buffer.due is not None]
        if due:
            self.step(max(max(due) - self.now, 0.0))

    def _plan(self, buffer: Buffer) -> None:
        # As Neovim: the first change waits for the whole debounce, a later one for what is left of it.
        if not buffer.unsent:
            return
        wait = self.profile.debounce_seconds
        if buffer.last_sent is not None:
            wait = max(wait - (self.now - buffer.last_sent), 0.0)
        buffer.due = self.now + wait
        if wait == 0.0:
            self._flush(buffer)

    def _flush(self, buffer: Buffer) -> None:
        changes, buffer.unsent = buffer.unsent, []
        buffer.due = None
        if not changes:
            return
        buffer.last_sent = self.now
        kind = self._sync("change")
        if not kind:
            return
        self.notify(
            "textDocument/didChange",
            {
                "textDocument": {"uri": buffer.uri, "version": buffer.version},
                "contentChanges": [{"text": buffer.text}] if kind == 1 else changes,
            },
        )

    def _flush_outcome(self, outcome: EditOutcome) -> None:
        for uri in outcome.closed:
            self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        for buffer in list(self.desk.buffers.values()):
            self._flush(buffer)

    async def _settle_soon(self) -> None:
        for _ in range(SETTLE_TURNS):
            await asyncio.sleep(0)
        self.settle()

    # --- waiting ---------------------------------------------------------------------------------------------

    async def wait_for(
        self, predicate: Callable[[], T | None], what: str, *, seconds: float = WAIT_SECONDS
    ) -> T:
        """Wait until `predicate` gives something that is true; it is asked again after each message.

        Args:
            predicate: Looks at the records of this editor.
            what: Names what is waited for, for the failure.
            seconds: Real seconds it may take.

        Raises:
            AssertionError: It took too long; the last messages are printed.
            ConnectionError: The server is gone.
        """
        try:
            async with asyncio.timeout(seconds):
                while not (value := predicate()):
                    if self.ended is not None:
                        raise ConnectionError(
                            f"waiting for {what}, but the server is gone: {self.ended}{self.last_messages()}"
                        )
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"no {what} within {seconds:g} s{self.last_messages()}") from None
        return value

    async def event(
        self, event_type: str, *, count: int = 1, turn_id: str | None = None, seconds: float = WAIT_SECONDS
    ) -> Object:
        """Wait for the `count`-th event of a type, of a turn if one is named; gives it as it was sent."""

        def found() -> Object | None:
            matching = self.events_of(event_type, turn_id=turn_id)
            return matching[count - 1] if len(matching) >= count else None

        return await self.wait_for(found, f"{event_type} number {count}", seconds=seconds)

    def events_of(self, event_type: str, *, turn_id: str | None = None) -> list[Object]:
        """The events of a type that came so far, of a turn if one is named."""
        return [
            event
            for event in self.events
            if event["type"] == event_type and turn_id in (None, event.get("turnId"))
        ]

    async def question(self, count: int = 1, *, seconds: float = WAIT_SECONDS) -> Question:
        """Wait for the `count`-th question of this connection."""
        await self.wait_for(lambda: len(self.questions) >= count, f"question number {count}", seconds=seconds)
        return self.questions[count - 1]

    def last_messages(self, count: int = SHOWN_MESSAGES) -> str:
        """The last messages of the wire, for a failure."""
        shown = "\n  ".join(str(traffic) for traffic in self.messages[-count:])
        return f"; the last messages ({self.profile}):\n  {shown}"

    # --- questions -------------------------------------------------------------------------------------------

    def answer_late(self, question: Question, answer: Answer | None = None) -> None:
        """Answer a question that is still on the screen; absent means what its `Late` says."""
        if answer is None:
            if not isinstance(question.answer, Late):
                raise ValueError(f"nothing was planned for {question.message!r}")
            answer = question.answer.title
        if question.answered:
            raise ValueError(f"{question.message!r} is answered already")
        if question.replaced:
            raise ValueError(f"{question.message!r} is not on the screen any more")
        question.answer = answer
        self._answer(question, answer)

    def _ask(self, number: int | str, params: Object) -> None:
        if not self.profile.can_ask:
            self._respond_error(number, METHOD_NOT_FOUND, "Method not found: window/showMessageRequest")
            return
        actions = cast("list[Object]", params.get("actions") or [])
        titles = tuple(str(action.get("title")) for action in actions)
        question = Question(number, params.get("message", ""), titles, tuple(actions))
        if self.profile.newest_question_only:
            for other in self.questions:
                other.replaced = other.replaced or not other.answered
        self.questions.append(question)
        answer = self._decide(question)
        question.answer = answer
        self._answer(question, answer)

    def _decide(self, question: Question) -> Answer:
        answers = self.answers
        answer = answers(question) if callable(answers) else answers.pop(0) if answers else Dismiss()
        if isinstance(answer, str) and answer not in question.titles:
            self._violation(f"the test answers {answer!r} to {question.message!r}: {question.titles}")
            answer = Dismiss()
        return answer if self.profile.forced_answer is None else self.profile.forced_answer

    def _answer(self, question: Question, answer: Answer) -> None:
        match answer:
            case Dismiss():
                if isinstance(self.profile.dismissal, Dismiss):
                    raise ValueError(f"the profile {self.profile} does not say how it dismisses")
                self._answer(question, self.profile.dismissal)
                return
            case Never() | Late():
                return
            case Fail():
                self._respond_error(question.request_id, answer.code, answer.message)
            case Reply():
                self._respond(question.request_id, answer.result)
            case str():
                chosen = question.actions[question.titles.index(answer)]
                keeps = capability(
                    self.profile.capabilities,
                    "window.showMessage.messageActionItem.additionalPropertiesSupport",
                )
                self._respond(question.request_id, chosen if keeps else {"title": answer})
        question.answered = True

    # --- edits -----------------------------------------------------------------------------------------------

    def _apply_edit(self, number: int | str, params: Object) -> None:
        edit, label = cast("Object", params["edit"]), str(params.get("label", ""))
        fault = self.profile.edit_fault
        self._type_before(edit)
        if fault == "refuses":
            outcome = EditOutcome(applied=False, reason="not now")
        elif fault == "fails":
            outcome = EditOutcome(error="Internal error")
        elif fault == "claims" or not capability(self.profile.capabilities, "workspace.applyEdit"):
            outcome = EditOutcome(applied=fault == "claims")
        else:
            self._edit_groups += 1
            applied = first_edit_only(edit) if fault == "partly" else edit
            outcome = self.desk.apply(applied, self._edit_groups)
        for buffer in outcome.opened:
            self._send_open(buffer, as_on_disk=True)
        if self.profile.change_before_answer and self.auto_settle:
            self._flush_outcome(outcome)
            self._answer_edit(number, label, edit, outcome)
        else:
            self._answer_edit(number, label, edit, outcome)
            for uri in outcome.closed:
                self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
            for buffer in self.desk.buffers.values():
                if buffer.unsent and buffer.due is None:
                    buffer.due = self.now + self.profile.debounce_seconds
            if self.auto_settle:
                self._start(self._settle_soon())

    def _type_before(self, edit: Object) -> None:
        typed = self.profile.types_before_edit
        if typed is None or self._typed >= self.profile.typing_times:
            return
        self._typed += 1
        for uri in targets(edit):
            if uri in self.desk.buffers:
                self.type(uri, typed, at=(0, 0), unsent=True)

    def _answer_edit(self, number: int | str, label: str, edit: Object, outcome: EditOutcome) -> None:
        answer: Object | None = None
        if outcome.error is not None:
            self._respond_error(number, INTERNAL_ERROR, outcome.error)
        elif self.profile.edit_fault != "never_answers":
            answer = {"applied": outcome.applied}
            if outcome.reason is not None:
                answer["failureReason"] = outcome.reason
            self._respond(number, answer)
        self.edits.append(EditRequest(label, edit, answer))

    # --- what comes in ---------------------------------------------------------------------------------------

    def _receive(self, message: Object) -> None:
        self.messages.append(Traffic("to editor", message))
        self.watch.received(message)
        try:
            if "method" not in message:
                self._settle_response(message)
            elif "id" in message:
                self._handle_request(message["id"], message["method"], message.get("params") or {})
            else:
                self._handle_notification(message["method"], message.get("params") or {})
        except Exception as problem:  # noqa: BLE001 - a message nobody expected fails the test, not the loop
            self._violation(f"the editor could not handle {message}: {problem!r}")
        self._changed.set()

    def _settle_response(self, message: Object) -> None:
        _, future = self._pending.pop(message["id"], (None, None))
        if future is None or future.done():
            return
        if "error" in message:
            error = cast("Object", message["error"])
            future.set_exception(RpcError(error["code"], error["message"], error.get("data")))
        else:
            future.set_result(message.get("result"))

    def _handle_request(self, number: int | str, method: str, params: Object) -> None:
        match method:
            case "window/showMessageRequest":
                self._ask(number, params)
            case "workspace/applyEdit":
                self._apply_edit(number, params)
            case "window/workDoneProgress/create":
                if self.profile.answers_create_progress:
                    self._respond(number, None)
            case "window/showDocument":
                self._show(number, params)
            case "workspace/configuration":
                self._respond(number, [self._section(item.get("section")) for item in params["items"]])
            case "workspace/workspaceFolders":
                self._respond(number, [_folder(path) for path in self.folders])
            case "client/registerCapability":
                self.registrations.extend(params["registrations"])
                self._respond(number, None)
            case (
                "client/unregisterCapability" | "workspace/codeLens/refresh" | "workspace/diagnostic/refresh"
            ):
                self._respond(number, None)
            case _ if self.profile.unknown_request == "null":
                self._respond(number, None)
            case _:
                self._respond_error(number, METHOD_NOT_FOUND, f"Method not found: {method}")

    def _handle_notification(self, method: str, params: Object) -> None:
        match method:
            case names.EVENT_NOTIFICATION:
                self.events.append(params)
            case names.STREAM_NOTIFICATION:
                self.frames.append(params)
            case "$/progress":
                self._progress(params["token"], params["value"])
            case "window/showMessage" | "window/logMessage":
                self.said.append(Said(params["type"], params["message"], method == "window/showMessage"))
            case "textDocument/publishDiagnostics":
                self.diagnostics[params["uri"]] = params["diagnostics"]
            case "$/cancelRequest":
                for question in self.questions:
                    question.withdrawn = question.withdrawn or question.request_id == params["id"]
            case _:
                pass

    def _progress(self, token: int | str, value: Object) -> None:
        progress = self.progress.setdefault(token, Progress())
        match value.get("kind"):
            case "begin":
                progress.begin = value
            case "report":
                progress.reports.append(value)
            case _:
                progress.end = value

    def _show(self, number: int | str, params: Object) -> None:
        self.shown.append(params)
        path = path_of(params["uri"])
        exists = path is not None and path.is_file()
        if exists and not params.get("external"):
            self.open(params["uri"])
        if self.profile.answers_show_document:
            self._respond(number, {"success": exists or bool(params.get("external"))})

    def _section(self, section: str | None) -> Any:
        if section == names.CONFIGURATION_SECTION and self.configuration is not None:
            return dict(self.configuration)
        return None

    def _gone(self, reason: str) -> None:
        if self.ended is None:
            self.ended = reason
        for _, future in self._pending.values():
            if not future.done():
                future.set_exception(ConnectionError(f"the server is gone: {reason}"))
        self._changed.set()

    # --- what goes out ---------------------------------------------------------------------------------------

    def _initialize_params(self) -> Object:
        params: Object = {
            "processId": os.getpid(),
            "rootUri": self.folders[0].as_uri() if self.folders else None,
            "capabilities": dict(self.profile.capabilities),
            "initializationOptions": self.options,
            "trace": "off",
            "workspaceFolders": [_folder(path) for path in self.folders] or None,
            **self.profile.extra,
        }
        if self.profile.client_info is not None:
            params["clientInfo"] = dict(self.profile.client_info)
        return params

    def _send_open(self, buffer: Buffer, *, as_on_disk: bool = False) -> None:
        # A buffer that an edit opened was opened with the text of its file, and changed then.
        text = buffer.saved or "" if as_on_disk else buffer.text
        suffix = buffer.path.suffix if buffer.path is not None else Path(buffer.uri).suffix
        if not self._sync("openClose"):
            return
        version = self.profile.first_version if as_on_disk else buffer.version
        document = {
            "uri": buffer.uri,
            "languageId": _LANGUAGES.get(suffix, "plaintext"),
            "version": version,
            "text": text,
        }
        self.notify("textDocument/didOpen", {"textDocument": document})

    def _sync(self, key: str) -> Any:
        options = capability(self.server, "capabilities.textDocumentSync")
        if isinstance(options, int):  # LSP 3.17, "Text Document Synchronization": the old, short form
            return {"change": options, "openClose": True, "save": True}.get(key)
        return capability({"sync": options}, f"sync.{key}")

    def _respond(self, number: int | str, result: Any) -> None:
        self._send({"id": number, "result": result})

    def _respond_error(self, number: int | str, code: int, message: str) -> None:
        self._send({"id": number, "error": {"code": code, "message": message}})

    def _send(self, message: Object) -> None:
        message = {"jsonrpc": "2.0", **message}
        self.messages.append(Traffic("to server", message))
        self.watch.sent(message)
        self.connection.send(message)

    def _check_actions(self, actions: Sequence[Object], only: Sequence[str] | None) -> None:
        literals = capability(self.profile.capabilities, "textDocument.codeAction.codeActionLiteralSupport")
        for action in actions:
            if not literals and not isinstance(action.get("command"), str):
                self._violation(f"a code action literal, which the client does not advertise: {action}")
            kind = str(action.get("kind", ""))
            if only and not any(_within(kind, wanted) for wanted in only):
                self._violation(f"the code action {action['title']!r} is {kind!r}, asked was {only}")

    def _violation(self, text: str) -> None:
        self.watch.violations.append(text)

    def _start(self, work: Any) -> None:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _command(name: str, argument: Mapping[str, Any] | None) -> Object:
    return {"command": name, "arguments": [dict(argument or {})]}


def _within(kind: str, wanted: str) -> bool:
    # LSP 3.17, "CodeActionKind": kinds are a hierarchy of words joined by dots; the empty kind holds all.
    return wanted in ("", kind) or kind.startswith(f"{wanted}.")


def _folder(path: Path) -> Object:
    return {"uri": path.as_uri(), "name": path.name}


def _offset(text: str, line: int, column: int) -> int:
    lines = text.splitlines(keepends=True)
    return sum(len(before) for before in lines[:line]) + column
