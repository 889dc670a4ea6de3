"""Buffers of the fake editor: text, versions, an undo stack, line ends, and the disk behind them.

Counts lines and characters with its own plain code, so that it checks the server's document store instead of
repeating it: nothing of `workspace` may be imported here. It knows nothing of messages.
"""

import codecs
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

PositionEncoding = Literal["utf-8", "utf-16", "utf-32"]
LineEnds = Literal["keep", "majority", "format", "hidden"]
"""What becomes of a file's line ends in the editor.

`keep`: nothing. `majority`: all become the more frequent one (VS Code). `format`: a file of only CRLF is a DOS file,
any other one is taken as it is; what is inserted gets the file's line end (Neovim). `hidden`: a file of only CRLF
has LF in the buffer and on the wire, and CRLF again on disk (Emacs, Kate).
"""

_LINE_END = re.compile(r"\r\n|\n|\r")


def line_starts(text: str) -> list[int]:
    """Offsets at which the lines of `text` begin (LSP 3.17, "Text Documents": LF, CRLF and CR end a line)."""
    return [0, *(end.end() for end in _LINE_END.finditer(text))]


def offset_at(text: str, position: dict[str, int], encoding: PositionEncoding) -> int:
    """The offset in `text` of an LSP position; beyond the end of a line it is the line's end, as LSP says."""
    starts = line_starts(text)
    line, character = position["line"], position["character"]
    if line >= len(starts):
        return len(text)
    offset, units = starts[line], 0
    while offset < len(text) and text[offset] not in "\r\n":
        units += _width(text[offset], encoding)
        if units > character:
            break
        offset += 1
    return offset


def position_at(text: str, offset: int, encoding: PositionEncoding) -> dict[str, int]:
    """The LSP position of an offset in `text`."""
    starts = [start for start in line_starts(text) if start <= offset]
    units = sum(_width(character, encoding) for character in text[starts[-1] : offset])
    return {"line": len(starts) - 1, "character": units}


def _width(character: str, encoding: PositionEncoding) -> int:
    match encoding:
        case "utf-8":
            return len(character.encode("utf-8", "surrogatepass"))
        case "utf-16":
            return 2 if ord(character) > 0xFFFF else 1
        case "utf-32":
            return 1


@dataclass(frozen=True, slots=True)
class FileForm:
    """How a file's text stands in its bytes."""

    codec: Literal["utf-8", "latin-1"] = "utf-8"
    byte_order_mark: bool = False
    line_end: str = "\n"
    hidden_line_ends: bool = False
    """Whether the buffer has LF where the file has CRLF."""

    def to_bytes(self, text: str) -> bytes:
        """The bytes of the file when its buffer has `text`."""
        if self.hidden_line_ends:
            text = text.replace("\n", "\r\n")
        mark = codecs.BOM_UTF8 if self.byte_order_mark else b""
        return mark + text.encode(self.codec, "surrogatepass" if self.codec == "utf-8" else "replace")


def read_form(content: bytes, line_ends: LineEnds) -> tuple[str, FileForm]:
    """The text an editor with these habits shows for a file's bytes, and the form to write it back in."""
    mark = content.startswith(codecs.BOM_UTF8)
    content = content.removeprefix(codecs.BOM_UTF8)
    codec: Literal["utf-8", "latin-1"] = "utf-8"
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        codec, text = "latin-1", content.decode("latin-1")
    ends = _LINE_END.findall(text)
    all_crlf = bool(ends) and set(ends) == {"\r\n"}
    line_end, hidden = "\n", False
    match line_ends:
        case "keep":
            pass
        case "majority":
            line_end = "\r\n" if sum(end != "\n" for end in ends) * 2 > len(ends) else "\n"
            text = _LINE_END.sub(line_end, text)
        case "format":
            line_end = "\r\n" if all_crlf else "\n"
        case "hidden":
            hidden = all_crlf
            text = text.replace("\r\n", "\n") if hidden else text
    return text, FileForm(codec, mark, line_end, hidden)


@dataclass(frozen=True, slots=True)
class UndoStep:
    """One step of the undo stack."""

    before: str
    after: str
    group: int | None = None
    """The `workspace/applyEdit` it came from; None for typing."""


