std = 'luajit'
read_globals = { 'vim' }
globals = { 'vim.bo', 'vim.wo', 'vim.b', 'vim.w', 'vim.g', 'vim.o' }
max_line_length = 120
exclude_files = { 'lua/outrider/types.lua' }
