"""A request that fails for a passing reason is repeated until the limit of the settings; the wait can be cut short."""

import asyncio

import pytest
from test_attempts import ERROR, HELLO, Never, Waiting, data_of

from outrider.models.retry import Attempts
from outrider.ports.model import Message, ModelFailure, ModelRequest, ModelResponse, Retried
from outrider.testing.editor.wire_client import RpcError
from outrider.testing.scenario import embedded, start_session
from outrider_protocol.settings import RetrySettings
from provider_server import ProviderServer, Said, breaks, fails
from replayed import keep_sessions

REQUEST = ModelRequest("main", [Message("user", "Hi")])
OVERLOADED = ModelFailure("overloaded", "provider p answered 529")
ANSWER = ModelResponse("Hello.", (), "stop")


class Playing:
    """A model that gives one outcome after the other, and counts how often it was asked."""

    context_window, temperature, max_tokens = 128_000, None, None

    def __init__(self, *outcomes, name="p/m"):
        self.outcomes = list(outcomes)
        self.name = name
        self.asked = 0

    async def stream(self, request):
        self.asked += 1
        yield self.outcomes.pop(0)


def middle(least, most):
    return (least + most) / 2


async def played(*outcomes, retry=None, models=()):
    """What comes of asking a model that has these outcomes; the waits in seconds."""
    clock = Waiting()
    first = Playing(*outcomes)
    attempts = Attempts([first, *models], clock=clock, retry=retry, jitter=middle)
    items = [item async for item in attempts.stream(REQUEST)]
    return items, clock.slept, first


async def test_the_delays_double_up_to_a_minute_and_ten_attempts_take_less_than_ten_minutes():
    items, slept, model = await played(*[OVERLOADED] * 10)
    assert slept == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert [item.attempt for item in items[:-1]] == list(range(2, 11))
    assert {item.attempts for item in items[:-1]} == {10}
    assert items[-1] == ModelFailure("overloaded", "provider p answered 529 (asked 10 times)")
    assert model.asked == 10


@pytest.mark.parametrize("failed", range(1, 5))
async def test_five_attempts_are_made_by_default(failed):
    items, _, model = await played(*[OVERLOADED] * failed, ANSWER)
    assert (items[-1], model.asked) == (ANSWER, failed + 1)


async def test_the_jitter_stays_between_half_and_one_and_a_half():
    for jitter, waited in ((lambda least, most: least, 0.5), (lambda least, most: most, 1.5)):
        clock = Waiting()
        attempts = Attempts([Playing(OVERLOADED, ANSWER)], clock=clock, jitter=jitter)
        assert [item async for item in attempts.stream(REQUEST)][-1] == ANSWER
        assert clock.slept == [waited]


@pytest.mark.parametrize(
    ("retry", "waits"),
    [
        ({"attempts": 1}, []),
        ({"attempts": 3}, [1, 2]),
        ({"seconds": 0}, []),
        # The last wait is cut to what is left, so that the limit is used.
        ({"seconds": 10}, [1, 2, 4, 3]),
    ],
)
async def test_both_limits_hold(retry, waits):
    items, slept, _ = await played(*[OVERLOADED] * 10, retry=RetrySettings(**retry))
    assert [round(wait, 6) for wait in slept] == waits
    assert isinstance(items[-1], ModelFailure)


@pytest.mark.parametrize(
    ("told", "waits"),
    [(30, [30.25]), (599, [599.25]), (600, [600]), (601, []), (0, [0.25])],
)
async def test_a_provider_that_says_how_long_to_wait_is_obeyed_within_the_limit(told, waits):
    failure = ModelFailure("rate_limit", "slow down", retry_after=told)
    items, slept, _ = await played(failure, ANSWER)
    assert slept == waits
    assert (items[-1] == ANSWER) is bool(waits)


@pytest.mark.parametrize(
    "kind", ["bad_request", "auth", "refused", "context_overflow", "quota", "unknown_model"]
)
async def test_what_would_fail_again_is_not_repeated(kind):
    failure = ModelFailure(kind, "no")
    items, slept, model = await played(failure)
    assert (items, slept, model.asked) == ([failure], [], 1)


async def test_a_model_that_another_can_stand_in_for_gets_two_attempts_and_the_last_one_all():
    other = Playing(*[OVERLOADED] * 4, ANSWER, name="q/n")
    items, _, first = await played(OVERLOADED, OVERLOADED, models=[other])
    assert (items[-1], first.asked, other.asked) == (ANSWER, 2, 5)


