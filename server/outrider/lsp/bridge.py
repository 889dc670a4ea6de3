"""From the LSP room to the house: loaded after `initialize` is answered, because what it imports takes time."""

import logging
from collections.abc import Mapping
from typing import Any, cast

from outrider import app as composition
from outrider.app import App
from outrider.lsp.actions import Cursor, code_actions
from outrider.lsp.commands import Commands
from outrider.lsp.editor import ClientEditor
from outrider.lsp.errors import CommandError
from outrider.lsp.lenses import code_lenses
from outrider.lsp.progress import ProgressFactory
from outrider.lsp.reporter import Reporter
from outrider.ports.events import LoggedEvent, StreamFrame
from outrider.ports.outside import ClientStart, Outside
from outrider.ports.text import Place
from outrider.store.problem import StoreProblem, StoreReadError
from outrider.workspace.documents import DocumentStore
from outrider_protocol import REQUEST_FAILED, WAIT

_MOVES_CHANGES = frozenset({"edit.applied", "edit.merged", "workspace.changed", "session.restored"})
"""Events after which changes are elsewhere."""

_log = logging.getLogger(__name__)


class Bridge:
    """What the server asks of the house."""

    def __init__(self, app: App, editor: ClientEditor, reporter: Reporter) -> None:
        """Connect a standing house."""
        self._app = app
        self._editor = editor
        self._reporter = reporter
        self._commands = Commands(app)
        self._shows_lenses = False
        """Whether the client has ever asked for code lenses: what it does not show it need not ask for again."""
        app.services.store.subscribe(self._on_event)

    def _on_event(self, event: LoggedEvent) -> None:
        if self._app.current.events:
            self._editor.publish_event(event)
        self._reporter.on_event(event)
        if event.type in _MOVES_CHANGES and self._app.current.code_lens and self._shows_lenses:
            self._editor.refresh_lenses()

    def on_frame(self, frame: StreamFrame) -> None:
        """Pass live text on."""
        if self._app.current.events:
            self._editor.publish_frame(frame)

    async def execute(self, command: str, argument: Any, work_done_token: str | int | None) -> Any:
        """Do a command of the command table. Raises CommandError."""
        if command == WAIT and work_done_token is not None and isinstance(argument, dict):
            turn_id = str(cast("dict[str, Any]", argument).get("turnId", ""))
            with self._reporter.also(work_done_token, turn_id):
                return await self._commands.execute(command, argument)
        return await self._commands.execute(command, argument)

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
        if not automatic:
            try:
                await self._app.sessions.look_for_resting()
            except StoreReadError as error:  # the actions that need no log are offered all the same
                _log.warning("open items are not looked for: %s", error)
        return await code_actions(self._app, Cursor(uri, start, end), diagnostics, only)

    async def code_lenses(self, uri: str) -> list[dict[str, Any]]:
        """The code lenses of a document."""
        self._shows_lenses = True
        return await code_lenses(self._app, uri)

    async def configure(self, values: Mapping[str, Any] | None) -> None:
        """Take over what the client's configuration says."""
        before = self._app.current.code_lens
        self._say(self._app.configure(values))
        if self._app.current.code_lens != before and self._shows_lenses:
            self._editor.refresh_lenses()

    async def folders_changed(self, folders: tuple[tuple[str, str], ...]) -> None:
        """Take over other workspace folders."""
        self._app.set_folders(folders)

    async def close(self, reason: str) -> None:
        """Let go of everything."""
        await self._app.close(reason)

    def _say(self, messages: tuple[str, ...]) -> None:
        for message in messages:
            self._editor.say("warning", f"Outrider: {message}")

    async def say_about_settings(self) -> None:
        """Say what is wrong with the settings, a model that cannot be had included."""
        self._say(self._app.messages)
        if self._app.current.model is not None and (problem := await self._app.model_problem()):
            self._say((problem,))


class ClosedBridge:
    """Stands in where the house could not be built: every command says why."""

    def __init__(self, problem: StoreProblem) -> None:
        """Keep the reason."""
        self._problem = problem

    async def execute(self, command: str, argument: Any, work_done_token: str | int | None) -> Any:
        """Say why there is nothing to do it with."""
        raise CommandError(REQUEST_FAILED, self._problem.message, {"reason": "store_failed"})

    async def code_actions(
        self,
        uri: str,
        start: Place,
        end: Place,
        diagnostics: list[dict[str, Any]],
        only: list[str] | None,
        automatic: bool,
    ) -> list[dict[str, Any]]:
        """None."""
        return []

    async def code_lenses(self, uri: str) -> list[dict[str, Any]]:
        """None."""
        return []

    async def configure(self, values: Mapping[str, Any] | None) -> None:
        """Nothing to configure."""

    async def folders_changed(self, folders: tuple[tuple[str, str], ...]) -> None:
        """Nothing to tell."""

    async def close(self, reason: str) -> None:
        """Nothing to let go of."""


async def start(
    client: ClientStart,
    editor: ClientEditor,
    documents: DocumentStore,
    progress: ProgressFactory,
    outside: Outside | None,
) -> Bridge | ClosedBridge:
    """Build the house behind the bridge."""

    def on_frame(frame: StreamFrame) -> None:
        bridge.on_frame(frame)

    app = await composition.start(client, editor, documents, outside, on_frame)
    if isinstance(app, StoreProblem):
        editor.say("error", f"Outrider: {app.message}")
        return ClosedBridge(app)
    bridge = Bridge(app, editor, Reporter(editor, progress, app.sessions))
    await bridge.say_about_settings()
    return bridge
