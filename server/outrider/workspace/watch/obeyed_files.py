"""Files of the workspace that programs outside of the sandbox obey, at one moment and at a later one: what was planted.

Which names these are is judged by who asks. Ignored files are looked at like others, since an editor obeys them as well;
what is installed in `.venv` and `node_modules` is only looked at near its top. Nothing is followed. A folder is read
again only where its change time moved, which no program can set. Everything is bounded, and outer folders come first:
the nearer to the top, the more programs look there.
"""

import os
import stat
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from outrider.ports.globs import Meaning, OtherName
from outrider.workspace.disk.file_stat import GRANULARITY
from outrider.workspace.paths import OWN_FOLDER

MOST_FOLDERS: Final = 4_000
"""Folders that one look goes through."""
MOST_FILES: Final = 2_000
"""Files that one look keeps."""
LOOK_SECONDS: Final = 2.0
_REST: Final = 10
"""How many times as long as a look for other names took the next one waits at least, where nothing but an edit wants it."""
MOST_BYTES: Final = 64 * 1024
"""Of a file whose content is kept, so that it can be put back."""
_MOST_INSTALLED: Final = 2_000
"""Names in folders of installed programs."""
_GIT: Final = ".git"
_OF_GIT: Final = ("config", "config.worktree", "info/attributes", "commondir")
_OF_OUTRIDER: Final = ("memory.md", "rules.toml", "settings.toml")
_FOLDERS_OF_OUTRIDER: Final = ("commands", "skills")
"""Of its folder, what the next session obeys; the rest are documents, which do nothing before the user says so."""
_HEAD: Final = "HEAD"
_PARTS: Final = frozenset({_HEAD, "commondir", "objects", "refs"})
"""What git goes by to take a folder for a repository (`is_git_directory` in setup.c): a `HEAD`, and objects and references, which
`commondir` may say to lie elsewhere. What is in them does not count here: whoever wrote half of it can write the rest."""
_BELOW_HEAD: Final = (*sorted(_PARTS), *_OF_GIT, "hooks", "modules", "worktrees")
"""What an edit is asked about where a folder has a `HEAD`."""
_INSTALLED: Final = frozenset({".venv", "node_modules"})
_PASSED_OVER: Final = frozenset(
    {"__pycache__", ".tox", ".nox", ".gradle", ".hypothesis", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".parcel_cache"}
)  # fmt: skip

_MOST_PARTS: Final = 4
"""Folders below a link that a path which means something goes through at most, that one included."""
_MOST_LINKS: Final = 40
"""Links on the way to one file, as many as Linux follows (path_resolution(7))."""

OtherNames = Mapping[str, Sequence[OtherName]]
"""By which other paths programs reach files and folders of the workspace, by their absolute paths."""


@dataclass(frozen=True, slots=True)
class Found:
    """One of these files at one moment."""

    kind: Literal["file", "link", "repository", "installed", "other"]
    """A repository is the folder `.git`; installed is a folder of programs, of which only what is near its top is known."""
    meaning: Meaning
    numbers: tuple[int, ...]
    """What the system says of it; of a repository only which folder it is."""
    mode: int = 0
    target: str = ""
    """Where a link leads, as it is written in it."""
    content: bytes | None = None
    """What is in it, where that is kept."""
    of: str = ""
    """The bare repository that it is obeyed as a part of; empty for what is obeyed by its own name."""
    leads_to: str = ""
    """Of a link that means nothing by its own name: what is obeyed because of it, by the path that it gives that."""


