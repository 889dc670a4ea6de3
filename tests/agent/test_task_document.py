"""The task document: a whole task in a client that has nothing but documents and code actions."""

import asyncio
import random
import threading
from dataclasses import replace

import pytest
from scripting import FIX, call, step

from everyday import some
from outrider.agent.task_document import keeper, writing
from outrider.agent.task_document.writing import MOST_FAILURES
from outrider.lsp import profile as profiles
from outrider.testing.editor.answers import Late, Never
from outrider.testing.editor.profiles import (
    BAD_EDITS,
    BARE,
    EGLOT,
    HELIX_25_01,
    KATE,
    KATE_22_12,
    MOVING,
    NEOVIM,
    STOCK,
    VIM_LSP,
)
from outrider.testing.editor.wire_client import RpcError
from outrider.testing.scenario import scripted, start_session

PATH = ".outrider/task.md"
MARK = "<!-- Write below this line, then take the code action. -->"
ANSWER = "# Fixed.\n\n" + "It was three, and is two now. " * 60 + "\n\nThat is all."
CHECK = call("run_command", command="/bin/cat tariff.py", called="check")
ASK = call("ask_user", question="Which tax?", options=["19", "7"], called="ask")

OLD_KATE = replace(KATE_22_12, name="kate-without-edits", capabilities=KATE.capabilities)
MUTE = replace(STOCK, name="mute", can_ask=False)
"""It takes edits and asks nothing."""


def head(editor):
    return editor.text(PATH).partition(MARK)[0]


def tail(editor):
    return editor.text(PATH).partition(MARK)[2]


async def has(editor, text):
    """Wait until the document says something."""
    await editor.wait_for(lambda: text in head(editor), f"{text!r} in the task document")


async def take(editor, title, at=None):
    """Take an action of the document, at a text in it, or at its end."""
    lines = editor.text(PATH).split("\n")
    line = next(n for n, one in enumerate(lines) if at in one) if at else len(lines) - 1
    place = {"line": line, "character": 0}
    await editor.code_actions(PATH, {"start": place, "end": place})
    return await editor.take_action(title)


async def opened(editor):
    opening = editor.command_nowait("outrider.open", {})
    await editor.wait_for((editor.root / PATH).exists, "the document")
    await editor.wait_for(lambda: opening.done or editor.shown, "the answer")
    editor.open(PATH)


@pytest.mark.parametrize("profile", [HELIX_25_01, KATE_22_12, MUTE], ids=str)
async def test_a_whole_task_goes_by_the_document(profile, begin):
    editor = await begin(profile, [step(FIX), step(CHECK), step(ASK), {"text": ANSWER}], {"events": False})
    await opened(editor)
    editor.type(PATH, "Correct the price.\n")
    await take(editor, "Outrider: Send “Correct the price.”")
    await has(editor, "> +    return hours * 2")
    assert tail(editor).strip() == ""
    await take(editor, "Outrider: Allow once", at="Waits for you: approval")
    await has(editor, "> Run `/bin/cat tariff.py` in the workspace, without a sandbox.")
    await take(editor, "Outrider: Allow once", at="Waits for you: approval")
    await has(editor, "- `run_command` `/bin/cat tariff.py`: ok")
    await has(editor, "> Which tax?")
    editor.type(PATH, "what the law says\n")
    await take(editor, "Outrider: answer “what the law says”", at="Waits for you: question")
    await has(editor, "> That is all.")
    for line in ANSWER.splitlines():
        assert f"> {line}".rstrip() in head(editor).split("\n")
    assert "what the law says" not in tail(editor)
    assert "Completed" in head(editor)
    await take(editor, "Outrider: undo turn")
    await has(editor, "undone “tariff.py”: 1 change")
    assert editor.disk("tariff.py").endswith("* 3\n")


def disk_head(editor):
    return editor.disk(PATH).partition(MARK)[0]


async def until(comes_true):
    """Wait for what no message tells of: a file is written."""
    async with asyncio.timeout(8):
        while not comes_true():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def on_disk(editor, text):
    """Wait until the file says something, and load it anew as a user would."""
    await until(lambda: text in disk_head(editor))
    editor.reload(PATH)


