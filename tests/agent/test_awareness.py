"""The agent knows what changed under it: what others did to files it has seen is told once, and never written over."""

import os
import shlex
import sys

import pytest
from scripting import DONE, FIX, KINDS, call, result, results, step, types

from outrider.testing.scenario import scripted, start_session

FULL = {"permissionMode": "full"}
READ = call("read_file", path="tariff.py", called="read")
WAIT = call("ask_user", question="Go on?", options=["yes"], called="wait")


def wait_again(name):
    """A further question, as the same one is not asked twice."""
    return call("ask_user", question=f"Go on ({name})?", options=["yes"], called=name)


BODY = "    return hours * 3"


def told(editor):
    """What the model was told of changes, in order."""
    return [event["data"].get("told") for event in editor.events_of("workspace.changed")]


def meanwhile(*acts):
    """A user who does something at each question, and goes on."""
    left = list(acts)

    def person(_question):
        if left:
            left.pop(0)()
        return "yes"

    return person


def shows(*texts, lacks=()):
    return {"expect": {"messages_contain": list(texts), "messages_lack": list(lacks)}}


async def ended(editor, outcome):
    """Answer what parks the turn, by command, until it ends."""
    while outcome.get("outcome") == "needs_input":
        (item,) = outcome["open"]
        await editor.command("outrider.answer", {"id": item["id"], "answer": editor.answers(None)})
        outcome = await editor.wait_turn()
    return outcome


# --- being told ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", [*KINDS])
async def test_what_the_person_types_between_two_steps_is_told_once(profile, begin):
    new = "-    return hours * 3\n+    return hours * 4\n"
    turns = [step(READ), step(WAIT), {**step(wait_again("again")), **shows(new)}, DONE]
    editor = await begin(profile, turns)
    editor.open("tariff.py")

    def type_and_settle():
        editor.type("tariff.py", "hours * 4", replace="hours * 3")
        editor.settle()

    editor.answers = meanwhile(type_and_settle)
    outcome = await ended(editor, await editor.run("Go."))
    assert outcome["outcome"] == "completed", outcome
    (event,) = editor.events_of("workspace.changed")
    data = event["data"]
    assert (data["path"], data["by"]) == ("tariff.py", "editor")
    assert data["hunks"] == [{"line": 3, "removed": f"{BODY}\n", "added": "    return hours * 4\n"}]
    assert data["told"].startswith("[tariff.py was changed in the editor since you last saw it:]\n")
    assert data["told"].endswith(new)


async def test_a_program_that_writes_a_closed_file_is_told(begin):
    turns = [step(READ), step(WAIT), {**DONE, **shows("on disk, by another program", "+# new")}]
    editor = await begin("stock", turns)
    path = editor.root / "tariff.py"
    editor.answers = meanwhile(lambda: path.write_text("# new\n" + path.read_text()))
    assert (await editor.run("Go."))["outcome"] == "completed"
    assert len(told(editor)) == 1


async def test_a_file_of_the_same_size_and_time_is_looked_into(begin):
    """A write within the granularity of the clock leaves the same numbers behind, but another text."""
    turns = [step(READ), step(WAIT), step(wait_again("more")), {**DONE, **shows("+    return hours * 5")}]
    editor = await begin("stock", turns)
    path = editor.root / "tariff.py"

    def write():
        before = path.stat()
        path.write_text(path.read_text().replace("* 3", "* 5"))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    editor.answers = meanwhile(lambda: None, write)
    assert (await editor.run("Go."))["outcome"] == "completed"


async def test_a_file_that_is_deleted_and_comes_back_is_told_each_time(begin):
    turns = [
        step(READ),
        step(WAIT),
        {**step(wait_again("two")), **shows("[tariff.py was deleted on disk, by another program.]")},
        {**DONE, **shows("[tariff.py was created on disk, by another program since you last saw it:]")},
    ]
    editor = await begin("stock", turns)
    path = editor.root / "tariff.py"
    editor.answers = meanwhile(path.unlink, lambda: path.write_text("back\n"))
    assert (await editor.run("Go."))["outcome"] == "completed"
    assert len(told(editor)) == 2


