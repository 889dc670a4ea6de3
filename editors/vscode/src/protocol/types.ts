// Made of protocol/schema.json by `npm run types`. Do not edit.

/** The messages of an earlier event, and those added since. So a log grows linearly. */
export interface AddedMessages {
  added: string[];
  after: number;
}

/** The item may be shown in a dialog, run by a client tool or be parked, after a restart too.  The first answer wins. Exactly one of `decision`, `answer` and `error`. */
export interface AnswerParams {
  answer?: string;
  decision?: "allow_once" | "allow_session" | "allow_always" | "reject" | "put_back" | "keep";
  error?: string;
  id: string;
  note?: string;
  review?: ReviewedHunk[];
  scope?: "workspace" | "everywhere";
  together?: boolean;
}

/** The item that is answered now. */
export interface AnswerResult {
  id: string;
}

/** An effect needs a yes. */
export interface ApprovalRequested {
  always?: RulePattern[];
  callId: string;
  changeIds?: string[];
  detail: string;
  digest: string;
  grant?: string;
  group?: string;
  id: string;
  options: string[];
  reviewed?: boolean;
  secrets?: Secret[];
  summary?: string;
  title: string;
  trial?: Verdict;
}

/** An effect was allowed or rejected. A rule that forbids comes without a request. */
export interface ApprovalResolved {
  by: "person" | "rule" | "mode";
  callId: string;
  channel?: string;
  decision: "allow_once" | "allow_session" | "allow_always" | "reject" | "put_back" | "keep" | "choose";
  digest?: string;
  grant?: string;
  id: string;
  instead?: string;
  note?: string;
  review?: ReviewedHunk[];
  rule?: string;
  rules?: string[];
  scope?: "workspace" | "everywhere";
  secrets?: Secret[];
}

/** Show an open item to the user, in the client's own way. */
export interface AskParams {
  item: Open;
  sessionId: string;
}

/** Null or any other shape is no answer. */
export interface AskReply {
  answer?: string;
  decision?: "allow_once" | "allow_session" | "allow_always" | "reject" | "put_back" | "keep";
  note?: string;
  review?: ReviewedHunk[];
  scope?: "workspace" | "everywhere";
}

/** Permission mode `auto` allows only what `auto-edit` does here: no copy of the files can be kept, so commands ask.  Once in a session, before the first command that asks for that reason. */
export interface AutoLimited {
  reason: string;
  secrets?: Secret[];
}

/** A budget of the turn is spent. */
export interface BudgetExhausted {
  allowed: number;
  contextWindow?: number;
  limit: string;
  messages?: string[];
  secrets?: Secret[];
  used: number;
}

/** The turn may be running, parked or queued. Every process it started ends. Repeating it gives the same answer. */
export interface CancelParams {
  reason?: string;
  turnId: string;
}

/** How the turn ended; the same however often it is asked. */
export interface CancelResult {
  outcome: "completed" | "cancelled" | "budget_exhausted" | "failed" | "refused";
  turnId: string;
}

/** One change of one file. */
export interface ChangeInfo {
  callId?: string;
  changeId: string;
  hunks: ChangedHunk[];
  operation: "edit" | "create" | "delete" | "rename";
  path: string;
  reason?: string;
  state?: "applied" | "undone" | "conflict";
  step: number;
  to?: string;
  turnId?: string;
  undoable: boolean;
}

/** One hunk of a change, in whole lines. */
export interface ChangedHunk {
  added: string;
  id: string;
  line: number;
  removed: string;
  state: "applied" | "undone" | "altered" | "conflict";
}

/** It only reads, so the session may run in another process. */
export interface ChangesParams {
  format?: "list" | "patch";
  sessionId?: string;
  turnId?: string;
}

/** The changes of a session. */
export interface ChangesResult {
  changes?: ChangeInfo[];
  leftOut?: LeftOut[];
  notUndoable?: NotUndoable[];
  patch?: string;
  sessionId: string;
}

/** One check of the set-up. */
export interface Check {
  detail: string;
  name: string;
  status: "ok" | "warn" | "fail";
}

/** A check as a tool call. */
export interface CheckCall {
  command: string;
  id: string;
}

/** What a failed check says is wrong at a line. The words are the check's own. */
export interface CheckFailure {
  column?: number;
  line: number;
  message: string;
  path: string;
  severity?: "error" | "warning";
}

/** A check that was demanded and did not run. */
export interface CheckNotRun {
  command: string;
  reason: "refused" | "not_allowed" | "failed" | "ended";
}

/** A check that was run in a turn, as it went the last time. */
export interface CheckRun {
  command: string;
  exitCode?: number;
  kind: "test" | "types" | "lint" | "build" | "other";
  ok: boolean;
  seconds: number;
  stale?: boolean;
}

/** A tool that the client runs: its calls go there as `outrider/tool`. */
export interface ClientTool {
  description: string;
  effect: "read" | "edit" | "execute" | "ask";
  inputSchema: Record<string, unknown>;
  name: string;
}

/** An argument that a command names. */
export interface CommandArgument {
  description: string;
  name: string;
  required: boolean;
}

/** A command line whose output a custom command wants in its text. It runs, by the permissions of all commands, when the turn begins. */
export interface CommandOutput {
  at: number;
  command: string;
}

/** Custom commands of the user and of trusted workspaces, prompts of MCP servers, and skills. A task calls one as `/name arguments`. */
export interface CommandsParams {

}

/** What there is, by name. */
export interface CommandsResult {
  commands: CustomCommandInfo[];
  withheld?: number;
}

/** What was left because others changed the same place since. */
export interface Conflict {
  id?: string;
  line: number;
  path: string;
  reason: string;
}

/** What a command wanted of a host through the proxy of `sandbox.network`. */
export interface Connection {
  host: string;
  port: number;
  problem?: string;
  received: number;
  sent: number;
  times: number;
}

/** What the user was looking at. */
export interface Context {
  diagnostics?: Diagnostics[];
  documents?: string[];
  selection?: Selection;
}

/** Older messages were replaced by a summary. */
export interface ContextCompacted {
  after: number;
  before: number;
  by?: "model" | "house";
  contextWindow?: number;
  messages?: string[];
  reason: string;
  secrets?: Secret[];
}

/** Older tool output was replaced or cut. */
export interface ContextPruned {
  after?: number;
  before?: number;
  callIds: string[];
  contextWindow?: number;
  messages?: string[];
  reason: string;
  secrets?: Secret[];
}

/** Parts of the first messages were left out, because the rest alone does not fit. */
export interface ContextTrimmed {
  after: number;
  before: number;
  contextWindow: number;
  given: string[];
  messages: string[];
  parts: TrimmedPart[];
  reason: string;
  secrets?: Secret[];
}

/** A new turn goes on where the latest one of the session stopped, with new limits.  That one spent its budget, failed, was refused or was cancelled; else it fails with `nothing_to_continue`. The task is not repeated. */
export interface ContinueParams {
  limits?: LimitsPatch;
  model?: string;
  sessionId: string;
  thinking?: "off" | "low" | "medium" | "high" | "max" | number;
}

/** The session went back to before a message: the model forgets some turns. Their events stay, and so do their changes. */
export interface ConversationRestored {
  messages: string[];
  plan: PlanItem[];
  secrets?: Secret[];
  turns: string[];
}

/** A command that a task can call. */
export interface CustomCommandInfo {
  arguments?: CommandArgument[];
  description: string;
  hint?: string;
  name: string;
  path?: string;
  source: string;
}

/** Removes the session's events, the texts and messages that no other session needs, and its recording, for good.  Their bytes are overwritten. What it changed in files stays. Fails with `turn_running` or `session_in_use` while a turn runs; a turn that waits for an answer is cancelled first. */
export interface DeleteParams {
  sessionId: string;
}

