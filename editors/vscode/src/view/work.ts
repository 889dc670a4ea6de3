/** Does work in pieces, so that the page answers keys and scrolling in between. */

const PIECE_MILLISECONDS = 8;

const waiting: (() => void)[] = [];
let isAtIt = false;

/** Do something soon, after what was put here before. */
export function soon(act: () => void): void {
  waiting.push(act);
  if (isAtIt) return;
  isAtIt = true;
  turn();
}

function turn(): void {
  setTimeout(() => {
    const until = performance.now() + PIECE_MILLISECONDS;
    do waiting.shift()?.();
    while (waiting.length > 0 && performance.now() < until);
    if (waiting.length > 0) turn();
    else isAtIt = false;
  }, 0);
}

/** Resolves when it is the turn of what comes after the work that waits, if the piece of now has been long enough. */
export function breath(since: number): Promise<void> | undefined {
  return performance.now() - since < PIECE_MILLISECONDS
    ? undefined
    : new Promise((resolve) => {
        setTimeout(resolve, 0);
      });
}
