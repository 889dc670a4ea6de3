"""What is asked about code, and how the answers are read: places, names, texts that become others.

It is the same for a server of ours and for those of the editor: both take the requests of LSP and give its results.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from operator import itemgetter
from typing import Any, Final, Protocol, TypeVar, cast

from outrider.language.connection import METHOD_NOT_FOUND, Failure, Said
from outrider.language.lent import UNANSWERED, UNSERVED
from outrider.language.positions import Text, column, place_of, spelled, units
from outrider.ports.editor import Encoding
from outrider.ports.language import CodeAction, Found, NewFile, Sources, Spot, Unknown
from outrider.ports.text import Place

SECONDS: Final = 20.0
"""How long an answer may take."""
MOST: Final = 500
"""Places of one answer that are read."""
MOST_FILES: Final = 300
"""Files of one edit."""
_LARGE: Final = 500_000
"""Characters of texts from which on they are split in a thread."""
_LONGEST: Final = 2000
_LONGEST_NAME: Final = 200
_MOST_DEPTH: Final = 6
T = TypeVar("T")

KINDS: Final[Sequence[str]] = (
    "", "file", "module", "namespace", "package", "class", "method", "property", "field", "constructor", "enum", "interface", "function",
    "variable", "constant", "string", "number", "boolean", "array", "object", "key", "null", "enum member", "struct", "event", "operator",
    "type parameter",
)  # fmt: skip
"""LSP 3.17, "SymbolKind"."""


class Asked(Protocol):
    """Who can be asked: a server of ours, or the editor."""

    @property
    def encoding(self) -> Encoding:
        """How places are counted that it is asked about."""
        ...

    def can(self, method: str) -> bool:
        """Whether it may have an answer."""
        ...

    async def ask(
        self, method: str, params: Any, seconds: float, *, uris: Sequence[str] = ()
    ) -> Said | Failure:
        """Ask something."""
        ...


CHANGED: Final = Unknown("the text changed while the language server worked on it")
_TRIES: Final = 3
"""How often is asked where the texts do not stay as they are."""


class Places(list[Found]):
    """Places that were found; `total` is how many there are, with those that were not read."""

    def __init__(self, found: Iterable[Found], total: int) -> None:
        """Take them."""
        super().__init__(found)
        self.total = total


@dataclass(frozen=True, slots=True)
class Offer:
    """Who offers an action, and the answer in which that is done."""

    asked: Asked
    said: Said


Otherwise = Callable[[str], Awaitable[Asked | Unknown]]
"""Who is asked something of a method where the first one does not serve it."""


@dataclass(slots=True)
class Answers:
    """Asks one who knows, and who else there is where that one does not serve what is asked."""

    asked: Asked
    sources: Sources
    otherwise: Otherwise | None = None

    async def places(self, method: str, spot: Spot) -> Places | Unknown:
        """Where something is defined, or referred to.

        Args:
            method: `textDocument/definition` or `textDocument/references`.
            spot: A place where its name stands.
        """
        more = {"context": {"includeDeclaration": True}} if "ref" in method else {}

        async def once() -> Places | Unknown:
            said = await self._at(method, spot, **more)
            if isinstance(said, Unknown):
                return said
            listed = _listed(said.result) or [said.result]
            ranges = (
                (
                    _get(one, "uri") or _get(one, "targetUri"),
                    _get(one, "range") or _get(one, "targetSelectionRange"),
                )
                for one in listed[:MOST]
            )
            rows = ((uri, _get(at, "start"), Found(Spot("", 0, 0), "")) for uri, at in ranges)
            found = await self._found(rows, said)
            if isinstance(found, Unknown):
                return found
            return Places(found, len(found) + max(0, len(listed) - MOST))

        return await _settled(once)

    async def outline(self, uri: str) -> list[Found] | Unknown:
        """The names that a file defines."""

        async def once() -> list[Found] | Unknown:
            said = await self._ask("textDocument/documentSymbol", {"textDocument": {"uri": uri}}, [uri])
            return (
                said if isinstance(said, Unknown) else await self._found(_outlined(said.result, uri, 0), said)
            )

        return await _settled(once)

    async def named(self, query: str, uris: Sequence[str]) -> list[Found] | Unknown:
        """The names of the workspace that are like a query; `uris` are files that mention it."""

        async def once() -> list[Found] | Unknown:
            said = await self._ask("workspace/symbol", {"query": query}, uris)
            return (
                said if isinstance(said, Unknown) else await self._found(_outlined(said.result, "", 0), said)
            )

        return await _settled(once)

    async def hover(self, spot: Spot) -> str | Unknown:
        """The signature and the documentation of what stands at a place."""
        said = await _settled(lambda: self._at("textDocument/hover", spot))
        if isinstance(said, Unknown):
            return said
        text = _plain(_get(said.result, "contents")).strip()
        return text[:_LONGEST] if text else Unknown("nothing is known about it")

    async def calls(self, spot: Spot, *, incoming: bool) -> list[Found] | Unknown:
        """Who calls the function at a place, or what it calls."""
        return await _settled(lambda: self._calls(spot, incoming=incoming))

    async def _calls(self, spot: Spot, *, incoming: bool) -> list[Found] | Unknown:
        prepared = await self._at("textDocument/prepareCallHierarchy", spot)
        if isinstance(prepared, Unknown):
            return prepared
        items = _listed(prepared.result)
        if not items:
            return Unknown("there is no function at that place")
        method, end = ("incomingCalls", "from") if incoming else ("outgoingCalls", "to")
        # What one of them calls a function says nothing to another.
        said = await self._asked(
            f"callHierarchy/{method}", {"item": items[0]}, [spot.uri], of="textDocument/prepareCallHierarchy"
        )
        if isinstance(said, Unknown):
            return said
        rows: list[tuple[Any, Any, Found]] = []
        for one in _listed(said.result)[:MOST]:
            item, ranges = _get(one, end), _get(one, "fromRanges")
            first = (
                cast("list[Any]", ranges)[0]
                if isinstance(ranges, list) and ranges and incoming
                else _get(item, "selectionRange")
            )
            rows.append((_get(item, "uri"), _get(first, "start"), _named(item)))
        return await self._found(rows, said, prepared)

    async def rename(self, spot: Spot, new_name: str) -> list[NewFile] | Unknown:
        """The texts that renaming what stands at a place leads to."""

        async def once() -> list[NewFile] | Unknown:
            said = await self._at("textDocument/rename", spot, newName=new_name)
            return said if isinstance(said, Unknown) else await self.edited(said.result, said)

        return await _settled(once)

    async def format(self, uri: str, lines: tuple[int, int] | None) -> list[NewFile] | Unknown:
        """The text of a file when it is formatted, or some of its lines (first and last, from 0)."""
        return await _settled(lambda: self._format(uri, lines))

    async def _format(self, uri: str, lines: tuple[int, int] | None) -> list[NewFile] | Unknown:
        text = Text((await self.sources.texts([uri])).get(uri, ""))
        given: dict[str, Any] = {"textDocument": {"uri": uri}, "options": _indentation(text)}
        if lines is None:
            said = await self._ask("textDocument/formatting", given, [uri])
        else:
            said = await self._ask(
                "textDocument/rangeFormatting",
                lambda encoding: {**given, "range": _whole(lines, text, encoding)},
                [uri],
            )
        if isinstance(said, Unknown):
            return said
        # The lines were counted in that text.
        is_about_it = lines is None or await said.fits({uri: text.text})
        return await self.edited({"changes": {uri: said.result or []}}, said) if is_about_it else CHANGED

    async def actions(
        self, uri: str, lines: tuple[int, int], problems: Sequence[Any], only: str | None
    ) -> list[tuple[Offer, CodeAction, Any]] | Unknown:
        """What it offers to do at some lines, each with what it says about it.

        Args:
            uri: The file.
            lines: The first and the last line, from 0.
            problems: The problems of the file, as it wrote them.
            only: The only kind that is wanted, such as `quickfix`.
        """
        text = Text((await self.sources.texts([uri])).get(uri, ""))
        near = [
            one
            for one in problems
            if (at := place_of(_get(_get(one, "range"), "start"))) and lines[0] <= at.line <= lines[1]
        ]
        context: dict[str, Any] = {
            "diagnostics": near,
            "triggerKind": 1,
            **({"only": [only]} if only else {}),
        }
        params = {
            "textDocument": {"uri": uri},
            "range": _whole(lines, text, self.asked.encoding),
            "context": context,
        }
        # The problems are as this one wrote them.
        said = await self._asked("textDocument/codeAction", params, [uri])
        if isinstance(said, Unknown):
            return said
        if not await said.fits({uri: text.text}):
            return CHANGED
        found: list[tuple[Offer, CodeAction, Any]] = []
        for one in _listed(said.result)[:MOST]:
            title, kind = _get(one, "title"), _get(one, "kind")
            if isinstance(title, str) and _get(one, "disabled") is None:
                action = CodeAction(
                    " ".join(title.split())[:_LONGEST_NAME],
                    kind if isinstance(kind, str) else "",
                    _get(one, "isPreferred") is True,
                )
                found.append((Offer(self.asked, said), action, one))
        return found

    # --- texts that become others ----------------------------------------------------------------------------

    async def edited(self, edit: Any, *saids: Said) -> list[NewFile] | Unknown:
        """What a `WorkspaceEdit` makes of the files, in its order (LSP 3.17, "WorkspaceEdit").

        Args:
            edit: The edit.
            saids: The answer that it stands in, and those that led to it.
        """
        given = _steps(edit)
        if given is None:
            return Unknown("the language server's edit cannot be used")
        named = dict.fromkeys(uri for uri, _ in given)
        if len(named) > MOST_FILES:
            return Unknown(f"it would change {len(named)} files; the limit of one call is {MOST_FILES}")
        uris = {one: uri for one in named if (uri := spelled(one)) is not None}
        if len(uris) < len(named):
            return Unknown("the language server's edit is not about files alone")
        steps = [(uris[one], step) for one, step in given]
        texts: dict[str, str | None] = dict(await self.sources.texts(list(uris.values())))
        if not await _fit({uri: texts.get(uri) for uri in uris.values()}, saids):
            return CHANGED
        files: dict[str, NewFile] = {}
        encoding = saids[0].encoding
        # An edit of very many places takes its time.
        problem = await asyncio.to_thread(_made, steps, texts, files, encoding)
        if problem:
            return Unknown(problem)
        return [one for one in files.values() if one.operation != "edit" or one.before != one.after]

    # --- asking ----------------------------------------------------------------------------------------------

    async def _at(self, method: str, spot: Spot, **more: Any) -> Said | Unknown:
        text = (await self.sources.texts([spot.uri])).get(spot.uri)
        if text is None:
            return Unknown("the file cannot be read")
        line = Text(text).line(spot.line)
        if not line.startswith(spot.name, spot.column):
            return Unknown("the text has changed meanwhile")

        def params(encoding: Encoding) -> dict[str, Any]:
            place = {"line": spot.line, "character": units(line, spot.column, encoding)}
            return {"textDocument": {"uri": spot.uri}, "position": place, **more}

        said = await self._ask(method, params, [spot.uri])
        # The place was counted in that text.
        return said if isinstance(said, Unknown) or await said.fits({spot.uri: text}) else CHANGED

    async def _ask(
        self, method: str, params: Callable[[Encoding], Any] | Mapping[str, Any], uris: Sequence[str]
    ) -> Said | Unknown:
        """Ask the first one, and who else there is where that one has nothing to say."""

        def counted() -> Any:
            return params(self.asked.encoding) if callable(params) else params

        said = await self._asked(method, counted(), uris)
        if self.otherwise is None or not (isinstance(said, Unknown) and said.nobody):
            return said
        other = await self.otherwise(method)
        if isinstance(other, Unknown):
            return Unknown(f"{said.message}, and {other.message}", nobody=other.nobody)
        self.asked, self.otherwise = other, None
        return await self._asked(method, counted(), uris)

    async def _asked(self, method: str, params: Any, uris: Sequence[str], *, of: str = "") -> Said | Unknown:
        if not self.asked.can(of or method):
            return Unknown("the language server cannot do that")
        said = await self.asked.ask(method, params, SECONDS, uris=uris)
        if isinstance(said, Failure):
            return Unknown(
                "the language server cannot do that" if said.code == METHOD_NOT_FOUND else said.message,
                nobody=said.code in {UNSERVED, UNANSWERED},
            )
        return said

    async def _found(self, rows: Iterable[tuple[Any, Any, Found]], *saids: Said) -> list[Found] | Unknown:
        """The places of an answer, with their lines, if no text has changed since it was asked for. Malformed places are left out."""
        ours = cache(spelled)  # an answer names a file many times
        shaped = (
            (uri, at, what)
            for given, start, what in rows
            if (uri := ours(str(given))) is not None and (at := place_of(start)) is not None
        )
        placed = list(islice(shaped, MOST))
        uris = list(dict.fromkeys(uri for uri, _, _ in placed))
        texts = await self.sources.texts(uris)
        if not await _fit({uri: texts.get(uri) for uri in uris}, saids):
            return CHANGED
        wanted: dict[str, set[int]] = {uri: set() for uri in uris}
        for uri, at, _ in placed:
            wanted[uri].add(at.line)
        size = sum(map(len, texts.values()))
        lines = await asyncio.to_thread(_lines, texts, wanted) if size > _LARGE else _lines(texts, wanted)
        found: dict[tuple[Spot, str], Found] = {}
        for uri, at, what in placed:
            line = lines.get((uri, at.line), "")
            place = column(line, at.character, saids[0].encoding) if line else at.character
            spot = Spot(uri, at.line, place)
            found.setdefault((spot, what.name), replace(what, spot=spot, line=line.strip()))
        return list(found.values())


async def _settled(once: Callable[[], Awaitable[T | Unknown]]) -> T | Unknown:
    """What comes of asking, again where the texts changed meanwhile."""
    found = await once()
    for _ in range(_TRIES - 1):
        if found is not CHANGED:
            break
        found = await once()
    return found


async def _fit(texts: Mapping[str, str | None], saids: Iterable[Said]) -> bool:
    for one in saids:
        if not await one.fits(texts):
            return False
    return True


def _lines(texts: Mapping[str, str], wanted: Mapping[str, Collection[int]]) -> dict[tuple[str, int], str]:
    """Some lines of files, which are split one after the other: there can be hundreds, and only these are kept."""
    lines: dict[tuple[str, int], str] = {}
    for uri, text in texts.items():
        whole = Text(text, max(wanted[uri]) + 1)
        lines.update(((uri, number), whole.line(number)) for number in wanted[uri])
    return lines


def _outlined(listed: Any, uri: str, depth: int) -> Iterable[tuple[Any, Any, Found]]:
    """Symbols in either form of LSP, those in others after them."""
    for one in cast("list[Any]", listed) if isinstance(listed, list) else ():
        location = _get(one, "location")
        at = _get(one, "selectionRange") or _get(location, "range")
        yield uri or _get(location, "uri"), _get(at, "start"), replace(_named(one), depth=depth)
        if depth < _MOST_DEPTH:
            yield from _outlined(_get(one, "children"), uri, depth + 1)


def _named(item: Any) -> Found:
    name, kind = _get(item, "name"), _get(item, "kind")
    detail = _get(item, "detail") or _get(item, "containerName")
    return Found(
        Spot("", 0, 0),
        "",
        name[:_LONGEST_NAME] if isinstance(name, str) else "",
        KINDS[kind] if isinstance(kind, int) and 0 < kind < len(KINDS) else "",
        " ".join(detail.split())[:_LONGEST_NAME] if isinstance(detail, str) else "",
    )


def _plain(contents: Any) -> str:
    """What a hover says, whichever of its forms it has (LSP 3.17, "Hover")."""
    if isinstance(contents, str):
        return contents
    if isinstance(contents, list):
        return "\n".join(_plain(one) for one in cast("list[Any]", contents))
    value = _get(contents, "value")
    return value if isinstance(value, str) else ""


def _steps(edit: Any) -> list[tuple[str, Any]] | None:
    """The steps of an edit, each with the file it is about."""
    listed, by_uri = _get(edit, "documentChanges"), _get(edit, "changes")
    if isinstance(listed, list):
        given = [
            (_get(_get(one, "textDocument"), "uri") or _get(one, "uri") or _get(one, "oldUri"), one)
            for one in cast("list[Any]", listed)
        ]
    elif isinstance(by_uri, dict):
        # They have no order: asked again, the same edit has to be the same, since it was approved.
        given = [
            (uri, {"edits": edits})
            for uri, edits in sorted(cast("dict[str, Any]", by_uri).items(), key=itemgetter(0))
        ]
    else:
        return None
    return [(str(uri), step) for uri, step in given]


def _made(
    steps: Sequence[tuple[str, Any]],
    texts: dict[str, str | None],
    files: dict[str, NewFile],
    encoding: Encoding,
) -> str:
    """The steps of an edit; a text says why one cannot be made."""
    return next(filter(None, (_step(uri, step, texts, files, encoding) for uri, step in steps)), "")


def _step(
    uri: str, step: Any, texts: dict[str, str | None], files: dict[str, NewFile], encoding: Encoding
) -> str:
    """One step of an edit; a text says why it cannot be made."""
    text = texts.get(uri)
    match _get(step, "kind"):
        case "create":
            if text is None:
                texts[uri] = ""
                files[uri] = NewFile("create", uri, None, "")
        case "delete" if text is not None:
            texts[uri], files[uri] = None, NewFile("delete", uri, text, None)
        case "rename" if text is not None and (to := spelled(str(_get(step, "newUri")))) is not None:
            files[uri] = NewFile("rename", uri, text, text, to)
            texts[uri], texts[to] = None, text
        case None:
            if text is None:
                return f"{uri} is not there, or is no text"
            after = _applied(text, _get(step, "edits"), encoding)
            if after is None:
                return "the language server's edits overlap"
            known = files.get(uri, NewFile("edit", uri, text, text))
            texts[uri], files[uri] = after, replace(known, after=after)
        case _:
            return f"the language server wants to {_get(step, 'kind')} a file, which is not possible here"
    return ""


def _applied(text: str, edits: Any, encoding: Encoding) -> str | None:
    """A text with edits, all of which are about it as it was; None where they overlap or have not the shape."""
    if not isinstance(edits, list):
        return None
    placed: list[tuple[Place, Place, str]] = []
    for one in cast("list[Any]", edits):
        at, new = _get(one, "range"), _get(one, "newText")
        start, end = place_of(_get(at, "start")), place_of(_get(at, "end"))
        if start is None or end is None or not isinstance(new, str):
            return None
        placed.append((start, end, new))
    # Edits at the same place stay in their order.
    placed.sort(key=lambda one: (one[0].line, one[0].character, one[1].line, one[1].character))
    whole = Text(text, max((end.line for _, end, _ in placed), default=0) + 1)
    parts: list[str] = []
    at = 0
    for first, last, new in placed:
        start, end = whole.offset(first, encoding), whole.offset(last, encoding)
        if start < at or end < start:
            return None
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])


def _whole(lines: tuple[int, int], text: Text, encoding: Encoding) -> dict[str, Any]:
    """The range of whole lines, the first and the last one, as far as a text has them."""
    last = min(lines[1], text.count - 1)
    end = {"line": last, "character": units(text.line(last), len(text.line(last)), encoding)}
    return {"start": {"line": lines[0], "character": 0}, "end": end}


def _indentation(text: Text) -> Mapping[str, Any]:
    """How a text is indented, as formatters want to know it."""
    lines = [text.line(number) for number in range(min(text.count, 500))]
    if any(line.startswith("\t") for line in lines):
        return {"tabSize": 4, "insertSpaces": False}
    widths = [len(line) - len(line.lstrip(" ")) for line in lines if line.strip()]
    return {"tabSize": min((width for width in widths if width > 1), default=4), "insertSpaces": True}


def _listed(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _get(value: Any, key: str) -> Any:
    return cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
