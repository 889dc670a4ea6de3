"""How soon the server answers while a turn meets texts that a stranger made to hold up whoever matches them."""

import asyncio
import itertools
import json
import random
import string
import time
from pathlib import Path
from typing import Any

from client import Child

from agent import outrider_options

READS = 60
NAME = "a" * 200
FILES = {
    ".outriderignore": "*a*a*a*a*a*b\n*e*n*e*n*t*e*t*e*n*z\n" + "**/" + "a/**/" * 12 + "b\n",
    ".outrider/rules.toml": f'[[rule]]\ndecision = "deny"\ntool = "read"\npath = "{"*a" * 8}*b"\n',
    NAME: "x\n",
}
MEGABYTES = 4
LINE = "sk-a1A_" * (MEGABYTES * 1_000_000 // 7)
"""A line in which every few characters a key could begin."""
_draw = random.Random(20261123)
KEYS = "".join(
    f"API_KEY={''.join(_draw.choices(string.ascii_letters + string.digits, k=32))}\n"
    for _ in range(MEGABYTES * 1_000_000 // 41)
)
"""Lines of which each has a secret that is in no other."""

PARTS = 20
PART = len(KEYS) // PARTS


def _calls(*calls: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"tool_calls": [{"id": f"c{n}", "name": name, "input": arguments}]}
        for n, (name, arguments) in enumerate(calls)
    ]


TURNS = {
    "folder": _calls(
        *itertools.islice(
            itertools.cycle(
                (
                    ("read_file", {"path": NAME}),
                    ("find_files", {"pattern": "*a" * 30 + "*b"}),
                    ("list_files", {"path": "."}),
                )
            ),
            READS,
        )
    ),
    "line": _calls(("run_command", {"command": "cat line.txt"})),
    "keys": _calls(("run_command", {"command": "cat keys.txt"})),
    "model": [
        turn | {"text": KEYS[n * PART : (n + 1) * PART]}
        for n, turn in enumerate(_calls(*(("list_files", {"path": "."}) for _ in range(PARTS))))
    ],
}
"""What the model does, by what is hostile about it."""


class HostileMeasures:
    """A turn that meets such a text, and a client that asks for the status all the while."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "hostile"
        self._numbers = itertools.count(1)
        for path, text in (FILES | {"line.txt": LINE, "keys.txt": KEYS}).items():
            (self._folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self._folder / path).write_text(text)

    async def status_ms(self, kind: str) -> float:
        """95 of 100 answers of `outrider.status` came within so many ms, with one of `TURNS`."""
        number = next(self._numbers)
        script = self._folder.with_name(f"hostile-{number}.json")
        script.write_text(json.dumps({"turns": [*TURNS[kind], {"text": "done"}]}))
        more = {"model": f"scripted:{script}", "trusted": False, "permissionMode": "auto-edit"}
        options = outrider_options(self._folder.with_name(f"hostile-state-{number}"), more)
        child, finished, times = Child(), asyncio.Event(), list[float]()
        child.on_notification = lambda _method, params: (
            finished.set() if params.get("type") == "turn.finished" else None
        )
        await child.start(["-m", "outrider", "serve"], self._folder, options)
        await child.command("outrider.run", {"prompt": "go"})
        while not finished.is_set():
            begin = time.perf_counter()
            await child.command("outrider.status", {})
            times.append(time.perf_counter() - begin)
            await asyncio.sleep(0.005)
        await child.stop()
        return sorted(times)[int(len(times) * 0.95)] * 1000
