--- The sessions that this editor knows: brings their events in order, and tells the parts that show them.
local Session = require('outrider.session')
local client_of = require('outrider.client')
local log = require('outrider.log')

local M = {}

---@type table<string, outrider.Session>
local known = {}
--- The session in use, by client.
---@type table<integer, string>
local current = {}
--- Sessions whose log is being read, with what waits for the end of it.
---@type table<string, fun()[]>
local reading = {}

--- The last event that came while a log was being read.
---@type table<string, integer>
local heard = {}

local PAGE = 2000
--- How often the log of a session is read on that another process runs.
local LOOK_MILLISECONDS = 2000

--- What is said of such a session.
M.ELSEWHERE =
  'Another window or editor is at that session. Here you can look on; it is answered, steered and cancelled there.'

--- What is said where the one that ran such a session is gone.
M.ENDED_THERE =
  'What ran this session has ended in the middle of a turn. `:Outrider resume` goes on with it here.'

--- The parts that show a session, told of everything after it was folded.
---@return { event: fun(session: outrider.Session, event: outrider.Event), frame: fun(session, frame)? }[]
local function audience()
  return {
    require('outrider.view'),
    require('outrider.items'),
    require('outrider.editing'),
    require('outrider.status'),
  }
end

--- A session by its id.
---@param id string?
---@return outrider.Session?
function M.get(id)
  return id and known[id] or nil
end

--- The session in use of a client.
---@param client vim.lsp.Client
---@return outrider.Session?
function M.current(client)
  return known[current[client.id] or '']
end

--- The session that is meant: the one that the current buffer shows, or else the one in use.
---@param client vim.lsp.Client
---@return outrider.Session?
function M.here(client)
  local shown = known[vim.b.outrider_session or '']
  return shown and shown.client == client.id and shown or M.current(client)
end

--- Make a session the one in use.
---@param client vim.lsp.Client
---@param id string? nil: the next task begins a new one
function M.use(client, id)
  current[client.id] = id
end

--- All sessions, by their ids.
---@return table<string, outrider.Session>
function M.all()
  return known
end

--- All sessions of a client, in no order.
---@param client integer
---@return outrider.Session[]
function M.of(client)
  return vim.tbl_filter(function(session)
    return session.client == client
  end, vim.tbl_values(known))
end

--- All that is open with a client, the oldest item of each session first.
---@param client integer
---@return outrider.Item[]
function M.items(client)
  local found = {}
  for _, session in ipairs(M.of(client)) do
    if session.state ~= 'lost' then
      vim.list_extend(found, session.items)
    end
  end
  return found
end

---@param client vim.lsp.Client
---@param id string
---@return outrider.Session
local function session_of(client, id)
  local session = known[id]
  if not session then
    session = Session.new(client.id, id)
    known[id] = session
  end
  session.client = client.id
  return session
end

local function take(session, event)
  session:take(event)
  for _, part in ipairs(audience()) do
    part.event(session, event)
  end
end

--- `outrider/event`: what comes out of turn is read from the log.
---@param client vim.lsp.Client
---@param event outrider.Event
function M.on_event(client, event)
  local session = session_of(client, event.sessionId)
  if reading[session.id] then
    heard[session.id] = event.seq
    return
  end
  if event.seq <= session.seq then
    return
  end
  if event.seq > session.seq + 1 then
    M.catch_up(client, session.id)
    return
  end
  take(session, event)
end

--- `outrider/stream`: live text.
---@param client vim.lsp.Client
---@param frame outrider.Frame
function M.on_frame(client, frame)
  local session = known[frame.sessionId]
  if session and not reading[session.id] and session.client == client.id then
    require('outrider.view').frame(session, frame)
  end
end

local function finish_reading(session)
  local told = reading[session.id] or {}
  reading[session.id] = nil
  require('outrider.view').settled(session)
  require('outrider.items').refresh(session)
  for _, one in ipairs(told) do
    one()
  end
end

local function read(client, session)
  local params = { sessionId = session.id, fromSeq = session.seq + 1, limit = PAGE }
  client_of.execute(client, 'outrider.events', params, function(result)
    for _, event in ipairs(result.events) do
      if event.seq == session.seq + 1 then
        take(session, event)
      end
    end
    local before = heard[session.id] or 0
    heard[session.id] = nil
    if #result.events > 0 and result.more or before > session.seq then
      read(client, session)
    else
      finish_reading(session)
    end
  end, function(problem)
    log.say('error', 'Outrider: the session cannot be read: ' .. problem.message)
    finish_reading(session)
  end)
end

--- Read what is missing of a session's log; notifications go on from there.
---@param client vim.lsp.Client
---@param id string
---@param done fun()?
function M.catch_up(client, id, done)
  if reading[id] then
    table.insert(reading[id], done)
    return
  end
  reading[id] = { done }
  read(client, session_of(client, id))
end

