"""Files that want an explicit yes: those with secrets in every mode, those that something else obeys in all but `full`."""

import json
import subprocess

import pytest
from scripting import DONE, call, result, results, step

KEY = "TOKEN=tok-9f2c\n"
READ = call("read_file", path=".env", called="read")
HOOK = call("write_file", path=".git/hooks/pre-commit", content="exit 0\n", called="hook")
MODES = ["ask", "auto-edit", "full"]


@pytest.fixture
def secret(workspace):
    (workspace / ".env").write_text(KEY)
    (workspace / "open.txt").write_text("TOKEN is in another file\n")
    return workspace


@pytest.mark.parametrize("mode", MODES)
async def test_a_file_with_secrets_is_read_only_with_a_yes(mode, begin, secret):
    editor = await begin("stock", [step(READ), DONE], {"permissionMode": mode}, answers=["Reject"])
    await editor.run("Go.")
    assert result(editor)[0] == "denied"
    (question,) = editor.questions
    assert "\nCareful: .env is a secret file: files with that name hold secrets" in question.message
    assert KEY.strip() not in json.dumps([editor.events, editor.messages and question.message])


async def test_one_yes_is_for_one_read_and_a_session_grant_for_that_file(begin, secret):
    (secret / "other.pem").write_text("x")
    reads = [READ, READ | {"id": "again"}, READ | {"id": "third"}]
    other = call("read_file", path="other.pem", called="other")
    editor = await begin(
        "stock", [*map(step, reads), step(other), DONE],
        answers=["Allow once", "Allow for this session", "Reject"],
    )  # fmt: skip
    await editor.run("Go.")
    assert [status for status, _ in results(editor).values()] == ["ok", "ok", "ok", "denied"]
    assert "“Allow for this session” covers reading .env." in editor.questions[0].message


async def test_a_read_only_session_can_still_ask(begin, secret):
    editor = await begin("stock", [step(READ), DONE], {"permissionMode": "read-only"}, answers=["Allow once"])
    await editor.run("Go.")
    assert result(editor)[0] == "ok"


async def test_a_search_leaves_its_text_out_unless_it_is_named(begin, secret):
    (secret / ".outriderignore").write_text("private/\n")
    (secret / "private").mkdir()
    (secret / "private" / "a.txt").write_text("TOKEN=private\n")
    every = call("search", pattern="TOKEN", called="every")
    folder = call("search", pattern="TOKEN", path="private", called="folder")
    named = call("search", pattern="TOKEN", path=".env", called="named")
    editor = await begin("stock", [step(every), step(folder), step(named), DONE], answers=["Reject"])
    editor.open(".env")
    editor.type(".env", "TOKEN=typed\n")
    await editor.run("Go.")
    assert results(editor)["every"] == ("ok", "open.txt:1: TOKEN is in another file")
    assert results(editor)["folder"] == ("ok", "[no matches]")
    assert results(editor)["named"][0] == "denied"


async def test_an_edit_tells_nothing_of_a_file_that_was_not_read(begin, secret):
    guess = call("edit_file", path=".env", old="TOKEN=guess", new="x", called="guess")
    patch = "*** Begin Patch\n*** Update File: .env\n@@\n-TOKEN=guess\n+x\n*** End Patch\n"
    tries = [guess, call("apply_patch", patch=patch, called="patch")]
    editor = await begin("stock", [*map(step, tries), DONE], {"permissionMode": "full"})
    await editor.run("Go.")
    for status, content in results(editor).values():
        assert status == "error"
        assert ".env is a secret file" in content
        assert "9f2c" not in content


async def test_an_edit_of_it_asks_after_a_read_too(begin, secret):
    edit = call("edit_file", path=".env", old="9f2c", new="new", called="edit")
    editor = await begin(
        "stock", [step(READ), step(edit), DONE], {"permissionMode": "full"}, answers=["Allow once", "Reject"]
    )
    await editor.run("Go.")
    assert results(editor)["edit"][0] == "denied"
    assert (secret / ".env").read_text() == KEY


async def test_a_rename_is_no_way_around_it(begin, secret):
    rename = call("rename_file", **{"from": ".env", "to": "notes.txt"}, called="rename")
    editor = await begin("stock", [step(rename), DONE], {"permissionMode": "full"}, answers=["Reject"])
    await editor.run("Go.")
    assert result(editor)[0] == "denied"
    assert (secret / ".env").exists()


