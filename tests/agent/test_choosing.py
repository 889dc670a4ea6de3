"""The person chooses in the editor which hunks of an edit are made: found by the texts, and never in anybody's way."""

import random
from dataclasses import replace

import pytest
from scripting import DONE, HONEST, call, result, step, types

from outrider.ports.model import content_hash
from outrider.testing.editor.answers import Dismiss, Never
from outrider.testing.editor.profiles import PROFILES, VSCODE
from outrider.testing.editor.wire_client import RpcError
from outrider.testing.scenario import scripted, start_session
from outrider.workspace import choosing
from outrider.workspace.choosing import OFFERED, OWN_CHANGE, REASONS, STILL_THERE
from outrider_protocol import ALLOW_ONCE, CHOOSE, REJECT, REVIEW
from replayed import assert_replays

SOON = {"limits": {"askSeconds": 0.05}}
LINES = "".join(f"line {number}\n" for number in range(1, 31))
EDITS = call(
    "edit_file",
    path="wide.txt",
    edits=[
        {"old": "line 5\n", "new": "LINE 5\n"},
        {"old": "line 15\n", "new": "LINE 15\nand more\n"},
        {"old": "line 25\n", "new": ""},
    ],
    called="edits",
)
ONE = call("edit_file", path="wide.txt", old="line 5\n", new="LINE 5\n", called="one")
PARTS = [("line 5\n", "LINE 5\n"), ("line 15\n", "LINE 15\nand more\n"), ("line 25\n", "")]
TWO_FILES = call(
    "apply_patch",
    called="patch",
    patch="""*** Begin Patch
*** Update File: wide.txt
@@
-line 5
+LINE 5
@@
-line 15
+LINE 15
*** Update File: tariff.py
@@
-    return hours * 3
+    return hours * 2
*** End Patch
""",
)


def with_hunks(numbers, text=LINES):
    """The text with these hunks of `EDITS` in it."""
    for number in numbers:
        text = text.replace(*PARTS[number - 1])
    return text


def once(title=CHOOSE, then=None):
    """A person who says that title to the first question, and to others what follows."""
    rest = list(then or ())
    titles = [title, *rest]

    def say(question):
        return titles.pop(0) if titles else Never()

    return say


@pytest.fixture
def wide(workspace):
    (workspace / "wide.txt").write_text(LINES)
    return workspace


async def shown(
    begin, turn=EDITS, *, profile="vscode", then=None, turns=(DONE,), settings=None, paths=("wide.txt",)
):
    """An editor that shows the boxes of an edit, with its turn's id in `editor.turn_id`."""
    editor = await begin(profile, [step(turn), *turns], settings, answers=once(then=then))
    for path in paths:
        editor.open(path)
    started = await editor.command("outrider.run", {"prompt": "Change it."})
    editor.session_id, editor.turn_id = started["sessionId"], started["turnId"]
    return editor


def warned(editor):
    return [
        said.text
        for said in editor.said
        if said.level == 2 and said.shown and not said.text.startswith("Outrider, ")
    ]


def rejections(editor):
    return [event["data"]["reason"] for event in editor.events_of("edit.rejected")]


# --- the offer -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", HONEST)
async def test_it_is_offered_only_where_the_editor_has_boxes(profile, begin, wide):
    editor = await begin(profile, [step(EDITS), DONE], SOON, answers=lambda _: Never())
    if PROFILES[profile].can_ask:
        editor.open("wide.txt")
    waiting = await editor.run("Change it.")
    (item,) = waiting["open"]
    assert (CHOOSE in item["options"]) == (profile == "vscode")
    if profile == "vscode":
        assert item["options"] == [
            ALLOW_ONCE,
            "Allow for this session",
            "Always allow…",
            REVIEW,
            CHOOSE,
            REJECT,
        ]
        assert f"“{CHOOSE}” {OFFERED}" in editor.questions[0].message


