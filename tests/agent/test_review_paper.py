"""The document of a review: marks, reasons and lines with + are the user's; what is not clear is said with its line."""

from pathlib import Path

import pytest
from scripting import DONE, KINDS, call, result, results, step, types
from test_review import EDITS, LINES, PATCH, SOON, asked

from outrider.testing.editor.answers import Dismiss
from outrider.testing.editor.profiles import NEVER_YES
from outrider.testing.scenario import scripted, start_session
from replayed import keep_sessions

WHOLE = """\
# Edit wide.txt (+4 −3)
#
# [x] accepts a change, [ ] rejects it. After “reason:” you can give a reason.
# Lines with + are inserted: edit them as you want, each with its +.
# Then take the code action “apply the review” in this document.

[x] chg_1#1 wide.txt line 5
reason:
 line 2
 line 3
 line 4
-line 5
+LINE 5
 line 6
 line 7
 line 8

[x] chg_1#2 wide.txt line 15
reason:
 line 12
 line 13
 line 14
-line 15
+LINE 15
+and more
 line 16
 line 17
 line 18

[x] chg_1#3 wide.txt line 25
reason:
 line 22
 line 23
 line 24
-line 25
+LINE 25
 line 26
 line 27
 line 28
"""


def look_first():
    """A user who looks at the document, and then leaves the question."""
    looked = []

    def person(question):
        if "Review…" not in question.titles or looked:
            return Dismiss()
        looked.append(question)
        return "Review…"

    return person


@pytest.fixture
async def reviewing(begin, workspace):
    """Gives an editor with the review of an edit in a document, and that document's path."""

    async def start(turn=EDITS, *, profile="stock", text=LINES):
        (workspace / "wide.txt").write_bytes(text.encode())
        editor = await begin(profile, [step(turn), DONE], SOON, answers=look_first())
        await editor.run("Change it.")
        item = await asked(editor)
        paper = f".outrider/review-{item['id']}.diff"
        if not editor.shown:  # whose dialogs cannot be answered
            await editor.command("outrider.open", {"what": "review", "id": item["id"]})
        if editor.desk.uri(paper) not in editor.desk.buffers:
            editor.open(paper)
        return editor, paper

    return start


def write(editor, paper, text):
    """Make the document of a review another one."""
    editor.type(paper, text, replace=editor.text(paper))


async def take(editor, paper, title):
    """Take a code action in the document."""
    await editor.code_actions(paper)
    await editor.take_action(title)


async def titles(editor, paper):
    actions = await editor.code_actions(paper)
    return [
        one["title"].removeprefix("Outrider: ")
        for one in actions
        if "review" in one["title"] or "reject all" in one["title"]
    ]


@pytest.mark.parametrize("profile", [*KINDS, *(str(one) for one in NEVER_YES)])
async def test_an_edit_is_reviewed_in_a_document(profile, reviewing):
    editor, paper = await reviewing(profile=profile)
    assert editor.text(paper) == WHOLE
    write(
        editor,
        paper,
        WHOLE.replace(
            "[x] chg_1#1 wide.txt line 5\nreason:", "[ ] chg_1#1 wide.txt line 5\nreason: it is in use"
        ).replace("+LINE 15\n+and more\n", "+fifteen\n+\n"),
    )
    await take(editor, paper, "Outrider: apply the review (2 of 3 accepted, 1 of them edited)")
    assert (await editor.wait_turn())["outcome"] == "completed"
    assert editor.disk("wide.txt") == LINES.replace("line 15\n", "fifteen\n\n").replace(
        "line 25\n", "LINE 25\n"
    )
    assert "because: it is in use" in result(editor)[1]
    (resolved,) = editor.events_of("approval.resolved")
    assert [one["decision"] for one in resolved["data"]["review"]] == ["reject", "take"]


async def test_the_question_comes_again_while_the_document_is_open(begin, workspace):
    (workspace / "wide.txt").write_text(LINES)
    editor = await begin("stock", [step(EDITS), DONE], answers=["Review…", "Allow once"])
    await editor.run("Change it.")
    first, second = editor.questions
    assert first.titles == ("Allow once", "Allow for this session", "Always allow…", "Review…", "Reject")
    assert "Review…" not in second.titles
    assert editor.disk("wide.txt").count("LINE") == 3


@pytest.mark.parametrize("profile", ["neovim-0.11", "eglot", "helix-25.07"])
async def test_the_question_does_not_come_again_where_it_would_cover_the_document(profile, reviewing):
    editor, paper = await reviewing(profile=profile)
    assert len(editor.questions) == 1
    await take(editor, paper, "Outrider: apply the review (3 of 3 accepted)")
    assert (await editor.wait_turn())["outcome"] == "completed"
    assert editor.disk("wide.txt").count("LINE") == 3


