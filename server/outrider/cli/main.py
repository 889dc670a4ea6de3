"""The command line: reads arguments, runs one thing, gives an exit code. The work is in the other modules.

Each command imports them itself, so that none waits for what only another one needs.
"""

import contextlib
import os
import sys
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer
from typer._completion_classes import completion_init
from typer._completion_shared import get_completion_script
from typer.exceptions import TyperException

import outrider
from outrider.cli import remote_commands
from outrider.cli.exits import ExitCode
from outrider.cli.options import (
    CheckOption,
    ForceOption,
    JsonOption,
    KeyOption,
    KindOption,
    ModelOption,
    NeedsTerminalError,
    OutputOption,
    SessionArgument,
    StateOption,
    UrlOption,
    WorkspaceOption,
    console,
    ends,
    folder,
    level_of_thinking,
    read_standard_input,
    settings,
    typed_on,
)
from outrider.cli.policy import permission_commands, trust_commands
from outrider_protocol.choices import Mode, PermissionMode, ProviderKind, UndoScope

Object = dict[str, Any]

app: Final = typer.Typer(
    name="outrider",
    invoke_without_command=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    help="A coding agent behind the Language Server Protocol: one process, any editor.",
    epilog="Exit codes of run and demo: 0 completed, 1 failed or refused, 2 usage or settings, "
    "3 waiting for an answer, 4 budget exhausted, 5 a check failed or did not run, 130 cancelled. "
    "permissions check: 0 allowed, 3 would ask, 1 refused. "
    "For every command: 141 if the reader of its output closed the pipe.",
)

COMPLETE: Final = "_OUTRIDER_COMPLETE"
"""The variable by which a shell asks what can be typed next."""
GONE: Final = "the working directory no longer exists: change to another folder and run the command again"
PIPE_CLOSED: Final = 128 + 13
"""What a shell gives for a program that SIGPIPE (13) ended: the reader of its output went away."""


def main(argv: list[str]) -> int:
    """Run the command that `argv` (without the program's name) names; gives its exit code."""
    streams = [stream for stream in (sys.stdout, sys.stderr) if stream]  # None where the shell closed it
    try:
        code = _exit_code(argv)
        for stream in streams:
            stream.flush()
        return code
    except BrokenPipeError:
        # The reader of the output is gone. The interpreter must not fail again when it flushes at its end.
        for stream in streams:
            try:
                stream.flush()
            except BrokenPipeError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return PIPE_CLOSED


def _exit_code(argv: list[str]) -> int:
    with contextlib.suppress(ImportError):
        from outrider.cli.plain_values import take_plain_values

        take_plain_values()
    # Without it the answers are not in the form that the scripts of `completion` read.
    completion_init()
    try:
        if argv[:1] == ["help"]:  # as in `git help run`
            argv = [*argv[1:], "--help"]
        return app(args=argv, prog_name="outrider", standalone_mode=False, complete_var=COMPLETE) or 0
    except TyperException as slip:
        if message := slip.format_message():  # empty where only the help was wanted
            _error(message)
        return slip.exit_code
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # typer exits with 1 at those that have an errno
            raise end.__context__ from None
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        return ExitCode.CANCELLED
    except FileNotFoundError:
        # A path of any option or command may be relative to it, so it is only looked for once one is missing.
        if not _working_directory_is_gone():
            raise
        _error(GONE)
        return ExitCode.USAGE


def _error(message: str) -> None:
    from outrider.cli.problems import Problems

    Problems().error(message)


def _working_directory_is_gone() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"outrider {outrider.__version__}")
        raise typer.Exit


