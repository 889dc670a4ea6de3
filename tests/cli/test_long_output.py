"""`outrider run` shows an answer of 4 MB in time in proportion to its length."""

import asyncio
import json
import os
import resource
import sys

import pytest

from everyday import some
from provider_server import HEAD, SSE, ProviderServer

MOST = 20
"""Times as much processor time as for a tenth of the length."""


def framed(data):
    event = b"data: " + data + b"\n\n"
    return b"%x\r\n%s\r\n" % (len(event), event)


def long_answer(text, size):
    """An answer in deltas of `size` characters."""

    async def answer(connection):
        await connection.send(HEAD % SSE)
        for start in range(0, len(text), size):
            delta = {"content": text[start : start + size]}
            chunk = {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
            await connection.send(framed(json.dumps(chunk).encode()))
        end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        await connection.send(framed(json.dumps(end).encode()) + framed(b"[DONE]") + b"0\r\n\r\n")

    return answer


async def shown(folder, text, size):
    """What `outrider run` shows of an answer, and the processor time of the program and its server."""
    folder.mkdir()
    (folder / "work").mkdir()
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "XDG_STATE_HOME": str(folder / "state"),
        "XDG_CONFIG_HOME": str(folder / "config"),
    }
    async with ProviderServer() as server:
        server.answers.append(long_answer(text, size))
        argv = ["run", "-C", str(folder / "work"), "--model", "p/m", "--provider-url", server.url, "Hi"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        program = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "outrider",
            *argv,
            env=env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, error = await program.communicate()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert program.returncode == 0, error.decode()
    return out.decode(), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("unit", "size"),
    some([("x", 20_000), ("lorem ipsum dolor\n", 20_000), ("lorem ipsum dolor\n", 2_000_000)], 1),
)
async def test_4_mb_take_at_most_20_times_as_long_as_400_kb(unit, size, tmp_path):
    texts = [unit * (length // len(unit)) for length in (400_000, 4_000_000)]
    small = await shown(tmp_path / "small", texts[0], size)
    large = await shown(tmp_path / "large", texts[1], size)
    assert all(text.strip() in out for text, (out, _) in zip(texts, (small, large), strict=True))
    assert large[1] / small[1] <= MOST
