"""What the server does with the messages of a client, and how it treats the house behind the bridge."""

import asyncio
import threading
from datetime import UTC, datetime

import pytest
from fakes import Client, eventually

from outrider.lsp.tcp import Admission
from outrider.ports.clock import SteppingClock
from outrider.ports.text import Place
from outrider_protocol import COMMAND_NAMES

URI = "file:///w/a.py"


def opened(client, text, version=1):
    document = {"uri": URI, "languageId": "python", "version": version, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": document})


def changed(client, version, *changes):
    params = {"textDocument": {"uri": URI, "version": version}, "contentChanges": list(changes)}
    client.notify("textDocument/didChange", params)


def at(start, end, text):
    (first, a), (last, b) = start, end
    span = {"start": {"line": first, "character": a}, "end": {"line": last, "character": b}}
    return {"range": span, "text": text}


async def test_what_initialize_says():
    client = Client()
    answer = await client.initialize()
    assert answer["result"]["serverInfo"] == {"name": "outrider", "version": "0.2.0"}
    assert answer["result"]["capabilities"] == {
        "positionEncoding": "utf-16",
        "textDocumentSync": {"openClose": True, "change": 2, "save": {"includeText": False}},
        "codeActionProvider": {
            "codeActionKinds": ["quickfix", "refactor.rewrite", "source", "source.outrider"]
        },
        "executeCommandProvider": {"commands": list(COMMAND_NAMES), "workDoneProgress": True},
        "workspace": {
            "workspaceFolders": {"supported": True, "changeNotifications": True},
            "fileOperations": {"didRename": {"filters": [{"scheme": "file", "pattern": {"glob": "**"}}]}},
        },
        "experimental": {"outrider": {"protocolVersion": 1, "extensions": ["ask", "language", "save"]}},
    }


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (["utf-8", "utf-16"], "utf-8"), (["utf-32", "utf-8", "utf-16"], "utf-32"), (["utf-16"], "utf-16"),
        (["utf-7", "utf-8"], "utf-8"), ([], "utf-16"), (None, "utf-16"), ("utf-8", "utf-16"), ([8, None], "utf-16"),
    ],
)  # fmt: skip
async def test_the_first_encoding_that_both_know(offered, chosen):
    client = Client()
    answer = await client.initialize({"general": {"positionEncodings": offered}})
    assert answer["result"]["capabilities"]["positionEncoding"] == chosen
    assert client.server.documents.encoding == chosen


async def test_what_the_house_is_told_about_the_client():
    client = Client()
    await client.initialize(
        clientInfo={"name": "Neovim", "version": "0.11.4"},
        initializationOptions={"model": "scripted:x", "debounce": 0},
        workspaceFolders=[{"uri": "file:///w", "name": "w"}, {"uri": 5}, None],
    )
    await client.execute("outrider.status")
    start = client.bridge.client
    assert (start.name, start.version) == ("Neovim", "0.11.4")
    assert start.options == {"model": "scripted:x"}
    assert start.folders == (("w", "file:///w"),)
    assert client.bridge.editor.traits.debounce_seconds == 0


@pytest.mark.parametrize(
    ("name", "debounce", "reject_first"),
    [("Neovim", 0.15, False), ("Eglot", 0.5, True), ("helix", 0, True), (3, 0, False)],
)
async def test_quirks_go_by_the_name_of_the_client(name, debounce, reject_first):
    client = Client()
    await client.initialize({"workspace": {"applyEdit": True}}, clientInfo={"name": name})
    await client.execute("outrider.status")
    traits = client.bridge.editor.traits
    assert (traits.debounce_seconds, traits.reject_first) == (debounce, reject_first)
    assert traits.can_apply_edits


@pytest.mark.parametrize(
    ("params", "folders"),
    [
        ({"rootUri": "file:///w"}, (("", "file:///w"),)),
        ({"rootPath": "/a b"}, (("", "file:///a%20b"),)),
        ({"rootUri": "file:///w", "workspaceFolders": None}, (("", "file:///w"),)),
        ({}, ()),
    ],
)
async def test_folders_of_older_clients(params, folders):
    client = Client()
    await client.initialize(**params)
    await client.execute("outrider.status")
    assert client.bridge.client.folders == folders


