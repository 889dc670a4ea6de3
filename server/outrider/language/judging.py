"""What an edit does to the problems of a project: the texts before and after it are shown to a server, and what it says is compared.

What it says of the texts before is kept, so that as a rule one check is enough. A text that is only tried is taken back before anybody
else is served, whatever happens.
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, cast

from outrider.language.connection import (
    CANCELLED,
    CLOSED,
    CONTENT_MODIFIED,
    SERVER_CANCELLED,
    TIMED_OUT,
    Failure,
)
from outrider.language.positions import lines_of, place_of, spelled, units
from outrider.language.problems import difference
from outrider.language.server import Server
from outrider.ports.editor import Reported, Severity
from outrider.ports.language import Touched, Verdict

MOST_REFERRING: Final = 20
"""Files that refer to a changed one and are judged with it."""
MOST_NAMES: Final = 12
"""Names of a changed file whose references are looked up."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Tried:
    """What came of a comparison; of a trial it is kept for the edit that is made of it."""

    key: object
    """The edit."""
    generation: int
    """The texts before."""
    before: Mapping[str, list[Reported]]
    after: Mapping[str, list[Reported]]
    around: Mapping[str, str]
    """The texts of the files that refer to it."""
    unjudged: int
    """How many more there are."""
    unfollowed: int
    """Changed names whose users were not looked for."""


class Judge:
    """Judges edits with one server."""

    def __init__(self, server: Server) -> None:
        """Judge with a server."""
        self._server = server
        self._tried: _Tried | None = None

    async def judge(
        self, touched: Sequence[Touched], seconds: float, *, is_trial: bool, least: Severity
    ) -> Verdict | None:
        """What an edit does to the problems; None where that is not known in time.

        Args:
            touched: The files that it changes.
            seconds: How long it may take.
            is_trial: Whether it is not made yet, so that its texts are taken back.
            least: The least severity that counts.
        """
        server = self._server
        own = [one for one in touched if server.serves(one.uri) and one.after is not None]
        if not own or server.row.way == "disk":
            return None
        async with server.its_turn():
            await server.show_workspace(but=[one.uri for one in own])
            self._show(own, is_before=True)
            key, generation = tuple((one.uri, one.before, one.after) for one in own), server.generation
            known = self._tried
            if not is_trial and known is not None and (known.key, known.generation) == (key, generation):
                # Nothing has changed since it was tried.
                self._show(own, is_before=False)
                server.keep(known.after, server.generation)
                return self._verdict(known, own, least, is_trial=False)
            try:
                tried = await self._compared(own, key, seconds, keep=not is_trial)
            finally:
                if is_trial:
                    self._show(own, is_before=True)
                    server.back_to(generation)
            if tried is None:
                return None
            self._tried = tried if is_trial else None
            return self._verdict(tried, own, least, is_trial=is_trial)

    async def _compared(
        self, own: Sequence[Touched], key: object, seconds: float, *, keep: bool
    ) -> "_Tried | None":
        server, generation, end = self._server, self._server.generation, _now() + seconds
        if not (await server.is_loaded(seconds) and await server.is_indexed(end - _now())):
            return None
        found = await self._referring(own, end - _now())
        if found is None:
            return None
        referring, unfollowed = found
        texts = await server.sources.texts(referring[:MOST_REFERRING])
        opened = {one.uri for one in server.sources.open()}
        around = {
            uri: kept  # the server's own, so that there is one of each
            for uri, text in texts.items()
            if server.show(uri, text, is_as_on_disk=uri not in opened)
            and (kept := server.shown(uri)) is not None
        }
        there = [*(one.uri for one in own if one.before is not None), *around]
        before = await server.problems(there, end - _now())
        if len(before) < len(there):
            return None
        self._show(own, is_before=False)
        there = [*(one.uri for one in own), *around]
        after = await server.problems(there, end - _now(), keep=keep)
        if len(after) < len(there):
            return None
        return _Tried(key, generation, before, after, around, len(referring[MOST_REFERRING:]), unfollowed)

    def _show(self, own: Sequence[Touched], *, is_before: bool) -> None:
        for one in own:
            text = one.before if is_before else one.after
            if text is not None:
                self._server.show(one.uri, text)
            elif self._server.shown(one.uri) is not None:
                self._server.hide(one.uri)

    @staticmethod
    def _verdict(tried: "_Tried", own: Sequence[Touched], least: Severity, *, is_trial: bool) -> Verdict:
        introduced, fixed = difference(tried.before, tried.after, least=least)
        texts = {one.uri: one.before if is_trial else one.after for one in own}
        about = {uri: text for uri, text in texts.items() if text is not None}
        return Verdict(introduced, fixed, {**tried.around, **about}, tried.unjudged, tried.unfollowed)

    # --- who refers to it ------------------------------------------------------------------------------------

    async def _referring(self, own: Sequence[Touched], seconds: float) -> tuple[list[str], int] | None:
        """The files that refer to what an edit touches, those that do so most often first, and how many names were not followed.

        None where that is not known in time.

        A server that has just read a large project can need longer for it than for its problems. That there are none would then be false.
        """
        server = self._server
        if not (server.looks_across_files and server.can("textDocument/references")):
            return [], 0
        counts: dict[str, int] = {}
        changed = {one.uri for one in own}
        named = await asyncio.gather(*(self._names(one, seconds) for one in own))
        places = [place for found in named for place in found or ()]
        asked = (self._references(uri, at, seconds) for uri, at in places[:MOST_NAMES])
        answers = await asyncio.gather(*asked)
        if None in named or None in answers:
            return None
        for said in answers:
            for uri in said or ():
                if uri not in changed:
                    counts[uri] = counts.get(uri, 0) + 1
        referring = sorted(counts, key=lambda uri: (-counts[uri], uri))
        return referring, len(places[MOST_NAMES:])

    async def _asked(self, method: str, params: Any, seconds: float) -> Any:
        """What it says; once more where that is nothing, as a server says that something else has just interrupted."""
        said = await self._server.send(method, params)(seconds)
        return await self._server.send(method, params)(seconds) if said is None else said

    async def _names(self, one: Touched, seconds: float) -> list[tuple[str, Any]] | None:
        """Where the names stand that a change of a file touches, and those that they lie in; None where there is no answer in time."""
        if one.before is None or not one.lines or not self._server.can("textDocument/documentSymbol"):
            return []
        params = {"textDocument": {"uri": one.uri}}
        said = await self._asked("textDocument/documentSymbol", params, seconds)
        if isinstance(said, Failure) and said.code in _UNANSWERED:
            return None
        found: list[tuple[int, Any]] = []
        _touching(said, one.lines, found, 0)
        found.sort(key=lambda pair: -pair[0])  # the innermost first: a method before its class
        return [*((one.uri, at) for _, at in found), *((one.uri, at) for at in self._handed_on(one, said))]

    def _handed_on(self, one: Touched, symbols: Any) -> Iterator[Any]:
        """Where words stand on changed lines that no symbol has, such as those of an import: others may import them from here."""
        lines = lines_of(one.before or "")
        changed = (number for part in one.lines for number in part if number < len(lines))
        for number in islice(changed, _MOST_LINES):
            inside: list[tuple[int, Any]] = []
            _touching(symbols, [range(number, number + 1)], inside, 0)
            line = lines[number][:_LONGEST_LINE]
            for column in _words(line) if not inside else ():
                yield {"line": number, "character": units(line, column, self._server.encoding)}

    async def _references(self, uri: str, at: Any, seconds: float) -> list[str] | None:
        params = {"textDocument": {"uri": uri}, "position": at, "context": {"includeDeclaration": False}}
        said = await self._asked("textDocument/references", params, seconds)
        if isinstance(said, Failure) or not isinstance(said, list):
            return None if isinstance(said, Failure) and said.code in _UNANSWERED else []
        found = (spelled(str(_get(one, "uri"))) for one in cast("list[Any]", said))
        return [uri for uri in found if uri is not None and self._server.serves(uri)]


