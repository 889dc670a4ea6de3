"""What a request and a count cost by themselves, without a session: time of the processor, in this process."""

import asyncio
import multiprocessing
import statistics
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection

import httpx
from model_server import ModelServer

from outrider.agent.context.tokens import Counter
from outrider.models.dialects.openai_chat import OpenAiChatModel
from outrider.models.http.keys import Keys
from outrider.models.http.provider import HttpProvider
from outrider.ports.clock import SystemClock
from outrider.ports.ids import SequentialIds
from outrider.ports.model import Message, ModelRequest, ModelResponse, Tokens
from outrider_protocol.settings import ProviderSettings

REQUESTS = 200
MESSAGES = [Message("system", "You are."), *(Message("user", f"{n} " + "word " * 200) for n in range(40))]
CONTEXT = [Message("user", f"{n} " + "word " * 700) for n in range(200)]
"""Some 200 000 tokens, by the estimate for a model that has counted nothing."""


def _serve(pipe: Connection) -> None:
    async def serve() -> None:
        async with ModelServer(steps=10**9) as server:
            pipe.send(server.port)
            await asyncio.to_thread(pipe.recv)

    asyncio.run(serve())


@asynccontextmanager
async def _served() -> AsyncGenerator[str, None]:
    """The address of a model server in a process of its own: its work is not ours."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there,), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{await asyncio.to_thread(here.recv)}/v1"
    finally:
        here.send(None)
        await asyncio.to_thread(process.join)


async def request_ms(bare: bool) -> float:
    """Median of a request of 41 messages and its answer, which calls one tool; `bare` with nothing but httpx."""
    async with _served() as url:
        return await (_bare_ms(url) if bare else _own_ms(url))


async def _own_ms(url: str) -> float:
    settings = ProviderSettings(kind="openai-chat", base_url=url)
    provider = HttpProvider("my", settings, clock=SystemClock(), secrets=Keys({}))
    model = OpenAiChatModel(provider, "m", ids=SequentialIds())
    times: list[float] = []
    for _ in range(REQUESTS):
        begin = time.process_time()
        last = [item async for item in model.stream(ModelRequest("main", MESSAGES))][-1]
        times.append(time.process_time() - begin)
        assert isinstance(last, ModelResponse), last
    await provider.close()
    return statistics.median(times) * 1000


async def _bare_ms(url: str) -> float:
    body = b'{"messages":[%s]}' % b",".join(message.encoded for message in MESSAGES)
    times: list[float] = []
    async with httpx.AsyncClient(trust_env=False) as client:
        for _ in range(REQUESTS):
            begin = time.process_time()
            async with client.stream("POST", f"{url}/chat/completions", content=body) as response:
                got = b"".join([chunk async for chunk in response.aiter_bytes()])
            times.append(time.process_time() - begin)
            assert got.endswith(b"[DONE]\n\n")
    return statistics.median(times) * 1000


async def count_ms() -> float:
    """One count of a context of 200 000 tokens of which ten messages are new and one is not what it was."""
    counter = Counter()
    counter.tokens(CONTEXT)
    changed = [*CONTEXT, *(Message("user", f"new {n} " + "word " * 700) for n in range(10))]
    changed[20] = Message("user", "[Left out.]")
    counter.take("m", CONTEXT, Tokens(200_000, 100))
    counter.forget()
    begin = time.process_time()
    tokens = counter.tokens(changed)
    milliseconds = (time.process_time() - begin) * 1000
    assert tokens > 200_000, tokens
    return milliseconds
