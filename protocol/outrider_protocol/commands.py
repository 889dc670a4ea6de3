"""The commands of `workspace/executeCommand`: the params and the result of each, and the table of them."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import AwareDatetime, Field, model_validator

import outrider_protocol as names
from outrider_protocol.choices import Effect, ProviderKind
from outrider_protocol.events import (
    Conflict,
    Context,
    Decision,
    Done,
    JobStatus,
    Mode,
    NotUndoable,
    Open,
    Operation,
    Outcome,
    Phase,
    PlanItem,
    QueuedRun,
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
from outrider_protocol.settings import EnvName, LimitsPatch, Price, Thinking, Tier
from outrider_protocol.wire import Wire

Text = Annotated[str, Field(min_length=1)]

KeyPlace = Literal["keyring", "file", "env", "client"]
"""Where a provider's key is kept: the system's keyring; a file that only its owner can read; a variable that the user sets;
the client, which gives it to the server as a variable."""


class ForkFrom(Wire):
    """Where a session branches off."""

    session_id: str
    """The session that is copied; it may run in another process, and stays as it is."""
    turn_id: str | None = None
    """The last turn that the copy has; absent: the latest one that has ended."""
    files: bool = False
    """Whether files go back to what they were at the end of that turn. What others wrote since stays, as with an undo."""


class ExploreParams(Wire):
    """The mode of its turn is `explore`."""

    prompt: Text
    """The task, in words. Images that it names by path come with it. `/name arguments` calls a custom command of that name (see
    `outrider.commands`); with any other first word the text is meant as it is."""
    context: Context | None = None
    """What the user is looking at."""
    session_id: str | None = None
    """The session to continue, opened from the log if needed. At most one of this and the next two; with none of them a new
    session begins."""
    continue_: bool | None = Field(default=None, validation_alias="continue", serialization_alias="continue")
    """True: continue the session that this client worked in last; a new one if there is none."""
    fork: ForkFrom | None = None
    """Continue a copy of a session."""
    model: str | None = None
    """Another model than that of the settings, for this turn."""
    limits: LimitsPatch | None = None
    """Other limits, for this turn."""
    thinking: Thinking | None = None
    """How much the model thinks, for this turn."""

    @model_validator(mode="after")
    def _one_session(self) -> Self:
        if [self.session_id, self.fork, self.continue_ or None].count(None) < 2:
            raise ValueError("give at most one of sessionId, continue and fork")
        return self


class RunParams(ExploreParams):
    """It starts at once, or waits in the queue of a busy session. Cancelling this request does not end the turn."""

    mode: Mode = "agent"
    """`plan` and `explore` are read-only: they answer with a plan, or with an answer."""
    acceptance: list[Text] | None = None
    """Commands that decide whether the task is done. They run, by the same permissions as all commands, when the model
    stops after a change; a failure goes back to it, three times at most."""
    plan: list[PlanItem] | None = None
    """The steps of the task, which its plan begins with. They stay in it, whatever the model makes of it."""
    plan_document: str | None = None
    """The document of these steps, by its path in the workspace. Those that the user adds to it count too; in one of `.outrider/plans/`
    those that are done are ticked off."""
    draft: str | None = None
    """Set by actions of the task document: the state of it that the text is from. One draft is sent once; a second
    time fails with `already_resolved`."""


class PlanParams(Wire):
    """Its steps stand under `## Steps`, its checks under `## Checks`. What is open in an editor counts, saved or not.

    The steps become the plan of the turn, the checks its `acceptance`. It runs in the session that planned it, if that is open here
    and idle, else in a new one. A document that is missing or says no step fails with `invalid`.
    """

    uri: str
    """The document, a file of the workspace."""
    session_id: str | None = None
    """Another session to run it in."""
    model: str | None = None
    """Another model than that of the settings."""
    limits: LimitsPatch | None = None
    """Other limits, for this turn."""
    thinking: Thinking | None = None
    """How much the model thinks, for this turn."""
    acceptance: list[Text] | None = None
    """Further checks."""


class RunResult(Wire):
    """The turn that was started, or queued behind the one that is running."""

    session_id: str
    turn_id: str
    queued: bool | None = None
    """True if the task waits for the running turn."""


class SteerParams(Wire):
    """Exactly one of `text` and `remove`. The model gets the text with its next request."""

    session_id: str
    text: Text | None = None
    """The text to add."""
    remove: str | None = None
    """The `pendingId` of a text to withdraw; possible until the model has it."""
    draft: str | None = None
    """As in `outrider.run`."""

    @model_validator(mode="after")
    def _one_of(self) -> "SteerParams":
        if (self.text is None) == (self.remove is None):
            raise ValueError("give either text or remove")
        return self


class SteerResult(Wire):
    """The steering text's id."""

    pending_id: str
    """The id of the text."""


class RetryParams(Wire):
    """A turn that waits for its next attempt at a model makes it at once; else it fails with `not_waiting`.

    A turn that failed, was refused or was cancelled is tried again, by a new turn that begins where it stopped: its task, its
    steps and their results are in the conversation. Possible for the latest turn of its session.
    """

    turn_id: str
    model: str | None = None
    """Another model, for the new turn."""


class RetryResult(Wire):
    """What runs now."""

    session_id: str
    turn_id: str
    """The turn that waited, or the new one."""


