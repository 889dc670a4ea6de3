"""Texts of a model in the terminal as they come, broken between words at any width."""

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from outrider.cli.terminal import visible


class Flow:
    """One text after the other."""

    def __init__(self, console: Console) -> None:
        """Print to `console`."""
        self._console = console
        self._source: str | None = None
        self._column = 0
        self._word = ""
        self._style = ""

    def put(self, source: str, text: str, style: str) -> None:
        """Print a piece of the text of `source`; one of another source begins anew. Its last word is held back until it is complete."""
        if source != self._source:
            self.end()
            self._console.print()
            self._source, self._column, self._word, self._style = source, 0, "", style
        for character in visible(text):
            if character in " \n":
                self._put_word()
                if character == "\n" or self._column + 1 >= self._console.width:
                    self._print("\n")
                    self._column = 0
                else:
                    self._print(" ")
                    self._column += 1
            else:
                self._word += character

    def end(self) -> None:
        """End the text, if there is one: something else is printed now."""
        if self._source is not None:
            self._put_word()
            if self._column:
                self._console.print()
            self._source = None

    def _put_word(self) -> None:
        if not self._word:
            return
        width = cell_len(self._word)
        if self._column and self._column + width > self._console.width:
            self._print("\n")
            self._column = 0
        self._print(self._word)
        self._column += width
        self._word = ""

    def _print(self, text: str) -> None:
        self._console.print(Text(text, style=self._style), end="", soft_wrap=True)
