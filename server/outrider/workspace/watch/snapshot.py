"""Which files the workspace has and what is in them, at one moment and at a later one: what came, went or changed.

Files are those that a search looks at: ignored ones are none of them, but what was looked at once is looked at for as long
as it is there, and so are the files that say what is ignored. So nothing is hidden by a rule that came later. Everything is bounded, in number, in size and in
time, and what was not looked at is said. Contents are kept only of a small workspace, and read again only where the
mark of a file moved. Links, folders and shut files are seen from outside alone. No names of files are judged here.
"""

import asyncio
import logging
import os
import re
import stat
import time
from collections.abc import Awaitable, Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from outrider.ports.clock import Clock
from outrider.ports.globs import name_pattern
from outrider.ports.patterns import linear
from outrider.workspace.disk.disk import LEFT_OVER, read_bytes
from outrider.workspace.disk.file_stat import GRANULARITY, Status, status_of
from outrider.workspace.paths import OWN_FOLDER
from outrider.workspace.search import Files, Search, SearchProblem
from outrider.workspace.watch import copies
from outrider.workspace.watch.copies import Copied, Copies, Lost
from outrider.workspace.watch.notices import Notice, Notices

log = logging.getLogger(__name__)

_LEFT_OVER: Final = linear("workspace.left-over", name_pattern(LEFT_OVER))


@dataclass(frozen=True, slots=True)
class Entry:
    """A link, a folder or a shut file at one moment."""

    kind: Literal["link", "folder", "shut"]
    status: Status
    to: str = ""
    """Where a link leads, as it is written in it."""
    is_empty: bool = False
    """Whether nothing at all is in a folder."""


@dataclass(frozen=True, slots=True)
class EntryDifference:
    """What became of one between two moments."""

    path: Path
    kind: Literal["link", "folder", "shut"]
    how: Literal["changed", "created", "deleted", "mode"]
    before: Entry | None
    after: Entry | None


@dataclass(frozen=True, slots=True)
class _Folder:
    """What one folder holds."""

    entries: Mapping[str, Entry]
    """The links, folders and shut files in it, and the folder itself; none where its files are ignored."""
    below: Sequence[str]
    """The folders in it that are to be looked at."""
    may_be_ignored: bool


@dataclass(slots=True)
class Walk:
    """One look at the folders of a workspace."""

    counted: Container[str]
    """The files that are looked at as files."""
    is_shut: Callable[[str], bool]
    """Which files are shut, by path."""
    leaves_out: Callable[[str], bool]
    """Which paths are not looked at, by path; folders end with a slash."""
    end: float
    """The monotonic time at which it is given up, in seconds."""
    watch: Callable[[str], bool]
    """Has a folder watched from before it is looked at; gives whether it was not."""
    known: Mapping[str, _Folder]
    """The folders that are as they were at the last look."""
    has_news: bool = False
    """Whether a folder was looked at that had not been watched before."""
    folders: dict[str, _Folder] = field(default_factory=dict[str, _Folder])
    entries: dict[str, Entry] = field(default_factory=dict[str, Entry])

    def through(self, roots: Iterable[str], listed: Iterable[str]) -> bool:
        """Look through these folders and those in them; False where it took too long. Blocks.

        Args:
            roots: The workspace folders.
            listed: The files that a search looks at.
        """
        holding = {path.rpartition("/")[0] for path in listed}
        for folder in list(holding):
            # Each one above it holds the file, too.
            while (folder := folder.rpartition("/")[0]) and folder not in holding:
                holding.add(folder)
        tops = set(roots)
        folders = list(tops)
        while folders:
            if time.monotonic() > self.end:
                return False
            folder = folders.pop()
            may_be_ignored = folder not in holding and folder not in tops
            one = self.known.get(folder)
            if one is None or one.may_be_ignored != may_be_ignored:
                try:
                    one = self._look(folder, may_be_ignored=may_be_ignored)
                except OSError:
                    continue  # it went away, or is closed to us
            self.folders[folder] = one
            self.entries.update(one.entries)
            folders += one.below
        return True

    def _look(self, folder: str, *, may_be_ignored: bool) -> _Folder:
        found: dict[str, Entry] = {}
        below: list[str] = []
        is_empty = True
        self.has_news |= self.watch(folder)
        with os.scandir(folder) as entries:
            for entry in entries:
                is_empty = False
                path, name = entry.path, entry.name
                if path in self.counted:
                    continue
                if name in {".git", OWN_FOLDER} or not _is_readable(name):
                    continue
                if entry.is_symlink():
                    if not self.leaves_out(path):
                        status = status_of(entry.stat(follow_symlinks=False))
                        found[path] = Entry("link", status, to=_told(str(Path(path).readlink())))
                elif entry.is_dir(follow_symlinks=False):
                    if not self.leaves_out(f"{path}/"):
                        below.append(path)
                elif entry.is_file(follow_symlinks=False):
                    if self.is_shut(path):
                        if not self.leaves_out(path):
                            found[path] = Entry("shut", status_of(entry.stat(follow_symlinks=False)))
                    elif may_be_ignored and not self.leaves_out(path) and not _LEFT_OVER.fullmatch(name):
                        return _Folder({}, (), may_be_ignored)
        found[folder] = Entry("folder", status_of(os.stat(folder)), is_empty=is_empty)  # noqa: PTH116 - as text
        return _Folder(found, below, may_be_ignored)


