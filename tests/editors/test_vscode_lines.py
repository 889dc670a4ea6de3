"""VS Code at the lines of a file: what is asked there, and what several lines would become, between the lines."""

from editors.parking import BEFORE, IN_THE_WORKBENCH, Begin, chord, edit, give
from editors.workbench import plain

pytestmark = IN_THE_WORKBENCH

OLD = '''def price(hours):
    """Two for each hour begun."""
    return hours * 3


def label(hours):
'''
NEW = '''def cost(hours):
    """Two for each hour begun, the first of them free."""
    begun = -(-hours // 1)
    return max(0, begun - 1) * 2


def ticket(hours):
    """How a ticket shows it."""
'''


def test_the_lines_of_a_hunk_stand_between_those_of_the_file(begin: Begin) -> None:
    with begin([edit(OLD, NEW), {"text": "Done."}]) as bench:
        bench.open("tariff.py")
        give(bench, "The first hour is free")
        bench.until(lambda: len(bench.between()) == 2, "what would be there")
        shown = " ".join(bench.between())
        for line in ('"""Two for each hour begun, the first of them free."""', "begun = -(-hours // 1)"):
            assert f"+ {line}" in shown
        assert bench.beside() == [], "nothing is shown twice"
        assert not bench.page.locator(".panel").is_visible(), "no list of comments comes up"
        bench.shot("between")
        bench.until(lambda: bench.lens("Leave out").is_visible(), "the lenses")
        bench.focus_editor()
        bench.to_line(4)
        chord(bench, "o")
        bench.until(lambda: len(bench.between()) == 1, "that what is left out is not shown")
        chord(bench, "i")
        bench.until(lambda: not bench.between(), "that nothing is left of it")
        bench.until(lambda: bench.text() != BEFORE, "the edit")
        bench.until(lambda: not any("Take" in lens for lens in bench.lenses()), "that old lenses are gone")


def test_who_asks_at_lines_is_answered_there(begin: Begin) -> None:
    long = BEFORE + "".join(f"\n\ndef free{number}():\n    return {number}\n" for number in range(40))
    with begin([edit("* 3", "* 2"), {"text": "Done."}]) as bench:
        (bench.folder / "tariff.py").write_text(long, encoding="utf-8")
        bench.open("tariff.py")
        bench.focus_editor()
        bench.to_line(150)
        bench.page.keyboard.press("Shift+ArrowDown")
        bench.page.keyboard.press("Control+Alt+j")
        bench.page.keyboard.press("l")
        title = bench.page.locator(".quick-input-title", has_text="tariff.py:150-151")
        bench.until(title.is_visible, "which lines are meant")
        bench.type_input("Two an hour, as up there")
        bench.until(
            lambda: any("Allow once" in lens for lens in bench.lenses()), "what is proposed, scrolled to"
        )
        assert any("hours * 2" in text for text in bench.beside())
        bench.until(lambda: bench.has_editor_focus("tariff.py"), "the keyboard in the editor")
        assert "Ln 151," in plain(bench.position()), "with its selection"
        bench.shot("asked-here")
        chord(bench, "y")
        bench.until(lambda: "hours * 2" in bench.text(), "the edit")
