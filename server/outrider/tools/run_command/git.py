"""Files of a work tree that git's settings name: programs that git runs, and further files that it reads as settings.

Settings of the user count like those of the repository: `core.hooksPath = .githooks` in `~/.gitconfig` has git run what lies in
each repository. What a setting means is told by its key (git-config(1)); a value of several words counts for each of
them that may be a path, since the shell decides which of them is a program. What such a program starts in turn is not known.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from outrider.ports.globs import OtherName

_MOST_FILE_BYTES: Final = 200_000


def find_repository(folder: str) -> tuple[Path, Path] | None:
    """The repository that git finds from a folder: the top of its files, and its own folder. Blocks.

    Args:
        folder: Where git runs; a real path.
    """
    for above in (Path(folder), *Path(folder).parents):
        entry = above / ".git"
        if entry.is_dir():
            return above, entry
        if entry.is_file():
            said = text_of(entry) or ""
            is_link = said.startswith("gitdir:")
            return above, above / said.removeprefix("gitdir:").strip() if is_link else entry
        if (above / "HEAD").is_file() and (
            (above / "commondir").is_file() or ((above / "objects").is_dir() and (above / "refs").is_dir())
        ):
            return above, above
    return None


def common_folder(place: Path) -> Path:
    """The folder that all work trees of a repository share. Blocks.

    Args:
        place: The own folder of one of them.
    """
    said = text_of(place / "commondir") if (place / "commondir").is_file() else None
    return place / said.strip() if said else place


def text_of(path: Path) -> str | None:
    """The text of one of git's small files; None where it is none, or too large. Blocks."""
    try:
        if not path.is_file() or path.stat().st_size > _MOST_FILE_BYTES:
            return None
        return path.read_text("utf-8", "replace")
    except OSError:
        return None


_MOST_FILES: Final = 50
"""Files of settings that are read for one repository."""
_MOST_NAMES: Final = 500
"""Files that are taken from the settings of one repository."""
_LONGEST_VALUE: Final = 4_000

_RUN: Final = frozenset(
    {
        "command", "cmd", "textconv", "clean", "smudge", "process", "driver", "helper", "program", "editor", "pager", "askpass", "gitproxy",
        "fsmonitor", "external", "difffilter", "uploadpack", "receivepack", "packobjectshook", "tunnel", "smtpserver", "vcs", "update",
    }
)  # fmt: skip
"""Keys whose value is a command in any section, those of other programs included; so are the endings below."""
_RUN_ENDINGS: Final = ("command", "cmd", "program", "hook", "helper")
_RUN_SECTIONS: Final = frozenset({"alias", "pager"})
_RUN_BY_PATH: Final = frozenset({"mergetool", "difftool", "browser", "man", "lfs", "guitool"})
"""Sections in which `path` names a program."""
_FOLDERS: Final = frozenset({("core", "hookspath"), ("init", "templatedir")})
_FILES: Final = frozenset(
    {("core", "attributesfile"), ("gpg", "allowedsignersfile"), ("gpg", "revocationfile"), ("lfs", "args")}
)
_INCLUDES: Final = frozenset({"include", "includeif"})
_HOOKS: Final = (
    "applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-commit",
    "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "update", "proc-receive", "post-receive", "post-update",
    "reference-transaction", "push-to-checkout", "pre-auto-gc", "post-rewrite", "sendemail-validate", "fsmonitor-watchman", "post-index-change",
)  # fmt: skip
"""githooks(5); for a folder of hooks that is the top of the work tree itself."""
_BETWEEN: Final = str.maketrans(dict.fromkeys("\"'`;|&()<>{}=,!", " "))
"""What stands between the words of a command, for any shell."""
_GOES: Final = frozenset({"cd", "pushd", "-C", "--directory", "PYTHONPATH"})
"""Words before a folder from which the next paths may be meant."""
_PYTHON: Final = ("python", "pypy")
_MOST_BASES: Final = 8


@dataclass(frozen=True, slots=True)
class Entry:
    """One setting, its section and key in lower case."""

    section: str
    name: str | None
    """The sub-section."""
    key: str
    value: str


