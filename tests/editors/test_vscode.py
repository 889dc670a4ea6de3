"""VS Code as people have it: the packaged extension in a real workbench, and the server of this checkout.

Not part of the usual run, see `README.md` beside this file.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from editors.parking import (
    AFTER,
    BEFORE,
    IN_THE_WORKBENCH,
    WHOLE_TASK,
    Begin,
    asked,
    chord,
    edit,
    give,
    set_key,
)
from editors.workbench import Workbench, plain

pytestmark = IN_THE_WORKBENCH


CUT = """
() => {
    const shown = "h1, .facts, #open button, #open input, form button, form select";
    return [...document.querySelectorAll(shown)].filter(one => one.checkVisibility()).filter(one => {
        const { left, right, top, bottom, height } = one.getBoundingClientRect();
        const seen = [[left + 1, top + 1], [right - 1, bottom - 1]].every(([x, y]) =>
            one.contains(document.elementFromPoint(x, y)));
        return !seen || height > 34;
    }).map(one => one.innerText || one.placeholder);
}
"""
"""What of the view is cut off or takes more than a line, at the width at which the side bar opens."""

READ = {"name": "read_file", "input": {"path": "tariff.py"}}


def test_a_whole_task(begin: Begin) -> None:
    with begin(WHOLE_TASK) as bench:
        bench.open("tariff.py")
        give(bench, "Make the price what its docstring says")
        asked(bench, "Edit tariff.py (+2 −1)")
        view = bench.view_text()
        assert "I look at the file first." in view
        assert "Correct the price" in view
        assert bench.view.locator("details.reasoning:not([open])").count() == 1
        bench.until(
            lambda: any("Allow all once" in lens for lens in bench.lenses()), "the lenses at the lines"
        )
        assert bench.text() == BEFORE
        bench.shot("approval")
        assert bench.view.locator("body").evaluate(CUT) == []

        bench.focus_editor()
        chord(bench, "d")
        bench.page.locator(".tab.active", has_text="tariff.py (proposed)").wait_for()
        bench.until(
            lambda: bench.page.locator(".diff-editor.side-by-side, .monaco-diff-editor").count(), "the diff"
        )
        bench.until(lambda: len(bench.lenses()) >= 2, "the lenses of the diff")
        bench.shot("diff")
        chord(bench, "y")
        bench.until(lambda: "hours * 2" in bench.text(), "the edit in the buffer")
        bench.until(lambda: not bench.page.locator(".tab", has_text="proposed").count(), "the diff is closed")
        assert (bench.folder / "tariff.py").read_text(encoding="utf-8") == BEFORE

        # One undo of the editor takes it all out, one redo puts it back.
        bench.until(lambda: bench.has_editor_focus("tariff.py"), "the keyboard in the file")
        bench.until(lambda: undone(bench), "the text without the edit")
        bench.page.keyboard.press("Control+Shift+z")
        bench.until(lambda: bench.text() == AFTER, "the text with the edit")

        asked(bench, "Run `python3 check.py` in the workspace, ")
        bench.view.locator(".card button", has_text="Allow once").click()
        bench.until(lambda: "Completed" in bench.view_text(), "the end of the turn")
        bench.until(lambda: "two for each hour now" in plain(bench.view_text()), "the answer")
        assert (bench.folder / "tariff.py").read_text(encoding="utf-8") == AFTER
        assert "checked: tests (`python3 check.py`)" in plain(bench.view_text())
        bench.until(lambda: "needs you" not in bench.status(), "a status bar at rest")
        bench.until(
            lambda: bench.lenses() == ["Outrider: undo this change"] * 2, "the lenses of what is done"
        )
        bench.shot("session")
        assert not bench.toasts(), "the view has said it"

        bench.command("Outrider: Review Changes")
        bench.page.locator(".tab.active", has_text="changes of this session").wait_for()
        bench.until(lambda: bench.page.locator(".monaco-diff-editor .view-line").count() > 5, "the changes")
        bench.shot("review")
        header = bench.page.locator(".multiDiffEntry .header").first
        assert plain(header.inner_text()).count("tariff.py") == 1, "it looks renamed"
        bench.command("Outrider: Undo Turn")
        bench.until(lambda: "undone" in bench.view_text(), "the undo")
        bench.open("tariff.py")
        bench.until(lambda: bench.text() == BEFORE, "the text of before")


def undone(bench: Workbench) -> bool:
    """Press the key of undo until it is heard: an editor that has just got the keyboard may miss it."""
    if bench.text() == AFTER:
        bench.page.keyboard.press("Control+z")
    return bench.text() == BEFORE


def test_cancel_from_the_status_bar(begin: Begin) -> None:
    with begin([{"text": "Thinking about it for a while. " * 200, "chunk": 4, "delay": 0.2}]) as bench:
        give(bench, "Think about it")
        bench.until(lambda: "step 1" in bench.status(), "the running turn")
        bench.until(lambda: "Thinking" in bench.view_text(), "the text as it comes")
        bench.page.locator('[id$="outrider.stop"] a').click()
        bench.until(lambda: "Cancelled" in bench.view_text(), "the end")
        bench.until(lambda: not bench.page.locator('[id$="outrider.stop"]').is_visible(), "no button to stop")


def made(*names: str) -> list[dict[str, Any]]:
    """Calls of the model that make files."""
    return [
        {"name": "write_file", "input": {"path": name, "content": f"{name}\n"}, "id": f"make-{name}"}
        for name in names
    ]


@pytest.mark.thorough
def test_the_edits_of_one_step_are_one_question(begin: Begin) -> None:
    turns = [
        {"tool_calls": [*edit("* 3", "* 2")["tool_calls"], *made("two.txt", "three.txt", "four.txt")]},
        {"text": "Made."},
        {"tool_calls": [*edit("* 2", "* 4")["tool_calls"], *made("five.txt", "six.txt")]},
        {"text": "Done.", "expect": {"messages_contain": ["Not that one."]}},
    ]
    with begin(turns) as bench:
        bench.open("tariff.py")
        give(bench, "Make them")
        asked(bench, "4 edits in one step")
        card, there = bench.view.locator(".card"), lambda name: (bench.folder / name).exists()
        assert card.count() == 1
        assert card.locator(".edit summary").all_inner_texts()[1] == "Create two.txt (+1)"
        assert "Outrider needs you" in bench.status()
        assert "(4)" not in bench.status(), "it is one question"
        bench.shot("together")
        card.locator("button", has_text="Allow all 4").click()
        bench.until(lambda: "Made." in bench.view_text(), "the end of the turn")
        assert bench.text() == BEFORE.replace("* 3", "* 2")
        assert all(map(there, ("two.txt", "three.txt", "four.txt")))

        give(bench, "Make more")
        asked(bench, "3 edits in one step")
        card.locator(":scope > .note").fill("Not that one.")
        card.locator(".edit", has_text="five.txt").locator("button", has_text="Reject this edit").click()
        asked(bench, "2 edits in one step")
        assert card.locator(":scope > .note").input_value() == ""
        card.locator("button", has_text="Review…").click()
        proposed = bench.page.locator(".tab", has_text="(proposed)")
        bench.until(lambda: proposed.count() == 2, "the diffs of both")
        bench.page.locator(".tab.active", has_text="tariff.py (proposed)").wait_for()
        bench.until(lambda: len(bench.lenses()) >= 2, "the lenses of the diff")
        bench.shot("together-review")
        chord(bench, "y")
        bench.until(lambda: card.locator("h2", has_text="Create six.txt (+1)").count(), "the last edit alone")
        asked(bench, "Create six.txt (+1)")
        card.locator("button", has_text="Allow once").click()
        bench.until(lambda: "Done." in bench.view_text(), "the end of the turn")
        bench.until(lambda: not proposed.count(), "the diffs are closed")
        bench.until(lambda: bench.text() == BEFORE.replace("* 3", "* 4"), "the edit in the buffer")
        assert there("six.txt")
        assert not there("five.txt")


def test_what_is_typed_while_an_edit_is_asked_is_kept_also_by_undo(begin: Begin) -> None:
    with begin([edit("* 3", "* 2"), {"text": "Done."}]) as bench:
        bench.open("tariff.py")
        give(bench, "Two an hour")
        asked(bench, "Edit tariff.py (+1 −1)")
        # Where the keyboard was in the view: once it is in the editor, no answer takes it away from there.
        bench.view.locator(".card input").first.click()
        bench.focus_editor()
        bench.page.keyboard.press("Control+Home")
        bench.page.keyboard.type("# mine\n")
        chord(bench, "y")
        bench.until(lambda: bench.text() == "# mine\n" + BEFORE.replace("* 3", "* 2"), "both changes")
        bench.until(lambda: "Completed" in bench.view_text(), "the end of the turn")
        bench.page.keyboard.type("# more\n")
        bench.command("Outrider: Undo Turn")
        bench.until(lambda: bench.text() == "# mine\n# more\n" + BEFORE, "the undo, and what was typed")


@pytest.mark.thorough
def test_reject_with_a_reason(begin: Begin) -> None:
    turns = [
        edit("    return hours * 3\n", "    rate = 2\n\n    return hours * rate\n"),
        {"text": "I leave it.", "expect": {"last_message_contains": "the price is right"}},
    ]
    with begin(turns) as bench:
        bench.open("tariff.py")
        give(bench, "Two an hour")
        asked(bench, "Edit tariff.py (+3 −1)")
        bench.until(lambda: any("+ rate = 2 + + return" in text for text in bench.between()), "the new lines")
        bench.focus_editor()
        bench.to_line(6)
        bench.page.keyboard.press("Control+k")
        bench.page.keyboard.press("Control+i")
        hover = bench.page.locator(".monaco-hover", has_text="Outrider proposes").first
        hover.wait_for()
        bench.shot("hover")
        assert plain(hover.inner_text()).endswith("- return hours * 3 + rate = 2 + + return hours * rate")
        chord(bench, "n")
        bench.type_input("the price is right")
        bench.until(lambda: "I leave it." in bench.view_text(), "the answer of the model")
        assert bench.text() == BEFORE


def test_an_edit_is_decided_hunk_by_hunk_by_keys_and_at_the_lines(begin: Begin) -> None:
    whole = {"name": "write_file", "input": {"path": "tariff.py", "content": AFTER}}
    told = {"last_message_contains": "a docstring says nothing here"}
    turns = [{"tool_calls": [READ, whole]}, {"tool_calls": [whole], "expect": told}, {"text": "Done."}]
    with begin(turns) as bench:
        bench.open("tariff.py")
        give(bench, "Make the price what its docstring says")
        asked(bench, "Edit tariff.py (+2 −1)")
        bench.focus_editor()
        bench.page.keyboard.press("Control+End")
        chord(bench, "j")
        bench.until(lambda: "Ln 6," in bench.position(), "the first hunk")
        chord(bench, "i")
        bench.until(lambda: "Ln 10," in bench.position(), "the second hunk")
        chord(bench, "k")
        bench.until(lambda: "Ln 6," in bench.position(), "the first hunk again")
        chord(bench, "j")
        bench.until(lambda: "Ln 10," in bench.position(), "the second hunk again")
        bench.until(lambda: any("1 of 2, taken" in lens for lens in bench.lenses()), "the lens of the first")
        bench.until(lambda: "Of 2 hunks 1 taken" in plain(bench.view_text()), "the view says it too")
        assert bench.text() == BEFORE
        bench.shot("hunks")
        chord(bench, "w")
        bench.type_input("a docstring says nothing here")
        bench.until(lambda: bench.text() == BEFORE.replace("* 3", "* 2"), "the first hunk alone")

        asked(bench, "Edit tariff.py (+1 −0)")
        bench.focus_editor()
        chord(bench, "d")
        bench.page.locator(".tab.active", has_text="tariff.py (proposed)").wait_for()
        bench.until(bench.has_diff_focus, "the diff has the keyboard")
        bench.until(lambda: "Ln 10," in bench.position(), "the hunk in the diff")
        chord(bench, "o")
        bench.until(lambda: not bench.page.locator(".tab", has_text="proposed").count(), "the diff is closed")
        bench.until(lambda: "Completed" in bench.view_text(), "the end of the turn")
        assert bench.text() == BEFORE.replace("* 3", "* 2")


def test_hunks_are_decided_in_the_diff(begin: Begin) -> None:
    whole = {"name": "write_file", "input": {"path": "tariff.py", "content": AFTER}}
    with begin([{"tool_calls": [READ, whole]}, {"text": "Done."}]) as bench:
        bench.open("tariff.py")
        give(bench, "Make the price what its docstring says")
        asked(bench, "Edit tariff.py (+2 −1)")
        bench.focus_editor()
        chord(bench, "d")
        bench.page.locator(".tab.active", has_text="tariff.py (proposed)").wait_for()
        bench.lens("Leave out").click()
        bench.until(lambda: any("1 of 2, left out" in lens for lens in bench.lenses()), "what was decided")
        bench.until(lambda: "hours * 2" not in bench.text(), "the diff without the hunk")
        bench.shot("diff-hunks")
        bench.lens("Allow the rest").click()
        wanted = BEFORE.replace(
            "def label(hours):\n", 'def label(hours):\n    """How a ticket shows it."""\n'
        )
        bench.until(lambda: bench.text() == wanted, "the second hunk alone")
        bench.until(lambda: "Completed" in bench.view_text(), "the end of the turn")


@pytest.mark.thorough
def test_a_hunk_is_rewritten_in_the_diff_and_the_model_is_told(begin: Begin) -> None:
    whole = {"name": "write_file", "input": {"path": "tariff.py", "content": AFTER}}
    told = {"last_message_contains": ["hours * RATE", "says nothing"]}
    turns = [{"tool_calls": [READ, whole]}, {"text": "As you like.", "expect": told}]
    # What the settings say of files is not for what is proposed.
    odd = {"[python]": {"files.encoding": "utf16le"}}
    with begin(turns, settings=odd) as bench:
        (bench.folder / "tariff.py").write_text(BEFORE, encoding="utf-16-le")
        bench.open("tariff.py")
        give(bench, "Make the price what its docstring says")
        asked(bench, "Edit tariff.py (+2 −1)")
        bench.focus_editor()
        bench.to_line(6)
        chord(bench, "m")
        bench.page.locator(".tab.active", has_text="tariff.py (proposed)").wait_for()
        bench.until(bench.has_diff_focus, "the diff has the keyboard")
        bench.until(lambda: "Ln 6," in bench.position(), "the hunk in the diff")
        bench.page.keyboard.press("End")
        bench.page.keyboard.press("Backspace")
        bench.page.keyboard.type("RATE")
        bench.until(lambda: any("rewritten" in lens for lens in bench.lenses()), "the lens says it")
        bench.until(lambda: "you rewrote 1" in plain(bench.view_text()), "the view says it too")
        bench.shot("rewrite")

        # What is no proposed line cannot go along.
        bench.page.keyboard.press("Control+Home")
        bench.page.keyboard.type("#")
        chord(bench, "y")
        bench.until(lambda: any("more than the proposed lines" in one for one in bench.toasts()), "a no")
        bench.until(bench.has_diff_focus, "the diff has the keyboard still")
        bench.page.keyboard.press("Control+z")
        bench.until(lambda: bench.text().startswith('"""What'), "the text without it")

        bench.to_line(10)
        chord(bench, "w")
        bench.type_input("it says nothing")
        bench.until(lambda: any("2 of 2, left out" in lens for lens in bench.lenses()), "the second is out")
        chord(bench, "y")
        bench.until(lambda: "As you like." in bench.view_text(), "the answer of the model")
        bench.until(lambda: not bench.page.locator(".tab", has_text="proposed").count(), "the diff is closed")
        bench.until(lambda: bench.text() == BEFORE.replace("* 3", "* RATE"), "the edit as it was rewritten")
        assert not bench.page.locator(".monaco-dialog-box").count()