class ContinueParams(Wire):
    """A new turn goes on where the latest one of the session stopped, with new limits.

    That one spent its budget, failed, was refused or was cancelled; else it fails with `nothing_to_continue`. The task is not
    repeated.
    """

    session_id: str
    model: str | None = None
    """Another model than that of the settings."""
    limits: LimitsPatch | None = None
    """Other limits than those of the settings."""
    thinking: Thinking | None = None
    """How much the model thinks."""


class CancelParams(Wire):
    """The turn may be running, parked or queued. Every process it started ends. Repeating it gives the same answer."""

    turn_id: str
    reason: str | None = None
    """Why; it becomes the `reason` of `turn.finished`."""


class CancelResult(Wire):
    """How the turn ended; the same however often it is asked."""

    turn_id: str
    outcome: Outcome
    """How it ended; not `cancelled` if it had ended before."""


class AnswerParams(Wire):
    """The item may be shown in a dialog, run by a client tool or be parked, after a restart too.

    The first answer wins. Exactly one of `decision`, `answer` and `error`.
    """

    id: str
    """The open item."""
    decision: Decision | None = None
    """For an approval, one that the item offers. `allow_always` saves the rules in its `always`. `put_back` and `keep`
    answer a question titled `Put back: …`, which takes nothing else."""
    answer: str | None = None
    """For a question: one of its options, or any text if `allowFreeForm` is true. For a tool: its result."""
    error: str | None = None
    """For a tool: its result, as an error."""
    note: str | None = None
    """With a decision: a note for the model."""
    review: list[ReviewedHunk] | None = None
    """For an edit, with `allow_once` or `reject`: decisions about single hunks."""
    scope: Scope | None = None
    """With `allow_always`: where its rules hold; absent: in this workspace."""
    together: bool = False
    """With `allow_once` or `reject`: whether it answers all open edits of the item's `group`. A `review` then decides about hunks
    of all of them."""

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
    """The item."""


class StatusParams(Wire):
    """Without params of all that are open in this process."""

    session_id: str | None = None
    """Only this one."""


class PendingSteering(Wire):
    """A steering text that the model has not seen yet."""

    pending_id: str
    """Its id."""
    text: str
    """The text."""


class ModelLatency(Wire):
    """How fast a model was: the mean of its first five answers in the session; each later answer counts a fifth."""

    model: str
    requests: int
    """How many were measured."""
    first_token_ms: float
    """From the request to its first text or reasoning."""
    tokens_per_second: float | None = None
    """From there on; absent if all answers were too short."""


class SessionStatus(Wire):
    """What a session is doing now."""

    session_id: str
    state: Literal["idle", "running", "parked"]
    """What it is doing."""
    turn_id: str | None = None
    """Its turn, unless idle."""
    phase: Phase | None = None
    """Where the turn is."""
    queue: list[QueuedRun]
    """Tasks that wait."""
    steering: list[PendingSteering]
    """Texts that the model has not got yet."""
    open: list[Open]
    """What waits for an answer."""
    plan: list[PlanItem]
    """The plan."""
    usage: Usage
    """Of the whole session."""
    retry_in: float | None = None
    """Seconds until the next attempt at a model; absent if it does not wait for one."""
    elsewhere: bool = False
    """Whether another process runs it. Answers, texts, tasks and cancels go there; what it edits is edited there."""
    latencies: list[ModelLatency] = Field(default_factory=list[ModelLatency])
    """How fast its models were."""


class QueueParams(Wire):
    """Changes what waits: a task behind the running turn, or a text that the model has not got yet.

    What has begun meanwhile, or is unknown, fails with `unknown_id`.
    """

    session_id: str
    id: str
    """The `turnId` of a task in the queue, or the `pendingId` of a steering text."""
    action: Literal["edit", "move", "remove", "steer"]
    """`edit`: replace its text. `move`: give a task another place. `remove`: withdraw it. `steer`: turn a task into a text
    for the running turn."""
    text: Text | None = None
    """With `edit`: the new text."""
    to: Annotated[int, Field(ge=0)] | None = None
    """With `move`: its place in the queue, from 0; beyond the end is the end."""

    @model_validator(mode="after")
    def _what_it_needs(self) -> "QueueParams":
        if (self.text is not None) != (self.action == "edit"):
            raise ValueError("a text goes with edit, and edit needs one")
        if (self.to is not None) != (self.action == "move"):
            raise ValueError("to goes with move, and move needs it")
        return self


class QueueResult(Wire):
    """What waits now."""

    session_id: str
    queue: list[QueuedRun]
    """Tasks that wait, the next one first."""
    steering: list[PendingSteering]
    """Texts that the model has not got yet."""


class StatusResult(Wire):
    """The sessions that are open in this process."""

    sessions: list[SessionStatus]
    """In the order they were opened."""
    model: str | None = None
    """Without `sessionId`: what a task gets that names no model, or `tiers`; empty if nothing is set that can be had."""


class WaitParams(Wire):
    """`$/cancelRequest` ends the wait, not the turn. A `workDoneToken` shows the turn's progress."""

    turn_id: str
    timeout: Annotated[float, Field(ge=0)] | None = None
    """Seconds; absent: until it ends. 0 asks for the current state."""


