"""What tools get: objects for single needs, and contexts that put together what a kind of tool needs.

A tool names the context that it takes, and can reach nothing else: one that reads has no way to ask for a yes or to
change a file. `ToolContext` has everything; the executor and commands get it.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from outrider.language.languages import Languages
from outrider.mcp.results import Answer, Wanted
from outrider.permissions.policy.commands import Command, Part
from outrider.permissions.policy.decide import Access, Judgement, NoSandbox
from outrider.permissions.secrets.masking import Masking
from outrider.ports.clock import Clock
from outrider.ports.editor import ToolAnswer
from outrider.ports.ids import IdKind
from outrider.ports.model import Image, ToolCall
from outrider.processes import Job, Jobs, Supervisor
from outrider.processes.sandbox import Confined, Facts
from outrider.workspace.documents.saving import Tried
from outrider.workspace.edits.change import Change, Written
from outrider.workspace.edits.review import Review
from outrider.workspace.paths import Located
from outrider.workspace.workspace import View, Workspace
from outrider_protocol.choices import Effect, PermissionMode
from outrider_protocol.events import (
    Decision,
    EventData,
    InputField,
    PlanItem,
    Ran,
    Recalled,
    RulePattern,
    ToolStatus,
    Verdict,
)
from outrider_protocol.settings import Limits

OUTSIDE = " outside the workspace"
"""What the title of an approval ends with, if what it is for does not stay inside."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The one result of a call: `content` is what the model reads."""

    status: ToolStatus
    content: str
    read: dict[str, str] = field(default_factory=dict[str, str])
    """The whole texts that stand behind `content`, by path."""
    images: tuple[Image, ...] = ()
    """What the model is shown with `content`."""
    image_contents: Mapping[str, bytes] = field(default_factory=dict[str, bytes], repr=False)
    """The contents of `images`, by hash."""
    ran: Ran | None = None
    """What a command that came to its end is evidence of."""
    verdict: Verdict | None = None
    """What an edit does to the problems of the files, or would do, where that is known."""
    recalled: Recalled | None = None
    """The answer that the user gave to the same question before."""


def ok(content: str, read: dict[str, str] | None = None) -> ToolResult:
    """It worked."""
    return ToolResult("ok", content, read or {})


def error(content: str) -> ToolResult:
    """It did not, and the model can do something about it."""
    return ToolResult("error", content)


@dataclass(frozen=True, slots=True)
class Action:
    """What a call is about to do, worked out against the workspace as it is now, and how to do it.

    Working it out again gives the same `digest` exactly if it would still do what the user was shown.
    """

    access: Access
    perform: Callable[[], Awaitable[ToolResult]]
    prepare: Callable[[], Awaitable[ToolResult | None]] | None = None
    """What has to be settled with the user before it begins; a result means that it does not."""
    title: str = ""
    summary: str = ""
    """One line that says what will happen, where the title can be long; empty where the title says it."""
    detail: str = ""
    is_folded: bool = False
    """Whether neither the summary nor the detail shows all of what the title says."""
    digest: str = ""
    covers: str = ""
    """What "Allow for this session" would cover, in words."""
    always: Sequence[RulePattern] = ()
    """The rules that would allow it from now on; empty where none can."""
    changes: tuple[Change, ...] = ()
    """What it does to files: all of them in this order, or none."""
    note: str = ""
    """What the result says besides what was done."""
    besides: str | None = None
    """All that the result of an edit says besides what was done; None: that is worked out."""
    whole: bool = False
    """Whether it puts a text in the place of whatever is in the file."""
    partial: Callable[[], str] | None = None
    """What was gathered so far, for a call that is cancelled in the middle."""
    leaves_sandbox: bool = False
    """Whether it runs a command without the sandbox that it failed in: its yes has a title of its own."""
    puts_back: bool = False
    """Whether it undoes what a command did to protected files: its answers have titles of their own."""
    asked_alone: bool = False
    """Whether it is never asked about together with other edits of its step."""
    amid_call: bool = False
    """Whether it is asked in the middle of its call, which did something else before: an earlier yes was for that."""
    as_reviewed: bool = False
    """Whether what the user decided about its hunks is in it already."""
    trial: Verdict | None = None
    """What it would do to the problems of the files, where that was tried."""


@dataclass(frozen=True, slots=True)
class Approval:
    """The user's word on an action."""

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


class Log(Protocol):
    """The session's log, where a turn writes to it."""

    @property
    def turn_id(self) -> str:
        """The turn."""
        ...

    def new_id(self, kind: IdKind) -> str:
        """A fresh id."""
        ...

    def place_of(self, located: Located) -> str | None:
        """The real path of a file, where its path in the session's folders does not tell it."""
        ...

    def record(self, data: EventData, blobs: Mapping[str, bytes] | None = None) -> None:
        """Append an event."""
        ...

    async def settled(self, *, durable: bool = False) -> str | None:
        """Wait until all that was recorded is committed; a text says why it cannot be, and then no effect may start."""
        ...

    def stream(self, call: ToolCall, text: str) -> None:
        """Show a piece of a call's output as it comes."""
        ...


