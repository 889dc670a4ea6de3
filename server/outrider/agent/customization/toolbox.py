"""The tools that there are now: Outrider's own, the client's, and those that only exist where something was brought along."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from outrider.agent.customization.commands import CustomCommands
from outrider.agent.customization.memory import Memory
from outrider.agent.customization.scoped_instructions import ScopedInstructions
from outrider.agent.customization.servers import Servers
from outrider.agent.customization.skills import Skills
from outrider.tools.mcp import offered, server_tools
from outrider.tools.registry import Registry, Tool
from outrider.tools.skill import skill_tool
from outrider.tools.web import Web, fetch_tool
from outrider.workspace.paths import Folder
from outrider_protocol.events import Mode
from outrider_protocol.settings import Settings


class Looked(Protocol):
    """What is looked for at the start of a turn; see `Hooks`."""

    async def withheld(self, folder: Folder | None = None) -> Sequence[str]:
        """The files of workspace folders that are not trusted, or of one of them."""
        ...

    async def look(self, session_id: str, turn_id: str, seconds: float) -> None:
        """Find out what there is; the user is asked about what is new, for some seconds."""
        ...


@dataclass(frozen=True, slots=True)
class Brought:
    """What a user and a workspace brought along."""

    commands: CustomCommands
    skills: Skills
    servers: Servers
    hooks: Looked
    memory: Memory
    scoped: ScopedInstructions

    async def withheld(self, folder: Folder | None = None) -> str:
        """What does not count because its folder is not trusted, in words; empty where nothing is.

        Args:
            folder: The folder; None for all that are not trusted.
        """
        counted = (
            (self.commands, "custom command"),
            (self.skills, "skill"),
            (self.scoped, "rule"),
        )
        parts: list[str] = []
        for one, kind in counted:
            if count := len(await one.withheld(folder)):
                parts.append(f"{count} {kind}{'s' * (count > 1)}")
        for one, kind in ((self.servers, "MCP servers"), (self.hooks, "hooks"), (self.memory, "memory")):
            if files := await one.withheld(folder):
                parts.append(f"{kind} ({', '.join(files)})")
        return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


class Toolbox:
    """Puts together the tools of a turn. They can be others for each request."""

    def __init__(
        self, lasting: Registry, brought: Brought, settings: Callable[[], Settings], web: Web
    ) -> None:
        """Begin with the tools that stay the same as long as the process runs."""
        self._lasting = lasting
        self._memory = brought.memory
        self._hooks = brought.hooks
        self._settings = settings
        self._fetch = fetch_tool(web)
        self._skills = brought.skills
        self._servers = brought.servers
        self._made: tuple[object, list[Tool[Any]]] = (None, [])

    async def prepare(self, session_id: str, turn_id: str, seconds: float) -> None:
        """Look for what may have come or gone since, at the start of a turn.

        Args:
            session_id: The session.
            turn_id: Its turn.
            seconds: How long a question about a new server holds it.
        """
        await self._skills.refresh()
        await self._memory.read()
        await self._hooks.look(session_id, turn_id, seconds)
        await self._servers.look(session_id, turn_id, seconds)

    def now(self, mode: Mode, looked_up: Collection[str] = ()) -> Registry:
        """The tools of a turn as they are now.

        Args:
            mode: What the turn may do.
            looked_up: The tools of MCP servers whose definitions the model has looked up.
        """
        more: list[Tool[Any]] = []
        if (skill := skill_tool(self._skills.all)) is not None:
            more.append(skill)
        if self._settings().web is not None:
            more.append(self._fetch)
        # A turn that only reads has none of what others run.
        if mode == "agent":
            more += offered(self._of_servers(), looked_up)
            if (remember := self._memory.tool) is not None:
                more.append(remember)
        return self._lasting.with_others(more) if more else self._lasting

    def _of_servers(self) -> list[Tool[Any]]:
        """The tools of the servers; made anew where a server has others."""
        state = [(one.name, id(one), one.state, id(one.lists)) for one in self._servers.all]
        if state != self._made[0]:
            self._made = (state, server_tools(self._servers.all, self._lasting.names))
        return self._made[1]
