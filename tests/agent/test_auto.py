"""Permission mode `auto`: what can be undone runs without a question, as the files were copied before; all else asks."""

import asyncio
import json

import pytest
from scripting import DONE, call, results, step

from outrider.agent.changes import undo_writer
from outrider.cli.main import main
from outrider.testing.editor.wire_client import RpcError
from outrider.workspace.history.records import Part
from outrider.workspace.watch import copies, snapshot
from sandboxes import needs_bubblewrap

pytestmark = needs_bubblewrap
AUTO = {
    "permissionMode": "auto",
    "sandbox": "auto",
    "testing": {"clock": None, "ids": "sequential", "sandboxes": ["bubblewrap"]},
}
REWRITE = (
    "echo new > old.txt && rm gone.txt && mkdir -p deep && echo made > deep/made.txt && mv moved.txt deep/"
)


def run(text, called="run", **more):
    return call("run_command", command=text, called=called, **more)


@pytest.fixture
def _nothing_in_memory(monkeypatch):
    """A workspace that is too big for its contents to be kept in memory."""
    monkeypatch.setattr(snapshot, "MOST_FILES_KEPT", 0)


@pytest.mark.usefixtures("_nothing_in_memory")
async def test_commands_and_edits_run_without_a_question_and_are_undone(begin, workspace):
    for name in ("old", "gone", "moved"):
        (workspace / f"{name}.txt").write_text(f"{name}\n")
    edit = call("write_file", path="written.txt", content="written\n", called="edit")
    editor = await begin("stock", [step(run(REWRITE)), step(edit), DONE], AUTO)
    done = await editor.run("Go.")
    assert done["outcome"] == "completed"
    assert not editor.questions
    assert (workspace / "deep" / "made.txt").read_text() == "made\n"
    assert "undo cannot restore" not in results(editor)["run"][1]
    (decided,) = [
        one["data"] for one in editor.events_of("approval.resolved") if one["data"]["callId"] == "run"
    ]
    assert (decided["by"], decided["rule"]) == (
        "mode",
        "the permission mode allows commands that can be undone",
    )
    undone = await editor.command("outrider.undo", {"scope": "turn"})
    assert undone["conflicts"] == undone["notUndoable"] == []
    assert {path.name: path.read_text() for path in workspace.iterdir() if path.suffix == ".txt"} == {
        "old.txt": "old\n",
        "gone.txt": "gone\n",
        "moved.txt": "moved\n",
    }
    assert not (workspace / "deep").exists()


@pytest.mark.parametrize("name", [".gitignore", ".ignore", "deep/.gitignore"])
async def test_a_rule_that_a_command_writes_hides_nothing_that_comes_after(begin, workspace, name):
    (workspace / "deep").mkdir()
    kept = [workspace / "old.txt", workspace / "deep" / "gone.txt"]
    for file in kept:
        file.write_text("kept\n")
    turns = [step(run(f"echo '*' > {name}", "rule")), step(run("rm deep/gone.txt; echo new > old.txt")), DONE]
    editor = await begin("stock", turns, AUTO)
    await editor.run("Go.")
    assert f"{name} (created)" in results(editor)["rule"][1]
    assert "deep/gone.txt (deleted)" in results(editor)["run"][1]
    undone = await editor.command("outrider.undo", {"scope": "turn"})
    assert {one["path"] for one in undone["undone"]} == {name, "old.txt", "deep/gone.txt"}
    assert [file.read_text() for file in kept] == ["kept\n", "kept\n"]
    assert not (workspace / name).exists()


@pytest.mark.parametrize("answer", ["Put back", "Keep"])
@pytest.mark.parametrize(
    "command",
    [
        "rm -r deep; ln -s /usr/share deep",
        "mv deep other; ln -s other deep",
        "rm -r deep; mkfifo deep",
        "rm -r deep; echo > deep",
    ],
)
@pytest.mark.parametrize("is_known", [True, False])
async def test_what_lay_in_a_folder_whose_place_is_taken_is_offered(
    begin, workspace, command, answer, is_known
):
    (workspace / "deep").mkdir()
    (workspace / "deep" / "kept.txt").write_text("kept\n")
    (workspace / "deep" / "kept.bin").write_bytes(b"\0\1")
    reads = [step(call("read_file", path="deep/kept.txt", called="read"))] if is_known else []
    editor = await begin("stock", [*reads, step(run(command)), DONE], AUTO, answers=[answer])
    await editor.run("Go.")
    (question,) = editor.questions
    assert "deep/kept.bin" in question.message
    assert "deep/kept.txt" in question.message
    await editor.command("outrider.undo", {"scope": "turn"})
    texts = [path.read_bytes() for path in workspace.rglob("kept.*") if path.is_file()]
    if answer == "Put back" or command.startswith("mv"):
        assert sorted(set(texts)) == [b"\0\1", b"kept\n"]
    if answer == "Put back":
        assert (workspace / "deep" / "kept.txt").read_text() == "kept\n"
        assert not (workspace / "deep").is_symlink()


