"""The least that drives a language server: it writes requests, reads answers, and knows nothing of versions, time limits or unsaved text."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from outrider.language.server import CAPABILITIES
from outrider.language.table import LANGUAGES, Row

MOST_FILES = 20
"""Files that refer to a changed one and are judged with it, as in Outrider."""


class BareClient:
    """One server, driven by hand."""

    def __init__(self, row: Row, argv: Sequence[str], root: Path) -> None:
        self._row, self._argv, self._root = row, argv, root
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._versions: dict[str, int] = {}

    async def start(self, env: Mapping[str, str]) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *self._argv, cwd=self._root, env=dict(env), stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, limit=2**26,
        )  # fmt: skip
        self._reading = asyncio.ensure_future(self._read())
        uri = self._root.as_uri()
        await self.request("initialize", {
            "processId": None, "rootUri": uri, "workspaceFolders": [{"uri": uri, "name": "work"}],
            "capabilities": CAPABILITIES, "initializationOptions": self._row.options,
        })  # fmt: skip
        self.notify("initialized", {})
        self.notify("workspace/didChangeConfiguration", {"settings": self._row.settings})

    async def stop(self) -> None:
        self._process.kill()
        await self._process.wait()
        self._reading.cancel()

    async def request(self, method: str, params: Any) -> Any:
        number = len(self._waiting)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        self._send({"id": number, "method": method, "params": params})
        return await asyncio.wait_for(self._waiting[number], 120)

    def notify(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def show(self, uri: str, text: str) -> None:
        """Open a document, or change it."""
        version = self._versions[uri] = self._versions.get(uri, 0) + 1
        document = {"uri": uri, "version": version}
        if version == 1:
            language = LANGUAGES[f".{uri.rpartition('.')[2]}"]
            self.notify(
                "textDocument/didOpen", {"textDocument": {**document, "languageId": language, "text": text}}
            )
        else:
            self.notify(
                "textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]}
            )

    async def problems(self, uri: str) -> list[Any]:
        """The problems of a document."""
        if self._row.way != "tsserver":
            said = await self.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})
            return said["items"]
        path, found = uri.removeprefix("file://"), list[Any]()
        for command in ("syntacticDiagnosticsSync", "semanticDiagnosticsSync"):
            params = {"command": "typescript.tsserverRequest", "arguments": [command, {"file": path}, {}]}
            found += (await self.request("workspace/executeCommand", params))["body"]
        return found

    async def places(self, uri: str, at: tuple[int, int], *, declaration: bool = True) -> list[Any]:
        """Who refers to what stands at a place."""
        params = {"textDocument": {"uri": uri}, "position": {"line": at[0], "character": at[1]}}
        return await self.request(
            "textDocument/references", {**params, "context": {"includeDeclaration": declaration}}
        )

    async def rename(self, uri: str, at: tuple[int, int], name: str) -> Any:
        """What a rename changes."""
        params = {"textDocument": {"uri": uri}, "position": {"line": at[0], "character": at[1]}}
        return await self.request("textDocument/rename", {**params, "newName": name})

    async def edit(self, uri: str, at: tuple[int, int], text: str) -> list[Any]:
        """Change a document; gives all problems of it and of the files that refer to the name at a place."""
        await self.request("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
        counts: dict[str, int] = {}
        for one in await self.places(uri, at, declaration=False):
            counts[one["uri"]] = counts.get(one["uri"], 0) + 1
        counts.pop(uri, None)
        around = sorted(counts, key=lambda one: (-counts[one], one))[:MOST_FILES]
        for other in around:
            if other not in self._versions:
                self.show(other, Path(other.removeprefix("file://")).read_text())
        self.show(uri, text)
        found = await asyncio.gather(*(self.problems(one) for one in [uri, *around]))
        return [one for items in found for one in items]

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    async def _read(self) -> None:
        reader = self._process.stdout
        assert reader is not None
        while True:
            length = 0
            while line := (await reader.readline()).strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            if not length:
                return
            message = json.loads(await reader.readexactly(length))
            if "method" not in message:
                self._waiting[message["id"]].set_result(message.get("result"))
            elif "id" in message:
                items = (message.get("params") or {}).get("items", ())
                result = [self._row.settings.get(one.get("section")) for one in items] or None
                self._send({"id": message["id"], "result": result})
