"""Secrets through the front door: what the model, the log and the client get, and what comes back in edits."""

import asyncio
import base64
import json
import sqlite3
import zlib
from contextlib import closing
from urllib.parse import quote

import pytest
from scripting import DONE, call, result, results, step

from outrider.replay.play import Replayed, play
from outrider.testing.editor.answers import Never
from outrider.testing.scenario import embedded, scripted, start_session
from outrider_protocol.export import Export
from provider_server import ProviderServer, Said, fails
from replayed import keep_sessions

KEY = "planted/key+of=ada-lovelace"
TOKEN = "ghp_" + "aB3dE6gH9" * 4
OTHER = "ghp_" + "zY9xW8vU7" * 4
FORMS = (KEY, quote(KEY, safe=""), base64.b64encode(KEY.encode()).decode().rstrip("="), TOKEN)
CONFIG = f'NAME = "shop"\nTOKEN = "{TOKEN}"\nEND = 1\n'
FULL = {"permissionMode": "full"}


def config_of(workspace):
    return workspace / "config.py"


@pytest.fixture
def config(workspace):
    path = config_of(workspace)
    path.write_text(CONFIG)
    return path


def log_of(state_dir):
    """The texts of the events, and of the messages, in a log."""
    with closing(sqlite3.connect(state_dir / "outrider-2.sqlite3")) as log:
        events = [data for (data,) in log.execute("SELECT data FROM events")]
        blobs = [zlib.decompress(body).decode() for (body,) in log.execute("SELECT content FROM blobs")]
    return events, [blob for blob in blobs if blob.startswith('{"') and '"role"' in blob]


async def test_a_planted_key_is_in_no_event_request_frame_export_or_log(workspace, config, capfd):
    (workspace / "keys.txt").write_text("".join(f"{form}\n" for form in FORMS))
    (workspace / "show.sh").write_text(
        f"head -c 7 keys.txt; sleep 0.05; tail -c +8 keys.txt; sed -i s/shop/store/ config.py; echo '{KEY}' >&2; exit 3\n"
    )
    calls = [
        [("read", "read_file", {"path": "config.py"})],
        [("show", "run_command", {"command": "bash show.sh"})],
        [("find", "search", {"pattern": "ghp_|planted"})],
        [("edit", "edit_file", {"path": "config.py", "old": "END = 1", "new": "END = 2"})],
        [
            (
                "swap",
                "edit_file",
                {"path": "config.py", "old": 'TOKEN = "[secret 1]"', "new": 'KEY = "[secret 1]"'},
            )
        ],
    ]
    async with ProviderServer() as server:
        server.plays("openai-chat", *(Said("", one) for one in calls), Said("Done."))
        provider = {"kind": "openai-chat", "baseUrl": server.url, "apiKeyEnv": "MODEL_AUTH"}
        options = {"providers": {"local": provider}, "testing": None, "reminders": False, **FULL}
        env = {"PATH": "/usr/bin:/bin", "MODEL_AUTH": KEY}
        async with start_session(
            "stock", workspace, "local/some-model", options, connection=embedded(workspace, env=env)
        ) as editor:
            ended = await editor.run("Look around")
            assert ended["outcome"] == "completed"
            exported = await editor.command("outrider.export", {"sessionId": editor.session_id})
        state_dir = workspace.parent / editor.options["stateDir"]
        requests = [received.body.decode() for received in server.received]
    assert len(requests) == len(calls) + 1
    given = results(editor)
    assert {status for status, _ in given.values()} == {"ok", "error"}
    assert given["swap"][0] == given["edit"][0] == "ok"
    assert config.read_text() == CONFIG.replace("shop", "store").replace("END = 1", "END = 2").replace(
        "TOKEN =", "KEY ="
    )
    frames = "".join(frame["text"] for frame in editor.frames if frame["kind"] == "output")
    assert frames.count("[secret ") >= 5
    events, messages = log_of(state_dir)
    assert any("[secret 1]" in event for event in events)
    assert any(event["data"].get("masked") for event in editor.events_of("tool.finished"))
    changed = editor.events_of("workspace.changed")
    assert changed
    heard = [str(traffic) for traffic in editor.messages]
    places = {
        "events": events,
        "messages": messages,
        "requests": requests,
        "frames": [frames],
        "wire": heard,
        "export": [json.dumps(exported)],
        "log": list(capfd.readouterr()),
    }
    for place, texts in places.items():
        for form in FORMS:
            assert not any(form in text for text in texts), (place, form)
    await keep_sessions(state_dir)
    # In an export the exact texts have the numbers that the events have, so that it can be replayed as well.
    replayed = await play(Export.from_wire(json.loads(json.dumps(exported))))
    assert isinstance(replayed, Replayed)
    assert replayed.difference is None
    token = next(event for event in editor.events_of("edit.applied") if event["data"]["callId"] == "swap")
    assert 'KEY = "[secret 1]"' in exported["contents"][_renamed(exported, token)]


