/** The state of one session: a fold over its events, with the live text of its frames on top. */

import type { CallEntry, Entry } from "./entries.js";
import { Changes, ofCommand, type Written } from "./changes.js";
import { Growing } from "./growing.js";
import { countsOf } from "./hunks.js";
import { REVIEW } from "./titles.js";
import { visible } from "./visible.js";
import { type Mode, markOf, oneLine, reasonOf, searchInWords } from "./words.js";
import type {
  ApprovalRequested,
  ApprovalResolved,
  CheckFailure,
  Done,
  EditProposed,
  Event,
  Frame,
  KnownEvent,
  Open,
  PlanItem,
  ToolFinished,
  TurnStarted,
  Usage,
} from "../protocol/types.js";

/** Characters of a command's output that are kept to be shown while it runs. */
export const OUTPUT_KEPT = 16_000;
/** Of how many calls so much is kept; of older ones the end is. */
export const OUTPUTS_KEPT = 500;
const OLD_OUTPUT_KEPT = 1000;

/** An open item, with the changes it is about. */
export interface OpenItem extends Open {
  readonly proposals: readonly EditProposed[];
}

/** The changes of an item that have a diff: those that do more than name a file anew. */
export function diffsOf(item: Pick<OpenItem, "proposals">): EditProposed[] {
  return item.proposals.filter(({ operation }) => operation !== "rename");
}

/** Whether an item can be looked at in a diff, or else in a document of the server. */
export function canReview(item: OpenItem): boolean {
  return diffsOf(item).length > 0 || (item.options ?? []).includes(REVIEW);
}

export interface Running {
  readonly turnId: string;
  readonly mode: Mode;
  readonly model: string;
  parked: boolean;
  steps: number;
  /** When it began, in milliseconds since 1970. */
  readonly began: number;
  /** When the next attempt at the provider is made, in milliseconds since 1970; undefined where none is waited for. */
  retryAt?: number;
}

/**
 * Another process runs it and was joined, or cannot be reached; its turn was cut off and nobody has gone on with it; or
 * it waits for an answer, with which it goes on.
 */
export type Away = "joined" | "elsewhere" | "cut off" | "waiting";

/** A text that was given while a turn was running, and waits. */
export interface Waiting {
  readonly id: string;
  readonly kind: "steering" | "task";
  readonly text: string;
}

const NOTHING: ReadonlyMap<string, OpenItem> = new Map();

/** Which entries changed, for one who shows them. */
export interface Changed {
  /** The keys of those that are new or different since the last time. */
  readonly take: () => string[];
  readonly end: () => void;
}

/** What is known of a session. Feed it with every event in the order of `seq`. */
export class SessionState {
  nextSeq = 1;
  title = "";
  permissionMode = "ask";
  running: Running | undefined;
  plan: PlanItem[] = [];
  usage: Usage = {};
  private priced = true;
  /** The turns that had to wait for another one. */
  readonly queued = new Set<string>();
  private readonly held = new Map<string, Waiting>();
  /** The tokens of the latest request and its answer, and the window they have to fit in; as far as they are known. */
  context: { readonly tokens: number; readonly window: number } | undefined;
  private window = 0;
  /** Why this window does not run it; undefined where it does, or where nobody has to. */
  away: Away | undefined;
  /** What `Allow for this session` was said to. */
  readonly grants: string[] = [];
  readonly changes = new Changes();
  readonly entries: Entry[] = [];

  private readonly asked = new Map<string, OpenItem>();
  private readonly places = new Map<string, number>();
  private readonly outputs: CallEntry[] = [];
  private readonly watchers = new Set<Set<string>>();
  private readonly proposals = new Map<string, EditProposed[]>();
  private readonly jobs = new Map<string, string>();
  /** Live text that is here before its request: it does not wait for the log as events do. */
  private readonly early = new Map<string, Frame[]>();
  private readonly turns = new Map<string, number>();
  /** The plan documents that turns carry out. */
  private readonly plans = new Map<string, string>();
  /** What commands said is wrong when they ran last. */
  private readonly failures = new Map<string, readonly CheckFailure[]>();
  /** What was decided about edits of one step, each in one line, by their group and the decision. */
  private readonly said = new Map<string, { readonly key: string; readonly heads: string[] }>();

  constructor(readonly sessionId: string) {}

