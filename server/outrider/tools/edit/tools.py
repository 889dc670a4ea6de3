"""The tools that change files. They only work the change out; the executor has it approved and written."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from outrider.ports.model import ToolCall
from outrider.ports.text import Snapshot
from outrider.tools.context import Action, EditContext, ReadContext, ToolResult, error
from outrider.tools.edit.changes import action_for
from outrider.tools.edit.pasted import action_for_text
from outrider.tools.edit.stale import line_now
from outrider.tools.nearest import missing
from outrider.tools.reading import misfit, unseen
from outrider.tools.registry import MOST_CONTENT, Params, Tool
from outrider.tools.unsaved import UNSAVED, is_own, saving
from outrider.workspace.disk.disk import DiskProblem, folder_files, folders_in
from outrider.workspace.documents.overlay import ReadOnly, ReadProblem, is_saved_as
from outrider.workspace.edits.change import Change
from outrider.workspace.paths import IS_LINK, Located, PathProblem, dangling, is_link
from outrider.workspace.text.encoding import BOM, apart
from outrider.workspace.text.matching.blocks import Text, with_its_ends
from outrider.workspace.text.matching.replacing import (
    MatchProblem,
    Replacement,
    insert_lines,
    replace_in_order,
)

MOST_EDITS = 100
"""Replacements in one call."""


class Edit(Params):
    """One replacement of several."""

    old: str = Field(max_length=MOST_CONTENT)
    new: str = Field(max_length=MOST_CONTENT)
    replace_all: bool = False
    whole_words: bool = False


class EditFile(Params):
    """Arguments of `edit_file`: `old` and `new`, or `edits`."""

    path: str = Field(min_length=1)
    old: str = Field(
        default="", max_length=MOST_CONTENT, description="The text to replace, long enough to be unique."
    )
    new: str = Field(default="", max_length=MOST_CONTENT, description="The text in its place.")
    replace_all: bool = Field(default=False, description="Replace every occurrence.")
    whole_words: bool = Field(
        default=False,
        description="Only where old is not part of a longer word. With replace_all, to rename something.",
    )
    edits: list[Edit] = Field(
        default=[],
        max_length=MOST_EDITS,
        description="Several replacements, in order, all or none. Instead of old and new.",
    )

    @model_validator(mode="after")
    def _has_one_form(self) -> Self:
        given = self.model_fields_set
        if "edits" in given and not self.edits:
            raise ValueError("edits is empty")
        if "edits" in given and given & {"old", "new", "replace_all", "whole_words"}:
            raise ValueError("give either old and new, or edits, not both")
        if "edits" not in given and not {"old", "new"} <= given:
            raise ValueError("old and new are missing (or edits, for several replacements)")
        return self

    @property
    def wishes(self) -> list[Replacement]:
        """The replacements, in order."""
        return [
            Replacement(one.old, one.new, one.replace_all, one.whole_words) for one in self.edits or [self]
        ]


class InsertLines(Params):
    """Arguments of `insert_lines`."""

    path: str = Field(min_length=1)
    after_line: int = Field(ge=0, description="From 1; 0: at the top.")
    text: str = Field(min_length=1, max_length=MOST_CONTENT)


class WriteFile(Params):
    """Arguments of `write_file`."""

    path: str = Field(min_length=1)
    content: str = Field(max_length=MOST_CONTENT)
    overwrite: SkipJsonSchema[bool] = False
    """It says nothing any more. Older logs have it, and so have the habits of models."""


async def plan_edit(params: EditFile, _call: ToolCall, context: ReadContext) -> Action | ToolResult:
    """Replace a text in a file."""
    found = await _existing(params.path, context)
    if isinstance(found, ToolResult):
        return found
    located, before = found
    mark, text = apart(before)
    wishes = [_unmarked(wish, mark) for wish in params.wishes]
    replaced = await asyncio.to_thread(replace_in_order, text, wishes)
    if isinstance(replaced, MatchProblem):
        return error(await misfit(located, replaced.message, context))
    if replaced.text == text:
        return error(f"{located.shown}: old and new are the same, so nothing would change.")
    change = _edit(located, before, mark + replaced.text, context)
    return await action_for_text(change, note="\n".join(replaced.notes))


async def plan_insert(params: InsertLines, _call: ToolCall, context: ReadContext) -> Action | ToolResult:
    """Insert lines into a file."""
    found = await _existing(params.path, context)
    if isinstance(found, ToolResult):
        return found
    located, before = found
    after_line = await line_now(located, before, params.after_line, context)
    if isinstance(after_line, ToolResult):
        return after_line
    mark, text = apart(before)
    inserted = insert_lines(text, after_line, params.text.removeprefix(mark))
    if isinstance(inserted, MatchProblem):
        return error(await misfit(located, inserted.message, context))
    return await action_for_text(_edit(located, before, mark + inserted.text, context))


async def plan_write(params: WriteFile, _call: ToolCall, context: ReadContext) -> Action | ToolResult:
    """Write a whole file."""
    located = await context.workspace.folders.locate(params.path)
    if isinstance(located, PathProblem):
        return error(located.message)
    current = await context.workspace.overlay.read(located)
    if isinstance(current, ReadProblem):
        if current.kind != "not_found":
            return error(current.message)
        if (why_not := await asyncio.to_thread(dangling, located)) is not None:
            return error(f"{why_not}.")
        return await action_for_text(Change("create", located, None, None, params.content))
    if current.read_only:
        return error(f"{located.shown} cannot be edited: {current.read_only}")
    content = params.content
    if "\r" in current.text and "\r" not in content:
        mark, rest = apart(content)
        content = mark + await asyncio.to_thread(with_its_ends, Text(apart(current.text)[1]), rest)
    elif current.source == "buffer" and "\n" in current.text and "\r" not in current.text:
        # The line ends of an open document are its editor's: no edit changes them.
        content = content.replace("\r\n", "\n")
    if current.text.startswith(BOM) and not content.startswith(BOM):
        content = BOM + content
    if content == current.text:
        return error(f"{located.shown} already has exactly this text.")
    return await action_for_text(Change("edit", located, None, current.text, content), whole=True)


def _unmarked(wish: Replacement, mark: str) -> Replacement:
    """A wish for a text whose mark is not shown; it stays in the file, whether the wish has it or not."""
    old = wish.old.removeprefix(BOM)
    return replace(wish, old=old, new=wish.new.removeprefix(BOM)) if mark or old != wish.old else wish


def _edit(located: Located, before: str, after: str, context: ReadContext) -> Change:
    digest = context.workspace.watch.hash_of(located.display, before)
    return Change("edit", located, None, before, after, hashed=(before, digest) if digest else None)


async def _existing(path: str, context: ReadContext) -> tuple[Located, str] | ToolResult:
    located = await context.workspace.folders.locate(path)
    if isinstance(located, PathProblem):
        return error(located.message)
    if problem := await unseen(located, context):
        return problem
    found = await context.workspace.overlay.text(located)
    if isinstance(found, ReadProblem):
        return await missing(located, found, context)
    if isinstance(found, ReadOnly):
        return error(f"{located.shown} cannot be edited: {found.reason}")
    return located, found


EDIT_FILE = Tool(
    "edit_file",
    "Replace text in an existing file, or several texts with `edits`. `old` must be in the file exactly once (else set "
    "replace_all), without the line numbers of read_file. Only white space and the shape of quotation marks may differ, and "
    "the result then shows what was replaced. The result shows the changed lines as they are now, and new syntax errors. Not "
    'for whole files: use write_file. Example: {"path": "src/app.py", "old": "return hours * 3", "new": "return hours * 4"}',
    "edit",
    EditFile,
    plan_edit,
)
INSERT_LINES = Tool(
    "insert_lines",
    "Insert whole lines into a file, after a line of its current text. Line numbers"
    " refer to the file after the earlier calls of this step. To change lines use edit_file. Example: "
    '{"path": "src/app.py", "after_line": 3, "text": "import json\\n"}',
    "edit",
    InsertLines,
    plan_insert,
)
WRITE_FILE = Tool(
    "write_file",
    "Create a file with its folders, or replace the whole text of one that you have read in this session and that is "
    "unchanged since; another is refused. For a part of a file use edit_file. Example: "
    '{"path": "src/new.py", "content": "X = 1\\n"}',
    "edit",
    WriteFile,
    plan_write,
)


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

    path: str = Field(min_length=1, description="File or folder.")


class RenameFile(Params):
    """Arguments of `rename_file`."""

    from_: str = Field(alias="from", min_length=1, description="File or folder.")
    to: str = Field(min_length=1, description="New path; it must not exist.")


async def deletion(context: EditContext, located: Located, snapshot: Snapshot) -> Change:
    """The change that deletes a file, with its exact text, which an editor may hide in part, and its mode."""
    found = await context.workspace.overlay.on_disk(located)
    if found is None:
        return Change("delete", located, None, snapshot.text, None, snapshot.encoding)
    before = found.text if is_saved_as(snapshot.text, found.text) else snapshot.text
    return Change("delete", located, None, before, None, found.encoding, found.mode)


async def plan_delete(params: DeleteFile, call: ToolCall, context: EditContext) -> Action | ToolResult:
    """Delete a file or a folder."""
    located = await context.workspace.folders.locate(params.path)
    if isinstance(located, PathProblem):
        return error(located.message)

    async def delete(file: Located, snapshot: Snapshot) -> Change:
        return await deletion(context, file, snapshot)

    snapshot = await context.workspace.overlay.read(located)
    if isinstance(snapshot, ReadProblem) and snapshot.kind == "directory":
        found = await _of_folder(located, context, delete)
        if isinstance(found, str):
            return error(f"The folder {located.shown} cannot be deleted: {found}")
        action = await action_for(*found.changes, title=f"Delete the folder {located.shown} ({found.count})")
        return replace(action, prepare=saving(found.unsaved, call, context))
    editable = await _editable(located, snapshot, context)
    if isinstance(editable, ToolResult):
        return editable
    unsaved = [located] if editable.unsaved else []
    return replace(await action_for(await delete(located, editable)), prepare=saving(unsaved, call, context))


async def plan_rename(params: RenameFile, call: ToolCall, context: EditContext) -> Action | ToolResult:
    """Rename a file or a folder."""
    located = await context.workspace.folders.locate(params.from_)
    if isinstance(located, PathProblem):
        return error(located.message)
    to = await context.workspace.folders.locate(params.to)
    if isinstance(to, PathProblem):
        return error(to.message)
    snapshot = await context.workspace.overlay.read(located)
    is_folder = isinstance(snapshot, ReadProblem) and snapshot.kind == "directory"
    editable = None if is_folder else await _editable(located, snapshot, context)
    if isinstance(editable, ToolResult):
        return editable
    if (taken := await _taken(located, to, context)) is not None:
        return error(taken)
    if editable is not None:
        action = await action_for(Change("rename", located, to, editable.text, editable.text))
        return replace(action, prepare=saving([located] if editable.unsaved else [], call, context))
    if to.path is None or located.path is None:
        return error(f"{to.shown} cannot be the name of a folder.")
    old, new = located.path, to.path

    async def rename(file: Located, snapshot: Snapshot) -> Change | str:
        target = await context.workspace.folders.locate(str(new / (file.path or old).relative_to(old)))
        if isinstance(target, PathProblem):
            return target.message
        return Change("rename", file, target, snapshot.text, snapshot.text)

    found = await _of_folder(located, context, rename)
    if isinstance(found, str):
        return error(f"The folder {located.shown} cannot be renamed: {found}")
    if new.is_relative_to(old):
        return error(f"{to.shown} lies in {located.shown}, so it cannot be moved there.")
    title = f"Rename the folder {located.shown} to {to.shown} ({found.count})"
    return replace(
        await action_for(*found.changes, title=title), prepare=saving(found.unsaved, call, context)
    )


@dataclass(frozen=True, slots=True)
class _OfFolder:
    """What becomes of the files of a folder."""

    changes: list[Change]
    unsaved: list[Located]
    """Those that have to be saved before."""

    @property
    def count(self) -> str:
        return f"{len(self.changes)} files" if len(self.changes) != 1 else "1 file"


async def _in_folder(
    located: Located, context: EditContext
) -> tuple[Sequence[Path], Mapping[str, int]] | str:
    """The files of a folder, and its folders with their modes. A text says why it cannot be changed as a whole."""
    if located.own or located.resolved is None or located.path is None:
        return "it belongs to Outrider itself." if located.own else "it is not on disk."
    if any(
        located.path in {folder.path, *folder.path.parents} for folder in context.workspace.folders.folders
    ):
        return "it is or contains a workspace folder."
    if await asyncio.to_thread(located.path.is_symlink):
        return f"it {IS_LINK}."
    found = await asyncio.to_thread(folder_files, located.resolved, MOST_FILES + 1)
    if isinstance(found, DiskProblem):
        return f"{_shown(found.message, located)}."
    if len(found) > MOST_FILES:
        return f"it contains more than {MOST_FILES} files, the limit of one call."
    folders = await asyncio.to_thread(folders_in, located.resolved, MOST_FOLDERS + 1)
    if isinstance(folders, DiskProblem):
        return f"{_shown(folders.message, located)}."
    if len(folders) > MOST_FOLDERS:
        return f"it contains more than {MOST_FOLDERS} folders, the limit of one call."
    if not found:
        return "it contains no files, so undo could not restore it; remove it with a command."
    names = [located.path / path.relative_to(located.resolved) for path in found]
    return names, folders


async def _of_folder(
    located: Located, context: EditContext, change: Callable[[Located, Snapshot], Awaitable[Change | str]]
) -> _OfFolder | str:
    """The changes of all files of a folder; the folder goes with the last one. A text says why not."""
    inside = await _in_folder(located, context)
    if isinstance(inside, str):
        return inside
    names, folders = inside
    changes: list[Change] = []
    reasons: list[str] = []
    unsaved: list[Located] = []
    size = 0
    for name in names:
        file = await context.workspace.folders.locate(str(name))
        if isinstance(file, PathProblem):
            reasons.append(file.message)
            continue
        snapshot = await context.workspace.overlay.read(file)
        if isinstance(snapshot, ReadProblem):
            reasons.append(snapshot.message)
            continue
        if snapshot.unsaved and await is_own(file, snapshot, context):
            unsaved.append(file)
        elif snapshot.unsaved:
            reasons.append(f"{file.shown} {UNSAVED}")
        size += len(snapshot.text)
        if size > MOST_CHARACTERS:
            return f"its files contain more than {MOST_CHARACTERS} characters, the limit of one call."
        worked_out = await change(file, snapshot)
        if isinstance(worked_out, str):
            reasons.append(worked_out)
        else:
            changes.append(worked_out)
    if reasons:
        more = f"; and {len(reasons) - MOST_NAMED} more" if len(reasons) > MOST_NAMED else ""
        return f"{'; '.join(reasons[:MOST_NAMED])}{more}."
    return _OfFolder([*changes[:-1], replace(changes[-1], folder=located, folders=folders)], unsaved)


async def _taken(located: Located, to: Located, context: EditContext) -> str | None:
    """Why a path is not free for a rename; None if it is."""
    there = await context.workspace.overlay.read(to)
    if isinstance(there, Snapshot) or there.kind == "directory" or await asyncio.to_thread(is_link, to):
        return f"{to.shown} already exists."
    if there.kind != "not_found":
        return there.message
    if (why_not := await asyncio.to_thread(dangling, to)) is not None:
        return f"{why_not}."
    like = await asyncio.to_thread(_alike, located.resolved, to.resolved)
    if like is not None:
        return (
            f"{to.shown} differs from {like}, which already exists, only in case; on a case-insensitive "
            "disk they would be the same file."
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
    located: Located, snapshot: Snapshot | ReadProblem, context: EditContext
) -> Snapshot | ToolResult:
    if await asyncio.to_thread(is_link, located):
        return error(f"{located.shown} {IS_LINK}.")
    if isinstance(snapshot, ReadProblem):
        return await missing(located, snapshot, context)
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
    "Delete a file, or a folder that contains only text files; undo brings it back. Use it instead of rm. Example: "
    '{"path": "src/old.py"}',
    "edit",
    DeleteFile,
    plan_delete,
)
RENAME_FILE = Tool(
    "rename_file",
    "Rename or move a file, or a folder that contains only text files. Use it instead of mv; imports elsewhere are not "
    'changed. Example: {"from": "src/a.py", "to": "src/b.py"}',
    "edit",
    RenameFile,
    plan_rename,
)
