--- A buffer to write a task in, below the session: several lines, completion of `@` and `/`, and what was sent before.
local client_of = require('outrider.client')
local config = require('outrider.config')
local drawing = require('outrider.drawing')
local log = require('outrider.log')
local sessions = require('outrider.sessions')
local tasks = require('outrider.tasks')

local M = {}

local NAME = 'outrider://compose'
local LINES = 6
--- How many files are offered, and how many texts are kept.
local MOST_FILES = 20000
local MOST_SENT = 50

---@type string[]
local sent = {}
---@type integer? which of those is shown; none while a new one is written
local shown
---@type { root: string, paths: string[] }?
local files
--- The custom commands, as the server listed them last.
---@type outrider.CustomCommandInfo[]
local custom = {}
--- The turn whose task is written anew, and its session.
---@type { session: outrider.Session, turn: string }?
local instead

--- The files of a folder, read in the background: those that git knows, else all.
---@param root string
local function list_files(root)
  files = { root = root, paths = {} }
  local own = files
  local function take(output)
    own.paths = vim.list_slice(vim.split(output, '\n', { trimempty = true }), 1, MOST_FILES)
  end
  -- A repository may name programs that git would run: a monitor, and what fetches what a partial clone lacks.
  local git =
    { 'git', '-c', 'core.fsmonitor=false', 'ls-files', '--cached', '--others', '--exclude-standard' }
  local env = { GIT_ALLOW_PROTOCOL = 'none', GIT_NO_LAZY_FETCH = '1' }
  local ok = pcall(vim.system, git, { cwd = root, env = env, text = true, timeout = 5000 }, function(done)
    if done.code == 0 then
      take(done.stdout or '')
    else
      vim.schedule(function()
        local found = {}
        for name, kind in vim.fs.dir(root, { depth = 4 }) do
          if kind == 'file' and not vim.startswith(name, '.') then
            found[#found + 1] = name
          end
          if #found >= 2000 then
            break
          end
        end
        own.paths = found
      end)
    end
  end)
  if not ok then
    own.paths = {}
  end
end

--- The custom commands of a server, asked for in the background.
---@param client vim.lsp.Client
local function list_custom(client)
  if client_of.knows(client, 'outrider.commands') then
    client_of.execute(client, 'outrider.commands', nil, function(result)
      custom = result.commands
    end, function() end)
  end
end

--- The words after `/` that begin a task.
local MODES = {
  agent = 'it may change things',
  plan = 'a plan; nothing is changed',
  explore = 'a question; nothing is changed',
}

--- Complete what begins with `@` or `/`; `omnifunc` of the buffer.
---@param find 0|1
---@param base string
function M.omnifunc(find, base)
  local line = vim.api.nvim_get_current_line()
  local before = line:sub(1, vim.api.nvim_win_get_cursor(0)[2])
  if find == 1 then
    local at = before:find('@%S*$') or (before:find('^/[^%s/]*$'))
    return at and at - 1 or -3
  end
  local found = {}
  if vim.startswith(base, '/') then
    for name, about in vim.spairs(MODES) do
      if vim.startswith(name, base:sub(2)) then
        found[#found + 1] = { word = '/' .. name .. ' ', abbr = '/' .. name, menu = about }
      end
    end
    for _, one in ipairs(custom) do
      if vim.startswith(one.name, base:sub(2)) and not MODES[one.name] then
        local about = drawing.short(vim.fn.strtrans(one.description), 80)
        found[#found + 1] = { word = '/' .. one.name .. ' ', abbr = '/' .. one.name, menu = about }
      end
    end
    return found
  end
  local query = base:sub(2):lower()
  local ranked = {}
  for _, path in ipairs(files and files.paths or {}) do
    local low = path:lower()
    local name = low:match('[^/]*$')
    local rank = vim.startswith(name, query) and 0
      or name:find(query, 1, true) and 1
      or low:find(query, 1, true) and 2
    if rank then
      ranked[#ranked + 1] = { path = path, rank = rank }
    end
  end
  table.sort(ranked, function(a, b)
    if a.rank ~= b.rank then
      return a.rank < b.rank
    end
    return #a.path ~= #b.path and #a.path < #b.path or #a.path == #b.path and a.path < b.path
  end)
  for _, one in ipairs(vim.list_slice(ranked, 1, 50)) do
    found[#found + 1] = { word = '@' .. one.path, menu = 'file' }
  end
  return found
end

local function close()
  local window = vim.fn.bufwinid(NAME)
  if window ~= -1 then
    pcall(vim.api.nvim_win_close, window, true)
  end
end

---@param buffer integer
---@return string
local function text_of(buffer)
  return vim.trim(table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\n'))
end

---@param buffer integer
---@param text string
local function write(buffer, text)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(text, '\n', { plain = true }))
  vim.api.nvim_win_set_cursor(0, { 1, #vim.fn.getline(1) })
end

--- Send what is written: to the running turn, or as a task. A task that is to wait is one that is queued.
---@param waits boolean
local function send(waits)
  local buffer = vim.api.nvim_get_current_buf()
  local text = text_of(buffer)
  if text == '' then
    return
  end
  local client = client_of.needed()
  if not client then
    return
  end
  vim.cmd.stopinsert()
  sent = vim.list_slice(vim.list_extend(sent, { text }), math.max(1, #sent - MOST_SENT + 1))
  shown = nil
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, {})
  close()
  local mode, rest = text:match('^/(%a+)%s+(.*)$')
  if mode and MODES[mode] then
    text = rest
  else
    mode = nil
  end
  local session = sessions.here(client)
  if instead then
    local params =
      { sessionId = instead.session.id, turnId = instead.turn, prompt = text, mode = mode, files = true }
    instead = nil
    client_of.execute(client, 'outrider.resend', params)
  elseif session and session.turn and not session.away and not waits and not mode then
    tasks.steer(client, session, text)
  else
    tasks.run(text, { mode = mode })
  end
end

--- Go back and on in what was sent; where there is nothing to go to the key does what it does else.
---@param step -1|1
---@param key string
local function recall(step, key)
  local buffer = vim.api.nvim_get_current_buf()
  if vim.fn.pumvisible() == 1 or (not shown and text_of(buffer) ~= '') or (not shown and step == 1) then
    return vim.api.nvim_feedkeys(vim.keycode(key), 'n', false)
  end
  local at = (shown or #sent + 1) + step
  if at < 1 then
    return
  end
  shown = sent[at] and at or nil
  write(buffer, sent[at] or '')
end

--- Map a key to complete what begins with it.
local function completes(buffer, sign, when)
  vim.keymap.set('i', sign, function()
    local before = vim.api.nvim_get_current_line():sub(1, vim.api.nvim_win_get_cursor(0)[2])
    return (before == '' or before:find(when)) and sign .. '<C-x><C-o>' or sign
  end, { buffer = buffer, expr = true, desc = 'Outrider: complete' })
end

local function made()
  local buffer = vim.fn.bufnr('^' .. NAME .. '$')
  if buffer ~= -1 and vim.api.nvim_buf_is_loaded(buffer) then
    return buffer
  end
  buffer = buffer ~= -1 and buffer or vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buffer, NAME)
  vim.bo[buffer].buftype = 'nofile'
  vim.bo[buffer].bufhidden = 'hide'
  vim.bo[buffer].swapfile = false
  vim.bo[buffer].filetype = 'outrider_compose'
  vim.bo[buffer].omnifunc = "v:lua.require'outrider.compose'.omnifunc"
  local keys = config.get().compose_keys
  local function map(modes, key, name, action)
    if key and key ~= '' then
      vim.keymap.set(modes, key, action, { buffer = buffer, desc = 'Outrider: ' .. name })
    end
  end
  map({ 'n' }, keys.send, 'send', function()
    send(false)
  end)
  map({ 'n', 'i' }, keys.send_now, 'send', function()
    send(false)
  end)
  map({ 'n', 'i' }, keys.queue, 'send when the running turn has ended', function()
    send(true)
  end)
  map({ 'n' }, keys.close, 'close', close)
  for key, step in pairs({ ['<Up>'] = -1, ['<Down>'] = 1 }) do
    map({ 'n', 'i' }, key, 'recall', function()
      recall(step, key)
    end)
  end
  -- Before 0.11 that is an option of the whole editor: a list that opens by itself would write what nobody chose.
  local options = { buf = buffer }
  if pcall(vim.api.nvim_set_option_value, 'completeopt', 'menuone,noinsert', options) then
    completes(buffer, '@', '%s$')
    completes(buffer, '/', '^$')
  end
  return buffer
end

--- Open the buffer and write in it.
---@param text string? put in place of what is written
---@param of { session: outrider.Session, turn: string }? the turn whose task it takes the place of
function M.open(text, of)
  local client = client_of.needed()
  if not client then
    return
  end
  instead = of
  list_files(client.root_dir or vim.fn.getcwd())
  list_custom(client)
  local session = sessions.here(client)
  local buffer = made()
  local window = vim.fn.bufwinid(buffer)
  if window == -1 then
    local beside = session and vim.fn.bufwinid(require('outrider.view').buffer(session)) or -1
    local place = { split = 'below', win = beside ~= -1 and beside or 0, height = LINES }
    window = vim.api.nvim_open_win(buffer, true, place)
    for name, value in pairs({
      wrap = true,
      linebreak = true,
      number = false,
      relativenumber = false,
      winfixheight = true,
    }) do
      vim.api.nvim_set_option_value(name, value, { win = window, scope = 'local' })
    end
    local keys = config.get().compose_keys
    local said = ('Task · @ file · / mode · %s sends · %s queues'):format(
      keys.send_now or '-',
      keys.queue or '-'
    )
    vim.api.nvim_set_option_value('winbar', (said:gsub('%%', '%%%%')), { win = window, scope = 'local' })
  end
  vim.api.nvim_set_current_win(window)
  if text then
    write(buffer, text)
  end
  vim.cmd.startinsert({ bang = true })
end

--- What was sent, for tests and status lines.
---@return string[]
function M.sent()
  return vim.deepcopy(sent)
end

--- Why the task of a turn cannot be written anew; nil where it can.
---@param client vim.lsp.Client
---@param session outrider.Session
---@return string?
function M.why_not_edit(client, session)
  if not client_of.knows(client, 'outrider.resend') then
    return 'This server cannot take a task anew.'
  elseif session.turn then
    return 'A turn is running: `:Outrider cancel` ends it.'
  elseif not session.last then
    return 'There is no task yet.'
  end
end

--- Write the last task anew; what is sent takes its place.
function M.edit()
  local client = client_of.needed()
  local session = client and sessions.here(client)
  if not client then
    return
  end
  local problem = not session and 'There is no session yet.' or session and M.why_not_edit(client, session)
  if problem or not session then
    return log.say('info', problem or '')
  end
  M.open(session.last.prompt, { session = session, turn = session.last.turn })
end

return M
