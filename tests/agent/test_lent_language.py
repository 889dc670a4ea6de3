"""The editor's own language servers, lent: they come first, nothing runs twice, and what they say counts for the text of now alone."""

import json
import sys
from pathlib import Path

import pytest
from lent_toy import lend_toy
from scripting import DONE, call, result, step

from outrider.testing import language_server

TOY = str(Path(language_server.__file__))


def with_toy(**script):
    """Settings with the scripted server as one of our own."""
    server = {"command": [sys.executable, "-I", TOY, json.dumps(script)], "languages": ["python"]}
    return {"languageServers": {"*": {"enabled": False}, "toy": server}}


NONE = {"languageServers": {"*": {"enabled": False}}}


@pytest.fixture
def code(workspace):
    (workspace / "a.py").write_text("def fee\n")
    (workspace / "b.py").write_text("ü😀 use fee\n")
    return workspace


LOOKS = {
    "definition": ({"symbol": "fee"}, "a.py:1: def fee"),
    "references": (
        {"path": "b.py", "line": 1, "symbol": "fee"},
        "2 references to fee, in 2 files:\na.py:1: def fee\nb.py:1: ü😀 use fee",
    ),
    "symbols": ({"path": "a.py"}, "1: def fee"),
    "hover": ({"path": "b.py", "text": "use fee", "symbol": "fee"}, "b.py:1\ndef fee"),
    "call_hierarchy": ({"symbol": "fee"}, "b.py:1: function file: ü😀 use fee"),
    "diagnostics": ({"path": "a.py"}, "The editor reports no problems in a.py."),
}


@pytest.mark.parametrize("profile", ["lends", "lends-utf-8"])
@pytest.mark.parametrize("name", LOOKS)
async def test_what_the_editors_servers_know_is_asked_of_them_and_none_of_ours_is_started(
    begin, code, tmp_path, name, profile
):
    given, said = LOOKS[name]
    starts = tmp_path / "starts"
    settings = with_toy(starts=str(starts)) if name != "diagnostics" else NONE
    looks = step(call(name, called="look", **given))
    editor = await begin(profile, [looks, DONE], {**settings, "permissionMode": "read-only"})
    lend_toy(editor)
    editor.open("b.py")
    await editor.run("Look.")
    assert result(editor) == ("ok", said)
    assert editor.questions == []
    assert not starts.exists()


async def test_a_name_is_looked_up_where_somebody_serves_the_file_that_has_it(begin, code):
    (code / "NOTES.md").write_text("fee fee fee\n")  # which nobody serves
    looks = [step(call("symbols", query="fe")), step(call("definition", symbol="fee", called="d")), DONE]
    editor = await begin("lends", looks, NONE)
    lend_toy(editor)
    await editor.run("Look.")
    assert result(editor) == ("ok", "a.py:1: def fee")
    assert result(editor, 1) == ("ok", "a.py:1: def fee")


async def test_a_rename_in_many_files_is_one_call_one_approval_and_one_undo(begin, code):
    for number in range(30):
        (code / f"use{number}.py").write_text(f"😀 use fee  # {number}\n")
    rename = call("rename_symbol", symbol="fee", new_name="cost", called="rename")
    editor = await begin("lends-utf-8", [step(rename), DONE], NONE, answers=["Allow once"])
    lend_toy(editor)
    editor.open("a.py")
    editor.type("a.py", "# typed\n", at=(0, 0))
    await editor.run("Rename it.")
    assert result(editor)[0] == "ok"
    (question,) = editor.questions
    assert question.message.startswith("Rename fee to cost (in 32 files)")
    assert editor.text("a.py") == "# typed\ndef cost\n"
    assert (code / "b.py").read_text() == "ü😀 use cost\n"
    assert all((code / f"use{number}.py").read_text() == f"😀 use cost  # {number}\n" for number in range(30))
    await editor.command("outrider.undo", {"scope": "turn"})
    assert editor.text("a.py") == "# typed\ndef fee\n"
    assert all((code / f"use{number}.py").read_text() == f"😀 use fee  # {number}\n" for number in range(30))


