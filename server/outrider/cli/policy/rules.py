"""`outrider permissions list`, `add` and `remove`: what Outrider may do without asking."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table

from outrider.cli.exits import ExitCode
from outrider.cli.problems import Problems
from outrider.cli.terminal import visible
from outrider.permissions.policy.ledger import LEDGER, Ledger, LedgerProblem
from outrider.permissions.policy.rules import Rule
from outrider.ports.clock import SystemClock
from outrider.surroundings import surroundings
from outrider.tools.names import OWN_TOOLS

Object = dict[str, Any]


def open_ledger(rules: Path | None, workspace: Path) -> Ledger:
    """The ledger of the user, or one in another file, as it is now. Blocks.

    Args:
        rules: The other file.
        workspace: The workspace folder.
    """
    path = rules.expanduser().resolve() if rules else surroundings().user_settings.with_name(LEDGER)
    ledger = Ledger(
        path,
        [workspace],
        SystemClock(),
        Problems().warning,
        OWN_TOOLS,
    )
    ledger.refresh_now()
    return ledger


def show_rules(ledger: Ledger, out: Console | None, raw: TextIO) -> ExitCode:
    """List the rules; 1 if the user's file cannot be read.

    Args:
        ledger: The rules.
        out: A console for a user; None for one JSON object on `raw`, as `outrider.permissions` gives it.
        raw: Where that object goes.
    """
    if out is None:
        _print_rules(ledger, raw)
    elif rules := ledger.all_rules:
        table = Table(box=None, show_header=False, pad_edge=False)
        for rule, _ in rules:
            said = rule.to_wire(ledger.about_nothing(rule))
            word = "ended" if ledger.has_ended(rule) else "until"
            until = f"{word} {said['expires']}" if "expires" in said else ""
            table.add_row(rule.id, visible(said["text"]), f"{rule.hits}×", until, rule.origin)
        out.print(table)
    elif ledger.problem is None:
        out.print(f"There are no rules in {ledger.path}.")
    return ExitCode.FAILED if ledger.problem else ExitCode.COMPLETED


def _print_rules(ledger: Ledger, raw: TextIO) -> None:
    rules = [rule.to_wire(ledger.about_nothing(rule)) for rule, _ in ledger.all_rules]
    told: Object = {"path": str(ledger.path), "rules": rules}
    told |= {"problem": ledger.problem} if ledger.problem else {}
    print(json.dumps(told, ensure_ascii=False), file=raw)


async def add_rule(ledger: Ledger, rule: Rule, out: Console | None, raw: TextIO) -> ExitCode:
    """Save a rule, and show it, or with `out` None all rules as JSON on `raw`."""
    done = await ledger.add([rule])
    if isinstance(done, LedgerProblem):
        Problems().error(done.message)
        return ExitCode.USAGE
    if out is None:
        _print_rules(ledger, raw)
    else:
        out.print(f"{rule.id}  {visible(rule.text)}")
    return ExitCode.COMPLETED


async def remove_rule(ledger: Ledger, rule_id: str, out: Console | None, raw: TextIO) -> ExitCode:
    """Take a rule out of the file, and show it, or with `out` None the rules that are left as JSON on `raw`."""
    done = await ledger.remove(rule_id)
    if isinstance(done, LedgerProblem):
        Problems().error(done.message)
        return ExitCode.USAGE
    if out is None:
        _print_rules(ledger, raw)
    else:
        out.print(f"removed  {visible(done.text)}")
    return ExitCode.COMPLETED


def parsed_time(text: str) -> datetime:
    """A time as it is given on the command line.

    Raises:
        ValueError: The text is not a time in ISO 8601.
    """
    return datetime.fromisoformat(text).astimezone()
