"""The arguments of `outrider permissions`."""

import sys
from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from outrider.cli.options import JsonOption, WorkspaceOption, console, ends, folder, read_standard_input
from outrider_protocol.choices import PermissionMode

app: Final = typer.Typer(
    name="permissions",
    no_args_is_help=True,
    help="Rules for what Outrider may do without asking: list, add, remove, or check a command.",
)

RulesOption = Annotated[
    Path | None,
    typer.Option(
        "--rules", metavar="FILE", help="A rules file to use instead of the user's.", show_default=False
    ),
]


@app.command("check")
def check(
    command: Annotated[
        str, typer.Argument(metavar="CMD", help="A command line, in quotes; - reads it from standard input.")
    ],
    mode: Annotated[
        PermissionMode | None,
        typer.Option(
            "--mode",
            help="The permission mode. Default: the folder's mode, from the user's settings and its trust.",
        ),
    ] = None,
    rules: RulesOption = None,
    workspace: WorkspaceOption = Path(),
    as_json: JsonOption = False,
) -> None:
    """Say whether a command would be allowed, asked for or denied, part by part, and why. Nothing runs.

    Exit code 0: it is allowed, 3: it would ask, 1: it is refused, 2: the arguments are wrong.
    """
    from outrider.cli.policy import permissions
    from outrider.cli.policy.rules import open_ledger

    if command == "-":
        command = read_standard_input("CMD").rstrip("\n")
    root = folder(workspace)
    ledger = open_ledger(_file(rules), root)
    shown_on = None if as_json else console()
    raise typer.Exit(permissions.check(command, ledger, mode, root, shown_on, sys.stdout))


@app.command("list")
def list_rules(
    rules: RulesOption = None, workspace: WorkspaceOption = Path(), as_json: JsonOption = False
) -> None:
    """List the rules, with their ids and how often each decided."""
    from outrider.cli.policy import rules as saved

    ledger = saved.open_ledger(rules, folder(workspace))
    raise typer.Exit(saved.show_rules(ledger, None if as_json else console(), sys.stdout))


@app.command("add")
def add(
    decision: Annotated[Literal["allow", "ask", "deny"], typer.Argument(metavar="allow|ask|deny")],
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT", help="The words that a command begins with; with --tool, a path glob."
        ),
    ] = "",
    tool: Annotated[str, typer.Option(help="The tool.")] = "run_command",
    script: Annotated[
        str | None,
        typer.Option(
            metavar="HASH",
            help="For a script of the workspace: its SHA-256, or `any` for any content. Default: its current content.",
        ),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(
            metavar="HOST", help="A host that the command names, such as '*.example.org'; not with allow."
        ),
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Match only a command of exactly these words.")
    ] = False,
    everywhere: Annotated[
        bool, typer.Option("--everywhere", help="Apply in every workspace, not only this one.")
    ] = False,
    expires: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="When the rule expires, such as 2030-01-31 or 2030-01-31T12:00Z."),
    ] = None,
    rules: RulesOption = None,
    workspace: WorkspaceOption = Path(),
    as_json: JsonOption = False,
) -> None:
    """Save a rule: `outrider permissions add allow "git diff"`."""
    from outrider.cli.policy import rules as saved
    from outrider.permissions.policy.rules import RUN, Rule

    try:
        until = saved.parsed_time(expires) if expires else None
    except ValueError as problem:
        raise typer.BadParameter(f"{expires} is not a date or time", param_hint="--expires") from problem
    root = folder(workspace)
    is_command = tool == RUN
    if is_command and decision == "allow" and what and script is None:
        from outrider.cli.policy.permissions import script_now

        script = script_now(what, root)
    rule = Rule(
        decision,
        tool,
        what or None if is_command else None,
        exact,
        script,
        None if is_command else what or None,
        host,
        workspace=None if everywhere else str(root),
        expires=until,
    )
    ledger = saved.open_ledger(rules, root)
    raise ends(saved.add_rule(ledger, rule, None if as_json else console(), sys.stdout))


@app.command("remove")
def remove(
    rule_id: Annotated[str, typer.Argument(metavar="ID", help="The rule's id, as `list` shows it.")],
    rules: RulesOption = None,
    workspace: WorkspaceOption = Path(),
    as_json: JsonOption = False,
) -> None:
    """Take a rule out of the ledger."""
    from outrider.cli.policy import rules as saved

    ledger = saved.open_ledger(rules, folder(workspace))
    raise ends(saved.remove_rule(ledger, rule_id, None if as_json else console(), sys.stdout))


def _file(path: Path | None) -> Path | None:
    if path is not None and not path.expanduser().is_file():
        raise typer.BadParameter(f"there is no file {path}", param_hint="--rules")
    return path
