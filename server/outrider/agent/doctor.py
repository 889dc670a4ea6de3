"""Looks at the set-up and says what is wrong and what to do about it. Changes nothing, but that a probe forgets who refused tools."""

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from outrider.agent.confinement import confined as confined_in
from outrider.agent.context_window.counting import Counter
from outrider.agent.offer import encoded
from outrider.agent.probe import models_of, try_all
from outrider.agent.services import Services
from outrider.models.attempts import is_script
from outrider.models.catalog import ModelProblem
from outrider.models.routing.choose import ANSWER_RESERVE
from outrider.permissions.trust import Trust
from outrider.processes import SpawnProblem, can_run_commands, collect, shell_argv
from outrider.store.problem import StoreProblem
from outrider.workspace.search import find_ripgrep
from outrider_protocol.commands import Check

INSTALL = " On Linux, install bubblewrap (`bwrap`); where it is there, the system may forbid user namespaces, which it needs."


async def examine(services: Services, *, probe: bool = False) -> list[Check]:
    """Run all checks.

    Args:
        services: The house.
        probe: Whether every model that may be asked is asked to call a tool; without it nothing goes to a provider.
    """
    checks = [
        Check(name="outrider", status="ok", detail=f"{services.version}, Python {sys.version.split()[0]}"),
        _folders(services),
        await _model(services, probe=probe),
        await _log(services),
        await _commands(services),
        await _sandbox(services),
        await _search(services),
        _editor(services),
        await _permissions(services),
    ]
    if probe:
        checks += await try_all(services)
    return checks


def _folders(services: Services) -> Check:
    folders = services.folders.folders
    if not folders:
        return Check(name="workspace", status="warn", detail="no folder is open: there is nothing to work on")
    return Check(name="workspace", status="ok", detail=", ".join(str(folder.path) for folder in folders))


async def _model(services: Services, *, probe: bool) -> Check:
    models = models_of(services.settings())
    if not models:
        problem = await services.catalog.open(None)
        return Check(name="model", status="fail", detail=getattr(problem, "message", ""))
    said: list[str] = []
    wrong: list[str] = []
    status, least = "warn", await _least(services)
    for reference in models:
        model = await services.catalog.open(reference)
        if isinstance(model, ModelProblem):
            problem = model.message
        else:
            await model.close()
            problem = await services.catalog.unready(reference)
            said.append(f"{reference}, {model.context_window} tokens")
            if least > model.context_window * (1 - ANSWER_RESERVE):
                wrong.append(
                    f"{reference}: the system message and the tools alone are about {least} tokens, and its context window has "
                    f"{model.context_window}: no task fits; set a larger contextWindow, or take another model"
                )
        if problem is not None:
            wrong.append(problem)
            status = status if reference in services.settings().fallback_models else "fail"
    if wrong:
        return Check(name="model", status=status, detail="; ".join(dict.fromkeys(wrong)))
    if not probe and not all(is_script(reference) for reference in models):
        said.append("whether it answers was not tried: a probe (`--probe`) does that")
    return Check(name="model", status="ok", detail="; ".join(said))


async def _least(services: Services) -> int:
    """About how many tokens each request has, whatever the task is."""
    system = await services.briefing.system("agent", services.trust.trusts)
    tools = [tool.spec() for tool in services.tools.offered(read_only=False)]
    return Counter(tools=len(encoded(tools))).tokens([system])


async def _log(services: Services) -> Check:
    problem = await services.store.flush(durable=True)
    if isinstance(problem, StoreProblem):
        return Check(name="log", status="fail", detail=problem.message)
    return Check(name="log", status="ok", detail="can be written")


async def _commands(services: Services) -> Check:
    if not can_run_commands():
        detail = "commands are not run on Windows, so the tools for them are not offered"
        return Check(name="commands", status="warn", detail=detail)
    result = await collect(
        services.supervisor,
        shell_argv("true"),
        cwd=Path.home(),
        env={},
        clock=services.deadlines,
        seconds=10,
        limit=1024,
    )
    if isinstance(result, SpawnProblem):
        return Check(name="commands", status="fail", detail=f"commands cannot be run: {result.message}")
    return Check(name="commands", status="ok", detail="bash runs under the supervisor")


async def _sandbox(services: Services) -> Check:
    folders = services.folders.folders
    cwd = await asyncio.to_thread((folders[0].path if folders else Path.home()).resolve)
    confined = await confined_in(services, shell_argv("true"), cwd)
    if confined.walls is not None or services.settings().sandbox.mode == "off":
        return Check(name="sandbox", status="ok", detail=confined.told)
    status = "fail" if confined.refused else "warn"
    return Check(name="sandbox", status=status, detail=f"{confined.told}{INSTALL}")


async def _search(services: Services) -> Check:
    rg = await asyncio.to_thread(find_ripgrep, services.env.get("PATH"))
    if rg is None:
        detail = "ripgrep was not found: install it, or the package `ripgrep` beside Outrider"
        return Check(name="search", status="fail", detail=detail)
    return Check(name="search", status="ok", detail=rg)


def _editor(services: Services) -> Check:
    traits = services.editor.traits
    missing = [
        text
        for has, text in (
            (
                traits.can_apply_edits,
                "no edits of open documents (they are edited on the disk where it is safe)",
            ),
            (traits.can_show_documents, "no documents can be shown"),
        )
        if not has
    ]
    if missing:
        return Check(name="editor", status="warn", detail="; ".join(missing))
    return Check(name="editor", status="ok", detail="edits and documents are supported")


async def _permissions(services: Services) -> Check:
    await services.ledger.refresh()
    settings = services.settings()
    told = [f"{folder.path} {_TRUST[services.trust.of(folder.path)]}" for folder in services.folders.folders]
    detail = "; ".join([f"mode {settings.permission_mode}", *told])
    if problem := services.trust.file.problem:
        return Check(name="permissions", status="fail", detail=f"{detail}; {problem}")
    if wrong := services.ledger.all_problems:
        status = "fail" if any(is_own for _, is_own in wrong) else "warn"
        detail = "; ".join([detail, *(problem for problem, _ in wrong)])
        return Check(name="permissions", status=status, detail=detail)
    if idle := services.ledger.all_about_nothing:
        return Check(name="permissions", status="warn", detail="; ".join([detail, *idle]))
    return Check(name="permissions", status="ok", detail=detail)


_TRUST: Final[Mapping[Trust, str]] = {
    "trusted": "is trusted",
    "read-only": "is only read: it is not trusted",
    "unknown": "is not trusted yet: what it brings for the agent is left out",
}
