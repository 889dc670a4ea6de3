"""Which model gets which request: by what the request is and needs, never by its words; and what it costs."""

import asyncio
import json
import re

import pytest

from outrider.cli.render import usage_line
from outrider.testing.scenario import embedded, start_session
from provider_server import HEAD, IN_DIALECT, SSE, USAGE, ProviderServer, Said, breaks, fails, pauses
from replayed import keep_sessions

LIST = ("call_a", "list_files", {"path": "."})
AGAIN = ("call_b", "list_files", {"path": "."})
TIERS = {"small": ["my/small"], "mid": ["my/mid"], "frontier": ["my/big"]}
PRICE = {"input": 1.0, "output": 10.0}
ONE = (USAGE[0] * 1.0 + USAGE[1] * 10.0) / 1e6
"""What a request costs at that price."""


class Sessions:
    def __init__(self, server, workspace):
        self.server, self.workspace, self.started = server, workspace, []

    def start(self, model="my/other", **settings):
        given = {"providers": {"my": {"kind": "openai-chat", "baseUrl": self.server.url}}, **settings}
        editor = start_session("stock", self.workspace, model, given, connection=embedded(self.workspace))
        self.started.append(self.workspace.parent)
        return editor

    def plays(self, *answers):
        self.server.plays("openai-chat", *answers)

    @property
    def asked(self):
        """The models that were asked, in order."""
        return [body["model"] for body in self.server.bodies]


@pytest.fixture
async def sessions(workspace):
    async with ProviderServer() as server:
        yield Sessions(server, workspace)


def data_of(editor, kind):
    return [event["data"] for event in editor.events_of(kind)]


async def check_replay(editor, sessions):
    await keep_sessions(sessions.workspace.parent / editor.options["stateDir"])


def why(editor):
    return [(one["model"], one["reason"]) for one in data_of(editor, "model.routed")]


async def test_each_step_goes_to_its_tier(sessions):
    async with sessions.start(tiers=TIERS, limits={"steps": 4}) as editor:
        sessions.plays(
            Said(calls=[LIST]),
            Said(calls=[AGAIN]),
            Said(reasoning="I wonder."),
            Said(calls=[("call_c", "list_files", {"path": "docs"})]),
            Said("That is it."),
        )
        ended = await editor.run("Look.")
    assert (ended["outcome"], ended["summary"]) == ("budget_exhausted", "That is it.")
    assert why(editor) == [
        ("my/big", "first_step"),
        ("my/mid", "step"),
        ("my/mid", "step"),
        ("my/big", "after_reasoning"),
        ("my/mid", "step"),
        ("my/small", "side_task"),
    ]
    assert sessions.asked == ["big", "mid", "mid", "big", "small"]
    (started,) = data_of(editor, "turn.started")
    assert started["model"] == "tiers"
    await check_replay(editor, sessions)


async def test_no_word_of_the_prompt_decides(sessions):
    async with sessions.start(tiers=TIERS) as editor:
        for prompt in ("ok", "Prove the Riemann hypothesis, think hard, use the frontier model", "thanks"):
            sessions.plays(Said("Yes."))
            await editor.run(prompt)
    assert [model for model, _ in why(editor)] == ["my/big"] * 3


@pytest.mark.parametrize(
    ("tiers", "asked"),
    [
        ({"small": ["my/small"], "mid": ["my/mid"]}, ["other", "mid"]),
        ({"frontier": ["my/big"]}, ["big", "big"]),
        ({"small": ["my/small"]}, ["other", "other"]),
    ],
)
async def test_a_missing_tier_is_stood_in_for(tiers, asked, sessions):
    async with sessions.start(tiers=tiers) as editor:
        sessions.plays(Said(calls=[LIST]), Said("Done."))
        await editor.run("Look.")
    assert sessions.asked == asked
    await check_replay(editor, sessions)


async def test_a_model_that_the_task_names_overrules(sessions):
    async with sessions.start(tiers=TIERS) as editor:
        sessions.plays(Said("Done."))
        await editor.run("Look.", model="my/small")
    assert sessions.asked == ["small"]
    assert why(editor) == []


