"""What a command makes or changes that programs outside of the sandbox obey: named, asked about once, put back by a yes."""

import asyncio
import subprocess

import pytest
from scripting import DONE, call, results, step, types

from outrider.testing.editor.answers import Never
from outrider.testing.editor.wire_client import RpcError
from sandboxes import in_both_worlds, needs_bubblewrap, needs_landlock


def settings(world, mode="auto-edit", **more):
    return {
        "sandbox": "required",
        "testing": {"clock": None, "ids": "sequential", "sandboxes": [world]},
        "permissionMode": mode,
        **more,
    }


def run(command, **more):
    return step(call("run_command", command=command, called="run", **more))


def git(folder, *arguments):
    """Run git as the user would, outside of any sandbox."""
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True)


def status_of(folder):
    """Have git look at a folder that need not be a repository."""
    subprocess.run(["git", "-C", str(folder), "status"], check=False, capture_output=True)


def question(editor):
    """The one question about planted files."""
    (asked,) = [
        one for one in editor.events_of("approval.requested") if one["data"]["title"].startswith("Put back")
    ]
    return asked["data"]


PLANTS = (
    "mkdir -p .vscode sub/.claude .husky; echo '{\"tasks\": []}' > .vscode/tasks.json; echo x > sub/.claude/settings.json; "
    "echo 'use flake' > .envrc; echo x > .husky/pre-commit; echo obey > sub/AGENTS.md; echo y > ordinary.txt"
)
PLANTED = {".vscode/tasks.json", "sub/.claude/settings.json", ".envrc", ".husky/pre-commit", "sub/AGENTS.md"}


@in_both_worlds
async def test_what_a_command_planted_is_put_back_by_one_yes(world, begin, workspace):
    editor = await begin("stock", [run(PLANTS), DONE], settings(world), answers=["Allow once", "Put back"])
    assert (await editor.run("Go."))["outcome"] == "completed"
    asked = question(editor)
    status, content = results(editor)["run"]
    assert status == "ok"
    for path in PLANTED:
        assert path in asked["detail"], path
        assert path in content, path
        assert not (workspace / path).exists(), path
    assert '{"tasks": []}' in asked["detail"]
    assert "use flake" not in asked["detail"], "a file of that name may hold secrets"
    assert "they were restored, as the user chose" in content
    assert (workspace / "ordinary.txt").read_text() == "y\n"
    deleted = {one["data"]["path"] for one in editor.events_of("edit.applied")}
    assert deleted == PLANTED


OF_OUTRIDER = {
    ".outrider/memory.md",
    ".outrider/settings.toml",
    ".outrider/commands/deploy.md",
    ".outrider/skills/s/SKILL.md",
}


@in_both_worlds
async def test_what_the_next_session_obeys_is_put_back(world, begin, workspace):
    plant = "mkdir -p .outrider/commands .outrider/skills/s; " + "; ".join(
        f"echo obey > {path}" for path in sorted(OF_OUTRIDER)
    )
    editor = await begin("stock", [run(plant), DONE], settings(world, "auto"), answers=["Put back"])
    assert (await editor.run("Go."))["outcome"] == "completed"
    asked = question(editor)
    for path in OF_OUTRIDER:
        assert path in asked["detail"], path
        assert not (workspace / path).exists(), path


@in_both_worlds
async def test_a_link_in_the_place_of_the_own_folder_is_put_back(world, begin, workspace):
    plant = "mkdir other; echo obey > other/memory.md; ln -s other .outrider"
    editor = await begin("stock", [run(plant), DONE], settings(world, "auto"), answers=["Put back"])
    assert (await editor.run("Go."))["outcome"] == "completed"
    assert ".outrider" in question(editor)["detail"]
    assert not (workspace / ".outrider").is_symlink()


@in_both_worlds
@pytest.mark.parametrize("answer", ["Keep", None])
async def test_without_a_yes_they_stay(world, answer, begin, workspace):
    answers = ["Allow once", Never() if answer is None else answer]
    editor = await begin(
        "stock",
        [run("echo obey > CLAUDE.md"), DONE],
        {**settings(world), "limits": {"askSeconds": 0.2}},
        answers=answers,
    )
    done = await editor.run("Go.")
    if answer is None:
        assert done["outcome"] == "needs_input"
        for other in ("allow_once", "allow_session", "allow_always", "reject"):
            given = {"id": question(editor)["id"], "decision": other}
            with pytest.raises(RpcError, match=r"takes one of Put back, .*Keep"):
                await editor.command("outrider.answer", given)
        await editor.command("outrider.answer", {"id": question(editor)["id"], "decision": "keep"})
        done = await editor.wait_turn()
    assert done["outcome"] == "completed"
    assert "the user kept the changes" in results(editor)["run"][1]
    assert (workspace / "CLAUDE.md").read_text() == "obey\n"


