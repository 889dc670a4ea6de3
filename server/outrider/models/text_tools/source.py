"""The text of a message while it arrives, and the values that models write in it: JSON and literals of Python.

A parser reads from a `Source` as from a text that is complete. Where the answer depends on what has not arrived
yet, it gets `Incomplete` and runs again from the same place when more is there, so where the text was cut never
matters. Everything here takes time in proportion to what it reads; no regular expression runs on a model's text.

Values are read leniently (either quote, a comma too many, raw line breaks in strings, `True` for `true`), but what
cannot be read is a `Mismatch`, never a guess, and nothing is evaluated.

Sources: RFC 8259; "Lexical analysis" of the Python language reference.
"""

import math
from collections.abc import Callable, Generator, Iterable, Mapping
from typing import Any, Literal, TypeVar, cast

T = TypeVar("T")
Wait = Generator[None, None, T]
"""A step that is suspended while it waits for more text."""

LINE_SPACE = " \t\r"
_FARTHEST = 1000
"""How many characters of white space are looked past."""
DEEPEST = 64
"""How deep values may be nested."""
_LONGEST_NUMBER = 400


class Mismatch(Exception):  # noqa: N818 - an expected outcome of reading, not an error
    """The text is not what a parser expected; its caller decides what it is instead."""


class Torn(Mismatch):
    """A string ended in the middle of what must have been one, so more of it follows on the line."""


class Incomplete(Exception):  # noqa: N818 - an expected outcome of reading, not an error
    """What the text means depends on text that has not arrived."""


class Stops:
    """Strings at which reading stops."""

    def __init__(self, stops: Iterable[str]) -> None:
        """Make it.

        Args:
            stops: The strings; where several stand at one place, the longest counts.
        """
        self.all = tuple(sorted(set(stops), key=len, reverse=True))
        self.longest = max(map(len, self.all), default=0)
        self.beginnings = frozenset(stop[:length] for stop in self.all for length in range(1, len(stop)))
        self.by_first: dict[str, tuple[str, ...]] = {}
        for stop in self.all:
            self.by_first[stop[0]] = (*self.by_first.get(stop[0], ()), stop)


