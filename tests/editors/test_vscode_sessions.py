"""VS Code with several sessions, a server that is to be another one while something runs, and what was decided already."""

import json
import sys
from pathlib import Path

import pytest

from editors.parking import AFTER, BEFORE, IN_THE_WORKBENCH, Begin, asked, chord, edit, give, set_key
from editors.test_vscode_joining import running, waits
from editors.workbench import Workbench, plain

pytestmark = IN_THE_WORKBENCH

SLOWLY = {"text": "Slowly. " * 500, "chunk": 8, "delay": 0.2}

READ = {"name": "read_file", "input": {"path": "tariff.py"}}


@pytest.mark.thorough
def test_what_runs_is_seen_and_stopped_from_another_session(begin: Begin) -> None:
    with begin([SLOWLY, edit("* 3", "* 2"), {"text": "Done."}]) as bench:
        bench.open("tariff.py")
        give(bench, "The first task")
        bench.until(lambda: "Slowly." in bench.view_text(), "the text as it comes")
        give(bench, "The second task")
        bench.until(lambda: bench.view.locator(".waiting-list li").count(), "that it waits")

        bench.command("Outrider: New Session")
        bench.until(lambda: "Slowly." not in bench.view_text(), "an empty view")
        bench.view.locator("#task").fill("What I am writing")
        assert "step 1" in bench.status(), "the other session runs on"
        bench.command("Outrider: Steer the Running Turn…")
        title = bench.page.locator(".quick-input-title", has_text="“The first task”")
        title.wait_for()
        bench.page.keyboard.press("Escape")
        bench.page.locator('[id$="outrider.stop"]').click()

        # What waited begins now; who left that session stays where they are, and is asked in a message.
        bench.until(lambda: any("Edit tariff.py" in one for one in bench.toasts()), "the message")
        bench.shot("another-session")
        assert "Edit tariff.py" not in plain(bench.view_text())
        assert bench.view.locator("#task").input_value() == "What I am writing"
        bench.click_toast("Allow once")
        bench.until(lambda: bench.text() == BEFORE.replace("* 3", "* 2"), "the edit")
        bench.until(lambda: "step" not in bench.status(), "a status bar at rest")


@pytest.mark.thorough
def test_what_waits_in_several_sessions_is_told_apart(begin: Begin) -> None:
    with begin([edit("* 3", "* 2"), {"text": "Done."}]) as bench:
        bench.open("tariff.py")
        give(bench, "The first task")
        asked(bench, "Edit tariff.py (+1 −1)")
        bench.command("Outrider: New Session")
        bench.until(lambda: "The first task" not in bench.view_text(), "an empty view")
        give(bench, "The second task")
        bench.until(lambda: "needs you (2)" in bench.status(), "that two of them wait")
        bench.command("Outrider: Answer Pending…")
        rows = bench.page.locator(".quick-input-list .monaco-list-row")
        rows.filter(has_text="The second task").wait_for()
        bench.shot("two-wait")
        rows.filter(has_text="The first task").click()
        rows.filter(has_text="Allow once").wait_for()
        bench.read()
        rows.filter(has_text="Allow once").click()
        bench.until(lambda: bench.text() == BEFORE.replace("* 3", "* 2"), "the edit of the first")
        bench.until(lambda: "needs you" in bench.status() and "(2)" not in bench.status(), "the second waits")
        bench.focus_editor()
        chord(bench, "x")
        bench.until(lambda: "Cancelled" in bench.view_text(), "the end of the second")
        bench.until(lambda: "needs you" not in bench.status(), "a status bar at rest")


@pytest.mark.thorough
def test_a_task_of_the_light_bulb_goes_to_the_model_that_was_chosen(begin: Begin, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"turns": [{"text": "I am the other one."}]}), encoding="utf-8")
    with begin([{"text": "I am that of the settings."}], alone=True) as bench:
        bench.open("tariff.py")
        bench.until(lambda: "· ask" in bench.status(), "the server")
        bench.command("Outrider: Choose Model…")
        bench.page.locator(".quick-input-list .monaco-list-row", has_text="Another…").first.click()
        bench.type_input(f"scripted:{other}")
        bench.until(lambda: "· other.json ·" in bench.status(), "the model in the status bar")
        bench.focus_editor()
        bench.page.keyboard.press("Control+Home")
        bench.page.keyboard.type("# outrider: make it cheaper\n")
        bench.page.keyboard.press("ArrowUp")
        action = bench.page.locator(".action-widget").get_by_text("Outrider: do “make it cheaper”").first

        def offered() -> bool:
            # The menu of a moment ago may have come before the server had the comment.
            bench.page.keyboard.press("Escape")
            bench.page.keyboard.press("Control+.")
            bench.page.wait_for_timeout(1000)
            return bool(action.is_visible())

        bench.until(offered, "the action in the menu")
        action.click()
        bench.command("Outrider: Show Session View")
        bench.until(lambda: "Completed" in bench.view_text(), "the end of the turn")
        assert "I am the other one." in bench.view_text()
        assert "make it cheaper" in bench.view_text()


