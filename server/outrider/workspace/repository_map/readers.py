"""Reads the tags of files and texts in processes of its own, which may die of what they read.

The grammars are native code. There are short texts for which a parser takes minutes or all the memory there is, and no way to
stop it from inside; so each text has some seconds of the processor and some memory, and the system ends the process that
wants more. Such a text has no tags, and the others are read by the next process.
"""

import os
import stat
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Final

from outrider.workspace.repository_map.limits import limit_memory, limited_time
from outrider.workspace.repository_map.numbers import Numbers, numbers_in, numbers_of
from outrider.workspace.repository_map.tags import MOST_BYTES, NONE, Tagger, Tags, Tongue

MANY: Final = 200
"""Files from which several processes read them."""
MOST_PROCESSES: Final = 4
MOST_DEATHS: Final = 20
"""In one go; then the rest is not read, as somebody means it."""

_AT_ONCE: Final = 50
"""Files that a process is told of at a time."""
_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be read."""

    tongue: Tongue
    path: str
    text: bytes | None = None
    """Where it is not on disk."""


Found = tuple[Numbers, Tags]
"""The mark of a file, empty for a text, and its tags."""


@dataclass(slots=True)
class _Worker:
    process: ForkProcess
    connection: Connection
    waiting: deque[int] = field(default_factory=deque[int])
    """The jobs that it has not answered yet."""

    def end(self) -> None:
        self.connection.close()
        self.process.kill()
        self.process.join()


def read_tags(jobs: Sequence[Job]) -> list[Found | None]:
    """The tags of all of these; None for what is not a regular file.

    No process stays for the next time: it would hold grammars and memory until some file changes.
    """
    found: list[Found | None] = [None] * len(jobs)
    left = deque(range(len(jobs)))
    busy: dict[Connection, _Worker] = {}
    deaths = 0

    def employ() -> None:
        worker = _start()
        busy[worker.connection] = worker
        give(worker)

    def give(worker: _Worker) -> None:
        numbers = [left.popleft() for _ in range(min(_AT_ONCE, len(left)))]
        worker.waiting.extend(numbers)
        with suppress(OSError):  # it has ended: what is read of it next says so
            worker.connection.send([jobs[number] for number in numbers])

    for _ in range(1 if len(jobs) < MANY else _processors()):
        if left:
            employ()
    while busy:
        ready = wait(list(busy))
        for connection in [one for one in busy if one in ready]:
            worker = busy[connection]
            number = worker.waiting.popleft()
            try:
                found[number] = connection.recv()
            except (EOFError, OSError):
                job = jobs[number]
                numbers = () if job.text is not None else numbers_of(job.path)
                found[number] = None if numbers is None else (numbers, NONE)
                left.extendleft(reversed(worker.waiting))
                del busy[connection]
                worker.end()
                deaths += 1
                if deaths == MOST_DEATHS:
                    left.clear()
                if left:
                    employ()
                continue
            if worker.waiting:
                continue
            if left:
                give(worker)
            else:
                del busy[connection]
                worker.end()
    return found


def _processors() -> int:
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(count, MOST_PROCESSES)


def _start() -> _Worker:
    context = get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, ours), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, ours)


def _work(connection: Connection, other_end: Connection) -> None:
    """Answer jobs, one by one, until there are no more."""
    other_end.close()
    # The line to the server is none of its business.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    limit_memory()
    tagger = Tagger()
    with suppress(EOFError, OSError):
        while True:
            for job in connection.recv():
                with limited_time():
                    found = _found(tagger, job)
                connection.send(found)


def _found(tagger: Tagger, job: Job) -> Found | None:
    if job.text is not None:
        return (), tagger.tags_of(job.tongue, job.text)
    try:
        file = os.open(job.path, _FLAGS)
    except (OSError, ValueError):
        return None
    with os.fdopen(file, "rb") as content:
        try:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode):
                return None
            text = content.read(MOST_BYTES + 1) if status.st_size <= MOST_BYTES else b"\0"
        except OSError:
            return None
        return numbers_in(status), tagger.tags_of(job.tongue, text)
