"""What commands do to files that nobody had read: taken back where the workspace is small, else named. Promise 5."""

import os
import shlex
import subprocess
import sys

import pytest
from scripting import DONE, call, results, step, types

from outrider.testing.scenario import scripted, start_session
from outrider.workspace.watch import snapshot

FULL = {"permissionMode": "full"}
LOOKED = "looked at"


def run(code, called="run"):
    return call("run_command", command=f"{shlex.quote(sys.executable)} -c {shlex.quote(code)}", called=called)


def tree(root):
    return {
        str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mode)
        for path in root.rglob("*")
        if path.is_file()
    }


def named(answer):
    return {one["what"]: one["reason"] for one in answer.get("notUndoable", [])}


@pytest.fixture
def filled(workspace):
    (workspace / "crlf.txt").write_bytes(b"one\r\ntwo\r\n")
    (workspace / "wide.txt").write_bytes("\ufeffone\ntwo\n".encode("utf-16-le"))
    (workspace / "tool.sh").write_text("#!/bin/sh\necho 1\n")
    (workspace / "tool.sh").chmod(0o755)
    (workspace / "old").mkdir()
    (workspace / "old" / "a.txt").write_text("a\n")
    for path in workspace.rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    return workspace


@pytest.fixture
def big(filled, monkeypatch):
    monkeypatch.setattr(snapshot, "MOST_FILES_KEPT", 2)
    return filled


MANY = run(
    "import os\n"
    "def sub(p, a, b): t = open(p, 'rb').read(); open(p, 'wb').write(t.replace(a, b))\n"
    "sub('crlf.txt', b'two', b'2')\n"
    "sub('wide.txt', 'two'.encode('utf-16-le'), '2'.encode('utf-16-le'))\n"
    "os.remove('tool.sh')\n"
    "os.rename('old', 'new')\n"
    "open('made.txt', 'w').write('made\\n')\n"
)
LOST = {"crlf.txt": "changed", "wide.txt": "changed", "tool.sh": "deleted", "old/a.txt": "deleted"}


async def test_promise_5_what_a_command_did_to_any_file_of_a_small_workspace_is_undone(begin, filled):
    before = tree(filled)
    editor = await begin("stock", [step(MANY), DONE], FULL)
    await editor.run("Go.")
    said = results(editor)["run"][1]
    assert "it changed 6 other files: " in said
    for name in ("crlf.txt", "wide.txt", "tool.sh (deleted)", "new/a.txt (created)", "made.txt (created)"):
        assert name in said
    assert "no undo" not in said
    after = tree(filled)
    for _ in range(2):
        undone = await editor.command("outrider.undo", {})
        assert (undone["conflicts"], undone["notUndoable"]) == ([], [])
        assert tree(filled) == before
        await editor.command("outrider.redo", {})
        assert {name: one[0] for name, one in tree(filled).items()} == {n: one[0] for n, one in after.items()}


async def test_promise_5_in_a_big_workspace_it_is_named_to_the_model_the_log_and_the_person(begin, big):
    editor = await begin("stock", [step(MANY), DONE], FULL)
    await editor.run("Go.")
    after = tree(big)
    said = results(editor)["run"][1]
    assert "it changed 6 other files: " in said
    assert "undo cannot restore " in said
    (event,) = editor.events_of("workspace.touched")
    assert event["data"]["callId"] == "run"
    assert {one["path"]: one["how"] for one in event["data"]["files"]} == LOST
    listed = await editor.command("outrider.changes", {})
    assert named(listed)["tool.sh"].startswith("deleted by `")
    undone = await editor.command("outrider.undo", {})
    assert set(named(undone)) == set(LOST)
    # Of what was not there before nothing has to be known.
    assert {one["path"] for one in undone["undone"]} == {"made.txt", "new/a.txt"}
    assert tree(big) == {name: one for name, one in after.items() if name not in {"made.txt", "new/a.txt"}}


async def test_promise_5_what_is_not_undoable_is_named_beside_what_is_after_a_restart_too(big):
    model = scripted(big, [step(call("write_file", path="mine.txt", content="x\n")), step(MANY), DONE])
    ids = {"testing": {"ids": None}}
    async with start_session("stock", big, model, {**FULL, **ids}) as editor:
        await editor.run("Go.")
    async with start_session("stock", big, model, ids) as editor:
        undone = await editor.command("outrider.undo", {"scope": "turn"})
        assert {"path": "mine.txt", "hunks": 1} in undone["undone"]
        assert set(named(undone)) == set(LOST)


