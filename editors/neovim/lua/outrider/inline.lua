--- A proposed edit, shown where it would go: what leaves is marked, what comes stands below as virtual lines.
local client_of = require('outrider.client')
local config = require('outrider.config')
local drawing = require('outrider.drawing')
local place = require('outrider.place')
local review = require('outrider.review')
local sessions = require('outrider.sessions')

local M = {}

local namespace = vim.api.nvim_create_namespace('outrider.proposal')
local LONGEST = 1000
--- Lines of one hunk that are shown in the text; the diff view has all.
local MOST = 400

---@class outrider.Anchor
---@field hunk outrider.Hunk
---@field mark integer
---@field shift integer lines from the mark to the hunk
---@field count integer lines that it takes out

---@class outrider.Shown
---@field session string
---@field buffer integer
---@field marks integer[]
---@field hunks outrider.Hunk[]
---@field anchors outrider.Anchor[]
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

--- A key as it is typed.
---@param key string
---@return string
local function typed(key)
  local function leader(name)
    local set = vim.g[name]
    return set and set ~= '' and vim.fn.keytrans(set) or '\\'
  end
  return (
    key
      :gsub('<[Ll]ocal[Ll]eader>', function()
        return leader('maplocalleader')
      end)
      :gsub('<[Ll]eader>', function()
        return leader('mapleader')
      end)
  )
end

