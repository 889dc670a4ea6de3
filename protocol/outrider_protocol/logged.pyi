# Types of the data of events. Generated from the models by `python -m outrider_protocol.stub`: do not edit.
# A key with a default is always there: `log.from_old_log` fills it in where an earlier version left it out. What may be
# absent is `NotRequired`. `LoggedEvent` is an event inside the server, `WireEvent` one as an `outrider/event` has it.

from typing import Any, Generic, Literal, NotRequired, TypeAlias, TypedDict, TypeVar

from outrider_protocol.log import Logged

_D = TypeVar("_D")
_T = TypeVar("_T", bound=str)
_D_co = TypeVar("_D_co", covariant=True)
_T_co = TypeVar("_T_co", bound=str, covariant=True)


class Secret(TypedDict):
    name: str
    kind: str
    mark: str

class EventData(TypedDict):
    secrets: NotRequired[list[Secret]]

class SessionStarted(EventData):
    folders: list[str]
    permissionMode: Literal["read-only", "ask", "auto-edit", "auto", "full"]
    version: str
    realFolders: NotRequired[list[str]]
    toolsHash: NotRequired[str]

class Limits(TypedDict):
    steps: int
    seconds: float
    tokens: NotRequired[int]
    cost: NotRequired[float]
    askSeconds: float
    commandSeconds: float
    commandIdleSeconds: float
    jobSeconds: float
    jobIdleSeconds: float
    outputBytes: int

class SessionRestored(EventData):
    turnId: NotRequired[str]
    rests: NotRequired[bool]
    folders: list[str]
    permissionMode: Literal["read-only", "ask", "auto-edit", "auto", "full"]
    limits: NotRequired[Limits]
    realFolders: NotRequired[list[str]]
    toolsHash: NotRequired[str]

class RouteCandidate(TypedDict):
    model: str
    tier: NotRequired[Literal["small", "mid", "frontier"]]
    leftOut: NotRequired[str]
    price: NotRequired[float]
    score: NotRequired[float]

class ModelRouted(EventData):
    purpose: str
    reason: Literal["first_step", "after_reasoning", "step", "side_task"]
    wanted: Literal["small", "mid", "frontier"]
    tier: NotRequired[Literal["small", "mid", "frontier"]]
    model: str
    others: list[str]
    candidates: list[RouteCandidate]
    tokens: int
    contextWindow: int
    by: Literal["order", "score"]

class FailedAttempt(TypedDict):
    model: str
    reason: str

class Usage(TypedDict):
    inputTokens: int
    outputTokens: int
    cachedTokens: NotRequired[int]
    reasoningTokens: NotRequired[int]
    cost: NotRequired[float]
    estimated: NotRequired[bool]

class SessionTitled(EventData):
    model: str
    routed: NotRequired[ModelRouted]
    failed: NotRequired[list[FailedAttempt]]
    title: NotRequired[str]
    reason: NotRequired[str]
    usage: NotRequired[Usage]

class SessionRenamed(EventData):
    title: str

class SessionForked(EventData):
    fromSessionId: str
    fromSeq: int

class SessionImported(EventData):
    fromSessionId: str

class SessionClosed(EventData):
    reason: str
    leftOver: NotRequired[int]

class Position(TypedDict):
    line: int
    character: int

class Range(TypedDict):
    start: Position
    end: Position

class Selection(TypedDict):
    uri: str
    range: Range

class Diagnostics(TypedDict):
    uri: str
    items: list[dict[str, Any]]

class Context(TypedDict):
    selection: NotRequired[Selection]
    documents: list[str]
    diagnostics: list[Diagnostics]

class CommandOutput(TypedDict):
    at: int
    command: str

class Invoked(TypedDict):
    name: str
    source: str
    path: NotRequired[str]
    text: str
    outputs: NotRequired[list[CommandOutput]]

class PlanItem(TypedDict):
    text: str
    status: Literal["pending", "in_progress", "done"]

class TurnQueued(EventData):
    prompt: str
    mode: Literal["agent", "plan", "explore"]
    model: str
    context: NotRequired[Context]
    limits: NotRequired[dict[str, Any]]
    thinking: NotRequired[Literal["off", "low", "medium", "high", "max"] | int]
    invoked: NotRequired[Invoked]
    checks: NotRequired[list[str]]
    plan: NotRequired[list[PlanItem]]
    planDocument: NotRequired[str]
    continues: NotRequired[str]