class WaitResult(Wire):
    """How it stands: no `outcome` means that the turn is still running."""

    turn_id: str
    outcome: Outcome | Literal["needs_input"] | None = None
    """Absent while the turn is running; `needs_input` if it is parked."""
    reason: str | None = None
    """As in `turn.finished`."""
    summary: str | None = None
    """As in `turn.finished`: usually the model's last words."""
    usage: Usage | None = None
    """What it has used."""
    done: Done | None = None
    """What shows that it is done, as in `turn.finished`; what was undone or redone since counts."""
    open: list[Open] | None = None
    """With `needs_input`: what waits for an answer."""


class EventsParams(Wire):
    """Works for any client, with or without notifications.

    The answer is written before any later event: read from 1 until `more` is false, then take the notifications from
    `nextSeq` on, and nothing is missed or repeated.
    """

    session_id: str
    from_seq: Annotated[int, Field(ge=1)] = 1
    """The first event to show."""
    limit: Annotated[int, Field(ge=1, le=10_000)] = 1000
    """The most wanted."""


class EventsResult(Wire):
    """Events in order. `more`: there are further ones from `nextSeq` on."""

    events: list[Event]
    """In the order of `seq`."""
    next_seq: int
    """Where to continue."""
    more: bool
    """Whether there are more now."""


class SessionsParams(Wire):
    """The latest first."""

    query: Text | None = None
    """Only sessions in which one text has all these words: a name, a task, an answer of the model or of the user. Capitals do
    not matter."""
    limit: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """The most wanted."""


class SessionMatch(Wire):
    """Where a session has the words that were searched."""

    turn_id: str | None = None
    """The turn; absent for a name."""
    text: str
    """The words, with some text around them."""


class SessionSummary(Wire):
    """A session of this workspace, open or not."""

    session_id: str
    title: str
    """What a user called it (`session.renamed`), else what a model did (`session.titled`), else the first task as one line."""
    state: Literal["idle", "running", "parked", "closed"]
    """`closed`: not open in this process, and nothing waits. `parked`: something waits for the user, even if the
    process that asked was killed."""
    elsewhere: bool = False
    """Whether another process runs a turn of it. It can then only be read here; its state is `running` or `parked`."""
    outcome: Outcome | None = None
    """How its latest turn ended; absent while that runs."""
    started_at: str
    """When it began."""
    last_at: str
    """Time of its latest event, without those of opening, closing and followed renames."""
    turns: int
    """How many turns it has."""
    forked_from: str | None = None
    """The session that it is a copy of."""
    match: SessionMatch | None = None
    """With `query`: the latest place."""


class SessionsResult(Wire):
    """The sessions of this workspace, the latest first."""

    sessions: list[SessionSummary]
    """All sessions of this workspace."""


class ResumeParams(Wire):
    """An interrupted turn continues, and open items are asked again.

    The model is told what was undone or changed meanwhile. A command that was running is not run again: its result is
    `interrupted`, `notUndoable` of `outrider.changes` names it, and the turn cannot end as `no_changes`.

    A session that another process runs is joined: its events come here too, its open items are asked here as well, and the
    first answer counts. That ends with `outrider.leave`, or when the other process releases the session.
    """

    session_id: str


class UndoParams(Wire):
    """Works hunk by hunk in the current text, and keeps what others wrote since.

    Where the same place was changed, the user is asked. A parked or interrupted turn is not continued by it.
    """

    session_id: str | None = None
    """Absent: the latest session with something to undo, or to redo."""
    scope: UndoScope | None = None
    """How much; absent: what `id` names, else a turn. For a redo without `id`: what was undone last, be it a turn or a
    session."""
    id: str | None = None
    """A hunk of `outrider.changes`, a change, a call (`step`) or a turn; absent: the latest."""
    ids: list[str] | None = None
    """Several of them, one after the other, in place of `id`."""
    wait: bool = True
    """False: the answer comes at once and is empty, for an editor that blocks until then. A message says what was
    left."""
    says: bool = False
    """True: a message says what was done and what was left, for an action whose result nobody shows."""
    latest: bool = False
    """True: an undo of a turn without `id` fails with `not_latest` if the latest turn changed nothing. A front end
    then asks the user, and names the turn. Ignored by a redo."""
    dry_run: bool = False
    """True: nothing is changed or asked; the result says what would be, as the files are now."""


class UndoResult(Wire):
    """What an undo or a redo did, or would do."""

    change_id: str
    """The last change it made, itself in the log; empty if there was none."""
    undone: list[UndonePath]
    """What was changed."""
    conflicts: list[Conflict]
    """What was left because it was changed afterwards."""
    not_undoable: list[NotUndoable]
    """What cannot be undone."""


class RestoreParams(Wire):
    """Takes a session back to before a message, by default the files and the conversation.

    Fails with `turn_running` while a turn runs. The log keeps everything: `outrider.redo` brings the files back, and a fork
    that ends with one of the turns brings the conversation back.
    """

    session_id: str
    turn_id: str
    """The turn that the message began. It leaves the conversation, with all that came after it."""
    files: bool = True
    """Whether what these turns changed is undone. What others wrote since stays, as with `outrider.undo`."""
    conversation: bool = True
    """Whether the model forgets these turns. Its plan is the one from before them."""

    @model_validator(mode="after")
    def _something(self) -> "RestoreParams":
        if not self.files and not self.conversation:
            raise ValueError("nothing is left to restore: one of files and conversation must be true")
        return self