async def test_an_undo_of_nothing_else_names_it(begin, big):
    editor = await begin("stock", [step(run("open('crlf.txt', 'a').write('more')")), DONE], FULL)
    await editor.run("Go.")
    for scope in ("step", "turn", "session"):
        undone = await editor.command("outrider.undo", {"scope": scope})
        assert (undone["undone"], list(named(undone))) == ([], ["crlf.txt"])


async def test_binary_files_and_modes_are_named(begin, filled):
    code = "import os; open('x.bin', 'wb').write(bytes(9)); os.chmod('crlf.txt', 0o755)"
    editor = await begin("stock", [step(run(code)), DONE], FULL)
    await editor.run("Go.")
    undone = await editor.command("outrider.undo", {})
    assert named(undone)["x.bin"].startswith("created by `")
    assert named(undone)["crlf.txt"].startswith("its mode was changed from 644 to 755 by `")
    patch = (await editor.command("outrider.changes", {"format": "patch"}))["patch"]
    assert patch == "diff --git a/crlf.txt b/crlf.txt\nold mode 100644\nnew mode 100755\n"


async def test_a_file_whose_name_is_no_utf_8_is_named(begin, filled):
    code = "import os; open(b'a\\xff.txt', 'w').write('x\\n'); os.mkdir(b'd\\xff'); open(b'd\\xff/b.txt', 'w').close()"
    editor = await begin(
        "stock", [step(run(code)), step(run("open(b'a\\xff.txt', 'a').write('y')", "more")), DONE], FULL
    )
    await editor.run("Go.")
    told = results(editor)
    odd = {"a\\xff.txt", "d\\xff/b.txt"}
    assert "2 other files: a\\xff.txt (created), d\\xff/b.txt (created)" in told["run"][1]
    assert "another file: a\\xff.txt" in told["more"][1]
    assert set(named(await editor.command("outrider.changes", {}))) == odd
    assert set(named(await editor.command("outrider.undo", {"scope": "session"}))) == odd


@pytest.mark.parametrize("now", [0o644, 0o700])
async def test_a_file_is_named_once_and_its_mode_only_where_it_is_left(now, begin, filled):
    code = "import os; open('tool.sh', 'a').write('x\\n'); os.chmod('tool.sh', 0o644)"
    editor = await begin("stock", [step(run(code)), DONE], FULL)
    await editor.run("Go.")
    assert "it changed another file: tool.sh (its mode, too)" in results(editor)["run"][1]
    assert "workspace.touched" not in types(editor), "nothing is left that no undo takes back"
    assert "notUndoable" not in await editor.command("outrider.changes", {})
    (filled / "tool.sh").chmod(now)
    undone = await editor.command("outrider.undo", {})
    assert (filled / "tool.sh").read_text() == "#!/bin/sh\necho 1\n"
    is_left = (filled / "tool.sh").stat().st_mode & 0o777 == 0o700
    assert (is_left, list(named(undone))) == (now == 0o700, ["tool.sh"] * is_left)


async def test_the_mode_of_a_new_file_is_not_left_where_an_undo_takes_the_file(begin, filled):
    turns = [step(call("write_file", path="new.sh", content="#!/bin/sh\n"))]
    turns.append(step(run("import os; os.chmod('new.sh', 0o755)")))
    editor = await begin("stock", [*turns, DONE], FULL)
    await editor.run("Go.")
    undone = await editor.command("outrider.undo", {"scope": "session"})
    assert not (filled / "new.sh").exists()
    assert (len(undone["undone"]), undone["notUndoable"]) == (1, [])


async def test_the_mode_of_a_renamed_file_is_left_where_the_file_has_its_old_name_again(begin, filled):
    turns = [step(call("rename_file", **{"from": "tool.sh", "to": "new.sh"}))]
    turns.append(step(run("import os; os.chmod('new.sh', 0o640)")))
    editor = await begin("stock", [*turns, DONE], FULL)
    await editor.run("Go.")
    undone = await editor.command("outrider.undo", {"scope": "session"})
    assert (filled / "tool.sh").stat().st_mode & 0o777 == 0o640
    assert list(named(undone)) == ["new.sh"]


