"""The world of a replay: clock, ids, settings, prompt, editor and files say what the tape says, and do nothing."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from outrider.agent.context_window.steps import STEERING
from outrider.agent.prompt import Briefing
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
from outrider.ports.events import LoggedEvent
from outrider.ports.ids import IdKind
from outrider.ports.maps import Focus
from outrider.ports.model import Image, Message
from outrider.ports.text import Snapshot, one_line
from outrider.replay.tape import Tape
from outrider.tools.review import untold
from outrider.workspace.change import Change, NotWritten, Written
from outrider.workspace.choosing import REASONS, Choosing, Chosen, Stop
from outrider.workspace.documents import Document, DocumentStore
from outrider.workspace.editing import PART_STAYS, Editing
from outrider.workspace.overlay import OnDisk, Overlay, ReadProblem
from outrider.workspace.paths import Folder, Folders, Located, PathProblem, path_of
from outrider.workspace.sightings import Moved, Sightings
from outrider.workspace.taken import hunks_of, taken_in
from outrider_protocol import CHOOSE, REJECT, REVIEW
from outrider_protocol.events import Context, Mode
from outrider_protocol.settings import Limits, Settings

NOW = "\nThe text is now:\n"


class RecordedClock:
    """The time of the log: what the next event says."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._scopes: list[asyncio.Timeout] = []

    def now(self) -> datetime:
        """The time of the next event."""
        tape = self._tape
        return datetime.fromisoformat((tape.next or tape.events[-1]).ts)

    def monotonic(self) -> float:
        """The time of the latest event; where the next one says that time was up, a moment after that."""
        tape, coming = self._tape, self._tape.next
        if coming and coming.type == "budget.exhausted" and coming.data["limit"] == "limits.seconds":
            return self.now().timestamp() + 0.002  # two readings, each cut to a millisecond
        latest = tape.events[tape.position - 1] if tape.position else tape.events[0]
        return datetime.fromisoformat(latest.ts).timestamp()

    async def sleep(self, seconds: float) -> None:
        """Do not wait."""
        await asyncio.sleep(0)

    @asynccontextmanager
    async def timeout(self, seconds: float | None) -> AsyncGenerator[None, None]:
        """A time-out that fires where it fired before: see `expire`."""
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


_AFTER_LOOK: Final = frozenset({
    "model.requested", "budget.exhausted", "turn.phase", "turn.finished",
    "context.pruned", "context.compacted", "context.trimmed",
})  # fmt: skip
"""What a turn does after it has looked around."""

_ID_FIELDS: Final[Mapping[str, str]] = {
    "msg": "messageId",
    "chg": "changeId",
    "open": "id",
    "pend": "pendingId",
    "job": "jobId",
}


class RecordedIds:
    """The ids of the log, each where it was made."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    def new(self, kind: IdKind) -> str:
        """The id of that kind that comes next and was not there before. Asking twice gives it twice."""
        tape = self._tape
        known = {name for event in tape.events[: tape.position] for name in event.names()}
        for event in tape.ahead():
            name = event.data.get(_ID_FIELDS.get(kind, ""))
            if name is not None and name not in known:
                return name
        return f"{kind}_unrecorded"


class RecordedSettings:
    """The settings, as the events up to the next one tell them."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    def __call__(self) -> Settings:
        """The settings that hold now."""
        tape = self._tape
        mode, limits = None, None
        for event in tape.behind(tape.position + 1):
            data = event.data
            told = data.get("settings", data) if event.type == "turn.started" else data
            if event.type in {"session.started", "session.restored", "turn.started", "settings.changed"}:
                mode = mode or told.get("permissionMode")
                limits = limits or (told.get("limits") if told is not data or "folders" in data else None)
            if mode and limits:
                break
        return Settings(
            permission_mode=mode or "ask",
            limits=Limits.from_wire(limits) if limits else Limits(),
            trusted=True,
            tools=tape.client_tools(tape.position + 1),
        )


