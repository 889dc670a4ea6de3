/** A text that grows, and who has how much of it: each piece is handed on once, however long the text becomes. */

/** How much of a text somebody has. */
export interface Had {
  readonly version: number;
  readonly length: number;
}

/** What goes behind the first `from` characters. */
export interface Piece {
  readonly from: number;
  readonly text: string;
}

export class Growing {
  private parts: string[] = [];
  private starts: number[] = [];
  private version = 0;
  length = 0;

  /** Put something behind it. */
  append(text: string): void {
    if (text === "") return;
    this.starts.push(this.length);
    this.parts.push(text);
    this.length += text.length;
  }

  /** Make it this text, which may go on from what it is. */
  set(text: string): void {
    if (text.startsWith(this.text)) this.append(text.slice(this.length));
    else {
      this.version += 1;
      this.parts = [];
      this.starts = [];
      this.length = 0;
      this.append(text);
    }
  }

  /** All of it. */
  get text(): string {
    if (this.parts.length > 1) {
      this.parts = [this.parts.join("")];
      this.starts = [0];
    }
    return this.parts[0] ?? "";
  }

  get had(): Had {
    return { version: this.version, length: this.length };
  }

  /** What somebody does not have yet. */
  since(had: Had | undefined): Piece {
    const from = had?.version === this.version ? had.length : 0;
    let first = this.parts.length;
    while (first > 0 && (this.starts[first - 1] ?? 0) + (this.parts[first - 1]?.length ?? 0) > from) first -= 1;
    const text = this.parts.slice(first).join("");
    return { from, text: text.slice(Math.max(0, from - (this.starts[first] ?? from))) };
  }
}
