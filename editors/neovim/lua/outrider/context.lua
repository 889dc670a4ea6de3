--- What the user is looking at, for a task: the document, the selection, diagnostics of all language servers.
local M = {}

--- A byte column as the server counts.
---@param line string
---@param column integer bytes
---@param encoding string
---@return integer
local function units(line, column, encoding)
  column = math.max(0, math.min(column, #line))
  if encoding == 'utf-8' then
    return column
  end
  if vim.fn.has('nvim-0.11') == 1 then
    return vim.str_utfindex(line, encoding, column, false)
  end
  local utf32, utf16 = vim.str_utfindex(line, column)
  return encoding == 'utf-32' and utf32 or utf16
end

--- A place in a buffer as LSP has it.
---@param buffer integer
---@param row integer from 0
---@param column integer bytes
---@param encoding string
---@return lsp.Position
function M.position(buffer, row, column, encoding)
  local line = vim.api.nvim_buf_get_lines(buffer, row, row + 1, false)[1] or ''
  return { line = row, character = units(line, column, encoding) }
end

--- Whether a buffer is a document that the server can know.
---@param buffer integer
---@return boolean
function M.is_document(buffer)
  return vim.bo[buffer].buftype == '' and vim.api.nvim_buf_get_name(buffer) ~= ''
end

--- The selection that a command's range stands for in the current buffer, as it is now: whole lines, or the characters
--- that are selected.
---@param first integer from 1
---@param last integer
---@return fun(encoding: string): outrider.Selection gets how the server counts, which may be known only later
function M.selection(first, last)
  local begins, ends = vim.fn.getline(first), vim.fn.getline(last)
  local from, to = vim.fn.getpos("'<"), vim.fn.getpos("'>")
  local before, after = 0, #ends
  if vim.fn.visualmode() == 'v' and from[2] == first and to[2] == last then
    before = from[3] - 1
    -- The selection ends behind the character that it ends on.
    after = to[3] - 1 < #ends and to[3] - 1 + #vim.fn.strpart(ends, to[3] - 1, 1, true) or #ends
  end
  local uri = vim.uri_from_bufnr(0)
  return function(encoding)
    local range = {
      start = { line = first - 1, character = units(begins, before, encoding) },
      ['end'] = { line = last - 1, character = units(ends, after, encoding) },
    }
    return { uri = uri, range = range }
  end
end

--- A diagnostic of whatever source as LSP has it.
---@param buffer integer
---@param item vim.Diagnostic
---@param encoding string
---@return lsp.Diagnostic
function M.diagnostic(buffer, item, encoding)
  return {
    range = {
      start = M.position(buffer, item.lnum, item.col, encoding),
      ['end'] = M.position(buffer, item.end_lnum or item.lnum, item.end_col or item.col, encoding),
    },
    severity = item.severity,
    message = item.message,
    source = item.source,
    code = item.code,
  }
end

--- The diagnostics of a stretch of lines.
---@param client vim.lsp.Client
---@param buffer integer
---@param first integer from 1
---@param last integer
---@return lsp.Diagnostic[]
function M.diagnostics(client, buffer, first, last)
  local found = {}
  for _, item in ipairs(vim.diagnostic.get(buffer)) do
    if item.lnum + 1 <= last and (item.end_lnum or item.lnum) + 1 >= first then
      found[#found + 1] = M.diagnostic(buffer, item, client.offset_encoding)
    end
  end
  return found
end

return M
