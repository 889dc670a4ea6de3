"""What a session looks like in a terminal of 80 columns."""

import io
import re
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

from event_data import whole
from outrider.cli.diffs import FILE_LINES, diff_lines
from outrider.cli.problems import Problems
from outrider.cli.render import Renderer
from outrider.cli.terminal import make_console, plain_output, visible
from outrider.workspace.text.diff import unified


class Shown:
    """A renderer and what it has printed."""

    def __init__(self, width: int = 80, colour: bool = False) -> None:
        self.stream = io.StringIO()
        console = Console(
            file=self.stream, width=width, markup=False, emoji=False, highlight=False, force_terminal=colour
        )
        self.renderer = Renderer(console, Problems(console))
        self.seq = 0

    def event(self, kind: str, **data: Any) -> "Shown":
        self.seq += 1
        ts = f"2026-01-01T00:00:{self.seq:02}.000Z"
        told = whole(kind, data)
        self.renderer.event({"seq": self.seq, "ts": ts, "sessionId": "s", "type": kind, "data": told})
        return self

    def frame(self, kind: str, text: str, source: str = "m1") -> "Shown":
        key = "callId" if kind == "output" else "messageId"
        self.renderer.frame({"kind": kind, key: source, "text": text, "offset": 0})
        return self

    def responded(self, text: str, source: str = "m1") -> "Shown":
        return self.event("model.responded", messageId=source, text=text, toolCalls=[], finishReason="stop")

    @property
    def text(self) -> str:
        return self.stream.getvalue()

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self.text.splitlines() if line.strip()]


def test_streamed_text_breaks_between_words_whatever_the_pieces():
    text = "The quick brown fox jumps over the lazy dog " * 5
    whole = Shown(40).event("model.requested", messageId="m1").frame("text", text).responded(text)
    pieces = Shown(40).event("model.requested", messageId="m1")
    for start in range(0, len(text), 3):
        pieces.frame("text", text[start : start + 3])
    pieces.responded(text)
    assert pieces.text == whole.text
    assert all(len(line) <= 40 for line in whole.lines)
    assert " ".join(whole.text.split()) == text.strip()


def test_text_that_was_streamed_is_not_shown_twice():
    shown = Shown().event("model.requested", messageId="m1").frame("text", "done").responded("done")
    shown.event("turn.finished", outcome="completed", reason="completed", summary="done", usage={})
    assert shown.text.count("done") == 1


def test_text_that_was_not_streamed_is_shown():
    assert "hello" in Shown().responded("hello").text


def test_text_that_overtakes_the_log_waits_for_its_place():
    shown = Shown().frame("text", "There it ")
    shown.event("tool.requested", callId="c", name="search", input={"pattern": "x"})
    shown.event("tool.finished", callId="c", name="search", status="ok", content="")
    shown.event("model.requested", messageId="m1").frame("text", "is").responded("There it is.").frame(
        "text", "."
    )
    assert shown.lines == ["+ search  x", "There it is."]


def test_output_that_overtakes_the_log_waits_for_its_place():
    shown = Shown().frame("output", "a\n", "c")
    shown.event("tool.requested", callId="c", name="run_command", input={"command": "ls"})
    shown.frame("output", "b\n", "c").event("tool.started", callId="c").frame("output", "c\n", "c")
    shown.event("tool.finished", callId="c", name="run_command", status="ok", content="")
    assert shown.lines == ["$ ls", "  a", "  b", "  c"]


def test_withdrawn_text_is_followed_by_the_whole_of_the_new_one():
    shown = Shown().event("model.requested", messageId="m1").frame("text", "wrong")
    shown.event("model.reset", messageId="m1", text="wrong", reason="cut off").responded("right")
    assert shown.lines == ["wrong", "(the text above is withdrawn: cut off)", "right"]


def test_thoughts_that_were_shown_as_text_are_said_to_be_no_answer():
    shown = Shown().event("model.requested", messageId="m1").frame("text", "Hm.")
    shown.event("model.reset", messageId="m1", text="Hm.", reason="read_anew").responded("right")
    assert shown.lines == ["Hm.", "(the text above was not an answer yet)", "right"]


def test_answers_for_other_purposes_are_not_shown():
    shown = Shown().event(
        "model.responded", purpose="title", messageId="m9", text="A title", toolCalls=[], finishReason="stop"
    )
    assert shown.text == ""