async def test_a_formatter_on_save_is_told_after_the_edit_of_the_agent(begin):
    """The agent's own edit is not told, what the formatter made of it is."""
    turns = [
        step(READ),
        step(FIX),
        step(WAIT),
        {**DONE, **shows("+    return 2 * hours", lacks=["-    return hours * 3"])},
    ]
    editor = await begin("stock", turns, FULL)
    editor.open("tariff.py")

    def format_and_save():
        editor.type("tariff.py", "2 * hours", replace="hours * 2")
        editor.save("tariff.py")

    editor.answers = meanwhile(format_and_save)
    assert (await editor.run("Go."))["outcome"] == "completed"
    assert len(told(editor)) == 1


async def test_own_edits_and_files_never_read_are_not_told(begin):
    turns = [step(READ), step(FIX), step(WAIT), DONE]
    editor = await begin("stock", turns, FULL)
    editor.answers = meanwhile(lambda: (editor.root / "README.md").write_text("other\n"))
    await editor.run("Go.")
    assert told(editor) == []


async def test_a_long_change_is_not_told_in_full(begin):
    turns = [step(READ), step(WAIT), {**DONE, **shows("too large to show: read it again", lacks=["line 77"])}]
    editor = await begin("stock", turns)
    path = editor.root / "tariff.py"
    editor.answers = meanwhile(lambda: path.write_text("".join(f"line {n}\n" for n in range(500))))
    assert (await editor.run("Go."))["outcome"] == "completed"


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"\0\1\2", "is binary"),
        (b"x" * (11 << 20), "too big"),
        (b"\xff\xfe\xfd", "not UTF-16"),
        (b"\xfd", "not UTF-8"),
    ],
)
async def test_a_file_that_is_no_text_any_more_is_told(content, word, begin):
    turns = [
        step(READ),
        step(WAIT),
        step(wait_again("two")),
        {**DONE, **shows("can no longer be read", word)},
    ]
    editor = await begin("stock", turns)
    editor.answers = meanwhile(lambda: (editor.root / "tariff.py").write_bytes(content))
    assert (await editor.run("Go."))["outcome"] == "completed"
    assert len(told(editor)) == 1


async def test_between_two_turns_it_is_told_with_the_next_task(begin):
    editor = await begin(
        "stock",
        [
            step(READ),
            DONE,
            {**DONE, "expect": {"messages_contain": "+# mine", "last_message_contains": "Second."}},
        ],
    )
    editor.open("tariff.py")
    await editor.run("First.")
    editor.type("tariff.py", "# mine\n", at=(0, 0))
    assert (await editor.run("Second.", sessionId=editor.session_id))["outcome"] == "completed"


async def test_an_undo_is_told_as_an_undo(begin):
    turns = [
        step(READ),
        step(FIX),
        DONE,
        {**DONE, **shows("by an undo that the user asked for", "+    return hours * 3")},
    ]
    editor = await begin("stock", turns, FULL)
    await editor.run("First.")
    await editor.command("outrider.undo", {})
    assert (await editor.run("Second.", sessionId=editor.session_id))["outcome"] == "completed"


async def test_promise_8_a_restart_forgets_nothing_of_what_was_seen(workspace):
    model = scripted(workspace, [step(READ), DONE, {**DONE, **shows("+# while it was down")}])
    ids = {"testing": {"ids": None}}
    async with start_session("stock", workspace, model, ids) as editor:
        await editor.run("First.")
        session = editor.session_id
    path = workspace / "tariff.py"
    path.write_text("# while it was down\n" + path.read_text())
    async with start_session("stock", workspace, model, ids) as editor:
        assert (await editor.run("Second.", sessionId=session))["outcome"] == "completed"


async def test_promise_10_secret_files_are_not_told(begin, workspace):
    (workspace / ".env").write_text("KEY=1\n")
    turns = [step(call("read_file", path=".env")), step(WAIT), {**DONE, **shows(lacks=["hunter2"])}]
    editor = await begin("stock", turns)

    def person(question):
        if question.message.startswith("Read .env"):
            return "Allow once"
        (workspace / ".env").write_text("KEY=hunter2\n")
        return "yes"

    editor.answers = person
    assert (await editor.run("Go."))["outcome"] == "completed"
    assert told(editor) == []


# --- edits over changes ------------------------------------------------------------------------------------------


