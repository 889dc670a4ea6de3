"""Which files want an explicit yes, wherever they lie: those that hold secrets, and those that something else obeys.

By their names alone, and by what the workspace's own `.outriderignore` says, which only ever shuts more.
"""

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final, Literal

from outrider.permissions.own_file import MOST_BYTES
from outrider.permissions.secret_files import is_secret_file
from outrider_protocol.settings import Effect

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILE: Final = ".outriderignore"

_OBEYED: Final = {
    "it belongs to git": (".git", ".git/*", ".gitmodules", ".githooks/*", ".husky/*", ".pre-commit-config.yaml",
                       "lefthook.y*ml", ".lefthook.y*ml", ".gitconfig", ".config/git/*"),
    "editors obey it": (
        ".vscode/*", ".idea/*", ".zed/*", ".helix/*", ".devcontainer/*", ".devcontainer.json", "*.code-workspace",
        "*.sublime-project", ".dir-locals.el", ".dir-locals-2.el", ".exrc", ".nvimrc", ".nvim.lua", ".vimrc", ".lvimrc",
        ".lazy.lua", ".gvimrc", "_vimrc", ".vim/vimrc", ".emacs", ".emacs.d/*init.el", ".vs/*", ".ycm_extra_conf.py", ".mcp.json", ".cursor/*",
    ),
    "shells obey it": (
        ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv",
        ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".inputrc", ".envrc", "config.fish",
        ".config/fish/*", "mise.toml", ".mise.toml", ".config/mise/*", ".ssh/*", ".xinitrc", ".xprofile", ".tmux.conf",
    ),
    "it says what runs for others": (
        ".github/workflows/*", ".github/actions/*", ".gitlab-ci.yml", ".gitlab/ci/*", ".circleci/*", ".buildkite/*", ".travis.yml",
        ".drone.yml", ".woodpecker.yml", ".woodpecker/*", "azure-pipelines*.y*ml", "bitbucket-pipelines.yml", "jenkinsfile",
        ".gitea/workflows/*", ".forgejo/workflows/*", ".cirrus.yml", ".semaphore/*", "appveyor.yml", ".appveyor.yml",
        "cloudbuild.y*ml", "buildspec.y*ml",
    ),
    "a package manager writes it": (
        "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb", "deno.lock",
        "poetry.lock", "uv.lock", "pdm.lock", "pipfile.lock", "cargo.lock", "go.sum", "go.work.sum", ".terraform.lock.hcl", "gemfile.lock", "composer.lock",
        "flake.lock", "mix.lock", "package.resolved", "packages.lock.json", "gradle.lockfile", "podfile.lock",
        "requirements.lock", "pixi.lock", "conda-lock.yml", "pubspec.lock", "shard.lock", "rebar.lock", "renv.lock", "stack.yaml.lock",
    ),
    "it says what Outrider may see": (IGNORE_FILE, ".outrider/*"),
}  # fmt: skip
"""Files that may do more than hold a text, and why; the globs are about any part of a path, in lower case."""


def _pattern(globs: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:.*/)?{translate(glob)}" for glob in globs), re.DOTALL)


_PROTECTED: Final = [(why, _pattern(globs)) for why, globs in _OBEYED.items()]


@dataclass(frozen=True, slots=True)
class Guard:
    """Why something wants an explicit yes."""

    kind: Literal["shut", "protected"]
    """Shut: nothing of it may be seen or changed, in any mode. Protected: it is not changed, but for in the mode `full`."""
    reason: str


def protected(name: str) -> str | None:
    """Why a file of that name is not edited like others, None if it is."""
    folded = name.casefold()
    return next((why for why, pattern in _PROTECTED if pattern.fullmatch(folded)), None)


class Guarded:
    """What is guarded in some workspace folders."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """Nothing is known yet of what the folders shut themselves: `refresh` reads it."""
        self._specs: dict[Path, tuple[tuple[int, int, int] | None, GitIgnoreSpec | None]] = {}
        self._shuts = False
        """Whether any of the folders shuts something."""
        self._folders: Mapping[Path, Sequence[str]] = {}
        self.set_folders(folders)

    def set_folders(self, folders: Sequence[Path]) -> None:
        """Take over other workspace folders."""
        self._folders = {folder: (str(folder), os.path.realpath(folder)) for folder in folders}

    async def refresh(self) -> None:
        """Read what has changed."""
        await asyncio.to_thread(self.refresh_now)

    def refresh_now(self) -> bool:
        """The same for a thread; gives whether anything has changed. Blocks."""
        changed = False
        for folder in self._folders:
            path = folder / IGNORE_FILE
            stamp = _stamp(path)
            if folder not in self._specs or self._specs[folder][0] != stamp:
                spec = _read(path) if stamp is not None else None
                self._shuts = self._shuts or spec is not None  # from before it counts
                self._specs[folder] = (stamp, spec)
                changed = True
        self._shuts = any(spec is not None for _, spec in self._specs.values())
        return changed

    def why(self, effect: Effect, paths: Sequence[Sequence[str]]) -> Guard | None:
        """Why an access of these files wants an explicit yes.

        Args:
            effect: What is done with them.
            paths: The files, each by all its names; the first is the one that is told.
        """
        if effect not in {"read", "edit"}:
            return None
        for names in paths:
            if (reason := self.why_shut(names)) is not None:
                return Guard("shut", f"{names[0]} is shut: {reason}")
        for names in paths if effect == "edit" else ():
            if (reason := next(filter(None, map(protected, names)), None)) is not None:
                return Guard("protected", f"{names[0]} is protected: {reason}")
        return None

    def why_shut(self, names: Sequence[str]) -> str | None:
        """Why a file is shut for every tool, None if it is not.

        Args:
            names: All its names; those that are absolute are looked for in the folders.
        """
        if any(map(is_secret_file, names)):
            return "files of that name hold secrets"
        return next((why for why in map(self.why_ignored, names) if why is not None), None)

    def why_ignored(self, name: str) -> str | None:
        """Why the workspace shuts a file of that absolute path, None if it does not."""
        if not self._shuts:
            return None
        path = PurePath(name)
        for folder, roots in self._folders.items():
            _, spec = self._specs.get(folder, (None, None))
            root = next((root for root in roots if spec is not None and path.is_relative_to(root)), None)
            if spec is not None and root is not None and spec.match_file(path.relative_to(root).as_posix()):
                return f"{IGNORE_FILE} names it"
        return None


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _read(path: Path) -> "GitIgnoreSpec":
    from pathspec import GitIgnoreSpec

    try:
        # A device or a pipe, to which a link of the workspace may lead, would not come to an end.
        if path.is_file() and path.stat().st_size <= MOST_BYTES:
            return GitIgnoreSpec.from_lines(path.read_text("utf-8", "replace").splitlines())
    except (OSError, ValueError):
        pass
    # Nobody knows what it shuts, so that all is.
    return GitIgnoreSpec.from_lines(["*"])