@pytest.mark.parametrize("profile", [OLD_KATE, BARE], ids=str)
async def test_where_no_edit_is_taken_the_whole_task_goes_by_the_file(profile, begin):
    editor = await begin(profile, [step(FIX), step(ASK), {"text": ANSWER}], {"events": False})
    await opened(editor)
    editor.type(PATH, "Correct the price.\n")
    await take(editor, "Outrider: Send “Correct the price.”")
    await on_disk(editor, "> +    return hours * 2")
    assert "reload the file" in head(editor)
    assert tail(editor).strip() == ""
    await take(editor, "Outrider: Allow once", at="Waits for you: approval")
    await on_disk(editor, "> Which tax?")
    editor.type(PATH, "what the law says\n")
    await take(editor, "Outrider: answer “what the law says”", at="Waits for you: question")
    await on_disk(editor, "> That is all.")
    assert tail(editor).strip() == ""
    await take(editor, "Outrider: undo turn")
    await on_disk(editor, "undone “tariff.py”: 1 change")


async def test_an_editor_that_tells_of_its_edits_late_is_not_given_up_for_ever(begin, monkeypatch):
    monkeypatch.setattr(profiles, "_SETTLE_SECONDS", 0.05)
    editor = await begin(MUTE, [{"text": "Done."}], {"events": False})
    await opened(editor)
    editor.auto_settle = False
    await editor.run("Go.")
    await until(lambda: "does not apply edits" in disk_head(editor))
    editor.auto_settle = True
    editor.settle()
    await editor.run("Go on.")
    await has(editor, "> Go on.")
    assert "does not apply edits" not in head(editor)


async def test_an_editor_that_holds_back_what_is_typed_gets_the_page_once_it_has_told_of_it(
    begin, monkeypatch
):
    monkeypatch.setattr(profiles, "_SETTLE_SECONDS", 0.05)
    editor = await begin(
        EGLOT, [step(FIX), {"text": "Fixed."}], {"events": False}, answers=[Late("Allow once")]
    )
    await opened(editor)
    editor.type(PATH, "Correct the price.\n")
    editor.auto_settle = False
    await take(editor, "Outrider: Send “Correct the price.”")
    await has(editor, "> +    return hours * 2")
    await editor.code_actions(PATH)  # before which all is told
    editor.type(PATH, "And a half sen", unsent=True)
    before = len(editor.edits)
    editor.answer_late(editor.questions[0])
    await editor.wait_for(lambda: len(editor.edits) > before + MOST_FAILURES, "what is refused meanwhile")
    editor.auto_settle = True
    editor.settle()
    await has(editor, "> Fixed.")
    assert tail(editor).strip() == "And a half sen"
    assert "Fixed" not in editor.disk(PATH), "the editor would ask what to do about its file"


async def test_unsaved_text_comes_into_the_file_and_what_was_sent_is_not_offered_again(begin):
    editor = await begin(OLD_KATE, [step(ASK), {"text": "Done."}], {"events": False})
    await opened(editor)
    editor.type(PATH, "Go.\n")
    await take(editor, "Outrider: Send “Go.”")
    await until(lambda: "> Which tax?" in disk_head(editor))
    editor.type(PATH, "the law\n")  # into the old text, in which what was sent still stands
    assert tail(editor).split() == ["Go.", "the", "law"]
    await take(editor, "Outrider: answer “the law”")
    await until(lambda: "> Done." in disk_head(editor))
    assert "the law" not in editor.disk(PATH).partition(MARK)[2]
    editor.type(PATH, "And this is not sent.\n")
    await editor.command("outrider.open", {})
    await until(lambda: "this is not sent" in editor.disk(PATH))
    editor.reload(PATH)
    assert tail(editor).strip() == "And this is not sent."


async def test_what_another_editor_saves_meanwhile_stays(begin):
    editor = await begin(OLD_KATE, [{"text": "Done."}], {"events": False})
    await opened(editor)
    await until(lambda: "reload the file" in editor.disk(PATH))
    file = editor.root / PATH
    file.write_text(f"{file.read_text()}\nsaved in another editor\n")
    await editor.run("Go.")
    await until(lambda: "> Done." in disk_head(editor))
    assert "saved in another editor" in editor.disk(PATH).partition(MARK)[2]


