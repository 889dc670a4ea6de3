---@meta
--- Generated from protocol/schema.json by scripts/wire_types.py: do not edit.

--- The messages of an earlier event, and those added since. So a log grows linearly.
---@class outrider.AddedMessages
---@field added string[]
---@field after integer

--- The item may be shown in a dialog, run by a client tool or be parked, after a restart too.
---
--- The first answer wins. Exactly one of `decision`, `answer` and `error`.
---@class outrider.AnswerParams
---@field answer? string
---@field decision? 'allow_once'|'allow_session'|'allow_always'|'reject'|'put_back'|'keep'
---@field error? string
---@field id string
---@field note? string
---@field review? outrider.ReviewedHunk[]
---@field scope? 'workspace'|'everywhere'
---@field together? boolean

--- The item that is answered now.
---@class outrider.AnswerResult
---@field id string

--- An effect needs a yes.
---@class outrider.ApprovalRequested
---@field always? outrider.RulePattern[]
---@field callId string
---@field changeIds? string[]
---@field detail string
---@field digest string
---@field grant? string
---@field group? string
---@field id string
---@field options string[]
---@field reviewed? boolean
---@field secrets? outrider.Secret[]
---@field summary? string
---@field title string
---@field trial? outrider.Verdict

--- An effect was allowed or rejected. A rule that forbids comes without a request.
---@class outrider.ApprovalResolved
---@field by 'person'|'rule'|'mode'
---@field callId string
---@field channel? string
---@field decision 'allow_once'|'allow_session'|'allow_always'|'reject'|'put_back'|'keep'|'choose'
---@field digest? string
---@field grant? string
---@field id string
---@field instead? string
---@field note? string
---@field review? outrider.ReviewedHunk[]
---@field rule? string
---@field rules? string[]
---@field scope? 'workspace'|'everywhere'
---@field secrets? outrider.Secret[]

--- Show an open item to the user, in the client's own way.
---@class outrider.AskParams
---@field item outrider.Open
---@field sessionId string

--- Null or any other shape is no answer.
---@class outrider.AskReply
---@field answer? string
---@field decision? 'allow_once'|'allow_session'|'allow_always'|'reject'|'put_back'|'keep'
---@field note? string
---@field review? outrider.ReviewedHunk[]
---@field scope? 'workspace'|'everywhere'

--- Permission mode `auto` allows only what `auto-edit` does here: no copy of the files can be kept, so commands ask.
---
--- Once in a session, before the first command that asks for that reason.
---@class outrider.AutoLimited
---@field reason string
---@field secrets? outrider.Secret[]

--- A budget of the turn is spent.
---@class outrider.BudgetExhausted
---@field allowed number
---@field contextWindow? integer
---@field limit string
---@field messages? string[]
---@field secrets? outrider.Secret[]
---@field used number

--- The turn may be running, parked or queued. Every process it started ends. Repeating it gives the same answer.
---@class outrider.CancelParams
---@field reason? string
---@field turnId string

--- How the turn ended; the same however often it is asked.
---@class outrider.CancelResult
---@field outcome 'completed'|'cancelled'|'budget_exhausted'|'failed'|'refused'
---@field turnId string

--- One change of one file.
---@class outrider.ChangeInfo
---@field callId? string
---@field changeId string
---@field hunks outrider.ChangedHunk[]
---@field operation 'edit'|'create'|'delete'|'rename'
---@field path string
---@field reason? string
---@field state? 'applied'|'undone'|'conflict'
---@field step integer
---@field to? string
---@field turnId? string
---@field undoable boolean

--- One hunk of a change, in whole lines.
---@class outrider.ChangedHunk
---@field added string
---@field id string
---@field line integer
---@field removed string
---@field state 'applied'|'undone'|'altered'|'conflict'

--- It only reads, so the session may run in another process.
---@class outrider.ChangesParams
---@field format? 'list'|'patch'
---@field sessionId? string
---@field turnId? string

--- The changes of a session.
---@class outrider.ChangesResult
---@field changes? outrider.ChangeInfo[]
---@field leftOut? outrider.LeftOut[]
---@field notUndoable? outrider.NotUndoable[]
---@field patch? string
---@field sessionId string

--- One check of the set-up.
---@class outrider.Check
---@field detail string
---@field name string
---@field status 'ok'|'warn'|'fail'

--- A check as a tool call.
---@class outrider.CheckCall
---@field command string
---@field id string

--- What a failed check says is wrong at a line. The words are the check's own.
---@class outrider.CheckFailure
---@field column? integer
---@field line integer
---@field message string
---@field path string
---@field severity? 'error'|'warning'

--- A check that was demanded and did not run.
---@class outrider.CheckNotRun
---@field command string
---@field reason 'refused'|'not_allowed'|'failed'|'ended'

--- A check that was run in a turn, as it went the last time.
---@class outrider.CheckRun
---@field command string
---@field exitCode? integer
---@field kind 'test'|'types'|'lint'|'build'|'other'
---@field ok boolean
---@field seconds number
---@field stale? boolean

--- A tool that the client runs: its calls go there as `outrider/tool`.
---@class outrider.ClientTool
---@field description string
---@field effect 'read'|'edit'|'execute'|'ask'
---@field inputSchema table<string, any>
---@field name string

--- An argument that a command names.
---@class outrider.CommandArgument
---@field description string
---@field name string
---@field required boolean

--- A command line whose output a custom command wants in its text. It runs, by the permissions of all commands, when the turn begins.
---@class outrider.CommandOutput
---@field at integer
---@field command string

--- Custom commands of the user and of trusted workspaces, prompts of MCP servers, and skills. A task calls one as `/name arguments`.
---@class outrider.CommandsParams

--- What there is, by name.
---@class outrider.CommandsResult
---@field commands outrider.CustomCommandInfo[]
---@field withheld? integer

--- What was left because others changed the same place since.
---@class outrider.Conflict
---@field id? string
---@field line integer
---@field path string
---@field reason string

--- What a command wanted of a host through the proxy of `sandbox.network`.
---@class outrider.Connection
---@field host string
---@field port integer
---@field problem? string
---@field received integer
---@field sent integer
---@field times integer

--- What the user was looking at.
---@class outrider.Context
---@field diagnostics? outrider.Diagnostics[]
---@field documents? string[]
---@field selection? outrider.Selection

--- Older messages were replaced by a summary.
---@class outrider.ContextCompacted
---@field after integer
---@field before integer
---@field by? 'model'|'house'
---@field contextWindow? integer
---@field messages? string[]
---@field reason string
---@field secrets? outrider.Secret[]

--- Older tool output was replaced or cut.
---@class outrider.ContextPruned
---@field after? integer
---@field before? integer
---@field callIds string[]
---@field contextWindow? integer
---@field messages? string[]
---@field reason string
---@field secrets? outrider.Secret[]

--- Parts of the first messages were left out, because the rest alone does not fit.
---@class outrider.ContextTrimmed
---@field after integer
---@field before integer
---@field contextWindow integer
---@field given string[]
---@field messages string[]
---@field parts outrider.TrimmedPart[]
---@field reason string
---@field secrets? outrider.Secret[]

--- A new turn goes on where the latest one of the session stopped, with new limits.
---
--- That one spent its budget, failed, was refused or was cancelled; else it fails with `nothing_to_continue`. The task is not
--- repeated.
---@class outrider.ContinueParams
---@field limits? outrider.LimitsPatch
---@field model? string
---@field sessionId string
---@field thinking? 'off'|'low'|'medium'|'high'|'max'|integer

--- The session went back to before a message: the model forgets some turns. Their events stay, and so do their changes.
---@class outrider.ConversationRestored
---@field messages string[]
---@field plan outrider.PlanItem[]
---@field secrets? outrider.Secret[]
---@field turns string[]

--- A command that a task can call.
---@class outrider.CustomCommandInfo
---@field arguments? outrider.CommandArgument[]
---@field description string
---@field hint? string
---@field name string
---@field path? string
---@field source string