async def test_the_document_has_no_yes_that_would_throw_the_review_away(reviewing):
    editor, paper = await reviewing()
    write(editor, paper, WHOLE.replace("[x] chg_1#1", "[ ] chg_1#1"))
    offered = [one["title"].removeprefix("Outrider: ") for one in await editor.code_actions(paper)]
    assert offered[:2] == ["apply the review (2 of 3 accepted)", "reject all"]
    assert not [title for title in offered if title.startswith(("Allow", "Review…", "Reject"))]
    write(editor, paper, editor.text(paper).replace("[x] chg_1#2", "[y] chg_1#2"))
    unclear = await editor.code_actions(paper)
    assert "review" in unclear[0]["title"]
    assert not [one for one in unclear if "Allow" in one["title"]]
    editor.open("wide.txt")
    elsewhere = await editor.code_actions("wide.txt")
    assert elsewhere[0]["title"].startswith("Outrider: Allow once")


async def test_all_of_it_is_rejected_with_the_reasons(reviewing):
    editor, paper = await reviewing()
    write(editor, paper, WHOLE.replace("line 25\nreason:", "line 25\nreason: one\nreason: two"))
    await take(editor, paper, "Outrider: reject all")
    await editor.wait_turn()
    assert result(editor) == ("denied", "The user rejected this.\n- wide.txt line 25: one\ntwo")
    assert editor.disk("wide.txt") == LINES


UNCLEAR = {
    "a mark": ("[x] chg_1#2", "[y] chg_1#2", "line 18: [x] accepts it and [ ] rejects it, but it has [y]"),
    "an id": ("[x] chg_1#2", "[x] chg_7#2", "line 18: there is no change chg_7#2"),
    "no id": ("[x] chg_1#2 wide.txt line 15", "[x]", "line 18: a change begins with [x] or [ ] and its id"),
    "twice": ("[x] chg_1#2", "[x] chg_1#1", "line 18: chg_1#1 appears twice"),
    "context": (" line 13\n", " line 13!\n", "line 21: only lines with + may be edited; this one was “ line 13”"),
    "removed": ("-line 15\n", "", "line 23: only lines with + may be edited; this one was “-line 15”"),
    "no plus": ("+and more\n", "and more\n", "line 25: only lines with + may be edited; this one was “ line 16”"),
    "elsewhere": (" line 17\n", " line 17\n+new\n", "line 28: only lines with + may be edited; this one was “ line 18”"),
    "below": (" line 18\n", " line 18\n+new\n", "line 29: only lines with + may be edited; keep the others"),
    "above": ("[x] chg_1#1", "well\n[x] chg_1#1", "line 7: it belongs to no change"),
    "left out": ("[x] chg_1#2", "[ ] chg_1#2", None),
    "missing": (WHOLE[WHOLE.index("[x] chg_1#3") :], "", "chg_1#3 is missing; [ ] rejects a change"),
    "marker": ("+LINE 15\n", "+LINE 15\n\\ No newline at end of file\n", "line 24: “\\ No newline at end of file” belongs below the last line with +"),
}  # fmt: skip


@pytest.mark.parametrize(("profile", "what"), [("vscode", "marker"), *(("stock", one) for one in UNCLEAR)])
async def test_what_is_not_clear_is_said_with_its_line(profile, what, reviewing):
    editor, paper = await reviewing(profile=profile)
    old, new, problem = UNCLEAR[what]
    text = WHOLE.replace(old, new, 1)
    if what == "left out":
        text, problem = (
            text.replace("+and more\n", ""),
            "line 18: chg_1#2 is rejected, but its lines were edited",
        )
    write(editor, paper, text)
    offered = await editor.code_actions(paper)
    (no,) = [one for one in offered if "apply the review" in one["title"]]
    if "disabledSupport" in str(editor.profile.capabilities):
        assert no["disabled"] == {"reason": problem}
        assert "command" not in no
    else:
        assert no["title"] == f"Outrider: apply the review: not yet. {problem}"
        assert no["command"]["command"] == "outrider.open"
    assert "approval.resolved" not in types(editor)


async def test_what_an_editor_does_to_lines_is_no_change(reviewing):
    editor, paper = await reviewing(text=LINES.replace("line 4\n", "\n").replace("line 8\n", "  \n"))
    stripped = "\n".join(line.rstrip() for line in editor.text(paper).split("\n")).rstrip("\n")
    write(editor, paper, stripped.replace("\n", "\r\n") + "\r\n\r\n\r\n")
    assert await titles(editor, paper) == ["apply the review (3 of 3 accepted)", "reject all"]
    await take(editor, paper, "Outrider: apply the review")
    await editor.wait_turn()
    assert editor.disk("wide.txt").count("LINE") == 3
    (resolved,) = editor.events_of("approval.resolved")
    assert "review" not in resolved["data"]


