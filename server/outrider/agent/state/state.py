"""The state of a session: a fold over its events, live, at a resume and at a replay alike.

Reads plain event data, so that folding a long log costs no validation.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import cast

from outrider.agent.state.evidence import Evidence, FileChange, WhyNotRun, counts
from outrider.agent.state.memory import Memory
from outrider.agent.state.turn_state import (
    HELD_BY_HOOK,
    UNKNOWN,
    Account,
    Before,
    CallState,
    JobState,
    TurnState,
    same_words,
    seconds_between,
)
from outrider.models.routing.profile import Pace
from outrider.permissions.policy.decide import UNSANDBOXED
from outrider.ports.editor import ToolAnswer
from outrider.ports.events import Logged, LoggedEvent
from outrider.ports.model import REMINDER, Latency, Message, Part, ProviderData, ToolCall, images_of
from outrider.tools.looked_up import LOOK_UP, looked_up
from outrider.workspace.edits.review import Review
from outrider.workspace.history.journal import Journal
from outrider.workspace.watch.read_state import Seen
from outrider_protocol import logged
from outrider_protocol.choices import PermissionMode
from outrider_protocol.events import (
    Context,
    InputField,
    Invoked,
    Open,
    PlanItem,
    ReviewedHunk,
    RulePattern,
)

INTERRUPTED = "[The user interrupted you here; what you were saying or about to do was not finished.]"
"""What the model is told where a turn was cancelled while it answered."""
DETAIL_CHARACTERS = 2000
"""Characters of a call's arguments that an open item shows; `tool.requested` has them whole."""


