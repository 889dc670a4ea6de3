"""A loopback server that acts like each provider: what it answers is said here, and written in the dialect asked for.

It says what the real ones say, down to the peculiar order of their events; whatever a test wants to be wrong goes
over the wire byte by byte.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Self

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\ntransfer-encoding: chunked\r\n\r\n"
SSE, NDJSON = b"text/event-stream", b"application/x-ndjson"
USAGE = (11, 7)
"""Tokens of a request and of its answer."""


@dataclass(frozen=True)
class Received:
    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def path(self) -> str:
        return self.line.split()[1]


Answer = Callable[["Connection"], Awaitable[None]]


class Connection:
    """One connection of a client, as an answer sees it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, data: bytes, size: int | None = None) -> None:
        for start in range(0, len(data), size or max(len(data), 1)):
            self._writer.write(data[start : start + (size or len(data))])
            await self._writer.drain()
            await asyncio.sleep(0)

    async def client_leaves(self) -> None:
        """Wait until the client closes the connection."""
        try:
            while await self._reader.read(1024):
                pass
        except ConnectionError:
            pass

    def abort(self) -> None:
        self._writer.transport.abort()

    async def receive(self) -> Received | None:
        try:
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            line, *lines = head.strip().split("\r\n")
            headers = {
                name.lower(): value.strip() for name, _, value in (each.partition(":") for each in lines)
            }
            return Received(
                line, headers, await self._reader.readexactly(int(headers.get("content-length", "0")))
            )
        except (asyncio.IncompleteReadError, ConnectionError):
            return None


class ProviderServer:
    """Plays its answers one request after the other; each says what goes over the wire, byte by byte."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.known: dict[str, Answer] = {"/models": fails(404)}
        """Answers to requests whose path ends so, however often they come; its models are asked for in between."""
        self.received: list[Received] = []
        self.asked = asyncio.Event()
        self.met = asyncio.Event()
        self.left = asyncio.Event()
        self.connections = 0
        self.port = 0
        self._listening: asyncio.Server
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def bodies(self) -> list[Any]:
        return [received.json for received in self.received]

    def plays(self, kind: str, *answers: "Said | Answer") -> None:
        """Answer the next requests in the dialect `kind`."""
        self.answers += [streams(kind, said) if isinstance(said, Said) else said for said in answers]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        self.met.set()
        connection = Connection(reader, writer)
        try:
            while (received := await connection.receive()) is not None:
                path = received.path.partition("?")[0]
                known = next((a for end, a in self.known.items() if path.endswith(end)), None)
                if known is None:
                    self.received.append(received)
                    self.asked.set()
                await (known or self.answers.pop(0))(connection)
                if writer.is_closing():
                    break
        except (ConnectionError, IndexError, asyncio.CancelledError):
            pass
        finally:
            self.left.set()
            writer.close()
            self._tasks.discard(task)

    async def __aenter__(self) -> Self:
        self._listening = await asyncio.start_server(self.serve, "127.0.0.1", 0, limit=2**26)
        self.port = self._listening.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end()
        self._listening.close()
        await self._listening.wait_closed()

    async def end(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@dataclass(frozen=True)
class Said:
    """What a model says: calls are (id, name, arguments); `signed` is what has to come back word for word."""

    text: str = ""
    calls: list[tuple[str, str, Any]] = field(default_factory=list)
    reasoning: str = ""
    signed: str = ""
    finish: str | None = None
    """The provider's own word, where it is not the usual one."""
    searched: str = ""
    """What the provider searched the web for, in the dialects that can."""


PAGE = {"url": "https://found.example/page", "title": "Found"}
"""What a search finds."""


