"""Commands that run in the background: of one session, each until it ends, its time is over, or somebody ends it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from outrider.ports.clock import Clock
from outrider.processes.commands import Capture, CommandResult, run_command
from outrider.processes.launcher import Launch
from outrider.processes.supervisor import SpawnProblem, Supervisor

if TYPE_CHECKING:
    from outrider.processes.sandbox.gateway import Way

MOST_RUNNING: Final = 8
"""Jobs of one session that run at once."""
MOST_KEPT: Final = 16
"""Jobs of one session that have ended and can still be read."""

_LONGEST_LINE: Final = 4096
"""Characters of a line that are kept until it is complete."""

JobEnd = Literal["exited", "killed_timeout", "killed_idle", "killed_full", "lost", "killed"]


@dataclass(frozen=True, slots=True)
class JobOrder:
    """What a job runs, and for how long."""

    id: str
    turn_id: str
    """The turn that wants it."""
    command: str
    """As a user reads it."""
    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    sandboxed: bool
    launch: Launch | None
    """What is done before it is executed."""
    total_seconds: float
    idle_seconds: float | None
    """How long it may neither print nor compute; None: for as long as it runs."""
    output_limit: int
    is_full: Callable[[], Awaitable[bool]] | None = None
    """See `run_command`."""
    way: "Way | None" = None
    """Its way to the allowed hosts, which is closed at its end."""


class Job:
    """A command in the background."""

    def __init__(self, order: JobOrder, clock: Clock) -> None:
        self.order = order
        self.status: JobEnd | Literal["running"] = "running"
        self.exit_code: int | None = None
        self.signal: int | None = None
        self.is_watched = False
        """Whether somebody waits for its end, who need not be told of it."""
        self._clock = clock
        self._began = clock.monotonic()
        self._seconds: float | None = None
        self._whole = Capture(order.output_limit)
        self._unread = Capture(order.output_limit)
        self._started: asyncio.Future[SpawnProblem | None] = asyncio.get_running_loop().create_future()
        self._listeners: list[Callable[[str], None]] = []
        self._over = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.is_quiet = False
        """Whether its end is told in another way."""

    @property
    def id(self) -> str:
        """What it is called."""
        return self.order.id

    @property
    def seconds(self) -> float:
        """How long it has run."""
        return self._clock.monotonic() - self._began if self._seconds is None else self._seconds

    @property
    def output(self) -> str:
        """What it has printed, head and tail."""
        return self._whole.text()

    def unread(self) -> str:
        """What it has printed since this was last asked, head and tail."""
        text, self._unread = self._unread.text(), Capture(self.order.output_limit)
        return text

    async def wait(self, seconds: float | None) -> None:
        """Wait until it has ended, for `seconds` at most; None: however long it takes."""
        with suppress(TimeoutError):
            async with self._clock.timeout(seconds):
                await self._over.wait()

    async def wait_for(self, is_wanted: Callable[[str], bool], seconds: float) -> bool:
        """Wait until it prints a wanted line, for `seconds` at most, and no longer than it runs.

        Args:
            is_wanted: Whether that is one; asked of each line that was not read yet or that comes, of the last one also while it
                is not complete, and of no more than the end of a long one.
            seconds: The most that it takes.

        Returns:
            Whether it came.
        """
        found = asyncio.Event()
        line = ""

        def look(text: str) -> None:
            nonlocal line
            *whole, rest = f"{line}{text}".split("\n")
            line = rest[-_LONGEST_LINE:]
            if not found.is_set() and any(map(is_wanted, (*whole, line))):
                found.set()

        look(self._unread.text())
        self._listeners.append(look)
        ends = [asyncio.ensure_future(one.wait()) for one in (found, self._over)]
        try:
            with suppress(TimeoutError):
                async with self._clock.timeout(seconds):
                    await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._listeners.remove(look)
            for one in ends:
                one.cancel()
        return found.is_set()

    async def start(self, supervisor: Supervisor, ended: "Callable[[Job], None]") -> SpawnProblem | None:
        """Start it; `ended` is told when no process of it is left."""
        self._task = asyncio.create_task(self._run(supervisor, ended))
        return await asyncio.shield(self._started)

    async def kill(self) -> None:
        """End it, and wait until no process of it is left."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self, supervisor: Supervisor, ended: "Callable[[Job], None]") -> None:
        order = self.order
        try:
            result = await run_command(
                supervisor,
                order.argv,
                cwd=order.cwd,
                env=order.env,
                clock=self._clock,
                total_seconds=order.total_seconds,
                idle_seconds=order.idle_seconds,
                output_limit=order.output_limit,
                on_output=self._take,
                on_start=lambda: self._started.set_result(None),
                launch=order.launch,
                is_full=order.is_full,
            )
        except asyncio.CancelledError:
            self.status = "killed"
        else:
            self._note(result)
        finally:
            if order.way is not None:
                await order.way.close()
            self._seconds = self._clock.monotonic() - self._began
            began = self._started.done()
            if not began:
                self._started.set_result(SpawnProblem("it was ended before it began"))
            self._over.set()
            if began and self._started.result() is None:
                ended(self)

    def _note(self, result: CommandResult | SpawnProblem) -> None:
        if isinstance(result, SpawnProblem):
            self._started.set_result(result)
            self.status = "lost"
            return
        self.status = "lost" if result.status == "cancelled" else result.status
        if result.exit is not None:
            self.exit_code, self.signal = result.exit.code, result.exit.signal

    def _take(self, text: str) -> None:
        encoded = text.encode("utf-8", "replace")
        self._whole.feed(encoded)
        self._unread.feed(encoded)
        for listener in self._listeners:
            listener(text)


