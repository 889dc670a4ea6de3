"""What the server asks of the house behind it, which is loaded after `initialize` is answered."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from outrider.lsp.editor import ClientEditor
from outrider.lsp.features.progress import ProgressFactory
from outrider.ports.outside import ClientStart, Outside
from outrider.ports.text import Place
from outrider.workspace.documents.documents import DocumentStore


class Bridge(Protocol):
    """The way to the house; `bridge.py` is the real one."""

    async def execute(self, command: str, argument: Any, work_done_token: str | int | None) -> Any:
        """Do a command of the command table; gives JSON. Raises CommandError."""
        ...

    async def code_actions(
        self,
        uri: str,
        start: Place,
        end: Place,
        diagnostics: list[dict[str, Any]],
        only: list[str] | None,
        automatic: bool,
    ) -> list[dict[str, Any]]:
        """The code actions at a place."""
        ...

    async def code_lenses(self, uri: str) -> list[dict[str, Any]]:
        """The code lenses of a document."""
        ...

    async def configure(self, values: Mapping[str, Any] | None) -> None:
        """Take over what the client's configuration says."""
        ...

    async def folders_changed(self, folders: tuple[tuple[str, str], ...]) -> None:
        """Take over other workspace folders: name and URI of each."""
        ...

    def saved(self, uri: str) -> None:
        """Take note that a document was saved."""
        ...

    def files_renamed(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Take in what was renamed in the editor: old and new URI of each file or folder."""
        ...

    async def close(self, reason: str) -> None:
        """Let go of everything."""
        ...


StartBridge = Callable[
    [ClientStart, ClientEditor, DocumentStore, ProgressFactory, Outside | None], Awaitable[Bridge]
]
"""Builds the house for a client."""

LoadBridge = Callable[[], StartBridge]
"""Imports what builds the house; takes time, and is called in a thread."""


class Host(Protocol):
    """The process the server lives in."""

    def stop(self, code: int, reason: str) -> None:
        """End the process with that exit code; the first call counts."""
        ...

    def watch_parent(self, pid: int) -> None:
        """End the process when that one is gone."""
        ...
