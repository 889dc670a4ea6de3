"""From the LSP room to the house: loaded after `initialize` is answered, because what it imports takes time."""

import asyncio
import logging
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, cast

from outrider import app as composition
from outrider.agent.masking import keys_of
from outrider.agent.state.state import SessionState
from outrider.app import App
from outrider.commands import begin
from outrider.lsp.editor import ClientEditor
from outrider.lsp.features.check_failures import CheckFailures
from outrider.lsp.features.code_actions import CHOOSE_MODEL, Cursor, code_actions, code_lenses
from outrider.lsp.features.progress import ProgressFactory
from outrider.lsp.features.progress_reporter import Reporter
from outrider.lsp.features.task_actions import SHORT_PROMPT, short
from outrider.ports.events import LoggedEvent, StreamFrame
from outrider.ports.outside import ClientStart, Outside
from outrider.ports.refusal import CommandError
from outrider.ports.text import Place
from outrider.store.problem import StoreProblem, StoreReadError
from outrider.transport.log import keep_out
from outrider.workspace.documents.documents import DocumentStore
from outrider_protocol import (
    ACTION_PREFIX,
    ANSWER,
    CANCEL,
    CHANGES,
    EVENTS,
    EXPLORE,
    REDO,
    REQUEST_FAILED,
    RESUME,
    RUN,
    STEER,
    UNDO,
    WAIT,
)  # fmt: skip
from outrider_protocol.notifications import Left

ALREADY_SENT = "that text was already sent; add something new and send that"
_MOVES_CHANGES = frozenset(
    {"edit.applied", "edit.merged", "workspace.changed", "workspace.renamed", "session.restored"}
)
"""Events after which changes are elsewhere."""
_GOES_BY_NAMES: Final = frozenset({CHANGES, REDO, RUN, UNDO})
"""Commands that wait until what was renamed before is followed."""
_ASKED_FOR: Final[Mapping[str, tuple[str, ...]]] = {
    RUN: ("prompt",),
    EXPLORE: ("prompt",),
    STEER: ("text",),
    ANSWER: ("answer", "note"),
    CANCEL: (),
    RESUME: (),
    UNDO: (),
    REDO: (),
}
"""What a user asks for, with the keys of what they may have written for it in the task document."""

_log = logging.getLogger(__name__)