@dataclass(slots=True)
class SessionState:
    """Everything that can be known of a session from its log."""

    session_id: str
    last_seq: int = 0
    titled: bool = False
    """Whether a model was asked for its title."""
    folders: list[str] = field(default_factory=list[str])
    permission_mode: PermissionMode = "ask"
    turns: dict[str, TurnState] = field(default_factory=dict[str, TurnState])
    current: str | None = None
    """The turn that is running or parked."""
    open: dict[str, Open] = field(default_factory=dict[str, Open])
    digests: dict[str, str] = field(default_factory=dict[str, str])
    """Digest of each open approval."""
    resolved: set[str] = field(default_factory=set[str])
    """Ids of the items that are not open any more."""
    grants: dict[str, str] = field(default_factory=dict[str, str])
    """Session grants: key → the approval that gave it."""
    steering: dict[str, str] = field(default_factory=dict[str, str])
    """Steering texts that the model has not seen yet."""
    answers: dict[str, str] = field(default_factory=dict[str, str])
    """What the user answered to the model's questions so far, by the question in `same_words`."""
    looked_up: dict[str, None] = field(default_factory=dict[str, None])
    """The tools of MCP servers whose definitions the model has looked up, in that order."""
    plan: list[PlanItem] = field(default_factory=list[PlanItem])
    account: Account = field(default_factory=Account)
    """The sum over all requests."""
    paces: dict[str, Pace] = field(default_factory=dict[str, Pace])
    """How fast its models were."""
    tool_formats: dict[str, str] = field(default_factory=dict[str, str])
    """The text formats that models were switched to."""
    asked: dict[str, str] = field(default_factory=dict[str, str])
    """The model of each request that has no answer yet, by its message."""
    cursors: dict[str, int] = field(default_factory=dict[str, int])
    """Main requests so far, by model."""
    told_of_no_copy: bool = False
    told_errors: set[str] = field(default_factory=set[str])
    """What was said to be wrong, without the reasons."""
    told_of_no_sandbox: bool = False
    """Whether it was said that commands run without a sandbox."""
    requested: list[str] = field(default_factory=list[str])
    """Content hashes of the messages of the latest main request."""
    originals: dict[str, str] = field(default_factory=dict[str, str])
    """Of messages that were cut, the content hash of what they had been, by their own."""
    requested_at: int = 0
    """Seq of the event that named them, 0 before the first."""
    since: list[Message] = field(default_factory=list[Message])
    """Messages that came after it."""
    news: list[Message] = field(default_factory=list[Message])
    """What others changed in files that the model has seen, in words it has not got yet; they follow on `since`."""
    cursor: int = 0
    """Main requests so far that came to an end: how far a script was used."""
    awaiting: bool = False
    """Whether a main request is on its way."""
    call_ids: set[str] = field(default_factory=set[str])
    """Ids of all calls so far, which must stay unique."""
    undoing: dict[str, logged.EditApplying] = field(default_factory=dict[str, logged.EditApplying])
    """The data of each `edit.applying` outside a turn, by change, while it is not known how that went."""
    jobs: dict[str, JobState] = field(default_factory=dict[str, JobState])
    """Background jobs that run, as far as the log knows."""
    secrets: dict[str, str] = field(default_factory=dict[str, str])
    """The numbers of the secrets that were replaced so far, by their keyed hashes."""
    journal: Journal = field(default_factory=Journal)
    seen: Seen = field(default_factory=Seen)
    memory: Memory = field(default_factory=Memory)
    failed_calls: set[str] = field(default_factory=set[str])
    """Calls whose results are errors, or say that they were not run."""
    _grant_keys: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def turn(self) -> TurnState | None:
        """The turn that is running or parked."""
        return self.turns[self.current] if self.current is not None else None

    @property
    def latest(self) -> TurnState | None:
        """The turn that began last, of those that the conversation has."""
        begun = (turn for turn in reversed(self.turns.values()) if turn.started and not turn.forgotten)
        return next(begun, None)

    @property
    def queue(self) -> list[TurnState]:
        """Turns that wait for their time."""
        return [turn for turn in self.turns.values() if not turn.started and turn.outcome is None]

    def apply(self, event: LoggedEvent) -> None:
        """Fold one event."""
        self.last_seq = event.seq
        for secret in event.data.get("secrets", ()):
            self.secrets[secret["mark"]] = secret["name"]
        self.journal.apply(event)
        self.seen.apply(event)
        self.memory.apply(event)
        match event.type:  # the commonest first, as they are compared in this order
            case "model.requested":
                _requested(self, event)
            case "model.responded":
                _responded(self, event.data)
            case "tool.requested":
                _tool_requested(self, event.data)
            case "tool.started":
                _tool_started(self, event)
            case "tool.finished":
                _tool_finished(self, event)
            case "session.started":
                _session(self, event.data)
            case "session.restored":
                _restored(self, event.data)
            case "session.titled":
                _titled(self, event.data)
            case "session.renamed":
                self.titled = True
            case "session.forked":
                _copied(self)
            case "session.imported":
                _copied(self)
                self.journal = Journal()
            case "turn.queued":
                turn = _turn_of(event)
                self.turns[turn.turn_id] = turn
            case "queue.changed":
                _reordered(self, event.data)
            case "turn.started":
                _started(self, event)
            case "turn.phase":
                if self.turn:
                    _phase(self.turn, event.data)
            case "turn.parked" | "turn.resumed":
                if self.turn:
                    self.turn.parked = event.type == "turn.parked"
            case "turn.finished":
                _finished(self, event)
            case "context.compacted" | "context.pruned" | "context.trimmed":
                _rewritten(self, event)
            case "conversation.restored":
                _gone_back(self, event)
            case "workspace.renamed" | "instructions.found":
                self.news.append(Message("user", event.data["told"]))
            case "verdict.found":
                _judged(self, event.data)
            case "map.drawn":
                self.news.append(Message.of_parts("user", [Part("map", event.data["told"])]))
            case "model.failed" | "model.retried" | "model.fellBack":
                _failed(self, event.data)
            case "model.switched":
                self.tool_formats[event.data["model"]] = event.data["toolFormat"]
                if (
                    event.data["reason"] == "no_tools"
                ):  # the refusal was an answer of its own, as a script has it
                    self.cursors[event.data["model"]] = self.cursors.get(event.data["model"], 0) + 1
                    self.cursor += 1
            case "edit.proposed":
                _proposed(self, event)
            case "edit.applying":
                _applying(self, event.data)
            case "edit.applied" | "edit.merged":
                _in_place(self, event)
            case "edit.rejected":
                _rejected(self, event.data)
            case "approval.requested":
                _approval(self, event)
            case "sandbox.absent":
                self.told_of_no_sandbox = True
            case "auto.limited":
                self.told_of_no_copy = True
            case "error":
                self.told_errors.add(without_reason(event.data["message"]))
            case "approval.resolved":
                _approved(self, event.data)
            case "question.asked":
                _question(self, event)
            case "question.answered":
                _answered(self, event.data)
            case "input.wanted":
                if state_call := _call_of(self, event.data["callId"]):
                    state_call.wanted = event.data
            case "tool.asked":
                _tool_asked(self, event)
            case "tool.answered":
                _tool_answered(self, event.data)
            case "plan.updated":
                self.plan = [PlanItem.from_wire(item) for item in event.data["items"]]
                if self.turn:
                    self.turn.planned = True
            case "plan.written":
                if self.turn:
                    self.turn.plan_path = event.data["path"]
            case "steering.received":
                _steering(self, event.data)
            case "hook.started":
                _hooks_run(self, data=event.data)
            case "hook.finished":
                _hooks_ended(self, event.data)
            case "verify.started":
                _verifying(self, event.data)
            case "verify.finished":
                _verified(self, event.data)
            case "workspace.ignored" if self.turn:
                self.turn.evidence.ignore(event.data["paths"])
            case "workspace.changed" | "workspace.touched":
                _changed(self, event.data)
            case "job.started":
                _job_started(self, event)
            case "job.finished":
                _job_finished(self, event.data)
            case _:
                pass


