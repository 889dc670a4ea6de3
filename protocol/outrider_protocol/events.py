"""The events of a session: what is committed to its log, replayed, and sent as `outrider/event`.

Each class is the `data` of one event type. A session's state is a fold over them, so an event says what
happened completely enough to be folded again after a crash.
"""

import json
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, StringConstraints, field_validator
from pydantic_core import to_jsonable_python

from outrider_protocol.settings import Limits, PermissionMode, Tier
from outrider_protocol.wire import Wire

FileMode = Annotated[str, StringConstraints(pattern=r"^[0-7]{3}$")]
"""Permission bits of a file, in octal."""

Mode = Literal["agent", "plan", "explore"]
Phase = Literal["start", "prepare", "assistant", "tools", "verify", "finish"]
Outcome = Literal["completed", "cancelled", "budget_exhausted", "failed", "refused"]
ToolStatus = Literal["ok", "error", "denied", "cancelled", "interrupted", "skipped"]
Decision = Literal["allow_once", "allow_session", "allow_always", "choose", "reject"]
Scope = Literal["workspace", "everywhere"]
"""Where a rule holds: in the folder it was made in, or in all."""
Operation = Literal["edit", "create", "delete", "rename"]
UndoScope = Literal["hunk", "step", "turn", "session"]
HunkDecision = Literal["take", "reject"]


class Secret(Wire):
    """A secret that is replaced by a placeholder."""

    name: str
    """What stands in its placeholder: `1` in `[secret 1]`; of one of several lines `1.2`."""
    kind: str
    """What it was known by: `token`, `password`, …"""
    mark: str
    """A hash of it, with a key that stays on the machine: the same secret has the same number after a restart."""


class EventData(Wire):
    """The `data` of an event; `TYPE` is what stands in the event's `type`."""

    TYPE: ClassVar[str]
    secrets: list[Secret] | None = None
    """Those that got their number since the event before; absent where none did."""


class Usage(Wire):
    """Tokens spent. `cost` is absent where it is unknown."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: float | None = None
    estimated: bool | None = None
    """True where a provider did not count some of it, so that it was estimated from the length of the texts."""


class RulePattern(Wire):
    """What a rule is about."""

    tool: str
    """A tool's name; `edit`, `read` or `execute` for all of that kind."""
    command: str | None = None
    """Of `run_command`: the words that the command of each part begins with, quoted as in a shell."""
    exact: bool | None = None
    """Whether these are all its words."""
    script: str | None = None
    """Of a command that runs a file of the workspace: the SHA-256 of its content, or `any`."""
    path: str | None = None
    """A glob over paths, relative to a workspace folder or absolute: `*` stays within a name, `**` does not."""
    host: str | None = None
    """A host; `*.example.org` for those below it."""


class Open(Wire):
    """An open item: something that waits for the person, or for a tool of the client."""

    id: str
    kind: Literal["approval", "question", "tool"]
    turn_id: str
    call_id: str | None = None
    title: str
    detail: str = ""
    options: list[str] = Field(default_factory=list[str])
    allow_free_form: bool = False
    document_uri: str | None = None
    """A document that shows the item in full."""
    always: list[RulePattern] | None = None
    """Of an approval: exactly the rules that `Always allow…` would save; absent where it is not offered."""


class Position(Wire):
    """A place in a document, zero-based, in the negotiated position encoding."""

    line: int = Field(ge=0)
    character: int = Field(ge=0)


class Range(Wire):
    """A stretch of a document; the end is exclusive."""

    start: Position
    end: Position


class Selection(Wire):
    """A selected range."""

    uri: str
    range: Range


class Diagnostics(Wire):
    """Diagnostics of one document, as LSP `Diagnostic` objects."""

    uri: str
    items: list[dict[str, Any]]


class Context(Wire):
    """What the person was looking at when the task was given."""

    selection: Selection | None = None
    documents: list[str] = Field(default_factory=list[str])
    diagnostics: list[Diagnostics] = Field(default_factory=list[Diagnostics])


# --- session -------------------------------------------------------------------------------------------------


class SessionStarted(EventData):
    """A session exists."""

    TYPE = "session.started"
    folders: list[str]
    """URIs of the workspace folders."""
    permission_mode: PermissionMode
    version: str
    """Version of the program that started it."""
    real_folders: list[str] | None = None
    """Real paths of the folders, in their order; absent where no link leads to any of them."""
    tools_hash: str | None = None
    """Content hash of the definitions of the client's tools; absent where it registered none."""


