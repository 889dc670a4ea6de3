r"""Globs as programs know them, made into patterns that match in linear time, whoever wrote them.

Three dialects: names as in a shell (`name_glob`), paths with `**` as in rules (`path_glob`), and the lines of a
`.gitignore` (`IgnoreRules`).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Final, Literal

from outrider.ports.patterns import Pattern, built, escaped, linear

MOST_LINES: Final = 10_000
"""Rules of one ignore file."""
_TOGETHER: Final = 100
"""Rules that are looked for in one pass."""
_CHOICES: Final = linear("globs.choices", r"\{[^{}]*\}")


def name_pattern(glob: str) -> str:
    """The pattern of a glob of names in RE2's syntax: `*` and `?` stand for any signs, `[…]` and `[!…]` for one.

    As in the standard library's `fnmatch`, `*` goes over `/` too, and a `[` without its end is itself.
    """
    parts: list[str] = []
    at = 0
    while at < len(glob):
        sign = glob[at]
        at += 1
        if sign == "*":
            # Several in a row are one; each would cost the matcher a state.
            if not parts or parts[-1] != ".*":
                parts.append(".*")
        elif sign == "?":
            parts.append(".")
        elif sign == "[" and (end := _class_end(glob, at)) > 0:
            parts.append(_class(glob[at:end]))
            at = end + 1
        else:
            parts.append(escaped(sign))
    return f"(?s:{''.join(parts)})"


def name_glob(*globs: str) -> Pattern:
    """A pattern whose `fullmatch` takes what any of the globs of names takes.

    Raises:
        PatternError: A glob is too long.
    """
    return built("|".join(map(name_pattern, globs)))


def path_glob(glob: str, *, ignore_case: bool = False) -> Pattern:
    """A pattern whose `fullmatch` takes the paths of a rule's glob: `*` and `?` stay within a name, `**` goes over folders.

    Raises:
        PatternError: The glob is too long.
    """
    parts: list[str] = []
    at = 0
    while at < len(glob):
        if glob.startswith("**/", at):
            parts.append("(?:.*/)?")
            at += 3
        elif glob.startswith("**", at):
            parts.append(".*")
            at += 2
        else:
            sign = glob[at]
            parts.append("[^/]*" if sign == "*" else "[^/]" if sign == "?" else escaped(sign))
            at += 1
    return built(f"(?s{'i' if ignore_case else ''}){''.join(parts)}")


def without_braces(glob: str) -> Iterator[str]:
    """A glob for each choice that it leaves in braces, in order; there may be very many."""
    waiting = [glob]
    while waiting:
        one = waiting.pop()
        found = _CHOICES.search(one)
        if found is None:
            yield one
            continue
        choices = reversed(one[found.start() + 1 : found.end() - 1].split(","))
        waiting += [one[: found.start()] + choice + one[found.end() :] for choice in choices]


def prepare() -> None:
    """Load the library that reads ignore rules, in a thread, instead of with the first of them."""
    import_module("pathspec.patterns.gitignore.spec")


class IgnoreRules:
    """The lines of a `.gitignore`, as git reads them. The last rule that fits a path decides."""

    def __init__(self, lines: Iterable[str]) -> None:
        """Read the lines.

        Raises:
            ValueError: A line is no rule, or there are more than `MOST_LINES`.
        """
        rules = list(_rules(lines))
        if len(rules) > MOST_LINES:
            raise ValueError(f"there are more than {MOST_LINES} rules")
        self._groups: list[tuple[Pattern, Sequence[_Rule]]] = []
        for start in range(0, len(rules), _TOGETHER):
            group = rules[start : start + _TOGETHER]
            # Most paths fit none: they are looked at once for the whole group.
            any_of_them = built("|".join(f"(?:{_without_name(rule.pattern.pattern)})" for rule in group))
            self._groups.append((any_of_them, group))
        self._groups.reverse()

    def matches(self, path: str) -> bool:
        """Whether a path, relative to the folder of the rules and with `/`, is ignored."""
        # A rule that fits the path itself decides; one that fits a folder above it does if no other one fits the path.
        by_folder: bool | None = None
        for any_of_them, group in self._groups:
            if any_of_them.search(path) is None:
                continue
            for rule in reversed(group):
                found = rule.pattern.search(path)
                if found is None:
                    continue
                if not (rule.has_mark and found[_MARK]):
                    return rule.ignores
                if by_folder is None:
                    by_folder = rule.ignores
        return bool(by_folder)


_MARK: Final = "ps_d"
"""The group that pathspec puts around a `/` below a folder that a rule names."""


_CLASSES: Final = {
    "[:alpha:]": "a-zA-Z",
    "[:digit:]": "0-9",
    "[:alnum:]": "a-zA-Z0-9",
    "[:upper:]": "A-Z",
    "[:lower:]": "a-z",
    "[:xdigit:]": "0-9a-fA-F",
    "[:space:]": " \t\n\r\f\v",
    "[:blank:]": " \t",
}
"""Classes of POSIX, which git takes in brackets, as ranges."""


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: Pattern
    ignores: bool
    has_mark: bool


def _rules(lines: Iterable[str]) -> Iterator[_Rule]:
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    for written in lines:
        line = written
        for (
            name,
            signs,
        ) in _CLASSES.items():  # the library takes `[[:alpha:]]` for a class that ends with its first `]`
            line = line.replace(name, signs)
        # What a line means is the library's; it is matched by RE2, never by the library.
        expression, ignores = GitIgnoreSpecPattern.pattern_to_regex(line)
        if expression is None or ignores is None:
            continue
        yield _Rule(Pattern(f"(?s){expression}"), ignores, f"(?P<{_MARK}>" in expression)


def _without_name(expression: str) -> str:
    # A name of a group can be given once in a pattern.
    return expression.replace(f"(?P<{_MARK}>", "(?:")


def _class_end(glob: str, start: int) -> int:
    """Where the bracket ends that begins before `start`; -1 if it does not."""
    first = start + 1 if glob[start : start + 1] == "!" else start
    # A `]` that comes first is a sign like others.
    return glob.find("]", first + 1 if glob[first : first + 1] == "]" else first)


def _class(inside: str) -> str:
    """A class of RE2 for what is between brackets."""
    negated = inside.startswith("!")
    signs = inside[1:] if negated else inside
    parts: list[str] = []
    at = 0
    while at < len(signs):
        if signs[at + 1 : at + 2] == "-" and at + 2 < len(signs):
            low, high = signs[at], signs[at + 2]
            if low <= high:
                parts.append(f"{escaped(low)}-{escaped(high)}")
            at += 3
        else:
            parts.append(escaped(signs[at]))
            at += 1
    if not parts:
        return "." if negated else r"[^\x00-\x{10ffff}]"  # only ranges that are empty
    return f"[{'^' if negated else ''}{''.join(parts)}]"


Meaning = Literal["protected", "named", "free"]
"""What a command may do with a file: nothing, so that it is put back; change it, which its result names; change it like others."""


@dataclass(frozen=True, slots=True)
class OtherName:
    """A second path by which a program reaches a file or a folder of the workspace."""

    name: str
    """That path, relative to a workspace folder: what it means is what counts."""
    why: str
    """How a program gets from there to the file, as half a sentence."""
    below: bool = True
    """Whether it holds for all below a folder as well."""
