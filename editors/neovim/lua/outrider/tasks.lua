--- Giving tasks: what the user wrote, and what they look at.
local client_of = require('outrider.client')
local config = require('outrider.config')
local context_of = require('outrider.context')
local lifecycle = require('outrider.lifecycle')
local log = require('outrider.log')
local sessions = require('outrider.sessions')
local status = require('outrider.status')

local M = {}

--- What the user looks at now, in the words of the server that is told of it.
---@param range { first: integer, last: integer }?
---@return fun(client: vim.lsp.Client): outrider.Context?
local function context(range)
  if not context_of.is_document(vim.api.nvim_get_current_buf()) then
    return function() end
  end
  local uri = vim.uri_from_bufnr(0)
  local selection = range and context_of.selection(range.first, range.last)
  return function(client)
    return { documents = { uri }, selection = selection and selection(client.offset_encoding) }
  end
end

--- The last task that no server has taken, by the folder of its server: nobody has to write it again, or select again
--- what it is about.
---@type table<string, { prompt: string, options: table, context: (fun(client: vim.lsp.Client): outrider.Context?)? }>
local unsent = {}

---@param client vim.lsp.Client
---@return string
local function place(client)
  return client.root_dir or ''
end

--- Where there is no model the user is led to one, and then the task is sent as it was.
---@param client vim.lsp.Client
---@param task table
---@param problem lsp.ResponseError
---@param again fun()? sends it once more
local function refused(client, task, problem, again)
  unsent[place(client)] = task
  require('outrider.setup').refused(
    client,
    problem,
    again,
    '`:Outrider run` without a task has what you wrote.'
  )
end

local function send(client, prompt, options)
  local chosen = status.chosen(client)
  local session = not options.new and sessions.current(client) or nil
  -- A server that ends before it answers has not taken it either.
  local task = { prompt = prompt, options = options }
  unsent[place(client)] = task
  local params = {
    prompt = prompt,
    acceptance = options.acceptance,
    context = options.context,
    mode = options.mode or chosen.mode,
    model = chosen.model,
    sessionId = session and session.state ~= 'lost' and session.id or nil,
  }
  client_of.execute(client, 'outrider.run', params, function(result)
    if unsent[place(client)] == task then
      unsent[place(client)] = nil
    end
    sessions.use(client, result.sessionId)
    local function show()
      local started = sessions.get(result.sessionId)
      if started and config.get().view.open then
        require('outrider.view').open(started, false)
      end
      if result.queued then
        log.say('info', 'Outrider is at work; the task waits for its turn.')
      end
    end
    if sessions.get(result.sessionId) then
      show()
    else
      sessions.catch_up(client, result.sessionId, show)
    end
  end, function(problem)
    refused(client, task, problem, function()
      send(client, prompt, options)
    end)
  end)
end

--- Start the plan in a document.
---@param path string
function M.start_plan(path)
  local client = client_of.needed()
  if not client then
    return
  end
  local buffer = vim.fn.bufnr(path)
  local uri = buffer > 0 and vim.uri_from_bufnr(buffer) or vim.uri_from_fname(vim.fn.fnamemodify(path, ':p'))
  local params = { uri = uri, model = status.chosen(client).model }
  client_of.execute(client, 'outrider.plan', params, function(result)
    sessions.use(client, result.sessionId)
    sessions.catch_up(client, result.sessionId, function()
      local started = sessions.get(result.sessionId)
      if started and config.get().view.open then
        require('outrider.view').open(started, false)
      end
    end)
  end)
end

--- Send a task as soon as the server is there, if one is on its way.
---@param prompt string
---@param options table as for `run`
---@return boolean whether that was promised
local function send_later(prompt, options)
  local seen, root = context(options.range), nil
  root = lifecycle.await(vim.api.nvim_get_current_buf(), function(client)
    if not client then
      unsent[root] = { prompt = prompt, options = options, context = seen }
      return log.say('error', 'The task was not sent. `:Outrider run` without a task has what you wrote.')
    end
    options.context = options.context or seen(client)
    send(client, prompt, options)
  end)
  if root then
    log.say('info', 'Outrider is still starting; the task is sent as soon as it is there.')
  end
  return root ~= nil
