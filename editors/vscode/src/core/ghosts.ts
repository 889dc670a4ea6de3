/** The new text of a hunk beside the lines of a file: an editor shows no further lines between them. */

import { linesOf, placeBefore } from "./hunks.js";
import { visible } from "./visible.js";
import type { WireHunk } from "../protocol/types.js";

/** Of how many lines of a hunk the new text is shown beside them; each costs the editor a rule of its own. */
export const MOST_GHOSTS = 100;
const MOST_COLUMNS = 100;
/** More new lines than these are not read one by one behind the old ones. */
const MOST_FEW = 2;
const MOST_TOGETHER = 160;

export interface Ghost {
  /** The line it stands beside, from 0: it may be behind the end of the file. */
  readonly line: number;
  readonly text: string;
}

/** Whether all that a hunk puts in can be read beside its lines: a new line beside each old one, and not cut off. */
export function fitsBeside(hunk: WireHunk): boolean {
  const added = linesOf(hunk.added);
  const { count } = placeBefore(hunk);
  return (
    added.length <= Math.min(Math.max(1, count), MOST_FEW) && added.every((text) => text.trim().length <= MOST_COLUMNS)
  );
}

/** What stands beside which line: each new line beside an old one, and with the last of those what is left. */
export function ghostsOf(hunk: WireHunk): Ghost[] {
  const { line, count } = placeBefore(hunk);
  const added = linesOf(hunk.added).map((text) => text.trim());
  const beside = Math.min(Math.max(1, count), MOST_GHOSTS);
  const first = count === 0 ? Math.max(0, line - 1) : line;
  return added.slice(0, beside).map((text, index) => ({
    line: first + index,
    text: visible(`→ ${index === beside - 1 ? together(added.slice(index)) : short(text)}`),
  }));
}

/** Lines one after the other, as many as have room, and how many more there are. */
function together(lines: readonly string[]): string {
  const [first = "", ...rest] = lines;
  let text = short(first);
  for (const [index, line] of rest.entries()) {
    const more = `${text} ⏎ ${line}`;
    if (more.length > MOST_TOGETHER) return `${text}  (+${String(rest.length - index)} lines)`;
    text = more;
  }
  return text;
}

function short(line: string): string {
  return line.length > MOST_COLUMNS ? `${line.slice(0, MOST_COLUMNS - 1)}…` : line;
}
