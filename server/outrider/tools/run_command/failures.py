r"""What the output of a failed check says is wrong, and where: files with lines. Pure.

The output is foreign text: nothing in it is believed but that a file of that name, with that line, may be worth a look. A form that
one line has is a row of `_ROWS`; what takes several lines (a traceback, a stack, a message above its place) is a step of `_Scan`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final, Literal

from outrider.ports.patterns import Match, linear
from outrider_protocol.events import CheckKind

MOST: Final = 100
"""Failures of one output."""
_MOST_LINES: Final = 20_000
_LONGEST_LINE: Final = 1_000
_MESSAGE: Final = 300
"""Characters of a message."""
_MOST_FRAMES: Final = 30

Weight = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a file, as it is written."""

    path: str
    line: int
    column: int | None = None
    within: str = ""
    """The package that the file lies in, as a path: then the name is all that is written."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What is wrong, and the places that it may be at, the likeliest first."""

    places: tuple[Place, ...]
    message: str
    weight: Weight = "error"


_PATH: Final = r"(?P<path>[^\s:()<>\"'|,;*]{1,300})"
_LINE: Final = r"(?P<line>[0-9]{1,7})"
_COLUMN: Final = r"(?P<column>[0-9]{1,6})"
_WORDS: Final = r"(?P<said>\S.*)"

_COLOUR: Final = linear("failures.colour", r"\x1b\[[0-9;:]*[A-Za-z]|\\x1b\[[0-9;:]*m")
_ROWS: Final = (
    # gcc, clang, go, mypy, ruff, flake8, pylint, rubocop, javac, shellcheck -f gcc; pyright and `tsc --pretty` with a dash.
    linear("failures.colon", rf"^\s*(?:\[ERROR\]\s+)?{_PATH}:{_LINE}(?::{_COLUMN})?(?::|\s+-)\s+{_WORDS}$"),
    # tsc, msbuild.
    linear("failures.bracket", rf"^\s*{_PATH}\({_LINE},{_COLUMN}\):\s+{_WORDS}$"),
    # maven.
    linear("failures.maven", rf"^\[(?:ERROR|WARNING)\]\s+{_PATH}:\[{_LINE},{_COLUMN}\]\s+{_WORDS}$"),
    # kotlinc by gradle.
    linear("failures.kotlin", rf"^[ew]:\s+(?:file://)?{_PATH}:{_LINE}:{_COLUMN}\s+{_WORDS}$"),
    # mix.
    linear("failures.mix", rf"^\*\* \(\w+\) {_PATH}:{_LINE}(?::{_COLUMN})?: {_WORDS}$"),
)
"""Forms of one line with the place and what is wrong there."""
_WEIGHT: Final = linear(
    "failures.weight",
    r"(?i)^(?:fatal )?(?P<weight>error|warning|note|info|information|hint|help|debug)\b|^\w*(?P<python>Warning): ",
)
_DROPPED: Final = frozenset({"note", "info", "information", "hint", "help", "debug"})
_ARROW: Final = linear("failures.arrow", rf"^\s*-->\s+{_PATH}:{_LINE}:{_COLUMN}\s*$")
"""rustc and ruff: what is wrong stands above."""
_HEAD: Final = linear("failures.head", rf"^(?P<weight>error|warning)(?:\[\w+\])?:\s+{_WORDS}$")
_PANIC: Final = linear("failures.panic", rf"panicked at (?:'(?P<said>[^']*)', )?{_PATH}:{_LINE}:{_COLUMN}:?$")
_FRAME: Final = linear("failures.python", rf"^\s*File \"(?P<path>[^\"]{{1,300}})\", line {_LINE}")
_RAISED: Final = linear(
    "failures.raised", r"^(?:\w+\.)*\w*(?:Error|Exception|Exit|Interrupt|Failure|Failed)(?::\s.*)?$"
)
_PYTEST_FRAME: Final = linear("failures.pytest", rf"^{_PATH}:{_LINE}: (?:in )(?P<said>\S.*)$")
_PYTEST_SAYS: Final = linear("failures.pytest-says", r"^E(?:\s{2,}(?P<said>\S.*)|\s*)$")
"""Only the first one of some lines says it; an empty one among them begins no others."""
_NAMES_ERROR: Final = linear("failures.error-name", r"^(?:\w+\.)*\w+$")
_STACK: Final = linear(
    "failures.stack", rf"^\s*(?:at |❯ )(?:[^()]*\()?(?:file://)?{_PATH}:{_LINE}:{_COLUMN}\)?$"
)
_JAVA: Final = linear(
    "failures.java",
    rf"^\s+at (?:\S+/)?(?P<within>[\w.$]{{1,300}})\((?P<path>\w+\.(?:java|kt|scala|groovy)):{_LINE}\)",
)
_STACK_SAYS: Final = linear(
    "failures.stack-says",
    r"^\s*(?:Uncaught |Caused by: |error: |Failure/Error: )?(?P<said>(?:[\w.]*(?:Error|Exception|Failure)\b|'Expected|expect\(|Failed asserting).*)$",
)
_TITLE: Final = linear(
    "failures.title", r"^\s*(?:●|✖|×|✕|not ok [0-9]+ -|Failure/Error:|[0-9]+\))\s+(?P<said>\S.*)$"
)
_ALONE: Final = linear(
    "failures.alone", rf"^\s*(?:# )?(?:location: ')?{_PATH}:{_LINE}(?::{_COLUMN}|:in\b.*)?'?$"
)
"""A place by itself: phpunit, mix, rspec, node."""
_BELOW: Final = linear("failures.below", rf"^.*\[{_PATH}:{_LINE}\]:$")
"""minitest: what is wrong stands below."""
_FILE: Final = linear("failures.file", r"^(?P<path>[^\s:()]{1,300}\.\w{1,12})$")
_UNDER_FILE: Final = linear(
    "failures.under-file", rf"^\s+{_LINE}:{_COLUMN}\s+(?P<weight>error|warning)\s+{_WORDS}$"
)
"""eslint and yamllint, below the name of the file."""
_SHELLCHECK: Final = linear("failures.shellcheck", rf"^In (?P<path>.{{1,300}}) line {_LINE}:$")
_SHELLCHECK_SAYS: Final = linear(
    "failures.shellcheck-says", r"(?P<said>SC[0-9]{4} \((?P<weight>\w+)\): \S.*)$"
)
_PHPSTAN_FILE: Final = linear("failures.phpstan-file", r"^\s*Line\s+(?P<path>\S+\.php)\s*$")
_PHPSTAN: Final = linear("failures.phpstan", rf"^\s{{1,8}}{_LINE}\s{{2,6}}{_WORDS}$")
_GO_PACKAGE: Final = linear("failures.go-package", r"^FAIL\t(?P<within>[^\s]{1,300})")
_SAYS_BELOW: Final = ("Failure", "FAILED:", "FAILED")
"""GoogleTest and Catch2: what is wrong stands below."""