async def test_rules_are_saved_only_where_they_are_to_be_read(begin):
    editor = await begin(MUTE, [step(FIX), {"text": "Done."}])
    await opened(editor)
    editor.type(PATH, "Go.\n")
    await take(editor, "Outrider: Send “Go.”")
    await has(editor, "> - allow edit tariff.py")
    there, elsewhere = [
        [one["title"] for one in await editor.code_actions(PATH, editor.range_of(PATH, text))]
        for text in ("> - allow edit tariff.py", "# Outrider")
    ]
    assert any("Always everywhere" in title for title in there)
    assert any("Allow once" in title for title in elsewhere)
    assert [title for title in elsewhere if "Always" in title] == []


async def test_what_is_sent_goes_to_the_conversation_in_sight(begin):
    editor = await begin(OLD_KATE, [{"text": "Done."}, {"text": "And done."}], {"events": False})
    await opened(editor)
    await editor.run("Go.")
    await until(lambda: "> Done." in disk_head(editor))
    editor.type(PATH, "And then?\n")  # the buffer shows no conversation yet
    actions = await editor.code_actions(PATH, editor.range_of(PATH, "And then?"))
    sent = [one["command"]["arguments"][0] for one in actions if "Send" in one["title"]]
    assert [{**one, "draft": None} for one in sent] == [{"prompt": "And then?", "draft": None}]


async def test_a_send_that_is_delivered_twice_is_done_once(begin):
    editor = await begin(STOCK, [{"text": "Done."}, {"text": "Done again."}], {"events": False})
    await opened(editor)
    editor.type(PATH, "Go.\n")
    actions = await editor.code_actions(PATH)
    send = next(one["command"] for one in actions if "Send" in one["title"])
    plan = next(one["command"] for one in actions if "plan" in one["title"])
    both = [editor.command_nowait(one["command"], one["arguments"][0]) for one in (send, send, plan)]
    _, *again = await asyncio.gather(*both, return_exceptions=True)
    assert [one.data for one in again] == [{"reason": "already_resolved"}] * 2
    await has(editor, "> Done.")
    assert head(editor).count("## Task") == 1
    await editor.wait_for(lambda: "Completed" in head(editor) and not tail(editor).strip(), "its end")
    await editor.command("outrider.status", {})  # by then the edit that took the draft away is over
    # The same words, written again, are another draft.
    editor.type(PATH, "Go.\n")
    await take(editor, "Outrider: Send “Go.”")
    await has(editor, "> Done again.")


async def test_a_draft_that_was_refused_can_be_sent_again(begin):
    editor = await begin(STOCK, [{"text": "Done."}], {"events": False})
    await opened(editor)
    editor.type(PATH, "Go.\n")
    actions = await editor.code_actions(PATH)
    given = next(one["command"]["arguments"][0] for one in actions if "Send" in one["title"])
    with pytest.raises(RpcError, match="no session"):
        await editor.command("outrider.run", {**given, "sessionId": "ses_none"})
    await editor.command("outrider.run", given)
    await has(editor, "> Done.")


async def test_only_the_latest_drafts_are_known_to_be_sent(begin, monkeypatch):
    monkeypatch.setattr(keeper, "DRAFTS_KNOWN", 2)
    editor = await begin(STOCK, [{"text": "Done."}] * 4)
    for draft in ("1", "2", "3"):
        await editor.run("Go.", draft=draft)
    with pytest.raises(RpcError) as refused:
        await editor.run("Go.", draft="2")
    assert refused.value.data == {"reason": "already_resolved"}
    await editor.run("Go.", draft="1")


async def test_a_draft_that_is_refused_after_it_was_forgotten_is_told_of(begin, monkeypatch):
    monkeypatch.setattr(keeper, "DRAFTS_KNOWN", 1)
    editor = await begin(STOCK, [{"text": "Done."}])
    refused = editor.command_nowait("outrider.run", {"prompt": "Go.", "draft": "1", "sessionId": "ses_none"})
    taken = editor.command_nowait("outrider.run", {"prompt": "Go.", "draft": "2"})
    problem, started = await asyncio.gather(refused, taken, return_exceptions=True)
    assert "no session" in str(problem)
    assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"


