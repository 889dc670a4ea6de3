"""What a way to confine commands has to offer: each system has its own, and `sandbox.py` takes the first that works."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from outrider.processes.launcher import Launch
from outrider.processes.sandbox.confinement import Confinement
from outrider.processes.sandbox.gateway import Way


@dataclass(frozen=True, slots=True)
class Confining:
    """A command as it is started, confined."""

    argv: tuple[str, ...]
    launch: Launch | None = None
    """What is done before it is executed."""
    is_full: Callable[[], Awaitable[bool]] | None = None
    """Says whether it has written more temporary files than it may; None: they are its own, or nobody limits them."""
    way: Way | None = None
    """Its way to the allowed hosts, which whoever starts it closes at its end; None: it has none."""

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """The environment that it is started with, from the one that was planned: with the variables of its way."""
        if self.way is None:
            return dict(env)
        kept = {name: value for name, value in env.items() if not name.lower().endswith("_proxy")}
        return kept | self.way.env

    async def close(self) -> None:
        """It has ended: nobody goes on using its way."""
        if self.way is not None:
            await self.way.close()


class Backend(Protocol):
    """One way to confine commands. It decides nothing: it writes a `Confinement` down for its system."""

    @property
    def name(self) -> str:
        """What a user knows it by."""
        ...

    @property
    def program(self) -> str | None:
        """The program that it needs; None for none."""
        ...

    @property
    def has_own_tmp(self) -> bool:
        """Whether commands need no folder for temporary files."""
        ...

    @property
    def holds_protected(self) -> bool:
        """Whether what is protected in a folder that can be written stays as it is."""
        ...

    @property
    def can_share(self) -> bool:
        """Whether commands can share a network, and a folder for temporary files."""
        ...

    @property
    def shows_sockets(self) -> bool:
        """Whether commands could connect to sockets that they see."""
        ...

    def problem(self, confinement: Confinement) -> str | None:
        """Why it cannot be used here, as far as that can be known without trying; None if nothing is known. Blocks."""
        ...

    def unenforced(self, confinement: Confinement) -> tuple[str, ...]:
        """What of a confinement it cannot hold, each as half a sentence for the user. Blocks."""
        ...

    def confine(self, confinement: Confinement, program: str, cwd: str, argv: Sequence[str]) -> Confining:
        """How to run a command so. Blocks.

        Args:
            confinement: What it may do. Each path exists.
            program: What to start for `program`.
            cwd: The real path of the folder that it runs in.
            argv: The command.
        """
        ...
