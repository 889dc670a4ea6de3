"""A command line, looked up in the workspace: where its parts read, and which scripts of the workspace it runs."""

import glob
import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice, takewhile
from pathlib import Path
from typing import Final

from outrider.permissions.policy.commands import Command, Objects
from outrider.permissions.policy.protected_files import IGNORE_FILE
from outrider.permissions.programs.git import (
    as_they_were,
    named_objects,
    shows_texts,
    why_any_text,
    without_folders,
)
from outrider.permissions.programs.patterns import runs_scripts
from outrider.permissions.programs.readers import (
    goes_below,
    naming,
    only_reads,
    reads_alone,
    reads_files,
    shell_before,
)
from outrider.permissions.secrets.secret_files import is_secret_file
from outrider.permissions.shell.builtins import BUILTINS
from outrider.permissions.shell.model import CommandLine, Handed, Program, Word
from outrider.permissions.shell.reading import read_command
from outrider.ports.clock import Clock
from outrider.ports.globs import name_glob
from outrider.ports.patterns import PatternError, linear
from outrider.processes import SpawnProblem, Supervisor, collect
from outrider.processes.environment import found_as, is_of, own_program
from outrider.workspace.paths import OWN_FOLDER, Folders, PathProblem
from outrider.workspace.watch.hidden_files import HiddenFiles, HiddenPlaces

MOST_MATCHES: Final = 2000
"""Files that one pattern may stand for."""
SCRIPT_BYTES: Final = 5_000_000
_SAYS: Final = frozenset({"echo", "printf"})
"""Programs that only print their words."""
_IN_HOME: Final = linear("command.in_home", r"\"?(?:~|\$HOME|\$\{HOME\})(/[A-Za-z0-9_./-]*)?\"?")
"""A word that names the home folder or what is below it, whatever fills it in."""
_NOTHING: Final = "/dev/null"
_GIT_SECONDS: Final = 5.0
_GIT_BYTES: Final = 100_000
_GIT_SETTINGS: Final = (
    "-c",
    "core.fsmonitor=false",
    "-c",
    f"core.hooksPath={os.devnull}",
    "-c",
    "safe.bareRepository=explicit",
    "-c",
    "protocol.allow=never",
)
_GIT_ENVIRONMENT: Final = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}


def _shut_by_name(names: Sequence[str]) -> str | None:
    return "files with that name hold secrets" if any(map(is_secret_file, names)) else None


def look_at(
    text: str,
    folders: Folders,
    cwd: Path,
    shut: HiddenFiles | None = None,
    search_path: str = "",
) -> Command:
    """Take a command line apart, and look its paths up. Blocks; nothing runs.

    Args:
        text: The command line.
        folders: The workspace folders.
        cwd: Where it would run.
        shut: Knows which files are shut; without it those with names of secrets are.
        search_path: The `PATH` by which its programs are found.
    """
    line = read_command(text)
    looks = _Looks(folders, HiddenFiles(_shut_by_name) if shut is None else shut, search_path)
    where = [looks.at(cwd)]
    confined: list[str | None] = []
    alone: list[str | None] = []
    scripts: dict[str, str] = {}
    ran: list[str | None] = []
    closed: list[str | None] = []
    met: list[str | None] = []
    objects: list[Objects] = []
    runs_git = any(program.name == "git" for program in line.programs)
    for number, program in enumerate(line.programs):
        called, within = without_folders(program)
        in_sandbox: list[str | None] = []
        outside: list[str | None] = []
        shuts: list[str | None] = []
        meets: list[str | None] = []
        found: dict[str, str] = {}
        for place in where if not line.goes else map(looks.at, folders_on_the_way(line, cwd, number)):
            inner = looks.at(place.below(within)) if within else place
            # Each of several goes on from where the one before it went.
            whys = [place.why_outside(str(place.below(within[: far + 1]))) for far in range(len(within))]
            stored, handed = inner.names_objects(called), inner.comes_to_objects(called, walks=runs_git)
            # Where no git runs, the read-only sandbox hides them from all that comes to them.
            in_sandbox += [*whys, inner.why_more(called), stored, handed if runs_git else None]
            outside += [*whys, inner.why_not_alone(called), stored, handed]
            shuts += [inner.names_shut(called), inner.why_git_shows_any(called)]
            meets.append(inner.comes_to_shut(called))
            if words := named_objects(called):
                objects.append(Objects(number, inner.path, tuple(dict.fromkeys(words))))
            for word in runs_scripts(called):
                found |= inner.hashed(word)
        closed.append(next(filter(None, shuts), None))
        # That a file is shut says more than that a program is not known.
        confined.append(closed[-1] or next(filter(None, in_sandbox), None))
        met.append(next(filter(None, meets), None))
        alone.append(closed[-1] or met[-1] or next(filter(None, outside), None))
        ran.append(_together(list(found.values())) if found else None)
        scripts |= found
    return Command(line, alone, scripts, ran, closed, confined, met, tuple(objects))