@pytest.mark.parametrize("first", ["read", "edited", "unknown"])
@pytest.mark.parametrize("kind", ["binary", "link"])
async def test_what_takes_the_place_of_a_text_is_named_and_not_in_the_patch(
    kind, first, begin, filled, tmp_path
):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "crlf.txt").write_bytes((filled / "crlf.txt").read_bytes())
    (filled / "note.txt").write_text("one\n")
    put = {
        "binary": "open('note.txt', 'wb').write(bytes(9))",
        "link": "os.remove('note.txt'); os.symlink('tool.sh', 'note.txt')",
    }[kind]
    code = f"import os; {put}; open('crlf.txt', 'ab').write(b'three')"
    known = {
        "read": [step(call("read_file", path="note.txt"))],
        "edited": [step(call("edit_file", path="note.txt", old="one", new="two"))],
        "unknown": [],
    }[first]
    editor = await begin("stock", [*known, step(run(code)), DONE], FULL)
    await editor.run("Go.")
    assert "note.txt" in results(editor)["run"][1].partition("undo cannot restore")[2]
    changes = (await editor.command("outrider.changes", {}))["changes"]
    assert {one["path"]: one["undoable"] for one in changes} == {
        "crlf.txt": True,
        **({"note.txt": False} if first == "edited" else {}),
    }
    patch = (await editor.command("outrider.changes", {"format": "patch"}))["patch"]
    assert "note.txt" not in patch
    for way in ([], ["-R"]):
        apply(tmp_path / "there", patch, *way)
    undone = await editor.command("outrider.undo", {})
    assert [one["path"] for one in undone["undone"]] == ["crlf.txt"]
    assert "note.txt" in named(undone)
    assert (filled / "note.txt").is_symlink() == (kind == "link")
    assert (filled / "tool.sh").read_text() == "#!/bin/sh\necho 1\n"
    assert (filled / "crlf.txt").read_bytes() == b"one\r\ntwo\r\n"


AGAIN = {
    "renamed": [
        call("rename_file", **{"from": "a.txt", "to": "b.txt"}),
        call("write_file", path="a.txt", content="new\n"),
    ],
    "deleted": [
        call("delete_file", path="a.txt"),
        call("rename_file", **{"from": "c.txt", "to": "a.txt"}),
    ],
    "edited": [
        call("edit_file", path="a.txt", old="a", new="A"),
        call("rename_file", **{"from": "a.txt", "to": "b.txt"}),
        call("rename_file", **{"from": "c.txt", "to": "a.txt"}),
    ],
}


@pytest.mark.parametrize("again", AGAIN)
@pytest.mark.parametrize("as_text", [False, True])
async def test_a_mode_goes_with_its_file_when_the_path_is_used_again(
    again, as_text, begin, workspace, tmp_path
):
    (there := tmp_path / "there").mkdir()
    for name, mode in (("a.txt", 0o644), ("c.txt", 0o755)):
        for root in (workspace, there):
            (root / name).write_text(f"{name[0]}\n1\n2\n")
            (root / name).chmod(mode)
    before = programs(there)
    more = "; open('a.txt', 'a').write('3\\n')" if as_text else ""
    chmod = run(f"import os; os.chmod('a.txt', 0o755){more}")
    editor = await begin("stock", [step(chmod), step(*AGAIN[again]), DONE], FULL)
    await editor.run("Go.")
    patch = (await editor.command("outrider.changes", {"format": "patch"}))["patch"]
    apply(there, patch)
    wanted = programs(workspace)
    assert programs(there) == {name: wanted[name] for name in programs(there)}
    apply(there, patch, "-R")
    assert programs(there) == before


def programs(root):
    return {path.name: os.access(path, os.X_OK) for path in root.glob("*.txt")}


async def test_a_changed_mode_is_in_the_patch_with_the_text(begin, filled, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "crlf.txt").write_bytes((filled / "crlf.txt").read_bytes())
    code = "import os; open('crlf.txt', 'ab').write(b'three'); os.chmod('crlf.txt', 0o755)"
    editor = await begin("stock", [step(run(code)), DONE], FULL)
    await editor.run("Go.")
    patch = (await editor.command("outrider.changes", {"format": "patch"}))["patch"]
    for way in ([], ["-R"]):
        apply(tmp_path / "there", patch, *way)
        assert os.access(tmp_path / "there" / "crlf.txt", os.X_OK) is not bool(way)