def without_reason(message: str) -> str:
    """What an error says before its reason, which may be put in other words each time. Pure."""
    return message.partition(": ")[0]


def _session(state: SessionState, data: logged.SessionStarted | logged.SessionRestored) -> None:
    state.folders = data["folders"]
    state.permission_mode = data["permissionMode"]


def _restored(state: SessionState, data: logged.SessionRestored) -> None:
    _session(state, data)
    if state.awaiting:  # the answer was lost with the process, so the request is made again
        for model in state.asked.values():
            state.cursors[model] = state.cursors.get(model, 1) - 1
        state.cursor, state.awaiting = state.cursor - 1, False
    # It goes on, and parks again if its open items stay without an answer.
    if state.turn and not data.get("rests"):
        state.turn.phase, state.turn.parked = "prepare", False


def _copied(state: SessionState) -> None:
    """All that came so far happened to another session: nothing of it goes on, and no yes to it is one here."""
    state.grants.clear()
    state.jobs.clear()
    state.undoing.clear()
    for call in state.turn.calls.values() if state.turn else ():
        call.applying.clear()


def _reordered(state: SessionState, data: logged.QueueChanged) -> None:
    for one in data["queue"]:
        if (turn := state.turns.pop(one["turnId"], None)) is not None:
            if turn.prompt != one["prompt"]:
                turn.invoked = None  # what the user writes anew is meant as it is
            turn.prompt = one["prompt"]
            state.turns[turn.turn_id] = turn


def _gone_back(state: SessionState, event: Logged[logged.ConversationRestored]) -> None:
    data = event.data
    gone = [state.turns[one] for one in data["turns"] if one in state.turns]
    if gone and (before := gone[0].before) is not None:
        # A copy, as the session may go back to there once more.
        state.seen, state.answers = before.seen.copy(), dict(before.answers)
        state.memory.back_to(before.memory, len(data["messages"]))
    for turn in gone:
        turn.forgotten = True
    state.plan = [PlanItem.from_wire(item) for item in data["plan"]]
    _name(state, event.seq, data["messages"])


def _titled(state: SessionState, data: logged.SessionTitled) -> None:
    state.titled = True
    _spend(state, lambda account: account.with_request(data.get("usage")))


def _turn_of(event: Logged[logged.TurnQueued | logged.TurnStarted]) -> TurnState:
    data = event.data
    context = data.get("context")
    return TurnState(
        turn_id=event.turn_id or "",
        prompt=data["prompt"],
        mode=data["mode"],
        model=data["model"],
        context=Context.model_validate(context) if context is not None else None,
        limits=data.get("limits"),
        thinking=data.get("thinking"),
        checks=data.get("checks"),
        invoked=Invoked.from_wire(data["invoked"]) if "invoked" in data else None,
        steps_given=(steps := [PlanItem.from_wire(one) for one in data["plan"]] if "plan" in data else None),
        own_steps=steps or (),
        plan_document=data.get("planDocument"),
        continues=data.get("continues"),
    )


