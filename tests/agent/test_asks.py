"""Open items that the client puts before the user itself: the same rules as for a message."""

from dataclasses import replace

import pytest
from scripting import DONE, call, result, step, types

from outrider.testing.editor.answers import Fail, Late, Never, Reply
from outrider.testing.editor.profiles import PROFILES

ASKS = PROFILES["asks"]
RUN = call("run_command", command="/bin/echo hello")
FREE = call("ask_user", question="Which name?", options=["Ann"])
COLOUR = call("ask_user", question="Which colour?", options=["red", "blue"], allow_free_form=False)
SOON = {"limits": {"askSeconds": 0.05}}


def resolved(editor):
    (event,) = editor.events_of("approval.resolved")
    return {key: value for key, value in event["data"].items() if key not in {"id", "callId"}}


async def test_an_approval_is_asked_by_the_client_and_not_by_a_message(begin):
    editor = await begin(ASKS, [step(RUN), DONE], answers=["Allow once"])
    assert (await editor.run("Go."))["outcome"] == "completed"
    (question,) = editor.questions
    assert question.item["kind"] == "approval"
    assert question.item["title"] == "Run: /bin/echo hello"
    assert "“Allow for this session” covers" in question.item["detail"]
    assert resolved(editor) == {"decision": "allow_once", "by": "person", "channel": "client"}
    assert result(editor)[0] == "ok"


async def test_a_rejection_with_a_note_reaches_the_model(begin):
    editor = await begin(
        ASKS, [step(RUN), DONE], answers=[Reply({"decision": "reject", "note": "Use printf."})]
    )
    await editor.run("Go.")
    status, content = result(editor)
    assert status == "denied"
    assert "Use printf." in content


@pytest.mark.parametrize("question", [FREE, COLOUR])
async def test_a_question_is_answered_by_an_option(question, begin):
    wanted = "Ann" if question is FREE else "blue"
    editor = await begin(ASKS, [step(question), DONE], answers=[wanted])
    await editor.run("Go.")
    assert result(editor) == ("ok", wanted)


async def test_a_question_takes_a_free_text_at_once(begin):
    editor = await begin(ASKS, [step(FREE), DONE], answers=["Ada\nLovelace"])
    await editor.run("Go.")
    assert result(editor) == ("ok", "Ada\nLovelace")
    assert "turn.parked" not in types(editor)


async def test_some_hunks_are_taken_and_some_are_not(begin, workspace):
    (workspace / "many.txt").write_text("one\ntwo\nthree\nfour\n")
    edits = [{"old": "one", "new": "1"}, {"old": "four", "new": "4"}]
    edit = call("edit_file", path="many.txt", edits=edits)

    def person(question):
        (proposed,) = editor.events_of("edit.proposed")
        change = proposed["data"]["changeId"]
        left_out = {"id": f"{change}#1", "decision": "reject", "reason": "one is one"}
        return Reply({"decision": "allow_once", "review": [left_out]})

    editor = await begin(ASKS, [step(edit), DONE], answers=person)
    await editor.run("Go.")
    assert (workspace / "many.txt").read_text() == "one\ntwo\nthree\n4\n"
    assert resolved(editor)["review"][0]["decision"] == "reject"
    assert "one is one" in result(editor)[1]


NUMBERS = call(
    "edit_file",
    path="many.txt",
    edits=[{"old": "one", "new": "1"}, {"old": "four", "new": "4"}],
    called="edit",
)


def change_of(editor):
    """The id of the change that was proposed last."""
    return editor.events_of("edit.proposed")[-1]["data"]["changeId"]


async def test_a_hunk_is_taken_as_the_person_wrote_it(begin, workspace):
    (workspace / "many.txt").write_text("one\ntwo\nthree\nfour\n")

    def person(_question):
        change = change_of(editor)
        review = [
            {"id": f"{change}#1", "decision": "take", "text": "I\n"},
            {"id": f"{change}#2", "decision": "reject", "reason": "four is four"},
        ]
        return Reply({"decision": "allow_once", "review": review})

    editor = await begin(ASKS, [step(NUMBERS), DONE], answers=person)
    await editor.run("Go.")
    assert (workspace / "many.txt").read_text() == "I\ntwo\nthree\nfour\n"
    assert "four is four" in result(editor)[1]


SENSELESS = {
    "a hunk that is not there": ("allow_once", [{"id": "#3", "decision": "reject"}]),
    "a hunk of another change": ("allow_once", [{"id": "9#1", "decision": "reject"}]),
    "one twice": ("allow_once", [{"id": "#1", "decision": "take"}, {"id": "#1", "decision": "reject"}]),
    "a text for what is rejected": ("allow_once", [{"id": "#1", "decision": "reject", "text": "I\n"}]),
    "one taken of what is rejected": ("reject", [{"id": "#1", "decision": "take"}]),
    "nothing is left": (
        "allow_once",
        [
            {"id": "#1", "decision": "take", "text": "one\n"},
            {"id": "#2", "decision": "take", "text": "four\n"},
        ],
    ),
    "for the session": ("allow_session", [{"id": "#1", "decision": "reject"}]),
}


@pytest.mark.parametrize("what", SENSELESS)
async def test_promise_1_a_review_that_makes_no_sense_is_no_yes(what, begin, workspace):
    (workspace / "many.txt").write_text("one\ntwo\nthree\nfour\n")
    decision, review = SENSELESS[what]

    def person(_question):
        named = [{**one, "id": f"{change_of(editor)}{one['id']}"} for one in review]
        return Reply({"decision": decision, "review": named})

    editor = await begin(ASKS, [step(NUMBERS), DONE], SOON, answers=person)
    waiting = await editor.run("Go.")
    assert waiting["outcome"] == "needs_input"
    assert (workspace / "many.txt").read_text() == "one\ntwo\nthree\nfour\n"
    assert [one for one in editor.said if "stays open" in one.text]
    await editor.command("outrider.answer", {"id": waiting["open"][0]["id"], "decision": "reject"})
    assert (await editor.wait_turn())["outcome"] == "completed"


