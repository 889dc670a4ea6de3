"""Memory: Markdown files of the user and of a trusted workspace that each session begins with, and the tool that adds to them."""

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from outrider.ports.text import visible
from outrider.tools.registry import Tool
from outrider.tools.remember import Scope, remember_tool
from outrider.workspace.paths import OWN_FOLDER, Folder
from outrider.workspace.workspace import View
from outrider_protocol.settings import Settings

FILE: Final = "memory.md"
MOST_CHARACTERS: Final = 8_000
"""Of one file; the last ones count, as lines are added at the end."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a file says."""

    scope: Scope
    path: Path
    text: str


class Memory:
    """The memory of one house."""

    def __init__(
        self, workspace: View, trusts: Callable[[Path], bool], own: Path, settings: Callable[[], Settings]
    ) -> None:
        """Nothing is read before `read`; `own` is the folder of Outrider's configuration."""
        self._workspace = workspace
        self._trusts = trusts
        self._own = own
        self._settings = settings
        self._tool = remember_tool(self._place_of)
        self.known: tuple[Remembered, ...] = ()
        """As it was read last."""

    async def read(self) -> tuple[Remembered, ...]:
        """What there is: the user's, and that of the first workspace folder if it is trusted."""
        scopes: list[Scope] = ["user", "workspace"]
        places: list[tuple[Scope, Path]] = [
            (scope, path) for scope in scopes if (path := self._place_of(scope)) is not None
        ]
        texts = await asyncio.to_thread(lambda: [_text(path) for _, path in places])
        self.known = tuple(
            Remembered(scope, path, text)
            for (scope, path), text in zip(places, texts, strict=True)
            if text is not None
        )
        return self.known

    async def withheld(self, folder: Folder | None = None) -> list[str]:
        """Its file in a first workspace folder that is not trusted."""
        first = next(iter(self._workspace.folders.folders), None)
        if first is None or self._trusts(first.path) or folder not in {None, first}:
            return []
        text = await asyncio.to_thread(_text, first.path / OWN_FOLDER / FILE)
        return [] if text is None else [f"{OWN_FOLDER}/{FILE}"]

    @property
    def tool(self) -> Tool[Any] | None:
        """The tool that adds to it; None where memory is not used."""
        wanted = self._settings().memory
        return self._tool if wanted or (wanted is None and self.known) else None

    def _place_of(self, scope: Scope) -> Path | None:
        if scope == "user":
            return self._own / FILE
        first = next(iter(self._workspace.folders.folders), None)
        if first is None or not self._trusts(first.path):
            return None
        return first.path / OWN_FOLDER / FILE


def _text(path: Path) -> str | None:
    """The text of a file; None where there is none that says something. Blocks."""
    try:
        if not path.is_file() or (
            path.parent.name == OWN_FOLDER
            and os.path.realpath(path) != os.path.realpath(path.parent.parent) + f"/{OWN_FOLDER}/{FILE}"
        ):
            return None  # what a link brings in from elsewhere is not the folder's
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 4 * MOST_CHARACTERS))
            text = file.read(4 * MOST_CHARACTERS).decode("utf-8", "ignore").strip()
    except OSError:
        return None
    return visible(text[-MOST_CHARACTERS:]) or None
