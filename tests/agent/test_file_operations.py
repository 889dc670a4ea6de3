"""Files and folders that are deleted and renamed: through the editor where that works, and back again."""

import asyncio
from dataclasses import replace

import pytest
from scripting import DONE, HONEST, KINDS, call, result, results, step

from outrider.testing.editor.profiles import NEOVIM, PROFILES, VSCODE
from outrider.testing.scenario import scripted, start_session
from outrider.tools.unsaved import OWN_UNSAVED, UNSAVED
from outrider.workspace.disk import disk
from outrider.workspace.disk.disk import DiskProblem

FULL = {"permissionMode": "full"}
DELETE = call("delete_file", path="tariff.py", called="delete")
RENAME = call("rename_file", **{"from": "tariff.py", "to": "src/price.py"}, called="rename")
PRICE = 'def price(hours):\n    """Two for each hour begun."""\n    return hours * 3\n'
BY_EDITOR = {"delete": {"vscode"}, "rename": {"vscode", "neovim-0.11", "neovim-0.10", "neovim-0.11-no-debounce",
             "helix-25.07", "helix-25.01"}}  # fmt: skip


def operations(editor):
    """The resource operations that the editor was sent."""
    changes = [change for edit in editor.edits for change in edit.edit.get("documentChanges", ())]
    return [change for change in changes if "kind" in change]


def files_below(root):
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if "__pycache__" not in str(path))


# --- files that are open -------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", KINDS)
async def test_promise_5_the_delete_of_an_open_file_comes_back_and_goes_again(profile, begin, workspace):
    (workspace / "tariff.py").chmod(0o755)
    editor = await begin(profile, [step(DELETE), step(call("read_file", path="tariff.py")), DONE], FULL)
    editor.open("tariff.py")
    await editor.run("Go.")
    assert result(editor) == ("ok", "Deleted tariff.py.")
    assert result(editor, 1) == ("error", "tariff.py does not exist")
    assert not (workspace / "tariff.py").exists()
    assert editor.events_of("workspace.changed") == []
    by_editor = profile in BY_EDITOR["delete"]
    assert [one["kind"] for one in operations(editor)] == (["delete"] if by_editor else [])
    assert (editor.desk.uri("tariff.py") not in editor.desk.buffers) == by_editor
    for _ in range(2):
        undone = await editor.command("outrider.undo", {})
        assert undone["undone"] == [{"path": "tariff.py", "hunks": 1}]
        assert (undone["conflicts"], undone["notUndoable"]) == ([], [])
        assert editor.disk("tariff.py") == PRICE
        assert (workspace / "tariff.py").stat().st_mode & 0o777 == 0o755
        (listed,) = (await editor.command("outrider.changes", {}))["changes"]
        assert [hunk["state"] for hunk in listed["hunks"]] == ["undone"]
        redone = await editor.command("outrider.redo", {})
        assert redone["undone"] == [{"path": "tariff.py", "hunks": 1}]
        assert not (workspace / "tariff.py").exists()


@pytest.mark.parametrize("profile", KINDS)
async def test_promise_5_the_rename_of_an_open_file_comes_back_and_goes_again(profile, begin, workspace):
    editor = await begin(profile, [step(RENAME), step(call("read_file", path="src/price.py")), DONE], FULL)
    editor.open("tariff.py")
    await editor.run("Go.")
    assert result(editor) == ("ok", "Renamed tariff.py to src/price.py.")
    assert result(editor, 1)[0] == "ok"
    assert (editor.disk("src/price.py"), (workspace / "tariff.py").exists()) == (PRICE, False)
    by_editor = profile in BY_EDITOR["rename"]
    assert [one["options"] for one in operations(editor)] == (
        [{"overwrite": False, "ignoreIfExists": False}] if by_editor else []
    )
    assert (editor.desk.uri("src/price.py") in editor.desk.buffers) == by_editor
    for _ in range(2):
        assert (await editor.command("outrider.undo", {}))["notUndoable"] == []
        assert (editor.disk("tariff.py"), (workspace / "src/price.py").exists()) == (PRICE, False)
        assert (await editor.command("outrider.redo", {}))["notUndoable"] == []
        assert (editor.disk("src/price.py"), (workspace / "tariff.py").exists()) == (PRICE, False)
    assert editor.events_of("workspace.changed") == []


