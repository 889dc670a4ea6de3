"""How much of a call's output is shown while it comes: no client is sent more than it can take. Pure.

A command prints faster than any client draws. What a client has not taken waits in the server, and a client with too much
waiting counts as gone, which ends the session: a command that prints 100 MB must not do that. The result of the call has
the head and the tail of the output, whatever was shown.
"""

from dataclasses import dataclass
from typing import Final

AT_ONCE: Final = 2_000_000
"""Characters that are shown as fast as they come."""
PER_SECOND: Final = 250_000
"""Characters that are shown beyond that."""
LEAST: Final = 50_000
"""Characters for which there must be room before showing goes on: a few long gaps instead of many short ones."""
LEFT_OUT: Final = "\n[… {count:,} characters came too fast to be shown …]\n"


@dataclass(slots=True)
class Live:
    """What was shown of one call's output."""

    at: float
    """When `room` was counted, in seconds."""
    offset: int = 0
    """Where the next text goes in all that was shown."""
    room: float = AT_ONCE
    _left_out: int = 0

    def take(self, text: str, now: float) -> str:
        """What is shown of the next text: all of it, behind what tells of a gap, or nothing."""
        self.room = min(AT_ONCE, self.room + (now - self.at) * PER_SECOND)
        self.at = now
        if self.room < (LEAST if self._left_out else 1):
            self._left_out += len(text)
            return ""
        self.room -= len(text)
        return self._shown(text)

    def end(self) -> str:
        """What is shown when no more will come."""
        return self._shown("")

    def _shown(self, text: str) -> str:
        gap, self._left_out = LEFT_OUT.format(count=self._left_out) if self._left_out else "", 0
        self.offset += len(gap) + len(text)
        return gap + text
