"""Which syntax errors an edit brought, as far as that is known soon: nothing waits for it for long, and nothing depends on it."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from outrider.ports.clock import Clock
from outrider.processes import Supervisor, can_run_commands
from outrider.workspace.child import Child, ChildLostError
from outrider.workspace.repository_map.tags import MOST_BYTES, tongue_of

SECONDS: Final = 1.0
"""How long an edit waits for it, the start of the child included. An answer takes some milliseconds, a start a tenth of a second."""
MOST_LOST: Final = 5
"""Children that are lost before there is no other one."""

_PROGRAM: Final = "outrider.workspace.syntax.child"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SyntaxFault:
    """A place that cannot be parsed."""

    line: int
    """From 1."""
    missing: str
    """What is missing there; empty where what is there cannot be read."""


class Syntax:
    """Finds syntax errors with a child process, which is started for the first text and again when it is lost."""

    def __init__(self, supervisor: Supervisor, clock: Clock, env: Mapping[str, str]) -> None:
        """Get ready; nothing is started.

        Args:
            supervisor: Starts the child.
            clock: Times what waits for it.
            env: The environment, of which it gets what the interpreter needs to start.
        """
        self._supervisor, self._clock, self._env = supervisor, clock, env
        self._starting: asyncio.Task[Child] | None = None
        self._lost = 0 if can_run_commands() else MOST_LOST
        self._asking = asyncio.Lock()

    async def new_faults(self, path: str, before: str, after: str) -> Sequence[SyntaxFault]:
        """The syntax errors that came with an edit; none where that is not known, or not soon.

        Args:
            path: The file, whose name tells the language.
            before: Its text before.
            after: Its text after.
        """
        tongue = tongue_of(path)
        if tongue is None or max(len(before), len(after)) > MOST_BYTES or self._lost >= MOST_LOST:
            return ()
        child = None
        try:
            async with self._clock.timeout(SECONDS), self._asking:
                child = await self._started()
                answer = await child.ask("compare", SECONDS, language=tongue.name, before=before, after=after)
        except (TimeoutError, ChildLostError) as problem:
            _log.info("No syntax errors of %s are known: %s", path, problem)
            # One that only takes long to start may go on with that.
            if child is not None or (self._starting is not None and self._starting.done()):
                await self._lose()
            return ()
        return [SyntaxFault(line, missing) for line, missing, _ in answer["faults"]]

    async def close(self) -> None:
        """Let go of the child."""
        self._lost = MOST_LOST
        await self._lose()

    async def _started(self) -> Child:
        if self._starting is None:
            starting = Child.start(self._supervisor, self._clock, _PROGRAM, self._env)
            self._starting = asyncio.create_task(starting, name="start the child that finds syntax errors")
        return await asyncio.shield(self._starting)

    async def _lose(self) -> None:
        starting, self._starting = self._starting, None
        if starting is None:
            return
        self._lost += 1
        await asyncio.wait([starting])
        if not starting.cancelled() and starting.exception() is None:
            await starting.result().end()
