"""A session in one file: whole, without what is private, and of one piece with its contents."""

import json
import sqlite3
import string
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripting import DONE, FIX, call, step

from outrider.agent.service.export import redacted
from outrider.permissions.secrets.redaction import Private
from outrider.ports.events import LoggedEvent
from outrider.ports.events import messages_of as named_messages
from outrider.ports.model import Message, ProviderData, ToolCall
from outrider.store.exported import contents_named, encode_content, hash_of, parse_export
from outrider.testing.editor.wire_client import RpcError
from outrider.testing.scenario import embedded, scripted, start_session
from outrider_protocol.export import Export

KEY = "planted-3141592653"
TOKEN = "ghp_" + "aB3dE6gH9" * 4
PEM_LINE = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
PEM = f"-----BEGIN PRIVATE KEY-----\n{PEM_LINE}\n-----END PRIVATE KEY-----\n"


def whole(exported):
    """The export as the file would give it back, checked in every way."""
    export = parse_export(json.dumps(exported).encode())
    assert isinstance(export, Export), export
    named = {one.hash for event in export.events for one in contents_named(event)}
    assert named == set(export.contents)
    return export


def messages_of(export):
    """The conversation of the last request."""
    (*_, last) = (event for event in export.events if event.type == "model.requested")
    return [
        Message.decode(encode_content(export.contents[digest]))
        for digest in named_messages(last, lambda seq: export.events[seq - 1])
    ]


async def test_an_export_is_the_log_and_every_content_it_names(begin, workspace):
    editor = await begin(
        "stock",
        [step(call("read_file", path="tariff.py", called="look"), text="I look."), step(FIX), DONE],
        answers=["Allow once"],
    )
    await editor.run("Correct the price.")
    export = whole(await editor.command("outrider.export", {"sessionId": editor.session_id}))
    assert export.session_id == editor.session_id
    assert [(event.seq, event.type) for event in export.events] == [
        (event["seq"], event["type"]) for event in editor.events
    ]
    before = (workspace / "tariff.py").read_text().replace("* 2", "* 3")
    assert {before, before.replace("* 3", "* 2")} <= set(export.contents.values())
    (finished, *_) = (event.data for event in export.events if event.type == "tool.finished")
    assert export.contents[finished["read"][0]["hash"]] == before
    tools = next(event.data for event in export.events if event.type == "model.requested")
    assert "edit_file" in [tool["name"] for tool in json.loads(export.contents[tools["toolsHash"]])]


async def test_a_conversation_can_be_put_together_from_the_events_of_an_export(begin, workspace):
    (workspace / "deploy.env").write_text(f"TOKEN={TOKEN}\nROOT={workspace}\n")
    editor = await begin(
        "stock",
        [
            step(call("read_file", path=str(workspace / "deploy.env"), called="look"), text=f"{workspace}!"),
            step(call("write_file", path="copy.env", content=f"TOKEN={TOKEN}\n", called="copy")),
            DONE,
        ],
        answers=["Allow once"],
    )
    await editor.run(f"Copy {TOKEN} in {workspace}.")
    export = whole(await editor.command("outrider.export", {"sessionId": editor.session_id}))
    told = [
        message
        for event in export.events
        for message in (
            [
                Message(
                    "assistant",
                    event.data["text"],
                    tuple(ToolCall(c["id"], c["name"], c["arguments"]) for c in event.data["toolCalls"]),
                )
            ]
            if event.type == "model.responded"
            else [Message("tool", event.data["content"], tool_call_id=event.data["callId"])]
            if event.type == "tool.finished"
            else []
        )
    ]
    assert messages_of(export)[2:] == told[:-1]
    assert "Copy [secret 1] in /workspace." in messages_of(export)[1].text
    assert "TOKEN=[secret 1]\nROOT=[secret 2]\n" in export.contents.values()
    (asked,) = (e.data for e in export.events if e.type == "tool.requested" and e.data["callId"] == "copy")
    assert asked["input"] == {"path": "copy.env", "content": "TOKEN=[secret 1]\n"}


