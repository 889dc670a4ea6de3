"""The tools that change files. They only work the change out; the executor has it approved and written."""

from pydantic import Field

from outrider.ports.model import ToolCall
from outrider.ports.text import Snapshot
from outrider.tools.changes import action_for
from outrider.tools.context import Action, ToolContext
from outrider.tools.registry import Params, Tool
from outrider.tools.result import ToolResult, error
from outrider.workspace.editing import Change
from outrider.workspace.matching import MatchProblem, replace_exact
from outrider.workspace.overlay import ReadProblem
from outrider.workspace.paths import Located, PathProblem


class EditFile(Params):
    """Arguments of `edit_file`."""

    path: str = Field(min_length=1, description="Path relative to the workspace.")
    old: str = Field(
        description="The text to replace, exactly as it is in the file, long enough to be unique."
    )
    new: str = Field(description="The text to put in its place.")
    replace_all: bool = Field(default=False, description="Replace every occurrence.")


class WriteFile(Params):
    """Arguments of `write_file`."""

    path: str = Field(min_length=1, description="Path relative to the workspace.")
    content: str = Field(description="The whole text of the file.")
    overwrite: bool = Field(default=False, description="Replace the file if it exists.")


class DeleteFile(Params):
    """Arguments of `delete_file`."""

    path: str = Field(min_length=1, description="Path relative to the workspace.")


class RenameFile(Params):
    """Arguments of `rename_file`."""

    from_: str = Field(alias="from", min_length=1, description="Path relative to the workspace.")
    to: str = Field(min_length=1, description="New path relative to the workspace; it must not exist.")


async def plan_edit(params: EditFile, _call: ToolCall, context: ToolContext) -> Action | ToolResult:
    """Replace a text in a file."""
    found = await _existing(params.path, context)
    if isinstance(found, ToolResult):
        return found
    located, snapshot = found
    replaced = replace_exact(snapshot.text, params.old, params.new, replace_all=params.replace_all)
    if isinstance(replaced, MatchProblem):
        return error(f"{located.display}: {replaced.message}")
    if replaced.text == snapshot.text:
        return error(f"{located.display}: old and new are the same, so nothing would change.")
    return action_for(Change("edit", located, None, snapshot.text, replaced.text))


async def plan_write(params: WriteFile, _call: ToolCall, context: ToolContext) -> Action | ToolResult:
    """Write a whole file."""
    located = await context.folders.locate(params.path)
    if isinstance(located, PathProblem):
        return error(located.message)
    current = await context.overlay.read(located)
    if isinstance(current, ReadProblem):
        if current.kind != "not_found":
            return error(current.message)
        return action_for(Change("create", located, None, None, params.content))
    if not params.overwrite:
        return error(
            f"{located.display} exists. Use edit_file, or say overwrite: true to replace the whole of it."
        )
    if current.read_only:
        return error(f"{located.display} cannot be edited: {current.read_only}")
    content = params.content
    if "\r\n" in current.text and "\r\n" not in content:
        content = content.replace("\n", "\r\n")
    if content == current.text:
        return error(f"{located.display} has exactly this text already.")
    return action_for(Change("edit", located, None, current.text, content), whole=True)


async def plan_delete(params: DeleteFile, _call: ToolCall, context: ToolContext) -> Action | ToolResult:
    """Delete a file."""
    found = await _existing(params.path, context)
    if isinstance(found, ToolResult):
        return found
    located, snapshot = found
    return action_for(Change("delete", located, None, snapshot.text, None))


async def plan_rename(params: RenameFile, _call: ToolCall, context: ToolContext) -> Action | ToolResult:
    """Rename a file."""
    found = await _existing(params.from_, context)
    if isinstance(found, ToolResult):
        return found
    located, snapshot = found
    to = await context.folders.locate(params.to)
    if isinstance(to, PathProblem):
        return error(to.message)
    there = await context.overlay.read(to)
    if not isinstance(there, ReadProblem):
        return error(f"{to.display} exists already.")
    if there.kind != "not_found":
        return error(there.message)
    return action_for(Change("rename", located, to, snapshot.text, snapshot.text))


async def _existing(path: str, context: ToolContext) -> tuple[Located, Snapshot] | ToolResult:
    located = await context.folders.locate(path)
    if isinstance(located, PathProblem):
        return error(located.message)
    snapshot = await context.overlay.read(located)
    if isinstance(snapshot, ReadProblem):
        return error(snapshot.message)
    if snapshot.read_only:
        return error(f"{located.display} cannot be edited: {snapshot.read_only}")
    return located, snapshot


EDIT_FILE = Tool(
    "edit_file",
    "Replace a text in a file. `old` must occur exactly once unless replace_all is true.",
    "edit",
    EditFile,
    plan_edit,
)
WRITE_FILE = Tool(
    "write_file",
    "Write a new file, or replace a whole one with overwrite: true.",
    "edit",
    WriteFile,
    plan_write,
)
DELETE_FILE = Tool("delete_file", "Delete a file.", "edit", DeleteFile, plan_delete)
RENAME_FILE = Tool("rename_file", "Rename or move a file.", "edit", RenameFile, plan_rename)