@pytest.mark.thorough
def test_a_lens_of_what_is_decided_means_no_other_hunk(begin: Begin) -> None:
    whole = {"name": "write_file", "input": {"path": "tariff.py", "content": AFTER}}
    of_before = {"key": "f8", "command": "outrider.client.acceptHunk", "args": "open_of_before"}
    with begin([{"tool_calls": [READ, whole]}, {"text": "Done."}], keys=[of_before], alone=True) as bench:
        bench.open("tariff.py")
        give(bench, "Make the price what its docstring says")
        asked(bench, "Edit tariff.py (+2 −1)")
        bench.focus_editor()
        bench.to_line(6)
        bench.page.keyboard.press("F8")
        bench.until(lambda: any("no edit waits" in one for one in bench.toasts()), "that it means nothing")
        chord(bench, "o")
        bench.until(lambda: any("1 of 2, left out" in lens for lens in bench.lenses()), "what was decided")
        assert not any("taken" in lens for lens in bench.lenses())


@pytest.mark.thorough
def test_a_new_key_or_server_breaks_nothing_off_and_counts_with_the_next_task(
    begin: Begin, place: Path, tmp_path: Path
) -> None:
    seen, began, go = tmp_path / "seen", place / "parking" / "began", place / "parking" / "go"
    server = Path(sys.executable).with_name("outrider")
    other = tmp_path / "other"
    command = ["/bin/sh", "-c", f'printf %s "$PARKING_KEY" > {seen}; exec {server} "$@"', "sh"]
    wait = {"command": "touch began; while [ ! -e go ]; do sleep 0.1; done; echo went on"}
    turns = [
        {"tool_calls": [{"name": "run_command", "input": wait}]},
        {"text": "It went on.", "expect": {"last_message_contains": "went on"}},
        {"text": "With the key."},
    ]
    full = {"outrider.server.command": command, "outrider.permissionMode": "full"}
    with begin(turns, settings=full, alone=True) as bench:
        give(bench, "Run it")
        bench.until(began.exists, "the command")
        set_key(bench, "PARKING_KEY", "sk-of-the-person")
        bench.until(lambda: any("from the next task on" in one for one in bench.toasts()), "when it counts")
        bench.shot("new-key")
        bench.change_setting("outrider.server.command", [*command[:2], f"touch {other}; {command[2]}", "sh"])
        bench.until(lambda: any("the other server" in one for one in bench.toasts()), "and the server")
        go.touch()
        bench.until(lambda: "It went on." in bench.view_text(), "the turn as if nothing had happened")
        assert seen.read_text(encoding="utf-8") == ""
        assert not other.exists()
        bench.until(lambda: "step" not in bench.status(), "a status bar at rest")
        give(bench, "And now?")
        bench.until(lambda: "With the key." in bench.view_text(), "the next task")
        assert seen.read_text(encoding="utf-8") == "sk-of-the-person"
        assert other.exists()


def anew(bench: Workbench) -> None:
    """Begin a new session, whose box takes the keyboard when it comes up."""
    bench.command("Outrider: New Session")
    bench.until(
        lambda: bench.view.evaluate("document.activeElement?.id") == "task", "the keyboard in the box"
    )


