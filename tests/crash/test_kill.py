"""A real server is killed (signal 9) at the moment its client sees an event; the next one goes on from there."""

import os

import psutil
import pytest
from crash_scenario import (
    ANSWERED,
    NEW,
    OPEN,
    RANDOM_IDS,
    Cut,
    check_log,
    person,
    resume,
    to_the_end,
    whole_log,
)

from everyday import some
from outrider.testing.editor.connections import Stdio
from outrider.testing.scenario import embedded, scripted, start_session
from outrider_protocol import ANSWER, EVENT_NOTIFICATION, RUN, UNDO
from replayed import keep_sessions

BOUNDARIES = [
    ("turn.started", 1), ("model.requested", 1), ("model.responded", 2), ("tool.requested", 3), ("tool.started", 1),
    ("tool.finished", 2), ("approval.requested", 1), ("approval.resolved", 2), ("edit.applying", 1), ("edit.applying", 2),
    ("edit.applied", 1), ("edit.applied", 2), ("approval.requested", 4), ("question.asked", 1),
    ("turn.parked", 1), ("turn.finished", 1),
]  # fmt: skip


def home(workspace):
    """Surroundings that both servers share, as an approval of a command covers its environment."""
    return {"HOME": str(workspace.parent / "home")}


class Killed(Stdio):
    """A server that is killed with an event: when its client reads the `count`-th one of that type."""

    def __init__(self, kind, count, workspace):
        super().__init__(env=home(workspace), cwd=workspace.parent)
        self._kind, self._left = kind, count

    async def start(self):
        deliver = self.on_message

        def look(message):
            deliver(message)
            if message.get("method") == EVENT_NOTIFICATION and message["params"]["type"] == self._kind:
                self._left -= 1
                if self._left == 0:
                    self.kill()

        self.on_message = look
        await super().start()


async def cut_off(editor, kind):
    """Run until the server is killed; gives the events that came until then."""
    connection = editor.connection
    editor.answers = person(editor)
    editor.open(OPEN)
    started = editor.command_nowait(RUN, {"prompt": "Tidy up"})

    def answer_what_is_parked():
        for event in editor.events_of("turn.parked")[: editor.ended is None]:
            editor.command_nowait(ANSWER, {"id": event["data"]["open"][0]["id"], "answer": ANSWERED})
            return True
        return editor.ended is not None

    await editor.wait_for(answer_what_is_parked, "parked turn or the death of the server")
    while editor.ended is None:
        await connection.wait()
        await editor.wait_for(lambda: editor.ended, "end of the connection")
    await connection.close()
    if kind == "turn.finished":
        assert started.done
    return list(editor.events)


@pytest.mark.parametrize(("kind", "count"), some(BOUNDARIES, 8))
async def test_a_killed_server_is_replaced_and_nothing_is_lost_or_done_twice(workspace, kind, count):
    cut = Cut(workspace)
    before = {name: (workspace / name).read_text() for name in cut.expected() if name != NEW}
    connection = Killed(kind, count, workspace)
    async with start_session("stock", workspace, cut.model, RANDOM_IDS, connection=connection) as editor:
        seen = await cut_off(editor, kind)
        session_id, turn_id = (
            seen[0]["sessionId"],
            next(e["turnId"] for e in seen if e["type"] == "turn.started"),
        )
        await editor.reconnect(embedded(workspace, env={**os.environ, **home(workspace)}))
        await resume(editor, session_id)
        result = await to_the_end(editor, turn_id)
        assert (result["outcome"], result["summary"]) == ("completed", "Done.")
        log = await whole_log(editor, session_id)
        assert log[: len(seen)] == seen, "an event that was seen is not in the log"
        check_log(log)
        results = {
            event["data"]["callId"]: event["data"] for event in log if event["type"] == "tool.finished"
        }
        interrupted = [call for call, data in results.items() if data["status"] == "interrupted"]
        editor.save_all()
        for name, text in cut.expected().items():
            call = {"README.md": "c_closed", OPEN: "c_open", NEW: "c_new"}[name]
            done = {**before, NEW: None}[name] if call in interrupted else text
            path = workspace / name
            assert (path.read_text() if path.exists() else None) == done, name
        assert cut.times_ran == 1 or ("c_run" in interrupted and cut.times_ran == 0)
        await editor.command(UNDO, {"sessionId": session_id})
        editor.save_all()
        assert {name: (workspace / name).read_text() for name in before} == before
        assert not (workspace / NEW).exists()
    await keep_sessions(workspace.parent / f"{workspace.name}.state")


