--- A proposal in full: the file beside what would become of it, in the editor's own diff, in a tab of its own.
local client_of = require('outrider.client')
local config = require('outrider.config')
local place = require('outrider.place')
local review = require('outrider.review')
local sessions = require('outrider.sessions')

local M = {}

local namespace = vim.api.nvim_create_namespace('outrider.diff')

---@class outrider.DiffTab
---@field tab integer
---@field from integer the tab that the user came from
---@field now? integer the buffer on the left
---@field proposed integer the buffer on the right
---@field change? outrider.EditProposed nil where only the title and the detail are shown
---@field places outrider.Place[]

--- The tabs of an item.
---@type table<string, outrider.DiffTab[]>
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
  local keys = config.get().diff_keys
  for name, key in pairs(keys) do
    if key and name ~= 'close' then
      vim.keymap.set('n', key, function()
        require('outrider.hunks').by_key(name, item)
      end, { buffer = buffer, nowait = true, desc = 'Outrider: ' .. name })
    end
  end
  if keys.close then
    vim.keymap.set('n', keys.close, function()
      M.close(item.id)
    end, { buffer = buffer, nowait = true, desc = 'Outrider: close the diff' })
  end
end

local function bar(item)
  local keys = config.get().diff_keys
  local title =
    require('outrider.drawing').short(require('outrider.drawing').head(item), 100):gsub('%%', '%%%%')
  local parts = {}
  local function add(name, what)
    if keys[name] then
      parts[#parts + 1] = keys[name] .. ' ' .. what
    end
  end
  local count = #review.hunks(item)
  add('accept', 'accept')
  add('reject', 'reject')
  if count > 0 then
    add('reason', 'why not')
    add('amend', 'amend')
  end
  add('close', 'close')
  if count > 1 then
    add('allow', 'accept rest')
    add('reject_all', 'reject rest')
  end
  return ('%s — %s%%<'):format(table.concat(parts, ' · '), title)
end

--- Close a tab of an item, if it still shows nothing else.
---@param one outrider.DiffTab
local function close_tab(one)
  if not vim.api.nvim_tabpage_is_valid(one.tab) then
    return
  end
  local is_ours = true
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(one.tab)) do
    local shown = vim.api.nvim_win_get_buf(window)
    is_ours = is_ours and (shown == one.now or shown == one.proposed)
    vim.api.nvim_win_call(window, function()
      vim.cmd('diffoff')
    end)
    if shown == one.now then
      vim.wo[window][0].winbar = ''
    end
  end
  if not is_ours then
    return
  end
  -- Neovim would go to the next tab, whatever that is.
  if vim.api.nvim_get_current_tabpage() == one.tab and vim.api.nvim_tabpage_is_valid(one.from) then
    vim.api.nvim_set_current_tabpage(one.from)
  end
  if #vim.api.nvim_list_tabpages() > 1 then
    vim.cmd.tabclose({ args = { tostring(vim.api.nvim_tabpage_get_number(one.tab)) } })
  end
end

--- The user closed what was shown of a change, by a command of their own.
---@param id string
---@param one outrider.DiffTab
local function closed_by_hand(id, one)
  if vim.list_contains(tabs[id] or {}, one) then
    if #tabs[id] == 1 then
      return M.close(id)
    end
    tabs[id] = vim.tbl_filter(function(other)
      return other ~= one
    end, tabs[id])
    close_tab(one)
  end
end

---@param item outrider.Item
---@param one outrider.DiffTab
local function open_tab(item, one)
  local earlier = (tabs[item.id] or {})[1]
  one.from = earlier and earlier.from or vim.api.nvim_get_current_tabpage()
  vim.cmd.tabnew()
  local empty = vim.api.nvim_get_current_buf()
  vim.api.nvim_win_set_buf(0, one.proposed)
  pcall(vim.api.nvim_buf_delete, empty, { force = true })
  vim.wo[0][0].winbar = bar(item)
  one.tab = vim.api.nvim_get_current_tabpage()
  tabs[item.id] = tabs[item.id] or {}
  table.insert(tabs[item.id], one)
  set_keys(one.proposed, item)
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = one.proposed,
    callback = vim.schedule_wrap(function()
      closed_by_hand(item.id, one)
    end),
  })
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