class Rules(Protocol):
    """What Outrider may do without asking."""

    @property
    def permission_mode(self) -> PermissionMode:
        """The permission mode that holds now."""
        ...

    async def refresh(self, effect: Effect) -> bool:
        """Take in what has changed in the files of rules; gives whether anything has.

        Args:
            effect: What the call that is judged next does; before an edit it is also found out which files programs obey by another name.
        """
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

    def tell_of_no_sandbox(self, none: NoSandbox) -> None:
        """Tell the user, once in a session, that its commands run without a sandbox."""
        ...

    def tell_of_no_copy(self, reason: str) -> None:
        """Tell the user, once in a session, that commands ask in mode `auto` because no copy of the files can be kept."""
        ...


class BeforeRestart(Protocol):
    """What came of the questions of a server before a restart."""

    @property
    def state(self) -> str | None:
        """What the server wants back."""
        ...

    @property
    def answers(self) -> Mapping[str, Answer]:
        """What the user said, by what the server calls it."""
        ...


class ServerQuestions(Protocol):
    """The user, where an MCP server wants something of them in the middle of a call."""

    async def ask(
        self, call: ToolCall, server: str, wanted: Sequence[Wanted], state: str | None
    ) -> Sequence[Answer]:
        """Ask for all of it, and give the answers in the same order."""
        ...

    async def ask_again(self, call: ToolCall) -> ToolResult | None:
        """Ask what was open when the process ended; a result means that the call is not made again."""
        ...

    def before(self, call: ToolCall) -> BeforeRestart | None:
        """What the server gets back that asked before a restart; None where it did not."""


@dataclass(frozen=True, slots=True)
class PlanUnwritten:
    """Why the document of a plan could not be written."""

    message: str


class Questions(Protocol):
    """The user, where they are asked a question."""

    @property
    def servers(self) -> ServerQuestions:
        """What MCP servers want of them."""
        ...

    def answered(self, call: ToolCall, question: str) -> str | None:
        """The answer to that question of the call, None where there is none yet."""
        ...

    def answered_before(self, question: str) -> Recalled | None:
        """The same question of an earlier call of the session, with the answer that it got; None where none did."""
        ...

    def asks_too_often(self, call: ToolCall) -> str | None:
        """Why the model may not ask again in this turn; None where it may."""
        ...

    async def with_own_steps(self, items: Sequence[PlanItem]) -> tuple[list[PlanItem], list[PlanItem]]:
        """A plan of the model with the steps of the user that are not in it; and those steps."""
        ...

    async def write_plan(
        self, goal: str, steps: Sequence[str], files: Sequence[str], checks: Sequence[str]
    ) -> str | PlanUnwritten:
        """Write the document of a plan, in place of the one that the turn wrote before; gives its path."""
        ...

    async def ask(
        self,
        call: ToolCall,
        question: str,
        options: Sequence[str],
        *,
        free_form: bool,
        detail: str = "",
        fields: Sequence[InputField] = (),
        url: str | None = None,
    ) -> str:
        """Ask a question and give the answer.

        Args:
            call: Whose question it is.
            question: Its text.
            options: Answers to choose from.
            free_form: Whether any text is an answer.
            detail: What the options mean.
            fields: The values that an MCP server wants.
            url: The page that it wants opened.
        """
        ...


class User(Questions, Protocol):
    """The user, where they also allow what a call would do."""

    def approved(self, call: ToolCall) -> str | None:
        """Digest of the action that they said yes to for this call, None where they did not."""
        ...

    def asked_by_hook(self, call: ToolCall) -> str:
        """Why a hook has them asked about the call; empty where none does."""
        ...

    def proposed(self, call: ToolCall, action: Action) -> Sequence[str]:
        """The ids of the changes of an action that waits for a yes since before a restart; none where it does not."""
        ...

    def reviews(self, call: ToolCall) -> Sequence[Review]:
        """What they have decided so far about single hunks of the call's edit."""
        ...

    def notes(self, call: ToolCall) -> Sequence[str]:
        """What they have said so far with a yes to the call."""
        ...

    def demanded(self, call: ToolCall) -> bool:
        """Whether a call is a check of the task, and not the model's."""
        ...

    @property
    def asks_together(self) -> bool:
        """Whether the edits of one step are asked about at once."""
        ...

    async def approve_together(
        self, asked: Sequence[tuple[ToolCall, Action, Sequence[str]]]
    ) -> Sequence[Approval]:
        """Ask for a yes to several edits at once. See `approve`."""
        ...

    async def approve(self, call: ToolCall, action: Action, change_ids: Sequence[str]) -> Approval:
        """Ask for a yes. Returns only with an explicit answer; the turn parks meanwhile if need be.

        Args:
            call: The call.
            action: What it would do.
            change_ids: The ids under which its changes were proposed.
        """
        ...


class Client(Protocol):
    """The client, where it runs tools of its own."""

    async def call(self, call: ToolCall, given: Mapping[str, Any], *, durable: bool) -> ToolAnswer:
        """Have it run a call. Returns only with a result; the turn parks meanwhile if need be.

        Args:
            call: The call, of a tool that the client registered.
            given: Its arguments.
            durable: Whether it must be on disk first that the client was asked.
        """
        ...

    def was_asked(self, call: ToolCall) -> bool:
        """Whether it was asked to run that call, before a restart."""
        ...