def named_by_git(
    folder: Path, of_the_user: Sequence[Path] = (), home: Path | None = None
) -> Mapping[str, list[OtherName]]:
    """The files and folders of a work tree that git runs or reads by its settings. Blocks.

    Args:
        folder: A folder in the work tree; a real path.
        of_the_user: The user's own files of settings.
        home: What `~` stands for.

    Returns:
        By absolute paths, with links not followed and nothing known of whether they are there.
    """
    found = find_repository(str(folder))
    if found is None:
        return {}
    top, place = found
    common = common_folder(place)
    names: dict[str, list[OtherName]] = {}
    waiting = [*of_the_user, common / "config", place / "config.worktree"]
    read: set[Path] = set()
    while waiting and len(read) < _MOST_FILES and len(names) < _MOST_NAMES:
        path = waiting.pop()
        if path in read:
            continue
        read.add(path)
        for entry in entries(text_of(path) or ""):
            if entry.section in _INCLUDES and entry.key == "path":
                included = _absolute(entry.value, path.parent, home)
                waiting.append(Path(included))
                names.setdefault(included, []).append(
                    OtherName(".git/config", f"git reads it as settings ({_said(entry)})", below=False)
                )
            for text, other in _named(entry, top, home):
                names.setdefault(text, []).append(other)
    return names


def user_settings_of_git(env: Mapping[str, str]) -> tuple[Path, ...]:
    """The files in which a user and a system administrator tell git what holds everywhere (git-config(1), "FILES")."""
    home, config = env.get("HOME"), env.get("XDG_CONFIG_HOME")
    paths = [Path("/etc/gitconfig")]
    if config or home:
        paths.append(Path(config or f"{home}/.config") / "git" / "config")
    return (*paths, Path(home) / ".gitconfig") if home else tuple(paths)


def _named(entry: Entry, top: Path, home: Path | None) -> Iterator[tuple[str, OtherName]]:
    said, value = _said(entry), entry.value[:_LONGEST_VALUE]
    kind = (entry.section, entry.key)
    if kind in _FOLDERS:
        path = _absolute(value, top, home)
        if top.is_relative_to(path):
            for hook in _HOOKS:
                yield (
                    f"{top}/{hook}",
                    OtherName(f".git/hooks/{hook}", f"git runs it as a hook ({said})", below=False),
                )
        else:
            yield path, OtherName(".git/hooks", f"git runs the hooks there ({said})")
    elif kind in _FILES:
        yield _absolute(value, top, home), _run_or_read(f"git reads it ({said})")
    elif _runs(entry):
        why = f"git runs what {said} names"
        for text in dict.fromkeys(_paths_in(value, top, home)):
            yield text, _run_or_read(why)


def _run_or_read(why: str) -> OtherName:
    return OtherName(".git/config", why, below=False)


def _runs(entry: Entry) -> bool:
    if entry.section == "alias":
        return entry.value.startswith("!")
    return (
        entry.key in _RUN
        or entry.key.endswith(_RUN_ENDINGS)
        or entry.section in _RUN_SECTIONS
        or (entry.key == "path" and entry.section in _RUN_BY_PATH)
    )


def _said(entry: Entry) -> str:
    return f"{entry.section}.{entry.name}.{entry.key}" if entry.name else f"{entry.section}.{entry.key}"


def _paths_in(value: str, top: Path, home: Path | None) -> Iterator[str]:
    """What in a command line may be a file of the work tree: from its top, and from where the line goes."""
    words = value.translate(_BETWEEN).split()
    bases = [top]
    before, runs_python = "", False
    whole = [value] if "/" in value else []
    for place, word in enumerate([*whole, *words]):
        text = word.partition("/")[2] if word.startswith("$") else word  # $PWD, or the top that git tells
        is_module, goes = runs_python and before == "-m", before in _GOES
        # A program without a slash is looked for in the search path, not in the work tree.
        is_program = place == len(whole) and "/" not in word
        before = word
        runs_python = runs_python or word.rpartition("/")[2].startswith(_PYTHON)
        if is_program or not text or "\0" in text or text in {".", ".."} or text.startswith("-"):
            continue
        if goes and len(bases) < _MOST_BASES:
            bases.append(Path(_absolute(text, bases[-1], home)))
        for base in bases:
            yield from (path for path in _files(text, base, home, is_module=is_module) if path != str(top))
        if text.startswith("/") and not Path(text).is_relative_to(top):
            yield os.path.normpath(
                f"{top}/{text}"
            )  # behind what a command gives, as in $(git rev-parse --show-toplevel)/x


def _files(text: str, base: Path, home: Path | None, *, is_module: bool) -> Iterator[str]:
    """The files that a word stands for."""
    if not is_module:
        yield _absolute(text, base, home)
        return
    *above, last = text.split(".")
    for depth in range(1, len(above) + 1):
        yield _absolute("/".join([*above[:depth], "__init__.py"]), base, home)
    for name in (f"{last}.py", f"{last}/__init__.py", f"{last}/__main__.py"):
        yield _absolute("/".join([*above, name]), base, home)


