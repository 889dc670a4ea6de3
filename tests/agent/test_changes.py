"""What a session changed: listed by hunk, taken back by hunk, and as a patch for git."""

import json
import subprocess

import pytest
from scripting import DONE, KINDS, call, step

from outrider.testing.scenario import scripted, start_session

FULL = {"permissionMode": "full"}
TEN = "".join(f"line {number}\n" for number in range(1, 11))
THREE = [
    call("edit_file", path="ten.txt", edits=[
        {"old": "line 2\n", "new": "line two\n"}, {"old": "line 5\n", "new": ""}, {"old": "line 9\n", "new": "line nine\n"},
    ]),
]  # fmt: skip


def hunks(listed):
    return {
        hunk["id"].partition("#")[2]: (hunk["line"], hunk["state"])
        for change in listed["changes"]
        for hunk in change["hunks"]
    }


@pytest.fixture
def ten(workspace):
    (workspace / "ten.txt").write_text(TEN)
    return workspace / "ten.txt"


@pytest.mark.parametrize(
    ("profile", "is_open"), [*((one, True) for one in KINDS), *((one, False) for one in KINDS)]
)
async def test_hunks_come_and_go_one_by_one(profile, is_open, begin, ten):
    editor = await begin(profile, [step(*THREE), DONE], FULL)
    is_open = is_open and bool(editor.profile.capabilities.get("workspace", {}).get("applyEdit"))
    if is_open:
        editor.open("ten.txt")

    def text():
        return editor.text("ten.txt") if is_open else editor.disk("ten.txt")

    await editor.run("Go.")
    changed = text()
    listed = await editor.command("outrider.changes", {})
    (change,) = listed["changes"]
    assert (change["path"], change["operation"], change["undoable"]) == ("ten.txt", "edit", True)
    assert hunks(listed) == {"1": (2, "applied"), "2": (5, "applied"), "3": (8, "applied")}
    first, second, third = (hunk["id"] for hunk in change["hunks"])
    for hunk in (second, third, first):
        undone = await editor.command("outrider.undo", {"scope": "hunk", "id": hunk})
        assert undone["undone"] == [{"path": "ten.txt", "hunks": 1}]
    assert text() == TEN
    assert {state for _, state in hunks(await editor.command("outrider.changes", {})).values()} == {"undone"}
    await editor.command("outrider.redo", {"scope": "hunk", "id": third})
    assert hunks(await editor.command("outrider.changes", {}))["3"] == (9, "applied")
    await editor.command("outrider.redo", {})
    assert text() == changed


async def test_the_undo_of_a_turn_does_the_rest(begin, ten):
    editor = await begin("stock", [step(*THREE), DONE], FULL)
    await editor.run("Go.")
    (change,) = (await editor.command("outrider.changes", {}))["changes"]
    await editor.command("outrider.undo", {"scope": "hunk", "id": change["hunks"][1]["id"]})
    assert (await editor.command("outrider.undo", {}))["undone"] == [{"path": "ten.txt", "hunks": 2}]
    assert ten.read_text() == TEN


async def test_one_redo_brings_back_a_session_that_was_taken_back_and_nothing_that_was_undone_before(
    begin, ten
):
    one, two, three = (
        call("edit_file", path="ten.txt", old=f"line {n}\n", new=f"line {n}, changed\n") for n in (2, 5, 9)
    )
    editor = await begin("stock", [step(one), DONE, step(two), DONE, step(three), DONE], FULL)
    await editor.run("One.")
    await editor.run("Two.", sessionId=editor.session_id)
    without_the_last = ten.read_text()
    await editor.run("Three.", sessionId=editor.session_id)
    everything = ten.read_text()
    await editor.command("outrider.undo", {})
    assert ten.read_text() == without_the_last
    await editor.command("outrider.undo", {"scope": "session"})
    assert ten.read_text() == TEN
    await editor.command("outrider.redo", {})
    assert ten.read_text() == without_the_last
    await editor.command("outrider.redo", {})
    assert ten.read_text() == everything
    assert [(one["data"]["scope"], one["data"]["redo"]) for one in editor.events_of("undo.requested")] == [
        ("turn", False),
        ("session", False),
        ("session", True),
        ("turn", True),
    ]


