"""A change of a file as `git apply` takes it: exact bytes, new and deleted files, renames, any name.

Lines end at a line feed alone here, as they do for git. Source: git's documentation of its diff format, "Generating
patch text with -p".
"""

import re
from collections.abc import Iterable

from outrider.workspace.diff import unified_hunks

FILE = "100644"
EXECUTABLE = "100755"

_PLAIN = re.compile(r"[A-Za-z0-9._/+@=,-]+")
_NO_END = "\\ No newline at end of file"


def file_patch(path: str, before: str | None, to: str, after: str | None, *, mode: str = FILE) -> str:
    """The patch of one file; empty where nothing changed.

    Args:
        path: Its path before.
        before: Its text before; None: there was no file.
        to: Its path after, the same unless it was renamed.
        after: Its text after; None: there is no file.
        mode: What kind of file it is; it says so where a file comes or goes.
    """
    if before == after and (path == to or before is None):
        return ""
    old, new = _quoted(f"a/{path}"), _quoted(f"b/{to}")
    output = [f"diff --git {old} {new}"]
    if before is None:
        output.append(f"new file mode {mode}")
    elif after is None:
        output.append(f"deleted file mode {mode}")
    elif path != to:
        output += [f"rename from {_quoted(path)}", f"rename to {_quoted(to)}"]
    if hunks := unified_hunks(_lines(before), _lines(after), _marked):
        output += [f"--- {'/dev/null' if before is None else old}"]
        output += [f"+++ {'/dev/null' if after is None else new}", *hunks]
    return "\n".join(output) + "\n"


def _lines(text: str | None) -> list[str]:
    parts = (text or "").split("\n")
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


def _quoted(name: str) -> str:
    """A name as git writes it where it is not plain: in quotes, bytes that are no plain letters in octal."""
    if _PLAIN.fullmatch(name):
        return name
    data = name.encode("utf-8", "surrogateescape")
    return f'"{"".join(_octal(byte) for byte in data)}"'


def _octal(byte: int) -> str:
    letter = chr(byte)
    return letter if 0x20 <= byte < 0x7F and letter not in '"\\' else f"\\{byte:03o}"
