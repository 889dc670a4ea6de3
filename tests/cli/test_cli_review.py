"""Deciding about each change of an edit at the keyboard, with the real server."""

import io
import json
import shlex
import sys

import pytest
from rich.console import Console
from typist import Typist

from outrider.cli.render import Renderer
from outrider.cli.run import Task, run_task

TEXT = "".join(f"line {number}\n" for number in range(1, 31))
EDITS = [{"old": f"line {number}\n", "new": f"new {number}\n"} for number in (5, 15, 25)]
EDIT = {"tool_calls": [{"name": "edit_file", "input": {"path": "a.txt", "edits": EDITS}}]}


def text(*changed, **instead):
    lines = TEXT
    for number in changed:
        lines = lines.replace(f"line {number}\n", f"new {number}\n")
    for number, line in instead.items():
        lines = lines.replace(f"line {number[1:]}\n", line)
    return lines


@pytest.fixture
def review(tmp_path, monkeypatch):
    """Runs a task that edits three places of a file, with what is typed: gives the file, and what was shown."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "a.txt").write_text(TEXT)

    async def run(typed, *told, edit=EDIT):
        done = {"text": "Done.", "expect": {"messages_contain": list(told)}}
        script = tmp_path / "script.json"
        script.write_text(json.dumps({"turns": [edit, done]}))
        stream = io.StringIO()
        renderer = Renderer(Console(file=stream, width=200, markup=False, emoji=False, highlight=False))
        options = {
            "model": f"scripted:{script}", "stateDir": str(tmp_path / "state"), "events": True, "workspaceTrusted": True,
        }  # fmt: skip
        ended = await run_task(Task(folder, options, "Go."), renderer, Typist(typed))
        assert "script" not in ended.summary, ended.summary
        return (folder / "a.txt").read_text(), stream.getvalue(), ended.code

    return run


async def test_each_change_is_taken_or_left_out_and_the_reason_reaches_the_model(review):
    now, shown, code = await review("r\ny\nn\nIt is public.\ny\n", "It is public.")
    assert (now, code) == (text(5, 25), 0)
    assert "change 2 of 3: a.txt line 15" in shown


async def test_all_others_are_taken_at_once(review):
    now, _, _ = await review("r\nn\n\na\n")
    assert now == text(15, 25)


async def test_with_every_change_left_out_nothing_is_written(review):
    now, _, code = await review("r\nn\nno\nn\n\nn\n\n", "no")
    assert (now, code) == (TEXT, 0)


async def test_whoever_goes_back_is_asked_as_before(review):
    now, shown, _ = await review("r\ny\nwhat\nq\n1\n")
    assert now == text(5, 15, 25)
    assert "“what” is not one of them" in shown


async def test_lines_are_written_anew_in_the_person_s_editor(review, tmp_path, monkeypatch):
    editor = tmp_path / "an editor.py"
    editor.write_text("import sys\nopen(sys.argv[1], 'a').write('mine\\n')\n")
    monkeypatch.setenv("EDITOR", shlex.join([sys.executable, str(editor)]))
    now, _, _ = await review("r\ne\ny\ny\n", "mine")
    assert now == text(15, 25, _5="new 5\nmine\n")


@pytest.mark.parametrize(
    ("editor", "why"),
    [
        ("", "set VISUAL or EDITOR"),
        ("/nowhere/ed", "could not be used"),
        ("false", "ended with 1"),
        ("true", "nothing was edited"),
    ],
)
async def test_without_lines_from_an_editor_it_is_asked_again(review, monkeypatch, editor, why):
    monkeypatch.setenv("EDITOR", editor)
    now, shown, _ = await review("r\ne\ny\na\n")
    assert now == text(5, 15, 25)
    assert why in shown


async def test_an_edit_of_one_change_is_written_anew_in_the_person_s_editor(review, tmp_path, monkeypatch):
    editor = tmp_path / "editor.py"
    editor.write_text("import sys\nopen(sys.argv[1], 'a').write('mine\\n')\n")
    monkeypatch.setenv("EDITOR", shlex.join([sys.executable, str(editor)]))
    edit = {
        "tool_calls": [{"name": "edit_file", "input": {"path": "a.txt", "old": "line 5\n", "new": "new 5\n"}}]
    }
    now, shown, _ = await review("r\ne\n", edit=edit)
    assert now == text(_5="new 5\nmine\n")
    assert "Edit its change first" in shown


async def test_a_deletion_alone_has_nothing_to_edit(review):
    edit = {"tool_calls": [{"name": "delete_file", "input": {"path": "a.txt"}}]}
    now, shown, _ = await review("r\n2\n", edit=edit)
    assert now == TEXT
    assert "“r” is not one of them" in shown
