--- What the server and the plugin said, for `:Outrider log`.
local drawing = require('outrider.drawing')

local M = {}

local KEPT = 1000
---@type string[]
local lines = {}

local LEVELS = { vim.log.levels.ERROR, vim.log.levels.WARN, vim.log.levels.INFO, vim.log.levels.DEBUG }
local NAMES = { 'error', 'warning', 'info', 'log' }

--- Keep a text for the log.
---@param kind integer LSP's MessageType
---@param text string
function M.keep(kind, text)
  for _, line in ipairs(vim.split(text, '\n', { plain = true })) do
    lines[#lines + 1] = ('%s %-7s %s'):format(os.date('%H:%M:%S'), NAMES[kind] or 'log', line)
  end
  if #lines > KEPT then
    lines = vim.list_slice(lines, #lines - KEPT + 1)
  end
end

--- Tell the user, and keep it.
---@param kind 'error'|'warning'|'info'
---@param text string
function M.say(kind, text)
  local number = kind == 'error' and 1 or kind == 'warning' and 2 or 3
  M.keep(number, text)
  vim.notify(text, LEVELS[number], { title = 'Outrider' })
end

--- Tell the user, on one line, what no command of theirs brought: a longer message would stop the editor, and take
--- the next key of what is typed. All of it is kept.
---@param kind 'warning'|'info'
---@param text string
function M.tell(kind, text)
  local number = kind == 'warning' and 2 or 3
  M.keep(number, text)
  vim.notify(drawing.fit(text, vim.v.echospace), LEVELS[number], { title = 'Outrider' })
end

--- Where Neovim writes what servers print.
---@return string
function M.path()
  local log = vim.lsp.log
  return log and log.get_filename and log.get_filename() or vim.lsp.get_log_path()
end

--- The last thing a server printed on standard error.
---@param program string
---@return string?
function M.last_printed(program)
  local file = io.open(M.path(), 'rb')
  if not file then
    return nil
  end
  local size = file:seek('end')
  file:seek('set', math.max(0, size - 65536))
  local tail = file:read('*a')
  file:close()
  local found
  for line in tail:gmatch('[^\n]+') do
    local who, printed = line:match('"rpc"%s+"(.-)"%s+"stderr"%s+"(.*)"%s*$')
    local text = who == program and vim.trim((printed:gsub('\\n', '\n'))) or ''
    if text ~= '' then
      local all = vim.split(text, '\n', { plain = true })
      found = all[#all]
    end
  end
  return found
end

--- Show it all.
function M.open()
  vim.cmd('botright new')
  local buffer = vim.api.nvim_get_current_buf()
  vim.bo[buffer].buftype = 'nofile'
  vim.bo[buffer].bufhidden = 'wipe'
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.api.nvim_buf_set_lines(
    buffer,
    -1,
    -1,
    false,
    { '', "What servers print is in Neovim's log: " .. M.path() }
  )
  vim.bo[buffer].modifiable = false
  vim.cmd('normal! G')
end

return M
