"""Line ends that meet others: those of an open document are its editor's."""

import subprocess

import pytest
from scripting import DONE, call, result, results, step

FULL = {"permissionMode": "full"}
PROFILES = ["vscode", "neovim-0.10", "neovim-0.11", "eglot", "stock"]


@pytest.mark.parametrize("profile", PROFILES)
async def test_a_whole_text_with_other_line_ends_gets_those_of_the_open_document(profile, begin, workspace):
    (workspace / "f.txt").write_bytes(b"x\n")
    write = call("write_file", path="f.txt", content="one\r\ntwo\r\n", overwrite=True, called="write")
    editor = await begin(profile, [step(call("read_file", path="f.txt")), step(write), DONE], FULL)
    editor.open("f.txt")
    await editor.run("Go.")
    assert result(editor, 1)[0] == "ok"
    assert editor.text("f.txt") == "one\ntwo\n"
    await editor.command("outrider.undo", {})
    assert editor.text("f.txt") == "x\n"


async def test_a_whole_text_with_other_line_ends_is_written_as_it_is_to_a_closed_file(begin, workspace):
    (workspace / "f.txt").write_bytes(b"x\n")
    write = call("write_file", path="f.txt", content="one\r\ntwo\r\n", overwrite=True)
    editor = await begin("stock", [step(call("read_file", path="f.txt")), step(write), DONE], FULL)
    await editor.run("Go.")
    assert (workspace / "f.txt").read_bytes() == b"one\r\ntwo\r\n"
    await editor.command("outrider.undo", {})
    assert (workspace / "f.txt").read_bytes() == b"x\n"