async def test_a_request_that_is_too_long_goes_to_a_larger_window(sessions):
    models = {"my/big": {"contextWindow": 200}, "my/mid": {"contextWindow": 100_000}}
    async with sessions.start(tiers={"frontier": ["my/big"], "mid": ["my/mid"]}, models=models) as editor:
        sessions.plays(Said("Done."))
        await editor.run("Look.")
    assert sessions.asked == ["other"]
    (routed,) = data_of(editor, "model.routed")
    assert [(one["model"], one.get("leftOut")) for one in routed["candidates"]] == [
        ("my/big", "context_window"),
        ("my/other", None),
        ("my/mid", None),
    ]
    assert (routed["wanted"], routed.get("tier"), routed["contextWindow"]) == ("frontier", None, 128_000)
    assert routed["tokens"] > 200
    await check_replay(editor, sessions)


async def test_where_none_is_large_enough_the_turn_ends_by_its_budget(sessions):
    models = {"my/big": {"contextWindow": 4000}, "my/other": {"contextWindow": 4000}}
    async with sessions.start(tiers={"frontier": ["my/big"]}, models=models) as editor:
        ended = await editor.run("Look. " * 2000)
    assert (ended["outcome"], ended["reason"]) == ("budget_exhausted", "contextWindow")
    assert sessions.asked == []


async def test_one_that_failed_is_left_out_for_the_rest_of_the_turn(sessions):
    async with sessions.start(tiers={"frontier": ["my/big"], "mid": ["my/mid", "my/mid2"]}) as editor:
        sessions.plays(Said(calls=[LIST]), fails(401, b"{}"), Said(calls=[AGAIN]), Said("Done."))
        await editor.run("Look.")
    assert sessions.asked == ["big", "mid", "mid2", "mid2"]
    last = data_of(editor, "model.routed")[-1]
    assert {one["model"]: one.get("leftOut") for one in last["candidates"]}["my/mid"] == "failed"
    await check_replay(editor, sessions)


async def test_among_equals_the_cheapest_is_asked(sessions):
    models = {"my/dear": {"price": {"input": 9, "output": 9}}, "my/cheap": {"price": PRICE}}
    tiers = {"frontier": [["my/unknown", "my/dear", "my/cheap"], "my/free"]}
    async with sessions.start(tiers=tiers, models=models) as editor:
        sessions.plays(Said("Done."))
        await editor.run("Look.")
    (routed,) = data_of(editor, "model.routed")
    assert [routed["model"], *routed["others"]] == [
        "my/cheap",
        "my/dear",
        "my/unknown",
        "my/free",
        "my/other",
    ]
    assert "price" not in routed["candidates"][0]


async def test_the_score_decides_where_the_settings_say_so(sessions):
    models = {
        "my/big": {"price": {"input": 500, "output": 500}},
        "my/mid": {"price": PRICE},
        "my/small": {"price": {"input": 0, "output": 0}},
    }
    async with sessions.start(tiers=TIERS, models=models, routing={"by": "score"}) as editor:
        sessions.plays(Said("Done."))
        await editor.run("Look.")
    (routed,) = data_of(editor, "model.routed")
    scores = {one["model"]: one["score"] for one in routed["candidates"]}
    assert routed["model"] == "my/mid" == max(scores, key=scores.__getitem__)
    assert routed["by"] == "score"
    await check_replay(editor, sessions)


async def test_tiers_need_no_model_beside_them(sessions):
    async with sessions.start(model=None, tiers=TIERS) as editor:
        sessions.plays(Said("Done."))
        assert (await editor.run("Look."))["outcome"] == "completed"
    assert sessions.asked == ["big"]


async def test_a_cut_off_turn_goes_on_with_the_tier_of_its_step(sessions):
    question = ("call_q", "ask_user", {"question": "Which?", "options": ["A", "B"]})
    async with sessions.start(tiers=TIERS, limits={"askSeconds": 0.05}) as editor:
        sessions.plays(Said(calls=[question]))
        assert (await editor.run("Look."))["outcome"] == "needs_input"
        settings = {"tiers": TIERS, "stateDir": editor.options["stateDir"], "limits": {"askSeconds": 60}}
    async with sessions.start(**settings) as later:
        sessions.plays(Said("Done."))
        await later.command("outrider.resume", {"sessionId": editor.session_id})
        (item,) = (await later.command("outrider.status", {}))["sessions"][0]["open"]
        await later.command("outrider.answer", {"id": item["id"], "answer": "A"})
        ended = await later.command("outrider.wait", {"turnId": editor.turn_id, "timeout": 20})
        assert ended["outcome"] == "completed"
    assert sessions.asked == ["big", "mid"]


# --- what it costs ------------------------------------------------------------------------------------------------


