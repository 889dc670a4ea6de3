--- From the start of the server to its end, and again.
local client_of = require('outrider.client')
local config = require('outrider.config')
local log = require('outrider.log')

local M = {}

local PROTOCOL_VERSION = 1
local MARKERS = { '.outrider', '.git' }
--- For how long a server may take to end before it is made to.
local STOP_MILLISECONDS = 4000

--- Clients that were started and have not answered yet, clients that are being stopped, and what a client that
--- has ended was started with.
---@type table<string, 'started'|'late'>
local starting = {}
---@type table<integer, fun()|true>
local stopping = {}
---@type { config: table, id: integer, buffers: integer[] }?
local ended
--- What `start` was called with.
---@type table?
local started
--- Whether the last server ended before it was ready.
local failed = false
---@type table<integer, { config: table, buffers: table<integer, true> }>
local running = {}

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

--- Whether the last server has ended by itself.
---@return boolean
function M.lost()
  return ended ~= nil or failed
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
  if config.get().diagnostics then
    options.extensions = vim.list_extend({ 'diagnostics' }, options.extensions or {})
  end
  params.initializationOptions = options
  local key = tostring(client_config)
  starting[key] = 'started'
  vim.defer_fn(function()
    if starting[key] then
      starting[key] = 'late'
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

local function under(client, file)
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
    and under(client, name)
    and not vim.lsp.buf_is_attached(buffer, client.id)
  then
    vim.lsp.buf_attach_client(buffer, client.id)
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
  starting, ended, failed = {}, nil, false
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
  follow(client)
  require('outrider.pulse').follow(client)
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
    if told then
      return told ~= true and told()
    end
    if vim.v.exiting ~= vim.NIL or (was and code == 0 and signal == 0) then
      return
    end
    starting = {}
    local printed = log.last_printed(M.command())
    local because = printed and (' It said: %s.'):format(printed:gsub('%.$', '')) or ''
    if was then
      ended = { config = was.config, id = id, buffers = vim.tbl_keys(was.buffers) }
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
      starting = {}
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
  local set = vim.lsp.config and vim.lsp.config[client_of.NAME]
  local root = vim.api.nvim_buf_get_name(buffer) ~= ''
    and vim.fs.root(buffer, set and set.root_markers or MARKERS)
  if root then
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
    if vim.bo[buffer].buftype ~= '' or vim.api.nvim_buf_get_name(buffer) == '' then
      return
    end
    local root = type(base.root_dir) == 'string' and base.root_dir or vim.fs.root(buffer, base.root_markers)
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

--- Start the server again, with the session that was in use. Without one to start again, start it as set.
---@param client vim.lsp.Client?
function M.restart(client)
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
  elseif ended then
    local was = ended
    ended = nil
    again(was)
  else
    starting, failed = {}, false
    for _, one in ipairs(vim.lsp.get_clients({ name = client_of.NAME, _uninitialized = true })) do
      stopping[one.id] = true
      client_of.stop(one, true)
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
      follow(client)
      require('outrider.pulse').follow(client)
      require('outrider.sessions').discover(client)
    end
  end
end

return M