@pytest.mark.parametrize(
    ("change", "more"),
    [
        ("no documentChanges", {"documentChanges": False}),
        ("no annotations", {"changeAnnotationSupport": None}),
        ("a plugin that asks itself", {}),
        ("one that asks for all at once", {}),
    ],
)
async def test_it_is_not_offered_to_an_editor_without_boxes(change, more, begin, wide):
    edits = {**VSCODE.capabilities["workspace"]["workspaceEdit"], **more}
    spoken = {
        **VSCODE.capabilities,
        "workspace": {**VSCODE.capabilities["workspace"], "workspaceEdit": edits},
    }
    info = {"name": "Neovim", "version": "0.13"} if "at once" in change else VSCODE.client_info
    asks = "plugin" in change
    profile = replace(VSCODE, capabilities=spoken, client_info=info, takes_ask=asks)
    editor = await begin(profile, [step(EDITS), DONE], SOON, answers=lambda _: Never())
    editor.open("wide.txt")
    (item,) = (await editor.run("Change it."))["open"]
    assert CHOOSE not in item["options"]


@pytest.mark.parametrize("what", ["closed", "one hunk", "create", "closed besides"])
async def test_it_is_not_offered_for_other_edits(what, begin, wide):
    turn = {"one hunk": ONE, "create": call("write_file", path="new.txt", content="a\nb\n")}.get(what, EDITS)
    turn = TWO_FILES if what == "closed besides" else turn
    editor = await begin("vscode", [step(turn), DONE], SOON, answers=lambda _: Never())
    if what != "closed":
        editor.open("wide.txt")
    (item,) = (await editor.run("Change it."))["open"]
    assert CHOOSE not in item["options"]


# --- what comes of it ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ticked", [(1,), (2,), (3,), (1, 2), (1, 3), (2, 3), (1, 2, 3)])
async def test_what_is_ticked_is_made_told_and_undone(ticked, begin, wide):
    editor = await shown(begin)
    preview = await editor.preview()
    assert preview.labels == [
        "wide.txt line 5 (+1 −1)",
        "wide.txt line 15 (+2 −1)",
        "wide.txt line 25 (+0 −1)",
    ]
    assert types(editor)[-3:] == ["approval.resolved", "tool.started", "edit.applying"], (
        "logged before it is shown"
    )
    assert editor.text("wide.txt") == LINES
    (progress,) = editor.progress.values()
    words = "waits for your choice in the editor"
    await editor.wait_for(lambda: words in progress.reports[-1]["message"], "word of the choice")
    editor.apply_preview(preview, ticked)
    assert (await editor.wait_turn())["outcome"] == "completed"
    wanted = with_hunks(ticked)
    assert editor.text("wide.txt") == wanted
    (applied,) = editor.events_of("edit.applied")
    assert [hunk["added"] for hunk in applied["data"]["hunks"]] == [PARTS[one - 1][1] for one in ticked]
    status, content = result(editor)
    assert status == "ok"
    left = [number for number in (1, 2, 3) if number not in ticked]
    assert content.count("- rejected: wide.txt line") == len(left)
    for number in left:
        assert f"- rejected: wide.txt line {number * 10 - 5}" in content
    shown_now = await editor.command("outrider.changes", {"sessionId": editor.session_id})
    (change,) = shown_now["changes"]
    assert len(change["hunks"]) == len(ticked)
    await editor.command("outrider.undo", {"scope": "turn"})
    assert editor.text("wide.txt") == LINES
    assert warned(editor) == []


@pytest.mark.parametrize("seed", range(24))
async def test_whatever_is_ticked_the_log_has_the_text_and_the_first_one_comes_back(seed, begin, workspace):
    chance = random.Random(seed)
    end = chance.choice(["\n", "\r\n"])

    def text_of(lines):
        return end.join(lines) + chance.choice(["", end])

    lines = [chance.choice("abc") for _ in range(chance.randint(4, 14))]
    after = list(lines)
    for _ in range(chance.randint(2, 5)):
        at = chance.randrange(len(after) + 1)
        after[at : at + chance.randint(0, 2)] = [chance.choice("abcd") for _ in range(chance.randint(0, 2))]
    before, planned = text_of(lines), text_of([*after, "z"])
    (workspace / "few.txt").write_bytes(before.encode())
    editor = await shown(
        begin,
        call("write_file", path="few.txt", content=planned, overwrite=True, called="few"),
        paths=("few.txt",),
    )
    asked = await editor.event("approval.requested")
    if CHOOSE not in asked["data"]["options"]:
        return  # there is one hunk
    preview = await editor.preview()
    ticked = [number for number in range(1, len(preview.labels) + 1) if chance.random() < 0.5] or [1]
    editor.apply_preview(preview, ticked)
    assert (await editor.wait_turn())["outcome"] == "completed"
    now = editor.text("few.txt")
    if now == before:
        return  # what was ticked changes nothing together
    (applied,) = editor.events_of("edit.applied")
    assert applied["data"]["after"] == content_hash(now.encode())
    assert applied["data"]["before"] == content_hash(before.encode())
    assert result(editor)[1].count("\n- rejected: ") == len(preview.labels) - len(ticked)
    undone = await editor.command("outrider.undo", {"scope": "turn"})
    assert undone["conflicts"] == []
    assert editor.text("few.txt") == before


