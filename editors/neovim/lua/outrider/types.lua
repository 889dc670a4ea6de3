---@meta
--- Generated from protocol/schema.json by scripts/wire_types.py: do not edit.

--- The answer to an open item: `decision` for an approval, `answer` for a question or a tool, or its `error`.
---@class outrider.AnswerParams
---@field answer? string
---@field decision? 'allow_once'|'allow_session'|'allow_always'|'choose'|'reject'
---@field error? string
---@field id string
---@field note? string
---@field review? outrider.ReviewedHunk[]
---@field scope? 'workspace'|'everywhere'

--- The item that is answered now.
---@class outrider.AnswerResult
---@field id string

--- An effect waits for a yes.
---@class outrider.ApprovalRequested
---@field always? outrider.RulePattern[]
---@field callId string
---@field changeIds? string[]
---@field detail string
---@field digest string
---@field grant? string
---@field id string
---@field options string[]
---@field reviewed? boolean
---@field secrets? outrider.Secret[]
---@field title string

--- An effect was allowed or rejected. A rule that forbids comes without a request: `by` is `rule`, and `id` is new.
---@class outrider.ApprovalResolved
---@field by 'person'|'rule'|'mode'
---@field callId string
---@field channel? string
---@field decision 'allow_once'|'allow_session'|'allow_always'|'choose'|'reject'
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

--- `outrider/ask`: put an open item before the person, in the way of the client.
---@class outrider.AskParams
---@field item outrider.Open
---@field sessionId string

--- The answer: `decision` for an approval, `answer` for a question. Null stands for none, as does anything else.
---@class outrider.AskReply
---@field answer? string
---@field decision? 'allow_once'|'allow_session'|'allow_always'|'choose'|'reject'
---@field note? string
---@field review? outrider.ReviewedHunk[]
---@field scope? 'workspace'|'everywhere'

--- A budget of the turn is spent.
---@class outrider.BudgetExhausted
---@field allowed number
---@field contextWindow? integer
---@field limit string
---@field messages? string[]
---@field secrets? outrider.Secret[]
---@field used number

--- Ends a turn.
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

--- One hunk of a change, as it is now.
---@class outrider.ChangedHunk
---@field added string
---@field id string
---@field line integer
---@field removed string
---@field state 'applied'|'undone'|'altered'|'conflict'

--- Which changes to list. Without `sessionId` those of the latest session that changed something.
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

--- One thing that was looked at.
---@class outrider.Check
---@field detail string
---@field name string
---@field status 'ok'|'warn'|'fail'

--- A tool that the client runs: its calls go there as `outrider/tool`.
---@class outrider.ClientTool
---@field description string
---@field effect 'read'|'edit'|'execute'|'ask'
---@field inputSchema table<string, any>
---@field name string

--- What was left as it is, because somebody changed the same place since.
---@class outrider.Conflict
---@field id? string
---@field line integer
---@field path string
---@field reason string

--- What the person was looking at when the task was given.
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

--- Older tool output was left out.
---@class outrider.ContextPruned
---@field after? integer
---@field before? integer
---@field callIds string[]
---@field contextWindow? integer
---@field messages? string[]
---@field reason string
---@field secrets? outrider.Secret[]

--- Parts of the system message and of the task were left out, because the rest alone does not fit.
---@class outrider.ContextTrimmed
---@field after integer
---@field before integer
---@field contextWindow integer
---@field given string[]
---@field messages string[]
---@field parts outrider.TrimmedPart[]
---@field reason string
---@field secrets? outrider.Secret[]

--- Diagnostics of one document, as LSP `Diagnostic` objects.
---@class outrider.Diagnostics
---@field items table<string, any>[]
---@field uri string

--- `outrider/diagnostics`: what the editor shows of all language servers and linters, now.
---@class outrider.DiagnosticsParams
---@field uris? string[]

--- What they report. A document without problems may be absent.
---@class outrider.DiagnosticsReply
---@field diagnostics outrider.Diagnostics[]