def _started(state: SessionState, event: Logged[logged.TurnStarted]) -> None:
    turn = _turn_of(event)
    turn.started, turn.started_at = True, event.ts
    if "settings" in event.data:
        turn.autonomy = event.data["settings"]["autonomy"]
    for number, one in enumerate((turn.invoked and turn.invoked.outputs) or (), 1):
        call = ToolCall(
            f"{turn.turn_id}_output_{number}", "run_command", json.dumps({"command": one.command})
        )
        turn.calls[call.id] = CallState(call, fills=True)
        state.call_ids.add(call.id)
    before = state.turns.get(turn.continues or "")
    if before is not None:
        # What was changed and checked there counts on.
        turn.told, turn.evidence = before.told or before.asked, before.evidence.copy()
        turn.own_steps, turn.plan_document = before.own_steps, before.plan_document
        turn.planned = before.planned
    turn.evidence.demand(turn.checks or ())
    turn.before = Before(state.seen.copy(), state.memory.mark(), dict(state.answers))
    state.turns.pop(turn.turn_id, None)
    state.turns[turn.turn_id] = turn
    state.current = turn.turn_id


def _finished(state: SessionState, event: Logged[logged.TurnFinished]) -> None:
    data = event.data
    turn = state.turns.get(event.turn_id or "")
    if turn is None:
        return
    state.awaiting = False
    turn.outcome, turn.reason, turn.summary, turn.parked = (
        data["outcome"],
        data["reason"],
        data["summary"],
        False,
    )
    turn.done = data.get("done")
    turn.calls.clear()
    if turn.response is not None and turn.response["finishReason"] == "cancelled":
        state.since.append(Message("user", INTERRUPTED))
    for item in [item for item in state.open.values() if item.turn_id == turn.turn_id]:
        _close(state, item.id)
    if state.current == turn.turn_id:
        state.current = None
        state.steering.clear()  # it was said to this turn


def _requested(state: SessionState, event: Logged[logged.ModelRequested]) -> None:
    data = event.data
    state.asked = {data["messageId"]: data["model"]}
    if data["purpose"] == "main":
        state.cursors[data["model"]] = state.cursors.get(data["model"], 0) + 1
        _name(state, event.seq, data["messages"])
        state.cursor, state.awaiting = state.cursor + 1, True
        if state.turn:
            state.turn.asked, state.turn.response = True, None
    for pending in data["steering"]:
        state.steering.pop(pending, None)


def _name(state: SessionState, seq: int, messages: list[str] | logged.AddedMessages) -> None:
    """Take over the messages that an event names. Those it does not repeat are the ones named last."""
    if isinstance(messages, list):
        state.requested = list(messages)
    else:
        state.requested.extend(messages["added"])
    state.requested_at, state.since, state.news = seq, [], []


def _rewritten(
    state: SessionState, event: Logged[logged.ContextCompacted | logged.ContextPruned | logged.ContextTrimmed]
) -> None:
    data = event.data
    """The conversation is other than it was. What came up to here is in it, the task of the turn too."""
    if "messages" in data:
        after = data["messages"]
        if event.type == "context.pruned":
            # It takes no message away, so what was sent before is in the same places.
            pairs = zip(state.requested, after, strict=False)
            state.originals |= {now: state.originals.get(was, was) for was, now in pairs if was != now}
        elif event.type == "context.compacted":
            state.originals = {one: state.originals[one] for one in after if one in state.originals}
        _name(state, event.seq, after)
        if state.turn:
            state.turn.asked, state.turn.response = True, None


def _spend(state: SessionState, change: Callable[[Account], Account]) -> None:
    state.account = change(state.account)
    if state.turn:
        state.turn.account = change(state.turn.account)


def _failed(
    state: SessionState, data: logged.ModelFailed | logged.ModelRetried | logged.ModelFellBack
) -> None:
    _spend(state, lambda account: account.with_request(data.get("usage")))
    if data["messageId"] in state.asked and "to" in data:
        state.asked[data["messageId"]] = data["to"]


