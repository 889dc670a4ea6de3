"""One language server of ours: its process, what it can do, and the texts that it is shown.

A text is sent just before something is asked. Whoever asks holds `turn` while texts and request are sent, so that an answer is about
exactly these texts; who tries a text that nobody has yet holds it until the text is taken back.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, cast

from outrider import __version__
from outrider.language.connection import (
    CONTENT_MODIFIED,
    METHOD_NOT_FOUND,
    SERVER_CANCELLED,
    Connection,
    Failure,
    Fits,
    Said,
)
from outrider.language.finding import Program
from outrider.language.memory import resident
from outrider.language.positions import path_of, spelled
from outrider.language.problems import MOST, of_document, of_tsserver
from outrider.language.table import LANGUAGES, TABLE, language_of
from outrider.ports.clock import Clock
from outrider.ports.editor import Encoding, Reported
from outrider.ports.language import CHANGED, DELETED, ServerStatus, Sources, Unknown, merged
from outrider.processes import Process, SpawnProblem

START_SECONDS: Final = 60.0
"""How long a server may take to answer `initialize`."""
MOST_ENDS: Final = 4
"""A server that ends by itself, or cannot be started, is started again three times."""
WELL_SECONDS: Final = 300.0
"""How long a server runs until earlier ends are forgotten."""
MOST_SHOWN: Final = 100
"""Files that are open in a server and not in the editor."""
LONGEST: Final = 2_000_000
"""Characters of a text that a server is shown."""
SETTLE_SECONDS: Final = 0.15
"""How long nothing else may be published about a version until that counts as all."""
MANY: Final = 500
"""Problems from which on they are read in a thread."""
_BEGIN_SECONDS: Final = 2.0
"""How long after its start a server may begin to say that it reads the project."""
_INDEX_SECONDS: Final = 60.0
"""How long after its start a server's log may say that it has looked through the project."""
_LOADING: Final = object()
"""Among what a server is busy with: it has not said yet that it has read the project."""
_SHUTDOWN_SECONDS: Final = 0.5
_TRIES: Final = 3
_NAMES_SECONDS: Final = 5.0
"""How long its log may take to say that it has looked through the project again, after files came or went."""

State = Literal["available", "starting", "running", "ended", "failed"]
Look = Callable[[Collection[str]], Awaitable[None]]
"""Has every server know what has become of files on disk; those that are given are looked at themselves."""
Launch = Callable[[Sequence[str], Path], Awaitable[tuple[Process, asyncio.StreamWriter] | SpawnProblem]]
"""Starts a server in a folder, confined; gives its process and its standard input."""

_log = logging.getLogger(__name__)

CAPABILITIES: Final[Mapping[str, Any]] = {
    "general": {"positionEncodings": ["utf-8", "utf-16", "utf-32"]},
    "window": {"workDoneProgress": True},
    "experimental": {"serverStatusNotification": True},
    "workspace": {
        "applyEdit": True,
        "configuration": True,
        "workspaceFolders": True,
        "didChangeConfiguration": {},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "rename", "delete"]},
        "symbol": {},
    },
    "textDocument": {
        "synchronization": {"dynamicRegistration": False},
        "publishDiagnostics": {"versionSupport": True},
        "diagnostic": {"dynamicRegistration": True},
        "definition": {"linkSupport": False},
        "references": {},
        "hover": {"contentFormat": ["plaintext", "markdown"]},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "callHierarchy": {},
        "rename": {"prepareSupport": True},
        "formatting": {},
        "rangeFormatting": {},
        "codeAction": {
            "codeActionLiteralSupport": {
                "codeActionKind": {"valueSet": ["", "quickfix", "refactor", "source"]}
            },
            "isPreferredSupport": True,
            "disabledSupport": True,
            "dataSupport": True,
            "resolveSupport": {"properties": ["edit", "command"]},
        },
    },
}


@dataclass(slots=True)
class _Shown:
    """A document that is open in the server."""

    version: int
    text: str
    generation: int
    """The texts that the server had around it when it got that version."""


