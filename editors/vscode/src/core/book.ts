/** All sessions this window knows: routes events and frames to them, and reads from the log what was missed. */

import { type Away, SessionState } from "./session.js";
import type { Event, EventsResult, Frame } from "../protocol/types.js";

/** Reads a stretch of a session's log. */
export type ReadLog = (sessionId: string, fromSeq: number) => Promise<EventsResult>;

/** The sessions, and the one that is looked at. */
export class SessionBook {
  private readonly sessions = new Map<string, SessionState>();
  private readonly waiting = new Map<string, Event[]>();
  private readonly loading = new Map<string, Promise<void>>();
  private currentId: string | undefined;
  private endedId: string | undefined;

  /**
   * @param read how what was missed is read
   * @param changed told after each change of a session
   */
  constructor(
    private readonly read: ReadLog,
    private readonly changed: (session: SessionState) => void,
  ) {}

  get current(): SessionState | undefined {
    return this.currentId === undefined ? undefined : this.sessions.get(this.currentId);
  }

  /** The session with a turn that can be steered and ended here: the one that is looked at, else another one. */
  get running(): SessionState | undefined {
    return [this.current, ...this.all].find((session) => session?.runningHere !== undefined);
  }

  /** Whether the server of this window runs a turn. */
  get isAtWork(): boolean {
    return this.all.some((session) => session.isOwn);
  }

  /** Whether the turn that ended last is one of the session that is looked at. */
  get hasEnded(): boolean {
    return this.endedId !== undefined && this.endedId === this.currentId;
  }

  get all(): readonly SessionState[] {
    return [...this.sessions.values()];
  }

  get(sessionId: string): SessionState | undefined {
    return this.sessions.get(sessionId);
  }

  /** Look at a session from now on; undefined for none. */
  select(sessionId: string | undefined): void {
    this.currentId = sessionId;
    if (sessionId !== undefined) this.changed(this.session(sessionId));
  }

  /** Take an event of the server. */
  onEvent(event: Event): void {
    const session = this.session(event.sessionId);
    // Only who runs a session tells of it: this window's server, or the process whose session was joined, until it
    // is opened here. What comes late of one that was joined says nothing.
    const isNews = session.away !== "joined" && event.seq >= session.nextSeq;
    if (isNews || event.type === "session.restored") session.away = undefined;
    if (event.type === "turn.finished") this.endedId = event.sessionId;
    if (event.seq < session.nextSeq) return;
    if (event.seq > session.nextSeq) {
      const waiting = this.waiting.get(event.sessionId) ?? [];
      waiting.push(event);
      this.waiting.set(event.sessionId, waiting);
      void this.load(event.sessionId).catch(() => undefined);
      return;
    }
    session.apply(event);
    this.changed(session);
  }

  /** Take live text of the server. */
  onFrame(frame: Frame): void {
    const session = this.session(frame.sessionId);
    session.stream(frame);
    this.changed(session);
  }

  /**
   * A session is not run by this window, or is again. One that was not joined can only be looked at until an event of it
   * comes: then it is run here.
   */
  lookOn(sessionId: string, away: Away | undefined): void {
    const session = this.session(sessionId);
    if (session.away === away) return;
    session.away = away;
    this.changed(session);
  }

  /** A session waits for an answer, and nobody has opened it yet: what it asks is known from its log. */
  async wait(sessionId: string): Promise<void> {
    if (this.get(sessionId)?.runningHere !== undefined) return;
    this.lookOn(sessionId, "waiting");
    await this.load(sessionId);
  }

  /** Read what is not known yet of a session's log. */
  load(sessionId: string): Promise<void> {
    const known = this.loading.get(sessionId);
    if (known !== undefined) return known;
    const loading = this.readOn(sessionId).finally(() => this.loading.delete(sessionId));
    this.loading.set(sessionId, loading);
    return loading;
  }

  /** A session was deleted: nothing is known of it any more, and it is not looked at. */
  forget(sessionId: string): void {
    this.sessions.delete(sessionId);
    this.waiting.delete(sessionId);
    this.loading.delete(sessionId);
    if (this.currentId === sessionId) this.currentId = undefined;
  }

  /** Forget what only the server of before could still bring: half texts, and events that wait for others. */
  restart(): void {
    this.waiting.clear();
    this.loading.clear();
  }

  private async readOn(sessionId: string): Promise<void> {
    const session = this.session(sessionId);
    for (let more = true; more;) {
      const result = await this.read(sessionId, session.nextSeq);
      for (const event of result.events) if (event.seq === session.nextSeq) session.apply(event);
      more = result.more && result.events.length > 0;
    }
    const waiting = this.waiting.get(sessionId) ?? [];
    this.waiting.delete(sessionId);
    this.changed(session);
    for (const event of waiting) this.onEvent(event);
  }

  private session(sessionId: string): SessionState {
    let session = this.sessions.get(sessionId);
    if (session === undefined) {
      session = new SessionState(sessionId);
      this.sessions.set(sessionId, session);
    }
    return session;
  }
}