  /** The turn that this window can steer and end: none where another process runs it that was not joined, or nobody. */
  get runningHere(): Running | undefined {
    return this.away === undefined || this.away === "joined" ? this.running : undefined;
  }

  /** Whether the server of this window runs a turn of it. */
  get isOwn(): boolean {
    return this.away === undefined && this.running !== undefined;
  }

  /** Whether the server is at work on it: a turn runs here, and does not wait for the user. */
  get isAtWork(): boolean {
    return this.isOwn && this.running?.parked === false && this.open.size === 0;
  }

  /**
   * The turn that waits for its next attempt at a provider and can be told to make it at once.
   *
   * @param now milliseconds since 1970
   */
  retrying(now: number): { readonly turnId: string; readonly at: number } | undefined {
    const running = this.runningHere;
    if (running?.retryAt === undefined || running.retryAt <= now) return undefined;
    return { turnId: running.turnId, at: running.retryAt };
  }

  /** The next attempt at the provider is made now: nothing is waited for any more. */
  attempted(): void {
    delete this.running?.retryAt;
  }

  /** What waits for the model's next request, and the tasks that wait for the running one to end; in their order. */
  get waiting(): Waiting[] {
    return [...this.held.values()];
  }

  /** What waits for an answer that can be given here. */
  get open(): ReadonlyMap<string, OpenItem> {
    return this.away === "elsewhere" || this.away === "cut off" ? NOTHING : this.asked;
  }

  /** Be told from now on which entries are new or different. */
  watch(): Changed {
    const keys = new Set<string>();
    this.watchers.add(keys);
    return {
      take: () => {
        const taken = [...keys];
        keys.clear();
        return taken;
      },
      end: () => {
        this.watchers.delete(keys);
      },
    };
  }

  private mark(entry: Entry): void {
    for (const keys of this.watchers) keys.add(entry.key);
  }

  /** Where among `entries` the one of a key is. */
  placeOf(key: string): number | undefined {
    return this.places.get(key);
  }

  entry(key: string): Entry | undefined {
    const place = this.places.get(key);
    return place === undefined ? undefined : this.entries[place];
  }

  /** Take the next event; one of an unknown type changes nothing. */
  apply(event: Event): void {
    this.nextSeq = event.seq + 1;
    // Any further event about the model says that the attempt was made.
    const isOfTurn = event.turnId !== undefined && event.turnId === this.running?.turnId;
    if (isOfTurn && event.type.startsWith("model.") && (event.data["purpose"] ?? "main") === "main") this.attempted();
    this.take(event as unknown as KnownEvent, Date.parse(event.ts), event.turnId ?? "");
  }

  /** Take a piece of live text. */
  stream(frame: Frame): void {
    if (frame.kind === "output") {
      const call = this.entry(`call:${frame.callId ?? ""}`);
      if (call?.kind !== "call") return;
      call.output = (call.output + frame.text).slice(-OUTPUT_KEPT);
      this.mark(call);
      return;
    }
    const messageId = frame.messageId ?? "";
    const answer = this.entry(`answer:${messageId}`);
    if (answer?.kind !== "answer") {
      const early = this.early.get(messageId);
      if (early === undefined) this.early.set(messageId, [frame]);
      else early.push(frame);
      return;
    }
    if (answer.done) return;
    this.attempted();
    // Who comes in the middle has less than was sent; the whole comes with `model.responded`.
    answer[frame.kind].append(frame.text);
    this.mark(answer);
  }

