"""Skills: folders with a `SKILL.md` and what belongs to it, in the form of agentskills.io.

A model is told their names and what they are for, and loads one with the tool `skill`. Their scripts run like any command.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from outrider.agent.customization import front_matter
from outrider.agent.customization.commands import DESCRIPTION, CustomCommand
from outrider.agent.customization.files import Files, Found, Place
from outrider.ports.text import spelled_out, visible
from outrider.tools.skill import Skill
from outrider.workspace.paths import Folder

FILE: Final = "SKILL.md"
OF_USER: Final = (Place("skills", FILE),)
_FOLDERS: Final = (".claude", ".agents", ".gemini", ".github", ".codex", ".opencode", ".cursor", ".copilot")
OF_HOME: Final = tuple(Place(f"{folder}/skills", FILE) for folder in (*_FOLDERS, ".config/opencode"))
PLACES: Final = (Place(".outrider/skills", FILE), *OF_HOME[:-1])
MOST_DESCRIBED: Final = 1024
"""Characters of a description; the specification allows no more."""


class Skills:
    """The skills of a user and a workspace."""

    def __init__(self, files: Files, *, enabled: bool) -> None:
        """Look for them with `files`; none count where they are not `enabled`."""
        self._files = files
        self._enabled = enabled
        self.all: tuple[Skill, ...] = ()
        """As they were seen last."""
        self.problems: list[str] = []
        """Which files are no skill, or have the name of another one and say something else."""

    async def refresh(self) -> None:
        """Look for them anew. Of several with one name the first counts, the user's before the workspace's."""
        if not self._enabled:
            return
        found = [*await self._files.of_user(OF_HOME, OF_USER), *await self._files.of_workspace(PLACES)]
        made = await asyncio.to_thread(lambda: list(map(_read, found)))
        by_name: dict[str, Skill] = {}
        behind: list[Skill] = []
        for skill in (one for one in made if isinstance(one, Skill)):
            first = by_name.setdefault(skill.name, skill)
            if (first.text, first.description) != (skill.text, skill.description):
                behind.append(skill)
        self.problems = [one for one in made if isinstance(one, str)]
        self.problems += [
            f"{one.path} is left out: {by_name[one.name].path} has its name, {one.name}" for one in behind
        ]
        self.all = tuple(by_name[name] for name in sorted(by_name))

    async def withheld(self, folder: Folder | None = None) -> list[Found]:
        """Those in workspace folders that are not trusted, or in one of them."""
        return await self._files.withheld(PLACES, folder) if self._enabled else []

    async def as_commands(self) -> Sequence[CustomCommand]:
        """Those that a user can call by name."""
        await self.refresh()
        return [
            CustomCommand(
                name=skill.name,
                description=skill.description[:DESCRIPTION],
                source="skill",
                path=skill.path,
                hint=skill.hint,
                body=f"Use this skill ({skill.name}, in {spelled_out(str(skill.folder))}):\n\n{skill.text}",
                folder=str(skill.folder) if skill.source == "workspace" else "",
                is_own=skill.source == "user",
            )
            for skill in self.all
            if skill.for_user
        ]


def _read(file: Found) -> Skill | str:
    """The skill in a file, or the reason why the file is left out. A model chooses a skill by its description."""
    head, body = front_matter.split(file.text)
    described = front_matter.text_of(head, "description")
    name = front_matter.text_of(head, "name") or file.name.rpartition(":")[2]
    if not described or not body.strip():
        lacks = (
            "its front matter has no description" if body.strip() else "it is empty below its front matter"
        )
        return f"{file.path} is left out: {lacks}"
    return Skill(
        name=spelled_out(name[:64]),
        description=visible(described[:MOST_DESCRIBED]),
        path=file.path,
        folder=file.real.parent,
        text=visible(body.strip()),
        source=file.source,
        hint=visible(front_matter.text_of(head, "argument-hint")),
        for_user=head.get("user-invocable") is not False,
        for_model=head.get("disable-model-invocation") is not True,
    )
