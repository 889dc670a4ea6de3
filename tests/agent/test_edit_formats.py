"""How the model proposes edits: several at once, patches of several files, inserted lines; all of it or nothing."""

import pytest
from scripting import DONE, KINDS, call, result, step, types

from outrider.testing.editor.profiles import BAD_EDITS, MOVING
from outrider.testing.editor.wire_client import RpcError

FULL = {"permissionMode": "full"}
AUTO = {"permissionMode": "auto-edit"}
TARIFF = 'def price(hours):\n    """Two for each hour begun."""\n    return hours * 3\n'
README = "# Parking\n\nCounts what parking costs.\n"
PATCH = """\
*** Begin Patch
*** Update File: tariff.py
@@ def price(hours):
-    return hours * 3
+    return hours * 2
*** Add File: notes/new.txt
+new
*** Update File: README.md
*** Move to: READ.md
@@
-# Parking
+# Tariffs
*** End Patch
"""
APPLY = call("apply_patch", patch=PATCH, called="patch")
QUICK = [str(one) for one in BAD_EDITS + MOVING if one.edit_fault != "never_answers"]


def texts(editor):
    """What there is on disk, scripts aside."""
    return {
        str(path.relative_to(editor.root)): path.read_text()
        for path in sorted(editor.root.rglob("*"))
        if path.is_file() and path.name in {"tariff.py", "new.txt", "README.md", "READ.md"}
    }


async def run_allowed(editor):
    """Run a task whose approvals are given, by command where the editor cannot ask."""
    editor.answers = lambda _question: "Allow once"
    outcome = await editor.run("Go.")
    while outcome.get("outcome") == "needs_input":
        for item in outcome["open"]:
            await editor.command("outrider.answer", {"id": item["id"], "decision": "allow_once"})
        outcome = await editor.wait_turn()
    return outcome


BEFORE = {"README.md": README, "tariff.py": TARIFF}
AFTER = {
    "READ.md": README.replace("# Parking", "# Tariffs"),
    "notes/new.txt": "new\n",
    "tariff.py": TARIFF.replace("* 3", "* 2"),
}


# --- several edits of one file -------------------------------------------------------------------------------


async def test_several_edits_are_one_change_one_question_and_one_undo(begin):
    edits = [{"old": "* 3", "new": "* 2"}, {"old": "price", "new": "cost"}]
    editor = await begin("stock", [step(call("edit_file", path="tariff.py", edits=edits)), DONE])
    editor.answers = ["Allow once"]
    editor.open("tariff.py")
    await editor.run("Go.")
    assert editor.text("tariff.py") == TARIFF.replace("* 3", "* 2").replace("price", "cost")
    (question,) = editor.questions
    assert "Edit tariff.py (+2 −2)" in question.message
    assert types(editor).count("edit.applied") == 1
    editor.undo("tariff.py")
    assert editor.text("tariff.py") == TARIFF


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"edits": [{"old": "* 3", "new": "* 2"}, {"old": "q", "new": "r"}]}, "edits[1]: old was not found."),
        (
            {"edits": [{"old": "* 3", "new": "* 2"}, {"old": "* 2", "new": "r"}]},
            "overlaps what edits[0] inserts",
        ),
        ({"edits": []}, "edits is empty"),
        ({"edits": [{"old": "", "new": "x"}]}, "old is empty"),
        ({"edits": [{"old": "a", "new": "x"}], "old": "a"}, "give either old and new, or edits, not both"),
        ({"old": "a"}, "old and new are missing (or edits, for several replacements)"),
        ({"old": "* 3", "new": "* 3"}, "old and new are the same"),
    ],
)
async def test_edits_that_do_not_fit_change_nothing_and_say_why(given, says, begin):
    editor = await begin("stock", [step(call("edit_file", path="tariff.py", **given)), DONE], FULL)
    await editor.run("Go.")
    status, content = result(editor)
    assert (status, says in content) == ("error", True), content
    assert texts(editor) == BEFORE
    assert "edit.applying" not in types(editor)


