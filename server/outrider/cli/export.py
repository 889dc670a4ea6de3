"""The command `export`: a session into one file that can be shared."""

import asyncio
import contextlib
import errno
import json
import os
import secrets
import sys
from pathlib import Path
from typing import Any, Final

import outrider_protocol as names
from outrider.cli.exits import ExitCode
from outrider.cli.look import RefusedError, latest_session, server_of
from outrider.cli.problems import Problems
from outrider.cli.render import counted
from outrider.cli.sessions import NO_SESSIONS
from outrider.store.exported import MOST_BYTES, ExportProblem, parse_export, read_export
from outrider_protocol.export import Export

_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
"""What a file system without hard links says."""


def write_file(path: Path, content: bytes, *, force: bool) -> str | None:
    """Write a file in one go, with the mode 0600. Blocks.

    Args:
        path: Where; its folder must exist.
        content: The whole of it.
        force: Whether a file that is there may be replaced.

    Returns:
        Why it could not be written. Nothing was changed then.
    """
    try:
        target = path.resolve()
        if target.exists() and not target.is_file():
            return f"{path} is not a file"
        if target.exists() and not force:
            return f"{path} already exists; --force replaces it"
        temporary = target.with_name(f".outrider-{secrets.token_hex(8)}")
        try:
            _write_new(temporary, content)
            if force:
                temporary.replace(target)
            else:
                _name_new(target, temporary)
        finally:
            with contextlib.suppress(FileNotFoundError):
                temporary.unlink()
    except FileExistsError:
        return f"{path} already exists; --force replaces it"
    except (OSError, RuntimeError, ValueError) as error:  # such as a loop of links, a NUL in the name
        return f"{path} cannot be written: {getattr(error, 'strerror', None) or error}"
    return None


def _name_new(target: Path, temporary: Path) -> None:
    """Give the file its name, unless somebody made one of that name meanwhile."""
    try:
        target.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        temporary.replace(target)


def _write_new(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


Object = dict[str, Any]

EXPORT_SECONDS: Final = 300.0
"""How long the server may take to put a session together."""


def exported_file(name: str) -> Path | None:
    """The file that is meant; None where it is a session's id. Blocks."""
    path = Path(name).expanduser()
    return path if path.exists() or not name.startswith("ses_") or "/" in name or path.suffix else None


def read_given(path: Path) -> Export | ExportProblem:
    """An exported session: of a file, or with `-` what stands on standard input. Blocks."""
    if str(path) != "-":
        return read_export(path)
    raw = sys.stdin.buffer.read(MOST_BYTES + 1)
    read = parse_export(raw) if len(raw) <= MOST_BYTES else ExportProblem("is too large")
    return ExportProblem(f"standard input: {read.message}") if isinstance(read, ExportProblem) else read


async def fetch_export(
    workspace: Path, options: Object, session_id: str | None, problems: Problems
) -> Object | ExitCode:
    """The export of a session, as JSON data; without an id that of the latest. `problems` show what goes wrong."""
    try:
        async with server_of(workspace, options | {"events": False}, problems, what="exporting") as client:
            session_id = session_id or await latest_session(client)
            if session_id is None:
                problems.error(NO_SESSIONS)
                return ExitCode.USAGE
            return await client.command(names.EXPORT, {"sessionId": session_id}, seconds=EXPORT_SECONDS)
    except RefusedError as refused:
        return refused.code


async def export(
    workspace: Path,
    options: Object,
    session_id: str | None,
    target: Path | None,
    *,
    force: bool,
) -> ExitCode:
    """Write the export of a session to `target`, or to standard output; say on standard error what was taken out."""
    problems = Problems()
    exported = await fetch_export(workspace, options, session_id, problems)
    if isinstance(exported, ExitCode):
        return exported
    content = await asyncio.to_thread(lambda: encoded(exported))
    if isinstance(read := await asyncio.to_thread(parse_export, content), ExportProblem):
        session = exported["sessionId"]
        problems.error(
            f"session {session} was not exported, because the exported file could not be read back: {read.message}"
        )
        return ExitCode.FAILED
    if not await hand_over(content, target, problems, force=force):
        return ExitCode.USAGE
    problems.note(described(exported, target))
    return ExitCode.COMPLETED


async def hand_over(content: bytes, target: Path | None, problems: Problems, *, force: bool) -> bool:
    """Write `content` to a file, or to standard output; False where that failed, which `problems` show."""
    if target is None:
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdout.buffer.write, content)
        sys.stdout.buffer.flush()
        return True
    problem = await asyncio.to_thread(write_file, target, content, force=force)
    if problem is not None:
        problems.error(problem)
    return problem is None


def encoded(exported: Object) -> bytes:
    """An export as the bytes of its file: JSON that can be read and compared line by line."""
    try:
        return json.dumps(exported, ensure_ascii=False, indent=1).encode() + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair is no UTF-8, but can be escaped
        return json.dumps(exported, indent=1).encode() + b"\n"


def described(exported: Object, target: Path | None) -> str:
    """What was exported and what was taken out of it, for the user."""
    removed: dict[str, int] = exported.get("removed", {})
    taken = "; ".join(f"{kind}: {counted(count, 'place')}" for kind, count in removed.items())
    where = "" if target is None else f" to {target}"
    return (
        f"Exported session {exported['sessionId']}{where}: {counted(len(exported['events']), 'event')}, "
        f"{counted(len(exported['contents']), 'text')}.\n"
        f"Taken out: {taken or 'nothing'}.\n"
        "Check it before you share it: it contains your code, and may contain secrets of a form Outrider does not know."
    )