--- What is looked at beyond what costs nothing.
---@class outrider.DoctorParams
---@field probe? boolean

--- What was looked at.
---@class outrider.DoctorResult
---@field checks outrider.Check[]

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

--- A change is about to be written. It is on disk before the change is.
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

--- A change was put into a text that had moved meanwhile; `after` is what is there now.
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

--- Something went wrong that the person should know of.
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

--- A stretch of a session's log; `fromSeq` is the first one wanted, from 1.
---@class outrider.EventsParams
---@field fromSeq? integer
---@field limit? integer
---@field sessionId string

--- Events in order. `more`: there are further ones from `nextSeq` on.
---@class outrider.EventsResult
---@field events outrider.Event[]
---@field more boolean
---@field nextSeq integer

--- A task that may only look.
---@class outrider.ExploreParams
---@field context? outrider.Context
---@field limits? outrider.LimitsPatch
---@field model? string
---@field prompt string
---@field sessionId? string

--- What `outrider export` writes. Secrets, names and places of the machine are taken out before it is made.
---@class outrider.Export
---@field contents table<string, string>
---@field events outrider.Event[]
---@field format? 'outrider-export'
---@field program string
---@field removed? table<string, integer>
---@field sessionId string
---@field version? 1

--- The session to put into one file, whoever runs it.
---@class outrider.ExportParams
---@field sessionId string

--- A model was asked, failed, and it or another one was asked again.
---@class outrider.FailedAttempt
---@field model string
---@field reason string

--- What was said of a folder, or what holds for one of the workspace.
---@class outrider.FolderTrust
---@field added? string
---@field below? boolean
---@field path string
---@field trust 'trusted'|'read-only'|'unknown'

--- `outrider/stream`: text as it comes. Frames are not logged; the log has the whole.
---
--- The frames of one `messageId` and `kind`, joined since the last `model.reset`, equal the text in the log.
---@class outrider.Frame
---@field callId? string
---@field kind 'text'|'reasoning'|'output'
---@field messageId? string
---@field offset integer
---@field sessionId string
---@field text string
---@field turnId string

--- A folder that goes with its last file.
---@class outrider.GoingFolder
---@field mode string
---@field path string

--- A folder that the model came to has instructions of its own.
---@class outrider.InstructionsFound
---@field path string
---@field secrets? outrider.Secret[]
---@field told string

--- No process of a job is left.
---@class outrider.JobFinished
---@field exitCode? integer
---@field jobId string
---@field output? string
---@field seconds? number
---@field secrets? outrider.Secret[]
---@field signal? integer
---@field status 'exited'|'killed_timeout'|'killed_idle'|'lost'|'killed'|'cancelled'|'closed'|'interrupted'
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
---@field status 'exited'|'killed_timeout'|'killed_idle'|'lost'|'killed'|'cancelled'|'closed'|'interrupted'|'running'
---@field turnId string

--- A command runs in the background.
---@class outrider.JobStarted
---@field callId string
---@field command string
---@field cwd string
---@field jobId string
---@field sandboxed boolean
---@field secrets? outrider.Secret[]

--- Lists the background jobs, or reads, waits for or ends the one of an id.
---@class outrider.JobsParams
---@field action? 'list'|'read'|'wait'|'kill'
---@field id? string
---@field sessionId? string
---@field timeout? number

--- The jobs as they are now, the oldest first; with an id, that one.
---@class outrider.JobsResult
---@field jobs outrider.JobInfo[]
---@field output? string

--- How fast an answer came.
---@class outrider.Latency
---@field firstTokenMs number
---@field tokensPerSecond? number

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

--- What is at hand.
---@class outrider.MapParams
---@field files? string[]
---@field prompt? string
---@field tokens? integer

--- The repository map for that, whether or not turns get one.
---@class outrider.MapResult
---@field files integer
---@field text string

--- There is no answer: the provider failed, or the connection to it.
---@class outrider.ModelFailed
---@field kind string
---@field message string
---@field messageId string
---@field purpose string
---@field secrets? outrider.Secret[]
---@field usage? outrider.Usage

