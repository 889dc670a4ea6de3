"""A command line, looked up in the workspace: where its parts read, and which scripts of the workspace it runs."""

import glob
import hashlib
from itertools import islice
from pathlib import Path
from typing import Final

from outrider.permissions.commands import Command, Part
from outrider.permissions.programs.patterns import runs_scripts
from outrider.permissions.programs.readers import only_reads
from outrider.permissions.rules import RUN
from outrider.permissions.secret_files import is_secret_file
from outrider.permissions.shell.model import Program, Word
from outrider.permissions.shell.reading import read_command
from outrider.workspace.paths import Folders, PathProblem
from outrider_protocol.events import RulePattern

MOST_MATCHES: Final = 2000
"""Files that one pattern may stand for."""
SCRIPT_BYTES: Final = 5_000_000
_SHOWN: Final = 200
"""Characters of a part that an approval shows."""


def look_at(text: str, folders: Folders, cwd: Path) -> Command:
    """Take a command line apart, and look its paths up. Blocks; nothing runs.

    Args:
        text: The command line.
        folders: The workspace folders.
        cwd: Where it would run.
    """
    line = read_command(text)
    base = cwd / line.folder if line.folder else cwd
    reads: list[str | None] = []
    scripts: dict[str, str] = {}
    for number, program in enumerate(line.programs):
        at = cwd if number == 0 else base
        reads.append(_why_not(program, folders, at))
        if (word := runs_scripts(program)) is not None:
            scripts |= _hashed(word, folders, at)
    return Command(line, reads, scripts)


def _why_not(program: Program, folders: Folders, base: Path) -> str | None:
    reads = only_reads(program)
    if isinstance(reads, str):
        return reads
    for word in reads.paths:
        if problem := _outside(word, folders, base):
            return problem
    return None


def _outside(word: Word, folders: Folders, base: Path) -> str | None:
    if word.text is not None:
        return _outside_path(word.text, folders, base)
    if not word.is_glob or ".." in word.source or word.source.startswith("/"):
        return f"where {word.source} lies is not known"
    matches = list(islice(glob.iglob(word.source, root_dir=base), MOST_MATCHES + 1))  # noqa: PTH207 - matches as bash does
    if len(matches) > MOST_MATCHES:
        return f"{word.source} stands for too many files"
    if any(match.startswith("-") for match in matches):
        return f"{word.source} stands for a file that is called like an option"
    return next((problem for match in matches if (problem := _outside_path(match, folders, base))), None)


def _outside_path(text: str, folders: Folders, base: Path) -> str | None:
    located = folders.locate_now(str(base / text))
    if isinstance(located, PathProblem):
        return located.message
    if not located.inside or located.own:
        return f"{text} is outside the workspace"
    if located.resolved is not None and (is_secret_file(str(located.resolved)) or is_secret_file(text)):
        return f"{text} may hold keys"
    return None


def _hashed(word: Word, folders: Folders, base: Path) -> dict[str, str]:
    if word.text is None:
        return {}
    located = folders.locate_now(str(base / word.text))
    if isinstance(located, PathProblem) or not located.inside or located.resolved is None:
        return {}
    try:
        if not located.resolved.is_file() or located.resolved.stat().st_size > SCRIPT_BYTES:
            return {}
        return {located.display: hashlib.sha256(located.resolved.read_bytes()).hexdigest()}
    except OSError:
        return {}


def rules_for(command: Command) -> tuple[RulePattern, ...]:
    """The rules that would allow a command from now on; empty where none can."""
    return tuple(
        RulePattern(tool=RUN, command=pattern.text, exact=True if pattern.is_exact else None)
        for pattern in command.patterns
    )


def described(command: Command, parts: list[Part]) -> str:
    """What a command line is made of, and why it asks, for a person."""
    marks = {"allow": "goes", "ask": "asks", "deny": "is forbidden"}
    lines: list[str] = []
    if command.line.problems:
        lines.append(f"Nobody can say for certain what it runs: {'; '.join(command.line.problems)}.")
    for part in parts:
        through = f" (through {', '.join(part.program.through)})" if part.program.through else ""
        shown = " ".join(word.source for word in part.program.argv) or part.program.source
        shown = " ".join(shown.split())
        shown = shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 1]}…"
        lines.append(f"- {shown}{through}: {marks[part.decision]}, {part.reason}")
    lines += [
        f"It runs {path} as it is now (SHA-256 {digest[:16]})." for path, digest in command.scripts.items()
    ]
    return "\n".join(lines)
