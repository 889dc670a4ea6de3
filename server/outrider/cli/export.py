"""The command `export`: a session into one file that can be shared."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.text import Text

import outrider_protocol as names
from outrider.cli.files import write_file
from outrider.cli.look import RefusedError, latest_session, server_of
from outrider.cli.render import Renderer, counted
from outrider.cli.run import ExitCode
from outrider.store.exported import ExportProblem, parse_export

Object = dict[str, Any]

EXPORT_SECONDS: Final = 300.0
"""How long the server may take to put a session together."""


def exported_file(name: str) -> Path | None:
    """The file that is meant; None where it is a session's id. Blocks."""
    path = Path(name).expanduser()
    return path if path.exists() or not name.startswith("ses_") or "/" in name or path.suffix else None


async def fetch_export(
    workspace: Path, options: Object, session_id: str | None, console: Console
) -> Object | ExitCode:
    """The export of a session, as JSON data; without an id that of the latest. What goes wrong is said on `console`."""
    renderer = Renderer(console)
    try:
        async with server_of(workspace, options | {"events": False}, renderer) as client:
            session_id = session_id or await latest_session(client)
            if session_id is None:
                renderer.problem("there are no sessions in this folder yet")
                return ExitCode.USAGE
            return await client.command(names.EXPORT, {"sessionId": session_id}, seconds=EXPORT_SECONDS)
    except RefusedError as refused:
        return refused.code


async def export(
    workspace: Path,
    options: Object,
    session_id: str | None,
    target: Path | None,
    console: Console,
    *,
    force: bool,
) -> ExitCode:
    """Write the export of a session to `target`, or to standard output; what was taken out is said on `console`."""
    exported = await fetch_export(workspace, options, session_id, console)
    if isinstance(exported, ExitCode):
        return exported
    content = await asyncio.to_thread(lambda: encoded(exported))
    if isinstance(read := await asyncio.to_thread(parse_export, content), ExportProblem):
        session = exported["sessionId"]
        Renderer(console).problem(
            f"session {session} was not exported, nobody could read its file: {read.message}"
        )
        return ExitCode.FAILED
    if not await hand_over(content, target, console, force=force):
        return ExitCode.USAGE
    console.print(Text(described(exported, target)), soft_wrap=True)
    return ExitCode.COMPLETED


async def hand_over(content: bytes, target: Path | None, console: Console, *, force: bool) -> bool:
    """Write `content` to a file, or to standard output; False where that failed, which is said on `console`."""
    if target is None:
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdout.buffer.write, content)
        sys.stdout.buffer.flush()
        return True
    problem = await asyncio.to_thread(write_file, target, content, force=force)
    if problem is not None:
        Renderer(console).problem(problem)
    return problem is None


def encoded(exported: Object) -> bytes:
    """An export as the bytes of its file: JSON that can be read and compared line by line."""
    try:
        return json.dumps(exported, ensure_ascii=False, indent=1).encode() + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair is no UTF-8, but can be escaped
        return json.dumps(exported, indent=1).encode() + b"\n"


def described(exported: Object, target: Path | None) -> str:
    """What was exported and what was taken out of it, for the person."""
    removed: dict[str, int] = exported.get("removed", {})
    taken = "; ".join(f"{kind}: {counted(count, 'place')}" for kind, count in removed.items())
    where = "" if target is None else f" to {target}"
    return (
        f"Exported session {exported['sessionId']}{where}: {counted(len(exported['events']), 'event')}, "
        f"{counted(len(exported['contents']), 'text')}.\n"
        f"Taken out: {taken or 'nothing'}.\n"
        "Look it over before you share it: a secret of no known shape is still in it, and so is your code."
    )
