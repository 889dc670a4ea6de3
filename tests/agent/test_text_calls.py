"""A model without tools works like any other: its calls are text, and nobody but the log can tell."""

import asyncio
import json
import os
import re
from contextlib import AsyncExitStack

import pytest

from outrider.models.http.chat_servers import ChatServer
from outrider.models.text_tools import FORMATS, Call
from outrider.models.text_tools.formats import _MARKS
from outrider.testing.scenario import embedded, scripted, start_session
from provider_server import ProviderServer, Said, fails, pauses, tells
from replayed import keep_sessions

REFUSAL = fails(400, {"error": {"message": "registry.example/tiny does not support tools"}})
READ = ("call_a", "read_file", {"path": "README.md"})
LIST = ("call_b", "list_files", {"path": "."})


def written(call):
    """A call as a model of the Hermes family writes it."""
    _, name, arguments = call
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


@pytest.fixture
async def begin(workspace):
    """Starts sessions with a provider each, whose answers are to be filled in: `await begin(**settings)`."""
    started = []
    async with AsyncExitStack() as stack:

        async def start(kind="openai-chat", model="my/tiny", **settings):
            server = await stack.enter_async_context(ProviderServer())
            url = server.url if kind != "ollama" else server.url.removesuffix("/v1")
            given = {"providers": {"my": {"kind": kind, "baseUrl": url}}, **settings}
            editor = await stack.enter_async_context(
                start_session("stock", workspace, model, given, connection=embedded(workspace))
            )
            started.append(editor)
            return editor, server

        yield start
        for editor in started:
            await keep_sessions(workspace.parent / editor.options["stateDir"])


def data_of(editor, kind):
    return [event["data"] for event in editor.events_of(kind)]


def story(editor):
    """The events of a session without what differs by run: ids, hashes of messages that hold ids, times."""
    names = {}

    def named(match):
        kind = match[0].partition("_")[0]
        return names.setdefault(match[0], f"{kind}_{len(names)}")

    told = []
    for event in editor.events:
        data = {
            key: value
            for key, value in event["data"].items()
            if key not in ("messages", "latency", "usage", "tokens", "toolFormat")
        }
        told.append(re.sub(r"\b(msg|call|turn|ses)_\w+", named, json.dumps([event["type"], data])))
    return told


async def test_native_and_text_calls_give_the_same_events(begin, workspace):
    (workspace / "README.md").write_text("Hello.\n")
    editor, server = await begin()
    server.plays("openai-chat", Said("I look.", calls=[READ, LIST]), Said("There it is."))
    assert (await editor.run("Look."))["summary"] == "There it is."
    other, tiny = await begin(models={"my/tiny": {"toolFormat": "hermes"}})
    tiny.plays("openai-chat", Said(f"I look.\n{written(READ)}\n{written(LIST)}"), Said("There it is."))
    assert (await other.run("Look."))["summary"] == "There it is."
    assert story(editor) == story(other)
    assert [request.get("toolFormat") for request in data_of(other, "model.requested")] == ["hermes"] * 2
    first, second = tiny.bodies
    assert "tools" not in first
    assert "<tool_call>" in first["messages"][0]["content"]
    assert {message["role"] for message in second["messages"]} == {"system", "user", "assistant"}
    assert "".join(frame["text"] for frame in other.frames) == "I look.There it is."


async def test_a_model_that_refuses_tools_gets_them_as_text_for_the_rest_of_the_session(begin, workspace):
    (workspace / "README.md").write_text("Hello.\n")
    editor, server = await begin(model="my/qwen2.5")
    server.plays("openai-chat", REFUSAL, Said(written(READ)), Said("Done."), Said("Again."))
    assert (await editor.run("Look."))["outcome"] == "completed"
    (switched,) = data_of(editor, "model.switched")
    assert (switched["model"], switched["toolFormat"], switched["reason"]) == (
        "my/qwen2.5",
        "hermes",
        "no_tools",
    )
    await editor.run("And again.", sessionId=editor.session_id)
    assert ["tools" in body for body in server.bodies] == [True, False, False, False]
    assert len(data_of(editor, "model.switched")) == 1