class QueuedRun(TypedDict):
    turnId: str
    prompt: str

class QueueChanged(EventData):
    queue: list[QueuedRun]

class TurnSettings(TypedDict):
    permissionMode: Literal["read-only", "ask", "auto-edit", "auto", "full"]
    limits: Limits
    autonomy: Literal["cautious", "balanced", "decisive"]

class TurnStarted(EventData):
    prompt: str
    mode: Literal["agent", "plan", "explore"]
    model: str
    context: NotRequired[Context]
    limits: NotRequired[dict[str, Any]]
    thinking: NotRequired[Literal["off", "low", "medium", "high", "max"] | int]
    invoked: NotRequired[Invoked]
    settings: NotRequired[TurnSettings]
    checks: NotRequired[list[str]]
    plan: NotRequired[list[PlanItem]]
    planDocument: NotRequired[str]
    continues: NotRequired[str]

_TurnPhase = TypedDict("_TurnPhase", {"from": Literal["start", "prepare", "assistant", "tools", "verify", "finish"]})

class TurnPhase(EventData, _TurnPhase):
    to: Literal["start", "prepare", "assistant", "tools", "verify", "finish"]
    reason: str

class HookCall(TypedDict):
    id: str
    command: str
    hook: str
    refuses: NotRequired[bool]
    seconds: NotRequired[float]

class HookStarted(EventData):
    on: Literal["sessionStart", "turnStart", "beforeTool", "afterTool", "turnEnd", "sessionEnd"]
    callId: NotRequired[str]
    calls: list[HookCall]

class HookFinished(EventData):
    on: Literal["sessionStart", "turnStart", "beforeTool", "afterTool", "turnEnd", "sessionEnd"]
    callId: NotRequired[str]
    refused: NotRequired[str]
    asks: NotRequired[str]
    arguments: NotRequired[str]
    told: NotRequired[str]

class CheckCall(TypedDict):
    id: str
    command: str

class VerifyStarted(EventData):
    attempt: int
    calls: list[CheckCall]
    ignored: NotRequired[list[str]]

class VerifyFinished(EventData):
    attempt: int
    failed: list[str]
    told: NotRequired[str]

class RulePattern(TypedDict):
    tool: str
    command: NotRequired[str]
    exact: NotRequired[bool]
    script: NotRequired[str]
    path: NotRequired[str]
    host: NotRequired[str]

class InputField(TypedDict):
    name: str
    title: str
    description: NotRequired[str]
    kind: Literal["text", "integer", "number", "boolean", "choice", "choices"]
    required: bool
    options: NotRequired[list[str]]
    titles: NotRequired[list[str]]

class Open(TypedDict):
    id: str
    kind: Literal["approval", "question", "tool"]
    turnId: str
    callId: NotRequired[str]
    title: str
    summary: NotRequired[str]
    detail: str
    options: list[str]
    allowFreeForm: bool
    documentUri: NotRequired[str]
    always: NotRequired[list[RulePattern]]
    fields: NotRequired[list[InputField]]
    url: NotRequired[str]
    group: NotRequired[str]

class TurnParked(EventData):
    open: list[Open]

class TurnResumed(EventData):
    id: str

class CheckRun(TypedDict):
    kind: Literal["test", "types", "lint", "build", "other"]
    command: str
    exitCode: NotRequired[int]
    ok: bool
    stale: bool
    seconds: float

class CheckNotRun(TypedDict):
    command: str
    reason: Literal["refused", "not_allowed", "failed", "ended"]

class DoneDiagnostics(TypedDict):
    introduced: int
    fixed: int

class Done(TypedDict):
    state: Literal["no_changes", "unverified", "checked", "check_failed"]
    line: str
    changed: list[str]
    checks: list[CheckRun]
    notRun: list[CheckNotRun]
    openItems: list[str]
    diagnostics: NotRequired[DoneDiagnostics]

class TurnFinished(EventData):
    outcome: Literal["completed", "cancelled", "budget_exhausted", "failed", "refused"]
    reason: str
    summary: str
    usage: Usage
    done: NotRequired[Done]

