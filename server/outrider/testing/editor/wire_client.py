"""The wire side of a client: requests, responses and waiting for what the server sends.

It carries messages and records them; what they mean is the business of the class that derives from it.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar, cast

from outrider.testing.editor.checks import Watch
from outrider.testing.editor.connections import Connection

Object = dict[str, Any]
T = TypeVar("T")

WAIT_SECONDS: Final = 10.0
"""Real seconds that anything may take before the test fails."""
START_SECONDS: Final = 60.0
"""The same until a server has answered its first command: what it imports until then is not what is tested."""
SHOWN_MESSAGES: Final = 10
"""Messages that a failure prints, those about phases of a turn not counted."""
SHOWN_CHARACTERS: Final = 300
"""Characters of each of them."""


class TookTooLongError(AssertionError):
    """What was waited for did not come in time."""


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
        return f"{arrow} {text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + '…'}"


class WireClient:
    """One end of a connection to a server."""

    def __init__(self, name: str, watch: Watch) -> None:
        """A client that is not connected; `name` is for failures, `watch` looks at every message."""
        self.watch = watch
        self.messages: list[Traffic] = []
        self.seconds = WAIT_SECONDS
        """Real seconds that anything may take, where nothing else is said."""
        self._is_ready = False
        """Whether the server has answered a command."""
        self.ended: str | None = None
        """Why the connection is gone; None while it stands."""
        self._name = name
        self._connection: Connection | None = None
        self._next_id = 0
        self._pending: dict[int | str, tuple[Pending, asyncio.Future[Any]]] = {}
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def connect(self, connection: Connection) -> None:
        """Reach the server."""
        self._connection = connection
        connection.on_message = self._receive
        connection.on_end = self._gone
        await connection.start()

    def _disconnected(self, watch: Watch) -> None:
        """Forget what belonged to a connection that is gone; the records stay. `watch` looks at the next one."""
        watch.violations = self.watch.violations
        self.watch = watch
        self.ended = None
        self._is_ready = False
        self._connection = None
        self._pending.clear()

    @property
    def connection(self) -> Connection:
        """The connection. Raises RuntimeError before `start`."""
        if self._connection is None:
            raise RuntimeError("the editor has not been started")
        return self._connection

    def read_on(self) -> None:
        """Read again, after the profile or a test stopped it."""
        self.connection.resume_reading()

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification."""
        self._send({"method": method} if params is None else {"method": method, "params": params})

    def request_nowait(self, method: str, params: Any = None) -> Pending:
        """Send a request without waiting for its result."""
        self._before_request()
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

    async def request(self, method: str, params: Any = None, *, seconds: float | None = None) -> Any:
        """Send a request and give its result.

        Raises:
            RpcError: The server answered with an error.
            AssertionError: There was no answer within `seconds` of real time; None: as long as anything may take.
            ConnectionError: The server is gone.
        """
        __tracebackhide__ = True
        pending = self.request_nowait(method, params)
        await self.wait_for(lambda: pending.done, f"answer to {method}", seconds=seconds)
        self._is_ready = self._is_ready or method == "workspace/executeCommand"
        return await pending

    def cancel_request(self, pending: Pending) -> None:
        """Cancel a request (`$/cancelRequest`)."""
        self.notify("$/cancelRequest", {"id": pending.id})

    async def wait_for(
        self, predicate: Callable[[], T | None], what: str, *, seconds: float | None = None
    ) -> T:
        """Wait until `predicate` gives something that is true; it is asked again after each message.

        Args:
            predicate: Looks at the records of this editor.
            what: Names what is waited for, for the failure.
            seconds: Real seconds it may take; None: as long as anything may.

        Raises:
            TookTooLongError: It took too long; the last messages are printed.
            ConnectionError: The server is gone.
        """
        __tracebackhide__ = True
        if seconds is None:
            seconds = self.seconds if self._is_ready else max(self.seconds, START_SECONDS)
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
            raise TookTooLongError(f"no {what} within {seconds:g} s{self.last_messages()}") from None
        return value

    def last_messages(self, count: int = SHOWN_MESSAGES) -> str:
        """The last messages of the wire, for a failure."""
        telling = [traffic for traffic in self.messages if not _is_a_phase(traffic.message)]
        shown = "\n  ".join(str(traffic) for traffic in telling[-count:])
        return f"; the last messages ({self._name}):\n  {shown}"

    # --- for the class that derives from it ---

    def _before_request(self) -> None:
        """Called before a request goes out."""

    def _handle_request(self, number: int | str, method: str, params: Object) -> None:
        """Answer a request of the server, with `_respond` or `_respond_error`."""
        raise NotImplementedError

    def _handle_notification(self, method: str, params: Object) -> None:
        """Take a notification of the server."""
        raise NotImplementedError

    def _respond(self, number: int | str, result: Any) -> None:
        self._send({"id": number, "result": result})

    def _respond_error(self, number: int | str, code: int, message: str) -> None:
        self._send({"id": number, "error": {"code": code, "message": message}})

    def _send(self, message: Object) -> None:
        message = {"jsonrpc": "2.0", **message}
        self.messages.append(Traffic("to server", message))
        self.watch.sent(message)
        self.connection.send(message)

    def _violation(self, text: str) -> None:
        self.watch.violations.append(text)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

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
            self._violation(f"the {self._name} could not handle {message}: {problem!r}")
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

    def _gone(self, reason: str) -> None:
        if self.ended is None:
            self.ended = reason
        for _, future in self._pending.values():
            if not future.done():
                future.set_exception(ConnectionError(f"the server is gone: {reason}"))
        self._changed.set()


def _is_a_phase(message: Object) -> bool:
    params: Any = message.get("params")
    return isinstance(params, dict) and cast("Object", params).get("type") == "turn.phase"
