"""Measures Outrider beside the bare agent, in one run: `python tests/benchmarks/run.py [--quick] [--gate]`.

Prints a table in Markdown; README.md says what its lines mean. `--gate` exits with 1 when a line does not hold.
"""

import argparse
import asyncio
import functools
import os
import platform
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from asking import count_ms, request_ms
from edits import EditMeasures
from maps import MapMeasures
from measures import MARK, Measures

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

    def __init__(self, repeats: int) -> None:
        self._repeats = repeats
        self.rows: list[Row] = []

    async def ratio(
        self,
        what: str,
        measure: Callable[[bool], Awaitable[float]],
        bound: float,
        *,
        more_is_better: bool = False,
    ) -> None:
        """Compare with the bare agent."""
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
        ours = min([await measure() for _ in range(repeats or self._repeats)])
        shown = _figure(min([await bare() for _ in range(self._repeats)])) if bare else "–"
        self.rows.append(Row(what, shown, _figure(ours), f"≤ {bound:g}", ours <= bound))

    def least(self, what: str, measure: Callable[[], float], bound: float) -> None:
        """Compare with a bound of which more is better."""
        ours = max(measure() for _ in range(self._repeats))
        self.rows.append(Row(what, "–", _figure(ours), f"≥ {bound:,}", ours >= bound))

    async def long_run(self, measures: Measures) -> None:
        """The lines of the run of 200 steps."""
        runs = [await measures.long_run() for _ in range(self._repeats)]
        early, late, resident = min(run[0] for run in runs), min(run[1] for run in runs), runs[0][2]
        growth = late / early
        self.rows += [
            Row("own cost of a step, 1–10, ms", "–", _figure(early), "", True),
            Row(
                "own cost of a step, 191–200, ms", "–", _figure(late), f"{growth:.2f} (≤ 1.5)", growth <= 1.5
            ),
            Row("resident memory after 200 steps, MB", "–", _figure(resident), "≤ 90", resident <= 90),
        ]

    def __str__(self) -> str:
        lines = ["| what | bare agent | Outrider | ratio or bound | |", "|---|--:|--:|---|---|"]
        for row in self.rows:
            holds = ("ok" if row.holds else "**no**") if row.bound else ""
            lines.append(f"| {row.what} | {row.bare} | {row.ours} | {row.bound} | {holds} |")
        return "\n".join(lines)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


async def measured(folder: Path, repeats: int) -> Table:
    """The whole table."""
    measures, table = Measures(folder), Table(repeats)
    await table.ratio("spawn → `initialize` response, ms", measures.initialize_ms, 1.15)
    await table.most("spawn → answer of the first command, ms", measures.first_command_ms, 1000)
    await table.most("a later command, ms", measures.later_command_ms, 10)
    await table.ratio("own cost of a step, run of 50, ms", measures.step_ms, 2.0)
    await table.long_run(measures)
    await table.ratio("relay of one token, ms", measures.relay_ms, 1.5)
    await table.ratio(
        "20 000 one-token chunks, tokens/s", measures.tokens_per_second, 0.75, more_is_better=True
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
    await table.most("resident memory, idle with all imported, MB", measures.idle_mb, 70)
    edits = EditMeasures(folder)
    await table.most("own cost of an edit in an open file of 20 000 lines, ms", edits.edit_ms, 15)
    await table.most("undo of a turn that edited 200 closed files, ms", edits.undo_ms, 1000)
    await table.ratio("search in 50 000 files, 20 unsaved, ms (beside: ripgrep alone)", edits.search_ms, 1.2)
    for files, bound in ((2_000, 100), (20_000, 500)):
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
    arguments = parser.parse_args()
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        table = asyncio.run(measured(Path(folder), 2 if arguments.quick else 6))
    system = f"{platform.system()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"
    print(f"{system}; taken in {time.perf_counter() - begin:.0f} s\n\n{table}")
    return int(arguments.gate and not all(row.holds for row in table.rows))


if __name__ == "__main__":
    sys.exit(main())