def test_a_failed_command_shows_its_exit_code():
    shown = Shown().event("tool.requested", callId="c", name="run_command", input={"command": "false"})
    shown.event("tool.started", callId="c").frame("output", "no\n", "c")
    shown.event("tool.finished", callId="c", name="run_command", status="error", content="no\n[exit code 1]")
    assert shown.lines == ["$ false", "  no", "  [exit code 1]"]


def test_of_a_plan_that_goes_on_only_what_changed_is_shown():
    plan = [{"text": "a", "status": "in_progress"}, {"text": "b", "status": "pending"}]
    shown = Shown().event("plan.updated", items=plan)
    shown.event("plan.updated", items=[{"text": "a", "status": "done"}, plan[1]])
    assert shown.lines[3:] == ["  [x] a"]
    shown.event("plan.updated", items=[{"text": "c", "status": "pending"}])
    assert shown.lines[4:] == ["Plan", "  [ ] c"]


def test_a_plan_is_a_checklist():
    items = [
        {"text": "a", "status": "done"},
        {"text": "b", "status": "in_progress"},
        {"text": "c", "status": "pending"},
    ]
    assert Shown().event("plan.updated", items=items).lines == ["Plan", "  [x] a", "  [>] b", "  [ ] c"]


def test_a_call_is_one_line_with_what_it_is_about():
    shown = Shown().event("tool.requested", callId="c", name="search", input={"pattern": "x\ny", "glob": "*"})
    shown.event("tool.finished", callId="c", name="search", status="ok", content="…")
    assert shown.lines == ["+ search  x ⏎ y"]


def test_the_person_sees_that_secrets_were_hidden():
    shown = Shown().event("tool.requested", callId="c", name="search", input={"pattern": "x"})
    shown.event("tool.finished", callId="c", name="search", status="ok", content="[secret 1]", masked=2)
    assert shown.lines == ["+ search  x", "  secrets hidden from the model: 2"]


def test_a_failed_call_says_why_in_one_line():
    shown = Shown().event("tool.requested", callId="c", name="read_file", input={"path": "a" * 200})
    shown.event("tool.finished", callId="c", name="read_file", status="error", content="no such file\nmore")
    assert shown.lines[-1] == "  no such file"
    assert len(shown.lines) == 2
    assert "a" * 200 in shown.lines[0], "only a terminal has an edge"


def test_a_call_that_the_mode_does_not_let_go_says_why():
    shown = Shown().event("tool.requested", callId="c", name="run_command", input={"command": "make"})
    why = "run_command is not possible: the session is read-only: no execute is possible."
    shown.event("tool.finished", callId="c", name="run_command", status="denied", content=why)
    assert shown.lines == ["- run_command  make  denied", f"  {why}"]


def test_what_a_rule_allowed_is_not_said_to_be_allowed_once():
    shown = Shown()
    shown.event("approval.resolved", id="o", callId="c", decision="allow_once", by="rule", rule="allow x")
    assert shown.lines == ["  allowed (allow x)"]


def test_what_a_rule_decided_is_said_with_the_rule():
    shown = Shown().event("tool.requested", callId="c", name="run_command", input={"command": "make"})
    rule = "rule: deny run_command “make …” everywhere"
    shown.event("approval.resolved", id="o", callId="c", decision="reject", by="rule", rule=rule)
    shown.event(
        "tool.finished", callId="c", name="run_command", status="denied", content="A rule forbids it."
    )
    assert shown.lines == [f"  rejected ({rule})", "- run_command  make  denied"]


def test_what_is_asked_anew_was_not_rejected():
    shown = Shown()
    shown.event("approval.resolved", id="o", callId="c", decision="reject", by="rule", rule="x", instead="p")
    assert shown.lines == ["  withdrawn: the change is different now, and is asked about again"]


def test_a_terminal_cuts_lines_at_its_edge():
    shown = Shown(colour=True).event(
        "tool.requested", callId="c", name="read_file", input={"path": "a" * 200}
    )
    shown.event("tool.finished", callId="c", name="read_file", status="error", content="no such file\nmore")
    assert "a" * 100 not in shown.text
    assert "…" in shown.text


@pytest.mark.parametrize("arguments", ["{not json", [], 3, {}, {"path": None}])
def test_arguments_of_any_shape_are_shown(arguments):
    shown = Shown().event("tool.requested", callId="c", name="read_file", input=arguments)
    shown.event("tool.finished", callId="c", name="read_file", status="error", content="")
    assert "read_file" in shown.text


