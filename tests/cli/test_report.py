"""The page of a session: what it tells, and that nothing in a log can become more than text in it."""

import asyncio
import re
from html.parser import HTMLParser

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from event_data import whole
from outrider.cli.exits import ExitCode
from outrider.cli.main import main
from outrider.cli.report import times
from outrider.cli.report.command import report
from outrider.cli.report.model import report_of
from outrider.cli.report.page import Html, _box, joined, page_of, tag, text
from outrider.cli.report.words import cut, duration, end
from outrider.store.exported import hash_of
from outrider.testing.scenario import scripted, start_session
from outrider_protocol.events import EVENT_TYPES
from outrider_protocol.export import Export
from outrider_protocol.notifications import Event

USAGE = {"inputTokens": 1200, "outputTokens": 30, "cachedTokens": 1000, "cost": 0.25}
VOID = {"meta"}
TAGS = {
    "html", "head", "meta", "title", "style", "body", "header", "main", "footer", "section", "article", "nav",
    "h1", "h2", "h3", "h4", "p", "div", "span", "time", "strong", "code", "pre", "ins", "del", "blockquote",
    "dl", "dt", "dd", "small", "ol", "ul", "li", "a", "table", "caption", "thead", "tbody", "tfoot", "tr", "th",
    "td", "svg", "rect", "details", "summary",
}  # fmt: skip
ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "class", "id", "href", "datetime", "title", "scope", "open",
    "tabindex", "role", "aria-label", "aria-hidden", "focusable", "x", "y", "width", "height",
}  # fmt: skip


class Page(HTMLParser):
    """A page taken apart, every rule of it checked on the way."""

    def __init__(self, page):
        super().__init__()
        self.open, self.elements, self.words, self.ids, self.links, self.style = [], [], [], [], [], ""
        self.feed(page)
        self.close()
        assert self.open == []
        assert len(set(self.ids)) == len(self.ids)
        assert set(self.links) <= {f"#{one}" for one in self.ids}
        assert "url(" not in self.style
        assert "@import" not in self.style
        self.text = "".join(self.words)

    def handle_starttag(self, tag, attrs):
        assert tag in TAGS
        assert {name for name, _ in attrs} <= ATTRIBUTES
        given = dict(attrs)
        self.elements.append((tag, given))
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if "href" in given else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag in {"meta", "rect"}
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_comment(self, data):
        raise AssertionError(data)

    def handle_data(self, data):
        if self.open and self.open[-1] == "style":
            self.style += data
        else:
            self.words.append(data)

    def of(self, tag):
        return [given for name, given in self.elements if name == tag]


def told(export):
    return Page(page_of(report_of(export)))


def log(*events, as_is=False, **more):
    """An export of events given as type, data and, where it is not a second after the last one, the second.

    Args:
        events: The events.
        as_is: Whether keys that the type of an event must have may be missing.
        more: What else the export says.
    """
    made, second = [], 0.0
    for seq, (type_, data, *at) in enumerate(events, 1):
        second = at[0] if at else second + 1
        ts = f"2026-01-01T00:{int(second) // 60:02}:{second % 60:06.3f}Z"
        turn_id = data.pop("turn", None if type_.startswith("session.") else "turn_1")
        said = data if as_is else whole(type_, data)
        made.append(Event(seq=seq, ts=ts, session_id="ses_1", turn_id=turn_id, type=type_, data=said))
    return Export(program="0.1.0", session_id="ses_1", events=made, contents={}, **more)


def requested(number=1, **more):
    given = {
        "purpose": "main",
        "messageId": f"msg_{number}",
        "model": "my/model",
        "messages": [],
        "tools": [],
    }
    return "model.requested", {**given, "toolsHash": hash_of("[]"), **more}


def responded(number=1, text="", *calls, **more):
    made = [{"id": call_id, "name": name, "arguments": "{}"} for call_id, name in calls]
    given = {"messageId": f"msg_{number}", "text": text, "toolCalls": made, "finishReason": "stop"}
    return "model.responded", {**given, **more}