--- A request goes to another model.
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

--- How fast a model was.
---@class outrider.ModelLatency
---@field firstTokenMs number
---@field model string
---@field requests integer
---@field tokensPerSecond? number

--- A request is about to go to the model.
---@class outrider.ModelRequested
---@field contextWindow? integer
---@field editFormat? string
---@field maxTokens? integer
---@field messageId string
---@field messages string[]
---@field model string
---@field purpose string
---@field secrets? outrider.Secret[]
---@field steering? string[]
---@field temperature? number
---@field toolFormat? string
---@field tools string[]
---@field toolsHash string

--- Text that was already shown is withdrawn.
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
---@field secrets? outrider.Secret[]
---@field text string
---@field toolCalls outrider.WireToolCall[]
---@field usage? outrider.Usage

--- A request is made again.
---@class outrider.ModelRetried
---@field attempt integer
---@field messageId string
---@field model string
---@field reason string
---@field secrets? outrider.Secret[]
---@field usage? outrider.Usage
---@field wait? number

--- It was chosen which model gets the next request.
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

--- What the person knows of one model. What is absent is asked of its provider or taken from a table.
---@class outrider.ModelSettings
---@field contextWindow? integer
---@field editFormat? 'replace'|'patch'|'whole'
---@field maxTokens? integer
---@field price? outrider.Price
---@field reasoning? boolean
---@field toolFormat? 'native'|'hermes'|'qwen3-coder-xml'|'llama3-json'|'pythonic'|'llama4-pythonic'|'mistral'|'deepseek'|'glm-xml'|'kimi'|'granite'|'harmony'|'minimax-xml'|'gemma'|'lfm2'|'json-array'|'bare-json'|'react'|'react-json'|'bracket'|'outrider'
---@field toolStrength? 'weak'|'medium'|'strong'
---@field vision? boolean

--- A model does not take tools as its provider has them, and gets and makes calls as text from now on.
---@class outrider.ModelSwitched
---@field messageId string
---@field model string
---@field reason string
---@field secrets? outrider.Secret[]
---@field toolFormat string

--- Nothing to say.
---@class outrider.ModelsParams

--- The models, those that the settings name first.
---@class outrider.ModelsResult
---@field model? string
---@field models outrider.ModelInfo[]
---@field problems string[]

--- A rule to be saved.
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

--- What cannot be taken back, and why.
---@class outrider.NotUndoable
---@field reason string
---@field what string

--- An open item: something that waits for the person, or for a tool of the client.
---@class outrider.Open
---@field allowFreeForm? boolean
---@field always? outrider.RulePattern[]
---@field callId? string
---@field detail? string
---@field documentUri? string
---@field id string
---@field kind 'approval'|'question'|'tool'
---@field options? string[]
---@field title string
---@field turnId string

--- Opens a document that carries actions: the task document, or the one of an open item.
---@class outrider.OpenParams
---@field id? string
---@field what? 'task'|'review'|'answer'

--- The document.
---@class outrider.OpenResult
---@field uri string

--- A steering text that the model has not seen yet.
---@class outrider.PendingSteering
---@field pendingId string
---@field text string

--- Lists the rules, adds one, removes the one of an id, or opens their file in the editor.
---@class outrider.PermissionsParams
---@field action? 'list'|'add'|'remove'|'open'
---@field id? string
---@field rule? outrider.NewRule

--- The rules as they are now, the person's first.
---@class outrider.PermissionsResult
---@field path string
---@field problem? string
---@field rules outrider.RuleInfo[]

--- One point of the plan.
---@class outrider.PlanItem
---@field status? 'pending'|'in_progress'|'done'
---@field text string

--- The plan is now this.
---@class outrider.PlanUpdated
---@field items outrider.PlanItem[]
---@field secrets? outrider.Secret[]

--- A place in a document, zero-based, in the negotiated position encoding.
---@class outrider.Position
---@field character integer
---@field line integer

--- What a million tokens cost, in one currency for all models.
---@class outrider.Price
---@field cached? number
---@field input number
---@field output number

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

