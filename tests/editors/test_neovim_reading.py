"""In a real Neovim no key that was typed before something was asked answers it."""

import time

from neovim_plugin import AFTER, BEFORE, DONE, EDIT, call
from test_neovim_hunks import press

SLOWLY = {"text": "Slowly. " * 20, "chunk": 8, "delay": 0.05}
READ = {"read_seconds": 0.4}
TOO_EARLY = "heard('came too quickly to have read the question')"


def test_a_key_that_is_typed_ahead_in_the_session_allows_nothing(plugin):
    nvim = plugin([SLOWLY | EDIT, DONE], setup=READ).ready()
    # As soon as it is asked, the key is there: it was typed before.
    nvim.lua("""
      local items = require('outrider.items')
      local event = items.event
      items.event = function(session, one)
        event(session, one)
        if one.type == 'approval.requested' then
          items.by_key('allow', { session:item(one.data.id) })
          items.by_key('session', { session:item(one.data.id) })
          require('outrider.hunks').by_key('accept', session:item(one.data.id))
        end
      end
    """)
    nvim.run().until_asked()
    nvim.wait(TOO_EARLY)
    assert nvim.lua("return open()") == 1
    assert nvim.text == BEFORE
    nvim.ex("Outrider open")
    nvim.lua("vim.wait(500)")
    press(nvim, "a", "shows('Edit tariff.py (+1 −1): allowed')")
    nvim.until_done()
    assert nvim.text == AFTER


def test_a_choice_that_comes_at_once_is_offered_again_and_left_open(plugin):
    nvim = plugin([EDIT, DONE], picks=["Allow once"] * 9, setup={"ask": "select", **READ}).ready()
    nvim.run().until_asked()
    nvim.wait("#_G.asked == 4")
    nvim.wait(TOO_EARLY)
    assert nvim.lua("return open()") == 1
    assert nvim.text == BEFORE


def test_keys_that_are_typed_ahead_do_not_answer_the_editor_s_own_prompt(plugin):
    nvim = plugin([EDIT, DONE], setup=READ).ready()
    nvim.run().until_asked()
    # The prompt that Neovim has by itself takes what is in the queue. The keys were meant for the text.
    nvim.lua("""
      vim.ui.select = function(items, opts, done)
        local lines = { opts.prompt }
        for number, one in ipairs(items) do
          lines[#lines + 1] = ('%d: %s'):format(number, opts.format_item(one))
        end
        _G.prompts = (_G.prompts or 0) + 1
        local number = vim.fn.inputlist(lines)
        done(items[number])
      end
      vim.schedule(function()
        vim.api.nvim_feedkeys(vim.keycode('1<CR>'), 't', false)
        require('outrider.items').choose(require('outrider.items').questions(client().id)[1])
        _G.left = vim.fn.line('.')
      end)
    """)
    deadline = time.monotonic() + 20
    while not nvim.rpc.request("nvim_get_mode")["mode"].startswith(("r", "c")):
        assert time.monotonic() < deadline, "the prompt never came up"
    nvim.keys("<Esc>")
    nvim.wait("_G.left ~= nil")
    assert nvim.lua("return { _G.prompts, open() }") == [1, 1]
    assert nvim.text == BEFORE
    nvim.wait("vim.fn.line('.') == _G.left + 1")  # `1<CR>` goes one line down, as it was meant to


def test_an_answer_after_another_one_changes_nothing_and_says_so(plugin):
    command = call("run_command", command="touch made")
    nvim = plugin([command, DONE]).ready()
    nvim.run().until_asked()
    nvim.lua("_G.item = require('outrider.sessions').items(client().id)[1]")
    nvim.lua("require('outrider.items').answer(_G.item, { decision = 'reject' })")
    nvim.until_done()
    nvim.lua("require('outrider.items').answer(_G.item, { decision = 'allow_once' })")
    nvim.wait("heard('already answered, so your answer changes nothing: Run `touch made` in the workspace')")
    assert not nvim.file.with_name("made").exists()