def entry_differences(
    before: Mapping[str, Entry],
    after: Mapping[str, Entry],
    since: int,
    were_files: Mapping[str, Status],
) -> Iterator[EntryDifference]:
    """What became of links, folders and shut files between two moments. Blocks, for a look at those that are missing.

    Args:
        before: The one moment.
        after: The later one.
        since: When the first look began, in nanoseconds since the epoch: what is older was there, and ignored.
        were_files: The files that a search looked at then.
    """
    for path, was in before.items():
        now = after.get(path)
        if now is None or now.kind != was.kind:
            # What is as it was and is not in the later look lies among ignored files now, or can be looked at.
            if not _is_still(path, was) and (was.kind != "folder" or was.is_empty):
                yield EntryDifference(Path(path), was.kind, "deleted", was, None)
            continue
        if was.kind == "link" and was.to != now.to:
            yield EntryDifference(Path(path), "link", "changed", was, now)
        if was.kind == "shut" and _identity(was.status) != _identity(now.status):
            yield EntryDifference(Path(path), "shut", "changed", was, now)
        if was.kind != "link" and _mode(was.status) != _mode(now.status):
            yield EntryDifference(Path(path), was.kind, "mode", was, now)
    for path, now in after.items():
        was = before.get(path)
        is_known = path in were_files or (was is not None and was.kind == now.kind)
        if is_known or now.status.st_ctime_ns < since or (now.kind == "folder" and not now.is_empty):
            continue
        yield EntryDifference(Path(path), now.kind, "created", None, now)


def folders_only_in(one: Mapping[str, Entry], other: Mapping[str, Entry], path: Path) -> dict[Path, int]:
    """The folders above a file that are in one look and not in another, the topmost first, with their permission bits.

    Args:
        one: The one look.
        other: The other one; what it has under none of its names is not there then, or holds ignored files alone.
        path: The file.
    """
    found: dict[Path, int] = {}
    for folder in path.parents:
        entry = one.get(str(folder))
        if entry is None or entry.kind != "folder" or str(folder) in other:
            break
        found[folder] = _mode(entry.status)
    return dict(reversed(found.items()))


def _is_still(path: str, was: Entry) -> bool:
    try:
        return stat.S_IFMT(os.lstat(path).st_mode) == stat.S_IFMT(was.status.st_mode)
    except OSError:
        return False


def _identity(status: Status) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _mode(status: Status) -> int:
    return stat.S_IMODE(status.st_mode) & 0o777