def test_a_long_output_is_cut_in_the_middle():
    shown = Shown().event("tool.requested", callId="c", name="run_command", input={"command": "seq 100"})
    shown.event("tool.started", callId="c")
    for number in range(1, 101):
        shown.frame("output", f"{number}\n", "c")
    shown.event("tool.finished", callId="c", name="run_command", status="ok", content="ignored")
    assert shown.lines[0] == "$ seq 100"
    assert shown.lines[1:13] == [f"  {n}" for n in range(1, 13)]
    assert shown.lines[13] == "  … 82 more lines"
    assert shown.lines[14:] == [f"  {n}" for n in range(95, 101)]


def test_output_that_came_in_no_frames_is_taken_from_the_result():
    shown = Shown().event("tool.requested", callId="c", name="run_command", input={"command": "ls"})
    shown.event("tool.started", callId="c")
    shown.event("tool.finished", callId="c", name="run_command", status="ok", content="a\nb\n")
    assert shown.lines == ["$ ls", "  a", "  b"]


def test_an_edit_is_a_diff_with_line_numbers():
    hunks = [{"line": 3, "removed": "a\n", "added": "b\nc\n"}, {"line": 9, "removed": "d\n", "added": ""}]
    assert diff_lines(hunks) == ["@@ -3,1 +3,2 @@", "-a", "+b", "+c", "@@ -9,1 +10,0 @@", "-d"]
    shown = Shown().event("edit.applied", changeId="x", path="f.py", operation="edit", hunks=hunks)
    assert shown.lines[0] == "  edited f.py  (+2 −2)"
    assert "  +b" in shown.lines


def test_what_is_to_be_approved_is_shown_in_full_and_only_once():
    hunks = [{"line": 1, "removed": "", "added": "".join(f"line {n}\n" for n in range(500))}]
    change = {"changeId": "x", "callId": "c", "path": "f.py", "operation": "create", "hunks": hunks}
    shown = Shown().event("edit.proposed", **change)
    asked = {"title": "Create f.py (+500)", "detail": unified("", hunks[0]["added"], "f.py")}
    shown.event("approval.requested", id="o", callId="c", digest="d", **asked)
    assert "further" not in shown.text
    shown.event("approval.resolved", id="o", callId="c", decision="allow_once", by="person")
    shown.event("edit.applied", **change)
    assert shown.text.count("line 499") == 1
    assert shown.lines[-2:] == ["  allowed once", "  created f.py  (+500 −0)"]


def proposed(change_id: str, path: str, before: str, after: str) -> dict[str, Any]:
    hunk = {"line": 1, "removed": before, "added": after}
    return {"changeId": change_id, "callId": "c", "path": path, "operation": "edit", "hunks": [hunk]}


def test_an_approval_of_several_files_shows_each_with_its_name_its_counts_and_its_diff():
    texts = {"a.py": ("a = 1\n", "a = 2\n"), "b.py": ("", "".join(f"b{n}\n" for n in range(FILE_LINES + 50)))}
    texts["c.py"] = ("c\n", "")
    changes = [proposed(path[0], path, *both) for path, both in texts.items()]
    listed = "Edit a.py (+1 −1)\nCreate b.py (+250)\nDelete c.py (−1)\n\n"
    detail = listed + "".join(unified(*both, path) for path, both in texts.items())
    shown = Shown()
    for change in changes:
        shown.event("edit.proposed", **change)
    asked = {"id": "o", "callId": "c", "digest": "d", "title": "Change 3 files (+251 −2)", "detail": detail}
    shown.event("approval.requested", **asked, changeIds=["a", "b", "c"])
    lines = shown.lines
    assert lines[1:4] == ["  Edit a.py (+1 −1)", "  Create b.py (+250)", "  Delete c.py (−1)"]
    assert lines[4:8] == ["  a.py  (+1 −1)", "  @@ -1 +1 @@", "  -a = 1", "  +a = 2"]
    assert lines[8:10] == ["  b.py  (+250 −0)", "  @@ -0,0 +1,250 @@"]
    assert "  +b198" in lines
    assert "  +b199" not in lines
    assert lines[-4:] == ["  … 51 further lines", "  c.py  (+0 −1)", "  @@ -1 +0,0 @@", "  -c"]
    for change in changes:
        shown.event("edit.applied", **change)
    assert shown.lines[-3:] == [
        "  edited a.py  (+1 −1)",
        "  edited b.py  (+250 −0)",
        "  edited c.py  (+0 −1)",
    ]


