"""The system call filter of a confined command: a classic BPF program, built here as bytes (seccomp(2), `linux/filter.h`).

It refuses what neither mounts, namespaces nor Landlock govern. It sees numbers, not what a pointer leads to, so that a
call whose arguments lie in memory is refused as a whole where it could do what another call is refused for.

Numbers of system calls: `asm/unistd_64.h` (x86-64), `asm-generic/unistd.h` (arm64).
"""

import errno
import platform
import struct
from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

Sockets = Literal["families", "none", "network"]
"""Which sockets can be made.

- families: Internet, UNIX and netlink, where namespaces and mounts decide whom they reach.
- none: for a command that shares the network of the system and must not use it. No Internet socket; no UNIX socket, which
  would reach each path that a service listens at, but connected pairs; netlink for routes and addresses alone.
- network: the same with Internet sockets.
"""

_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_STREAM, _SEQUENCED, _KIND_OF_SOCKET = 1, 5, 0xF
_ROUTES: Final = 0
_SET_ID: Final = 0o6000
_MAKES_FILE: Final = 0o100 | 0o20000000
"""`O_CREAT`, and the bit that only `O_TMPFILE` has."""

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_X32_BIT: Final = 0x40000000


class _Machine(NamedTuple):
    """The numbers of one architecture; a call that it does not have is left out."""

    architecture: int
    """`AUDIT_ARCH_…`"""
    calls: Mapping[str, int]
    has_x32: bool = False


_CHANGES: Final = (
    "chmod", "fchmod", "fchmodat", "chown", "fchown", "lchown", "fchownat", "utime", "utimes", "futimesat", "utimensat",
    "setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr",
)  # fmt: skip
_CHANGES_LATER: Final = ("fchmodat2", "setxattrat", "removexattrat", "file_setattr")
"""What changes a file without writing into it: modes, owners, times and further attributes, which Landlock does not govern."""
_SETS_FLAGS: Final = (0x40086602, 0x401C5820)
"""`FS_IOC_SETFLAGS` and `FS_IOC_FSSETXATTR`, which need no more than a file opened for reading."""
_SHARED: Final = (
    "shmget", "shmat", "shmctl", "semget", "semop", "semctl", "semtimedop", "msgget", "msgsnd", "msgrcv", "msgctl",
)  # fmt: skip
"""Memory, semaphores and queues of System V, which all programs of a user share where there is no namespace for them."""
_COMMON: Final = {
    "setxattrat": 463,
    "removexattrat": 466,
    "file_setattr": 469,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "openat2": 437,
    "fchmodat2": 452,
}
_MACHINES: Final[Mapping[str, _Machine]] = {
    "x86_64": _Machine(
        0xC000003E,
        {
            **_COMMON, "prlimit64": 302, "socket": 41, "socketpair": 53, "add_key": 248, "request_key": 249, "keyctl": 250,
            **dict(zip(_CHANGES, (90, 91, 268, 92, 93, 94, 260, 132, 235, 261, 280, 188, 189, 190, 197, 198, 199), strict=True)),
            **dict(zip(_SHARED, (29, 30, 31, 64, 65, 66, 220, 68, 69, 70, 71), strict=True)),
            "ioctl": 16, "open": 2, "creat": 85, "mknod": 133, "openat": 257, "mknodat": 259,
        },
        has_x32=True,
    ),
    "aarch64": _Machine(
        0xC00000B7,
        {
            **_COMMON, **dict(zip(_SHARED, (194, 196, 195, 190, 193, 191, 192, 186, 189, 188, 187), strict=True)),
            "prlimit64": 261, "socket": 198, "socketpair": 199, "add_key": 217, "request_key": 218, "keyctl": 219,
            "mknodat": 33, "fchmod": 52, "fchmodat": 53, "openat": 56, "fchownat": 54, "fchown": 55, "utimensat": 88,
            "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16, "ioctl": 29,
        },
    ),
}  # fmt: skip
_NOT_THERE: Final = (
    "io_uring_setup", "io_uring_enter", "io_uring_register",  # makes sockets and opens files, past any filter
    "add_key", "request_key", "keyctl",  # the keys of the user's log-in session
    "openat2",  # its mode lies in memory; programs fall back on openat
)  # fmt: skip
_MODE_ARGUMENT: Final = {
    "chmod": 1,
    "fchmod": 1,
    "fchmodat": 2,
    "fchmodat2": 2,
    "creat": 1,
    "mknod": 1,
    "mknodat": 2,
}
_FLAGS_AND_MODE: Final = {"open": (1, 2), "openat": (2, 3)}

_Instruction = tuple[int, int, int, int]
"""Code, how many instructions to pass over if it holds and if it does not, operand."""


