"""Which file a change is about: an undo changes no other one, whatever is at its path now."""

import subprocess

import pytest
from scripting import DONE, call, step

from outrider.testing.scenario import scripted, start_session

FULL = {"permissionMode": "full"}
TEN = "".join(f"line {number}\n" for number in range(1, 11))
EDIT = call("edit_file", path="ten.txt", old="line 3", new="L3")
KINDS = {
    "edit": EDIT,
    "delete": call("delete_file", path="ten.txt"),
    "create": call("write_file", path="new.txt", content="x\n"),
    "rename": call("rename_file", **{"from": "ten.txt", "to": "new.txt"}),
}


def texts(folder):
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def copied(workspace, other):
    """Another checkout of the same project."""
    other.mkdir()
    for path in workspace.iterdir():
        if path.is_file():
            (other / path.name).write_bytes(path.read_bytes())
    return texts(other)


def reasons(undone):
    return {one["what"]: one["reason"] for one in undone["notUndoable"]}


# --- links ------------------------------------------------------------------------------------------------------


async def test_an_undo_leaves_what_a_link_leads_to_that_a_command_made(begin, workspace):
    (workspace / "ten.txt").write_text(TEN)
    (workspace / "other.txt").write_text("PRECIOUS\n")
    command = call("run_command", command="rm ten.txt; ln -s other.txt ten.txt")
    editor = await begin("stock", [step(command), DONE], FULL)
    await editor.run("Go.")
    undone = await editor.command("outrider.undo", {})
    assert (workspace / "other.txt").read_text() == "PRECIOUS\n"
    assert "ten.txt" in reasons(undone)


async def test_an_undo_leaves_what_is_in_a_folder_that_is_reached_through_a_link(begin, workspace):
    for name, text in (("d", "mine in d\n"), ("e", "PRECIOUS\n")):
        (workspace / name).mkdir()
        (workspace / name / "x.txt").write_text(text)
    editor = await begin("stock", [step(call("run_command", command="rm -r d; ln -s e d")), DONE], FULL)
    await editor.run("Go.")
    undone = await editor.command("outrider.undo", {})
    assert (workspace / "e" / "x.txt").read_text() == "PRECIOUS\n"
    assert reasons(undone)


async def test_an_undo_and_a_redo_leave_what_the_person_linked_there(begin, workspace):
    (workspace / "ten.txt").write_text(TEN)
    edited = TEN.replace("line 3", "L3")
    editor = await begin("stock", [step(EDIT), DONE], FULL)
    await editor.run("Go.")
    for command, text in (("outrider.undo", edited), ("outrider.redo", TEN)):
        (workspace / "other.txt").write_text(text)
        (workspace / "ten.txt").unlink()
        (workspace / "ten.txt").symlink_to("other.txt")
        done = await editor.command(command, {"sessionId": editor.session_id, "scope": "session"})
        assert reasons(done) == {"ten.txt": "it is now a link, or its path contains one"}
        assert (workspace / "other.txt").read_text() == text
        (workspace / "ten.txt").unlink()
        (workspace / "ten.txt").write_text(edited)
        if command == "outrider.undo":
            await editor.command("outrider.undo", {})
            assert (workspace / "ten.txt").read_text() == TEN


@pytest.mark.parametrize("kind", KINDS)
async def test_a_change_through_a_link_that_was_there_is_taken_back(kind, begin, workspace):
    (workspace / "real").mkdir()
    (workspace / "real" / "ten.txt").write_text(TEN)
    (workspace / "link").symlink_to("real")
    given = {
        key: f"link/{text}" if text.endswith(".txt") else text for key, text in KINDS[kind]["input"].items()
    }
    before = texts(workspace / "real")
    editor = await begin("stock", [step({**KINDS[kind], "input": given}), DONE], FULL)
    await editor.run("Go.")
    after = texts(workspace / "real")
    assert after != before
    await editor.command("outrider.undo", {})
    assert texts(workspace / "real") == before
    await editor.command("outrider.redo", {})
    assert texts(workspace / "real") == after


