"""What a command prints when it meets a wall. It is a guess: a program may print anything."""

import re
from typing import Final

_WRITES: Final = re.compile(r"Read-only file system|EROFS|Operation not permitted|Permission denied|EACCES")
_NETWORK: Final = re.compile(
    r"Network is unreachable|ENETUNREACH|Temporary failure in name resolution|EAI_AGAIN|getaddrinfo"
    r"|[Cc]ould not resolve|[Nn]ame or service not known|Failed to resolve|NameResolutionError"
    r"|[Nn]o address associated|dial tcp|[Cc]onnection refused|ECONNREFUSED|[Cc]ouldn't connect"
)
_PATH: Final = re.compile(r"(?<![\w./~+-])/")
"""Where an absolute path begins."""
_HIDDEN: Final = re.compile(r"No such file or directory|ENOENT|command not found|ModuleNotFoundError")


def sign_of_sandbox(
    output: str, *, network: bool, hidden: tuple[str, ...] = (), seen: tuple[str, ...] = ()
) -> str | None:
    """What in the output of a failed command says that the sandbox stood in its way, in words; None if nothing does.

    Args:
        output: What it printed.
        network: Whether it could reach the network.
        hidden: Places that it could not see; a file that is missing there is a sign.
        seen: Places in those that it could see, such as the workspace: what is missing there is missing everywhere.
    """
    if found := _WRITES.search(output):
        return f"it printed “{found.group()}”, as where something cannot be written"
    if not network and (found := _NETWORK.search(output)):
        return f"it printed “{found.group()}”, as where there is no network"
    for line in output.splitlines():
        if _HIDDEN.search(line) and (place := _hidden_in(line, hidden, seen)):
            return f"it missed something in {place}, which is hidden from it"
    return None


def _hidden_in(line: str, hidden: tuple[str, ...], seen: tuple[str, ...]) -> str | None:
    """The hidden place in which a path of a line lies; as for the walls themselves, the longest one decides."""
    for begin in _PATH.finditer(line):
        path = line[begin.start() :]
        around = [
            place
            for place in (*hidden, *seen)
            if path.startswith(place) and not re.match(r"[\w.+-]", path[len(place) :])
        ]
        place = max(around, key=len, default=None)
        if place in hidden:
            return place
    return None
