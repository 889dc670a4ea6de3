"""Texts that a client has and the disk has not."""

import pytest
from acp_turns import EDIT

from outrider.acp.capabilities import ClientCapabilities
from outrider.acp.client import Reply
from outrider.acp.editor import ClientEditor
from outrider.testing.acp.profiles import ACP_PROFILES
from outrider.workspace.documents.documents import DocumentStore

READ = {"tool_calls": [{"name": "read_file", "id": "a", "input": {"path": "tariff.py"}}]}
DONE = {"text": "Done."}
TYPED = 'RATE = 3\n\n\ndef price(hours):\n    """Two for each hour begun."""\n    return hours * 3\n'


def seen(*texts):
    return {"text": "I see.", "expect": {"last_message_contains": list(texts)}}


@pytest.mark.parametrize("profile", ["zed", "jetbrains", "avante", "agent-shell"])
async def test_unsaved_text_is_read_and_edited(acp, profile, tariff):
    async with acp(
        profile, [READ, {**EDIT, "expect": {"last_message_contains": "RATE = 3"}}, DONE], ["Allow once"]
    ) as client:
        client.type("tariff.py", TYPED)
        assert await client.prompt(await client.new_session(), "Two an hour.") == "end_turn"
        assert client.written == [tariff]
        assert client.permissions[0].diffs[0]["oldText"] == TYPED
    assert tariff.read_text() == TYPED.replace("hours * 3", "hours * 2")


async def test_a_client_that_gives_what_is_on_disk_keeps_what_is_typed(acp, tariff):
    """The text is edited on disk; what its user typed stays in the buffer, and it asks about the difference."""
    async with acp("codecompanion", [EDIT, DONE], ["Allow once"]) as client:
        client.type("tariff.py", TYPED)
        assert await client.prompt(await client.new_session(), "Two an hour.") == "end_turn"
        assert client.buffers[tariff] == TYPED and client.written == []
    assert "hours * 2" in tariff.read_text()


async def test_what_is_typed_while_the_question_is_open_is_kept(acp, tariff):
    async def type_and_allow(asked):
        client.type("tariff.py", TYPED)
        return "Allow once"

    async with acp("zed", [EDIT, DONE], type_and_allow) as client:
        assert await client.prompt(await client.new_session(), "Two an hour.") == "end_turn"
    assert tariff.read_text() == TYPED.replace("hours * 3", "hours * 2")


async def test_what_is_typed_is_kept_whenever_the_client_is_asked(acp, tariff):
    """Also between the last look and the answer to it; what comes behind that answer no client can tell us."""

    def type_on():
        client.type("tariff.py", "# typed\n" + client.buffers.get(tariff, tariff.read_text()))

    def allow(_):
        client.at_read = type_on
        return "Allow once"

    async with acp("zed", [EDIT, {"text": "Done."}], allow) as client:
        client.type("tariff.py", before := tariff.read_text() + "# begun\n")
        assert await client.prompt(await client.new_session(), "Two an hour.") == "end_turn"
        kept = client.buffers.get(tariff, tariff.read_text())
    assert kept.count("# typed\n") > 1
    assert kept.replace("# typed\n", "") in {before, before.replace("hours * 3", "hours * 2")}


@pytest.mark.parametrize("profile", ["zed", "avante", "plain"])
async def test_other_line_ends(acp, profile, tariff):
    before = tariff.read_bytes().replace(b"\n", b"\r\n")
    tariff.write_bytes(before)
    async with acp(profile, [EDIT, DONE], ["Allow once"]) as client:
        assert await client.prompt(await client.new_session(), "Two an hour.") == "end_turn"
        assert client.written == []
    assert tariff.read_bytes() == before.replace(b"hours * 3", b"hours * 2")


async def test_undo_of_an_edit_of_unsaved_text(acp, tariff):
    async with acp("zed", [EDIT, DONE], ["Allow once"]) as client:
        session_id = await client.new_session()
        client.type("tariff.py", TYPED)
        await client.prompt(session_id, "Two an hour.")
        assert await client.prompt(session_id, "/undo") == "end_turn"
    assert tariff.read_text() == TYPED


@pytest.mark.parametrize("profile", ACP_PROFILES)
async def test_a_file_that_is_not_there_is_made_with_one_yes(acp, profile, workspace):
    look = {"tool_calls": [{"name": "read_file", "id": "r", "input": {"path": "new.md"}}]}
    make = {"name": "write_file", "id": "w", "input": {"path": "new.md", "content": "New.\n"}}
    turns = [look, {"tool_calls": [make], "expect": {"last_message_contains": "does not exist"}}, DONE]
    async with acp(profile, turns, ["Allow once"]) as client:
        assert await client.prompt(await client.new_session(), "Make it.") == "end_turn"
    assert (workspace / "new.md").read_text() == "New.\n"


async def test_an_empty_text_for_a_file_that_is_not_there_opens_nothing(workspace):
    """Codecompanion gives one: the file counted as open, and its user was asked to make it and to edit it by turns, for ever."""

    class Codecompanion:
        can = ClientCapabilities(reads_files=True, writes_files=True)

        async def request(self, *_, **__):
            return Reply({"content": ""})

    documents = DocumentStore()
    editor = ClientEditor(Codecompanion(), documents, lambda *_: None)
    (workspace / "empty.md").touch()
    uris = [(workspace / name).as_uri() for name in ("new.md", "empty.md")]
    await editor.catch_up(uris)
    assert list(documents.uris()) == uris[1:]