STARTED = ("session.started", {"folders": ["file:///workspace"], "permissionMode": "ask", "version": "0.1.0"})
TASK = ("turn.started", {"prompt": "Fix it.", "mode": "agent", "model": "my/model"})
DONE = ("turn.finished", {"outcome": "completed", "reason": "checked", "summary": "", "usage": {}})


async def test_the_page_of_a_real_session_tells_all_that_happened(workspace):
    def call(name, **given):
        return {"name": name, "input": given}

    turns = [
        {
            "text": "I *look* at `tariff.py` first.",
            "reasoning": "The docstring says two.",
            "tool_calls": [
                call("update_plan", items=[{"text": "Look", "status": "done"}, {"text": "Correct"}]),
                call("read_file", path="tariff.py"),
                call("ask_user", question="Two or three?", options=["two", "three"]),
            ],
            "usage": USAGE,
        },
        {
            "tool_calls": [
                call("edit_file", path="tariff.py", old="hours * 3", new="hours * 2"),
                call("run_command", command="/usr/bin/printf '\\033[2Jred\\n'; exit 3"),
            ],
            "usage": USAGE,
        },
        {"tool_calls": [call("delete_file", path="README.md")]},
        {"text": "Done.", "usage": USAGE},
    ]
    answers = ["two", "Allow once", "Allow for this session", "Reject"]
    model = scripted(workspace, turns)
    async with start_session("stock", workspace, model, answers=answers) as editor:
        await editor.run("Correct the price.\nAsk me.")
        await editor.command("outrider.undo", {})
        exported = await editor.command("outrider.export", {"sessionId": editor.session_id})
    page = told(Export.from_wire(exported))
    for words in (
        "Correct the price.", "Ask me.", "completed · unverified: no check was run", "3,600", "3,000 of them cached",
        "0.7500", "[x]", "Correct", "The docstring says two.", "update_plan", "2 points", "Two or three?",
        "two – answered by the user in a message", "allowed once by the user in a message",
        "-    return hours * 3", "+    return hours * 2", "rejected by the user", "not made",
        "allowed for this session", "red", "[exit code 3]", "denied", "Outside the turns",
        "undoing an earlier change", "Taken out before this page was made: folder of the machine",
    ):  # fmt: skip
        assert words in page.text, words
    assert "\\x1b[2Jred" in page.text, "what a terminal would act on is spelled out"
    assert "\x1b" not in page.text
    assert len(page.of("article")) == 4
    assert str(workspace) not in page.text


def test_time_is_the_models_the_tools_or_the_persons():
    edit = {"callId": "c1", "name": "edit_file", "input": {"path": "a.py"}}
    ask = {"id": "o1", "callId": "c1", "digest": "d", "title": "Edit a.py", "detail": "", "options": []}
    yes = {"id": "o1", "callId": "c1", "decision": "allow_once", "by": "person", "channel": "message"}
    finished = {"callId": "c1", "name": "edit_file", "status": "ok", "content": "Edited."}
    export = log(
        STARTED, (*TASK, 10), (*requested(), 10), (*responded(1, "", ("c1", "edit_file")), 14),
        ("tool.requested", edit, 14), ("approval.requested", ask, 15), ("turn.parked", {"open": [{}]}, 16),
        ("session.closed", {"reason": "end"}, 20),
        ("session.restored", {"folders": [], "permissionMode": "ask", "turnId": "turn_1"}, 50),
        ("approval.resolved", yes, 75), ("turn.resumed", {"id": "o1"}, 75), ("tool.started", {"callId": "c1"}, 75),
        ("tool.finished", finished, 77), (*requested(2), 77), ("session.closed", {"reason": "end"}, 78),
        ("session.restored", {"folders": [], "permissionMode": "ask", "turnId": "turn_1"}, 98),
        (*requested(3), 98), (*responded(3, "Done."), 101), (*DONE, 101),
    )  # fmt: skip
    whole = report_of(export)
    (turn,) = whole.turns
    assert (turn.spent.model, turn.spent.tools, turn.spent.waiting) == (7, 2, 60)
    assert turn.seconds == whole.seconds == 91 - 20
    page = told(export)
    for words in (
        "allowed once by the user in a message after 1 min 0 s",
        "opened again",
        "Parked",
        "continues",
    ):
        assert words in page.text
    assert "No answer is in the log." in page.text


