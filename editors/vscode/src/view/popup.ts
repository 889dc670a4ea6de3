/** The list that opens below a word: chosen from by arrows and Enter, or by a click, while the keyboard stays in the text. */

import type { Completion } from "../core/messages.js";
import { h } from "./dom.js";

/** The word before the cursor that begins with `@`, or a `/` at the very beginning; undefined where there is none. */
export function wordBefore(
  text: string,
  cursor: number,
): { readonly sign: "@" | "/"; readonly query: string; readonly start: number } | undefined {
  const before = text.slice(0, cursor);
  const slash = /^\/([^\s/]{0,200})$/.exec(before);
  if (slash !== null) return { sign: "/", query: slash[1] ?? "", start: 0 };
  const at = /(^|\s)@(\S{0,200})$/.exec(before.slice(-220));
  if (at === null) return undefined;
  const query = at[2] ?? "";
  return { sign: "@", query, start: cursor - query.length - 1 };
}

const SIGNS = { file: "▤", folder: "▸", symbol: "ƒ", problems: "!", command: "/", custom: "/" } as const;

export class Popup {
  readonly element = h("ul", { id: "completions", class: "popup", role: "listbox", "aria-label": "Completions" });
  private found: readonly Completion[] = [];
  private at = 0;

  constructor(
    private readonly input: HTMLTextAreaElement,
    private readonly choose: (chosen: Completion) => void,
  ) {
    this.hide();
  }

  show(found: readonly Completion[]): void {
    const chosen = this.found[this.at]?.label;
    this.found = found;
    this.at = Math.max(
      0,
      found.findIndex(({ label }) => label === chosen),
    );
    if (found.length === 0) {
      this.hide();
      return;
    }
    this.element.replaceChildren(
      ...found.map((one, index) =>
        h(
          "li",
          {
            id: `completion-${String(index)}`,
            role: "option",
            "aria-selected": "false",
            on: {
              // The text keeps the keyboard.
              mousedown: (event) => {
                event.preventDefault();
                this.take(index);
              },
            },
          },
          h("span", { class: "sign", "aria-hidden": "true" }, SIGNS[one.kind]),
          h("span", { class: "label" }, one.label),
          h("span", { class: "quiet" }, one.detail),
        ),
      ),
    );
    this.element.hidden = false;
    this.mark();
  }

  hide(): void {
    this.found = [];
    this.element.hidden = true;
    this.input.removeAttribute("aria-activedescendant");
  }

  /** Take a key that is meant for the list; gives whether it was. */
  key(event: KeyboardEvent): boolean {
    const count = this.found.length;
    if (count === 0) return false;
    if (event.key === "ArrowDown") this.at = (this.at + 1) % count;
    else if (event.key === "ArrowUp") this.at = (this.at + count - 1) % count;
    else if (event.key === "Escape") this.hide();
    else if ((event.key === "Enter" && !event.shiftKey) || event.key === "Tab") this.take(this.at);
    else return false;
    event.preventDefault();
    event.stopPropagation();
    if (this.found.length > 0) this.mark();
    return true;
  }

  private mark(): void {
    for (const [index, row] of [...this.element.children].entries()) {
      row.setAttribute("aria-selected", String(index === this.at));
      if (index === this.at) row.scrollIntoView({ block: "nearest" });
    }
    this.input.setAttribute("aria-activedescendant", `completion-${String(this.at)}`);
  }

  private take(index: number): void {
    const chosen = this.found[index];
    this.hide();
    if (chosen !== undefined) this.choose(chosen);
  }
}
