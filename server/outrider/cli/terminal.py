"""The terminal: text made safe to show, consoles, and the keyboard. Decides nothing."""

import asyncio
import os
import re
import sys
from typing import Final, TextIO

from rich.console import Console

from outrider.ports.visible import visible as made_visible

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


def make_console(stream: TextIO) -> Console:
    """A console on `stream` that shows texts as they are: no markup, no emoji codes, no guessing of colours."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[attr-defined]  # only real text files have it
    return _Console(file=stream, markup=False, emoji=False, highlight=False)


class Keyboard:
    """Lines from a terminal, read without blocking the event loop."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._typed = b""
        self._ended = False

    async def line(self) -> str | None:
        """The next line without its end; None at the end of the input. Can be cancelled."""
        loop = asyncio.get_running_loop()
        while b"\n" not in self._typed and not self._ended:
            ready = loop.create_future()
            loop.add_reader(self._descriptor, lambda ready=ready: ready.done() or ready.set_result(None))
            try:
                await ready
            finally:
                loop.remove_reader(self._descriptor)
            try:
                chunk = os.read(self._descriptor, 65536)
            except OSError:
                chunk = b""
            self._ended = not chunk
            self._typed += chunk
        if not self._typed:
            self._ended = False  # Ctrl-D on a terminal ends one line, not the terminal
            return None
        line, _, self._typed = self._typed.partition(b"\n")
        return line.decode("utf-8", "replace").rstrip("\r")


def keyboard() -> Keyboard | None:
    """The person's keyboard; None where standard input is no terminal."""
    try:
        return Keyboard(sys.stdin.fileno()) if sys.stdin.isatty() else None
    except (AttributeError, ValueError, OSError):
        return None
