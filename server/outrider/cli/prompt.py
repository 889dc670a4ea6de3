"""`outrider prompt`: what the model would be sent next, message by message."""

import os
from pathlib import Path
from typing import Any, TextIO, cast

from rich.console import Console
from rich.table import Table
from rich.text import Text

import outrider_protocol as names
from outrider.cli.exits import ExitCode
from outrider.cli.look import RefusedError, latest_session, server_of
from outrider.cli.problems import Problems
from outrider.cli.sessions import NO_SESSIONS
from outrider.cli.terminal import print_json, visible

Object = dict[str, Any]


async def prompt(
    workspace: Path, options: Object, session_id: str | None, console: Console, lines: TextIO | None
) -> ExitCode:
    """Show the next request of a session, without an id of the latest; as JSON to `lines` where that is wanted."""
    problems = Problems()
    try:
        async with server_of(
            workspace, options | {"events": False}, problems, what="reading the log"
        ) as client:
            session_id = session_id or await latest_session(client)
            if session_id is None:
                problems.note(NO_SESSIONS)
                return ExitCode.COMPLETED
            shown = await client.command(names.PROMPT, {"sessionId": session_id})
    except RefusedError as refused:
        return refused.code
    if lines is not None:
        print_json(shown, lines)
        return ExitCode.COMPLETED
    for message in cast("list[Object]", shown["messages"]):
        _message(message, console)
    console.print(_counts(shown))
    if counted := shown.get("counted"):
        # Else the sum of the sections looks wrong.
        console.print(
            f"total: the provider's count of the latest request and its answer ({counted}), plus what is new"
        )
    form = f", as text in the format {shown['toolFormat']}" if "toolFormat" in shown else ""
    console.print(Text(visible(f"tools{form}: {', '.join(tool['name'] for tool in shown['tools'])}")))
    return ExitCode.COMPLETED


def _message(message: Object, console: Console) -> None:
    of_call = f" of {message['toolCallId']}" if "toolCallId" in message else ""
    console.print(
        Text(visible(f"── {message['role']}{of_call}, about {message['tokens']} tokens"), style="bold")
    )
    if message["text"]:
        console.print(Text(visible(message["text"])))
    for call in message.get("toolCalls", ()):
        console.print(Text(visible(f"calls {call['name']} {call['arguments']} ({call['id']})"), style="cyan"))


def _counts(shown: Object) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), title_justify="left")
    table.add_column("section")
    table.add_column("estimated tokens", justify="right")
    for section in shown["sections"]:
        name = f" {section['name']}" if "name" in section else ""
        table.add_row(Text(visible(f"{section['kind']}{name}")), str(section["tokens"]))
    window = f" of {shown['contextWindow']}" if "contextWindow" in shown else ""
    table.add_row(Text("together", style="bold"), f"{shown['tokens']}{window}")
    return table


async def show_map(
    workspace: Path, options: Object, at_hand: Object, console: Console, *, as_json: bool = False
) -> ExitCode:
    """Print the repository map of a workspace.

    Args:
        workspace: Its folder.
        options: Settings of the server.
        at_hand: What the command is given, as it stands on the wire.
        console: Where it goes.
        as_json: Whether the result of `outrider.map` is printed instead.
    """
    try:
        async with server_of(
            workspace, options | {"events": False}, Problems(), what="reading the files"
        ) as client:
            drawn = await client.command(names.MAP, at_hand, seconds=None)
    except RefusedError as refused:
        return refused.code
    if as_json:
        print_json(drawn, console.file)
    elif drawn["text"]:
        console.print(Text(visible(drawn["text"])), soft_wrap=True)
    else:
        console.print("no file in this folder defines names for the map")
    return ExitCode.COMPLETED


def within(path: str, workspace: Path) -> str:
    """A path as the workspace has it, where somebody wrote it from the folder they are in."""
    absolute = Path(os.path.abspath(path))  # noqa: PTH100 - a link stays what it is called
    return str(absolute.relative_to(workspace)) if absolute.is_relative_to(workspace) else path
