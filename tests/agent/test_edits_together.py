"""The edits of one step are asked about at once: in one question, or as items that the client shows itself."""

import pytest
from scripting import DONE, KINDS, call, result, results, step

from outrider.testing.editor.answers import Dismiss, Fail, Never
from outrider.testing.editor.profiles import PROFILES
from outrider.testing.editor.wire_client import RpcError
from outrider.testing.scenario import connect, scripted, start_session

ASKS = PROFILES["asks"]
SOON = {"limits": {"askSeconds": 0.05}}
FILES = ("one.txt", "two.txt", "three.txt", "four.txt")


def edits(count=4):
    return [
        call("write_file", path=name, content=f"{name}\n", called=name.partition(".")[0])
        for name in FILES[:count]
    ]


def asked(editor):
    return [one["data"] for one in editor.events_of("approval.requested")]


def there(workspace):
    return [name for name in FILES if (workspace / name).exists()]


@pytest.mark.parametrize("profile", KINDS)
async def test_all_edits_of_a_step_are_allowed_by_one_answer(profile, begin, workspace):
    editor = await begin(profile, [step(*edits()), DONE], answers=["Allow all 4"])
    done = await editor.run("Go.")
    if done["outcome"] == "needs_input":  # it cannot ask: the actions do
        await editor.code_actions("tariff.py")
        await editor.take_action("Outrider: Allow all 4 — Create one.txt")
        done = await editor.wait_turn()
    assert len(editor.questions) <= 1
    assert done["outcome"] == "completed"
    assert there(workspace) == list(FILES)
    assert [one["group"] for one in asked(editor)] == [asked(editor)[0]["id"]] * 4
    resolved = [one["data"]["decision"] for one in editor.events_of("approval.resolved")]
    assert resolved == ["allow_once"] * 4
    proposed = [one["data"]["changeId"] for one in editor.events_of("edit.proposed")]
    assert [one["data"]["changeId"] for one in editor.events_of("edit.applying")] == proposed


async def test_the_question_names_all_of_them_and_a_no_is_one_to_all(begin, workspace):
    editor = await begin("stock", [step(*edits(2)), DONE], answers=["Reject"])
    await editor.run("Go.")
    (question,) = editor.questions
    assert question.titles == ("Allow all 2", "Review…", "Reject")
    assert question.message.startswith("2 edits in one step:\nCreate one.txt (+1)")
    assert "Create two.txt (+1)" in question.message
    assert [status for status, _ in results(editor).values()] == ["denied", "denied"]
    assert len(editor.events_of("edit.rejected")) == len(editor.events_of("edit.proposed")) == 2


async def test_all_diffs_are_in_one_document_and_hunks_of_any_can_be_left_out(begin, workspace):
    editor = await begin("stock", [step(*edits(3)), DONE], answers=["Review…", Dismiss()])
    done = await editor.run("Go.")
    assert done["outcome"] == "needs_input"
    paper = f".outrider/review-{asked(editor)[0]['id']}.diff"
    text = editor.text(paper)
    assert text.startswith("# 3 edits in one step\n")
    mark = next(line for line in text.splitlines() if line.endswith("the new file two.txt"))
    editor.type(paper, text.replace(mark, mark.replace("[x]", "[ ]")), replace=text)
    titles = [one["title"] for one in await editor.code_actions(paper)]
    assert "Outrider: apply the review (2 of 3 accepted)" in titles
    assert not [title for title in titles if "Allow all" in title], "the review stands for all of them"
    await editor.take_action("Outrider: apply the review")
    await editor.wait_turn()
    assert there(workspace) == ["one.txt", "three.txt"]
    assert {key: status for key, (status, _) in results(editor).items()} == {
        "one": "ok",
        "two": "denied",
        "three": "ok",
    }


async def test_one_that_is_answered_by_itself_is_left_out_of_the_rest(begin, workspace):
    editor = await begin("stock", [step(*edits(3)), DONE], answers=[Dismiss()])
    done = await editor.run("Go.")
    first, second, third = done["open"]
    await editor.command("outrider.answer", {"id": second["id"], "decision": "reject", "note": "Not that."})
    await editor.command("outrider.answer", {"id": third["id"], "decision": "allow_once", "together": True})
    assert (await editor.wait_turn())["outcome"] == "completed"
    assert there(workspace) == ["one.txt", "three.txt"]
    assert "said: Not that." in results(editor)["two"][1]
    assert first["group"] == third["group"] == first["id"]


async def test_a_review_of_what_is_not_among_them_is_refused_as_a_whole(begin, workspace):
    editor = await begin("stock", [step(*edits(2)), DONE], answers=[Dismiss()])
    done = await editor.run("Go.")
    given = {"id": done["open"][0]["id"], "decision": "allow_once", "together": True}
    with pytest.raises(RpcError, match="chg_77#1"):
        await editor.command(
            "outrider.answer", {**given, "review": [{"id": "chg_77#1", "decision": "reject"}]}
        )
    with pytest.raises(RpcError, match="answered together by allow_once or reject"):
        await editor.command("outrider.answer", {**given, "decision": "allow_session"})
    assert not editor.events_of("approval.resolved")
    await editor.command("outrider.answer", given)
    assert (await editor.wait_turn())["outcome"] == "completed"


