"""A command behind walls on Linux: the command line of bubblewrap (bwrap(1)).

User, process, network, IPC and host name namespaces of its own, no capabilities, a private `/dev` and `/proc`. Without
these two, `/dev/null` is denied and processes of the host are seen; without the user namespace and the dropped
capabilities, root could mount its way out.
"""

from collections.abc import Sequence
from typing import Final

from outrider.processes.sandbox.walls import Kind, Walls

PROGRAM: Final = "bwrap"

_NAMESPACES: Final = (
    "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
    "--cap-drop", "ALL", "--die-with-parent",
)  # fmt: skip
_MOUNTS: Final[dict[Kind, str]] = {"readable": "--ro-bind", "writable": "--bind", "guarded": "--ro-bind"}


def wrapped(walls: Walls, cwd: str, argv: Sequence[str]) -> list[str]:
    """The command line that runs `argv` behind walls.

    Args:
        walls: What it finds. Each path exists.
        cwd: The real path of the folder that it runs in.
        argv: The command.
    """
    options = [*_NAMESPACES, *(() if walls.network else ("--unshare-net",))]
    options += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for wall in walls.walls:
        if wall.kind in {"hidden", "closed"}:
            options += ["--tmpfs", wall.path]
        else:
            options += [_MOUNTS[wall.kind], wall.path, wall.path]
    # A home that lies in a hidden place is there, and empty.
    options += ["--dir", walls.home]
    for wall in walls.walls:
        if wall.kind == "closed":
            options += ["--remount-ro", wall.path]
    options += ["--chdir", cwd]
    return [PROGRAM, *options, "--", *argv]
