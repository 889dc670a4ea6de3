"""The fake editor against a tiny server: what it sends, what it answers, and which faults it finds."""

import asyncio
import json
import signal
import sys
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_server import TinyServer, text_edit

from outrider.testing.editor import profiles
from outrider.testing.editor.answers import Dismiss, Fail, Never, Reply
from outrider.testing.editor.connections import InProcess, Stdio
from outrider.testing.editor.fake_editor import FakeEditor
from outrider.testing.editor.wire_client import RpcError

ALL = pytest.mark.parametrize("profile", profiles.PROFILES.values(), ids=str)


class Session:
    def __init__(self, editor, server):
        self.editor = editor
        self.server = server

    def sent(self, method):
        return [message["params"] for message in self.server.log if message.get("method") == method]

    def methods(self):
        return [message.get("method", "response") for message in self.server.log]

    async def response(self, number):
        await self.quiet(lambda: number in self.server.responses)
        return self.server.responses[number]

    async def quiet(self, done=None):
        """Let everything that is under way arrive."""
        for _ in range(200):
            if done is not None and done():
                return
            await asyncio.sleep(0)
        assert done is None, self.editor.last_messages()

    def copy(self, path):
        return self.server.documents[self.editor.desk.uri(path)]


@asynccontextmanager
async def session(profile, root, *, broken=False, options=None, encoding=None):
    servers = []

    def build(outgoing):
        def write(message):
            outgoing.send(json.dumps(message).encode())

        offered = profile.capabilities.get("general", {}).get("positionEncodings", ["utf-16"])
        servers.append(TinyServer(write, encoding=encoding or offered[0]))
        return servers[0]

    editor = FakeEditor(profile, root, options=options)
    await editor.start(InProcess(build))
    editor.read_on()
    yield Session(editor, servers[0])
    if broken:
        with pytest.raises(AssertionError):
            await editor.stop()
    else:
        await editor.stop()


@pytest.fixture
def root(tmp_path):
    (tmp_path / "a.py").write_bytes(b"x = 1\ny = 2\n")
    (tmp_path / "b.py").write_bytes("z = '😀é'\n".encode())
    return tmp_path


# --- documents -----------------------------------------------------------------------------------------------


@ALL
async def test_the_server_has_every_text_the_editor_has(profile, root):
    async with session(profile, root) as s:
        s.editor.open("a.py")
        s.editor.open("b.py")
        uri = s.editor.open_untitled("note", "hello")
        s.editor.type("b.py", "w = 'ü'\n", at=(0, 0))
        s.editor.type("b.py", "'''", replace="'😀")
        s.editor.type(uri, " world")
        await s.quiet()
        assert s.copy("b.py") == s.editor.text("b.py") == "w = 'ü'\nz = '''é'\n"
        assert s.copy(uri) == "hello world"
        assert s.editor.undo("b.py")
        assert s.editor.undo("b.py")
        assert not s.editor.undo("b.py")
        assert s.editor.redo("b.py")
        await s.quiet()
        assert s.copy("b.py") == s.editor.text("b.py") == "w = 'ü'\nz = '😀é'\n"
        assert s.editor.dirty("b.py")
        s.editor.save("b.py")
        assert not s.editor.dirty("b.py")
        assert s.editor.disk("b.py") == s.editor.text("b.py")
        await s.quiet()
        assert list(s.server.saved.values()) == [s.editor.text("b.py")]
        s.editor.close("b.py")
        await s.quiet()
        assert s.editor.desk.uri("b.py") not in s.server.documents


async def test_whole_texts_go_to_a_server_that_wants_them(root):
    async with session(profiles.STOCK, root) as s:
        s.editor.server["capabilities"]["textDocumentSync"]["change"] = 1
        s.editor.open("a.py")
        s.editor.type("a.py", "#", at=(0, 0))
        await s.quiet()
        assert s.sent("textDocument/didChange")[0]["contentChanges"] == [{"text": "#x = 1\ny = 2\n"}]


