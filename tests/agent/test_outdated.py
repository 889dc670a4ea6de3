"""Documents whose file Outrider changed on disk, and which the editor goes on showing as they were."""

from pathlib import Path

import pytest
from scripting import DONE, KINDS, call, result, step

from outrider.testing.editor.profiles import KATE

FULL = {"permissionMode": "full"}
TWO = (
    call("edit_file", path="tariff.py", old="def price", new="def cost"),
    call("edit_file", path="tariff.py", old="hours * 3", new="hours * 2"),
)


@pytest.mark.parametrize("profile", [*KINDS, "kate"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
async def test_edits_of_one_step_to_one_open_file_are_made_in_order(profile, ends, begin):
    editor = await begin(profile, [step(*TWO), DONE], FULL)
    path = editor.root / "tariff.py"
    text = path.read_text().replace("\n", ends)
    path.write_bytes(text.encode())
    editor.open("tariff.py")
    assert (await editor.run("Go."))["outcome"] == "completed"
    editor.settle()
    assert [result(editor, number)[0] for number in range(2)] == ["ok", "ok"], result(editor, 1)
    wanted = text.replace("price", "cost").replace("* 3", "* 2")
    if editor.desk.buffer("tariff.py").dirty:
        editor.save("tariff.py")
    assert path.read_bytes().decode() == wanted


async def test_what_is_typed_into_a_document_that_is_behind_its_file_counts(begin):
    read = call("read_file", path="tariff.py")
    again = call("edit_file", path="tariff.py", old="* 2", new="* 1")
    editor = await begin(KATE, [step(TWO[1]), DONE, step(again), step(read), DONE], FULL)
    editor.open("tariff.py")
    await editor.run("Go.")
    assert editor.disk("tariff.py").endswith("hours * 2\n")
    editor.type("tariff.py", "# mine\n", at=(0, 0))
    await editor.run("Go on.", sessionId=editor.session_id)
    assert result(editor, 1)[0] == "error"
    assert "# mine" in result(editor, 2)[1]
    assert "hours * 3" in result(editor, 2)[1]
    assert editor.disk("tariff.py").endswith("hours * 2\n")


async def test_a_document_that_is_loaded_anew_is_like_any_other(begin):
    again = call("edit_file", path="tariff.py", old="* 2", new="* 1")
    editor = await begin(KATE, [step(TWO[1]), DONE, step(again), DONE], FULL)
    editor.open("tariff.py")
    await editor.run("Go.")
    editor.reload("tariff.py")
    await editor.run("Go on.", sessionId=editor.session_id)
    assert result(editor, 1)[0] == "ok"
    assert editor.disk("tariff.py").endswith("hours * 1\n")


@pytest.mark.parametrize("profile", ["stock", "helix-25.07", "eglot", "kate"])
async def test_a_file_made_anew_counts_and_not_the_document_of_the_one_before(profile, begin):
    editor = await begin(
        profile,
        [
            step(call("delete_file", path="tariff.py")),
            step(call("write_file", path="tariff.py", content="PRICE = 3\n")),
            step(call("read_file", path="tariff.py"), call("search", pattern="hours")),
            step(call("edit_file", path="tariff.py", old="3", new="2")),
            DONE,
        ],
        FULL,
    )
    editor.open("tariff.py")
    await editor.run("Go.")
    assert [result(editor, number)[0] for number in range(5)] == ["ok"] * 5
    assert "PRICE = 3" in result(editor, 2)[1]
    assert not result(editor, 3)[1].startswith("tariff.py")
    assert editor.disk("tariff.py") == "PRICE = 2\n"
    told = [event["data"] for event in editor.events_of("workspace.changed")]
    assert told == []


async def test_a_file_that_another_program_makes_anew_counts_too(begin):
    editor = await begin(
        "stock",
        [step(call("delete_file", path="tariff.py")), DONE, step(call("read_file", path="tariff.py")), DONE],
        FULL,
    )
    editor.open("tariff.py")
    await editor.run("Go.")
    Path(editor.root / "tariff.py").write_text("theirs\n")
    await editor.run("Go on.", sessionId=editor.session_id)
    assert "theirs" in result(editor, 1)[1]
