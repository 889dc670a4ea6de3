"""Cutting a conversation: what stays, what stands for the rest, and what is given up last."""

from hypothesis import given
from hypothesis import strategies as some

from outrider.agent.context.compaction import SUMMARY_HEAD, cut, own_summary, stand_in, state_of
from outrider.agent.context.fitting import trimmed
from outrider.agent.context.pruning import pruned, to_prune
from outrider.agent.state.memory import Memory
from outrider.models.dialects.http_model import completed
from outrider.ports.events import from_old_log
from outrider.ports.model import Message, Part, ToolCall
from outrider_protocol.events import PlanItem


def conversation(shape):
    """A conversation: for each step how many calls, how long their results, and whether the user says something."""
    messages = [Message("system", "You are."), Message("user", "Task")]
    for number, (calls, length, says) in enumerate(shape):
        asked = tuple(ToolCall(f"c{number}_{one}", "read_file", '{"path": "a"}') for one in range(calls))
        messages.append(Message("assistant", f"Step {number}", asked))
        messages += [Message("tool", "x" * length, tool_call_id=call.id) for call in asked]
        if says:
            messages.append(Message("user", f"The user says, while you work: {number}"))
    return messages


SHAPES = some.lists(some.tuples(some.integers(0, 3), some.integers(0, 3000), some.booleans()), max_size=12)


@given(SHAPES, some.integers(-5000, 20_000))
def test_no_cut_comes_between_a_call_and_its_result(shape, room):
    messages = conversation(shape)
    found = cut(messages, "Task", room)
    if found is None:
        return
    assert list(found.kept) == messages[:2]
    assert [*found.kept, *found.dropped, *found.recent] == messages
    after = [*found.kept, stand_in("Notes.", {}), *found.recent]
    assert list(completed(after)) == after
    assert any(one.role == "assistant" for one in found.dropped)
    assert found.recent[0].role == "assistant"


@given(SHAPES)
def test_the_last_step_goes_where_nothing_else_helps_but_not_what_was_said_after_it(shape):
    messages = conversation(shape)
    found = cut(messages, "Task", 20_000, keep_last=False)
    if not shape:
        assert found is None
        return
    assert [*found.kept, *found.dropped, *found.recent] == messages
    assert list(found.kept) == messages[:2]
    assert [one.role for one in found.recent] == ["user"] * shape[-1][2]


@given(SHAPES, some.integers(0, 20_000), some.integers(0, 20_000))
def test_pruning_leaves_every_result_and_the_latest_ones(shape, wanted, protected):
    messages = conversation(shape)
    left_out = to_prune(messages, [], wanted, protected)
    after = pruned(messages, left_out)
    assert list(completed(after)) == after
    assert [one.role for one in after] == [one.role for one in messages]
    starts = [index for index, one in enumerate(messages) if one.role == "assistant"]
    for start in starts:
        if start == starts[-1] or sum(one.weight for one in messages[start:]) <= protected:
            assert after[start:] == messages[start:]


def test_the_task_of_the_turn_stays_beside_the_first_one():
    messages = [*conversation([(1, 10, False)]), Message("assistant", "Done."), Message("user", "Next task")]
    messages += conversation([(1, 10, False), (1, 10, False)])[2:]
    found = cut(messages, "Next task", 0)
    assert [one.text for one in found.kept] == ["You are.", "Task", "Next task"]
    assert [one.text for one in found.dropped if one.role == "assistant"] == ["Step 0", "Done.", "Step 0"]


def test_a_summary_without_a_model_is_the_same_each_time_and_carries_the_one_before():
    first = own_summary(conversation([(1, 10, True), (2, 10, False)])[2:], 1000)
    assert first == own_summary(conversation([(1, 10, True), (2, 10, False)])[2:], 1000)
    second = own_summary([stand_in(first, {"Plan": "- [done] x"}), Message("assistant", "More")], 1000)
    assert second == f"{first}\n- Assistant: More"
    assert len(own_summary(conversation([(3, 500, False)] * 50)[2:], 400)) <= 410


