// Formats the plugin's Lua with StyLua as `stylua.toml` says; with --check it only names what is not formatted.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CallParenType, Config, IndentType, OutputVerification, QuoteStyle, formatCode } from '@johnnymorganz/stylua'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const set = Object.fromEntries(
  readFileSync(join(root, 'stylua.toml'), 'utf8')
    .split('\n')
    .filter((line) => line.includes('='))
    .map((line) => line.split('=').map((part) => part.trim().replaceAll('"', ''))),
)

function config() {
  const made = Config.new()
  made.column_width = Number(set.column_width)
  made.indent_width = Number(set.indent_width)
  made.indent_type = IndentType[set.indent_type]
  made.quote_style = QuoteStyle[set.quote_style]
  made.call_parentheses = CallParenType[set.call_parentheses]
  return made
}

const files = ['lsp', 'lua', 'plugin']
  .flatMap((folder) => readdirSync(join(root, folder), { recursive: true }).map((name) => join(root, folder, name)))
  .filter((name) => name.endsWith('.lua'))
let different = 0
for (const file of files.sort()) {
  const before = readFileSync(file, 'utf8')
  const after = formatCode(before, config(), undefined, OutputVerification.None)
  if (after !== before) {
    different += 1
    if (process.argv.includes('--check')) console.log(`${relative(root, file)} is not formatted`)
    else writeFileSync(file, after)
  }
}
process.exitCode = different && process.argv.includes('--check') ? 1 : 0
