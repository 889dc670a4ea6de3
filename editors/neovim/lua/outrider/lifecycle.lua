--- From the start of the server to its end, and again.
local client_of = require('outrider.client')
local config = require('outrider.config')
local log = require('outrider.log')
-- From the start, so that it knows when the files were read.
require('outrider.editing')

local M = {}

local PROTOCOL_VERSION = 1
local MARKERS = { '.outrider', '.git' }
--- For how long a server may take to end before it is made to.
local STOP_MILLISECONDS = 4000
--- For how long a client is waited for that `vim.lsp.enable` is about to start.
local START_MILLISECONDS = 200

--- Clients that were started and have not answered yet, clients that are being stopped, and what those that have
--- ended by themselves were started with.
---@type table<integer, 'started'|'late'>
local starting = {}
---@type table<integer, fun()|true>
local stopping = {}
---@type table<integer, { config: table, id: integer, buffers: integer[] }>
local ended = {}
--- The folders of all clients, of those that are gone too.
---@type table<integer, string>
local roots = {}
--- What `start` was called with.
---@type table?
local started
--- Whether the last server ended before it was ready.
local failed = false
---@type table<integer, { config: table, buffers: table<integer, true> }>
local running = {}
--- What waits for servers that are on their way.
---@type table<integer, fun(client: vim.lsp.Client?)[]>
local awaited = {}

--- Whether a server is on its way.
---@return boolean
function M.starting()
  return next(starting) ~= nil
end

--- Whether a server on its way takes longer than it should: it may come all the same.
---@return boolean
function M.late()
  return vim.list_contains(vim.tbl_values(starting), 'late')
end

--- The server on its way that a buffer belongs to, or else the only one that there is.
---@param buffer integer
---@return integer?
local function coming(buffer)
  local own = client_of.attached(buffer)
  if own then
    return starting[own.id] and own.id or nil
  end
  local id = next(starting)
  return id and next(starting, id) == nil and #client_of.all() == 0 and id or nil
end

--- Be told what becomes of the server on its way that a buffer belongs to.
---@param buffer integer
---@param told fun(client: vim.lsp.Client?) gets it as soon as it is there, nil if it never comes
---@return string? root its folder; nil if none is on its way, or one that is late
function M.await(buffer, told)
  -- Of a file that was opened just now, or by the command line of Neovim, the client is made a little later.
  if vim.lsp.is_enabled and vim.lsp.is_enabled(client_of.NAME) and M.project(buffer) and not M.lost() then
    vim.wait(START_MILLISECONDS, function()
      return client_of.attached(buffer) ~= nil
    end, 2)
  end
  local id = coming(buffer)
  if not id or starting[id] == 'late' then
    return nil
  end
  awaited[id] = awaited[id] or {}
  table.insert(awaited[id], told)
  return roots[id]
end

--- A server is on its way no more.
---@param id integer
---@param client vim.lsp.Client? nil if it never came
local function arrived(id, client)
  local waiting = awaited[id] or {}
  starting[id], awaited[id] = nil, nil
  vim.schedule(function()
    for _, told in ipairs(waiting) do
      told(client)
    end
  end)
end

--- Whether a server has ended by itself, and was not started again.
---@return boolean
function M.lost()
  return next(ended) ~= nil or failed
end

--- `vim.fs.root`, which takes a `$NAME` in the path of a file for a variable of the environment.
---@param buffer integer
---@param markers string[]
---@return string?
local function root_of(buffer, markers)
  local file, root = vim.api.nvim_buf_get_name(buffer), vim.fs.root(buffer, markers)
  if root and not vim.startswith(file, root) then
    for folder in vim.fs.parents(file) do
      if vim.fs.normalize(folder) == root then
        return folder
      end
    end
  end
  return root
end

