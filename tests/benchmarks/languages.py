"""Measures Outrider's language servers beside a minimal client that drives the same server: `python tests/benchmarks/languages.py`.

    python tests/benchmarks/languages.py --python DJANGO --typescript EFFECT   # README.md says how to get the two projects

Prints a table in Markdown and exits with 1 when a line does not hold. Linux only: it reads `/proc`.
"""

import argparse
import asyncio
import ctypes
import gc
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "language"))

from bare_language_client import BareClient  # noqa: E402
from house import Folder, house  # noqa: E402
from measures import Measures  # noqa: E402
from model_server import ModelServer  # noqa: E402

from agent import Agent  # noqa: E402
from outrider.language.answers import Answers  # noqa: E402
from outrider.language.languages import Languages  # noqa: E402
from outrider.ports.language import Spot, Touched, Unknown  # noqa: E402

Measure = Callable[[], Awaitable[int]]
PATH = os.pathsep.join(
    [
        str(HERE.parent / "language" / "node_modules" / ".bin"),
        str(Path(sys.executable).parent),
        os.environ["PATH"],
    ]
)


@dataclass(frozen=True, slots=True)
class Project:
    """A project, a name that many of its files use, and an edit there that breaks them."""

    what: str
    server: str
    pattern: str
    file: str
    name: str
    line: str
    """How the line begins that defines it."""
    old: str
    new: str
    """`{}` is a number, so that no edit is the one before."""


PROJECTS = {
    "python": Project(
        "Django", "ty", "*.py", "django/utils/module_loading.py", "import_string",
        "def import_string(", "(dotted_path)", "(dotted_path, more_{})",
    ),
    "typescript": Project(
        "effect", "typescript-language-server", "*.ts", "src/Pipeable.ts", "pipeArguments",
        "export const pipeArguments", "args: IArguments)", "args: IArguments & {{ more_{}: number }})",
    ),
}  # fmt: skip
TSCONFIG = (
    '{"compilerOptions": {"strict": true, "module": "nodenext", "target": "es2023", "types": [], '
    '"allowImportingTsExtensions": true, "noEmit": true}, "include": ["src"]}'
)


class Ours:
    """Outrider's client of language servers, with a server that has read the project."""

    def __init__(self, project: Project, languages: Languages, folder: Folder) -> None:
        self._languages, self._folder, self._project = languages, folder, project
        self._uri, self._edits = folder.uri(project.file), 0
        self._text, self._at = whole(project, folder.root)
        self._now = self._text

    async def edit(self) -> int:
        """Break who uses the name; gives how many problems are new."""
        self._edits += 1
        before, self._now = self._now, edited(self._project, self._text, self._edits)
        self._folder.buffers[self._project.file] = self._now
        touched = Touched(self._uri, before, self._now, [range(self._at[0], self._at[0] + 1)])
        check = await self._languages.judge([touched], is_trial=False)
        assert check is not None
        verdict = await check.within(120, self._languages.clock)
        assert verdict is not None
        return len(verdict.introduced)

    async def references(self) -> int:
        """All places that use the name."""
        return known(
            await (await self._answers()).places("textDocument/references", Spot(self._uri, *self._at))
        )

    async def rename(self) -> int:
        """The files that a rename changes."""
        return known(await (await self._answers()).rename(Spot(self._uri, *self._at), "another_name"))

    async def _answers(self) -> Answers:
        answers = await self._languages.answers_for(self._uri, "textDocument/rename")
        assert not isinstance(answers, Unknown)
        return answers


