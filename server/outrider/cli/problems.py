"""Errors, warnings and the server's messages, on standard error. No other module of the command line writes them.

Standard output is for what a command gives: it can be piped into another program, or be JSON.
"""

import sys
from collections.abc import Callable
from typing import Final

from rich.console import Console
from rich.text import Text

from outrider.cli.terminal import make_console, visible

LEFT_AS_IT_IS: Final = "Outrider left unchanged:"
"""How the server begins to say what an undo left, which the result of the command says, too."""
_ENDS: Final = (
    "Outrider is waiting for you:",
    "Outrider, completed:",
    "Outrider, failed:",
    "Outrider, cancelled:",
    "Outrider, refused:",
    "Outrider, budget exhausted:",
    LEFT_AS_IT_IS,
)
"""How messages begin that say how a turn or an undo stands or ended, which is shown in other words here."""

_ERROR: Final = 1
_WARNING: Final = 2
_INFO: Final = 3
# LSP 3.17, `MessageType`.


def _nothing() -> None:
    pass


class Problems:
    """What goes wrong in one command. A text that comes twice, as an event and as a message, is shown once."""

    def __init__(self, console: Console | None = None) -> None:
        """Write to `console`; None is standard error."""
        self.console = console if console is not None else make_console(sys.stderr)
        self.before: Callable[[], None] = _nothing
        """Called before each line: ends a line that the output has begun, since both may be one terminal."""
        self._holds = True
        self._held: list[str] = []
        """Warnings from before the first event, held back because an error may say the same."""
        self._said: set[str] = set()
        """Errors and warnings that came once, as an event or as a message, and may come the other way too."""

    def error(self, text: str, *, told: str = "") -> None:
        """Show why something did not work, unless the server has shown the very same.

        Args:
            text: Why.
            told: The same in the server's words, where `text` says more: its warning of it would say it again.
        """
        if text in self._said and text not in self._held:
            return
        self._held = [held for held in self._held if held not in {text, told}]
        self._write(f"error: {text}", "red")

    def warning(self, text: str) -> None:
        """Show what the user should know although the command goes on."""
        self._write(f"warning: {text}", "yellow")

    def note(self, text: str) -> None:
        """Show what is neither: where something was written, or why there is no output."""
        self._write(text, "dim")

    def message(self, level: int, text: str) -> None:
        """Show a `window/showMessage`, unless it is for editors that get no events: those say it already.

        Args:
            level: Its `MessageType`.
            text: What it says.
        """
        text = text.removeprefix("Outrider: ")
        if level > _INFO or text.startswith(_ENDS) or self.said_before(text):
            return
        if level == _INFO:
            self.note(text)
        elif level == _ERROR:
            self._write(f"error: {text}", "red")
        elif level == _WARNING and self._holds:
            self._held.append(text)
        else:
            self.warning(text)

    def said_before(self, text: str) -> bool:
        """Whether a text came the other way already; it then counts as not said, because it may come again."""
        before = text in self._said
        self._said ^= {text}
        return before

    def show_held(self) -> None:
        """Show the warnings that were held back."""
        held, self._held = self._held, []
        for text in held:
            self.warning(text)

    def hold_no_more(self) -> None:
        """Show what was held back, and hold nothing back from now on."""
        self._holds = False
        self.show_held()

    def _write(self, text: str, style: str) -> None:
        self.before()
        # Where no terminal would break it, a line stays one line, so that it can be searched.
        self.console.print(Text(visible(text), style=style), soft_wrap=not self.console.is_terminal)
