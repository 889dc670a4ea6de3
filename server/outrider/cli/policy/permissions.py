"""`outrider permissions check`: what would be said to a command. Nothing runs."""

import asyncio
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TextIO

from rich.console import Console
from rich.text import Text

from outrider.cli.exits import ExitCode
from outrider.cli.policy.trust import open_file
from outrider.cli.terminal import visible
from outrider.permissions.policy.commands import Part
from outrider.permissions.policy.decide import (
    CAN_BE_UNDONE,
    Access,
    Judgement,
    NoSandbox,
    decide,
    narrowest,
)
from outrider.permissions.policy.ledger import Ledger
from outrider.permissions.policy.protected_files import Guarded, may_lead_to_obeyed, meaning_in_commands
from outrider.permissions.policy.rules import RUN
from outrider.ports.clock import SystemClock
from outrider.ports.toml import read_user_file
from outrider.processes import Supervisor, command_environment, shell_argv
from outrider.processes.sandbox import Hidden, Sandbox, SandboxWish
from outrider.settings import from_layers
from outrider.surroundings import surroundings
from outrider.tools.run_command.command_line import look_at, with_objects
from outrider.workspace.documents.documents import DocumentStore
from outrider.workspace.documents.overlay import Overlay
from outrider.workspace.paths import folders_of
from outrider.workspace.search import Search, find_ripgrep
from outrider.workspace.watch.hidden_files import HiddenFiles
from outrider.workspace.watch.obeyed_files import ObeyedFiles
from outrider.workspace.watch.snapshot import Census
from outrider_protocol.choices import PermissionMode
from outrider_protocol.settings import Settings

Object = dict[str, Any]
_STYLES: Final = {"allow": "green", "ask": "yellow", "deny": "red"}
_EXIT: Final = {"allow": ExitCode.COMPLETED, "ask": ExitCode.NEEDS_INPUT, "deny": ExitCode.FAILED}
"""As `outrider run` exits where it may, where it waits for an answer, and where it is refused."""


def script_now(command: str, workspace: Path) -> str | None:
    """The hash of the script of the workspace that a command runs, None where it runs none.

    Args:
        command: The words of a rule.
        workspace: Where it would run.
    """
    looked = look_at(command, folders_of(((workspace.name, workspace.as_uri()),)), workspace)
    hashes = {looked.script_of(number) for number in range(len(looked.ran))} - {None}
    return hashes.pop() if len(hashes) == 1 else None


def mode_of_settings(workspace: Path) -> PermissionMode:
    """The permission mode of a folder where no client names one. Blocks."""
    trust = open_file().of(os.path.realpath(workspace))
    return "read-only" if trust == "read-only" else _mode_of(_user_settings(), trust)


def _user_settings() -> Settings:
    path = surroundings().user_settings
    return from_layers((str(path), read_user_file(path)[0])).settings


def _mode_of(settings: Settings, trust: str) -> PermissionMode:
    # A mode that is set for every workspace does not widen what a folder may that is not trusted.
    mode = settings.permission_mode
    return mode if trust == "trusted" else narrowest(mode, "ask")


async def _access(command: str, workspace: Path, sandbox: SandboxWish, mode: PermissionMode) -> Access | str:
    """What a command line would do as a session runs it here: only read, be held by a sandbox, be taken back; why it would not run at all."""
    around = surroundings()
    clock, env = SystemClock(), around.env
    supervisor = Supervisor(clock)
    tried = Sandbox(supervisor, clock, [around.state_dir])
    guarded = Guarded([workspace])
    shut = HiddenFiles(guarded.why_hidden, guarded.stamps)
    path, real = env.get("PATH", ""), await asyncio.to_thread(workspace.resolve)
    folders = folders_of(((workspace.name, workspace.as_uri()),))
    argv, kept = shell_argv(command), command_environment(env)
    try:
        await guarded.refresh()
        looked = await asyncio.to_thread(look_at, command, folders, workspace, shut, path)
        looked = await with_objects(looked, supervisor, clock, path, [str(workspace)])
        hidden = await asyncio.to_thread(shut.look, [real])
        if looked.reads_in_sandbox and not any(looked.closed) and hidden.is_whole:
            reading = await tried.confine_reading(
                argv,
                cwd=real,
                env=kept,
                folders=[workspace],
                wish=sandbox,
                hidden=Hidden(hidden.files, hidden.folders),
            )
            if reading is not None:
                return Access("execute", command=looked.in_sandbox())
        obeyed = ObeyedFiles(meaning_in_commands, may_lead_to_obeyed)
        sight = await asyncio.to_thread(obeyed.look, [real])
        confined = await tried.confine(
            argv,
            cwd=real,
            env=kept,
            folders=[workspace],
            wish=sandbox,
            protected=sight.protected,
            repositories=sight.repositories,
        )
        held = confined.confinement
        if confined.refused:
            return confined.told
        access = Access(
            "execute",
            command=looked,
            no_sandbox=None if held else NoSandbox(confined.told, confined.turned_off),
        )
        if mode != "auto" or looked.only_reads or held is None or held.network == "open":
            return access
        if confined.why_unprotected:
            return replace(access, why_no_copy=confined.why_unprotected)
        documents = DocumentStore()
        search = Search(
            folders,
            documents,
            Overlay(folders, documents),
            supervisor,
            clock,
            find_ripgrep(path),
            lambda names: guarded.why_hidden(names) is not None,
        )
        # As a session does it: what cannot be copied here is found out by copying.
        why_not = await Census(search, clock, lambda one: guarded.why_hidden((one,)) is not None).keep()
        return replace(access, can_be_undone=not why_not, why_no_copy=why_not)
    finally:
        await tried.close()
        await supervisor.close()


