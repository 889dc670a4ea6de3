"""The web search of the provider: offered where it is set and no rule closes it, shown, kept in the log, sent back, and replayed."""

import json
from io import StringIO

import pytest
from rich.console import Console

from outrider.cli.render import Renderer
from outrider.testing.scenario import embedded, start_session
from provider_server import PAGE, ProviderServer, Said

pytestmark = pytest.mark.usefixtures("replayed_at_once")
OFFERED = {"anthropic": "web_search_20250305", "openai-responses": "web_search"}
TURNS = (
    Said("I look.", [("call_a", "read_file", {"path": "README.md"})], searched="what is new"),
    Said("Done."),
)


async def searching(server, workspace, kind, rules=None, **model):
    server.plays(kind, *TURNS)
    settings = {
        "providers": {"local": {"kind": kind, "baseUrl": server.url}},
        "testing": None,
        "reminders": False,
        "repositoryMap": {"enabled": False},
        "models": {"local/some-model": {"toolFormat": "native", **model}},
    }
    connection = embedded(workspace)
    if rules is not None:
        rules('[[rule]]\ndecision = "deny"\ntool = "web_search"\nhost = "evil.example"\n')
    async with start_session(
        "stock", workspace, "local/some-model", settings, connection=connection
    ) as editor:
        await editor.run("Look.")
    return editor, [
        received.json for received in server.received if received.json and "stream" in received.json
    ]


def offered(body, kind):
    return [tool["type"] for tool in body["tools"] if tool.get("type") == OFFERED[kind]]


@pytest.mark.parametrize("kind", sorted(OFFERED))
async def test_what_the_provider_searched_for_is_shown_kept_and_sent_back(kind, workspace):
    async with ProviderServer() as server:
        editor, (first, second) = await searching(server, workspace, kind, webSearch=True)
    assert offered(first, kind) == [OFFERED[kind]]
    answer, last = editor.events_of("model.responded")
    title = {"title": PAGE["title"]} if kind == "anthropic" else {}
    assert answer["data"]["searches"] == [{"query": "what is new", "pages": [{"url": PAGE["url"], **title}]}]
    assert "searches" not in last["data"]
    # The provider gets its own results back word for word.
    sent = json.dumps(second)
    assert ("ZW5j" if kind == "anthropic" else "ws_1") in sent
    assert PAGE["url"] in sent
    out = StringIO()
    shown = Renderer(Console(file=out, width=200))
    for event in editor.events:
        shown.event(event)
    assert f"searched the web for “what is new”: {PAGE['url']}" in out.getvalue()


@pytest.mark.parametrize("kind", sorted(OFFERED))
async def test_there_is_no_search_unless_it_is_set_or_where_a_rule_closes_it(kind, workspace, rules):
    async with ProviderServer() as server:
        _, (first, _) = await searching(server, workspace, kind)
    assert offered(first, kind) == []
    async with ProviderServer() as server:
        # The provider chooses the pages: what may not reach one host has no search at all.
        _, (first, _) = await searching(server, workspace, kind, rules, webSearch=True)
    assert offered(first, kind) == []