--- The session whose next request is shown, whoever runs it.
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
---@field apiKeyEnv? string
---@field baseUrl string
---@field caFile? string
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

--- The person answered.
---@class outrider.QuestionAnswered
---@field answer string
---@field callId? string
---@field channel? string
---@field id string
---@field secrets? outrider.Secret[]

--- The model or the server asks the person.
---@class outrider.QuestionAsked
---@field allowFreeForm? boolean
---@field callId? string
---@field id string
---@field options? string[]
---@field question string
---@field secrets? outrider.Secret[]

--- A turn that waits for the running one.
---@class outrider.QueuedRun
---@field prompt string
---@field turnId string

--- A stretch of a document; the end is exclusive.
---@class outrider.Range
---@field ["end"] outrider.Position
---@field start outrider.Position

--- A text that a call read, as it was then.
---@class outrider.ReadText
---@field hash string
---@field path string

--- A file that has another path, and what a session knows of it goes on there.
---@class outrider.RenamedFile
---@field path string
---@field place? string
---@field to string
---@field toPlace? string

--- The names that the workspace's files define, of which the model is told those that matter for what is at hand.
---@class outrider.RepositoryMapSettings
---@field enabled? boolean
---@field tokens? integer

--- Opens a session of the log again; its open items are asked again.
---@class outrider.ResumeParams
---@field sessionId string

--- What the person decided about one hunk of an edit that they were asked about.
---@class outrider.ReviewedHunk
---@field decision 'take'|'reject'
---@field id string
---@field reason? string
---@field text? string

--- A model that a request could have gone to.
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
---@field weights? 'text'|'voice'

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

--- What a rule is about.
---@class outrider.RulePattern
---@field command? string
---@field exact? boolean
---@field host? string
---@field path? string
---@field script? string
---@field tool string

--- A task. Without `sessionId` a new session is made.
---@class outrider.RunParams
---@field context? outrider.Context
---@field draft? string
---@field limits? outrider.LimitsPatch
---@field mode? 'agent'|'plan'|'explore'
---@field model? string
---@field prompt string
---@field sessionId? string

--- The turn that was started, or queued behind the one that is running.
---@class outrider.RunResult
---@field queued? boolean
---@field sessionId string
---@field turnId string

--- What holds commands to the workspace; a mode alone may stand for the whole.
---@class outrider.SandboxSettings
---@field mode? 'off'|'auto'|'required'
---@field network? boolean
---@field readable? string[]
---@field writable? string[]

--- A document that could not be saved.
---@class outrider.SaveFailure
---@field reason string
---@field uri string

--- `outrider/save`: save open documents, as the person would.
---@class outrider.SaveParams
---@field uris string[]

--- What came of it. It is only believed as far as `didSave` or the disk bears it out.
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

--- The process let go of the session; it can be resumed.
---@class outrider.SessionClosed
---@field leftOver? integer
---@field reason string
---@field secrets? outrider.Secret[]

--- A session began as a copy of another one.
---@class outrider.SessionForked
---@field fromSeq integer
---@field fromSessionId string
---@field secrets? outrider.Secret[]

--- A session was opened again from its log.
---@class outrider.SessionRestored
---@field folders string[]
---@field limits? outrider.Limits
---@field permissionMode 'read-only'|'ask'|'auto-edit'|'full'
---@field realFolders? string[]
---@field rests? boolean
---@field secrets? outrider.Secret[]
---@field toolsHash? string
---@field turnId? string

--- A session exists.
---@class outrider.SessionStarted
---@field folders string[]
---@field permissionMode 'read-only'|'ask'|'auto-edit'|'full'
---@field realFolders? string[]
---@field secrets? outrider.Secret[]
---@field toolsHash? string
---@field version string

