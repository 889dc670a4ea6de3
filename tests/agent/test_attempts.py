"""What passes is tried again once, what does not goes to the next model, and what is our own fault is said."""

import asyncio
from datetime import UTC, datetime

import pytest

from outrider.ports.clock import SteppingClock
from outrider.testing.scenario import embedded, scripted, start_session
from provider_server import IN_DIALECT, ProviderServer, Said, breaks, errs, fails, tells
from replayed import keep_sessions

KEY = "sk-local-0123456789"
ERROR = {"error": {"message": "no luck"}}
HELLO = Said("Hello.")
BROKEN = breaks("openai-chat", Said("Hello there, this breaks off."), 700)


class Waiting(SteppingClock):
    """Notes how long was waited."""

    def __init__(self):
        super().__init__(datetime(2026, 1, 1, tzinfo=UTC))
        self.slept = []

    async def sleep(self, seconds):
        self.slept.append(seconds)
        await super().sleep(seconds)


class Never(Waiting):
    """Waits for ever, from the first time that something waits for it."""

    def __init__(self):
        super().__init__()
        self.asked = asyncio.Event()

    async def sleep(self, seconds):
        self.asked.set()
        await asyncio.Event().wait()


@pytest.fixture
async def session(workspace):
    """A session that asks one provider, and another one after it; the answers of both are to be filled in."""
    async with ProviderServer() as first, ProviderServer() as second:
        clock = Waiting()
        urls = {"first": first, "second": second}
        providers = {
            name: {"kind": "openai-chat", "baseUrl": f"{server.url}?code=hidden", "apiKeyEnv": "LOCAL_KEY"}
            for name, server in urls.items()
        }
        settings = {
            "providers": providers,
            "fallbackModels": ["second/b"],
            "retry": {"attempts": 2},
            "testing": None,
        }
        connection = embedded(workspace, clock=clock, env={"LOCAL_KEY": KEY})
        async with start_session("stock", workspace, "first/a", settings, connection=connection) as editor:
            yield editor, first, second, clock
        await keep_sessions(workspace.parent / editor.options["stateDir"])


def data_of(editor, kind):
    return [event["data"] for event in editor.events_of(kind)]


def log_of(editor):
    """What became of the attempts: type and reason."""
    kinds = {"model.reset", "model.retried", "model.fellBack", "model.failed", "model.responded"}
    return [
        (event["type"], event["data"].get("reason") or event["data"].get("kind"))
        for event in editor.events
        if event["type"] in kinds
    ]


@pytest.mark.parametrize(
    ("answer", "reason", "least", "most"),
    [
        *((fails(status, ERROR), "overloaded", 0.5, 2) for status in (500, 502, 503, 504, 529)),
        (fails(408, ERROR), "timeout", 0.5, 2),
        (fails(409, ERROR), "timeout", 0.5, 2),
        (fails(429, ERROR), "rate_limit", 0.5, 2),
        (fails(429, ERROR, "retry-after: 7\r\n"), "rate_limit", 7, 7.5),
        (fails(429, ERROR, "retry-after: nan\r\n"), "rate_limit", 0.5, 2),
        (fails(429, ERROR, "retry-after: -7\r\n"), "rate_limit", 0, 0.5),
    ],
)
async def test_what_passes_is_tried_once_more(answer, reason, least, most, session):
    editor, first, _, clock = session
    first.plays("openai-chat", answer, HELLO)
    assert (await editor.run("Hi"))["summary"] == "Hello."
    assert log_of(editor) == [("model.retried", reason), ("model.responded", None)]
    assert [event["attempt"] for event in data_of(editor, "model.retried")] == [2]
    (waited,) = clock.slept
    assert data_of(editor, "model.retried")[0]["wait"] == round(waited, 1), (
        "it is said how long nothing happens"
    )
    assert least <= waited <= most
    assert waited != least, "not all that were told the same come at once"