async def test_a_server_that_tells_beforehand_is_not_asked_with_tools(begin):
    editor, server = await begin("ollama")
    server.known["/api/show"] = tells(
        {"capabilities": ["completion"], "model_info": {"x.context_length": 4096}}
    )
    server.plays("ollama", Said("Hello."))
    assert (await editor.run("Hi"))["summary"] == "Hello."
    assert [switched["toolFormat"] for switched in data_of(editor, "model.switched")] == ["outrider"]
    (body,) = server.bodies
    assert "tools" not in body
    assert body["options"]["num_ctx"] == 4096


async def test_what_was_learned_holds_after_a_restart(begin, workspace):
    editor, server = await begin()
    server.plays("openai-chat", REFUSAL, Said("Done."))
    await editor.run("Hi")
    settings = editor.options
    await editor.stop()
    given = {key: settings[key] for key in ("providers", "stateDir")}
    async with start_session("stock", workspace, "my/tiny", given, connection=embedded(workspace)) as later:
        server.plays("openai-chat", Said("Again."))
        assert (await later.run("Hi", sessionId=editor.session_id))["summary"] == "Again."
    assert "tools" not in server.bodies[-1]


async def test_other_failures_change_nothing(begin):
    editor, server = await begin()
    server.plays("openai-chat", fails(400, {"error": {"message": "no luck"}}))
    assert (await editor.run("Hi"))["outcome"] == "failed"
    assert data_of(editor, "model.switched") == []
    assert len(server.bodies) == 1


THOUGHT = "They want `ls`.\n\nSo look."


@pytest.mark.parametrize(
    ("kind", "settings"),
    [("openai-chat", {}), ("ollama", {}), ("openai-chat", {"models": {"my/tiny": {"toolFormat": "hermes"}}})],
    ids=["chat", "ollama", "text calls"],
)
async def test_thoughts_that_began_in_the_prompt_are_taken_back_and_are_no_answer(begin, kind, settings):
    editor, server = await begin(kind, **settings)
    server.known["/api/show"] = fails(404)

    async def shown():
        await editor.wait_for(lambda: editor.frames, "text")

    first = pauses(kind, Said(f"{THOUGHT}\n</think>\n\nHello."), 6, shown)
    server.plays(kind, first, Said("Hm.</think>Again."), Said("At once."))
    assert (await editor.run("Hi"))["summary"] == "Hello."
    (reset,) = data_of(editor, "model.reset")
    assert reset["text"].startswith(THOUGHT[:9])
    assert (reset["reason"], THOUGHT.startswith(reset["text"].strip())) == ("read_anew", True)
    (answer,) = data_of(editor, "model.responded")
    assert (answer["text"], answer["reasoning"]) == ("Hello.", THOUGHT)
    shown = [(frame["kind"], frame["text"]) for frame in editor.frames]
    assert ("reasoning", THOUGHT) in shown
    # The next answer is taken for a thought from its beginning on, and one that never ends for none.
    assert (await editor.run("Hi", sessionId=editor.session_id))["summary"] == "Again."
    assert len(data_of(editor, "model.reset")) == 1
    assert (await editor.run("Hi", sessionId=editor.session_id))["summary"] == "At once."
    assert data_of(editor, "model.responded")[-1].get("reasoning") is None
    assert "think" not in json.dumps(server.bodies[-1]["messages"][1:])


@pytest.mark.parametrize(
    ("leaves", "said"), [(True, "as you see."), (False, "It ends with\n</think>\nas you see.")]
)
async def test_thoughts_are_looked_for_where_a_server_may_leave_them_in_the_text(
    leaves, said, begin, monkeypatch
):
    server = ChatServer(thoughts_in_text=leaves)
    monkeypatch.setattr("outrider.models.dialects.http_model.chat_server", lambda _: server)
    editor, provider = await begin()
    provider.plays("openai-chat", Said("It ends with\n</think>\nas you see."))
    assert (await editor.run("How?"))["summary"] == said