class SessionRestored(EventData):
    """A session was opened again from its log."""

    TYPE = "session.restored"
    turn_id: str | None = None
    """The turn that goes on, where one was cut off or parked."""
    rests: bool | None = None
    """True where it was opened for an undo or redo alone: its turn, and what is queued, does not go on."""
    folders: list[str]
    permission_mode: PermissionMode
    limits: Limits | None = None
    """The limits of the settings now; absent in logs of old."""
    real_folders: list[str] | None = None
    """As in `session.started`."""
    tools_hash: str | None = None
    """As in `session.started`, of the client of now."""


class FailedAttempt(Wire):
    """A model was asked, failed, and it or another one was asked again."""

    model: str
    reason: str


class SessionForked(EventData):
    """A session began as a copy of another one."""

    TYPE = "session.forked"
    from_session_id: str
    from_seq: int


class SessionClosed(EventData):
    """The process let go of the session; it can be resumed."""

    TYPE = "session.closed"
    reason: str
    left_over: int | None = None
    """Entries of a scripted model that were never asked for."""


# --- turn ----------------------------------------------------------------------------------------------------


class TurnSettings(Wire):
    """What a turn goes by, beside what it was given itself."""

    permission_mode: PermissionMode
    limits: Limits


class TurnQueued(EventData):
    """A task was given while another turn was running; its `turn.started` follows when it is its time."""

    TYPE = "turn.queued"
    prompt: str
    mode: Mode
    model: str
    context: Context | None = None
    limits: dict[str, Any] | None = None


class TurnStarted(EventData):
    """A turn began."""

    TYPE = "turn.started"
    prompt: str
    mode: Mode
    model: str
    context: Context | None = None
    limits: dict[str, Any] | None = None
    """The limits that this run set for itself."""
    settings: TurnSettings | None = None
    """What the settings say at its start; absent in logs of old."""


class SettingsChanged(EventData):
    """The permission mode became narrower while a turn was running, and counts at once."""

    TYPE = "settings.changed"
    permission_mode: PermissionMode


class TurnPhase(EventData):
    """The turn went from one phase to the next."""

    TYPE = "turn.phase"
    from_: Phase = Field(validation_alias="from", serialization_alias="from")
    to: Phase
    reason: str


class TurnParked(EventData):
    """Nothing more can be done until the person answers."""

    TYPE = "turn.parked"
    open: list[Open]


class TurnResumed(EventData):
    """An open item was answered, the turn goes on."""

    TYPE = "turn.resumed"
    id: str


class TurnFinished(EventData):
    """The turn is over. Every turn has exactly one."""

    TYPE = "turn.finished"
    outcome: Outcome
    reason: str
    summary: str
    usage: Usage


# --- model ---------------------------------------------------------------------------------------------------


class WireToolCall(Wire):
    """A tool call as the model asked for it; `arguments` is its JSON text, unparsed."""

    id: str
    name: str
    arguments: str


class RouteCandidate(Wire):
    """A model that a request could have gone to."""

    model: str
    tier: Tier | None = None
    """The tier it was found in; absent for `model` of the settings."""
    left_out: str | None = None
    """Why it was not taken: `context_window`, `vision`, `tool_strength`, `failed`; absent where it could be."""
    price: float | None = None
    """What the request would about cost; absent where the price is unknown."""
    score: float | None = None
    """Where models are chosen by score."""


class ModelRouted(EventData):
    """It was chosen which model gets the next request."""

    TYPE = "model.routed"
    purpose: str
    reason: Literal["first_step", "after_reasoning", "step", "side_task"]
    """Why that tier was wanted: no word of any text has a part in it."""
    wanted: Tier
    tier: Tier | None = None
    """The tier it came from; absent where it is `model` of the settings."""
    model: str
    others: list[str] = Field(default_factory=list[str])
    """Those that are asked next, should it fail."""
    candidates: list[RouteCandidate]
    """All that were looked at, the most wanted first."""
    tokens: int
    """About how many tokens the request has."""
    context_window: int
    """Tokens that the chosen one can take, its answer included."""
    by: Literal["order", "score"]
    """What decided among those that could be taken."""


