"""The other ports of a replay: clock, ids, settings, editor, files and first messages say what the tape says, and do nothing."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from outrider.agent.context.compaction import STEERING
from outrider.agent.services import CommandsHere
from outrider.ports.editor import (
    Answered,
    Applied,
    DocumentEdit,
    EditorTraits,
    FileOperation,
    ItemReply,
    Reported,
    SaveWay,
    ToolAnswer,
    ToolRequest,
    Unanswered,
)  # fmt: skip
from outrider.ports.ids import IdKind
from outrider.ports.model import Image, Message
from outrider.ports.text import Snapshot, one_line
from outrider.replay.tape import LoggedEvent, Tape
from outrider.tools.edit.review import untold
from outrider.workspace.documents.documents import Document
from outrider.workspace.documents.overlay import OnDisk, ReadProblem
from outrider.workspace.edits.apply import PART_STAYS
from outrider.workspace.edits.change import Change, NotWritten, Written
from outrider.workspace.paths import Folder, Located
from outrider.workspace.watch.staleness import Moved
from outrider_protocol import REJECT, REVIEW
from outrider_protocol.events import Context, Mode
from outrider_protocol.settings import Limits, RepositoryMapSettings, Settings


class RecordedClock:
    """The time of the log."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._scopes: list[asyncio.Timeout] = []

    def now(self) -> datetime:
        """The time of the next event."""
        return datetime.fromisoformat((self._tape.next or self._tape.events[-1]).ts)

    def monotonic(self) -> float:
        """The time of the latest event; where the next one says that time was up, a moment after that."""
        tape, coming = self._tape, self._tape.next
        if coming and coming.type == "budget.exhausted" and coming.data["limit"] == "limits.seconds":
            return self.now().timestamp() + 0.002  # two readings, each cut to a millisecond
        return datetime.fromisoformat(tape.events[max(0, tape.position - 1)].ts).timestamp()

    async def sleep(self, seconds: float) -> None:
        """Do not wait."""
        await asyncio.sleep(0)

    @asynccontextmanager
    async def timeout(self, seconds: float | None) -> AsyncGenerator[None, None]:
        """A time-out that fires where it fired in the log: see `expire`."""
        async with asyncio.timeout(None) as scope:
            self._scopes.append(scope)
            try:
                yield
            finally:
                self._scopes.remove(scope)

    def expire(self) -> None:
        """Let the innermost time-out fire."""
        if self._scopes:
            self._scopes[-1].reschedule(asyncio.get_running_loop().time())


class RecordedIds:
    """The ids of the log, each where it was made."""

    _FIELDS: Final[Mapping[str, str]] = {
        "msg": "messageId", "chg": "changeId", "open": "id", "pend": "pendingId", "job": "jobId",
    }  # fmt: skip

    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    def new(self, kind: IdKind) -> str:
        """The id of that kind that comes next and was not there before. Asking twice gives it twice."""
        known = {name for event in self._tape.behind() for name in event.names()}
        found = (event.data.get(self._FIELDS.get(kind, "")) for event in self._tape.ahead())
        return next((name for name in found if name is not None and name not in known), f"{kind}_unrecorded")


def recorded_settings(tape: Tape) -> Settings:
    """The settings that hold now, as far as events up to the next one tell of them."""
    mode, limits = None, None
    for event in tape.behind(tape.position + 1):
        if event.type in {"session.started", "session.restored", "turn.started", "settings.changed"}:
            told = event.data.get("settings", event.data)
            mode = mode or told.get("permissionMode")
            # A task has limits of its own.
            limits = limits or (
                told.get("limits") if event.type != "turn.started" or told is not event.data else None
            )
        if mode and limits:
            break
    return Settings(
        permission_mode=mode or "ask",
        limits=Limits.from_wire(limits) if limits else Limits(),
        trusted=True,
        repository_map=RepositoryMapSettings(enabled=False),
        tools=tape.client_tools(tape.position + 1),
    )


