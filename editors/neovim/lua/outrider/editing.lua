--- What Outrider changes in buffers and on disk: one undo step for each edit, saving, reading again.
local client_of = require('outrider.client')
local log = require('outrider.log')

local M = {}

--- When the file of a buffer was changed last, as far as the buffer has it.
---@type table<integer, { sec: integer, nsec: integer }?>
local known = {}

---@param buffer integer
---@return { sec: integer, nsec: integer }?
local function changed_at(buffer)
  local found = vim.uv.fs_stat(vim.api.nvim_buf_get_name(buffer))
  return found and found.mtime
end

local group = vim.api.nvim_create_augroup('outrider.editing', {})
vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufWritePost', 'FileChangedShellPost' }, {
  group = group,
  callback = function(event)
    known[event.buf] = changed_at(event.buf)
  end,
})
vim.api.nvim_create_autocmd({ 'BufFilePost', 'BufUnload' }, {
  group = group,
  callback = function(event)
    known[event.buf] = nil
  end,
})
for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
  known[buffer] = vim.api.nvim_buf_is_loaded(buffer) and changed_at(buffer) or nil
end

--- Begin a new undo step in a buffer; it works while the user is typing, too.
local function break_undo(buffer)
  vim.api.nvim_buf_call(buffer, function()
    vim.cmd('let &l:undolevels = &l:undolevels')
  end)
end

local function buffers_of(edit)
  local uris = vim.tbl_keys(edit.changes or {})
  for _, change in ipairs(edit.documentChanges or {}) do
    if change.textDocument then
      uris[#uris + 1] = change.textDocument.uri
    end
  end
  local found = {}
  for _, uri in ipairs(uris) do
    local buffer = vim.uri_to_bufnr(uri)
    if vim.api.nvim_buf_is_loaded(buffer) then
      found[#found + 1] = buffer
    end
  end
  return found
end

--- `workspace/applyEdit`: done by Neovim, as an undo step of its own. The proposal that was shown goes first, so
--- that nothing is seen twice.
---@param problem lsp.ResponseError?
---@param params lsp.ApplyWorkspaceEditParams
---@param context lsp.HandlerContext
function M.apply(problem, params, context)
  local buffers = buffers_of(params.edit)
  vim.tbl_map(break_undo, buffers)
  local result = vim.lsp.handlers['workspace/applyEdit'](problem, params, context)
  vim.tbl_map(break_undo, buffers)
  return result
end

--- Write a buffer, if it has to be.
---@param buffer integer
---@return string? problem
function M.save(buffer)
  if not vim.bo[buffer].modified then
    return nil
  end
  local before, now = known[buffer], changed_at(buffer)
  if before and now and not vim.deep_equal(before, now) then
    -- Neovim would ask, and take the next key of what is typed for the answer.
    return ('%s: it was changed on disk since it was read; `:w!` writes over that, `:e!` takes it'):format(
      vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buffer), ':.')
    )
  end
  local ok, why = pcall(vim.api.nvim_buf_call, buffer, function()
    vim.cmd('silent update')
  end)
  if not ok then
    -- Behind the first line is where in the plugin it happened.
    local said = tostring(why):match('^[^\n]*'):gsub('^.-(E%d+:)', '%1')
    return ('%s: %s'):format(vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buffer), ':.'), said)
  end
  return vim.bo[buffer].modified and vim.api.nvim_buf_get_name(buffer) .. ': it is still modified' or nil
end

--- Write the buffers that the agent changed.
---@param client vim.lsp.Client
---@param session outrider.Session
---@return string[] problems
function M.save_touched(client, session)
  local problems = {}
  for path in pairs(session.touched) do
    local buffer = client_of.buffer(client_of.file(client, path))
    problems[#problems + 1] = buffer and M.save(buffer) or nil
  end
  return problems
end

--- `outrider/save`: write the buffers of these documents.
---@param params { uris: string[] }
---@return { saved: string[], failed: { uri: string, reason: string }[]? }
function M.on_save(params)
  local saved, failed = {}, {}
  for _, uri in ipairs(params.uris) do
    local buffer = client_of.buffer(vim.uri_to_fname(uri))
    local problem = 'it is not open'
    if buffer then
      problem = M.save(buffer)
    end
    if problem then
      failed[#failed + 1] = { uri = uri, reason = problem }
    else
      saved[#saved + 1] = uri
    end
  end
  return { saved = saved, failed = #failed > 0 and failed or nil }
end

local CHANGED = {
  changed = '%s was changed on disk; `:e` reads it again.',
  conflict = '%s was changed on disk, and here too: `:w!` keeps what is here, `:e!` takes that.',
}

--- Read a file again that was changed on disk, where Neovim does that without a question. What it would ask is told:
--- it would take the next key of what is typed for the answer.
local function read_again(buffer)
  local asks = vim.api.nvim_create_autocmd('FileChangedShell', {
    buffer = buffer,
    callback = function(event)
      local text = CHANGED[vim.v.fcs_reason]
      vim.schedule(function()
        if text then
          log.say('warning', text:format(vim.fn.fnamemodify(event.file, ':.')))
        end
      end)
    end,
  })
  vim.cmd('silent! checktime ' .. buffer)
  vim.api.nvim_del_autocmd(asks)
end

--- Follow a session: what was changed on disk is read again, where the user set `autoread`.
---@param event outrider.Event
function M.event(_, event)
  local command = event.type == 'tool.finished' and event.data.name == 'run_command'
  local on_disk = event.type == 'edit.applied' and event.data.where == 'disk'
  if (command or on_disk) and vim.fn.getcmdwintype() == '' then
    for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
      if vim.api.nvim_buf_is_loaded(buffer) and vim.bo[buffer].buftype == '' then
        read_again(buffer)
      end
    end
  end
end

return M
