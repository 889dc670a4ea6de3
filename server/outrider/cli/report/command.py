"""What `outrider report` does: gets a session, of the log or of a file, and writes its page."""

import asyncio
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from outrider.cli.exits import ExitCode
from outrider.cli.export import exported_file, fetch_export, hand_over, read_given
from outrider.cli.problems import Problems
from outrider.cli.report.model import report_of
from outrider.cli.report.page import page_of
from outrider.store.exported import ExportProblem
from outrider_protocol.export import Export

Object = dict[str, Any]


async def report(
    workspace: Path,
    options: Object,
    of: str | None,
    target: Path | None,
    *,
    force: bool,
) -> ExitCode:
    """Write a session as a page.

    Args:
        workspace: The folder whose sessions are meant.
        options: The server's `initializationOptions`.
        of: A session's id, or an exported file; None for the latest session.
        target: The file to write; None for standard output.
        force: Whether a file that is there may be replaced.
    """
    problems = Problems()
    file = None if of is None else await asyncio.to_thread(exported_file, of)
    if file is not None:
        export = await asyncio.to_thread(read_given, file)
    else:
        export = await _of_session(workspace, options, of, problems)
    if isinstance(export, ExitCode):
        return export
    if isinstance(export, ExportProblem):
        problems.error(export.message)
        return ExitCode.USAGE
    page = await asyncio.to_thread(lambda: page_of(report_of(export)).encode())
    if not await hand_over(page, target, problems, force=force):
        return ExitCode.USAGE
    if target is not None:
        problems.note(f"The report of session {export.session_id} is in {target}.")
    return ExitCode.COMPLETED


async def _of_session(
    workspace: Path, options: Object, session_id: str | None, problems: Problems
) -> Export | ExportProblem | ExitCode:
    exported = await fetch_export(workspace, options, session_id, problems)
    if isinstance(exported, ExitCode):
        return exported
    try:
        return Export.from_wire(exported)
    except ValidationError as error:
        return ExportProblem(f"the server gave something else than an export: {error.errors()[0]['msg']}")
