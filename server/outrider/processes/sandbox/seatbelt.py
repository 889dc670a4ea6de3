"""A command behind walls on macOS: a profile for `sandbox-exec` (sandbox(7)), in which the last rule that fits wins."""

from collections.abc import Sequence
from typing import Final

from outrider.processes.sandbox.walls import TEMPORARY, Walls

PROGRAM: Final = "/usr/bin/sandbox-exec"

_DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/tty", "/dev/stdout", "/dev/stderr", "/dev/dtracehelper")


def wrapped(walls: Walls, argv: Sequence[str]) -> list[str]:
    """The command line that runs `argv` behind walls."""
    return [PROGRAM, "-p", profile(walls), *argv]


def profile(walls: Walls) -> str:
    """The rules of a sandbox.

    There are no private mounts: what is hidden cannot be read, and temporary files are shared with other programs.
    """
    lines = ["(version 1)", "(allow default)", "(deny file-write*)"]
    lines += [f"(allow file-write* (literal {_quoted(device)}))" for device in _DEVICES]
    lines.append("(deny process-info* (target others))")
    lines.append("(deny mach-priv-task-port)")
    for wall in walls.walls:
        place = f"(subpath {_quoted(wall.path)})"
        match wall.kind:
            case "hidden" if wall.path in TEMPORARY:
                lines.append(f"(allow file-write* {place})")
            case "hidden":
                # That a path leads through it may be seen, as programs look at each folder on their way.
                lines.append(f"(deny file-read* file-write* {place})")
                lines.append(f"(allow file-read-metadata (literal {_quoted(wall.path)}))")
            case "closed":
                lines.append(f"(deny file-write* {place})")
            case "readable":
                lines.append(f"(allow file-read* {place})")
            case "writable":
                lines.append(f"(allow file-read* file-write* {place})")
            case "guarded":
                lines.append(f"(allow file-read* {place})")
                lines.append(f"(deny file-write* {place})")
    if not walls.network:
        lines.append("(deny network*)")
    return "\n".join(lines)


def _quoted(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