async def test_nothing_ticked_is_a_no(begin, wide):
    editor = await shown(begin)
    editor.discard_preview(await editor.preview())
    assert (await editor.wait_turn())["outcome"] == "completed"
    assert result(editor)[0] == "denied"
    assert rejections(editor) == [REASONS["answered"]]
    assert editor.text("wide.txt") == LINES
    assert types(editor).count("approval.requested") == 1


async def test_of_several_documents_each_is_what_was_ticked_in_it(begin, wide):
    editor = await shown(begin, TWO_FILES, paths=("wide.txt", "tariff.py"))
    preview = await editor.preview()
    assert len(preview.labels) == 3
    editor.apply_preview(preview, [2])
    assert (await editor.wait_turn())["outcome"] == "completed"
    assert editor.text("wide.txt") == LINES.replace("line 15", "LINE 15")
    assert "hours * 3" in editor.text("tariff.py")
    assert [event["data"]["path"] for event in editor.events_of("edit.applied")] == ["wide.txt"]
    assert [event["data"]["path"] for event in editor.events_of("edit.rejected")] == ["tariff.py"]
    status, content = result(editor)
    assert status == "ok"
    assert content.count("- rejected: ") == 2
    await editor.command("outrider.undo", {"scope": "turn"})
    assert editor.text("wide.txt") == LINES


async def test_it_is_taken_by_command_too_but_takes_no_review(begin, wide):
    editor = await begin("vscode", [step(EDITS), DONE], SOON, answers=lambda _: Dismiss())
    editor.open("wide.txt")
    (item,) = (await editor.run("Change it."))["open"]
    (change_id,) = editor.events_of("approval.requested")[0]["data"]["changeIds"]
    review = [{"id": f"{change_id}#1", "decision": "reject"}]
    with pytest.raises(RpcError, match="for this edit alone"):
        await editor.command("outrider.answer", {"id": item["id"], "decision": "choose", "review": review})
    await editor.command("outrider.answer", {"id": item["id"], "decision": "choose", "note": "the first"})
    editor.apply_preview(await editor.preview(), [1])
    assert (await editor.wait_turn())["outcome"] == "completed"
    assert "and said: the first" in result(editor)[1]


async def test_where_it_is_not_offered_it_is_no_answer(begin, wide):
    editor = await begin("stock", [step(EDITS), DONE], SOON, answers=lambda _: Dismiss())
    editor.open("wide.txt")
    (item,) = (await editor.run("Change it."))["open"]
    with pytest.raises(RpcError, match="takes one of"):
        await editor.command("outrider.answer", {"id": item["id"], "decision": "choose"})


async def parked_with_boxes(workspace, model):
    """Parks a turn in an editor with boxes, which then ends; gives the session's id and the open item."""
    async with start_session("vscode", workspace, model, SOON, answers=lambda _: Never()) as editor:
        editor.open("wide.txt")
        waiting = await editor.run("Change it.")
        (item,) = waiting["open"]
        assert CHOOSE in item["options"]
        return editor.events_of("turn.started")[0]["sessionId"], item


