"""A provider on this machine that gives the answers of a script as streamed chat completions."""

import asyncio
import json


def _sent(payload):
    return b"data: %s\n\n" % json.dumps(payload).encode()


def _chunk(delta, finish=None):
    return _sent({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def streamed(turn):
    """One answer of a script, as it goes over the wire: the text in pieces, the arguments of each call in two."""
    data = _chunk({"role": "assistant"})
    size = turn.chunk or max(len(turn.text), 1)
    for start in range(0, len(turn.text), size):
        data += _chunk({"content": turn.text[start : start + size]})
    for index, call in enumerate(turn.tool_calls):
        arguments = call.arguments if call.arguments is not None else json.dumps(call.input or {})
        begun = {"name": call.name, "arguments": arguments[:5]}
        data += _chunk(
            {"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": begun}]}
        )
        data += _chunk({"tool_calls": [{"index": index, "function": {"arguments": arguments[5:]}}]})
    return data + _chunk({}, "tool_calls" if turn.tool_calls else "stop") + b"data: [DONE]\n\n"


class ChatServer:
    """Answers each request with the next turn."""

    def __init__(self, turns):
        self._turns = list(turns)
        self.requests = []
        """The bodies of the requests."""

    @property
    def settings(self):
        """Settings that make it the model; ids and clock are real, as with any provider."""
        provider = {"kind": "openai-chat", "baseUrl": f"http://127.0.0.1:{self._port}/v1"}
        return {"model": "near/model", "providers": {"near": provider}, "testing": None}

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=2**24)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
        self.requests.append(json.loads(await reader.readexactly(length)))
        status, body = b"500 Nothing left", b""
        if self._turns:
            status, body = b"200 OK", streamed(self._turns.pop(0))
        writer.write(
            b"HTTP/1.1 %s\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n%s" % (status, body)
        )
        await writer.drain()
        writer.close()
