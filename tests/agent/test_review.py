"""An edit is reviewed hunk by hunk: some are taken, some left out with a reason, some written otherwise."""

import asyncio
from pathlib import Path

import pytest
from scripting import DONE, FIX, KINDS, call, result, step, types

from outrider.testing.editor.answers import Dismiss, Never
from outrider.testing.editor.profiles import NEVER_YES, PROFILES
from outrider.testing.editor.wire_client import RpcError
from outrider.testing.scenario import scripted, start_session
from replayed import keep_sessions

SOON = {"limits": {"askSeconds": 0.05}}
LINES = "".join(f"line {number}\n" for number in range(1, 31))
EDITS = call(
    "edit_file",
    path="wide.txt",
    edits=[
        {"old": "line 5\n", "new": "LINE 5\n"},
        {"old": "line 15\n", "new": "LINE 15\nand more\n"},
        {"old": "line 25\n", "new": "LINE 25\n"},
    ],
    called="edits",
)
PATCH = call(
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
*** Add File: new.txt
+new
*** Delete File: README.md
*** Update File: tariff.py
*** Move to: price.py
@@
-    return hours * 3
+    return hours * 2
*** End Patch
""",
)


def rejected(hunk, reason=None):
    return {"id": hunk, "decision": "reject", **({"reason": reason} if reason else {})}


def amended(hunk, text):
    return {"id": hunk, "decision": "take", "text": text}


async def asked(editor):
    """The data of the open approval."""
    await editor.event("approval.requested")
    return editor.events_of("approval.requested")[-1]["data"]


async def hunks(editor):
    """The ids of the hunks of the open approval, by what they take away."""
    item = await asked(editor)
    found = {}
    for event in editor.events_of("edit.proposed"):
        data = event["data"]
        if data["changeId"] in item["changeIds"]:
            shown = data["hunks"] or [{}]
            found |= {
                (data["operation"], data["path"], number): f"{data['changeId']}#{number}"
                for number in range(1, len(shown) + 1)
            }
    return found


async def begun(begin, turn, *, profile="stock", settings=None, **how):
    return await begin(profile, [step(turn), DONE], settings, **{"answers": lambda _: Never(), **how})


async def review(editor, *decided, decision="allow_once", **more):
    item = await asked(editor)
    return await editor.command(
        "outrider.answer", {"id": item["id"], "decision": decision, "review": list(decided), **more}
    )


async def refused(editor, *decided, **more):
    with pytest.raises(RpcError) as error:
        await review(editor, *decided, **more)
    assert error.value.code == -32803
    assert error.value.data["reason"] == "invalid"
    return str(error.value)


# --- the main path -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", [*KINDS, *(str(one) for one in NEVER_YES)])
async def test_hunks_are_taken_rejected_and_amended(profile, begin, workspace):
    (workspace / "wide.txt").write_text(LINES)
    editor = await begin(profile, [step(EDITS), DONE], SOON, answers=lambda _: Never())
    if PROFILES.get(profile) is None or PROFILES[profile].can_ask:
        editor.open("wide.txt")
    started = await editor.command("outrider.run", {"prompt": "Change it."})
    ids = [f"{(await asked(editor))['changeIds'][0]}#{number}" for number in (1, 2, 3)]
    decided = [rejected(ids[0], "it is in use"), amended(ids[1], "fifteen\n")]
    await review(editor, *decided, note="nearly")
    assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"
    wanted = LINES.replace("line 15\n", "fifteen\n").replace("line 25\n", "LINE 25\n")
    if result(editor)[0] == "ok":
        now = editor.text("wide.txt") if "wide.txt" in str(editor.edits) else editor.disk("wide.txt")
        assert wanted in {now, editor.disk("wide.txt")}
        told = result(editor)[1].partition("The user reviewed this and decided hunk by hunk:\n")[2]
        assert told == (
            "- rejected: wide.txt line 5, because: it is in use\n  -line 5\n  +LINE 5\n"
            "- amended: wide.txt line 15; what you proposed (-) and what is there now (+):\n"
            "  -LINE 15\n  -and more\n  +fifteen\n"
            "- the user said: nearly\n- accepted as proposed: wide.txt line 25"
        )
    (resolved,) = editor.events_of("approval.resolved")
    assert resolved["data"]["review"] == decided
    (requested,) = editor.events_of("approval.requested")
    assert resolved["data"]["digest"] != requested["data"]["digest"]


async def test_what_is_written_is_what_is_undone(begin, workspace):
    (workspace / "wide.txt").write_text(LINES)
    editor = await begun(begin, EDITS)
    started = await editor.command("outrider.run", {"prompt": "Change it."})
    change = (await asked(editor))["changeIds"][0]
    await review(editor, rejected(f"{change}#1"), amended(f"{change}#2", "fifteen\n"))
    await editor.wait_turn(started["turnId"])
    (applying,) = editor.events_of("edit.applying")
    shown = [(one["line"], one["removed"], one["added"]) for one in applying["data"]["hunks"]]
    assert shown == [(15, "line 15\n", "fifteen\n"), (25, "line 25\n", "LINE 25\n")]
    listed = await editor.command("outrider.changes", {})
    assert [one["id"] for one in listed["changes"][0]["hunks"]] == [f"{change}#1", f"{change}#2"]
    await editor.command("outrider.undo", {"scope": "hunk", "id": f"{change}#2"})
    assert editor.disk("wide.txt") == LINES.replace("line 15\n", "fifteen\n")
    await editor.command("outrider.undo", {})
    assert editor.disk("wide.txt") == LINES


async def test_what_is_not_named_is_taken(begin, workspace):
    (workspace / "wide.txt").write_text(LINES)
    editor = await begun(begin, EDITS)
    started = await editor.command("outrider.run", {"prompt": "Change it."})
    change = (await asked(editor))["changeIds"][0]
    await review(editor, {"id": f"{change}#2", "decision": "take"})
    await editor.wait_turn(started["turnId"])
    assert result(editor)[1].startswith("Edited wide.txt.\nNow in wide.txt:\n")
    assert editor.disk("wide.txt").count("LINE") == 3
    (resolved,) = editor.events_of("approval.resolved")
    assert "digest" not in resolved["data"]


@pytest.mark.parametrize("decision", ["allow_once", "reject"])
async def test_all_hunks_rejected_is_a_rejection_with_the_reasons(decision, begin, workspace):
    (workspace / "wide.txt").write_text(LINES)
    editor = await begun(begin, EDITS)
    started = await editor.command("outrider.run", {"prompt": "Change it."})
    change = (await asked(editor))["changeIds"][0]
    decided = [rejected(f"{change}#{number}", f"reason {number}") for number in (1, 2, 3)]
    await review(editor, *decided, decision=decision, note="not today")
    await editor.wait_turn(started["turnId"])
    assert editor.disk("wide.txt") == LINES
    status, content = result(editor)
    assert status == "denied"
    assert content == (
        "The user rejected this and said: not today.\n- wide.txt line 5: reason 1\n"
        "- wide.txt line 15: reason 2\n- wide.txt line 25: reason 3"
    )
    (resolved,) = editor.events_of("approval.resolved")
    assert resolved["data"]["decision"] == "reject"
    assert "edit.applying" not in types(editor)


async def test_of_a_patch_some_files_are_left_out(begin, workspace):
    (workspace / "wide.txt").write_text(LINES)
    editor = await begun(begin, PATCH)
    started = await editor.command("outrider.run", {"prompt": "Change it."})
    ids = await hunks(editor)
    await review(
        editor,
        rejected(ids["edit", "wide.txt", 1]),
        amended(ids["create", "new.txt", 1], "mine"),
        rejected(ids["delete", "README.md", 1], "still needed"),
        rejected(ids["rename", "tariff.py", 1], "the name is public"),
    )
    assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"
    assert editor.disk("wide.txt") == LINES.replace("line 15\n", "LINE 15\n")
    assert editor.disk("new.txt") == "mine\n"
    assert (workspace / "README.md").exists()
    assert editor.disk("tariff.py").endswith("hours * 2\n"), "what is done to it is done where it is"
    assert not (workspace / "price.py").exists()
    reasons = {event["data"]["path"]: event["data"]["reason"] for event in editor.events_of("edit.rejected")}
    assert reasons == {
        "README.md": "the user rejected it: still needed",
        "tariff.py": "the user rejected it: the name is public",
    }
    status, content = result(editor)
    assert status == "ok"
    assert "Edited tariff.py." in content
    assert "rejected: the renaming of tariff.py to price.py, because: the name is public" in content
    await editor.command("outrider.undo", {"scope": "session"})
    assert editor.disk("wide.txt") == LINES
    assert editor.disk("tariff.py").endswith("hours * 3\n")
    assert not (workspace / "new.txt").exists()


@pytest.mark.parametrize("is_open", [True, False])
async def test_an_amended_text_takes_the_line_ends_of_the_file(is_open, begin, workspace):
    crlf = LINES.replace("\n", "\r\n")
    (workspace / "wide.txt").write_bytes(crlf.encode())
    editor = await begun(begin, EDITS)
    if is_open:
        editor.open("wide.txt")
    started = await editor.command("outrider.run", {"prompt": "Change it."})
    change = (await asked(editor))["changeIds"][0]
    await review(
        editor, amended(f"{change}#1", "one\ntwo"), rejected(f"{change}#2"), amended(f"{change}#3", "")
    )
    await editor.wait_turn(started["turnId"])
    now = editor.text("wide.txt") if is_open else (workspace / "wide.txt").read_bytes().decode()
    assert now == crlf.replace("line 5\r\n", "one\r\ntwo\r\n").replace("line 25\r\n", "")


# --- typing, and restarts ------------------------------------------------------------------------------------


async def test_promise_2_a_review_holds_where_the_text_moved(begin, workspace):
    (workspace / "wide.txt").write_text(LINES)
    editor = await begun(begin, EDITS)
    editor.open("wide.txt")
    started = await editor.command("outrider.run", {"prompt": "Change it."})
    change = (await asked(editor))["changeIds"][0]
    editor.type("wide.txt", "typed above\n", at=(0, 0))
    await review(editor, rejected(f"{change}#2"))
    await editor.wait_turn(started["turnId"])
    wanted = LINES.replace("line 5\n", "LINE 5\n").replace("line 25\n", "LINE 25\n")
    assert editor.text("wide.txt") == "typed above\n" + wanted
    assert len(editor.events_of("approval.requested")) == 1


async def test_promise_2_what_changed_at_a_hunk_is_asked_again_as_it_was_reviewed(begin, workspace):
    (workspace / "wide.txt").write_text(LINES)
    editor = await begun(begin, EDITS)
    editor.open("wide.txt")
    started = await editor.command("outrider.run", {"prompt": "Change it."})
    change = (await asked(editor))["changeIds"][0]
    editor.type("wide.txt", "close by\n", at=(23, 0))
    await review(editor, rejected(f"{change}#1", "no"), amended(f"{change}#2", "fifteen\n"))
    await editor.event("approval.requested", count=2)
    again = await asked(editor)
    assert again["title"] == "Edit wide.txt (+2 −2)"
    assert again["reviewed"] is True
    assert "LINE 5\n" not in again["detail"]
    assert "+fifteen" in again["detail"]
    assert "close by" in again["detail"]
    await review(editor, rejected(f"{again['changeIds'][0]}#2", "neither"))
    await editor.wait_turn(started["turnId"])
    assert editor.text("wide.txt") == LINES.replace("line 15\n", "fifteen\n").replace(
        "line 24\n", "close by\nline 24\n"
    )
    told = result(editor)[1]
    assert "rejected: wide.txt line 5, because: no" in told
    assert "rejected: wide.txt line 26, because: neither" in told


async def test_promise_2_a_review_that_does_not_fit_any_more_is_asked_anew(begin, workspace):
    (workspace / "twice.txt").write_text("a\n1\n2\n3\n4\na\n5\n6\n7\n8\n")
    every = call("edit_file", path="twice.txt", old="a\n", new="b\n", replace_all=True)
    editor = await begun(begin, every)
    editor.open("twice.txt")
    started = await editor.command("outrider.run", {"prompt": "Change it."})
    change = (await asked(editor))["changeIds"][0]
    editor.type("twice.txt", "a\n", at=(10, 0))
    await review(editor, rejected(f"{change}#1"))
    await editor.event("approval.requested", count=2)
    again = await asked(editor)
    assert again["title"] == "Edit twice.txt (+3 −3)"
    assert "reviewed" not in again
    assert "no longer fits the current text" in (await editor.question(2)).message
    await review(editor, rejected(f"{again['changeIds'][0]}#3"))
    await editor.wait_turn(started["turnId"])
    assert editor.text("twice.txt") == "b\n1\n2\n3\n4\nb\n5\n6\n7\n8\na\n"


async def test_a_place_that_is_gone_is_told_with_what_was_decided(begin, workspace):
    (workspace / "wide.txt").write_text(LINES)
    editor = await begun(begin, EDITS)
    editor.open("wide.txt")
    started = await editor.command("outrider.run", {"prompt": "Change it."})
    change = (await asked(editor))["changeIds"][0]
    editor.type("wide.txt", "mine", replace="line 25")
    await review(editor, rejected(f"{change}#1", "keep it"))
    await editor.wait_turn(started["turnId"])
    status, content = result(editor)
    assert status == "error"
    assert "rejected: wide.txt line 5, because: keep it" in content
    assert "LINE" not in editor.text("wide.txt")


@pytest.mark.parametrize("turn", [EDITS, PATCH], ids=["one file", "patch"])
@pytest.mark.parametrize("resumed", [True, False])
async def test_hunks_keep_their_ids_over_a_restart(turn, resumed, workspace):
    (workspace / "wide.txt").write_text(LINES)
    model = scripted(workspace, [step(turn), DONE])
    async with start_session("stock", workspace, model, SOON, answers=lambda _: Dismiss()) as editor:
        waiting = await editor.run("Change it.")
        (item,) = waiting["open"]
        ids = (await asked(editor))["changeIds"]
        session, turn_id, state_dir = editor.session_id, editor.turn_id, editor.options["stateDir"]
    async with start_session("stock", workspace, model, SOON, answers=lambda _: Dismiss()) as editor:
        if resumed:
            await editor.command("outrider.resume", {"sessionId": session})
            await editor.event("turn.parked")
        answer = {"id": item["id"], "decision": "allow_once", "review": [rejected(f"{ids[0]}#2", "no")]}
        await editor.command("outrider.answer", answer)
        assert (await editor.wait_turn(turn_id))["outcome"] == "completed"
        events = (await editor.command("outrider.events", {"sessionId": session}))["events"]
    kinds = [event["type"] for event in events]
    assert kinds.count("edit.proposed") == len(ids), "what is proposed keeps its ids"
    assert kinds.count("approval.requested") == 1
    text = (workspace / "wide.txt").read_text()
    assert "LINE 5\n" in text
    assert "LINE 15" not in text
    (told,) = [event["data"]["content"] for event in events if event["type"] == "tool.finished"]
    assert "rejected: wide.txt line 15, because: no" in told
    await keep_sessions(Path(state_dir))


# --- bad reviews ---------------------------------------------------------------------------------------------


async def test_a_review_that_makes_no_sense_is_refused_and_nothing_happens(begin, workspace):
    (workspace / "wide.txt").write_text(LINES)
    editor = await begun(begin, PATCH)
    await editor.command("outrider.run", {"prompt": "Change it."})
    ids = await hunks(editor)
    first, gone = ids["edit", "wide.txt", 1], ids["delete", "README.md", 1]
    moved = ids["rename", "tariff.py", 1]
    assert "there is no hunk 'chg_99#1'" in await refused(editor, rejected("chg_99#1"))
    assert "there is no hunk" in await refused(editor, rejected(first.replace("#1", "#3")))
    assert f"{first} is in it 2 times" in await refused(editor, rejected(first), amended(first, "x\n"))
    assert "cannot have an edited text" in await refused(editor, {**rejected(first), "text": "x\n"})
    assert f"{gone} is to delete a file" in await refused(editor, amended(gone, "x\n"))
    assert f"{moved} is to rename a file" in await refused(editor, amended(moved, "x\n"))
    assert "cannot be accepted" in await refused(editor, amended(first, "x\n"), decision="reject")
    assert "takes one of" in await refused(editor, rejected(first), decision="allow_session")
    others = [rejected(one) for one in ids.values() if one != first]
    assert "rejects all of the edit" in await refused(editor, amended(first, "line 5\n"), *others)
    for wrong in ({"id": first}, {"id": first, "decision": "allow_once"}, {"id": 1, "decision": "take"}):
        with pytest.raises(RpcError) as error:
            await review(editor, wrong)
        assert error.value.code == -32602
    for _ in range(10):
        await asyncio.sleep(0)
    assert "approval.resolved" not in types(editor)
    assert editor.disk("wide.txt") == LINES


async def test_allow_for_this_session_takes_no_review(begin):
    editor = await begun(begin, FIX)
    await editor.command("outrider.run", {"prompt": "Change it."})
    change = (await asked(editor))["changeIds"][0]
    assert "to this edit only" in await refused(editor, rejected(f"{change}#1"), decision="allow_session")


async def test_what_is_no_edit_has_no_hunks(begin):
    editor = await begun(begin, call("run_command", command="/bin/true"))
    await editor.command("outrider.run", {"prompt": "Run it."})
    assert "is not an edit" in await refused(editor, rejected("chg_1#1"))
    assert "changeIds" not in await asked(editor)


# --- folders, and edits that cannot be made ------------------------------------------------------------------


@pytest.mark.parametrize("out", ["a.txt", "b.txt", "z.txt"])
@pytest.mark.parametrize("operation", ["delete", "rename"])
async def test_a_folder_goes_but_for_the_files_that_are_rejected(operation, out, begin, workspace):
    (workspace / "old").mkdir()
    names = ["a.txt", "b.txt", "z.txt"]
    for name in names:
        (workspace / "old" / name).write_text(f"{name}\n")
    asked_for = {
        "delete": call("delete_file", path="old"),
        "rename": call("rename_file", **{"from": "old", "to": "new"}),
    }
    editor = await begun(begin, asked_for[operation])
    started = await editor.command("outrider.run", {"prompt": "Tidy up."})
    ids = await hunks(editor)
    await review(editor, rejected(ids[operation, f"old/{out}", 1], "it is in use"))
    assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"
    status, content = result(editor)
    assert status == "ok", content
    assert "because: it is in use" in content
    assert [path.name for path in (workspace / "old").iterdir()] == [out]
    if operation == "rename":
        assert {path.name for path in (workspace / "new").iterdir()} == {*names} - {out}
    undone = await editor.command("outrider.undo", {})
    assert (len(undone["undone"]), undone["notUndoable"]) == (2, [])
    assert sorted(path.name for path in (workspace / "old").iterdir()) == names


async def test_what_was_taken_is_not_told_as_taken_where_nothing_was_done(begin, workspace):
    (workspace / "wide.txt").write_text(LINES)
    editor = await begun(begin, EDITS, profile="refuses-edits")
    editor.open("wide.txt")
    started = await editor.command("outrider.run", {"prompt": "Change it."})
    ids = [f"{(await asked(editor))['changeIds'][0]}#{number}" for number in (1, 2, 3)]
    await review(editor, rejected(ids[0], "it is in use"), amended(ids[1], "fifteen\n"))
    await editor.wait_turn(started["turnId"])
    status, content = result(editor)
    assert status == "error"
    assert editor.text("wide.txt") == LINES
    assert "because: it is in use" in content
    assert "- they would amend: wide.txt line 15" in content
    assert "taken" not in content
