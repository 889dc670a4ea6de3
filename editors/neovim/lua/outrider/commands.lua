--- `:Outrider`: its sub-commands, and their completion.
local client_of = require('outrider.client')
local drawing = require('outrider.drawing')
local hunks = require('outrider.hunks')
local items = require('outrider.items')
local lifecycle = require('outrider.lifecycle')
local log = require('outrider.log')
local models = require('outrider.models')
local sessions = require('outrider.sessions')
local status = require('outrider.status')
local tasks = require('outrider.tasks')
local view = require('outrider.view')

require('outrider')

local M = {}

local MODES = { 'agent', 'plan', 'explore' }
local PERMISSIONS = { 'read-only', 'ask', 'auto-edit', 'auto', 'full' }
local SCOPES = { 'turn', 'step', 'hunk', 'session' }

---@class outrider.Given
---@field text string what stands behind the sub-command
---@field words string[]
---@field range { first: integer, last: integer }?
---@field line { first: integer, last: integer }
---@field bang boolean

---@class outrider.Command
---@field about string
---@field run fun(given: outrider.Given)
---@field complete? (fun(): string[])|string[]

---@type table<string, outrider.Command>
local commands = {}

--- The client and its session, or a message.
local function in_session(act)
  local client = client_of.needed()
  local session = client and sessions.here(client)
  if client and not session then
    log.say(
      'info',
      'There is no session yet: `:Outrider run` begins one, `:Outrider resume` goes on with an old one.'
    )
  elseif client then
    act(client, session)
  end
end

commands.run = {
  about = 'give a task; with ! in a new session, with a range about the selection',
  run = function(given)
    tasks.ask_and_run(given.text, 'Task: ', { new = given.bang, range = given.range })
  end,
}

commands.fix = {
  about = 'fix the problems of the line or range, of all language servers',
  run = function(given)
    tasks.fix(given.line.first, given.line.last, { new = given.bang })
  end,
}

commands.explain = {
  about = 'explain the line or range',
  run = function(given)
    local prompt = given.text ~= '' and given.text or 'Explain the selection.'
    tasks.ask_and_run(prompt, '', { new = given.bang, mode = 'explore', range = given.line })
  end,
}

commands.explore = {
  about = 'ask a question; nothing can be changed',
  run = function(given)
    tasks.ask_and_run(given.text, 'Question: ', { new = given.bang, mode = 'explore', range = given.range })
  end,
}

commands.plan = {
  about = 'have a plan made; nothing can be changed',
  run = function(given)
    tasks.ask_and_run(given.text, 'Plan for: ', { new = given.bang, mode = 'plan', range = given.range })
  end,
}

commands.start = {
  about = 'carry out the plan in this document, or in another one',
  run = function(given)
    tasks.start_plan(given.text ~= '' and given.text or vim.api.nvim_buf_get_name(0))
  end,
  complete = function()
    return vim.fn.glob('.outrider/plans/*.md', true, true)
  end,
}

commands.steer = {
  about = 'say something to the running turn',
  run = function(given)
    in_session(function(client, session)
      tasks.steer(client, session, given.text)
    end)
  end,
}

--- Do something about the edit that the user looks at, else about what is asked.
---@param act fun(question: outrider.Question)
local function with_question(act)
  local client = client_of.needed()
  if client then
    local buffer = vim.api.nvim_get_current_buf()
    local here = require('outrider.inline').item_at(buffer) or require('outrider.diff').item_at(buffer)
    if here then
      act({ here })
    else
      items.pick(client, act)
    end
  end
end

commands.answer = {
  about = 'answer what is asked',
  run = function(given)
    with_question(function(question)
      if given.text ~= '' and question[1].kind ~= 'approval' then
        items.answer(question[1], { answer = given.text })
      else
        items.choose(question)
      end
    end)
  end,
}

commands.allow = {
  about = 'allow what is asked, once, or for this session',
  run = function(given)
    with_question(function(question)
      items.by_key(given.words[1] == 'session' and 'session' or 'allow', question)
    end)
  end,
  complete = { 'once', 'session' },
}