class SessionTitled(EventData):
    """A model was asked for a title of the session, once and beside its first steps."""

    TYPE = "session.titled"
    model: str
    """Who was asked last."""
    routed: ModelRouted | None = None
    """How it was chosen who is asked."""
    failed: list[FailedAttempt] | None = None
    """What was tried before, in its order."""
    title: str | None = None
    """One line of at most 80 characters; absent where none came that could be used."""
    reason: str | None = None
    """Why there is none: the kind of the failure, `no_title`, `timeout` or `cancelled`."""
    usage: Usage | None = None
    """What it cost, where that is known."""


class ModelSwitched(EventData):
    """A model does not take tools as its provider has them, and gets and makes calls as text from now on."""

    TYPE = "model.switched"
    message_id: str
    model: str
    tool_format: str
    """One of those of the setting `models.<model>.toolFormat`."""
    reason: str
    """The kind of the failure that said so."""


class ModelRequested(EventData):
    """A request is about to go to the model."""

    TYPE = "model.requested"
    purpose: str
    """`main`, `summary`, …"""
    message_id: str
    """What the answer, and its frames, will be called."""
    model: str
    messages: list[str]
    """Content hashes of the messages, in order; each text is stored once."""
    tools: list[str]
    """Names of the tools offered."""
    tools_hash: str
    """Content hash of their definitions."""
    temperature: float | None = None
    max_tokens: int | None = None
    context_window: int | None = None
    """Tokens that a request and its answer may have together; absent in logs of old."""
    steering: list[str] = Field(default_factory=list[str])
    """Ids of the steering texts that this request brings to the model for the first time."""
    tool_format: str | None = None
    """How tools and calls are written into its text; absent where they go beside it."""
    edit_format: str | None = None
    """The kind of tools for edits that is offered; absent: all."""


class Latency(Wire):
    """How fast an answer came."""

    first_token_ms: Annotated[float, Field(ge=0)]
    """From the request to the first of its text or reasoning."""
    tokens_per_second: Annotated[float, Field(ge=0)] | None = None
    """From there to its end; absent where it is too short to tell."""


class WireProviderData(Wire):
    """What a model wants back word for word with its answer, such as signed reasoning."""

    model: str
    """The model it came from; no other gets it."""
    blocks: str
    """JSON text, for that model alone."""


class ModelResponded(EventData):
    """The model answered."""

    TYPE = "model.responded"
    purpose: str = "main"
    message_id: str
    text: str
    reasoning: str | None = None
    tool_calls: list[WireToolCall]
    finish_reason: str
    usage: Usage | None = None
    latency: Latency | None = None
    """Absent for scripts."""
    provider_data: WireProviderData | None = None


class ModelFailed(EventData):
    """There is no answer: the provider failed, or the connection to it."""

    TYPE = "model.failed"
    purpose: str
    message_id: str
    kind: str
    """`rate_limit`, `cut_stream`, `script_exhausted`, …"""
    message: str
    usage: Usage | None = None
    """What it cost all the same, where the provider said so."""


class ModelReset(EventData):
    """Text that was already shown is withdrawn."""

    TYPE = "model.reset"
    message_id: str
    text: str
    reason: str


class ModelRetried(EventData):
    """A request is made again."""

    TYPE = "model.retried"
    message_id: str
    model: str
    reason: str
    attempt: int
    usage: Usage | None = None
    """What the one before it cost, where the provider said so."""


class ModelFellBack(EventData):
    """A request goes to another model."""

    TYPE = "model.fellBack"
    message_id: str
    from_: str = Field(validation_alias="from", serialization_alias="from")
    to: str
    reason: str
    usage: Usage | None = None
    """What the one before it cost, where the provider said so."""


# --- tools ---------------------------------------------------------------------------------------------------


class ToolRequested(EventData):
    """The model asked for a tool."""

    TYPE = "tool.requested"
    call_id: str
    name: str
    input: Any
    """The arguments; their text where they were not valid JSON, for `null`, and where nobody could read them."""

    @field_validator("input", mode="before")
    @classmethod
    def _text_of_odd_values(cls, value: Any) -> Any:
        # What is None is left out on the wire, and this key must be there.
        if value is None:
            return "null"
        try:
            to_jsonable_python(value)
        except (ValueError, RecursionError):  # hundreds of levels deep, or a key with half a surrogate pair
            return json.dumps(value)
        return value


