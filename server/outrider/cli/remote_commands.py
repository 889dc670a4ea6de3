"""The arguments of the commands about what runs already, and about whole sessions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from outrider.cli.options import (
    JsonOption,
    NeedsTerminalError,
    StateOption,
    WorkspaceOption,
    console,
    ends,
    folder,
    read_standard_input,
    settings,
    typed_on,
)
from outrider_protocol.choices import Mode

if TYPE_CHECKING:
    from outrider.cli.remote import Asked

app = typer.Typer()

RunningOption = Annotated[
    str | None,
    typer.Option(
        "--session", metavar="ID", help="The session. Default: the one that runs, in whatever process."
    ),
]


def _asked(workspace: Path, state_dir: Path | None, *, as_json: bool) -> "Asked":
    from outrider.cli.remote import Asked

    return Asked(folder(workspace), settings(None, None, state_dir), console(), as_json=as_json)


@app.command()
def status(
    session: Annotated[
        str | None, typer.Argument(metavar="SESSION", help="Default: all that run or wait for you.")
    ] = None,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
    state_dir: StateOption = None,
) -> None:
    """Say what the sessions of a folder are doing, in whatever process: their plan, questions, what is queued."""
    raise ends(_asked(workspace, state_dir, as_json=as_json).status(session))


@app.command()
def steer(
    text: Annotated[
        str | None,
        typer.Argument(metavar="TEXT", help="What the model is told; - reads it from standard input."),
    ] = None,
    session: RunningOption = None,
    withdrawn: Annotated[
        str | None,
        typer.Option("--withdraw", metavar="ID", help="Withdraw this text, which the model has not got yet."),
    ] = None,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
    state_dir: StateOption = None,
) -> None:
    """Tell the model something while it works: it gets it with its next request.

    Exit code 0: it is on its way, 1: nothing runs, 2: several sessions run, and none is named.
    """
    if (text is None) == (withdrawn is None):
        raise typer.BadParameter("give a text, or --withdraw", param_hint="TEXT")
    if text == "-":
        text = read_standard_input("TEXT")
    if text is not None and not text.strip():
        raise typer.BadParameter("the text is empty", param_hint="TEXT")
    raise ends(_asked(workspace, state_dir, as_json=as_json).steer(session, text, withdrawn))


@app.command()
def cancel(
    session: RunningOption = None,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
    state_dir: StateOption = None,
) -> None:
    """End the task that runs or waits, in whatever process, and everything that it started.

    Exit code 0: it has ended, 1: nothing runs, 2: several sessions run, and none is named.
    """
    raise ends(_asked(workspace, state_dir, as_json=as_json).cancel(session))


@app.command()
def wait(
    session: RunningOption = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", min=0, help="How long at most. Default: until it ends.")
    ] = None,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
    state_dir: StateOption = None,
) -> None:
    """Wait until the task that runs has ended or needs an answer.

    Exit code: that of `outrider run`; 0 as well if it still runs after --seconds; 1 if nothing runs.
    """
    raise ends(_asked(workspace, state_dir, as_json=as_json).wait(session, seconds))


@app.command()
def jobs(
    action: Annotated[
        Literal["list", "read", "wait", "kill"], typer.Argument(metavar="list|read|wait|kill")
    ] = "list",
    job: Annotated[str | None, typer.Argument(metavar="JOB", help="The job's id, for all but list.")] = None,
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="Only those of this session.")
    ] = None,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
    state_dir: StateOption = None,
) -> None:
    """List the background jobs of a folder's sessions, in whatever process, or read one, wait for it or end it."""
    if (job is None) != (action == "list"):
        raise typer.BadParameter(
            "goes with read, wait and kill, and each of them needs one", param_hint="JOB"
        )
    raise ends(_asked(workspace, state_dir, as_json=as_json).jobs(action, job, session))


@app.command()
def tools(
    mode: Annotated[Mode, typer.Option(help="The mode that they are listed for.")] = "agent",
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
    state_dir: StateOption = None,
) -> None:
    """List the tools that the model has."""
    raise ends(_asked(workspace, state_dir, as_json=as_json).tools(mode))


@app.command()
def commands(
    as_json: JsonOption = False, workspace: WorkspaceOption = Path(), state_dir: StateOption = None
) -> None:
    """List the custom commands and skills that a task can call as /NAME."""
    raise ends(_asked(workspace, state_dir, as_json=as_json).commands())


@app.command()
def servers(
    action: Annotated[
        Literal["list", "restart", "login", "logout"], typer.Argument(metavar="list|restart|login|logout")
    ] = "list",
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The server, for all but list.")] = None,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
    state_dir: StateOption = None,
) -> None:
    """List the language servers and MCP servers, or restart one, log in to it or out of it."""
    if (name is None) != (action == "list"):
        raise typer.BadParameter(
            "goes with restart, login and logout, and each of them needs one", param_hint="NAME"
        )
    raise ends(_asked(workspace, state_dir, as_json=as_json).servers(action, name))


@app.command()
def rename(
    session: Annotated[str, typer.Argument(metavar="SESSION")],
    title: Annotated[str, typer.Argument(metavar="TITLE", help="Its new name, one line.")],
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
    state_dir: StateOption = None,
) -> None:
    """Name a session."""
    raise ends(_asked(workspace, state_dir, as_json=as_json).rename(session, title))


@app.command()
def delete(
    session: Annotated[str, typer.Argument(metavar="SESSION")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
    state_dir: StateOption = None,
) -> None:
    """Delete a session for good: its log, its texts and its recording. What it changed in files stays.

    Exit code 0: it is gone, 1: it runs, or you said no, 2: there is no such session, or nobody can be asked.
    """
    asked = _asked(workspace, state_dir, as_json=as_json)
    if not yes:
        if typed_on() is None:
            raise NeedsTerminalError("`outrider delete` needs a terminal to ask in, or --yes")
        if not typer.confirm(f"Delete session {session} for good?"):
            raise typer.Exit(1)
    raise ends(asked.delete(session))


@app.command("import")
def take_in(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A file that `outrider export` wrote, or - for standard input."),
    ],
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
    state_dir: StateOption = None,
) -> None:
    """Take an exported session into a folder, to read it and to go on with it."""
    raise ends(_asked(workspace, state_dir, as_json=as_json).take_in(file))