commands.reject = {
  about = 'reject what is asked, with a note for the model',
  run = function(given)
    with_question(function(question)
      if question[1].kind ~= 'approval' then
        return items.choose(question)
      end
      items.reject(question, given.text ~= '' and given.text or nil)
    end)
  end,
}

commands.diff = {
  about = 'show what is asked in the diff view',
  run = function()
    with_question(function(question)
      require('outrider.diff').open(question)
    end)
  end,
}

commands.hunk = {
  about = 'accept, reject or amend the hunk under the cursor, say why not, or go to the next or previous',
  run = function(given)
    local name = given.words[1] or 'next'
    if not vim.list_contains(hunks.NAMES, name) then
      return log.say(
        'error',
        ('There is no `:Outrider hunk %s`. There are: %s.'):format(name, table.concat(hunks.NAMES, ', '))
      )
    end
    with_question(function(question)
      local item = question[1]
      if #require('outrider.review').hunks(item) == 0 then
        return log.say('info', 'What Outrider asks has no hunks: `:Outrider answer` answers it.')
      end
      hunks.by_key(name, item)
    end)
  end,
  complete = hunks.NAMES,
}

commands.cancel = {
  about = 'end the turn and all it started',
  run = function()
    in_session(function(client, session)
      if not session.turn then
        return log.say('info', 'Outrider is at rest: there is nothing to cancel.')
      end
      if session.away then
        return log.say('info', sessions.ELSEWHERE)
      end
      client_of.execute(
        client,
        'outrider.cancel',
        { turnId = session.turn, reason = 'cancelled in the editor' }
      )
    end)
  end,
}

--- Go on after a turn that ended early, where the server can.
---@param act fun(client: vim.lsp.Client, session: outrider.Session)
---@param outcomes table<string, true>
---@param nothing string what is said where the last turn ended otherwise
local function after_end(act, outcomes, nothing)
  in_session(function(client, session)
    if session.away then
      return log.say('info', sessions.ELSEWHERE)
    elseif session.turn or not session.last or not outcomes[session.last.outcome or ''] then
      return log.say('info', nothing)
    elseif not client_of.knows(client, 'outrider.continue') then
      return log.say(
        'info',
        'This server cannot go on with a turn that has ended: `:Outrider run` gives the task again.'
      )
    end
    act(client, session)
  end)
end

commands.retry = {
  about = 'make the next attempt at the provider now, or give a task that failed again',
  run = function()
    local client = client_of.of()
    local session = client and sessions.here(client)
    if client and session and session:retry_in() and not session.away then
      return client_of.execute(client, 'outrider.retry', { turnId = session.turn }, function()
        session.retry = nil
      end)
    end
    after_end(
      function(server, failed)
        client_of.execute(server, 'outrider.retry', { turnId = failed.last.turn })
      end,
      { failed = true, refused = true },
      'No attempt at a provider is waited for, and the last task did not fail.'
    )
  end,
}

commands['continue'] = {
  about = 'go on with a turn that was cut off or failed, or correct the check that it ended with as failed',
  run = function()
    local server = client_of.of()
    local here = server and sessions.here(server)
    local failed = here and not here.turn and not here.away and here.last and here.last.failed
    if server and failed then
      -- That turn came to its end by itself: another one corrects what failed.
      return tasks.run(drawing.mending(failed), { acceptance = failed })
    end
    after_end(
      function(client, session)
        client_of.execute(client, 'outrider.continue', { sessionId = session.id })
      end,
      { budget_exhausted = true, failed = true, refused = true, cancelled = true },
      'The last turn ended by itself.'
    )
  end,
}

commands.compose = {
  about = 'write a task in a buffer of several lines, with completion of @ and /',
  run = function(given)
    require('outrider.compose').open(given.text ~= '' and given.text or nil)
  end,
}

commands.edit = {
  about = 'write the last task anew; what came of it is taken back',
  run = function()
    require('outrider.compose').edit()
  end,
}