--- What a session is doing now.
---@class outrider.SessionStatus
---@field latencies? outrider.ModelLatency[]
---@field open outrider.Open[]
---@field phase? 'start'|'prepare'|'assistant'|'tools'|'verify'|'finish'
---@field plan outrider.PlanItem[]
---@field queue outrider.QueuedRun[]
---@field sessionId string
---@field state 'idle'|'running'|'parked'
---@field steering outrider.PendingSteering[]
---@field turnId? string
---@field usage outrider.Usage

--- A session of this workspace, open or not.
---@class outrider.SessionSummary
---@field elsewhere? boolean
---@field lastAt string
---@field outcome? 'completed'|'cancelled'|'budget_exhausted'|'failed'|'refused'
---@field sessionId string
---@field startedAt string
---@field state 'idle'|'running'|'parked'|'closed'
---@field title string
---@field turns integer

--- A model was asked for a title of the session, once and beside its first steps.
---@class outrider.SessionTitled
---@field failed? outrider.FailedAttempt[]
---@field model string
---@field reason? string
---@field routed? outrider.ModelRouted
---@field secrets? outrider.Secret[]
---@field title? string
---@field usage? outrider.Usage

--- No parameters.
---@class outrider.SessionsParams

--- The sessions of this workspace, the latest first.
---@class outrider.SessionsResult
---@field sessions outrider.SessionSummary[]

--- Everything that can be set.
---@class outrider.Settings
---@field codeLens? boolean
---@field commandEnvironment? string[]
---@field events? boolean
---@field fallbackModels? string[]
---@field limits? outrider.Limits
---@field model? string
---@field modelTitles? boolean
---@field models? table<string, outrider.ModelSettings>
---@field permissionMode? 'read-only'|'ask'|'auto-edit'|'full'
---@field providers? table<string, outrider.ProviderSettings>
---@field recording? boolean
---@field repositoryMap? outrider.RepositoryMapSettings
---@field routing? outrider.Routing
---@field sandbox? outrider.SandboxSettings
---@field stateDir? string
---@field store? outrider.StoreSettings
---@field testing? outrider.TestingSettings
---@field tiers? outrider.Tiers
---@field tools? outrider.ClientTool[]
---@field trusted? boolean

--- The permission mode became narrower while a turn was running, and counts at once.
---@class outrider.SettingsChanged
---@field permissionMode 'read-only'|'ask'|'auto-edit'|'full'
---@field secrets? outrider.Secret[]

--- Which session; absent means all that are open in this process.
---@class outrider.StatusParams
---@field sessionId? string

--- The sessions that are open in this process.
---@class outrider.StatusResult
---@field sessions outrider.SessionStatus[]

--- A text for the running turn, or the removal of one that the model has not seen yet.
---@class outrider.SteerParams
---@field draft? string
---@field remove? string
---@field sessionId string
---@field text? string

--- The steering text's id.
---@class outrider.SteerResult
---@field pendingId string

--- A text for the running turn: queued, or taken back before the model saw it.
---@class outrider.SteeringReceived
---@field pendingId string
---@field secrets? outrider.Secret[]
---@field state? 'queued'|'removed'
---@field text string

--- How long the log keeps the texts of changed files, by which changes are taken back.
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

--- Models by what they are good for, each list in the order they are asked; a list in a list is of equals.
---@class outrider.Tiers
---@field frontier? (string|string[])[]
---@field mid? (string|string[])[]
---@field small? (string|string[])[]

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
---@field read? outrider.ReadText[]
---@field secrets? outrider.Secret[]
---@field status 'ok'|'error'|'denied'|'cancelled'|'interrupted'|'skipped'

--- One tool as the model sees it.
---@class outrider.ToolInfo
---@field description string
---@field effect 'read'|'edit'|'execute'|'ask'
---@field inputSchema table<string, any>
---@field name string

--- `outrider/tool`: run a tool that the client registered.
---@class outrider.ToolParams
---@field again? boolean
---@field callId string
---@field id string
---@field input table<string, any>
---@field name string
---@field sessionId string
---@field turnId string

--- What came of it. Anything else counts as no answer.
---@class outrider.ToolReply
---@field content string
---@field isError? boolean