async def with_objects(
    command: Command, supervisor: Supervisor, clock: Clock, search_path: str, roots: Sequence[str]
) -> Command:
    """Ask git what the words are by which it would show any object, as `git show 1a2b3c4` does: they must name commits.

    Args:
        command: The command line.
        supervisor: Starts git.
        clock: Counts its time.
        search_path: The `PATH` by which git is found.
        roots: The real paths of the workspace folders, of which no file is taken for git.
    """
    closed = list(command.closed)
    for one in command.objects:
        if closed[one.number] is not None:
            continue
        program = own_program("git", search_path, one.folder, roots)
        done = await collect(
            supervisor,
            [program, *_GIT_SETTINGS, "cat-file", "--batch-check=%(objecttype)"],
            cwd=Path(one.folder),
            env={**_GIT_ENVIRONMENT, "PATH": search_path},
            clock=clock,
            stdin="".join(f"{word}{'' if ':' in word else '^{}'}\n" for word in one.words).encode(
                "utf-8", "surrogateescape"
            ),
            seconds=_GIT_SECONDS,
            limit=_GIT_BYTES,
        )
        kinds = [] if isinstance(done, SpawnProblem) else done.stdout.decode("utf-8", "replace").splitlines()
        for word, kind in zip(one.words, kinds, strict=False):
            if kind != "commit" and not kind.endswith(" missing"):
                closed[one.number] = f"{word} is not a commit, and may be the text of any file"
        if len(kinds) != len(one.words) and (
            isinstance(done, SpawnProblem)
            or done.code == 0
            or done.timed_out
            or b"safe.bareRepository" in done.stderr  # the command itself would go by it
        ):
            closed[one.number] = "git cannot say what its arguments name, which may be the text of any file"
    return replace(command, closed=closed)


def folders_on_the_way(line: CommandLine, cwd: Path, number: int) -> list[Path]:
    """The folders where a program of a line may run.

    Args:
        line: The line.
        cwd: Where it begins.
        number: Which of its programs.
    """
    found = [cwd]
    for _, folder in takewhile(lambda gone: gone[0] < number, line.goes):
        # As bash does, which takes a name away for each `..`, though the name may be that of a link.
        there = [Path(os.path.normpath(one / folder)) for one in found]
        found = there if line.is_sure else list(dict.fromkeys([*found, *there]))
    return found


def _together(hashes: Sequence[str]) -> str:
    """The hash of what a program runs; of an interpreter of the workspace and its script it is one of both."""
    if len(hashes) == 1:
        return hashes[0]
    return hashlib.sha256(" ".join(hashes).encode()).hexdigest()


