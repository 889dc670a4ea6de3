"""A process may die anywhere in a session that is pruned and compacted; the next one comes to the same end."""

from crash_scenario import RANDOM_IDS, check_log, cut_log, whole_log

from outrider.ports.events import from_wire, messages_of
from outrider.testing.scenario import scripted, start_session
from outrider_protocol import RESUME, RUN, WAIT
from replayed import keep_sessions

WINDOW = 5_800
"""Tokens: hardly more than the system message and the tools."""


def script(workspace):
    turns = [
        {"tool_calls": [{"name": "read_file", "input": {"path": f"{name}.txt"}, "id": f"r_{name}"}]}
        for name in "abcd"
    ]
    notes = {"compaction": [{"text": "Notes."}] * 20}
    return scripted(workspace, [*turns, {"text": "Done."}], context_window=WINDOW, purposes=notes)


async def test_any_prefix_of_a_compacted_session_comes_to_its_end(workspace):
    for name in "abcd":
        (workspace / f"{name}.txt").write_text("".join(f"{name}{n} of the file\n" for n in range(90)))
    model = script(workspace)
    async with start_session("stock", workspace, model, RANDOM_IDS) as editor:
        started = await editor.command(RUN, {"prompt": "Read it all"})
        await editor.command(WAIT, {"turnId": started["turnId"]})
        events = await whole_log(editor, started["sessionId"])
    kinds = [event["type"] for event in events]
    assert {"context.pruned", "context.compacted"} & set(kinds)
    state = workspace.parent / f"{workspace.name}.state"
    first = min(index for index, kind in enumerate(kinds) if kind.startswith("context."))
    for last in range(first - 3, kinds.index("turn.finished")):
        target = workspace.parent / f"cut{last}"
        cut_log(state, target, last)
        async with start_session(
            "stock", workspace, model, {**RANDOM_IDS, "stateDir": str(target)}
        ) as editor:
            await editor.command(RESUME, {"sessionId": started["sessionId"]})
            result = await editor.command(WAIT, {"turnId": started["turnId"]})
            assert (result["outcome"], result["summary"]) == ("completed", "Done."), (last, result)
            log = await whole_log(editor, started["sessionId"])
            assert log[:last] == events[:last]
            check_log(log)
            asked = [event for event in log if event["type"] == "model.requested"]
            messages = [
                messages_of(from_wire(event), lambda seq, log=log: from_wire(log[seq - 1]))
                for event in asked
                if event["data"]["purpose"] == "main"
            ]
            assert [one[:2] for one in messages] == [messages[0][:2]] * len(messages)
        await keep_sessions(target)