async def test_the_result_says_how_a_text_was_found(begin):
    edit = call("edit_file", path="tariff.py", old="return hours * 3 ", new="if hours:\n    return 2 * hours")
    editor = await begin("stock", [step(edit), DONE], FULL)
    await editor.run("Go.")
    status, content = result(editor)
    assert status == "ok"
    assert content == (
        "Edited tariff.py.\n"
        "Note: old was found apart from its indentation, which was applied to the new text too. It replaced:\n"
        "     3\t    return hours * 3\n"
        "Now in tariff.py:\n"
        "     1\tdef price(hours):\n"
        '     2\t    """Two for each hour begun."""\n'
        "     3\t    if hours:\n"
        "     4\t        return 2 * hours"
    )
    assert editor.disk("tariff.py").endswith("    if hours:\n        return 2 * hours\n")


# --- lines ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "after_line", "new", "after"),
    [
        ("a\nb\n", 0, "x", "x\na\nb\n"),
        ("a\nb\n", 1, "x\ny\n", "a\nx\ny\nb\n"),
        ("a\r\nb", 2, "x\ny", "a\r\nb\r\nx\r\ny"),
        ("a\r\nb\r\n", 2, "x", "a\r\nb\r\nx\r\n"),
        ("", 0, "x", "x"),
        ("a\n", 1, "\n", "a\n\n"),
    ],
)
async def test_lines_are_inserted_with_the_line_ends_of_the_file(
    text, after_line, new, after, begin, workspace
):
    (workspace / "a.txt").write_bytes(text.encode())
    insert = call("insert_lines", path="a.txt", after_line=after_line, text=new)
    editor = await begin("stock", [step(insert), DONE], FULL)
    await editor.run("Go.")
    status, content = result(editor)
    assert status == "ok"
    shown = [f"{number:>6}\t{line}" for number, line in enumerate(after.splitlines(), 1)]
    assert content == "\n".join(["Edited a.txt.", "Now in a.txt:", *shown])
    assert (workspace / "a.txt").read_bytes().decode() == after


@pytest.mark.parametrize("read", [False, True])
async def test_lines_count_as_the_calls_before_in_the_step_leave_them(read, begin, workspace):
    (workspace / "a.txt").write_text("a\nb\n")
    inserts = [
        call("insert_lines", path="a.txt", after_line=at, text=text) for at, text in ((1, "x"), (2, "y"))
    ]
    turns = [step(call("read_file", path="a.txt"))] * read
    editor = await begin("stock", [*turns, step(*inserts), DONE], FULL)
    await editor.run("Go.")
    assert (workspace / "a.txt").read_text() == "a\nx\ny\nb\n"


async def test_a_line_beyond_the_end_is_refused(begin):
    editor = await begin(
        "stock", [step(call("insert_lines", path="tariff.py", after_line=4, text="x")), DONE], FULL
    )
    await editor.run("Go.")
    assert result(editor) == ("error", "tariff.py: after_line 4 is after the last line, which is 3")