class Server:
    """One server of a folder. It is started when it is first needed."""

    def __init__(
        self, program: Program, folder: Path, sources: Sources, launch: Launch, clock: Clock, look: Look
    ) -> None:
        """Get ready; nothing is started.

        Args:
            program: What is started.
            folder: The workspace folder.
            sources: The texts of the workspace.
            launch: Starts it.
            clock: Times what waits for it.
            look: Finds what has become of files on disk, and says so by `files_changed`.
        """
        self._look = look
        self.row, self.folder, self.sources = program.row, folder, sources
        self._argv, self._launch, self._clock = program.argv, launch, clock
        self._inside = f"{folder.as_uri().rstrip('/')}/"
        self.state: State = "available"
        self.version, self.last_error = "", ""
        self.memory: int | None = None
        self.used_at = clock.monotonic()
        """When it was last asked."""
        self.turn = asyncio.Lock()
        self.encoding: Encoding = "utf-16"
        self.generation = 0
        """Which texts it has: another number for other texts."""
        self.applied: list[Any] | None = None
        """The edits that it asked to apply, while that is wanted."""
        self._generations = 0
        self._ends = 0
        self._runs_since = 0.0
        self._connection: Connection | None = None
        self._process: Process | None = None
        self._starting: asyncio.Task[str] | None = None
        self._running: asyncio.Task[None] | None = None
        self._capabilities: dict[str, Any] = {}
        self._registered: dict[str, str] = {}
        self._shown: dict[str, _Shown] = {}
        self._kept: dict[str, tuple[int, list[Reported]]] = {}
        self._published: dict[str, tuple[int, list[Any]]] = {}
        self._raw: dict[str, list[Any]] = {}
        self._fresh: dict[str, list[Any]] = {}
        """The same of what was read last, also of texts that are only tried."""
        self._arrived = asyncio.Event()
        self._busy: set[Any] = set()
        self._loaded_by = self._indexed_by = 0.0
        """When its word is not waited for any more that it has read, or looked through, the project."""
        self._untold: dict[str, int] = {}
        """What became of files on disk, which it has not been told yet."""
        self._written: dict[str, int] = {}
        """When files were last changed on disk, counted in changes."""
        self._changes = self._told = 0

    # --- life ------------------------------------------------------------------------------------------------

    @property
    def is_up(self) -> bool:
        """Whether it answers."""
        return self.state == "running"

    async def ready(self) -> str | None:
        """Wait until it answers, and start it where it does not run; a text says why it cannot.

        Who stops waiting leaves it starting.
        """
        self.used_at = self._clock.monotonic()
        if self.state == "running":
            return None
        if self.state == "failed":
            return f"{self.row.name} has failed: {self.last_error}"
        if self._starting is None or self._starting.done():
            self._starting = asyncio.create_task(self._start(), name=f"start {self.row.name}")
        return await asyncio.shield(self._starting) or None

    async def close(self, why: str = "") -> None:
        """End it. It can be started again."""
        if self._starting is not None and not self._starting.done():
            self._starting.cancel()
            await asyncio.wait({self._starting})
        connection, process, running = self._connection, self._process, self._running
        self._connection = self._process = self._running = None
        if self.state != "failed":
            self.state = "available"
        if why:
            self.last_error = why
        if connection is not None and not connection.is_closed:
            await connection.request("shutdown", None, _SHUTDOWN_SECONDS)
            connection.notify("exit", None)
        if process is not None:
            await process.kill(_SHUTDOWN_SECONDS)
        if running is not None:
            await asyncio.wait({running})
        if process is not None:
            process.discard()
        self._forget()

    async def restart(self) -> None:
        """End it as somebody asks for that, and forget that it has failed. It starts when it is needed."""
        self._ends, self.state, self.last_error = 0, "available" if self.state == "failed" else self.state, ""
        await self.close()

    async def measure(self) -> int | None:
        """Bytes of memory that it has now."""
        process = self._process
        self.memory = None if process is None else await asyncio.to_thread(resident, process.pid)
        return self.memory

    def status(self) -> ServerStatus:
        """How it is."""
        return ServerStatus(
            self.row.name,
            str(self.folder),
            self.state,
            self.version,
            self.memory if self.is_up else None,
            self.last_error,
        )

    async def _start(self) -> str:
        self.state = "starting"
        if self._running is not None:
            await asyncio.wait({self._running})
        try:
            problem = await self._begin()
        except asyncio.CancelledError:
            self.state = "available"
            raise
        if problem:
            self._failed(problem)
        return problem

    async def _begin(self) -> str:
        await self._look(())  # what changes from now on is known
        started = await self._launch(self._argv, self.folder)
        if isinstance(started, SpawnProblem):
            return started.message
        self._forget()
        process, writer = started
        connection = Connection(process, writer, self._clock, answer=self._answer, notified=self._notified)
        self._process, self._connection = process, connection
        self._running = asyncio.create_task(self._run(connection, process), name=f"read from {self.row.name}")
        said = await connection.request("initialize", self._params(), START_SECONDS)
        if isinstance(said, Failure) or not isinstance(said, dict):
            await self._let_go()
            why = said.message if isinstance(said, Failure) else "it did not answer initialize as LSP says"
            return f"{self.row.name} could not be started: {self.last_error or why}"
        self._take_capabilities(cast("dict[str, Any]", said))
        self._runs_since = now = self._clock.monotonic()
        self._loaded_by, self._indexed_by = now + _BEGIN_SECONDS, now + _INDEX_SECONDS
        connection.notify("initialized", {})
        connection.notify("workspace/didChangeConfiguration", {"settings": dict(self.row.settings)})
        self.state, self.last_error = "running", ""
        return ""

    async def _run(self, connection: Connection, process: Process) -> None:
        said = ""
        try:
            said = await connection.run()
        finally:
            connection.close()
            process.discard()  # the one that is started in its place takes its name here
            if self._connection is connection and self.state == "running":
                _log.info("%s ended by itself: %s", self.row.name, said)
                self._failed(f"it ended by itself: {said}" if said else "it ended by itself")
                self._connection = None
                self._arrived.set()
            elif said and self.state == "starting":
                self.last_error = said

    async def _let_go(self) -> None:
        """End what did not begin well."""
        process, self._process, self._connection = self._process, None, None
        if process is not None:
            await process.kill(_SHUTDOWN_SECONDS)
            process.discard()
        if self._running is not None:
            await asyncio.wait({self._running})

    def _failed(self, problem: str) -> None:
        if self.state == "running" and self._clock.monotonic() - self._runs_since >= WELL_SECONDS:
            self._ends = 0
        self._ends += 1
        self.last_error = problem
        self.state = "failed" if self._ends >= MOST_ENDS else "ended"

    def _forget(self) -> None:
        self._shown, self._kept, self._published = {}, {}, {}
        self._raw, self._fresh, self._untold = {}, {}, {}
        self._capabilities, self._registered = {}, {}
        self._busy = {_LOADING} if self.row.loads or self.row.indexes == "log" else set()
        self._new_generation()

    def _params(self) -> dict[str, Any]:
        uri = self.folder.as_uri()
        return {
            "processId": None,  # it lives in a namespace of its own, where our number says nothing
            "clientInfo": {"name": "Outrider", "version": __version__},
            "rootPath": str(self.folder),
            "rootUri": uri,
            "workspaceFolders": [{"uri": uri, "name": self.folder.name}],
            "capabilities": CAPABILITIES,
            "initializationOptions": dict(self.row.options),
        }

    def _take_capabilities(self, said: Mapping[str, Any]) -> None:
        given, info = said.get("capabilities"), said.get("serverInfo")
        self._capabilities = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
        encoding = self._capabilities.get("positionEncoding")
        self.encoding = cast("Encoding", encoding) if encoding in {"utf-8", "utf-16", "utf-32"} else "utf-16"
        version = cast("dict[str, Any]", info).get("version") if isinstance(info, dict) else None
        self.version = version[:40] if isinstance(version, str) else ""

    # --- what it can do, and what it asks for ----------------------------------------------------------------

    def can(self, method: str) -> bool:
        """Whether it answers a request such as `textDocument/rename`."""
        return bool(self._capabilities.get(_PROVIDERS.get(method, ""))) or method in self._registered.values()

    def provider(self, method: str) -> Any:
        """What it says about a request."""
        return self._capabilities.get(_PROVIDERS.get(method, ""))

    @property
    def looks_across_files(self) -> bool:
        """Whether a change of one file can bring problems in another one."""
        given = self._capabilities.get("diagnosticProvider")
        is_alone = (
            isinstance(given, dict) and cast("dict[str, Any]", given).get("interFileDependencies") is False
        )
        return self.row.role == "types" and not is_alone

    def _answer(self, method: str, params: Any) -> Any:
        given = cast("dict[str, Any]", params) if isinstance(params, dict) else {}
        match method:
            case "workspace/configuration":
                items = given.get("items")
                return (
                    [self._setting(item) for item in cast("list[Any]", items)]
                    if isinstance(items, list)
                    else []
                )
            case "client/registerCapability" | "client/unregisterCapability":
                self._register(given, is_new=method == "client/registerCapability")
                return None
            case "workspace/workspaceFolders":
                return [{"uri": self.folder.as_uri(), "name": self.folder.name}]
            case "workspace/applyEdit":
                if self.applied is not None:
                    self.applied.append(given.get("edit"))
                return {"applied": False, "failureReason": "the user is asked about it first"}
            case "window/showDocument":
                return {"success": False}
            case "window/workDoneProgress/create" | "window/showMessageRequest":
                return None
            case _ if method.startswith("workspace/") and method.endswith("/refresh"):
                return None
            case _:
                return Failure(METHOD_NOT_FOUND, f"{method} is not supported")

    def _setting(self, item: Any) -> Any:
        section = cast("dict[str, Any]", item).get("section") if isinstance(item, dict) else None
        found: Any = self.row.settings
        for key in section.split(".") if isinstance(section, str) and section else ():
            found = cast("dict[str, Any]", found).get(key) if isinstance(found, Mapping) else None
        return found

    def _register(self, given: Mapping[str, Any], *, is_new: bool) -> None:
        # The name has this typing error in LSP.
        listed = given.get("registrations" if is_new else "unregisterations")
        for one in cast("list[Any]", listed) if isinstance(listed, list) else ():
            fields = cast("dict[str, Any]", one) if isinstance(one, dict) else {}
            number, method = fields.get("id"), fields.get("method")
            if isinstance(number, str) and isinstance(method, str):
                if is_new:
                    self._registered[number] = method
                    self._arrived.set()
                else:
                    self._registered.pop(number, None)

    def _notified(self, method: str, params: Any) -> None:
        given = cast("dict[str, Any]", params) if isinstance(params, dict) else {}
        if method == "textDocument/publishDiagnostics":
            self._take_published(given)
        elif method == "$/progress":
            token, value = given.get("token"), given.get("value")
            kind = cast("dict[str, Any]", value).get("kind") if isinstance(value, dict) else None
            if kind == "begin" and isinstance(token, str | int):
                self._busy.add(token)
                if self.row.loads == "progress":
                    self._busy.discard(_LOADING)
                self._arrived.set()
            elif kind == "end" and isinstance(token, str | int):
                self._busy.discard(token)
                self._arrived.set()
        elif method == "window/logMessage" and self.row.indexes == "log":
            if _has_indexed(given.get("message")):
                self._busy.discard(_LOADING)
                self._arrived.set()
        elif method == "experimental/serverStatus" and self.row.loads == "status":
            if given.get("quiescent") is True:
                self._busy.discard(_LOADING)
                self._arrived.set()
            else:
                self._busy.add(_LOADING)

    def _take_published(self, given: Mapping[str, Any]) -> None:
        uri, version = given.get("uri"), given.get("version")
        # One without a version may be about any text.
        if not isinstance(uri, str) or not isinstance(version, int) or (key := spelled(uri)) is None:
            return
        items = given.get("diagnostics")
        if isinstance(items, list) and version >= self._published.get(key, (version, []))[0]:
            self._published[key] = version, cast("list[Any]", items)
            self._arrived.set()

    # --- what it is shown ------------------------------------------------------------------------------------

    def serves(self, uri: str) -> bool:
        """Whether a file is in its folder, and in one of its languages."""
        ours = spelled(uri)  # asked for each place of an answer
        return ours is not None and ours.startswith(self._inside) and language_of(ours) in self.row.languages

    def shown(self, uri: str) -> str | None:
        """The text that it has of a file; None where it reads the disk."""
        known = self._shown.get(uri)
        return None if known is None else known.text

    def show(self, uri: str, text: str, *, is_as_on_disk: bool = False) -> bool:
        """Show it the text of a file, if it has another one; False where the text is too long.

        Args:
            uri: The file.
            text: Its text.
            is_as_on_disk: Whether it would have read the same from the disk.
        """
        if len(text) > LONGEST:
            return False
        known = self._shown.pop(uri, None)
        if known is None:
            language = LANGUAGES.get(f".{uri.rpartition('.')[2].lower()}", "")
            given = {"uri": uri, "languageId": language, "version": 1, "text": text}
            self._tell("textDocument/didOpen", {"textDocument": given})
            if not is_as_on_disk:
                self._new_generation()
            self._shown[uri] = _Shown(1, text, self.generation)
            return True
        self._shown[uri] = known  # the latest comes last
        if known.text != text:
            self._new_generation()
            self._change(uri, known, text)
        return True

    def back_to(self, generation: int) -> None:
        """Take note that it has the texts of an earlier moment again."""
        self.generation = generation
        if self.row.rebuilds:  # it still knows the others by the texts that are taken back
            for uri, known in self._shown.items():
                self._change(uri, known, known.text, again=True)

    async def show_workspace(self, uris: Sequence[str] = (), *, but: Collection[str] = ()) -> None:
        """Show it what is open in the editor, and some files besides, as they are now.

        Args:
            uris: Those files.
            but: Files that stay as they are in it.
        """
        await self._look(())
        written = self._tell_of_disk(but)
        wanted = [
            uri
            for uri in dict.fromkeys([*self._shown, *uris, *written])
            if uri not in self._opened(but) and uri not in but
        ]
        texts = await self.sources.texts(wanted)
        opened = self._opened(but)  # with what was typed while the disk was read
        for uri in [one for one in self._shown if one not in opened and one not in texts and one not in but]:
            self.hide(uri)
            self._new_generation()
        for uri, text in texts.items():
            if uri not in opened:
                self.show(uri, text, is_as_on_disk=True)
        for uri, text in opened.items():
            self.show(uri, text)
        for uri in [one for one in self._shown if one not in opened and one not in uris and one not in but][
            :-MOST_SHOWN
        ]:
            self.hide(uri)

    def _opened(self, but: Collection[str]) -> dict[str, str]:
        return {
            one.uri: one.text for one in self.sources.open() if one.uri not in but and self.serves(one.uri)
        }

    def files_changed(self, changes: Mapping[str, int]) -> None:
        """Take note of what became of files on disk. It is told before it is asked next: until then it may be trying a text.

        Args:
            changes: URIs, each with what happened (LSP 3.17, "FileChangeType").
        """
        self._changes += 1
        for uri, kind in changes.items():
            self._written[uri] = self._changes
            if self._connection is not None and (self.serves(uri) or self._is_marker(uri)):
                self._untold[uri] = merged(self._untold.get(uri), kind)

    def _is_marker(self, uri: str) -> bool:
        return uri.startswith(self._inside) and uri.rpartition("/")[2] in self.row.markers

    def _tell_of_disk(self, but: Collection[str]) -> list[str]:
        """Tell it what became of files on disk; gives those that it is to be shown, as some servers take their time to read them again."""
        untold, self._untold, self._told = self._untold, {}, self._changes
        if not untold:
            return []
        changes = [{"uri": uri, "type": kind} for uri, kind in untold.items()]
        self._tell("workspace/didChangeWatchedFiles", {"changes": changes})
        read = {uri: kind for uri, kind in untold.items() if uri not in self._shown and uri not in but}
        if read:
            self._new_generation()
        written = [uri for uri, kind in read.items() if kind != DELETED and self.serves(uri)][:MOST_SHOWN]
        names = {uri for uri, kind in untold.items() if kind != CHANGED and uri not in but}
        if self.row.indexes == "log" and not names.issubset(written):
            self._busy.add(_LOADING)
            self._indexed_by = max(self._indexed_by, self._clock.monotonic() + _NAMES_SECONDS)
        return written

    def _change(self, uri: str, known: _Shown, text: str, *, again: bool = False) -> None:
        known.version, known.text, known.generation = known.version + 1, text, self.generation
        params: dict[str, Any] = {
            "textDocument": {"uri": uri, "version": known.version},
            "contentChanges": [{"text": text}],
        }
        self._tell(
            "textDocument/didChange",
            {**params, "forceRebuild": True} if again and self.row.rebuilds else params,
        )

    def hide(self, uri: str) -> None:
        """Have it read a file from the disk again."""
        del self._shown[uri]
        self._kept.pop(uri, None)
        self._published.pop(uri, None)
        self._tell("textDocument/didClose", {"textDocument": {"uri": uri}})

    def _new_generation(self) -> None:
        self._generations += 1
        self.generation = self._generations

    def _tell(self, method: str, params: Any) -> None:
        if self._connection is not None:
            self._connection.notify(method, params)

    # --- asking ----------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def its_turn(self) -> AsyncGenerator[None, None]:
        """Have it for oneself."""
        self.used_at = self._clock.monotonic()
        async with self.turn:
            yield

    async def ask(
        self, method: str, params: Any, seconds: float, *, uris: Sequence[str] = ()
    ) -> Said | Failure:
        """Ask about the workspace as it is now; a `Failure` where there is no answer.

        Args:
            method: The request.
            params: Its params.
            seconds: How long it may take.
            uris: Files that it is shown for that.
        """
        said: Any = Failure(CONTENT_MODIFIED, "its texts kept changing")
        about = self._about()
        for _ in range(_TRIES):
            async with self.its_turn():
                await self.show_workspace(uris)
                if not await self.is_loaded(seconds):
                    return Failure(CONTENT_MODIFIED, f"{self.row.name} is still reading the project")
                if method in _OF_PROJECT and not await self.is_indexed(seconds):
                    return Failure(CONTENT_MODIFIED, f"{self.row.name} is still indexing the project")
                about = self._about()
                waiting = self.send(method, params)
            said = await waiting(seconds)
            if not (isinstance(said, Failure) and said.code in {CONTENT_MODIFIED, SERVER_CANCELLED}):
                break
        return said if isinstance(said, Failure) else Said(said, self.encoding, about)

    def _about(self) -> Fits:
        """Tells later of texts whether they are those that it has now: what it is shown goes on while it works on an answer."""
        had = {one.uri: one.text for one in self.sources.open()}
        had.update({uri: one.text for uri, one in self._shown.items()})
        told = self._told

        async def fits(texts: Mapping[str, str | None]) -> bool:
            if any(had[uri] != text for uri, text in texts.items() if uri in had):
                return False
            read = [uri for uri in texts if uri not in had]
            if not read:
                return True
            await self._look(read)
            opened = {one.uri for one in self.sources.open()}
            return not any(uri in opened or self._written.get(uri, 0) > told for uri in read)

        return fits

    def send(self, method: str, params: Any) -> Callable[[float], Awaitable[Any]]:
        """Send a request now; what it gives waits for the answer."""
        if (connection := self._connection) is None:

            async def gone(_: float) -> Any:
                return Failure(CONTENT_MODIFIED, f"{self.row.name} has ended")

            return gone
        return connection.send(method, params)

    async def edits_of(self, command: Mapping[str, Any], seconds: float) -> Said | Unknown:
        """The edit that a command of the server asks to apply, which it is not; an `Unknown` where that is not one.

        Args:
            command: The command, as the server wrote it.
            seconds: How long it may take.
        """
        params = {key: command[key] for key in ("command", "arguments") if key in command}
        async with self.its_turn():
            await self.show_workspace()
            self.applied, about = [], self._about()
            try:
                said = await self.send("workspace/executeCommand", params)(seconds)
                edits = self.applied
            finally:
                self.applied = None
        if len(edits) == 1:
            return Said(edits[0], self.encoding, about)
        why = (
            said.message
            if isinstance(said, Failure) and not edits
            else "it does not change files in one step"
        )
        return Unknown(why)

    async def problems(
        self, uris: Sequence[str], seconds: float, *, keep: bool = True
    ) -> dict[str, list[Reported]]:
        """The problems of files with the texts that it has now, for who has it for itself. What is not judged in time is left out.

        Args:
            uris: Files that it is shown.
            seconds: How long it may take.
            keep: Whether they are kept until it has other texts.
        """
        known = {
            uri: self._kept[uri][1]
            for uri in uris
            if uri in self._kept and self._kept[uri][0] == self.generation
        }
        wanted = [uri for uri in uris if uri not in known and uri in self._shown]
        generation = self.generation
        if not wanted or self.row.way == "disk":
            return known
        try:
            async with self._clock.timeout(seconds):
                await self._until_loaded()
                if self.row.way == "tsserver":
                    await self._each(wanted, self._of_tsserver, known)
                elif self.can("textDocument/diagnostic"):
                    self._show_again(wanted)
                    await self._each(wanted, self._pulled, known)
                else:
                    await self._until_published(wanted, known)
        except TimeoutError:
            pass
        if keep:
            self.keep({uri: known[uri] for uri in wanted if uri in known}, generation)
        return known

    def keep(self, found: Mapping[str, list[Reported]], generation: int) -> None:
        """Keep problems as those of the texts of a moment."""
        self._kept.update({uri: (generation, items) for uri, items in found.items()})
        self._raw.update({uri: self._fresh[uri] for uri in found if uri in self._fresh})

    async def _each(
        self,
        uris: Sequence[str],
        ask: Callable[[str], Awaitable[list[Any] | None]],
        found: dict[str, list[Reported]],
    ) -> None:
        async def one(uri: str) -> None:
            if (items := await ask(uri)) is not None:
                found[uri] = await self._read(uri, items)

        await asyncio.gather(*map(one, uris))

    async def _pulled(self, uri: str) -> list[Any] | None:
        for _ in range(_TRIES):
            said = await self.send("textDocument/diagnostic", {"textDocument": {"uri": uri}})(START_SECONDS)
            if isinstance(said, Failure) and said.code in {CONTENT_MODIFIED, SERVER_CANCELLED}:
                continue
            items = cast("dict[str, Any]", said).get("items") if isinstance(said, dict) else None
            return cast("list[Any]", items) if isinstance(items, list) else None
        return None

    async def _of_tsserver(self, uri: str) -> list[Any] | None:
        path, found = str(path_of(uri)), list[Any]()
        for command in ("syntacticDiagnosticsSync", "semanticDiagnosticsSync"):
            params = {"command": "typescript.tsserverRequest", "arguments": [command, {"file": path}, {}]}
            said = await self.send("workspace/executeCommand", params)(START_SECONDS)
            if (items := of_tsserver(said)) is None:
                return None
            found += items
        return found

    async def _read(self, uri: str, items: list[Any]) -> list[Reported]:
        self._fresh[uri] = items[:MOST]
        return (
            await asyncio.to_thread(of_document, uri, items, self.encoding)
            if len(items) > MANY
            else of_document(uri, items, self.encoding)
        )

    def raw(self, uri: str) -> list[Any]:
        """The problems of a file that were kept, as the server wrote them."""
        return self._raw.get(uri, [])

    def _show_again(self, uris: Sequence[str]) -> None:
        """Have it judge a new version of files around which another one has changed: of the version that it has judged it may keep what it said."""
        for uri in uris:
            if (known := self._shown.get(uri)) and known.generation != self.generation:
                self._change(uri, known, known.text, again=True)

    async def _until_published(self, uris: Sequence[str], found: dict[str, list[Reported]]) -> None:
        """Wait until all are published with the version of now, and nothing else comes for a moment.

        A server that wants to be asked may say so only now.
        """
        self._show_again(uris)
        while self.is_up:
            if self.can("textDocument/diagnostic"):
                await self._each(uris, self._pulled, found)
                return
            self._arrived.clear()
            for uri in uris:
                version, items = self._published.get(uri, (0, []))
                if (known := self._shown.get(uri)) and version >= known.version:
                    found[uri] = await self._read(uri, items)
            if all(uri in found for uri in uris):
                try:
                    async with self._clock.timeout(SETTLE_SECONDS):
                        await self._arrived.wait()
                except TimeoutError:
                    return
            else:
                await self._arrived.wait()

    async def is_indexed(self, seconds: float) -> bool:
        """Wait until it knows all uses of a name with the texts of now; False where that takes too long.

        Args:
            seconds: How long it may take.
        """
        try:
            async with self._clock.timeout(seconds):
                match self.row.indexes:
                    case "log":
                        await self._until_told_or(self._indexed_by)
                    case "progress":
                        await self._until_idle()
                        await self._until_published([*self._shown], {})
                    case "":
                        pass
        except TimeoutError:
            return False
        return True

    async def is_loaded(self, seconds: float) -> bool:
        """Wait until it has read the project, where it does so first; False where that takes too long.

        Args:
            seconds: How long it may take.
        """
        try:
            async with self._clock.timeout(seconds):
                await self._until_loaded()
        except TimeoutError:
            return False
        return True

    async def _until_loaded(self) -> None:
        """Wait for its word that it has read the project. Before it says that it begins, it knows as little."""
        match self.row.loads:
            case "status":
                await self._until_told()
            case "progress":
                await self._until_told_or(self._loaded_by)
                await self._until_idle()
            case "":
                pass

    async def _until_told_or(self, latest: float) -> None:
        """Wait for its word, until a moment at the latest: it may have none."""
        try:
            async with self._clock.timeout(max(0.0, latest - self._clock.monotonic())):
                await self._until_told()
        except TimeoutError:
            self._busy.discard(_LOADING)

    async def _until_told(self) -> None:
        while _LOADING in self._busy and self.is_up:
            self._arrived.clear()
            await self._arrived.wait()

    async def _until_idle(self) -> None:
        while self._busy and self.is_up:
            self._arrived.clear()
            await self._arrived.wait()


