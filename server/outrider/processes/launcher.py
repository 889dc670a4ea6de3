"""What is done between the fork and the `execve` of a confined command: Landlock, capabilities, the system call filter.

Runs in the supervisor's watcher, which is an isolated interpreter without packages, and never in the server: nothing
here can be taken back by the process that does it. It must import nothing but small modules of the standard library.
A step that fails raises `OSError`, and then the command is not executed.

Numbers and layouts: `linux/landlock.h`, `linux/prctl.h`, `linux/seccomp.h`, `linux/capability.h`; landlock(7), seccomp(2).
"""

import os
import socket
import stat
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import ctypes

HANDED_DESCRIPTOR = 3
"""Where the program finds the first file of `Launch.handed`; the others follow."""

GATE_PORT = 19128
"""Where the gateway to the allowed hosts listens in the network of a session: below the ports that systems give to connections."""

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_RULE_PATH_BENEATH = 1
_CREATE_RULESET_VERSION = 1
_FILE_RIGHTS = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15
"""Execute, write, read, truncate, control of a device: all that a rule for a file may name."""
_PR_SET_SECCOMP, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 22, 24, 38
_SECCOMP_MODE_FILTER = 2
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
_CAPABILITY_VERSION_3 = 0x20080522
_LAST_CAPABILITY = "/proc/sys/kernel/cap_last_cap"
_INSTRUCTION_BYTES = 8
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_GET_FLAGS, _SET_FLAGS, _IS_UP = 0x8913, 0x8914, 1
"""`SIOCGIFFLAGS`, `SIOCSIFFLAGS` and `IFF_UP`."""
_INTERFACE = "=16sh14x"
"""`struct ifreq`: a name, and flags of an interface."""


class Rules(NamedTuple):
    """A Landlock ruleset: what it governs, and what it leaves allowed."""

    files: int
    """The kinds of access to files that are refused where no rule allows them."""
    network: int
    """The kinds of access to the network that are refused."""
    scoped: int
    """Ways to other processes that are refused."""
    allowed: tuple[tuple[str, int], ...]
    """Real paths, each with the kinds of access allowed there and below."""


class Launch(NamedTuple):
    """What is done before a command is executed; travels as a plain tuple in `marshal`."""

    handed: Sequence[bytes] = ()
    """The contents of files that the program finds open, from `HANDED_DESCRIPTOR` on."""
    rules: Rules | None = None
    """The Landlock rules that it is held to."""
    filter: bytes | None = None
    """The system call filter that it is held to: a BPF program."""
    without_capabilities: bool = False
    """Whether it loses all capabilities, which root has."""
    network: Any = None
    """The network of its session, which it joins: a `supervisor.Network`; here the descriptors of its namespaces. None: no other than
    that of the system."""