def failures_in(output: str, kind: CheckKind) -> list[Failure]:
    """The failures that an output names with a file and a line, in order, each once.

    Args:
        output: What a check printed.
        kind: What it checks: warnings of tests are no failures.
    """
    scan = _Scan(drops_warnings=kind == "test")
    for line in islice(output.splitlines(), _MOST_LINES):
        scan.take(_COLOUR.sub("", line[:_LONGEST_LINE]).rstrip())
        if len(scan.found) >= MOST:
            break
    scan.end()
    return list(dict.fromkeys(scan.found))[:MOST]


@dataclass(slots=True)
class _Scan:
    """Goes through an output line by line."""

    drops_warnings: bool
    found: list[Failure] = field(default_factory=list[Failure])
    _frames: list[Place] = field(default_factory=list[Place])
    """Of a traceback of Python: the innermost comes last."""
    _stack: list[Place] = field(default_factory=list[Place])
    """Of JavaScript or Java: the innermost comes first."""
    _said: str = ""
    """What a line before said is wrong, for a place that comes."""
    _weight: Weight = "error"
    _says: bool = False
    """Whether the line before was one of pytest that says so."""
    _before: str = ""
    """The line before that had something in it."""
    _waits: Failure | None = None
    """Has no message yet: that of the next line is its."""
    _file: str = ""
    """The file that lines with a place and no path are about."""
    _bare: list[int] = field(default_factory=list[int])
    """Numbers of those that only have a file's name, of a package of Go that is named later."""

    def take(self, line: str) -> None:
        """Look at the next line."""
        if not line.strip():
            self._flush()
            self._file = ""
            return
        if self._waits is not None:
            waits, self._waits = self._waits, None
            self._add(replace(waits, message=line))
        if not self._in_stack(line):
            self._flush()
            any(step(self, line) for step in _STEPS)
        self._says = _PYTEST_SAYS.match(line) is not None
        self._before = line.strip()

    def end(self) -> None:
        """There is no further line."""
        self._flush()

    def _add(self, failure: Failure) -> None:
        if not (failure.weight == "warning" and self.drops_warnings) and failure.places:
            self.found.append(replace(failure, message=_shortened(failure.message)))

    def _flush(self) -> None:
        if self._stack:
            places, self._stack = tuple(self._stack), []
            self._add(Failure(places, self._said or self._before))
            self._said = ""

    def _in_stack(self, line: str) -> bool:
        if found := _STACK.match(line):
            place = _place(found)
        elif found := _JAVA.match(line):
            package = found["within"].split(".")[:-2]
            place = replace(_place(found), within="/".join(package) or ".")
        else:
            return False
        if len(self._stack) < _MOST_FRAMES:
            self._stack.append(place)
        return True

    # Each step says whether the line was one of its.

    def of_python(self, line: str) -> bool:
        """A traceback, as Python and pytest write it."""
        if found := _FRAME.match(line) or _PYTEST_FRAME.match(line):
            self._frames = [*self._frames[-_MOST_FRAMES:], _place(found)]
            return True
        if found := _PYTEST_SAYS.match(line):
            said = found["said"] or ""
            if said and not self._says and self._frames:
                self._end_traceback(said)
            elif said and not self._says:
                self._said = said
            return True
        if self._frames and _RAISED.match(line):
            self._end_traceback(line)
            return True
        return False

    def _end_traceback(self, said: str) -> None:
        self._add(Failure(tuple(reversed(self._frames)), said))
        self._frames, self._said = [], ""

    def of_rust(self, line: str) -> bool:
        """What is wrong, and an arrow to the place below it."""
        if found := _ARROW.match(line):
            self._add(Failure((_place(found),), self._said or self._before, self._weight))
            self._said, self._weight = "", "error"
            return True
        if found := _HEAD.match(line):
            self._said, self._weight = found["said"], "warning" if found["weight"] == "warning" else "error"
            return True
        if found := _PANIC.search(line):
            panic = Failure((_place(found),), found["said"] or "")
            if panic.message:
                self._add(panic)
            else:
                self._waits = panic
            return True
        return False

    def of_list(self, line: str) -> bool:
        """Lines below the name of their file."""
        if found := _UNDER_FILE.match(line) if self._file else None:
            self._add(
                Failure(
                    (replace(_place(found), path=self._file),), found["said"], _weight_of(found["weight"])
                )
            )
        elif found := _SHELLCHECK.match(line):
            self._file, self._said = found["path"], found["line"]
        elif (found := _SHELLCHECK_SAYS.search(line)) and self._file and self._said.isdigit():
            weight: Weight = "error" if found["weight"] == "error" else "warning"
            self._add(Failure((Place(self._file, int(self._said)),), found["said"], weight))
        elif found := _PHPSTAN_FILE.match(line):
            self._file = found["path"]
        elif found := _PHPSTAN.match(line) if self._file.endswith(".php") else None:
            self._add(Failure((replace(_place(found), path=self._file),), found["said"]))
        elif found := _FILE.match(line):
            self._file = found["path"]
        else:
            return False
        return True

    def of_one_line(self, line: str) -> bool:
        """A place and what is wrong there."""
        found = next(filter(None, (row.match(line) for row in _ROWS)), None)
        if found is None:
            return False
        said, place = found["said"], _place(found)
        if said in _SAYS_BELOW:
            self._waits = Failure((place,), "")
            return True
        heavy = _WEIGHT.match(said)
        word = (heavy["weight"] or heavy["python"]).lower() if heavy else "error"
        if word in _DROPPED:
            return True
        if self._said and _NAMES_ERROR.match(said):  # pytest: `tests/test_a.py:3: AssertionError`
            said, self._said = self._said, ""
        if "/" not in place.path.removeprefix("./") and place.path.endswith(".go"):
            self._bare.append(len(self.found))
        self._add(Failure((place,), said, _weight_of(word)))
        return True

    def of_go(self, line: str) -> bool:
        """The package whose files the lines before were about."""
        if (found := _GO_PACKAGE.match(line)) is None:
            return False
        for number in self._bare:
            if number < len(self.found):
                one = self.found[number]
                places = tuple(replace(place, within=found["within"]) for place in one.places)
                self.found[number] = replace(one, places=(*one.places, *places))
        self._bare = []
        return True

    def of_place_alone(self, line: str) -> bool:
        """A place below or above what is wrong there."""
        if found := _BELOW.match(line):
            self._waits = Failure((_place(found),), "")
        elif found := _ALONE.match(line):
            self._add(Failure((_place(found),), self._said or self._before))
            self._said = ""
        else:
            return False
        return True

    def of_title(self, line: str) -> bool:
        """What is wrong, for a stack that comes."""
        if (found := _STACK_SAYS.match(line)) or (found := _TITLE.match(line)):
            self._said = found["said"]
        else:
            return False
        return True


