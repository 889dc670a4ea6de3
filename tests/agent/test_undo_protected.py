"""No undo and no redo gives a protected file a text that nobody agreed to: what was put back stays away."""

import subprocess

import pytest
from file_steps import edit, rename, write
from scripting import DONE, call, step

from outrider.testing.editor.wire_client import RpcError
from outrider.testing.scenario import scripted, start_session
from sandboxes import in_both_worlds

EVIL = (
    "mkdir -p .vscode src; echo evil > .vscode/tasks.json; echo 'gitdir: evil' > src/.git; echo evil > .envrc"
)
PLANTED = (".vscode/tasks.json", "src/.git", ".envrc")


def settings(world=None, mode="auto-edit"):
    testing = {"clock": None, "ids": "sequential"} | ({"sandboxes": [world]} if world else {})
    return {"sandbox": "required", "testing": testing, "permissionMode": mode}


def git_init(workspace):
    subprocess.run(["git", "init", "-q", str(workspace)], check=True)


def run(command):
    return step(call("run_command", command=command, called="run"))


def planted(workspace):
    return [name for name in PLANTED if (workspace / name).exists()]


async def undo_and_redo(editor, **what):
    """Take back what there is, and bring it back; stops after each. What is not there to take is no error here."""
    for command in ("outrider.undo", "outrider.redo"):
        try:
            await editor.command(command, what)
        except RpcError as problem:
            assert "nothing_to_undo" in str(problem)
        yield command


@in_both_worlds
@pytest.mark.parametrize("ignored", [True, False])
@pytest.mark.parametrize(
    "what", [{}, {"scope": "hunk"}, {"scope": "step"}, {"scope": "step", "id": "run"}, {"scope": "session"}]
)
async def test_what_was_put_back_stays_away(world, ignored, what, begin, workspace):
    if ignored:
        (workspace / ".gitignore").write_text(".vscode/\n")
        git_init(workspace)
    answers = ["Allow once", "Put back"]
    editor = await begin("stock", [run(f"{EVIL}; echo x > a.txt"), DONE], settings(world), answers=answers)
    await editor.run("Go.")
    assert planted(workspace) == []
    for _ in range(2):
        async for done in undo_and_redo(editor, **what):
            assert planted(workspace) == [], done


async def test_the_rest_of_the_turn_is_taken_back_all_the_same(begin, workspace):
    editor = await begin(
        "stock", [run(f"{EVIL}; echo x > a.txt"), DONE], settings(), answers=["Allow once", "Put back"]
    )
    await editor.run("Go.")
    undone = await editor.command("outrider.undo", {})
    assert undone["undone"] == [{"path": "a.txt", "hunks": 1}]
    assert undone["conflicts"] == []
    assert not (workspace / "a.txt").exists()
    await editor.command("outrider.redo", {})
    assert (workspace / "a.txt").exists()
    assert planted(workspace) == []


async def test_it_stays_away_after_a_restart_too(workspace):
    model = scripted(workspace, [run(EVIL), DONE])
    given = settings() | {"testing": {"clock": None}}
    async with start_session("stock", workspace, model, given, answers=["Allow once", "Put back"]) as editor:
        await editor.run("Go.")
    async with start_session("stock", workspace, model, given) as editor:
        async for done in undo_and_redo(editor, scope="session"):
            assert planted(workspace) == [], done


@in_both_worlds
async def test_a_text_that_was_put_back_is_not_brought_back(world, begin, workspace):
    (workspace / "nested").mkdir()
    (workspace / "nested" / ".clangd").write_text("first\n")
    move = "mv nested other; mkdir nested; echo evil > nested/.clangd"
    editor = await begin("stock", [run(move), DONE], settings(world), answers=["Allow once", "Put back"])
    await editor.run("Go.")
    for what in ({}, {"scope": "session"}):
        async for done in undo_and_redo(editor, **what):
            assert (workspace / "nested" / ".clangd").read_text() == "first\n", done


async def test_what_the_user_makes_there_by_hand_stays(begin, workspace):
    editor = await begin("stock", [run(EVIL), DONE], settings(), answers=["Allow once", "Put back"])
    await editor.run("Go.")
    (workspace / ".vscode").mkdir(exist_ok=True)
    (workspace / ".vscode" / "tasks.json").write_text("mine\n")
    async for done in undo_and_redo(editor, scope="session"):
        assert (workspace / ".vscode" / "tasks.json").read_text() == "mine\n", done


