"""A headless LSP client: starts the server as a child process and speaks LSP with it over its pipes.

It is what an editor is to the server, and knows nothing of the server's inside: the command line uses it, and so
can any program. It has no open documents, says so in its capabilities, and never answers a question by itself.
"""

import asyncio
import contextlib
import json
import os
import sys
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import outrider
import outrider_protocol as names
from outrider.ports.clock import Clock, SystemClock
from outrider_protocol import logged

START_SECONDS: Final = 60.0
"""How long `initialize` may take."""
COMMAND_SECONDS: Final = 60.0
"""How long a command may take, unless its caller says otherwise."""
SHUTDOWN_SECONDS: Final = 10.0
"""How long `shutdown`, and the end of the process after `exit`, may take each."""
TERMINATE_SECONDS: Final = 3.0
"""How long the process may take to end after SIGTERM and after SIGKILL."""
LOG_SECONDS: Final = 1.0
"""How long the log may take to say what an answer says that it says."""
PIPE_SECONDS: Final = 1.0
"""How long the pipes may stay open after the process has ended."""

MAX_BODY: Final = 256 * 1024 * 1024
"""Bytes of the largest message that is believed."""
MAX_HEADER: Final = 8192
STDERR_LINES: Final = 30
"""Lines of the server's standard error that an error message quotes."""

METHOD_NOT_FOUND: Final = -32601
INTERNAL_ERROR: Final = -32603

Object = dict[str, Any]


class ClientError(Exception):
    """The conversation with the server failed; the text says how, for a user."""


class ServerGoneError(ClientError):
    """The server ended, or said something that is not LSP."""


class RequestTimeoutError(ClientError):
    """The server did not answer in time."""


class CommandError(ClientError):
    """The server answered with an error (JSON-RPC 2.0, section 5.1)."""

    def __init__(self, method: str, code: int, message: str, data: Object) -> None:
        super().__init__(message)
        self.method = method
        self.code = code
        self.data = data

    @property
    def reason(self) -> str | None:
        """The machine-readable reason, where the server gave one."""
        reason = self.data.get("reason")
        return reason if isinstance(reason, str) else None


@dataclass(frozen=True, slots=True)
class Question:
    """A `window/showMessageRequest`: what is asked and the titles it may be answered with."""

    message: str
    titles: tuple[str, ...]


OnQuestion = Callable[[Question], Awaitable[str | None]]
"""Gives one of the titles, or None: no answer, which is never a yes."""
OnObject = Callable[[Object], None]
OnEvent = Callable[[logged.WireEvent], None]
OnMessage = Callable[[int, str], None]
"""Gets a message's type (1 error, 2 warning, 3 info, 4 log) and its text."""


async def leave_unanswered(question: Question) -> str | None:  # noqa: ARG001 - the shape of OnQuestion
    """Answer no question at all."""
    return None


def ignore(params: Object | logged.WireEvent) -> None:
    """Do nothing with a notification."""


def ignore_message(level: int, text: str) -> None:
    """Do nothing with a message."""


