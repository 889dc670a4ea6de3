/** What the session view and the extension say to each other. */

import type { AnswerEntry, Entry } from "./entries.js";
import type { Colour } from "./theme.js";
import type { Had, Piece } from "./growing.js";
import { type Question, countsOfAll, headOfAll, questionIdOf, questionsOf } from "./groups.js";
import type { FileRef } from "./links.js";
import { meaningsOf } from "./options.js";
import type { Reviews } from "./review.js";
import { type Away, type OpenItem, type SessionState, type Waiting, canReview, headOf } from "./session.js";
import type { Outcome } from "./sending.js";
import { type Next, type ServerState, modeOf } from "./status.js";
import type { Decision } from "./titles.js";
import type { Mode } from "./words.js";
import type { PlanItem, Usage } from "../protocol/types.js";

const MOST_LINES = 400;
/** Of each of several edits there are so many at least. */
const LEAST_LINES = 40;
const MOST_COLUMNS = 1000;

/** An open item as the view shows it. */
export interface OpenView {
  readonly id: string;
  readonly kind: OpenItem["kind"];
  /** In one line. */
  readonly title: string;
  readonly detail: string;
  /** Whether the detail is that of a command. */
  readonly isCommand: boolean;
  readonly options: readonly string[];
  /** What each option means, in their order; none where none of them says it. */
  readonly meanings?: readonly string[];
  readonly allowFreeForm: boolean;
  /** Whether there is more to look at than `detail`, and single hunks to decide about. */
  readonly canReview: boolean;
  /** What was decided about single hunks so far, in words. */
  readonly review: string;
  /** The edits of one step that it asks about at once; none where it is about one thing. */
  readonly edits: readonly EditView[];
  /** The lines that those put in and take out. */
  readonly added: number;
  readonly removed: number;
}

/** One of several edits that are asked about at once. */
export interface EditView {
  readonly id: string;
  readonly title: string;
  readonly detail: string;
  readonly review: string;
}

/** What stands around the steps. */
export interface Frame {
  readonly server: ServerState;
  readonly title: string;
  readonly running: boolean;
  readonly parked: boolean;
  /** When its turn makes the next attempt at the provider, in milliseconds since 1970. */
  readonly retryAt: number | undefined;
  /** Why this window does not run its turn; undefined where it has none, or it runs here. */
  readonly away: Exclude<Away, "waiting"> | undefined;
  readonly model: string;
  /** Whether there is no model to work with. */
  readonly lacksModel: boolean;
  readonly permissionMode: string;
  readonly usage: Usage;
  readonly context: SessionState["context"];
  /** When the running turn began, in milliseconds since 1970. */
  readonly began: number | undefined;
  /** What was given meanwhile, and waits. */
  readonly waiting: readonly Waiting[];
  /** What of the editor goes along with the next task, in words; empty where nothing does. */
  readonly along: string;
  /** Whether Enter sends, or makes a new line. */
  readonly enterSends: boolean;
  /** The commands of the server that the view has buttons for, as far as this server has them. */
  readonly can: readonly Ability[];
  readonly plan: readonly PlanItem[];
  readonly open: readonly OpenView[];
}

/** What a server may be able to do besides. */
export const ABILITIES = ["continue", "resend", "restore", "queue"] as const;
export type Ability = (typeof ABILITIES)[number];

/** Something that a word in the composer may become. */
export interface Completion {
  readonly kind: "file" | "folder" | "symbol" | "problems" | "command" | "custom";
  readonly label: string;
  readonly detail: string;
  /** What is put in its place. */
  readonly text: string;
}

/** What the window says beside the session. */
export interface Around {
  readonly along: string;
  readonly enterSends: boolean;
  readonly can: readonly Ability[];
}

/** An answer as a page gets it: what it does not have yet. */
export interface ShownAnswer {
  readonly kind: "answer";
  readonly key: string;
  readonly text: Piece;
  readonly reasoning: Piece;
  readonly done: boolean;
}

export type ShownEntry = Exclude<Entry, AnswerEntry> | ShownAnswer;

/** An entry, and which one of the session it is, from 0. */
export interface Placed {
  readonly at: number;
  readonly entry: ShownEntry;
}

/** To the view. */
export type ToView =
  | {
      readonly type: "state";
      readonly frame: Frame;
      /** Entries that are new in the page, and changed ones, in their order; all that are shown, with `reset`. */
      readonly entries: readonly Placed[];
      readonly reset: boolean;
      /** How many entries there are before those that are shown, behind them, and in all. */
      readonly before: number;
      readonly behind: number;
      readonly total: number;
    }
  /** What was sent is taken, or it is not, because of a problem. */
  | ({ readonly type: "sent" } & Outcome)
  | { readonly type: "focus"; readonly what: "composer" | "open" }
  /** Put a text into the composer. */
  | { readonly type: "draft"; readonly text: string }
  /** What a word after `@` may become. */
  | { readonly type: "completed"; readonly id: number; readonly found: readonly Completion[] }
  /** Which of the names that were asked for there are: `file:PATH`, `symbol:NAME`. */
  | { readonly type: "resolved"; readonly exist: readonly string[]; readonly not: readonly string[] }
  /** The colours of code in the editor's theme, as far as they are known. */
  | { readonly type: "colours"; readonly colours: Readonly<Partial<Record<Colour, string>>> };

