"""What `.outrider/settings.toml` of the workspace folders sets, for those whose folders are trusted.

The file comes with a repository. It widens nothing by itself: of a folder that is not trusted it is not read, and each command
that it names is asked about once (`WorkspaceTrust.allowed`). A new key is a field of `WorkspaceFile` and whoever asks for it here.
"""

import asyncio
import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from outrider.agent.trust import WorkspaceTrust
from outrider.permissions.policy.decide import Access
from outrider.permissions.policy.ruling import Ruling
from outrider.permissions.policy.trust import NamedCommand
from outrider.ports.text import visible
from outrider.ports.toml import read_toml
from outrider.workspace.disk.disk import DiskProblem, read_bytes
from outrider.workspace.paths import OWN_FOLDER, Folder
from outrider.workspace.workspace import View
from outrider_protocol.settings import WorkspaceFile

FILE: Final = "settings.toml"
NAME: Final = f"{OWN_FOLDER}/{FILE}"
_MOST_BYTES: Final = 200_000


@dataclass(frozen=True, slots=True)
class OfFolder:
    """The file of a workspace folder."""

    folder: Folder
    real: str
    """The folder's real path."""
    settings: WorkspaceFile


@dataclass(frozen=True, slots=True)
class ChecksHere:
    """The checks that the files name."""

    allowed: tuple[str, ...] = ()
    """What is run, in the first workspace folder."""
    ignored: tuple[str, ...] = ()
    """Those that the user did not allow."""


class WorkspaceFiles:
    """The files of one workspace."""

    def __init__(self, workspace: View, trusts: Callable[[Path], bool], warn: Callable[[str], None]) -> None:
        """Begin with nothing read.

        Args:
            workspace: What they lie in.
            trusts: Whether a folder is trusted.
            warn: Tells the user what is wrong in one, once.
        """
        self._workspace = workspace
        self._trusts = trusts
        self._warn = warn
        self._told: set[str] = set()

    async def read(self) -> Sequence[OfFolder]:
        """The files of the folders that are trusted, as they are now."""
        trusted = [folder for folder in self._workspace.folders.folders if self._trusts(folder.path)]
        found: list[OfFolder] = []
        for folder in trusted:
            real, settings, problems = await asyncio.to_thread(_read, folder.path)
            found.append(OfFolder(folder, real, settings))
            for problem in problems:
                text = f"{folder.path / NAME}: {problem}"
                if text not in self._told:
                    self._told.add(text)
                    self._warn(visible(text))
        return found

    async def is_there(self, folder: Folder) -> bool:
        """Whether a folder has one, trusted or not."""
        return await asyncio.to_thread(os.path.lexists, folder.path / NAME)


class WorkspaceChecks:
    """The checks that the files name: which of them run."""

    def __init__(self, files: WorkspaceFiles, trust: WorkspaceTrust, workspace: View) -> None:
        """Begin with none known to be allowed."""
        self._files = files
        self._trust = trust
        self._workspace = workspace
        self._allowed: dict[tuple[str, str], NamedCommand] = {}
        """By the folder where it runs and what is run."""

    async def look(self, session_id: str, turn_id: str, seconds: float) -> ChecksHere:
        """The checks as the files are now; the user is asked about new ones.

        Args:
            session_id: The session whose turn they check.
            turn_id: The turn.
            seconds: How long a question holds the turn.
        """
        folders = self._workspace.folders.folders
        files = await self._files.read()
        named = {
            (
                command if one.folder is folders[0] else f"cd {shlex.quote(one.real)} && {command}"
            ): NamedCommand.of(one.real, "verify", command, command)
            for one in files
            for command in one.settings.verify
        }
        if not named:
            self._allowed = {}
            return ChecksHere()
        allowed = await self._trust.allowed(list(named.values()), session_id, turn_id, seconds)
        cwd = str(await asyncio.to_thread(folders[0].path.resolve))
        self._allowed = {(cwd, run): command for run, command in named.items() if command in allowed}
        return ChecksHere(
            tuple(run for _, run in self._allowed),
            tuple(run for run, command in named.items() if command not in allowed),
        )

    def ruling(self, access: Access) -> Ruling | None:
        """What the user's yes to a check says of a command; None where it is none of them."""
        if access.command is None or access.is_job:
            return None
        command = self._allowed.get((access.cwd, access.command.line.source))
        if command is None or self._trust.is_allowed(command) is not True:
            return None
        reason = f"you allowed this command of {NAME}"
        return Ruling("allow", reason, (f"{command.key}:{command.digest[:12]}",), names_files=True)


def _read(folder: Path) -> tuple[str, WorkspaceFile, list[str]]:
    """The real path of a folder, what its file says, and what is wrong in that. Blocks."""
    real = os.path.realpath(folder)
    return real, *_said_in(Path(real) / OWN_FOLDER)  # no link is followed from there on


def _said_in(place: Path) -> tuple[WorkspaceFile, list[str]]:
    """What the file says, and what is wrong in it, key by key. Blocks."""
    content = read_bytes(place / FILE, _MOST_BYTES)
    if isinstance(content, DiskProblem):
        return WorkspaceFile(), [] if not os.path.lexists(place / FILE) else [
            f"{content.message}; it is ignored"
        ]
    try:
        given = read_toml(content.decode("utf-8"))
    except UnicodeDecodeError:
        return WorkspaceFile(), ["it is not UTF-8; it is ignored"]
    except (ValueError, RecursionError) as error:  # it descends into lists and tables
        return WorkspaceFile(), [f"it is not valid TOML ({error}); it is ignored"]
    values: dict[str, Any] = {}
    problems: list[str] = []
    for key, value in given.items():
        try:
            WorkspaceFile.from_wire({key: value})
            values[key] = value
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            place_of = ".".join(str(part) for part in first["loc"])
            unknown = first["type"] == "extra_forbidden"
            problems.append(f"{place_of}: {'unknown setting' if unknown else first['msg']}; it is ignored")
    return WorkspaceFile.from_wire(values), problems