@pytest.mark.parametrize("does", ["sed -i s/L/M/ link/x.txt", "rm link/x.txt", "rm real/x.txt"])
async def test_what_a_command_changed_through_a_link_is_taken_back(does, begin, workspace):
    (workspace / "real").mkdir()
    (workspace / "real/x.txt").write_text("L\n")
    (workspace / "link").symlink_to("real")
    read, command = call("read_file", path="link/x.txt"), call("run_command", command=does)
    editor = await begin("stock", [step(read), step(command), DONE], FULL)
    await editor.run("Go.")
    changed = texts(workspace / "real")
    assert changed != {"x.txt": "L\n"}
    for _ in range(2):
        undone = await editor.command("outrider.undo", {})
        assert (reasons(undone), undone["conflicts"]) == ({}, [])
        assert texts(workspace / "real") == {"x.txt": "L\n"}
        await editor.command("outrider.redo", {})
        assert texts(workspace / "real") == changed
    (workspace / "link").unlink()
    (workspace / "other").mkdir()
    (workspace / "link").symlink_to("other")
    undone = await editor.command("outrider.undo", {})
    assert texts(workspace / "real") == changed
    assert texts(workspace / "other") == {}


async def test_what_a_command_changed_is_taken_back_at_its_place_when_the_folders_changed(
    begin, workspace, tmp_path
):
    (workspace / "ten.txt").write_text("L\n")
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "ten.txt").write_text("theirs L\n")
    command = call("run_command", command="sed -i s/L/M/ ten.txt")
    editor = await begin("stock", [DONE, step(command), DONE], FULL)
    await editor.run("Go.")
    editor.set_folders([folder])
    await editor.command("outrider.status", {})
    await editor.run("Go on.", sessionId=editor.session_id)
    assert (folder / "ten.txt").read_text() == "theirs M\n"
    undone = await editor.command("outrider.undo", {"sessionId": editor.session_id})
    assert reasons(undone) == {}
    assert (folder / "ten.txt").read_text() == "theirs L\n"
    assert (workspace / "ten.txt").read_text() == "L\n"


async def test_a_deletion_by_its_own_name_of_what_was_edited_through_a_link_is_done_again(begin, workspace):
    (workspace / "link.py").symlink_to("tariff.py")
    edit = call("edit_file", path="link.py", old="hours * 3", new="hours * 2")
    gone = call("delete_file", path="tariff.py")
    editor = await begin("stock", [step(edit), step(gone), DONE], FULL)
    first = editor.disk("tariff.py")
    await editor.run("Go.")
    for _ in range(2):
        undone = await editor.command("outrider.undo", {})
        assert (undone["notUndoable"], editor.disk("tariff.py")) == ([], first)
        redone = await editor.command("outrider.redo", {})
        assert redone["notUndoable"] == []
        assert not (workspace / "tariff.py").exists()
    assert (workspace / "link.py").is_symlink()


async def test_an_undo_does_not_follow_a_link_that_leads_elsewhere_now(begin, workspace):
    for name in ("ten.txt", "other.txt"):
        (workspace / name).write_text(TEN)
    (workspace / "link.txt").symlink_to("ten.txt")
    editor = await begin(
        "stock", [step(call("edit_file", path="link.txt", old="line 3", new="L3")), DONE], FULL
    )
    await editor.run("Go.")
    (workspace / "other.txt").write_text((workspace / "ten.txt").read_text())
    (workspace / "link.txt").unlink()
    (workspace / "link.txt").symlink_to("other.txt")
    undone = await editor.command("outrider.undo", {})
    assert reasons(undone) and "L3" in (workspace / "other.txt").read_text()