async def test_a_debouncing_editor_holds_changes_until_its_clock_moves_or_it_asks(root):
    async with session(profiles.NEOVIM, root) as s:
        s.editor.open("a.py")
        s.editor.type("a.py", "1", unsent=True)
        s.editor.type("a.py", "2", unsent=True)
        s.editor.step(0.1)
        await s.quiet()
        assert s.copy("a.py") == "x = 1\ny = 2\n"
        s.editor.step(0.1)
        await s.quiet()
        assert s.copy("a.py") == "x = 1\ny = 2\n12"
        assert len(s.sent("textDocument/didChange")) == 1
        s.editor.type("a.py", "3", unsent=True)
        assert await s.editor.command("tiny.echo", {"n": 1}) == {"n": 1}
        assert s.methods()[-2:] == ["textDocument/didChange", "workspace/executeCommand"]
        s.editor.step(1)
        s.editor.type("a.py", "4", unsent=True)
        await s.quiet()
        assert s.copy("a.py").endswith("1234"), "the first change after a quiet time is sent at once"


@pytest.mark.parametrize(
    ("profile", "shown", "saved"),
    [
        (profiles.STOCK, "a\r\nb", "a\r\nb"),
        (profiles.VSCODE, "a\r\nb", "a\r\nb"),
        (profiles.NEOVIM, "a\r\nb", "a\r\nb\r\n"),
        (profiles.EGLOT, "a\nb\n", "a\r\nb\r\n"),
        (profiles.KATE, "a\nb\n", "a\r\nb\r\n"),
        (profiles.HELIX, "a\r\nb\n", "a\r\nb\n"),
    ],
    ids=str,
)
async def test_saving_does_what_the_editor_does_with_line_ends(profile, shown, saved, root):
    (root / "crlf.txt").write_bytes(b"a\r\nb")
    async with session(profile, root) as s:
        s.editor.open("crlf.txt")
        s.editor.save("crlf.txt")
        await s.quiet()
        assert s.copy("crlf.txt") == shown
        assert s.editor.disk("crlf.txt") == saved


async def test_a_file_changed_by_another_program_is_taken_over(root):
    async with session(profiles.VSCODE, root) as s:
        s.editor.open("a.py")
        (root / "a.py").write_text("x = 3\ny = 2\n")
        s.editor.reload("a.py")
        await s.quiet()
        assert s.copy("a.py") == "x = 3\ny = 2\n"
        assert not s.editor.dirty("a.py")


# --- edits ---------------------------------------------------------------------------------------------------


def editing(profile):
    return profile.capabilities.get("workspace", {}).get("applyEdit") and profile.edit_fault is None


@pytest.mark.parametrize("profile", list(filter(editing, profiles.PROFILES.values())), ids=str)
async def test_one_edit_is_one_undo_step(profile, root):
    profile = replace(profile, types_before_edit=None)
    async with session(profile, root) as s:
        uri = s.editor.desk.uri("a.py")
        s.editor.open("a.py")
        await s.quiet()
        edits = [text_edit((0, 4), (0, 5), "10"), text_edit((1, 4), (1, 5), "20")]
        number = s.server.ask("workspace/applyEdit", {"label": "Tiny", "edit": {"changes": {uri: edits}}})
        assert (await s.response(number))["result"] == {"applied": True}
        await s.quiet()
        if profile.tells_with_answers:
            assert s.copy("a.py") == "x = 1\ny = 2\n"
            asked = {"type": 4, "message": ""}
            assert (await s.response(s.server.ask("window/showMessageRequest", asked)))["result"] is None
            await s.quiet()
        assert s.copy("a.py") == s.editor.text("a.py") == "x = 10\ny = 20\n"
        assert s.editor.disk("a.py") == "x = 1\ny = 2\n"
        order = [name for name in s.methods() if name in ("response", "textDocument/didChange")]
        early = profile.change_before_answer or profile.tells_with_answers
        assert order[-2:][0] == ("textDocument/didChange" if early else "response")
        s.editor.undo("a.py")
        await s.quiet()
        s.editor.settle()
        await s.quiet()
        assert s.copy("a.py") == "x = 1\ny = 2\n"


