--- One line on what goes on, for the status line.
local client_of = require('outrider.client')
local drawing = require('outrider.drawing')
local sessions = require('outrider.sessions')

local M = {}

--- The tasks' mode, model and permission mode that the user chose by command, by client.
---@type table<integer, { mode: string?, model: string?, permissionMode: string? }>
local chosen = {}

--- What was chosen for a client.
---@param client vim.lsp.Client
---@return { mode: string?, model: string?, permissionMode: string? }
function M.chosen(client)
  chosen[client.id] = chosen[client.id] or {}
  return chosen[client.id]
end

--- The state as a table: `nil` where no server runs.
---@return { state: string, asks: integer, mode: string?, model: string?, step: integer, doing: string?, usage: table }?
function M.state()
  local client = client_of.of()
  if not client then
    return nil
  end
  local session = sessions.current(client)
  local options = client.config.init_options or {}
  local picked = M.chosen(client)
  return {
    state = session and session.state or 'idle',
    asks = #require('outrider.items').questions(client.id),
    mode = picked.mode or (session and session.state ~= 'idle' and session.mode) or 'agent',
    model = picked.model or (session and session.model) or options.model,
    step = session and session.step or 0,
    doing = session and session.doing or nil,
    usage = session and session.usage or { inputTokens = 0, outputTokens = 0 },
  }
end

local SIGNS = { running = '▶', parked = '‖', lost = '✗', idle = '·' }

--- The state as a text; empty where no server runs, and none has ended by itself.
---@return string
function M.text()
  local now = M.state()
  if not now then
    return require('outrider.lifecycle').lost() and 'Outrider ✗ ended' or ''
  end
  local parts = { 'Outrider ' .. SIGNS[now.state] }
  if now.asks > 0 then
    parts[#parts + 1] = ('? %d'):format(now.asks)
  end
  if now.state == 'running' then
    parts[#parts + 1] = ('step %d%s'):format(now.step, now.doing and ' ' .. now.doing or '')
  end
  if now.mode and now.mode ~= 'agent' then
    parts[#parts + 1] = now.mode
  end
  if now.model then
    parts[#parts + 1] = vim.fs.basename(now.model)
  end
  if now.usage.inputTokens + now.usage.outputTokens > 0 then
    parts[#parts + 1] = drawing.usage(now.usage)
  end
  return table.concat(parts, ' · ')
end

--- Have the status line drawn again, soon.
local pending = false
function M.changed()
  if not pending then
    pending = true
    vim.schedule(function()
      pending = false
      vim.cmd('redrawstatus!')
      vim.api.nvim_exec_autocmds('User', { pattern = 'OutriderStatus', modeline = false })
    end)
  end
end

--- Follow a session.
function M.event()
  M.changed()
end

--- Follow a session.
function M.refresh()
  M.changed()
end

return M
