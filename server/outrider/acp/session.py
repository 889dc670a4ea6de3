"""One session of a client: a house of its own, with one conversation in it, and what the client and it say to each other.

In ACP each session has its own folders, servers and options. A house costs some milliseconds and no process, so each has one.
"""

import asyncio
import logging
import shutil
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from acp.exceptions import RequestError
from acp.schema import (
    AvailableCommand,
    AvailableCommandInput,
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    StopReason,
    UnstructuredCommandInput,
)

from outrider import app as composition
from outrider.acp.capabilities import as_object
from outrider.acp.client import Client
from outrider.acp.content import Flaw, Picture, Prompt, prompt_of
from outrider.acp.editor import ClientEditor, Level
from outrider.acp.options import DEFAULT, MODE, Options
from outrider.acp.questions import Questions
from outrider.acp.slash import SLASH_COMMANDS, Slash, slash_in
from outrider.acp.updates import Updates
from outrider.acp.wire import AUTH_REQUIRED, INTERNAL_ERROR, INVALID_PARAMS, NOT_FOUND
from outrider.agent.masking import keys_of
from outrider.agent.service.models import models
from outrider.agent.service.notices import Notices
from outrider.agent.session.session import Session
from outrider.agent.session.sessions import PAGE
from outrider.app import App
from outrider.commands import Commands
from outrider.ports.editor import ItemReply
from outrider.ports.events import LoggedEvent, StreamFrame
from outrider.ports.outside import ClientStart, Outside
from outrider.ports.refusal import CommandError
from outrider.store.problem import StoreProblem, StoreReadError
from outrider.workspace.documents.documents import DocumentStore
from outrider.workspace.paths import path_of
from outrider_protocol import ANSWER, CANCEL, FORK, RESUME, RUN
from outrider_protocol.events import Open
from outrider_protocol.settings import Tiers

logger = logging.getLogger(__name__)

CANCELLED_BY_CLIENT: Final = "cancelled by the client"
_AUTH_REASONS: Final = frozenset({"auth", "model_unavailable"})
"""Reasons for which a turn fails until the user has set up a model."""
_STOPS: Final[Mapping[str, StopReason]] = {
    "completed": "end_turn",
    "cancelled": "cancelled",
    "refused": "refusal",
    "budget_exhausted": "max_turn_requests",
}
_MOST_OVER: Final = 100
_TOKENS: Final = frozenset({"limits.tokens", "contextWindow"})
"""Budgets of tokens, of which ACP has a reason of its own."""


@dataclass(frozen=True, slots=True)
class _Ended:
    """How a turn ended, or that it waits for the user and nothing asks them."""

    outcome: str
    reason: str = ""
    summary: str = ""


