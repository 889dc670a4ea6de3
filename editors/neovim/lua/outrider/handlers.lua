--- What the server says, handed to the part that knows what to do with it. The handlers look their part up each
--- time, so that a plugin that is loaded again takes over a server that runs.
local log = require('outrider.log')

local M = {}

local KINDS = { 'error', 'warning', 'info' }

local function with_client(context, act)
  local client = vim.lsp.get_client_by_id(context.client_id)
  if client then
    return act(client)
  end
end

--- The handlers of our client.
---@return table<string, function>
function M.all()
  return {
    ['outrider/event'] = function(_, params, context)
      with_client(context, function(client)
        require('outrider.sessions').on_event(client, params)
      end)
    end,
    ['outrider/stream'] = function(_, params, context)
      with_client(context, function(client)
        require('outrider.sessions').on_frame(client, params)
      end)
    end,
    ['outrider/left'] = function(_, params, context)
      with_client(context, function(client)
        require('outrider.sessions').on_left(client, params)
      end)
    end,
    ['outrider/ask'] = function(_, params, context)
      return with_client(context, function(client)
        return require('outrider.items').asked(client, params)
      end)
    end,
    ['outrider/language'] = function(_, params, context)
      return with_client(context, function(client)
        return require('outrider.language').answer(client, params)
      end)
    end,
    ['outrider/save'] = function(_, params)
      return require('outrider.editing').on_save(params)
    end,
    ['workspace/applyEdit'] = function(problem, params, context)
      return require('outrider.editing').apply(problem, params, context)
    end,
    ['window/showMessage'] = function(_, params)
      local kind = KINDS[params.type] or 'info'
      if kind == 'error' then
        log.say(kind, params.message)
      else
        log.tell(kind, params.message)
      end
    end,
    ['window/logMessage'] = function(_, params)
      log.keep(params.type, params.message)
    end,
  }
end

return M
