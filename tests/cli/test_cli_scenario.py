"""`outrider scenario run`: what it finds, what it prints, how it ends."""

import json
import subprocess
import sys

import pytest

from outrider.cli import main as command_line

HOLDS = {
    "version": 1,
    "name": "holds",
    "model": {"turns": [{"text": "Done."}]},
    "steps": [{"do": "run", "prompt": "Go"}],
    "expect": {"outcome": "completed"},
}
FAILS = {**HOLDS, "name": "fails", "expect": {"outcome": "failed", "response": "Nothing."}}


@pytest.fixture
def written(tmp_path):
    def write(name, data):
        path = tmp_path / "scenarios" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(data))
        return str(path)

    return write


@pytest.fixture(autouse=True)
def _own_folder_for_what_is_kept(tmp_path, monkeypatch):
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))


def run(*arguments):
    return command_line.main(["scenario", "run", *arguments])


def test_a_line_for_each_scenario_and_failures_below(written, capsys, tmp_path):
    assert run(written("holds.json", HOLDS)) == 0
    out = capsys.readouterr().out
    assert out.startswith("ok      holds  ")
    assert out.count("\n") == 1
    assert run(written("holds.json", HOLDS), written("fails.json", FAILS)) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("ok      holds  ")
    assert lines[0].endswith(" s")
    assert lines[1].startswith("failed  fails  ")
    assert lines[2].endswith("/fails.json"), "the file is named"
    assert lines[3:6] == [
        "  expect.outcome",
        "    expected: failed",
        "    actual:   completed (no_changes): 'Done.'",
    ]
    assert "    -Nothing.  (no line end)" in lines
    assert lines[-1] == "2 scenarios: 1 ok, 1 failed"
    assert not list((tmp_path / "tmp").iterdir())


def test_a_folder_means_its_scenarios(written, capsys, tmp_path):
    written("deep/holds.json", {**HOLDS, "include": ["base.json"]})
    written("deep/base.json", {"model": {"turns": [{"text": "Done."}]}})
    written("_base.json", {"model": {"turns": []}})
    written("manifest.json", {"version": 1, "scenarios": []})
    (tmp_path / "scenarios" / "_notes.json").write_text("{")
    (tmp_path / "scenarios" / "folder.json").mkdir()
    assert run(str(tmp_path / "scenarios")) == 0
    out = capsys.readouterr().out
    assert out.count("ok      holds") == 1
    assert out.count("\n") == 1


def test_what_is_broken_in_a_folder_is_not_passed_over(written, capsys, tmp_path):
    written("deep/holds.json", HOLDS)
    broken = tmp_path / "scenarios" / "broken.json"
    broken.write_text("{")
    listed = written("list.json", [1])
    versionless = written("versionless.json", {"name": "x", "steps": []})
    alone = written("alone.json", {"model": {}})
    assert run(str(tmp_path / "scenarios")) == 2
    out = capsys.readouterr().out
    assert f"cannot be played  {broken}:1:2: not JSON" in out
    assert f"cannot be played  {listed}: not an object" in out
    assert f"cannot be played  {versionless}: version: is missing" in out
    assert f"cannot be played  {alone}: version: is missing" in out
    assert "5 scenarios: 1 ok, 0 failed, 4 cannot be played" in out