def _is_readable(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _told(target: str) -> str:
    return target.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


MOST_FILES = 20_000
"""Files that are looked at each time; where there are more, none is, unless the system tells what happens to them."""
MOST_FILES_TOLD = 100_000
"""Files that are looked at once, where the system tells what happens to them afterwards."""
LOOK_SECONDS = 3.0
"""How long one look may take."""
FIRST_LOOK_SECONDS = 10.0
"""How long the look may take after which the system tells the rest."""
MOST_FILES_KEPT = 2_000
"""Files of a workspace whose contents are kept."""
MOST_BYTES_KEPT = 16 * 1024 * 1024
"""Bytes of a workspace whose contents are kept."""

_CACHE_FOLDERS = re.compile(
    r"/(?:__pycache__|node_modules|\.venv|\.tox|\.nox|\.gradle"
    r"|\.(?:pytest|mypy|ruff|parcel|import_linter)_cache|\.hypothesis)/"
)
_CACHE_ENDS = (".pyc", ".pyo")
_CACHE_FILES = frozenset({".coverage", ".DS_Store"})
"""What programs put aside for themselves and make anew: nobody misses it, and it would hide what matters."""
CLOCK_STEP = 20_000_000
"""Nanoseconds by which the time of a file may be behind."""
_IGNORE_FILES = ("/.gitignore", "/.ignore", "/.rgignore")
_TOO_SLOW = f"checking all files took more than {LOOK_SECONDS:g} s"


@dataclass(frozen=True, slots=True)
class Count:
    """All files at one moment."""

    at: int
    """When it began, in nanoseconds since the epoch."""
    files: Mapping[str, Status]
    """What the system says of each, by its path."""
    contents: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    """What is in them, where that is kept."""
    unkept: str = ""
    """Why contents were to be copied and are not."""
    unseen: str = ""
    """Why not all files are in it, if they are not."""
    entries: Mapping[str, Entry] = field(default_factory=dict[str, Entry])
    """The links, folders and shut files besides, by their paths."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What became of a file between two moments."""

    path: Path
    kind: Literal["changed", "created", "deleted", "mode"]
    before: Status | None
    after: Status | None
    content: bytes | None = None
    """What was in it, where that was kept."""
    is_sure: bool = True
    """False where it may have been there before, ignored."""


@dataclass(frozen=True, slots=True)
class _Listing:
    """All files at one moment, to be looked at again."""

    count: Count
    folders: Mapping[str, _Folder]
    rules: object
    """What stood for the rules by which files are shut."""
    sources: Mapping[str, tuple[int, ...]]
    """Of files outside of the watched folders that say what is ignored."""

    def counts(self, rules: object) -> bool:
        """Whether what says which files count is as it was. Blocks."""
        return rules == self.rules and all(
            _numbers_at(path) == numbers for path, numbers in self.sources.items()
        )

    def without(self, paths: AbstractSet[str]) -> "_Listing":
        """What is left of it when something happened at these paths: what is left has not been written since."""
        linked = {_file(one) for path in paths if (one := _status(path)) is not None and one.st_nlink > 1}
        files = {
            path: one
            for path, one in self.count.files.items()
            if path not in paths and one.st_nlink == 1 and _file(one) not in linked
        }
        moved = paths | {path.rpartition("/")[0] for path in paths}
        folders = {
            path: one
            for path, one in self.folders.items()
            if path not in moved and all(entry.kind != "shut" for entry in one.entries.values())
        }
        return replace(self, count=replace(self.count, files=files), folders=folders)


def _sources(folders: Iterable[str]) -> dict[str, tuple[int, ...]]:
    above = {str(one) for folder in folders for one in (Path(folder), *Path(folder).parents)}
    names = (*_IGNORE_FILES, "/.git/info/exclude")
    return {
        path: _numbers_at(path)
        for folder in above
        for path in (f"{folder.rstrip('/')}{one}" for one in names)
    }


def _numbers_at(path: str) -> tuple[int, ...]:
    try:
        return _numbers(status_of(os.stat(path)))  # noqa: PTH116 - as text, like all paths here
    except OSError:
        return ()


def _is_empty(folder: str) -> bool:
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is None
    except OSError:
        return True


def _not_watched(_: str) -> bool:
    return False


def _status(path: str) -> Status | None:
    """What the system says of a regular file; None where there is none."""
    found = _status_of_any(path)
    return found if found is not None and stat.S_ISREG(found.st_mode) else None


@dataclass(slots=True)
class Census:
    """The files of one workspace. What was read is kept for the next time."""

    search: Search
    clock: Clock
    is_shut: Callable[[str], bool]
    """Which files are shut, by path: they are seen from outside alone."""
    leaves_out: Callable[[str], bool] = lambda _: False
    """Which paths are not looked at at all; those of folders end with a slash."""
    rules: Callable[[], object] = lambda: None
    """What stands for the rules by which files are shut: another value where they changed."""
    copies_in: Path | None = None
    """The folder where copies of the files are kept, once that is asked for; None for the system's own."""
    _copies: Copies | None = None
    _last: Count = field(default_factory=lambda: Count(0, {}))
    """What was read last, and when."""
    _notices: Notices | None = field(default_factory=Notices.begin)
    _listing: "_Listing | None" = None
    """Which files there are, as long as no name has come or gone."""
    _left: "_Listing | None" = None
    """What of it has not been written since, where other names have come: of very many files only the rest is looked at."""
    _counted: AbstractSet[str] = frozenset[str]()
    """The files of the last whole look: a rule that came later does not make them ignored."""
    _looking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def keep(self) -> str:
        """Copy all files of up to 1 MB, now and before each command that comes; gives why not, empty where it is done."""
        had = self._copies
        self._copies = had or Copies(self.copies_in)
        count = await self.take(contents=True)
        why = count.unseen or count.unkept
        if why:
            self._copies = None
        return why

    async def hold(self, count: Count, turn_id: str, call_id: str) -> Callable[[], Awaitable[None]]:
        """Have the copies of a moment outlive this process, if there are any, until what comes back is called.

        Args:
            count: The files at that moment.
            turn_id: The turn whose command is about to run.
            call_id: Its call.
        """
        held, release = count.contents, _nothing
        if isinstance(held, Copied):
            try:
                release = await asyncio.to_thread(held.hold, turn_id, call_id, count.files)
            except OSError as problem:
                log.warning("the copies of the files would not outlive this process: %s", problem)

        async def released() -> None:
            await asyncio.to_thread(release)

        return released

    async def lost(self, turn_id: str, call_id: str) -> tuple[Sequence[Lost], Callable[[], None]] | None:
        """What is not as it was before a command whose process was killed, and what forgets it; None where no copies are left."""
        if self.copies_in is None:
            return None
        return await asyncio.to_thread(copies.lost, self.copies_in, turn_id, call_id)

    async def forget(self, turns: Collection[str]) -> None:
        """Remove the copies that are left of the commands of some turns."""
        if self.copies_in is not None:
            await asyncio.to_thread(copies.forget, self.copies_in, turns)

    @property
    def look_seconds(self) -> float:
        """How long a look at the files, and at what became of them, may take."""
        return LOOK_SECONDS if self._copies is None else copies.SECONDS + LOOK_SECONDS

    async def take(self, *, contents: bool) -> Count:
        """Look at all files.

        Args:
            contents: Whether contents are wanted, as before a command; they are given where the workspace is small, or copied.
                For a look after it each file is looked at, as nothing is told of what is written through another hard link.
        """
        at = time.time_ns()
        seconds = self.look_seconds
        if self._listing is None and self._notices is not None:
            seconds += FIRST_LOOK_SECONDS
        try:
            async with self.clock.timeout(seconds), self._looking:
                count = await asyncio.to_thread(self._again, at, each=not contents) or await self._anew(at)
                if not contents or count.unseen:
                    return count
                return await asyncio.to_thread(self._with_contents, count)
        except TimeoutError:
            self._listing = None
            return Count(at, {}, unseen=_TOO_SLOW)

    async def _anew(self, at: int) -> Count:
        """Find out which files there are, and look at them."""
        if self._notices is not None and not self._notices.is_whole:
            self._notices = Notices.begin()
        before: Files | None = None
        while True:
            listed = await self.search.files()
            if isinstance(listed, SearchProblem):
                return Count(at, {}, unseen=listed.message)
            most = MOST_FILES if self._notices is None else MOST_FILES_TOLD
            if listed.truncated or len(listed.paths) + len(listed.odd) > most:
                self._last = Count(0, {})
                return Count(at, {}, unseen=f"the workspace has more than {most} files")
            if listed == before and self._listing is not None:
                return self._listing.count
            before = listed
            found, is_watched = await asyncio.to_thread(self._count, at, listed)
            if found.count.unseen:
                return found.count
            if self._notices is not None and not self._notices.is_whole:  # the system has a limit
                self._notices = None
                continue
            self._listing = found
            if is_watched:
                self._left = None
                return found.count
            # What came into a folder before it was watched is in none of both, so that the list has to be made once more.

    def _again(self, at: int, *, each: bool) -> Count | None:
        """Look at the files once more, at each of not too many, or at those of which something is told; None where others may have come, or none have been found yet. Blocks."""
        listing, self._listing, self._left = self._listing, None, None
        told = self._notices.taken() if self._notices is not None else None
        if listing is None or told is None or not listing.counts(self.rules()):
            return None
        if any(one.path.endswith(_IGNORE_FILES) for one in told):
            return None
        known, paths = listing.count, {one.path for one in told}
        if not each or len(known.files) > MOST_FILES:
            self._left = listing.without(paths)
        shut = ((path, one) for path, one in known.entries.items() if one.kind == "shut")
        if any(self._is_news(one, known) for one in told) or any(
            _status(path) != one.status for path, one in shut
        ):
            return None
        files = dict(self._left.count.files) if self._left is not None else {}
        for path in known.files:
            if path not in files and (status := _status(path)) is not None:
                files[path] = status
        count = replace(known, at=at, files=files)
        self._listing = replace(listing, count=count)
        return count

    def _is_news(self, notice: Notice, known: Count) -> bool:
        """Whether a notice says that other files count, or that something else than a file is not as it was. Blocks."""
        path = notice.path
        if path in known.entries:
            return True
        if not notice.is_name:
            return False
        entry = known.entries.get(path.rpartition("/")[0])
        if entry is None:  # so far the folder counts as ignored
            return True
        if path in known.files:
            return _status(path) is None  # else another file was put in its place
        if os.path.lexists(path) and not (self._is_left_out(path) or self._is_left_out(f"{path}/")):
            return True
        return entry.is_empty != _is_empty(path.rpartition("/")[0])

    def _count(self, at: int, listed: Files) -> tuple[_Listing, bool]:
        """Look at the files of a list; gives too whether all their folders had been watched before it was made. Blocks."""
        files: dict[str, Status] = {}
        end = time.monotonic() + (LOOK_SECONDS if self._notices is None else FIRST_LOOK_SECONDS)
        left = self._left if self._left is not None else _Listing(Count(at, {}), {}, None, {})
        are_caches: dict[str, bool] = {}
        paths = dict.fromkeys((*listed.paths, *listed.odd, *self._counted))
        above = {path.rpartition("/")[0] for path in paths}.union(listed.folders)
        paths |= dict.fromkeys(folder + name for folder in above for name in _IGNORE_FILES)
        is_done = True
        for number, path in enumerate(paths):
            if (status := left.count.files.get(path)) is not None:
                files[path] = status
                continue
            folder, _, name = path.rpartition("/")
            if (is_cache := are_caches.get(folder)) is None:
                is_cache = are_caches[folder] = _CACHE_FOLDERS.search(f"{folder}/") is not None
            if is_cache or name.endswith(_CACHE_ENDS) or name in _CACHE_FILES:
                continue
            if self.is_shut(path) or self.leaves_out(path):
                continue
            if number % 1000 == 0 and time.monotonic() > end:
                is_done = False
                break
            if (status := _status(path)) is not None:
                files[path] = status
        watch = self._notices.watch if self._notices is not None else _not_watched
        walk = Walk(files, self.is_shut, self._is_left_out, end, watch, left.folders)
        is_done = is_done and walk.through(listed.folders, paths)
        links = {path for path, entry in walk.entries.items() if entry.kind == "link"}
        for path in self._counted & files.keys() if links else ():
            if _is_behind(path, links):
                del files[path]
        if is_done:
            self._counted = files.keys()
        count = Count(at, files, unseen="" if is_done else _TOO_SLOW, entries=walk.entries)
        return _Listing(count, walk.folders, self.rules(), _sources(listed.folders)), not walk.has_news

    def _is_left_out(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        is_cache = (
            name in _CACHE_FILES or name.endswith(_CACHE_ENDS) or _CACHE_FOLDERS.search(path) is not None
        )
        return is_cache or self.leaves_out(path)

    def _with_contents(self, count: Count) -> Count:
        if self._copies is not None:
            return count if count.unseen else self._with_copies(self._copies, count)
        size = sum(status.st_size for status in count.files.values())
        if count.unseen or len(count.files) > MOST_FILES_KEPT or size > MOST_BYTES_KEPT:
            self._last = Count(0, {})
            return count
        end = time.monotonic() + LOOK_SECONDS
        contents: dict[str, bytes] = {}
        for path, status in count.files.items():
            content = self._last.contents.get(path)
            if content is None or not _holds(self._last, path, status):
                if time.monotonic() > end:
                    continue
                content = read_bytes(Path(path), MOST_BYTES_KEPT)
            if isinstance(content, bytes):
                contents[path] = content
        self._last = replace(count, contents=contents)
        return self._last

    def _with_copies(self, kept: Copies, count: Count) -> Count:
        last = self._last
        copied = kept.update(
            count.files, lambda path: path in last.files and _holds(last, path, count.files[path])
        )
        if isinstance(copied, str):
            return replace(count, unkept=copied)
        self._last = replace(count, contents=copied)
        return self._last


def _nothing() -> None:
    pass


def differences(before: Count, after: Count) -> Iterator[Difference]:
    """What became of the files between two moments. Reads those of which that cannot be told from outside. Blocks.

    Args:
        before: The one moment.
        after: The later one.
    """
    gone = {_file(status) for path, status in before.files.items() if path not in after.files}
    links = {path for path, entry in after.entries.items() if entry.kind == "link"}
    for path, was in before.files.items():
        now = after.files.get(path)
        if now is was or (now is not None and _holds(before, path, now)):
            continue
        content = before.contents.get(path)
        if now is None:
            # It is ignored now, or was not looked at.
            now = None if _is_behind(path, links) else _status_of_any(path)
            if now is None:
                yield Difference(Path(path), "deleted", was, None, content)
                continue
        if _is_written(path, was, now, content):
            yield Difference(Path(path), "changed", was, now, content)
        # What took its place, such as a link, has a mode of its own.
        if stat.S_ISREG(now.st_mode) and stat.S_IMODE(was.st_mode) != stat.S_IMODE(now.st_mode):
            yield Difference(Path(path), "mode", was, now)
    created = [path for path in after.files if path not in before.files]
    ignoring = bool(created) and _ignore_files(before) != _ignore_files(after)
    for path in created:
        now, shut = after.files[path], before.entries.get(path)
        if shut is not None and shut.kind == "shut":
            # It was there, and nothing of what was in it is known.
            if _numbers(shut.status)[:-1] != _numbers(now)[:-1]:
                yield Difference(Path(path), "changed", shut.status, now)
            continue
        is_new = now.st_ctime_ns >= before.at - CLOCK_STEP or _file(now) in gone
        is_sure = is_new and (not ignoring or path.endswith(_IGNORE_FILES))
        yield Difference(Path(path), "created", None, now, is_sure=is_sure)


def _status_of_any(path: str) -> Status | None:
    try:
        return status_of(os.lstat(path))
    except OSError:
        return None


def _is_behind(path: str, links: AbstractSet[str]) -> bool:
    """Whether one of some links is in the place of a folder above a path."""
    return bool(links) and any(str(folder) in links for folder in Path(path).parents)


def _holds(count: Count, path: str, now: Status) -> bool:
    """Whether a file that looks like this now cannot have been written since that look; see `marks`."""
    return now == count.files[path] and count.at - max(now.st_mtime_ns, now.st_ctime_ns) > GRANULARITY


def _is_written(path: str, was: Status, now: Status, content: bytes | None) -> bool:
    if content is None:
        return _numbers(was)[:-1] != _numbers(now)[:-1]
    return was.st_size != now.st_size or read_bytes(Path(path), len(content)) != content


def _numbers(status: Status) -> tuple[int, ...]:
    return (*_file(status), status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _file(status: Status) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _ignore_files(count: Count) -> dict[str, tuple[int, ...]]:
    return {path: _numbers(one) for path, one in count.files.items() if path.endswith(_IGNORE_FILES)}
