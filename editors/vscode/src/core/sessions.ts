/** The sessions of the workspace as lists show them: by day or one after the other, with what each is at. */

import type { SessionSummary } from "../protocol/types.js";
import { visible } from "./visible.js";
import { doing, oneLine } from "./words.js";

/** What can be done with a session of the list, beside looking at it. */
export type SessionAction = "resume" | "rename" | "fork" | "delete";

/** A session as a list shows it. */
export interface SessionLine {
  readonly kind: "session";
  readonly session: SessionSummary;
  readonly label: string;
  /** What it is at, where the icon does not say it all, and when something happened in it last. */
  readonly description: string;
  /** The same for who hears it, with what the icon says. */
  readonly said: string;
  /** The codicon before it. */
  readonly icon: string;
  /** What the pointer and a screen reader are told besides, a fact a line. */
  readonly more: readonly string[];
  readonly can: readonly SessionAction[];
}

/** The sessions of a day. */
export interface DayLine {
  readonly kind: "day";
  readonly label: string;
  readonly lines: readonly SessionLine[];
}

/** What a list of sessions is told beside them. */
export interface Listing {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The session that is looked at. */
  readonly current: string | undefined;
}

const DAYS = ["Today", "Yesterday", "Older"] as const;
const MOST_COLUMNS = 120;

/** Sessions by the day on which something happened in them last; days without one are left out. */
export function byDay(sessions: readonly SessionSummary[], listing: Listing): DayLine[] {
  const lines = sessions.map((session) => sessionLine(session, listing));
  return DAYS.map((label, day): DayLine => {
    const those = lines.filter(({ session }) => dayOf(session, listing.now) === day);
    return { kind: "day", label, lines: those };
  }).filter(({ lines: those }) => those.length > 0);
}

/** A session as a list shows it. */
export function sessionLine(session: SessionSummary, { now, current }: Listing): SessionLine {
  const { sessionId, title, turns, lastAt, forkedFrom, match, state, outcome } = session;
  const at = doing(session);
  const isAtRest = state === "idle" || state === "closed";
  const found = match === undefined ? "" : `“${oneLine(visible(match.text), MOST_COLUMNS)}”`;
  const name = visible(oneLine(title || sessionId, MOST_COLUMNS));
  const told = (state: string): string =>
    [sessionId === current ? "shown" : "", state, whenOf(lastAt, dayOf(session, now)), found]
      .filter(Boolean)
      .join(" · ");
  const count = `${String(turns)} ${turns === 1 ? "turn" : "turns"}`;
  return {
    kind: "session",
    session,
    label: name,
    description: told(isAtRest && outcome === "completed" ? "" : at),
    said: told(at),
    icon: iconOf(session),
    more: [
      name,
      ...(at === "" ? [] : [`Now: ${at}`]),
      `${count}, the latest on ${new Date(lastAt).toLocaleString()}`,
      ...(forkedFrom === undefined ? [] : ["A copy of another session"]),
      ...(found === "" ? [] : [`Found: ${found}`]),
    ],
    can: actionsOf(session),
  };
}

/** What can be done with a session: one that runs is not deleted, and one without an ended turn has no copy. */
function actionsOf({ state, turns, outcome }: SessionSummary): SessionAction[] {
  const isCutOff = state === "closed" && outcome === undefined && turns > 0;
  return [
    ...(isCutOff ? (["resume"] as const) : []),
    "rename",
    ...(outcome !== undefined || turns > 1 ? (["fork"] as const) : []),
    ...(state === "running" ? [] : (["delete"] as const)),
  ];
}

function iconOf(session: SessionSummary): string {
  const { state, outcome, turns } = session;
  if (state === "parked") return "bell-dot";
  if (state === "running") return "loading~spin";
  if (outcome === undefined) return state === "closed" && turns > 0 ? "debug-disconnect" : "circle-outline";
  return {
    completed: "comment",
    cancelled: "circle-slash",
    budget_exhausted: "watch",
    failed: "error",
    refused: "error",
  }[outcome];
}

/** 0 for today, 1 for yesterday, 2 for what is older. What comes from a clock ahead is of today. */
function dayOf({ lastAt }: SessionSummary, now: number): 0 | 1 | 2 {
  const day = new Date(now);
  day.setHours(0, 0, 0, 0);
  const time = Date.parse(lastAt);
  if (time >= day.getTime()) return 0;
  day.setDate(day.getDate() - 1);
  return time >= day.getTime() ? 1 : 2;
}

function whenOf(lastAt: string, day: 0 | 1 | 2): string {
  const date = new Date(lastAt);
  const time = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return day === 0 ? time : day === 1 ? `yesterday ${time}` : date.toLocaleDateString();
}
