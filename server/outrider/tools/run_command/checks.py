"""What a command is evidence of: tests, types, lint, a build, or nothing. Pure.

It is known by the words of its programs and by what the project declares for a script or a target, never by its output. It counts
only where the exit code of the whole line says how the check went.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from outrider.permissions.shell.model import Program
from outrider.permissions.shell.reading import read_command
from outrider.permissions.shell.tree import tree_of
from outrider.ports.patterns import linear
from outrider_protocol.events import CheckKind

if TYPE_CHECKING:
    from tree_sitter import Node

_MAKEFILES: Final = ("GNUmakefile", "makefile", "Makefile")
"""In the order in which make takes the first one."""
_OF_PYTEST: Final = ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
DECLARING: Final = ("package.json", *_MAKEFILES, *_OF_PYTEST)
"""Files that declare what a script or a target runs, and with which options."""

_OF_KIND: Final[Mapping[CheckKind, tuple[str, ...]]] = {
    "test": (
        "pytest", "py.test", "tox", "nox", "nose2", "unittest", "doctest", "jest", "vitest", "mocha", "ava", "karma", "rspec", "phpunit",
        "pest", "ctest", "gotestsum", "busted", "bats",
    ),
    "types": ("mypy", "pyright", "basedpyright", "pyre", "pytype", "ty", "tsc", "vue-tsc", "flow"),
    "lint": (
        "flake8", "pylint", "eslint", "stylelint", "shellcheck", "rubocop", "golangci-lint", "hadolint", "yamllint", "markdownlint",
        "cpplint", "clang-tidy", "luacheck", "selene", "oxlint", "biome", "lint-imports", "staticcheck",
    ),
    "build": (
        "ninja", "javac", "gcc", "g++", "cc", "c++", "clang", "clang++", "rustc", "webpack", "rollup", "esbuild", "tsup", "compileall",
        "py_compile",
    ),
}  # fmt: skip
_PROGRAMS: Final[dict[str, CheckKind]] = {name: kind for kind, names in _OF_KIND.items() for name in names}
_BY_COMMAND: Final[Mapping[str, Mapping[str, CheckKind]]] = {
    "cargo": {"test": "test", "nextest": "test", "check": "types", "clippy": "lint", "build": "build"},
    "go": {"test": "test", "vet": "lint", "build": "build"},
    "deno": {"test": "test", "check": "types", "lint": "lint"},
    "dotnet": {"test": "test", "build": "build"},
    "swift": {"test": "test", "build": "build"},
    "mix": {"test": "test", "compile": "build", "credo": "lint", "dialyzer": "types"},
    "zig": {"test": "test", "build": "build"},
    "bazel": {"test": "test", "build": "build"},
    "playwright": {"test": "test"},
    "cypress": {"run": "test"},
    "vite": {"build": "build"},
    "next": {"build": "build", "lint": "lint"},
    "ruff": {"check": "lint"},
    "pre-commit": {"run": "lint"},
    "meson": {"test": "test", "compile": "build"},
    **{
        name: {"test": "test", "verify": "test", "check": "test", "build": "build", "compile": "build", "assemble": "build"}
        for name in ("mvn", "mvnw", "gradle", "gradlew")
    },
}  # fmt: skip
"""Programs that are told by their first argument what to do."""
_WITH_OPTION: Final[Mapping[str, tuple[str, CheckKind]]] = {
    "node": ("--test", "test"), "black": ("--check", "lint"), "isort": ("--check", "lint"),
    "prettier": ("--check", "lint"), "stylua": ("--check", "lint"), "ruff": ("--check", "lint"), "rustfmt": ("--check", "lint"),
    "cargo": ("--check", "lint"), "cmake": ("--build", "build"),
}  # fmt: skip
_LAUNCHERS: Final = (
    ("uv", "run"), ("poetry", "run"), ("pdm", "run"), ("pipenv", "run"), ("hatch", "run"), ("rye", "run"), ("bundle", "exec"),
    ("npm", "exec"), ("pnpm", "exec"), ("pnpm", "dlx"), ("yarn", "exec"), ("npx",), ("bunx",), ("pnpx",),
)  # fmt: skip
_RUNNERS: Final = frozenset({"npm", "pnpm", "yarn", "bun"})
_OF_TARGETS: Final = frozenset({"make", "gmake", "just", "task", "rake"})
_WORDS: Final[Mapping[CheckKind, tuple[str, ...]]] = {
    "test": ("test", "tests", "spec", "specs", "check", "unit", "e2e"),
    "types": ("types", "typecheck", "tsc", "mypy", "pyright"),
    "lint": ("lint", "eslint", "clippy"),
    "build": ("build", "compile", "all"),
}
_BY_WORD: Final[dict[str, CheckKind]] = {word: kind for kind, words in _WORDS.items() for word in words}
"""What words in the name of a script or a target tell, where nothing else does."""
_SAYS_NOTHING: Final = frozenset(
    {"--version", "--help", "-h", "--collect-only", "--co", "--listTests", "--list", "--dry-run", "--just-print", "--no-run",
     "--exit-zero", "--ignore-errors", "--showConfig"}
)  # fmt: skip
"""Options with which nothing is checked, or with which the exit code does not tell."""
_ONLY_TALK: Final = frozenset(
    {"echo", "printf", "true", "false", ":", "exit", "sleep", "cd", "export", "set"}
)
_SHELLS: Final = frozenset({"bash", "sh", "dash", "zsh", "eval", "find", "xargs"})
_RUN_LINES: Final = frozenset({"bash", "sh", "dash", "zsh", "env"})
"""Shells that run the lines of a Makefile."""
_DRAINS: Final = frozenset({"tail", "tee", "cat", "sort", "wc"})
"""Programs that read their input to its end, and whose own exit code says nothing against it."""
_ORDER: Final[tuple[CheckKind, ...]] = ("test", "types", "build", "lint")
"""What says most comes first."""
_DEEPEST: Final = 4
"""Scripts that run scripts."""
_TELLS_HOW: Final = linear(
    "checks.tells_how",
    r"-[qvxsl]+|-r[a-zA-Z]+|-[jn][0-9]*|-(?:race|count=1)|--(?:quiet|verbose|exitfirst|no-header|frozen|locked|workspace|all|all-targets|"
    r"run|silent|ci|nocapture)|--(?:tb|maxfail|color|colors|durations|verbosity|numprocesses|reporter|output-format|jobs)=.*|--",
)
"""Options that change how a check shows what it finds, not what it looks at."""
_OBEYS_NO_FAILURE: Final = linear("checks.no_failure", r"(?m)^[ \t]*\.(?:IGNORE|SHELLFLAGS)\b|\bMAKEFLAGS\b")
"""What a Makefile has in which a command may fail unseen."""
_SHELL: Final = linear("checks.shell", r"(?:export[ \t]+)?SHELL[ \t]*[:?]*=[ \t]*([^ \t#]*).*")
_COLLECTS: Final = linear(
    "checks.collects",
    r"(?:^|[\s\"'=\[,])--(?:co|coll[a-z-]*|fixtures|markers|setup-plan|help|version)(?:$|[\s\"',\]])",
)
_COULD_NOT_START: Final = (126, 127)
"""Exit codes of bash where there is no such program, or it cannot be run."""
_OF_PYTEST_CODES: Final = {4: "was called in a wrong way and ran no tests", 5: "found no tests"}
_NOTHING: Final[Mapping[str, Mapping[int, str]]] = {
    "pytest": _OF_PYTEST_CODES, "py.test": _OF_PYTEST_CODES, "unittest": {5: "found no tests"},
}  # fmt: skip
"""What the exit code of a test program says where no test was run; see "Exit codes" of pytest, and unittest since Python 3.12."""
_LONGEST_OPTIONS: Final = 500
"""Characters in which the options of pytest stand."""


def evidence_of(text: str, declared: Mapping[str, str]) -> tuple[CheckKind, str]:
    """What a command line checks, and the checks in it as they are written. Blocks for a moment.

    Args:
        text: The command line.
        declared: The texts of the files of `DECLARING` in its folder, by name.
    """
    found = list(_checks(text, declared, 0))
    return _telling([kind for kind, _ in found]), " && ".join(
        source for one, source in found if one != "other"
    ) or text.strip()


def unseen_check(text: str, declared: Mapping[str, str]) -> str:
    """A check in a command line whose exit code does not tell how it went, as it is written; empty for none. Blocks for a moment.

    Args:
        text: The command line.
        declared: The texts of the files of `DECLARING` in its folder, by name.
    """
    if evidence_of(text, declared)[0] != "other":
        return ""
    programs = read_command(text).programs
    return next((one.source for one in programs if _kind_of(one, declared, 0) != "other"), "")


def covers(wide: str, narrow: str) -> bool:
    """Whether a check does all that another one does: the same program, on the same files or more of them. Pure.

    What it is told beside may leave something out, as `--deselect` and `--ignore` do: then it covers only one that is told the same.
    """
    all_of, some_of = _program_and_operands(wide), _program_and_operands(narrow)
    if not all_of or all_of[:1] != some_of[:1]:
        return False
    told = {word for word in wide.split() if word.startswith("-") and not _TELLS_HOW.fullmatch(word)}
    if not told <= {*narrow.split(), "-m"}:
        return False
    if some_of[: len(all_of)] == all_of:
        return True
    # Fewer words may be a sub-command alone, which does more.
    return len(some_of) >= len(all_of) and all(
        any(_lies_in(path, place) for place in all_of[1:]) for path in some_of[1:]
    )


def checked_nothing(command: str, code: int | None) -> str:
    """Why a check that ended so has checked nothing, in words; empty for one that did. Pure."""
    if code in _COULD_NOT_START:
        return "could not be started"
    program = next(iter(_program_and_operands(command)), "")
    return _NOTHING.get(program, {}).get(code or 0, "")


def _program_and_operands(command: str) -> list[str]:
    words = _without_launcher(command.split())
    if words:
        words[0] = words[0].rpartition("/")[2]
    return [word for word in words if not word.startswith("-")]


def _lies_in(path: str, place: str) -> bool:
    """Whether a path, or a test in a file, lies in a folder or a file."""
    inner, outer = path.removeprefix("./"), place.removesuffix("...").rstrip("/").removeprefix("./")
    return outer in {"", "."} or inner == outer or inner.startswith((f"{outer}/", f"{outer}::"))


def _checks(text: str, declared: Mapping[str, str], depth: int) -> Iterator[tuple[CheckKind, str]]:
    """Each program whose failure makes the line fail, without which it cannot have succeeded."""
    source = text.encode("utf-8", "surrogatepass")
    root = tree_of(source)
    # With these in it a line has a rule of its own about pipes. The shells of scripts and targets only see how the last part went.
    fails_by = "any" if depth == 0 else "last"
    if "pipefail" in text or "PIPESTATUS" in text:
        fails_by = "unknown"
    for piece in _that_decide(root, fails_by):
        programs = read_command(piece).programs
        # What runs within it, by `$(…)` or in another shell, may fail unseen.
        if len(programs) == 1 and _SHELLS.isdisjoint(programs[0].through):
            yield _kind_of(programs[0], declared, depth), programs[0].source


def _telling(kinds: Collection[CheckKind]) -> CheckKind:
    """Of several kinds, the one that says most."""
    for kind in _ORDER:
        if kind in kinds:
            return kind
    return "other"


def _that_decide(root: "Node", fails_by: Literal["any", "last", "unknown"]) -> Iterator[str]:
    """The commands that all have to succeed for the line to do so: the last statement, and what it is chained to.

    Args:
        root: The line.
        fails_by: Which part of a pipe makes it fail.
    """
    statements = [child for child in root.named_children if child.type != "comment"]
    if root.has_error or not statements or any(child.type == "&" for child in root.children):
        return
    waiting = [statements[-1]]
    while waiting:
        node = waiting.pop(0)
        if node.type == "list" and node.children[1].type == "&&":
            waiting[:0] = [node.children[0], node.children[-1]]
        elif node.type == "redirected_statement":
            waiting[:0] = node.children[:1]
        elif node.type == "pipeline":
            first, *others = node.named_children
            if fails_by == "last":
                waiting[:0] = others[-1:]
            elif fails_by == "any" and all(_drains(other) for other in others):
                waiting[:0] = [first]
        elif node.type == "command" and node.text is not None:
            yield node.text.decode("utf-8", "surrogatepass")


def _drains(node: "Node") -> bool:
    words = (node.text or b"").split(None, 1)
    return node.type == "command" and bool(words) and words[0].decode("utf-8", "replace") in _DRAINS


def _kind_of(program: Program, declared: Mapping[str, str], depth: int) -> CheckKind:
    words = [word or "" for word in program.words]
    if not words or not _SAYS_NOTHING.isdisjoint(words):
        return "other"
    words = _without_launcher(words)
    if not words:
        return "other"
    name, rest = words[0].rpartition("/")[2], words[1:]
    arguments = [word for word in rest if not word.startswith("-")]
    if name in _RUNNERS:
        return _of_script(arguments, declared, depth)
    if name in _OF_TARGETS:
        quiet = {"-n", "-i", "-q", "-k"} & set(rest)
        return (
            "other"
            if quiet
            else _of_target(name, [one for one in arguments if "=" not in one], declared, depth)
        )
    if name in {"pytest", "py.test"} and _only_collects(declared):
        return "other"
    if name in _PROGRAMS:
        return _PROGRAMS[name]
    if arguments and (kind := _BY_COMMAND.get(name, {}).get(arguments[0])):
        return kind
    if (known := _WITH_OPTION.get(name)) and known[0] in rest:
        return known[1]
    return "test" if _is_test_script(name, arguments) else "other"


def _without_launcher(words: list[str]) -> list[str]:
    """The words of the program that runs in the end: `uv run pytest -q` and `python -m pytest -q` are `pytest -q`."""
    for launcher in _LAUNCHERS:
        if tuple(words[: len(launcher)]) == launcher:
            words = words[len(launcher) :]
            while words and words[0].startswith("-"):
                words = words[1:]
    is_python = bool(words) and words[0].rpartition("/")[2].rstrip("0123456789.") in {"python", "pypy"}
    if is_python and "-m" in words and len(words) > words.index("-m") + 1:
        return words[words.index("-m") + 1 :]
    return words


def _is_test_script(name: str, arguments: list[str]) -> bool:
    """Whether an interpreter runs a file that is called like a test."""
    if name.rstrip("0123456789.") not in {"python", "pypy", "node", "ruby", "bash", "sh"} or not arguments:
        return False
    stem = arguments[0].rpartition("/")[2].partition(".")[0]
    return (
        stem in {"test", "tests", "check", "checks"}
        or stem.startswith("test_")
        or stem.endswith(("_test", "_tests"))
    )


def _of_script(arguments: list[str], declared: Mapping[str, str], depth: int) -> CheckKind:
    """What a script of `package.json` checks: what it runs, or by its name where that is not known."""
    name = next((one for one in arguments if one not in {"run", "run-script"}), "")
    if name == "t":
        name = "test"
    body = _scripts(declared).get(name)
    return _of_body(name, body, declared, depth) if isinstance(body, str) else _of_name(name)


def _of_target(program: str, targets: list[str], declared: Mapping[str, str], depth: int) -> CheckKind:
    if program not in {"make", "gmake"}:
        named: list[CheckKind] = [_of_name(one) for one in targets or ["all"]]
        return _telling(named)
    # What a target needs has to succeed as well.
    text = next((declared[name] for name in _MAKEFILES if name in declared), "")
    shells = [match[1] for line in text.split("\n") if (match := _SHELL.fullmatch(line))]
    if _OBEYS_NO_FAILURE.search(text) or any(one.rpartition("/")[2] not in _RUN_LINES for one in shells):
        return "other"
    rules = _rules(text)
    found: list[CheckKind] = []
    waiting, seen = targets or ["all"], set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        rule = rules.get(name, _Rule())
        needed = [one for one in rule.needs if one in rules]
        waiting += needed
        if rule.lines:
            found.append(_of_body(name, "\n".join(rule.lines), declared, depth))
        elif not needed and not rule.ignores:
            found.append(_of_name(name))
    return _telling(found)


def _of_body(name: str, body: str, declared: Mapping[str, str], depth: int) -> CheckKind:
    """What declared commands check. Those that only talk check nothing, whatever they are called."""
    if depth >= _DEEPEST:
        return "other"
    kinds: list[CheckKind] = [
        kind for line in body.split("\n") for kind, _ in _checks(line, declared, depth + 1)
    ]
    if (known := _telling(kinds)) != "other":
        return known
    # By its name only where something decides that is not known, and no check is left undecided.
    undecided = any(
        _kind_of(one, declared, depth + 1) != "other"
        for line in body.split("\n")
        for one in read_command(line).programs
    )
    deciding = [
        source.split(None, 1)[0]
        for line in body.split("\n")
        for _, source in _checks(line, declared, depth + 1)
    ]
    return "other" if undecided or all(one in _ONLY_TALK for one in deciding) else _of_name(name)


def _of_name(name: str) -> CheckKind:
    parts = "".join(char if char.isalnum() else " " for char in name.lower()).split()
    kinds: list[CheckKind] = [_BY_WORD[part] for part in parts if part in _BY_WORD]
    return _telling(kinds)


def _scripts(declared: Mapping[str, str]) -> Mapping[str, Any]:
    try:
        said: Any = json.loads(declared.get("package.json") or "{}")
    except (ValueError, RecursionError):
        return {}
    scripts = cast("dict[str, Any]", said).get("scripts") if isinstance(said, dict) else None
    return cast("Mapping[str, Any]", scripts) if isinstance(scripts, dict) else {}


@dataclass(slots=True)
class _Rule:
    """A plain target of a Makefile."""

    needs: list[str] = field(default_factory=list[str])
    lines: list[str] = field(default_factory=list[str])
    """Its commands whose failure make obeys."""
    ignores: bool = False
    """Whether there are others."""

    def take(self, line: str) -> None:
        """Take a line of its commands; of one with a dash before it make ignores how it goes."""
        command = line.strip().lstrip("@-+ ")
        if command and "-" in line[: line.index(command)]:
            self.ignores = True
        elif command:
            self.lines.append(command)


def _rules(text: str) -> Mapping[str, _Rule]:
    found: dict[str, _Rule] = {}
    current: list[_Rule] = []
    for line in text.replace("\\\n", " ").split("\n"):
        if line.startswith("\t"):
            for rule in current:
                rule.take(line)
            continue
        names, colon, rest = line.partition(":")
        if colon and not rest.startswith(("=", ":=")) and not line.startswith((" ", "#")):
            needs, _, first = rest.lstrip(":").partition(";")
            current = [found.setdefault(name, _Rule()) for name in names.split()]
            for rule in current:
                rule.needs += needs.split()
                rule.take(first)
    return found


def _only_collects(declared: Mapping[str, str]) -> bool:
    """Whether the settings of the project have pytest list its tests, and run none."""
    return any(
        name in declared and _COLLECTS.search(declared[name].partition("addopts")[2][:_LONGEST_OPTIONS])
        for name in _OF_PYTEST
    )
