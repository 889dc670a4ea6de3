"""Promises 1, 2 and 6: nothing without a yes, what was approved is what happens, read-only is read-only."""

import asyncio
from dataclasses import replace

import pytest
from scripting import DONE, FIX, KINDS, call, result, results, step, types

from outrider.agent.interaction.inbox import CHANGED_SINCE_ALLOWED
from outrider.testing.editor.answers import Dismiss, Late, Never
from outrider.testing.editor.profiles import NEVER_YES, PROFILES, STOCK
from outrider.testing.editor.wire_client import RpcError

SOON = {"limits": {"askSeconds": 0.05}}
RUN = call("run_command", command="echo ran > made.txt", called="run")
WRITE = call("write_file", path="new.txt", content="new\n", called="write")
DELETE = call("delete_file", path="README.md", called="delete")
RENAME = call("rename_file", **{"from": "README.md", "to": "READ.md"}, called="rename")
EFFECTS = pytest.mark.parametrize("effect", [FIX, RUN, WRITE, DELETE, RENAME], ids=lambda one: one["name"])


def files(workspace):
    return {
        str(path.relative_to(workspace)): path.read_bytes()
        for path in workspace.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


async def refused(editor, **answer):
    with pytest.raises(RpcError) as error:
        await editor.command("outrider.answer", answer)
    assert error.value.code == -32803
    return error.value.data["reason"]


# --- promise 1 -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", [str(one) for one in NEVER_YES])
@EFFECTS
async def test_promise_1_what_is_no_yes_parks_and_changes_nothing(profile, effect, begin, workspace):
    before = files(workspace)
    editor = await begin(profile, [step(effect), DONE], SOON, answers=lambda question: "Allow once")
    editor.open("tariff.py")
    waiting = await editor.run("Change it.")
    assert waiting["outcome"] == "needs_input"
    (item,) = waiting["open"]
    assert item["kind"] == "approval"
    assert item["options"][0] == "Allow once"
    assert item["options"][-1] == "Reject"
    assert types(editor)[-2:] == ["approval.requested", "turn.parked"]
    assert files(workspace) == before
    assert editor.edits == []
    status = (await editor.command("outrider.status"))["sessions"]
    assert [(one["state"], one["open"]) for one in status] == [("parked", [item])]


@pytest.mark.parametrize("channel", ["command", "action", "late"])
@pytest.mark.parametrize("profile", ["stock", "answers-late", "answers-never", "helix-25.01", "bare"])
async def test_a_parked_approval_is_answered_by_any_channel(profile, channel, begin):
    editor = await begin(profile, [step(FIX), DONE], SOON, answers=lambda _: Late("Allow once"))
    if channel == "late" and not editor.profile.can_ask:
        channel = "command"
    waiting = await editor.run("Change it.")
    assert waiting["outcome"] == "needs_input"
    (item,) = waiting["open"]
    if channel == "command":
        await editor.command("outrider.answer", {"id": item["id"], "decision": "allow_once"})
    elif channel == "action":
        offered = [action["title"] for action in await editor.code_actions("README.md")]
        third = (
            "Review…"
            if editor.profile.capabilities.get("window", {}).get("showDocument")
            else "Allow for this session"
        )
        assert sorted(offered[:3]) == sorted(
            f"Outrider: {title} — Edit tariff.py (+1 −1)" for title in ("Allow once", "Reject", third)
        )
        await editor.take_action("Outrider: Allow once")
    else:
        if editor.questions[0].answered:
            return  # an answer that came in time and was none cannot come again
        editor.answer_late(editor.questions[0], "Allow once")
        await editor.event("turn.resumed")
    outcome = await editor.wait_turn()
    assert outcome["outcome"] == "completed"
    assert editor.disk("tariff.py").endswith("hours * 2\n")
    (resumed,) = editor.events_of("turn.resumed")
    assert resumed["data"] == {"id": item["id"]}


@pytest.mark.parametrize(
    ("asked", "decision"),
    [
        (FIX, "allow_once"),
        (FIX, "allow_session"),
        (call("run_command", command="/bin/true", called="fix"), "allow_once"),
    ],
)
async def test_what_is_said_with_a_yes_reaches_the_model(asked, decision, begin):
    after = {**DONE, "expect": {"messages_contain": ["The user allowed this and said: Mind the nights."]}}
    editor = await begin("stock", [step(asked), after], answers=[Never()])
    started = await editor.command("outrider.run", {"prompt": "Go."})
    await editor.event("approval.requested")
    (asked,) = editor.events_of("approval.requested")
    answer = {"id": asked["data"]["id"], "decision": decision, "note": "Mind the nights."}
    await editor.command("outrider.answer", answer)
    assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"
    assert results(editor)["fix"][0] == "ok"


async def test_the_first_answer_wins(begin):
    editor = await begin("stock", [step(FIX), DONE], answers=lambda _: Late("Allow once"))
    started = await editor.command("outrider.run", {"prompt": "Change it."})
    question = await editor.question()
    (asked,) = editor.events_of("approval.requested")
    item = asked["data"]["id"]
    await editor.command("outrider.answer", {"id": item, "decision": "reject", "note": "not this line"})
    assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"
    assert await refused(editor, id=item, decision="allow_once") == "already_resolved"
    assert question.withdrawn
    editor.answer_late(question)
    assert (await editor.command("outrider.status"))["sessions"][0]["state"] == "idle"
    told = [
        one.message["params"]["message"]
        for one in editor.messages
        if one.message.get("method") == "window/showMessage"
    ]
    late = "Outrider: your “Allow once” had no effect: “Reject” was already answered. Edit tariff.py (+1 −1)"
    assert late in told
    assert result(editor) == ("denied", "The user rejected this and said: not this line.")
    assert editor.disk("tariff.py").endswith("hours * 3\n")
    (resolved,) = editor.events_of("approval.resolved")
    assert resolved["data"]["channel"] == "command"
    assert "turn.parked" not in types(editor)


async def test_two_answers_at_once_are_one(begin):
    editor = await begin("stock", [step(FIX), DONE])
    (item,) = (await editor.run("Change it."))["open"]
    first = editor.command_nowait("outrider.answer", {"id": item["id"], "decision": "allow_once"})
    second = editor.command_nowait("outrider.answer", {"id": item["id"], "decision": "reject"})
    assert await first == {"id": item["id"]}
    with pytest.raises(RpcError) as error:
        await second
    assert error.value.data == {"reason": "already_resolved"}
    await editor.wait_turn()
    assert result(editor)[0] == "ok"


@EFFECTS
async def test_a_rejection_is_told_to_the_model_and_the_loop_goes_on(effect, begin, workspace):
    before = files(workspace)
    turns = [step(effect), {"text": "Then not.", "expect": {"last_message_contains": "rejected"}}]
    editor = await begin("stock", turns, answers=["Reject"])
    outcome = await editor.run("Change it.")
    assert (outcome["outcome"], outcome["reason"]) == ("completed", "no_changes")
    assert result(editor) == ("denied", "The user rejected this.")
    assert files(workspace) == before
    assert "tool.started" not in types(editor)


async def test_wrong_answers_are_refused_and_the_item_stays_open(begin):
    editor = await begin("stock", [step(DELETE), DONE])
    (item,) = (await editor.run("Change it."))["open"]
    assert await refused(editor, id="open_99", decision="allow_once") == "unknown_id"
    assert await refused(editor, id=item["id"], answer="Allow once") == "invalid"
    assert await refused(editor, id=item["id"], decision="allow_session") == "invalid"
    with pytest.raises(RpcError) as error:
        await editor.command("outrider.answer", {"id": item["id"], "decision": "yes"})
    assert error.value.code == -32602
    assert error.value.data["path"] == "decision"
    assert (await editor.wait_turn())["outcome"] == "needs_input"
    await editor.command("outrider.answer", {"id": item["id"], "decision": "allow_once"})
    assert (await editor.wait_turn())["outcome"] == "completed"
    assert not (editor.root / "README.md").exists()


@pytest.mark.parametrize("profile", ["eglot", "helix-25.07"])
async def test_the_harmless_title_comes_first_where_the_editor_preselects_it(profile, begin):
    editor = await begin(profile, [step(FIX), DONE], answers=["Reject"])
    assert editor.profile.preselects_first_action
    await editor.run("Change it.")
    assert editor.questions[0].titles[0] == "Reject"


# --- for the session -----------------------------------------------------------------------------------------


async def test_a_grant_covers_further_edits_of_that_file_and_nothing_else(begin):
    turns = [
        step(FIX),
        step(call("edit_file", path="tariff.py", old="Two for", new="It is two for", called="same")),
        step(call("edit_file", path="README.md", old="Counts", new="Says", called="other")),
        step(RUN),
        step(call("delete_file", path="tariff.py", called="delete")),
        DONE,
    ]
    editor = await begin("stock", turns, answers=["Allow for this session", *["Reject"] * 3])
    await editor.run("Change it.")
    assert "“Allow for this session” covers further edits of tariff.py." in editor.questions[0].message
    told = {name: status for name, (status, _) in results(editor).items()}
    assert told == {"fix": "ok", "same": "ok", "other": "denied", "run": "denied", "delete": "denied"}
    assert len(editor.questions) == 4
    by = [(event["data"]["by"], event["data"]["decision"]) for event in editor.events_of("approval.resolved")]
    assert by[:2] == [("person", "allow_session"), ("rule", "allow_once")]


async def test_a_grant_covers_the_identical_command_in_the_same_folder_and_nothing_else(begin):
    turns = [
        step(call("run_command", command="echo one >> out.txt", called="first")),
        step(call("run_command", command="echo one >> out.txt", called="again")),
        step(call("run_command", command="echo one  >> out.txt", called="space")),
        step(call("run_command", command="echo one >> out.txt", cwd="tests", called="folder")),
        step(call("run_command", command="echo one >> out.txt; true", called="more")),
        DONE,
    ]
    editor = await begin("stock", turns, answers=["Allow for this session", *["Reject"] * 3])
    await editor.run("Run it.")
    assert "covers this exact command in the workspace folder." in editor.questions[0].message
    told = {name: status for name, (status, _) in results(editor).items()}
    assert told == {"first": "ok", "again": "ok", "space": "denied", "folder": "denied", "more": "denied"}
    assert editor.disk("out.txt") == "one\none\n"


async def test_a_grant_ends_with_its_session(begin):
    editor = await begin("stock", [step(RUN), DONE], answers=["Allow for this session", "Reject"])
    await editor.run("Once.")
    await editor.run("In another session.")
    assert [result(editor, number)[0] for number in (0, 1)] == ["ok", "denied"]


@pytest.mark.parametrize("effect", [DELETE, RENAME], ids=lambda one: one["name"])
async def test_for_this_session_is_never_offered_for_delete_and_rename(effect, begin):
    editor = await begin("stock", [step(effect), DONE], answers=["Reject"])
    await editor.run("Change it.")
    assert editor.questions[0].titles == ("Allow once", "Review…", "Reject")


@pytest.mark.parametrize("mode", ["read-only", "ask", "auto-edit"])
async def test_a_read_outside_the_workspace_asks_every_time(mode, begin, tmp_path):
    (tmp_path / "outside.txt").write_text("far away\n")
    read = call("read_file", path="../outside.txt")
    editor = await begin(
        "stock", [step(read), step(read), DONE], {"permissionMode": mode}, answers=["Allow once", "Reject"]
    )
    await editor.run("Look.")
    assert {question.titles for question in editor.questions} == {("Allow once", "Reject")}
    assert result(editor, 0) == ("ok", "     1\tfar away")
    assert result(editor, 1)[0] == "denied"


async def test_a_link_out_of_the_workspace_is_outside(begin, workspace, tmp_path):
    (tmp_path / "outside.txt").write_text("far away\n")
    (workspace / "link.txt").symlink_to(tmp_path / "outside.txt")
    turns = [
        step(call("read_file", path="link.txt")),
        step(call("edit_file", path="link.txt", old="far", new="near")),
        DONE,
    ]
    editor = await begin("stock", turns, {"permissionMode": "auto-edit"}, answers=["Allow once", "Reject"])
    await editor.run("Look.")
    assert [question.titles for question in editor.questions] == [
        ("Allow once", "Reject"),
        ("Allow once", "Review…", "Reject"),
    ]
    assert (tmp_path / "outside.txt").read_text() == "far away\n"


async def test_an_effect_outside_the_workspace_is_asked_even_where_edits_are_allowed(begin, tmp_path):
    turns = [
        step(call("write_file", path=str(tmp_path / "far.txt"), content="x")),
        step(call("run_command", command="true", cwd=str(tmp_path))),
        DONE,
    ]
    editor = await begin("stock", turns, {"permissionMode": "auto-edit"}, answers=["Reject", "Reject"])
    await editor.run("Change it.")
    titles = [question.titles for question in editor.questions]
    assert titles == [("Allow once", "Review…", "Reject"), ("Allow once", "Reject")]
    assert not (tmp_path / "far.txt").exists()


# --- modes ---------------------------------------------------------------------------------------------------

VERDICTS = {
    "read-only": {"edit_file": "denied", "write_file": "denied", "delete_file": "denied", "run_command": "denied"},
    "ask": {"edit_file": "asked", "write_file": "asked", "delete_file": "asked", "run_command": "asked"},
    "auto-edit": {"edit_file": "ok", "write_file": "ok", "delete_file": "ok", "run_command": "asked"},
    "full": {"edit_file": "ok", "write_file": "ok", "delete_file": "ok", "run_command": "ok"},
}  # fmt: skip


@pytest.mark.parametrize("mode", VERDICTS)
@pytest.mark.parametrize("effect", [FIX, WRITE, DELETE, RUN], ids=lambda one: one["name"])
async def test_each_mode_allows_what_it_says(mode, effect, begin, workspace):
    before = files(workspace)
    editor = await begin("stock", [step(effect), DONE], {"permissionMode": mode}, answers=lambda _: "Reject")
    await editor.run("Change it.")
    status, content = result(editor)
    verdict = "asked" if editor.questions else status
    assert verdict == VERDICTS[mode][effect["name"]]
    if verdict == "ok":
        (resolved,) = editor.events_of("approval.resolved")
        assert (resolved["data"]["by"], resolved["data"]["decision"]) == ("mode", "allow_once")
    else:
        assert status == "denied"
        assert files(workspace) == before
    if verdict == "denied":
        assert "read-only" in content


@pytest.mark.parametrize("mode", ["explore", "plan"])
@EFFECTS
async def test_promise_6_no_way_to_an_effect_in_a_read_only_turn(mode, effect, begin, workspace):
    before = files(workspace)
    turns = [
        {
            **step(effect),
            "expect": {
                "tools": [
                    "read_file",
                    "list_files",
                    "find_files",
                    "search",
                    *(["run_command"] if mode == "plan" else []),  # those that only read
                    "read_job",
                    "wait",
                    "ask_user",
                    "update_plan",
                    *(["write_plan"] if mode == "plan" else []),  # its own document, and nothing else
                ]
            },
        },
        DONE,
    ]
    editor = await begin("stock", turns, {"permissionMode": "full"})
    if mode == "explore":
        started = await editor.command("outrider.explore", {"prompt": "What is it?"})
        outcome = await editor.wait_turn(started["turnId"])
    else:
        outcome = await editor.run("Plan it.", mode=mode)
    assert outcome["outcome"] == "completed"
    assert result(editor)[0] == "denied"
    assert editor.questions == []
    assert files(workspace) == before


async def test_promise_6_an_untrusted_workspace_is_read_only(begin, workspace):
    before = files(workspace)
    editor = await begin("stock", [step(FIX, RUN), DONE], {"permissionMode": "full", "trusted": False})
    await editor.run("Change it.")
    assert {status for status, _ in results(editor).values()} == {"denied"}
    assert files(workspace) == before


@EFFECTS
async def test_promise_6_a_mode_that_is_narrowed_while_the_person_is_asked_holds_at_once(
    effect, begin, workspace
):
    before = files(workspace)
    editor = await begin("stock", [step(effect), DONE], answers=lambda _: Never(), configuration={})
    started = await editor.command("outrider.run", {"prompt": "Change it."})
    question = await editor.question()
    editor.configure({"permissionMode": "read-only"})
    await editor.command("outrider.status")
    for _ in range(20):
        await asyncio.sleep(0)
    editor.answer_late(question, "Allow once")
    assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"
    assert result(editor)[0] == "denied"
    assert "read-only" in result(editor)[1]
    assert files(workspace) == before


# --- promise 2 -----------------------------------------------------------------------------------------------

WIDE = "".join(f"line {number}\n" for number in range(1, 31))
EDIT = call("edit_file", path="wide.txt", old="line 15\n", new="LINE 15\n")


def typing(editor, *texts):
    """Answers each question with a yes, after something was typed at the place."""
    waiting = list(texts)

    def person(_question):
        if waiting:
            where, text = waiting.pop(0)
            editor.type("wide.txt", text, at=where)
        return "Allow once"

    return person


@pytest.mark.parametrize("profile", [name for name in KINDS if PROFILES[name].can_ask and name != "kate"])
async def test_promise_2_the_same_hunk_that_moved_is_not_asked_again(profile, begin, workspace):
    (workspace / "wide.txt").write_text(WIDE)
    editor = await begin(profile, [step(EDIT), DONE])
    editor.open("wide.txt")
    editor.answers = typing(editor, ((0, 0), "typed above\n"))
    assert (await editor.run("Change it."))["outcome"] == "completed"
    assert len(editor.questions) == 1
    assert editor.text("wide.txt") == "typed above\n" + WIDE.replace("line 15\n", "LINE 15\n")
    (applied,) = editor.events_of("edit.applied")
    assert applied["data"]["hunks"][0]["line"] == 16


async def test_promise_2_what_changed_around_the_hunk_is_asked_again(begin, workspace):
    (workspace / "wide.txt").write_text(WIDE)
    editor = await begin("stock", [step(EDIT), DONE])
    editor.open("wide.txt")
    editor.answers = typing(editor, ((13, 0), "close by\n"))
    assert (await editor.run("Change it."))["outcome"] == "completed"
    assert len(editor.questions) == 2
    assert "close by" in editor.questions[1].message
    assert [CHANGED_SINCE_ALLOWED in question.message for question in editor.questions] == [False, True]
    assert editor.text("wide.txt").count("LINE 15\n") == 1
    first, second = (event["data"]["digest"] for event in editor.events_of("approval.requested"))
    assert first != second


async def test_promise_2_what_changes_every_time_is_asked_thrice_and_then_refused(begin, workspace):
    (workspace / "wide.txt").write_text(WIDE)
    editor = await begin("stock", [step(EDIT), DONE])
    editor.open("wide.txt")
    editor.answers = typing(editor, *[((14 + number, 0), f"close by {number}\n") for number in range(9)])
    assert (await editor.run("Change it."))["outcome"] == "completed"
    assert len(editor.questions) == 3
    status, content = result(editor)
    assert status == "error"
    assert "close by 2\n" in content
    assert "LINE 15" not in editor.text("wide.txt")


async def test_promise_2_a_place_that_is_gone_is_no_place(begin, workspace):
    editor = await begin("stock", [step(FIX), DONE])
    editor.open("tariff.py")

    def person(_question):
        editor.type("tariff.py", "4", replace="hours * 3")
        return "Allow once"

    editor.answers = person
    await editor.run("Change it.")
    assert len(editor.questions) == 1
    status, content = result(editor)
    assert status == "error"
    assert "tariff.py" in content
    assert editor.text("tariff.py").endswith("return 4\n")


async def test_promise_2_a_long_change_is_reviewed_in_a_document_before_the_yes(begin, workspace):
    text = "".join(f"{number}\n" for number in range(100))
    write = call("write_file", path="long.txt", content=text)
    editor = await begin("stock", [step(write), DONE], answers=["Review…", "Allow once"])
    await editor.run("Write it.")
    first, second = editor.questions
    assert "Review…" in first.titles
    assert "Review…" not in second.titles
    (shown,) = editor.shown
    assert "+99\n" in editor.text(shown["uri"])
    assert editor.disk("long.txt") == text


async def test_a_review_that_cannot_be_shown_is_asked_again_all_the_same(begin, workspace):
    (workspace / ".outrider").write_text("in the way")
    text = "".join(f"{number}\n" for number in range(100))
    write = call("write_file", path="long.txt", content=text)
    editor = await begin("stock", [step(write), DONE], answers=["Review…", "Allow once"])
    assert (await editor.run("Write it."))["outcome"] == "completed"
    assert editor.disk("long.txt") == text


async def test_questions_of_two_sessions_wait_for_each_other(begin):
    editor = await begin("stock", [step(WRITE), DONE], answers=lambda _: Never())
    one = await editor.command("outrider.run", {"prompt": "One."})
    two = await editor.command("outrider.run", {"prompt": "Two."})
    first = await editor.question()
    await editor.event("approval.requested", count=2)
    for _ in range(20):
        await asyncio.sleep(0)
    assert len(editor.questions) == 1
    editor.answer_late(first, "Reject")
    second = await editor.question(2)
    editor.answer_late(second, "Allow once")
    for started in (one, two):
        assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"


async def test_a_dismissed_question_of_any_editor_is_no_answer(begin):
    editor = await begin(replace(STOCK, name="x"), [step(FIX), DONE], answers=[Dismiss()])
    assert (await editor.run("Change it."))["outcome"] == "needs_input"


async def test_an_edit_through_a_link_out_of_the_workspace_says_where_it_goes(begin, workspace):
    outside = workspace.parent / "outside.txt"
    outside.write_text("a\n")
    (workspace / "link.txt").symlink_to(outside)
    edit = call("edit_file", path="link.txt", old="a", new="b")
    editor = await begin("stock", [step(edit), DONE], {"permissionMode": "auto-edit"}, answers=["Reject"])
    await editor.run("Edit it.")
    (question,) = editor.questions
    assert question.message.startswith("Edit link.txt (+1 −1) outside the workspace\n")
    assert str(outside) in question.message
    assert "Allow for this session" not in question.titles
    assert outside.read_text() == "a\n"


async def test_a_link_that_is_turned_while_it_is_asked_for_is_asked_for_again(begin, workspace):
    first, second = workspace.parent / "first.txt", workspace.parent / "second.txt"
    first.write_text("a\n")
    second.write_text("a\n")
    link = workspace / "link.txt"
    link.symlink_to(first)

    def answer(question):
        if len(editor.questions) == 1:
            link.unlink()
            link.symlink_to(second)
            return "Allow once"
        return "Reject"

    edit = call("edit_file", path="link.txt", old="a", new="b")
    editor = await begin("stock", [step(edit), DONE], answers=answer)
    await editor.run("Edit it.")
    assert len(editor.questions) == 2
    assert (first.read_text(), second.read_text()) == ("a\n", "a\n")


LONG = "var a=1;" * 6000 + "NEEDLE" + ";b()" * 6000 + "\n"


async def test_a_question_about_a_long_line_shows_where_it_differs_and_says_what_it_leaves_out(
    begin, workspace
):
    (workspace / "app.min.js").write_text(LONG)
    edit = call("edit_file", path="app.min.js", old="NEEDLE", new="PIN")
    editor = await begin("vscode", [step(edit), DONE], answers=lambda _: "Allow once")
    await editor.run("Go.")
    message = editor.questions[0].message
    assert len(message) < 1_000
    removed, added = (
        next(line for line in message.split("\n") if line.startswith(mark)) for mark in ("-…", "+…")
    )
    assert removed.startswith("-… 47960 characters … ") and "var a=1;NEEDLE;b();b()" in removed
    assert removed.endswith(" … 23846 further characters")
    assert "var a=1;PIN;b();b()" in added
    assert (workspace / "app.min.js").read_text() == LONG.replace("NEEDLE", "PIN")


async def test_a_question_about_an_undo_says_how_much_it_leaves_out(begin, workspace):
    (workspace / "app.min.js").write_text(LONG)
    edit = call("edit_file", path="app.min.js", old="NEEDLE", new="PIN")
    editor = await begin(
        "vscode", [step(edit), DONE], {"permissionMode": "full"}, answers=lambda _: "Keep mine"
    )
    await editor.run("Go.")
    (workspace / "app.min.js").write_text(LONG.replace("NEEDLE", "PINS"))
    await editor.command("outrider.undo", {})
    message = editor.questions[0].message
    assert len(message) < 1_500
    assert " … 71705 further characters\nWith the undo:\n" in message
