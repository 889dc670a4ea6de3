"""The terminal: text made safe to show, consoles, and the keyboard. Decides nothing."""

import asyncio
import contextlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import IO, Any, Final, Protocol, TextIO

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

if sys.platform != "win32":
    import termios


from outrider.ports.text import visible as made_visible

QUIET_SECONDS: Final = 0.4
"""How long nothing may be typed before a question takes an answer. A key that is held down repeats after less."""
PASTE_SECONDS: Final = 0.05
"""How long nothing may follow an answer. Nobody types that fast; what was pasted goes on sooner, over a network too."""

_ESCAPES: Final = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI, such as colours
    r"|\x1b[\]P^_X][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC and other strings, such as titles and links
    r"|\x1b[ -/]*[0-~]"
)


def visible(text: str) -> str:
    """`text` with every character that a terminal would act on, or that hides what is written, spelled out."""
    return made_visible(text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """A name, `visible` and with its line ends and tabs spelled out: it breaks neither a line nor a table."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def plain_output(text: str) -> str:
    """A program's output as plain text: its colours and titles left out, the rest `visible`."""
    return visible(_ESCAPES.sub("", text))


class _Console(Console):
    def on_broken_pipe(self) -> None:
        # Rich would end the process from within whatever task prints; the client has a server to end first.
        raise BrokenPipeError

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        # What somebody forgot to make visible would be obeyed by the terminal.
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))


def make_console(stream: TextIO) -> Console:
    """A console on `stream` that shows texts as they are: no markup, no emoji codes, no guessing of colours."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[attr-defined]  # only real text files have it
    return _Console(file=stream, markup=False, emoji=False, highlight=False)


def print_json(result: Mapping[str, Any], stream: IO[str]) -> None:
    """Print what a command gives as one line of JSON: the result of the wire, where it has one."""
    print(json.dumps(result, ensure_ascii=False), file=stream)


class Keyboard(Protocol):
    """The user's keyboard."""

    async def answer(self, draw: Callable[[bool], None]) -> str | None:
        """Ask a question and give the line that is typed after it was drawn. Can be cancelled.

        Args:
            draw: Shows the question. It is told whether something came too early and was thrown away, and is called
                once more after that.

        Returns:
            The line without its end; None at the end of the input.
        """
        ...


class TerminalKeyboard:
    """Lines from a terminal, read without blocking the event loop.

    What is typed before a question is on the screen answers nothing: a key pressed for something else, a key that is
    held down, or pasted text would be a yes that nobody gave. So all input is thrown away when a question is drawn,
    and until the keyboard has been quiet for `QUIET_SECONDS` after that. During that time the terminal hands over
    single keys and echoes none, because a half-typed line cannot be seen otherwise (termios(3), canonical mode).
    """

    def __init__(self, descriptor: int) -> None:
        """Read from a terminal.

        Args:
            descriptor: The file descriptor of a terminal that lines are typed in.
        """
        self._descriptor = descriptor

    async def answer(self, draw: Callable[[bool], None]) -> str | None:
        """Ask a question; see `Keyboard.answer`."""
        early = False
        while True:
            draw(early)
            if early := await self._goes_on(QUIET_SECONDS):
                continue
            line = await self._line()
            # What comes together was pasted, and its first line is no answer to this question.
            if not (early := line is not None and await self._goes_on(PASTE_SECONDS)):
                return line

    async def secret(self, draw: Callable[[bool], None]) -> str | None:
        """Ask for a line that is not shown while it is typed, and that may be pasted; None at the end of the input."""
        draw(False)
        try:
            before, silent = termios.tcgetattr(self._descriptor), termios.tcgetattr(self._descriptor)
        except termios.error:  # it was closed
            return None
        silent[3] &= ~termios.ECHO
        try:
            # What was typed before the question is thrown away.
            termios.tcsetattr(self._descriptor, termios.TCSAFLUSH, silent)
            return await self._line()
        finally:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self._descriptor, termios.TCSAFLUSH, before)

    async def _goes_on(self, seconds: float) -> bool:
        """Throw away what was typed up to now, and all that comes until nothing came for `seconds`; True if something came."""
        came = False
        try:
            before, raw = termios.tcgetattr(self._descriptor), termios.tcgetattr(self._descriptor)
        except termios.error:  # it was closed, which ends the input, too
            return False
        raw[3] &= ~(termios.ICANON | termios.ECHO)
        try:
            termios.tcsetattr(self._descriptor, termios.TCSANOW, raw)
            while True:
                try:
                    async with asyncio.timeout(seconds):
                        await self._readable()
                except TimeoutError:
                    return came
                came = True
                if not self._read():
                    return came
        finally:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self._descriptor, termios.TCSAFLUSH, before)

    async def _line(self) -> str | None:
        typed = b""
        while not typed.endswith(b"\n"):
            await self._readable()
            chunk = self._read()
            if not chunk:  # Ctrl-D, or the terminal is gone: half a line is no answer
                return None
            typed += chunk
        return typed.decode("utf-8", "replace").rstrip("\r\n")

    def _read(self) -> bytes:
        # In canonical mode this gives one line at most.
        try:
            return os.read(self._descriptor, 65536)
        except OSError:
            return b""

    async def _readable(self) -> None:
        loop = asyncio.get_running_loop()
        ready = loop.create_future()
        loop.add_reader(self._descriptor, lambda: ready.done() or ready.set_result(None))
        try:
            await ready
        finally:
            loop.remove_reader(self._descriptor)