class SettingsChanged(EventData):
    permissionMode: Literal["read-only", "ask", "auto-edit", "auto", "full"]

class AddedMessages(TypedDict):
    after: int
    added: list[str]

class ModelRequested(EventData):
    purpose: str
    messageId: str
    model: str
    messages: list[str] | AddedMessages
    tools: list[str]
    toolsHash: str
    temperature: NotRequired[float]
    maxTokens: NotRequired[int]
    contextWindow: NotRequired[int]
    steering: list[str]
    toolFormat: NotRequired[str]
    editFormat: NotRequired[str]

class WireToolCall(TypedDict):
    id: str
    name: str
    arguments: str
    refused: NotRequired[str]

class Latency(TypedDict):
    firstTokenMs: float
    tokensPerSecond: NotRequired[float]

class WireProviderData(TypedDict):
    model: str
    blocks: str

class WebPage(TypedDict):
    url: str
    title: NotRequired[str]

class WebSearch(TypedDict):
    query: NotRequired[str]
    pages: list[WebPage]
    problem: NotRequired[str]

class ModelResponded(EventData):
    purpose: str
    messageId: str
    text: str
    reasoning: NotRequired[str]
    toolCalls: list[WireToolCall]
    finishReason: str
    usage: NotRequired[Usage]
    latency: NotRequired[Latency]
    providerData: NotRequired[WireProviderData]
    searches: NotRequired[list[WebSearch]]

class ModelFailed(EventData):
    purpose: str
    messageId: str
    kind: str
    message: str
    usage: NotRequired[Usage]

class ModelReset(EventData):
    messageId: str
    text: str
    reason: str

class ModelRetried(EventData):
    messageId: str
    model: str
    reason: str
    attempt: int
    usage: NotRequired[Usage]
    wait: NotRequired[float]
    attempts: NotRequired[int]
    message: NotRequired[str]

_ModelFellBack = TypedDict("_ModelFellBack", {"from": str})

class ModelFellBack(EventData, _ModelFellBack):
    messageId: str
    to: str
    reason: str
    usage: NotRequired[Usage]

class ModelSwitched(EventData):
    messageId: str
    model: str
    toolFormat: str
    reason: str

class ModelLimited(EventData):
    messageId: str
    model: str
    message: str

class ToolRequested(EventData):
    callId: str
    name: str
    input: Any

class ToolStarted(EventData):
    callId: str

class ReadText(TypedDict):
    path: str
    hash: str

class WireImage(TypedDict):
    name: str
    hash: str
    mediaType: str
    width: int
    height: int
    size: int

class CheckFailure(TypedDict):
    path: str
    line: int
    column: NotRequired[int]
    message: str
    severity: Literal["error", "warning"]

class Connection(TypedDict):
    host: str
    port: int
    times: int
    sent: int
    received: int
    problem: NotRequired[str]

class Ran(TypedDict):
    kind: Literal["test", "types", "lint", "build", "other"]
    command: str
    exitCode: NotRequired[int]
    failures: NotRequired[list[CheckFailure]]
    connections: NotRequired[list[Connection]]

class Problem(TypedDict):
    path: str
    line: int
    severity: Literal["error", "warning", "information", "hint"]
    message: str
    source: NotRequired[str]
    code: NotRequired[str]

class Verdict(TypedDict):
    introduced: list[Problem]
    introducedCount: int
    fixed: list[Problem]
    fixedCount: int
    unjudged: NotRequired[int]
    unfollowed: NotRequired[int]
    silent: NotRequired[list[str]]

class Recalled(TypedDict):
    question: str
    answer: str

class ToolFinished(EventData):
    callId: str
    name: str
    status: Literal["ok", "error", "denied", "cancelled", "interrupted", "skipped"]
    content: str
    read: NotRequired[list[ReadText]]
    images: NotRequired[list[WireImage]]
    ran: NotRequired[Ran]
    masked: NotRequired[int]
    verdict: NotRequired[Verdict]
    recalled: NotRequired[Recalled]

class ApprovalRequested(EventData):
    id: str
    callId: str
    digest: str
    title: str
    summary: NotRequired[str]
    detail: str
    options: list[str]
    grant: NotRequired[str]
    always: NotRequired[list[RulePattern]]
    changeIds: NotRequired[list[str]]
    reviewed: NotRequired[bool]
    group: NotRequired[str]
    trial: NotRequired[Verdict]

