"""Linux without bubblewrap or without user namespaces: Landlock for files, a system call filter for sockets.

Landlock only adds: a rule allows kinds of access to a folder and all below, and nothing takes that away again further
down. So a hidden place is one that no rule names (what lies beside it is named instead, one by one), and what shall stay as it is in a folder that can be written cannot be
held; it is found out afterwards. landlock(7); the constants are those of `linux/landlock.h`.
"""

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from outrider.processes.launcher import Launch, Rules, landlock_abi
from outrider.processes.sandbox.backend import Confining
from outrider.processes.sandbox.confinement import Confinement
from outrider.processes.sandbox.seccomp import program as system_call_filter

MOST_RULES: Final = 5_000
"""Files and folders that are allowed one by one, since something beside them is hidden."""
OLDEST_ABI: Final = 3
"""Before, `truncate` empties any file (Linux 6.2 has it)."""
_SIGNALS_ABI: Final = 6
_DEVICE_ABI: Final = 5
_NETWORK_ABI: Final = 4

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_FOLDER = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _CONTROL_DEVICE = 1 << 14, 1 << 15
_ALL_FILES: Final = (1 << 15) - 1
"""All kinds of access to files that ABI 3 knows."""
_READS: Final = _EXECUTE | _READ_FILE | _READ_FOLDER
_DEVICES_MADE: Final = 1 << 6 | 1 << 11
"""To make a character or block device."""
_WRITES: Final = _ALL_FILES & ~_DEVICES_MADE
_TCP: Final = 1 << 0 | 1 << 1
"""To bind and to connect."""
_ABSTRACT_SOCKETS, _SIGNALS = 1 << 0, 1 << 1
_DEVICES: Final = (
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
)
"""Without pseudo terminals: who may open those it made itself may also read and write every other terminal of the user."""


class Landlock:
    """The backend of that name."""

    name = "Landlock"
    program = None
    has_own_tmp = False
    holds_protected = False
    can_share = True
    shows_sockets = False

    def problem(self, confinement: Confinement) -> str | None:
        """What the kernel or the confinement lacks."""
        if system_call_filter("none") is None:
            return "the system call filter is not known for this processor"
        if (abi := landlock_abi()) < OLDEST_ABI:
            had = f"its version {abi} is too old ({OLDEST_ABI} is needed)" if abi else "the kernel has none"
            return f"Landlock cannot be used: {had}"
        if confinement.tmp is None:
            return "Landlock cannot be used: no temporary folder could be made"
        inside = (
            place.path
            for place in confinement.places
            if place.kind == "hidden" and confinement.kind_around(place.path) == "writable"
        )
        if (path := next(inside, None)) is not None:
            return f"Landlock cannot hide {path} in a folder that can be written"
        if confinement.is_reading and len(list(islice(_allowed(confinement), MOST_RULES + 1))) > MOST_RULES:
            return f"Landlock would need more than {MOST_RULES} rules to hide the secret files"
        return None

    def unenforced(self, confinement: Confinement) -> tuple[str, ...]:
        """What a command could do all the same."""
        signals = ("signals can reach other processes",) if landlock_abi() < _SIGNALS_ABI else ()
        if confinement.is_reading:  # the system call filter refuses the rest
            return signals
        protected = any(place.kind == "protected" for place in confinement.places)
        found = ["`.git` and other protected files of the workspace can be changed"] if protected else []
        found.append("modes and times of files elsewhere can be changed")
        found.append("the list of processes is visible")
        return (*found, *signals)

    def confine(self, confinement: Confinement, program: str, cwd: str, argv: Sequence[str]) -> Confining:
        """The command itself, and what is done to it before."""
        abi = landlock_abi()
        is_open = confinement.network != "none"  # that of the session leads nowhere by itself
        rules = Rules(
            files=_ALL_FILES | (_CONTROL_DEVICE if abi >= _DEVICE_ABI else 0),
            network=_TCP if abi >= _NETWORK_ABI and not is_open else 0,
            scoped=_ABSTRACT_SOCKETS | _SIGNALS if abi >= _SIGNALS_ABI else 0,
            allowed=tuple(_allowed(confinement)),
        )
        sockets = "network" if is_open else "none"
        calls = system_call_filter(sockets, changes_files=not confinement.is_reading)
        joins = confinement.network == "session"  # who joins a network has all capabilities in it
        return Confining(
            tuple(argv),
            Launch(
                rules=rules,
                filter=calls,
                without_capabilities=joins or os.geteuid() == 0,
                network=() if joins else None,
            ),
        )


def _allowed(confinement: Confinement) -> Iterator[tuple[str, int]]:
    """What is allowed, path by path."""
    hidden = {place.path for place in confinement.places if place.kind in {"hidden", "sealed", "masked"}}
    if confinement.is_reading:
        hidden.add("/proc")  # the environments of other programs of the user
    yield from ((path, _READS) for path in _without("/", hidden | {"/dev"}))
    for place in confinement.places:
        if place.kind == "writable":
            yield place.path, _WRITES
        elif place.kind == "readable":
            # The names of what is hidden in it can be seen: else none could be listed beside them.
            yield place.path, _READ_FOLDER
            yield from ((path, _READS) for path in _without(place.path, hidden))
    if confinement.tmp is not None:
        yield confinement.tmp, _WRITES
    if confinement.read_tmp is not None:
        yield confinement.read_tmp, _READS
    for device in _DEVICES:
        yield device, _READ_FILE | _READ_FOLDER | _WRITE_FILE | _TRUNCATE | _CONTROL_DEVICE
    yield "/dev/fd", _READS


def _without(folder: str, hidden: set[str]) -> Iterator[str]:
    """The largest folders and files below a folder, itself included, that hold nothing hidden. Blocks."""
    if folder in hidden:
        return
    above = folder.rstrip("/")
    if not any(path.startswith(f"{above}/") for path in hidden):
        yield folder
        return
    try:
        with os.scandir(folder) as entries:
            below = [f"{above}/{entry.name}" for entry in entries if not entry.is_symlink()]
    except OSError:
        return
    for path in below:
        yield from _without(path, hidden)
