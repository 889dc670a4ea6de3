"""The tool `skill`: loads what a skill says, and the files that belong to it. It is offered where there are skills."""

import asyncio
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import Field

from outrider.permissions.policy.decide import Access
from outrider.permissions.secrets.secret_files import is_secret_file
from outrider.ports.model import ToolCall
from outrider.ports.text import spelled_out, visible
from outrider.tools.context import Action, ToolContext, ToolResult, error, ok
from outrider.tools.registry import Params, Tool, VaryingTool
from outrider.workspace.documents.overlay import ReadProblem
from outrider.workspace.paths import PathProblem

NAME: Final = "skill"
LISTED: Final = 250
"""Characters of a description in the list that every request has."""
MOST_LISTED: Final = 8_000
"""Characters of the whole list; what does not fit is named only."""
MOST_FILES: Final = 50
MOST_BYTES: Final = 200_000
_TOLD: Final = "Load a skill: instructions for a kind of task. Load it before you begin such a task. `file` reads another file of it. Skills:"


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill."""

    name: str
    description: str
    path: str
    """Its SKILL.md, as a user reads it."""
    folder: Path
    """Its real folder."""
    text: str
    source: str
    """`user` or `workspace`."""
    hint: str = ""
    for_user: bool = True
    """Whether a user can call it by `/name`."""
    for_model: bool = True
    """Whether a model may choose it."""


class Which(Params):
    """Which skill."""

    name: str = Field(min_length=1)
    file: str | None = Field(default=None, description="a path in the skill's folder")


def skill_tool(skills: Sequence[Skill]) -> Tool[Any] | None:
    """The tool for these skills; None where a model may choose none of them."""
    known = {skill.name: skill for skill in skills if skill.for_model}
    if not known:
        return None

    async def plan(params: Which, _call: ToolCall, context: ToolContext) -> Action | ToolResult:
        skill = known.get(params.name)
        if skill is None:
            return error(f"There is no skill {params.name!r}. There are: {', '.join(known)}.")
        if skill.source == "workspace" and params.file is not None:
            return await _of_workspace(skill, params.file, context)

        async def perform() -> ToolResult:
            return await asyncio.to_thread(_loaded, skill, params.file)

        return Action(access=Access("read"), perform=perform, title=f"Skill {skill.name}")

    return VaryingTool(NAME, f"{_TOLD}\n{_list(list(known.values()))}", "read", Which, plan)


async def _of_workspace(skill: Skill, name: str, context: ToolContext) -> Action | ToolResult:
    """A file of a skill of the workspace: rules, and what shuts files, hold for it as for any other file there."""
    located = await context.workspace.folders.locate(str(skill.folder / name))
    real = None if isinstance(located, PathProblem) else located.resolved
    if isinstance(located, PathProblem) or real is None or not located.inside:
        return error(f"{name} is not a file of the skill {skill.name}.")

    async def perform() -> ToolResult:
        if located.own or not real.is_relative_to(skill.folder):
            return await asyncio.to_thread(_file, skill, name)
        found = await context.workspace.overlay.read(located)
        return error(found.message) if isinstance(found, ReadProblem) else ok(found.text[:MOST_BYTES])

    return Action(
        access=Access("read", grant=f"read:{located.uri}", paths=[located.names]),
        perform=perform,
        title=f"Skill {skill.name}: {located.shown}",
    )


def _list(skills: Sequence[Skill]) -> str:
    lines, room = list[str](), MOST_LISTED
    for skill in skills:
        line = f"- {skill.name}: {_cut(skill.description)}"
        room -= len(line)
        lines.append(line if room >= 0 else f"- {skill.name}")
    return "\n".join(lines)


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LISTED else f"{line[: LISTED - 1]}…"


def _loaded(skill: Skill, name: str | None) -> ToolResult:
    if name is not None:
        return _file(skill, name)
    files = [one for one in _files(skill.folder) if one != "SKILL.md"]
    more = ""
    if files:
        listed = "\n".join(f"- {visible(one)}" for one in files)
        more = f"\n\n[Its files, in {spelled_out(str(skill.folder))}; read them with `file`:]\n{listed}"
    return ok(f"[Skill {skill.name}, from {skill.path}]\n{skill.text}{more}")


def _file(skill: Skill, name: str) -> ToolResult:
    path = Path(os.path.realpath(skill.folder / name))
    if not path.is_relative_to(skill.folder) or is_secret_file(str(path)):
        return error(f"{name} is not a file of the skill {skill.name}.")
    try:
        if not path.is_file():
            return error(f"The skill {skill.name} has no file {name}.")
        with path.open("rb") as file:
            content = file.read(MOST_BYTES)
    except OSError as problem:
        return error(f"{name} cannot be read: {problem.strerror}")
    return ok(content.decode("utf-8", "replace"))


def _files(folder: Path) -> Iterator[str]:
    count = 0
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(
            one for one in folders if not one.startswith((".", "__pycache__", "node_modules"))
        )
        for name in sorted(names):
            if name.startswith("."):
                continue
            count += 1
            if count > MOST_FILES:
                return
            yield str((Path(root) / name).relative_to(folder))