@pytest.mark.usefixtures("_nothing_in_memory")
async def test_mode_ask_copies_nothing_and_says_what_undo_cannot_restore(begin, workspace):
    (workspace / "old.txt").write_text("old\n")
    ask = AUTO | {"permissionMode": "ask"}
    editor = await begin("stock", [step(run("echo new > old.txt")), DONE], ask, answers=["Allow once"])
    await editor.run("Go.")
    assert "undo cannot restore old.txt" in results(editor)["run"][1]


@pytest.mark.parametrize(
    "how",
    [
        {"text": "echo x > a.txt", "sandbox": "network", "reason": "It must."},
        {"text": "echo x > a.txt", "sandbox": "none", "reason": "It must."},
        {"text": "sleep 1000", "background": True},
        {"text": "cat .env"},
        {"text": "touch ../a.txt", "cwd": ".."},
    ],
    ids=lambda how: " ".join(map(str, how.values())),
)
async def test_what_reaches_further_asks(begin, workspace, how):
    (workspace / ".env").write_text("TOKEN=x\n")
    editor = await begin("stock", [step(run(**how)), DONE], AUTO, answers=["Reject"])
    await editor.run("Go.")
    assert len(editor.events_of("approval.requested")) == 1
    assert results(editor)["run"][0] == "denied"


async def test_a_protected_file_and_a_rule_ask(begin, workspace, rules):
    rules('[[rule]]\ndecision = "ask"\ntool = "run_command"\ncommand = "make:*"\n')
    edit = call("write_file", path=".envrc", content="x\n", called="edit")
    editor = await begin(
        "stock", [step(edit), step(run("make all")), DONE], AUTO, answers=["Reject", "Reject"]
    )
    await editor.run("Go.")
    assert [results(editor)[one][0] for one in ("edit", "run")] == ["denied", "denied"]


async def test_too_big_a_workspace_is_said_once_and_commands_ask(begin, workspace, monkeypatch):
    monkeypatch.setattr(copies, "MOST_BYTES", 3 * 1024 * 1024)
    for number in range(4):
        (workspace / f"{number}.txt").write_text("x" * (1024 * 1024 - 1))
    editor = await begin(
        "stock",
        [step(run("echo 1 > a.txt", "first")), step(run("echo 2 > b.txt", "second")), DONE],
        AUTO,
        answers=["Allow once", "Allow once"],
    )
    await editor.run("Go.")
    (said,) = editor.events_of("auto.limited")
    assert said["data"] == {"reason": "the files of the workspace have more than 3 MB"}
    assert len(editor.events_of("approval.requested")) == 2
    told = [
        one.message["params"]["message"]
        for one in editor.messages
        if one.message.get("method") == "window/showMessage"
    ]
    assert [text for text in told if "auto-edit" in text] == [
        "Outrider asks about commands as in permission mode auto-edit: the files of the workspace have more than 3 MB."
    ]


def test_in_a_terminal_it_is_said_once_as_well(tmp_path, capfd):
    for number in range(201):
        with (tmp_path / f"{number}.bin").open("wb") as file:
            file.truncate(1024 * 1024)
    (tmp_path / "script.json").write_text(json.dumps({"turns": [step(run("echo 1 > a.txt")), DONE]}))
    arguments = ["run", "Go.", "-C", str(tmp_path), "--model", "scripted:script.json"]
    arguments += ["--permission-mode", "auto", "--yes-to", "all", "--state-dir", str(tmp_path / "state")]
    assert main(arguments) == 0
    assert capfd.readouterr().err.count("as in permission mode auto-edit") == 1


async def test_the_copies_are_made_beside_the_loop(begin, workspace, monkeypatch):
    loops: list[object] = []
    update = copies.Copies.update

    def seen(self, *arguments):
        loops.append(asyncio._get_running_loop())
        return update(self, *arguments)

    monkeypatch.setattr(copies.Copies, "update", seen)
    editor = await begin("stock", [step(run("echo 1 > a.txt")), DONE], AUTO)
    await editor.run("Go.")
    assert loops
    assert set(loops) == {None}