class ResendParams(Wire):
    """Restores a session to before a message, as `outrider.restore` does, and sends another one in its place.

    Context, mode, limits and checks are those of the message that is replaced, unless they are given.
    """

    session_id: str
    turn_id: str
    """The turn that the message began."""
    prompt: Text
    """The new text."""
    files: bool = True
    """Whether what the turns from there on changed is undone first."""
    context: Context | None = None
    """What the user is looking at."""
    mode: Mode | None = None
    """As in `outrider.run`."""
    model: str | None = None
    """Another model than that of the settings, for this turn."""


class ForkResult(Wire):
    """The new session. Its log has the events of the other one up to that turn, then `session.forked`."""

    session_id: str
    from_session_id: str
    """The session that was copied."""
    turn_id: str
    """The last turn of the copy."""
    undo: UndoResult | None = None
    """With `files`: what became of the changes that came later. They were undone in the session that was copied."""


class RestoreResult(Wire):
    """What was restored."""

    session_id: str
    turn_id: str
    """The turn that the message began."""
    prompt: str
    """The message, for whoever wants to write it anew."""
    turns: list[str]
    """The turns that left the conversation, that one first; empty if only files were restored."""
    undo: UndoResult | None = None
    """With `files`: what became of them."""


class RenameParams(Wire):
    """The name stays, whatever a model would call the session."""

    session_id: str
    title: Annotated[str, Field(min_length=1, max_length=200)]
    """The new name, one line."""


class RenameResult(Wire):
    """The session's name now."""

    session_id: str
    title: str
    """Its name."""


class DeleteParams(Wire):
    """Removes the session's events, the texts and messages that no other session needs, and its recording, for good.

    Their bytes are overwritten. What it changed in files stays. Fails with `turn_running` or `session_in_use` while a turn
    runs; a turn that waits for an answer is cancelled first.
    """

    session_id: str


class DeleteResult(Wire):
    """The session that is gone."""

    session_id: str


class LeaveParams(Wire):
    """Ends what `outrider.resume` of a session in another process began; that one runs on."""

    session_id: str


class LeaveResult(Wire):
    """The session that is no longer watched."""

    session_id: str


class ChangesParams(Wire):
    """It only reads, so the session may run in another process."""

    session_id: str | None = None
    """Absent: the latest session that changed something, else the latest."""
    turn_id: str | None = None
    """Only what that turn changed."""
    format: Literal["list", "patch"] = "list"
    """A list of changes, or a patch."""


class ChangedHunk(Wire):
    """One hunk of a change, in whole lines."""

    id: str
    """What `outrider.undo` takes."""
    line: int
    """Where it is in the current text, from 1."""
    removed: str
    """The lines it removed."""
    added: str
    """The lines it added."""
    state: Literal["applied", "undone", "altered", "conflict"]
    """`altered`: all it added was replaced by others; `conflict`: others changed the same place since."""


class ChangeInfo(Wire):
    """One change of one file."""

    change_id: str
    turn_id: str | None = None
    step: int
    """The step of the turn, from 1."""
    call_id: str | None = None
    path: str
    """Where the file was; the hunks are where it is now."""
    to: str | None = None
    """The new path of a rename."""
    operation: Operation
    """What was done."""
    hunks: list[ChangedHunk]
    """Its hunks; none for a rename."""
    state: Literal["applied", "undone", "conflict"] | None = None
    """For a rename, which has no hunks: `conflict` if its file is gone or another one took its place."""
    undoable: bool
    """Whether some of it can be undone without a question."""
    reason: str | None = None
    """Why it cannot be undone."""


class LeftOut(Wire):
    """A file that was changed and is not in the patch."""

    path: str
    reason: str
    """Why it is not in the patch."""


class ChangesResult(Wire):
    """The changes of a session."""

    session_id: str
    changes: list[ChangeInfo] | None = None
    """For `list`: every change in order, undone ones too."""
    not_undoable: list[NotUndoable] | None = None
    """For `list`: what commands did that no undo takes back."""
    patch: str | None = None
    """For `patch`: the result of all changes, for `git apply`. Paths are real paths, relative to the workspace folder
    (below the root of a repository use `--directory`). Text that is not UTF-8 is a `GIT binary patch` for SHA-1
    repositories. Changes by others are on both sides."""
    left_out: list[LeftOut] | None = None
    """For `patch`: changes that are not in it, such as files outside the workspace, texts no longer in the log, paths
    that another file has now, and effects of commands that a patch cannot express."""


class ToolsParams(Wire):
    """Which mode the tools are listed for."""

    mode: Mode = "agent"
    """The read-only modes have fewer tools."""


class ToolInfo(Wire):
    """One tool as the model sees it."""

    name: str
    """Its name."""
    description: str
    """What the model is told about it."""
    input_schema: dict[str, Any]
    """JSON Schema of its arguments."""
    effect: Effect
    """What it does."""


class ToolsResult(Wire):
    """The tools."""

    tools: list[ToolInfo]
    """In the order they are offered."""


class ModelsParams(Wire):
    """Configured providers are asked for their lists, for five seconds at most. It has no params."""


class ModelInfo(Wire):
    """A model that a task can name."""

    model: str
    """As a task names it."""
    named: bool
    """Whether the settings name it; others come from their providers' lists."""
    tier: Tier | None = None
    """The best of `tiers` that has it."""
    context_window: int
    """Tokens of a request and its answer."""
    price: Price | None = None
    """Absent if unknown."""


