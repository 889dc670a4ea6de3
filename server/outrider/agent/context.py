"""What the tools see of the running turn: `ToolContext`, over the services and one session."""

from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from outrider.agent.awareness import seen_text
from outrider.agent.budget import Budget
from outrider.agent.confinement import confined
from outrider.agent.inbox import Inbox
from outrider.agent.open_items import Asking
from outrider.agent.record import Record
from outrider.agent.services import Services
from outrider.agent.turn_state import CallState
from outrider.permissions.commands import Command, Part
from outrider.permissions.decide import Access, Judgement, decide, narrowest
from outrider.permissions.masked_stream import MaskedStream
from outrider.permissions.masking import Masking
from outrider.ports.clock import Clock
from outrider.ports.editor import Reported, ToolAnswer, Unanswered
from outrider.ports.events import StreamFrame
from outrider.ports.ids import IdKind
from outrider.ports.model import Model, ToolCall, content_hash
from outrider.processes import Jobs, Supervisor
from outrider.processes.sandbox import Confined
from outrider.tools.context import Action, Approval, SeenText
from outrider.tools.git.history import GitHistory
from outrider.workspace.census import Census
from outrider.workspace.change import Change
from outrider.workspace.choosing import Chosen, Stop
from outrider.workspace.documents import DocumentStore
from outrider.workspace.editing import Editing
from outrider.workspace.encoding import BOM
from outrider.workspace.overlay import Overlay
from outrider.workspace.paths import Folders, Located
from outrider.workspace.review import Review
from outrider.workspace.saving import Tried, have_saved
from outrider.workspace.search import Search
from outrider_protocol.events import EventData, Mode, PlanItem, PlanUpdated, ToolFinished, ToolStarted
from outrider_protocol.settings import Limits, PermissionMode


