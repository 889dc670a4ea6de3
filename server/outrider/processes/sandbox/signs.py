"""Whether the sandbox can have been what made a command fail.

A program may print anything, so that its words alone are no reason to leave the sandbox. They count where what is known
agrees with them: the file that they name is one that the sandbox keeps from the command, and that the user could have
used without it.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

_READ_ONLY: Final = ("read-only file system", "erofs")
"""What hardly ever happens without a sandbox; a command that writes in what is shut says so, with the name of the file or without."""
_REFUSED: Final = ("permission denied", "operation not permitted", "eacces", "eperm")
"""What happens for many reasons: it is a sign only with the name of a file."""
_NO_NETWORK: Final = (
    "network is unreachable", "enetunreach", "temporary failure in name resolution", "eai_again", "getaddrinfo",
    "could not resolve", "name or service not known", "failed to resolve", "nameresolutionerror",
    "no address associated",
)  # fmt: skip
_NO_SERVER: Final = ("connection refused", "econnrefused", "couldn't connect")
"""What happens for many reasons: without a network it is a sign where it names a server of this machine that runs."""
_MISSING: Final = ("no such file or directory", "enoent", "command not found", "modulenotfounderror")
_AROUND_A_PATH: Final = str.maketrans(dict.fromkeys("\"'`‘’“”()[]<>=,;:", " "))
_QUOTES: Final = ("'", '"', "`")
_MOST_PATHS: Final = 200
"""Paths of an output that are looked up."""
_LISTENS: Final = "0A"
_LONGEST_PORT: Final = 5


def sign_of_sandbox(
    output: str,
    *,
    cwd: str,
    network: bool,
    command: str = "",
    writable: Sequence[str] = (),
    hidden: Sequence[str] = (),
    seen: Sequence[str] = (),
) -> str | None:
    """What in the output of a failed command fits the sandbox as its cause, in words; None if nothing does.

    Blocks: it looks up the files that are named.

    Args:
        output: What it printed.
        cwd: Where it ran.
        network: Whether it could reach the network.
        command: Its text: where a line names no file, the command may.
        writable: Folders that it could write in.
        hidden: Folders that were empty for it.
        seen: Places that it could see as they are, in hidden folders too; what is missing there is missing everywhere.

    Returns:
        A clause that follows "It failed in the sandbox".
    """
    left = _MOST_PATHS
    places = (*writable, *hidden, *seen)
    listening: frozenset[int] | None = None
    for line in output.splitlines():
        folded = line.casefold()
        refused = _first(folded, (*_READ_ONLY, *_REFUSED))
        missing = _first(folded, _MISSING)
        if refused or missing:
            paths = list(islice(_paths_in(line, cwd), left))
            left -= len(paths)
            if refused in _READ_ONLY and not paths:
                paths = _words_of(command, cwd)
            for path in paths:
                place = _innermost(path, places)
                if refused and place not in writable and _could_be_written(path):
                    return f"it printed “{refused}” about {path}, which it cannot write to"
                if missing and place in hidden and place not in seen and os.path.lexists(path):
                    return f"it did not find {path}, which is hidden from it"
        if network:
            continue
        found = _first(folded, _NO_NETWORK)
        if found is None and (no_server := _first(folded, _NO_SERVER)):
            # The kernel makes its table anew each time: once is enough, and most commands need none.
            listening = frozenset(_listening()) if listening is None else listening
            found = no_server if not listening.isdisjoint(_ports_in(line)) else None
        if found:
            return f"it printed “{found}”, as without a network"
    return None


def sign_of_writing(
    output: str, *, cwd: str, is_readable: Callable[[str], bool], command: str = ""
) -> str | None:
    """What in the output of a failed command fits a read-only sandbox as its cause, in words; None if nothing does.

    Blocks: it looks up the files that are named.

    Args:
        output: What it printed.
        cwd: Where it ran.
        is_readable: Whether it could see a file, and not write it.
        command: Its text: where a line names no file, the command may.
    """
    left = _MOST_PATHS
    for line in output.splitlines():
        folded = line.casefold()
        if (refused := _first(folded, (*_READ_ONLY, *_REFUSED))) is None:
            continue
        paths = list(islice(_paths_in(line, cwd), left))
        left -= len(paths)
        if refused in _READ_ONLY and not paths:
            paths = _words_of(command, cwd)
        if any(is_readable(path) and _could_be_written(path) for path in paths):
            return f"it printed “{refused}”"
    return None


def _first(line: str, words: Sequence[str]) -> str | None:
    return next((word for word in words if word in line), None)


def _ports_in(line: str) -> set[int]:
    """The numbers of a line that may be ports."""
    numbers = "".join(letter if letter in "0123456789" else " " for letter in line).split()
    return {int(number) for number in numbers if len(number) <= _LONGEST_PORT}


def _listening() -> Iterator[int]:
    """The TCP ports of this machine that somebody listens at; none where the system does not tell them so.

    Source: proc_net_tcp of the Linux kernel's documentation: local address and port in hexadecimal, then state.
    """
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            rows = Path(table).read_text("ascii").splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            _, local, _, state, *_ = row.split()
            if state == _LISTENS:
                yield int(local.rpartition(":")[2], 16)


def _paths_in(line: str, cwd: str) -> Iterator[str]:
    """The real paths that a line may name, absolute or relative to the folder of the command."""
    quoted = [part for quote in _QUOTES for part in line.split(quote)[1::2]]
    for text in dict.fromkeys((*quoted, *line.translate(_AROUND_A_PATH).split())):
        if text in quoted or "/" in text:
            try:
                yield os.path.realpath(os.path.join(cwd, os.path.expanduser(text)))  # noqa: PTH118, PTH111
            except (OSError, ValueError):
                continue


def _words_of(command: str, cwd: str) -> list[str]:
    """The real paths that the words of a command may be."""
    words = [word if "/" in word else f"./{word}" for word in command.translate(_AROUND_A_PATH).split()]
    return list(islice(_paths_in(" ".join(words), cwd), _MOST_PATHS))


def _innermost(path: str, places: Sequence[str]) -> str | None:
    """The place around a path that decides about it, which is the innermost one."""
    around = [place for place in places if path == place or path.startswith(f"{place.rstrip('/')}/")]
    return max(around, key=len, default=None)


def _could_be_written(path: str) -> bool:
    """Whether the user may write a file, or make it, without a sandbox."""
    while not os.path.lexists(path):
        path = os.path.dirname(path)  # noqa: PTH120
    return os.access(path, os.W_OK)
