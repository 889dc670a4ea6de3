"""A proposal decided hunk by hunk in a real Neovim, at the lines and in the diff view, and what the model hears of it."""

from neovim_plugin import ANY_VERSION, BEFORE, DONE, EVERY_VERSION, call

TARIFF = '''HOURS = 24


def price(hours):
    """Two for each hour begun."""
    return hours * 3


def rebate(hours):
    return 1


def total(hours):
    return price(hours) + rebate(hours)
'''
EDITS = call(
    "edit_file",
    path="tariff.py",
    edits=[
        {"old": "HOURS = 24\n", "new": "HOURS = 24\nRATE = 2\n"},
        {"old": "hours * 3", "new": "hours * RATE"},
        {"old": "    return price(hours) + rebate", "new": "    return price(hours) - rebate"},
    ],
)
TWO_FILES = call(
    "apply_patch",
    patch="""*** Begin Patch
*** Update File: tariff.py
@@
-    return hours * 3
+    return hours * 2
*** Update File: notes.txt
@@
-An hour costs three.
+An hour costs two.
*** Add File: rates.py
+RATE = 2
*** End Patch
""",
)
HEAD = "HOURS = 24\nRATE = 2\n"


def told(*texts):
    """The last turn of the model, which must have heard these."""
    return DONE | {"expect": {"messages_contain": list(texts)}}


def feet(nvim, buffer=None):
    """The lines that say what can be done with each hunk, or what was."""
    marks = nvim.lua("return marks(...)", nvim.buffer if buffer is None else buffer)
    return [line for mark in marks for line in mark[2] if line.startswith("Outrider ")]


def cursor(nvim):
    return nvim.lua("return vim.api.nvim_win_get_cursor(0)[1]")


def press(nvim, keys, until):
    nvim.keys(keys)
    nvim.wait(until)


@EVERY_VERSION
def test_a_hunk_is_accepted_another_is_rejected_with_a_reason_and_the_model_is_told(plugin, version):
    rejected = told(
        "rejected: tariff.py line 14, because: a rebate is taken off later", "accepted as proposed"
    )
    nvim = plugin(
        [EDITS, rejected], text=TARIFF, texts=["a rebate is taken off later"], version=version
    ).ready()
    nvim.run().until_asked()
    keys = "\\a accept · \\r reject · \\n why not · \\e amend"
    assert feet(nvim) == [f"Outrider {number}/3 {keys}" for number in (1, 2, 3)]
    assert nvim.text == TARIFF
    press(nvim, "\\j", "vim.fn.line('.') == 6")
    press(nvim, "\\j", "vim.fn.line('.') == 14")
    press(nvim, "\\k", "vim.fn.line('.') == 6")
    press(nvim, "\\a", "vim.fn.line('.') == 14")
    assert feet(nvim)[1] == "Outrider 2/3 ✓ accepted"
    press(nvim, "\\n", "vim.fn.line('.') == 1")
    assert feet(nvim)[2] == "Outrider 3/3 ✗ rejected: a rebate is taken off later"
    assert nvim.text == TARIFF, "nothing before all of it is decided"
    nvim.keys("\\a")
    nvim.until_done()
    assert nvim.text == TARIFF.replace("HOURS = 24\n", HEAD).replace("* 3", "* RATE")
    assert nvim.marks() == []
    assert "› Edit tariff.py (+3 −2): allowed (1 hunk rejected)" in nvim.shown
    nvim.keys("u")
    nvim.wait("vim.fn.getline(2) == ''")
    assert nvim.text == TARIFF, "what was taken is one undo step"


@ANY_VERSION
def test_a_hunk_is_amended_in_a_window_of_its_own(plugin, version):
    nvim = plugin(
        [EDITS, told("amended: tariff.py line 2", "RATE = 2.5")], text=TARIFF, version=version
    ).ready()
    nvim.run().until_asked()
    press(nvim, "\\e", "vim.bo.buftype == 'acwrite'")
    assert nvim.lines() == ["RATE = 2"]
    assert nvim.lua("return vim.bo.filetype") == "python"
    nvim.keys("A.5<Esc>:q!<CR>")
    nvim.wait("vim.bo.buftype == ''")
    assert "amend" in feet(nvim)[0], "a window that is left decides nothing"
    press(nvim, "\\e", "vim.bo.buftype == 'acwrite'")
    nvim.keys("A.5<Esc>:w<CR>")
    nvim.wait("vim.fn.line('.') == 6")
    assert feet(nvim)[0] == "Outrider 1/3 ✓ accepted as amended"
    assert nvim.marks()[0][2][0] == "RATE = 2.5"
    nvim.keys("\\A")
    nvim.until_done()
    assert nvim.text.startswith("HOURS = 24\nRATE = 2.5\n")
    assert "- rebate" in nvim.text


