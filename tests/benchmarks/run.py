"""Measures Outrider beside the bare agent, in one run: `python tests/benchmarks/run.py [--quick] [--gate]`.

Prints a table in Markdown; README.md says what its lines mean. `--gate` exits with 1 when a line does not hold.
"""

import argparse
import asyncio
import functools
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from asking import count_ms, request_ms
from edits import EditMeasures
from hostile_folder import HostileMeasures
from maps import MapMeasures
from measures import MARK, Measures, Steps

OBEYS = f"echo on; exec sleep {MARK}"
IGNORES = f"trap '' TERM; echo on; while :; do sleep {MARK}; done"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    what: str
    bare: str
    ours: str
    bound: str
    holds: bool


class Table:
    """Takes the measurements and says of each whether it holds.

    A figure is the best of its repetitions, and the programs take turns: what else the machine does makes a
    figure worse, never better, so the best one is nearest to what the program itself costs.
    """

    def __init__(self, repeats: int, only: str = "") -> None:
        self._repeats = repeats
        self._only = only
        self.rows: list[Row] = []

    def _wants(self, what: str) -> bool:
        return self._only in what

    async def ratio(
        self,
        what: str,
        measure: Callable[[bool], Awaitable[float]],
        bound: float,
        *,
        more_is_better: bool = False,
    ) -> None:
        """Compare with the bare agent."""
        if not self._wants(what):
            return
        pairs = [(await measure(True), await measure(False)) for _ in range(self._repeats)]
        best = max if more_is_better else min
        bare, ours = best(pair[0] for pair in pairs), best(pair[1] for pair in pairs)
        value = ours / bare
        holds = value >= bound if more_is_better else value <= bound
        said = f"{value:.2f} ({'≥' if more_is_better else '≤'} {bound:g})"
        self.rows.append(Row(what, _figure(bare), _figure(ours), said, holds))

    async def most(
        self,
        what: str,
        measure: Callable[[], Awaitable[float]],
        bound: float,
        bare: Callable[[], Awaitable[float]] | None = None,
        repeats: int | None = None,
    ) -> None:
        """Compare with a bound; the bare agent is shown beside it where it has such a thing."""
        if not self._wants(what):
            return
        ours = min([await measure() for _ in range(repeats or self._repeats)])
        shown = _figure(min([await bare() for _ in range(self._repeats)])) if bare else "–"
        self.rows.append(Row(what, shown, _figure(ours), f"≤ {bound:g}", ours <= bound))

    def least(self, what: str, measure: Callable[[], float], bound: float) -> None:
        """Compare with a bound of which more is better."""
        if not self._wants(what):
            return
        ours = max(measure() for _ in range(self._repeats))
        self.rows.append(Row(what, "–", _figure(ours), f"≥ {bound:,}", ours >= bound))

    async def most_per_second(self, what: str, measure: Callable[[], Awaitable[float]], bound: float) -> None:
        """Compare a rate with a bound."""
        if self._wants(what):
            ours = max([await measure() for _ in range(self._repeats)])
            self.rows.append(Row(what, "–", _figure(ours), f"≥ {bound:g}", ours >= bound))

    async def steps(self, measures: Measures) -> None:
        """The lines about steps. The programs take turns; the median of the repetitions counts for both."""
        for steps, thinks, bound in ((50, 0.0, 2.5), (200, 0.0, 2.5), (50, 0.15, 2.0)):
            what = f"own cost of a step, {steps} different files, model takes {thinks * 1000:.0f} ms, ms"
            if not self._wants(what):
                continue
            bare, ours = list[Steps](), list[Steps]()
            for _ in range(self._repeats):
                bare.append(await measures.steps(True, steps, thinks))
                ours.append(await measures.steps(False, steps, thinks))
            theirs, own = (statistics.median(run.median for run in runs) for runs in (bare, ours))
            ratio = own / theirs
            self.rows.append(
                Row(what, _figure(theirs), _figure(own), f"{ratio:.2f} (≤ {bound:g})", ratio <= bound)
            )
            if steps == 200:
                self._growth(bare, ours)

    def _growth(self, bare: Sequence[Steps], ours: Sequence[Steps]) -> None:
        """How much dearer a step gets, beyond what the bare agent's does, and what is in memory at the end."""
        early, late, bare_early, bare_late = (
            statistics.median(figures)
            for figures in (
                [run.first for run in ours],
                [run.last for run in ours],
                [run.first for run in bare],
                [run.last for run in bare],
            )
        )
        growth = (late - bare_late) / (early - bare_early)
        resident = statistics.median(run.resident_mb for run in ours)
        proportional = statistics.median(run.proportional_mb for run in ours)
        self.rows += [
            Row("own cost of a step, 1–10, ms", _figure(bare_early), _figure(early), "", True),
            Row("own cost of a step, 191–200, ms", _figure(bare_late), _figure(late), "", True),
            Row("growth of the difference to the bare agent", "–", f"{growth:.2f}", "≤ 1.3", growth <= 1.3),
            Row("resident memory after 200 steps, MB", "–", _figure(resident), "≤ 90", resident <= 90),
            Row(
                "PSS of all processes after 200 steps, MB",
                "–",
                _figure(proportional),
                "≤ 85",
                proportional <= 85,
            ),
        ]

    def __str__(self) -> str:
        lines = ["| what | bare agent | Outrider | ratio or bound | |", "|---|--:|--:|---|---|"]
        for row in self.rows:
            holds = ("ok" if row.holds else "**no**") if row.bound else ""
            lines.append(f"| {row.what} | {row.bare} | {row.ours} | {row.bound} | {holds} |")
        return "\n".join(lines)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