  private take(event: KnownEvent, time: number, turnId: string): void {
    switch (event.type) {
      case "session.started":
      case "session.restored":
        this.permissionMode = event.data.permissionMode;
        break;
      case "session.titled":
        this.title = oneLine(event.data.title ?? "", 80) || this.title;
        this.spend(event.data.usage);
        break;
      case "settings.changed":
        this.permissionMode = event.data.permissionMode;
        this.note(event.seq, `The permission mode is ${event.data.permissionMode} from now on.`, "info");
        break;
      case "turn.queued":
        this.queued.add(turnId);
        this.held.set(turnId, { id: turnId, kind: "task", text: this.taskOf(event.data, turnId) });
        break;
      case "queue.changed":
        for (const [id, { kind }] of this.held) if (kind === "task") this.held.delete(id);
        for (const { turnId: id, prompt } of event.data.queue)
          this.held.set(id, { id, kind: "task", text: this.taskOf({ prompt }, id) });
        break;
      case "session.renamed":
        this.title = oneLine(event.data.title, 80);
        break;
      case "turn.started":
        this.held.delete(turnId);
        this.title ||= oneLine(this.taskOf(event.data, turnId), 80);
        this.turns.set(turnId, time);
        // The plan of the task before is among its steps.
        this.plan = [];
        this.running = {
          turnId,
          mode: event.data.mode,
          model: event.data.model,
          parked: false,
          steps: 0,
          began: time,
        };
        this.put({
          kind: "task",
          key: `task:${turnId}`,
          prompt: this.taskOf(event.data, turnId),
          ...planOf(this.plans.get(turnId)),
          mode: event.data.mode,
          model: event.data.model,
        });
        break;
      case "turn.parked":
        if (this.running !== undefined) this.running.parked = true;
        for (const item of event.data.open) {
          const known = this.asked.get(item.id);
          const detail = item.detail ?? known?.detail ?? "";
          this.asked.set(item.id, {
            ...item,
            ...shownOf({ ...item, detail }),
            proposals: known?.proposals ?? [],
          });
        }
        break;
      case "turn.resumed":
        if (this.running !== undefined) this.running.parked = false;
        break;
      case "turn.finished":
        this.finish(turnId, event.data, time);
        break;
      case "model.requested":
        if (event.data.purpose === "main") {
          const taken = event.data.steering ?? [];
          for (const id of taken) this.held.delete(id);
          this.window = event.data.contextWindow ?? this.window;
          this.answer(event.data.messageId);
          for (const frame of this.early.get(event.data.messageId) ?? []) this.stream(frame);
        }
        this.early.delete(event.data.messageId);
        break;
      case "model.responded":
        if ((event.data.purpose ?? "main") === "main") {
          const answer = this.answer(event.data.messageId);
          answer.text.set(event.data.text);
          answer.reasoning.set(event.data.reasoning ?? "");
          answer.done = true;
          this.mark(answer);
          const searches = (event.data.searches ?? []).map(searchInWords);
          if (searches.length > 0) this.note(event.seq, searches.join("\n"), "info");
          if (this.running !== undefined) this.running.steps += 1;
          const { inputTokens = 0, outputTokens = 0 } = event.data.usage ?? {};
          if (inputTokens > 0 && this.window > 0)
            this.context = { tokens: inputTokens + outputTokens, window: this.window };
        }
        // One that was cancelled in its middle costs something, also where nobody can tell how much.
        if (event.data.finishReason === "cancelled" && (event.data.text || event.data.reasoning))
          this.spend(event.data.usage ?? {});
        else this.spend(event.data.usage);
        break;
      case "model.reset": {
        this.early.delete(event.data.messageId);
        const answer = this.answer(event.data.messageId);
        answer.text.set("");
        answer.reasoning.set("");
        this.mark(answer);
        break;
      }
      case "model.failed":
        this.spend(event.data.usage);
        this.note(event.seq, `The model gave no answer: ${event.data.message}`, "warning");
        break;
      case "model.retried":
        this.spend(event.data.usage);
        if (this.running?.turnId === turnId && event.data.wait) this.running.retryAt = time + event.data.wait * 1000;
        this.note(
          event.seq,
          event.data.wait
            ? `Asks ${event.data.model} again in ${String(event.data.wait)} s (attempt ${String(event.data.attempt)}${event.data.attempts ? ` of ${String(event.data.attempts)}` : ""}): ${reasonOf(event.data.reason)}.`
            : `Asked ${event.data.model} again: ${reasonOf(event.data.reason)}.`,
          "info",
        );
        break;
      case "model.fellBack":
        this.spend(event.data.usage);
        this.note(event.seq, `Went on with ${event.data.to} in place of ${event.data.from}.`, "warning");
        break;
      case "model.switched":
        this.note(
          event.seq,
          `${event.data.model} ${event.data.reason === "unread_calls" ? "wrote tool calls that were not recognised" : "does not support tools"}: its calls are text.`,
          "info",
        );
        break;
      case "sandbox.absent":
        this.note(
          event.seq,
          `Commands of this session run without a sandbox. ${visible(event.data.reason)}`,
          "warning",
        );
        break;
      case "auto.limited":
        this.note(
          event.seq,
          `Commands are asked about as in permission mode auto-edit: ${visible(event.data.reason)}.`,
          "warning",
        );
        break;
      case "tool.requested":
        this.put({
          kind: "call",
          key: `call:${event.data.callId}`,
          name: event.data.name,
          about: aboutOf(event.data.input),
          status: "asked",
          output: "",
        });
        break;
      case "tool.started":
        this.updateCall(event.data.callId, (call) => {
          call.status = "running";
          call.began = time;
        });
        break;
      case "tool.finished":
        this.learn(event.data);
        if (this.wasNotAsked(event.data)) break;
        this.updateCall(event.data.callId, (call) => {
          call.status = event.data.status;
          if (call.began !== undefined) call.seconds = Math.max(0, (time - call.began) / 1000);
          call.output = endOf(event.data.content, OUTPUT_KEPT);
          this.outputs.push(call);
        });
        if (this.outputs.length > OUTPUTS_KEPT) this.shortenOldest();
        break;
      case "approval.requested":
        this.ask(event.data, turnId);
        break;
      case "approval.resolved":
        this.decided(event.seq, event.data);
        break;
      case "question.asked":
        this.asked.set(event.data.id, {
          id: event.data.id,
          kind: "question",
          turnId,
          title: visible(event.data.question),
          ...(event.data.detail === undefined ? {} : { detail: visible(event.data.detail) }),
          options: event.data.options ?? [],
          allowFreeForm: event.data.allowFreeForm ?? true,
          proposals: [],
          ...(event.data.callId === undefined ? {} : { callId: event.data.callId }),
        });
        break;
      case "question.answered":
        this.asked.delete(event.data.id);
        this.note(event.seq, `You answered: ${event.data.answer}`, "info");
        break;
      case "tool.answered":
        this.asked.delete(event.data.id);
        break;
      case "edit.proposed": {
        const callId = event.data.callId ?? "";
        this.proposals.set(callId, [...(this.proposals.get(callId) ?? []), event.data]);
        break;
      }
      case "edit.applied":
      case "edit.merged":
        this.changedFile(event.data, turnId, event.type === "edit.merged");
        if (event.type === "edit.applied" && event.data.stays !== undefined)
          this.note(event.seq, `${event.data.path} is not as it was planned: ${event.data.stays}`, "warning");
        break;
      case "workspace.changed": {
        // What a command changed and undo takes back is a change like any other; the rest is nobody's of this session.
        const written = ofCommand(event.data);
        if (written !== undefined) this.changedFile(written, turnId, false);
        break;
      }
      case "job.started":
        this.jobs.set(event.data.jobId, event.data.command);
        this.note(event.seq, `Runs in the background: ${visible(oneLine(event.data.command, 200))}`, "info");
        break;
      case "job.finished": {
        const { jobId, status, exitCode } = event.data;
        const how = exitCode === undefined ? status.replaceAll("_", " ") : `code ${String(exitCode)}`;
        const command = visible(oneLine(this.jobs.get(jobId) ?? jobId, 200));
        this.note(event.seq, `Ended in the background (${how}): ${command}`, "info");
        break;
      }
      case "plan.updated":
        this.plan = event.data.items;
        break;
      case "steering.received":
        this.held.delete(event.data.pendingId);
        if (event.data.state === "removed") break;
        this.held.set(event.data.pendingId, { id: event.data.pendingId, kind: "steering", text: event.data.text });
        this.note(event.seq, `You said: ${event.data.text}`, "info");
        break;
      case "context.compacted":
        this.note(event.seq, "Older messages were replaced by a summary.", "info");
        break;
      case "budget.exhausted":
        this.note(event.seq, `The budget ${event.data.limit} is spent.`, "warning");
        break;
      case "error":
        this.note(event.seq, event.data.message, "error");
        break;
      default:
        break;
    }
  }