@pytest.mark.parametrize("kind", [*KINDS, "command"])
async def test_a_workspace_that_is_named_by_a_link_is_taken_back(kind, begin, workspace, tmp_path):
    (workspace / "ten.txt").write_text(TEN)
    linked = tmp_path / "linked"
    linked.symlink_to(workspace)
    command = call("run_command", command="sed -i 's/line 3/L3/' ten.txt")
    read = call("read_file", path="ten.txt")
    model = scripted(linked, [step(read), step(KINDS.get(kind, command)), DONE])
    before = texts(workspace)
    async with start_session("stock", linked, model, {**FULL, "stateDir": str(tmp_path / "state")}) as editor:
        await editor.run("Go.")
        assert texts(workspace) != before
        await editor.command("outrider.undo", {})
    assert texts(workspace) == before


# --- other folders ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
async def test_an_undo_leaves_the_files_of_a_folder_that_took_the_place_of_its_own(
    kind, begin, workspace, tmp_path
):
    (workspace / "ten.txt").write_text(TEN)
    editor = await begin("stock", [step(KINDS[kind]), DONE], FULL)
    await editor.run("Go.")
    before = copied(workspace, tmp_path / "other")
    editor.set_folders([tmp_path / "other"])
    undone = await editor.command("outrider.undo", {"sessionId": editor.session_id})
    assert texts(tmp_path / "other") == before
    (reason,) = reasons(undone).values()
    assert f"another folder: {workspace}" in reason


@pytest.mark.parametrize("kind", KINDS)
async def test_an_undo_by_the_server_of_another_workspace_leaves_its_files(kind, workspace, tmp_path):
    (workspace / "ten.txt").write_text(TEN)
    model = scripted(workspace, [step(KINDS[kind]), DONE])
    settings = {**FULL, "stateDir": str(tmp_path / "state")}
    async with start_session("stock", workspace, model, settings) as editor:
        await editor.run("Go.")
        session_id, patch = (
            editor.session_id,
            (await editor.command("outrider.changes", {"format": "patch"}))["patch"],
        )
    before = copied(workspace, tmp_path / "other")
    async with start_session("stock", tmp_path / "other", model, settings) as editor:
        undone = await editor.command("outrider.undo", {"sessionId": session_id})
        assert reasons(undone)
        listed = (await editor.command("outrider.changes", {"sessionId": session_id}))["changes"]
        assert [one["undoable"] for one in listed] == [False]
        again = await editor.command("outrider.changes", {"sessionId": session_id, "format": "patch"})
        assert again["patch"] == patch
    assert texts(tmp_path / "other") == before
    async with start_session("stock", workspace, model, settings) as editor:
        undone = await editor.command("outrider.undo", {"sessionId": session_id})
        assert not reasons(undone) and texts(workspace)["ten.txt"] == TEN


async def test_what_a_session_changed_in_two_folders_is_kept_apart(begin, workspace, tmp_path):
    (workspace / "ten.txt").write_text(TEN)
    copied(workspace, other := tmp_path / "other")
    editor = await begin("stock", [step(EDIT), DONE, step(EDIT), DONE], FULL)
    await editor.run("Go.")
    editor.set_folders([other])
    await editor.run("Go on.", sessionId=editor.session_id)
    assert "L3" in (other / "ten.txt").read_text()
    undone = await editor.command("outrider.undo", {"sessionId": editor.session_id, "scope": "session"})
    assert list(reasons(undone)) == ["ten.txt"]
    assert (other / "ten.txt").read_text() == TEN and "L3" in (workspace / "ten.txt").read_text()
    editor.set_folders([workspace])
    await editor.command("outrider.undo", {"sessionId": editor.session_id, "scope": "session"})
    assert (workspace / "ten.txt").read_text() == TEN == (other / "ten.txt").read_text()


