"""The tools that ask language servers: definition, references, symbols, hover, call_hierarchy. What they give is short."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Literal, Self

from pydantic import Field, model_validator

from outrider.language.table import kind_of, language_of
from outrider.permissions.policy.decide import Access
from outrider.ports.language import Found, Unknown
from outrider.ports.model import ToolCall
from outrider.tools.code.places import Place, find
from outrider.tools.context import Action, ReadContext, ToolResult, error, ok
from outrider.tools.registry import Params, Tool
from outrider.workspace.paths import PathProblem

MOST: Final = 100
"""Places of one result."""
LINE_CHARACTERS: Final = 160
MOST_KINDS: Final = 5
"""Languages whose servers are asked for a name."""
_FUNCTIONS: Final = ("function", "method", "constructor")
_VARIABLES: Final = ("variable", "constant")


async def plan_definition(params: Place, _call: ToolCall, context: ReadContext) -> Action | ToolResult:
    """Ask where a name is defined."""
    return _asking(lambda: _places(params, "textDocument/definition", context))


async def plan_references(params: Place, _call: ToolCall, context: ReadContext) -> Action | ToolResult:
    """Ask where a name is used."""
    return _asking(lambda: _places(params, "textDocument/references", context))


async def _places(params: Place, method: str, context: ReadContext) -> ToolResult:
    at = await find(params, method, context)
    if isinstance(at, str):
        return error(at)
    said = await at.answers.places(method, at.spot)
    if isinstance(said, Unknown):
        return error(f"{at.name} at {at.display}: {said.message}.")
    if not said:
        return ok(f"Nothing was found for {at.name} at {at.display}.")
    count, more = said.total, f"{len(said)} of " * (said.total > len(said))
    said.sort(key=lambda one: (context.workspace.folders.display_of(one.spot.uri), one.spot.line))
    head = f"{more}{count} reference{'s' * (count != 1)} to {at.name}, in {len({one.spot.uri for one in said})} files:"
    return ok("\n".join(([head] if method.endswith("references") else []) + _lines(said, context)))


class Hover(Place):
    """Arguments of `hover`."""


async def plan_hover(params: Place, _call: ToolCall, context: ReadContext) -> Action | ToolResult:
    """Ask for the signature and the documentation of a name."""

    async def look() -> ToolResult:
        at = await find(params, "textDocument/hover", context)
        if isinstance(at, str):
            return error(at)
        said = await at.answers.hover(at.spot)
        return (
            error(f"{at.name} at {at.display}: {said.message}.")
            if isinstance(said, Unknown)
            else ok(f"{at.display}\n{said}")
        )

    return _asking(look)


class CallHierarchy(Place):
    """Arguments of `call_hierarchy`."""

    direction: Literal["incoming", "outgoing"] = Field(
        default="incoming", description="Callers, or what it calls."
    )


async def plan_calls(params: CallHierarchy, _call: ToolCall, context: ReadContext) -> Action | ToolResult:
    """Ask who calls a function, or what it calls."""

    async def look() -> ToolResult:
        at = await find(params, "textDocument/prepareCallHierarchy", context)
        if isinstance(at, str):
            return error(at)
        said = await at.answers.calls(at.spot, incoming=params.direction == "incoming")
        if isinstance(said, Unknown):
            return error(f"{at.name} at {at.display}: {said.message}.")
        none = "Nothing calls" if params.direction == "incoming" else "No calls are made by"
        return ok("\n".join(_lines(said, context)) or f"{none} {at.name} at {at.display}.")

    return _asking(look)


class Symbols(Params):
    """Arguments of `symbols`."""

    path: str | None = Field(default=None, description="One file.")
    query: str | None = Field(default=None, description="A part of a name.")

    @model_validator(mode="after")
    def _has_one(self) -> Self:
        if bool(self.path) == bool(self.query):
            raise ValueError("give either path or query")
        return self


async def plan_symbols(params: Symbols, _call: ToolCall, context: ReadContext) -> Action | ToolResult:
    """Ask which names a file defines, or which of the workspace are like a text."""

    async def look() -> ToolResult:
        if params.path:
            said = await _outline(params.path, context)
        else:
            said = await _named(params.query or "", context)
        if isinstance(said, Unknown):
            return error(f"{said.message[:1].upper()}{said.message[1:]}.")
        lines = _outlined(said) if params.path else _like(params.query or "", said, context)
        return ok("\n".join(lines) or "No names were found.")

    return _asking(look)


async def _outline(path: str, context: ReadContext) -> list[Found] | Unknown:
    located = await context.workspace.folders.locate(path)
    if isinstance(located, PathProblem):
        return Unknown(located.message)
    answers = await context.languages.answers_for(located.uri, "textDocument/documentSymbol")
    said = answers if isinstance(answers, Unknown) else await answers.outline(located.uri)
    return said if isinstance(said, Unknown) else _without_locals(said)


def _without_locals(outline: Sequence[Found]) -> list[Found]:
    """An outline without the parameters and variables of functions, which some servers list."""
    kept: list[Found] = []
    function: int | None = None  # how deep the function lies that is around
    for one in outline:
        if function is not None and one.depth <= function:
            function = None
        if function is None and one.kind in _FUNCTIONS:
            function = one.depth
        elif function is not None and one.kind in _VARIABLES:
            continue
        kept.append(one)
    return kept


async def _named(query: str, context: ReadContext) -> list[Found] | Unknown:
    """The names like a text, by who serves a file that has it: for each language one is asked, until something is found."""
    unmentioned = Unknown("no file of the workspace mentions it")
    said: list[Found] | Unknown = unmentioned
    failed: Unknown | None = None
    files = await context.languages.sources.mentions(query, whole=False)
    answered = set[str]()
    for uri in sorted(files, key=lambda one: language_of(one) is None):
        if kind_of(uri) in answered or len(answered) == MOST_KINDS:
            continue
        answers = await context.languages.answers_for(uri, "workspace/symbol")
        found = answers if isinstance(answers, Unknown) else await answers.named(query, [uri])
        if not isinstance(answers, Unknown):
            answered.add(kind_of(uri))
            if isinstance(found, Unknown) and not found.nobody:
                failed = failed or found
        if not isinstance(found, Unknown) or said is unmentioned:
            said = found
        if not isinstance(found, Unknown) and found:
            return found
    # That others know nothing does not say what the one would have known that failed.
    return failed or said


def _asking(look: Callable[[], Awaitable[ToolResult]]) -> Action:
    return Action(access=Access("read"), perform=look)


def _lines(found: Sequence[Found], context: ReadContext) -> list[str]:
    """Each place in a line: where it is, what it is, and what stands there."""
    lines: list[str] = []
    for one in found[:MOST]:
        path = context.workspace.folders.display_of(one.spot.uri)
        detail = one.detail.replace(f"({path.rpartition('/')[2]})", "").strip()
        # A line that defines a name says what it is.
        named = "" if one.name in one.line else f"{one.kind} {one.name}".strip()
        who = f"{named} ({detail})" if named and detail else named or detail
        lines.append(": ".join(filter(None, (f"{path}:{one.spot.line + 1}", who, _cut(one.line)))))
    return [*lines, *([f"[{len(found) - MOST} more]"] if len(found) > MOST else [])]


def _like(query: str, found: Sequence[Found], context: ReadContext) -> list[str]:
    """The names that are like a query, those that have it in them if there are any; variables in something come only if all are."""
    having = [one for one in found if query.casefold() in one.name.casefold()] or found
    inner = [one for one in having if one.kind in _VARIABLES and one.detail and one.name != query]
    if not inner or len(inner) == len(having):
        return _lines(having, context)
    outer = [one for one in having if one not in inner]
    return [*_lines(outer, context), f"[left out: {len(inner)} in classes or functions; give the whole name]"]


def _outlined(found: Sequence[Found]) -> list[str]:
    lines = [
        f"{'  ' * one.depth}{one.spot.line + 1}: "
        + (_cut(one.line) if one.name in one.line else f"{one.kind} {one.name}")
        for one in found[: 3 * MOST]
    ]
    return [*lines, *([f"[{len(found) - 3 * MOST} more]"] if len(found) > 3 * MOST else [])]


def _cut(line: str) -> str:
    return line if len(line) <= LINE_CHARACTERS else f"{line[: LINE_CHARACTERS - 1]}…"


DEFINITION = Tool(
    "definition",
    'Find where a name is defined. Example: {"symbol": "Tariff.price"}; where that is not clear, path and line.',
    "read",
    Place,
    plan_definition,
)
REFERENCES = Tool("references", "Find all uses of a name.", "read", Place, plan_references)
SYMBOLS = Tool("symbols", "List the names in a file, or in the workspace.", "read", Symbols, plan_symbols)
HOVER = Tool("hover", "Show type, signature and documentation of a name.", "read", Hover, plan_hover)
CALL_HIERARCHY = Tool(
    "call_hierarchy", "List the callers of a function, or its calls.", "read", CallHierarchy, plan_calls
)