class NoMaps:
    """Draws none: the maps of the log are let in like everything that came from outside."""

    async def draw(self, focus: Focus, size: int, fewest: int = 0) -> list[str] | None:
        """None."""
        return None

    def look_again(self) -> None:
        """Nothing to look at."""


class RecordedBriefing(Briefing):
    """The first messages of a turn, as they were sent."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    async def system(self, mode: Mode, trusts: Callable[[Path], bool]) -> Message:
        """The system message of the next request."""
        await self._tape.hang_if_cut_off()
        first = next((message for message in self._first_messages() if message.role == "system"), None)
        return first or Message("system", "")

    async def task(self, prompt: str, context: Context | None) -> Message:
        """The message of the next request that brings the task."""
        for message in reversed(self._first_messages()):
            if message.role == "user" and message.text.startswith(prompt):
                return message
        return Message("user", prompt)

    async def images(self, prompt: str, context: Context | None) -> list[tuple[Image, bytes]]:
        """None: they are named by the message that brings the task."""
        return []

    async def steering(self, text: str) -> tuple[Message, list[tuple[Image, bytes]]]:
        """The message of the next request that brings it."""
        plain = Message("user", f"{STEERING}{text}")
        sent = (message for message in self._first_messages() if message.text == plain.text)
        return next(sent, plain), []

    async def instructions_near(self, paths: Iterable[str], known: Mapping[str, str]) -> dict[str, str]:
        """None: what was found then is let in like everything that came from outside."""
        return {}

    def _first_messages(self) -> list[Message]:
        """Those of the next request; where they were trimmed before it, as they were, which counts most."""
        found: list[Message] = []
        for event in self._tape.ahead():
            data = event.data
            if event.type == "context.trimmed":
                given = self._messages(data["given"])
                if not any(message.role == "system" for message in given):
                    given = [*self._messages(data["messages"][:1]), *given]
                found = found or self._messages(data["messages"])
                return [*given[:1], *found[1:], *given[1:]]
            if event.type in {"context.pruned", "context.compacted"} and "messages" in data:
                found = self._messages(data["messages"])
            elif (event.type == "model.requested" and data["purpose"] == "main") or (
                event.type == "budget.exhausted" and "messages" in data
            ):
                return found or self._messages(data["messages"])
        return found

    def _messages(self, digests: list[str]) -> list[Message]:
        return [
            Message.decode((self._tape.text(digest) or "").encode("utf-8", "surrogatepass"))
            for digest in digests
        ]


class RecordedFolders(Folders):
    """The workspace folders of the log. A path is what it was then; no disk is looked at."""

    def __init__(self, uris: Sequence[str]) -> None:
        paths = [(uri, path_of(uri) or Path("/")) for uri in uris]
        super().__init__([Folder(path.name, uri, path) for uri, path in paths])

    async def real_paths(self) -> list[str]:
        """The folders; where links led is in the log."""
        return [str(folder.path) for folder in self.folders]

    async def locate(self, path_text: str) -> Located:
        """What a path of an event names."""
        return located(path_text)

    async def locate_all(self, paths: Sequence[str]) -> list[Located | PathProblem]:
        """What paths of events name."""
        return [located(path) for path in paths]


def located(display: str) -> Located:
    """What a path of an event names, as far as the log knows."""
    return Located(display, display, None, None, inside=True, own=False)


_TYPED: Final = "\0typed into what is left of a file"


class RecordedOverlay(Overlay):
    """The texts that were found after a restart: the log tells what became of each change."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    async def read(self, located: Located) -> Snapshot | ReadProblem:
        """The text that recovery found at that path."""
        path, text = located.display, None
        coming = next((event for event in self._tape.ahead() if event.type.startswith("edit.")), None)
        if coming is not None and coming.type == "edit.applying" and "undoes" in coming.data:
            text = self._tape.text(coming.data.get("before"))
            return ReadProblem("not_found", "") if text is None else Snapshot(located.uri, path, text, "disk")
        if coming is not None and coming.type == "edit.rejected" and _begun(self._tape, coming) is None:
            return ReadProblem("unreadable", coming.data["reason"])  # why it was not taken back
        settled = next(
            (
                event
                for event in self._tape.ahead()
                if event.type in {"edit.applied", "edit.merged", "edit.rejected"}
                and path in {event.data["path"], event.data.get("to")}
            ),
            None,
        )
        if settled is not None and settled.data.get("reason", "").startswith("found altered"):
            return ReadProblem("unreadable", "neither as before nor as planned")
        if settled is not None:
            text = self._found(settled, path)
        if text is None:
            return ReadProblem("not_found", f"{path} does not exist")
        return Snapshot(located.uri, path, text, "disk" if text != _TYPED else "buffer")

    def _found(self, settled: LoggedEvent, path: str) -> str | None:
        data = settled.data
        moved = data.get("operation") == "rename"
        begun = _begun(self._tape, settled)
        then = begun.data if begun is not None else {}
        if settled.type == "edit.rejected":
            return None if moved else self._tape.text(then.get("before"))
        taken_away = moved or data.get("operation") == "delete"
        if taken_away and path == data["path"]:
            # What somebody typed is left in its document: nothing else makes it more than the change as planned.
            is_typed = settled.type == "edit.merged" and data.get("after") == then.get("after")
            return _TYPED if is_typed else None
        return self._tape.text(data.get("after"))

    async def read_all(self, files: Sequence[Located]) -> list[Snapshot | ReadProblem]:
        """The texts of several files as the log tells them."""
        return [await self.read(one) for one in files]

    async def on_disk_all(self, files: Sequence[Located]) -> list[OnDisk | None]:
        """The files that are deleted next, as they were found."""
        return [self._deleted(one) for one in files]

    def _deleted(self, located: Located) -> OnDisk | None:
        """The file that is deleted next, as it was found."""
        for event in self._tape.ahead():
            data = event.data
            if event.type == "edit.applying" and data.get("operation") == "delete":
                if data["path"] != located.display:
                    break
                mode = int(data["mode"], 8) if "mode" in data else None
                text = self._tape.text(data.get("before")) or ""
                return OnDisk(text, data.get("encoding", "utf-8"), mode, tuple(data.get("besides", ())))
        return None

    async def documents_of(self, files: Sequence[Located]) -> list[Document | None]:
        """None: nothing is open."""
        return [None for _ in files]