def _responded(state: SessionState, data: logged.ModelResponded) -> None:
    used = data.get("usage")
    if used is None and data["finishReason"] == "cancelled" and (data["text"] or data.get("reasoning")):
        used = UNKNOWN
    _spend(state, lambda account: account.with_request(used))
    model = state.asked.pop(data["messageId"], "")
    if latency := data.get("latency"):
        measured = Latency(latency["firstTokenMs"], latency.get("tokensPerSecond"))
        state.paces[model] = state.paces.get(model, Pace()).after(measured)
    if data["purpose"] != "main":
        return
    calls = tuple(
        ToolCall(call["id"], call["name"], call["arguments"], call.get("refused"))
        for call in data["toolCalls"]
    )
    state.awaiting = False
    state.call_ids.update(call.id for call in calls)
    if data["text"] or calls:
        kept = data.get("providerData")
        message = Message(
            "assistant",
            data["text"],
            calls,
            reasoning=data.get("reasoning"),
            provider_data=kept and ProviderData(kept["model"], kept["blocks"]),
        )
        state.since.append(message)
    if state.turn:
        state.turn.steps += 1
        state.turn.only_thought = not calls and not data["text"].strip()
        state.turn.response = data
        state.turn.calls = {call.id: CallState(call) for call in calls}


def _tool_requested(state: SessionState, data: logged.ToolRequested) -> None:
    if state.turn and (call := state.turn.calls.get(data["callId"])):
        call.requested, state.turn.answer = True, ""


def _tool_started(state: SessionState, event: Logged[logged.ToolStarted]) -> None:
    if state.turn and (call := state.turn.calls.get(event.data["callId"])):
        call.started, call.started_at = True, event.ts


def _tool_finished(state: SessionState, event: Logged[logged.ToolFinished]) -> None:
    data = event.data
    images = tuple(images_of(data.get("images", ())))
    checked = state.turn and state.turn.calls.get(data["callId"])
    if checked:
        checked.came, checked.status = data["content"], data["status"]
        checked.exit_code = data.get("ran", {}).get("exitCode")
    if not checked or not (checked.check is not None or checked.fills):
        state.since.append(Message("tool", data["content"], tool_call_id=data["callId"], images=images))
    if data["status"] != "ok":
        state.failed_calls.add(data["callId"])
    if "recalled" in data and state.turn:
        said = f"{data['recalled']['question']} {data['recalled']['answer']}"
        if said not in state.turn.brief:
            state.turn.brief.append(said)
    if data["name"] == LOOK_UP and data["status"] == "ok":
        state.looked_up |= dict.fromkeys(looked_up(data["content"]))
    for item in [item for item in state.open.values() if item.call_id == data["callId"]]:
        _close(state, item.id)
    turn = state.turn
    if turn is None or (call := turn.calls.get(data["callId"])) is None:
        return
    call.finished = True
    call.applying.clear()
    if "verdict" in data and data["status"] == "ok":
        turn.evidence.judge(data["verdict"])
    elif "verdict" in data:
        turn.held_back = True
    if data["name"] == "run_command" and data["status"] == "denied":
        turn.evidence.refused = True
    if call.is_job:
        return  # how that goes is not known yet
    ran = _ran(turn, data)
    unknown = data["name"] == "run_command" and data["status"] == "interrupted" and call.started
    # What a check leaves behind that is no text is a cache.
    saw = turn.evidence.texts
    turn.evidence.change(*call.changes)
    if unknown or (call.touched and (ran is None or ran["kind"] == "other")):
        turn.evidence.change_unknown()
    if ran is not None:
        # A command is no check of what it changed itself, though its failure stands.
        saw = saw if ran.get("exitCode") == 0 else turn.evidence.texts
        if call.check is not None:
            ran["command"] = call.check
        seconds = seconds_between(call.started_at, event.ts)
        turn.evidence.ran(ran, seconds, saw, event.ts, demanded=call.check is not None)
    elif call.check is not None:
        turn.evidence.not_run(call.check, _why_not_run(call))


def _why_not_run(call: CallState) -> WhyNotRun:
    match call.status:
        case "denied":
            return "refused" if call.rejected is not None else "not_allowed"
        case "cancelled" | "skipped":
            return "ended"
        case _:
            return "failed"


