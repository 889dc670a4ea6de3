"""What of a conversation goes to the model: nothing that matters is lost, and the log says what was left out."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from scripting import DONE, FIX, call, step, types

from models.test_forms import CHECKS, body_of
from outrider.agent.context import fitting
from outrider.agent.context.budget import Budget
from outrider.agent.context.compaction import SUMMARY_HEAD
from outrider.agent.context.pruning import OLD, STALE
from outrider.models.dialects.http_model import completed
from outrider.ports.clock import SystemClock
from outrider.ports.events import from_wire, messages_of
from outrider.ports.model import BYTES_PER_TOKEN, Message
from outrider.store.log import Store
from outrider.testing.scenario import scripted
from outrider_protocol.settings import Limits

TINY = 3_950
"""Tokens: hardly more than the system message and the tools."""
OVERFLOW = '{"error": {"code": "context_length_exceeded", "message": "too long"}}'
TOO_LONG = {"fault": {"kind": "http", "status": 400, "body": OVERFLOW}}


def read(path, called):
    return step(call("read_file", path=path, called=called))


def of_type(editor, kind):
    return [event["data"] for event in editor.events_of(kind)]


async def sent(editor, purpose="main"):
    """The messages of each request of that purpose."""
    requests = [
        messages_of(from_wire(event), lambda seq: from_wire(editor.events[seq - 1]))
        for event in editor.events_of("model.requested")
        if event["data"]["purpose"] == purpose
    ]
    store = await Store.open(Path(editor.options["stateDir"]))
    try:
        blobs = await store.blobs({digest for messages in requests for digest in messages})
    finally:
        await store.close()
    return [[Message.decode(blobs[digest]) for digest in messages] for messages in requests]


def assert_whole(messages):
    """Every call has its one result behind it, and every result its call before it."""
    waiting = []
    for message in messages:
        if message.role == "tool":
            waiting.remove(message.tool_call_id)
        else:
            assert not waiting or message.role == "user"
            if message.role == "assistant":
                assert not waiting
                waiting = [one.id for one in message.tool_calls]
    assert waiting == []


@pytest.fixture
def files(workspace):
    """Files of some length, each of which says its name."""
    for name in "abcdef":
        (workspace / f"{name}.txt").write_text(
            "".join(f"{name}{number} of the file\n" for number in range(90))
        )
    return workspace


LONG = [
    step(call("update_plan", items=[{"text": "Halve the price", "status": "in_progress"}])),
    read("a.txt", "r_a"),
    read("b.txt", "r_b"),
    read("tariff.py", "r_t"),
    step(FIX),
    read("c.txt", "r_c"),
    step(call("ask_user", question="In what?", options=["hours"], called="asked")),
    read("d.txt", "r_d"),
    step(call("write_file", path="new.txt", content="new\n", called="new")),
    read("e.txt", "r_e"),
    DONE,
]


async def play_long(begin, window, script=None, settings=None, turns=LONG):
    editor = await begin(
        "stock", turns, settings, script={"context_window": window, **(script or {})},
        answers=lambda question: "hours" if "In what?" in question.message else "Allow once",
    )  # fmt: skip
    ended = await editor.run("Halve the price, please")
    return editor, ended


@pytest.mark.parametrize(("window", "fewest"), [(3_500, 7), (TINY, 4)])
async def test_a_session_that_is_compacted_at_every_step_comes_to_the_same_end(window, fewest, begin, files):
    whole, ended = await play_long(begin, 128_000)
    texts = {name: whole.disk(name) for name in ("tariff.py", "new.txt")}
    assert not {"context.compacted", "context.pruned"} & set(types(whole))
    (files / "tariff.py").write_text(texts["tariff.py"].replace("* 2", "* 3"))
    (files / "new.txt").unlink()
    tiny, ended_too = await play_long(begin, window)
    assert (ended["outcome"], ended["summary"]) == (ended_too["outcome"], ended_too["summary"])
    assert {name: tiny.disk(name) for name in texts} == texts
    compacted = of_type(tiny, "context.compacted")
    assert len(compacted) >= fewest
    requests = await sent(tiny)
    for messages in requests:
        assert_whole(messages)
        assert messages[0] == requests[0][0]
        assert messages[1].text.startswith("Halve the price, please")
    last = requests[-1]
    (summary,) = [one.text for one in last if one.text.startswith(SUMMARY_HEAD)]
    for known in (
        "[in_progress] Halve the price",
        "tariff.py: changed",
        "a.txt: read",
        "new.txt: changed",
        "allow_once",
    ):
        assert known in summary
    assert last[-2].tool_calls[0].id == "r_e"
    assert "e89 of the file" in last[-1].text or "characters left out" in last[-1].text


@pytest.fixture
def compacted_always(monkeypatch, replayed_at_once):
    """Cuts the conversation before each request, so that only the last step stays."""
    monkeypatch.setattr(fitting, "COMPACT_AT", 0.0)
    monkeypatch.setattr(fitting, "RECENT", 0.0)


async def test_compacted_before_every_single_step_nothing_that_the_session_knows_is_lost(
    compacted_always, begin, files
):
    (files / "src").mkdir()
    (files / "src" / "AGENTS.md").write_text("Rule of src.\n")
    (files / "src" / "x.py").write_text("x = 1\n")
    editor, ended = await play_long(begin, 128_000, turns=[LONG[0], read("src/x.py", "x"), *LONG[1:]])
    assert (ended["outcome"], ended["summary"]) == ("completed", "Done.")
    assert "hours * 2" in editor.disk("tariff.py")
    assert editor.disk("new.txt") == "new\n"
    requests = await sent(editor)
    assert (
        len(of_type(editor, "context.compacted")) == len(requests) - 2
    )  # the first two have nothing to give up
    known = {
        "# Plan\n- [in_progress] Halve the price": 2,
        "- src/x.py: read": 2,
        "# Instructions of folders\nInstructions for the files in src, from src/AGENTS.md:\nRule of src.": 3,
        "- tariff.py: changed": 6,
        "# What the user decided\n- ": 6,
        "- new.txt: changed": 10,
    }
    for number, messages in enumerate(requests):
        assert_whole(messages)
        assert [one.encoded for one in messages[:2]] == [one.encoded for one in requests[0][:2]]
        assert sum(one.role == "assistant" for one in messages) == min(number, 1)
        told = "\n".join(one.text for one in messages[2:])
        assert [text for text, since in known.items() if number >= since and text not in told] == []


async def test_old_output_is_left_out_first_and_stale_reads_before_the_rest(begin, files):
    for name in "abcde":
        (files / f"{name}.txt").write_text("".join(f"{name}{n} of the file\n" for n in range(1000)))
    turns = [read("b.txt", "b_1"), read("a.txt", "a_1"), *[read(f"{n}.txt", n) for n in "acde"], DONE]
    editor = await begin("stock", turns, script={"context_window": 16_000})
    assert (await editor.run("Look"))["outcome"] == "completed"
    pruned = of_type(editor, "context.pruned")
    assert pruned[0]["callIds"][:2] == ["a_1", "b_1"]
    assert pruned[0]["after"] < pruned[0]["before"]
    assert "context.compacted" not in types(editor)
    results = {one.tool_call_id: one.text for one in (await sent(editor))[-1] if one.role == "tool"}
    assert (results["a_1"], results["b_1"]) == (STALE, OLD)
    assert "e9 of the file" in results["e"]


async def test_the_words_of_the_small_model_are_the_summary(begin, files):
    script = {"purposes": {"compaction": [{"text": f"Notes {number}."} for number in range(20)]}}
    editor, ended = await play_long(begin, TINY, script)
    assert ended["outcome"] == "completed"
    assert {data["by"] for data in of_type(editor, "context.compacted")} == {"model"}
    asked = await sent(editor, "compaction")
    assert "RESULT:" in asked[0][1].text
    summaries = [one.text for one in (await sent(editor))[-1] if one.text.startswith(SUMMARY_HEAD)]
    assert f"Notes {len(asked) - 1}." in summaries[0]
    assert "Notes 0." in asked[1][1].text


@pytest.mark.parametrize("answer", [{"text": "  "}, TOO_LONG, {"text": "No.", "finish_reason": "refused"}])
async def test_without_a_summary_of_the_model_the_house_writes_one(answer, begin, files):
    editor, ended = await play_long(begin, TINY, {"purposes": {"compaction": [answer] * 20}})
    assert ended["outcome"] == "completed"
    assert {data["by"] for data in of_type(editor, "context.compacted")} == {"house"}
    summaries = [one.text for one in (await sent(editor))[-1] if one.text.startswith(SUMMARY_HEAD)]
    assert "- read_file(path=a.txt): " in summaries[0]


async def test_a_request_that_overflows_is_made_once_more_and_shorter(begin, files):
    turns = [read("a.txt", "a"), read("b.txt", "b"), read("c.txt", "c"), TOO_LONG, DONE]
    editor = await begin("stock", turns)
    assert (await editor.run("Look"))["outcome"] == "completed"
    *_, too_long, again = await sent(editor)
    assert sum(len(one.text) for one in again) < sum(len(one.text) for one in too_long)
    assert [data["kind"] for data in of_type(editor, "model.failed")] == ["context_overflow"]
    changed = [kind for kind in types(editor) if kind.startswith("context.")]
    assert changed
    assert {data["reason"] for kind in changed for data in of_type(editor, kind)} == {"overflow"}
    assert_whole(again)


async def test_a_model_that_stands_in_for_another_gets_no_more_than_it_takes(begin, files):
    later = [read("d.txt", "d"), read("e.txt", "e"), DONE]
    other = scripted(files, later, name="other", context_window=TINY)
    fault = {"fault": {"kind": "http", "status": 503}}
    turns = [read("a.txt", "a"), read("b.txt", "b"), read("c.txt", "c"), fault]
    editor = await begin("stock", turns, {"fallbackModels": [other]})
    assert (await editor.run("Look"))["outcome"] == "completed"
    changed = [
        (kind, data)
        for kind in {*types(editor)}
        if kind.startswith("context.")
        for data in of_type(editor, kind)
    ]
    # What was made for the first one is not sent: it is made shorter, without a request that could only fail.
    assert [data["kind"] for data in of_type(editor, "model.failed")] == ["context_overflow"]
    requests = of_type(editor, "model.requested")
    asked = [data["model"] for data in requests if data["purpose"] == "main"]
    assert asked[-4:] == [asked[0], other, other, other]
    assert {data["reason"] for _, data in changed} == {"overflow", "full"}
    assert all(data["after"] <= TINY and data["contextWindow"] <= TINY for _, data in changed)


async def test_each_model_that_stands_in_for_another_gets_no_more_than_it_takes(begin, files):
    fault = {"fault": {"kind": "http", "status": 503}}
    small = scripted(files, [fault], name="small", context_window=12_000)
    smaller = scripted(files, [DONE], name="smaller", context_window=5_600)
    turns = [{**read(f"{name}.txt", name), "text": f"{name} " * 4_000} for name in "abcdef"]
    editor = await begin("stock", [*turns, fault], {"fallbackModels": [small, smaller]})
    assert (await editor.run("Look"))["outcome"] == "completed"
    assert [data["to"] for data in of_type(editor, "model.fellBack")] == [small, smaller]
    assert [data["kind"] for data in of_type(editor, "model.failed")] == ["context_overflow"] * 2
    requests = [data for data in of_type(editor, "model.requested") if data["purpose"] == "main"]
    windows = [data["contextWindow"] for data in requests]
    assert windows[-2:] == [12_000, 5_600]


async def test_a_request_that_overflows_twice_ends_the_turn(begin, files):
    turns = [read("a.txt", "a"), read("b.txt", "b"), read("c.txt", "c"), TOO_LONG, TOO_LONG]
    editor = await begin("stock", turns)
    ended = await editor.run("Look")
    assert (ended["outcome"], ended["reason"]) == ("budget_exhausted", "contextWindow")
    assert len(await sent(editor)) == 5


async def test_parts_of_the_first_messages_go_where_nothing_else_is_enough(begin, files):
    (files / "AGENTS.md").write_text("Write short lines.\n" + "Rule of the house.\n" * 600)
    editor = await begin("stock", [DONE], script={"context_window": 4_550})
    editor.open("tariff.py")
    selection = {
        "uri": (files / "a.txt").as_uri(),
        "range": {"start": {"line": 0, "character": 0}, "end": {"line": 3, "character": 0}},
    }
    ended = await editor.run("Look", context={"selection": selection})
    assert ended["outcome"] == "completed"
    (trimmed,) = of_type(editor, "context.trimmed")
    assert [(part["kind"], part.get("name"), part["left"]) for part in trimmed["parts"]] == [
        ("open", None, 0),
        ("files", None, 0),
        ("work", None, 0),
        ("instructions", "AGENTS.md", 4_000),
    ]
    ((system, task),) = await sent(editor)
    assert "[instructions AGENTS.md: left out to save room]" in system.text
    assert "Write short lines." in system.text
    assert "tariff.py" not in task.text
    assert "a2 of the file" in task.text
    assert trimmed["after"] < trimmed["before"]


async def test_the_bytes_of_what_was_sent_stay_the_same(begin, files):
    (files / "src").mkdir()
    (files / "src" / "AGENTS.md").write_text("Here we count in pence.\n")
    (files / "src" / "x.py").write_text("x = 1\n")
    ask = step(call("ask_user", question="Go on?", options=["yes"], called="asked"))
    turns = [
        read("a.txt", "a"),
        ask,
        read("src/x.py", "x"),
        {"text": ""},
        read("a.txt", "a_2"),
        DONE,
        step(FIX),
        DONE,
    ]

    def meanwhile(question):
        if "Go on?" not in question.message:
            return "Allow once"
        editor.type("a.txt", "Typed ", replace="a7 of")
        editor.settle()
        editor.command_nowait("outrider.steer", {"sessionId": editor.session_id, "text": "Be quick"})
        return "yes"

    editor = await begin("stock", turns, answers=meanwhile)
    editor.open("a.txt")
    await editor.run("Look")
    await editor.run("Fix it", sessionId=editor.session_id)
    requests = await sent(editor)
    for before, after in pairwise(requests):
        assert [one.encoded for one in after[: len(before)]] == [one.encoded for one in before]
    assert len({data["toolsHash"] for data in of_type(editor, "model.requested")}) == 1
    texts = [one.text for one in requests[-1]]
    for part in (
        "Be quick",
        "Here we count in pence.",
        "+Typed  the file",
        "Your last answer was empty.",
        "Fix it",
    ):
        assert len([text for text in texts if part in text]) >= 1, part


async def test_the_instructions_of_a_folder_come_when_the_model_comes_there_and_once(begin, files):
    (files / "src" / "deep").mkdir(parents=True)
    (files / "AGENTS.md").write_text("Rule of the root.\n")
    (files / "src" / "AGENTS.md").write_text("Rule of src.\n")
    (files / "src" / "deep" / "AGENTS.md").write_text("Rule of deep.\n")
    (files / "src" / "deep" / "x.py").write_text("x = 1\n")
    turns = [read("a.txt", "a"), read("src/deep/x.py", "x"), read("src/deep/x.py", "x_2"), DONE]
    editor = await begin("stock", turns)
    await editor.run("Look")
    assert [data["path"] for data in of_type(editor, "instructions.found")] == [
        "src/AGENTS.md",
        "src/deep/AGENTS.md",
    ]
    _, second, third, _ = await sent(editor)
    assert not any("Rule of src" in one.text for one in second)
    assert [one.text.splitlines()[-1] for one in third[-2:]] == ["Rule of src.", "Rule of deep."]
    assert "Rule of the root." in third[0].text


async def test_a_workspace_that_is_not_trusted_tells_nothing_of_its_folders(begin, files):
    (files / "src").mkdir()
    (files / "src" / "AGENTS.md").write_text("Rule of src.\n")
    (files / "src" / "x.py").write_text("x = 1\n")
    editor = await begin(
        "stock", [read("src/x.py", "x"), DONE], {"trusted": False}, answers=["Stay read-only"]
    )
    await editor.run("Look")
    assert of_type(editor, "instructions.found") == []


async def test_the_next_request_can_be_looked_at(begin, files):
    (files / "AGENTS.md").write_text("Rule of the root.\n")
    ask = step(call("ask_user", question="Go on?", options=["yes"], called="asked"))
    usage = {"input_tokens": 5000, "output_tokens": 40}
    turns = [read("a.txt", "a"), {**ask, "usage": usage}, DONE]
    shown = {}

    editor = await begin("stock", turns, answers=["yes"])
    await editor.run("Look at it")
    shown = await editor.command("outrider.prompt", {"sessionId": editor.session_id})
    assert [one["role"] for one in shown["messages"]] == [
        "system", "user", "assistant", "tool", "assistant", "tool", "assistant",
    ]  # fmt: skip
    last = (await sent(editor))[-1]
    assert [one["text"] for one in shown["messages"]][: len(last)] == [one.text for one in last]
    kinds = {(one["kind"], one.get("name")): one["tokens"] for one in shown["sections"]}
    assert {("identity", None), ("instructions", "AGENTS.md"), ("prompt", None), ("tools", None)} <= set(
        kinds
    )
    assert [tool["name"] for tool in shown["tools"]] == of_type(editor, "model.requested")[-1]["tools"]
    assert shown["counted"] == 5040
    assert 5040 <= shown["tokens"] < 5300
    assert shown["contextWindow"] == 128_000


@pytest.mark.parametrize("window", [4_550, 5_050])
async def test_a_step_that_is_too_long_by_itself_goes_into_the_summary(window, begin, files):
    long = step(call("write_file", path="new.txt", content="some words\n" * 900, called="new"))
    editor, ended = await play_long(begin, window, turns=[read("a.txt", "a"), long, read("b.txt", "b"), DONE])
    assert (ended["outcome"], ended["summary"]) == ("completed", "Done.")
    after = (await sent(editor))[2]
    assert [one.role for one in after] == ["system", "user", "user"]
    assert "- write_file(path=new.txt, content=some words" in after[2].text
    assert "- new.txt: changed" in after[2].text
    for messages in [*await sent(editor), *await sent(editor, "compaction")]:
        assert_whole(messages)
        for kind, check in CHECKS.items():
            check(body_of(kind, messages, ()))


@pytest.mark.parametrize(
    ("answer", "nudge", "reason"),
    [
        ({"text": "", "reasoning": "Hm."}, "contained only reasoning", "only_reasoning"),
        ({"text": " "}, "was empty", "empty_responses"),
        ({"text": "And so", "finish_reason": "length"}, "was cut off", "repeated_answers"),
    ],
)
async def test_an_answer_that_is_none_is_handled_by_its_rule_three_times_at_most(
    answer, nudge, reason, begin
):
    editor = await begin("stock", [answer] * 3)
    ended = await editor.run("Go")
    assert (ended["outcome"], ended["reason"]) == ("failed", reason)
    second = (await sent(editor))[1]
    assert nudge in second[-1].text
    assert all(message.text.strip() for message in completed(second))
    if reason == "repeated_answers":
        assert "same as the one before" in (await sent(editor))[2][-1].text


async def test_a_log_grows_linearly_with_its_steps(begin, workspace):
    """Each request names only what came since the one before: 10 steps later none of them is longer."""
    for number in range(20):
        (workspace / f"part_{number:02}.py").write_text(f"NUMBER = {number:02}\n")
    turns = [read(f"part_{number:02}.py", f"c{number}") for number in range(20)]
    editor = await begin("stock", [*turns, DONE])
    await editor.run("Read all parts.")
    sizes = [len(json.dumps(data)) for data in of_type(editor, "model.requested")]
    assert len(sizes) == 21
    assert max(sizes[11:]) <= max(sizes[1:11]) + 2, "a longer seq may take a digit more"
    assert all(len(data["messages"]["added"]) == 2 for data in of_type(editor, "model.requested")[1:])


@pytest.mark.parametrize("is_pruned", [False, True])
async def test_a_summary_is_made_of_all_that_was_read_with_the_task_the_plan_and_the_users_words(
    is_pruned, monkeypatch, replayed_at_once, begin, files
):
    if is_pruned:  # before each request, all but the last output
        for name in ("PRUNE_AT", "PRUNE_TO", "LEAST_SAVED", "PROTECTED"):
            monkeypatch.setattr(fitting, name, 0.0)
    notes = [{"text": f"Notes {number}."} for number in range(20)]
    editor, ended = await play_long(begin, TINY, {"purposes": {"compaction": notes}})
    assert ended["outcome"] == "completed"
    assert bool(of_type(editor, "context.pruned")) or not is_pruned
    asked = [messages[-1].text for messages in await sent(editor, "compaction")]
    assert asked
    for text in asked:
        assert text.startswith("# The task\nHalve the price, please")
        assert "# The plan\n- [in_progress] Halve the price" in text
        assert STALE not in text
        assert OLD not in text
    everything = "\n".join(asked)
    for name in "abc":
        assert f"{name}0 of the file" in everything


async def test_a_result_is_cut_to_a_tenth_of_the_window_and_says_where_to_go_on(begin, workspace):
    (workspace / "long.txt").write_text(
        "".join(f"line {number} of a long file\n" for number in range(1, 6_001))
    )
    turns = [step(call("read_file", path="long.txt", called="first")), DONE]
    editor = await begin("stock", turns, script={"context_window": 16_000})
    assert (await editor.run("Read it"))["outcome"] == "completed"
    told = (await sent(editor))[-1][-1].text
    assert len(told) <= 1_600 * 6
    *lines, last = told.split("\n")
    assert last == f"[stopped: the file has 6000 lines; continue with start_line={len(lines) + 1}]"
    assert not of_type(editor, "context.pruned")


async def test_nothing_is_left_out_below_four_fifths_of_the_window(begin, files):
    for name in "abcde":
        (files / f"{name}.txt").write_text(f"{name} of a longer file\n" * 400)
    editor, ended = await play_long(begin, 18_000)
    assert ended["outcome"] == "completed"
    last = (await sent(editor))[-1]
    assert sum(message.weight for message in last) / BYTES_PER_TOKEN > 0.5 * 18_000
    assert not [kind for kind in types(editor) if kind.startswith("context.")]


@pytest.mark.parametrize(("window", "tokens"), [(16_000, 1_600), (100_000, 10_000), (1_000_000, 10_000)])
def test_one_result_has_a_tenth_of_the_window_and_ten_thousand_tokens_at_most(window, tokens):
    budget = Budget(Limits(), SystemClock())
    budget.start(window)
    assert budget.of_results().output_bytes == pytest.approx(tokens * BYTES_PER_TOKEN, rel=0.01)
