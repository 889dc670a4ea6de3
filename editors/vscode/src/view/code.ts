/** Draws code: in its colours, with buttons to take it, and in stretches that are laid out when they are in sight. */

import { LONGEST, languageOf, pieces } from "../core/colours.js";
import { visible } from "../core/visible.js";
import { button, h } from "./dom.js";

/** Lines that are laid out together. */
const TOGETHER = 100;
const SAID_MILLISECONDS = 1500;

export type Take = (what: "copy" | "insert", text: string) => void;

/** A block of code, which may still be coming. */
export class CodeBlock {
  readonly element: HTMLElement;
  private readonly pre: HTMLPreElement;
  private code = "";
  /** Where in the code the last stretch begins. */
  private last = 0;

  /** @param info what stands behind the fence */
  constructor(
    private readonly info: string,
    take: Take,
  ) {
    const language = languageOf(info);
    this.pre = h("pre", { tabindex: 0, dir: "ltr", "aria-label": language === "" ? "Code" : `Code in ${language}` });
    const copy = button(
      "Copy",
      () => {
        take("copy", this.code);
        copy.textContent = "Copied";
        setTimeout(() => (copy.textContent = "Copy"), SAID_MILLISECONDS);
      },
      { class: "quiet", title: "Copy this code" },
    );
    const insert = (): void => {
      take("insert", this.code);
    };
    this.element = h(
      "figure",
      { class: "code" },
      h(
        "figcaption",
        {},
        h("span", { class: "language" }, language),
        copy,
        button("Insert", insert, { class: "quiet", title: "Insert this code at the cursor of the editor" }),
      ),
      this.pre,
    );
  }

  /**
   * Show the code as it is by now.
   *
   * @param isWhole whether all of it is there; then it gets its colours
   */
  show(code: string, isWhole: boolean): void {
    if (isWhole && code.length <= LONGEST) {
      this.code = code;
      this.pre.replaceChildren(
        h(
          "code",
          {},
          ...pieces(code, this.info).map(({ text, colour }) => {
            const shown = visible(text);
            return colour === undefined ? shown : h("span", { class: `code-${colour}` }, shown);
          }),
        ),
      );
      return;
    }
    if (code.startsWith(this.code)) this.pre.lastElementChild?.remove();
    else {
      this.pre.replaceChildren();
      this.last = 0;
    }
    this.code = code;
    for (;;) {
      const { end, lines } = stretch(code, this.last);
      const element = h("code", { class: "lines" }, visible(code.slice(this.last, end)));
      element.style.setProperty("--lines", String(lines));
      this.pre.append(element);
      if (end >= code.length) return;
      this.last = end;
    }
  }
}

/** Where the stretch ends that begins at a place, and how many lines it has. */
function stretch(code: string, start: number): { end: number; lines: number } {
  let end = start;
  for (let lines = 1; ; lines++) {
    const next = code.indexOf("\n", end);
    if (next < 0) return { end: code.length, lines };
    end = next + 1;
    if (lines === TOGETHER) return { end, lines };
  }
}