async def test_the_same_edit_with_its_files_in_another_order_is_not_asked_about_again(begin, code):
    rename = call("rename_symbol", path="a.py", line=1, symbol="fee", new_name="cost")
    editor = await begin("lends", [step(rename), DONE], NONE, answers=["Allow once"])
    at = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    edits = {(code / name).as_uri(): [{"range": at, "newText": "# "}] for name in ("a.py", "b.py")}
    orders = [edits, dict(reversed(edits.items()))] * 9
    editor.lent["textDocument/rename"] = lambda _: {"changes": orders.pop()}
    await editor.run("Rename it.")
    assert result(editor)[0] == "ok"
    assert len(editor.questions) == 1


@pytest.mark.parametrize("actions", ["edit", "resolve", "command"])
@pytest.mark.parametrize("profile", ["lends", "lends-utf-8"])
async def test_an_action_of_the_editor_is_an_edit_like_any_other_and_a_command_is_not_offered(
    begin, code, actions, profile
):
    (code / "a.py").write_text("ü😀 BAD1 x  \n")
    calls = [
        call("code_actions", path="a.py", line=1, called="list"),
        call("code_actions", path="a.py", line=1, apply="Replace: BAD1 is bad", called="fix"),
        call("format", path="a.py", called="format"),
    ]
    editor = await begin(profile, [*map(step, calls), DONE], NONE, answers=["Allow once", "Allow once"])
    lend_toy(editor, actions=actions)
    await editor.run("Mend it.")
    if actions == "command":
        assert result(editor) == ("ok", "No actions are offered at a.py:1.")
        assert (code / "a.py").read_text() == "ü😀 BAD1 x\n"
        return
    assert result(editor) == ("ok", "Replace: BAD1 is bad [quickfix] (preferred)")
    assert [question.message.partition("\n")[0] for question in editor.questions] == [
        "Replace: BAD1 is bad (in 1 file)",
        "Format a.py (in 1 file)",
    ]
    assert (code / "a.py").read_text() == "ü😀 good x\n"


async def test_what_nobody_in_the_editor_does_is_asked_of_a_server_of_our_own(begin, code, tmp_path):
    starts = tmp_path / "starts"
    calls = [
        call("hover", path="b.py", line=1, symbol="fee", called="theirs"),
        call("references", path="b.py", line=1, symbol="fee", called="ours"),
        call("code_actions", path="b.py", line=1, called="none"),
    ]
    editor = await begin("lends", [*map(step, calls), DONE], with_toy(starts=str(starts), encoding="utf-8"))
    lend_toy(editor, "textDocument/hover", before=lambda _: starts.exists() and pytest.fail("too early"))
    await editor.run("Look.")
    assert result(editor) == ("ok", "b.py:1\ndef fee")
    assert result(editor, 1)[1].startswith("2 references to fee, in 2 files")
    assert result(editor, 2) == ("ok", "No actions are offered at b.py:1.")
    assert starts.read_text() == "1"


@pytest.mark.parametrize("profile", ["never-answers-language", "answers-language-error", "has-no-language"])
@pytest.mark.parametrize("own", [True, False])
async def test_an_editor_that_has_no_answer_is_said_so_or_a_server_of_our_own_is_asked(
    begin, code, monkeypatch, profile, own
):
    monkeypatch.setattr("outrider.language.lent.SECONDS", 0.2)
    looks = [step(call("hover", path="b.py", line=1, symbol="fee")), DONE]
    editor = await begin(profile, looks, with_toy() if own else NONE)
    await editor.run("Look.")
    if own:
        assert result(editor) == ("ok", "b.py:1\ndef fee")
        return
    why = {"n": "the editor did not answer in 0.2 s", "a": "the editor's answer cannot be used"}
    said = why.get(profile[0], "the editor does not lend its language servers")
    expected = f"fee at b.py:1: {said}, and no language server for python was found."
    assert result(editor) == ("error", expected)


async def test_typing_between_question_and_answer_has_it_asked_once_more(begin, code):
    rename = call("rename_symbol", path="b.py", line=1, symbol="fee", new_name="cost")
    editor = await begin("lends", [step(rename), DONE], NONE, answers=["Allow once"])
    typed = []

    def type_once(asked):
        if asked.method == "textDocument/rename" and not typed:
            typed.append(True)
            editor.type("a.py", "# typed\n", at=(0, 0))

    lend_toy(editor, before=type_once)
    editor.open("a.py")
    await editor.run("Rename it.")
    assert result(editor)[0] == "ok"
    assert editor.text("a.py") == "# typed\ndef cost\n"
    asked = [one.method for one in editor.language_requests]
    assert asked.count("textDocument/rename") > 1