async def measured(folder: Path, repeats: int, only: str) -> Table:
    """The whole table."""
    measures, table = Measures(folder), Table(repeats, only)
    await table.most(
        "spawn → `initialize` response, ms",
        lambda: measures.initialize_ms(False),
        55,
        lambda: measures.initialize_ms(True),
    )
    await table.most("spawn → answer of the first command, ms", measures.first_command_ms, 600)
    await table.most("a later command, ms", measures.later_command_ms, 10)
    hostile = HostileMeasures(folder)
    await table.most("status in a hostile folder, p95, ms", lambda: hostile.status_ms("folder"), 50)
    await table.most(
        "status, 4 MB in one line of output, p95, ms", lambda: hostile.status_ms("line"), 50, repeats=1
    )
    await table.most(
        "status, 4 MB of keys in lines, p95, ms", lambda: hostile.status_ms("keys"), 50, repeats=1
    )
    await table.most("status, 4 MB of model text, p95, ms", lambda: hostile.status_ms("model"), 50, repeats=1)
    await table.most("spawn → first request at the model, ms", measures.first_request_ms, 750)
    await table.most("prompt in a warm session → its request, ms", measures.next_request_ms, 6)
    await table.most("`outrider sessions`, ms", lambda: measures.command_line_ms("sessions"), 400)
    await table.most("`outrider --version`, ms", lambda: measures.command_line_ms("--version"), 120)
    await table.steps(measures)
    await table.most("log of 1 000 steps that read 1 kB, MB", measures.log_mb, 6, repeats=1)
    await table.most_per_second("20 sessions at once, steps/s", measures.together_per_second, 250)
    await table.ratio("relay of one token, ms", measures.relay_ms, 1.1)
    await table.ratio(
        "20 000 one-token chunks, tokens/s", measures.tokens_per_second, 1.0, more_is_better=True
    )
    await table.most(
        "cancel in a stream, ms",
        lambda: measures.cancel_in_stream_ms(False),
        20,
        lambda: measures.cancel_in_stream_ms(True),
    )
    await table.most("cancel in a question, ms", measures.cancel_in_question_ms, 20)
    await table.most(
        "cancel in a command that obeys TERM, ms", lambda: measures.cancel_in_command_ms(OBEYS), 30
    )
    await table.most(
        "cancel in a command that ignores TERM, ms", lambda: measures.cancel_in_command_ms(IGNORES), 250
    )
    table.least("chat decoder alone, one-token chunks/s", measures.decoded_per_second, 60_000)
    await table.ratio("a request and its answer, ms of the processor (beside: httpx alone)", request_ms, 1.5)
    await table.most("count of 200 000 tokens, ms", count_ms, 20)
    await table.most("resident memory, idle with a configured model, MB", measures.idle_mb, 72)
    edits = EditMeasures(folder)
    await table.most("own cost of an edit in an open file of 20 000 lines, ms", edits.edit_ms, 15)
    await table.most("undo of a turn that edited 200 closed files, ms", edits.undo_ms, 1000)
    await table.ratio("search in 50 000 files, 20 unsaved, ms (beside: ripgrep alone)", edits.search_ms, 1.2)
    for files, bound in ((2_000, 40), (20_000, 500)):
        await table.most(
            f"a command in {f'{files:,}'.replace(',', ' ')} files, ms (beside: in none)",
            functools.partial(edits.command_ms, files),
            bound,
            lambda: edits.command_ms(0),
        )
    maps = MapMeasures(folder)
    await table.most("first repository map of 10 000 files, s", maps.first_seconds, 20, repeats=1)
    await table.most("repository map after one of them changed, ms", maps.update_ms, 100, repeats=1)
    return table


def main() -> int:
    """Measure, print, and give the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two repetitions of each instead of six")
    parser.add_argument("--gate", action="store_true", help="exit with 1 when something does not hold")
    parser.add_argument(
        "--only", default="", metavar="WORDS", help="only the lines whose name has these words"
    )
    arguments = parser.parse_args()
    # An installed program has its bytecode. Without it every start compiles 300 modules, which doubles it.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        table = asyncio.run(measured(Path(folder), 2 if arguments.quick else 6, arguments.only))
    system = f"{platform.system()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"
    print(f"{system}; taken in {time.perf_counter() - begin:.0f} s\n\n{table}")
    return int(arguments.gate and not all(row.holds for row in table.rows))


if __name__ == "__main__":
    sys.exit(main())