--- What the change would leave, as it is decided so far, and where its hunks are in it.
---@return string[]? lines
---@return outrider.Place[] places
local function outcome(item, change, now)
  local hunks = vim.tbl_filter(function(hunk)
    return hunk.change.changeId == change.changeId
  end, review.hunks(item))
  local function is_rejected(hunk)
    local one = review.decided(item, hunk)
    return one ~= nil and one.decision == 'reject'
  end
  local places = {}
  if change.operation == 'delete' and not is_rejected(hunks[1]) then
    return {}, { { hunk = hunks[1], row = 0, first = 0, last = 0 } }
  end
  local wire = vim.tbl_map(function(hunk)
    local added = is_rejected(hunk) and hunk.hunk.removed or review.text(item, hunk)
    return { line = hunk.hunk.line, removed = hunk.hunk.removed, added = added }
  end, hunks)
  local lines, found = place.with(now, wire)
  for index, one in ipairs(found or {}) do
    local first = one.count > 0 and one.row or math.max(one.row - 1, 0)
    local last = math.max(first, one.row + one.count - 1)
    places[index] = { hunk = hunks[index], row = one.row, first = first, last = last }
  end
  return lines, places
end

local function fill(buffer, lines)
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable = false
end

--- Say at each hunk what was decided about it.
local function label(item, one)
  vim.api.nvim_buf_clear_namespace(one.proposed, namespace, 0, -1)
  local count = #review.hunks(item)
  for _, at in ipairs(one.places) do
    local said, group = review.said(item, at.hunk)
    if said or count > 1 then
      local text = (' %s%s'):format(count > 1 and ('%d/%d '):format(at.hunk.number, count) or '', said or '')
      local row = math.min(at.first, vim.api.nvim_buf_line_count(one.proposed) - 1)
      vim.api.nvim_buf_set_extmark(one.proposed, namespace, row, 0, {
        virt_text = { { text, group or 'OutriderProposalHint' } },
        virt_text_pos = 'eol',
      })
    end
  end
end