local function say_done(what)
  return function(result)
    local paths = vim.tbl_map(function(one)
      return one.hunks > 0 and ('%s (%d)'):format(one.path, one.hunks) or one.path
    end, result.undone)
    local left = #result.conflicts + #result.notUndoable
    log.say(
      'info',
      ('Outrider %s: %s%s'):format(
        what,
        #paths > 0 and table.concat(paths, ', ') or 'nothing',
        left > 0 and ('; %d left as it is'):format(left) or ''
      )
    )
  end
end

local function undo_or_redo(command, what)
  return function(given)
    local client = client_of.needed()
    if not client then
      return
    end
    if given.words[1] and not vim.tbl_contains(SCOPES, given.words[1]) then
      local scopes = table.concat(SCOPES, ', ')
      return log.say('warning', ('There is no scope “%s”: say one of %s.'):format(given.words[1], scopes))
    end
    local session = sessions.here(client)
    local params = { scope = given.words[1], id = given.words[2], sessionId = session and session.id or nil }
    if command == 'outrider.undo' then
      params.latest = true
    end
    client_of.execute(client, command, params, say_done(what), function(problem)
      local data = problem.data or {}
      if data.reason ~= 'not_latest' then
        return log.say('error', ('Outrider: %s'):format(problem.message or vim.inspect(problem)))
      end
      vim.ui.select({ 'Undo it', 'Leave it' }, {
        prompt = ('The latest turn changed nothing that can be undone. Undo “%s”? '):format(
          drawing.short(data.prompt, 80)
        ),
        kind = 'outrider_undo',
      }, function(choice)
        if choice == 'Undo it' then
          local named = { sessionId = data.sessionId, scope = 'turn', id = data.turnId }
          client_of.execute(client, command, named, say_done(what))
        end
      end)
    end)
  end
end

commands.undo = {
  about = 'undo the last turn, or a step, hunk or session; what you wrote since stays',
  run = undo_or_redo('outrider.undo', 'undone'),
  complete = SCOPES,
}

commands.redo = {
  about = 'redo what was undone',
  run = undo_or_redo('outrider.redo', 'redone'),
  complete = SCOPES,
}

--- A change without hunks, such as a rename, is shown and taken back as a whole.
local function shown(change, hunk)
  local path = change.to and ('%s → %s'):format(change.path, change.to) or change.path
  local how = change.operation == 'edit' and '' or change.operation .. ' '
  if not hunk then
    return ('%s: %s%s'):format(path, how, change.state or change.reason or '')
  end
  local text = vim.trim(hunk.added) ~= '' and hunk.added or hunk.removed
  return ('%s:%d %s%s: %s'):format(path, hunk.line, how, hunk.state, drawing.short(text, 80))
end

local function act_on_hunk(client, session_id, change, hunk)
  if not hunk and not change.state then
    return log.say('warning', ('%s: %s'):format(change.path, change.reason or 'nothing can be done'))
  end
  local line = hunk and hunk.line or 1
  local id, state = hunk and hunk.id or change.changeId, (hunk or change).state
  local file = client_of.file(client, state == 'undone' and change.path or change.to or change.path)
  local choices = { 'Go there', state == 'undone' and 'Redo' or 'Undo' }
  vim.ui.select(
    choices,
    { prompt = ('%s:%d '):format(change.path, line), kind = 'outrider_hunk' },
    function(choice)
      if choice == 'Go there' and file and require('outrider.window').show_file(file) then
        local last = vim.api.nvim_buf_line_count(0)
        vim.cmd("normal! m'")
        vim.api.nvim_win_set_cursor(0, { math.max(1, math.min(line, last)), 0 })
        vim.cmd('normal! zv')
      elseif choice == 'Undo' or choice == 'Redo' then
        local params = { sessionId = session_id, scope = 'hunk', id = id }
        client_of.execute(
          client,
          'outrider.' .. choice:lower(),
          params,
          say_done(choice == 'Undo' and 'undone' or 'redone')
        )
      end
    end
  )
