"""Reads the options of a program by a table: an option that is not in it is not known to be harmless."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from outrider.permissions.shell.model import Word, no_words

Operands = Literal["paths", "pattern", "texts", "none"]
"""What stands after the options: paths; a pattern, then paths; texts that name no file; nothing."""


_MANY: Final = 10_000
_KEY_OF_GLOB: Final = re.compile(r"--([a-z-]+)=[\w./*?-]*")


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
    """Letters with a value, in the same word or the next one."""
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
    most: int = _MANY
    """Operands that it takes."""
    optional: str = ""
    """Letters whose value, where there is one, is in the same word."""


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
    may_take = False
    while rest:
        word = rest.pop(0)
        text = word.text
        if taken.operands and options.most < _MANY and (word.may_be_option or word.handed) and text != "-":
            # Not every program looks for options behind the first operand.
            return f"{word.source} may be a file that is written"
        if text == "--":
            # Another version of the program may take this for the value of what stands before it.
            odd = next((one for one in rest if one.may_be_option and not one.is_glob), None)
            if may_take and odd is not None:
                return f"{odd.source} may be an option"
            taken.early = len(taken.operands)
            taken.operands += rest
            break
        if text is None:
            if (
                word.is_glob or word.handed
            ):  # whoever looks the files up sees whether one is called like an option
                taken.operands.append(word)
                continue
            if (
                (key := _KEY_OF_GLOB.fullmatch(word.source))
                and key[1] in options.long_valued
                and f"--{key[1]}" not in options.paths
            ):
                continue  # whatever it stands for is a value of that option
            if word.may_be_option or word.prefix.startswith("-") or not word.is_one:
                return f"{word.source} may be an option"
            taken.operands.append(word)
        elif text == "-" or not text.startswith("-"):
            taken.operands.append(word)
        elif problem := _option(options, text, rest, taken):
            return problem
        may_take = text is not None and text.startswith("--") and "=" not in text
    return _told(options, taken)


def _option(options: Options, text: str, rest: list[Word], taken: _Taken) -> str | None:
    if options.single_dash or text.startswith("--"):
        key, equals, value = text.partition("=")
        name = key.lstrip("-")
        taken.keys.add(key)
        if equals and options.single_dash:
            return f"{text} is not known to only read"
        if name in options.long_valued:
            if not equals and (problem := _no_value(options, key, rest)):
                return problem
            _value(options, key, Word(text, value) if equals else _next(rest, taken), taken)
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
            if not value and (problem := _no_value(options, f"-{letter}", rest)):
                return problem
            _value(options, f"-{letter}", Word(text, value) if value else _next(rest, taken), taken)
            return None
        if letter in options.optional:
            return None
        if letter not in options.short:
            return f"{text} is not known to only read"
    return None


def _no_value(options: Options, key: str, rest: Sequence[Word]) -> str | None:
    """Why the next word is not believed to be the value of an option, None if it is.

    One that looks like an option is one to a program that takes no value there; only a number and a pattern may.
    """
    if not rest:
        return f"{key} lacks a value"
    text = rest[0].text
    if rest[0].is_one and (text is None or not re.fullmatch(r"-.*\D.*|--", text, re.DOTALL)):
        return None
    return None if rest[0].is_one and key in options.patterns else f"{rest[0].source} may be an option"


def _next(rest: list[Word], taken: _Taken) -> Word:
    """The next word as a value; behind an operand it is another operand to programs that see no options there."""
    word = rest.pop(0)
    if taken.operands:
        taken.paths.append(word)
    return word


def _value(options: Options, key: str, value: Word, taken: _Taken) -> None:
    if key in options.paths:
        taken.paths.append(value)
    taken.has_pattern = taken.has_pattern or key in options.patterns


def _told(options: Options, taken: _Taken) -> Reads | str:
    operands, early = taken.operands, taken.operands[: taken.early]
    last = operands[options.most :] or [
        word for word in operands if (word.is_glob or word.handed) and options.most < _MANY
    ]
    if last:
        return f"{last[0].source} may be a file that is written"
    match options.operands:
        case "none" if operands:
            return f"{operands[0].source} is not known to only read"
        case "none" | "texts":
            operands = [
                word for word in operands if word.is_glob or word.handed
            ]  # names of files, wherever they lie
        case "pattern" if not taken.has_pattern:
            first = [
                word for word in operands[:1] if word.is_glob or word.handed
            ]  # it may be files, options among them
            operands, early = operands[1:], early[1:]
            taken.paths += first
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