_STEPS: Final[Sequence[Callable[[_Scan, str], bool]]] = (
    _Scan.of_python,
    _Scan.of_rust,
    _Scan.of_one_line,
    _Scan.of_go,
    _Scan.of_list,
    _Scan.of_place_alone,
    _Scan.of_title,
)
"""What a line may be, in the order in which it is tried."""


def _place(found: Match) -> Place:
    given: Mapping[str, str | None] = found.groupdict()
    column = given.get("column")
    return Place(given.get("path") or "", int(given.get("line") or 1), int(column) if column else None)


def _weight_of(word: str) -> Weight:
    return "warning" if word == "warning" else "error"


def _shortened(message: str) -> str:
    line = " ".join(message.split())
    return line if len(line) <= _MESSAGE else f"{line[: _MESSAGE - 1]}…"


def spellings(place: Place) -> Iterator[str]:
    """The paths that a place may mean, relative to the folder of the command, the likeliest first."""
    yield place.path
    if not place.within:
        return
    if place.path.endswith(".go"):  # below the module's own name, of which nobody knows how long it is
        parts = place.within.split("/")
        yield from ("/".join([*parts[start:], place.path]) for start in range(1, len(parts)))
        return
    language = place.path.rpartition(".")[2].replace("kt", "kotlin")
    for root in ("src/test", "src/main", "app/src/test", "app/src/main"):
        for folder in {language: None, "java": None}:
            yield f"{root}/{folder}/{place.within}/{place.path}"
    yield f"{place.within}/{place.path}"