STALE = [
    (profiles.NEOVIM, {"applied": True}, "#\nx = 1\ny = 2\n"),
    (profiles.VSCODE, {"applied": False, "failureReason": "document has changed"}, "#\nx = 1\ny = 2\n"),
    (profiles.HELIX, {"applied": False, "failureReason": "document has changed"}, "#\nx = 1\ny = 2\n"),
    (profiles.EGLOT, -32603, "#\nx = 1\ny = 2\n"),
    (replace(profiles.KATE_22_12, edits_unadvertised_document_changes=True), {"applied": True}, "#\nx = 1\nZy = 2\n"),
    (replace(profiles.VIM_LSP, edits_unadvertised_document_changes=True), {"applied": True}, "#\nx = 1\nZy = 2\n"),
]  # fmt: skip


@pytest.mark.parametrize(("profile", "answer", "text"), STALE, ids=lambda value: str(value)[:20])
async def test_a_stale_edit_is_treated_as_the_editor_does(profile, answer, text, root):
    async with session(profile, root) as s:
        uri = s.editor.desk.uri("a.py")
        s.editor.open("a.py")
        s.editor.type("a.py", "z", at=(0, 0))
        s.editor.type("a.py", "#\n", replace="z", unsent=True)
        await s.quiet()
        version = profile.first_version + 1
        number = s.server.edit(uri, text_edit((2, 0), (2, 0), "Z"), version=version)
        response = await s.response(number)
        assert response.get("result", response.get("error", {}).get("code")) == answer
        assert s.editor.text("a.py") == text


async def test_neovim_does_not_check_version_zero(root):
    profile = replace(profiles.NEOVIM, types_before_edit="# typed\n")
    async with session(profile, root) as s:
        s.editor.open("a.py")
        await s.quiet()
        number = s.server.edit(s.editor.desk.uri("a.py"), text_edit((1, 0), (1, 0), "# tail\n"))
        assert (await s.response(number))["result"] == {"applied": True}
        assert s.editor.text("a.py") == "# typed\n# tail\nx = 1\ny = 2\n"
        await s.quiet()
        assert s.copy("a.py") == s.editor.text("a.py")


@pytest.mark.parametrize(
    ("fault", "answer", "text"),
    [
        ("claims", {"applied": True}, "x = 1\ny = 2\n"),
        ("partly", {"applied": True}, "X = 1\ny = 2\n"),
        ("refuses", {"applied": False, "failureReason": "not now"}, "x = 1\ny = 2\n"),
        ("fails", None, "x = 1\ny = 2\n"),
    ],
)
async def test_hostile_editors_edit_as_they_like(fault, answer, text, root):
    async with session(replace(profiles.STOCK, edit_fault=fault), root) as s:
        s.editor.open("a.py")
        await s.quiet()
        edits = text_edit((0, 0), (0, 1), "X"), text_edit((1, 0), (1, 1), "Y")
        response = await s.response(s.server.edit(s.editor.desk.uri("a.py"), *edits))
        assert response.get("result") == answer
        assert s.copy("a.py") == s.editor.text("a.py") == text


async def test_the_person_types_while_an_edit_is_on_its_way(root):
    async with session(profiles.PROFILES["types-before-edit"], root) as s:
        s.editor.open("a.py")
        await s.quiet()
        uri = s.editor.desk.uri("a.py")
        first = await s.response(s.server.edit(uri, text_edit((0, 0), (0, 1), "X")))
        assert first["result"]["applied"] is False
        assert s.copy("a.py") == "# typed\nx = 1\ny = 2\n"
        second = await s.response(s.server.edit(uri, text_edit((1, 0), (1, 1), "X")))
        assert second["result"]["applied"] is True
        assert s.copy("a.py") == "# typed\nX = 1\ny = 2\n"


