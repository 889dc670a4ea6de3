"""Where the plugin shows things in a real Neovim: windows, tabs, lines of the text, the line for messages."""

import pytest
from neovim_plugin import AFTER, ANY_VERSION, BEFORE, DONE, EDIT, call, until

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


@pytest.mark.thorough
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


@ANY_VERSION
@pytest.mark.parametrize("command", ["tabclose", "quit"])
def test_a_diff_that_is_closed_by_hand_leaves_the_proposal_at_its_lines(plugin, command, version):
    nvim = plugin([EDIT, DONE], version=version).ready()
    nvim.run().until_asked()
    nvim.keys("\\d")
    nvim.wait(f"{TABS} == 2 and #marks({nvim.buffer}) == 0")
    nvim.ex(command)
    nvim.wait(f"{TABS} == 1 and #marks({nvim.buffer}) == 2 and not vim.wo.diff")
    nvim.keys("3G\\a")
    nvim.until_done()
    assert nvim.text == AFTER


def test_what_else_is_opened_in_the_tab_of_a_diff_stays(plugin):
    nvim = plugin([EDIT, DONE]).ready()
    nvim.run().until_asked()
    nvim.keys("\\d")
    nvim.wait(f"{TABS} == 2")
    nvim.ex(f"edit {nvim.file.with_name('script.json')}")
    nvim.wait(f"#marks({nvim.buffer}) == 2")
    assert nvim.lua("return vim.fs.basename(vim.api.nvim_buf_get_name(0))") == "script.json"
    windows = "vim.tbl_map(function(one) return { vim.wo[one].diff, vim.wo[one].winbar } end, vim.api.nvim_tabpage_list_wins(0))"
    assert nvim.lua(f"return {windows}") == [[False, ""], [False, ""]]


@pytest.mark.thorough
def test_a_diff_that_became_the_only_tab_goes_with_its_answer(plugin):
    nvim = plugin([EDIT, DONE]).ready()
    nvim.run().until_asked()
    nvim.keys("\\d")
    nvim.wait(f"{TABS} == 2")
    nvim.ex("tabonly")
    nvim.keys("a")
    nvim.until_done()
    nvim.wait("#vim.api.nvim_list_wins() == 1")
    assert nvim.lua("return vim.api.nvim_get_current_buf()") == nvim.buffer
    assert nvim.lua("return vim.wo.winbar") == ""


def test_a_hunk_in_a_closed_fold_is_shown_before_it_is_decided_about(plugin):
    nvim = plugin([EDIT, DONE]).ready()
    nvim.ex("2,3fold | 1,3fold")
    nvim.run().until_asked()
    nvim.keys("gg\\a")
    nvim.wait("heard('Hunk 1 of 1: press it again to decide about this one')")
    assert nvim.text == BEFORE
    assert nvim.lua("return { vim.fn.line('.'), vim.fn.foldclosed('.') }") == [3, -1]
    nvim.keys("<C-o>")
    nvim.wait("vim.fn.line('.') == 1")
    nvim.keys("3G\\a")
    nvim.until_done()
    assert nvim.text == AFTER


def test_keys_are_named_as_they_are_typed(plugin):
    nvim = plugin([EDIT, DONE], setup={"inline_keys": {"next": "<Leader>j", "reject": "<leader>%"}})
    nvim.ex("let mapleader = '%' | let maplocalleader = ' '")
    nvim.ready().run().until_asked()
    assert nvim.marks()[1][2][1].startswith("Outrider <Space>a accept · %% reject · <Space>n why not")
    nvim.keys("<Space>a")
    nvim.until_done()
    assert nvim.text == AFTER


