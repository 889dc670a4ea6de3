"""A connection to one language server: JSON-RPC over its standard streams.

Values, not exceptions: a request gives the result, or a `Failure`. Whoever stops waiting cancels the request. Messages are handled in the
order they come. A big one is read in a thread, piece by piece, so that a flood of diagnostics never holds the interpreter.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from json.decoder import JSONDecoder
from typing import Any, Final, cast

from outrider.ports.clock import Clock
from outrider.ports.editor import Encoding
from outrider.ports.framing import FrameReader, FramingProblem, framed
from outrider.processes import Process

METHOD_NOT_FOUND: Final = -32601
SERVER_CANCELLED: Final = -32802
CANCELLED: Final = -32800
CONTENT_MODIFIED: Final = -32801
CLOSED: Final = -32099
TIMED_OUT: Final = -32098
"""The last two are our own, for what no server answers any more."""
_BIG: Final = 256 * 1024
"""Bytes of a message from which on it is read in a thread."""
_DEPTH: Final = 3
"""Levels of a big message whose parts are read one by one: an item of a list in a result."""
_AT_ONCE: Final = 64 * 1024
"""Bytes of messages that are handled without a break."""
_COST: Final = 4 * 1024
"""Bytes that a message counts for besides its own."""
_MOST_WAITING: Final = 64 * 1024 * 1024
_LONGEST_ERROR: Final = 400
_KEPT_OF_STDERR: Final = 4096

_log = logging.getLogger(__name__)
_scan: Final = JSONDecoder().scan_once  # pyright: ignore[reportUnknownVariableType, reportAttributeAccessIssue, reportUnknownMemberType]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a request has no result."""

    code: int
    message: str


Fits = Callable[[Mapping[str, str | None]], Awaitable[bool]]
"""Tells whether texts of the workspace are the ones that an answer is about. None is a file without one."""


@dataclass(frozen=True, slots=True)
class Said:
    """An answer."""

    result: Any
    encoding: Encoding
    """How its places are counted."""
    fits: Fits


