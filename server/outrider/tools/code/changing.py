"""The tools that have language servers work out edits: rename_symbol, code_actions, format.

What a server works out is an edit like any other: the executor has it approved, written and recorded, all of it or nothing.
"""

from collections.abc import Sequence
from typing import Final

from pydantic import Field

from outrider.permissions.policy.decide import Access
from outrider.ports.language import NewFile, Unknown
from outrider.ports.model import ToolCall
from outrider.tools.code.places import Place, find
from outrider.tools.context import Action, EditContext, ToolResult, error, ok
from outrider.tools.edit.changes import action_for
from outrider.tools.edit.tools import deletion
from outrider.tools.registry import Params, Tool
from outrider.workspace.documents.overlay import ReadProblem
from outrider.workspace.edits.change import Change
from outrider.workspace.paths import PathProblem

MOST_ACTIONS: Final = 40
"""Actions that are listed."""


class RenameSymbol(Place):
    """Arguments of `rename_symbol`."""

    new_name: str = Field(description="Its new name.")


async def plan_rename_symbol(
    params: RenameSymbol, _call: ToolCall, context: EditContext
) -> Action | ToolResult:
    """Work out what renaming a name changes."""
    at = await find(params, "textDocument/rename", context)
    if isinstance(at, str):
        return error(at)
    said = await at.answers.rename(at.spot, params.new_name)
    if isinstance(said, Unknown):
        return error(f"{at.name} at {at.display} cannot be renamed: {said.message}.")
    if not said:
        return error(f"{at.name} at {at.display} cannot be renamed: the language server changes nothing.")
    return await _edit(said, f"Rename {at.name} to {params.new_name}", context)


class Format(Params):
    """Arguments of `format`."""

    path: str = Field(min_length=1, description="The file.")
    first_line: int | None = Field(default=None, description="Default: 1.")
    last_line: int | None = Field(default=None, description="Default: its end.")


async def plan_format(params: Format, _call: ToolCall, context: EditContext) -> Action | ToolResult:
    """Work out what formatting a file changes."""
    located = await context.workspace.folders.locate(params.path)
    if isinstance(located, PathProblem):
        return error(located.message)
    lines = None
    if params.first_line is not None or params.last_line is not None:
        first = params.first_line or 1
        lines = (first - 1, max(first, params.last_line or 10**9) - 1)
    answers = await context.languages.answers_for(
        located.uri, "textDocument/formatting" if lines is None else "textDocument/rangeFormatting"
    )
    said = answers if isinstance(answers, Unknown) else await answers.format(located.uri, lines)
    if isinstance(said, Unknown):
        return error(f"{located.shown} cannot be formatted: {said.message}.")
    if not said:
        return _saying(ok(f"{located.shown} is formatted already."))
    return await _edit(said, f"Format {located.shown}", context)


class CodeActions(Params):
    """Arguments of `code_actions`."""

    path: str = Field(min_length=1, description="The file.")
    line: int = Field(ge=1, description="The first line.")
    last_line: int | None = Field(default=None, description="Default: line.")
    kind: str | None = Field(default=None, description="Such as `source.organizeImports`.")
    apply: str | None = Field(default=None, description="A title of them.")


async def plan_code_actions(
    params: CodeActions, _call: ToolCall, context: EditContext
) -> Action | ToolResult:
    """List what the language servers offer to do at some lines, or work out one of these."""
    located = await context.workspace.folders.locate(params.path)
    if isinstance(located, PathProblem):
        return error(located.message)
    lines = (params.line - 1, max(params.line, params.last_line or 0) - 1)
    offered = await context.languages.offered(located.uri, lines, params.kind)
    if isinstance(offered, Unknown):
        return error(f"{located.shown}: {offered.message}.")
    if not offered:
        return _saying(ok(f"No actions are offered at {located.shown}:{params.line}."))
    if params.apply is None:
        listed = [
            f"{one.title}{f' [{one.kind}]' if one.kind else ''}{' (preferred)' * one.preferred}"
            for _, one, _ in offered
        ]
        more = [f"[{len(listed) - MOST_ACTIONS} more; give a kind]"] if len(listed) > MOST_ACTIONS else []
        return _saying(ok("\n".join([*listed[:MOST_ACTIONS], *more])))
    wanted = " ".join(params.apply.split())
    chosen = next(((asked, item) for asked, one, item in offered if one.title == wanted), None)
    if chosen is None:
        return error(
            f"No action at {located.shown}:{params.line} has the title {wanted!r}. There are:\n"
            + "\n".join(one.title for _, one, _ in offered[:MOST_ACTIONS])
        )
    said = await context.languages.resolved(*chosen)
    if isinstance(said, Unknown):
        return error(f"“{wanted}” cannot be applied: {said.message}.")
    if not said:
        return error(f"“{wanted}” changes nothing.")
    return await _edit(said, wanted, context)


async def _edit(files: Sequence[NewFile], title: str, context: EditContext) -> Action | ToolResult:
    """The edit that makes what a server worked out, as one call."""
    changes: list[Change] = []
    for one in files:
        change = await _change(one, context)
        if isinstance(change, str):
            return error(f"{title}: {change}")
        changes += change
    count = len({change.located.uri for change in changes})
    return await action_for(*changes, title=f"{title} (in {count} file{'s' * (count != 1)})")


async def _change(one: NewFile, context: EditContext) -> list[Change] | str:
    located = await context.workspace.folders.locate(one.uri)
    if isinstance(located, PathProblem):
        return f"{located.message}."
    if not located.inside or located.own:
        return f"it would change {located.shown}, which lies outside the workspace."
    if one.operation == "create":
        return [Change("create", located, None, None, one.after)]
    snapshot = await context.workspace.overlay.read(located)
    if isinstance(snapshot, ReadProblem):
        return f"{snapshot.message}."
    if snapshot.read_only:
        return f"{located.shown} cannot be edited: {snapshot.read_only}."
    if one.operation == "delete":
        return [await deletion(context, located, snapshot)]
    if snapshot.text != one.before:
        return f"{located.shown} changed while the language server worked on it."
    if one.operation == "edit":
        return [Change("edit", located, None, one.before, one.after)]
    to = await context.workspace.folders.locate(one.to)
    if isinstance(to, PathProblem):
        return f"{to.message}."
    renamed = Change("rename", located, to, one.before, one.before)
    return (
        [renamed] if one.after == one.before else [renamed, Change("edit", to, None, one.before, one.after)]
    )


def _saying(result: ToolResult) -> Action:
    """An action that only says something."""

    async def perform() -> ToolResult:
        return result

    return Action(access=Access("read"), perform=perform)


RENAME_SYMBOL = Tool(
    "rename_symbol",
    "Rename a name everywhere it is used, as one edit.",
    "edit",
    RenameSymbol,
    plan_rename_symbol,
)
CODE_ACTIONS = Tool(
    "code_actions",
    "List the fixes and refactorings of language servers at a line, or apply one.",
    "edit",
    CodeActions,
    plan_code_actions,
)
FORMAT = Tool("format", "Format a file, or some lines.", "edit", Format, plan_format)