@pytest.mark.parametrize("profile", ["stock", "neovim-0.11"])
async def test_after_a_restart_an_editor_without_boxes_is_not_offered_it(profile, wide):
    model = scripted(wide, [step(EDITS), DONE])
    session_id, item = await parked_with_boxes(wide, model)
    async with start_session(profile, wide, model, answers=lambda _: Never()) as editor:
        editor.open("wide.txt")
        await editor.command("outrider.resume", {"sessionId": session_id})
        question = await editor.question()
        assert CHOOSE not in question.titles
        assert CHOOSE not in question.message
        assert {ALLOW_ONCE, REJECT} < set(question.titles)
        status = await editor.command("outrider.status", {})
        (asked,) = next(one["open"] for one in status["sessions"] if one["sessionId"] == session_id)
        assert (asked["id"], CHOOSE in asked["options"]) == (item["id"], False)
        with pytest.raises(RpcError, match="takes one of"):
            await editor.command("outrider.answer", {"id": item["id"], "decision": "choose"})
        assert editor.text("wide.txt") == LINES
        await editor.command("outrider.answer", {"id": item["id"], "decision": "allow_once"})
        assert (await editor.wait_turn(item["turnId"]))["outcome"] == "completed"
        assert editor.text("wide.txt") == with_hunks((1, 2, 3))
    await assert_replays(wide.parent / f"{wide.name}.state")


async def test_the_first_answer_after_a_restart_is_no_choice_either(wide):
    model = scripted(wide, [step(EDITS), DONE])
    _, item = await parked_with_boxes(wide, model)
    async with start_session("stock", wide, model, SOON, answers=lambda _: Never()) as editor:
        editor.open("wide.txt")
        with pytest.raises(RpcError, match="takes one of"):
            await editor.command("outrider.answer", {"id": item["id"], "decision": "choose"})
        waiting = await editor.command("outrider.wait", {"turnId": item["turnId"]})
        assert [CHOOSE in one["options"] for one in waiting["open"]] == [False]
        assert editor.text("wide.txt") == LINES
    await assert_replays(wide.parent / f"{wide.name}.state")


@pytest.mark.parametrize("decision", ["choose", "allow_once"])
async def test_after_a_restart_an_editor_with_boxes_is_offered_it_still(decision, wide):
    model = scripted(wide, [step(EDITS), DONE])
    session_id, item = await parked_with_boxes(wide, model)
    async with start_session("vscode", wide, model, SOON, answers=lambda _: Never()) as editor:
        editor.open("wide.txt")
        await editor.command("outrider.resume", {"sessionId": session_id})
        assert CHOOSE in (await editor.question()).titles
        await editor.command("outrider.wait", {"turnId": item["turnId"]})
        await editor.command("outrider.answer", {"id": item["id"], "decision": decision})
        if decision == "choose":
            editor.apply_preview(await editor.preview(), [2])
        assert (await editor.wait_turn(item["turnId"]))["outcome"] == "completed"
        assert editor.text("wide.txt") == with_hunks((2,) if decision == "choose" else (1, 2, 3))
    await assert_replays(wide.parent / f"{wide.name}.state")


# --- editors that do something else ---------------------------------------------------------------------------


async def test_what_is_applied_without_a_question_is_what_it_is(begin, wide):
    editor = await shown(begin, profile="applies-without-preview")
    assert (await editor.wait_turn())["outcome"] == "completed"
    assert editor.text("wide.txt") == with_hunks((1, 2, 3))
    assert result(editor)[0] == "ok"
    await editor.command("outrider.undo", {"scope": "turn"})
    assert editor.text("wide.txt") == LINES


async def test_a_claim_is_not_believed(begin, wide):
    editor = await shown(begin, profile="claims-without-preview")
    assert (await editor.wait_turn())["outcome"] == "completed"
    assert editor.text("wide.txt") == LINES
    assert result(editor)[0] == "denied"
    assert editor.events_of("edit.applied") == []


async def test_an_editor_that_fails_is_not_asked_for_it_again(begin, wide):
    editor = await shown(begin, profile="fails-previews", then=[REJECT])
    assert (await editor.wait_turn())["outcome"] == "completed"
    first, again = editor.events_of("approval.requested")
    assert CHOOSE in first["data"]["options"]
    assert CHOOSE not in again["data"]["options"]
    assert rejections(editor) == [REASONS["failed"], "the person rejected it"]


# --- what happens meanwhile ----------------------------------------------------------------------------------


async def test_a_text_that_changed_meanwhile_is_asked_again(begin, wide):
    editor = await shown(begin, then=[ALLOW_ONCE])
    preview = await editor.preview()
    editor.type("wide.txt", "typed\n", at=(0, 0))
    assert not editor.apply_preview(preview)
    assert (await editor.wait_turn())["outcome"] == "completed"
    assert editor.text("wide.txt") == "typed\n" + with_hunks((1, 2, 3))
    assert rejections(editor) == [REASONS["changed"]]
    assert len(editor.questions) == 2
    assert types(editor).count("tool.started") == 1
    assert any(REASONS["changed"] in text for text in warned(editor))