def keyboard(shown_on: TextIO) -> TerminalKeyboard | None:
    """The user's keyboard; None where nobody can answer.

    Args:
        shown_on: Where questions are drawn. Nobody can answer what is drawn into a file or a pipe, and nobody has
            typed what comes from one.
    """
    if (
        sys.platform == "win32"
    ):  # keys cannot be read one by one, so what was typed too early would be an answer
        return None
    try:
        both = sys.stdin.isatty() and shown_on.isatty()
        return TerminalKeyboard(sys.stdin.fileno()) if both else None
    except (AttributeError, ValueError, OSError):
        return None


class TextFlow(Protocol):
    """Shows one text after the other, in pieces."""

    def put(self, source: str, text: str, style: str) -> None:
        """Show a piece of the text of `source`; one of another source begins anew."""
        ...

    def end(self) -> None:
        """End the text, if there is one: something else is printed now."""
        ...


class Flow:
    """Texts as they are, printed as they come."""

    def __init__(self, console: Console) -> None:
        """Print to `console`."""
        self._console = console
        self._source: str | None = None
        self._column = 0
        self._width = console.width
        self._word: list[str] = []
        """The pieces of a word that may go on."""
        self._style = ""

    def put(self, source: str, text: str, style: str) -> None:
        """Print a piece of the text of `source`; one of another source begins anew. Its last word is held back until it is complete."""
        if source != self._source:
            self.end()
            self._console.print()
            self._source, self._column, self._style = source, 0, style
        # Asked once: rich looks it up anew each time.
        self._width = self._console.width
        shown: list[str] = []
        for number, line in enumerate(visible(text).split("\n")):
            if number:
                self._end_word(shown)
                self._end_line(shown)
            for place, word in enumerate(line.split(" ")):
                if place:
                    self._end_word(shown)
                    self._space(shown)
                if word:
                    self._word.append(word)
        self._print(shown)

    def end(self) -> None:
        """End the text, if there is one: something else is printed now."""
        if self._source is not None:
            last: list[str] = []
            self._end_word(last)
            self._print(last)
            if self._column:
                self._console.print()
            self._source = None

    def _end_word(self, shown: list[str]) -> None:
        if not self._word:
            return
        word = "".join(self._word)
        self._word.clear()
        width = cell_len(word)
        if self._column and self._column + width > self._width:
            self._end_line(shown)
        shown.append(word)
        self._column += width

    def _space(self, shown: list[str]) -> None:
        if self._column + 1 >= self._width:
            self._end_line(shown)
        else:
            shown.append(" ")
            self._column += 1

    def _end_line(self, shown: list[str]) -> None:
        shown.append("\n")
        self._column = 0

    def _print(self, shown: list[str]) -> None:
        # One print for each piece: it takes rich far longer than the text does.
        if text := "".join(shown):
            self._console.print(Text(text, style=self._style), end="", soft_wrap=True)
