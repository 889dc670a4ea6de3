/** The button texts of the protocol that the extension has to know: answers are matched by them. */

import type { AnswerParams } from "../protocol/types.js";

export const ALLOW_ONCE = "Allow once";
export const RUN_OUTSIDE = "Run outside once";
export const PUT_BACK = "Put back";
export const KEEP = "Keep";
export const ALLOW_SESSION = "Allow for this session";
export const ALWAYS_ALLOW = "Always allow…";
export const ALWAYS_HERE = "Always in this workspace";
export const ALWAYS_EVERYWHERE = "Always everywhere";
export const REJECT = "Reject";
const ALLOW_ALL = "Allow all ";
/** The button that prevents several edits. */
export const REJECT_ALL = "Reject all";
export const REVIEW = "Review…";
export const SAVE_AND_CONTINUE = "Save and continue";

export type Decision = NonNullable<AnswerParams["decision"]>;

const DECISIONS: Readonly<Record<string, Decision>> = {
  [ALLOW_ONCE]: "allow_once",
  [RUN_OUTSIDE]: "allow_once",
  [ALLOW_SESSION]: "allow_session",
  [ALWAYS_ALLOW]: "allow_always",
  [REJECT]: "reject",
  [REJECT_ALL]: "reject",
  [PUT_BACK]: "put_back",
  [KEEP]: "keep",
};

/** The button that lets several edits happen this once. */
export function allowAll(count: number): string {
  return ALLOW_ALL + String(count);
}

/** The decision that a button stands for; undefined for one that decides nothing, such as `Review…`. */
export function decisionOf(title: string): Decision | undefined {
  return title.startsWith(ALLOW_ALL) ? "allow_once" : DECISIONS[title];
}

/** The buttons of an approval that let it happen this once, or that prevent it. */
export function yesAndNo(options: readonly string[]): readonly [string, string] {
  if (options.includes(PUT_BACK)) return [PUT_BACK, KEEP];
  return [options.includes(RUN_OUTSIDE) ? RUN_OUTSIDE : ALLOW_ONCE, REJECT];
}

/** Whether something may happen with an answer that would not happen otherwise; only looking at it and a no are none. */
export function isYes(title: string): boolean {
  return ![REJECT, REJECT_ALL, REVIEW].includes(title);
}
