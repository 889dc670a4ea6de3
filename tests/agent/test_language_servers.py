"""Language servers in a turn: what an edit would break stands in its approval, what it broke in its result, and what is left in its evidence."""

import json
import sys
from pathlib import Path

import pytest
from lent_toy import lend_toy
from scripting import DONE, call, result, step

from outrider.language.languages import Check
from outrider.testing import language_server

TOY = str(Path(language_server.__file__))
TAKES = {"purposes": {"reminder": []}}
NOTHING = {"text": "They stay."}
BREAK = call("edit_file", path="a.py", old="def fee", new="def cost", called="break")
AGAIN = call("edit_file", path="a.py", old="def fee", new="def cost", called="again")
MEND = call("edit_file", path="b.py", old="use fee", new="use cost", called="mend")


def with_toy(**script):
    """Settings with the scripted server."""
    server = {"command": [sys.executable, "-I", TOY, json.dumps(script)], "languages": ["python"]}
    return {"languageServers": {"toy": server}}


@pytest.fixture
def code(workspace):
    (workspace / "a.py").write_text("def fee\n")
    (workspace / "b.py").write_text("use fee\n")
    return workspace


async def test_an_edit_that_breaks_a_caller_goes_back_once_and_then_says_so_in_its_approval(begin, code):
    editor = await begin(
        "neovim-0.11",
        [step(BREAK), step(AGAIN), step(MEND), DONE],
        with_toy(),
        answers=["Allow once", "Allow once"],
    )
    await editor.run("Rename it.")
    status, content = result(editor)
    assert status == "error"
    assert content.startswith(
        "Not asked for yet: this edit would introduce 1.\nb.py:1: error: fee is not defined [toy]"
    )
    asked, mended = editor.questions
    assert "Introduces 1:\nb.py:1: error: fee is not defined [toy]\n--- a.py" in asked.message
    assert "Fixes 1:\nfixed: b.py:1: error: fee is not defined [toy]\n--- b.py" in mended.message
    first, second = editor.events_of("approval.requested")
    assert first["data"]["trial"]["introduced"] == [
        {"path": "b.py", "line": 1, "severity": "error", "message": "fee is not defined", "source": "toy"}
    ]
    assert (second["data"]["trial"]["introducedCount"], second["data"]["trial"]["fixedCount"]) == (0, 1)
    assert (
        "Language server: this edit introduces 1:\nb.py:1: error: fee is not defined" in result(editor, 1)[1]
    )
    assert "Language server: this edit fixes 1:" in result(editor, 2)[1]
    (finished,) = editor.events_of("turn.finished")
    assert finished["data"]["done"]["diagnostics"] == {"introduced": 0, "fixed": 0}


async def test_the_document_of_a_review_says_what_an_edit_would_break(begin, code):
    settings = {**with_toy(), "reminders": False}
    editor = await begin(
        "stock", [step(BREAK), step(AGAIN), DONE], settings, answers=["Review…", "Allow once"]
    )
    await editor.run("Rename it.")
    (paper,) = code.glob(".outrider/review-*.diff")
    assert "document.\n#\n# Introduces 1:\n# b.py:1: error: fee is not defined [toy]\n\n" in paper.read_text()


async def test_errors_that_a_turn_leaves_behind_are_put_to_the_model_once_and_stand_in_its_evidence(
    begin, code
):
    settings = {**with_toy(), "permissionMode": "full"}
    told = {
        **NOTHING,
        "expect": {"last_message_contains": "1 new error is left (b.py:1: fee is not defined)"},
    }
    editor = await begin("neovim-0.11", [step(BREAK), DONE, told], settings, script=TAKES)
    await editor.run("Rename it.")
    assert editor.questions == []
    (finished,) = editor.events_of("turn.finished")
    assert finished["data"]["done"]["diagnostics"] == {"introduced": 1, "fixed": 0}
    assert "1 new error is left" in finished["data"]["done"]["line"]
    assert [one["data"]["reason"] for one in editor.events_of("turn.phase")].count("reminder") == 1