async def test_the_prompt_of_a_model_without_tools_is_what_it_is_sent(begin, workspace):
    (workspace / "README.md").write_text("Hello.\n")
    editor, server = await begin(models={"my/tiny": {"toolFormat": "hermes", "editFormat": "replace"}})
    server.plays("openai-chat", Said(f"I look.\n{written(READ)}"), Said("There it is."))
    await editor.run("Look.")
    shown = await editor.command("outrider.prompt", {"sessionId": editor.session_id})
    assert (shown["toolFormat"], shown["model"]) == ("hermes", "my/tiny")
    *sent, answer = shown["messages"]
    assert [(one["role"], one["text"]) for one in sent] == [
        (one["role"], one["content"]) for one in server.bodies[-1]["messages"]
    ]
    assert answer["text"] == "There it is."
    assert not any("toolCalls" in one for one in sent)
    kinds = [section["kind"] for section in shown["sections"]]
    assert (kinds.count("tools"), sent[0]["sections"][-1]["kind"]) == (1, "tools")
    assert sum(section["tokens"] for section in shown["sections"]) == pytest.approx(shown["tokens"], rel=0.2)
    assert {tool["name"] for tool in shown["tools"]}.isdisjoint({"apply_patch"})


async def test_thoughts_in_the_text_of_a_model_with_tools_are_no_answer(begin, workspace):
    (workspace / "README.md").write_text("Hello.\n")
    editor, server = await begin()
    server.plays(
        "openai-chat", Said("<think>\nHm.\n</think>\n\nI look.", calls=[READ]), Said("<think></think>Done.")
    )
    assert (await editor.run("Look."))["summary"] == "Done."
    answers = data_of(editor, "model.responded")
    assert [(one["text"], one.get("reasoning")) for one in answers] == [("I look.", "Hm.\n"), ("Done.", None)]
    assert data_of(editor, "model.reset") == []


async def test_a_server_that_tells_thoughts_apart_is_believed(begin):
    editor, server = await begin()
    server.plays("openai-chat", Said("It ends with\n</think>\nas you see.", reasoning="Hm."))
    assert (await editor.run("How?"))["summary"] == "It ends with\n</think>\nas you see."
    assert data_of(editor, "model.responded")[0]["reasoning"] == "Hm."


@pytest.mark.parametrize(
    ("form", "lacks"),
    [
        ("replace", {"apply_patch"}),
        ("patch", {"edit_file", "insert_lines"}),
        ("whole", {"edit_file", "insert_lines", "apply_patch"}),
        (None, set()),
    ],
)
async def test_tools_for_edits_are_those_that_suit_the_model(form, lacks, begin):
    editor, server = await begin(models={"my/tiny": {"editFormat": form}} if form else {})
    server.plays("openai-chat", Said("Hello."))
    await editor.run("Hi")
    offered = {tool["function"]["name"] for tool in server.bodies[0]["tools"]}
    assert {"edit_file", "insert_lines", "apply_patch", "write_file"} - offered == lacks
    (requested,) = data_of(editor, "model.requested")
    assert set(requested["tools"]) == offered
    assert requested.get("editFormat") == form


async def test_a_window_that_only_the_server_knows_counts_from_the_next_turn(begin):
    editor, server = await begin()
    asked = asyncio.Event()
    entry = {"id": "tiny", "max_model_len": 20_000}

    async def models(connection):
        await tells({"data": [entry]})(connection)
        asked.set()

    server.known["/models"] = models
    server.plays("openai-chat", Said("Hello."), Said("Again."))
    await editor.run("Hi")
    await asyncio.wait_for(asked.wait(), 10)
    await editor.run("Hi", sessionId=editor.session_id)
    assert [request["contextWindow"] for request in data_of(editor, "model.requested")] == [128_000, 20_000]


