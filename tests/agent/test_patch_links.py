"""The patch of a session where there are links: it names what is in the repository, so that `git apply` takes it."""

import subprocess

import pytest
from scripting import DONE, call, step

FULL = {"permissionMode": "full"}


def git(root, *words, data=None):
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-c", "user.name=x", "-c", "user.email=x@y", "-c", "core.autocrlf=false", *words]
    done = subprocess.run(
        command, cwd=root, input=data and data.encode(), capture_output=True, check=True, env=environment
    )
    return done.stdout.decode()


@pytest.fixture
def linked(workspace, tmp_path):
    (workspace / ".gitignore").write_text("*.json\nhome*/\n.outrider/\n")
    (workspace / "target.txt").write_text("target 1\ntarget 2\n")
    (workspace / "link.txt").symlink_to("target.txt")
    (workspace / "pkg").mkdir()
    (workspace / "pkg" / "x.py").write_text("x = 1\n")
    (workspace / "dlink").symlink_to("pkg")
    (workspace / "plain.txt").write_text("plain\n")
    git(workspace, "init", "-q")
    git(workspace, "add", ".")
    git(workspace, "commit", "-qm", "first")
    return workspace


async def patch_of(editor):
    given = await editor.command("outrider.changes", {"format": "patch"})
    return given["patch"], {one["path"]: one["reason"] for one in given.get("leftOut", [])}


def takes_all_back(root, patch):
    git(root, "apply", "-R", "-", data=patch)
    return git(root, "status", "--porcelain") == ""


def edit(path, old, new):
    return call("edit_file", path=path, old=old, new=new)


async def test_an_edit_through_a_link_is_one_of_the_real_file(begin, linked):
    edits = [
        step(edit("link.txt", "target 1", "changed 1"), edit("dlink/x.py", "x = 1", "x = 2")),
        step(edit("target.txt", "target 2", "changed 2"), edit("plain.txt", "plain", "changed")),
        DONE,
    ]
    editor = await begin("stock", edits, FULL)
    await editor.run("Go.")
    patch, left_out = await patch_of(editor)
    heads = [line for line in patch.splitlines() if line.startswith("diff ")]
    assert sorted(heads) == [f"diff --git a/{one} b/{one}" for one in ("pkg/x.py", "plain.txt", "target.txt")]
    assert not left_out
    assert takes_all_back(linked, patch)


async def test_a_link_that_went_or_leads_elsewhere_hides_no_change(begin, linked):
    edits = [
        step(edit("link.txt", "target 1", "changed 1"), edit("dlink/x.py", "x = 1", "x = 2")),
        DONE,
    ]
    editor = await begin("stock", edits, FULL)
    await editor.run("Go.")
    (linked / "link.txt").unlink()
    (linked / "dlink").unlink()
    (linked / "dlink").symlink_to("plain.txt")
    patch, left_out = await patch_of(editor)
    assert not left_out
    git(linked, "checkout", "-q", "link.txt", "dlink")
    assert takes_all_back(linked, patch)


async def test_a_file_that_is_renamed_through_a_linked_folder_has_its_real_paths(begin, linked):
    rename = call("rename_file", **{"from": "dlink/x.py", "to": "dlink/y.py"})
    editor = await begin("stock", [step(edit("dlink/x.py", "x = 1", "x = 2")), step(rename), DONE], FULL)
    await editor.run("Go.")
    patch, left_out = await patch_of(editor)
    assert "rename from pkg/x.py\nrename to pkg/y.py\n" in patch
    assert not left_out
    assert takes_all_back(linked, patch)


async def test_what_is_outside_the_workspace_is_left_out_and_named(begin, linked, tmp_path):
    outside = tmp_path / "outside.txt"
    outside.write_text("outside\n")
    edits = [step(edit(str(outside), "outside", "changed"), edit("plain.txt", "plain", "changed")), DONE]
    editor = await begin("stock", edits, FULL)
    await editor.run("Go.")
    assert outside.read_text() == "changed\n"
    patch, left_out = await patch_of(editor)
    assert left_out == {str(outside): "it is not in a workspace folder"}
    assert "outside" not in patch
    assert takes_all_back(linked, patch)


async def test_a_file_that_became_a_link_is_left_out_and_named(begin, linked):
    editor = await begin("stock", [step(edit("plain.txt", "plain", "changed")), DONE], FULL)
    await editor.run("Go.")
    (linked / "plain.txt").unlink()
    (linked / "plain.txt").symlink_to("target.txt")
    patch, left_out = await patch_of(editor)
    assert (patch, list(left_out)) == ("", ["plain.txt"])


@pytest.mark.parametrize("mode", ["ask", "auto-edit", "read-only"])
async def test_a_change_that_does_not_fit_a_file_outside_tells_nothing_of_its_text(
    begin, linked, tmp_path, mode
):
    outside = tmp_path / "outside.txt"
    outside.write_text("the words outside\nthe words outside\n")
    (linked / "way.txt").symlink_to(outside)
    patch = "*** Begin Patch\n*** Update File: way.txt\n@@\n-the words\n+x\n*** End Patch"
    turns = [
        step(edit("way.txt", "words", "x"), edit(str(outside), "the word outside", "x")),
        step(
            call("insert_lines", path="way.txt", after_line=50, text="x\n"), call("apply_patch", patch=patch)
        ),
        DONE,
    ]
    editor = await begin("stock", turns, {"permissionMode": mode})
    await editor.run("Go.")
    assert not editor.questions
    for one in editor.events_of("tool.finished"):
        assert one["data"]["status"] in {"error", "denied"}
        assert "words" not in one["data"]["content"]
        assert "2 lines" not in one["data"]["content"]
