"""What folders tell their agents: under which names, which of several counts, and what is in it.

Whether it is taken up is not decided here but by `trust.py`.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from outrider.permissions.policy.protected_files import Guarded
from outrider.ports.text import visible
from outrider.workspace.documents.overlay import ReadProblem
from outrider.workspace.paths import Folder, PathProblem
from outrider.workspace.workspace import View

NAMES: Final = (
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
    ".github/copilot-instructions.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
)
"""Of those that lie in one folder the first that says something counts: they are mostly copies of each other."""
INSTRUCTIONS_LIMIT: Final = 32_000
"""Characters of those of a workspace folder that are quoted."""
NESTED_LIMIT: Final = 8_000
"""Characters of those further down."""


class InstructionFiles:
    """Finds them in one workspace."""

    def __init__(self, workspace: View, guarded: Guarded) -> None:
        self._workspace = workspace
        self._guarded = guarded

    async def of_folder(self, folder: Folder, limit: int = INSTRUCTIONS_LIMIT) -> tuple[str, str] | None:
        """The path and the text of those of a workspace folder, cut to `limit` characters; None where there are none."""
        one = await self._first([str(folder.path / name) for name in NAMES], limit)
        return one and (self._workspace.folders.display_of(Path(one[0]).as_uri()), one[1])

    async def near(self, paths: Iterable[str], known: Mapping[str, str]) -> dict[str, str]:
        """Those of the folders below the workspace's that lie above these files, from the top down.

        Args:
            paths: Files, as the tools name them.
            known: Those that were told before, by path, each as it was told, which ends with its text.

        Returns:
            By path, the text of each that there is, cut to `NESTED_LIMIT` characters. One that says what its workspace folder
            says, or what another one says, is left out.
        """
        several = len(self._workspace.folders.folders) > 1
        tops = {folder.name for folder in self._workspace.folders.folders} if several else {""}
        told = {folder_of(path) for path in known}
        found: dict[str, str] = {}
        for name in nested_folders(paths, tops):
            if name in told:
                continue
            one = await self._first([f"{name}/{file}" for file in NAMES], NESTED_LIMIT)
            if one is None or any(before.endswith(f"\n{one[1]}") for before in known.values()):
                continue
            if one[1] not in found.values() and one[1] != await self._of_workspace_folder(one[0]):
                found[one[0]] = one[1]
        return found

    async def _of_workspace_folder(self, path: str) -> str | None:
        """What the workspace folder of a file says itself."""
        folder = self._workspace.folders.folder_of(path)
        own = await self.of_folder(folder, NESTED_LIMIT) if folder is not None else None
        return own and own[1]

    async def _first(self, paths: list[str], limit: int) -> tuple[str, str] | None:
        await self._guarded.refresh()
        located = zip(paths, await self._workspace.folders.locate_all(paths), strict=True)
        files = {
            path: one
            for path, one in located
            # What a link brings in from elsewhere is not the folder's.
            if not isinstance(one, PathProblem) and one.inside and self._guarded.why_hidden(one.names) is None
        }
        texts = await self._workspace.overlay.read_all(list(files.values()))
        said = (
            (path, visible(one.text[:limit].strip()))
            for path, one in zip(files, texts, strict=True)
            if not isinstance(one, ReadProblem) and one.text.strip()
        )
        return next(said, None)


def folder_of(path: str) -> str:
    """The folder that a file of instructions is about."""
    name = next((name for name in NAMES if path.endswith(f"/{name}")), PurePosixPath(path).name)
    return path.removesuffix(f"/{name}")


def nested_folders(paths: Iterable[str], tops: Iterable[str]) -> list[str]:
    """The folders above these files, from the top down, without `tops`, whose own every turn begins with. Pure."""
    wanted: dict[str, None] = {}
    for path in paths:
        if path.startswith(("/", "untitled:", "..")):
            continue
        for folder in reversed(PurePosixPath(path).parents):
            name = "" if str(folder) == "." else str(folder)
            if name and name not in tops:
                wanted[name] = None
    return list(wanted)
