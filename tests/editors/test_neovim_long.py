"""The session view of Neovim takes long answers in linear time."""

import pytest

# Feeds frames through the view, and measures the processor time of it in a fresh session.
FEED = """
local bytes, piece, line, name = ...
local Session, view = require('outrider.session'), require('outrider.view')
local session = Session.new(0, name)
view.open(session, false)
local text = line:rep(math.ceil(piece / #line)):sub(1, piece)
local function cpu()
  local usage = vim.uv.getrusage()
  return usage.utime.sec + usage.stime.sec + (usage.utime.usec + usage.stime.usec) / 1e6
end
local began = cpu()
for offset = 0, bytes - 1, piece do
  view.frame(session, { sessionId = name, turnId = 't', kind = 'text', messageId = 'm', offset = offset, text = text })
end
local spent = cpu() - began
local lines = vim.api.nvim_buf_get_lines(view.buffer(session), 1, -1, false)
local _, ends = text:gsub('\\n', '')
assert(#table.concat(lines) == bytes - ends * bytes / piece, 'nothing is lost')
vim.cmd('bwipeout! ' .. view.buffer(session))
return spent
"""
MEGABYTE = 1024 * 1024
LINE = "Many words make a line of text, and many lines an answer.\n"
# What the clock of the processor can tell.
FLOOR = 0.01


@pytest.mark.parametrize("line", [LINE, "word "], ids=["lines", "one line"])
def test_four_times_the_answer_takes_about_four_times_as_long(plugin, line):
    nvim = plugin()

    def best(size):
        return min(nvim.lua(FEED, size, 16 * 1024, line, f"ses_{size}_{n}") for n in range(3))

    one, four = max(best(MEGABYTE), FLOOR), best(4 * MEGABYTE)
    assert four <= 6 * one, f"{four} s for 4 MB, {one} s for 1 MB"


@pytest.mark.parametrize("line", [LINE, "word "], ids=["lines", "one line"])
def test_a_single_delta_of_two_megabytes_is_taken(plugin, line):
    nvim = plugin()
    half = max(nvim.lua(FEED, MEGABYTE // 2, MEGABYTE // 2, line, "ses_half"), FLOOR)
    assert nvim.lua(FEED, 2 * MEGABYTE, 2 * MEGABYTE, line, "ses_whole") <= 6 * half