class _Looks:
    """What is looked up for one line, by the folders where its parts run."""

    def __init__(self, folders: Folders, shut: HiddenFiles, search_path: str) -> None:
        self.folders = folders
        self.search_path = search_path
        self.why_hidden = shut.why_hidden
        self.roots = [os.path.realpath(folder.path) for folder in folders.folders]
        self._shut = shut
        self._places: HiddenPlaces | None = None
        self._by_folder: dict[Path, _Place] = {}

    def at(self, folder: Path) -> "_Place":
        """A folder."""
        if folder not in self._by_folder:
            self._by_folder[folder] = _Place(self, folder)
        return self._by_folder[folder]

    @property
    def shut(self) -> HiddenPlaces:
        """All that is shut in the workspace: looked up when it is asked for."""
        if self._places is None:
            self._places = self._shut.look([Path(root) for root in self.roots])
        return self._places


class _Place:
    """A folder where a part of a line runs."""

    def __init__(self, looks: _Looks, base: Path) -> None:
        self._looks = looks
        self._folders = looks.folders
        self._base = str(base)
        self._beside = os.path.join(self._base, "")  # noqa: PTH118 - a text, with the sign at its end
        self._why_hidden = looks.why_hidden
        self._roots = looks.roots
        self._known: dict[str, str | None] = {}
        self._real: dict[str, str] = {}
        self._shut: dict[str, str | None] = {}
        self._theirs: dict[str, str | None] = {}

    @property
    def path(self) -> str:
        """Its real path."""
        return os.path.realpath(self._base)

    def why_outside(self, path: str) -> str | None:
        """Why a path is no place inside the workspace that may be seen, None if it is."""
        return self._outside_path(path)

    def below(self, within: Sequence[Word]) -> Path:
        """The folder to which git goes first, by the words that name it."""
        return Path(self._base).joinpath(*(word.text or "" for word in within))

    def why_more(self, program: Program) -> str | None:
        """Why a program is not known to only read inside the workspace in a read-only sandbox, None if it is."""
        if why := only_reads(program) or shell_before(program):
            return why
        words = () if program.name in _SAYS else naming(program)
        if why := next(filter(None, map(self._names_outside, (*words, *program.reads))), None):
            return why
        if why := self._names_missing(program):
            return why
        if not shows_texts(program) or (top := self._top_of_repository()) is None or self._root_of(top):
            return None
        return f"git may show files of {top}, which is outside the workspace"

    def why_not_alone(self, program: Program) -> str | None:
        """Why a program is not known to only read inside the workspace without a sandbox, None if it is."""
        if why := reads_alone(program) or shell_before(program):
            return why
        if self._looks.search_path and (theirs := self._why_theirs(program)):
            return theirs
        if why := self._names_missing(program):
            return why
        says = program.name in _SAYS
        unnamed = set(program.argv[1:]) - set(naming(program))
        for word in (*program.argv[1:], *program.reads):
            if word.text is not None and word in unnamed:
                continue
            if word.text is not None:
                why = None if says and word not in program.reads else self._may_lead_outside(word.text)
            elif word.is_glob:
                why = self._names_outside(word)
            else:
                why = None if says and word.is_one else f"{word.source} is known only at run time"
            if why is not None:
                return why
        return None

    def _names_outside(self, word: Word) -> str | None:
        """Why a word names what there is outside the workspace; one that is known only at run time is left to the sandbox."""
        if word.text is not None:
            paths = [
                path for path in (word.text, *_paths_in(word.text)) if os.path.lexists(self._joined(path))
            ]
            return next(filter(None, map(self._outside_path, paths)), None)
        if word.handed is not None:
            return next(filter(None, map(self._outside_path, word.handed.roots)), None)
        if in_home := _IN_HOME.fullmatch(word.source):
            path = os.path.expanduser(f"~{in_home[1] or ''}")  # noqa: PTH111 - as text, like all paths here
            return self._outside_path(path)
        return self._outside_glob(word) if word.is_glob else None

    def _names_missing(self, program: Program) -> str | None:
        """Why a file that is to be shown is outside the workspace or has a name of secrets, though it is not there.

        Whether it is there is no business of the model either, and it may be there when the command runs.
        """
        if not reads_files(program):
            return None
        texts = (word.text for word in (*program.argv[1:], *program.reads) if word.text is not None)
        missing = (
            text
            for text in texts
            if text[:1] not in {"", "-", "+"} and not os.path.lexists(self._joined(text))
        )
        return next(filter(None, map(self._outside_path, missing)), None)

    def _may_lead_outside(self, text: str) -> str | None:
        """The same of a word where no sandbox hides what is outside: what is not there yet counts too."""
        for path in (text, *_paths_in(text)):
            whole = self._joined(path)
            is_path = path == text or "/" in path
            is_there = is_path and os.path.lexists(os.path.dirname(os.path.normpath(whole)))  # noqa: PTH120
            if is_there and (why := self._outside_path(path)) is not None:
                return why
        return None

    def _why_theirs(self, program: Program) -> str | None:
        """Why a program is another one than its name says: the workspace has put it into the search path."""
        if not program.argv:
            return None
        names = [
            *program.through,
            *([] if not program.through and program.name in BUILTINS else [program.name]),
        ]
        return next((why for name in names if name is not None and (why := self._why_their(name))), None)

    def _why_their(self, name: str) -> str | None:
        if name not in self._theirs:
            file = next(found_as(name, self._looks.search_path, self._base), None)
            is_theirs = file is not None and is_of(file, self._roots)
            self._theirs[name] = f"{name} is a file of the workspace, {file}" if is_theirs else None
        return self._theirs[name]

    def names_shut(self, program: Program) -> str | None:
        """Why a file that is named in the words of a program is shut, None if none is."""
        for word in (*naming(program), *program.reads, *program.writes):
            if word.text is not None:
                if (why := self._named_shut(word.text)) is not None:
                    return why
                for path in as_they_were(word.text) if program.name == "git" else ():
                    if why := self._why_hidden((self._joined(path),)):
                        return f"{path} is a secret file, and was one before: {why}"
            elif word.is_glob:
                matches = islice(self._matches(word), MOST_MATCHES + 1)
                if why := next(filter(None, map(self._named_shut, matches)), None):
                    return why
        return None

    def comes_to_shut(self, program: Program) -> str | None:
        """Why a file is shut whose text a program shows without a word that names it, None if it shows none.

        A read-only sandbox hides such a file; everything else asks.
        """
        for word in program.argv[1:]:
            if word.handed is not None and word.handed.is_sure and (why := self._handed_shut(word.handed)):
                return why
        if not goes_below(program):
            return None
        named = [text for word in program.argv[1:] for text in self._texts(word)]
        there = [path for path in map(self._resolved, named) if os.path.lexists(path)]
        if not any(map(os.path.isdir, there)):
            there.append(self.path)
        for folder in there:
            if (path := self._looks.shut.below(folder)) is not None:
                return self._told_shut(path)
        return None

    def names_objects(self, program: Program) -> str | None:
        """Why a program other than git names what git keeps the texts of all files in, packed; None if it does not."""
        if program.name == "git":
            return None
        words = (*naming(program), *program.reads)
        named = [path for word in words if word.handed is None for path in self._texts(word)]
        places = [self._resolved(path) for text in named for path in (text, *_paths_in(text))]
        for folder in self._looks.shut.objects:
            if any(path == folder or path.startswith(f"{folder}/") for path in places):
                return self._told_objects(folder)
        return None

    def comes_to_objects(self, program: Program, *, walks: bool) -> str | None:
        """Why a program other than git may be handed what git keeps the texts of all files in; None if it may not.

        Args:
            program: The program.
            walks: Whether one counts, too, that goes through folders by itself, and takes for no text what is packed.
        """
        if program.name == "git":
            return None
        handed = [word.handed for word in program.argv[1:] if word.handed is not None]
        gone_through: list[str] = []
        if walks and goes_below(program):
            named = [path for word in program.argv[1:] for path in self._texts(word)]
            folders = [path for path in map(self._resolved, named) if os.path.isdir(path)]  # noqa: PTH112
            gone_through = folders or [self.path]
        for folder in self._looks.shut.objects:
            if any(folder.startswith(f"{path}/") for path in gone_through) or any(
                self._may_hand_over(one, folder) for one in handed
            ):
                return self._told_objects(folder)
        return None

    def _told_objects(self, folder: str) -> str:
        return f"{os.path.relpath(folder, self.path)} holds the texts of all files, secret ones too"

    def _may_hand_over(self, handed: Handed, folder: str) -> bool:
        """Whether files below a folder may be among those that are handed over; a list of git has none of its own."""
        roots = [self._resolved(root) for root in handed.roots]
        if handed.is_bare or not any(f"{folder}/".startswith(f"{root}/") for root in roots):
            return False
        try:
            wanted = name_glob(handed.name or "*")
        except PatternError:
            return True
        names = list(islice((name for _, _, files in os.walk(folder) for name in files), MOST_MATCHES + 1))
        return len(names) > MOST_MATCHES or any(map(wanted.fullmatch, names))

    def _handed_shut(self, handed: Handed) -> str | None:
        roots = [self._resolved(root) for root in handed.roots]
        try:
            wanted = name_glob(handed.name or "*")
        except PatternError:
            return "the names it looks for are too long"
        for path in (*self._looks.shut.files, *self._looks.shut.folders):
            is_there = any(path == root or path.startswith(f"{root}/") for root in roots)
            if is_there and (path in self._looks.shut.folders or wanted.fullmatch(path.rpartition("/")[2])):
                return self._told_shut(path)
        return None

    def _told_shut(self, path: str) -> str:
        why = self._why_hidden((path,)) or self._why_hidden((f"{path}/\ufffe",)) or "it contains secrets"
        return f"it reaches {os.path.relpath(path, self.path)}, which is a secret file: {why}"

    def why_git_shows_any(self, program: Program) -> str | None:
        """Why git may show the text of a shut file although it takes such files for binary ones, None if it may not."""
        if not shows_texts(program):
            return None
        if (why := why_any_text(program)) is not None:
            return why
        if sayers := self._looks.shut.attributes:
            return f"{os.path.relpath(sayers[0], self.path)} decides which files git shows as text, perhaps secret ones"
        has_own = any(os.path.lexists(os.path.join(root, IGNORE_FILE)) for root in self._roots)  # noqa: PTH118
        top = self._top_of_repository() if has_own else None
        if top is not None and top not in self._roots:
            return f"git in {top} does not know which files {IGNORE_FILE} lists"
        return None

    def _top_of_repository(self) -> str | None:
        """The folder with the `.git` by which git goes here, None where there is none."""
        folder = self.path
        while not os.path.lexists(f"{folder}/.git"):
            above = os.path.dirname(folder)  # noqa: PTH120 - at each decision
            if above == folder:
                return None
            folder = above
        return folder

    def _named_shut(self, text: str) -> str | None:
        if text not in self._shut:
            self._shut[text] = self._why_path_shut(text) or next(
                filter(None, map(self._why_path_shut, _paths_in(text))), None
            )
        return self._shut[text]

    def _joined(self, text: str) -> str:
        return text if text.startswith("/") else self._beside + text

    def _why_path_shut(self, text: str) -> str | None:
        path = self._joined(text)
        if not os.path.lexists(path):
            return None
        why = self._why_hidden((os.path.normpath(path), self._resolved(text)))
        return None if why is None else f"{text} is a secret file: {why}"

    def _texts(self, word: Word) -> list[str]:
        if word.handed is not None:
            return list(word.handed.roots)
        return [word.text] if word.text is not None else list(islice(self._matches(word), MOST_MATCHES + 1))

    def _matches(self, word: Word) -> Iterator[str]:
        return glob.iglob(word.source, root_dir=self._base)  # noqa: PTH207 - matches as bash does

    def hashed(self, word: Word) -> dict[str, str]:
        """The hash of a script, by its path, if it is one of the workspace."""
        if word.text is None:
            return {}
        located = self._folders.locate_now(self._joined(word.text))
        if isinstance(located, PathProblem) or not located.inside or located.resolved is None:
            return {}
        try:
            if not located.resolved.is_file() or located.resolved.stat().st_size > SCRIPT_BYTES:
                return {}
            return {located.display: hashlib.sha256(located.resolved.read_bytes()).hexdigest()}
        except OSError:
            return {}

    def _outside_glob(self, word: Word) -> str | None:
        if _leads_out(word.source):
            return f"where {word.source} leads is not known"
        matches = list(islice(self._matches(word), MOST_MATCHES + 1))
        if len(matches) > MOST_MATCHES:
            return f"{word.source} matches too many files"
        if any(match.startswith("-") for match in matches):
            return f"{word.source} matches a file whose name looks like an option"
        return next((problem for match in matches if (problem := self._outside_path(match))), None)

    def _outside_path(self, text: str) -> str | None:
        if text not in self._known:
            self._known[text] = None if text == _NOTHING else self._looked_up(text)
        return self._known[text]

    def _resolved(self, text: str) -> str:
        """The real path. There may be hundreds of them in a few folders, so each folder is looked up once."""
        folder, _, name = (whole := self._joined(text)).rpartition("/")
        folder = folder or "/"
        if name in {"", ".", ".."}:
            return os.path.realpath(whole)
        path = os.path.join(self._real_folder(folder), name)  # noqa: PTH118
        return os.path.realpath(path) if os.path.islink(path) else path  # noqa: PTH114

    def _real_folder(self, folder: str) -> str:
        if folder not in self._real:
            above, name = os.path.split(folder)
            if not name or name in {".", ".."} or folder == self._base:
                self._real[folder] = os.path.realpath(folder)
            else:
                path = os.path.join(self._real_folder(above), name)  # noqa: PTH118
                self._real[folder] = os.path.realpath(path) if os.path.islink(path) else path  # noqa: PTH114
        return self._real[folder]

    def _root_of(self, path: str) -> str | None:
        return next((root for root in self._roots if path == root or path.startswith(f"{root}/")), None)

    def _looked_up(self, text: str) -> str | None:
        resolved = self._resolved(text)
        root = self._root_of(resolved)
        if root is None or resolved[len(root) + 1 :].partition("/")[0].casefold() == OWN_FOLDER:
            return f"{text} is outside the workspace"
        why = self._why_hidden((self._joined(text), resolved))
        return None if why is None else f"{text} is a secret file: {why}"