def test_what_was_asked_anew_is_not_told_as_rejected():
    ask = {"id": "o1", "callId": "c1", "digest": "d", "title": "Run make", "detail": "", "options": []}
    gone = {"id": "o1", "callId": "c1", "decision": "reject", "by": "rule", "rule": "x", "instead": "o2"}
    called = ("tool.requested", {"callId": "c1", "name": "run_command", "input": {"command": "make"}})
    export = log(
        STARTED, TASK, requested(), responded(1, "", ("c1", "run_command")), called,
        ("approval.requested", ask), ("approval.resolved", gone), ("approval.requested", ask | {"id": "o2"}),
    )  # fmt: skip
    page = told(export)
    assert (
        "withdrawn: the change it asked about was different by then, and was asked about again" in page.text
    )
    assert "rejected" not in page.text


def test_what_happened_between_the_steps_is_told():
    steering = {"pendingId": "p", "text": "Use tabs."}
    export = log(
        STARTED, TASK, requested(), responded(1, "First."), ("steering.received", steering),
        ("budget.exhausted", {"limit": "limits.steps", "allowed": 1, "used": 1}),
        ("error", {"code": "no_editor", "message": "It is gone."}), ("settings.changed", {"permissionMode": "read-only"}),
        ("context.compacted", {"before": 900, "after": 100, "reason": "full"}),
        ("workspace.changed", {"path": "a.py", "hunks": []}), ("model.retried", {"model": "m", "reason": "slow", "attempt": 1}),
        requested(2, purpose="summary"), ("model.reset", {"messageId": "msg_2", "text": "Half a", "reason": "cut"}),
        ("model.failed", {"purpose": "summary", "messageId": "msg_2", "kind": "cut_stream", "message": "It was cut."}),
        ("turn.finished", {"outcome": "budget_exhausted", "reason": "limits.steps", "summary": "Not done.", "usage": {}}),
        ("turn.queued", {"prompt": "Later.", "mode": "plan", "model": "m", "turn": "turn_2"}),
    )  # fmt: skip
    page = told(export)
    for words in (
        "Use tabs.", "The budget limits.steps is spent: 1 of 1", "It is gone. (no_editor)", "became read-only",
        "900 to 100 tokens", "a.py was changed by someone else", "asking m again (slow)", "Request: summary",
        "Half a", "It was cut. (cut_stream)", "budget exhausted: limits.steps", "Not done.", "never began",
    ):  # fmt: skip
        assert words in page.text, words
    assert [link for link in page.links if link.startswith("#t2")] == ["#t2"]


def test_thoughts_that_were_shown_as_text_are_no_withdrawn_text():
    reset = {"messageId": "msg_1", "text": "So be it", "reason": "read_anew"}
    page = told(log(STARTED, TASK, requested(), ("model.reset", reset), responded(1, "First.")))
    assert "withdrawn" not in page.text
    assert (
        "withdrawn"
        in told(log(STARTED, TASK, requested(), ("model.reset", {**reset, "reason": "cut_stream"}))).text
    )


def test_cost_that_nobody_told_is_unknown():
    unpriced = {"inputTokens": 5, "outputTokens": 5}
    assert "Costunknown" in told(log(STARTED, TASK, requested(), responded(1, usage=unpriced))).text
    both = log(
        STARTED, TASK, requested(), responded(1, usage=unpriced), requested(2), responded(2, usage=USAGE)
    )
    assert "Costat least 0.2500" in told(both).text


def test_every_request_counts_titles_and_attempts_that_failed_too():
    again = {"messageId": "msg_1", "model": "m", "reason": "cut_stream", "attempt": 2, "usage": USAGE}
    title = {"model": "s/b", "routed": {"tier": "small"}, "title": "Ferries", "usage": USAGE}
    title["failed"] = [{"model": "s/a", "reason": "timeout"}]
    events = [STARTED, TASK, requested(), ("model.retried", again), responded(1, usage=USAGE)]
    page = told(log(*events, ("session.titled", title), ("session.titled", {**title, "turn": "turn_1"})))
    assert page.text.count("s/b (tier small) named the session “Ferries”; s/a failed before: timeout.") == 2
    assert "Cost1.0000" in page.text
    of_turn = report_of(log(*events, ("session.titled", {**title, "turn": "turn_1"}))).turns[0]
    assert of_turn.tokens.cost == 0.75
    unnamed = ("session.titled", {"model": "s/b", "reason": "no_title"})
    assert "s/b named no title: no_title." in told(log(*events, unnamed)).text