@pytest.mark.parametrize(
    ("given", "sent"), [({"maxTokens": 50}, 50), ({}, None)], ids=["set", "only told by the server"]
)
async def test_the_length_of_an_answer_is_asked_for_only_where_it_is_set(given, sent, begin):
    editor, server = await begin(models={"my/tiny": given})
    server.known["/models"] = tells({"data": [{"id": "tiny", "max_tokens": 99}]})
    server.plays("openai-chat", Said("Hello."), Said("Again."))
    await editor.run("Hi")
    await editor.run("Hi", sessionId=editor.session_id)
    assert [body.get("max_tokens") for body in server.bodies] == [sent, sent]


@pytest.mark.parametrize("form", ["native", "hermes"])
async def test_a_call_of_several_at_once_runs_them(form, begin):
    uses = [{"recipient_name": f"functions.{name}", "parameters": given} for _, name, given in (READ, LIST)]
    asked = ("call_a", "multi_tool_use.parallel", {"tool_uses": uses})
    editor, server = await begin(models={"my/tiny": {"toolFormat": form}})
    said = Said(calls=[asked]) if form == "native" else Said(written(asked))
    server.plays("openai-chat", said, Said("Done."))
    assert (await editor.run("Look"))["outcome"] == "completed"
    done = [(one["name"], one["status"]) for one in data_of(editor, "tool.finished")]
    assert done == [("read_file", "ok"), ("list_files", "ok")]


SHOWN = written(("c", "list_files", {"path": "."}))


def calls_in(form):
    return FORMATS[form].write([Call("list_files", {"path": "."})])


@pytest.mark.parametrize("form", sorted(_MARKS.keys() - {"outrider", "llama3-json", "llama4-pythonic"}))
@pytest.mark.parametrize("refuses", [True, False], ids=["told of our own format", "handed on by the server"])
async def test_a_call_in_a_format_that_nobody_read_switches_to_that_format(form, refuses, begin):
    editor, server = await begin()
    unread = Said(f"I look.\n\n{calls_in(form)}")
    before = [REFUSAL] if refuses else []
    server.plays("openai-chat", *before, unread, unread, Said("There it is."), Said("Again."))
    ended = await editor.run("Look.")
    assert (ended["outcome"], ended["summary"]) == ("completed", "There it is.")
    switched = [(one["reason"], one["toolFormat"]) for one in data_of(editor, "model.switched")]
    assert switched == [("no_tools", "outrider")] * refuses + [("unread_calls", form)]
    assert [one["name"] for one in data_of(editor, "tool.finished")] == ["list_files"]
    (reset,) = data_of(editor, "model.reset")
    assert (reset["reason"], reset["text"].startswith("I look.")) == ("unread_calls", True)
    (again,) = data_of(editor, "model.retried")
    usages = [one["usage"] for one in (again, *data_of(editor, "model.responded"))]
    assert ended["usage"]["inputTokens"] == sum(one["inputTokens"] for one in usages)
    # It is remembered.
    await editor.run("And again.", sessionId=editor.session_id)
    assert ["tools" in body for body in server.bodies] == [True] + [False] * (len(server.bodies) - 1)
    assert len(data_of(editor, "model.switched")) == 1 + refuses
    assert "Set `models" not in "".join(one.text for one in editor.said)


async def test_the_likely_format_of_a_family_needs_no_marks(begin):
    editor, server = await begin(model="my/qwen2.5-coder")
    unread = Said('```json\n{"name": "list_files", "arguments": {"path": "."}}\n```')
    server.plays("openai-chat", unread, unread, Said("There it is."))
    assert (await editor.run("Look."))["summary"] == "There it is."
    assert [one["toolFormat"] for one in data_of(editor, "model.switched")] == ["bare-json"]


