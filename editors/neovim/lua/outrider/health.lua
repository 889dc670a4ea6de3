--- `:checkhealth outrider`: what is there, what is missing, and what to do about it.
local client_of = require('outrider.client')
local config = require('outrider.config')
local health = vim.health

local M = {}

local function check_editor()
  health.start('Neovim')
  local version = tostring(vim.version())
  if vim.fn.has('nvim-0.11') == 1 then
    health.ok('Neovim ' .. version)
  else
    health.warn(
      ('Neovim %s has no vim.lsp.enable(); everything else works.'):format(version),
      "Put require('outrider').start() into your init.lua, or update to Neovim 0.11."
    )
  end
  if vim.o.autoread then
    health.ok('`autoread` is set: files that a command changes are read again')
  else
    health.warn(
      '`autoread` is not set: a file that a command changes is not read again, only named',
      'vim.o.autoread = true'
    )
  end
  if #vim.fn.getcompletion('outrider-commands', 'help') == 0 then
    local page = vim.api.nvim_get_runtime_file('doc/outrider.txt', false)[1]
    health.warn('`:help outrider` is not found', ':helptags ' .. vim.fs.dirname(page))
  end
  for _, problem in ipairs(config.problems()) do
    health.error('Options: ' .. problem, 'See :help outrider-options')
  end
end

local function check_program()
  health.start('Server')
  local command = require('outrider.lifecycle').command()
  local path = vim.fn.exepath(command)
  if path == '' then
    health.error(('there is no program `%s`'):format(command), {
      'Install it: pipx install . in the root of its repository',
      "Or say where it is: vim.lsp.config('outrider', { cmd = { '/path/to/outrider', 'serve' } })",
    })
    return
  end
  health.ok('found: ' .. path)
  if vim.fs.basename(command):find('^outrider') then
    local ok, done = pcall(function()
      return vim.system({ command, '--version' }, { text = true }):wait(10000)
    end)
    if ok and done.code == 0 then
      health.ok('version: ' .. vim.trim(done.stdout))
    else
      health.warn(('`%s --version` does not work'):format(command), ':Outrider log')
    end
  end
end

local MARKS = { ok = health.ok, warn = health.warn, fail = health.error }

local function ask_doctor(client)
  local params = { command = 'outrider.doctor', arguments = { vim.empty_dict() } }
  local reply, problem
  if vim.fn.has('nvim-0.11') == 1 then
    reply, problem = client:request_sync('workspace/executeCommand', params, 10000)
  else
    reply, problem = client.request_sync('workspace/executeCommand', params, 10000)
  end
  if not reply or reply.err then
    health.error('the server does not answer: ' .. (problem or reply.err.message), ':Outrider restart')
    return
  end
  for _, check in ipairs(reply.result.checks) do
    MARKS[check.status](('%s: %s'):format(check.name, check.detail))
  end
end

local function check_clients()
  health.start('Running')
  local clients = client_of.all()
  if #clients == 0 then
    health.warn('no server runs', require('outrider.client').why_none())
  end
  for _, client in ipairs(clients) do
    local buffers = #vim.tbl_keys(client.attached_buffers)
    health.ok(
      ('%s: %d buffers, positions in %s'):format(
        client.root_dir or 'no folder',
        buffers,
        client.offset_encoding
      )
    )
    if (client.flags or {}).debounce_text_changes ~= 0 then
      health.warn(
        'what you type reaches the server late',
        'Leave `flags` as it is, or set debounce_text_changes = 0 in it.'
      )
    end
    local options = client.config.init_options or {}
    if options.events ~= true then
      health.error(
        'the session cannot be shown: `events` is not true',
        'Do not replace `init_options.events`.'
      )
    end
    ask_doctor(client)
  end
end

--- Look at everything.
function M.check()
  check_editor()
  check_program()
  check_clients()
end

return M
