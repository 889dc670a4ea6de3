/** What the person decides about the hunks of an edit, one by one. Nothing is sent before all of them are decided. */

import type { OpenItem } from "./session.js";
import type { AnswerParams, EditProposed, ReviewedHunk, WireHunk } from "../protocol/types.js";

/** A hunk of an item. */
export interface ItemHunk {
  /** As the server counts them: `chg_3#2`. */
  readonly id: string;
  /** Among all hunks of the item, from 1. */
  readonly number: number;
  /** Among those of its change, from 0. */
  readonly index: number;
  readonly change: EditProposed;
  readonly hunk: WireHunk;
}

/** How a hunk stands. */
export type Verdict = "open" | "taken" | "left out";

/** The hunks of an item, in their order. What makes, deletes or renames a file is one. */
export function hunksOf(item: Pick<OpenItem, "proposals">): ItemHunk[] {
  const found: ItemHunk[] = [];
  for (const change of item.proposals) {
    const whole = (change.operation ?? "edit") !== "edit";
    const hunks = whole ? [change.hunks[0] ?? { line: 1, removed: "", added: "" }] : change.hunks;
    for (const [index, hunk] of hunks.entries()) {
      found.push({ id: `${change.changeId}#${String(index + 1)}`, number: found.length + 1, index, change, hunk });
    }
  }
  return found;
}

/** The decisions about single hunks, of all items. */
export class Reviews {
  private readonly decided = new Map<string, Map<string, ReviewedHunk>>();

  /** Decide about a hunk; a decision of before is replaced. */
  decide(item: OpenItem, hunk: ItemHunk, decision: ReviewedHunk["decision"], reason = ""): void {
    const said = this.decided.get(item.id) ?? new Map<string, ReviewedHunk>();
    said.set(hunk.id, { id: hunk.id, decision, ...(reason.trim() === "" ? {} : { reason: reason.trim() }) });
    this.decided.set(item.id, said);
  }

  verdict(item: Pick<OpenItem, "id">, hunk: ItemHunk): Verdict {
    const said = this.decided.get(item.id)?.get(hunk.id);
    return said === undefined ? "open" : said.decision === "take" ? "taken" : "left out";
  }

  /** The hunks that nothing was decided about yet. */
  left(item: OpenItem): ItemHunk[] {
    return hunksOf(item).filter((hunk) => this.verdict(item, hunk) === "open");
  }

  /** Whether something was decided about single hunks. */
  hasBegun(id: string): boolean {
    return this.decided.has(id);
  }

  /** What was decided so far, in words; empty where nothing was. */
  said(item: OpenItem): string {
    if (!this.hasBegun(item.id)) return "";
    const verdicts = hunksOf(item).map((hunk) => this.verdict(item, hunk));
    const count = (wanted: Verdict): string => String(verdicts.filter((verdict) => verdict === wanted).length);
    return `Of ${String(verdicts.length)} hunks ${count("taken")} taken, ${count("left out")} left out, ${count("open")} open. Allow once takes what is open.`;
  }

  /**
   * The answer to an item of which something was decided: what is open yet is taken.
   *
   * @param note what the model is told besides
   */
  answer(item: OpenItem, note = ""): AnswerParams {
    const hunks = hunksOf(item);
    const said = [...(this.decided.get(item.id)?.values() ?? [])];
    const rejected = said.filter(({ decision }) => decision === "reject");
    const more = note.trim() === "" ? {} : { note: note.trim() };
    if (rejected.length < hunks.length)
      return { id: item.id, decision: "allow_once", ...(rejected.length === 0 ? {} : { review: rejected }), ...more };
    // Of a whole edit that is rejected the server takes reasons alone.
    const reasons = rejected.filter(({ reason }) => reason !== undefined);
    const [only] = hunks.length === 1 ? reasons : [];
    if (only?.reason !== undefined) return { id: item.id, decision: "reject", note: only.reason };
    return { id: item.id, decision: "reject", ...(reasons.length === 0 ? {} : { review: reasons }), ...more };
  }

  /** Forget what was decided about items that are not open any more. */
  keepOnly(open: Iterable<string>): void {
    const ids = new Set(open);
    for (const id of this.decided.keys()) if (!ids.has(id)) this.decided.delete(id);
  }
}

/** The hunks of a change as they are decided so far: what was left out changes nothing. */
export function asDecided(
  reviews: Pick<Reviews, "verdict">,
  item: Pick<OpenItem, "id" | "proposals">,
  changeId: string,
): WireHunk[] {
  return hunksOf(item)
    .filter(({ change }) => change.changeId === changeId)
    .map((one) => (reviews.verdict(item, one) === "left out" ? { ...one.hunk, added: one.hunk.removed } : one.hunk));
}

/** The next of the hunks after one, round and round; the first where none is named. */
export function nextOf(hunks: readonly ItemHunk[], number: number | undefined, step: 1 | -1): ItemHunk | undefined {
  if (number === undefined) return step === 1 ? hunks[0] : hunks.at(-1);
  const sorted = step === 1 ? hunks : [...hunks].reverse();
  return sorted.find((hunk) => (hunk.number - number) * step > 0) ?? sorted[0];
}