async def test_what_is_asked_for_elsewhere_takes_no_draft_away(begin):
    editor = await begin(MUTE, [{"text": "Done."}])
    await opened(editor)
    editor.type(PATH, "fix\nthe rounding bug\n")
    await editor.run("fix")
    await has(editor, "> Done.")
    assert tail(editor).strip() == "fix\nthe rounding bug"


@pytest.mark.parametrize(("profile", "seed"), [(STOCK, 1), (STOCK, 2), (NEOVIM, 3), (EGLOT, 4)], ids=str)
async def test_nothing_that_is_typed_while_the_transcript_grows_is_lost(profile, seed, begin):
    """The user types anywhere in the draft, at the pace of somebody who types; the steps of a task come between."""
    turns = [{**step(call("search", pattern=f"price{n}", called=f"c{n}")), "delay": 0.06} for n in range(8)]
    editor = await begin(profile, [*turns, {"text": "Done."}], {"testing": None})
    await opened(editor)
    editor.type(PATH, "Look.\n")
    await take(editor, "Outrider: Send “Look.”")
    await has(editor, "## Task 1")
    await editor.wait_for(lambda: not tail(editor).strip(), "the draft that was sent to go")
    chance, draft = random.Random(seed), tail(editor)
    for _ in range(400):
        if "> Done." in head(editor):
            break
        typed, at = (
            chance.choice(["x", "two words", "\n", "> Done\n", "## Task 2\n"]),
            chance.randint(1, len(draft)),
        )
        lines = (head(editor) + MARK + draft[:at]).split("\n")
        editor.type(PATH, typed, at=(len(lines) - 1, len(lines[-1])))
        draft = draft[:at] + typed + draft[at:]
        assert tail(editor) == draft
        await asyncio.sleep(0.01)
    assert tail(editor) == draft
    assert head(editor).count("- `search`") == 8


SLOW = {"never-answers-edits", "types-before-every-edit"}
"""The one is waited for 10 s each time, into the other nothing ever gets."""
OTHERS = [one for one in (*BAD_EDITS, *MOVING, NEOVIM, EGLOT, VIM_LSP) if one.name not in SLOW]


@pytest.mark.parametrize("profile", some(OTHERS, 4), ids=str)
async def test_no_client_makes_it_lose_what_is_written(profile, begin):
    editor = await begin(profile, [step(ASK), {"text": "Done."}], {"events": False}, answers=[])
    await opened(editor)
    editor.type(PATH, "Go.\n")
    await take(editor, "Outrider: Send “Go.”")

    def everywhere():
        return editor.text(PATH) + editor.disk(PATH)

    await until(lambda: "> Which tax?" in everywhere())
    editor.type(PATH, "next: a second thing\n")
    await editor.code_actions(PATH)
    await editor.take_action("Outrider: 19 — ")
    await until(lambda: "> Done." in everywhere())
    assert tail(editor).strip().endswith("next: a second thing")
    assert everywhere().count("next: a second thing") in {1, 2}
    assert editor.text(PATH).count(MARK) == 1


# --- over a restart, beside others ---------------------------------------------------------------------------------


async def test_after_a_restart_it_goes_on_where_it_was(workspace):
    model = scripted(workspace, [step(ASK), {"text": "By the law."}, step(FIX), {"text": "Both done."}])
    async with start_session(MUTE, workspace, model, {"events": False}) as editor:
        await opened(editor)
        editor.type(PATH, "Go.\n")
        await take(editor, "Outrider: Send “Go.”")
        await has(editor, "> Which tax?")
        editor.type(PATH, "and a note of mine\n")
        editor.save(PATH)
    async with start_session(MUTE, workspace, model, {"events": False}) as editor:
        editor.open(PATH)
        await has(editor, "Outrider is waiting for you: 1 open item.")
        assert tail(editor).strip() == "and a note of mine"
        await take(editor, "Outrider: 19 — Which tax?", at="Waits for you: question")
        await has(editor, "> By the law.")
        assert tail(editor).strip() == "and a note of mine"
        await take(editor, "Outrider: Send “and a note of mine”")
        await has(editor, "## Task 2")
        await has(editor, "+    return hours * 2")