@pytest.mark.parametrize("how", ["command", "progress"])
@pytest.mark.parametrize("then", ["apply", "discard", "never"])
async def test_a_cancel_waits_for_nobody(how, then, begin, wide):
    editor = await shown(begin)
    preview = await editor.preview()
    if how == "command":
        await editor.command("outrider.cancel", {"turnId": editor.turn_id, "reason": "enough"})
    else:
        editor.cancel_progress()
    assert (await editor.wait_turn())["outcome"] == "cancelled"
    assert preview.withdrawn
    assert rejections(editor) == [REASONS["cancelled"]]
    assert result(editor)[0] == "interrupted"
    assert [STILL_THERE in text for text in warned(editor)] == [True]
    if then == "discard":
        editor.discard_preview(preview)
    elif then == "apply":
        editor.apply_preview(preview, [1])
        await editor.wait_for(lambda: OWN_CHANGE in warned(editor), "word of the late choice")
        assert editor.text("wide.txt") == with_hunks((1,))
    assert (await editor.command("outrider.changes", {"sessionId": editor.session_id}))["changes"] == []


async def test_a_server_that_ends_leaves_nothing_half_done(wide):
    model = scripted(wide, [step(EDITS), DONE])
    async with start_session("vscode", wide, model, answers=[CHOOSE]) as editor:
        editor.open("wide.txt")
        started = await editor.command("outrider.run", {"prompt": "Change it."})
        await editor.preview()
    async with start_session("vscode", wide, model) as editor:
        log = await editor.command("outrider.events", {"sessionId": started["sessionId"]})
        (ended,) = [event["data"] for event in log["events"] if event["type"] == "turn.finished"]
        assert ended["outcome"] == "cancelled"
        reasons = [one["data"]["reason"] for one in log["events"] if one["type"] == "edit.rejected"]
        assert reasons == [REASONS["cancelled"]]
    await assert_replays(wide.parent / f"{wide.name}.state")


async def test_what_came_before_a_cancel_counts(begin, wide):
    editor = await shown(begin)
    preview = await editor.preview()
    preview.is_orphaned = True  # it applies, and has not answered yet
    editor.apply_preview(preview, [1, 3])
    await editor.command("outrider.cancel", {"turnId": editor.turn_id, "reason": "enough"})
    assert (await editor.wait_turn())["outcome"] == "cancelled"
    (applied,) = editor.events_of("edit.applied")
    assert len(applied["data"]["hunks"]) == 2
    assert result(editor)[0] == "ok"
    await editor.command("outrider.undo", {"scope": "turn"})
    assert editor.text("wide.txt") == LINES


async def test_after_a_long_time_it_is_asked_again_without_boxes(begin, wide, monkeypatch):
    monkeypatch.setattr(choosing, "CHOOSE_SECONDS", 0.05)
    read = call("read_file", path="wide.txt")
    editor = await shown(begin, read, turns=(step(EDITS), DONE), then=[Dismiss()], settings=SOON)
    preview = await editor.preview()
    waiting = await editor.wait_turn()
    assert waiting["outcome"] == "needs_input", "nobody has decided anything"
    (item,) = waiting["open"]
    assert CHOOSE not in item["options"], "the editor may still show the first"
    assert rejections(editor) == [REASONS["late"]]
    assert any(STILL_THERE in text for text in warned(editor))
    # What is applied there now is the person's own change, and the question is about the text as it is then.
    editor.apply_preview(preview, [2])
    await editor.wait_for(lambda: OWN_CHANGE in warned(editor), "word of the late choice")
    await editor.command("outrider.answer", {"id": item["id"], "decision": "reject"})
    assert (await editor.wait_turn())["outcome"] == "completed"
    assert editor.events_of("edit.applied") == []
    assert "LINE 15" in editor.events_of("workspace.changed")[-1]["data"]["told"]