async def test_an_id_says_by_itself_how_much_it_names(begin, ten):
    editor = await begin(
        "stock", [step(*THREE), step(call("write_file", path="b.txt", content="b\n")), DONE], FULL
    )
    await editor.run("Go.")
    ten_changed, made = (await editor.command("outrider.changes", {}))["changes"]
    one_hunk = {"id": ten_changed["hunks"][1]["id"]}
    for command in ("outrider.undo", "outrider.redo"):
        assert (await editor.command(command, one_hunk))["undone"] == [{"path": "ten.txt", "hunks": 1}]
    for named in (ten_changed["changeId"], ten_changed["callId"]):
        for command in ("outrider.undo", "outrider.redo"):
            assert (await editor.command(command, {"id": named}))["undone"] == [
                {"path": "ten.txt", "hunks": 3}
            ]
    undone = (await editor.command("outrider.undo", {"id": made["turnId"]}))["undone"]
    assert {row["path"] for row in undone} == {"ten.txt", "b.txt"}
    assert [event["data"]["scope"] for event in editor.events_of("undo.requested")] == [
        *["hunk"] * 4,
        *["step"] * 2,
        "turn",
    ]


WITH_MARK = [
    b"\xef\xbb\xbfone\ntwo\nthree\n",
    b"one\r\ntwo\r\nthree\r\n",
    b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n",
]
SHOW_IT = ["vscode", "eglot", "helix-25.07", "neovim-0.11", "vim-lsp", "stock"]


@pytest.mark.parametrize("profile", SHOW_IT)
@pytest.mark.parametrize("raw", WITH_MARK)
async def test_what_was_changed_open_comes_back_closed_to_the_byte(profile, raw, begin, workspace):
    (workspace / "a.txt").write_bytes(raw)
    edit = call("edit_file", path="a.txt", old="two", new="2")
    read, delete = call("read_file", path="a.txt"), call("delete_file", path="a.txt")
    editor = await begin(profile, [step(edit), DONE, step(read), step(delete), DONE], FULL)
    editor.open("a.txt")
    await editor.run("Go.")
    editor.save("a.txt")
    editor.close("a.txt")
    changed = (workspace / "a.txt").read_bytes()
    await editor.run("Go on.", sessionId=editor.session_id)
    assert not (workspace / "a.txt").exists()

    for expected in (changed, raw):
        undone = await editor.command("outrider.undo", {})
        assert (undone["conflicts"], undone["notUndoable"]) == ([], [])
        assert (workspace / "a.txt").read_bytes() == expected
    assert changed == raw.replace(b"two", b"2")
    await editor.command("outrider.redo", {})
    assert (workspace / "a.txt").read_bytes() == changed


@pytest.mark.parametrize("profile", SHOW_IT)
@pytest.mark.parametrize("raw", WITH_MARK)
async def test_what_was_changed_closed_comes_back_open_to_the_byte(profile, raw, begin, workspace):
    (workspace / "a.txt").write_bytes(raw)
    editor = await begin(profile, [step(call("edit_file", path="a.txt", old="two", new="2")), DONE], FULL)
    await editor.run("Go.")
    changed = (workspace / "a.txt").read_bytes()
    editor.open("a.txt")

    undone = await editor.command("outrider.undo", {})

    assert (undone["conflicts"], undone["notUndoable"]) == ([], [])
    editor.save("a.txt")
    editor.close("a.txt")
    assert (workspace / "a.txt").read_bytes() == raw
    await editor.command("outrider.redo", {})
    assert (workspace / "a.txt").read_bytes() == changed == raw.replace(b"two", b"2")


@pytest.mark.parametrize("raw", WITH_MARK)
async def test_line_ends_and_mark_that_a_command_took_away_come_back(raw, begin, workspace):
    (workspace / "a.txt").write_bytes(raw)
    command = call("run_command", command=r"printf 'one\ntwo\nthree\n' > a.txt")
    editor = await begin("stock", [step(call("read_file", path="a.txt")), step(command), DONE], FULL)
    await editor.run("Go.")
    assert (workspace / "a.txt").read_bytes() == b"one\ntwo\nthree\n"

    await editor.command("outrider.undo", {})

    assert (workspace / "a.txt").read_bytes() == raw


async def test_lines_are_numbered_as_they_are_now(begin, ten):
    editor = await begin("stock", [step(*THREE), DONE], FULL)
    editor.open("ten.txt")
    await editor.run("Go.")
    editor.type("ten.txt", "mine\nmine\n", at=(0, 0))
    editor.type("ten.txt", "my line", replace="line nine")
    assert hunks(await editor.command("outrider.changes", {})) == {
        "1": (4, "applied"),
        "2": (7, "applied"),
        "3": (10, "altered"),
    }


