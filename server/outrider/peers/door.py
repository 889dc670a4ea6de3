"""Local sockets in a folder: each process has one, and who may open the folder may call.

The folder has the rights 0700 and a socket 0600, and the system is asked whose process calls, where it tells. A process that
is confined more than this one, as commands in a sandbox are, is turned away whatever it can see.
"""

import asyncio
import errno
import json
import logging
import os
import secrets
import socket
import struct
import sys
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, cast

_log = logging.getLogger(__name__)

Message = Mapping[str, Any]

MOST_BYTES: Final = 64 * 1024 * 1024
"""Of one message."""
MOST_WAITING: Final = 16 * 1024 * 1024
"""Bytes that a reader may be behind; a slower one is hung up on."""
CONNECT_SECONDS: Final = 2.0
_LONGEST_ADDRESS: Final = 100
"""Bytes of a path that every system takes as the address of a socket."""
_END: Final = ".sock"
_PROC: Final = Path("/proc")


class Line:
    """A connection: messages of JSON, one a line, in both directions."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    def send(self, message: Message) -> None:
        """Send a message. Never blocks; whoever does not read for long is hung up on."""
        if self._writer.is_closing():
            return
        self._writer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        if self._writer.transport.get_write_buffer_size() > MOST_WAITING:
            _log.warning("a process that watches does not keep up, so its connection is closed")
            self._writer.transport.abort()

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None at the end, and where something came that is no message."""
        try:
            line = await self._reader.readline()
            message = json.loads(line) if line.endswith(b"\n") else None
        except (ValueError, RecursionError, OSError) as problem:
            _log.info("a connection ends: %s", problem)
            return None
        return cast("dict[str, Any]", message) if isinstance(message, dict) else None

    async def close(self) -> None:
        """Hang up."""
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()


class Door:
    """The socket of this process. Made by `open_door`."""

    def __init__(self, path: Path, server: asyncio.Server, tasks: set[asyncio.Task[None]]) -> None:
        self.path = path
        self._server = server
        self._tasks = tasks

    async def close(self) -> None:
        """Let nobody in any more, and end the conversations."""
        self._server.close()
        await asyncio.to_thread(_remove, self.path)
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def open_door(folder: Path, serve: Callable[[Line], Awaitable[None]]) -> Door | str:
    """Listen at a socket in a folder, which is made with the rights 0700; a text says why that is not possible.

    Args:
        folder: Where the sockets of all processes are.
        serve: Has the conversation with one that called, until it ends.
    """
    if sys.platform == "win32":
        return "sessions that run in another process cannot be joined on Windows"
    tasks: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if why := _why_not(writer.get_extra_info("socket")):
            _log.warning("a connection was refused: %s", why)
            writer.transport.abort()
            return
        task = asyncio.get_running_loop().create_task(_converse(Line(reader, writer), serve))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    path = folder / f"{os.getpid()}-{secrets.token_hex(4)}{_END}"
    try:
        listening = await asyncio.to_thread(_bound, path)
        server = await asyncio.start_unix_server(connected, sock=listening, limit=MOST_BYTES)
    except OSError as problem:
        return f"no other process can join: {path}: {problem.strerror or problem}"
    return Door(path, server, tasks)


def _bound(path: Path) -> socket.socket:
    """A socket with that path, in a folder that only its owner can open."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.parent.stat().st_mode & 0o077:
        path.parent.chmod(0o700)
    for other in doors(path.parent):
        _remove_if_dead(other)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _address(path) as address:
            listening.bind(address)
        path.chmod(0o600)
    except BaseException:
        listening.close()
        raise
    return listening


async def call(path: Path) -> Line | None:
    """Call the process that listens at a socket; None where there is none any more.

    The socket of one that was killed is removed.
    """
    try:
        with _address(path) as address:
            async with asyncio.timeout(CONNECT_SECONDS):
                reader, writer = await asyncio.open_unix_connection(address, limit=MOST_BYTES)
    except ConnectionRefusedError:
        await asyncio.to_thread(_remove, path)
        return None
    except (OSError, TimeoutError) as problem:
        _log.info("%s cannot be called: %s", path, problem)
        return None
    if why := _why_not(writer.get_extra_info("socket")):
        _log.warning("%s is not called: %s", path, why)
        writer.transport.abort()
        return None
    return Line(reader, writer)


def doors(folder: Path) -> list[Path]:
    """The sockets in a folder, those of dead processes too. Blocks."""
    if sys.platform == "win32":
        return []
    with suppress(OSError):
        return sorted(path for path in folder.iterdir() if path.name.endswith(_END))
    return []


async def _converse(line: Line, serve: Callable[[Line], Awaitable[None]]) -> None:
    try:
        await serve(line)
    except Exception:  # noqa: BLE001 - what one of them does must not end the others
        _log.exception("a conversation with another process failed")
    finally:
        await line.close()


def _remove_if_dead(path: Path) -> None:
    """Remove the socket of a process that was killed: nobody can ever listen there again."""
    with (
        suppress(OSError),
        _address(path) as address,
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as trying,
    ):
        trying.settimeout(CONNECT_SECONDS)
        if trying.connect_ex(address) == errno.ECONNREFUSED:
            _remove(path)


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink(missing_ok=True)


@contextmanager
def _address(path: Path) -> Generator[str]:
    """A path as the address of a socket, which may be a hundred bytes long at most."""
    if len(os.fsencode(path)) <= _LONGEST_ADDRESS:
        yield str(path)
    elif sys.platform == "linux":
        folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
        try:
            yield f"/proc/self/fd/{folder}/{path.name}"
        finally:
            os.close(folder)
    else:
        raise OSError(None, "the path of the state folder is too long for a socket")


def _why_not(connection: socket.socket) -> str:
    """Why a process at the other end is turned away; empty if it is not."""
    pid, uid = _peer(connection)
    if uid is not None and uid != os.getuid():
        return f"it belongs to the user {uid}"
    if pid and _is_confined(pid) and not _is_confined(os.getpid()):
        return f"process {pid} runs in a sandbox"
    return ""


def _peer(connection: socket.socket) -> tuple[int | None, int | None]:
    """Process and user at the other end, as far as the system tells."""
    if sys.platform == "linux":
        # unix(7): pid, uid and gid of who connected.
        got = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        pid, uid, _ = struct.unpack("3i", got)
        return pid, uid
    if sys.platform == "darwin":
        # <sys/un.h> and <sys/ucred.h>: LOCAL_PEERCRED of SOL_LOCAL gives a `struct xucred`, with the user second.
        got = connection.getsockopt(0, 0x001, 76)
        return None, struct.unpack_from("2I", got)[1]
    return None, None


def _is_confined(pid: int) -> bool:
    """Whether a process gave up all further rights, as every sandbox has its commands do (proc_pid_status(5))."""
    with suppress(OSError):
        status = (_PROC / str(pid) / "status").read_text(encoding="ascii", errors="replace")
        return "NoNewPrivs:\t1" in status
    return False