--- Removes the session's events, the texts and messages that no other session needs, and its recording, for good.
---
--- Their bytes are overwritten. What it changed in files stays. Fails with `turn_running` or `session_in_use` while a turn
--- runs; a turn that waits for an answer is cancelled first.
---@class outrider.DeleteParams
---@field sessionId string

--- The session that is gone.
---@class outrider.DeleteResult
---@field sessionId string

--- Diagnostics of one document.
---@class outrider.Diagnostics
---@field items table<string, any>[]
---@field uri string

--- Checks the workspace, the model (key, proxy, certificates, context window), the log, commands, search, the editor's abilities, and permissions.
---
--- Sends nothing to a provider without `probe`.
---@class outrider.DoctorParams
---@field probe? boolean

--- What was looked at.
---@class outrider.DoctorResult
---@field checks outrider.Check[]

--- What shows that a turn did what it was to do. Words of the model count for nothing here.
---@class outrider.Done
---@field changed? string[]
---@field checks? outrider.CheckRun[]
---@field diagnostics? outrider.DoneDiagnostics
---@field line string
---@field notRun? outrider.CheckNotRun[]
---@field openItems? string[]
---@field state 'no_changes'|'unverified'|'checked'|'check_failed'

--- What the edits of a turn did to the errors that language servers find.
---@class outrider.DoneDiagnostics
---@field fixed integer
---@field introduced integer

--- A change is in place, verified by its text.
---@class outrider.EditApplied
---@field after? string
---@field before? string
---@field callId? string
---@field changeId string
---@field encoding? 'utf-16-le'|'utf-16-be'
---@field folder? string
---@field folders? outrider.GoingFolder[]
---@field hidden? ('bom'|'crlf')[]
---@field hunks outrider.WireHunk[]
---@field keptMode? string
---@field madeFolder? string
---@field mode? string
---@field operation? 'edit'|'create'|'delete'|'rename'
---@field path string
---@field secrets? outrider.Secret[]
---@field stays? string
---@field to? string
---@field undoes? string
---@field undoesHunks? integer[]
---@field where 'buffer'|'disk'

--- A change is about to be written.
---
--- This is on disk before the change is. An undo may begin edits of several files before the first has ended.
---@class outrider.EditApplying
---@field after? string
---@field before? string
---@field besides? string[]
---@field callId? string
---@field changeId string
---@field encoding? 'utf-16-le'|'utf-16-be'
---@field folder? string
---@field folders? outrider.GoingFolder[]
---@field hidden? ('bom'|'crlf')[]
---@field hunks outrider.WireHunk[]
---@field keptMode? string
---@field mode? string
---@field operation? 'edit'|'create'|'delete'|'rename'
---@field path string
---@field place? string
---@field secrets? outrider.Secret[]
---@field to? string
---@field toPlace? string
---@field undoes? string
---@field undoesHunks? integer[]

--- It is in place together with what others wrote meanwhile; `after` is the text now.
---
--- If the file was deleted or renamed, their text may be left unsaved in its document.
---@class outrider.EditMerged
---@field after? string
---@field before? string
---@field callId? string
---@field changeId string
---@field encoding? 'utf-16-le'|'utf-16-be'
---@field folder? string
---@field folders? outrider.GoingFolder[]
---@field hidden? ('bom'|'crlf')[]
---@field hunks outrider.WireHunk[]
---@field keptMode? string
---@field mode? string
---@field operation? 'edit'|'create'|'delete'|'rename'
---@field path string
---@field secrets? outrider.Secret[]
---@field to? string
---@field undoes? string
---@field undoesHunks? integer[]

--- A change was worked out; nothing has happened yet.
---@class outrider.EditProposed
---@field after? string
---@field before? string
---@field callId? string
---@field changeId string
---@field encoding? 'utf-16-le'|'utf-16-be'
---@field folder? string
---@field folders? outrider.GoingFolder[]
---@field hidden? ('bom'|'crlf')[]
---@field hunks outrider.WireHunk[]
---@field keptMode? string
---@field mode? string
---@field operation? 'edit'|'create'|'delete'|'rename'
---@field path string
---@field secrets? outrider.Secret[]
---@field to? string

--- A change did not happen.
---@class outrider.EditRejected
---@field callId? string
---@field changeId string
---@field encoding? 'utf-16-le'|'utf-16-be'
---@field folder? string
---@field folders? outrider.GoingFolder[]
---@field hidden? ('bom'|'crlf')[]
---@field hunks outrider.WireHunk[]
---@field keptMode? string
---@field mode? string
---@field operation? 'edit'|'create'|'delete'|'rename'
---@field path string
---@field reason string
---@field secrets? outrider.Secret[]
---@field to? string

--- Something went wrong that the user should know.
---@class outrider.ErrorRaised
---@field code string
---@field message string
---@field secrets? outrider.Secret[]

--- `outrider/event`: one committed event of a session's log.
---@class outrider.Event
---@field data table<string, any>
---@field seq integer
---@field sessionId string
---@field ts string
---@field turnId? string
---@field type string
---@field v? 1

--- Works for any client, with or without notifications.
---
--- The answer is written before any later event: read from 1 until `more` is false, then take the notifications from
--- `nextSeq` on, and nothing is missed or repeated.
---@class outrider.EventsParams
---@field fromSeq? integer
---@field limit? integer
---@field sessionId string

--- Events in order. `more`: there are further ones from `nextSeq` on.
---@class outrider.EventsResult
---@field events outrider.Event[]
---@field more boolean
---@field nextSeq integer

--- The mode of its turn is `explore`.
---@class outrider.ExploreParams
---@field context? outrider.Context
---@field continue? boolean
---@field fork? outrider.ForkFrom
---@field limits? outrider.LimitsPatch
---@field model? string
---@field prompt string
---@field sessionId? string
---@field thinking? 'off'|'low'|'medium'|'high'|'max'|integer

--- One session as one file, to share, replay or play again.
---@class outrider.Export
---@field contents table<string, string>
---@field events outrider.Event[]
---@field format? 'outrider-export'
---@field program string
---@field removed? table<string, integer>
---@field sessionId string
---@field version? 1

--- Works for any session of the log, whoever runs it, and changes nothing.
---
--- Secrets, names and places of the machine are removed.
---@class outrider.ExportParams
---@field sessionId string

--- An attempt that failed.
---@class outrider.FailedAttempt
---@field model string
---@field reason string

--- The trust of a folder.
---@class outrider.FolderTrust
---@field added? string
---@field below? boolean
---@field path string
---@field trust 'trusted'|'read-only'|'unknown'

--- Where a session branches off.
---@class outrider.ForkFrom
---@field files? boolean
---@field sessionId string
---@field turnId? string

--- The new session. Its log has the events of the other one up to that turn, then `session.forked`.
---@class outrider.ForkResult
---@field fromSessionId string
---@field sessionId string
---@field turnId string
---@field undo? outrider.UndoResult

--- Text as it arrives.
---
--- Frames are not logged. Those of one `messageId` and `kind`, joined since the last `model.reset`, equal the text in
--- the log.
---@class outrider.Frame
---@field callId? string
---@field kind 'text'|'reasoning'|'output'
---@field messageId? string
---@field offset integer
---@field sessionId string
---@field text string
---@field turnId string

--- A folder that is deleted with its last file.
---@class outrider.GoingFolder
---@field mode string
---@field path string

--- A hook that runs.
---@class outrider.HookCall
---@field command string
---@field hook string
---@field id string
---@field refuses? boolean
---@field seconds? number

--- They came to their end.
---@class outrider.HookFinished
---@field arguments? string
---@field asks? string
---@field callId? string
---@field on 'sessionStart'|'turnStart'|'beforeTool'|'afterTool'|'turnEnd'|'sessionEnd'
---@field refused? string
---@field secrets? outrider.Secret[]
---@field told? string