async def test_the_same_error_in_many_files_is_told_in_one_line_that_names_them_all(begin, code):
    users = ["b.py", *(f"use{number:02}.py" for number in range(12))]
    for name in users:
        (code / name).write_text("use fee\nuse fee\n")
    editor = await begin("neovim-0.11", [step(BREAK), DONE], {**with_toy(), "reminders": False})
    await editor.run("Rename it.")
    _, line, more, *_ = result(editor)[1].split("\n")
    assert line.startswith(", ".join(f"{name}:1" for name in users) + ", b.py:2, ")
    assert line.endswith(": error: fee is not defined [toy]")
    assert more == "… and 6 more"


@pytest.mark.parametrize("method", ["textDocument/documentSymbol", "textDocument/references"])
async def test_an_answer_of_nothing_is_not_taken_for_nobody_uses_it(begin, code, method):
    script = with_toy(nothing=[method])
    editor = await begin("neovim-0.11", [step(BREAK), DONE], {**script, "reminders": False})
    await editor.run("Rename it.")
    assert "b.py:1: error: fee is not defined" in result(editor)[1]


async def test_files_beyond_those_that_are_judged_are_counted(begin, code):
    for number in range(24):
        (code / f"use{number:02}.py").write_text("use fee\n")
    safe = call("edit_file", path="a.py", old="def fee", new="def fee\ndef more", called="safe")
    editor = await begin(
        "neovim-0.11",
        [step(safe), step(BREAK), step(AGAIN), DONE],
        {**with_toy(), "reminders": False},
        answers=["Allow once", "Allow once"],
    )
    await editor.run("Rename it.")
    left = "5 more files that use it were not"
    first, second = editor.questions
    assert f"Introduces no errors in the files that were looked at; {left}." in first.message
    assert f"no new problems in the files that were looked at; {left}." in result(editor)[1]
    assert f"this edit would introduce 20; {left}." in result(editor, 1)[1]
    assert f"Introduces 20; {left}:" in second.message
    assert f"this edit introduces 20; {left}:" in result(editor, 2)[1]
    assert editor.events_of("approval.requested")[0]["data"]["trial"]["unjudged"] == 5


async def test_what_a_slow_server_says_is_told_before_the_next_step(begin, code, monkeypatch):
    monkeypatch.setattr("outrider.agent.loop.judging.RESULT_SECONDS", 0.05)
    settings = {**with_toy(late=0.2), "permissionMode": "full", "reminders": False}
    editor = await begin("neovim-0.11", [step(BREAK), DONE], settings)
    await editor.run("Rename it.")
    assert "Language server: no verdict yet from toy" in result(editor)[1]
    (found,) = editor.events_of("verdict.found")
    assert found["data"]["told"].startswith(
        "[Language server, on your edits of before: they introduce 1:]\nb.py:1: error"
    )
    assert found["seq"] < editor.events_of("model.requested")[-1]["seq"]


async def test_nothing_is_tried_where_that_is_off_or_nobody_is_asked(begin, code, tmp_path):
    log = tmp_path / "log"
    editor = await begin(
        "neovim-0.11",
        [step(BREAK), DONE],
        {**with_toy(log=str(log)), "trialDiagnostics": "off", "reminders": False},
        answers=["Allow once"],
    )
    await editor.run("Rename it.")
    assert "trial" not in editor.events_of("approval.requested")[0]["data"]
    assert "introduces 1" in result(editor)[1]


@pytest.mark.parametrize(
    "script",
    [{"never": ["initialize"]}, {"crash": "textDocument/didOpen"}, {"diagnostics": "unversioned"}],
    ids=str,
)
async def test_no_edit_fails_or_waits_long_because_of_a_server(begin, code, monkeypatch, script):
    for name in ("QUESTION_SECONDS", "RESULT_SECONDS", "REQUEST_SECONDS", "SETTLE_SECONDS"):
        monkeypatch.setattr(f"outrider.agent.loop.judging.{name}", 0.1)
    editor = await begin(
        "neovim-0.11", [step(BREAK), DONE], {**with_toy(**script), "reminders": False}, answers=["Allow once"]
    )
    await editor.run("Rename it.")
    assert result(editor)[0] == "ok"
    assert (code / "a.py").read_text() == "def cost\n"
    assert "Introduces" not in editor.questions[0].message


