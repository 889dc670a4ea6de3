"""The program that owns every child process of a server, so that none of them outlives it, and watches the server itself.

Run by an isolated interpreter (`supervisor.py` has the command) with one end of a Unix socket as standard input. Each byte that
arrives is a message. `+` carries four file descriptors: a channel to the server, and the command's standard input,
output and error; two more are the namespaces that it is to join. `n` has a network made for several commands. `w` carries three, with which the server is watched (`Watch`); each `.` says that its event loop
moves. For each command the supervisor forks a *watcher*: a process whose whole subtree is that one command. On Linux
both are subreapers, so a process that double-forks or calls setsid still has them as its ancestor; no mark in
an environment is needed, which a child could drop. Where there are no subreapers, the process group and the
visible tree are all that can be known.

The watcher reads the request from its channel, starts the command, and writes lines: `started PID` or
`problem TEXT`, then `ended CODE SIGNAL LEFT_BEHIND SURVIVED` when no process of the command is left. The
server may write `kill GRACE_SECONDS`, or `used`, which is answered with the seconds of processor time. When the channel or the supervisor's lifeline closes, the command is
ended the same way: TERM, a grace, KILL.

It must never import anything but the standard library's small modules (it is on the way of the first command; `pathlib` and
`traceback` would double what its start takes), start a thread (it forks), or carry a command's output (that has a pipe of its own).
"""

import errno
import math
import os
import select
import signal
import socket
import stat
import sys
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from importlib.machinery import SourceFileLoader
from marshal import loads
from types import ModuleType
from typing import Any, NamedTuple, NoReturn

GRACE_SECONDS = 0.2
"""Between TERM and KILL, unless the server says otherwise."""
SETTLE_SECONDS = 0.05
"""How long what a command started may outlast it: the end of a pipeline is not a process left behind."""
GIVE_UP_SECONDS = 1.0
"""After KILL; what is still there belongs to another user or hangs in the kernel."""
RETRY_SECONDS = 0.01
"""Between two rounds of KILL, for what was forked during the first."""
HEADER_BYTES = 8
"""Length of the request that follows, big-endian."""

COMMAND = b"+"
"""With four descriptors: start a command. Two more are the namespaces of a network that it joins."""
NETWORK = b"n"
"""With one descriptor, a channel: make a network, and send the descriptors of its namespaces and of its gate, or say what is wrong."""
WATCH = b"w"
"""With three descriptors: watch the server from now on."""
ASK_SECONDS = b"used\n"
"""On the channel of a command: how much processor time it has used."""
BEAT = b"."
"""The event loop of the server moves."""
BEAT_SECONDS = 1.0
"""How often it says so."""
END_SECONDS = 3.0
"""How long a server that was asked to end may stand still."""
STALL_SECONDS = 5.0
"""How long any server may stand still before the log says where."""

_MOST_UNREAD = 1 << 20
"""Bytes of unread input that are looked at."""
_SPLICE_F_NONBLOCK = 2
_PR_SET_CHILD_SUBREAPER = 36
_MOST_DESCRIPTORS = 6
"""Of one message."""
_FREE_DESCRIPTOR = 10
"""Above those that a command is given."""
_loaded: list[ModuleType] = []
_HAS_CHILDREN = os.access(f"/proc/self/task/{os.getpid()}/children", os.F_OK)


class Request(NamedTuple):
    """What to start; travels as a plain tuple in `marshal`, as both ends are the same interpreter."""

    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    memory: int | None = None
    """Bytes of data that it may have."""
    launch: tuple[Any, ...] | None = None
    """A `launcher.Launch`: what is done before it is executed."""


# --- the process tree ------------------------------------------------------------------------------------


def become_subreaper() -> bool:
    """Make orphaned descendants children of this process; not inherited by fork. False where it can't be."""
    if sys.platform != "linux":
        return False
    import ctypes

    return ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def children_from_proc(pid: int) -> list[int]:
    """The children of each thread of a process; none if it is gone."""
    found: list[int] = []
    folder = f"/proc/{pid}/task"
    with suppress(OSError):
        for thread in os.listdir(folder):  # noqa: PTH208 - a Path per thread would cost more than the read
            with suppress(OSError), open(f"{folder}/{thread}/children", "rb") as listing:  # noqa: PTH123 - same
                found += map(int, listing.read().split())
    return found


