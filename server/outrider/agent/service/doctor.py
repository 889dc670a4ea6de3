"""Looks at the set-up and says what is wrong and what to do about it. Starts the MCP servers that may run; changes nothing, but that a probe forgets who refused tools."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from outrider.agent.context.budget import STANDING_SHARE
from outrider.agent.context.offer import Offer, is_small
from outrider.agent.context.tokens import Counter
from outrider.agent.loop.tool_context import Commands, shared_by
from outrider.agent.service.servers import ASK_AGAIN
from outrider.agent.service.servers import servers as mcp_servers
from outrider.agent.service.trial import try_tools
from outrider.agent.services import Services
from outrider.models.catalog import ModelProblem
from outrider.models.routing.choose import in_order
from outrider.permissions.policy.trust import Trust
from outrider.ports.text import spelled_out
from outrider.processes import SpawnProblem, can_run_commands, collect, shell_argv
from outrider.store.problem import StoreProblem
from outrider.workspace.search import find_ripgrep
from outrider_protocol.commands import Check, ServerInfo, ServersParams, ServersResult
from outrider_protocol.settings import Settings, is_script

SERVER_SECONDS: Final = 5.0
"""How long an MCP server that may run is waited for."""
AT_ONCE: Final = 4
"""Models that are asked at the same time."""
MOST_PROBED: Final = 16
"""Models that are asked at all: each request costs something."""


def models_of(settings: Settings) -> list[str]:
    """The models that a turn may ask, the one of its first step first."""
    listed = [one.model for one in in_order(settings.tiers, "frontier", settings.model)]
    return list(dict.fromkeys([*listed, *settings.fallback_models]))


async def try_all(services: Services) -> list[Check]:
    """Ask every model that a turn may ask to call a tool; gives what came of each, in the order of the settings.

    Args:
        services: The house.
    """
    models, free = models_of(services.runtime.settings()), asyncio.Semaphore(AT_ONCE)

    async def tried(reference: str) -> Check:
        async with free:
            came = await try_tools(services.catalog, services.runtime.deadlines, reference)
            return Check(name="tools", status=came.status, detail=f"{reference}: {came.detail}")

    checks = await asyncio.gather(*(tried(one) for one in models[:MOST_PROBED]))
    if left := models[MOST_PROBED:]:
        detail = f"more than {MOST_PROBED} models are set; not tested: {', '.join(left)}"
        return [*checks, Check(name="tools", status="warn", detail=detail)]
    return checks


INSTALL = (
    " On Linux, install bubblewrap (`bwrap`). If it is installed, it also needs unprivileged user namespaces."
)


async def examine(services: Services, at_start: Sequence[str] = (), *, probe: bool = False) -> list[Check]:
    """Run all checks.

    Args:
        services: The house.
        at_start: What was wrong with the settings and the log when the server started.
        probe: Whether every model that may be asked is asked to call a tool; without it nothing goes to a provider.
    """
    version = services.runtime.version
    checks = [
        Check(name="outrider", status="ok", detail=f"{version}, Python {sys.version.split()[0]}"),
        *(Check(name="start", status="warn", detail=one) for one in at_start),
        _folders(services),
        await _model(services, probe=probe),
        await _log(services),
        await _commands(services),
        await _sandbox(services),
        await _search(services),
        await _languages(services),
        _editor(services),
        await _permissions(services),
        *await _brought(services),
    ]
    if probe:
        checks += await try_all(services)
    # Much of it is in a stranger's words, and goes to a terminal.
    return [one.model_copy(update={"detail": spelled_out(one.detail)}) for one in checks]


async def _brought(services: Services) -> list[Check]:
    """What users and workspaces brought along; nothing where there is none."""
    found: list[Check] = []
    # A state that another process sees would be told by none: what may run is tried here.
    servers = services.brought.servers
    await servers.look(wait=False)
    await asyncio.gather(*(one.ready(SERVER_SECONDS) for one in servers.all))
    listed = await mcp_servers(services, ServersParams())
    if isinstance(listed, ServersResult):
        found += [_mcp_server(one) for one in listed.servers]
        found += [Check(name="mcp", status="warn", detail=problem) for problem in listed.problems]
    named = await services.brought.commands.listed()
    hooks = await services.policy.hooks.listed()
    for kind, names in (
        ("skills", [one.name for one in services.brought.skills.all]),
        ("custom commands", [f"/{one.name}" for one in named if one.source in {"user", "workspace"}]),
        ("hooks", hooks.running),
    ):
        if names:
            found.append(
                Check(name=kind, status="ok", detail=(", " if kind != "hooks" else "; ").join(names))
            )
    for kind, problems in (
        ("skills", services.brought.skills.problems),
        ("custom commands", services.brought.commands.problems),
    ):
        found += [Check(name=kind, status="warn", detail=one) for one in problems]
    found += [
        Check(name="hooks", status="warn", detail=f"waiting for your yes: {one}") for one in hooks.waiting
    ]
    found += [
        Check(name="hooks", status="ok", detail=f"refused: {one}. {ASK_AGAIN}") for one in hooks.refused
    ]
    found += [Check(name="hooks", status="warn", detail=problem) for problem in hooks.problems]
    if withheld := await services.brought.withheld():
        detail = f"{withheld} are ignored: run `outrider trust add` if you trust them"
        found.append(Check(name="not trusted", status="warn", detail=detail))
    found += [
        Check(name="memory", status="ok", detail=f"{one.path}, {len(one.text.splitlines())} lines")
        for one in await services.brought.memory.read()
    ]
    if (web := services.runtime.settings().web) is not None:
        detail = f"without a question: {', '.join(web.hosts)}" if web.hosts else "every host is asked about"
        found.append(Check(name="web", status="ok", detail=detail))
    return found


def _mcp_server(info: ServerInfo) -> Check:
    about = f"{info.name} ({info.origin}): {info.state}"
    match info.state:
        case "running":
            detail = f"{about}, version {info.version or 'unknown'}, {len(info.tools or ())} tools"
            return Check(name=info.kind, status="ok", detail=detail)
        case "failed":
            return Check(name=info.kind, status="warn", detail=f"{about}. {info.detail}")
        case "login":
            return Check(name=info.kind, status="warn", detail=f"{about}: log in with `outrider.servers`")
        case "waiting":
            verb = "is at" if (info.runs or "").startswith(("http://", "https://")) else "runs"
            detail = f"{about} for your yes. It {verb} {info.runs}"
            return Check(name=info.kind, status="warn", detail=detail)
        case "refused":
            return Check(name=info.kind, status="ok", detail=f"{about}. {info.detail}")
        case "starting":
            detail = f"{about}. It did not answer within {SERVER_SECONDS:g} s"
            return Check(name=info.kind, status="warn", detail=detail)
        case _ if info.detail:
            return Check(name=info.kind, status="warn", detail=f"{about}. {info.detail}")
        case _:
            return Check(name=info.kind, status="ok", detail=f"{about}. It starts with the first task")


def _folders(services: Services) -> Check:
    folders = services.workspace.folders.folders
    if not folders:
        return Check(name="workspace", status="warn", detail="no folder is open: open one to work in")
    return Check(name="workspace", status="ok", detail=", ".join(str(folder.path) for folder in folders))


async def _model(services: Services, *, probe: bool) -> Check:
    models = models_of(services.runtime.settings())
    if not models:
        problem = await services.catalog.open(None)
        return Check(name="model", status="fail", detail=getattr(problem, "message", ""))
    said: list[str] = []
    wrong: list[str] = []
    status = "warn"
    for reference in models:
        model = await services.catalog.open(reference)
        if isinstance(model, ModelProblem):
            problem = model.message
        else:
            await model.close()
            problem = await services.catalog.unready(reference)
            said.append(f"{reference}, {model.context_window} tokens")
            least = await _least(services, model.context_window)
            if least > model.context_window * STANDING_SHARE:
                wrong.append(
                    f"{reference}: the system message and the tools alone are about {least} tokens, and its context window "
                    f"has {model.context_window}: the context window is too small for any task; set a larger contextWindow, or choose another model"
                )
        if problem is not None:
            wrong.append(problem)
            status = status if reference in services.runtime.settings().fallback_models else "fail"
    if wrong:
        return Check(name="model", status=status, detail="; ".join(dict.fromkeys(wrong)))
    if not probe and not all(is_script(reference) for reference in models):
        said.append("not contacted; run with `--probe` to test it")
    return Check(name="model", status="ok", detail="; ".join(said))


async def _least(services: Services, context_window: int) -> int:
    """About how many tokens each request to a model with that window has, whatever the task is."""
    in_short = is_small(context_window)
    system = await services.briefing.system(
        "agent", services.policy.trust.trusts, _commands_of(services), in_short=in_short
    )
    offered = await services.tools.now("agent").offered_now("agent")
    offer = Offer([tool.spec() for tool in offered], in_short=in_short)
    return Counter(tools=len(offer.everything)).tokens([system])


def _commands_of(services: Services) -> Commands:
    return Commands(services.runtime, services.workspace, services.policy.sandbox)


async def _log(services: Services) -> Check:
    problem = await services.runtime.store.flush(durable=True)
    if isinstance(problem, StoreProblem):
        return Check(name="log", status="fail", detail=problem.message)
    return Check(name="log", status="ok", detail="can be written")


async def _commands(services: Services) -> Check:
    if not can_run_commands():
        detail = "commands are not supported on Windows, so their tools are not offered"
        return Check(name="commands", status="warn", detail=detail)
    result = await collect(
        services.runtime.supervisor,
        shell_argv("true"),
        cwd=Path.home(),
        env={},
        clock=services.runtime.deadlines,
        seconds=10,
        limit=1024,
    )
    if isinstance(result, SpawnProblem):
        return Check(name="commands", status="fail", detail=f"commands cannot run: {result.message}")
    return Check(name="commands", status="ok", detail="bash runs under the supervisor")


async def _sandbox(services: Services) -> Check:
    folders = services.workspace.folders.folders
    cwd = await asyncio.to_thread((folders[0].path if folders else Path.home()).resolve)
    shared = shared_by(services.runtime, services.policy, "doctor")
    try:
        commands = Commands(services.runtime, services.workspace, services.policy.sandbox, shared)
        confined = await commands.confine(shell_argv("true"), cwd)
    finally:
        await shared.close()
    if confined.facts.closed_hosts:
        return Check(name="sandbox", status="warn", detail=confined.told)
    if confined.unenforced:
        return Check(name="sandbox", status="warn", detail=f"{confined.told}{INSTALL}")
    if confined.confinement is not None or services.runtime.settings().sandbox.mode == "off":
        return Check(name="sandbox", status="ok", detail=confined.told)
    status = "fail" if confined.refused else "warn"
    return Check(name="sandbox", status=status, detail=f"{confined.told}{INSTALL}")


async def _search(services: Services) -> Check:
    rg = await asyncio.to_thread(find_ripgrep, services.runtime.env.get("PATH"))
    if rg is None:
        detail = "ripgrep was not found: install it, or the package `ripgrep` beside Outrider"
        return Check(name="search", status="fail", detail=detail)
    return Check(name="search", status="ok", detail=rg)


async def servers(services: Services) -> list[ServerInfo]:
    """The language servers of the trusted workspace folders."""
    return [
        ServerInfo(
            name=one.name,
            kind="language",
            folder=one.folder or None,
            state=one.state,
            version=one.version or None,
            memory=one.memory,
            detail=one.detail or None,
        )
        for one in await services.languages.status()
    ]


async def _languages(services: Services) -> Check:
    """How the language servers are: a missing one is no fault of the set-up, one that fails is."""
    found = await servers(services)
    withheld = await services.languages.withheld()
    said = [*map(_said_of, found), *withheld]
    is_odd = withheld or any(one.state in {"missing", "ended", "failed"} for one in found)
    status = "warn" if is_odd else "ok"
    return Check(
        name="languages", status=status, detail="; ".join(said) or "no language server is wanted here"
    )


def _said_of(one: ServerInfo) -> str:
    if one.state == "missing":
        return f"{one.name}: no language server, install one of {one.detail}"
    about = [
        one.state,
        one.version or "",
        "" if one.memory is None else f"{one.memory >> 20} MB",
        one.detail or "",
    ]
    return f"{one.name} ({', '.join(filter(None, about))})"


def _editor(services: Services) -> Check:
    traits = services.runtime.editor.traits
    missing = [
        text
        for has, text in (
            (
                traits.can_apply_edits,
                "cannot edit open documents (files are edited on disk where that is safe)",
            ),
            (traits.can_show_documents, "cannot show documents"),
        )
        if not has
    ]
    if missing:
        return Check(name="editor", status="warn", detail="; ".join(missing))
    return Check(name="editor", status="ok", detail="edits and documents are supported")


async def _permissions(services: Services) -> Check:
    await services.policy.ledger.refresh()
    settings = services.runtime.settings()
    told: list[str] = []
    for folder in services.workspace.folders.folders:
        trust = services.policy.trust.of(folder.path)
        own = await services.briefing.instructions_of(folder) if trust == "unknown" else None
        ignored = f": its agent instructions ({own}) are ignored" if own is not None else ""
        told.append(f"{folder.path} {_TRUST[trust]}{ignored}")
    detail = "; ".join([f"mode {settings.permission_mode}", *told])
    if problem := services.policy.trust.file.problem:
        return Check(name="permissions", status="fail", detail=f"{detail}; {problem}")
    if wrong := services.policy.ledger.all_problems:
        status = "fail" if any(is_own for _, is_own in wrong) else "warn"
        detail = "; ".join([detail, *(problem for problem, _ in wrong)])
        return Check(name="permissions", status=status, detail=detail)
    if idle := services.policy.ledger.all_about_nothing:
        return Check(name="permissions", status="warn", detail="; ".join([detail, *idle]))
    return Check(name="permissions", status="ok", detail=detail)


_TRUST: Final[Mapping[Trust, str]] = {
    "trusted": "is trusted",
    "read-only": "read-only (untrusted)",
    "unknown": "not trusted yet",
}
