"""Writes the documents of plans, and reads them when they are to be started. They lie in `.outrider/plans/` of the first folder."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from outrider.agent.interaction.plan_document import MOST_CHARACTERS, Plan, PlanProblem, Step, read, written
from outrider.agent.interaction.shown_documents import FOLDER, plan_paper
from outrider.workspace.disk.disk import DiskProblem, read_bytes
from outrider.workspace.paths import PathProblem
from outrider.workspace.workspace import View

PLANS: Final = f"{FOLDER}/plans"
_LONGEST_NAME: Final = 40


class PlanPapers:
    """The documents of one workspace."""

    def __init__(self, workspace: View) -> None:
        """Begin with none written."""
        self._workspace = workspace
        self._written: dict[str, str] = {}
        """What was written last, by path."""

    async def write(self, plan: Plan, before: str | None) -> str | PlanProblem:
        """Write the document of a plan; gives its path in the workspace folder.

        Args:
            plan: What it says.
            before: The path of the one that it replaces, as long as nobody has changed that one.
        """
        folders = self._workspace.folders
        if before is not None and not await self._is_as_written(before):
            before = None
        name = before.rpartition("/")[2].removesuffix(".md") if before else _name(plan.goal)
        for_path = before or f"{PLANS}/{name}.md"
        paper = await plan_paper(folders, name, written(plan, for_path), self._written.get(before or ""))
        if isinstance(paper, str):
            return PlanProblem(paper)
        path = f"{PLANS}/{paper.name}"
        if path != for_path:  # another name was free: the text says it
            text = written(plan, path)
            paper = await plan_paper(folders, paper.stem, text, written(plan, for_path))
            if isinstance(paper, str):
                return PlanProblem(paper)
        self._written[path] = written(plan, path)
        return path

    def uri_of(self, path: str) -> str:
        """The URI of a plan by its path."""
        return (self._workspace.folders.folders[0].path / path).as_uri()

    async def read(self, uri: str) -> tuple[str, Plan] | PlanProblem:
        """The plan in a document, the buffer over the disk, with its path as the user writes it."""
        folders = self._workspace.folders
        located = await folders.locate(uri)
        if isinstance(located, PathProblem):
            return PlanProblem(located.message)
        shown = located.display
        if located.path is None or not located.inside or (folder := folders.folder_of(shown)) is None:
            return PlanProblem(f"{shown} is no file of the workspace")
        document = self._workspace.documents.get(located.uri)
        is_as_written = document is not None and document.text == self._written.get(shown)
        if document is not None and not document.outdated and not is_as_written:
            text = document.text  # else the file counts, which may be another one by now
        else:
            content = await asyncio.to_thread(_content, folder.path, located.path)
            if isinstance(content, str):
                return PlanProblem(f"{shown} {content}")
            text = content.decode("utf-8", "replace")
        plan = read(text)
        return (
            PlanProblem(f"{shown} cannot be started: {plan.message}")
            if isinstance(plan, PlanProblem)
            else (shown, plan)
        )

    async def steps_of(self, path: str) -> Sequence[Step] | None:
        """The steps that a document has by now; None where it is gone, or no plan any more."""
        found = await self.read(path)
        return None if isinstance(found, PlanProblem) else found[1].steps

    async def _is_as_written(self, path: str) -> bool:
        """Whether a document is as it was written, so that nothing of the user's is lost with it."""
        text = self._written.get(path)
        document = self._workspace.documents.get(self.uri_of(path))
        return text is not None and (document is None or document.text == text)


def _content(folder: Path, path: Path) -> bytes | str:
    """What a file of a folder holds, with no link followed below the folder; a text says why it cannot be read. Blocks."""
    try:
        place = folder.resolve() / path.relative_to(folder)
    except (OSError, RuntimeError, ValueError) as error:
        return f"cannot be read: {error}"
    content = read_bytes(place, 4 * MOST_CHARACTERS)
    return content.message if isinstance(content, DiskProblem) else content


def _name(goal: str) -> str:
    """A file's name that says what a plan is for."""
    words = "".join(sign if sign.isascii() and sign.isalnum() else " " for sign in goal.lower()).split()
    name = ""
    for word in words:
        if len(name) + len(word) > _LONGEST_NAME:
            break
        name = f"{name}-{word}" if name else word
    return name or "plan"