# --- patches -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", KINDS)
async def test_a_patch_is_one_question_and_one_undo(profile, begin):
    editor = await begin(profile, [step(APPLY), DONE])
    can_edit = bool(editor.profile.capabilities.get("workspace", {}).get("applyEdit"))
    if can_edit:
        editor.open("tariff.py")
    outcome = await run_allowed(editor)
    assert outcome["outcome"] == "completed"
    (asked,) = editor.events_of("approval.requested")
    assert asked["data"]["title"] == "Change 3 files (+3 −2)"
    assert asked["data"]["detail"].startswith(
        "Edit tariff.py (+1 −1)\nCreate notes/new.txt (+1)\nRename README.md to READ.md\nEdit READ.md (+1 −1)\n\n"
        "--- tariff.py\n+++ tariff.py\n"
    )
    assert "Allow for this session" not in asked["data"]["options"]
    assert result(editor)[0] == "ok", result(editor)
    editor.save_all()
    assert texts(editor) == AFTER
    applied = [event["data"] for event in editor.events_of("edit.applied")]
    assert {data["callId"] for data in applied} == {"patch"}
    assert [(data["operation"], data["path"], data["where"]) for data in applied] == [
        ("edit", "tariff.py", "buffer" if can_edit else "disk"),
        ("create", "notes/new.txt", "disk"),
        ("rename", "README.md", "disk"),
        ("edit", "READ.md", "disk"),
    ]
    await editor.command("outrider.undo", {"sessionId": editor.session_id})
    editor.save_all()
    assert texts(editor) == BEFORE


async def test_a_rejected_patch_changes_nothing(begin):
    editor = await begin("stock", [step(APPLY), DONE], answers=["Reject"])
    await editor.run("Go.")
    assert result(editor)[0] == "denied"
    assert len(editor.events_of("edit.proposed")) == len(editor.events_of("edit.rejected")) == 4
    assert texts(editor) == BEFORE


PROGRAM = (
    "diff --git a/r.sh b/r.sh\nnew file mode 100755\n--- /dev/null\n+++ b/r.sh\n@@ -0,0 +1 @@\n+#!/bin/sh\n"
)


async def test_a_patch_makes_a_program_and_the_question_says_so(begin, workspace):
    editor = await begin("stock", [step(call("apply_patch", patch=PROGRAM)), DONE])
    await run_allowed(editor)
    (asked,) = editor.events_of("approval.requested")
    assert asked["data"]["title"] == "Create r.sh (+1, mode 755)"
    assert result(editor) == ("ok", "Created r.sh with the mode 755.")
    assert (workspace / "r.sh").stat().st_mode & 0o777 == 0o755
    await editor.command("outrider.undo", {})
    assert not (workspace / "r.sh").exists()
    await editor.command("outrider.redo", {})
    assert (workspace / "r.sh").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("mode", ["120000", "160000", "104755"])
async def test_a_patch_makes_nothing_but_files_and_programs(mode, begin, workspace):
    editor = await begin(
        "stock", [step(call("apply_patch", patch=PROGRAM.replace("100755", mode))), DONE], FULL
    )
    await editor.run("Go.")
    status, content = result(editor)
    assert status == "error"
    assert "line 2 of the patch" in content
    assert not (workspace / "r.sh").exists()


ENVELOPE = "*** Begin Patch\n*** Add File: new.txt\n+one\r\n+\r\n+three\n*** End Patch\n"
UNIFIED = "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,3 @@\n+one\r\n+\r\n+three\n"


@pytest.mark.parametrize(
    ("patch", "made"),
    [
        (ENVELOPE, b"one\r\n\r\nthree\n"),
        (UNIFIED, b"one\r\n\r\nthree\n"),
        (ENVELOPE.replace("\r", "").replace("\n", "\r\n"), b"one\n\nthree\n"),
    ],
    ids=["envelope", "unified", "a patch with such line ends itself"],
)
async def test_a_new_file_of_a_patch_has_the_line_ends_of_its_lines(patch, made, begin, workspace):
    editor = await begin("stock", [step(call("apply_patch", patch=patch)), DONE], FULL)
    await editor.run("Go.")
    assert (workspace / "new.txt").read_bytes() == made, result(editor)


async def test_a_file_that_is_moved_to_where_it_is_is_just_edited(begin):
    patch = PATCH.replace("READ.md", "./README.md")
    editor = await begin("stock", [step(call("apply_patch", patch=patch)), DONE], FULL)
    await editor.run("Go.")
    assert result(editor)[0] == "ok", result(editor)
    assert texts(editor)["README.md"] == AFTER["READ.md"]


