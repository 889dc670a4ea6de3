"""Texts that are hard for a pattern, made from the pattern itself, and how its time grows with them.

What makes a matcher slow is a piece that is repeated: the body of a repeat, or the beginning of a match that is never
finished. So each piece of the pattern is repeated, behind what leads to it and before something that does not fit.
"""

import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from re import _constants as c  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

_MISFITS = ("", "\x01\n")
_AS_RE = [
    (re.compile(r"\\z"), r"\\Z"),
    (re.compile(r"\\x\{([0-9a-fA-F]+)\}"), lambda m: f"\\U{int(m[1], 16):08x}"),
    (re.compile(r"\\[pP]\{\w+\}|\\[pP]\w"), "a"),
]


def hostile(pattern: str) -> Iterator[Callable[[int], str]]:
    """For each kind of text that may be hard for a pattern: what makes one of a given length."""
    for way, replacement in _AS_RE:
        pattern = way.sub(replacement, pattern)
    tree = parser.parse(pattern)
    whole = _sample(tree)
    pieces = {("", piece) for piece in _alphabet(tree)} | set(_pumps(tree, ""))
    pieces |= {("", whole[:length]) for length in {1, 2, 3, len(whole) // 2, len(whole) - 1, len(whole)}}
    for prefix, piece in sorted(pieces):
        if piece:
            for misfit in _MISFITS:
                yield (
                    lambda size, before=prefix, piece=piece, misfit=misfit: (
                        before + piece * (size // len(piece)) + misfit
                    )
                )


def _characters(items: list[Any]) -> list[str]:
    """A few characters that a class in brackets takes."""
    wanted: list[str] = []
    refused = set()
    negated = False
    for kind, value in items:
        if kind is c.NEGATE:
            negated = True
        elif kind is c.LITERAL:
            (refused.add if negated else wanted.append)(chr(value))
        elif kind is c.RANGE:
            if negated:
                refused |= set(map(chr, range(value[0], min(value[1], value[0] + 300) + 1)))
            else:
                wanted += [chr(value[0]), chr(value[1])]
        elif kind is c.CATEGORY:
            found = _CATEGORIES[value]
            if negated:
                refused |= {sign for sign in map(chr, range(256)) if sign in found}
            else:
                wanted += found[:3]
    return [sign for sign in "a b0-_/.,<[{(\"'\n" if sign not in refused][:4] if negated else wanted[:6]


_CATEGORIES = {
    c.CATEGORY_DIGIT: "01",
    c.CATEGORY_NOT_DIGIT: "a ",
    c.CATEGORY_SPACE: " \t\n",
    c.CATEGORY_NOT_SPACE: "a-",
    c.CATEGORY_WORD: "a0_",
    c.CATEGORY_NOT_WORD: " -",
}


def _children(kind: Any, value: Any) -> list[Any]:
    match kind:
        case c.SUBPATTERN:
            return [value[3]]
        case c.BRANCH:
            return list(value[1])
        case c.MAX_REPEAT | c.MIN_REPEAT | c.POSSESSIVE_REPEAT:
            return [value[2]]
        case c.ASSERT | c.ASSERT_NOT:
            return [value[1]]
        case c.ATOMIC_GROUP:
            return [value]
        case c.GROUPREF_EXISTS:
            return [one for one in value[1:] if one is not None]
        case _:
            return []


def _sample(tree: Any, choice: int = 0) -> str:
    """A short text that the pattern takes, as far as that is simple to know."""
    parts: list[str] = []
    for kind, value in tree:
        if kind is c.LITERAL:
            parts.append(chr(value))
        elif kind is c.NOT_LITERAL:
            parts.append("b" if value == ord("a") else "a")
        elif kind is c.ANY:
            parts.append("a")
        elif kind is c.IN:
            signs = _characters(value)
            parts.append(signs[choice % len(signs)] if signs else "a")
        elif kind is c.BRANCH:
            parts.append(_sample(value[1][choice % len(value[1])], choice))
        elif kind in {c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT}:
            least, most, body = value
            parts.append(_sample(body, choice) * min(max(least, 1), most, 200))
        elif kind in {c.SUBPATTERN, c.ATOMIC_GROUP}:
            parts += [_sample(child, choice) for child in _children(kind, value)]
    return "".join(parts)


def _alphabet(tree: Any) -> set[str]:
    found: set[str] = set()
    for kind, value in tree:
        if kind is c.LITERAL:
            found.add(chr(value))
        elif kind is c.IN:
            found |= set(_characters(value)[:3])
        for child in _children(kind, value):
            found |= _alphabet(child)
    return set(sorted(found)[:16])


def _pumps(tree: Any, before: str) -> Iterator[tuple[str, str]]:
    """Each body of a repeat, with a text that leads to it."""
    items = list(tree)
    for at, (kind, value) in enumerate(items):
        lead = before + _sample(items[:at])
        if kind in {c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT} and value[1] > 8:
            for choice in range(4):
                piece = _sample(value[2], choice)
                yield lead, piece
                yield "", lead + piece  # a beginning that is never finished, again and again
                yield lead, piece + _sample(items[at + 1 :], choice)
        for child in _children(kind, value):
            yield from _pumps(child, lead)


class TooSlowError(Exception):
    """The processor time that was given is used up."""


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    def stop(_number: int, _frame: object) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def processor_seconds(run: Callable[[str], object], text: str, limit: float) -> float:
    """What a run over a text costs in processor time; `limit` if it takes longer (`re` looks at signals as it goes)."""
    begun = time.process_time()
    with suppress(TooSlowError), _at_most(limit):
        run(text)
        return time.process_time() - begun
    return limit