def test_what_is_left_is_rejected_and_with_it_all(plugin):
    nvim = plugin([EDITS, told("tariff.py line 2: no globals")], text=TARIFF, texts=["no globals"]).ready()
    nvim.run().until_asked()
    press(nvim, "\\n", "vim.fn.line('.') == 6")
    nvim.keys("\\R")
    nvim.until_done()
    assert nvim.text == TARIFF
    assert any("rejected" in line for line in nvim.shown)


def test_a_hunk_that_the_person_does_not_look_at_is_only_shown(plugin):
    nvim = plugin([EDITS, DONE], text=TARIFF).ready()
    nvim.run().until_asked()
    nvim.keys("8G\\a")
    nvim.wait("heard('Hunk 3 of 3: press it again')")
    assert cursor(nvim) == 14
    assert all("accept" in line and "✓" not in line for line in feet(nvim))
    assert nvim.text == TARIFF


def test_the_only_hunk_is_not_decided_about_while_it_is_out_of_sight(plugin):
    above = "".join(f"# {number}\n" for number in range(200))
    edit = call("edit_file", path="tariff.py", old="hours * 3", new="hours * 2")
    nvim = plugin([edit, DONE], text=above + BEFORE).ready()
    nvim.run().until_asked()
    press(nvim, "gg\\a", "vim.fn.line('.') == 203")
    assert nvim.lua("return open()") == 1
    nvim.keys("\\a")
    nvim.until_done()
    assert nvim.text == above + BEFORE.replace("* 3", "* 2")


def test_hunks_stay_where_they_are_while_the_person_types(plugin):
    nvim = plugin([EDITS, DONE], text=TARIFF).ready()
    nvim.run().until_asked()
    nvim.keys("ggO# tariff<Esc>")
    nvim.wait("vim.fn.getline(1) == '# tariff'")
    press(nvim, "7G\\a", "vim.fn.line('.') == 15")
    # The first hunk only puts a line in: it has no text by which it could be found.
    assert [mark[0] for mark in nvim.marks() if mark[2]] == [1, 6, 14]


def test_hunks_that_were_rejected_stay_so_when_all_is_allowed_elsewhere(plugin):
    nvim = plugin([EDITS, told("rejected: tariff.py line 2")], text=TARIFF).ready()
    nvim.run().until_asked()
    press(nvim, "\\r", "vim.fn.line('.') == 6")
    nvim.ex("Outrider open")
    nvim.keys("s")
    nvim.wait("heard('can be allowed only once')")
    assert nvim.lua("return open()") == 1
    nvim.keys("a")
    nvim.until_done()
    assert "RATE = 2" not in nvim.text
    assert "hours * RATE" in nvim.text


@ANY_VERSION
def test_the_diff_view_shows_what_would_come_of_the_decisions(plugin, version):
    nvim = plugin([EDITS, told("because: keep it")], text=TARIFF, texts=["keep it"], version=version).ready()
    nvim.run().until_asked()
    nvim.keys("\\d")
    nvim.wait("#vim.api.nvim_list_tabpages() == 2")
    assert nvim.marks() == [], "once is enough"
    assert "return hours * RATE" in nvim.text_of_current()
    labels = (
        "return vim.tbl_map(function(mark) return vim.trim(mark[4].virt_text[1][1]) end, "
        "vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_create_namespace('outrider.diff'), 0, -1, { details = true }))"
    )
    assert nvim.lua(labels) == ["1/3", "2/3", "3/3"]
    press(nvim, "]c", "vim.fn.line('.') == 7")
    nvim.keys("n")
    nvim.wait("vim.fn.getline(7) == '    return hours * 3'")
    assert nvim.lua(labels) == ["1/3", "2/3 ✗ rejected: keep it", "3/3"]
    assert cursor(nvim) == 15
    nvim.keys("A")
    nvim.until_done()
    nvim.wait("#vim.api.nvim_list_tabpages() == 1")
    assert nvim.text == TARIFF.replace("HOURS = 24\n", HEAD).replace("+ rebate", "- rebate")