async def test_one_undo_in_vscode_takes_back_every_file_and_talks_of_closed_ones(root):
    async with session(profiles.VSCODE, root) as s:
        s.editor.open("a.py")
        await s.quiet()
        new = s.editor.desk.uri("new.py")
        changes = [
            {"kind": "create", "uri": new, "options": {"ignoreIfExists": True}},
            {"textDocument": {"uri": new, "version": None}, "edits": [text_edit((0, 0), (0, 0), "new\n")]},
            {
                "textDocument": {"uri": s.editor.desk.uri("b.py"), "version": None},
                "edits": [text_edit((0, 0), (0, 0), "#\n")],
            },
            {
                "textDocument": {"uri": s.editor.desk.uri("a.py"), "version": 1},
                "edits": [text_edit((0, 0), (0, 0), "#\n")],
            },
        ]
        number = s.server.ask("workspace/applyEdit", {"edit": {"documentChanges": changes}})
        assert (await s.response(number))["result"]["applied"] is True
        await s.quiet()
        assert s.copy("new.py") == "new\n"
        assert s.editor.disk("new.py") == "", "what was put in is in the buffer only"
        s.editor.undo("a.py")
        await s.quiet()
        assert not (root / "new.py").exists()
        assert s.copy("a.py") == "x = 1\ny = 2\n"
        closed = [params["textDocument"]["uri"] for params in s.sent("textDocument/didClose")]
        assert sorted(closed) == sorted([new, s.editor.desk.uri("b.py")])
        tail = [name for name in s.methods() if name.startswith("textDocument/")][-2:]
        assert tail == ["textDocument/didChange"] * 2


async def test_files_are_renamed_and_deleted(root):
    async with session(profiles.HELIX, root) as s:
        s.editor.open("a.py")
        uri, moved = s.editor.desk.uri("a.py"), s.editor.desk.uri("c.py")
        changes = [
            {"kind": "rename", "oldUri": uri, "newUri": moved},
            {"kind": "delete", "uri": s.editor.desk.uri("b.py")},
        ]
        number = s.server.ask("workspace/applyEdit", {"edit": {"documentChanges": changes}})
        assert (await s.response(number))["result"] == {"applied": True}
        await s.quiet()
        assert sorted(path.name for path in root.iterdir()) == ["c.py"]
        assert list(s.server.documents) == [moved]


# --- questions -----------------------------------------------------------------------------------------------


async def answer_to(profile, root, answers):
    async with session(profile, root) as s:
        s.editor.answers = answers
        return await s.response(s.server.question("Allow once", "Reject"))


async def test_answers_are_given_in_order_and_then_none(root):
    async with session(profiles.VSCODE, root) as s:
        s.editor.answers = ["Allow once", Reply({"title": "Sure"}), Fail(-32000, "no")]
        numbers = [s.server.question("Allow once", "Reject") for _ in range(4)]
        responses = [await s.response(number) for number in numbers]
        assert [response.get("result") for response in responses] == [
            {"title": "Allow once"}, {"title": "Sure"}, None, None,
        ]  # fmt: skip
        assert responses[2]["error"]["code"] == -32000
        assert [question.titles for question in s.editor.questions] == [("Allow once", "Reject")] * 4
        assert (await s.editor.question(2)).answer == Reply({"title": "Sure"})


async def test_every_editor_dismisses_in_its_own_way(root):
    assert (await answer_to(profiles.VSCODE, root, [Dismiss()]))["result"] is None
    assert (await answer_to(profiles.KATE, root, [Dismiss()]))["result"] == {}
    assert (await answer_to(profiles.HELIX_25_01, root, ["Reject"]))["error"]["code"] == -32601