class Bare:
    """The minimal client, with a server of its own that has read the project."""

    def __init__(self, project: Project, client: BareClient, root: Path) -> None:
        self._client, self._project, self._uri, self._edits = (
            client,
            project,
            (root / project.file).as_uri(),
            0,
        )
        self._text, self._at = whole(project, root)
        client.show(self._uri, self._text)

    async def edit(self) -> int:
        """The same edit; gives how many problems there are."""
        self._edits += 1
        return len(
            await self._client.edit(self._uri, self._at, edited(self._project, self._text, self._edits))
        )

    async def references(self) -> int:
        """All places that use the name, each with its line, as a model gets them."""
        places = await self._client.places(self._uri, self._at)
        lines = {uri: read(uri).split("\n") for uri in {one["uri"] for one in places}}
        return len([lines[one["uri"]][one["range"]["start"]["line"]].strip() for one in places])

    async def rename(self) -> int:
        """The texts of the files that a rename changes, as they are before and after it."""
        said = await self._client.rename(self._uri, self._at, "another_name")
        listed = said.get("documentChanges")
        changes = {one["textDocument"]["uri"]: one["edits"] for one in listed} if listed else said["changes"]
        return len([(text := read(uri), changed(text, edits)) for uri, edits in changes.items()])


def read(uri: str) -> str:
    """The text of a file on disk."""
    return Path(uri.removeprefix("file://")).read_text()


def changed(text: str, edits: list[Any]) -> str:
    """A text after the edits of a server; the project is ASCII where they are."""
    lines = text.splitlines(keepends=True)
    for edit in sorted(edits, key=lambda one: tuple(one["range"]["start"].values()), reverse=True):
        start, end = edit["range"]["start"], edit["range"]["end"]
        assert start["line"] == end["line"]
        line = lines[start["line"]]
        lines[start["line"]] = line[: start["character"]] + edit["newText"] + line[end["character"] :]
    return "".join(lines)


def whole(project: Project, root: Path) -> tuple[str, tuple[int, int]]:
    """The text of the file that is edited, and where the name stands in it."""
    text = (root / project.file).read_text()
    number, line = next((n, line) for n, line in enumerate(text.split("\n")) if line.startswith(project.line))
    return text, (number, line.index(project.name))


def edited(project: Project, text: str, number: int) -> str:
    """The text after an edit that breaks who uses the name."""
    after = text.replace(project.old, project.new.format(number), 1)
    assert after != text
    return after


def known(found: list[Any] | Unknown) -> int:
    """How many things an answer has."""
    assert not isinstance(found, Unknown), found
    return len(found)


class InProject(Measures):
    """The agent in a project of Python, with a language server in its environment or with none."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        programs = self._root / ".venv" / "bin"
        programs.mkdir(parents=True)
        (programs / "ty").symlink_to(Path(sys.executable).parent / "ty")
        self.servers = True

    @asynccontextmanager
    async def _agent(
        self, bare: bool, server: ModelServer | None = None, **more: Any
    ) -> AsyncGenerator[Agent, None]:
        settings = {"ty": {"enabled": True}} if self.servers else {}
        given = {"trusted": True, "languageServers": {"*": {"enabled": False}, **settings}, **more}
        async with super()._agent(bare, server, **given) as agent:
            yield agent


class Table:
    """Lines in Markdown, printed as they come, and whether they hold."""

    def __init__(self) -> None:
        print("| what | beside | Outrider | ratio or bound | |\n|---|--:|--:|---|---|", flush=True)
        self.holds = True

    def add(self, what: str, beside: float | None, ours: float, bound: float, unit: str) -> None:
        """Add a line: a ratio where there is something beside, else a figure."""
        value = ours if beside is None else ours / beside
        said = f"≤ {bound:g}" if beside is None else f"{value:.2f} (≤ {bound:g})"
        self.holds &= value <= bound
        shown = "–" if beside is None else f"{beside:,.1f}"
        mark = "ok" if value <= bound else "**no**"
        print(f"| {what}, {unit} | {shown} | {ours:,.1f} | {said} | {mark} |", flush=True)


async def in_turns(repeats: int, beside: Measure, ours: Measure) -> tuple[float, float]:
    """The best of each in milliseconds, in turns, the first of which does not count."""
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(repeats + 1):
        counts: list[int] = []
        for taken, measure in zip(times, (beside, ours), strict=True):
            begin = perf_counter()
            counts.append(await measure())
            if number:
                taken.append((perf_counter() - begin) * 1000)
        assert min(counts) > 0, counts
    return min(times[0]), min(times[1])


def resident_mb() -> float:
    """What this process has in memory, without what it could give back."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20


