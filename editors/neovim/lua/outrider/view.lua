--- The session buffer: the turn's steps as they come. One buffer for each session, filled whether it is seen or not.
local Blocks = require('outrider.blocks')
local Session = require('outrider.session')
local client_of = require('outrider.client')
local config = require('outrider.config')
local drawing = require('outrider.drawing')
local markdown = require('outrider.markdown')

local M = {}

--- How often the time to the next attempt at a provider is shown anew.
local COUNT_MILLISECONDS = 1000

---@class outrider.View
---@field session string
---@field buffer integer
---@field blocks outrider.Blocks
---@field streamed table<string, boolean> blocks that got their text live
---@field proposed table<string, outrider.WireHunk[]> what was drawn last below a call
---@field asked table<string, string> what was asked and is not answered yet, and the turn of each
---@field answered boolean whether the last thing shown is the model's text
---@field redoing? boolean whether what was asked for last brings back, and takes nothing back
---@field notes integer
---@field redrawing? boolean whether the log is being read for a buffer that had been wiped out

---@type table<string, outrider.View>
local views = {}

local function set_keys(buffer)
  local function map(key, name, action)
    if key and key ~= '' then
      vim.keymap.set(
        'n',
        key,
        action,
        { buffer = buffer, nowait = true, silent = true, desc = 'Outrider: ' .. name }
      )
    end
  end
  local keys = config.get().keys
  for _, name in ipairs({ 'allow', 'session', 'reject', 'note', 'diff', 'answer' }) do
    map(keys[name], name, function()
      require('outrider.items').by_key(name, M.question_at_cursor())
    end)
  end
  for _, name in ipairs({ 'steer', 'compose', 'edit', 'cancel', 'retry', 'undo' }) do
    map(keys[name], name, function()
      vim.cmd.Outrider(name)
    end)
  end
  map(keys.close, 'close', function()
    pcall(vim.api.nvim_win_close, 0, false)
  end)
  map(keys.help, 'help', function()
    if not pcall(vim.cmd.help, 'outrider-keys') then
      require('outrider.log').say(
        'warning',
        '`:help outrider` is not found; `:checkhealth outrider` says what to do.'
      )
    end
  end)
end

---@type fun(session: outrider.Session, view: outrider.View)
local redraw

---@param session outrider.Session
---@return outrider.View
local function view_of(session)
  local view = views[session.id]
  if view and vim.api.nvim_buf_is_loaded(view.buffer) then
    vim.b[view.buffer].outrider_client = session.client
    return view
  end
  local was_wiped = view ~= nil
  local name = 'outrider://' .. session.id
  local buffer = vim.fn.bufnr('^' .. name .. '$')
  if buffer == -1 then
    buffer = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_name(buffer, name)
  end
  vim.bo[buffer].buftype = 'nofile'
  vim.bo[buffer].bufhidden = 'hide'
  vim.bo[buffer].swapfile = false
  vim.bo[buffer].undolevels = -1
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, { 'Outrider · session ' .. session.id })
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].filetype = 'outrider'
  vim.api.nvim_buf_clear_namespace(buffer, Blocks.namespace, 0, -1)
  vim.b[buffer].outrider_client = session.client
  vim.b[buffer].outrider_session = session.id
  set_keys(buffer)
  view = {
    session = session.id,
    buffer = buffer,
    blocks = Blocks.new(buffer),
    streamed = {},
    proposed = {},
    asked = {},
    answered = false,
    notes = 0,
  }
  views[session.id] = view
  if was_wiped then
    redraw(session, view)
  end
  return view
end

