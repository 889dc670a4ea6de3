// Made of protocol/schema.json by `npm run types`. Do not edit.

/** The answer to an open item: `decision` for an approval, `answer` for a question or a tool, or its `error`. */
export interface AnswerParams {
  answer?: string;
  decision?: "allow_once" | "allow_session" | "allow_always" | "choose" | "reject";
  error?: string;
  id: string;
  note?: string;
  review?: ReviewedHunk[];
  scope?: "workspace" | "everywhere";
}

/** The item that is answered now. */
export interface AnswerResult {
  id: string;
}

/** An effect waits for a yes. */
export interface ApprovalRequested {
  always?: RulePattern[];
  callId: string;
  changeIds?: string[];
  detail: string;
  digest: string;
  grant?: string;
  id: string;
  options: string[];
  reviewed?: boolean;
  secrets?: Secret[];
  title: string;
}

/** An effect was allowed or rejected. A rule that forbids comes without a request: `by` is `rule`, and `id` is new. */
export interface ApprovalResolved {
  by: "person" | "rule" | "mode";
  callId: string;
  channel?: string;
  decision: "allow_once" | "allow_session" | "allow_always" | "choose" | "reject";
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

/** `outrider/ask`: put an open item before the person, in the way of the client. */
export interface AskParams {
  item: Open;
  sessionId: string;
}

/** The answer: `decision` for an approval, `answer` for a question. Null stands for none, as does anything else. */
export interface AskReply {
  answer?: string;
  decision?: "allow_once" | "allow_session" | "allow_always" | "choose" | "reject";
  note?: string;
  review?: ReviewedHunk[];
  scope?: "workspace" | "everywhere";
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

/** Ends a turn. */
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

/** One hunk of a change, as it is now. */
export interface ChangedHunk {
  added: string;
  id: string;
  line: number;
  removed: string;
  state: "applied" | "undone" | "altered" | "conflict";
}

/** Which changes to list. Without `sessionId` those of the latest session that changed something. */
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

/** One thing that was looked at. */
export interface Check {
  detail: string;
  name: string;
  status: "ok" | "warn" | "fail";
}

/** A tool that the client runs: its calls go there as `outrider/tool`. */
export interface ClientTool {
  description: string;
  effect: "read" | "edit" | "execute" | "ask";
  inputSchema: Record<string, unknown>;
  name: string;
}

/** What was left as it is, because somebody changed the same place since. */
export interface Conflict {
  id?: string;
  line: number;
  path: string;
  reason: string;
}

/** What the person was looking at when the task was given. */
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

/** Older tool output was left out. */
export interface ContextPruned {
  after?: number;
  before?: number;
  callIds: string[];
  contextWindow?: number;
  messages?: string[];
  reason: string;
  secrets?: Secret[];
}

/** Parts of the system message and of the task were left out, because the rest alone does not fit. */
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

/** Diagnostics of one document, as LSP `Diagnostic` objects. */
export interface Diagnostics {
  items: Record<string, unknown>[];
  uri: string;
}

/** `outrider/diagnostics`: what the editor shows of all language servers and linters, now. */
export interface DiagnosticsParams {
  uris?: string[];
}

/** What they report. A document without problems may be absent. */
export interface DiagnosticsReply {
  diagnostics: Diagnostics[];
}

/** What is looked at beyond what costs nothing. */
export interface DoctorParams {
  probe?: boolean;
}

/** What was looked at. */
export interface DoctorResult {
  checks: Check[];
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

/** A change is about to be written. It is on disk before the change is. */
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

/** A change was put into a text that had moved meanwhile; `after` is what is there now. */
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

/** Something went wrong that the person should know of. */
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

/** A stretch of a session's log; `fromSeq` is the first one wanted, from 1. */
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

/** A task that may only look. */
export interface ExploreParams {
  context?: Context;
  limits?: LimitsPatch;
  model?: string;
  prompt: string;
  sessionId?: string;
}

/** What `outrider export` writes. Secrets, names and places of the machine are taken out before it is made. */
export interface Export {
  contents: Record<string, string>;
  events: Event[];
  format?: "outrider-export";
  program: string;
  removed?: Record<string, number>;
  sessionId: string;
  version?: 1;
}

/** The session to put into one file, whoever runs it. */
export interface ExportParams {
  sessionId: string;
}

/** A model was asked, failed, and it or another one was asked again. */
export interface FailedAttempt {
  model: string;
  reason: string;
}

/** What was said of a folder, or what holds for one of the workspace. */
export interface FolderTrust {
  added?: string;
  below?: boolean;
  path: string;
  trust: "trusted" | "read-only" | "unknown";
}

/** `outrider/stream`: text as it comes. Frames are not logged; the log has the whole.  The frames of one `messageId` and `kind`, joined since the last `model.reset`, equal the text in the log. */
export interface Frame {
  callId?: string;
  kind: "text" | "reasoning" | "output";
  messageId?: string;
  offset: number;
  sessionId: string;
  text: string;
  turnId: string;
}

/** A folder that goes with its last file. */
export interface GoingFolder {
  mode: string;
  path: string;
}

/** A folder that the model came to has instructions of its own. */
export interface InstructionsFound {
  path: string;
  secrets?: Secret[];
  told: string;
}

/** No process of a job is left. */
export interface JobFinished {
  exitCode?: number;
  jobId: string;
  output?: string;
  seconds?: number;
  secrets?: Secret[];
  signal?: number;
  status: "exited" | "killed_timeout" | "killed_idle" | "lost" | "killed" | "cancelled" | "closed" | "interrupted";
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
  status: "exited" | "killed_timeout" | "killed_idle" | "lost" | "killed" | "cancelled" | "closed" | "interrupted" | "running";
  turnId: string;
}

/** A command runs in the background. */
export interface JobStarted {
  callId: string;
  command: string;
  cwd: string;
  jobId: string;
  sandboxed: boolean;
  secrets?: Secret[];
}

/** Lists the background jobs, or reads, waits for or ends the one of an id. */
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

/** How fast an answer came. */
export interface Latency {
  firstTokenMs: number;
  tokensPerSecond?: number;
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

/** What is at hand. */
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

/** There is no answer: the provider failed, or the connection to it. */
export interface ModelFailed {
  kind: string;
  message: string;
  messageId: string;
  purpose: string;
  secrets?: Secret[];
  usage?: Usage;
}

/** A request goes to another model. */
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

/** How fast a model was. */
export interface ModelLatency {
  firstTokenMs: number;
  model: string;
  requests: number;
  tokensPerSecond?: number;
}

/** A request is about to go to the model. */
export interface ModelRequested {
  contextWindow?: number;
  editFormat?: string;
  maxTokens?: number;
  messageId: string;
  messages: string[];
  model: string;
  purpose: string;
  secrets?: Secret[];
  steering?: string[];
  temperature?: number;
  toolFormat?: string;
  tools: string[];
  toolsHash: string;
}

/** Text that was already shown is withdrawn. */
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
  secrets?: Secret[];
  text: string;
  toolCalls: WireToolCall[];
  usage?: Usage;
}

/** A request is made again. */
export interface ModelRetried {
  attempt: number;
  messageId: string;
  model: string;
  reason: string;
  secrets?: Secret[];
  usage?: Usage;
  wait?: number;
}

/** It was chosen which model gets the next request. */
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

/** What the person knows of one model. What is absent is asked of its provider or taken from a table. */
export interface ModelSettings {
  contextWindow?: number;
  editFormat?: "replace" | "patch" | "whole";
  maxTokens?: number;
  price?: Price;
  reasoning?: boolean;
  toolFormat?: "native" | "hermes" | "qwen3-coder-xml" | "llama3-json" | "pythonic" | "llama4-pythonic" | "mistral" | "deepseek" | "glm-xml" | "kimi" | "granite" | "harmony" | "minimax-xml" | "gemma" | "lfm2" | "json-array" | "bare-json" | "react" | "react-json" | "bracket" | "outrider";
  toolStrength?: "weak" | "medium" | "strong";
  vision?: boolean;
}

/** A model does not take tools as its provider has them, and gets and makes calls as text from now on. */
export interface ModelSwitched {
  messageId: string;
  model: string;
  reason: string;
  secrets?: Secret[];
  toolFormat: string;
}

/** Nothing to say. */
export interface ModelsParams {

}

/** The models, those that the settings name first. */
export interface ModelsResult {
  model?: string;
  models: ModelInfo[];
  problems: string[];
}

/** A rule to be saved. */
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

/** What cannot be taken back, and why. */
export interface NotUndoable {
  reason: string;
  what: string;
}

/** An open item: something that waits for the person, or for a tool of the client. */
export interface Open {
  allowFreeForm?: boolean;
  always?: RulePattern[];
  callId?: string;
  detail?: string;
  documentUri?: string;
  id: string;
  kind: "approval" | "question" | "tool";
  options?: string[];
  title: string;
  turnId: string;
}

/** Opens a document that carries actions: the task document, or the one of an open item. */
export interface OpenParams {
  id?: string;
  what?: "task" | "review" | "answer";
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

/** Lists the rules, adds one, removes the one of an id, or opens their file in the editor. */
export interface PermissionsParams {
  action?: "list" | "add" | "remove" | "open";
  id?: string;
  rule?: NewRule;
}

/** The rules as they are now, the person's first. */
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

/** The plan is now this. */
export interface PlanUpdated {
  items: PlanItem[];
  secrets?: Secret[];
}

/** A place in a document, zero-based, in the negotiated position encoding. */
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

/** The session whose next request is shown, whoever runs it. */
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
  apiKeyEnv?: string;
  baseUrl: string;
  caFile?: string;
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

/** The person answered. */
export interface QuestionAnswered {
  answer: string;
  callId?: string;
  channel?: string;
  id: string;
  secrets?: Secret[];
}

/** The model or the server asks the person. */
export interface QuestionAsked {
  allowFreeForm?: boolean;
  callId?: string;
  id: string;
  options?: string[];
  question: string;
  secrets?: Secret[];
}

/** A turn that waits for the running one. */
export interface QueuedRun {
  prompt: string;
  turnId: string;
}

/** A stretch of a document; the end is exclusive. */
export interface Range {
  end: Position;
  start: Position;
}

/** A text that a call read, as it was then. */
export interface ReadText {
  hash: string;
  path: string;
}

/** A file that has another path, and what a session knows of it goes on there. */
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

/** Opens a session of the log again; its open items are asked again. */
export interface ResumeParams {
  sessionId: string;
}

/** What the person decided about one hunk of an edit that they were asked about. */
export interface ReviewedHunk {
  decision: "take" | "reject";
  id: string;
  reason?: string;
  text?: string;
}

/** A model that a request could have gone to. */
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
  weights?: "text" | "voice";
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

/** What a rule is about. */
export interface RulePattern {
  command?: string;
  exact?: boolean;
  host?: string;
  path?: string;
  script?: string;
  tool: string;
}

/** A task. Without `sessionId` a new session is made. */
export interface RunParams {
  context?: Context;
  draft?: string;
  limits?: LimitsPatch;
  mode?: "agent" | "plan" | "explore";
  model?: string;
  prompt: string;
  sessionId?: string;
}

/** The turn that was started, or queued behind the one that is running. */
export interface RunResult {
  queued?: boolean;
  sessionId: string;
  turnId: string;
}

/** What holds commands to the workspace; a mode alone may stand for the whole. */
export interface SandboxSettings {
  mode?: "off" | "auto" | "required";
  network?: boolean;
  readable?: string[];
  writable?: string[];
}

/** A document that could not be saved. */
export interface SaveFailure {
  reason: string;
  uri: string;
}

/** `outrider/save`: save open documents, as the person would. */
export interface SaveParams {
  uris: string[];
}

/** What came of it. It is only believed as far as `didSave` or the disk bears it out. */
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

/** The process let go of the session; it can be resumed. */
export interface SessionClosed {
  leftOver?: number;
  reason: string;
  secrets?: Secret[];
}

/** A session began as a copy of another one. */
export interface SessionForked {
  fromSeq: number;
  fromSessionId: string;
  secrets?: Secret[];
}

/** A session was opened again from its log. */
export interface SessionRestored {
  folders: string[];
  limits?: Limits;
  permissionMode: "read-only" | "ask" | "auto-edit" | "full";
  realFolders?: string[];
  rests?: boolean;
  secrets?: Secret[];
  toolsHash?: string;
  turnId?: string;
}

/** A session exists. */
export interface SessionStarted {
  folders: string[];
  permissionMode: "read-only" | "ask" | "auto-edit" | "full";
  realFolders?: string[];
  secrets?: Secret[];
  toolsHash?: string;
  version: string;
}

/** What a session is doing now. */
export interface SessionStatus {
  latencies?: ModelLatency[];
  open: Open[];
  phase?: "start" | "prepare" | "assistant" | "tools" | "verify" | "finish";
  plan: PlanItem[];
  queue: QueuedRun[];
  sessionId: string;
  state: "idle" | "running" | "parked";
  steering: PendingSteering[];
  turnId?: string;
  usage: Usage;
}

/** A session of this workspace, open or not. */
export interface SessionSummary {
  elsewhere?: boolean;
  lastAt: string;
  outcome?: "completed" | "cancelled" | "budget_exhausted" | "failed" | "refused";
  sessionId: string;
  startedAt: string;
  state: "idle" | "running" | "parked" | "closed";
  title: string;
  turns: number;
}

/** A model was asked for a title of the session, once and beside its first steps. */
export interface SessionTitled {
  failed?: FailedAttempt[];
  model: string;
  reason?: string;
  routed?: ModelRouted;
  secrets?: Secret[];
  title?: string;
  usage?: Usage;
}

/** No parameters. */
export interface SessionsParams {

}

/** The sessions of this workspace, the latest first. */
export interface SessionsResult {
  sessions: SessionSummary[];
}

/** Everything that can be set. */
export interface Settings {
  codeLens?: boolean;
  commandEnvironment?: string[];
  events?: boolean;
  fallbackModels?: string[];
  limits?: Limits;
  model?: string;
  modelTitles?: boolean;
  models?: Record<string, ModelSettings>;
  permissionMode?: "read-only" | "ask" | "auto-edit" | "full";
  providers?: Record<string, ProviderSettings>;
  recording?: boolean;
  repositoryMap?: RepositoryMapSettings;
  routing?: Routing;
  sandbox?: SandboxSettings;
  stateDir?: string;
  store?: StoreSettings;
  testing?: TestingSettings;
  tiers?: Tiers;
  tools?: ClientTool[];
  trusted?: boolean;
}

/** The permission mode became narrower while a turn was running, and counts at once. */
export interface SettingsChanged {
  permissionMode: "read-only" | "ask" | "auto-edit" | "full";
  secrets?: Secret[];
}

/** Which session; absent means all that are open in this process. */
export interface StatusParams {
  sessionId?: string;
}

/** The sessions that are open in this process. */
export interface StatusResult {
  sessions: SessionStatus[];
}

/** A text for the running turn, or the removal of one that the model has not seen yet. */
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

/** A text for the running turn: queued, or taken back before the model saw it. */
export interface SteeringReceived {
  pendingId: string;
  secrets?: Secret[];
  state?: "queued" | "removed";
  text: string;
}

/** How long the log keeps the texts of changed files, by which changes are taken back. */
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
}

/** Models by what they are good for, each list in the order they are asked; a list in a list is of equals. */
export interface Tiers {
  frontier?: (string | string[])[];
  mid?: (string | string[])[];
  small?: (string | string[])[];
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
  read?: ReadText[];
  secrets?: Secret[];
  status: "ok" | "error" | "denied" | "cancelled" | "interrupted" | "skipped";
}

/** One tool as the model sees it. */
export interface ToolInfo {
  description: string;
  effect: "read" | "edit" | "execute" | "ask";
  inputSchema: Record<string, unknown>;
  name: string;
}

/** `outrider/tool`: run a tool that the client registered. */
export interface ToolParams {
  again?: boolean;
  callId: string;
  id: string;
  input: Record<string, unknown>;
  name: string;
  sessionId: string;
  turnId: string;
}

/** What came of it. Anything else counts as no answer. */
export interface ToolReply {
  content: string;
  isError?: boolean;
}

/** The model asked for a tool. */
export interface ToolRequested {
  callId: string;
  input: unknown;
  name: string;
  secrets?: Secret[];
}

/** The call passed its checks and its effect begins. */
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

/** What a command changed, and which no undo puts back: a file whose text before is not in the log, or no file. */
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

/** Lists what was said of folders, after something more is said of one if that is wanted. */
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

/** The turn is over. Every turn has exactly one. */
export interface TurnFinished {
  outcome: "completed" | "cancelled" | "budget_exhausted" | "failed" | "refused";
  reason: string;
  secrets?: Secret[];
  summary: string;
  usage: Usage;
}

/** Nothing more can be done until the person answers. */
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

/** A task was given while another turn was running; its `turn.started` follows when it is its time. */
export interface TurnQueued {
  context?: Context;
  limits?: Record<string, unknown>;
  mode: "agent" | "plan" | "explore";
  model: string;
  prompt: string;
  secrets?: Secret[];
}

/** An open item was answered, the turn goes on. */
export interface TurnResumed {
  id: string;
  secrets?: Secret[];
}

/** What a turn goes by, beside what it was given itself. */
export interface TurnSettings {
  limits: Limits;
  permissionMode: "read-only" | "ask" | "auto-edit" | "full";
}

/** A turn began. */
export interface TurnStarted {
  context?: Context;
  limits?: Record<string, unknown>;
  mode: "agent" | "plan" | "explore";
  model: string;
  prompt: string;
  secrets?: Secret[];
  settings?: TurnSettings;
}

/** The person was asked about a place that somebody changed since. */
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

/** What to take back; without `id` the latest of that scope. Without `sessionId` the latest session.  Without `scope` it is what the id names, and a turn where there is none; of a redo the session, if that was undone last. `wait` is false for an editor that does nothing until the command is answered: the answer is empty, and what was left as it is comes as a message. */
export interface UndoParams {
  id?: string;
  scope?: "hunk" | "step" | "turn" | "session";
  sessionId?: string;
  wait?: boolean;
}

/** The person takes changes back, or brings them back; what comes of it follows as `edit.*` events. */
export interface UndoRequested {
  id?: string;
  redo?: boolean;
  scope: "hunk" | "step" | "turn" | "session";
  secrets?: Secret[];
}

/** What an undo or a redo did. */
export interface UndoResult {
  changeId: string;
  conflicts: Conflict[];
  notUndoable: NotUndoable[];
  undone: UndonePath[];
}

/** What was taken back in one file. */
export interface UndonePath {
  hunks: number;
  path: string;
}

/** Tokens spent. `cost` is absent where it is unknown. */
export interface Usage {
  cachedTokens?: number;
  cost?: number;
  estimated?: boolean;
  inputTokens?: number;
  outputTokens?: number;
  reasoningTokens?: number;
}

/** Waits until the turn has finished or needs an answer, `timeout` seconds at most. */
export interface WaitParams {
  timeout?: number;
  turnId: string;
}

/** How it stands: no `outcome` means that the turn is still running. */
export interface WaitResult {
  open?: Open[];
  outcome?: "completed" | "cancelled" | "budget_exhausted" | "failed" | "refused" | "needs_input";
  reason?: string;
  summary?: string;
  turnId: string;
  usage?: Usage;
}

/** One changed stretch of a text: whole lines, `line` being the first one in the text before, from 1. */
export interface WireHunk {
  added: string;
  line: number;
  removed: string;
}

/** An image that a call gave. Its content lies in the log's store, and in no event or export. */
export interface WireImage {
  hash: string;
  height: number;
  mediaType: string;
  name: string;
  size: number;
  width: number;
}

/** What a model wants back word for word with its answer, such as signed reasoning. */
export interface WireProviderData {
  blocks: string;
  model: string;
}

/** A tool call as the model asked for it; `arguments` is its JSON text, unparsed. */
export interface WireToolCall {
  arguments: string;
  id: string;
  name: string;
}

/** A file that the session knows was changed by someone else: the person, a formatter, a command. */
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

/** A file, or a folder, was renamed or moved in the editor: what the session knows of it follows. */
export interface WorkspaceRenamed {
  files: RenamedFile[];
  path: string;
  secrets?: Secret[];
  to: string;
  told: string;
}

/** Before a command the client was asked to save what the agent had changed: what is saved, by what is seen. */
export interface WorkspaceSaved {
  by: "extension" | "refactoring";
  callId: string;
  failed?: NotSaved[];
  paths: string[];
  secrets?: Secret[];
}

/** What else a command did to the files of the workspace: no undo can take it back. */
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
  "outrider.doctor": { params: DoctorParams; result: DoctorResult };
  "outrider.events": { params: EventsParams; result: EventsResult };
  "outrider.explore": { params: ExploreParams; result: RunResult };
  "outrider.export": { params: ExportParams; result: Export };
  "outrider.jobs": { params: JobsParams; result: JobsResult };
  "outrider.map": { params: MapParams; result: MapResult };
  "outrider.models": { params: ModelsParams; result: ModelsResult };
  "outrider.open": { params: OpenParams; result: OpenResult };
  "outrider.permissions": { params: PermissionsParams; result: PermissionsResult };
  "outrider.prompt": { params: PromptParams; result: PromptResult };
  "outrider.redo": { params: UndoParams; result: UndoResult };
  "outrider.resume": { params: ResumeParams; result: SessionStatus };
  "outrider.run": { params: RunParams; result: RunResult };
  "outrider.sessions": { params: SessionsParams; result: SessionsResult };
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
  "outrider/diagnostics": { params: DiagnosticsParams; result: DiagnosticsReply };
  "outrider/save": { params: SaveParams; result: SaveReply };
  "outrider/tool": { params: ToolParams; result: ToolReply };
}

/** The data of each type of event. */
export interface EventData {
  "approval.requested": ApprovalRequested;
  "approval.resolved": ApprovalResolved;
  "budget.exhausted": BudgetExhausted;
  "context.compacted": ContextCompacted;
  "context.pruned": ContextPruned;
  "context.trimmed": ContextTrimmed;
  "edit.applied": EditApplied;
  "edit.applying": EditApplying;
  "edit.merged": EditMerged;
  "edit.proposed": EditProposed;
  "edit.rejected": EditRejected;
  "error": ErrorRaised;
  "instructions.found": InstructionsFound;
  "job.finished": JobFinished;
  "job.started": JobStarted;
  "map.drawn": MapDrawn;
  "model.failed": ModelFailed;
  "model.fellBack": ModelFellBack;
  "model.requested": ModelRequested;
  "model.reset": ModelReset;
  "model.responded": ModelResponded;
  "model.retried": ModelRetried;
  "model.routed": ModelRouted;
  "model.switched": ModelSwitched;
  "plan.updated": PlanUpdated;
  "question.answered": QuestionAnswered;
  "question.asked": QuestionAsked;
  "session.closed": SessionClosed;
  "session.forked": SessionForked;
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
  "workspace.changed": WorkspaceChanged;
  "workspace.renamed": WorkspaceRenamed;
  "workspace.saved": WorkspaceSaved;
  "workspace.touched": WorkspaceTouched;
}

/** An event whose `data` is known by its `type`. */
export type KnownEvent = { [T in keyof EventData]: Omit<Event, "type" | "data"> & { type: T; data: EventData[T] } }[keyof EventData];