async def test_a_file_over_the_limit_is_named_as_lost(begin, workspace):
    (workspace / "big.txt").write_text("x" * (1024 * 1024 + 1))
    editor = await begin("stock", [step(run("echo > big.txt")), DONE], AUTO)
    await editor.run("Go.")
    assert not editor.questions
    assert "undo cannot restore big.txt" in results(editor)["run"][1]


async def test_without_a_sandbox_commands_ask(begin):
    editor = await begin(
        "stock", [step(run("echo 1 > a.txt")), DONE], AUTO | {"sandbox": "off"}, answers=["Reject"]
    )
    await editor.run("Go.")
    assert results(editor)["run"][0] == "denied"
    assert not editor.events_of("auto.limited")


async def test_a_sandbox_that_cannot_protect_the_repository_asks(begin, workspace):
    (workspace / ".git").mkdir()
    landlock = AUTO | {"testing": {**AUTO["testing"], "sandboxes": ["landlock"]}}
    editor = await begin("stock", [step(run("echo 1 > a.txt")), DONE], landlock, answers=["Reject"])
    await editor.run("Go.")
    (said,) = editor.events_of("auto.limited")
    assert said["data"]["reason"].startswith(
        "the sandbox here (Landlock) cannot keep commands from changing `.git`"
    )
    assert results(editor)["run"][0] == "denied"


@pytest.mark.parametrize("answer", ["Put back", "Keep"])
async def test_a_binary_file_that_no_undo_restores_is_asked_about_after_the_command(begin, workspace, answer):
    (workspace / "logo.png").write_bytes(b"\x89PNG\0old")
    (workspace / "gone.png").write_bytes(b"\x89PNG\0gone")
    spoil = run("printf 'x\\0y' > logo.png; rm gone.png; printf '\\0' > new.png")
    editor = await begin("stock", [step(spoil), DONE], AUTO, answers=[answer])
    await editor.run("Go.")
    (asked,) = editor.events_of("approval.requested")
    assert asked["data"]["title"] == "Put back: gone.png, logo.png"
    assert "- gone.png (deleted)\n- logo.png (changed)\n" in asked["data"]["detail"]
    put = answer == "Put back"
    assert (workspace / "logo.png").read_bytes() == (b"\x89PNG\0old" if put else b"x\0y")
    assert (workspace / "gone.png").exists() == put
    said = "they were restored, as the user chose" if put else "the user kept them as they are now"
    assert said in results(editor)["run"][1]


async def test_outside_of_the_mode_nobody_is_asked_about_a_binary_file(begin, workspace):
    (workspace / "logo.png").write_bytes(b"\x89PNG\0old")
    ask = AUTO | {"permissionMode": "ask"}
    editor = await begin("stock", [step(run("printf '\\0' > logo.png")), DONE], ask, answers=["Allow once"])
    await editor.run("Go.")
    assert len(editor.events_of("approval.requested")) == 1
    assert "undo cannot restore logo.png" in results(editor)["run"][1]


@pytest.fixture
async def changed(begin, workspace):
    """Gives an editor in which a turn changed three files without a question, and the document that shows it."""
    (workspace / "a.txt").write_text("".join(f"{number}\n" for number in range(1, 31)))
    (workspace / "gone.txt").write_text("gone\n")
    change = "sed -i -e s/^2$/two/ -e s/^29$/twenty-nine/ a.txt && rm gone.txt && echo made > made.txt"
    editor = await begin("stock", [step(run(change)), DONE], AUTO)
    done = await editor.run("Change the numbers.")
    await editor.wait_for(lambda: editor.shown, "the changes are shown")
    return editor, f".outrider/changes-{done['turnId']}.diff"


async def test_at_its_end_the_changes_are_shown_by_hunk(changed):
    editor, paper = changed
    text = editor.text(paper)
    head = "# What Outrider changed for “Change the numbers.”\n#\n# [x] keeps a change, [ ] undoes it.\n"
    assert text.startswith(head)
    assert " 1\n-2\n+two\n 3\n 4\n 5\n" in text
    assert " 26\n 27\n 28\n-29\n+twenty-nine\n 30\n" in text
    assert [line.split(" ", 2)[2] for line in text.splitlines() if line.startswith("[x]")] == [
        "a.txt line 2",
        "a.txt line 29",
        "the deletion of gone.txt",
        "the new file made.txt",
    ]
    assert "made.txt" not in str(await titles(editor, paper))