class ModelsResult(Wire):
    """The models, those that the settings name first."""

    model: str | None = None
    """What a task gets that names no model: one of them, or `tiers`. Absent if nothing is set."""
    models: list[ModelInfo]
    """Those that the settings name first."""
    problems: list[str]
    """Why providers gave no list."""


class DoctorParams(Wire):
    """Checks the workspace, the model (key, proxy, certificates, context window), the log, commands, search, the editor's abilities, and permissions.

    Sends nothing to a provider without `probe`.
    """

    probe: bool = False
    """Whether each model that a turn may use (at most 16) is asked, in one small request, to call a tool: four at a
    time, 60 seconds at most. What was remembered about its tools is forgotten first."""


class Check(Wire):
    """One check of the set-up."""

    name: str
    """What was checked."""
    status: Literal["ok", "warn", "fail"]
    """The result."""
    detail: str
    """What was found, and what to do."""


class DoctorResult(Wire):
    """What was looked at."""

    checks: list[Check]
    """One per thing."""


class PromptParams(Wire):
    """As it would be sent now, before anything is left out for its length and before the provider's dialect.

    For a session at rest: what a next task would find. Sends nothing.
    """

    session_id: str


class PromptSection(Wire):
    """A part of a request, and about how many tokens it has."""

    kind: str
    """`identity`, `mode`, `work`, `environment`, `commands`, `permissions`, `instructions`, `memory`, `prompt`, `open`, `selection`,
    `diagnostics`, `date`, `git`, `files`, `project`, `map`, `summary`, `tools`, or the role of its messages."""
    name: str | None = None
    """Which one of its kind."""
    tokens: int
    """About how many it has."""


class PromptMessage(Wire):
    """A message of a request, as the model gets it."""

    role: Literal["system", "user", "assistant", "tool"]
    """Its role."""
    text: str
    """Its whole text."""
    reasoning: str | None = None
    """What the model thought."""
    tool_calls: list[WireToolCall] | None = None
    """Its calls."""
    tool_call_id: str | None = None
    """The call whose result it is."""
    tokens: int
    """About how many it has."""
    images: list[WireImage] | None = None
    """Images sent with it."""
    sections: list[PromptSection] | None = None
    """What its text is made of, if known."""


class PromptResult(Wire):
    """The next request as it would be made now, before anything is left out because of its length."""

    session_id: str
    model: str | None = None
    """The one asked last, else that of the settings."""
    tool_format: str | None = None
    """How calls are written as text; absent: tools go beside the messages."""
    messages: list[PromptMessage]
    """In order. With `toolFormat` as that model reads them: tools in the system message, calls and results as text."""
    tools: list[ToolInfo]
    """The tools offered."""
    sections: list[PromptSection]
    """The whole request by the kind of its sections."""
    tokens: int
    """About how many it has."""
    counted: int | None = None
    """What the provider counted for the latest request and its answer."""
    context_window: int | None = None
    """Tokens of a request and its answer."""


class MapParams(Wire):
    """Works whether or not turns get a map. The first call waits until all files are read."""

    files: list[str] | None = None
    """Paths, as the tools name them."""
    prompt: str | None = None
    """A task; its words influence the order."""
    tokens: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """About how many it may have; absent: as in a turn."""


class MapResult(Wire):
    """The repository map for that, whether or not turns get one."""

    text: str
    """The map without its heading; empty if no file is known."""
    files: int
    """Of how many files it has names."""


class OpenParams(Wire):
    """The documents are in `.outrider/` of the first workspace folder, which git ignores.

    They are the task document, an open item in full (an edit is reviewed in it), one to write an answer in, the changes of a
    turn, of which some can be left out, or the one in which a model is set up.
    """

    what: Literal["task", "review", "answer", "changes", "setup"] = "task"
    """Which document."""
    id: str | None = None
    """For `review` and `answer`: the open item; for `changes`: the turn."""


class OpenResult(Wire):
    """The document."""

    uri: str
    """For clients that cannot be told to show it."""


class ExportParams(Wire):
    """Works for any session of the log, whoever runs it, and changes nothing.

    Secrets, names and places of the machine are removed.
    """

    session_id: str


class ImportParams(Wire):
    """Takes an exported session into this workspace, under a new id, to read it and to go on with it.

    Nothing that it says counts as permission, its changes cannot be undone here, and its turns have ended.
    """

    export: Export
    """What `outrider.export` gave."""


class ImportResult(Wire):
    """The new session."""

    session_id: str
    title: str
    """Its name."""
    turns: int
    """How many turns it has."""


class NewRule(RulePattern):
    """A rule to save. If it already exists, the new `expires` holds."""

    decision: Literal["allow", "ask", "deny"]
    """What it decides."""
    scope: Scope = "workspace"
    """Where it holds."""
    expires: Annotated[AwareDatetime, Field(strict=False)] | None = None
    """When it ends."""


class RuleInfo(RulePattern):
    """A rule."""

    id: str
    """What `remove` takes."""
    decision: Literal["allow", "ask", "deny"]
    """What it decides."""
    scope: Literal["session", "workspace", "everywhere"]
    """Where it holds."""
    workspace: str | None = None
    """The folder where it holds, with the scope `workspace`."""
    origin: str
    """Who made it: `person`, or `workspace` for a workspace's own file, which can only forbid and ask."""
    added: str | None = None
    """When it was made."""
    expires: str | None = None
    """When it ends."""
    hits: int = 0
    """How often it decided."""
    text: str
    """All of it in words."""


