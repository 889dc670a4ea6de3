/** Line hunks of a change: put into a text, taken out of it, and where they lie. Lines count from 1, as on the wire. */

import type { WireHunk } from "../protocol/types.js";

/** Lines with their ends; a text that ends with a line end has no empty line after it. */
export function linesOf(text: string): string[] {
  return text.match(/[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+$/g) ?? [];
}

const MARK = "\ufeff";

/** A hunk as an editor shows the file: the byte order mark, which the server has in the first line, is kept from sight. */
export function withoutMark<Hunk extends WireHunk>(hunk: Hunk): Hunk {
  const bare = (text: string): string => (text.startsWith(MARK) ? text.slice(MARK.length) : text);
  return hunk.line === 1 ? { ...hunk, removed: bare(hunk.removed), added: bare(hunk.added) } : hunk;
}

/** What the user wrote in the place of a hunk, with the byte order mark that it was shown without. */
export function withMark(text: string, { added }: WireHunk): string {
  return added.startsWith(MARK) ? MARK + text : text;
}

/** The text of a file as an editor shows it: the server reads the same, UTF-8, or UTF-16 with its mark. */
export function decoded(bytes: Uint8Array): string {
  const [first, second] = bytes;
  const is16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  return new TextDecoder(is16 ? (first === 0xff ? "utf-16le" : "utf-16be") : "utf-8").decode(bytes);
}

/**
 * The text with the hunks put in.
 *
 * @returns undefined where the text is not what the hunks were worked out for
 */
export function withHunks(text: string, hunks: readonly WireHunk[]): string | undefined {
  const lines = linesOf(text);
  for (const hunk of hunks.map(withoutMark).sort((one, other) => other.line - one.line)) {
    const removed = linesOf(hunk.removed);
    const start = hunk.line - 1;
    if (lines.slice(start, start + removed.length).join("") !== hunk.removed) return undefined;
    lines.splice(start, removed.length, hunk.added);
  }
  return lines.join("");
}

/**
 * The text without the hunks, which are in it. Each is looked for nearest to where it was put, so lines that were
 * written or deleted elsewhere since do no harm.
 *
 * @returns undefined where one of them is not there any more
 */
export function withoutHunks(text: string, hunks: readonly WireHunk[]): string | undefined {
  let lines = linesOf(text);
  let shift = 0;
  const placed: { start: number; count: number; removed: string }[] = [];
  for (const hunk of hunks.map(withoutMark).sort((one, other) => one.line - other.line)) {
    const added = linesOf(hunk.added);
    const start = nearest(lines, added, hunk.line - 1 + shift);
    if (start === undefined) return undefined;
    placed.push({ start, count: added.length, removed: hunk.removed });
    shift += added.length - linesOf(hunk.removed).length;
  }
  for (const { start, count, removed } of placed.reverse()) {
    lines = [...lines.slice(0, start), ...linesOf(removed), ...lines.slice(start + count)];
  }
  return lines.join("");
}

function nearest(lines: readonly string[], wanted: readonly string[], start: number): number | undefined {
  const fits = (at: number): boolean =>
    at >= 0 && at + wanted.length <= lines.length && wanted.every((line, index) => lines[at + index] === line);
  for (let distance = 0; distance <= lines.length; distance++) {
    if (fits(start - distance)) return start - distance;
    if (fits(start + distance)) return start + distance;
  }
  return undefined;
}

export interface Place {
  /** The first line, from 0. */
  readonly line: number;
  /** How many lines go; 0 where some are only put in before `line`. */
  readonly count: number;
}

/** Where a hunk lies in the text before. */
export function placeBefore(hunk: WireHunk): Place {
  return { line: hunk.line - 1, count: linesOf(hunk.removed).length };
}

/** Where the hunks lie in the text after, in their order. */
export function placesAfter(hunks: readonly WireHunk[]): Place[] {
  let shift = 0;
  return [...hunks]
    .sort((one, other) => one.line - other.line)
    .map((hunk) => {
      const added = linesOf(hunk.added).length;
      const place = { line: hunk.line - 1 + shift, count: added };
      shift += added - linesOf(hunk.removed).length;
      return place;
    });
}

export interface Counts {
  readonly added: number;
  readonly removed: number;
}

/** How many lines hunks put in and take out. */
export function countsOf(hunks: readonly WireHunk[]): Counts {
  let added = 0;
  let removed = 0;
  for (const hunk of hunks) {
    added += linesOf(hunk.added).length;
    removed += linesOf(hunk.removed).length;
  }
  return { added, removed };
}

/** A hunk as the lines of a diff. */
export function asDiff(hunk: WireHunk): string {
  return [...marked(hunk.removed, "-"), ...marked(hunk.added, "+")].join("\n");
}

/** The lines that a hunk puts in, as those of a diff; of many the first. */
export function putIn({ added }: WireHunk, most: number): string {
  const lines = marked(added, "+");
  const rest = lines.length - most;
  return [...lines.slice(0, most), ...(rest > 0 ? [`… ${String(rest)} more in the diff`] : [])].join("\n");
}

function marked(text: string, mark: string): string[] {
  return linesOf(text).map((line) => mark + line.replace(/[\r\n]+$/, ""));
}
