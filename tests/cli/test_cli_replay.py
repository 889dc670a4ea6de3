"""`outrider replay`, `outrider scenario from`, and a model that says again what it said: one export for all three."""

import json
import re
import shutil

import pytest

from outrider.cli.main import main
from outrider.testing.scenario import scripted, start_session

SECRET = "sk-proj-" + "a1B2c3D4e5" * 5
TURNS = [
    {"tool_calls": [{"name": "read_file", "input": {"path": "tariff.py"}, "id": "c_read"}]},
    {"tool_calls": [{"name": "edit_file", "input": {"path": "tariff.py", "old": "* 3", "new": "* 2"}, "id": "c_edit"}]},
    {"text": f"Done with {SECRET}.", "usage": {"inputTokens": 12, "outputTokens": 3}},
]  # fmt: skip


@pytest.fixture
async def session_id(workspace):
    """A session of the log with an approval, an edit and a secret in it."""
    (workspace / "tariff.py").write_text((workspace / "tariff.py").read_text() + f"KEY = '{SECRET}'\n")
    model = scripted(workspace, TURNS)
    async with start_session("stock", workspace, model, answers=["Allow once"]) as editor:
        editor.open("tariff.py")
        assert (await editor.run("Correct it"))["outcome"] == "completed"
    return editor.session_id


@pytest.fixture
def just_exported(workspace, session_id, tmp_path, capfd):
    """That session as a file, from the workspace of the test."""
    target = tmp_path / "session.json"
    assert outrider(workspace, "export", session_id, "-o", str(target)) == 0
    capfd.readouterr()
    return target


@pytest.fixture(scope="module")
def kept():
    """The texts of the files that were exported: a server starts for each."""
    return []


@pytest.fixture
def exported(request, kept, tmp_path):
    """The same from the workspace of whichever test came first."""
    if not kept:
        kept.append(request.getfixturevalue("just_exported").read_text())
    target = tmp_path / "session.json"
    target.write_text(kept[0])
    return target


def outrider(workspace, *arguments):
    place = ["-C", str(workspace), "--state-dir", str(workspace.parent / "workspace.state")]
    return main([*arguments, *place])


def shown(capfd):
    return capfd.readouterr().out


def edit(path, change):
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def test_a_session_of_the_log_comes_again(workspace, session_id, capfd):
    assert outrider(workspace, "replay") == 0
    told = shown(capfd)
    assert "Edit tariff.py (+1 −1)" in told
    assert told.rstrip().endswith("with the same results.")
    assert outrider(workspace, "replay", session_id, "--assert") == 0
    assert shown(capfd).startswith("The same: ")


def test_a_file_comes_again_where_nothing_else_is_left(workspace, just_exported, capfd):
    exported = just_exported
    assert SECRET not in exported.read_text()
    assert str(workspace.parent) not in exported.read_text(), "the folder of the script is nobody's business"
    before = sorted(exported.parent.iterdir())
    shutil.rmtree(workspace)
    workspace.mkdir()
    assert main(["replay", str(exported), "--assert"]) == 0
    assert shown(capfd).startswith("The same: ")
    assert not any(workspace.iterdir())
    assert sorted(exported.parent.iterdir()) == before


def test_only_what_is_wanted_is_shown(workspace, exported, capfd):
    last = len(json.loads(exported.read_text())["events"])
    assert main(["replay", str(exported), "--from", str(last)]) == 0
    told = shown(capfd)
    assert "tariff.py" not in told
    assert f"The same: of {last} events, the loop ran 1 again ({last - 1} events before them reused)" in told


def test_a_difference_says_where_and_what(workspace, exported, capfd):
    def change(data):
        (phase,) = [e for e in data["events"] if e["type"] == "turn.phase" and e["data"]["to"] == "verify"]
        phase["data"]["reason"] = "thought so"
        change.seq = phase["seq"]

    edit(exported, change)
    assert main(["replay", str(exported), "--assert"]) == 1
    told = shown(capfd)
    assert f"Different at event {change.seq} of " in told
    assert '- "thought so"' in told
    assert '+ "answered"' in told
    assert main(["replay", str(exported)]) == 0, "only --assert makes a difference a failure"


def test_another_event_is_shown_whole(workspace, exported, capfd):
    def change(data):
        (event,) = [
            e for e in data["events"] if e["type"] == "tool.started" and e["data"]["callId"] == "c_edit"
        ]
        event["type"] = "tool.requested"
        event["data"] |= {"name": "x", "input": {}}

    edit(exported, change)
    assert main(["replay", str(exported), "--assert"]) == 1
    told = shown(capfd)
    assert "the log:    tool.requested (turn_1)" in told
    assert "the replay: tool.started (turn_1)" in told
    assert "name:" in told
    assert "callId" not in told, "it is the same in both"


def test_a_difference_in_the_messages_shows_the_message(workspace, exported, capfd):
    def change(data):
        (event,) = [
            e for e in data["events"] if e["type"] == "tool.finished" and e["data"]["callId"] == "c_read"
        ]
        event["data"]["content"] = event["data"]["content"].replace("* 3", "* 4")

    edit(exported, change)
    assert main(["replay", str(exported), "--assert"]) == 1
    told = shown(capfd)
    assert "message 4 (tool).text:" in told
    assert re.search(r"^    -.*\* 3$", told, re.MULTILINE)
    assert re.search(r"^    \+.*\* 4$", told, re.MULTILINE)
    assert not re.search(r"[0-9a-f]{32}", told), "a hash says nothing to a user"


