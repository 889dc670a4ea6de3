"""A language server that says too much: others have their turn between its messages."""

import asyncio
import json
from collections import Counter
from types import SimpleNamespace

from outrider.language.connection import Connection
from outrider.ports.clock import SystemClock
from outrider.ports.framing import framed

REQUEST = {"method": "workspace/configuration", "params": {"items": [{"section": "x"}] * 20}}
FLOOD = b"".join(
    framed(json.dumps({"jsonrpc": "2.0", "id": number, **REQUEST}).encode()) for number in range(1500)
)


class Flood:
    """Says all of it at once, then ends."""

    def __init__(self, chunks):
        self.chunks = chunks

    async def read(self, _most):
        return self.chunks.pop(0) if self.chunks else b""

    async def read_error(self):
        return b""


class Writer:
    """Takes all that is written."""

    transport = SimpleNamespace(get_write_buffer_size=lambda: 0)

    def write(self, data):
        pass

    def close(self):
        pass

    async def wait_closed(self):
        pass


async def test_a_chunk_of_many_messages_is_handled_in_slices():
    seen, all_answered = Counter(), asyncio.Event()
    turns = 0

    async def others():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    def answer(_method, _params):
        seen[turns] += 1
        if seen.total() == 1500:
            all_answered.set()
        return [None] * 20

    connection = Connection(Flood([FLOOD]), Writer(), SystemClock(), answer=answer, notified=print)
    beside = asyncio.create_task(others())
    running = asyncio.create_task(connection.run())
    await all_answered.wait()
    for task in (beside, running):
        task.cancel()
    await asyncio.gather(beside, running, return_exceptions=True)
    assert seen.total() == 1500
    assert max(seen.values()) <= 20