def _words(line: str) -> Iterator[int]:
    """Where the names in a line begin."""
    at = 0
    while at < len(line):
        end = at
        while end < len(line) and (line[end] if end == at else f"_{line[end]}").isidentifier():
            end += 1
        if end > at and line[at:end] not in _KEYWORDS:
            yield at
        at = max(end, at + 1)


def _touching(symbols: Any, lines: Sequence[range], found: list[tuple[int, Any]], depth: int) -> None:
    """Where symbols begin whose lines are among those that were changed (LSP 3.17, "DocumentSymbol", "SymbolInformation")."""
    if not isinstance(symbols, list) or depth > _DEEPEST:
        return
    for one in cast("list[Any]", symbols):
        whole = _get(one, "range") or _get(_get(one, "location"), "range")
        start, end = place_of(_get(whole, "start")), place_of(_get(whole, "end"))
        if start is None or end is None:
            continue
        if not any(start.line < max(part.stop, part.start + 1) and part.start <= end.line for part in lines):
            continue
        at = _get(_get(one, "selectionRange"), "start") or _get(whole, "start")
        if place_of(at) is not None:
            found.append((depth, at))
        if _get(one, "kind") not in _FUNCTIONS:
            _touching(_get(one, "children"), lines, found, depth + 1)


_UNANSWERED: Final = frozenset({TIMED_OUT, CLOSED, CANCELLED, CONTENT_MODIFIED, SERVER_CANCELLED})
"""Failures that are no answer: they do not say that nobody refers to a name."""
_MOST_LINES: Final = 100
_LONGEST_LINE: Final = 500
"""Changed lines that are looked at for names that they hand on, and how far."""
_KEYWORDS: Final = frozenset(
    [
        "as",
        "async",
        "await",
        "const",
        "def",
        "default",
        "export",
        "from",
        "function",
        "if",
        "import",
        "in",
        "let",
        "package",
        "pub",
        "return",
        "type",
        "use",
        "var",
        "with",
    ]
)
"""Words that begin or part lines of many languages, and name nothing."""
_DEEPEST: Final = 8
_FUNCTIONS: Final = (6, 9, 12)
"""Methods, constructors and functions (LSP 3.17, "SymbolKind"): nobody else refers to what is in them."""


def _get(value: Any, key: str) -> Any:
    return cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None


def _now() -> float:
    return asyncio.get_running_loop().time()