--- Do something, and keep the cursor of windows that were at the end there.
local function following(view, change)
  local at_end = {}
  local last = vim.api.nvim_buf_line_count(view.buffer)
  for _, window in ipairs(vim.fn.win_findbuf(view.buffer)) do
    if vim.api.nvim_win_get_cursor(window)[1] >= last then
      at_end[#at_end + 1] = window
    end
  end
  change()
  last = vim.api.nvim_buf_line_count(view.buffer)
  for _, window in ipairs(at_end) do
    vim.api.nvim_win_set_cursor(window, { last, 0 })
  end
end

local draw = {}

draw['turn.queued'] = function(view, _, data)
  view.blocks:append('queued:' .. data.prompt, { '… queued: ' .. drawing.short(data.prompt, 200) })
end

draw['turn.started'] = function(view, _, data, event)
  view.blocks:remove('queued:' .. data.prompt)
  view.blocks:append('turn:' .. event.turnId, drawing.task(data))
end

draw['model.requested'] = function(view, _, data)
  -- Live text does not wait for the log as events do, so it may be here before what it comes after.
  for _, kind in ipairs({ 'reasoning:', 'text:' }) do
    view.blocks:to_end(kind .. data.messageId)
  end
end

draw['model.responded'] = function(view, _, data)
  if data.purpose and data.purpose ~= 'main' then
    return
  end
  local thought, said = 'reasoning:' .. data.messageId, 'text:' .. data.messageId
  if data.reasoning and data.reasoning ~= '' and not view.streamed[thought] then
    view.blocks:append(thought, drawing.thought(data.reasoning))
  end
  if data.text ~= '' and not view.streamed[said] then
    view.blocks:append(said, drawing.said(data.text))
  end
  if data.searches then
    view.blocks:append('searches:' .. data.messageId, drawing.searches(data.searches))
  end
  view.streamed[thought], view.streamed[said] = nil, nil
  view.answered = data.text ~= ''
  local row = data.text ~= '' and view.blocks:row(said)
  if row then
    markdown.show(view.buffer, row, drawing.said(data.text))
  end
end

draw['model.reset'] = function(view, _, data)
  for _, kind in ipairs({ 'reasoning:', 'text:' }) do
    view.blocks:remove(kind .. data.messageId)
    view.streamed[kind .. data.messageId] = nil
  end
end

--- Keep the seconds to the next attempt up to date in their line, until there are none left.
---@param view outrider.View
---@param session outrider.Session
local function count_down(view, session)
  local retry = session.retry
  local name = 'retry'
  local key = config.get().keys.retry
  local how = key and key ~= '' and ('`%s` or `:Outrider retry`'):format(key) or '`:Outrider retry`'
  local function show()
    if views[session.id] ~= view or not vim.api.nvim_buf_is_loaded(view.buffer) then
      return
    end
    if session.retry and session.retry ~= retry then
      return -- the wait after it has the line
    end
    local left = session:retry_in()
    if not left then
      return view.blocks:remove(name)
    end
    local line = ('… next attempt in %d s · %s makes it now'):format(math.ceil(left), how)
    if view.blocks:has(name) then
      view.blocks:retitle(name, line)
    else
      following(view, function()
        view.blocks:append(name, { line })
      end)
    end
    vim.defer_fn(show, COUNT_MILLISECONDS)
  end
  show()
end

draw['model.retried'] = function(view, session, data)
  local wait = data.wait and (' in %g s'):format(data.wait) or ''
  local most = data.attempts and (' of %d'):format(data.attempts) or ''
  local why = data.message or data.reason
  M.note(
    session,
    ('the request is made again%s (%s, attempt %d%s)'):format(wait, why, data.attempt, most),
    view
  )
  if session:retry_in() then
    count_down(view, session)
  end
end

draw['model.fellBack'] = function(view, session, data)
  M.note(session, ('%s is used in place of %s (%s)'):format(data.to, data.from, data.reason), view)
end

draw['sandbox.absent'] = function(view, session, data)
  M.note(session, ('Commands of this session run without a sandbox. %s'):format(data.reason), view)
end

draw['auto.limited'] = function(view, session, data)
  M.note(session, ('Commands ask as in permission mode auto-edit: %s'):format(data.reason), view)
end

draw['model.switched'] = function(view, session, data)
  local why = data.reason == 'unread_calls' and 'wrote tool calls that were not recognised'
    or 'does not support tools'
  M.note(session, ('%s %s: its calls are text (%s)'):format(data.model, why, data.toolFormat), view)
end

draw['model.failed'] = function(view, session, data)
  M.note(session, ('the model did not answer (%s): %s'):format(data.kind, data.message), view)
end

draw['tool.requested'] = function(view, _, data)
  view.blocks:append('call:' .. data.callId, { drawing.call(data.name, data.input, 'requested') })
end

draw['tool.started'] = function(view, session, data)
  local call = session.calls[data.callId]
  if call then
    view.blocks:retitle('call:' .. data.callId, drawing.call(call.name, call.input, 'started'))
  end
end

draw['tool.finished'] = function(view, _, data)
  local name = 'call:' .. data.callId
  local row = view.blocks:row(name)
  if not row then
    return
  end
  local not_asked = drawing.not_asked(data)
  if not_asked then
    return view.blocks:replace(name, { not_asked })
  end
  local line = vim.api.nvim_buf_get_lines(view.buffer, row, row + 1, false)[1]
  local sign = drawing.SIGNS[data.status] or drawing.SIGNS.error
  line = line:gsub('^[^ ]+', sign)
  if sign == '⊘' then
    line = ('%s (%s)'):format(line, data.status)
  end
  view.blocks:retitle(name, line)
  if view.streamed[name] then
    view.blocks:trim(name, drawing.DETAIL)
    if data.status == 'error' then
      -- The last line of a command's result says how it ended.
      view.blocks:grow(name, drawing.detail(data.content:match('[^\n]*$')))
    end
  elseif data.content ~= '' then
    view.blocks:grow(name, drawing.detail(data.content))
  end
  view.streamed[name], view.proposed[name] = nil, nil
end

draw['edit.proposed'] = function(view, _, data)
  local name = data.callId and 'call:' .. data.callId
  if name and not vim.deep_equal(view.proposed[name], data.hunks) then
    view.proposed[name] = data.hunks
    view.blocks:grow(name, drawing.hunks(data))
  end
end

draw['edit.merged'] = function(view, session, data)
  M.note(session, ('%s: merged with what was written meanwhile'):format(data.path), view)
end

draw['edit.rejected'] = function(view, session, data)
  M.note(session, ('%s was not changed: %s'):format(data.path, data.reason), view)
end

--- The blocks around the edits of one step.
local function frame_of(group)
  return 'group:' .. group, 'keys:' .. group
end

--- The edits of one step that are open, as one question: at the end, or with `in_place` where they stand.
local function draw_group(view, session, group, in_place)
  if not group then
    return
  end
  local open = vim.tbl_filter(function(item)
    return item.group == group
  end, session.items)
  local above, below = frame_of(group)
  if #open < 2 then
    view.blocks:remove(above)
    view.blocks:remove(below)
    local last = open[1]
    if last then
      view.blocks:replace('item:' .. last.id, drawing.item(last, config.get().keys))
    end
    return
  end
  local put = in_place and view.blocks.replace or view.blocks.append
  put(view.blocks, above, { '? ' .. drawing.head_of_all(open) })
  for _, item in ipairs(open) do
    put(view.blocks, 'item:' .. item.id, drawing.part(item))
  end
  put(view.blocks, below, drawing.keys_of_all(#open, config.get().keys))
end

local function draw_item(view, session, data)
  local item = session:item(data.id)
  if item and item.kind ~= 'tool' then
    view.asked[data.id] = item.turnId
    view.blocks:append('item:' .. data.id, drawing.item(item, config.get().keys))
    draw_group(view, session, item.group)
  end
end
draw['approval.requested'] = draw_item
draw['question.asked'] = draw_item

local DECISIONS = {
  allow_once = 'allowed',
  allow_session = 'allowed for this session',
  allow_always = 'always allowed',
  choose = 'to be chosen in the editor',
  reject = 'rejected',
  put_back = 'put back',
  keep = 'kept',
}

--- What a block of an open item is about, from its first line.
local function title_at(view, row)
  return (
    vim.api.nvim_buf_get_lines(view.buffer, row, row + 1, false)[1]:gsub('^[?•] ', ''):gsub('^  • ', '')
  )
end

--- What was asked and nobody answered before its turn ended: its keys would do nothing any more.
local function close_items(view, session, turn)
  for id, of in pairs(view.asked) do
    local name = 'item:' .. id
    local row = of == turn and view.blocks:row(name)
    if row then
      local title = title_at(view, row)
      view.blocks:replace(name, { ('› %s: not answered'):format(title) })
    end
    if of == turn then
      view.asked[id] = nil
      draw_group(view, session, session.groups[id], true)
    end
  end
end

draw['approval.resolved'] = function(view, session, data)
  view.asked[data.id] = nil
  local name = 'item:' .. data.id
  local row = view.blocks:row(name)
  if row then
    local title = title_at(view, row)
    if data.instead then
      view.blocks:replace(name, { ('› %s: withdrawn, as it has changed; it is asked anew'):format(title) })
      return
    end
    local by = data.by ~= 'person' and (' by %s'):format(data.rule or data.by) or ''
    local note = data.note and (': ' .. drawing.short(data.note, 200)) or ''
    local hunks = data.decision ~= 'reject' and drawing.reviewed(data.review) or ''
    view.blocks:replace(
      name,
      { ('› %s: %s%s%s%s'):format(title, DECISIONS[data.decision], hunks, by, note) }
    )
  end
  draw_group(view, session, session.groups[data.id], true)
end

draw['question.answered'] = function(view, _, data)
  view.asked[data.id] = nil
  local name = 'item:' .. data.id
  local row = view.blocks:row(name)
  if row then
    local title = title_at(view, row)
    view.blocks:replace(name, { ('› %s: %s'):format(title, drawing.short(data.answer, 400)) })
  end
end

draw['plan.updated'] = function(view, session, data)
  view.blocks:append('plan:' .. (session.turn or ''), drawing.plan(data.items))
end

draw['steering.received'] = function(view, session, data)
  local removed = data.state == 'removed' and ' (withdrawn)' or ''
  M.note(session, 'you: ' .. drawing.short(data.text, 400) .. removed, view)
end

draw['turn.parked'] = function(view, session)
  M.note(session, 'waits for you; it goes on when you answer', view)
end

draw['turn.finished'] = function(view, session, data, event)
  close_items(view, session, event.turnId)
  if not view.answered and data.summary ~= '' then
    view.blocks:append('summary:' .. session.seq, drawing.said(data.summary))
  end
  view.blocks:append('end:' .. session.seq, drawing.finished(data, session.failures))
  view.answered = false
end

draw['session.restored'] = function(view, session)
  M.note(session, 'opened again', view)
end

draw['context.compacted'] = function(view, session)
  M.note(session, 'older messages were replaced by a summary', view)
end

draw['budget.exhausted'] = function(view, session, data)
  M.note(session, ('the budget %s is spent (%s of %s)'):format(data.limit, data.used, data.allowed), view)
end

draw['undo.requested'] = function(view, _, data)
  view.redoing = data.redo
end

draw['undo.finished'] = function(view, session, data)
  local paths = vim.tbl_map(function(one)
    return one.path
  end, data.undone)
  local what = view.redoing and 'redone: ' or 'undone: '
  M.note(session, what .. (#paths > 0 and table.concat(paths, ', ') or 'nothing'), view)
end

draw['settings.changed'] = function(view, session, data)
  M.note(session, 'the permission mode is now ' .. data.permissionMode, view)
end

draw['error'] = function(view, session, data)
  M.note(session, ('error: %s'):format(data.message), view)
end

local function draw_event(view, session, event)
  local one = draw[event.type]
  if one then
    following(view, function()
      one(view, session, event.data, event)
    end)
  end
end

--- Draw a session from its log, up to where it is by then. It is folded apart: the session itself is further on.
redraw = function(session, view)
  local shown = Session.new(session.client, session.id)
  view.redrawing = true
  local function finish(problem)
    view.redrawing = nil
    if problem then
      M.note(session, ('what came before cannot be read: %s'):format(problem), view)
    end
  end
  local function read()
    local client = vim.lsp.get_client_by_id(session.client)
    if not client then
      return finish('the server has ended; `:Outrider restart` starts it again')
    end
    local params = { sessionId = session.id, fromSeq = shown.seq + 1 }
    client_of.execute(client, 'outrider.events', params, function(result)
      if views[session.id] ~= view or not vim.api.nvim_buf_is_loaded(view.buffer) then
        return -- wiped out again
      end
      for _, event in ipairs(result.events) do
        shown:take(event)
        draw_event(view, shown, event)
      end
      if #result.events > 0 and shown.seq < session.seq then
        read()
      else
        finish()
      end
    end, function(problem)
      finish(problem.message)
    end)
  end
  read()
end

--- Draw an event.
---@param session outrider.Session
---@param event outrider.Event
function M.event(session, event)
  local view = view_of(session)
  if not view.redrawing then
    draw_event(view, session, event)
  end
end

--- Draw live text.
---@param session outrider.Session
---@param frame outrider.Frame
function M.frame(session, frame)
  local view = view_of(session)
  if view.redrawing then
    return
  end
  local name = frame.kind == 'output' and 'call:' .. frame.callId or frame.kind .. ':' .. frame.messageId
  if
    not view.streamed[name] and (frame.offset > 0 or frame.kind == 'output' and not view.blocks:has(name))
  then
    return -- the beginning was missed: the event with the whole will show it
  end
  following(view, function()
    if frame.kind == 'output' then
      if not view.streamed[name] then
        view.blocks:grow(name, { drawing.DETAIL })
      end
      view.streamed[name] = true
      view.blocks:stream(name, frame.text, drawing.DETAIL)
      return
    end
    local prefix = frame.kind == 'reasoning' and drawing.THOUGHT or ''
    if not view.streamed[name] then
      view.streamed[name] = true
      view.blocks:append(name, { prefix })
    end
    view.blocks:stream(name, frame.text, prefix)
  end)
end

--- A line in the session that no event brought.
---@param session outrider.Session
---@param text string
---@param view outrider.View?
function M.note(session, text, view)
  local shown = view or view_of(session)
  following(shown, function()
    shown.notes = shown.notes + 1
    shown.blocks:append('note:' .. shown.notes, { '· ' .. drawing.short(text, 500) })
  end)
end

--- What was streamed before the log was read is shown whole now.
---@param session outrider.Session
function M.settled(session)
  local view = views[session.id]
  if view then
    view.streamed = {}
  end
end

--- What is asked where the cursor is: one edit of several on its line, all of them around those, else what waits longest.
---@return outrider.Question?
function M.question_at_cursor()
  local session = require('outrider.sessions').get(vim.b.outrider_session)
  local view = session and views[session.id]
  if not session or not view then
    return nil
  end
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  local items = require('outrider.items')
  for _, item in ipairs(session.items) do
    if view.blocks:holds('item:' .. item.id, row) then
      return { item }
    end
  end
  for _, item in ipairs(session.items) do
    local above, below = frame_of(item.group or '')
    if view.blocks:holds(above, row) or view.blocks:holds(below, row) then
      return items.question(item)
    end
  end
  for id in pairs(session.groups) do
    -- The key that answered one edit, pressed again where it stood, is no answer to the others.
    if view.blocks:holds('item:' .. id, row) then
      return nil
    end
  end
  return session.items[1] and items.question(session.items[1])
end

--- Show a session in a window of this tab, without taking the cursor there unless asked to.
---@param session outrider.Session
---@param enter boolean
function M.open(session, enter)
  local view = view_of(session)
  local window = vim.fn.bufwinid(view.buffer)
  if window == -1 then
    window = require('outrider.window').open(view.buffer)
    vim.api.nvim_win_set_cursor(window, { vim.api.nvim_buf_line_count(view.buffer), 0 })
  end
  if enter then
    vim.api.nvim_set_current_win(window)
  end
end

--- The buffer of a session.
---@param session outrider.Session
---@return integer
function M.buffer(session)
  return view_of(session).buffer
end

return M