/** The session that is gone. */
export interface DeleteResult {
  sessionId: string;
}

/** Diagnostics of one document. */
export interface Diagnostics {
  items: Record<string, unknown>[];
  uri: string;
}

/** Checks the workspace, the model (key, proxy, certificates, context window), the log, commands, search, the editor's abilities, and permissions.  Sends nothing to a provider without `probe`. */
export interface DoctorParams {
  probe?: boolean;
}

/** What was looked at. */
export interface DoctorResult {
  checks: Check[];
}

/** What shows that a turn did what it was to do. Words of the model count for nothing here. */
export interface Done {
  changed?: string[];
  checks?: CheckRun[];
  diagnostics?: DoneDiagnostics;
  line: string;
  notRun?: CheckNotRun[];
  openItems?: string[];
  state: "no_changes" | "unverified" | "checked" | "check_failed";
}

/** What the edits of a turn did to the errors that language servers find. */
export interface DoneDiagnostics {
  fixed: number;
  introduced: number;
}

/** A change is in place, verified by its text. */
export interface EditApplied {
  after?: string;
  before?: string;
  callId?: string;
  changeId: string;
  encoding?: "utf-16-le" | "utf-16-be";
  folder?: string;
  folders?: GoingFolder[];
  hidden?: ("bom" | "crlf")[];
  hunks: WireHunk[];
  keptMode?: string;
  madeFolder?: string;
  mode?: string;
  operation?: "edit" | "create" | "delete" | "rename";
  path: string;
  secrets?: Secret[];
  stays?: string;
  to?: string;
  undoes?: string;
  undoesHunks?: number[];
  where: "buffer" | "disk";
}

/** A change is about to be written.  This is on disk before the change is. An undo may begin edits of several files before the first has ended. */
export interface EditApplying {
  after?: string;
  before?: string;
  besides?: string[];
  callId?: string;
  changeId: string;
  encoding?: "utf-16-le" | "utf-16-be";
  folder?: string;
  folders?: GoingFolder[];
  hidden?: ("bom" | "crlf")[];
  hunks: WireHunk[];
  keptMode?: string;
  mode?: string;
  operation?: "edit" | "create" | "delete" | "rename";
  path: string;
  place?: string;
  secrets?: Secret[];
  to?: string;
  toPlace?: string;
  undoes?: string;
  undoesHunks?: number[];
}

/** It is in place together with what others wrote meanwhile; `after` is the text now.  If the file was deleted or renamed, their text may be left unsaved in its document. */
export interface EditMerged {
  after?: string;
  before?: string;
  callId?: string;
  changeId: string;
  encoding?: "utf-16-le" | "utf-16-be";
  folder?: string;
  folders?: GoingFolder[];
  hidden?: ("bom" | "crlf")[];
  hunks: WireHunk[];
  keptMode?: string;
  mode?: string;
  operation?: "edit" | "create" | "delete" | "rename";
  path: string;
  secrets?: Secret[];
  to?: string;
  undoes?: string;
  undoesHunks?: number[];
}

/** A change was worked out; nothing has happened yet. */
export interface EditProposed {
  after?: string;
  before?: string;
  callId?: string;
  changeId: string;
  encoding?: "utf-16-le" | "utf-16-be";
  folder?: string;
  folders?: GoingFolder[];
  hidden?: ("bom" | "crlf")[];
  hunks: WireHunk[];
  keptMode?: string;
  mode?: string;
  operation?: "edit" | "create" | "delete" | "rename";
  path: string;
  secrets?: Secret[];
  to?: string;
}

/** A change did not happen. */
export interface EditRejected {
  callId?: string;
  changeId: string;
  encoding?: "utf-16-le" | "utf-16-be";
  folder?: string;
  folders?: GoingFolder[];
  hidden?: ("bom" | "crlf")[];
  hunks: WireHunk[];
  keptMode?: string;
  mode?: string;
  operation?: "edit" | "create" | "delete" | "rename";
  path: string;
  reason: string;
  secrets?: Secret[];
  to?: string;
}

/** Something went wrong that the user should know. */
export interface ErrorRaised {
  code: string;
  message: string;
  secrets?: Secret[];
}

/** `outrider/event`: one committed event of a session's log. */
export interface Event {
  data: Record<string, unknown>;
  seq: number;
  sessionId: string;
  ts: string;
  turnId?: string;
  type: string;
  v?: 1;
}

/** Works for any client, with or without notifications.  The answer is written before any later event: read from 1 until `more` is false, then take the notifications from `nextSeq` on, and nothing is missed or repeated. */
export interface EventsParams {
  fromSeq?: number;
  limit?: number;
  sessionId: string;
}

/** Events in order. `more`: there are further ones from `nextSeq` on. */
export interface EventsResult {
  events: Event[];
  more: boolean;
  nextSeq: number;
}

/** The mode of its turn is `explore`. */
export interface ExploreParams {
  context?: Context;
  continue?: boolean;
  fork?: ForkFrom;
  limits?: LimitsPatch;
  model?: string;
  prompt: string;
  sessionId?: string;
  thinking?: "off" | "low" | "medium" | "high" | "max" | number;
}

/** One session as one file, to share, replay or play again. */
export interface Export {
  contents: Record<string, string>;
  events: Event[];
  format?: "outrider-export";
  program: string;
  removed?: Record<string, number>;
  sessionId: string;
  version?: 1;
}

/** Works for any session of the log, whoever runs it, and changes nothing.  Secrets, names and places of the machine are removed. */
export interface ExportParams {
  sessionId: string;
}

/** An attempt that failed. */
export interface FailedAttempt {
  model: string;
  reason: string;
}

/** The trust of a folder. */
export interface FolderTrust {
  added?: string;
  below?: boolean;
  path: string;
  trust: "trusted" | "read-only" | "unknown";
}

/** Where a session branches off. */
export interface ForkFrom {
  files?: boolean;
  sessionId: string;
  turnId?: string;
}

/** The new session. Its log has the events of the other one up to that turn, then `session.forked`. */
export interface ForkResult {
  fromSessionId: string;
  sessionId: string;
  turnId: string;
  undo?: UndoResult;
}

/** Text as it arrives.  Frames are not logged. Those of one `messageId` and `kind`, joined since the last `model.reset`, equal the text in the log. */
export interface Frame {
  callId?: string;
  kind: "text" | "reasoning" | "output";
  messageId?: string;
  offset: number;
  sessionId: string;
  text: string;
  turnId: string;
}

/** A folder that is deleted with its last file. */
export interface GoingFolder {
  mode: string;
  path: string;
}

/** A hook that runs. */
export interface HookCall {
  command: string;
  hook: string;
  id: string;
  refuses?: boolean;
  seconds?: number;
}

/** They came to their end. */
export interface HookFinished {
  arguments?: string;
  asks?: string;
  callId?: string;
  on: "sessionStart" | "turnStart" | "beforeTool" | "afterTool" | "turnEnd" | "sessionEnd";
  refused?: string;
  secrets?: Secret[];
  told?: string;
}

/** A command that runs at a point of a session. It gets JSON on its standard input, and may answer with a line of JSON.  `{"decision": "refuse" | "ask", "reason", "arguments", "text"}`: refuse the call or the task, have you asked about it, change its arguments, tell the model something. Exit code 2 refuses, too. No answer allows anything. A refusal at `turnEnd` has the model go on with the reason, three times in a turn at most; `again` in the JSON says that it did. */
export interface HookSettings {
  command: string;
  on: "sessionStart" | "turnStart" | "beforeTool" | "afterTool" | "turnEnd" | "sessionEnd";
  onFailure?: "ignore" | "refuse";
  tools?: string[];
}

