--- The language client: which one is meant, and how it is asked.
local log = require('outrider.log')

local M = {}

M.NAME = 'outrider'

--- How many commands wait for their answer, by client.
---@type table<integer, integer>
local waiting = {}

--- All clients of ours that run.
---@return vim.lsp.Client[]
function M.all()
  return vim.lsp.get_clients({ name = M.NAME })
end

--- The client that a buffer is attached to, which may be on its way yet; of several the one of the innermost folder.
---@param buffer integer
---@return vim.lsp.Client?
function M.attached(buffer)
  local all = vim.lsp.get_clients({ name = M.NAME, bufnr = buffer, _uninitialized = true })
  table.sort(all, function(one, other)
    return #(one.root_dir or '') > #(other.root_dir or '')
  end)
  return all[1]
end

--- The client for a buffer: the one whose session it shows, the one attached to it, or the only one there is. That
--- one is not meant in a file of another project.
---@param buffer integer?
---@return vim.lsp.Client?
function M.of(buffer)
  buffer = buffer or vim.api.nvim_get_current_buf()
  local session = require('outrider.sessions').get(vim.b[buffer].outrider_session)
  local shown = session and session.client or vim.b[buffer].outrider_client
  if shown then
    return vim.lsp.get_client_by_id(shown)
  end
  local attached = M.attached(buffer)
  if attached then
    return attached.initialized and attached or nil
  end
  local lifecycle, all = require('outrider.lifecycle'), M.all()
  local project = #all == 1 and lifecycle.project(buffer)
  if #all ~= 1 or project and not lifecycle.is_under(all[1], project .. '/') then
    return nil
  end
  return all[1]
end

--- The same, or a message that says what is missing.
---@return vim.lsp.Client?
function M.needed()
  local client = M.of()
  if client then
    return client
  end
  log.say('error', M.why_none())
  return nil
end

--- Why there is no client here, and what to do.
---@return string
function M.why_none()
  local lifecycle = require('outrider.lifecycle')
  if #M.all() > 1 then
    return 'Several Outrider servers run, and none belongs to this buffer: go to a file of the project you mean.'
  end
  if lifecycle.late() then
    return 'Outrider is still starting, and late: `:Outrider log` may say why, `:Outrider restart` tries again.'
  end
  if lifecycle.starting() then
    return 'Outrider is still starting; try again in a moment.'
  end
  if lifecycle.lost() then
    return 'The server of Outrider has ended. `:Outrider restart` starts it again; `:Outrider log` may say why.'
  end
  local command = lifecycle.command()
  if vim.fn.executable(command) == 0 then
    return ('Outrider is not running: there is no program `%s`. Install it (`pipx install .` in its repository), or set `cmd`; '):format(
      command
    ) .. '`:checkhealth outrider` helps.'
  end
  if vim.lsp.is_enabled and not vim.lsp.is_enabled(M.NAME) then
    return "Outrider is not running: put vim.lsp.enable('outrider') into your init.lua."
  end
  local project = lifecycle.project(vim.api.nvim_get_current_buf())
  if project then
    return ('Outrider is not running in %s: `:Outrider restart` starts it.'):format(project)
  end
  return 'Outrider is not running here: open a file of a project, a folder with .git or .outrider in it.'
end

--- Whether a command waits for its answer.
---@param client vim.lsp.Client
---@return boolean
function M.waits(client)
  return (waiting[client.id] or 0) > 0
end

--- Do a command of the server.
---@param client vim.lsp.Client
---@param command string
---@param argument table?
---@param done fun(result: table)? gets the result; a problem is told to the user
---@param failed fun(problem: lsp.ResponseError)? gets the problem in place of the user
function M.execute(client, command, argument, done, failed)
  local params = { command = command, arguments = { argument or vim.empty_dict() } }
  if argument and next(argument) == nil then
    params.arguments = { vim.empty_dict() }
  end
  waiting[client.id] = (waiting[client.id] or 0) + 1
  local function answered(problem, result)
    waiting[client.id] = waiting[client.id] - 1
    if problem then
      if failed then
        failed(problem)
      else
        require('outrider.setup').refused(client, problem, function()
          M.execute(client, command, argument, done)
        end)
      end
    elseif done then
      done(result)
    end
  end
  local sent
  if vim.fn.has('nvim-0.11') == 1 then
    sent = client:request('workspace/executeCommand', params, answered)
  else
    sent = client.request('workspace/executeCommand', params, answered)
  end
  if not sent then
    answered({ message = 'the server has ended; `:Outrider restart` starts it again' })
  end
end

--- Tell the server something.
---@param client vim.lsp.Client
---@param method string
---@param params table
function M.notify(client, method, params)
  if vim.fn.has('nvim-0.11') == 1 then
    client:notify(method, params)
  else
    client.notify(method, params)
  end
end

--- Stop a client.
---@param client vim.lsp.Client
---@param force boolean?
function M.stop(client, force)
  if vim.fn.has('nvim-0.11') == 1 then
    client:stop(force)
  else
    client.stop(force)
  end
end

--- Whether a client has ended.
---@param client vim.lsp.Client
---@return boolean
function M.stopped(client)
  if vim.fn.has('nvim-0.11') == 1 then
    return client:is_stopped()
  end
  return client.is_stopped()
end

--- Whether the server knows a command.
---@param client vim.lsp.Client
---@param command string
---@return boolean
function M.knows(client, command)
  local provider = client.server_capabilities.executeCommandProvider
  return provider ~= nil and vim.list_contains(provider.commands or {}, command)
end

--- The file of a path as the server writes it: below the only folder, or behind a folder's name.
---@param client vim.lsp.Client
---@param path string
---@return string?
function M.file(client, path)
  if vim.startswith(path, 'untitled:') then
    return nil
  end
  if vim.startswith(path, '/') then
    return path
  end
  local folders = client.workspace_folders or {}
  if #folders == 1 then
    return vim.fs.joinpath(vim.uri_to_fname(folders[1].uri), path)
  end
  for _, folder in ipairs(folders) do
    local file = vim.uri_to_fname(folder.uri)
    local name = folder.name:gsub('/', '-'):gsub('^[. ]+', ''):gsub('[. ]+$', '')
    if vim.startswith(path, name .. '/') then
      return vim.fs.joinpath(file, path:sub(#name + 2))
    end
  end
  return nil
end

--- The loaded buffer of a file; nil if there is none.
---@param file string?
---@return integer?
function M.buffer(file)
  if not file then
    return nil
  end
  local wanted = vim.uv.fs_realpath(file) or file
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buffer)
    if vim.api.nvim_buf_is_loaded(buffer) and name ~= '' and vim.bo[buffer].buftype == '' then
      if name == file or (vim.uv.fs_realpath(name) or name) == wanted then
        return buffer
      end
    end
  end
  return nil
end

return M
