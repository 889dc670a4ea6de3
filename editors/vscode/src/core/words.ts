/** Words of the protocol that have a type of their own here, and how they are said to a user. */

import { visible } from "./visible.js";
import type {
  Done,
  Open,
  PlanItem,
  RulePattern,
  RunParams,
  SessionSummary,
  Settings,
  TurnFinished,
  Usage,
  WebSearch,
} from "../protocol/types.js";

export type Mode = NonNullable<RunParams["mode"]>;
export type Outcome = TurnFinished["outcome"];
export type PermissionMode = NonNullable<Settings["permissionMode"]>;
export type OpenKind = Open["kind"];
export type PlanStatus = NonNullable<PlanItem["status"]>;

/** From the narrowest to the widest. */
export const PERMISSION_MODES: readonly PermissionMode[] = ["read-only", "ask", "auto-edit", "auto", "full"];

export const PERMISSION_MEANINGS: Readonly<Record<PermissionMode, string>> = {
  "read-only": "Only reading; nothing can be changed or run",
  ask: "Asks before every edit and every command",
  "auto-edit": "Edits inside the workspace go through, commands are asked for",
  auto: "Edits and sandboxed commands without network go through, as they can be undone; ignored files and files over 1 MB cannot",
  full: "Everything goes through without a question",
};

export const OUTCOMES: Readonly<Record<Outcome, string>> = {
  completed: "Completed",
  cancelled: "Cancelled",
  budget_exhausted: "Budget spent",
  failed: "Failed",
  refused: "Refused by the model",
};

/** How the end of a turn is marked: as good only what is shown to be done. */
export type EndMark = "good" | "open" | "check_failed" | "stopped" | "bad";

/**
 * How the end of a turn is marked.
 *
 * @param done what shows that it is done; logs of older versions have none, and say it as the reason
 */
export function markOf(outcome: Outcome, reason: string, done?: Done): EndMark {
  if (outcome === "cancelled") return "stopped";
  if (outcome !== "completed") return "bad";
  const state = done?.state ?? reason;
  if (state === "check_failed") return "check_failed";
  const { openItems = [], checks = [], diagnostics, line = "" } = done ?? {};
  const isLeft = openItems.length > 0 || (diagnostics?.introduced ?? 0) > 0;
  const isChecked = state === "checked" && checks.every(({ ok, stale }) => ok || stale);
  // Where nothing was changed, a line says what was not done.
  return !isLeft && (isChecked || (state === "no_changes" && line === "")) ? "good" : "open";
}

/** How a turn ended, in words. */
export function endOf({ outcome, mark }: { outcome: Outcome; mark: EndMark }): string {
  return mark === "check_failed" ? "Check failed" : OUTCOMES[outcome];
}

/** What shows that a turn is done, behind how it ended, which is not said twice. */
export function evidenceOf({ done, reason }: { done: string; reason: string }): string {
  return (done || reasonOf(reason)).replace(/^check failed: /, "");
}

/** The task that goes on after a check that failed. */
export function mendingTask(commands: readonly string[]): string {
  const named = commands.map((command) => `\`${command}\``).join(", ");
  return `${named || "A check"} failed. Correct what is wrong, so that it passes.`;
}

/** What a session of the list is at, or how it ended. */
export function doing({ state, elsewhere, outcome, turns }: SessionSummary): string {
  const where = elsewhere === true ? " in another window or editor" : "";
  if (state === "parked") return `needs you${where}`;
  if (state === "running") return `running${where}`;
  return outcome === undefined ? (turns > 0 && state === "closed" ? "cut off" : "") : OUTCOMES[outcome].toLowerCase();
}

const REASONS: Readonly<Record<string, string>> = {
  no_changes: "nothing was changed",
  checked: "checked: a check passed after the last change",
  check_failed: "a check failed after the last change",
  unverified: "unverified: no check was run after the last change",
  auth: "the provider does not take the key",
  shutdown: "the server was ended",
  model_unavailable: "the model cannot be used",
  script_exhausted: "the script has no further answer",
};

/** Why a turn ended, in words. */
export function reasonOf(reason: string): string {
  return REASONS[reason] ?? reason.replaceAll("_", " ");
}