@dataclass(frozen=True, slots=True)
class Judged:
    """What language servers say of an edit."""

    verdict: Verdict | None
    """None: nothing yet."""
    told: str
    """The same in words: before an edit for the user, after it for the model."""
    held: str = ""
    """Before an edit: what the model is told instead of the question; empty where the user is asked."""


class Verdicts(Protocol):
    """Language servers, where they judge the edits of a turn."""

    async def before(self, call: ToolCall, changes: Sequence[Change]) -> Judged | None:
        """What the edit of a call would do, for as long as a question may wait; None where that is not known."""
        ...

    async def after(self, call: ToolCall, done: Sequence[tuple[Change, Written]]) -> Judged | None:
        """What an edit that was made did; what is not known in time is told before the next request. None where nobody judges."""
        ...


class Knowledge(Protocol):
    """What the model has seen of the files, and can be shown."""

    @property
    def takes_images(self) -> bool:
        """Whether the model of the turn takes images; of several models, whether one does."""
        ...

    def is_news(self, note: str) -> bool:
        """Whether no result that the model still has says this; asked once for each result that is to say it."""
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


class Buffers(Protocol):
    """The open documents that this session has changed, and how they are saved."""

    @property
    def tells_saves(self) -> bool:
        """Whether the client says when a document was saved."""
        ...

    def unsaved(self) -> Sequence[str]:
        """URIs of those that were not saved since."""
        ...

    def changed(self, uri: str) -> None:
        """Take note that this session changed an open document."""
        ...

    def is_own_work(self, path: str, on_disk: str, text: str) -> bool:
        """Whether this session's edits alone led from the text on disk to another one."""
        ...

    async def have_saved(self, uris: Sequence[str]) -> Sequence[Tried]:
        """Have the client save these documents, without a question, in whatever ways it can."""
        ...

    async def saved(self, uris: Sequence[str]) -> None:
        """Wait until the client has saved these documents, for as long as a question may take."""
        ...


class StartedJobs(Protocol):
    """Background jobs that were started before."""

    @property
    def all(self) -> Sequence[Job]:
        """Those that run, and the last ones that have ended; the oldest first."""
        ...

    def get(self, job_id: str) -> Job | None:
        """The job of that id."""
        ...


class Commands(Protocol):
    """Where and how commands run."""

    @property
    def supervisor(self) -> Supervisor:
        """Where processes are started."""
        ...

    @property
    def search_path(self) -> str:
        """The `PATH` of commands."""
        ...

    async def confine(
        self, argv: Sequence[str], cwd: Path, *, runs_git: bool = False, network: bool = False
    ) -> Confined:
        """Put a command into the sandbox, as far as that is wanted and possible, with the environment of commands.

        Args:
            argv: The command.
            cwd: Where it runs; a real path.
            runs_git: Whether it runs git, which then must be told which files hold secrets.
            network: Whether it gets the network, whatever the settings say.
        """
        ...

    async def facts(self) -> Facts:
        """What a model should know of how commands run."""
        ...

    async def still_confines(self, confined: Confined) -> str | None:
        """Try again whether the sandbox of a command works, and keep that; why it does not, None if it does."""
        ...

    async def confine_to_read(
        self, argv: Sequence[str], cwd: Path, *, runs_git: bool = False
    ) -> Confined | None:
        """Put a command that is known to only read into a read-only sandbox, without the files that are shut.

        Args:
            argv: The command.
            cwd: Where it runs; a real path in a workspace folder.
            runs_git: Whether it runs git.

        Returns:
            How it runs; None where no sandbox here can hold it to that.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class ReadContext:
    """What a tool gets that reads."""

    workspace: View
    knowledge: Knowledge
    languages: Languages
    """The language servers of the workspace, and those of the editor."""
    masking: Masking
    """The secrets of the session, and what stands for them."""
    limits: Limits
    """Limits of the turn."""


@dataclass(frozen=True, kw_only=True)
class EditContext(ReadContext):
    """What a tool gets that works out edits. The executor makes them."""

    buffers: Buffers
    log: Log


@dataclass(frozen=True, kw_only=True)
class AskContext:
    """What a tool gets that talks to the user."""

    user: Questions
    log: Log


@dataclass(frozen=True, kw_only=True)
class ClientContext:
    """What a tool gets that the client runs."""

    client: Client


@dataclass(frozen=True, kw_only=True)
class JobContext:
    """What a tool gets that is about background jobs."""

    workspace: View
    jobs: StartedJobs
    """The session's."""
    clock: Clock
    """Times what waits for the outside."""
    limits: Limits


@dataclass(frozen=True, kw_only=True)
class ToolContext(EditContext, AskContext, ClientContext, JobContext):
    """A turn, with all that any tool needs."""

    workspace: Workspace
    user: User
    rules: Rules
    verdicts: Verdicts
    commands: Commands
    jobs: Jobs
    label: str
    """What the editor's undo list calls the changes of this turn."""
