--- A hunk in the user's own words: a small window with the lines that it would put in. Writing it takes them.
local items = require('outrider.items')
local log = require('outrider.log')
local place = require('outrider.place')
local review = require('outrider.review')

local M = {}

local SMALLEST, BIGGEST = 3, 15

--- Let the user change what a hunk puts in.
---@param item outrider.Item
---@param hunk outrider.Hunk
---@param done fun(text: string) gets whole lines; empty where nothing is put in
function M.open(item, hunk, done)
  local lines = place.lines(review.text(item, hunk))
  local name = ('outrider://amend/%s/%s'):format(item.id, hunk.id)
  local existing = vim.fn.bufnr('^' .. vim.fn.escape(name, '[]*?\\') .. '$')
  if existing ~= -1 then
    vim.api.nvim_buf_delete(existing, { force = true })
  end
  local from = vim.api.nvim_get_current_win()
  local filetype = vim.bo.filetype
  local height = math.max(SMALLEST, math.min(BIGGEST, #lines + 1))
  vim.cmd(('belowright %dnew'):format(height))
  local buffer, window = vim.api.nvim_get_current_buf(), vim.api.nvim_get_current_win()
  vim.api.nvim_buf_set_name(buffer, name)
  vim.bo[buffer].buftype = 'acwrite'
  vim.bo[buffer].bufhidden = 'wipe'
  vim.bo[buffer].swapfile = false
  local levels = vim.bo[buffer].undolevels
  vim.bo[buffer].undolevels = -1
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].undolevels = levels
  vim.bo[buffer].modified = false
  vim.bo[buffer].filetype = filetype
  vim.wo[window][0].winbar = ('amend hunk %d of %s — :w accepts it like this · :q! leaves it%%<'):format(
    hunk.number,
    (hunk.change.path:gsub('%%', '%%%%'))
  )
  vim.api.nvim_create_autocmd('BufWriteCmd', {
    buffer = buffer,
    callback = function()
      if not items.is_open(item) then
        return log.say(
          'error',
          'Outrider does not ask that any more, so nothing takes the text; it is still here.'
        )
      end
      local written = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
      local is_empty = #written == 1 and written[1] == ''
      local text = is_empty and '' or table.concat(written, '\n') .. '\n'
      vim.bo[buffer].modified = false
      vim.schedule(function()
        pcall(vim.api.nvim_win_close, window, true)
        if vim.api.nvim_win_is_valid(from) then
          vim.api.nvim_set_current_win(from)
        end
        done(text)
      end)
    end,
  })
end

return M