class RecordedMessages:
    """The first messages of a turn, as they were sent."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    async def system(self, mode: Mode, trusts: Callable[[Path], bool], commands: CommandsHere) -> Message:
        """The system message of the next request."""
        await self._tape.reached(self._tape.next)
        found = (message for message in self._sent() if message.role == "system")
        return next(found, Message("system", ""))

    async def task(
        self, prompt: str, context: Context | None, commands: CommandsHere, before: Sequence[Message] = ()
    ) -> Message:
        """The message of the next request that brings the task."""
        found = (one for one in reversed(self._sent()) if one.role == "user" and one.text.startswith(prompt))
        return next(found, Message("user", prompt))

    async def steering(self, text: str) -> tuple[Message, list[tuple[Image, bytes]]]:
        """The message of the next request that brings it."""
        plain = Message("user", f"{STEERING}{text}")
        return next((message for message in self._sent() if message.text == plain.text), plain), []

    async def images(self, prompt: str, context: Context | None) -> list[tuple[Image, bytes]]:
        """None: they are named by the message that brings the task."""
        return []

    async def instructions_of(self, folder: Folder) -> str | None:
        """None: they are in the system message."""
        return None

    async def instructions_near(self, paths: Iterable[str], known: Mapping[str, str]) -> dict[str, str]:
        """None: what was found is let in like everything that came from outside."""
        return {}

    def _sent(self) -> list[Message]:
        """The messages of the next request; where they were trimmed before it, as they were before."""
        tape, found = self._tape, list[Message]()
        for event in tape.ahead():
            if not event.data.get("messages") or event.data.get("purpose", "main") != "main":
                continue
            messages = [tape.message(digest) for digest in tape.messages(event)]
            if event.type == "context.trimmed":
                given, found = [tape.message(digest) for digest in event.data["given"]], found or messages
                if not any(message.role == "system" for message in given):
                    given = [*messages[:1], *given]
                return [*given[:1], *found[1:], *given[1:]]
            if not event.type.startswith("context."):
                return found or messages
            found = messages
        return found


_AFTER_LOOK: Final = frozenset({
    "model.requested", "budget.exhausted", "turn.phase", "turn.finished",
    "context.pruned", "context.compacted", "context.trimmed",
})  # fmt: skip
"""What a turn does after it has looked around."""
_TYPED: Final = "\0typed into what is left of a file"
_NOW: Final = "\nThe text is now:\n"


class RecordedFiles:
    """The files that a session itself reads, watches and changes: each is as the events say that it was found."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    # --- watching --------------------------------------------------------------------------------------------

    async def moved(self, expected: Mapping[str, str | None]) -> Sequence[Moved]:
        """None, after all that came in during the look was let in: that tells of them."""
        await self._tape.reached(self._tape.first_ahead(*_AFTER_LOOK))
        await self._tape.reached(self._tape.next)
        return []

    def note(self, path: str, located: Located, text: str, digest: str) -> None:
        """Nothing is watched."""

    def hash_of(self, path: str, text: str) -> str | None:
        """Not known."""

    # --- reading ---------------------------------------------------------------------------------------------

    async def read(self, located: Located) -> Snapshot | ReadProblem:
        """The text that was found after a restart, or where a change was taken back: what became of it tells."""
        text = self._text(located.display)
        if isinstance(text, ReadProblem):
            return text
        if text is None:
            return ReadProblem("not_found", f"{located.display} does not exist")
        return Snapshot(located.uri, located.display, text, "disk" if text != _TYPED else "buffer")

    def _text(self, path: str) -> str | ReadProblem | None:
        tape = self._tape
        coming = next((one for one in tape.ahead() if one.type.startswith("edit.")), None)
        if coming is not None and coming.type == "edit.applying" and "undoes" in coming.data:
            return tape.text(coming.data.get("before"))
        if coming is not None and coming.type == "edit.rejected" and self._begun(coming) is None:
            return ReadProblem("unreadable", coming.data["reason"])  # why it was not taken back
        found = (one for one in tape.ahead() if one.type in {"edit.applied", "edit.merged", "edit.rejected"})
        settled = next((one for one in found if path in {one.data["path"], one.data.get("to")}), None)
        if settled is None:
            return None
        data, begun = settled.data, self._begun(settled)
        then = begun.data if begun is not None else {}
        is_away = data.get("operation") == "rename"
        if settled.type == "edit.rejected":
            if data["reason"].startswith(("found changed", "found altered")):  # the latter in older logs
                return ReadProblem("unreadable", "neither as before nor as planned")
            return None if is_away else tape.text(then.get("before"))
        if (is_away or data.get("operation") == "delete") and path == data["path"]:
            # What somebody typed is left in its document: nothing else makes it more than the change as planned.
            is_typed = settled.type == "edit.merged" and data.get("after") == then.get("after")
            return _TYPED if is_typed else None
        return tape.text(data.get("after"))

    async def on_disk(self, located: Located) -> OnDisk | None:
        """A file that is deleted next, as it was found; no other."""
        coming = self._tape.first_ahead("edit.applying", operation="delete")
        if coming is None or coming.data["path"] != located.display:
            return None
        data, text = coming.data, self._tape.text(coming.data.get("before")) or ""
        mode = int(data["mode"], 8) if "mode" in data else None
        return OnDisk(text, data.get("encoding", "utf-8"), mode, tuple(data.get("besides", ())))

    async def on_disk_all(self, files: Sequence[Located]) -> list[OnDisk | None]:
        """The same for several files."""
        return [await self.on_disk(one) for one in files]

    async def document_of(self, located: Located) -> Document | None:
        """A document where the next event tells of a change in one."""
        coming = self._tape.next
        is_open = coming is not None and coming.type == "edit.applied" and coming.data["where"] == "buffer"
        return Document(located.uri, "", 0, "", 0) if is_open else None

    # --- changing --------------------------------------------------------------------------------------------

    async def write_all(self, wanted: Sequence[Change], label: str) -> Sequence[Written | NotWritten]:
        """What became of the changes that are being applied."""
        return [await self._written(change) for change in wanted]

    async def remove_folders(self, folders: Sequence[Located]) -> None:
        """There are none."""

    async def _written(self, change: Change) -> Written | NotWritten:
        tape, path = self._tape, change.located.display
        settled = tape.first_ahead("edit.applied", "edit.merged", "edit.rejected", path=path)
        await tape.reached(settled)
        if settled is None or settled.type == "edit.rejected":
            return self._rejected(path, settled) if settled else NotWritten("failed", "")
        data = settled.data
        before, after = tape.text(data.get("before")), tape.text(data.get("after"))
        in_part = settled.type == "edit.applied" and after != change.after
        return Written(
            data.get("where", "buffer"),
            after,
            merged=settled.type == "edit.merged",
            made_folder=data.get("madeFolder"),
            without=before if in_part or before != change.before else None,
            stays=data.get("stays", PART_STAYS if in_part else ""),
        )

    def _rejected(self, path: str, settled: LoggedEvent) -> NotWritten:
        """Why a change did not happen, and whether it is worked out again: what comes after it tells."""
        reason, begun = settled.data["reason"], self._begun(settled)
        after = [e for e in self._tape.ahead() if e.data.get("callId") == settled.data.get("callId", "")][1:]
        undoes = begun.data.get("undoes") if begun is not None else None
        if undoes is not None:
            again = next((e for e in after if e.type in {"edit.applying", "edit.rejected"}), None)
            is_again = again is not None and again.data.get("undoes", undoes) == undoes
            return NotWritten("changed" if is_again else "failed", reason)
        new = {"edit.proposed", "edit.applying"}
        ended = (
            e for e in after if not e.type.startswith("edit.") or (e.type in new and "undoes" not in e.data)
        )
        content = next((one.data.get("content", "") for one in ended), "")
        if not content.startswith(f"{one_line(path)} was not changed: {reason}"):
            return NotWritten("changed", reason)
        return NotWritten("failed", reason, untold(content).partition(_NOW)[2] or None)

    def _begun(self, settled: LoggedEvent) -> LoggedEvent | None:
        """Where the change was begun that an event tells the end of."""
        key = ("edit.applying", settled.data["changeId"])
        found = (one for one in self._tape.behind(settled.seq) if (one.type, one.data.get("changeId")) == key)
        return next(found, None)


