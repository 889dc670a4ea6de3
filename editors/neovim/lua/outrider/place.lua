--- Where a hunk belongs in a text that may have moved since it was worked out.
local M = {}

--- The lines of a stretch of text that is made of whole lines.
---@param text string
---@return string[]
function M.lines(text)
  if text == '' then
    return {}
  end
  local lines = vim.split((text:gsub('\n$', '')), '\n', { plain = true })
  return vim.tbl_map(function(line)
    return (line:gsub('\r$', ''))
  end, lines)
end

--- The lines of a buffer; none where it is empty, which Neovim has as one empty line.
---@param buffer integer
---@return string[]
local function text_of(buffer)
  local text = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
  return #text == 1 and text[1] == '' and {} or text
end

local function is_at(text, row, lines)
  for index, line in ipairs(lines) do
    if text[row + index] ~= line then
      return false
    end
  end
  return true
end

--- The row of a hunk's first line, counted from 0: as near as can be to where it was; nil where its text is gone.
---@param buffer integer
---@param hunk outrider.WireHunk
---@return integer?
function M.find(buffer, hunk)
  local text = text_of(buffer)
  local removed = M.lines(hunk.removed)
  local wanted = hunk.line - 1
  if #removed == 0 then
    return math.min(wanted, #text)
  end
  for distance = 0, #text do
    for _, row in ipairs({ wanted - distance, wanted + distance }) do
      if row >= 0 and row + #removed <= #text and is_at(text, row, removed) then
        return row
      end
    end
  end
end

--- A text with hunks put in, and where each then is; nil where one has no place any more.
---@param buffer integer
---@param hunks outrider.WireHunk[]
---@return string[]? lines
---@return { row: integer, count: integer }[]? places by the hunks' order, rows from 0
function M.with(buffer, hunks)
  local text = text_of(buffer)
  local found = {}
  for index, hunk in ipairs(hunks) do
    local row = M.find(buffer, hunk)
    if not row then
      return nil
    end
    found[index] = { index = index, row = row, count = #M.lines(hunk.removed), added = M.lines(hunk.added) }
  end
  table.sort(found, function(one, other)
    return one.row == other.row and one.index < other.index or one.row < other.row
  end)
  local lines, places, at = {}, {}, 0
  for _, hunk in ipairs(found) do
    vim.list_extend(lines, text, at + 1, hunk.row)
    places[hunk.index] = { row = #lines, count = #hunk.added }
    vim.list_extend(lines, hunk.added)
    at = hunk.row + hunk.count
  end
  return vim.list_extend(lines, text, at + 1), places
end

return M