def test_a_question_is_told_on_one_line_however_long_it_is(plugin):
    wordy = f"/bin/echo {'very ' * 60}long"
    nvim = plugin([call("run_command", command=wordy), EDIT, DONE]).ready()
    nvim.run().until_asked()
    told, room = nvim.lua("return { _G.said[#_G.said], vim.v.echospace }")
    assert told.startswith("Outrider asks: Run `/bin/echo very")
    assert told.endswith("… (:Outrider answer)")
    assert len(told) == room, "a longer one would stop the editor, and take the next key"
    nvim.ex("Outrider reject")
    nvim.wait("asks('Edit tariff.py')")
    nvim.wait("heard('Outrider asks: Edit tariff.py (+1 −1) (:Outrider answer)')")


def test_a_warning_that_nobody_asked_for_is_told_on_one_line_and_kept_whole(plugin):
    nvim = plugin([DONE]).ready()
    told, room = nvim.lua("""
        local show = vim.lsp.get_clients({ name = 'outrider' })[1].handlers['window/showMessage']
        show(nil, { type = 2, message = 'Outrider: ' .. ('long '):rep(100) }, { client_id = 1 })
        return { _G.said[#_G.said], vim.v.echospace }
    """)
    assert told.startswith("Outrider: long long")
    assert nvim.lua("return vim.fn.strdisplaywidth(...)", told) <= room
    nvim.ex("Outrider log")
    nvim.wait(
        "table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), ' '):find(('long '):rep(90), 1, true) ~= nil"
    )


ECHO = """
local keep = vim.notify
vim.notify = function(text) keep(text); vim.api.nvim_echo({ { text } }, true, {}) end
"""
"""Shows messages as Neovim itself does."""


@ANY_VERSION
@pytest.mark.parametrize("letter", ["word ", "単語"])
def test_the_end_of_a_task_takes_no_key_however_long_its_answer_is(plugin, version, letter):
    nvim = plugin([{"text": letter * 60}], version=version).ready()
    nvim.rpc.request("nvim_ui_attach", 80, 24, {})
    nvim.lua(ECHO)
    nvim.run()
    nvim.keys("Ahello")
    nvim.wait("heard('Outrider, completed: ')")
    nvim.keys("<CR>you")
    until(lambda: nvim.rpc.request("nvim_get_mode")["mode"][0] == "r" or "you" in nvim.text)
    assert nvim.text.startswith(BEFORE.splitlines()[0] + "hello\nyou")
    nvim.ex("Outrider log")
    assert letter * 60 in nvim.text_of_current(), "all of it is there"


@pytest.mark.thorough
def test_what_comes_above_the_first_line_is_seen(plugin):
    nvim = plugin([ABOVE, DONE]).ready()
    nvim.run().until_asked()
    assert nvim.lua("return vim.fn.winsaveview().topfill") == 5, "three lines and the two below them"
    nvim.keys("\\a")
    nvim.until_done()
    assert nvim.text == "RATE = 2\n\n\n" + BEFORE


def test_of_a_very_long_hunk_a_part_is_shown_and_the_diff_view_named(plugin):
    nvim = plugin(
        [call("read_file", path="tariff.py"), call("write_file", path="tariff.py", content=LONG), DONE]
    ).ready()
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


def test_a_change_is_gone_to_beside_the_session_and_never_in_its_place(plugin):
    nvim = plugin(
        [EDIT, DONE], init={"permissionMode": "auto-edit"}, picks=["tariff.py:3", "Go there"] * 2
    ).ready()
    nvim.run().until_done()
    nvim.ex(f"edit {nvim.file.with_name('script.json')}")
    nvim.ex("Outrider open")
    nvim.ex("Outrider changes")
    nvim.wait(f"vim.api.nvim_get_current_buf() == {nvim.buffer} and vim.fn.line('.') == 3")
    assert nvim.lua("return vim.tbl_map(vim.api.nvim_win_get_buf, vim.api.nvim_list_wins())") == [
        nvim.buffer,
        nvim.lua("return require('outrider.view').buffer(session())"),
    ]
    nvim.ex("quit! | Outrider changes")
    nvim.wait("heard('tariff.py cannot be shown in this window: go to another one')")


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


@pytest.mark.thorough
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
