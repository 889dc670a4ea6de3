"""The grammar of bash, loaded when the first command comes: it takes a while, and most turns run none."""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


@cache
def _parser() -> "Parser":
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def tree_of(source: bytes) -> "Node":
    """The syntax tree of a command line."""
    return _parser().parse(source).root_node