@dataclass(frozen=True, slots=True)
class Sight:
    """All of them at one moment."""

    files: Mapping[str, Found]
    """By their absolute paths."""
    repositories: tuple[str, ...] = ()
    """The folders below the workspace folders that hold a `.git`."""
    folders: AbstractSet[str] | None = None
    """The folders that were looked at, where a bound of the look left some out; None: all of them."""
    left_out: AbstractSet[str] | None = None
    """Those that were not, where it is known which; what lies in none of them and was not found was not there."""
    other_names: OtherNames = field(default_factory=dict[str, Sequence[OtherName]])
    """What else files and folders are called."""
    heads: Mapping[str, Mapping[str, Found]] = field(default_factory=dict[str, Mapping[str, Found]])
    """Of the folders that hold a `HEAD`, what git goes by to take them for bare repositories, by its names."""
    links: Mapping[str, str] = field(default_factory=dict[str, str])
    """Where links lead by which programs may reach what they obey, as it is written in them; by their absolute paths."""

    def is_bare_repository(self, folder: str) -> bool:
        """Whether git takes a folder for a repository, though it has no `.git`."""
        parts = self.heads.get(folder, {})
        return "commondir" in parts or {"objects", "refs"} <= parts.keys()

    @property
    def is_cut(self) -> bool:
        """Whether a bound of the look left folders out."""
        return self.folders is not None

    def covers(self, path: str) -> bool:
        """Whether a file is known not to be there where the look did not find it."""
        if self.folders is None or path in self.other_names:
            return True
        folder, in_git, _ = path.partition(f"/{_GIT}/")
        if not in_git:
            folder = path.rpartition("/")[0].removesuffix(f"/{OWN_FOLDER}")
        if folder in self.folders or self.left_out is None:
            return folder in self.folders
        return self.left_out.isdisjoint([folder, *map(str, Path(folder).parents)])

    def why(self, path: str) -> str | None:
        """Why a file has a meaning by another name than its own; None if it has none that is known."""
        place = path
        while place:
            for other in self.other_names.get(place, ()):
                if other.below or place == path:
                    return other.why
            place = place.rpartition("/")[0]
        return None

    @property
    def protected(self) -> tuple[str, ...]:
        """The files that a command must leave as they are, without those that git keeps."""
        return tuple(
            path
            for path, found in self.files.items()
            if found.meaning == "protected" and found.kind in {"file", "link"} and f"/{_GIT}/" not in path
        )


@dataclass(frozen=True, slots=True)
class Planted:
    """What became of one of them between two moments."""

    path: str
    how: Literal["created", "changed", "deleted"]
    before: Found | None
    after: Found | None
    makes_bare: str = ""
    """The folder that became a bare repository by it; empty if none did."""

    @property
    def makes_repository(self) -> bool:
        """Whether git takes a folder for a repository, or for another one than before, because of it."""
        return bool(self.makes_bare) or (self.how != "deleted" and self.path.endswith(f"/{_GIT}"))

    @property
    def meaning(self) -> Meaning:
        """What a command may do with it."""
        found = self.after or self.before
        return "free" if found is None else found.meaning


@dataclass(slots=True)
class _Folder:
    """What was read of a folder."""

    status: tuple[int, ...]
    at: int
    folders: list[str]
    files: list[tuple[str, Meaning]]
    links: list[str]
    """Those of its links that a program may follow to files that it obeys."""
    has_git: bool
    parts: list[str]
    """Names of what git goes by to take it for a bare repository."""


@dataclass(slots=True)
class _Walk:
    """One way through the folders."""

    waiting: deque[tuple[str, str]]
    """Folders to look at, each with its workspace folder."""
    folders: dict[str, _Folder] = field(default_factory=dict[str, _Folder])
    files: dict[str, Found] = field(default_factory=dict[str, Found])
    repositories: list[str] = field(default_factory=list[str])
    heads: dict[str, Mapping[str, Found]] = field(default_factory=dict[str, Mapping[str, Found]])
    links: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def may_go_on(self, end: float) -> bool:
        """Whether there is more to look at, and no bound is met."""
        if not self.waiting or len(self.folders) >= MOST_FOLDERS or len(self.files) >= MOST_FILES:
            return False
        return len(self.folders) % 500 != 0 or time.monotonic() <= end