def _renamed(exported, event):
    (same,) = [one for one in exported["events"] if one["seq"] == event["seq"]]
    return same["data"]["after"]


async def test_a_key_in_the_words_of_a_provider_stays_out(workspace):
    async with ProviderServer() as server:
        server.answers = [fails(401, {"error": {"message": f"Incorrect API key provided: {KEY}"}})] * 3
        provider = {"kind": "openai-chat", "baseUrl": server.url, "apiKeyEnv": "MODEL_AUTH"}
        options = {"providers": {"local": provider}, "testing": None}
        connection = embedded(workspace, env={"PATH": "/usr/bin:/bin", "MODEL_AUTH": KEY})
        async with start_session("stock", workspace, "local/m", options, connection=connection) as editor:
            assert (await editor.run("Look around"))["outcome"] == "failed"
    assert KEY not in json.dumps(editor.events)
    assert KEY not in str(editor.messages)


@pytest.mark.parametrize(
    ("name", "text"),
    [("Authorization", "Bearer {}"), ("X-Api-Key", "{}"), ("x-gateway-token", "{}"), ("Cookie", "sid={}")],
)
async def test_a_key_in_a_header_of_the_settings_stays_out(workspace, name, text):
    header = text.format("gateway-key-of-lovelace")
    secret = header.split()[-1]
    (workspace / "notes.txt").write_text(f"It is {secret}\n")
    async with ProviderServer() as server:
        server.plays("openai-chat", Said("", [("read", "read_file", {"path": "notes.txt"})]))
        server.answers.append(fails(401, {"error": {"message": f"What is {secret}?"}}))
        headers = {name: header, "X-Title": "lovelace-editor"}
        provider = {"kind": "openai-chat", "baseUrl": server.url, "headers": headers}
        options = {"providers": {"local": provider}, "testing": None}
        async with start_session("stock", workspace, "local/m", options) as editor:
            assert (await editor.run("Read the notes of lovelace-editor"))["outcome"] == "failed"
            exported = await editor.command("outrider.export", {"sessionId": editor.session_id})
        assert server.received[-1].headers[name.lower()] == header
    assert "It is [secret 1]" in result(editor)[1]
    assert "lovelace-editor" in json.dumps(editor.events)
    for texts in (editor.events, exported, [one.body.decode() for one in server.received]):
        assert secret not in json.dumps(texts)


async def test_a_secret_in_the_task_is_not_sent(begin, workspace):
    editor = await begin("stock", [DONE])
    await editor.run(f"Use {TOKEN} to log in")
    (started,) = editor.events_of("turn.started")
    assert started["data"]["prompt"] == "Use [secret 1] to log in"
    assert started["data"]["secrets"][0]["name"] == "1"
    listed = await editor.command("outrider.sessions", {})
    assert TOKEN not in json.dumps(listed)
    assert TOKEN not in json.dumps(editor.events)


