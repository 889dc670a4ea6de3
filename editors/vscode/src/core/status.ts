/** What the status bar says of a session. */

import type { SessionState } from "./session.js";
import { type PermissionMode, spent } from "./words.js";

export interface StatusText {
  readonly text: string;
  readonly tooltip: string;
  /** Whether somebody has to do something. */
  readonly calls: boolean;
  readonly running: boolean;
}

export type ServerState = "starting" | "running" | "stopped" | "failed";

/** What the next turn gets, as far as the editor's settings say it. */
export interface Next {
  /** Empty where none is known. */
  readonly model: string;
  readonly permissionMode: PermissionMode | undefined;
  /** Whether no model is set, as the server says. */
  readonly lacksModel?: boolean;
}

/** The permission mode of the running turn, else of the next one. */
export function modeOf(session: SessionState | undefined, next: Next): string {
  const known = session?.permissionMode ?? "ask";
  return session?.running === undefined ? (next.permissionMode ?? known) : known;
}

/**
 * The text of the status bar item.
 *
 * @param asked what waits for an answer, in whichever session
 */
export function statusText(
  server: ServerState,
  session: SessionState | undefined,
  next: Next,
  asked: readonly string[],
): StatusText {
  if (server !== "running") {
    const icon = server === "starting" ? "$(loading~spin)" : "$(error)";
    const calls = server === "failed";
    return {
      text: `${icon} Outrider`,
      tooltip: `The server is ${server === "failed" ? "not running: something is wrong" : server}`,
      calls,
      running: false,
    };
  }
  const mode = modeOf(session, next);
  const now = session?.runningHere;
  const used = session === undefined ? "" : spent(session.usage);
  const cost = session?.usage.cost === undefined ? "" : ` · ${session.usage.cost.toFixed(4)}`;
  const lines = [
    `Model: ${now?.model ?? (next.model || (next.lacksModel === true ? "none; Set Up a Model leads to one" : "that of the settings file"))}`,
    `Permission: ${mode}`,
    `Used: ${used || "nothing yet"}`,
  ];
  const [first] = asked;
  if (first !== undefined) {
    const more = asked.length > 1 ? ` (${String(asked.length)})` : "";
    return {
      text: `$(bell-dot) Outrider needs you${more}`,
      tooltip: [first, ...lines].join("\n"),
      calls: true,
      running: now !== undefined,
    };
  }
  if (now === undefined) {
    const model = next.model === "" ? "" : ` · ${shortModel(next.model)}`;
    return {
      text: `$(hubot) Outrider${model} · ${mode}${cost}`,
      tooltip: ["Idle", ...lines].join("\n"),
      calls: false,
      running: false,
    };
  }
  const kind = now.mode === "agent" ? "" : `${now.mode} · `;
  return {
    text: `$(loading~spin) Outrider: ${kind}step ${String(now.steps + 1)} · ${shortModel(now.model)} · ${mode}${cost}`,
    tooltip: [session?.title ?? "", ...lines].join("\n"),
    calls: false,
    running: true,
  };
}

/** The part of a model's name that tells it from others: what stands after the last `/`. */
export function shortModel(model: string): string {
  const name = model.slice(model.lastIndexOf("/") + 1);
  return name.length > 24 ? `${name.slice(0, 23)}…` : name;
}