--- A command that runs at a point of a session. It gets JSON on its standard input, and may answer with a line of JSON.
---
--- `{"decision": "refuse" | "ask", "reason", "arguments", "text"}`: refuse the call or the task, have you asked about it, change its
--- arguments, tell the model something. Exit code 2 refuses, too. No answer allows anything. A refusal at `turnEnd` has the model go on
--- with the reason, three times in a turn at most; `again` in the JSON says that it did.
---@class outrider.HookSettings
---@field command string
---@field on 'sessionStart'|'turnStart'|'beforeTool'|'afterTool'|'turnEnd'|'sessionEnd'
---@field onFailure? 'ignore'|'refuse'
---@field tools? string[]

--- Hooks run, as commands.
---@class outrider.HookStarted
---@field callId? string
---@field calls outrider.HookCall[]
---@field on 'sessionStart'|'turnStart'|'beforeTool'|'afterTool'|'turnEnd'|'sessionEnd'
---@field secrets? outrider.Secret[]

--- Takes an exported session into this workspace, under a new id, to read it and to go on with it.
---
--- Nothing that it says counts as permission, its changes cannot be undone here, and its turns have ended.
---@class outrider.ImportParams
---@field export outrider.Export

--- The new session.
---@class outrider.ImportResult
---@field sessionId string
---@field title string
---@field turns integer

--- A value that an MCP server wants of the user.
---@class outrider.InputField
---@field description? string
---@field kind 'text'|'integer'|'number'|'boolean'|'choice'|'choices'
---@field name string
---@field options? string[]
---@field required boolean
---@field title string
---@field titles? string[]

--- An MCP server wants something of the user in the middle of a call. Questions follow.
---@class outrider.InputWanted
---@field callId string
---@field keys string[]
---@field questions string[]
---@field secrets? outrider.Secret[]
---@field server string
---@field state? string

--- A folder that the model reached has instructions of its own.
---@class outrider.InstructionsFound
---@field path string
---@field secrets? outrider.Secret[]
---@field told string

--- The custom command that a task calls by its first word, and what it says.
---@class outrider.Invoked
---@field name string
---@field outputs? outrider.CommandOutput[]
---@field path? string
---@field source string
---@field text string

--- No process of a job is left. Between turns it belongs to none.
---@class outrider.JobFinished
---@field connections? outrider.Connection[]
---@field exitCode? integer
---@field jobId string
---@field output? string
---@field seconds? number
---@field secrets? outrider.Secret[]
---@field signal? integer
---@field status 'exited'|'killed_timeout'|'killed_idle'|'killed_full'|'lost'|'killed'|'cancelled'|'closed'|'interrupted'
---@field told? string

--- A background job of this process.
---@class outrider.JobInfo
---@field command string
---@field cwd string
---@field exitCode? integer
---@field jobId string
---@field sandboxed boolean
---@field seconds number
---@field sessionId string
---@field signal? integer
---@field status 'exited'|'killed_timeout'|'killed_idle'|'killed_full'|'lost'|'killed'|'cancelled'|'closed'|'interrupted'|'running'
---@field turnId string

--- A command runs in the background.
---@class outrider.JobStarted
---@field callId? string
---@field command string
---@field cwd string
---@field jobId string
---@field sandboxed boolean
---@field secrets? outrider.Secret[]

--- Covers open sessions, recently ended jobs included.
---
--- An unknown job fails with `unknown_id`. Cancelling a `wait` leaves the job alone.
---@class outrider.JobsParams
---@field action? 'list'|'read'|'wait'|'kill'
---@field id? string
---@field sessionId? string
---@field timeout? number

--- The jobs as they are now, the oldest first; with an id, that one.
---@class outrider.JobsResult
---@field jobs outrider.JobInfo[]
---@field output? string

--- An entry of the system's keyring.
---@class outrider.KeyringEntry
---@field service? string
---@field username string

--- Ask the editor's own language servers. Nothing is applied, shown or saved.
---@class outrider.LanguageParams
---@field encoding 'utf-8'|'utf-16'|'utf-32'
---@field method 'textDocument/diagnostic'|'workspace/diagnostic'|'textDocument/definition'|'textDocument/references'|'textDocument/documentSymbol'|'workspace/symbol'|'textDocument/hover'|'textDocument/prepareCallHierarchy'|'callHierarchy/incomingCalls'|'callHierarchy/outgoingCalls'|'textDocument/rename'|'textDocument/codeAction'|'codeAction/resolve'|'textDocument/formatting'|'textDocument/rangeFormatting'
---@field params table<string, any>
---@field uris string[]

--- An error or any other shape is no answer.
---@class outrider.LanguageReply
---@field by? string[]
---@field encoding? 'utf-8'|'utf-16'|'utf-32'
---@field result? any
---@field unserved? string
---@field versions? table<string, integer>

--- A language server that you add, or what you change about a known one.
---@class outrider.LanguageServerSettings
---@field command? string[]
---@field enabled? boolean
---@field languages? string[]
---@field rootMarkers? string[]
---@field settings? table<string, any>

--- How fast an answer came.
---@class outrider.Latency
---@field firstTokenMs number
---@field tokensPerSecond? number

--- Ends what `outrider.resume` of a session in another process began; that one runs on.
---@class outrider.LeaveParams
---@field sessionId string

--- The session that is no longer watched.
---@class outrider.LeaveResult
---@field sessionId string

--- A session of another process is watched no longer: it was released there, or that process ended.
---
--- It comes after the last event of that process.
---@class outrider.Left
---@field sessionId string
---@field unfinished boolean

--- A file that was changed and is not in the patch.
---@class outrider.LeftOut
---@field path string
---@field reason string

--- Budgets of one turn and time-outs. A spent budget ends the turn as `budget_exhausted` with a summary.
---@class outrider.Limits
---@field askSeconds? number
---@field commandIdleSeconds? number
---@field commandSeconds? number
---@field cost? number
---@field jobIdleSeconds? number
---@field jobSeconds? number
---@field outputBytes? integer
---@field seconds? number
---@field steps? integer
---@field tokens? integer

--- Some of the limits: what a layer of settings or a single run changes. Field by field as in `Limits`.
---@class outrider.LimitsPatch
---@field askSeconds? number
---@field commandIdleSeconds? number
---@field commandSeconds? number
---@field cost? number
---@field jobIdleSeconds? number
---@field jobSeconds? number
---@field outputBytes? integer
---@field seconds? number
---@field steps? integer
---@field tokens? integer

--- A map of the workspace's names was ready for a turn.
---@class outrider.MapDrawn
---@field secrets? outrider.Secret[]
---@field told string

--- Works whether or not turns get a map. The first call waits until all files are read.
---@class outrider.MapParams
---@field files? string[]
---@field prompt? string
---@field tokens? integer

--- The repository map for that, whether or not turns get one.
---@class outrider.MapResult
---@field files integer
---@field text string

--- There is no answer.
---@class outrider.ModelFailed
---@field kind string
---@field message string
---@field messageId string
---@field purpose string
---@field secrets? outrider.Secret[]
---@field usage? outrider.Usage

--- The request goes to another model, which keeps the rest of the turn.
---@class outrider.ModelFellBack
---@field from string
---@field messageId string
---@field reason string
---@field secrets? outrider.Secret[]
---@field to string
---@field usage? outrider.Usage

--- A model that a task can name.
---@class outrider.ModelInfo
---@field contextWindow integer
---@field model string
---@field named boolean
---@field price? outrider.Price
---@field tier? 'small'|'mid'|'frontier'

--- How fast a model was: the mean of its first five answers in the session; each later answer counts a fifth.
---@class outrider.ModelLatency
---@field firstTokenMs number
---@field model string
---@field requests integer
---@field tokensPerSecond? number

--- A model cannot do something that the settings ask for. Once per turn for each.
---@class outrider.ModelLimited
---@field message string
---@field messageId string
---@field model string
---@field secrets? outrider.Secret[]