--- The folder of a file's project; nil for a buffer that is no file, or in no project.
---@param buffer integer
---@return string?
function M.project(buffer)
  if vim.bo[buffer].buftype ~= '' or vim.api.nvim_buf_get_name(buffer) == '' then
    return nil
  end
  local set = started or vim.lsp.config and vim.lsp.config[client_of.NAME]
  return root_of(buffer, set and set.root_markers or MARKERS)
end

--- The program that is started.
---@return string
function M.command()
  local set = started or vim.lsp.config and vim.lsp.config[client_of.NAME]
  local cmd = set and set.cmd or { 'outrider' }
  return type(cmd) == 'table' and cmd[1] or 'outrider'
end

--- The server is about to be asked for the first time.
---@param params lsp.InitializeParams
---@param client_config vim.lsp.ClientConfig
function M.before_init(params, client_config)
  local options = vim.tbl_deep_extend('force', config.get().settings, params.initializationOptions or {})
  if config.get().language then
    options.extensions = vim.list_extend({ 'language' }, options.extensions or {})
  end
  params.initializationOptions = options
  local id = vim.iter(vim.lsp.get_clients({ _uninitialized = true })):find(function(one)
    return one.config == client_config
  end).id
  starting[id], roots[id] = 'started', client_config.root_dir or ''
  vim.defer_fn(function()
    if starting[id] then
      starting[id] = 'late'
      log.say(
        'warning',
        ('The server of Outrider (%s) has not answered for %g s. `:Outrider log` may say why, `:checkhealth outrider` '):format(
          M.command(),
          config.get().start_seconds
        ) .. 'helps, `:Outrider restart` tries again.'
      )
    end
  end, config.get().start_seconds * 1000)
end

--- Whether a file is below a folder of a client.
---@param client vim.lsp.Client
---@param file string
---@return boolean
function M.is_under(client, file)
  for _, folder in ipairs(client.workspace_folders or {}) do
    if vim.startswith(file, vim.uri_to_fname(folder.uri) .. '/') then
      return true
    end
  end
  return false
end

--- A file of the workspace that is open has to be known, whatever its type: what is in its buffer counts.
local function attach(client, buffer)
  local name = vim.api.nvim_buf_get_name(buffer)
  if
    vim.api.nvim_buf_is_loaded(buffer)
    and vim.bo[buffer].buftype == ''
    and name ~= ''
    and M.is_under(client, name)
    and not vim.lsp.buf_is_attached(buffer, client.id)
    and not require('outrider.language').is_hidden(buffer)
  then
    vim.lsp.buf_attach_client(buffer, client.id)
  end
end

--- Have the servers know a buffer that they were not told of.
---@param buffer integer
function M.attach_all(buffer)
  for _, client in ipairs(client_of.all()) do
    attach(client, buffer)
  end
end

--- Follow a client: the buffers it belongs to, and those that are opened later.
local function follow(client)
  local known = { config = client.config, buffers = {} }
  running[client.id] = known
  for buffer in pairs(client.attached_buffers) do
    known.buffers[buffer] = true
  end
  local group = vim.api.nvim_create_augroup('outrider.attach.' .. client.id, {})
  vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile', 'BufFilePost' }, {
    group = group,
    callback = vim.schedule_wrap(function(event)
      if vim.api.nvim_buf_is_valid(event.buf) and not client_of.stopped(client) then
        attach(client, event.buf)
        require('outrider.inline').buffer_read(client)
      end
    end),
  })
  vim.api.nvim_create_autocmd('LspAttach', {
    group = group,
    callback = function(event)
      if event.data.client_id == client.id then
        known.buffers[event.buf] = true
      end
    end,
  })
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    attach(client, buffer)
  end
end