async def test_documents_follow_their_notifications_at_once():
    client = Client()
    await client.initialize()
    documents = client.server.documents
    opened(client, "a𝄞b\nc\n")
    changed(client, 2, at((0, 3), (0, 4), "B"), at((1, 0), (1, 0), "-"))
    assert documents.get(URI).text == "a𝄞B\n-c\n"
    changed(client, 3, {"text": "whole"})
    assert (documents.get(URI).text, documents.get(URI).version) == ("whole", 3)
    client.notify("textDocument/didSave", {"textDocument": {"uri": URI}})
    assert documents.get(URI).saves == 1
    client.notify("textDocument/didClose", {"textDocument": {"uri": URI}})
    assert documents.get(URI) is None


async def test_a_change_of_a_closed_document_is_ignored_and_logged_once(caplog):
    client = Client()
    await client.initialize()
    before = len(client.outbox.messages)
    changed(client, 2, {"text": "x"})
    changed(client, 3, {"text": "y"})
    assert len([record for record in caplog.records if "not open" in record.getMessage()]) == 1
    assert [m for m in client.outbox.messages[before:] if m.get("method") == "window/showMessage"] == []
    opened(client, "z")
    assert client.server.documents.get(URI).text == "z"


LITERALS = {
    "textDocument": {"codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}}}
}


@pytest.mark.parametrize("capabilities", [LITERALS, {}])
async def test_code_actions(capabilities):
    client = Client()
    await client.initialize(capabilities)
    await client.execute("outrider.status")
    span = {"start": {"line": 1, "character": 2}, "end": {"line": 3, "character": 4}}
    diagnostic = {"range": span, "message": "broken", "severity": 1, "data": {"a": [1]}}
    answer = await client.call(
        "textDocument/codeAction",
        {
            "textDocument": {"uri": URI},
            "range": span,
            "context": {
                "diagnostics": [diagnostic],
                "only": ["quickfix", "source.outrider"],
                "triggerKind": 2,
            },
        },
    )
    # LSP 3.17, "Code Action Request": a client that says nothing of literals gets commands.
    assert [one.get("kind") for one in answer["result"]] == ["source.outrider" if capabilities else None]
    assert client.bridge.calls[-1] == (
        "code_actions", URI, Place(1, 2), Place(3, 4), [diagnostic], ["quickfix", "source.outrider"], True,
    )  # fmt: skip


async def test_folder_changes_reach_the_house():
    client = Client()
    await client.initialize(
        workspaceFolders=[{"uri": "file:///a", "name": "a"}, {"uri": "file:///b", "name": "b"}]
    )
    await client.execute("outrider.status")
    event = {"added": [{"uri": "file:///c", "name": "c"}], "removed": [{"uri": "file:///a", "name": "a"}]}
    client.notify("workspace/didChangeWorkspaceFolders", {"event": event})
    await client.execute("outrider.status")
    assert client.bridge.folders == [(("b", "file:///b"), ("c", "file:///c"))]


async def test_the_configuration_is_pulled_before_the_first_command_is_done():
    client = Client()
    await client.initialize({"workspace": {"configuration": True}})
    running = client.request("workspace/executeCommand", {"command": "outrider.status"})
    request = await client.asked("workspace/configuration")
    assert request["params"] == {"items": [{"section": "outrider"}]}
    assert client.bridge.calls == []
    client.answer(request, [{"permissionMode": "read-only"}])
    await client.response(running)
    assert client.bridge.configured == [{"permissionMode": "read-only"}]


@pytest.mark.parametrize("result", [None, [], [None], {}, "x", [5], [[]]])
async def test_a_configuration_without_values_changes_nothing(result):
    client = Client()
    await client.initialize({"workspace": {"configuration": True}})
    client.answer(await client.asked("workspace/configuration"), result)
    await client.execute("outrider.status")
    assert client.bridge.configured == []


async def test_a_client_that_does_not_answer_the_first_pull_is_served_all_the_same():
    clock = SteppingClock(datetime(2026, 1, 1, tzinfo=UTC))
    client = Client(clock=clock)
    await client.initialize({"workspace": {"configuration": True}})
    running = client.request("workspace/executeCommand", {"command": "outrider.status"})
    await client.asked("workspace/configuration")
    clock.advance(1.1)
    await client.response(running)
    assert client.bridge.configured == []


async def test_a_changed_configuration_is_taken_or_pulled_again():
    client = Client()
    await client.initialize({"workspace": {"configuration": True}})
    client.answer(await client.asked("workspace/configuration"), [None])
    client.notify(
        "workspace/didChangeConfiguration", {"settings": {"outrider": {"events": True}, "other": 1}}
    )
    await client.execute("outrider.status")
    assert client.bridge.configured == [{"events": True}]
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    client.answer(await client.asked("workspace/configuration"), [{"events": False}])
    await eventually(lambda: client.bridge.configured == [{"events": True}, {"events": False}])


async def test_the_house_is_loaded_in_a_thread_after_initialized_and_once():
    threads, go = [], threading.Event()
    client = Client(
        load=lambda: threads.append(threading.current_thread()) or (go.wait(10) and client.bridge.start)
    )
    await client.call("initialize", {"capabilities": {}})
    assert threads == []
    client.notify("initialized")
    running = [client.request("workspace/executeCommand", {"command": "outrider.status"}) for _ in range(2)]
    opened(client, "while it loads")
    span = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    automatic = {"diagnostics": [], "triggerKind": 2}
    actions = await client.call(
        "textDocument/codeAction", {"textDocument": {"uri": URI}, "range": span, "context": automatic}
    )
    assert actions["result"] == []  # asked at every move of the cursor: nobody waits for that
    go.set()
    for msg_id in running:
        assert "result" in await client.response(msg_id)
    assert threads == [threads[0]]
    assert threads[0] is not threading.main_thread()
    assert client.bridge.documents.get(URI).text == "while it loads"


async def test_a_house_that_cannot_be_built_is_said_once_and_every_command_says_so(caplog):
    def load():
        raise ImportError("no such library")

    client = Client(load=load)
    await client.initialize()
    for _ in range(2):
        error = (await client.execute("outrider.status"))["error"]
        assert (error["code"], "no such library" in error["message"]) == (-32603, False)
    assert "no such library" in caplog.text
    assert len([m for m in client.outbox.messages if m.get("method") == "window/showMessage"]) == 1
    assert (await client.call("shutdown"))["result"] is None


async def test_shutdown_while_the_house_is_loading():
    go = threading.Event()
    client = Client(load=lambda: go.wait(10) and client.bridge.start)
    await client.initialize()
    waiting = client.request("workspace/executeCommand", {"command": "outrider.status"})
    assert (await client.call("shutdown"))["result"] is None
    assert (await client.response(waiting))["error"]["code"] == -32800
    go.set()


async def test_a_house_that_does_not_close_holds_shutdown_for_a_second_at_most():
    clock = SteppingClock(datetime(2026, 1, 1, tzinfo=UTC))
    client = Client(clock=clock)
    await client.initialize()
    await client.execute("outrider.status")
    closing = asyncio.Event()

    async def close(reason):
        closing.set()
        await asyncio.Event().wait()

    client.bridge.close = close
    shutdown = client.request("shutdown")
    await closing.wait()
    clock.advance(1.1)
    assert (await client.response(shutdown))["result"] is None


class FakeHost:
    def __init__(self):
        self.stopped, self.watched = [], []

    def stop(self, code, reason):
        self.stopped.append(code)

    def watch_parent(self, pid):
        self.watched.append(pid)


@pytest.mark.parametrize(("ask", "code"), [(True, 0), (False, 1)])
async def test_exit_codes(ask, code):
    host = FakeHost()
    client = Client(host=host)
    await client.initialize(processId=4711)
    if ask:
        await client.call("shutdown")
    client.notify("exit")
    assert (host.stopped, host.watched) == ([code], [4711])


async def test_exit_before_initialize():
    host = FakeHost()
    Client(host=host).notify("exit")
    assert host.stopped == [1]


async def test_a_client_over_tcp_shows_its_token():
    client = Client(admission=Admission("secret"))
    for options in ({}, {"tcpToken": "wrong"}, {"tcpToken": 5}):
        refused = await client.call("initialize", {"capabilities": {}, "initializationOptions": options})
        assert refused["error"]["code"] == -32600
    await client.initialize(initializationOptions={"tcpToken": "secret", "permissionMode": "full"})
    await client.execute("outrider.status")
    assert client.bridge.client.options == {"permissionMode": "full"}
    assert client.bridge.client.widest is None


@pytest.mark.parametrize("mode", ["auto-edit", "full", 5, None])
async def test_a_client_over_tcp_without_a_token_is_asked(mode):
    client = Client(admission=Admission(None))
    await client.initialize(initializationOptions={"permissionMode": mode})
    await client.execute("outrider.status")
    assert client.bridge.client.options == {"permissionMode": "ask" if mode is not None else None}
    assert client.bridge.client.widest == "ask", "whoever sets a wider one, the user's file too"
    client.notify("workspace/didChangeConfiguration", {"settings": {"outrider": {"permissionMode": "full"}}})
    await client.execute("outrider.status")
    assert client.bridge.configured[-1] == {"permissionMode": "ask"}


async def test_a_client_over_tcp_without_a_token_has_only_the_folder_of_the_server(tmp_path, monkeypatch):
    """Else any user of the machine could read any file of the one who started it."""
    home, project = tmp_path / "home", tmp_path / "home" / "project"
    for folder in (project / "sub", home / "other"):
        folder.mkdir(parents=True)
    (project / "link").symlink_to(home / "other")
    monkeypatch.setenv("HOME", str(home))

    async def refused(started_in, folder, token=None, **how):
        client = Client(admission=Admission(token, started_in))
        uri = folder if isinstance(folder, str) else folder.as_uri()
        given = how or {"workspaceFolders": [{"uri": uri, "name": "x"}]}
        params = {"capabilities": {}, "initializationOptions": {"tcpToken": token or ""}, **given}
        return "error" in await client.call("initialize", params)

    for folder in (project, project / "sub", project / "sub" / ".." / "sub"):
        assert not await refused(project, folder), folder
    for folder in (
        home,
        home / "other",
        project / "link",
        "untitled:x",
        "file://elsewhere/x",
        f"{project.as_uri()}/../other",
    ):
        assert await refused(project, folder), folder
    assert await refused(project, "", rootUri=home.as_uri())
    assert await refused(project, "", rootPath=str(home))
    assert await refused(home, project), "nobody starts it for a whole home"
    assert await refused(tmp_path, project)
    assert not await refused(project, home / "other", token="secret")


async def test_a_folder_that_is_not_open_cannot_be_added_later(tmp_path):
    for name in ("project/sub", "other"):
        (tmp_path / name).mkdir(parents=True)
    client = Client(admission=Admission(None, tmp_path / "project"))
    await client.initialize()
    client.notify("initialized", {})
    await client.execute("outrider.status")
    added = [{"uri": (tmp_path / name).as_uri(), "name": name} for name in ("other", "project/sub")]
    client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": added, "removed": []}})
    await client.execute("outrider.status")
    assert client.bridge.folders[-1] == (("project/sub", (tmp_path / "project/sub").as_uri()),)
    assert (
        "was not opened: without a token" in (await client.asked("window/showMessage"))["params"]["message"]
    )


async def test_a_client_over_tcp_without_a_token_sets_nothing_that_widens():
    """With a provider of its own it would be sent the user's keys and files."""
    theirs = {"kind": "openai-chat", "baseUrl": "http://127.0.0.1:9/v1", "apiKeyEnv": "OPENAI_API_KEY"}
    options = {
        "providers": {"theirs": theirs},
        "model": "theirs/m",
        "sandbox": "off",
        "trusted": True,
        "events": True,
    }
    client = Client(admission=Admission(None))
    await client.initialize(initializationOptions=options)
    client.notify("initialized", {})
    await client.execute("outrider.status")
    assert client.bridge.client.options == {"events": True}
    said = await client.asked("window/showMessage")
    assert "ignores model, providers, sandbox, trusted: over TCP" in said["params"]["message"]