--- The model asked for a tool.
---@class outrider.ToolRequested
---@field callId string
---@field input any
---@field name string
---@field secrets? outrider.Secret[]

--- The call passed its checks and its effect begins.
---@class outrider.ToolStarted
---@field callId string
---@field secrets? outrider.Secret[]

--- Which mode the tools are listed for.
---@class outrider.ToolsParams
---@field mode? 'agent'|'plan'|'explore'

--- The tools.
---@class outrider.ToolsResult
---@field tools outrider.ToolInfo[]

--- What a command changed, and which no undo puts back: a file whose text before is not in the log, or no file.
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

--- Lists what was said of folders, after something more is said of one if that is wanted.
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

--- The turn is over. Every turn has exactly one.
---@class outrider.TurnFinished
---@field outcome 'completed'|'cancelled'|'budget_exhausted'|'failed'|'refused'
---@field reason string
---@field secrets? outrider.Secret[]
---@field summary string
---@field usage outrider.Usage

--- Nothing more can be done until the person answers.
---@class outrider.TurnParked
---@field open outrider.Open[]
---@field secrets? outrider.Secret[]

--- The turn went from one phase to the next.
---@class outrider.TurnPhase
---@field from 'start'|'prepare'|'assistant'|'tools'|'verify'|'finish'
---@field reason string
---@field secrets? outrider.Secret[]
---@field to 'start'|'prepare'|'assistant'|'tools'|'verify'|'finish'

--- A task was given while another turn was running; its `turn.started` follows when it is its time.
---@class outrider.TurnQueued
---@field context? outrider.Context
---@field limits? table<string, any>
---@field mode 'agent'|'plan'|'explore'
---@field model string
---@field prompt string
---@field secrets? outrider.Secret[]

--- An open item was answered, the turn goes on.
---@class outrider.TurnResumed
---@field id string
---@field secrets? outrider.Secret[]

--- What a turn goes by, beside what it was given itself.
---@class outrider.TurnSettings
---@field limits outrider.Limits
---@field permissionMode 'read-only'|'ask'|'auto-edit'|'full'

--- A turn began.
---@class outrider.TurnStarted
---@field context? outrider.Context
---@field limits? table<string, any>
---@field mode 'agent'|'plan'|'explore'
---@field model string
---@field prompt string
---@field secrets? outrider.Secret[]
---@field settings? outrider.TurnSettings

--- The person was asked about a place that somebody changed since.
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

--- What to take back; without `id` the latest of that scope. Without `sessionId` the latest session.
---
--- Without `scope` it is what the id names, and a turn where there is none; of a redo the session, if that was undone last. `wait` is false for an editor that does
--- nothing until the command is answered: the answer is empty, and what was left as it is comes as a message.
---@class outrider.UndoParams
---@field id? string
---@field scope? 'hunk'|'step'|'turn'|'session'
---@field sessionId? string
---@field wait? boolean

--- The person takes changes back, or brings them back; what comes of it follows as `edit.*` events.
---@class outrider.UndoRequested
---@field id? string
---@field redo? boolean
---@field scope 'hunk'|'step'|'turn'|'session'
---@field secrets? outrider.Secret[]

--- What an undo or a redo did.
---@class outrider.UndoResult
---@field changeId string
---@field conflicts outrider.Conflict[]
---@field notUndoable outrider.NotUndoable[]
---@field undone outrider.UndonePath[]

--- What was taken back in one file.
---@class outrider.UndonePath
---@field hunks integer
---@field path string

--- Tokens spent. `cost` is absent where it is unknown.
---@class outrider.Usage
---@field cachedTokens? integer
---@field cost? number
---@field estimated? boolean
---@field inputTokens? integer
---@field outputTokens? integer
---@field reasoningTokens? integer

--- Waits until the turn has finished or needs an answer, `timeout` seconds at most.
---@class outrider.WaitParams
---@field timeout? number
---@field turnId string

--- How it stands: no `outcome` means that the turn is still running.
---@class outrider.WaitResult
---@field open? outrider.Open[]
---@field outcome? 'completed'|'cancelled'|'budget_exhausted'|'failed'|'refused'|'needs_input'
---@field reason? string
---@field summary? string
---@field turnId string
---@field usage? outrider.Usage

