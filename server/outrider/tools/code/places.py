"""How a model names a place in code: by a name, or by a line and what stands there. It never counts columns."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

from pydantic import Field, model_validator

from outrider.language.answers import Answers
from outrider.language.table import DEFINERS, kind_of, language_of
from outrider.ports.language import Found, Spot, Unknown
from outrider.ports.patterns import WORD, linear
from outrider.tools.context import ReadContext
from outrider.tools.registry import Params
from outrider.workspace.paths import Located, PathProblem
from outrider.workspace.text.lines import split_lines

MOST_NAMED: Final = 10
"""Places that are named where a name stands for several things."""
MOST_UNSERVED: Final = 5
"""Files that nobody serves, until no further one is tried."""
_NAME: Final = linear("code.name", rf"[{WORD}$]+")
_KEYWORDS: Final = frozenset(
    [
        "def",
        "class",
        "return",
        "function",
        "const",
        "let",
        "var",
        "val",
        "fun",
        "func",
        "fn",
        "pub",
        "public",
        "private",
        "protected",
        "static",
        "async",
        "await",
        "export",
        "default",
        "import",
        "from",
        "as",
        "type",
        "struct",
        "enum",
        "interface",
        "impl",
        "trait",
        "if",
        "elif",
        "else",
        "for",
        "while",
        "in",
        "not",
        "and",
        "or",
        "is",
        "new",
        "void",
        "int",
        "bool",
        "float",
        "double",
        "char",
        "self",
        "this",
        "yield",
        "with",
        "try",
        "except",
        "raise",
        "throw",
        "throws",
        "catch",
        "switch",
        "case",
        "match",
        "use",
        "mod",
        "package",
        "namespace",
        "using",
        "extends",
        "implements",
        "abstract",
        "final",
        "override",
    ]
)


class Place(Params):
    """Arguments that say where: `symbol`, or `path` with `line` or `text`."""

    symbol: str | None = Field(default=None, description="Such as `Tariff.price`.")
    path: str | None = Field(default=None, description="Its file.")
    line: int | None = Field(default=None, description="Its line.")
    text: str | None = Field(default=None, description="What that says.")

    @model_validator(mode="after")
    def _says_where(self) -> Self:
        if not self.symbol and not (self.path and (self.line or self.text)):
            raise ValueError("give symbol, or path with line or text")
        if self.line is not None and self.line < 1:
            raise ValueError("line must be at least 1")
        return self


@dataclass(frozen=True, slots=True)
class At:
    """A place that was found, and who is asked about it."""

    spot: Spot
    name: str
    display: str
    """Its file and line."""
    answers: Answers


async def find(where: Place, method: str, context: ReadContext) -> At | str:
    """What a model means by a place; a text says why that is not clear.

    Args:
        where: What it gave.
        method: What is to be asked there.
        context: The turn.
    """
    if where.path:
        located = await context.workspace.folders.locate(where.path)
        if isinstance(located, PathProblem):
            return located.message
        return await _in_file(where, located, method, context)
    return await _by_name(where.symbol or "", method, context)


async def _in_file(where: Place, located: Located, method: str, context: ReadContext) -> At | str:
    text = (await context.languages.sources.texts([located.uri])).get(located.uri)
    if text is None:
        return f"{located.shown} cannot be read, or is not shown to language servers."
    answers = await context.languages.answers_for(located.uri, method)
    if isinstance(answers, Unknown):
        return f"{located.shown}: {answers.message}."
    if where.line is None and not where.text:
        return await _outlined(where.symbol or "", located, answers, context)
    lines = [line.rstrip("\r\n") for line in split_lines(text)]
    number = _line(lines, where)
    if number is None:
        return (
            f"{located.shown}: {where.text!r} stands in no line"
            if where.text
            else f"{located.shown} has {len(lines)} lines"
        )
    found = _column(lines[number], where)
    if found is None:
        return f"{located.shown}:{number + 1} has no such name: {lines[number].strip()[:200]}"
    column, name = found
    return At(Spot(located.uri, number, column, name), name, f"{located.shown}:{number + 1}", answers)


def _line(lines: Sequence[str], where: Place) -> int | None:
    """The line that is meant, from 0: the one that has the text and is nearest to the number."""
    if not where.text:
        return where.line - 1 if where.line is not None and where.line <= len(lines) else None
    wanted = " ".join(where.text.split())
    having = [number for number, line in enumerate(lines) if wanted in " ".join(line.split())]
    near = (where.line or 1) - 1
    return min(having, key=lambda number: abs(number - near), default=None)


def _column(line: str, where: Place) -> tuple[int, str] | None:
    """Where the name stands in its line: the one that is given, else the first of the text that is no keyword."""
    if where.symbol:
        last = where.symbol.rpartition(".")[2]
        column = column_of(last, line)
        return None if column is None else (column, last)
    start = max(0, line.find(where.text)) if where.text else 0
    for found in _NAME.finditer(line[start:]):
        name = found.group()
        if name not in _KEYWORDS and not name[0].isdigit():
            return start + found.start(), name
    return None


async def _outlined(symbol: str, located: Located, answers: Answers, context: ReadContext) -> At | str:
    """A name that a file defines."""
    said = await answers.outline(located.uri)
    if isinstance(said, Unknown):
        return f"{located.shown}: {said.message}."
    having = [one for one in said if one.name == symbol.rpartition(".")[2]]
    holder = symbol.rpartition(".")[0].rpartition(".")[2]
    if holder and len(having) > 1:
        having = [one for one in having if _lies_in(one, holder, said)] or having
    return await _the_one(having, symbol, located.shown, answers, context)


def _lies_in(one: Found, holder: str, outline: Sequence[Found]) -> bool:
    """Whether the nearest thing around a name is called so."""
    above = outline[: outline.index(one)]
    return next((other.name for other in reversed(above) if other.depth < one.depth), "") == holder


async def _by_name(symbol: str, method: str, context: ReadContext) -> At | str:
    """A name, wherever in the workspace it is defined: who serves a file that has it is asked, for each language once."""
    last, holder = symbol.rpartition(".")[2], symbol.rpartition(".")[0].rpartition(".")[2]
    files = await context.languages.sources.mentions(last, whole=True)
    why, answered = "", dict[str, Answers]()
    unserved = 0
    for uri in sorted(files, key=lambda one: language_of(one) is None):
        if kind_of(uri) in answered:
            continue
        answers = await context.languages.answers_for(uri, method)
        if isinstance(answers, Unknown):
            why = why or answers.message  # what knows code comes first
            continue
        named = await _declared(last, holder, kind_of(uri), answers, context)
        if not named:
            said = await answers.named(last, [uri])
            if not isinstance(said, Unknown):
                named = [one for one in said if one.name.partition("(")[0] == last]
            if holder:
                named = [one for one in named if one.detail.rpartition(".")[2] == holder] or named
        if not named:
            # Who lists no names may know them where they are used.
            alike = [uri, *(one for one in files if one != uri and kind_of(one) == kind_of(uri))]
            used = await _used(last, alike[:MOST_NAMED], answers, context)
            if isinstance(used, Unknown):
                why, unserved = why or used.message, unserved + 1
                if unserved == MOST_UNSERVED:
                    break
                continue
            named = used
        answered[kind_of(uri)] = answers
        if named:
            return await _the_one(named, symbol, "the workspace", answers, context)
    if answered:
        return f"{symbol} is not defined in the workspace."
    return f"{symbol}: {why or f'no file mentions {last!r}'}."


async def _declared(
    name: str, holder: str, language: str, answers: Answers, context: ReadContext
) -> Sequence[Found]:
    """Where a function or class is defined, by the outlines of the files that can define it; empty where that cannot be told.

    A server that is asked for a name of the workspace looks through all of its files, each time.
    """
    words = DEFINERS.get(language, ())
    mentions = context.languages.sources.mentions
    listed = await asyncio.gather(*(mentions(f"{word} {name}", whole=True) for word in words))
    files = {uri for one in listed for uri in one if kind_of(uri) == language}
    if holder and files:
        around = await asyncio.gather(*(mentions(f"{word} {holder}", whole=True) for word in words))
        files &= {uri for one in around for uri in one}
    if not 0 < len(files) <= MOST_NAMED:
        return []
    found: list[Found] = []
    for said in await asyncio.gather(*map(answers.outline, sorted(files))):
        if isinstance(said, Unknown):
            return []
        named = [one for one in said if one.name == name and one.kind != "variable"]
        found += [one for one in named if not holder or _lies_in(one, holder, said)]
    return found


async def _used(
    name: str, files: Sequence[str], answers: Answers, context: ReadContext
) -> Sequence[Found] | Unknown:
    """Where a name is defined that stands in some files; `Unknown` where nobody can be asked."""
    texts = await context.languages.sources.texts(files)
    for uri in files:
        for number, line in enumerate(split_lines(texts.get(uri, ""))):
            if (column := column_of(name, line)) is not None:
                said = await answers.places("textDocument/definition", Spot(uri, number, column, name))
                if isinstance(said, Unknown) and said.nobody:
                    return said
                if not isinstance(said, Unknown) and said:
                    return said
                break
    return []


async def _the_one(
    found: Sequence[Found], symbol: str, where: str, answers: Answers, context: ReadContext
) -> At | str:
    display = context.workspace.folders.display_of
    places = {(one.spot.uri, one.spot.line): one for one in found}
    if not places:
        return f"{symbol} is not defined in {where}."
    if len(places) > 1:
        named = "\n".join(
            f"{display(uri)}:{line + 1}: {one.line}" for (uri, line), one in list(places.items())[:MOST_NAMED]
        )
        return f"{symbol} stands for {len(places)} things; give path and line of the one you mean:\n{named}"
    spot = next(iter(places))
    text = (await context.languages.sources.texts([spot[0]])).get(spot[0], "")
    line = split_lines(text)[spot[1]] if spot[1] < len(split_lines(text)) else ""
    # Where a definition begins its name need not stand yet.
    name = symbol.rpartition(".")[2]
    column = column_of(name, line)
    at = Spot(*spot, places[spot].spot.column) if column is None else Spot(*spot, column, name)
    return At(at, symbol, f"{display(at.uri)}:{at.line + 1}", answers)


def column_of(name: str, line: str) -> int | None:
    """Where a name stands in a line as a whole; None where it does not."""
    return next((found.start() for found in _NAME.finditer(line) if found.group() == name), None)