async def test_undone_hunks_outlive_the_server(workspace, ten):
    model = scripted(workspace, [step(*THREE), DONE])
    ids = {"testing": {"ids": None}}
    async with start_session("stock", workspace, model, {**FULL, **ids}) as editor:
        await editor.run("Go.")
        (change,) = (await editor.command("outrider.changes", {}))["changes"]
        changed = ten.read_text()
        await editor.command("outrider.undo", {"scope": "hunk", "id": change["hunks"][1]["id"]})
    async with start_session("stock", workspace, model, ids) as editor:
        listed = await editor.command("outrider.changes", {})
        assert [state for _, state in hunks(listed).values()] == ["applied", "undone", "applied"]
        await editor.command("outrider.undo", {})
        assert ten.read_text() == TEN
        await editor.command("outrider.redo", {})
        assert ten.read_text() == changed


async def test_the_undo_of_the_editor_counts(begin, ten):
    editor = await begin("stock", [step(*THREE), DONE], FULL)
    editor.open("ten.txt")
    await editor.run("Go.")
    assert editor.undo("ten.txt")
    editor.settle()
    assert {state for _, state in hunks(await editor.command("outrider.changes", {})).values()} == {"undone"}
    undone = await editor.command("outrider.undo", {})
    assert (undone["undone"], undone["conflicts"], undone["notUndoable"]) == ([], [], [])
    assert editor.text("ten.txt") == TEN


NAMES = ["a b.txt", 'quo"te.txt', "ünï — code.txt", "back\\slash.txt", "deep/er/x.txt"]


