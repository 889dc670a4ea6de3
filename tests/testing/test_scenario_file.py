"""Scenario files: what is read, what they include, and what is said of those that cannot be played."""

import json
import os

import pytest

from outrider.testing.scenario_files.scenario_file import ScenarioProblem, load_scenario
from outrider_protocol.scenario import Scenario

SMALLEST = {
    "version": 1,
    "name": "smallest",
    "model": {"turns": [{"text": "Done."}]},
    "steps": [{"do": "run", "prompt": "Go"}],
    "expect": {"outcome": "completed"},
}


@pytest.fixture
def written(tmp_path):
    """Writes files: `written(name, data)`; gives the path."""

    def write(name, data):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(data if isinstance(data, str) else json.dumps(data), "utf-8")
        return path

    return write


def problem(path):
    loaded = load_scenario(path)
    assert isinstance(loaded, ScenarioProblem), loaded
    return loaded.message


def test_the_smallest_scenario(written):
    scenario = load_scenario(written("s.json", {**SMALLEST, "$schema": "../schema.json"}))
    assert isinstance(scenario, Scenario)
    assert (scenario.profile, scenario.connection, scenario.expect.outcome) == (
        "stock",
        "in-process",
        "completed",
    )


def with_steps(*steps):
    return {"steps": [*SMALLEST["steps"], *steps]}


