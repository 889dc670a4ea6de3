"""What several commands take, how it becomes the settings of a server, and how they show something and end.

Every command line waits for this module, so it loads nothing that only some of them need.
"""

import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from outrider_protocol.choices import THINKING_LEVELS, PermissionMode, ProviderKind

if TYPE_CHECKING:
    from rich.console import Console

    from outrider.cli.terminal import TerminalKeyboard

Object = dict[str, Any]

WorkspaceOption = Annotated[
    Path,
    typer.Option(
        "--workspace", "-C", help="The folder to work in. Default: this folder.", show_default=False
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="PROVIDER/NAME",
        help="The model. Default: the user's settings, which `outrider setup` writes.",
    ),
]
StateOption = Annotated[Path | None, typer.Option("--state-dir", help="Folder for the logs of sessions.")]
UrlOption = Annotated[
    str | None,
    typer.Option("--provider-url", help="Address of the model's provider, with its version segment (…/v1)."),
]
KeyOption = Annotated[
    str | None, typer.Option("--key-env", help="NAME of the environment variable that holds the key.")
]
SessionArgument = Annotated[
    str | None, typer.Argument(metavar="SESSION", help="The session's id. Default: the latest.")
]
OutputOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="The file to write. Default: standard output.", show_default=False),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")]
KindOption = Annotated[ProviderKind, typer.Option("--provider-kind", help="Dialect of the provider.")]


CheckOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COMMAND",
        help="A command that decides whether the task is done, such as 'pytest -q'. It runs when the model stops after a change; "
        "a failure goes back to the model. Can be given several times.",
    ),
]


def console(stream: TextIO | None = None) -> "Console":
    """A console on `stream`, by default standard output."""
    from outrider.cli.terminal import make_console

    return make_console(stream or sys.stdout)


class NeedsTerminalError(typer.BadParameter):
    """What a command does needs somebody to ask."""

    def format_message(self) -> str:
        """Its words alone: no value is wrong."""
        return self.message


def typed_on(shown_on: TextIO | None = None) -> "TerminalKeyboard | None":
    """The user's keyboard where questions are drawn on `shown_on`, by default standard output; None where nobody can answer."""
    from outrider.cli.terminal import keyboard

    return keyboard(shown_on or sys.stdout)


def ends(work: Coroutine[Any, Any, int]) -> typer.Exit:
    """Do the work of a command; gives the end of it, with the exit code."""
    import asyncio

    return typer.Exit(asyncio.run(work))


def read_standard_input(argument: str) -> str:
    """All of standard input, for an argument that was given as `-`.

    Raises:
        typer.BadParameter: It is no text.
    """
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise typer.BadParameter("standard input is not UTF-8 text", param_hint=argument) from problem


def folder(path: Path) -> Path:
    """The workspace folder, absolute.

    Raises:
        typer.BadParameter: It is not a folder.
    """
    absolute = path.expanduser().resolve()
    if not absolute.is_dir():
        raise typer.BadParameter(f"{path} is not a folder", param_hint="--workspace")
    return absolute


def level_of_thinking(given: str) -> str | int:
    """How much the model is to think, as `outrider.run` takes it.

    Raises:
        typer.BadParameter: It is no level and no number of tokens.
    """
    if given in THINKING_LEVELS:
        return given
    if given.isascii() and given.isdigit() and int(given) >= 1:
        return int(given)
    levels = ", ".join(THINKING_LEVELS)
    raise typer.BadParameter(
        f"“{given}” is neither one of {levels} nor a number of tokens", param_hint="--thinking"
    )


def settings(
    model: str | None,
    permission_mode: PermissionMode | None,
    state_dir: Path | None,
    provider_url: str | None = None,
    key_env: str | None = None,
    provider_kind: str = "openai-chat",
    *,
    workspace: Path = Path(),
) -> Object:
    """The options of the command line as `initializationOptions`, checked here so that a slip is a usage error.

    Raises:
        typer.BadParameter: A value cannot be right.
    """
    options: Object = {"events": True}
    if model is not None:
        options["model"] = model
        scheme, _, path = model.partition(":")
        if scheme in {"scripted", "recorded"}:
            # Relative to the workspace, as in the settings; else to where the command is given.
            places = [(place / Path(path).expanduser()).resolve() for place in (workspace, Path.cwd())]
            script = next((place for place in places if place.is_file()), None)
            if script is None:
                looked = " nor ".join(dict.fromkeys(map(str, places)))
                raise typer.BadParameter(f"there is no file {looked}", param_hint="--model")
            options["model"] = f"{scheme}:{script}"
        elif "/" not in model:
            raise typer.BadParameter(
                f"“{model}” is not provider/name; `outrider models` lists those you have",
                param_hint="--model",
            )
    if permission_mode is not None:
        options["permissionMode"] = permission_mode
    if state_dir is not None:
        options["stateDir"] = str(state_dir.expanduser().resolve())
    if provider_url is not None:
        if model is None or "/" not in model:
            raise typer.BadParameter("needs --model provider/name", param_hint="--provider-url")
        if not provider_url.startswith(("http://", "https://")):
            raise typer.BadParameter("must begin with http:// or https://", param_hint="--provider-url")
        if key_env is not None and not (key_env.isidentifier() and key_env.isascii()):
            raise typer.BadParameter(
                "must be the NAME of an environment variable, not the key", param_hint="--key-env"
            )
        provider: Object = {"kind": provider_kind, "baseUrl": provider_url}
        if key_env is not None:
            provider["apiKeyEnv"] = key_env
        options["providers"] = {model.partition("/")[0]: provider}
    elif key_env is not None:
        raise typer.BadParameter("needs --provider-url", param_hint="--key-env")
    if model is None:  # all else is checked, and what checks a model takes a tenth of a second to load
        return options
    from pydantic import ValidationError

    from outrider_protocol.settings import Settings

    try:
        Settings.model_validate(options)
    except ValidationError as problem:
        first = problem.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise typer.BadParameter(f"{where}: {first['msg'].removeprefix('Value error, ')}") from problem
    return options
