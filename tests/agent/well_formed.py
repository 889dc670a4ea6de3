"""What every session's log looks like, whatever happened in it."""

from collections import defaultdict

from outrider.agent.loop.turn import TRANSITIONS
from outrider_protocol import PUT_BACK, RUN_OUTSIDE
from outrider_protocol.events import EVENT_TYPES


def assert_well_formed(events, *, ended=True):
    """Check the events of any number of sessions.

    Args:
        events: As they stand on the wire, in order.
        ended: Whether every turn must be at its end, or parked where its session was closed.
    """
    sessions = defaultdict(list)
    for event in events:
        sessions[event["sessionId"]].append(event)
    for of_session in sessions.values():
        log = _Log()
        for event in of_session:
            log.take(event)
        log.end(ended)


class _Log:
    def __init__(self):
        self.seq = None
        self.turn = None
        self.phase = None
        self.parked = False
        self.queued, self.finished = set(), set()
        self.requested, self.started, self.results = set(), set(), set()
        self.responded = set()
        self.items, self.resolved = {}, set()
        self.handed = set()
        self.changes = {}
        self.steering, self.closed = {}, False
        self.copied = False

    def take(self, event):
        kind, data = event["type"], event["data"]
        if self.seq is not None:
            assert event["seq"] == self.seq + 1, f"seq {event['seq']} after {self.seq}"
        self.seq = event["seq"]
        EVENT_TYPES[kind].from_wire(data)
        assert not self.closed or kind in {"session.restored", "workspace.renamed"}, (
            f"{kind} after session.closed"
        )
        handler = getattr(self, "on_" + kind.replace(".", "_"), None)
        if handler:
            handler(event.get("turnId"), data)

    def end(self, ended):
        if ended and self.turn is not None:
            assert self.parked, f"{self.turn} has no turn.finished"
            assert self.closed, f"{self.turn} is parked in a session that is open"
        if ended:
            assert not self.changes, f"edit.applying without an end: {self.changes}"

    # sessions

    def on_session_forked(self, _turn, _data):
        self.copied = True  # what came before was told of the other session

    on_session_imported = on_session_forked

    def on_session_closed(self, _turn, _data):
        self.closed = True

    def on_session_restored(self, _turn, data):
        self.closed = False
        if data.get("rests"):
            assert "turnId" not in data, "a turn that rests does not go on"
            return
        self.parked = False
        if self.turn is None:
            self.turn = data.get("turnId")
        assert self.turn == data.get("turnId")
        self.phase = "prepare" if self.turn else None

    # turns

    def on_turn_queued(self, turn, _data):
        self.queued.add(turn)

    def on_turn_started(self, turn, data):
        assert self.turn is None, f"{turn} began while {self.turn} was running"
        assert turn not in self.finished
        self.queued.discard(turn)
        self.turn, self.phase, self.parked = turn, "start", False
        outputs = data.get("invoked", {}).get("outputs", ())
        self.responded |= {f"{turn}_output_{number + 1}" for number in range(len(outputs))}

    def on_turn_phase(self, turn, data):
        assert turn == self.turn
        assert data["from"] == self.phase, f"from {data['from']}, which was {self.phase}"
        assert data["to"] in TRANSITIONS[data["from"]], data
        assert data["reason"]
        self.phase = data["to"]

    def on_turn_parked(self, turn, data):
        assert turn == self.turn
        assert not self.parked, "parked twice"
        assert data["open"], "parked for nothing"
        assert all(item["id"] in self.items for item in data["open"])
        self.parked = True

    def on_turn_resumed(self, turn, data):
        assert turn == self.turn
        assert self.parked, "resumed and was not parked"
        assert data["id"] in self.resolved
        self.parked = False

    def on_turn_finished(self, turn, data):
        assert turn not in self.finished, f"{turn} finished twice"
        self.finished.add(turn)
        if turn in self.queued:
            assert data["outcome"] in {"cancelled", "failed"}
            self.queued.discard(turn)
            return
        if self.copied and turn != self.turn:
            assert data["outcome"] == "cancelled"
            return
        assert turn == self.turn
        assert self.phase == "finish"
        missing = {call for call in self.responded if call not in self.results}
        assert not missing, f"calls without a result: {missing}"
        assert not self.changes, f"edit.applying without an end: {self.changes}"
        self.turn, self.parked = None, False
        self.items.clear()

    # calls

    def on_model_responded(self, _turn, data):
        for call in data["toolCalls"]:
            assert call["id"] not in self.responded, f"the call id {call['id']} is used twice"
            self.responded.add(call["id"])

    def on_hook_started(self, _turn, data):
        self.responded |= {call["id"] for call in data["calls"]}

    def on_verify_started(self, _turn, data):
        for call in data["calls"]:
            assert call["id"] not in self.responded, f"the call id {call['id']} is used twice"
            self.responded.add(call["id"])

    def on_tool_requested(self, _turn, data):
        assert data["callId"] in self.responded
        assert data["callId"] not in self.requested, f"{data['callId']} requested twice"
        self.requested.add(data["callId"])

    def on_tool_started(self, _turn, data):
        assert data["callId"] in self.requested
        assert data["callId"] not in self.results
        self.started.add(data["callId"])

    def on_tool_finished(self, _turn, data):
        known = self.copied or data["callId"] in self.requested
        assert known, f"{data['callId']} finished and was not requested"
        assert data["callId"] not in self.results, f"{data['callId']} finished twice"
        self.results.add(data["callId"])

    # open items

    def on_approval_requested(self, _turn, data):
        assert data["id"] not in self.items
        assert data["id"] not in self.resolved
        # A call that was handed to the client before a restart may need a yes under a mode that is narrower now.
        # One that failed in the sandbox has begun: it may be run once more, outside.
        leaves = RUN_OUTSIDE in data["options"]
        # What a command left is asked about after it.
        leaves = leaves or PUT_BACK in data["options"]
        # One that was to only read failed as it wrote: it may be run once more, where it can write.
        leaves = leaves or data["detail"].startswith("It failed in a read-only sandbox: ")
        has_begun = data["callId"] in self.started - self.handed
        assert leaves or not has_begun, "asked after it began"
        self.items[data["id"]] = data

    def on_approval_resolved(self, _turn, data):
        assert data["id"] not in self.resolved, f"{data['id']} resolved twice"
        self.resolved.add(data["id"])
        asked = self.items.pop(data["id"], None)
        assert asked or data["by"] in {"mode", "rule"}, f"{data['id']} was never asked"
        if asked and data["by"] == "person":
            titles = {
                "allow_once": RUN_OUTSIDE if RUN_OUTSIDE in asked["options"] else "Allow once",
                "allow_session": "Allow for this session",
                "allow_always": "Always allow…",
                "reject": "Reject",
                "put_back": "Put back",
                "keep": "Keep",
            }
            assert titles[data["decision"]] in asked["options"]

    def on_question_asked(self, _turn, data):
        assert data["id"] not in self.items
        self.items[data["id"]] = data

    def on_question_answered(self, _turn, data):
        assert data["id"] not in self.resolved
        asked = self.items.pop(data["id"])
        assert asked["allowFreeForm"] or data["answer"] in asked["options"]
        self.resolved.add(data["id"])

    def on_tool_asked(self, _turn, data):
        assert data["id"] not in self.items | dict.fromkeys(self.resolved)
        assert data["callId"] in self.started, "handed over before it began"
        assert data["callId"] not in self.handed, "handed over under two ids"
        self.handed.add(data["callId"])
        self.items[data["id"]] = data

    def on_tool_answered(self, _turn, data):
        assert data["id"] not in self.resolved, f"{data['id']} answered twice"
        assert self.items.pop(data["id"])["callId"] == data["callId"]
        self.resolved.add(data["id"])

    # edits

    def on_edit_applying(self, turn, data):
        if turn is not None:
            assert not self.changes, "two changes at once"
            assert data["callId"] in self.started
        # An undo of several files begins with all of them before it writes the first.
        under_way = {path for one in self.changes.values() for path in (one["path"], one.get("to"))}
        assert data["path"] not in under_way, "two changes of a file at once"
        self.changes[data["changeId"]] = data

    def _settled(self, _turn, data):
        del self.changes[data["changeId"]]

    on_edit_applied = on_edit_merged = _settled

    def on_edit_rejected(self, _turn, data):
        self.changes.pop(data["changeId"], None)

    # steering

    def on_steering_received(self, _turn, data):
        if data["state"] == "queued":
            assert self.steering.get(data["pendingId"]) != data["text"], "said twice"
            self.steering[data["pendingId"]] = data["text"]
        else:
            del self.steering[data["pendingId"]]

    def on_model_requested(self, _turn, data):
        for pending in data["steering"]:
            del self.steering[pending]