--- One changed stretch of a text: whole lines, `line` being the first one in the text before, from 1.
---@class outrider.WireHunk
---@field added string
---@field line integer
---@field removed string

--- An image that a call gave. Its content lies in the log's store, and in no event or export.
---@class outrider.WireImage
---@field hash string
---@field height integer
---@field mediaType string
---@field name string
---@field size integer
---@field width integer

--- What a model wants back word for word with its answer, such as signed reasoning.
---@class outrider.WireProviderData
---@field blocks string
---@field model string

--- A tool call as the model asked for it; `arguments` is its JSON text, unparsed.
---@class outrider.WireToolCall
---@field arguments string
---@field id string
---@field name string

--- A file that the session knows was changed by someone else: the person, a formatter, a command.
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

--- A file, or a folder, was renamed or moved in the editor: what the session knows of it follows.
---@class outrider.WorkspaceRenamed
---@field files outrider.RenamedFile[]
---@field path string
---@field secrets? outrider.Secret[]
---@field to string
---@field told string

--- Before a command the client was asked to save what the agent had changed: what is saved, by what is seen.
---@class outrider.WorkspaceSaved
---@field by 'extension'|'refactoring'
---@field callId string
---@field failed? outrider.NotSaved[]
---@field paths string[]
---@field secrets? outrider.Secret[]

--- What else a command did to the files of the workspace: no undo can take it back.
---@class outrider.WorkspaceTouched
---@field callId string
---@field command string
---@field files outrider.TouchedFile[]
---@field more? integer
---@field secrets? outrider.Secret[]
---@field unseen? string

--- A command of `workspace/executeCommand`.
---@alias outrider.CommandName 'outrider.answer' | 'outrider.cancel' | 'outrider.changes' | 'outrider.doctor' | 'outrider.events' | 'outrider.explore' | 'outrider.export' | 'outrider.jobs' | 'outrider.map' | 'outrider.models' | 'outrider.open' | 'outrider.permissions' | 'outrider.prompt' | 'outrider.redo' | 'outrider.resume' | 'outrider.run' | 'outrider.sessions' | 'outrider.status' | 'outrider.steer' | 'outrider.tools' | 'outrider.trust' | 'outrider.undo' | 'outrider.wait'

--- The type of an event, and what its data is.
---@alias outrider.EventType
---| 'approval.requested' # ApprovalRequested
---| 'approval.resolved' # ApprovalResolved
---| 'budget.exhausted' # BudgetExhausted
---| 'context.compacted' # ContextCompacted
---| 'context.pruned' # ContextPruned
---| 'context.trimmed' # ContextTrimmed
---| 'edit.applied' # EditApplied
---| 'edit.applying' # EditApplying
---| 'edit.merged' # EditMerged
---| 'edit.proposed' # EditProposed
---| 'edit.rejected' # EditRejected
---| 'error' # ErrorRaised
---| 'instructions.found' # InstructionsFound
---| 'job.finished' # JobFinished
---| 'job.started' # JobStarted
---| 'map.drawn' # MapDrawn
---| 'model.failed' # ModelFailed
---| 'model.fellBack' # ModelFellBack
---| 'model.requested' # ModelRequested
---| 'model.reset' # ModelReset
---| 'model.responded' # ModelResponded
---| 'model.retried' # ModelRetried
---| 'model.routed' # ModelRouted
---| 'model.switched' # ModelSwitched
---| 'plan.updated' # PlanUpdated
---| 'question.answered' # QuestionAnswered
---| 'question.asked' # QuestionAsked
---| 'session.closed' # SessionClosed
---| 'session.forked' # SessionForked
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
---| 'workspace.changed' # WorkspaceChanged
---| 'workspace.renamed' # WorkspaceRenamed
---| 'workspace.saved' # WorkspaceSaved
---| 'workspace.touched' # WorkspaceTouched
