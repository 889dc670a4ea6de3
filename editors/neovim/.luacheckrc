std = 'luajit'
globals = { 'vim' }
max_line_length = 140
self = false
exclude_files = { 'lua/outrider/types.lua', 'scripts' }
