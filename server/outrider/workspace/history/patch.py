"""A change of a file as `git apply` takes it: exact bytes, new and deleted files, renames, modes, any name.

Lines end at a line feed alone here, as they do for git. What is no UTF-8, such as UTF-16, is binary for it. Source:
git's documentation of its diff format, "Generating patch text with -p"; of binary hunks its `diff.c` and `base85.c`.
"""

import hashlib
import re
import zlib
from base64 import b85encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from outrider.workspace.diff import unified_hunks

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