class RecordedSightings(Sightings):
    """Finds nothing by itself: what was found then is let in like everything that came from outside."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    async def moved(self, expected: Mapping[str, str | None]) -> list[Moved]:
        """Wait until what came in during the look is let in."""
        tape = self._tape
        following = next((event for event in tape.ahead() if event.type in _AFTER_LOOK), None)
        if following is None:
            await tape.hang()
            return []
        await tape.fed_before(following)
        await tape.hang_if_cut_off()
        return []

    def note(self, path: str, located: Located, text: str, digest: str) -> None:
        """There is nothing to look at."""

    def hash_of(self, path: str, text: str) -> str | None:
        """Not known, as nothing was looked at."""


class RecordedDocuments(DocumentStore):
    """What was open, as far as the next change tells."""

    def __init__(self, tape: Tape) -> None:
        super().__init__()
        self._tape = tape

    def get(self, uri: str) -> Document | None:
        """A document where the change that comes next is in a buffer; what is in it is not known."""
        coming = self._tape.next
        if coming and coming.type == "edit.applied" and coming.data["where"] == "buffer":
            return Document(uri, "", 0, "", 0)
        return None


class RecordedEditing(Editing):
    """Changes that go as they went; nothing is written."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    async def write_all(self, wanted: Sequence[Change], label: str) -> list[Written | NotWritten]:
        """What became of the changes that are being applied."""
        return [await self._went(change) for change in wanted]

    async def _went(self, change: Change) -> Written | NotWritten:
        """What became of the change that is being applied."""
        tape, path = self._tape, change.located.display
        settled = tape.first_ahead("edit.applied", "edit.merged", "edit.rejected", path=path)
        if settled is None:
            await tape.hang()
            raise asyncio.CancelledError
        await tape.fed_before(settled)
        if settled.type == "edit.rejected":
            return self._failed(path, settled)
        before, after = tape.text(settled.data.get("before")), tape.text(settled.data.get("after"))
        in_part = settled.type == "edit.applied" and after != change.after
        return Written(
            settled.data.get("where", "buffer"),
            after,
            merged=settled.type == "edit.merged",
            made_folder=settled.data.get("madeFolder"),
            without=before if in_part or before != change.before else None,
            stays=settled.data.get("stays", PART_STAYS if in_part else ""),
        )

    async def remove_folders(self, folders: Sequence[Located]) -> None:
        """There is nothing to remove."""

    async def make_folders(self, folders: Sequence[Located]) -> set[str]:
        """There is nothing to make."""
        return set()

    async def set_folder_modes(self, folders: Sequence[tuple[Located, int]]) -> None:
        """There is nothing to change."""

    def _failed(self, path: str, settled: LoggedEvent) -> NotWritten:
        reason = settled.data["reason"]
        _, *after = self._tape.story(settled.data.get("callId", ""))
        begun = _begun(self._tape, settled)
        if begun is not None and "undoes" in begun.data:
            again = next((e for e in after if e.type in {"edit.applying", "edit.rejected"}), None)
            same = (
                again is not None and again.data.get("undoes", begun.data["undoes"]) == begun.data["undoes"]
            )
            return NotWritten("changed" if same else "failed", reason)
        ended = next((event for event in after if _goes_on(event)), None)
        content = ended.data["content"] if ended and ended.type == "tool.finished" else ""
        if not content.startswith(f"{one_line(path)} was not changed: {reason}"):
            return NotWritten("changed", reason)  # it was worked out again
        return NotWritten("failed", reason, untold(content).partition(NOW)[2] or None)


