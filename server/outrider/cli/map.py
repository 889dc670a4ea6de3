"""`outrider map`: the repository map, as a turn would get it."""

import os
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

import outrider_protocol as names
from outrider.cli.look import RefusedError, server_of
from outrider.cli.render import Renderer
from outrider.cli.run import ExitCode
from outrider.cli.terminal import visible

Object = dict[str, Any]


async def show_map(workspace: Path, options: Object, at_hand: Object, console: Console) -> ExitCode:
    """Print the repository map of a workspace.

    Args:
        workspace: Its folder.
        options: Settings of the server.
        at_hand: What the command is given, as it stands on the wire.
        console: Where it goes.
    """
    try:
        async with server_of(workspace, options | {"events": False}, Renderer(console)) as client:
            drawn = await client.command(names.MAP, at_hand, seconds=None)
    except RefusedError as refused:
        return refused.code
    if drawn["text"]:
        console.print(Text(visible(drawn["text"])), soft_wrap=True)
    else:
        console.print("no file of this folder defines a name that the map knows")
    return ExitCode.COMPLETED


def within(path: str, workspace: Path) -> str:
    """A path as the workspace has it, where somebody wrote it from the folder they are in."""
    absolute = Path(os.path.abspath(path))  # noqa: PTH100 - a link stays what it is called
    return str(absolute.relative_to(workspace)) if absolute.is_relative_to(workspace) else path
