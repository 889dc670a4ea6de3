"""The commands of `workspace/executeCommand`: the params and the result of each, and the table of them."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Field, model_validator

import outrider_protocol as names
from outrider_protocol.events import (
    Conflict,
    Context,
    Decision,
    JobStatus,
    Mode,
    NotUndoable,
    Open,
    Operation,
    Outcome,
    Phase,
    PlanItem,
    ReviewedHunk,
    RulePattern,
    Scope,
    UndonePath,
    UndoScope,
    Usage,
    WireImage,
    WireToolCall,
)  # fmt: skip
from outrider_protocol.export import Export
from outrider_protocol.notifications import Event
from outrider_protocol.settings import Effect, LimitsPatch, Price, Tier
from outrider_protocol.wire import Wire

Text = Annotated[str, Field(min_length=1)]


class ExploreParams(Wire):
    """A task that may only look."""

    prompt: Text
    context: Context | None = None
    session_id: str | None = None
    model: str | None = None
    limits: LimitsPatch | None = None


class RunParams(ExploreParams):
    """A task. Without `sessionId` a new session is made."""

    mode: Mode = "agent"
    draft: str | None = None


class RunResult(Wire):
    """The turn that was started, or queued behind the one that is running."""

    session_id: str
    turn_id: str
    queued: bool | None = None


class SteerParams(Wire):
    """A text for the running turn, or the removal of one that the model has not seen yet."""

    session_id: str
    text: Text | None = None
    remove: str | None = None
    draft: str | None = None

    @model_validator(mode="after")
    def _one_of(self) -> "SteerParams":
        if (self.text is None) == (self.remove is None):
            raise ValueError("give either text or remove")
        return self


class SteerResult(Wire):
    """The steering text's id."""

    pending_id: str


class CancelParams(Wire):
    """Ends a turn."""

    turn_id: str
    reason: str | None = None


class CancelResult(Wire):
    """How the turn ended; the same however often it is asked."""

    turn_id: str
    outcome: Outcome


class AnswerParams(Wire):
    """The answer to an open item: `decision` for an approval, `answer` for a question or a tool, or its `error`."""

    id: str
    decision: Decision | None = None
    answer: str | None = None
    error: str | None = None
    note: str | None = None
    review: list[ReviewedHunk] | None = None
    """For an edit, beside a `decision`: what is decided otherwise about single hunks, or said about them."""
    scope: Scope | None = None
    """With `allow_always`: where its rules shall hold; absent means in this workspace."""

    @model_validator(mode="after")
    def _one_of(self) -> "AnswerParams":
        if [self.decision, self.answer, self.error].count(None) != 2:
            raise ValueError(
                "give one of decision (for an approval), answer (for a question or a tool) and error (for a tool)"
            )
        return self


class AnswerResult(Wire):
    """The item that is answered now."""

    id: str


class StatusParams(Wire):
    """Which session; absent means all that are open in this process."""

    session_id: str | None = None


class QueuedRun(Wire):
    """A turn that waits for the running one."""

    turn_id: str
    prompt: str


class PendingSteering(Wire):
    """A steering text that the model has not seen yet."""

    pending_id: str
    text: str


class ModelLatency(Wire):
    """How fast a model was."""

    model: str
    requests: int
    """How many were measured."""
    first_token_ms: float
    """From a request to the first of its text or reasoning."""
    tokens_per_second: float | None = None
    """From there on; absent where every answer was too short to tell."""


class SessionStatus(Wire):
    """What a session is doing now."""

    session_id: str
    state: Literal["idle", "running", "parked"]
    turn_id: str | None = None
    phase: Phase | None = None
    queue: list[QueuedRun]
    steering: list[PendingSteering]
    open: list[Open]
    plan: list[PlanItem]
    usage: Usage
    latencies: list[ModelLatency] = Field(default_factory=list[ModelLatency])
    """How fast its models were, on average over its requests, the latest counting most."""


class StatusResult(Wire):
    """The sessions that are open in this process."""

    sessions: list[SessionStatus]


class WaitParams(Wire):
    """Waits until the turn has finished or needs an answer, `timeout` seconds at most."""

    turn_id: str
    timeout: Annotated[float, Field(ge=0)] | None = None


class WaitResult(Wire):
    """How it stands: no `outcome` means that the turn is still running."""

    turn_id: str
    outcome: Outcome | Literal["needs_input"] | None = None
    reason: str | None = None
    summary: str | None = None
    usage: Usage | None = None
    open: list[Open] | None = None


