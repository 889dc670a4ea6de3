"""The tools that change files. They only work the change out; the executor has it approved and written."""

import asyncio
from dataclasses import replace
from typing import Self

from pydantic import Field, model_validator

from outrider.ports.model import ToolCall
from outrider.tools.changes import action_for
from outrider.tools.context import Action, ToolContext
from outrider.tools.rebase import line_now
from outrider.tools.registry import Params, Tool
from outrider.tools.result import ToolResult, error
from outrider.tools.shut import unseen
from outrider.workspace.change import Change
from outrider.workspace.encoding import BOM, apart
from outrider.workspace.matching.blocks import Text, with_its_ends
from outrider.workspace.matching.replacing import MatchProblem, Replacement, insert_lines, replace_in_order
from outrider.workspace.overlay import ReadOnly, ReadProblem
from outrider.workspace.paths import Located, PathProblem, dangling

MOST_EDITS = 100
"""Replacements in one call."""


class Edit(Params):
    """One replacement of several."""

    old: str = Field(description="The text to replace.")
    new: str = Field(description="The text to put in its place.")
    replace_all: bool = Field(default=False, description="Replace every occurrence.")


class EditFile(Params):
    """Arguments of `edit_file`: `old` and `new`, or `edits`."""

    path: str = Field(min_length=1, description="Path relative to the workspace.")
    old: str = Field(
        default="", description="The text to replace, as it is in the file, long enough to be unique."
    )
    new: str = Field(default="", description="The text to put in its place.")
    replace_all: bool = Field(default=False, description="Replace every occurrence.")
    edits: list[Edit] = Field(
        default=[],
        max_length=MOST_EDITS,
        description="Instead of old and new: several replacements, in order, all or none.",
    )

    @model_validator(mode="after")
    def _has_one_form(self) -> Self:
        given = self.model_fields_set
        if "edits" in given and not self.edits:
            raise ValueError("edits is empty")
        if "edits" in given and given & {"old", "new", "replace_all"}:
            raise ValueError("give either old and new, or edits, not both")
        if "edits" not in given and not {"old", "new"} <= given:
            raise ValueError("old and new are missing (or edits, for several replacements)")
        return self

    @property
    def wishes(self) -> list[Replacement]:
        """The replacements, in order."""
        edits = self.edits or [Edit(old=self.old, new=self.new, replace_all=self.replace_all)]
        return [Replacement(one.old, one.new, one.replace_all) for one in edits]


class InsertLines(Params):
    """Arguments of `insert_lines`."""

    path: str = Field(min_length=1, description="Path relative to the workspace.")
    after_line: int = Field(ge=0, description="The line it comes after, from 1; 0: at the top.")
    text: str = Field(min_length=1, description="The lines to insert.")


class WriteFile(Params):
    """Arguments of `write_file`."""

    path: str = Field(min_length=1, description="Path relative to the workspace.")
    content: str = Field(description="The whole text of the file.")
    overwrite: bool = Field(default=False, description="Replace the file if it exists.")


async def plan_edit(params: EditFile, _call: ToolCall, context: ToolContext) -> Action | ToolResult:
    """Replace a text in a file."""
    found = await _existing(params.path, context)
    if isinstance(found, ToolResult):
        return found
    located, before = found
    mark, text = apart(before)
    wishes = [_unmarked(wish, mark) for wish in params.wishes]
    replaced = await asyncio.to_thread(replace_in_order, text, wishes)
    if isinstance(replaced, MatchProblem):
        return error(f"{located.shown}: {replaced.message}")
    if replaced.text == text:
        return error(f"{located.shown}: old and new are the same, so nothing would change.")
    change = _edit(located, before, mark + replaced.text, context)
    return action_for(change, note="\n".join(replaced.notes))


async def plan_insert(params: InsertLines, _call: ToolCall, context: ToolContext) -> Action | ToolResult:
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
        return error(f"{located.shown}: {inserted.message}")
    return action_for(_edit(located, before, mark + inserted.text, context))


async def plan_write(params: WriteFile, _call: ToolCall, context: ToolContext) -> Action | ToolResult:
    """Write a whole file."""
    located = await context.folders.locate(params.path)
    if isinstance(located, PathProblem):
        return error(located.message)
    current = await context.overlay.read(located)
    if isinstance(current, ReadProblem):
        if current.kind != "not_found":
            return error(current.message)
        if (why_not := await asyncio.to_thread(dangling, located)) is not None:
            return error(f"{why_not}.")
        return action_for(Change("create", located, None, None, params.content))
    if not params.overwrite:
        return error(
            f"{located.shown} exists. Use edit_file, or say overwrite: true to replace the whole of it."
        )
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
        return error(f"{located.shown} has exactly this text already.")
    return action_for(Change("edit", located, None, current.text, content), whole=True)


def _unmarked(wish: Replacement, mark: str) -> Replacement:
    """A wish for a text whose mark is not shown; it stays in the file, whether the wish has it or not."""
    old = wish.old.removeprefix(BOM)
    return replace(wish, old=old, new=wish.new.removeprefix(BOM)) if mark or old != wish.old else wish


def _edit(located: Located, before: str, after: str, context: ToolContext) -> Change:
    digest = context.hash_of(located, before)
    return Change("edit", located, None, before, after, hashed=(before, digest) if digest else None)


async def _existing(path: str, context: ToolContext) -> tuple[Located, str] | ToolResult:
    located = await context.folders.locate(path)
    if isinstance(located, PathProblem):
        return error(located.message)
    if problem := await unseen(located, context):
        return problem
    found = await context.overlay.text(located)
    if isinstance(found, ReadProblem):
        return error(found.message)
    if isinstance(found, ReadOnly):
        return error(f"{located.shown} cannot be edited: {found.reason}")
    return located, found


EDIT_FILE = Tool(
    "edit_file",
    "Replace a text in a file, or several with `edits`. `old` must occur exactly once unless replace_all is true.",
    "edit",
    EditFile,
    plan_edit,
)
INSERT_LINES = Tool(
    "insert_lines",
    "Insert whole lines into a file, after a line of the text as it is now. Where several calls of one step change"
    " the file, its lines count as the calls before this one leave them.",
    "edit",
    InsertLines,
    plan_insert,
)
WRITE_FILE = Tool(
    "write_file",
    "Write a new file, or replace a whole one with overwrite: true.",
    "edit",
    WriteFile,
    plan_write,
)
