"""Questions of the model, and how they are answered: by a title, a command, a code action, a document."""

import pytest
from scripting import DONE, KINDS, call, result, step, types

from outrider.testing.editor.answers import Late
from outrider.testing.editor.profiles import NEVER_YES
from outrider.testing.editor.wire_client import RpcError

COLOUR = call("ask_user", question="Which colour?", options=["red", "blue"], allow_free_form=False)
OPEN = call("ask_user", question="Which name?", options=["Ann", "Bo"])
FREE = call("ask_user", question="Which name?")
SOON = {"limits": {"askSeconds": 0.05}}


async def refused(editor, **answer):
    with pytest.raises(RpcError) as error:
        await editor.command("outrider.answer", answer)
    return error.value.data["reason"]


@pytest.mark.parametrize("profile", KINDS)
async def test_an_option_is_the_answer(profile, begin):
    editor = await begin(profile, [step(COLOUR), DONE], answers=["blue"])
    outcome = await editor.run("Paint it.")
    if not editor.profile.can_ask:
        (item,) = outcome["open"]
        assert item == {
            "id": "open_1",
            "kind": "question",
            "turnId": "turn_1",
            "callId": "call_1",
            "title": "Which colour?",
            "detail": "",
            "options": ["red", "blue"],
            "allowFreeForm": False,
        }
        await editor.code_actions("README.md")
        await editor.take_action("Outrider: blue — Which colour?")
        outcome = await editor.wait_turn()
    assert outcome["outcome"] == "completed"
    assert result(editor) == ("ok", "blue")
    (answered,) = editor.events_of("question.answered")
    assert answered["data"]["answer"] == "blue"


@pytest.mark.parametrize("profile", [str(one) for one in NEVER_YES])
async def test_no_answer_parks(profile, begin):
    editor = await begin(profile, [step(COLOUR), DONE], SOON, answers=lambda _: "blue")
    waiting = await editor.run("Paint it.")
    assert waiting["outcome"] == "needs_input"
    assert types(editor)[-3:] == ["tool.started", "question.asked", "turn.parked"]
    item = waiting["open"][0]["id"]
    assert await refused(editor, id=item, answer="green") == "invalid"
    assert await refused(editor, id=item, decision="allow_once") == "invalid"
    await editor.command("outrider.answer", {"id": item, "answer": "red"})
    assert (await editor.wait_turn())["outcome"] == "completed"
    assert await refused(editor, id=item, answer="blue") == "already_resolved"
    assert result(editor) == ("ok", "red")


async def test_a_late_click_is_an_answer(begin):
    editor = await begin("stock", [step(COLOUR), DONE], SOON, answers=[Late("red")])
    assert (await editor.run("Paint it."))["outcome"] == "needs_input"
    editor.answer_late(editor.questions[0])
    await editor.event("turn.resumed")
    assert (await editor.wait_turn())["outcome"] == "completed"
    assert result(editor) == ("ok", "red")


async def test_any_text_is_an_answer_where_it_may_be(begin):
    editor = await begin("stock", [step(OPEN), DONE])
    waiting = await editor.run("Name it.")
    assert editor.questions[0].titles == ("Ann", "Bo", "Answer in a document…")
    await editor.command("outrider.answer", {"id": waiting["open"][0]["id"], "answer": "Zoë\nQ."})
    assert (await editor.wait_turn())["outcome"] == "completed"
    assert result(editor) == ("ok", "Zoë\nQ.")