@in_both_worlds
async def test_what_was_put_back_can_be_undone(world, begin, workspace):
    (workspace / ".clangd").write_text("old: 1\n")
    # A parent that is moved takes a protected file along; another one comes to its place.
    move = "mv nested other; mkdir nested; echo new > nested/.clangd"
    (workspace / "nested").mkdir()
    (workspace / "nested" / ".clangd").write_text("first\n")
    answers = ["Allow once", "Put back", "Take the undo"]
    editor = await begin("stock", [run(move), DONE], settings(world), answers=answers)
    await editor.run("Go.")
    assert (workspace / "nested" / ".clangd").read_text() == "first\n"
    changes = [
        one["data"]["changeId"]
        for one in editor.events_of("edit.applied")
        if one["data"]["path"] == "nested/.clangd"
    ]
    undone = await editor.command("outrider.undo", {"id": changes[0]})
    assert undone["undone"]
    assert (workspace / "nested" / ".clangd").read_text() == "new\n"


@in_both_worlds
async def test_a_link_that_is_a_repository_is_put_back_too(world, begin, workspace):
    """Git follows it, so that another folder in its place has git run what its settings say."""
    git(workspace, "init", "-q")
    (workspace / ".git").rename(workspace / "real")
    (workspace / ".git").symlink_to("real")
    plant = (
        "rm .git; mkdir -p .git/refs .git/objects; cp real/HEAD .git/HEAD; "
        "printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = \"touch ran; false\"\\n' > .git/config"
    )
    reads = step(call("run_command", command="git status --short", called="status"))
    editor = await begin(
        "stock", [run(plant), reads, DONE], settings(world), answers=["Allow once", "Put back"]
    )
    await editor.run("Go.")
    assert (workspace / ".git").is_symlink()
    assert (workspace / ".git").readlink().name == "real"
    git(workspace, "status")
    assert not (workspace / "ran").exists()
    assert len(editor.events_of("approval.requested")) == 2, "git runs again without a question"
    assert results(editor)["status"][0] == "ok"


@in_both_worlds
async def test_git_in_a_repository_that_a_command_replaced_can_change_nothing(world, begin, workspace):
    git(workspace, "init", "-q")
    (workspace / ".git").rename(workspace / "real")
    (workspace / ".git").symlink_to("real")
    plant = f"cp -r real other; git config -f other/config core.fsmonitor 'touch {workspace}/ran; false'; rm .git; ln -s other .git"
    reads = step(call("run_command", command="git status --short", called="status"))
    answers = ["Allow once", "Keep"]
    editor = await begin("stock", [run(plant), reads, DONE], settings(world), answers=answers)
    await editor.run("Go.")
    assert results(editor)["status"][0] == "ok"
    assert not (workspace / "ran").exists()
    git(workspace, "status")
    assert (workspace / "ran").exists(), "git would run it where it is not confined"


@in_both_worlds
async def test_a_new_repository_that_runs_nothing_is_no_question(world, begin, workspace):
    editor = await begin("stock", [run("git init -q below"), DONE], settings(world), answers=["Allow once"])
    await editor.run("Go.")
    assert (workspace / "below" / ".git").is_dir()
    assert len(editor.events_of("approval.requested")) == 1


@in_both_worlds
async def test_a_new_repository_that_runs_something_is_set_aside(world, begin, workspace):
    plant = "git init -q below; printf '[core]\\n\\tfsmonitor = \"touch ran\"\\n' >> below/.git/config"
    editor = await begin("stock", [run(plant), DONE], settings(world), answers=["Allow once", "Put back"])
    await editor.run("Go.")
    assert not (workspace / "below" / ".git").exists()
    assert list((workspace / ".outrider" / "aside").rglob("config"))
    assert "below/.git (made; it belongs to git)" in results(editor)["run"][1]


BARE = "mkdir -p src/objects src/refs; echo 'ref: refs/heads/main' > src/HEAD"
OBEYED = "printf '[core]\\n\\tworktree = .\\n\\tfsmonitor = \"touch ../ran; false\"\\n' > src/config"


