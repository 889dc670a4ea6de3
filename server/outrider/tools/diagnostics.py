"""The tool that looks at the problems that the editor's language servers and linters report.

Only the editor has them together. What it tells is of any origin: nothing outside the workspace and nothing of a file
that is shut is passed on, and never more than a bounded part.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import Field

from outrider.permissions.policy.decide import Access
from outrider.ports.editor import Reported, Unanswered
from outrider.ports.model import ToolCall
from outrider.ports.text import Place
from outrider.tools.context import OUTSIDE, Action, ReadContext, ToolResult, error, ok
from outrider.tools.registry import Params, Tool
from outrider.workspace.paths import Located, PathProblem
from outrider.workspace.text.lines import Lines

MOST: Final = 200
"""Problems of one result."""
MESSAGE_CHARACTERS: Final = 400

_RANK: Final = {"error": 0, "warning": 1, "information": 2, "hint": 3}
_WHY: Final = {
    "timeout": "it did not answer in time",
    "unsupported": "it does not support this",
    "closed": "it is gone",
}


class Diagnose(Params):
    """Arguments of `diagnostics`."""

    path: str | None = Field(
        default=None, min_length=1, description="File, relative to the workspace. Default: all files."
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """A problem in a file of the workspace."""

    path: str
    one: Reported


async def plan_diagnostics(params: Diagnose, _call: ToolCall, context: ReadContext) -> Action | ToolResult:
    """Ask the editor what is reported."""
    located: Located | None = None
    if params.path is not None:
        there = await context.workspace.folders.locate(params.path)
        if isinstance(there, PathProblem):
            return error(there.message)
        located = there

    async def perform() -> ToolResult:
        answer = await context.diagnostics(None if located is None else [_spelled(located, context)])
        if isinstance(answer, Unanswered):
            why = _WHY.get(answer.why, "its answer cannot be used")
            return error(f"Could not get diagnostics from the editor: {why}.")
        found, shut = await asyncio.to_thread(_of_workspace, answer, located, context)
        lines = [_line(one, columns) for one, columns in _with_columns(found[:MOST], context)]
        if not found:
            lines = [f"The editor reports no problems{'' if located is None else f' in {located.display}'}."]
        if len(found) > MOST:
            lines.append(f"[{len(found) - MOST} more, less severe; pass a path to see one file]")
        lines += [
            f"[{path} has problems but is a secret file; pass its path to ask the user]" for path in shut
        ]
        return ok("\n".join(lines))

    if located is None:
        return Action(access=Access("read"), perform=perform)
    title = f"Read the diagnostics of {located.display}{'' if located.inside else OUTSIDE}"
    return Action(
        access=Access("read", inside=located.inside, paths=[located.names]),
        perform=perform,
        title=title,
        detail=f"It resolves to {located.resolved}.",
        digest=f"{title}\0{located.resolved}",
    )


def _spelled(located: Located, context: ReadContext) -> str:
    """The URI as the client spells it, where the document is open."""
    document = context.workspace.documents.get(located.uri)
    return located.uri if document is None else document.uri


def _of_workspace(
    reported: Sequence[Reported], wanted: Located | None, context: ReadContext
) -> tuple[list[_Found], list[str]]:
    """The problems of what was asked for, the worst first, and the paths of files that are shut. Reads links."""
    found: list[_Found] = []
    shut: dict[str, None] = {}
    files: dict[str, Located | PathProblem] = {}
    for one in reported:
        located = files.get(one.uri) or context.workspace.folders.locate_now(one.uri)
        files[one.uri] = located
        if isinstance(located, PathProblem) or located.own:
            continue
        if wanted is not None:
            if located.display == wanted.display:
                found.append(_Found(located.display, one))
        elif located.inside and context.workspace.why_hidden(located.names) is not None:
            shut[located.display] = None
        elif located.inside:
            found.append(_Found(located.display, one))
    found.sort(
        key=lambda each: (_RANK[each.one.severity], each.path, each.one.start.line, each.one.start.character)
    )
    return found, list(shut)[:MOST]


def _with_columns(found: Sequence[_Found], context: ReadContext) -> list[tuple[_Found, int | None]]:
    """Each problem with its column in characters, from 1; None where the text is not known that it is counted in."""
    texts: dict[str, Lines | None] = {}
    shown: list[tuple[_Found, int | None]] = []
    for each in found:
        uri, start = each.one.uri, each.one.start
        if uri not in texts:
            document = context.workspace.documents.get(uri)
            texts[uri] = None if document is None else Lines(document.text)
        lines, encoding = texts[uri], context.workspace.documents.encoding
        column = None
        if lines is not None:
            first = lines.offset_of(Place(start.line, 0), encoding)
            column = lines.offset_of(start, encoding) - first + 1
        shown.append((each, column))
    return shown


def _line(each: _Found, column: int | None) -> str:
    one = each.one
    message = " ".join(one.message.split())
    if len(message) > MESSAGE_CHARACTERS:
        message = f"{message[: MESSAGE_CHARACTERS - 1]}…"
    who = " ".join(f"{one.source} {one.code}".split())
    place = f"{each.path}:{one.start.line + 1}" + ("" if column is None else f":{column}")
    return f"{place}: {one.severity}: {message}{f' [{who}]' if who else ''}"


DIAGNOSTICS = Tool(
    "diagnostics",
    "Get the current errors and warnings of the editor's language servers and linters, "
    "worst first. They include unsaved changes; after an edit they may take a few "
    "seconds. Most servers report only on open files; it does not replace tests. Example: "
    '{"path": "src/app.py"}',
    "read",
    Diagnose,
    plan_diagnostics,
)
