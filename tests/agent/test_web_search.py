"""The web search of the provider: offered where it is set and no rule closes it, shown, kept in the log, sent back, and replayed."""

import json
from io import StringIO

import pytest
from rich.console import Console

from outrider.cli.render import Renderer
from outrider.testing.scenario import embedded, start_session
from provider_server import PAGE, ProviderServer, Said

pytestmark = pytest.mark.usefixtures("replayed_at_once")
OFFERED = {
    "anthropic": {"type": "web_search_20250305"}, "openai-responses": {"type": "web_search"}, "gemini": {"googleSearch": {}},
}  # fmt: skip
BACK = {"anthropic": "ZW5j", "openai-responses": "ws_1", "gemini": "c2VhcmNo"}
"""By which a result is known that goes back."""
TURNS = (
    Said("I look.", [("call_a", "read_file", {"path": "README.md"})], searched="what is new"),
    Said("Done."),
)


async def searching(server, workspace, kind, rules=None, name="gemini-3-flash", **model):
    server.plays(kind, *TURNS)
    settings = {
        "providers": {"local": {"kind": kind, "baseUrl": server.url}},
        "testing": None,
        "reminders": False,
        "repositoryMap": {"enabled": False},
        "models": {f"local/{name}": {"toolFormat": "native", **model}},
    }
    connection = embedded(workspace)
    if rules is not None:
        rules('[[rule]]\ndecision = "deny"\ntool = "web_search"\nhost = "evil.example"\n')
    async with start_session("stock", workspace, f"local/{name}", settings, connection=connection) as editor:
        await editor.run("Look.")
    return editor, [
        received.json
        for received in server.received
        if received.json and {"stream", "contents"} & received.json.keys()
    ]


def offered(body, kind):
    return [tool for tool in body["tools"] if OFFERED[kind].items() <= tool.items()]


@pytest.mark.parametrize("kind", sorted(OFFERED))
async def test_what_the_provider_searched_for_is_shown_kept_and_sent_back(kind, workspace):
    async with ProviderServer() as server:
        editor, (first, second) = await searching(server, workspace, kind, webSearch=True)
    assert len(offered(first, kind)) == 1
    answer, last = editor.events_of("model.responded")
    title = {} if kind == "openai-responses" else {"title": PAGE["title"]}
    assert answer["data"]["searches"] == [{"query": "what is new", "pages": [{"url": PAGE["url"], **title}]}]
    assert "searches" not in last["data"]
    # The provider gets its own results back word for word.
    sent = json.dumps(second)
    assert BACK[kind] in sent
    # Google's own record of it is no part of a conversation.
    assert (PAGE["url"] in sent) is (kind != "gemini")
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


async def test_google_matches_calls_and_results_by_their_ids_beside_a_tool_of_its_own(workspace):
    async with ProviderServer() as server:
        _, (first, second) = await searching(server, workspace, "gemini", webSearch=True)
    assert first["toolConfig"] == {"includeServerSideToolInvocations": True}
    parts = [part for content in second["contents"] for part in content["parts"]]
    called, answered = (
        [part[key] for part in parts if key in part] for key in ("functionCall", "functionResponse")
    )
    assert [one["id"] for one in called] == [one["id"] for one in answered] != []
    kinds = [next(key for key in part if key != "thoughtSignature") for part in parts]
    assert kinds.index("toolCall") < kinds.index("toolResponse") < kinds.index("functionCall")


@pytest.mark.parametrize("name", ["gemini-2.5-pro", "some-model"])
async def test_a_gemini_model_that_cannot_search_beside_other_tools_says_what_can(workspace, name):
    async with ProviderServer() as server:
        editor, (first, second) = await searching(server, workspace, "gemini", name=name, webSearch=True)
    for body in (first, second):
        assert "toolConfig" not in body
        assert offered(body, "gemini") == []
        assert "toolCall" not in json.dumps(body)  # nor does what another model searched go along
    said = " ".join(one.text for one in editor.said)
    assert f"models.local/{name}.webSearch: Google searches beside other tools from Gemini 3 on" in said
    assert "set `web`" in said
