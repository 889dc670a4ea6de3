"""A bar on standard error for what takes longer than a second, on a terminal only: it goes before anything else is written."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from outrider.cli.problems import Problems

if TYPE_CHECKING:
    from rich.progress import Progress

AFTER_SECONDS: Final = 1.0
"""What is done sooner needs no bar."""


class Bar:
    """A bar that is not drawn yet."""

    def __init__(self, what: str, problems: Problems, total: int | None = None) -> None:
        """Have it say `what` is done; with a `total` it says how much of it."""
        self._what, self._total = what, total
        self._problems = problems
        self._done = 0
        self._drawn: Progress | None = None

    def step(self) -> None:
        """One more of the total is done."""
        self._done += 1
        if self._drawn is not None:
            self._drawn.update(self._drawn.task_ids[0], completed=self._done)

    async def draw_later(self, seconds: float) -> None:
        """Draw it if it is still there then."""
        await asyncio.sleep(seconds)
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        counts = [] if self._total is None else [MofNCompleteColumn()]
        columns = [TextColumn("{task.description}", markup=False), BarColumn(), *counts, TimeElapsedColumn()]
        self._drawn = Progress(
            *columns,
            console=self._problems.console,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._drawn.add_task(self._what, total=self._total, completed=self._done)
        self._drawn.start()

    def clear(self) -> None:
        """Take it away, for good."""
        if self._drawn is not None:
            drawn, self._drawn = self._drawn, None
            drawn.stop()


@asynccontextmanager
async def in_progress(what: str, problems: Problems, total: int | None = None) -> AsyncGenerator[Bar, None]:
    """Show that something is being done, from the first second on until its end or until `problems` has something to say.

    Args:
        what: What is done, as a user reads it.
        problems: What may be written meanwhile; the bar is drawn where that goes.
        total: How many steps it has, where that is known.
    """
    bar = Bar(what, problems, total)
    if not problems.console.file.isatty() or problems.console.is_dumb_terminal:
        yield bar
        return
    before = problems.before
    drawing = asyncio.create_task(bar.draw_later(AFTER_SECONDS))

    def make_room() -> None:
        drawing.cancel()
        bar.clear()
        before()

    problems.before = make_room
    try:
        yield bar
    finally:
        drawing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await drawing
        bar.clear()
        problems.before = before