class ReviewedHunk(TypedDict):
    id: str
    decision: Literal["take", "reject"]
    reason: NotRequired[str]
    text: NotRequired[str]

class ApprovalResolved(EventData):
    id: str
    callId: str
    decision: Literal["allow_once", "allow_session", "allow_always", "reject", "put_back", "keep", "choose"]
    by: Literal["person", "rule", "mode"]
    channel: NotRequired[str]
    rule: NotRequired[str]
    rules: NotRequired[list[str]]
    scope: NotRequired[Literal["workspace", "everywhere"]]
    grant: NotRequired[str]
    note: NotRequired[str]
    review: NotRequired[list[ReviewedHunk]]
    digest: NotRequired[str]
    instead: NotRequired[str]

class QuestionAsked(EventData):
    id: str
    callId: NotRequired[str]
    question: str
    detail: NotRequired[str]
    options: list[str]
    allowFreeForm: bool
    fields: NotRequired[list[InputField]]
    url: NotRequired[str]

class QuestionAnswered(EventData):
    id: str
    callId: NotRequired[str]
    answer: str
    channel: NotRequired[str]

class InputWanted(EventData):
    callId: str
    server: str
    questions: list[str]
    keys: list[str]
    state: NotRequired[str]

class ToolAsked(EventData):
    id: str
    callId: str
    name: str

class ToolAnswered(EventData):
    id: str
    callId: str
    status: Literal["ok", "error"]
    content: str
    channel: NotRequired[str]

class WireHunk(TypedDict):
    line: int
    removed: str
    added: str

class GoingFolder(TypedDict):
    path: str
    mode: str

class EditEvent(EventData):
    changeId: str
    callId: NotRequired[str]
    path: str
    operation: Literal["edit", "create", "delete", "rename"]
    to: NotRequired[str]
    hunks: list[WireHunk]
    encoding: NotRequired[Literal["utf-16-le", "utf-16-be"]]
    mode: NotRequired[str]
    keptMode: NotRequired[str]
    hidden: NotRequired[list[Literal["bom", "crlf"]]]
    folder: NotRequired[str]
    folders: NotRequired[list[GoingFolder]]

class EditProposed(EditEvent):
    before: NotRequired[str]
    after: NotRequired[str]

class ChangeEvent(EditEvent):
    before: NotRequired[str]
    after: NotRequired[str]
    undoes: NotRequired[str]
    undoesHunks: NotRequired[list[int]]

class EditApplying(ChangeEvent):
    place: NotRequired[str]
    toPlace: NotRequired[str]
    besides: NotRequired[list[str]]

class EditApplied(ChangeEvent):
    where: Literal["buffer", "disk"]
    madeFolder: NotRequired[str]
    stays: NotRequired[str]

class EditRejected(EditEvent):
    reason: str

class EditMerged(ChangeEvent):
    pass

class UndoRequested(EventData):
    redo: bool
    scope: Literal["hunk", "step", "turn", "session"]
    id: NotRequired[str]

class UndoAsked(EventData):
    id: str
    path: str
    line: int
    choice: NotRequired[str]

class UndonePath(TypedDict):
    path: str
    hunks: int

class Conflict(TypedDict):
    path: str
    line: int
    reason: str
    id: NotRequired[str]

class NotUndoable(TypedDict):
    what: str
    reason: str

class UndoFinished(EventData):
    undone: list[UndonePath]
    conflicts: list[Conflict]
    notUndoable: list[NotUndoable]

class WorkspaceChanged(EventData):
    path: str
    hunks: list[WireHunk]
    before: NotRequired[str]
    after: NotRequired[str]
    by: NotRequired[Literal["editor", "disk", "command", "undo"]]
    changeId: NotRequired[str]
    callId: NotRequired[str]
    encoding: NotRequired[Literal["utf-16-le", "utf-16-be"]]
    mode: NotRequired[str]
    modeAfter: NotRequired[str]
    folder: NotRequired[str]
    folders: NotRequired[list[GoingFolder]]
    madeFolder: NotRequired[str]
    place: NotRequired[str]
    unsure: NotRequired[bool]
    unshown: NotRequired[bool]
    told: NotRequired[str]
    whole: NotRequired[bool]

