"""What a command in the sandbox finds: folders to write in, folders to read, and what is not there for it.

The rule is that the longest path wins: a folder that may be written in lies in a home that is hidden, and what must
not be changed lies in that folder again.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from outrider.processes.sandbox.git_folders import belonging_to, named_by

Kind = Literal["hidden", "closed", "readable", "writable", "guarded"]
"""Empty and private; empty, where nothing can be put; to read; to write; to read, although it lies in what can be written."""

GUARDED: Final = (".git", ".outrider")
"""What decides about the next commands, in each workspace folder: hooks, settings, rules."""
_MOST_NESTED: Final = 20
_MOST_LOOKED_AT: Final = 400
"""Folders in which a repository within the workspace is looked for, at every command."""

TEMPORARY: Final = ("/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp")  # noqa: S108 - what is shut, not used
_OTHERS: Final = ("/home", "/root", "/Users", "/run")
"""Homes, and the sockets of services, which a read-only file system does not shut."""
_OF_RUN: Final = ("/run/systemd/resolve", "/run/current-system", "/run/opengl-driver", "/run/wrappers")
"""What programs need of `/run`: how names are resolved, and the system itself on some."""

TOOLS_AT_HOME: Final = (
    ".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes",
    ".local/bin", ".local/lib", ".local/share/uv", ".local/share/mise", ".local/share/pnpm", ".local/pipx",
    ".local/share/pipx", ".pyenv", ".rye/py", ".rye/shims", ".nvm", ".fnm", ".volta/bin", ".volta/tools", ".asdf",
    ".bun/bin", ".deno/bin", ".cargo/bin", ".cargo/registry", ".cargo/git", ".rustup", "go", ".rbenv", ".rvm",
    ".sdkman/candidates", ".jenv", ".ghcup/bin", ".juliaup", ".nix-profile", "miniconda3", "anaconda3", "miniforge3",
)  # fmt: skip
"""Programs that people install in their home, and what git is told there; no folder of them holds keys."""


@dataclass(frozen=True, slots=True)
class Wall:
    """What holds for one folder or file, by its real path."""

    path: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Walls:
    """All that holds: the rest of the file system can be read, and not be written."""

    walls: tuple[Wall, ...]
    """Outer ones before inner ones."""
    network: bool
    home: str

    @property
    def writable(self) -> tuple[str, ...]:
        """The folders that can be written in."""
        return tuple(wall.path for wall in self.walls if wall.kind == "writable")

    @property
    def hidden(self) -> tuple[str, ...]:
        """The folders that it cannot look into."""
        return tuple(wall.path for wall in self.walls if wall.kind == "hidden")

    @property
    def seen(self) -> tuple[str, ...]:
        """Places that can be read, some of them in hidden ones."""
        return tuple(wall.path for wall in self.walls if wall.kind in {"readable", "writable", "guarded"})


@dataclass(frozen=True, slots=True)
class NoWalls:
    """Why walls would be of no use."""

    message: str


def walls_of(
    *,
    writable: Sequence[Path],
    readable: Sequence[Path],
    private: Sequence[Path],
    home: Path,
    search_path: str,
    network: bool,
) -> Walls | NoWalls:
    """Work out what holds. Blocks: it looks at what there is.

    Args:
        writable: The workspace folders, and what the person added; what is in `GUARDED` in each stays read-only, and the
            `.git` of repositories within.
        readable: What can be read although it lies in a hidden place.
        private: Folders that are hidden wherever they lie, such as Outrider's own.
        home: The person's home.
        search_path: The `PATH` of the command, whose folders can be read.
        network: Whether the network can be reached.
    """
    if any(folder.resolve() == Path("/") for folder in writable):
        return NoWalls("the workspace is the whole file system")
    found: dict[str, Kind] = {}
    _put(found, [*TEMPORARY, *_OTHERS, str(home), *map(str, private)], "hidden", only_folders=True)
    _put(found, _OF_RUN, "readable")
    _put(found, [str(home / name) for name in TOOLS_AT_HOME], "readable")
    _put(found, _programs(search_path, home), "readable")
    _put(found, map(str, readable), "readable")
    for folder in writable:
        _put(found, map(str, belonging_to(folder)), "readable")
    for folder in writable:
        _close_above(found, folder.resolve())
    _put(found, map(str, writable), "writable")
    for folder in writable:
        _put(found, [str(folder / name) for name in GUARDED], "guarded")
        # Git obeys what lies there, too.
        within = [place for place in named_by(folder) if folder.resolve() in place.parents]
        _put(found, [*map(str, within), *_nested(folder)], "guarded")
    # What is Outrider's own never opens because another setting names it.
    _put(found, [path for path in map(str, private) if _holds_none(path, writable)], "hidden")
    return Walls(tuple(_needed(found)), network, str(home))


def _nested(folder: Path) -> list[str]:
    """The `.git` of repositories one or two folders below. One that a command makes anew, or elsewhere, is its own."""
    found: list[str] = []
    left, level = _MOST_LOOKED_AT, [str(folder)]
    for _ in range(2):
        below: list[str] = []
        for one in level:
            try:
                below += [entry.path for entry in os.scandir(one) if entry.is_dir(follow_symlinks=False)]
            except OSError:
                continue
            if len(below) >= left:
                break
        level = below[:left]
        left -= len(level)
        found += [git for path in level if os.path.lexists(git := f"{path}/.git")]
    return found[:_MOST_NESTED]


def _needed(found: Mapping[str, Kind]) -> Iterator[Wall]:
    """What differs from what holds around it, outer ones first: each one costs time at every command."""
    held: dict[str, Kind] = {}
    for path in sorted(found, key=lambda path: (path.count("/"), path)):
        around = next((held[str(above)] for above in Path(path).parents if str(above) in held), "readable")
        kind = found[path]
        covered: tuple[Kind, ...] = ("readable", "writable", "guarded") if kind == "readable" else (kind,)
        if around in covered or (kind == "guarded" and around == "readable"):
            continue
        held[path] = kind
        yield Wall(path, kind)


def _put(found: dict[str, Kind], paths: Iterable[str], kind: Kind, *, only_folders: bool = False) -> None:
    for text in paths:
        path = Path(text)
        try:
            real = path.resolve()
            is_there = real.is_dir() if only_folders else real.exists()
        except (OSError, RuntimeError):
            continue
        if is_there:
            found[str(real)] = kind


def _close_above(found: dict[str, Kind], folder: Path) -> None:
    """What a command puts beside its folder would be lost with the private place around it, so that it must fail."""
    above = [*reversed(folder.parents)]
    inner = next((path for path in reversed(above) if found.get(str(path)) == "hidden"), None)
    if inner is not None and (below := [path for path in above if path.is_relative_to(inner)][1:]):
        found.setdefault(str(below[0]), "closed")


def _programs(search_path: str, home: Path) -> list[str]:
    """The folders of the search path that lie where all is hidden; of a virtual environment the whole of it."""
    found: list[str] = []
    hidden = (*TEMPORARY, *_OTHERS, str(home))
    for text in search_path.split(":"):
        folder = Path(text)
        if not folder.is_absolute() or not any(folder.is_relative_to(place) for place in hidden):
            continue
        # The home itself in the search path would show all that is in it.
        if home.is_relative_to(folder) or str(folder) in hidden:
            continue
        whole = (folder.parent / "pyvenv.cfg").is_file()
        found.append(str(folder.parent if whole else folder))
    return found


def _holds_none(path: str, folders: Sequence[Path]) -> bool:
    return not any(folder.resolve().is_relative_to(path) for folder in folders)


def environment_in(env: Mapping[str, str]) -> dict[str, str]:
    """The environment of a command behind walls: temporary files go where they can be written."""
    kept = {name: value for name, value in env.items() if name not in {"TMPDIR", "TMP", "TEMP"}}
    return kept | {"TMPDIR": TEMPORARY[0]}