async def test_nothing_private_is_in_an_export(workspace):
    env = {"MODEL_AUTH": KEY, "SHOP_PASSWORD": "open-sesame-99", "USER": "adelaide"}
    home = workspace.parent / "workspace.home"
    (workspace / "key.pem").write_text(PEM)
    show = f"cat key.pem; echo {KEY} open-sesame-99 {TOKEN} {home}/x {workspace.as_uri()} adelaide"
    provider = {"kind": "openai-chat", "baseUrl": "http://127.0.0.1:9/v1", "apiKeyEnv": "MODEL_AUTH"}
    model = scripted(workspace, [step(call("run_command", command=show)), DONE])
    options = {"permissionMode": "full", "providers": {"my": provider}}
    async with start_session(
        # A command that names a file with keys wants a yes in every mode.
        "stock",
        workspace,
        model,
        options,
        connection=embedded(workspace, env=env),
        answers=["Allow once"],
    ) as editor:
        await editor.run(f"Run it for adelaide: Authorization: Bearer {KEY}")
        exported = await editor.command("outrider.export", {"sessionId": editor.session_id})
    text = json.dumps(exported)
    for secret in (KEY, "open-sesame-99", TOKEN, str(home), str(workspace), "adelaide", PEM_LINE):
        assert secret not in text
    export = whole(exported)
    assert export.events[0].data["folders"] == ["file:///workspace"]
    (finished,) = (event.data for event in export.events if event.type == "tool.finished")
    assert finished["content"].count("[secret ") == 4
    assert "/home/user/x file:///workspace [user]" in finished["content"]
    assert set(export.removed) == {
        "folder of the machine", "home folder", "key of the environment", "name", "token", "workspace folder",
    }  # fmt: skip


@pytest.mark.parametrize("line", ['one = connect("{}")', "one: two={}", "{}"])
async def test_what_was_a_secret_anywhere_in_the_session_is_one_in_every_text(begin, workspace, line):
    """The task gives it away by a word beside it; in the file nothing does, and of the task only the placeholder is left."""
    secret = "k9Jd7Hs2Lq8Xw4Zr1Tn6Vb3Mc5Py0Fg8Ea7RuIoP"
    (workspace / "conf.txt").write_text(f"NAME = 1\n{line.format(secret)}\n")
    calls = [
        call("read_file", path="conf.txt"),
        call("edit_file", path="conf.txt", old="NAME = 1", new="NAME = 2"),
    ]
    editor = await begin("stock", [*map(step, calls), DONE], answers=lambda _: "Allow once")
    await editor.run(f"Please use the key {secret} for it")
    await editor.stop()
    another = await begin("stock", [DONE])
    exported = await another.command("outrider.export", {"sessionId": editor.session_id})
    assert secret not in json.dumps(exported)
    texts = [text for text in whole(exported).contents.values() if text.startswith("NAME")]
    assert texts == [f"NAME = {number}\n{line.format('[secret 1]')}\n" for number in (1, 2)]


async def test_a_session_of_the_log_and_one_of_another_process_are_exported(begin, workspace):
    first = await begin("stock", [DONE])
    await first.run("First.")
    second = await begin("stock", [DONE])
    other = whole(await second.command("outrider.export", {"sessionId": first.session_id}))
    assert [event.seq for event in other.events] == [event["seq"] for event in first.events]
    await first.stop()
    rested = whole(await second.command("outrider.export", {"sessionId": first.session_id}))
    assert rested.events[-1].type == "session.closed"
    assert (await second.command("outrider.status"))["sessions"] == []


async def test_a_session_that_is_not_there_cannot_be_exported(begin):
    editor = await begin("stock", [DONE])
    with pytest.raises(RpcError, match="there is no session 'ses_none'") as failed:
        await editor.command("outrider.export", {"sessionId": "ses_none"})
    assert failed.value.data["reason"] == "unknown_id"


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        ("DELETE FROM blobs", "cannot be exported: a message, [0-9a-f]{32}, is missing"),
        ("UPDATE blobs SET content = 'x'", "outrider-2.sqlite3 is damaged"),
        ("UPDATE blobs SET content = (SELECT content FROM blobs LIMIT 1)", "is not what was stored"),
        ("UPDATE events SET data = 'x' WHERE seq = 3", "outrider-2.sqlite3 is damaged"),
        ("DELETE FROM events WHERE seq = 3", "events are missing"),
    ],
)
async def test_a_log_that_is_not_whole_gives_no_half_export(workspace, harm, words):
    model = scripted(workspace, [step(FIX), DONE])
    async with start_session("stock", workspace, model, answers=["Allow once"]) as editor:
        await editor.run("Correct the price.")
        with (
            closing(sqlite3.connect(workspace.parent / "workspace.state" / "outrider-2.sqlite3")) as log,
            log,
        ):
            log.execute(harm)
        with pytest.raises(RpcError, match=words) as failed:
            await editor.command("outrider.export", {"sessionId": editor.session_id})
    assert failed.value.data["reason"] == "store_failed"


