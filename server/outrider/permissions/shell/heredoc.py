"""Here-documents: where one begins and ends is looked up in the text, by the rule of bash."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tree_sitter import Node

_DELIMITER: Final = re.compile(rb"(['\"]?)([A-Za-z_][A-Za-z0-9_]*)\1")
_SEEN: Final = "a here-document is not understood"


@dataclass(frozen=True, slots=True)
class Heredoc:
    """A here-document of a simple command."""

    simple_end: int
    """Where the words of the command end."""
    line_end: int
    """The end of the line that it begins in."""
    rest: Sequence["Node"]
    """What stands in that line after the command: `| …`, `&& …`."""
    body: Sequence["Node"]
    """What stands in the body, where expansions count in it."""


def heredoc_of(source: bytes, nodes: Sequence["Node"]) -> Heredoc | str:
    """The here-document of a simple command; a text says why it cannot be known.

    Args:
        source: The command line.
        nodes: The redirections of that kind; more than one is not understood.
    """
    if len(nodes) > 1:
        return "there are several here-documents"
    node = nodes[0]
    children = {child.type: child for child in node.children}
    start, ending = children.get("heredoc_start"), children.get("heredoc_end")
    body = children.get("heredoc_body")
    delimiter = start and _DELIMITER.fullmatch(source, start.start_byte, start.end_byte)
    if start is None or ending is None or delimiter is None:
        return _SEEN
    line_end = source.find(b"\n", start.end_byte)
    between = [
        child
        for child in node.children
        if child.start_byte >= start.end_byte and child.type not in {"heredoc_body", "heredoc_end"}
    ]
    if any(child.end_byte > line_end for child in between) or line_end < 0:
        return _SEEN
    tabbed = (
        source.startswith(b"<<-", node.start_byte) or b"<<-" in source[node.start_byte : start.start_byte]
    )
    if _end_of(source, line_end + 1, delimiter[2], tabbed=tabbed) != (
        line_end + 1,
        ending.start_byte,
        ending.end_byte,
    ):
        return _SEEN
    text = source[line_end + 1 : ending.start_byte]
    expands = not delimiter[1]
    if expands and (b"\\" in text or b"`" in text):
        return "a here-document contains a backslash or a backquote"
    if expands and _unseen(text, line_end + 1, body):
        return _SEEN
    rest = [
        child for child in between if not child.type.endswith("_redirect") and _is_joint_or_statement(child)
    ]
    first = min((child.start_byte for child in rest), default=line_end)
    return Heredoc(first, line_end, rest, body.children if expands and body is not None else ())


def _is_joint_or_statement(node: "Node") -> bool:
    return not node.is_named or node.type in {
        "pipeline", "command", "list", "redirected_statement", "subshell", "compound_statement", "negated_command",
    }  # fmt: skip


def _end_of(source: bytes, start: int, delimiter: bytes, *, tabbed: bool) -> tuple[int, int, int] | None:
    """Where the body begins, and where its closing line has the delimiter."""
    at = start
    while at <= len(source):
        end = source.find(b"\n", at)
        end = len(source) if end < 0 else end
        line = source[at:end]
        bare = line.lstrip(b"\t") if tabbed else line
        if bare == delimiter:
            return start, end - len(bare), end
        at = end + 1
    return None


def _unseen(text: bytes, offset: int, body: "Node | None") -> bool:
    """Whether an expansion stands in the body that the tree does not show."""
    shown: dict[int, int] = {}
    for child in body.children if body else ():
        at = child.start_byte - offset
        while text[at : at + 1].isspace():
            at += 1
        shown[at] = child.end_byte - offset
    covered = 0
    for match in re.finditer(rb"\$[A-Za-z0-9_@*#?$!{(\[-]", text):
        if match.start() >= covered:
            if match.start() not in shown:
                return True
            covered = shown[match.start()]
    return False