@dataclass(slots=True)
class ObeyedFiles:
    """Looks at the files of some workspace folders; what was read is kept for the next look."""

    meaning: Callable[[str], Meaning]
    """What a path relative to its workspace folder means."""
    may_lead: Callable[[str], bool] = lambda _: False
    """Whether a folder of that name can be part of a path that means something."""
    named_by_git: Callable[[Path], OtherNames] = lambda _: {}
    """What the settings of the repository around a folder have git run or read."""
    on_other_names: Callable[[OtherNames], None] = lambda _: None
    """Told at each look what else files and folders are called."""
    at_start: dict[str, Sight] = field(default_factory=dict[str, Sight])
    """What there was when a background job began, or when it was last asked for, by the job's id."""
    _looked: tuple[tuple[Path, ...], float, float] = ((), 0.0, 0.0)
    """The folders of the last look for other names, when it ended, and how many seconds it took."""
    _folders: dict[str, _Folder] = field(default_factory=dict[str, _Folder])
    _contents: dict[str, tuple[tuple[int, ...], int, bytes | None]] = field(
        default_factory=dict[str, tuple[tuple[int, ...], int, bytes | None]]
    )

    def look_for_other_names(self, roots: Sequence[Path]) -> None:
        """Find out what else files are called, unless that was done a short time ago for what it costs. Blocks.

        Commands are looked at before and after them, so that only what others did in that time can be missed.

        Args:
            roots: The real paths of the workspace folders.
        """
        known, at, took = self._looked
        if known != tuple(roots) or time.monotonic() - at > _REST * took:
            self.look(roots)

    def look(self, roots: Sequence[Path], before: Sight | None = None) -> Sight:
        """Look at all of them. Blocks.

        Args:
            roots: The real paths of the workspace folders.
            before: An earlier look that this one is compared with. What else files are called is taken from there, so that both
                see the same files; of what came since only the links count that brought it about.
        """
        begun = time.monotonic()
        end = begun + LOOK_SECONDS
        walk = _Walk(deque((str(root), str(root)) for root in roots))
        while walk.may_go_on(end):
            folder, root = walk.waiting.popleft()
            read = self._read(folder, root, self._folders.get(folder))
            if read is not None and folder not in walk.folders:
                self._note(read, folder, root, walk)
        self._folders, files, heads = walk.folders, walk.files, walk.heads
        sight = Sight(files, tuple(walk.repositories), heads=heads)
        bare = [folder for folder in heads if sight.is_bare_repository(folder)]
        for folder in bare:
            for path, found in self._settings(folder):
                files.setdefault(path, replace(found, of=folder))
        links = _targets(link for link, _ in walk.links)
        if before is not None:
            other_names = before.other_names
            if links != before.links:
                self._looked = ((), 0.0, 0.0)  # an edit goes by what they are now
                self._note_leading(walk, roots, links, before.links)
        else:
            other_names = self._other_names(roots, walk.links, [*walk.repositories, *bare])
            self.on_other_names(_with_parts(other_names, heads))
            now = time.monotonic()
            self._looked = (tuple(roots), now, now - begun)
        through, is_whole = self._by_other_names(other_names, files, end)
        self._contents = {path: kept for path, kept in self._contents.items() if path in files}
        covered = None if is_whole and not walk.waiting else walk.folders.keys() | through
        left_out = {folder for folder, _ in walk.waiting} if is_whole else None
        return replace(sight, folders=covered, left_out=left_out, other_names=other_names, links=links)

    def _note(self, read: _Folder, folder: str, root: str, walk: _Walk) -> None:
        """Take in what was read of one folder."""
        files = walk.files
        walk.folders[folder] = read
        walk.links += [(path, root) for path in read.links]
        for path, meaning in read.files:
            self._put(path, meaning, files)
        if _HEAD in read.parts:
            parts = {name: self._file(f"{folder}/{name}", "protected") for name in read.parts}
            walk.heads[folder] = {name: found for name, found in parts.items() if found is not None}
        if read.has_git:
            of_git = dict(self._repository(f"{folder}/{_GIT}"))
            files.update(of_git)
            walk.links += [(path, root) for path, found in of_git.items() if found.kind == "link"]
            if folder != root:
                walk.repositories.append(folder)
        for path in read.folders:
            name = path.rpartition("/")[2]
            if name in _INSTALLED:
                if (found := _installed(path)) is not None:
                    files[path] = found
            elif name == OWN_FOLDER:
                for own in _OF_OUTRIDER:
                    self._put(f"{path}/{own}", "protected", files)
                walk.waiting.extendleft((f"{path}/{below}", root) for below in _FOLDERS_OF_OUTRIDER)
            elif self.may_lead(name) or self.meaning(f"{path[len(root) :].lstrip('/')}/*") != "free":
                walk.waiting.appendleft((path, root))  # before a bound is met
            else:
                walk.waiting.append((path, root))

    def _put(self, path: str, meaning: Meaning, files: dict[str, Found]) -> None:
        if (found := self._file(path, meaning)) is not None:
            files[path] = found

    def _note_leading(
        self, walk: _Walk, roots: Sequence[Path], links: Mapping[str, str], before: Mapping[str, str]
    ) -> None:
        """Take in the links that are new, or lead elsewhere than before, if something is obeyed because of them.

        What they lead to may have been there all the time: it is the link that has it obeyed, and that can be put back.
        """
        for link, root in walk.links:
            fresh = [one for one in _way(link) if one in links and links[one] != before.get(one)]
            fresh = [one for one in fresh if one not in walk.files or walk.files[one].meaning != "protected"]
            if fresh and (found := self._leads_to(link, root, roots)) is not None:
                meaning, name = found
                walk.files |= {one: Found("link", meaning, (), 0, links[one], leads_to=name) for one in fresh}

    def _leads_to(self, link: str, root: str, roots: Sequence[Path]) -> tuple[Meaning, str] | None:
        """What is obeyed through a link and would not be by its own path, and by which name; None if nothing is."""
        found: tuple[Meaning, str] | None = None
        waiting = deque([(link, link[len(root) :].lstrip("/"), 1)])
        while waiting:
            folder, name, depth = waiting.popleft()
            with suppress(OSError), os.scandir(folder) as entries:
                for entry in entries:
                    is_folder = entry.is_dir()
                    if is_folder and not self.may_lead(entry.name):
                        continue
                    below = "/*" if is_folder else ""
                    meaning = self.meaning(f"{name}/{entry.name}{below}")
                    own = _relative(os.path.realpath(entry.path), roots)
                    if meaning == "free" or self.meaning(f"{own}{below}") != "free":
                        if is_folder and depth < _MOST_PARTS:
                            waiting.append((entry.path, f"{name}/{entry.name}", depth + 1))
                    elif meaning == "protected":
                        return meaning, f"{name}/{entry.name}{below}"
                    else:
                        found = meaning, f"{name}/{entry.name}{below}"
        return found

    def _other_names(
        self, roots: Sequence[Path], links: Sequence[tuple[str, str]], repositories: Sequence[str]
    ) -> OtherNames:
        """What else files and folders of the workspace folders are called: where links lead, and what git's settings name."""
        tops = [str(root) for root in roots]
        found: dict[str, list[OtherName]] = {}

        def take(path: str, other: OtherName) -> None:
            inside = any(path == top or path.startswith(f"{top}/") for top in tops)
            if inside and other not in (known := found.setdefault(path, [])):
                known.append(other)

        for link, root in links:
            name = link[len(root) :].lstrip("/")
            for path in _way(link)[1:]:
                take(path, OtherName(name, f"the link {name} leads to it"))
        for folder in dict.fromkeys((*tops, *repositories)):
            for named, others in self.named_by_git(Path(folder)).items():
                for path in _way(named):
                    for other in others:
                        take(path, other)
        return found

    def _by_other_names(
        self, other_names: OtherNames, files: dict[str, Found], end: float
    ) -> tuple[set[str], bool]:
        """Look at files that have a meaning by another name; gives the folders that were looked through, and whether all were."""
        through: set[str] = set()
        is_whole = True
        for place in sorted(other_names):
            for other in other_names[place]:
                waiting = deque([(place, other.name)])
                while waiting:
                    path, name = waiting.popleft()
                    if not os.path.isdir(path) or os.path.islink(path):  # noqa: PTH112, PTH114 - many of them
                        self._add(path, name, files)
                    elif not other.below:
                        continue
                    elif len(through) >= MOST_FOLDERS or len(files) >= MOST_FILES or time.monotonic() > end:
                        is_whole = False
                        break
                    elif self.meaning(f"{name}/*") == "named":
                        if path not in files and (found := _installed(path)) is not None:
                            files[path] = found
                    else:
                        through.add(path)
                        with suppress(OSError), os.scandir(path) as entries:
                            waiting += [
                                (one.path, f"{name}/{one.name}") for one in entries if one.name != _GIT
                            ]
        return through, is_whole

    def _add(self, path: str, name: str, files: dict[str, Found]) -> None:
        known, meaning = files.get(path), self.meaning(name)
        if meaning == "free" and os.path.islink(path):  # noqa: PTH114 - many of them
            meaning = self.meaning(f"{name}/*")
        if meaning == "free" or (known is not None and (known.meaning == "protected" or meaning == "named")):
            return
        self._put(path, meaning, files)

    def _read(self, folder: str, root: str, known: _Folder | None) -> _Folder | None:
        try:
            status = os.lstat(folder)
            numbers = (status.st_dev, status.st_ino, status.st_ctime_ns)
            if known is not None and known.status == numbers and known.at - status.st_ctime_ns > GRANULARITY:
                return known
            at = time.time_ns()
            read = _Folder(numbers, at, [], [], [], has_git=False, parts=[])
            with os.scandir(folder) as entries:
                for entry in entries:
                    self._take(entry, root, read)
        except OSError:
            return None  # it went away, or is closed to us
        return read

    def _take(self, entry: "os.DirEntry[str]", root: str, read: _Folder) -> None:
        if entry.name in _PARTS:
            read.parts.append(entry.name)
        if entry.name == _GIT:
            read.has_git = True
        elif entry.is_dir(follow_symlinks=False):
            if entry.name not in _PASSED_OVER:
                read.folders.append(entry.path)
        else:
            meaning = self.meaning(entry.path[len(root) :].lstrip("/"))
            is_link = entry.is_symlink()
            # A link could be put in the place of a whole folder that is obeyed.
            if meaning == "free" and is_link:
                meaning = self.meaning(f"{entry.path[len(root) :].lstrip('/')}/*")
            if is_link and (meaning != "free" or self.may_lead(entry.name)):
                read.links.append(entry.path)
            if meaning != "free":
                read.files.append((entry.path, meaning))

    def _file(self, path: str, meaning: Meaning) -> Found | None:
        try:
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                target = str(Path(path).readlink())
                return Found("link", meaning, (), target=target)
        except OSError:
            return None
        numbers = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        mode = stat.S_IMODE(status.st_mode)
        if not stat.S_ISREG(status.st_mode):
            return Found("other", meaning, numbers, mode)
        content = self._content(path, status) if meaning == "protected" else None
        # With its content in hand, when it was written does not matter.
        return Found("file", meaning, () if content is not None else numbers, mode, content=content)

    def _content(self, path: str, status: os.stat_result) -> bytes | None:
        numbers = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        kept = self._contents.get(path)
        if kept is not None and kept[0] == numbers and kept[1] - status.st_ctime_ns > GRANULARITY:
            return kept[2]
        at = time.time_ns()
        content = _bytes_of(path) if status.st_size <= MOST_BYTES else None
        self._contents[path] = (numbers, at, content)
        return content

    def _repository(self, git: str) -> Iterator[tuple[str, Found]]:
        """A `.git`, and what in it has git run programs."""
        try:
            status = os.lstat(git)
        except OSError:
            return
        if not stat.S_ISDIR(status.st_mode):
            if (found := self._file(git, "protected")) is not None:
                yield git, found
            return
        yield git, Found("repository", "protected", (status.st_dev, status.st_ino))
        yield from self._settings(git)

    def _settings(self, git: str) -> Iterator[tuple[str, Found]]:
        """What in a repository has git run programs."""
        names = [*_OF_GIT]
        with suppress(OSError):
            names += [f"hooks/{name}" for name in os.listdir(f"{git}/hooks") if not name.endswith(".sample")]  # noqa: PTH208 - names
        for name in names:
            if (found := self._file(f"{git}/{name}", "protected")) is not None:
                yield f"{git}/{name}", found