async def test_promise_4_an_edit_at_a_place_that_changed_meanwhile_is_refused(begin):
    turns = [step(READ), step(WAIT, FIX), {**DONE, **shows("+    return hours * 3  # mine")}]
    editor = await begin("stock", turns, FULL)
    editor.open("tariff.py")
    editor.answers = meanwhile(lambda: editor.type("tariff.py", "hours * 3  # mine", replace="hours * 3"))
    assert (await editor.run("Go."))["outcome"] == "completed"
    status, content = results(editor)["fix"]
    assert status == "error"
    assert "someone else changed this place" in content
    assert "     3\t    return hours * 3  # mine" in content
    assert editor.text("tariff.py").endswith("hours * 3  # mine\n")
    assert len(told(editor)) == 1


async def test_promise_4_an_edit_elsewhere_goes_through_and_the_change_is_told(begin):
    turns = [step(READ), step(WAIT, FIX), {**DONE, **shows("+# mine", lacks=["+    return hours * 2"])}]
    editor = await begin("stock", turns, FULL)
    editor.open("tariff.py")
    editor.answers = meanwhile(lambda: editor.type("tariff.py", "# mine\n", at=(0, 0)))
    assert (await editor.run("Go."))["outcome"] == "completed"
    assert results(editor)["fix"][0] == "ok"
    assert editor.text("tariff.py").startswith("# mine\n")
    assert editor.text("tariff.py").endswith("hours * 2\n")
    assert len(told(editor)) == 1


INSERT = call("insert_lines", path="tariff.py", after_line=1, text="    # by the hour", called="insert")


async def test_promise_4_lines_are_inserted_where_the_text_that_was_seen_has_the_line(begin):
    editor = await begin("stock", [step(READ), step(WAIT, INSERT), DONE], FULL)
    editor.open("tariff.py")
    editor.answers = meanwhile(lambda: editor.type("tariff.py", "# mine\n# too\n", at=(0, 0)))
    assert (await editor.run("Go."))["outcome"] == "completed"
    assert results(editor)["insert"][0] == "ok"
    assert editor.text("tariff.py").startswith("# mine\n# too\ndef price(hours):\n    # by the hour\n")


async def test_promise_4_lines_are_inserted_there_too_where_the_text_changed_before_the_yes(begin):
    editor = await begin("stock", [step(READ), step(INSERT), DONE])
    editor.open("tariff.py")
    typed = meanwhile(lambda: editor.type("tariff.py", "# mine\n# too\n", at=(0, 0)))

    def person(question):
        typed(question)
        return "Allow once"

    editor.answers = person
    assert (await editor.run("Go."))["outcome"] == "completed"
    assert results(editor)["insert"][0] == "ok"
    assert editor.text("tariff.py").startswith("# mine\n# too\ndef price(hours):\n    # by the hour\n")


async def test_promise_4_lines_are_not_inserted_at_a_place_that_changed_meanwhile(begin):
    editor = await begin("stock", [step(READ), step(WAIT, INSERT), DONE], FULL)
    editor.open("tariff.py")
    editor.answers = meanwhile(lambda: editor.type("tariff.py", "    # mine\n", at=(1, 0)))
    assert (await editor.run("Go."))["outcome"] == "completed"
    status, content = results(editor)["insert"]
    assert status == "error"
    assert "tariff.py was not changed: someone else changed this place" in content
    assert "     2\t    # mine\n" in content
    assert "by the hour" not in editor.text("tariff.py")


async def test_promise_4_what_is_typed_into_an_edit_on_its_way_is_told(begin):
    turns = [step(READ), step(FIX), {**DONE, **shows("+# typed", lacks=["+    return hours * 2"])}]
    editor = await begin("types-before-edit", turns, FULL)
    editor.open("tariff.py")
    assert (await editor.run("Go."))["outcome"] == "completed"
    assert editor.text("tariff.py").startswith("# typed\n")


OVER = call("write_file", path="tariff.py", content="new\n", called="over")


@pytest.mark.parametrize("settings", [FULL, {}], ids=["full", "ask"])
async def test_promise_4_a_file_never_read_is_not_replaced(settings, begin):
    editor = await begin("stock", [step(OVER), DONE], settings)
    await editor.run("Go.")
    status, content = result(editor)
    assert status == "error"
    assert "you have not read its current text" in content
    assert editor.disk("tariff.py").endswith("* 3\n")