@pytest.mark.parametrize("question", [OPEN, FREE], ids=["options", "free"])
async def test_an_answer_is_written_in_a_document(question, begin, workspace):
    editor = await begin("stock", [step(question), DONE], answers=["Answer in a document…"])
    waiting = await editor.run("Name it.")
    assert waiting["outcome"] == "needs_input"
    (shown,) = editor.shown
    assert shown["uri"].startswith((workspace / ".outrider").as_uri())
    assert (
        (workspace / ".outrider/.gitignore")
        .read_text()
        .endswith("*\n!/settings.toml\n!/rules.toml\n!/commands/\n!/commands/**\n!/plans/\n!/plans/**\n")
    )
    assert "> Which name?" in editor.text(shown["uri"])
    offered = [action["title"] for action in await editor.code_actions(shown["uri"])]
    assert not any(title.startswith("Outrider: answer") for title in offered), "nothing is written yet"
    editor.type(shown["uri"], "Zoë")
    offered = [action["title"] for action in await editor.code_actions(shown["uri"])]
    assert offered[0] == "Outrider: answer “Zoë”"
    assert ("Outrider: Ann" in " ".join(offered[1:])) == (question is OPEN), offered
    await editor.take_action("Outrider: answer “Zoë”")
    assert (await editor.wait_turn())["outcome"] == "completed"
    assert result(editor) == ("ok", "Zoë")


async def test_a_question_without_options_is_said_where_no_document_can_be_shown(begin):
    editor = await begin("vim-lsp", [step(FREE), DONE])
    waiting = await editor.run("Name it.")
    assert waiting["outcome"] == "needs_input"
    assert editor.questions == []
    assert [said.text for said in editor.said if said.shown] == [
        "Outrider is waiting for you: “Which name?”. Code actions answer it."
    ]
    opened = await editor.command("outrider.open", {"what": "answer", "id": waiting["open"][0]["id"]})
    editor.open(opened["uri"])
    editor.type(opened["uri"], "Zoë")
    await editor.code_actions(opened["uri"])
    await editor.take_action("Outrider: answer")
    assert (await editor.wait_turn())["outcome"] == "completed"


async def test_options_are_offered_once_and_trimmed(begin):
    asked = call("ask_user", question="?", options=["a", " a ", "", "b"], allow_free_form=False)
    editor = await begin("stock", [step(asked), DONE], answers=["b"])
    await editor.run("Ask.")
    assert editor.questions[0].titles == ("a", "b")


async def test_a_question_that_may_have_no_answer_may_have_any(begin):
    editor = await begin("stock", [step(call("ask_user", question="?", allow_free_form=False)), DONE])
    assert (await editor.run("Ask."))["open"][0]["allowFreeForm"]


async def test_the_plan_is_shown_in_the_status(begin):
    items = [{"text": "Look", "status": "done"}, {"text": "Fix"}]
    editor = await begin("stock", [step(call("update_plan", items=items)), DONE])
    await editor.run("Plan.")
    (status,) = (await editor.command("outrider.status"))["sessions"]
    assert status["plan"] == [{"text": "Look", "status": "done"}, {"text": "Fix", "status": "pending"}]
    assert result(editor) == ("ok", "The plan has 2 items, 1 of them done.")


def asked(text, **more):
    return call("ask_user", question=text, **more)


def told(editor):
    return [(one["data"]["status"], one["data"]["content"]) for one in editor.events_of("tool.finished")]


async def test_options_say_what_they_mean(begin):
    options = [{"label": "red", "description": "as the other doors"}, "blue"]
    editor = await begin("stock", [step(asked("Which colour?", options=options)), DONE], answers=["red"])
    await editor.run("Paint it.")
    assert editor.questions[0].titles == ("red", "blue", "Answer in a document…")
    assert "red: as the other doors" in editor.questions[0].message
    (event,) = editor.events_of("question.asked")
    assert (event["data"]["options"], event["data"]["detail"]) == (["red", "blue"], "red: as the other doors")


async def test_five_options_are_too_many(begin):
    editor = await begin("stock", [step(asked("?", options=[str(n) for n in range(5)])), DONE])
    await editor.run("Ask.")
    assert (editor.questions, result(editor)[0]) == ([], "error")


