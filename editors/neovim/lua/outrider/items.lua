--- The open items: told to the user, and answered. Only what the user chose is ever sent.
local client_of = require('outrider.client')
local config = require('outrider.config')
local drawing = require('outrider.drawing')
local log = require('outrider.log')
local reading = require('outrider.reading')
local sessions = require('outrider.sessions')

local M = {}

local DECISIONS = {
  ['Allow once'] = 'allow_once',
  ['Run outside once'] = 'allow_once',
  ['Allow for this session'] = 'allow_session',
  ['Reject'] = 'reject',
  ['Put back'] = 'put_back',
  ['Keep'] = 'keep',
}
local ALWAYS = 'Always allow…'
local SCOPES = { { 'Always in this workspace', 'workspace' }, { 'Always everywhere', 'everywhere' } }
local REJECT_WITH_NOTE = 'Reject with a note…'
local LOOK = 'Look at it first'
local BY_HUNK = 'Hunk by hunk…'
local OTHER = 'Another answer…'
local SAVE = 'Save and continue'
--- What a message keeps of a title, in cells, however narrow the editor is.
local SHORTEST = 12

--- What is asked at once: one item, or the edits of one step.
---@alias outrider.Question outrider.Item[]

--- The groups of edits that the user was told of.
---@type table<string, true>
local told = {}

--- Requests of the server that wait until their item is resolved.
---@type table<string, thread[]>
local held = {}

---@param item outrider.Item
---@return vim.lsp.Client?
local function client_for(item)
  local session = sessions.get(item.sessionId)
  local client = session and vim.lsp.get_client_by_id(session.client)
  if not client then
    log.say('error', 'The server of Outrider has ended. `:Outrider restart` starts it again and asks again.')
  end
  return client
end

--- The question that an open item is a part of.
---@param item outrider.Item
---@return outrider.Question
function M.question(item)
  local session = item.group and sessions.get(item.sessionId)
  local found = vim.tbl_filter(function(one)
    return one.group == item.group
  end, session and session.items or {})
  return #found > 0 and found or { item }
end