@pytest.mark.parametrize("profile", KINDS)
@pytest.mark.parametrize("text", ["\ufeffone\r\ntwo\r\n", "\ufeffone\n", "one\r\ntwo\r\n", "no end"])
async def test_promise_5_a_deleted_open_file_comes_back_to_the_byte(profile, text, begin, workspace):
    (workspace / "exact.txt").write_bytes(text.encode())
    delete = call("delete_file", path="exact.txt", called="delete")
    editor = await begin(profile, [step(call("read_file", path="exact.txt"), delete), DONE], FULL)
    editor.open("exact.txt")
    await editor.run("Go.")
    assert results(editor)["delete"] == ("ok", "Deleted exact.txt.")
    for _ in range(3):
        await editor.command("outrider.undo", {})
        assert (workspace / "exact.txt").read_bytes() == text.encode()
        await editor.command("outrider.redo", {})
        assert not (workspace / "exact.txt").exists()


@pytest.mark.parametrize("fault", ["claims", "refuses", "fails", "ignores", "types"])
async def test_promise_4_an_editor_that_does_it_otherwise_is_seen_through(
    fault, begin, workspace, monkeypatch
):
    monkeypatch.setattr("outrider.lsp.profile._SETTLE_SECONDS", 0.2)
    how = {
        "claims": {"edit_fault": "claims"},
        "refuses": {"edit_fault": "refuses"},
        "fails": {"edit_fault": "fails"},
        "ignores": {"resource_operations": "ignore"},
        "types": {"types_before_edit": "# typed\n"},
    }[fault]
    editor = await begin(replace(VSCODE, name=f"vscode-{fault}", **how), [step(DELETE), DONE], FULL)
    editor.open("tariff.py")
    await editor.run("Go.")
    assert len(operations(editor)) == 1
    if fault == "types":
        assert result(editor)[0] == "error"
        assert editor.text("tariff.py") == f"# typed\n{PRICE}"
        assert editor.disk("tariff.py") == PRICE
    else:
        assert result(editor) == ("ok", "Deleted tariff.py.")
        assert not (workspace / "tariff.py").exists()
        await editor.command("outrider.undo", {})
        assert editor.disk("tariff.py") == PRICE


@pytest.mark.parametrize("profile", ["vscode", "neovim-0.11", "stock"])
@pytest.mark.parametrize("wanted", [DELETE, RENAME])
async def test_promise_4_a_file_with_unsaved_text_is_neither_deleted_nor_renamed(profile, wanted, begin):
    editor = await begin(profile, [step(wanted), DONE], FULL)
    editor.open("tariff.py")
    editor.type("tariff.py", "# mine\n", at=(0, 0))
    await editor.run("Go.")
    status, content = result(editor)
    assert status == "error"
    assert "unsaved changes" in content
    assert operations(editor) == []
    assert editor.disk("tariff.py") == PRICE


@pytest.mark.parametrize("profile", ["vscode", "neovim-0.11", "helix-25.07"])
async def test_a_file_that_the_editor_renamed_is_edited_under_its_new_name(profile, begin):
    fix = call("edit_file", path="src/price.py", old="hours * 3", new="hours * 2")
    editor = await begin(profile, [step(RENAME), step(fix), DONE], FULL)
    editor.open("tariff.py")
    await editor.run("Go.")
    status, content = result(editor, 1)
    assert status == "ok", content
    assert "hours * 2" in editor.text("src/price.py")


async def test_promise_4_a_patch_that_moves_unsaved_text_is_refused_before_anybody_is_asked(begin):
    patch = (
        "*** Begin Patch\n*** Update File: tariff.py\n*** Move to: price.py\n@@\n"
        "-    return hours * 3\n+    return hours * 2\n*** End Patch\n"
    )
    editor = await begin("stock", [step(call("apply_patch", patch=patch)), DONE])
    editor.open("tariff.py")
    editor.type("tariff.py", "# mine\n", at=(0, 0))
    await editor.run("Go.")
    status, content = result(editor)
    assert status == "error"
    assert "tariff.py is open with unsaved changes; they have to be saved first" in content
    assert editor.events_of("approval.requested") == []


