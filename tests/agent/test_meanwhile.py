"""What the user puts on disk while a command runs is not the command's, and no undo takes it away."""

import shlex
import sys
import time
from dataclasses import replace

import pytest
from scripting import DONE, call, held, step

from outrider.ports.clock import SystemClock
from outrider.testing.editor.profiles import PROFILES
from outrider.testing.editor.wire_client import RpcError
from outrider.tools.run_command import effects
from outrider.workspace.watch import snapshot

FULL = {"permissionMode": "full"}
TEN = "".join(f"line {number}\n" for number in range(1, 11))
MINE = "mine\n"
_STOCK = PROFILES["stock"]
SAYS_NO_SAVE = replace(
    _STOCK,
    debounce_seconds=0.2,
    capabilities={
        **_STOCK.capabilities,
        "textDocument": {**_STOCK.capabilities["textDocument"], "synchronization": {}},
    },
)
"""An editor that holds back what was typed, and never says that it saved."""


def waits(first=""):
    """A command that does something, says so, and waits for a file."""
    code = f"import os, time\n{first}\nprint('begun', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)\nos.remove('go')"
    return call("run_command", command=f"{shlex.quote(sys.executable)} -c {shlex.quote(code)}")


@pytest.fixture
def ten(workspace):
    (workspace / "ten.txt").write_text(TEN)
    return workspace


async def begun(editor):
    """Start the turn, and wait until its command runs."""
    got = await editor.command("outrider.run", {"prompt": "Go."})
    editor.session_id, editor.turn_id = got["sessionId"], got["turnId"]
    await editor.wait_for(lambda: any("begun" in frame["text"] for frame in editor.frames), "output")


async def ended(editor, workspace):
    """Let the command end, once the server has all that the client told it; gives what was recorded."""
    await editor.command("outrider.status", {})
    (workspace / "go").touch()
    await editor.wait_turn()
    return [event["data"] for event in editor.events_of("workspace.changed")]


def names(undone):
    return {one["what"] for one in undone["notUndoable"]}


@pytest.mark.parametrize("closes", [False, True])
async def test_promise_5_what_another_editor_saves_stays_and_is_named(closes, begin, ten):
    one = await begin("stock", [step(waits()), DONE], FULL)
    two = await begin("stock", [DONE], FULL)
    two.open("ten.txt")
    two.type("ten.txt", MINE, at=(3, 0))
    await held(ten, "ten.txt")
    await begun(one)
    two.save("ten.txt")
    if closes:
        two.close("ten.txt")
    (changed,) = await ended(one, ten)
    assert (changed["path"], changed.get("changeId")) == ("ten.txt", None)
    assert "ten.txt" in names(await one.command("outrider.undo", {}))
    assert MINE in (ten / "ten.txt").read_text()


@pytest.mark.parametrize("opened", [True, False])
@pytest.mark.parametrize("comes", [True, False])
async def test_promise_5_a_save_that_is_under_way_when_a_command_ends_is_not_the_commands(
    opened, comes, begin, ten, monkeypatch
):
    editor = await begin("stock", [step(waits()), DONE], FULL)
    if opened:
        editor.open("ten.txt")
        editor.type("ten.txt", MINE, at=(3, 0))
    await begun(editor)
    now = MINE + TEN if not opened else editor.text("ten.txt")
    saving = (ten / "ten.txt").open("w", newline="")
    waited = []

    async def sleep(clock, seconds):
        """Time goes by while somebody saves."""
        if seconds != effects.SETTLE_STEP:
            await sleeping(clock, seconds)
            return
        waited.append(seconds)
        if len(waited) > 3 and comes:
            saving.write(now)
            saving.close()
        monkeypatch.setattr(SystemClock, "monotonic", lambda clock: time.monotonic() + sum(waited))

    sleeping = SystemClock.sleep
    monkeypatch.setattr(SystemClock, "sleep", sleep)
    found = await ended(editor, ten)
    assert 3 < len(waited) < 100
    assert not [one for one in found if "changeId" in one]
    if not comes:
        saving.write(now)
        saving.close()
    if opened:
        editor.save("ten.txt")
    try:
        undone = await editor.command("outrider.undo", {"scope": "session"})
    except RpcError as refused:
        assert refused.data["reason"] == "nothing_to_undo"
    else:
        assert (undone["undone"], names(undone)) == ([], {"ten.txt"})
    assert (ten / "ten.txt").read_text() == now
    assert not opened or editor.text("ten.txt") == now


async def test_promise_5_what_is_saved_without_a_word_stays_and_is_named(begin, ten):
    editor = await begin("stock", [step(waits()), DONE], FULL)
    editor.open("ten.txt")
    await begun(editor)
    editor.type("ten.txt", MINE, at=(3, 0))
    await editor.command("outrider.status", {})
    editor.desk.save(editor.desk.buffer("ten.txt"))
    await ended(editor, ten)
    assert "ten.txt" in names(await editor.command("outrider.undo", {}))
    assert MINE in editor.text("ten.txt")
    assert MINE in editor.disk("ten.txt")


