/** What a session shows, in the order it happened. The session view draws exactly these. */

import type { Growing } from "./growing.js";
import type { EndMark, Mode, Outcome } from "./words.js";
import type { CheckFailure, PlanItem, Usage } from "../protocol/types.js";

export type CallStatus = "asked" | "running" | "ok" | "error" | "denied" | "cancelled" | "interrupted" | "skipped";

/** The task of a turn. */
export interface TaskEntry {
  readonly kind: "task";
  readonly key: string;
  prompt: string;
  /** The document of the plan that it carries out. */
  planDocument?: string;
  mode: Mode;
  model: string;
}

/** An answer of the model. */
export interface AnswerEntry {
  readonly kind: "answer";
  readonly key: string;
  readonly text: Growing;
  readonly reasoning: Growing;
  done: boolean;
}

/** A tool call. */
export interface CallEntry {
  readonly kind: "call";
  readonly key: string;
  name: string;
  /** What it is about: a path, a command, a pattern. */
  about: string;
  status: CallStatus;
  /** When it began, in milliseconds since 1970. */
  began?: number;
  seconds?: number;
  output: string;
}

/** A change of a file. */
export interface EditEntry {
  readonly kind: "edit";
  readonly key: string;
  path: string;
  operation: "edit" | "create" | "delete" | "rename";
  added: number;
  removed: number;
  undone: boolean;
  /** Whether somebody else wrote in the same file meanwhile. */
  merged: boolean;
}

/** Something worth a line: an answer of the user, a steering text, a problem. */
export interface NoteEntry {
  readonly kind: "note";
  readonly key: string;
  text: string;
  level: "info" | "warning" | "error";
}

/** The end of a turn. */
export interface EndEntry {
  readonly kind: "end";
  readonly key: string;
  outcome: Outcome;
  reason: string;
  /** What shows that it is done, in one line; empty where nothing does. */
  done: string;
  mark: EndMark;
  /** The commands of the checks that failed, and what they say is wrong. */
  failed: readonly string[];
  failures: readonly CheckFailure[];
  usage: Usage;
  seconds: number;
}

/** The plan of a turn, as it is by now. */
export interface PlanEntry {
  readonly kind: "plan";
  readonly key: string;
  readonly items: readonly PlanItem[];
}

export type Entry = PlanEntry | TaskEntry | AnswerEntry | CallEntry | EditEntry | NoteEntry | EndEntry;