@pytest.mark.parametrize("way", ["types", "lies"])
async def test_no_answer_about_a_text_that_is_gone_is_taken(begin, code, way):
    looks = [step(call("hover", path="b.py", line=1, symbol="fee")), DONE]
    editor = await begin("lends" if way == "types" else "lends-old-answers", looks, with_toy())
    lend_toy(editor, before=lambda _: way == "types" and editor.type("b.py", "more\n"))
    editor.open("b.py")
    await editor.run("Look.")
    assert result(editor) == ("error", "fee at b.py:1: there is no answer about the present text.")
    assert [one.method for one in editor.language_requests].count("textDocument/hover") == 2


async def test_an_action_that_is_about_a_text_that_is_gone_is_not_resolved(begin, code):
    (code / "a.py").write_text("BAD1 x\n")
    fix = call("code_actions", path="a.py", line=1, apply="Replace: BAD1 is bad")
    editor = await begin("lends", [step(fix), DONE], {**NONE, "permissionMode": "full"})
    editor.open("a.py")

    def type_first(asked):
        if asked.method == "codeAction/resolve":
            assert asked.uris == [editor.desk.uri("a.py")]
            editor.type("a.py", "x", at=(0, 0))

    lend_toy(editor, actions="resolve", before=type_first)
    await editor.run("Mend it.")
    assert [one.method for one in editor.language_requests].count("codeAction/resolve") == 1
    assert editor.text("a.py") == "xBAD1 x\n"
    assert editor.edits == []


async def test_problems_are_the_editors_and_those_of_our_servers_that_run_anyway(begin, code, tmp_path):
    (code / "a.py").write_text("BAD1\n")
    starts = tmp_path / "starts"
    calls = [
        call("diagnostics", path="a.py", called="one"),
        call("diagnostics", called="all"),
        call("definition", path="b.py", line=1, symbol="fee", called="starts-ours"),
        call("diagnostics", path="a.py", called="both"),
    ]
    editor = await begin("lends", [*map(step, calls), DONE], with_toy(starts=str(starts)))
    theirs = {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}}
    editor.problems = {"a.py": [{**theirs, "severity": 2, "message": "dear", "source": "house"}]}
    lend_toy(editor, "textDocument/hover", before=lambda _: None)  # definition is done by a server of our own
    editor.open("a.py")
    await editor.run("Look.")
    assert result(editor) == ("ok", "a.py:1:1: warning: dear [house]")
    assert result(editor, 1) == ("ok", "a.py:1:1: warning: dear [house]")
    assert result(editor, 3)[1] == "a.py:1:1: error: BAD1 is bad [toy]\na.py:1:1: warning: dear [house]"
    assert starts.read_text() == "1"


async def test_our_server_finds_problems_of_what_the_editor_does_not_serve(begin, code):
    (code / "a.py").write_text("BAD1\n")
    calls = [call("diagnostics", path="a.py", called="one"), call("diagnostics", called="all")]
    editor = await begin("lends", [*map(step, calls), DONE], with_toy())
    lend_toy(editor, "textDocument/diagnostic", suffix=".rs")
    editor.open("a.py")
    await editor.run("Look.")
    assert result(editor) == ("ok", "a.py:1:1: error: BAD1 is bad [toy]")
    assert result(editor, 1) == ("ok", "a.py:1:1: error: BAD1 is bad [toy]")


async def test_the_tools_are_offered_where_the_editor_lends_and_it_is_listed_for_what(begin, code):
    editor = await begin("lends", [step(call("definition", symbol="fee")), DONE], NONE)
    lend_toy(editor)
    editor.open("a.py")
    await editor.run("Look.")
    offered = editor.events_of("model.requested")[0]["data"]["tools"]
    assert {"definition", "rename_symbol", "code_actions", "diagnostics"} <= set(offered)
    servers = (await editor.command("outrider.servers", {}))["servers"]
    assert {"name": "python", "kind": "language", "state": "lent", "detail": "toy"} in servers
    assert not [one for one in servers if one["name"] == "python" and one["state"] == "missing"]
    checks = {one["name"]: one for one in (await editor.command("outrider.doctor", {}))["checks"]}
    assert checks["languages"] == {"name": "languages", "status": "ok", "detail": "python (lent, toy)"}