@pytest.mark.parametrize("answer", ["Keep mine", "Take the undo"])
async def test_by_its_own_id_it_comes_with_a_yes_alone(answer, begin, workspace):
    editor = await begin("stock", [run(EVIL), DONE], settings(), answers=["Allow once", "Put back", answer])
    await editor.run("Go.")
    back = {one["data"]["path"]: one["data"]["changeId"] for one in editor.events_of("edit.applied")}
    undone = await editor.command("outrider.undo", {"id": back[".vscode/tasks.json"]})
    assert "evil" in editor.questions[-1].message
    assert ".vscode/tasks.json is protected: editors act on it" in editor.questions[-1].message
    assert (workspace / ".vscode" / "tasks.json").exists() is (answer == "Take the undo")
    assert bool(undone["conflicts"]) is (answer == "Keep mine")
    await editor.command("outrider.redo", {}) if answer == "Take the undo" else None
    assert planted(workspace) == []


async def test_what_the_user_kept_is_taken_back_and_brought_back_without_a_question(begin, workspace):
    editor = await begin(
        "stock", [run("echo obey > AGENTS.md"), DONE], settings(), answers=["Allow once", "Keep"]
    )
    await editor.run("Go.")
    await editor.command("outrider.undo", {})
    assert not (workspace / "AGENTS.md").exists()
    await editor.command("outrider.redo", {})
    assert (workspace / "AGENTS.md").read_text() == "obey\n"
    assert len(editor.questions) == 2


async def test_what_was_agreed_to_goes_back_and_forth_without_a_question(begin, workspace):
    (workspace / "AGENTS.md").write_text("mine\n")
    read = step(call("read_file", path="AGENTS.md"))
    turns = [read, edit("AGENTS.md", "mine", "first"), edit("AGENTS.md", "first", "second"), DONE]
    editor = await begin("stock", turns, settings(), answers=["Allow once"] * 2)
    await editor.run("Go.")
    asked = len(editor.questions)
    await editor.command("outrider.undo", {"scope": "step"})
    assert (workspace / "AGENTS.md").read_text() == "first\n"
    await editor.command("outrider.undo", {})
    assert (workspace / "AGENTS.md").read_text() == "mine\n"
    await editor.command("outrider.redo", {})
    assert (workspace / "AGENTS.md").read_text() == "second\n"
    assert len(editor.questions) == asked


@pytest.mark.parametrize("answer", ["Keep mine", "Take the undo"])
async def test_an_unasked_text_of_what_is_protected_by_now_comes_with_a_yes_alone(answer, begin, workspace):
    """It was edited when nothing obeyed it; now a link leads to it."""
    turns = [write("v/tasks.json", "evil\n"), edit("v/tasks.json", "evil", "harmless"), DONE]
    editor = await begin("stock", turns, settings(), answers=[answer])
    await editor.run("Go.")
    (workspace / ".vscode").symlink_to("v")
    undone = await editor.command("outrider.undo", {"scope": "step"})
    assert len(editor.questions) == 1
    taken = answer == "Take the undo"
    assert (workspace / "v" / "tasks.json").read_text() == ("evil\n" if taken else "harmless\n")
    assert bool(undone["conflicts"]) is not taken
    await editor.command("outrider.undo", {"scope": "session"})
    assert not (workspace / "v" / "tasks.json").exists()


async def test_a_file_gets_a_protected_name_back_only_with_a_yes_for_what_is_in_it(begin, workspace):
    (workspace / ".vscode").mkdir()
    (workspace / ".vscode" / "tasks.json").write_text("mine\n")
    turns = [
        step(call("read_file", path=".vscode/tasks.json")),
        rename(".vscode/tasks.json", "x.json"),
        edit("x.json", "mine", "evil"),
        DONE,
    ]
    editor = await begin("stock", turns, settings(), answers=["Allow once", "Keep mine"])
    await editor.run("Go.")
    (moved, edited) = [one["data"]["changeId"] for one in editor.events_of("edit.applied")]
    undone = await editor.command("outrider.undo", {"id": moved})
    assert undone["conflicts"]
    assert "evil" in editor.questions[-1].message
    assert not (workspace / ".vscode" / "tasks.json").exists()
    await editor.command("outrider.undo", {"id": edited})
    await editor.command("outrider.undo", {"id": moved})
    assert (workspace / ".vscode" / "tasks.json").read_text() == "mine\n"
    assert len(editor.questions) == 2
