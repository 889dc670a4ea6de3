--- `:Outrider servers`: the MCP and language servers that Outrider is connected with, and what can be done with each.
local client_of = require('outrider.client')
local drawing = require('outrider.drawing')
local log = require('outrider.log')

local M = {}

local STATES = {
  missing = 'not found',
  available = 'starts when it is needed',
  lent = 'of this editor, asked first',
  starting = 'starting',
  running = 'running',
  ended = 'ended, starts again',
  failed = 'failed',
  login = 'log in to use it',
  waiting = 'asked about with the next task',
  refused = 'refused by you',
}

local DOINGS = {
  login = 'Log in, in the browser',
  logout = 'Log out: forget its token',
  restart = 'Start it again',
}

--- What can be done with a server.
---@param server outrider.ServerInfo
---@return string[]
local function doings(server)
  if server.kind ~= 'mcp' then
    return {}
  end
  if server.state == 'login' then
    return { 'login' }
  end
  if server.state == 'running' and (server.runs or ''):find('^https?:') then
    return { 'logout', 'restart' }
  end
  return vim.list_contains({ 'running', 'ended', 'failed' }, server.state) and { 'restart' } or {}
end

---@param server outrider.ServerInfo
---@return string
local function line_of(server)
  local words = STATES[server.state] or server.state
  if server.tools then
    words = ('%s, %d tools'):format(words, #server.tools)
  end
  local kind = server.kind == 'mcp' and 'MCP' or 'language'
  return drawing.short(('%s · %s server · %s'):format(server.name, kind, words), 100)
end

--- What is known of a server, a fact a line.
---@param server outrider.ServerInfo
---@return string
local function facts(server)
  local lines = { line_of(server) }
  for _, fact in ipairs({
    server.detail or '',
    server.runs or '',
    server.origin and ('configured in %s'):format(server.origin) or '',
    server.version and ('version %s'):format(server.version) or '',
    server.memory and ('%d MB of memory'):format(math.floor(server.memory / 2 ^ 20)) or '',
    server.tools and table.concat(server.tools, ', ') or '',
  }) do
    lines[#lines + 1] = fact ~= '' and fact or nil
  end
  return table.concat(lines, '\n')
end

--- Have something done with a server, after the user chose what.
---@param client vim.lsp.Client
---@param server outrider.ServerInfo
local function ask(client, server)
  local offered = doings(server)
  if #offered == 0 then
    return log.say('info', facts(server))
  end
  vim.ui.select(vim.list_extend({ 'about' }, offered), {
    prompt = ('%s '):format(server.name),
    kind = 'outrider_server',
    format_item = function(doing)
      return DOINGS[doing] or 'What is known of it'
    end,
  }, function(doing)
    if doing == 'about' then
      log.say('info', facts(server))
    elseif doing then
      local params = { action = doing, name = server.name }
      client_of.execute(client, 'outrider.servers', params, function(result)
        for _, one in ipairs(result.servers) do
          if one.name == server.name and one.kind == server.kind then
            log.say('info', line_of(one))
          end
        end
      end)
    end
  end)
end

--- Show the servers, and do what the user chooses.
---@param client vim.lsp.Client
function M.choose(client)
  client_of.execute(client, 'outrider.servers', nil, function(result)
    for _, problem in ipairs(result.problems or {}) do
      log.say('warning', problem)
    end
    if #result.servers == 0 then
      return log.say('info', 'Nothing is connected yet: MCP servers stand in the settings as `mcpServers`.')
    end
    vim.ui.select(result.servers, {
      prompt = 'Servers ',
      kind = 'outrider_servers',
      format_item = line_of,
    }, function(server)
      if server then
        ask(client, server)
      end
    end)
  end)
end

return M
