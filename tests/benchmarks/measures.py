"""What is measured, each time on a fresh process: one method, one figure."""

import asyncio
import itertools
import json
import statistics
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from model_server import ModelServer, delta, sse

from agent import Agent, model_options, outrider_options
from outrider.models.dialects.chat_decoder import ChatDecoder
from outrider.models.sse import SseSplitter
from outrider.ports.ids import SequentialIds
from outrider.ports.model import ModelResponse

DECODED = 60_000
READ_AT_ONCE = 16_384
"""Bytes that the decoder is given at a time."""
STREAMED = 20_000
MARK = "314159"
"""Seconds that commands sleep, by which they are found among the processes of the machine."""


class Measures:
    """All measurements in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count(1)
        self._root = folder / "workspace"
        (self._root / "src").mkdir(parents=True)
        for number in range(20):
            lines = "".join(f"value_{n} = {n}\n" for n in range(20))
            (self._root / "src" / f"file_{number}.py").write_text(lines)

    async def initialize_ms(self, bare: bool) -> float:
        """Spawn → response to `initialize`."""
        async with self._agent(bare) as agent:
            return agent.start_seconds * 1000

    async def first_command_ms(self) -> float:
        """Spawn → answer of a command sent at once."""
        begin = time.perf_counter()
        async with self._agent(False) as agent:
            await agent.child.command("outrider.status", {})
            return (time.perf_counter() - begin) * 1000

    async def later_command_ms(self) -> float:
        """Median of 200 commands."""
        async with self._agent(False) as agent:
            await agent.child.command("outrider.status", {})
            times: list[float] = []
            for _ in range(200):
                begin = time.perf_counter()
                await agent.child.command("outrider.status", {})
                times.append(time.perf_counter() - begin)
            return statistics.median(times) * 1000

    async def step_ms(self, bare: bool) -> float:
        """Median own cost of a step in a run of 50."""
        return statistics.median((await self._steps(bare, 50))[0])

    async def long_run(self) -> tuple[float, float, float]:
        """A run of 200 steps: own cost of the first ten and of the last ten (medians, ms), and MB after it."""
        costs, resident = await self._steps(False, 200)
        return statistics.median(costs[:10]), statistics.median(costs[-10:]), resident

    async def relay_ms(self, bare: bool) -> float:
        """Median from a token's leaving the model server to its arrival at the client, 4 ms between tokens."""
        async with ModelServer(tokens=200, interval=0.004) as server, self._agent(bare, server) as agent:
            await agent.run(server)
            await asyncio.wait_for(agent.finished, 60)
            heard = {int(token): at for at, text in agent.texts for token in text.split()}
            return statistics.median((heard[n] - sent) * 1000 for n, sent in enumerate(server.token_sent_at))

    def decoded_per_second(self) -> float:
        """One-token chunks that the splitter and the decoder take in a second of the processor, from bytes, without httpx."""
        stream = sse(*[delta({"content": "token "})] * DECODED, delta({}, "stop"))
        splitter, decoder = SseSplitter(), ChatDecoder(SequentialIds())
        begin = time.process_time()
        for start in range(0, len(stream), READ_AT_ONCE):
            for payload in splitter.feed(stream[start : start + READ_AT_ONCE]):
                decoder.feed(payload)
        seconds = time.process_time() - begin
        (response,) = decoder.finish()
        assert isinstance(response, ModelResponse)
        assert response.text == "token " * DECODED, "the text is not complete"
        return DECODED / seconds

    async def tokens_per_second(self, bare: bool) -> float:
        """20 000 chunks of one token, as fast as they are taken, until the end of the turn is heard of."""
        async with ModelServer(tokens=STREAMED) as server, self._agent(bare, server) as agent:
            await agent.run(server)
            end = await asyncio.wait_for(agent.finished, 120)
            text = "".join(part for _, part in agent.texts)
            assert text == "".join(f"{n} " for n in range(STREAMED)), "the text is not complete"
            return STREAMED / (end - server.token_sent_at[0])

    async def cancel_in_stream_ms(self, bare: bool) -> float:
        """Cancel → its end heard of, while the model answers."""
        async with ModelServer(tokens=100_000, interval=0.002) as server, self._agent(bare, server) as agent:
            await agent.run(server)
            await asyncio.wait_for(agent.streaming.wait(), 30)
            return await agent.cancel() * 1000

    async def cancel_in_question_ms(self) -> float:
        """Cancel → its end heard of, while the person is asked."""
        call = self._call("ask_user", {"question": "Which?", "options": ["a", "b"]})
        async with self._agent(False, **call) as agent:
            await agent.run()
            await asyncio.wait_for(agent.asked.wait(), 30)
            return await agent.cancel() * 1000

    async def cancel_in_command_ms(self, command: str) -> float:
        """Cancel → its end heard of, while a command runs; none of its processes may be left then."""
        call = self._call("run_command", {"command": command})
        async with self._agent(False, permissionMode="full", **call) as agent:
            await agent.run()
            await asyncio.wait_for(agent.output.wait(), 30)
            seconds = await agent.cancel()
            assert not _left(MARK), "a process of the command is left"
            return seconds * 1000

    async def idle_mb(self) -> float:
        """Resident memory with the house built and nothing done."""
        async with self._agent(False) as agent:
            await agent.child.command("outrider.doctor", {})
            return agent.child.resident_mb()

    @asynccontextmanager
    async def _agent(
        self, bare: bool, server: ModelServer | None = None, **more: Any
    ) -> AsyncGenerator[Agent, None]:
        state = self._folder / f"state{next(self._numbers)}"
        model = model_options(server) if server is not None else {}
        options = {} if bare else outrider_options(state, model | more)
        async with Agent(bare, self._root, options) as agent:
            yield agent

    async def _steps(self, bare: bool, steps: int) -> tuple[list[float], float]:
        # Own cost: from the last byte of an answer of the model until the whole next request is there.
        async with ModelServer(steps=steps) as server, self._agent(bare, server) as agent:
            await agent.run(server)
            await asyncio.wait_for(agent.finished, 120)
            pairs = zip(server.answered_at, server.received_at[1:], strict=False)
            return [(received - answered) * 1000 for answered, received in pairs], agent.child.resident_mb()

    def _call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        # A model that makes one call, and then ends the turn.
        script = self._folder / f"script{next(self._numbers)}.json"
        turns = [{"tool_calls": [{"name": tool, "input": arguments}]}, {"text": "done"}]
        script.write_text(json.dumps({"turns": turns}))
        return {"model": f"scripted:{script}"}


def _left(mark: str) -> list[str]:
    found: list[str] = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if mark in line:
            found.append(line)
    return found
