"""Sessions that another process runs and this one has joined: what happens there is told here, and answers go there.

Nothing is written here. Buffers and edits stay with the process that runs the session.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import ValidationError

from outrider.agent.interaction.inbox import shortened
from outrider.agent.services import Services
from outrider.agent.session.session import Refused
from outrider.agent.state.state import SessionState
from outrider.peers.caller import Caller, HungUpError, find
from outrider.ports.editor import Answered, ItemReply
from outrider.ports.events import LoggedEvent, StreamFrame, from_wire
from outrider.ports.refusal import CommandError
from outrider_protocol import ALWAYS_ALLOW, ANSWER, DECISIONS, REQUEST_FAILED, REVIEW
from outrider_protocol.commands import SessionStatus
from outrider_protocol.events import Open
from outrider_protocol.requests import AskReply

log = logging.getLogger(__name__)

PAGE: Final = 2000
"""Events read from the log at once."""
_NOT_ANYWHERE: Final = "another process runs session {!r} and cannot be reached"
_LOOKS, _LOOK_SECONDS = 200, 0.05
"""How often to look whether a dead process has released a session, and the seconds between two looks."""
ONLY_WATCHED: Final = (
    "anybody on this machine may be at this connection, so a session of another process can only be watched here; "
    "start the server with --tcp-token-file"
)

Told = Callable[[LoggedEvent | StreamFrame], None]


@dataclass(slots=True)
class _Watch:
    """A session that is watched."""

    caller: Caller
    state: SessionState
    asking: dict[str, asyncio.Task[None]] = field(default_factory=dict[str, asyncio.Task[None]])
    """The open items that the user is asked about here."""
    ending: asyncio.Task[None] | None = None


class Joined:
    """The sessions that are joined."""

    def __init__(self, services: Services) -> None:
        """Begin with none."""
        self._services = services
        self._runtime = services.runtime
        self._watches: dict[str, _Watch] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self.on_told: Told = lambda _: None
        """Is told of each event and frame of the sessions that are joined, in order and without gaps."""
        self.on_left: Callable[[SessionState], None] = lambda _: None
        """Is told of a session that is joined no longer, as it was then."""
        self.on_ended: Callable[[SessionState], None] = lambda _: None
        """Is told of one that the other process runs no more, after `on_left`."""

    @property
    def states(self) -> list[SessionState]:
        """The sessions that are joined, as they are."""
        return [watch.state for watch in self._watches.values()]

    @property
    def waiting(self) -> list[Open]:
        """What waits for the user in them."""
        return [item for state in self.states for item in state.open.values() if item.kind != "tool"]

    async def command(self, session_id: str, name: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Have the process that runs a session do a command; None where it cannot be reached.

        Args:
            session_id: The session.
            name: A command of the command table.
            params: Its params, as on the wire.

        Raises:
            CommandError: it refused.
        """
        caller = await find(self._runtime.state_dir, session_id)
        if caller is None:
            return None
        try:
            return _result(await caller.ask(command=name, params=dict(params)))
        except HungUpError:
            return None
        finally:
            await caller.close()

    async def join(self, session_id: str) -> SessionStatus | Refused:
        """Watch a session that another process runs, and ask the user here, too, what it asks.

        Raises:
            StoreReadError: the log is damaged or cannot be read.
        """
        if (watch := self._watches.get(session_id)) is None:
            early: list[Mapping[str, Any]] = []

            def heard(told: Mapping[str, Any]) -> None:
                if (watch := self._watches.get(session_id)) is not None:
                    self._heard(watch, told)
                else:
                    early.append(told)

            caller = await find(self._runtime.state_dir, session_id, heard)
            if caller is None:
                return Refused("session_in_use", _NOT_ANYWHERE.format(session_id))
            try:
                await caller.ask(watch=session_id)
                state = SessionState(session_id)
                await self._catch_up(state, lambda _: None)
            except HungUpError:
                await caller.close()
                return Refused("session_in_use", _NOT_ANYWHERE.format(session_id))
            watch = self._watches[session_id] = _Watch(caller, state)
            watch.ending = self._watched(self._until_it_ends(session_id, watch))
            for told in early:
                heard(told)
            self._ask_what_is_open(watch)
        status = await self.command(session_id, "outrider.status", {"sessionId": session_id})
        if status is None or not status["sessions"]:
            return Refused("session_in_use", _NOT_ANYWHERE.format(session_id))
        return SessionStatus.from_wire({**status["sessions"][0], "elsewhere": True})

    async def leave(self, session_id: str) -> bool:
        """Watch a session no longer; False if it was not watched."""
        watch = self._watches.get(session_id)
        if watch is None:
            return False
        await self._end(session_id, watch)
        return True

    async def close(self) -> None:
        """Leave all of them."""
        for session_id, watch in list(self._watches.items()):
            await self._end(session_id, watch)
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # --- what it tells -------------------------------------------------------------------------------------------

    def _heard(self, watch: _Watch, told: Mapping[str, Any]) -> None:
        if "event" in told:
            self._take(watch.state, from_wire(told["event"]), self.on_told)
            self._ask_what_is_open(watch)
        elif "frame" in told:
            frame = told["frame"]
            self.on_told(StreamFrame(watch.state.session_id, **frame))

    def _take(self, state: SessionState, event: LoggedEvent, tell: Told) -> None:
        if event.seq == state.last_seq + 1:
            state.apply(event)
            tell(event)

    async def _catch_up(self, state: SessionState, tell: Told) -> None:
        """Take in what is in the log and was not told."""
        store = self._runtime.store
        while events := await store.events(state.session_id, state.last_seq + 1, PAGE):
            for event in events:
                self._take(state, event, tell)

    async def _until_it_ends(self, session_id: str, watch: _Watch) -> None:
        """Wait until the session is let go of there, or the process is gone: what it wrote until then is in the log."""
        await watch.caller.ended()
        await self._catch_up(watch.state, self.on_told)
        watch.ending = None
        await self._end(session_id, watch)
        await self._until_it_is_free(session_id)
        self.on_ended(watch.state)

    async def _until_it_is_free(self, session_id: str) -> None:
        """Wait until the session can be opened: a process that is killed lets go of its files one by one."""
        for _ in range(_LOOKS):
            if (lock := self._runtime.store.lock(session_id)) is not None:
                lock.release()
                return
            await self._runtime.deadlines.sleep(_LOOK_SECONDS)

    async def _end(self, session_id: str, watch: _Watch) -> None:
        if self._watches.get(session_id) is not watch:
            return
        del self._watches[session_id]
        if watch.ending is not None:
            watch.ending.cancel()
        for asking in watch.asking.values():
            asking.cancel()
        await watch.caller.close()
        self.on_left(watch.state)

    # --- what it asks --------------------------------------------------------------------------------------------

    def _ask_what_is_open(self, watch: _Watch) -> None:
        """Ask about what is new, and take down what was answered."""
        for item_id in [one for one in watch.asking if one not in watch.state.open]:
            watch.asking.pop(item_id).cancel()
        if not self._runtime.editor.traits.takes_approvals:
            return  # anybody may be there, and the session is not theirs
        for item in watch.state.open.values():
            if item.kind != "tool" and item.id not in watch.asking:
                watch.asking[item.id] = self._watched(self._ask(watch.state.session_id, item))

    async def _ask(self, session_id: str, item: Open) -> None:
        """Ask the user about an item; the first answer counts, wherever it is given."""
        params = await self._answer(session_id, item)
        if params is None:
            return
        try:
            await self.command(session_id, ANSWER, {"id": item.id, **params})
        except CommandError as refused:
            if (refused.data or {}).get("reason") != "already_resolved":
                self._runtime.warn(f"“{item.summary or item.title}” stays open: {refused.message}")

    async def _answer(self, session_id: str, item: Open) -> dict[str, Any] | None:
        editor, seconds = self._runtime.editor, self._runtime.settings().limits.ask_seconds
        if editor.traits.takes_items:
            reply = await editor.ask_item(session_id, item.to_wire(), seconds=seconds, overdue=lambda: None)
            with suppress(ValidationError):
                return AskReply.from_wire(reply.value).to_wire() if isinstance(reply, ItemReply) else None
            return None
        # What needs further questions or a document is decided there, or by a code action.
        titles = [title for title in item.options if title not in {REVIEW, ALWAYS_ALLOW}]
        if not titles:
            return None
        message = f"{item.summary or item.title}\n{shortened(item.detail)}".strip()
        answer = await editor.ask(message, titles, seconds=seconds)
        if not isinstance(answer, Answered):
            return None
        decision = DECISIONS.get(answer.title)
        return (
            {"answer": answer.title}
            if item.kind == "question" or decision is None
            else {"decision": decision}
        )

    def _watched(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (problem := task.exception()):
            log.error("watching a session of another process failed", exc_info=problem)


def _result(reply: Mapping[str, Any]) -> dict[str, Any]:
    if (error := reply.get("error")) is not None:
        raise CommandError(
            error.get("code", REQUEST_FAILED), str(error.get("message", "")), error.get("data")
        )
    return reply["result"]