/** Hooks run, as commands. */
export interface HookStarted {
  callId?: string;
  calls: HookCall[];
  on: "sessionStart" | "turnStart" | "beforeTool" | "afterTool" | "turnEnd" | "sessionEnd";
  secrets?: Secret[];
}

/** Takes an exported session into this workspace, under a new id, to read it and to go on with it.  Nothing that it says counts as permission, its changes cannot be undone here, and its turns have ended. */
export interface ImportParams {
  export: Export;
}

/** The new session. */
export interface ImportResult {
  sessionId: string;
  title: string;
  turns: number;
}

/** A value that an MCP server wants of the user. */
export interface InputField {
  description?: string;
  kind: "text" | "integer" | "number" | "boolean" | "choice" | "choices";
  name: string;
  options?: string[];
  required: boolean;
  title: string;
  titles?: string[];
}

/** An MCP server wants something of the user in the middle of a call. Questions follow. */
export interface InputWanted {
  callId: string;
  keys: string[];
  questions: string[];
  secrets?: Secret[];
  server: string;
  state?: string;
}

/** A folder that the model reached has instructions of its own. */
export interface InstructionsFound {
  path: string;
  secrets?: Secret[];
  told: string;
}

/** The custom command that a task calls by its first word, and what it says. */
export interface Invoked {
  name: string;
  outputs?: CommandOutput[];
  path?: string;
  source: string;
  text: string;
}

/** No process of a job is left. Between turns it belongs to none. */
export interface JobFinished {
  connections?: Connection[];
  exitCode?: number;
  jobId: string;
  output?: string;
  seconds?: number;
  secrets?: Secret[];
  signal?: number;
  status: "exited" | "killed_timeout" | "killed_idle" | "killed_full" | "lost" | "killed" | "cancelled" | "closed" | "interrupted";
  told?: string;
}

/** A background job of this process. */
export interface JobInfo {
  command: string;
  cwd: string;
  exitCode?: number;
  jobId: string;
  sandboxed: boolean;
  seconds: number;
  sessionId: string;
  signal?: number;
  status: "exited" | "killed_timeout" | "killed_idle" | "killed_full" | "lost" | "killed" | "cancelled" | "closed" | "interrupted" | "running";
  turnId: string;
}

/** A command runs in the background. */
export interface JobStarted {
  callId?: string;
  command: string;
  cwd: string;
  jobId: string;
  sandboxed: boolean;
  secrets?: Secret[];
}

/** Covers open sessions, recently ended jobs included.  An unknown job fails with `unknown_id`. Cancelling a `wait` leaves the job alone. */
export interface JobsParams {
  action?: "list" | "read" | "wait" | "kill";
  id?: string;
  sessionId?: string;
  timeout?: number;
}

/** The jobs as they are now, the oldest first; with an id, that one. */
export interface JobsResult {
  jobs: JobInfo[];
  output?: string;
}

/** An entry of the system's keyring. */
export interface KeyringEntry {
  service?: string;
  username: string;
}

/** Ask the editor's own language servers. Nothing is applied, shown or saved. */
export interface LanguageParams {
  encoding: "utf-8" | "utf-16" | "utf-32";
  method: "textDocument/diagnostic" | "workspace/diagnostic" | "textDocument/definition" | "textDocument/references" | "textDocument/documentSymbol" | "workspace/symbol" | "textDocument/hover" | "textDocument/prepareCallHierarchy" | "callHierarchy/incomingCalls" | "callHierarchy/outgoingCalls" | "textDocument/rename" | "textDocument/codeAction" | "codeAction/resolve" | "textDocument/formatting" | "textDocument/rangeFormatting";
  params: Record<string, unknown>;
  uris: string[];
}

/** An error or any other shape is no answer. */
export interface LanguageReply {
  by?: string[];
  encoding?: "utf-8" | "utf-16" | "utf-32";
  result?: unknown;
  unserved?: string;
  versions?: Record<string, number>;
}

/** A language server that you add, or what you change about a known one. */
export interface LanguageServerSettings {
  command?: string[];
  enabled?: boolean;
  languages?: string[];
  rootMarkers?: string[];
  settings?: Record<string, unknown>;
}

/** How fast an answer came. */
export interface Latency {
  firstTokenMs: number;
  tokensPerSecond?: number;
}

/** Ends what `outrider.resume` of a session in another process began; that one runs on. */
export interface LeaveParams {
  sessionId: string;
}

/** The session that is no longer watched. */
export interface LeaveResult {
  sessionId: string;
}

/** A session of another process is watched no longer: it was released there, or that process ended.  It comes after the last event of that process. */
export interface Left {
  sessionId: string;
  unfinished: boolean;
}

/** A file that was changed and is not in the patch. */
export interface LeftOut {
  path: string;
  reason: string;
}

/** Budgets of one turn and time-outs. A spent budget ends the turn as `budget_exhausted` with a summary. */
export interface Limits {
  askSeconds?: number;
  commandIdleSeconds?: number;
  commandSeconds?: number;
  cost?: number;
  jobIdleSeconds?: number;
  jobSeconds?: number;
  outputBytes?: number;
  seconds?: number;
  steps?: number;
  tokens?: number;
}

/** Some of the limits: what a layer of settings or a single run changes. Field by field as in `Limits`. */
export interface LimitsPatch {
  askSeconds?: number;
  commandIdleSeconds?: number;
  commandSeconds?: number;
  cost?: number;
  jobIdleSeconds?: number;
  jobSeconds?: number;
  outputBytes?: number;
  seconds?: number;
  steps?: number;
  tokens?: number;
}

/** A map of the workspace's names was ready for a turn. */
export interface MapDrawn {
  secrets?: Secret[];
  told: string;
}

/** Works whether or not turns get a map. The first call waits until all files are read. */
export interface MapParams {
  files?: string[];
  prompt?: string;
  tokens?: number;
}

/** The repository map for that, whether or not turns get one. */
export interface MapResult {
  files: number;
  text: string;
}

/** There is no answer. */
export interface ModelFailed {
  kind: string;
  message: string;
  messageId: string;
  purpose: string;
  secrets?: Secret[];
  usage?: Usage;
}

/** The request goes to another model, which keeps the rest of the turn. */
export interface ModelFellBack {
  from: string;
  messageId: string;
  reason: string;
  secrets?: Secret[];
  to: string;
  usage?: Usage;
}

/** A model that a task can name. */
export interface ModelInfo {
  contextWindow: number;
  model: string;
  named: boolean;
  price?: Price;
  tier?: "small" | "mid" | "frontier";
}

/** How fast a model was: the mean of its first five answers in the session; each later answer counts a fifth. */
export interface ModelLatency {
  firstTokenMs: number;
  model: string;
  requests: number;
  tokensPerSecond?: number;
}

/** A model cannot do something that the settings ask for. Once per turn for each. */
export interface ModelLimited {
  message: string;
  messageId: string;
  model: string;
  secrets?: Secret[];
}

/** A request is about to go to the model. */
export interface ModelRequested {
  contextWindow?: number;
  editFormat?: string;
  maxTokens?: number;
  messageId: string;
  messages: string[] | AddedMessages;
  model: string;
  purpose: string;
  secrets?: Secret[];
  steering?: string[];
  temperature?: number;
  toolFormat?: string;
  tools: string[];
  toolsHash: string;
}

/** Text that was shown is withdrawn; drop it. Frames of the same `messageId` may follow. */
export interface ModelReset {
  messageId: string;
  reason: string;
  secrets?: Secret[];
  text: string;
}

