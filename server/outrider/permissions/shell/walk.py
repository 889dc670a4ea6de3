"""Goes through the syntax tree of a command line and finds every simple command in it.

The tree says how commands are nested; their words are read from the text itself (`words`). Between two parts of the
tree there may be nothing but blanks and comments. So where the grammar and bash see a text differently, that is
noticed, and the line counts as one that cannot be known.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from outrider.permissions.shell.builtins import is_harmless_name
from outrider.permissions.shell.heredoc import Heredoc, heredoc_of
from outrider.permissions.shell.model import Word, no_words
from outrider.permissions.shell.tree import below, chain_of, expansions
from outrider.permissions.shell.words import (
    BRACES,
    METACHARACTERS,
    Hole,
    read_plain,
    read_simple,
    read_word,
    spelled_out,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_BLANK: Final = re.compile(rb"(?:[ \t]|\\\n)*")
_SPACE: Final = re.compile(rb"(?:[ \t\n]|\\\n)*")
_ASSIGNMENT: Final = re.compile(rb"([A-Za-z_][A-Za-z0-9_]*)\+?=")
_LOOKS_ASSIGNED: Final = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*(?:\[[^=]*)?\+?=")
_REDIRECTION: Final = re.compile(rb"[0-9]*(&>>|&>|<<<|<<-|<<|<>|<&-|>&-|<&|>&|>>|>\||<|>)")
_BRACED: Final = re.compile(
    rb"\$\{(?:#?[A-Za-z0-9_]+|[@*#?$!-]|[A-Za-z0-9_]+(?::?[-+?]|%%?|##?|//?|\^\^?|,,?)[A-Za-z0-9_ .,:/+=%*-]*)\}"
)
_SUM: Final = re.compile(rb"\$(?:\(\(|\[)[0-9 +\-*/%()<>=!&|^~,?:]*(?:\)\)|\])")
_THROWN_AWAY: Final = re.compile(rb"[ \t]*(?:2>&1|[12]?> ?/dev/null)(?=[|&;() \t\n]|\Z)")
"""Redirections that write no file, as they are mostly written."""
_DESCRIPTOR: Final = re.compile(r"[0-9]*-?")
_COMPARES: Final = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"})
_ENDS_WORD: Final = METACHARACTERS | {0x60}
_MAY_EXPAND: Final = re.compile(rb"[$`]|[<>]\(")
_WANTS_TREE: Final = re.compile(rb"[$`]|[<>]\(|<<")
"""Expansions and here-documents are looked up in the tree; all else is read from the text."""
_DECLARES: Final = frozenset({"local", "declare", "typeset", "readonly", "export"})
_SETTERS: Final = _DECLARES | {"read", "unset"}
_MOST_TIMES: Final = 24
"""How often the body of loops is looked at, each time with other words."""

_STRUCTURE: Final = frozenset(
    {
        "program", "list", "pipeline", "subshell", "compound_statement", "negated_command", "if_statement", "elif_clause",
        "else_clause", "do_group",
    }
)  # fmt: skip
_SIMPLE: Final = frozenset(
    {"command", "variable_assignment", "variable_assignments", "declaration_command", "unset_command"}
)
_ENDS_SIMPLY: Final = frozenset({"list", "pipeline", "negated_command"})
_REDIRECTS: Final = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})


@dataclass(slots=True)
class Simple:
    """A simple command, as it is written."""

    source: str
    words: list[Word] = field(default_factory=no_words)
    assigned: list[tuple[str, Word]] = field(default_factory=list[tuple[str, Word]])
    writes: list[Word] = field(default_factory=no_words)
    reads: list[Word] = field(default_factory=no_words)
    start: int = 0
    """Where it begins."""
    again: bool = False
    """Whether it may run any number of times."""
    is_fed: bool = False
    """Whether the line says where its input comes from."""
    before: "Simple | None" = None
    """What stands before it in a pipe."""


@dataclass(slots=True)
class Found:
    """What a walk came to."""

    commands: list[Simple] = field(default_factory=list[Simple])
    problems: list[str] = field(default_factory=list[str])
    chain: frozenset[int] = frozenset()
    """Where simple commands begin that stand in one list, joined by `&&`, which is the whole line."""


def walk(root: "Node", source: bytes) -> Found:
    """Find the simple commands below `root`, in the order in which they are written."""
    walker = _Walk(source)
    if root.has_error:
        walker.problem("its syntax is not understood")
    walker.visit(root)
    if b"cd" in source:
        walker.found.chain = frozenset(chain_of(root))
    return walker.found


class _Walk:
    def __init__(self, source: bytes) -> None:
        self._source = source
        self.found = Found()
        self._pipes_words = b"xargs" in source
        self._repeating = 0
        """How many loops are around, of which nobody knows how often they run."""
        self._times = 1
        """How often what is visited runs, where that is known."""
        self._filled: dict[bytes, Word] = {}
        """What the variables of the loops around hold, where they go through words that are known."""

    def problem(self, text: str) -> None:
        if text not in self.found.problems:
            self.found.problems.append(text)

    # --- structure -----------------------------------------------------------------------------------------------

    def visit(self, node: "Node", tail: "Node | None" = None) -> None:
        """Visit a statement; `tail` is the redirected statement whose redirections belong to its last command."""
        kind = node.type
        if kind in _SIMPLE:
            return self._simple(node, tail)
        if kind in _STRUCTURE:
            if kind == "compound_statement" and self._source.startswith(b"((", node.start_byte):
                return self._not_understood(node, "it counts with variables")
            return self._structure(node, node.children, tail)
        match kind:
            case "redirected_statement":
                self._redirected(node)
            case "while_statement":
                self._repeating += 1
                self._structure(node, node.children, tail)
                self._repeating -= 1
            case "test_command":
                self._test(node)
            case "for_statement":
                self._loop(node)
            case "case_statement":
                self._case(node)
            case "function_definition":
                self.problem("it defines a function")
                for child in node.named_children:
                    if child.type != "word":
                        self.visit(child)
            case "heredoc_body" | "heredoc_start" | "heredoc_end":
                self.problem("a here-document is not understood")
            case _:
                self._not_understood(node, f"a part of it is not understood ({kind.replace('_', ' ')})")
        return None

    def _structure(self, node: "Node", children: Sequence["Node"], tail: "Node | None" = None) -> None:
        at = children[0].start_byte if children else node.start_byte
        kind, last = node.type, len(children) - 1
        before: Simple | None = None
        if kind == "program":
            at = 0
        for number, child in enumerate(children):
            start = child.start_byte
            if at < start:
                self._gap(at, start)
            at = child.end_byte
            if child.type == "|&":
                before = None  # what it says of errors goes into the pipe too
            elif child.type == "comment":
                self._comment(child)
            elif child.is_named:
                place = len(self.found.commands)
                self.visit(child, tail if number == last and kind in _ENDS_SIMPLY else None)
                if kind == "pipeline" and self._pipes_words:
                    before = self._piped(child, place, before)
        end = len(self._source) if kind == "program" else node.end_byte
        if at < end:
            self._gap(at, end)

    def _piped(self, node: "Node", place: int, before: Simple | None) -> Simple | None:
        """Note what stands before a command in a pipe; gives the command, None where it is more than a simple one."""
        is_one = node.type == "command" or (
            node.type == "redirected_statement" and node.children[0].type == "command"
        )
        if (
            not is_one
            or place >= len(self.found.commands)
            or b"&" in self._source[node.start_byte : node.end_byte]
        ):
            return None
        simple = self.found.commands[place]
        simple.before = before
        return simple

    def _gap(self, start: int, end: int) -> None:
        if start < end and not _SPACE.fullmatch(self._source, start, end):
            self.problem("a part of it is not understood")

    def _comment(self, node: "Node") -> None:
        before = self._source[node.start_byte - 1 : node.start_byte]
        if before and before not in {b" ", b"\t", b"\n", b";", b"&", b"|", b"(", b")"}:
            self.problem("it is not clear where a comment begins")
        if b"\n" in self._source[node.start_byte : node.end_byte]:
            self.problem("it is not clear where a comment ends")

    def _not_understood(self, node: "Node", why: str) -> None:
        """Say why, and look for the commands in it all the same: a rule may forbid one of them."""
        self.problem(why)
        for child in node.named_children:
            if child.type in _STRUCTURE or child.type in {
                "command",
                "redirected_statement",
                "function_definition",
            }:
                self.visit(child)
            else:
                self._not_understood(child, why)

    def _loop(self, node: "Node") -> None:
        name = next((self._text(child) for child in node.children if child.type == "variable_name"), "")
        if not name or not is_harmless_name(name):
            self.problem(f"it sets {name or 'a variable'}")
        body = next((child for child in node.children if child.type == "do_group"), None)
        head = next((child for child in node.children if child.type == "in"), None)
        for child in node.children:
            if child.type == "compound_statement":
                self._not_understood(child, "a part of it is not understood")
        if body is None:
            return self.problem("a part of it is not understood")
        values: list[Word] | None = None
        if head is not None:
            between = [
                c for c in node.children if c.start_byte >= head.end_byte and c.end_byte <= body.start_byte
            ]
            ends = next((c.start_byte for c in between if c.type in {";", "\n"}), None)
            if ends is None:
                ends = body.start_byte
            values = self._words_only(head.end_byte, ends, between)
            self._gap(min(ends + 1, body.start_byte), body.start_byte)
        return self._body(body, name.encode(), values)

    def _body(self, body: "Node", name: bytes, values: list[Word] | None) -> None:
        """Visit what a loop does: once for each word that it goes through, where these are known, and few."""
        times = len(values or ())
        is_known = all(word.text is not None or word.is_glob for word in values or ())
        if name in self._filled:
            self.problem(f"it sets {name.decode()} in its own loop")
        elif times and is_known and self._times * times <= _MOST_TIMES:
            self._times *= times
            for value in values or ():
                self._filled[name] = value
                self._repeating += value.is_glob  # once for each file that it stands for
                self.visit(body)
                self._repeating -= value.is_glob
            del self._filled[name]
            self._times //= times
            return
        self._repeating += 1
        self.visit(body)
        self._repeating -= 1

    def _set_again(self, simple: Simple) -> None:
        """Notice whether a command sets a variable of a loop around it: then it does not hold what the loop says."""
        names = {name for name, _ in simple.assigned}
        if any(word.text in _SETTERS for word in simple.words):
            names |= {(word.text or word.prefix).partition("=")[0].rstrip("+") for word in simple.words}
        for name in names:
            if name.encode() in self._filled:
                self.problem(f"it sets {name} in its own loop")

    def _case(self, node: "Node") -> None:
        head = next((child for child in node.children if child.type == "in"), None)
        if head is None:
            return self._not_understood(node, "a part of it is not understood")
        at = head.end_byte
        self._words_only(node.start_byte + len("case"), head.start_byte, node.children)
        for child in node.children:
            if child.start_byte < head.end_byte:
                continue
            self._gap(at, child.start_byte)
            at = child.end_byte
            if child.type == "case_item":
                self._case_item(child)
            elif child.type == "comment":
                self._comment(child)
            elif child.is_named:
                self._not_understood(child, "a part of it is not understood")
        return None

    def _case_item(self, node: "Node") -> None:
        closing = next((child for child in node.children if child.type == ")"), None)
        if closing is None:
            return self._not_understood(node, "a part of it is not understood")
        pattern = self._source[node.start_byte : closing.start_byte]
        if not re.fullmatch(rb"\(?[A-Za-z0-9_.*?/ |+=:\"'-]*", pattern):
            self._not_understood(node, "a pattern is not understood")
            return None
        after = [child for child in node.children if child.start_byte >= closing.end_byte]
        at = closing.end_byte
        for child in after:
            self._gap(at, child.start_byte)
            at = child.end_byte
            if child.type == "comment":
                self._comment(child)
            elif child.is_named:
                self.visit(child)
        return None

    def _test(self, node: "Node") -> None:
        """Look at `[ … ]` and `[[ … ]]`: they run nothing, unless they count, or hold a substitution."""
        double = self._source.startswith(b"[[", node.start_byte)
        size = 2 if double else 1
        start, end = node.start_byte + size, node.end_byte - size
        words = self._words_only(start, end, [node], between=(b"&&", b"||") if double else ())
        if double and any(word.text in _COMPARES for word in words):
            self.problem("it counts with variables")
        opening, closing = ("[[", "]]") if double else ("[", "]")
        simple = Simple(self._text(node), [Word(opening, opening), *words, Word(closing, closing)])
        self.found.commands.append(simple)

    # --- simple commands -----------------------------------------------------------------------------------------

    def _redirected(self, node: "Node") -> None:
        body, *redirects = node.named_children
        if body.type in _REDIRECTS:
            return self._simple(node, node)
        last = body
        while last.type in _ENDS_SIMPLY and last.named_children:
            last = last.named_children[-1]
        if last.type in {"command", "variable_assignment", "variable_assignments", "declaration_command"}:
            return self.visit(body, node)
        self.visit(body)
        simple = Simple(self._text(node))
        self._tokens(body.end_byte, node.end_byte, redirects, simple)
        if simple.words or simple.assigned:
            self.problem("a part of it is not understood")
        if simple.writes or simple.reads:
            self.found.commands.append(Simple(simple.source, writes=simple.writes, reads=simple.reads))
        return None

    def _simple(self, node: "Node", tail: "Node | None") -> None:
        source, start, at = self._source, node.start_byte, node.end_byte
        end = tail.end_byte if tail else at
        holders: list[Node] = []
        if _WANTS_TREE.search(source, start, end):
            holders = (
                [node, *(child for child in tail.named_children if child.type in _REDIRECTS)]
                if tail
                else [node]
            )
        simple = Simple(source[start:end].decode("utf-8", "replace"), start=start, again=self._repeating > 0)
        place = len(self.found.commands)
        if words := read_plain(source, start, at):
            simple.words, start = words, at
        self._tokens(start, end, holders, simple)
        for word in simple.words[:1]:
            if word.text in _DECLARES:
                self._declared(simple)
        if self._filled:
            self._set_again(simple)
        self.found.commands.insert(place, simple)

    def _declared(self, simple: Simple) -> None:
        """Look at the names that `export` and the like set: their words are assignments."""
        for word in simple.words[1:]:
            name = (word.text or word.prefix).partition("=")[0]
            if not is_harmless_name(name, exported=simple.words[0].text == "export") or name.startswith("-"):
                self.problem(f"it sets {name or 'a variable'}")

    def _tokens(self, start: int, end: int, holders: Sequence["Node"], simple: Simple) -> None:
        """Read the words and redirections of a simple command from its text."""
        holes = self._holes(holders)
        heredocs: list[Node] = []
        if self._source.find(b"<<", start, end) >= 0:
            heredocs = [child for holder in holders for child in below(holder, "heredoc_redirect")]
        heredoc: Heredoc | None = None
        if heredocs:
            came = heredoc_of(self._source, heredocs)
            if isinstance(came, str):
                self.problem(came)
                for child in heredocs:
                    self._not_understood(child, came)
                end = heredocs[0].start_byte
            else:
                simple.is_fed = True
                heredoc, end = came, came.simple_end
                self._holes(came.body)
            simple.source = self._source[start:end].decode("utf-8", "replace")
        at, source, words = start, self._source, simple.words
        while at < end:
            if (simply := read_simple(source, at, end)) and (words or "=" not in simply[0].source):
                words.append(simply[0])
                at = simply[1]
                continue
            if thrown := _THROWN_AWAY.match(source, at, end):
                at = thrown.end()
                continue
            if blank := _BLANK.match(source, at, end):
                at = blank.end()
            if at >= end:
                break
            came = self._token(at, end, holes, simple)
            if came is None:
                return
            if source[came - 1 : came] == b"}" and source[came : came + 1] in {b"<", b">"}:
                self.problem("a redirection is not understood")
            at = came
        if heredoc is not None:
            self._rest_of_line(heredoc)
        elif end < len(self._source) and self._source[end] not in _ENDS_WORD:
            self.problem("it is not clear where a word ends")

    def _rest_of_line(self, heredoc: Heredoc) -> None:
        at = heredoc.simple_end
        for child in heredoc.rest:
            self._gap(at, child.start_byte)
            at = child.end_byte
            if child.type == "pipeline" and child.children and not child.children[0].is_named:
                self._structure(child, child.children[1:])
            elif child.is_named:
                self.visit(child)
        self._gap(at, heredoc.line_end)

    def _token(self, at: int, end: int, holes: dict[int, Hole], simple: Simple) -> int | None:
        source = self._source
        redirection = _REDIRECTION.match(source, at, end)
        if redirection and at not in holes and redirection.end() - len(redirection[1]) not in holes:
            return self._redirection(redirection, end, holes, simple)
        if source[at] == 0x23:  # '#': bash takes the rest for a comment
            self.problem("it is not clear where a comment begins")
            return None
        assignment = _ASSIGNMENT.match(source, at, end)
        if assignment and not simple.words:
            return self._assignment(assignment, end, holes, simple)
        if not simple.words and _LOOKS_ASSIGNED.match(source, at, end):
            self.problem("an assignment is not understood")
            return None
        if simple.words and (braces := BRACES.match(source, at, end)):
            simple.words += spelled_out(braces)
            return braces.end()
        read = read_word(source, at, end, holes, self._filled)
        if isinstance(read, str):
            self.problem(read)
            return None
        simple.words.append(read.word)
        return read.end

    def _assignment(
        self, match: re.Match[bytes], end: int, holes: dict[int, Hole], simple: Simple
    ) -> int | None:
        name, at = match[1].decode(), match.end()
        value = Word("", "")
        if at < end and self._source[at] == 0x28:  # an array
            close = self._source.find(b")", at, end)
            if not re.fullmatch(rb"\([A-Za-z0-9_ \t\n./:=+,-]*\)", self._source[at : close + 1]):
                self.problem("an array is not understood")
                return None
            at, value = close + 1, Word("", None)
        elif at < end and (self._source[at] not in METACHARACTERS or at in holes):
            read = read_word(self._source, at, end, holes, self._filled)
            if isinstance(read, str):
                self.problem(read)
                return None
            at, value = read.end, read.word
        simple.assigned.append((name, value))
        return at

    def _redirection(
        self, match: re.Match[bytes], end: int, holes: dict[int, Hole], simple: Simple
    ) -> int | None:
        operator = match[1].decode()
        if operator.endswith("-") and operator != "<<-":  # it closes a descriptor, and takes no word
            return match.end()
        at = _BLANK.match(self._source, match.end(), end)
        read = read_word(self._source, at.end() if at else match.end(), end, holes, self._filled)
        if isinstance(read, str):
            self.problem("a redirection is not understood")
            return None
        target = read.word
        simple.is_fed = simple.is_fed or operator.startswith("<")
        if operator == "<<<" and target.text is None and target.source.startswith(("$(", "`")):
            self.problem("a command fills in a here-string")
        copies = operator in {">&", "<&"} and target.text is not None and _DESCRIPTOR.fullmatch(target.text)
        if copies or operator in {"<<", "<<-", "<<<"} or target.text == "/dev/null":
            pass
        elif operator in {"<", "<&"} and not (target.text or target.prefix or "/dev/tcp/").startswith(
            ("/dev/tcp/", "/dev/udp/")
        ):
            simple.reads.append(target)
        else:
            simple.writes.append(target)
        return read.end

    def _words_only(
        self, start: int, end: int, holders: Sequence["Node"], between: tuple[bytes, ...] = ()
    ) -> list[Word]:
        """Read words from a stretch that holds nothing else but what may stand `between` them."""
        holes, words = self._holes(holders), list[Word]()
        at = start
        while True:
            blank = _SPACE.match(self._source, at) if between else _BLANK.match(self._source, at)
            at = min(blank.end(), end) if blank else at
            if at >= end:
                return words
            if joint := next((one for one in between if self._source.startswith(one, at)), None):
                at += len(joint)
                continue
            if not between and (braces := BRACES.match(self._source, at, end)):
                words += spelled_out(braces)
                at = braces.end()
                continue
            read = read_word(self._source, at, end, holes, self._filled)
            if isinstance(read, str):
                self.problem(read)
                return words
            words.append(read.word)
            at = read.end

    # --- expansions ----------------------------------------------------------------------------------------------

    def _holes(self, holders: Sequence["Node"]) -> dict[int, Hole]:
        found: dict[int, Hole] = {}
        for holder in holders:
            if not _MAY_EXPAND.search(self._source, holder.start_byte, holder.end_byte):
                continue
            for node in expansions(holder):
                start = node.start_byte
                while self._source[
                    start : start + 1
                ].isspace():  # the node of a quoted one takes the blanks before it
                    start += 1
                if start in found:
                    continue
                match node.type:
                    case "command_substitution":
                        self._substitution(node, start)
                        found[start] = Hole(node.end_byte, "command")
                    case "process_substitution":
                        self._substitution(node, start)
                        found[start] = Hole(node.end_byte, "process")
                    case _:
                        self._value(node, start)
                        found[start] = Hole(node.end_byte, "value")
        return found

    def _substitution(self, node: "Node", start: int) -> None:
        text = self._source[start : node.end_byte]
        if text.startswith(b"`") and b"\\" in text:
            self.problem("backquotes contain a backslash")
        opening, *inner, closing = node.children
        if closing.type not in {")", "`"} or opening.is_named:
            return self._not_understood(node, "a substitution is not understood")
        if inner and inner[0].type == "file_redirect":
            simple = Simple(self._text(inner[0]))
            self._tokens(inner[0].start_byte, inner[0].end_byte, inner[:1], simple)
            self.found.commands.append(simple)
            inner = inner[1:]
        at = opening.end_byte
        for child in inner:
            self._gap(at, child.start_byte)
            at = child.end_byte
            if child.type == "comment":
                self._comment(child)
            elif child.is_named:
                self.visit(child)
        self._gap(at, closing.start_byte)
        return None

    def _value(self, node: "Node", start: int) -> None:
        text = self._source[start : node.end_byte]
        if text.startswith((b"$((", b"$[")):
            if not _SUM.fullmatch(text):
                self._not_understood(node, "it counts with variables")
        elif text.startswith(b"${") and not _BRACED.fullmatch(text):
            self._not_understood(node, "the expansion of a variable is not understood")

    def _text(self, node: "Node") -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")
