r"""The one registry of patterns that meet foreign text, all matched in linear time by RE2.

Python's `re` backtracks: some patterns need exponential time for some texts, and a match holds the interpreter's
lock throughout, so that no thread, no signal handler and no event loop of the process runs meanwhile. Foreign text
is everything that Outrider did not write itself: files, output of commands, a model's text, messages of a client or
a provider. What meets it is made here:

- `linear(name, pattern)` at module level, for a pattern of our own. It is recorded under its name, and a test gives
  every recorded pattern hostile input of two sizes and compares the processor time.
- `built(pattern)` for a pattern that is put together at run time, for example from a glob.

RE2 (https://github.com/google/re2/wiki/Syntax) differs from `re`:

- Not there: look-around, back-references, possessive and atomic groups, `\Z` (write `\z`), `\uXXXX` (write
  `\x{…}`), more than 1000 repeats (nested repeats multiply).
- `\w`, `\d`, `\s` and `\b` are ASCII. `WORD`, `DIGIT` and `SPACE` are the classes of `re`, to be put in brackets.
- `$` without `(?m)` is the end of the text only, not the place before a last line end.
- Flags stand in the pattern: `(?i)`, `(?m)`, `(?s)`. There is no `(?x)`.

One search takes time in proportion to the text. A walk over all matches (`finditer`, `sub`, `split`) does only if no
search reads far beyond its own match: `.*?y|a` on a text without `y` reads to the end for every `a`. Such a pattern
gets a bound (`.{0,200}?`), is used on one line at a time, or gives way to a scanner.

The library is loaded with the first match or by `prepare`, never by the import of this module.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final, Protocol, cast

WORD: Final = r"\pL\pN_"
r"""What `\w` means in `re`, for use in brackets: letters and numbers of all scripts, and `_`."""
DIGIT: Final = r"\p{Nd}"
r"""What `\d` means in `re`, for use in brackets."""
SPACE: Final = r"\s\v\x{1c}-\x{1f}\x{85}\pZ"
r"""What `\s` means in `re`, for use in brackets."""

_STEP = 256
"""Characters between two known offsets of a text that is not ASCII."""


class PatternError(ValueError):
    """RE2 does not take a pattern: its syntax, a construct that it does not have, or its size."""


class Subject:
    """A text that is matched many times: encoded once, with its offsets known in characters and in bytes.

    Every method of `Pattern` takes a text or a subject. For a loop that matches at one place after the other
    (`pattern.match(subject, at)`) a subject is needed: a plain text would be encoded anew for each match.
    """

    __slots__ = ("_offsets", "_plain", "data", "text")

    def __init__(self, text: str) -> None:
        self.text: Final = text
        # A lone surrogate (an odd file name, half a pair in JSON) is one character to RE2 too.
        self.data: Final = text.encode("utf-8", "surrogatepass")
        self._plain: Final = len(self.data) == len(text)
        self._offsets: list[int] | None = None

    def byte(self, character: int) -> int:
        """The offset in bytes of a character offset; offsets beyond the text are its ends."""
        character = max(0, min(character, len(self.text)))
        if self._plain:
            return character
        step = character // _STEP
        rest = self.text[step * _STEP : character]
        return self._known()[step] + len(rest.encode("utf-8", "surrogatepass"))

    def character(self, byte: int) -> int:
        """The character offset of an offset in bytes, which is where a character begins, or the end."""
        if self._plain:
            return byte
        if byte >= len(self.data):
            return len(self.text)
        known = self._known()
        step = bisect_right(known, byte) - 1
        return step * _STEP + len(self.data[known[step] : byte].decode("utf-8", "surrogatepass"))

    def after(self, byte: int) -> int:
        """The offset in bytes of the character that follows the one at `byte`."""
        byte += 1
        while byte < len(self.data) and self.data[byte] & 0xC0 == 0x80:
            byte += 1
        return byte

    def _known(self) -> list[int]:
        if self._offsets is None:
            offset = 0
            self._offsets = offsets = [0]
            for start in range(0, len(self.text), _STEP):
                offset += len(self.text[start : start + _STEP].encode("utf-8", "surrogatepass"))
                offsets.append(offset)
        return self._offsets


class Match:
    """One match. All offsets are in characters of the text; groups are named by number or by name."""

    __slots__ = ("_found", "_subject")

    def __init__(self, found: "_Found", subject: Subject) -> None:
        self._found = found
        self._subject = subject

    @property
    def string(self) -> str:
        """The whole text that was searched."""
        return self._subject.text

    def start(self, group: int | str = 0) -> int:
        """Where a group begins; -1 if it took no part in the match."""
        return self.span(group)[0]

    def end(self, group: int | str = 0) -> int:
        """Where a group ends; -1 if it took no part in the match."""
        return self.span(group)[1]

    def span(self, group: int | str = 0) -> tuple[int, int]:
        """Where a group begins and ends; (-1, -1) if it took no part in the match."""
        start, end = self._bytes(group)
        if start < 0:
            return -1, -1
        return self._subject.character(start), self._subject.character(end)

    def __getitem__(self, group: int | str) -> str | Any:
        """The text of a group, or None if it took no part in the match.

        Raises:
            IndexError: The pattern has no such group.
        """
        start, end = self._bytes(group)
        return None if start < 0 else self._subject.data[start:end].decode("utf-8", "surrogatepass")

    def group(self, group: int | str = 0) -> str | Any:
        """The text of a group, the whole match by default; None if it took no part."""
        return self[group]

    def groups(self) -> tuple[str | Any, ...]:
        """The texts of all groups, None for those that took no part."""
        return tuple(self[number] for number in range(1, self._found.re.groups + 1))

    def groupdict(self) -> dict[str, str | Any]:
        """The texts of the named groups, None for those that took no part."""
        return {name: self[number] for name, number in self._found.re.groupindex.items()}

    @property
    def lastgroup(self) -> str | None:
        """The name of the group that ends last, as in `re`: which one of named alternatives it was."""
        return self._found.lastgroup

    def _bytes(self, group: int | str) -> tuple[int, int]:
        return self._found.span(self._found.re.groupindex[group] if isinstance(group, str) else group)


class Pattern:
    r"""A pattern of RE2, compiled when it is first used; the methods are those of `re`.

    `start` is an offset in characters: text before it is looked at by `\b`, and `^` does not match there.
    """

    __slots__ = ("_compiled", "pattern")

    def __init__(self, pattern: str) -> None:
        self.pattern: Final = pattern
        self._compiled: _Compiled | None = None

    def __repr__(self) -> str:
        return f"Pattern({self.pattern!r})"

    def prepare(self) -> None:
        """Compile it now, and load the library if nobody has.

        Raises:
            PatternError: RE2 does not take it.
        """
        if self._compiled is None:
            self._compiled = _compile(self.pattern)

    def search(self, text: str | Subject, start: int = 0) -> Match | None:
        """The leftmost match at or after `start`."""
        return self._one(self._ready().search, text, start)

    def match(self, text: str | Subject, start: int = 0) -> Match | None:
        """The match that begins exactly at `start`."""
        return self._one(self._ready().match, text, start)

    def fullmatch(self, text: str | Subject, start: int = 0) -> Match | None:
        """The match that begins at `start` and ends with the text."""
        return self._one(self._ready().fullmatch, text, start)

    def finditer(self, text: str | Subject, start: int = 0) -> Iterator[Match]:
        """All matches from the left that do not overlap; after an empty one it goes on with the next character."""
        walk = self._ready().finditer
        subject = _subject(text)
        at: int | None = subject.byte(start)
        while at is not None and at <= len(subject.data):
            begin, at = at, None
            for found in walk(subject.data, begin):
                yield Match(found, subject)
                first, last = found.span(0)
                if first == last:  # the library would go on within a character
                    at = subject.after(last)
                    break

    def findall(self, text: str | Subject, start: int = 0) -> list[str]:
        """The texts of all matches, whole, whatever groups there are."""
        return [found[0] for found in self.finditer(text, start)]

    def sub(self, replacement: str | Callable[[Match], str], text: str | Subject, count: int = 0) -> str:
        """The text with its matches replaced, at most `count` of them if that is not 0.

        A replacement that is a text is put in as it is: a backslash in it means nothing.
        """
        return self.subn(replacement, text, count)[0]

    def subn(
        self, replacement: str | Callable[[Match], str], text: str | Subject, count: int = 0
    ) -> tuple[str, int]:
        """What `sub` gives, and how many matches were replaced."""
        subject = _subject(text)
        pieces: list[str] = []
        end = replaced = 0
        for found in self.finditer(subject):
            pieces.append(subject.text[end : found.start()])
            pieces.append(replacement if isinstance(replacement, str) else replacement(found))
            end = found.end()
            replaced += 1
            if replaced == count:
                break
        pieces.append(subject.text[end:])
        return "".join(pieces), replaced

    def split(self, text: str | Subject, most: int = 0) -> list[str | Any]:
        """The texts between the matches, with the texts of groups in their places; at most `most` cuts if that is not 0."""
        subject = _subject(text)
        pieces: list[str | Any] = []
        end = 0
        for cuts, found in enumerate(self.finditer(subject), start=1):
            pieces += [subject.text[end : found.start()], *found.groups()]
            end = found.end()
            if cuts == most:
                break
        return [*pieces, subject.text[end:]]

    def _ready(self) -> "_Compiled":
        if self._compiled is None:
            self.prepare()
        return cast("_Compiled", self._compiled)

    def _one(
        self, look: "Callable[[bytes, int], _Found | None]", text: str | Subject, start: int
    ) -> Match | None:
        subject = _subject(text)
        found = look(subject.data, subject.byte(start))
        return None if found is None else Match(found, subject)


_registered: dict[str, Pattern] = {}
REGISTRY: Final = MappingProxyType(_registered)
"""Every pattern of our own that meets foreign text, by its name; complete as far as modules are imported."""


def linear(name: str, pattern: str) -> Pattern:
    """A pattern of our own for foreign text, recorded in `REGISTRY`. To be called at module level only.

    Args:
        name: What it finds, with its package: `secrets.aws-key`. Unique.
        pattern: In RE2's syntax, flags inline.

    Raises:
        ValueError: Another pattern has the name.
    """
    if name in _registered:
        raise ValueError(f"a pattern named {name!r} is registered already")
    _registered[name] = made = Pattern(pattern)
    return made


def built(pattern: str) -> Pattern:
    """A pattern that was put together at run time, compiled at once. Foreign parts of it go through `escaped`.

    Raises:
        PatternError: RE2 does not take it.
    """
    made = Pattern(pattern)
    made.prepare()
    return made


def escaped(text: str) -> str:
    """A pattern that matches exactly this text."""
    # Letters, digits, `_` and what is not ASCII stand for themselves; RE2 takes a backslash before any other sign.
    return "".join(
        sign
        if sign == "_" or not sign.isascii() or sign.isalnum()
        else "\\x00"
        if sign == "\0"
        else f"\\{sign}"
        for sign in text
    )


def prepare() -> None:
    """Load the library and compile every pattern that is registered by now. Takes a moment: for a thread."""
    for pattern in tuple(_registered.values()):
        pattern.prepare()


class _Found(Protocol):
    """The part of a match of `re2` that is used."""

    @property
    def re(self) -> "_Compiled": ...
    @property
    def lastgroup(self) -> str | None: ...
    def span(self, group: int, /) -> tuple[int, int]: ...


class _Compiled(Protocol):
    """The part of a compiled pattern of `re2` that is used: it is given bytes, which it does not copy."""

    @property
    def groups(self) -> int: ...
    @property
    def groupindex(self) -> dict[str, int]: ...
    def finditer(self, text: bytes, pos: int, /) -> Iterator[_Found]: ...
    def search(self, text: bytes, pos: int, /) -> _Found | None: ...
    def match(self, text: bytes, pos: int, /) -> _Found | None: ...
    def fullmatch(self, text: bytes, pos: int, /) -> _Found | None: ...


class _Options(Protocol):
    log_errors: bool


class _Library(Protocol):
    """The part of the module `re2` that is used; it comes without types."""

    error: type[Exception]
    Options: Callable[[], _Options]

    def compile(self, pattern: str, options: _Options, /) -> _Compiled: ...


def _compile(pattern: str) -> _Compiled:
    library = cast("_Library", import_module("re2"))
    options = library.Options()
    options.log_errors = False  # else the library writes to standard error by itself
    try:
        return library.compile(pattern, options)
    except (library.error, UnicodeEncodeError) as error:
        raise PatternError(f"the pattern {pattern!r} cannot be used: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else ""
    if isinstance(reason, bytes):
        return reason.decode("utf-8", "replace")
    return str(error)


def _subject(text: str | Subject) -> Subject:
    return text if isinstance(text, Subject) else Subject(text)