async def test_a_rename_in_many_files_is_one_call_one_approval_and_one_undo(begin, code):
    for number in range(60):
        (code / f"use{number}.py").write_text(f"use fee  # {number}\n")
    rename = call("rename_symbol", symbol="fee", new_name="cost", called="rename")
    editor = await begin("neovim-0.11", [step(rename), DONE], with_toy(), answers=["Allow once"])
    editor.open("a.py")
    editor.type("a.py", "# typed\n", at=(0, 0))
    await editor.run("Rename it.", seconds=60)
    status, content = result(editor)
    assert (status, content.count("\nEdited ")) == ("ok", 61)
    # The lines of the first ones are shown; the others are named already.
    assert content.count("\nNow in ") <= 40
    assert content.count("more lines are changed") <= 1
    assert len(editor.questions) == 1
    assert editor.questions[0].message.startswith("Rename fee to cost (in 62 files)")
    assert editor.text("a.py") == "# typed\ndef cost\n"
    assert all((code / f"use{number}.py").read_text() == f"use cost  # {number}\n" for number in range(60))
    await editor.command("outrider.undo", {"scope": "turn"})
    assert editor.text("a.py") == "# typed\ndef fee\n"
    assert all((code / f"use{number}.py").read_text() == f"use fee  # {number}\n" for number in range(60))


async def test_a_rename_after_others_changed_files_that_no_tool_has_read_changes_what_is_there_now(
    begin, code
):
    rename = call("rename_symbol", symbol="fee", new_name="cost", called="rename")
    looks = [step(call("references", symbol="fee")), DONE]
    answers = [*looks, step(rename), DONE]
    editor = await begin("neovim-0.11", answers, with_toy(keeps=True), answers=["Allow once"])
    await editor.run("Look.")
    (code / "b.py").write_text("use other1\nuse other2\nuse fee\n")
    (code / "late.py").write_text("use fee\n")
    await editor.run("Rename it.", sessionId=editor.session_id)
    assert result(editor, 1)[0] == "ok"
    assert (code / "a.py").read_text() == "def cost\n"
    assert (code / "b.py").read_text() == "use other1\nuse other2\nuse cost\n"
    assert (code / "late.py").read_text() == "use cost\n"


async def test_references_are_counted_also_those_that_are_not_read(begin, code):
    (code / "b.py").write_text("use fee\n" * 1200)
    editor = await begin("neovim-0.11", [step(call("references", symbol="fee")), DONE], with_toy())
    await editor.run("Look.")
    assert result(editor)[1].startswith("500 of 1201 references to fee, in 2 files:\n")


async def test_a_language_server_that_has_failed_is_started_again_when_that_is_asked_for(
    begin, code, tmp_path
):
    looks = [step(call("references", path="a.py", line=1, symbol="fee", called=f"look{n}")) for n in range(5)]
    toy = with_toy(starts=str(tmp_path / "starts"), crash_until=4)
    editor = await begin("neovim-0.11", [*looks, DONE], toy)
    await editor.run("Look.")
    assert "toy has failed" in result(editor, 4)[1]
    said = await editor.command("outrider.servers", {"action": "restart", "name": "toy"})
    assert [(one["name"], one["state"]) for one in said["servers"]] == [("toy", "available")]
    await editor.run("Look again.")
    assert result(editor, 5)[1].startswith("2 references to fee")
    with pytest.raises(Exception, match="there is no server 'toys'"):
        await editor.command("outrider.servers", {"action": "restart", "name": "toys"})


LOOKS = {
    "definition": ({"symbol": "fee"}, "a.py:1: def fee"),
    "references": (
        {"path": "b.py", "line": 1, "text": "use fee", "symbol": "fee"},
        "2 references to fee, in 2 files:\na.py:1: def fee\nb.py:1: use fee",
    ),
    "symbols": ({"path": "a.py"}, "1: def fee"),
    "hover": ({"symbol": "fee"}, "a.py:1\ndef fee"),
    "call_hierarchy": ({"symbol": "fee"}, "b.py:1: function file: use fee"),
    "diagnostics": ({"path": "a.py"}, "No problems were found in a.py."),
}