class PermissionsParams(Wire):
    """Covers the user's rules, those of the workspace's `.outrider/rules.toml`, and grants of open sessions.

    A rule that allows nearly anything (`bash`, `git` without a sub-command, edits without a path), or that names a
    tool nobody has, fails with `invalid`. While the user's file is damaged every change fails with `cannot_write`.
    """

    action: Literal["list", "add", "remove", "open"] = "list"
    """What to do first; `add` and `remove` change the user's file, `open` shows it in the editor."""
    rule: NewRule | None = None
    """With `add`: the rule."""
    id: str | None = None
    """With `remove`: the rule's id."""

    @model_validator(mode="after")
    def _what_it_needs(self) -> "PermissionsParams":
        if (self.rule is not None) != (self.action == "add"):
            raise ValueError("a rule goes with add, and add needs one")
        if (self.id is not None) != (self.action == "remove"):
            raise ValueError("an id goes with remove, and remove needs one")
        return self


class PermissionsResult(Wire):
    """The rules as they are now, the user's first."""

    path: str
    """The user's file."""
    rules: list[RuleInfo]
    """The rules as they are now, the user's first."""
    problem: str | None = None
    """Why that file cannot be read, with the line. Until it is mended, only reading is possible."""


class TrustParams(Wire):
    """`trust`, `read-only` and `forget` change the user's file.

    A path that is not a folder fails with `invalid`, an unknown folder to forget with `unknown_id`, and every change with
    `cannot_write` while the file is damaged.
    """

    action: Literal["list", "trust", "read-only", "forget"] = "list"
    """What to do first."""
    folder: str | None = None
    """With all but `list`: the folder, an absolute path."""
    below: bool | None = None
    """With `trust`: whether it covers the folders below, too."""

    @model_validator(mode="after")
    def _what_it_needs(self) -> "TrustParams":
        if (self.folder is None) != (self.action == "list"):
            raise ValueError("a folder goes with trust, read-only and forget, and each of them needs one")
        if self.below is not None and self.action != "trust":
            raise ValueError("below goes with trust")
        return self


class FolderTrust(Wire):
    """The trust of a folder."""

    path: str
    """Its real path; in `workspace` as the client spells it."""
    trust: Literal["trusted", "read-only", "unknown"]
    """`unknown`: nobody said anything."""
    below: bool | None = None
    """Whether it covers the folders below, too."""
    added: str | None = None
    """When it was set."""


class TrustResult(Wire):
    """What was said of folders, and what holds for those of the workspace."""

    path: str
    """The user's file."""
    folders: list[FolderTrust]
    """What is in it."""
    workspace: list[FolderTrust]
    """What holds here, the client's word included."""
    problem: str | None = None
    """Why that file cannot be read. Until it is mended, only reading is possible."""


class JobsParams(Wire):
    """Covers open sessions, recently ended jobs included.

    An unknown job fails with `unknown_id`. Cancelling a `wait` leaves the job alone.
    """

    action: Literal["list", "read", "wait", "kill"] = "list"
    """What to do first."""
    id: str | None = None
    """With `read`, `wait` and `kill`: the job."""
    timeout: Annotated[float, Field(ge=0)] | None = None
    """With `wait`: seconds at most; absent: until it ends."""
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
    """The command."""
    cwd: str
    """Its folder."""
    sandboxed: bool
    """Whether it runs in the sandbox."""
    status: JobStatus | Literal["running"]
    """How it is, or how it ended."""
    exit_code: int | None = None
    """If it exited."""
    signal: int | None = None
    """If a signal ended it."""
    seconds: float
    """How long it has run."""


class JobsResult(Wire):
    """The jobs as they are now, the oldest first; with an id, that one."""

    jobs: list[JobInfo]
    """The oldest first; with an id that one."""
    output: str | None = None
    """With an id: what it printed, head and tail."""


class ServersParams(Wire):
    """Language servers and MCP servers. `login` shows the page where you log in to an MCP server; `logout` forgets its token."""

    action: Literal["list", "restart", "login", "logout"] = "list"
    """What to do first."""
    name: str | None = None
    """With all but `list`: the server."""

    @model_validator(mode="after")
    def _what_it_needs(self) -> "ServersParams":
        if (self.name is None) != (self.action == "list"):
            raise ValueError("a name goes with restart, login and logout, and each of them needs one")
        return self


class ServerInfo(Wire):
    """A server that Outrider is a client of."""

    name: str
    """Its name in the settings; of a missing or lent one the language."""
    kind: Literal["language", "mcp"]
    """What it serves: a language, or tools for the model."""
    folder: str | None = None
    """The workspace folder that it is for."""
    state: Literal[
        "missing",
        "lent",
        "available",
        "starting",
        "running",
        "ended",
        "failed",
        "login",
        "waiting",
        "refused",
    ]
    """`lent`: the editor answers for it; `available`: it starts when it is needed; `ended`: by itself, and starts again; `failed`: too often. Of an MCP server
    `login`: it wants you to log in; `waiting`: a workspace configures it, and you are asked about it; `refused`: you said no."""
    version: str | None = None
    """Its version, by its own word."""
    memory: int | None = None
    """Bytes that it and what it started have in memory."""
    detail: str | None = None
    """Its last error, or what of its lists is left out; of a missing one how to get it; of a lent one who it is."""
    origin: str | None = None
    """For an MCP server: where it is configured."""
    runs: str | None = None
    """For an MCP server: what is run, or the address that is reached."""
    protocol: str | None = None
    """For an MCP server: the revision of the protocol that is spoken."""
    tools: list[str] | None = None
    """For an MCP server: its tools, as the model knows them."""
    login_url: str | None = None
    """For an MCP server: the page of a log-in that is going on."""


