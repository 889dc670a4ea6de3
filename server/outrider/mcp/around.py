"""What connections to MCP servers need of the house."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from outrider.ports.clock import Clock
from outrider.processes import Supervisor


class TokenStore(Protocol):
    """Where the tokens of servers are kept, like keys."""

    async def get(self, name: str) -> str | None:
        """What is kept under a name; None where nothing is."""
        ...

    async def put(self, name: str, value: str | None) -> str | None:
        """Keep a value, or forget it; a text says why that failed."""
        ...


@dataclass(frozen=True, slots=True)
class Around:
    """The surroundings of servers."""

    supervisor: Supervisor
    clock: Clock
    """Times what waits for a server."""
    version: str
    environment: Callable[[Mapping[str, str]], Mapping[str, str]]
    """The environment of a server with these variables of its own: made, not inherited."""
    folders: Callable[[], Sequence[tuple[str, str]]]
    """Name and URI of each workspace folder."""
    proxy_for: Callable[[str], str | None]
    ca_file: str | None
    tokens: TokenStore
    open_page: Callable[[str, str], None]
    """Shows the user the page where they log in to a server: its name and the address."""
    cwd: Path
    """Where servers run that are about no folder."""
    secret: Callable[[str], str | None]
    """The value of a variable of the user's environment."""
    schema_problem: Callable[[Mapping[str, Any]], str | None]
    """Why arguments cannot be held against the schema of a tool, None if they can. It takes its time, so it is called in a thread."""
