"""A client that costs nothing: raw JSON-RPC over the pipes of a child process."""

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CAPABILITIES: dict[str, Any] = {
    "workspace": {
        "applyEdit": True,
        "workspaceEdit": {"documentChanges": True},
        "executeCommand": {},
        "workspaceFolders": True,
    },
    "window": {"workDoneProgress": False, "showMessage": {}},
    "general": {"positionEncodings": ["utf-8"]},
}

NO_ANSWER: Any = object()
"""Given by `on_request` to leave a request of the server open."""


class Child:
    """A language server under measurement."""

    def __init__(self) -> None:
        self.on_notification: Callable[[str, Any], None] = lambda _method, _params: None
        self.on_request: Callable[[str, Any], Any] = lambda _method, _params: None
        self._next = 0
        self._pending: dict[int, asyncio.Future[Any]] = {}

    async def start(self, argv: list[str], root: Path, options: dict[str, Any]) -> float:
        """Start it; gives the seconds from the spawn to the answer of `initialize`."""
        begin = time.perf_counter()
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, *argv, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL, limit=2**26,
        )  # fmt: skip
        self._reading = asyncio.ensure_future(self._read())
        await self.request("initialize", {
            "processId": None, "rootUri": root.as_uri(), "capabilities": CAPABILITIES, "initializationOptions": options,
            "workspaceFolders": [{"uri": root.as_uri(), "name": root.name}],
        })  # fmt: skip
        seconds = time.perf_counter() - begin
        self.notify("initialized", {})
        return seconds

    async def command(self, name: str, argument: dict[str, Any]) -> Any:
        return await self.request("workspace/executeCommand", {"command": name, "arguments": [argument]})

    async def request(self, method: str, params: Any) -> Any:
        self._next += 1
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._pending[self._next] = future
        self._send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        return await asyncio.wait_for(future, 120)

    def notify(self, method: str, params: Any) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def resident_mb(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def proportional_mb(self) -> float:
        """Memory of the process and all its children, shared pages counted in parts (PSS)."""
        parents = {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                fields = stat.read_text().rpartition(")")[2].split()
                parents[int(stat.parent.name)] = int(fields[1])
        tree = {self.process.pid}
        while more := {pid for pid, parent in parents.items() if parent in tree} - tree:
            tree |= more
        total = 0
        for pid in tree:
            with contextlib.suppress(OSError):
                rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
                total += int(rollup.partition("\nPss:")[2].split()[0])
        return total / 1024

    async def stop(self) -> None:
        await self.request("shutdown", None)
        self.notify("exit", None)
        await asyncio.wait_for(self.process.wait(), 10)
        self._reading.cancel()

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps(message).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    async def _read(self) -> None:
        reader = self.process.stdout
        assert reader is not None
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
            message = json.loads(await reader.readexactly(length))
            if "method" in message and "id" in message:
                result = self.on_request(message["method"], message["params"])
                if result is not NO_ANSWER:
                    self._send({"jsonrpc": "2.0", "id": message["id"], "result": result})
            elif "method" in message:
                self.on_notification(message["method"], message["params"])
            else:
                future = self._pending.pop(message["id"])
                if "error" in message:
                    future.set_exception(RuntimeError(str(message["error"])))
                else:
                    future.set_result(message.get("result"))
