/** What the commands work with. */

import type * as vscode from "vscode";

import type { SessionBook } from "../core/book.js";
import type { Milestones } from "../core/milestones.js";
import type { Reviews } from "../core/review.js";
import type { Answers } from "./answers.js";
import type { Completing } from "./completing.js";
import type { Connection } from "./connection.js";
import type { Keys } from "./keys.js";
import type { Proposals } from "./proposals.js";
import type { References } from "./references.js";
import type { SessionView } from "./view.js";

/** The session that the window of a folder shows when it is opened again, in what is kept of the workspace. */
export const LAST_SESSION = "outrider.session";

export interface House {
  readonly context: vscode.ExtensionContext;
  readonly log: vscode.LogOutputChannel;
  readonly connection: Connection;
  readonly book: SessionBook;
  readonly answers: Answers;
  readonly proposals: Proposals;
  readonly reviews: Reviews;
  readonly view: SessionView;
  readonly keys: Keys;
  readonly references: References;
  readonly completing: Completing;
  readonly milestones: Milestones;
  /** Show in the view and the status bar how it stands now. */
  readonly update: () => void;
}

/** The commands of a module, by the end of their id: `outrider.client.<name>`. */
export type CommandTable = Readonly<Record<string, (...args: unknown[]) => unknown>>;
