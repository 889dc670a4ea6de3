"""Sessions are named, and found by what was said in them."""

import pytest
from scripting import DONE, step
from test_going_on import refusal

from outrider.testing.scenario import scripted, start_session


async def sessions(editor, **params):
    return (await editor.command("outrider.sessions", params))["sessions"]


@pytest.fixture
async def three(begin):
    """Sessions in which different things were said."""
    turns = [{"text": "The Straße is long. It has a “quoted\\ word”."}, DONE]
    editor = await begin("stock", turns)
    editor.ids = []
    for prompt in ("Count the ferries.", "Paint the harbour\nin green.", "Äpfel und Birnen"):
        await editor.run(prompt)
        editor.ids.append(editor.session_id)
    return editor


async def test_a_name_stays(three):
    named = await three.command(
        "outrider.rename", {"sessionId": three.ids[0], "title": "  Ferries \n of 2026 "}
    )
    assert named == {"sessionId": three.ids[0], "title": "Ferries of 2026"}
    assert [one["title"] for one in await sessions(three)][-1] == "Ferries of 2026"
    again = await three.command("outrider.run", {"prompt": "More.", "sessionId": three.ids[0]})
    await three.wait_turn(again["turnId"])
    assert (await sessions(three))[0]["title"] == "Ferries of 2026"


async def test_a_name_is_no_use_of_the_session(three):
    before = [one["sessionId"] for one in await sessions(three)]
    await three.command("outrider.rename", {"sessionId": three.ids[0], "title": "Old"})
    assert [one["sessionId"] for one in await sessions(three)] == before


@pytest.mark.parametrize("title", ["\x1b[31m", "\u202eevil", "\x00", " \n "])
async def test_a_name_is_printable(title, three):
    assert await refusal(three, "outrider.rename", {"sessionId": three.ids[0], "title": title}) == "invalid"


async def test_a_session_at_rest_is_named_without_being_opened(three, workspace):
    await three.shut_down()
    model = scripted(workspace, [DONE], name="other")
    async with start_session("stock", workspace, model) as second:
        await second.command("outrider.rename", {"sessionId": three.ids[1], "title": "Harbour"})
        assert [one["title"] for one in await sessions(second, query="harbour")] == ["Harbour"]
        assert not second.events_of("session.restored")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("ferries", [0]), ("FERRIES count", [0]), ("green harbour", [1]), ("äPFEL", [2]), ("strasse", [2, 1, 0]),
        ("“quoted\\ word”", [2, 1, 0]), ("ferries harbour", []), ("nothing of the kind", []), ("%", []), ("_", []),
    ],
)  # fmt: skip
async def test_what_was_said_is_found(query, found, three):
    came = await sessions(three, query=query)
    assert [one["sessionId"] for one in came] == [three.ids[number] for number in found]
    assert all(one["match"]["text"] for one in came)


async def test_where_it_was_said_is_shown(three):
    (found,) = await sessions(three, query="green")
    assert found["match"]["text"] == "Paint the harbour in green."
    assert found["match"]["turnId"] in {event["turnId"] for event in three.events_of("turn.started")}
    (named,) = (
        (await three.command("outrider.rename", {"sessionId": three.ids[2], "title": "Fruit"}))["title"],
    )
    assert "turnId" not in (await sessions(three, query=named))[0]["match"]


async def test_no_more_than_are_wanted(three):
    assert len(await sessions(three, limit=2)) == 2
    assert len(await sessions(three, query="straße", limit=1)) == 1


async def test_of_other_workspaces_nothing_is_found(three, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    model = scripted(other, [DONE])
    settings = {"stateDir": three.options["stateDir"]}
    async with start_session("stock", other, model, settings) as second:
        assert await sessions(second, query="ferries") == []


async def test_a_long_log_is_searched_whole(begin):
    turns = [step({"name": "list_files", "input": {"path": "."}}) for _ in range(60)]
    editor = await begin("stock", [*turns, DONE, DONE], {"limits": {"steps": 80}})
    await editor.run("Find the needle.")
    assert [one["sessionId"] for one in await sessions(editor, query="needle")] == [editor.session_id]
