"""Linux with bubblewrap (bwrap(1)): mounts and namespaces, and a system call filter for what they leave open.

User, process, network (or that of the session), IPC and host name namespaces of its own, no capabilities, a private `/dev` and `/proc`. Without
these two, `/dev/null` is denied and processes of the host are seen; without the user namespace and the dropped
capabilities, root could mount its way out.
"""

import os
from collections.abc import Sequence
from typing import Final

from outrider.processes.launcher import HANDED_DESCRIPTOR, Launch
from outrider.processes.sandbox.backend import Confining
from outrider.processes.sandbox.confinement import TEMPORARY, Confinement, Kind
from outrider.processes.sandbox.seccomp import program as system_call_filter

_NAMESPACES: Final = (
    "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
    "--cap-drop", "ALL", "--die-with-parent",
)  # fmt: skip
MOST_MOUNTED_OVER: Final = 150
"""Files and folders that it hides. It reads the table of mounts again for each: 100 take about 0.2 s, 500 more than 1 s."""
_MOUNTS: Final[dict[Kind, str]] = {"readable": "--ro-bind", "writable": "--bind", "protected": "--ro-bind"}
_OF_KERNEL: Final = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "mtrr")
"""What in `/proc` is no process. Root may write there without any capability, and a line in `core_pattern` runs outside of all this."""


class Bubblewrap:
    """The backend of that name."""

    name = "bubblewrap"
    program = "bwrap"
    has_own_tmp = True
    holds_protected = True
    can_share = True
    shows_sockets = True

    def problem(self, confinement: Confinement) -> str | None:
        """Only trying it tells, unless starting would take too long."""
        hidden = sum(place.kind in {"masked", "sealed"} for place in confinement.places)
        if hidden > MOST_MOUNTED_OVER:
            return (
                f"{self.program} would take too long to hide more than {MOST_MOUNTED_OVER} files and folders"
            )
        return None

    def unenforced(self, confinement: Confinement) -> tuple[str, ...]:
        """It holds all, where the numbers of the system calls are known."""
        if system_call_filter("families") is None:
            return ("sockets of other kinds than Internet and UNIX are not refused on this processor",)
        return ()

    def confine(self, confinement: Confinement, program: str, cwd: str, argv: Sequence[str]) -> Confining:
        """A command line of bwrap."""
        calls = system_call_filter("families")
        options = [*_NAMESPACES, *(("--unshare-net",) if confinement.network == "none" else ())]
        if calls is not None:
            options += ["--seccomp", str(HANDED_DESCRIPTOR + 1)]
        options += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        for name in _OF_KERNEL:
            options += ["--ro-bind-try", f"/proc/{name}", f"/proc/{name}"]
        shared = confinement.tmp or confinement.read_tmp
        for place in confinement.places:
            if place.kind == "masked":
                options += ["--ro-bind", confinement.blank, place.path]
            elif place.path == TEMPORARY[0] and place.kind == "hidden" and shared is not None:
                options += ["--bind", shared, place.path]
                # What is mounted below can then be moved by no command, which would put something else in its place for the next.
                within = {f"{place.path}/{name}" for name in confinement.in_tmp}
                within -= {inner.path for inner in confinement.places}
                options += [word for path in sorted(within) for word in ("--tmpfs", path)]
            elif place.kind in {"hidden", "sealed"}:
                options += ["--tmpfs", place.path]
            else:
                options += [_MOUNTS[place.kind], place.path, place.path]
        # A home that lies in a hidden place is there, and empty.
        options += ["--dir", confinement.home]
        for place in confinement.places:
            if place.kind == "sealed":
                options += ["--remount-ro", place.path]
        if confinement.read_tmp is not None:
            options += ["--remount-ro", TEMPORARY[0]]
        options += ["--chdir", cwd]
        network = () if confinement.network == "session" else None
        # They are handed over in a file: in its command line, which `ps` shows, they name all that is hidden, and fill screens.
        handed = [os.fsencode("\0".join(options)), *([] if calls is None else [calls])]
        return Confining(
            (program, "--args", str(HANDED_DESCRIPTOR), "--", *argv), Launch(handed=handed, network=network)
        )