class AcpSession:
    """A session that is open for the client."""

    def __init__(
        self, app: App, client: Client, editor: ClientEditor, session_id: str, held: Sequence[str]
    ) -> None:
        """Connect a house; see `open_session`."""
        self.id = session_id
        self.app = app
        self.commands = Commands(app)
        self._client = client
        self._editor = editor
        self._held = list(held)
        """What is to be told as soon as a prompt runs: clients show nothing before."""
        self.prompts: dict[Any, bool] = {}
        """The ids of the prompts that run."""
        self._order = asyncio.Lock()
        """Messages are handled in tasks of their own; what changes the session is done in the order in which it came."""
        self._ends: dict[str, asyncio.Future[_Ended]] = {}
        """By turn: what a prompt waits for."""
        self._over: OrderedDict[str, _Ended] = OrderedDict()
        """The turns that the client was told the end of, the latest."""
        self._ending: set[str] = set()
        """The turns that are being cancelled: with that the client answers what it was asked, too."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._attachments: Path | None = None
        settings = app.settings.now
        self.options = Options(
            settings.permission_mode,
            "tiers" if settings.tiers != Tiers() else settings.model,
            [name for name in settings.models if "/" in name],
            settings.thinking or DEFAULT,
        )
        self._model = self.options.model
        """What the settings say: a task that names a model gets no other in its place."""
        folders = app.services.workspace.folders
        root = next((str(folder.path) for folder in folders.folders), "/")
        self.updates = Updates(client, session_id, folders.straight, root)
        self.questions = Questions(
            client,
            session_id,
            under_review=app.sessions.under_review,
            subject_of=self.updates.subject_of,
            place_of=folders.straight,
            say=self.updates.note,
        )
        editor.connect(session_id, self.questions)
        editor.on_left = self._left
        self.keys: Callable[[], Iterable[str]] = keys_of(app.services)
        """Gives the keys that no log may have."""
        self._notices = Notices(app.sessions, lambda _, level, text: self.say(level, text))
        app.services.runtime.store.subscribe(self._on_event)
        app.sessions.on_unwritten_end = self._ended_unwritten

    # --- what the house says ------------------------------------------------------------------------------------

    def say(self, level: Level, text: str) -> None:
        """Tell the user: at once while a prompt runs, else with the next one."""
        if level == "log":
            logger.info("%s", text)
        elif self.prompts:
            self.updates.note(text)
        else:
            self._held.append(text)

    def on_frame(self, frame: StreamFrame) -> None:
        """Pass live text on."""
        if frame.session_id == self.id:
            self.updates.on_frame(frame)

    def _on_event(self, event: LoggedEvent) -> None:
        if event.session_id != self.id:
            return
        self.updates.on_event(event)
        self._notices.on_event(event)
        match event.type:
            case "turn.finished":
                data = event.data
                self._end(event.turn_id, _Ended(data["outcome"], data["reason"], data["summary"]))
            case "turn.parked":
                self._left()
            case _:
                pass

    def _ended_unwritten(self, turn_id: str) -> None:
        self._end(turn_id, _Ended("failed", "store_failed", "Outrider cannot write its log."))

    def _end(self, turn_id: str | None, how: _Ended) -> None:
        if turn_id is not None and how.outcome != "parked":
            self._ending.discard(turn_id)
            self._over[turn_id] = how
            if len(self._over) > _MOST_OVER:
                self._over.popitem(last=False)
        ending = self._ends.get(turn_id or "")
        if ending is not None and not ending.done():
            ending.set_result(how)

    def _left(self) -> None:
        """The turn is parked: a prompt ends if nothing asks the user any more, so that they can write."""
        session = self._session
        turn = session.record.state.turn if session is not None else None
        if session is None or turn is None or not turn.parked:
            return
        if not self._editor.asking & {item.id for item in session.inbox.open}:
            for turn_id in self._ends.keys() - self._ending:
                self._end(turn_id, _Ended("parked"))

    @property
    def _session(self) -> Session | None:
        found = self.app.sessions.get(self.id)
        return found if isinstance(found, Session) else None

    # --- prompts ------------------------------------------------------------------------------------------------

    async def prompt(self, given: Any) -> StopReason:
        """Take a prompt, and wait until its turn is over; raises RequestError."""
        prompt = prompt_of(given, self.app.services.workspace.folders)
        if isinstance(prompt, Flaw):
            raise invalid(prompt)
        try:
            held, self._held = self._held, []
            for text in held:
                self.updates.note(text)
            slash = slash_in(prompt.command)
            if slash is not None:
                return await self._slash(slash, prompt)
            return await self._task(prompt)
        except CommandError as error:
            raise refused(error) from error
        except StoreReadError as error:
            raise RequestError(INTERNAL_ERROR, error.problem.message) from error

    async def _slash(self, slash: Slash, prompt: Prompt) -> StopReason:
        if slash.mode is not None:
            return await self._task(Prompt(slash.rest, "", prompt.pictures, prompt.uris), slash.mode)
        try:
            turn_id = await SLASH_COMMANDS[slash.name].run(self, slash.rest)
        except CommandError as error:
            self.updates.say(f"{error.message}.")
            return "end_turn"
        return "end_turn" if turn_id is None else await self.until_end(turn_id)

    async def _task(self, prompt: Prompt, mode: str | None = None) -> StopReason:
        async with self._order:
            await self._resumed()
            waiting = self._waiting
            answer = answer_in(waiting[0], prompt.text) if len(waiting) == 1 and mode is None else None
            if answer is not None:
                # The user was asked in words, and answers in words.
                turn_id = waiting[0].turn_id
                ending = self._expect(turn_id)
                await self.commands.execute(ANSWER, {"id": waiting[0].id, "answer": answer})
            else:
                turn_id, ending = await self._begin(prompt, mode)
                self._ask_again(waiting)
        return await self.until_end(turn_id, ending)

    async def _begin(self, prompt: Prompt, mode: str | None) -> "tuple[str, asyncio.Future[_Ended]]":
        pictures = await asyncio.to_thread(self._attach, prompt.pictures) if prompt.pictures else []
        params: dict[str, Any] = {
            "sessionId": self.id,
            "prompt": prompt.text,
            "mode": mode or self.options.choice.mode,
        }
        if uris := [*prompt.uris, *pictures]:
            params["context"] = {"documents": uris}
        if self.options.model != self._model:
            params["model"] = self.options.model
        if self.options.thinking != DEFAULT:
            params["thinking"] = self.options.thinking
        turn_id = str((await self.commands.execute(RUN, params))["turnId"])
        return turn_id, self._expect(turn_id)

    def _attach(self, pictures: Sequence[Picture]) -> list[str]:
        """Put images where a task finds them; gives their URIs. Blocks."""
        if self._attachments is None:
            self._attachments = Path(tempfile.mkdtemp(prefix="outrider-"))
        folder = Path(tempfile.mkdtemp(dir=self._attachments))
        uris: list[str] = []
        for number, picture in enumerate(pictures):
            path = folder / (f"{number + 1}-{picture.name}" if len(pictures) > 1 else picture.name)
            path.write_bytes(picture.content)
            uris.append(path.as_uri())
        return uris

    def _expect(self, turn_id: str) -> "asyncio.Future[_Ended]":
        """What a prompt waits for: that the client was told the end of a turn."""
        ending = self._ends.get(turn_id)
        if ending is None or ending.done():
            ending = self._ends[turn_id] = asyncio.get_running_loop().create_future()
            if (over := self._over.get(turn_id)) is not None:
                ending.set_result(over)
        return ending

    async def until_end(self, turn_id: str, ending: "asyncio.Future[_Ended] | None" = None) -> StopReason:
        """Wait until a turn is over or waits for the user's words; gives why the client's turn stops. Raises RequestError."""
        ending = ending or self._expect(turn_id)
        try:
            ended = await asyncio.shield(ending)
        finally:
            if self._ends.get(turn_id) is ending:
                del self._ends[turn_id]
        match ended.outcome:
            case "parked":
                self._tell_what_waits()
                return "end_turn"
            case "budget_exhausted" if ended.reason in _TOKENS:
                return "max_tokens"
            case "failed":
                code = AUTH_REQUIRED if ended.reason in _AUTH_REASONS else INTERNAL_ERROR
                raise RequestError(code, ended.summary or ended.reason, {"reason": ended.reason})
            case outcome:
                return _STOPS[outcome]

    # --- what waits for the user --------------------------------------------------------------------------------

    @property
    def _waiting(self) -> list[Open]:
        """The open items that the client does not have before its user."""
        session = self._session
        items: Iterable[Open] = () if session is None else session.record.state.open.values()
        return [item for item in items if item.kind != "tool" and item.id not in self._editor.asking]

    def _tell_what_waits(self) -> None:
        for item in self._waiting:
            is_question = item.kind == "question"
            options = (
                [f"{number}. {one}" for number, one in enumerate(item.options, 1)] if is_question else []
            )
            how = "Send any message to be asked again."
            if options:
                how = "Write your answer, or its number." if item.allow_free_form else "Write its number."
            elif item.allow_free_form:
                how = "Write your answer."
            told = f"Outrider is waiting for you: “{item.summary or item.title}”. {how}"
            self.updates.note("\n".join([told, *options]))

    def _ask_again(self, waiting: Sequence[Open]) -> None:
        """Put items before the user once more that they gave no answer to. Those of a session just resumed are asked anyway."""
        session = self._session
        asked = {item.id for item in session.inbox.for_user} if session is not None else set[str]()
        for item in waiting:
            if item.id in asked:
                self.spawn(self._ask(item))

    async def _ask(self, item: Open) -> None:
        reply = await self._editor.ask_item(self.id, item.to_wire(), seconds=0, overdue=_nothing)
        if isinstance(reply, ItemReply):
            try:
                await self.commands.execute(ANSWER, {"id": item.id, **as_object(reply.value)})
            except CommandError as error:
                self.say("warning", f"Outrider: {error.message}.")

    # --- what the client can do ---------------------------------------------------------------------------------

    async def _resumed(self) -> None:
        """Open the session from the log, if it is only there; what was cut off goes on."""
        if self._session is None:
            await self.commands.execute(RESUME, {"sessionId": self.id})
            await asyncio.sleep(0)  # what it asks again is asked now

    async def resume(self) -> str | None:
        """Let what was cut off go on; gives its turn."""
        async with self._order:
            await self._resumed()
            session = self._session
            return None if session is None else session.record.state.current

    async def cancel(self) -> None:
        """End the running turn and those that wait."""
        async with self._order:
            session = self._session
            if session is None:
                return
            state = session.record.state
            # The waiting ones first, or the next of them would begin.
            turns = [
                *(turn.turn_id for turn in reversed(state.queue)),
                *([state.current] if state.current else []),
            ]
            self._ending.update(turns)
            for turn_id in turns:
                await self.commands.execute(CANCEL, {"turnId": turn_id, "reason": CANCELLED_BY_CLIENT})

    async def choose(self, option: str, value: str) -> None:
        """Take over what the user chose in the client; raises RequestError."""
        async with self._order:
            if problem := self.options.choose(option, value):
                raise RequestError(INVALID_PARAMS, problem, {"path": option, "problem": problem})
            permission_mode = self.options.choice.permission_mode
            if option == MODE and permission_mode is not None:
                self.app.choose_mode(permission_mode)
                now = self.app.settings.now.permission_mode
                if now != permission_mode:
                    self.say(
                        "warning",
                        f"Outrider works in permission mode {now}, because this folder is not trusted.",
                    )

    def tell_options(self) -> None:
        """Tell the client what is chosen now."""
        shown = self.options.shown()
        self._client.update(
            self.id, ConfigOptionUpdate(session_update="config_option_update", config_options=list(shown))
        )
        self._client.update(
            self.id,
            CurrentModeUpdate(session_update="current_mode_update", current_mode_id=self.options.mode),
        )

    def begin(self) -> None:
        """Tell what there is to choose from, once the client knows the session."""
        commands = [
            AvailableCommand(
                name=name,
                description=one.description,
                input=AvailableCommandInput(UnstructuredCommandInput(hint=one.hint)) if one.hint else None,
            )
            for name, one in SLASH_COMMANDS.items()
        ]
        told = AvailableCommandsUpdate(
            session_update="available_commands_update", available_commands=commands
        )
        self._client.update(self.id, told)
        if self.app.settings.now.providers:
            self.spawn(self._list_models())

    async def _list_models(self) -> None:
        """Providers are asked what they have, which takes seconds."""
        found = [one.model for one in (await models(self.app.services)).models]
        if found != list(self.options.models):
            self.options.models = found
            self.tell_options()

    async def tell_all(self) -> None:
        """Tell the conversation so far."""
        self.updates.is_replay = True
        try:
            first = 1
            while events := await self.app.services.runtime.store.events(self.id, first, PAGE):
                for event in events:
                    self.updates.on_event(event)
                    first = event.seq + 1
                await asyncio.sleep(0)  # a long one does not hold up the others
        finally:
            self.updates.is_replay = False

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Start something that nobody waits for; its failure is logged."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (problem := task.exception()):
            logger.error("a task of session %s failed", self.id, exc_info=problem)

    async def close(self, reason: str) -> None:
        """Let go of everything: the turn is cancelled, what waits for the user goes on waiting."""
        for task in tuple(self._tasks):
            task.cancel()
        self._ending.update(self._ends)
        await self.app.close(reason)
        for turn_id in list(self._ends):
            self._end(turn_id, _Ended("cancelled"))
        self.updates.close()
        if self._attachments is not None:
            await asyncio.to_thread(shutil.rmtree, self._attachments, ignore_errors=True)

    async def has(self, session_id: str) -> bool:
        """Whether the log has a session."""
        return bool(await self.app.services.runtime.store.last_seq(session_id))

    async def model_problem(self) -> str | None:
        """Why there is no model to work with, None where there is one."""
        return await self.app.model_problem()


def answer_in(item: Open, text: str) -> str | None:
    """The answer to a question that a message gives: an option or its number, or any words where they are wanted."""
    said = text.strip()
    options = item.options if item.kind == "question" else ()
    chosen = next((one for one in options if one.casefold() == said.casefold()), None)
    if chosen is None and said.isascii() and said.isdecimal() and len(said) <= len(str(len(options))):
        chosen = options[int(said) - 1] if 1 <= int(said) <= len(options) else None
    return chosen if chosen is not None or not item.allow_free_form else text


async def open_session(
    client: Client,
    folders: Sequence[Path],
    outside: Outside | None,
    session_id: str | None = None,
    *,
    forks: bool = False,
    servers: Mapping[str, Mapping[str, Any]] | None = None,
) -> AcpSession:
    """Build a house for a session; raises RequestError.

    Args:
        client: The client.
        folders: The workspace folders.
        outside: The surroundings; None reads those of this process.
        session_id: The session of the log that it is for; None: a new one.
        forks: Whether it is for a copy of that session.
        servers: The MCP servers that the client hands over, in the form of the setting `mcpServers`.
    """
    documents = DocumentStore()
    documents.encoding = "utf-32"  # places are ours alone: the client gets whole texts
    said: list[str] = []
    opened: list[AcpSession] = []

    def say(level: Level, text: str) -> None:
        if opened:
            opened[0].say(level, text)
        elif level != "log":
            said.append(text)

    def on_frame(frame: StreamFrame) -> None:
        if opened:
            opened[0].on_frame(frame)

    editor = ClientEditor(client, documents, say)
    named = tuple((path.name or str(path), path.as_uri()) for path in folders)
    given = {"mcpServers": servers} if servers else {}
    start = ClientStart(given, named, client.can.name, client.can.version)
    app = await composition.start(start, editor, documents, outside, on_frame)
    if isinstance(app, StoreProblem):
        raise RequestError(INTERNAL_ERROR, app.message, {"reason": "store_failed"})
    try:
        said += [f"Outrider: {message}" for message in app.messages]
        if session_id is None:
            made = await app.sessions.create()
            if not isinstance(made, Session):
                raise RequestError(INTERNAL_ERROR, made.message, {"reason": made.reason})
            session_id = made.id
        else:
            await _check(app, session_id, folders)
            if forks:
                session_id = str((await Commands(app).execute(FORK, {"sessionId": session_id}))["sessionId"])
    except CommandError as error:
        await app.close("not opened")
        raise refused(error) from error
    except BaseException:
        await app.close("not opened")
        raise
    session = AcpSession(app, client, editor, session_id, said)
    opened.append(session)
    return session


async def _check(app: App, session_id: str, folders: Sequence[Path]) -> None:
    """Raise RequestError where a session is not in the log, or belongs to other folders."""
    row = next(
        (one for one in await app.services.runtime.store.sessions() if one.session_id == session_id), None
    )
    if row is None:
        raise RequestError(NOT_FOUND, f"there is no session {ascii(session_id)[:80]}")
    own = [str(path) for uri in row.folders if (path := path_of(uri))]
    if own and str(folders[0]) not in own:
        raise invalid(Flaw("cwd", f"{session_id} belongs to {', '.join(own)}"))


def invalid(flaw: Flaw) -> RequestError:
    """The error for a param that cannot be used."""
    return RequestError(
        INVALID_PARAMS, f"{flaw.path}: {flaw.problem}", {"path": flaw.path, "problem": flaw.problem}
    )


def refused(error: CommandError) -> RequestError:
    """The error of a command as one of ACP."""
    data = dict(error.data or {})
    code = AUTH_REQUIRED if data.get("reason") == "model_unavailable" else error.code
    return RequestError(code, error.message, data)


def _nothing() -> None:
    pass