class EventsParams(Wire):
    """A stretch of a session's log; `fromSeq` is the first one wanted, from 1."""

    session_id: str
    from_seq: Annotated[int, Field(ge=1)] = 1
    limit: Annotated[int, Field(ge=1, le=10_000)] = 1000


class EventsResult(Wire):
    """Events in order. `more`: there are further ones from `nextSeq` on."""

    events: list[Event]
    next_seq: int
    more: bool


class SessionsParams(Wire):
    """No parameters."""


class SessionSummary(Wire):
    """A session of this workspace, open or not."""

    session_id: str
    title: str
    state: Literal["idle", "running", "parked", "closed"]
    elsewhere: bool = False
    """Whether another process is at a turn of it."""
    outcome: Outcome | None = None
    """How its latest turn ended, if it has."""
    started_at: str
    last_at: str
    turns: int


class SessionsResult(Wire):
    """The sessions of this workspace, the latest first."""

    sessions: list[SessionSummary]


class ResumeParams(Wire):
    """Opens a session of the log again; its open items are asked again."""

    session_id: str


class UndoParams(Wire):
    """What to take back; without `id` the latest of that scope. Without `sessionId` the latest session.

    Without `scope` it is what the id names, and a turn where there is none; of a redo the session, if that was undone last. `wait` is false for an editor that does
    nothing until the command is answered: the answer is empty, and what was left as it is comes as a message.
    """

    session_id: str | None = None
    scope: UndoScope | None = None
    id: str | None = None
    wait: bool = True


class UndoResult(Wire):
    """What an undo or a redo did."""

    change_id: str
    undone: list[UndonePath]
    conflicts: list[Conflict]
    not_undoable: list[NotUndoable]


class ChangesParams(Wire):
    """Which changes to list. Without `sessionId` those of the latest session that changed something."""

    session_id: str | None = None
    turn_id: str | None = None
    format: Literal["list", "patch"] = "list"


class ChangedHunk(Wire):
    """One hunk of a change, as it is now."""

    id: str
    line: int
    """Where it is in the text as it is now, from 1."""
    removed: str
    added: str
    state: Literal["applied", "undone", "altered", "conflict"]


class ChangeInfo(Wire):
    """One change of one file."""

    change_id: str
    turn_id: str | None = None
    step: int
    call_id: str | None = None
    path: str
    """Where the file was; the hunks are where it is now."""
    to: str | None = None
    operation: Operation
    hunks: list[ChangedHunk]
    state: Literal["applied", "undone", "conflict"] | None = None
    """How a rename stands, which has no hunks: `conflict` where its file is gone, or another one is in its place."""
    undoable: bool
    reason: str | None = None
    """Why it cannot be taken back."""


class LeftOut(Wire):
    """A file that was changed and is not in the patch."""

    path: str
    reason: str


class ChangesResult(Wire):
    """The changes of a session."""

    session_id: str
    changes: list[ChangeInfo] | None = None
    """In the order they were made; for `list`."""
    not_undoable: list[NotUndoable] | None = None
    """What commands did besides, which no undo takes back; for `list`."""
    patch: str | None = None
    """What they come to, as `git apply` takes it; for `patch`."""
    left_out: list[LeftOut] | None = None
    """What was changed and is not in it; for `patch`."""


class ToolsParams(Wire):
    """Which mode the tools are listed for."""

    mode: Mode = "agent"


class ToolInfo(Wire):
    """One tool as the model sees it."""

    name: str
    description: str
    input_schema: dict[str, Any]
    effect: Effect


class ToolsResult(Wire):
    """The tools."""

    tools: list[ToolInfo]


class ModelsParams(Wire):
    """Nothing to say."""


class ModelInfo(Wire):
    """A model that a task can name."""

    model: str
    """As a task names it."""
    named: bool
    """Whether the settings name it; others are what their providers list."""
    tier: Tier | None = None
    """The best of `tiers` that has it."""
    context_window: int
    price: Price | None = None


class ModelsResult(Wire):
    """The models, those that the settings name first."""

    model: str | None = None
    """What a task gets that names none."""
    models: list[ModelInfo]
    problems: list[str]
    """Why providers have not said what they have."""


class DoctorParams(Wire):
    """What is looked at beyond what costs nothing."""

    probe: bool = False
    """Whether each model that may be asked is asked, in one small request, to call a tool."""


class Check(Wire):
    """One thing that was looked at."""

    name: str
    status: Literal["ok", "warn", "fail"]
    detail: str


