"""What must not leave the machine in an export: which stretches of a text they are, and what stands there instead.

It only decides, and knows no files and no environment: a caller says what is private here, and gives it texts.
A secret that is found in one text is taken out of all of them, wherever it stands, so that texts put together
from others stay equal to what they were put together from. Line breaks are never taken out: line numbers stay.
Lines that differ stay different, so that the hunks between two texts stay the hunks between what is left of them.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, cast, get_args, get_origin
from urllib.parse import quote

from outrider.permissions.secrets.secret_files import Setting, settings_in
from outrider.permissions.secrets.secret_forms import (
    CUT,
    SHORTEST_KEY,
    base64_forms,
    beginning_at_end,
    end_at_beginning,
    forms,
    is_cut_in,
)
from outrider.permissions.secrets.secret_shapes import LIKELY, Finding, Kind, credentials, findings
from outrider.ports.model import FailureKind, FinishReason, Role
from outrider.ports.patterns import WORD, Match, Subject, built, escaped, linear
from outrider.ports.secrets import MARKER
from outrider_protocol.commands import StatusResult
from outrider_protocol.events import EVENT_TYPES
from outrider_protocol.settings import Settings
from outrider_protocol.wire import Wire

_WORD = linear("secrets.word-of-the-wire", rf"[{WORD}]+")
_FREE = ("outrider", "main", "summary", "cancelled")
"""Words that stand where a model says only that it is a text."""
_SCHEMA = (
    "type", "properties", "required", "description", "default", "items", "enum",
    "object", "array", "string", "integer", "number", "boolean", "null",
)  # fmt: skip
"""JSON Schema, of which definitions of tools are made."""


@cache
def wire_words() -> frozenset[str]:
    """Values and keys of events and settings, as they are written."""
    found = {*_FREE, *_SCHEMA, *get_args(Role), *get_args(FinishReason), *get_args(FailureKind), *EVENT_TYPES}
    seen: set[type[Wire]] = set()
    for model in (*EVENT_TYPES.values(), Settings, StatusResult):
        found.update(_words_of(model, seen))
    return frozenset(found)


@cache
def parts_of_wire_words() -> frozenset[str]:
    """The words in them, without regard to case: `limits.steps` has two."""
    return frozenset(part.casefold() for word in wire_words() for part in _WORD.findall(word))


def _words_of(model: type[Wire], seen: set[type[Wire]]) -> Iterator[str]:
    if model in seen:
        return
    seen.add(model)
    for name, field in model.model_fields.items():
        yield field.serialization_alias or name
        yield from _words_in(field.annotation, seen)


def _words_in(annotation: Any, seen: set[type[Wire]]) -> Iterator[str]:
    if isinstance(annotation, type) and issubclass(annotation, Wire):
        yield from _words_of(annotation, seen)
    elif get_origin(annotation) is Literal:
        yield from (word for word in get_args(annotation) if isinstance(word, str))
    else:
        for part in get_args(annotation):
            yield from _words_in(part, seen)


LONGEST_COMMON = 3
"""Characters of a name that may be anybody's, or any word."""

HOME = "/home/user"
"""Stands for the home folder."""
WORKSPACE = "/workspace"
"""Stands for the workspace folder; with several it is followed by the folder's name."""

COMMON_NAME = linear(
    "secrets.common-name",
    r"(?i)admin|administrator|agent|build|builder|codespace|container|debian|default|demo|docker|fedora|guest|home|host"
    r"|localhost|local|main|model|name|node|nobody|path|person|root|runner|secret|server|session|system|test|tester"
    r"|text|tool|turn|ubuntu|user|username|vagrant|vscode|workspaces?",
)
"""Names of accounts and machines that are nobody's, and words that stand in every log."""

Removed = Kind | Literal["home folder", "workspace folder", "folder of the machine", "name"]

