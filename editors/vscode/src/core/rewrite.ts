/** What the user writes into the text as it would be: found again hunk by hunk. Only hunks can be rewritten. */

import { linesOf } from "./hunks.js";
import type { WireHunk } from "../protocol/types.js";

/** A hunk of a text that is shown, and whether its lines may be written anew. */
export interface Shown {
  readonly hunk: WireHunk;
  readonly isFree: boolean;
}

/**
 * What stands in the place of the free hunks, in their order.
 *
 * Where the lines between two hunks stand in several places the nearest to where they were is taken: the text as a
 * whole is the same with each.
 *
 * @param before the text without the hunks
 * @param now the text with them, as the user left it
 * @returns undefined where something else was changed too
 */
export function rewritten(before: string, hunks: readonly Shown[], now: string): string[] | undefined {
  const { between, added } = pieces(linesOf(before), hunks);
  const lines = linesOf(now);
  const alike = lines.map(ended);
  const [first = [], ...rest] = between;
  const last = rest.pop();
  if (last === undefined) return same(alike, first, 0) && alike.length === first.length ? [] : undefined;
  const end = alike.length - last.length;
  if (end < first.length || !same(alike, first, 0) || !same(alike, last, end)) return undefined;
  const starts = place(alike, rest, added, first.length, end);
  if (starts === undefined) return undefined;
  const from = [first.length, ...starts.map((start, index) => start + (rest[index]?.length ?? 0))];
  return from.map((start, index) => lines.slice(start, starts[index] ?? end).join(""));
}

/** The lines before, between and after the free hunks, and how many lines each of those has. */
function pieces(before: readonly string[], hunks: readonly Shown[]): { between: string[][]; added: number[] } {
  const between: string[][] = [[]];
  const added: number[] = [];
  let at = 0;
  for (const { hunk, isFree } of [...hunks].sort((one, other) => one.hunk.line - other.hunk.line)) {
    const put = linesOf(hunk.added);
    between.at(-1)?.push(...before.slice(at, hunk.line - 1).map(ended));
    at = hunk.line - 1 + linesOf(hunk.removed).length;
    if (isFree) {
      between.push([]);
      added.push(put.length);
    } else between.at(-1)?.push(...put.map(ended));
  }
  between.at(-1)?.push(...before.slice(at).map(ended));
  return { between, added };
}

/** Where pieces stand in lines, one behind the other between `from` and `end`; undefined where they do not. */
function place(
  lines: readonly string[],
  wanted: readonly string[][],
  added: readonly number[],
  from: number,
  end: number,
): number[] | undefined {
  const latest: number[] = [];
  for (const piece of [...wanted].reverse()) {
    let start = (latest[0] ?? end) - piece.length;
    while (start >= from && !same(lines, piece, start)) start--;
    if (start < from) return undefined;
    latest.unshift(start);
  }
  const starts: number[] = [];
  for (const [index, piece] of wanted.entries()) {
    const start = nearest(lines, piece, from, latest[index] ?? from, from + (added[index] ?? 0));
    starts.push(start);
    from = start + piece.length;
  }
  return starts;
}

/** Where a piece stands nearest to a place. It is known to stand at `latest`. */
function nearest(lines: readonly string[], piece: readonly string[], from: number, latest: number, to: number): number {
  for (let distance = 0; distance <= latest - from; distance++) {
    for (const start of [to - distance, to + distance])
      if (start >= from && start <= latest && same(lines, piece, start)) return start;
  }
  return latest;
}

function same(lines: readonly string[], piece: readonly string[], start: number): boolean {
  return start >= 0 && start + piece.length <= lines.length && piece.every((line, at) => lines[start + at] === line);
}

/** A line with the line end that all have while they are compared: an editor gives a text one kind of them. */
function ended(line: string): string {
  return line.replace(/\r\n?$/, "\n");
}