--- Whether a session's log is being read: what comes then may be long past.
---@param id string
---@return boolean
function M.is_reading(id)
  return reading[id] ~= nil
end

--- Call back once no log of a client is being read.
---@param client vim.lsp.Client
---@param done fun()
function M.when_read(client, done)
  for _, session in ipairs(M.of(client.id)) do
    local waiting = reading[session.id]
    if waiting then
      waiting[#waiting + 1] = function()
        M.when_read(client, done)
      end
      return
    end
  end
  done()
end

--- Read on in a session that another process runs, as long as a window shows it: no events of it come here.
local function look_on(client, session)
  session.away, session.state = true, 'lost'
  local function look()
    if not session.away or session.client ~= client.id or client_of.stopped(client) then
      return
    end
    if #vim.fn.win_findbuf(require('outrider.view').buffer(session)) > 0 then
      M.catch_up(client, session.id)
    end
    vim.defer_fn(look, LOOK_MILLISECONDS)
  end
  vim.defer_fn(look, LOOK_MILLISECONDS)
end

--- Have the server go on with a session of its log, and show it.
---@param client vim.lsp.Client
---@param id string
---@param done fun()?
function M.resume(client, id, done)
  local before = current[client.id]
  -- What it asks is asked at once: it waits until the log says what it is about.
  reading[id] = reading[id] or {}
  local session = session_of(client, id)
  local was_away = session.away
  M.use(client, id)
  client_of.execute(client, 'outrider.resume', { sessionId = id }, function(status)
    session.away = nil
    table.insert(reading[id], function()
      M.reconcile(client, status)
      if done then
        done()
      end
    end)
    read(client, session)
  end, function(problem)
    M.use(client, before ~= id and before or nil)
    session.state = 'lost'
    if (problem.data or {}).reason ~= 'session_in_use' then
      log.say('error', ('Outrider cannot go on with that session: %s'):format(problem.message))
      return finish_reading(session)
    end
    log.say('info', M.ELSEWHERE)
    table.insert(reading[id], done)
    if not was_away then
      look_on(client, session)
    end
    read(client, session)
  end)
end

--- Take over what the server says of a session, which counts more than what was folded.
---@param client vim.lsp.Client
---@param status outrider.SessionStatus
function M.reconcile(client, status)
  local session = session_of(client, status.sessionId)
  if session.turn ~= status.turnId and session.state == 'lost' then
    session.turn = status.turnId
  end
  if session.state == 'lost' then
    session.state = status.state
  end
  for _, part in ipairs(audience()) do
    if part.refresh and part ~= require('outrider.items') then
      part.refresh(session)
    end
  end
end

--- Find out what goes on in a server that ran before this plugin was loaded.
---@param client vim.lsp.Client
function M.discover(client)
  client_of.execute(client, 'outrider.status', nil, function(result)
    for _, status in ipairs(result.sessions) do
      M.use(client, current[client.id] or status.sessionId)
      M.catch_up(client, status.sessionId, function()
        M.reconcile(client, status)
      end)
    end
  end)
end

--- Have the sessions that wait call, which no program has opened yet. An answer opens one.
---@param client vim.lsp.Client
function M.call_waiting(client)
  client_of.execute(client, 'outrider.sessions', nil, function(result)
    for _, one in ipairs(result.sessions) do
      local session = known[one.sessionId]
      local is_here = session and session.client == client.id and session.state ~= 'lost'
      if one.state == 'parked' and not one.elsewhere and not is_here and not reading[one.sessionId] then
        M.catch_up(client, one.sessionId, function()
          local waiting = known[one.sessionId]
          if #waiting.items > 0 then
            waiting.state = 'parked'
            require('outrider.items').refresh(waiting)
            require('outrider.status').refresh()
          end
        end)
      end
    end
  end)
end

local function lose(session, why)
  session.state, session.doing = 'lost', nil
  require('outrider.view').note(session, why)
  for _, part in ipairs(audience()) do
    if part.refresh then
      part.refresh(session)
    end
  end
end

--- `outrider/left`: the process that ran a joined session has ended or released it.
---@param client vim.lsp.Client
---@param left outrider.Left
function M.on_left(client, left)
  local session = known[left.sessionId]
  if session and session.client == client.id and left.unfinished then
    lose(session, M.ENDED_THERE)
    log.say('warning', M.ENDED_THERE)
  end
end

--- The server of a client is gone: nothing of it can be answered any more.
---@param client integer
---@param why string
function M.lost(client, why)
  for _, session in ipairs(M.of(client)) do
    lose(session, why)
  end
end

--- The session in use of a client that is gone goes over to the one that follows it.
---@param from integer
---@param to vim.lsp.Client
---@return string?
function M.inherit(from, to)
  current[to.id] = current[to.id] or current[from]
  for _, session in ipairs(M.of(from)) do
    session.client = to.id
  end
  return current[to.id]
end

return M