async def test_the_patch_is_what_git_applies(begin, workspace, tmp_path):
    (workspace / "crlf.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    (workspace / "gone file.txt").write_bytes(b"no end")
    (workspace / "empty.txt").write_bytes(b"")
    (workspace / "moved é.txt").write_text(TEN)
    (workspace / "emptied.txt").write_text("x\n")
    (workspace / "run.sh").write_text("#!/bin/sh\n")
    (workspace / "run.sh").chmod(0o755)
    calls = [call("write_file", path=name, content=f"{name}\nno end") for name in NAMES]
    calls += [
        call("edit_file", path="crlf.txt", old="two", new="2"),
        call("delete_file", path="gone file.txt"),
        call("delete_file", path="run.sh"),
        call("delete_file", path="empty.txt"),
        call("write_file", path="new and empty", content=""),
        call("read_file", path="emptied.txt"),
        call("write_file", path="emptied.txt", content="", overwrite=True),
        call("edit_file", path="moved é.txt", old="line 5", new="line v"),
        call("rename_file", **{"from": "moved é.txt", "to": "to there.txt"}),
        call("edit_file", path="to there.txt", old="line 9\n", new=""),
        call("edit_file", path="tariff.py", old="hours * 3", new="hours * 2"),
    ]
    before, first = files(workspace), tmp_path / "first"
    copy(workspace, first)
    editor = await begin("stock", [step(*calls), DONE], FULL)
    await editor.run("Go.")
    assert {one["data"]["status"] for one in editor.events_of("tool.finished")} == {"ok"}
    after = files(workspace)
    patch = (await editor.command("outrider.changes", {"format": "patch"}))["patch"]
    git(first, "apply", "--check", "-", data=patch)
    git(first, "apply", "-", data=patch)
    assert files(first) == after
    git(first, "apply", "-R", "-", data=patch)
    assert files(first) == before


BYTES = {
    "plain": TEN.encode(),
    "mark": b"\xef\xbb\xbf" + TEN.encode(),
    "crlf": TEN.replace("\n", "\r\n").encode(),
    "crlf and mark": b"\xef\xbb\xbf" + TEN.replace("\n", "\r\n").encode(),
}
WIDE = {
    "utf-16-le": b"\xff\xfe" + TEN.encode("utf-16-le"),
    "utf-16-be, crlf": b"\xfe\xff" + TEN.replace("\n", "\r\n").encode("utf-16-be"),
}


@pytest.mark.parametrize("content", BYTES)
@pytest.mark.parametrize("when", ["before", "between", "after", "only then"])
@pytest.mark.parametrize("profile", ["vscode", "eglot", "neovim-0.11"])
async def test_the_patch_of_an_open_file_is_of_the_bytes_of_its_file(
    profile, when, content, begin, workspace, tmp_path
):
    (workspace / "ten.txt").write_bytes(BYTES[content])
    before, first = files(workspace), tmp_path / "first"
    copy(workspace, first)
    second = call("edit_file", path="ten.txt", old="line 4", new="line four")
    editor = await begin(profile, [step(*THREE), DONE, step(second), DONE], FULL)
    if when in {"before", "only then"}:
        editor.open("ten.txt")
    await editor.run("Go.")
    if when == "only then":
        editor.save("ten.txt")
        editor.close("ten.txt")
    elif when == "between":
        editor.open("ten.txt")
    await editor.run("Go on.", sessionId=editor.session_id)
    if when == "after":
        editor.open("ten.txt")
    patch = (await editor.command("outrider.changes", {"format": "patch"}))["patch"]
    if when in {"before", "between"}:
        editor.save("ten.txt")
    after = files(workspace)
    assert b"line four" in after["ten.txt"]
    git(first, "apply", "-", data=patch)
    assert files(first) == after
    git(first, "apply", "-R", "-", data=patch)
    assert files(first) == before


@pytest.mark.parametrize("content", WIDE)
@pytest.mark.parametrize("is_open", [False, True])
async def test_the_patch_of_a_file_in_utf_16_is_binary(is_open, content, begin, workspace, tmp_path):
    (workspace / "ten.txt").write_bytes(WIDE[content])
    first = tmp_path / "first"
    copy(workspace, first)
    editor = await begin("stock", [step(*THREE), DONE], FULL)
    await editor.run("Go.")
    after = files(workspace)
    if is_open:
        shown = after["ten.txt"].decode("utf-16")  # without its mark, as in an editor
        uri = (workspace / "ten.txt").as_uri()
        document = {"uri": uri, "languageId": "plaintext", "version": 1, "text": shown}
        editor.notify("textDocument/didOpen", {"textDocument": document})
    patch = (await editor.command("outrider.changes", {"format": "patch"}))["patch"]
    assert "GIT binary patch\nliteral " in patch
    git(first, "apply", "-", data=patch)
    assert (first / "ten.txt").read_bytes() == after["ten.txt"] != WIDE[content]
    git(first, "apply", "-R", "-", data=patch)
    assert (first / "ten.txt").read_bytes() == WIDE[content]


async def test_the_patch_names_the_mode_of_a_program_and_no_file_that_came_and_went(begin, workspace):
    (workspace / "run.sh").write_text("#!/bin/sh\n")
    (workspace / "run.sh").chmod(0o755)
    editor = await begin(
        "stock",
        [
            step(
                call("delete_file", path="run.sh"),
                call("write_file", path="short.txt", content="x\n"),
                call("delete_file", path="short.txt"),
            ),
            DONE,
        ],
        FULL,
    )
    await editor.run("Go.")
    patch = (await editor.command("outrider.changes", {"format": "patch"}))["patch"]
    assert "deleted file mode 100755\n" in patch
    assert "short.txt" not in patch


def files(root):
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and ".git" not in path.parts
    }


def copy(root, to):
    for name, content in files(root).items():
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        (to / name).write_bytes(content)
        (to / name).chmod((root / name).stat().st_mode)


def git(folder, *words, data):
    done = subprocess.run(
        ["git", "-c", "core.autocrlf=false", *words],
        cwd=folder,
        input=data.encode(),
        capture_output=True,
        env={"PATH": "/usr/bin:/bin", "GIT_CEILING_DIRECTORIES": str(folder.parent), "HOME": str(folder)},
        check=False,
    )
    assert done.returncode == 0, (done.stderr.decode(), data)


# --- conflicts -----------------------------------------------------------------------------------------------


async def conflicting(begin, *answers, profile="stock"):
    editor = await begin(profile, [step(*THREE), DONE], FULL, answers=list(answers))
    editor.open("ten.txt")
    await editor.run("Go.")
    editor.type("ten.txt", "my own line", replace="line nine")
    return editor, await editor.command("outrider.undo", {})


async def test_what_somebody_changed_since_can_be_kept(begin, ten):
    editor, undone = await conflicting(begin, "Keep mine")
    assert editor.text("ten.txt") == TEN.replace("line 9", "my own line")
    assert undone["undone"] == [{"path": "ten.txt", "hunks": 2}]
    assert [(one["line"], one["id"][-2:]) for one in undone["conflicts"]] == [(9, "#3")]
    assert [one["data"]["choice"] for one in editor.events_of("undo.asked")] == ["Keep mine"]


