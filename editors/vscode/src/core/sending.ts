/** A text on its way to the server: it stays with the user until it is taken, though the view may be hidden meanwhile. */

/** A text that was sent and has no answer yet, under an id of its own. */
export interface UnderWay {
  readonly id: string;
  readonly text: string;
}

/** What became of a text: it was taken, unless something is to be said. */
export interface Outcome {
  readonly id: string;
  readonly problem?: string;
}

/** What the view keeps for the time it is hidden. */
export interface Kept {
  readonly draft: string;
  readonly underWay?: UnderWay | undefined;
  /** Texts that were sent, the latest one last. */
  readonly recalled: readonly string[];
}

/** What a view kept, as far as it can be read. */
export function keptFrom(state: unknown): Kept {
  const { draft, underWay, recalled } = fields(state);
  const { id, text } = fields(underWay);
  return {
    draft: typeof draft === "string" ? draft : "",
    underWay: typeof id === "string" && typeof text === "string" ? { id, text } : undefined,
    recalled: Array.isArray(recalled) ? recalled.filter((one) => typeof one === "string") : [],
  };
}

function fields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

/** The view's side. */
export class Sending {
  /** @param current what was under way when the view was hidden */
  constructor(private current?: UnderWay) {}

  get underWay(): UnderWay | undefined {
    return this.current;
  }

  /**
   * Begin to send what is written.
   *
   * @returns what is to be sent; undefined where there is nothing, or something is under way already
   */
  begin(id: string, written: string): string | undefined {
    const text = written.trim();
    if (text === "" || this.current !== undefined) return undefined;
    this.current = { id, text: written };
    return text;
  }

  /**
   * Take an answer.
   *
   * @returns what stays written: all of it if nothing was taken, else what was written since; undefined where the
   *   answer is to something else, as one that comes a second time
   */
  end({ id, problem }: Outcome, written: string): string | undefined {
    if (this.current?.id !== id) return undefined;
    const { text } = this.current;
    this.current = undefined;
    return problem === undefined && written.startsWith(text) ? written.slice(text.length).trimStart() : written;
  }
}

/** The extension's side: what became of the text that was sent last, for a view that was hidden when the answer came. */
export class Delivery {
  private id: string | undefined;
  private outcome: Outcome | undefined;

  begin(id: string): void {
    this.id = id;
    this.outcome = undefined;
  }

  end(outcome: Outcome): void {
    if (this.id === outcome.id) this.outcome = outcome;
  }

  /**
   * What became of a text.
   *
   * @returns undefined where it is still under way
   */
  of(id: string): Outcome | undefined {
    return this.id === id
      ? this.outcome
      : { id, problem: "It is not known whether this was sent: look at the steps before you send it again." };
  }
}