def test_no_line_of_a_file_passes_for_another_file():
    detail = unified("-- b.py\n", "++ b.py\n@@ -1 +1 @@\n", "a.py") + unified("x\n", "y", "c.py")
    asked = {"id": "o", "callId": "c", "digest": "d", "title": "Change 2 files (+3 −2)", "detail": detail}
    lines = Shown().event("approval.requested", **asked).lines
    assert lines[1:6] == ["  a.py  (+2 −1)", "  @@ -1 +1,2 @@", "  --- b.py", "  +++ b.py", "  +@@ -1 +1 @@"]
    assert lines[6:] == ["  c.py  (+1 −1)", "  @@ -1 +1 @@", "  -x", "  +y", "  \\ No newline at end of file"]


def test_what_an_approval_warns_of_is_shown_above_the_diff():
    detail = "Careful: id_rsa is a secret file: a key.\n" + unified("x\n", "y\n", "id_rsa")
    shown = Shown().event("edit.proposed", **proposed("a", "id_rsa", "x\n", "y\n"))
    asked = {"id": "o", "callId": "c", "digest": "d", "title": "Edit id_rsa (+1 −1)", "detail": detail}
    lines = shown.event("approval.requested", **asked).lines
    assert lines[1:] == ["  Careful: id_rsa is a secret file: a key.", "  @@ -1 +1 @@", "  -x", "  +y"]


def test_a_rename_alone_has_no_counts():
    shown = Shown().event("edit.applied", changeId="x", path="a", to="b", operation="rename", hunks=[])
    assert shown.lines == ["  renamed a to b"]


def test_a_name_stays_on_its_line():
    hunk = {"line": 1, "removed": "", "added": "x"}
    shown = Shown().event("edit.applied", changeId="x", path="a\nb\tc", operation="create", hunks=[hunk])
    shown.event("workspace.changed", path="a\nb", hunks=[], by="command")
    assert shown.lines[0] == "  created a\\nb\\tc  (+1 −0)"
    assert shown.lines[-2:] == ["  \\ No newline at end of file", "  a\\nb was changed by the command"]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"after": "2", "changeId": "c", "told": "[b.txt was changed]"}, "b.txt was created by the command"),
        ({"before": "1", "after": "2", "told": "[b.txt was changed]"}, "b.txt was changed by the command"),
        ({"before": "1", "told": "[b.txt was deleted by `rm`.]"}, "b.txt was deleted by the command"),
        (
            {"before": "1", "told": "[b.txt was changed and can no longer be read: it is no text.]"},
            "b.txt was made unreadable by the command",
        ),
        ({"before": "1"}, "b.txt was deleted or made unreadable by the command"),
    ],
)
def test_what_a_command_did_to_a_file_is_said_as_it_is_known(more: dict[str, Any], says: str):
    hunk = {"line": 1, "removed": "x\n", "added": ""}
    shown = Shown().event("workspace.changed", path="b.txt", hunks=[hunk], by="command", **more)
    assert shown.lines == [f"  {says}"]


def test_a_change_that_became_another_one_is_shown_again():
    hunk = {"line": 1, "removed": "a\n", "added": "b\n"}
    shown = Shown().event("edit.proposed", changeId="x", callId="c", path="f.py", hunks=[hunk])
    shown.event("approval.requested", id="o", callId="c", digest="d", title="Edit f.py (+1 −1)", detail="")
    shown.event("edit.applied", changeId="y", callId="c", path="f.py", hunks=[hunk | {"line": 7}])
    assert shown.lines[-3:] == ["  @@ -7,1 +7,1 @@", "  -a", "  +b"]


def test_an_approval_without_a_change_shows_its_detail():
    shown = Shown().event(
        "approval.requested", id="o", callId="c", digest="d", title="Run: make", detail="in the workspace"
    )
    assert shown.lines == ["? Run: make", "  in the workspace"]


