"""Reads the options of a program by a table: an option that is not in it is not known to be harmless."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from outrider.permissions.shell.model import Word, no_words

Operands = Literal["paths", "pattern", "texts", "none"]
"""What stands after the options: paths; a pattern, then paths; texts that name no file; nothing."""


class Reads(NamedTuple):
    """A program that only reads, and where; a tuple, because there are many of them."""

    paths: tuple[Word, ...] = ()
    """Arguments that name files, or may."""
    below: bool = False
    """Whether it shows the texts of all files below folders among them."""
    follows: bool = False
    """Whether it follows the links that it meets there."""
    hidden: bool = True
    """Whether files and folders whose names begin with a dot are among those."""
    tracked: bool = False
    """Whether it may show the texts of files that a repository tracks, named or not."""
    past: bool = False
    """Whether it shows such texts as earlier commits have them though none is named."""
    early: tuple[Word, ...] = ()
    """Operands that stand before `--`: those of git that may name commits."""
    late: tuple[Word, ...] | None = None
    """Those that stand behind it; None where there is none."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a program that leave it reading."""

    short: str = ""
    """Letters without a value."""
    valued: str = ""
    """Letters with a value."""
    long: frozenset[str] = frozenset()
    """Long ones, without the dashes; a value stands after `=`, or, for those in `long_valued`, may be the next word."""
    long_valued: frozenset[str] = frozenset()
    paths: frozenset[str] = frozenset()
    """Options, with their dashes, whose value is a path."""
    patterns: frozenset[str] = frozenset()
    """Options that take the place of the pattern."""
    operands: Operands = "paths"
    numbers: bool = False
    """Whether `-5` is an option."""
    single_dash: bool = False
    """Whether long options begin with one dash."""
    below: frozenset[str] = frozenset()
    """Options, with their dashes, with which it goes through folders; `*` says that it always does."""
    follows: bool = False
    """Whether it follows the links that it meets there."""
    hidden: frozenset[str] | None = None
    """Options with which it looks at hidden files; None: it always does."""
    most: int = 10_000
    """Operands that it takes."""


@dataclass(slots=True)
class _Taken:
    operands: list[Word] = field(default_factory=no_words)
    paths: list[Word] = field(default_factory=no_words)
    has_pattern: bool = False
    early: int | None = None
    """How many operands stand before `--`."""
    keys: set[str] = field(default_factory=set[str])


def read_options(options: Options, arguments: Sequence[Word]) -> Reads | str:
    """Where a program reads with these arguments; a text says why it is not known to only read."""
    taken = _Taken()
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        text = word.text
        if text == "--":
            taken.early = len(taken.operands)
            taken.operands += rest
            break
        if text is None:
            if word.is_glob:  # whoever looks the files up sees whether one is called like an option
                taken.operands.append(word)
                continue
            if word.may_be_option or word.prefix.startswith("-") or not word.is_one:
                return f"{word.source} may be an option"
            taken.operands.append(word)
        elif text == "-" or not text.startswith("-"):
            taken.operands.append(word)
        elif problem := _option(options, text, rest, taken):
            return problem
    return _told(options, taken)


def _option(options: Options, text: str, rest: list[Word], taken: _Taken) -> str | None:
    if options.single_dash or text.startswith("--"):
        key, equals, value = text.partition("=")
        name = key.lstrip("-")
        taken.keys.add(key)
        if name in options.long_valued:
            if not equals and (not rest or not rest[0].is_one):
                return f"{text} lacks a value" if not rest else f"{rest[0].source} may be an option"
            _value(options, key, Word(text, value) if equals else rest.pop(0), taken)
            return None
        if name not in options.long:
            return f"{text} is not known to only read"
        return None
    if options.numbers and text[1:].isdigit():
        return None
    letters = text[1:]
    for number, letter in enumerate(letters):
        taken.keys.add(f"-{letter}")
        if letter in options.valued:
            value = letters[number + 1 :]
            if not value and (not rest or not rest[0].is_one):
                return f"{text} lacks a value" if not rest else f"{rest[0].source} may be an option"
            _value(options, f"-{letter}", Word(text, value) if value else rest.pop(0), taken)
            return None
        if letter not in options.short:
            return f"{text} is not known to only read"
    return None


def _value(options: Options, key: str, value: Word, taken: _Taken) -> None:
    if key in options.paths:
        taken.paths.append(value)
    taken.has_pattern = taken.has_pattern or key in options.patterns


def _told(options: Options, taken: _Taken) -> Reads | str:
    operands, early = taken.operands, taken.operands[: taken.early]
    if len(operands) > options.most:
        return f"{operands[options.most].source} may be a file that is written"
    match options.operands:
        case "none" if operands:
            return f"{operands[0].source} is not known to only read"
        case "none" | "texts":
            operands = []
        case "pattern" if not taken.has_pattern:
            operands, early = operands[1:], early[1:]
        case _:
            pass
    below = "*" in options.below or not options.below.isdisjoint(taken.keys)
    if below and not operands:
        operands = [Word(".", ".")]
    hidden = options.hidden is None or not options.hidden.isdisjoint(taken.keys)
    return Reads(
        (*taken.paths, *(word for word in operands if word.text != "-")),
        below=below,
        follows=options.follows,
        hidden=hidden,
        early=tuple(early),
        late=None if taken.early is None else tuple(operands[len(early) :]),
    )


Check = Callable[[Sequence[Word]], Reads | str]
"""Looks at the arguments of a program that a table is not enough for."""


def names(text: str) -> frozenset[str]:
    """Names that stand in one text, with blanks between them."""
    return frozenset(text.split())


NO_OPTIONS: Final = Options()
