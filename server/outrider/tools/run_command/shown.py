"""How a command line is put before the user: in one line that says what will happen, and as text that imitates nothing.

The command comes from the model, and may be made to hide what it does: behind blanks, empty lines or long words, by
lines that read like Outrider's own, or with letters of another alphabet. The full text stays in the approval's title
and in its document.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

from outrider.permissions.policy.commands import Command, Part
from outrider.ports.text import spelled_out

MARGIN: Final = "│ "
"""What stands before each line of a command, so that none of them reads like a line about it."""
_LINE: Final = 72
"""Characters of a command in one line."""
_WORD: Final = 48
"""Characters of a word beyond which its middle is left out."""
_WIDTH: Final = 200
_BLANKS: Final = 8
"""Blanks in a row that are shown as they are."""
_HEAD, _TAIL = 12, 4
"""Lines at the beginning and at the end of a command that are shown."""
_NAMES: Final = 4
_LIKE_LATIN: Final = frozenset(
    {"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "FULLWIDTH", "MATHEMATICAL"}
)
"""Alphabets with letters that look like Latin ones, as names of characters begin. Source: Unicode UTS #39, confusables."""
_MARKS: Final = {"allow": "goes", "ask": "asks", "deny": "is forbidden"}
_ORDER: Final = ("deny", "ask", "allow")


def summary(
    command: str, where: str, confinement: str, *, background: bool = False, is_check: bool = False
) -> str:
    """One line that says what will happen.

    Args:
        command: The command.
        where: The folder, such as `the workspace`.
        confinement: What holds it, such as `sandboxed, without network`.
        background: Whether it runs as a job.
        is_check: Whether it is a check of the task, which no model asked for.
    """
    what = "the task's check " if is_check else ""
    does = "Start" if background else "Run"
    job = " as a background job" if background else ""
    return f"{does} {what}`{in_one_line(command)}`{job} in {where}, {confinement}."


def is_whole_in_one_line(command: str) -> bool:
    """Whether the one line shows the command as it is."""
    return in_one_line(command) == command


def in_one_line(command: str) -> str:
    """A command as part of a sentence, between backquotes: it has none itself."""
    lines = [line for line in _plain(command).splitlines() if line.strip()]
    words = [
        [_shortened(word, _WORD // 2) if len(word) > _WORD else word for word in line.split()]
        for line in lines
    ]
    text = " ⏎ ".join(" ".join(line) for line in words).replace("`", "'")
    return text if len(text) <= _LINE else f"{text[: _LINE - 1]}…"


def folded(command: str) -> str:
    """A command over several lines, each behind a margin; what is only long, empty or blank is counted instead of shown."""
    lines: list[str] = []
    for is_blank, group in groupby(_plain(command).splitlines(), lambda line: not line.strip()):
        run = list(group)
        lines += [f"[{len(run)} blank lines]"] if is_blank and len(run) > 1 else map(_folded_line, run)
    if len(lines) > _HEAD + _TAIL + 1:
        left_out = len(lines) - _HEAD - _TAIL
        lines = [*lines[:_HEAD], f"[{left_out} more lines]", *lines[-_TAIL:]]
    return "\n".join(f"{MARGIN}{line}".rstrip() for line in lines)


def explained(command: Command, parts: Sequence[Part]) -> str:
    """Why a command asks, in one sentence; below it what decides about its parts, where that differs, and its scripts."""
    lines: list[str] = []
    if command.line.problems:
        lines.append(f"It is not certain what it runs: {_sentence('; '.join(command.line.problems))}.")
    groups: dict[tuple[str, str], list[Part]] = {}
    reading = [why is None for why in command.reads]
    # What only reads comes last among those that ask: it is not why the user should look.
    for part, _ in sorted(
        zip(parts, reading, strict=True), key=lambda one: (_ORDER.index(one[0].decision), one[1])
    ):
        groups.setdefault((part.decision, _sentence(part.reason)), []).append(part)
    asking = [(reason, of) for (decision, reason), of in groups.items() if decision != "allow"]
    if asking:
        reason, of = asking[0]
        others = len(parts) - len(of)
        subject = (
            f"Because of {_names(of)} it asks"
            if others
            else "It asks"
            if len(of) == 1
            else f"All {len(of)} parts ask"
        )
        lines.append(f"{subject}: {reason}.")
    if len(groups) > 1:
        lines.append("Part by part:")
        lines += [
            f"- {_names(of)}: {_MARKS[decision]}, {reason}" for (decision, reason), of in groups.items()
        ]
    lines += [
        f"It runs {path} as it is now (SHA-256 {digest[:16]})." for path, digest in command.scripts.items()
    ]
    return "\n".join(lines)


def _names(parts: Iterable[Part]) -> str:
    names = list(dict.fromkeys(map(_name, parts)))
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return f"{', '.join(names[:_NAMES])}{more}"


def _name(part: Part) -> str:
    through = f" (through {', '.join(part.program.through)})" if part.program.through else ""
    shown = " ".join(word.source for word in part.program.argv) or part.program.source
    return f"`{in_one_line(shown)}`{through}"


def _folded_line(line: str) -> str:
    pieces: list[str] = []
    for is_blank, group in groupby(line, str.isspace):
        run = "".join(group)
        if is_blank:
            pieces.append(run if len(run) <= _BLANKS else f" [{len(run)} blanks] ")
        else:
            pieces.append(run if len(run) <= _WORD else _shortened(run, _WORD // 2))
    return _shortened(text, _WIDTH // 2) if len(text := "".join(pieces).rstrip()) > _WIDTH else text


def _sentence(text: str) -> str:
    """A reason, which may quote the command."""
    return _with_short_words(_plain(text))


def _with_short_words(text: str) -> str:
    return " ".join(_shortened(word, _WORD // 2) if len(word) > _WORD else word for word in text.split())


def _shortened(text: str, each: int) -> str:
    return f"{text[:each]}[{len(text) - 2 * each} characters]{text[-each:]}"


def _plain(command: str) -> str:
    """A command in which nothing hides: also no letter that only looks like one of the Latin alphabet."""
    text = spelled_out(command)
    if text.isascii():
        return text
    words = ("".join(group) for _, group in groupby(text, str.isspace))
    return "".join(map(_without_look_alikes, words))


def _without_look_alikes(word: str) -> str:
    # A word of one alphabet deceives nobody; beside Latin letters, one of another alphabet can be meant to.
    if word.isascii() or not any(letter.isascii() and letter.isalpha() for letter in word):
        return word
    return "".join(
        letter.encode("unicode_escape").decode("ascii") if _looks_latin(letter) else letter for letter in word
    )


def _looks_latin(letter: str) -> bool:
    return not letter.isascii() and unicodedata.name(letter, "").partition(" ")[0] in _LIKE_LATIN
