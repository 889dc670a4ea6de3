--- A proposal in full: the file beside what would become of it, in the editor's own diff, in a tab of its own.
local client_of = require('outrider.client')
local config = require('outrider.config')
local place = require('outrider.place')
local sessions = require('outrider.sessions')

local M = {}

--- The tabs of an item.
---@type table<string, integer[]>
local tabs = {}

local function scratch(name, lines, filetype)
  local existing = vim.fn.bufnr('^' .. vim.fn.escape(name, '[]*?\\') .. '$')
  if existing ~= -1 then
    pcall(vim.api.nvim_buf_delete, existing, { force = true })
  end
  local buffer = vim.api.nvim_create_buf(false, true)
  pcall(vim.api.nvim_buf_set_name, buffer, name)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].bufhidden = 'wipe'
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].filetype = filetype
  return buffer
end

local function set_keys(buffer, item)
  local keys = config.get().keys
  for _, name in ipairs({ 'allow', 'session', 'reject', 'note', 'answer' }) do
    vim.keymap.set('n', keys[name], function()
      require('outrider.items').by_key(name, item)
    end, { buffer = buffer, nowait = true, desc = 'Outrider: ' .. name })
  end
  vim.keymap.set('n', keys.close, function()
    M.close(item.id)
  end, { buffer = buffer, nowait = true, desc = 'Outrider: close the review' })
end

local function bar(item)
  local keys = config.get().keys
  local title = require('outrider.drawing').short(item.title, 100):gsub('%%', '%%%%')
  return ('%s allow once · %s reject · %s note · %s close — %s%%<'):format(
    keys.allow,
    keys.reject,
    keys.note,
    keys.close,
    title
  )
end

local function tab_of(item, buffer)
  vim.cmd.tabnew()
  local empty = vim.api.nvim_get_current_buf()
  vim.api.nvim_win_set_buf(0, buffer)
  pcall(vim.api.nvim_buf_delete, empty, { force = true })
  vim.wo[0][0].winbar = bar(item)
  tabs[item.id] = tabs[item.id] or {}
  table.insert(tabs[item.id], vim.api.nvim_get_current_tabpage())
end

--- The file as it is: its buffer, loaded for the purpose if need be, or nothing where there is no file.
local function before(file, name)
  if file and (client_of.buffer(file) or vim.uv.fs_stat(file)) then
    local buffer = client_of.buffer(file) or vim.fn.bufadd(file)
    vim.fn.bufload(buffer)
    return buffer
  end
  return scratch(name .. ' (nothing)', {}, '')
end

local function diff(client, item, change)
  local file = client_of.file(client, change.path)
  local name = ('outrider://proposal/%s/%s'):format(item.id, change.to or change.path)
  local now = before(file, name)
  local lines = change.operation == 'delete' and {} or place.with(now, change.hunks)
  if not lines then
    return false
  end
  local filetype = vim.bo[now].filetype ~= '' and vim.bo[now].filetype
    or vim.filetype.match({ filename = change.to or change.path, contents = lines })
    or ''
  local proposed = scratch(name, lines, filetype)
  tab_of(item, proposed)
  local right = vim.api.nvim_get_current_win()
  vim.api.nvim_open_win(now, false, { split = 'left', win = right })
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    vim.api.nvim_win_call(window, function()
      vim.cmd.diffthis()
    end)
  end
  set_keys(proposed, item)
  vim.api.nvim_set_current_win(right)
  vim.cmd('silent! normal! gg]c')
  return true
end

--- Show an item. The keys of the session answer it there.
---@param item outrider.Item
function M.open(item)
  M.close(item.id)
  local session = sessions.get(item.sessionId)
  local client = session and vim.lsp.get_client_by_id(session.client)
  if not session or not client then
    return
  end
  -- Once is enough, and the diff stays in line.
  require('outrider.inline').hide(item.id)
  local whole = true
  for _, change in ipairs(session.proposals[item.callId or ''] or {}) do
    local operation = change.operation or 'edit'
    whole = operation ~= 'rename' and diff(client, item, change) and whole
  end
  if not tabs[item.id] or not whole then
    local lines = vim.split(vim.trim(item.title .. '\n\n' .. item.detail), '\n', { plain = true })
    local buffer = scratch(('outrider://item/%s'):format(item.id), lines, 'diff')
    tab_of(item, buffer)
    set_keys(buffer, item)
  end
end

--- Close the tabs of an item; the file's own windows elsewhere stay as they are.
---@param id string
function M.close(id)
  local open = tabs[id] or {}
  tabs[id] = nil
  for _, session in pairs(#open > 0 and sessions.all() or {}) do
    local item = session:item(id)
    if item and session.state ~= 'lost' then
      require('outrider.inline').show(session, item)
    end
  end
  for _, tab in ipairs(open) do
    if vim.api.nvim_tabpage_is_valid(tab) then
      for _, window in ipairs(vim.api.nvim_tabpage_list_wins(tab)) do
        vim.api.nvim_win_call(window, function()
          vim.cmd('diffoff')
        end)
      end
      if #vim.api.nvim_list_tabpages() > 1 then
        vim.cmd.tabclose({ args = { tostring(vim.api.nvim_tabpage_get_number(tab)) } })
      end
    end
  end
end

return M
