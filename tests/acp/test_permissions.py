"""What a client's user can answer, and what counts as an answer."""

import pytest
from acp_turns import ASK, EDIT, TWO_HUNKS, run

from outrider.testing.acp.fake_client import Raw
from outrider.testing.acp.profiles import ACP_PROFILES

DONE = {"text": "Done."}


def told(*texts):
    return {"text": "I see.", "expect": {"last_message_contains": list(texts)}}


async def prompt(client, text="Two an hour."):
    return await client.prompt(await client.new_session(), text)


async def test_allowed_for_the_session(acp):
    turns = [run("rm -f a", "a"), run("rm -f a", "b"), DONE]
    async with acp("zed", turns, ["Allow for this session"]) as client:
        assert await prompt(client) == "end_turn"
        assert len(client.permissions) == 1


async def test_always_shows_the_rules_and_asks_where(acp, workspace):
    turns = [run("rm -f a", "a"), DONE]
    answers = ["Always allow…", "Back", "Always allow…", "Always everywhere"]
    async with acp("zed", turns, answers) as client:
        assert await prompt(client) == "end_turn"
        where = client.permissions[1]
        assert "rm" in where.text
        assert where.names == ("Always in this workspace", "Always everywhere", "Back")
        assert await prompt(client, "/permissions") == "end_turn"
        assert "rm" in client.said()


async def test_hunk_by_hunk(acp, tariff):
    turns = [TWO_HUNKS, told("rejected: tariff.py line 1")]
    answers = ["Review by hunk…", "Reject this change", "Accept this change"]
    async with acp("zed", turns, answers) as client:
        assert await prompt(client) == "end_turn"
        assert client.permissions[1].diffs[0]["newText"].startswith("def cost")
        assert client.permissions[1].title.startswith("Change 1 of 2")
    assert tariff.read_text().startswith("def price") and "hours * 2" in tariff.read_text()


async def test_all_hunks_rejected_and_back(acp, tariff):
    turns = [TWO_HUNKS, told("reject")]
    answers = ["Review by hunk…", "Back", "Review by hunk…", "Reject this change", "Reject this change"]
    async with acp("zed", turns, answers) as client:
        assert await prompt(client) == "end_turn"
    assert "def price" in tariff.read_text() and "hours * 3" in tariff.read_text()


async def test_rejected_with_a_reason(acp, tariff):
    async with acp("zed", [EDIT, told("Ask me first.")], ["Reject, saying why…"]) as client:
        client.form_answers.append({"action": "accept", "content": {"words": "Ask me first."}})
        assert await prompt(client) == "end_turn"
    assert "hours * 3" in tariff.read_text()


async def test_without_forms_no_reason_is_asked_for(acp):
    async with acp("jetbrains", [EDIT, DONE], ["Reject"]) as client:
        await prompt(client)
        assert "Reject, saying why…" not in client.permissions[0].names


@pytest.mark.parametrize("profile", ACP_PROFILES)
async def test_a_key_for_a_kind_never_allows_more_than_it_says(acp, profile):
    """Some clients have one key for each kind, which takes the first or the last option of it."""
    async with acp(profile, [TWO_HUNKS, DONE], ["Reject"]) as client:
        await prompt(client)
        asked, takes = client.permissions[0], client.profile.key_takes
        assert asked.key("allow_once", takes) == "Allow once"
        assert asked.key("allow_always", takes) in {None, "Allow for this session", "Always allow…"}
        assert asked.key("reject_once", takes) in {"Reject", "Reject, saying why…"}


async def test_a_client_with_keys_gets_one_option_for_each_and_is_told_the_rest(acp):
    """Codecompanion shows neither the names of options nor the text of a question: two saved rules, unseen."""
    async with acp(
        "codecompanion", [run("rm -f a"), run("rm -f a", "b"), DONE], ["Allow for this session"]
    ) as client:
        assert await prompt(client) == "end_turn"
        (asked,) = client.permissions
        assert asked.names == ("Allow once", "Allow for this session", "Reject")
        assert "Run: rm -f a" in client.said() and "covers this exact command" in client.said()


@pytest.mark.parametrize(("profile", "is_told"), [("zed", True), ("codecompanion", True), ("avante", False)])
@pytest.mark.parametrize("turn", [EDIT, run("rm -f a")], ids=["edit", "command"])
async def test_only_an_option_that_is_offered_is_explained(acp, tariff, profile, is_told, turn):
    async with acp(profile, [turn, DONE], ["Reject"]) as client:
        await prompt(client)
        (asked,) = client.permissions
        assert ("Allow for this session" in asked.names) == is_told
        assert ("“Allow for this session” covers" in f"{asked.text}{client.said()}") == is_told


