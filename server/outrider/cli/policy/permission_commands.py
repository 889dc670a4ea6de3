"""The arguments of `outrider permissions`."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from outrider.cli.terminal import make_console
from outrider_protocol.settings import PermissionMode

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
WorkspaceOption = Annotated[
    Path,
    typer.Option("--workspace", "-C", help="The workspace folder. Default: this folder.", show_default=False),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]


@app.command("check")
def check(
    command: Annotated[str, typer.Argument(metavar="CMD", help="A command line, in quotes.")],
    mode: Annotated[
        PermissionMode | None,
        typer.Option(
            "--mode",
            help="The permission mode. Default: the folder's mode, from the user's settings and its trust.",
        ),
    ] = None,
    rules: RulesOption = None,
    workspace: WorkspaceOption = Path(),
    json_object: JsonOption = False,
) -> None:
    """Say whether a command would be allowed, asked for or denied, part by part, and why. Nothing runs.

    Exit code 0: it is allowed, 3: it would ask, 1: it is refused, 2: the arguments are wrong.
    """
    from outrider.cli.policy import permissions

    folder = existing_folder(workspace)
    ledger = permissions.open_ledger(_file(rules), folder)
    console = None if json_object else make_console(sys.stdout)
    raise typer.Exit(permissions.check(command, ledger, mode, folder, console, sys.stdout))


@app.command("list")
def list_rules(
    rules: RulesOption = None, workspace: WorkspaceOption = Path(), json_object: JsonOption = False
) -> None:
    """List the rules, with their ids and how often each decided."""
    from outrider.cli.policy import permissions

    ledger = permissions.open_ledger(rules, existing_folder(workspace))
    raise typer.Exit(
        permissions.show_rules(ledger, None if json_object else make_console(sys.stdout), sys.stdout)
    )


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
) -> None:
    """Save a rule: `outrider permissions add allow "git diff"`."""
    from outrider.cli.policy import permissions
    from outrider.permissions.policy.rules import RUN, Rule

    try:
        ends = permissions.parsed_time(expires) if expires else None
    except ValueError as problem:
        raise typer.BadParameter(f"{expires} is not a date or time", param_hint="--expires") from problem
    folder = existing_folder(workspace)
    is_command = tool == RUN
    if is_command and decision == "allow" and what and script is None:
        script = permissions.script_now(what, folder)
    rule = Rule(
        decision,
        tool,
        what or None if is_command else None,
        exact,
        script,
        None if is_command else what or None,
        host,
        workspace=None if everywhere else str(folder),
        expires=ends,
    )
    ledger = permissions.open_ledger(rules, folder)
    raise typer.Exit(asyncio.run(permissions.add_rule(ledger, rule, make_console(sys.stdout))))


@app.command("remove")
def remove(
    rule_id: Annotated[str, typer.Argument(metavar="ID", help="The rule's id, as `list` shows it.")],
    rules: RulesOption = None,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Take a rule out of the ledger."""
    from outrider.cli.policy import permissions

    ledger = permissions.open_ledger(rules, existing_folder(workspace))
    raise typer.Exit(asyncio.run(permissions.remove_rule(ledger, rule_id, make_console(sys.stdout))))


def existing_folder(path: Path) -> Path:
    """The folder that an argument names, absolute.

    Raises:
        typer.BadParameter: There is no such folder.
    """
    absolute = path.expanduser().resolve()
    if not absolute.is_dir():
        raise typer.BadParameter(f"{path} is not a folder", param_hint="--workspace")
    return absolute


def _file(path: Path | None) -> Path | None:
    if path is not None and not path.expanduser().is_file():
        raise typer.BadParameter(f"there is no file {path}", param_hint="--rules")
    return path
