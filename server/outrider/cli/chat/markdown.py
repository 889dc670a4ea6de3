"""The model's text as Markdown while it comes: what is complete is printed for good, the rest is shown live below it.

So the terminal draws nothing twice that has scrolled, and a half-written block never jumps.
"""

from collections.abc import Callable
from io import StringIO
from typing import Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown
from rich.text import Text

from outrider.cli.terminal import visible

CODE_THEME: Final = "ansi_dark"
"""Only colours of the terminal itself, which fit a dark and a light one."""
_FENCES: Final = ("```", "~~~")


class _Heading(Heading):
    """A heading at the left, as all text."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield self.text


class _Markdown(Markdown):
    elements = {**Markdown.elements, "heading_open": _Heading}  # noqa: RUF012 - as rich has it


class LiveMarkdown:
    """One text after the other, as `terminal.Flow`."""

    def __init__(self, console: Console, changed: Callable[[], None]) -> None:
        """Print to `console`; `changed` is called when `live` gives something else."""
        self._console = console
        self._changed = changed
        self._source: str | None = None
        self._style = ""
        self._text = ""
        """What is not printed yet."""

    def put(self, source: str, text: str, style: str) -> None:
        """Take a piece of the text of `source`; one of another source begins anew."""
        if source != self._source:
            self.end()
            self._console.print()
            self._source, self._style = source, style
        self._text += visible(text)
        at = len(self._text) if style and self._text.endswith("\n") else end_of_blocks(self._text)
        if at:
            self._print(self._text[:at])
            self._text = self._text[at:]
        self._changed()

    def end(self) -> None:
        """Print all of the text, if there is one: something else is printed now."""
        if self._source is None:
            return
        self._print(self._text)
        self._source, self._text = None, ""
        self._changed()

    def live(self, width: int, most: int) -> str:
        """What is not printed yet, in escape sequences: its last lines, `most` at most."""
        if not self._text.strip():
            return ""
        drawn = StringIO()
        console = Console(
            file=drawn,
            width=width,
            force_terminal=True,
            color_system=self._console.color_system,  # pyright: ignore[reportArgumentType] - rich names it as str
            no_color=self._console.no_color,
            markup=False,
            emoji=False,
            highlight=False,
        )
        console.print(self._rendered(self._text))
        return "\n".join(drawn.getvalue().rstrip("\n").split("\n")[-most:])

    def _print(self, text: str) -> None:
        if text.strip():
            self._console.print(self._rendered(text.strip("\n")))
            if not self._style:
                self._console.print()

    def _rendered(self, text: str) -> Markdown | Text:
        if self._style:
            return Text(text.rstrip("\n"), style=self._style)
        # Links are written out: where they lead must be seen before it is clicked.
        return _Markdown(text, code_theme=CODE_THEME, hyperlinks=False)


def end_of_blocks(text: str) -> int:
    """Where the last block of a Markdown text that is complete ends: behind a blank line outside of fenced code; 0 where none is.

    An indented line after it may still belong to the list before, so it begins no block (CommonMark 5.2).
    """
    end, at, fence, blank = 0, 0, "", False
    for line in text.split("\n")[:-1]:
        bare = line.strip()
        if fence:
            if bare.startswith(fence) and not bare.strip(fence[0]):
                fence = ""
        else:
            if blank and bare and not line.startswith((" ", "\t")):
                end = at
            if bare.startswith(_FENCES):
                fence = bare[: len(bare) - len(bare.lstrip(bare[0]))]
        blank = not bare
        at += len(line) + 1
    return end