class ToolStarted(EventData):
    """The call passed its checks and its effect begins."""

    TYPE = "tool.started"
    call_id: str


class ReadText(Wire):
    """A text that a call read, as it was then."""

    path: str
    hash: str
    """Content hash."""


class WireImage(Wire):
    """An image that a call gave. Its content lies in the log's store, and in no event or export."""

    name: str
    """Its path."""
    hash: str
    """Content hash."""
    media_type: str
    """`image/png`, `image/jpeg`, `image/gif` or `image/webp`."""
    width: int
    height: int
    """Pixels."""
    size: int
    """Bytes."""


class ToolFinished(EventData):
    """The result of a call. Every call has exactly one."""

    TYPE = "tool.finished"
    call_id: str
    name: str
    status: ToolStatus
    content: str
    read: list[ReadText] | None = None
    """The files whose whole text stands behind `content`."""
    images: list[WireImage] | None = None
    """The images that the model gets with `content`."""
    masked: int | None = None
    """In how many places of `content` a placeholder stands for a secret; absent where none does."""


class ApprovalRequested(EventData):
    """An effect waits for a yes."""

    TYPE = "approval.requested"
    id: str
    call_id: str
    digest: str
    """Hash of what is shown: per hunk the text removed, put in and around; for a command argv, folder, environment."""
    title: str
    detail: str
    options: list[str]
    grant: str | None = None
    """What "Allow for this session" would cover; absent where it is not offered."""
    always: list[RulePattern] | None = None
    """The rules that "Always allow…" would save; absent where it is not offered."""
    change_ids: list[str] | None = None
    """Of an edit: its changes, each with an `edit.proposed` before this; absent for others, and in logs of old."""
    reviewed: bool | None = None
    """True where it is an edit that was reviewed before, and as it was reviewed; what is not in it was rejected."""


class ReviewedHunk(Wire):
    """What the person decided about one hunk of an edit that they were asked about."""

    id: str
    """The change and the number of the hunk in its `edit.proposed`, from 1: `chg_3#2`. One that is created, deleted
    or renamed has just one."""
    decision: HunkDecision
    reason: str | None = None
    """What the model is told about it."""
    text: str | None = None
    """What is put in instead of the hunk's `added`, whole lines; only for `take`."""


class ApprovalResolved(EventData):
    """An effect was allowed or rejected. A rule that forbids comes without a request: `by` is `rule`, and `id` is new."""

    TYPE = "approval.resolved"
    id: str
    call_id: str
    decision: Decision
    by: Literal["person", "rule", "mode"]
    channel: str | None = None
    """How the answer came: `message`, `command`, `action`, `document`."""
    rule: str | None = None
    """By rule or mode: why, in words."""
    rules: list[str] | None = None
    """By rule: the ids of the rules of the ledger, or of a workspace, that decided."""
    scope: Scope | None = None
    """With `allow_always`: where the rules that were saved hold."""
    grant: str | None = None
    """By rule: which "Allow for this session" covers it."""
    note: str | None = None
    review: list[ReviewedHunk] | None = None
    """What was decided about single hunks; those that are not named are as `decision` says."""
    digest: str | None = None
    """Of what was allowed, where the review made it something else than was asked."""
    instead: str | None = None
    """The item that is asked in its place, as what was asked has changed: nobody rejected it, though `decision` closes it."""


class QuestionAsked(EventData):
    """The model or the server asks the person."""

    TYPE = "question.asked"
    id: str
    call_id: str | None = None
    question: str
    options: list[str] = Field(default_factory=list[str])
    allow_free_form: bool = True


class QuestionAnswered(EventData):
    """The person answered."""

    TYPE = "question.answered"
    id: str
    call_id: str | None = None
    answer: str
    channel: str | None = None


class ToolAsked(EventData):
    """A call went to the client, whose tool it is. It is asked again under the same id after a restart."""

    TYPE = "tool.asked"
    id: str
    call_id: str
    name: str


class ToolAnswered(EventData):
    """The client, or somebody in its place, gave the result of such a call."""

    TYPE = "tool.answered"
    id: str
    call_id: str
    status: Literal["ok", "error"]
    content: str
    """The result, cut to `limits.outputBytes`: `tool.finished` may come much later, or after a crash."""
    channel: str | None = None
    """How it came: `client` for the answer to `outrider/tool`, else as for an approval."""


# --- edits ---------------------------------------------------------------------------------------------------