async def test_promise_2_a_review_of_a_text_that_has_changed_since_is_asked_again(begin, workspace):
    (workspace / "many.txt").write_text("one\ntwo\nthree\nfour\n")

    def person(question):
        if len(editor.questions) > 1:
            return "Reject"
        editor.type("many.txt", "zero\n", at=(0, 0))
        return Reply(
            {"decision": "allow_once", "review": [{"id": f"{change_of(editor)}#2", "decision": "reject"}]}
        )

    editor = await begin(ASKS, [step(NUMBERS), DONE], answers=person)
    editor.open("many.txt")
    await editor.run("Go.")
    assert len(editor.questions) == 2
    assert "four" not in editor.questions[1].item["detail"].replace(" four", ""), (
        "it is asked as it was reviewed"
    )
    assert editor.text("many.txt") == "zero\none\ntwo\nthree\nfour\n"


NO_ANSWER = {
    "null": (Reply(None), ""),
    "empty": (Reply({}), ""),
    "error": (Fail(), ""),
    "true": (Reply(True), "the client's answer is invalid"),
    "text": (Reply("allow_once"), "the client's answer is invalid"),
    "title": (Reply({"title": "Allow once"}), "the client's answer is invalid"),
    "unknown decision": (Reply({"decision": "yes"}), "the client's answer is invalid: decision"),
    "both": (Reply({"decision": "allow_once", "answer": "Allow once"}), "the client's answer is invalid"),
    "not offered": (Reply({"decision": "allow_session"}), "was refused"),
    "an answer": (Reply({"answer": "Allow once"}), "was refused"),
    "a review of nothing": (
        Reply({"decision": "allow_once", "review": [{"id": "x#1", "decision": "reject"}]}),
        "was refused",
    ),
    "never": (Never(), ""),
}


@pytest.mark.parametrize("how", NO_ANSWER)
async def test_promise_1_what_is_no_answer_parks_and_the_item_stays_open(how, begin):
    answer, told = NO_ANSWER[how]
    # Nothing outside the workspace can be allowed for the session.
    remove = call("delete_file", path="README.md")
    editor = await begin(ASKS, [step(remove), DONE], SOON, answers=[answer])
    waiting = await editor.run("Go.")
    assert waiting["outcome"] == "needs_input"
    assert (editor.root / "README.md").exists()
    said = [one.text for one in editor.said if "stays open" in one.text]
    assert len(said) == bool(told)
    assert all(told in one for one in said)
    await editor.command("outrider.answer", {"id": waiting["open"][0]["id"], "decision": "allow_once"})
    assert (await editor.wait_turn())["outcome"] == "completed"
    assert not (editor.root / "README.md").exists()


async def test_a_late_answer_counts(begin):
    editor = await begin(ASKS, [step(RUN), DONE], SOON, answers=[Late("Allow once")])
    assert (await editor.run("Go."))["outcome"] == "needs_input"
    editor.answer_late(editor.questions[0])
    assert (await editor.wait_turn())["outcome"] == "completed"
    assert result(editor)[0] == "ok"


async def test_the_first_answer_wins_and_the_question_is_taken_down(begin):
    editor = await begin(ASKS, [step(RUN), DONE], SOON, answers=[Late("Allow once")])
    waiting = await editor.run("Go.")
    await editor.command("outrider.answer", {"id": waiting["open"][0]["id"], "decision": "reject"})
    await editor.wait_turn()
    assert result(editor)[0] == "denied"
    assert editor.questions[0].withdrawn
    editor.answer_late(editor.questions[0])
    await editor.command("outrider.status")
    assert resolved(editor)["decision"] == "reject"


async def test_cancel_takes_the_question_down(begin):
    editor = await begin(ASKS, [step(RUN), DONE], answers=[Never()])
    running = editor.command_nowait("outrider.run", {"prompt": "Go."})
    await editor.question()
    await editor.command("outrider.cancel", {"turnId": (await running)["turnId"]})
    await editor.wait_for(lambda: editor.questions[0].withdrawn, "the question is taken down")


async def test_a_client_that_knows_it_not_after_all_is_asked_by_a_message(begin):
    liar = replace(PROFILES["stock"], name="says-ask")
    editor = await begin(liar, [step(RUN), DONE], {"extensions": ["ask"]}, answers=["Allow once"])
    assert (await editor.run("Go."))["outcome"] == "completed"
    (question,) = editor.questions
    assert question.item is None
    assert resolved(editor)["channel"] == "message"


async def test_what_hides_in_a_title_is_made_visible(begin):
    editor = await begin(
        ASKS, [step(call("run_command", command="/bin/echo a\u202eb")), DONE], answers=["Reject"]
    )
    await editor.run("Go.")
    assert "\u202e" not in editor.questions[0].item["title"]
    assert "\\u202e" in editor.questions[0].item["title"]


async def test_several_sessions_ask_at_the_same_time(begin):
    editor = await begin(ASKS, [step(RUN), DONE], answers=lambda _: Late("Allow once"))
    for _ in range(2):
        await editor.command("outrider.run", {"prompt": "Go."})
    await editor.question(2)
    for question in list(editor.questions):
        editor.answer_late(question)
    for event in editor.events_of("turn.started"):
        assert (await editor.wait_turn(event["turnId"]))["outcome"] == "completed"
