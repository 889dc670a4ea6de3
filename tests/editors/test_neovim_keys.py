"""Each key and map of the plugin in a real Neovim does what the help says of it."""

import pytest
from neovim_plugin import AFTER, BEFORE, DONE, EDIT, call
from test_neovim_hunks import EDITS, TARIFF, feet, press

TABS = "#vim.api.nvim_list_tabpages()"


def test_the_keys_of_the_session(plugin):
    nvim = plugin([EDIT, DONE], texts=["mind the tests"]).ready()
    nvim.run().until_asked()
    nvim.ex("Outrider open")
    press(nvim, "d", f"{TABS} == 2")
    press(nvim, "q", f"{TABS} == 1")
    press(nvim, "<CR>", "#_G.asked == 1")
    assert nvim.lua("return open()") == 1
    press(nvim, "i", "shows('you: mind the tests')")
    press(nvim, "s", "shows('› Edit tariff.py (+1 −1): allowed for this session')")
    nvim.until_done()
    assert nvim.text_of_current() != AFTER
    assert nvim.text == AFTER
    press(nvim, "U", "shows('· undone: tariff.py')")
    assert nvim.text == BEFORE
    press(nvim, "a", "heard('Outrider asks nothing')")


def test_no_and_cancel_in_the_session(plugin):
    nvim = plugin([EDIT, call("ask_user", question="Which rate?"), DONE]).ready()
    nvim.run().until_asked()
    nvim.ex("Outrider open")
    press(nvim, "r", "shows('› Edit tariff.py (+1 −1): rejected') and asks('Which rate?')")
    press(nvim, "C", "shows('■ cancelled')")
    assert nvim.text == BEFORE


def test_an_edit_is_accepted_for_the_session_at_its_lines(plugin):
    again = call("edit_file", path="tariff.py", old="hours * 2", new="hours * 4")
    nvim = plugin([EDIT, again, DONE]).ready()
    nvim.run().until_asked()
    assert "\\s accept for this session" in nvim.marks()[1][2][2]
    nvim.keys("\\s")
    nvim.until_done()
    assert nvim.text == BEFORE.replace("* 3", "* 4")


@pytest.mark.parametrize(("key", "text"), [("s", AFTER), ("<CR>", BEFORE)])
def test_the_diff_view_answers_for_the_session_and_by_a_picker(plugin, key, text):
    nvim = plugin([EDIT, DONE], picks=["Reject"]).ready()
    nvim.run().until_asked()
    nvim.keys("\\d")
    nvim.wait(f"{TABS} == 2")
    nvim.keys(key)
    nvim.until_done()
    nvim.wait(f"{TABS} == 1")
    assert nvim.text == text


def test_hunks_are_amended_and_the_rest_rejected_in_the_diff_view(plugin):
    nvim = plugin([EDITS, DONE], text=TARIFF).ready()
    nvim.run().until_asked()
    nvim.keys("\\d")
    nvim.wait(f"{TABS} == 2")
    press(nvim, "e", "vim.bo.buftype == 'acwrite'")
    nvim.keys("A.5<Esc>:w<CR>")
    nvim.wait("vim.bo.buftype == 'nofile' and vim.fn.getline(2) == 'RATE = 2.5'")
    nvim.keys("R")
    nvim.until_done()
    assert nvim.text == TARIFF.replace("HOURS = 24\n", "HOURS = 24\nRATE = 2.5\n")


def test_what_a_decided_hunk_leaves_in_place_is_no_longer_marked_as_going(plugin):
    nvim = plugin([EDITS, DONE], text=TARIFF).ready()
    nvim.run().until_asked()
    press(nvim, "6G\\r", "vim.fn.line('.') == 14")
    groups = {row: group for row, group, _ in nvim.marks() if group}
    assert groups == {5: "OutriderProposalKept", 13: "OutriderProposalDelete"}


def test_a_hunk_whose_text_is_gone_says_so(plugin):
    nvim = plugin([EDITS, DONE], text=TARIFF).ready()
    nvim.run().until_asked()
    nvim.keys("6Gcc    return 0<Esc>1G\\a")
    nvim.wait("#vim.tbl_filter(function(mark) return (mark[3][1] or ''):find('the text here has changed') end, "
              f"marks({nvim.buffer})) == 1")  # fmt: skip
    assert feet(nvim)[0] == "Outrider 1/3 ✓ accepted"


def test_keys_that_the_buffer_has_already_are_left_alone_and_ours_go_with_the_proposal(plugin):
    nvim = plugin([EDIT, DONE]).ready()
    nvim.ex("nnoremap <buffer> \\r <Cmd>let g:mine = 1<CR>")
    nvim.run().until_asked()
    press(nvim, "\\r", "vim.g.mine == 1")
    assert nvim.lua("return open()") == 1
    nvim.keys("\\a")
    nvim.until_done()
    maps = nvim.lua(
        "return vim.tbl_map(function(map) return map.lhs end, vim.api.nvim_buf_get_keymap(0, 'n'))"
    )
    assert "\\r" in maps
    assert "\\a" not in maps


def test_a_map_of_visual_mode_is_about_what_is_selected(plugin):
    nvim = plugin([{"text": "Explained."}]).ready()
    nvim.ex("xmap gx <Plug>(outrider-explain)")
    nvim.keys("3G^veegx")
    nvim.wait("shows('Explained.')")
    started = nvim.lua(
        "return vim.tbl_filter(function(event) return event.type == 'turn.started' end, "
        "ask('outrider.events', { sessionId = session().id }).events)[1].data"
    )
    assert started["mode"] == "explore"
    assert started["context"]["selection"]["range"] == {
        "start": {"line": 2, "character": 4},
        "end": {"line": 2, "character": 16},
    }


def test_keys_that_the_person_wants_none_of_are_neither_set_nor_named(plugin):
    setup = {
        "keys": {"allow": False, "session": False, "note": ""},
        "inline_keys": {"accept": False},
        "diff_keys": {"close": False},
    }
    nvim = plugin([EDIT, DONE], setup=setup).ready()
    nvim.run().until_asked()
    assert nvim.shown[-1] == "  r reject · d diff"
    assert nvim.marks()[1][2][1].startswith("Outrider \\r reject")
    nvim.ex("Outrider diff")
    nvim.wait(f"{TABS} == 2")
    press(nvim, "a", f"{TABS} == 1")
    nvim.until_done()
    assert nvim.text == AFTER
