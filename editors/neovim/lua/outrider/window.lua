--- The window of the session buffer.
local client_of = require('outrider.client')
local config = require('outrider.config')
local log = require('outrider.log')

local M = {}

--- Columns of the editor below which there is no room for a window beside the text: there it stands below.
local NARROWEST = 75

local function set_options(window)
  local options = {
    wrap = true,
    linebreak = true,
    breakindent = true,
    number = false,
    relativenumber = false,
    signcolumn = 'no',
    spell = false,
    -- The signs of Markdown in answers are hidden, but in the line that the cursor is on.
    conceallevel = 2,
    concealcursor = '',
    foldmethod = 'expr',
    -- What was thought and what tools gave is folded, by the signs that such lines begin with.
    foldexpr = "getline(v:lnum)=~#'^[│┊]'",
    foldlevel = 0,
    foldminlines = 2,
    foldenable = true,
    foldtext = "v:lua.require'outrider.window'.foldtext()",
    winbar = "%{v:lua.require'outrider'.status()}%<",
    winfixwidth = true,
  }
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { win = window, scope = 'local' })
  end
end

--- The line that stands for a fold.
---@return string
function M.foldtext()
  local first = vim.fn.getline(vim.v.foldstart)
  return ('%s … %d lines'):format(first, vim.v.foldend - vim.v.foldstart + 1)
end

--- Show a file, where it is shown already if it is; never in the place of the session.
---@param file string
---@return boolean whether it is shown; where it is not, that is told
function M.show_file(file)
  local buffer = client_of.buffer(file)
  local window = buffer and vim.fn.bufwinid(buffer) or -1
  if window ~= -1 then
    vim.api.nvim_set_current_win(window)
    return true
  end
  if vim.b.outrider_session then
    vim.cmd.wincmd('p')
  end
  local command = buffer and { cmd = 'buffer', args = { tostring(buffer) } }
    or { cmd = 'edit', args = { vim.fn.fnameescape(file) } }
  local is_shown = not vim.b.outrider_session and pcall(vim.cmd, command)
  if not is_shown then
    log.say(
      'error',
      ('%s cannot be shown in this window: go to another one.'):format(vim.fn.fnamemodify(file, ':.'))
    )
  end
  return is_shown
end

--- Open a window for a buffer as the configuration says; the cursor stays where it is.
---@param buffer integer
---@return integer window
function M.open(buffer)
  local view = config.get().view
  local window
  if view.layout == 'float' then
    local width, height = math.floor(vim.o.columns * 0.8), math.floor(vim.o.lines * 0.8)
    window = vim.api.nvim_open_win(buffer, false, {
      relative = 'editor',
      width = width,
      height = height,
      col = math.floor((vim.o.columns - width) / 2),
      row = math.floor((vim.o.lines - height) / 2) - 1,
      border = 'rounded',
      title = ' Outrider ',
    })
  elseif view.layout == 'below' or vim.o.columns < NARROWEST then
    window = vim.api.nvim_open_win(
      buffer,
      false,
      { split = 'below', win = -1, height = math.floor(vim.o.lines * view.size) }
    )
  else
    window = vim.api.nvim_open_win(
      buffer,
      false,
      { split = 'right', win = -1, width = math.floor(vim.o.columns * view.size) }
    )
  end
  set_options(window)
  return window
end

return M
