"""Search by text and by name over the workspace as the user sees it, done by ripgrep.

Unsaved buffers are searched by the same program instead of what is on disk, so that there is one dialect.
What the result is does not depend on how ripgrep schedules its threads.
"""

import asyncio
import base64
import json
import os
import re
import shutil
import stat
import sys
import sysconfig
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import Any, Final, Literal

from outrider.ports.clock import Clock
from outrider.ports.globs import IgnoreRules, without_braces
from outrider.ports.text import Snapshot, bytes_spelled_out, is_utf_8
from outrider.processes import Collected, SpawnProblem, Supervisor, collect
from outrider.workspace.disk.disk import LEFT_OVER
from outrider.workspace.documents.documents import DocumentStore
from outrider.workspace.documents.overlay import SIZE_LIMIT, Overlay
from outrider.workspace.paths import OWN_FOLDER, Folder, Folders, Located
from outrider.workspace.text.encoding import BOM

_LINE_WIDTH = 400
WITH_JSON = ("--json",)
IN_ORDER = (
    *("--sort", "path", "--max-columns", "4096", "--max-columns-preview"),
    *("--null", "--line-number", "--column", "--no-heading", "--with-filename", "--color", "never"),
)
"""For what prints too much: from path to path, as else it is a matter of chance which part comes first, and with
long lines cut, which JSON lines never are: one alone may be all that there is room for."""
_MATCH = b'{"type":"match",'
"""What a match begins with; two further lines for each file say that it begins and ends, with times."""
_LEFT_OUT = re.compile(r" \[\.\.\. (?:omitted end of long line|\d+ more match(?:es)?)\]\r?$")
"""What ripgrep puts at the end of a line that it cuts."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line that ripgrep printed."""

    path: str
    number: int
    text: str
    """Cut, where it is very long."""


def read_json(output: bytes) -> Iterator[Line]:
    """The lines in ripgrep's JSON; a last one that was cut off is left out."""
    for line in output.split(b"\n")[:-1]:
        if line.startswith(_MATCH):
            data: dict[str, Any] = json.loads(line)["data"]
            start = data["submatches"][0]["start"] if data["submatches"] else 0
            path = _text_of(data["path"], "surrogateescape")
            yield Line(path, data["line_number"], _cut(_text_of(data["lines"]), start))


def read_lines(output: bytes) -> Iterator[Line]:
    """The lines that it prints with `IN_ORDER`; a last one that was cut off is left out."""
    for line in output.split(b"\n")[:-1]:
        path, _, rest = line.partition(b"\0")
        number, _, rest = rest.partition(b":")
        column, _, text = rest.partition(b":")
        if number.isdigit() and column.isdigit():  # else it says that a file is binary
            yield Line(
                path.decode("utf-8", "surrogateescape"), int(number), _shortened(text, int(column) - 1)
            )


def _shortened(line: bytes, start_byte: int) -> str:
    text = line.decode("utf-8", "replace")
    short = _LEFT_OUT.sub("", text)
    if short != text and start_byte >= len(short.encode()):
        return f"[a very long line, which matches at byte {start_byte + 1}]"
    return _cut(short, start_byte)


def _text_of(value: dict[str, str], errors: str = "replace") -> str:
    return value["text"] if "text" in value else base64.b64decode(value["bytes"]).decode("utf-8", errors)