async def test_the_undo_can_be_taken(begin, ten):
    editor, undone = await conflicting(begin, "Take the undo")
    assert editor.text("ten.txt") == TEN
    assert (undone["undone"], undone["conflicts"]) == ([{"path": "ten.txt", "hunks": 3}], [])
    await editor.command("outrider.redo", {})
    assert editor.text("ten.txt").count("my own line") == 1


async def test_the_undo_taken_over_a_whole_file_brings_its_lines_back(begin, ten):
    edit = call("edit_file", path="ten.txt", old="line 5", new="line five")
    editor = await begin("stock", [step(edit), DONE], FULL, answers=["Take the undo"])
    await editor.run("Go.")
    indented = "".join(f"    {line}" for line in editor.disk("ten.txt").splitlines(keepends=True))
    ten.write_text(indented)
    undone = await editor.command("outrider.undo", {})
    assert (ten.read_text(), undone["conflicts"]) == (TEN, [])
    (asked,) = editor.questions
    assert asked.message.endswith(f"As it is now:\n{indented}With the undo:\n{TEN}".rstrip("\n"))


async def test_what_the_undo_was_taken_over_is_asked_about_once(begin, ten):
    editor = await begin("stock", [step(*THREE), DONE], FULL, answers=lambda _: "Take the undo")
    await editor.run("Go.")
    changed = editor.disk("ten.txt")
    indented = "".join(f"    {line}" for line in changed.splitlines(keepends=True))
    ten.write_text(indented)
    await editor.command("outrider.undo", {})
    assert ten.read_text() == TEN
    assert len(editor.questions) == 1
    await editor.command("outrider.redo", {})
    assert (ten.read_text(), len(editor.questions)) == (indented, 1)


async def test_a_file_that_was_made_anew_does_not_get_its_old_lines(begin, ten):
    edit = call("edit_file", path="ten.txt", old="line 9", new="line nine")
    delete = call("delete_file", path="ten.txt", called="delete")
    editor = await begin("stock", [step(edit), step(delete), DONE], FULL, answers=lambda _: "Keep mine")
    await editor.run("Go.")
    ten.write_text("anew\n")
    undone = await editor.command("outrider.undo", {})
    assert (ten.read_text(), undone["undone"]) == ("anew\n", [])
    assert {one["reason"] for one in undone["conflicts"]} == {
        "the file exists again",
        "the file was created again since",
    }


async def test_a_line_that_was_taken_out_does_not_come_into_a_file_that_was_made_anew(begin, ten):
    edit, delete = (
        call("edit_file", path="ten.txt", old="line 1\n", new=""),
        call("delete_file", path="ten.txt"),
    )
    editor = await begin("stock", [step(edit), step(delete), DONE], FULL, answers=lambda _: "Keep mine")
    await editor.run("Go.")
    ten.write_text("anew\n")
    undone = await editor.command("outrider.undo", {})
    assert (ten.read_text(), undone["undone"]) == ("anew\n", [])
    assert undone["conflicts"][-1]["reason"] == "the file was created again since"
    ten.unlink()
    assert (await editor.command("outrider.undo", {}))["conflicts"] == []
    assert ten.read_text() == TEN


async def test_a_line_that_was_taken_out_does_not_come_into_what_somebody_wrote_instead(begin, ten):
    edit = call("edit_file", path="ten.txt", old="line 5\n", new="")
    editor = await begin("stock", [step(edit), DONE], FULL, answers=["Keep mine"])
    await editor.run("Go.")
    ten.write_text("anew\n")
    undone = await editor.command("outrider.undo", {})
    assert (ten.read_text(), undone["undone"]) == ("anew\n", [])
    assert [one["reason"] for one in undone["conflicts"]] == ["the same place was changed since"]


async def test_a_line_within_what_is_undone_stays(begin, ten):
    edit = call("edit_file", path="ten.txt", old="line 3\nline 4\n", new="a\nb\nc\nd\n")
    editor = await begin("stock", [step(edit), DONE], FULL, answers=["Take the undo"])
    editor.open("ten.txt")
    await editor.run("Go.")
    editor.type("ten.txt", "mine\n", at=(4, 0))
    editor.type("ten.txt", "D\nline 5 of mine", replace="d\nline 5")
    await editor.command("outrider.undo", {})
    assert editor.text("ten.txt") == TEN.replace("line 5", "mine\nline 5")


