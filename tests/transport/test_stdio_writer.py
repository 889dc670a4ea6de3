"""The way out over a pipe: everything arrives, whole and in order, whoever writes it."""

import asyncio
import os
import random
import select

import pytest

from outrider.ports.framing import framed
from outrider.transport.connection import MOST_WAITING
from outrider.transport.stdio import StdioWriter


def lost(reason: str) -> None:
    raise AssertionError(reason)


@pytest.fixture
def pipe():
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)


async def read(descriptor: int, size: int) -> bytes:
    def blocking() -> bytes:
        data = b""
        while len(data) < size:
            data += os.read(descriptor, 1000)
        return data

    return await asyncio.wait_for(asyncio.to_thread(blocking), 20)


async def test_small_and_large_messages_keep_their_order(pipe: tuple[int, int]) -> None:
    chance = random.Random(1)
    bodies = [bytes([65 + n % 26]) * chance.choice((1, 80, 900, select.PIPE_BUF, 30_000)) for n in range(200)]
    expected = b"".join(framed(body) for body in bodies)
    writer = StdioWriter(pipe[1], framed, lost)
    reading = asyncio.ensure_future(read(pipe[0], len(expected)))
    for body in bodies:
        writer.send(body)
        if chance.random() < 0.5:
            await asyncio.sleep(0)
    assert await reading == expected
    await writer.flush(5)
    assert writer.backlog == 0


async def test_a_small_message_is_in_the_pipe_when_send_returns(pipe: tuple[int, int]) -> None:
    StdioWriter(pipe[1], framed, lost).send(b"{}")
    assert select.select([pipe[0]], [], [], 0)[0]


async def test_what_is_sent_in_one_go_is_written_without_the_thread_and_told_as_drained(
    pipe: tuple[int, int],
) -> None:
    writer = StdioWriter(pipe[1], framed, lost)
    writer.send(b"1")
    writer.send(b"2")
    assert writer.backlog == len(framed(b"2"))
    drained = asyncio.Event()
    writer.when_drained(drained.set)
    await asyncio.wait_for(drained.wait(), 5)
    assert writer.backlog == 0
    assert os.read(pipe[0], 1000) == framed(b"1") + framed(b"2")


async def test_a_full_pipe_never_stops_the_event_loop(pipe: tuple[int, int]) -> None:
    writer = StdioWriter(pipe[1], framed, lost)
    bodies = [b"x" * 100] * 5000
    async with asyncio.timeout(5):
        for body in bodies:
            writer.send(body)
            await asyncio.sleep(0)
    assert writer.backlog
    whole = b"".join(framed(body) for body in bodies)
    assert await read(pipe[0], len(whole)) == whole


async def test_one_long_message_is_no_sign_of_a_client_that_has_gone(pipe: tuple[int, int]) -> None:
    reasons: list[str] = []
    writer = StdioWriter(pipe[1], framed, reasons.append)
    writer.send(b"x" * (MOST_WAITING + 1))
    writer.send(b"the next")
    assert not reasons
    writer.send(b"y" * MOST_WAITING)
    writer.send(b"z" * 1_000_000)
    assert len(reasons) == 1