@pytest.mark.parametrize("name", LOOKS)
async def test_a_read_only_turn_can_ask_what_a_server_knows(begin, code, name):
    given, said = LOOKS[name]
    editor = await begin(
        "neovim-0.11",
        [step(call(name, called="look", **given)), DONE],
        {**with_toy(), "permissionMode": "read-only"},
    )
    await editor.run("Look.")
    assert result(editor) == ("ok", said)
    assert editor.questions == []


async def test_what_lies_in_functions_is_left_out_of_an_outline_and_of_a_search_by_a_part_of_a_name(
    begin, code
):
    (code / "a.py").write_text("def fee\nlet feel\n")
    looks = [{"path": "a.py"}, {"query": "fee"}, {"query": "feel"}]
    steps = [step(call("symbols", called=f"look{n}", **given)) for n, given in enumerate(looks)]
    editor = await begin("neovim-0.11", [*steps, DONE], with_toy())
    await editor.run("Look.")
    assert [result(editor, n)[1] for n in range(3)] == [
        "1: def fee",
        "a.py:1: def fee\n[left out: 1 in classes or functions; give the whole name]",
        "a.py:2: fee: let feel",
    ]


async def test_a_name_is_found_by_the_files_that_define_it_and_not_by_a_look_through_all(
    begin, code, tmp_path
):
    log = tmp_path / "log"
    (code / "b.py").write_text("def cost\nlet fee\nuse fee\n")
    looks = [step(call("definition", symbol="fee")), step(call("definition", symbol="cost", called="cost"))]
    editor = await begin("neovim-0.11", [*looks, DONE], with_toy(log=str(log)))
    await editor.run("Look.")
    assert result(editor) == ("ok", "a.py:1: def fee")
    assert result(editor, 1) == ("ok", "b.py:1: def cost")
    asked = [json.loads(line).get("method") for line in log.read_text().splitlines()]
    assert asked.count("textDocument/documentSymbol") == 2
    assert "workspace/symbol" not in asked


async def test_a_search_that_the_server_of_a_language_does_not_answer_in_time_says_so(
    begin, code, monkeypatch
):
    monkeypatch.setattr("outrider.language.answers.SECONDS", 0.2)
    (code / "notes.txt").write_text("fee\n")
    editor = await begin(
        "neovim-0.11", [step(call("symbols", query="fee")), DONE], with_toy(never=["workspace/symbol"])
    )
    await editor.run("Look.")
    assert result(editor) == ("error", "No answer to workspace/symbol in 0.2 s.")


WRONG = [
    ("definition", {"symbol": "nothing_at_all"}, "no file mentions"),
    ("definition", {"path": "a.py", "text": "not there"}, "stands in no line"),
    ("definition", {"path": "a.py"}, "give symbol, or path with line or text"),
    ("hover", {"path": "../outside.py", "line": 1}, "cannot be read"),
    (
        "rename_symbol",
        {"symbol": "twice", "new_name": "x"},
        "stands for 2 things; give path and line of the one you mean:\na.py:3: def twice\nb.py:2: def twice",
    ),
    ("format", {"path": "notes.txt"}, "no language server is known for files of this kind"),
    ("code_actions", {"path": "a.py", "line": 1, "apply": "Make it better"}, "No actions are offered"),
]


@pytest.mark.parametrize(("name", "given", "said"), WRONG)
async def test_a_place_that_is_not_clear_is_said_to_be_none(begin, code, name, given, said):
    (code / "a.py").write_text("def fee\n\ndef twice\n")
    (code / "b.py").write_text("use fee\ndef twice\n")
    (code / "notes.txt").write_text("x\n")
    editor = await begin("neovim-0.11", [step(call(name, called="look", **given)), DONE], with_toy())
    await editor.run("Look.")
    assert said in result(editor)[1]


async def test_an_action_and_a_format_are_edits_like_any_other(begin, code):
    (code / "a.py").write_text("BAD1 x  \n")
    calls = [
        call("code_actions", path="a.py", line=1, called="list"),
        call("code_actions", path="a.py", line=1, apply="Replace: BAD1 is bad", called="fix"),
        call("format", path="a.py", called="format"),
    ]
    editor = await begin(
        "neovim-0.11", [*map(step, calls), DONE], with_toy(), answers=["Allow once", "Allow once"]
    )
    await editor.run("Mend it.")
    assert result(editor) == ("ok", "Replace: BAD1 is bad [quickfix] (preferred)")
    assert [question.message.partition("\n")[0] for question in editor.questions] == [
        "Replace: BAD1 is bad (in 1 file)",
        "Format a.py (in 1 file)",
    ]
    assert "Fixes 1:" in editor.questions[0].message
    assert (code / "a.py").read_text() == "good x\n"


