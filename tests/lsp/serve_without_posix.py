"""A server in a process that lacks what Windows lacks, as far as that can be taken away here: it only looks so."""

import asyncio
import fcntl
import importlib
import os
import select
import shutil
import signal
import sys
import types
from pathlib import Path

# What the standard library needs of the real system is loaded before that is hidden.
for needed in (
    "concurrent.futures.thread",
    "multiprocessing",
    "sqlite3",
    "ssl",
    "httpx",
    "filelock",
    "zoneinfo",
    "pydantic.main",
    "psutil",
    "tree_sitter_bash",
    "platformdirs",
):
    importlib.import_module(needed)
importlib.import_module("pygls.lsp.server")


def locking(descriptor, _mode, _length):
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # freed with the descriptor, as there
    except BlockingIOError as error:
        raise PermissionError(13, "locked") from error


def which(name, mode=os.X_OK, path=None):
    """The programs here have no `.exe`."""
    found = (Path(folder) / name for folder in (path or os.environ["PATH"]).split(os.pathsep))
    return next((str(one) for one in found if os.access(one, mode)), None)


def not_there(*_arguments, **_options):
    raise NotImplementedError


msvcrt = types.ModuleType("msvcrt")
vars(msvcrt).update(LK_NBLCK=2, locking=locking, setmode=lambda _descriptor, _mode: 0)
sys.modules["msvcrt"] = msvcrt
for module in ("fcntl", "termios", "resource", "pwd", "grp"):
    sys.modules[module] = None
for name in (
    "O_DIRECTORY",
    "O_NOFOLLOW",
    "O_CLOEXEC",
    "O_PATH",
    "fork",
    "setsid",
    "getuid",
    "set_blocking",
    "listxattr",
):
    if hasattr(os, name):
        delattr(os, name)
os.O_BINARY = 0
os.kill = not_there  # it would send a signal to the whole console
os.supports_dir_fd.clear()
del select.poll, select.PIPE_BUF, signal.SIGHUP, signal.SIGKILL
asyncio.get_event_loop_policy()
asyncio.unix_events._UnixSelectorEventLoop.add_signal_handler = not_there
sys.platform = "win32"
shutil.which = which

sys.argv = ["outrider", *(sys.argv[1:] or ["serve"])]
importlib.import_module("outrider.__main__").main()
