--- What Outrider changes in buffers and on the disk: one undo step for each edit, saving, reading again.
local client_of = require('outrider.client')

local M = {}

--- Begin a new undo step in a buffer; it works while the person is typing, too.
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

--- Follow a session: what was changed on the disk is read again, where the person set `autoread`.
---@param event outrider.Event
function M.event(_, event)
  local command = event.type == 'tool.finished' and event.data.name == 'run_command'
  local on_disk = event.type == 'edit.applied' and event.data.where == 'disk'
  if (command or on_disk) and vim.fn.getcmdwintype() == '' then
    vim.cmd('silent! checktime')
  end
end

return M