@pytest.mark.parametrize(
    ("change", "place", "said"),
    [
        ({"nam": "x"}, "nam", "there is no such key"),
        ({"name": "Not a name"}, "name", "pattern"),
        ({"model": {}}, "model.turns", "is missing"),
        ({"model": {"turns": [{"txt": "x"}]}}, "model.turns[0].txt", "there is no such key"),
        ({"steps": []}, "steps", "at least 1"),
        ({"steps": [{"do": "jump"}]}, "steps[0]", "there is no step 'jump'; there are run, wait, "),
        ({"steps": [{"prompt": "x"}]}, "steps[0]", "`do` is missing"),
        ({"steps": [{"do": "run", "promt": "x"}]}, "steps[0].prompt", "is missing"),
        (
            with_steps({"do": "type", "path": "a", "text": "x", "txt": "y"}),
            "steps[1].txt",
            "there is no such key",
        ),
        (with_steps({"do": "answer"}), "steps[1]", "exactly one of `decision`, `answer` and `error`"),
        (with_steps({"do": "answer", "answer": 1}), "steps[1].answer", "string"),
        (
            with_steps({"do": "type", "path": "a", "text": "", "replace": "x", "at": [0, 0]}),
            "steps[1]",
            "exclude",
        ),
        ({"answers": [{"too": "x"}]}, "answers[0].too", "there is no such key"),
        ({"answers": [{"to": "x"}]}, "answers[0]", "exactly one of `title` and `how`"),
        (
            {"expect": {"outcom": "x"}},
            "expect.outcom",
            "there is no such key; did you mean `outcome`?",
        ),
        ({"expect": {"outcome": "done"}}, "expect.outcome", "completed"),
        ({"profile": "emacs"}, "profile", "there is no editor 'emacs'; there are "),
        ({"expect": {"contains": ["turn.begun"]}}, "expect.contains[0]", "there is no event 'turn.begun'"),
        ({"expect": {"events": [{"type": "x"}]}}, "expect.events[0]", "there is no event 'x'"),
        ({"expect": {"lacks": ["x"]}}, "expect.lacks[0]", "there is no event 'x'"),
        ({"expect": {"ends_with": ["x"]}}, "expect.ends_with[0]", "there is no event 'x'"),
        (with_steps({"do": "until", "event": {"type": "x"}}), "steps[1].event", "there is no event 'x'"),
        (
            {"expect": {"requests": [{}, {}, {}]}},
            "expect.requests",
            "3 requests, but the script has 1 answer",
        ),
        ({"expect": {"left_over": 2}}, "expect.left_over", "the script has 1 answer"),
        (
            {"expect": {"questions": []}, "answers": ["Reject"]},
            "expect.questions",
            "1 answer to 0 questions",
        ),
        ({"steps": [{"do": "wait"}]}, "steps[0]", "wait: no turn has been begun"),
        ({"steps": [{"do": "steer", "text": "x"}]}, "steps[0]", "steer: no turn"),
        ({"steps": [{"do": "cancel"}]}, "steps[0]", "cancel: no turn"),
        ({"steps": [{"do": "answer", "answer": "x"}]}, "steps[0]", "answer: no turn"),
        ({"steps": [{"do": "read_log"}]}, "steps[0]", "read_log: no turn"),
        ({"tools": [{"name": "a"}, {"name": "a"}]}, "tools[1].name", "tools[0] is called 'a' too"),
        (
            {"tools": [{"name": "a", "replies": [{}]}]},
            "tools[0].replies[0]",
            "give `content`, or another `how`",
        ),
        ({"tools": [{"name": "read_file"}]}, "tools[0].name", "'read_file' is a tool of Outrider's own"),
        ({"settings": {"stateDir": "/s"}}, "settings.stateDir", "its own folder"),
        (
            {"expect": {"contains": ["turn.parked"], "lacks": ["turn.parked"]}},
            "expect.lacks[0]",
            "`contains` has 'turn.parked' too",
        ),
        ({"expect": {}}, "expect", "nothing is expected"),
        ({"version": True}, "version", "True is not known"),
        ({"version": 1.0}, "version", "1.0 is not known"),
        ({"workspace": {"../a": ""}}, 'workspace["../a"]', "leaves the folder"),
        ({"workspace": {"/etc/a": ""}}, 'workspace["/etc/a"]', "leaves the folder"),
        ({"workspace": {"": ""}}, 'workspace[""]', "names no file"),
        ({"workspace": {"a": "", "a/b": ""}}, 'workspace["a/b"]', "lies in something that is a file"),
        ({"open": ["x/../../a"]}, "open[0]", "leaves the folder"),
        ({"open": ["a.py"]}, "open[0]", "`workspace` has no file 'a.py'"),
        (with_steps({"do": "write", "path": "../a"}), "steps[1].path", "leaves the folder"),
        (with_steps({"do": "save", "path": "/a"}), "steps[1].path", "leaves the folder"),
        (with_steps({"do": "rename", "path": "a", "to": "../b"}), "steps[1].to", "leaves the folder"),
        (
            {"answers": [{"title": "x", "first": [{"do": "open", "path": "../a"}]}]},
            "answers[0].first[0].path",
            "leaves the folder",
        ),
        (
            {"otherwise": {"how": "never", "first": [{"do": "open", "path": ".."}]}},
            "otherwise.first[0].path",
            "leaves",
        ),
        ({"expect": {"files": {"../a": None}}}, 'expect.files["../a"]', "leaves the folder"),
        ({"expect": {"buffers": {"/a": ""}}}, 'expect.buffers["/a"]', "leaves the folder"),
        ({"expect": {"golden": "../x.golden"}}, "expect.golden", "leaves the folder"),
    ],
)
def test_what_is_wrong_is_said_with_its_file_and_place(written, change, place, said):
    path = written("s.json", {**SMALLEST, **change})
    message = problem(path)
    assert message.startswith(f"{path}: {place}: "), message
    assert said in message


def test_a_version_that_is_not_known_is_named_with_those_that_are(written):
    path = written("s.json", {**SMALLEST, "version": 2})
    assert problem(path) == f"{path}: version: 2 is not known; known are: 1"
    path = written("s.json", {"name": "x"})
    assert problem(path) == f"{path}: version: is missing; known are: 1"


def test_all_that_is_wrong_is_said_but_not_without_end(written):
    message = problem(written("s.json", {**SMALLEST, **{f"key{number}": 1 for number in range(5)}}))
    assert message.count("there is no such key") == 3
    assert message.endswith("and 2 more")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", ":1:2: not JSON"),
        (b"\xff{}", "not UTF-8 at byte 0"),
        (
            b'{"name": "a", "model": {"turns": [], "turns": []}}',
            'the key "turns" appears twice in one object',
        ),
        (b"[]", "not an object"),
        (b"null", "not an object"),
        (b"[" * 100_000, "not JSON"),
        (b" " * 10_000_001, "larger than 10 MB"),
    ],
)
def test_files_that_are_no_json_object(tmp_path, content, said):
    path = tmp_path / "s.json"
    path.write_bytes(content)
    message = problem(path)
    assert message.startswith(str(path))
    assert said in message