def _with_parts(other_names: OtherNames, heads: Mapping[str, object]) -> OtherNames:
    """The same, and what would make a folder with a `HEAD` a repository, or is obeyed in one."""
    found = dict(other_names)
    for folder in heads:
        for name in _BELOW_HEAD:
            other = OtherName(
                f"{_GIT}/{name}", "git takes a folder with HEAD, objects and refs for a repository"
            )
            found[f"{folder}/{name}"] = (*found.get(f"{folder}/{name}", ()), other)
    return found


def _bare_repositories(before: Sight, after: Sight) -> Iterator[Planted]:
    """What made bare repositories of folders: without it they are none again."""
    for folder, parts in after.heads.items():
        known = before.is_bare_repository(folder) or not before.covers(f"{folder}/{_HEAD}")
        if known or not after.is_bare_repository(folder):
            continue
        had = before.heads.get(folder)
        for name in [_HEAD] if had is None else sorted(parts.keys() - had.keys()):
            yield Planted(f"{folder}/{name}", "created", None, parts[name], folder)


def planted(before: Sight, after: Sight) -> list[Planted]:
    """What became of these files between two moments; outer ones first.

    Where a bound cut a look short, a file that it did not reach counts neither as created nor as deleted: it is the user's.
    """
    found = [*_bare_repositories(before, after)]
    for path in {*before.files, *after.files}:
        was, now = before.files.get(path), after.files.get(path)
        if was is None and now is not None and now.leads_to and path in before.links:
            was = replace(now, target=before.links[path])  # it led elsewhere
        of = next((side.of for side in (now, was) if side is not None), "")
        if of and not (before.is_bare_repository(of) and after.is_bare_repository(of)):
            continue  # it goes with what made the folder a repository
        if (
            was == now
            or (was is None and not before.covers(path))
            or (now is None and not after.covers(path))
        ):
            continue
        how = "created" if was is None else "deleted" if now is None else "changed"
        found.append(Planted(path, how, was, now))
    return sorted(found, key=lambda one: (one.path.count("/"), one.path))