--- All that a client is asked, the oldest question of each session first.
---@param client integer
---@return outrider.Question[]
function M.questions(client)
  local found = {}
  for _, item in ipairs(sessions.items(client)) do
    local question = M.question(item)
    if question[1] == item then
      found[#found + 1] = question
    end
  end
  return found
end

--- Whether an item is still open.
---@param item outrider.Item
---@return boolean
function M.is_open(item)
  local session = sessions.get(item.sessionId)
  return session ~= nil and session.state ~= 'lost' and session:item(item.id) ~= nil
end

--- Answer an item.
---@param item outrider.Item
---@param answer { decision: string?, answer: string?, note: string?, scope: string? }
function M.answer(item, answer)
  local session = sessions.get(item.sessionId)
  if session and session.state == 'lost' and session:item(item.id) then
    if client_for(item) then
      log.say('info', sessions.ELSEWHERE)
    end
    return
  end
  if not M.is_open(item) then
    local about = drawing.short(drawing.head(item), 100)
    log.say('warning', ('This was already answered, so your answer changes nothing: %s'):format(about))
    return
  end
  local client = client_for(item)
  if client then
    local params = vim.tbl_extend('force', { id = item.id }, answer)
    client_of.execute(client, 'outrider.answer', params)
  end
end

--- Ask for a text; an empty one is no answer.
---@param prompt string
---@param done fun(text: string)
function M.write(prompt, done)
  vim.ui.input({ prompt = prompt }, function(text)
    if text and vim.trim(text) ~= '' then
      done(text)
    end
  end)
end

--- Allow an approval; hunks that were decided by themselves stay as they were decided.
---@param item outrider.Item
---@param decision string
local function allow_one(item, decision)
  local review = require('outrider.review')
  if not review.has_begun(item) then
    M.answer(item, { decision = decision })
  elseif decision == 'allow_once' then
    review.rest(item, 'take')
  else
    log.say('warning', 'Some hunks are decided by themselves, so the edit can be allowed only once.')
  end
end

--- Allow all that is asked at once, of which nothing was answered meanwhile.
---@param question outrider.Question
local function allow(question, decision)
  for _, item in ipairs(question) do
    allow_one(item, decision)
  end
end

--- Reject all that is asked at once.
---@param question outrider.Question
---@param note string?
function M.reject(question, note)
  for _, item in ipairs(question) do
    M.answer(item, { decision = 'reject', note = note })
  end
end

local function answer_question(item, answer)
  if answer ~= SAVE then
    return M.answer(item, { answer = answer })
  end
  local session = sessions.get(item.sessionId)
  local client = session and client_for(item)
  if session and client then
    local failed = require('outrider.editing').save_touched(client, session)
    if #failed > 0 then
      log.say('error', 'Not saved: ' .. table.concat(failed, '; '))
    else
      M.answer(item, { answer = answer })
    end
  end
end

--- Reject what is asked, and tell the model why.
---@param question outrider.Question
---@param after fun()? done then
local function reject_with_note(question, after)
  M.write('Why not? ', function(note)
    M.reject(question, note)
    if after then
      after()
    end
  end)
end

--- Show exactly the rules that would be saved, and ask where they shall hold. Leaving the choice answers nothing.
---@param item outrider.Item
function M.always(item)
  local rules = vim.tbl_map(drawing.rule, item.always or {})
  reading.select(SCOPES, {
    prompt = ('Always allow %s? '):format(drawing.short(table.concat(rules, ', '), 300)),
    kind = 'outrider_always',
    format_item = function(scope)
      return scope[1]
    end,
  }, function()
    return true
  end, function(scope)
    if scope then
      M.answer(item, { decision = 'allow_always', scope = scope[2] })
    end
  end)
end

---@class outrider.Choice
---@field text string
---@field act fun()
---@field is_yes? boolean

--- One after the other; leaving a choice leaves the rest open.
---@param question outrider.Question
local function one_by_one(question)
  local item = table.remove(question, 1)
  if item then
    M.choose({ item }, function()
      one_by_one(question)
    end)
  end
end

---@param question outrider.Question
---@return outrider.Choice[]
local function choices_of_all(question)
  local function look()
    require('outrider.diff').open(question)
  end
  return {
    {
      text = ('Allow all %d'):format(#question),
      is_yes = true,
      act = function()
        allow(question, 'allow_once')
      end,
    },
    {
      text = 'Reject all',
      act = function()
        M.reject(question)
      end,
    },
    {
      text = 'Reject all with a note…',
      act = function()
        reject_with_note(question)
      end,
    },
    {
      text = 'One by one…',
      act = function()
        one_by_one(question)
      end,
    },
    { text = LOOK, act = look },
  }
end

---@param item outrider.Item
---@param after fun() done when it is answered
---@return outrider.Choice[]
local function choices(item, after)
  local list = {}
  local function add(text, act, is_yes)
    list[#list + 1] = { text = text, act = act, is_yes = is_yes }
  end
  if item.kind == 'approval' then
    for _, option in ipairs(item.options) do
      local decision = DECISIONS[option]
      if decision then
        add(
          decision == 'allow_session' and ('%s (%s)'):format(option, drawing.covers(item)) or option,
          function()
            if decision == 'reject' then
              M.answer(item, { decision = decision })
            else
              allow_one(item, decision)
            end
            after()
          end,
          decision ~= 'reject'
        )
      elseif option == ALWAYS then
        add(option, function()
          M.always(item)
        end)
      end
    end
    if vim.list_contains(item.options, 'Reject') then
      add(REJECT_WITH_NOTE, function()
        reject_with_note({ item }, after)
      end)
    end
    if #require('outrider.review').hunks(item) > 1 then
      add(BY_HUNK, function()
        require('outrider.hunks').start(item)
      end)
    end
    add(LOOK, function()
      require('outrider.diff').open({ item })
    end)
    return list
  end
  for _, option in ipairs(item.options) do
    add(option, function()
      answer_question(item, option)
    end, true)
  end
  if item.allowFreeForm then
    add(OTHER, function()
      M.write(drawing.short(drawing.head(item), 60) .. ' ', function(text)
        M.answer(item, { answer = text })
      end)
    end)
  end
  return list
end

--- What a question is about, in one line.
---@param question outrider.Question
---@return string
local function head(question)
  return #question == 1 and drawing.head(question[1]) or drawing.head_of_all(question)
end

--- What else there is to know of it.
---@param question outrider.Question
---@return string
local function besides(question)
  local item = question[1]
  if #question > 1 then
    return '(' .. table.concat(vim.tbl_map(drawing.head, question), ', ') .. ')'
  end
  return item.kind == 'approval' and drawing.besides(item) or item.detail
end

--- Let the user choose what to say. Leaving the choice answers nothing.
---@param question outrider.Question
---@param after fun()? done when it is answered
function M.choose(question, after)
  local item = question[1]
  local list = #question > 1 and choices_of_all(question) or choices(item, after or function() end)
  if #item.options == 0 and #list == 1 then
    return list[1].act()
  end
  reading.select(list, {
    prompt = vim.trim(
      ('%s %s'):format(drawing.short(head(question), 300), drawing.short(besides(question), 200))
    ) .. ' ',
    kind = 'outrider_' .. item.kind,
    format_item = function(choice)
      return drawing.short(choice.text, 300)
    end,
  }, function(choice)
    return choice.is_yes == true
  end, function(choice)
    if choice then
      choice.act()
    end
  end)
end

--- Do what a key stands for.
---@param name 'allow'|'session'|'reject'|'note'|'diff'|'answer'
---@param question outrider.Question?
function M.by_key(name, question)
  local item = question and question[1]
  if not question or not item then
    return log.say('info', 'Outrider asks nothing here.')
  end
  if name == 'diff' then
    return require('outrider.diff').open(question)
  end
  -- What is asked about files that a command changed is neither allowed nor rejected.
  if name == 'answer' or item.kind ~= 'approval' or vim.list_contains(item.options, 'Put back') then
    return M.choose(question)
  end
  if name == 'note' then
    return reject_with_note(question)
  end
  if name == 'reject' then
    return M.reject(question)
  end
  if name == 'session' and #question > 1 then
    return log.say('warning', 'Edits of one step can be allowed only once, unless you put the cursor on one.')
  end
  if name == 'session' and not vim.list_contains(item.options, 'Allow for this session') then
    return log.say('warning', 'This can be allowed only once.')
  end
  if #question > 1 and not reading.takes_yes(M.group_name(item.group)) then
    return
  end
  for _, one in ipairs(question) do
    if not reading.takes_yes(one.id) then
      return
    end
  end
  allow(question, name == 'allow' and 'allow_once' or 'allow_session')
end

--- Pick one of several questions.
---@param client vim.lsp.Client
---@param done fun(question: outrider.Question)
function M.pick(client, done)
  local open = M.questions(client.id)
  if #open == 0 then
    log.say('info', 'Outrider asks nothing.')
  elseif #open == 1 then
    done(open[1])
  else
    vim.ui.select(open, {
      prompt = 'Outrider asks ',
      kind = 'outrider_items',
      format_item = function(question)
        return drawing.short(head(question), 200)
      end,
    }, function(question)
      if question then
        done(question)
      end
    end)
  end
end

--- `outrider/ask`: the request waits until its item is resolved, by whatever way. The answer goes by the item's id.
---@param client vim.lsp.Client
---@param params outrider.AskParams
---@return any
function M.asked(client, params)
  local thread = coroutine.running()
  sessions.when_read(
    client,
    vim.schedule_wrap(function()
      coroutine.resume(thread)
    end)
  )
  coroutine.yield()
  local id = params.item.id
  local is_known = vim.iter(sessions.items(client.id)):any(function(item)
    return item.id == id
  end)
  if not is_known then
    return vim.NIL
  end
  M.tell_of_group(client, id)
  held[id] = held[id] or {}
  table.insert(held[id], thread)
  return coroutine.yield()
end

local function release(id)
  local threads = held[id] or {}
  held[id] = nil
  for _, thread in ipairs(threads) do
    vim.schedule(function()
      coroutine.resume(thread, vim.NIL)
    end)
  end
end

--- Tell that something is asked, on one line: a longer message would stop the editor, and take a key of what is typed.
---@param question outrider.Question
---@param is_again boolean?
local function tell(question, is_again)
  if config.get().ask == 'select' then
    return vim.schedule(function()
      local open = vim.tbl_filter(M.is_open, question)
      if #open > 0 then
        M.choose(open)
      end
    end)
  end
  local said = is_again and 'The text has changed, so Outrider asks again: %s'
    or 'Outrider asks: %s (:Outrider answer)'
  local room = vim.v.echospace - #said:format('')
  log.say('info', said:format(drawing.fit(head(question), math.max(room, SHORTEST))))
end

--- Under this name it is known since when the edits of one step are seen as they are now.
---@param group string
---@return string
function M.group_name(group)
  return 'group:' .. group
end

local function announce(session, item, is_again)
  -- What was answered long ago is in a log that is read; only what is still open at its end is told.
  if not item or item.kind == 'tool' or sessions.is_reading(session.id) then
    return
  end
  reading.appeared(item.id)
  if config.get().ask ~= 'select' then
    require('outrider.inline').show(session, item)
  end
  if item.group then
    reading.appeared(M.group_name(item.group))
  else
    tell({ item }, is_again)
  end
end

--- Tell of the edits of one step, once, when the server asks for the first of them: by then all are known.
---@param client vim.lsp.Client
---@param id string
function M.tell_of_group(client, id)
  for _, question in ipairs(M.questions(client.id)) do
    for _, item in ipairs(question) do
      if item.id == id and item.group and not told[item.group] then
        told[item.group] = true
        vim.iter(question):each(require('outrider.inline').refresh)
        tell(question)
      end
    end
  end
end

--- One of the edits of a step is answered: the rest is another question now.
---@param session outrider.Session
---@param group string?
local function regroup(session, group)
  local rest = vim.tbl_filter(function(item)
    return group ~= nil and item.group == group
  end, session.items)
  for _, item in ipairs(rest) do
    reading.appeared(M.group_name(group))
    require('outrider.inline').refresh(item)
  end
  if group and #rest == 0 then
    told[group] = nil
    reading.forget(M.group_name(group))
  end
end

--- Follow a session.
---@param session outrider.Session
---@param event outrider.Event
function M.event(session, event)
  if event.type == 'approval.requested' or event.type == 'question.asked' then
    local item = session:item(event.data.id)
    announce(session, item, item and require('outrider.review').recall(item))
  elseif event.type == 'tool.finished' then
    require('outrider.review').finish(event.data.callId)
  elseif
    event.type == 'approval.resolved'
    or event.type == 'question.answered'
    or event.type == 'tool.answered'
  then
    reading.forget(event.data.id)
    require('outrider.inline').hide(event.data.id)
    require('outrider.diff').close(event.data.id)
    require('outrider.review').forget(event.data.id, event.data.callId)
    release(event.data.id)
    regroup(session, session.groups[event.data.id])
  elseif event.type == 'edit.proposed' then
    -- An item that is older than its `changeIds` is there before its edit is worked out again.
    for _, item in ipairs(session.items) do
      if
        item.kind == 'approval'
        and item.callId == event.data.callId
        and not sessions.is_reading(session.id)
      then
        require('outrider.inline').show(session, item)
      end
    end
  elseif event.type == 'turn.finished' or event.type == 'session.restored' then
    M.refresh(session)
  end
end

--- Show what is open, and nothing else.
---@param session outrider.Session
function M.refresh(session)
  if sessions.is_reading(session.id) then
    return
  end
  require('outrider.inline').hide_session(session)
  for _, item in ipairs(session.items) do
    if session.state ~= 'lost' then
      announce(session, item)
      local question = M.question(item)
      if item.group and question[1] == item then
        told[item.group] = true
        tell(question)
      end
    else
      require('outrider.review').lost(item)
    end
  end
  for id in pairs(held) do
    if
      not vim.iter(sessions.items(session.client)):any(function(item)
        return item.id == id
      end)
    then
      release(id)
    end
  end
end

return M