async def titles(editor, paper):
    actions = [one["title"].removeprefix("Outrider: ") for one in await editor.code_actions(paper)]
    return [one for one in actions if one.startswith(("undo what", "show the"))]


async def test_what_is_left_out_is_undone_and_the_rest_stays(changed, workspace):
    editor, paper = changed
    assert await titles(editor, paper) == []
    text = editor.text(paper)
    lines = [
        line.replace("[x]", "[ ]") if ("line 2" in line and "29" not in line) or "gone.txt" in line else line
        for line in text.splitlines(keepends=True)
    ]
    editor.type(paper, "".join(lines), replace=text)
    assert await titles(editor, paper) == ["undo what is left out (2 of 4)"]
    await editor.take_action("Outrider: undo what is left out")
    numbers = (workspace / "a.txt").read_text().split()
    assert (numbers[1], numbers[28]) == ("2", "twenty-nine")
    assert (workspace / "gone.txt").read_text() == "gone\n"
    assert (workspace / "made.txt").read_text() == "made\n"


def left_out(text, *places):
    """The document with the changes at these places left out."""
    return "".join(
        line.replace("[x]", "[ ]", 1) if line.startswith("[x]") and line.rstrip().endswith(places) else line
        for line in text.splitlines(keepends=True)
    )


def leave_out(editor, paper, *places):
    editor.type(paper, left_out(editor.text(paper), *places), replace=editor.text(paper))


async def test_a_change_that_somebody_wrote_over_stops_no_other_one(changed, workspace):
    editor, paper = changed
    editor.open("a.txt")
    editor.type("a.txt", "zwei", replace="two")
    leave_out(editor, paper, "a.txt line 29", "made.txt")
    assert await titles(editor, paper) == ["undo what is left out (2 of 3)"]
    await editor.take_action("Outrider: undo what is left out")
    numbers = editor.text("a.txt").split()
    assert (numbers[1], numbers[28]) == ("zwei", "29")
    assert not (workspace / "made.txt").exists()
    assert not (workspace / "gone.txt").exists()


async def test_lines_around_a_change_may_be_others_by_now(changed):
    editor, paper = changed
    editor.open("a.txt")
    editor.type("a.txt", "eins\ntwo", replace="1\ntwo")
    leave_out(editor, paper, "a.txt line 2")
    assert await titles(editor, paper) == ["undo what is left out (1 of 4)"]
    await editor.take_action("Outrider: undo what is left out")
    assert editor.text("a.txt").startswith("eins\n2\n3\n")


async def test_what_was_undone_is_said_and_the_document_is_brought_up_to_date(changed):
    editor, paper = changed
    leave_out(editor, paper, "a.txt line 2", "gone.txt")
    saved = editor.disk(paper)
    await titles(editor, paper)
    await editor.take_action("Outrider: undo what is left out")
    (said,) = [one.text for one in editor.said if "undid" in one.text]
    assert said == "Outrider undid 1 change in gone.txt, 1 change in a.txt."
    await editor.wait_for(lambda: "\n[ ]" not in editor.text(paper), "the document is as it is")
    text = editor.text(paper)
    assert [line.split(" ", 2)[2] for line in text.splitlines() if line.startswith("[")] == [
        "a.txt line 29",
        "the new file made.txt",
    ]
    assert (
        "# - a.txt line 2: it is already undone\n# - the deletion of gone.txt: it is already undone\n" in text
    )
    assert editor.disk(paper) == saved, "it is written in the buffer, so that it can be saved"
    assert await titles(editor, paper) == []
    await editor.command("outrider.undo", {"scope": "turn"})
    await editor.wait_for(lambda: "\n[x]" not in editor.text(paper), "nothing is in place")


async def test_showing_the_changes_anew_keeps_the_marks_and_says_what_it_did(changed):
    editor, paper = changed
    saved = editor.disk(paper)
    editor.open("a.txt")
    editor.type("a.txt", "zwei", replace="two")
    leave_out(editor, paper, "a.txt line 29")
    editor.type(paper, "+TWENTY", replace="+twenty")
    (title,) = await titles(editor, paper)
    assert title.startswith("show the changes anew: ")
    await editor.take_action("Outrider: show the changes anew")
    text = editor.text(paper)
    assert [line[:3] for line in text.splitlines() if line.startswith("[")] == ["[ ]", "[x]", "[x]"]
    assert "+twenty-nine\n" in text
    assert "# - a.txt line 2: it was changed afterwards\n" in text
    assert editor.disk(paper) == saved
    assert editor.said[-1].text == (
        "Outrider shows the changes anew, with your marks: 3 can be kept or undone, "
        "1 cannot any more: a.txt line 2: it was changed afterwards."
    )
    assert await titles(editor, paper) == ["undo what is left out (1 of 3)"]


