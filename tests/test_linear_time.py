"""No pattern of the server takes more than linear time, whatever text it meets.

What meets foreign text is in the registry (`outrider.ports.patterns`) and is matched by RE2. A module that still uses the
standard library's matchers is named here. Its patterns need no backtracking: they are given hostile texts with the methods
that the module calls, and have to be as quick. Times are processor times, so that a busy machine changes nothing.
"""

import ast
import contextlib
import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import outrider
from hostile import hostile, processor_seconds
from outrider.ports.globs import IgnoreRules, name_glob, path_glob
from outrider.ports.patterns import REGISTRY, Pattern
from outrider.ports.toml import read_toml

pytestmark = pytest.mark.usefixtures("young_heap")

_SERVER = Path(outrider.__file__).parent
_MATCHERS = {"re", "fnmatch", "glob", "re2", "pathspec"}

_FIRST = 2_000
"""Characters of the first look: a quadratic match takes some 10 ms for it, a linear one far less than a millisecond."""
_SLOW_SECONDS = 0.002
_LARGE = 1_000_000
_SLOW_LARGE_SECONDS = 0.02
"""What 1 MB may take in any case: where nothing begins a match, 100 kB are through in a few microseconds."""
_TIMES = 20
"""How much longer a text ten times as long may take."""

_PUT_TOGETHER = {
    ("permissions/programs/patterns.py", "f'-\\\\w*[{kind.short}]'"),
    (
        "testing/scenario_folder.py",
        """'|'.join((f'{re.escape(spelling)}(/|(?![\\\\w.-]))' for spelling in sorted(spellings)))""",
    ),
}
"""Patterns of `re` that are put together at run time, by module and expression; of texts of our own alone."""

_ALL_METHODS = frozenset({"match", "search"})


class Use(NamedTuple):
    """A pattern of `re` in a module, and what is called on it."""

    line: int
    pattern: re.Pattern[Any]
    methods: frozenset[str]


@cache
def _modules() -> list[tuple[str, ast.Module]]:
    found = ((path.relative_to(_SERVER).as_posix(), path) for path in sorted(_SERVER.rglob("*.py")))
    return [
        (name, ast.parse(path.read_text("utf-8")))
        for name, path in found
        if not name.startswith("cli/sample/")
    ]


def _imported(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add((node.module or "").partition(".")[0])
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            found |= {ast.literal_eval(word) for word in node.args if isinstance(word, ast.Constant)}
    return found & _MATCHERS


@cache
def _methods() -> dict[str, set[str]]:
    """What is called on a name, in any module: patterns are imported, too."""
    found: dict[str, set[str]] = {}
    for _, tree in _modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                found.setdefault(node.value.id, set()).add(node.attr)
    return found


def _uses(name: str) -> Iterator[Use]:
    """The patterns of `re` in a module, as far as they are made at its top or where they are used."""
    tree = next(tree for one, tree in _modules() if one == name)
    module = importlib.import_module("outrider." + name.removesuffix(".py").replace("/", "."))
    methods = _methods()
    named: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Call):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            value = getattr(module, target.id, None) if isinstance(target, ast.Name) else None
            if isinstance(value, re.Pattern):
                named.add(id(node.value))
                called = methods.get(target.id, set())
                yield Use(node.lineno, value, frozenset(called & _METHODS) or _ALL_METHODS)
    for node in ast.walk(tree):
        if (
            not isinstance(node, ast.Call)
            or not ast.unparse(node.func).startswith("re.")
            or id(node) in named
        ):
            continue
        method = ast.unparse(node.func).removeprefix("re.")
        if method == "escape":
            continue
        flags = [
            ast.unparse(word)
            for word in (*node.args, *(word.value for word in node.keywords))
            if "re." in ast.unparse(word)
        ]
        try:
            pattern = eval(ast.unparse(node.args[0]), dict(vars(module)))
        except NameError:
            assert (name, ast.unparse(node.args[0])) in _PUT_TOGETHER, (
                f"{name}:{node.lineno}: what pattern is it?"
            )
            continue
        made = re.compile(pattern, eval(flags[-1], {"re": re}) if flags else 0)
        yield Use(node.lineno, made, _ALL_METHODS if method == "compile" else frozenset({method}))


_METHODS = frozenset({"match", "search", "fullmatch", "finditer", "findall", "sub", "subn", "split"})


def _run(pattern: Any, method: str) -> Callable[[Any], object]:
    if method in {"match", "fullmatch"}:
        return getattr(pattern, method)
    if method in {"sub", "subn"}:
        return lambda text: pattern.sub(text[:0], text)
    if method == "search":
        return pattern.search
    return lambda text: sum(1 for _ in pattern.finditer(text))


