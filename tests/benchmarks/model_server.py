"""A loopback server of chat completions with no latency of its own, which notes when what was sent and received."""

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self


def sse(*payloads: object) -> bytes:
    """Payloads as server-sent events, the end mark included."""
    return (
        b"".join(b"data: %s\n\n" % json.dumps(payload).encode() for payload in payloads) + b"data: [DONE]\n\n"
    )


def delta(content: dict[str, object], finish: str | None = None) -> dict[str, object]:
    """One chunk of a chat completion."""
    return {
        "id": "c",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": content, "finish_reason": finish}],
    }


def reading_step(number: int) -> bytes:
    """A response that asks for one small file."""
    return calling_step(number, [("read_file", {"path": f"src/file_{number}.py"})])


def calling_step(number: int, wanted: Sequence[tuple[str, dict[str, Any]]]) -> bytes:
    """A response that asks for calls of tools, each a name and arguments."""
    calls = [
        {
            "index": index,
            "id": f"call_{number}_{index}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for index, (name, arguments) in enumerate(wanted)
    ]
    usage = {"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}
    return sse(delta({"role": "assistant", "tool_calls": calls}), delta({}, "tool_calls"), usage)


def answer(text: str) -> bytes:
    """A response that ends the turn."""
    return sse(delta({"role": "assistant", "content": text}), delta({}, "stop"))


@dataclass
class ModelServer:
    """Answers requests one after the other: with `steps` reading steps, with `calls`, or with `tokens`."""

    steps: int = 0
    calls: Sequence[Sequence[tuple[str, dict[str, Any]]]] = ()
    """The calls of each step, in place of `steps`."""
    tokens: int = 0
    interval: float = 0.0
    """Seconds between tokens."""
    thinks: float = 0.0
    """Seconds from a request to its answer."""
    sessions: bool = False
    """Whether several sessions ask at once: a step is then counted by the results that its request has."""
    answered_at: list[float] = field(default_factory=list)
    received_at: list[float] = field(default_factory=list)
    token_sent_at: list[float] = field(default_factory=list)
    port: int = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=2**26)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
                body = await reader.readexactly(length)
                self.received_at.append(time.perf_counter())
                number = body.count(b'"tool_call_id"') if self.sessions else len(self.received_at) - 1
                if self.thinks:
                    await asyncio.sleep(self.thinks)
                await self._answer(writer, number)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, writer: asyncio.StreamWriter, number: int) -> None:
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        if number < self.steps:
            _chunk(writer, reading_step(number))
        elif number < len(self.calls):
            _chunk(writer, calling_step(number, self.calls[number]))
        elif self.tokens:
            await self._stream(writer)
        else:
            _chunk(writer, answer("done"))
        writer.write(b"0\r\n\r\n")
        self.answered_at.append(time.perf_counter())
        await writer.drain()

    async def _stream(self, writer: asyncio.StreamWriter) -> None:
        for number in range(self.tokens):
            self.token_sent_at.append(time.perf_counter())
            _chunk(writer, b"data: %s\n\n" % json.dumps(delta({"content": f"{number} "})).encode())
            await writer.drain()
            if self.interval:
                await asyncio.sleep(self.interval)
        _chunk(writer, sse(delta({}, "stop")))


def _chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(b"%x\r\n%s\r\n" % (len(data), data))
