"""What the syntax tree of a command line says of itself: where parts of one kind are, and how it is joined."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tree_sitter import Node

import time
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language, Node


_HOLES: Final = frozenset(
    {"command_substitution", "process_substitution", "simple_expansion", "expansion", "arithmetic_expansion"}
)


def expansions(node: "Node") -> Iterator["Node"]:
    """The outermost expansions below a node; those of a here-document's body are its own business."""
    if node.type in _HOLES:
        yield node
        return
    if node.type in {"heredoc_body", "pipeline"}:
        return
    for child in node.children:
        yield from expansions(child)


def below(node: "Node", kind: str) -> Iterator["Node"]:
    """The outermost nodes of a kind, and not those within expansions."""
    if node.type == kind:
        yield node
        return
    if node.type in _HOLES:
        return
    for child in node.named_children:
        yield from below(child, kind)


def leaves_running(root: "Node") -> bool:
    """Whether it puts something into the background and neither waits for it nor ends it."""
    started = [command.child_by_field_name("name") for command in below(root, "command")]
    names = {name.text for name in started if name is not None}
    return names.isdisjoint({b"wait", b"kill", b"fg"}) and _has_background(root)


def _has_background(node: "Node") -> bool:
    return node.type == "&" or (node.type not in _HOLES and any(map(_has_background, node.children)))


def chain_of(root: "Node") -> list[int]:
    """Where simple commands begin of which each runs only if those before it did not fail, in this very shell."""
    statements = [child for child in root.named_children if child.type != "comment"]
    if len(statements) != 1 or any(child.type == "&" for child in root.children):
        return []
    if b"<<" in (root.text or b"<<"):
        return []  # what follows in the line of a here-document stands in there
    found: list[int] = []
    node = statements[0]
    while node.type in {"list", "redirected_statement"}:
        if node.type == "list" and node.children[1].type != "&&":
            return []
        if node.type == "list" and node.children[-1].type == "command":
            found.append(node.children[-1].start_byte)
        node = node.children[0]
    return [*found, node.start_byte] if node.type == "command" else []


_PIECE: Final = 256
"""Bytes that the parser reads at once: less than a millisecond of work."""


@cache
def _bash() -> "Language":
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())


def prepare() -> None:
    """Load the grammar now, in a thread, instead of with the first command."""
    _bash()


def tree_of(source: bytes) -> "Node":
    """The syntax tree of a command line.

    The parser holds the interpreter's lock, but not while it asks for the next piece: other threads run in between.
    So each call has a parser of its own, as two threads in one parser end the process.
    """
    from tree_sitter import Parser

    def piece(offset: int, _: object) -> bytes:
        time.sleep(0)
        return source[offset : offset + _PIECE]

    return Parser(_bash()).parse(piece).root_node