def check(
    command: str,
    ledger: Ledger,
    mode: PermissionMode | None,
    workspace: Path,
    out: Console | None,
    raw: TextIO,
) -> ExitCode:
    """Say what would be decided about a command, without doing it.

    Args:
        command: The command line.
        ledger: The rules.
        mode: The permission mode; None for the one of the user's settings.
        workspace: Where it would run.
        out: A console for a user; None for one JSON object on `raw`.
        raw: Where that object goes.

    Returns:
        The decision: 0 allowed, 3 it would ask, 1 refused.
    """
    trust = open_file().of(os.path.realpath(workspace))
    if trust == "read-only":
        mode = "read-only"
    settings = _user_settings()
    mode = mode or _mode_of(settings, trust)
    wanted = settings.sandbox
    wish = SandboxWish(
        wanted.mode, wanted.network is True, wanted.hosts, tuple(wanted.readable), tuple(wanted.writable)
    )
    access = asyncio.run(_access(command, workspace, wish, mode))
    if isinstance(access, str):
        judgement, ruling, parts = Judgement("deny", access), None, list[Part]()
    else:
        ruling = ledger.ruling(RUN, access, mode)
        judgement = decide(access, mode, frozenset[str](), ruling)
        parts = _parts(access, judgement, ledger, mode)
    reason = judgement.reason
    if (
        isinstance(access, Access)
        and access.command
        and judgement.verdict == "ask"
        and judgement.by == "mode"
    ):
        asking = [part.reason for part in parts if part.decision == "ask"]
        # The whole may ask for what is in none of its parts.
        why = [access.why_no_copy] if access.why_no_copy else [] if asking else [reason]
        reason = "; ".join(dict.fromkeys((*access.command.line.problems, *asking, *why)))
    elif judgement.reason == CAN_BE_UNDONE:
        network = f"network but {', '.join(wanted.hosts)}" if wanted.hosts else "network"
        reason = f"{reason}; it runs in a sandbox without {network}, and asks if it has to leave that"
    rule = ruling.rule if ruling is not None and judgement.by == "rule" else None
    if out is None:
        answer: Object = {"decision": judgement.verdict, "reason": reason}
        answer |= {"rule": rule} if rule else {}
        answer["parts"] = [
            {"argv": part.argv, "decision": part.decision, "reason": part.reason}
            | ({"rule": part.rule.text} if part.rule else {})
            | ({"through": list(part.program.through)} if part.program.through else {})
            for part in parts
        ]
        print(json.dumps(answer, ensure_ascii=False), file=raw)
        return _EXIT[judgement.verdict]
    out.print(Text.assemble((judgement.verdict, _STYLES[judgement.verdict]), f"  {visible(reason)}"))
    for part in parts:
        through = f" through {', '.join(part.program.through)}" if part.program.through else ""
        shown = visible(" ".join(word.source for word in part.program.argv) or part.program.source)
        out.print(
            Text.assemble(
                "  ",
                (f"{part.decision:5}", _STYLES[part.decision]),
                f"  {shown}{through}: {visible(part.reason)}",
            )
        )
    return _EXIT[judgement.verdict]


def _parts(access: Access, judgement: Judgement, ledger: Ledger, mode: PermissionMode) -> list[Part]:
    """The parts of the line; none asks where the mode allows the whole of it, because all can be undone."""
    parts = ledger.parts(access.command, mode) if access.command else []
    if judgement.reason != CAN_BE_UNDONE:
        return parts
    return [
        part._replace(decision="allow", reason=CAN_BE_UNDONE) if part.decision == "ask" else part
        for part in parts
    ]
