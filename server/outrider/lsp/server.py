"""The language server: what the client says goes to the documents, or over the bridge to the house behind it.

Up to the answer of `initialize` nothing is imported but pygls and thin modules: the bridge is loaded in a
thread from `initialized` on. Nothing here knows sessions, models or files.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, cast
from urllib.parse import quote

from cattrs import Converter
from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import default_converter

from outrider import __version__
from outrider.lsp.capabilities import flaw_of, initialize_result
from outrider.lsp.contract import Bridge, Host, LoadBridge
from outrider.lsp.editor import ClientEditor
from outrider.lsp.features.progress import ProgressFactory
from outrider.lsp.profile import ClientProfile, profile_of
from outrider.lsp.protocol import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    LspProtocol,
    NoReply,
    invalid_params,
)
from outrider.lsp.tcp import Admission
from outrider.ports.clock import Clock, SystemClock
from outrider.ports.outside import ClientStart, Outside
from outrider.ports.refusal import CommandError
from outrider.ports.text import Place
from outrider.transport.connection import Outgoing
from outrider.workspace.documents.documents import ContentChange, DocumentStore
from outrider_protocol import (
    COMMAND_NAMES,
    CONFIGURATION_SECTION,
)

logger = logging.getLogger(__name__)

CLOSE_SECONDS: Final = 1.0
"""How long the house may take to close: VS Code waits 2 s for `shutdown`, eglot 1.5 s."""
FIRST_PULL_SECONDS: Final = 1.0
PULL_SECONDS: Final = 10.0

OWN_OPTIONS: Final = ("debounce", "extensions", "tcpToken")
"""Keys of `initializationOptions` that are for this room and no settings."""


@dataclass(frozen=True, slots=True)
class _Client:
    """The client, once it has said who it is."""

    profile: ClientProfile
    options: Mapping[str, Any]
    editor: ClientEditor
    progress: ProgressFactory


class Server(LanguageServer):
    """One server for one client. Feed `protocol.receive` with messages; its own go to the `Outgoing` it was given."""

    # pygls makes it of the class it is given, but does not say so in its types.
    protocol: LspProtocol  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(
        self,
        outgoing: Outgoing,
        load: LoadBridge,
        *,
        outside: Outside | None = None,
        clock: Clock | None = None,
        host: Host | None = None,
        admission: Admission | None = None,
        answered: str | int | None = None,
    ) -> None:
        """Prepare to serve; see `create_server`."""
        super().__init__(  # pyright: ignore[reportUnknownMemberType] - pygls leaves its *args untyped
            "outrider", __version__, protocol_cls=LspProtocol, converter_factory=_converter
        )
        self.documents = DocumentStore()
        self._outgoing = outgoing
        self._load = load
        self._outside = outside
        self._clock = clock or SystemClock()
        self._host = host
        self._admission = admission
        self._left_out: str | None = None
        """What is to be said of settings that do not count."""
        self._client: _Client | None = None
        self._folders: dict[str, str] = {}
        self._bridge: asyncio.Task[Bridge] | None = None
        self._configuring = asyncio.Lock()
        self._closing: asyncio.Task[None] | None = None
        self._ignored: set[str] = set()
        self.protocol.connect(outgoing, self._clock, answered)
        self._register()

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log an error; pygls would show it to the user."""
        logger.error("%s: %s", getattr(source, "__name__", source), error)

    async def close(self, reason: str = "closed") -> None:
        """Cancel all work and let go of everything, in little more than a second at most."""
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close(reason))
        await asyncio.shield(self._closing)

    def _register(self) -> None:
        handlers = {
            types.INITIALIZE: self._initialize,
            types.INITIALIZED: self._initialized,
            types.SHUTDOWN: self._shutdown,
            types.EXIT: self._exit,
            types.SET_TRACE: _ignore,
            types.TEXT_DOCUMENT_DID_OPEN: self._did_open,
            types.TEXT_DOCUMENT_DID_CHANGE: self._did_change,
            types.TEXT_DOCUMENT_DID_SAVE: self._did_save,
            types.TEXT_DOCUMENT_DID_CLOSE: self._did_close,
            types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: self._did_change_folders,
            types.WORKSPACE_DID_RENAME_FILES: self._did_rename_files,
            types.WORKSPACE_DID_CHANGE_CONFIGURATION: self._did_change_configuration,
            types.WORKSPACE_EXECUTE_COMMAND: self._execute_command,
            types.TEXT_DOCUMENT_CODE_ACTION: self._code_action,
            types.TEXT_DOCUMENT_CODE_LENS: self._code_lens,
            types.WINDOW_WORK_DONE_PROGRESS_CANCEL: self._progress_cancel,
        }
        for method, handler in handlers.items():
            # A bound method takes no attributes, which pygls wants to set.
            self.feature(method)(_plain(handler))

    # Life

    def _initialize(self, params: Any) -> dict[str, Any]:
        # LSP 3.17, "Initialize Request".
        if flaw := flaw_of(params):
            raise invalid_params(*flaw)
        fields = cast("dict[str, Any]", params)
        given: dict[str, Any] = fields.get("initializationOptions") or {}
        if self._admission is not None:
            if refusal := self._admission.refusal(given, _folders(fields)):
                raise CommandError(INVALID_REQUEST, refusal)
            given, self._left_out = self._admission.admitted(given)
        profile = profile_of(fields)
        self.documents.encoding = profile.encoding
        self._folders = _folders(fields)
        known = self._admission is None or self._admission.is_known
        editor = ClientEditor(self.protocol, profile, self._outgoing, takes_approvals=known)
        progress = ProgressFactory(self.protocol, profile, self._clock)
        settings = {key: value for key, value in given.items() if key not in OWN_OPTIONS}
        self._client = _Client(profile, settings, editor, progress)
        pid = fields.get("processId")
        if self._host is not None and isinstance(pid, int) and pid > 0:
            self._host.watch_parent(pid)
        return initialize_result(fields, __version__)

    def _initialized(self, _params: Any) -> None:
        if self._left_out is not None:
            self._here().editor.say("warning", self._left_out)
        self._loading()

    async def _shutdown(self, _params: Any) -> None:
        await self.close("shutdown")

    def _exit(self, _params: Any) -> None:
        if self._host is not None:
            self._host.stop(0 if self.protocol.shutdown_requested else 1, "exit")

    async def _close(self, reason: str) -> None:
        cancelled = self.protocol.cancel_requests()
        bridge, self._bridge = self._bridge, None
        try:
            async with self._clock.timeout(CLOSE_SECONDS):
                await cancelled
                if bridge is not None and bridge.done() and not bridge.cancelled() and not bridge.exception():
                    await bridge.result().close(reason)
                elif bridge is not None:
                    bridge.cancel()
                    await asyncio.gather(bridge, return_exceptions=True)
        except TimeoutError:
            logger.warning("shutdown did not finish in %g s", CLOSE_SECONDS)
        except Exception:
            logger.exception("closing failed")
        if self._client is not None:
            await self._client.progress.close()
        self.protocol.disconnect()

    # The bridge

    def _loading(self) -> asyncio.Task[Bridge]:
        if self._bridge is None:
            self._bridge = asyncio.get_running_loop().create_task(self._start_bridge(self._here()))
            self._bridge.add_done_callback(self._loaded)
        return self._bridge

    async def _start_bridge(self, client: _Client) -> Bridge:
        pull = asyncio.get_running_loop().create_task(self._pull(client, FIRST_PULL_SECONDS))
        try:
            start = await asyncio.to_thread(self._load)
            folders = self._folder_pairs()
            profile = client.profile
            bridge = await start(
                ClientStart(
                    client.options,
                    folders,
                    profile.name,
                    profile.version,
                    self._admission.widest if self._admission else None,
                ),
                client.editor,
                self.documents,
                client.progress,
                self._outside,
            )
            if (now := self._folder_pairs()) != folders:
                await bridge.folders_changed(now)
            await self._configure(bridge, await pull)
        finally:
            pull.cancel()
        return bridge

    def _loaded(self, task: asyncio.Task[Bridge]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("the server failed to start", exc_info=error)
            self._here().editor.say("error", "Outrider could not start; see the server log.")

    async def _ready(self) -> Bridge:
        try:
            return await asyncio.shield(self._loading())
        except Exception as error:
            raise CommandError(INTERNAL_ERROR, "the server failed to start; see its log") from error

    def _here(self) -> _Client:
        if self._client is None:  # the protocol lets nothing through before `initialize`
            raise RuntimeError("not initialized")
        return self._client

    # Configuration and folders

    async def _pull(self, client: _Client, seconds: float) -> Mapping[str, Any] | None:
        # LSP 3.17, "Configuration Request".
        if not client.profile.configuration:
            return None
        params = {"items": [{"section": CONFIGURATION_SECTION}]}
        reply = await self.protocol.request(types.WORKSPACE_CONFIGURATION, params, seconds=seconds)
        if isinstance(reply, NoReply):
            logger.info("the configuration could not be read: %s", reply.message)
            return None
        result = reply.result
        items = cast("list[Any]", result) if isinstance(result, list) else []
        return _values(items[0]) if items else None

    async def _configure(self, bridge: Bridge, values: Mapping[str, Any] | None) -> None:
        if values is not None and self._admission is not None:
            values = self._admission.capped(values)
        if values is not None:
            await bridge.configure(values)

    async def _did_change_configuration(self, params: Any) -> None:
        settings = (
            _values(cast("dict[str, Any]", params).get("settings")) if isinstance(params, dict) else None
        )
        pushed = _values(settings.get(CONFIGURATION_SECTION)) if settings is not None else None
        bridge = await self._ready()
        async with self._configuring:
            values = pushed if pushed is not None else await self._pull(self._here(), PULL_SECONDS)
            await self._configure(bridge, values)

    async def _did_change_folders(self, params: types.DidChangeWorkspaceFoldersParams) -> None:
        for folder in params.event.removed:
            self._folders.pop(folder.uri, None)
        for folder in params.event.added:
            if self._admission is not None and (why := self._admission.why_not_open(folder.uri)):
                self._here().editor.say("warning", f"Outrider: {why}.")
            else:
                self._folders[folder.uri] = folder.name
        bridge = await self._ready()
        await bridge.folders_changed(self._folder_pairs())

    async def _did_rename_files(self, params: types.RenameFilesParams) -> None:
        # LSP 3.17, "DidRenameFiles Notification".
        pairs = [(one.old_uri, one.new_uri) for one in params.files]
        (await self._ready()).files_renamed(pairs)

    def _folder_pairs(self) -> tuple[tuple[str, str], ...]:
        return tuple((name, uri) for uri, name in self._folders.items())

    # Documents

    def _did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        self._ignored.discard(document.uri)
        self.documents.open(document.uri, document.language_id, document.version, document.text)

    def _did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        document = params.text_document
        changes = [_content_change(change) for change in params.content_changes]
        problem = self.documents.change(document.uri, document.version, changes)
        if problem is not None and document.uri not in self._ignored:
            self._ignored.add(document.uri)
            logger.warning("a change is ignored: %s", problem)

    def _did_save(self, params: types.DidSaveTextDocumentParams) -> None:
        self.documents.save(params.text_document.uri, params.text)
        if self._bridge is not None and self._bridge.done() and not self._bridge.cancelled():
            self._bridge.result().saved(params.text_document.uri)

    def _did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        self.documents.close(params.text_document.uri)

    # What the user asks for

    async def _execute_command(self, params: Any) -> Any:
        bridge = await self._ready()
        try:
            command, argument, token = _command_call(params)
            return await bridge.execute(command, argument, token)
        except CommandError as error:
            client = self._here()
            # Some clients deliver an action twice, and what it asked for is done.
            if not client.profile.shows_errors and (error.data or {}).get("reason") != "already_resolved":
                client.editor.say("warning", f"Outrider: {error.message}")
            raise

    async def _code_action(self, params: types.CodeActionParams) -> list[dict[str, Any]]:
        automatic = params.context.trigger_kind == types.CodeActionTriggerKind.Automatic
        loading = self._loading()
        if automatic and not loading.done():
            return []
        bridge = await self._ready()
        only = None if params.context.only is None else [str(kind) for kind in params.context.only]
        diagnostics = [self.protocol.as_json(item) for item in params.context.diagnostics]
        start, end = _place(params.range.start), _place(params.range.end)
        uri = params.text_document.uri
        actions = await bridge.code_actions(uri, start, end, diagnostics, only, automatic)
        # LSP 3.17, "Code Action Request": clients of old know commands only.
        if self._here().profile.action_literals:
            return actions
        return [action["command"] for action in actions if "command" in action]

    async def _code_lens(self, params: types.CodeLensParams) -> list[dict[str, Any]]:
        return await (await self._ready()).code_lenses(params.text_document.uri)

    def _progress_cancel(self, params: types.WorkDoneProgressCancelParams) -> None:
        self._here().progress.cancelled(params.token)


@cache
def _converter() -> Converter:
    # It takes some milliseconds, and tests start thousands of servers in one process.
    return default_converter()


def create_server(
    outgoing: Outgoing,
    load: LoadBridge,
    *,
    outside: Outside | None = None,
    clock: Clock | None = None,
    host: Host | None = None,
    admission: Admission | None = None,
    answered: str | int | None = None,
) -> Server:
    """A server that needs neither a thread nor a file descriptor of its own.

    Args:
        outgoing: Where its messages go.
        load: Gives what builds the house behind it; called in a thread.
        outside: The surroundings for the house; None lets it look around itself.
        clock: Counts what the client may take; None for the real time.
        host: The process, if the server may end it.
        admission: Who is let in, where anybody could knock.
        answered: The id of `initialize`, if `early.py` has answered it.
    """
    return Server(
        outgoing, load, outside=outside, clock=clock, host=host, admission=admission, answered=answered
    )


def _ignore(_params: Any) -> None:
    pass


def _command_call(params: Any) -> tuple[str, Any, str | int | None]:
    # LSP 3.17, "Execute a command"; ours take one object or nothing.
    fields = cast("dict[str, Any]", params) if isinstance(params, dict) else {}
    command, arguments = fields.get("command"), fields.get("arguments")
    token = fields.get("workDoneToken")
    if not isinstance(command, str) or command not in COMMAND_NAMES:
        raise invalid_params("command", f"there is no command {ascii(command)[:80]}")
    if token is not None and (isinstance(token, bool) or not isinstance(token, str | int)):
        raise invalid_params("workDoneToken", "must be a string or a number")
    if arguments is not None and not isinstance(arguments, list):
        raise invalid_params("arguments", "must be a list")
    given = cast("list[Any]", arguments or [])
    if len(given) > 1:
        raise invalid_params("arguments[1]", "a command takes one object as its argument")
    argument = _values(given[0] if given and given[0] is not None else {})
    if argument is None:
        raise invalid_params("arguments[0]", "must be an object")
    return command, argument, token


def _plain(handler: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def handle(params: Any) -> Any:
        return handler(params)

    return handle


def _folders(params: Mapping[str, Any]) -> dict[str, str]:
    # Name by URI. `rootUri` and `rootPath` are what older clients have instead (LSP 3.17, "Initialize Request").
    listed = params.get("workspaceFolders")
    folders: dict[str, str] = {}
    for item in cast("list[Any]", listed) if isinstance(listed, list) else []:
        folder = _values(item) or {}
        uri, name = folder.get("uri"), folder.get("name")
        if isinstance(uri, str):
            folders[uri] = name if isinstance(name, str) else ""
    root_uri, root_path = params.get("rootUri"), params.get("rootPath")
    if not folders and isinstance(root_uri, str):
        folders[root_uri] = ""
    elif not folders and isinstance(root_path, str) and root_path.startswith("/"):
        folders[f"file://{quote(root_path)}"] = ""
    return folders


def _values(value: Any) -> dict[str, Any] | None:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _place(position: types.Position) -> Place:
    return Place(position.line, position.character)


def _content_change(change: types.TextDocumentContentChangeEvent) -> ContentChange:
    if isinstance(change, types.TextDocumentContentChangePartial):
        return ContentChange(_place(change.range.start), _place(change.range.end), change.text)
    return ContentChange(None, None, change.text)
