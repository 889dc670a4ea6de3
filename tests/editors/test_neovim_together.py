"""The edits of one step in a real Neovim: one question, in which each of them can be answered by itself."""

import pytest
from neovim_plugin import AFTER, ANY_VERSION, BEFORE, DONE, EDIT

NAMES = ("two.txt", "three.txt", "four.txt")


def made(*names):
    """Calls that make files."""
    return [{"name": "write_file", "input": {"path": name, "content": f"{name}\n"}} for name in names]


def step(*names):
    """An edit of the file that is open, and files that are made, in one step."""
    return {"tool_calls": [*EDIT["tool_calls"], *made(*names)]}


def there(nvim):
    return [name for name in NAMES if (nvim.file.parent / name).exists()]


def block(nvim):
    """What the session shows of the question."""
    shown = nvim.shown
    first = next(number for number, line in enumerate(shown) if line.startswith(("? ", "› ")))
    return shown[first:]


KEYS = "  a allow all 4 · r reject all · n reject all with a note · d diffs"
ALONE = "  On the line of an edit these keys answer it alone."


@ANY_VERSION
def test_all_of_them_are_one_question_and_allowed_by_one_key(plugin, version):
    nvim = plugin([step(*NAMES), DONE], version=version).ready()
    nvim.run().until_asked(4)
    nvim.wait("heard('Outrider asks: 4 edits in one step (:Outrider answer)')")
    assert (
        nvim.lua("return #vim.tbl_filter(function(one) return one:find('Outrider asks') end, _G.said)") == 1
    )
    assert "— one of 4 edits: Edit tariff.py (+1 −1)" in nvim.marks()[-1][2][-1]
    nvim.ex("Outrider open")
    assert block(nvim) == [
        "? 4 edits in one step",
        "  • Edit tariff.py (+1 −1)",
        *(f"  • Create {name} (+1)" for name in NAMES),
        KEYS,
        ALONE,
    ]
    nvim.keys("a")
    nvim.until_done()
    assert nvim.text == AFTER
    assert there(nvim) == list(NAMES)
    assert nvim.marks() == []
    assert [line for line in nvim.shown if line.startswith("› ")] == [
        "› Edit tariff.py (+1 −1): allowed",
        *(f"› Create {name} (+1): allowed" for name in NAMES),
    ]
    assert not [line for line in nvim.shown if line.startswith("? ") or "allow all" in line]


def test_one_of_them_is_rejected_on_its_line_and_the_question_is_about_the_rest(plugin):
    nvim = plugin([step(*NAMES), DONE], texts=["Not those."]).ready()
    nvim.run().until_asked(4)
    nvim.ex("Outrider open")
    nvim.lua("vim.fn.search('• Create three.txt')")
    nvim.keys("r")
    nvim.until_asked(3)
    nvim.wait("shows('? 3 edits in one step') and shows('a allow all 3')")
    assert "› Create three.txt (+1): rejected" in nvim.shown
    # The cursor still stands there: the key once more is about nothing.
    nvim.keys("a")
    nvim.wait("heard('Outrider asks nothing here')")
    assert nvim.lua("return open()") == 3
    nvim.lua("vim.fn.search('• Create two.txt', 'b')")
    nvim.keys("a")
    nvim.until_asked(2)
    nvim.keys("Gn")
    nvim.until_done()
    assert there(nvim) == ["two.txt"]
    assert nvim.text == BEFORE
    assert "› Create four.txt (+1): rejected: Not those." in nvim.shown


@pytest.mark.thorough
def test_the_last_one_is_asked_about_like_any_edit(plugin):
    nvim = plugin([step("two.txt"), DONE]).ready()
    nvim.run().until_asked(2)
    nvim.keys("\\a")
    nvim.until_asked(1)
    nvim.wait("shows('? Create two.txt (+1)') and shows('a allow once')")
    assert not nvim.lua("return shows('edits in one step')")
    assert nvim.text == BEFORE, "nothing is made before all are answered"
    nvim.ex("Outrider open")
    nvim.keys("Ga")
    nvim.until_done()
    assert nvim.text == AFTER
    assert there(nvim) == ["two.txt"]