async def test_a_secret_in_instructions_is_not_sent_and_their_sections_stay(begin, workspace):
    (workspace / "sub").mkdir()
    (workspace / "AGENTS.md").write_text(f"Be kind.\nLog in with {TOKEN}\nBe brief.\n")
    (workspace / "sub" / "AGENTS.md").write_text(f"Here it is {OTHER}\n")
    (workspace / "sub" / "a.txt").write_text("a\n")
    editor = await begin("stock", [step(call("read_file", path="sub/a.txt", called="read")), DONE])
    await editor.run("Look at it")
    shown = await editor.command("outrider.prompt", {"sessionId": editor.session_id})
    said = json.dumps(shown)
    assert "Log in with [secret 1]" in said
    assert "Here it is [secret 2]" in said
    assert TOKEN not in said + json.dumps(editor.events)
    assert OTHER not in said + json.dumps(editor.events)
    system = shown["messages"][0]
    assert [one["kind"] for one in system["sections"]] == [
        *("identity", "work", "environment", "commands", "permissions", "instructions")
    ]
    assert [one.get("name") for one in system["sections"]][-1] == "AGENTS.md"
    state_dir = workspace.parent / editor.options["stateDir"]
    _, messages = log_of(state_dir)
    assert messages
    assert not [one for one in messages if TOKEN in one or OTHER in one]


READ = call("read_file", path="config.py", called="read")


async def test_what_is_edited_beside_a_secret_leaves_it_there(begin, workspace, config):
    patch = (
        '*** Begin Patch\n*** Update File: config.py\n@@\n-TOKEN = "[secret 1]"\n-END = 1\n+END = 3\n'
        '+TOKEN = "[secret 1]"  # of the shop\n*** End Patch\n'
    )
    whole = 'NAME = "market"\nTOKEN = "[secret 1]"  # of the shop\n'
    turns = [
        step(READ),
        step(call("edit_file", path="config.py", old='"[secret 1]"\nEND = 1', new='"[secret 1]"\nEND = 1')),
        step(
            call(
                "edit_file",
                path="config.py",
                old='NAME = "shop"\nTOKEN = "[secret 1]"',
                new='TOKEN = "[secret 1]"',
            )
        ),
        step(call("apply_patch", patch=patch)),
        step(call("write_file", path="config.py", content=whole, overwrite=True)),
        DONE,
    ]
    editor = await begin("stock", turns, FULL)
    await editor.run("Tidy up")
    statuses = [event["data"]["status"] for event in editor.events_of("tool.finished")]
    assert statuses == ["ok", "error", "ok", "ok", "ok"]
    assert config.read_text() == whole.replace("[secret 1]", TOKEN)
    assert TOKEN not in json.dumps(editor.events)
    await editor.command("outrider.undo", {"sessionId": editor.session_id, "scope": "turn"})
    assert config.read_text() == CONFIG


@pytest.mark.parametrize(
    "wrong",
    [
        call("write_file", path="other.py", content='TOKEN = "[secret 1]"\n'),
        call("edit_file", path="tariff.py", old="hours * 3", new="'[secret 1]'"),
        call("edit_file", path="config.py", old="END = 1", new='END = "[secret 1]"'),
        call("edit_file", path="config.py", old='"[secret 1]"', new='"[secret 1] [secret 1]"'),
        call("insert_lines", path="config.py", after_line=1, text="# [secret 1]"),
        call("apply_patch", patch="*** Begin Patch\n*** Add File: new.py\n+[secret 1]\n*** End Patch"),
        call("write_file", path="[secret 1].py", content="A = 1\n"),
        call(
            "apply_patch",
            patch="*** Begin Patch\n*** Update File: tariff.py\n*** Move to: [secret 1].py\n@@\n-    return hours * 3\n"
            "+    return hours * 2\n*** End Patch",
        ),
        call("run_command", command="echo '[secret 1]' > new.py"),
    ],
    ids=lambda one: json.dumps(one["input"])[:50],
)
async def test_a_placeholder_anywhere_else_is_refused(begin, workspace, config, wrong):
    before = {path: path.read_text() for path in workspace.rglob("*.py")}
    editor = await begin("stock", [step(READ), step(wrong), DONE], FULL)
    await editor.run("Tidy up")
    status, content = result(editor, 1)
    assert status == "error"
    assert "[secret 1] stands for a secret" in content
    assert {path: path.read_text() for path in workspace.rglob("*.py")} == before