@pytest.mark.parametrize(
    ("raw", "content", "after"),
    [
        (b"a\r\nb\nc\nd\ne\n", "a\nb\nc\nX\ne\n", b"a\r\nb\nc\nX\ne\n"),
        (b"a\r\nb\r\nc\nd\r\n", "new\na\nb\nc\nd\n", b"new\r\na\r\nb\r\nc\nd\r\n"),
        (b"a\r\nb\r\n", "a\nX\n", b"a\r\nX\r\n"),
        (b"\xef\xbb\xbfa\r\nb\nc\n", "a\nb\nX", b"\xef\xbb\xbfa\r\nb\nX"),
        (b"a\r\nb\nc\nd", "a\nb\nc\nd\n", b"a\r\nb\nc\nd\n"),
        (b"a\r\nb\n", "a\r\nb\r\n", b"a\r\nb\r\n"),
        (b"a\rb\r", "a\nX\n", b"a\rX\r"),
    ],
)
async def test_a_whole_text_leaves_the_line_ends_of_the_lines_that_stay(
    raw, content, after, begin, workspace
):
    (workspace / "m.txt").write_bytes(raw)
    write = call("write_file", path="m.txt", content=content, overwrite=True)
    editor = await begin("stock", [step(call("read_file", path="m.txt")), step(write), DONE], FULL)
    await editor.run("Go.")
    assert (workspace / "m.txt").read_bytes() == after, result(editor, 1)
    await editor.command("outrider.undo", {})
    assert (workspace / "m.txt").read_bytes() == raw


async def test_what_does_not_fit_refuses_the_whole_with_all_reasons(begin):
    patch = (
        "*** Begin Patch\n*** Update File: tariff.py\n@@\n-    return hours * 4\n+    return 1\n"
        "*** Add File: README.md\n+x\n*** Delete File: gone.py\n*** Update File: tests/__init__.py\n"
        "*** Move to: README.md\n*** Add File: fine.py\n+x\n*** End Patch"
    )
    editor = await begin("stock", [step(call("apply_patch", patch=patch)), DONE])
    await editor.run("Go.")
    status, content = result(editor)
    assert status == "error"
    assert content.split("\n")[0] == "The patch does not fit, and nothing was changed:"
    for reason in (
        "tariff.py: the hunk was not found. The nearest lines now:\n     3\t    return hours * 3\n",
        "README.md already exists, so it cannot be added",
        "gone.py does not exist",
        "README.md is in the patch twice",
    ):
        assert reason in content, content
    assert editor.questions == []
    assert not (editor.root / "fine.py").exists()


async def test_a_patch_that_cannot_be_read_says_where(begin):
    editor = await begin("stock", [step(call("apply_patch", patch="*** Begin Patch\nnonsense")), DONE], FULL)
    await editor.run("Go.")
    status, content = result(editor)
    assert status == "error"
    assert content == (
        "The patch is invalid: line 2 of the patch: a file must begin here, with '*** Add File:', "
        "'*** Update File:' or '*** Delete File:', not with 'nonsense'. Nothing was changed."
    )


async def test_a_patch_for_outside_is_asked_for_where_edits_are_allowed(begin, workspace):
    outside = workspace.parent / "outside.txt"
    outside.write_text("a\n")
    patch = (
        f"--- {outside}\n+++ {outside}\n@@ -1 +1 @@\n-a\n+b\n"
        "--- tariff.py\n+++ tariff.py\n@@ -3 +3 @@\n-    return hours * 3\n+    return 1\n"
    )
    editor = await begin("stock", [step(call("apply_patch", patch=patch)), DONE], AUTO, answers=["Reject"])
    await editor.run("Go.")
    (question,) = editor.questions
    assert question.message.startswith("Change 2 files (+2 −2) outside the workspace")
    assert outside.read_text() == "a\n"
    assert texts(editor) == BEFORE


