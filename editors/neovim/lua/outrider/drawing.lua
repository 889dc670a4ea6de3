--- What an event looks like in the session buffer: lines for blocks. No editor, no state.
local M = {}

M.THOUGHT = '│ '
M.DETAIL = '┊ '
--- The sign that a call's line begins with.
M.SIGNS = {
  requested = '○',
  started = '▶',
  ok = '✓',
  error = '✗',
  denied = '⊘',
  cancelled = '⊘',
  skipped = '⊘',
  interrupted = '⊘',
}

local function prefixed(prefix, text)
  return vim.tbl_map(function(line)
    return prefix .. line
  end, vim.split(text, '\n', { plain = true }))
end

--- A text on one line, shortened.
---@param text string
---@param length integer characters
---@return string
function M.short(text, length)
  local line = vim.trim(text:gsub('%s+', ' '))
  return vim.fn.strchars(line) <= length and line or vim.fn.strcharpart(line, 0, length - 1) .. '…'
end

--- A text on one line of so many cells: letters of some scripts take two.
---@param text string
---@param cells integer
---@return string
function M.fit(text, cells)
  local line = M.short(text, math.max(cells, 1))
  for length = cells - 1, 1, -1 do
    if vim.fn.strdisplaywidth(line) <= cells then
      break
    end
    line = M.short(line, length)
  end
  return line
end

