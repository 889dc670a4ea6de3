--- Highlights an answer as Markdown, by treesitter: apart from the rest of the session buffer, in which a star is a star.
local M = {}

local namespace = vim.api.nvim_create_namespace('outrider-markdown')

--- Longer answers stay as they are written: to highlight them takes too long.
local MOST_BYTES = 100 * 1024

---@param tree TSTree
---@param language string
---@param text string
---@param mark fun(row: integer, column: integer, options: vim.api.keyset.set_extmark)
local function highlight(tree, language, text, mark)
  local query = vim.treesitter.query.get(language, 'highlights')
  if not query then
    return
  end
  for id, node, metadata in query:iter_captures(tree:root(), text) do
    local name = query.captures[id]
    local own = metadata[id] or {}
    local conceal = own.conceal or metadata.conceal
    if not vim.startswith(name, '_') and name ~= 'spell' and name ~= 'nospell' then
      local row, column, end_row, end_column = node:range()
      mark(row, column, {
        end_row = end_row,
        end_col = end_column,
        hl_group = ('@%s.%s'):format(name, language),
        conceal = type(conceal) == 'string' and conceal or nil,
      })
    end
  end
end

--- Highlight lines of a buffer, as far as there is a parser.
---@param buffer integer
---@param first integer the row of the first one, counted from 0
---@param lines string[]
function M.show(buffer, first, lines)
  vim.api.nvim_buf_clear_namespace(buffer, namespace, first, first + #lines)
  local text = table.concat(lines, '\n') .. '\n'
  if #text > MOST_BYTES then
    return
  end
  local found, parser = pcall(vim.treesitter.get_string_parser, text, 'markdown')
  if not found or not parser then
    return
  end
  parser:parse(true)
  parser:for_each_tree(function(tree, own)
    highlight(tree, own:lang(), text, function(row, column, options)
      if row < #lines then
        options.end_row = first + math.min(options.end_row, #lines - 1)
        if options.end_row < first + #lines - 1 or options.end_col == 0 then
          options.end_col = math.min(options.end_col, #(lines[options.end_row - first + 1] or ''))
        else
          options.end_col = math.min(options.end_col, #lines[#lines])
        end
        pcall(vim.api.nvim_buf_set_extmark, buffer, namespace, first + row, column, options)
      end
    end)
  end)
end

return M