async def test_the_cost_of_all_requests_of_a_turn_is_summed(sessions):
    models = {f"my/{name}": {"price": PRICE} for name in ("big", "mid", "small")}
    async with sessions.start(tiers=TIERS, models=models, limits={"steps": 2}) as editor:
        sessions.plays(Said(calls=[LIST]), Said(calls=[AGAIN]), Said("So far."))
        ended = await editor.run("Look.")
        status = await editor.command("outrider.status", {"sessionId": editor.session_id})
    assert ended["usage"]["cost"] == pytest.approx(3 * ONE)
    assert ended["usage"]["inputTokens"] == 3 * USAGE[0]
    assert status["sessions"][0]["usage"] == ended["usage"]
    await check_replay(editor, sessions)


@pytest.mark.parametrize("priced", ["big", "mid"])
async def test_a_cost_that_is_not_wholly_known_is_unknown(priced, sessions):
    async with sessions.start(tiers=TIERS, models={f"my/{priced}": {"price": PRICE}}) as editor:
        sessions.plays(Said(calls=[LIST]), Said("Done."))
        ended = await editor.run("Look.")
    assert "cost" not in ended["usage"]
    costs = [one["usage"].get("cost") for one in data_of(editor, "model.responded")]
    assert sorted(costs, key=str) == [pytest.approx(ONE), None]
    await check_replay(editor, sessions)


async def test_what_is_known_of_the_cost_ends_the_turn_with_a_summary(sessions):
    async with sessions.start(
        tiers=TIERS, models={"my/big": {"price": {"input": 1e6, "output": 0}}}, limits={"cost": 5}
    ) as editor:
        sessions.plays(Said(calls=[LIST]), Said("It was dear."))
        ended = await editor.run("Look.")
    assert (ended["outcome"], ended["reason"], ended["summary"]) == (
        "budget_exhausted",
        "limits.cost",
        "It was dear.",
    )
    assert data_of(editor, "budget.exhausted") == [{"limit": "limits.cost", "allowed": 5.0, "used": 11.0}]


async def test_attempts_that_failed_count_where_the_provider_counted_them(sessions):
    said = Said("Hello there, this is cut off.")
    settings = {"providers": {"my": {"kind": "anthropic", "baseUrl": sessions.server.url}}}
    async with sessions.start("my/a", models={"my/a": {"price": PRICE}}, **settings) as editor:
        sessions.server.plays("anthropic", breaks("anthropic", said, 600), Said("Hello."))
        ended = await editor.run("Hi")
    (retried,) = data_of(editor, "model.retried")
    assert retried["usage"]["inputTokens"] == USAGE[0]
    assert ended["usage"]["inputTokens"] == 2 * USAGE[0]
    assert ended["usage"]["cost"] == pytest.approx(
        sum(one["usage"]["cost"] for one in (retried, *data_of(editor, "model.responded")))
    )
    await check_replay(editor, sessions)


def uncounted(said):
    """The answer of a server that counts nothing."""
    body = re.sub(rb'data: {"choices": \[\].*\n\n', b"", IN_DIALECT["openai-chat"](said))
    assert b"prompt_tokens" not in body

    async def answer(connection):
        await connection.send(HEAD % SSE + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))

    return answer


@pytest.mark.parametrize(
    "second",
    [
        uncounted(Said("Done.")),
        breaks("openai-chat", Said("Hello there, this breaks off."), 700),
    ],
    ids=["whole", "broken"],
)
async def test_what_the_provider_did_not_count_is_estimated_and_said_to_be(second, sessions):
    async with sessions.start("my/a", models={"my/a": {"price": PRICE}}) as editor:
        sessions.plays(Said(calls=[LIST]), second, Said("Done."))
        ended = await editor.run("Look.")
    assert ended["outcome"] == "completed"
    assert ended["usage"]["estimated"] is True
    (one,) = (
        event["data"]["usage"]
        for event in editor.events
        if event["data"].get("usage", {}).get("estimated") and event["type"] != "turn.finished"
    )
    # The whole request, not only what is new of it; the few words of the answer.
    assert 1_000 < one["inputTokens"] < 20_000
    assert 0 < one["outputTokens"] < 20
    cost = (one["inputTokens"] * PRICE["input"] + one["outputTokens"] * PRICE["output"]) / 1e6
    assert one["cost"] == pytest.approx(cost)
    requests = len(data_of(editor, "model.responded")) + len(data_of(editor, "model.retried"))
    assert ended["usage"]["cost"] == pytest.approx(cost + (requests - 1) * ONE)
    assert usage_line(ended["usage"]).startswith("~")
    await check_replay(editor, sessions)


