/** Whether a server still answers: one that hangs says nothing, and looks as if the model thought for ever. */

/** Between two looks. */
export const LOOK_MILLISECONDS = 5000;
/** How often an answer is missed before that is told: once may be this editor, which was busy itself. */
const MISSED = 2;

export interface Clock {
  every(milliseconds: number, act: () => void): () => void;
}

/** Asks a server from time to time, as long as something is awaited of it; while nothing is, no clock runs. */
export class Pulse {
  private stop: (() => void) | undefined;
  private asked: object | undefined;
  private missed = 0;

  /**
   * @param ask asks something that any server answers at once; an error is an answer
   * @param isAwaited whether anything is expected of the server
   * @param silent told once that it has not answered for so many seconds, until it does again
   */
  constructor(
    private readonly clock: Clock,
    private readonly ask: () => Promise<unknown>,
    private readonly isAwaited: () => boolean,
    private readonly silent: (seconds: number) => void,
  ) {}

  /** Something may be awaited from now on. */
  update(): void {
    if (this.stop === undefined && this.isAwaited())
      this.stop = this.clock.every(LOOK_MILLISECONDS, () => {
        this.look();
      });
  }

  /** There is no server any more, or another one. */
  end(): void {
    this.stop?.();
    this.stop = undefined;
    this.asked = undefined;
    this.missed = 0;
  }

  private look(): void {
    if (this.asked !== undefined) {
      this.missed += 1;
      if (this.missed === MISSED) this.silent((MISSED * LOOK_MILLISECONDS) / 1000);
    } else if (this.isAwaited()) {
      const asked = {};
      this.asked = asked;
      const answered = (): void => {
        if (this.asked !== asked) return;
        this.asked = undefined;
        this.missed = 0;
      };
      this.ask().then(answered, answered);
    } else this.end();
  }
}

/** What is said of a server that does not answer. */
export function silence(seconds: number): string {
  return `The server of Outrider has not answered for ${String(seconds)} s. What it said may have been unreadable. “Restart” starts it again and goes on; the log may say why.`;
}