async def beside_a_client(table: Table, project: Project, source: Path, place: Path, repeats: int) -> None:
    """The lines about one project."""
    shutil.copytree(source, place / "work", symlinks=True, ignore=shutil.ignore_patterns("node_modules"))
    root = place / "work"
    if project.pattern == "*.ts":
        (root / "tsconfig.json").write_text(TSCONFIG)
    count = sum(1 for _ in root.rglob(project.pattern))
    folder = Folder(root)
    async with house(
        root, {project.server: {"enabled": True}}, search_path=PATH, sources=folder
    ) as languages:
        ours = Ours(project, languages, folder)
        (server,) = await languages.servers_for(folder.uri(project.file))
        before = resident_mb()
        for measure in (ours.references, ours.edit, ours.rename):
            await measure()
        memory = resident_mb() - before
        argv = [shutil.which(server.row.command[0], path=PATH) or "", *server.row.command[1:]]
        client = BareClient(server.row, argv, root)
        await client.start({"PATH": PATH, "HOME": str(place)})
        try:
            bare = Bare(project, client, root)
            assert await bare.references() == await ours.references()
            assert await bare.rename() == await ours.rename()
            what = f"{project.what}, {count} files, {project.server}"
            for name, bound in (("edit", 1.2), ("references", 1.1), ("rename", 1.1)):
                theirs, own = await in_turns(repeats, getattr(bare, name), getattr(ours, name))
                table.add(f"{what}: {NAMES[name]}", theirs, own, bound, "ms")
            table.add(f"{what}: own memory", None, memory, 5, "MB")
        finally:
            await client.stop()


NAMES = {"edit": "new problems after an edit", "references": "references", "rename": "rename"}


async def where_nobody_asks(table: Table, place: Path, repeats: int) -> None:
    """What a server that could be started costs an agent that asks it nothing."""
    measures = InProject(place)

    async def steps() -> list[float]:
        run = await measures.steps(False, 50, 0.0)
        return [run.median, run.proportional_mb]

    async def start() -> list[float]:
        return [await measures.initialize_ms(False), await measures.first_request_ms()]

    figures: dict[bool, list[list[float]]] = {False: [], True: []}
    for number in range(repeats):
        for is_there in (False, True) if number % 2 else (True, False):
            measures.servers = is_there
            figures[is_there].append([*await start(), *await steps()])
    without, with_it = ([min(column) for column in zip(*figures[one], strict=True)] for one in (False, True))
    names = ("spawn → `initialize`", "spawn → first request", "own cost of a step", "PSS of all processes")
    for name, theirs, own, unit in zip(names, without, with_it, ("ms", "ms", "ms", "MB"), strict=True):
        table.add(f"a server that nobody asks: {name}", theirs, own, 1.05, unit)


async def measured(arguments: argparse.Namespace) -> Table:
    """The whole table."""
    table = Table()
    with tempfile.TemporaryDirectory() as folder:
        for name, project in PROJECTS.items():
            source: Path | None = getattr(arguments, name)
            if source is not None:
                place = Path(folder) / name
                place.mkdir()
                await beside_a_client(table, project, source, place, arguments.repeats)
        await where_nobody_asks(table, Path(folder), arguments.repeats)
    return table


def main() -> int:
    """Measure, print, and give the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", type=Path, help="a folder with Django in it")
    parser.add_argument("--typescript", type=Path, help="the package effect")
    parser.add_argument("--repeats", type=int, default=7)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    return int(not asyncio.run(measured(parser.parse_args())).holds)


if __name__ == "__main__":
    sys.exit(main())