@pytest.mark.parametrize("typed", ["", "# mine\n"], ids=["clean", "typed"])
@pytest.mark.parametrize("profile", [one for one in KINDS if one not in BY_EDITOR["delete"]])
async def test_what_is_typed_into_the_document_of_a_deleted_file_is_the_persons(
    profile, typed, begin, workspace
):
    editor = await begin(profile, [step(DELETE), DONE], FULL, answers=lambda _: "Keep mine")
    editor.open("tariff.py")
    await editor.run("Go.")
    if typed:
        editor.type("tariff.py", typed, at=(0, 0))
    undone = await editor.command("outrider.undo", {})
    assert undone["undone"] == [{"path": "tariff.py", "hunks": 1}]
    assert (undone["conflicts"], undone["notUndoable"]) == ([], [])
    assert editor.disk("tariff.py") == PRICE
    assert editor.text("tariff.py") == f"{typed}{PRICE}"
    assert any("the open buffer has unsaved changes" in one.text for one in editor.said) == bool(typed)
    redone = await editor.command("outrider.redo", {})
    assert [one["reason"].split(";")[0] for one in redone["conflicts"]] == (
        ["the file was changed since, so it is not deleted"] if typed else []
    )
    assert (workspace / "tariff.py").exists() == bool(typed)


@pytest.mark.parametrize("typed", ["", "# mine\n"], ids=["clean", "typed"])
@pytest.mark.parametrize("wanted", [DELETE, RENAME], ids=["delete", "rename"])
@pytest.mark.parametrize("profile", KINDS)
async def test_promise_5_a_file_whose_document_is_left_comes_back_after_a_restart(
    profile, wanted, typed, workspace
):
    model, ids = scripted(workspace, [step(wanted), DONE]), {"testing": {"ids": None}}
    async with start_session(profile, workspace, model, {**FULL, **ids}) as editor:
        editor.open("tariff.py")
        await editor.run("Go.")
        is_left = editor.desk.uri("tariff.py") in editor.desk.buffers
    assert not (workspace / "tariff.py").exists()
    async with start_session(profile, workspace, model, ids) as editor:
        if is_left:
            (workspace / "tariff.py").write_text(PRICE)
            editor.open("tariff.py")
            (workspace / "tariff.py").unlink()
            if typed:
                editor.type("tariff.py", typed, at=(0, 0))
        undone = await editor.command("outrider.undo", {})
        if is_left and typed and wanted is RENAME:
            # Saving what was typed would overwrite what the file has by then.
            assert (undone["undone"], [one["path"] for one in undone["conflicts"]]) == ([], ["src/price.py"])
            assert editor.text("tariff.py") == f"{typed}{PRICE}"
            return
        assert [(one["path"], one["hunks"]) for one in undone["undone"]] == [("tariff.py", 1)]
        assert (undone["conflicts"], undone["notUndoable"]) == ([], [])
        assert editor.disk("tariff.py") == PRICE
        assert not (workspace / "src/price.py").exists()
        if is_left:
            assert editor.text("tariff.py") == f"{typed}{PRICE}"


@pytest.mark.parametrize("typed", ["", "# mine\n"], ids=["clean", "typed"])
@pytest.mark.parametrize("wanted", [DELETE, RENAME], ids=["delete", "rename"])
async def test_a_document_that_is_left_stands_for_nothing_after_a_restart(wanted, typed, workspace):
    read = call("read_file", path="tariff.py", called="read")
    model, ids = scripted(workspace, [step(wanted), DONE, step(read), DONE]), {"testing": {"ids": None}}
    async with start_session("stock", workspace, model, {**FULL, **ids}) as editor:
        editor.open("tariff.py")
        await editor.run("Go.")
        session = editor.session_id
    async with start_session("stock", workspace, model, ids) as editor:
        (workspace / "tariff.py").write_text(PRICE)
        editor.open("tariff.py")
        (workspace / "tariff.py").unlink()
        if typed:
            editor.type("tariff.py", typed, at=(0, 0))
        await editor.run("Look.", sessionId=session)
        expected = ("ok", "# mine") if typed else ("error", "tariff.py does not exist")
        status, said = results(editor)["read"]
        assert (status, expected[1] in said) == (expected[0], True), said


