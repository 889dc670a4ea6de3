"""Deleting and renaming: of a file, or of a folder, which is all of its files as one change.

All that brings them back is in the change: so what has no text, and what is too much, is refused.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import Field

from outrider.ports.model import ToolCall
from outrider.ports.text import Snapshot
from outrider.tools.changes import action_for
from outrider.tools.context import Action, ToolContext
from outrider.tools.registry import Params, Tool
from outrider.tools.result import ToolResult, error
from outrider.tools.unsaved import UNSAVED, is_own, saving
from outrider.workspace.change import Change
from outrider.workspace.disk import DiskProblem, folder_files, folders_in
from outrider.workspace.overlay import ReadProblem, is_saved_as
from outrider.workspace.paths import IS_LINK, Located, PathProblem, dangling, is_link

MOST_FILES = 200
"""Of a folder."""
MOST_FOLDERS = 1000
"""Of a folder, with itself."""
MOST_CHARACTERS = 10_000_000
"""Of all texts of a folder."""
MOST_NAMED = 5
"""Files that a refusal names."""


class DeleteFile(Params):
    """Arguments of `delete_file`."""

    path: str = Field(min_length=1, description="File or folder, relative to the workspace.")


class RenameFile(Params):
    """Arguments of `rename_file`."""

    from_: str = Field(alias="from", min_length=1, description="File or folder, relative to the workspace.")
    to: str = Field(min_length=1, description="New path relative to the workspace; it must not exist.")


async def deletion(context: ToolContext, located: Located, snapshot: Snapshot) -> Change:
    """The change that deletes a file, with its exact text, which an editor may hide in part, and its mode."""
    found = await context.overlay.on_disk(located)
    if found is None:
        return Change("delete", located, None, snapshot.text, None, snapshot.encoding)
    before = found.text if is_saved_as(snapshot.text, found.text) else snapshot.text
    return Change("delete", located, None, before, None, found.encoding, found.mode)


async def plan_delete(params: DeleteFile, call: ToolCall, context: ToolContext) -> Action | ToolResult:
    """Delete a file or a folder."""
    located = await context.folders.locate(params.path)
    if isinstance(located, PathProblem):
        return error(located.message)

    async def delete(file: Located, snapshot: Snapshot) -> Change:
        return await deletion(context, file, snapshot)

    snapshot = await context.overlay.read(located)
    if isinstance(snapshot, ReadProblem) and snapshot.kind == "directory":
        found = await _of_folder(located, context, delete)
        if isinstance(found, str):
            return error(f"The folder {located.shown} cannot be deleted: {found}")
        action = action_for(*found.changes, title=f"Delete the folder {located.shown} ({found.count})")
        return replace(action, prepare=saving(found.unsaved, call, context))
    editable = await _editable(located, snapshot, context)
    if isinstance(editable, ToolResult):
        return editable
    unsaved = [located] if editable.unsaved else []
    return replace(action_for(await delete(located, editable)), prepare=saving(unsaved, call, context))


async def plan_rename(params: RenameFile, call: ToolCall, context: ToolContext) -> Action | ToolResult:
    """Rename a file or a folder."""
    located = await context.folders.locate(params.from_)
    if isinstance(located, PathProblem):
        return error(located.message)
    to = await context.folders.locate(params.to)
    if isinstance(to, PathProblem):
        return error(to.message)
    snapshot = await context.overlay.read(located)
    is_folder = isinstance(snapshot, ReadProblem) and snapshot.kind == "directory"
    editable = None if is_folder else await _editable(located, snapshot, context)
    if isinstance(editable, ToolResult):
        return editable
    if (taken := await _taken(located, to, context)) is not None:
        return error(taken)
    if editable is not None:
        action = action_for(Change("rename", located, to, editable.text, editable.text))
        return replace(action, prepare=saving([located] if editable.unsaved else [], call, context))
    if to.path is None or located.path is None:
        return error(f"{to.shown} cannot be the name of a folder.")
    old, new = located.path, to.path

    async def rename(file: Located, snapshot: Snapshot) -> Change | str:
        target = await context.folders.locate(str(new / (file.path or old).relative_to(old)))
        if isinstance(target, PathProblem):
            return target.message
        return Change("rename", file, target, snapshot.text, snapshot.text)

    found = await _of_folder(located, context, rename)
    if isinstance(found, str):
        return error(f"The folder {located.shown} cannot be renamed: {found}")
    if new.is_relative_to(old):
        return error(f"{to.shown} lies in {located.shown}, so that one cannot be moved there.")
    title = f"Rename the folder {located.shown} to {to.shown} ({found.count})"
    return replace(action_for(*found.changes, title=title), prepare=saving(found.unsaved, call, context))


@dataclass(frozen=True, slots=True)
class _OfFolder:
    """What becomes of the files of a folder."""

    changes: list[Change]
    unsaved: list[Located]
    """Those that have to be saved before."""

    @property
    def count(self) -> str:
        return f"{len(self.changes)} files" if len(self.changes) != 1 else "1 file"


async def _of_folder(
    located: Located, context: ToolContext, change: Callable[[Located, Snapshot], Awaitable[Change | str]]
) -> _OfFolder | str:
    """The changes of all files of a folder; the folder goes with the last one. A text says why not."""
    if located.own or located.resolved is None or located.path is None:
        return "it belongs to Outrider itself." if located.own else "it is not on the disk."
    if any(located.path in {folder.path, *folder.path.parents} for folder in context.folders.folders):
        return "it is, or holds, a folder of the workspace."
    if await asyncio.to_thread(located.path.is_symlink):
        return f"it {IS_LINK}."
    found = await asyncio.to_thread(folder_files, located.resolved, MOST_FILES + 1)
    if isinstance(found, DiskProblem):
        return f"{_shown(found.message, located)}."
    if len(found) > MOST_FILES:
        return f"it holds more than {MOST_FILES} files, which are possible at once."
    folders = await asyncio.to_thread(folders_in, located.resolved, MOST_FOLDERS + 1)
    if isinstance(folders, DiskProblem):
        return f"{_shown(folders.message, located)}."
    if len(folders) > MOST_FOLDERS:
        return f"it holds more than {MOST_FOLDERS} folders, which are possible at once."
    if not found:
        return "it holds no files, so there is nothing to take back; a command can remove it."
    changes: list[Change] = []
    reasons: list[str] = []
    unsaved: list[Located] = []
    size = 0
    for path in found:
        file = await context.folders.locate(str(located.path / path.relative_to(located.resolved)))
        if isinstance(file, PathProblem):
            reasons.append(file.message)
            continue
        snapshot = await context.overlay.read(file)
        if isinstance(snapshot, ReadProblem):
            reasons.append(snapshot.message)
            continue
        if snapshot.unsaved and await is_own(file, snapshot, context):
            unsaved.append(file)
        elif snapshot.unsaved:
            reasons.append(f"{file.shown} {UNSAVED}")
        size += len(snapshot.text)
        if size > MOST_CHARACTERS:
            return f"its files hold more than {MOST_CHARACTERS} characters, which are possible at once."
        worked_out = await change(file, snapshot)
        if isinstance(worked_out, str):
            reasons.append(worked_out)
        else:
            changes.append(worked_out)
    if reasons:
        more = f"; and {len(reasons) - MOST_NAMED} more" if len(reasons) > MOST_NAMED else ""
        return f"{'; '.join(reasons[:MOST_NAMED])}{more}."
    return _OfFolder([*changes[:-1], replace(changes[-1], folder=located, folders=folders)], unsaved)


async def _taken(located: Located, to: Located, context: ToolContext) -> str | None:
    """Why a path is not free for a rename; None if it is."""
    there = await context.overlay.read(to)
    if isinstance(there, Snapshot) or there.kind == "directory" or await asyncio.to_thread(is_link, to):
        return f"{to.shown} exists already."
    if there.kind != "not_found":
        return there.message
    if (why_not := await asyncio.to_thread(dangling, to)) is not None:
        return f"{why_not}."
    like = await asyncio.to_thread(_alike, located.resolved, to.resolved)
    if like is not None:
        return (
            f"{to.shown} differs from {like}, which exists already, only in case; where case does not count "
            "they would be one."
        )
    return None


def _alike(source: Path | None, path: Path | None) -> str | None:
    """The name beside a path that is the same but for case, other than the source. Blocks."""
    if path is None:
        return None
    try:
        beside = list(path.parent.iterdir())
    except OSError:
        return None
    wanted = path.name.casefold()
    return next((one.name for one in beside if one.name.casefold() == wanted and one != source), None)


async def _editable(
    located: Located, snapshot: Snapshot | ReadProblem, context: ToolContext
) -> Snapshot | ToolResult:
    if await asyncio.to_thread(is_link, located):
        return error(f"{located.shown} {IS_LINK}.")
    if isinstance(snapshot, ReadProblem):
        return error(snapshot.message)
    if snapshot.read_only:
        return error(f"{located.shown} cannot be edited: {snapshot.read_only}")
    if snapshot.unsaved and not await is_own(located, snapshot, context):
        return error(f"{located.shown} {UNSAVED}.")
    return snapshot


def _shown(message: str, located: Located) -> str:
    """A message of the disk, with the path as the model writes it."""
    return message.replace(str(located.resolved), located.display)


DELETE_FILE = Tool(
    "delete_file",
    "Delete a file, or a folder with its files, which are texts.",
    "edit",
    DeleteFile,
    plan_delete,
)
RENAME_FILE = Tool(
    "rename_file",
    "Rename or move a file, or a folder with its files, which are texts.",
    "edit",
    RenameFile,
    plan_rename,
)