async def test_promise_5_what_is_saved_by_an_editor_that_tells_it_late_and_no_save_stays(
    begin, ten, monkeypatch
):
    hear_out = effects.Meanwhile.hear_out

    async def later(self):
        editor.settle()  # the editor's time goes on while the server waits
        await editor.command("outrider.status", {})
        await hear_out(self)

    monkeypatch.setattr(effects.Meanwhile, "hear_out", later)
    editor = await begin(SAYS_NO_SAVE, [step(waits()), DONE], {**FULL, "debounce": 0.2})
    editor.open("ten.txt")
    await begun(editor)
    editor.type("ten.txt", MINE, at=(3, 0), unsent=True)
    editor.desk.save(editor.desk.buffer("ten.txt"))
    (ten / "go").touch()
    # No request, before which an editor tells what it holds back.
    await editor.wait_for(lambda: editor.events_of("turn.finished"), "the end of the turn")
    (changed,) = [event["data"] for event in editor.events_of("workspace.changed")]
    assert (changed.get("changeId"), changed["unsure"]) == (None, True)
    assert "ten.txt" in names(await editor.command("outrider.undo", {}))
    assert MINE in editor.text("ten.txt") and MINE in editor.disk("ten.txt")


async def test_promise_5_what_a_command_wrote_below_a_document_of_such_an_editor_is_undone(begin, ten):
    writes = call("run_command", command="sed -i 's/line 3/L3/' ten.txt")
    editor = await begin(SAYS_NO_SAVE, [step(writes), DONE], {**FULL, "debounce": 0.2})
    editor.open("ten.txt")
    await editor.run("Go.")
    (changed,) = [event["data"] for event in editor.events_of("workspace.changed")]
    assert changed.get("changeId") is not None


async def test_promise_5_what_is_saved_during_the_look_before_the_command_stays(begin, ten, monkeypatch):
    take, looks = snapshot.Census.take, []

    async def slow(self, *, contents):
        count = await take(self, contents=contents)
        if not looks:
            looks.append(contents)  # the texts are read, and the look is not over
            editor.open("ten.txt")
            editor.type("ten.txt", MINE, at=(3, 0))
            editor.save("ten.txt")
            editor.close("ten.txt")
            await editor.command("outrider.status", {})
        return count

    monkeypatch.setattr(snapshot.Census, "take", slow)
    editor = await begin("stock", [step(call("run_command", command="touch made.txt")), DONE], FULL)
    await editor.run("Go.")
    await editor.command("outrider.undo", {})
    assert not (ten / "made.txt").exists()
    assert MINE in (ten / "ten.txt").read_text()


@pytest.mark.parametrize("how", ["deleted", "changed"])
async def test_what_may_be_somebody_elses_is_not_said_to_be_the_commands(how, begin, ten):
    one = await begin("stock", [step(waits()), DONE], FULL)
    two = await begin("stock", [DONE], FULL)
    two.open("ten.txt")
    two.type("ten.txt", MINE, at=(3, 0))
    await held(ten, "ten.txt")
    await begun(one)
    if how == "deleted":
        (ten / "ten.txt").unlink()
    else:
        (ten / "ten.txt").write_text(MINE)
    (changed,) = await ended(one, ten)
    assert (changed.get("changeId"), changed["unsure"]) == (None, True)
    listed = await one.command("outrider.changes", {})
    reasons = {row["what"]: row["reason"] for row in listed["notUndoable"]}
    assert reasons["ten.txt"] == f"{how} while a command ran, by the command or by someone else"
    undone = await one.command("outrider.undo", {})
    assert [row["reason"] for row in undone["notUndoable"]] == [reasons["ten.txt"]]


async def test_promise_5_a_file_that_the_person_makes_and_opens_stays_and_is_named(begin, workspace):
    editor = await begin("stock", [step(waits()), DONE], FULL)
    await begun(editor)
    (workspace / "mine.txt").write_text(MINE)
    editor.open("mine.txt")
    await ended(editor, workspace)
    editor.close("mine.txt")
    assert "mine.txt" in names(await editor.command("outrider.undo", {}))
    assert (workspace / "mine.txt").read_text() == MINE


async def test_promise_5_what_the_command_wrote_is_undone_though_the_editor_has_loaded_it(
    begin, ten, monkeypatch
):
    monkeypatch.setattr(effects, "_CLOCK_STEP", 0)
    writes = waits("t = open('ten.txt').read()\nopen('ten.txt', 'w').write(t.replace('line 3', 'L3'))")
    editor = await begin("stock", [step(writes), DONE], FULL)
    editor.open("ten.txt")
    await begun(editor)
    editor.reload("ten.txt")
    assert "L3" in editor.text("ten.txt")
    (changed,) = await ended(editor, ten)
    assert changed.get("changeId") is not None
    await editor.command("outrider.undo", {})
    assert editor.text("ten.txt") == TEN