@app.callback()
def _common(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 - its callback ends the program
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        if typed_on() is None:
            typer.echo(context.get_help())
            raise typer.Exit(ExitCode.USAGE)
        chat()


_NO_CHAT = "is not supported on Windows: use an editor, or `outrider run` with answers ahead (--yes-to)"


@app.command()
def chat(
    workspace: WorkspaceOption = Path(),
    model: ModelOption = None,
    permission_mode: Annotated[
        PermissionMode | None, typer.Option(help="What Outrider may do without asking.")
    ] = None,
    check: CheckOption = None,
    session: Annotated[str | None, typer.Option(help="Continue this session.", metavar="ID")] = None,
    last: Annotated[
        bool, typer.Option("--last", "--continue", help="Continue the latest session of the folder.")
    ] = False,
    state_dir: StateOption = None,
    provider_url: UrlOption = None,
    key_env: KeyOption = None,
    provider_kind: KindOption = "openai-chat",
) -> None:
    """Hold a conversation in this terminal; `outrider` alone does the same."""
    if sys.platform == "win32":
        raise typer.BadParameter(_NO_CHAT, param_hint="chat")
    from outrider.cli.chat.chat import LATEST
    from outrider.cli.chat.chat import chat as hold

    options = settings(
        model, permission_mode, state_dir, provider_url, key_env, provider_kind, workspace=workspace
    )
    if typed_on() is None:
        raise NeedsTerminalError("`outrider chat` needs a terminal; `outrider run` works without one")
    if last and session is not None:
        raise typer.BadParameter("is another session than that of --session", param_hint="--last")
    raise ends(hold(folder(workspace), options, LATEST if last else session, check or ()))


@app.command()
def serve() -> None:
    """Start the language server on stdin and stdout; this is what an editor runs."""
    # `__main__` takes `serve` before this module is imported; here for the help, and for odd argument orders.
    from outrider.lsp.serve import main as serve_main

    serve_main([])


@app.command()
def acp() -> None:
    """Start as an agent of the Agent Client Protocol on stdin and stdout; this is what Zed or JetBrains runs."""
    # `__main__` takes it, as it takes `serve`.
    from outrider.acp import early
    from outrider.acp.serve import main as serve_main
    from outrider.acp.serve import parse

    serve_main(parse([]), early.start())


@app.command()
def run(
    task: Annotated[
        str | None,
        typer.Argument(
            metavar="TASK", help="The task; - reads it from standard input. Without it, --session continues."
        ),
    ] = None,
    workspace: WorkspaceOption = Path(),
    model: ModelOption = None,
    mode: Annotated[Mode, typer.Option(help="plan and explore are read-only.")] = "agent",
    thinking: Annotated[
        str | None,
        typer.Option(
            help="How much the model thinks: off, low, medium, high, max or a number of tokens.",
            metavar="LEVEL",
        ),
    ] = None,
    permission_mode: Annotated[
        PermissionMode | None, typer.Option(help="What Outrider may do without asking.")
    ] = None,
    yes_to: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHAT",
            help="Allow without asking: edits, commands, all, or a pattern such as 'Run: make *' or 'Edit docs/*'. "
            "outside allows commands without a sandbox; all does not include it. put-back and keep decide what happens to "
            "protected files that a command changed; the default without a user is put-back. Can be given several times.",
        ),
    ] = None,
    answer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="Answer a question of the model: one of its answers, its number, or words. Can be given several times, in the "
            "order of the questions.",
        ),
    ] = None,
    check: CheckOption = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Carry out the plan in this document, as --mode plan writes one. Its checks ask as all commands do.",
        ),
    ] = None,
    session: Annotated[str | None, typer.Option(help="Continue this session.", metavar="ID")] = None,
    last: Annotated[bool, typer.Option("--last", help="Continue the latest session of the folder.")] = False,
    goes_on: Annotated[
        bool,
        typer.Option(
            "--continue",
            help="As --last; without a task, what stopped before it was done goes on: after a spent budget, a failure, a cancel.",
        ),
    ] = False,
    fork: Annotated[
        bool,
        typer.Option(
            "--fork",
            help="Give the task to a copy of the session (--session, or the latest), which stays as it is.",
        ),
    ] = False,
    trust: Annotated[
        bool,
        typer.Option("--trust", help="Trust the folder for this run: use its agent instructions."),
    ] = False,
    json_lines: Annotated[
        bool,
        typer.Option(
            "--json", help="Print events on stdout, one JSON object per line; everything else on stderr."
        ),
    ] = False,
    state_dir: StateOption = None,
    provider_url: UrlOption = None,
    key_env: KeyOption = None,
    provider_kind: KindOption = "openai-chat",
) -> None:
    """Give the agent a task in a folder, and watch and answer it here."""
    import asyncio

    from outrider.cli.answers import Rules, can_match
    from outrider.cli.render import Renderer
    from outrider.cli.run import Task, run_task

    of_latest = session is None and (last or goes_on or fork)
    if session is not None and last:
        raise typer.BadParameter("names a session, and --last the latest one", param_hint="--session")
    if task is None and session is None and plan is None and not of_latest:
        raise typer.BadParameter("give a task, or --continue to continue one", param_hint="TASK")
    if fork and (task is None or plan is not None):
        raise typer.BadParameter("needs a task for the copy of the session", param_hint="--fork")
    if plan is not None and (task is not None or mode != "agent"):
        raise typer.BadParameter("a plan is the task: give it alone, without --mode", param_hint="--plan")
    if task == "-":
        task = read_standard_input("TASK")
    if task is not None and not task.strip():
        raise typer.BadParameter("the task is empty", param_hint="TASK")
    for pattern in yes_to or ():
        if not can_match(pattern):
            raise typer.BadParameter(
                f"“{pattern}” matches no approval: use edits, commands, outside, all, put-back, keep, or the beginning of the approval, such as "
                "'Run: make *', 'Edit docs/*', 'run_command: make *' or '*'",
                param_hint="--yes-to",
            )
    options = settings(
        model, permission_mode, state_dir, provider_url, key_env, provider_kind, workspace=workspace
    )
    if trust:
        options["trusted"] = True
    shown_on = sys.stderr if json_lines else sys.stdout
    renderer = Renderer(console(shown_on))
    wanted = Task(
        workspace=folder(workspace),
        options=options,
        prompt=task,
        plan=None if plan is None else (folder(workspace) / plan.expanduser()).absolute(),
        session_id=session,
        of_latest=of_latest,
        goes_on=goes_on,
        forks=fork,
        mode=mode,
        thinking=None if thinking is None else level_of_thinking(thinking),
        # Who gives a check wants it run.
        rules=Rules((*(yes_to or ()), *(f"Run: {one}" for one in check or ()))),
        checks=tuple(check or ()),
        answers=tuple(answer or ()),
    )
    events_to = sys.stdout if json_lines else None
    raise typer.Exit(asyncio.run(run_task(wanted, renderer, typed_on(shown_on), events_to)).code)


