/** Names of files and symbols in answers: those that exist become links. */

import type { FileRef } from "../core/links.js";

/** What the extension is asked for, and what a click on it does. */
export interface PlacesPort {
  readonly resolve: (paths: readonly string[], symbols: readonly string[]) => void;
  readonly openFile: (ref: FileRef) => void;
  readonly openSymbol: (name: string) => void;
}

const TOGETHER_MILLISECONDS = 80;

export class Places {
  private readonly known = new Map<string, boolean>();
  private readonly waiting = new Map<string, { element: HTMLElement; open: () => void }[]>();
  private asked: { paths: string[]; symbols: string[] } | undefined;

  constructor(private readonly port: PlacesPort) {}

  /** Make an element a link to a file, if there is one. */
  file(element: HTMLElement, ref: FileRef): void {
    this.add(`file:${ref.path}`, element, () => {
      this.port.openFile(ref);
    });
  }

  /** Make an element a link to where a name is defined, if it is. */
  symbol(element: HTMLElement, name: string): void {
    this.add(`symbol:${name}`, element, () => {
      this.port.openSymbol(name);
    });
  }

  /** Take what exists of what was asked for. */
  resolved(exist: readonly string[], not: readonly string[]): void {
    for (const key of exist) this.settle(key, true);
    for (const key of not) this.settle(key, false);
  }

  private settle(key: string, exists: boolean): void {
    this.known.set(key, exists);
    for (const { element, open } of this.waiting.get(key) ?? []) if (exists) link(element, open);
    this.waiting.delete(key);
  }

  private add(key: string, element: HTMLElement, open: () => void): void {
    const exists = this.known.get(key);
    if (exists !== undefined) {
      if (exists) link(element, open);
      return;
    }
    const waiting = this.waiting.get(key);
    if (waiting !== undefined) {
      waiting.push({ element, open });
      return;
    }
    this.waiting.set(key, [{ element, open }]);
    if (this.asked === undefined) {
      this.asked = { paths: [], symbols: [] };
      setTimeout(() => {
        const { paths, symbols } = this.asked ?? { paths: [], symbols: [] };
        this.asked = undefined;
        this.port.resolve(paths, symbols);
      }, TOGETHER_MILLISECONDS);
    }
    const [kind, name] = [key.slice(0, key.indexOf(":")), key.slice(key.indexOf(":") + 1)];
    this.asked[kind === "file" ? "paths" : "symbols"].push(name);
  }
}

function link(element: HTMLElement, open: () => void): void {
  if (element.classList.contains("place")) return;
  element.classList.add("place");
  element.setAttribute("role", "link");
  element.tabIndex = 0;
  element.addEventListener("click", open);
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    // Enter folds the step that it is in.
    event.stopPropagation();
    event.preventDefault();
    open();
  });
}