@pytest.mark.parametrize("profile", profiles.NEVER_YES, ids=str)
async def test_no_hostile_answer_is_a_yes(profile, root):
    async with session(profile, root) as s:
        s.editor.answers = ["Allow once"]
        number = s.server.question("Allow once", "Reject")
        await s.quiet()
        response = s.server.responses.get(number, {})
        assert response.get("result") != {"title": "Allow once"}


async def test_a_late_answer_comes_when_it_is_told_to(root):
    async with session(profiles.PROFILES["answers-late"], root) as s:
        number = s.server.question("Allow once", "Reject")
        await s.quiet()
        assert number not in s.server.responses
        s.server.send(method="$/cancelRequest", params={"id": number})
        await s.quiet()
        question = await s.editor.question()
        s.editor.answer_late(question)
        assert (await s.response(number))["result"] == {"title": "Allow once"}
        assert question.withdrawn


async def test_helix_forgets_a_question_when_the_next_one_comes(root):
    async with session(profiles.HELIX, root) as s:
        s.editor.answers = [Never(), "Reject"]
        first, second = (s.server.question("Allow once", "Reject") for _ in range(2))
        await s.response(second)
        assert first not in s.server.responses
        with pytest.raises(ValueError, match="not on the screen"):
            s.editor.answer_late(s.editor.questions[0], "Allow once")


async def test_a_person_can_act_while_being_asked(root):
    async with session(profiles.STOCK, root) as s:
        s.editor.open("a.py")

        def decide(question):
            s.editor.type("a.py", "#", at=(0, 0))
            return question.titles[-1]

        s.editor.answers = decide
        number = s.server.question("Allow once", "Reject")
        assert (await s.response(number))["result"] == {"title": "Reject"}
        assert s.copy("a.py").startswith("#")


async def test_a_scripted_title_that_is_not_offered_fails_the_test(root):
    async with session(profiles.STOCK, root, broken=True) as s:
        s.editor.answers = ["Allow all"]
        s.server.question("Allow once")
        await s.quiet()
        assert "Allow all" in s.editor.slips[0]


# --- requests, waiting, the rest -----------------------------------------------------------------------------


async def test_commands_give_results_and_errors(root):
    async with session(profiles.EGLOT, root) as s:
        assert await s.editor.command("tiny.echo", {"a": [1]}) == {"a": [1]}
        with pytest.raises(RpcError) as caught:
            await s.editor.command("tiny.fail")
        assert (caught.value.code, caught.value.data) == (-32803, {"reason": "unknown_id"})


async def test_one_limit_counts_for_all_and_what_a_server_loads_before_its_first_answer_does_not(
    root, monkeypatch
):
    monkeypatch.setattr("outrider.testing.editor.wire_client.START_SECONDS", 0.03)
    async with session(profiles.STOCK, root, broken=True) as s:
        s.editor.seconds = 0.02
        for limit in ("0.03", "0.02"):
            with pytest.raises(
                AssertionError, match=rf"no answer to workspace/executeCommand within {limit} s"
            ):
                await s.editor.command("tiny.silent")
            with pytest.raises(AssertionError, match=rf"no sunrise within {limit} s"):
                await s.editor.wait_for(lambda: None, "sunrise")
            s.editor.seconds = 20.0
            await s.editor.command("tiny.echo")
            s.editor.seconds = 0.02
        s.editor.seconds = 20.0


async def test_a_wait_that_fails_shows_the_last_messages(root):
    async with session(profiles.STOCK, root, broken=True) as s:
        pending = s.editor.command_nowait("tiny.silent")
        with pytest.raises(
            AssertionError, match=r"(?s)no sunrise within 0.01 s; the last messages.*tiny.silent"
        ) as caught:
            await s.editor.wait_for(lambda: None, "sunrise", seconds=0.01)
        assert "stock" in str(caught.value)
        s.editor.cancel_request(pending)
        await s.quiet()
        assert s.sent("$/cancelRequest") == [{"id": pending.id}]


