"""Messages of an MCP server over pipes of our own: one JSON object a line, bounded in size and in number.

The SDK's own reader takes quadratic time for a long line, and starts processes that nobody watches.
"""

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, cast

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData
from mcp_types.jsonrpc import JSONRPCError, jsonrpc_message_adapter
from pydantic_core import from_json

from outrider.mcp.around import Around
from outrider.mcp.configuration import ServerConfig
from outrider.ports.patterns import linear
from outrider.processes import Process, SpawnProblem

MOST_BYTES: Final = 4 * 1024 * 1024
"""Of one message."""
MOST_LISTED: Final = 1_000
"""Tools, prompts and so on of one message that are looked at. It is more than is used, so that too many are noticed."""
MOST_MESSAGES: Final = 3_000
"""At once; a server that sends more is ended."""
MESSAGES_PER_SECOND: Final = 200
"""What it may send all the time."""
STDERR_BYTES: Final = 4_000
"""Of its last words."""
_KEPT: Final = 400
"""Bytes of either end of a message that is too long: its id is in one of them."""
_LISTS: Final = ("tools", "prompts", "resources", "resourceTemplates")
_ID: Final = linear("mcp.id", r'"id"\s*:\s*(?:(\d{1,18})|"([^"\\]{1,100})")')

Streams = tuple[Any, Any]


class FloodedError(Exception):
    """A server sends more than anybody can read."""


@asynccontextmanager
async def over_pipes(
    config: ServerConfig, around: Around, said: Callable[[str], None], ended: Callable[[str], None]
) -> AsyncGenerator[Streams]:
    """Start a server, and give the streams of its messages.

    Args:
        config: What is run.
        around: The house.
        said: Is told what it writes to standard error.
        ended: Is told why it is gone.

    Raises:
        OSError: It could not be started.
    """
    ours, theirs = socket.socketpair()
    try:
        process = await around.supervisor.spawn(
            config.argv,
            cwd=config.cwd or around.cwd,
            env=dict(around.environment(config.env)),
            stdin=theirs.fileno(),
            merge_stderr=False,
        )
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    if isinstance(process, SpawnProblem):
        ours.close()
        raise OSError(process.message)
    ours.setblocking(False)
    incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    tasks = [
        asyncio.create_task(_receive(process, incoming, ended), name=f"read the MCP server {config.name}"),
        asyncio.create_task(_send(ours, outgoing), name=f"write to the MCP server {config.name}"),
        asyncio.create_task(_listen(process, said), name=f"read the errors of the MCP server {config.name}"),
    ]
    try:
        yield read, write
    finally:
        # Its input ends first: that is how a server is asked to end.
        ours.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for stream in (incoming, read, write, outgoing):
            stream.close()
        await process.kill()
        process.discard()


async def _receive(process: Process, incoming: Any, ended: Callable[[str], None]) -> None:
    loop = asyncio.get_running_loop()
    lines, at, count = _Lines(), loop.time(), 0.0
    why = ""
    try:
        while chunk := await process.read():
            for line in lines.feed(chunk):
                count = max(0.0, count - (loop.time() - at) * MESSAGES_PER_SECOND) + 1
                at = loop.time()
                if count > MOST_MESSAGES:
                    raise FloodedError
                message = _message(line)
                if message is not None:
                    await incoming.send(message)
    except FloodedError:
        why = f"it sent more than {MOST_MESSAGES} messages at once, and was ended"
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        return
    finally:
        if not why:
            why = await _how_it_ended(process)
        ended(why)
        incoming.close()


async def _how_it_ended(process: Process) -> str:
    try:
        exit_ = await asyncio.wait_for(process.wait(), 1.0)
    except (TimeoutError, asyncio.CancelledError):
        return "it closed its output"
    return f"it ended by signal {exit_.signal}" if exit_.signal else f"it ended with exit code {exit_.code}"


class _Long:
    """A message that is too long, by its ends."""

    def __init__(self, head: bytes) -> None:
        self.head, self.tail = head, b""


class _Lines:
    """Cuts what comes into lines; of one that is too long both ends are kept."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._long: _Long | None = None

    def feed(self, chunk: bytes) -> "list[bytes | _Long]":
        found: list[bytes | _Long] = []
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            self._add(part)
            found.append(self._long if self._long is not None else b"".join(self._parts))
            self._parts, self._size, self._long = [], 0, None
        self._add(rest)
        return found

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        if self._long is not None:
            self._long.tail = (self._long.tail + part)[-_KEPT:]
        elif self._size > MOST_BYTES:
            self._long = _Long(b"".join(self._parts)[:_KEPT] or part[:_KEPT])
            self._long.tail = part[-_KEPT:]
            self._parts = []
        else:
            self._parts.append(part)


def _message(line: "bytes | _Long") -> SessionMessage | None:
    """A message; None for what is none, which servers print by mistake."""
    if isinstance(line, _Long):
        ends = (line.tail.decode("utf-8", "replace"), line.head.decode("utf-8", "replace"))
        found = next((match for end in ends if (match := _ID.search(end))), None)
        if found is None:
            return None
        too_long = ErrorData(code=-32000, message=f"the answer has more than {MOST_BYTES // 1024 // 1024} MB")
        named = int(found[1]) if found[1] else found[2] or ""
        return SessionMessage(JSONRPCError(jsonrpc="2.0", id=named, error=too_long))
    if not line.strip():
        return None
    try:
        # Parsed apart: the adapter would parse once for each kind of message.
        return bounded(SessionMessage(jsonrpc_message_adapter.validate_python(from_json(line))))
    except ValueError:
        return None


def bounded(message: SessionMessage) -> SessionMessage:
    """A message with lists that are not too long, and in which no tool has an `outputSchema`.

    The SDK looks at every entry of a list several times, and would match the patterns of the schemas with `re`, which one can
    hold up for ever.
    """
    given: Any = getattr(message.message, "result", None)
    result = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    for name in _LISTS:
        listed: Any = result.get(name)
        if isinstance(listed, list) and len(cast("list[Any]", listed)) > MOST_LISTED:
            result[name] = listed[:MOST_LISTED]
    tools: Any = result.get("tools")
    for tool in cast("list[Any]", tools) if isinstance(tools, list) else ():
        if isinstance(tool, dict):
            cast("dict[str, Any]", tool).pop("outputSchema", None)
    return message


async def _send(pipe: socket.socket, outgoing: Any) -> None:
    loop = asyncio.get_running_loop()
    async for message in outgoing:
        text = message.message.model_dump_json(by_alias=True, exclude_none=True)
        with suppress(OSError):  # the reader tells that it is gone
            await loop.sock_sendall(pipe, text.encode() + b"\n")


async def _listen(process: Process, said: Callable[[str], None]) -> None:
    last = b""
    while chunk := await process.read_error():
        last = (last + chunk)[-STDERR_BYTES:]
        said(last.decode("utf-8", "replace"))