_MODEL_FILE = linear("secrets.model-file", r"(?:scripted|recorded):/")
"""The beginning of a reference to a model that is a file."""
_PATH = linear("secrets.path", r"[^\s\"'“”]*")
_MARKED = linear("secrets.marked", r"\[secret (\d{1,9})[\]. ]")
_JSON_STRING = linear("secrets.json-string", r'(?s)(?P<string>"(?:[^"\\]|\\.)*")(?P<colon>\s*:)?')


@dataclass(frozen=True, slots=True)
class Private:
    """What is private on this machine. Paths are absolute."""

    keys: frozenset[str] = frozenset()
    """Values of the environment's variables that hold keys."""
    homes: tuple[str, ...] = ()
    """The home folder, by every name it has."""
    folders: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The workspace folders: what each is called, and every path it has. No two are called the same."""
    machine: tuple[tuple[str, str], ...] = ()
    """Other folders of this machine: what stands for each, and its path."""
    user: str = ""
    host: str = ""


class Redaction:
    """One redaction of many texts, in two steps: `look` at all of them, then ask for each `text`."""

    def __init__(
        self,
        private: Private,
        tools: Iterable[str] = (),
        known: Callable[[str], str | None] = lambda _: None,
    ) -> None:
        """Begin with what is private.

        Args:
            private: What is private here.
            tools: The names of the tools that the session knows.
            known: The name that a secret has already in what is redacted, None where it has none.
        """
        self._known_before = known
        self._words = wire_words() | set(tools)
        """Texts that mean something to who reads a log; nothing in them is private."""
        self.removed: Counter[Removed] = Counter()
        """In how many places something was taken out, by its kind."""
        self._settings: list[Setting] = []
        self._known: dict[str, tuple[Kind, str]] = {}
        """Each secret: its kind and its marker."""
        self._numbers: dict[str, int] = {}
        """The number of each secret; lines of one secret share it."""
        self._count = 0
        self._lines: Counter[int] = Counter()
        """How many lines of a secret of several lines have a marker, by the secret's number."""
        self._everywhere: list[str] = []
        """Secrets to take out wherever they stand, the longest first."""
        self._chosen: dict[str, str] = {}
        """What stands for a stand-in that is in some text already."""
        self._places = _stand_ins_of_places(private)
        self._place = _any_place(self._places)
        self._names = {
            name: stand_in
            for name, stand_in in _stand_ins_of_names(private).items()
            if name not in self._words and name.casefold() not in parts_of_wire_words()
        }
        self._name = _any_name(self._names)
        self._keys = [
            Finding("key of the environment", tuple(lines), everywhere=True)
            for key in sorted(private.keys - self._words)
            if (lines := [line for line in key.splitlines() if len(line) >= SHORTEST_KEY])
        ]
        self._forms = {value: forms(value) for key in self._keys for value in key.values}
        """How else each value of the environment may be written, and what the marker says of it."""
        for key in private.keys:
            if first := next((line for line in key.splitlines() if line in self._forms), None):
                self._forms[first] |= dict.fromkeys(base64_forms(key), "in base64")

    def look_at_settings(self, texts: Iterable[str]) -> None:
        """Find the values in the texts of files that are called like those of secrets, before `look`."""
        self._settings = list(
            dict.fromkeys(setting for text in texts for setting in settings_in(whole_characters(text)))
        )

    def look(self, texts: Iterable[str]) -> None:
        """Find the secrets in all texts. The order decides on the numbers of the markers."""
        left = list(dict.fromkeys(map(whole_characters, texts)))
        # What reads like a stand-in already must not become equal to one.
        self._count = max((int(found[1]) for text in left for found in _MARKED.finditer(text)), default=0)
        self._choose_stand_ins(left)
        for setting in self._settings:
            self._learn_setting(setting)
        while left:
            for text in left:
                for finding in (*self._keys_in(text), *findings(text)):
                    self._learn(finding)
            for word in self._known_words(left):
                self._learn(Finding("token", (word,), everywhere=True))
            self._everywhere = sorted(set(self._everywhere), key=lambda secret: (-len(secret), secret))
            # What stands right beside a secret may be one only when that is gone.
            left = [rest for text in left if (rest := self._without_secrets(text)) != text]
        self.removed.clear()

    def _known_words(self, texts: list[str]) -> Iterator[str]:
        """What the session took for a secret by what stood around it elsewhere, where only its placeholder is now."""
        runs = dict.fromkeys(run for text in texts for run in LIKELY.findall(text))
        for word in dict.fromkeys(one for run in runs for one in (run, run.partition("=")[2])):
            if len(word) >= SHORTEST_KEY and word not in self._known and self._known_before(word):
                yield word

    def text(self, text: str) -> str:
        """A text without what is private. Its lines stay its lines, and a word of the wire stays what it is."""
        if text in self._words:
            return text
        text = self._without_places_and_secrets(whole_characters(text))
        return text if self._name is None else self._name.replaced(text, self._name_for)

    def json_text(self, text: str) -> str:
        """A text that may be JSON, without what is private in its strings; valid JSON stays valid."""
        return self.text(text) if not is_json(text) else _JSON_STRING.sub(self._json_string, text)

    def value(self, value: Any, *, keys: bool = False) -> Any:
        """A JSON value without what is private in its strings; with `keys` also in the keys of its objects."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item, keys=keys) for item in cast("list[Any]", value)]
        if isinstance(value, dict):
            return {
                self._key(key) if keys else key: self.value(item, keys=keys)
                for key, item in cast("dict[str, Any]", value).items()
            }
        return value

    def _key(self, key: str) -> str:
        return key if key in self._words else self._without_places_and_secrets(key)

    def _choose_stand_ins(self, texts: list[str]) -> None:
        rest = (
            texts if self._place is None else [self._place.replaced(text, lambda _: "\0") for text in texts]
        )
        taken = {stand_in for _, stand_in in self._places.values()} | set(self._names.values())
        for stand_in in sorted(taken):
            chosen, number = stand_in, 1
            while (number > 1 and chosen in taken) or _stands_in(chosen, rest):
                number += 1
                chosen = f"{stand_in[:-1]}-{number}]" if stand_in.endswith("]") else f"{stand_in}-{number}"
            self._chosen[stand_in] = chosen
            taken.add(chosen)

    def _keys_in(self, text: str) -> list[Finding]:
        return [
            key
            for key in self._keys
            if any(
                form in text or is_cut_in(text, form)
                for value in key.values
                for form in (value, *self._forms[value])
            )
        ]

    def _learn_setting(self, setting: Setting) -> None:
        if _MARKED.search(setting.value):
            return
        self._learn(Finding("password", (setting.value,), everywhere=setting.counts_everywhere))
        if not setting.counts_everywhere:
            kind, marker = self._known[setting.value]
            behind_name = f"{setting.name}{setting.value}"
            self._known[behind_name] = (kind, f"{setting.name}{marker}")
            self._everywhere.append(behind_name)

    def _learn(self, finding: Finding) -> None:
        before = {value: name for value in finding.values if (name := self._known_before(value))}
        number = next((self._numbers[value] for value in finding.values if value in self._numbers), None)
        if number is None and before:
            number = int(next(iter(before.values())).partition(".")[0])
            self._lines[number] = max(int(name.partition(".")[2] or 0) for name in before.values())
        if number is None:
            self._count += 1
            number = self._count
        for value in finding.values:
            if value in self._known:
                continue
            marker = str(number)
            self._numbers[value] = number
            if value in before:
                marker = before[value]
            elif len(finding.values) > 1:
                self._lines[number] += 1
                marker = f"{number}.{self._lines[number]}"
            self._known[value] = (finding.kind, MARKER.format(marker))
            for form, label in self._forms.get(value, {}).items():
                self._known.setdefault(form, (finding.kind, MARKER.format(f"{marker} {label}")))
                self._everywhere.append(form)
        if finding.everywhere:
            self._everywhere += finding.values

    def _without_places_and_secrets(self, text: str) -> str:
        text = self._without_model_folders(self._without_secrets(text))
        return text if self._place is None else self._place.replaced(text, self._place_for)

    def _without_model_folders(self, text: str) -> str:
        """Take out the folders of models that are files."""
        pieces: list[str] = []
        done = 0
        for match in _MODEL_FILE.finditer(text):
            start, end = match.span()
            if start >= done and (name := _name_of_model_file(text, start, end)) >= 0:
                pieces.append(text[done : end - 1])
                done = name
                self.removed["folder of the machine"] += 1
        return "".join([*pieces, text[done:]]) if pieces else text

    def _without_secrets(self, text: str) -> str:
        for secret in self._everywhere:
            if secret in text:
                kind, marker = self._known[secret]
                self.removed[kind] += text.count(secret)
                text = text.replace(secret, marker)
        if "…" in text:
            text = self._without_cut_secrets(text)
        return self._without_credentials(text)

    def _without_cut_secrets(self, text: str) -> str:
        """Take out what is left of a secret where a text was cut."""
        parts = CUT.split(text)
        for index in range(0, len(parts), 2):
            for secret in self._everywhere:
                kind, marker = self._known[secret]
                part = parts[index]
                if index + 1 < len(parts) and (length := beginning_at_end(part, secret)):
                    part = part[:-length] + marker
                    self.removed[kind] += 1
                if index and (length := end_at_beginning(part, secret)):
                    part = marker + part[length:]
                    self.removed[kind] += 1
                parts[index] = part
        return "".join(parts)

    def _without_credentials(self, text: str) -> str:
        """Take out what is a secret only by what stands around it."""
        pieces: list[str] = []
        done = 0
        for finding in credentials(text):
            ((start, end),) = finding.spans
            if start < done:
                continue
            self._learn(finding)
            (value,) = finding.values
            kind, marker = self._known[value]
            self.removed[kind] += 1
            pieces += [text[done:start], marker]
            done = end
        return "".join([*pieces, text[done:]]) if pieces else text

    def _place_for(self, path: str) -> str:
        kind, stand_in = self._places[path]
        stand_in = self._chosen.get(stand_in, stand_in)
        if stand_in != path:
            self.removed[kind] += 1
        return stand_in

    def _name_for(self, name: str) -> str:
        self.removed["name"] += 1
        stand_in = self._names[name]
        return self._chosen.get(stand_in, stand_in)

    def _json_string(self, match: Match) -> str:
        string, colon = match.group("string"), match.group("colon") or ""
        plain: str = json.loads(string)
        redacted = self._key(plain) if colon else self.text(plain)
        if redacted == plain:
            return match.group()
        return json.dumps(redacted, ensure_ascii=string.isascii()) + colon


def is_json(text: str) -> bool:
    """Whether a text is JSON."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def json_strings(text: str) -> Iterator[str]:
    """The strings in a text that is JSON, keys too; the text itself where it is none."""
    if is_json(text):
        yield from (json.loads(match.group("string")) for match in _JSON_STRING.finditer(text))
    else:
        yield text