async def test_configuration_is_pulled_or_pushed_as_the_editor_does(root):
    for profile, settings in ((profiles.VSCODE, None), (profiles.NEOVIM, {"outrider": {"model": "m"}})):
        async with session(profile, root) as s:
            s.editor.configure({"model": "m"})
            number = s.server.ask(
                "workspace/configuration", {"items": [{"section": "outrider"}, {"section": "x"}]}
            )
            assert (await s.response(number))["result"] == [{"model": "m"}, None]
            assert s.sent("workspace/didChangeConfiguration") == [{"settings": settings}]


async def test_code_actions_are_taken_by_title(root):
    async with session(profiles.NEOVIM, root) as s:
        s.editor.open("a.py")
        command = {"title": "t", "command": "tiny.echo", "arguments": [{"n": 1}]}
        s.server.actions = [
            {"title": "Outrider: explain selection", "kind": "source.outrider", "command": command}
        ]
        actions = await s.editor.code_actions("a.py", s.editor.range_of("a.py", "y = 2"), only=["source"])
        assert len(actions) == 1
        assert s.sent("textDocument/codeAction")[0]["range"]["start"] == {"line": 1, "character": 0}
        assert await s.editor.take_action("Outrider: explain") == {"n": 1}
        with pytest.raises(AssertionError, match="0 actions"):
            await s.editor.take_action("Outrider: undo turn")


async def test_progress_is_recorded_and_cancelled(root):
    async with session(profiles.VSCODE, root) as s:
        await s.response(s.server.ask("window/workDoneProgress/create", {"token": "p1"}))
        for value in ({"kind": "begin", "title": "Outrider"}, {"kind": "report", "message": "step 1"}):
            s.server.send(method="$/progress", params={"token": "p1", "value": value})
        await s.quiet()
        s.editor.cancel_progress()
        s.server.send(method="$/progress", params={"token": "p1", "value": {"kind": "end"}})
        await s.quiet()
        assert s.sent("window/workDoneProgress/cancel") == [{"token": "p1"}]
        progress = s.editor.progress["p1"]
        assert [report["message"] for report in progress.reports] == ["step 1"]
        assert not progress.running


async def test_a_shown_document_is_opened(root):
    for profile, answers in ((profiles.VSCODE, True), (profiles.KATE, False)):
        async with session(profile, root) as s:
            number = s.server.ask("window/showDocument", {"uri": s.editor.desk.uri("a.py")})
            await s.quiet()
            assert (number in s.server.responses) is answers
            assert s.copy("a.py") == "x = 1\ny = 2\n"
            assert s.editor.shown == [{"uri": s.editor.desk.uri("a.py")}]


async def test_an_editor_that_stops_reading_takes_nothing_until_it_reads_on(root):
    async with session(profiles.STOCK, root) as s:
        s.editor.connection.pause_reading()
        s.server.send(method="window/showMessage", params={"type": 3, "message": "hello"})
        await s.quiet()
        assert s.editor.said == []
        s.editor.read_on()
        await s.quiet()
        assert [said.text for said in s.editor.said] == ["hello"]