def _way(path: str) -> list[str]:
    """A path, each link on the way to where it leads, and that place last; as far as the links can be followed. Blocks."""
    found = [path]
    current, parts = "/", deque(path.split("/"))
    links = 0
    while parts:
        part = parts.popleft()
        if part in {"", "."}:
            continue
        current = os.path.dirname(current) if part == ".." else os.path.join(current, part)  # noqa: PTH118, PTH120
        try:
            target = os.readlink(current)  # noqa: PTH115 - many of them
        except (OSError, ValueError):
            continue  # no link, or nothing
        links += 1
        if links > _MOST_LINKS:
            break
        found.append(current)
        parts.extendleft(reversed(target.split("/")))
        current = "/" if target.startswith("/") else os.path.dirname(current)  # noqa: PTH120
    else:
        found.append(current)
    return list(dict.fromkeys(found))


def _targets(links: Iterable[str]) -> dict[str, str]:
    """Where links lead, and those on their ways, as it is written in them. Blocks."""
    found: dict[str, str] = {}
    for link in links:
        for path in _way(link):
            with suppress(OSError, ValueError):
                found[path] = os.readlink(path)  # noqa: PTH115 - many of them
    return found


def _relative(path: str, roots: Sequence[Path]) -> str:
    """A real path relative to the innermost workspace folder that it lies in; the path itself if it lies in none."""
    around = [str(root) for root in roots if path.startswith(f"{root}/")]
    return path[len(max(around, key=len)) + 1 :] if around else path


def _installed(folder: str) -> Found | None:
    """What can be told of a folder of installed programs by its top and by the programs in it."""
    marks: list[int] = []
    waiting = [folder]
    for depth in range(2):
        below: list[str] = []
        for one in waiting:
            try:
                status = os.lstat(one)
                marks += (status.st_ino, status.st_ctime_ns)
                with os.scandir(one) as entries:
                    for entry in entries:
                        if depth == 0 or entry.name in {"bin", ".bin"} or one.endswith(("bin", "Scripts")):
                            inner = entry.stat(follow_symlinks=False)
                            marks += (inner.st_ino, inner.st_size, inner.st_mtime_ns)
                        if entry.is_dir(follow_symlinks=False):
                            below.append(entry.path)
            except OSError:
                continue
            if len(marks) > 3 * _MOST_INSTALLED:
                break
        waiting = sorted(below)[:_MOST_INSTALLED]
    return Found("installed", "named", (hash(tuple(marks)),)) if marks else None


def _bytes_of(path: str) -> bytes | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(fd, "rb") as file:  # noqa: PTH123 - a descriptor
            content = file.read(MOST_BYTES + 1)
    except OSError:
        return None
    return content if len(content) <= MOST_BYTES else None
