"""The title of a session: asked of the small tier alone, beside the steps, once; it is data and nothing waits for it."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from scripting import types

from outrider.agent.loop import titling
from outrider.agent.loop.titling import title_in
from outrider.testing.scenario import embedded, scripted, start_session
from provider_server import ProviderServer, Said, breaks, fails, pauses
from replayed import keep_sessions

TASK = "Please look at the tariff of the ferries, and find out why children pay twice on Sundays in winter."
ASK = ("call_a", "ask_user", {"question": "Which?", "options": ["this"]})
TIERS = {"small": ["little/small"], "frontier": ["my/big"]}


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(titling, "PAUSE", 0.0)


async def silent(connection):
    await asyncio.Event().wait()


class House:
    def __init__(self, workspace, big, small):
        self.workspace, self.big, self.small = workspace, big, small

    @asynccontextmanager
    async def start(self, **settings):
        given = {
            "providers": {
                "my": {"kind": "openai-chat", "baseUrl": self.big.url},
                "little": {"kind": "openai-chat", "baseUrl": self.small.url},
            },
            "tiers": TIERS,
            **settings,
        }
        async with start_session(
            "stock", self.workspace, "my/big", given, connection=embedded(self.workspace)
        ) as editor:
            yield editor
        await keep_sessions(self.workspace.parent / editor.options["stateDir"])

    async def asks(self, editor, *titles, then="Done.", **params):
        """Runs a task whose first step asks the user, and gives what came of it."""
        self.big.plays("openai-chat", Said(calls=[ASK]), Said(then))
        self.small.plays("openai-chat", *titles)
        return await editor.run(TASK, **params)

    async def answer(self, editor, waiting):
        await editor.command("outrider.answer", {"id": waiting["open"][0]["id"], "answer": "this"})
        return await editor.wait_turn()


@pytest.fixture
async def house(workspace):
    async with ProviderServer() as big, ProviderServer() as small:
        yield House(workspace, big, small)


async def titles(editor):
    return [one["title"] for one in (await editor.command("outrider.sessions", {}))["sessions"]]


async def test_a_title_comes_while_the_person_is_asked(house):
    async with house.start() as editor:
        waiting = await house.asks(editor, Said('**"Children pay twice on Sundays"**\n\nI hope that helps!'))
        event = await editor.event("session.titled")
        assert event["data"]["title"] == "Children pay twice on Sundays"
        assert await titles(editor) == ["Children pay twice on Sundays"]
        ended = await house.answer(editor, waiting)
        # Three requests: what the title cost is a part of the turn's sum.
        assert ended["usage"]["inputTokens"] == 3 * event["data"]["usage"]["inputTokens"]
    (body,) = house.small.bodies
    assert "tools" not in body
    assert body["max_tokens"] == titling.ANSWER_TOKENS
    assert [message["content"] for message in body["messages"]] == [titling.INSTRUCTION, TASK]


async def test_no_step_and_no_end_waits_for_it(house):
    never = asyncio.Event()
    async with house.start() as editor:
        slow = pauses("openai-chat", Said("A title"), 1, never.wait)
        waiting = await house.asks(editor, slow)
        async with asyncio.timeout(10):
            await house.small.asked.wait()
        assert (await house.answer(editor, waiting))["outcome"] == "completed"
        assert await titles(editor) == [f"{TASK[:79]}…"]
    (closed,) = editor.events_of("session.titled") or [None]
    assert closed is not None
    assert closed["data"]["reason"] == "cancelled"
    assert "title" not in closed["data"]
    assert closed["data"]["usage"]["estimated"] is True
    assert closed["data"]["usage"]["inputTokens"] > 50
    assert types(editor)[-1] == "session.closed"


async def test_it_comes_between_no_events_of_a_step(house, monkeypatch):
    come, look = asyncio.Event(), titling.Titling.look

    def looked(self, **given):
        look(self, **given)
        if house.small.bodies and not given:
            come.set()

    monkeypatch.setattr(titling.Titling, "look", looked)
    async with house.start() as editor:
        read = ("call_a", "list_files", {"path": "."})
        slow = pauses("openai-chat", Said(calls=[("call_b", *read[1:])]), 1, come.wait)
        house.big.plays("openai-chat", Said(calls=[read]), slow, Said("Done."))
        house.small.plays("openai-chat", Said("Ferries"))
        await editor.run(TASK)
    after = types(editor)[types(editor).index("session.titled") + 1]
    assert after == "model.routed"


async def test_a_cancel_ends_it_too(house):
    never = asyncio.Event()
    async with house.start() as editor:
        waiting = await house.asks(editor, pauses("openai-chat", Said("A title"), 1, never.wait))
        async with asyncio.timeout(10):
            await house.small.asked.wait()
        await editor.command("outrider.cancel", {"turnId": waiting["turnId"]})
        event = await editor.event("session.titled")
        assert event["data"]["reason"] == "cancelled"


async def test_a_cancel_before_anybody_was_asked_leaves_it_to_the_next_turn(house, monkeypatch):
    monkeypatch.setattr(titling, "PAUSE", 1000.0)
    async with house.start() as editor:
        waiting = await house.asks(editor)
        await editor.command("outrider.cancel", {"turnId": waiting["turnId"]})
        monkeypatch.setattr(titling, "PAUSE", 0.0)
        house.small.plays("openai-chat", Said("Ferries"))
        await editor.run(TASK, sessionId=editor.events[0]["sessionId"])
        assert (await editor.event("session.titled"))["data"]["title"] == "Ferries"


async def test_the_choice_and_what_was_tried_before_stand_in_the_log(house):
    tiers = {**TIERS, "small": ["little/bad", "little/small"]}
    async with house.start(tiers=tiers) as editor:
        waiting = await house.asks(editor, fails(401), Said("Ferries"))
        data = (await editor.event("session.titled"))["data"]
        await house.answer(editor, waiting)
    chosen = data["routed"]
    assert (chosen["purpose"], chosen["model"], chosen["others"]) == ("title", "little/bad", ["little/small"])
    assert (data["model"], data["failed"]) == ("little/small", [{"model": "little/bad", "reason": "auth"}])


async def test_what_was_sent_and_never_answered_has_no_known_cost(house):
    async with house.start() as editor:
        waiting = await house.asks(editor, silent)
        async with asyncio.timeout(10):
            await house.small.asked.wait()
        await editor.command("outrider.cancel", {"turnId": waiting["turnId"]})
        usage = (await editor.event("session.titled"))["data"]["usage"]
    assert "cost" not in usage


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (fails(401), "auth"),
        (Said(""), "no_title"),
        (Said("I looked at the tariff, and it seems that children pay twice because of a loop that counts them. " * 3), "no_title"),
        (breaks("openai-chat", Said("A title"), 1), None),
    ],
)  # fmt: skip
async def test_one_that_does_not_come_is_not_asked_for_again(answer, reason, house):
    async with house.start() as editor:
        if reason is None:  # what breaks off is asked for once more, like any other answer
            reason, further = "auth", [fails(401)]
        else:
            further = []
        waiting = await house.asks(editor, answer, *further)
        event = await editor.event("session.titled")
        assert event["data"]["reason"] == reason
        await house.answer(editor, waiting)
        house.big.plays("openai-chat", Said("Yes."))
        session = editor.events[0]["sessionId"]
        await editor.run(TASK, sessionId=session)
        assert await titles(editor) == [f"{TASK[:79]}…"]
    assert types(editor).count("session.titled") == 1


@pytest.mark.parametrize(
    ("settings", "params"),
    [
        ({"modelTitles": False}, {}),
        ({"tiers": {"frontier": ["my/big"]}}, {}),
        ({"tiers": {"small": ["scripted:quiet.json"], "frontier": ["my/big"]}}, {}),
        ({}, {"model": "my/big"}),
    ],
)
async def test_nobody_is_asked_who_was_not_meant(settings, params, house):
    scripted(house.workspace, [{"text": "No."}], name="quiet")
    async with house.start(**settings) as editor:
        waiting = await house.asks(editor, Said("A title"), **params)
        await house.answer(editor, waiting)
        assert await titles(editor) == [f"{TASK[:79]}…"]
    assert not editor.events_of("session.titled")
    assert not house.small.bodies


async def test_a_task_that_is_a_title_is_left_alone(house):
    async with house.start() as editor:
        house.big.plays("openai-chat", Said("Done."))
        await editor.run("Fix the tariff")
        assert await titles(editor) == ["Fix the tariff"]
    assert not house.small.bodies
    assert not editor.events_of("session.titled")


async def test_a_script_names_a_session_if_it_was_written_to(house):
    script = scripted(house.workspace, [], name="names", purposes={"title": [{"text": "Ferries"}]})
    async with house.start(tiers={"small": [script], "frontier": ["my/big"]}) as editor:
        waiting = await house.asks(editor)
        await editor.event("session.titled")
        assert await titles(editor) == ["Ferries"]
        await house.answer(editor, waiting)


async def test_no_secret_is_sent_for_it_or_stands_in_it(house):
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    async with house.start() as editor:
        house.big.plays("openai-chat", Said(calls=[ASK]), Said("Done."))
        house.small.plays("openai-chat", Said(f"Use {secret}"))
        waiting = await editor.run(f"{TASK} The token is {secret}.")
        event = await editor.event("session.titled")
        assert secret not in str(event)
        await house.answer(editor, waiting)
    assert secret not in str(house.small.bodies)


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("Fix the tariff", "Fix the tariff"),
        ("\n\n  # `Fix the tariff`  \nand more", "Fix the tariff"),
        ("Fix\x1b[31m the\u202e tar\u200biff\x00", "Fix[31m the tariff"),
        ("Fix\tthe\u00a0 tariff", "Fix the tariff"),
        ("x" * 80, "x" * 80),
        ("x" * 81, ""),
        ("\"''\"", ""),
        ("", ""),
    ],
)
def test_a_title_is_one_line_that_can_be_seen(answer, title):
    assert title_in(answer) == title
