--- A yes counts only for what has been on the screen long enough to be read: keys that were typed for something else,
--- or a key that is held down, answer nothing.
local config = require('outrider.config')
local log = require('outrider.log')

local M = {}

local TOO_EARLY = 'That answer came too quickly to have read the question: press the key once more.'
--- How often a choice is offered again.
local MOST = 3

--- When an item appeared, or a yes to it came too early.
---@type table<string, number>
local since = {}

local function now()
  return vim.uv.hrtime() / 1e9
end

--- An item has come up.
---@param id string
function M.appeared(id)
  since[id] = now()
end

---@param id string
function M.forget(id)
  since[id] = nil
end

--- Whether a yes to an item counts now. One that comes too early is told, and makes the time begin anew.
---@param id string
---@return boolean
function M.takes_yes(id)
  if not since[id] or now() - since[id] >= config.get().read_seconds then
    return true
  end
  since[id] = now()
  log.say('info', TOO_EARLY)
  return false
end

--- `vim.ui.select`, which what was typed before it does not answer. A yes that comes too early is asked for again.
---@generic T
---@param choices T[]
---@param options table
---@param is_yes fun(choice: T): boolean
---@param done fun(choice: T?)
---@param again integer?
function M.select(choices, options, is_yes, done, again)
  local began = now()
  -- Keys that are typed ahead stay for what they were typed for.
  vim.fn.inputsave()
  local ok, problem = pcall(vim.ui.select, choices, options, function(choice)
    if choice == nil or not is_yes(choice) or now() - began >= config.get().read_seconds then
      return done(choice)
    end
    log.say('info', TOO_EARLY)
    if (again or 0) < MOST then
      vim.schedule(function()
        M.select(choices, options, is_yes, done, (again or 0) + 1)
      end)
    end
  end)
  vim.fn.inputrestore()
  if not ok then
    error(problem, 0)
  end
end

return M