def _leads_out(pattern: str) -> bool:
    """Whether a pattern may stand for the folder above: up to bash 5.1, and where it is told to, `.*` does."""
    try:
        return pattern.startswith("/") or any(
            name.startswith(".") and name_glob(name).fullmatch("..") for name in pattern.split("/")
        )
    except PatternError:
        return True


def _paths_in(text: str) -> list[str]:
    """What in a word may be a path, beside the whole: what follows a sign that programs write before one."""
    if text[:1] != "-" and "=" not in text and ":" not in text and "@" not in text:
        return []
    found = [text.rpartition(sign)[2] for sign in "=:@" if sign in text]
    return [*found, text[2:]] if text.startswith("-") and len(text) > 2 else found


def secret_files_named(line: CommandLine, cwd: Path) -> list[Path]:
    """The files with names of secrets that the words of a command line name, as far as they are known."""
    bases = folders_on_the_way(line, cwd, len(line.programs))
    bases = [cwd, *bases]
    found: dict[Path, None] = {}
    for program in line.programs:
        for word in (*program.argv[1:], *program.reads):
            texts = [word.text] if word.text is not None else []
            if word.is_glob:
                matches = (glob.iglob(word.source, root_dir=base) for base in bases)  # noqa: PTH207
                texts = list(islice(chain.from_iterable(matches), MOST_MATCHES))
            paths = (path for text in texts for path in (text, *_paths_in(text)))
            found |= {base / path: None for path in paths if is_secret_file(path) for base in bases}
    return list(found)
