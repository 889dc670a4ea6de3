"""One text in two ways: as the history has it, and as it is seen elsewhere. Pure.

An editor may hide the byte order mark of a file and the kind of its line ends, so the same text is not the same
in an open document and on the disk.
"""

from dataclasses import dataclass

from outrider.workspace.encoding import BOM


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