def test_what_is_left_takes_no_yes_before_it_can_have_been_read(plugin):
    nvim = plugin([step(*NAMES), DONE], setup={"read_seconds": 0.4}).ready()
    nvim.run().until_asked(4)
    nvim.ex("Outrider open")
    nvim.lua("""
      vim.wait(500)
      local items = require('outrider.items')
      local event = items.event
      items.event = function(session, one)
        event(session, one)
        if one.type == 'approval.resolved' then
          items.by_key('allow', items.question(session.items[1]))
        end
      end
      items.reject({ session().items[2] })
    """)
    nvim.until_asked(3)
    nvim.wait("heard('came too quickly to have read the question')")
    assert nvim.lua("return open()") == 3


@pytest.mark.parametrize(
    ("picks", "files", "text"),
    [
        (["Allow all 4"], NAMES, AFTER),
        (["Reject all"], (), BEFORE),
        (["Reject all with a note…"], (), BEFORE),
        (["One by one…", "Allow once", "Reject", "Allow once", "Reject"], ("three.txt",), AFTER),
    ],
)
def test_they_are_one_choice(picks, files, text, plugin):
    setup = {"ask": "select"}
    nvim = plugin([step(*NAMES), DONE], picks=picks, texts=["No."], setup=setup).ready()
    nvim.run()
    nvim.until_done()
    assert nvim.text == text
    assert there(nvim) == list(files)
    prompt, choices = nvim.lua("return _G.asked[1]")
    assert prompt.startswith("4 edits in one step (Edit tariff.py (+1 −1), Create two.txt (+1), ")
    assert choices == [
        "Allow all 4",
        "Reject all",
        "Reject all with a note…",
        "One by one…",
        "Look at it first",
    ]
    reason = ": No." if "note" in picks[0] else ""
    if not files:
        assert f"› Create four.txt (+1): rejected{reason}" in nvim.shown


@pytest.mark.thorough
def test_the_review_goes_through_all_of_them(plugin):
    nvim = plugin([step(*NAMES[:2]), DONE]).ready()
    nvim.run().until_asked(3)
    nvim.ex("Outrider open")
    nvim.keys("Gd")
    nvim.wait("#vim.api.nvim_list_tabpages() == 4")
    bar = "return vim.api.nvim_eval_statusline(vim.wo.winbar, { use_winbar = true, maxwidth = 200 }).str"
    assert "Edit tariff.py" in nvim.lua(bar)
    nvim.keys("a")
    nvim.until_asked(2)
    nvim.wait("#vim.api.nvim_list_tabpages() == 3")
    assert "Create two.txt" in nvim.lua(bar), "the next one"
    nvim.keys("r")
    nvim.until_asked(1)
    nvim.wait("#vim.api.nvim_list_tabpages() == 2")
    assert "Create three.txt" in nvim.lua(bar)
    nvim.keys("a")
    nvim.until_done()
    nvim.wait("#vim.api.nvim_list_tabpages() == 1")
    assert nvim.text == AFTER
    assert there(nvim) == ["three.txt"]


def test_a_command_answers_all_of_them_or_the_one_at_the_cursor(plugin):
    nvim = plugin([step(*NAMES), DONE]).ready()
    nvim.run().until_asked(4)
    nvim.ex("Outrider allow")
    nvim.until_asked(3)
    nvim.ex("enew")
    nvim.ex("Outrider reject Not now.")
    nvim.until_done()
    assert nvim.text == AFTER
    assert there(nvim) == []
    assert "› Create two.txt (+1): rejected: Not now." in nvim.shown


def test_after_a_restart_they_are_one_question_again(plugin):
    nvim = plugin([step(*NAMES), DONE]).ready()
    nvim.run().until_asked(4)
    nvim.ex("Outrider restart")
    nvim.wait("#vim.tbl_filter(function(one) return one:find('asks: 4 edits') end, _G.said) == 2")
    nvim.ex("Outrider open")
    nvim.wait("shows('? 4 edits in one step')")
    nvim.keys("Ga")
    nvim.until_done()
    assert there(nvim) == list(NAMES)
