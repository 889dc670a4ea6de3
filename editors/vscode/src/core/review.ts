/** What the user decides about the hunks of an edit, one by one. Nothing is sent before all of them are decided. */

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

/** What is decided about one item, in a form that can be stored. */
export interface Kept {
  readonly id: string;
  readonly decided: readonly ReviewedHunk[];
  readonly texts: readonly (readonly [string, string])[];
}

// Of sessions that are not opened again nobody says when their items are answered.
const MOST_KEPT = 20;

/** The decisions about single hunks, of all items, and what the user wrote in their place. */
export class Reviews {
  private readonly decided = new Map<string, Map<string, ReviewedHunk>>();
  private readonly texts = new Map<string, Map<string, string>>();
  private seen = new Set<string>();

  /**
   * @param kept what was decided in a window of before, of items that may be open still
   * @param keep told what is to be kept, whenever that changes
   */
  constructor(
    kept: readonly Kept[] = [],
    private readonly keep: (kept: readonly Kept[]) => void = () => undefined,
  ) {
    for (const { id, decided, texts } of kept) {
      if (decided.length > 0) this.decided.set(id, new Map(decided.map((said) => [said.id, said])));
      if (texts.length > 0) this.texts.set(id, new Map(texts));
    }
  }

  /** Decide about a hunk; a decision of before is replaced. */
  decide(item: OpenItem, hunk: ItemHunk, decision: ReviewedHunk["decision"], reason = ""): void {
    const said = this.decided.get(item.id) ?? new Map<string, ReviewedHunk>();
    said.set(hunk.id, { id: hunk.id, decision, ...(reason.trim() === "" ? {} : { reason: reason.trim() }) });
    this.decided.set(item.id, said);
    this.kept();
  }

  /** Have a text of the user stand in the place of what a hunk puts in. Gives whether that is something new. */
  rewrite(item: Pick<OpenItem, "id">, hunk: ItemHunk, text: string): boolean {
    const before = this.textOf(item, hunk);
    const texts = this.texts.get(item.id) ?? new Map<string, string>();
    if (alike(text, hunk.hunk.added)) texts.delete(hunk.id);
    else texts.set(hunk.id, text);
    if (texts.size > 0) this.texts.set(item.id, texts);
    else this.texts.delete(item.id);
    const isNew = this.textOf(item, hunk) !== before;
    if (isNew) this.kept();
    return isNew;
  }

  /** What the user wrote in the place of what a hunk puts in; undefined where they wrote nothing. */
  textOf(item: Pick<OpenItem, "id">, hunk: ItemHunk): string | undefined {
    return this.texts.get(item.id)?.get(hunk.id);
  }

  verdict(item: Pick<OpenItem, "id">, hunk: ItemHunk): Verdict {
    const said = this.decided.get(item.id)?.get(hunk.id);
    return said === undefined ? "open" : said.decision === "take" ? "taken" : "left out";
  }

  /** The hunks that nothing was decided about yet. */
  left(item: OpenItem): ItemHunk[] {
    return hunksOf(item).filter((hunk) => this.verdict(item, hunk) === "open");
  }

  /** Whether something was decided about single hunks, or written in their place. */
  hasBegun(id: string): boolean {
    return this.decided.has(id) || this.texts.has(id);
  }

  /** What was decided so far, in words; empty where nothing was. */
  said(item: OpenItem): string {
    if (!this.hasBegun(item.id)) return "";
    const hunks = hunksOf(item);
    const own = this.rewritten(item).length;
    if (hunks.length === own && own === 1) return "You rewrote it. Allow once takes it so.";
    const verdicts = hunks.map((hunk) => this.verdict(item, hunk));
    const count = (wanted: Verdict): string => String(verdicts.filter((verdict) => verdict === wanted).length);
    const written = own > 0 ? `; you rewrote ${String(own)}` : "";
    return `Of ${String(verdicts.length)} hunks ${count("taken")} taken, ${count("left out")} left out, ${count("open")} open${written}. Allow once takes what is open.`;
  }

