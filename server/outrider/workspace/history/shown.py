"""One text in two ways: as the history has it, and as it is seen elsewhere. Pure.

An editor may hide the byte order mark of a file and the kind of its line ends, so the same text is not the same
in an open document and on the disk.
"""

from collections.abc import Container
from dataclasses import dataclass
from typing import Literal

from outrider.ports.text import TextEncoding
from outrider.workspace.encoding import BOM

Hidden = Literal["bom", "crlf"]
"""What an editor may not show of a file."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The text of a file as it is seen, or was seen when it was taken away."""

    text: str | None
    known: str | None
    """The same file as the history has it, which may have been seen in an editor, too."""

    def of(self, text: str) -> str:
        """Another text of the history, in the way in which this one is seen."""
        if self.text is None or self.known is None or self.text == self.known:
            return text
        shown = text
        # Without any line end a text does not say of which kind they are.
        if "\n" in self.text and ("\r" in self.text) != ("\r" in self.known):
            shown = shown.replace("\r\n", "\n")
            if "\r" in self.text:
                shown = shown.replace("\n", "\r\n")
        if self.text.startswith(BOM) != self.known.startswith(BOM):
            shown = shown.removeprefix(BOM)
            if self.text.startswith(BOM):
                shown = BOM + shown
        return shown


def as_known(text: str, known: str, encoding: TextEncoding) -> str:
    """A text of a file in the way in which the history has the file, where there is a way back from that.

    Args:
        text: What the file is now, which somebody may have changed.
        known: The file as the history has it.
        encoding: How it held its text then. The mark of UTF-16 is a part of it, so without it the file is another one.
    """
    ends = {_line_ends(text), _line_ends(known)}
    if ends == {"\n", "\r\n"}:
        text = text.replace("\r\n", "\n") if "\r" in text else text.replace("\n", "\r\n")
    if not known.startswith(BOM):
        return text.removeprefix(BOM)
    return text if text.startswith(BOM) or encoding != "utf-8" else BOM + text


def _line_ends(text: str) -> str:
    """The one kind of line ends that a text has; empty where it has none, or several."""
    if "\r" not in text:
        return "\n" if "\n" in text else ""
    return "\r\n" if text.count("\r\n") == text.count("\n") == text.count("\r") else ""


def end_in_file(text: str, on_disk: str) -> str:
    """The end that the last line has in the file alone, where an editor saved it so; empty where it did not.

    Args:
        text: The text of the file as it is seen.
        on_disk: What the file holds.
    """
    is_unended = bool(text) and not text.endswith(("\n", "\r"))
    return next((end for end in ("\n", "\r\n") if is_unended and on_disk == text + end), "")


def hidden_in(text: str, on_disk: str) -> list[Hidden]:
    """What an open document does not show of its file.

    Args:
        text: The document.
        on_disk: The file.
    """
    hidden: list[Hidden] = []
    if on_disk.startswith(BOM) and not text.startswith(BOM):
        hidden.append("bom")
    # One character is found much faster than two.
    if "\r" in on_disk and "\r\n" in on_disk and "\r" not in text:
        hidden.append("crlf")
    return hidden


def with_hidden(text: str, hidden: Container[Hidden]) -> str:
    """A text with what a document did not show of it, if it shows it still not."""
    if "crlf" in hidden and "\r" not in text:
        text = text.replace("\n", "\r\n")
    return BOM + text if "bom" in hidden and not text.startswith(BOM) else text