def make_network() -> tuple[int, int, int]:
    """Make a network that has a loopback and leads nowhere, and give the descriptors of its namespaces and of a socket in it. Raises OSError.

    This process moves into it, and must have one thread. The network lasts for as long as somebody has the descriptors. The
    socket is bound to `GATE_PORT` before any command is there that could be, and does not listen.
    """
    import ctypes
    import fcntl

    user, group = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    _checked(libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET), "a network of its own")
    for name, content in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123 - pathlib is not needed here
            file.write(content)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        request = struct.pack(_INTERFACE, b"lo", 0)
        flags = struct.unpack(_INTERFACE, fcntl.ioctl(asked, _GET_FLAGS, request))[1]
        fcntl.ioctl(asked, _SET_FLAGS, struct.pack(_INTERFACE, b"lo", flags | _IS_UP))
    opened = [os.open(f"/proc/self/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in ("user", "net")]
    gate = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    gate.bind(("0.0.0.0", GATE_PORT))  # noqa: S104 - of the loopback, which is all that there is
    return opened[0], opened[1], gate.detach()


def _join(libc: "ctypes.CDLL", namespaces: Sequence[int]) -> None:
    user, network = namespaces  # one without the other cannot be entered
    _checked(libc.setns(user, _CLONE_NEWUSER), "the network of the session")
    _checked(libc.setns(network, _CLONE_NEWNET), "the network of the session")


def prepare(launch: Launch) -> None:
    """Do all of it to this process, which has one thread and is about to execute the command. Raises OSError."""
    import ctypes  # the server needs it for this alone

    libc = ctypes.CDLL(None, use_errno=True)
    if launch.network is not None:
        _join(libc, launch.network)
    for number, content in enumerate(launch.handed, HANDED_DESCRIPTOR):
        _hand(content, number)
    rules = None if launch.rules is None else _ruleset(libc, Rules(*launch.rules))
    if launch.without_capabilities:
        _drop_capabilities(libc)
    if rules is not None or launch.filter is not None:
        _checked(_prctl(libc, _PR_SET_NO_NEW_PRIVS, 1), "no_new_privs")
    if rules is not None:
        _checked(_call(libc, _RESTRICT_SELF, rules, 0), "Landlock")
        os.close(rules)
    if launch.filter is not None:
        _install(libc, launch.filter)


def landlock_abi() -> int:
    """The version of Landlock that the kernel has; 0 for none."""
    import ctypes  # the server needs it for this alone

    libc = ctypes.CDLL(None, use_errno=True)
    return max(0, _call(libc, _CREATE_RULESET, None, 0, _CREATE_RULESET_VERSION))


def _hand(content: bytes, number: int) -> None:
    fd = os.memfd_create("outrider")
    os.write(fd, content)
    os.lseek(fd, 0, os.SEEK_SET)
    if fd == number:
        os.set_inheritable(fd, True)
    else:
        os.dup2(fd, number)
        os.close(fd)


def _ruleset(libc: "ctypes.CDLL", rules: Rules) -> int:
    """A descriptor of the ruleset."""
    attributes = struct.pack("=QQQ", rules.files, rules.network, rules.scoped)
    ruleset = _checked(_call(libc, _CREATE_RULESET, attributes, len(attributes), 0), "Landlock")
    for path, rights in rules.allowed:
        try:
            fd = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue  # it went away: nothing is allowed there then
        try:
            is_folder = stat.S_ISDIR(os.fstat(fd).st_mode)
            allowed = rights & rules.files & (-1 if is_folder else _FILE_RIGHTS)
            if allowed:
                rule = struct.pack("=Qi", allowed, fd)
                _checked(_call(libc, _ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0), f"Landlock for {path}")
        finally:
            os.close(fd)
    return ruleset


def _drop_capabilities(libc: "ctypes.CDLL") -> None:
    """Give up all capabilities, and the way back to them that root has when it executes a program."""
    with open(_LAST_CAPABILITY, "rb") as listing:  # noqa: PTH123 - pathlib is not needed here
        last = int(listing.read())
    _prctl(libc, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    for capability in range(last + 1):
        # It fails where there is no capability to do it, and then there is none to lose.
        _prctl(libc, _PR_CAPBSET_DROP, capability)
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    _checked(libc.capset(header, bytes(24)), "capabilities")


def _install(libc: "ctypes.CDLL", program: bytes) -> None:
    import ctypes

    instructions = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("@HP", len(program) // _INSTRUCTION_BYTES, ctypes.addressof(instructions))
    _checked(_prctl(libc, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, described), "the system call filter")


def _call(libc: "ctypes.CDLL", number: int, *given: int | bytes | None) -> int:
    import ctypes

    # An int is passed as 32 bits unless it is said to be longer.
    arguments = (ctypes.c_long(one) if isinstance(one, int) else one for one in given)
    return libc.syscall(ctypes.c_long(number), *arguments)


def _prctl(libc: "ctypes.CDLL", option: int, *given: int | bytes) -> int:
    import ctypes

    values = [ctypes.c_ulong(one) if isinstance(one, int) else one for one in given]
    return libc.prctl(option, *values, *[ctypes.c_ulong(0)] * (4 - len(values)))


def _checked(result: int, what: str) -> int:
    if result < 0:
        import ctypes

        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result
