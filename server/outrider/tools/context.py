"""What a tool may use: the services it works with, and what only the running turn can do for it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from outrider.permissions.commands import Command, Part
from outrider.permissions.decide import Access, Judgement
from outrider.permissions.masking import Masking
from outrider.ports.clock import Clock
from outrider.ports.editor import Reported, ToolAnswer, Unanswered
from outrider.ports.ids import IdKind
from outrider.ports.model import ToolCall
from outrider.processes import Jobs, Supervisor
from outrider.processes.sandbox import Confined
from outrider.tools.git.history import GitHistory
from outrider.tools.result import ToolResult
from outrider.workspace.census import Census
from outrider.workspace.change import Change
from outrider.workspace.choosing import Chosen, Stop
from outrider.workspace.documents import DocumentStore
from outrider.workspace.editing import Editing
from outrider.workspace.overlay import Overlay
from outrider.workspace.paths import Folders, Located
from outrider.workspace.review import Review
from outrider.workspace.saving import Tried
from outrider.workspace.search import Search
from outrider_protocol.events import Decision, EventData, PlanItem, RulePattern
from outrider_protocol.settings import Limits


@dataclass(frozen=True, slots=True)
class Action:
    """What a call is about to do, worked out against the workspace as it is now, and how to do it.

    Working it out again gives the same `digest` exactly if it would still do what the person was shown.
    """

    access: Access
    perform: Callable[[], Awaitable[ToolResult]]
    prepare: Callable[[], Awaitable[ToolResult | None]] | None = None
    """What has to be settled with the person before it begins; a result means that it does not."""
    title: str = ""
    detail: str = ""
    digest: str = ""
    covers: str = ""
    """What "Allow for this session" would cover, in words."""
    always: Sequence[RulePattern] = ()
    """The rules that would allow it from now on; empty where none can."""
    changes: tuple[Change, ...] = ()
    """What it does to files: all of them in this order, or none."""
    note: str = ""
    """What the result says besides what was done."""
    whole: bool = False
    """Whether it puts a text in the place of whatever is in the file."""
    partial: Callable[[], str] | None = None
    """What was gathered so far, for a call that is cancelled in the middle."""
    leaves_sandbox: bool = False
    """Whether it runs a command without the sandbox that it failed in: its yes has a title of its own."""
    as_reviewed: bool = False
    """Whether what the person decided about its hunks is in it already."""


@dataclass(frozen=True, slots=True)
class Approval:
    """The person's word on an action."""

    decision: Decision
    note: str | None = None
    review: Review | None = None
    """What was decided about single hunks of an edit."""


@dataclass(frozen=True, slots=True)
class SeenText:
    """The text of a file that the model has last seen, with its own changes since."""

    text: str | None
    """None where it knows that there is none."""
    whole: bool
    """Whether it has that text; else it knows only that the file was changed."""