/** The model answered. */
export interface ModelResponded {
  finishReason: string;
  latency?: Latency;
  messageId: string;
  providerData?: WireProviderData;
  purpose?: string;
  reasoning?: string;
  searches?: WebSearch[];
  secrets?: Secret[];
  text: string;
  toolCalls: WireToolCall[];
  usage?: Usage;
}

/** A request is made again. */
export interface ModelRetried {
  attempt: number;
  attempts?: number;
  message?: string;
  messageId: string;
  model: string;
  reason: string;
  secrets?: Secret[];
  usage?: Usage;
  wait?: number;
}

/** A model was chosen for the next request. */
export interface ModelRouted {
  by: "order" | "score";
  candidates: RouteCandidate[];
  contextWindow: number;
  model: string;
  others?: string[];
  purpose: string;
  reason: "first_step" | "after_reasoning" | "step" | "side_task";
  secrets?: Secret[];
  tier?: "small" | "mid" | "frontier";
  tokens: number;
  wanted: "small" | "mid" | "frontier";
}

/** What you know of a model. */
export interface ModelSettings {
  contextWindow?: number;
  editFormat?: "replace" | "patch" | "whole";
  maxTokens?: number;
  price?: Price;
  reasoning?: boolean;
  thinking?: "off" | "low" | "medium" | "high" | "max" | number;
  toolFormat?: "native" | "hermes" | "qwen3-coder-xml" | "llama3-json" | "pythonic" | "llama4-pythonic" | "mistral" | "deepseek" | "glm-xml" | "kimi" | "granite" | "harmony" | "minimax-xml" | "gemma" | "lfm2" | "json-array" | "bare-json" | "react" | "react-json" | "bracket" | "outrider";
  toolStrength?: "weak" | "medium" | "strong";
  vision?: boolean;
  webSearch?: boolean;
}

/** The model gets and writes tool calls as text from now on, and the request is made again. */
export interface ModelSwitched {
  messageId: string;
  model: string;
  reason: string;
  secrets?: Secret[];
  toolFormat: string;
}

/** Configured providers are asked for their lists, for five seconds at most. It has no params. */
export interface ModelsParams {

}

/** The models, those that the settings name first. */
export interface ModelsResult {
  model?: string;
  models: ModelInfo[];
  problems: string[];
}

/** A rule to save. If it already exists, the new `expires` holds. */
export interface NewRule {
  command?: string;
  decision: "allow" | "ask" | "deny";
  exact?: boolean;
  expires?: string;
  host?: string;
  path?: string;
  scope?: "workspace" | "everywhere";
  script?: string;
  tool: string;
}

/** A document that the client did not save. */
export interface NotSaved {
  path: string;
  reason: string;
}

/** What cannot be undone. */
export interface NotUndoable {
  reason: string;
  what: string;
}

/** Something that waits for the user or for a client tool. */
export interface Open {
  allowFreeForm?: boolean;
  always?: RulePattern[];
  callId?: string;
  detail?: string;
  documentUri?: string;
  fields?: InputField[];
  group?: string;
  id: string;
  kind: "approval" | "question" | "tool";
  options?: string[];
  summary?: string;
  title: string;
  turnId: string;
  url?: string;
}

/** The documents are in `.outrider/` of the first workspace folder, which git ignores.  They are the task document, an open item in full (an edit is reviewed in it), one to write an answer in, the changes of a turn, of which some can be left out, or the one in which a model is set up. */
export interface OpenParams {
  id?: string;
  what?: "task" | "review" | "answer" | "changes" | "setup";
}

/** The document. */
export interface OpenResult {
  uri: string;
}

/** A steering text that the model has not seen yet. */
export interface PendingSteering {
  pendingId: string;
  text: string;
}

/** Covers the user's rules, those of the workspace's `.outrider/rules.toml`, and grants of open sessions.  A rule that allows nearly anything (`bash`, `git` without a sub-command, edits without a path), or that names a tool nobody has, fails with `invalid`. While the user's file is damaged every change fails with `cannot_write`. */
export interface PermissionsParams {
  action?: "list" | "add" | "remove" | "open";
  id?: string;
  rule?: NewRule;
}

/** The rules as they are now, the user's first. */
export interface PermissionsResult {
  path: string;
  problem?: string;
  rules: RuleInfo[];
}

/** One point of the plan. */
export interface PlanItem {
  status?: "pending" | "in_progress" | "done";
  text: string;
}

/** Its steps stand under `## Steps`, its checks under `## Checks`. What is open in an editor counts, saved or not.  The steps become the plan of the turn, the checks its `acceptance`. It runs in the session that planned it, if that is open here and idle, else in a new one. A document that is missing or says no step fails with `invalid`. */
export interface PlanParams {
  acceptance?: string[];
  limits?: LimitsPatch;
  model?: string;
  sessionId?: string;
  thinking?: "off" | "low" | "medium" | "high" | "max" | number;
  uri: string;
}

/** The plan is now this. */
export interface PlanUpdated {
  items: PlanItem[];
  secrets?: Secret[];
}

/** A planning turn wrote its document. The user may have changed it since; `outrider.plan` starts what it says then. */
export interface PlanWritten {
  brief: string[];
  checks: string[];
  files: string[];
  goal: string;
  path: string;
  secrets?: Secret[];
  steps: string[];
}

/** A place in a document, from 0, in the negotiated encoding. */
export interface Position {
  character: number;
  line: number;
}

/** What a million tokens cost, in one currency for all models. */
export interface Price {
  cached?: number;
  input: number;
  output: number;
}

/** A problem that a language server finds in a file. */
export interface Problem {
  code?: string;
  line: number;
  message: string;
  path: string;
  severity: "error" | "warning" | "information" | "hint";
  source?: string;
}

/** A message of a request, as the model gets it. */
export interface PromptMessage {
  images?: WireImage[];
  reasoning?: string;
  role: "system" | "user" | "assistant" | "tool";
  sections?: PromptSection[];
  text: string;
  tokens: number;
  toolCallId?: string;
  toolCalls?: WireToolCall[];
}

/** As it would be sent now, before anything is left out for its length and before the provider's dialect.  For a session at rest: what a next task would find. Sends nothing. */
export interface PromptParams {
  sessionId: string;
}

/** The next request as it would be made now, before anything is left out because of its length. */
export interface PromptResult {
  contextWindow?: number;
  counted?: number;
  messages: PromptMessage[];
  model?: string;
  sections: PromptSection[];
  sessionId: string;
  tokens: number;
  toolFormat?: string;
  tools: ToolInfo[];
}

/** A part of a request, and about how many tokens it has. */
export interface PromptSection {
  kind: string;
  name?: string;
  tokens: number;
}

/** One place that serves models. */
export interface ProviderSettings {
  apiKeyCommand?: string[];
  apiKeyEnv?: string;
  apiKeyFile?: string;
  apiKeyHeader?: "authorization" | "x-api-key" | "api-key" | "x-goog-api-key";
  apiKeyKeyring?: KeyringEntry;
  baseUrl: string;
  caFile?: string;
  cacheMarks?: boolean;
  connectSeconds?: number;
  contextWindow?: number;
  extraBody?: Record<string, unknown>;
  firstTokenSeconds?: number;
  headers?: Record<string, string>;
  kind: "openai-chat" | "openai-responses" | "anthropic" | "ollama" | "gemini";
  maxTokens?: number;
  proxy?: string;
  stallSeconds?: number;
  temperature?: number;
}

/** The user answered. */
export interface QuestionAnswered {
  answer: string;
  callId?: string;
  channel?: string;
  id: string;
  secrets?: Secret[];
}