class Jobs:
    """The jobs of one session."""

    def __init__(self, supervisor: Supervisor, clock: Clock, ended: Callable[[Job], None]) -> None:
        """Begin with none; `ended` is told of each job that has ended, unless it is quiet."""
        self._supervisor = supervisor
        self._clock = clock
        self._ended = ended
        self._jobs: dict[str, Job] = {}

    @property
    def all(self) -> list[Job]:
        """Those that run, and the last ones that have ended; the oldest first."""
        return list(self._jobs.values())

    @property
    def running(self) -> list[Job]:
        """Those that run."""
        return [job for job in self._jobs.values() if job.status == "running"]

    def get(self, job_id: str) -> Job | None:
        """The job of that id."""
        return self._jobs.get(job_id)

    async def start(self, order: JobOrder) -> Job | SpawnProblem:
        """Start a job; a cancel ends it."""
        if len(self.running) >= MOST_RUNNING:
            return SpawnProblem(f"{MOST_RUNNING} jobs are running already; end one first")
        job = self._jobs[order.id] = Job(order, self._clock)
        try:
            problem = await job.start(self._supervisor, self._over)
        except BaseException:
            job.is_quiet = True
            await job.kill()
            del self._jobs[order.id]
            raise
        if problem is not None:
            del self._jobs[order.id]
            return problem
        over = [one for one in self._jobs.values() if one.status != "running"]
        for one in over[: max(0, len(over) - MOST_KEPT)]:
            del self._jobs[one.id]
        return job

    def hush(self, turn_id: str | None = None) -> None:
        """Tell nobody of the end of the jobs of a turn; None: of all."""
        for job in self.running:
            if turn_id in (None, job.order.turn_id):
                job.is_quiet = True

    async def end(self, turn_id: str | None = None) -> None:
        """End the jobs of a turn, and tell nobody; None: all."""
        self.hush(turn_id)
        ending = [job.kill() for job in self.running if turn_id in (None, job.order.turn_id)]
        await asyncio.gather(*ending)

    async def kill_those_of(self, turn_id: str) -> None:
        """End the jobs of a turn as if somebody ended each."""
        ending = [job for job in self.running if job.order.turn_id == turn_id]
        for job in ending:
            job.is_quiet = False
        await asyncio.gather(*(job.kill() for job in ending))

    def _over(self, job: Job) -> None:
        if not job.is_quiet:
            self._ended(job)
