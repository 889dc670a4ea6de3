"""Which languages the map knows: by the ends of file names, with the grammar of each and the query that finds its names.

It imports no grammar before one is needed, and only the child needs any.
"""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tree_sitter import Language

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
