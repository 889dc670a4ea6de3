/** Sessions of other processes: which are joined, which were released, and whose process has ended. */

import type { SessionBook } from "./book.js";
import type { SessionState } from "./session.js";
import type { SessionStatus, SessionSummary } from "../protocol/types.js";

/** Looks again at the sessions that this window does not run. */
export class Joining {
  private isLooking = false;

  /**
   * @param list what each session is at
   * @param join joins a session that another process runs
   */
  constructor(
    private readonly book: SessionBook,
    private readonly list: () => Promise<readonly SessionSummary[]>,
    private readonly join: (sessionId: string) => Promise<unknown>,
  ) {}

  /**
   * Find out what nobody tells of: that a process with a joined session is gone, or that one goes on with the session
   * that is looked at. An earlier look that goes on is enough.
   *
   * @param isShown whether the user sees the session that is looked at
   */
  async look(isShown: boolean): Promise<void> {
    if (this.isLooking) return;
    this.isLooking = true;
    try {
      await this.lookAt(this.book.all.filter((one) => (isShown && isAway(one, this.book)) || isJoined(one)));
    } finally {
      this.isLooking = false;
    }
  }

  private async lookAt(sessions: readonly SessionState[]): Promise<void> {
    const untold = new Set<SessionState>();
    for (const session of sessions) {
      const known = session.nextSeq;
      await this.book.load(session.sessionId);
      if (session.nextSeq > known) untold.add(session);
    }
    const unsure = sessions.filter((one) => untold.has(one) || isJoined(one));
    if (unsure.length === 0) return;
    const listed = new Map((await this.list()).map((one) => [one.sessionId, one]));
    for (const session of unsure) {
      const { sessionId } = session;
      const summary = listed.get(sessionId);
      // Of what is joined already it is no harm to join it once more.
      if (summary?.elsewhere === true && untold.has(session)) await this.join(sessionId);
      if (summary?.elsewhere === true || !isJoined(session)) continue;
      // It may have ended its turn meanwhile, as it should.
      await this.book.load(sessionId);
      if (isJoined(session)) this.book.lookOn(sessionId, summary?.state === "parked" ? "waiting" : "cut off");
    }
  }
}

/** The session that a command has joined; undefined if it joined none. */
export function joinedBy(command: string, result: unknown): string | undefined {
  if (command !== "outrider.resume" || typeof result !== "object" || result === null) return undefined;
  const { elsewhere, sessionId } = result as Partial<SessionStatus>;
  return elsewhere === true ? sessionId : undefined;
}

function isAway(session: SessionState, book: SessionBook): boolean {
  return session.away !== undefined && session === book.current;
}

/** Whether a turn runs in a session that was joined. */
function isJoined(session: SessionState): boolean {
  return session.away === "joined" && session.running !== undefined;
}