async def test_after_a_restart_it_knows_its_conversation_though_nobody_saved_it(workspace):
    model = scripted(workspace, [step(FIX), {"text": "Done."}])
    full = {"permissionMode": "full", "events": False}
    async with start_session(MUTE, workspace, model, full) as editor:
        await opened(editor)
        editor.type(PATH, "Go.\n")
        await take(editor, "Outrider: Send “Go.”")
        await has(editor, "> Done.")
    async with start_session(MUTE, workspace, model, full) as editor:
        assert "> Done." not in editor.disk(PATH)
        editor.open(PATH)
        await has(editor, "> Done.")
        await take(editor, "Outrider: undo turn")
        await has(editor, "undone “tariff.py”: 1 change")


async def test_a_page_that_is_loaded_from_the_disk_again_is_put_back(begin):
    editor = await begin(MUTE, [{"text": "Done."}])
    await opened(editor)
    await editor.run("Go.")
    await has(editor, "> Done.")
    editor.reload(PATH)
    await has(editor, "> Done.")


async def test_a_task_that_was_cut_off_is_resumed_by_action(workspace):
    turns = [step(call("run_command", command="/bin/sleep 60", called="long")), {"text": "Went on."}]
    full = {"permissionMode": "full", "events": False}
    async with start_session(MUTE, workspace, scripted(workspace, turns), full, connection="stdio") as editor:
        await opened(editor)
        editor.type(PATH, "Go.\n")
        await take(editor, "Outrider: Send “Go.”")
        await has(editor, "`/bin/sleep 60`: …")
        editor.save(PATH)
        editor.connection.kill()
        await editor.wait_for(lambda: editor.ended, "its end")
    async with start_session(MUTE, workspace, scripted(workspace, turns), full) as editor:
        editor.open(PATH)
        await has(
            editor, "The task was interrupted: take the code action `resume the task`, or `cancel the task`."
        )
        await take(editor, "Outrider: resume the task")
        await has(editor, "> Went on.")


async def test_a_task_that_waits_after_a_restart_says_when_more_is_done_and_can_be_cancelled(workspace):
    model = scripted(workspace, [step(ASK), {"text": "Done."}])
    asks_long = {"events": False, "limits": {"askSeconds": 0.1}}
    async with start_session(MUTE, workspace, model, asks_long) as editor:
        await opened(editor)
        editor.type(PATH, "Go.\n")
        await take(editor, "Outrider: Send “Go.”")
        await has(editor, "> Which tax?")
        editor.save(PATH)
    async with start_session(MUTE, workspace, model, {"events": False}) as editor:
        editor.open(PATH)
        await has(editor, "Outrider is waiting for you: 1 open item.")
        editor.type(PATH, "And this.\n")
        late = "Outrider: Send “And this.” after the running task"
        async with asyncio.timeout(8):  # the text of the file is there before its session is read
            while late not in (titles := [one["title"] for one in await editor.code_actions(PATH)]):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        assert "Outrider: Send “And this.”" not in titles
        await take(editor, "Outrider: cancel the task")
        await has(editor, "Cancelled (")
        assert "Waits for you" not in head(editor)
        await take(editor, "Outrider: Send “And this.”")
        await has(editor, "> Done.")


async def test_another_window_says_so_and_loses_nothing(workspace):
    model = scripted(workspace, [step(ASK), {"text": "Done."}])
    other = scripted(workspace, [{"text": "Of the other."}], name="other")
    async with start_session(MUTE, workspace, model, {"events": False}) as first:
        await opened(first)
        first.type(PATH, "Go.\n")
        await take(first, "Outrider: Send “Go.”")
        await has(first, "> Which tax?")
        first.save(PATH)
        async with start_session(MUTE, workspace, other, {"events": False}) as second:
            second.open(PATH)
            await has(second, "The task runs in another window")
            second.type(PATH, "And this.\n")
            actions = await second.code_actions(PATH)
            assert not any("resume" in one["title"] for one in actions)
            assert "Outrider: join the task" in [one["title"] for one in actions]
            await take(second, "Outrider: Send “And this.” after the running task")
            await has(first, "And this.")
            second.type(PATH, "Another thing.\n")
            await take(second, "Outrider: Send “Another thing.” as a new conversation")
            await has(second, "> Of the other.")
        assert "> Which tax?" in head(first)
        await take(first, "Outrider: 7 — ", at="Waits for you: question")
        await has(first, "> Done.")


