"""The workspace as language servers are shown it, and where and how they run: in trusted folders, read-only, without network."""

import asyncio
import os
import socket
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from outrider.agent.loop.tool_context import Commands
from outrider.agent.trust import WorkspaceTrust
from outrider.language.server import is_heeded
from outrider.ports.language import CHANGED, CREATED, DELETED, OpenText
from outrider.ports.patterns import escaped
from outrider.ports.text import Snapshot
from outrider.processes import Process, SpawnProblem
from outrider.workspace.paths import OWN_FOLDER, Located, path_of
from outrider.workspace.search import SearchResult
from outrider.workspace.watch.disk_changes import FolderChanges
from outrider.workspace.workspace import View
from outrider_protocol import logged
from outrider_protocol.log import LoggedEvent

MOST_ENTRIES: Final = 4_000
"""Files and folders that a look for endings goes through."""
_DEEPEST: Final = 3
_PASSED: Final = frozenset({"node_modules", "__pycache__", "target", "build", "dist", "venv", OWN_FOLDER})
MOST_MENTIONS: Final = 50


class ServerSources:
    """What language servers get to see."""

    def __init__(self, workspace: View, trust: WorkspaceTrust) -> None:
        """Show a workspace, as far as its folders are trusted."""
        self._workspace, self._trust = workspace, trust
        self._changes = FolderChanges(is_heeded)

    @property
    def folders(self) -> Sequence[Path]:
        """The trusted workspace folders."""
        return [one.path for one in self._workspace.folders.folders if self._trust.trusts(one.path)]

    @property
    def untrusted(self) -> Mapping[Path, Literal["undecided", "refused"]]:
        """The other workspace folders, and whether the user has yet to say what they are."""
        said = {one.path: self._trust.of(one.path) for one in self._workspace.folders.folders}
        return {
            path: "undecided" if trust == "unknown" else "refused"
            for path, trust in said.items()
            if trust != "trusted"
        }

    def open(self) -> Sequence[OpenText]:
        """The open documents that are files of the workspace."""
        found = ((path_of(one.uri), one) for one in self._workspace.documents.all() if not one.outdated)
        return [
            OpenText(path.as_uri(), one.text, one.version, one.uri)
            for path, one in found
            if path is not None and path.is_absolute() and OWN_FOLDER not in path.parts
        ]

    async def texts(self, uris: Sequence[str]) -> Mapping[str, str]:
        """The texts of files of the workspace as the user sees them."""
        if not uris:
            return {}
        located = await self._workspace.folders.locate_all(uris)
        files = {uri: one for uri, one in zip(uris, located, strict=True) if self._may_be_shown(one)}
        texts = await self._workspace.overlay.read_all(
            [one for one in files.values() if isinstance(one, Located)]
        )
        return {uri: one.text for uri, one in zip(files, texts, strict=True) if isinstance(one, Snapshot)}

    def _may_be_shown(self, located: object) -> bool:
        return (
            isinstance(located, Located)
            and located.inside
            and not located.own
            and self._workspace.why_hidden(located.names) is None
        )

    async def changes(self, uris: Collection[str] = ()) -> Mapping[str, int]:
        """The files on disk in the trusted folders that changed since the last call."""
        paths = [str(path) for uri in uris if (path := path_of(uri)) is not None]
        found = await self._changes.taken(map(str, self.folders), paths)
        return {Path(path).as_uri(): kind for path, kind in found.items()}

    async def extensions(self) -> Mapping[Path, frozenset[str]]:
        """The endings of the files of each workspace folder, as far as one short look finds them."""
        folders = [one.path for one in self._workspace.folders.folders]
        return await asyncio.to_thread(lambda: {one: _endings(one) for one in folders})

    async def mentions(self, text: str, *, whole: bool) -> Sequence[str]:
        """URIs of files that hold a text, or it as a whole word, those that do so most often first."""
        pattern = rf"\b{escaped(text)}\b" if whole else rf"(?i){escaped(text)}"
        found = await self._workspace.search.search(pattern, None, None, limit=1)
        if not isinstance(found, SearchResult):
            return []
        counts = found.counts
        paths = sorted(counts, key=lambda path: (-counts[path], path))[:MOST_MENTIONS]
        located = await self._workspace.folders.locate_all(paths)
        return [one.uri for one in located if isinstance(one, Located)]


def _endings(folder: Path) -> frozenset[str]:
    """The endings of the files in a folder and some below it. Blocks."""
    found, left = set[str](), MOST_ENTRIES
    waiting = [(str(folder), 0)]
    while waiting and left > 0:
        place, depth = waiting.pop(0)
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    left -= 1
                    if entry.name.startswith(".") or entry.name in _PASSED or left < 0:
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        waiting += [(entry.path, depth + 1)] if depth < _DEEPEST else []
                    else:
                        found.add(os.path.splitext(entry.name)[1].lower())  # noqa: PTH122 - one of many
        except OSError:
            continue
    return frozenset(found)


async def launch(
    commands: Commands, argv: Sequence[str], folder: Path
) -> tuple[Process, asyncio.StreamWriter] | SpawnProblem:
    """Start a language server, confined; gives its process and its standard input.

    Args:
        commands: How commands run here.
        argv: The server.
        folder: The workspace folder that it is for.
    """
    confined = await commands.confine_server(argv, await asyncio.to_thread(folder.resolve))
    if isinstance(confined, SpawnProblem):
        return confined
    started = await confined.start()
    if isinstance(started, SpawnProblem):
        return started
    ours, theirs = socket.socketpair()
    with theirs:
        process = await commands.supervisor.spawn(
            started.argv,
            cwd=folder,
            env=confined.env,
            stdin=theirs.fileno(),
            merge_stderr=False,
            launch=started.launch,
        )
    if isinstance(process, SpawnProblem):
        ours.close()
        return process
    _, writer = await asyncio.open_connection(sock=ours)
    return process, writer


def files_changed(event: LoggedEvent) -> Collection[tuple[str, int]]:
    """The files that an event says were made, changed or deleted on disk, as they are shown."""
    match event.type:
        case "edit.applied" | "edit.merged":
            return _of_edit(event.data)
        case "workspace.changed":
            kind = CREATED if "before" not in event.data else CHANGED if "after" in event.data else DELETED
            return [(event.data["path"], kind)]
        case "workspace.touched":
            return [(one["path"], CHANGED) for one in event.data["files"]]
        case "workspace.renamed":
            return [
                pair for one in event.data["files"] for pair in ((one["path"], DELETED), (one["to"], CREATED))
            ]
        case _:
            return ()


def _of_edit(data: logged.EditApplied | logged.EditMerged) -> Collection[tuple[str, int]]:
    if "to" in data:
        return [(data["path"], DELETED), (data["to"], CREATED)]
    kinds = {"create": CREATED, "delete": DELETED}
    return [(data["path"], kinds.get(data["operation"], CHANGED))]