async def test_one_option_alone_is_no_choice_so_any_answer_counts(begin):
    one = asked("Which name?", options=["Ann"], allow_free_form=False)
    editor = await begin("stock", [step(one), DONE])
    waiting = await editor.run("Name it.")
    assert editor.questions[0].titles == ("Ann", "Answer in a document…")
    await editor.command("outrider.answer", {"id": waiting["open"][0]["id"], "answer": "Bo"})
    await editor.wait_turn()
    assert result(editor) == ("ok", "Bo")


async def test_an_answer_matches_without_regard_to_case_and_spaces(begin):
    editor = await begin("stock", [step(COLOUR), DONE], SOON)
    waiting = await editor.run("Paint it.")
    await editor.command("outrider.answer", {"id": waiting["open"][0]["id"], "answer": " BLUE "})
    await editor.wait_turn()
    assert result(editor) == ("ok", "blue")


async def test_the_same_question_is_answered_from_the_record(begin):
    again = asked("  which   COLOUR? ", options=["green", "grey"])
    editor = await begin("stock", [step(COLOUR), DONE, step(again), DONE], answers=["blue"])
    first = await editor.run("Paint it.")
    assert first["outcome"] == "completed"
    await editor.run("Paint the other one.", sessionId=editor.session_id)
    assert len(editor.questions) == 1
    assert told(editor)[1][1].startswith("blue\n[The user answered this question before")
    (recalled,) = [
        one["data"]["recalled"] for one in editor.events_of("tool.finished") if "recalled" in one["data"]
    ]
    assert recalled == {"question": "  which   COLOUR? ", "answer": "blue"}
    said = [one.text for one in editor.said if "as before" in one.text]
    assert said == ["Outrider: “which COLOUR?” is answered as before: blue"]


@pytest.mark.parametrize(("autonomy", "most"), [("cautious", 5), (None, 3), ("decisive", 1)])
async def test_a_turn_asks_so_often_and_then_assumes(autonomy, most, begin):
    asking = [step(asked(f"Question {n}?", options=["a", "b"])) for n in range(most + 2)]
    settings = {"autonomy": autonomy} if autonomy else {}
    editor = await begin("stock", [*asking, DONE], settings, answers=lambda _: "a")
    assert (await editor.run("Ask."))["outcome"] == "completed"
    assert len(editor.questions) == most
    assert [status for status, _ in told(editor)] == ["ok"] * most + ["error"] * 2
    assert "Assume what is most likely, say in your answer what you assumed" in told(editor)[-1][1]


async def test_a_planning_turn_asks_in_two_rounds(begin):
    rounds = [
        step(asked("First?", options=["a", "b"]), asked("First, too?", options=["a", "b"])),
        step(asked("Second?", options=["a", "b"])),
        step(asked("Third?", options=["a", "b"])),
    ]
    editor = await begin("stock", [*rounds, DONE], {"autonomy": "cautious"}, answers=lambda _: "a")
    assert (await editor.run("Plan.", mode="plan"))["outcome"] == "completed"
    assert [status for status, _ in told(editor)] == ["ok", "ok", "ok", "error"]
    assert "in 2 of its answers at most" in told(editor)[-1][1]


async def test_the_same_question_for_ever_ends_the_turn(begin):
    editor = await begin("stock", [step(COLOUR)] * 100, answers=["blue"])
    outcome = await editor.run("Paint it.")
    assert len(editor.questions) == 1
    assert outcome["outcome"] != "completed"
    assert len(told(editor)) < 100


async def test_an_answer_after_the_turn_was_cancelled_is_refused(begin):
    editor = await begin("stock", [step(COLOUR), DONE], SOON)
    waiting = await editor.run("Paint it.")
    await editor.command("outrider.cancel", {"turnId": waiting["turnId"]})
    assert await refused(editor, id=waiting["open"][0]["id"], answer="red") in {
        "already_resolved",
        "unknown_id",
    }
    assert editor.events_of("question.answered") == []
