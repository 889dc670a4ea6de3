"""The arguments of `outrider trust`."""

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from outrider.cli.options import JsonOption, console, folder

app: Final = typer.Typer(
    name="trust",
    no_args_is_help=True,
    help="Trusted workspace folders: list them, trust one, or forget a decision.",
)

FolderArgument = Annotated[
    Path, typer.Argument(metavar="DIR", help="The folder. Default: this folder.", show_default=False)
]


@app.command("list")
def list_folders(as_json: JsonOption = False) -> None:
    """List what was said of folders."""
    from outrider.cli.policy import trust

    file = trust.open_file()
    raise typer.Exit(trust.show_folders(file, None if as_json else console(), sys.stdout))


@app.command("add")
def add(
    path: FolderArgument = Path(),
    below: Annotated[bool, typer.Option("--below", help="The folders below it, too.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Trust a folder: what it tells its agents counts."""
    from outrider.cli.policy import trust

    file = trust.open_file()
    done = file.keep_now(folder(path), "trusted", below=below)
    raise typer.Exit(trust.show_done(done, file, None if as_json else console(), sys.stdout))


@app.command("refuse")
def refuse(path: FolderArgument = Path(), as_json: JsonOption = False) -> None:
    """Have a folder only read, whatever a client says of it."""
    from outrider.cli.policy import trust

    file = trust.open_file()
    done = file.keep_now(folder(path), "read-only")
    raise typer.Exit(trust.show_done(done, file, None if as_json else console(), sys.stdout))


@app.command("forget")
def forget(path: FolderArgument = Path(), as_json: JsonOption = False) -> None:
    """Take back what was said of a folder, which need not be there any more: it is asked again."""
    from outrider.cli.policy import trust

    file = trust.open_file()
    done = file.forget_now(trust.absolute(path))
    raise typer.Exit(
        trust.show_forgotten(done, trust.absolute(path), file, None if as_json else console(), sys.stdout)
    )
