"""A workspace with language servers and nothing else: what `Languages` needs, made of a folder and a dictionary."""

import asyncio
import json
import os
import socket
import sys
from contextlib import asynccontextmanager
from pathlib import Path

from outrider.language.languages import Languages
from outrider.language.server import is_heeded
from outrider.ports.clock import SystemClock
from outrider.ports.editor import EditorTraits
from outrider.ports.language import OpenText
from outrider.processes import SpawnProblem, Supervisor
from outrider.testing import language_server
from outrider.workspace.watch.disk_changes import FolderChanges
from outrider_protocol.settings import LanguageServerSettings

TOY = Path(language_server.__file__)


def toy(**script):
    """The scripted server, as a setting of a language server."""
    return {"command": [sys.executable, "-I", str(TOY), json.dumps(script)], "languages": ["python"]}


class NoLender:
    """An editor that lends nothing."""

    traits = EditorTraits(
        can_apply_edits=False, can_show_documents=False, settle_seconds=0, debounce_seconds=0
    )


class Folder:
    """The sources of a folder: files on disk, and over them what a test has open."""

    def __init__(self, root):
        self.root, self.buffers, self.versions = Path(root), {}, {}
        self.untrusted = {}
        self._changes = FolderChanges(is_heeded)

    @property
    def folders(self):
        return [self.root]

    def uri(self, name):
        return (self.root / name).as_uri()

    def open(self):
        return [
            OpenText(self.uri(name), text, self.versions.get(name, 0), self.uri(name))
            for name, text in self.buffers.items()
        ]

    async def texts(self, uris):
        opened = {one.uri: one.text for one in self.open()}
        found = {uri: opened.get(uri) or self._read(uri) for uri in uris}
        return {uri: text for uri, text in found.items() if text is not None}

    def _read(self, uri):
        path = uri.removeprefix("file://")
        if not path.startswith(f"{self.root}/"):
            return None
        try:
            with open(path, "rb") as file:  # noqa: PTH123 - the quickest, as figures are taken of what stands around it
                return file.read().decode()
        except (FileNotFoundError, IsADirectoryError):
            return None

    async def changes(self, uris=()):
        paths = [uri.removeprefix("file://") for uri in uris]
        found = await self._changes.taken([str(self.root)], paths)
        return {Path(path).as_uri(): kind for path, kind in found.items()}

    async def extensions(self):
        return {self.root: frozenset(path.suffix for path in self.root.iterdir())}

    async def mentions(self, text, *, whole):
        return [
            path.as_uri()
            for path in sorted(self.root.rglob("*.*"))
            if path.is_file() and text in path.read_text()
        ]


@asynccontextmanager
async def house(root, servers, *, search_path=None, sources=None, editor=None):
    """Language servers for a folder, without a sandbox.

    Args:
        root: The folder.
        servers: The setting `languageServers`; only what it names is used.
        search_path: The PATH.
        sources: The texts.
        editor: The editor, which may have servers of its own.
    """
    clock = SystemClock()
    editor = editor or NoLender()
    supervisor = Supervisor(clock)
    path = search_path or os.environ["PATH"]

    async def launch(argv, folder):
        ours, theirs = socket.socketpair()
        with theirs:
            process = await supervisor.spawn(
                argv,
                cwd=folder,
                env={"PATH": path, "HOME": str(folder.parent), "PYTHONPATH": ""},
                stdin=theirs.fileno(),
                merge_stderr=False,
            )
        if isinstance(process, SpawnProblem):
            ours.close()
            return process
        return process, (await asyncio.open_connection(sock=ours))[1]

    settings = {"*": {"enabled": False}, **servers}
    languages = Languages(
        sources or Folder(root),
        launch,
        clock,
        editor,
        settings=lambda: {name: LanguageServerSettings.from_wire(one) for name, one in settings.items()},
        search_path=path,
        is_confined=lambda: True,
    )
    try:
        yield languages
    finally:
        await languages.close()
        await supervisor.close()


async def until(holds, seconds=20.0):
    """Wait until something holds that no event tells of."""
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110 - what happens is in another process
            await asyncio.sleep(0.01)
