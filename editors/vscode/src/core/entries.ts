/** What a session shows, in the order it happened. The session view draws exactly these. */

import type { Mode, Outcome } from "./words.js";
import type { Usage } from "../protocol/types.js";

export type CallStatus = "asked" | "running" | "ok" | "error" | "denied" | "cancelled" | "interrupted" | "skipped";

/** The task of a turn. */
export interface TaskEntry {
  readonly kind: "task";
  readonly key: string;
  prompt: string;
  mode: Mode;
  model: string;
}

/** An answer of the model. */
export interface AnswerEntry {
  readonly kind: "answer";
  readonly key: string;
  text: string;
  reasoning: string;
  /** How many characters before those of each were left out, while it is coming. */
  cut: { text: number; reasoning: number };
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
  usage: Usage;
  seconds: number;
}

export type Entry = TaskEntry | AnswerEntry | CallEntry | EditEntry | NoteEntry | EndEntry;
