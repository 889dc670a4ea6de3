"""What a confined command may do: one value, which knows no system and is the same for each of them.

Of its places the longest path wins: a folder that can be written lies in a home that is hidden, and what must not be
changed lies in that folder again.
"""

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final, Literal

from outrider.ports.patterns import SPACE, linear

_WORK_TREE: Final = linear("git.worktree", rf"(?m)^[{SPACE}]*worktree[{SPACE}]*=[{SPACE}]*\"?([^\"\n]*)")
_MOST_BYTES: Final = 200_000


def named_by(folder: Path) -> list[Path]:
    """The folders that git would go by in this one, by real paths, as its `.git` says. Blocks."""
    said = _said_in(folder / ".git")
    if not said.startswith("gitdir:"):
        return []
    place = (folder / said.removeprefix("gitdir:").strip()).resolve()
    common = _said_in(place / "commondir")
    return [place, *([(place / common).resolve()] if common else [])]


def belonging_to(folder: Path) -> list[Path]:
    """Those of them that know the folder as a work tree of theirs. Blocks."""
    named = named_by(folder)
    if not named:
        return []
    place, *shared = named
    if place.parent.name == "worktrees" and shared == [place.parent.parent]:
        back = _said_in(place / "gitdir")
        return named if back and (place / back).resolve() == (folder / ".git").resolve() else []
    tree = _WORK_TREE.search(_said_in(place / "config"))  # as a submodule has it
    return [place] if tree and (place / tree[1].strip()).resolve() == folder.resolve() else []


def _said_in(path: Path) -> str:
    try:
        if path.is_file() and path.stat().st_size <= _MOST_BYTES:
            return path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        pass
    return ""


Kind = Literal["hidden", "sealed", "masked", "readable", "writable", "protected"]
"""Empty and private; empty, where nothing can be put; a file that is not there for it; to read; to write; to read, although it
lies in what can be written."""
Network = Literal["none", "session", "open"]
"""No network but a loopback of the command's own; no network but a loopback that the commands of the session share; that of the
system."""

PROTECTED: Final = (".git", ".outrider")
"""What decides about the next commands, in each workspace folder: hooks, settings, rules."""
MOST_PROTECTED: Final = 100
"""Protected places; each one costs time at every command. What is made or changed at others is found afterwards."""
MOST_HIDDEN: Final = 500
"""Files and folders that are hidden from a command that only reads."""
_SEEN: Final = frozenset[Kind]({"readable", "writable", "protected"})
MOST_REPOSITORIES: Final = 20
"""Repositories below the workspace folders whose place is held."""

TEMPORARY: Final = ("/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp")  # noqa: S108 - what is shut, not used
_HOMES: Final = ("/home", "/root", "/Users")
DAEMONS: Final = (
    "/run", "/var/snap", "/mnt/wslg", "/mnt/wsl", "/var/agentx", "/var/spool/postfix", "/var/spool/cron",
    *(f"/var/lib/{name}" for name in (
        "docker", "docker-desktop", "containerd", "containers", "buildkit", "kubelet", "rancher", "lxd", "lxc", "lxcfs", "incus", "libvirt",
        "machines", "waydroid", "mysql", "mysql-files", "mariadb", "postgresql", "redis", "mongodb", "memcached", "clickhouse", "rabbitmq", "samba",
        "ceph", "gdm", "gdm3", "sddm", "lightdm", "systemd", "private", "NetworkManager", "bluetooth", "tailscale", "snapd", "spice-vdagentd",
    )),
)  # fmt: skip
"""Where services keep their sockets and their data: a read-only file system does not stop a connection."""
_OTHERS: Final = (*_HOMES, *DAEMONS)
_OF_RUN: Final = ("/run/systemd/resolve", "/run/current-system", "/run/opengl-driver", "/run/wrappers")
"""What programs need of these: how names are resolved, and the system itself on some."""

_OF_SYSTEM: Final = frozenset(
    {
        "usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "dev", "proc", "sys", "run", "tmp", "nix", "gnu", "snap",
    }
)  # fmt: skip
"""Folders below the root that programs need, or that are dealt with on their own."""
_OF_ETC: Final = tuple(
    f"/etc/{name}"
    for name in (
        "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "timezone", "locale.conf", "locale.alias", "gitconfig",
        "gitattributes", "terminfo", "inputrc", "os-release", "mime.types", "magic", "magic.mime", "static", "nsswitch.conf", "java",
    )
)  # fmt: skip
"""What programs need of the settings of the system; the rest may name users, machines and keys."""

