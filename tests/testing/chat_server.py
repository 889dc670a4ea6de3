"""A loopback server of chat completions that keeps the body of every request."""

import asyncio
import json
from typing import Any, Self

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


class ChatServer:
    """Answers requests in order: each answer is a text, or a list of calls as (id, name, arguments)."""

    def __init__(self, *answers: str | list[tuple[str, str, dict[str, Any]]]) -> None:
        self.bodies: list[dict[str, Any]] = []
        self._answers = list(answers)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=2**26)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
        self.bodies.append(json.loads(await reader.readexactly(length)))
        answer = self._answers.pop(0)
        if isinstance(answer, str):
            delta, finish = {"content": answer}, "stop"
        else:
            functions = [
                (given, {"name": name, "arguments": json.dumps(held)}) for given, name, held in answer
            ]
            calls = [
                {"index": number, "id": given, "type": "function", "function": function}
                for number, (given, function) in enumerate(functions)
            ]
            delta, finish = {"tool_calls": calls}, "tool_calls"
        for part in (delta, {}):
            choice = {"index": 0, "delta": part, "finish_reason": None if part else finish}
            writer.write(HEAD * bool(part) + b"data: %s\n\n" % json.dumps({"choices": [choice]}).encode())
        writer.write(b"data: [DONE]\n\n")
        await writer.drain()
        writer.close()
        await writer.wait_closed()
