"""The language servers of the editor, as one who can be asked: what they say counts for the texts of now, or not at all.

The editor says which versions its answer is about. If those are not the ones of now, or a text that the answer names has changed since it
was asked for, it is asked once more; then there is no answer.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, cast, get_args

from outrider.language.connection import CONTENT_MODIFIED, Failure, Fits, Said
from outrider.language.positions import Text, column, place_of, spelled, units
from outrider.language.problems import MOST, of_document, of_workspace
from outrider.ports.editor import Editor, Encoding, Lent, Reported, Unanswered, Unserved
from outrider.ports.language import OpenText, Sources
from outrider_protocol.requests import LanguageMethod

SECONDS: Final = 10.0
"""How long an answer may take."""
LONG_SECONDS: Final = 20.0
"""The same of what is asked about all files of a project."""
UNSERVED: Final = -32097
UNANSWERED: Final = -32096
"""Codes of a `Failure`: no language server of the editor does this; the editor has no answer that can be used."""
ALL_PROBLEMS: Final = "workspace/diagnostic"
PROBLEMS: Final = "textDocument/diagnostic"

_METHODS: Final = frozenset(get_args(LanguageMethod))
_LONG: Final = frozenset({"textDocument/references", "textDocument/rename"})
_FOLLOWS: Final = frozenset(
    {"codeAction/resolve", "callHierarchy/incomingCalls", "callHierarchy/outgoingCalls"}
)
"""What is asked about an answer, and so about its texts."""
_PLACES: Final = frozenset({"uri", "targetUri", "oldUri", "newUri"})
"""Keys of LSP with a file."""
_TRIES: Final = 2
_GONE: Final = "there is no answer about the present text"
_MOST_NAMES, _LONGEST_NAME = 10, 60

Told = Callable[[str, Sequence[str] | None], None]
"""Told of a file who served it; None: nobody."""


class LentServers:
    """The language servers of the editor, for one question and what follows from it."""

    def __init__(self, editor: Editor, sources: Sources, told: Told) -> None:
        """Ask those of an editor.

        Args:
            editor: Whose they are.
            sources: The texts of the workspace.
            told: Told who serves which file.
        """
        self._editor, self._sources, self._told = editor, sources, told
        self._about: Mapping[str, OpenText] = {}
        """The open documents when it was asked for the last answer."""
        self._uris: Sequence[str] = ()

    @property
    def encoding(self) -> Encoding:
        """How places are counted that it is asked about."""
        return self._editor.traits.encoding

    def can(self, method: str) -> bool:
        """Whether it may have an answer."""
        return method in _METHODS

    async def ask(
        self, method: str, params: Any, seconds: float, *, uris: Sequence[str] = ()
    ) -> Said | Failure:
        """Ask about the workspace as it is now; a `Failure` where there is no answer.

        Args:
            method: The request.
            params: Its params.
            seconds: How long it may take.
            uris: The files that it is about; of what is asked about an answer those of that.
        """
        self._uris = uris = uris or self._uris
        seconds = min(seconds, LONG_SECONDS if method in _LONG else SECONDS)
        for _ in range(_TRIES):
            now = self._open()
            about = self._about if method in _FOLLOWS else now
            if not _changed(about, now).isdisjoint(uris):
                break
            names = [now[uri].name if uri in now else uri for uri in uris]
            if method.startswith("textDocument/"):
                document = {**params["textDocument"], "uri": names[0]}
                params = {**params, "textDocument": document}
            said = await self._editor.language(method, params, names, seconds=seconds)
            if not isinstance(said, Lent):
                return self._nothing(method, said, uris, seconds)
            if self._is_about_now(said, uris, about):
                self._about = about
                for uri in uris:
                    self._told(uri, [one[:_LONGEST_NAME] for one in said.by[:_MOST_NAMES]])
                return Said(said.result, said.encoding, _fits(about))
        return Failure(CONTENT_MODIFIED, _GONE)

    async def problems(self, uri: str | None, seconds: float) -> list[Reported] | Failure:
        """What the editor reports of a file, or of all. What is no such report is a `Failure`, and never no problems.

        Args:
            uri: The file.
            seconds: How long it may take.
        """
        params = {} if uri is None else {"textDocument": {"uri": uri}}
        uris = [] if uri is None else [uri]
        said = await self.ask(ALL_PROBLEMS if uri is None else PROBLEMS, params, seconds, uris=uris)
        if isinstance(said, Failure):
            return said
        items = _items(said)
        if items is None:
            return Failure(UNANSWERED, "the editor's answer cannot be used")
        if uri is None:
            return await asyncio.to_thread(of_workspace, items, said.encoding)
        return await asyncio.to_thread(of_document, uri, items, said.encoding)

    async def raw(self, uri: str) -> list[Any]:
        """The problems of a file as the editor wrote them, but for columns that are counted as it wants to be told of them."""
        said = await self.ask(PROBLEMS, {"textDocument": {"uri": uri}}, SECONDS, uris=[uri])
        if isinstance(said, Failure):
            return []
        given = (_items(said) or [])[:MOST]
        if said.encoding == self.encoding:
            return given
        text = Text((await self._sources.texts([uri])).get(uri, ""))
        return [_recounted(one, text, said.encoding, self.encoding) for one in given]

    def _nothing(
        self, method: str, said: Unserved | Unanswered, uris: Sequence[str], seconds: float
    ) -> Failure:
        if isinstance(said, Unserved):
            if method == PROBLEMS:
                for uri in uris:
                    self._told(uri, None)
            return Failure(UNSERVED, "no language server of the editor does that")
        if said.why == "unsupported":
            return Failure(UNSERVED, "the editor does not lend its language servers")
        if said.why == "timeout":
            return Failure(UNANSWERED, f"the editor did not answer in {seconds:g} s")
        return Failure(UNANSWERED, "the editor's answer cannot be used")

    def _open(self) -> dict[str, OpenText]:
        return {one.uri: one for one in self._sources.open()}

    def _is_about_now(self, said: Lent, uris: Sequence[str], about: Mapping[str, OpenText]) -> bool:
        now = self._open()
        versions = {spelled(uri): version for uri, version in said.versions.items()}
        if any(uri in now and versions.get(uri) != now[uri].version for uri in uris):
            return False
        changed = _changed(about, now)
        if not changed:
            return True
        return changed.isdisjoint(uris) and changed.isdisjoint(_files(said.result))


def _items(said: Said) -> list[Any] | None:
    """The problems of an answer."""
    result: Any = said.result
    items = cast("dict[str, Any]", result).get("items") if isinstance(result, dict) else None
    return cast("list[Any]", items) if isinstance(items, list) else None


def _fits(about: Mapping[str, OpenText]) -> Fits:
    async def fits(texts: Mapping[str, str | None]) -> bool:
        return all(about[uri].text == text for uri, text in texts.items() if uri in about)

    return fits


def _changed(before: Mapping[str, OpenText], now: Mapping[str, OpenText]) -> set[str]:
    """The open documents that have another text, or were opened or closed."""
    return {uri for uri in before.keys() | now.keys() if before.get(uri) != now.get(uri)}


def _files(result: Any) -> Iterator[str]:
    """The files that a result names (LSP 3.17, "Location", "LocationLink", "WorkspaceEdit")."""
    waiting = [result]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += cast("list[Any]", value)
        elif isinstance(value, dict):
            fields = cast("dict[str, Any]", value)
            named = [one for key, one in fields.items() if key in _PLACES and isinstance(one, str)]
            changes = fields.get("changes")
            named += cast("dict[str, Any]", changes) if isinstance(changes, dict) else ()
            yield from filter(None, map(spelled, named))
            waiting += fields.values()


def _recounted(item: Any, text: Text, given: Encoding, wanted: Encoding) -> Any:
    """A problem whose place is counted in another way; one without a place stays as it is."""
    if not isinstance(item, dict) or not isinstance(at := cast("dict[str, Any]", item).get("range"), dict):
        return cast("Any", item)
    edges: dict[str, Any] = {}
    for edge in ("start", "end"):
        place = place_of(cast("dict[str, Any]", at).get(edge))
        if place is None:
            return cast("Any", item)
        line = text.line(place.line)
        character = units(line, column(line, place.character, given), wanted)
        edges[edge] = {"line": place.line, "character": character}
    return {**cast("dict[str, Any]", item), "range": edges}