def is_heeded(name: str) -> bool:
    """Whether servers are notified when a file with this name changes."""
    return language_of(name) is not None or name in _MARKERS


def _has_indexed(line: Any) -> bool:
    """Whether a line of the log of pyright says that it knows the files of the project ("Found 885 source files", "No source files found.")."""
    return (
        isinstance(line, str)
        and line.startswith(("Found ", "No "))
        and " source file" in line[:_LONGEST_LINE]
    )


_MARKERS: Final = frozenset(marker for row in TABLE for marker in row.markers)
_LONGEST_LINE: Final = 100
_OF_PROJECT: Final = frozenset(
    {
        "textDocument/references",
        "textDocument/rename",
        "textDocument/prepareCallHierarchy",
        "workspace/symbol",
    }
)
"""What is asked about all files of a project."""
_PROVIDERS: Final[Mapping[str, str]] = {
    "textDocument/diagnostic": "diagnosticProvider",
    "textDocument/definition": "definitionProvider",
    "textDocument/references": "referencesProvider",
    "textDocument/hover": "hoverProvider",
    "textDocument/documentSymbol": "documentSymbolProvider",
    "workspace/symbol": "workspaceSymbolProvider",
    "textDocument/prepareCallHierarchy": "callHierarchyProvider",
    "textDocument/rename": "renameProvider",
    "textDocument/codeAction": "codeActionProvider",
    "textDocument/formatting": "documentFormattingProvider",
    "textDocument/rangeFormatting": "documentRangeFormattingProvider",
}
"""Where the capabilities tell of a request."""