async def typing_while_asked(begin, times):
    """Somebody goes on with their line while the first questions are open; each is answered with a yes."""

    def answer(_):
        if len(editor.questions) <= times:
            editor.type("ten.txt", "my own longer", replace="my own")
        return "Take the undo"

    edit = call("edit_file", path="ten.txt", old="line 9", new="line nine")
    editor = await begin("stock", [step(edit), DONE], FULL, answers=answer)
    editor.open("ten.txt")
    await editor.run("Go.")
    editor.type("ten.txt", "my own line", replace="line nine")
    return editor, await editor.command("outrider.undo", {})


async def test_what_is_typed_while_asked_is_shown_before_it_goes(begin, ten):
    editor, undone = await typing_while_asked(begin, 1)
    first, second = (one.message for one in editor.questions)
    assert ("longer" in first, "my own longer line" in second) == (False, True)
    assert (editor.text("ten.txt"), undone["conflicts"]) == (TEN, [])
    assert [one["data"]["choice"] for one in editor.events_of("undo.asked")] == ["Take the undo"] * 2


async def test_what_is_typed_each_time_while_asked_stays(begin, ten):
    editor, undone = await typing_while_asked(begin, 2)
    assert len(editor.questions) == 2
    assert editor.text("ten.txt") == TEN.replace("line 9", "my own longer longer line")
    assert ([one["line"] for one in undone["conflicts"]], undone["undone"]) == ([9], [])


async def test_what_is_typed_elsewhere_while_asked_asks_nothing_more(begin, ten):
    def answer(_):
        editor.type("ten.txt", "typed\n", at=(0, 0))
        return "Take the undo"

    edit = call("edit_file", path="ten.txt", old="line 9", new="line nine")
    editor = await begin("stock", [step(edit), DONE], FULL, answers=answer)
    editor.open("ten.txt")
    await editor.run("Go.")
    editor.type("ten.txt", "my own line", replace="line nine")
    await editor.command("outrider.undo", {})
    assert (len(editor.questions), editor.text("ten.txt")) == (1, f"typed\n{TEN}")


async def test_both_versions_can_be_looked_at(begin, ten, workspace):
    editor, undone = await conflicting(begin, "Open both")
    assert len(undone["conflicts"]) == 1
    mine, undo = sorted((workspace / ".outrider").glob("*.txt"))
    assert "my own line" in mine.read_text()
    assert undo.read_text() == TEN
    assert [one["uri"].rpartition("/")[2] for one in editor.shown] == [mine.name, undo.name]


async def test_a_version_that_the_person_wrote_into_stays_when_both_are_opened_again(begin, ten, workspace):
    editor, _ = await conflicting(begin, "Open both", "Open both", "Open both")
    first = {path.name for path in (workspace / ".outrider").glob("*.txt")}
    await editor.command("outrider.undo", {})
    assert {path.name for path in (workspace / ".outrider").glob("*.txt")} == first, "they are the same"
    mine = next((workspace / ".outrider").glob("mine-*.txt"))
    mine.write_text("half of the one, half of the other\n")
    await editor.command("outrider.undo", {})
    assert mine.read_text() == "half of the one, half of the other\n"
    (other,) = {path.name for path in (workspace / ".outrider").glob("*.txt")} - first
    assert other == f"{mine.stem}-2.txt"
    assert [one["uri"].rpartition("/")[2] for one in editor.shown[-2:]] == [other, *first - {mine.name}]


async def test_what_was_gone_over_with_a_yes_comes_back_when_that_is_done_again(begin, ten):
    editor, _ = await conflicting(begin, *["Take the undo"] * 3)
    assert editor.text("ten.txt") == TEN
    for _ in range(2):
        await editor.command("outrider.redo", {})
        assert editor.text("ten.txt").count("my own line") == 1
        await editor.command("outrider.undo", {})
        assert editor.text("ten.txt") == TEN
    assert len(editor.questions) == 3


@pytest.mark.parametrize("profile", ["answers-null"])
async def test_without_an_answer_it_is_left_as_it_is(profile, begin, ten):
    editor, undone = await conflicting(begin, profile=profile)
    assert "my own line" in editor.text("ten.txt")
    assert [one["path"] for one in undone["conflicts"]] == ["ten.txt"]


async def test_the_log_says_what_was_asked_for_and_done(begin, ten):
    editor, undone = await conflicting(begin, "Keep mine")
    (asked,) = editor.events_of("undo.requested")
    assert asked["data"] == {"redo": False, "scope": "turn"}
    (done,) = editor.events_of("undo.finished")
    assert done["data"] == {key: undone[key] for key in ("undone", "conflicts", "notUndoable")}
    edit = next(one for one in editor.events_of("edit.applied") if "undoes" in one["data"])
    assert edit["data"]["undoesHunks"] == [1, 2]
    assert json.dumps(done)