async def test_the_tools_are_offered_only_where_a_server_is_there(begin, code):
    editor = await begin("neovim-0.11", [DONE])
    await editor.run("Look.")
    assert not {"definition", "diagnostics", "rename_symbol"} & set(
        editor.events_of("model.requested")[0]["data"]["tools"]
    )
    assert (await editor.command("outrider.servers", {}))["servers"] == []


async def test_the_servers_are_listed_with_their_state(begin, code):
    editor = await begin("neovim-0.11", [step(call("definition", symbol="fee")), DONE], with_toy())
    (server,) = (await editor.command("outrider.servers", {}))["servers"]
    assert (server["name"], server["kind"], server["state"]) == ("toy", "language", "available")
    await editor.run("Look.")
    (server,) = (await editor.command("outrider.servers", {}))["servers"]
    assert (server["state"], server["version"]) == ("running", "1.0")
    checks = {one["name"]: one for one in (await editor.command("outrider.doctor", {}))["checks"]}
    assert checks["languages"]["status"] == "ok"
    assert checks["languages"]["detail"].startswith("toy (running, 1.0")


async def test_an_untrusted_workspace_starts_none(begin, code, tmp_path):
    settings = {**with_toy(starts=str(tmp_path / "starts")), "trusted": False}
    editor = await begin("neovim-0.11", [step(call("definition", symbol="fee")), DONE], settings)
    await editor.run("Look.")
    assert "definition" not in editor.events_of("model.requested")[0]["data"]["tools"]
    assert not (tmp_path / "starts").exists()


async def test_what_others_write_on_disk_is_told_to_the_servers(begin, code, tmp_path):
    log = tmp_path / "log"
    steps = [
        step(call("definition", symbol="fee")),
        step(call("run_command", command="echo 'def more' > c.py")),
        step(call("definition", symbol="more", called="more")),
        DONE,
    ]
    editor = await begin("neovim-0.11", steps, {**with_toy(log=str(log)), "permissionMode": "full"})
    await editor.run("Look.")
    told = [
        one
        for one in map(json.loads, log.read_text().splitlines())
        if one.get("method") == "workspace/didChangeWatchedFiles"
    ]
    assert [one["type"] for one in told[0]["params"]["changes"]] == [1]
    assert result(editor, 2) == ("ok", "c.py:1: def more")


def with_ruff(**script):
    """Settings with a linter besides, which looks at one file alone."""
    linter = {"command": [sys.executable, "-m", "ruff", "server"], "languages": ["python"]}
    return {"languageServers": {**with_toy(**script)["languageServers"], "ruff": linter}, "reminders": False}


async def test_a_linter_alone_does_not_say_that_nothing_breaks(begin, code, monkeypatch):
    monkeypatch.setattr("outrider.agent.loop.judging.QUESTION_SECONDS", 10)
    monkeypatch.setattr("outrider.agent.loop.judging.RESULT_SECONDS", 10)
    settings = with_ruff()
    del settings["languageServers"]["toy"]
    editor = await begin("neovim-0.11", [step(BREAK), DONE], settings, answers=["Allow once"])
    await editor.run("Rename it.")
    assert "ruff finds no new errors.\n" in editor.questions[0].message
    assert "no new problems found by ruff." in result(editor)[1]


async def test_who_has_not_come_to_a_verdict_is_named_beside_who_has(begin, code, monkeypatch):
    for name in ("QUESTION_SECONDS", "RESULT_SECONDS", "REQUEST_SECONDS"):
        monkeypatch.setattr(f"outrider.agent.loop.judging.{name}", 2.5)
    settings = with_ruff(never=["textDocument/diagnostic"])
    editor = await begin("neovim-0.11", [step(BREAK), DONE], settings, answers=["Allow once"])
    await editor.run("Rename it.")
    assert "ruff finds no new errors; no verdict yet from toy.\n" in editor.questions[0].message
    assert editor.events_of("approval.requested")[0]["data"]["trial"]["silent"] == ["toy"]
    assert "no new problems found by ruff. But no verdict yet from toy;" in result(editor)[1]


