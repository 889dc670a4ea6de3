/** Keeps a key or a click that was meant for something else from becoming a yes to what has just appeared. */

/** How long what has appeared takes no yes. A double click and a key in flight come sooner; nobody reads faster. */
export const INERT_MILLISECONDS = 500;

export class Inert {
  private readonly since = new Map<string, number>();

  constructor(private readonly now: () => number) {}

  /** Something appeared, or moved under the pointer or the keyboard. */
  appeared(id: string): void {
    this.since.set(id, this.now());
  }

  forget(id: string): void {
    this.since.delete(id);
  }

  /** Whether a yes counts now. One that comes too early makes the time begin anew: a key that is held down gives none. */
  takesYes(id: string): boolean {
    const since = this.since.get(id);
    if (since === undefined || this.now() - since >= INERT_MILLISECONDS) return true;
    this.appeared(id);
    return false;
  }
}

/**
 * Ask until an answer is given that the user can have meant.
 *
 * @param ask shows the question and gives what is chosen
 * @param isYes whether something may happen with that choice that would not happen otherwise
 */
export async function chosenAfterReading<Choice>(
  now: () => number,
  ask: () => Thenable<Choice | undefined>,
  isYes: (choice: Choice) => boolean,
): Promise<Choice | undefined> {
  for (;;) {
    const shown = now();
    const choice = await ask();
    if (choice === undefined || !isYes(choice) || now() - shown >= INERT_MILLISECONDS) return choice;
  }
}