--- Keys and what they do, as far as there are keys.
---@param pairs_of string[][]
---@return string?
local function named(pairs_of)
  local keys = config.get().inline_keys or {}
  local parts = {}
  for _, pair in ipairs(pairs_of) do
    local key = keys[pair[1]]
    if key then
      parts[#parts + 1] = typed(key) .. ' ' .. pair[2]
    end
  end
  return #parts > 0 and table.concat(parts, ' · ') or nil
end

local OF_HUNK =
  { { 'accept', 'accept' }, { 'reject', 'reject' }, { 'reason', 'why not' }, { 'amend', 'amend' } }

local function of_all(item, count)
  local list = {}
  if count > 1 then
    local what = #review.left(item) < count and 'the rest' or 'all'
    list = { { 'allow', 'accept ' .. what }, { 'reject_all', 'reject ' .. what }, { 'next', 'next' } }
  elseif vim.list_contains(item.options, 'Allow for this session') then
    list = { { 'session', 'accept for this session' } }
  end
  list[#list + 1] = { 'diff', 'diff' }
  return list
end

--- The lines below a hunk: what was decided or can be, and below the last one what can be done with all of them.
local function foot(item, hunk, count, is_last)
  local said, group = review.said(item, hunk)
  local number = count > 1 and ('Outrider %d/%d '):format(hunk.number, count) or 'Outrider '
  local what = said or named(OF_HUNK) or ':Outrider hunk accept, reject, reason or amend'
  local lines = { { { number, 'OutriderProposalHint' }, { what, group or 'OutriderProposalHint' } } }
  if is_last then
    local all = named(of_all(item, count)) or ':Outrider allow, reject or diff'
    local edits = #require('outrider.items').question(item)
    local of_step = edits > 1 and ('one of %d edits: '):format(edits) or ''
    local what_of = of_step .. drawing.short(drawing.head(item), 120)
    lines[#lines + 1] = { { ('%s — %s'):format(all, what_of), 'OutriderProposalHint' } }
  end
  return lines
end

local function mark(one, row, column, options)
  options.strict = false
  local id = vim.api.nvim_buf_set_extmark(one.buffer, namespace, row, column, options)
  one.marks[#one.marks + 1] = id
  return id
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

--- The row of a hunk now. What takes nothing out has no text to be found by, so it stays with its mark.
local function row_of(buffer, hunk, before)
  return before[hunk.id] and hunk.hunk.removed == '' and before[hunk.id] or place.find(buffer, hunk.hunk)
end

---@param one outrider.Shown
---@param item outrider.Item
---@param hunk outrider.Hunk
---@param row integer?
---@param below table[] the lines that end it
local function show_hunk(one, item, hunk, row, below)
  local count = #place.lines(hunk.hunk.removed)
  local function anchor(id, shift)
    one.anchors[#one.anchors + 1] = { hunk = hunk, mark = id, shift = shift, count = count }
  end
  if not row then
    local lines = {
      {
        {
          'Outrider: the text here has changed; the edit is worked out again before anything happens',
          'OutriderProposalHint',
        },
      },
    }
    vim.list_extend(lines, below)
    local last = vim.api.nvim_buf_line_count(one.buffer)
    anchor(mark(one, math.min(hunk.hunk.line, last) - 1, 0, virtual_lines({ virt_lines = lines })), 0)
    return
  end
  local decision = review.decided(item, hunk)
  local rejected = decision ~= nil and decision.decision == 'reject'
  local added = place.lines(review.text(item, hunk))
  local lines =
    virtual(vim.list_slice(added, 1, MOST), rejected and 'OutriderProposalRejected' or 'OutriderProposalAdd')
  if #added > MOST then
    local more = ('… %d more lines: the diff view has all of them'):format(#added - MOST)
    lines[#lines + 1] = { { more, 'OutriderProposalHint' } }
  end
  vim.list_extend(lines, below)
  if count > 0 then
    local group = rejected and 'OutriderProposalKept' or 'OutriderProposalDelete'
    local over = { end_row = row + count, hl_group = group, hl_eol = true, priority = 200 }
    anchor(mark(one, row, 0, over), 0)
    mark(one, row + count - 1, 0, virtual_lines({ virt_lines = lines }))
  elseif row == 0 then
    anchor(mark(one, 0, 0, virtual_lines({ virt_lines = lines, virt_lines_above = true })), 0)
    reveal_top(one.buffer, #lines)
  else
    anchor(mark(one, row - 1, 0, virtual_lines({ virt_lines = lines })), 1)
  end
end

local function set_keys(one, item)
  local keys = config.get().inline_keys
  for name, key in pairs(keys or {}) do
    local taken = vim.api.nvim_buf_call(one.buffer, function()
      return vim.fn.maparg(key or '', 'n', false, true).buffer == 1
    end)
    if key and not taken then
      vim.keymap.set('n', key, function()
        require('outrider.hunks').by_key(name, M.item_at(one.buffer) or item)
      end, { buffer = one.buffer, desc = 'Outrider: ' .. name })
      one.keys[#one.keys + 1] = key
    end
  end
end

--- Where hunks are now, by their ids.
---@param id string
---@return table<string, integer>
local function rows(id)
  local found = {}
  for _, one in ipairs(shown[id] or {}) do
    for _, place_of in ipairs(M.places(one.buffer, id)) do
      found[place_of.hunk.id] = place_of.row
    end
  end
  return found
end

--- Show an item in the buffers it is about.
---@param session outrider.Session
---@param item outrider.Item
function M.show(session, item)
  local before = rows(item.id)
  M.hide(item.id)
  if require('outrider.diff').is_open(item.id) then
    return -- once is enough, and the diff stays in line
  end
  local client = vim.lsp.get_client_by_id(session.client)
  local hunks, by_buffer, list = review.hunks(item), {}, {}
  for _, hunk in ipairs(client and hunks or {}) do
    local is_edit = (hunk.change.operation or 'edit') == 'edit'
    local buffer = is_edit and client_of.buffer(client_of.file(client, hunk.change.path)) or nil
    if buffer then
      if not by_buffer[buffer] then
        by_buffer[buffer] = {}
        list[#list + 1] = {
          session = session.id,
          buffer = buffer,
          marks = {},
          anchors = {},
          keys = {},
          hunks = by_buffer[buffer],
        }
      end
      table.insert(by_buffer[buffer], hunk)
    end
  end
  for _, one in ipairs(list) do
    for index, hunk in ipairs(one.hunks) do
      local row = row_of(one.buffer, hunk, before)
      show_hunk(one, item, hunk, row, foot(item, hunk, #hunks, index == #one.hunks))
    end
    set_keys(one, item)
  end
  shown[item.id] = #list > 0 and list or nil
end

--- Show an item again, if it is shown: something about it was decided.
---@param item outrider.Item
function M.refresh(item)
  local session = shown[item.id] and sessions.get(item.sessionId)
  if session then
    M.show(session, item)
  end
end

--- Take an item away. What else is shown in its buffers keeps its keys.
---@param id string
function M.hide(id)
  local hidden = shown[id] or {}
  for _, one in ipairs(hidden) do
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
  for _, list in pairs(#hidden > 0 and shown or {}) do
    for _, other in ipairs(list) do
      if vim.api.nvim_buf_is_valid(other.buffer) then
        set_keys(other, M.item_at(other.buffer))
      end
    end
  end
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

--- The open item that is shown in a buffer; of several the one that the cursor is on.
---@param buffer integer
---@return outrider.Item?
function M.item_at(buffer)
  local row = buffer == vim.api.nvim_get_current_buf() and vim.api.nvim_win_get_cursor(0)[1] - 1
  local found
  for id, list in pairs(shown) do
    for _, one in ipairs(list) do
      local session = one.buffer == buffer and sessions.get(one.session)
      local item = session and session:item(id)
      local is_here = item
        and row
        and vim.iter(M.places(buffer, id)):any(function(place_of)
          return place_of.first <= row and row <= place_of.last
        end)
      found = item and (is_here or not found) and item or found
    end
  end
  return found
end

---@class outrider.Place
---@field hunk outrider.Hunk
---@field row integer where it is, from 0
---@field first integer the first and the last line that the cursor is on it
---@field last integer

--- The hunks of an item that are shown in a buffer, from the top.
---@param buffer integer
---@param id string the item
---@return outrider.Place[]
function M.places(buffer, id)
  local found = {}
  for _, one in ipairs(shown[id] or {}) do
    for _, anchor in ipairs(one.buffer == buffer and vim.api.nvim_buf_is_valid(buffer) and one.anchors or {}) do
      local at = vim.api.nvim_buf_get_extmark_by_id(buffer, namespace, anchor.mark, {})[1]
      if at then
        local last = math.max(at, at + anchor.count - 1)
        found[#found + 1] = { hunk = anchor.hunk, row = at + anchor.shift, first = at, last = last }
      end
    end
  end
  table.sort(found, function(one, other)
    return one.first < other.first
  end)
  return found
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
vim.api.nvim_set_hl(0, 'OutriderProposalAccepted', { link = 'DiagnosticOk', default = true })
vim.api.nvim_set_hl(0, 'OutriderProposalRejected', { link = 'Comment', default = true })
vim.api.nvim_set_hl(0, 'OutriderProposalKept', { link = 'Normal', default = true })

return M
