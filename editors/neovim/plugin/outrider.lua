-- What is there from the start: the command and the <Plug> maps. The rest is loaded when it is used.
if vim.g.loaded_outrider then
  -- Loaded again: a server that runs is taken over, and what it asks is asked again.
  require('outrider')
  return
end
vim.g.loaded_outrider = true

if vim.fn.has('nvim-0.10') == 0 then
  vim.notify('Outrider needs Neovim 0.10 or newer.', vim.log.levels.ERROR)
  return
end

vim.api.nvim_create_user_command('Outrider', function(given)
  require('outrider.commands').command(given)
end, {
  nargs = '*',
  range = true,
  bang = true,
  desc = 'Outrider: give tasks, answer, cancel, undo (see :help outrider-commands)',
  complete = function(lead, line)
    return require('outrider.commands').complete(lead, line)
  end,
})

for _, name in ipairs({
  'run',
  'fix',
  'explain',
  'explore',
  'plan',
  'start',
  'compose',
  'edit',
  'continue',
  'steer',
  'answer',
  'allow',
  'reject',
  'cancel',
  'retry',
  'undo',
  'redo',
  'changes',
  'diff',
  'hunk',
  'open',
  'sessions',
  'resume',
  'model',
  'mode',
  'permissions',
  'setup',
  'servers',
  'doctor',
  'log',
  'restart',
}) do
  vim.keymap.set('n', ('<Plug>(outrider-%s)'):format(name), ('<Cmd>Outrider %s<CR>'):format(name))
end
for _, name in ipairs({ 'accept', 'amend', 'next', 'previous', 'reason', 'reject' }) do
  vim.keymap.set('n', ('<Plug>(outrider-hunk-%s)'):format(name), ('<Cmd>Outrider hunk %s<CR>'):format(name))
end
for _, name in ipairs({ 'run', 'fix', 'explain', 'explore', 'plan' }) do
  vim.keymap.set(
    'x',
    ('<Plug>(outrider-%s)'):format(name),
    (':Outrider %s<CR>'):format(name),
    { silent = true }
  )
end
