"""VS Code with odd files: folders of odd names, what an editor hides of a file, what it cannot save."""

from pathlib import Path

import pytest

from editors.parking import BEFORE, IN_THE_WORKBENCH, Begin, asked, chord, edit, give
from editors.workbench import plain

pytestmark = IN_THE_WORKBENCH

MARKED = "\ufeff# prices - \U0001f17f\ufe0f\r\n\tday = '\U0001f17f' # ä\r\nhour = 3"
"""A byte order mark, Windows line ends, a tab, characters that UTF-16 has in two, no line end at the end."""


def test_a_file_with_a_byte_order_mark_in_a_folder_of_an_odd_name(begin: Begin, tmp_path: Path) -> None:
    folder = tmp_path / "pärk ing 100% #1 & %41"
    folder.mkdir()
    link = tmp_path / "lïnk [to] %2F"
    link.symlink_to(folder)
    file = folder / "prices.py"
    file.write_bytes(MARKED.encode())
    edits = [
        {"old": "# prices -", "new": "# Prices -"},
        {"old": "'\U0001f17f' #", "new": "'\U0001f17f\U0001f697' #"},
        {"old": "hour = 3", "new": "hour = 2"},
    ]
    call = {"name": "edit_file", "input": {"path": "prices.py", "edits": edits}}
    turns = [{"tool_calls": [call]}, {"text": "Done."}]
    with begin(turns, workspace=link) as bench:
        give(bench, "Two an hour")
        asked(bench, "Edit prices.py (+3 −3)")
        # The file is not open: what is proposed is known by its bytes.
        bench.view.locator(".card button", has_text="Review…").click()
        bench.page.locator(".tab.active", has_text="prices.py (proposed)").wait_for()
        bench.until(lambda: "# Prices -" in bench.text(), "the first hunk, at the byte order mark")
        bench.until(lambda: "hour = 2" in bench.text(), "the last hunk, without a line end")
        bench.until(bench.has_diff_focus, "the diff has the keyboard")
        bench.page.keyboard.press("Control+End")
        bench.page.keyboard.type("  # now")
        bench.until(lambda: "You rewrote it" in bench.view_text(), "what was written")
        bench.shot("marked")
        chord(bench, "y")
        bench.until(lambda: "Completed" in bench.view_text(), "the end of the turn")
        bench.until(lambda: not bench.page.locator(".tab", has_text="proposed").count(), "the diff is closed")
        assert not any("Failed to save" in toast for toast in bench.toasts())
        after = (
            MARKED.replace("# prices", "# Prices")
            .replace("'\U0001f17f'", "'\U0001f17f\U0001f697'")
            .replace("hour = 3", "hour = 2  # now")
        )
        assert file.read_bytes() == after.encode()


@pytest.mark.thorough
def test_what_cannot_be_saved_is_named_and_the_question_stays(begin: Begin) -> None:
    cat = {"tool_calls": [{"name": "run_command", "input": {"command": "/bin/cat tariff.py"}}]}
    with begin([edit("* 3", "* 2"), cat, {"text": "Done."}]) as bench:
        bench.open("tariff.py")
        give(bench, "Two an hour")
        asked(bench, "Edit tariff.py (+1 −1)")
        bench.view.locator(".card button", has_text="Allow once").click()
        asked(bench, "Run `/bin/cat tariff.py` in the workspace, ")
        # The editor does not write over what another program wrote there meanwhile.
        other = f"{BEFORE}\n# by another program\n"
        (bench.folder / "tariff.py").write_text(other, encoding="utf-8")
        bench.view.locator(".card button", has_text="Allow once").click()
        asked(bench, "are not saved")
        bench.view.locator(".card button", has_text="Save and continue").click()
        bench.until(
            lambda: any("could not save tariff.py" in plain(toast) for toast in bench.toasts()),
            "what happened",
        )
        bench.shot("not-saved")
        assert "needs you" in bench.status()
        bench.view.locator(".card button", has_text="Run without saving").click()
        bench.until(lambda: "Completed" in bench.view_text(), "the end of the turn")
        assert (bench.folder / "tariff.py").read_text(encoding="utf-8") == other


@pytest.mark.thorough
def test_what_the_editor_treats_as_read_only_is_said_to_be_so(begin: Begin) -> None:
    cat = {"tool_calls": [{"name": "run_command", "input": {"command": "/bin/cat tariff.py"}}]}
    settings = {"files.readonlyInclude": {"**/tariff.py": True}}
    with begin([edit("* 3", "* 2"), cat, {"text": "Done."}], settings=settings) as bench:
        bench.open("tariff.py")
        give(bench, "Two an hour")
        asked(bench, "Edit tariff.py (+1 −1)")
        bench.view.locator(".card button", has_text="Allow once").click()
        bench.until(
            lambda: any(
                "cannot be saved: it treats the file as read-only" in plain(t) for t in bench.toasts()
            ),
            "what happened",
        )
        asked(bench, "Run `/bin/cat tariff.py` in the workspace, ")
        bench.view.locator(".card button", has_text="Allow once").click()
        asked(bench, "are not saved")
        bench.view.locator(".card button", has_text="Save and continue").click()
        bench.until(
            lambda: any("could not save tariff.py (it treats" in plain(toast) for toast in bench.toasts()),
            "why it goes not on",
        )
        assert "needs you" in bench.status(), "the question stays"
        bench.view.locator(".card button", has_text="Run without saving").click()
        bench.until(lambda: "Completed" in bench.view_text(), "the end of the turn")
        assert (bench.folder / "tariff.py").read_text(encoding="utf-8") == BEFORE