PATCH = """\
*** Begin Patch
*** Update File: README.md
@@
-# Parking
+# Tariffs
*** Add File: notes/new.txt
+new
*** Update File: tariff.py
@@
-    return hours * 3
+    return hours * 2
*** Delete File: tests/__init__.py
*** End Patch
"""
PARTS = {
    "edit README.md": ("README.md", lambda text: text.startswith("# Tariffs")),
    "create notes/new.txt": ("notes/new.txt", lambda text: text == "new\n"),
    "edit tariff.py": (OPEN, lambda text: "* 2" in text),
    "delete tests/__init__.py": ("tests/__init__.py", lambda text: text is None),
}


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        ("edit.proposed", 4),
        ("tool.started", 1),
        *some([(kind, count) for kind in ("edit.applying", "edit.applied") for count in (1, 2, 3, 4)], 4),
    ],
)
async def test_a_patch_that_is_cut_off_says_which_of_its_changes_are_in_place(workspace, kind, count):
    turns = [
        {"tool_calls": [{"name": "apply_patch", "input": {"patch": PATCH}, "id": "c_1"}]},
        {"text": "Done."},
    ]
    model = scripted(workspace, turns)
    before = {path: path.read_text() for path in workspace.rglob("*") if path.is_file()}
    connection = Killed(kind, count, workspace)
    settings = {**RANDOM_IDS, "permissionMode": "full"}
    async with start_session("stock", workspace, model, settings, connection=connection) as editor:
        editor.open(OPEN)
        editor.command_nowait(RUN, {"prompt": "Patch it"})
        await editor.wait_for(lambda: editor.ended is not None, "death of the server")
        await connection.close()
        seen = list(editor.events)
        session_id = seen[0]["sessionId"]
        turn_id = next(event["turnId"] for event in seen if event["type"] == "turn.started")
        await editor.reconnect(embedded(workspace, env={**os.environ, **home(workspace)}))
        await resume(editor, session_id)
        assert (await to_the_end(editor, turn_id))["outcome"] == "completed"
        log = await whole_log(editor, session_id)
        assert log[: len(seen)] == seen, "an event that was seen is not in the log"
        check_log(log)
        (result,) = [event["data"] for event in log if event["type"] == "tool.finished"]
        editor.save_all()
        there = {
            name
            for name, (path, is_done) in PARTS.items()
            if is_done((workspace / path).read_text() if (workspace / path).exists() else None)
        }
        if result["status"] == "ok":
            assert there == set(PARTS)
        else:
            assert result["status"] == "interrupted"
            named = result["content"].partition(" In place: ")[2].partition(". Read")[0]
            assert set(filter(None, named.split(", "))) == there, result["content"]
            assert ("Nothing was changed" in result["content"]) == (not there)
        if there:
            await editor.command(UNDO, {"sessionId": session_id})
            editor.save_all()
        assert {path: path.read_text() if path.exists() else None for path in before} == before
        assert not (workspace / "notes/new.txt").exists()
    await keep_sessions(workspace.parent / f"{workspace.name}.state")


async def test_a_command_dies_with_its_server_and_is_not_run_again(workspace):
    cut = Cut(workspace)
    turns = [
        {"tool_calls": [{"name": "run_command", "input": {"command": f"echo $$ >> {cut.ran}; echo; sleep 60"}, "id": "c_1"}]},
        {"text": "Done."},
    ]  # fmt: skip
    model = scripted(workspace, turns)
    connection = Stdio(cwd=workspace.parent)
    how = {"connection": connection, "answers": ["Allow once"]}
    async with start_session("stock", workspace, model, RANDOM_IDS, **how) as editor:
        started = await editor.command(RUN, {"prompt": "Wait"})
        await editor.event("tool.started")
        await wait_for_file(editor, cut.ran)
        shell = psutil.Process(int(cut.ran.read_text()))
        connection.kill()
        await editor.wait_for(lambda: editor.ended, "end of the connection")
        connection.fault = None
    _, alive = psutil.wait_procs([shell], timeout=5)
    assert not alive, "the command outlived its server"
    async with start_session("stock", workspace, model, RANDOM_IDS) as editor:
        await editor.command("outrider.resume", {"sessionId": started["sessionId"]})
        assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"
        log = await whole_log(editor, started["sessionId"])
        check_log(log)
        (result,) = [event["data"] for event in log if event["type"] == "tool.finished"]
        assert result["status"] == "interrupted"
        assert "effect is unknown" in result["content"]
    assert cut.times_ran == 1


async def wait_for_file(editor, path):
    """Wait until a command has written a line, which it says by what it prints next."""
    await editor.wait_for(lambda: path.exists() and path.read_text().endswith("\n"), f"line in {path.name}")