def apply(root, patch, *words):
    env = {"PATH": os.environ["PATH"], "GIT_CEILING_DIRECTORIES": str(root.parent), "HOME": str(root)}
    subprocess.run(["git", "apply", *words, "-"], cwd=root, input=patch.encode(), check=True, env=env)


async def test_of_secrets_only_names_are_told_and_ignored_files_and_our_own_are_left_out(begin, workspace):
    (workspace / ".gitignore").write_text("build/\n")
    (workspace / ".env").write_text("KEY=1\n")
    (workspace / ".outriderignore").write_text("private.txt\n")
    (workspace / "private.txt").write_text("old\n")
    (workspace / ".outrider").mkdir()
    code = (
        "import os; os.mkdir('build')\n"
        "for p in ('.env', 'build/x', '.outrider/x.md', 'server.key', 'private.txt'): open(p, 'a').write('new\\n')"
    )
    editor = await begin("stock", [step(run(code)), DONE], FULL)
    await editor.run("Go.")
    assert "new" not in results(editor)["run"][1]
    (event,) = editor.events_of("workspace.touched")
    assert {one["path"] for one in event["data"]["files"]} == {".env", "server.key", "private.txt"}
    assert "workspace.changed" not in types(editor)


async def test_a_file_that_is_ignored_no_longer_is_not_taken_for_new(begin, workspace):
    (workspace / ".gitignore").write_text("notes.txt\n")
    (workspace / "notes.txt").write_text("of the user\n")
    code = "open('.gitignore', 'w').close(); open('notes.txt', 'a').write('by the command\\n')"
    editor = await begin("stock", [step(run(code)), DONE], FULL)
    await editor.run("Go.")
    undone = await editor.command("outrider.undo", {})
    assert undone["undone"] == [{"path": ".gitignore", "hunks": 1}]
    assert list(named(undone)) == ["notes.txt"]
    assert (workspace / "notes.txt").read_text() == "of the user\nby the command\n"


async def test_a_command_that_only_reads_is_not_looked_after(begin, workspace, monkeypatch):
    def never(*_args, **_how):
        raise AssertionError(LOOKED)

    monkeypatch.setattr(snapshot.Census, "take", never)
    editor = await begin(
        "stock", [step(call("run_command", command="ls tariff.py", called="run")), DONE], FULL
    )
    await editor.run("Go.")
    assert results(editor)["run"][1] == "tariff.py\n[exit code 0]"


async def test_what_could_not_be_looked_at_is_said(begin, workspace, monkeypatch):
    monkeypatch.setattr(snapshot, "MOST_FILES", 1)
    monkeypatch.setattr(snapshot, "MOST_FILES_TOLD", 1)
    (workspace / "more.txt").write_text("x\n")
    editor = await begin("stock", [step(run("pass")), DONE], FULL)
    await editor.run("Go.")
    assert "what else it changed is unknown: the workspace has more than 1 files" in results(editor)["run"][1]
    undone = await editor.command("outrider.undo", {})
    assert "other files" in named(undone)


@pytest.mark.parametrize("was_open", [False, True])
async def test_promise_4_what_the_person_saves_while_a_command_runs_is_theirs(was_open, begin, workspace):
    (workspace / "notes.txt").write_text("one\n")
    code = "import os, time\nprint('begun', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)\nos.remove('go')"
    editor = await begin("stock", [step(run(code)), DONE], FULL)
    if was_open:
        editor.open("notes.txt")
    await editor.command("outrider.run", {"prompt": "Go."})
    await editor.wait_for(lambda: any("begun" in frame["text"] for frame in editor.frames), "output")
    editor.open("notes.txt") if not was_open else None
    editor.type("notes.txt", "two\n")
    editor.save("notes.txt")
    editor.open("tariff.py")  # a request of the client's that is answered after what came before it
    await editor.command("outrider.status", {})
    (workspace / "go").touch()
    await editor.wait_for(lambda: "turn.finished" in types(editor), "end")
    assert not {"workspace.changed", "workspace.touched"} & set(types(editor))
    assert (workspace / "notes.txt").read_text() == "one\ntwo\n"


