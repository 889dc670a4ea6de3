"""What a provider sent is kept where the settings say so, without secrets, and played again."""

import json
import stat
from pathlib import Path

import pytest

from outrider.agent.service import export
from outrider.agent.service.export import write
from outrider.store.exported import read_export
from outrider.testing.scenario import embedded, scripted, start_session
from outrider_protocol.export import Export
from provider_server import IN_DIALECT, ProviderServer, Said, breaks, fails

KEY = "planted-key-3141592653"
TOKEN = "ghp_" + "aB3dE6gH9" * 4
TURNS = (
    Said(
        "I look at both.",
        [("call_a", "read_file", {"path": "README.md"}), ("call_b", "list_files", {"path": "."})],
        reasoning="First the readme.",
        signed="c2lnbmVk",
    ),
    fails(503, {"error": {"message": f"overloaded, key {KEY}"}}),
    Said(calls=[("call_c", "edit_file", {"path": "tariff.py", "old": "hours * 3", "new": "hours * 2"})]),
    Said("Done 😀."),
)


def provider(server, kind):
    headers = {"x-team": f"team {KEY}"}
    return {"kind": kind, "baseUrl": server.url, "apiKeyEnv": "MY_API_KEY", "headers": headers}


async def record(workspace, kind, *turns, wanted=True, prompt=f"Correct it: Authorization: Bearer {TOKEN}"):
    """A session with a provider; gives its editor and the recordings that there are."""
    async with ProviderServer() as server:
        server.plays(kind, *turns)
        settings = {
            "providers": {"local": provider(server, kind)},
            "testing": None,
            "reminders": False,
            "recording": wanted,
            "retry": {"attempts": 2},
            "repositoryMap": {"enabled": False},  # it is up to chance with which step it comes
            "models": {"local/some-model": {"toolFormat": "native"}},
        }
        connection = embedded(workspace, env={"MY_API_KEY": KEY})
        async with start_session(
            "stock", workspace, "local/some-model", settings, connection=connection, answers=["Allow once"]
        ) as editor:
            await editor.run(prompt)
    folder = Path(editor.options["stateDir"]) / export.FOLDER
    return editor, sorted(folder.glob("*")) if folder.exists() else []


def told(events):
    """What the model said and what came of it, without ids and times."""
    found = []
    for event in events:
        data = event["data"]
        match event["type"]:
            case "model.responded":
                calls = [(call["name"], json.loads(call["arguments"])) for call in data["toolCalls"]]
                said = (data["text"], data.get("reasoning"), calls, data["finishReason"], data["usage"])
                found.append((event["type"], *said, data.get("providerData")))
            case "tool.finished":
                found.append((event["type"], data["name"], data["status"], data["content"]))
            case "turn.finished":
                found.append((event["type"], data["outcome"], data["summary"]))
            case "error" if data["code"] == "language_server":
                pass  # which ones there are is up to the machine
            case kind if kind not in ("model.retried", "model.failed"):
                found.append(kind)
    return found


@pytest.mark.parametrize("kind", sorted(IN_DIALECT))
async def test_a_recorded_session_plays_again(kind, workspace, outrider_workspace):
    files = {
        str(path.relative_to(workspace)): path.read_text() for path in workspace.rglob("*") if path.is_file()
    }
    first, (kept,) = await record(workspace, kind, *TURNS)
    again = outrider_workspace(files, "again")
    async with start_session("stock", again, f"recorded:{kept}", answers=["Allow once"]) as editor:
        ended = await editor.run(f"Correct it: Authorization: Bearer {TOKEN}")
    assert ended["outcome"] == "completed"
    assert told(editor.events) == told(first.events)
    kept = [event["data"].get("providerData", {}) for event in editor.events_of("model.responded")]
    assert ("c2lnbmVk" in kept[0].get("blocks", "")) == (kind != "ollama")  # which has nothing of that sort
    assert (again / "tariff.py").read_text() == (workspace / "tariff.py").read_text()


async def test_no_secret_is_in_a_recording(workspace):
    (workspace / "README.md").write_text(f"The token is {TOKEN}.\n")
    answers = (*TURNS[:-1], Said(f"Done with {TOKEN} and {KEY}."))
    _, (kept,) = await record(workspace, "openai-chat", *answers)
    text = kept.read_text()
    for secret in (KEY, TOKEN, "x-team", "127.0.0.1", str(workspace)):
        assert secret not in text
    assert "[secret 1]" in text
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    assert isinstance(read_export(kept), Export)


async def test_nothing_is_kept_where_nobody_wants_it(workspace):
    assert (await record(workspace, "anthropic", Said("Hello."), wanted=False))[1] == []


async def test_a_workspace_cannot_have_itself_recorded(workspace):
    model = scripted(workspace, [{"text": "Done."}])
    async with start_session(
        "vscode", workspace, model, {"events": True}, configuration={"recording": True}
    ) as editor:
        await editor.run("Say it")
    assert not (Path(editor.options["stateDir"]) / export.FOLDER).exists()


async def test_an_answer_that_broke_off_breaks_off_again(workspace, outrider_workspace):
    broken = breaks("openai-chat", Said("Hello there, this breaks off."), 700)
    _, (kept,) = await record(workspace, "openai-chat", broken, broken)
    again = outrider_workspace({}, "again")
    async with start_session("stock", again, f"recorded:{kept}") as editor:
        ended = await editor.run("Hello")
    assert (ended["outcome"], ended["reason"]) == ("failed", "cut_stream")


def test_recordings_are_bounded(tmp_path, monkeypatch):
    def one(number):
        return Export(program="1", session_id=f"ses_{number}", events=[], contents={"0": "x" * 1000})

    def names():
        return {path.name for path in tmp_path.iterdir()}

    monkeypatch.setattr(export, "MOST_RECORDED_FILES", 3)
    for number in range(5):
        assert write(tmp_path, one(number)) is None
    assert names() == {"ses_2.json", "ses_3.json", "ses_4.json"}
    monkeypatch.setattr(export, "MOST_RECORDED_BYTES", 2500)
    assert write(tmp_path, one(3)) is None
    assert names() == {"ses_3.json", "ses_4.json"}


def test_a_recording_that_cannot_be_written_says_so(tmp_path):
    (tmp_path / "file").write_text("")
    problem = write(tmp_path / "file", Export(program="1", session_id="ses_1", events=[], contents={}))
    assert problem is not None
    assert "ses_1.json cannot be written" in problem