@pytest.mark.parametrize(
    "edit",
    [
        call(
            "write_file",
            path="config.py",
            content='TOKEN = "[secret 1]"\nNAME = "shop"\nEND = 1\n',
            overwrite=True,
        ),
        call(
            "apply_patch",
            patch='*** Begin Patch\n*** Update File: config.py\n@@\n+TOKEN = "[secret 1]"\n NAME = "shop"\n-TOKEN = "[secret 1]"\n END = 1\n*** End Patch\n',
        ),
    ],
    ids=["write", "patch"],
)
async def test_a_line_with_a_secret_is_moved_in_its_file(begin, workspace, config, edit):
    editor = await begin("stock", [step(READ), step(edit), DONE], FULL)
    await editor.run("Put the token first")
    assert result(editor, 1)[0] == "ok"
    assert config.read_text() == f'TOKEN = "{TOKEN}"\nNAME = "shop"\nEND = 1\n'
    assert TOKEN not in json.dumps(editor.events)


GIVEN = "k9Jd7Hs2Lq8Xw4Zr1Tn6Vb3Mc5Py0Fg/Ea+RuIoP"
"""A key without any sign of its own."""


@pytest.mark.parametrize("mode", ["ask", "auto-edit", "full"])
@pytest.mark.parametrize("answer", ["Allow once", "Reject"])
async def test_a_secret_of_the_task_is_written_where_the_user_says_yes(begin, workspace, mode, answer):
    write = call(
        "write_file", path="deploy.cfg", content="region = north\nkey = [secret 1]\n", called="write"
    )
    again = call("edit_file", path="deploy.cfg", old="region = north", new="# [secret 1]", called="again")
    command = call("run_command", command="echo '[secret 1]'", called="command")
    editor = await begin(
        "stock",
        [step(write), step(again), step(command), DONE],
        {"permissionMode": mode},
        answers=[answer] * 9,
    )
    await editor.run(f"Write the key {GIVEN} into deploy.cfg")
    (started,) = editor.events_of("turn.started")
    assert started["data"]["prompt"] == "Write the key [secret 1] into deploy.cfg"
    requested = editor.events_of("approval.requested")[0]["data"]
    assert "[secret 1] to deploy.cfg" in requested["detail"]
    assert "+key = [secret 1]" in requested["detail"]
    assert "Allow for this session" not in requested["options"]
    statuses = {call_id: status for call_id, (status, _) in results(editor).items()}
    written = workspace / "deploy.cfg"
    if answer == "Reject":
        assert not written.exists()
        assert statuses["write"] == "denied"
    else:
        assert written.read_text() == f"# {GIVEN}\nkey = {GIVEN}\n"
        assert (
            len([one for one in editor.events_of("approval.requested") if one["data"]["callId"] != "command"])
            == 2
        )
    assert statuses["command"] == "error"
    exported = await editor.command("outrider.export", {"sessionId": editor.session_id})
    assert GIVEN not in json.dumps(exported) + json.dumps(editor.events)
    events, messages = log_of(workspace.parent / editor.options["stateDir"])
    assert not [text for text in (*events, *messages) if GIVEN in text]