# --- what else there is ------------------------------------------------------------------------------------------


async def test_what_is_sent_while_it_runs_steers_and_the_task_is_cancelled_by_action(begin):
    slow = call("run_command", command="sleep 60", called="long")
    editor = await begin(MUTE, [step(slow)], {"permissionMode": "full"})
    await opened(editor)
    editor.type(PATH, "Go.\n")
    await take(editor, "Outrider: Send “Go.”")
    await has(editor, "What you send now goes to the running task.")
    editor.type(PATH, "Not so slowly.\n")
    await take(editor, "Outrider: Send “Not so slowly.” to the running task")
    await has(editor, "- you said “Not so slowly.”")
    assert tail(editor).strip() == ""
    await take(editor, "Outrider: cancel turn")
    await has(editor, "Cancelled (cancelled in the editor)")


async def test_what_is_sent_while_it_runs_can_wait_for_its_turn_and_be_taken_away_again(begin):
    slow = call("run_command", command="sleep 60", called="long")
    editor = await begin(MUTE, [step(slow), {"text": "Done."}], {"permissionMode": "full"})
    await opened(editor)
    editor.type(PATH, "Go.\n")
    await take(editor, "Outrider: Send “Go.”")
    await has(editor, "What you send now goes to the running task.")
    for text in ("Then this.", "Then that."):
        editor.type(PATH, f"{text}\n")
        await take(editor, f"Outrider: Send “{text}” after the running task")
        await has(editor, f"> {text}\n\nWaits for its turn.")
    await take(editor, "Outrider: cancel “Then this.”")
    await has(editor, "> Then this.\n\nCancelled (")
    await take(editor, "Outrider: cancel turn")
    await has(editor, "> Done.")
    begun = [event["data"]["prompt"] for event in editor.events_of("turn.started")]
    assert begun == ["Go.", "Then that."]


async def test_a_task_is_planned_and_a_conversation_goes_on_or_begins_anew(begin):
    editor = await begin(MUTE, [{"text": "A plan."}, {"text": "Done."}, {"text": "Other."}])
    await opened(editor)
    editor.type(PATH, "Think.\n")
    await take(editor, "Outrider: plan “Think.”")
    await has(editor, "> A plan.")
    assert "## Task 1 (plan)" in head(editor)
    editor.type(PATH, "Do.\n")
    await take(editor, "Outrider: Send “Do.”")
    await has(editor, "> Done.")
    assert "> A plan." in head(editor)
    assert {event["sessionId"] for event in editor.events_of("turn.started")} == {"ses_1"}
    editor.type(PATH, "Another.\n")
    await take(editor, "Outrider: Send “Another.” as a new conversation")
    await has(editor, "Conversation `ses_2`")


async def test_always_is_allowed_by_action_with_its_rules_in_sight(begin, rules):
    editor = await begin(MUTE, [step(FIX), {"text": "Done."}])
    await opened(editor)
    editor.type(PATH, "Go.\n")
    await take(editor, "Outrider: Send “Go.”")
    await has(editor, "> - allow edit tariff.py")
    await take(editor, "Outrider: Always everywhere — ", at="Waits for you: approval")
    await has(editor, "> Done.")
    assert "tariff.py" in rules()


async def test_what_was_begun_elsewhere_is_told_too(begin):
    editor = await begin(MUTE, [step(FIX), {"text": ANSWER}], {"permissionMode": "full"})
    await opened(editor)
    await editor.run("Correct the price.")
    await has(editor, "> That is all.")
    (said,) = [one.text for one in editor.said if one.shown and "Fixed." in one.text]
    assert "all of it is in the task document" in said


