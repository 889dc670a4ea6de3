--- What all language servers and linters report, for the server: only the editor has it together.
local client_of = require('outrider.client')
local context = require('outrider.context')

local M = {}

--- The buffers that are meant: those of the documents that are named, or all that have something reported.
---@param uris string[]?
---@return integer[]
local function buffers(uris)
  local found = {}
  if not uris then
    for _, item in ipairs(vim.diagnostic.get()) do
      found[item.bufnr] = context.is_document(item.bufnr) or nil
    end
    return vim.tbl_keys(found)
  end
  for _, uri in ipairs(uris) do
    local ok, file = pcall(vim.uri_to_fname, uri)
    found[#found + 1] = ok and client_of.buffer(file) or nil
  end
  return found
end

--- `outrider/diagnostics`: what is reported now.
---@param client vim.lsp.Client
---@param params outrider.DiagnosticsParams
---@return outrider.DiagnosticsReply
function M.tell(client, params)
  local told = {}
  for _, buffer in ipairs(buffers(params.uris)) do
    told[#told + 1] = {
      uri = vim.uri_from_bufnr(buffer),
      items = vim.tbl_map(function(item)
        return context.diagnostic(buffer, item, client.offset_encoding)
      end, vim.diagnostic.get(buffer)),
    }
  end
  return { diagnostics = told }
end

return M
