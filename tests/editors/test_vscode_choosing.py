"""VS Code's own preview, with a box at each hunk: what is ticked there is made, what is not is rejected.

The packaged extension puts approvals before the person itself, so it is not offered there. Here it does not say that it can.
"""

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from editors.parking import BEFORE, IN_THE_WORKBENCH, WHOLE_TASK, Begin, give
from editors.workbench import Workbench, plain
from outrider.tools.choice import TOOK_NOTHING
from outrider.workspace.choosing import OWN_CHANGE, STILL_THERE

pytestmark = IN_THE_WORKBENCH

TURNS = [WHOLE_TASK[1], {"text": "Done."}]
ONE = BEFORE.replace("hours * 3", "hours * 2")


@pytest.fixture(scope="module")
def extensions(extensions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The extension as a client that does not ask in its own way."""
    changed = tmp_path_factory.mktemp("vscode") / "extensions"
    shutil.copytree(extensions, changed)
    (bundle,) = changed.glob("outrider.*/dist/extension.js")
    text = bundle.read_text(encoding="utf-8")
    for said, instead in (
        ('["ask",', "["),
        ('onRequest("window/showMessageRequest"', 'onRequest("outrider/none"'),
    ):
        assert text.count(said) == 1, said
        text = text.replace(said, instead)
    bundle.write_text(text, encoding="utf-8")
    return changed


def whole_log(bench: Workbench) -> str:
    """What the model was told, and all else that the log holds."""
    (log,) = bench.home.state.glob("outrider*.sqlite3")
    with sqlite3.connect(log) as connection:
        return "\n".join(str(json.loads(data)) for (data,) in connection.execute("SELECT data FROM events"))


def rows(bench: Workbench) -> Any:
    return bench.page.locator(".bulk-edit-panel .monaco-list-row")


def shown(bench: Workbench) -> None:
    """Choose in the editor, and wait for the preview."""
    bench.open("tariff.py")
    give(bench, "Make the price what its docstring says")
    bench.until(lambda: any("Choose…" in toast for toast in bench.toasts()), "the offer")
    bench.shot("offer")
    bench.click_toast("Choose…")
    bench.until(lambda: rows(bench).count() >= 3, "the preview")
    bench.shot("preview")
    assert bench.text() == BEFORE


def ticks(bench: Workbench) -> list[str | None]:
    return [row.get_attribute("aria-checked") for row in boxes(bench).all()]


def boxes(bench: Workbench) -> Any:
    return bench.page.locator(".bulk-edit-panel .edit-checkbox")


def press(bench: Workbench, name: str) -> None:
    bench.page.locator(".panel .monaco-button, .bulk-edit-panel .monaco-button", has_text=name).first.click()


def test_what_is_ticked_is_made(begin: Begin) -> None:
    with begin(TURNS) as bench:
        shown(bench)
        assert ticks(bench) == ["false"] * 3, "the file, and each hunk"
        boxes(bench).nth(1).click()
        bench.shot("ticked")
        press(bench, "Apply")
        bench.until(lambda: bench.text() == ONE, "the hunk that was ticked")
        bench.until(lambda: "Completed" in plain(bench.view_text()), "the end of the turn")
        bench.shot("applied")
        assert "rejected: tariff.py line 10" in whole_log(bench)
        bench.command("Outrider: Undo Turn")
        bench.until(lambda: bench.text() == BEFORE, "the text of before")


def test_discarded_is_rejected(begin: Begin) -> None:
    with begin(TURNS) as bench:
        shown(bench)
        press(bench, "Discard")
        bench.until(lambda: "Completed" in plain(bench.view_text()), "the end of the turn")
        assert bench.text() == BEFORE
        assert TOOK_NOTHING in whole_log(bench)


def test_a_text_that_changed_is_asked_about_again(begin: Begin) -> None:
    with begin(TURNS, alone=True) as bench:
        shown(bench)
        boxes(bench).nth(1).click()
        bench.open("tariff.py")
        bench.focus_editor()
        bench.page.keyboard.press("Control+Home")
        bench.page.keyboard.type("# mine ")
        press(bench, "Apply")
        bench.until(
            lambda: "has changed in the meantime" in bench.page.locator("body").inner_text(), "the refusal"
        )
        bench.shot("refused")
        bench.page.locator(".monaco-dialog-box .monaco-button").first.click()
        bench.until(lambda: sum("Edit tariff.py" in toast for toast in bench.toasts()) == 1, "the question")
        assert bench.text() == "# mine " + BEFORE


def test_a_cancelled_turn_leaves_its_preview(begin: Begin) -> None:
    with begin(TURNS) as bench:
        shown(bench)
        bench.view.locator("button", has_text="Stop").first.click()
        bench.until(
            lambda: any(STILL_THERE in plain(toast) for toast in bench.toasts()), "the word of the preview"
        )
        bench.shot("cancelled")
        assert rows(bench).count() >= 3, "it cannot be taken down"
        boxes(bench).nth(1).click()
        press(bench, "Apply")
        bench.until(lambda: bench.text() == ONE, "what was applied late")
        bench.until(lambda: any(OWN_CHANGE in plain(toast) for toast in bench.toasts()), "the word of that")
