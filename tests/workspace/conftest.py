"""A workspace on a real disk, with a document store over it."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from outrider.ports.clock import SystemClock
from outrider.processes import Supervisor
from outrider.workspace.documents.documents import DocumentStore
from outrider.workspace.documents.overlay import Overlay
from outrider.workspace.paths import Folder, Folders, Located
from outrider.workspace.search import Search, find_ripgrep


@dataclass
class Desk:
    """Folders, documents and the overlay of both."""

    root: Path
    folders: Folders
    documents: DocumentStore
    overlay: Overlay

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def open(self, name: str, text: str | None = None, version: int = 1) -> str:
        """Open a document, with what is on disk unless it has another text."""
        uri = name if ":" in name else (self.root / name).as_uri()
        content = text if text is not None else (self.root / name).read_bytes().decode()
        self.documents.open(uri, "", version, content)
        return uri

    def at(self, name: str) -> Located:
        located = self.folders.locate_now(name)
        assert isinstance(located, Located), located
        return located


@pytest.fixture
def make_desk(tmp_path: Path) -> Callable[..., Desk]:
    def make(*names: str) -> Desk:
        folders = [Folder(name, (tmp_path / name).as_uri(), tmp_path / name) for name in names]
        for folder in folders:
            folder.path.mkdir()
        documents = DocumentStore()
        return Desk(tmp_path / names[0], Folders(folders), documents, Overlay(Folders(folders), documents))

    return make


@pytest.fixture
def desk(make_desk: Callable[..., Desk]) -> Desk:
    return make_desk("work")


RG = find_ripgrep("/usr/bin:/usr/local/bin")


@pytest.fixture
async def supervisor() -> AsyncIterator[Supervisor]:
    supervisor = Supervisor(SystemClock())
    yield supervisor
    await supervisor.close()


@pytest.fixture
def search_of(supervisor: Supervisor) -> Callable[[Any], Search]:
    def make(desk: Any, rg: str | None = RG) -> Search:
        return Search(desk.folders, desk.documents, desk.overlay, supervisor, SystemClock(), rg)

    return make