/** A question to the user. */
export interface QuestionAsked {
  allowFreeForm?: boolean;
  callId?: string;
  detail?: string;
  fields?: InputField[];
  id: string;
  options?: string[];
  question: string;
  secrets?: Secret[];
  url?: string;
}

/** Tasks that wait got another order or other texts. */
export interface QueueChanged {
  queue: QueuedRun[];
  secrets?: Secret[];
}

/** Changes what waits: a task behind the running turn, or a text that the model has not got yet.  What has begun meanwhile, or is unknown, fails with `unknown_id`. */
export interface QueueParams {
  action: "edit" | "move" | "remove" | "steer";
  id: string;
  sessionId: string;
  text?: string;
  to?: number;
}

/** What waits now. */
export interface QueueResult {
  queue: QueuedRun[];
  sessionId: string;
  steering: PendingSteering[];
}

/** A task that waits for the running turn. */
export interface QueuedRun {
  prompt: string;
  turnId: string;
}

/** A command that ran, as evidence. */
export interface Ran {
  command: string;
  connections?: Connection[];
  exitCode?: number;
  failures?: CheckFailure[];
  kind: "test" | "types" | "lint" | "build" | "other";
}

/** A stretch of a document. */
export interface Range {
  end: Position;
  start: Position;
}

/** A text that a call read, as it was then. */
export interface ReadText {
  hash: string;
  path: string;
}

/** A question that the user was not asked, because they had answered it before. */
export interface Recalled {
  answer: string;
  question: string;
}

/** The name stays, whatever a model would call the session. */
export interface RenameParams {
  sessionId: string;
  title: string;
}

/** The session's name now. */
export interface RenameResult {
  sessionId: string;
  title: string;
}

/** A file that has a new path. */
export interface RenamedFile {
  path: string;
  place?: string;
  to: string;
  toPlace?: string;
}

/** The names that the workspace's files define, of which the model is told those that matter for what is at hand. */
export interface RepositoryMapSettings {
  enabled?: boolean;
  tokens?: number;
}

/** Restores a session to before a message, as `outrider.restore` does, and sends another one in its place.  Context, mode, limits and checks are those of the message that is replaced, unless they are given. */
export interface ResendParams {
  context?: Context;
  files?: boolean;
  mode?: "agent" | "plan" | "explore";
  model?: string;
  prompt: string;
  sessionId: string;
  turnId: string;
}

/** Takes a session back to before a message, by default the files and the conversation.  Fails with `turn_running` while a turn runs. The log keeps everything: `outrider.redo` brings the files back, and a fork that ends with one of the turns brings the conversation back. */
export interface RestoreParams {
  conversation?: boolean;
  files?: boolean;
  sessionId: string;
  turnId: string;
}

/** What was restored. */
export interface RestoreResult {
  prompt: string;
  sessionId: string;
  turnId: string;
  turns: string[];
  undo?: UndoResult;
}

/** An interrupted turn continues, and open items are asked again.  The model is told what was undone or changed meanwhile. A command that was running is not run again: its result is `interrupted`, `notUndoable` of `outrider.changes` names it, and the turn cannot end as `no_changes`.  A session that another process runs is joined: its events come here too, its open items are asked here as well, and the first answer counts. That ends with `outrider.leave`, or when the other process releases the session. */
export interface ResumeParams {
  sessionId: string;
}

/** A turn that waits for its next attempt at a model makes it at once; else it fails with `not_waiting`.  A turn that failed, was refused or was cancelled is tried again, by a new turn that begins where it stopped: its task, its steps and their results are in the conversation. Possible for the latest turn of its session. */
export interface RetryParams {
  model?: string;
  turnId: string;
}

/** What runs now. */
export interface RetryResult {
  sessionId: string;
  turnId: string;
}

/** How long a request is repeated that failed for a passing reason: overload, rate limit, a broken connection. */
export interface RetrySettings {
  attempts?: number;
  seconds?: number;
}

/** A decision about one hunk of an edit. */
export interface ReviewedHunk {
  decision: "take" | "reject";
  id: string;
  reason?: string;
  text?: string;
}

/** A model that was considered. */
export interface RouteCandidate {
  leftOut?: string;
  model: string;
  price?: number;
  score?: number;
  tier?: "small" | "mid" | "frontier";
}

/** How one is chosen among the models of `tiers`. */
export interface Routing {
  by?: "order" | "score";
  toolStrength?: "weak" | "medium" | "strong";
}

/** A rule. */
export interface RuleInfo {
  added?: string;
  command?: string;
  decision: "allow" | "ask" | "deny";
  exact?: boolean;
  expires?: string;
  hits?: number;
  host?: string;
  id: string;
  origin: string;
  path?: string;
  scope: "session" | "workspace" | "everywhere";
  script?: string;
  text: string;
  tool: string;
  workspace?: string;
}

/** What a rule covers. */
export interface RulePattern {
  command?: string;
  exact?: boolean;
  host?: string;
  path?: string;
  script?: string;
  tool: string;
}

/** It starts at once, or waits in the queue of a busy session. Cancelling this request does not end the turn. */
export interface RunParams {
  acceptance?: string[];
  context?: Context;
  continue?: boolean;
  draft?: string;
  fork?: ForkFrom;
  limits?: LimitsPatch;
  mode?: "agent" | "plan" | "explore";
  model?: string;
  plan?: PlanItem[];
  planDocument?: string;
  prompt: string;
  sessionId?: string;
  thinking?: "off" | "low" | "medium" | "high" | "max" | number;
}

/** The turn that was started, or queued behind the one that is running. */
export interface RunResult {
  queued?: boolean;
  sessionId: string;
  turnId: string;
}

/** The commands of this session run without a sandbox.  Once, before the first command that permission mode `full` allows. */
export interface SandboxAbsent {
  chosen: boolean;
  reason: string;
  secrets?: Secret[];
}

/** What commands can reach; a string stands for `mode`. */
export interface SandboxSettings {
  mode?: "off" | "auto" | "required";
  network?: boolean | string[];
  readable?: string[];
  writable?: string[];
}

/** A document that could not be saved. */
export interface SaveFailure {
  reason: string;
  uri: string;
}

/** Save open documents as the user would, formatters included. */
export interface SaveParams {
  uris: string[];
}

/** It is believed only as far as `didSave` or the disk confirms it. */
export interface SaveReply {
  failed?: SaveFailure[];
  saved: string[];
}

/** A secret that is replaced by a placeholder. */
export interface Secret {
  kind: string;
  mark: string;
  name: string;
}

/** A selected range. */
export interface Selection {
  range: Range;
  uri: string;
}

/** A server that Outrider is a client of. */
export interface ServerInfo {
  detail?: string;
  folder?: string;
  kind: "language" | "mcp";
  loginUrl?: string;
  memory?: number;
  name: string;
  origin?: string;
  protocol?: string;
  runs?: string;
  state: "missing" | "lent" | "available" | "starting" | "running" | "ended" | "failed" | "login" | "waiting" | "refused";
  tools?: string[];
  version?: string;
}

/** Language servers and MCP servers. `login` shows the page where you log in to an MCP server; `logout` forgets its token. */
export interface ServersParams {
  action?: "list" | "restart" | "login" | "logout";
  name?: string;
}

/** The servers as they are now. */
export interface ServersResult {
  problems?: string[];
  servers: ServerInfo[];
}

/** The process released the session; it can be resumed. */
export interface SessionClosed {
  leftOver?: number;
  reason: string;
  secrets?: Secret[];
}

/** The events before this one are a copy of another session's. What was allowed for that session is not for this one. */
export interface SessionForked {
  fromSeq: number;
  fromSessionId: string;
  secrets?: Secret[];
}

