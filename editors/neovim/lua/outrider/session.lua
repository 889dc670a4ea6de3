--- One session, as its events tell it: a fold, and nothing else. It draws nothing and asks nobody.

local drawing = require('outrider.drawing')

---@class outrider.Item: outrider.Open
---@field sessionId string
---@field callName? string the tool of the call it is about
---@field grant? string what a yes for the session would cover

---@class outrider.Session
---@field id string
---@field client integer
---@field seq integer the last event that was taken in
---@field title string the first task
---@field state 'idle'|'running'|'parked'|'lost'
---@field away? boolean whether another process runs it: it can be looked at, and nothing else
---@field turn? string the turn that is running or parked
---@field mode? string
---@field model? string
---@field doing? string the tool at work, for the status line
---@field retry? { at: number, seq: integer } when the next attempt at the provider is made, in seconds since 1970
---@field step integer
---@field usage { inputTokens: integer, outputTokens: integer, cost: number?, estimated: boolean? } of the turn
---@field unpriced? boolean whether the cost of a part of it is unknown
---@field plan outrider.PlanItem[]
---@field items outrider.Item[] what is open, the oldest first
---@field calls table<string, { name: string, input: any }>
---@field failures table<string, outrider.CheckFailure[]> what commands said is wrong when they ran last
---@field proposals table<string, outrider.EditProposed[]> by call
---@field proposed table<string, outrider.EditProposed> by change
---@field groups table<string, string> of edits that are asked about at once: the group of each item
---@field touched table<string, true> paths that the agent changed in buffers
local Session = {}
Session.__index = Session

---@param client integer
---@param id string
---@return outrider.Session
function Session.new(client, id)
  return setmetatable({
    id = id,
    client = client,
    seq = 0,
    title = '',
    state = 'idle',
    step = 0,
    usage = { inputTokens = 0, outputTokens = 0 },
    plan = {},
    items = {},
    calls = {},
    failures = {},
    proposals = {},
    proposed = {},
    groups = {},
    touched = {},
  }, Session)
end

--- Take an event in. They come in the order of `seq`.
---@param event outrider.Event
function Session:take(event)
  self.seq = event.seq
  if event.type == 'turn.finished' or event.type == 'turn.started' then
    self.retry = nil
  elseif vim.startswith(event.type, 'model.') and (event.data.purpose or 'main') == 'main' then
    -- Any further event about the model says that the attempt was made.
    self.retry = nil
  end
  local fold = self['on ' .. event.type]
  if fold then
    fold(self, event.data, event)
  end
  if self.away then
    self.state, self.doing = 'lost', nil
  end
end

--- An open item.
---@param id string
---@return outrider.Item?
function Session:item(id)
  for _, item in ipairs(self.items) do
    if item.id == id then
      return item
    end
  end
end