class WireHunk(Wire):
    """One changed stretch of a text: whole lines, `line` being the first one in the text before, from 1."""

    line: int
    removed: str
    added: str


class GoingFolder(Wire):
    """A folder that goes with its last file."""

    path: str
    """Its path in the one that goes, which is `.`."""
    mode: FileMode
    """Its permission bits, in octal."""


class EditEvent(EventData):
    """What all edit events say: which change, by which call, to which path."""

    change_id: str
    call_id: str | None = None
    path: str
    operation: Operation = "edit"
    to: str | None = None
    """The new path of a rename."""
    hunks: list[WireHunk]
    encoding: Literal["utf-16-le", "utf-16-be"] | None = None
    """How the file holds its text, where that is not UTF-8; absent in logs of old for an edit."""
    mode: FileMode | None = None
    """Permission bits, in octal, of the file that is deleted or comes back, where they are not those of any new file; of
    an edit those that it puts back."""
    kept_mode: FileMode | None = None
    """Permission bits, in octal, that an edited file keeps, where they are not those of any new file: it is made again
    with them if somebody deletes it and the edit is taken back."""
    hidden: list[Literal["bom", "crlf"]] | None = None
    """What the file has and the open document, whose text counts here, does not show: a byte order mark, line ends with a
    carriage return."""
    folder: str | None = None
    """The folder that goes with the file, which is its last one."""
    folders: list[GoingFolder] | None = None
    """That folder and those in it, which come back with it."""


class EditProposed(EditEvent):
    """A change was worked out; nothing has happened yet."""

    TYPE = "edit.proposed"
    before: str | None = None
    """Content hash of the text it was worked out for; absent where there is no file."""
    after: str | None = None
    """Content hash of the text it would leave; absent where it would leave no file."""


class EditApplying(EditEvent):
    """A change is about to be written. It is on disk before the change is."""

    TYPE = "edit.applying"
    before: str | None = None
    """Content hash of the text before; absent where the file did not exist."""
    after: str | None = None
    """Content hash of the text after; absent where the file is deleted."""
    undoes: str | None = None
    """The change that this one takes back."""
    undoes_hunks: list[int] | None = None
    """Which of its hunks, as the first change counts them, from 1; absent: all."""
    place: str | None = None
    """The real path of the file, where `path` in the session's folders does not tell it: a link leads there, or the
    folders are others by now. An undo changes no other file."""
    to_place: str | None = None
    """The same of `to`."""
    besides: list[str] | None = None
    """What a file that is deleted has besides its text and its permission bits, and would not come back with: the names
    of its extended attributes, `setuid`, `setgid`, `sticky`."""


class EditApplied(EditEvent):
    """A change is in place, verified by its text."""

    TYPE = "edit.applied"
    before: str | None = None
    after: str | None = None
    undoes: str | None = None
    undoes_hunks: list[int] | None = None
    where: Literal["buffer", "disk"]
    made_folder: str | None = None
    """The topmost folder that was made for the file; an undo takes it away again, if nothing else came into it."""
    stays: str | None = None
    """Why it is not what was planned, but a part of that, or at a wrong place."""


class EditRejected(EditEvent):
    """A change did not happen."""

    TYPE = "edit.rejected"
    reason: str


class EditMerged(EditEvent):
    """A change was put into a text that had moved meanwhile; `after` is what is there now."""

    TYPE = "edit.merged"
    before: str | None = None
    after: str | None = None
    undoes: str | None = None
    undoes_hunks: list[int] | None = None


class UndoRequested(EventData):
    """The person takes changes back, or brings them back; what comes of it follows as `edit.*` events."""

    TYPE = "undo.requested"
    redo: bool = False
    scope: UndoScope
    id: str | None = None


class UndoAsked(EventData):
    """The person was asked about a place that somebody changed since."""

    TYPE = "undo.asked"
    id: str
    """The hunk."""
    path: str
    line: int
    choice: str | None = None
    """The title that was chosen; absent where there was no answer, and the place is left as it is."""


class UndonePath(Wire):
    """What was taken back in one file."""

    path: str
    hunks: int


class Conflict(Wire):
    """What was left as it is, because somebody changed the same place since."""

    path: str
    line: int
    reason: str
    id: str | None = None
    """The hunk."""


class NotUndoable(Wire):
    """What cannot be taken back, and why."""

    what: str
    reason: str