--- A request is about to go to the model.
---@class outrider.ModelRequested
---@field contextWindow? integer
---@field editFormat? string
---@field maxTokens? integer
---@field messageId string
---@field messages string[]|outrider.AddedMessages
---@field model string
---@field purpose string
---@field secrets? outrider.Secret[]
---@field steering? string[]
---@field temperature? number
---@field toolFormat? string
---@field tools string[]
---@field toolsHash string

--- Text that was shown is withdrawn; drop it. Frames of the same `messageId` may follow.
---@class outrider.ModelReset
---@field messageId string
---@field reason string
---@field secrets? outrider.Secret[]
---@field text string

--- The model answered.
---@class outrider.ModelResponded
---@field finishReason string
---@field latency? outrider.Latency
---@field messageId string
---@field providerData? outrider.WireProviderData
---@field purpose? string
---@field reasoning? string
---@field searches? outrider.WebSearch[]
---@field secrets? outrider.Secret[]
---@field text string
---@field toolCalls outrider.WireToolCall[]
---@field usage? outrider.Usage

--- A request is made again.
---@class outrider.ModelRetried
---@field attempt integer
---@field attempts? integer
---@field message? string
---@field messageId string
---@field model string
---@field reason string
---@field secrets? outrider.Secret[]
---@field usage? outrider.Usage
---@field wait? number

--- A model was chosen for the next request.
---@class outrider.ModelRouted
---@field by 'order'|'score'
---@field candidates outrider.RouteCandidate[]
---@field contextWindow integer
---@field model string
---@field others? string[]
---@field purpose string
---@field reason 'first_step'|'after_reasoning'|'step'|'side_task'
---@field secrets? outrider.Secret[]
---@field tier? 'small'|'mid'|'frontier'
---@field tokens integer
---@field wanted 'small'|'mid'|'frontier'

--- What you know of a model.
---@class outrider.ModelSettings
---@field contextWindow? integer
---@field editFormat? 'replace'|'patch'|'whole'
---@field maxTokens? integer
---@field price? outrider.Price
---@field reasoning? boolean
---@field thinking? 'off'|'low'|'medium'|'high'|'max'|integer
---@field toolFormat? 'native'|'hermes'|'qwen3-coder-xml'|'llama3-json'|'pythonic'|'llama4-pythonic'|'mistral'|'deepseek'|'glm-xml'|'kimi'|'granite'|'harmony'|'minimax-xml'|'gemma'|'lfm2'|'json-array'|'bare-json'|'react'|'react-json'|'bracket'|'outrider'
---@field toolStrength? 'weak'|'medium'|'strong'
---@field vision? boolean
---@field webSearch? boolean

--- The model gets and writes tool calls as text from now on, and the request is made again.
---@class outrider.ModelSwitched
---@field messageId string
---@field model string
---@field reason string
---@field secrets? outrider.Secret[]
---@field toolFormat string

--- Configured providers are asked for their lists, for five seconds at most. It has no params.
---@class outrider.ModelsParams

--- The models, those that the settings name first.
---@class outrider.ModelsResult
---@field model? string
---@field models outrider.ModelInfo[]
---@field problems string[]

--- A rule to save. If it already exists, the new `expires` holds.
---@class outrider.NewRule
---@field command? string
---@field decision 'allow'|'ask'|'deny'
---@field exact? boolean
---@field expires? string
---@field host? string
---@field path? string
---@field scope? 'workspace'|'everywhere'
---@field script? string
---@field tool string

--- A document that the client did not save.
---@class outrider.NotSaved
---@field path string
---@field reason string

--- What cannot be undone.
---@class outrider.NotUndoable
---@field reason string
---@field what string

--- Something that waits for the user or for a client tool.
---@class outrider.Open
---@field allowFreeForm? boolean
---@field always? outrider.RulePattern[]
---@field callId? string
---@field detail? string
---@field documentUri? string
---@field fields? outrider.InputField[]
---@field group? string
---@field id string
---@field kind 'approval'|'question'|'tool'
---@field options? string[]
---@field summary? string
---@field title string
---@field turnId string
---@field url? string

--- The documents are in `.outrider/` of the first workspace folder, which git ignores.
---
--- They are the task document, an open item in full (an edit is reviewed in it), one to write an answer in, the changes of a
--- turn, of which some can be left out, or the one in which a model is set up.
---@class outrider.OpenParams
---@field id? string
---@field what? 'task'|'review'|'answer'|'changes'|'setup'

--- The document.
---@class outrider.OpenResult
---@field uri string

--- A steering text that the model has not seen yet.
---@class outrider.PendingSteering
---@field pendingId string
---@field text string

--- Covers the user's rules, those of the workspace's `.outrider/rules.toml`, and grants of open sessions.
---
--- A rule that allows nearly anything (`bash`, `git` without a sub-command, edits without a path), or that names a
--- tool nobody has, fails with `invalid`. While the user's file is damaged every change fails with `cannot_write`.
---@class outrider.PermissionsParams
---@field action? 'list'|'add'|'remove'|'open'
---@field id? string
---@field rule? outrider.NewRule

--- The rules as they are now, the user's first.
---@class outrider.PermissionsResult
---@field path string
---@field problem? string
---@field rules outrider.RuleInfo[]

--- One point of the plan.
---@class outrider.PlanItem
---@field status? 'pending'|'in_progress'|'done'
---@field text string

--- Its steps stand under `## Steps`, its checks under `## Checks`. What is open in an editor counts, saved or not.
---
--- The steps become the plan of the turn, the checks its `acceptance`. It runs in the session that planned it, if that is open here
--- and idle, else in a new one. A document that is missing or says no step fails with `invalid`.
---@class outrider.PlanParams
---@field acceptance? string[]
---@field limits? outrider.LimitsPatch
---@field model? string
---@field sessionId? string
---@field thinking? 'off'|'low'|'medium'|'high'|'max'|integer
---@field uri string

--- The plan is now this.
---@class outrider.PlanUpdated
---@field items outrider.PlanItem[]
---@field secrets? outrider.Secret[]

--- A planning turn wrote its document. The user may have changed it since; `outrider.plan` starts what it says then.
---@class outrider.PlanWritten
---@field brief string[]
---@field checks string[]
---@field files string[]
---@field goal string
---@field path string
---@field secrets? outrider.Secret[]
---@field steps string[]

--- A place in a document, from 0, in the negotiated encoding.
---@class outrider.Position
---@field character integer
---@field line integer

--- What a million tokens cost, in one currency for all models.
---@class outrider.Price
---@field cached? number
---@field input number
---@field output number

--- A problem that a language server finds in a file.
---@class outrider.Problem
---@field code? string
---@field line integer
---@field message string
---@field path string
---@field severity 'error'|'warning'|'information'|'hint'
---@field source? string

--- A message of a request, as the model gets it.
---@class outrider.PromptMessage
---@field images? outrider.WireImage[]
---@field reasoning? string
---@field role 'system'|'user'|'assistant'|'tool'
---@field sections? outrider.PromptSection[]
---@field text string
---@field tokens integer
---@field toolCallId? string
---@field toolCalls? outrider.WireToolCall[]

--- As it would be sent now, before anything is left out for its length and before the provider's dialect.
---
--- For a session at rest: what a next task would find. Sends nothing.
---@class outrider.PromptParams
---@field sessionId string

--- The next request as it would be made now, before anything is left out because of its length.
---@class outrider.PromptResult
---@field contextWindow? integer
---@field counted? integer
---@field messages outrider.PromptMessage[]
---@field model? string
---@field sections outrider.PromptSection[]
---@field sessionId string
---@field tokens integer
---@field toolFormat? string
---@field tools outrider.ToolInfo[]

--- A part of a request, and about how many tokens it has.
---@class outrider.PromptSection
---@field kind string
---@field name? string
---@field tokens integer

