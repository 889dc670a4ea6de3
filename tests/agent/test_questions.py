"""Questions of the model, and how they are answered: by a title, a command, a code action, a document."""

import pytest
from scripting import DONE, HONEST, call, result, step, types

from outrider.testing.editor.answers import Late
from outrider.testing.editor.profiles import NEVER_YES
from outrider.testing.editor.wire_client import RpcError

COLOUR = call("ask_user", question="Which colour?", options=["red", "blue"], allow_free_form=False)
OPEN = call("ask_user", question="Which name?", options=["Ann"])
FREE = call("ask_user", question="Which name?")
SOON = {"limits": {"askSeconds": 0.05}}


async def refused(editor, **answer):
    with pytest.raises(RpcError) as error:
        await editor.command("outrider.answer", answer)
    return error.value.data["reason"]


@pytest.mark.parametrize("profile", HONEST)
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
    assert editor.questions[0].titles == ("Ann", "Answer in a document…")
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
    assert (workspace / ".outrider/.gitignore").read_text() == "*\n"
    assert "> Which name?" in editor.text(shown["uri"])
    offered = [action["title"] for action in await editor.code_actions(shown["uri"])]
    assert not any(title.startswith("Outrider: answer") for title in offered), "nothing is written yet"
    editor.type(shown["uri"], "Zoë")
    await editor.code_actions(shown["uri"])
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
