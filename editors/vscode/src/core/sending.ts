/** A text on its way to the server: it stays with the person until it is taken. */

export class Sending {
  private text: string | undefined;

  get isUnderWay(): boolean {
    return this.text !== undefined;
  }

  /**
   * Begin to send what is written.
   *
   * @returns what is to be sent; undefined where there is nothing, or something is under way already
   */
  begin(written: string): string | undefined {
    const text = written.trim();
    if (text === "" || this.text !== undefined) return undefined;
    this.text = written;
    return text;
  }

  /** What stays written once the answer is there: all of it if nothing was taken, else what was written since. */
  end(written: string, isTaken: boolean): string {
    const text = this.text ?? "";
    this.text = undefined;
    return isTaken && written.startsWith(text) ? written.slice(text.length).trimStart() : written;
  }
}