async def test_promise_4_a_file_that_changed_since_it_was_read_is_not_replaced(begin):
    editor = await begin("stock", [step(READ), step(WAIT, OVER), step(OVER | {"id": "now"}), DONE], FULL)
    editor.open("tariff.py")
    editor.answers = meanwhile(lambda: editor.type("tariff.py", "# mine\n", at=(0, 0)))
    await editor.run("Go.")
    assert results(editor)["over"][0] == "error"
    assert "     1\t# mine" in results(editor)["over"][1]
    assert results(editor)["now"][0] == "ok", "now the model has seen it"


async def test_promise_4_a_file_that_changed_since_it_was_read_is_not_deleted(begin):
    delete = call("delete_file", path="tariff.py", called="delete")
    editor = await begin("stock", [step(READ), step(WAIT, delete), DONE], FULL)
    editor.answers = meanwhile(lambda: (editor.root / "tariff.py").write_text("mine\n"))
    await editor.run("Go.")
    assert results(editor)["delete"][0] == "error"
    assert editor.disk("tariff.py") == "mine\n"


# --- commands ----------------------------------------------------------------------------------------------------


def run(code, called="run"):
    return call("run_command", command=f"{shlex.quote(sys.executable)} -c {shlex.quote(code)}", called=called)


REWRITE = run("p='tariff.py'; t=open(p).read(); open(p,'w').write(t.replace('* 3', '* 9'))")


async def test_promise_5_what_a_command_did_to_a_file_that_was_read_is_told_and_undone(begin, workspace):
    before = (workspace / "tariff.py").read_bytes()
    turns = [step(READ), step(REWRITE), {**DONE, **shows("by the command `", "+    return hours * 9")}]
    editor = await begin("stock", turns, FULL)
    assert (await editor.run("Go."))["outcome"] == "completed"
    assert "it changed files that you have read or that are open: tariff.py]" in results(editor)["run"][1]
    (event,) = editor.events_of("workspace.changed")
    assert (event["data"]["by"], event["data"]["callId"]) == ("command", "run")
    for _ in range(2):
        undone = await editor.command("outrider.undo", {})
        assert undone["undone"] == [{"path": "tariff.py", "hunks": 1}]
        assert (workspace / "tariff.py").read_bytes() == before
        await editor.command("outrider.redo", {})
        assert b"* 9" in (workspace / "tariff.py").read_bytes()


async def test_promise_5_edits_and_commands_of_a_turn_are_undone_together(begin, workspace):
    before = (workspace / "tariff.py").read_bytes()
    more = run("open('tariff.py','a').write('# by command\\n')")
    editor = await begin("stock", [step(FIX), step(more), DONE], FULL)
    await editor.run("Go.")
    assert editor.disk("tariff.py").endswith("* 2\n# by command\n")
    await editor.command("outrider.undo", {"scope": "turn"})
    assert (workspace / "tariff.py").read_bytes() == before


async def test_promise_5_a_file_that_a_command_deletes_comes_back(begin, workspace):
    before = (workspace / "tariff.py").read_bytes()
    remove = run("import os; os.remove('tariff.py')")
    editor = await begin(
        "stock", [step(READ), step(remove), {**DONE, **shows("was deleted by the command")}], FULL
    )
    assert (await editor.run("Go."))["outcome"] == "completed"
    assert "tariff.py (deleted)" in results(editor)["run"][1]
    undone = await editor.command("outrider.undo", {"scope": "step"})
    assert undone["undone"] == [{"path": "tariff.py", "hunks": 1}]
    assert (workspace / "tariff.py").read_bytes() == before


async def test_promise_5_a_file_that_a_command_puts_back_goes_again(begin, workspace):
    delete = call("delete_file", path="tariff.py", called="delete")
    put = run("open('tariff.py','w').write('again\\n')")
    editor = await begin("stock", [step(READ), step(delete), step(put), DONE], FULL)
    await editor.run("Go.")
    assert "tariff.py (created)" in results(editor)["run"][1]
    await editor.command("outrider.undo", {"scope": "step"})
    assert not (workspace / "tariff.py").exists()


