"""The open documents, as the client's notifications leave them: our one document store.

Called on the event loop in the order of arrival. Never touches the disk, and imports nothing that takes time:
it is there before `initialize` is answered.
"""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from outrider.ports.clock import Clock
from outrider.ports.text import Place
from outrider.workspace.text.lines import Encoding, index_in_line, split_lines, without_end

_SURROGATE = re.compile("[\ud800-\udfff]")
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://([^/]*))?(.*)", re.DOTALL)


def uri_key(uri: str) -> str:
    """What two spellings of the same URI have in common: percent-encoding, host and drive letter set right."""
    match = _URI.fullmatch(uri)
    if match is None:
        return uri
    scheme, host, path = (
        match[1].lower(),
        (match[2] or "").lower(),
        unquote(match[3], errors="surrogateescape"),
    )
    if scheme == "file":
        host = "" if host == "localhost" else host
        if re.match(r"/[A-Za-z]:", path):
            path = f"/{path[1].lower()}{path[2:]}"
        return f"file://{host}{path}"
    return f"{scheme}:{host}{path}"


@dataclass(frozen=True, slots=True)
class ContentChange:
    """One change of a `didChange`; without places it is the whole text."""

    start: Place | None
    end: Place | None
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """An open document as it is at one moment."""

    uri: str
    """As the client spells it."""
    language_id: str
    version: int
    text: str
    saves: int
    """How often it was saved since it was opened."""
    outdated: bool = False
    """Whether we changed its file, or took it away, and nothing has happened to it since: the file is what counts."""
    is_saved: bool = False
    """Whether it was saved with this text."""


class _Buffer:
    """A document as a list of lines, so that a change costs its own size and not the document's."""

    def __init__(self, uri: str, language_id: str, version: int, text: str) -> None:
        self.uri = uri
        self.language_id = language_id
        self.version = version
        self.saves = 0
        self.outdated = False
        self.is_saved = False
        self.lines = split_lines(_with_whole_pairs(text))
        self._document: Document | None = None

    def document(self) -> Document:
        if self._document is None:
            text = "".join(self.lines)
            self._document = Document(
                self.uri, self.language_id, self.version, text, self.saves, self.outdated, self.is_saved
            )
        return self._document

    def update(self, lines: list[str], version: int) -> None:
        self.lines, self.version, self.outdated, self._document = lines, version, False, None
        self.is_saved = False

    def saved(self) -> None:
        self.saves, self.outdated, self._document = self.saves + 1, False, None
        self.is_saved = True

    def set_outdated(self) -> None:
        self.outdated, self._document = True, None


def _with_whole_pairs(text: str) -> str:
    # JSON may bring the halves of a pair apart; together they are one character.
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _replace(lines: list[str], start: Place, end: Place, text: str, encoding: Encoding) -> None:
    """Replace what lies between two places; beyond the last line means the end of the text."""
    if start.line >= len(lines):
        first, before = len(lines), ""
    else:
        first, content = start.line, without_end(lines[start.line])
        before = content[: index_in_line(content, start.character, encoding)]
    if end.line >= len(lines):
        last, after = len(lines), ""
    else:
        last, content = end.line + 1, without_end(lines[end.line])
        after = lines[end.line][index_in_line(content, end.character, encoding) :]
    joined = before + text + after
    # Where no terminator, or half of one, is left at a border, the neighbour belongs to it.
    if first > 0 and not lines[first - 1].endswith("\n"):
        first -= 1
        joined = lines[first] + joined
    if last < len(lines) and not joined.endswith("\n"):
        joined += lines[last]
        last += 1
    lines[first:last] = split_lines(_with_whole_pairs(joined))