async def test_edits_of_one_file_are_together_unless_they_lie_near_each_other(begin, workspace):
    (workspace / "list.txt").write_text("".join(f"line {number}.\n" for number in range(1, 31)))

    def edit(number):
        return call(
            "edit_file", path="list.txt", old=f"line {number}.", new=f"LINE {number}.", called=f"e{number}"
        )

    calls = [edit(2), edit(12), edit(25), edit(27)]
    editor = await begin("stock", [step(*calls), DONE], answers=["Allow all 3", "Allow once"])
    await editor.run("Go.")
    assert [status for status, _ in results(editor).values()] == ["ok"] * 4
    assert [question.titles[0] for question in editor.questions] == ["Allow all 3", "Allow once"]
    assert (workspace / "list.txt").read_text().count("LINE") == 4


async def test_an_edit_that_needs_another_one_of_its_step_is_asked_about_alone(begin, workspace):
    needs = call("edit_file", path="one.txt", old="one.txt", new="1", called="needs")
    editor = await begin("stock", [step(*edits(2), needs), DONE], answers=["Allow all 2", "Allow once"])
    await editor.run("Go.")
    assert (workspace / "one.txt").read_text() == "1\n"
    assert len(editor.questions) == 2


async def test_a_protected_file_is_asked_about_by_itself(begin, workspace):
    protected = call("write_file", path=".envrc", content="x\n", called="protected")
    editor = await begin("stock", [step(*edits(2), protected), DONE], answers=["Allow all 2", "Reject"])
    await editor.run("Go.")
    assert there(workspace) == ["one.txt", "two.txt"]
    assert results(editor)["protected"][0] == "denied"
    assert "group" not in asked(editor)[2]


async def test_what_is_typed_meanwhile_is_asked_about_again_alone(begin, workspace):
    editor = await begin("stock", [step(*edits(2)), DONE], answers=[Dismiss(), "Allow once"])
    done = await editor.run("Go.")
    (workspace / "two.txt").write_text("mine\n")
    await editor.command(
        "outrider.answer", {"id": done["open"][0]["id"], "decision": "allow_once", "together": True}
    )
    await editor.wait_turn()
    assert (workspace / "two.txt").read_text() == "mine\n"
    assert (workspace / "one.txt").read_text() == "one.txt\n"
    assert results(editor)["two"][0] == "error"


async def test_after_a_restart_they_are_asked_together_again(workspace):
    model, settings = scripted(workspace, [step(*edits(3)), DONE]), {"testing": {"ids": None}}
    async with start_session("stock", workspace, model, settings, answers=[Dismiss()]) as editor:
        await editor.run("Go.")
        session, turn = editor.session_id, editor.turn_id
    async with start_session("stock", workspace, model, settings, answers=["Allow all 3"]) as editor:
        await editor.command("outrider.resume", {"sessionId": session})
        assert (await editor.wait_turn(turn))["outcome"] == "completed"
    assert there(workspace) == list(FILES[:3])


async def test_one_edit_is_asked_about_as_ever(begin, workspace):
    editor = await begin("stock", [step(*edits(1)), DONE], answers=["Allow once"])
    await editor.run("Go.")
    assert result(editor)[0] == "ok"
    assert "group" not in asked(editor)[0]


# --- a client that shows open items itself -----------------------------------------------------------------------


async def test_a_client_of_items_has_all_of_them_before_one_is_answered(begin, workspace):
    editor = await begin(ASKS, [step(*edits()), DONE], SOON, answers=lambda _: Never())
    done = await editor.run("Go.")
    assert done["outcome"] == "needs_input"
    items = [question.item for question in editor.questions]
    assert [item["id"] for item in items] == [one["id"] for one in done["open"]]
    assert [item["group"] for item in items] == [items[0]["id"]] * 4
    assert all("“Allow for this session” covers" in item["detail"] for item in items)
    assert len(editor.events_of("turn.parked")) == 1
    await editor.command(
        "outrider.answer", {"id": items[1]["id"], "decision": "allow_once", "together": True}
    )
    assert (await editor.wait_turn())["outcome"] == "completed"
    assert there(workspace) == list(FILES)
    assert all(question.withdrawn for question in editor.questions)


async def test_a_client_of_items_answers_each_of_them(begin, workspace):
    def person(question):
        return "Reject" if "two.txt" in question.message else "Allow once"

    editor = await begin(ASKS, [step(*edits()), DONE], answers=person)
    await editor.run("Go.")
    assert there(workspace) == ["one.txt", "three.txt", "four.txt"]
    assert {key: status for key, (status, _) in results(editor).items()} == {
        "one": "ok",
        "two": "denied",
        "three": "ok",
        "four": "ok",
    }
    assert "turn.parked" not in [one["type"] for one in editor.events]


