/** Keys that changed in the editor's secret storage: which of them the server of this window does not have. */

export class KeyWatch {
  /** What the server of this window was started with. */
  given: Readonly<Record<string, string>> = {};
  /** What was changed last in this window, where a new server is started for it anyway. */
  private readonly own = new Map<string, string | undefined>();

  /** This window changes a key; undefined: it is forgotten. */
  changing(name: string, value: string | undefined): void {
    this.own.set(name, value);
  }

  /** Whether a change that was told of was made in another window and the server has another key. */
  isNews(name: string, value: string | undefined): boolean {
    if (this.own.has(name) && this.own.get(name) === value) return false;
    this.own.delete(name);
    return this.given[name] !== value;
  }
}