@pytest.mark.parametrize("wanted", [DELETE, RENAME], ids=["delete", "rename"])
async def test_what_is_typed_while_the_file_goes_is_left_and_told(wanted, begin, workspace, monkeypatch):
    name = wanted["id"]
    read = call("read_file", path="tariff.py", called="read")
    editor = await begin("stock", [step(wanted), step(read), DONE], FULL)
    editor.open("tariff.py")
    loop, go = asyncio.get_running_loop(), getattr(disk, name)

    async def type_and_tell():
        editor.type("tariff.py", "# mine\n", at=(0, 0))
        await editor.command("outrider.sessions", {})

    def slow(*given, **more):
        asyncio.run_coroutine_threadsafe(type_and_tell(), loop).result(5)
        return go(*given, **more)

    monkeypatch.setattr(disk, name, slow)
    await editor.run("Go.")

    assert not (workspace / "tariff.py").exists()
    assert results(editor)[name][0] == "ok"
    assert "Their text is unsaved, in the open buffer of tariff.py." in results(editor)[name][1]
    assert "# mine" in results(editor)["read"][1]
    assert any(one.shown and "tariff.py was " in one.text and "unsaved" in one.text for one in editor.said)
    assert editor.text("tariff.py") == f"# mine\n{PRICE}"


async def test_a_document_that_is_left_can_be_written_anew(begin, workspace):
    write = call("write_file", path="tariff.py", content="new\n", called="write")
    editor = await begin("stock", [step(DELETE), step(write), DONE], FULL)
    editor.open("tariff.py")
    await editor.run("Go.")
    assert results(editor)["write"] == ("ok", "Created tariff.py.")
    assert editor.disk("tariff.py") == "new\n"


async def test_a_patch_that_fails_gives_a_deleted_open_file_back_to_the_byte(begin, workspace):
    (workspace / "tariff.py").write_bytes(b"\xef\xbb\xbfone\r\n")
    (workspace / "tariff.py").chmod(0o700)
    (workspace / "kept.txt").write_text("kept\n")
    (workspace / "kept.txt").chmod(0o444)
    patch = "*** Begin Patch\n*** Delete File: tariff.py\n*** Update File: kept.txt\n@@\n-kept\n+gone\n*** End Patch"
    editor = await begin("eglot", [step(call("apply_patch", patch=patch)), DONE], FULL)
    editor.open("tariff.py")
    await editor.run("Go.")
    assert result(editor)[0] == "error"
    assert (workspace / "tariff.py").read_bytes() == b"\xef\xbb\xbfone\r\n"
    assert (workspace / "tariff.py").stat().st_mode & 0o777 == 0o700


# --- modes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o400])
async def test_promise_5_a_deleted_file_comes_back_with_its_mode(mode, begin, workspace):
    (workspace / "tariff.py").chmod(mode)
    editor = await begin("stock", [step(DELETE), DONE], FULL)
    await editor.run("Go.")
    (applied,) = editor.events_of("edit.applied")
    assert applied["data"]["mode"] == f"{mode:o}"
    await editor.command("outrider.undo", {})
    assert (workspace / "tariff.py").stat().st_mode & 0o777 == mode


async def test_promise_5_a_created_file_keeps_the_mode_it_was_given_since(begin, workspace):
    editor = await begin("stock", [step(call("write_file", path="run.sh", content="true\n")), DONE], FULL)
    await editor.run("Go.")
    assert "mode" not in editor.events_of("edit.applied")[0]["data"]
    (workspace / "run.sh").chmod(0o755)
    await editor.command("outrider.undo", {})
    assert not (workspace / "run.sh").exists()
    await editor.command("outrider.redo", {})
    assert (workspace / "run.sh").stat().st_mode & 0o777 == 0o755


async def test_promise_5_what_a_command_deleted_comes_back_with_its_mode(begin, workspace):
    (workspace / "tariff.py").chmod(0o755)
    calls = step(call("read_file", path="tariff.py"), call("run_command", command="rm tariff.py"))
    editor = await begin("stock", [calls, DONE], FULL)
    await editor.run("Go.")
    await editor.command("outrider.undo", {})
    assert (workspace / "tariff.py").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("is_open", [False, True])
async def test_promise_5_a_file_that_a_command_replaced_comes_back_with_its_mode(is_open, begin, workspace):
    path = workspace / "tariff.py"
    path.chmod(0o755)
    replace_it = "sed 's/3/2/' tariff.py > other && chmod 600 other && mv other tariff.py"
    read, run = call("read_file", path="tariff.py"), call("run_command", command=replace_it)
    editor = await begin("stock", [step(read), step(run), DONE], FULL)
    await editor.run("Go.")
    if is_open:
        editor.open("tariff.py")
    for number, text in enumerate((PRICE, PRICE.replace("3", "2"), PRICE)):
        await editor.command("outrider.redo" if number == 1 else "outrider.undo", {})
        assert (editor.text("tariff.py") if is_open else editor.disk("tariff.py")) == text
        assert path.stat().st_mode & 0o777 == (0o600 if number == 1 else 0o755)
    await editor.command("outrider.redo", {})
    path.chmod(0o400)
    await editor.command("outrider.undo", {})
    assert path.stat().st_mode & 0o777 == 0o400, "what the user set since stays"


