"""A session is deleted: log, contents and recording are gone to the last byte, and nobody else loses anything."""

import asyncio
import zlib
from pathlib import Path

import pytest
from scripting import DONE, FIX, call, step
from test_copies import events, fork
from test_going_on import messages, refusal

from outrider.testing.editor.answers import Never
from outrider.testing.editor.wire_client import RpcError
from outrider.testing.scenario import scripted, start_session

KEEPS = {"permissionMode": "auto-edit", "recording": True}
SECRET = "zanzibar"
"""A word of the session that is deleted, in what the user, the model and files say."""
PADDING = "".join(f"line {number} of many\n" for number in range(400))


def edit(old, new):
    return call("edit_file", path="notes.txt", old=old, new=new)


def holds(folder: Path, word: str) -> list[str]:
    """The files below a folder that have a word in them, as it is or compressed."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if _has(path.read_bytes(), word.encode())]


def _has(content: bytes, word: bytes) -> bool:
    if word in content:
        return True
    start = content.find(b"x\x01")
    while start >= 0:
        inflate = zlib.decompressobj()
        try:
            text = inflate.decompress(content[start : start + 1_000_000])
        except zlib.error:
            text = b""
        if word in text:
            return True
        start = content.find(b"x\x01", start + 1)
    return False


@pytest.fixture
async def told(begin, workspace):
    """An editor with a session that is full of the word."""
    (workspace / "notes.txt").write_text(f"{PADDING}{SECRET} 0\n")
    turns = [
        step(call("read_file", path="notes.txt"), text=f"{SECRET} thought"),
        step(edit(f"{SECRET} 0", f"{SECRET} 1")),
        step(edit(f"{SECRET} 1", f"{SECRET} 2")),
        {"text": f"The {SECRET} is done. " * 3},
    ]
    editor = await begin("stock", [*turns, DONE, DONE, DONE, DONE], KEEPS)
    await editor.run(f"Look for {SECRET}.")
    editor.state = workspace.parent / f"{workspace.name}.state"
    return editor


async def recorded(editor):
    await until(lambda: list((editor.state / "recordings").glob("*.json")))


async def until(holds):
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_nothing_is_left_of_it(told):
    await recorded(told)
    assert holds(told.state, SECRET)
    deleted = await told.command("outrider.delete", {"sessionId": told.session_id})
    assert deleted == {"sessionId": told.session_id}
    assert holds(told.state, SECRET) == []
    assert holds(told.state, told.session_id) == []
    assert not list((told.state / "locks").glob(f"{told.session_id}*"))
    assert (await told.command("outrider.sessions"))["sessions"] == []
    assert f"{SECRET} 2" in told.disk("notes.txt")
    for name, params in (
        ("run", {"prompt": "x"}), ("events", {}), ("export", {}), ("prompt", {}), ("fork", {}), ("delete", {}), ("undo", {}),
    ):  # fmt: skip
        gone = {"sessionId": told.session_id, **params}
        assert await refusal(told, f"outrider.{name}", gone) == "unknown_id"


async def test_the_others_keep_what_they_have(told):
    plain = scripted(told.root, [DONE] * 9, name="plain")
    other = await told.command("outrider.run", {"prompt": "Another task.", "model": plain})
    await told.wait_turn(other["turnId"])
    copy = await fork(told, told.session_id)
    before = [text for _, text in await messages(told, copy["sessionId"])]
    texts = (await told.command("outrider.export", {"sessionId": copy["sessionId"]}))["contents"]
    await told.command("outrider.delete", {"sessionId": told.session_id})
    assert [text for _, text in await messages(told, copy["sessionId"])] == before
    assert (await told.command("outrider.export", {"sessionId": copy["sessionId"]}))["contents"] == texts
    undone = await told.command("outrider.undo", {"sessionId": copy["sessionId"], "scope": "session"})
    assert undone["undone"] == [{"path": "notes.txt", "hunks": 2}]
    assert f"{SECRET} 0" in told.disk("notes.txt")
    again = await told.command(
        "outrider.run", {"prompt": "More.", "model": plain, "sessionId": other["sessionId"]}
    )
    assert (await told.wait_turn(again["turnId"]))["outcome"] == "completed"
    await told.command("outrider.delete", {"sessionId": copy["sessionId"]})
    assert holds(told.state, SECRET) == []
    assert [event["type"] for event in await events(told, other["sessionId"])][:1] == ["session.started"]


async def test_a_text_that_another_session_knows_too_stands_alone(told, workspace):
    # What the other one read is stored as what changed in a text that only the deleted one had.
    look = [step(call("read_file", path="notes.txt")), DONE]
    async with start_session("stock", workspace, scripted(workspace, look, name="look"), KEEPS) as second:
        await second.run("Look.")
        await told.command("outrider.delete", {"sessionId": told.session_id})
        exported = await second.command("outrider.export", {"sessionId": second.session_id})
        assert any(f"{SECRET} 2" in text for text in exported["contents"].values())
        assert not any(f"{SECRET} 1" in text for text in exported["contents"].values())
    found = b"".join(path.read_bytes() for path in told.state.glob("*.sqlite3*"))
    for word in (f"{SECRET} 0", f"{SECRET} 1"):
        assert not _has(found, word.encode())


async def test_not_while_a_turn_runs(begin):
    editor = await begin("stock", [step(FIX), DONE], answers=[Never()])
    started = await editor.command("outrider.run", {"prompt": "Fix it."})
    await editor.event("approval.requested")
    session = {"sessionId": started["sessionId"]}
    assert await refusal(editor, "outrider.delete", session) == "turn_running"
    await editor.command("outrider.cancel", {"turnId": started["turnId"]})
    await editor.command("outrider.delete", session)


async def test_one_that_waits_goes(workspace):
    model = scripted(workspace, [step(FIX), DONE])
    async with start_session(
        "stock", workspace, model, {"limits": {"askSeconds": 0.1}}, answers=[Never()]
    ) as editor:
        started = await editor.command("outrider.run", {"prompt": "Fix it."})
        await editor.event("turn.parked")
        await editor.command("outrider.delete", {"sessionId": started["sessionId"]})
        assert (await editor.command("outrider.sessions"))["sessions"] == []
        titles = [action["title"] for action in await editor.code_actions("README.md")]
        assert not any("Allow once" in title for title in titles)


async def test_one_that_another_server_runs_stays(workspace):
    model = scripted(workspace, [step(FIX), DONE])
    async with start_session("stock", workspace, model, answers=[Never()], connection="stdio") as first:
        started = await first.command("outrider.run", {"prompt": "Fix it."})
        await first.event("approval.requested")
        async with start_session("stock", workspace, model, connection="stdio") as second:
            gone = {"sessionId": started["sessionId"]}
            assert await refusal(second, "outrider.delete", gone) in {"session_in_use", "turn_running"}
        assert (await first.command("outrider.sessions"))["sessions"][0]["sessionId"] == started["sessionId"]


async def test_the_task_document_shows_it_no_longer(told):
    await told.command("outrider.open", {"what": "task"})
    name = ".outrider/task.md"
    await until(lambda: SECRET in told.text(name))
    await told.command("outrider.delete", {"sessionId": told.session_id})
    await until(lambda: SECRET not in told.text(name))


@pytest.mark.thorough
async def test_one_that_another_window_still_shows_is_gone_there_too(workspace):
    model = scripted(workspace, [{"text": "One."}, {"text": "Two."}, {"text": "Three."}])
    async with (
        start_session("stock", workspace, model, {"testing": None}, connection="stdio") as first,
        start_session("stock", workspace, model, {"testing": None}, connection="stdio") as second,
    ):
        started = await first.command("outrider.run", {"prompt": "Begin."})
        await first.wait_turn(started["turnId"])
        gone = {"sessionId": started["sessionId"]}
        again = await second.command("outrider.run", {"prompt": "And then?", **gone})
        await second.wait_turn(again["turnId"])
        await deleted(first, gone)
        for name, more in (
            ("run", {"prompt": "Go on."}),
            ("steer", {"text": "Go on."}),
            ("resume", {}),
            ("events", {}),
            ("fork", {}),
            ("delete", {}),
        ):
            assert await refusal(second, f"outrider.{name}", {**gone, **more}) == "unknown_id", name
        assert (await second.command("outrider.sessions"))["sessions"] == []
        fresh = await second.command("outrider.run", {"prompt": "Something new."})
        assert (await second.wait_turn(fresh["turnId"]))["outcome"] == "completed"


async def deleted(editor, session):
    async with asyncio.timeout(20):
        while True:  # the other window lets go of it in a moment
            try:
                return await editor.command("outrider.delete", session)
            except RpcError as refused:
                assert refused.data["reason"] == "session_in_use"
                await asyncio.sleep(0.05)
