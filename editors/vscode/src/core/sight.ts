/** Whether the user sees the session view, and when an item is pointed at because they do not. */

/** How long a view that was asked for is awaited. */
export const COMING_MILLISECONDS = 10_000;
const POINT_MILLISECONDS = 1500;

/** It may have been asked for and not be drawn yet. */
export type Sight = "shown" | "coming" | "hidden";

/** Knows of a view whether it was asked for and has not come up yet. */
export class Arrival {
  private until = 0;

  /** @param now milliseconds */
  constructor(private readonly now: () => number) {}

  /** It was asked to come up. */
  asked(): void {
    this.until = this.now() + COMING_MILLISECONDS;
  }

  /** It came up, or was hidden again. */
  changed(): void {
    this.until = 0;
  }

  sight(isVisible: boolean): Sight {
    if (isVisible) return "shown";
    return this.now() < this.until ? "coming" : "hidden";
  }
}

/**
 * Point at something a little later: the user may be quicker, and the view be about to come up.
 *
 * @param later runs something after so many milliseconds
 * @param sight how the view is; undefined where there is nothing to point at any more
 * @param point told whether the view is shown
 */
export function pointSoon(
  later: (act: () => void, milliseconds: number) => void,
  sight: () => Sight | undefined,
  point: (isShown: boolean) => void,
): void {
  later(() => {
    const now = sight();
    if (now === "coming") pointSoon(later, sight, point);
    else if (now !== undefined) point(now === "shown");
  }, POINT_MILLISECONDS);
}
