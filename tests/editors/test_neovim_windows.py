"""Where the plugin shows things in a real Neovim: windows, tabs, lines of the text, the line for messages."""

import pytest
from neovim_plugin import AFTER, BEFORE, DONE, EDIT, call

TABS = "#vim.api.nvim_list_tabpages()"
ABOVE = call("edit_file", path="tariff.py", old="def price", new="RATE = 2\n\n\ndef price")
LONG = "".join(f"LINE_{number} = {number}\n" for number in range(500))


def tab(nvim):
    return nvim.lua("return vim.api.nvim_tabpage_get_number(0)")


@pytest.mark.parametrize(("columns", "kind"), [(74, "col"), (75, "row")])
def test_where_there_is_no_room_beside_the_text_the_session_stands_below(plugin, columns, kind):
    nvim = plugin([{"text": "Hello."}]).ready()
    nvim.rpc.request("nvim_ui_attach", columns, 30, {})
    nvim.run("greet").until_done()
    nvim.wait("#vim.api.nvim_list_wins() == 2")
    assert nvim.lua("return vim.fn.winlayout()[1]") == kind


def test_a_session_is_shown_in_the_tab_in_which_it_is_asked_for(plugin):
    nvim = plugin([{"text": "One."}, {"text": "Two."}]).ready()
    nvim.run("first").until_done()
    nvim.ex(f"tabedit {nvim.file}")
    nvim.run("second").wait("shows('Two.')")
    nvim.wait("#vim.api.nvim_tabpage_list_wins(0) == 2")
    assert tab(nvim) == 2
    nvim.ex("Outrider open")
    assert tab(nvim) == 2
    assert nvim.lua("return vim.b.outrider_session == session().id")
    nvim.ex("wincmd p")
    nvim.ex("Outrider open")
    assert nvim.lua("return #vim.api.nvim_tabpage_list_wins(0)") == 2, "it is there already"


@pytest.mark.parametrize("key", ["q", "a"])
def test_a_diff_that_is_left_leads_back_to_the_tab_that_it_was_opened_from(plugin, key):
    nvim = plugin([EDIT, DONE]).ready()
    nvim.ex("tabnew")
    nvim.ex("tabfirst")
    nvim.run().until_asked()
    nvim.keys("3G\\d")
    nvim.wait(f"{TABS} == 3")
    nvim.keys(key)
    nvim.wait(f"{TABS} == 2")
    assert tab(nvim) == 1


def test_a_question_is_told_on_one_line_however_long_it_is(plugin):
    wordy = f"echo {'very ' * 60}long"
    nvim = plugin([call("run_command", command=wordy), EDIT, DONE]).ready()
    nvim.run().until_asked()
    told, room = nvim.lua("return { _G.said[#_G.said], vim.v.echospace }")
    assert told.startswith("Outrider asks: Run: echo very")
    assert told.endswith("… (:Outrider answer)")
    assert len(told) == room, "a longer one would stop the editor, and take the next key"
    nvim.ex("Outrider reject")
    nvim.wait("asks('Edit tariff.py')")
    nvim.wait("heard('Outrider asks: Edit tariff.py (+1 −1) (:Outrider answer)')")


def test_what_comes_above_the_first_line_is_seen(plugin):
    nvim = plugin([ABOVE, DONE]).ready()
    nvim.run().until_asked()
    assert nvim.lua("return vim.fn.winsaveview().topfill") == 5, "three lines and the two below them"
    nvim.keys("\\a")
    nvim.until_done()
    assert nvim.text == "RATE = 2\n\n\n" + BEFORE


def test_of_a_very_long_hunk_a_part_is_shown_and_the_diff_view_named(plugin):
    nvim = plugin([call("write_file", path="tariff.py", content=LONG, overwrite=True), DONE]).ready()
    nvim.run().until_asked()
    shown = nvim.marks()[-1][2]
    assert shown[:400] == LONG.splitlines()[:400]
    assert shown[400] == "… 100 more lines: the diff view has all of them"
    nvim.keys("\\d")
    nvim.wait(f"{TABS} == 2")
    assert nvim.text_of_current() + "\n" == LONG


def test_what_is_asked_about_a_file_is_shown_in_it_as_soon_as_it_is_opened(plugin):
    other = call("edit_file", path="notes.txt", old="three", new="two")
    nvim = plugin([other, DONE])
    notes = nvim.file.with_name("notes.txt")
    notes.write_text("An hour costs three.\n")
    nvim.ready().run().until_asked()
    nvim.ex(f"edit {notes}")
    nvim.wait("#marks(0) == 2")
    nvim.keys("\\a")
    nvim.until_done()
    assert nvim.text_of_current() == "An hour costs two."


def test_only_files_of_the_project_are_told_to_its_server(plugin, tmp_path):
    nvim = plugin([DONE]).ready()
    outside = tmp_path / "workspace-of-another" / "secret.py"
    outside.parent.mkdir()
    outside.write_text("x = 1\n")
    nvim.ex(f"edit {outside}")
    buffer = nvim.lua("return vim.api.nvim_get_current_buf()")
    inside = nvim.file.with_name("inside.py")
    inside.write_text("y = 1\n")
    nvim.ex(f"edit {inside}")
    attached = "#vim.lsp.get_clients({{ name = 'outrider', bufnr = {} }})"
    nvim.wait(f"{attached.format(0)} == 1")
    assert nvim.lua(f"return {attached.format(buffer)}") == 0


def test_the_colours_outlast_a_change_of_the_scheme(plugin):
    nvim = plugin([EDIT, DONE]).ready()
    nvim.run().until_asked()
    nvim.ex("colorscheme habamax")
    for group, wanted in {"OutriderProposalAdd": "DiffAdd", "outriderTask": "Title"}.items():
        assert nvim.lua("return vim.api.nvim_get_hl(0, { name = ... }).link", group) == wanted
    nvim.keys("\\a")
    nvim.until_done()
    assert nvim.text == AFTER


def test_a_session_whose_buffer_was_wiped_out_is_shown_whole_again(plugin):
    look = call("read_file", path="tariff.py")
    nvim = plugin([look, EDIT, DONE]).ready().run()
    nvim.until_asked()
    before = nvim.shown
    nvim.lua("vim.api.nvim_buf_delete(require('outrider.view').buffer(session()), { force = true })")
    nvim.ex("Outrider open")
    nvim.wait("shows('? Edit tariff.py')")
    assert nvim.shown == before
    nvim.keys("\\a")
    nvim.until_done()
    shown = nvim.shown
    assert shown.count("# fix the price") == 1
    assert any(line.startswith("› Edit tariff.py") for line in shown), "it goes on where it was"