class DocumentStore:
    """Every open document, found by its URI in any spelling."""

    def __init__(self) -> None:
        self.encoding: Encoding = "utf-16"
        """The negotiated position encoding."""
        self._buffers: dict[str, _Buffer] = {}
        self._listeners: dict[object, Callable[[str], None]] = {}
        self._between: dict[object, Callable[[str], None]] = {}

    def open(self, uri: str, language_id: str, version: int, text: str) -> None:
        """Take a document in; one that is open already begins anew."""
        self._buffers[uri_key(uri)] = _Buffer(uri, language_id, version, text)
        self._tell(uri)

    def change(self, uri: str, version: int, changes: Sequence[ContentChange]) -> str | None:
        """Apply the changes of one `didChange`, each to the text that the one before left.

        Returns:
            What is wrong with them; then none is applied, and the version stays, so that an edit worked out
            for the wrong text is refused by the client.
        """
        buffer = self._buffers.get(uri_key(uri))
        if buffer is None:
            return f"{uri} is not open, so its change is ignored"
        for change in changes:
            if problem := _problem(change):
                return f"{uri}: {problem}"
        lines = buffer.lines
        for number, change in enumerate(changes, 1):
            if change.start is None or change.end is None:
                lines = split_lines(_with_whole_pairs(change.text))
            else:
                _replace(lines, change.start, change.end, change.text, self.encoding)
            if self._between and number < len(changes):
                buffer.update(lines, version)
                self._tell(uri, self._between)
        buffer.update(lines, version)
        self._tell(uri)
        return None

    def save(self, uri: str, text: str | None = None) -> None:
        """Take note that a document was saved, with the text it then had if the client says so."""
        buffer = self._buffers.get(uri_key(uri))
        if buffer is None:
            return
        if text is not None:
            buffer.update(split_lines(_with_whole_pairs(text)), buffer.version)
        buffer.saved()
        self._tell(uri)

    def set_outdated(self, uri: str) -> None:
        """Take note that we changed the file of a document, or took it away.

        Until something happens to the document it stands for nothing: the editor has just not closed or loaded it anew.
        """
        if (buffer := self._buffers.get(uri_key(uri))) is not None:
            buffer.set_outdated()

    def close(self, uri: str) -> None:
        """Let go of a document."""
        if self._buffers.pop(uri_key(uri), None) is not None:
            self._tell(uri)

    def get(self, uri: str) -> Document | None:
        """The document as it is now, if it is open."""
        buffer = self._buffers.get(uri_key(uri))
        return buffer.document() if buffer is not None else None

    def all(self) -> tuple[Document, ...]:
        """All open documents, in the order they were opened."""
        return tuple(buffer.document() for buffer in self._buffers.values())

    def uris(self) -> tuple[str, ...]:
        """The URIs of all open documents, in the same order."""
        return tuple(buffer.uri for buffer in self._buffers.values())

    def subscribe(self, listener: Callable[[str], None], *, between: bool = False) -> Callable[[], None]:
        """Have `listener` called with the URI after everything that happens to a document.

        Args:
            listener: Called on the event loop; it must not wait.
            between: Whether it is called between the changes of one notification instead.

        Returns:
            What ends it.
        """
        key, listeners = object(), self._between if between else self._listeners
        listeners[key] = listener

        def unsubscribe() -> None:
            listeners.pop(key, None)

        return unsubscribe

    async def until(
        self, uri: str, predicate: Callable[[Document | None], bool], clock: Clock, seconds: float
    ) -> bool:
        """Wait until the document is as wanted.

        Args:
            uri: The document; None is what the predicate gets while it is not open.
            predicate: Looked at now and after every change.
            clock: Counts the time.
            seconds: How long to wait at most.

        Returns:
            Whether the predicate came true.
        """
        if predicate(self.get(uri)):
            return True
        wanted = uri_key(uri)
        fulfilled = asyncio.get_running_loop().create_future()

        def look(changed: str) -> None:
            if uri_key(changed) == wanted and not fulfilled.done() and predicate(self.get(uri)):
                fulfilled.set_result(None)

        unsubscribe = self.subscribe(look)
        try:
            async with clock.timeout(seconds):
                await fulfilled
        except TimeoutError:
            return False
        finally:
            unsubscribe()
        return True

    def _tell(self, uri: str, listeners: Mapping[object, Callable[[str], None]] | None = None) -> None:
        for listener in tuple((self._listeners if listeners is None else listeners).values()):
            listener(uri)


def _problem(change: ContentChange) -> str | None:
    start, end = change.start, change.end
    if start is None or end is None:
        return None if start is end else "a change has only one end of its range"
    if min(start.line, start.character, end.line, end.character) < 0:
        return "a range has a negative number"
    if (start.line, start.character) > (end.line, end.character):
        return f"a range ends (line {end.line}) before it begins (line {start.line})"
    return None