@in_both_worlds
@pytest.mark.parametrize(
    "commands",
    [
        [f"mkdir src; {BARE}; {OBEYED}"],
        [f"mkdir src; {OBEYED}", BARE],
        ["mkdir src; echo 'ref: refs/heads/main' > src/HEAD", f"mkdir src/objects src/refs; {OBEYED}"],
        [f"mkdir new; cd new; {BARE}; {OBEYED}; cd ..; mv new/src src"],
        [f"mkdir -p real/objects real/refs src; {OBEYED}; ln -s refs/heads/main src/HEAD; echo ../real > src/commondir"],
        [f"{OBEYED.replace('src/config', 'real')}; git init -q --bare src; rm src/config; ln -s ../real src/config"],
        ["git init -q --bare src; echo touch ran > src/hooks/post-update; chmod +x src/hooks/post-update"],
        ["git init -q --bare src", "mv src other; mkdir src; cp -r other/HEAD other/objects other/refs src; " + OBEYED],
    ],
)  # fmt: skip
async def test_a_bare_repository_that_runs_something_is_put_back(world, commands, begin, workspace):
    """Git needs no `.git`: a folder with HEAD, objects and refs is a repository, in whichever order they came."""
    turns = [step(call("run_command", command=one, called=f"run{n}")) for n, one in enumerate(commands)]
    answers = [*["Allow once"] * len(turns), "Put back"]
    editor = await begin("stock", [*turns, DONE], settings(world), answers=answers)
    await editor.run("Go.")
    assert len(editor.events_of("approval.requested")) == len(turns) + 1
    assert "src/" in question(editor)["title"]
    assert "they were restored, as the user chose" in results(editor)[f"run{len(turns) - 1}"][1]
    status_of(workspace / "src")
    assert not (workspace / "ran").exists()


@in_both_worlds
@pytest.mark.parametrize(
    "made", ["git init -q --bare src", "git init -q other; git clone -q --bare other src"]
)
async def test_the_settings_of_a_bare_repository_stay_as_they_are(world, made, begin, workspace):
    """They are read-only, and put back where the sandbox cannot hold that."""
    turns = [run(made), step(call("run_command", command=OBEYED, called="second"))]
    answers = ["Allow once", "Allow once", "Put back"]
    editor = await begin("stock", [*turns, DONE], settings(world), answers=answers)
    await editor.run("Go.")
    assert "fsmonitor" not in (workspace / "src" / "config").read_text()
    assert len(editor.events_of("approval.requested")) == (2 if world == "bubblewrap" else 3)


@in_both_worlds
async def test_a_bare_repository_that_runs_nothing_is_no_question(world, begin, workspace):
    git(workspace, "init", "-q", "--bare", "origin.git")
    git(workspace, "init", "-q", "work")
    git(
        workspace / "work",
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "x",
    )
    git(workspace / "work", "branch", "-M", "main")
    turns = [
        run(
            "git init -q --bare other.git && git -C work push -q ../origin.git main && git -C work push -q ../other.git main"
        ),
        DONE,
    ]
    editor = await begin("stock", turns, settings(world), answers=["Allow once"])
    await editor.run("Go.")
    assert results(editor)["run"][0] == "ok", results(editor)["run"]
    assert "protected files" not in results(editor)["run"][1]
    assert len(editor.events_of("approval.requested")) == 1


@in_both_worlds
@pytest.mark.parametrize("git_folder", ["below/.git", "src"])
async def test_a_repository_of_pipes_holds_nothing_up(world, git_folder, begin, workspace):
    """Whoever reads a pipe waits until somebody writes."""
    plant = f"mkdir -p {git_folder}/objects {git_folder}/refs {git_folder}/hooks; mkfifo {git_folder}/HEAD {git_folder}/config {git_folder}/hooks/post-update {git_folder}/commondir AGENTS.md"
    editor = await begin("stock", [run(plant), DONE], settings(world), answers=["Allow once", "Put back"])
    assert (await editor.run("Go."))["outcome"] == "completed"
    assert not (workspace / "AGENTS.md").exists()
    assert not (workspace / git_folder / "HEAD").exists()


@in_both_worlds
async def test_what_a_folder_had_stays_when_it_is_no_repository_any_more(world, begin, workspace):
    """Put back is what the command made: the file of that name was the user's before."""
    for name in ("HEAD", "config", "refs/a"):
        (workspace / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / "src" / name).write_text("mine\n")
    editor = await begin(
        "stock", [run("mkdir src/objects"), DONE], settings(world), answers=["Allow once", "Put back"]
    )
    await editor.run("Go.")
    assert question(editor)["title"] == "Put back: src/objects"
    assert not (workspace / "src" / "objects").exists()
    assert [(workspace / "src" / name).read_text() for name in ("HEAD", "config")] == ["mine\n"] * 2


@in_both_worlds
@pytest.mark.parametrize(
    "plant",
    [
        f"mkdir src; {BARE}; {OBEYED}",
        "git init -q real; git -C real config core.fsmonitor 'touch ran'; ln -s real/.git .git",
        "git init -q real; git -C real config core.fsmonitor 'touch ran'; mv real/.git . ",
    ],
)
async def test_a_repository_that_runs_something_is_a_question_in_full_too(world, plant, begin, workspace):
    """No mode lets a sandbox leave what the user's own git runs outside of it."""
    editor = await begin("stock", [run(plant), DONE], settings(world, "full"), answers=["Put back"])
    await editor.run("Go.")
    assert question(editor)["title"].startswith("Put back: ")
    assert not (workspace / ".git").exists()
    assert not (workspace / "src" / "HEAD").exists()


