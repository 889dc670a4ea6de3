--- The language servers of this Neovim, lent to the agent (`outrider/language`): nothing is shown or applied.
local client_of = require('outrider.client')
local context = require('outrider.context')

local M = {}

local ATTACH_MILLISECONDS = 5000
local ASK_MILLISECONDS = 9000
--- What is asked about all files of a project.
local LONG_MILLISECONDS = 19000
local LONG = { ['textDocument/references'] = true, ['textDocument/rename'] = true }
--- How long problems of a file that was opened for it are waited for, from a server that tells of them by itself.
local SETTLE_MILLISECONDS = 2000
--- How long a file that is open for nobody but us stays so.
local HIDDEN_MILLISECONDS = 10000
local POLL_MILLISECONDS = 20
--- Where what several servers say belongs together; else the first one that knows something counts.
local MERGED = { ['textDocument/references'] = true, ['textDocument/codeAction'] = true }
--- What a server can that knows code: one that only writes along finds no problems.
local KNOWS = {
  'diagnosticProvider',
  'definitionProvider',
  'hoverProvider',
  'codeActionProvider',
  'documentSymbolProvider',
}

--- Buffers of files that nobody opened: what their file was when it was read, how many questions need them, and until
--- when they stay after those.
---@type table<integer, { stamp: string, needed: integer, last: number, was_there: boolean }>
local hidden = {}

--- Wait until something holds. Only within a coroutine.
---@param holds fun(): boolean
---@param milliseconds integer
local function wait(holds, milliseconds)
  local thread, ends = coroutine.running(), vim.uv.now() + milliseconds
  while not holds() and vim.uv.now() < ends do
    vim.defer_fn(function()
      assert(coroutine.resume(thread))
    end, POLL_MILLISECONDS)
    coroutine.yield()
  end
end