async def test_a_patch_is_reviewed_in_one_document(reviewing, workspace):
    editor, paper = await reviewing(PATCH)
    text = editor.text(paper)
    for words in (
        "the new file new.txt",
        "the deletion of README.md",
        "the renaming of tariff.py to price.py",
    ):
        assert words in text
    mark = next(line for line in text.split("\n") if "the deletion" in line)
    write(editor, paper, text.replace(mark, mark.replace("[x]", "[ ]")).replace("+new\n", "+mine\n"))
    await take(editor, paper, "Outrider: apply the review (5 of 6 accepted, 1 of them edited)")
    await editor.wait_turn()
    assert (workspace / "README.md").exists()
    assert editor.disk("new.txt") == "mine\n"
    assert editor.disk("price.py").endswith("hours * 2\n")


@pytest.mark.parametrize(
    ("marker", "wanted"), [("\n\\ No newline at end of file", "second!"), ("", "second!\n")]
)
async def test_the_end_of_the_file_is_the_persons_too(marker, wanted, reviewing):
    edit = call("edit_file", path="wide.txt", old="second", new="SECOND")
    editor, paper = await reviewing(edit, text="first\nsecond")
    text = editor.text(paper)
    assert "+SECOND\n\\ No newline at end of file\n" in text
    write(editor, paper, text.replace("+SECOND\n\\ No newline at end of file", f"+second!{marker}"))
    await take(editor, paper, "Outrider: apply the review")
    await editor.wait_turn()
    assert editor.disk("wide.txt") == f"first\n{wanted}"


async def test_what_was_written_in_it_stays_over_a_restart(workspace):
    (workspace / "wide.txt").write_text(LINES)
    model = scripted(workspace, [step(EDITS), DONE])
    how = {"answers": look_first()}
    async with start_session("stock", workspace, model, SOON, **how) as editor:
        (item,) = (await editor.run("Change it."))["open"]
        paper = f".outrider/review-{item['id']}.diff"
        editor.open(paper)
        write(editor, paper, WHOLE.replace("[x] chg_1#2", "[ ] chg_1#2"))
        editor.save(paper)
        session, turn, state_dir = editor.session_id, editor.turn_id, editor.options["stateDir"]
    async with start_session("stock", workspace, model, SOON, **how) as editor:
        await editor.command("outrider.resume", {"sessionId": session})
        await editor.event("turn.parked")
        await editor.command("outrider.open", {"what": "review", "id": item["id"]})
        assert "[ ] chg_1#2" in editor.disk(paper), "opening it again takes nothing back"
        editor.open(paper)
        await take(editor, paper, "Outrider: apply the review (2 of 3 accepted)")
        assert (await editor.wait_turn(turn))["outcome"] == "completed"
        assert await titles(editor, paper) == []
    text = (workspace / "wide.txt").read_text()
    assert text == LINES.replace("line 5\n", "LINE 5\n").replace("line 25\n", "LINE 25\n")
    await keep_sessions(Path(state_dir))


ODD = "echo '<!-- Write below this line, then take the code action. -->' && /bin/cat LICENSE"
"""A command that holds what parts its document."""


@pytest.mark.parametrize("profile", ["helix-25.07", "eglot", "helix-25.01", "kate-22.12"])
async def test_a_command_is_rejected_with_what_is_written_in_its_document(profile, begin):
    command = call("run_command", command=ODD, called="run")
    editor = await begin(profile, [step(command), DONE], SOON, answers=lambda _: Dismiss())
    await editor.run("Run it.")
    item = await asked(editor)
    paper = f".outrider/review-{item['id']}.diff"
    await editor.command("outrider.open", {"what": "review", "id": item["id"]})
    if editor.desk.uri(paper) not in editor.desk.buffers:
        editor.open(paper)
    shown = editor.text(paper)
    assert ODD in shown
    *_, says, how, _ = shown.splitlines()[:-1]
    assert says.startswith("To add a note")
    assert max(len(says), len(how)) <= 80, "editors that do not wrap lines must show all of it"
    offered = [one["title"] for one in await editor.code_actions(paper)]
    assert not [title for title in offered if "saying" in title], "nothing is written yet"
    editor.type(paper, "Ask the city first.\n")
    editor.save(paper)
    await editor.command("outrider.open", {"what": "review", "id": item["id"]})
    assert editor.disk(paper).partition("Ask the city first.")[0].startswith(shown.rstrip())
    offered = [one["title"].removeprefix("Outrider: ") for one in await editor.code_actions(paper)]
    assert [title.partition(" — ")[0] for title in offered[:2]] == [
        "Reject, saying “Ask the city first.”",
        "Allow once, saying “Ask the city first.”",
    ]
    assert not [title for title in offered if title.startswith("Allow once —")], (
        "that would throw the note away"
    )
    await editor.take_action("Outrider: Reject, saying “Ask the city first.”")
    assert (await editor.wait_turn(editor.turn_id))["outcome"] == "completed"
    status, told = results(editor)["run"]
    assert status == "denied"
    assert "Ask the city first." in told