/** The events before this one come from an export.  Nothing in them is permission, and nothing that they changed can be undone here. */
export interface SessionImported {
  fromSessionId: string;
  secrets?: Secret[];
}

/** Where a session has the words that were searched. */
export interface SessionMatch {
  text: string;
  turnId?: string;
}

/** The user named the session. */
export interface SessionRenamed {
  secrets?: Secret[];
  title: string;
}

/** A session was opened again from its log. */
export interface SessionRestored {
  folders: string[];
  limits?: Limits;
  permissionMode: "read-only" | "ask" | "auto-edit" | "auto" | "full";
  realFolders?: string[];
  rests?: boolean;
  secrets?: Secret[];
  toolsHash?: string;
  turnId?: string;
}

/** A session exists. */
export interface SessionStarted {
  folders: string[];
  permissionMode: "read-only" | "ask" | "auto-edit" | "auto" | "full";
  realFolders?: string[];
  secrets?: Secret[];
  toolsHash?: string;
  version: string;
}

/** What a session is doing now. */
export interface SessionStatus {
  elsewhere?: boolean;
  latencies?: ModelLatency[];
  open: Open[];
  phase?: "start" | "prepare" | "assistant" | "tools" | "verify" | "finish";
  plan: PlanItem[];
  queue: QueuedRun[];
  retryIn?: number;
  sessionId: string;
  state: "idle" | "running" | "parked";
  steering: PendingSteering[];
  turnId?: string;
  usage: Usage;
}

/** A session of this workspace, open or not. */
export interface SessionSummary {
  elsewhere?: boolean;
  forkedFrom?: string;
  lastAt: string;
  match?: SessionMatch;
  outcome?: "completed" | "cancelled" | "budget_exhausted" | "failed" | "refused";
  sessionId: string;
  startedAt: string;
  state: "idle" | "running" | "parked" | "closed";
  title: string;
  turns: number;
}

/** A model was asked for a title, once, beside the first steps. `usage` counts with the turn that runs. */
export interface SessionTitled {
  failed?: FailedAttempt[];
  model: string;
  reason?: string;
  routed?: ModelRouted;
  secrets?: Secret[];
  title?: string;
  usage?: Usage;
}

/** The latest first. */
export interface SessionsParams {
  limit?: number;
  query?: string;
}

/** The sessions of this workspace, the latest first. */
export interface SessionsResult {
  sessions: SessionSummary[];
}

/** Everything that can be set. */
export interface Settings {
  autonomy?: "cautious" | "balanced" | "decisive";
  codeLens?: boolean;
  commandEnvironment?: string[];
  events?: boolean;
  fallbackModels?: string[];
  hooks?: HookSettings[];
  languageServers?: Record<string, LanguageServerSettings>;
  limits?: Limits;
  mcpServers?: Record<string, Record<string, unknown>>;
  memory?: boolean;
  model?: string;
  modelTitles?: boolean;
  models?: Record<string, ModelSettings>;
  permissionMode?: "read-only" | "ask" | "auto-edit" | "auto" | "full";
  providers?: Record<string, ProviderSettings>;
  recording?: boolean;
  reminders?: boolean;
  repositoryMap?: RepositoryMapSettings;
  retry?: RetrySettings;
  routing?: Routing;
  sandbox?: SandboxSettings;
  skills?: boolean;
  stateDir?: string;
  store?: StoreSettings;
  testing?: TestingSettings;
  thinking?: "off" | "low" | "medium" | "high" | "max" | number;
  tiers?: Tiers;
  tools?: ClientTool[];
  trialDiagnostics?: "off" | "errors" | "all";
  trusted?: boolean;
  verify?: string[];
  web?: WebSettings;
}

/** The mode became narrower during the turn, and counts at once. */
export interface SettingsChanged {
  permissionMode: "read-only" | "ask" | "auto-edit" | "auto" | "full";
  secrets?: Secret[];
}

/** A model that a provider offers. */
export interface SetupModel {
  contextWindow?: number;
  name: string;
  price?: Price;
  tools?: boolean;
}

/** Leads from nothing to a model that answers: `list` providers, see the `models` of one, `try` one, `save` it.  Nothing is written before `save`, which changes the user's `settings.toml` and counts from the next turn on. Only `models` and `try` ask the provider; `try` costs one small request. */
export interface SetupParams {
  action?: "list" | "models" | "try" | "save";
  apiKeyEnv?: string;
  baseUrl?: string;
  keep?: "keyring" | "file" | "env" | "client";
  key?: string;
  kind?: "openai-chat" | "openai-responses" | "anthropic" | "ollama" | "gemini";
  model?: string;
  provider?: string;
}

/** A provider that can be set up. */
export interface SetupProvider {
  apiKeyEnv?: string;
  baseUrl: string;
  configured?: boolean;
  found?: string;
  kind: "openai-chat" | "openai-responses" | "anthropic" | "ollama" | "gemini";
  name: string;
  needsKey: boolean;
  title: string;
}

/** What the step gave. */
export interface SetupResult {
  file?: string;
  keeps?: ("keyring" | "file" | "env" | "client")[];
  model?: string;
  models?: SetupModel[];
  note?: string;
  problem?: string;
  providers?: SetupProvider[];
  trial?: SetupTrial;
  written?: string;
}

/** What came of one real request. */
export interface SetupTrial {
  detail: string;
  ok: boolean;
  seconds: number;
}

/** Without params of all that are open in this process. */
export interface StatusParams {
  sessionId?: string;
}

/** The sessions that are open in this process. */
export interface StatusResult {
  model?: string;
  sessions: SessionStatus[];
}

/** Exactly one of `text` and `remove`. The model gets the text with its next request. */
export interface SteerParams {
  draft?: string;
  remove?: string;
  sessionId: string;
  text?: string;
}

/** The steering text's id. */
export interface SteerResult {
  pendingId: string;
}

/** A text for the running turn: queued, or withdrawn before the model had it. The same id again replaces its text. */
export interface SteeringReceived {
  pendingId: string;
  secrets?: Secret[];
  state?: "queued" | "removed";
  text: string;
}

/** How long the log keeps the texts of changed files, which undo needs. */
export interface StoreSettings {
  keepDays?: number;
  maxBytes?: number;
}

/** A clock that stands still: it moves by `stepMs` at each reading and by every delay a script asks for. */
export interface TestingClock {
  start?: string;
  stepMs?: number;
}

/** Makes a run repeatable to the byte. Only with a scripted or recorded model. */
export interface TestingSettings {
  clock?: TestingClock;
  ids?: "sequential";
  sandboxes?: ("bubblewrap" | "landlock" | "sandbox-exec")[];
}

/** The models of one tier; a list alone stands for `models`. */
export interface TierSettings {
  models?: (string | string[])[];
  thinking?: "off" | "low" | "medium" | "high" | "max" | number;
}

/** Models by what they are good for. */
export interface Tiers {
  frontier?: TierSettings;
  mid?: TierSettings;
  small?: TierSettings;
}

/** The client, or somebody in its place, gave the result of such a call. */
export interface ToolAnswered {
  callId: string;
  channel?: string;
  content: string;
  id: string;
  secrets?: Secret[];
  status: "ok" | "error";
}

/** A call went to the client, whose tool it is. It is asked again under the same id after a restart. */
export interface ToolAsked {
  callId: string;
  id: string;
  name: string;
  secrets?: Secret[];
}

/** The result of a call. Every call has exactly one. */
export interface ToolFinished {
  callId: string;
  content: string;
  images?: WireImage[];
  masked?: number;
  name: string;
  ran?: Ran;
  read?: ReadText[];
  recalled?: Recalled;
  secrets?: Secret[];
  status: "ok" | "error" | "denied" | "cancelled" | "interrupted" | "skipped";
  verdict?: Verdict;
}

