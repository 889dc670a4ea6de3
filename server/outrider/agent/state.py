"""The state of a session: a fold over its events, live, at a resume and at a replay alike.

Reads plain event data, so that folding a long log costs no validation.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from outrider.agent.account import Account
from outrider.agent.context_window.memory import Memory
from outrider.agent.turn_state import CallState, JobState, TurnState
from outrider.models.routing.latency import Pace
from outrider.ports.editor import ToolAnswer
from outrider.ports.events import LoggedEvent
from outrider.ports.model import Latency, Message, Part, ProviderData, ToolCall, images_of
from outrider.workspace.history.journal import Journal
from outrider.workspace.review import Review
from outrider.workspace.seen import Seen
from outrider_protocol.events import (
    Context,
    Open,
    PlanItem,
    ReviewedHunk,
    RulePattern,
)
from outrider_protocol.settings import PermissionMode

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
    requested: list[str] = field(default_factory=list[str])
    """Content hashes of the messages of the latest main request."""
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
    undoing: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """The data of each `edit.applying` outside a turn, by change, while it is not known how that went."""
    jobs: dict[str, JobState] = field(default_factory=dict[str, JobState])
    """Background jobs that run, as far as the log knows."""
    secrets: dict[str, str] = field(default_factory=dict[str, str])
    """The numbers of the secrets that were replaced so far, by their keyed hashes."""
    journal: Journal = field(default_factory=Journal)
    seen: Seen = field(default_factory=Seen)
    memory: Memory = field(default_factory=Memory)
    _grant_keys: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def turn(self) -> TurnState | None:
        """The turn that is running or parked."""
        return self.turns[self.current] if self.current is not None else None

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
        if handler := _FOLDS.get(event.type):
            handler(self, event, event.data)


def _session(state: SessionState, _event: LoggedEvent, data: dict[str, Any]) -> None:
    state.folders = data["folders"]
    state.permission_mode = data["permissionMode"]


def _restored(state: SessionState, event: LoggedEvent, data: dict[str, Any]) -> None:
    _session(state, event, data)
    if state.awaiting:  # the answer was lost with the process, so the request is made again
        for model in state.asked.values():
            state.cursors[model] = state.cursors.get(model, 1) - 1
        state.cursor, state.awaiting = state.cursor - 1, False
    if state.turn and not data.get(
        "rests"
    ):  # it goes on, and parks again if its open items stay without an answer
        state.turn.phase, state.turn.parked = "prepare", False


def _titled(state: SessionState, _event: LoggedEvent, data: dict[str, Any]) -> None:
    state.titled = True
    _spend(state, lambda account: account.with_request(data.get("usage")))


def _turn_of(event: LoggedEvent, data: dict[str, Any]) -> TurnState:
    context = data.get("context")
    return TurnState(
        turn_id=event.turn_id or "",
        prompt=data["prompt"],
        mode=data["mode"],
        model=data["model"],
        context=Context.model_validate(context) if context is not None else None,
        limits=data.get("limits"),
    )


def _queued(state: SessionState, event: LoggedEvent, data: dict[str, Any]) -> None:
    turn = _turn_of(event, data)
    state.turns[turn.turn_id] = turn


def _started(state: SessionState, event: LoggedEvent, data: dict[str, Any]) -> None:
    turn = _turn_of(event, data)
    turn.started, turn.started_at = True, event.ts
    state.turns.pop(turn.turn_id, None)
    state.turns[turn.turn_id] = turn
    state.current = turn.turn_id


def _phase(state: SessionState, _event: LoggedEvent, data: dict[str, Any]) -> None:
    if state.turn:
        state.turn.phase = data["to"]


def _parked(state: SessionState, _event: LoggedEvent, _data: dict[str, Any]) -> None:
    if state.turn:
        state.turn.parked = True


def _resumed(state: SessionState, _event: LoggedEvent, _data: dict[str, Any]) -> None:
    if state.turn:
        state.turn.parked = False


def _finished(state: SessionState, event: LoggedEvent, data: dict[str, Any]) -> None:
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
    turn.calls.clear()
    for item in [item for item in state.open.values() if item.turn_id == turn.turn_id]:
        _close(state, item.id)
    if state.current == turn.turn_id:
        state.current = None
        state.steering.clear()  # it was said to this turn


def _requested(state: SessionState, _event: LoggedEvent, data: dict[str, Any]) -> None:
    state.asked = {data["messageId"]: data["model"]}
    if data["purpose"] == "main":
        state.cursors[data["model"]] = state.cursors.get(data["model"], 0) + 1
        state.requested, state.since, state.news = data["messages"], [], []
        state.cursor, state.awaiting = state.cursor + 1, True
        if state.turn:
            state.turn.asked, state.turn.response = True, None
    for pending in data.get("steering", ()):
        state.steering.pop(pending, None)


def _rewritten(state: SessionState, _event: LoggedEvent, data: dict[str, Any]) -> None:
    """The conversation is other than it was. What came up to here is in it, the task of the turn too."""
    if "messages" in data:
        state.requested, state.since, state.news = data["messages"], [], []
        if state.turn:
            state.turn.asked, state.turn.response = True, None


def _told(state: SessionState, _event: LoggedEvent, data: dict[str, Any]) -> None:
    state.news.append(Message("user", data["told"]))


def _mapped(state: SessionState, _event: LoggedEvent, data: dict[str, Any]) -> None:
    state.news.append(Message.of_parts("user", [Part("map", data["told"])]))


def _spend(state: SessionState, change: Callable[[Account], Account]) -> None:
    state.account = change(state.account)
    if state.turn:
        state.turn.account = change(state.turn.account)


def _failed(state: SessionState, _event: LoggedEvent, data: dict[str, Any]) -> None:
    _spend(state, lambda account: account.with_request(data.get("usage")))
    if data["messageId"] in state.asked and "to" in data:
        state.asked[data["messageId"]] = data["to"]


def _switched(state: SessionState, _event: LoggedEvent, data: dict[str, Any]) -> None:
    state.tool_formats[data["model"]] = data["toolFormat"]


def _responded(state: SessionState, _event: LoggedEvent, data: dict[str, Any]) -> None:
    used: dict[str, Any] | None = data.get("usage")
    if used is None and data["finishReason"] == "cancelled" and (data["text"] or data.get("reasoning")):
        used = {}  # that costs something, and nobody can tell how much
    _spend(state, lambda account: account.with_request(used))
    model = state.asked.pop(data["messageId"], "")
    if latency := data.get("latency"):
        measured = Latency(latency["firstTokenMs"], latency.get("tokensPerSecond"))
        state.paces[model] = state.paces.get(model, Pace()).after(measured)
    if data.get("purpose", "main") != "main":
        return
    calls = tuple(ToolCall(call["id"], call["name"], call["arguments"]) for call in data["toolCalls"])
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


def _tool_requested(state: SessionState, _event: LoggedEvent, data: dict[str, Any]) -> None:
    if state.turn and (call := state.turn.calls.get(data["callId"])):
        call.requested = True


def _tool_started(state: SessionState, _event: LoggedEvent, data: dict[str, Any]) -> None:
    if state.turn and (call := state.turn.calls.get(data["callId"])):
        call.started = True


def _tool_finished(state: SessionState, _event: LoggedEvent, data: dict[str, Any]) -> None:
    images = tuple(images_of(data.get("images", ())))
    state.since.append(Message("tool", data["content"], tool_call_id=data["callId"], images=images))
    for item in [item for item in state.open.values() if item.call_id == data["callId"]]:
        _close(state, item.id)
    turn = state.turn
    if turn is None or (call := turn.calls.get(data["callId"])) is None:
        return
    call.finished = True
    call.applying.clear()
    if call.is_job:
        return  # how that goes is not known yet
    if data["name"] == "run_command" and data["status"] in {"ok", "error"} and turn.evidence != "no_changes":
        turn.evidence = "checked" if data["status"] == "ok" else "check_failed"
    elif data["name"] == "run_command" and data["status"] == "interrupted" and call.started:
        turn.evidence = "unverified"  # what it changed is not known
    if call.changed and turn.evidence != "check_failed":
        turn.evidence = "unverified"  # a command is no check of what it changed itself


def _proposed(state: SessionState, event: LoggedEvent, data: dict[str, Any]) -> None:
    if state.turn and (call := state.turn.calls.get(data.get("callId", ""))):
        if event.seq != call.proposed_at + 1:
            call.proposed = []
        call.proposed.append(data)
        call.proposed_at = event.seq


def _applying(state: SessionState, _event: LoggedEvent, data: dict[str, Any]) -> None:
    if "callId" not in data:
        state.undoing[data["changeId"]] = data
    elif state.turn and (call := state.turn.calls.get(data.get("callId", ""))):
        call.applying[data["changeId"]] = data


def _settled_edit(state: SessionState, event: LoggedEvent, data: dict[str, Any]) -> None:
    state.undoing.pop(data["changeId"], None)
    if state.turn is None:
        return
    if call := state.turn.calls.get(data.get("callId", "")):
        call.applying.pop(data["changeId"], None)
        if event.type == "edit.rejected" and not call.started:
            call.proposed = [one for one in call.proposed if one["changeId"] != data["changeId"]]
        if event.type != "edit.rejected" and call.in_place.pop(data.get("undoes", ""), None) is None:
            call.in_place[data["changeId"]] = data
    if event.type != "edit.rejected" and event.turn_id == state.current:
        state.turn.evidence = "unverified"


def _approval(state: SessionState, event: LoggedEvent, data: dict[str, Any]) -> None:
    state.open[data["id"]] = Open(
        id=data["id"],
        kind="approval",
        turn_id=event.turn_id or "",
        call_id=data["callId"],
        title=data["title"],
        detail=data["detail"],
        options=data["options"],
        always=[RulePattern.from_wire(one) for one in data["always"]] if "always" in data else None,
    )
    state.digests[data["id"]] = data["digest"]
    if state.turn and (call := state.turn.calls.get(data["callId"])):
        call.asked_for = data.get("changeIds", [])
        if not data.get("reviewed"):
            call.reviews = []  # they did not fit any more
    if grant := data.get("grant"):
        state._grant_keys[data["id"]] = grant  # pyright: ignore[reportPrivateUsage] -- the folds are the class's own


def _approved(state: SessionState, _event: LoggedEvent, data: dict[str, Any]) -> None:
    key = state._grant_keys.get(data["id"])  # pyright: ignore[reportPrivateUsage] -- as above
    if data["decision"] == "allow_session" and key is not None:
        state.grants[key] = data["id"]
    digest = state.digests.get(data["id"])
    if digest is not None and state.turn and (call := state.turn.calls.get(data["callId"])):
        review = _review(call, data)
        call.choosing = data["decision"] == "choose"
        if data["decision"] != "reject":
            call.approved = None if call.choosing else data.get("digest", digest)
            if "note" in data and review is None:
                call.notes.append(data["note"])
            if review is not None:
                call.reviews.append(review)
                call.proposed = [one for one in call.proposed if review.keeps(one["changeId"])]
        elif data["by"] == "person":
            call.rejected = (digest, data.get("note"), review)
    _close(state, data["id"])


def _review(call: CallState, data: dict[str, Any]) -> Review | None:
    if "review" not in data:
        return None
    decided = [ReviewedHunk.from_wire(one) for one in data["review"]]
    review = Review.read(call.proposed, decided, data.get("note"))
    return review if isinstance(review, Review) else None


def _question(state: SessionState, event: LoggedEvent, data: dict[str, Any]) -> None:
    state.open[data["id"]] = Open(
        id=data["id"],
        kind="question",
        turn_id=event.turn_id or "",
        call_id=data.get("callId"),
        title=data["question"],
        options=data.get("options", []),
        allow_free_form=data["allowFreeForm"],
    )


def _answered(state: SessionState, _event: LoggedEvent, data: dict[str, Any]) -> None:
    item = state.open.get(data["id"])
    if item is not None and state.turn and (call := state.turn.calls.get(data.get("callId", ""))):
        call.answered = (item.title, data["answer"])
    _close(state, data["id"])


def _tool_asked(state: SessionState, event: LoggedEvent, data: dict[str, Any]) -> None:
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


def _tool_answered(state: SessionState, _event: LoggedEvent, data: dict[str, Any]) -> None:
    if state.turn and (call := state.turn.calls.get(data["callId"])):
        call.returned = ToolAnswer(data["content"], data["status"] == "error")
    _close(state, data["id"])


def _close(state: SessionState, item_id: str) -> None:
    state.open.pop(item_id, None)
    state.resolved.add(item_id)
    state.digests.pop(item_id, None)
    state._grant_keys.pop(item_id, None)  # pyright: ignore[reportPrivateUsage] -- as above


def _plan(state: SessionState, _event: LoggedEvent, data: dict[str, Any]) -> None:
    state.plan = [PlanItem.model_validate(item) for item in data["items"]]


def _steering(state: SessionState, _event: LoggedEvent, data: dict[str, Any]) -> None:
    if data["state"] == "queued":
        state.steering[data["pendingId"]] = data["text"]
    else:
        state.steering.pop(data["pendingId"], None)


def _changed(state: SessionState, _event: LoggedEvent, data: dict[str, Any]) -> None:
    if "told" in data:
        state.news.append(Message("user", data["told"]))
    call = state.turn and state.turn.calls.get(data.get("callId", ""))
    if state.turn and call and ("changeId" in data or state.turn.evidence == "no_changes"):
        call.changed = True


def _job_started(state: SessionState, event: LoggedEvent, data: dict[str, Any]) -> None:
    state.jobs[data["jobId"]] = JobState(data["jobId"], event.turn_id or "", data["command"])
    if state.turn and (call := state.turn.calls.get(data["callId"])):
        call.is_job = True


def _job_finished(state: SessionState, _event: LoggedEvent, data: dict[str, Any]) -> None:
    state.jobs.pop(data["jobId"], None)
    if "told" in data:
        state.news.append(Message("user", data["told"]))


_FOLDS = {
    "session.started": _session,
    "session.restored": _restored,
    "session.titled": _titled,
    "turn.queued": _queued,
    "turn.started": _started,
    "turn.phase": _phase,
    "turn.parked": _parked,
    "turn.resumed": _resumed,
    "turn.finished": _finished,
    "model.requested": _requested,
    "model.responded": _responded,
    "model.failed": _failed,
    "model.retried": _failed,
    "model.fellBack": _failed,
    "model.switched": _switched,
    "tool.requested": _tool_requested,
    "tool.started": _tool_started,
    "tool.finished": _tool_finished,
    "edit.proposed": _proposed,
    "edit.applying": _applying,
    "edit.applied": _settled_edit,
    "edit.merged": _settled_edit,
    "edit.rejected": _settled_edit,
    "approval.requested": _approval,
    "approval.resolved": _approved,
    "question.asked": _question,
    "question.answered": _answered,
    "tool.asked": _tool_asked,
    "tool.answered": _tool_answered,
    "plan.updated": _plan,
    "steering.received": _steering,
    "workspace.changed": _changed,
    "workspace.touched": _changed,
    "workspace.renamed": _told,
    "instructions.found": _told,
    "map.drawn": _mapped,
    "context.compacted": _rewritten,
    "context.pruned": _rewritten,
    "context.trimmed": _rewritten,
    "job.started": _job_started,
    "job.finished": _job_finished,
}
