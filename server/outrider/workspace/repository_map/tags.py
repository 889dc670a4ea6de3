"""The tags of one text: the names that it defines, and those that it uses. Of the rest of a text only signatures leave this module.

Names are bounded in number and length; a text that is binary, written by a machine, or too long has none. How long it takes
is not bounded here: see `readers`.
"""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tree_sitter import Language

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, QueryCursor


_QUERIES: Final = Path(__file__).with_name("queries")


@dataclass(frozen=True, slots=True)
class Tongue:
    """A language, as the map knows it."""

    name: str
    family: str
    """Languages of one family use each other's names."""
    suffixes: tuple[str, ...]
    module: str
    """What holds its grammar."""
    maker: str = "language"
    """The function in it that gives the grammar."""
    queries: tuple[str, ...] = ()
    """The files of its query; none: the one of its own name."""

    def grammar(self) -> "Language":
        """Its grammar. Imports it."""
        from tree_sitter import Language

        grammar: object = getattr(import_module(self.module), self.maker)()
        return Language(grammar)

    def query(self) -> str:
        """The text of its query."""
        names = self.queries or (self.name,)
        return "\n".join((_QUERIES / f"{name}.scm").read_text("utf-8") for name in names)


TONGUES: Final = (
    Tongue("python", "python", (".py", ".pyi"), "tree_sitter_python"),
    Tongue("javascript", "web", (".js", ".jsx", ".mjs", ".cjs"), "tree_sitter_javascript"),
    Tongue("typescript", "web", (".ts", ".mts", ".cts"), "tree_sitter_typescript", "language_typescript"),
    Tongue("tsx", "web", (".tsx",), "tree_sitter_typescript", "language_tsx", ("typescript", "tsx")),
    Tongue("go", "go", (".go",), "tree_sitter_go"),
    Tongue("rust", "rust", (".rs",), "tree_sitter_rust"),
    Tongue("java", "java", (".java",), "tree_sitter_java"),
    Tongue("c", "c", (".c",), "tree_sitter_c"),
    # A header may be of either, and the grammar of C++ reads what is C.
    Tongue("cpp", "c", (".h", ".hh", ".hpp", ".hxx", ".cc", ".cpp", ".cxx", ".ipp"), "tree_sitter_cpp"),
    Tongue("c_sharp", "c_sharp", (".cs",), "tree_sitter_c_sharp"),
    Tongue("ruby", "ruby", (".rb", ".rake"), "tree_sitter_ruby"),
    Tongue("php", "php", (".php",), "tree_sitter_php", "language_php"),
    Tongue("lua", "lua", (".lua",), "tree_sitter_lua"),
    Tongue("bash", "shell", (".sh", ".bash"), "tree_sitter_bash"),
)
FAMILIES: Final = tuple(dict.fromkeys(tongue.family for tongue in TONGUES))
_BY_SUFFIX: Final = {suffix: tongue for tongue in TONGUES for suffix in tongue.suffixes}


def tongue_of(path: str) -> Tongue | None:
    """The language of a file, by its name; None for one that the map does not know."""
    name = path.rpartition("/")[2]
    dot = name.rfind(".")
    return _BY_SUFFIX.get(name[dot:].lower()) if dot > 0 else None


MOST_BYTES: Final = 256 * 1024
"""Bytes of the longest text that is parsed."""
MOST_DEFINITIONS: Final = 1_000
MOST_REFERENCES: Final = 2_000
"""Different names of one text, of either kind."""
LONGEST_NAME: Final = 100
"""Characters; a longer name is none that anybody wrote."""
LONGEST_SIGNATURE: Final = 60
"""Characters; of a longer one only the beginning stays."""
LONGEST_LINE: Final = 5_000
"""Bytes; a text with a longer one was written by a machine."""

_LOCAL: Final = frozenset({"function", "method"})
"""What is defined inside of those is nobody else's business."""
_HOLDERS: Final = frozenset({"class", "struct", "interface", "trait", "enum", "impl", "module", "type"})
_MATCHES: Final = 10_000
"""Matches of a query that may be under way at once."""
_CLIMB: Final = 4
"""How far above its name the whole of a definition is looked for."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A name that a text defines."""

    name: str
    kind: str
    """What it is, as the captures of the queries are called."""
    line: int
    """From 1."""
    within: int | None = None
    """Which of the text's definitions holds it, as its place among them."""
    signature: str = ""
    """What stands between the name and the body of a function, in one line; empty for everything else."""


@dataclass(frozen=True, slots=True)
class Tags:
    """The names of one text."""

    definitions: tuple[Definition, ...] = ()
    """In the order of the text."""
    references: Mapping[str, int] = field(default_factory=dict[str, int])
    """The names that it uses, and how often; with a dot before it where it is one of something whose kind is not known."""


NONE: Final = Tags()