TOOLS_AT_HOME: Final = (
    ".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes",
    ".local/bin", ".local/lib", ".local/share/uv", ".local/share/mise", ".local/share/pnpm", ".local/pipx",
    ".local/share/pipx", ".pyenv", ".rye/py", ".rye/shims", ".nvm", ".fnm", ".volta/bin", ".volta/tools", ".asdf",
    ".bun/bin", ".deno/bin", ".cargo/bin", ".cargo/registry", ".cargo/git", ".rustup", "go", ".rbenv", ".rvm",
    ".sdkman/candidates", ".jenv", ".ghcup/bin", ".juliaup", ".nix-profile", "miniconda3", "anaconda3", "miniforge3",
)  # fmt: skip
"""Programs that people install in their home, and what git is told there; no folder of them holds keys."""


@dataclass(frozen=True, slots=True)
class Place:
    """What holds for one folder or file and all below, by its real path."""

    path: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Hidden:
    """What a command that only reads does not see, by real paths."""

    files: Sequence[str]
    folders: Sequence[str]
    seen: Sequence[str] = ()
    """What it needs all the same, outside of the workspace."""
    blank: str = "/dev/null"
    """See `Confinement.reading`."""


@dataclass(frozen=True, slots=True)
class Confinement:
    """All that holds for a command: the rest of the file system can be read, and not be written."""

    places: tuple[Place, ...]
    """Outer ones before inner ones."""
    network: Network
    home: str
    tmp: str | None = None
    """The folder that its temporary files go into; None: a `/tmp` of its own, which is lost with it."""
    read_tmp: str | None = None
    """The folder of temporary files of other commands, which it can read."""
    blank: str = "/dev/null"
    """What stands in the place of a masked file, where a backend can put something there."""
    hosts: tuple[str, ...] = ()
    """The hosts that it can reach through the gateway of the session, as the setting names them."""

    @property
    def writable(self) -> tuple[str, ...]:
        """The folders that can be written in."""
        return tuple(place.path for place in self.places if place.kind == "writable")

    @property
    def hidden(self) -> tuple[str, ...]:
        """The folders that it cannot look into."""
        return tuple(place.path for place in self.places if place.kind == "hidden")

    @property
    def seen(self) -> tuple[str, ...]:
        """Places that can be read, some of them in hidden ones."""
        return tuple(place.path for place in self.places if place.kind in _SEEN)

    def kind_of(self, path: str) -> Kind:
        """What holds for a real path."""
        kind: Kind = "readable"
        for place in self.places:
            if path == place.path or path.startswith(f"{place.path}/"):
                kind = place.kind
        return kind

    def kind_around(self, path: str) -> Kind:
        """What holds for the folder that a real path lies in."""
        return self.kind_of(str(Path(path).parent))

    def masking(self, paths: Sequence[str]) -> "Confinement":
        """The same with further files that are not there for the command, as far as it could see them."""
        masks = tuple(Place(path, "masked") for path in paths if self.kind_of(path) in _SEEN)
        return replace(self, places=(*self.places, *masks)) if masks else self

    @property
    def in_tmp(self) -> tuple[str, ...]:
        """The names in `/tmp` at which, or below which, something of it lies."""
        above = f"{TEMPORARY[0]}/"
        below = {place.path.removeprefix(above) for place in self.places if place.path.startswith(above)}
        return tuple(sorted({path.partition("/")[0] for path in below}))

    @property
    def is_reading(self) -> bool:
        """Whether nothing can be written but temporary files, and nobody be reached."""
        return not self.writable and self.network == "none"

    def reading(
        self, files: Sequence[str], folders: Sequence[str], seen: Sequence[str] = (), blank: str = "/dev/null"
    ) -> "Confinement | NoConfinement":
        """The same for a command that only reads.

        Nothing can be written but its temporary files, there is no network, and outside of the workspace only what programs need
        to run can be seen. Blocks: it looks which folders the system has.

        Args:
            files: Real paths of files that are not there for it, such as those that hold secrets.
            folders: Real paths of folders that are empty for it, such as ignored ones.
            seen: Files and folders that it needs, wherever they lie.
            blank: An empty file, which stands in the place of those that are not there: git takes no device for a file.
        """
        kinds: dict[str, Kind] = dict.fromkeys(_foreign_folders(), "sealed")
        # What is protected may lie elsewhere, where a link of the workspace leads.
        for place in self.places:
            if place.kind != "protected":
                kinds[place.path] = "readable" if place.kind == "writable" else place.kind
        inner = [path for path in folders if self.kind_of(path) in _SEEN]
        kinds.update(dict.fromkeys(inner, "sealed"))
        # By the names that programs look for, which may be links.
        kinds.update((path, "readable") for path in _OF_ETC if "/etc" in kinds and Path(path).exists())
        _put(kinds, seen, "readable")
        inside = tuple(f"{path}/" for path in inner)
        masked = [path for path in files if self.kind_of(path) in _SEEN and not path.startswith(inside)]
        found = tuple(_needed(kinds, frozenset()))
        if len(inner) + len(masked) > MOST_HIDDEN:
            return NoConfinement(f"it would have to hide more than {MOST_HIDDEN} files and folders")
        return replace(
            self,
            places=(*found, *(Place(path, "masked") for path in masked)),
            network="none",
            blank=blank,
            hosts=(),
        )


