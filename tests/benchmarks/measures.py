"""What is measured, each time on a fresh process: one method, one figure."""

import asyncio
import itertools
import json
import statistics
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model_server import ModelServer, delta, sse

from agent import Agent, model_options, outrider_options
from outrider.models.dialects.openai_chat import ChatDecoder
from outrider.models.http.sse import SseSplitter
from outrider.ports.ids import SequentialIds
from outrider.ports.model import ModelResponse

FILES = 1_000
"""Of 1 kB each: a step reads one that no step has read before."""
SESSIONS = 20
DECODED = 60_000
READ_AT_ONCE = 16_384
"""Bytes that the decoder is given at a time."""
STREAMED = 20_000
MARK = "314159"
"""Seconds that commands sleep, by which they are found among the processes of the machine."""


@dataclass(frozen=True, slots=True)
class Steps:
    """A run of steps."""

    costs: list[float]
    """Own cost of each, ms: from the last byte of a model's answer until the whole next request has arrived."""
    resident_mb: float
    proportional_mb: float
    """After it, of all processes together."""

    @property
    def median(self) -> float:
        return statistics.median(self.costs)

    @property
    def first(self) -> float:
        return statistics.median(self.costs[:10])

    @property
    def last(self) -> float:
        return statistics.median(self.costs[-10:])


class Measures:
    """All measurements in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count(1)
        self._root = folder / "workspace"
        (self._root / "src").mkdir(parents=True)
        for number in range(FILES):
            lines = "".join(f"value_{n} = {n:050}\n" for n in range(16))
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

    async def first_request_ms(self) -> float:
        """Spawn → the first request of a turn has arrived at the model."""
        begin = time.perf_counter()
        async with ModelServer() as server, self._agent(False, server) as agent:
            await agent.run(server)
            await asyncio.wait_for(agent.finished, 60)
            return (server.received_at[0] - begin) * 1000

    async def next_request_ms(self) -> float:
        """A prompt in a session that had one before → its request has arrived at the model; median of 10."""
        async with ModelServer() as server, self._agent(False, server) as agent:
            await agent.run(server)
            await asyncio.wait_for(agent.finished, 60)
            times: list[float] = []
            for _ in range(10):
                agent.finished, agent.ended = asyncio.get_running_loop().create_future(), 0
                await asyncio.sleep(0.05)  # a user does not type faster; the log has been written by then
                begin = time.perf_counter()
                await agent.run(server, sessionId=agent.session)
                await asyncio.wait_for(agent.finished, 60)
                times.append(server.received_at[-1] - begin)
            return statistics.median(times) * 1000

    async def steps(self, bare: bool, steps: int, thinks: float) -> "Steps":
        """Own cost of each step of a run.

        Args:
            bare: Whether it is the bare agent's.
            steps: How many steps there are.
            thinks: Seconds that the model takes for each answer.
        """
        async with ModelServer(steps=steps, thinks=thinks) as server, self._agent(bare, server) as agent:
            await agent.run(server)
            await asyncio.wait_for(agent.finished, 300)
            pairs = zip(server.answered_at, server.received_at[1:], strict=False)
            costs = [(received - answered) * 1000 for answered, received in pairs]
            return Steps(costs, agent.child.resident_mb(), agent.child.proportional_mb())

    async def log_mb(self) -> float:
        """The log after a run of 1 000 steps that read 1 kB each."""
        async with ModelServer(steps=FILES) as server, self._agent(False, server) as agent:
            await agent.run(server, limits={"steps": 2 * FILES})
            await asyncio.wait_for(agent.finished, 300)
        state = self._folder / f"state{next(self._numbers) - 1}"
        return sum(path.stat().st_size for path in state.rglob("*") if path.is_file()) / 1e6

    async def together_per_second(self) -> float:
        """Steps a second of 20 sessions at once, 50 steps each."""
        steps = 50
        async with ModelServer(steps=steps, sessions=True) as server, self._agent(False, server) as agent:
            await agent.child.command("outrider.status", {})
            agent.awaited = SESSIONS
            begin = time.perf_counter()
            await asyncio.gather(*(agent.run(server) for _ in range(SESSIONS)))
            end = await asyncio.wait_for(agent.finished, 300)
            return SESSIONS * steps / (end - begin)

    async def command_line_ms(self, *arguments: str) -> float:
        """A command of the command line, from its start to its end."""
        begin = time.perf_counter()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "outrider", *arguments, cwd=self._root, stdout=asyncio.subprocess.DEVNULL
        )
        assert await process.wait() == 0
        return (time.perf_counter() - begin) * 1000

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
        """Cancel → its end heard of, while the user is asked."""
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
        """Resident memory with everything built, a model configured, and nothing done."""
        async with ModelServer() as server, self._agent(False, server) as agent:
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