--- The server has answered.
---@param client vim.lsp.Client
---@param result lsp.InitializeResult
function M.on_init(client, result)
  arrived(client.id, client)
  failed = false
  local experimental = (result.capabilities or {}).experimental or {}
  local version = type(experimental) == 'table'
    and experimental.outrider
    and experimental.outrider.protocolVersion
  if version ~= PROTOCOL_VERSION then
    log.say(
      'error',
      ('This server speaks version %s of the protocol of Outrider, this plugin version %d: update the older one (%s).'):format(
        version or '?',
        PROTOCOL_VERSION,
        M.command()
      )
    )
  end
  -- A client of this folder may have ended, or have been stopped by another way than ours, such as `:LspRestart`.
  for id, root in pairs(roots) do
    if root == roots[client.id] and not vim.lsp.get_client_by_id(id) then
      ended[id] = nil
      require('outrider.sessions').inherit(id, client)
    end
  end
  follow(client)
  require('outrider.pulse').follow(client)
  require('outrider.sessions').call_waiting(client)
  require('outrider.status').changed()
end

--- The process is gone.
---@param code integer
---@param signal integer
---@param id integer
function M.on_exit(code, signal, id)
  vim.schedule(function()
    pcall(vim.api.nvim_del_augroup_by_name, 'outrider.attach.' .. id)
    require('outrider.pulse').leave(id)
    local was, told = running[id], stopping[id]
    running[id], stopping[id] = nil, nil
    local why = signal ~= 0 and ('signal %d'):format(signal) or ('exit code %d'):format(code)
    require('outrider.sessions').lost(id, ('the server has ended (%s)'):format(why))
    require('outrider.status').changed()
    arrived(id)
    if told then
      return told ~= true and told()
    end
    if vim.v.exiting ~= vim.NIL or (was and code == 0 and signal == 0) then
      return
    end
    local printed = log.last_printed(M.command())
    local because = printed and (' It said: %s.'):format(printed:gsub('%.$', '')) or ''
    if was then
      ended[id] = { config = was.config, id = id, buffers = vim.tbl_keys(was.buffers) }
      log.say(
        'error',
        ('The server of Outrider has ended (%s).%s `:Outrider restart` starts it again and goes on.'):format(
          why,
          because
        )
      )
    else
      failed = true
      log.say(
        'error',
        ('The server of Outrider ended before it was ready (%s).%s `:checkhealth outrider` helps, `:Outrider log` has more.'):format(
          why,
          because
        )
      )
    end
  end)
end

--- What came is no message of a language server, or cannot be used.
---@param code integer
---@param problem any
function M.on_error(code, problem)
  vim.schedule(function()
    local name = vim.lsp.rpc.client_errors[code] or tostring(code)
    if M.starting() then
      vim.tbl_map(arrived, vim.tbl_keys(starting))
      log.say(
        'error',
        ('What %s answers is not what a language server says (%s: %s). Is `cmd` right? `:checkhealth outrider` helps.'):format(
          M.command(),
          name,
          tostring(type(problem) == 'table' and problem.message or problem)
        )
      )
    else
      log.keep(1, ('%s: %s'):format(name, vim.inspect(problem)))
    end
  end)
end

--- A callback that is looked up when it is called: a plugin that is loaded again takes over a server that runs.
local function latest(name)
  return function(...)
    return require('outrider.lifecycle')[name](...)
  end
end

--- The project of a buffer, for `vim.lsp.enable`: a buffer without a file belongs to none, wherever Neovim was started.
local function project_of(buffer, found)
  local root = M.project(buffer)
  if root and not require('outrider.language').is_hidden(buffer) then
    found(root)
  end
end

--- The configuration of the client, for `vim.lsp.config`.
---@return table
function M.lsp_config()
  return {
    cmd = { 'outrider', 'serve' },
    root_markers = MARKERS,
    root_dir = project_of,
    workspace_required = true,
    -- What is typed is sent at once: an edit must never meet a text that the server does not know.
    flags = { debounce_text_changes = 0 },
    init_options = { events = true, debounce = 0, extensions = { 'ask', 'save' } },
    handlers = require('outrider.handlers').all(),
    before_init = latest('before_init'),
    on_init = latest('on_init'),
    on_exit = latest('on_exit'),
    on_error = latest('on_error'),
  }