# --- whole files ---------------------------------------------------------------------------------------------


async def test_a_new_file_that_was_changed_is_not_deleted(begin, workspace):
    editor = await begin("stock", [step(call("write_file", path="new.txt", content="new\n")), DONE], FULL)
    await editor.run("Go.")
    (workspace / "new.txt").write_text("new\nmine\n")
    undone = await editor.command("outrider.undo", {})
    assert (undone["undone"], len(undone["conflicts"])) == ([], 1)
    (workspace / "new.txt").write_text("new\n")
    assert (await editor.command("outrider.undo", {}))["conflicts"] == []
    assert not (workspace / "new.txt").exists()


async def test_an_empty_file_becomes_empty_again(begin, workspace):
    (workspace / "empty.txt").write_text("")
    text = call("write_file", path="empty.txt", content="text\n", overwrite=True)
    editor = await begin("stock", [step(text), DONE], FULL)
    await editor.run("Go.")
    await editor.command("outrider.undo", {})
    assert (workspace / "empty.txt").read_text() == ""


async def test_a_file_is_followed_where_it_was_moved(begin, ten):
    move = call("rename_file", **{"from": "ten.txt", "to": "there.txt"})
    editor = await begin("stock", [step(*THREE), step(move), DONE], FULL)
    await editor.run("Go.")
    edit, rename = (await editor.command("outrider.changes", {}))["changes"]
    assert (rename["operation"], rename["to"], edit["undoable"]) == ("rename", "there.txt", True)
    await editor.command("outrider.undo", {"scope": "hunk", "id": edit["changeId"]})
    assert editor.disk("there.txt") == TEN
    await editor.command("outrider.undo", {})
    assert ten.read_text() == TEN


# --- code actions --------------------------------------------------------------------------------------------


def span_at(line):
    place = {"line": line, "character": 0}
    return {"start": place, "end": place}


async def titles_at(editor, line):
    return [one["title"] for one in await editor.code_actions("ten.txt", span_at(line))]


async def test_a_change_is_undone_at_its_line(begin, ten):
    editor = await begin("stock", [step(*THREE), DONE], FULL)
    editor.open("ten.txt")
    await editor.run("Go.")
    editor.type("ten.txt", "mine\n", at=(0, 0))
    assert "Outrider: undo this change" not in await titles_at(editor, 1)
    assert "Outrider: redo" not in await titles_at(editor, 2)
    assert "Outrider: undo this change" in await titles_at(editor, 2)
    await editor.take_action("Outrider: undo this change")
    assert editor.text("ten.txt").startswith("mine\nline 1\nline 2\nline 3\nline 4\nline 6\n")
    assert "Outrider: undo this change" not in await titles_at(editor, 2)
    await editor.take_action("Outrider: redo")
    assert "line two" in editor.text("ten.txt")


# --- only texts decide ---------------------------------------------------------------------------------------


async def test_an_undo_that_the_editor_took_back_can_be_done_again(begin, ten):
    editor = await begin("stock", [step(*THREE), DONE], FULL)
    editor.open("ten.txt")
    await editor.run("Go.")
    changed = editor.text("ten.txt")
    await editor.command("outrider.undo", {})
    assert editor.undo("ten.txt")
    editor.settle()
    assert editor.text("ten.txt") == changed
    assert "Outrider: undo turn" in await titles_at(editor, 0)
    for _ in range(2):
        assert (await editor.command("outrider.undo", {}))["undone"] == [{"path": "ten.txt", "hunks": 3}]
        assert editor.text("ten.txt") == TEN
        assert (await editor.command("outrider.redo", {}))["undone"] == [{"path": "ten.txt", "hunks": 3}]
        assert editor.text("ten.txt") == changed


async def test_an_edit_that_the_editor_took_back_can_be_brought_back(begin, ten):
    editor = await begin("stock", [step(*THREE), DONE], FULL)
    editor.open("ten.txt")
    await editor.run("Go.")
    changed = editor.text("ten.txt")
    assert editor.undo("ten.txt")
    editor.settle()
    assert "Outrider: redo" in await titles_at(editor, 0)
    assert (await editor.command("outrider.redo", {}))["undone"] == [{"path": "ten.txt", "hunks": 3}]
    assert editor.text("ten.txt") == changed
    assert {state for _, state in hunks(await editor.command("outrider.changes", {})).values()} == {"applied"}
    for _ in range(2):
        await editor.command("outrider.undo", {})
        assert editor.text("ten.txt") == TEN
        await editor.command("outrider.redo", {})
        assert editor.text("ten.txt") == changed