class Client:
    """The conversation with one server. Made by `Client.start`."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        workspace: Path,
        *,
        on_question: OnQuestion,
        on_event: OnEvent,
        on_frame: OnObject,
        on_left: OnObject,
        on_message: OnMessage,
        clock: Clock,
    ) -> None:
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise ValueError("the server must be started with three pipes")
        self._process = process
        self._stdin, self._stdout, self._stderr = process.stdin, process.stdout, process.stderr
        self._workspace = workspace
        self._on_question = on_question
        self._notified: Mapping[str, Callable[[Object], None]] = {
            names.EVENT_NOTIFICATION: lambda params: on_event(cast("logged.WireEvent", params)),
            names.STREAM_NOTIFICATION: on_frame,
            names.LEFT_NOTIFICATION: on_left,
            "window/showMessage": lambda params: on_message(*_level_and_text(params)),
            "$/cancelRequest": self._cancel_incoming,
        }
        self._clock = clock
        self._next_id = 0
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._incoming: dict[str | int, asyncio.Task[None]] = {}
        self._stderr_tail: deque[str] = deque(maxlen=STDERR_LINES)
        self._logged = asyncio.Event()
        self._failure: BaseException | None = None
        self._gone = asyncio.Event()
        self._reader = asyncio.create_task(self._read())
        self._stderr_reader = asyncio.create_task(self._read_stderr())

    @classmethod
    @asynccontextmanager
    async def start(
        cls,
        workspace: Path,
        options: Mapping[str, Any],
        *,
        on_question: OnQuestion = leave_unanswered,
        on_event: OnEvent = ignore,
        on_frame: OnObject = ignore,
        on_left: OnObject = ignore,
        on_message: OnMessage = ignore_message,
        server: Sequence[str] | None = None,
        env: Mapping[str, str] | None = None,
        clock: Clock | None = None,
    ) -> AsyncGenerator["Client", None]:
        """Start a server, initialize it, and end it with the block.

        Args:
            workspace: The one workspace folder; absolute.
            options: The `initializationOptions`.
            on_question: Answers `window/showMessageRequest`.
            on_event: Gets the params of each `outrider/event`.
            on_frame: Gets the params of each `outrider/stream`.
            on_left: Gets the params of each `outrider/left`.
            on_message: Gets `window/showMessage`.
            server: The server's argv; None for this installation's own.
            env: The server's environment; None for this process's.
            clock: Time for the time-outs.

        Raises:
            ServerGoneError: The server could not be started, or ended before it answered.
            RequestTimeoutError: It did not answer `initialize`.
        """
        argv = list(server) if server is not None else [sys.executable, "-m", "outrider", "serve"]
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=None if env is None else dict(env),
                # Ctrl-C in the terminal is for the client, which cancels the turn in an orderly way.
                start_new_session=True,
            )
        except OSError as problem:
            raise ServerGoneError(
                f"the server could not be started: {argv[0]}: {problem.strerror}"
            ) from problem
        client = cls(
            process, workspace, on_question=on_question, on_event=on_event, on_frame=on_frame,
            on_left=on_left, on_message=on_message, clock=clock or SystemClock(),
        )  # fmt: skip
        try:
            await client._initialize(options)
            yield client
        finally:
            await client._close()

    async def command(
        self, name: str, params: Mapping[str, Any] | None = None, *, seconds: float | None = COMMAND_SECONDS
    ) -> Object:
        """Run a command of the server with one object, and give its result.

        Args:
            name: Such as `outrider.run`.
            params: Its one argument.
            seconds: How long it may take; None waits for ever.

        Raises:
            CommandError: The server said no.
            RequestTimeoutError: It said nothing.
            ServerGoneError: It ended.
        """
        arguments = [dict(params or {})]
        result = await self.request(
            "workspace/executeCommand", {"command": name, "arguments": arguments}, seconds=seconds
        )
        if not isinstance(result, dict):
            raise ServerGoneError(
                f"the server answered {name} with {_shortened(result)} instead of an object"
            )
        return cast("Object", result)

    async def request(self, method: str, params: Any, *, seconds: float | None = COMMAND_SECONDS) -> Any:
        """Send a request and give its result. Cancelling this cancels the request. Errors as for `command`."""
        self._raise_failure()
        self._next_id += 1
        number = self._next_id
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._pending[number] = future
        answered = False
        self._logged.clear()
        try:
            async with self._clock.timeout(seconds):
                self._send({"id": number, "method": method, "params": params})
                with contextlib.suppress(ConnectionError):  # the reader says better what happened
                    await self._stdin.drain()
                reply = await future
                answered = True
        except TimeoutError as problem:
            raise RequestTimeoutError(
                f"the server did not answer {_what(method, params)} within {seconds:g} seconds{self._quoted_stderr()}"
            ) from problem
        finally:
            del self._pending[number]
            if not answered:
                self._send({"method": "$/cancelRequest", "params": {"id": number}})
        if "error" in reply:
            if _object(reply["error"]).get("code") == INTERNAL_ERROR:
                # The log goes another way, and slower than the answer.
                with contextlib.suppress(TimeoutError):
                    async with self._clock.timeout(LOG_SECONDS):
                        await self._logged.wait()
            raise self._failure_of(_what(method, params), reply["error"])
        return reply.get("result")

    def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    def kill(self) -> None:
        """End the server at once; its supervisor ends what it had started."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def gone(self) -> BaseException:
        """Wait until the conversation is over, and give why."""
        await self._gone.wait()
        return self._failure or ServerGoneError("the server ended")

    # --- start and end ---------------------------------------------------------------------------------------

    async def _initialize(self, options: Mapping[str, Any]) -> None:
        uri = self._workspace.as_uri()
        await self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "clientInfo": {"name": "outrider", "version": outrider.__version__},
                "rootUri": uri,
                "workspaceFolders": [{"uri": uri, "name": self._workspace.name or uri}],
                "capabilities": _CAPABILITIES,
                "initializationOptions": dict(options),
            },
            seconds=START_SECONDS,
        )
        self.notify("initialized", {})

    async def _close(self) -> None:
        if self._failure is None and self._process.returncode is None:
            with contextlib.suppress(ClientError):
                await self.request("shutdown", None, seconds=SHUTDOWN_SECONDS)
                self._send({"method": "exit"})
        self._stdin.close()
        if not await self._ended(SHUTDOWN_SECONDS if self._failure is None else TERMINATE_SECONDS):
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()
            if not await self._ended(TERMINATE_SECONDS):
                self.kill()
                await self._ended(TERMINATE_SECONDS)
        # The pipes are read to their end, unless a descendant of the server holds them open.
        with contextlib.suppress(TimeoutError):
            async with self._clock.timeout(PIPE_SECONDS):
                await asyncio.wait([self._reader, self._stderr_reader])
        tasks = [self._reader, self._stderr_reader, *self._incoming.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _ended(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with self._clock.timeout(seconds):
                await self._process.wait()
        return self._process.returncode is not None

    # --- what comes in ---------------------------------------------------------------------------------------

    async def _read(self) -> None:
        try:
            while (message := await _read_message(self._stdout)) is not None:
                self._dispatch(message)
        except _NotLspError as problem:
            self._fail(
                ServerGoneError(
                    f"the server sent something that is not LSP: {problem}{self._quoted_stderr()}"
                )
            )
            # Nothing it says from now on can be understood.
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()
        except Exception as problem:  # noqa: BLE001 - a fault of a callback ends the conversation, with its cause
            self._fail(problem)
        else:
            await self._ended(TERMINATE_SECONDS)
            with contextlib.suppress(TimeoutError):
                async with self._clock.timeout(PIPE_SECONDS):
                    await asyncio.shield(self._stderr_reader)
            code = self._process.returncode
            how = "closed its output" if code is None else f"ended with code {code}"
            self._fail(ServerGoneError(f"the server {how}{self._quoted_stderr()}"))
        # A pipe that nobody reads would keep the server from ending.
        while await self._stdout.read(65536):
            pass

    async def _read_stderr(self) -> None:
        rest = b""
        while chunk := await self._stderr.read(65536):
            *lines, rest = (rest + chunk).split(b"\n")
            rest = rest[-4096:]
            self._stderr_tail.extend(line.decode("utf-8", "replace").rstrip() for line in lines)
            self._logged.set()
        if rest:
            self._stderr_tail.append(rest.decode("utf-8", "replace").rstrip())

    def _dispatch(self, message: Object) -> None:
        method, number = message.get("method"), message.get("id")
        if isinstance(method, str) and isinstance(number, str | int):
            task = asyncio.create_task(self._answer(number, method, _object(message.get("params"))))
            self._incoming[number] = task
            task.add_done_callback(lambda _: self._incoming.pop(number, None))
        elif isinstance(method, str):
            if handler := self._notified.get(method):
                handler(_object(message.get("params")))
        elif isinstance(number, int) and number in self._pending:
            future = self._pending[number]
            if not future.done():
                future.set_result(message)

    async def _answer(self, number: str | int, method: str, params: Object) -> None:
        try:
            reply = {"id": number, "result": await self._result_of(method, params)}
        except asyncio.CancelledError:
            error = {"code": names.REQUEST_CANCELLED, "message": "cancelled"}
            self._send({"id": number, "error": error})
            raise
        except NotImplementedError:
            error = {"code": METHOD_NOT_FOUND, "message": f"{method} is unknown to this client"}
            reply = {"id": number, "error": error}
        except Exception as problem:  # noqa: BLE001 - a fault of the callback ends the conversation, with its cause
            error = {"code": INTERNAL_ERROR, "message": f"{type(problem).__name__} in the client"}
            self._send({"id": number, "error": error})
            self._fail(problem)
            return
        self._send(reply)

    async def _result_of(self, method: str, params: Object) -> Any:
        match method:
            case "window/showMessageRequest":
                titles = tuple(
                    title
                    for action in _objects(params.get("actions"))
                    if isinstance(title := action.get("title"), str)
                )
                title = await self._on_question(Question(str(params.get("message", "")), titles))
                return None if title is None else {"title": title}
            case "workspace/applyEdit":
                return {"applied": False, "failureReason": "this client has no open documents"}
            case "window/showDocument":
                return {"success": False}
            case "workspace/configuration":
                return [None for _ in _objects(params.get("items"))]
            case "workspace/workspaceFolders":
                return [{"uri": self._workspace.as_uri(), "name": self._workspace.name}]
            case (
                "window/workDoneProgress/create" | "client/registerCapability" | "client/unregisterCapability"
            ):
                return None
            case _:
                raise NotImplementedError

    def _cancel_incoming(self, params: Object) -> None:
        number = params.get("id")
        if isinstance(number, str | int) and (task := self._incoming.get(number)):
            task.cancel()

    # --- what goes out ---------------------------------------------------------------------------------------

    def _send(self, message: Object) -> None:
        if self._stdin.is_closing():
            return
        body = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, separators=(",", ":"))
        content = body.encode("utf-8", "surrogatepass")
        self._stdin.write(b"Content-Length: %d\r\n\r\n" % len(content) + content)

    # --- failure ---------------------------------------------------------------------------------------------

    def _fail(self, problem: BaseException) -> None:
        self._failure = self._failure or problem
        for future in self._pending.values():
            if not future.done():
                future.set_exception(self._failure)
        self._gone.set()

    def _failure_of(self, what: str, error: Any) -> CommandError:
        fields = _object(error)
        code, message = fields.get("code"), fields.get("message")
        if not isinstance(code, int) or not isinstance(message, str):
            code, message = INTERNAL_ERROR, f"{what} failed: {_shortened(error)}"
        if code == INTERNAL_ERROR:  # the server's log says more, and goes nowhere but here
            message += self._quoted_stderr()
        return CommandError(what, code, message, _object(fields.get("data")))

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _quoted_stderr(self) -> str:
        lines = [line for line in self._stderr_tail if line]
        return "; its last words:\n" + "\n".join(f"  {line}" for line in lines) if lines else ""


_CAPABILITIES: Final[Object] = {
    "general": {"positionEncodings": ["utf-32", "utf-8", "utf-16"]},
    "window": {
        "workDoneProgress": True,
        "showMessage": {"messageActionItem": {"additionalPropertiesSupport": False}},
        "showDocument": {"support": False},
    },
    # Without open documents there is nothing an edit could be applied to: edits go to the disk.
    "workspace": {"applyEdit": False, "workspaceFolders": True, "configuration": False},
}


class _NotLspError(Exception):
    pass


async def _read_message(stream: asyncio.StreamReader) -> Object | None:
    # LSP 3.17, "Base Protocol": header lines, an empty line, a body of Content-Length bytes.
    try:
        header = await stream.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as end:
        if end.partial.strip():
            raise _NotLspError(f"{_shortened(end.partial)}, where a message should begin") from end
        return None
    except asyncio.LimitOverrunError as problem:
        start = await stream.read(80)
        raise _NotLspError(f"{_shortened(start)}, where a message should begin") from problem
    if len(header) > MAX_HEADER:
        raise _NotLspError(f"a header of {len(header)} bytes")
    length = _content_length(header)
    try:
        body = await stream.readexactly(length)
    except asyncio.IncompleteReadError as end:
        raise _NotLspError(f"a message cut off after {len(end.partial)} of {length} bytes") from end
    try:
        message = json.loads(body)
    except ValueError as problem:
        raise _NotLspError(f"a body that is not JSON: {_shortened(body)}") from problem
    if not isinstance(message, dict):
        raise _NotLspError(f"a body that is not an object: {_shortened(body)}")
    return cast("Object", message)


def _content_length(header: bytes) -> int:
    for line in header.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            if value.strip().isdigit() and int(value) <= MAX_BODY:
                return int(value)
            raise _NotLspError(f"the header {_shortened(line)}")
    raise _NotLspError(f"{_shortened(header)}, where a message should begin")


def _what(method: str, params: Any) -> str:
    return str(_object(params).get("command", method))


def _level_and_text(params: Object) -> tuple[int, str]:
    level = params.get("type")
    return level if isinstance(level, int) else 3, str(params.get("message", ""))


def _object(value: Any) -> Object:
    return cast("Object", value) if isinstance(value, dict) else {}


def _objects(value: Any) -> list[Object]:
    return [_object(item) for item in cast("list[Any]", value)] if isinstance(value, list) else []


def _shortened(value: Any, most: int = 80) -> str:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else json.dumps(value, default=str)
    shown = ascii(text[:most])[1:-1]
    return f"“{shown}…”" if len(text) > most else f"“{shown}”"
