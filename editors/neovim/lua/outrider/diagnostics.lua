--- The tool that lets the model look at the diagnostics of all language servers: only the editor has them together.
local client_of = require('outrider.client')
local context = require('outrider.context')

local M = {}

local SEVERITIES = { 'error', 'warning', 'information', 'hint' }
local MOST = 200

--- What is registered with the server.
---@return table
function M.tool()
  return {
    name = 'editor_diagnostics',
    description = 'The problems (errors, warnings) that the language servers and linters of the editor report, '
      .. 'for the files that are open in it. They are of the text as it is now.',
    inputSchema = {
      type = 'object',
      properties = {
        path = { type = 'string', description = 'Only of this file, relative to the workspace.' },
      },
      additionalProperties = false,
    },
    effect = 'read',
  }
end

local function inside(client, name)
  local file = vim.uv.fs_realpath(name) or name
  for _, folder in ipairs(client.workspace_folders or {}) do
    local root = vim.uri_to_fname(folder.uri)
    root = vim.uv.fs_realpath(root) or root
    if vim.startswith(file, root .. '/') then
      return file:sub(#root + 2)
    end
  end
end

--- `outrider/tool`: run it.
---@param client vim.lsp.Client
---@param params outrider.ToolParams
---@return outrider.ToolReply
function M.run(client, params)
  if params.name ~= M.tool().name then
    return { content = ('the editor has no tool %s'):format(params.name), isError = true }
  end
  local only
  if params.input.path then
    only = client_of.buffer(client_of.file(client, params.input.path))
    if not only then
      return { content = ('%s is not open in the editor'):format(params.input.path), isError = true }
    end
  end
  local lines = {}
  for _, item in ipairs(vim.diagnostic.get(only)) do
    local name = context.is_document(item.bufnr) and vim.api.nvim_buf_get_name(item.bufnr) or nil
    local path = name and inside(client, name)
    if path then
      lines[#lines + 1] = ('%s:%d:%d: %s: %s%s'):format(
        path,
        item.lnum + 1,
        item.col + 1,
        SEVERITIES[item.severity] or 'problem',
        item.message,
        item.source and (' [%s]'):format(item.source) or ''
      )
    end
  end
  if #lines == 0 then
    return { content = 'The editor reports no problems.' }
  end
  table.sort(lines)
  local more = #lines - MOST
  lines = vim.list_slice(lines, 1, MOST)
  if more > 0 then
    lines[#lines + 1] = ('… %d more'):format(more)
  end
  return { content = table.concat(lines, '\n') }
end

return M