def test_keys_and_values_of_the_context_are_clean():
    diagnostics = [{"uri": f"file://{ROOT}/a.py", "items": [{"data": {KEY: [TOKEN]}, "message": KEY}]}]
    data = {
        "prompt": "Go",
        "mode": "agent",
        "model": "m",
        "context": {"documents": [], "diagnostics": diagnostics},
    }
    started = {"folders": [f"file://{ROOT}"], "permissionMode": "ask", "version": "0"}
    logged = [
        LoggedEvent(1, "2026-01-01T00:00:00.000Z", "ses_1", None, "session.started", started),
        LoggedEvent(2, "2026-01-01T00:00:00.000Z", "ses_1", "turn_1", "turn.started", data),
    ]
    export = whole(redacted(logged, {}, HERE, "0").to_wire())
    assert export.events[1].data["context"] == {
        "documents": [],
        "diagnostics": [
            {
                "uri": "file:///workspace/a.py",
                "items": [{"data": {"[secret 1]": ["[secret 2]"]}, "message": "[secret 1]"}],
            }
        ],
    }


HOME, ROOT = "/home/adelaide", "/srv/work/shop"
HERE = Private(frozenset({KEY}), (HOME,), (("shop", (ROOT,)),), user="adelaide", host="calc-7")
PLANTED = [KEY, TOKEN, PEM, f"file://{ROOT}/a.py", f"{HOME}/x", ROOT, "adelaide", "x8Kq2mZ7pR4tW9vB"]
GONE = [KEY, TOKEN, PEM_LINE, HOME, ROOT, "x8Kq2mZ7pR4tW9vB"]
SPACE = st.text(" \n\t\"'(){},;\\\ud800é" + string.ascii_lowercase, max_size=12).map(lambda text: f" {text} ")
TEXT = st.lists(st.sampled_from(PLANTED) | SPACE | st.just(" password='x8Kq2mZ7pR4tW9vB' "), max_size=5).map(
    " ".join
)
ARGUMENTS = st.dictionaries(TEXT, TEXT, max_size=2).map(json.dumps) | TEXT


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(TEXT, ARGUMENTS, TEXT, TEXT, TEXT), min_size=1, max_size=3))
def test_whatever_is_in_a_session_its_export_is_clean_and_of_one_piece(steps):
    first = export_of([(f"password='x8Kq2mZ7pR4tW9vB' {said}", *rest) for said, *rest in steps])
    file = json.dumps(first.to_wire(), ensure_ascii=False)
    for secret in GONE:
        assert secret not in file
    whole(first.to_wire())
    for event in first.events:
        if event.type == "tool.requested" and isinstance(event.data["input"], dict):
            assert json.loads(event.data["input"]["given"]) is not None
    second = redacted(
        [
            LoggedEvent(e.seq, e.ts, e.session_id, e.turn_id, e.type, json.loads(json.dumps(e.data)))
            for e in first.events
        ],
        {(one.hash, one.kind): first.contents[one.hash] for e in first.events for one in contents_named(e)},
        HERE,
        "0",
    )
    assert second.events == first.events
    assert second.contents == first.contents


def export_of(steps):
    """The export of a session in which each step says, calls, gets a result, and changes a file."""
    events, contents = [("session.started", {"folders": [f"file://{ROOT}"]})], {}

    def kept(text, kind):
        contents[hash_of(text), kind] = text
        return hash_of(text)

    conversation = []
    for said, arguments, result, before, after in steps:
        tool_call = ToolCall(f"call_{len(events)}", "tool", arguments)
        conversation += [
            Message("assistant", said, (tool_call,), None, said, ProviderData("p/m", arguments)),
            Message("tool", result, tool_call_id=tool_call.id),
        ]
        call_data = {"id": tool_call.id, "name": "tool", "arguments": arguments}
        edit = {"changeId": "chg", "path": "a", "hunks": [{"line": 1, "removed": before, "added": after}]}
        events += [
            (
                "model.responded",
                {
                    "messageId": "m",
                    "text": said,
                    "toolCalls": [call_data],
                    "finishReason": "stop",
                    "providerData": {"model": "p/m", "blocks": arguments},
                },
            ),
            ("tool.requested", {"callId": tool_call.id, "name": "tool", "input": arguments}),
            (
                "edit.applied",
                edit | {"before": kept(before, "text"), "after": kept(after, "text"), "where": "disk"},
            ),
            (
                "tool.finished",
                {
                    "callId": tool_call.id,
                    "name": "tool",
                    "status": "ok",
                    "content": result,
                    "read": [{"path": before, "hash": kept(result, "text")}],
                },
            ),
            (
                "model.requested",
                {
                    "purpose": "main",
                    "messageId": "m",
                    "model": "m",
                    "messages": [
                        kept(m.encoded.decode("utf-8", "surrogatepass"), "message") for m in conversation
                    ],
                    "tools": [],
                    "toolsHash": kept("[]", "tools"),
                },
            ),
        ]
    events[0][1].update(permissionMode="ask", version="0")
    logged = [
        LoggedEvent(seq, "2026-01-01T00:00:00.000Z", "ses_1", None, type_, data)
        for seq, (type_, data) in enumerate(events, 1)
    ]
    return redacted(logged, contents, HERE, "0")
