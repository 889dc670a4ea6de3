import asyncio
import gzip
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import httpx
import pytest

from outrider.models.dialects.openai_chat import OpenAiChatModel
from outrider.models.http.failures import bucket_of
from outrider.models.http.provider import HttpProvider
from outrider.ports.clock import SteppingClock
from outrider.ports.ids import SequentialIds
from outrider.ports.model import (
    Message,
    ModelFailure,
    ModelItem,
    ModelRequest,
    ModelResponse,
    TextDelta,
    ToolCall,
)

KEY = "sk-local-0123456789"
HELLO = ModelRequest("main", [Message("user", "hello")])
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"

Ask = Callable[..., Awaitable[list[ModelItem]]]


def event(delta: dict[str, Any], finish: str | None = None) -> bytes:
    body = {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return b"data: " + json.dumps(body).encode() + b"\n\n"


def framed(*parts: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)


def stream(*parts: bytes) -> bytes:
    return HEAD + framed(*parts) + END


WHOLE = stream(event({"content": "hel"}), event({"content": "lo"}), event({}, "stop"), b"data: [DONE]\n\n")


def plain(status: str, body: bytes, content_type: str = "application/json", more: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


def sends(data: bytes, size: int | None = None, then: str = "") -> Callable[[Any], Awaitable[None]]:
    async def answer(connection: Any) -> None:
        await connection.send(data, size)
        if then == "abort":
            connection.abort()
        elif then == "wait":
            await connection.client_leaves()

    return answer


def text_of(items: list[ModelItem]) -> str:
    return "".join(item.text for item in items if isinstance(item, TextDelta))


def failed(items: list[ModelItem]) -> ModelFailure:
    last = items[-1]
    assert isinstance(last, ModelFailure), last
    return last


async def passing(clock: SteppingClock, waiting: asyncio.Task[Any]) -> None:
    """Let time go by until `waiting` is done."""
    while not waiting.done():
        clock.advance(1)
        await asyncio.sleep(0)


async def test_a_request_and_its_answer(wire: Any, provide: Any, ask: Ask):
    wire.answers.append(sends(WHOLE))
    provider = provide({"LOCAL_KEY": KEY}, api_key_env="LOCAL_KEY", headers={"X-Title": "a test"})
    items = await ask(provider)
    assert text_of(items) == "hello"
    assert items[-1] == ModelResponse("hello", (), "stop")
    received = wire.received[0]
    assert received.line == "POST /v1/chat/completions HTTP/1.1"
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert received.headers["x-title"] == "a test"
    assert received.headers["content-type"] == "application/json"
    assert received.json["messages"] == [{"role": "user", "content": "hello"}]
    assert received.json["stream"] is True


@pytest.mark.parametrize("size", [1, 2, 7, 50])
async def test_the_pieces_on_the_wire_do_not_matter(size: int, wire: Any, provide: Any, ask: Ask):
    body = stream(
        b": waiting\r\n\r\n",
        event({"content": "grün"}),
        event({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{"}}]}),
        event({"tool_calls": [{"index": 0, "function": {"arguments": "}"}}]}),
        event({}, "tool_calls"),
    )
    wire.answers.append(sends(body, size))
    items = await ask(provide())
    assert text_of(items) == "grün"
    assert items[-1] == ModelResponse("grün", (ToolCall("a", "f", "{}"),), "tool_calls")


async def test_a_connection_serves_every_step(wire: Any, provide: Any, ask: Ask):
    provider = provide()
    wire.answers += [
        sends(WHOLE),
        sends(plain("429 Too Many Requests", b"{}")),
        sends(plain("200 OK", WHOLE.partition(b"data")[1] + b": [DONE]\n\n", "text/event-stream")),
        sends(WHOLE),
    ]
    for _ in range(4):
        await ask(provider)
    assert len(wire.received) == 4
    assert wire.connections == 1


async def test_a_base_url_with_a_query_keeps_it(wire: Any, provide: Any, ask: Ask):
    wire.answers.append(sends(WHOLE))
    await ask(provide(base_url=wire.url + "/?api-version=1"))
    assert wire.received[0].line == "POST /v1/chat/completions?api-version=1 HTTP/1.1"


async def test_an_answer_that_is_not_streamed(wire: Any, provide: Any, ask: Ask):
    body = {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}
    wire.answers.append(sends(plain("200 OK", json.dumps(body).encode())))
    assert await ask(provide()) == [TextDelta("hi"), ModelResponse("hi", (), "stop")]


async def test_no_key_no_request(wire: Any, provide: Any, ask: Ask):
    failure = failed(await ask(provide(api_key_env="LOCAL_KEY")))
    assert failure.kind == "auth"
    assert "set the environment variable LOCAL_KEY" in failure.message
    assert wire.connections == 0


@pytest.mark.parametrize("key", ["sk-12345678\nx: y", "schlüssel-12345"])
async def test_a_key_that_no_header_can_hold(key: str, wire: Any, provide: Any, ask: Ask):
    failure = failed(await ask(provide({"LOCAL_KEY": key}, api_key_env="LOCAL_KEY")))
    assert failure.kind == "auth"
    assert key not in failure.message
    assert wire.connections == 0


@pytest.mark.parametrize("value", ["geheim-ß-1234567\n", "wert-12345678\r\nx: y", "🦀🦀🦀🦀🦀🦀🦀🦀"])
async def test_a_header_that_cannot_be_sent(value: str, provide: Any, ask: Ask):
    failure = failed(await ask(provide(headers={"x-token": value})))
    assert failure.kind == "bad_request"
    assert value not in failure.message


async def test_an_http_error_says_what_the_provider_said_without_the_key(wire: Any, provide: Any, ask: Ask):
    body = json.dumps({"error": {"message": f"Incorrect key {KEY}, see https://x.test/keys?k={KEY}"}})
    wire.answers.append(sends(plain("401 Unauthorized", body.encode())))
    failure = failed(await ask(provide({"LOCAL_KEY": KEY}, api_key_env="LOCAL_KEY")))
    assert failure == ModelFailure(
        "auth",
        "provider local answered 401: Incorrect key …, see https://x.test/keys; the key came from the environment variable LOCAL_KEY",
    )


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ({}, "provider local answered 401; no key was sent: set apiKeyEnv"),
        ({"authorization": "Bearer mine"}, "provider local answered 401"),
    ],
)
async def test_who_sends_no_key_is_told_so(
    headers: dict[str, str], message: str, wire: Any, provide: Any, ask: Ask
):
    wire.answers.append(sends(plain("401 Unauthorized", b"")))
    assert failed(await ask(provide(headers=headers))).message == message


async def test_a_certificate_of_an_unknown_authority_says_what_to_set(
    provide: Any, ask: Ask, monkeypatch: pytest.MonkeyPatch
):
    async def send(*_: Any, **__: Any):
        raise httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] unable to get local issuer certificate")

    monkeypatch.setattr(httpx.AsyncClient, "send", send)
    failure = failed(await ask(provide(base_url="https://models.test/v1")))
    assert (failure.kind, bucket_of(failure)) == ("setup", "next"), "it would not heal by being asked again"
    assert failure.message.endswith("local issuer certificate; set caFile if the certificate is right")


async def test_an_error_in_the_stream_says_it_without_the_key(wire: Any, provide: Any, ask: Ask):
    error = b"data: " + json.dumps({"error": {"code": 502, "message": f"bad {KEY}"}}).encode() + b"\n\n"
    wire.answers.append(sends(stream(event({"content": "a"}), error)))
    items = await ask(provide({"LOCAL_KEY": KEY}, api_key_env="LOCAL_KEY"))
    assert items == [
        TextDelta("a"),
        ModelFailure("overloaded", "provider local broke off with an error: bad …"),
    ]


async def test_a_redirect_is_not_followed(wire: Any, provide: Any, ask: Ask):
    wire.answers.append(
        sends(plain("307 Temporary Redirect", b"", more="location: http://127.0.0.1:1/v2\r\n"))
    )
    assert failed(await ask(provide())).kind == "protocol"
    assert len(wire.received) == 1


async def test_a_web_page_is_no_answer(wire: Any, provide: Any, ask: Ask):
    wire.answers.append(sends(plain("200 OK", b"<html>", "text/html; charset=utf-8")))
    failure = failed(await ask(provide()))
    assert (failure.kind, "baseUrl" in failure.message) == ("protocol", True)


async def test_a_broken_content_encoding(wire: Any, provide: Any, ask: Ask):
    wire.answers.append(
        sends(plain("200 OK", b"not gzip", "text/event-stream", "content-encoding: gzip\r\n"))
    )
    assert failed(await ask(provide())).kind == "protocol"


@pytest.mark.parametrize(("times", "taken"), [(1, True), (2, False)])
async def test_an_answer_is_unpacked_once(wire: Any, provide: Any, ask: Ask, times: int, taken: bool):
    """Packed twice, a kilobyte would stand for a gigabyte."""
    body = b"".join([event({"content": "Hello."}), event({}, "stop"), b"data: [DONE]\n\n"])
    for _ in range(times):
        body = gzip.compress(body)
    encoding = f"content-encoding: {', '.join(['gzip'] * times)}\r\n"
    wire.answers.append(sends(plain("200 OK", body, "text/event-stream", encoding)))
    items = await ask(provide())
    if taken:
        assert isinstance(items[-1], ModelResponse)
        assert items[-1].text == "Hello."
    else:
        assert failed(items).kind == "protocol"


async def test_an_answer_that_is_not_http(wire: Any, provide: Any, ask: Ask):
    wire.answers.append(sends(b"SSH-2.0-server\r\n\r\n", then="abort"))
    assert failed(await ask(provide())).kind == "connection"


async def test_nobody_listens(provide: Any, ask: Ask):
    failure = failed(await ask(provide(base_url="http://ada:lovelace@127.0.0.1:1/v1")))
    assert failure.kind == "connection"
    said = "provider local: no answer from 127.0.0.1:1: All connection attempts failed; "
    assert failure.message == f"{said}check baseUrl, and that the server can be reached from here"


async def test_a_connection_that_closes_before_the_answer(wire: Any, provide: Any, ask: Ask):
    wire.answers.append(sends(b"", then="abort"))
    assert failed(await ask(provide())).kind == "connection"


@pytest.mark.parametrize("cut", [len(HEAD), len(HEAD) + 10, len(WHOLE) // 2])
async def test_a_stream_that_is_cut_is_no_answer(cut: int, wire: Any, provide: Any, ask: Ask):
    wire.answers.append(sends(WHOLE[:cut], then="abort"))
    assert failed(await ask(provide())).kind == "cut_stream"


async def test_a_stream_that_ends_well_but_early_is_no_answer(wire: Any, provide: Any, ask: Ask):
    wire.answers.append(sends(stream(event({"content": "a"}))))
    assert failed(await ask(provide())).kind == "cut_stream"


async def test_a_connection_that_breaks_after_the_answer_loses_nothing(wire: Any, provide: Any, ask: Ask):
    provider = provide()
    for body in (WHOLE.removesuffix(END), HEAD + framed(event({"content": "hello"}, "stop"))):
        wire.answers.append(sends(body, then="abort"))
        assert (await ask(provider))[-1] == ModelResponse("hello", (), "stop")


async def test_a_server_that_stays_silent(wire: Any, provide: Any, ask: Ask, clock: SteppingClock):
    wire.answers.append(sends(b"", then="wait"))
    asking = asyncio.ensure_future(ask(provide(first_token_seconds=90)))
    await wire.asked.wait()
    await passing(clock, asking)
    failure = failed(asking.result())
    assert (failure.kind, failure.message) == (
        "stalled",
        "provider local: no answer in 90 s (firstTokenSeconds)",
    )
    await wire.left.wait()


async def test_a_server_that_sends_only_headers(wire: Any, provide: Any, ask: Ask, clock: SteppingClock):
    wire.answers.append(sends(HEAD, then="wait"))
    asking = asyncio.ensure_future(ask(provide(first_token_seconds=90)))
    await wire.asked.wait()
    await passing(clock, asking)
    assert failed(asking.result()).kind == "stalled"
    await wire.left.wait()


async def test_a_stream_that_falls_silent(wire: Any, provide: Any, clock: SteppingClock):
    wire.answers.append(sends(HEAD + framed(event({"content": "a"})), then="wait"))
    async with aclosing(
        OpenAiChatModel(provide(stall_seconds=5), "m", ids=SequentialIds()).stream(HELLO)
    ) as items:
        assert await anext(items) == TextDelta("a")
        waiting = asyncio.ensure_future(anext(items))
        await passing(clock, waiting)
        assert waiting.result() == ModelFailure("stalled", "provider local: no data for 5 s (stallSeconds)")
    await wire.left.wait()


async def test_a_connection_that_is_not_made(wire: Any, provide: Any, ask: Ask, clock: SteppingClock):
    # The other side never says a word of TLS, so the connection stands but is of no use.
    url = wire.url.replace("http:", "https:")
    asking = asyncio.ensure_future(ask(provide(base_url=url, connect_seconds=3)))
    await wire.met.wait()
    await passing(clock, asking)
    failure = failed(asking.result())
    assert (failure.kind, failure.message) == (
        "timeout",
        "provider local: no connection to 127.0.0.1 in 3 s (connectSeconds)",
    )
    await wire.left.wait()


async def test_a_server_that_does_not_end_after_the_last_event(
    wire: Any, provide: Any, ask: Ask, clock: SteppingClock
):
    wire.answers.append(sends(WHOLE.removesuffix(END), then="wait"))
    asking = asyncio.ensure_future(ask(provide()))
    await wire.asked.wait()
    for _ in range(10_000):
        # Less in all than a stall takes.
        clock.advance(0.001)
        await asyncio.sleep(0)
        if asking.done():
            break
    assert (await asking)[-1] == ModelResponse("hello", (), "stop")


@pytest.mark.parametrize("sent", [b"", HEAD, HEAD + framed(event({"content": "a"}))])
async def test_cancelling_closes_the_connection(sent: bytes, wire: Any, provide: Any, ask: Ask):
    wire.answers.append(sends(sent, then="wait"))
    asking = asyncio.ensure_future(ask(provide()))
    await wire.asked.wait()
    for _ in range(5):
        await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await wire.left.wait()


async def test_a_cancelled_request_leaves_the_provider_usable(wire: Any, provide: Any, ask: Ask):
    provider = provide()
    asking = asyncio.ensure_future(ask(provider))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    wire.answers.append(sends(WHOLE))
    assert text_of(await ask(provider)) == "hello"


async def test_leaving_the_stream_closes_the_connection(wire: Any, provide: Any):
    wire.answers.append(sends(HEAD + framed(event({"content": "a"})), then="wait"))
    model = OpenAiChatModel(provide(), "m", ids=SequentialIds())
    async with aclosing(model.stream(HELLO)) as items:
        assert await anext(items) == TextDelta("a")
    await wire.left.wait()


async def test_deltas_that_arrive_together_are_one(wire: Any, provide: Any, ask: Ask):
    parts = [
        event({"reasoning": "a"}),
        event({"reasoning": "b"}),
        event({"content": "c"}),
        event({"content": "d"}),
    ]
    body = b"".join([*parts, event({}, "stop")])
    wire.answers.append(sends(plain("200 OK", body, "text/event-stream")))
    items = await ask(provide())
    assert len(items) == 3
    assert items[-1] == ModelResponse("cd", (), "stop", "ab")


async def test_an_event_without_end_is_given_up(
    wire: Any, provide: Any, ask: Ask, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("outrider.models.http.provider._LONGEST_EVENT", 1000)
    wire.answers.append(sends(HEAD + framed(b"data: " + b"x" * 2000), then="wait"))
    assert failed(await ask(provide())).kind == "protocol"
    await wire.left.wait()


async def test_the_proxy_is_the_one_that_is_given(
    wire: Any, provide: Any, ask: Ask, monkeypatch: pytest.MonkeyPatch
):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    wire.answers += [sends(WHOLE), sends(WHOLE)]
    assert text_of(await ask(provide())) == "hello"
    proxied = provide(base_url="http://models.test/v1", proxy=f"http://127.0.0.1:{wire.port}")
    assert text_of(await ask(proxied)) == "hello"
    assert wire.received[1].line == "POST http://models.test/v1/chat/completions HTTP/1.1"


async def test_a_proxy_and_certificates_that_cannot_be_used(
    provide: Any, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    failure = failed(await ask(provide(proxy="odd://me:secret-word@host")))
    assert failure.kind == "setup"
    assert "proxy" in failure.message
    assert "secret-word" not in failure.message
    missing = failed(await ask(provide(ca_file=str(tmp_path / "none.pem"))))
    assert "none.pem: No such file or directory" in missing.message
    (tmp_path / "bad.pem").write_text("no certificate")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    at_home = failed(await ask(provide(ca_file="~/bad.pem"))).message
    assert "~/bad.pem" in at_home
    assert "No such file" not in at_home
    assert "bad.pem" in failed(await ask(provide(ca_file=str(tmp_path / "bad.pem")))).message


@pytest.mark.parametrize("url", ["http://[::1/v1", "http://127.0.0.1:99999/v1", "https://:0/v1"])
async def test_an_address_that_is_none(url: str, provide: Any, ask: Ask):
    assert failed(await ask(provide(base_url=url))).kind in ("bad_request", "connection")


async def test_a_closed_provider_says_so(wire: Any, provide: Any, ask: Ask):
    provider: HttpProvider = provide()
    wire.answers.append(sends(WHOLE))
    await ask(provider)
    await provider.close()
    assert failed(await ask(provider)).kind == "connection"


async def test_requests_at_the_same_time_share_one_client(wire: Any, provide: Any, ask: Ask):
    provider = provide()
    wire.answers += [sends(WHOLE)] * 3
    answers = await asyncio.gather(*(ask(provider) for _ in range(3)))
    assert [text_of(items) for items in answers] == ["hello"] * 3


async def test_what_the_model_says_of_itself(provide: Any):
    provider = provide(context_window=1000, temperature=0.5, max_tokens=10)
    model = OpenAiChatModel(provider, "vendor/m", ids=SequentialIds())
    assert (model.name, model.context_window, model.temperature, model.max_tokens, model.left_over()) == (
        "local/vendor/m",
        1000,
        0.5,
        10,
        0,
    )
    assert isinstance(model.stream(HELLO), AsyncGenerator)
