"""Instructions that other agents keep for some files or some tasks, in folders of their own, where a trusted workspace has them.

The forms: project rules of Cursor (`.mdc`, since 0.45), instructions of Copilot (VS Code, and the command line as of 1.0.48), rules of
Claude Code (as of 2.1). Many hold globs without quotes, which is no YAML, and are read all the same.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, cast

from outrider.agent.customization import front_matter
from outrider.agent.customization.files import Files, Found, Place
from outrider.ports.globs import IgnoreRules, without_braces
from outrider.ports.text import one_line, visible
from outrider.workspace.paths import Folder

PLACES: Final = (
    Place(".cursor/rules", ".mdc", "cursor"),
    Place(".github/instructions", ".instructions.md", "copilot"),
    Place(".claude/rules", ".md", "claude"),
)
_KEYS: Final[Mapping[str, Sequence[str]]] = {
    "cursor": ("globs",),
    "copilot": ("applyTo",),
    "claude": ("paths", "globs"),
}
LONGEST_PATTERNS: Final = 2_000
"""Characters of the patterns of one file."""
MOST_PATTERNS: Final = 100
"""Patterns of one file, each choice in braces for itself."""
LONGEST_DESCRIPTION: Final = 300
"""Characters of a description that is listed."""
LIMIT: Final = 8_000
"""Characters of one file that are told."""
MOST_LISTED: Final = 50
"""Files that are listed by their descriptions."""
_ALL: Final = frozenset({"*", "**", "**/*", "**/**"})


@dataclass(frozen=True, slots=True)
class Scoped:
    """One file of instructions."""

    path: str
    """As the user and the model read it."""
    text: str
    description: str
    patterns: tuple[str, ...]
    """What the files are called that it is about; none where it is about all, or where the model chooses it."""
    is_always: bool
    """Whether it is about all that is done."""
    folder: Folder
    source: str
    """The whole file, by which it is known again."""
    _rules: IgnoreRules | None

    def is_about(self, inner: str) -> bool:
        """Whether it is about the file with this path in its workspace folder."""
        return self._rules is not None and self._rules.matches(inner)


class ScopedInstructions:
    """Those of one workspace."""

    def __init__(self, files: Files) -> None:
        """Look for them with `files`, once they are wanted."""
        self._files = files
        self._all: tuple[Scoped, ...] | None = None

    async def refresh(self) -> Sequence[Scoped]:
        """Look for them anew, at the start of a turn."""
        found = await self._files.of_workspace(PLACES)
        before = {(one.path, one.source): one for one in self._all or ()}

        def read() -> list[Scoped]:
            return [one for file in found if (one := before.get((file.path, file.text)) or _read(file))]

        self._all = tuple(await asyncio.to_thread(read)) if found else ()
        return self._all

    async def withheld(self, folder: Folder | None = None) -> list[Found]:
        """The files in workspace folders that are not trusted, or in one of them."""
        return await self._files.withheld(PLACES, folder)

    async def about(self, paths: Mapping[str, Path], known: Mapping[str, str]) -> dict[str, str]:
        """The rules that apply to some files, as the model is told them.

        Args:
            paths: The files, as the tools name them, each with its path on the disk.
            known: What was told before, by path, each as it was told, which ends with its text.

        Returns:
            By path, the words for each whose text was not told yet.
        """
        found: dict[str, str] = {}
        told = list(known.values())
        for one in self._all if self._all is not None else await self.refresh():
            ending = f":\n{one.text}"
            if one.patterns and _are_about(one, paths.values()) and not any(t.endswith(ending) for t in told):
                named = one_line(", ".join(one.patterns))
                found[one.path] = f"Instructions for files like {named}, from {one_line(one.path)}{ending}"
                told.append(found[one.path])
        return found


def listed(scoped: Iterable[Scoped]) -> str:
    """What the model is told of those that it chooses by their descriptions; empty where there are none. Pure."""
    lines = [
        f"- {one_line(one.path)}: {one.description}"
        for one in scoped
        if one.description and not one.is_always and not one.patterns
    ]
    if not lines:
        return ""
    more = [f"- and {len(lines) - MOST_LISTED} more"] if len(lines) > MOST_LISTED else []
    head = "Read the file of any of these instructions before you do what it is about:"
    return "\n".join([head, *lines[:MOST_LISTED], *more])


def patterns_in(values: Mapping[str, Any], keys: Iterable[str]) -> list[str]:
    """The patterns that front matter names under some keys: a list, or a text with commas, with or without quotes. Pure."""
    found: dict[str, None] = {}
    for key in keys:
        value: Any = values.get(key)
        if isinstance(value, str):
            value = value.strip()
            value = value[1:-1] if value.startswith("[") and value.endswith("]") else value
        for said in cast("list[Any]", value) if isinstance(value, list) else [value]:
            for part in _apart(said) if isinstance(said, str) else ():
                if pattern := part.strip().strip("\"'").strip():
                    found[pattern] = None
    return list(found)


def _apart(text: str) -> list[str]:
    """A text without its commas, except those in braces."""
    parts, depth = [""], 0
    for sign in text:
        depth = max(0, depth + (sign == "{") - (sign == "}"))
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return parts


def _read(file: Found) -> Scoped | None:
    """What a file says; None where it says nothing."""
    head, body = front_matter.split(file.text)
    text = visible(body.strip()[:LIMIT]).strip()
    if not text or file.folder is None:
        return None
    form = file.place.form
    patterns = patterns_in(head, _KEYS[form])
    says_always = form == "cursor" and str(head.get("alwaysApply")).lower() == "true"
    is_always = says_always or (form == "claude" and not patterns) or not _ALL.isdisjoint(patterns)
    described = one_line(visible(front_matter.text_of(head, "description")))
    rules = None if is_always or not patterns else _rules(patterns)
    if patterns and rules is None and not is_always:
        described = described or one_line(visible(f"for files like {', '.join(patterns)}"))
    return Scoped(
        path=file.path,
        text=text,
        description=described[:LONGEST_DESCRIPTION],
        patterns=tuple(patterns) if rules is not None else (),
        is_always=is_always,
        folder=file.folder,
        source=file.text,
        _rules=rules,
    )


def _rules(patterns: Sequence[str]) -> IgnoreRules | None:
    """Patterns as in a `.gitignore`, with `{a,b}` besides; None where they cannot be used."""
    if sum(map(len, patterns)) > LONGEST_PATTERNS:
        return None
    lines = (line for one in patterns for line in without_braces(one.removeprefix("./")))
    taken = [f"\\{line}" if line.startswith("#") else line for line in islice(lines, MOST_PATTERNS + 1)]
    if len(taken) > MOST_PATTERNS:
        return None
    try:
        return IgnoreRules(taken)
    except ValueError:
        return None


def _are_about(scoped: Scoped, places: Iterable[Path]) -> bool:
    top = scoped.folder.path
    return any(
        place.is_relative_to(top) and scoped.is_about(place.relative_to(top).as_posix()) for place in places
    )
