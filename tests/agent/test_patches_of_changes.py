"""The patch of a session: git takes it, whatever became of a path, and what is not in it is named."""

import subprocess

import pytest
from file_steps import delete, edit, rename, run, write
from scripting import DONE, call, step

FULL = {"permissionMode": "full"}
TEN = "".join(f"line {number}\n" for number in range(1, 11))
UTF_16 = "\ufeffgrüß\nzwei\n".encode("utf-16-be")


async def patch_of(editor, **more):
    return await editor.command("outrider.changes", {"format": "patch", **more})


def left_out(given):
    return {one["path"]: one["reason"] for one in given.get("leftOut", [])}


def git_apply(folder, patch, *words):
    git(folder, "apply", *words, "-", data=patch)


def git(folder, *words, data=""):
    done = subprocess.run(
        ["git", "-c", "core.autocrlf=false", *words],
        cwd=folder,
        input=data.encode(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, (done.stderr.decode(), data)


def files(root):
    """Each file with its bytes, and whether git takes it for a program."""
    return {
        path.name: (path.read_bytes(), bool(path.stat().st_mode & 0o100)) for path in root.glob("[a-z]*.*")
    }


@pytest.mark.parametrize(
    "turns",
    [
        [edit("a.txt", "line 3", "L3"), delete("b.txt"), rename("a.txt", "b.txt")],
        [edit("b.txt", "bee", "be"), rename("b.txt", "c.txt"), delete("a.txt"), rename("c.txt", "a.txt")],
        [rename("a.txt", "c.txt"), rename("b.txt", "a.txt"), rename("c.txt", "b.txt")],
        [rename("a.txt", "c.txt"), write("a.txt", "new\n"), delete("b.txt"), rename("c.txt", "b.txt")],
        [write("new.txt", "new\n"), rename("a.txt", "c.txt"), rename("new.txt", "a.txt"), delete("b.txt")],
    ],
    ids=["onto a deleted one", "by another path", "swapped", "made anew behind it", "made before it"],
)
async def test_a_patch_applies_whichever_file_got_the_path_of_another(turns, begin, workspace, tmp_path):
    first = tmp_path / "first"
    first.mkdir()
    for name, text in {"a.txt": TEN, "b.txt": "bee\nbumble\nhoney\n"}.items():
        (workspace / name).write_text(text)
        (first / name).write_text(text)
    (first / "tariff.py").write_bytes((workspace / "tariff.py").read_bytes())
    editor = await begin("stock", [*turns, DONE], FULL)
    await editor.run("Go.")
    patch = (await patch_of(editor))["patch"]
    git_apply(first, patch)
    assert files(first) == files(workspace)
    git_apply(first, patch, "-R")
    assert (first / "a.txt").read_text() == TEN


@pytest.mark.parametrize("anew", [[], [delete("f.txt")]], ids=["there", "gone again"])
@pytest.mark.parametrize(
    "raw",
    [UTF_16, b"\xef\xbb\xbfone\n", b"one\r\ntwo\r\n", b"plain\n"],
    ids=["utf-16", "mark", "crlf", "mode"],
)
async def test_a_file_that_was_made_anew_is_deleted_in_a_patch_as_it_was(
    raw, anew, begin, workspace, tmp_path
):
    first = tmp_path / "first"
    first.mkdir()
    for folder in (workspace, first):
        (folder / "f.txt").write_bytes(raw)
        (folder / "f.txt").chmod(0o755)
    before = files(first)
    editor = await begin("stock", [delete("f.txt"), write("f.txt", "new\n"), *anew, DONE], FULL)
    await editor.run("Go.")
    patch = (await patch_of(editor))["patch"]
    git_apply(first, patch)
    assert files(first).get("f.txt") == (None if anew else (b"new\n", False))
    git_apply(first, patch, "-R")
    assert files(first) == before


async def test_a_deletion_after_an_edit_of_the_line_ends_has_the_bytes_of_the_beginning(
    begin, workspace, tmp_path
):
    first = tmp_path / "first"
    first.mkdir()
    for folder in (workspace, first):
        (folder / "f.txt").write_bytes(b"one\ntwo\n")
    over = step(call("write_file", path="f.txt", content="one\r\ntwo\r\n", overwrite=True))
    editor = await begin("stock", [over, delete("f.txt"), write("f.txt", "new\n"), DONE], FULL)
    await editor.run("Go.")
    patch = (await patch_of(editor))["patch"]
    git_apply(first, patch)
    assert (first / "f.txt").read_bytes() == b"new\n"


@pytest.mark.parametrize("raw", [UTF_16, "grün\n".encode("latin-1"), b"\0\1"], ids=["16", "latin", "binary"])
async def test_what_a_command_changed_and_is_not_known_is_left_out_by_name(raw, begin, workspace):
    (workspace / "f.txt").write_bytes(raw)
    editor = await begin("stock", [run("printf 'neu\\n' > f.txt; ln -s f.txt l.txt"), DONE], FULL)
    await editor.run("Go.")
    given = await patch_of(editor)
    assert given["patch"] == ""
    assert list(left_out(given)) == ["f.txt", "l.txt"]
    reason = left_out(given)["f.txt"]
    assert reason.endswith("its content before is unknown") or "in another encoding" in reason


async def test_bits_that_are_nothing_to_git_are_left_out_though_the_text_is_in_the_patch(begin, workspace):
    (workspace / "a.sh").write_text(TEN)
    editor = await begin("stock", [run("chmod 600 a.sh; echo more >> a.sh"), DONE], FULL)
    await editor.run("Go.")
    given = await patch_of(editor)
    assert left_out(given) == {"a.sh": "its mode was changed from 644 to 600 by a command"}
    git_apply(workspace, given["patch"], "-R")
    assert editor.disk("a.sh") == TEN


async def test_bits_that_are_nothing_to_git_are_left_out_as_long_as_they_are_so(begin, workspace):
    (workspace / "a.sh").write_text(TEN)
    (workspace / "b.sh").write_text(TEN)
    editor = await begin("stock", [run("chmod 600 a.sh; chmod 755 b.sh"), DONE], FULL)
    await editor.run("Go.")
    given = await patch_of(editor)
    assert list(left_out(given)) == ["a.sh"]
    assert given["patch"] == "diff --git a/b.sh b/b.sh\nold mode 100644\nnew mode 100755\n"
    (workspace / "a.sh").chmod(0o644)
    assert left_out(await patch_of(editor)) == {}


async def test_a_turn_leaves_out_what_it_did_and_not_what_others_did(begin, workspace):
    (workspace / "f.bin").write_bytes(b"\0\1")
    turns = [run("printf 'x\\n' > f.bin"), DONE, write("new.txt", "x\n"), DONE]
    editor = await begin("stock", turns, FULL)
    first = await editor.run("Go.")
    second = await editor.run("Go on.", sessionId=editor.session_id)
    assert list(left_out(await patch_of(editor, turnId=first["turnId"]))) == ["f.bin"]
    assert left_out(await patch_of(editor, turnId=second["turnId"])) == {}


TAKEN = "another file has its path now, so a patch could not restore it there"


@pytest.mark.parametrize(
    ("first", "then", "reason"),
    [
        ([delete("f.txt")], [write("f.txt", "new\n")], {"f.txt": TAKEN}),
        ([rename("f.txt", "g.txt")], [write("f.txt", "new\n")], {"f.txt": TAKEN}),
        ([delete("f.txt")], [rename("ten.txt", "f.txt")], {"f.txt": TAKEN}),
        (
            [rename("f.txt", "g.txt"), rename("ten.txt", "f.txt")],
            [write("ten.txt", "new\n")],
            {"ten.txt": TAKEN, "f.txt": TAKEN},
        ),
        (
            [rename("f.txt", "g.txt")],
            [rename("g.txt", "h.txt")],
            {"f.txt": "it was renamed to g.txt, and is now named h.txt"},
        ),
        ([rename("f.txt", "g.txt"), delete("ten.txt")], [write("new.txt", "new\n")], {}),
        ([edit("ten.txt", "line 3", "L3")], [delete("ten.txt"), write("ten.txt", "new\n")], {}),
    ],
)
async def test_what_a_patch_of_one_turn_could_not_take_back_as_a_later_one_is_in_its_way_is_named(
    first, then, reason, begin, workspace
):
    (workspace / "ten.txt").write_text(TEN)
    (workspace / "f.txt").write_text("one\n")
    turns = [*first, write("made.txt", "made\n"), DONE, *then, DONE]
    editor = await begin("stock", turns, FULL)
    turn = (await editor.run("Go."))["turnId"]
    await editor.run("Go on.", sessionId=editor.session_id)
    now = files(workspace)
    given = await patch_of(editor, turnId=turn)
    assert left_out(given) == reason
    git_apply(workspace, given["patch"], "-R")
    assert not (workspace / "made.txt").exists()
    git_apply(workspace, given["patch"])
    assert files(workspace) == now
    git_apply(workspace, (await patch_of(editor))["patch"], "-R")
    first_files = {"ten.txt": (TEN.encode(), False), "f.txt": (b"one\n", False)}
    assert files(workspace) == {"tariff.py": now["tariff.py"], **first_files}


async def test_a_deleted_file_that_the_person_made_anew_is_not_in_the_patch_and_named(begin, workspace):
    (workspace / "f.txt").write_text("one\n")
    editor = await begin("stock", [delete("f.txt"), write("made.txt", "made\n"), DONE], FULL)
    await editor.run("Go.")
    (workspace / "f.txt").write_text("mine\n")
    given = await patch_of(editor)
    assert left_out(given) == {"f.txt": TAKEN}
    git_apply(workspace, given["patch"], "-R")
    assert (workspace / "f.txt").read_text() == "mine\n"


async def test_a_patch_applies_below_the_root_of_a_repository(begin, workspace, tmp_path):
    root = tmp_path / "repository"
    (root / "app").mkdir(parents=True)
    git(root, "init", "-q")
    (root / "app" / "a.txt").write_text(TEN)
    (workspace / "a.txt").write_text(TEN)
    editor = await begin("stock", [edit("a.txt", "line 3", "L3"), write("b.txt", "new\n"), DONE], FULL)
    await editor.run("Go.")
    patch = (await patch_of(editor))["patch"]
    git_apply(root, patch, "--directory=app")
    assert (root / "app" / "a.txt").read_text() == TEN.replace("line 3", "L3")
    git_apply(root / "app", patch, "-R", "--directory=app")
    assert not (root / "app" / "b.txt").exists()


@pytest.mark.parametrize(
    "last", [delete("wide.txt"), edit("wide.txt", "two", "2"), rename("wide.txt", "b.txt")]
)
async def test_a_file_whose_text_before_a_command_is_not_known_is_left_out_as_a_whole(last, begin, workspace):
    (workspace / "ten.txt").write_text(TEN)
    (workspace / "wide.txt").write_bytes("\ufeffone\n".encode("utf-16-le"))
    turns = [edit("ten.txt", "line 3", "L3"), run("printf 'two\\n' > wide.txt"), last, DONE]
    editor = await begin("stock", turns, FULL)
    await editor.run("Go.")
    given = await patch_of(editor)
    assert "wide.txt" in left_out(given)
    (workspace / "ten.txt").write_text(TEN)
    (workspace / "wide.txt").write_bytes("\ufeffone\n".encode("utf-16-le"))
    git_apply(workspace, given["patch"])
    assert (workspace / "ten.txt").read_text() == TEN.replace("line 3", "L3")


@pytest.mark.parametrize("old", ["first", "last"])
@pytest.mark.parametrize("profile", ["neovim-0.11", "vim-lsp", "vscode"])
async def test_a_patch_knows_the_end_of_the_last_line_that_an_editor_writes(
    profile, old, begin, workspace, tmp_path
):
    (workspace / "a.txt").write_text(f"first\n{TEN}last")
    editor = await begin(profile, [edit("a.txt", old, "new"), DONE], FULL)
    editor.open("a.txt")
    await editor.run("Go.")
    editor.save("a.txt")
    patch = (await patch_of(editor))["patch"]
    now, after = (workspace / "a.txt").read_text(), f"first\n{TEN}last".replace(old, "new")
    assert now in {after, f"{after}\n"}
    git_apply(workspace, patch, "-R")
    ended = now.removeprefix(after) if old == "first" else ""
    assert (workspace / "a.txt").read_text() == f"first\n{TEN}last{ended}"
    git_apply(workspace, patch)
    assert (workspace / "a.txt").read_text() == now
