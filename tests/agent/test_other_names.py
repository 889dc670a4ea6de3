"""Files that programs reach by another name: through a link of the workspace, or by a setting of git."""

import subprocess

import pytest
from scripting import DONE, call, results, step

from sandboxes import in_both_worlds


def settings(world, mode="auto-edit"):
    return {
        "sandbox": "required",
        "testing": {"clock": None, "ids": "sequential", "sandboxes": [world]},
        "permissionMode": mode,
    }


def put(root, name, text="x\n"):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def git(folder, *arguments):
    """Run git as the user would, outside of any sandbox."""
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True)


def write(path, content="echo planted\n"):
    return step(call("write_file", path=path, content=content, called="write"))


GIT_SETTINGS = [
    ("core.hooksPath", "tools/hooks", "tools/hooks/pre-commit"),
    ("core.fsmonitor", "tools/monitor.sh", "tools/monitor.sh"),
    ("core.attributesFile", "tools/attributes", "tools/attributes"),
    ("core.sshCommand", "./tools/ssh -v", "tools/ssh"),
    ("core.pager", "sh tools/pager.sh | less", "tools/pager.sh"),
    ("diff.words.command", "tools/diff", "tools/diff"),
    ("diff.words.textconv", "python3 tools/words.py", "tools/words.py"),
    ("filter.clean.clean", "python3 clean.py %f", "clean.py"),
    ("merge.ours.driver", "tools/merge %O %A %B", "tools/merge"),
    ("credential.helper", "!tools/helper", "tools/helper"),
    ("credential.https://example.org.helper", "!sh -c '\"$PWD/tools/helper\" get'", "tools/helper"),
    ("gpg.program", "tools/gpg", "tools/gpg"),
    ("alias.deploy", "!f() { tools/deploy.sh \"$@\"; }; f", "tools/deploy.sh"),
    ("alias.top", "!$(git rev-parse --show-toplevel)/tools/top", "tools/top"),
    ("include.path", "../tools/gitconfig", "tools/gitconfig"),
    ("includeIf.onbranch:main.path", "../tools/gitconfig", "tools/gitconfig"),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value", "path"), GIT_SETTINGS, ids=[f"{key}" for key, _, _ in GIT_SETTINGS])
async def test_an_edit_of_what_git_runs_or_reads_by_its_settings_asks(key, value, path, begin, workspace):
    git(workspace, "init", "-q")
    git(workspace, "config", key, value)
    editor = await begin("stock", [write(path), DONE], {"permissionMode": "auto-edit"}, answers=["Reject"])
    await editor.run("Go.")
    (asked,) = editor.events_of("approval.requested")
    assert f"{path} is protected: git " in asked["data"]["detail"]
    assert key.rpartition(".")[2].lower() in asked["data"]["detail"].lower()
    assert not (workspace / path).exists()


async def test_what_an_included_file_names_counts_too(begin, workspace):
    git(workspace, "init", "-q")
    put(workspace, "tools/gitconfig", "[core]\n\thooksPath = hooks\n")
    git(workspace, "config", "include.path", "../tools/gitconfig")
    editor = await begin(
        "stock", [write("hooks/pre-push"), DONE], {"permissionMode": "auto-edit"}, answers=["Reject"]
    )
    await editor.run("Go.")
    assert results(editor)["write"][0] == "denied"


async def test_other_files_beside_them_are_edited_without_a_question(begin, workspace):
    git(workspace, "init", "-q")
    git(workspace, "config", "filter.x.clean", "python3 tools/clean.py src")
    put(workspace, "src/a.py")
    turns = [write("tools/other.py"), write("src/b.py"), DONE]
    editor = await begin("stock", turns, {"permissionMode": "auto-edit"})
    await editor.run("Go.")
    assert editor.events_of("approval.requested") == []
    assert (workspace / "tools" / "other.py").exists()
    assert (workspace / "src" / "b.py").exists()


@pytest.mark.parametrize(
    ("there", "path"),
    [
        ((), "src/HEAD"),
        (("objects/a", "refs/a"), "src/HEAD"),
        (("HEAD",), "src/objects/pack/a"),
        (("HEAD", "objects/a"), "src/refs/a"),
        (("HEAD",), "src/commondir"),
        (("HEAD", "objects/a", "refs/a"), "src/config"),
        (("HEAD", "objects/a", "refs/a"), "src/hooks/post-update"),
        (("HEAD", "objects/a", "refs/a"), "src/info/attributes"),
    ],
)
async def test_an_edit_that_makes_or_changes_a_bare_repository_asks(there, path, begin, workspace):
    for name in there:
        put(workspace, f"src/{name}")
    editor = await begin("stock", [write(path), DONE], {"permissionMode": "auto-edit"}, answers=["Reject"])
    await editor.run("Go.")
    (asked,) = editor.events_of("approval.requested")
    assert f"{path} is protected: git takes a folder with HEAD" in asked["data"]["detail"]
    assert results(editor)["write"][0] == "denied"


async def test_a_folder_that_is_moved_into_place_as_a_repository_asks(begin, workspace):
    for name in ("HEAD", "objects/a", "refs/a", "config"):
        put(workspace, f"fixture/{name}")
    move = step(call("rename_file", **{"from": "fixture", "to": "src"}, called="move"))
    editor = await begin("stock", [move, DONE], {"permissionMode": "auto-edit"}, answers=["Reject"])
    await editor.run("Go.")
    assert results(editor)["move"][0] == "denied", results(editor)


LINKS = [
    (".vscode", "conf", "conf/tasks.json"),
    (".vscode", "conf", ".vscode/tasks.json"),
    ("sub/.claude", "../conf/deep", "conf/deep/settings.json"),
    (".github", "meta", "meta/workflows/ci.yml"),
    ("CLAUDE.md", "docs/notes.md", "docs/notes.md"),
    (".vscode", "between", "conf/tasks.json"),
    (".venv", "environment", "environment/bin/python"),
]


@pytest.mark.parametrize(("link", "target", "path"), LINKS)
async def test_an_edit_of_what_a_link_makes_something_else_asks(link, target, path, begin, workspace):
    put(workspace, "conf/deep/old.json")
    put(workspace, "environment/bin/tool")
    put(workspace, "meta/README.md")
    put(workspace, "docs/other.md")
    (workspace / "between").symlink_to("conf")
    (workspace / link).parent.mkdir(exist_ok=True)
    (workspace / link).symlink_to(target)
    editor = await begin("stock", [write(path), DONE], {"permissionMode": "auto-edit"}, answers=["Reject"])
    await editor.run("Go.")
    (asked,) = editor.events_of("approval.requested")
    assert f"{path} is protected: " in asked["data"]["detail"]
    assert results(editor)["write"][0] == "denied"


async def test_a_file_that_a_link_leads_to_but_nothing_obeys_is_edited_without_a_question(begin, workspace):
    put(workspace, "meta/README.md")
    (workspace / ".github").symlink_to("meta")
    editor = await begin("stock", [write("meta/notes.md"), DONE], {"permissionMode": "auto-edit"})
    await editor.run("Go.")
    assert editor.events_of("approval.requested") == []


PLANT = (
    "echo x > conf/tasks.json; echo x > hooks/pre-commit; echo x > scripts/monitor.sh; echo x > scripts/pre-push; "
    "echo y > conf/old.json; echo y > scripts/ordinary.sh"
)
PLANTED = {"conf/tasks.json", "hooks/pre-commit", "scripts/monitor.sh"}


@in_both_worlds
async def test_what_a_command_plants_under_another_name_is_put_back(world, begin, workspace):
    git(workspace, "init", "-q")
    git(workspace, "config", "core.hooksPath", "hooks")
    git(workspace, "config", "core.fsmonitor", "scripts/monitor.sh")
    for name in ("conf/old.json", "hooks/README", "scripts/pre-push"):
        put(workspace, name)
    (workspace / ".vscode").symlink_to("conf")
    (workspace / ".git" / "hooks" / "pre-push").symlink_to("../../scripts/pre-push")
    run = step(call("run_command", command=PLANT, called="run"))
    editor = await begin("stock", [run, DONE], settings(world), answers=["Allow once", "Put back"])
    await editor.run("Go.")
    for name in PLANTED:
        assert not (workspace / name).exists(), name
        assert name in results(editor)["run"][1]
    for name in ("conf/old.json", "scripts/pre-push"):  # read-only, or put back
        assert (workspace / name).read_text() == "x\n"
    assert (workspace / "scripts" / "ordinary.sh").read_text() == "y\n"


@in_both_worlds
async def test_a_new_link_makes_no_files_of_the_user_planted(world, begin, workspace):
    put(workspace, "conf/old.json")
    run = step(call("run_command", command="ln -s conf .vscode", called="run"))
    editor = await begin("stock", [run, DONE], settings(world), answers=["Allow once", "Put back"])
    await editor.run("Go.")
    assert not (workspace / ".vscode").is_symlink()
    assert (workspace / "conf" / "old.json").read_text() == "x\n"
    assert "old.json" not in results(editor)["run"][1]


@in_both_worlds
async def test_a_link_on_the_way_that_a_command_replaced_is_put_back(world, begin, workspace):
    put(workspace, "conf/tasks.json")
    put(workspace, "evil/tasks.json", "evil\n")
    (workspace / "between").symlink_to("conf")
    (workspace / ".vscode").symlink_to("between")
    run = step(call("run_command", command="rm between; ln -s evil between", called="run"))
    editor = await begin("stock", [run, DONE], settings(world), answers=["Allow once", "Put back"])
    await editor.run("Go.")
    assert (workspace / ".vscode" / "tasks.json").read_text() == "x\n"


LEADING = [
    (".cargo", "config.toml"),
    (".github", "workflows/x.yml"),
    (".bundle", "config"),
    ("gradle", "wrapper/gradle-wrapper.properties"),
    (".yarn", "releases/yarn.cjs"),
    (".vim", "vimrc"),
    (".config", "git/config"),
    ("tools", "bazel"),
]


@in_both_worlds
@pytest.mark.parametrize(("link", "name"), LEADING)
async def test_a_link_that_has_a_file_obeyed_is_put_back(world, link, name, begin, workspace):
    """The file may be there already, by a name that nothing obeys: the link in the place of a folder is what plants it."""
    put(workspace, f"h/{name}", "mine\n")
    plant = step(call("run_command", command=f"ln -s h {link}; echo y > ordinary.txt", called="run"))
    editor = await begin("stock", [plant, DONE], settings(world, "auto"), answers=["Put back"])
    await editor.run("Go.")
    (asked,) = editor.events_of("approval.requested")
    assert f"- {link} (made; " in asked["data"]["detail"]
    assert not (workspace / link).is_symlink()
    assert (workspace / "h" / name).read_text() == "mine\n"
    assert (workspace / "ordinary.txt").exists()


@in_both_worlds
async def test_a_folder_that_is_moved_to_a_name_that_has_its_files_obeyed_is_put_back(
    world, begin, workspace
):
    put(workspace, "h/config.toml")
    put(workspace, "w/x.yml")
    move = "mv h .cargo; mkdir g; mv w g/workflows; mv g .github"
    run = step(call("run_command", command=move, called="run"))
    editor = await begin("stock", [run, DONE], settings(world, "auto"), answers=["Put back"])
    await editor.run("Go.")
    (asked,) = editor.events_of("approval.requested")
    for name in (".cargo/config.toml", ".github/workflows/x.yml"):
        assert name in asked["data"]["detail"]
        assert not (workspace / name).exists()


@in_both_worlds
@pytest.mark.parametrize(
    "turn",
    [["rm .cargo; ln -s h .cargo"], ["rm between; ln -s h between"], ["rm -r old; ln -s h old"], ["rm between", "ln -s h between"]],
)  # fmt: skip
async def test_a_link_on_the_way_that_comes_to_lead_to_such_a_file_is_put_back(world, turn, begin, workspace):
    put(workspace, "h/config.toml")
    put(workspace, "old/notes.md")
    (workspace / "between").symlink_to("old")
    (workspace / ".cargo").symlink_to("between")
    turns = [step(call("run_command", command=one)) for one in turn]
    # What lay in a folder whose place is taken is a question of its own.
    editor = await begin("stock", [*turns, DONE], settings(world, "auto"), answers=["Put back", "Put back"])
    await editor.run("Go.")
    asked = editor.events_of("approval.requested")
    assert len(asked) == (2 if "rm -r old" in turn[0] else 1)
    assert all(one["data"]["title"].startswith("Put back: ") for one in asked)
    assert (workspace / "old" / "notes.md").read_text() == "x\n"
    assert not (workspace / ".cargo" / "config.toml").exists()
    assert (workspace / "h" / "config.toml").exists()
    assert (workspace / ".cargo").readlink().name == "between"


@in_both_worlds
@pytest.mark.parametrize("by", ["edit", "command"])
async def test_a_file_that_comes_to_where_such_a_link_leads_asks(world, by, begin, workspace):
    put(workspace, "h/notes.md")
    run = call("run_command", command="echo evil > h/config.toml", called="write")
    later = write("h/config.toml") if by == "edit" else step(run)
    turns = [step(call("run_command", command="ln -s h .cargo", called="link")), later, DONE]
    answer = "Reject" if by == "edit" else "Put back"
    editor = await begin("stock", turns, settings(world, "auto"), answers=[answer])
    await editor.run("Go.")
    (asked,) = editor.events_of("approval.requested")
    assert asked["data"]["callId"] == "write"
    assert not (workspace / "h" / "config.toml").exists()
    assert (workspace / ".cargo").is_symlink(), "nothing was obeyed through it"


@in_both_worlds
async def test_a_link_through_which_nothing_more_is_obeyed_stays(world, begin, workspace):
    put(workspace, "h/AGENTS.md")
    put(workspace, "h/notes/config.toml")
    put(workspace, "h/.vscode/tasks.json")
    plant = "ln -s h .cargo; ln -s h tools; ln -s h/notes other; ln -s . gradle"
    run = step(call("run_command", command=plant, called="run"))
    editor = await begin("stock", [run, DONE], settings(world), answers=["Allow once"])
    await editor.run("Go.")
    assert len(editor.events_of("approval.requested")) == 1, "for the command alone"
    assert (workspace / ".cargo" / "AGENTS.md").exists()


@in_both_worlds
async def test_a_folder_that_a_link_took_the_place_of_gets_its_protected_file_back(world, begin, workspace):
    put(workspace, ".cargo/config.toml", "mine\n")
    put(workspace, "h/config.toml", "evil\n")
    run = step(call("run_command", command="mv .cargo old; ln -s h .cargo", called="run"))
    editor = await begin("stock", [run, DONE], settings(world), answers=["Allow once", "Put back"])
    await editor.run("Go.")
    assert not (workspace / ".cargo").is_symlink()
    assert (workspace / ".cargo" / "config.toml").read_text() == "mine\n"
