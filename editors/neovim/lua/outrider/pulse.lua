--- Whether a server still answers. One that does not says nothing by itself, and Neovim before 0.12 reads nothing more
--- once something came that is no message: it would look as if the model thought for ever.
local client_of = require('outrider.client')
local config = require('outrider.config')
local log = require('outrider.log')
local sessions = require('outrider.sessions')

local M = {}

--- How often an answer is missed before that is told: once may be this editor, which was busy itself.
local MISSED = 2

---@type table<integer, uv.uv_timer_t>
local timers = {}

--- Whether anything is expected of the server: what waits for the user may do so for days.
local function is_awaited(client)
  return client_of.waits(client)
    or vim.iter(sessions.of(client.id)):any(function(session)
      return session.state == 'running' and #session.items == 0
    end)
end

--- Look after a client, until it has ended.
---@param client vim.lsp.Client
function M.follow(client)
  local asked, missed = false, 0
  local function look()
    if client_of.stopped(client) then
      return
    end
    if asked then
      missed = missed + 1
      if missed == MISSED then
        log.say(
          'error',
          ('The server of Outrider has not answered for %g s. What it said may have been unreadable. '):format(
            MISSED * config.get().answer_seconds
          ) .. '`:Outrider restart` starts it again and goes on; `:Outrider log` may say why.'
        )
      end
    elseif is_awaited(client) then
      asked = true
      client_of.execute(client, 'outrider.status', nil, function()
        asked, missed = false, 0
      end, function()
        asked, missed = false, 0
      end)
    end
  end
  M.leave(client.id)
  local timer = assert(vim.uv.new_timer())
  local interval = config.get().answer_seconds * 1000
  timer:start(interval, interval, vim.schedule_wrap(look))
  timers[client.id] = timer
end

--- A client has ended.
---@param id integer
function M.leave(id)
  local timer = timers[id]
  timers[id] = nil
  if timer and not timer:is_closing() then
    timer:close()
  end
end

return M