def test_the_last_line_sums_up():
    shown = Shown().event("turn.started", prompt="p", mode="agent", model="m").responded("x")
    usage = {"inputTokens": 12345, "outputTokens": 67, "cost": 0.0123}
    shown.event("turn.finished", outcome="completed", reason="completed", summary="x", usage=usage)
    assert shown.lines[-1] == "completed · 1 step · 2.0 s · 12,345 tokens in, 67 out, cost 0.0123"


def test_an_outcome_that_is_not_good_says_its_reason():
    usage = {"inputTokens": 0, "outputTokens": 0}
    shown = Shown().event(
        "turn.finished", outcome="failed", reason="script_exhausted", summary="", usage=usage
    )
    assert shown.lines[-1] == "failed (script_exhausted) · 0 steps"


@pytest.mark.parametrize(
    ("limit", "line"),
    [
        ("contextWindow", "the request (about 2565 tokens) is too long for the model's context window"),
        ("limits.steps", "the budget limits.steps = 1900 is spent"),
    ],
)
def test_what_ended_a_turn_is_said_in_its_own_words(limit: str, line: str):
    assert Shown().event("budget.exhausted", limit=limit, allowed=1900, used=2565).lines == [line]


def test_a_cost_that_nobody_knows_is_said_to_be_unknown_where_one_was_expected():
    def last(model: str, **usage: Any) -> str:
        shown = Shown().event("turn.started").event("model.requested", messageId="m1", model=model)
        usage |= {"inputTokens": 5, "outputTokens": 6}
        shown.event("turn.finished", outcome="completed", reason="no_changes", summary="", usage=usage)
        return shown.lines[-1]

    assert last("my/model").endswith("5 tokens in, 6 out, cost unknown")
    assert last("my/model", cost=0).endswith("5 tokens in, 6 out, cost 0.0000")
    assert last("scripted:a.json").endswith("5 tokens in, 6 out")


def test_a_turn_is_told_of_the_model_that_answers_only_where_that_changes():
    shown = Shown().event("turn.started")
    for purpose, model, tier in (
        ("main", "my/big", "frontier"),
        ("main", "my/big", "frontier"),
        ("summary", "my/tiny", "small"),
        ("main", "my/mid", None),
    ):
        shown.event("model.routed", purpose=purpose, model=model, **({"tier": tier} if tier else {}))
    shown.event("model.fellBack", **{"from": "my/mid", "to": "my/other", "reason": "auth"})
    shown.event("model.routed", purpose="main", model="my/other", tier="mid")
    shown.event("model.routed", purpose="main", model="my/big", tier="frontier")
    assert shown.lines == [
        "model: my/big (tier frontier)",
        "model: my/mid (`model` of the settings)",
        "continuing with my/other (auth)",
        "model: my/big (tier frontier)",
    ]


@pytest.mark.parametrize(
    ("kind", "data", "line"),
    [
        (
            "retried",
            {"reason": "rate_limit", "attempt": 2, "wait": 7.2},
            "asking m again in 7.2 s (rate_limit)",
        ),
        ("retried", {"reason": "no_images", "attempt": 2}, "asking m again (no_images)"),
        (
            "switched",
            {"reason": "no_tools", "toolFormat": "hermes"},
            "m does not support tools: its calls are text from now on (hermes)",
        ),
        (
            "switched",
            {"reason": "unread_calls", "toolFormat": "kimi"},
            "m wrote unreadable tool calls: its calls are text from now on (kimi)",
        ),
    ],
)
def test_what_becomes_of_a_request_is_said(kind: str, data: dict[str, Any], line: str):
    assert Shown().event(f"model.{kind}", model="m", **data).lines == [line]


EVIL = "\x1b]0;owned\x07\x1b[2Jx\x9b\u202egpj.exe\r\x00"


def test_nothing_that_a_model_or_a_file_says_reaches_the_terminal_as_a_command():
    shown = (
        Shown().event("model.requested", messageId="m1").frame("text", EVIL + " ").frame("reasoning", EVIL)
    )
    shown.event("tool.requested", callId="c", name="run_command", input={"command": EVIL})
    shown.event("tool.started", callId="c").frame("output", EVIL + "\n", "c")
    shown.event("approval.requested", id="o", callId="c", digest="d", title=EVIL, detail=EVIL)
    shown.event("question.asked", id="q", question=EVIL)
    shown.event("tool.asked", id="t", callId="c", name=EVIL)
    shown.event("tool.answered", id="t", callId="c", status="ok", content=EVIL, channel="command")
    shown.event("plan.updated", items=[{"text": EVIL, "status": "done"}])
    shown.event("edit.applied", changeId="x", path=EVIL, hunks=[{"line": 1, "removed": EVIL, "added": EVIL}])
    shown.event("error", code="x", message=EVIL)
    shown.event("tool.finished", callId="c", name="run_command", status="error", content=EVIL)
    shown.renderer.problems.message(1, EVIL)
    shown.event("turn.finished", outcome="failed", reason="x", summary=EVIL, usage={})
    for forbidden in "\x1b\x07\x9b\u202e\r\x00":
        assert forbidden not in shown.text