class RecordedChoosing(Choosing):
    """Choices that the person made in the editor: the log tells which texts came of them."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    @property
    def is_free(self) -> bool:
        """Whether it was offered is looked up where it is asked."""
        return True

    def can_offer(self, changes: Sequence[Change], documents: Sequence[Document | None]) -> bool:
        """Whether the approval that comes next offered it; of one from before a restart what comes of it tells."""
        for event in self._tape.ahead():
            match event.type:
                case "approval.requested":
                    return CHOOSE in event.data["options"]
                case "turn.parked":
                    return any(CHOOSE in item["options"] for item in event.data["open"])
                case "approval.resolved" if "instead" not in event.data:
                    return event.data["decision"] == "choose"
                case _:
                    pass
        return False

    async def offer(self, wanted: Sequence[tuple[Change, Document | None]], label: str, stop: Stop) -> Chosen:
        """What became of the changes that are being applied."""
        tape, done, taken, reasons = (
            self._tape,
            list[Written | NotWritten](),
            list[Sequence[int]](),
            set[str](),
        )
        for change, _ in wanted:
            settled = tape.first_ahead(
                "edit.applied", "edit.merged", "edit.rejected", path=change.located.display
            )
            if settled is None:
                await tape.hang()
                raise asyncio.CancelledError
            await tape.fed_before(settled)
            if settled.type == "edit.rejected":
                reasons.add(settled.data["reason"])
                done.append(NotWritten("not_applied", settled.data["reason"]))
                taken.append(())
                continue
            before, after = tape.text(settled.data["before"]), tape.text(settled.data["after"]) or ""
            found = taken_in(change.before or "", hunks_of(change), after)
            is_merged = settled.type == "edit.merged"
            is_part = is_merged or after != change.after
            done.append(Written("buffer", after, merged=is_merged, without=before if is_part else None))
            taken.append(found.numbers if found else ())
        if any(isinstance(one, Written) for one in done):
            return Chosen(done, taken, None)
        return Chosen(done, taken, next(why for why, reason in REASONS.items() if reason in reasons))


def _begun(tape: Tape, settled: LoggedEvent) -> LoggedEvent | None:
    """Where the change was begun that an event tells the end of."""
    change_id = settled.data["changeId"]
    found = (e for e in tape.behind(settled.seq) if e.type == "edit.applying")
    return next((event for event in found if event.data["changeId"] == change_id), None)


def _goes_on(event: LoggedEvent) -> bool:
    """Whether it comes after all that follows from a change that failed: what is taken back, and not begun."""
    return not event.type.startswith("edit.") or (
        event.type in {"edit.proposed", "edit.applying"} and "undoes" not in event.data
    )


class RecordedEditor:
    """An editor whose person answers when the log says so."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._asked: list[asyncio.Future[Answered | Unanswered]] = []
        self._called: dict[str, asyncio.Future[ToolAnswer | Unanswered]] = {}

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
        calls = [item["id"] for item in items if item["kind"] == "tool"]
        asked = len(calls) == len(items) or any(not waiting.done() for waiting in self._asked)
        return asked and all(one in self._called for one in calls)

    def dismiss(self) -> None:
        """Close the question without an answer, and leave the calls."""
        for waiting in (*self._asked, *self._called.values()):
            if not waiting.done():
                waiting.set_result(Unanswered("dismissed"))

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
        waiting: asyncio.Future[Answered | Unanswered] = asyncio.get_running_loop().create_future()
        self._asked.append(waiting)
        self._tape.wake()
        try:
            return await waiting
        finally:
            self._asked.remove(waiting)

    async def call_tool(
        self, request: ToolRequest, *, seconds: float, overdue: Callable[[], None]
    ) -> ToolAnswer | Unanswered:
        """Wait until the tape leaves the call, or lets the result in in its own way."""
        waiting: asyncio.Future[ToolAnswer | Unanswered] = asyncio.get_running_loop().create_future()
        self._called[request.id] = waiting
        self._tape.wake()
        try:
            return await waiting
        finally:
            del self._called[request.id]

    async def ask_item(
        self, session_id: str, item: Mapping[str, Any], *, seconds: float, overdue: Callable[[], None]
    ) -> ItemReply | Unanswered:
        """Never asked for: it takes no items."""
        return Unanswered("unsupported")

    async def apply(self, label: str, edits: Sequence[DocumentEdit]) -> Applied:
        """Never asked for: nothing is open."""
        return Applied(claimed=False)

    async def offer(
        self, label: str, edits: Sequence[DocumentEdit], *, seconds: float, late: Callable[[bool], None]
    ) -> Applied | Unanswered:
        """Never asked for: nothing is open."""
        return Unanswered("unsupported")

    async def catch_up(self) -> bool:
        """Never asked for: nothing is open."""
        return False

    async def operate(self, label: str, operation: FileOperation) -> Applied:
        """Never asked for: nothing is open."""
        return Applied(claimed=False)

    async def save(self, way: SaveWay, versions: Mapping[str, int]) -> Mapping[str, str]:
        """Never asked for: what came of it is in the log."""
        return {}

    async def diagnostics(self, uris: Sequence[str] | None) -> Sequence[Reported] | Unanswered:
        """Never asked for: what came of it is in the log."""
        return Unanswered("unsupported")

    async def show(self, uri: str, *, take_focus: bool = False) -> bool:
        """Show nothing."""
        return False

    def say(self, level: str, text: str) -> None:
        """Say nothing to nobody."""