class TouchedFile(TypedDict):
    path: str
    how: Literal["changed", "created", "deleted", "mode"]
    mode: NotRequired[str]
    modeAfter: NotRequired[str]
    kind: NotRequired[Literal["link", "folder", "shut"]]
    to: NotRequired[str]

class WorkspaceTouched(EventData):
    callId: str
    command: str
    files: list[TouchedFile]
    more: NotRequired[int]
    unseen: NotRequired[str]

class WorkspaceIgnored(EventData):
    paths: list[str]

class RenamedFile(TypedDict):
    path: str
    to: str
    place: NotRequired[str]
    toPlace: NotRequired[str]

class WorkspaceRenamed(EventData):
    path: str
    to: str
    files: list[RenamedFile]
    told: str

class NotSaved(TypedDict):
    path: str
    reason: str

class WorkspaceSaved(EventData):
    callId: str
    by: Literal["extension", "refactoring"]
    paths: list[str]
    failed: NotRequired[list[NotSaved]]

class SandboxAbsent(EventData):
    reason: str
    chosen: bool

class AutoLimited(EventData):
    reason: str

class JobStarted(EventData):
    jobId: str
    callId: NotRequired[str]
    command: str
    cwd: str
    sandboxed: bool

class JobFinished(EventData):
    jobId: str
    status: Literal["exited", "killed_timeout", "killed_idle", "killed_full", "lost", "killed", "cancelled", "closed", "interrupted"]
    exitCode: NotRequired[int]
    signal: NotRequired[int]
    seconds: NotRequired[float]
    output: NotRequired[str]
    told: NotRequired[str]
    connections: NotRequired[list[Connection]]

class PlanUpdated(EventData):
    items: list[PlanItem]

class PlanWritten(EventData):
    path: str
    goal: str
    brief: list[str]
    steps: list[str]
    files: list[str]
    checks: list[str]

class InstructionsFound(EventData):
    path: str
    told: str

class MapDrawn(EventData):
    told: str

class VerdictFound(EventData):
    verdict: Verdict
    told: NotRequired[str]

class ContextCompacted(EventData):
    before: int
    after: int
    reason: str
    by: NotRequired[Literal["model", "house"]]
    messages: NotRequired[list[str]]
    contextWindow: NotRequired[int]

class ContextPruned(EventData):
    callIds: list[str]
    reason: str
    before: NotRequired[int]
    after: NotRequired[int]
    messages: NotRequired[list[str]]
    contextWindow: NotRequired[int]

class TrimmedPart(TypedDict):
    kind: str
    name: NotRequired[str]
    left: int

class ContextTrimmed(EventData):
    parts: list[TrimmedPart]
    reason: str
    before: int
    after: int
    given: list[str]
    messages: list[str]
    contextWindow: int

class ConversationRestored(EventData):
    turns: list[str]
    messages: list[str]
    plan: list[PlanItem]

class BudgetExhausted(EventData):
    limit: str
    allowed: float
    used: float
    messages: NotRequired[list[str]]
    contextWindow: NotRequired[int]

class SteeringReceived(EventData):
    pendingId: str
    text: str
    state: Literal["queued", "removed"]

class ErrorRaised(EventData):
    code: str
    message: str

class _Event(Logged[_D_co], Generic[_D_co, _T_co]):
    type: _T_co  # pyright: ignore[reportIncompatibleVariableOverride] -- frozen

class _Wire(TypedDict, Generic[_D, _T]):
    v: Literal[1]
    seq: int
    ts: str
    sessionId: str
    turnId: NotRequired[str]
    type: _T
    data: _D