def test_a_file_that_cannot_be_played_is_exit_code_two_and_the_others_are_played(written, capsys):
    bad = written("bad.json", {**HOLDS, "version": 2})
    assert run(bad, written("holds.json", HOLDS)) == 2
    out = capsys.readouterr().out
    assert f"cannot be played  {bad}: version: 2 is not known; known are: 1" in out
    assert "ok      holds" in out
    assert out.endswith("2 scenarios: 1 ok, 0 failed, 1 cannot be played\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "FILE"),
        (["--profile", "emacs", "x.json"], "there is no editor “emacs”; available: "),
        (["--connection", "pigeon", "x.json"], "pigeon"),
        (["."], "it contains no scenarios"),
    ],
)
def test_a_slip_is_a_usage_error(arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(*arguments) == 2
    captured = capsys.readouterr()
    assert words in " ".join((captured.out + captured.err).split())


def test_connection_and_profile_go_before_what_the_file_says(written, capsys):
    steps = [*HOLDS["steps"], {"do": "command", "name": "outrider.sessions"}]
    message = {
        "to": "server",
        "method": "initialize",
        "params": {"clientInfo": {"name": "Kate", "version": "24.12.0"}},
    }
    path = written("kate.json", {**HOLDS, "steps": steps, "expect": {"messages": [message]}})
    assert run(path) == 1
    assert run(path, "--profile", "kate", "--connection", "stdio") == 0


def test_json_is_one_object_a_scenario(written, capsys):
    code = run("--json", written("holds.json", HOLDS), written("fails.json", FAILS), written("bad.json", {}))
    captured = capsys.readouterr()
    holds, fails, bad = map(json.loads, captured.out.splitlines())
    assert code == 2
    assert (holds["name"], holds["status"], holds["failures"]) == ("holds", "ok", [])
    assert [failure["where"] for failure in fails["failures"]] == ["expect.outcome", "expect.response"]
    assert fails["failures"][0]["expected"] == "failed"
    assert (bad["status"], bad["file"].endswith("bad.json")) == ("bad", True)
    assert "version: is missing" in bad["problem"]
    assert "failed  fails" in captured.err


def test_what_is_kept_can_be_looked_at(written, capsys, tmp_path):
    assert run("--keep", written("holds.json", {**HOLDS, "workspace": {"a.txt": "a"}})) == 0
    (folder,) = (tmp_path / "tmp").iterdir()
    assert f"  in {folder}" in capsys.readouterr().out
    assert (folder / "workspace" / "a.txt").read_text() == "a"
    assert list((folder / "workspace.state").iterdir())


def test_transcripts_are_written_on_demand_beside_the_file(written, capsys, tmp_path):
    path = written("holds.json", {**HOLDS, "expect": {"golden": "holds.golden"}})
    assert run(path) == 1
    assert "there is no such file; --update-golden or UPDATE_GOLDEN=1 writes it" in capsys.readouterr().out
    assert run("--update-golden", path) == 0
    assert f"  golden written: {tmp_path}/scenarios/holds.golden\n" in capsys.readouterr().out
    assert run(path) == 0
    kept = tmp_path / "scenarios" / "holds.golden"
    kept.write_text(kept.read_text().replace('"prompt": "Go"', '"prompt": "Come"', 1))
    capsys.readouterr()
    assert run(path) == 1
    assert 'data.prompt: expected "Come"' in capsys.readouterr().out


def test_a_transcript_is_of_one_editor(written, capsys):
    path = written("holds.json", {**HOLDS, "expect": {"golden": "holds.golden"}})
    assert run("--profile", "kate", path) == 0
    assert "  the transcript is of profile stock; it is not compared\n" in capsys.readouterr().out
    assert run("--profile", "kate", "--update-golden", path) == 2
    assert "transcripts need the scenario's own editor" in " ".join(capsys.readouterr().err.split())


def test_other_commands_do_not_load_what_plays_scenarios():
    code = (
        "import sys; from outrider.cli import main; main.main(['sessions', '--help']); "
        "sys.exit(any(name.startswith('outrider.testing') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_the_help_says_what_it_takes(capsys):
    assert run("--help") == 0
    out = capsys.readouterr().out
    for option in ("--connection", "--profile", "--keep", "--update-golden", "--json"):
        assert option in out


@pytest.mark.parametrize("verb", ["run", "from"])
def test_a_name_that_is_too_long_is_a_problem(verb, capsys):
    assert command_line.main(["scenario", verb, f"ses_{'s' * 300}"]) == 2
    said = capsys.readouterr()
    assert "File name too long" in said.out + said.err