class ServersResult(Wire):
    """The servers as they are now."""

    servers: list[ServerInfo]
    """Language servers, one for each folder and server, then MCP servers."""
    problems: list[str] = Field(default_factory=list[str])
    """What is wrong in the configuration of MCP servers, and what of it is not taken."""


class CommandsParams(Wire):
    """Custom commands of the user and of trusted workspaces, prompts of MCP servers, and skills. A task calls one as `/name arguments`."""


class CommandArgument(Wire):
    """An argument that a command names."""

    name: str
    """Its name."""
    description: str
    """What it is for; may be empty."""
    required: bool
    """Whether the command needs it."""


class CustomCommandInfo(Wire):
    """A command that a task can call."""

    name: str
    """A prompt of `outrider.run` that begins with a slash and this name calls it."""
    description: str
    """What it is for."""
    hint: str | None = None
    """What to write behind its name."""
    arguments: list[CommandArgument] | None = None
    """For a prompt of an MCP server: its arguments, given in this order or as `name=value`."""
    source: str
    """`user`, `workspace`, `skill`, or `mcp:` and the name of a server."""
    path: str | None = None
    """Its file."""


class CommandsResult(Wire):
    """What there is, by name."""

    commands: list[CustomCommandInfo]
    """By name."""
    withheld: int | None = None
    """How many more there are in folders that are not trusted."""


class SetupParams(Wire):
    """Leads from nothing to a model that answers: `list` providers, see the `models` of one, `try` one, `save` it.

    Nothing is written before `save`, which changes the user's `settings.toml` and counts from the next turn on. Only `models`
    and `try` ask the provider; `try` costs one small request.
    """

    action: Literal["list", "models", "try", "save"] = "list"
    """The step."""
    provider: str | None = None
    """With all but `list`: the `name` of a listed provider, or another one, with `kind` and `baseUrl`."""
    kind: ProviderKind | None = None
    """The API it speaks, if it is not as listed."""
    base_url: str | None = None
    """Its address, if it is not as listed."""
    key: str | None = None
    """The key itself, without the blanks around it; absent: the one found, or none. It is in no setting and in no log."""
    keep: KeyPlace | None = None
    """With `save` and `key`: where the key is kept."""
    api_key_env: EnvName | None = None
    """The variable that has the key, or that the client gives it in; absent: as listed."""
    model: str | None = None
    """With `try` and `save`: the model, as `models` names it."""

    @model_validator(mode="after")
    def _what_it_needs(self) -> "SetupParams":
        if (self.provider is None) != (self.action == "list"):
            raise ValueError("a provider goes with models, try and save, and each of them needs one")
        if self.action in {"try", "save"} and not self.model:
            raise ValueError(f"{self.action} needs a model")
        if self.action == "save" and (self.key is None) != (self.keep is None):
            raise ValueError("keep goes with key: it says where the key is kept")
        return self


class SetupProvider(Wire):
    """A provider that can be set up."""

    name: str
    """What it is called in the settings."""
    title: str
    """What users call it."""
    kind: ProviderKind
    """The API it speaks."""
    base_url: str
    """Its address."""
    needs_key: bool
    """Whether it usually wants a key."""
    api_key_env: EnvName | None = None
    """The variable in which its key usually is."""
    found: str | None = None
    """What was found of it here, such as a key in a variable or a server that answers; absent: nothing."""
    configured: bool = False
    """Whether the settings have it."""


class SetupModel(Wire):
    """A model that a provider offers."""

    name: str
    """Its name, without the provider."""
    context_window: int | None = None
    """Tokens of a request and its answer; absent if unknown."""
    price: Price | None = None
    """Absent if unknown."""
    tools: bool | None = None
    """Whether it calls tools; absent if unknown."""


class SetupTrial(Wire):
    """What came of one real request."""

    ok: bool
    """Whether the model answered."""
    detail: str
    """How it calls tools, or why it did not answer and what to do."""
    seconds: float
    """How long it took."""


class SetupResult(Wire):
    """What the step gave."""

    providers: list[SetupProvider] | None = None
    """With `list`: those found here first."""
    keeps: list[KeyPlace] | None = None
    """With `list`: where this machine can keep a key, the best first."""
    models: list[SetupModel] | None = None
    """With `models`: what the provider offers, which may be nothing."""
    trial: SetupTrial | None = None
    """With `try`: what came of it."""
    model: str | None = None
    """With `save`: the setting `model` now."""
    file: str | None = None
    """With `list` and `save`: the user's settings file."""
    written: str | None = None
    """With `save`: the lines of the file that are new."""
    note: str | None = None
    """With `save`: why something else is used here all the same."""
    problem: str | None = None
    """Why the step gave nothing, and what to do."""


@dataclass(frozen=True, slots=True)
class Command:
    """One row of the command table: its name, what it takes, what it gives, what it is for."""

    name: str
    params: type[Wire]
    result: type[Wire]
    summary: str


