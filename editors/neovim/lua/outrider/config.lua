--- What the user set: `require('outrider').setup { … }` or `vim.g.outrider = { … }`, both optional.
local M = {}

---@class outrider.Config
local defaults = {
  --- Settings of the server (`initializationOptions`): `model`, `providers`, `permissionMode`, `limits`, …
  settings = {},
  --- `inline`: shown at the lines and in the session, answered when the user likes. `select`: `vim.ui.select` at once.
  ask = 'inline',
  --- Seconds that what is asked must have been on the screen before a yes to it counts; 0 for scripts that answer.
  read_seconds = 0.4,
  --- Lend the language servers of this Neovim to the agent.
  language = true,
  --- Seconds after which a server that has not answered is reported.
  start_seconds = 10,
  --- A server at work that has not answered for twice as many seconds is reported.
  answer_seconds = 5,
  view = {
    --- `right` (below the text where the editor is narrow), `below` or `float`.
    layout = 'right',
    --- Share of the editor that it takes.
    size = 0.4,
    --- Whether a task opens it. It never takes the cursor away.
    open = true,
  },
  --- Keys of the session; false: none.
  ---@type table<string, string|false>
  keys = {
    allow = 'a',
    session = 's',
    reject = 'r',
    note = 'n',
    diff = 'd',
    answer = '<CR>',
    steer = 'i',
    compose = 'o',
    edit = 'E',
    cancel = 'C',
    retry = 'R',
    undo = 'U',
    close = 'q',
    help = 'g?',
  },
  --- Keys of the buffer in which a task is written; false: none. `send` is for Normal mode alone.
  ---@type table<string, string|false>
  compose_keys = {
    send = '<CR>',
    send_now = '<C-s>',
    queue = '<C-q>',
    close = 'q',
  },
  --- Keys in a buffer while a proposal is shown in it; false: none.
  ---@type table<string, string|false>|false
  inline_keys = {
    accept = '<LocalLeader>a',
    reject = '<LocalLeader>r',
    reason = '<LocalLeader>n',
    amend = '<LocalLeader>e',
    next = '<LocalLeader>j',
    previous = '<LocalLeader>k',
    allow = '<LocalLeader>A',
    reject_all = '<LocalLeader>R',
    session = '<LocalLeader>s',
    diff = '<LocalLeader>d',
  },
  --- Keys of the diff view; false: none.
  ---@type table<string, string|false>
  diff_keys = {
    accept = 'a',
    reject = 'r',
    reason = 'n',
    amend = 'e',
    allow = 'A',
    reject_all = 'R',
    session = 's',
    answer = '<CR>',
    close = 'q',
  },
}

---@type table
local given = {}
---@type outrider.Config?
local merged

--- Take what the user set.
---@param options table?
function M.set(options)
  given = options or {}
  merged = nil
end

--- The configuration that holds.
---@return outrider.Config
function M.get()
  if not merged then
    local global = type(vim.g.outrider) == 'table' and vim.g.outrider or {}
    merged = vim.tbl_deep_extend('force', defaults, global, given)
  end
  return merged
end

--- What is wrong with it, in words.
---@return string[]
function M.problems()
  local found = {}
  local config = M.get()
  for key in pairs(config) do
    if defaults[key] == nil then
      found[#found + 1] = ('there is no option `%s`'):format(key)
    end
  end
  local function one_of(name, value, choices)
    if not vim.list_contains(choices, value) then
      found[#found + 1] = ('`%s` is %s; it is one of %s'):format(
        name,
        vim.inspect(value),
        table.concat(choices, ', ')
      )
    end
  end
  one_of('ask', config.ask, { 'inline', 'select' })
  one_of('view.layout', config.view.layout, { 'right', 'below', 'float' })
  return found
end

return M
