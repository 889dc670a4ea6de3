--- A buffer made of blocks of lines: appended at the end, grown and replaced in place.
--- The place of a block is an extmark, so that nothing is ever counted or drawn twice, however long the buffer.

---@class outrider.Blocks
---@field buffer integer
---@field private rows table<string, { mark: integer, size: integer }>
local Blocks = {}
Blocks.__index = Blocks

local namespace = vim.api.nvim_create_namespace('outrider.blocks')
Blocks.namespace = namespace
local notes = vim.api.nvim_create_namespace('outrider.blocks.notes')
-- Bytes of one row of live text: Neovim copies a row for each piece that is added to it.
local LONGEST_ROW = 16 * 1024

---@param buffer integer
---@return outrider.Blocks
function Blocks.new(buffer)
  return setmetatable({ buffer = buffer, rows = {} }, Blocks)
end

local function clean(lines)
  for index, line in ipairs(lines) do
    if line:find('[\r\n]') then
      lines[index] = line:gsub('\r$', ''):gsub('\n', ' ')
    end
  end
  return lines
end

---@private
function Blocks:write(first, last, lines)
  vim.bo[self.buffer].modifiable = true
  vim.api.nvim_buf_set_lines(self.buffer, first, last, false, clean(lines))
  vim.bo[self.buffer].modifiable = false
end

---@private
function Blocks:start(block)
  return vim.api.nvim_buf_get_extmark_by_id(self.buffer, namespace, block.mark, {})[1]
end

--- Whether a block is there.
---@param name string
---@return boolean
function Blocks:has(name)
  return self.rows[name] ~= nil
end

--- Put a block at the end; one of that name moves there.
---@param name string
---@param lines string[]
function Blocks:append(name, lines)
  self:remove(name)
  local row = vim.api.nvim_buf_line_count(self.buffer)
  self:write(row, row, lines)
  local mark = vim.api.nvim_buf_set_extmark(self.buffer, namespace, row, 0, {})
  self.rows[name] = { mark = mark, size = #lines }
end

--- Put other lines in the place of a block.
---@param name string
---@param lines string[]
function Blocks:replace(name, lines)
  local block = self.rows[name]
  if not block then
    return self:append(name, lines)
  end
  local row = self:start(block)
  self:write(row, row + block.size, lines)
  block.size = #lines
  vim.api.nvim_buf_set_extmark(self.buffer, namespace, row, 0, { id = block.mark })
end

--- Change the first line of a block.
---@param name string
---@param line string
function Blocks:retitle(name, line)
  local block = self.rows[name]
  if block then
    local row = self:start(block)
    self:write(row, row + 1, { line })
    vim.api.nvim_buf_set_extmark(self.buffer, namespace, row, 0, { id = block.mark })
  end
end

--- Add lines at the end of a block.
---@param name string
---@param lines string[]
function Blocks:grow(name, lines)
  local block = self.rows[name]
  if block and #lines > 0 then
    local row = self:start(block) + block.size
    self:write(row, row, lines)
    block.size = block.size + #lines
  end
end

--- Where a row ends that begins at a place of a line; never within a character.
local function last_of_row(line, first, room)
  local last = math.min(first + room - 1, #line)
  for _ = 1, last < #line and 3 or 0 do
    local following = line:byte(last + 1)
    if last < first or following < 0x80 or following >= 0xC0 then
      break
    end
    last = last - 1
  end
  return last
end

--- The rows that show lines as they come: a line that is very long goes on in further ones.
---@param lines string[]
---@param prefix string what each row but the first begins with
---@param room integer bytes that fit into the first one
---@return string[] rows
---@return integer[] cut which of them go on in the next one
local function rows_of(lines, prefix, room)
  local rows, cut, begin = {}, {}, ''
  for _, line in ipairs(lines) do
    local first = 1
    repeat
      local last = last_of_row(line, first, room)
      rows[#rows + 1] = begin .. line:sub(first, last)
      first, room, begin = last + 1, LONGEST_ROW, prefix
      if first <= #line then
        cut[#cut + 1] = #rows
      end
    until first > #line
  end
  return rows, cut
end

--- Go on in the last line of a block: text as it comes, in pieces that end anywhere.
---@param name string
---@param text string
---@param prefix string what each further line begins with
function Blocks:stream(name, text, prefix)
  local block = self.rows[name]
  if not block then
    return
  end
  local start = self:start(block)
  local row = start + block.size - 1
  local length = #vim.api.nvim_buf_get_lines(self.buffer, row, row + 1, false)[1]
  local lines = clean(vim.split(text, '\n', { plain = true }))
  local pieces, cut = rows_of(lines, prefix, math.max(LONGEST_ROW - length, 0))
  vim.bo[self.buffer].modifiable = true
  vim.api.nvim_buf_set_text(self.buffer, row, length, row, length, pieces)
  vim.bo[self.buffer].modifiable = false
  -- What came into its empty first line has pushed it along.
  vim.api.nvim_buf_set_extmark(self.buffer, namespace, start, 0, { id = block.mark })
  block.size = block.size + #pieces - 1
  for _, index in ipairs(cut) do
    vim.api.nvim_buf_set_extmark(self.buffer, notes, row + index - 1, 0, {
      virt_text = { { ' … the line goes on below', 'NonText' } },
      invalidate = true,
      undo_restore = false,
    })
  end
end

--- Take a block away.
---@param name string
function Blocks:remove(name)
  local block = self.rows[name]
  if block then
    local row = self:start(block)
    vim.api.nvim_buf_del_extmark(self.buffer, namespace, block.mark)
    self:write(row, row + block.size, {})
    self.rows[name] = nil
  end
end

--- Move a block to the end.
---@param name string
function Blocks:to_end(name)
  local block = self.rows[name]
  if block and self:start(block) + block.size < vim.api.nvim_buf_line_count(self.buffer) then
    local row = self:start(block)
    self:append(name, vim.api.nvim_buf_get_lines(self.buffer, row, row + block.size, false))
  end
end

--- Whether a row, counted from 0, is one of a block.
---@param name string
---@param row integer
---@return boolean
function Blocks:holds(name, row)
  local block = self.rows[name]
  local first = block and self:start(block)
  return first ~= nil and row >= first and row < first + block.size
end

--- Take the last line of a block away if it is this one.
---@param name string
---@param line string
function Blocks:trim(name, line)
  local block = self.rows[name]
  local row = block and self:start(block) + block.size - 1
  if row and block.size > 1 and vim.api.nvim_buf_get_lines(self.buffer, row, row + 1, false)[1] == line then
    self:write(row, row + 1, {})
    block.size = block.size - 1
  end
end

--- The row of a block, counted from 0.
---@param name string
---@return integer?
function Blocks:row(name)
  local block = self.rows[name]
  return block and self:start(block)
end

return Blocks