  /** The task of a turn as its user gave it: of a plan its title, as the prompt is written for the model. */
  private taskOf(data: Pick<TurnStarted, "prompt" | "planDocument" | "continues">, turnId: string): string {
    const path = data.planDocument ?? this.plans.get(data.continues ?? turnId);
    if (path === undefined) return data.prompt;
    this.plans.set(turnId, path);
    const [line = ""] = data.prompt.split("\n");
    const begin = `Carry out the plan in ${path}: `;
    return `Start plan: ${line.startsWith(begin) ? line.slice(begin.length) : path}`;
  }

  /** Keep what a command said is wrong, for the end of the turn. */
  private learn({ ran }: ToolFinished): void {
    if (ran?.failures?.length) this.failures.set(ran.command, ran.failures);
    else if (ran !== undefined) this.failures.delete(ran.command);
  }

  /** Show a question that the user was not asked as what counts, in the place of its call. */
  private wasNotAsked({ callId, name, status, content, recalled }: ToolFinished): boolean {
    const call = this.entry(`call:${callId}`);
    let text: string;
    if (recalled !== undefined)
      text = `${visible(recalled.question)} – answered as before: ${visible(recalled.answer)}`;
    else if (name === "ask_user" && status === "error" && content.startsWith("Not asked: "))
      text = `${call?.kind === "call" ? `${call.about} – ` : ""}not asked: the limit of questions is reached`;
    else return false;
    this.put({ kind: "note", key: `call:${callId}`, text, level: "info" });
    return true;
  }

