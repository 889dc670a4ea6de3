"""Asks Outrider and two MCP servers the same ten questions about Django: `python tests/benchmarks/ten_questions.py`.

    python tests/benchmarks/ten_questions.py --django FOLDER --serena PROGRAM --cclsp PROGRAM   # README.md says how to get them

Each has its own copy of the project and a pyright of its own. What a model would call is called, with what a model knows: a name, or a file and
a line. What is true is found with `ast` or by hand, and never by a language server.
"""

import argparse
import ast
import asyncio
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from answering import LOADING, Cclsp, Outrider, Place, Serena, System

PAUSE_SECONDS: Final = 60.0
"""Between the two rounds: a server that still reads the project may go on."""
PAGES, CRYPTO = "django/core/paginator.py", "django/utils/crypto.py"
SITEMAPS, SHELL = "django/contrib/sitemaps/views.py", "django/core/management/commands/shell.py"
OLD, NEW = "def import_string(dotted_path):", "def import_string(dotted_path, registry):"

Asked = tuple[str, dict[str, Any]]
"""A tool and its arguments."""
Judge = Callable[[System, str], str]


# --- what is true ------------------------------------------------------------------------------------------------


class Truth:
    """The project as `ast` sees it."""

    def __init__(self, root: Path) -> None:
        self._lines = dict[str, list[str]]()
        self._trees = dict[str, ast.Module]()
        for path in sorted([*(root / "django").rglob("*.py"), *(root / "tests").rglob("*.py")]):
            name = str(path.relative_to(root))
            try:
                self._trees[name] = ast.parse(path.read_bytes())
            except SyntaxError:  # a template of Django, or a file that a test wants broken
                continue
            self._lines[name] = path.read_text().split("\n")

    def line(self, file: str, text: str) -> Place:
        """The place of the first line that begins so."""
        return file, next(n for n, line in enumerate(self._lines[file], 1) if line.lstrip().startswith(text))

    def names(self, file: str) -> set[str]:
        """The classes, functions and methods of a file."""
        kinds = (ast.ClassDef, ast.FunctionDef)
        return {node.name for node in ast.walk(self._trees[file]) if isinstance(node, kinds)}

    def classes(self, part: str) -> set[Place]:
        """The classes that have something in their name."""
        everywhere = ((file, node) for file, tree in self._trees.items() for node in ast.walk(tree))
        return {
            (f, node.lineno) for f, node in everywhere if isinstance(node, ast.ClassDef) and part in node.name
        }

    def imports(self, name: str) -> Iterator[tuple[str, int, str]]:
        """Where something of `django.utils` is imported: the file, the line, and what it is called there."""
        for file, tree in self._trees.items():
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("django.utils."):
                    yield from (
                        (file, one.lineno, one.asname or name) for one in node.names if one.name == name
                    )

    def uses(self, name: str) -> set[Place]:
        """Where it is imported or used under its own name; nobody uses it where it is imported under another one."""
        imported = [*self.imports(name)]
        found = {(file, line) for file, line, _ in imported}
        for file in {file for file, _, called in imported if called == name}:
            nodes = (
                one for one in ast.walk(self._trees[file]) if isinstance(one, ast.Name) and one.id == name
            )
            found |= {(file, one.lineno) for one in nodes}
        return found

    def calls(self, name: str) -> set[tuple[str, int, int]]:
        """Where it is called: the file, the line, and the line of the function that does so."""
        found = set[tuple[str, int, int]]()
        for file, called in {(file, called) for file, _, called in self.imports(name)}:
            for around in ast.walk(self._trees[file]):
                if isinstance(around, ast.FunctionDef | ast.AsyncFunctionDef):
                    nodes = (one for one in ast.walk(around) if isinstance(one, ast.Call))
                    at = (n.lineno for n in nodes if isinstance(n.func, ast.Name) and n.func.id == called)
                    found |= {(file, line, around.lineno) for line in at}
        return found


def judged(found: Iterable[object], truth: Iterable[object], allowed: Iterable[object] | None = ()) -> str:
    """How much of the truth was found, and what else; `allowed` is neither needed nor wrong, None is anything."""
    found, truth = set(found), set(truth)
    wrong = set[object]() if allowed is None else found - truth - set(allowed)
    got = len(found & truth)
    said = "right" if got == len(truth) else f"{got} of {len(truth)}" if got else "wrong"
    return f"{said}, {len(wrong)} wrong" if wrong and got else said


# --- what is asked -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Question:
    """A question, and how each is asked; where there is nothing to call, it has no such tool."""

    words: str
    judge: Judge
    outrider: Sequence[Asked]
    serena: Sequence[Asked]
    cclsp: Sequence[Asked]