def test_a_hidden_character_is_spelled_out():
    assert visible("a\u202eb\x1bc\td\ne\udc80") == "a\\u202eb\\x1bc\td\ne\\udc80"
    assert visible("a\u200bb\U000e0041\r\n\u3164") == "a\\u200bb\\U000e0041\n\\u3164"
    assert plain_output("\x1b[31mred\x1b[0m\r\n") == "red\n"


def test_no_colour_where_the_person_wants_none(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    shown = Shown(colour=True).event("error", code="x", message="y")
    assert "\x1b[31m" not in shown.text
    monkeypatch.delenv("NO_COLOR")
    assert "\x1b[31m" in Shown(colour=True).event("error", code="x", message="y").text
    missing = Shown(colour=True).event("error", code="language_server", message="y").text
    assert "warning: y (language_server)" in missing and "\x1b[33m" in missing


def test_a_stream_that_cannot_show_a_character_gets_an_escape_instead():
    raw = io.BytesIO()
    with io.TextIOWrapper(raw, encoding="ascii") as stream:
        make_console(stream).print("a − b [bold] :smile:")
        stream.flush()
        assert raw.getvalue() == b"a \\u2212 b [bold] :smile:\n"


@pytest.mark.parametrize(
    "kind", ["session.started", "turn.phase", "session.restored", "something.new", "context.pruned"]
)
def test_events_it_does_not_show_are_no_error(kind):
    assert Shown().event(kind).text == ""


@pytest.mark.parametrize(
    ("reason", "line"),
    [
        ("no_changes", "completed · 0 steps"),
        ("checked", "completed · checked by a command · 0 steps"),
        ("unverified", "completed · unverified: nothing was run after the last change · 0 steps"),
        ("check_failed", "check failed · the last command failed · 0 steps"),
    ],
)
def test_the_last_line_says_how_the_work_was_checked(reason: str, line: str):
    shown = Shown().event("turn.finished", outcome="completed", reason=reason, summary="x", usage={})
    assert shown.lines[-1].startswith(line)


def test_how_a_turn_ended_is_said_once():
    shown = Shown()
    shown.event("turn.finished", outcome="failed", reason="auth", summary="401: bad key", usage={})
    shown.renderer.problems.message(1, "Outrider, failed: 401: bad key")
    assert shown.text.count("bad key") == 1


def test_an_error_that_comes_as_an_event_and_as_a_message_is_shown_once():
    shown = Shown().event("error", code="x", message="the disk is full")
    shown.renderer.problems.message(1, "Outrider: the disk is full")
    assert shown.lines == ["error: the disk is full (x)"]


def test_what_the_server_tells_besides_the_events_is_shown():
    shown = Shown()
    shown.renderer.problems.message(3, "Outrider: The stored texts of changed files reached 1,000 bytes")
    shown.renderer.problems.message(3, "Outrider is waiting for you: “Run: make”. Code actions answer it.")
    shown.renderer.problems.message(3, "Outrider, completed: Done.")
    shown.renderer.problems.message(4, "a line for the log")
    assert shown.lines == ["The stored texts of changed files reached 1,000 bytes"]


def test_a_warning_of_the_start_is_not_shown_besides_the_error_that_says_it():
    shown = Shown()
    shown.renderer.problems.message(2, "Outrider: no such provider")
    shown.renderer.problems.message(2, "Outrider: a key is unknown")
    shown.renderer.problems.error("no such provider")
    shown.renderer.problems.show_held()
    assert sorted(shown.lines) == ["error: no such provider", "warning: a key is unknown"]


def test_what_the_server_says_and_refuses_with_is_shown_once():
    shown = Shown()
    shown.renderer.problems.message(1, "Outrider: the log cannot be written")
    shown.renderer.problems.error("the log cannot be written")
    assert shown.lines == ["error: the log cannot be written"]


def test_the_error_text_of_a_tool_is_whole_where_no_terminal_would_break_it():
    shown = Shown().event("tool.requested", callId="c", name="read_file", input={"path": "a.py"})
    shown.event("tool.finished", callId="c", name="read_file", status="error", content="x" * 300)
    assert "x" * 300 in shown.text


def test_that_a_command_was_cancelled_is_said_once():
    shown = Shown().event("tool.requested", callId="c", name="run_command", input={"command": "sleep 9"})
    shown.event("tool.started", callId="c")
    shown.event(
        "tool.finished", callId="c", name="run_command", status="cancelled", content="begun\n[cancelled]"
    )
    assert shown.lines == ["$ sleep 9", "  begun", "  [cancelled]"]


def test_a_rejection_is_followed_by_what_it_means_here():
    stream = io.StringIO()
    renderer = Renderer(Console(file=stream), after_rejection="it goes on")
    for decision in ("allow_once", "reject"):
        data = {"id": "o", "callId": "c", "decision": decision, "by": "person", "channel": "message"}
        renderer.event({"type": "approval.resolved", "data": data})
    assert stream.getvalue().split("\n") == ["  it goes on", ""]


def test_text_that_overtakes_the_answer_before_it_waits_for_its_place():
    shown = Shown().event("model.requested", messageId="m1").frame("text", "It is", "m2").responded("")
    shown.event("tool.requested", callId="c", name="search", input={"pattern": "x"})
    shown.event("tool.finished", callId="c", name="search", status="ok", content="")
    shown.event("model.requested", messageId="m2").frame("text", " done.", "m2").responded(
        "It is done.", "m2"
    )
    assert shown.lines == ["+ search  x", "It is done."]


def test_what_is_copied_is_not_broken():
    shown = Shown()
    go_on = "outrider run --session ses_1 -C " + "/a/long/folder" * 8
    shown.renderer.open_items(["Edit a.py"], go_on, ["all"])
    assert f"  {go_on} --yes-to all" in shown.stream.getvalue().split("\n")


def test_what_runs_without_a_sandbox_is_named_as_a_rule_of_its_own():
    shown = Shown()
    shown.renderer.open_items(
        ["Run `make` in the workspace, without a sandbox."], "outrider run", ["all", "outside"]
    )
    assert "  outrider run --yes-to all --yes-to outside" in shown.lines
    assert "`--yes-to all` does not include it" in " ".join(shown.stream.getvalue().split())


OBEYED = "\x1b]0;title\x07\x1b[2J\x9b31m\u202e\x1b]8;;http://x\x1b\\link\r\x08\x00"


def test_a_console_shows_what_a_terminal_would_obey_even_where_nobody_made_it_visible():
    stream = io.StringIO()
    stream.isatty = lambda: True  # type: ignore[method-assign]
    console = make_console(stream)
    console.print(Text(OBEYED, style="bold red"))
    console.print(OBEYED)
    table = Table()
    table.add_row(OBEYED, Text(OBEYED))
    console.print(table)
    written = stream.getvalue()
    assert not set(OBEYED) & set("\x07\x9b\u202e\x08\x00\x1b") & set(re.sub(r"\x1b\[[0-9;]*m", "", written))
    assert "\\x1b]0;title" in written


def test_the_name_of_a_tool_is_the_words_of_a_model():
    stream = io.StringIO()
    console = make_console(stream)
    renderer = Renderer(console, Problems(console))
    for kind, data in (
        ("tool.requested", {"callId": "c", "name": f"bad{OBEYED}", "input": {}}),
        (
            "tool.finished",
            {"callId": "c", "name": f"bad{OBEYED}", "status": "error", "content": "no such tool"},
        ),
    ):
        renderer.event(
            {
                "seq": 1,
                "ts": "2026-01-01T00:00:00.000Z",
                "sessionId": "s",
                "type": kind,
                "data": whole(kind, data),
            }
        )
    assert "bad\\x1b]0;title" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


def test_a_turn_that_ends_with_a_failed_check_says_where_it_fails():
    def ran(shown, code, *failures):
        told = {"kind": "test", "command": "pytest -q", "exitCode": code}
        wrong = [
            {"path": "a.py", "line": line, "message": f"no {line}", "severity": "error"} for line in failures
        ]
        shown.event(
            "tool.finished",
            callId="c",
            name="run_command",
            status="ok",
            content="",
            ran=told | ({"failures": wrong} if wrong else {}),
        )

    def ended(shown, code):
        check = {
            "kind": "test",
            "command": "pytest -q",
            "exitCode": code,
            "ok": code == 0,
            "stale": False,
            "seconds": 1.0,
        }
        state = "check_failed" if code else "checked"
        done = {"state": state, "line": "how it went", "changed": [], "checks": [check], "openItems": []}
        return shown.event(
            "turn.finished", outcome="completed", reason=state, summary="x", usage={}, done=done
        ).lines

    shown = Shown()
    ran(shown, 1, 3, 7)
    assert ended(shown, 1)[-2:] == ["  a.py:3: no 3", "  a.py:7: no 7"]
    ran(shown, 1, 9)
    assert [line for line in ended(shown, 1)[-2:] if "a.py" in line] == ["  a.py:9: no 9"]
    ran(shown, 0)
    assert "a.py" not in ended(shown, 0)[-1]
    ran(shown, 1, *range(1, 12))
    assert ended(shown, 1)[-2:] == ["  a.py:8: no 8", "  and 3 more"]


def test_a_check_of_the_task_is_told_from_a_command_of_the_model():
    shown = Shown().event("verify.started", attempt=1, calls=[{"id": "check", "command": "true"}])
    for call_id in ("check", "other"):
        shown.event("tool.requested", callId=call_id, name="run_command", input={"command": "true"})
        shown.event("tool.started", callId=call_id)
    text = shown.stream.getvalue()
    assert "$ true  (the task's check)\n" in text and "$ true\n" in text


def test_a_question_that_was_not_asked_again_is_shown_with_its_answer_and_without_words_for_the_model():
    recalled = {"question": "Which colour?", "answer": "blue"}
    shown = Shown().event("tool.requested", callId="q", name="ask_user", input={"question": "Which colour?"})
    told = "blue\n[The user answered this question before, and was not asked again.]"
    shown.event("tool.finished", callId="q", name="ask_user", status="ok", content=told, recalled=recalled)
    text = shown.stream.getvalue()
    assert "? Which colour?\n  answered as before: blue\n" in text
    assert "not asked again" not in text


@pytest.mark.parametrize(
    ("done", "style", "begin"),
    [
        ({"state": "checked", "line": "checked: tests (`pytest`)"}, "\x1b[32m", "completed · checked: tests"),
        ({"state": "no_changes", "line": ""}, "\x1b[32m", "completed · 0 steps"),
        (
            {"state": "no_changes", "line": "nothing was changed, so its checks did not run"},
            "",
            "completed · nothing",
        ),
        ({"state": "unverified", "line": "unverified: no check was run"}, "", "completed · unverified"),
        (
            {"state": "checked", "line": "checked; 1 item of the plan is open", "openItems": ["Look"]},
            "",
            "completed · checked",
        ),
        (
            {"state": "check_failed", "line": "check failed: `pytest` (exit code 1)"},
            "\x1b[31m",
            "check failed · `pytest` (exit code 1) · ",
        ),
    ],
)
def test_only_an_end_that_is_shown_to_be_done_is_green(done, style, begin):
    shown = Shown(120, colour=True)
    shown.event("turn.finished", outcome="completed", reason=done["state"], summary="", usage={}, done=done)
    assert shown.lines[-1].startswith(style + begin)


def test_a_hook_is_shown_by_its_own_command_and_not_by_what_it_is_given():
    """With each call its whole input would be read again; that the user allowed it is no news either."""
    line = 'export GEMINI_PROJECT_DIR=/w; printf %s \'{"prompt": "…"}\' | { sh guard.sh\x1b[2J\n}'
    shown = Shown().event(
        "hook.started", on="beforeTool", calls=[{"id": "h", "command": line, "hook": "sh guard.sh\x1b[2J"}]
    )
    shown.event("tool.requested", callId="h", name="run_command", input={"command": line})
    shown.event(
        "approval.resolved", callId="h", decision="allow_once", by="rule", rule="you allowed this hook"
    )
    shown.event("tool.started", callId="h")
    shown.event("tool.finished", callId="h", name="run_command", status="ok", content="checked")
    assert shown.lines == ["$ sh guard.sh\\x1b[2J  (hook, beforeTool)", "  checked"]