async def test_what_was_cancelled_in_its_middle_is_estimated(sessions):
    never = asyncio.Event()
    async with sessions.start("my/a", models={"my/a": {"price": PRICE}}) as editor:
        sessions.plays(pauses("openai-chat", Said("Hello there, this goes on and on."), 3, never.wait))
        started = await editor.command("outrider.run", {"prompt": "Look."})
        await editor.wait_for(lambda: editor.frames, "the beginning of the answer")
        await editor.command("outrider.cancel", {"turnId": started["turnId"]})
        ended = await editor.wait_turn(started["turnId"])
    (responded,) = data_of(editor, "model.responded")
    used = responded["usage"]
    assert (ended["outcome"], ended["usage"]) == ("cancelled", used)
    assert used["estimated"] is True
    assert used["inputTokens"] > 1_000
    assert 0 < used["outputTokens"] < 20
    assert used["cost"] == pytest.approx(
        (used["inputTokens"] * PRICE["input"] + used["outputTokens"] * PRICE["output"]) / 1e6
    )
    await check_replay(editor, sessions)


async def test_a_limit_of_tokens_holds_where_the_provider_counts_nothing(sessions):
    async with sessions.start("my/a", limits={"tokens": 1_000}) as editor:
        sessions.plays(uncounted(Said(calls=[LIST])), uncounted(Said("So far.")))
        ended = await editor.run("Look.")
    assert (ended["outcome"], ended["reason"], ended["summary"]) == (
        "budget_exhausted",
        "limits.tokens",
        "So far.",
    )
    await check_replay(editor, sessions)


async def test_a_limit_of_cost_that_cannot_be_counted_is_said_once(sessions):
    models = {"my/b": {"price": PRICE}}
    async with sessions.start("my/a", models=models, limits={"cost": 5}) as editor:
        for model in ("my/b", "my/a", "my/a"):
            sessions.plays(Said(calls=[LIST]), Said("Done."))
            await editor.run("Look.", model=model)
    said = [one.text for one in editor.said if "limits.cost" in one.text]
    assert len(said) == 1
    assert "the price of my/a is unknown" in said[0]


async def test_what_costs_nothing_costs_nothing_uncounted(sessions):
    async with sessions.start("my/a", models={"my/a": {"price": {"input": 0, "output": 0}}}) as editor:
        sessions.plays(uncounted(Said("Done.")))
        ended = await editor.run("Look.")
    assert ended["usage"]["cost"] == 0


async def test_how_fast_a_model_is_stands_in_the_log_and_the_status(sessions):
    async with sessions.start("my/a") as editor:
        sessions.plays(Said(calls=[LIST]), Said("Done."))
        await editor.run("Look.")
        (session,) = (await editor.command("outrider.status", {}))["sessions"]
    measured = [one["latency"]["firstTokenMs"] for one in data_of(editor, "model.responded")]
    (latency,) = session["latencies"]
    assert (latency["model"], latency["requests"]) == ("my/a", 2)
    assert latency["firstTokenMs"] == pytest.approx(sum(measured) / 2, abs=0.2)
    assert json.dumps(session["latencies"])


async def test_a_summary_of_older_steps_is_made_by_the_small_tier(sessions):
    for name in "abc":
        (sessions.workspace / f"{name}.txt").write_text(f"{name} is a line\n" * 200)
    too_long = fails(400, b'{"error": {"code": "context_length_exceeded", "message": "too long"}}')
    async with sessions.start(tiers=TIERS) as editor:
        reads = [Said(calls=[(f"call_{name}", "read_file", {"path": f"{name}.txt"})]) for name in "abc"]
        sessions.plays(*reads, too_long, Said("Notes of the small one."), Said("Done."))
        ended = await editor.run("Look.")
    assert (ended["outcome"], ended["summary"]) == ("completed", "Done.")
    assert sessions.asked == ["big", "mid", "mid", "mid", "small", "mid"]
    (compacted,) = data_of(editor, "context.compacted")
    assert (compacted["reason"], compacted["by"]) == ("overflow", "model")
    assert "Notes of the small one." in json.dumps(sessions.server.bodies[-1])
    await check_replay(editor, sessions)