class Tagger:
    """Reads the tags of texts; keeps what it takes to parse, for one text after the other."""

    def __init__(self) -> None:
        self._tools: dict[str, tuple[Parser, QueryCursor]] = {}

    def tags_of(self, tongue: Tongue, source: bytes) -> Tags:
        """The tags of a text; none where it is not to be parsed.

        Args:
            tongue: Its language.
            source: The text, in UTF-8 for the most part.
        """
        if not is_fit(source):
            return NONE
        parser, cursor = self._tools_of(tongue)
        tree = parser.parse(source)
        captures = cursor.captures(tree.root_node)
        plain, members = captures.pop("ref", ()), captures.pop("member", ())
        used = Counter(name for node in plain if (name := _name(source, node)))
        used.update(f".{name}" for node in members if (name := _name(source, node)))
        return Tags(_definitions(source, captures), dict(used.most_common(MOST_REFERENCES)))

    def _tools_of(self, tongue: Tongue) -> "tuple[Parser, QueryCursor]":
        from tree_sitter import Parser, Query, QueryCursor

        if tongue.name not in self._tools:
            grammar = tongue.grammar()
            self._tools[tongue.name] = (
                Parser(grammar),
                QueryCursor(Query(grammar, tongue.query()), match_limit=_MATCHES),
            )
        return self._tools[tongue.name]


def is_fit(source: bytes) -> bool:
    """Whether a text may be one that a user wrote, and is not too long."""
    if len(source) > MOST_BYTES or b"\0" in source:
        return False
    return len(max(source.split(b"\n"), key=len)) <= LONGEST_LINE


def fingerprint() -> str:
    """What tags depend on besides the text: the queries and the versions of the grammars."""
    import hashlib
    from importlib.metadata import PackageNotFoundError, version

    parts = [f"{MOST_DEFINITIONS} {MOST_REFERENCES} {LONGEST_NAME} {LONGEST_SIGNATURE}"]
    for tongue in TONGUES:
        try:
            grammar = version(tongue.module.replace("_", "-"))
        except PackageNotFoundError:
            grammar = "?"
        parts.append(f"{tongue.name} {grammar} {tongue.query()}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _name(source: bytes, node: "Node") -> str:
    start, end = node.start_byte, node.end_byte
    return source[start:end].decode("utf-8", "replace") if end - start <= LONGEST_NAME else ""


def _definitions(source: bytes, captures: "Mapping[str, Iterable[Node]]") -> tuple[Definition, ...]:
    found: dict[int, tuple[int, int, int, str, str, str]] = {}
    for kind, nodes in captures.items():
        for node in nodes:
            if node.start_byte not in found and (name := _name(source, node)):
                whole = _whole(node)
                signature = _signature(source, node, whole) if kind in _LOCAL else ""
                place = (whole.start_byte, whole.end_byte, node.start_point.row)
                found[node.start_byte] = (*place, name, kind, signature)
    definitions: list[Definition] = []
    open_ones: list[tuple[int, int | None, str]] = []
    for _, (start, end, row, name, kind, signature) in sorted(found.items()):
        while open_ones and open_ones[-1][0] <= start:
            open_ones.pop()
        if any(kind_around in _LOCAL for _, _, kind_around in open_ones):
            continue
        within = next((place for _, place, _ in reversed(open_ones)), None)
        if kind in _HOLDERS or kind in _LOCAL:
            open_ones.append((end, len(definitions), kind))
        is_method = kind == "function" and within is not None and definitions[within].kind != "module"
        shown = "method" if is_method else kind
        definitions.append(Definition(name, shown, row + 1, within, signature))
        if len(definitions) == MOST_DEFINITIONS:
            break
    return tuple(definitions)


def _signature(source: bytes, name: "Node", whole: "Node") -> str:
    """What a caller has to know of a function: its parameters and what comes of it."""
    body = whole.child_by_field_name("body")
    end = min(body.start_byte if body is not None else whole.end_byte, name.end_byte + 4 * LONGEST_SIGNATURE)
    text = " ".join(source[name.end_byte : end].decode("utf-8", "ignore").split()).rstrip(" :{=;")
    if not text.startswith(("(", "<", "[")):
        return ""  # the name does not stand before its parameters
    text = text.replace("(self, ", "(", 1).replace("(self)", "()", 1).replace("( ", "(").replace(", )", ")")
    return text if len(text) <= LONGEST_SIGNATURE else f"{text[: LONGEST_SIGNATURE - 1].rstrip(' ,')}…"


def _whole(name: "Node") -> "Node":
    """The definition that a name belongs to, with its body; where it has none, what is right above the name."""
    node = name.parent
    for _ in range(_CLIMB):
        if node is None:
            break
        if (body := node.child_by_field_name("body")) is not None:
            if body.start_byte >= name.end_byte:
                return node
            break
        node = node.parent
    return name.parent or name