class DoctorResult(Wire):
    """What was looked at."""

    checks: list[Check]


class PromptParams(Wire):
    """The session whose next request is shown, whoever runs it."""

    session_id: str


class PromptSection(Wire):
    """A part of a request, and about how many tokens it has."""

    kind: str
    """`identity`, `mode`, `environment`, `instructions`, `prompt`, `open`, `selection`, `diagnostics`, `map`, `summary`; else
    the role of its message, or `tools`."""
    name: str | None = None
    tokens: int


class PromptMessage(Wire):
    """A message of a request, as the model gets it."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    reasoning: str | None = None
    tool_calls: list[WireToolCall] | None = None
    tool_call_id: str | None = None
    tokens: int
    images: list[WireImage] | None = None
    """What is shown with it, if the model takes images."""
    sections: list[PromptSection] | None = None
    """What its text is made of, in order, where that is known."""


class PromptResult(Wire):
    """The next request as it would be made now, before anything is left out because of its length."""

    session_id: str
    model: str | None = None
    """The one that was asked last."""
    tool_format: str | None = None
    """How calls are written into its text; then `messages` have them so, and the system message describes `tools`."""
    messages: list[PromptMessage]
    tools: list[ToolInfo]
    sections: list[PromptSection]
    """The whole request by the kind of its sections."""
    tokens: int
    """About how many it has."""
    counted: int | None = None
    """What the provider counted for the latest request, its answer included."""
    context_window: int | None = None
    """Tokens that the model can take."""


class MapParams(Wire):
    """What is at hand."""

    files: list[str] | None = None
    """Paths, as the tools name them."""
    prompt: str | None = None
    """A task, whose words count."""
    tokens: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """About how many it may have; absent: as many as in a turn."""


class MapResult(Wire):
    """The repository map for that, whether or not turns get one."""

    text: str
    """Empty where the workspace has no file that the map knows."""
    files: int
    """Of how many files it has names."""


class OpenParams(Wire):
    """Opens a document that carries actions: the task document, or the one of an open item."""

    what: Literal["task", "review", "answer"] = "task"
    id: str | None = None
    """The open item, for `review` and `answer`."""


class OpenResult(Wire):
    """The document."""

    uri: str


class ExportParams(Wire):
    """The session to put into one file, whoever runs it."""

    session_id: str


class NewRule(RulePattern):
    """A rule to be saved."""

    decision: Literal["allow", "ask", "deny"]
    scope: Scope = "workspace"
    expires: Annotated[AwareDatetime, Field(strict=False)] | None = None
    """When it ends."""


class RuleInfo(RulePattern):
    """A rule."""

    id: str
    decision: Literal["allow", "ask", "deny"]
    scope: Literal["session", "workspace", "everywhere"]
    workspace: str | None = None
    """The folder where it holds, with the scope `workspace`."""
    origin: str
    """Who made it: `person`, or `workspace` where it stands in a workspace's own file, which can only tighten."""
    added: str | None = None
    expires: str | None = None
    hits: int = 0
    """How often it decided."""
    text: str
    """The whole of it in words."""


class PermissionsParams(Wire):
    """Lists the rules, adds one, removes the one of an id, or opens their file in the editor."""

    action: Literal["list", "add", "remove", "open"] = "list"
    rule: NewRule | None = None
    id: str | None = None

    @model_validator(mode="after")
    def _what_it_needs(self) -> "PermissionsParams":
        if (self.rule is not None) != (self.action == "add"):
            raise ValueError("a rule goes with add, and add needs one")
        if (self.id is not None) != (self.action == "remove"):
            raise ValueError("an id goes with remove, and remove needs one")
        return self


class PermissionsResult(Wire):
    """The rules as they are now, the person's first."""

    path: str
    """The person's file."""
    rules: list[RuleInfo]
    problem: str | None = None
    """Why that file cannot be read; then nothing but reading is possible."""


class TrustParams(Wire):
    """Lists what was said of folders, after something more is said of one if that is wanted."""

    action: Literal["list", "trust", "read-only", "forget"] = "list"
    folder: str | None = None
    """An absolute path."""
    below: bool | None = None
    """With `trust`: the folders below it, too."""

    @model_validator(mode="after")
    def _what_it_needs(self) -> "TrustParams":
        if (self.folder is None) != (self.action == "list"):
            raise ValueError("a folder goes with trust, read-only and forget, and each of them needs one")
        if self.below is not None and self.action != "trust":
            raise ValueError("below goes with trust")
        return self