LoggedEvent: TypeAlias = (
    _Event[SessionStarted, Literal["session.started"]]
    | _Event[SessionRestored, Literal["session.restored"]]
    | _Event[SessionTitled, Literal["session.titled"]]
    | _Event[SessionRenamed, Literal["session.renamed"]]
    | _Event[SessionForked, Literal["session.forked"]]
    | _Event[SessionImported, Literal["session.imported"]]
    | _Event[SessionClosed, Literal["session.closed"]]
    | _Event[TurnQueued, Literal["turn.queued"]]
    | _Event[QueueChanged, Literal["queue.changed"]]
    | _Event[TurnStarted, Literal["turn.started"]]
    | _Event[TurnPhase, Literal["turn.phase"]]
    | _Event[HookStarted, Literal["hook.started"]]
    | _Event[HookFinished, Literal["hook.finished"]]
    | _Event[VerifyStarted, Literal["verify.started"]]
    | _Event[VerifyFinished, Literal["verify.finished"]]
    | _Event[TurnParked, Literal["turn.parked"]]
    | _Event[TurnResumed, Literal["turn.resumed"]]
    | _Event[TurnFinished, Literal["turn.finished"]]
    | _Event[SettingsChanged, Literal["settings.changed"]]
    | _Event[ModelRequested, Literal["model.requested"]]
    | _Event[ModelResponded, Literal["model.responded"]]
    | _Event[ModelFailed, Literal["model.failed"]]
    | _Event[ModelReset, Literal["model.reset"]]
    | _Event[ModelRetried, Literal["model.retried"]]
    | _Event[ModelFellBack, Literal["model.fellBack"]]
    | _Event[ModelRouted, Literal["model.routed"]]
    | _Event[ModelSwitched, Literal["model.switched"]]
    | _Event[ModelLimited, Literal["model.limited"]]
    | _Event[ToolRequested, Literal["tool.requested"]]
    | _Event[ToolStarted, Literal["tool.started"]]
    | _Event[ToolFinished, Literal["tool.finished"]]
    | _Event[ApprovalRequested, Literal["approval.requested"]]
    | _Event[ApprovalResolved, Literal["approval.resolved"]]
    | _Event[QuestionAsked, Literal["question.asked"]]
    | _Event[QuestionAnswered, Literal["question.answered"]]
    | _Event[InputWanted, Literal["input.wanted"]]
    | _Event[ToolAsked, Literal["tool.asked"]]
    | _Event[ToolAnswered, Literal["tool.answered"]]
    | _Event[EditProposed, Literal["edit.proposed"]]
    | _Event[EditApplying, Literal["edit.applying"]]
    | _Event[EditApplied, Literal["edit.applied"]]
    | _Event[EditRejected, Literal["edit.rejected"]]
    | _Event[EditMerged, Literal["edit.merged"]]
    | _Event[UndoRequested, Literal["undo.requested"]]
    | _Event[UndoAsked, Literal["undo.asked"]]
    | _Event[UndoFinished, Literal["undo.finished"]]
    | _Event[WorkspaceChanged, Literal["workspace.changed"]]
    | _Event[WorkspaceTouched, Literal["workspace.touched"]]
    | _Event[WorkspaceIgnored, Literal["workspace.ignored"]]
    | _Event[WorkspaceRenamed, Literal["workspace.renamed"]]
    | _Event[WorkspaceSaved, Literal["workspace.saved"]]
    | _Event[SandboxAbsent, Literal["sandbox.absent"]]
    | _Event[AutoLimited, Literal["auto.limited"]]
    | _Event[JobStarted, Literal["job.started"]]
    | _Event[JobFinished, Literal["job.finished"]]
    | _Event[PlanUpdated, Literal["plan.updated"]]
    | _Event[PlanWritten, Literal["plan.written"]]
    | _Event[InstructionsFound, Literal["instructions.found"]]
    | _Event[MapDrawn, Literal["map.drawn"]]
    | _Event[VerdictFound, Literal["verdict.found"]]
    | _Event[ContextCompacted, Literal["context.compacted"]]
    | _Event[ContextPruned, Literal["context.pruned"]]
    | _Event[ContextTrimmed, Literal["context.trimmed"]]
    | _Event[ConversationRestored, Literal["conversation.restored"]]
    | _Event[BudgetExhausted, Literal["budget.exhausted"]]
    | _Event[SteeringReceived, Literal["steering.received"]]
    | _Event[ErrorRaised, Literal["error"]]
)