# --- folders -------------------------------------------------------------------------------------------------


@pytest.fixture
def tree(workspace):
    (workspace / "src/deep/empty").mkdir(parents=True)
    (workspace / "src/a.py").write_text("a = 1\n")
    (workspace / "src/deep/b.sh").write_text("true\n")
    (workspace / "src/deep/b.sh").chmod(0o755)
    (workspace / "src/none.txt").write_text("")
    return workspace


@pytest.mark.parametrize("profile", KINDS)
@pytest.mark.parametrize("is_open", [False, True])
async def test_promise_5_a_folder_goes_as_one_and_comes_back(profile, is_open, begin, tree):
    editor = await begin(profile, [step(call("delete_file", path="src")), DONE], FULL)
    if is_open:
        editor.open("src/a.py")
        editor.open("src/none.txt")
    await editor.run("Go.")
    assert result(editor) == ("ok", "Deleted src/a.py.\nDeleted src/deep/b.sh.\nDeleted src/none.txt.")
    assert not (tree / "src").exists()
    for _ in range(2):
        undone = await editor.command("outrider.undo", {})
        assert len(undone["undone"]) == 3
        assert files_below(tree / "src") == ["a.py", "deep", "deep/b.sh", "deep/empty", "none.txt"]
        assert (editor.disk("src/a.py"), editor.disk("src/none.txt")) == ("a = 1\n", "")
        assert (tree / "src/deep/b.sh").stat().st_mode & 0o777 == 0o755
        await editor.command("outrider.redo", {})
        assert not (tree / "src").exists()


CODE = ["code", "code/a.py", "code/deep", "code/deep/b.sh", "code/deep/empty", "code/none.txt"]


def folder_modes(root):
    return {path.name: path.stat().st_mode & 0o777 for path in root.rglob("*") if path.is_dir()}


@pytest.mark.parametrize("way", ["delete", "rename"])
async def test_the_folders_of_a_folder_come_back_with_their_modes(way, begin, tree):
    modes = {"src": 0o750, "deep": 0o755, "empty": 0o500}
    for name, path in (("empty", "src/deep/empty"), ("src", "src")):
        (tree / path).chmod(modes[name])
    calls = {
        "delete": call("delete_file", path="src"),
        "rename": call("rename_file", **{"from": "src", "to": "lib/src"}),
    }
    editor = await begin("stock", [step(calls[way]), DONE], FULL)
    await editor.run("Go.")
    for _ in range(2):
        if way == "rename":
            assert folder_modes(tree / "lib") == modes
        undone = await editor.command("outrider.undo", {})
        assert undone["notUndoable"] == []
        assert not (tree / "lib").exists()
        there = folder_modes(tree)
        assert {name: there.get(name) for name in modes} == modes
        await editor.command("outrider.redo", {})
        assert not (tree / "src").exists()


async def test_a_folder_that_the_person_made_again_keeps_its_mode(begin, tree):
    (tree / "src").chmod(0o750)
    editor = await begin("stock", [step(call("delete_file", path="src")), DONE], FULL)
    await editor.run("Go.")
    (tree / "src").mkdir(mode=0o700)
    await editor.command("outrider.undo", {})
    assert (tree / "src").stat().st_mode & 0o777 == 0o700
    assert editor.disk("src/a.py") == "a = 1\n"


@pytest.mark.parametrize("profile", KINDS)
async def test_promise_5_a_folder_is_renamed_as_one_and_back(profile, begin, tree):
    move = call("rename_file", **{"from": "src", "to": "lib/code"})
    editor = await begin(profile, [step(move), DONE], FULL)
    editor.open("src/a.py")
    await editor.run("Go.")
    assert result(editor)[0] == "ok"
    assert not (tree / "src").exists()
    assert files_below(tree / "lib") == CODE
    assert (tree / "lib/code/deep/b.sh").stat().st_mode & 0o777 == 0o755
    assert (await editor.command("outrider.undo", {}))["notUndoable"] == []
    assert files_below(tree / "src") == ["a.py", "deep", "deep/b.sh", "deep/empty", "none.txt"]
    assert not (tree / "lib").exists()
    await editor.command("outrider.redo", {})
    assert not (tree / "src").exists()
    assert editor.disk("lib/code/a.py") == "a = 1\n"