/** One tool as the model sees it. */
export interface ToolInfo {
  description: string;
  effect: "read" | "edit" | "execute" | "ask";
  inputSchema: Record<string, unknown>;
  name: string;
}

/** Run a tool that the client registered. */
export interface ToolParams {
  again?: boolean;
  callId: string;
  id: string;
  input: Record<string, unknown>;
  name: string;
  sessionId: string;
  turnId: string;
}

/** Anything else counts as no answer. */
export interface ToolReply {
  content: string;
  isError?: boolean;
}

/** The model called a tool. */
export interface ToolRequested {
  callId: string;
  input: unknown;
  name: string;
  secrets?: Secret[];
}

/** The call passed its checks and approval; its effect begins. */
export interface ToolStarted {
  callId: string;
  secrets?: Secret[];
}

/** Which mode the tools are listed for. */
export interface ToolsParams {
  mode?: "agent" | "plan" | "explore";
}

/** The tools. */
export interface ToolsResult {
  tools: ToolInfo[];
}

/** Something that a command changed and that no undo restores. */
export interface TouchedFile {
  how: "changed" | "created" | "deleted" | "mode";
  kind?: "link" | "folder" | "shut";
  mode?: string;
  modeAfter?: string;
  path: string;
  to?: string;
}

/** A part of the first messages that was left out or cut. */
export interface TrimmedPart {
  kind: string;
  left: number;
  name?: string;
}

/** `trust`, `read-only` and `forget` change the user's file.  A path that is not a folder fails with `invalid`, an unknown folder to forget with `unknown_id`, and every change with `cannot_write` while the file is damaged. */
export interface TrustParams {
  action?: "list" | "trust" | "read-only" | "forget";
  below?: boolean;
  folder?: string;
}

/** What was said of folders, and what holds for those of the workspace. */
export interface TrustResult {
  folders: FolderTrust[];
  path: string;
  problem?: string;
  workspace: FolderTrust[];
}

/** The turn is over; exactly one for each turn. */
export interface TurnFinished {
  done?: Done;
  outcome: "completed" | "cancelled" | "budget_exhausted" | "failed" | "refused";
  reason: string;
  secrets?: Secret[];
  summary: string;
  usage: Usage;
}

/** The turn waits for the user. */
export interface TurnParked {
  open: Open[];
  secrets?: Secret[];
}

/** The turn went from one phase to the next. */
export interface TurnPhase {
  from: "start" | "prepare" | "assistant" | "tools" | "verify" | "finish";
  reason: string;
  secrets?: Secret[];
  to: "start" | "prepare" | "assistant" | "tools" | "verify" | "finish";
}

/** A task waits for the running turn. */
export interface TurnQueued {
  checks?: string[];
  context?: Context;
  continues?: string;
  invoked?: Invoked;
  limits?: Record<string, unknown>;
  mode: "agent" | "plan" | "explore";
  model: string;
  plan?: PlanItem[];
  planDocument?: string;
  prompt: string;
  secrets?: Secret[];
  thinking?: "off" | "low" | "medium" | "high" | "max" | number;
}

/** An open item was answered; the turn continues. */
export interface TurnResumed {
  id: string;
  secrets?: Secret[];
}

/** What a turn goes by besides its own values. */
export interface TurnSettings {
  autonomy?: "cautious" | "balanced" | "decisive";
  limits: Limits;
  permissionMode: "read-only" | "ask" | "auto-edit" | "auto" | "full";
}

/** A turn began. */
export interface TurnStarted {
  checks?: string[];
  context?: Context;
  continues?: string;
  invoked?: Invoked;
  limits?: Record<string, unknown>;
  mode: "agent" | "plan" | "explore";
  model: string;
  plan?: PlanItem[];
  planDocument?: string;
  prompt: string;
  secrets?: Secret[];
  settings?: TurnSettings;
  thinking?: "off" | "low" | "medium" | "high" | "max" | number;
}

/** The user was asked about a place that others changed since. */
export interface UndoAsked {
  choice?: string;
  id: string;
  line: number;
  path: string;
  secrets?: Secret[];
}

/** What an undo or a redo did. */
export interface UndoFinished {
  conflicts: Conflict[];
  notUndoable: NotUndoable[];
  secrets?: Secret[];
  undone: UndonePath[];
}

/** Works hunk by hunk in the current text, and keeps what others wrote since.  Where the same place was changed, the user is asked. A parked or interrupted turn is not continued by it. */
export interface UndoParams {
  dryRun?: boolean;
  id?: string;
  ids?: string[];
  latest?: boolean;
  says?: boolean;
  scope?: "hunk" | "step" | "turn" | "session";
  sessionId?: string;
  wait?: boolean;
}

/** Changes are undone or redone; `edit.*` events follow. It belongs to no turn. */
export interface UndoRequested {
  id?: string;
  redo?: boolean;
  scope: "hunk" | "step" | "turn" | "session";
  secrets?: Secret[];
}

/** What an undo or a redo did, or would do. */
export interface UndoResult {
  changeId: string;
  conflicts: Conflict[];
  notUndoable: NotUndoable[];
  undone: UndonePath[];
}

/** What was undone or redone in one file. */
export interface UndonePath {
  hunks: number;
  path: string;
}

/** Tokens used. */
export interface Usage {
  cachedTokens?: number;
  cost?: number;
  estimated?: boolean;
  inputTokens?: number;
  outputTokens?: number;
  reasoningTokens?: number;
}

/** What an edit does to the problems of the files it changes and of those that refer to them. */
export interface Verdict {
  fixed?: Problem[];
  fixedCount?: number;
  introduced?: Problem[];
  introducedCount?: number;
  silent?: string[];
  unfollowed?: number;
  unjudged?: number;
}

/** Language servers came to a verdict on edits after their results were given, or looked again at problems that are left. */
export interface VerdictFound {
  secrets?: Secret[];
  told?: string;
  verdict: Verdict;
}

/** They came to their end. */
export interface VerifyFinished {
  attempt: number;
  failed: string[];
  secrets?: Secret[];
  told?: string;
}

/** The model stopped after a change, and the checks of the task are run. */
export interface VerifyStarted {
  attempt: number;
  calls: CheckCall[];
  ignored?: string[];
  secrets?: Secret[];
}

/** `$/cancelRequest` ends the wait, not the turn. A `workDoneToken` shows the turn's progress. */
export interface WaitParams {
  timeout?: number;
  turnId: string;
}

/** How it stands: no `outcome` means that the turn is still running. */
export interface WaitResult {
  done?: Done;
  open?: Open[];
  outcome?: "completed" | "cancelled" | "budget_exhausted" | "failed" | "refused" | "needs_input";
  reason?: string;
  summary?: string;
  turnId: string;
  usage?: Usage;
}

/** A page that a search found or opened. */
export interface WebPage {
  title?: string;
  url: string;
}

/** What a provider did on the web for a model. */
export interface WebSearch {
  pages?: WebPage[];
  problem?: string;
  query?: string;
}

/** What the tool `fetch_url` may read. */
export interface WebSettings {
  hosts?: string[];
}

/** One changed stretch of a text, in whole lines. */
export interface WireHunk {
  added: string;
  line: number;
  removed: string;
}

/** An image. Its bytes are in the log's store, not in any event or export. */
export interface WireImage {
  hash: string;
  height: number;
  mediaType: string;
  name: string;
  size: number;
  width: number;
}

/** What a model wants back word for word, such as signed reasoning. */
export interface WireProviderData {
  blocks: string;
  model: string;
}

