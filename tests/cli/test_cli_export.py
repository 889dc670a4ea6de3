"""`outrider export`: a file that is whole, the user's own, and honest about what was taken out."""

import json
import stat

import pytest

from outrider.cli.export import described, encoded, write_file
from outrider.cli.main import main
from outrider.store.exported import parse_export, read_export
from outrider.testing.scenario import scripted, start_session
from outrider_protocol.export import Export


@pytest.fixture
async def session_id(workspace):
    """A session of the log that nobody runs."""
    turns = [{"tool_calls": [{"name": "read_file", "input": {"path": "tariff.py"}}]}, {"text": "Done."}]
    async with start_session("stock", workspace, scripted(workspace, turns)) as editor:
        await editor.run(f"Look at {workspace}/tariff.py")
    return editor.session_id


def exported(workspace, *arguments):
    state = workspace.parent / "workspace.state"
    return main(["export", *arguments, "-C", str(workspace), "--state-dir", str(state)])


def test_the_latest_session_goes_into_a_file(workspace, session_id, tmp_path, capfd):
    target = tmp_path / "session.json"
    assert exported(workspace, "-o", str(target)) == 0
    export = read_export(target)
    assert isinstance(export, Export)
    assert export.session_id == session_id
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert str(workspace) not in target.read_text()
    told = capfd.readouterr()
    assert told.out == ""
    assert f"Exported session {session_id} to {target}" in told.err
    assert "Taken out: folder of the machine: " in told.err
    assert "Check it before you share it" in told.err
    assert list(tmp_path.glob(".outrider-*")) == []


def test_a_session_goes_to_standard_output(workspace, session_id, capfd):
    assert exported(workspace, session_id) == 0
    told = capfd.readouterr()
    assert parse_export(told.out.encode()).session_id == session_id
    assert "Taken out" in told.err


@pytest.mark.thorough
def test_a_file_that_nobody_could_read_is_not_handed_over(
    workspace, session_id, tmp_path, capfd, monkeypatch
):
    monkeypatch.setattr("outrider.cli.export.encoded", lambda _: b'{"format": "outrider-export"}')
    assert exported(workspace, "-o", str(tmp_path / "session.json")) == 1
    assert f"session {session_id} was not exported" in " ".join(capfd.readouterr().err.split())
    assert not (tmp_path / "session.json").exists()


def test_a_file_is_replaced_only_by_force(workspace, session_id, tmp_path, capfd):
    target = tmp_path / "session.json"
    target.write_text("mine")
    assert exported(workspace, "-o", str(target)) == 2
    assert target.read_text() == "mine"
    assert "already exists; --force replaces it" in " ".join(capfd.readouterr().err.split())
    assert exported(workspace, "-o", str(target), "--force") == 0
    assert read_export(target).session_id == session_id


@pytest.mark.parametrize(
    ("arguments", "words"),
    [([], "this folder has no sessions yet"), (["ses_no"], "there is no session")],
)
@pytest.mark.thorough
def test_what_is_not_there_is_not_exported(workspace, tmp_path, capfd, arguments, words):
    target = tmp_path / "session.json"
    assert exported(workspace, *arguments, "-o", str(target)) == 2
    assert words in " ".join(capfd.readouterr().err.split())
    assert not target.exists()


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "link").symlink_to(tmp_path / "behind")
    assert write_file(tmp_path / "folder", b"x", force=True) == f"{tmp_path / 'folder'} is not a file"
    assert "cannot be written" in write_file(tmp_path / "loop", b"x", force=True)
    assert "No such file" in write_file(tmp_path / "none" / "a", b"x", force=False)
    assert "null" in write_file(tmp_path / "a\0b", b"x", force=False)
    assert write_file(tmp_path / "link", b"one", force=False) is None
    assert (tmp_path / "behind").read_bytes() == b"one"
    assert write_file(tmp_path / "link", b"two", force=True) is None
    assert (tmp_path / "behind").read_bytes() == b"two"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["behind", "folder", "link", "loop"]


def test_a_file_made_meanwhile_is_not_replaced(tmp_path, monkeypatch):
    target = tmp_path / "a"
    monkeypatch.setattr(
        "outrider.cli.export.secrets.token_hex", lambda _: target.write_text("theirs") and "1"
    )
    assert "already exists" in write_file(target, b"mine", force=False)
    assert target.read_text() == "theirs"


def test_halves_of_characters_survive_the_file():
    assert json.loads(encoded({"a": "é\ud800"})) == {"a": "é\ud800"}
    assert "é".encode() in encoded({"a": "é"})


def test_what_was_taken_out_is_said_by_kind_and_number():
    said = described(
        {"sessionId": "s", "events": [1], "contents": {}, "removed": {"token": 1, "name": 3}}, None
    )
    assert said.startswith(
        "Exported session s: 1 event, 0 texts.\nTaken out: token: 1 place; name: 3 places.\n"
    )
    assert "Taken out: nothing." in described({"sessionId": "s", "events": [], "contents": {}}, None)
