"""The way of messages: one JSON object a line (ACP, "Transports"), as the SDK's `Connection` takes and gives them.

The SDK ends the agent on a line that is no object, and on an error that is none. So what comes is looked at here first:
what is no message of JSON-RPC is answered, and never gets there.
"""

import asyncio
import json
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final, cast

from pydantic_core import from_json

from outrider.ports.framing import FramingProblem
from outrider.transport.connection import Outgoing

MOST_LINE: Final = 64 * 1024 * 1024
"""Bytes of the longest line that is taken."""

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
METHOD_NOT_FOUND: Final = -32601
AUTH_REQUIRED: Final = -32000
NOT_FOUND: Final = -32002
"""ACP, "ErrorCode": a session or a resource that is not there."""
CANCELLED: Final = -32800


def line(body: bytes) -> bytes:
    """A message as it goes over the wire. JSON has no line ends outside of its white space, and ours has none there."""
    return body + b"\n"


class LineFraming:
    """Cuts a stream of bytes into lines. Blank ones are passed over."""

    def __init__(self) -> None:
        """Begin at the start of a stream."""
        self._pieces: list[bytes] = []
        self._size = 0
        self._skips = False
        """Whether the line that comes in is too long, so that its rest is passed over."""

    def feed(self, data: bytes) -> list[bytes | FramingProblem]:
        """Take the next bytes; give what is complete now."""
        found: list[bytes | FramingProblem] = []
        *ended, rest = data.split(b"\n")
        for part in ended:
            self._put(part, found)
            whole, skips = b"".join(self._pieces).strip(), self._skips
            self._pieces, self._size, self._skips = [], 0, False
            if whole and not skips:
                found.append(whole)
        self._put(rest, found)
        return found

    def at_end(self) -> FramingProblem | None:
        """What is wrong with how the stream ended: a line that was cut off."""
        return (
            FramingProblem(f"the stream ended inside a line, {self._size} bytes into it")
            if self._size
            else None
        )

    def _put(self, part: bytes, found: list[bytes | FramingProblem]) -> None:
        self._size += len(part)
        if self._size <= MOST_LINE:
            if part:
                self._pieces.append(part)
        elif not self._skips:
            self._pieces, self._skips = [], True
            found.append(FramingProblem(f"a line was ignored: it is longer than {MOST_LINE} bytes"))


REQUEST_ID: Final[ContextVar[Any]] = ContextVar("REQUEST_ID", default=None)
"""The id of the request that is handled. The SDK gives it to no handler, and handles each message in a task of its own."""
SENT: Final[ContextVar[list[int] | None]] = ContextVar("SENT", default=None)
"""Where the id of the next request to the client is noted: the SDK does not tell it, and withdrawing a request needs it."""


class LineTransport:
    """What the SDK's `Connection` reads from and writes to. Nothing in it waits: messages go out in the order of `post`."""

    def __init__(self, outgoing: Outgoing) -> None:
        """Write to `outgoing`."""
        self.outgoing = outgoing
        self._incoming: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._after: dict[Any, Callable[[], None]] = {}

    # --- from the client ----------------------------------------------------------------------------------------

    def take(self, body: bytes) -> None:
        """Take in a line."""
        try:
            message: Any = from_json(body, allow_inf_nan=False)
        except ValueError as problem:
            self._refuse(PARSE_ERROR, f"a line is not JSON: {problem}")
            return
        flaw = _flaw(message)
        if flaw is None:
            self._incoming.put_nowait(message)
        else:
            self._refuse(INVALID_REQUEST, flaw, message)

    def refuse(self, problem: str) -> None:
        """Say what was no line."""
        self._refuse(PARSE_ERROR, problem)

    def end(self) -> None:
        """Nothing more will come."""
        self._incoming.put_nowait(None)

    def _refuse(self, code: int, message: str, of: Any = None) -> None:
        given: Any = cast("dict[str, Any]", of).get("id") if isinstance(of, dict) else None
        number = given if isinstance(given, str | int) and not isinstance(given, bool) else None
        if isinstance(of, dict) and "method" not in of:
            return  # an answer that is none gets no answer
        self.post({"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}})

    # --- what the SDK calls -------------------------------------------------------------------------------------

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None at the end."""
        message = await self._incoming.get()
        REQUEST_ID.set(None if message is None else message.get("id"))
        return message

    async def send(self, message: dict[str, Any]) -> None:
        """Send a message."""
        if (noted := SENT.get()) is not None and "method" in message and "id" in message:
            noted.append(message["id"])
        self.post(message)
        if "method" not in message and (after := self._after.pop(message.get("id"), None)) is not None:
            after()

    async def close(self) -> None:
        """Nothing: the descriptors belong to the process."""

    # --- to the client ------------------------------------------------------------------------------------------

    def after_response(self, number: Any, call: Callable[[], None]) -> None:
        """Have something called right behind the response to a request: some clients drop what they get of a session before it."""
        self._after[number] = call

    def post(self, message: dict[str, Any]) -> None:
        """Send a message at once, behind those that were sent before."""
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        self.outgoing.send(
            text.encode("utf-8", "replace")
        )  # half a surrogate pair is no JSON to most clients


def _flaw(message: Any) -> str | None:
    """Why something is no message of JSON-RPC 2.0 that the SDK could take; None where it is one."""
    if not isinstance(message, dict):
        return "a message must be an object"
    fields = cast("dict[str, Any]", message)
    number = fields.get("id")
    if "method" in fields:
        if not isinstance(fields["method"], str):
            return "method must be a string"
        if (
            "id" in fields
            and number is not None
            and (isinstance(number, bool) or not isinstance(number, str | int))
        ):
            return "id must be a string or a number"
        return None
    if isinstance(number, bool) or not isinstance(number, int):
        return "a message needs a method, or the id of a request"
    error = fields.get("error")
    if "result" not in fields and (not isinstance(error, dict) or not isinstance(_code(error), int)):
        # As an error it can be told to whoever waits for the answer.
        fields["error"] = {
            "code": INTERNAL_ERROR,
            "message": "the client's answer is neither a result nor an error",
        }
    return None


def _code(error: Any) -> Any:
    return cast("dict[str, Any]", error).get("code")