WireEvent: TypeAlias = (
    _Wire[SessionStarted, Literal["session.started"]]
    | _Wire[SessionRestored, Literal["session.restored"]]
    | _Wire[SessionTitled, Literal["session.titled"]]
    | _Wire[SessionRenamed, Literal["session.renamed"]]
    | _Wire[SessionForked, Literal["session.forked"]]
    | _Wire[SessionImported, Literal["session.imported"]]
    | _Wire[SessionClosed, Literal["session.closed"]]
    | _Wire[TurnQueued, Literal["turn.queued"]]
    | _Wire[QueueChanged, Literal["queue.changed"]]
    | _Wire[TurnStarted, Literal["turn.started"]]
    | _Wire[TurnPhase, Literal["turn.phase"]]
    | _Wire[HookStarted, Literal["hook.started"]]
    | _Wire[HookFinished, Literal["hook.finished"]]
    | _Wire[VerifyStarted, Literal["verify.started"]]
    | _Wire[VerifyFinished, Literal["verify.finished"]]
    | _Wire[TurnParked, Literal["turn.parked"]]
    | _Wire[TurnResumed, Literal["turn.resumed"]]
    | _Wire[TurnFinished, Literal["turn.finished"]]
    | _Wire[SettingsChanged, Literal["settings.changed"]]
    | _Wire[ModelRequested, Literal["model.requested"]]
    | _Wire[ModelResponded, Literal["model.responded"]]
    | _Wire[ModelFailed, Literal["model.failed"]]
    | _Wire[ModelReset, Literal["model.reset"]]
    | _Wire[ModelRetried, Literal["model.retried"]]
    | _Wire[ModelFellBack, Literal["model.fellBack"]]
    | _Wire[ModelRouted, Literal["model.routed"]]
    | _Wire[ModelSwitched, Literal["model.switched"]]
    | _Wire[ModelLimited, Literal["model.limited"]]
    | _Wire[ToolRequested, Literal["tool.requested"]]
    | _Wire[ToolStarted, Literal["tool.started"]]
    | _Wire[ToolFinished, Literal["tool.finished"]]
    | _Wire[ApprovalRequested, Literal["approval.requested"]]
    | _Wire[ApprovalResolved, Literal["approval.resolved"]]
    | _Wire[QuestionAsked, Literal["question.asked"]]
    | _Wire[QuestionAnswered, Literal["question.answered"]]
    | _Wire[InputWanted, Literal["input.wanted"]]
    | _Wire[ToolAsked, Literal["tool.asked"]]
    | _Wire[ToolAnswered, Literal["tool.answered"]]
    | _Wire[EditProposed, Literal["edit.proposed"]]
    | _Wire[EditApplying, Literal["edit.applying"]]
    | _Wire[EditApplied, Literal["edit.applied"]]
    | _Wire[EditRejected, Literal["edit.rejected"]]
    | _Wire[EditMerged, Literal["edit.merged"]]
    | _Wire[UndoRequested, Literal["undo.requested"]]
    | _Wire[UndoAsked, Literal["undo.asked"]]
    | _Wire[UndoFinished, Literal["undo.finished"]]
    | _Wire[WorkspaceChanged, Literal["workspace.changed"]]
    | _Wire[WorkspaceTouched, Literal["workspace.touched"]]
    | _Wire[WorkspaceIgnored, Literal["workspace.ignored"]]
    | _Wire[WorkspaceRenamed, Literal["workspace.renamed"]]
    | _Wire[WorkspaceSaved, Literal["workspace.saved"]]
    | _Wire[SandboxAbsent, Literal["sandbox.absent"]]
    | _Wire[AutoLimited, Literal["auto.limited"]]
    | _Wire[JobStarted, Literal["job.started"]]
    | _Wire[JobFinished, Literal["job.finished"]]
    | _Wire[PlanUpdated, Literal["plan.updated"]]
    | _Wire[PlanWritten, Literal["plan.written"]]
    | _Wire[InstructionsFound, Literal["instructions.found"]]
    | _Wire[MapDrawn, Literal["map.drawn"]]
    | _Wire[VerdictFound, Literal["verdict.found"]]
    | _Wire[ContextCompacted, Literal["context.compacted"]]
    | _Wire[ContextPruned, Literal["context.pruned"]]
    | _Wire[ContextTrimmed, Literal["context.trimmed"]]
    | _Wire[ConversationRestored, Literal["conversation.restored"]]
    | _Wire[BudgetExhausted, Literal["budget.exhausted"]]
    | _Wire[SteeringReceived, Literal["steering.received"]]
    | _Wire[ErrorRaised, Literal["error"]]
)