async def test_promise_2_the_approval_of_a_folder_lists_its_files(begin, tree):
    editor = await begin("stock", [step(call("delete_file", path="src")), DONE], answers=["Reject"])
    await editor.run("Go.")
    (asked,) = editor.events_of("approval.requested")
    assert asked["data"]["title"] == "Delete the folder src (3 files)"
    for line in ("Delete src/a.py (−1)", "Delete src/deep/b.sh (−1)", "Delete src/none.txt (−0)"):
        assert line in asked["data"]["detail"]
    assert "Allow for this session" not in asked["data"]["options"]
    assert files_below(tree / "src") == ["a.py", "deep", "deep/b.sh", "deep/empty", "none.txt"]


async def test_promise_2_a_file_that_comes_into_the_folder_is_asked_about(begin, tree):
    editor = await begin("stock", [step(call("delete_file", path="src")), DONE])

    def person(_question):
        (tree / "src/new.txt").write_text("new\n")
        return "Allow once"

    editor.answers = person
    await editor.run("Go.")
    assert [question.message.partition("\n")[0] for question in editor.questions] == [
        "Delete the folder src (3 files)",
        "Delete the folder src (4 files)",
    ]
    assert not (tree / "src").exists()


REFUSED = {
    "binary": "src/image.png is binary",
    "link": "src/link is a link",
    "many": "it contains more than 200 files",
    "unsaved": "src/a.py is open with unsaved changes",
    "empty": "it contains no files",
    "workspace": "it is or contains a workspace folder",
}


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("tool", ["delete_file", "rename_file"])
async def test_a_folder_that_could_not_be_brought_back_is_refused(what, tool, begin, tree):
    path = {"empty": "src/deep/empty", "workspace": "."}.get(what, "src")
    arguments = {"path": path} if tool == "delete_file" else {"from": path, "to": "elsewhere"}
    editor = await begin("stock", [step(call(tool, **arguments)), DONE], FULL)
    match what:
        case "binary":
            (tree / "src/image.png").write_bytes(b"\x89PNG\0\0")
        case "link":
            (tree / "src/link").symlink_to(tree / "README.md")
        case "many":
            for number in range(200):
                (tree / f"src/{number}.txt").write_text("x\n")
        case "unsaved":
            editor.open("src/a.py")
            editor.type("src/a.py", "mine\n")
        case _:
            pass
    before = files_below(tree)
    await editor.run("Go.")
    status, content = result(editor)
    assert status == "error"
    assert REFUSED[what] in content
    assert files_below(tree) == before


@pytest.mark.parametrize(
    ("to", "told"),
    [
        ("README.md", "README.md already exists."),
        ("readme.md", "readme.md differs from README.md, which already exists, only in case"),
        ("tests", "tests already exists."),
        ("Tests", "Tests differs from tests, which already exists, only in case"),
    ],
)
@pytest.mark.parametrize("source", ["tariff.py", "src"])
async def test_a_rename_onto_what_exists_is_refused(to, told, source, begin, tree):
    editor = await begin("stock", [step(call("rename_file", **{"from": source, "to": to})), DONE], FULL)
    await editor.run("Go.")
    status, content = result(editor)
    assert (status, told in content) == ("error", True), content


