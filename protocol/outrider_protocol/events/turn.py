"""Events of a turn, from the queue to its end."""

from typing import Any, Literal

from pydantic import Field

from outrider_protocol.choices import Mode, PermissionMode
from outrider_protocol.events.base import EventData
from outrider_protocol.events.context import PlanItem
from outrider_protocol.events.parts import Context, Open, Usage
from outrider_protocol.events.tools import CheckKind
from outrider_protocol.settings import Autonomy, HookPoint, Limits, Thinking
from outrider_protocol.wire import Wire

Phase = Literal["start", "prepare", "assistant", "tools", "verify", "finish"]
"""Where a turn is."""


Outcome = Literal["completed", "cancelled", "budget_exhausted", "failed", "refused"]
"""How a turn ended."""

REASONS_OF_OUTCOMES: dict[str, str] = {
    "completed": "`checked`: a check (tests, types, lint, build) succeeded after the last change, and changed nothing itself; "
    "`check_failed`: one failed and no change came after it; `unverified`: none was run after the last change, or one that was demanded "
    "did not run; `no_changes`.",
    "cancelled": "The `reason` of the cancel, or where it came from.",
    "budget_exhausted": "The budget, such as `limits.steps` or `contextWindow` (a model's `context_overflow`). There is a summary.",
    "failed": "From the model: `auth`, `unknown_model`, `rate_limit`, `quota`, `overloaded`, `bad_request`, `no_tools`, `no_images`, "
    "`connection`, `setup` (proxy or certificates), `timeout`, `stalled`, `cut_stream`, `protocol`, `script_exhausted`, "
    "`script_expectation`, `model_unavailable`; from the log: `store_failed`; from the loop: `empty_responses`, `only_reasoning`, "
    "`cut_off`, `repeated_answers`, `malformed_calls`, `repeated_calls`, `repeated_text`, `window_too_small`, `internal_error`.",
    "refused": "`model_refused`; the model's failure is `refused`. `hook_refused`: a hook refused the task.",
}
"""Each outcome of a turn, and the `reason` of its `turn.finished`."""


class CheckRun(Wire):
    """A check that was run in a turn, as it went the last time."""

    kind: CheckKind
    """What it checks."""
    command: str
    """The command."""
    exit_code: int | None = None
    """Its exit code; absent if it was ended."""
    ok: bool
    """Whether it succeeded."""
    stale: bool = False
    """Whether a file was changed since, so that it says nothing any more."""
    seconds: float
    """How long it took, questions on its way included."""


class CheckNotRun(Wire):
    """A check that was demanded and did not run."""

    command: str
    """The command."""
    reason: Literal["refused", "not_allowed", "failed", "ended"]
    """Why: the user `refused` it, a rule or the mode does not allow it, it `failed` to come to an end, or the turn `ended` first."""


class DoneDiagnostics(Wire):
    """What the edits of a turn did to the errors that language servers find."""

    introduced: int
    """Errors that they brought and that are left."""
    fixed: int
    """Errors that are gone with them."""


class Done(Wire):
    """What shows that a turn did what it was to do. Words of the model count for nothing here."""

    state: Literal["no_changes", "unverified", "checked", "check_failed"]
    """As the `reason` of a completed turn."""
    line: str
    """The same in one line, for users."""
    changed: list[str] = Field(default_factory=list[str])
    """The files that it changed, sorted."""
    checks: list[CheckRun] = Field(default_factory=list[CheckRun])
    """The checks that were run, those that count first."""
    not_run: list[CheckNotRun] = Field(default_factory=list[CheckNotRun])
    """The checks that were demanded after a change and did not run."""
    open_items: list[str] = Field(default_factory=list[str])
    """Items of the plan that are not done."""
    diagnostics: DoneDiagnostics | None = None
    """What became of errors; absent where no language server judged an edit."""


class TurnSettings(Wire):
    """What a turn goes by besides its own values."""

    permission_mode: PermissionMode
    """The mode."""
    limits: Limits
    """The limits."""
    autonomy: Autonomy = "balanced"
    """How often the model may ask the user."""


class CommandOutput(Wire):
    """A command line whose output a custom command wants in its text. It runs, by the permissions of all commands, when the turn begins."""

    at: int
    """Where the output belongs in the text, in characters."""
    command: str
    """The command line."""


class Invoked(Wire):
    """The custom command that a task calls by its first word, and what it says."""

    name: str
    """Its name, without the slash."""
    source: str
    """`user`, `workspace`, `skill`, or `mcp:` and the name of a server."""
    path: str | None = None
    """Its file; absent where it has none."""
    text: str
    """What the model gets in place of the prompt, with its arguments and files."""
    outputs: list[CommandOutput] | None = None
    """What is run and put into the text before the model gets it."""