async def test_it_falls_back_after_the_second_attempt_and_stays_there_for_the_turn(session):
    editor, first, second, _ = session
    first.plays("openai-chat", fails(503, ERROR), fails(503, ERROR))
    call = ("call_a", "read_file", {"path": "README.md"})
    second.plays("openai-chat", Said(calls=[call]), HELLO, Said("Again."))
    assert (await editor.run("Hi"))["outcome"] == "completed"
    assert log_of(editor)[:3] == [
        ("model.retried", "overloaded"),
        ("model.fellBack", "overloaded"),
        ("model.responded", None),
    ]
    (fell,) = data_of(editor, "model.fellBack")
    assert (fell["from"], fell["to"]) == ("first/a", "second/b")
    assert [event["model"] for event in data_of(editor, "model.requested")] == ["first/a", "second/b"]
    first.plays("openai-chat", Said("First again."))
    assert (await editor.run("Hi", sessionId=editor.session_id))["summary"] == "First again."


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (fails(401, ERROR), "auth"),
        (fails(403, ERROR), "auth"),
        (fails(404, ERROR), "unknown_model"),
        (fails(402, ERROR), "quota"),
        (fails(429, {"error": {"message": "You exceeded it", "code": "insufficient_quota"}}), "quota"),
        (fails(429, ERROR, "retry-after: 3600\r\n"), "rate_limit"),
        (fails(429, ERROR, "retry-after: 1e308\r\n"), "rate_limit"),
        (fails(429, ERROR, f"retry-after: {'9' * 400}\r\n"), "rate_limit"),
        (fails(503, ERROR, "retry-after: Thu, 01 Jan 2026 01:00:00 GMT\r\n"), "overloaded"),
    ],
)
async def test_what_does_not_pass_goes_to_the_next_at_once(answer, reason, session):
    editor, first, second, clock = session
    first.plays("openai-chat", answer)
    second.plays("openai-chat", HELLO)
    assert (await editor.run("Hi"))["summary"] == "Hello."
    assert log_of(editor) == [("model.fellBack", reason), ("model.responded", None)]
    assert clock.slept == []


@pytest.mark.parametrize(
    ("status", "error", "outcome", "reason"),
    [
        (400, {"message": "no luck"}, "failed", "bad_request"),
        (413, {"message": "no luck"}, "failed", "bad_request"),
        (422, {"message": "no luck"}, "failed", "bad_request"),
        (400, {"code": "content_filter", "message": "no"}, "refused", "model_refused"),
        (400, {"message": "maximum context length is 5 tokens"}, "budget_exhausted", "contextWindow"),
    ],
)
async def test_what_is_the_requests_own_fault_is_said(status, error, outcome, reason, session):
    editor, first, second, clock = session
    # A request that is too long is made shorter and asked once more, as its first message can be.
    times = 2 if reason == "contextWindow" else 1
    first.plays("openai-chat", *[fails(status, {"error": error})] * times)
    ended = await editor.run("Hi")
    assert (ended["outcome"], data_of(editor, "turn.finished")[0]["reason"]) == (outcome, reason)
    assert [kind for kind, _ in log_of(editor)] == ["model.failed"] * times
    assert (second.received, clock.slept) == ([], [])


@pytest.mark.parametrize(
    ("windows", "asked", "outcome"),
    [
        ({"second/b": 2_000}, ["c"], "completed"),
        ({"second/c": 2_000}, ["b"], "completed"),
        ({"second/b": 2_000, "second/c": 2_000}, [], "budget_exhausted"),
    ],
)
async def test_a_model_that_a_request_is_too_long_for_is_passed_over(windows, asked, outcome, workspace):
    async with ProviderServer() as first, ProviderServer() as second:
        first.plays("openai-chat", fails(401, ERROR))
        second.plays("openai-chat", HELLO)
        urls = {"first": first.url, "second": second.url}
        settings = {
            "providers": {name: {"kind": "openai-chat", "baseUrl": url} for name, url in urls.items()},
            "models": {name: {"contextWindow": window} for name, window in windows.items()},
            "fallbackModels": ["second/b", "second/c"],
            "testing": None,
        }
        async with start_session(
            "stock", workspace, "first/a", settings, connection=embedded(workspace)
        ) as editor:
            assert (await editor.run("Hi " * 4_000))["outcome"] == outcome
        assert [body["model"] for body in second.bodies] == asked
        if outcome != "completed":
            assert data_of(editor, "turn.finished")[0]["reason"] == "contextWindow"
    await keep_sessions(workspace.parent / editor.options["stateDir"])