@app.command()
def demo(
    model: ModelOption = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the sample project afterwards.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Allow everything without asking.")] = False,
    provider_url: UrlOption = None,
    key_env: KeyOption = None,
    provider_kind: KindOption = "openai-chat",
) -> None:
    """Watch a bug being found, fixed and verified in a small sample project; needs no model."""
    from outrider.cli.demo import run_demo

    options = settings(model, None, None, provider_url, key_env, provider_kind)
    raise ends(run_demo(options, console(), None if yes else typed_on(), keep=keep))


@app.command()
def sessions(
    search: Annotated[
        str | None,
        typer.Option(
            metavar="WORDS",
            help="Only those in which one text has all these words: a name, a task or an answer.",
        ),
    ] = None,
    workspace: WorkspaceOption = Path(),
    state_dir: StateOption = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print them as `outrider.sessions` has them.")
    ] = False,
) -> None:
    """List the sessions of a folder, the latest first."""
    from outrider.cli.sessions import sessions as list_sessions

    options = settings(None, None, state_dir)
    done = list_sessions(folder(workspace), options, console(), search, as_json=as_json)
    raise ends(done)


@app.command()
def models(
    model: ModelOption = None,
    provider_url: UrlOption = None,
    key_env: KeyOption = None,
    provider_kind: KindOption = "openai-chat",
    as_json: JsonOption = False,
    every: Annotated[
        bool, typer.Option("--all", help="Show all models of a provider that has many.")
    ] = False,
) -> None:
    """List the models that are configured and can be reached, or what was found that could be configured.

    A key in the environment or a server on a port of this machine is only shown, and used by nobody who did not ask.
    """
    from outrider.cli.models import print_models, show_models
    from outrider.surroundings import surroundings

    options = settings(model, None, None, provider_url, key_env, provider_kind)
    if as_json:
        raise ends(print_models(Path.cwd(), options, console()))
    raise ends(show_models(surroundings(), options, console(), every=every))