def _phase(turn: TurnState, data: logged.TurnPhase) -> None:
    turn.phase = data["to"]
    if data["reason"] == REMINDER:
        turn.reminded, turn.answer = True, turn.response["text"] if turn.response else ""
    if data["reason"] == HELD_BY_HOOK:
        turn.held_by_hooks, turn.answer = turn.held_by_hooks + 1, ""


def _hooks_run(state: SessionState, data: logged.HookStarted) -> None:
    if state.turn:
        state.turn.hook_runs += len(data["calls"])
        for one in data["calls"]:
            arguments = {"command": one["command"]}
            limit = {"timeout": one["seconds"]} if "seconds" in one else {}
            call = ToolCall(one["id"], "run_command", json.dumps({**arguments, **limit}))
            state.turn.calls[call.id] = CallState(call, fills=True)
            state.call_ids.add(call.id)


def _hooks_ended(state: SessionState, data: logged.HookFinished) -> None:
    if state.turn is None:
        return
    if (call := state.turn.calls.get(data.get("callId", ""))) is not None and data["on"] == "beforeTool":
        call.hooked, call.asks = True, data.get("asks", "")
        if "arguments" in data:
            call.call = replace(call.call, arguments=data["arguments"])
    if data["on"] == "turnStart":
        state.turn.refused = data.get("refused", "")
    if "told" in data:
        state.news.append(Message("user", data["told"]))


def _verifying(state: SessionState, data: logged.VerifyStarted) -> None:
    if state.turn:
        state.turn.attempts, state.turn.verifying = data["attempt"], True
        for one in data["calls"]:
            call = ToolCall(one["id"], "run_command", json.dumps({"command": one["command"]}))
            state.turn.calls[call.id] = CallState(call, check=one["command"])
            state.call_ids.add(call.id)
        state.turn.evidence.demand(one["command"] for one in data["calls"])


def _verified(state: SessionState, data: logged.VerifyFinished) -> None:
    if state.turn:
        state.turn.verifying = False
        state.turn.calls = {key: call for key, call in state.turn.calls.items() if call.check is None}
    if "told" in data:
        state.since.append(Message("user", data["told"]))


def _ran(turn: TurnState, data: logged.ToolFinished) -> logged.Ran | None:
    """What ran, as evidence."""
    if turn.checks is not None or data["name"] != "run_command" or data["status"] not in {"ok", "error"}:
        return data.get("ran")
    if not turn.evidence.changed:
        return None
    # In old logs any command after a change was a check of it.
    return {"kind": "test", "command": "", "exitCode": 0 if data["status"] == "ok" else 1}


def _proposed(state: SessionState, event: Logged[logged.EditProposed]) -> None:
    data = event.data
    if state.turn and (call := state.turn.calls.get(data.get("callId", ""))):
        if event.seq != call.proposed_at + 1:
            call.proposed = []
        call.proposed.append(data)
        call.proposed_at = event.seq


def _applying(state: SessionState, data: logged.EditApplying) -> None:
    if "callId" not in data:
        state.undoing[data["changeId"]] = data
    elif state.turn and (call := state.turn.calls.get(data.get("callId", ""))):
        call.applying[data["changeId"]] = data


def _settled(state: SessionState, data: logged.EditEvent) -> CallState | None:
    """Take note that it is known how a change went; gives its call, if that is of the latest answer."""
    state.undoing.pop(data["changeId"], None)
    call = state.turn.calls.get(data.get("callId", "")) if state.turn else None
    if call is not None:
        call.applying.pop(data["changeId"], None)
    return call


def _rejected(state: SessionState, data: logged.EditRejected) -> None:
    call = _settled(state, data)
    if call is not None and not call.started:
        call.proposed = [one for one in call.proposed if one["changeId"] != data["changeId"]]


def _in_place(state: SessionState, event: Logged[logged.EditApplied | logged.EditMerged]) -> None:
    data = event.data
    call = _settled(state, data)
    if call is not None and call.in_place.pop(data.get("undoes", ""), None) is None:
        call.in_place[data["changeId"]] = data
    if event.turn_id is None:
        _undone(state, data)
    elif state.turn and event.turn_id == state.current:
        _edited(state.turn.evidence, data)