def test_a_long_value_is_shown_where_it_differs(workspace, exported, capfd):
    def change(data):
        (event,) = [
            e for e in data["events"] if e["type"] == "tool.requested" and e["data"]["callId"] == "c_edit"
        ]
        event["data"]["input"]["old"] = "* 3" + " " * 900 + "here"

    edit(exported, change)
    assert main(["replay", str(exported), "--assert"]) == 1
    told = shown(capfd)
    assert '    + "* 3"' in told
    assert '    - "* 3  ' in told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.json"], "there is no file nowhere.json"),
        (["nowhere.jsn"], "there is no file nowhere.jsn, and it is not the id of a session either"),
        (["."], "is a folder"),
        (
            ["ses_none"],
            "there is no session 'ses_none'; `outrider sessions` lists those of a folder, -C names",
        ),
        (["--from", "0"], "--from"),
    ],
)
def test_what_cannot_be_replayed(workspace, session_id, arguments, said, capfd):
    assert outrider(workspace, "replay", *arguments) == 2
    told = capfd.readouterr()
    assert said in told.out + told.err


def test_an_event_that_is_not_there(workspace, exported, capfd):
    assert main(["replay", str(exported), "--from", "9999"]) == 2
    assert "there is no event 9999" in capfd.readouterr().err


def change_of(kind, **data):
    def change(exported):
        next(e for e in exported["events"] if e["type"] == kind)["data"].update(data)

    return change


def time_of_last(exported, ts):
    exported["events"][-1]["ts"] = ts


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            change_of("model.responded", finishReason="stopp"),
            "data.finishReason: is “stopp”; there are stop, ",
        ),
        (
            change_of("edit.proposed", path="other.py"),
            "data.path: is “tariff.py”, but “other.py” was proposed",
        ),
        (lambda exported: time_of_last(exported, "soon"), "ts: “soon” is not a time"),
        (lambda exported: time_of_last(exported, "2001-01-01T00:00:00"), "has no time zone"),
        (lambda exported: exported.update(more=1), "more: there is no such key"),
    ],
)
def test_a_file_that_does_not_hold_together(exported, change, said, capfd):
    edit(exported, change)
    assert main(["replay", str(exported), "--assert"]) == 2
    assert said in capfd.readouterr().err


def test_a_file_that_is_no_export(tmp_path, capfd):
    path = tmp_path / "other.json"
    path.write_text("{}")
    assert main(["replay", str(path)]) == 2
    assert str(path) in capfd.readouterr().err


# --- a scenario out of it ------------------------------------------------------------------------------------


def test_an_export_is_a_scenario(exported, tmp_path, capfd):
    target = tmp_path / "again.json"
    assert main(["scenario", "from", str(exported), "-o", str(target)]) == 0
    assert f"Scenario in {target}: 1 file." in capfd.readouterr().err
    made = json.loads(target.read_text())
    assert made["name"] == "again"
    assert made["answers"] == ["Allow once"]
    assert made["open"] == ["tariff.py"]
    assert "* 3" in made["workspace"]["tariff.py"]
    assert "* 2" in made["expect"]["buffers"]["tariff.py"]
    assert SECRET not in target.read_text()
    assert main(["scenario", "run", str(target)]) == 0
    assert main(["scenario", "from", str(exported), "-o", str(target)]) == 2
    assert "--force" in capfd.readouterr().err


def test_a_scenario_goes_to_standard_output(exported, capfd):
    assert main(["scenario", "from", str(exported), "--name", "Odd Name!"]) == 0
    assert json.loads(capfd.readouterr().out)["name"] == "odd_name"


def test_a_scenario_out_of_nothing(tmp_path, capfd):
    assert main(["scenario", "from", str(tmp_path / "none.json")]) == 2
    assert "none.json" in capfd.readouterr().err.replace("\n", "")
    assert main(["scenario", "from", "ses_none"]) == 2
    assert "`outrider export ses_none -o FILE`" in capfd.readouterr().err


# --- a model out of it ---------------------------------------------------------------------------------------


async def test_a_recorded_model_says_again_what_was_said(workspace, exported):
    settings = {"testing": {"ids": "sequential"}, "stateDir": str(workspace.parent / "other.state")}
    model = f"recorded:{exported}"
    async with start_session("stock", workspace, model, settings, answers=["Reject"]) as editor:
        result = await editor.run("Correct it again")
    assert result["outcome"] == "completed"
    assert result["summary"].startswith("Done with [")
    assert result["usage"]["inputTokens"] == 12
    statuses = [event["data"]["status"] for event in editor.events_of("tool.finished")]
    assert statuses == ["ok", "denied"], "the tools are run anew"


async def test_a_recorded_model_that_cannot_be_read(workspace, tmp_path):
    path = tmp_path / "broken.json"
    path.write_text("{")
    async with start_session("stock", workspace, f"recorded:{path}") as editor:
        await editor.wait_for(
            lambda: any("recorded session cannot" in said.text for said in editor.said), "message"
        )
