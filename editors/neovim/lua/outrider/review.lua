--- What the user decides about the hunks of an edit, one by one. Nothing is sent before all of it is decided.
local items = require('outrider.items')
local sessions = require('outrider.sessions')

local M = {}

---@class outrider.Hunk
---@field id string as the server counts them: `chg_3#2`
---@field number integer among all hunks of the item, from 1
---@field change outrider.EditProposed
---@field hunk outrider.WireHunk

--- By item, then by hunk.
---@type table<string, table<string, outrider.ReviewedHunk>>
local decided = {}
--- What was rejected or written by the user in an edit that was answered, by call: it may be asked again.
---@type table<string, { hunk: outrider.Hunk, one: outrider.ReviewedHunk }[]>
local past = {}
--- The hunks that were decided about, by item.
---@type table<string, table<string, outrider.Hunk>>
local meant = {}

--- The hunks that an item asks about, in order. What makes, deletes or renames a file is one.
---@param item outrider.Item
---@return outrider.Hunk[]
function M.hunks(item)
  local session = sessions.get(item.sessionId)
  local found = {}
  for _, change in ipairs(session and session.proposals[item.callId or ''] or {}) do
    local hunks = change.hunks
    if (change.operation or 'edit') ~= 'edit' then
      hunks = { hunks[1] or { line = 1, removed = '', added = '' } }
    end
    for index, hunk in ipairs(hunks) do
      found[#found + 1] = {
        id = ('%s#%d'):format(change.changeId, index),
        number = #found + 1,
        change = change,
        hunk = hunk,
      }
    end
  end
  return found
end

--- What was decided about a hunk so far.
---@param item outrider.Item
---@param hunk outrider.Hunk
---@return outrider.ReviewedHunk?
function M.decided(item, hunk)
  return (decided[item.id] or {})[hunk.id]
end

--- The hunks that nothing was decided about yet.
---@param item outrider.Item
---@return outrider.Hunk[]
function M.left(item)
  return vim.tbl_filter(function(hunk)
    return M.decided(item, hunk) == nil
  end, M.hunks(item))
end

--- Whether something was decided about single hunks.
---@param item outrider.Item
---@return boolean
function M.has_begun(item)
  return next(decided[item.id] or {}) ~= nil
end

--- The text that a hunk puts in, in the user's words where they gave some.
---@param item outrider.Item
---@param hunk outrider.Hunk
---@return string
function M.text(item, hunk)
  local one = M.decided(item, hunk)
  return one and one.text or hunk.hunk.added
end

--- The decisions as one answer.
---@param item outrider.Item
---@return table
local function answer_of(item)
  local hunks, review, reasons, kept = M.hunks(item), {}, {}, false
  for _, hunk in ipairs(hunks) do
    local one = M.decided(item, hunk)
    kept = kept or (one ~= nil and one.decision == 'take')
    -- A hunk that is not named is taken.
    if one and (one.decision == 'reject' or one.text) then
      review[#review + 1] = one
    end
    reasons[#reasons + 1] = one and one.reason and one or nil
  end
  if kept then
    return { decision = 'allow_once', review = #review > 0 and review or nil }
  end
  if #hunks == 1 then
    return { decision = 'reject', note = review[1].reason }
  end
  return { decision = 'reject', review = #reasons > 0 and reasons or nil }
end

local function changed(item)
  if not require('outrider.diff').render(item) then
    require('outrider.inline').refresh(item)
  end
  if #M.left(item) == 0 then
    items.answer(item, answer_of(item))
  end
end

local function keep(item, hunk, decision, more)
  decided[item.id] = decided[item.id] or {}
  decided[item.id][hunk.id] = vim.tbl_extend('error', { id = hunk.id, decision = decision }, more or {})
  meant[item.id] = meant[item.id] or {}
  meant[item.id][hunk.id] = hunk
end

--- Decide about a hunk; with the last one the answer is sent.
---@param item outrider.Item
---@param hunk outrider.Hunk
---@param decision 'take'|'reject'
---@param more { reason: string?, text: string? }?
function M.decide(item, hunk, decision, more)
  keep(item, hunk, decision, more)
  changed(item)
end

--- Decide about all hunks that are left, and send the answer.
---@param item outrider.Item
---@param decision 'take'|'reject'
function M.rest(item, decision)
  for _, hunk in ipairs(M.left(item)) do
    keep(item, hunk, decision)
  end
  changed(item)
end

--- An item is answered. Its call may ask again, because the text has changed since.
---@param id string
---@param call string?
function M.forget(id, call)
  local kept = {}
  for name, hunk in pairs(meant[id] or {}) do
    local one = decided[id][name]
    if one.decision == 'reject' or one.text then
      kept[#kept + 1] = { hunk = hunk, one = one }
    end
  end
  decided[id], meant[id] = nil, nil
  if call and #kept > 0 then
    past[call] = kept
  end
end

--- The server ended. An answer that is all decided and still open was not taken: nothing of it counts as decided.
---@param item outrider.Item
function M.lost(item)
  if #M.left(item) == 0 then
    M.forget(item.id)
  end
end

--- A call has come to its end, and asks no more.
---@param call string
function M.finish(call)
  past[call] = nil
end

--- A call asks again: hunks that are the same as before stay rejected, or as the user wrote them. What was only
--- accepted is asked about anew.
---@param item outrider.Item
---@return boolean whether there are any
function M.recall(item)
  local kept = past[item.callId or ''] or {}
  local any = false
  for _, hunk in ipairs(#kept > 0 and M.hunks(item) or {}) do
    for _, before in ipairs(kept) do
      local same = before.hunk.change.path == hunk.change.path
        and before.hunk.hunk.removed == hunk.hunk.removed
        and before.hunk.hunk.added == hunk.hunk.added
      if same and not M.decided(item, hunk) then
        keep(item, hunk, before.one.decision, { reason = before.one.reason, text = before.one.text })
        any = true
      end
    end
  end
  past[item.callId or ''] = nil
  return any
end

--- What was decided about a hunk, in words; nil where nothing was.
---@param item outrider.Item
---@param hunk outrider.Hunk
---@return string? text
---@return string? group of highlighting
function M.said(item, hunk)
  local one = M.decided(item, hunk)
  if not one then
    return nil
  elseif one.decision == 'reject' then
    local reason = one.reason and ': ' .. require('outrider.drawing').short(one.reason, 100) or ''
    return '✗ rejected' .. reason, 'OutriderProposalRejected'
  end
  return one.text and '✓ accepted as amended' or '✓ accepted', 'OutriderProposalAccepted'
end

return M