def _stat(pid: int) -> bytes:
    with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - pathlib would cost more than the rest of the start
        return file.read()


def _lives(pid: int) -> bool:
    try:
        stat = _stat(pid)
    except OSError:
        return False
    # The name in parentheses may hold anything, a parenthesis too.
    return stat[stat.rindex(b")") + 2 :][:1] not in b"ZX"


def descendants_from_proc(root: int, _leader: int) -> list[int]:
    """Living descendants of `root`, parents before children."""
    found: list[int] = []
    pending = children_from_proc(root)
    while pending:
        pid = pending.pop(0)
        if _lives(pid):
            found.append(pid)
        pending += children_from_proc(pid)
    return found


def descendants_from_ps(root: int, leader: int) -> list[int]:
    """The same where there is no such /proc: by `ps`, and by the process group of the command's leader."""
    import subprocess

    try:
        with subprocess.Popen(
            ["ps", "-A", "-o", "pid=,ppid=,pgid=,stat="], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        ) as ps:
            table = [
                line.split(None, 3) for line in ps.communicate()[0].decode("ascii", "replace").splitlines()
            ]
    except OSError:
        return []
    rows = [(int(pid), int(parent), int(group), state) for pid, parent, group, state in table]
    tree = {root}
    grown = True
    while grown:
        more = {
            pid
            for pid, parent, group, _ in rows
            if pid not in tree and pid != ps.pid and (parent in tree or group == leader)
        }
        tree |= more
        grown = bool(more)
    return [pid for pid, _, _, state in rows if pid in tree and pid != root and not state.startswith("Z")]


descendants: Callable[[int, int], list[int]] = descendants_from_proc if _HAS_CHILDREN else descendants_from_ps