@pytest.mark.parametrize(
    ("text", "form", "warned"),
    [
        (f"I look.\n{SHOWN}", "native", "hermes"),
        (f"I look.\n{SHOWN}", "outrider", "hermes"),
        (f"I look.\n{calls_in('glm-xml')}", "hermes", "glm-xml"),
        ('I look.\n{"name": "list_files", "arguments": {"path": "."}}', None, "hermes"),
        (f"I look.\n{SHOWN}{' ' * 4000}", "native", None),
        (f"It is written so: `{SHOWN}`.", None, None),
        (f"It is written so:\n```\n{SHOWN}\n```", None, "json-array"),
        (f"```\n{SHOWN}\n```\nis how it is written.", None, None),
        (f"{SHOWN}\nis how it is written.", None, None),
        (f"> {SHOWN}", None, None),
        (written(("c", "no_such_tool", {})), None, None),
        ("I would call list_files.", None, None),
    ],
)
async def test_what_is_not_sure_to_be_a_call_or_whose_format_is_set_ends_the_turn(text, form, warned, begin):
    given = {"models": {"my/tiny": {"toolFormat": form}}} if form else {}
    editor, server = await begin(**given)
    for _ in range(2):
        server.plays("openai-chat", Said(text))
        assert (await editor.run("Look."))["outcome"] == "completed"
    assert data_of(editor, "model.switched") == []
    said = [one.text for one in editor.said if "was not run" in one.text]
    assert len(said) == (warned is not None)
    assert all(f'Set `models."my/tiny".toolFormat = "{warned}"`' in one for one in said)


async def test_a_model_in_the_format_of_its_family_is_switched_to_no_other_one(begin):
    editor, server = await begin(model="my/qwen2.5")
    server.plays("openai-chat", REFUSAL, Said(f"I look.\n{calls_in('glm-xml')}"))
    assert (await editor.run("Look."))["outcome"] == "completed"
    assert [one["toolFormat"] for one in data_of(editor, "model.switched")] == ["hermes"]
    assert any("in the format glm-xml" in one.text for one in editor.said)


async def test_where_a_server_read_calls_one_in_the_text_is_only_shown(begin, workspace):
    (workspace / "README.md").write_text("Hello.\n")
    editor, server = await begin()
    server.plays("openai-chat", Said("I look.", calls=[READ]), Said(f"Write it so:\n{SHOWN}"))
    assert (await editor.run("How is a call written?"))["summary"].endswith(SHOWN)
    assert data_of(editor, "model.switched") == []
    assert [one["name"] for one in data_of(editor, "tool.finished")] == ["read_file"]


async def test_a_call_that_was_cut_off_switches_nothing(begin):
    editor, server = await begin()
    server.plays("openai-chat", Said(f"I look.\n{SHOWN}", finish="length"), Said("There it is."))
    assert (await editor.run("Look."))["summary"] == "There it is."
    assert data_of(editor, "model.switched") == []


# --- the doctor ---------------------------------------------------------------------------------------------------


def tools_check(checked):
    return next((check for check in checked["checks"] if check["name"] == "tools"), None)


def model_check(checked):
    (check,) = (check for check in checked["checks"] if check["name"] == "model")
    return check["status"], check["detail"]


async def test_the_doctor_asks_no_model_unless_it_is_told_to(begin):
    editor, server = await begin()
    checked = await editor.command("outrider.doctor", {})
    assert tools_check(checked) is None
    assert model_check(checked) == (
        "ok",
        "my/tiny, 128000 tokens; not contacted; run with `--probe` to test it",
    )
    assert server.bodies == []


@pytest.mark.parametrize(
    ("provider", "says"),
    [
        (
            {"apiKeyEnv": "NO_SUCH_KEY"},
            "provider my: there is no key; set the environment variable NO_SUCH_KEY",
        ),
        (
            {"caFile": "/none.pem"},
            "provider my: cannot read the certificates of /none.pem: No such file or directory",
        ),
        ({"proxy": "odd://nowhere"}, "provider my: cannot use the proxy: "),
    ],
)
async def test_the_doctor_sees_that_a_provider_cannot_be_asked(provider, says, begin):
    my = {"kind": "openai-chat", "baseUrl": "http://127.0.0.1:1/v1", **provider}
    editor, _ = await begin(providers={"my": my})
    status, detail = model_check(await editor.command("outrider.doctor", {}))
    assert (status, detail.startswith(says)) == ("fail", True)