class UndoFinished(EventData):
    """What an undo or a redo did."""

    TYPE = "undo.finished"
    undone: list[UndonePath]
    conflicts: list[Conflict]
    not_undoable: list[NotUndoable]


class WorkspaceChanged(EventData):
    """A file that the session knows was changed by someone else: the person, a formatter, a command."""

    TYPE = "workspace.changed"
    path: str
    hunks: list[WireHunk]
    """Empty where there is no text to compare, or too much of it."""
    before: str | None = None
    """Content hash of the text before; absent where there was none."""
    after: str | None = None
    """Content hash of the text now; absent where there is none: the file is gone, or cannot be read as text."""
    by: Literal["editor", "disk", "command", "undo"] | None = None
    """Where it came from; absent in logs of old."""
    change_id: str | None = None
    """By a command: the change that an undo takes back."""
    call_id: str | None = None
    """By a command: the call."""
    encoding: Literal["utf-16-le", "utf-16-be"] | None = None
    """By a command: how the file held its text; absent for UTF-8."""
    mode: FileMode | None = None
    """By a command: the permission bits, in octal, of a file that it deleted, where they were not those of any new file,
    or of one that has others now."""
    mode_after: FileMode | None = None
    """By a command: the permission bits that the file has now, where it changed them."""
    folder: str | None = None
    """By a command: the topmost folder that went with the file."""
    folders: list[GoingFolder] | None = None
    """By a command: that folder and those in it that lie above the file; they come back with it."""
    made_folder: str | None = None
    """By a command: the topmost folder that came with the file, as for an edit."""
    place: str | None = None
    """By a command: the real path of the file, where `path` in the session's folders does not tell it, as for an edit."""
    unsure: bool | None = None
    """True where it may as well be somebody else's, so that no undo takes it back."""
    unshown: bool | None = None
    """True where the file on the disk was changed and the open buffer, which is what the model sees, was not."""
    told: str | None = None
    """What the model is told of it with the next request; absent where it never saw the file."""
    whole: bool | None = None
    """False where what it is told is not all of it, so that it has to read the file again."""


class TouchedFile(Wire):
    """What a command changed, and which no undo puts back: a file whose text before is not in the log, or no file."""

    path: str
    how: Literal["changed", "created", "deleted", "mode"]
    mode: FileMode | None = None
    """Its permission bits before, in octal; where `how` is `mode`."""
    mode_after: FileMode | None = None
    """Those after."""
    kind: Literal["link", "folder", "shut"] | None = None
    """A symbolic link, a folder, or a file that is shut, which was compared from outside alone; absent for others."""
    to: str | None = None
    """Where a link led before."""


class WorkspaceTouched(EventData):
    """What else a command did to the files of the workspace: no undo can take it back."""

    TYPE = "workspace.touched"
    call_id: str
    """The call of the command."""
    command: str
    """The command, as it is shown."""
    files: list[TouchedFile]
    more: int | None = None
    """How many further files there are."""
    unseen: str | None = None
    """Why it is not known what else it changed; absent where all was looked at."""


class NotSaved(Wire):
    """A document that the client did not save."""

    path: str
    reason: str


class WorkspaceSaved(EventData):
    """Before a command the client was asked to save what the agent had changed: what is saved, by what is seen."""

    TYPE = "workspace.saved"
    call_id: str
    """The call of the command."""
    by: Literal["extension", "refactoring"]
    """The request `outrider/save`, or an edit marked as a refactoring, after which some clients save."""
    paths: list[str]
    """The documents that are saved now."""
    failed: list[NotSaved] | None = None
    """Those that are not, and why."""


# --- background jobs -----------------------------------------------------------------------------------------

JobStatus = Literal[
    "exited", "killed_timeout", "killed_idle", "lost", "killed", "cancelled", "closed", "interrupted"
]
"""How a job ended: by itself, by a time-out, with its supervisor; by somebody; with its turn, its session, the server."""


class JobStarted(EventData):
    """A command runs in the background."""

    TYPE = "job.started"
    job_id: str
    call_id: str
    """The call that started it."""
    command: str
    cwd: str
    sandboxed: bool


class JobFinished(EventData):
    """No process of a job is left."""

    TYPE = "job.finished"
    job_id: str
    status: JobStatus
    exit_code: int | None = None
    signal: int | None = None
    seconds: float | None = None
    """How long it ran; absent where nobody saw its end."""
    output: str | None = None
    """What it printed, head and tail; absent where it ended with its turn, its session or the server."""
    told: str | None = None
    """What the model is told of it with the next request; absent where it knows."""