async def test_promise_4_an_open_buffer_keeps_its_text_when_a_command_writes_its_file(begin, workspace):
    turns = [step(READ), step(REWRITE), {**DONE, **shows(lacks=["+    return hours * 9"])}]
    editor = await begin("stock", turns, FULL)
    editor.open("tariff.py")
    editor.type("tariff.py", "# typed\n", at=(0, 0))
    await editor.run("Go.")
    assert "on disk whose open buffers still show other text: tariff.py" in results(editor)["run"][1]
    assert editor.text("tariff.py").startswith("# typed\n")
    (event,) = editor.events_of("workspace.changed")
    assert event["data"]["unshown"] is True
    assert "told" not in event["data"]


async def test_what_is_loaded_again_after_a_command_is_told_then(begin):
    turns = [
        step(READ),
        step(REWRITE),
        step(WAIT),
        {**DONE, **shows("in the editor", "+    return hours * 9")},
    ]
    editor = await begin("stock", turns, FULL)
    editor.open("tariff.py")
    editor.answers = meanwhile(lambda: editor.reload("tariff.py"))
    assert (await editor.run("Go."))["outcome"] == "completed"


async def test_an_open_file_never_read_is_undone_and_not_told(begin, workspace):
    before = (workspace / "README.md").read_bytes()
    change = run("open('README.md','w').write('changed\\n')")
    editor = await begin("stock", [step(change), {**DONE, **shows("README.md", lacks=["+changed"])}], FULL)
    editor.open("README.md")
    await editor.run("Go.")
    assert "README.md" in results(editor)["run"][1]
    editor.reload("README.md")
    await editor.command("outrider.undo", {})
    editor.save("README.md")
    assert (workspace / "README.md").read_bytes() == before


async def test_a_binary_file_that_a_command_changed_is_named_and_not_undoable(begin, workspace):
    make = run("open('tariff.py','wb').write(bytes([0, 1, 2]))")
    again = run("open('tariff.py','wb').write(bytes([0, 9, 9, 9]))", called="again")
    editor = await begin("stock", [step(READ), step(make), step(again), DONE], FULL)
    await editor.run("Go.")
    assert "undo cannot restore tariff.py" in results(editor)["run"][1]
    assert "undo cannot restore tariff.py" in results(editor)["again"][1]
    undone = await editor.command("outrider.undo", {})
    assert undone["undone"] == []
    # Each command for a reason of its own.
    assert [one["what"] for one in undone["notUndoable"]] == ["tariff.py"] * 2
    assert len({one["reason"] for one in undone["notUndoable"]}) == 2
    assert (workspace / "tariff.py").read_bytes() == bytes([0, 9, 9, 9])


async def test_a_command_that_changes_nothing_says_nothing(begin):
    editor = await begin("stock", [step(READ), step(run("pass")), DONE], FULL)
    await editor.run("Go.")
    assert results(editor)["run"][1] == "[exit code 0]"
    assert "workspace.changed" not in types(editor)


async def test_promise_9_what_a_cancelled_command_did_is_in_the_log(begin, workspace):
    code = "import time; open('tariff.py','w').write('half\\n'); print('written', flush=True); time.sleep(60)"
    before = (workspace / "tariff.py").read_bytes()
    editor = await begin("stock", [step(READ), step(run(code)), DONE], FULL)
    started = await editor.command("outrider.run", {"prompt": "Go."})
    await editor.wait_for(lambda: any("written" in frame["text"] for frame in editor.frames), "output")
    await editor.command("outrider.cancel", {"turnId": started["turnId"]})
    assert editor.events_of("workspace.changed")[0]["data"]["by"] == "command"
    await editor.command("outrider.undo", {})
    assert (workspace / "tariff.py").read_bytes() == before


async def test_promise_5_a_command_is_undone_after_a_restart(workspace):
    before = (workspace / "tariff.py").read_bytes()
    model = scripted(workspace, [step(READ), step(REWRITE), DONE])
    ids = {"testing": {"ids": None}}
    async with start_session("stock", workspace, model, {**FULL, **ids}) as editor:
        await editor.run("Go.")
    async with start_session("stock", workspace, model, ids) as editor:
        await editor.command("outrider.undo", {})
        assert (workspace / "tariff.py").read_bytes() == before
