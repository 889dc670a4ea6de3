-- The configuration for `vim.lsp.enable('outrider')`. Without `filetypes` it goes for every file of a project.
return require('outrider.lifecycle').lsp_config()