class Bridge:
    """What the server asks of the house."""

    def __init__(self, app: App, editor: ClientEditor, reporter: Reporter) -> None:
        """Connect a standing house."""
        self._app = app
        self._editor = editor
        self._reporter = reporter
        self._commands = begin(app)
        self._failures = CheckFailures(editor, app.services)
        self._held: dict[str, list[LoggedEvent | StreamFrame | Left]] = {}
        """By session, while its log is read: what the client gets after the answer, events and live text in order."""
        self._reads: Counter[str] = Counter()
        self._shows_lenses = False
        """Whether the client has ever asked for code lenses: what it does not show it need not ask for again."""
        app.services.runtime.store.subscribe(self._on_event)
        app.sessions.on_elsewhere = self._on_elsewhere
        app.sessions.on_unwatched = self._on_unwatched

    def _on_elsewhere(self, told: LoggedEvent | StreamFrame) -> None:
        """Pass on what another process does: its progress is shown there."""
        if (held := self._held.get(told.session_id)) is not None:
            held.append(told)
        else:
            self._publish(told)
        if not isinstance(told, StreamFrame):
            self._app.task_document.on_event(told)

    def _on_unwatched(self, state: SessionState) -> None:
        """Tell that nobody tells of a session any more; who gets no events is told where that leaves a task undone."""
        left = Left(session_id=state.session_id, unfinished=state.turn is not None)
        if (held := self._held.get(state.session_id)) is not None:
            held.append(left)
        else:
            self._publish(left)
        if left.unfinished and not self._app.settings.now.events:
            what = short(state.turn.prompt if state.turn else "", SHORT_PROMPT)
            go_on = f"`{ACTION_PREFIX}resume “{what}”`"
            self._editor.say(
                "warning",
                f"Outrider: “{what}” ended in the middle, where it ran. {go_on} goes on with it here.",
            )
        self._app.task_document.look()

    def _on_event(self, event: LoggedEvent) -> None:
        if event.type == "workspace.renamed" and not self._app.sessions.runs(event.session_id):
            return  # clients take who tells of a session for the one that runs it
        if (held := self._held.get(event.session_id)) is not None:
            held.append(event)
        else:
            self._publish(event)
        self._reporter.on_event(event)
        self._failures.on_event(event)
        self._app.task_document.on_event(event)
        if event.type in _MOVES_CHANGES and self._app.settings.now.code_lens and self._shows_lenses:
            self._editor.refresh_lenses()

    def _publish(self, one: LoggedEvent | StreamFrame | Left) -> None:
        if not self._app.settings.now.events:
            return
        if isinstance(one, StreamFrame):
            self._editor.publish_frame(one)
        elif isinstance(one, Left):
            self._editor.publish_left(one)
        else:
            self._editor.publish_event(one)

    def on_frame(self, frame: StreamFrame) -> None:
        """Pass live text on."""
        if (held := self._held.get(frame.session_id)) is not None:
            held.append(frame)
        else:
            self._publish(frame)

    async def execute(self, command: str, argument: Any, work_done_token: str | int | None) -> Any:
        """Do a command of the command table. Raises CommandError."""
        if command in _GOES_BY_NAMES:
            await self._app.renames.settled()
        if command == WAIT and work_done_token is not None and isinstance(argument, dict):
            turn_id = str(cast("dict[str, Any]", argument).get("turnId", ""))
            with self._reporter.also(work_done_token, turn_id):
                return await self._commands.execute(command, argument)
        if command == EVENTS and isinstance(argument, dict):
            with self._before_its_events(str(cast("dict[str, Any]", argument).get("sessionId", ""))):
                return await self._commands.execute(command, argument)
        if command in _ASKED_FOR:
            return await self._ask_for(command, argument)
        return await self._commands.execute(command, argument)

    async def _ask_for(self, command: str, argument: Any) -> Any:
        """Do what a user asks for; in the task document it is told where that was not done, as some clients tell nothing."""
        document = self._app.task_document
        given = cast("dict[str, Any]", argument) if isinstance(argument, dict) else {}
        draft = given.get("draft")
        if isinstance(draft, str) and not document.take(draft):
            # Some clients deliver an action twice.
            raise CommandError(REQUEST_FAILED, ALREADY_SENT, {"reason": "already_resolved"})
        try:
            result = await self._commands.execute(command, argument)
        except CommandError as told:
            error = self._with_the_way(told)
            document.not_done(error.message)
            if isinstance(draft, str):
                document.put_back(draft)
            raise error from told
        text = next((given[key] for key in _ASKED_FOR[command] if key in given), None)
        document.done(text if isinstance(text, str) else None)
        return result

    def _with_the_way(self, error: CommandError) -> CommandError:
        """A refusal for want of a model, with the action that leads to one."""
        if (error.data or {}).get("reason") != "model_unavailable":
            return error
        return CommandError(error.code, self._led(error.message), error.data)

    def _led(self, problem: str) -> str:
        """What is said of a missing model; with the action that leads to one, where the client has no button for it."""
        if self._app.settings.now.events or not self._app.lacks_model:
            return problem
        return f"{problem}, or take the code action `{ACTION_PREFIX}{CHOOSE_MODEL}`"

    @contextmanager
    def _before_its_events(self, session_id: str) -> Generator[None]:
        """Hold back the events and the live text of a session until an answer is written.

        What is committed while the log is read would else come before the answer that lacks it, and a client could
        not tell from the two what is missing.
        """
        self._reads[session_id] += 1
        self._held.setdefault(session_id, [])
        try:
            yield
        finally:
            # The answer goes out in the step that ends here, so the next one is after it.
            asyncio.get_running_loop().call_soon(self._let_go, session_id)

    def _let_go(self, session_id: str) -> None:
        self._reads[session_id] -= 1
        if not self._reads[session_id]:
            del self._reads[session_id]
            for one in self._held.pop(session_id):
                self._publish(one)

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
                _log.warning("open items could not be listed: %s", error)
        return await code_actions(self._app, Cursor(uri, start, end), diagnostics, only)

    async def code_lenses(self, uri: str) -> list[dict[str, Any]]:
        """The code lenses of a document."""
        self._shows_lenses = True
        return await code_lenses(self._app, uri)

    async def configure(self, values: Mapping[str, Any] | None) -> None:
        """Take over what the client's configuration says."""
        before = self._app.settings.now.code_lens
        self._say(self._app.configure(values))
        if self._app.settings.now.code_lens != before and self._shows_lenses:
            self._editor.refresh_lenses()

    async def folders_changed(self, folders: tuple[tuple[str, str], ...]) -> None:
        """Take over other workspace folders."""
        self._app.set_folders(folders)

    def saved(self, uri: str) -> None:
        """Take note that a document was saved."""
        self._app.setup_document.saved(uri)

    def files_renamed(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Have the sessions follow what the user renamed."""
        self._app.renames.take_in([pair for pair in pairs if not self._editor.is_own_rename(*pair)])

    async def close(self, reason: str) -> None:
        """Let go of everything."""
        await self._failures.close()
        await self._app.close(reason)

    def _say(self, messages: tuple[str, ...]) -> None:
        for message in messages:
            self._editor.say("warning", f"Outrider: {message}")

    async def say_about_settings(self) -> None:
        """Say what is wrong with the settings, a model that cannot be had included."""
        self._say(self._app.messages)
        if self._app.settings.now.model is not None and (problem := await self._app.model_problem()):
            self._say((self._led(problem),))

    async def say_what_was_cut_off(self) -> None:
        """Say which task the server before this one left in the middle; a client that gets events sees its sessions itself."""
        if self._app.settings.now.events:
            return
        try:
            await self._app.sessions.look_for_resting()
        except StoreReadError as error:
            _log.warning("interrupted tasks could not be listed: %s", error)
        if resting := self._app.sessions.resting:
            latest, more = resting[0], len(resting) - 1
            what = short(latest.prompt, SHORT_PROMPT)
            how = f"“{what}” still waits for you" if latest.items else f"the server was stopped in “{what}”"
            can = [
                *(["answer"] if latest.items else []),
                "resume",
                "cancel",
                *(["undo"] if latest.undoes is not None else []),
            ]
            way_on = f"Code actions {', '.join(can[:-1])} or {can[-1]} it."
            if not self._editor.takes_actions:  # a terminal, or a program
                way_on = f"`outrider run --session {latest.session_id}` goes on with it."
            others = f" The same is true of {more} more {'task' if more == 1 else 'tasks'}." if more else ""
            # Helix shows one line.
            self._editor.say("warning", f"Outrider: {how}. {way_on}{others}")


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

    def saved(self, uri: str) -> None:
        """Nobody to take note."""

    def files_renamed(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Nobody to follow them."""

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
    keep_out(keys_of(app.services))
    bridge = Bridge(app, editor, Reporter(editor, progress, app.sessions, lambda: app.settings.now.events))
    await bridge.say_about_settings()
    await bridge.say_what_was_cut_off()
    return bridge
