"""The servers that Outrider uses, with their state and errors."""

from collections.abc import Mapping
from typing import Any, Final

from outrider.agent.customization.servers import lines_of
from outrider.agent.services import Services
from outrider.agent.session.session import Refused
from outrider.mcp.configuration import ServerConfig
from outrider.mcp.connection import Connection
from outrider.tools.mcp import server_tools
from outrider_protocol.commands import ServerInfo, ServersParams, ServersResult

ASK_AGAIN: Final = "To be asked again, run `outrider trust forget` in its folder"
"""How to change a no to what a workspace wants to run."""
_STATES: Final[Mapping[str, Any]] = {"off": "available", "ready": "running"}


async def servers(services: Services, params: ServersParams) -> ServersResult | Refused:
    """What there is, after `params` is done. Nothing is started for it but what it names."""
    await services.brought.servers.look(wait=False, begin=False)
    if params.name is not None and (refused := await _done(services, params.name, params)) is not None:
        return refused
    known = {tool.name: tool for tool in server_tools(services.brought.servers.all, ())}
    found = [_info(one, list(known)) for one in services.brought.servers.all]
    found += [
        ServerInfo(kind="mcp", name=one.name, state="waiting", origin=one.origin, runs=_runs(one))
        for one in services.brought.servers.waiting
    ]
    found += [
        ServerInfo(
            kind="mcp",
            name=one.name,
            state="refused",
            detail=f"You said that it shall not run. {ASK_AGAIN}",
            origin=one.origin,
            runs=_runs(one),
        )
        for one in services.brought.servers.refused
    ]
    return ServersResult(servers=found, problems=services.brought.servers.problems)


async def _done(services: Services, name: str, params: ServersParams) -> Refused | None:
    """Do what is asked of a server, or say why it cannot be done."""
    connection = services.brought.servers.get(name)
    if connection is not None:
        problem = await _done_by(connection, params)
        return None if problem is None else Refused("invalid", problem)
    if params.action == "restart" and await services.languages.restart(name):
        return None
    what = "server" if params.action == "restart" else "MCP server"
    return Refused("unknown_id", f"there is no {what} {name!r}, or you have not allowed it")


async def _done_by(connection: Connection, params: ServersParams) -> str | None:
    """Do what is asked of an MCP server; a text says why it cannot be done."""
    match params.action:
        case "login" if not connection.config.url:
            return f"{connection.name} is started here: there is nothing to log in to"
        case "login":
            connection.log_in()
        case "logout":
            return await connection.forget_login()
        case "restart":
            connection.restart()
        case "list":
            pass
    return None


def _runs(config: ServerConfig) -> str:
    return "; ".join(lines_of(config))


def _info(connection: Connection, names: list[str]) -> ServerInfo:
    config = connection.config
    own = [name for name in names if name.startswith(f"{config.name}__")]
    return ServerInfo(
        kind="mcp",
        name=config.name,
        state=_STATES.get(connection.state, connection.state),
        version=connection.version or None,
        detail="; ".join([connection.error] if connection.error else connection.lists.problems) or None,
        origin=config.origin,
        runs=_runs(config),
        protocol=connection.protocol or None,
        tools=own if connection.state == "ready" else None,
        login_url=connection.login_url or None,
    )
