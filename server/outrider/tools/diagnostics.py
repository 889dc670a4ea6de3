"""The tool that looks at problems: those that the editor shows, and those that our own language servers find.

Where the editor serves a file none of our own is started for this alone; one that runs is asked. What they tell is of any origin: nothing outside the workspace and nothing of a file that is shut is passed on, and never more than a
bounded part. Of our own servers a verdict is about the text of now, or there is none yet.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import Field

from outrider.language.table import language_of
from outrider.permissions.policy.decide import Access
from outrider.ports.editor import Reported
from outrider.ports.language import Unknown
from outrider.ports.model import ToolCall
from outrider.ports.text import Place
from outrider.tools.context import OUTSIDE, Action, ReadContext, ToolResult, error, ok
from outrider.tools.registry import Params, Tool
from outrider.workspace.paths import Located, PathProblem
from outrider.workspace.text.lines import Lines

OWN_SOURCE: Final = "outrider"
"""The source of the diagnostics that Outrider publishes itself."""
MOST: Final = 200
"""Problems of one result."""
MESSAGE_CHARACTERS: Final = 400
MOST_FILES: Final = 50
"""Files that our own servers are asked about, where none is named."""
NOBODY: Final = "no language server was found for this"
SECONDS: Final = 10.0
"""How long they may take."""

_RANK: Final = {"error": 0, "warning": 1, "information": 2, "hint": 3}


class Diagnose(Params):
    """Arguments of `diagnostics`."""

    path: str | None = Field(default=None, min_length=1, description="Default: all files.")


@dataclass(frozen=True, slots=True)
class _Found:
    """A problem in a file of the workspace."""

    path: str
    one: Reported


async def plan_diagnostics(params: Diagnose, _call: ToolCall, context: ReadContext) -> Action | ToolResult:
    """Ask the editor what is reported, and our own servers."""
    located: Located | None = None
    if params.path is not None:
        there = await context.workspace.folders.locate(params.path)
        if isinstance(there, PathProblem):
            return error(there.message)
        located = there

    async def perform() -> ToolResult:
        said = await context.languages.shown(None if located is None else located.uri)
        own, late, asked, why = await _of_servers(located, context)
        shown: Sequence[Reported] = ()
        if not isinstance(said, Unknown):
            shown = said
        elif not asked:
            return error(
                f"{why[:1].upper()}{why[1:]}, and {said.message}."
                if said.nobody
                else f"Could not get diagnostics: {said.message}."
            )
        known = {(one.uri, one.start.line, one.message) for one in shown}
        answer = [*shown, *(one for one in own if (one.uri, one.start.line, one.message) not in known)]
        found, shut = await asyncio.to_thread(_of_workspace, answer, located, context)
        lines = [_line(one, columns) for one, columns in _with_columns(found[:MOST], context)]
        if not found:
            where = "" if located is None else f" in {located.display}"
            lines = [f"{'No problems were found' if asked else 'The editor reports no problems'}{where}."]
        if len(found) > MOST:
            lines.append(f"[{len(found) - MOST} more, less severe; pass a path to see one file]")
        lines += [
            f"[{path} has problems but is a secret file; pass its path to ask the user]" for path in shut
        ]
        if isinstance(said, Unknown) and not said.nobody:
            lines.append(f"[{said.message}]")
        if late:
            lines.append(f"[no verdict yet from {', '.join(late)}]")
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


async def _of_servers(
    located: Located | None, context: ReadContext
) -> tuple[list[Reported], list[str], bool, str]:
    """The problems that our own servers find, the servers that have no verdict yet, whether any was asked, and why not.

    Without a file these are about what is open, and what the session has seen or changed.
    """
    if located is not None:
        uris = [located.uri]
    else:
        seen = context.knowledge.known_paths()[-MOST_FILES:]
        files = await context.workspace.folders.locate_all(seen)
        own = [one.uri for one in files if isinstance(one, Located) and one.inside]
        uris = list(dict.fromkeys([*(one.uri for one in context.languages.sources.open()), *own]))[
            -MOST_FILES:
        ]
    served = [uri for uri in uris if await context.languages.servers_for(uri)]
    if not served:
        known = min(uris, key=lambda uri: language_of(uri) is None, default="")
        why = await context.languages.why_nobody(known) if known else NOBODY
        return [], [], False, why
    found, late = await context.languages.problems(served, SECONDS, start="unlent")
    return found, late, True, ""


def _of_workspace(
    reported: Sequence[Reported], wanted: Located | None, context: ReadContext
) -> tuple[list[_Found], list[str]]:
    """The problems of what was asked for, the worst first, and the paths of files that are shut. Reads links."""
    found: list[_Found] = []
    shut: dict[str, None] = {}
    files: dict[str, Located | PathProblem] = {}
    for one in reported:
        if one.source == OWN_SOURCE:
            continue  # the model has the output of its checks
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
        lines, encoding = texts[uri], each.one.encoding
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
    "Get what language servers and linters find in a file, or in the files of this session, worst first. It does not replace tests.",
    "read",
    Diagnose,
    plan_diagnostics,
)
