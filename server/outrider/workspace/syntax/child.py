"""The program that finds syntax errors, apart from the server: grammars are native code, which a text can make hang or crash.

Run as `python -I -m outrider.workspace.syntax.child`; see `outrider.workspace.child` for how it is asked. It reads no file.
"""

import json
import socket
import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from outrider.workspace.repository_map.limits import limit_memory, limited_time
from outrider.workspace.repository_map.tags import TONGUES

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MOST_ERRORS: Final = 100
"""Of one text; of more it can only be a text in another language than its name says."""
Fault = tuple[int, str, str]
"""A line, from 1, what is missing there (empty: it cannot be read), and the line's text."""


def main() -> int:
    """Answer requests until the other end is closed."""
    limit_memory()
    parsers: dict[str, Parser] = {}
    with socket.socket(fileno=0) as channel, channel.makefile("rb") as requests:
        for line in requests:
            request = json.loads(line)
            with limited_time():
                found = new_faults(_parser(parsers, request["language"]), request["before"], request["after"])
            channel.sendall(json.dumps({"id": request["id"], "faults": found}).encode() + b"\n")
    return 0


def _parser(parsers: "dict[str, Parser]", language: str) -> "Parser":
    if language not in parsers:
        from tree_sitter import Parser

        parsers[language] = Parser(next(one for one in TONGUES if one.name == language).grammar())
    return parsers[language]


def new_faults(parser: "Parser", before: str, after: str) -> Sequence[Fault]:
    """The syntax errors that are in one text, and were not in the one before it; none where there are no more than before.

    Args:
        parser: One of their language.
        before: The text before.
        after: The text after.
    """
    found = _faults(parser, after)
    if not found:
        return ()
    known = _faults(parser, before)
    if len(found) <= len(known) or len(found) >= MOST_ERRORS:
        return ()
    left = Counter(_key(one) for one in known)
    new: list[Fault] = []
    for one in found:
        if left[_key(one)]:
            left[_key(one)] -= 1
        else:
            new.append(one)
    return new


def _key(fault: Fault) -> tuple[str, str]:
    return fault[1], fault[2].strip()


def _faults(parser: "Parser", text: str) -> list[Fault]:
    source = text.encode("utf-8", "replace")
    lines = source.split(b"\n")
    waiting: list[Node] = [parser.parse(source).root_node]
    found: list[Fault] = []
    while waiting and len(found) < MOST_ERRORS:
        node = waiting.pop()
        if node.is_missing or node.is_error:
            row = node.start_point.row
            found.append((row + 1, node.type if node.is_missing else "", _text_of(lines, row)))
        elif node.has_error:
            waiting += reversed(node.children)
    return found


def _text_of(lines: Sequence[bytes], row: int) -> str:
    return lines[row].decode("utf-8", "replace").rstrip("\r") if row < len(lines) else ""


if __name__ == "__main__":
    sys.exit(main())