--- One place that serves models.
---@class outrider.ProviderSettings
---@field apiKeyCommand? string[]
---@field apiKeyEnv? string
---@field apiKeyFile? string
---@field apiKeyHeader? 'authorization'|'x-api-key'|'api-key'|'x-goog-api-key'
---@field apiKeyKeyring? outrider.KeyringEntry
---@field baseUrl string
---@field caFile? string
---@field cacheMarks? boolean
---@field connectSeconds? number
---@field contextWindow? integer
---@field extraBody? table<string, any>
---@field firstTokenSeconds? number
---@field headers? table<string, string>
---@field kind 'openai-chat'|'openai-responses'|'anthropic'|'ollama'|'gemini'
---@field maxTokens? integer
---@field proxy? string
---@field stallSeconds? number
---@field temperature? number

--- The user answered.
---@class outrider.QuestionAnswered
---@field answer string
---@field callId? string
---@field channel? string
---@field id string
---@field secrets? outrider.Secret[]

--- A question to the user.
---@class outrider.QuestionAsked
---@field allowFreeForm? boolean
---@field callId? string
---@field detail? string
---@field fields? outrider.InputField[]
---@field id string
---@field options? string[]
---@field question string
---@field secrets? outrider.Secret[]
---@field url? string

--- Tasks that wait got another order or other texts.
---@class outrider.QueueChanged
---@field queue outrider.QueuedRun[]
---@field secrets? outrider.Secret[]

--- Changes what waits: a task behind the running turn, or a text that the model has not got yet.
---
--- What has begun meanwhile, or is unknown, fails with `unknown_id`.
---@class outrider.QueueParams
---@field action 'edit'|'move'|'remove'|'steer'
---@field id string
---@field sessionId string
---@field text? string
---@field to? integer

--- What waits now.
---@class outrider.QueueResult
---@field queue outrider.QueuedRun[]
---@field sessionId string
---@field steering outrider.PendingSteering[]

--- A task that waits for the running turn.
---@class outrider.QueuedRun
---@field prompt string
---@field turnId string

--- A command that ran, as evidence.
---@class outrider.Ran
---@field command string
---@field connections? outrider.Connection[]
---@field exitCode? integer
---@field failures? outrider.CheckFailure[]
---@field kind 'test'|'types'|'lint'|'build'|'other'

--- A stretch of a document.
---@class outrider.Range
---@field ["end"] outrider.Position
---@field start outrider.Position

--- A text that a call read, as it was then.
---@class outrider.ReadText
---@field hash string
---@field path string

--- A question that the user was not asked, because they had answered it before.
---@class outrider.Recalled
---@field answer string
---@field question string

--- The name stays, whatever a model would call the session.
---@class outrider.RenameParams
---@field sessionId string
---@field title string

--- The session's name now.
---@class outrider.RenameResult
---@field sessionId string
---@field title string

--- A file that has a new path.
---@class outrider.RenamedFile
---@field path string
---@field place? string
---@field to string
---@field toPlace? string

--- The names that the workspace's files define, of which the model is told those that matter for what is at hand.
---@class outrider.RepositoryMapSettings
---@field enabled? boolean
---@field tokens? integer

--- Restores a session to before a message, as `outrider.restore` does, and sends another one in its place.
---
--- Context, mode, limits and checks are those of the message that is replaced, unless they are given.
---@class outrider.ResendParams
---@field context? outrider.Context
---@field files? boolean
---@field mode? 'agent'|'plan'|'explore'
---@field model? string
---@field prompt string
---@field sessionId string
---@field turnId string

--- Takes a session back to before a message, by default the files and the conversation.
---
--- Fails with `turn_running` while a turn runs. The log keeps everything: `outrider.redo` brings the files back, and a fork
--- that ends with one of the turns brings the conversation back.
---@class outrider.RestoreParams
---@field conversation? boolean
---@field files? boolean
---@field sessionId string
---@field turnId string

--- What was restored.
---@class outrider.RestoreResult
---@field prompt string
---@field sessionId string
---@field turnId string
---@field turns string[]
---@field undo? outrider.UndoResult

--- An interrupted turn continues, and open items are asked again.
---
--- The model is told what was undone or changed meanwhile. A command that was running is not run again: its result is
--- `interrupted`, `notUndoable` of `outrider.changes` names it, and the turn cannot end as `no_changes`.
---
--- A session that another process runs is joined: its events come here too, its open items are asked here as well, and the
--- first answer counts. That ends with `outrider.leave`, or when the other process releases the session.
---@class outrider.ResumeParams
---@field sessionId string

--- A turn that waits for its next attempt at a model makes it at once; else it fails with `not_waiting`.
---
--- A turn that failed, was refused or was cancelled is tried again, by a new turn that begins where it stopped: its task, its
--- steps and their results are in the conversation. Possible for the latest turn of its session.
---@class outrider.RetryParams
---@field model? string
---@field turnId string

--- What runs now.
---@class outrider.RetryResult
---@field sessionId string
---@field turnId string

--- How long a request is repeated that failed for a passing reason: overload, rate limit, a broken connection.
---@class outrider.RetrySettings
---@field attempts? integer
---@field seconds? number

--- A decision about one hunk of an edit.
---@class outrider.ReviewedHunk
---@field decision 'take'|'reject'
---@field id string
---@field reason? string
---@field text? string

--- A model that was considered.
---@class outrider.RouteCandidate
---@field leftOut? string
---@field model string
---@field price? number
---@field score? number
---@field tier? 'small'|'mid'|'frontier'

--- How one is chosen among the models of `tiers`.
---@class outrider.Routing
---@field by? 'order'|'score'
---@field toolStrength? 'weak'|'medium'|'strong'

--- A rule.
---@class outrider.RuleInfo
---@field added? string
---@field command? string
---@field decision 'allow'|'ask'|'deny'
---@field exact? boolean
---@field expires? string
---@field hits? integer
---@field host? string
---@field id string
---@field origin string
---@field path? string
---@field scope 'session'|'workspace'|'everywhere'
---@field script? string
---@field text string
---@field tool string
---@field workspace? string

--- What a rule covers.
---@class outrider.RulePattern
---@field command? string
---@field exact? boolean
---@field host? string
---@field path? string
---@field script? string
---@field tool string

--- It starts at once, or waits in the queue of a busy session. Cancelling this request does not end the turn.
---@class outrider.RunParams
---@field acceptance? string[]
---@field context? outrider.Context
---@field continue? boolean
---@field draft? string
---@field fork? outrider.ForkFrom
---@field limits? outrider.LimitsPatch
---@field mode? 'agent'|'plan'|'explore'
---@field model? string
---@field plan? outrider.PlanItem[]
---@field planDocument? string
---@field prompt string
---@field sessionId? string
---@field thinking? 'off'|'low'|'medium'|'high'|'max'|integer

--- The turn that was started, or queued behind the one that is running.
---@class outrider.RunResult
---@field queued? boolean
---@field sessionId string
---@field turnId string

--- The commands of this session run without a sandbox.
---
--- Once, before the first command that permission mode `full` allows.
---@class outrider.SandboxAbsent
---@field chosen boolean
---@field reason string
---@field secrets? outrider.Secret[]

--- What commands can reach; a string stands for `mode`.
---@class outrider.SandboxSettings
---@field mode? 'off'|'auto'|'required'
---@field network? boolean|string[]
---@field readable? string[]
---@field writable? string[]

--- A document that could not be saved.
---@class outrider.SaveFailure
---@field reason string
---@field uri string

--- Save open documents as the user would, formatters included.
---@class outrider.SaveParams
---@field uris string[]

--- It is believed only as far as `didSave` or the disk confirms it.
---@class outrider.SaveReply
---@field failed? outrider.SaveFailure[]
---@field saved string[]

--- A secret that is replaced by a placeholder.
---@class outrider.Secret
---@field kind string
---@field mark string
---@field name string

--- A selected range.
---@class outrider.Selection
---@field range outrider.Range
---@field uri string