/** From the view. */
export type FromView =
  /** It is there, or there again: then it may still wait for what became of a text. */
  | { readonly type: "ready"; readonly waitsFor?: string }
  | { readonly type: "earlier" | "later" | "latest" | "cancel" }
  | {
      readonly type: "send";
      readonly id: string;
      readonly text: string;
      readonly mode: Mode;
      /** Whether it goes to the running turn, or waits for its end. */
      readonly how: "now" | "after";
      /** Whether what is open in the editor goes along. */
      readonly along: boolean;
      /** The turn whose task this text takes the place of. */
      readonly instead?: string;
    }
  | { readonly type: "complete"; readonly id: number; readonly sign: "@" | "/"; readonly query: string }
  /** Name files that were dropped or pasted. */
  | { readonly type: "name"; readonly uris: readonly string[] }
  /** Change what waits. */
  | {
      readonly type: "queue";
      readonly action: "edit" | "move" | "remove" | "steer";
      readonly item: string;
      readonly to?: number;
    }
  /** Go on after the end of a turn, or go back to before its task. */
  | { readonly type: "continue" | "retry" | "restore"; readonly turn: string }
  | { readonly type: "decide"; readonly ids: readonly string[]; readonly decision: Decision; readonly note: string }
  | { readonly type: "answer"; readonly id: string; readonly answer: string }
  | { readonly type: "review"; readonly ids: readonly string[] }
  | { readonly type: "resolve"; readonly paths: readonly string[]; readonly symbols: readonly string[] }
  | { readonly type: "file"; readonly ref: FileRef }
  | { readonly type: "symbol"; readonly name: string }
  | { readonly type: "take"; readonly what: "copy" | "insert"; readonly text: string }
  | { readonly type: "command"; readonly command: ViewCommand };

/** The commands that the view has buttons for. */
export type ViewCommand =
  | "newSession"
  | "sessions"
  | "redo"
  | "doctor"
  | "permissions"
  | "retryNow"
  | "undo"
  | "reviewChanges"
  | "chooseModel"
  | "choosePermissionMode"
  | "setUp"
  | "showLog"
  | "restart";

/**
 * What of a session the view shows around its steps.
 *
 * @param next the model and the permission mode of the next turn, as far as they are known
 * @param reviews what was decided about single hunks
 */
export function frameOf(
  server: ServerState,
  session: SessionState | undefined,
  next: Next,
  reviews: Reviews,
  around: Around = { along: "", enterSends: true, can: [] },
): Frame {
  return {
    server,
    title: session?.title ?? "",
    running: session?.runningHere !== undefined,
    parked: session?.running?.parked ?? false,
    retryAt: session?.runningHere?.retryAt,
    away: session?.running === undefined || session.away === "waiting" ? undefined : session.away,
    model: session?.running?.model ?? next.model,
    lacksModel: server === "running" && next.lacksModel === true,
    permissionMode: modeOf(session, next),
    usage: session?.usage ?? {},
    context: session?.context,
    began: session?.runningHere?.began,
    waiting: session?.waiting ?? [],
    ...around,
    plan: session?.running === undefined ? [] : session.plan,
    open: questionsOf(session?.open.values() ?? []).map((items) => openView(items, reviews)),
  };
}

function openView(items: Question, reviews: Reviews): OpenView {
  const [item] = items;
  const isOne = items.length === 1;
  const options = isOne ? (item.options ?? []) : [];
  const { of, rest } = meaningsOf(item.kind === "question" ? options : [], item.detail ?? "");
  const most = Math.max(LEAST_LINES, Math.floor(MOST_LINES / items.length));
  return {
    id: isOne ? item.id : questionIdOf(item),
    kind: item.kind,
    title: headOfAll(items),
    isCommand: isOne && item.summary !== undefined,
    detail: isOne ? shortened(rest, most) : "",
    options,
    ...(of.size === 0 ? {} : { meanings: options.map((option) => of.get(option) ?? "") }),
    allowFreeForm: item.allowFreeForm ?? false,
    canReview: items.some(canReview),
    review: isOne ? reviews.said(item) : "",
    edits: isOne
      ? []
      : items.map((one) => ({
          id: one.id,
          title: headOf(one),
          detail: shortened(one.detail ?? "", most),
          review: reviews.said(one),
        })),
    ...countsOfAll(isOne ? [] : items),
  };
}

/** What a page has of the answers, which grow: it gets of each what it does not have yet. */
export class Sent {
  private readonly had = new Map<string, { text: Had; reasoning: Had }>();

  /**
   * An entry as the page gets it now.
   *
   * @param isNew whether the page has nothing of it
   */
  entry(entry: Entry, isNew: boolean): ShownEntry {
    if (entry.kind !== "answer") return entry;
    const { kind, key, text, reasoning, done } = entry;
    const had = isNew ? undefined : this.had.get(key);
    this.had.set(key, { text: text.had, reasoning: reasoning.had });
    return { kind, key, text: text.since(had?.text), reasoning: reasoning.since(had?.reasoning), done };
  }
}

/** As much of a text as is looked at in the view: it is sent there with every change. */
function shortened(text: string, most: number): string {
  const lines = text.split("\n");
  const shown = lines
    .slice(0, most)
    .map((line) => (line.length > MOST_COLUMNS ? `${line.slice(0, MOST_COLUMNS)}…` : line));
  if (lines.length > most) shown.push(`… ${String(lines.length - most)} more lines; Review… shows them all.`);
  return shown.join("\n");
}