async def test_a_late_yes_to_the_question_does_not_make_it_twice(begin, wide, monkeypatch):
    monkeypatch.setattr(choosing, "CHOOSE_SECONDS", 0.05)
    editor = await shown(begin, then=[Dismiss()], settings=SOON)
    preview = await editor.preview()
    (item,) = (await editor.wait_turn())["open"]
    await editor.command("outrider.answer", {"id": item["id"], "decision": "allow_once"})
    assert (await editor.wait_turn())["outcome"] == "completed"
    assert editor.text("wide.txt") == with_hunks((1, 2, 3))
    assert not editor.apply_preview(preview), "the editor sees that its text has changed"
    assert editor.text("wide.txt") == with_hunks((1, 2, 3))
    assert OWN_CHANGE not in warned(editor)


async def test_a_narrower_mode_counts_at_once(begin, wide):
    editor = await shown(begin)
    preview = await editor.preview()
    editor.configure({"permissionMode": "read-only"})
    assert (await editor.wait_turn())["outcome"] == "completed"
    assert rejections(editor) == [REASONS["forbidden"]]
    assert result(editor)[0] == "denied"
    assert "read-only" in result(editor)[1]
    assert any(STILL_THERE in text for text in warned(editor))
    editor.discard_preview(preview)


async def another(workspace, editor, turn):
    """The turn of another session, which makes one call."""
    model = scripted(workspace, [step(turn), DONE], name="another")
    return (await editor.command("outrider.run", {"prompt": "Something else.", "model": model}))["turnId"]


async def test_other_sessions_are_in_nobodys_way(begin, wide):
    other = call("edit_file", path="tariff.py", old="hours * 3", new="hours * 2", called="other")
    editor = await shown(begin, then=[ALLOW_ONCE], paths=("wide.txt", "tariff.py"))
    preview = await editor.preview()
    assert (await editor.wait_turn(await another(wide, editor, other)))["outcome"] == "completed"
    assert "hours * 2" in editor.text("tariff.py")
    editor.apply_preview(preview, [1])
    assert (await editor.wait_turn())["outcome"] == "completed"
    assert editor.text("wide.txt") == with_hunks((1,))


async def test_another_session_may_change_the_very_document(begin, wide):
    other = call("edit_file", path="wide.txt", old="line 30\n", new="LINE 30\n", called="other")
    editor = await shown(begin, then=[ALLOW_ONCE, ALLOW_ONCE])
    preview = await editor.preview()
    assert (await editor.wait_turn(await another(wide, editor, other)))["outcome"] == "completed"
    assert editor.text("wide.txt") == LINES.replace("line 30", "LINE 30")
    assert not editor.apply_preview(preview, [1])
    assert (await editor.wait_turn())["outcome"] == "completed"
    assert editor.text("wide.txt") == with_hunks((1, 2, 3)).replace("line 30", "LINE 30")


async def test_only_one_choice_is_open_at_a_time(begin, wide):
    (wide / "other.txt").write_text(LINES)
    given = {**EDITS["input"], "path": "other.txt"}
    other = call("edit_file", **given, called="other")
    editor = await begin("vscode", [step(EDITS), DONE], answers=lambda _: Never())
    editor.open("wide.txt")
    editor.open("other.txt")
    first = await editor.command("outrider.run", {"prompt": "One."})
    await editor.event("approval.requested")
    second = await another(wide, editor, other)
    await editor.event("approval.requested", count=2)
    items = [event["data"] for event in editor.events_of("approval.requested")]
    assert all(CHOOSE in item["options"] for item in items), "nothing is open yet"
    await editor.command("outrider.answer", {"id": items[0]["id"], "decision": "choose"})
    preview = await editor.preview()
    await editor.command("outrider.answer", {"id": items[1]["id"], "decision": "choose"})
    await editor.event("approval.requested", count=3)
    again = editor.events_of("approval.requested")[2]["data"]
    assert CHOOSE not in again["options"]
    assert rejections(editor) == [REASONS["busy"]]
    assert len(editor.previews) == 1
    assert any(REASONS["busy"] in text and STILL_THERE not in text for text in warned(editor))
    editor.apply_preview(preview, [2])
    assert (await editor.wait_turn(first["turnId"]))["outcome"] == "completed"
    await editor.command("outrider.answer", {"id": again["id"], "decision": "allow_once"})
    assert (await editor.wait_turn(second))["outcome"] == "completed"
    assert editor.text("wide.txt") == with_hunks((2,))
    assert editor.text("other.txt") == with_hunks((1, 2, 3))
