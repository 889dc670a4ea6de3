"""Keeps the secrets of a session out of what leaves the tools: each is replaced by a numbered placeholder.

A secret has the same number for as long as its session lives, over a restart too, and the log does not hold it: what
the log has of it is a keyed hash, whose key is a file of this machine.

It keeps what lies about out of requests and logs, and is no wall against somebody who wants to bring a secret out. Not found are secrets that
are encrypted, compressed, reversed, split or encoded twice; values put together from variables; the middle of a private key; short passwords
that somebody thought up, without a telling name or command before them; numbers such as a PIN.
"""

import asyncio
import hashlib
import threading
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, cast

from outrider.permissions.secrets.secret_files import settings_in
from outrider.permissions.secrets.secret_forms import (
    CUT,
    SHORTEST_KEY,
    Needles,
    base64_forms,
    beginning_at_end,
    end_at_beginning,
    forms,
    pieces,
    wrapped,
)
from outrider.permissions.secrets.secret_shapes import (
    LIKELY,
    LONGEST_BLOCK,
    Finding,
    Kind,
    findings,
    findings_in_lines,
    is_block_open,
    secrets_in_prose,
)
from outrider.permissions.secrets.tokens import LONGEST
from outrider.ports.patterns import linear
from outrider.ports.secrets import MARKER, PLACEHOLDER
from outrider_protocol.events import Secret