def program(sockets: Sockets, machine: str | None = None, *, changes_files: bool = True) -> bytes | None:
    """The filter, as an array of 8-byte instructions; None for an architecture whose numbers are not known.

    Args:
        sockets: Which sockets can be made.
        machine: The architecture, as `uname -m` calls it; None: this one.
        changes_files: Whether modes, owners, times and attributes of files can be changed.
    """
    known = _MACHINES.get(platform.machine() if machine is None else machine)
    if known is None:
        return None
    instructions: list[_Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, known.architecture),
        (_RETURN, 0, 0, _KILL),  # a program of 32 bits: it has other numbers for all of this
        (_LOAD, 0, 0, _NUMBER),
    ]
    if known.has_x32:
        instructions += [(_AT_LEAST, 0, 1, _X32_BIT), _refused(errno.ENOSYS)]
    bodies = _bodies(sockets)
    if not changes_files:
        bodies |= {name: [_refused(errno.EPERM)] for name in (*_CHANGES, *_CHANGES_LATER)}
        flags = [(_EQUAL, 0, 1, one) for one in _SETS_FLAGS]
        bodies["ioctl"] = [
            _argument(1),
            flags[0],
            _refused(errno.EPERM),
            flags[1],
            _refused(errno.EPERM),
            (_RETURN, 0, 0, _ALLOW),
        ]
    for name, body in bodies.items():
        if (number := known.calls.get(name)) is not None:
            instructions += [(_EQUAL, 0, len(body), number), *body]
    instructions.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *one) for one in instructions)


def _bodies(sockets: Sockets) -> dict[str, Sequence[_Instruction]]:
    """What is done with a call, by its name; each ends with a return on every way."""
    bodies: dict[str, Sequence[_Instruction]] = {name: [_refused(errno.ENOSYS)] for name in _NOT_THERE}
    for name, mode in _MODE_ARGUMENT.items():
        bodies[name] = [_argument(mode), *_allowed_without(_SET_ID)]
    for name, (flags, mode) in _FLAGS_AND_MODE.items():
        # The mode means nothing where no file is made.
        making = [_argument(mode), *_allowed_without(_SET_ID)]
        bodies[name] = [_argument(flags), (_ANY_BIT, 1, 0, _MAKES_FILE), (_RETURN, 0, 0, _ALLOW), *making]
    if sockets == "families":
        bodies["socket"] = bodies["socketpair"] = _one_of(_UNIX, _INET, _INET6, _NETLINK)
        return bodies
    bodies |= {name: [_refused(errno.ENOSYS)] for name in _SHARED}
    # Where processes are shared, limits set for another one end it, or have its files written no further. Its own it may set.
    bodies["prlimit64"] = [
        _argument(0),
        (_EQUAL, 0, 1, 0),
        (_RETURN, 0, 0, _ALLOW),
        _argument(2),
        (_EQUAL, 1, 0, 0),
        _refused(errno.EPERM),
        _argument(2, upper=True),
        (_EQUAL, 1, 0, 0),
        _refused(errno.EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]
    internet: list[_Instruction] = [
        (_EQUAL, 1, 0, _INET),
        (_EQUAL, 0, 1, _INET6),
        _refused(errno.ENETUNREACH) if sockets == "none" else (_RETURN, 0, 0, _ALLOW),
    ]
    bodies["socket"] = [
        _argument(0),
        *internet,
        (_EQUAL, 0, 1, _UNIX),
        _refused(errno.EACCES),
        (_EQUAL, 0, 3, _NETLINK),
        _argument(2),
        (_EQUAL, 0, 1, _ROUTES),
        (_RETURN, 0, 0, _ALLOW),
        _refused(errno.EAFNOSUPPORT),
    ]
    # A pair of datagram sockets could still send to any path.
    bodies["socketpair"] = [
        _argument(0),
        (_EQUAL, 1, 0, _UNIX),
        _refused(errno.EAFNOSUPPORT),
        _argument(1),
        (_AND, 0, 0, _KIND_OF_SOCKET),
        (_EQUAL, 1, 0, _STREAM),
        (_EQUAL, 0, 1, _SEQUENCED),
        (_RETURN, 0, 0, _ALLOW),
        _refused(errno.EACCES),
    ]
    return bodies


def _one_of(*families: int) -> list[_Instruction]:
    count = len(families)
    tests = [(_EQUAL, count - place, 0, family) for place, family in enumerate(families)]
    return [_argument(0), *tests, _refused(errno.EAFNOSUPPORT), (_RETURN, 0, 0, _ALLOW)]


def _allowed_without(bits: int) -> list[_Instruction]:
    return [(_ANY_BIT, 0, 1, bits), _refused(errno.EPERM), (_RETURN, 0, 0, _ALLOW)]


def _argument(place: int, *, upper: bool = False) -> _Instruction:
    # Both architectures are little-endian; all arguments but addresses are of 32 bits.
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * place + 4 * upper)


def _refused(number: int) -> _Instruction:
    return (_RETURN, 0, 0, _ERRNO | number)