class Source:
    """The text that has arrived and was not yet dealt with, and the place up to which it is read."""

    def __init__(self, text: str | None = None) -> None:
        """Make it.

        Args:
            text: All there is; None if the text arrives in pieces.
        """
        self.text = text or ""
        self.at = 0
        self.ended = text is not None
        self._pieces: list[str] = []
        self._arrived = 0
        self._next: dict[str, tuple[int, int]] = {}
        """For a character: from where it was searched, and where it was found."""
        self._last = ""
        self._blank = True

    # What arrives.

    def push(self, text: str) -> None:
        """Add `text` at the end. It is seen after the next `join`."""
        self._pieces.append(text)
        self._arrived += len(text)

    def end(self) -> None:
        """Say that nothing more arrives."""
        self.ended = True

    def again(self, text: str) -> None:
        """Have everything read so far, which is `text`, read once more."""
        self.text, self.at, self._last, self._blank = text + self.text[self.at :], 0, "", True
        self._next.clear()

    def wait(self, *, much: bool = False) -> Wait[None]:
        """Wait for more text, or for its end.

        Args:
            much: Whether to wait for a quarter of what is unread. A parser that begins anew each time then takes
                time in proportion to the text, however small the pieces are.
        """
        least = max(1, (len(self.text) - self.at) // 4) if much else 1
        while self._arrived < least and not self.ended:
            yield
        self.join()

    def join(self) -> None:
        """Drop what was read, and take up what was pushed."""
        self._blank, self._last = self.on_blank_line, self.last
        self.text = "".join((self.text[self.at :], *self._pieces))
        self.at = self._arrived = 0
        self._pieces.clear()
        self._next.clear()

    # Where the reader stands.

    @property
    def last(self) -> str:
        """The character before this place; `""` at the beginning."""
        return self.text[self.at - 1] if self.at else self._last

    @property
    def on_blank_line(self) -> bool:
        """Whether nothing but spaces stands between the beginning of the line and this place."""
        at = self.at
        while at and self.text[at - 1] in LINE_SPACE:
            at -= 1
        return self.text[at - 1] == "\n" if at else self._blank

    def peek(self) -> str:
        """The next character, `""` at the end. It stays to be read."""
        if self.at < len(self.text):
            return self.text[self.at]
        return self._at_end("")

    def behind_space(self, offset: int = 0, also: str = "") -> str:
        """The next character, `offset` characters on, that is neither white space nor one of `also`; `""` if none."""
        for at in range(self.at + offset, self.at + _FARTHEST):
            if at >= len(self.text):
                return self._at_end("")
            if not self.text[at].isspace() and self.text[at] not in also:
                return self.text[at]
        return ""

    def standing(self, *options: str) -> str:
        """The longest of `options` that stands here, `""` if none does. It stays to be read."""
        text, at = self.text, self.at
        found = ""
        if text.startswith(options, at):
            found = max((option for option in options if text.startswith(option, at)), key=len)
        left = len(text) - at
        if not self.ended and any(len(one) > left and one.startswith(text[at:]) for one in options):
            raise Incomplete
        return found

    # Reading.

    def take(self, count: int) -> str:
        """Read `count` characters that are known to be there."""
        start, self.at = self.at, self.at + count
        return self.text[start : self.at]

    def exactly(self, count: int) -> str:
        """Read `count` characters.

        Raises:
            Mismatch: If there are fewer.
        """
        if len(self.text) - self.at < count:
            raise self._at_end(Mismatch())
        return self.take(count)

    def literal(self, *options: str) -> str:
        """Read the longest of `options` that stands here; `""` if none does."""
        return self.take(len(self.standing(*options)))

    def must(self, *options: str) -> str:
        """Read the longest of `options` that stands here.

        Raises:
            Mismatch: If none does.
        """
        found = self.literal(*options)
        if not found:
            raise Mismatch
        return found

    def space(self, also: str = "") -> str:
        """Read white space, and the characters of `also`."""
        return self._run(lambda char: char.isspace() or char in also)

    def word(self, also: str = "", most: int | None = None) -> str:
        """Read letters, digits, `_` and the characters of `also`, at most `most`."""
        return self._run(lambda char: char.isalnum() or char == "_" or char in also, most)

    def any_of(self, chars: str, most: int | None = None) -> str:
        """Read characters of `chars`, at most `most`."""
        return self._run(lambda char: char in chars, most)

    def upto(self, chars: str, most: int | None = None) -> str:
        """Read up to the first of `chars`, or to the end, but at most `most` characters."""
        end = min(self._find(char) for char in chars)
        if most is not None and end - self.at > most:
            end = self.at + most
        elif end == len(self.text):
            self._at_end(None)
        return self.take(end - self.at)

    def search(self, stops: Stops) -> tuple[int, str]:
        """Look for the first of `stops`.

        Returns:
            Up to where the text stands before a stop for sure, and the stop that begins there; `""` if none does.
        """
        text, size, begin = self.text, len(self.text), self.at
        while True:
            at = size
            for first in stops.by_first:
                known = self._next.get(first)
                found = known[1] if known and known[0] <= begin <= known[1] else self._find(first, begin)
                if found < at:
                    at = found
            if at == size:
                return size, ""
            if not self.ended and size - at < stops.longest and text[at:] in stops.beginnings:
                return at, ""
            options = stops.by_first[text[at]]
            if text.startswith(options, at):
                return at, next(stop for stop in options if text.startswith(stop, at))
            begin = at + 1

    def until(self, stops: Stops) -> tuple[str, str]:
        """Read up to the first of `stops`, or to the end.

        Returns:
            What was read, and the stop, which stays to be read; `""` at the end.
        """
        end, stop = self.search(stops)
        if not stop:
            self._at_end(None)
        return self.take(end - self.at), stop

    def _at_end(self, found: T) -> T:
        if not self.ended:
            raise Incomplete
        return found

    def _run(self, belongs: Callable[[str], bool], most: int | None = None) -> str:
        text, start, at, size = self.text, self.at, self.at, len(self.text)
        last = size if most is None else min(size, start + most)
        while at < last and belongs(text[at]):
            at += 1
        if at == size and (most is None or at - start < most):
            self._at_end(None)
        return self.take(at - start)

    def _find(self, char: str, at: int | None = None) -> int:
        """Where `char` stands next; the end of the text if nowhere. A text is searched for it once in all."""
        at = self.at if at is None else at
        known = self._next.get(char)
        if known and known[0] <= at <= known[1]:
            return known[1]
        found = self.text.find(char, at)
        found = len(self.text) if found < 0 else found
        self._next[char] = (at, found)
        return found


_CONSTANTS: dict[str, bool | None] = {
    "true": True,
    "false": False,
    "null": None,
    "True": True,
    "False": False,
    "None": None,
}
QUOTES = ('"', "'")
Dialect = Literal["json", "python", "gemma"]
"""What values look like: in Python tuples, sets and adjacent strings are values too; Gemma writes keys and simple strings
without quotes, or between tokens."""
_GEMMA_QUOTES = {quote: Stops([quote]) for quote in ("<escape>", '<|"|>')}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", '"': '"', "'": "'"}
_PYTHON_ESCAPES = {**_ESCAPES, "a": "\a", "v": "\v", "\n": "", "0": "\0"}
_HEX_DIGITS = {"x": 2, "u": 4, "U": 8}


def mapping(found: Any) -> Mapping[str, Any] | None:
    """`found` if it is an object."""
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else None


def listed(found: Any) -> list[Any] | None:
    """`found` if it is a list."""
    return cast("list[Any]", found) if isinstance(found, list) else None


def of_text(text: str, *, python: bool = False) -> Any:
    """The value that `text` is, white space around it aside.

    Raises:
        Mismatch: If it is none.
    """
    source = Source(text)
    found = value(source, "python" if python else "json")
    source.space()
    if source.peek():
        raise Mismatch
    return found


def written(text: str) -> Any:
    """The value that `text` is, or `text` itself if it is none."""
    try:
        return of_text(text)
    except Mismatch:
        return text


def value(source: Source, dialect: Dialect = "json", depth: int = 0) -> Any:
    """Read a value, after white space.

    Args:
        source: Where it stands.
        dialect: How it is written. Tuples and sets become lists.
        depth: How deep it is nested.

    Returns:
        What `json.loads` would give.

    Raises:
        Mismatch: If there is no value, it is cut off, nested too deep, or a number that JSON does not have.
    """
    if depth > DEEPEST:
        raise Mismatch
    source.space()
    first = source.peek()
    python = dialect == "python"
    if first == "{":
        return _braces(source, dialect, depth)
    if first == "[" or (first == "(" and python):
        return _items(source, dialect, depth)
    if first in QUOTES or (dialect == "gemma" and source.standing(*_GEMMA_QUOTES)):
        return string(source, dialect)
    if dialect == "gemma":
        bare = source.upto("{}[],<").strip()
        if not source.peek():
            raise Mismatch
        return written(bare)
    if first and first in "-+.0123456789":
        text = source.any_of("-+.0123456789eE_", _LONGEST_NUMBER + 1)
        return number(text.replace("_", "") if python else text)
    word = source.word(most=_LONGEST_NUMBER)
    if python and word in ("r", "R") and source.peek() in QUOTES:
        return string_body(source, source.take(1), python=True, raw=True)
    if word not in _CONSTANTS:
        raise Mismatch
    return _CONSTANTS[word]


def number(text: str) -> int | float:
    """The number that `text` is.

    Raises:
        Mismatch: If it is none, or not finite.
    """
    if not text or len(text) > _LONGEST_NUMBER or text.strip("-+.0123456789eE"):
        raise Mismatch
    try:
        if text.lstrip("-+").isdecimal():
            return int(text)
        found = float(text)
    except ValueError:
        raise Mismatch from None
    if not math.isfinite(found):
        raise Mismatch
    return found


def _braces(source: Source, dialect: Dialect, depth: int) -> Any:
    """Read an object or a set."""
    source.take(1)
    fields: dict[str, Any] = {}
    members: list[Any] = []
    while True:
        source.space()
        if source.literal("}"):
            return members or fields
        key: Any = (
            value(source, dialect, depth + 1) if dialect == "python" else string(source, dialect, key=True)
        )
        source.space()
        if not members and source.literal(":"):
            if isinstance(key, list | dict):
                raise Mismatch
            fields[str(key)] = value(source, dialect, depth + 1)
        elif dialect == "python" and not fields:
            members.append(key)
        else:
            raise Mismatch
        _end_of_item(source, "" if dialect == "gemma" else "}")


def _items(source: Source, dialect: Dialect, depth: int) -> Any:
    """Read a list, a tuple, or a value in parentheses."""
    close = "]" if source.take(1) == "[" else ")"
    items: list[Any] = []
    comma = ""
    while True:
        source.space()
        if source.literal(close):
            return items[0] if close == ")" and len(items) == 1 and not comma else items
        items.append(value(source, dialect, depth + 1))
        comma = _end_of_item(source, close)


def _end_of_item(source: Source, close: str) -> str:
    """Read the comma after an item, if it is not the last one; without `close` it may always be missing."""
    quoted = source.last in QUOTES
    source.space()
    comma = source.literal(",")
    following = source.peek()
    if not comma and close and following != close:
        raise Torn if quoted and following.isalnum() else Mismatch
    return comma


def string(source: Source, dialect: Dialect = "json", *, key: bool = False) -> str:
    """Read a string in either kind of quotes; in Python also in three of them, and several next to each other.

    Args:
        source: Where it stands.
        dialect: How it is written.
        key: Whether it is a key, which has no quotes in Gemma's dialect.

    Raises:
        Mismatch: If there is none, or it does not end.
    """
    if dialect == "gemma" and (quote := source.literal(*_GEMMA_QUOTES)):
        text, _ = source.until(_GEMMA_QUOTES[quote])
        source.must(quote)
        return text
    if dialect == "gemma" and key and source.peek() not in QUOTES:
        text = source.upto(":{}[],<\"'").strip()
        if not text:
            raise Mismatch
        return text
    python = dialect == "python"
    parts = [string_body(source, source.must(*QUOTES), python=python)]
    while python and (source.space(), source.peek())[1] in QUOTES:
        parts.append(string_body(source, source.take(1), python=True))
    text = "".join(parts)
    try:
        text.encode()
    except UnicodeEncodeError:
        # Two escapes may be the halves of one character. A half without its other one stays as it is.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return text


def string_body(source: Source, quote: str, *, python: bool, raw: bool = False) -> str:
    """Read a string from behind its first quote on."""
    end = quote
    if python and source.literal(quote):
        if not source.literal(quote):
            return ""
        end = quote * 3
    parts: list[str] = []
    while True:
        parts.append(source.upto(quote + "\\"))
        if source.peek() == "\\":
            parts.append(source.exactly(2) if raw else _escape(source, python=python))
        elif not source.peek():
            raise Mismatch
        elif source.literal(end):
            return "".join(parts)
        else:
            parts.append(source.take(1))


def _escape(source: Source, *, python: bool) -> str:
    """Read a backslash and what belongs to it; the backslash stays where they mean nothing."""
    source.take(1)
    letter = source.exactly(1)
    digits = _HEX_DIGITS.get(letter, 0)
    if digits and (letter == "u" or python):
        try:
            return chr(int(source.exactly(digits), 16))
        except (ValueError, OverflowError):
            raise Mismatch from None
    return (_PYTHON_ESCAPES if python else _ESCAPES).get(letter, "\\" + letter)
