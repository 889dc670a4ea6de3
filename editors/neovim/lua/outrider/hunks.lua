--- The hunk that the user means: the one under the cursor, in the text or in the diff view; and what is done with it.
local client_of = require('outrider.client')
local items = require('outrider.items')
local log = require('outrider.log')
local place = require('outrider.place')
local reading = require('outrider.reading')
local review = require('outrider.review')
local sessions = require('outrider.sessions')

local M = {}

--- The hunks that are shown in the current window, of the item that is.
---@param item outrider.Item
---@return outrider.Place[]
local function places(item)
  local buffer = vim.api.nvim_get_current_buf()
  local found = require('outrider.diff').places(buffer, item.id)
  return #found > 0 and found or require('outrider.inline').places(buffer, item.id)
end

local function row()
  return vim.api.nvim_win_get_cursor(0)[1] - 1
end

---@param item outrider.Item
---@return outrider.Place?
local function under_cursor(item)
  local here
  for _, one in ipairs(places(item)) do
    if one.first <= row() and row() <= one.last then
      -- Of two at the same line the one that is not decided is meant.
      if not here or review.decided(item, here.hunk) then
        here = one
      end
    end
  end
  return here
end

--- Whether folds hide a part of what a hunk takes out, and with it what it puts in.
---@param one outrider.Place
local function is_folded(one)
  return vim.fn.foldclosed(one.first + 1) ~= -1 or vim.fn.foldclosed(one.last + 1) ~= -1
end

--- Go to a hunk, so that all of it is seen and `CTRL-O` leads back.
---@param one outrider.Place
local function to_place(one)
  local last = vim.api.nvim_buf_line_count(0)
  local line = math.max(1, math.min(one.first + 1, last))
  vim.cmd("normal! m'")
  vim.api.nvim_win_set_cursor(0, { line, 0 })
  vim.cmd(('silent! %d,%dfoldopen!'):format(line, math.max(line, math.min(one.last + 1, last))))
end

--- Put the cursor on a hunk: in this window, in its file, or in the diff view where it has no place in a file.
---@param item outrider.Item
---@param hunk outrider.Hunk
local function go(item, hunk)
  local function here()
    for _, one in ipairs(places(item)) do
      if one.hunk.id == hunk.id then
        to_place(one)
        return true
      end
    end
  end
  if here() then
    return
  end
  local session = sessions.get(item.sessionId)
  local client = session and vim.lsp.get_client_by_id(session.client)
  local diff = require('outrider.diff')
  if not client then
    return
  end
  if diff.is_open(item.id) or (hunk.change.operation or 'edit') ~= 'edit' then
    return diff.go(item, hunk)
  end
  local file = client_of.file(client, hunk.change.path)
  if not file then
    return diff.go(item, hunk)
  end
  if not require('outrider.window').show_file(file) then
    return
  end
  require('outrider.inline').show(session, item)
  here()
end

--- The next hunk from the cursor on, or the one before it; round and round.
---@param item outrider.Item
---@param step 1|-1
---@param hunks outrider.Hunk[] those that count
local function neighbour(item, step, hunks)
  local here = under_cursor(item)
  local number = here and here.hunk.number
  if not number then
    -- Between two: on from the one before the cursor, back from the one after it.
    local seen = places(item)
    number = seen[1] and seen[1].hunk.number - 1 or 0
    for _, one in ipairs(seen) do
      number = one.first < row() and one.hunk.number or number
    end
    number = step < 0 and number + 1 or number
  end
  local all = #review.hunks(item)
  for distance = 1, all do
    local wanted = (number + step * distance - 1) % all + 1
    for _, hunk in ipairs(hunks) do
      if hunk.number == wanted then
        return hunk
      end
    end
  end
end

local function move(item, step)
  local hunk = neighbour(item, step, review.hunks(item))
  if hunk then
    go(item, hunk)
  end
end

--- The hunk that is meant. One that the user does not look at is shown first, and nothing is done with it.
---@param item outrider.Item
---@return outrider.Hunk?
local function meant(item)
  local here = under_cursor(item)
  if here and not is_folded(here) then
    return here.hunk
  end
  local all, seen = review.hunks(item), places(item)
  if
    #all == 1
    and seen[1]
    and not is_folded(seen[1])
    and seen[1].last >= vim.fn.line('w0') - 1
    and seen[1].first <= vim.fn.line('w$') - 1
  then
    return all[1]
  end
  local left = review.left(item)
  local hunk = here and here.hunk or neighbour(item, 1, #left > 0 and left or all)
  if hunk then
    go(item, hunk)
    log.say('info', ('Hunk %d of %d: press it again to decide about this one.'):format(hunk.number, #all))
  end
end

--- Go on with what is left, if the user is still there: of this edit, or of the next one of its step in the diff view.
local function decide(item, hunk, decision, more)
  local question = items.question(item)
  review.decide(item, hunk, decision, more)
  local left = review.left(item)
  if #left > 0 then
    return go(item, neighbour(item, 1, left) or left[1])
  end
  for _, other in ipairs(require('outrider.diff').is_open(item.id) and question or {}) do
    local next_left = review.left(other)
    if #next_left > 0 then
      return require('outrider.diff').go(other, next_left[1])
    end
  end
end

---@type table<string, fun(item: outrider.Item, hunk: outrider.Hunk)>
local OF_HUNK = {
  accept = function(item, hunk)
    decide(item, hunk, 'take')
  end,
  reject = function(item, hunk)
    decide(item, hunk, 'reject')
  end,
  reason = function(item, hunk)
    items.write('Why not? ', function(reason)
      decide(item, hunk, 'reject', { reason = reason })
    end)
  end,
  amend = function(item, hunk)
    if vim.list_contains({ 'delete', 'rename' }, hunk.change.operation) then
      return log.say('warning', 'There is no text to amend: the file goes, or gets another name.')
    end
    require('outrider.amend').open(item, hunk, function(text)
      local same = vim.deep_equal(place.lines(text), place.lines(hunk.hunk.added))
      decide(item, hunk, 'take', not same and { text = text } or nil)
    end)
  end,
}

---@type table<string, fun(item: outrider.Item)>
local OF_ITEM = {
  next = function(item)
    move(item, 1)
  end,
  previous = function(item)
    move(item, -1)
  end,
  allow = function(item)
    review.rest(item, 'take')
  end,
  reject_all = function(item)
    review.rest(item, 'reject')
  end,
}

--- What can be done with a hunk.
M.NAMES = { 'accept', 'amend', 'next', 'previous', 'reason', 'reject' }

--- What of that is a yes.
local YES = { accept = true, allow = true }

--- Do what a key stands for, of the item that is shown.
---@param name string
---@param item outrider.Item
function M.by_key(name, item)
  if #review.hunks(item) == 0 or not (OF_HUNK[name] or OF_ITEM[name]) then
    return items.by_key(name, { item })
  end
  if YES[name] and not reading.takes_yes(item.id) then
    return
  end
  if OF_ITEM[name] then
    return OF_ITEM[name](item)
  end
  local hunk = meant(item)
  if hunk then
    OF_HUNK[name](item, hunk)
  end
end

--- Go to the first hunk that nothing was decided about.
---@param item outrider.Item
function M.start(item)
  local left = review.left(item)
  if left[1] then
    go(item, left[1])
  end
end

return M