@pytest.mark.parametrize("profile", PROFILES)
async def test_an_undo_that_brings_other_line_ends_into_an_open_document_leaves_no_line_too_many(
    profile, begin, workspace
):
    (workspace / "f.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    editor = await begin(profile, [step(call("run_command", command="printf 'x\\n' > f.txt")), DONE], FULL)
    editor.open("f.txt")
    await editor.run("Go.")
    editor.reload("f.txt")
    undone = await editor.command("outrider.undo", {"scope": "session"})
    assert (undone["conflicts"], undone["notUndoable"]) == ([], [])
    assert editor.text("f.txt").replace("\r\n", "\n") == "one\ntwo\nthree\n"


PATCH = "*** Begin Patch\n*** Update File: f.txt\n@@\n-one\n+1\r2\n*** End Patch\n"


@pytest.mark.parametrize("profile", PROFILES)
async def test_a_lone_carriage_return_does_not_get_into_an_open_document(profile, begin, workspace):
    (workspace / "f.txt").write_bytes(b"one\ntwo\n")
    turns = [
        step(call("edit_file", path="f.txt", old="one", new="1\r2", called="edit")),
        step(call("apply_patch", patch=PATCH, called="patch")),
        DONE,
    ]
    editor = await begin(profile, turns, FULL)
    editor.open("f.txt")
    await editor.run("Go.")
    for called in ("edit", "patch"):
        status, content = results(editor)[called]
        assert (status, "with this change it has" in content) == ("error", True), content
    assert editor.text("f.txt") == "one\ntwo\n"


UNENDED = b"one\nlast without an end"


@pytest.mark.parametrize("profile", ["neovim-0.10", "neovim-0.11", "vscode", "stock"])
async def test_a_file_without_an_end_of_its_last_line_is_renamed_as_it_is(profile, begin, workspace):
    (workspace / "a.txt").write_bytes(UNENDED)
    rename = call("rename_file", **{"from": "a.txt", "to": "b.txt"})
    editor = await begin(profile, [step(rename), DONE], FULL)
    editor.open("a.txt")
    await editor.run("Go.")
    assert (workspace / "b.txt").read_bytes() == UNENDED
    undone = await editor.command("outrider.undo", {})
    assert (undone["conflicts"], undone["notUndoable"]) == ([], [])
    assert (workspace / "a.txt").read_bytes() == UNENDED


@pytest.mark.parametrize("profile", ["neovim-0.10", "neovim-0.11"])
async def test_a_document_whose_last_line_is_ended_in_the_file_alone_is_saved(profile, begin, workspace):
    (workspace / "a.txt").write_bytes(UNENDED)
    turns = [
        step(call("edit_file", path="a.txt", old="one", new="1")),
        step(call("run_command", command="wc -c a.txt", called="first")),
        step(call("run_command", command="true", called="second")),
        step(call("delete_file", path="a.txt", called="delete")),
        DONE,
    ]
    editor = await begin(profile, turns, FULL)
    editor.open("a.txt")

    def answer(_question):
        editor.save("a.txt")
        return "Save and continue"

    editor.answers = answer
    await editor.run("Go.")
    assert not (workspace / "a.txt").exists(), results(editor)["delete"]
    assert len(editor.questions) == 1
    assert "not saved" not in str([results(editor)[one] for one in ("first", "second")])
    await editor.command("outrider.undo", {})
    assert (workspace / "a.txt").read_bytes() == UNENDED + b"\n"


LINES = "".join(f"line {number}\n" for number in range(1, 11))


@pytest.mark.parametrize("line", [1, 5])
@pytest.mark.parametrize(
    ("profile", "raw"),
    [
        ("eglot", LINES.replace("\n", "\r\n")),
        ("vscode", f"\ufeff{LINES}"),
        ("neovim-0.11", f"\ufeff{LINES}"),
        ("neovim-0.11", f"\ufeff{LINES}".replace("\n", "\r\n")),
        ("neovim-0.11", f"\ufeff{LINES}".removesuffix("\n")),
    ],
)
async def test_what_an_editor_hid_is_in_no_way_of_an_undo_once_the_file_is_closed_and_changed(
    profile, raw, line, begin, workspace
):
    path = workspace / "ten.txt"
    path.write_bytes(raw.encode())
    edit = call("edit_file", path="ten.txt", old=f"line {line}\n", new=f"L {line}\n")
    editor = await begin(profile, [step(edit), DONE], FULL)
    editor.open("ten.txt")
    await editor.run("Go.")
    editor.save("ten.txt")
    editor.close("ten.txt")
    now = path.read_bytes()
    mine = b"mine\r\n" if b"\r" in now else b"mine\n"
    path.write_bytes(now + mine)
    undone = await editor.command("outrider.undo", {})
    assert (undone["conflicts"], undone["notUndoable"]) == ([], [])
    # Vim ends the last line when it saves.
    ended = raw if raw.endswith("\n") else f"{raw}\n"
    assert path.read_bytes() == ended.encode() + mine


def git_apply(folder, patch, *words):
    subprocess.run(["git", "apply", *words], cwd=folder, input=patch.encode(), check=True)


@pytest.mark.parametrize("profile", ["helix-25.07", "vscode", "stock"])
@pytest.mark.parametrize("raw", ["one\ntwo\nthree\n", "one\ntwo\nthree", "one\r\ntwo\r\nthree"])
async def test_an_end_that_the_editor_writes_at_save_is_in_no_way_of_an_undo_or_a_patch(
    raw, profile, begin, workspace
):
    path = workspace / "ten.txt"
    path.write_bytes(raw.encode())
    end = "\r\n" if "\r" in raw else "\n"
    old = raw.splitlines(keepends=True)[-1]
    edits = [
        step(call("edit_file", path="ten.txt", old=old, new="3")),
        step(call("edit_file", path="ten.txt", old="one", new="1")),
    ]
    editor = await begin(profile, [*edits, DONE], FULL)
    editor.open("ten.txt")
    await editor.run("Go.")
    editor.type("ten.txt", end, at=(2, 1))
    editor.save("ten.txt")
    edited = raw.removesuffix(end).replace("three", "3").replace("one", "1") + end
    assert path.read_bytes() == edited.encode()

    patch = (await editor.command("outrider.changes", {"format": "patch"}))["patch"]
    for words, there in [(["-R"], raw.removesuffix(end) + end), ([], edited)]:
        git_apply(workspace, patch, *words)
        assert path.read_bytes() == there.encode()

    for what, there in [("undo", raw.removesuffix(end) + end), ("redo", edited)]:
        done = await editor.command(f"outrider.{what}", {})
        assert (done["conflicts"], done["notUndoable"], editor.questions) == ([], [], [])
        assert editor.text("ten.txt") == there
    listed = (await editor.command("outrider.changes", {}))["changes"]
    assert [one["hunks"][0]["state"] for one in listed] == ["applied", "applied"]


@pytest.mark.parametrize("profile", ["neovim-0.11", "vim-lsp", "vscode"])
@pytest.mark.parametrize("closes", [False, True])
async def test_a_file_that_was_empty_gets_no_line_more_with_each_redo(profile, closes, begin, workspace):
    (workspace / "f.txt").write_text("")
    write = call("write_file", path="f.txt", content="a\nB\n", overwrite=True)
    editor = await begin(profile, [step(write), DONE], FULL)
    editor.open("f.txt")
    await editor.run("Go.")
    if closes:
        editor.save("f.txt")
    for _ in range(2):
        await editor.command("outrider.undo", {})
        assert editor.text("f.txt") in {"", "\n"}, "in Vim there is always a line"
        if closes:
            editor.save("f.txt")
            editor.close("f.txt")
        await editor.command("outrider.redo", {})
        if closes:
            editor.open("f.txt")
        assert editor.text("f.txt") == "a\nB\n"


async def test_the_agent_goes_on_at_a_last_line_that_the_editor_ended_meanwhile(begin, workspace):
    (workspace / "ten.txt").write_text("one\ntwo")

    def save(_):
        if editor.text("ten.txt") == "one\ntwo":
            editor.type("ten.txt", "\n", at=(1, 3))
        return "Allow once"

    turns = [
        step(call("read_file", path="ten.txt")),
        step(call("edit_file", path="ten.txt", old="two", new="2")),
        DONE,
    ]
    editor = await begin("stock", turns, answers=save)
    editor.open("ten.txt")
    await editor.run("Go.")
    assert editor.text("ten.txt") == "one\n2\n"
    assert [status for status, _ in results(editor).values()] == ["ok", "ok"]