def _problem(pattern: Any, source: str, methods: frozenset[str], encoded: bool) -> str | None:
    """The first text for which the time grows faster than the text."""
    for make in hostile(source):
        for method in sorted(methods):
            run = _run(pattern, method)

            def text(size: int, make: Callable[[int], str] = make) -> Any:
                return make(size).encode("latin-1", "replace") if encoded else make(size)

            if processor_seconds(run, text(_FIRST), 0.1) < _SLOW_SECONDS:
                continue
            short = min(processor_seconds(run, text(_FIRST // 10), 0.1) for _ in range(3))
            long = min(processor_seconds(run, text(_FIRST), 0.1) for _ in range(3))
            if long >= _SLOW_SECONDS and long > _TIMES * short:
                return f"{method} of {make(30)!r}…: {short * 1000:.2f} ms for {_FIRST // 10} characters, {long * 1000:.1f} ms for {_FIRST}"
    return None


_SIGNS = (
    "single signs, digits and ends of lines, found one after the other, where RE2 costs several times as much"
)
_WORDS = "the words of a command line, which has 100 000 characters at most: many short matches for each"
_WHOLE = "a name, a number or a line, matched from its beginning or with a few fixed words"
_STILL = {
    **dict.fromkeys(
        (
            "agent/interaction/quoting.py", "lsp/features/code_actions.py", "lsp/protocol.py", "models/dialects/gemini.py", "models/http/payload.py",
            "models/http/sse.py", "ports/text.py", "ports/text.py", "processes/commands.py",
            "store/delta.py", "testing/editor/buffers.py", "workspace/text/diff.py", "workspace/documents/documents.py", "workspace/text/lines.py",
            "workspace/text/matching/nearest.py", "workspace/text/matching/tokens.py", "workspace/documents/overlay.py",
            "workspace/edits/review.py",
        ),
        _SIGNS,
    ),
    **dict.fromkeys(
        (
            "permissions/policy/commands.py", "permissions/programs/patterns.py", "permissions/programs/git.py",
            "permissions/programs/patterns.py", "permissions/shell/words.py", "permissions/shell/builtins.py",
            "permissions/shell/through.py", "permissions/shell/heredoc.py", "permissions/shell/model.py",
            "permissions/shell/reading.py", "permissions/shell/through.py", "permissions/shell/builtins.py",
            "permissions/shell/walk.py", "permissions/shell/words.py",
        ),
        _WORDS,
    ),
    **dict.fromkeys(
        (
            "agent/context/briefing.py", "agent/interaction/review_document.py", "agent/task_document/page.py", "cli/diffs.py", "cli/scenario.py",
            "cli/terminal.py", "ports/framing.py", "lsp/features/progress_reporter.py", "models/dialects/decoder.py",
            "models/dialects/openai_responses.py", "models/dialects/decoder.py", "models/thinking.py",
            "permissions/policy/rules.py", "permissions/policy/rules_file.py", "permissions/policy/trust.py", "processes/environment.py", "store/locks.py",
            "testing/diffs.py", "testing/scenario_folder.py", "testing/scenario_files/transcript.py", "tools/run_command/git.py",
            "workspace/watch/snapshot.py", "workspace/disk/disk.py", "workspace/history/patch.py",
            "workspace/text/matching/nearest.py", "workspace/text/matching/patches.py", "workspace/paths.py", "workspace/search.py",
            "workspace/search.py",
        ),
        _WHOLE,
    ),
    "ports/globs.py": "pathspec says what a line of an ignore file means; RE2 matches it",
    "ports/patterns.py": "the registry itself",
    "tools/run_command/command_line.py": "what a shell's pattern stands for is the library's; since Python 3.11 it gives nothing back",
}  # fmt: skip
"""The modules that use a matcher of a library, and why that cannot take long."""


def test_only_these_modules_use_another_matcher() -> None:
    assert {name for name, tree in _modules() if _imported(tree)} == set(_STILL)


@pytest.mark.parametrize("name", sorted(_STILL))
def test_a_pattern_of_re_takes_linear_time(name: str) -> None:
    problems = [
        f"{name}:{use.line}: {use.pattern.pattern!r}: {problem}"
        for use in _uses(name)
        if (
            problem := _problem(
                use.pattern, _source(use.pattern), use.methods, isinstance(use.pattern.pattern, bytes)
            )
        )
    ]
    assert problems == []


def _source(pattern: re.Pattern[Any]) -> str:
    return pattern.pattern.decode("latin-1") if isinstance(pattern.pattern, bytes) else pattern.pattern


def _registered() -> dict[str, Pattern]:
    for found in pkgutil.walk_packages(outrider.__path__, "outrider."):
        if not found.name.startswith(
            ("outrider.cli.sample", "outrider.__main__", "outrider.testing.pytest_plugin")
        ):
            importlib.import_module(found.name)
    return {name: pattern for name, pattern in sorted(REGISTRY.items()) if not name.startswith("test.")}


def test_a_pattern_of_the_registry_takes_linear_time() -> None:
    """All hostile texts at small sizes; the worst of them for each pattern at 100 kB and at 1 MB."""
    problems: list[str] = []
    for name, pattern in _registered().items():
        pattern.prepare()
        worst = (0.0, lambda size: "a" * size)
        for make in hostile(pattern.pattern):
            took = processor_seconds(pattern.search, make(20_000), 10)
            worst = max(worst, (took, make), key=lambda one: one[0])
            walked = processor_seconds(_run(pattern, "finditer"), make(_FIRST), 10)
            if walked > 4 * _SLOW_SECONDS:
                short, long = (
                    min(processor_seconds(_run(pattern, "finditer"), make(size), 10) for _ in range(3))
                    for size in (_FIRST // 10, _FIRST)
                )
                # The clock of the processor may tick only every few milliseconds: what is shorter says nothing.
                if long > 4 * _SLOW_SECONDS and long > _TIMES * max(short, 0.0005):
                    problems.append(
                        f"{name}: all matches in {make(30)!r}…: {short * 1000:.2f} ms, then {long * 1000:.1f} ms"
                    )
        short, long = (
            min(processor_seconds(pattern.search, worst[1](size), 10) for _ in range(3))
            for size in (_LARGE // 10, _LARGE)
        )
        # Cut at that length, the text may have a match at its beginning.
        short = max(short, worst[0] * (_LARGE // 10) / 20_000)
        if long > _SLOW_LARGE_SECONDS and long > _TIMES * short:
            problems.append(
                f"{name}: {worst[1](30)!r}…: {short * 1000:.2f} ms for 100 kB, {long * 1000:.1f} ms for 1 MB"
            )
    assert problems == []


@pytest.mark.parametrize("stars", ["*a" * 8 + "*b", "**/" + "a/**/" * 12 + "b", "[a-z]*" * 20 + "9"])
def test_a_glob_takes_linear_time(stars: str) -> None:
    rules, path, name = IgnoreRules([stars]), path_glob(stars), name_glob(stars)
    for matches in (rules.matches, path.fullmatch, name.fullmatch):
        for piece in ("a", "a/"):
            short, long = (
                min(processor_seconds(matches, piece * (size // len(piece)), 10) for _ in range(3))
                for size in (_LARGE // 10, _LARGE)
            )
            assert long < max(_TIMES * short, _SLOW_LARGE_SECONDS)


@pytest.mark.parametrize(
    "make",
    [
        lambda size: ".".join(["a"] * (size // 2)) + " = 1\n",
        lambda size: "[" + " . ".join(["'a'"] * (size // 6)) + "]\n",
        lambda size: "a = {" + ".".join(["b"] * (size // 2)) + " = 1}\n",
        lambda size: "".join(f"{'a.' * 200}b{number} = 1\n" for number in range(size // 400)),
    ],
    ids=["key", "header", "inline", "many"],
)
def test_toml_of_others_is_read_in_linear_time(make: Callable[[int], str]) -> None:
    small, large = (processor_seconds(_tried, make(size), 20.0) for size in (20_000, 200_000))
    assert large <= max(0.1, _TIMES * small)


def _tried(text: str) -> None:
    with contextlib.suppress(ValueError):
        read_toml(text)


def test_toml_is_parsed_nowhere_else() -> None:
    """The user's own settings aside, which `outrider setup` writes."""
    users = {
        name
        for name, tree in _modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Import) and any(alias.name == "tomllib" for alias in node.names)
    }
    assert users == {"ports/toml.py", "setup/settings_file.py"}


def test_no_pattern_takes_long_to_compile() -> None:
    """All of them are compiled in every process; a counted repeat of all letters alone took longer than all the others."""
    took = {
        name: processor_seconds(_compiled, pattern.pattern, 1.0) for name, pattern in _registered().items()
    }
    assert [name for name, seconds in took.items() if seconds > 0.02] == []


def _compiled(pattern: str) -> None:
    Pattern(pattern).prepare()
