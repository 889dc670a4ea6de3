"""What commands do to links, folders and shut files: named, as no undo takes it back; and no more than that."""

import pytest
from scripting import DONE, call, results, step, types
from test_aftermath import FULL, named, run

from outrider.testing.scenario import scripted, start_session


@pytest.fixture
def varied(workspace, tmp_path):
    (workspace / ".gitignore").write_text("build/\n.env\n")
    (workspace / ".outriderignore").write_text("private.txt\n")
    (workspace / ".env").write_text("KEY=1\n")
    (workspace / "private.txt").write_text("old\n")
    (workspace / "target.txt").write_text("target\n")
    (workspace / "other.txt").write_text("other\n")
    (workspace / "out.txt").symlink_to(tmp_path)
    for name in ("link.txt", "moved.txt", "kept.txt"):
        (workspace / name).symlink_to("target.txt")
    (workspace / "pkg" / "empty").mkdir(parents=True)
    (workspace / "pkg" / "deep" / "empty").mkdir(parents=True)
    (workspace / "pkg" / "x.py").write_text("x = 1\n")
    (workspace / "pkg").chmod(0o755)
    (workspace / "build").mkdir()
    (workspace / "build" / "x").write_text("old\n")
    return workspace


def same(path, target):
    return f"os.remove({path!r}); os.symlink({target!r}, {path!r})\n"


WROUGHT = (
    "import os, shutil\n"
    "os.remove('link.txt')\n"
    + same("moved.txt", "other.txt")
    + same("kept.txt", "target.txt")
    + same("out.txt", "/")
    + "os.symlink('other.txt', 'new.txt')\n"
    "os.rmdir('pkg/empty'); shutil.rmtree('pkg/deep')\n"
    "os.makedirs('made/deep')\n"
    "os.chmod('pkg', 0o700)\n"
    "open('.env', 'w').write('KEY=2\\n'); open('private.txt', 'a').write('more\\n')\n"
    "open('server.key', 'w').write('x\\n')\n"
)
TOUCHED = {
    "link.txt": ("link", "deleted"),
    "moved.txt": ("link", "changed"),
    "out.txt": ("link", "changed"),
    "new.txt": ("link", "created"),
    "pkg/empty": ("folder", "deleted"),
    "pkg/deep/empty": ("folder", "deleted"),
    "made/deep": ("folder", "created"),
    "pkg": ("folder", "mode"),
    ".env": ("shut", "changed"),
    "private.txt": ("shut", "changed"),
    "server.key": ("shut", "created"),
}


async def test_links_folders_and_shut_files_are_named_to_the_model_the_log_and_the_person(varied):
    model, ids = scripted(varied, [step(run(WROUGHT)), DONE]), {"testing": {"ids": None}}
    async with start_session("stock", varied, model, {**FULL, **ids}) as editor:
        await editor.run("Go.")
        (event,) = editor.events_of("workspace.touched")
        assert {one["path"]: (one["kind"], one["how"]) for one in event["data"]["files"]} == TOUCHED
        assert "workspace.changed" not in types(editor)
        said = results(editor)["run"][1]
        for text in (
            "link.txt (link deleted)",
            "moved.txt (link changed)",
            "made/deep (folder created)",
            ".env",
        ):
            assert text in said
        assert "KEY" not in said
        assert set(named(await editor.command("outrider.changes", {}))) == set(TOUCHED)
    async with start_session("stock", varied, model, ids) as editor:
        why = named(await editor.command("outrider.undo", {"scope": "turn"}))
        assert set(why) == set(TOUCHED)
        assert why["link.txt"].startswith("the link, which led to target.txt, was deleted by `")
        assert why["pkg/empty"].startswith("the folder was deleted by `")
        assert why["pkg"].startswith("the mode of the folder was changed from 755 to 700 by `")
        assert (await editor.command("outrider.changes", {"format": "patch"}))["patch"] == ""


@pytest.mark.parametrize(
    "code",
    [
        "import os; os.makedirs('new/deep'); open('new/deep/a.txt', 'w').write('a\\n')",
        "import shutil; shutil.rmtree('build')",
        "import os; open('build/.env', 'w').write('x'); os.mkdir('build/sub'); os.symlink('x', 'build/link')",
        "import os; os.makedirs('pkg/__pycache__'); open('pkg/__pycache__/x.pyc', 'w').write('x')",
        "import os; os.makedirs('node_modules/empty'); os.makedirs('.git/empty')",
        "import os; os.mkdir('once'); os.rmdir('once'); " + same("kept.txt", "target.txt"),
        "import os; os.makedirs('dist/empty'); open('dist/.gitignore', 'w').write('*\\n')",
    ],
)
async def test_what_came_with_files_or_is_ignored_or_is_as_it_was_is_not_named(code, begin, varied):
    editor = await begin("stock", [step(run(code)), DONE], FULL)
    await editor.run("Go.")
    assert "workspace.touched" not in types(editor)


@pytest.mark.parametrize("put", ["os.mkdir('link.txt')", "open('link.txt', 'w').write('mine\\n')"])
async def test_a_link_that_makes_room_is_named(put, begin, varied):
    editor = await begin("stock", [step(run(f"import os; os.remove('link.txt'); {put}")), DONE], FULL)
    await editor.run("Go.")
    undone = await editor.command("outrider.undo", {})
    assert "the link, which led to target.txt, was deleted" in named(undone)["link.txt"] or "mkdir" in put
    assert (varied / "target.txt").read_text() == "target\n"
    assert "link.txt" in named(undone)


async def test_what_is_shut_no_longer_is_not_taken_for_new(begin, varied):
    code = "import os; os.remove('.outriderignore'); open('private.txt', 'a').write('more\\n')"
    editor = await begin("stock", [step(run(code)), DONE], FULL)
    await editor.run("Go.")
    undone = await editor.command("outrider.undo", {})
    assert [one["path"] for one in undone["undone"]] == [".outriderignore"]
    assert list(named(undone)) == ["private.txt"]
    assert (varied / "private.txt").read_text() == "old\nmore\n"


async def test_a_file_known_through_a_link_is_named_as_itself(begin, varied):
    steps = [step(call("read_file", path="link.txt")), step(run("import os; os.remove('target.txt')")), DONE]
    editor = await begin("stock", steps, FULL)
    await editor.run("Go.")
    said = results(editor)["run"][1]
    assert "target.txt (deleted)" in said
    assert "link.txt" not in said
    (event,) = editor.events_of("workspace.changed")
    assert "link.txt" not in event["data"].get("told", "")
    patch = (await editor.command("outrider.changes", {"format": "patch"}))["patch"]
    assert patch.startswith("diff --git a/target.txt b/target.txt\ndeleted file")
    await editor.command("outrider.undo", {})
    assert (varied / "target.txt").read_text() == "target\n"
    assert (varied / "link.txt").is_symlink()