class Connection:
    """One connection. `run` reads until the server is gone."""

    def __init__(
        self,
        process: Process,
        writer: asyncio.StreamWriter,
        clock: Clock,
        *,
        answer: Callable[[str, Any], Any],
        notified: Callable[[str, Any], None],
    ) -> None:
        """Take over the streams of a server.

        Args:
            process: The server.
            writer: Its standard input.
            clock: Times what waits for it.
            answer: Gives the result of a request of the server, or a `Failure`. Called in order; must not wait.
            notified: Told of its notifications.
        """
        self._process, self._writer, self._clock = process, writer, clock
        self._answer, self._notified = answer, notified
        self._ids = count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self.is_closed = False
        self.said = b""
        """The end of what it wrote to standard error."""

    def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    async def request(self, method: str, params: Any, seconds: float) -> Any:
        """Send a request and wait for its result; a `Failure` where there is none.

        Args:
            method: The method.
            params: Its params.
            seconds: How long it may take; then it is cancelled.
        """
        return await self.send(method, params)(seconds)

    def send(self, method: str, params: Any) -> Callable[[float], Awaitable[Any]]:
        """Send a request now; what it gives waits so many seconds for the result."""
        number, answer = next(self._ids), asyncio.get_running_loop().create_future()
        if self.is_closed:
            answer.set_result(Failure(CLOSED, "the server has ended"))
        else:
            self._waiting[number] = answer
            self._send({"id": number, "method": method, "params": params})

        async def waited(seconds: float) -> Any:
            try:
                async with self._clock.timeout(seconds):
                    return await answer
            except TimeoutError:
                self.notify("$/cancelRequest", {"id": number})
                return Failure(TIMED_OUT, f"no answer to {method} in {seconds:g} s")
            except asyncio.CancelledError:
                self.notify("$/cancelRequest", {"id": number})
                raise
            finally:
                self._waiting.pop(number, None)

        return waited

    async def run(self) -> str:
        """Read until the server is gone; gives why it is."""
        frames, problem, taken = FrameReader(), "", 0
        errors = asyncio.create_task(self._read_errors())
        try:
            while chunk := await self._process.read(1 << 20):
                for body in frames.feed(chunk):
                    if isinstance(body, FramingProblem):
                        problem = body.text
                        _log.info("a language server: %s", body.text)
                        continue
                    self._take(await _decoded(body))
                    taken += _COST + len(body)
                    if taken >= _AT_ONCE:
                        # A chunk may hold thousands of messages; others have their turn between them.
                        taken = 0
                        await asyncio.sleep(0)
        finally:
            self.close()
            errors.cancel()
            await asyncio.wait({errors})
            with suppress(OSError):
                await self._writer.wait_closed()
        said = b" ".join(self.said.split())[-_LONGEST_ERROR:].decode("utf-8", "replace")
        return said or problem

    def close(self) -> None:
        """Send nothing any more; whoever waits gets a `Failure`."""
        self.is_closed = True
        self._writer.close()
        waiting, self._waiting = self._waiting, {}
        for answer in waiting.values():
            if not answer.done():
                answer.set_result(Failure(CLOSED, "the server ended before it answered"))

    async def _read_errors(self) -> None:
        while chunk := await self._process.read_error():
            self.said = (self.said + chunk)[-_KEPT_OF_STDERR:]

    def _send(self, message: Mapping[str, Any]) -> None:
        if self.is_closed:
            return
        transport = self._writer.transport
        if transport.get_write_buffer_size() > _MOST_WAITING:
            _log.warning("a language server reads nothing any more")
            self.close()
            return
        self._writer.write(
            framed(json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode("utf-8", "replace"))
        )

    def _take(self, message: Any) -> None:
        if not isinstance(message, dict):
            return
        fields = cast("dict[str, Any]", message)
        method, number = fields.get("method"), fields.get("id")
        if isinstance(method, str) and number is not None:
            self._respond(number, self._answer(method, fields.get("params")))
        elif isinstance(method, str):
            self._notified(method, fields.get("params"))
        elif isinstance(number, int) and (answer := self._waiting.get(number)) and not answer.done():
            answer.set_result(_result(fields))

    def _respond(self, number: Any, result: Any) -> None:
        if isinstance(result, Failure):
            self._send({"id": number, "error": {"code": result.code, "message": result.message}})
        else:
            self._send({"id": number, "result": result})


def _result(fields: Mapping[str, Any]) -> Any:
    error = fields.get("error")
    if not isinstance(error, dict):
        return fields.get("result")
    given = cast("dict[str, Any]", error)
    code, message = given.get("code"), given.get("message")
    return Failure(code if isinstance(code, int) else 0, str(message)[:_LONGEST_ERROR])


async def _decoded(body: bytes) -> Any:
    """What a message says; None where it is no JSON."""
    try:
        if len(body) < _BIG:
            return json.loads(body)
        return await asyncio.to_thread(_in_pieces, body)
    except (ValueError, RecursionError, StopIteration, IndexError):
        _log.info("a language server sent a message that is not JSON")
        return None


def _in_pieces(body: bytes) -> Any:
    """Read JSON whose outer levels are taken apart in Python: between two pieces others may have the interpreter."""
    return _value(body.decode("utf-8", "replace"), 0, _DEPTH)[0]


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    at = _past_space(text, at)
    if not depth or text[at] not in "{[":
        return cast("tuple[Any, int]", _scan(text, at))
    is_object, end = text[at] == "{", "}" if text[at] == "{" else "]"
    found: dict[str, Any] = {}
    items: list[Any] = []
    at = _past_space(text, at + 1)
    while text[at] != end:
        if text[at] == ",":
            at = _past_space(text, at + 1)
        if is_object:
            key, at = cast("tuple[str, int]", _scan(text, at))
            at = _past_space(text, at)
            if text[at] != ":":
                raise ValueError("a colon is missing")
            found[key], at = _value(text, at + 1, depth - 1)
        else:
            item, at = _value(text, at, depth - 1)
            items.append(item)
        at = _past_space(text, at)
        if text[at] not in (",", end):
            raise ValueError("a comma is missing")
    return found if is_object else items, at + 1


def _past_space(text: str, at: int) -> int:
    while text[at] in " \t\r\n":
        at += 1
    return at