@app.command()
def setup(
    provider: Annotated[
        str | None, typer.Option(metavar="NAME", help="A provider of the list, or a name for another one.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="A model of the provider, as it names it.")
    ] = None,
    provider_url: UrlOption = None,
    provider_kind: Annotated[
        ProviderKind | None, typer.Option(help="Dialect of the provider, if it is not in the list.")
    ] = None,
    key_from: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Where the key is: the NAME of an environment variable, or - for standard input. Never the key itself.",
        ),
    ] = None,
    keep: Annotated[
        Literal["keyring", "file"] | None,
        typer.Option(help="Where a key from standard input is kept. Default: the keyring, if there is one."),
    ] = None,
    no_trial: Annotated[
        bool, typer.Option("--no-trial", help="Write the settings without asking the model first.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing; needs --provider and --model.")] = False,
    only_list: Annotated[
        bool, typer.Option("--list", help="Only list the providers, or the models of --provider.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON; asks nothing.")] = False,
) -> None:
    """Set up a model: choose a provider, give its key, choose a model, try it. Nothing is written before the end.

    Exit code 0: it is set up, 1: the model does not answer or the settings cannot be written, 2: an option is missing or wrong,
    130: you left, and nothing was written.
    """
    from outrider.cli import setup as steps

    name_of_key = None if key_from in {None, "-"} else key_from
    if name_of_key is not None and not (name_of_key.isidentifier() and name_of_key.isascii()):
        raise typer.BadParameter(
            "must be the NAME of an environment variable, or -; never the key", param_hint="--key-from"
        )
    if keep is not None and key_from != "-":
        raise typer.BadParameter("is for a key from standard input: --key-from -", param_hint="--keep")
    asks_nothing = yes or as_json or only_list
    if asks_nothing and not only_list and (provider is None or model is None):
        raise typer.BadParameter("needs --provider and --model", param_hint="--yes" if yes else "--json")
    typed = None if asks_nothing else typed_on()
    if typed is None and not asks_nothing:
        raise NeedsTerminalError("`outrider setup` needs a terminal, or --provider, --model and --yes")
    wanted = steps.Wanted(
        provider=provider,
        kind=provider_kind,
        base_url=provider_url,
        model=model,
        key=steps.read_key() if key_from == "-" else None,
        key_env=name_of_key,
        keep=keep,
        tries=not no_trial,
        lists=only_list,
    )
    raise ends(steps.set_up(wanted, typed, sys.stdout if as_json else None))


@app.command()
def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(help="The shell.")],
) -> None:
    """Print what makes a shell complete commands and options: eval "$(outrider completion bash)"."""
    typer.echo(get_completion_script(prog_name="outrider", complete_var=COMPLETE, shell=shell))


@app.command()
def events(
    session: SessionArgument = None,
    first: Annotated[int, typer.Option("--from", min=1, help="The first event to show.")] = 1,
    json_lines: Annotated[bool, typer.Option("--json", help="One JSON object per line.")] = False,
    workspace: WorkspaceOption = Path(),
    state_dir: StateOption = None,
) -> None:
    """Show the log of a session again."""
    from outrider.cli import look

    options = settings(None, None, state_dir)
    shown = look.events(
        folder(workspace),
        options,
        session,
        first,
        console(),
        sys.stdout if json_lines else None,
    )
    raise ends(shown)


@app.command()
def export(
    session: SessionArgument = None,
    output: OutputOption = None,
    force: ForceOption = False,
    workspace: WorkspaceOption = Path(),
    state_dir: StateOption = None,
) -> None:
    """Write a session into one file to share, without secrets and without names and places of this machine.

    Exit code 0: it is written, 2: there is no such session, or the file cannot be written.
    """
    from outrider.cli.export import export as export_session

    done = export_session(folder(workspace), settings(None, None, state_dir), session, output, force=force)
    raise ends(done)


@app.command()
def report(
    of: Annotated[
        str | None,
        typer.Argument(
            metavar="SESSION|FILE",
            help="A session's id, or an exported file; - is standard input. Default: the latest session.",
        ),
    ] = None,
    output: OutputOption = None,
    force: ForceOption = False,
    workspace: WorkspaceOption = Path(),
    state_dir: StateOption = None,
) -> None:
    """Write a session as one page for a browser: what was said and done, and where the time went.

    Exit code 0: it is written, 2: there is no such session or file, or the page cannot be written.
    """
    from outrider.cli.report.command import report as write_report

    done = write_report(folder(workspace), settings(None, None, state_dir), of, output, force=force)
    raise ends(done)