async def test_hunks_for_one_file_may_stand_in_several_parts(begin):
    patch = (
        "*** Begin Patch\n*** Update File: tariff.py\n@@\n-def price(hours):\n+def cost(hours):\n"
        "*** Update File: tariff.py\n@@\n-    return hours * 3\n+    return hours * 2\n*** End Patch"
    )
    editor = await begin("stock", [step(call("apply_patch", patch=patch)), DONE], FULL)
    await editor.run("Go.")
    assert result(editor)[1].startswith("Edited tariff.py.\nNow in tariff.py:\n     1\tdef cost(hours):\n")
    assert texts(editor)["tariff.py"] == TARIFF.replace("price", "cost").replace("* 3", "* 2")


# --- all or nothing ------------------------------------------------------------------------------------------

MIXED = call(
    "apply_patch",
    patch=(
        "*** Begin Patch\n*** Update File: README.md\n@@\n-# Parking\n+# Tariffs\n*** Add File: notes/new.txt\n+new\n"
        "*** Update File: tariff.py\n@@\n-    return hours * 3\n+    return hours * 2\n*** End Patch\n"
    ),
    called="patch",
)


@pytest.mark.parametrize("profile", QUICK)
async def test_promise_4_a_hostile_editor_gets_all_of_a_patch_or_nothing(profile, begin):
    editor = await begin(profile, [step(MIXED), DONE], FULL)
    editor.open("tariff.py")
    assert (await editor.run("Go.", seconds=30))["outcome"] == "completed"
    editor.settle()
    status, content = result(editor)
    is_there = {
        "hours * 2" in editor.text("tariff.py"),
        editor.disk("README.md").startswith("# Tariffs"),
        (editor.root / "notes/new.txt").exists(),
    }
    assert is_there == {status == "ok"}, content
    if status != "ok":
        assert "Nothing was changed." in content
        assert "Reverted: README.md, notes/new.txt." in content or content.startswith("Refused: ")
    typed = editor.profile.types_before_edit
    if typed is not None:
        assert editor.text("tariff.py").startswith(typed)


def while_an_edit_is_on_its_way(editor, happens):
    """Have something happen when the editor is asked to apply an edit."""
    apply = editor._apply_edit

    def first(*arguments):
        happens()
        apply(*arguments)

    editor._apply_edit = first


@pytest.mark.parametrize(
    ("mine", "left"),
    [
        (
            "# Mine\n\nCounts what parking costs.\n",
            "Edited README.md. (someone changed the same place since)",
        ),
        ("# Tariffs\n\nMine, all of it.\n", None),
        (None, "Edited README.md. (README.md does not exist)"),
    ],
)
async def test_what_somebody_wrote_meanwhile_is_kept_when_a_patch_is_taken_back(mine, left, begin):
    editor = await begin("claims-edits", [step(MIXED), DONE], FULL)
    editor.open("tariff.py")
    readme = editor.root / "README.md"
    while_an_edit_is_on_its_way(editor, lambda: readme.unlink() if mine is None else readme.write_text(mine))
    await editor.run("Go.", seconds=30)
    status, content = result(editor)
    assert status == "error"
    if left is not None:
        assert f"\nStill in place, because it could not be reverted: {left}" in content
        assert "\nReverted: notes/new.txt." in content
        assert "Nothing was changed" not in content
        assert (readme.read_text() if readme.exists() else None) == mine
    else:
        assert "Nothing was changed." in content
        assert readme.read_text() == "# Parking\n\nMine, all of it.\n"
    assert not (editor.root / "notes/new.txt").exists()