--- A character of a line in bytes, by what counts it.
local function bytes(line, character, encoding)
  if encoding == 'utf-8' then
    return math.min(character, #line)
  end
  if vim.fn.has('nvim-0.11') == 1 then
    return vim.str_byteindex(line, encoding, character, false)
  end
  local units = encoding == 'utf-16' and select(2, vim.str_utfindex(line)) or (vim.str_utfindex(line))
  return vim.str_byteindex(line, math.min(character, units), encoding == 'utf-16')
end

--- Something of LSP with its positions counted in another way. What is opaque, or about other files, stays as it is.
---@param buffer integer
local function recounted(buffer, value, given, wanted)
  if given == wanted or type(value) ~= 'table' then
    return value
  end
  if type(value.line) == 'number' and type(value.character) == 'number' then
    local line = vim.api.nvim_buf_get_lines(buffer, value.line, value.line + 1, false)[1] or ''
    return context.position(buffer, value.line, bytes(line, value.character, given), wanted)
  end
  local is_dict = getmetatable(value) == getmetatable(vim.empty_dict())
  local found = is_dict and vim.empty_dict() or {}
  for key, one in pairs(value) do
    local stays = key == 'data' or key == 'relatedInformation'
    found[key] = stays and one or recounted(buffer, one, given, wanted)
  end
  return found
end

---@param client vim.lsp.Client
---@param method string
---@param buffer integer
---@return boolean
local function can(client, method, buffer)
  if vim.fn.has('nvim-0.11') == 1 then
    return client:supports_method(method, buffer)
  end
  return client.supports_method(method, { bufnr = buffer })
end

--- Ask a server, which is told before of all that was typed. Only within a coroutine.
---@param client vim.lsp.Client
---@return table? problem
---@return any result
local function ask(client, method, params, milliseconds)
  local thread, answer = coroutine.running(), nil
  local timer = assert(vim.uv.new_timer())
  local function answered(problem, result)
    if not answer then
      answer = { problem = problem, result = result }
      timer:close()
      vim.schedule(function()
        assert(coroutine.resume(thread))
      end)
    end
  end
  local is_new = vim.fn.has('nvim-0.11') == 1
  local sent, id
  if is_new then
    sent, id = client:request(method, params, answered)
  else
    sent, id = client.request(method, params, answered)
  end
  if not sent then
    answered({ message = 'it has ended' })
  end
  timer:start(
    answer and 0 or milliseconds,
    0,
    vim.schedule_wrap(function()
      if not answer then
        if is_new then
          client:cancel_request(id)
        else
          client.cancel_request(id)
        end
        answered({ message = ('it did not answer in %g s'):format(milliseconds / 1000) })
      end
    end)
  )
  coroutine.yield()
  return answer.problem, answer.result
end

--- The servers of a buffer but for ours.
---@param buffer integer
---@return vim.lsp.Client[]
local function others(buffer)
  return vim.tbl_filter(function(client)
    return client.name ~= client_of.NAME
  end, vim.lsp.get_clients({ bufnr = buffer, _uninitialized = true }))
end

--- Whether a server would come to a file, as far as its name says.
---@param file string
local function would_attach(file)
  local kind = vim.filetype.match({ filename = file })
  if not kind then
    return false
  end
  for _, client in ipairs(vim.lsp.get_clients()) do
    local root = client.root_dir or client.config.root_dir
    local is_below = type(root) ~= 'string' or vim.startswith(file, root .. '/')
    if
      client.name ~= client_of.NAME
      and is_below
      and vim.list_contains(client.config.filetypes or {}, kind)
    then
      return true
    end
  end
  for name in pairs(rawget(vim.lsp, '_enabled_configs') or {}) do
    local set = vim.lsp.config[name]
    if name ~= client_of.NAME and set and vim.list_contains(set.filetypes or {}, kind) then
      return true
    end
  end
  return false
end

---@param file string
local function stamp_of(file)
  local found = vim.uv.fs_stat(file)
  return found and ('%d.%d %d'):format(found.mtime.sec, found.mtime.nsec, found.size) or ''
end

--- Close files that nobody but us has open: those that are not wanted any more, or are not what is on the disk.
local function clear()
  for buffer, known in pairs(hidden) do
    local is_there = vim.api.nvim_buf_is_valid(buffer)
    if not is_there or not M.is_hidden(buffer) then
      hidden[buffer] = nil
    elseif
      known.needed == 0
      and (vim.uv.now() >= known.last or stamp_of(vim.api.nvim_buf_get_name(buffer)) ~= known.stamp)
    then
      hidden[buffer] = nil
      vim.api.nvim_buf_delete(buffer, { force = true, unload = known.was_there })
    end
  end
end

--- Whether a buffer was loaded for the servers alone. One that somebody looks at or writes in is theirs.
---@param buffer integer
---@return boolean
function M.is_hidden(buffer)
  if not hidden[buffer] then
    return false
  end
  -- For the commands that go with its reading it has a window that nobody sees.
  local is_seen = vim.iter(vim.fn.win_findbuf(buffer)):any(function(window)
    return vim.fn.win_gettype(window) ~= 'autocmd'
  end)
  return not is_seen and not vim.bo[buffer].modified
end

--- Load a file that is not open, for the servers alone.
---@param file string
---@return integer? buffer
local function load(file)
  local stamp = stamp_of(file)
  if stamp == '' or not would_attach(file) then
    return nil
  end
  local was_there = vim.fn.bufexists(file) == 1
  local buffer = vim.fn.bufadd(file)
  hidden[buffer] = { stamp = stamp, needed = 0, last = 0, was_there = was_there }
  vim.bo[buffer].swapfile = false
  -- A file that changes meanwhile is nothing to ask the user about.
  vim.bo[buffer].autoread = true
  if not pcall(vim.fn.bufload, buffer) then
    hidden[buffer] = nil
    vim.api.nvim_buf_delete(buffer, { force = true, unload = was_there })
    return nil
  end
  vim.api.nvim_create_autocmd({ 'BufWinEnter', 'BufModifiedSet' }, {
    buffer = buffer,
    callback = function()
      if M.is_hidden(buffer) then
        return false
      end
      -- It is the user's now, so that our server has to know it.
      if hidden[buffer] then
        hidden[buffer] = nil
        require('outrider.lifecycle').attach_all(buffer)
      end
      return true
    end,
  })
  return buffer
end

--- The buffer of a document with its servers, which may be on their way.
---@param uri string
---@param needs fun(buffer: integer) told of it at once
---@return integer?
local function buffer_of(uri, needs)
  local ok, file = pcall(vim.uri_to_fname, uri)
  if not ok then
    return nil
  end
  local buffer = client_of.buffer(file) or load(file)
  if not buffer then
    return nil
  end
  needs(buffer)
  local function ready()
    local all = vim.api.nvim_buf_is_valid(buffer) and others(buffer) or {}
    return vim.iter(all):all(function(client)
      return client.initialized
    end) and (#all > 0 or not hidden[buffer])
  end
  wait(ready, ATTACH_MILLISECONDS)
  return vim.api.nvim_buf_is_valid(buffer) and buffer or nil
end

local function is_empty(result)
  return result == nil or result == vim.NIL or type(result) == 'table' and next(result) == nil
end

--- Mark what a server has to get back, so that it gets it and no other does.
local function marked(client, items)
  return vim.tbl_map(function(item)
    if type(item) == 'table' and type(item.command) ~= 'string' then
      return vim.tbl_extend('force', item, { data = { outrider = client.id, data = item.data } })
    end
    return item
  end, items)
end

--- The server that something came from, and this as it was.
---@return vim.lsp.Client?
---@return table
local function unmarked(item)
  local data = type(item.data) == 'table' and item.data or {}
  local found = vim.tbl_extend('force', item, {})
  found.data = data.data
  return data.outrider and vim.lsp.get_client_by_id(data.outrider), found
end

local MARKED = { ['textDocument/codeAction'] = true, ['textDocument/prepareCallHierarchy'] = true }

--- What only a command does nobody could look at before.
local function has_edit(action)
  return type(action) == 'table' and (action.edit ~= nil or action.command == nil)
end

--- Ask the servers of a buffer, the one after the other.
---@param buffer integer
---@param params outrider.LanguageParams
---@return outrider.LanguageReply
local function asked_of_all(buffer, params)
  local method, problem = params.method, nil
  local said
  for _, client in ipairs(others(buffer)) do
    local encoding = client.offset_encoding
    if client.initialized and can(client, method, buffer) and (not said or said.encoding == encoding) then
      local given = recounted(buffer, params.params, params.encoding, encoding)
      local failed, result =
        ask(client, method, given, LONG[method] and LONG_MILLISECONDS or ASK_MILLISECONDS)
      if failed then
        problem = ('%s: %s'):format(client.name, failed.message or 'it failed')
      elseif not said or is_empty(said.result) or (MERGED[method] and not is_empty(result)) then
        if not is_empty(result) and method == 'textDocument/codeAction' then
          result = vim.tbl_filter(has_edit, result)
        end
        if not is_empty(result) and MARKED[method] then
          result = marked(client, result)
        end
        if said and not is_empty(said.result) then
          table.insert(said.by, client.name)
          vim.list_extend(said.result, result)
        else
          said = { result = result == nil and vim.NIL or result, by = { client.name }, encoding = encoding }
        end
      end
      if said and not is_empty(said.result) and not MERGED[method] then
        break
      end
    end
  end
  return said or { unserved = problem or ('no server of this file can do that: %s'):format(method) }
end

--- A diagnostic of whatever source as LSP has it, with what its server wants to get back.
local function diagnostic(buffer, item, encoding)
  local own = (item.user_data or {}).lsp or {}
  local found = context.diagnostic(buffer, item, encoding)
  found.data, found.codeDescription, found.tags = own.data, own.codeDescription, own.tags
  return found
end

---@param buffer integer?
---@return vim.Diagnostic[]
local function shown(buffer)
  return vim.tbl_filter(function(item)
    return item.source ~= client_of.NAME
  end, vim.diagnostic.get(buffer))
end

---@param buffer integer
---@return vim.lsp.Client[]
local function knowing(buffer)
  return vim.tbl_filter(function(client)
    return client.initialized
      and vim.iter(KNOWS):any(function(name)
        return client.server_capabilities[name] ~= nil
      end)
  end, others(buffer))
end

--- The problems of a file: those that are shown, and those that a server is asked for.
---@param buffer integer
---@param params outrider.LanguageParams
---@return outrider.LanguageReply
local function problems_of(buffer, params)
  local servers = knowing(buffer)
  if hidden[buffer] and #servers > 0 then
    wait(function()
      return not vim.api.nvim_buf_is_valid(buffer) or #shown(buffer) > 0
    end, vim.iter(servers):all(function(client)
      return can(client, params.method, buffer)
    end) and 0 or SETTLE_MILLISECONDS)
  end
  local items, by, pulled = {}, {}, {}
  for _, client in ipairs(servers) do
    by[#by + 1] = client.name
    if can(client, params.method, buffer) then
      local failed, result = ask(client, params.method, params.params, ASK_MILLISECONDS)
      if not failed and type(result) == 'table' and type(result.items) == 'table' then
        pulled[client.id] = true
        vim.list_extend(items, recounted(buffer, result.items, client.offset_encoding, params.encoding))
      end
    end
  end
  local known = {}
  for id in pairs(pulled) do
    known[vim.lsp.diagnostic.get_namespace(id, true)] = true
    for name, number in pairs(vim.api.nvim_get_namespaces()) do
      known[number] = known[number]
        or vim.startswith(name, ('nvim.lsp.%s.%d.'):format(vim.lsp.get_client_by_id(id).name, id))
    end
  end
  for _, item in ipairs(shown(buffer)) do
    if not known[item.namespace] then
      items[#items + 1] = diagnostic(buffer, item, params.encoding)
    end
  end
  if #servers == 0 and #items == 0 then
    return { unserved = 'no server is attached to this file, and nothing is reported of it' }
  end
  return { result = { kind = 'full', items = items }, by = by, encoding = params.encoding }
end

--- All that is reported.
---@param params outrider.LanguageParams
---@return outrider.LanguageReply
local function all_problems(params)
  local documents, by, is_served = {}, {}, false
  for _, item in ipairs(shown()) do
    if context.is_document(item.bufnr) then
      local found = documents[item.bufnr]
        or { uri = vim.uri_from_bufnr(item.bufnr), kind = 'full', items = {} }
      documents[item.bufnr] = found
      table.insert(found.items, diagnostic(item.bufnr, item, params.encoding))
    end
  end
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    for _, client in ipairs(vim.api.nvim_buf_is_loaded(buffer) and knowing(buffer) or {}) do
      is_served, by[client.name] = true, true
    end
  end
  if not is_served and next(documents) == nil then
    return { unserved = 'no server runs, and nothing is reported' }
  end
  return { result = { items = vim.tbl_values(documents) }, by = vim.tbl_keys(by), encoding = params.encoding }
end

---@param params outrider.LanguageParams
---@param needs fun(buffer: integer)
---@return outrider.LanguageReply
local function answer(params, needs)
  local method = params.method
  if method == 'workspace/diagnostic' then
    return all_problems(params)
  end
  local buffer = params.uris[1] and buffer_of(params.uris[1], needs)
  if not buffer then
    return { unserved = 'the file is not open, and no server would come to it' }
  end
  if method == 'textDocument/diagnostic' then
    return problems_of(buffer, params)
  end
  if method ~= 'codeAction/resolve' and not vim.startswith(method, 'callHierarchy/') then
    return asked_of_all(buffer, params)
  end
  local is_action = method == 'codeAction/resolve'
  local client, item = unmarked(is_action and params.params or params.params.item)
  if not client or (is_action and not can(client, method, buffer)) then
    return { unserved = 'the server that offered it cannot be asked about it' }
  end
  local given = is_action and item or vim.tbl_extend('force', params.params, { item = item })
  local failed, result = ask(client, method, given, ASK_MILLISECONDS)
  if failed then
    return { unserved = ('%s: %s'):format(client.name, failed.message or 'it failed') }
  end
  return {
    result = result == nil and vim.NIL or result,
    by = { client.name },
    encoding = client.offset_encoding,
  }
end

--- `outrider/language`: what the servers of this Neovim say.
---@param client vim.lsp.Client
---@param params outrider.LanguageParams
---@return outrider.LanguageReply
function M.answer(client, params)
  clear()
  local needed
  local done, reply = pcall(answer, params, function(buffer)
    needed = hidden[buffer]
    if needed then
      needed.needed = needed.needed + 1
    end
  end)
  if needed then
    needed.needed, needed.last = needed.needed - 1, vim.uv.now() + HIDDEN_MILLISECONDS
    vim.defer_fn(clear, HIDDEN_MILLISECONDS + POLL_MILLISECONDS)
  end
  if not done then
    error(reply, 0)
  end
  if not reply.unserved then
    local versions = vim.empty_dict()
    for _, uri in ipairs(params.uris) do
      local ok, file = pcall(vim.uri_to_fname, uri)
      local buffer = ok and client_of.buffer(file)
      if buffer and vim.lsp.buf_is_attached(buffer, client.id) then
        versions[uri] = vim.lsp.util.buf_versions[buffer]
      end
    end
    reply.versions = versions
  end
  return reply
end

return M