def _foreign_folders() -> list[str]:
    """The folders below the root that hold neither programs nor what they need. Blocks."""
    if sys.platform != "linux":
        return []
    found = ["/etc", "/usr/src"]
    with os.scandir("/") as entries:
        found += [
            entry.path
            for entry in entries
            if entry.name not in _OF_SYSTEM and entry.is_dir(follow_symlinks=False)
        ]
    return found


@dataclass(frozen=True, slots=True)
class NoConfinement:
    """Why confining a command would be of no use."""

    message: str


def confinement_of(
    *,
    writable: Sequence[Path],
    readable: Sequence[Path],
    private: Sequence[Path],
    home: Path,
    search_path: str,
    network: bool,
    protected: Sequence[str] = (),
    repositories: Sequence[str] = (),
) -> Confinement | NoConfinement:
    """Work out what holds. Blocks: it looks at what there is.

    Args:
        writable: The workspace folders, and what the user added; what is in `PROTECTED` in each stays read-only, and the
            `.git` of repositories within.
        readable: What can be read although it lies in a hidden place.
        private: Folders that are hidden wherever they lie, such as Outrider's own.
        home: The user's home.
        search_path: The `PATH` of the command, whose folders can be read.
        network: Whether the network can be reached.
        protected: Paths in folders that can be written which must stay as they are.
        repositories: Folders below the workspace folders that are repositories of their own: neither their `.git` nor a folder
            on the way to it can be moved or replaced.
    """
    if any(folder.resolve() == Path("/") for folder in writable):
        return NoConfinement("the workspace is the whole file system")
    found: dict[str, Kind] = {}
    _put(found, [*TEMPORARY, *_OTHERS, str(home), *map(str, private)], "hidden", only_folders=True)
    _put(found, _OF_RUN, "readable")
    _put(found, [str(home / name) for name in TOOLS_AT_HOME], "readable")
    _put(found, programs_in(search_path, home), "readable")
    _put(found, map(str, readable), "readable")
    for folder in writable:
        _put(found, map(str, belonging_to(folder)), "readable")
    for folder in writable:
        _close_above(found, folder.resolve())
    _put(found, map(str, writable), "writable")
    for folder in writable:
        _put(found, [str(folder / name) for name in PROTECTED], "protected")
        # Git obeys what lies there, too.
        within = [place for place in named_by(folder) if folder.resolve() in place.parents]
        _put(found, map(str, within), "protected")
    _put(found, protected[:MOST_PROTECTED], "protected")
    _put(found, [f"{path}/.git" for path in repositories[:MOST_REPOSITORIES]], "protected")
    held = _held(repositories[:MOST_REPOSITORIES], writable)
    for path in held:
        found.setdefault(path, "writable")
    # What is Outrider's own never opens because another setting names it.
    _put(found, [path for path in map(str, private) if _holds_none(path, writable)], "hidden")
    return Confinement(tuple(_needed(found, held)), "open" if network else "none", str(home))


def _held(repositories: Iterable[str], writable: Sequence[Path]) -> set[str]:
    """The repositories, and the folders on the way to them from a folder that can be written.

    Each one becomes a mount of its own, which cannot be renamed or removed: else the `.git` in it would stay read-only
    where it is moved to, and another one could take its place.
    """
    tops = {str(folder.resolve()) for folder in writable}
    found: set[str] = set()
    for repository in repositories:
        way = [repository, *_above(repository)]
        if (top := next((place for place, path in enumerate(way) if path in tops), None)) is not None:
            found.update(way[:top])
    return found