--- A task as its user gave it: of a plan its title, as the prompt is written for the model.
---@param data outrider.TurnStarted
---@return string
function M.title(data)
  local path = data.planDocument
  if not path then
    return data.prompt
  end
  local begin = ('Carry out the plan in %s: '):format(path)
  local line = vim.split(data.prompt, '\n', { plain = true })[1]
  return 'Start plan: ' .. (vim.startswith(line, begin) and line:sub(#begin + 1) or path)
end

--- The task that a turn begins with.
---@param data outrider.TurnStarted
---@return string[]
function M.task(data)
  local lines = vim.split(M.title(data), '\n', { plain = true })
  if data.planDocument then
    lines[#lines + 1] = data.planDocument
  end
  lines[1] = '# ' .. lines[1]
  table.insert(lines, 1, '')
  lines[#lines + 1] = ('%s · %s'):format(data.mode, data.model)
  lines[#lines + 1] = ''
  return lines
end

--- What the model thought, and what it said.
function M.thought(text)
  return prefixed(M.THOUGHT, text)
end

--- What a provider did on the web for an answer, a line for each.
---@param searches outrider.WebSearch[]
---@return string[]
function M.searches(searches)
  return vim.tbl_map(function(one)
    local page = one.pages[1] and one.pages[1].url or ''
    local did = one.query and ('searched the web for “' .. one.query .. '”') or ('opened ' .. page)
    local found = one.query
      and #one.pages > 0
      and (': %d page%s'):format(#one.pages, #one.pages > 1 and 's' or '')
    return M.short(
      '· ' .. did .. (found or '') .. (one.problem and (' (failed: ' .. one.problem .. ')') or ''),
      200
    )
  end, searches)
end

function M.said(text)
  return vim.split(text, '\n', { plain = true })
end

--- A call's first line.
---@param name string
---@param input any
---@param status string
---@return string
function M.call(name, input, status)
  local what = ''
  if type(input) == 'table' then
    for _, key in ipairs({ 'path', 'command', 'pattern', 'from', 'question' }) do
      if type(input[key]) == 'string' then
        what = ' ' .. M.short(input[key], 80)
        break
      end
    end
  end
  return ('%s %s%s%s'):format(
    M.SIGNS[status],
    name,
    what,
    M.SIGNS[status] == '⊘' and (' (%s)'):format(status) or ''
  )
end

--- Something below a call.
function M.detail(text)
  return prefixed(M.DETAIL, (text:gsub('\n$', '')))
end

--- The hunks of a change.
---@param data outrider.EditProposed
---@return string[]
function M.hunks(data)
  local lines = { M.DETAIL .. (data.to and ('%s → %s'):format(data.path, data.to) or data.path) }
  for _, hunk in ipairs(data.hunks) do
    lines[#lines + 1] = ('%s@@ %d @@'):format(M.DETAIL, hunk.line)
    if hunk.removed ~= '' then
      vim.list_extend(lines, prefixed(M.DETAIL .. '-', (hunk.removed:gsub('\n$', ''))))
    end
    if hunk.added ~= '' then
      vim.list_extend(lines, prefixed(M.DETAIL .. '+', (hunk.added:gsub('\n$', ''))))
    end
  end
  return lines
end

--- What an item is about, in one line where it has one.
---@param item outrider.Item
---@return string
function M.head(item)
  return item.summary or item.title
end

--- What the edits of one step are about, in one line.
---@param items outrider.Item[]
---@return string
function M.head_of_all(items)
  return ('%d edits in one step'):format(#items)
end

--- What an item says besides its title and, for an edit, its hunks.
---@param item outrider.Item
---@return string
function M.besides(item)
  local detail = '\n' .. item.detail
  return vim.trim(detail:sub(1, (detail:find('\n--- ', 1, true) or #detail + 1) - 1))
end

--- What a yes for the session covers.
---@param item outrider.Item
---@return string
function M.covers(item)
  local grant = item.grant or ''
  if vim.startswith(grant, 'edit:') then
    return 'further edits of this file'
  end
  return vim.startswith(grant, 'run:') and 'this exact command in this folder' or 'the same again'
end

--- What was decided about single hunks.
---@param review outrider.ReviewedHunk[]?
---@return string
function M.reviewed(review)
  local rejected, amended = 0, 0
  for _, one in ipairs(review or {}) do
    rejected = rejected + (one.decision == 'reject' and 1 or 0)
    amended = amended + (one.text and 1 or 0)
  end
  local parts = {}
  if rejected > 0 then
    parts[1] = ('%d hunk%s rejected'):format(rejected, rejected > 1 and 's' or '')
  end
  if amended > 0 then
    parts[#parts + 1] = ('%d amended'):format(amended)
  end
  return #parts > 0 and (' (%s)'):format(table.concat(parts, ', ')) or ''
end

--- The lines of one of several edits that are asked about at once.
---@param item outrider.Item
---@return string[]
function M.part(item)
  local besides = M.besides(item)
  local lines = besides ~= '' and prefixed('    ', besides) or {}
  table.insert(lines, 1, '  • ' .. M.short(M.head(item), 400))
  return lines
end

--- The lines below several edits, with the keys that answer all of them.
---@param count integer
---@param keys table<string, string|false>
---@return string[]
function M.keys_of_all(count, keys)
  local parts = {}
  local function add(name, what)
    if keys[name] and keys[name] ~= '' then
      parts[#parts + 1] = keys[name] .. ' ' .. what
    end
  end
  add('allow', ('allow all %d'):format(count))
  add('reject', 'reject all')
  add('note', 'reject all with a note')
  add('diff', 'diffs')
  if #parts == 0 then
    return { '  :Outrider answer' }
  end
  return {
    '  ' .. table.concat(parts, ' · '),
    '  On the line of an edit these keys answer it alone.',
  }
end

--- What options mean, which the detail says in lines `OPTION: what it means`, and what else it says.
---@param options string[]
---@param detail string
---@return table<string, string> meanings
---@return string rest
function M.meanings(options, detail)
  local meanings, rest, current = {}, {}, nil
  for _, line in ipairs(vim.split(detail, '\n', { plain = true })) do
    local begun = vim.iter(options):find(function(option)
      return not meanings[option] and vim.startswith(line, option .. ': ')
    end)
    if begun then
      current, meanings[begun] = begun, line:sub(#begun + 3)
    elseif current then
      meanings[current] = meanings[current] .. '\n' .. line
    else
      rest[#rest + 1] = line
    end
  end
  return meanings, table.concat(rest, '\n')
end

--- The lines of an open item, with the keys that answer it.
---@param item outrider.Item
---@param keys table<string, string|false>
---@return string[]
function M.item(item, keys)
  local lines = vim.split(M.head(item), '\n', { plain = true })
  lines[1] = '? ' .. lines[1]
  local besides = M.besides(item)
  local meanings = {}
  if item.kind == 'question' then
    meanings, besides = M.meanings(item.options, besides)
  end
  if besides ~= '' then
    vim.list_extend(lines, prefixed('  ', besides))
  end
  local parts = {}
  local function add(name, what)
    if keys[name] and keys[name] ~= '' then
      parts[#parts + 1] = keys[name] .. ' ' .. what
    end
  end
  if item.kind == 'approval' then
    add('allow', 'allow once')
    if vim.list_contains(item.options, 'Allow for this session') then
      add('session', 'allow for this session')
    end
    add('reject', 'reject')
    add('note', 'reject with a note')
    add('diff', 'diff')
  else
    for _, option in ipairs(item.options) do
      lines[#lines + 1] = '  • ' .. M.short(option, 200)
      if meanings[option] then
        vim.list_extend(lines, prefixed('    ', meanings[option]))
      end
    end
    add('answer', 'answer')
  end
  lines[#lines + 1] = '  ' .. (#parts > 0 and table.concat(parts, ' · ') or ':Outrider answer')
  return lines
end

local PLAN = { done = '☑', in_progress = '▶', pending = '☐' }

--- The plan.
---@param items outrider.PlanItem[]
---@return string[]
function M.plan(items)
  local lines = { 'Plan' }
  for _, item in ipairs(items) do
    lines[#lines + 1] = ('  %s %s'):format(PLAN[item.status or 'pending'] or '☐', M.short(item.text, 400))
  end
  return lines
end

--- A number of tokens.
---@param count integer
---@return string
function M.tokens(count)
  return count < 1000 and tostring(count) or ('%.1fk'):format(count / 1000)
end

--- What was used.
---@param usage { inputTokens: integer, outputTokens: integer, cost: number?, estimated: boolean? }
---@return string
function M.usage(usage)
  local about = usage.estimated and '~' or ''
  local text = ('%s%s + %s tokens'):format(about, M.tokens(usage.inputTokens), M.tokens(usage.outputTokens))
  return usage.cost and ('%s · cost %.4f'):format(text, usage.cost) or text
end

--- What the user can do about the end of a turn, by its reason.
local HINTS = {
  auth = 'The provider does not take the key: set another one in the environment of Neovim.',
  connection = "Look at the network, and at the provider's baseUrl; then give the task again.",
  timeout = 'Give the task again, or take another model (`:Outrider model`).',
  stalled = 'Give the task again, or take another model (`:Outrider model`).',
  rate_limit = 'The provider wants you to wait; then give the task again.',
  overloaded = 'The provider has too much to do: wait, or take another model (`:Outrider model`).',
  quota = 'The account at the provider is used up.',
  unknown_model = 'The provider does not know this model: take another one (`:Outrider model`).',
  model_unavailable = '`:Outrider setup` leads to a model; `:checkhealth outrider` says what is missing.',
}

--- How the end of a turn is marked: as good only what is shown to be done.
---@param data outrider.TurnFinished
---@return 'good'|'open'|'check_failed'|'stopped'|'bad'
function M.mark(data)
  if data.outcome ~= 'completed' then
    return data.outcome == 'cancelled' and 'stopped' or 'bad'
  end
  local done = data.done
  -- Logs of older versions say it as the reason.
  local state = done and done.state or data.reason
  if state == 'check_failed' then
    return 'check_failed'
  end
  local is_checked = state == 'checked'
  for _, check in ipairs(done and done.checks or {}) do
    is_checked = is_checked and (check.ok or check.stale == true)
  end
  local is_left = done
    and (#(done.openItems or {}) > 0 or done.diagnostics ~= nil and done.diagnostics.introduced > 0)
  -- Where nothing was changed, a line says what was not done.
  local is_idle = state == 'no_changes' and (not done or done.line == '')
  return not is_left and (is_checked or is_idle) and 'good' or 'open'
end

M.MARKS = { good = '✓', open = '•', check_failed = '✗', stopped = '■', bad = '✗' }
--- So many places of what failed are shown.
local MOST_FAILURES = 10

--- The end of a turn.
---@param data outrider.TurnFinished
---@param failures table<string, outrider.CheckFailure[]>? what commands said is wrong when they ran last
---@return string[]
function M.finished(data, failures)
  local mark = M.mark(data)
  local outcome = mark == 'check_failed' and 'check failed' or data.outcome:gsub('_', ' ')
  local said = data.done and data.done.line ~= '' and data.done.line or data.reason:gsub('_', ' ')
  local lines = {
    ('%s %s (%s) · %s'):format(
      M.MARKS[mark],
      outcome,
      said:gsub('^check failed: ', ''),
      M.usage(data.usage)
    ),
    HINTS[data.reason],
  }
  local count = 0
  for _, command in ipairs(M.failed(data) or {}) do
    for _, one in ipairs((failures or {})[command] or {}) do
      count = count + 1
      if count <= MOST_FAILURES then
        lines[#lines + 1] = ('  %s:%d: %s'):format(one.path, one.line, M.short(one.message, 200))
      end
    end
  end
  if count > MOST_FAILURES then
    lines[#lines + 1] = ('  and %d more'):format(count - MOST_FAILURES)
  end
  if mark == 'check_failed' then
    lines[#lines + 1] = '  `:Outrider continue` lets the model correct what failed'
  end
  return lines
end

--- The commands of the checks that a turn ended with as failed; nothing where it ended otherwise.
---@param data outrider.TurnFinished
---@return string[]?
function M.failed(data)
  if M.mark(data) ~= 'check_failed' then
    return nil
  end
  local failed = {}
  for _, check in ipairs(data.done and data.done.checks or {}) do
    if not check.ok and not check.stale then
      failed[#failed + 1] = check.command
    end
  end
  return failed
end

--- The task that goes on after a check that failed.
---@param commands string[]
---@return string
function M.mending(commands)
  local named = vim.tbl_map(function(command)
    return '`' .. command .. '`'
  end, commands)
  return ('%s failed. Correct what is wrong, so that it passes.'):format(
    #named > 0 and table.concat(named, ', ') or 'A check'
  )
end

--- A question that the user was not asked; nothing where it was asked, or the call is another one.
---@param data outrider.ToolFinished
---@return string?
function M.not_asked(data)
  if data.recalled then
    return ('› %s: answered as before: %s'):format(
      M.short(data.recalled.question, 400),
      M.short(data.recalled.answer, 400)
    )
  end
  if data.name == 'ask_user' and data.status == 'error' and vim.startswith(data.content, 'Not asked: ') then
    return '› not asked: the limit of questions is reached'
  end
end

--- A rule as a user reads it.
---@param rule outrider.RulePattern
---@return string
function M.rule(rule)
  if not rule.command then
    return vim.trim(('%s %s'):format(rule.tool, rule.path or rule.host or ''))
  end
  local more = rule.exact and '' or ' …'
  local script = rule.script and rule.script ~= 'any' and ', its script as it is now' or ''
  return ('%s “%s%s”%s'):format(rule.tool, rule.command, more, script)
end

return M