def test_why_a_model_was_chosen_is_folded_into_its_step():
    candidates = [
        {"model": "my/a", "tier": "frontier", "leftOut": "vision", "price": 0.25},
        {"model": "my/b", "tier": "frontier", "score": 0.5},
        {"model": "my/c"},
    ]
    routed = {
        "purpose": "main",
        "reason": "first_step",
        "wanted": "frontier",
        "tier": "frontier",
        "model": "my/b",
    }
    routed |= {
        "others": ["my/c"],
        "candidates": candidates,
        "tokens": 900,
        "contextWindow": 8000,
        "by": "score",
    }
    page = told(
        log(STARTED, TASK, ("model.routed", routed), requested(), responded(1), requested(2), responded(2))
    )
    assert page.text.count("Asked: my/b (tier frontier)") == 1, "the second step had no choice"
    for line in (
        "wanted: frontier (the first step); about 900 of 8000 tokens; decided by score",
        "after it: my/c",
        "- my/a: tier frontier, left out: vision, about 0.2500",
        "- my/b: tier frontier, price unknown, score 0.5",
        "- my/c: `model` of the settings, price unknown",
    ):
        assert line in page.text


@pytest.mark.parametrize(
    "events", [[STARTED], [("turn.finished", {"outcome": "failed"})], [("new.event", {})]]
)
def test_a_log_with_little_in_it_gives_a_page(events):
    assert "Session ses_1" in told(log(*events)).text


def test_an_event_without_its_keys_is_passed_over():
    empty = [(type_, {}) for type_ in EVENT_TYPES]
    page = told(log(STARTED, TASK, *empty, ("error", {"code": "x", "message": "seen"}), as_is=True))
    assert "Fix it." in page.text
    assert "seen (x)" in page.text
    told(log(*empty, as_is=True))


def test_long_outputs_and_changes_are_cut_with_a_note():
    finished = {"callId": "c1", "name": "run_command", "status": "ok", "content": "line\n" * 5000}
    hunk = {"line": 1, "removed": "", "added": "new\n" * 5000}
    applied = {"changeId": "g", "callId": "c1", "path": "a", "hunks": [hunk], "where": "disk"}
    page = told(
        log(
            STARTED, TASK, requested(), ("tool.requested", {"callId": "c1", "name": "run_command", "input": {}}),
            ("edit.applied", applied), ("tool.finished", finished | {"status": "error"}),
        )
    )  # fmt: skip
    assert (
        page.text.count("line\n") == 399 + 19
    )  # of the beginning and of the end; the last of each has no end
    assert "4600 more lines left out here" in page.text
    assert page.text.count("+new\n") == 399
    assert "4601 more lines left out here" in page.text


HOSTILE = [
    "<script>alert(1)</script>", "</style><script>", "</title><img src=x onerror=alert(1)>", "<!--", "]]>",
    '" onmouseover="alert(1)', "' autofocus onfocus='x", "javascript:alert(1)", "<a href='https://evil.example'>x</a>",
    "&lt;script&gt;", "\x1b]8;;https://evil.example\x07", "\u202egnp.exe", "\u2066\u2069", "\x00\ud800\x9b", "`<b>`",
    "```\n</pre><script>\n```\n", "**<i>**", "<svg/onload=alert(1)>", "<base href=//evil.example>",
]  # fmt: skip