class TurnQueued(EventData):
    """A task waits for the running turn."""

    TYPE = "turn.queued"
    prompt: str
    """The task."""
    mode: Mode
    """Its mode."""
    model: str
    context: Context | None = None
    """What the user was looking at."""
    limits: dict[str, Any] | None = None
    """Limits of its own."""
    thinking: Thinking | None = None
    """How much the model thinks, if the task says so."""
    invoked: Invoked | None = None
    """The custom command that the prompt calls."""
    checks: list[str] | None = None
    """As in `turn.started`."""
    plan: list[PlanItem] | None = None
    """As in `turn.started`."""
    plan_document: str | None = None
    """As in `turn.started`."""
    continues: str | None = None
    """As in `turn.started`."""


class QueuedRun(Wire):
    """A task that waits for the running turn."""

    turn_id: str
    prompt: str
    """The task."""


class QueueChanged(EventData):
    """Tasks that wait got another order or other texts."""

    TYPE = "queue.changed"
    queue: list[QueuedRun]
    """All that wait, the next one first."""


class TurnStarted(EventData):
    """A turn began."""

    TYPE = "turn.started"
    prompt: str
    """The task."""
    mode: Mode
    """Its mode."""
    model: str
    context: Context | None = None
    """What the user was looking at."""
    limits: dict[str, Any] | None = None
    """Limits of its own."""
    thinking: Thinking | None = None
    """How much the model thinks, if the task says so."""
    invoked: Invoked | None = None
    """The custom command that the prompt calls."""
    settings: TurnSettings | None = None
    """What the settings say at its start."""
    checks: list[str] | None = None
    """Commands that decide whether it is done: those of the task, then those of the setting `verify`. Absent in old logs."""
    plan: list[PlanItem] | None = None
    """The steps that its plan begins with, and that stay in it."""
    plan_document: str | None = None
    """Their document, by its path in the workspace."""
    continues: str | None = None
    """The turn that it goes on with: its task and steps are in the conversation, and `prompt` is that task."""


class SettingsChanged(EventData):
    """The mode became narrower during the turn, and counts at once."""

    TYPE = "settings.changed"
    permission_mode: PermissionMode
    """The mode."""


class TurnPhase(EventData):
    """The turn went from one phase to the next."""

    TYPE = "turn.phase"
    from_: Phase = Field(validation_alias="from", serialization_alias="from")
    """The phase before."""
    to: Phase
    """The phase now."""
    reason: str
    """`started`, `prepared`, `tool_calls`, `tool_results`, `repair`, `steering`, `answered`, `check_failed`,
    `check_answered` (the user said something with a yes or a no to a check), `reminder`, `held_by_hook` (a hook refused that it
    ends), `resumed`, or the reason of its end."""


class CheckCall(Wire):
    """A check as a tool call."""

    id: str
    """The call, which has `tool.requested` and `tool.finished` as any other."""
    command: str
    """The command."""


class HookCall(Wire):
    """A hook that runs."""

    id: str
    """The call."""
    command: str
    """The command line, with what the hook is given."""
    hook: str
    """The hook's own command."""
    refuses: bool | None = None
    """Whether its failure refuses."""
    seconds: float | None = None
    """Its time-out, where it has one of its own."""


class HookStarted(EventData):
    """Hooks run, as commands."""

    TYPE = "hook.started"
    on: HookPoint
    """The point."""
    call_id: str | None = None
    """The call that they are about."""
    calls: list[HookCall]
    """The hooks, in order."""


class HookFinished(EventData):
    """They came to their end."""

    TYPE = "hook.finished"
    on: HookPoint
    """The point."""
    call_id: str | None = None
    """The call that they are about."""
    refused: str | None = None
    """Why it is refused."""
    asks: str | None = None
    """Why the user is asked about the call."""
    arguments: str | None = None
    """The call's arguments as they are now, as JSON."""
    told: str | None = None
    """What the model gets, after the results of the step."""


class VerifyStarted(EventData):
    """The model stopped after a change, and the checks of the task are run."""

    TYPE = "verify.started"
    attempt: int
    """Which time, from 1."""
    calls: list[CheckCall]
    """The checks, in order."""
    ignored: list[str] | None = None
    """Commands that the settings of the workspace name, and that the user did not allow."""


class VerifyFinished(EventData):
    """They came to their end."""

    TYPE = "verify.finished"
    attempt: int
    """Which time, from 1."""
    failed: list[str]
    """The commands that failed."""
    told: str | None = None
    """What the model gets about it; absent if the turn ends here."""


class TurnParked(EventData):
    """The turn waits for the user."""

    TYPE = "turn.parked"
    open: list[Open]
    """What waits."""


class TurnResumed(EventData):
    """An open item was answered; the turn continues."""

    TYPE = "turn.resumed"
    id: str
    """The open item."""


class TurnFinished(EventData):
    """The turn is over; exactly one for each turn."""

    TYPE = "turn.finished"
    outcome: Outcome
    """How it ended."""
    reason: str
    """Why, see [how a turn ends](#how-a-turn-ends)."""
    summary: str
    """The model's last words, mostly."""
    usage: Usage
    """What it used."""
    done: Done | None = None
    """What shows that it is done; absent in old logs."""
