"""Tells the model of the instructions of folders that it comes to, each once, where the workspace is trusted.

What is found is recorded with the words in which the model is told, so that the log has the input. It comes as a message
of its own: the system message keeps its bytes.
"""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import PurePosixPath
from typing import Final

from outrider.agent.instruction_files import folder_of
from outrider.agent.record import Record
from outrider.agent.services import Services
from outrider_protocol.events import InstructionsFound

MOST_FILES: Final = 10
"""Files that a session is told of."""
MOST_CHARACTERS: Final = 32_000
"""Characters of all of them together."""


class InstructionsNear:
    """Looks after the instructions of one turn."""

    def __init__(
        self,
        services: Services,
        record: Record,
        turn_id: str,
        ask_for_trust: Callable[[Sequence[str]], Awaitable[None]],
    ) -> None:
        """Look for what belongs to the files of the session of `record`; `ask_for_trust` asks about what was found."""
        self._services = services
        self._ask_for_trust = ask_for_trust
        self._record = record
        self._turn_id = turn_id
        self._looked = 0
        self._folders: set[PurePosixPath] = set()

    async def look(self) -> None:
        """Record what was found near the files that were read or changed since the last look."""
        memory = self._record.state.memory
        touches = memory.touches[self._looked :]
        self._looked = len(memory.touches)
        paths = dict.fromkeys(
            touch.path for touch in touches if PurePosixPath(touch.path).parent not in self._folders
        )
        self._folders.update(PurePosixPath(path).parent for path in paths)
        if not paths:
            return
        found = await self._services.briefing.instructions_near(paths, memory.instructions)
        if not all(map(self._is_trusted, found)):
            await self._ask_for_trust([path for path in found if not self._is_trusted(path)])
            found = {path: text for path, text in found.items() if self._is_trusted(path)}
        for path, text in found.items():
            used = sum(map(len, memory.instructions.values()))
            if len(memory.instructions) < MOST_FILES and used + len(text) <= MOST_CHARACTERS:
                folder = folder_of(path)
                told = f"Instructions for the files in {folder}, from {path}:\n{text}"
                self._record.append(InstructionsFound(path=path, told=told), turn_id=self._turn_id)

    def _is_trusted(self, path: str) -> bool:
        folder = self._services.folders.folder_of(path)
        return folder is not None and self._services.trust.trusts(folder.path)
