--- `:Outrider setup`: from nothing to a model that answers. The server does the steps; here is only asked what to do.
--- Nothing is written before the last one. A key goes to the server and nowhere else.
local client_of = require('outrider.client')
local log = require('outrider.log')

local M = {}

local PLACES = {
  keyring = "in the system's keyring",
  file = 'in a file that only you can read',
}

--- Wait for what `start` gives, at once or later. Only within a coroutine.
---@generic T
---@param start fun(done: fun(value: T?))
---@return T?
local function await(start)
  local thread = assert(coroutine.running())
  local value, is_done, waits
  start(function(given)
    value, is_done = given, true
    if waits then
      assert(coroutine.resume(thread))
    end
  end)
  if not is_done then
    waits = true
    coroutine.yield()
  end
  return value
end

--- Have the server do a step; what goes wrong is told.
---@param client vim.lsp.Client
---@param params outrider.SetupParams
---@return outrider.SetupResult?
local function step(client, params)
  local result = await(function(done)
    client_of.execute(client, 'outrider.setup', params, done, function(problem)
      log.say('error', ('Outrider: %s'):format(problem.message))
      done(nil)
    end)
  end)
  local problem = result
    and (result.problem or (result.trial and not result.trial.ok and result.trial.detail))
  if problem then
    log.say('error', ('Outrider: %s. Nothing was written.'):format(problem))
    return nil
  end
  return result
end

---@generic T
---@param choices T[]
---@param prompt string
---@param line fun(choice: T): string
---@return T?
local function choose(choices, prompt, line)
  return await(function(done)
    vim.ui.select(choices, { prompt = prompt, kind = 'outrider_setup', format_item = line }, done)
  end)
end

---@param client vim.lsp.Client
---@param done fun()?
local function steps(client, done)
  local listed = step(client, { action = 'list' })
  local provider = listed
    and choose(listed.providers, 'Provider ', function(one)
      return one.found and ('%s: %s'):format(one.title, one.found) or one.title
    end)
  if not provider then
    return
  end
  local given = { provider = provider.name }
  if provider.needsKey and not provider.found then
    local key = vim.fn.inputsecret(('Key of %s, which is not shown: '):format(provider.title))
    if vim.trim(key) == '' then
      return
    end
    given.key = key
  end
  local found = step(client, vim.tbl_extend('force', given, { action = 'models' }))
  local model = found
    and choose(found.models, 'Model ', function(one)
      return one.contextWindow and ('%s  %d tokens'):format(one.name, one.contextWindow) or one.name
    end)
  if not model then
    return
  end
  given.model = model.name
  log.say('info', ('Outrider: one small request to %s …'):format(model.name))
  local tried = step(client, vim.tbl_extend('force', given, { action = 'try' }))
  local keep
  if tried and given.key then
    local places = vim.tbl_filter(function(place)
      return PLACES[place] ~= nil
    end, listed.keeps)
    keep = choose(places, 'Keep the key ', function(place)
      return PLACES[place]
    end)
  end
  if not tried or (given.key and not keep) then
    return
  end
  local saved = step(client, vim.tbl_extend('force', given, { action = 'save', keep = keep }))
  if saved then
    local note = saved.note and (', but %s'):format(saved.note) or ''
    log.say(
      'info',
      ('Outrider: %s is used from the next task on%s. Written to %s.'):format(saved.model, note, saved.file)
    )
    require('outrider.models').use(client)
    if done then
      done()
    end
  end
end

--- Lead the user through the steps; leaving any question ends it.
---@param client vim.lsp.Client
---@param done fun()? told when there is a model
function M.begin(client, done)
  assert(coroutine.resume(coroutine.create(steps), client, done))
end

local SET_UP = 'Set up a model'

--- Tell why the server did not do something. Where that is for want of a model, one key leads to one, and then it is done;
--- a model that the user named is theirs to change.
---@param client vim.lsp.Client
---@param problem lsp.ResponseError
---@param again fun()? does it once more
---@param more string? said behind it
function M.refused(client, problem, again, more)
  -- How one comes to a model in a terminal is no way for who is in the editor.
  local said = (problem.message or vim.inspect(problem))
    :gsub(': run `outrider setup` in a terminal', '')
    :gsub('%.$', '')
  local function tell()
    log.say('error', vim.trim(('Outrider: %s. %s'):format(said, more or '')))
  end
  local lacks_model = (problem.data or {}).reason == 'model_unavailable'
    and not require('outrider.status').chosen(client).model
  if not lacks_model or not again then
    return tell()
  end
  local how = { prompt = ('Outrider: %s '):format(said), kind = 'outrider_setup' }
  vim.ui.select({ SET_UP, 'Not now' }, how, function(one)
    if one == SET_UP then
      M.begin(client, again)
    else
      tell()
    end
  end)
end

return M
