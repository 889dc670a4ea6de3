"""Two sessions of one server, and two servers, at one file: no lost update, and a word on why not."""

import asyncio
from pathlib import Path

from scripting import DONE, call, held, results, step

from outrider.testing.scenario import scripted, start_session

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
    for number in range(20):
        name = ("even", "odd")[number % 2] if done[f"c{number}"][0] == "ok" else "line"
        assert f"{name} {number}\n" in path.read_text()
    assert {status for status, _ in done.values()} == {"ok"}
    assert not list(workspace.glob("*.tmp"))
