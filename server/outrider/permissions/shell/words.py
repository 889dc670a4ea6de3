"""Reads words the way bash does: quotes, escapes, and what is filled in when it runs.

The grammar says where an expansion ends; everything else is read here, from the text itself. Where the two do not
agree, the word is a problem and nothing is believed.
"""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from outrider.permissions.shell.model import Word

METACHARACTERS: Final = frozenset(b"|&;()<> \t\n")
"""What ends a word (Bash Reference Manual, "Definitions")."""

_PLAIN: Final = re.compile(rb"[A-Za-z0-9_@%+=:,./^-]+(?=[|&;()<> \t\n]|\Z)")
_SIMPLE: Final = re.compile(
    rb"(?:[ \t]|\\\n)*([A-Za-z0-9_@%+=:,./^-]+|'[^']*'|\"[^\"$`\\]*\")(?=[|&;() \t\n]|\Z)"
)
"""Blanks, and a word that is plain, or in quotes of one kind that hold nothing special."""
_SHORT: Final = 64
_PLAIN_WORDS: Final = re.compile(rb"[A-Za-z0-9_@%+:,./^-]{1,64}(?: [A-Za-z0-9_@%+=:,./^-]{1,64})*")
_REDIRECTS: Final = (b"<", b">")
_VARIABLE: Final = re.compile(rb"\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-])")
_NAME: Final = re.compile(rb"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")
_QUOTED_VARIABLE: Final = re.compile(rb"\"%s\"(?=[|&;()<> \t\n]|\Z)" % _NAME.pattern)
_WHOLE: Final = re.compile(r"[A-Za-z0-9_./@%+=:,-]+")
"""What neither splits nor stands for files, wherever it is filled in."""
_UNQUOTED_STOP: Final = re.compile(rb"[\\'\"`$|&;()<> \t\n*?\[\]{}~]")
_QUOTED_STOP: Final = re.compile(rb"[\\\"`$]")
_SIMPLE_ESCAPES: Final = {
    ord("a"): b"\a", ord("b"): b"\b", ord("e"): b"\x1b", ord("E"): b"\x1b", ord("f"): b"\f", ord("n"): b"\n",
    ord("r"): b"\r", ord("t"): b"\t", ord("v"): b"\v", ord("\\"): b"\\", ord("'"): b"'", ord('"'): b'"', ord("?"): b"?",
}  # fmt: skip
_ESCAPE: Final = re.compile(
    rb"\\(?:(?P<octal>[0-7]{1,3})|x(?P<hex>[0-9a-fA-F]{1,2})|u(?P<u>[0-9a-fA-F]{1,4})|U(?P<U>[0-9a-fA-F]{1,8})"
    rb"|c(?P<control>.)|(?P<simple>[abeEfnrtv\\'\"?]))",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Hole:
    """An expansion: a stretch of a word that is filled in when it runs."""

    end: int
    kind: Literal["command", "process", "value"]


class Read(NamedTuple):
    """A word, and where it ends; a tuple, because there are many of them."""

    word: Word
    end: int


def read_simple(source: bytes, start: int, limit: int) -> tuple[Word, int] | None:
    """The word behind the blanks at `start`, if nothing is filled in and it cannot be the number of a redirection.

    Most words are such, and are read at one look, with where they end. None says nothing about the others.
    """
    match = _SIMPLE.match(source, start, limit)
    if match is None or source[(end := match.end()) : end + 1] in _REDIRECTS:
        return None
    found = match[1]
    return (_known_word if len(found) <= _SHORT else _simple_word)(found), end


def read_plain(source: bytes, start: int, end: int) -> list[Word] | None:
    """The words of a command that holds nothing but plain ones with single blanks between them; None says nothing about others."""
    if not _PLAIN_WORDS.fullmatch(source, start, end) or source[end : end + 1] in _REDIRECTS:
        return None
    return [_known_word(word) for word in source[start:end].split(b" ")]


def _simple_word(source: bytes) -> Word:
    text = source.decode()
    return Word(text, text[1:-1]) if text[0] in "'\"" else Word(text, text, "", True)


_known_word: Final = lru_cache(maxsize=2000)(_simple_word)
"""The same word comes again and again: programs, options, names of files."""


def read_word(
    source: bytes, start: int, limit: int, holes: Mapping[int, Hole], filled: Mapping[bytes, Word]
) -> Read | str:
    """Read the word that begins at `start`; a text says why it cannot be known.

    Args:
        source: The command line.
        start: Its first byte.
        limit: Where it must have ended.
        holes: The expansions, by their first byte.
        filled: What is known of variables, by their names: a word that each of them holds.
    """
    if filled and (match := _QUOTED_VARIABLE.match(source, start, limit)):
        word = filled.get(match[1] or match[2])
        if word is not None and word.text is None:  # a pattern: one of the files that it stands for
            return Read(word._replace(is_one=True), match.end())
    if (match := _PLAIN.match(source, start, limit)) and match.end() not in holes:
        text = match[0].decode()
        return Read(Word(text, text, is_plain=True), match.end())
    return _Scan(source, start, limit, holes, filled).run()


class _Scan:
    """One word being read."""

    def __init__(
        self,
        source: bytes,
        start: int,
        limit: int,
        holes: Mapping[int, Hole],
        filled: Mapping[bytes, Word],
    ) -> None:
        self._source, self._start, self._limit, self._holes = source, start, limit, holes
        self._filled = filled
        self._shown = False
        """Whether what it is filled with is known, and is what is shown of it."""
        self._known = bytearray()
        self._prefix: bytes | None = None
        """What was known before the first stretch that is not; None while everything is."""
        self._bare = bytearray()
        """What stands outside of quotes, with a mark for what does not: braces and brackets count only there."""
        self._plain = True
        self._one = True

    def run(self) -> Read | str:
        at = self._start
        while at < self._limit:
            char = self._source[at]
            if char in METACHARACTERS and at not in self._holes:
                break
            came = self._unquoted(at, char)
            if isinstance(came, str):
                return came
            at = came
        if at == self._start:
            return "a word is missing"
        if b"[" in self._bare and b"]" in self._bare[self._bare.index(b"[") :]:
            self._unknown(self._before(b"["), one=False)
        if _may_be_braces(self._bare):
            self._unknown(self._before(b"{"), one=False)
        source = self._source[self._start : at].decode("utf-8", "replace")
        if self._shown and self._prefix is None:
            source = shlex.quote(self._known.decode("utf-8", "replace"))
        try:
            text = None if self._prefix is not None else self._known.decode()
            prefix = "" if self._prefix is None else self._prefix.decode()
        except UnicodeDecodeError:
            return "a word is not valid Unicode"
        return Read(Word(source, text, prefix, self._plain, self._one), at)

    def _unquoted(self, at: int, char: int) -> int | str:
        source = self._source
        match char:
            case 0x5C:  # \
                self._plain = False
                if at + 1 >= self._limit:
                    return "it ends in a backslash"
                if source[at + 1] == 0x0A:
                    return "a line is continued within a word"
                self._add(source[at + 1 : at + 2], bare=False)
                return at + 2
            case 0x27:  # '
                return self._single_quoted(at + 1)
            case 0x22:  # "
                return self._double_quoted(at + 1)
            case 0x24 if source[at + 1 : at + 2] == b"'":
                return self._ansi(at + 2)
            case 0x24 if source[at + 1 : at + 2] == b'"':
                self._unknown()  # the locale may say something else
                return self._double_quoted(at + 2)
            case 0x24 | 0x60 | 0x3C | 0x3E:
                return self._hole(at, quoted=False)
            case 0x7E if at == self._start or source[at - 1] in b"=:":  # ~
                self._unknown(bytes(self._known) + b"~")
                return at + 1
            case 0x2A | 0x3F:  # * ?
                self._unknown(one=False)
                self._add(source[at : at + 1])
                return at + 1
            case _:
                stop = _UNQUOTED_STOP.search(source, at + 1, self._limit)
                end = stop.start() if stop else self._limit
                self._add(source[at:end])
                return end

    def _single_quoted(self, at: int) -> int | str:
        self._plain = False
        end = self._source.find(b"'", at, self._limit)
        if end < 0:
            return "a quote is not closed"
        self._add(self._source[at:end], bare=False)
        return end + 1

    def _double_quoted(self, at: int) -> int | str:
        self._plain = False
        source = self._source
        self._add(b"", bare=False)
        while at < self._limit:
            stop = _QUOTED_STOP.search(source, at, self._limit)
            if stop is None:
                break
            self._add(source[at : stop.start()], bare=False)
            at = stop.start()
            if source[at] == 0x22:
                return at + 1
            if source[at] == 0x5C:
                escaped = source[at + 1 : at + 2]
                if escaped != b"\n":
                    self._add(
                        escaped if escaped in {b"$", b"`", b'"', b"\\"} else b"\\" + escaped, bare=False
                    )
                at += 2
                continue
            came = self._hole(at, quoted=True)
            if isinstance(came, str):
                return came
            at = came
        return "a quote is not closed"

    def _ansi(self, at: int) -> int | str:
        """Read `$'…'` (Bash Reference Manual, "ANSI-C Quoting")."""
        self._plain = False
        source, decoded = self._source, bytearray()
        while at < self._limit and source[at] != 0x27:
            if source[at] != 0x5C:
                decoded.append(source[at])
                at += 1
                continue
            match = _ESCAPE.match(source, at, self._limit)
            if match is None:
                return "an escape is not understood"
            came = _escaped(match)
            if came is None:
                return "an escape stands for no character"
            decoded += came
            at = match.end()
        if at >= self._limit:
            return "a quote is not closed"
        self._add(bytes(decoded), bare=False)
        return at + 1

    def _hole(self, at: int, *, quoted: bool) -> int | str:
        source, hole = self._source, self._holes.get(at)
        self._plain = False
        if hole is None:
            begins = source[at : at + 2]
            if source[at] == 0x24 and not _VARIABLE.match(source, at) and begins not in {b"${", b"$(", b"$["}:
                self._add(b"$", bare=False)
                return at + 1
            return "an expansion is not understood"
        if hole.end > self._limit:
            return "an expansion is not understood"
        if source[at] == 0x24 and source[at + 1 : at + 2] not in {b"{", b"(", b"["}:
            match = _VARIABLE.match(source, at)
            if match is None or match.end() != hole.end:
                return "a variable is not understood"
        name = _NAME.fullmatch(source, at, hole.end)
        word = self._filled.get(name[1] or name[2]) if name else None
        if word is not None and word.text is not None and (quoted or _WHOLE.fullmatch(word.text)):
            self._add(word.text.encode(), bare=False)
            self._shown = True
            return hole.end
        # In quotes only the positional parameters are several words (Bash Reference Manual, "Special Parameters").
        is_one = hole.kind == "process" or (quoted and b"@" not in source[at : hole.end])
        self._unknown(one=is_one)
        self._bare += b"\0"
        return hole.end

    def _add(self, text: bytes, *, bare: bool = True) -> None:
        self._known += text
        self._bare += text if bare else b"\0" * max(1, len(text))

    def _unknown(self, prefix: bytes | None = None, *, one: bool = True) -> None:
        self._plain = False
        self._one = self._one and one
        before = bytes(self._known) if prefix is None else prefix
        if self._prefix is None or len(before) < len(self._prefix):
            self._prefix = before

    def _before(self, sign: bytes) -> bytes:
        """What is known for certain before an unquoted sign; nothing, where quotes make it hard to say."""
        at = self._bare.index(sign)
        return b"" if b"\0" in self._bare[:at] else bytes(self._bare[:at])


def _escaped(match: re.Match[bytes]) -> bytes | None:
    if simple := match["simple"]:
        return _SIMPLE_ESCAPES[simple[0]]
    if control := match["control"]:
        value = control[0] & 0x1F
        return bytes([value]) if value and control[0] < 0x80 and control not in {b"?", b"\\"} else None
    if octal := match["octal"]:
        return bytes([value]) if (value := int(octal, 8) & 0xFF) else None
    if hexadecimal := match["hex"]:
        return bytes([value]) if (value := int(hexadecimal, 16)) else None
    value = int(match["u"] or match["U"], 16)
    # The locale says how other characters are written.
    return bytes([value]) if 0 < value < 0x80 else None


def _may_be_braces(text: bytes | bytearray) -> bool:
    """Whether there is a `,` or a `..` between an opening brace and a closing one."""
    inner = text[text.find(b"{") + 1 : text.rfind(b"}")] if b"{" in text else b""
    return b"," in inner or b".." in inner


BRACES: Final = re.compile(
    rb"(?P<before>[A-Za-z0-9_./-]*)\{(?:(?P<words>[A-Za-z0-9_./-]*(?:,[A-Za-z0-9_./-]*)+)|(?P<first>[1-9]?\d)\.\.(?P<last>[1-9]?\d))\}"
    rb"(?P<after>[A-Za-z0-9_./-]*)(?=[|&;()<> \t\n]|\Z)"
)
"""Such braces, with what stands right before and behind them (Bash Reference Manual, "Brace Expansion")."""


def spelled_out(braces: re.Match[bytes]) -> list[Word]:
    """The words that braces stand for; one that would be empty is none."""
    if braces["words"] is not None:
        inner = braces["words"].decode().split(",")
    else:
        first, last = int(braces["first"]), int(braces["last"])
        inner = [str(one) for one in range(first, last + 1) or range(first, last - 1, -1)]
    before, after = braces["before"].decode(), braces["after"].decode()
    texts = (f"{before}{one}{after}" for one in inner)
    return [Word(text, text) for text in texts if text]