local function diff(client, item, change)
  local file = client_of.file(client, change.path)
  local name = ('outrider://proposal/%s/%s'):format(item.id, change.to or change.path)
  local now = before(file, name)
  local lines, places = outcome(item, change, now)
  if not lines then
    return false
  end
  local filetype = vim.bo[now].filetype ~= '' and vim.bo[now].filetype
    or vim.filetype.match({ filename = change.to or change.path, contents = lines })
    or ''
  local one = { now = now, change = change, places = places, proposed = scratch(name, lines, filetype) }
  open_tab(item, one)
  local right = vim.api.nvim_get_current_win()
  local left = vim.api.nvim_open_win(now, false, { split = 'left', win = right })
  -- Both sides have one, so that the lines stand side by side.
  vim.wo[left][0].winbar = ('%s as it is now%%<'):format((change.path:gsub('%%', '%%%%')))
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    vim.api.nvim_win_call(window, function()
      vim.cmd.diffthis()
    end)
  end
  vim.api.nvim_set_current_win(right)
  label(item, one)
  local first = places[1] and places[1].first or 0
  vim.api.nvim_win_set_cursor(right, { math.min(first + 1, math.max(#lines, 1)), 0 })
  return true
end

--- Whether an item is shown here.
---@param id string
---@return boolean
function M.is_open(id)
  return tabs[id] ~= nil
end

--- Show what was decided, if the item is shown here.
---@param item outrider.Item
---@return boolean
function M.render(item)
  for _, one in ipairs(tabs[item.id] or {}) do
    local lines, places = nil, {}
    if one.change and vim.api.nvim_buf_is_valid(one.proposed) and vim.api.nvim_buf_is_valid(one.now) then
      lines, places = outcome(item, one.change, one.now)
    end
    if lines then
      one.places = places
      fill(one.proposed, lines)
      label(item, one)
    end
  end
  return M.is_open(item.id)
end

--- The hunks of an item that are shown in a buffer of it, from the top.
---@param buffer integer
---@param id string
---@return outrider.Place[]
function M.places(buffer, id)
  for _, one in ipairs(tabs[id] or {}) do
    if one.proposed == buffer then
      return one.places
    end
  end
  return {}
end

--- The open item that a buffer shows.
---@param buffer integer
---@return outrider.Item?
function M.item_at(buffer)
  for id, list in pairs(tabs) do
    for _, one in ipairs(list) do
      for _, session in pairs(one.proposed == buffer and sessions.all() or {}) do
        if session:item(id) then
          return session:item(id)
        end
      end
    end
  end
end

--- Go to a hunk, and open the view if need be.
---@param item outrider.Item
---@param hunk outrider.Hunk
function M.go(item, hunk)
  if not M.is_open(item.id) then
    M.open({ item })
  end
  for _, one in ipairs(tabs[item.id] or {}) do
    for _, at in ipairs(vim.api.nvim_tabpage_is_valid(one.tab) and one.places or {}) do
      local window = vim.fn.win_findbuf(one.proposed)[1]
      if at.hunk.id == hunk.id and window then
        vim.api.nvim_set_current_win(window)
        local last = vim.api.nvim_buf_line_count(one.proposed)
        vim.api.nvim_win_set_cursor(window, { math.min(at.first + 1, last), 0 })
        return
      end
    end
  end
end

---@param item outrider.Item
local function open_one(item)
  M.close(item.id)
  local session = sessions.get(item.sessionId)
  local client = session and vim.lsp.get_client_by_id(session.client)
  if not session or not client then
    return
  end
  require('outrider.inline').hide(item.id)
  local whole = true
  for _, change in ipairs(session.proposals[item.callId or ''] or {}) do
    local operation = change.operation or 'edit'
    whole = operation ~= 'rename' and diff(client, item, change) and whole
  end
  local first = (tabs[item.id] or {})[1]
  if first and whole then
    vim.api.nvim_set_current_tabpage(first.tab)
  end
  if not tabs[item.id] or not whole then
    local whole_title = item.title
    if item.summary then
      -- All of a command, behind a margin: no line of it reads like one of Outrider's.
      whole_title = item.summary .. '\n\n│ ' .. item.title:gsub('\n', '\n│ ')
    end
    local lines = vim.split(vim.trim(whole_title .. '\n\n' .. item.detail), '\n', { plain = true })
    local buffer = scratch(('outrider://item/%s'):format(item.id), lines, 'diff')
    local renamed = vim.tbl_filter(function(hunk)
      return hunk.change.operation == 'rename'
    end, review.hunks(item))
    local places = vim.tbl_map(function(hunk)
      return { hunk = hunk, row = 0, first = 0, last = #lines - 1 }
    end, renamed)
    open_tab(item, { proposed = buffer, places = places })
  end
end

--- Show what is asked, the first of it in front. The keys of the session answer it there.
---@param question outrider.Question
function M.open(question)
  local from = vim.api.nvim_get_current_tabpage()
  for index = #question, 1, -1 do
    -- A tab comes behind the one where the user is.
    if vim.api.nvim_tabpage_is_valid(from) then
      vim.api.nvim_set_current_tabpage(from)
    end
    open_one(question[index])
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
  for _, one in ipairs(open) do
    close_tab(one)
    if vim.api.nvim_buf_is_valid(one.proposed) then
      vim.api.nvim_buf_delete(one.proposed, { force = true })
    end
  end
end

return M