async def test_a_secret_of_the_task_is_not_written_once_nobody_knows_it_any_more(workspace):
    write = call("write_file", path="deploy.cfg", content="key = [secret 1]\n")
    model, options = scripted(workspace, [DONE, step(write), DONE]), {**FULL, "testing": {}}
    async with start_session("stock", workspace, model, options) as editor:
        await editor.run(f"The key is {GIVEN}")
        session = editor.session_id
    async with start_session("stock", workspace, model, options, answers=["Allow once"]) as editor:
        await editor.run("Write it into deploy.cfg", sessionId=session)
        assert result(editor)[0] == "error"
    assert not (workspace / "deploy.cfg").exists()


async def test_a_secret_that_is_said_meanwhile_is_not_sent(begin, workspace):
    ask = call("ask_user", question="Which password?", called="ask")
    editor = await begin("stock", [step(ask), DONE], answers=lambda _: Never())
    running = asyncio.create_task(editor.run("Log in"))
    asked = (await editor.event("question.asked"))["data"]
    await editor.question()
    await editor.command("outrider.answer", {"id": asked["id"], "answer": f"the password is {GIVEN}"})
    await running
    answered = editor.events_of("question.answered")
    assert [one["data"]["answer"] for one in answered] == ["the password is [secret 1]"]
    assert GIVEN not in json.dumps(editor.events)


async def test_a_text_that_reads_like_a_placeholder_is_a_text(begin, workspace):
    (workspace / "notes.py").write_text("A = '[secret 1]'\n")
    turns = [
        step(call("read_file", path="notes.py")),
        step(
            call("edit_file", path="notes.py", old="A = '[secret 1]'", new="B = '[secret 1]', '[secret 1]'")
        ),
        DONE,
    ]
    editor = await begin("stock", turns, FULL)
    await editor.run("Tidy up")
    assert (workspace / "notes.py").read_text() == "B = '[secret 1]', '[secret 1]'\n"


async def test_the_person_reviews_an_edit_of_a_line_with_a_secret(begin, workspace, config):
    edit = call(
        "edit_file", path="config.py", old='TOKEN = "[secret 1]"', new='KEY = "[secret 1]"', called="edit"
    )
    editor = await begin(
        "stock", [step(READ), step(edit), DONE], {"permissionMode": "ask"}, answers=lambda _: Never()
    )
    running = asyncio.create_task(editor.run("Tidy up"))
    await editor.event("approval.requested")
    await editor.question()
    requested = (await editor.event("approval.requested"))["data"]
    assert TOKEN not in json.dumps(requested)
    assert 'KEY = "[secret 1]"' in requested["detail"]
    hunk = f"{requested['changeIds'][0]}#1"
    review = [{"id": hunk, "decision": "take", "text": 'SHOP_KEY = "[secret 1]"\n'}]
    await editor.command(
        "outrider.answer", {"id": requested["id"], "decision": "allow_once", "review": review}
    )
    await editor.event("turn.finished")
    await running
    assert config.read_text() == CONFIG.replace("TOKEN =", "SHOP_KEY =")
    assert len(editor.events_of("approval.requested")) == 1
    assert TOKEN not in json.dumps(editor.events)


async def test_numbers_and_originals_hold_over_a_restart(workspace, config):
    more = call("edit_file", path="config.py", old='TOKEN = "[secret 1]"', new='KEY = "[secret 1]"')
    turns = [step(READ), DONE, step(more), step(call("read_file", path="other.txt")), DONE]
    model, options = scripted(workspace, turns), {**FULL, "testing": {}}
    async with start_session("stock", workspace, model, options) as editor:
        await editor.run("Look")
        session, state_dir = editor.session_id, workspace.parent / editor.options["stateDir"]
    (workspace / "other.txt").write_text(f"{OTHER} {TOKEN}\n")
    async with start_session("stock", workspace, model, options) as editor:
        await editor.run("Go on", sessionId=session)
        assert "[secret 2] [secret 1]" in result(editor, 1)[1]
    assert config.read_text() == CONFIG.replace("TOKEN =", "KEY =")
    assert (state_dir / "machine.key").stat().st_mode & 0o777 == 0o600
    await keep_sessions(state_dir)


