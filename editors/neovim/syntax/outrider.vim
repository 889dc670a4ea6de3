" The session buffer. Every kind of line begins with a sign of its own, so one look at a line's start is enough.
if exists('b:current_syntax')
  finish
endif
syntax sync minlines=1 maxlines=1
setlocal synmaxcol=400

syntax match outriderTask '^# .*'
syntax match outriderThought '^│.*'
syntax match outriderDetail '^┊.*' contains=outriderAdded,outriderRemoved,outriderPlace
syntax match outriderAdded '\%(^┊ \)\@<=+.*' contained
syntax match outriderRemoved '\%(^┊ \)\@<=-.*' contained
syntax match outriderPlace '\%(^┊ \)\@<=@@.*' contained
syntax match outriderDone '^✓.*'
syntax match outriderFailed '^[✗⊘].*'
syntax match outriderRunning '^[▶○].*'
syntax match outriderAsk '^? .*'
syntax match outriderNote '^[·›].*'
syntax match outriderEnd '^■.*'
syntax match outriderOpen '^• .*'

highlight default link outriderTask Title
highlight default link outriderThought Comment
highlight default link outriderDetail NonText
highlight default link outriderAdded Added
highlight default link outriderRemoved Removed
highlight default link outriderPlace Special
highlight default link outriderDone String
highlight default link outriderFailed ErrorMsg
highlight default link outriderRunning Identifier
highlight default link outriderAsk Question
highlight default link outriderNote Comment
highlight default link outriderEnd Title
highlight default link outriderOpen Comment

let b:current_syntax = 'outrider'