# --- the rest ------------------------------------------------------------------------------------------------


class PlanItem(Wire):
    """One point of the plan."""

    text: str = Field(min_length=1)
    status: Literal["pending", "in_progress", "done"] = "pending"


class PlanUpdated(EventData):
    """The plan is now this."""

    TYPE = "plan.updated"
    items: list[PlanItem]


class InstructionsFound(EventData):
    """A folder that the model came to has instructions of its own."""

    TYPE = "instructions.found"
    path: str
    told: str
    """What the model is told of it with the next request."""


class MapDrawn(EventData):
    """A map of the workspace's names was ready for a turn."""

    TYPE = "map.drawn"
    told: str
    """What the model is told with the next request."""


class ContextCompacted(EventData):
    """Older messages were replaced by a summary."""

    TYPE = "context.compacted"
    before: int
    """About how many tokens the request had."""
    after: int
    reason: str
    """`full`: the window is nearly full; `overflow`: the provider found the request too long."""
    by: Literal["model", "house"] | None = None
    """Who wrote the summary: the model, or the server, because no answer of the model could be used."""
    messages: list[str] | None = None
    """Content hashes of the messages as they are now, in order; absent in logs of old."""
    context_window: int | None = None
    """Tokens that the model can take, as it was reckoned with."""


class ContextPruned(EventData):
    """Older tool output was left out."""

    TYPE = "context.pruned"
    call_ids: list[str]
    reason: str
    """As in `context.compacted`."""
    before: int | None = None
    after: int | None = None
    messages: list[str] | None = None
    context_window: int | None = None


class TrimmedPart(Wire):
    """A part of the first messages that was left out or cut."""

    kind: str
    """`instructions`, `open`, `selection`, `diagnostics`."""
    name: str | None = None
    left: int
    """Characters of it that are left."""


class ContextTrimmed(EventData):
    """Parts of the system message and of the task were left out, because the rest alone does not fit."""

    TYPE = "context.trimmed"
    parts: list[TrimmedPart]
    reason: str
    before: int
    after: int
    given: list[str]
    """Content hashes of the messages that were changed, as they were."""
    messages: list[str]
    context_window: int


class BudgetExhausted(EventData):
    """A budget of the turn is spent."""

    TYPE = "budget.exhausted"
    limit: str
    """The setting, such as `limits.steps`; `contextWindow` where a request is too long whatever is left out."""
    allowed: float
    used: float
    messages: list[str] | None = None
    """Of `contextWindow`: content hashes of the messages that do not fit; absent in logs of old."""
    context_window: int | None = None
    """Of `contextWindow`: tokens that the model can take."""


class SteeringReceived(EventData):
    """A text for the running turn: queued, or taken back before the model saw it."""

    TYPE = "steering.received"
    pending_id: str
    text: str
    state: Literal["queued", "removed"] = "queued"


class ErrorRaised(EventData):
    """Something went wrong that the person should know of."""

    TYPE = "error"
    code: str
    message: str


EVENTS: tuple[type[EventData], ...] = (
    SessionStarted, SessionRestored, SessionTitled, SessionForked, SessionClosed,
    TurnQueued, TurnStarted, TurnPhase, TurnParked, TurnResumed, TurnFinished, SettingsChanged,
    ModelRequested, ModelResponded, ModelFailed, ModelReset, ModelRetried, ModelFellBack, ModelRouted,
    ModelSwitched,
    ToolRequested, ToolStarted, ToolFinished,
    ApprovalRequested, ApprovalResolved, QuestionAsked, QuestionAnswered, ToolAsked, ToolAnswered,
    EditProposed, EditApplying, EditApplied, EditRejected, EditMerged, UndoRequested, UndoAsked,
    UndoFinished, WorkspaceChanged, WorkspaceTouched, WorkspaceSaved, JobStarted, JobFinished,
    PlanUpdated, InstructionsFound, MapDrawn, ContextCompacted, ContextPruned, ContextTrimmed, BudgetExhausted, SteeringReceived, ErrorRaised,
)  # fmt: skip

EVENT_TYPES: dict[str, type[EventData]] = {event.TYPE: event for event in EVENTS}