async def test_what_hides_in_a_result_is_made_visible(begin, workspace):
    (workspace / "odd\u202ename.txt").write_text(
        "a\u200bb \x1b[31mred\x1b[0m \u2067x 👩\u200d🚀 \U000e0041\n"
    )
    turns = [
        step(call("run_command", command="cat odd*; printf 'one\\rtwo'")),
        step(call("list_files", path=".")),
        step(call("search", pattern="red")),
        DONE,
    ]
    editor = await begin("stock", turns, FULL)
    await editor.run("Look")
    shown, listed, found = (event["data"]["content"] for event in editor.events_of("tool.finished"))
    assert "a\\u200bb \\x1b[31mred\\x1b[0m \\u2067x 👩\u200d🚀 \\U000e0041" in shown
    assert "one\\rtwo" in shown
    assert "odd\\u202ename.txt" in listed
    assert "\\x1b[31mred" in found
    assert "odd\\u202ename.txt" in found


SETTINGS = 'DB_USER=anna\nDB_PASSWORD=hunter2\nMODE=production\nPORT=5432\nDSN="pq-77-Zebra!"\n'
SHORT_SECRETS = ("anna", "hunter2", "production", "pq-77-Zebra!")


async def test_every_value_of_a_file_of_secrets_is_masked_and_put_back(workspace):
    env = workspace / ".env"
    env.write_text(SETTINGS)
    (workspace / "app.py").write_text('MODE = "production"\n')
    calls = [
        [("read", "read_file", {"path": ".env"})],
        [("app", "read_file", {"path": "app.py"})],
        [("cat", "run_command", {"command": "cat .env; grep -h DB_ .env*"})],
        [("find", "search", {"pattern": "DB_", "path": ".env"})],
        [("rename", "edit_file", {"path": ".env", "old": "DB_PASSWORD=[secret 1]", "new": "PASSWORD=[secret 1]"})],
        [("again", "read_file", {"path": ".env"})],
        [("leak", "write_file", {"path": "x.txt", "content": "[secret 1]"})],
    ]  # fmt: skip
    async with ProviderServer() as server:
        server.plays("openai-chat", *(Said("", one) for one in calls), Said("Done."))
        options = {
            "providers": {"local": {"kind": "openai-chat", "baseUrl": server.url}},
            "reminders": False,
            "testing": None,
            **FULL,
        }
        async with start_session(
            "stock",
            workspace,
            "local/some-model",
            options,
            connection=embedded(workspace),
            answers=["Allow once"] * 9,
        ) as editor:
            ended = await editor.run("Look around")
            assert ended["outcome"] == "completed"
            exported = await editor.command("outrider.export", {"sessionId": editor.session_id})
        state_dir = workspace.parent / editor.options["stateDir"]
        requests = [received.body.decode() for received in server.received]
    given = results(editor)
    assert given["read"][1].split("\n")[1:4] == [
        "     2\tDB_PASSWORD=[secret 1]", "     3\tMODE=[secret 2]", "     4\tPORT=5432",
    ]  # fmt: skip
    assert '"production"' in given["app"][1], "a word that may stand anywhere is one only behind its name"
    assert given["rename"][0] == "ok", given["rename"]
    assert given["leak"][0] == "error"
    assert env.read_text() == SETTINGS.replace("DB_PASSWORD", "PASSWORD")
    events, messages = log_of(state_dir)
    frames = "".join(frame["text"] for frame in editor.frames if frame["kind"] == "output")
    assert frames.count("DB_PASSWORD=[secret 1]") == 2
    for where in (*events, *messages, *requests, frames, json.dumps(exported), *map(str, editor.messages)):
        for secret in SHORT_SECRETS:
            assert secret not in where.replace('"production', ""), (secret, where)
    await keep_sessions(state_dir)
    replayed = await play(Export.from_wire(json.loads(json.dumps(exported))))
    assert isinstance(replayed, Replayed)
    assert replayed.difference is None