async def test_what_is_said_of_an_edit_beside_its_diff_is_shown(acp, workspace):
    """The diff is the client's to show; what it may do is said in words."""
    write = {"name": "write_file", "id": "w", "input": {"path": ".vscode/tasks.json", "content": "“x”\n"}}
    async with acp("zed", [{"tool_calls": [write]}, DONE], ["Reject"]) as client:
        await prompt(client)
        (asked,) = client.permissions
        assert asked.text.startswith("Careful: ")
        assert "“x”" not in asked.text
        assert [one["newText"] for one in asked.call["content"] if one["type"] == "diff"] == ["“x”\n"]


@pytest.mark.parametrize("answer", ["Allow once", "Reject"])
async def test_a_client_that_knows_yes_and_no(acp, tariff, answer):
    """Avante takes three ids for a yes, all others for a no, and a yes for ever as one to all that comes."""
    async with acp("avante", [EDIT, DONE], [answer]) as client:
        assert await prompt(client) == "end_turn"
        assert client.permissions[0].names == ("Allow once", "Reject")
    assert ("hours * 2" in tariff.read_text()) == (answer == "Allow once")


@pytest.mark.parametrize("profile", ["codecompanion", "avante"])
@pytest.mark.parametrize(("words", "is_free"), [("2", True), ("three", False), ("Four, please", True)])
async def test_options_that_no_key_is_for_are_answered_by_a_message(acp, profile, words, is_free):
    """Each would be the key for yes."""
    asks = {**ASK["tool_calls"][0]["input"], "allow_free_form": is_free}
    turns = [
        {"tool_calls": [{"name": "ask_user", "id": "q", "input": asks}]},
        told("Four, please" if "Four" in words else "Three"),
    ]
    async with acp(profile, turns) as client:
        session_id = await client.new_session()
        assert await client.prompt(session_id, "Two an hour.") == "end_turn"
        assert "> 1. Two\n> 2. Three" in client.said() and not client.permissions
        assert await client.prompt(session_id, words) == "end_turn"
        assert client.said().endswith("I see.")


@pytest.mark.parametrize(
    "answer",
    [
        {"outcome": {"outcome": "selected", "optionId": "99"}},
        {"outcome": {"outcome": "selected"}},
        {"outcome": "selected"},
        {"outcome": {"outcome": "approved", "optionId": "0"}},
        {},
        [],
        None,
    ],
)
async def test_what_was_not_offered_is_no_answer(acp, tariff, answer):
    async with acp("zed", [EDIT, DONE], [Raw(answer)]) as client:
        session_id = await client.new_session()
        assert await client.prompt(session_id, "Two an hour.") == "end_turn"
        assert "hours * 3" in tariff.read_text()
        assert "waiting for you" in client.said()


async def test_closed_and_asked_again_with_the_next_message(acp, tariff):
    async with acp("zed", [EDIT, DONE, {"text": "Two."}], [None, "Allow once"]) as client:
        session_id = await client.new_session()
        assert await client.prompt(session_id, "Two an hour.") == "end_turn"
        assert "hours * 3" in tariff.read_text()
        assert await client.prompt(session_id, "Ask again.") == "end_turn"
    assert "hours * 2" in tariff.read_text()


async def test_a_question_with_a_form(acp):
    async with acp("zed", [ASK, told("Three")]) as client:
        client.form_answers.append({"action": "accept", "content": {"choice": "Three"}})
        assert await prompt(client) == "end_turn"
        (form,) = client.forms
        assert "Which price?" in form["message"]


async def test_a_question_with_buttons(acp):
    async with acp("jetbrains", [ASK, told("Two")], ["Two"]) as client:
        assert await prompt(client) == "end_turn"
        assert client.permissions[0].names == ("Two", "Three", "Answer in your own words")


async def test_a_question_answered_by_the_next_message(acp):
    async with acp("jetbrains", [ASK, told("Four, please")], ["Answer in your own words"]) as client:
        session_id = await client.new_session()
        assert await client.prompt(session_id, "Two an hour.") == "end_turn"
        assert await client.prompt(session_id, "Four, please") == "end_turn"
        assert client.said().endswith("I see.")


async def test_a_client_that_cannot_do_what_it_says(acp, tariff):
    """It says that it has forms and files, and has neither."""
    turns = [ASK, EDIT, DONE]
    async with acp("zed", turns, ["Two", "Allow once"]) as client:
        client.lacks = {"elicitation/create", "fs/read_text_file", "fs/write_text_file"}
        assert await prompt(client) == "end_turn"
    assert "hours * 2" in tariff.read_text()