  /**
   * The answer to an item of which something was decided: what is open yet is taken.
   *
   * @param note what the model is told besides
   */
  answer(item: OpenItem, note = ""): AnswerParams {
    const hunks = hunksOf(item);
    const said = [...(this.decided.get(item.id)?.values() ?? [])];
    // What was rewritten to what stands there already would change nothing.
    const undone = this.rewritten(item).filter(({ isUndone }) => isUndone);
    const rejected: ReviewedHunk[] = [
      ...said.filter(({ decision }) => decision === "reject"),
      ...undone.map(({ id }) => ({ id, decision: "reject" as const })),
    ];
    const taken = this.rewritten(item).filter(({ isUndone }) => !isUndone);
    const review = [...rejected, ...taken.map(({ id, text }) => ({ id, decision: "take" as const, text }))];
    const more = note.trim() === "" ? {} : { note: note.trim() };
    if (rejected.length < hunks.length)
      return { id: item.id, decision: "allow_once", ...(review.length === 0 ? {} : { review }), ...more };
    // Of a whole edit that is rejected the server takes reasons alone.
    const reasons = rejected.filter(({ reason }) => reason !== undefined);
    const [only] = hunks.length === 1 ? reasons : [];
    if (only?.reason !== undefined) return { id: item.id, decision: "reject", note: only.reason };
    return { id: item.id, decision: "reject", ...(reasons.length === 0 ? {} : { review: reasons }), ...more };
  }

  /** Forget what was decided about items that were open and are not any more. */
  keepOnly(open: Iterable<string>): void {
    const ids = new Set(open);
    const gone = [...this.seen].filter((id) => !ids.has(id) && this.hasBegun(id));
    this.seen = ids;
    for (const id of gone) {
      this.decided.delete(id);
      this.texts.delete(id);
    }
    if (gone.length > 0) this.kept();
  }

  private kept(): void {
    const ids = [...new Set([...this.decided.keys(), ...this.texts.keys()])];
    this.keep(
      ids.slice(-MOST_KEPT).map((id) => ({
        id,
        decided: [...(this.decided.get(id)?.values() ?? [])],
        texts: [...(this.texts.get(id) ?? [])],
      })),
    );
  }

  /** The hunks that are not left out, with what the user wrote, and whether that takes them back. */
  private rewritten(item: OpenItem): { id: string; text: string; isUndone: boolean }[] {
    return hunksOf(item)
      .filter((hunk) => this.verdict(item, hunk) !== "left out")
      .flatMap((hunk) => {
        const text = this.textOf(item, hunk);
        const isUndone = text !== undefined && alike(text, hunk.hunk.removed) && hunk.change.operation !== "create";
        return text === undefined ? [] : [{ id: hunk.id, text, isUndone }];
      });
  }
}

/** The hunks of a change as they are decided so far: what was left out changes nothing, what was rewritten is so. */
export function asDecided(
  reviews: Pick<Reviews, "verdict" | "textOf">,
  item: Pick<OpenItem, "id" | "proposals">,
  changeId: string,
): WireHunk[] {
  return hunksOf(item)
    .filter(({ change }) => change.changeId === changeId)
    .map((one) => {
      const { hunk } = one;
      const isOut = reviews.verdict(item, one) === "left out";
      return { ...hunk, added: isOut ? hunk.removed : (reviews.textOf(item, one) ?? hunk.added) };
    });
}

/** Whether texts have the same lines, whatever ends them. */
function alike(one: string, other: string): boolean {
  return one === other || one.replace(/\r\n?/g, "\n") === other.replace(/\r\n?/g, "\n");
}

/** The next of the hunks after one, round and round; the first where none is named. */
export function nextOf(hunks: readonly ItemHunk[], number: number | undefined, step: 1 | -1): ItemHunk | undefined {
  if (number === undefined) return step === 1 ? hunks[0] : hunks.at(-1);
  const sorted = step === 1 ? hunks : [...hunks].reverse();
  return sorted.find((hunk) => (hunk.number - number) * step > 0) ?? sorted[0];
}