def test_sessions_stand_in_a_tree_where_they_are_found_named_copied_and_deleted(begin: Begin) -> None:
    turns = [{"text": "There is a zebra."}, edit("* 3", "* 2"), {"text": "Done."}]
    with begin(turns) as bench:
        rows = bench.page.locator('.pane:has([aria-label="Sessions Section"]) .monaco-list-row')
        texts = lambda: [plain(text) for text in rows.all_inner_texts()]  # noqa: E731
        row = lambda text: rows.filter(has_text=text).first  # noqa: E731
        said = lambda text: row(text).get_attribute("aria-label") or ""  # noqa: E731

        def act(line: str, action: str) -> None:
            row(line).hover()
            row(line).locator(f'.action-label[aria-label^="{action}"]').click()

        bench.command("Outrider: Show Sessions")
        bench.page.get_by_text("There is no session in this workspace yet.").wait_for()
        bench.open("tariff.py")
        for number, task in enumerate(("The first task", "The second task"), start=1):
            anew(bench)
            give(bench, task)
            bench.until(
                lambda number=number: len(texts()) == number + 1, "the session in the tree, under its day"
            )
            bench.until(lambda task=task: "completed" in said(task), "that its turn has ended")
        give(bench, "And cheaper")
        asked(bench, "Edit tariff.py (+1 −1)")
        bench.until(lambda: "shown · needs you" in said("The second task"), "that it waits")
        assert texts()[0] == "Today2"
        assert not bench.page.get_by_text("There is no session in this workspace yet.").is_visible()
        bench.shot("sessions-tree")

        # Another one is opened by a click.
        row("The first task").click()
        bench.until(lambda: "And cheaper" not in bench.view_text(), "the session in the view")
        bench.until(lambda: "shown" in said("The first task"), "which one is looked at")

        act("The first task", "Rename Session")
        bench.type_input("Prices by the hour")
        bench.until(lambda: row("Prices by the hour").count(), "its new name")
        bench.until(lambda: "Prices by the hour" in bench.view_text(), "the name in the view")

        # It is found by the words of any task or answer.
        bench.command("Outrider: Find Sessions…")
        bench.type_input("cheaper and")
        bench.until(lambda: len(texts()) == 2 and "“And cheaper”" in texts()[1], "what was found, and where")
        assert bench.page.get_by_text("Sessions with “cheaper and”").is_visible()
        bench.shot("sessions-found")

        # Nothing is deleted without a yes.
        act("The second task", "Delete Session")
        dialog = bench.page.locator(".monaco-dialog-box")
        dialog.get_by_text("Delete the session “The second task”?").wait_for()
        dialog.get_by_role("button", name="Cancel").click()
        assert row("The second task").count()
        act("The second task", "Delete Session")
        dialog.get_by_role("button", name="Delete", exact=True).click()
        nothing = bench.page.get_by_text("No session with “cheaper and”")
        bench.until(nothing.is_visible, "that nothing is found any more")
        bench.page.locator('.pane:has([aria-label="Sessions Section"])').hover()
        bench.page.locator('.action-label[aria-label="Show All Sessions"]').click()
        bench.until(lambda: len(texts()) == 2, "all that are left")

        bench.until(lambda: "needs you" not in bench.status(), "that it asks no more")

        # One that is looked at is gone from the view too; its copy stays.
        row("Prices by the hour").click(button="right")
        bench.page.locator(".monaco-menu").get_by_text("Fork Session").click()
        bench.until(lambda: len(texts()) == 3 and sum("shown" in text for text in texts()) == 1, "the copy")
        rows.filter(has_text="shown").click()
        rows.filter(has_text="shown").press("Delete")
        dialog.get_by_role("button", name="Delete", exact=True).click()
        bench.until(lambda: len(texts()) == 2, "that it is deleted")
        bench.until(lambda: "zebra" not in bench.view_text(), "an empty view")

        # One after the other there are no days.
        bench.page.locator('.pane:has([aria-label="Sessions Section"])').hover()
        bench.page.locator('.action-label[aria-label="List One After the Other"]').click()
        bench.until(lambda: len(texts()) == 1, "the sessions alone")
        bench.page.locator('.action-label[aria-label="Group by Day"]').click()
        bench.until(lambda: texts()[0] == "Today1", "the days again")


@pytest.mark.thorough
def test_the_tree_follows_what_another_process_does(begin: Begin) -> None:
    turns = [waits("began", "go"), {"text": "It went on."}]
    with begin(turns) as bench:
        bench.command("Outrider: Show Sessions")
        bench.page.get_by_text("There is no session in this workspace yet.").wait_for()
        row = bench.page.locator(
            '.pane:has([aria-label="Sessions Section"]) .monaco-list-row', has_text="From a shell"
        )
        with running(bench, "From a shell"):
            bench.until(
                lambda: row.count() and "running in another window" in row.inner_text(), "the session there"
            )
            row.click()
            bench.until(
                lambda: "another window or editor runs this" in bench.view_text(), "that it is joined"
            )
            (bench.folder / "go").touch()
            bench.until(lambda: "completed" in row.get_attribute("aria-label"), "that it has ended")
            bench.until(lambda: "It went on." in bench.view_text(), "what it said")