async def test_a_file_that_is_in_the_way_takes_everything_back(begin, workspace):
    """Each kind of change is taken back: an edit, a rename, a deletion, a new file."""
    patch = (
        "*** Begin Patch\n*** Update File: README.md\n*** Move to: moved.md\n@@\n-# Parking\n+# Tariffs\n"
        "*** Delete File: tests/test_tariff.py\n*** Add File: made.txt\n+x\n"
        "*** Update File: tariff.py\n@@\n-    return hours * 3\n+    return hours * 2\n*** End Patch\n"
    )
    before = {path.name: path.read_bytes() for path in workspace.rglob("*") if path.is_file()}
    editor = await begin("refuses-edits", [step(call("apply_patch", patch=patch)), DONE], FULL)
    editor.open("tariff.py")
    await editor.run("Go.", seconds=30)
    status, content = result(editor)
    assert status == "error"
    assert "\nReverted: README.md, moved.md, tests/test_tariff.py, made.txt.\nNothing was changed." in content
    after = {path.name: path.read_bytes() for path in workspace.rglob("*") if path.is_file()}
    assert {name: after.get(name) for name in before} == before
    assert not {"moved.md", "made.txt"} & set(after)
    with pytest.raises(RpcError) as refused:
        await editor.command("outrider.redo", {"sessionId": editor.session_id})
    assert refused.value.data["reason"] == "nothing_to_undo"


async def test_a_text_that_changes_while_a_patch_is_applied_is_worked_out_again(begin):
    """The first file is in place already when the second one turns out to be another: all is made again."""
    editor = await begin("types-before-edit", [step(MIXED), DONE], FULL)
    editor.open("tariff.py")
    await editor.run("Go.", seconds=30)
    assert result(editor)[0] == "ok"
    assert editor.text("tariff.py") == "# typed\n" + TARIFF.replace("* 3", "* 2")
    assert types(editor).count("edit.proposed") == 6
    await editor.command("outrider.undo", {"sessionId": editor.session_id})
    editor.save_all()
    assert texts(editor) == {"README.md": README, "tariff.py": "# typed\n" + TARIFF}


# --- files that begin with a byte order mark -----------------------------------------------------------------


MARKED = {
    "insert": call("insert_lines", path="marked.txt", after_line=0, text="top", called="it"),
    "edit": call("edit_file", path="marked.txt", old="a\n", new="top\na\n", called="it"),
    "edit with the mark": call("edit_file", path="marked.txt", old="\ufeffa", new="top\na", called="it"),
    "patch": call(
        "apply_patch",
        patch="*** Begin Patch\n*** Update File: marked.txt\n@@\n+top\n a\n*** End Patch\n",
        called="it",
    ),
    "diff": call(
        "apply_patch",
        patch="--- a/marked.txt\n+++ b/marked.txt\n@@ -1,2 +1,3 @@\n+top\n a\n b\n",
        called="it",
    ),
    "diff with the mark": call(
        "apply_patch",
        patch="--- a/marked.txt\n+++ b/marked.txt\n@@ -1,2 +1,3 @@\n-\ufeffa\n+\ufefftop\n+a\n b\n",
        called="it",
    ),
}


@pytest.mark.parametrize("is_open", [False, True], ids=["closed", "open"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("form", MARKED)
async def test_the_mark_stays_first_and_is_not_shown(form, encoding, is_open, begin, workspace):
    if is_open and encoding != "utf-8":
        pytest.skip("the editor would show another text")
    path = workspace / "marked.txt"
    before = "\ufeffa\nb\n".encode(encoding)
    path.write_bytes(before)
    read = call("read_file", path="marked.txt", called="read")
    editor = await begin("stock", [step(read), step(MARKED[form]), DONE], FULL)
    if is_open:
        editor.open("marked.txt")
    await editor.run("Go.")
    assert result(editor) == ("ok", "     1\ta\n     2\tb")
    assert result(editor, 1)[0] == "ok", result(editor, 1)
    if is_open:
        editor.save("marked.txt")
    assert path.read_bytes() == "\ufefftop\na\nb\n".encode(encoding)
    await editor.command("outrider.undo", {})
    if is_open:
        editor.save("marked.txt")
    assert path.read_bytes() == before
