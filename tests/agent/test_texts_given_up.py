"""A session whose texts are kept no longer: what cannot be taken back is named, and it goes on from there."""

from datetime import UTC, datetime

from scripting import DONE, call, step

from outrider.store.log import Store
from outrider.store.retention import give_up_old_texts
from outrider.testing.scenario import scripted, start_session
from outrider_protocol.settings import StoreSettings

FULL = {"permissionMode": "full", "testing": {"ids": None}}
FIRST = call("edit_file", path="tariff.py", old="hours * 3", new="hours * 2")
SECOND = call("edit_file", path="tariff.py", old="hours * 2", new="hours * 1")
GONE = "its text is no longer in the log, or is damaged there"


async def given_up(workspace):
    store = await Store.open(workspace.parent / f"{workspace.name}.state")
    assert isinstance(store, Store)
    await give_up_old_texts(store, datetime.now(UTC), StoreSettings(max_bytes=0))
    await store.close()


async def test_a_change_whose_text_is_gone_says_so_and_the_next_one_comes_back(workspace):
    read = call("read_file", path="tariff.py")
    model = scripted(workspace, [step(read), step(FIRST), DONE, step(SECOND), DONE])
    async with start_session("stock", workspace, model, FULL) as editor:
        await editor.run("Two.")
        session_id = editor.session_id
    await given_up(workspace)
    edited = (workspace / "tariff.py").read_text()
    async with start_session("stock", workspace, model, FULL) as editor:
        named = {"sessionId": session_id}
        (change,) = (await editor.command("outrider.changes", named))["changes"]
        assert (change["undoable"], change["reason"], change["hunks"]) == (False, GONE, [])
        patch = await editor.command("outrider.changes", {**named, "format": "patch"})
        assert (patch["patch"], patch["leftOut"]) == ("", [{"path": "tariff.py", "reason": GONE}])
        undone = await editor.command("outrider.undo", named)
        assert (undone["undone"], undone["notUndoable"]) == ([], [{"what": "tariff.py", "reason": GONE}])
        assert (workspace / "tariff.py").read_text() == edited
        assert (await editor.run("One.", sessionId=session_id))["outcome"] == "completed"
        assert (workspace / "tariff.py").read_text() != edited
        undone = await editor.command("outrider.undo", named)
        assert undone["undone"] == [{"path": "tariff.py", "hunks": 1}]
        assert (workspace / "tariff.py").read_text() == edited