def _needed(found: Mapping[str, Kind], held: AbstractSet[str]) -> Iterator[Place]:
    """What differs from what holds around it, and what must be held, outer ones first: each one costs time at every command."""
    around: dict[str, Kind] = {}
    for path in sorted(found, key=lambda path: (path.count("/"), path)):
        outer = next((around[above] for above in _above(path) if above in around), "readable")
        kind = found[path]
        covered: tuple[Kind, ...] = ("readable", "writable", "protected") if kind == "readable" else (kind,)
        needless = outer in covered or (kind == "protected" and outer == "readable")
        if needless and not (path in held and outer == kind):
            continue
        around[path] = kind
        yield Place(path, kind)


def _above(path: str) -> Iterator[str]:
    """The folders that a path lies in, the innermost first."""
    while (end := path.rfind("/")) > 0:
        path = path[:end]
        yield path
    yield "/"


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _put(found: dict[str, Kind], paths: Iterable[str], kind: Kind, *, only_folders: bool = False) -> None:
    for path in paths:
        try:
            mode = os.stat(path).st_mode  # noqa: PTH116 - most of a hundred places are not there: this is quick about it
        except (OSError, ValueError):
            continue
        if stat.S_ISDIR(mode) or not only_folders:
            found[os.path.realpath(path)] = kind


def _close_above(found: dict[str, Kind], folder: Path) -> None:
    """What a command puts beside its folder would be lost with the private place around it, so that it must fail."""
    above = [*reversed(folder.parents)]
    inner = next((path for path in reversed(above) if found.get(str(path)) == "hidden"), None)
    if inner is not None and (below := [path for path in above if path.is_relative_to(inner)][1:]):
        found.setdefault(str(below[0]), "sealed")


def programs_in(search_path: str, home: Path, *, all_of_them: bool = False) -> list[str]:
    """The folders of a search path that lie where all is hidden; of a virtual environment the whole of it. Blocks.

    Args:
        search_path: A `PATH`.
        home: The user's home.
        all_of_them: Those that lie elsewhere too.
    """
    found: list[str] = []
    hidden = (*TEMPORARY, *_OTHERS, str(home))
    for text in search_path.split(":"):
        folder = str(Path(text))
        if not folder.startswith("/") or not (all_of_them or any(_is_in(folder, place) for place in hidden)):
            continue
        # The home itself in the search path would show all that is in it.
        if home.is_relative_to(folder) or folder in hidden:
            continue
        above = os.path.dirname(folder)  # noqa: PTH120 - as a text, like all of them
        whole = os.path.isfile(f"{above}/pyvenv.cfg")  # noqa: PTH113 - a folder that is closed to us is no error
        found.append(above if whole else folder)
    return found


def installed_with(argv: Sequence[str], home: Path) -> list[str]:
    """The folders that a program needs of its own installation: where it lies, its packages of node, its virtual environment. Blocks.

    The first file among its arguments is its script, and needs the same. Of a folder that holds more than programs it is the file alone.

    Args:
        argv: The program and its arguments.
        home: The user's home.
    """
    found: list[str] = []
    # A folder that is closed to us is no error.
    files = (Path(word) for word in argv[1:] if word.startswith("/") and os.path.isfile(word))  # noqa: PTH113
    started = [Path(argv[0]), *islice(files, 1)]
    for path in dict.fromkeys(real for one in started for real in (one, one.resolve())):
        modules = [one for one in path.parents if one.name == "node_modules"]
        whole = (path.parent.parent / "pyvenv.cfg").is_file()
        around = modules[-1] if modules else path.parent.parent if whole else path.parent
        is_more = home.is_relative_to(around) or str(around) in (*TEMPORARY, *_OTHERS)
        found.append(str(path if is_more else around))
        if whole:  # and the interpreter that it was made with
            found.append(str((path.parent / "python").resolve().parent.parent))
    return found


def _holds_none(path: str, folders: Sequence[Path]) -> bool:
    return not any(folder.resolve().is_relative_to(path) for folder in folders)


def environment_in(env: Mapping[str, str], tmp: str | None, read_tmp: str | None) -> dict[str, str]:
    """The environment of a confined command: its temporary files go where it can write, and it finds those of the commands before.

    Args:
        env: What it has besides.
        tmp: The folder for its temporary files; None: its `/tmp`.
        read_tmp: The folder of those that it can only read, where that is another one.
    """
    kept = {name: value for name, value in env.items() if name not in {"TMPDIR", "TMP", "TEMP"}}
    own = tmp or TEMPORARY[0]
    return kept | ({"TMPDIR": own} if read_tmp is None else {"TMPDIR": read_tmp, "TMP": own, "TEMP": own})