KEPT_FROM = 10_000
"""Characters of a text from which on it is kept what became of it."""
MOST_KEPT = 4
"""Such texts."""
SHORT_TO = 200
"""Characters of a text up to which it is kept that it has no secret: names, ids and hashes come again and again."""
MOST_SHORT = 2_000
"""Such texts."""
MOST_LOOKS = 4
"""How often a line is looked at because something was taken out beside something else."""
MOST_WATCHED = 2_000
"""Secrets of texts that are replaced wherever they stand; further ones only where they are found."""
MOST_HELD = 16_384
"""Characters of one line that are held back until its end."""
_BACK = 2048
"""Characters from the end of those in which a place is looked for to cut them."""
_TAKEN = linear("secrets.taken", r"\[secret (\d{1,6})[\]. ]")
_BESIDE = linear(
    "secrets.beside",
    r"""[^\s"'`=:,;(){}<>\[\]]\[secret \d|\[secret [^\[\]\n]{1,40}\][^\s"'`,;(){}<>\[\]\\]""",
)
"""A placeholder with a text right beside it, which may be a secret only now."""
_COLOUR = linear("secrets.colour", r"(?:\x1b|\\x1b)\[[0-9;]*[mK]")
"""A colour (ECMA-48, SGR) or the end of a coloured line, as it is or spelled out."""
_LONGEST_NOTE = 40
"""Characters of a note of how much was left out of a text."""
_BASE64 = " in base64"
_IN_LINES = frozenset({_BASE64, " in hex"})
"""How a secret is written where it may be broken into lines."""
_HARMLESS = linear("secrets.harmless", r"(?:~?/[\w.@+-]+){2,}/?|[a-z]{1,11}|[A-Z]{1,11}|\d{1,11}")
"""Values of variables that are called like keys and hold none: a path, a word, a number."""


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
    """The secrets of one session, and what stands for each.

    Long texts are masked in a thread while the loop masks others, so numbers are given, and results kept, under a lock.
    """

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
        self._lock = threading.RLock()
        """Held for a moment: never while a text is looked through."""
        self._watches: Counter[int] = Counter()
        """By thread: how many texts it has begun to watch."""
        self._names: dict[str, str] = {}
        self._watched: dict[str, _Watched] = {}
        self._needles = Needles()
        self._found_here = 0
        """How many of those that are watched were found in texts."""
        self._sorted: list[str] | None = None
        """All that is watched, the longest first; None where that is not known yet."""
        self._pieces: set[str] = set()
        """The pieces of all that is watched by which it is known where it was cut, and how much of it they are of."""
        self._pieces_of = 0
        self._in_lines: dict[str, list[str]] = {}
        """The forms that may be broken into lines, by each of the pieces in them."""
        self._originals: dict[str, str] = {}
        self._fresh: list[dict[str, Any]] = []
        self._given: dict[str, str] = {}
        self._last = 0
        """The highest number so far."""
        self._lines: dict[str, int] = {}
        """By the number of a secret of several lines: how many of them have a name."""
        self._waiting: set[str] = set()
        """Hashes from before a restart, of which nobody has seen the secret since."""
        self._marks_read = 0
        self._kept: dict[str, Masked] = {}
        """What became of long texts, until more is known: all events of a change say the same."""
        self._found: tuple[str, list[Finding]] = "", []
        self._looked: dict[str, list[Finding]] = {}
        """What is in the texts that are about to be masked."""
        self._from_user: set[str] = set()
        """Secrets that the user gave in their own words."""
        self._clean: set[str] = set()
        """Short texts that are clean, until more is known."""

    async def look(self, *texts: str) -> None:
        """Look through long texts and mask the longest, in a thread, so that masking them right afterwards holds nobody up."""
        if self._key is not None and sum(map(len, texts)) >= KEPT_FROM:
            self._take_in_keys()
            await asyncio.to_thread(self._look, dict.fromkeys(texts))

    def _look(self, texts: Iterable[str]) -> None:
        self._looked = looked = {text: findings(text) for text in texts}
        for text in looked:
            if len(text) >= KEPT_FROM:
                self._masked(text)

    def masked(self, text: str) -> Masked:
        """A text with its secrets replaced. Lines stay lines."""
        if self._key is None or not text:
            return Masked(text, 0)
        self._take_in_keys()
        return self._masked(text)

    def _masked(self, text: str) -> Masked:
        if not text or text in self._clean:
            return Masked(text, 0)
        if (kept := self._kept.get(text)) is not None:
            return kept
        elsewhere = self._watched_elsewhere()
        given, (text, count) = text, self._replaced(text)
        for _ in range(MOST_LOOKS - 1) if count else ():
            if _BESIDE.search(text) is None:
                break
            text, more = self._replaced_beside(text)
            count += more
            if not more:
                break
        masked = Masked(text, count)
        with self._lock:
            if (
                elsewhere == self._watched_elsewhere()
            ):  # else it may lack what another thread has learned meanwhile
                self._keep(given, masked)
        return masked

    def _keep(self, given: str, masked: Masked) -> None:
        if len(given) <= SHORT_TO and not masked.count:
            if len(self._clean) >= MOST_SHORT:
                self._clean.clear()
            self._clean.add(given)
        if len(given) >= KEPT_FROM:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[given] = masked

    def masked_lines(self, text: str) -> str:
        """What becomes of whole lines that come one after the other: what the last ones show goes for no earlier one."""
        if self._key is None:
            return text
        self._take_in_keys()
        found = findings_in_lines(text)
        if self._is_clean(text, found):
            return text
        lines = list(_lines(text))
        starts = list(accumulate(map(len, lines), initial=0))
        by_line: dict[int, list[Finding]] = defaultdict(list)
        for finding in found:
            by_line[bisect_right(starts, finding.spans[0][0]) - 1].append(finding)
        given: list[str] = []
        for number, line in enumerate(lines):
            self._found = line, [finding.moved(-starts[number]) for finding in by_line.get(number, ())]
            given.append(self._masked(line).text)
        return "".join(given)

    def without_secrets(self, text: str) -> str:
        """The text of `masked`."""
        return self.masked(text).text

    def _is_clean(self, text: str, found: Iterable[Finding]) -> bool:
        """Whether nothing in a text is to be replaced, and nothing to be learned from it."""
        return not (
            self._needles.places(text)
            or ("[secret " in text and _TAKEN.search(text))
            or ("…" in text and self._may_be_cut(text))
            or self._coloured(text)
            or any(wrapped(text, self._in_lines))
            or any(not _has_placeholder(value) for finding in found for value in finding.values)
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
        for setting in settings_in(text):
            if not _has_placeholder(setting.value):
                name = "" if setting.counts_everywhere else setting.name
                self._watch(f"{name}{setting.value}", _Watched(setting.value, "password", "", name))

    def learn_from_user(self, text: str) -> None:
        """Take in the secrets in what the user wrote themselves: also those that only a word before them tells (`the key is …`)."""
        if self._key is None:
            return
        for finding in secrets_in_prose(text, self._findings(text)):
            values = tuple(value for value in finding.values if not _has_placeholder(value))
            self._from_user.update(values)
            if finding.everywhere and values:
                self._name_all(values, finding.kind)
                for value in values:
                    self._watch(value, _Watched(value, finding.kind, ""))

    def is_from_user(self, secret: str) -> bool:
        """Whether the user gave a secret in their own words, since this process began."""
        return secret in self._from_user

    def fresh(self) -> list[dict[str, Any]]:
        """The secrets that got a number since this was asked last, as an event has them."""
        with self._lock:
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
        """A place at which a text can be cut without cutting through a secret, or through what shows that it is one.

        Args:
            text: The text.
            place: The last place that is wanted.
        """
        if self._key is None:
            return place
        self._take_in_keys()
        first = max(0, place - LONGEST // 2)
        near = text[first:]
        spans = [(finding.begin, finding.spans[-1][1]) for finding in self._findings(near)]
        spans += [(start, end) for start, end, _ in self._needles.places(near)]
        cut = place - first
        # From the right, as the place that is left may lie within the one before it.
        for start, end in sorted(spans, reverse=True):
            if 0 < start < cut < end:
                cut = start
        return first + cut

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

    def _watch(self, text: str, watched: _Watched) -> None:
        with self._lock:
            if text in self._watched:
                return
            self._watches[threading.get_ident()] += 1
            self._watched[text] = watched
            self._needles.add(text)
            self._kept.clear()
            self._clean.clear()
            self._sorted = None
            if watched.form in _IN_LINES:
                for piece in pieces(text):
                    self._in_lines.setdefault(piece, []).append(text)

    def _watched_elsewhere(self) -> int:
        """How many texts other threads have begun to watch."""
        with self._lock:
            return self._watches.total() - self._watches[threading.get_ident()]

    def _findings(self, text: str) -> list[Finding]:
        latest = self._found
        if latest[0] != text:
            looked = self._looked.get(text)
            self._found = latest = text, findings(text) if looked is None else looked
        return latest[1]

    def _learn(self, text: str) -> list[Finding]:
        """Give the secrets of a text their names, and take in those that are ones wherever they stand."""
        # What reads like a placeholder already must not come to stand for something.
        if "[secret " in text:
            self._last = max(self._last, *(int(found[1]) for found in _TAKEN.finditer(text)), 0)
        found = [
            finding for finding in self._findings(text) if not any(map(_has_placeholder, finding.values))
        ]
        once: dict[tuple[tuple[str, ...], Kind, bool], Finding] = {}
        for finding in found:
            once.setdefault((finding.values, finding.kind, finding.everywhere), finding)
        for finding in sorted(once.values(), key=lambda finding: not finding.everywhere):
            self._name_all(finding.values, finding.kind)
            for value in finding.values if finding.everywhere else ():
                if value not in self._watched and self._found_here < MOST_WATCHED:
                    self._found_here += 1
                    self._watch(value, _Watched(value, finding.kind, ""))
        for word in self._words_of_before(text):
            self._watch(word, _Watched(word, "password", ""))
        return found

    def _words_of_before(self, text: str) -> Iterator[str]:
        """Words that were a secret before a restart, and stand where nothing says so."""
        if len(self._marks) != self._marks_read:
            self._waiting = set(self._marks).difference(list(self._given))
            self._marks_read = len(self._marks)
        if self._waiting:
            for word in dict.fromkeys(LIKELY.findall(text)):
                if word not in self._watched and self._mark(word) in self._waiting:
                    yield word

    def _longest_first(self) -> list[str]:
        longest_first = self._sorted
        if longest_first is None:
            self._sorted = longest_first = sorted(self._watched, key=lambda text: (-len(text), text))
        return longest_first

    # --- numbers -------------------------------------------------------------------------------------------------

    def _mark(self, value: str) -> str:
        content = value.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(content, key=self._key or b"", digest_size=16).hexdigest()

    def _name_all(self, values: tuple[str, ...], kind: Kind) -> None:
        """Give the lines of a secret their names; they share its number."""
        with self._lock:
            known = next((name for value in values if (name := self.known_name(value))), None)
            number = known.partition(".")[0] if known else None
            for value in values:
                if self.known_name(value) is None:
                    number = number or self._next()
                    self._give(value, kind, number if len(values) == 1 else self._line_of(number))

    def _name(self, value: str, kind: Kind) -> str:
        with self._lock:
            return self.known_name(value) or self._give(value, kind, self._next())

    def _give(self, value: str, kind: Kind, name: str) -> str:
        mark = self._mark(value)
        self._names[value] = self._given[mark] = name
        # Made here, which for thousands is in a thread.
        self._fresh.append(Secret(name=name, kind=kind, mark=mark).to_wire())
        return name

    def _next(self) -> str:
        if self._last < len(self._marks):  # at the beginning, or when the log tells of more
            self._last = max(
                self._last, *(int(name.partition(".")[0]) for name in list(self._marks.values()))
            )
        self._last += 1
        return str(self._last)

    def _line_of(self, number: str) -> str:
        if number not in self._lines:
            names = {*self._marks.values(), *self._given.values()}
            lines = [
                int(line)
                for name in names
                for first, _, line in [name.partition(".")]
                if first == number and line
            ]
            self._lines[number] = max(lines, default=0)
        self._lines[number] += 1
        return f"{number}.{self._lines[number]}"

    # --- what is replaced ----------------------------------------------------------------------------------------

    def _marker(self, secret: str, watched: _Watched) -> str:
        marker = MARKER.format(f"{self._name(watched.value, watched.kind)}{watched.form}")
        self._originals.setdefault(marker, secret.removeprefix(watched.before))
        return watched.before + marker

    def _replaced(self, text: str) -> tuple[str, int]:
        """A text after one look at it, and in how many places something was replaced."""
        places = [
            (start, end, value, _Watched(value, finding.kind, ""))
            for finding in self._learn(text)
            for start, end in finding.spans
            for value in (text[start:end],)
            if value not in self._watched  # those are found below, wherever they stand
        ]
        watched = [
            (start, end, secret, self._watched[secret]) for start, end, secret in self._needles.places(text)
        ]
        text, count = self._with_markers(
            text, [*sorted(watched, key=lambda place: (place[0] - place[1], place[2])), *places]
        )
        if coloured := self._coloured(text):
            text, times = _without(text, {one: self._marker(one, it) for one, it in coloured.items()})
            count += times
        for start, end, form in reversed(list(wrapped(text, self._in_lines))):
            text = text[:start] + self._marker(text[start:end], self._watched[form]) + text[end:]
            count += 1
        if "…" in text:
            text, cut = self._without_cut(text)
            count += cut
        return text, count

    def _with_markers(self, text: str, places: Iterable[tuple[int, int, str, _Watched]]) -> tuple[str, int]:
        """Put markers into places of a text; an earlier one goes before a later one that overlaps it."""
        taken = bytearray(len(text))
        made: dict[str, str] = {}
        markers: list[tuple[int, int, str]] = []
        for start, end, secret, watched in places:
            if taken.find(1, start, end) < 0:
                taken[start:end] = b"\1" * (end - start)
                if secret not in made:
                    made[secret] = self._marker(secret, watched)
                markers.append((start, end, made[secret]))
        pieces: list[str] = []
        done = 0
        for start, end, marker in sorted(markers):
            pieces += [text[done:start], marker]
            done = end
        return "".join([*pieces, text[done:]]) if pieces else text, len(markers)

    def _replaced_beside(self, text: str) -> tuple[str, int]:
        """A text after another look at the lines in which something was replaced."""
        lines = text.split("\n")
        again = [number for number, line in enumerate(lines) if "[secret " in line]
        looked, count = self._replaced("\n".join(lines[number] for number in again))
        if not count:
            return text, 0
        for number, line in zip(again, looked.split("\n"), strict=True):
            lines[number] = line
        return "\n".join(lines), count

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
            if value not in known and not _has_placeholder(value)
        }
        times = Counter(secret for _, _, secret in self._needles.places(plain))
        times.subtract(secret for _, _, secret in self._needles.places(text))
        return found | {secret: self._watched[secret] for secret, more in times.items() if more > 0}

    def _without_cut(self, text: str) -> tuple[str, int]:
        """Replace what is left of a secret where a text was cut."""
        if not self._may_be_cut(text):
            return text, 0
        parts, count = CUT.split(text), 0
        plain_first = sorted(self._longest_first(), key=lambda secret: bool(self._watched[secret].form))
        for index in range(0, len(parts), 2):
            for secret in plain_first:
                if index + 1 < len(parts) and (length := beginning_at_end(parts[index], secret)):
                    parts[index] = parts[index][:-length] + self._marker(secret, self._watched[secret])
                    count += 1
                if index and (length := end_at_beginning(parts[index], secret)):
                    parts[index] = self._marker(secret, self._watched[secret]) + parts[index][length:]
                    count += 1
        return "".join(parts), count

    def _may_be_cut(self, text: str) -> bool:
        """Whether something that is watched may have been cut in a text: mostly not, which is known faster."""
        if self._pieces_of != len(self._watched):
            watched = list(self._watched)
            for secret in watched[self._pieces_of :]:
                self._pieces.update(pieces(secret))
            self._pieces_of = len(watched)
        for piece in text.split("…"):
            if len(piece) < SHORTEST_KEY:
                continue
            # A note of what was left out may stand on either side.
            heads = (piece, piece[2:], piece[piece.find("]", 0, _LONGEST_NOTE) + 1 :])
            ends = {
                *(head[:SHORTEST_KEY] for head in heads),
                piece[-SHORTEST_KEY:],
                piece[:-2][-SHORTEST_KEY:],
            }
            if not self._pieces.isdisjoint(ends):
                return True
        return False


def _has_placeholder(value: str) -> bool:
    # Most have none, and there may be very many values.
    return "[secret " in value and PLACEHOLDER.search(value) is not None


def _without(text: str, markers: Mapping[str, str]) -> tuple[str, int]:
    """Replace texts that have colours in them, and tell in how many places.

    Args:
        text: Where they stand.
        markers: What stands for each, by the text without colours; an earlier one goes before a later one.
    """
    pieces: list[str] = []
    begins: list[tuple[int, int]] = []
    """Where each piece between colours begins: in the text without them, and in the text."""
    length = done = 0
    for match in _COLOUR.finditer(text):
        start, end = match.span()
        begins.append((length, done))
        pieces.append(text[done:start])
        length, done = length + start - done, end
    begins.append((length, done))
    plain = "".join([*pieces, text[done:]])

    def place(at: int) -> int:
        in_plain, in_text = begins[bisect_right(begins, at, key=lambda one: one[0]) - 1]
        return in_text + at - in_plain

    places: dict[int, tuple[int, str]] = {}
    for secret, marker in markers.items():
        at = plain.find(secret)
        while at >= 0:
            end = at + len(secret)
            if not any(start < end and at < last for start, (last, _) in places.items()):
                places[at] = end, marker
            at = plain.find(secret, end)
    for start, (end, marker) in sorted(places.items(), reverse=True):
        text = text[: place(start)] + marker + text[place(end - 1) + 1 :]
    return text, len(places)


class MaskedStream:
    """One text on its way. A line goes on when it is whole, a private key block when it has ended."""

    def __init__(self, masking: Masking) -> None:
        self._masking = masking
        self._line = ""
        self._block: list[str] = []
        """The lines of a private key block so far."""
        self._length = 0
        """Characters of them."""
        self._is_open = False
        """Whether it goes on."""

    def feed(self, text: str) -> str:
        """Take a piece; gives what can go on."""
        text, self._line = self._line + text, ""
        end = max(text.rfind("\n"), text.rfind("\r")) + 1
        whole, rest = text[:end], text[end:]
        given = self._whole(whole)
        while len(rest) > MOST_HELD:
            cut = self._cut(rest)
            given += self._unit(rest[:cut])
            rest = rest[cut:]
        self._line = rest
        return given

    def end(self) -> str:
        """What is left when nothing more comes."""
        rest, self._line = self._held() + self._line, ""
        return self._masking.masked(rest).text

    def _whole(self, lines: str) -> str:
        is_plain = not self._block and "PRIVATE KEY" not in lines
        if is_plain and (len(lines) <= MOST_HELD or max(map(len, lines.split("\n"))) < MOST_HELD):
            return self._masking.masked_lines(lines)
        given: list[str] = []
        for line in _lines(lines):
            rest = line
            while len(rest) > MOST_HELD:
                cut = self._cut(rest)
                given.append(self._unit(rest[:cut]))
                rest = rest[cut:]
            given.append(self._unit(rest))
        return "".join(given)

    def _unit(self, text: str) -> str:
        if self._block or "PRIVATE KEY" in text:
            self._block.append(text)
            self._length += len(text)
            self._is_open = is_block_open(text, self._is_open)
            if self._is_open and self._length <= LONGEST_BLOCK:
                return ""
            text = self._held()
        return self._masking.masked(text).text

    def _held(self) -> str:
        text = "".join(self._block)
        self._block, self._length, self._is_open = [], 0, False
        return text

    def _cut(self, line: str) -> int:
        head = line[:MOST_HELD]
        last = max(head.rfind(" ", MOST_HELD - _BACK), head.rfind("\t", MOST_HELD - _BACK)) + 1
        return self._masking.cut_before(head, last or MOST_HELD - _BACK)


def _lines(text: str) -> Iterator[str]:
    """The lines of a text that ends with one: each with its end, a line feed or a carriage return."""
    *lines, rest = text.split("\n")
    for line in lines:
        *parts, last = line.split("\r")
        yield from (f"{part}\r" for part in parts)
        yield f"{last}\n"
    yield from (f"{part}\r" for part in rest.split("\r")[:-1])