async def test_the_next_attempt_can_be_made_at_once():
    clock = Never()
    model = Playing(OVERLOADED, ANSWER)
    attempts = Attempts([model], clock=clock, jitter=middle)
    assert (attempts.retry_in, attempts.retry_now()) == (None, False)
    stream = attempts.stream(REQUEST)
    assert isinstance(await anext(stream), Retried)
    going_on = asyncio.ensure_future(anext(stream))
    await clock.asked.wait()
    assert attempts.retry_in == 1
    assert attempts.retry_now()
    assert await going_on == ANSWER
    assert attempts.retry_in is None
    await stream.aclose()


@pytest.fixture
async def session(workspace):
    """A session with one provider whose answers are to be filled in."""
    async with ProviderServer() as server:
        clock = Waiting()
        settings = {
            "providers": {"p": {"kind": "openai-chat", "baseUrl": server.url}},
            "repositoryMap": {"enabled": False},
            "testing": None,
        }
        connection = embedded(workspace, clock=clock)
        async with start_session("stock", workspace, "p/m", settings, connection=connection) as editor:
            yield editor, server, clock
        await keep_sessions(workspace.parent / editor.options["stateDir"])


@pytest.mark.parametrize(
    "answer",
    [
        fails(529, ERROR),
        fails(503, ERROR),
        fails(502, ERROR),
        fails(429, ERROR, "retry-after: 30\r\n"),
        fails(429, ERROR, "retry-after: Thu, 01 Jan 2026 00:01:00 GMT\r\n"),
        breaks("openai-chat", Said("Hello there, this breaks off."), 700),
    ],
)
async def test_a_turn_survives_several_failures_after_its_tools_ran(answer, session):
    editor, server, clock = session
    call = ("call_a", "read_file", {"path": "README.md"})
    server.plays("openai-chat", Said(calls=[call]), answer, answer, answer, HELLO)
    assert (await editor.run("Hi"))["summary"] == "Hello."
    retried = data_of(editor, "model.retried")
    assert [(one["attempt"], one["attempts"]) for one in retried] == [(2, 10), (3, 10), (4, 10)]
    assert all(one["message"] for one in retried)
    assert [one["wait"] for one in retried] == [pytest.approx(slept, abs=0.06) for slept in clock.slept]
    assert len(data_of(editor, "tool.finished")) == 1


async def test_the_limit_is_a_setting(workspace):
    async with ProviderServer() as server:
        server.plays("openai-chat", *[fails(503, ERROR)] * 3)
        settings = {
            "providers": {"p": {"kind": "openai-chat", "baseUrl": server.url}},
            "retry": {"attempts": 3},
            "repositoryMap": {"enabled": False},
            "testing": None,
        }
        connection = embedded(workspace, clock=Waiting())
        async with start_session("stock", workspace, "p/m", settings, connection=connection) as editor:
            ended = await editor.run("Hi")
            assert (ended["outcome"], "asked 3 times" in ended["summary"]) == ("failed", True)
    await keep_sessions(workspace.parent / editor.options["stateDir"])


async def test_a_wait_is_shown_with_its_time_and_ended_by_a_code_action(workspace):
    clock = Never()
    async with ProviderServer() as server:
        answer = fails(429, ERROR, "retry-after: 90\r\n")
        server.plays("openai-chat", answer, HELLO)
        settings = {
            "providers": {"p": {"kind": "openai-chat", "baseUrl": server.url}},
            "repositoryMap": {"enabled": False},
            "testing": None,
        }
        connection = embedded(workspace, clock=clock)
        async with start_session("stock", workspace, "p/m", settings, connection=connection) as editor:
            started = await editor.command("outrider.run", {"prompt": "Hi"})
            await clock.asked.wait()
            (status,) = (await editor.command("outrider.status"))["sessions"]
            assert 89 <= status["retryIn"] <= 90.5
            await editor.code_actions("README.md")
            await editor.take_action("Outrider: retry now")
            assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"
            (progress,) = editor.progress.values()
            said = [report.get("message", "") for report in progress.reports]
            assert any("attempt 2 of 10 in 9" in text for text in said), said
            assert "retryIn" not in (await editor.command("outrider.status"))["sessions"][0]
            assert not any("retry now" in one["title"] for one in await editor.code_actions("README.md"))
            with pytest.raises(RpcError) as refused:
                await editor.command("outrider.retry", {"turnId": started["turnId"]})
            assert refused.value.data["reason"] == "nothing_to_continue"
    await keep_sessions(workspace.parent / editor.options["stateDir"])