  /** Tell what the user said, and to what; of the edits of one step in one line. */
  private decided(seq: number, data: ApprovalResolved): void {
    const item = this.asked.get(data.id);
    this.asked.delete(data.id);
    if (data.by !== "person") return;
    if (data.decision === "allow_session") this.grants.push(data.grant ?? data.id);
    const out = (data.review ?? []).filter(({ decision }) => decision === "reject");
    const isPart = out.length > 0 && data.decision !== "reject";
    const without = isPart ? `, without ${String(out.length)} of the hunks` : "";
    const reasons = [data.note, ...out.map(({ reason }) => reason)].filter((text) => text);
    const more = without + (reasons.length === 0 ? "" : `: ${reasons.join(" · ")}`);
    const head = item === undefined ? "" : headOf(item).replace(/ \(\+\d+ −\d+\)$/, "");
    const group = more === "" && item?.group !== undefined ? `${item.group} ${data.decision}` : undefined;
    const told = (group === undefined ? undefined : this.said.get(group)) ?? { key: `note:${String(seq)}`, heads: [] };
    if (head !== "") told.heads.push(head);
    if (group !== undefined) this.said.set(group, told);
    const about = told.heads.length === 0 ? "" : `: ${listed(told.heads)}`;
    this.put({ kind: "note", key: told.key, text: `${SAID[data.decision]}${about}${more}`, level: "info" });
  }

  private ask(data: ApprovalRequested, turnId: string): void {
    const proposals = this.proposals.get(data.callId) ?? [];
    this.proposals.delete(data.callId);
    this.asked.set(data.id, {
      id: data.id,
      kind: "approval",
      turnId,
      callId: data.callId,
      ...shownOf(data),
      options: data.options,
      ...(data.group === undefined ? {} : { group: data.group }),
      ...(data.always === undefined ? {} : { always: data.always }),
      proposals,
    });
  }

  private changedFile(data: Written, turnId: string, merged: boolean): void {
    const first = this.changes.take(data, turnId);
    if (first !== undefined) {
      const entry = this.entry(`edit:${first}`);
      if (entry?.kind !== "edit") return;
      entry.undone = this.changes.isUndone(first);
      this.mark(entry);
      return;
    }
    this.put({
      kind: "edit",
      key: `edit:${data.changeId}`,
      path: data.to ?? data.path,
      operation: data.operation ?? "edit",
      ...countsOf(data.hunks),
      undone: false,
      merged,
    });
  }

  /** A request more in the sum, whose cost is unknown as soon as that of one of them is. */
  private spend(usage: Usage | undefined): void {
    if (usage === undefined) return;
    if (usage.cost === undefined) this.priced = false;
    const before = this.usage;
    const { inputTokens = 0, outputTokens = 0, cost = 0 } = before;
    this.usage = {
      inputTokens: inputTokens + (usage.inputTokens ?? 0),
      outputTokens: outputTokens + (usage.outputTokens ?? 0),
    };
    if (before.estimated || usage.estimated) this.usage.estimated = true;
    if (this.priced) this.usage.cost = cost + (usage.cost ?? 0);
  }