const HINTS: Readonly<Record<string, string>> = {
  auth: "Give it another key with “Outrider: Set a Provider's Key…”.",
  connection: "Look at the network, and at the provider's baseUrl in the settings; then send the task again.",
  timeout: "Send the task again, or choose another model.",
  stalled: "Send the task again, or choose another model.",
  rate_limit: "The provider wants you to wait; then send the task again.",
  overloaded: "The provider has too much to do: send the task again later, or choose another model.",
  quota: "The account at the provider is used up.",
  unknown_model: "The provider does not know this model: choose another one.",
  model_unavailable: "“Outrider: Doctor” says what is missing; or choose another model.",
};

/** What the user can do about the end of a turn; undefined where there is nothing to be done. */
export function hintOf(reason: string): string | undefined {
  return HINTS[reason];
}

/** `12.3k` for 12345. */
export function short(count: number): string {
  if (count < 1000) return String(count);
  if (count < 1_000_000) return `${(count / 1000).toFixed(count < 10_000 ? 1 : 0)}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
}

/** Tokens and cost; the cost only where it is known, and nothing where nothing is. */
export function spent(usage: Usage): string {
  if (!usage.inputTokens && !usage.outputTokens && usage.cost === undefined) return "";
  const tokens = `${usage.estimated ? "~" : ""}${short(usage.inputTokens ?? 0)} in, ${short(usage.outputTokens ?? 0)} out`;
  return usage.cost === undefined ? tokens : `${tokens}, cost ${usage.cost.toFixed(4)}`;
}

/** `0.4 s`, `12 s`, `3 min 5 s`. */
export function lasting(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${String(Math.round(seconds))} s`;
  const minutes = Math.floor(seconds / 60);
  return `${String(minutes)} min ${String(Math.round(seconds - minutes * 60))} s`;
}

/** `0:05`, `12:31`: how long something lasts by now. */
export function clock(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  return `${String(Math.floor(seconds / 60))}:${String(seconds % 60).padStart(2, "0")}`;
}

/** A rule as a user reads it: what would be allowed from now on. */
export function ruleText(rule: RulePattern): string {
  if (rule.command !== undefined) {
    const script = rule.script === undefined || rule.script === "any" ? "" : ", its script as it is now";
    return rule.exact === true
      ? `${rule.tool} “${rule.command}”${script}`
      : `${rule.tool} “${rule.command} …”${script}`;
  }
  return [rule.tool, rule.path, rule.host].filter((part) => part !== undefined).join(" ");
}

/** What an error says. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What the server says where it lacks a model: how one comes to it in a terminal is no way for who is in the editor. */
export function withoutTerminal(message: string): string {
  return message.replace(/: run `outrider setup` in a terminal\b/, "");
}

/** What a program that has ended printed last, behind what is said of its end; nothing where it printed nothing. */
export function lastWords(printed: string): string {
  const last = visible(oneLine(printed.trimEnd().split("\n").at(-1) ?? "", 300)).replace(/[.]$/, "");
  return last === "" ? "" : ` It said: ${last}.`;
}

/** One line of at most so many characters. */
export function oneLine(text: string, length: number): string {
  const line = text.split(/\s+/).filter(Boolean).join(" ");
  return line.length <= length ? line : `${line.slice(0, length - 1)}…`;
}

/**
 * How long it is to the next attempt at a provider; empty where the time has passed.
 *
 * @param milliseconds from now on
 */
export function waiting(milliseconds: number): string {
  return milliseconds <= 0 ? "" : `The provider is asked again in ${String(Math.ceil(milliseconds / 1000))} s.`;
}

/** What a provider did on the web for an answer. */
export function searchInWords({ query, pages = [], problem }: WebSearch): string {
  const did = query === undefined ? `Opened ${pages[0]?.url ?? "a page"}` : `Searched the web for “${query}”`;
  const found = query === undefined || pages.length === 0 ? "" : `: ${pages.map(({ url }) => url).join(", ")}`;
  return did + found + (problem === undefined ? "" : ` (failed: ${problem})`);
}