@dataclass(slots=True)
class Buffer:
    """An open document."""

    uri: str
    path: Path | None
    """None for an untitled document."""
    text: str
    version: int
    encoding: PositionEncoding
    line_ends: LineEnds
    form: FileForm = field(default_factory=FileForm)
    keeps_final_newline: bool = False
    """Whether an edit cannot take away the line end of the last line (Neovim)."""
    adds_line_at_end: bool = False
    """Whether an edit that begins after the last line adds an empty line (Neovim 0.10 and 0.11)."""
    opened_by_edit: bool = False
    """Whether the user never opened it: a workspace edit did."""
    saved: str | None = None
    """The text as it stands on disk; None if it never stood there."""
    undo_steps: list[UndoStep] = field(default_factory=list[UndoStep])
    redo_steps: list[UndoStep] = field(default_factory=list[UndoStep])
    unsent: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """Content changes (LSP `TextDocumentContentChangeEvent`) that the server has not been told."""
    last_sent: float | None = None
    """When it was last told, on the editor's clock."""
    due: float | None = None
    """When it will be told of what is unsent; None while nothing is planned."""

    @property
    def dirty(self) -> bool:
        """Whether the text differs from the one on disk."""
        return self.text != self.saved

    def type(self, start: int, end: int, new: str) -> None:
        """Replace the characters `start:end`, as one undo step."""
        before = self.text
        self._replace(start, end, new)
        self._changed(before, None)

    def apply(self, edits: list[dict[str, Any]], group: int) -> None:
        """Apply LSP text edits, whose ranges all refer to the text as it is now, as one undo step.

        Args:
            edits: LSP `TextEdit` objects that do not overlap.
            group: The number of the `workspace/applyEdit`.
        """
        before = self.text
        placed = [
            (offset_at(before, edit["range"]["start"], self.encoding), number, edit)
            for number, edit in enumerate(edits)
        ]
        for start, _, edit in sorted(placed, key=lambda item: (item[0], item[1]), reverse=True):
            end = offset_at(before, edit["range"]["end"], self.encoding)
            new = self._inserted(edit["newText"])
            if self.adds_line_at_end and edit["range"]["start"]["line"] >= self._line_count():
                end_of_line = self.form.line_end
                new = new + end_of_line if self.text.endswith("\n") else end_of_line + new
            self._replace(start, end, new)
        if self.keeps_final_newline and before.endswith("\n") and not self.text.endswith("\n"):
            self._replace(len(self.text), len(self.text), self.form.line_end)
        self._changed(before, group)

    def replace_text(self, text: str) -> None:
        """Make the text `text` by one change of the stretch that differs, outside the undo stack."""
        if text == self.text:
            return  # nothing is sent for it, so a new version would be one that the server never hears of
        self._become(text)
        self.version += 1

    def undo(self) -> UndoStep | None:
        """Take back the last step; None if there is none."""
        if not self.undo_steps:
            return None
        step = self.undo_steps.pop()
        self.redo_steps.append(step)
        self.replace_text(step.before)
        return step

    def redo(self) -> UndoStep | None:
        """Do the step that was last taken back again; None if there is none."""
        if not self.redo_steps:
            return None
        step = self.redo_steps.pop()
        self.undo_steps.append(step)
        self.replace_text(step.after)
        return step

    def _inserted(self, new: str) -> str:
        if self.line_ends in ("majority", "format"):
            return _LINE_END.sub(self.form.line_end, new)
        return new

    def _line_count(self) -> int:
        # As Vim counts: the line end of the last line begins no further line.
        return max(1, len(line_starts(self.text)) - self.text.endswith("\n"))

    def _changed(self, before: str, group: int | None) -> None:
        if self.text == before:
            return
        self.undo_steps.append(UndoStep(before, self.text, group))
        self.redo_steps.clear()
        self.version += 1

    def _become(self, text: str) -> None:
        old = self.text
        start = 0
        while start < min(len(old), len(text)) and old[start] == text[start]:
            start += 1
        tail = 0
        while tail < min(len(old), len(text)) - start and old[-1 - tail] == text[-1 - tail]:
            tail += 1
        self._replace(start, len(old) - tail, text[start : len(text) - tail])

    def _replace(self, start: int, end: int, new: str) -> None:
        old = self.text
        # LSP has no position between CR and LF.
        if old[start - 1 : start + 1] == "\r\n" and start > 0:
            start, new = start - 1, "\r" + new
        if old[end - 1 : end + 1] == "\r\n" and end > 0:
            end, new = end + 1, new + "\n"
        if old[start:end] == new:
            return
        span = {
            "start": position_at(old, start, self.encoding),
            "end": position_at(old, end, self.encoding),
        }
        self.unsent.append({"range": span, "text": new})
        self.text = old[:start] + new + old[end:]
