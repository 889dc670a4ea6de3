/** What the session view and the extension say to each other. */

import type { Entry } from "./entries.js";
import type { Reviews } from "./review.js";
import { type Away, type OpenItem, type SessionState, canReview, headOf } from "./session.js";
import type { Outcome } from "./sending.js";
import { type Next, type ServerState, modeOf } from "./status.js";
import type { Decision } from "./titles.js";
import type { Mode } from "./words.js";
import type { PlanItem, Usage } from "../protocol/types.js";

const MOST_LIVE = 8_000;
const MOST_TEXT = 50_000;
const MOST_LINES = 400;
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
  readonly allowFreeForm: boolean;
  /** Whether there is more to look at than `detail`, and single hunks to decide about. */
  readonly canReview: boolean;
  /** What was decided about single hunks so far, in words. */
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
  /** Why its turn can only be looked at; undefined where it has none, or it can be worked with. */
  readonly away: Exclude<Away, "waiting"> | undefined;
  readonly model: string;
  readonly permissionMode: string;
  readonly usage: Usage;
  readonly plan: readonly PlanItem[];
  readonly open: readonly OpenView[];
}

/** An entry, and which one of the session it is, from 0. */
export interface Placed {
  readonly at: number;
  readonly entry: Entry;
}

/** To the view. */
export type ToView =
  | {
      readonly type: "state";
      readonly frame: Frame;
      /** New and changed entries, in their order; all that are shown, with `reset`. */
      readonly entries: readonly Placed[];
      readonly reset: boolean;
      /** How many entries there are before those that are shown, and behind them. */
      readonly before: number;
      readonly behind: number;
    }
  /** What was sent is taken, or it is not, because of a problem. */
  | ({ readonly type: "sent" } & Outcome)
  | { readonly type: "focus"; readonly what: "composer" | "open" };

/** From the view. */
export type FromView =
  /** It is there, or there again: then it may still wait for what became of a text. */
  | { readonly type: "ready"; readonly waitsFor?: string }
  | { readonly type: "earlier" | "later" | "latest" | "cancel" }
  | { readonly type: "send"; readonly id: string; readonly text: string; readonly mode: Mode }
  | { readonly type: "decide"; readonly id: string; readonly decision: Decision; readonly note: string }
  | { readonly type: "answer"; readonly id: string; readonly answer: string }
  | { readonly type: "review"; readonly id: string }
  | { readonly type: "file"; readonly path: string }
  | { readonly type: "command"; readonly command: ViewCommand };

/** The commands that the view has buttons for. */
export type ViewCommand =
  "retryNow" | "undo" | "reviewChanges" | "chooseModel" | "choosePermissionMode" | "showLog" | "restart";

/**
 * What of a session the view shows around its steps.
 *
 * @param next the model and the permission mode of the next turn, as far as they are known
 * @param reviews what was decided about single hunks
 */
export function frameOf(server: ServerState, session: SessionState | undefined, next: Next, reviews: Reviews): Frame {
  return {
    server,
    title: session?.title ?? "",
    running: session?.runningHere !== undefined,
    parked: session?.running?.parked ?? false,
    retryAt: session?.runningHere?.retryAt,
    away: session?.running === undefined || session.away === "waiting" ? undefined : session.away,
    model: session?.running?.model ?? next.model,
    permissionMode: modeOf(session, next),
    usage: session?.usage ?? {},
    plan: session?.plan ?? [],
    open: [...(session?.open.values() ?? [])].map((item) => openView(item, reviews)),
  };
}

function openView(item: OpenItem, reviews: Reviews): OpenView {
  return {
    id: item.id,
    kind: item.kind,
    title: headOf(item),
    isCommand: item.summary !== undefined,
    detail: shortened(item.detail ?? ""),
    options: item.options ?? [],
    allowFreeForm: item.allowFreeForm ?? false,
    canReview: canReview(item),
    review: reviews.said(item),
  };
}

/** An entry as the view gets it: a text that is still coming with its end alone, as it is sent anew with every piece. */
export function shownEntry(entry: Entry): Entry {
  if (entry.kind !== "answer") return entry;
  const most = entry.done ? MOST_TEXT : MOST_LIVE;
  return {
    ...entry,
    text: endOf(entry.text, most, entry.cut.text),
    reasoning: endOf(entry.reasoning, most, entry.cut.reasoning),
  };
}

function endOf(text: string, most: number, cut: number): string {
  return text.length <= most && cut === 0
    ? text
    : `(${String(cut + Math.max(0, text.length - most))} characters before)\n\n${text.slice(-most)}`;
}

/** As much of a text as is looked at in the view: it is sent there with every change. */
function shortened(text: string): string {
  const lines = text.split("\n");
  const shown = lines
    .slice(0, MOST_LINES)
    .map((line) => (line.length > MOST_COLUMNS ? `${line.slice(0, MOST_COLUMNS)}…` : line));
  if (lines.length > MOST_LINES)
    shown.push(`… ${String(lines.length - MOST_LINES)} more lines; Review… shows them all.`);
  return shown.join("\n");
}