async def test_one_that_is_answered_in_another_way_is_taken_down_and_the_rest_stays(begin, workspace):
    editor = await begin(ASKS, [step(*edits(3)), DONE], answers=lambda _: Never())
    editor.command_nowait("outrider.run", {"prompt": "Go."})
    await editor.wait_for(lambda: len(editor.questions) == 3, "all are asked about")
    first, second, third = editor.questions
    await editor.command("outrider.answer", {"id": second.item["id"], "decision": "reject"})
    await editor.wait_for(lambda: second.withdrawn, "the second is taken down")
    assert not first.withdrawn
    assert not third.withdrawn
    assert not there(workspace), "nothing is made before all of them are answered"


async def test_a_client_that_turns_out_to_show_none_gets_one_question(begin, workspace):
    def person(question):
        return Fail(-32601, "Method not found") if question.item else "Allow all 4"

    editor = await begin(ASKS, [step(*edits()), DONE], answers=person)
    assert (await editor.run("Go."))["outcome"] == "completed"
    assert [question.titles for question in editor.questions[4:]] == [("Allow all 4", "Review…", "Reject")]
    assert there(workspace) == list(FILES)


@pytest.mark.parametrize("profile", ["stock", ASKS], ids=["question", "items"])
async def test_after_a_restart_those_that_are_left_are_asked_about_in_their_group(profile, workspace):
    model, settings = scripted(workspace, [step(*edits(3)), DONE]), {**SOON, "testing": {"ids": None}}
    async with start_session(profile, workspace, model, settings, answers=lambda _: Never()) as editor:
        done = await editor.run("Go.")
        session, turn = editor.session_id, editor.turn_id
        await editor.command("outrider.answer", {"id": done["open"][0]["id"], "decision": "reject"})
    async with start_session(profile, workspace, model, settings, answers=lambda _: Never()) as editor:
        await editor.command("outrider.resume", {"sessionId": session})
        waiting = await editor.wait_turn(turn)
        left = waiting["open"]
        assert [one["id"] for one in left] == [one["id"] for one in done["open"][1:]]
        assert {one["group"] for one in left} == {done["open"][0]["id"]}
        given = {"id": left[0]["id"], "decision": "allow_once", "together": True}
        await editor.command("outrider.answer", given)
        assert (await editor.wait_turn(turn))["outcome"] == "completed"
    assert there(workspace) == ["two.txt", "three.txt"]


async def test_after_a_restart_one_that_has_changed_meanwhile_stays_in_its_group(workspace):
    for name in FILES[:2]:
        (workspace / name).write_text("above\nold\nbelow\n")
    calls = [call("edit_file", path=name, old="old", new="new", called=name) for name in FILES[:2]]
    model, settings = scripted(workspace, [step(*calls), DONE]), {**SOON, "testing": {"ids": None}}
    async with start_session(ASKS, workspace, model, settings, answers=lambda _: Never()) as editor:
        done = await editor.run("Go.")
        session, turn = editor.session_id, editor.turn_id
    (workspace / "one.txt").write_text("ABOVE\nold\nbelow\n")
    async with start_session(ASKS, workspace, model, settings, answers=lambda _: Never()) as editor:
        await editor.command("outrider.resume", {"sessionId": session})
        first, second = (await editor.wait_turn(turn))["open"]
        assert done["open"][0]["id"] not in {first["id"], second["id"]}
        given = {"id": first["id"], "decision": "allow_once", "together": True}
        await editor.command("outrider.answer", given)
        assert (await editor.wait_turn(turn))["outcome"] == "completed"
    assert (workspace / "one.txt").read_text() == "ABOVE\nnew\nbelow\n"


async def test_a_second_window_has_all_of_them_as_well_and_answers_for_both(workspace):
    model = scripted(workspace, [step(*edits(3)), DONE])
    one, other = connect("stdio", workspace), connect("stdio", workspace)
    async with (
        start_session(
            ASKS, workspace, model, {"testing": None}, answers=lambda _: Never(), connection=one
        ) as first,
        start_session(
            ASKS, workspace, model, {"testing": None}, answers=lambda _: Never(), connection=other
        ) as second,
    ):
        started = await first.command("outrider.run", {"prompt": "Go."})
        await first.wait_for(lambda: len(first.questions) == 3, "the first window asks about all")
        await second.command("outrider.resume", {"sessionId": started["sessionId"]})
        await second.wait_for(lambda: len(second.questions) == 3, "the second window asks about all")
        items = [question.item or {} for question in second.questions]
        assert [item["group"] for item in items] == [asked(first)[0]["id"]] * 3
        for item in items:
            await second.command("outrider.answer", {"id": item["id"], "decision": "allow_once"})
        assert (await second.command("outrider.wait", {"turnId": started["turnId"]}))[
            "outcome"
        ] == "completed"
        await first.wait_for(
            lambda: all(question.withdrawn for question in first.questions), "they are taken down"
        )
    assert there(workspace) == list(FILES[:3])