def test_hunks_of_several_files_are_gone_through_one_after_the_other(plugin):
    nvim = plugin([TWO_FILES, told("rejected: notes.txt line 1", "rejected: the new file rates.py")])
    nvim.file.with_name("notes.txt").write_text("An hour costs three.\n")
    nvim.ready().run().until_asked()
    press(nvim, "3G\\a", "vim.fn.expand('%:t') == 'notes.txt'")
    assert feet(nvim, 0) == ["Outrider 2/3 \\a accept · \\r reject · \\n why not · \\e amend"]
    press(nvim, "\\r", "#vim.api.nvim_list_tabpages() == 4")
    assert nvim.text_of_current() == "RATE = 2", "a new file has no place but the diff view"
    nvim.keys("r")
    nvim.until_done()
    assert nvim.text == BEFORE.replace("* 3", "* 2")
    assert nvim.file.with_name("notes.txt").read_text() == "An hour costs three.\n"
    assert not nvim.file.with_name("rates.py").exists()


def test_hunks_are_decided_by_command_and_by_a_picker(plugin):
    nvim = plugin([EDITS, DONE], text=TARIFF, picks=["Hunk by hunk"], setup={"inline_keys": False}).ready()
    nvim.run().until_asked()
    assert feet(nvim)[0] == "Outrider 1/3 :Outrider hunk accept, reject, reason or amend"
    nvim.keys("G")
    nvim.ex("Outrider answer")
    nvim.wait("vim.fn.line('.') == 1")
    nvim.ex("Outrider hunk reject")
    nvim.ex("Outrider hunk previous")
    assert cursor(nvim) == 1
    nvim.ex("Outrider hunk next")
    nvim.ex("Outrider hunk reject")
    nvim.ex("Outrider hunk nonsense")
    nvim.wait("heard('There is no `:Outrider hunk nonsense`')")
    assert nvim.lua("return vim.fn.getcompletion('Outrider hunk re', 'cmdline')") == ["reason", "reject"]
    nvim.lua("vim.api.nvim_feedkeys(vim.keycode('<Plug>(outrider-hunk-accept)'), 'm', true)")
    nvim.until_done()
    assert nvim.text == TARIFF.replace("+ rebate", "- rebate")


@ANY_VERSION
def test_what_was_rejected_or_amended_stays_so_where_the_text_changed_and_it_is_asked_again(plugin, version):
    nvim = plugin(
        [EDITS, told("because: no globals", "amended: tariff.py line 14")],
        text=TARIFF,
        texts=["no globals"],
        version=version,
    ).ready()
    nvim.run().until_asked()
    first = nvim.lua("return session().items[1].id")
    press(nvim, "\\n", "vim.fn.line('.') == 6")
    press(nvim, "G\\e", "vim.bo.buftype == 'acwrite'")
    nvim.keys("A  # off<Esc>:w<CR>")
    nvim.wait("vim.fn.line('.') == 6 and vim.bo.buftype == ''")
    nvim.keys("A  # mine<Esc>\\a")
    nvim.wait(f"open() == 1 and session().items[1].id ~= '{first}'")
    assert feet(nvim) == [
        "Outrider 1/3 ✗ rejected: no globals",
        "Outrider 2/3 \\a accept · \\r reject · \\n why not · \\e amend",
        "Outrider 3/3 ✓ accepted as amended",
    ]
    assert nvim.lua("return heard('The text has changed, so Outrider asks again: Edit tariff.py (+3 −2)')")
    assert "* 3  # mine" in nvim.text, "nothing before the user has seen it as it is now"
    nvim.keys("\\a")
    nvim.until_done()
    assert nvim.text == TARIFF.replace("* 3", "* RATE  # mine").replace(
        "+ rebate(hours)", "- rebate(hours)  # off"
    )


def test_a_text_that_nothing_asks_for_any_more_is_not_thrown_away(plugin):
    nvim = plugin([EDITS, DONE], text=TARIFF).ready()
    nvim.run().until_asked()
    press(nvim, "\\e", "vim.bo.buftype == 'acwrite'")
    nvim.lua("ask('outrider.answer', { id = session().items[1].id, decision = 'reject' })")
    nvim.until_done()
    nvim.keys("A.5<Esc>:w<CR>")
    nvim.wait("heard('it is still here')")
    assert nvim.lines() == ["RATE = 2.5"]
    assert nvim.lua("return vim.bo.modified")