@pytest.mark.thorough
def test_an_undo_asks_about_what_was_changed_since(begin: Begin) -> None:
    with begin([edit("hours * 3", "hours * 2"), {"text": "Done."}]) as bench:
        bench.open("tariff.py")
        give(bench, "Two an hour")
        asked(bench, "Edit tariff.py (+1 −1)")
        bench.focus_editor()
        chord(bench, "y")
        bench.until(lambda: "Completed" in bench.view_text(), "the end of the turn")
        bench.focus_editor()
        bench.to_line(6)
        bench.page.keyboard.press("End")
        bench.page.keyboard.type("  # for now")
        bench.command("Outrider: Undo Turn")
        dialog = bench.page.locator(".monaco-dialog-box")
        dialog.wait_for()
        assert "return hours * 2 # for now With the undo: return hours * 3" in plain(dialog.inner_text())
        bench.shot("conflict")
        dialog.locator(".monaco-button", has_text="Keep mine").click()
        bench.until(
            lambda: any("nothing was changed" in toast for toast in bench.toasts()), "what came of it"
        )
        bench.command("Outrider: Undo Turn")
        dialog.locator(".monaco-button", has_text="Take the undo").click()
        bench.until(lambda: bench.text() == BEFORE, "the text of before")


def test_the_walkthrough_leads_from_a_model_to_an_undo_and_ticks_off_what_was_done(begin: Begin) -> None:
    turns = [edit("* 3", "* 2"), {"text": "Done."}]
    with begin(turns, alone=True) as bench:
        bench.command("Welcome: Open Walkthrough...")
        bench.type_input("Get started with Outrider")
        steps = bench.page.locator(".getting-started-step")
        bench.until(lambda: steps.count() == 5, "the steps")
        shown = bench.page.locator(".getting-started-step.expanded")

        def ticked() -> list[str]:
            return (
                steps.filter(has=bench.page.locator(".codicon.complete"))
                .locator(".step-title")
                .all_inner_texts()
            )

        for title in ("Give it a key", "Give a task", "Say yes or no", "Take it back", "Choose a model"):
            steps.filter(has_text=title).first.click()
            bench.until(lambda title=title: shown.filter(has_text=title).count(), title)
        bench.shot("walkthrough")
        # Who looks at a command and leaves it has done nothing.
        bench.page.get_by_role("button", name="Choose a model", exact=True).click()
        box = bench.page.locator(".quick-input-list .monaco-list-row", has_text="Another…")
        box.wait_for()
        bench.page.keyboard.press("Escape")
        steps.filter(has_text="Take it back").first.click()
        bench.page.get_by_role("button", name="Review changes", exact=True).click()
        bench.until(
            lambda: any("has changed nothing" in toast for toast in bench.toasts()), "that there is nothing"
        )
        assert ticked() == []

        give(bench, "Two an hour")
        asked(bench, "Edit tariff.py (+1 −1)")
        bench.until(
            lambda: ticked() == ["Choose a model", "Give it a key"],
            "that a model answers, with what it needs",
        )
        bench.view.get_by_role("button", name="Allow once").click()
        bench.until(lambda: ticked()[2:] == ["Give a task", "Say yes or no"], "a task with an answer")
        bench.command("Outrider: Undo Turn")
        bench.until(lambda: len(ticked()) == 5, "all of it")
        bench.shot("walkthrough-done")