@pytest.mark.parametrize(
    ("settings", "status", "says"),
    [
        ({"fallbackModels": ["other/x"]}, "warn", "'other/x' names an unknown provider"),
        ({"tiers": {"small": ["other/x"]}}, "fail", "'other/x' names an unknown provider"),
        ({"fallbackModels": ["my/other"]}, "ok", "my/other"),
    ],
)
async def test_the_doctor_looks_at_every_model_that_may_be_asked(settings, status, says, begin):
    editor, _ = await begin(**settings)
    found, detail = model_check(await editor.command("outrider.doctor", {}))
    assert (found, says in detail) == (status, True)


@pytest.mark.parametrize(
    ("answers", "status", "says"),
    [
        ([Said(calls=[("c", "report_ready", {"word": "ready"})])], "ok", "in the provider's own format"),
        ([Said("I am ready.")], "warn", "it made none"),
        (
            [Said(written(("c", "report_ready", {"word": "ready"})))] * 2,
            "ok",
            'as text, in the format hermes; to use this from the start, set models."my/qwen".toolFormat = "hermes"',
        ),
        (
            [Said('[TOOL_CALLS][{"name": "report_ready", "arguments": {"word": "ready"}}]')] * 2,
            "ok",
            "in the format mistral; to use this",
        ),
        (
            [Said("Action: report_ready\nAction Input: {}")],
            "warn",
            "in the provider's own format, it wrote one in the format react: set",
        ),
        (
            [REFUSAL, Said("Action: report_ready\nAction Input: {}")],
            "warn",
            "as text, in the format hermes, it wrote one in the format react: set",
        ),
        ([fails(401, {"error": {"message": "bad key"}})], "fail", "bad key"),
        (
            [REFUSAL, Said(written(("c", "report_ready", {"word": "ready"})))],
            "ok",
            'in the format hermes; to use this from the start, set models."my/qwen".toolFormat = "hermes"',
        ),
        (
            [REFUSAL, Said("I am ready.")],
            "warn",
            "in the format hermes, it made none; another `toolFormat` may",
        ),
    ],
)
async def test_the_doctor_has_a_model_call_a_tool(answers, status, says, begin):
    editor, server = await begin(model="my/qwen")
    server.plays("openai-chat", *answers)
    checked = await editor.command("outrider.doctor", {"probe": True})
    check = tools_check(checked)
    assert check["status"] == status
    assert says in check["detail"]
    assert "not contacted" not in model_check(checked)[1]
    assert "test by Outrider's doctor" in server.bodies[0]["messages"][-1]["content"]
    assert editor.events == []


async def test_the_doctor_does_not_wonder_whether_a_script_answers(workspace):
    async with start_session("stock", workspace, scripted(workspace, [])) as editor:
        assert model_check(await editor.command("outrider.doctor", {}))[1].endswith("tokens")


@pytest.mark.parametrize(("window", "status"), [(2000, "warn"), (40_000, "ok")])
async def test_the_doctor_sees_that_no_request_fits_a_window(window, status, begin):
    editor, server = await begin(models={"my/tiny": {"contextWindow": window}})
    found, detail = model_check(await editor.command("outrider.doctor", {}))
    assert (found, "too small for any task" in detail) == (status, status == "warn")
    if status == "warn":
        said = re.search(r"alone are about (\d+) tokens, and its context window has 2000:", detail)
        assert int(said[1]) > 2000
        assert (await editor.run("Hi"))["reason"] == "window_too_small"
        assert server.bodies == []


async def test_the_doctor_has_every_model_call_a_tool(begin):
    ready = Said(calls=[("c", "report_ready", {"word": "ready"})])
    editor, server = await begin(model="my/a", fallbackModels=["my/b", "my/c", "other/x"])
    server.plays("openai-chat", ready, ready, ready)
    checked = await editor.command("outrider.doctor", {"probe": True})
    checks = [check for check in checked["checks"] if check["name"] == "tools"]
    assert [(one["status"], one["detail"].partition(":")[0]) for one in checks] == [
        ("ok", "my/a"),
        ("ok", "my/b"),
        ("ok", "my/c"),
        ("fail", "other/x"),
    ]
    assert sorted(body["model"] for body in server.bodies) == ["a", "b", "c"]


