--- Which model the next tasks get: a list of those that can be had, and the choice among them.
local client_of = require('outrider.client')
local log = require('outrider.log')
local status = require('outrider.status')

local M = {}

--- How long a completion waits for a list that is not there yet, in milliseconds.
local WAITS = 1000

--- How long completions make do with the list that was asked for last, answered or not, in milliseconds.
local KEEPS = 60000

--- When the models were asked for last, and their names as they were listed last, by client.
---@type table<integer, { asked: number, names: string[]? }>
local known = {}

---@param client vim.lsp.Client
---@param done fun(found: outrider.ModelsResult)
---@param failed fun(problem: lsp.ResponseError)?
local function list(client, done, failed)
  local before = known[client.id]
  local now = { asked = vim.uv.now(), names = before and before.names }
  known[client.id] = now
  client_of.execute(client, 'outrider.models', nil, function(found)
    now.names = vim.tbl_map(function(one)
      return one.model
    end, found.models)
    done(found)
  end, failed)
end

--- `128k` for 128000.
local function short(count)
  return count < 1000 and tostring(count)
    or count < 1e6 and ('%.0fk'):format(count / 1e3)
    or ('%.1fM'):format(count / 1e6)
end

---@param one outrider.ModelInfo
---@param now string? the model of the next task
---@return string
local function line(one, now)
  local facts = { ('%s tokens'):format(short(one.contextWindow)) }
  if one.tier then
    table.insert(facts, 1, one.tier)
  end
  if one.price then
    facts[#facts + 1] = ('%g in, %g out'):format(one.price.input, one.price.output)
  end
  return ('%s %s  %s'):format(one.model == now and '●' or ' ', one.model, table.concat(facts, ' · '))
end

--- Use a model from the next task on; without a name that of the settings.
---@param client vim.lsp.Client
---@param name string?
function M.use(client, name)
  status.chosen(client).model = name
  status.changed()
end

--- Have the user choose.
---@param client vim.lsp.Client
function M.choose(client)
  local function write()
    vim.ui.input(
      { prompt = 'Model (provider/name): ', default = (status.state() or {}).model },
      function(name)
        if name and name ~= '' then
          M.use(client, name)
        end
      end
    )
  end
  if not client_of.knows(client, 'outrider.models') then
    return write()
  end
  list(client, function(found)
    local chosen = status.chosen(client).model
    local choices = {
      {
        text = ('%s the one of the settings  %s'):format(chosen and ' ' or '●', found.model or 'none'),
        act = function()
          M.use(client)
        end,
      },
    }
    for _, one in ipairs(found.models) do
      choices[#choices + 1] = {
        text = line(one, chosen),
        act = function()
          M.use(client, one.model)
        end,
      }
    end
    choices[#choices + 1] = { text = '  another…', act = write }
    local problems = #found.problems > 0 and (' (%s)'):format(table.concat(found.problems, '; ')) or ''
    vim.ui.select(choices, {
      prompt = ('Model%s '):format(problems),
      kind = 'outrider_model',
      format_item = function(one)
        return one.text
      end,
    }, function(one)
      if one then
        one.act()
      end
    end)
  end)
end

--- The names of the models that can be had. They are asked for once in a while, however often they are completed;
--- where none is known yet, a moment is waited for the answer.
---@return string[]
function M.names()
  local client = client_of.of()
  if not client then
    return {}
  end
  local before = known[client.id]
  local is_due = not before or vim.uv.now() - before.asked >= KEEPS
  if is_due and client_of.knows(client, 'outrider.models') then
    local answered = before ~= nil and before.names ~= nil
    list(client, function()
      answered = true
    end, function(problem)
      answered = true
      log.say('error', ('Outrider: %s'):format(problem.message))
    end)
    vim.wait(WAITS, function()
      return answered
    end, 5)
  end
  return (known[client.id] or {}).names or {}
end

return M