async def test_a_turn_that_the_editor_took_back_is_not_in_the_way_of_the_one_before(begin, ten):
    second = call("edit_file", path="ten.txt", old="line 7", new="line seven")
    editor = await begin("stock", [step(*THREE), DONE, step(second), DONE], FULL)
    editor.open("ten.txt")
    await editor.run("One.")
    await editor.run("Two.", sessionId=editor.session_id)
    changed = editor.text("ten.txt")
    assert editor.undo("ten.txt")
    editor.settle()
    await editor.command("outrider.undo", {"sessionId": editor.session_id})
    assert editor.text("ten.txt") == TEN
    await editor.command("outrider.redo", {"scope": "session"})
    assert editor.text("ten.txt") == changed


async def test_a_later_change_that_an_undo_was_taken_over_can_be_brought_back(begin, ten):
    first = call("edit_file", path="ten.txt", old="line 5", new="line five", called="one")
    second = call("edit_file", path="ten.txt", old="line five", new="line fünf", called="two")
    editor = await begin("stock", [step(first), DONE, step(second), DONE], FULL, answers=["Take the undo"])
    await editor.run("One.")
    turn = editor.turn_id
    await editor.run("Two.", sessionId=editor.session_id)
    changed = ten.read_text()
    await editor.command("outrider.undo", {"id": turn})
    assert ten.read_text() == TEN
    listed = (await editor.command("outrider.changes", {}))["changes"]
    assert [change["hunks"][0]["state"] for change in listed] == ["undone", "undone"]
    for _ in range(2):
        await editor.command("outrider.redo", {})
    assert ten.read_text() == changed
    await editor.command("outrider.undo", {"scope": "session"})
    assert ten.read_text() == TEN


async def test_what_is_asked_about_a_redo_says_so(begin, ten):
    edit = call("edit_file", path="ten.txt", old="line 5", new="line five")
    answers = ["Open both", "Take the redo"]
    editor = await begin("vscode", [step(edit), DONE], FULL, answers=answers)
    editor.open("ten.txt")
    await editor.run("Go.")
    await editor.command("outrider.undo", {})
    editor.type("ten.txt", "my line 5", replace="line 5")
    await editor.command("outrider.redo", {})
    assert [one["uri"].rpartition("/")[2].partition("-")[0] for one in editor.shown[-2:]] == ["mine", "redo"]
    await editor.command("outrider.redo", {})
    assert editor.text("ten.txt") == TEN.replace("line 5", "line five")
    for question in editor.questions:
        assert question.titles == ("Keep mine", "Take the redo", "Open both")
        assert "With the redo:\nline five" in question.message


@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize("is_open", [True, False])
async def test_a_line_typed_beside_a_change_stays_when_it_is_undone(above, is_open, begin, ten):
    edit = call("edit_file", path="ten.txt", old="line 10\n", new="line ten")
    editor = await begin("stock", [step(edit), DONE], FULL)
    if is_open:
        editor.open("ten.txt")
    await editor.run("Go.")
    before, after = ("mine\n", "") if above else ("", "\nmine\n")
    text = TEN.replace("line 10\n", f"{before}line ten{after}")
    if is_open:
        editor.type("ten.txt", f"{before}line ten{after}", replace="line ten")
    else:
        ten.write_text(text)
    undone = await editor.command("outrider.undo", {})
    assert (undone["undone"], undone["conflicts"]) == ([{"path": "ten.txt", "hunks": 1}], [])
    expected = TEN.replace("line 10\n", "mine\nline 10\n" if above else "line 10\nmine\n")
    assert (editor.text("ten.txt") if is_open else ten.read_text()) == expected


async def test_what_was_gone_over_with_a_yes_is_taken_back_to_its_beginning(begin, ten):
    edit = call("edit_file", path="ten.txt", old="line 9", new="line nine")
    delete = call("delete_file", path="ten.txt", called="delete")
    editor = await begin("stock", [step(edit), step(delete), DONE], FULL, answers=["Take the undo"])
    await editor.run("Go.")
    ten.write_text("anew\n")
    undone = await editor.command("outrider.undo", {})
    assert (ten.read_text(), undone["conflicts"]) == (TEN, [])