/** A tool call as the model wrote it. */
export interface WireToolCall {
  arguments: string;
  id: string;
  name: string;
  refused?: string;
}

/** A file was changed by others: the user, a formatter, a command.  It is one that the session knows, or that changed after a check. Of one that the model has not read only the path is told. */
export interface WorkspaceChanged {
  after?: string;
  before?: string;
  by?: "editor" | "disk" | "command" | "undo";
  callId?: string;
  changeId?: string;
  encoding?: "utf-16-le" | "utf-16-be";
  folder?: string;
  folders?: GoingFolder[];
  hunks: WireHunk[];
  madeFolder?: string;
  mode?: string;
  modeAfter?: string;
  path: string;
  place?: string;
  secrets?: Secret[];
  told?: string;
  unshown?: boolean;
  unsure?: boolean;
  whole?: boolean;
}

/** Files that changed after a check are ignored (by `.gitignore` and the like), so the check still stands. */
export interface WorkspaceIgnored {
  paths: string[];
  secrets?: Secret[];
}

/** A file or folder was renamed in the editor.  For a session at rest it is in the log alone, even after `session.closed`. */
export interface WorkspaceRenamed {
  files: RenamedFile[];
  path: string;
  secrets?: Secret[];
  to: string;
  told: string;
}

/** Before a command the client was asked to save what the agent had changed. */
export interface WorkspaceSaved {
  by: "extension" | "refactoring";
  callId: string;
  failed?: NotSaved[];
  paths: string[];
  secrets?: Secret[];
}

/** What else a command did to files of the workspace; no undo takes it back. */
export interface WorkspaceTouched {
  callId: string;
  command: string;
  files: TouchedFile[];
  more?: number;
  secrets?: Secret[];
  unseen?: string;
}

/** The commands of `workspace/executeCommand`. */
export interface Commands {
  "outrider.answer": { params: AnswerParams; result: AnswerResult };
  "outrider.cancel": { params: CancelParams; result: CancelResult };
  "outrider.changes": { params: ChangesParams; result: ChangesResult };
  "outrider.commands": { params: CommandsParams; result: CommandsResult };
  "outrider.continue": { params: ContinueParams; result: RunResult };
  "outrider.delete": { params: DeleteParams; result: DeleteResult };
  "outrider.doctor": { params: DoctorParams; result: DoctorResult };
  "outrider.events": { params: EventsParams; result: EventsResult };
  "outrider.explore": { params: ExploreParams; result: RunResult };
  "outrider.export": { params: ExportParams; result: Export };
  "outrider.fork": { params: ForkFrom; result: ForkResult };
  "outrider.import": { params: ImportParams; result: ImportResult };
  "outrider.jobs": { params: JobsParams; result: JobsResult };
  "outrider.leave": { params: LeaveParams; result: LeaveResult };
  "outrider.map": { params: MapParams; result: MapResult };
  "outrider.models": { params: ModelsParams; result: ModelsResult };
  "outrider.open": { params: OpenParams; result: OpenResult };
  "outrider.permissions": { params: PermissionsParams; result: PermissionsResult };
  "outrider.plan": { params: PlanParams; result: RunResult };
  "outrider.prompt": { params: PromptParams; result: PromptResult };
  "outrider.queue": { params: QueueParams; result: QueueResult };
  "outrider.redo": { params: UndoParams; result: UndoResult };
  "outrider.rename": { params: RenameParams; result: RenameResult };
  "outrider.resend": { params: ResendParams; result: RunResult };
  "outrider.restore": { params: RestoreParams; result: RestoreResult };
  "outrider.resume": { params: ResumeParams; result: SessionStatus };
  "outrider.retry": { params: RetryParams; result: RetryResult };
  "outrider.run": { params: RunParams; result: RunResult };
  "outrider.servers": { params: ServersParams; result: ServersResult };
  "outrider.sessions": { params: SessionsParams; result: SessionsResult };
  "outrider.setup": { params: SetupParams; result: SetupResult };
  "outrider.status": { params: StatusParams; result: StatusResult };
  "outrider.steer": { params: SteerParams; result: SteerResult };
  "outrider.tools": { params: ToolsParams; result: ToolsResult };
  "outrider.trust": { params: TrustParams; result: TrustResult };
  "outrider.undo": { params: UndoParams; result: UndoResult };
  "outrider.wait": { params: WaitParams; result: WaitResult };
}

/** Requests to the client. */
export interface Requests {
  "outrider/ask": { params: AskParams; result: AskReply };
  "outrider/language": { params: LanguageParams; result: LanguageReply };
  "outrider/save": { params: SaveParams; result: SaveReply };
  "outrider/tool": { params: ToolParams; result: ToolReply };
}

/** The data of each type of event. */
export interface EventData {
  "approval.requested": ApprovalRequested;
  "approval.resolved": ApprovalResolved;
  "auto.limited": AutoLimited;
  "budget.exhausted": BudgetExhausted;
  "context.compacted": ContextCompacted;
  "context.pruned": ContextPruned;
  "context.trimmed": ContextTrimmed;
  "conversation.restored": ConversationRestored;
  "edit.applied": EditApplied;
  "edit.applying": EditApplying;
  "edit.merged": EditMerged;
  "edit.proposed": EditProposed;
  "edit.rejected": EditRejected;
  "error": ErrorRaised;
  "hook.finished": HookFinished;
  "hook.started": HookStarted;
  "input.wanted": InputWanted;
  "instructions.found": InstructionsFound;
  "job.finished": JobFinished;
  "job.started": JobStarted;
  "map.drawn": MapDrawn;
  "model.failed": ModelFailed;
  "model.fellBack": ModelFellBack;
  "model.limited": ModelLimited;
  "model.requested": ModelRequested;
  "model.reset": ModelReset;
  "model.responded": ModelResponded;
  "model.retried": ModelRetried;
  "model.routed": ModelRouted;
  "model.switched": ModelSwitched;
  "plan.updated": PlanUpdated;
  "plan.written": PlanWritten;
  "question.answered": QuestionAnswered;
  "question.asked": QuestionAsked;
  "queue.changed": QueueChanged;
  "sandbox.absent": SandboxAbsent;
  "session.closed": SessionClosed;
  "session.forked": SessionForked;
  "session.imported": SessionImported;
  "session.renamed": SessionRenamed;
  "session.restored": SessionRestored;
  "session.started": SessionStarted;
  "session.titled": SessionTitled;
  "settings.changed": SettingsChanged;
  "steering.received": SteeringReceived;
  "tool.answered": ToolAnswered;
  "tool.asked": ToolAsked;
  "tool.finished": ToolFinished;
  "tool.requested": ToolRequested;
  "tool.started": ToolStarted;
  "turn.finished": TurnFinished;
  "turn.parked": TurnParked;
  "turn.phase": TurnPhase;
  "turn.queued": TurnQueued;
  "turn.resumed": TurnResumed;
  "turn.started": TurnStarted;
  "undo.asked": UndoAsked;
  "undo.finished": UndoFinished;
  "undo.requested": UndoRequested;
  "verdict.found": VerdictFound;
  "verify.finished": VerifyFinished;
  "verify.started": VerifyStarted;
  "workspace.changed": WorkspaceChanged;
  "workspace.ignored": WorkspaceIgnored;
  "workspace.renamed": WorkspaceRenamed;
  "workspace.saved": WorkspaceSaved;
  "workspace.touched": WorkspaceTouched;
}

/** An event whose `data` is known by its `type`. */
export type KnownEvent = { [T in keyof EventData]: Omit<Event, "type" | "data"> & { type: T; data: EventData[T] } }[keyof EventData];
