"""The language servers that are known: how each is started, what it wants, and how to get it. Data, and nothing else.

Of servers of the same role for a language the first one that is found is used. A row with `tested` runs in Outrider's own tests.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Role = Literal["types", "lint"]
"""`types` knows the code: it navigates, renames and judges. `lint` judges beside it."""
Way = Literal["lsp", "tsserver", "disk"]
"""How it is asked for problems: `lsp` as its capabilities say; `tsserver` by requests that it hands on, since what it publishes names no
version; `disk` not at all, because it judges what is saved."""

LANGUAGES: Final[Mapping[str, str]] = {
    ".py": "python", ".pyi": "python",
    ".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "typescriptreact",
    ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascriptreact",
    ".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hh": "cpp", ".hpp": "cpp", ".hxx": "cpp",
    ".go": "go", ".rs": "rust", ".lua": "lua", ".java": "java", ".kt": "kotlin", ".cs": "csharp", ".php": "php", ".rb": "ruby",
    ".zig": "zig", ".ex": "elixir", ".exs": "elixir", ".hs": "haskell", ".ml": "ocaml", ".mli": "ocaml", ".scala": "scala",
    ".swift": "swift", ".dart": "dart", ".vue": "vue", ".svelte": "svelte", ".sh": "shellscript", ".bash": "shellscript",
}  # fmt: skip
"""Endings of files, and what LSP calls their language (LSP 3.17, "TextDocumentItem")."""

DEFINERS: Final[Mapping[str, tuple[str, ...]]] = {"python": ("def", "class")}
"""Languages in which one of these words stands right before the name of each function and class that is defined."""

_SCRIPTS: Final = ("typescript", "typescriptreact", "javascript", "javascriptreact")
_OF_NODE: Final = ("package.json", "tsconfig.json", "jsconfig.json")
_OF_PYTHON: Final = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "pyrightconfig.json")
_OF_C: Final = ("compile_commands.json", "compile_flags.txt", ".clangd", "CMakeLists.txt", "meson.build")
_PYRIGHT: Final = {
    "analysis": {"diagnosticMode": "openFilesOnly", "autoSearchPaths": True, "useLibraryCodeForTypes": True}
}
_OF_TSSERVER: Final = {
    "disableAutomaticTypingAcquisition": True,  # it would download them
    "tsserver": {
        "useSyntaxServer": "never"
    },  # which knows open files alone, and answers while the project is being read
}


@dataclass(frozen=True, slots=True)
class Row:
    """One language server."""

    name: str
    command: tuple[str, ...]
    languages: tuple[str, ...]
    """As LSP calls them."""
    markers: tuple[str, ...]
    """Files of a folder that say that it wants this language."""
    get: str
    """How to get it."""
    role: Role = "types"
    way: Way = "lsp"
    tested: bool = False
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Its `initializationOptions`."""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What it gets for `workspace/configuration`, by section."""
    rebuilds: bool = False
    """Whether it looks at the files that refer to a changed one only when it is told so (clangd's `forceRebuild`)."""
    indexes: Literal["", "progress", "log"] = ""
    """How it says that it knows all uses of a name, for which it first looks through the project: by the end of its progress, or by a line
    of its log. Until then pyright finds those in open files, and says nothing of the others. Empty: it looks when it is asked."""
    loads: Literal["", "progress", "status"] = ""
    """How it says that it has read the project, before which it knows little: by the end of its progress, or by the notification
    `experimental/serverStatus` (rust-analyzer's "LSP Extensions"). Empty: it reads what it is asked about."""
    package: str = ""
    """What its package is called, where the version says whether it can serve."""
    since: tuple[int, ...] = ()
    """The first version that can."""
    interpreter: str = ""
    """Where in its settings the project's interpreter stands, such as `python.pythonPath`. Empty: it finds that by itself."""
    enabled: bool = True


TABLE: Final[tuple[Row, ...]] = (
    Row("basedpyright", ("basedpyright-langserver", "--stdio"), ("python",), _OF_PYTHON, "pip install basedpyright",
        tested=True, indexes="log", interpreter="python.pythonPath", settings={"basedpyright": _PYRIGHT, "python": _PYRIGHT}),
    Row("pyright", ("pyright-langserver", "--stdio"), ("python",), _OF_PYTHON, "pip install pyright", tested=True, indexes="log",
        interpreter="python.pythonPath", settings={"python": _PYRIGHT}),
    Row("ty", ("ty", "server"), ("python",), _OF_PYTHON, "pip install ty", tested=True),
    Row("ruff", ("ruff", "server"), ("python",), ("ruff.toml", ".ruff.toml"), "pip install ruff", role="lint", tested=True,
        package="ruff", since=(0, 5, 3)),
    Row("typescript-language-server", ("typescript-language-server", "--stdio"), _SCRIPTS, _OF_NODE,
        "npm install typescript-language-server typescript@6", way="tsserver", tested=True, options=_OF_TSSERVER),
    Row("vtsls", ("vtsls", "--stdio"), _SCRIPTS, _OF_NODE, "npm install @vtsls/language-server", way="tsserver",
        settings={"typescript": {"disableAutomaticTypeAcquisition": True}}),
    Row("typescript", ("tsc", "--lsp", "--stdio"), _SCRIPTS, _OF_NODE, "npm install typescript@7",
        package="typescript", since=(7,)),
    Row("clangd", ("clangd", "--use-dirty-headers"), ("c", "cpp"), _OF_C, "apt install clangd",
        tested=True, rebuilds=True, indexes="progress"),
    Row("gopls", ("gopls",), ("go",), ("go.mod", "go.work"), "go install golang.org/x/tools/gopls@latest", tested=True,
        loads="progress"),
    Row("rust-analyzer", ("rust-analyzer",), ("rust",), ("Cargo.toml",), "rustup component add rust-analyzer", tested=True, loads="status",
        options={"checkOnSave": False}, settings={"rust-analyzer": {"checkOnSave": False}}),
    Row("lua-language-server", ("lua-language-server",), ("lua",), (".luarc.json", ".luarc.jsonc", "stylua.toml"),
        "see the packages of lua-language-server", loads="progress"),
    Row("jdtls", ("jdtls",), ("java",), ("pom.xml", "build.gradle", "build.gradle.kts"), "see eclipse.jdt.ls", loads="progress"),
    Row("kotlin-lsp", ("kotlin-lsp", "--stdio"), ("kotlin",), ("build.gradle.kts", "settings.gradle.kts"), "see kotlin-lsp", loads="progress"),
    Row("csharp-ls", ("csharp-ls",), ("csharp",), ("global.json", "Directory.Build.props"), "dotnet tool install csharp-ls", loads="progress"),
    Row("phpactor", ("phpactor", "language-server"), ("php",), ("composer.json",), "see phpactor"),
    Row("ruby-lsp", ("ruby-lsp",), ("ruby",), ("Gemfile",), "gem install ruby-lsp", way="lsp"),
    Row("zls", ("zls",), ("zig",), ("build.zig",), "see zls"),
    Row("elixir-ls", ("elixir-ls",), ("elixir",), ("mix.exs",), "see elixir-ls", way="disk", loads="progress"),
    Row("haskell-language-server", ("haskell-language-server-wrapper", "--lsp"), ("haskell",), ("stack.yaml", "cabal.project"),
        "ghcup install hls", loads="progress"),
    Row("ocamllsp", ("ocamllsp",), ("ocaml",), ("dune-project",), "opam install ocaml-lsp-server"),
    Row("metals", ("metals",), ("scala",), ("build.sbt", "build.sc"), "cs install metals", way="disk", loads="progress"),
    Row("sourcekit-lsp", ("sourcekit-lsp",), ("swift",), ("Package.swift",), "it comes with Swift"),
    Row("dart", ("dart", "language-server", "--protocol=lsp"), ("dart",), ("pubspec.yaml",), "it comes with Dart"),
    Row("bash-language-server", ("bash-language-server", "start"), ("shellscript",), (".shellcheckrc",),
        "npm install bash-language-server"),
)  # fmt: skip


def language_of(path: str) -> str | None:
    """What LSP calls the language of a file; None for one that no row is about."""
    dot = path.rfind(".")
    return LANGUAGES.get(path[dot:].lower()) if dot > path.rfind("/") else None


def kind_of(uri: str) -> str:
    """The language of a file; of one that no row is about its ending."""
    return language_of(uri) or uri.rpartition("/")[2].rpartition(".")[2]
