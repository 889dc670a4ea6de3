--- What the person is looking at, for a task: the document, the selection, diagnostics of all language servers.
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

---@param buffer integer
---@param row integer from 0
---@param column integer bytes
---@param encoding string
---@return lsp.Position
local function position(buffer, row, column, encoding)
  local line = vim.api.nvim_buf_get_lines(buffer, row, row + 1, false)[1] or ''
  return { line = row, character = units(line, column, encoding) }
end

--- Whether a buffer is a document that the server can know.
---@param buffer integer
---@return boolean
function M.is_document(buffer)
  return vim.bo[buffer].buftype == '' and vim.api.nvim_buf_get_name(buffer) ~= ''
end

--- The selection that a command's range stands for: whole lines, or the characters that are selected.
---@param client vim.lsp.Client
---@param buffer integer
---@param first integer from 1
---@param last integer
---@return outrider.Selection
function M.selection(client, buffer, first, last)
  local encoding = client.offset_encoding
  local from, to = vim.fn.getpos("'<"), vim.fn.getpos("'>")
  local range
  if vim.fn.visualmode() == 'v' and from[2] == first and to[2] == last then
    local line = vim.api.nvim_buf_get_lines(buffer, last - 1, last, false)[1] or ''
    -- The selection ends behind the character that it ends on.
    local after = to[3] - 1 < #line and to[3] - 1 + #vim.fn.strpart(line, to[3] - 1, 1, true) or #line
    range = {
      start = position(buffer, first - 1, from[3] - 1, encoding),
      ['end'] = position(buffer, last - 1, after, encoding),
    }
  else
    local line = vim.api.nvim_buf_get_lines(buffer, last - 1, last, false)[1] or ''
    range = {
      start = { line = first - 1, character = 0 },
      ['end'] = position(buffer, last - 1, #line, encoding),
    }
  end
  return { uri = vim.uri_from_bufnr(buffer), range = range }
end

--- A diagnostic of whatever source as LSP has it.
---@param buffer integer
---@param item vim.Diagnostic
---@param encoding string
---@return lsp.Diagnostic
function M.diagnostic(buffer, item, encoding)
  return {
    range = {
      start = position(buffer, item.lnum, item.col, encoding),
      ['end'] = position(buffer, item.end_lnum or item.lnum, item.end_col or item.col, encoding),
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