def event(seq, kind, data):
    return from_old_log(seq, "2026-01-01T00:00:00.000Z", "ses_1", "turn_1", kind, data)


def test_what_the_session_knows_is_told_from_its_events():
    memory = Memory()
    edit = {"callId": "c2", "path": "b.py", "operation": "edit", "hunks": []}
    asked = {"purpose": "main", "model": "m", "messages": ["h"], "steering": ["p1"]}
    for seq, (kind, data) in enumerate(
        [
            ("tool.finished", {"callId": "c1", "name": "read_file", "read": [{"path": "a.py", "hash": "h"}]}),
            ("edit.applied", {**edit, "changeId": "chg"}),
            ("approval.requested", {"id": "o1", "callId": "c2", "title": "Edit b.py"}),
            ("approval.resolved", {"id": "o1", "callId": "c2", "decision": "reject", "by": "person", "note": "no"}),
            ("steering.received", {"pendingId": "p1", "text": "Be quick", "state": "queued"}),
            ("steering.received", {"pendingId": "p2", "text": "Not this", "state": "queued"}),
            ("steering.received", {"pendingId": "p2", "text": "Not this", "state": "removed"}),
            ("model.requested", asked),
            ("instructions.found", {"path": "src/AGENTS.md", "told": "Rule of src"}),
        ]
    ):  # fmt: skip
        memory.apply(event(seq + 1, kind, data))
    told = state_of(memory, [PlanItem(text="First")], [], "turn_1")
    assert told == {
        "Plan": "- [pending] First",
        "Files that were read or changed, the latest last": "- a.py: read\n- b.py: changed",
        "What the user decided": "- Edit b.py: reject (no)",
        "What the user said during this task": "- Be quick",
        "Instructions of folders": "Rule of src",
    }
    assert stand_in("Notes.", told).text.startswith(f"{SUMMARY_HEAD}\n\n# Summary\nNotes.\n\n# Plan\n")


def test_instructions_that_have_no_room_are_named_and_none_is_told_in_half():
    memory = Memory()
    for number, letter in enumerate("abc"):
        found = {"path": f"{letter}/AGENTS.md", "told": letter * 5_000}
        memory.apply(event(number + 1, "instructions.found", found))
    told = state_of(memory, [], [], "turn_1")["Instructions of folders"]
    assert told == (
        "[Left out to save room; read them again before you go on with what they are for: a/AGENTS.md]\n"
        f"{'b' * 5_000}\n{'c' * 5_000}"
    )


def test_the_ladder_gives_up_what_is_needed_least_and_never_the_task():
    system = Message.of_parts(
        "system",
        [Part("identity", "You are.\n\n"), Part("instructions", "r" * 9_000 + "\n\n", "AGENTS.md"), Part("environment", "e" * 900)],
    )  # fmt: skip
    task = Message.of_parts("user", [Part("prompt", "p" * 900 + "\n\n"), Part("open", "o" * 900)])
    little = trimmed([system, task], 500)
    assert little.parts == [("open", None, 0)]
    assert little.messages[0] is system
    assert little.messages[1].text.startswith("p" * 900)
    everything = trimmed([system, task], 100_000)
    assert everything.parts == [("open", None, 0), ("instructions", "AGENTS.md", 0)]
    assert "e" * 900 in everything.messages[0].text
    assert "r" not in everything.messages[0].text.replace("instructions", "").replace("room", "").replace(
        "You are", ""
    )
    assert trimmed(everything.messages, 100_000) is None


def test_a_message_of_parts_comes_back_from_its_stored_form():
    message = Message.of_parts("user", [Part("prompt", "Tä\n\n"), Part("selection", "x", "a.py")])
    assert Message.decode(message.encoded) == message