def _edited(
    evidence: Evidence, data: logged.EditApplied | logged.EditMerged, *, by_others: bool = False
) -> None:
    before, after = data.get("before"), data.get("after")
    if "to" in data:
        moved = FileChange(data["path"], before, None), FileChange(data["to"], None, after)
        evidence.change(*moved, by_others=by_others)
    elif before is None and after is None:  # in old logs
        evidence.change_unknown(by_others=by_others)
    else:
        evidence.change(FileChange(data["path"], before, after), by_others=by_others)


def _undone(state: SessionState, data: logged.EditApplied | logged.EditMerged) -> None:
    """A change is undone or redone: what was checked since that change saw another text, also where its turn is over."""
    record = state.journal.record(data["changeId"])
    first = state.journal.root_of(record).turn_id if record is not None else None
    turns = list(state.turns.values())
    start = next((number for number, one in enumerate(turns) if one.turn_id == first), 0)
    for turn in turns[start:]:
        if not turn.started or turn.checks is None:
            continue
        _edited(turn.evidence, data, by_others=True)
        if turn.done is not None:
            turn.done = cast("logged.Done", turn.shown(turn.done["openItems"]).to_wire())


def _approval(state: SessionState, event: Logged[logged.ApprovalRequested]) -> None:
    data = event.data
    state.open[data["id"]] = Open(
        id=data["id"],
        kind="approval",
        turn_id=event.turn_id or "",
        call_id=data["callId"],
        title=data["title"],
        summary=data.get("summary"),
        detail=data["detail"],
        options=data["options"],
        always=[RulePattern.from_wire(one) for one in data["always"]] if "always" in data else None,
        group=data.get("group"),
    )
    state.digests[data["id"]] = data["digest"]
    if state.turn:
        state.turn.held_back = False
    if state.turn and (call := state.turn.calls.get(data["callId"])):
        call.asked_for = data.get("changeIds", [])
        if not data.get("reviewed"):
            call.reviews = []  # they did not fit any more
    if grant := data.get("grant"):
        state._grant_keys[data["id"]] = grant  # pyright: ignore[reportPrivateUsage] -- the folds are the class's own


def _approved(state: SessionState, data: logged.ApprovalResolved) -> None:
    key = state._grant_keys.get(data["id"])  # pyright: ignore[reportPrivateUsage] -- as above
    # A yes to the first command without a sandbox is one to those that come after it.
    holds_on = data["decision"] == "allow_session" or (
        key == UNSANDBOXED and data["decision"] == "allow_once"
    )
    if key is not None and holds_on:
        state.grants[key] = data["id"]
    digest = state.digests.get(data["id"])
    # What is said of files that a command changed is no yes or no to the command.
    about_files = data["decision"] in {"put_back", "keep"}
    if (
        digest is not None
        and not about_files
        and state.turn
        and (call := state.turn.calls.get(data["callId"]))
    ):
        review = _review(call, data)
        if data["decision"] != "reject":
            # “choose” is of version 0.1: what was chosen in the editor then is in the edits that follow.
            call.approved = None if data["decision"] == "choose" else data.get("digest", digest)
            if "note" in data and review is None:
                call.notes.append(data["note"])
            if review is not None:
                call.reviews.append(review)
                call.proposed = [one for one in call.proposed if review.keeps(one["changeId"])]
        elif data["by"] == "person":
            call.rejected = (digest, data.get("note"), review)
    _close(state, data["id"])


def _review(call: CallState, data: logged.ApprovalResolved) -> Review | None:
    if "review" not in data:
        return None
    decided = [ReviewedHunk.from_wire(one) for one in data["review"]]
    review = Review.read(call.proposed, decided, data.get("note"))
    return review if isinstance(review, Review) else None


def _question(state: SessionState, event: Logged[logged.QuestionAsked]) -> None:
    data = event.data
    state.open[data["id"]] = Open(
        id=data["id"],
        kind="question",
        turn_id=event.turn_id or "",
        call_id=data.get("callId"),
        title=data["question"],
        detail=data.get("detail", ""),
        options=data["options"],
        allow_free_form=data["allowFreeForm"],
        fields=[InputField.from_wire(one) for one in data["fields"]] if "fields" in data else None,
        url=data.get("url"),
    )
    if state.turn and _is_of_model(state.turn, data.get("callId", "")):
        state.turn.asked_at.append(state.turn.steps)