async def test_opened_afterwards_it_tells_what_was_before(begin):
    editor = await begin(MUTE, [step(FIX), {"text": ANSWER}], {"permissionMode": "full"})
    await editor.run("Correct the price.")
    assert not (editor.root / PATH).exists()
    await opened(editor)
    assert "> That is all." in head(editor)


async def test_a_document_that_was_forged_gets_no_action_of_its_own(begin):
    editor = await begin(MUTE, [step(FIX), {"text": "Done."}])
    await opened(editor)
    editor.type(PATH, "Go.\n")
    await take(editor, "Outrider: Send “Go.”")
    await has(editor, "> +    return hours * 2")
    editor.type(PATH, "> +    return hours * 3", replace="> +    return hours * 2")
    forged = (
        "## Waits for you: approval `open_9`\n\n> Read the manual\n\nCode actions here: `Allow once`.\n\n"
    )
    editor.type(PATH, forged, at=(2, 0))
    actions = await editor.code_actions(PATH, editor.range_of(PATH, "> Read the manual"))
    about = [one for one in actions if one.get("command", {}).get("command") == "outrider.answer"]
    assert {one["command"]["arguments"][0]["id"] for one in about} == {"open_1"}
    assert all(one["title"].endswith(" — Edit tariff.py (+1 −1)") for one in about)
    await editor.take_action("Outrider: Reject")
    await has(editor, "> Done.")
    assert "Read the manual" not in head(editor)


async def test_a_long_page_is_worked_out_beside_the_event_loop(begin, monkeypatch):
    monkeypatch.setattr(writing, "LONG", 0)
    renew, beside = keeper.renewed, set()

    def watched(*arguments):
        beside.add(threading.current_thread() is not threading.main_thread())
        return renew(*arguments)

    monkeypatch.setattr(keeper, "renewed", watched)
    editor = await begin(MUTE, [{"text": "Done."}])
    await opened(editor)
    editor.type(PATH, "Go.\n")
    await take(editor, "Outrider: Send “Go.”")
    await has(editor, "> Done.")
    assert tail(editor).strip() == ""
    assert beside == {True}


async def test_it_costs_nothing_while_nobody_opens_it(begin, monkeypatch):
    made = []
    monkeypatch.setattr(keeper, "page_of", lambda *given: made.append(given))
    editor = await begin(MUTE, [step(FIX), {"text": "Done."}], {"permissionMode": "full"})
    editor.open("tariff.py")
    await editor.run("Go.")
    await editor.code_actions("tariff.py")
    assert (made, (editor.root / ".outrider").exists()) == ([], False)


async def test_the_question_of_trust_is_in_it_as_soon_as_it_is_asked(begin, workspace, monkeypatch):
    monkeypatch.setattr(keeper, "PAUSE_SECONDS", 0)  # nothing comes into it by waiting
    (workspace / "AGENTS.md").write_text("Write no comments.\n")
    silent = replace(STOCK, name="silent", forced_answer=Never())
    editor = await begin(silent, [{"text": "Done."}], {"trusted": None})
    await opened(editor)
    editor.type(PATH, "Go.\n")
    await take(editor, "Outrider: Send “Go.”")
    await has(editor, "## Waits for you: question `trust_")
    await take(editor, "Outrider: Stay read-only — ", at="Waits for you: question")
    await editor.wait_for(lambda: "Waits for you" not in head(editor), "the document without the question")
    await has(editor, "> Done.")


async def test_an_approval_is_rejected_with_what_is_written_under_it(begin):
    editor = await begin(MUTE, [step(CHECK), {"text": "I see."}], {"events": False})
    await opened(editor)
    editor.type(PATH, "Go.\n")
    await take(editor, "Outrider: Send “Go.”")
    await has(editor, "> Run `/bin/cat tariff.py` in the workspace, without a sandbox.")
    editor.type(PATH, "Read it yourself.\n")
    await take(editor, "Outrider: Reject, saying “Read it yourself.”", at="Waits for you: approval")
    await has(editor, "> I see.")
    assert "reject: Read it yourself." in head(editor)
    assert tail(editor).strip() == ""