class TurnContext:
    """One turn's view of the house; also that of an undo, which belongs to no turn."""

    def __init__(
        self,
        services: Services,
        record: Record,
        inbox: Inbox,
        touched: dict[str, int],
        jobs: Jobs,
        *,
        turn_id: str | None,
        label: str,
        mode: Mode = "agent",
        budget: Budget | None = None,
    ) -> None:
        """Bind a turn.

        Args:
            services: The house.
            record: The session's log.
            inbox: The session's open items.
            touched: The session's own changes of buffers: URI → how often it had been saved at that time.
            jobs: The session's background jobs.
            turn_id: The turn, None for an undo.
            label: What the editor's undo list calls its changes.
            mode: `plan` and `explore` are read-only.
            budget: Its watch stops while the person is asked.
        """
        self._services = services
        self._record = record
        self._inbox = inbox
        self._touched = touched
        self._jobs = jobs
        self._turn_id = turn_id
        self._label = label
        self._mode = mode
        self._budget = budget
        self._permission_mode: PermissionMode = services.settings().permission_mode
        self._streams: dict[str, tuple[MaskedStream, int]] = {}
        self.model: Model | None = None
        """What answers the turn, once it is known."""

    @property
    def folders(self) -> Folders:
        """The workspace folders."""
        return self._services.folders

    @property
    def documents(self) -> DocumentStore:
        """The open documents."""
        return self._services.documents

    @property
    def overlay(self) -> Overlay:
        """The texts, buffers over the disk."""
        return self._services.overlay

    @property
    def editing(self) -> Editing:
        """How changes are made."""
        return self._services.editing

    @property
    def search(self) -> Search:
        """Search over the workspace."""
        return self._services.search

    @property
    def census(self) -> Census:
        """Which files there are."""
        return self._services.census

    @property
    def git_history(self) -> GitHistory:
        """What git tells of the commits of repositories."""
        return self._services.git_history

    @property
    def supervisor(self) -> Supervisor:
        """Where processes are started."""
        return self._services.supervisor

    @property
    def clock(self) -> Clock:
        """Times what waits for the outside."""
        return self._services.deadlines

    @property
    def takes_images(self) -> bool:
        """Whether the model of the turn takes images; of several models, whether one does."""
        return self.model is not None and self.model.vision

    @property
    def jobs(self) -> Jobs:
        """The session's background jobs."""
        return self._jobs

    @property
    def turn_id(self) -> str:
        """The turn."""
        return self._turn_id or ""

    async def confine(self, argv: Sequence[str], cwd: Path) -> Confined:
        """Put a command into the sandbox, as far as that is wanted and possible."""
        return await confined(self._services, argv, cwd)

    async def end_jobs(self) -> None:
        """End the jobs of the turn, as it is cancelled."""
        await self._jobs.end(self.turn_id)
        for job in list(self._record.state.jobs.values()):
            if job.turn_id == self._turn_id:
                self.record(job.ended("cancelled"))

    @property
    def masking(self) -> Masking:
        """The secrets of the session."""
        return self._record.masking

    @property
    def limits(self) -> Limits:
        """Limits of the turn."""
        return self._budget.limits if self._budget else self._services.settings().limits

    @property
    def label(self) -> str:
        """What the editor's undo list calls the changes of this turn."""
        return self._label

    @property
    def permission_mode(self) -> PermissionMode:
        """What holds now: a widened setting counts from the next turn, a narrowed one at once."""
        of_turn: PermissionMode = "full" if self._mode == "agent" else "read-only"
        return narrowest(of_turn, self._permission_mode, self._services.settings().permission_mode)

    async def look_at_rules(self) -> bool:
        """Take in what has changed in the files of rules; gives whether anything has."""
        return await self._services.trust.refresh(
            self._services.ledger.refresh_now, self._services.guarded.refresh_now
        )

    def why_shut(self, names: Sequence[str]) -> str | None:
        """Why nothing of a file of these names may be seen without an explicit yes."""
        return self._services.guarded.why_shut(names)

    def place_of(self, located: Located) -> str | None:
        """The real path of a file, where its path in the session's folders does not tell it."""
        real = None if located.resolved is None else str(located.resolved)
        return None if real == self._record.state.journal.place_of(located.display) else real

    def judge(self, tool: str, access: Access) -> Judgement:
        """Decide on an access of a tool by the modes, rules and grants that hold now."""
        mode = self.permission_mode
        ruling = self._services.ledger.ruling(tool, access, mode)
        guard = self._services.guarded.why(access.effect, access.paths)
        return decide(access, mode, self._record.state.grants.keys(), ruling, guard)

    def parts_of(self, command: Command) -> list[Part]:
        """The parts of a command line, each judged by the modes and rules that hold now."""
        return self._services.ledger.parts(command, self.permission_mode)

    def decided(self, judgement: Judgement) -> None:
        """Take note that rules decided."""
        self._services.ledger.count(judgement.rules)

    def approved(self, call: ToolCall) -> str | None:
        """Digest of what the person said yes to for a call of the latest response."""
        known = self._known(call.id)
        return known.approved if known else None

    def answered(self, call: ToolCall, question: str) -> str | None:
        """The answer to that question of the call, where it was given already."""
        known = self._known(call.id)
        return known.answered[1] if known and known.answered and known.answered[0] == question else None

    def new_id(self, kind: IdKind) -> str:
        """A fresh id."""
        return self._services.ids.new(kind)

    def record(self, data: EventData, blobs: Mapping[str, bytes] | None = None) -> None:
        """Append an event to the session's log."""
        if isinstance(data, ToolStarted) and (known := self._known(data.call_id)) and known.started:
            return  # it began before a restart, had no effect, and is done again
        if isinstance(data, ToolFinished):
            self._end_stream(data.call_id)
        self._record.append(data, turn_id=self._turn_id, blobs=blobs)

    async def settled(self, *, durable: bool = False) -> str | None:
        """Wait until all that was recorded is committed."""
        return await self._record.settled(durable=durable)

    def stream_output(self, call: ToolCall, text: str) -> None:
        """Show a piece of a call's output as it comes."""
        stream, offset = self._streams.get(call.id) or (MaskedStream(self.masking), 0)
        self._streams[call.id] = stream, self._send(call.id, offset, stream.feed(text))

    def _end_stream(self, call_id: str) -> None:
        if call_id in self._streams:
            stream, offset = self._streams.pop(call_id)
            self._send(call_id, offset, stream.end())

    def _send(self, call_id: str, offset: int, text: str) -> int:
        """Send a frame, if there is something in it; gives the offset of the next one."""
        if text and self._turn_id is not None:
            session_id = self._record.state.session_id
            self._services.on_frame(StreamFrame(session_id, self._turn_id, call_id, "output", offset, text))
        return offset + len(text)

    def proposed(self, call: ToolCall, action: Action) -> Sequence[str]:
        """The ids of the changes of an action that waits for a yes since before a restart."""
        state, known = self._record.state, self._known(call.id)
        waits = any(
            item.call_id == call.id and state.digests.get(item.id) == action.digest
            for item in state.open.values()
        )
        return known.asked_for if known is not None and waits else ()

    def reviews(self, call: ToolCall) -> Sequence[Review]:
        """What the person has decided so far about single hunks of the call's edit."""
        known = self._known(call.id)
        return known.reviews if known is not None else ()

    def notes(self, call: ToolCall) -> Sequence[str]:
        """What the person has said so far with a yes to the call."""
        known = self._known(call.id)
        return known.notes if known is not None else ()

    async def approve(self, call: ToolCall, action: Action, change_ids: Sequence[str]) -> Approval:
        """Ask the person for a yes."""
        asking = Asking(call.id, action, change_ids, can_choose=await self._can_choose(action))
        with self._waiting():
            return await self._inbox.approve(
                self.new_id("open"), self._turn_id or "", asking, self.limits.ask_seconds
            )

    async def _can_choose(self, action: Action) -> bool:
        choosing, changes = self._services.choosing, action.changes
        if not changes or not choosing.is_free:
            return False
        documents = await self._services.overlay.documents_of([change.located for change in changes])
        return choosing.can_offer(changes, documents)

    async def choose(self, changes: Sequence[Change], stop: Stop) -> Chosen:
        """Have the person choose in the editor which hunks of changes are made."""
        documents = await self._services.overlay.documents_of([change.located for change in changes])
        with self._waiting():
            wanted = list(zip(changes, documents, strict=True))
            return await self._services.choosing.offer(wanted, self._label, stop)

    async def ask(self, call: ToolCall, question: str, options: Sequence[str], *, free_form: bool) -> str:
        """Ask the person a question."""
        with self._waiting():
            return await self._inbox.ask(
                self.new_id("open"),
                self._turn_id or "",
                call.id,
                question,
                list(options),
                self.limits.ask_seconds,
                free_form=free_form,
            )

    async def ask_for_trust(self, of_files: Collection[str] = ()) -> None:
        """Ask about the workspace folders that nobody vouches for, where something does not count because of that.

        Args:
            of_files: Instructions that were found further down, as the tools name them.
        """
        services = self._services
        await services.trust.refresh()
        for folder in services.folders.folders:
            if services.trust.of(folder.path) != "unknown":
                continue
            found = [path for path in of_files if services.folders.folder_of(path) is folder]
            if not of_files and (own := await services.briefing.instructions_of(folder)) is not None:
                found = [own]
            withheld = [f"its instructions ({', '.join(found)}) are left out"] if found else []
            if (narrowed := services.trust.narrows()) is not None:
                withheld.append(
                    f"all that changes something is asked for, whatever your settings file says ({narrowed})"
                )
            if withheld:
                with self._waiting():
                    await services.trust.ask(
                        folder, withheld, self._record.state.session_id, self.turn_id, self.limits.ask_seconds
                    )

    async def call_client(self, call: ToolCall, given: Mapping[str, Any], *, durable: bool) -> ToolAnswer:
        """Have the client run a call."""
        with self._waiting():
            return await self._inbox.call(
                self.new_id("open"), self._turn_id or "", call, given, self.limits, durable=durable
            )

    async def diagnostics(self, uris: Sequence[str] | None) -> Sequence[Reported] | Unanswered:
        """What the language servers and linters of the editor report."""
        with self._waiting():
            return await self._services.editor.diagnostics(uris)

    def handed_over(self, call: ToolCall) -> bool:
        """Whether the client was asked to run that call."""
        known = self._known(call.id)
        return known is not None and known.handed

    def known_paths(self) -> Sequence[str]:
        """The files that the model has seen or this session has changed."""
        state = self._record.state
        changed = [change.to or change.path for change in state.journal.changes()]
        return list(dict.fromkeys([*changed, *state.seen]))

    async def seen(self, path: str, at_hand: Mapping[str, str] | None = None) -> SeenText | None:
        """What the model has last seen of a file."""
        sight = self._record.state.seen.get(path)
        return None if sight is None else await seen_text(self._services, self._record, sight, at_hand)

    def agent_buffers(self) -> Sequence[str]:
        """URIs of the open documents that this session has changed and that were not saved since."""
        waiting: list[str] = []
        for uri, saves in self._touched.items():
            document = self._services.documents.get(uri)
            if document is not None and document.saves == saves:
                waiting.append(uri)
        return waiting

    def is_own_work(self, path: str, on_disk: str, text: str) -> bool:
        """Whether this session's edits alone led from the text on the disk to another one."""
        plain = on_disk.removeprefix(BOM)
        ends = {_hash(one) for one in (on_disk, plain, plain.replace("\r\n", "\n"))}
        wanted: str | None = _hash(text)
        for record in reversed(self._record.state.journal.records):
            if record.by_person and record.to == path:
                path = record.path
                continue
            if record.state != "applied" or record.path != path:
                continue
            if record.operation != "edit" or wanted != record.after or record.planned != record.after:
                return False
            wanted = record.before
            if wanted in ends:
                return True
        return False

    async def have_saved(self, uris: Sequence[str]) -> Sequence[Tried]:
        """Have the client save these documents."""
        with self._waiting():
            return await have_saved(uris, self.overlay, self.documents, self._services.editor, self.clock)

    async def saved(self, uris: Sequence[str]) -> None:
        """Wait until the client has saved these documents, for as long as a question may take."""
        documents, waiting = self._services.documents, set(uris)
        if waiting & set(self.agent_buffers()):
            names = ", ".join(self.folders.display_of(uri) for uri in uris)
            self._services.editor.say("info", f"Outrider goes on as soon as {names} is saved.")
        with self._waiting():
            for uri in uris:
                await documents.until(
                    uri,
                    lambda _: not waiting & set(self.agent_buffers()),
                    self.clock,
                    self.limits.ask_seconds,
                )

    def changed_buffer(self, uri: str) -> None:
        """Take note that this session changed an open document."""
        document = self._services.documents.get(uri)
        if document is not None:
            self._touched[uri] = document.saves

    def hash_of(self, located: Located, text: str) -> str | None:
        """The content hash of the text of an open document, where it is known without computing it."""
        return self._services.sightings.hash_of(located.display, text)

    def left_open(self, located: Located, text: str, digest: str) -> None:
        """Take note of the text that a change of this session left in an open document."""
        self._services.sightings.note(located.display, located, text, digest)

    def set_plan(self, items: Sequence[PlanItem]) -> None:
        """Replace the plan."""
        self.record(PlanUpdated(items=list(items)))

    def _known(self, call_id: str) -> CallState | None:
        turn = self._record.state.turn
        return turn.calls.get(call_id) if turn else None

    @contextmanager
    def _waiting(self) -> Generator[None, None, None]:
        if self._budget:
            self._budget.hold()
        try:
            yield
        finally:
            if self._budget:
                self._budget.release()


def _hash(text: str) -> str:
    return content_hash(text.encode("utf-8", "surrogatepass"))
