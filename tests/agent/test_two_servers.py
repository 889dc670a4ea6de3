"""Two sessions of one server, and two servers, at one file: no lost update, and a word on why not."""

import asyncio
from pathlib import Path

import pytest
from scripting import DONE, call, held, results, step

from outrider.testing.scenario import scripted, start_session
from outrider.tools.edit import transaction
from outrider.workspace.disk import disk

FULL = {"permissionMode": "full"}
EDIT = call("edit_file", path="tariff.py", old="hours * 3", new="hours * 2", called="edit")


async def test_a_file_that_another_server_holds_open_unsaved_is_not_written(workspace):
    before = (workspace / "tariff.py").read_text()
    nothing = scripted(workspace, [DONE], name="nothing")
    model = scripted(workspace, [step(EDIT), DONE], name="edit")
    async with start_session("stock", workspace, nothing, FULL, connection="stdio") as first:
        await first.run("Wait.")
        first.open("tariff.py")
        first.type("tariff.py", "# mine, unsaved\n", at=(0, 0))
        await held(workspace, "tariff.py")
        async with start_session("stock", workspace, model, FULL, connection="stdio") as second:
            await second.run("Edit.")
            status, said = results(second)["edit"]
        assert status == "error"
        assert "tariff.py has unsaved changes in another editor (process " in said
        assert (workspace / "tariff.py").read_text() == before
        assert first.text("tariff.py") == f"# mine, unsaved\n{before}"


async def test_two_servers_edit_one_file_and_neither_loses_the_others_edit(workspace):
    path = workspace / "many.txt"
    path.write_text("".join(f"line {number}\n" for number in range(20)))

    def model(name: str, numbers: range) -> Path:
        edits = [
            step(call("edit_file", path="many.txt", old=f"line {n}\n", new=f"{name} {n}\n", called=f"c{n}"))
            for n in numbers
        ]
        return scripted(workspace, [*edits, DONE], name=name)

    async with (
        start_session("stock", workspace, model("even", range(0, 20, 2)), FULL, connection="stdio") as even,
        start_session("stock", workspace, model("odd", range(1, 20, 2)), FULL, connection="stdio") as odd,
    ):
        await asyncio.gather(even.run("Edit."), odd.run("Edit."))
        done = {**results(even), **results(odd)}
    assert [said for status, said in done.values() if status != "ok"] == []
    assert path.read_text() == "".join(f"{('even', 'odd')[number % 2]} {number}\n" for number in range(20))
    assert not list(workspace.glob("*.tmp"))


@pytest.mark.thorough
async def test_a_session_that_another_server_runs_is_listed_so_after_it_was_joined(workspace):
    model = scripted(workspace, [step(EDIT), DONE], name="edit")
    async with start_session("stock", workspace, model, connection="stdio") as first:
        running = await first.command("outrider.run", {"prompt": "Edit."})
        await first.event("approval.requested")
        async with start_session("stock", workspace, model, connection="stdio") as second:
            # It is looked at while the session is being joined.
            resumed, *_ = await asyncio.gather(
                second.command("outrider.resume", {"sessionId": running["sessionId"]}),
                *(second.command("outrider.sessions", {}) for _ in range(5)),
                return_exceptions=True,
            )
            assert (resumed["state"], resumed["elsewhere"]) == ("parked", True)
            (listed,) = (await second.command("outrider.sessions", {}))["sessions"]
    assert (listed["state"], listed["elsewhere"]) == ("parked", True)


async def test_an_edit_is_made_though_another_server_makes_the_next_one_at_once(workspace, monkeypatch):
    """What another server writes as soon as it may is no reason to say that the edit before it was not made."""
    path = workspace / "tariff.py"
    replace = disk.replace

    def followed(to, before, after):
        problem = replace(to, before, after)
        if to == path.resolve() and problem is None:
            replace(to, after, b"# another server\n" + after)
        return problem

    monkeypatch.setattr(disk, "replace", followed)
    async with start_session("stock", workspace, scripted(workspace, [step(EDIT), DONE]), FULL) as editor:
        await editor.run("Edit.")
        status, _ = results(editor)["edit"]
    assert status == "ok"
    assert path.read_text().startswith("# another server\n")
    assert "hours * 2" in path.read_text()


async def test_an_edit_is_made_though_another_server_was_faster_many_times(workspace, monkeypatch):
    path = workspace / "tariff.py"
    replace = disk.replace
    times = 8

    def raced(to, before, after):
        nonlocal times
        if to == path.resolve() and times:
            times -= 1
            path.write_text(f"# {times} more\n{path.read_text()}")
        return replace(to, before, after)

    monkeypatch.setattr(disk, "replace", raced)
    async with start_session("stock", workspace, scripted(workspace, [step(EDIT), DONE]), FULL) as editor:
        await editor.run("Edit.")
        assert results(editor)["edit"][0] == "ok"
    assert path.read_text().startswith("# 0 more\n# 1 more\n")
    assert "hours * 2" in path.read_text()


async def test_an_edit_of_a_file_that_never_rests_is_refused_in_the_end(workspace, monkeypatch):
    path = workspace / "tariff.py"
    replace = disk.replace

    def raced(to, before, after):
        if to == path.resolve():
            path.write_text(f"#\n{path.read_text()}")
        return replace(to, before, after)

    monkeypatch.setattr(disk, "replace", raced)
    monkeypatch.setattr(transaction, "MOST_TRIES", 4)
    async with start_session("stock", workspace, scripted(workspace, [step(EDIT), DONE]), FULL) as editor:
        await editor.run("Edit.")
        status, said = results(editor)["edit"]
    assert status == "error"
    assert "kept changing while it was being approved" in said
    assert "hours * 3" in path.read_text()