def _call_of(state: SessionState, call_id: str) -> CallState | None:
    """The call of that id, if it is of the latest answer."""
    return state.turn.calls.get(call_id) if state.turn else None


def _is_of_model(turn: TurnState, call_id: str) -> bool:
    """Whether a question is the model's own, and not one that a tool has on its way."""
    call = turn.calls.get(call_id)
    return call is not None and call.call.name == "ask_user"


def _answered(state: SessionState, data: logged.QuestionAnswered) -> None:
    item = state.open.get(data["id"])
    if item is not None and state.turn and (call := state.turn.calls.get(data.get("callId", ""))):
        call.answered = (item.title, data["answer"])
        call.inputs[item.title] = data["answer"]
        if _is_of_model(state.turn, call.call.id):
            state.answers[same_words(item.title)] = data["answer"]
            state.turn.brief.append(f"{item.title} {data['answer']}")
    _close(state, data["id"])


def _tool_asked(state: SessionState, event: Logged[logged.ToolAsked]) -> None:
    data = event.data
    call = state.turn.calls.get(data["callId"]) if state.turn else None
    if call is not None:
        call.handed = True
    given = call.call.arguments if call is not None else ""
    state.open[data["id"]] = Open(
        id=data["id"],
        kind="tool",
        turn_id=event.turn_id or "",
        call_id=data["callId"],
        title=f"Tool {data['name']}",
        detail=given if len(given) <= DETAIL_CHARACTERS else f"{given[: DETAIL_CHARACTERS - 1]}…",
        allow_free_form=True,
    )


def _tool_answered(state: SessionState, data: logged.ToolAnswered) -> None:
    if state.turn and (call := state.turn.calls.get(data["callId"])):
        call.returned = ToolAnswer(data["content"], data["status"] == "error")
    _close(state, data["id"])


def _close(state: SessionState, item_id: str) -> None:
    state.open.pop(item_id, None)
    state.resolved.add(item_id)
    state.digests.pop(item_id, None)
    state._grant_keys.pop(item_id, None)  # pyright: ignore[reportPrivateUsage] -- as above


def _steering(state: SessionState, data: logged.SteeringReceived) -> None:
    if data["state"] == "queued":
        state.steering[data["pendingId"]] = data["text"]
    else:
        state.steering.pop(data["pendingId"], None)


def _changed(state: SessionState, data: logged.WorkspaceChanged | logged.WorkspaceTouched) -> None:
    if "told" in data:
        state.news.append(Message("user", data["told"]))
    turn = state.turn
    if turn is None:
        return
    paths = [data["path"]] if "path" in data else [one["path"] for one in data["files"]]
    if "callId" not in data:
        if turn.checks is not None:
            _changed_by_others(turn.evidence, data)
        return
    if (call := turn.calls.get(data["callId"])) is None or (paths and not any(map(counts, paths))):
        turn.evidence.paths.update(paths)
    elif "changeId" in data:
        call.changes.append(FileChange(data["path"], data.get("before"), data.get("after")))
    else:
        turn.evidence.paths.update(paths)
        call.touched = call.touched or not turn.evidence.changed


def _changed_by_others(evidence: Evidence, data: logged.WorkspaceChanged | logged.WorkspaceTouched) -> None:
    if "path" in data and "after" in data:
        evidence.change(FileChange(data["path"], data.get("before"), data["after"]), by_others=True)
    elif "files" in data or counts(data["path"]):  # whether it is gone, or no text any more, is not told
        evidence.change_unknown(by_others=True)


def _judged(state: SessionState, data: logged.VerdictFound) -> None:
    if "told" in data:
        state.news.append(Message("user", data["told"]))
    if state.turn:
        state.turn.evidence.judge(data["verdict"])


def _job_started(state: SessionState, event: Logged[logged.JobStarted]) -> None:
    data = event.data
    state.jobs[data["jobId"]] = JobState(data["jobId"], event.turn_id or "", data["command"])
    if state.turn and (call := state.turn.calls.get(data.get("callId", ""))):
        call.is_job = True


def _job_finished(state: SessionState, data: logged.JobFinished) -> None:
    state.jobs.pop(data["jobId"], None)
    if "told" in data:
        state.news.append(Message("user", data["told"]))