GONE = "gone is a link to a missing file; nothing is created through links"


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        (
            call("write_file", path="dangling.txt", content="x\n"),
            "dangling.txt is a link to a missing file",
        ),
        (
            call("apply_patch", patch="*** Begin Patch\n*** Add File: dangling.txt\n+x\n*** End Patch\n"),
            "dangling.txt is a link to a missing file",
        ),
        (call("rename_file", **{"from": "tariff.py", "to": "dangling.txt"}), "dangling.txt already exists"),
        (call("write_file", path="gone/x.txt", content="x\n"), GONE),
        (call("write_file", path="gone/deep/x.txt", content="x\n"), GONE),
        (call("apply_patch", patch="*** Begin Patch\n*** Add File: gone/x.txt\n+x\n*** End Patch\n"), GONE),
        (
            call(
                "apply_patch",
                patch=(
                    "*** Begin Patch\n*** Update File: tariff.py\n*** Move to: gone/x.py\n@@\n-def price(hours):\n"
                    "+def cost(hours):\n*** End Patch\n"
                ),
            ),
            GONE,
        ),
        (call("rename_file", **{"from": "tariff.py", "to": "gone/x.py"}), GONE),
        (call("rename_file", **{"from": "tests", "to": "gone/tests"}), GONE),
        (call("delete_file", path="dangling.txt"), "dangling.txt is a link; links are not followed"),
        (call("delete_file", path="link.py"), "link.py is a link; links are not followed"),
        (
            call("rename_file", **{"from": "link.py", "to": "new.py"}),
            "link.py is a link; links are not followed",
        ),
        (
            call("apply_patch", patch="*** Begin Patch\n*** Delete File: link.py\n*** End Patch\n"),
            "link.py is a link; links are not followed",
        ),
    ],
)
async def test_a_link_is_refused_before_anybody_is_asked(wanted, says, begin, workspace):
    (workspace / "dangling.txt").symlink_to("nowhere.txt")
    (workspace / "gone").symlink_to("nowhere")
    (workspace / "link.py").symlink_to("tariff.py")
    before = files_below(workspace)
    editor = await begin("stock", [step(wanted), DONE])
    await editor.run("Go.")
    status, content = result(editor)
    assert (status, says in content) == ("error", True), content
    assert editor.events_of("approval.requested") == []
    assert (files_below(workspace), editor.disk("tariff.py")) == (before, PRICE)


async def test_a_folder_is_not_moved_into_itself(begin, tree):
    move = call("rename_file", **{"from": "src", "to": "src/deep/src"})
    editor = await begin("stock", [step(move), DONE], FULL)
    await editor.run("Go.")
    assert result(editor) == ("error", "src/deep/src lies in src, so it cannot be moved there.")


async def test_a_rename_that_changes_only_case_is_possible(begin, workspace):
    move = call("rename_file", **{"from": "README.md", "to": "Readme.md"})
    editor = await begin("stock", [step(move), DONE], FULL)
    await editor.run("Go.")
    assert result(editor)[0] == "ok"
    assert editor.disk("Readme.md").startswith("# Parking")


async def test_a_folder_half_of_which_cannot_go_stays_whole(begin, tree, monkeypatch):
    delete = disk.delete

    def full(path, before):
        return DiskProblem("failed", "cannot be deleted") if path.name == "b.sh" else delete(path, before)

    monkeypatch.setattr(disk, "delete", full)
    editor = await begin("stock", [step(call("delete_file", path="src")), DONE], FULL)
    await editor.run("Go.")
    status, content = result(editor)
    assert status == "error"
    assert "Reverted: src/a.py." in content
    assert files_below(tree / "src") == ["a.py", "deep", "deep/b.sh", "deep/empty", "none.txt"]


def test_every_profile_with_file_operations_is_tried():
    assert BY_EDITOR["rename"] <= set(HONEST)
    assert NEOVIM.name in PROFILES


# --- folders that are made for files ---------------------------------------------------------------------------

MAKE = [
    call("write_file", path="new/deep/a.txt", content="a\n"),
    call("write_file", path="new/deep/b.txt", content="b\n"),
]


async def test_promise_5_the_folders_of_a_new_file_go_with_it(begin, workspace):
    editor = await begin("stock", [step(*MAKE), DONE], FULL)
    await editor.run("Go.")
    for _ in range(2):
        undone = await editor.command("outrider.undo", {})
        assert (len(undone["undone"]), undone["notUndoable"]) == (2, [])
        assert not (workspace / "new").exists()
        await editor.command("outrider.redo", {})
        assert files_below(workspace / "new") == ["deep", "deep/a.txt", "deep/b.txt"]


@pytest.mark.parametrize("gone", [DELETE, RENAME], ids=["delete", "rename"])
async def test_promise_5_a_file_comes_back_where_a_folder_was_made_since(gone, begin, workspace):
    write = call("write_file", path="tariff.py/deep/new.txt", content="new\n")
    editor = await begin("stock", [step(gone), step(write), DONE], FULL)
    await editor.run("Go.")
    assert (workspace / "tariff.py/deep/new.txt").exists()
    assert all(one["undoable"] for one in (await editor.command("outrider.changes", {}))["changes"])
    for _ in range(2):
        undone = await editor.command("outrider.undo", {})
        assert (undone["conflicts"], undone["notUndoable"]) == ([], [])
        assert editor.disk("tariff.py") == PRICE
        redone = await editor.command("outrider.redo", {})
        assert (redone["conflicts"], redone["notUndoable"]) == ([], [])
        assert editor.disk("tariff.py/deep/new.txt") == "new\n"