def test_a_key_reaches_the_server_by_its_environment_alone(begin: Begin, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    server = Path(sys.executable).with_name("outrider")
    command = ["/bin/sh", "-c", f'printf %s "$PARKING_KEY" > {seen}; exec {server} "$@"', "sh"]
    with begin([{"text": "Done."}], settings={"outrider.server.command": command}) as bench:
        bench.until(bench.server, "the server")
        set_key(bench, "PARKING_KEY", "sk-of-the-person")
        bench.until(lambda: seen.read_text(encoding="utf-8") == "sk-of-the-person", "a server with the key")
        written = [
            path for path in bench.home.data.rglob("*") if path.is_file() and path.suffix in {".json", ".log"}
        ]
        assert written
        assert not [path for path in written if "sk-of-the-person" in path.read_text(errors="replace")]
        bench.command("Outrider: Forget a Provider's Key…")
        bench.page.locator(".quick-input-list .monaco-list-row", has_text="PARKING_KEY").first.click()
        bench.until(lambda: seen.read_text(encoding="utf-8") == "", "a server without the key")


def test_problems_of_every_language_server_go_with_the_task(begin: Begin) -> None:
    found = "Expected comma"
    turns = [
        {"tool_calls": [{"name": "diagnostics", "input": {}}], "expect": {"messages_contain": [found]}},
        {"text": "A comma is missing.", "expect": {"last_message_contains": found}},
        {
            "text": "It is a price list.",
            "expect": {"messages_contain": ["Explain what prices.json does at line 3"]},
        },
    ]
    with begin(turns) as bench:
        (bench.folder / "prices.json").write_text('{\n  "hour": 2\n  "day": 9\n}\n', encoding="utf-8")
        bench.open("prices.json")
        bench.until(lambda: bench.page.locator(".squiggly-error").count(), "the problem")
        bench.focus_editor()
        bench.to_line(3)
        chord(bench, "f")
        bench.until(lambda: "A comma is missing." in bench.view_text(), "the answer")
        bench.focus_editor()
        bench.to_line(3)
        chord(bench, "e")
        bench.until(lambda: "It is a price list." in bench.view_text(), "the explanation")


@pytest.mark.thorough
def test_a_narrower_mode_counts_at_once_and_sessions_are_found_again(begin: Begin) -> None:
    turns = [{"text": "The first."}]
    with begin(turns) as bench:
        give(bench, "A first task")
        bench.until(lambda: "The first." in bench.view_text(), "the answer")
        bench.command("Outrider: Choose Permission Mode…")
        bench.page.locator(".quick-input-list .monaco-list-row", has_text="read-only").first.click()
        bench.until(lambda: "read-only" in bench.view_text(), "the mode")
        bench.command("Outrider: New Session")
        bench.until(lambda: "The first." not in bench.view_text(), "an empty view")
        bench.command("Outrider: Sessions…")
        bench.page.locator(".quick-input-list .monaco-list-row", has_text="A first task").first.click()
        bench.until(lambda: "The first." in bench.view_text(), "the first session")
        bench.command("Outrider: Doctor")
        bench.page.locator(
            ".quick-input-list .monaco-list-row", has_text="bash runs under the supervisor"
        ).first.wait_for()


@pytest.mark.thorough
def test_two_folders_of_one_name(begin: Begin, place: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "parking"
    other.mkdir(parents=True)
    (other / "tickets.py").write_text("LINES = 3\n", encoding="utf-8")
    both = tmp_path / "both.code-workspace"
    both.write_text(json.dumps({"folders": [{"path": str(place / "parking")}, {"path": str(other)}]}))
    given = {"path": "parking-2/tickets.py", "old": "3", "new": "4"}
    turns = [{"tool_calls": [{"name": "edit_file", "input": given}]}, {"text": "Done."}]
    with begin(turns, workspace=both) as bench:
        bench.open("tickets.py")
        give(bench, "One line more")
        asked(bench, "Edit parking-2/tickets.py (+1 −1)")
        bench.until(
            lambda: any("Allow once" in lens for lens in bench.lenses()), "the lenses in the second folder"
        )
        bench.focus_editor()
        chord(bench, "y")
        bench.until(lambda: bench.text().strip() == "LINES = 4", "the edit in the second folder")
