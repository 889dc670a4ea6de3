"""What folders tell their agents: under which names, which of several counts, and what is in it.

Whether it is taken up is not decided here but by `trust.py`.
"""

import asyncio
import posixpath
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from outrider.permissions.policy.protected_files import Guarded
from outrider.ports.text import visible
from outrider.workspace.documents.overlay import ReadProblem
from outrider.workspace.paths import Folder, Located, PathProblem
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
DEEPEST_IMPORT: Final = 5
"""How far an import may be from the file that the folder has."""
MOST_IMPORTS: Final = 20
"""Files that one of them brings in."""
_IMPORTED: Final = (".md", ".mdc", ".txt")
_FENCES: Final = ("```", "~~~")


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
        for path, one in zip(files, texts, strict=True):
            if not isinstance(one, ReadProblem) and one.text.strip():
                text = one.text.strip()
                if len(text) < limit and imports_in(text):
                    text = await self._with_imports(files[path], text, limit)
                return path, visible(text[:limit].strip())
        return None

    async def _with_imports(self, located: Located, text: str, limit: int) -> str:
        """A text, followed by the files that it imports, each once. Files outside its workspace folder and secret files are left out."""
        folder = self._workspace.folders.folder_of(located.display)
        if folder is None or located.resolved is None:
            return text
        folders = self._workspace.folders.folders
        root, *roots = await asyncio.to_thread(lambda: [one.path.resolve() for one in (folder, *folders)])
        # Another workspace folder has a trust of its own.
        others = [one for one in roots if one != root and one.is_relative_to(root)]
        seen, waiting = {located.resolved}, [(located.resolved, text, 1)]
        while waiting and len(text) < limit:
            importer, said, depth = waiting.pop(0)
            for name in imports_in(said):
                if len(seen) > MOST_IMPORTS:
                    return text
                one = await self._workspace.folders.locate(posixpath.normpath(importer.parent / name))
                if isinstance(one, PathProblem) or one.resolved is None or one.resolved in seen:
                    continue
                if not one.resolved.is_relative_to(root) or any(map(one.resolved.is_relative_to, others)):
                    continue
                if self._guarded.why_hidden(one.names) is not None:
                    continue
                seen.add(one.resolved)
                found = await self._workspace.overlay.read(one)
                if isinstance(found, ReadProblem) or not (brought := found.text[:limit].strip()):
                    continue
                text = f"{text}\n\nFrom {visible(one.display)}:\n{brought}"
                if depth < DEEPEST_IMPORT:
                    waiting.append((one.resolved, brought, depth + 1))
        return text


def imports_in(text: str) -> list[str]:
    """The files that a text imports, as it names them: `@docs/style.md`, outside of code. Pure."""
    found: dict[str, None] = {}
    fence = ""
    for line in text.splitlines():
        mark = line.lstrip()[:3]
        if mark in _FENCES and fence in {"", mark}:
            fence = "" if fence else mark
        elif not fence and "@" in line:
            for word in " ".join(line.split("`")[::2]).split():
                name = word[1:].rstrip(".,;:)")
                if word.startswith("@") and name.endswith(_IMPORTED) and not name.startswith(("/", "~")):
                    found[name] = None
    return list(found)


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