async def test_a_link_is_no_way_around_it(begin, secret):
    (secret / "notes.txt").symlink_to(".env")
    read = call("read_file", path="notes.txt", called="read")
    search = call("search", pattern="TOKEN", path=".", called="search")
    editor = await begin("stock", [step(read), step(search), DONE], answers=["Reject"])
    await editor.run("Go.")
    assert results(editor)["read"][0] == "denied"
    assert "9f2c" not in results(editor)["search"][1]


@pytest.mark.parametrize(("mode", "asks"), [("ask", True), ("auto-edit", True), ("full", False)])
async def test_what_something_else_obeys_is_edited_with_a_yes(mode, asks, begin, workspace):
    (workspace / ".git" / "hooks").mkdir(parents=True)
    editor = await begin("stock", [step(HOOK), DONE], {"permissionMode": mode}, answers=["Reject"])
    await editor.run("Go.")
    assert len(editor.questions) == asks
    assert (workspace / ".git" / "hooks" / "pre-commit").exists() is not asks
    if asks:
        assert "is protected: it belongs to git" in editor.questions[0].message


async def test_a_rule_that_names_the_file_is_a_yes_and_a_wide_one_is_not(begin, secret, rules):
    both = '[[rule]]\ndecision = "allow"\ntool = "read"\npath = "{}"\n'
    rules(both.format("**"))
    editor = await begin("stock", [step(READ), step(READ | {"id": "again"}), DONE], answers=["Reject"])

    def person(_question):
        rules(both.format(".env"))
        return "Reject"

    editor.answers = person
    await editor.run("Go.")
    assert [status for status, _ in results(editor).values()] == ["denied", "ok"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "command", ["cat .env", "cat < .env", "cat notes.txt", "cat private/a.txt", "head -c 99 .e*"]
)
async def test_a_command_that_names_it_is_no_way_around_it(mode, command, begin, secret, rules):
    rules('[[rule]]\ndecision = "allow"\ntool = "run_command"\ncommand = "cat"\n')
    (secret / "notes.txt").symlink_to(".env")
    (secret / ".outriderignore").write_text("private/\n")
    (secret / "private").mkdir()
    (secret / "private" / "a.txt").write_text(KEY)
    run = call("run_command", command=command, called="run")
    editor = await begin(
        "stock", [step(run), step(run | {"id": "again"}), DONE], {"permissionMode": mode},
        answers=["Allow for this session"],
    )  # fmt: skip
    await editor.run("Go.")
    (question,) = editor.questions
    assert "is a secret file: " in question.message
    assert "Always allow…" not in question.titles
    assert [status for status, _ in results(editor).values()] == ["ok", "ok"]


@pytest.mark.parametrize("command", ["grep -r TOKEN .", "rg --hidden TOKEN", "diff -r . sub"])
async def test_a_command_that_only_reads_does_not_come_to_it_unasked(command, begin, secret):
    (secret / "sub").mkdir()
    run = call("run_command", command=command, called="run")
    editor = await begin("stock", [step(run), DONE], {"permissionMode": "auto-edit"}, answers=["Reject"])
    await editor.run("Go.")
    assert results(editor)["run"][0] == "denied"
    assert ".env, which is a secret file: files with that name hold secrets" in editor.questions[0].message


async def test_what_git_shows_of_a_file_that_is_gone_wants_a_yes(begin, workspace):
    def git(*arguments):
        who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", *who, *arguments], cwd=workspace, check=True, capture_output=True, timeout=30)

    git("init", "-q")
    (workspace / ".env").write_text(KEY)
    for step_of_git in (
        ["add", ".env"],
        ["commit", "-qm", "a"],
        ["rm", "-q", ".env"],
        ["commit", "-qm", "b"],
    ):
        git(*step_of_git)
    whole = call("run_command", command="git log -p", called="whole")
    texts = call("run_command", command="git log -p --text", called="texts")
    editor = await begin(
        "stock", [step(whole), step(texts), DONE], {"permissionMode": "full"}, answers=["Reject"]
    )
    await editor.run("Go.")
    (shown, denied) = results(editor).values()
    assert (shown[0], denied[0]) == ("ok", "denied")
    assert "Binary files" in shown[1]
    assert KEY.partition("=")[2].strip() not in shown[1]
    (question,) = editor.questions
    assert "--text makes git show every file as text" in question.message
