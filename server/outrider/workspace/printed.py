"""The lines that ripgrep prints, in the two ways that it is had to print them."""

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_LINE_WIDTH = 400
WITH_JSON = ("--json",)
IN_ORDER = (
    *("--sort", "path", "--max-columns", "4096", "--max-columns-preview"),
    *("--null", "--line-number", "--column", "--no-heading", "--with-filename", "--color", "never"),
)
"""For what prints too much: from path to path, as else it is a matter of chance which part comes first, and with
long lines cut, which JSON lines never are: one alone may be all that there is room for."""
_MATCH = b'{"type":"match",'
"""What a match begins with; two further lines for each file say that it begins and ends, with times."""
_LEFT_OUT = re.compile(r" \[\.\.\. (?:omitted end of long line|\d+ more match(?:es)?)\]\r?$")
"""What ripgrep puts at the end of a line that it cuts."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line that ripgrep printed."""

    path: str
    number: int
    text: str
    """Cut, where it is very long."""


def read_json(output: bytes) -> Iterator[Line]:
    """The lines in ripgrep's JSON; a last one that was cut off is left out."""
    for line in output.split(b"\n")[:-1]:
        if line.startswith(_MATCH):
            data: dict[str, Any] = json.loads(line)["data"]
            start = data["submatches"][0]["start"] if data["submatches"] else 0
            yield Line(_text_of(data["path"]), data["line_number"], _cut(_text_of(data["lines"]), start))


def read_lines(output: bytes) -> Iterator[Line]:
    """The lines that it prints with `IN_ORDER`; a last one that was cut off is left out."""
    for line in output.split(b"\n")[:-1]:
        path, _, rest = line.partition(b"\0")
        number, _, rest = rest.partition(b":")
        column, _, text = rest.partition(b":")
        if number.isdigit() and column.isdigit():  # else it says that a file is binary
            yield Line(path.decode("utf-8", "replace"), int(number), _shortened(text, int(column) - 1))


def _shortened(line: bytes, start_byte: int) -> str:
    text = line.decode("utf-8", "replace")
    short = _LEFT_OUT.sub("", text)
    if short != text and start_byte >= len(short.encode()):
        return f"[a very long line, which matches at its byte {start_byte + 1}]"
    return _cut(short, start_byte)


def _text_of(value: dict[str, str]) -> str:
    return value["text"] if "text" in value else base64.b64decode(value["bytes"]).decode("utf-8", "replace")


def _cut(line: str, start_byte: int) -> str:
    line = line.rstrip("\r\n")
    if len(line) <= _LINE_WIDTH:
        return line
    start = len(line.encode("utf-8")[:start_byte].decode("utf-8", "ignore"))
    first = max(0, min(start - _LINE_WIDTH // 4, len(line) - _LINE_WIDTH))
    cut = line[first : first + _LINE_WIDTH]
    return f"{'…' if first else ''}{cut}{'…' if first + _LINE_WIDTH < len(line) else ''}"