@pytest.mark.parametrize("evil", HOSTILE)
def test_whatever_is_in_a_log_is_text_on_the_page(evil):
    call_data = {"callId": "c1", "name": evil, "input": {evil: evil}}
    question = {"id": "q1", "callId": "c1", "question": evil, "options": [evil]}
    approval = {"id": evil, "callId": "c1", "digest": evil, "title": evil, "detail": evil, "options": [evil]}
    resolved = {
        "id": evil,
        "callId": "c1",
        "decision": evil,
        "by": evil,
        "channel": evil,
        "note": evil,
        "rule": evil,
    }
    change = {"changeId": "g", "callId": "c1", "path": evil, "to": evil, "operation": "rename"}
    hunks = {"hunks": [{"line": 1, "removed": evil, "added": evil}]}
    export = log(
        ("session.started", {"folders": [evil], "permissionMode": evil, "version": evil}),
        ("turn.started", {"prompt": evil, "mode": evil, "model": evil, "context": {"documents": [evil]}, "turn": evil}),
        ("plan.updated", {"items": [{"text": evil, "status": evil}], "turn": evil}),
        (requested()[0], requested(model=evil)[1] | {"turn": evil}),
        (responded()[0], responded(1, evil, reasoning=evil, finishReason=evil)[1] | {"turn": evil}),
        ("tool.requested", call_data | {"turn": evil}), ("question.asked", question | {"turn": evil}),
        ("question.answered", {"id": "q1", "callId": "c1", "answer": evil, "channel": evil, "turn": evil}),
        ("approval.requested", approval | {"turn": evil}), ("approval.resolved", resolved | {"turn": evil}),
        ("edit.rejected", change | hunks | {"reason": evil, "turn": evil}),
        ("tool.finished", {"callId": "c1", "name": evil, "status": evil, "content": evil, "turn": evil}),
        ("error", {"code": evil, "message": evil, "turn": evil}),
        ("turn.finished", {"outcome": evil, "reason": evil, "summary": f"{evil}.", "turn": evil}),
        ("turn.queued", {"prompt": evil, "mode": evil, "model": evil}),
        removed={evil: 1},
    )  # fmt: skip
    raw = page_of(report_of(export))
    raw.encode()
    page = Page(raw)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", raw)
    assert page.of("script") == []
    (policy,) = (given["content"] for given in page.of("meta") if given.get("http-equiv"))
    assert re.fullmatch(
        r"default-src 'none'; style-src 'sha256-[A-Za-z0-9+/=]+'; base-uri 'none'; form-action 'none'", policy
    )
    assert all(not str(value).startswith(("http", "javascript", "//")) for value in page.links)


KEYS = {
    type_: ["x", *(field.alias or name for name, field in event.model_fields.items())]
    for type_, event in EVENT_TYPES.items()
} | {"x.y": ["x", "turns", "calls", "text"]}
EVERY_KEY = sorted({key for keys in KEYS.values() for key in keys})
PLAIN = (
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=8) | st.sampled_from(HOSTILE)
)
# Two levels by hand: a strategy that is recursive spends forty times as long on making the values as the page takes.
INNER = PLAIN | st.lists(PLAIN, max_size=2) | st.dictionaries(st.sampled_from(EVERY_KEY), PLAIN, max_size=2)
VALUES = INNER | st.lists(INNER, max_size=3) | st.dictionaries(st.sampled_from(EVERY_KEY), INNER, max_size=3)
ANY_EVENT = {
    type_: st.tuples(st.just(type_), st.dictionaries(st.sampled_from(keys), VALUES, max_size=6))
    for type_, keys in KEYS.items()
}


def test_the_page_names_no_place_outside_it():
    raw = page_of(report_of(log(STARTED, TASK, requested(), responded())))
    assert not re.search(r"https?:|src=|@import|url\(", raw)
    assert all("//" not in str(value) for _, given in Page(raw).elements for value in given.values())


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(sorted(KEYS)).flatmap(ANY_EVENT.__getitem__), max_size=12))
def test_any_event_of_a_newer_program_is_passed_over_or_told(events):
    told(
        log(
            STARTED,
            TASK,
            *((type_, {k: v for k, v in data.items() if k != "turn"}) for type_, data in events),
            as_is=True,
        )
    )


