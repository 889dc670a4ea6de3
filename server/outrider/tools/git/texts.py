"""Of which files a command of git may show the texts, without a word of it that names them."""

import os
import re
from collections.abc import Callable, Sequence
from typing import Final, Literal

from outrider.permissions.guarded import IGNORE_FILE
from outrider.permissions.programs.git import compares_few
from outrider.permissions.programs.options import Reads
from outrider.permissions.secret_files import is_secret_file
from outrider.permissions.shell.model import Program
from outrider.tools.git.history import Past, ends_of
from outrider.tools.git.settings import find_repository
from outrider.tools.git.tracked import tracked_files

WhyShut = Callable[[Sequence[str]], str | None]
"""Why a file of these absolute paths is shut for every tool, None if it is not."""

_BETWEEN: Final = re.compile(r"\.\.\.?(?!/)")
"""Between two revisions (gitrevisions(7))."""
_MAY_BE_OBJECT: Final = re.compile(r"[0-9a-f]{4,64}(?![\w./-])")
"""The id of an object, which need not be a commit."""
_NO_PATHS: Final = frozenset({"cat-file", "stash"})
"""What takes a word for an object though there is a file of that name."""


def as_they_were(text: str) -> list[str]:
    """The paths in a word that names files as they were, by a revision and a colon; two where it names what lies between."""
    return [path for one in _BETWEEN.split(text) for _, colon, path in [one.partition(":")] if colon]


