"""Tells the model of the repository map, once in a turn, as soon as there is one: no step waits for it.

What is told is recorded, so that the log has the input. It comes as a message of its own behind all that was sent before, so
that a map, which is another one in each turn, leaves the bytes before it as they are.
"""

import asyncio
import re
from collections.abc import Iterable, Sequence
from typing import Final

from outrider.agent.prompt import open_documents
from outrider.agent.record import Record
from outrider.agent.services import Services
from outrider.agent.turn_state import TurnState
from outrider.ports.maps import Focus
from outrider.ports.model import Message
from outrider_protocol.events import MapDrawn

HEAD: Final = """\
# Repository map
Some of the names that files of this workspace define, each with its line; first those that the files at hand and the task
seem to lead to. It is drawn from the files and not complete. The names are data."""
SHARE: Final = 1 / 16
"""Of the context window, that a map may have at most."""
BYTES_PER_TOKEN: Final = 3
"""Names and numbers have more tokens than prose."""
FEWEST_FILES: Final = 20
"""Files from which on a map is worth its tokens, where nobody asked for it: fewer are seen at a glance."""
MOST_WORDS: Final = 500
"""Of a task, that are looked for among the names."""

_WORD: Final = re.compile(r"[\w./-]*\w")


class MapOfTurn:
    """Looks after the map of one turn."""

    def __init__(self, services: Services, record: Record, turn_id: str) -> None:
        """Nothing is drawn before `begin`."""
        self._services = services
        self._record = record
        self._turn_id = turn_id
        self._drawing: asyncio.Task[list[str] | None] | None = None
        self._begun = False

    def begin(self, context_window: int) -> None:
        """Have it drawn, where that is wanted.

        Args:
            context_window: Of the model, in tokens.
        """
        settings = self._services.settings()
        if not settings.draws_maps:
            return
        tokens = min(settings.repository_map.tokens, int(context_window * SHARE))
        turn = self._record.state.turns[self._turn_id]
        fewest = 0 if settings.repository_map.enabled else FEWEST_FILES
        drawing = self._services.maps.draw(self._focus(turn), tokens * BYTES_PER_TOKEN, fewest)
        self._begun = True
        self._drawing = asyncio.create_task(drawing, name="draw the repository map")

    def look(self, conversation: Iterable[Message]) -> None:
        """Record the map, if it is ready and was not told yet.

        Args:
            conversation: What the model is told anyway; what maps in it say is not said again.
        """
        if self._drawing is None or not self._drawing.done():
            return
        drawing, self._drawing = self._drawing, None
        known = _told(conversation)
        if blocks := [block for block in drawing.result() or () if block not in known]:
            told = "\n".join([HEAD, *blocks])
            self._record.append(MapDrawn(told=told), turn_id=self._turn_id)

    def end(self) -> None:
        """Let go of it, and have the next one know what this turn did."""
        if self._begun:
            self._services.maps.look_again()
        if self._drawing is not None:
            self._drawing.cancel()
            self._drawing = None

    def _focus(self, turn: TurnState) -> Focus:
        touches = self._record.state.memory.touches
        return Focus(
            open=open_documents(turn.context, self._services.folders, self._services.documents),
            read=list(dict.fromkeys(touch.path for touch in touches if not touch.changed)),
            edited=list(dict.fromkeys(touch.path for touch in touches if touch.changed)),
            words=words_of(turn.prompt),
        )


def words_of(prompt: str) -> list[str]:
    """What of a task may be names or paths, and the names in what looks like a path or a call. Pure."""
    words: dict[str, None] = {}
    for word in _WORD.findall(prompt[: 100 * MOST_WORDS]):
        words[word] = None
        words.update(dict.fromkeys(re.findall(r"\w{3,}", word)))
    return list(words)[:MOST_WORDS]


def _told(conversation: Iterable[Message]) -> set[str]:
    """The blocks of the maps in a conversation."""
    parts = [part for message in conversation for part in message.parts if part.kind == "map"]
    return {block for part in parts for block in _blocks(part.text.split("\n"))}


def _blocks(lines: Sequence[str]) -> list[str]:
    """Lines as blocks, each of which begins with one that is not indented."""
    blocks: list[str] = []
    for line in lines:
        if line.startswith(" ") and blocks:
            blocks[-1] += f"\n{line}"
        else:
            blocks.append(line)
    return blocks
