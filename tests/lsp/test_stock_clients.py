"""The main paths over real stdio with pytest-lsp, under the capabilities that real clients send."""

import ast
import asyncio
import json
import os
import sys
from functools import partial

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

BEFORE = "def price(hours):\n    return hours * 3\n"
AFTER = "def price(hours):\n    return hours * 2\n"
URI_PATH = "tariff.py"
SCRIPT = {
    "turns": [
        {"tool_calls": [{"name": "read_file", "input": {"path": "tariff.py"}}]},
        {"tool_calls": [{"name": "edit_file", "input": {"path": "tariff.py", "old": "* 3", "new": "* 2"}}]},
        {"text": "Fixed."},
    ]
}

pytestmark = pytest.mark.filterwarnings("error::pytest_lsp.LspSpecificationWarning")


class Desk:
    """What the user has open, and says."""

    def __init__(self, client: LanguageClient, uri: str) -> None:
        self.client, self.uri, self.text, self.version = client, uri, BEFORE, 1
        self.questions: list[list[str]] = []
        self.answer: str | None = "Allow once"

    def ask(self, params: types.ShowMessageRequestParams) -> types.MessageActionItem | None:
        self.questions.append([action.title for action in params.actions or ()])
        return types.MessageActionItem(self.answer) if self.answer else None

    def edit(self, params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        if params.edit.document_changes is not None:
            (change,) = params.edit.document_changes
            assert isinstance(change, types.TextDocumentEdit)
            assert change.text_document.version == self.version
            edits = change.edits
        else:
            assert params.edit.changes is not None
            edits = params.edit.changes[self.uri]
        lines = self.text.splitlines(keepends=True)
        for edit in reversed(edits):
            start, end = (
                sum(map(len, lines[: place.line])) + place.character
                for place in (edit.range.start, edit.range.end)
            )
            self.text = self.text[:start] + edit.new_text + self.text[end:]
        self.version += 1
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(self.version, self.uri),
                [types.TextDocumentContentChangeWholeDocument(self.text)],
            )
        )
        return types.ApplyWorkspaceEditResult(applied=True)


@pytest_lsp.fixture(
    params=["neovim", "visual-studio-code", "emacs"],
    config=ClientServerConfig(
        server_command=[sys.executable, "-m", "outrider", "serve"], server_env=dict(os.environ)
    ),
)
async def client(lsp_client: LanguageClient, request, tmp_path):
    root = tmp_path / "workspace"
    root.mkdir()
    (root / "tariff.py").write_text(BEFORE)
    (tmp_path / "script.json").write_text(json.dumps(SCRIPT))
    uri = (root / "tariff.py").as_uri()
    lsp_client.desk = Desk(lsp_client, uri)
    # pygls sets attributes on a handler, which a bound method refuses.
    lsp_client.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)(partial(Desk.ask, lsp_client.desk))
    lsp_client.feature(types.WORKSPACE_APPLY_EDIT)(partial(Desk.edit, lsp_client.desk))
    await lsp_client.initialize_session(
        types.InitializeParams(
            capabilities=client_capabilities(request.param),
            workspace_folders=[types.WorkspaceFolder(root.as_uri(), "workspace")],
            initialization_options={
                "model": f"scripted:{tmp_path / 'script.json'}",
                "stateDir": str(tmp_path / "state"),
            },
        )
    )
    item = types.TextDocumentItem(uri, "python", 1, BEFORE)
    lsp_client.text_document_did_open(types.DidOpenTextDocumentParams(item))
    yield
    await asyncio.wait_for(lsp_client.shutdown_session(), 10)


async def command(client: LanguageClient, name: str, **argument):
    params = types.ExecuteCommandParams(name, [argument])
    return await asyncio.wait_for(client.workspace_execute_command_async(params), 20)


def said(client: LanguageClient) -> list[str]:
    return [message.message for message in client.messages]


@pytest.mark.asyncio
async def test_a_task_is_started_approved_finished_and_undone(client: LanguageClient) -> None:
    started = await command(client, "outrider.run", prompt="Correct the price.")
    done = await command(client, "outrider.wait", turnId=started["turnId"], timeout=15)
    assert (done["outcome"], done["summary"], done["reason"]) == ("completed", "Fixed.", "unverified")
    assert client.desk.text == AFTER
    (titles,) = client.desk.questions
    assert set(titles) - {"Review…"} == {"Allow once", "Allow for this session", "Always allow…", "Reject"}
    (reports,) = client.progress_reports.values()
    assert isinstance(reports[0], types.WorkDoneProgressBegin)
    undone = await command(client, "outrider.undo", sessionId=started["sessionId"])
    assert undone["undone"] == [{"path": "tariff.py", "hunks": 1}]
    assert client.desk.text == BEFORE


@pytest.mark.asyncio
async def test_a_dismissed_question_waits_for_a_code_action(client: LanguageClient) -> None:
    client.desk.answer = None
    started = await command(client, "outrider.run", prompt="Correct the price.")
    waiting = await command(client, "outrider.wait", turnId=started["turnId"], timeout=15)
    assert waiting["outcome"] == "needs_input"
    assert client.desk.text == BEFORE
    here = types.Range(types.Position(0, 0), types.Position(0, 0))
    params = types.CodeActionParams(
        types.TextDocumentIdentifier(client.desk.uri), here, types.CodeActionContext(diagnostics=[])
    )
    actions = await asyncio.wait_for(client.text_document_code_action_async(params), 10)
    allow = next(one for one in actions if one.title.startswith("Outrider: Allow once — "))
    # lsprotocol takes every action for a bare Command and makes a text of what it holds.
    chosen = ast.literal_eval(allow.command)
    await command(client, chosen["command"], **chosen["arguments"][0])
    done = await command(client, "outrider.wait", turnId=started["turnId"], timeout=15)
    assert done["outcome"] == "completed"
    assert client.desk.text == AFTER


@pytest.mark.asyncio
@pytest.mark.thorough
async def test_a_turn_that_waits_is_cancelled(client: LanguageClient) -> None:
    client.desk.answer = None
    started = await command(client, "outrider.run", prompt="Correct the price.")
    await command(client, "outrider.wait", turnId=started["turnId"], timeout=15)
    assert await command(client, "outrider.cancel", turnId=started["turnId"]) == {
        "turnId": started["turnId"],
        "outcome": "cancelled",
    }
    assert client.desk.text == BEFORE