async def test_a_file_that_a_command_replaced_by_a_link_out_of_the_workspace_is_named(
    begin, workspace, tmp_path
):
    (tmp_path / "out.txt").write_text("x\n")
    (workspace / "ten.txt").write_text("ten\n")
    command = call("run_command", command=f"rm ten.txt; ln -s {tmp_path / 'out.txt'} ten.txt", called="link")
    editor = await begin("stock", [step(command), DONE], FULL)
    await editor.run("Go.")
    assert "ten.txt" in results(editor)["link"][1]
    undone = await editor.command("outrider.undo", {})
    assert "ten.txt" in {one["what"] for one in undone["notUndoable"]}
    assert (tmp_path / "out.txt").read_text() == "x\n"


async def test_a_text_in_another_encoding_is_named_and_not_written_in_that_of_now(begin, workspace):
    (workspace / "a.txt").write_bytes("\ufeffone\ntwo\n".encode("utf-16-le"))
    recode = call("run_command", command="iconv -f utf-16 -t utf-8 a.txt > t && mv t a.txt", called="recode")
    editor = await begin("stock", [step(recode), DONE], FULL)
    await editor.run("Go.")
    undone = await editor.command("outrider.undo", {})
    assert "a.txt" in {one["what"] for one in undone["notUndoable"]}
    assert (workspace / "a.txt").read_bytes() == b"one\ntwo\n"


async def test_an_undo_names_what_a_background_job_may_have_done(begin, workspace):
    job = call("run_command", command="touch made", background=True, called="job")
    editor = await begin("stock", [step(job), DONE], FULL)
    await editor.run("Go.")
    undone = await editor.command("outrider.undo", {})
    assert [one["what"] for one in undone["notUndoable"]] == ["what the background job job_1 changed"]


@pytest.mark.parametrize("profile", ["stock", "vscode"])
async def test_an_unsaved_edit_is_undone_though_a_command_changed_the_same_place_below_it(
    profile, begin, workspace
):
    (workspace / "a.txt").write_text("one\ntwo\nthree\n")
    edit = call("edit_file", path="a.txt", old="two\n", new="two\nagent\n")
    command = call("run_command", command="printf 'one\\ntwo\\ncommand\\nthree\\n' > a.txt", called="run")
    editor = await begin(profile, [step(edit), step(command), DONE], FULL)

    def answer(question):
        return next((one for one in question.titles if one == "Run without saving"), "Keep mine")

    editor.answers = answer
    editor.open("a.txt")
    await editor.run("Go.")
    assert editor.text("a.txt") == "one\ntwo\nagent\nthree\n"
    undone = await editor.command("outrider.undo", {"scope": "session"})
    assert editor.text("a.txt") == "one\ntwo\nthree\n"
    assert undone["conflicts"] == []
    assert "the open document does not have that change" in named(undone)["a.txt"]
    redone = await editor.command("outrider.redo", {"scope": "session"})
    assert editor.text("a.txt") == "one\ntwo\nagent\nthree\n", redone


async def test_folders_that_a_command_made_go_with_their_files(begin, workspace):
    (workspace / "there").mkdir()
    command = "mkdir -p made/deep there/deep && echo 1 > made/deep/a.txt && echo 1 > there/deep/a.txt"
    editor = await begin("stock", [step(call("run_command", command=command)), DONE], FULL)
    await editor.run("Go.")
    await editor.command("outrider.undo", {})
    assert not (workspace / "made").exists()
    assert [*(workspace / "there").iterdir()] == []
    await editor.command("outrider.redo", {})
    assert (workspace / "made/deep/a.txt").read_text() == "1\n"
    (workspace / "made/mine.txt").write_text("mine\n")
    await editor.command("outrider.undo", {})
    assert [*(workspace / "made").iterdir()] == [workspace / "made/mine.txt"]


async def test_folders_that_a_command_deleted_come_back_as_they_were(begin, workspace):
    (workspace / "private/deep").mkdir(parents=True, mode=0o755)
    (workspace / "private").chmod(0o700)
    (workspace / "private/deep").chmod(0o750)
    (workspace / "private/deep/a.txt").write_text("a\n")
    (workspace / "private/b.txt").write_text("b\n")
    editor = await begin("stock", [step(call("run_command", command="rm -r private")), DONE], FULL)
    await editor.run("Go.")
    assert not (workspace / "private").exists()
    await editor.command("outrider.undo", {})
    assert (workspace / "private").stat().st_mode & 0o777 == 0o700
    assert (workspace / "private/deep").stat().st_mode & 0o777 == 0o750
    assert (workspace / "private/deep/a.txt").read_text() == "a\n"
    await editor.command("outrider.redo", {})
    assert not (workspace / "private").exists()