def test_hunk_by_hunk_leads_from_a_picker_to_the_text_that_is_there_already(plugin):
    nvim = plugin([EDITS, DONE], text=TARIFF, picks=["Hunk by hunk"], setup={"ask": "select"}).ready()
    nvim.rpc.request("nvim_buf_set_lines", 0, -1, -1, True, ["# unsaved"])
    nvim.run()
    nvim.wait("open() == 1 and #_G.asked == 1")
    nvim.wait("#vim.api.nvim_list_wins() == 2 and vim.fn.expand('%:t') == 'tariff.py'")
    nvim.wait("#marks(0) > 0")
    nvim.ex("Outrider open")
    nvim.ex("Outrider hunk next")
    nvim.wait("vim.fn.expand('%:t') == 'tariff.py'")
    assert nvim.lua("return #vim.api.nvim_list_wins()") == 2, "the session stays where it is"
    nvim.keys("\\A")
    nvim.until_done()
    assert "# unsaved" in nvim.text
    assert "- rebate" in nvim.text


def test_an_answer_from_elsewhere_takes_it_all_away(plugin):
    nvim = plugin([EDITS, DONE], text=TARIFF).ready()
    nvim.run().until_asked()
    press(nvim, "\\r", "vim.fn.line('.') == 6")
    nvim.keys("\\d")
    nvim.wait("#vim.api.nvim_list_tabpages() == 2")
    nvim.lua("ask('outrider.answer', { id = session().items[1].id, decision = 'reject' })")
    nvim.until_done()
    nvim.wait("#vim.api.nvim_list_tabpages() == 1")
    assert nvim.marks() == []
    assert nvim.text == TARIFF


SECOND_SERVER = """
local dispatchers
vim.lsp.start({ name = 'prices', root_dir = vim.fn.getcwd(), cmd = function(given)
  dispatchers = given
  return {
    request = function(method, _, done)
      done(nil, method == 'initialize' and { capabilities = {} } or vim.NIL)
      return true, 1
    end,
    notify = function() return true end,
    is_closing = function() return false end,
    terminate = function() end,
  }
end })
local place = { line = 2, character = 11 }
dispatchers.notification('textDocument/publishDiagnostics', { uri = vim.uri_from_bufnr(0), diagnostics = {
  { range = { start = place, ['end'] = place }, message = 'too dear', severity = 2, source = 'prices', code = 'P1' },
} })
"""


@EVERY_VERSION
def test_the_agent_sees_what_another_language_server_reports(plugin, version):
    seen = {"messages_contain": "tariff.py:3:12: warning: too dear [prices P1]"}
    nvim = plugin(
        [call("diagnostics"), {"text": "Seen.", "expect": seen}, call("diagnostics", path="tariff.py"), {"text": "Again.", "expect": seen}],
        version=version,
    ).ready()  # fmt: skip
    nvim.lua(SECOND_SERVER)
    nvim.wait("#vim.diagnostic.get() == 1")
    nvim.run("look")
    nvim.wait("shows('Seen.')")
    nvim.run("look again")
    nvim.wait("shows('Again.')")


def test_the_agent_sees_nothing_of_it_where_the_person_does_not_want_that(plugin):
    nvim = plugin(
        [call("diagnostics"), {"text": "Not seen.", "expect": {"messages_contain": "the editor does not lend its language servers"}}],
        setup={"language": False},
    ).ready()  # fmt: skip
    nvim.run("look")
    nvim.wait("shows('Not seen.')")


def test_of_two_sessions_that_ask_about_one_file_each_is_answered_by_keys(plugin):
    nvim = plugin([EDITS, DONE], text=TARIFF).ready()
    nvim.run().until_asked()
    nvim.ex("Outrider! run once more")
    nvim.wait(f"#marks({nvim.buffer}) == 10")
    nvim.keys("6G\\R")
    nvim.wait(f"#marks({nvim.buffer}) == 5")
    nvim.keys("6G\\R")
    nvim.wait(f"#marks({nvim.buffer}) == 0")
    ours = "vim.startswith(map.desc or '', 'Outrider: ')"
    assert nvim.lua(
        f"return #vim.tbl_filter(function(map) return {ours} end, vim.api.nvim_buf_get_keymap(0, 'n'))"
    ) == 0  # fmt: skip
    assert nvim.text == TARIFF