---@private
function Session:add(item, turn)
  self:drop(item.id)
  item.sessionId, item.turnId = self.id, item.turnId or turn
  local call = item.callId and self.calls[item.callId]
  item.callName = call and call.name or nil
  self.items[#self.items + 1] = item
end

---@private
function Session:drop(id)
  self.items = vim.tbl_filter(function(item)
    return item.id ~= id
  end, self.items)
end

Session['on turn.started'] = function(self, data, event)
  self.title = self.title == '' and drawing.title(data) or self.title
  self.turn, self.state, self.step = event.turnId, 'running', 0
  self.last = { turn = event.turnId, prompt = data.prompt }
  self.mode, self.model, self.doing = data.mode, data.model, nil
  self.usage, self.unpriced = { inputTokens = 0, outputTokens = 0 }, false
end

Session['on session.restored'] = function(self, data)
  if data.turnId then
    self.turn, self.state = data.turnId, 'running'
  elseif self.state == 'lost' then
    self.state = 'idle'
  end
end

Session['on turn.parked'] = function(self)
  self.state = 'parked'
end

Session['on turn.resumed'] = function(self)
  self.state = 'running'
end

Session['on turn.finished'] = function(self, data, event)
  if self.last and self.last.turn == event.turnId then
    self.last.outcome = data.outcome
    self.last.failed = drawing.failed(data)
  end
  self.items = vim.tbl_filter(function(item)
    return item.turnId ~= event.turnId
  end, self.items)
  if self.turn == event.turnId or self.turn == nil then
    self.turn, self.state, self.doing = nil, 'idle', nil
  end
end

Session['on session.closed'] = function(self)
  self.state, self.doing = 'lost', nil
end

Session['on model.requested'] = function(self, data)
  if data.purpose == 'main' then
    self.step, self.doing = self.step + 1, nil
  end
end

--- A request more in the sum, whose cost is unknown as soon as that of one of them is.
---@private
---@param data { usage: outrider.Usage? }
function Session:spend(data)
  local usage, sum = data.usage, self.usage
  if usage then
    sum.inputTokens = sum.inputTokens + (usage.inputTokens or 0)
    sum.outputTokens = sum.outputTokens + (usage.outputTokens or 0)
    sum.estimated = sum.estimated or usage.estimated
    self.unpriced = self.unpriced or not usage.cost
    sum.cost = not self.unpriced and (sum.cost or 0) + usage.cost or nil
  end
end

Session['on model.responded'] = function(self, data)
  -- One that was cancelled in its middle costs something, also where nobody can tell how much.
  local broken = not data.usage and data.finishReason == 'cancelled' and (data.text ~= '' or data.reasoning)
  self:spend(broken and { usage = {} } or data)
end

Session['on session.titled'] = function(self, data)
  self.title = data.title or self.title
  self:spend(data)
end

--- Seconds since 1970 of a time stamp in UTC.
---@param stamp string ISO 8601
---@return number?
local function seconds_of(stamp)
  local whole, fraction = stamp:match('^(%d+%-%d+%-%d+T%d+:%d+:%d+)(%.?%d*)')
  local at = whole and vim.fn.strptime('%Y-%m-%dT%H:%M:%S %z', whole .. ' +0000') or 0
  return at ~= 0 and at + (tonumber('0' .. fraction) or 0) or nil
end

Session['on model.retried'] = function(self, data, event)
  self:spend(data)
  local from = data.wait and data.wait > 0 and event.turnId == self.turn and seconds_of(event.ts)
  self.retry = from and { at = from + data.wait, seq = event.seq } or nil
end

--- Seconds until the turn makes its next attempt at a provider; nil where it does not wait for that here.
---@return number?
function Session:retry_in()
  local seconds, microseconds = vim.uv.gettimeofday()
  local left = self.retry and self.turn and not self.away and self.retry.at - seconds - microseconds / 1e6
  return left and left > 0 and left or nil
end

Session['on model.fellBack'] = Session.spend
Session['on model.failed'] = Session.spend

Session['on tool.requested'] = function(self, data)
  self.calls[data.callId] = { name = data.name, input = data.input }
end

Session['on tool.started'] = function(self, data)
  self.doing = (self.calls[data.callId] or {}).name
end

Session['on tool.finished'] = function(self, data)
  self.doing, self.calls[data.callId], self.proposals[data.callId] = nil, nil, nil
  if data.ran then
    self.failures[data.ran.command] = data.ran.failures
  end
end

Session['on edit.proposed'] = function(self, data)
  self.proposed[data.changeId] = data
  if data.callId then
    local known = self.proposals[data.callId] or {}
    known[#known + 1] = data
    self.proposals[data.callId] = known
  end
end

local function edited(self, data)
  self.touched[data.to or data.path] = true
end
Session['on edit.applied'] = edited
Session['on edit.merged'] = edited

Session['on approval.requested'] = function(self, data, event)
  if data.changeIds then
    -- What is asked anew takes the place of what was proposed before.
    self.proposals[data.callId] = vim.tbl_map(function(id)
      return self.proposed[id]
    end, data.changeIds)
  end
  self.groups[data.id] = data.group
  self:add({
    id = data.id,
    kind = 'approval',
    callId = data.callId,
    title = data.title,
    summary = data.summary,
    detail = data.detail,
    options = data.options,
    always = data.always,
    grant = data.grant,
    group = data.group,
    allowFreeForm = false,
  }, event.turnId)
end

Session['on question.asked'] = function(self, data, event)
  self:add({
    id = data.id,
    kind = 'question',
    callId = data.callId,
    title = data.question,
    detail = data.detail or '',
    options = data.options or {},
    allowFreeForm = data.allowFreeForm ~= false,
  }, event.turnId)
end

Session['on tool.asked'] = function(self, data, event)
  local call = self.calls[data.callId]
  self:add({
    id = data.id,
    kind = 'tool',
    callId = data.callId,
    title = data.name,
    detail = call and vim.json.encode(call.input) or '',
    options = {},
    allowFreeForm = true,
  }, event.turnId)
end

local function resolved(self, data)
  self:drop(data.id)
  if data.callId then
    -- What is allowed is worked out again; where that is something else, it is proposed and asked anew.
    self.proposals[data.callId] = nil
  end
end
Session['on approval.resolved'] = resolved
Session['on question.answered'] = resolved
Session['on tool.answered'] = resolved

Session['on plan.updated'] = function(self, data)
  self.plan = data.items
end

return Session
