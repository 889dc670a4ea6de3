"""Keeps the secrets of a session out of what leaves the tools: each is replaced by a numbered placeholder.

A secret has the same number for as long as its session lives, over a restart too, and the log does not hold it: what
the log has of it is a keyed hash, whose key is a file of this machine.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from outrider.permissions.needles import Needles
from outrider.permissions.secret_forms import (
    CUT,
    SHORTEST_KEY,
    base64_forms,
    beginning_at_end,
    end_at_beginning,
    forms,
    pieces,
    wrapped,
)
from outrider.permissions.secret_shapes import Finding, Kind, credentials, findings
from outrider.permissions.secret_values import settings_in
from outrider.ports.placeholder import MARKER, PLACEHOLDER

KEPT_FROM = 10_000
"""Characters of a text from which on it is kept what became of it."""
MOST_KEPT = 4
"""Such texts."""
SHORT_TO = 200
"""Characters of a text up to which it is kept that it has no secret: names, ids and hashes come again and again."""
MOST_SHORT = 2_000
"""Such texts."""
MOST_LOOKS = 4
"""How often a text is looked at again because something was taken out beside something else."""
_WORD = re.compile(r"[A-Za-z0-9_+/=~.-]{16,200}")
"""What a secret may look like that was known before a restart by what stood around it."""
_TAKEN = re.compile(r"\[secret (\d{1,6})(?=[\]. ])")
_COLOUR = re.compile(r"(?:\x1b|\\x1b)\[[0-9;]*[mK]")
"""A colour (ECMA-48, SGR) or the end of a coloured line, as it is or spelled out."""
_BASE64 = " in base64"
_IN_LINES = frozenset({_BASE64, " in hex"})
"""How a secret is written where it may be broken into lines."""
_HARMLESS = re.compile(r"(?:~?/[\w.@+-]+){2,}/?|[a-z]{1,11}|[A-Z]{1,11}|\d{1,11}")
"""Values of variables that are called like keys and hold none: a path, a word, a number."""


@dataclass(frozen=True, slots=True)
class Named:
    """A secret that got its number."""

    name: str
    """The number; with a dot and the line for one of several lines."""
    kind: Kind
    mark: str
    """Its keyed hash."""


@dataclass(frozen=True, slots=True)
class Masked:
    """A text without secrets."""

    text: str
    count: int
    """In how many places something was replaced."""


@dataclass(frozen=True, slots=True)
class _Watched:
    """A text that is replaced wherever it stands."""

    value: str
    """The secret that it is, or another way of writing it."""
    kind: Kind
    form: str
    """How it is written, after the number."""
    before: str = ""
    """What stands before it in the text, and stays."""


def may_be_key(value: str) -> bool:
    """Whether the value of a variable that is called like a key may be one."""
    return len(value) >= SHORTEST_KEY and _HARMLESS.fullmatch(value) is None


class Masking:
    """The secrets of one session, and what stands for each."""

    def __init__(
        self, key: bytes | None, marks: Mapping[str, str], keys: Callable[[], Iterable[str]] = tuple
    ) -> None:
        """Begin with what the log knows.

        Args:
            key: The machine's key for the hashes of secrets. None: nothing is replaced, as in a replay, whose texts
                are without secrets already.
            marks: The numbers that secrets have, by their hashes; it may grow, as the log does.
            keys: Gives the values of the environment's variables that hold keys.
        """
        self._key = key
        self._marks = marks
        self._keys = keys
        self._keys_known: frozenset[str] = frozenset()
        self._names: dict[str, str] = {}
        self._watched: dict[str, _Watched] = {}
        self._needles = Needles()
        self._longest_first: list[str] = []
        self._in_lines: dict[str, list[str]] = {}
        """The forms that may be broken into lines, by each of the pieces in them."""
        self._originals: dict[str, str] = {}
        self._fresh: list[Named] = []
        self._given: dict[str, str] = {}
        self._last = 0
        self._kept: dict[str, Masked] = {}
        """What became of long texts, until more is known: all events of a change say the same."""
        self._found: tuple[str, list[Finding]] = "", []
        self._clean: set[str] = set()
        """Short texts that are clean, until more is known."""

    def masked(self, text: str) -> Masked:
        """A text with its secrets replaced. Lines stay lines."""
        if self._key is None or not text:
            return Masked(text, 0)
        self._take_in_keys()
        return self._masked(text)

    def _masked(self, text: str) -> Masked:
        if not text or text in self._clean:
            return Masked(text, 0)
        if text in self._kept:
            return self._kept[text]
        given, count = text, 0
        for _ in range(MOST_LOOKS):
            if self._is_clean(text):
                break
            self._learn(text)
            text, replaced = self._replaced(text)
            count += replaced
            if not replaced:
                break
        masked = Masked(text, count)
        if len(given) <= SHORT_TO and not count:
            if len(self._clean) >= MOST_SHORT:
                self._clean.clear()
            self._clean.add(given)
        if len(text) >= KEPT_FROM:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[given] = masked
        return masked

    def without_secrets(self, text: str) -> str:
        """The text of `masked`."""
        return self.masked(text).text

    def is_clean(self, text: str) -> bool:
        """Whether nothing in a text is to be replaced, and nothing to be learned from it."""
        if self._key is None:
            return True
        self._take_in_keys()
        return self._is_clean(text)

    def _is_clean(self, text: str) -> bool:
        return not (
            self._needles.within(text)
            or ("[secret " in text and _TAKEN.search(text))
            or ("…" in text and self._longest_first)
            or self._coloured(text)
            or any(wrapped(text, self._in_lines))
            or any(
                not PLACEHOLDER.search(value) for finding in self._findings(text) for value in finding.values
            )
            or any(self._words_of_before(text))
        )

    def value(self, value: Any) -> tuple[Any, int]:
        """A JSON value with the secrets in its strings replaced, and in how many places."""
        if self._key is None:
            return value, 0
        self._take_in_keys()
        return self._value(value)

    def _value(self, value: Any) -> tuple[Any, int]:
        if isinstance(value, str):
            masked = self._masked(value)
            return masked.text, masked.count
        if isinstance(value, list):
            items = [self._value(item) for item in cast("list[Any]", value)]
            return [item for item, _ in items], sum(count for _, count in items)
        if isinstance(value, dict):
            fields = {key: self._value(item) for key, item in cast("dict[str, Any]", value).items()}
            return {key: item for key, (item, _) in fields.items()}, sum(c for _, c in fields.values())
        return value, 0

    def learn_settings(self, text: str) -> None:
        """Take in the values in a file that is called like one of secrets."""
        if self._key is None:
            return
        before = len(self._watched)
        for setting in settings_in(text):
            if not PLACEHOLDER.search(setting.value):
                name = "" if setting.counts_everywhere else setting.name
                self._watch(f"{name}{setting.value}", _Watched(setting.value, "password", "", name))
        if len(self._watched) != before:
            self._sort()

    def fresh(self) -> list[Named]:
        """The secrets that got a number since this was asked last."""
        fresh, self._fresh = self._fresh, []
        return fresh

    def placeholders(self, text: str) -> list[str]:
        """The placeholders in a text that stand for something in this session."""
        if self._key is None or "[secret " not in text:
            return []
        names = {*self._marks.values(), *self._given.values()}
        return [
            found
            for found in dict.fromkeys(PLACEHOLDER.findall(text))
            if found[len("[secret ") : -1].partition(" ")[0] in names
        ]

    def original(self, placeholder: str) -> str | None:
        """What a placeholder stands for; None where that is not known, or not any more since a restart."""
        return self._originals.get(placeholder)

    def cut_before(self, text: str, place: int) -> int:
        """A place at which a text can be cut without cutting through a secret: the one that is given, or before it."""
        if self._key is None:
            return place
        self._take_in_keys()
        found = [value for finding in findings(text) for value in finding.values]
        for secret in [*found, *self._longest_first]:
            start = text.find(secret, max(0, place - len(secret) + 1), place + len(secret) - 1)
            if 0 < start < place < start + len(secret):
                place = start
        return place

    def known_name(self, value: str) -> str | None:
        """What stands in the placeholder of a secret; None where it has none in this session."""
        if value not in self._names and (name := self._marks.get(mark := self._mark(value))):
            self._names[value] = self._given[mark] = name
        return self._names.get(value)

    # --- what is known -------------------------------------------------------------------------------------------

    def _take_in_keys(self) -> None:
        keys = frozenset(self._keys()) - self._keys_known
        if not keys:
            return
        self._keys_known |= keys
        kind: Kind = "key of the environment"
        for key in sorted(keys):
            lines = [line for line in key.splitlines() if len(line) >= SHORTEST_KEY]
            for line in lines:
                self._watch(line, _Watched(line, kind, ""))
                for form, name in forms(line).items():
                    self._watch(form, _Watched(line, kind, f" {name}"))
            if len(lines) > 1:
                for form in base64_forms(key):
                    self._watch(form, _Watched(lines[0], kind, _BASE64))
        self._sort()

    def _watch(self, text: str, watched: _Watched) -> None:
        if text in self._watched:
            return
        self._watched[text] = watched
        self._needles.add(text)
        if watched.form in _IN_LINES:
            for piece in pieces(text):
                self._in_lines.setdefault(piece, []).append(text)

    def _findings(self, text: str) -> list[Finding]:
        if self._found[0] != text:
            self._found = text, findings(text)
        return self._found[1]

    def _learn(self, text: str) -> None:
        """Take in the secrets of a text that are ones wherever they stand."""
        # What reads like a placeholder already must not come to stand for something.
        if "[secret " in text:
            self._last = max(self._last, *(int(found[1]) for found in _TAKEN.finditer(text)), 0)
        before = len(self._watched)
        for finding in self._findings(text):
            if finding.everywhere:
                self._name_all(finding.values, finding.kind)
                for value in finding.values:
                    self._watch(value, _Watched(value, finding.kind, ""))
        for word in self._words_of_before(text):
            self._watch(word, _Watched(word, "password", ""))
        if len(self._watched) != before:
            self._sort()

    def _words_of_before(self, text: str) -> Iterator[str]:
        """Words that were a secret before a restart, and stand where nothing says so."""
        waiting = self._marks.keys() - self._given.keys() if self._marks else ()
        if waiting:
            for word in dict.fromkeys(_WORD.findall(text)):
                if word not in self._watched and self._mark(word) in waiting:
                    yield word

    def _sort(self) -> None:
        self._kept.clear()
        self._clean.clear()
        self._found = "", []
        self._longest_first = sorted(self._watched, key=lambda text: (-len(text), text))

    # --- numbers -------------------------------------------------------------------------------------------------

    def _mark(self, value: str) -> str:
        content = value.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(content, key=self._key or b"", digest_size=16).hexdigest()

    def _name_all(self, values: tuple[str, ...], kind: Kind) -> None:
        """Give the lines of a secret their names; they share its number."""
        known = next((name for value in values if (name := self.known_name(value))), None)
        number = known.partition(".")[0] if known else None
        for value in values:
            if self.known_name(value) is None:
                number = number or self._next()
                self._give(value, kind, number if len(values) == 1 else self._line_of(number))

    def _name(self, value: str, kind: Kind) -> str:
        return self.known_name(value) or self._give(value, kind, self._next())

    def _give(self, value: str, kind: Kind, name: str) -> str:
        mark = self._mark(value)
        self._names[value] = self._given[mark] = name
        self._fresh.append(Named(name, kind, mark))
        return name

    def _next(self) -> str:
        taken = (int(name.partition(".")[0]) for name in {*self._marks.values(), *self._given.values()})
        self._last = max(self._last, *taken, 0) + 1
        return str(self._last)

    def _line_of(self, number: str) -> str:
        lines = [
            int(line)
            for name in {*self._marks.values(), *self._given.values()}
            for first, _, line in [name.partition(".")]
            if first == number and line
        ]
        return f"{number}.{max(lines, default=0) + 1}"

    # --- what is replaced ----------------------------------------------------------------------------------------

    def _marker(self, secret: str, watched: _Watched) -> str:
        marker = MARKER.format(f"{self._name(watched.value, watched.kind)}{watched.form}")
        self._originals.setdefault(marker, secret.removeprefix(watched.before))
        return watched.before + marker

    def _replaced(self, text: str) -> tuple[str, int]:
        count = 0
        for secret in self._needles.within(text):
            if secret in text:
                count += text.count(secret)
                text = text.replace(secret, self._marker(secret, self._watched[secret]))
        for secret, watched in self._coloured(text).items():
            split = f"(?:{_COLOUR.pattern})*".join(map(re.escape, secret))
            text, times = re.subn(split, self._marker(secret, watched), text)
            count += times
        for start, end, form in reversed(list(wrapped(text, self._in_lines))):
            text = text[:start] + self._marker(text[start:end], self._watched[form]) + text[end:]
            count += 1
        if "…" in text:
            text, cut = self._without_cut(text)
            count += cut
        text, around = self._without_credentials(text)
        return text, count + around

    def _coloured(self, text: str) -> dict[str, _Watched]:
        """The secrets in a text that are seen only without the colours in it, as a search puts them around what it found."""
        if "\x1b[" not in text and "\\x1b[" not in text:
            return {}
        plain = _COLOUR.sub("", text)
        known = {value for finding in self._findings(text) for value in finding.values}
        found = {
            value: _Watched(value, finding.kind, "")
            for finding in findings(plain)
            for value in finding.values
            if value not in known and not PLACEHOLDER.search(value)
        }
        return found | {
            secret: self._watched[secret]
            for secret in self._needles.within(plain)
            if plain.count(secret) > text.count(secret)
        }

    def _without_cut(self, text: str) -> tuple[str, int]:
        """Replace what is left of a secret where a text was cut."""
        parts, count = CUT.split(text), 0
        plain_first = sorted(self._longest_first, key=lambda secret: bool(self._watched[secret].form))
        for index in range(0, len(parts), 2):
            for secret in plain_first:
                if index + 1 < len(parts) and (length := beginning_at_end(parts[index], secret)):
                    parts[index] = parts[index][:-length] + self._marker(secret, self._watched[secret])
                    count += 1
                if index and (length := end_at_beginning(parts[index], secret)):
                    parts[index] = self._marker(secret, self._watched[secret]) + parts[index][length:]
                    count += 1
        return "".join(parts), count

    def _without_credentials(self, text: str) -> tuple[str, int]:
        """Replace what is a secret only by what stands around it."""
        pieces: list[str] = []
        done = count = 0
        for finding in credentials(text):
            (value,) = finding.values
            if finding.start < done or PLACEHOLDER.search(value):
                continue
            marker = self._marker(value, _Watched(value, finding.kind, ""))
            pieces += [text[done : finding.start], marker]
            done = finding.start + len(value)
            count += 1
        return "".join([*pieces, text[done:]]) if pieces else text, count