async def test_no_action_and_no_lens_offers_a_change_of_another_folder(begin, workspace, tmp_path):
    (workspace / "ten.txt").write_text(TEN)
    editor = await begin("stock", [step(EDIT), DONE], {**FULL, "codeLens": True})
    await editor.run("Go.")
    copied(workspace, other := tmp_path / "other")
    editor.set_folders([other])
    place = {"textDocument": {"uri": (other / "ten.txt").as_uri()}}
    editor.open(str(other / "ten.txt"))
    assert not await editor.request("textDocument/codeLens", place)


# --- paths that are used again ----------------------------------------------------------------------------------


def move(here, to):
    return call("rename_file", **{"from": here, "to": to})


MOVES = {
    "onto-deleted": [call("delete_file", path="b.txt"), move("a.txt", "b.txt")],
    "moved-then-gone": [move("a.txt", "d.txt"), call("delete_file", path="d.txt")],
    "empty-moved-then-gone": [move("c.txt", "d.txt"), call("delete_file", path="d.txt")],
    "created-then-moved": [call("write_file", path="d.txt", content="new\n"), move("d.txt", "e.txt")],
    "made-again": [move("a.txt", "d.txt"), call("write_file", path="a.txt", content="alpha\n1\n2\n")],
    "swapped": [move("a.txt", "t.txt"), move("b.txt", "a.txt"), move("t.txt", "b.txt")],
    "in-a-row": [call("delete_file", path="c.txt"), move("b.txt", "c.txt"), move("a.txt", "b.txt")],
    "put-aside": [
        call("delete_file", path="b.txt"),
        move("a.txt", "b.txt"),
        move("b.txt", "d.txt"),
        call("write_file", path="b.txt", content="new\n"),
    ],
}


@pytest.fixture
def moved(begin, workspace):
    async def moved(moves):
        for name, text in (("a", "alpha\n1\n2\n"), ("b", "beta\nx\ny\n"), ("c", "")):
            (workspace / f"{name}.txt").write_text(text)
        first = there(workspace)
        editor = await begin("stock", [step(*MOVES[moves]), DONE], FULL)
        await editor.run("Go.")
        return editor, first, there(workspace)

    return moved


def git(folder, *words, patch=""):
    done = subprocess.run(["git", *words], cwd=folder, input=patch.encode(), capture_output=True, check=False)
    assert done.returncode == 0, (done.stderr.decode(), patch)


def there(folder):
    return {path.name: path.read_text() for path in folder.iterdir() if path.suffix == ".txt"}


@pytest.mark.parametrize("moves", MOVES)
async def test_the_patch_of_paths_that_are_used_again_applies_both_ways(moves, moved, tmp_path):
    editor, first, last = await moved(moves)
    patch = (await editor.command("outrider.changes", {"format": "patch"}))["patch"]
    tree = tmp_path / "tree"
    tree.mkdir()
    for name, text in first.items():
        (tree / name).write_text(text)
    git(tree, "init", "-q")
    git(tree, "apply", patch=patch)
    assert there(tree) == last
    git(tree, "apply", "-R", patch=patch)
    assert there(tree) == first


@pytest.mark.parametrize("moves", MOVES)
async def test_paths_that_are_used_again_are_taken_back_and_brought_back(moves, moved, workspace):
    editor, first, last = await moved(moves)
    for _ in range(2):
        for command, wanted in (("outrider.undo", first), ("outrider.redo", last)):
            done = await editor.command(command, {"sessionId": editor.session_id})
            assert there(workspace) == wanted, done
            assert not done["conflicts"] and not reasons(done)


async def test_a_deletion_whose_path_another_file_has_is_not_undone_and_says_so(moved, workspace):
    editor, _, last = await moved("onto-deleted")
    (deleted, renamed) = (await editor.command("outrider.changes", {}))["changes"]
    assert deleted["reason"] == "another file has its path now"
    assert renamed["undoable"]
    undone = await editor.command("outrider.undo", {"id": deleted["changeId"]})
    assert [one["reason"] for one in undone["conflicts"]] == ["another file has its path now"]
    assert there(workspace) == last