def test_files_that_are_no_files(tmp_path):
    assert problem(tmp_path / "none.json") == f"{tmp_path}/none.json: there is no such scenario"
    assert problem(tmp_path) == f"{tmp_path}: not a regular file"
    os.mkfifo(tmp_path / "pipe")
    assert problem(tmp_path / "pipe") == f"{tmp_path}/pipe: not a regular file"


# --- includes ------------------------------------------------------------------------------------------------


def test_what_is_included_is_taken_first_and_objects_are_merged(written):
    written("base.json", {"version": 1, "workspace": {"a": "1", "b": "1"}, "open": ["a"], "profile": "kate"})
    written("more/extra.json", {"workspace": {"b": "2"}, "include": ["deep.json"]})
    written(
        "more/deep.json", {"workspace": {"b": "deep", "c": "deep"}, "model": {"turns": [{"text": "deep"}]}}
    )
    own = {**SMALLEST, "include": ["base.json", "more/extra.json"], "workspace": {"d": "4"}, "open": ["d"]}
    scenario = load_scenario(written("s.json", own))
    assert isinstance(scenario, Scenario), scenario
    assert scenario.workspace == {"a": "1", "b": "2", "c": "deep", "d": "4"}
    assert (scenario.open, scenario.profile) == (["d"], "kate")
    assert [turn.text for turn in scenario.model.turns] == ["Done."]


def test_the_same_file_may_be_included_by_two(written):
    written("base.json", {"workspace": {"a": "1"}})
    written("one.json", {"include": ["base.json"]})
    written("two.json", {"include": ["base.json"]})
    assert isinstance(
        load_scenario(written("s.json", {**SMALLEST, "include": ["one.json", "two.json"]})), Scenario
    )


def test_what_is_wrong_in_an_included_file_is_said_of_that_file(written):
    base = written("base.json", {"workspace": {"a": 1}, "expect": {"outcom": "x"}})
    message = problem(written("s.json", {**SMALLEST, "include": ["base.json"]}))
    assert message.startswith(f"{base}: workspace.a: ")


def test_circles_missing_files_and_ways_out_name_the_chain(written, tmp_path):
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    written("one.json", {**SMALLEST, "include": ["two.json"]})
    written("two.json", {"include": ["one.json"]})
    assert problem(one) == f"{one}: includes {two}: includes {one}, which includes itself"
    written("two.json", {"include": ["three.json"]})
    assert problem(one) == f"{one}: includes {two}: includes {tmp_path}/three.json: there is no such file"
    written("two.json", {"include": ["/etc/passwd"]})
    assert problem(one) == f"{one}: includes {two}: include: '/etc/passwd' leaves the folder"
    written("two.json", {"include": ["../two.json"]})
    assert problem(one) == f"{one}: includes {two}: include: '../two.json' leaves the folder"
    written("two.json", {"include": "three.json"})
    assert problem(one) == f"{one}: includes {two}: include: must be a list of file names"
    written("two.json", "{")
    assert problem(one).startswith(f"{one}: includes {two}:1:2: not JSON")


def test_an_include_does_not_leave_by_a_link(written, tmp_path):
    outside = written("outside.json", {"workspace": {}})
    inside = written("inside/s.json", {**SMALLEST, "include": ["link.json"]})
    (tmp_path / "inside" / "link.json").symlink_to(outside)
    assert problem(inside) == f"{inside}: include: 'link.json' leaves the folder by a link"


def test_files_that_include_more_and_more_end(written, tmp_path):
    for number in range(40):
        written(f"f{number}.json", {"include": [f"f{number + 1}.json"]})
    assert problem(tmp_path / "f0.json").endswith("f32.json: more than 32 files")
    assert problem(tmp_path / "f30.json").endswith("f40.json: there is no such file")
    written("leaf.json", {})
    assert problem(written("many.json", {**SMALLEST, "include": ["leaf.json"] * 40})).endswith(
        "more than 32 files"
    )