def _cut(line: str, start_byte: int) -> str:
    line = line.rstrip("\r\n")
    if len(line) <= _LINE_WIDTH:
        return line
    start = len(line.encode("utf-8")[:start_byte].decode("utf-8", "ignore"))
    first = max(0, min(start - _LINE_WIDTH // 4, len(line) - _LINE_WIDTH))
    cut = line[first : first + _LINE_WIDTH]
    return f"{'…' if first else ''}{cut}{'…' if first + _LINE_WIDTH < len(line) else ''}"


NAMES: Final = frozenset({".gitignore", ".ignore", ".rgignore"})
MOST_BYTES: Final = 1_000_000
"""Of such a file; a longer one is named as a reason where a search failed."""
HOPELESS_BYTES: Final = 16_000_000
"""Of such a file; a search that meets a longer one is not waited for."""
_LOOK_SECONDS = 3.0
"""How long a search that failed waits for its reason."""


def odd_ignore_file(folder: Path, most_bytes: int, is_over: Callable[[], bool]) -> str | None:
    """What is odd about the first file that a search of a folder reads for what to ignore; None for nothing. Blocks.

    Args:
        folder: The one that is searched; such files above it are read as well.
        most_bytes: A longer file is odd, and so is one that has no end.
        is_over: Whether nobody wants to know any more; asked once a folder.
    """
    for path in chain(*map(_ignore_files, (folder, *folder.parents)), _below(folder, is_over)):
        try:
            status = os.stat(path)  # noqa: PTH116 - one of many
        except OSError:
            continue
        if stat.S_ISDIR(status.st_mode):
            continue
        if not stat.S_ISREG(status.st_mode):
            return f"{path} is a pipe or a device"
        if status.st_size > most_bytes:
            return f"{path} has {status.st_size} bytes"
    return None


def _ignore_files(folder: Path) -> Iterator[str]:
    return (str(folder / name) for name in (*sorted(NAMES), ".git/info/exclude"))


def _below(folder: Path, is_over: Callable[[], bool]) -> Iterator[str]:
    waiting = [str(folder)]
    while waiting and not is_over():
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:
            continue
        yield from (entry.path for entry in entries if entry.name in NAMES)
        yield from (f"{entry.path}/info/exclude" for entry in entries if entry.name == ".git")
        below = (entry for entry in entries if entry.is_dir(follow_symlinks=False))
        waiting += (entry.path for entry in below if entry.name != ".git")


_SOON_SECONDS = 0.5
"""How long a search may go before it is looked at whether it can end at all; most have ended by then."""
_SECONDS = 30.0
_QUICK_SECONDS = 3.0
"""How long a search may go without asking the system for the size of each file, which takes a quarter of its time."""
_MEMORY = 2 * 1024**3
"""Bytes that a search may take; ripgrep reads files that say what to ignore to their end, and a device has none."""
_OUTPUT_LIMIT = 8 * 1024 * 1024
_LISTED_LIMIT = 4 * _OUTPUT_LIMIT
"""Bytes of the names of all files."""
_COMMON = (
    "--no-config",
    "--no-messages",
    "--hidden",
    "--no-require-git",
    "--glob",
    "!.git",
    "--glob",
    f"!/{OWN_FOLDER}",
    "--glob",
    f"!{LEFT_OVER}",
)
_INSTALLED = ("node_modules", "site-packages", ".venv")
"""Folders of packages that were installed, which many a repository does not ignore; looked into only where one is named."""
_NO_BIG_FILES = ("--max-filesize", str(SIZE_LIMIT))
_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$]")
"""Signs that mean something in a regular expression."""
_TRUNCATED = "[there are more; narrow the search]"
_COUNTED = 5000
"""Matching lines of one file that are counted."""
MOST_FILES: Final = 200
"""That are named where files are wanted, or how many lines match in each."""
Show = Literal["lines", "files", "counts"]
"""What a search is to show of what it finds."""


@dataclass(frozen=True, slots=True)
class Match:
    """A line that matches."""

    path: str
    line: int
    """From 1."""
    text: str
    """Without its line end; cut where it is very long."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The matching lines, by path and line."""

    matches: tuple[Match, ...]
    """The first ones."""
    truncated: bool
    """Whether there are more."""
    unsaved: tuple[str, ...] = ()
    """Paths of the unsaved buffers that were searched."""
    note: str = ""
    counts: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many lines match in each file, also those that are not among the matches."""
    uncounted: bool = False
    """Whether there may be still more than are counted."""
    around: tuple[Match, ...] = ()
    """Lines around the matches that do not match."""

    def render(self, show: Show = "lines") -> str:
        """The result as the model reads it.

        Args:
            show: Each line that matches; each file; or each file with how many lines match in it.
        """
        if not self.counts:
            return "\n".join(["[no matches]", *_remarks(truncated=self.truncated, note=self.note)])
        files = list(self.counts)[:MOST_FILES]
        match show:
            case "lines":
                lines = self._lines()
                files = list(dict.fromkeys(match.path for match in self.matches))
            case "files":
                lines = list(files)
            case "counts":
                lines = [f"{path}: {self.counts[path]}" for path in files]
        lines += _named([path for path in self.unsaved if path in files])
        return "\n".join([*lines, *self._total(show, len(files)), *_remarks(truncated=False, note=self.note)])

    def _lines(self) -> list[str]:
        if not self.around:
            return [f"{match.path}:{match.line}: {match.text}" for match in self.matches]
        lines: list[str] = []
        matched, last = {(match.path, match.line) for match in self.matches}, ("", 0)
        for one in sorted([*self.matches, *self.around], key=lambda one: (one.path.split("/"), one.line)):
            if lines and (one.path, one.line - 1) != last:
                lines.append("--")
            last = one.path, one.line
            sign = ":" if last in matched else "-"
            lines.append(f"{one.path}{sign}{one.line}{sign} {one.text}")
        return lines

    def _total(self, show: Show, files: int) -> list[str]:
        total, more = sum(self.counts.values()), "more than " if self.uncounted else ""
        if show == "lines" and self.truncated:
            told = (
                f"[{len(self.matches)} of {more}{total} matching lines are shown, in {files} of {more}{len(self.counts)} "
                "files; narrow the search with path or glob, or see where they are with show: counts]"
            )
            return [told]
        if show == "lines":
            return []
        hidden = f"; the first {files} files are shown" if files < len(self.counts) else ""
        return [f"[{more}{total} matching lines in {more}{len(self.counts)} files{hidden}]"]


@dataclass(frozen=True, slots=True)
class FindResult:
    """The paths that match, sorted."""

    paths: tuple[str, ...]
    truncated: bool
    unsaved: tuple[str, ...] = ()
    """Those of them that are unsaved buffers."""
    note: str = ""

    def render(self) -> str:
        """The result as the model reads it, one path a line."""
        lines = [*(self.paths or ["[no files]"]), *_named(self.unsaved)]
        return "\n".join([*lines, *_remarks(truncated=self.truncated, note=self.note)])


@dataclass(frozen=True, slots=True)
class Files:
    """The files that a search looks at."""

    paths: tuple[str, ...]
    """Absolute, below their folder as the client names it."""
    truncated: bool
    odd: tuple[str, ...] = ()
    """Those whose name is no UTF-8, as Python stands in for such bytes."""
    folders: tuple[str, ...] = ()
    """The workspace folders."""


@dataclass(frozen=True, slots=True)
class SearchProblem:
    """Why there is no result."""

    message: str


def _named(unsaved: Sequence[str]) -> list[str]:
    return [f"[unsaved buffers: {', '.join(unsaved)}]"] if unsaved else []


def _remarks(*, truncated: bool, note: str) -> list[str]:
    return [_TRUNCATED] * truncated + [f"[{note}]"] * bool(note)


def find_ripgrep(path_env: str | None) -> str | None:
    """Where ripgrep is: beside the interpreter, where its wheel puts it, else in that PATH. None: nowhere."""
    for folder in (Path(sys.executable).parent, Path(sysconfig.get_path("scripts"))):
        if found := shutil.which("rg", path=str(folder)):
            return found
    return shutil.which("rg", path=path_env) if path_env else None


@dataclass(frozen=True, slots=True)
class _Place:
    """What one run of ripgrep looks at: a target below a folder."""

    cwd: Path
    target: str
    display: Callable[[str], str]
    """How a path that ripgrep prints is written."""


@dataclass(frozen=True, slots=True)
class _Buffer:
    """An unsaved buffer: where it would be on disk, and what is in it."""

    display: str
    resolved: Path | None
    within: str
    """Its path in its folder, which globs are matched against."""
    text: str


class Search:
    """Search over one set of workspace folders."""

    def __init__(
        self,
        folders: Folders,
        documents: DocumentStore,
        overlay: Overlay,
        supervisor: Supervisor,
        clock: Clock,
        rg: str | None,
        is_shut: Callable[[Sequence[str]], bool] | None = None,
    ) -> None:
        """Get ready to search.

        Args:
            folders: The workspace folders.
            documents: The open documents.
            overlay: Tells which of them are unsaved.
            supervisor: Runs ripgrep.
            clock: Bounds that.
            rg: What `find_ripgrep` found.
            is_shut: Whether a file's text is left out, by all its names, unless that file alone is to be searched.
        """
        self._folders = folders
        self._documents = documents
        self._overlay = overlay
        self._supervisor = supervisor
        self._clock = clock
        self._rg = rg
        self._is_shut = is_shut or _nothing_is

    async def search(
        self, pattern: str, located: Located | None, glob: str | None, limit: int = 200, around: int = 0
    ) -> SearchResult | SearchProblem:
        """The lines that match a regular expression. Ignored files, installed packages and `.git` are left out.

        Where there are none, or it is no regular expression, the lines that match what else it may mean: plain text, or an or as grep writes it.

        Args:
            pattern: In ripgrep's dialect.
            located: The file or folder to search; None for the whole workspace.
            glob: Only files whose path in the folder matches it; without a slash it is the name that counts.
            limit: The most matches wanted.
            around: Lines that are wanted above and below each.
        """
        found = await self._search(pattern, located, glob, limit, around)
        if isinstance(found, SearchResult) and (found.counts or found.truncated or found.note):
            return found
        why = "it is no valid one" if isinstance(found, SearchProblem) else "no line matches"
        for other, told in _otherwise_meant(pattern):
            meant = await self._search(other, located, glob, limit, around)
            if isinstance(meant, SearchResult) and meant.counts:
                note = f"as a regular expression {why}; these lines {told}"
                return replace(meant, note="; ".join(filter(None, [note, meant.note])))
        return found

    async def _search(
        self, pattern: str, located: Located | None, glob: str | None, limit: int, around: int
    ) -> SearchResult | SearchProblem:
        if located is not None and located.own:
            return SearchProblem(f"{located.display} belongs to Outrider itself and is not searched")
        if (
            located is not None
            and located.resolved
            and await asyncio.to_thread(_is_special, located.resolved)
        ):
            return SearchProblem(f"{located.display} is neither a file nor a folder")
        wanted = await asyncio.to_thread(_matcher, glob) if glob is not None else _everything
        if isinstance(wanted, SearchProblem):
            return wanted
        is_one_file = located is not None and await asyncio.to_thread(_is_file, located)
        is_shut = _nothing_is if is_one_file else self._is_shut
        options = ["--crlf", f"--regexp={pattern}"]
        named = f"{glob or ''}/{located.display if located is not None else ''}"
        most = str(max(limit, _COUNTED) + 1)
        counted = [*options, "--max-count", most, *_narrowed(glob), *_without_installed(named)]

        async def in_buffers() -> tuple[list[_Buffer], SearchResult | SearchProblem]:
            buffers = [one for one in await self._unsaved() if _is_under(one, located) and wanted(one.within)]
            open_ones = [one for one in buffers if one.resolved is None or not is_shut([str(one.resolved)])]
            return buffers, await self._matches_in_buffers(options, open_ones)

        # Both at once: what is unsaved is found and searched while ripgrep walks through the folders.
        on_disk, (buffers, typed) = await asyncio.gather(
            self._printed(counted, self._places(located), any_size=is_one_file), in_buffers()
        )
        if isinstance(on_disk, SearchProblem):
            return on_disk
        if isinstance(typed, SearchProblem):
            return typed
        shadowed = {str(one.resolved) for one in buffers}
        admits = _Admits(wanted, shadowed, is_shut, any_size=is_one_file)
        matches = [*await asyncio.to_thread(_all_matches, on_disk, admits), *typed.matches]
        truncated = any(one.found.truncated for one in on_disk) or typed.truncated
        matches.sort(key=lambda match: (match.path.split("/"), match.line))
        counts = Counter(match.path for match in matches)
        timed_out = any(one.found.timed_out for one in on_disk)
        return SearchResult(
            tuple(matches[:limit]),
            truncated or len(matches) > limit,
            typed.unsaved,
            f"stopped after {_SECONDS:.0f} seconds" if timed_out else "",
            counts,
            truncated or timed_out or max(counts.values(), default=0) > _COUNTED,
            await self._around(matches[:limit], around) if around else (),
        )

    async def _around(self, matches: Sequence[Match], around: int) -> tuple[Match, ...]:
        """The lines around matches, as they are now; none of a file that is too big to be read."""
        found: list[Match] = []
        numbers: dict[str, list[int]] = {}
        for match in matches:
            numbers.setdefault(match.path, []).append(match.line)
        for path, matching in numbers.items():
            located = await self._folders.locate(path)
            snapshot = await self._overlay.read(located) if isinstance(located, Located) else None
            if isinstance(snapshot, Snapshot):
                found += await asyncio.to_thread(_lines_around, path, snapshot.text, matching, around)
        return tuple(found)

    async def _printed(
        self, options: Sequence[str], places: Sequence[_Place], *, any_size: bool
    ) -> list["_Printed"] | SearchProblem:
        """What ripgrep finds on disk, unsaved buffers or not."""
        printed: list[_Printed] = []
        for place in places:
            read = read_json
            if any_size:
                found = await self._run([*WITH_JSON, *options], place)
            else:
                found = await self._run([*WITH_JSON, *options], place, seconds=_QUICK_SECONDS)
                if isinstance(found, Collected) and (found.truncated or found.timed_out):
                    options = [*options, *_NO_BIG_FILES]
                    found = found if found.truncated else await self._run([*WITH_JSON, *options], place)
            if isinstance(found, Collected) and found.truncated:
                found, read = await self._run([*IN_ORDER, *options], place), read_lines
            if isinstance(found, SearchProblem):
                return found
            printed.append(_Printed(place, found, read))
        return printed

    async def _matches_in_buffers(
        self, options: Sequence[str], buffers: Sequence[_Buffer]
    ) -> SearchResult | SearchProblem:
        if not buffers:
            return SearchResult((), truncated=False)
        # One after the other in one run: to start a program for each would take longer than to search.
        place = _Place(self._any_folder(), "-", str)
        joined, read = await asyncio.to_thread(_joined, buffers), read_json
        found = await self._run([*WITH_JSON, *options], place, joined)
        if isinstance(found, Collected) and found.truncated:
            found, read = await self._run([*IN_ORDER, *options], place, joined), read_lines
        if isinstance(found, SearchProblem):
            return found
        inner = await asyncio.to_thread(_matches, read(found.stdout), place, None)
        paths = tuple(buffer.display for buffer in buffers)
        return SearchResult(tuple(_told_apart(inner, buffers)), found.truncated, paths)

    async def find(self, pattern: str, limit: int) -> FindResult | SearchProblem:
        """The files whose path matches a glob; ignored ones, installed packages and `.git` are left out.

        Args:
            pattern: Matched against the path in the workspace folder; without a slash it is the name that counts.
            limit: The most paths wanted.
        """
        paths: set[str] = set()
        note = ""
        for folder in self._folders.folders:
            inner = self._within(folder, pattern)
            wanted = await asyncio.to_thread(_matcher, inner)
            if isinstance(wanted, SearchProblem):
                return wanted
            place = self._place(folder, ".")
            options = ["--files", "--null", *_narrowed(inner), *_without_installed(inner)]
            found = await self._run(options, place)
            if isinstance(found, SearchProblem):
                return found
            if found.truncated or found.timed_out:
                note = "the workspace is too big to search completely"
            paths.update(await asyncio.to_thread(_read_paths, found.stdout, place, wanted))
        wanted = await asyncio.to_thread(_matcher, pattern)
        if isinstance(wanted, SearchProblem):
            return wanted
        buffers = [one.display for one in await self._unsaved() if wanted(one.within) or wanted(one.display)]
        ordered = sorted(paths.union(buffers), key=lambda path: path.split("/"))[: limit + 1]
        shown = tuple(ordered[:limit])
        unsaved = tuple(path for path in shown if path in buffers)
        return FindResult(shown, len(ordered) > limit, unsaved, note)

    async def files(self, *, installed: bool = True) -> Files | SearchProblem:
        """All files that are not ignored, each once.

        Args:
            installed: Whether those of installed packages are wanted.
        """
        options = ["--files", "--null", *(() if installed else _without_installed(""))]
        paths: dict[str, None] = {}
        odd: dict[str, None] = {}
        truncated = False
        for folder in self._folders.folders:
            found = await self._run(options, self._place(folder, "."), limit=_LISTED_LIMIT)
            if isinstance(found, SearchProblem):
                return found
            truncated = truncated or found.truncated or found.timed_out
            readable, others = await asyncio.to_thread(_absolute, found.stdout, folder.path)
            paths.update(readable)
            odd.update(others)
        folders = tuple(str(folder.path) for folder in self._folders.folders)
        return Files(tuple(paths), truncated, tuple(odd), folders)

    async def _run(
        self,
        options: Sequence[str],
        place: _Place,
        stdin: bytes | None = None,
        seconds: float = _SECONDS,
        limit: int = _OUTPUT_LIMIT,
    ) -> Collected | SearchProblem:
        if self._rg is None:
            return SearchProblem(
                "ripgrep (rg) was not found, so search is not available: install ripgrep, or the package `ripgrep` beside Outrider"
            )
        argv = [self._rg, *_COMMON, *options, "--", place.target]
        done = await self._collected(argv, place.cwd, stdin, seconds, limit)
        if isinstance(done, SearchProblem):
            return done
        if isinstance(done, SpawnProblem):
            return SearchProblem(f"the search could not be started: {done.message}")
        if _died(done):
            return SearchProblem("the search did not finish: it may have run out of memory")
        # With --no-messages only what is wrong with the arguments is said.
        if done.code not in {0, 1, None} and done.stderr.strip() and not done.stdout:
            return SearchProblem(done.stderr.decode("utf-8", "replace").strip().removeprefix("rg: "))
        return done

    async def _collected(
        self, argv: Sequence[str], cwd: Path, stdin: bytes | None, seconds: float, limit: int
    ) -> Collected | SpawnProblem | SearchProblem:
        """What ripgrep prints; it is stopped where a file is found that has no end and says what to ignore."""
        over = threading.Event()
        running = asyncio.create_task(
            collect(
                self._supervisor,
                argv,
                cwd=cwd,
                env={},
                clock=self._clock,
                stdin=stdin,
                seconds=seconds,
                limit=limit,
                memory=_MEMORY,
            )
        )
        try:
            await asyncio.wait({running}, timeout=_SOON_SECONDS)
            if running.done() and not _failed(running.result()):
                return running.result()
            most = MOST_BYTES if running.done() else HOPELESS_BYTES
            looking = asyncio.create_task(asyncio.to_thread(odd_ignore_file, cwd, most, over.is_set))
            await asyncio.wait({running, looking}, return_when=asyncio.FIRST_COMPLETED)
            if running.done() and _failed(running.result()):
                await asyncio.wait({looking}, timeout=_LOOK_SECONDS)
            odd = looking.result() if looking.done() else None
            if odd is not None and not (running.done() and not _failed(running.result())):
                return SearchProblem(f"the search did not finish: {odd}")
            return await running
        finally:
            over.set()
            running.cancel()
            await asyncio.wait({running})

    def _places(self, located: Located | None) -> list[_Place]:
        if located is None or not located.uri:
            return [self._place(folder, ".") for folder in self._folders.folders]
        if located.path is None or located.resolved is None:
            return []
        for folder in self._folders.folders:
            if located.path.is_relative_to(folder.path):
                below = located.path.relative_to(folder.path).as_posix()
                return [self._place(folder, "." if below == "." else f"./{below}")]
        return [_Place(Path(located.path.anchor), str(located.path), str)]

    def _place(self, folder: Folder, target: str) -> _Place:
        several = len(self._folders.folders) > 1

        def display(path: str) -> str:
            path = path.removeprefix("./")
            return f"{folder.name}/{path}" if several else path

        return _Place(folder.path, target, display)

    def _within(self, folder: Folder, pattern: str) -> str:
        """A pattern as it is meant in one folder: the folder's name may stand before it."""
        prefix = f"{folder.name}/"
        return pattern.removeprefix(prefix) if len(self._folders.folders) > 1 else pattern

    def _any_folder(self) -> Path:
        return next((folder.path for folder in self._folders.folders if folder.path.is_dir()), Path("/"))

    async def _unsaved(self) -> list[_Buffer]:
        buffers: list[_Buffer] = []
        uris = await self._overlay.unsaved()
        for uri, located in zip(uris, await self._folders.locate_all(uris) if uris else (), strict=True):
            document = self._documents.get(uri)
            if document is not None and isinstance(located, Located) and located.inside:
                within = located.display
                if len(self._folders.folders) > 1 and located.path is not None:
                    within = within.partition("/")[2]
                buffers.append(_Buffer(located.display, located.resolved, within, document.text))
        return buffers


def _died(done: Collected) -> bool:
    return done.code not in {0, 1, 2} and not done.timed_out and not done.truncated


def _failed(done: Collected | SpawnProblem) -> bool:
    """Whether something has to be odd: it died, or it printed nothing in all its time."""
    return isinstance(done, Collected) and (_died(done) or (done.timed_out and not done.stdout))


def _lines_around(path: str, text: str, matching: Sequence[int], around: int) -> list[Match]:
    lines = text.removeprefix(BOM).split("\n")
    lines = lines[:-1] if not lines[-1] else lines
    near = {number for one in matching for number in range(one - around, one + around + 1)}
    wanted = sorted(number for number in near.difference(matching) if 1 <= number <= len(lines))
    return [Match(path, number, _cut(lines[number - 1], 0)) for number in wanted]


@dataclass(frozen=True, slots=True)
class _Printed:
    """What one run of ripgrep printed."""

    place: _Place
    found: Collected
    read: Callable[[bytes], Iterable[Line]]


def _everything(_: str) -> bool:
    return True


def _nothing_is(_: Sequence[str]) -> bool:
    return False


def _is_file(located: Located) -> bool:
    return located.resolved is not None and located.resolved.is_file()


def _lines_in(buffer: _Buffer) -> int:
    return buffer.text.count("\n") + 1


def _joined(buffers: Sequence[_Buffer]) -> bytes:
    """The buffers as one text, each beginning a line. A NUL, which would make all of it binary, is left out."""
    texts = (f"{buffer.text.removeprefix(BOM)}\n".replace("\0", "\ufffd") for buffer in buffers)
    return "".join(texts).encode("utf-8", "replace")


def _told_apart(matches: Sequence[Match], buffers: Sequence[_Buffer]) -> Iterator[Match]:
    """The matches in joined buffers, each in its own."""
    starts = [0, *accumulate(map(_lines_in, buffers))]
    for match in matches:
        index = bisect_left(starts, match.line) - 1
        buffer, number = buffers[index], match.line - starts[index]
        # The line end that was put behind a buffer makes no further line where it had one, or nothing at all.
        if number < _lines_in(buffer) or (buffer.text and not buffer.text.endswith("\n")):
            yield Match(buffer.display, number, match.text)


def _is_special(path: Path) -> bool:
    """Whether it is a pipe or a device, which ripgrep would wait for."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _is_under(buffer: _Buffer, located: Located | None) -> bool:
    if located is None or not located.uri:
        return True
    if located.resolved is None or buffer.resolved is None:
        return buffer.display == located.display
    return buffer.resolved.is_relative_to(located.resolved)


def _narrowed(glob: str | None) -> list[str]:
    """Options that spare ripgrep files that a glob cannot mean.

    Its own option for globs will not do: what that one matches is searched even if it is ignored.
    """
    name = (glob or "").rpartition("/")[2]
    if not name or "**" in name or not re.search(r"[*?.]", name) or (glob or "").startswith("!"):
        return []
    return ["--type-add", f"wanted:{name}", "--type", "wanted"]


def _otherwise_meant(pattern: str) -> Iterator[tuple[str, str]]:
    """What else a pattern may mean that finds nothing, and what is told of the lines that match that."""
    if "\n" in pattern:
        return
    if _SPECIAL.search(pattern):
        yield _SPECIAL.sub(r"\\\g<0>", pattern), "hold it as plain text"
    if "\\|" in pattern:
        yield pattern.replace("\\|", "|"), "match with | for \\|"


def _without_installed(named: str) -> list[str]:
    """Options that spare ripgrep installed packages, unless the path or the glob that is asked for names them."""
    if not set(_INSTALLED).isdisjoint(re.split(r"[/\\]", named)):
        return []
    return [word for name in _INSTALLED for word in ("--glob", f"!{name}")]


def _matcher(glob: str) -> Callable[[str], bool] | SearchProblem:
    """Whether a path in a folder matches a glob, as in a `.gitignore`, with `{a,b}` besides."""
    excludes = glob.startswith("!")
    wanted = glob.removeprefix("!").removeprefix("./")
    try:
        lines = islice(without_braces(wanted), 100)
        # A leading mark would make it a comment or a negation.
        rules = IgnoreRules(f"\\{one}" if one.startswith(("#", "!")) else one for one in lines)
    except ValueError as problem:
        return SearchProblem(f"the glob {glob!r} is not valid: {problem}")
    return lambda path: rules.matches(path) != excludes


@dataclass(frozen=True, slots=True)
class _Admits:
    """Which files on disk count."""

    wanted: Callable[[str], bool]
    """By the path in the folder."""
    shadowed: AbstractSet[str]
    """The real paths of those for which a buffer stands."""
    is_shut: Callable[[Sequence[str]], bool]
    any_size: bool

    def admits(self, inner: str, path: str, real: str) -> bool:
        """Whether a file counts; looks at the disk.

        Args:
            inner: Its path in the folder.
            path: Its path.
            real: Its real path.
        """
        if not self.wanted(inner) or real in self.shadowed:
            return False
        return not self.is_shut([path, real]) and (self.any_size or not _is_big(real))


def _is_big(path: str) -> bool:
    try:
        return os.stat(path).st_size > SIZE_LIMIT  # noqa: PTH116 - a path for each match takes as long as the look
    except OSError:
        return False  # it went away meanwhile


def _all_matches(printed: Sequence[_Printed], admits: _Admits) -> list[Match]:
    return [match for one in printed for match in _matches(one.read(one.found.stdout), one.place, admits)]


def _matches(lines: Iterable[Line], place: _Place, admits: _Admits | None) -> list[Match]:
    """The matches in what ripgrep printed. None: all of them count."""
    matches: list[Match] = []
    # Below what it is told to search ripgrep follows no link.
    real = os.path.realpath(place.cwd / place.target)
    admitted: dict[str, bool] = {}
    for line in lines:
        path = line.path
        if admits is not None and path not in admitted:
            inner = path.removeprefix("./")
            whole = os.path.join(place.cwd, inner)  # noqa: PTH118 - an absolute path stays as it is
            below = path.removeprefix(place.target)
            is_below = path.startswith(place.target) and (not below or below.startswith("/"))
            admitted[path] = admits.admits(
                inner, whole, real + below if is_below else os.path.realpath(whole)
            )
        if admits is None or admitted[path]:
            matches.append(Match(place.display(bytes_spelled_out(path)), line.number, line.text))
    return matches


def _read_paths(output: bytes, place: _Place, wanted: Callable[[str], bool]) -> list[str]:
    names = (name.decode("utf-8", "backslashreplace").removeprefix("./") for name in output.split(b"\0")[:-1])
    return [place.display(name) for name in names if wanted(name)]


def _absolute(output: bytes, folder: Path) -> tuple[dict[str, None], dict[str, None]]:
    """The paths that were printed, and beside them those that are no UTF-8."""
    odd: list[str] = []
    try:
        names = output.decode().split("\0")[:-1]
    except UnicodeDecodeError:
        all_names = [name.decode("utf-8", "surrogateescape") for name in output.split(b"\0")[:-1]]
        names = [name for name in all_names if is_utf_8(name)]
        odd = [name for name in all_names if not is_utf_8(name)]
    root = str(folder)
    readable, others = ({f"{root}/{name.removeprefix('./')}": None for name in some} for some in (names, odd))
    return readable, others