@pytest.mark.parametrize(
    "script", [{"modified": 999}, {"crash": "textDocument/diagnostic"}, {"crash": "initialize"}], ids=str
)
async def test_a_verdict_that_does_not_come_is_said(begin, code, monkeypatch, script):
    monkeypatch.setattr("outrider.agent.loop.judging.QUESTION_SECONDS", 10)
    monkeypatch.setattr("outrider.agent.loop.judging.RESULT_SECONDS", 10)
    editor = await begin(
        "neovim-0.11", [step(BREAK), DONE], {**with_toy(**script), "reminders": False}, answers=["Allow once"]
    )
    await editor.run("Rename it.")
    assert "No verdict from toy.\n" in editor.questions[0].message
    assert "Language server: no verdict from toy." in result(editor)[1]


async def test_only_one_request_waits_for_a_server_that_does_not_come_to_a_verdict(begin, code, monkeypatch):
    monkeypatch.setattr("outrider.agent.loop.judging.RESULT_SECONDS", 0.05)
    monkeypatch.setattr("outrider.language.languages.JUDGE_SECONDS", 5)
    waited = []
    within = Check.within

    async def noted(check, seconds, clock):
        waited.append(seconds)
        return await within(check, seconds, clock)

    monkeypatch.setattr(Check, "within", noted)
    settings = {**with_toy(never=["textDocument/diagnostic"]), "permissionMode": "full", "reminders": False}
    reads = [step(call("read_file", path="b.py", called=f"read{number}")) for number in range(3)]
    await (await begin("neovim-0.11", [step(BREAK), *reads, DONE], settings)).run("Rename it.")
    assert [seconds for seconds in waited if seconds == 3.0] == [3.0]
    assert waited.count(0) >= 2


async def test_a_promised_verdict_that_does_not_come_is_taken_back(begin, code, monkeypatch):
    monkeypatch.setattr("outrider.agent.loop.judging.RESULT_SECONDS", 0.05)
    script = with_toy(never=["textDocument/diagnostic"])
    monkeypatch.setattr("outrider.language.languages.JUDGE_SECONDS", 0.5)
    editor = await begin(
        "neovim-0.11", [step(BREAK), DONE], {**script, "permissionMode": "full", "reminders": False}
    )
    await editor.run("Rename it.")
    assert "no verdict yet from toy; what is missing is told as soon as it is known" in result(editor)[1]
    (found,) = editor.events_of("verdict.found")
    assert found["data"]["told"] == "[Language server, on your edits of before: no verdict from toy.]"


async def test_every_name_of_a_large_edit_is_followed_or_counted(begin, code, monkeypatch):
    monkeypatch.setattr("outrider.agent.loop.judging.RESULT_SECONDS", 10)
    names = [f"f{number:02}" for number in range(15)]
    (code / "a.py").write_text("".join(f"def {name}\n" for name in names))
    (code / "b.py").write_text("use f11\n")
    (code / "c.py").write_text("use f14\n")
    write = call(
        "write_file", path="a.py", content="".join(f"def new{name}\n" for name in names), overwrite=True
    )
    read = call("read_file", path="a.py", called="read")
    settings = {**with_toy(), "permissionMode": "full", "reminders": False}
    editor = await begin("neovim-0.11", [step(read), step(write), DONE], settings)
    await editor.run("Rename them.")
    told = result(editor, 1)[1]
    assert "this edit introduces 1; who uses 3 more names was not:" in told
    assert "b.py:1: error: f11 is not defined" in told


MISSING = (
    "there is no language server for go: install one of gopls (go install golang.org/x/tools/gopls@latest)"
)


def errors(editor):
    return [(one["data"]["code"], one["data"]["message"]) for one in editor.events_of("error")]