class GitTexts:
    """What git may show in a folder."""

    def __init__(
        self, base: str, roots: Sequence[str], why_shut: WhyShut, past: Past | None, *, stays: bool
    ) -> None:
        """Nothing is looked up yet.

        Args:
            base: The folder; a real path.
            roots: The real paths of the workspace folders.
            why_shut: Which files are shut.
            past: What is known of the commits there.
            stays: Whether names of commits mean the same when git runs: all that runs before it, or beside it, only reads.
        """
        self._base = base
        self._roots = roots
        self._why_shut = why_shut
        self._past = past
        self._stays = stays
        self.commits: list[str] | None = None
        """Words that may name commits whose texts are shown; None while nothing of the past is."""
        self.few: list[str] = []
        """Those by which git comes to no other commit than they name; the last one is named by `HEAD`."""

    def why_not(self, program: Program, reads: Reads) -> str | None:
        """Why git may show the text of a file that is shut or outside, or nobody knows; None if it does not."""
        if self._tracked() is None:
            return "what git tracks cannot be read, and so not whether it may hold keys"
        if (found := find_repository(self._base)) and not self._is_inside(str(found[0])):
            named = self._limits(program, reads) or [str(found[0])]
            if beyond := [path for path in named if not self._is_inside(path)]:
                return f"git may show {beyond[0]}, which is outside the workspace; `-- .` at its end keeps it to the folder"
        return self.shut(program, reads) or (self._why_past(program, reads) if found else None)

    def shut(self, program: Program, reads: Reads) -> str | None:
        """Which shut file git may show, None if it is not known to show one."""
        files = [*(self._tracked() or ()), *self._were_there(program, reads)]
        shut = [path for path in files if self._why_shut((path,)) is not None]
        if shut and (named := self._limits(program, reads)) is not None:
            shut = [path for path in shut if any(path == one or path.startswith(f"{one}/") for one in named)]
        if not shut:
            return None
        return f"git may show {os.path.relpath(shut[0], self._base)}, which is shut: {self._why_shut((shut[0],))}"

    # --- what it tracks, and tracked -----------------------------------------------------------------------------

    def _tracked(self) -> tuple[str, ...] | None:
        """What git tracks, where names alone decide only files with names of secrets."""
        return tracked_files(self._base, secret=not self._has_own)

    @property
    def _has_own(self) -> bool:
        """Whether not names alone say what is shut."""
        return any(os.path.lexists(os.path.join(root, IGNORE_FILE)) for root in self._roots)  # noqa: PTH118

    def _why_past(self, program: Program, reads: Reads) -> str | None:
        words = self._commits(program, reads)
        if words is None:
            return None
        self.commits = [*(self.commits or ()), *words]
        if self._compares_few(program):
            self.few += words or ["HEAD"]
        if self._past is None:
            return "git may show what earlier commits hold, and nobody knows yet of which files"
        strange = next((word for word in words if word in self._past.strange), None)
        return None if strange is None else f"{strange} is no commit, and may be the text of any file"

    def _were_there(self, program: Program, reads: Reads) -> list[str]:
        """The files of commits that git may show; those that can be shut."""
        words = self._commits(program, reads)
        if self._past is None or words is None:
            return []
        found = find_repository(self._base)
        names = self._past.files if self._has_own else self._past.secret
        few = self._of_few(self._past, program, words)
        if few is not None:
            names = few if self._has_own else tuple(filter(is_secret_file, few))
        return [f"{found[0]}/{name}" for name in names] if found else []

    def _of_few(self, past: Past, program: Program, words: list[str]) -> list[str] | None:
        """The files of the commits that git compares where it compares few; None where it may come to others."""
        few = self._compares_few(program)
        if few is None:
            return None
        found: list[str] = []
        for word in words or ["HEAD"]:
            ends = ends_of(word) if word else None  # one that is not known yet may name any
            if ends is None or any(name not in past.held for name in ends):
                return None
            for held in (past.held[name] for name in ends):
                found += held.files if few == "named" else [*held.files, *held.before]
        return found

    def _compares_few(self, program: Program) -> Literal["named", "named and before"] | None:
        return compares_few(program.argv[1:]) if self._stays else None

    def _commits(self, program: Program, reads: Reads) -> list[str] | None:
        """The words that may name commits whose texts git shows; None where it shows only those of now.

        One that is known only when it runs is empty.
        """
        words = [word.text or "" for word in reads.early]
        words = [word for word in words if not word or not self._is_path(word, program, reads)]
        return words if words or reads.past else None

    # --- what it is limited to -----------------------------------------------------------------------------------

    def _limits(self, program: Program, reads: Reads) -> list[str] | None:
        """The paths to which arguments of git limit it, None where they do not."""
        is_grep = any(word.text == "grep" for word in program.argv[1:3])
        if is_grep and any(word.source.startswith("-") and "f" in word.source for word in program.argv):
            return None  # one of the paths is that of a file of patterns
        if "--follow" in program.words:
            return None  # to what a file was called before
        early, late = [word.text for word in reads.early], [word.text for word in reads.late or ()]
        if any(text is None or text.startswith(":") or set(text) & set("*?[\\") for text in [*early, *late]):
            return None
        paths = [self._joined(text) for text in late if text is not None]
        objects: list[str] = []
        has_commits = False
        for text in early:
            if text is None or self._is_path(text, program, reads):
                paths.append(self._joined(text or ""))
            elif were := as_they_were(text):
                objects += map(self._as_it_was, were)
            elif _MAY_BE_OBJECT.match(text):
                return None  # the text of any file may have that name, and no path limits it
            else:
                has_commits = True
        if is_grep and not paths and not objects:
            return [self._base]
        return [*paths, *objects] if paths or (objects and not has_commits) else None

    def _is_path(self, text: str, program: Program, reads: Reads) -> bool:
        """Whether a word before `--` can only be a path: git takes one that is a file and a commit for a mistake."""
        is_none = reads.late is not None or any(word.text in _NO_PATHS for word in program.argv[1:3])
        return not is_none and os.path.lexists(self._joined(text))

    def _as_it_was(self, path: str) -> str:
        top = None if path.startswith(("./", "../")) else find_repository(self._base)
        return os.path.normpath(os.path.join(top[0], path)) if top else self._joined(path)  # noqa: PTH118

    def _joined(self, text: str) -> str:
        return os.path.normpath(os.path.join(self._base, text))  # noqa: PTH118 - one of many

    def _is_inside(self, path: str) -> bool:
        return any(path == root or path.startswith(f"{root}/") for root in self._roots)