class FolderTrust(Wire):
    """What was said of a folder, or what holds for one of the workspace."""

    path: str
    trust: Literal["trusted", "read-only", "unknown"]
    below: bool | None = None
    """Whether that is said of the folders below it, too."""
    added: str | None = None


class TrustResult(Wire):
    """What was said of folders, and what holds for those of the workspace."""

    path: str
    """The person's file."""
    folders: list[FolderTrust]
    """What is in it."""
    workspace: list[FolderTrust]
    """What holds here, the client's word included."""
    problem: str | None = None
    """Why that file cannot be read; then nothing but reading is possible."""


class JobsParams(Wire):
    """Lists the background jobs, or reads, waits for or ends the one of an id."""

    action: Literal["list", "read", "wait", "kill"] = "list"
    id: str | None = None
    timeout: Annotated[float, Field(ge=0)] | None = None
    """Seconds that `wait` waits at most; absent: until it ends."""
    session_id: str | None = None
    """With `list`: only the jobs of that session."""

    @model_validator(mode="after")
    def _what_it_needs(self) -> "JobsParams":
        if (self.id is None) != (self.action == "list"):
            raise ValueError("an id goes with read, wait and kill, and each of them needs one")
        if self.timeout is not None and self.action != "wait":
            raise ValueError("a timeout goes with wait")
        return self


class JobInfo(Wire):
    """A background job of this process."""

    job_id: str
    session_id: str
    turn_id: str
    """The turn that started it."""
    command: str
    cwd: str
    sandboxed: bool
    status: JobStatus | Literal["running"]
    exit_code: int | None = None
    signal: int | None = None
    seconds: float
    """How long it has run."""


class JobsResult(Wire):
    """The jobs as they are now, the oldest first; with an id, that one."""

    jobs: list[JobInfo]
    output: str | None = None
    """With an id: what it has printed, head and tail."""


@dataclass(frozen=True, slots=True)
class Command:
    """One row of the command table: its name, what it takes, what it gives, what it is for."""

    name: str
    params: type[Wire]
    result: type[Wire]
    summary: str


COMMANDS: dict[str, Command] = {
    row.name: row
    for row in (
        Command(names.RUN, RunParams, RunResult, "Give a task."),
        Command(names.EXPLORE, ExploreParams, RunResult, "Give a task that may only look."),
        Command(names.STEER, SteerParams, SteerResult, "Say something to the running turn, or take it back."),
        Command(names.CANCEL, CancelParams, CancelResult, "End a turn and everything it started."),
        Command(names.ANSWER, AnswerParams, AnswerResult, "Answer an open item."),
        Command(names.STATUS, StatusParams, StatusResult, "Say what the sessions are doing."),
        Command(names.WAIT, WaitParams, WaitResult, "Wait for a turn to finish or to need an answer."),
        Command(names.EVENTS, EventsParams, EventsResult, "Read a session's log."),
        Command(names.SESSIONS, SessionsParams, SessionsResult, "List the sessions of this workspace."),
        Command(names.RESUME, ResumeParams, SessionStatus, "Open a session of the log again."),
        Command(names.UNDO, UndoParams, UndoResult, "Take back changes, keeping what others wrote since."),
        Command(names.REDO, UndoParams, UndoResult, "Take back the latest undo."),
        Command(
            names.CHANGES, ChangesParams, ChangesResult, "List what a session changed, or give it as a patch."
        ),
        Command(names.TOOLS, ToolsParams, ToolsResult, "List the tools."),
        Command(
            names.MODELS,
            ModelsParams,
            ModelsResult,
            "List the models that can be had, and ask providers for theirs.",
        ),
        Command(names.DOCTOR, DoctorParams, DoctorResult, "Look at the set-up and say what is wrong."),
        Command(names.PROMPT, PromptParams, PromptResult, "Show what the model would be sent next."),
        Command(names.MAP, MapParams, MapResult, "Draw the repository map for some files or a task."),
        Command(
            names.OPEN, OpenParams, OpenResult, "Open the task document or the document of an open item."
        ),
        Command(names.EXPORT, ExportParams, Export, "Put a session into one file, without secrets."),
        Command(
            names.PERMISSIONS,
            PermissionsParams,
            PermissionsResult,
            "List, add, remove and open what may happen without a question.",
        ),
        Command(
            names.TRUST,
            TrustParams,
            TrustResult,
            "List which workspace folders are trusted, and say it of one.",
        ),
        Command(names.JOBS, JobsParams, JobsResult, "List, read, wait for and end background jobs."),
    )
}
