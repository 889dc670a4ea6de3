/** Edits of one step, which are asked about at once: each is an item of its own, and they are shown as one question. */

import { countsOf } from "./hunks.js";
import { type OpenItem, headOf } from "./session.js";

/** What is asked at once. */
export type Question = readonly [OpenItem, ...OpenItem[]];

/** Open items as questions: those of one group are one, where the first of them stands. */
export function questionsOf(open: Iterable<OpenItem>): Question[] {
  const questions = new Map<string, Question>();
  for (const item of open) {
    const id = questionIdOf(item);
    const known = questions.get(id);
    questions.set(id, known === undefined ? [item] : [...known, item]);
  }
  return [...questions.values()];
}

/** The id of the question that an item is a part of. */
export function questionIdOf(item: OpenItem): string {
  return item.group ?? item.id;
}

/** What a question is about, in one line. */
export function headOfAll(items: Question): string {
  const [first] = items;
  return items.length === 1 ? headOf(first) : `${String(items.length)} edits in one step`;
}

/** The lines that edits put in and take out. */
export function countsOfAll(items: readonly OpenItem[]): { added: number; removed: number } {
  return countsOf(items.flatMap(({ proposals }) => proposals).flatMap(({ hunks }) => hunks));
}