# --- what later processes know -------------------------------------------------------------------------------------


class House:
    """Servers one after the other, which all know the same provider."""

    def __init__(self, server, workspace):
        self.server, self.workspace = server, workspace
        self.file = workspace.parent / f"{workspace.name}.state" / "refused-tools.json"

    def session(self, url=None):
        given = {"providers": {"my": {"kind": "openai-chat", "baseUrl": url or self.server.url}}}
        return start_session("stock", self.workspace, "my/qwen", given, connection=embedded(self.workspace))

    async def has_tools(self, *answers, url=None):
        """Whether a later process offers the model tools beside the text, in its first request."""
        count = len(self.server.bodies)
        async with self.session(url) as editor:
            self.server.plays("openai-chat", *answers)
            assert (await editor.run("Look"))["outcome"] == "completed"
        return "tools" in self.server.bodies[count]


@pytest.fixture
async def house(workspace):
    async with ProviderServer() as server:
        house = House(server, workspace)
        assert await house.has_tools(REFUSAL, Said("Done."))
        yield house


async def test_a_later_process_knows_who_refused_tools(house):
    assert not await house.has_tools(Said("Done."))
    assert len(house.server.bodies) == 3


@pytest.mark.parametrize("year", [2020, 9000])
async def test_that_is_forgotten_after_a_while_and_no_time_to_come_is_believed(year, house):
    held = json.loads(house.file.read_text())
    held["my/qwen"]["at"] = f"{year}-01-01T00:00:00+00:00"
    house.file.write_text(json.dumps(held))
    assert await house.has_tools(Said("Done."))


async def test_another_server_of_that_name_is_asked_anew(house):
    assert await house.has_tools(Said("Done."), url=f"{house.server.url}/")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "[[",
        '{"my/qwen": 1}',
        '{"my/qwen": {"server": 1, "format": "native", "at": []}}',
        "[" * 9_999,
    ],
)
async def test_a_file_that_says_nothing_hurts_nobody(content, house):
    house.file.write_text(content)
    assert await house.has_tools(REFUSAL, Said("Done."))
    assert list(json.loads(house.file.read_text())) == ["my/qwen"]


async def test_the_doctor_tries_anew(house):
    async with house.session() as editor:
        house.server.plays("openai-chat", Said(calls=[("c", "report_ready", {"word": "ready"})]))
        check = tools_check(await editor.command("outrider.doctor", {"probe": True}))
        assert "in the provider's own format" in check["detail"]
    assert await house.has_tools(Said("Done."))


async def test_the_doctor_forgets_nothing_where_nobody_answers(house):
    async with house.session() as editor:
        house.server.plays("openai-chat", fails(401, {"error": {"message": "bad key"}}))
        assert tools_check(await editor.command("outrider.doctor", {"probe": True}))["status"] == "fail"
    assert not await house.has_tools(Said("Done."))


async def test_no_key_in_an_address_stands_in_the_file(house):
    url = f"{house.server.url}?key=sk-hidden"
    assert await house.has_tools(REFUSAL, Said("Done."), url=url)
    assert not await house.has_tools(Said("Done."), url=url)
    assert "hidden" not in house.file.read_text()


async def test_a_pipe_in_its_place_holds_nobody_up(house):
    house.file.unlink()
    os.mkfifo(house.file)
    async with asyncio.timeout(20):
        assert await house.has_tools(REFUSAL, Said("Done."))
    assert not await house.has_tools(Said("Done."))


async def test_a_write_that_fails_leaves_nothing_behind(house, caplog):
    house.file.unlink()
    house.file.mkdir()
    assert await house.has_tools(REFUSAL, Said("Done."))
    assert not list(house.file.parent.glob(".refused-*"))
    assert "cannot be written" in caplog.text