end

--- Start the server for files of projects: what `vim.lsp.enable` does, for Neovim 0.10.
---@param options table? what differs from the configuration
function M.start(options)
  started = options or {}
  local base = vim.tbl_deep_extend('force', M.lsp_config(), options or {}, { name = client_of.NAME })
  local function begin(buffer)
    if
      vim.bo[buffer].buftype ~= ''
      or vim.api.nvim_buf_get_name(buffer) == ''
      or require('outrider.language').is_hidden(buffer)
    then
      return
    end
    local root = type(base.root_dir) == 'string' and base.root_dir or root_of(buffer, base.root_markers)
    if root then
      vim.lsp.start(vim.tbl_extend('force', base, { root_dir = root }), {
        bufnr = buffer,
        -- Neovim 0.10 would take one that is being stopped, too.
        reuse_client = function(client, wanted)
          return not stopping[client.id] and client.name == wanted.name and client.config.root_dir == root
        end,
      })
    end
  end
  vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile' }, {
    group = vim.api.nvim_create_augroup('outrider.start', {}),
    callback = function(event)
      begin(event.buf)
    end,
  })
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buffer) then
      begin(buffer)
    end
  end
end

local function again(was)
  local function is_new(client, wanted)
    return client.id > was.id and client.name == wanted.name and client.config.root_dir == wanted.root_dir
  end
  local buffers = vim.tbl_filter(vim.api.nvim_buf_is_loaded, was.buffers)
  if #buffers == 0 then
    buffers = { vim.api.nvim_get_current_buf() }
  end
  local restarted = vim.tbl_extend('force', was.config, {})
  restarted.on_init = function(client, result)
    M.on_init(client, result)
    local id = require('outrider.sessions').inherit(was.id, client)
    if id then
      require('outrider.sessions').resume(client, id)
    end
  end
  for _, buffer in ipairs(buffers) do
    vim.lsp.start(restarted, { bufnr = buffer, reuse_client = is_new })
  end
end

--- The client that has ended and is meant in the current buffer: its own, or else the last one.
local function last_ended()
  local buffer, found = vim.api.nvim_get_current_buf(), nil
  for id, was in pairs(ended) do
    if vim.list_contains(was.buffers, buffer) or vim.b.outrider_client == id then
      return was
    end
    found = (not found or id > found.id) and was or found
  end
  return found
end

--- Start the server again, with the session that was in use. Without one to start again, start it as set.
---@param client vim.lsp.Client?
function M.restart(client)
  local was_ended = last_ended()
  if client then
    local was = running[client.id] or { config = client.config, buffers = {} }
    was = { config = was.config, id = client.id, buffers = vim.tbl_keys(was.buffers) }
    stopping[client.id] = function()
      again(was)
    end
    client_of.stop(client)
    vim.defer_fn(function()
      if stopping[client.id] then
        -- Neovim 0.11 takes no second `stop`, and waits for the answer to the first for ever.
        client.rpc.terminate()
      end
    end, STOP_MILLISECONDS)
  elseif was_ended then
    ended[was_ended.id] = nil
    again(was_ended)
  else
    starting, failed = {}, false
    for _, one in ipairs(vim.lsp.get_clients({ name = client_of.NAME, _uninitialized = true })) do
      if not one.initialized then
        stopping[one.id] = true
        client_of.stop(one, true)
      end
    end
    if started then
      M.start(started)
    else
      vim.lsp.enable(client_of.NAME)
    end
  end
end

--- Take over servers that run already: the plugin was loaded after them.
function M.adopt()
  for _, client in ipairs(client_of.all()) do
    if not running[client.id] then
      roots[client.id] = client.root_dir or ''
      follow(client)
      require('outrider.pulse').follow(client)
      require('outrider.sessions').discover(client)
    end
  end
end

return M
