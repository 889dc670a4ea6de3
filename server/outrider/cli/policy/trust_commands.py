"""The arguments of `outrider trust`."""

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from outrider.cli.policy.permission_commands import JsonOption, existing_folder
from outrider.cli.terminal import make_console

app: Final = typer.Typer(
    name="trust",
    no_args_is_help=True,
    help="Trusted workspace folders: list them, trust one, or forget a decision.",
)

FolderArgument = Annotated[
    Path, typer.Argument(metavar="DIR", help="The folder. Default: this folder.", show_default=False)
]


@app.command("list")
def list_folders(json_object: JsonOption = False) -> None:
    """List what was said of folders."""
    from outrider.cli.policy import trust

    file = trust.open_file()
    console = None if json_object else make_console(sys.stdout)
    raise typer.Exit(trust.show_folders(file, console, sys.stdout))


@app.command("add")
def add(
    folder: FolderArgument = Path(),
    below: Annotated[bool, typer.Option("--below", help="The folders below it, too.")] = False,
) -> None:
    """Trust a folder: what it tells its agents counts."""
    from outrider.cli.policy import trust

    file = trust.open_file()
    done = file.keep_now(existing_folder(folder), "trusted", below=below)
    raise typer.Exit(trust.show_done(done, make_console(sys.stdout)))


@app.command("refuse")
def refuse(folder: FolderArgument = Path()) -> None:
    """Have a folder only read, whatever a client says of it."""
    from outrider.cli.policy import trust

    file = trust.open_file()
    done = file.keep_now(existing_folder(folder), "read-only")
    raise typer.Exit(trust.show_done(done, make_console(sys.stdout)))


@app.command("forget")
def forget(folder: FolderArgument = Path()) -> None:
    """Take back what was said of a folder, which need not be there any more: it is asked again."""
    from outrider.cli.policy import trust

    file = trust.open_file()
    done = file.forget_now(trust.absolute(folder))
    raise typer.Exit(trust.show_forgotten(done, trust.absolute(folder), make_console(sys.stdout)))