def seconds_from_proc(pids: Sequence[int]) -> float:
    """Seconds of processor time that processes have used, with those of their children that they have collected."""
    ticks = 0
    for pid in pids:
        with suppress(OSError):
            stat = _stat(pid)
            # Of the process and of its children, in user and in kernel mode: fields 14 to 17, of which the third is first here.
            ticks += sum(map(int, stat[stat.rindex(b")") + 2 :].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def seconds_from_ps(pids: Sequence[int]) -> float:
    """The same by `ps`, without what ended already: `[[days-]hours:]minutes:seconds` a line."""
    import subprocess

    named = ",".join(map(str, pids))
    try:
        with subprocess.Popen(
            ["ps", "-o", "time=", "-p", named], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        ) as ps:
            lines = ps.communicate()[0].decode("ascii", "replace").split()
    except OSError:
        return 0.0
    found = 0.0
    for line in lines:
        days, _, clock = line.rpartition("-")
        seconds = 0.0
        for part in clock.split(":"):
            with suppress(ValueError):
                seconds = seconds * 60 + float(part)
        found += seconds + (int(days) * 86400 if days.isdigit() else 0)
    return found


seconds_used: Callable[[Sequence[int]], float] = seconds_from_proc if _HAS_CHILDREN else seconds_from_ps


def send_all(signals: Sequence[signal.Signals], pids: Collection[int]) -> None:
    """Send each of the signals to each process; those that are gone or not ours are passed over."""
    for pid in pids:
        for number in signals:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)


def wake_on_child_exit() -> int:
    """A descriptor that becomes readable when a child ended."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _only_wake)
    return reading


def _only_wake(_number: int, _frame: object) -> None:
    pass  # a signal that is ignored wakes nobody


def drain(fd: int) -> None:
    """Empty a wake-up pipe."""
    with suppress(BlockingIOError):
        while os.read(fd, 4096):
            pass


# --- the watcher: one command ----------------------------------------------------------------------------


def receive(channel: socket.socket, size: int) -> bytes | None:
    """Exactly `size` bytes; None when the other end closes before."""
    received = bytearray()
    while len(received) < size:
        chunk = channel.recv(min(size - len(received), 1 << 18))
        if not chunk:
            return None
        received += chunk
    return bytes(received)


def start(request: Request, files: Sequence[int]) -> int | str:
    """Start the command in a session of its own; its process id, or what is wrong with the request.

    Args:
        request: What to start.
        files: Its standard input, output and error, and the namespaces that it joins, if any.
    """
    try:
        os.chdir(request.cwd)
    except (OSError, ValueError) as error:
        return f"the folder {request.cwd!r} cannot be used: {_reason(error)}"
    if request.memory is not None:
        _limit_memory(request.memory)
    if request.launch is not None:
        return _start_confined(request, files)
    problem: Exception = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    for program in _candidates(request):
        try:
            return os.posix_spawn(
                program,
                request.argv,
                request.env,
                file_actions=[(os.POSIX_SPAWN_DUP2, fd, target) for target, fd in enumerate(files[:3])],
                setsid=True,
                setsigmask=(),
                setsigdef=signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP},
            )
        except (FileNotFoundError, NotADirectoryError):
            continue
        except PermissionError as error:
            problem = error  # as in a shell: a later folder may hold one that can be run
        except (OSError, ValueError) as error:
            problem = error
            break
    return _why_not(request, problem)


def _candidates(request: Request) -> list[str]:
    """The files that the program may be, in the order in which they are tried."""
    program = request.argv[0]
    folders = [""] if "/" in program else request.env.get("PATH", os.defpath).split(":")
    return [os.path.join(folder, program) for folder in folders]  # noqa: PTH118 - "./x" must stay "./x"


def _why_not(request: Request, problem: Exception) -> str:
    program = request.argv[0]
    if isinstance(problem, FileNotFoundError):
        return f"the program {program!r} was not found"
    if isinstance(problem, OSError) and problem.errno == errno.E2BIG:
        return "the command line and its environment are too long for the system"
    return f"the program {program!r} cannot be run: {_reason(problem)}"


def _start_confined(request: Request, files: Sequence[int]) -> int | str:
    """The same for a command that this process's copy confines before it becomes it."""
    import fcntl  # Windows, where nothing is started here, has none

    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            _become(request, files, fcntl.fcntl(writing, fcntl.F_DUPFD_CLOEXEC, _FREE_DESCRIPTOR))
        finally:
            os._exit(1)
    os.close(writing)
    with open(reading, "rb") as report:  # noqa: PTH123 - a descriptor
        problem = report.read()  # its end is the start of the program
    if not problem:
        return pid
    os.waitpid(pid, 0)
    return problem.decode("utf-8", "replace")


def _become(request: Request, files: Sequence[int], report: int) -> None:
    """Confine this process and execute the command in it; returns only where that fails, and then has said why."""
    problem: Exception = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    try:
        signal.set_wakeup_fd(-1)
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.setsid()
        for target, fd in enumerate(files[:3]):
            os.dup2(fd, target)
        launcher = _launcher()
        try:
            launch = launcher.Launch(*request.launch or ())
            launcher.prepare(launch if launch.network is None else launch._replace(network=files[3:]))
        except (OSError, AttributeError) as error:  # the interpreter may lack a call, too
            os.write(report, f"it cannot be confined: {_reason(error)}".encode("utf-8", "replace"))
            return
        for program in _candidates(request):
            try:
                os.execve(program, request.argv, request.env)  # noqa: S606 - it is what was asked for
            except (FileNotFoundError, NotADirectoryError):
                continue
            except PermissionError as error:
                problem = error
            except (OSError, ValueError) as error:
                problem = error
                break
    except Exception as error:  # noqa: BLE001 - whatever it is, it must be told
        problem = error
    os.write(report, _why_not(request, problem).encode("utf-8", "replace"))


def _launcher() -> ModuleType:
    """The module beside this one, which an isolated interpreter does not find by its name; loaded once."""
    if not _loaded:
        path = f"{__file__.rpartition(os.sep)[0]}{os.sep}launcher.py"
        module = ModuleType("launcher")
        sys.modules[module.__name__] = module  # typing looks there for the names of annotations
        SourceFileLoader(module.__name__, path).exec_module(module)
        _loaded.append(module)
    return _loaded[0]


def _limit_memory(most: int) -> None:
    """Bound the data of the command, which gets this process's limits."""
    import resource  # Windows, where nothing is started here, has none

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


class Tree:
    """The processes of one command: every descendant of this process."""

    def __init__(self, leader: int, *, complete: bool) -> None:
        self.leader = leader
        self.status: int | None = None
        """What the command's own process ended with."""
        self._complete = complete

    def living(self) -> list[int]:
        """Everything of the command that runs now."""
        return descendants(os.getpid(), self.leader)

    def seconds(self) -> float:
        """Seconds of processor time that it has used so far, as far as anybody knows."""
        collected = os.times()
        return seconds_used(self.living()) + collected.children_user + collected.children_system

    def reap(self) -> bool:
        """Collect what ended; True when nothing is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                # For a subreaper this is proof: whatever descends from it becomes its child in the end.
                return self._complete or not self.living()
            if pid == 0:
                return False
            if pid == self.leader:
                self.status = status


def watch(tree: Tree, channel: socket.socket, lifeline: int, wakeup: int) -> str | None:
    """Wait until the command and all it started are gone; the line to report, None when nobody asks."""
    poll = select.poll()
    for fd in (channel.fileno(), lifeline, wakeup):
        poll.register(fd, select.POLLIN)
    term_at = kill_at = math.inf
    left_behind = survived = 0
    told = False
    lost = False
    while not tree.reap():
        now = time.monotonic()
        if tree.status is not None:
            term_at = min(term_at, now + SETTLE_SECONDS)
        if now >= term_at and not told:
            told = True
            living = tree.living()
            if tree.status is not None:
                left_behind = len(living)
            # A stopped process takes TERM only when it continues.
            send_all((signal.SIGTERM, signal.SIGCONT), living)
            kill_at = min(kill_at, now + GRACE_SECONDS)
        if now >= kill_at:
            living = tree.living()
            send_all((signal.SIGKILL,), living)
            if now >= kill_at + GIVE_UP_SECONDS:
                survived = len(living)
                break
        due = min(kill_at if told else term_at, now + RETRY_SECONDS if now >= kill_at else math.inf)
        for fd, _ in poll.poll(None if due == math.inf else max(0, math.ceil((due - now) * 1000))):
            if fd == wakeup:
                drain(wakeup)
                continue
            order = channel.recv(256) if fd == channel.fileno() else b""
            if order == ASK_SECONDS:
                tell(channel, f"used {tree.seconds():.3f}")
                continue
            if not order:
                poll.unregister(fd)
                lost = True
            grace = _grace(order)
            term_at, kill_at = time.monotonic(), min(kill_at, time.monotonic() + grace)
    return None if lost else _report(tree.status, left_behind, survived)


def _grace(order: bytes) -> float:
    """The grace of an order to kill; a question may have come with it, which needs no answer any more."""
    word, grace = [b"", b"", *order.split()][-2:]
    return float(grace) if word == b"kill" else GRACE_SECONDS


def _report(status: int | None, left_behind: int, survived: int) -> str:
    # A leader that cannot be ended has no status; it was killed as far as anybody can tell.
    code = -int(signal.SIGKILL) if status is None else os.waitstatus_to_exitcode(status)
    return f"ended {code if code >= 0 else '-'} {-code if code < 0 else '-'} {left_behind} {survived}"


def run_watcher(channel: socket.socket, files: Sequence[int], lifeline: int) -> None:
    """Take the request, start the command, see it to its end."""
    complete = become_subreaper()
    wakeup = wake_on_child_exit()
    header = receive(channel, HEADER_BYTES)
    body = receive(channel, int.from_bytes(header, "big")) if header else None
    if body is None:
        return
    tell(channel, f"watched {os.getpid()}")
    started = start(Request(*loads(body)), files)  # noqa: S302 - from the server, over our own socket
    for fd in set(files):
        os.close(fd)
    if isinstance(started, str):
        tell(channel, f"problem {' '.join(started.split())}")
        return
    tell(channel, f"started {started}")
    report = watch(Tree(started, complete=complete), channel, lifeline, wakeup)
    if report is not None:
        tell(channel, report)


def run_maker(channel: socket.socket, _files: Sequence[int], _lifeline: int) -> None:
    """Make a network, and send the descriptors of its namespaces and of its gate to the server, which keeps it by them."""
    try:
        made = _launcher().make_network()
    except (OSError, AttributeError) as error:  # the interpreter may lack a call, too
        tell(channel, f"problem {_reason(error)}")
        return
    with suppress(OSError):
        socket.send_fds(channel, [b"made\n"], made)


def tell(channel: socket.socket, line: str) -> None:
    """Write a line to the server; if it is gone, the next look at the channel says so."""
    with suppress(OSError):
        channel.sendall(f"{line}\n".encode("utf-8", "replace"))


# --- the server itself -----------------------------------------------------------------------------------


class Watch:
    """Whether the server moves, and what it was asked for meanwhile.

    A server can stand still in code that holds the interpreter's lock: then no thread of it reads its input and no handler of a
    signal runs. So all that is looked at here can be seen from outside: its heartbeat, its input and the numbers of signals that
    Python's handler in C has written to a socket. A server that stands still and was asked to end is killed; one that stands
    still is made to say where.
    """

    def __init__(self, files: Sequence[int]) -> None:
        """Watch the parent process.

        Args:
            files: Its input from the client; the socket to which the numbers of its signals go; its log.
        """
        self._server = os.getppid()
        self._input, signals, self._log = files
        self._signals = socket.socket(fileno=signals)
        self._beaten = time.monotonic()
        self._shown = False
        """Whether this stall is in the log."""

    def beat(self) -> None:
        """The server moves."""
        self._beaten = time.monotonic()
        self._shown = False

    def due(self) -> float:
        """When to look again, by the monotonic clock."""
        return max(self._beaten + END_SECONDS, time.monotonic() + BEAT_SECONDS / 4)

    def look(self) -> None:
        """Do what is due. To be called when no message of the server waits."""
        still = time.monotonic() - self._beaten
        if still < END_SECONDS or os.getppid() != self._server:
            return
        why = self._why_to_end()
        if why is None and still < STALL_SECONDS:
            return
        if not self._shown:
            self._shown = True
            self._say(f"the server has not responded for {still:.0f} s; its stack:")
            with suppress(ProcessLookupError):
                os.kill(self._server, signal.SIGUSR1)  # its handler in C writes the stack (`faulthandler`)
            # The stack must be written before the server is killed, and nobody tells when it is.
            time.sleep(RETRY_SECONDS * 10)
        if why is not None:
            self._say(f"the server is killed, because {why} and it does not respond")
            with suppress(ProcessLookupError):
                os.kill(self._server, signal.SIGKILL)  # the end of the socket says the rest

    def _say(self, text: str) -> None:
        line = f"outrider supervisor: {text}\n".encode()
        with suppress(OSError):
            if select.select([], [self._log], [], 0)[1]:  # a client may leave the log unread
                os.write(self._log, line)

    def _why_to_end(self) -> str | None:
        for number in self._peeked(self._signals):
            if number in {signal.SIGTERM, signal.SIGINT}:
                return f"{signal.Signals(number).name} came"
            if number == signal.SIGHUP:  # `transport/lifetime.py` writes it: no such signal came
                return "the client asked it to end"
        poll = select.poll()
        poll.register(self._input, select.POLLIN)
        if any(happened & (select.POLLHUP | select.POLLERR) for _, happened in poll.poll(0)):
            return "its input ended"
        if b'"method":"exit"' in self._unread().replace(b" ", b""):
            return "the client sent `exit`"
        return None

    def _unread(self) -> bytes:
        """What the client has sent and the server has not read, as far as that can be seen without taking it away."""
        kind = os.fstat(self._input).st_mode
        if stat.S_ISSOCK(kind):
            with socket.socket(fileno=os.dup(self._input)) as client:
                return self._peeked(client)
        return unread_in_pipe(self._input) if stat.S_ISFIFO(kind) else b""

    @staticmethod
    def _peeked(one: socket.socket) -> bytes:
        with suppress(OSError):
            return one.recv(_MOST_UNREAD, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        return b""


def unread_in_pipe(fd: int) -> bytes:
    """What is in a pipe, which stays there; nothing where the system has no `tee`."""
    if not sys.platform.startswith("linux"):
        return b""
    import ctypes
    import fcntl

    reading, writing = os.pipe()
    try:
        with suppress(OSError):
            fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, _MOST_UNREAD)
        copied = ctypes.CDLL(None, use_errno=True).tee(
            fd, writing, ctypes.c_size_t(_MOST_UNREAD), _SPLICE_F_NONBLOCK
        )
        unread = bytearray()
        while len(unread) < copied:
            unread += os.read(reading, copied - len(unread))
        return bytes(unread)
    finally:
        os.close(reading)
        os.close(writing)


# --- the supervisor --------------------------------------------------------------------------------------


def serve(control: socket.socket) -> None:
    """Fork a watcher for each message until the server is gone, then wait until they have ended all."""
    subreaper = become_subreaper()
    if subreaper:  # it is Linux
        _launcher()  # so that no watcher has to
    wakeup = wake_on_child_exit()
    lifeline, held = os.pipe()
    watchers: set[int] = set()
    poll = select.poll()
    poll.register(control, select.POLLIN)
    poll.register(wakeup, select.POLLIN)
    deadline = math.inf
    watch: Watch | None = None
    while True:
        due = min(deadline, watch.due() if watch else math.inf)
        timeout = None if due == math.inf else math.ceil(max(0, due - time.monotonic()) * 1000)
        ready = poll.poll(timeout)
        if watch and not ready:
            watch.look()
        for fd, _ in ready:
            if fd == wakeup:
                drain(wakeup)
                continue
            message, files = next_message(control)
            if message == BEAT:
                if watch:
                    watch.beat()
                continue
            if message == WATCH:
                watch = Watch(files)
                continue
            if message:
                does = run_maker if message == NETWORK else run_watcher
                pid = fork_watcher(does, files, lifeline, closing=(control.fileno(), wakeup, held))
                watchers |= {pid} if pid else set()
                continue
            watch = None
            poll.unregister(control)
            os.close(held)
            send_all((signal.SIGCONT,), watchers)  # a command may have stopped the one that ends it
            deadline = time.monotonic() + 2 * GIVE_UP_SECONDS
        try:
            while (pid := os.waitpid(-1, os.WNOHANG)[0]) != 0:
                watchers.discard(pid)
        except ChildProcessError:
            if deadline < math.inf:
                return
        if subreaper:
            end_strangers(watchers)
        if time.monotonic() >= deadline:
            return


def next_message(control: socket.socket) -> tuple[bytes, list[int]]:
    """The next message of the server with its descriptors; no command inherits them, as the client's input is among them."""
    message, files, _, _ = socket.recv_fds(control, 1, _MOST_DESCRIPTORS)
    for fd in files:
        os.set_inheritable(fd, False)
    return message, files


def fork_watcher(does: "_Does", files: Sequence[int], lifeline: int, closing: Sequence[int]) -> int | None:
    """Fork a process that does something over the descriptors of a message, such as a watcher; its process id."""
    try:
        pid = os.fork()
    except OSError as error:
        with socket.socket(fileno=files[0]) as channel:
            tell(channel, f"problem no process can be started: {_reason(error)}")
        pid, files = None, files[1:]
    if pid == 0:
        _become_watcher(does, files, lifeline, closing)
    for fd in files:
        os.close(fd)
    return pid


_Does = Callable[[socket.socket, Sequence[int], int], None]


def _become_watcher(does: _Does, files: Sequence[int], lifeline: int, closing: Sequence[int]) -> NoReturn:
    status = 1
    try:
        for fd in closing:
            os.close(fd)
        does(socket.socket(fileno=files[0]), files[1:], lifeline)
        status = 0
    except BaseException:  # noqa: BLE001 - the copy must end here, whatever happens
        import traceback

        traceback.print_exc()
    finally:
        os._exit(status)


def end_strangers(watchers: Collection[int]) -> None:
    """KILL what came to us because its watcher died before it: it belongs to no command any more."""
    for pid in children_from_proc(os.getpid()):
        if pid not in watchers:
            send_all((signal.SIGKILL,), [pid, *descendants(pid, pid)])


def main() -> None:
    """Take the socket away from standard input, so that 0, 1 and 2 are never anything of ours."""
    control = socket.socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.close(null)
    # A command that ends "every python" should not end what cleans up after it.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    serve(control)
