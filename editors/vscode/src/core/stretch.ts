/** Which of a session's steps the view shows: a stretch of bounded length, which goes along with the end unless the
 * user looked back. */

/** Steps that are shown at first, and that come with each look further back or on. */
export const AT_ONCE = 300;
/** The most that are shown. */
export const MOST = 1500;

export class Stretch {
  private first = 0;
  /** Behind the last one; undefined: all to the end. */
  private end: number | undefined;

  /** Show the latest of so many. */
  latest(total: number): void {
    this.end = undefined;
    this.first = Math.max(0, total - AT_ONCE);
  }

  /** Show earlier ones as well. */
  earlier(total: number): void {
    const { end } = this.range(total);
    this.first = Math.max(0, this.first - AT_ONCE);
    if (end - this.first > MOST) this.end = this.first + MOST;
  }

  /** Show later ones as well. */
  later(total: number): void {
    const end = Math.min(total, this.range(total).end + AT_ONCE);
    this.first = Math.max(this.first, end - MOST);
    this.end = end < total ? end : undefined;
  }

  /** From where to where of so many. */
  range(total: number): { first: number; end: number } {
    const end = Math.min(this.end ?? total, total);
    if (this.end === undefined) this.first = Math.max(this.first, end - MOST);
    return { first: this.first, end };
  }
}