EVENT = {"v": 1, "seq": 1, "ts": "2026-01-01T00:00:00.000Z", "sessionId": "ses_1", "type": "session.closed"}
CLOSED = {**EVENT, "data": {"reason": "x"}}
CREATE = "window/workDoneProgress/create"
BROKEN = [
    ("the client does not advertise workspace.applyEdit", profiles.KATE,
     [{"id": 1, "method": "workspace/applyEdit", "params": {"edit": {"changes": {}}}}]),
    ("workspaceEdit.documentChanges", profiles.VIM_LSP,
     [{"id": 1, "method": "workspace/applyEdit", "params": {"edit": {"documentChanges": [
         {"textDocument": {"uri": "file:///x", "version": 1}, "edits": []}]}}}]),
    ("resource operation create", profiles.EGLOT,
     [{"id": 1, "method": "workspace/applyEdit", "params": {"edit": {"documentChanges": [
         {"kind": "create", "uri": "file:///x"}]}}}]),
    ("overlap", profiles.STOCK,
     [{"id": 1, "method": "workspace/applyEdit", "params": {"edit": {"changes": {"file:///x": [
         text_edit((0, 0), (0, 5), ""), text_edit((0, 4), (0, 6), "")]}}}}]),
    ("window.workDoneProgress", profiles.BARE, [{"id": 1, "method": CREATE, "params": {"token": "p"}}]),
    ("used before", profiles.STOCK,
     [{"id": 1, "method": CREATE, "params": {"token": "p"}}, {"id": 2, "method": CREATE, "params": {"token": "p"}}]),
    ("begin for the token 'p', which is unknown", profiles.STOCK,
     [{"method": "$/progress", "params": {"token": "p", "value": {"kind": "begin", "title": "t"}}}]),
    ("begin for the token 'p', which is creating", profiles.PROFILES["never-creates-progress"],
     [{"id": 1, "method": CREATE, "params": {"token": "p"}},
      {"method": "$/progress", "params": {"token": "p", "value": {"kind": "begin", "title": "t"}}}]),
    ("report for the token 'p', which is created", profiles.STOCK,
     [{"id": 1, "method": CREATE, "params": {"token": "p"}},
      {"method": "$/progress", "params": {"token": "p", "value": {"kind": "report"}}}]),
    ("same title", profiles.STOCK,
     [{"id": 1, "method": "window/showMessageRequest",
       "params": {"type": 3, "message": "m", "actions": [{"title": "a"}, {"title": "a"}]}}]),
    ("nobody asked that", profiles.STOCK, [{"id": 77, "result": None}]),
    ("did not ask for events", profiles.STOCK, [{"method": "outrider/event", "params": CLOSED}]),
    ("seq 3 after 1", profiles.STOCK,
     [{"method": "outrider/event", "params": CLOSED}, {"method": "outrider/event", "params": {**CLOSED, "seq": 3}}]),
    ("Extra inputs", profiles.STOCK,
     [{"method": "outrider/event", "params": {**EVENT, "data": {"reason": "x", "other": 1}}}]),
    ("null at .turnId", profiles.STOCK, [{"method": "outrider/event", "params": {**CLOSED, "turnId": None}}]),
    ("not an event type", profiles.STOCK, [{"method": "outrider/event", "params": {**CLOSED, "type": "no.such"}}]),
    ("not a notification of the contract", profiles.STOCK, [{"method": "outrider/hello", "params": {}}]),
    ("offset 5 after 2", profiles.STOCK,
     [{"method": "outrider/stream", "params": {
         "sessionId": "s", "turnId": "t", "messageId": "m", "kind": "text", "offset": offset, "text": "ab"}}
      for offset in (0, 5)]),
]  # fmt: skip


@pytest.mark.parametrize(("problem", "profile", "messages"), BROKEN, ids=[row[0] for row in BROKEN])
async def test_a_server_that_breaks_a_rule_is_found_out(problem, profile, messages, root):
    options = {"events": "did not ask" not in problem}
    async with session(profile, root, broken=True, options=options) as s:
        for message in messages:
            s.server.send(**message)
            await s.quiet()
        assert any(problem in violation for violation in s.editor.watch.violations), s.editor.watch.violations


def event(seq, event_type, data):
    params = {**EVENT, "seq": seq, "turnId": "turn_1", "type": event_type, "data": data}
    return {"method": "outrider/event", "params": params}


FINISHED = event(9, "turn.finished", {"outcome": "completed", "reason": "r", "summary": "s", "usage": {}})
REQUESTED = event(1, "tool.requested", {"callId": "c1", "name": "read_file", "input": {"path": None}})
RESULT = {"callId": "c1", "name": "read_file", "status": "ok", "content": ""}


