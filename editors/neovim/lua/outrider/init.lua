--- Outrider for Neovim. `vim.lsp.enable('outrider')` is all that is needed; see `:help outrider`.
local M = {}

--- Set options: see `:help outrider-options`. Not needed.
---@param options outrider.Config?
function M.setup(options)
  local config = require('outrider.config')
  config.set(options)
  for _, problem in ipairs(config.problems()) do
    require('outrider.log').say('warning', 'Outrider: ' .. problem)
  end
end

--- Start the server for files of projects, without `vim.lsp.enable` (Neovim 0.10).
---@param options table? as for `vim.lsp.start`
function M.start(options)
  require('outrider.lifecycle').start(options)
end

--- A text for the status line: what Outrider is doing, and whether it asks.
---@return string
function M.status()
  return require('outrider.status').text()
end

--- The same as a table, for a status line of one's own.
---@return table?
function M.state()
  return require('outrider.status').state()
end

--- Give a task.
---@param prompt string
---@param options { mode: string?, new: boolean?, context: table? }?
function M.run(prompt, options)
  require('outrider.tasks').run(prompt, options or {})
end

require('outrider.lifecycle').adopt()

return M
