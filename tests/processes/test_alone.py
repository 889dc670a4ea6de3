"""Programs of ours where there is no supervisor: what they print, and that they end."""

import asyncio
import sys
import time

import psutil
import pytest

from outrider.ports.clock import SystemClock
from outrider.processes.alone import Printed, printed


async def run(tmp_path, code, **how):
    given = {"stdin": None, "seconds": 20, "limit": 1000, **how}
    return await printed([sys.executable, "-Ic", code], cwd=tmp_path, env={}, clock=SystemClock(), **given)


def left():
    return [one for one in psutil.Process().children() if "-Ic" in one.cmdline()]


async def test_both_outputs_and_the_code(tmp_path):
    code = "import sys; print(sys.stdin.read()); print('no', file=sys.stderr); sys.exit(3)"
    assert await run(tmp_path, code, stdin=b"in") == Printed(3, b"in\n", b"no\n")


async def test_it_is_ended_when_it_printed_enough_or_took_too_long(tmp_path):
    endless = await run(tmp_path, "while True: print('x' * 100)", limit=500)
    assert (len(endless.stdout), endless.timed_out) == (500, False)
    silent = await run(tmp_path, "import time; print(1, flush=True); time.sleep(300)", seconds=1)
    assert (silent.stdout, silent.timed_out) == (b"1\n", True)
    assert left() == []


async def test_a_cancel_ends_it(tmp_path):
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await run(tmp_path, "import time; time.sleep(300)")
    assert time.monotonic() - began < 15
    assert left() == []


async def test_what_cannot_start_says_so(tmp_path):
    told = await printed(
        ["/no/such/program"], cwd=tmp_path, env={}, clock=SystemClock(), stdin=None, seconds=1, limit=1
    )
    assert "cannot be started" in told
