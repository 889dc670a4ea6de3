"""A user who answers at a keyboard: each line is typed when a question is shown."""

import asyncio
from collections.abc import Callable


class Typist:
    """A `Keyboard` whose user types some lines, one at each question, and then nothing more."""

    def __init__(self, typed: str) -> None:
        self._lines = typed.splitlines()

    async def answer(self, draw: Callable[[bool], None]) -> str | None:
        draw(False)
        if not self._lines:
            await asyncio.Event().wait()
        return self._lines.pop(0)
