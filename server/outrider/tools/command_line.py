"""A command line, looked up in the workspace: where its parts read, and which scripts of the workspace it runs."""

import glob
import hashlib
import os
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
from outrider.workspace.paths import OWN_FOLDER, Folders, PathProblem
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
    places = [_Place(folders, cwd), _Place(folders, base)]
    reads: list[str | None] = []
    scripts: dict[str, str] = {}
    ran: list[str | None] = []
    for number, program in enumerate(line.programs):
        place = places[min(number, 1)]
        reads.append(place.why_not(program))
        word = runs_scripts(program)
        found = place.hashed(word) if word is not None else {}
        ran.append(next(iter(found.values()), None))
        scripts |= found
    return Command(line, reads, scripts, ran)


class _Place:
    """A folder where a part of a line runs."""

    def __init__(self, folders: Folders, base: Path) -> None:
        self._folders = folders
        self._base = str(base)
        self._roots = [os.path.realpath(folder.path) for folder in folders.folders]
        self._known: dict[str, str | None] = {}
        self._real: dict[str, str] = {}

    def why_not(self, program: Program) -> str | None:
        """Why a program is not known to only read inside the workspace, None if it is."""
        reads = only_reads(program)
        if isinstance(reads, str):
            return reads
        return next((problem for word in reads.paths if (problem := self._outside(word))), None)

    def hashed(self, word: Word) -> dict[str, str]:
        """The hash of a script, by its path, if it is one of the workspace."""
        if word.text is None:
            return {}
        located = self._folders.locate_now(os.path.join(self._base, word.text))  # noqa: PTH118 - one of many
        if isinstance(located, PathProblem) or not located.inside or located.resolved is None:
            return {}
        try:
            if not located.resolved.is_file() or located.resolved.stat().st_size > SCRIPT_BYTES:
                return {}
            return {located.display: hashlib.sha256(located.resolved.read_bytes()).hexdigest()}
        except OSError:
            return {}

    def _outside(self, word: Word) -> str | None:
        if word.text is not None:
            return self._outside_path(word.text)
        if not word.is_glob or ".." in word.source or word.source.startswith("/"):
            return f"where {word.source} lies is not known"
        found = glob.iglob(word.source, root_dir=self._base)  # noqa: PTH207 - matches as bash does
        matches = list(islice(found, MOST_MATCHES + 1))
        if len(matches) > MOST_MATCHES:
            return f"{word.source} stands for too many files"
        if any(match.startswith("-") for match in matches):
            return f"{word.source} stands for a file that is called like an option"
        return next((problem for match in matches if (problem := self._outside_path(match))), None)

    def _outside_path(self, text: str) -> str | None:
        if text not in self._known:
            self._known[text] = self._looked_up(text)
        return self._known[text]

    def _resolved(self, text: str) -> str:
        """The real path. There may be hundreds of them in a few folders, so each folder is looked up once."""
        folder, name = os.path.split(os.path.join(self._base, text))  # noqa: PTH118 - as above
        if name in {"", ".", ".."}:
            return os.path.realpath(os.path.join(self._base, text))  # noqa: PTH118
        if folder not in self._real:
            self._real[folder] = os.path.realpath(folder)
        path = os.path.join(self._real[folder], name)  # noqa: PTH118
        return os.path.realpath(path) if os.path.islink(path) else path  # noqa: PTH114

    def _looked_up(self, text: str) -> str | None:
        resolved = self._resolved(text)
        root = next(
            (root for root in self._roots if resolved == root or resolved.startswith(f"{root}/")), None
        )
        if root is None or resolved[len(root) + 1 :].partition("/")[0].casefold() == OWN_FOLDER:
            return f"{text} is outside the workspace"
        if is_secret_file(resolved) or is_secret_file(text):
            return f"{text} may hold keys"
        return None


def rules_for(command: Command) -> tuple[RulePattern, ...]:
    """The rules that would allow a command from now on; empty where none can."""
    return tuple(
        RulePattern(tool=RUN, command=pattern.text, exact=True if pattern.is_exact else None, script=script)
        for pattern, script in command.allowing
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