def _absolute(text: str, base: Path, home: Path | None) -> str:
    text = text.removeprefix("%(prefix)/")
    if text.startswith("~/") and home is not None:
        return os.path.normpath(f"{home}/{text[2:]}")
    return os.path.normpath(os.path.join(base, text))  # noqa: PTH118 - normpath takes a text


def entries(text: str) -> Iterator[Entry]:
    """The settings in a file of git's (git-config(1), "Syntax"); what does not fit the syntax is left out."""
    section, name, place = "", None, 0
    text = text.removeprefix("\ufeff")
    while place < len(text):
        sign = text[place]
        if sign.isspace():
            place += 1
        elif sign in "#;":
            place = _end_of_line(text, place)
        elif sign == "[":
            end = _end_of_section(text, place)
            section, name = _section_of(text[place + 1 : end])
            place = end + 1
        else:
            begin = place
            while place < len(text) and (text[place].isalnum() or text[place] == "-"):
                place += 1
            key = text[begin:place].lower()
            while place < len(text) and text[place] in " \t":
                place += 1
            value = ""
            if place < len(text) and text[place] == "=":
                value, place = _value(text, place + 1)
            else:
                place = _end_of_line(text, place)
            if key:
                yield Entry(section, name, key, value)


def _end_of_line(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end


def _end_of_section(text: str, place: int) -> int:
    """Where the bracket that closes a section stands; the end of the line if none does."""
    quoted = False
    last = _end_of_line(text, place)
    while place < last:
        if text[place] == "\\" and quoted:
            place += 1
        elif text[place] == '"':
            quoted = not quoted
        elif text[place] == "]" and not quoted:
            return place
        place += 1
    return last


def _section_of(head: str) -> tuple[str, str | None]:
    word, quote, rest = head.partition('"')
    if quote:
        return word.strip().lower(), rest.rpartition('"')[0].replace("\\\\", "\\").replace('\\"', '"')
    section, dot, name = word.strip().lower().partition(".")
    return section, name if dot else None


def _value(text: str, place: int) -> tuple[str, int]:
    """A value, and where it ends: quotes are taken away, and a line that ends in a backslash goes on in the next one."""
    said: list[str] = []
    quoted = False
    while place < len(text):
        sign = text[place]
        if sign == "\n":
            break
        if sign == "\\" and place + 1 < len(text):
            place += 1
            if text.startswith("\r\n", place):
                place += 1
            if text[place] != "\n":
                said.append({"n": "\n", "t": "\t", "b": "\b"}.get(text[place], text[place]))
        elif sign == '"':
            quoted = not quoted
        elif sign in "#;" and not quoted:
            place = _end_of_line(text, place)
            break
        else:
            said.append(sign)
        place += 1
    return "".join(said).strip(), place


_MOST_CHARACTERS: Final = 20_000
_ANY: Final = frozenset({"*"})
_HARMLESS: Final[Mapping[str, frozenset[str]]] = {
    "core": frozenset(
        [
            "repositoryformatversion",
            "filemode",
            "bare",
            "logallrefupdates",
            "ignorecase",
            "precomposeunicode",
            "symlinks",
            "autocrlf",
            "eol",
            "safecrlf",
        ]
    ),
    "extensions": frozenset({"objectformat", "refstorage"}),
    "remote": frozenset({"url", "fetch"}),
    "submodule": frozenset({"url", "active"}),
    **dict.fromkeys(("branch", "user", "init"), _ANY),
}
"""By section, the keys that start nothing."""
_SECTION: Final = re.compile(r'\[([A-Za-z]+)(?: "[^"\\\n]*+")?\]')
_KEY: Final = re.compile(r"\s*+([A-Za-z][A-Za-z0-9-]*+) = [^\\\n]*+")


def why_its_settings_run_more(folder: str) -> str | None:
    """Why git may run a program or go elsewhere by the settings of a repository, beside its hooks; None if it does not. Blocks.

    Args:
        folder: The repository itself: a `.git`, or a bare one.
    """
    git = Path(folder)
    for name in ("commondir", "config.worktree", "modules", "worktrees", "objects/info/alternates"):
        if (git / name).exists():
            return f"its {name} leads elsewhere, or may run something"
    if any((git / name).is_symlink() for name in ("config", "objects", "refs", "HEAD")):
        return "it contains links"
    text = text_of(git / "config")
    if text is None or len(text) > _MOST_CHARACTERS:
        return "its config cannot be read"
    known: frozenset[str] = frozenset()
    for line in filter(None, text.split("\n")):
        if section := _SECTION.fullmatch(line):
            known = _HARMLESS.get(section[1].casefold(), frozenset())
        elif (key := _KEY.fullmatch(line)) is None or not known & {"*", key[1].casefold()}:
            return f"its config says {line.strip()}"
    return None