def numbered(*messages):
    return [
        {**message, "params": {**message["params"], "seq": number}}
        for number, message in enumerate(messages, 1)
    ]


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        (numbered(REQUESTED, event(2, "tool.finished", RESULT), FINISHED), None),
        (numbered(REQUESTED, FINISHED), "its call c1 has no result"),
        (numbered(REQUESTED, *[event(2, "tool.finished", RESULT)] * 2), "a second tool.finished"),
        (numbered(event(2, "tool.finished", RESULT)), "nobody requested"),
        (numbered(FINISHED, FINISHED), "after its turn.finished"),
    ],
)
async def test_every_call_has_one_result_and_every_turn_one_end(messages, problem, root):
    async with session(profiles.STOCK, root, broken=problem is not None, options={"events": True}) as s:
        for message in messages:
            s.server.send(**message)
        await s.quiet()
        if problem is not None:
            assert problem in s.editor.watch.violations[0]
        assert (await s.editor.event(messages[0]["params"]["type"]))["seq"] == 1


RUN = {"sessionId": "ses_1", "turnId": "turn_1"}
STATUS = {
    "sessionId": "ses_1",
    "state": "idle",
    "queue": [],
    "steering": [],
    "open": [],
    "plan": [],
    "usage": {},
}


@pytest.mark.parametrize(
    ("command", "result", "problem"),
    [
        ("outrider.run", RUN, None),
        ("outrider.run", {**RUN, "queued": None}, "null at .queued"),
        ("outrider.run", {**RUN, "colour": "red"}, "Extra inputs"),
        ("outrider.resume", {**STATUS, "state": "asleep"}, "state"),
        ("outrider.events", {"events": [], "nextSeq": 3, "more": False}, None),
        (
            "outrider.events",
            {"events": [], "nextSeq": 2, "more": False},
            "event 2 was sent before the answer",
        ),
        ("outrider.events", {"events": [], "nextSeq": 2, "more": True}, None),
    ],
)
async def test_results_of_commands_are_held_against_the_contract(command, result, problem, root):
    async with session(profiles.STOCK, root, broken=problem is not None, options={"events": True}) as s:
        s.server.results[command] = result
        for seq in (1, 2):
            s.server.send(method="outrider/event", params={**CLOSED, "seq": seq})
        await s.editor.command(command, {"prompt": "p", "sessionId": "ses_1"})
        assert problem is None or problem in s.editor.watch.violations[0]


async def test_a_request_without_an_answer_is_found_at_the_end(root):
    async with session(profiles.STOCK, root, broken=True) as s:
        s.editor.command_nowait("tiny.silent")


# --- over the pipes ------------------------------------------------------------------------------------------

TINY = (sys.executable, str(Path(__file__).with_name("tiny_server.py")))


async def test_a_server_in_a_child_process_is_driven_the_same_way(root):
    editor = FakeEditor(profiles.STOCK, root)
    connection = Stdio(TINY)
    await editor.start(connection)
    editor.open("b.py")
    assert await editor.command("tiny.echo", {"text": "😀"}) == {"text": "😀"}
    await editor.stop()
    assert connection.process.returncode == 0


async def test_a_killed_server_is_noticed_at_once(root):
    editor = FakeEditor(profiles.STOCK, root)
    connection = Stdio(TINY)
    await editor.start(connection)
    pending = editor.command_nowait("tiny.silent")
    connection.kill()
    with pytest.raises(ConnectionError, match="its output ended"):
        await pending
    with pytest.raises(ConnectionError, match="the server is gone"):
        await editor.command("tiny.echo", {})
    assert await connection.wait() == -signal.SIGKILL
    await editor.stop()


async def test_an_exit_code_and_output_that_is_no_lsp_are_violations(root):
    editor = FakeEditor(profiles.STOCK, root)
    connection = Stdio(TINY)
    await editor.start(connection)
    editor.notify("garbage")
    with pytest.raises(ConnectionError, match="not LSP"):
        await editor.wait_for(lambda: None, "the end")
    connection.end_input()
    assert await connection.wait() == 3
    with pytest.raises(AssertionError, match="not LSP"):
        await editor.stop()