--- A server that Outrider is a client of.
---@class outrider.ServerInfo
---@field detail? string
---@field folder? string
---@field kind 'language'|'mcp'
---@field loginUrl? string
---@field memory? integer
---@field name string
---@field origin? string
---@field protocol? string
---@field runs? string
---@field state 'missing'|'lent'|'available'|'starting'|'running'|'ended'|'failed'|'login'|'waiting'|'refused'
---@field tools? string[]
---@field version? string

--- Language servers and MCP servers. `login` shows the page where you log in to an MCP server; `logout` forgets its token.
---@class outrider.ServersParams
---@field action? 'list'|'restart'|'login'|'logout'
---@field name? string

--- The servers as they are now.
---@class outrider.ServersResult
---@field problems? string[]
---@field servers outrider.ServerInfo[]

--- The process released the session; it can be resumed.
---@class outrider.SessionClosed
---@field leftOver? integer
---@field reason string
---@field secrets? outrider.Secret[]

--- The events before this one are a copy of another session's. What was allowed for that session is not for this one.
---@class outrider.SessionForked
---@field fromSeq integer
---@field fromSessionId string
---@field secrets? outrider.Secret[]

--- The events before this one come from an export.
---
--- Nothing in them is permission, and nothing that they changed can be undone here.
---@class outrider.SessionImported
---@field fromSessionId string
---@field secrets? outrider.Secret[]

--- Where a session has the words that were searched.
---@class outrider.SessionMatch
---@field text string
---@field turnId? string

--- The user named the session.
---@class outrider.SessionRenamed
---@field secrets? outrider.Secret[]
---@field title string

--- A session was opened again from its log.
---@class outrider.SessionRestored
---@field folders string[]
---@field limits? outrider.Limits
---@field permissionMode 'read-only'|'ask'|'auto-edit'|'auto'|'full'
---@field realFolders? string[]
---@field rests? boolean
---@field secrets? outrider.Secret[]
---@field toolsHash? string
---@field turnId? string

--- A session exists.
---@class outrider.SessionStarted
---@field folders string[]
---@field permissionMode 'read-only'|'ask'|'auto-edit'|'auto'|'full'
---@field realFolders? string[]
---@field secrets? outrider.Secret[]
---@field toolsHash? string
---@field version string

--- What a session is doing now.
---@class outrider.SessionStatus
---@field elsewhere? boolean
---@field latencies? outrider.ModelLatency[]
---@field open outrider.Open[]
---@field phase? 'start'|'prepare'|'assistant'|'tools'|'verify'|'finish'
---@field plan outrider.PlanItem[]
---@field queue outrider.QueuedRun[]
---@field retryIn? number
---@field sessionId string
---@field state 'idle'|'running'|'parked'
---@field steering outrider.PendingSteering[]
---@field turnId? string
---@field usage outrider.Usage

--- A session of this workspace, open or not.
---@class outrider.SessionSummary
---@field elsewhere? boolean
---@field forkedFrom? string
---@field lastAt string
---@field match? outrider.SessionMatch
---@field outcome? 'completed'|'cancelled'|'budget_exhausted'|'failed'|'refused'
---@field sessionId string
---@field startedAt string
---@field state 'idle'|'running'|'parked'|'closed'
---@field title string
---@field turns integer

--- A model was asked for a title, once, beside the first steps. `usage` counts with the turn that runs.
---@class outrider.SessionTitled
---@field failed? outrider.FailedAttempt[]
---@field model string
---@field reason? string
---@field routed? outrider.ModelRouted
---@field secrets? outrider.Secret[]
---@field title? string
---@field usage? outrider.Usage

--- The latest first.
---@class outrider.SessionsParams
---@field limit? integer
---@field query? string

--- The sessions of this workspace, the latest first.
---@class outrider.SessionsResult
---@field sessions outrider.SessionSummary[]

--- Everything that can be set.
---@class outrider.Settings
---@field autonomy? 'cautious'|'balanced'|'decisive'
---@field codeLens? boolean
---@field commandEnvironment? string[]
---@field events? boolean
---@field fallbackModels? string[]
---@field hooks? outrider.HookSettings[]
---@field languageServers? table<string, outrider.LanguageServerSettings>
---@field limits? outrider.Limits
---@field mcpServers? table<string, table<string, any>>
---@field memory? boolean
---@field model? string
---@field modelTitles? boolean
---@field models? table<string, outrider.ModelSettings>
---@field permissionMode? 'read-only'|'ask'|'auto-edit'|'auto'|'full'
---@field providers? table<string, outrider.ProviderSettings>
---@field recording? boolean
---@field reminders? boolean
---@field repositoryMap? outrider.RepositoryMapSettings
---@field retry? outrider.RetrySettings
---@field routing? outrider.Routing
---@field sandbox? outrider.SandboxSettings
---@field skills? boolean
---@field stateDir? string
---@field store? outrider.StoreSettings
---@field testing? outrider.TestingSettings
---@field thinking? 'off'|'low'|'medium'|'high'|'max'|integer
---@field tiers? outrider.Tiers
---@field tools? outrider.ClientTool[]
---@field trialDiagnostics? 'off'|'errors'|'all'
---@field trusted? boolean
---@field verify? string[]
---@field web? outrider.WebSettings

--- The mode became narrower during the turn, and counts at once.
---@class outrider.SettingsChanged
---@field permissionMode 'read-only'|'ask'|'auto-edit'|'auto'|'full'
---@field secrets? outrider.Secret[]

--- A model that a provider offers.
---@class outrider.SetupModel
---@field contextWindow? integer
---@field name string
---@field price? outrider.Price
---@field tools? boolean

--- Leads from nothing to a model that answers: `list` providers, see the `models` of one, `try` one, `save` it.
---
--- Nothing is written before `save`, which changes the user's `settings.toml` and counts from the next turn on. Only `models`
--- and `try` ask the provider; `try` costs one small request.
---@class outrider.SetupParams
---@field action? 'list'|'models'|'try'|'save'
---@field apiKeyEnv? string
---@field baseUrl? string
---@field keep? 'keyring'|'file'|'env'|'client'
---@field key? string
---@field kind? 'openai-chat'|'openai-responses'|'anthropic'|'ollama'|'gemini'
---@field model? string
---@field provider? string

--- A provider that can be set up.
---@class outrider.SetupProvider
---@field apiKeyEnv? string
---@field baseUrl string
---@field configured? boolean
---@field found? string
---@field kind 'openai-chat'|'openai-responses'|'anthropic'|'ollama'|'gemini'
---@field name string
---@field needsKey boolean
---@field title string

--- What the step gave.
---@class outrider.SetupResult
---@field file? string
---@field keeps? ('keyring'|'file'|'env'|'client')[]
---@field model? string
---@field models? outrider.SetupModel[]
---@field note? string
---@field problem? string
---@field providers? outrider.SetupProvider[]
---@field trial? outrider.SetupTrial
---@field written? string

--- What came of one real request.
---@class outrider.SetupTrial
---@field detail string
---@field ok boolean
---@field seconds number

--- Without params of all that are open in this process.
---@class outrider.StatusParams
---@field sessionId? string

--- The sessions that are open in this process.
---@class outrider.StatusResult
---@field model? string
---@field sessions outrider.SessionStatus[]

--- Exactly one of `text` and `remove`. The model gets the text with its next request.
---@class outrider.SteerParams
---@field draft? string
---@field remove? string
---@field sessionId string
---@field text? string

--- The steering text's id.
---@class outrider.SteerResult
---@field pendingId string

--- A text for the running turn: queued, or withdrawn before the model had it. The same id again replaces its text.
---@class outrider.SteeringReceived
---@field pendingId string
---@field secrets? outrider.Secret[]
---@field state? 'queued'|'removed'
---@field text string

--- How long the log keeps the texts of changed files, which undo needs.
---@class outrider.StoreSettings
---@field keepDays? number
---@field maxBytes? integer