  private finish(
    turnId: string,
    data: { outcome: EndEntryOutcome; reason: string; usage: Usage; done?: Done },
    time: number,
  ): void {
    for (const [id, { kind }] of this.held) if (kind === "steering" || id === turnId) this.held.delete(id);
    if (this.running?.turnId === turnId) this.running = undefined;
    for (const [id, item] of this.asked) if (item.turnId === turnId) this.asked.delete(id);
    const began = this.turns.get(turnId) ?? time;
    const mark = markOf(data.outcome, data.reason, data.done);
    const failed = (data.done?.checks ?? []).flatMap(({ command, ok, stale }) => (ok || stale ? [] : [command]));
    // While it runs the plan is above the steps; then it is one of them.
    if (this.plan.length > 0) this.put({ kind: "plan", key: `plan:${turnId}`, items: this.plan });
    this.put({
      kind: "end",
      key: `end:${turnId}`,
      outcome: data.outcome,
      reason: data.reason,
      done: data.done?.line ?? "",
      mark,
      failed,
      failures: failed.flatMap((command) => this.failures.get(command) ?? []),
      usage: data.usage,
      seconds: Math.max(0, (time - began) / 1000),
    });
  }

  private answer(messageId: string): Extract<Entry, { kind: "answer" }> {
    const key = `answer:${messageId}`;
    const known = this.entry(key);
    if (known?.kind === "answer") return known;
    const entry: Entry = { kind: "answer", key, text: new Growing(), reasoning: new Growing(), done: false };
    this.put(entry);
    return entry;
  }

  private updateCall(callId: string, change: (call: CallEntry) => void): void {
    const call = this.entry(`call:${callId}`);
    if (call?.kind !== "call") return;
    change(call);
    this.mark(call);
  }

  private shortenOldest(): void {
    const call = this.outputs.shift();
    if (call === undefined || call.output.length <= OLD_OUTPUT_KEPT) return;
    call.output = `(only the end is kept here; the log has all of it)\n${endOf(call.output, OLD_OUTPUT_KEPT)}`;
    this.mark(call);
  }

  private note(seq: number, text: string, level: "info" | "warning" | "error"): void {
    this.put({ kind: "note", key: `note:${String(seq)}`, text, level });
  }

  private put(entry: Entry): void {
    const place = this.places.get(entry.key) ?? this.entries.length;
    this.entries[place] = entry;
    this.places.set(entry.key, place);
    this.mark(entry);
  }
}

type EndEntryOutcome = Extract<Entry, { kind: "end" }>["outcome"];

/** The end of a text, as a text of its own: a slice would keep all of the text in memory. */
function endOf(text: string, most: number): string {
  return text.length <= most ? text : structuredClone(text.slice(-most));
}

const SAID = {
  allow_once: "Allowed",
  allow_session: "Allowed for this session",
  allow_always: "Always allowed",
  choose: "To be chosen in the editor",
  reject: "Rejected",
  put_back: "Put back",
  keep: "Kept",
} as const;

/** `Edit a.py, b.py`: what several items are about, with a first word that all of them have said once. */
function listed([first = "", ...others]: readonly string[]): string {
  const verb = first.slice(0, first.indexOf(" ") + 1);
  return [first, ...others.map((head) => (head.startsWith(verb) ? head.slice(verb.length) : head))].join(", ");
}

function planOf(planDocument: string | undefined): { planDocument?: string } {
  return planDocument === undefined ? {} : { planDocument };
}

/** What is decided about is shown as it is: nothing hides in it. */
function shownOf({ title, summary, detail }: Shown): Shown {
  const inOneLine = summary === undefined ? {} : { summary: visible(summary) };
  return { title: visible(title), detail: visible(detail), ...inOneLine };
}

interface Shown {
  readonly title: string;
  readonly summary?: string;
  readonly detail: string;
}

/** What an item is about, in one line where it has one. */
export function headOf(item: Pick<Open, "title" | "summary">): string {
  return item.summary ?? item.title;
}

const TELLING = ["path", "command", "pattern", "from", "question"] as const;

/** What a call is about, from its arguments. */
export function aboutOf(input: unknown): string {
  if (typeof input !== "object" || input === null) return "";
  for (const key of TELLING) {
    const value = (input as Record<string, unknown>)[key];
    if (typeof value === "string") return visible(oneLine(value, 200));
  }
  return "";
}
