"""What failed checks say is wrong is shown at its lines in every client, and goes when it is gone."""

import pytest
from scripting import DONE, KINDS, call, step

FULL = {"permissionMode": "full"}
CHECK = "python3 -B -c \"import ast; ast.parse(open('tariff.py').read(), 'tariff.py')\""
BREAK = call("edit_file", path="tariff.py", old="hours * 3", new="hours * (", called="break")
MEND = call("edit_file", path="tariff.py", old="hours * (", new="hours * 2", called="mend")
LINTS = "printf 'src/x.py:1:5: E501 too long\\nnosuch.py:1: error: no\\n/etc/passwd:1: error: no\\n.env:1: error: no\\n'; false"


def shown(editor, name="tariff.py"):
    """The diagnostics of a file that the client has now."""
    found = [items for uri, items in editor.diagnostics.items() if uri.endswith(f"/{name}")]
    return [] if not found else [(one["range"]["start"]["line"], one["message"]) for one in found[-1]]


@pytest.mark.parametrize("profile", KINDS)
async def test_a_failure_is_shown_at_its_line_and_goes_with_the_repair(profile, begin, workspace):
    editor = await begin(profile, [step(BREAK), DONE, step(MEND), DONE], FULL)
    done = await editor.run("Go.", acceptance=[CHECK])
    assert (done["outcome"], done["reason"]) == ("completed", "checked")
    await editor.wait_for(lambda: shown(editor) == [] and editor.diagnostics, "the failure is taken away")
    first, *_ = [
        one.message["params"]["diagnostics"]
        for one in editor.messages
        if one.message.get("method") == "textDocument/publishDiagnostics"
    ]
    assert [(one["range"]["start"]["line"], one["message"].partition(":")[0]) for one in first] == [
        (2, "SyntaxError")
    ]
    (failed, passed) = [
        one["data"]["ran"] for one in editor.events_of("tool.finished") if "ran" in one["data"]
    ]
    assert [(one["path"], one["line"]) for one in failed["failures"]] == [("tariff.py", 3)]
    assert "failures" not in passed


async def broken(begin, **more):
    editor = await begin("stock", [step(BREAK), DONE, DONE, step(MEND), DONE], {**FULL, **more})
    done = await editor.run("Go.", acceptance=[CHECK])
    assert done["reason"] == "check_failed"
    await editor.wait_for(lambda: shown(editor), "the failure is shown")
    editor.open("tariff.py")
    return editor


async def test_it_moves_with_its_line_and_goes_when_the_line_is_changed(begin):
    editor = await broken(begin)
    text = editor.text("tariff.py")
    editor.type("tariff.py", f"# one\n# two\n{text}", replace=text)
    await editor.wait_for(lambda: [line for line, _ in shown(editor)] == [4], "it has moved")
    changed = editor.text("tariff.py").replace("hours * (", "hours * 1")
    editor.type("tariff.py", changed, replace=editor.text("tariff.py"))
    await editor.wait_for(lambda: shown(editor) == [], "it is gone")


async def test_it_goes_when_another_task_passes_the_check(begin):
    editor = await broken(begin)
    await editor.run("Again.", acceptance=[CHECK], sessionId=editor.events[0]["sessionId"])
    await editor.wait_for(lambda: shown(editor) == [], "it is gone")


async def test_only_files_of_the_workspace_that_may_be_seen_are_named(begin, workspace):
    (workspace / "src").mkdir(exist_ok=True)
    (workspace / "src" / "x.py").write_text("x = 1\n")
    (workspace / ".env").write_text("TOKEN=abc\n")
    note = call("write_file", path="note.txt", content="x", called="note")
    editor = await begin("stock", [step(note), DONE, DONE], FULL)
    await editor.run("Go.", acceptance=[LINTS])
    await editor.wait_for(lambda: shown(editor, "x.py"), "the failure is shown")
    assert [uri.rpartition("/")[2] for uri in editor.diagnostics] == ["x.py"]
    (items,) = editor.diagnostics.values()
    assert items == [
        {
            "range": {"start": {"line": 0, "character": 4}, "end": {"line": 0, "character": 5}},
            "severity": 1,
            "source": "outrider",
            "code": f"{LINTS[:59]}…",
            "message": "E501 too long",
        }
    ]


async def test_a_command_that_is_no_check_shows_nothing(begin):
    fails = call("run_command", command="printf 'tariff.py:1: error: no\\n'; false", called="fails")
    editor = await begin("stock", [step(fails), DONE], FULL)
    await editor.run("Go.")
    assert editor.diagnostics == {}