def questions(truth: Truth) -> list[Question]:
    """The questions that change nothing."""
    function, decl = truth.line(LOADING, "def import_string"), truth.line(PAGES, "def page(")
    uses, callers = truth.uses("import_string"), truth.calls("get_random_string")
    crypto = [truth.line(CRYPTO, f"def {name}")[1] for name in ("salted_hmac", "get_random_string")]
    hmac, random = ({"file_path": CRYPTO, "line": line, "character": 5} for line in crypto)
    # By hand: every `.page` whose type can be known. What `ModelAdmin.get_paginator` gives cannot.
    tests = [("tests/pagination/tests.py", line) for line in (123, 216, 285, 299, 300, 504, 518, 536)]
    inside = [("django/views/generic/list.py", 73), ("django/contrib/sitemaps/__init__.py", 122)]
    pages = {(PAGES, 58), (PAGES, 85), *inside, *tests}
    unknown = ("django/contrib/admin/views/main.py", 331)

    def places(wanted: Iterable[Place], allowed: Iterable[Place] | None = ()) -> Judge:
        return lambda system, text: judged(system.places(text), wanted, allowed)

    def documented(_: System, text: str) -> str:
        plain = " ".join(text.replace("\\n", "\n").replace("\\", "").split())
        parts = (
            "def salted_hmac(",
            'algorithm: str = "sha1"',
            "Return the HMAC of 'value', using a key generated from key_salt and a secret",
        )
        return judged([one for one in parts if one in plain], parts)

    def outlined(_: System, text: str) -> str:
        names = truth.names(PAGES)
        return judged(names & set(re.findall(r"\w+", text)), names)

    def called(system: System, text: str) -> str:
        said = system.places(text)
        return judged([one for one in callers if said & {one[::2], one[:2]}], callers)

    def symbol(name: str, **more: Any) -> Asked:
        return "find_symbol", {"name_path_pattern": name, **more}

    def referring(name: str, file: str) -> Asked:
        return "find_referencing_symbols", {"name_path": name, "relative_path": file}

    def listed(name: str) -> Asked:
        return "find_workspace_symbols", {"query": name}

    imported = {"relative_path": SITEMAPS, "regex": r"from django\.urls import (reverse)"}
    named = {"file_path": LOADING, "symbol_name": "import_string"}
    return [
        Question(
            "where is `import_string` defined", places([function], [truth.line(SHELL, "import_string =")]),
            [("definition", {"symbol": "import_string"})], [symbol("import_string")], [listed("import_string")],
        ),
        Question(
            "where is the `reverse` defined that a file imports from `django.urls`", places([truth.line("django/urls/base.py", "def reverse(")]),
            [("definition", {"path": SITEMAPS, "text": "from django.urls import reverse", "symbol": "reverse"})],
            [("find_declaration", imported)], [("find_definition", {"file_path": SITEMAPS, "symbol_name": "reverse"})],
        ),
        Question(
            "all uses of `import_string`", places(uses, [function, truth.line(SHELL, "obj = import_dotted_path")]),
            [("references", {"symbol": "import_string"})], [referring("import_string", LOADING)], [("find_references", named)],
        ),
        Question(
            "all uses of `Paginator.page`", places(pages, [decl, unknown]), [("references", {"symbol": "Paginator.page"})],
            [referring("Paginator/page", PAGES)],
            [("find_references", {"file_path": PAGES, "symbol_name": "page", "symbol_kind": "method"})],
        ),
        Question(
            "signature and documentation of `salted_hmac`", documented, [("hover", {"symbol": "salted_hmac"})],
            [symbol("salted_hmac", include_info=True)], [listed("salted_hmac"), ("get_hover", hmac)],
        ),
        Question(
            "what is in `django/core/paginator.py`", outlined, [("symbols", {"path": PAGES})],
            [("get_symbols_overview", {"relative_path": PAGES, "depth": 1})], [],
        ),
        Question(
            "classes with `Paginat` in their name", places(truth.classes("Paginat"), None), [("symbols", {"query": "Paginat"})],
            [symbol("Paginat", substring_matching=True, include_kinds=[5])], [listed("Paginat")],
        ),
        Question(
            "who calls `get_random_string`", called, [("call_hierarchy", {"symbol": "get_random_string"})],
            [referring("get_random_string", CRYPTO)], [("get_incoming_calls", random)],
        ),
    ]  # fmt: skip


