--- A proposed edit, shown where it would go: what leaves is marked, what comes stands below as virtual lines.
local client_of = require('outrider.client')
local config = require('outrider.config')
local drawing = require('outrider.drawing')
local place = require('outrider.place')
local sessions = require('outrider.sessions')

local M = {}

local namespace = vim.api.nvim_create_namespace('outrider.proposal')
local LONGEST = 1000

---@class outrider.Shown
---@field session string
---@field buffer integer
---@field marks integer[]
---@field keys string[]

--- What is shown, by item.
---@type table<string, outrider.Shown[]>
local shown = {}

local function virtual(lines, group)
  return vim.tbl_map(function(line)
    line = vim.fn.strcharpart(line, 0, LONGEST)
    return { { line == '' and ' ' or line, group } }
  end, lines)
end

local function hint(item)
  local keys = config.get().inline_keys or nil
  local parts = {}
  if keys then
    for _, pair in ipairs({
      { 'allow', 'allow once' },
      { 'session', 'this session' },
      { 'reject', 'reject' },
      { 'review', 'review' },
    }) do
      local key = keys[pair[1]]
      if key and (pair[1] ~= 'session' or vim.list_contains(item.options, 'Allow for this session')) then
        parts[#parts + 1] = key:gsub('<[Ll]ocal[Ll]eader>', vim.g.maplocalleader or '\\') .. ' ' .. pair[2]
      end
    end
  else
    parts[1] = ':Outrider answer'
  end
  return {
    {
      {
        ('Outrider: %s — %s'):format(table.concat(parts, ' · '), drawing.short(item.title, 120)),
        'OutriderProposalHint',
      },
    },
  }
end

local function mark(one, row, column, options)
  options.strict = false
  one.marks[#one.marks + 1] = vim.api.nvim_buf_set_extmark(one.buffer, namespace, row, column, options)
end

local function virtual_lines(options)
  if vim.fn.has('nvim-0.11') == 1 then
    options.virt_lines_overflow = 'scroll'
  end
  return options
end

--- The first line's lines above it are seen only where the window is scrolled over its top.
local function reveal_top(buffer, count)
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    vim.api.nvim_win_call(window, function()
      if vim.fn.line('w0') == 1 then
        vim.fn.winrestview({ topfill = count })
      end
    end)
  end
end

local function show_hunk(one, item, hunk, last)
  local removed, added = place.lines(hunk.removed), place.lines(hunk.added)
  local row = place.find(one.buffer, hunk)
  local foot = last and hint(item) or {}
  if not row then
    local lines = {
      {
        {
          'Outrider: the text here has changed; the edit is worked out again before anything happens',
          'OutriderProposalHint',
        },
      },
    }
    vim.list_extend(lines, foot)
    local count = vim.api.nvim_buf_line_count(one.buffer)
    mark(one, math.min(hunk.line, count) - 1, 0, virtual_lines({ virt_lines = lines }))
    return
  end
  local lines = virtual(added, 'OutriderProposalAdd')
  vim.list_extend(lines, foot)
  if #removed > 0 then
    mark(
      one,
      row,
      0,
      { end_row = row + #removed, hl_group = 'OutriderProposalDelete', hl_eol = true, priority = 200 }
    )
    mark(one, row + #removed - 1, 0, virtual_lines({ virt_lines = lines }))
  elseif row == 0 then
    mark(one, 0, 0, virtual_lines({ virt_lines = lines, virt_lines_above = true }))
    reveal_top(one.buffer, #lines)
  else
    mark(one, row - 1, 0, virtual_lines({ virt_lines = lines }))
  end
end

local function set_keys(one, item)
  local keys = config.get().inline_keys
  if not keys then
    return
  end
  for name, key in pairs(keys) do
    local taken = vim.api.nvim_buf_call(one.buffer, function()
      return vim.fn.maparg(key or '', 'n', false, true).buffer == 1
    end)
    if key and not taken then
      vim.keymap.set('n', key, function()
        require('outrider.items').by_key(name, M.item_at(one.buffer) or item)
      end, { buffer = one.buffer, desc = 'Outrider: ' .. name })
      one.keys[#one.keys + 1] = key
    end
  end
end

--- Show an item in the buffers it is about.
---@param session outrider.Session
---@param item outrider.Item
function M.show(session, item)
  M.hide(item.id)
  local client = vim.lsp.get_client_by_id(session.client)
  local list = {}
  for _, change in ipairs(client and session.proposals[item.callId or ''] or {}) do
    local buffer = client_of.buffer(client_of.file(client, change.path))
    if buffer and #change.hunks > 0 then
      local one = { session = session.id, buffer = buffer, marks = {}, keys = {} }
      list[#list + 1] = one
      for index, hunk in ipairs(change.hunks) do
        show_hunk(one, item, hunk, index == #change.hunks)
      end
      set_keys(one, item)
    end
  end
  shown[item.id] = #list > 0 and list or nil
end

--- Take an item away.
---@param id string
function M.hide(id)
  for _, one in ipairs(shown[id] or {}) do
    if vim.api.nvim_buf_is_valid(one.buffer) then
      for _, extmark in ipairs(one.marks) do
        vim.api.nvim_buf_del_extmark(one.buffer, namespace, extmark)
      end
      for _, key in ipairs(one.keys) do
        pcall(vim.keymap.del, 'n', key, { buffer = one.buffer })
      end
    end
  end
  shown[id] = nil
end

--- Take all of a session away.
---@param session outrider.Session
function M.hide_session(session)
  for id, list in pairs(shown) do
    if list[1].session == session.id then
      M.hide(id)
    end
  end
end

--- The open item that is shown in a buffer.
---@param buffer integer
---@return outrider.Item?
function M.item_at(buffer)
  for id, list in pairs(shown) do
    for _, one in ipairs(list) do
      if one.buffer == buffer then
        local session = sessions.get(one.session)
        return session and session:item(id)
      end
    end
  end
end

--- A buffer was read: what is asked about its file belongs into it.
---@param client vim.lsp.Client
function M.buffer_read(client)
  for _, session in ipairs(sessions.of(client.id)) do
    for _, item in ipairs(session.state ~= 'lost' and session.items or {}) do
      if item.kind == 'approval' and session.proposals[item.callId or ''] then
        M.show(session, item)
      end
    end
  end
end

--- What an earlier load of the plugin left in buffers is nobody's any more.
for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
  vim.api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
  for _, map in ipairs(vim.bo[buffer].buftype == '' and vim.api.nvim_buf_get_keymap(buffer, 'n') or {}) do
    if vim.startswith(map.desc or '', 'Outrider: ') then
      vim.api.nvim_buf_del_keymap(buffer, 'n', map.lhs)
    end
  end
end

vim.api.nvim_set_hl(0, 'OutriderProposalAdd', { link = 'DiffAdd', default = true })
vim.api.nvim_set_hl(0, 'OutriderProposalDelete', { link = 'DiffDelete', default = true })
vim.api.nvim_set_hl(0, 'OutriderProposalHint', { link = 'Question', default = true })

return M