class RecordedEditor:
    """An editor whose user answers when the log says so, and in other ways than through its questions."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._waiting: dict[str, asyncio.Future[Any]] = {}
        """What waits for an answer: each call by its id, and the question, whose id an editor does not know."""

    @property
    def traits(self) -> EditorTraits:
        """What it could do, as far as the next question shows."""
        coming = self._tape.next
        options = coming.data["options"] if coming and coming.type == "approval.requested" else None
        return EditorTraits(
            can_apply_edits=False,
            can_show_documents=options is None or REVIEW in options,
            settle_seconds=0,
            debounce_seconds=0,
            reject_first=bool(options) and options[0] == REJECT,
        )

    def has(self, items: Sequence[Mapping[str, Any]]) -> bool:
        """Whether all these open items have come here: the question is on the screen, the calls are at the client."""
        return all((one["id"] if one["kind"] == "tool" else "") in self._waiting for one in items)

    def dismiss(self) -> None:
        """Close the question without an answer, and leave the calls."""
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_result(Unanswered("dismissed"))

    async def _wait(self, key: str) -> Any:
        waiting = self._waiting[key] = asyncio.get_running_loop().create_future()
        self._tape.wake()
        try:
            return await waiting
        finally:
            if self._waiting.get(key) is waiting:
                del self._waiting[key]

    async def ask(
        self,
        message: str,
        titles: Sequence[str],
        *,
        seconds: float,
        late: Callable[[str], None] | None = None,
        still_open: Callable[[], bool] | None = None,
    ) -> Answered | Unanswered:
        """Wait until the tape dismisses the question, or somebody answers it in another way."""
        return await self._wait("")

    async def call_tool(
        self, request: ToolRequest, *, seconds: float, overdue: Callable[[], None]
    ) -> ToolAnswer | Unanswered:
        """Wait until the tape leaves the call, or lets the result in in its own way."""
        return await self._wait(request.id)

    async def ask_item(
        self, session_id: str, item: Mapping[str, Any], *, seconds: float, overdue: Callable[[], None]
    ) -> ItemReply | Unanswered:
        """It takes no items."""
        return Unanswered("unsupported")

    async def apply(self, label: str, edits: Sequence[DocumentEdit]) -> Applied:
        """Nothing is open in it."""
        return Applied(claimed=False)

    async def catch_up(self) -> bool:
        """Nothing is open in it."""
        return False

    async def operate(self, label: str, operation: FileOperation) -> Applied:
        """Nothing is open in it."""
        return Applied(claimed=False)

    async def save(self, way: SaveWay, versions: Mapping[str, int]) -> Mapping[str, str]:
        """What came of it is in the log."""
        return {}

    async def diagnostics(self, uris: Sequence[str] | None) -> Sequence[Reported] | Unanswered:
        """What came of it is in the log."""
        return Unanswered("unsupported")

    async def show(self, uri: str, *, take_focus: bool = False) -> bool:
        """It has no screen."""
        return False

    def say(self, level: str, text: str) -> None:
        """It has no screen."""