def changing(truth: Truth, original: Path) -> list[tuple[Question, Question]]:
    """The questions that change something, each with how that is taken back."""
    renamed = truth.uses("import_string") | {truth.line(LOADING, OLD)}
    broken = sorted({file for file, *_ in truth.calls("import_string")})

    def changed(system: System) -> set[Place]:
        found = set[Place]()
        for path in {file for file, _ in renamed}:
            before, after = (original / path).read_text().split("\n"), system.text(path).split("\n")
            found |= {
                (path, n) for n, (one, other) in enumerate(zip(before, after, strict=True), 1) if one != other
            }
        return found

    def renames(system: System, _: str) -> str:
        return judged(changed(system), renamed)

    def breaks(system: System, text: str) -> str:
        saved = " (saved)" if NEW in (system.root / LOADING).read_text() else ""
        return judged({file for file, _ in system.places(text)} & set(broken), broken) + saved

    def as_before(system: System, _: str) -> str:
        return "" if not changed(system) else "not taken back"

    def rename(old: str, new: str, judge: Judge) -> Question:
        serena = ("rename_symbol", {"name_path": old, "relative_path": LOADING, "new_name": new})
        cclsp = ("rename_symbol", {"file_path": LOADING, "symbol_name": old, "new_name": new})
        ours = ("rename_symbol", {"symbol": old, "new_name": new})
        return Question(f"rename `{old}`", judge, [ours], [serena], [cclsp])

    def edit(old: str, new: str, judge: Judge, *, looks: bool) -> Question:
        serena = (
            "replace_content",
            {"relative_path": LOADING, "needle": old, "repl": new, "mode": "literal"},
        )
        written = {"path": LOADING, "old": old, "new": new}
        used = {
            "name_path": "import_string",
            "reference_file": LOADING,
            "check_symbol_references": True,
            "min_severity": 1,
        }
        problems = ("get_diagnostics_for_symbol", used)
        each = [("get_diagnostics", {"file_path": file}) for file in broken]
        return Question(
            "what an edit breaks that adds a parameter to `import_string`, before it is saved", judge, [("edit_file", written)],
            [serena, *[problems] * looks], [("write", written), *each * looks],
        )  # fmt: skip

    return [
        (rename("import_string", "load_string", renames), rename("load_string", "import_string", as_before)),
        (edit(OLD, NEW, breaks, looks=True), edit(NEW, OLD, as_before, looks=False)),
    ]


# --- and what came of it -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a question, asked once."""

    verdict: str
    characters: int
    calls: int
    seconds: float


async def answered(system: System, question: Question, waited: float = 0.0) -> Answer | None:
    """Ask a question; None where there is no such tool."""
    calls: Sequence[Asked] = getattr(question, type(system).__name__.lower())
    if not calls:
        return None
    said = [await system.ask(tool, given) for tool, given in calls]
    text = "\n".join(text for text, _ in said)
    print(f"{type(system).__name__}: {question.words}: {said}", file=sys.stderr, flush=True)
    seconds = waited + sum(seconds for _, seconds in said)
    return Answer(question.judge(system, text), len(text), len(calls), seconds)


def row(answers: Sequence[Answer | None]) -> str:
    """The cell of two answers to one question."""
    first, second = answers
    if first is None or second is None:
        return "no such tool"
    verdict = (
        first.verdict if second.verdict in (first.verdict, "") else f"{first.verdict}; then {second.verdict}"
    )
    return f"{verdict} · {second.characters or first.characters:,} · {first.calls} · {first.seconds:.1f} / {second.seconds:.1f}"


async def asked_all(
    system: System, asked: Sequence[Question], changes: Sequence[tuple[Question, Question]]
) -> list[str]:
    """Ask all questions twice, the first one as soon as it is started; gives the cells."""
    begin = perf_counter()
    async with system:
        waited = perf_counter() - begin
        rounds = [[await answered(system, one, waited * (not n)) for n, one in enumerate(asked)]]
        await asyncio.sleep(PAUSE_SECONDS)
        rounds.append([await answered(system, one) for one in asked])
        cells = [row(pair) for pair in zip(*rounds, strict=True)]
        for there, back in changes:
            pairs = [(await answered(system, there), await answered(system, back)) for _ in range(2)]
            left = next((one.verdict for _, one in pairs if one and one.verdict), "")
            cells.append(row([one for one, _ in pairs]) + (f"; {left}" if left else ""))
    return cells


async def main(arguments: argparse.Namespace) -> None:
    """Ask everybody, one after the other, and print the table."""
    truth = Truth(arguments.django)
    asked, changes = questions(truth), changing(truth, arguments.django)
    Serena.program, Cclsp.program = str(arguments.serena), str(arguments.cclsp)
    columns = [[one.words for one in (*asked, *(there for there, _ in changes))]]
    systems = [one for one in (Outrider, Serena, Cclsp) if one.__name__.lower() in arguments.only]
    with tempfile.TemporaryDirectory() as folder:
        for kind in systems:
            root = Path(folder).resolve() / kind.__name__ / "django"
            shutil.copytree(arguments.django, root, symlinks=True)
            columns.append(await asked_all(kind(root), asked, changes))
    print(f"| | {' | '.join(one.__name__ for one in systems)} |\n|{'---|' * len(columns)}")
    for cells in zip(*columns, strict=True):
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--django", type=Path, required=True, help="a folder with Django's source and its tests"
    )
    parser.add_argument("--serena", type=Path, help="the program of serena-agent")
    parser.add_argument("--cclsp", type=Path, help="the program of cclsp")
    parser.add_argument("--only", nargs="+", default=["outrider", "serena", "cclsp"], help="who is asked")
    sys.exit(asyncio.run(main(parser.parse_args())))
