"""`outrider permissions`: what may happen without a question, and what would be said to a command. Nothing runs."""

import asyncio
import json
import os
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from outrider.agent.permissions import info
from outrider.app import surroundings
from outrider.cli.run import ExitCode
from outrider.cli.terminal import visible
from outrider.cli.trust import open_file
from outrider.permissions.commands import Command
from outrider.permissions.decide import Access, decide, narrowest
from outrider.permissions.guarded import Guarded
from outrider.permissions.ledger import LEDGER, Ledger, LedgerProblem
from outrider.permissions.rules import RUN, Rule
from outrider.ports.clock import SystemClock
from outrider.processes import Supervisor
from outrider.settings import from_layers, read_user_file
from outrider.tools.all import own_tools
from outrider.tools.command_line import look_at, look_with_past
from outrider.tools.git.history import GitHistory, Past
from outrider.workspace.paths import folders_of
from outrider_protocol.settings import PermissionMode

Object = dict[str, Any]
_STYLES: Final = {"allow": "green", "ask": "yellow", "deny": "red"}


def open_ledger(rules: Path | None, workspace: Path, console: Console) -> Ledger:
    """The ledger of the person, or one in another file, as it is now. Blocks.

    Args:
        rules: The other file.
        workspace: The workspace folder.
        console: Where problems of the files are told.
    """
    path = rules.expanduser().resolve() if rules else surroundings().user_settings.with_name(LEDGER)
    ledger = Ledger(
        path,
        [workspace],
        SystemClock(),
        lambda text: console.print(visible(text), style="yellow"),
        own_tools().names,
    )
    ledger.refresh_now()
    return ledger


def script_now(command: str, workspace: Path) -> str | None:
    """The hash of the script of the workspace that a command runs, None where it runs none.

    Args:
        command: The words of a rule.
        workspace: Where it would run.
    """
    looked = look_at(command, folders_of(((workspace.name, workspace.as_uri()),)), workspace)
    hashes = {looked.script_of(number) for number in range(len(looked.ran))} - {None}
    return hashes.pop() if len(hashes) == 1 else None


async def _looked_at(look: Callable[[Past | None], Command], search_path: str) -> Command:
    clock = SystemClock()
    supervisor = Supervisor(clock)
    try:
        return await look_with_past(look, GitHistory(supervisor, clock), search_path)
    finally:
        await supervisor.close()


def check(
    command: str,
    ledger: Ledger,
    mode: PermissionMode | None,
    workspace: Path,
    out: Console | None,
    raw: TextIO,
    told: Console,
) -> ExitCode:
    """Say what would be decided about a command, without doing it.

    Args:
        command: The command line.
        ledger: The rules.
        mode: The permission mode; None for the one of the person's settings.
        workspace: Where it would run.
        out: A console for a person; None for one JSON object on `raw`.
        raw: Where that object goes.
        told: Where is told what is wrong in the file of trusted folders.
    """
    around = surroundings()
    trust = open_file(told).of(os.path.realpath(workspace))
    if trust == "read-only":
        mode = "read-only"
    elif mode is None:
        user, _ = read_user_file(around.user_settings)
        mode = from_layers((str(around.user_settings), user)).settings.permission_mode
        # As where no client names a mode: one for every workspace is none for a folder that nobody vouches for.
        mode = mode if trust == "trusted" else narrowest(mode, "ask")
    guarded = Guarded([workspace])
    guarded.refresh_now()
    folders = folders_of(((workspace.name, workspace.as_uri()),))
    search_path = around.env.get("PATH", "")
    look = partial(look_at, command, folders, workspace, guarded.why_shut, search_path)
    looked = asyncio.run(_looked_at(look, search_path))
    access = Access("execute", command=looked)
    ruling = ledger.ruling(RUN, access, mode)
    judgement = decide(access, mode, frozenset[str](), ruling)
    parts = ledger.parts(looked, mode)
    reason = judgement.reason
    if judgement.verdict == "ask" and judgement.by == "mode":
        asking = [part.reason for part in parts if part.decision == "ask"]
        reason = "; ".join(dict.fromkeys((*looked.line.problems, *asking))) or reason
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
        return ExitCode.COMPLETED
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
    return ExitCode.COMPLETED


def show_rules(ledger: Ledger, out: Console | None, raw: TextIO) -> ExitCode:
    """List the rules; 1 if the person's file cannot be read."""
    rules = [info(rule, ledger.about_nothing(rule)) for rule, _ in ledger.all_rules]
    words = ["ended" if ledger.has_ended(rule) else "until" for rule, _ in ledger.all_rules]
    if out is None:
        told: Object = {"path": str(ledger.path), "rules": [rule.to_wire() for rule in rules]}
        print(
            json.dumps(told | ({"problem": ledger.problem} if ledger.problem else {}), ensure_ascii=False),
            file=raw,
        )
    elif rules:
        table = Table(box=None, show_header=False, pad_edge=False)
        for rule, word in zip(rules, words, strict=True):
            until = f"{word} {rule.expires}" if rule.expires else ""
            table.add_row(rule.id, visible(rule.text), f"{rule.hits}×", until, rule.origin)
        out.print(table)
    elif ledger.problem is None:
        out.print(f"There are no rules in {ledger.path}.")
    return ExitCode.FAILED if ledger.problem else ExitCode.COMPLETED


async def add_rule(ledger: Ledger, rule: Rule, console: Console) -> ExitCode:
    """Save a rule, and show it."""
    done = await ledger.add([rule])
    if isinstance(done, LedgerProblem):
        console.print(f"error: {visible(done.message)}", style="red")
        return ExitCode.USAGE
    console.print(f"{rule.id}  {visible(rule.text)}")
    return ExitCode.COMPLETED


async def remove_rule(ledger: Ledger, rule_id: str, console: Console) -> ExitCode:
    """Take a rule out of the file."""
    done = await ledger.remove(rule_id)
    if isinstance(done, LedgerProblem):
        console.print(f"error: {visible(done.message)}", style="red")
        return ExitCode.USAGE
    console.print(f"removed  {visible(done.text)}")
    return ExitCode.COMPLETED


def parsed_time(text: str) -> datetime:
    """A time as it is given on the command line.

    Raises:
        ValueError: It is none.
    """
    return datetime.fromisoformat(text).astimezone()