async def test_a_folder_that_was_there_or_holds_more_stays(begin, workspace):
    (workspace / "new").mkdir()
    editor = await begin("stock", [step(*MAKE), DONE], FULL)
    await editor.run("Go.")
    (workspace / "new/deep/mine.txt").write_text("mine\n")
    await editor.command("outrider.undo", {})
    assert files_below(workspace / "new") == ["deep", "deep/mine.txt"]
    await editor.command("outrider.redo", {})
    (workspace / "new/deep/mine.txt").unlink()
    await editor.command("outrider.undo", {})
    assert files_below(workspace / "new") == []


async def test_empty_folders_beside_a_new_file_stay(begin, workspace):
    editor = await begin("stock", [step(*MAKE), DONE], FULL)
    await editor.run("Go.")
    (workspace / "new/mine").mkdir()
    (workspace / "new/deep/mine").mkdir()
    await editor.command("outrider.undo", {})
    assert files_below(workspace / "new") == ["deep", "deep/mine", "mine"]
    await editor.command("outrider.redo", {})
    (workspace / "new/deep/mine").rmdir()
    await editor.command("outrider.undo", {})
    assert files_below(workspace / "new") == ["mine"]


async def test_a_patch_that_fails_leaves_no_folder(begin, workspace, monkeypatch):
    patch = "*** Begin Patch\n*** Add File: new/deep/a.txt\n+a\n*** Delete File: README.md\n*** End Patch\n"
    editor = await begin("stock", [step(call("apply_patch", patch=patch)), DONE], FULL)
    monkeypatch.setattr(disk, "delete", lambda path, before, real=disk.delete: (
        DiskProblem("failed", "is busy") if path.name == "README.md" else real(path, before)
    ))  # fmt: skip
    await editor.run("Go.")
    assert result(editor)[0] == "error"
    assert not (workspace / "new").exists()


# --- the agent's own unsaved edits ----------------------------------------------------------------------------

FIX = call("edit_file", path="tariff.py", old="hours * 3", new="hours * 2")
MOVED = call(
    "apply_patch",
    patch="*** Begin Patch\n*** Update File: tariff.py\n*** Move to: src/price.py\n*** End Patch\n",
)


@pytest.mark.parametrize("then", [RENAME, MOVED, DELETE], ids=["rename", "patch", "delete"])
async def test_the_agents_own_unsaved_edit_is_saved_before_a_rename_or_delete(then, begin, workspace):
    editor = await begin("saves", [step(FIX), step(then), DONE], {"permissionMode": "auto-edit"})
    editor.open("tariff.py")
    await editor.run("Go.")
    assert result(editor, 1)[0] == "ok", result(editor, 1)
    (saved,) = editor.events_of("workspace.saved")
    assert saved["data"]["paths"] == ["tariff.py"]
    assert not (workspace / "tariff.py").exists()
    if then is not DELETE:
        assert (workspace / "src/price.py").read_text() == PRICE.replace("hours * 3", "hours * 2")
    undone = await editor.command("outrider.undo", {})
    assert (undone["conflicts"], undone["notUndoable"]) == ([], [])
    assert editor.disk("tariff.py") == PRICE, undone


async def test_where_the_editor_does_not_save_the_model_is_told_so(begin):
    editor = await begin("stock", [step(FIX), step(RENAME), DONE], {"permissionMode": "auto-edit"})
    editor.open("tariff.py")
    await editor.run("Go.")
    assert result(editor, 1) == ("error", f"tariff.py {OWN_UNSAVED}.")
    assert editor.disk("tariff.py") == PRICE


@pytest.mark.parametrize("first", [True, False])
async def test_what_the_person_typed_besides_is_not_saved_for_them(first, begin):
    editor = await begin("saves", [step(FIX), DONE, step(RENAME), DONE], {"permissionMode": "auto-edit"})
    editor.open("tariff.py")
    if first:
        editor.type("tariff.py", "# mine\n", at=(0, 0))
    await editor.run("Go.")
    if not first:
        editor.type("tariff.py", "# mine\n", at=(0, 0))
    await editor.run("Go on.", sessionId=editor.session_id)
    assert result(editor, 1) == ("error", f"tariff.py {UNSAVED}.")
    assert editor.disk("tariff.py") == PRICE