def test_only_what_was_made_here_is_html():
    assert tag("p", "<b>", Html("<i></i>"), None, class_='a"b', title="x\ny", hidden=False, open=True) == (
        '<p class="a&quot;b" title="x y" open>&lt;b&gt;<i></i></p>'
    )
    assert joined("&", tag("meta", name="a")) == '&amp;<meta name="a" />'
    assert text("\x1b\u202e\ud800") == "\\x1b\\u202e\\ud800"


def test_stretches_of_time():
    assert times.joined([(3, 5), (1, 2), (4, 9), (2, 3)]) == [(1, 9)]
    assert times.without([(0, 10)], [(-1, 1), (3, 4), (9, 12)]) == [(1, 3), (4, 9)]
    assert times.seconds([(0, 2), (1, 3)]) == 3
    assert times.stretch("2026-01-01T00:00:01Z", "2026-01-01T00:00:00Z") == []
    assert times.stretch("nonsense", None) == []


def test_words_for_numbers():
    shown = [duration(one) for one in (0, 0.0042, 0.42, 4.2, 42, 192.4, 7500)]
    assert shown == ["0 s", "4 ms", "0.42 s", "4.2 s", "42 s", "3 min 12 s", "2 h 5 min"]
    assert cut("a\nb\nc", 2, 99) == (
        "a\nb",
        "1 more line left out here; an export of the session has the whole.",
    )
    assert cut("abc", 2, 2)[1].startswith("1 more character ")
    assert cut("abc", 2, 3) == ("abc", None)


def test_a_file_is_told_without_a_server(tmp_path, capsys):
    exported = tmp_path / "a.json"
    exported.write_text(log(STARTED, TASK).model_dump_json(by_alias=True, exclude_none=True))
    target = tmp_path / "a.html"
    assert main(["report", str(exported), "-o", str(target), "-C", str(tmp_path)]) == 0
    assert Page(target.read_text()).text.count("Fix it.") >= 1
    assert target.stat().st_mode & 0o777 == 0o600
    assert main(["report", str(exported), "-o", str(target), "-C", str(tmp_path)]) == 2
    assert "already exists; --force replaces it" in " ".join(capsys.readouterr().err.split())
    exported.write_text("{}")
    assert main(["report", str(exported), "-o", str(target), "--force", "-C", str(tmp_path)]) == 2
    assert "is not an exported session" in " ".join(capsys.readouterr().err.split())


async def test_the_latest_session_is_told(workspace, tmp_path):
    async with start_session("stock", workspace, scripted(workspace, [{"text": "Done."}])) as editor:
        await editor.run("The latest.")
    options = {"stateDir": str(workspace.parent / "workspace.state")}
    target = tmp_path / "a.html"
    assert await report(workspace, options, None, target, force=False) is ExitCode.COMPLETED
    assert "The latest." in Page(await asyncio.to_thread(target.read_text)).text


def test_the_head_says_what_was_taken_back_and_who_still_waits():
    ask = {"id": "o1", "callId": "c1", "digest": "d", "title": "Edit a.py", "detail": "", "options": []}
    waiting = told(
        log(STARTED, TASK, requested(), ("approval.requested", ask, 3), ("turn.parked", {"open": [{}]}, 4))
    )
    assert "still waiting" in waiting.text
    change = {
        "changeId": "chg_2",
        "path": "a.py",
        "operation": "edit",
        "hunks": [],
        "undoes": "chg_1",
        "where": "disk",
    }
    undone = Event(
        seq=5,
        ts="2026-01-01T00:02:00.000Z",
        session_id="ses_1",
        turn_id=None,
        type="edit.applied",
        data=change,
    )
    export = log(STARTED, TASK, requested(), responded(1), DONE)
    undone = undone.model_copy(update={"seq": len(export.events) + 1, "session_id": export.session_id})
    page = told(export.model_copy(update={"events": [*export.events, undone]}))
    assert "undone: 1 change" in page.text
    assert "still waiting" not in page.text


def test_the_end_of_a_long_text_is_kept():
    assert end("a\nb\nc\n", 2, 10) == "b\nc"
    assert end("abcdef", 2, 3) == "def"
    first, *rest = _box("\n".join(f"line {number}" for number in range(1000)))
    assert "line 999" not in str(first)
    assert "line 999" in str(rest[-1])