def whole_characters(text: str) -> str:
    """The text with halves of a character that stand side by side put together, as any file would give them back."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text


def _stand_ins_of_places(private: Private) -> dict[str, tuple[Removed, str]]:
    found: dict[str, tuple[Removed, str]] = {}
    for name, paths in private.folders:
        stand_in = WORKSPACE if len(private.folders) == 1 else f"{WORKSPACE}/{name}"
        found |= dict.fromkeys(_spellings(paths), ("workspace folder", stand_in))
    for path in _spellings(private.homes):
        found.setdefault(path, ("home folder", HOME))
    for stand_in, path in private.machine:
        for spelling in _spellings([path]):
            found.setdefault(spelling, ("folder of the machine", stand_in))
    return found


def _stands_in(stand_in: str, texts: Iterable[str]) -> bool:
    """Whether it stands in a text by itself."""
    return any(_stands_by_itself(stand_in, text) for text in texts)


def _stands_by_itself(stand_in: str, text: str) -> bool:
    start = text.find(stand_in)
    while start >= 0:
        behind = text[start + len(stand_in) :][:2].removeprefix("-")[:1]
        if stand_in.endswith("]") or not (_goes_on_before(text, start) or _is_word(behind)):
            return True
        start = text.find(stand_in, start + 1)
    return False


def _name_of_model_file(text: str, start: int, end: int) -> int:
    """Where the name of a file begins, in a reference to a model; -1 where there is none.

    Args:
        text: What the reference is in.
        start: Where that begins.
        end: Where its path begins, behind the first slash.
    """
    if start == 0 and "\n" not in text and not text.endswith("/"):
        return max(text.rfind("/") + 1, end)
    if _is_word(text[start - 1 : start]) and start:
        return -1
    path = _PATH.match(Subject(text), end)
    last = path.end() if path else end
    while (slash := text.rfind("/", end - 1, last)) >= 0:
        behind = text[slash + 1 : slash + 2]
        if behind and behind != "/" and not behind.isspace():
            return slash + 1
        last = slash
    return -1


def _spellings(paths: Iterable[str]) -> Iterator[str]:
    """Each path as it is, as it stands in a URI, and as it stands in JSON."""
    for path in paths:
        plain = path.rstrip("/")
        if plain:
            yield plain
            yield quote(plain, errors="surrogatepass")
            yield json.dumps(plain)[1:-1]


class _AnyOf:
    """Finds any of some texts in another one, the longest first, where what stands beside it lets it be one."""

    def __init__(self, texts: Iterable[str], is_one: Callable[[str, int, int], bool]) -> None:
        """Begin with what is looked for.

        Args:
            texts: It.
            is_one: Whether what stands in a text from one place to another is one; it looks at the neighbours.
        """
        self._texts = sorted(texts, key=lambda text: (-len(text), text))
        self._pattern = built("|".join(map(escaped, self._texts)))
        self._is_one = is_one

    def replaced(self, text: str, replacement: Callable[[str], str]) -> str:
        """A text with something else in place of each."""
        pieces: list[str] = []
        subject, at, done = Subject(text), 0, 0
        while match := self._pattern.search(subject, at):
            start = match.start()
            # A shorter one may be one where a longer one is not.
            found = next((one for one in self._texts if self._stands(one, text, start)), None)
            at = start + len(found or " ")
            if found is not None:
                pieces += [text[done:start], replacement(found)]
                done = at
        return "".join([*pieces, text[done:]]) if pieces else text

    def _stands(self, one: str, text: str, start: int) -> bool:
        return text.startswith(one, start) and self._is_one(text, start, start + len(one))


def _any_place(places: Mapping[str, object]) -> _AnyOf | None:
    def is_one(text: str, start: int, end: int) -> bool:
        # The folder /src is not meant in crates/src/lib.rs, and /root not in /rootfs.
        if text.count("/", start, end) > 1:
            return True
        behind = text[end : end + 1]
        return not (_goes_on_before(text, start) or _is_word(behind) or behind == "-")

    return _AnyOf(places, is_one) if places else None


def _stand_ins_of_names(private: Private) -> dict[str, str]:
    named = [(private.host, "[host]"), (private.host.partition(".")[0], "[host]"), (private.user, "[user]")]
    return {
        name: stand_in
        for name, stand_in in named
        if len(name) > LONGEST_COMMON and not COMMON_NAME.fullmatch(name) and not name.isdigit()
    }


def _any_name(names: Mapping[str, object]) -> _AnyOf | None:
    def is_one(text: str, start: int, end: int) -> bool:
        return not ((start and _is_word(text[start - 1])) or _is_word(text[end : end + 1]))

    return _AnyOf(names, is_one) if names else None


def _goes_on_before(text: str, start: int) -> bool:
    """Whether what stands at a place is a part of something longer that begins before."""
    before = text[start - 1] if start else ""
    return _is_word(before) or (before != "" and before in ".)]}-")


def _is_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"