@in_both_worlds
async def test_in_full_it_is_only_named(world, begin, workspace):
    editor = await begin("stock", [run("echo obey > GEMINI.md"), DONE], settings(world, "full"))
    await editor.run("Go.")
    assert "approval.requested" not in types(editor)
    assert (
        "it changed protected files: GEMINI.md (made; coding agents follow it)" in results(editor)["run"][1]
    )
    assert (workspace / "GEMINI.md").exists()


async def test_without_a_sandbox_it_is_only_named(begin, workspace):
    """It was allowed to do everything that the user can."""
    options = {**settings("bubblewrap"), "sandbox": "off"}
    editor = await begin("stock", [run("echo obey > GEMINI.md"), DONE], options, answers=["Allow once"])
    await editor.run("Go.")
    assert len(editor.events_of("approval.requested")) == 1
    assert "GEMINI.md (made; coding agents follow it)" in results(editor)["run"][1]


@in_both_worlds
async def test_what_programs_write_every_day_is_named(world, begin, workspace):
    for name in (".venv/bin/python", "node_modules/tool/index.js", "package.json"):
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("old\n")
    writes = "echo new > package.json; echo x > conftest.py; echo x > .venv/bin/python; mkdir node_modules/.bin; echo x > node_modules/.bin/tool"
    editor = await begin("stock", [run(writes), DONE], settings(world), answers=["Allow once"])
    await editor.run("Go.")
    content = results(editor)["run"][1]
    assert (
        "it changed files that other programs run: .venv, conftest.py, node_modules, package.json" in content
    )
    assert len(editor.events_of("approval.requested")) == 1


@in_both_worlds
async def test_what_a_user_saves_meanwhile_is_not_the_commands(world, begin, workspace):
    (workspace / "AGENTS.md").write_text("old\n")
    wait = run("touch begun; until grep -q typed AGENTS.md; do sleep 0.05; done")
    editor = await begin("stock", [wait, DONE], settings(world), answers=["Allow once"])
    editor.open("AGENTS.md")
    started = await editor.command("outrider.run", {"prompt": "Go."})
    await editor.event("tool.started")
    while not (workspace / "begun").exists():  # noqa: ASYNC110 - the command says so in a file
        await asyncio.sleep(0.02)
    editor.type("AGENTS.md", "typed\n")
    editor.save("AGENTS.md")
    assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"
    assert "protected files" not in results(editor)["run"][1]


@needs_landlock
@pytest.mark.parametrize("mode", ["auto-edit", "full"])
async def test_what_landlock_cannot_hold_is_found_afterwards(mode, begin, workspace):
    git(workspace, "init", "-q")
    before = (workspace / ".git" / "config").read_text()
    plant = "printf '[core]\\n\\tfsmonitor = \"touch ran\"\\n' >> .git/config; echo x > .git/hooks/pre-commit"
    editor = await begin(
        "stock",
        [run(plant), DONE],
        {**settings("landlock"), "permissionMode": mode},
        answers=["Put back"] if mode == "full" else ["Allow once", "Put back"],
    )
    await editor.run("Go.")
    assert "Restore the files" in editor.questions[-1].message
    assert (workspace / ".git" / "config").read_text() == before
    assert not (workspace / ".git" / "hooks" / "pre-commit").exists()


@in_both_worlds
async def test_what_a_job_plants_is_named_when_it_is_read(world, begin, workspace):
    turns = [
        run("echo obey > CLAUDE.md", background=True),
        step(call("read_job", job="job_1", wait=30, called="read")),
        DONE,
    ]
    editor = await begin("stock", turns, settings(world), answers=["Allow once"])
    await editor.run("Go.")
    assert "protected files changed: CLAUDE.md (made; coding agents follow it)" in results(editor)["read"][1]


@needs_bubblewrap
async def test_an_approval_and_the_doctor_name_what_holds_a_command(begin):
    for world, name, status in (("bubblewrap", "bubblewrap", "ok"), ("landlock", "Landlock", "warn")):
        editor = await begin("stock", [run("./unknown"), DONE], settings(world), answers=["Reject"])
        await editor.run("Go.")
        said = editor.questions[-1].message
        assert f"Sandboxed by {name}: it can write only in the workspace, and runs without network." in said
        assert ("Limits of this sandbox: " in said) is (name == "Landlock")
        checks = {check["name"]: check for check in (await editor.command("outrider.doctor"))["checks"]}
        assert checks["sandbox"]["status"] == status
        assert f"Sandboxed by {name}" in checks["sandbox"]["detail"]