async def test_a_client_that_did_not_name_the_extension_is_not_asked(begin, code):
    looks = [step(call("hover", path="b.py", line=1, symbol="fee")), DONE]
    editor = await begin("lends", looks, {**with_toy(), "extensions": []})
    lend_toy(editor)
    await editor.run("Look.")
    assert result(editor) == ("ok", "b.py:1\ndef fee")
    assert editor.language_requests == []


async def test_nothing_of_a_secret_file_is_asked_and_nothing_outside_is_changed(begin, code):
    (code / ".env").write_text("fee=1\n")
    outside = code.parent / "outside.py"
    outside.write_text("use fee\n")
    at = {"start": {"line": 0, "character": 4}, "end": {"line": 0, "character": 7}}
    calls = [
        call("hover", path=".env", line=1, symbol="fee", called="secret"),
        call("rename_symbol", path="a.py", line=1, symbol="fee", new_name="cost", called="rename"),
        call("references", path="a.py", line=1, symbol="fee", called="references"),
    ]
    editor = await begin("lends", [*map(step, calls), DONE], {**NONE, "permissionMode": "full"})
    edits = [{"range": at, "newText": "cost"}]
    editor.lent["textDocument/rename"] = {"changes": {outside.as_uri(): edits}}
    editor.lent["textDocument/references"] = [
        {"uri": outside.as_uri(), "range": at},
        {"uri": (code / ".env").as_uri(), "range": at},
        {"uri": "untitled:1", "range": at},
        {"uri": "https://example.com/a.py", "range": at},
    ]
    await editor.run("Look.")
    assert result(editor)[0] == "error"
    assert [one.method for one in editor.language_requests] == [
        "textDocument/rename",
        "textDocument/references",
    ]
    assert result(editor, 1)[0] == "error"
    assert outside.read_text() == "use fee\n"
    assert "fee=1" not in result(editor, 2)[1]
    assert "use fee" not in result(editor, 2)[1]


RANGE = {"start": {"line": 0, "character": 4}, "end": {"line": 0, "character": 7}}
ODD = [
    None, 7, "text", True, [], {}, [None], [7, "x", []], {"uri": 7}, [{"uri": "x"}], [{"range": RANGE}], {"changes": 7},
    {"changes": {"x": 7}}, {"documentChanges": [7, {"kind": "rm"}]}, {"items": 7}, {"kind": "unchanged"}, {"contents": [[[]]]},
    [{"name": 7, "kind": -1, "children": "x"}], [{"title": 7}, {"title": "x", "edit": 7}, {"title": "y", "data": None}],
]  # fmt: skip


@pytest.mark.parametrize("odd", ODD, ids=str)
async def test_what_has_not_the_shape_harms_nothing(begin, code, odd):
    calls = [
        call("definition", path="a.py", line=1, symbol="fee"),
        call("references", path="a.py", line=1, symbol="fee", called="c1"),
        call("hover", path="a.py", line=1, symbol="fee", called="c2"),
        call("symbols", path="a.py", called="c3"),
        call("symbols", query="fee", called="c4"),
        call("call_hierarchy", path="a.py", line=1, symbol="fee", called="c5"),
        call("rename_symbol", path="a.py", line=1, symbol="fee", new_name="cost", called="c6"),
        call("code_actions", path="a.py", line=1, called="c7"),
        call("code_actions", path="a.py", line=1, apply="x", called="c8"),
        call("code_actions", path="a.py", line=1, apply="y", called="c9"),
        call("format", path="a.py", called="c10"),
        call("diagnostics", path="a.py", called="c11"),
        call("diagnostics", called="c12"),
    ]
    editor = await begin("lends", [*map(step, calls), DONE], {**NONE, "permissionMode": "full"})
    lend_toy(editor)
    editor.lent = {
        **dict.fromkeys(editor.lent, odd),
        "workspace/diagnostic": odd,
        "callHierarchy/incomingCalls": odd,
    }
    editor.open("a.py")
    turn = await editor.run("Look.")
    assert turn["outcome"] == "completed"
    assert len(editor.events_of("tool.finished")) == len(calls)
    assert editor.text("a.py") == "def fee\n"