end

--- Say something to the turn of a session, asked for where there is nothing to say yet.
---@param client vim.lsp.Client
---@param session outrider.Session
---@param given string may be empty
function M.steer(client, session, given)
  if session.away then
    return log.say('info', sessions.ELSEWHERE)
  end
  local function say(text)
    local params = { sessionId = session.id, text = text }
    client_of.execute(client, 'outrider.steer', params, nil, function(problem)
      refused(client, { prompt = text, options = {} }, problem)
    end)
  end
  if given ~= '' then
    return say(given)
  end
  vim.ui.input({ prompt = 'Say: ' }, function(text)
    if text and vim.trim(text) ~= '' then
      say(text)
    end
  end)
end

--- Give a task.
---@param prompt string
---@param options { mode: string?, new: boolean?, context: outrider.Context?, range: { first: integer, last: integer }? }
function M.run(prompt, options)
  local client = client_of.of() or not send_later(prompt, options) and client_of.needed()
  if client then
    options.context = options.context or context(options.range)(client)
    send(client, prompt, options)
  end
end

--- A question for a task that was refused, with how it is sent again: what is not said now is as it was.
---@param question string
---@param now table as for `run`, changed
---@param before table those of the refused task
---@return string question with what is taken over
local function take_over(question, now, before)
  local taken = {}
  if not now.mode and before.mode then
    now.mode = before.mode
    taken[1] = before.mode
  end
  local selection = before.context and before.context.selection
  if not now.range and before.context then
    now.context = before.context
    if selection then
      local range = selection.range
      local file = vim.fn.fnamemodify(vim.uri_to_fname(selection.uri), ':t')
      taken[#taken + 1] = ('%s:%d-%d'):format(file, range.start.line + 1, range['end'].line + 1)
    end
  end
  if not now.new and before.new then
    now.new = true
    taken[#taken + 1] = 'new session'
  end
  return #taken > 0 and ('%s(%s) '):format(question, table.concat(taken, ', ')) or question
end

--- Give a task, asked for where there is none.
---@param prompt string may be empty
---@param question string
---@param options table as for `run`
function M.ask_and_run(prompt, question, options)
  local client = client_of.of()
  if not client and prompt ~= '' and send_later(prompt, options) then
    return
  end
  client = client or client_of.needed()
  if not client then
    return
  end
  -- Taken before the user is asked: a picker may be a buffer of its own.
  options.context = context(options.range)(client)
  if prompt ~= '' then
    return send(client, prompt, options)
  end
  local before = unsent[place(client)]
  if before then
    before.options.context = before.options.context or before.context and before.context(client)
    question = take_over(question, options, before.options)
  end
  vim.ui.input({ prompt = question, default = before and before.prompt }, function(text)
    if text and vim.trim(text) ~= '' then
      send(client, text, options)
    end
  end)
end

--- Have the problems of some lines fixed.
---@param first integer from 1
---@param last integer
---@param options table as for `run`
function M.fix(first, last, options)
  local client = client_of.needed()
  if not client then
    return
  end
  local buffer = vim.api.nvim_get_current_buf()
  local found = context_of.diagnostics(client, buffer, first, last)
  if #found == 0 then
    return log.say(
      'info',
      'There is no problem here: no language server and no linter reports one for these lines.'
    )
  end
  local messages = vim.tbl_map(function(one)
    return ('- line %d: %s'):format(one.range.start.line + 1, one.message)
  end, found)
  local prompt = #found == 1 and ('Fix this problem: %s'):format(found[1].message)
    or 'Fix these problems:\n' .. table.concat(messages, '\n')
  local uri = vim.uri_from_bufnr(buffer)
  options.context = {
    documents = { uri },
    selection = context_of.selection(first, last)(client.offset_encoding),
    diagnostics = { { uri = uri, items = found } },
  }
  send(client, prompt, options)
end

return M
