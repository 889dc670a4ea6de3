"""A change of a file as `git apply` takes it: exact bytes, new and deleted files, renames, modes, any name.

Lines end at a line feed alone here, as they do for git. What is no UTF-8, such as UTF-16, is binary for it. Source:
git's documentation of its diff format, "Generating patch text with -p"; of binary hunks its `diff.c` and `base85.c`.
"""

import hashlib
import re
import zlib
from base64 import b85encode
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from outrider.ports.text import TextEncoding
from outrider.workspace.text.diff import unified_hunks
from outrider.workspace.text.encoding import BOM

_PLAIN = re.compile(r"[A-Za-z0-9._/+@=,-]+")
_NO_END = "\\ No newline at end of file"
_NO_BLOB = "0" * 40
_BYTES_OF_LINE = 52
"""Bytes of one line of a binary hunk, for which there are as many letters."""


@dataclass(frozen=True, slots=True)
class Side:
    """A file on one side of a patch."""

    path: str
    content: bytes | None
    """None: there is no file."""
    executable: bool = False

    @property
    def mode(self) -> str:
        """What kind of file it is, as git writes it."""
        return "100755" if self.executable else "100644"


def file_patch(old: Side, new: Side) -> str:
    """The patch of one file; empty where nothing changed.

    Args:
        old: The file before.
        new: The file after, with the same path unless it was renamed.
    """
    if old.content is None and new.content is None:
        return ""
    if old == new:
        return ""
    a, b = _quoted(f"a/{old.path}"), _quoted(f"b/{new.path}")
    output = [f"diff --git {a} {b}"]
    if old.content is None:
        output.append(f"new file mode {new.mode}")
    elif new.content is None:
        output.append(f"deleted file mode {old.mode}")
    else:
        if old.mode != new.mode:
            output += [f"old mode {old.mode}", f"new mode {new.mode}"]
        if old.path != new.path:
            output += [f"rename from {_quoted(old.path)}", f"rename to {_quoted(new.path)}"]
    texts = _text(old.content), _text(new.content)
    if old.content == new.content:
        pass
    elif texts[0] is None or texts[1] is None:
        output += _binary(old.content, new.content)
    elif hunks := unified_hunks(_lines(texts[0]), _lines(texts[1]), _marked):
        output += [f"--- {'/dev/null' if old.content is None else a}"]
        output += [f"+++ {'/dev/null' if new.content is None else b}", *hunks]
    return "\n".join(output) + "\n"


def _text(content: bytes | None) -> str | None:
    """What git shows as text; None: it takes it for binary, or a patch, which is text, could not hold it."""
    try:
        text = (content or b"").decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _lines(text: str) -> list[str]:
    parts = text.split("\n")
    return (
        [*(f"{part}\n" for part in parts[:-1]), *parts[-1:]] if parts[-1] else [f"{p}\n" for p in parts[:-1]]
    )


def _marked(mark: str, lines: Iterable[str]) -> list[str]:
    marked: list[str] = []
    for line in lines:
        marked.append(mark + line.removesuffix("\n"))
        if not line.endswith("\n"):
            marked.append(_NO_END)
    return marked


def _binary(old: bytes | None, new: bytes | None) -> list[str]:
    """The whole contents, for both ways. Git wants the names of both blobs in full before it takes them."""
    return [
        f"index {_blob(old)}..{_blob(new)}",
        "GIT binary patch",
        *_literal(new or b""),
        "",
        *_literal(old or b""),
        "",
    ]


def _blob(content: bytes | None) -> str:
    if content is None:
        return _NO_BLOB
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _literal(content: bytes) -> Iterator[str]:
    yield f"literal {len(content)}"
    packed = zlib.compress(content)
    for start in range(0, len(packed), _BYTES_OF_LINE):
        line = packed[start : start + _BYTES_OF_LINE]
        length = chr(ord("A") - 1 + len(line)) if len(line) <= 26 else chr(ord("a") - 27 + len(line))
        yield length + b85encode(line, pad=True).decode("ascii")


def _quoted(name: str) -> str:
    """A name as git writes it where it is not plain: in quotes, bytes that are no plain letters in octal."""
    if _PLAIN.fullmatch(name):
        return name
    data = name.encode("utf-8", "surrogateescape")
    return f'"{"".join(_octal(byte) for byte in data)}"'


def _octal(byte: int) -> str:
    letter = chr(byte)
    return letter if 0x20 <= byte < 0x7F and letter not in '"\\' else f"\\{byte:03o}"


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