@pytest.mark.usefixtures("replayed_at_once")
async def test_a_language_without_a_server_is_named_once_in_a_session(begin, workspace):
    (workspace / "go.mod").write_text("module tariff\n")
    (workspace / "main.go").write_text("package main\n")
    turns = [step(call("read_file", path="main.go")), DONE, DONE, DONE]
    editor = await begin("neovim-0.11", turns, {"languageServers": {"gopls": {}}})
    await editor.run("Look.")
    await editor.run("Again.", sessionId=editor.events[0]["sessionId"])
    assert errors(editor) == [("language_server", MISSING)]
    await editor.run("Another task.")
    assert errors(editor) == [("language_server", MISSING)] * 2
    assert [one.text for one in editor.said if "language server" in one.text] == []  # the event has said it


async def test_who_gets_no_events_is_told_once_of_a_language_without_a_server(begin, workspace):
    (workspace / "go.mod").write_text("module tariff\n")
    (workspace / "main.go").write_text("package main\n")
    settings = {"languageServers": {"gopls": {}}, "events": False}
    editor = await begin("neovim-0.11", [DONE, DONE], settings)
    for prompt in ("Look.", "Another task."):
        started = await editor.command("outrider.run", {"prompt": prompt})
        await editor.command("outrider.wait", {"turnId": started["turnId"]})
    said = [(one.level, one.text) for one in editor.said if "language server" in one.text]
    assert said == [(2, f"Outrider: {MISSING}")]


async def test_one_that_an_edit_would_have_asked_is_named_then(begin, workspace):
    (workspace / "main.go").write_text("package main\n")
    edit = call("edit_file", path="main.go", old="package main", new="package tariff")
    settings = {"languageServers": {"gopls": {}}, "permissionMode": "full", "reminders": False}
    editor = await begin("neovim-0.11", [DONE, step(edit), DONE], settings)
    await editor.run("Look.")
    assert errors(editor) == []
    await editor.run("Do it.", sessionId=editor.events[0]["sessionId"])
    assert errors(editor) == [("language_server", MISSING)]


async def test_none_is_named_for_a_language_that_the_editor_serves(begin, workspace):
    (workspace / "go.mod").write_text("module tariff\n")
    (workspace / "main.go").write_text("def main\n")
    edit = call("edit_file", path="main.go", old="def main", new="def tariff")
    settings = {"languageServers": {"gopls": {}}, "permissionMode": "full", "reminders": False}
    editor = await begin("lends", [step(edit), DONE], settings)
    lend_toy(editor, suffix=".go")
    await editor.run("Do it.")
    assert errors(editor) == []


async def test_who_looks_for_a_name_is_told_which_server_is_missing(begin, code):
    (code / "go.mod").write_text("module entry\n\nentry entry\n")
    (code / "main.go").write_text("func entry() {}\n")
    looks = [
        step(call("references", symbol="entry")),
        step(call("symbols", query="entry", called="s")),
        step(call("diagnostics", path="main.go", called="d")),
        DONE,
    ]
    settings = with_toy()
    settings["languageServers"]["gopls"] = {}
    editor = await begin("neovim-0.11", looks, settings)
    await editor.run("Look.")
    why = "o language server for go was found; install one of gopls (go install golang.org/x/tools/gopls@latest)"
    assert result(editor) == ("error", f"entry: n{why}.")
    assert result(editor, 1) == ("error", f"N{why}.")
    assert result(editor, 2)[1].startswith(f"N{why}, and ")


@pytest.mark.parametrize("trusted", [None, False])
async def test_a_folder_that_is_not_trusted_is_said_to_be_so_and_not_to_want_no_server(begin, code, trusted):
    (code / "pyproject.toml").touch()
    settings = {**with_toy(), "trusted": trusted}
    settings["languageServers"]["toy"]["rootMarkers"] = ["pyproject.toml"]
    editor = await begin("neovim-0.11", [DONE], settings)
    await editor.run("Look.")
    line = f"no language server runs in {code}: the folder is not trusted; `outrider trust add` there says that it is"
    told = [("untrusted_folder", line)] if trusted is None else []
    assert errors(editor) == told
    assert [one.text for one in editor.said if "language server" in one.text] == []
    checks = (await editor.command("outrider.doctor"))["checks"]
    assert [(one["status"], one["detail"]) for one in checks if one["name"] == "languages"] == [
        ("warn", line)
    ]