class ToolContext(Protocol):
    """The turn, as the tools see it."""

    @property
    def folders(self) -> Folders:
        """The workspace folders."""
        ...

    @property
    def documents(self) -> DocumentStore:
        """The open documents."""
        ...

    @property
    def overlay(self) -> Overlay:
        """The texts, buffers over the disk."""
        ...

    @property
    def editing(self) -> Editing:
        """How changes are made."""
        ...

    @property
    def search(self) -> Search:
        """Search over the workspace."""
        ...

    @property
    def census(self) -> Census:
        """Which files there are."""
        ...

    @property
    def git_history(self) -> GitHistory:
        """What git tells of the commits of repositories."""
        ...

    @property
    def supervisor(self) -> Supervisor:
        """Where processes are started."""
        ...

    @property
    def jobs(self) -> Jobs:
        """The session's background jobs."""
        ...

    @property
    def turn_id(self) -> str:
        """The turn."""
        ...

    async def confine(self, argv: Sequence[str], cwd: Path) -> Confined:
        """Put a command into the sandbox, as far as that is wanted and possible, with the environment of commands.

        Args:
            argv: The command.
            cwd: Where it runs; a real path.
        """
        ...

    @property
    def takes_images(self) -> bool:
        """Whether the model of the turn takes images; of several models, whether one does."""
        ...

    @property
    def clock(self) -> Clock:
        """Time."""
        ...

    @property
    def masking(self) -> Masking:
        """The secrets of the session, and what stands for them."""
        ...

    @property
    def limits(self) -> Limits:
        """Limits of the turn."""
        ...

    @property
    def label(self) -> str:
        """What the editor's undo list calls the changes of this turn."""
        ...

    async def look_at_rules(self) -> bool:
        """Take in what has changed in the files of rules; gives whether anything has."""
        ...

    def why_shut(self, names: Sequence[str]) -> str | None:
        """Why nothing of a file of these names may be seen without an explicit yes, None where it may."""
        ...

    def place_of(self, located: Located) -> str | None:
        """The real path of a file, where its path in the session's folders does not tell it."""
        ...

    def judge(self, tool: str, access: Access) -> Judgement:
        """Decide on an access of a tool by the modes, rules and grants that hold now."""
        ...

    def parts_of(self, command: Command) -> list[Part]:
        """The parts of a command line, each judged by the modes and rules that hold now."""
        ...

    def decided(self, judgement: Judgement) -> None:
        """Take note that rules decided."""
        ...

    def approved(self, call: ToolCall) -> str | None:
        """Digest of the action that the person said yes to for this call, None where they did not."""
        ...

    def answered(self, call: ToolCall, question: str) -> str | None:
        """The person's answer to that question of the call, None where there is none yet."""
        ...

    def new_id(self, kind: IdKind) -> str:
        """A fresh id."""
        ...

    def record(self, data: EventData, blobs: Mapping[str, bytes] | None = None) -> None:
        """Append an event to the session's log."""
        ...

    async def settled(self, *, durable: bool = False) -> str | None:
        """Wait until all that was recorded is committed; a text says why it cannot be, and then no effect may start."""
        ...

    def stream_output(self, call: ToolCall, text: str) -> None:
        """Show a piece of a call's output as it comes."""
        ...

    def proposed(self, call: ToolCall, action: Action) -> Sequence[str]:
        """The ids of the changes of an action that waits for a yes since before a restart; none where it does not."""
        ...

    def reviews(self, call: ToolCall) -> Sequence[Review]:
        """What the person has decided so far about single hunks of the call's edit."""
        ...

    def notes(self, call: ToolCall) -> Sequence[str]:
        """What the person has said so far with a yes to the call."""
        ...

    async def approve(self, call: ToolCall, action: Action, change_ids: Sequence[str]) -> Approval:
        """Ask the person for a yes. Returns only with an explicit answer; the turn parks meanwhile if need be.

        Args:
            call: The call.
            action: What it would do.
            change_ids: The ids under which its changes were proposed.
        """
        ...

    async def choose(self, changes: Sequence[Change], stop: Stop) -> Chosen:
        """Have the person choose in the editor which hunks of changes are made.

        Args:
            changes: The changes, of open documents.
            stop: Says that nobody waits any more.
        """
        ...

    async def ask(self, call: ToolCall, question: str, options: Sequence[str], *, free_form: bool) -> str:
        """Ask the person a question and give the answer."""
        ...

    async def call_client(self, call: ToolCall, given: Mapping[str, Any], *, durable: bool) -> ToolAnswer:
        """Have the client run a call. Returns only with a result; the turn parks meanwhile if need be.

        Args:
            call: The call, of a tool that the client registered.
            given: Its arguments.
            durable: Whether it must be on the disk first that the client was asked.
        """
        ...

    async def diagnostics(self, uris: Sequence[str] | None) -> Sequence[Reported] | Unanswered:
        """What the language servers and linters of the editor report, of these documents or of all."""
        ...

    def handed_over(self, call: ToolCall) -> bool:
        """Whether the client was asked to run that call, before a restart."""
        ...

    def known_paths(self) -> Sequence[str]:
        """The files that the model has seen or this session has changed; what was known last comes last."""
        ...

    async def seen(self, path: str, at_hand: Mapping[str, str] | None = None) -> SeenText | None:
        """What the model has last seen of a file; None where it has never seen it.

        Args:
            path: The file.
            at_hand: Texts by their content hash, which need not be read from the log.
        """
        ...

    def agent_buffers(self) -> Sequence[str]:
        """URIs of the open documents that this session has changed and that were not saved since."""
        ...

    def is_own_work(self, path: str, on_disk: str, text: str) -> bool:
        """Whether this session's edits alone led from the text on the disk to another one."""
        ...

    async def have_saved(self, uris: Sequence[str]) -> Sequence[Tried]:
        """Have the client save these documents, without a question, in whatever ways it can."""
        ...

    async def saved(self, uris: Sequence[str]) -> None:
        """Wait until the client has saved these documents, for as long as a question may take."""
        ...

    def changed_buffer(self, uri: str) -> None:
        """Take note that this session changed an open document."""
        ...

    def hash_of(self, located: Located, text: str) -> str | None:
        """The content hash of the text of an open document, where it is known without computing it."""
        ...

    def left_open(self, located: Located, text: str, digest: str) -> None:
        """Take note of the text that a change of this session left in an open document.

        Args:
            located: The file.
            text: The text.
            digest: Its content hash.
        """
        ...

    def set_plan(self, items: Sequence[PlanItem]) -> None:
        """Replace the plan."""
        ...
