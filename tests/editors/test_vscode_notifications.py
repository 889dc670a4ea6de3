"""VS Code has the system tell the user, who works in another window, that they are needed or that something is done."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from editors.parking import BEFORE, IN_THE_WORKBENCH, Begin, asked, edit, give
from editors.workbench import Workbench

pytestmark = IN_THE_WORKBENCH

FAKE = """#!/bin/sh
for one in "$@"; do printf '[%s]' "$one"; done >> "$(dirname "$0")/shown"
echo >> "$(dirname "$0")/shown"
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folders of these tests, with a `notify-send` on the path that writes down what it is to show."""
    place = tmp_path_factory.mktemp("workbench")
    program = place / "bin" / "notify-send"
    program.parent.mkdir()
    program.write_text(FAKE, encoding="utf-8")
    program.chmod(0o755)
    # The workbench asks the user's shell for the path.
    profile = place / "home" / ".profile"
    profile.parent.mkdir()
    profile.write_text(f'PATH="{program.parent}:$PATH"\n', encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(program.parent), prepend=":")
        yield place


def shown(place: Path) -> list[str]:
    """What the system showed."""
    file = place / "bin" / "shown"
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def look_away(bench: Workbench) -> None:
    """Work in another window from now on. A page without a screen always thinks that it is looked at."""
    bench.page.evaluate("""
        document.hasFocus = () => false;
        document.dispatchEvent(new Event('visibilitychange'));
    """)


def test_who_works_elsewhere_is_told_by_the_system(begin: Begin, place: Path) -> None:
    turns = [edit("* 3", "* 2"), {"text": "Done."}, {"text": "Slowly. " * 20, "chunk": 8, "delay": 0.2}]
    with begin(turns, alone=True) as bench:
        bench.open("tariff.py")
        look_away(bench)
        # Whatever the task is called, it is no option and no markup.
        give(bench, "<b>Two</b> an hour; --help")
        bench.until(lambda: len(shown(place)) == 1, "that somebody is needed")
        task = "[&lt;b&gt;Two&lt;/b&gt; an hour; --help]"
        assert shown(place) == [f"[--app-name=Outrider][--][Outrider needs you]{task}"]
        asked(bench, "Edit tariff.py (+1 −1)")
        bench.view.get_by_role("button", name="Allow once").click()
        bench.until(lambda: bench.text() == BEFORE.replace("* 3", "* 2"), "the edit")
        bench.until(lambda: len(shown(place)) == 2, "that it is done")
        assert shown(place)[1] == f"[--app-name=Outrider][--][Outrider has finished]{task}"

        # Who stops it is not told, and who wants no word either; the next that is done is told of.
        give(bench, "Once more")
        bench.until(lambda: "Slowly." in bench.view_text(), "the text")
        bench.change_setting("outrider.notifications", "never")
        bench.view.get_by_role("button", name="Stop").click()
        bench.until(lambda: "Cancelled" in bench.view_text(), "the end")
        bench.command("Outrider: New Session")
        bench.until(lambda: "Once more" not in bench.view_text(), "an empty view")
        give(bench, "Another task")
        bench.until(lambda: "Done." in bench.view_text(), "its end")
        bench.change_setting("outrider.notifications", "waitingAndDone")
        give(bench, "And then?")
        bench.until(lambda: len(shown(place)) == 3, "that it is done")
        assert shown(place)[2] == "[--app-name=Outrider][--][Outrider has finished][Another task]"


@pytest.mark.thorough
def test_who_looks_at_the_window_is_not_told_by_the_system(begin: Begin, place: Path) -> None:
    before = len(shown(place))
    with begin([edit("* 3", "* 2"), {"text": "Done."}, {"text": "That too."}], alone=True) as bench:
        bench.open("tariff.py")
        give(bench, "Two an hour")
        asked(bench, "Edit tariff.py (+1 −1)")
        bench.view.get_by_role("button", name="Allow once").click()
        bench.until(lambda: "Completed" in bench.view_text(), "the end")
        look_away(bench)
        give(bench, "And then?")
        bench.until(lambda: len(shown(place)) > before, "what came while nobody looked")
        assert len(shown(place)) == before + 1