--- A clock that stands still: it moves by `stepMs` at each reading and by every delay a script asks for.
---@class outrider.TestingClock
---@field start? string
---@field stepMs? integer

--- Makes a run repeatable to the byte. Only with a scripted or recorded model.
---@class outrider.TestingSettings
---@field clock? outrider.TestingClock
---@field ids? 'sequential'
---@field sandboxes? ('bubblewrap'|'landlock'|'sandbox-exec')[]

--- The models of one tier; a list alone stands for `models`.
---@class outrider.TierSettings
---@field models? (string|string[])[]
---@field thinking? 'off'|'low'|'medium'|'high'|'max'|integer

--- Models by what they are good for.
---@class outrider.Tiers
---@field frontier? outrider.TierSettings
---@field mid? outrider.TierSettings
---@field small? outrider.TierSettings

--- The client, or somebody in its place, gave the result of such a call.
---@class outrider.ToolAnswered
---@field callId string
---@field channel? string
---@field content string
---@field id string
---@field secrets? outrider.Secret[]
---@field status 'ok'|'error'

--- A call went to the client, whose tool it is. It is asked again under the same id after a restart.
---@class outrider.ToolAsked
---@field callId string
---@field id string
---@field name string
---@field secrets? outrider.Secret[]

--- The result of a call. Every call has exactly one.
---@class outrider.ToolFinished
---@field callId string
---@field content string
---@field images? outrider.WireImage[]
---@field masked? integer
---@field name string
---@field ran? outrider.Ran
---@field read? outrider.ReadText[]
---@field recalled? outrider.Recalled
---@field secrets? outrider.Secret[]
---@field status 'ok'|'error'|'denied'|'cancelled'|'interrupted'|'skipped'
---@field verdict? outrider.Verdict

--- One tool as the model sees it.
---@class outrider.ToolInfo
---@field description string
---@field effect 'read'|'edit'|'execute'|'ask'
---@field inputSchema table<string, any>
---@field name string

--- Run a tool that the client registered.
---@class outrider.ToolParams
---@field again? boolean
---@field callId string
---@field id string
---@field input table<string, any>
---@field name string
---@field sessionId string
---@field turnId string

--- Anything else counts as no answer.
---@class outrider.ToolReply
---@field content string
---@field isError? boolean

--- The model called a tool.
---@class outrider.ToolRequested
---@field callId string
---@field input any
---@field name string
---@field secrets? outrider.Secret[]

--- The call passed its checks and approval; its effect begins.
---@class outrider.ToolStarted
---@field callId string
---@field secrets? outrider.Secret[]

--- Which mode the tools are listed for.
---@class outrider.ToolsParams
---@field mode? 'agent'|'plan'|'explore'

--- The tools.
---@class outrider.ToolsResult
---@field tools outrider.ToolInfo[]

--- Something that a command changed and that no undo restores.
---@class outrider.TouchedFile
---@field how 'changed'|'created'|'deleted'|'mode'
---@field kind? 'link'|'folder'|'shut'
---@field mode? string
---@field modeAfter? string
---@field path string
---@field to? string

--- A part of the first messages that was left out or cut.
---@class outrider.TrimmedPart
---@field kind string
---@field left integer
---@field name? string

--- `trust`, `read-only` and `forget` change the user's file.
---
--- A path that is not a folder fails with `invalid`, an unknown folder to forget with `unknown_id`, and every change with
--- `cannot_write` while the file is damaged.
---@class outrider.TrustParams
---@field action? 'list'|'trust'|'read-only'|'forget'
---@field below? boolean
---@field folder? string

--- What was said of folders, and what holds for those of the workspace.
---@class outrider.TrustResult
---@field folders outrider.FolderTrust[]
---@field path string
---@field problem? string
---@field workspace outrider.FolderTrust[]

--- The turn is over; exactly one for each turn.
---@class outrider.TurnFinished
---@field done? outrider.Done
---@field outcome 'completed'|'cancelled'|'budget_exhausted'|'failed'|'refused'
---@field reason string
---@field secrets? outrider.Secret[]
---@field summary string
---@field usage outrider.Usage

--- The turn waits for the user.
---@class outrider.TurnParked
---@field open outrider.Open[]
---@field secrets? outrider.Secret[]

--- The turn went from one phase to the next.
---@class outrider.TurnPhase
---@field from 'start'|'prepare'|'assistant'|'tools'|'verify'|'finish'
---@field reason string
---@field secrets? outrider.Secret[]
---@field to 'start'|'prepare'|'assistant'|'tools'|'verify'|'finish'

--- A task waits for the running turn.
---@class outrider.TurnQueued
---@field checks? string[]
---@field context? outrider.Context
---@field continues? string
---@field invoked? outrider.Invoked
---@field limits? table<string, any>
---@field mode 'agent'|'plan'|'explore'
---@field model string
---@field plan? outrider.PlanItem[]
---@field planDocument? string
---@field prompt string
---@field secrets? outrider.Secret[]
---@field thinking? 'off'|'low'|'medium'|'high'|'max'|integer

--- An open item was answered; the turn continues.
---@class outrider.TurnResumed
---@field id string
---@field secrets? outrider.Secret[]

--- What a turn goes by besides its own values.
---@class outrider.TurnSettings
---@field autonomy? 'cautious'|'balanced'|'decisive'
---@field limits outrider.Limits
---@field permissionMode 'read-only'|'ask'|'auto-edit'|'auto'|'full'

--- A turn began.
---@class outrider.TurnStarted
---@field checks? string[]
---@field context? outrider.Context
---@field continues? string
---@field invoked? outrider.Invoked
---@field limits? table<string, any>
---@field mode 'agent'|'plan'|'explore'
---@field model string
---@field plan? outrider.PlanItem[]
---@field planDocument? string
---@field prompt string
---@field secrets? outrider.Secret[]
---@field settings? outrider.TurnSettings
---@field thinking? 'off'|'low'|'medium'|'high'|'max'|integer

--- The user was asked about a place that others changed since.
---@class outrider.UndoAsked
---@field choice? string
---@field id string
---@field line integer
---@field path string
---@field secrets? outrider.Secret[]

--- What an undo or a redo did.
---@class outrider.UndoFinished
---@field conflicts outrider.Conflict[]
---@field notUndoable outrider.NotUndoable[]
---@field secrets? outrider.Secret[]
---@field undone outrider.UndonePath[]

--- Works hunk by hunk in the current text, and keeps what others wrote since.
---
--- Where the same place was changed, the user is asked. A parked or interrupted turn is not continued by it.
---@class outrider.UndoParams
---@field dryRun? boolean
---@field id? string
---@field ids? string[]
---@field latest? boolean
---@field says? boolean
---@field scope? 'hunk'|'step'|'turn'|'session'
---@field sessionId? string
---@field wait? boolean

--- Changes are undone or redone; `edit.*` events follow. It belongs to no turn.
---@class outrider.UndoRequested
---@field id? string
---@field redo? boolean
---@field scope 'hunk'|'step'|'turn'|'session'
---@field secrets? outrider.Secret[]

--- What an undo or a redo did, or would do.
---@class outrider.UndoResult
---@field changeId string
---@field conflicts outrider.Conflict[]
---@field notUndoable outrider.NotUndoable[]
---@field undone outrider.UndonePath[]

--- What was undone or redone in one file.
---@class outrider.UndonePath
---@field hunks integer
---@field path string

--- Tokens used.
---@class outrider.Usage
---@field cachedTokens? integer
---@field cost? number
---@field estimated? boolean
---@field inputTokens? integer
---@field outputTokens? integer
---@field reasoningTokens? integer

--- What an edit does to the problems of the files it changes and of those that refer to them.
---@class outrider.Verdict
---@field fixed? outrider.Problem[]
---@field fixedCount? integer
---@field introduced? outrider.Problem[]
---@field introducedCount? integer
---@field silent? string[]
---@field unfollowed? integer
---@field unjudged? integer