REASONS: dict[str, str] = {
    "unknown_id": "There is no such session, turn, open item or steering text; or it is not open here.",
    "already_resolved": "The open item was answered before, or the draft was sent.",
    "no_token": "The client came over TCP without a token: it cannot answer approvals or change what they depend on, and not undo, restore, import or delete.",
    "invalid": "The item does not take this answer; the message lists what it takes.",
    "no_running_turn": "There is nothing to steer, or the turn does not run.",
    "not_waiting": "The turn does not wait for an attempt at its model.",
    "session_in_use": "Another process runs the session.",
    "model_unavailable": "No model is set, or it cannot be used; the message says what to set.",
    "nothing_to_undo": "There is nothing to undo or redo.",
    "not_latest": "The latest turn has nothing to undo. `data` names the turn that has: `sessionId`, `turnId`, `prompt`.",
    "store_failed": "The log cannot be read or written; no session was started. A running turn has failed.",
    "too_large": "The session holds more than one answer can carry.",
    "not_connected": "The prompt calls a command of an MCP server that cannot be asked; the message says why.",
    "no_map": "No folder is open, or maps do not work any more.",
    "cannot_write": "The document or the user's file cannot be written.",
    "not_supported": "This version, or this system, cannot do it.",
    "turn_running": "A turn of the session runs. Wait for its end, or cancel it.",
    "nothing_to_continue": "The turn ended by itself, or another one came after it.",
}
"""Each `reason` of a RequestFailed, and what it means."""


COMMANDS: dict[str, Command] = {
    row.name: row
    for row in (
        Command(names.RUN, RunParams, RunResult, "Give a task."),
        Command(names.EXPLORE, ExploreParams, RunResult, "Give a read-only task."),
        Command(names.PLAN, PlanParams, RunResult, "Start the plan in a document."),
        Command(names.STEER, SteerParams, SteerResult, "Add a text for the running turn, or withdraw it."),
        Command(names.CANCEL, CancelParams, CancelResult, "End a turn and everything it started."),
        Command(names.ANSWER, AnswerParams, AnswerResult, "Answer an open item."),
        Command(names.STATUS, StatusParams, StatusResult, "Say what the sessions are doing."),
        Command(names.WAIT, WaitParams, WaitResult, "Wait for a turn to finish or to need an answer."),
        Command(names.EVENTS, EventsParams, EventsResult, "Read a session's log."),
        Command(names.SESSIONS, SessionsParams, SessionsResult, "List the sessions of this workspace."),
        Command(names.RESUME, ResumeParams, SessionStatus, "Continue a session of the log."),
        Command(names.UNDO, UndoParams, UndoResult, "Undo changes and keep what others wrote since."),
        Command(names.REDO, UndoParams, UndoResult, "Redo what was undone."),
        Command(
            names.CHANGES, ChangesParams, ChangesResult, "List what a session changed, or give it as a patch."
        ),
        Command(names.TOOLS, ToolsParams, ToolsResult, "List the tools."),
        Command(
            names.MODELS,
            ModelsParams,
            ModelsResult,
            "List the models that a task can name.",
        ),
        Command(names.DOCTOR, DoctorParams, DoctorResult, "Check the set-up."),
        Command(names.PROMPT, PromptParams, PromptResult, "Show what the model would be sent next."),
        Command(names.MAP, MapParams, MapResult, "Draw the repository map for some files or a task."),
        Command(
            names.OPEN, OpenParams, OpenResult, "Open the task document or the document of an open item."
        ),
        Command(names.EXPORT, ExportParams, Export, "Give a session as one file, without secrets."),
        Command(
            names.PERMISSIONS,
            PermissionsParams,
            PermissionsResult,
            "List, add, remove and open rules.",
        ),
        Command(
            names.TRUST,
            TrustParams,
            TrustResult,
            "List trusted folders, and change the trust of one.",
        ),
        Command(names.JOBS, JobsParams, JobsResult, "List, read, wait for and end background jobs."),
        Command(
            names.CUSTOM_COMMANDS,
            CommandsParams,
            CommandsResult,
            "List the custom commands that a task can call.",
        ),
        Command(
            names.SERVERS,
            ServersParams,
            ServersResult,
            "List, restart, log in to and out of language servers and MCP servers.",
        ),
        Command(names.RETRY, RetryParams, RetryResult, "Repeat a failed request now, or a failed turn."),
        Command(names.CONTINUE, ContinueParams, RunResult, "Go on where a turn stopped."),
        Command(names.RESEND, ResendParams, RunResult, "Send a message anew in place of an earlier one."),
        Command(names.RESTORE, RestoreParams, RestoreResult, "Go back to before a message."),
        Command(
            names.QUEUE, QueueParams, QueueResult, "Edit, move and remove what waits for the running turn."
        ),
        Command(names.FORK, ForkFrom, ForkResult, "Begin a session as a copy of another one."),
        Command(names.RENAME, RenameParams, RenameResult, "Name a session."),
        Command(names.DELETE, DeleteParams, DeleteResult, "Delete a session."),
        Command(names.IMPORT, ImportParams, ImportResult, "Take in an exported session."),
        Command(names.LEAVE, LeaveParams, LeaveResult, "Stop watching a session of another process."),
        Command(names.SETUP, SetupParams, SetupResult, "Set up a provider and a model."),
    )
}