UndoSession = Annotated[
    str | None,
    typer.Argument(metavar="SESSION", help="Default: the latest session with something to undo."),
]
RedoSession = Annotated[
    str | None,
    typer.Argument(metavar="SESSION", help="Default: the latest session with something to redo."),
]
ScopeOption = Annotated[
    UndoScope | None,
    typer.Option(
        "--scope",
        help="How much to undo or redo. Default: what the id names, otherwise a turn.",
        show_default=False,
    ),
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Change nothing: say what would be changed, as the files are now.")
]
IdOption = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="ID",
        help="A hunk, a change, a call (its whole step) or a turn, as `outrider changes` lists them. "
        "Default: the latest.",
        show_default=False,
    ),
]


@app.command()
def undo(
    session: UndoSession = None,
    scope: ScopeOption = None,
    of: IdOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
    state_dir: StateOption = None,
) -> None:
    """Undo changes of a session, those of its latest turn by default, and keep what was written since.

    Exit code 0: all is taken back, 1: something was left as it is or cannot be undone, 2: there is no such session.
    """
    _take_back(session, scope, of, workspace, state_dir, redo=False, as_json=as_json, dry_run=dry_run)


@app.command()
def redo(
    session: RedoSession = None,
    scope: ScopeOption = None,
    of: IdOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
    state_dir: StateOption = None,
) -> None:
    """Bring back what an undo took back, by default what was undone last: a turn, or the session.

    Exit code 0: all is brought back, 1: something was left as it is or cannot be redone, 2: there is no such session.
    """
    _take_back(session, scope, of, workspace, state_dir, redo=True, as_json=as_json, dry_run=dry_run)


def _take_back(
    session: str | None,
    scope: UndoScope | None,
    of: str | None,
    workspace: Path,
    state_dir: Path | None,
    *,
    redo: bool,
    as_json: bool,
    dry_run: bool,
) -> None:
    from outrider.cli import look

    given = {"sessionId": session, "scope": scope, "id": of, "dryRun": dry_run or None}
    params = {name: value for name, value in given.items() if value is not None}
    options = settings(None, None, state_dir)
    shown_on = sys.stderr if as_json else sys.stdout
    done = look.undo(
        folder(workspace),
        options,
        params,
        console(shown_on),
        typed_on(shown_on),
        redo=redo,
        lines=sys.stdout if as_json else None,
    )
    raise ends(done)


@app.command()
def changes(
    session: Annotated[
        str | None,
        typer.Argument(
            metavar="SESSION", help="Default: the latest session that changed something, else the latest."
        ),
    ] = None,
    patch: Annotated[bool, typer.Option("--patch", help="Print one patch for `git apply`.")] = False,
    output: OutputOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
    state_dir: StateOption = None,
) -> None:
    """List what a session changed by turn, step, change and hunk, with the ids that undo takes, or give it as a patch."""
    from outrider.cli.changes import changes as show_changes

    options = settings(None, None, state_dir)
    done = show_changes(
        folder(workspace), options, session, output, patch=patch, force=force, as_json=as_json
    )
    raise ends(done)


@app.command()
def replay(
    session: Annotated[
        str | None,
        typer.Argument(
            metavar="SESSION|FILE",
            help="A session's id, or an exported file; - is standard input. Default: the latest session.",
        ),
    ] = None,
    first: Annotated[int, typer.Option("--from", min=1, help="The first event to show.")] = 1,
    must_agree: Annotated[
        bool, typer.Option("--assert", help="Show only the verdict; exit with 1 if there is a difference.")
    ] = False,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
    state_dir: StateOption = None,
) -> None:
    """Run a session again from its log alone, and compare what the loop computes with the log.

    Exit code 0: it was run again, 1 with --assert: something came otherwise, 2: there is no such session or file.
    """
    from outrider.cli.replay import replay as replay_session

    options = settings(None, None, state_dir)
    done = replay_session(
        folder(workspace),
        options,
        session,
        first,
        console(),
        must_agree=must_agree,
        lines=sys.stdout if as_json else None,
    )
    raise ends(done)