async def test_what_is_left_out_and_was_changed_meanwhile_is_named(changed):
    editor, paper = changed
    editor.open("a.txt")
    editor.type("a.txt", "zwei", replace="two")
    leave_out(editor, paper, "a.txt line 2")
    assert await titles(editor, paper) == ["show the changes anew: a.txt line 2: it was changed afterwards"]
    leave_out(editor, paper, "gone.txt")
    assert await titles(editor, paper) == ["undo what is left out (1 of 3)"]
    await editor.take_action("Outrider: undo what is left out")
    assert editor.disk("gone.txt") == "gone\n"
    assert editor.text("a.txt").split()[1] == "zwei"
    assert [one.text for one in editor.said if "undid" in one.text] == [
        "Outrider undid 1 change in gone.txt; left unchanged: a.txt, line 2: the same place was changed since."
    ]


async def test_lines_cannot_be_edited_after_the_turn(changed):
    editor, paper = changed
    text = editor.text(paper)
    editor.type(paper, text.replace("+two", "+TWO"), replace=text)
    (title,) = await titles(editor, paper)
    assert title.startswith("show the changes anew: ")
    assert "can be kept or undone, but not edited" in title
    await editor.take_action("Outrider: show the changes anew")
    assert "+two\n" in editor.text(paper)


async def test_an_unknown_turn_has_no_changes_to_show(changed):
    editor, _ = changed
    with pytest.raises(RpcError, match="there is no turn 'turn_x'"):
        await editor.command("outrider.open", {"what": "changes", "id": "turn_x"})
    await editor.command("outrider.undo", {"scope": "turn"})
    with pytest.raises(RpcError, match="nothing of what that turn changed is in place"):
        await editor.command("outrider.open", {"what": "changes", "id": editor.turn_id})


async def test_in_other_modes_nothing_is_shown_at_the_end(begin, workspace):
    edit = call("write_file", path="written.txt", content="written\n", called="edit")
    editor = await begin("stock", [step(edit), DONE], AUTO | {"permissionMode": "auto-edit"})
    await editor.run("Go.")
    await editor.command("outrider.status", {})
    assert not editor.shown


TAKES_ITS_PLACE = [
    "rm old.txt && ln -s /etc/hostname old.txt",
    "rm old.txt && mkfifo old.txt",
    "rm old.txt && mkdir old.txt && echo inner > old.txt/inner",
]


@pytest.mark.parametrize("is_read", [True, False], ids=["read before", "never read"])
@pytest.mark.parametrize("command", TAKES_ITS_PLACE, ids=["link", "pipe", "folder"])
async def test_a_file_whose_place_something_else_took_is_put_back(begin, workspace, command, is_read):
    (workspace / "old.txt").write_bytes("ol\u00e9\r\n".encode("utf-16"))
    turns = [step(call("read_file", path="old.txt"))] * is_read + [step(run(command)), DONE]
    editor = await begin("stock", turns, AUTO, answers=["Put back"])
    assert (await editor.run("Go."))["outcome"] == "completed"
    (asked,) = editor.events_of("approval.requested")
    assert asked["data"]["title"] == "Put back: old.txt"
    assert "they were restored, as the user chose" in results(editor)["run"][1]
    assert (workspace / "old.txt").read_bytes() == "ol\u00e9\r\n".encode("utf-16")
    assert not (workspace / "old.txt").is_symlink()


async def test_an_undo_of_many_files_looks_at_the_folders_of_each_once(begin, workspace, monkeypatch):
    looked: list[str] = []
    real = undo_writer._moved
    monkeypatch.setattr(undo_writer, "_moved", lambda *args: looked.append(args[2]) or real(*args))
    compared: list[Part] = []
    monkeypatch.setattr(Part, "__eq__", lambda one, other: compared.append(one) or one is other)
    (workspace / "deep").mkdir()
    for number in range(60):
        (workspace / "deep" / f"{number}.txt").write_text(f"text {number}\n")
    editor = await begin("stock", [step(run("rm -r deep")), DONE], AUTO)
    await editor.run("Go.")
    undone = await editor.command("outrider.undo", {"scope": "turn"})
    assert len(undone["undone"]) == 60
    assert len(looked) <= 4 * 60
    assert len(compared) <= 4 * 60