--- Language servers came to a verdict on edits after their results were given, or looked again at problems that are left.
---@class outrider.VerdictFound
---@field secrets? outrider.Secret[]
---@field told? string
---@field verdict outrider.Verdict

--- They came to their end.
---@class outrider.VerifyFinished
---@field attempt integer
---@field failed string[]
---@field secrets? outrider.Secret[]
---@field told? string

--- The model stopped after a change, and the checks of the task are run.
---@class outrider.VerifyStarted
---@field attempt integer
---@field calls outrider.CheckCall[]
---@field ignored? string[]
---@field secrets? outrider.Secret[]

--- `$/cancelRequest` ends the wait, not the turn. A `workDoneToken` shows the turn's progress.
---@class outrider.WaitParams
---@field timeout? number
---@field turnId string

--- How it stands: no `outcome` means that the turn is still running.
---@class outrider.WaitResult
---@field done? outrider.Done
---@field open? outrider.Open[]
---@field outcome? 'completed'|'cancelled'|'budget_exhausted'|'failed'|'refused'|'needs_input'
---@field reason? string
---@field summary? string
---@field turnId string
---@field usage? outrider.Usage

--- A page that a search found or opened.
---@class outrider.WebPage
---@field title? string
---@field url string

--- What a provider did on the web for a model.
---@class outrider.WebSearch
---@field pages? outrider.WebPage[]
---@field problem? string
---@field query? string

--- What the tool `fetch_url` may read.
---@class outrider.WebSettings
---@field hosts? string[]

--- One changed stretch of a text, in whole lines.
---@class outrider.WireHunk
---@field added string
---@field line integer
---@field removed string

--- An image. Its bytes are in the log's store, not in any event or export.
---@class outrider.WireImage
---@field hash string
---@field height integer
---@field mediaType string
---@field name string
---@field size integer
---@field width integer

--- What a model wants back word for word, such as signed reasoning.
---@class outrider.WireProviderData
---@field blocks string
---@field model string

--- A tool call as the model wrote it.
---@class outrider.WireToolCall
---@field arguments string
---@field id string
---@field name string
---@field refused? string

--- A file was changed by others: the user, a formatter, a command.
---
--- It is one that the session knows, or that changed after a check. Of one that the model has not read only the path is told.
---@class outrider.WorkspaceChanged
---@field after? string
---@field before? string
---@field by? 'editor'|'disk'|'command'|'undo'
---@field callId? string
---@field changeId? string
---@field encoding? 'utf-16-le'|'utf-16-be'
---@field folder? string
---@field folders? outrider.GoingFolder[]
---@field hunks outrider.WireHunk[]
---@field madeFolder? string
---@field mode? string
---@field modeAfter? string
---@field path string
---@field place? string
---@field secrets? outrider.Secret[]
---@field told? string
---@field unshown? boolean
---@field unsure? boolean
---@field whole? boolean

--- Files that changed after a check are ignored (by `.gitignore` and the like), so the check still stands.
---@class outrider.WorkspaceIgnored
---@field paths string[]
---@field secrets? outrider.Secret[]

--- A file or folder was renamed in the editor.
---
--- For a session at rest it is in the log alone, even after `session.closed`.
---@class outrider.WorkspaceRenamed
---@field files outrider.RenamedFile[]
---@field path string
---@field secrets? outrider.Secret[]
---@field to string
---@field told string

--- Before a command the client was asked to save what the agent had changed.
---@class outrider.WorkspaceSaved
---@field by 'extension'|'refactoring'
---@field callId string
---@field failed? outrider.NotSaved[]
---@field paths string[]
---@field secrets? outrider.Secret[]

--- What else a command did to files of the workspace; no undo takes it back.
---@class outrider.WorkspaceTouched
---@field callId string
---@field command string
---@field files outrider.TouchedFile[]
---@field more? integer
---@field secrets? outrider.Secret[]
---@field unseen? string

--- A command of `workspace/executeCommand`.
---@alias outrider.CommandName 'outrider.answer' | 'outrider.cancel' | 'outrider.changes' | 'outrider.commands' | 'outrider.continue' | 'outrider.delete' | 'outrider.doctor' | 'outrider.events' | 'outrider.explore' | 'outrider.export' | 'outrider.fork' | 'outrider.import' | 'outrider.jobs' | 'outrider.leave' | 'outrider.map' | 'outrider.models' | 'outrider.open' | 'outrider.permissions' | 'outrider.plan' | 'outrider.prompt' | 'outrider.queue' | 'outrider.redo' | 'outrider.rename' | 'outrider.resend' | 'outrider.restore' | 'outrider.resume' | 'outrider.retry' | 'outrider.run' | 'outrider.servers' | 'outrider.sessions' | 'outrider.setup' | 'outrider.status' | 'outrider.steer' | 'outrider.tools' | 'outrider.trust' | 'outrider.undo' | 'outrider.wait'

--- The type of an event, and what its data is.
---@alias outrider.EventType
---| 'approval.requested' # ApprovalRequested
---| 'approval.resolved' # ApprovalResolved
---| 'auto.limited' # AutoLimited
---| 'budget.exhausted' # BudgetExhausted
---| 'context.compacted' # ContextCompacted
---| 'context.pruned' # ContextPruned
---| 'context.trimmed' # ContextTrimmed
---| 'conversation.restored' # ConversationRestored
---| 'edit.applied' # EditApplied
---| 'edit.applying' # EditApplying
---| 'edit.merged' # EditMerged
---| 'edit.proposed' # EditProposed
---| 'edit.rejected' # EditRejected
---| 'error' # ErrorRaised
---| 'hook.finished' # HookFinished
---| 'hook.started' # HookStarted
---| 'input.wanted' # InputWanted
---| 'instructions.found' # InstructionsFound
---| 'job.finished' # JobFinished
---| 'job.started' # JobStarted
---| 'map.drawn' # MapDrawn
---| 'model.failed' # ModelFailed
---| 'model.fellBack' # ModelFellBack
---| 'model.limited' # ModelLimited
---| 'model.requested' # ModelRequested
---| 'model.reset' # ModelReset
---| 'model.responded' # ModelResponded
---| 'model.retried' # ModelRetried
---| 'model.routed' # ModelRouted
---| 'model.switched' # ModelSwitched
---| 'plan.updated' # PlanUpdated
---| 'plan.written' # PlanWritten
---| 'question.answered' # QuestionAnswered
---| 'question.asked' # QuestionAsked
---| 'queue.changed' # QueueChanged
---| 'sandbox.absent' # SandboxAbsent
---| 'session.closed' # SessionClosed
---| 'session.forked' # SessionForked
---| 'session.imported' # SessionImported
---| 'session.renamed' # SessionRenamed
---| 'session.restored' # SessionRestored
---| 'session.started' # SessionStarted
---| 'session.titled' # SessionTitled
---| 'settings.changed' # SettingsChanged
---| 'steering.received' # SteeringReceived
---| 'tool.answered' # ToolAnswered
---| 'tool.asked' # ToolAsked
---| 'tool.finished' # ToolFinished
---| 'tool.requested' # ToolRequested
---| 'tool.started' # ToolStarted
---| 'turn.finished' # TurnFinished
---| 'turn.parked' # TurnParked
---| 'turn.phase' # TurnPhase
---| 'turn.queued' # TurnQueued
---| 'turn.resumed' # TurnResumed
---| 'turn.started' # TurnStarted
---| 'undo.asked' # UndoAsked
---| 'undo.finished' # UndoFinished
---| 'undo.requested' # UndoRequested
---| 'verdict.found' # VerdictFound
---| 'verify.finished' # VerifyFinished
---| 'verify.started' # VerifyStarted
---| 'workspace.changed' # WorkspaceChanged
---| 'workspace.ignored' # WorkspaceIgnored
---| 'workspace.renamed' # WorkspaceRenamed
---| 'workspace.saved' # WorkspaceSaved
---| 'workspace.touched' # WorkspaceTouched