@app.command()
def prompt(
    session: Annotated[
        str | None, typer.Argument(metavar="SESSION", help="Default: the latest session.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the server's JSON.")] = False,
    workspace: WorkspaceOption = Path(),
    state_dir: StateOption = None,
) -> None:
    """Show what the model would be sent next in a session: messages, tools, and about how many tokens each has."""
    from outrider.cli.prompt import prompt as show_prompt

    options = settings(None, None, state_dir)
    lines = sys.stdout if as_json else None
    done = show_prompt(folder(workspace), options, session, console(), lines)
    raise ends(done)


@app.command(name="map")
def draw_map(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]…", help="Files you are working on. Default: none.", show_default=False
        ),
    ] = None,
    tokens: Annotated[
        int | None,
        typer.Option("--tokens", min=1, max=100_000, help="Approximate length. Default: as in a turn."),
    ] = None,
    task: Annotated[str, typer.Option("--task", help="A task; its words influence the order.")] = "",
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Draw the repository map: the names of the workspace's files that matter for some of them."""
    from outrider.cli.prompt import show_map, within

    root = folder(workspace)
    at_hand: Object = {"files": [within(one, root) for one in files or ()], "prompt": task}
    if tokens is not None:
        at_hand["tokens"] = tokens
    done = show_map(root, settings(None, None, None), at_hand, console(), as_json=as_json)
    raise ends(done)


@app.command()
def doctor(
    workspace: WorkspaceOption = Path(),
    model: ModelOption = None,
    state_dir: StateOption = None,
    probe: Annotated[
        bool, typer.Option("--probe", help="Ask each model, in one small request, to call a tool.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as `outrider.doctor` has it.")] = False,
) -> None:
    """Look at the set-up and say what is wrong."""
    from outrider.cli import look

    options = settings(model, None, state_dir, workspace=workspace)
    done = look.doctor(folder(workspace), options, console(), probe=probe, as_json=as_json)
    raise ends(done)


scenario_app: Final = typer.Typer(
    no_args_is_help=True, help="Play scenario files: tests of the agent that need no model."
)
app.add_typer(scenario_app, name="scenario")
app.add_typer(remote_commands.app)
app.add_typer(permission_commands.app, name="permissions")
app.add_typer(trust_commands.app, name="trust")


@scenario_app.callback()
def _scenario() -> None:
    # Its only command would become all of `outrider scenario` without this.
    pass


@scenario_app.command("run")
def scenario_run(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE…", help="Scenario files, or folders with such files in them."),
    ],
    connection: Annotated[
        Literal["in-process", "stdio"] | None,
        typer.Option(help="How to connect to the server. Default: as the scenario says."),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Which editor to simulate. Default: as the scenario says."),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the folder of each scenario.")] = False,
    update_golden: Annotated[
        bool, typer.Option("--update-golden", help="Rewrite golden transcripts.")
    ] = False,
    kill_at_every_event: Annotated[
        bool,
        typer.Option(
            "--kill-at-every-event",
            help="Play each scenario once per event, kill the server at that event, and compare the end with the full run.",
        ),
    ] = False,
    json_lines: Annotated[
        bool,
        typer.Option(
            "--json", help="Print one JSON object per scenario on stdout; everything else on stderr."
        ),
    ] = False,
) -> None:
    """Play scenario files. Exit code 0: all are as expected, 1: not all, 2: one cannot be played."""
    # What plays them takes a while to load, and nothing else here needs it.
    from outrider.cli.scenario import How, run_scenarios

    how = How(connection, profile, keep=keep, update_golden=update_golden, killed=kill_at_every_event)
    shown_on = console(sys.stderr if json_lines else sys.stdout)
    raise typer.Exit(run_scenarios(files, how, shown_on, sys.stdout if json_lines else None))


@scenario_app.command("from")
def scenario_from(
    export: Annotated[
        Path,
        typer.Argument(
            metavar="EXPORT", help="A file that `outrider export` wrote, or - for standard input."
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Default: standard output.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the scenario.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Make a scenario out of an exported session: the same files, answers and user, everything else run again.

    Exit code 0: it is made, 2: the export cannot be read, or the file cannot be written.
    """
    from outrider.cli import scenario

    raise typer.Exit(scenario.scenario_from(export, output, name, force=force))
