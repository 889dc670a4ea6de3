/** What the user has done for the first time: with it a step of the walkthrough is ticked off, and by nothing else. */

import type { Event, KnownEvent } from "../protocol/types.js";

/** The steps of the walkthrough, as its context keys name them: `outrider.done.model`. */
export const MILESTONES = ["model", "key", "task", "answer", "undo"] as const;
export type Milestone = (typeof MILESTONES)[number];

/** Knows which steps are done. */
export class Milestones {
  private readonly done: Set<Milestone>;
  /** Sessions in which a turn, or all of them, is being undone. */
  private readonly undoing = new Set<string>();

  /**
   * @param before what was done in windows of before, as it was kept
   * @param reached told of each step when it is done, with all that are done then
   */
  constructor(
    before: readonly string[],
    private readonly reached: (milestone: Milestone, all: readonly Milestone[]) => void,
  ) {
    this.done = new Set(MILESTONES.filter((one) => before.includes(one)));
  }

  get all(): readonly Milestone[] {
    return [...this.done];
  }

  /** A step is done. */
  reach(milestone: Milestone): void {
    if (this.done.has(milestone)) return;
    this.done.add(milestone);
    this.reached(milestone, this.all);
  }

  /** Take what happened in a session. */
  see({ sessionId, ...event }: Event): void {
    const { type, data } = event as unknown as KnownEvent;
    switch (type) {
      case "model.responded":
        // A model that answers has the key it needs, or needs none.
        this.reach("model");
        this.reach("key");
        break;
      case "turn.finished":
        if (data.outcome === "completed") this.reach("task");
        break;
      case "approval.resolved":
        if (data.by === "person") this.reach("answer");
        break;
      case "undo.requested":
        if (data.redo !== true && (data.scope === "turn" || data.scope === "session")) this.undoing.add(sessionId);
        break;
      case "undo.finished":
        if (this.undoing.delete(sessionId) && data.undone.length > 0) this.reach("undo");
        break;
      default:
        break;
    }
  }
}