async def test_text_that_was_shown_is_withdrawn_before_the_second_attempt(session):
    editor, first, _, _ = session
    first.plays("openai-chat", BROKEN, HELLO)
    assert (await editor.run("Hi"))["summary"] == "Hello."
    assert log_of(editor) == [
        ("model.reset", "cut_stream"),
        ("model.retried", "cut_stream"),
        ("model.responded", None),
    ]
    withdrawn = data_of(editor, "model.reset")[0]["text"]
    assert withdrawn
    assert "Hello there, this breaks off.".startswith(withdrawn)


@pytest.mark.parametrize("kind", sorted(IN_DIALECT))
async def test_in_each_dialect_an_error_after_the_first_text_withdraws_it_and_is_tried_once_more(
    kind, workspace
):
    async with ProviderServer() as server:
        server.known["/api/show"] = tells({"capabilities": ["completion", "tools"]})
        server.plays(kind, errs(kind, Said("Hello there, this breaks off.")), HELLO)
        base = server.url.removesuffix("/v1") if kind == "ollama" else server.url
        providers = {"first": {"kind": kind, "baseUrl": f"{base}?code=hidden", "apiKeyEnv": "LOCAL_KEY"}}
        connection = embedded(workspace, clock=Waiting(), env={"LOCAL_KEY": KEY})
        settings = {"providers": providers, "testing": None}
        async with start_session("stock", workspace, "first/a", settings, connection=connection) as editor:
            assert (await editor.run("Hi"))["summary"] == "Hello."
            assert [one for one, _ in log_of(editor)] == ["model.reset", "model.retried", "model.responded"]
            assert data_of(editor, "model.reset")[0]["text"]
            assert not any(secret in str(editor.events) for secret in (KEY, "hidden"))
    await keep_sessions(workspace.parent / editor.options["stateDir"])


async def test_the_last_failure_is_said_when_no_model_answers(session):
    editor, first, second, _ = session
    first.plays("openai-chat", fails(401, ERROR))
    second.plays("openai-chat", BROKEN, fails(503, {"error": {"message": f"bad key {KEY}"}}))
    ended = await editor.run("Hi")
    assert (ended["outcome"], data_of(editor, "turn.finished")[0]["reason"]) == ("failed", "overloaded")
    assert [kind for kind, _ in log_of(editor)] == [
        "model.fellBack",
        "model.reset",
        "model.retried",
        "model.failed",
    ]
    assert not any(secret in str(editor.events) for secret in (KEY, "hidden"))


async def test_waiting_for_the_second_attempt_can_be_cancelled(workspace):
    clock = Never()
    async with ProviderServer() as server:
        server.plays("openai-chat", fails(503, ERROR))
        providers = {"first": {"kind": "openai-chat", "baseUrl": server.url}}
        connection = embedded(workspace, clock=clock)
        settings = {"providers": providers, "testing": None}
        async with start_session("stock", workspace, "first/a", settings, connection=connection) as editor:
            started = await editor.command("outrider.run", {"prompt": "Hi"})
            await clock.asked.wait()
            cancelled = await editor.command("outrider.cancel", {"turnId": started["turnId"]})
            assert cancelled["outcome"] == "cancelled"
    await keep_sessions(workspace.parent / editor.options["stateDir"])


async def test_a_model_that_the_task_names_is_alone(session):
    editor, first, second, _ = session
    first.plays("openai-chat", fails(401, ERROR))
    second.plays("openai-chat", fails(401, ERROR))
    assert (await editor.run("Hi", model="second/b"))["outcome"] == "failed"
    assert (first.received, len(second.received)) == ([], 1)


async def test_a_script_is_not_asked_twice_but_falls_back(workspace):
    broken = scripted(workspace, [{"fault": {"kind": "http", "status": 503}}, {"text": "Not now."}])
    other = scripted(workspace, [{"text": "From the other."}], name="other")
    settings = {"fallbackModels": [other]}
    async with start_session("stock", workspace, broken, settings) as editor:
        assert (await editor.run("Hi"))["summary"] == "From the other."
    await keep_sessions(workspace.parent / editor.options["stateDir"])
