"""What a command prints when it meets a wall. It is a guess: a program may print anything."""

import re
from typing import Final

_WRITES: Final = re.compile(r"Read-only file system|EROFS|Operation not permitted|Permission denied|EACCES")
_NETWORK: Final = re.compile(
    r"Network is unreachable|ENETUNREACH|Temporary failure in name resolution|EAI_AGAIN|getaddrinfo"
    r"|[Cc]ould not resolve|[Nn]ame or service not known|Failed to resolve|NameResolutionError"
    r"|[Nn]o address associated|dial tcp|[Cc]onnection refused|ECONNREFUSED"
)
_HIDDEN: Final = re.compile(r"No such file or directory|ENOENT|command not found|ModuleNotFoundError")


def sign_of_sandbox(output: str, *, network: bool, hidden: tuple[str, ...] = ()) -> str | None:
    """What in the output of a failed command says that the sandbox stood in its way, in words; None if nothing does.

    Args:
        output: What it printed.
        network: Whether it could reach the network.
        hidden: Places that it could not see; a file that is missing there is a sign.
    """
    if found := _WRITES.search(output):
        return f"it printed “{found.group()}”, as where something cannot be written"
    if not network and (found := _NETWORK.search(output)):
        return f"it printed “{found.group()}”, as where there is no network"
    for line in output.splitlines():
        if _HIDDEN.search(line) and (place := next((one for one in hidden if one in line), None)):
            return f"it missed something in {place}, which is hidden from it"
    return None
