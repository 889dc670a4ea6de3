"""macOS: a profile for `sandbox-exec` (sandbox(7)), in which the last rule that fits wins."""

from collections.abc import Sequence
from typing import Final

from outrider.processes.sandbox.backend import Confining
from outrider.processes.sandbox.confinement import TEMPORARY, Confinement

_DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/tty", "/dev/stdout", "/dev/stderr", "/dev/dtracehelper")


class Seatbelt:
    """The backend of that name."""

    name = "sandbox-exec"
    program = "/usr/bin/sandbox-exec"
    has_own_tmp = True
    holds_protected = True
    can_share = False
    shows_sockets = False

    def problem(self, confinement: Confinement) -> str | None:
        """Only trying it tells."""
        return None

    def unenforced(self, confinement: Confinement) -> tuple[str, ...]:
        """What macOS has no private copy of; a command that only reads has no temporary files."""
        return () if confinement.is_reading else ("temporary files are shared with other programs",)

    def confine(self, confinement: Confinement, program: str, cwd: str, argv: Sequence[str]) -> Confining:
        """A command line of `sandbox-exec`."""
        return Confining((program, "-p", profile(confinement), *argv))


def profile(confinement: Confinement) -> str:
    """The rules of a sandbox.

    There are no private mounts: what is hidden cannot be read, and temporary files are shared with other programs.
    """
    lines = ["(version 1)", "(allow default)", "(deny file-write*)"]
    lines += [f"(allow file-write* (literal {_quoted(device)}))" for device in _DEVICES]
    lines.append("(deny process-info* (target others))")
    lines.append("(deny mach-priv-task-port)")
    for place in confinement.places:
        below = f"(subpath {_quoted(place.path)})"
        match place.kind:
            case "hidden" if place.path in TEMPORARY and not confinement.is_reading:
                lines.append(f"(allow file-write* {below})")
            case "hidden" | "sealed" | "masked":
                # That a path leads through it may be seen, as programs look at each folder on their way.
                lines.append(f"(deny file-read* file-write* {below})")
                lines.append(f"(allow file-read-metadata (literal {_quoted(place.path)}))")
            case "readable":
                lines.append(f"(allow file-read* {below})")
            case "writable":
                lines.append(f"(allow file-read* file-write* {below})")
            case "protected":
                lines.append(f"(allow file-read* {below})")
                lines.append(f"(deny file-write* {below})")
    if confinement.network != "open":
        lines.append("(deny network*)")
    return "\n".join(lines)


def _quoted(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