end

commands.changes = {
  about = 'what the session changed, hunk by hunk: go there, undo, redo',
  run = function()
    local client = client_of.needed()
    if not client then
      return
    end
    if not client_of.knows(client, 'outrider.changes') then
      return log.say('warning', 'This server cannot list changes; a newer one can.')
    end
    -- After a restart none is in use yet: then the server takes the latest, as for `:Outrider undo`.
    local session = sessions.here(client)
    local params = { sessionId = session and session.id or nil }
    client_of.execute(client, 'outrider.changes', params, function(result)
      local rows = {}
      for _, change in ipairs(result.changes or {}) do
        for _, hunk in ipairs(change.hunks) do
          rows[#rows + 1] = { change = change, hunk = hunk }
        end
        if #change.hunks == 0 then
          rows[#rows + 1] = { change = change }
        end
      end
      if #rows == 0 then
        return log.say('info', 'The session has changed nothing.')
      end
      vim.ui.select(rows, {
        prompt = 'Changes ',
        kind = 'outrider_changes',
        format_item = function(row)
          return shown(row.change, row.hunk)
        end,
      }, function(row)
        if row then
          act_on_hunk(client, result.sessionId, row.change, row.hunk)
        end
      end)
    end)
  end,
}

commands.open = {
  about = 'show the session',
  run = function()
    in_session(function(_, session)
      view.open(session, true)
    end)
  end,
}

local known_sessions = {}

local function list_sessions(client, done)
  client_of.execute(client, 'outrider.sessions', nil, function(result)
    known_sessions = vim.tbl_map(function(one)
      return one.sessionId
    end, result.sessions)
    if #result.sessions == 0 then
      return log.say('info', 'There are no sessions yet: `:Outrider run` begins one.')
    end
    done(result.sessions)
  end)
end

local function resume(client, id)
  sessions.resume(client, id, function()
    local session = sessions.get(id)
    if session then
      view.open(session, true)
    end
  end)
end

commands.sessions = {
  about = 'choose a session of this project',
  run = function()
    local client = client_of.needed()
    if not client then
      return
    end
    list_sessions(client, function(found)
      vim.ui.select(found, {
        prompt = 'Sessions ',
        kind = 'outrider_sessions',
        format_item = function(one)
          return ('%s  %s  %s (%d %s)'):format(
            one.lastAt:sub(1, 16):gsub('T', ' '),
            one.elsewhere and one.state .. ' elsewhere' or one.state,
            drawing.short(one.title, 80),
            one.turns,
            one.turns == 1 and 'task' or 'tasks'
          )
        end,
      }, function(one)
        if one then
          resume(client, one.sessionId)
        end
      end)
    end)
  end,
}

commands.resume = {
  about = 'go on with a session, the latest if none is named',
  run = function(given)
    local client = client_of.needed()
    if not client then
      return
    end
    if given.words[1] then
      return resume(client, given.words[1])
    end
    list_sessions(client, function(found)
      resume(client, found[1].sessionId)
    end)
  end,
  complete = function()
    return known_sessions
  end,
}

local function choose(kind, choices, done)
  vim.ui.select(choices, { prompt = kind .. ' ', kind = 'outrider_choice' }, function(choice)
    if choice then
      done(choice)
    end
  end)
end

commands.model = {
  about = 'use another model from the next task on',
  run = function(given)
    local client = client_of.needed()
    if not client then
      return
    end
    if given.text ~= '' then
      models.use(client, given.text)
    else
      models.choose(client)
    end
  end,
  complete = models.names,
}

commands.mode = {
  about = 'agent, plan or explore, from the next task on',
  run = function(given)
    local client = client_of.needed()
    if not client then
      return
    end
    local function use(mode)
      if not vim.list_contains(MODES, mode) then
        return log.say(
          'error',
          ('There is no mode `%s`: it is one of %s.'):format(mode, table.concat(MODES, ', '))
        )
      end
      status.chosen(client).mode = mode
      status.changed()
    end
    if given.words[1] then
      use(given.words[1])
    else
      choose('Mode', MODES, use)
    end
  end,
  complete = MODES,
}

local function set_permissions(client, mode)
  local rank = {}
  for index, name in ipairs(PERMISSIONS) do
    rank[name] = index
  end
  if not rank[mode] then
    return log.say(
      'error',
      ('There is no such mode `%s`: it is one of %s.'):format(mode, table.concat(PERMISSIONS, ', '))
    )
  end
  local options = client.config.init_options or {}
  local first = options.permissionMode or require('outrider.config').get().settings.permissionMode or 'ask'
  if rank[mode] <= (rank[first] or 2) then
    -- What a server was started with can be made narrower while it runs, and that can be undone.
    client_of.notify(
      client,
      'workspace/didChangeConfiguration',
      { settings = { outrider = { permissionMode = mode } } }
    )
    log.say('info', ('Outrider: permission mode %s.'):format(mode))
  else
    client.config.init_options = vim.tbl_extend('force', options, { permissionMode = mode })
    log.say('info', ('Outrider: permission mode %s; the server starts again with it.'):format(mode))
    lifecycle.restart(client)
  end
end

commands.permissions = {
  about = 'what Outrider may do without asking: read-only, ask, auto-edit, auto, full',
  run = function(given)
    local client = client_of.needed()
    if not client then
      return
    end
    if given.words[1] then
      set_permissions(client, given.words[1])
    else
      choose('Without a question', PERMISSIONS, function(mode)
        set_permissions(client, mode)
      end)
    end
  end,
  complete = PERMISSIONS,
}

commands.setup = {
  about = 'set up a model: choose a provider, give its key, choose a model, try it',
  run = function()
    local client = client_of.needed()
    if client then
      require('outrider.setup').begin(client)
    end
  end,
}

commands.servers = {
  about = 'the MCP and language servers: how they are, log in, start again',
  run = function()
    local client = client_of.needed()
    if client then
      require('outrider.connected').choose(client)
    end
  end,
}

commands.doctor = {
  about = 'look at the set-up',
  run = function()
    vim.cmd.checkhealth('outrider')
  end,
}

commands.log = { about = 'show what was said', run = log.open }

commands.restart = {
  about = 'start the server again and go on',
  run = function()
    lifecycle.restart(client_of.of())
  end,
}

local function names()
  local found = vim.tbl_keys(commands)
  table.sort(found)
  return found
end

--- Do a sub-command.
---@param given vim.api.keyset.create_user_command.command_args
function M.command(given)
  local name, text = given.args:match('^(%S*)%s*(.-)%s*$')
  local command = commands[name]
  if name == '' then
    return vim.ui.select(names(), {
      prompt = 'Outrider ',
      kind = 'outrider_command',
      format_item = function(one)
        return ('%-12s %s'):format(one, commands[one].about)
      end,
    }, function(one)
      if one then
        vim.cmd.Outrider(one)
      end
    end)
  end
  if not command then
    return log.say(
      'error',
      ('There is no `:Outrider %s`. There are: %s.'):format(name, table.concat(names(), ', '))
    )
  end
  local range = { first = given.line1, last = given.line2 }
  command.run({
    text = text,
    words = vim.split(text, '%s+', { trimempty = true }),
    range = given.range > 0 and range or nil,
    line = range,
    bang = given.bang,
  })
end

--- Complete a command line.
---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  local before = line:sub(1, #line - #lead)
  local name = before:match('Outrider!?%s+(%S+)%s+$')
  local choices = name == nil and before:match('Outrider!?%s+$') and names() or {}
  if name and commands[name] and commands[name].complete then
    local complete = commands[name].complete
    choices = type(complete) == 'function' and complete() or complete --[[@as string[] ]]
  end
  return vim.tbl_filter(function(choice)
    return vim.startswith(choice, lead)
  end, choices)
end

return M