def streams(kind: str, said: Said, size: int | None = None) -> Answer:
    """An answer in a dialect, in chunks of `size` bytes."""
    body = IN_DIALECT[kind](said)

    async def answer(connection: Connection) -> None:
        await connection.send(HEAD % (NDJSON if kind == "ollama" else SSE))
        for start in range(0, len(body), size or len(body)):
            chunk = body[start : start + (size or len(body))]
            await connection.send(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        await connection.send(b"0\r\n\r\n")

    return answer


def fails(status: int, body: Any = b"", headers: str = "") -> Answer:
    """An HTTP error."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"HTTP/1.1 {status} No\r\ncontent-type: application/json\r\ncontent-length: {len(content)}\r\n{headers}\r\n"

    async def answer(connection: Connection) -> None:
        await connection.send(head.encode() + content)

    return answer


def tells(document: Any) -> Answer:
    """A document, which is no stream."""
    content = json.dumps(document).encode()
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(content)

    async def answer(connection: Connection) -> None:
        await connection.send(head + content)

    return answer


def breaks(kind: str, said: Said, keep: int) -> Answer:
    """A stream that ends after `keep` bytes, without a word."""
    body = IN_DIALECT[kind](said)[:keep]

    async def answer(connection: Connection) -> None:
        await connection.send(HEAD % (NDJSON if kind == "ollama" else SSE))
        await connection.send(b"%x\r\n%s\r\n" % (len(body), body))
        connection.abort()

    return answer


def pauses(kind: str, said: Said, events: int, until: Callable[[], Awaitable[object]]) -> Answer:
    """A stream that stops after so many events, and goes on once `until` is over."""
    end = b"\n" if kind == "ollama" else b"\n\n"
    parts = IN_DIALECT[kind](said).split(end)
    begun, rest = end.join(parts[:events]) + end, end.join(parts[events:])

    async def answer(connection: Connection) -> None:
        await connection.send(HEAD % (NDJSON if kind == "ollama" else SSE))
        await connection.send(b"%x\r\n%s\r\n" % (len(begun), begun))
        await until()
        await connection.send(b"%x\r\n%s\r\n0\r\n\r\n" % (len(rest), rest))

    return answer


def errs(kind: str, said: Said) -> Answer:
    """A stream that begins well and goes on with an error, as the dialect has them."""
    body = IN_DIALECT[kind](said)
    end = b"\n" if kind == "ollama" else b"\n\n"
    begun = end.join(body.split(end)[:4]) + end + IN_STREAM_ERROR[kind]

    async def answer(connection: Connection) -> None:
        await connection.send(HEAD % (NDJSON if kind == "ollama" else SSE))
        await connection.send(b"%x\r\n%s\r\n0\r\n\r\n" % (len(begun), begun))

    return answer


def data(*payloads: Any, named: bool = False) -> bytes:
    """Payloads as server-sent events, with their names if the dialect has some."""
    return b"".join(
        (b"event: %s\n" % payload["type"].encode() if named else b"")
        + b"data: %s\n\n" % json.dumps(payload).encode()
        for payload in payloads
    )


def pieces(text: str) -> list[str]:
    return [text[start : start + 3] for start in range(0, len(text), 3)]


def chat(said: Said) -> bytes:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice], "usage": None}

    chunks = [chunk({"role": "assistant", "content": ""})]
    chunks += [chunk({"reasoning_content": piece}) for piece in pieces(said.reasoning)]
    if said.signed:
        detail = {"type": "reasoning.encrypted", "data": said.signed, "index": 0}
        chunks.append(chunk({"reasoning_details": [detail]}))
    chunks += [chunk({"content": piece}) for piece in pieces(said.text)]
    for number, (call_id, name, arguments) in enumerate(said.calls):
        began = {
            "index": number,
            "id": call_id,
            "type": "function",
            "function": {"name": name, "arguments": ""},
        }
        chunks.append(chunk({"tool_calls": [began]}))
        for piece in pieces(written(arguments)):
            chunks.append(chunk({"tool_calls": [{"index": number, "function": {"arguments": piece}}]}))
    chunks.append(chunk({}, said.finish or ("tool_calls" if said.calls else "stop")))
    given, made = USAGE
    usage = {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}
    return data(*chunks, {"choices": [], "usage": usage}) + b"data: [DONE]\n\n"


def anthropic(said: Said) -> bytes:
    given, made = USAGE
    start = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "stop_reason": None}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**start, "usage": {"input_tokens": given, "output_tokens": 1}}},
        {"type": "ping"},
    ]

    def block(content: dict[str, Any], *deltas: dict[str, Any]) -> None:
        number = sum(event["type"] == "content_block_start" for event in events)
        events.append({"type": "content_block_start", "index": number, "content_block": content})
        events.extend({"type": "content_block_delta", "index": number, "delta": delta} for delta in deltas)
        events.append({"type": "content_block_stop", "index": number})

    if said.reasoning:
        thoughts = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(said.reasoning)]
        signature = {"type": "signature_delta", "signature": said.signed}
        block({"type": "thinking", "thinking": "", "signature": ""}, *thoughts, signature)
        block({"type": "redacted_thinking", "data": f"redacted {said.signed}"})
    if said.searched:
        query = json.dumps({"query": said.searched})
        use = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
        block(use, *({"type": "input_json_delta", "partial_json": p} for p in ["", *pieces(query)]))
        found = {"type": "web_search_result", **PAGE, "encrypted_content": "ZW5j", "page_age": None}
        block({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [found]})
    if said.text:
        block({"type": "text", "text": ""}, *({"type": "text_delta", "text": p} for p in pieces(said.text)))
    for call_id, name, arguments in said.calls:
        use = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
        block(
            use, *({"type": "input_json_delta", "partial_json": p} for p in ["", *pieces(written(arguments))])
        )
    stop = said.finish or ("tool_use" if said.calls else "end_turn")
    delta = {"stop_reason": stop, "stop_sequence": None}
    events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": made}})
    return data(*events, {"type": "message_stop"}, named=True)


def responses(said: Said) -> bytes:
    events: list[dict[str, Any]] = [{"type": "response.created", "response": {"status": "in_progress"}}]
    output: list[dict[str, Any]] = []

    def item(begun: dict[str, Any], whole: dict[str, Any], *between: dict[str, Any]) -> None:
        place = {"output_index": len(output)}
        events.append({"type": "response.output_item.added", **place, "item": begun})
        events.extend({**place, **event} for event in between)
        events.append({"type": "response.output_item.done", **place, "item": {**begun, **whole}})
        output.append({**begun, **whole})

    if said.reasoning:
        begun = {"id": "rs_1", "type": "reasoning", "encrypted_content": "", "summary": []}
        deltas = [
            {"type": "response.reasoning_summary_text.delta", "delta": p} for p in pieces(said.reasoning)
        ]
        summary = [{"type": "summary_text", "text": said.reasoning}]
        item(begun, {"encrypted_content": said.signed, "summary": summary}, *deltas)
    if said.searched:
        action = {"type": "search", "query": said.searched, "queries": [said.searched]}
        item(
            {"id": "ws_1", "type": "web_search_call", "status": "in_progress"},
            {"status": "completed", "action": {**action, "sources": [{"type": "url", "url": PAGE["url"]}]}},
            *(
                {"type": f"response.web_search_call.{state}", "item_id": "ws_1"}
                for state in ("in_progress", "searching", "completed")
            ),
        )
    if said.text:
        begun = {"id": "msg_1", "type": "message", "role": "assistant", "phase": "commentary", "content": []}
        deltas = [{"type": "response.output_text.delta", "delta": piece} for piece in pieces(said.text)]
        content = [{"type": "output_text", "text": said.text, "annotations": []}]
        part = {"item_id": "msg_1", "content_index": 0}
        item(
            begun,
            {"content": content},
            {"type": "response.content_part.added", **part, "part": {**content[0], "text": ""}},
            *({**part, **delta} for delta in deltas),
            {"type": "response.output_text.done", **part, "text": said.text},
            {"type": "response.content_part.done", **part, "part": content[0]},
        )
    for call_id, name, arguments in said.calls:
        begun = {
            "id": f"fc_{call_id}",
            "type": "function_call",
            "call_id": call_id,
            "name": name,
            "arguments": "",
        }
        deltas = [
            {"type": "response.function_call_arguments.delta", "delta": p} for p in pieces(written(arguments))
        ]
        done = {"type": "response.function_call_arguments.done", "arguments": written(arguments)}
        item(begun, {"arguments": written(arguments)}, *deltas, done)
    given, made = USAGE
    usage = {"input_tokens": given, "output_tokens": made}
    last: dict[str, Any] = {"status": said.finish or "completed", "output": output, "usage": usage}
    if said.finish == "incomplete":
        last["incomplete_details"] = {"reason": "max_output_tokens"}
    events.append({"type": f"response.{last['status']}", "response": last})
    return data(*({**event, "sequence_number": n} for n, event in enumerate(events)), named=True)


def ollama(said: Said) -> bytes:
    def line(message: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {
            "model": "m",
            "message": {"role": "assistant", "content": "", **message},
            "done": False,
            **more,
        }

    lines = [line({"thinking": piece}) for piece in pieces(said.reasoning)]
    lines += [line({"content": piece}) for piece in pieces(said.text)]
    for call_id, name, arguments in said.calls:
        lines.append(
            line({"tool_calls": [{"id": call_id, "function": {"name": name, "arguments": arguments}}]})
        )
    given, made = USAGE
    counts = {"prompt_eval_count": given, "eval_count": made}
    lines.append(line({}, done=True, done_reason=said.finish or "stop", **counts))
    return b"".join(json.dumps(one).encode() + b"\n" for one in lines)


def gemini(said: Said) -> bytes:
    chunks: list[dict[str, Any]] = []

    def part(content: dict[str, Any]) -> None:
        candidate = {"content": {"parts": [content], "role": "model"}, "index": 0}
        chunks.append({"candidates": [candidate], "usageMetadata": {"promptTokenCount": USAGE[0]}})

    for piece in pieces(said.reasoning):
        part({"text": piece, "thought": True})
    if said.searched:
        searched = {"toolType": "GOOGLE_SEARCH_WEB", "id": "gs_1"}
        part({"toolCall": {**searched, "args": {"queries": [said.searched]}}, "thoughtSignature": "c2VhcmNo"})
        part({"toolResponse": {**searched, "response": {"search_suggestions": "<div>"}}})
    for piece in pieces(said.text):
        part({"text": piece})
    signature = {"thoughtSignature": said.signed} if said.signed else {}
    for _, name, arguments in said.calls:
        part({"functionCall": {"name": name, "args": arguments}, **signature})
        signature = {}
    if signature:
        part({"text": "", **signature})
    given, made = USAGE
    usage = {"promptTokenCount": given, "candidatesTokenCount": made}
    ended = {"content": {"parts": [], "role": "model"}, "finishReason": said.finish or "STOP", "index": 0}
    if said.searched:
        found = {"web": {"uri": PAGE["url"], "title": PAGE["title"]}}
        ended["groundingMetadata"] = {"webSearchQueries": [said.searched], "groundingChunks": [found]}
    return data(*chunks, {"candidates": [ended], "usageMetadata": usage})


def written(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


IN_DIALECT: dict[str, Callable[[Said], bytes]] = {
    "openai-chat": chat,
    "openai-responses": responses,
    "anthropic": anthropic,
    "ollama": ollama,
    "gemini": gemini,
}

_ODD = {"type": "server_error", "code": "server_error", "message": "odd"}
IN_STREAM_ERROR: dict[str, bytes] = {
    "openai-chat": data({"error": _ODD}),
    "openai-responses": data({**_ODD, "type": "error", "param": None, "sequence_number": 9}, named=True),
    "anthropic": data({"type": "error", "error": {"type": "overloaded_error", "message": "odd"}}, named=True),
    "ollama": b'{"error": "odd"}\n',
    "gemini": data({"error": {"code": 503, "status": "UNAVAILABLE", "message": "odd"}}),
}
