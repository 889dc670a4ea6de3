/** An answer of the model: its Markdown in slices, each rendered when it comes near to what is in sight. */

import type { Env } from "markdown-it";

import { MOST, type Slice, Slicer } from "../core/slices.js";
import { turned } from "../core/visible.js";
import { CodeBlock } from "./code.js";
import { h } from "./dom.js";
import { type Surroundings, definitions, render } from "./markdown.js";
import { soon } from "./work.js";

/** How far outside of what is in sight a slice is rendered. */
const NEAR = "1200px";

/** Characters of a line on the page, about. */
const COLUMNS = 60;
/** Characters that are cut into slices at once. */
const AT_ONCE = 100_000;
/** So many slices are laid out together, or not at all while they are out of sight. */
const TOGETHER = 8;

interface Part {
  readonly element: HTMLElement;
  code?: CodeBlock;
}

interface Group {
  readonly element: HTMLElement;
  slices: Slice[];
  /** The slices that are rendered; none before the group comes near. */
  parts: Part[] | undefined;
  isShown: boolean;
}

/** What is done when an element comes near to what is in sight; once. */
const coming = new WeakMap<Element, () => void>();
// One for all of them: each costs time in every frame.
const near = new IntersectionObserver(
  (seen) => {
    for (const { target, isIntersecting } of seen) {
      if (!isIntersecting) continue;
      near.unobserve(target);
      soon(coming.get(target) ?? ((): void => undefined));
    }
  },
  { rootMargin: NEAR },
);

export class Answer {
  readonly element = h("div", { class: "markdown" });
  private slicer = new Slicer();
  private groups: Group[] = [];
  private shown = 0;
  private text = "";
  private env: Env = {};
  private defined = "";
  private isWhole = false;
  /** How many pieces of the text are still to be cut. */
  private cutting = 0;

  constructor(private readonly around: Surroundings) {}

  /** The Markdown, as the model wrote it. */
  get source(): string {
    return this.text;
  }

  /**
   * Take more of the text.
   *
   * @param from where it goes on; all behind that is replaced
   * @param isWhole whether that is all of it
   */
  take(from: number, text: string, isWhole: boolean): void {
    const wasWhole = this.isWhole;
    this.isWhole = isWhole;
    const isNew = from < this.text.length;
    if (!isNew && text === "" && wasWhole === isWhole) return;
    if (isNew) this.restart();
    this.text = this.text.slice(0, from) + text;
    this.cut(isNew ? this.text : text);
  }

  /** Cut a text into slices; a long one bit by bit, and what comes meanwhile after it. */
  private cut(text: string): void {
    const { slicer } = this;
    const act = (piece: string) => (): void => {
      if (slicer !== this.slicer) return;
      slicer.append(piece);
      this.show();
    };
    if (text.length <= AT_ONCE && this.cutting === 0) {
      act(text)();
      return;
    }
    for (let at = 0; at === 0 || at < text.length; at += AT_ONCE) {
      this.cutting += 1;
      soon(() => {
        this.cutting -= 1;
        act(text.slice(at, at + AT_ONCE))();
      });
    }
  }

  private restart(): void {
    this.slicer = new Slicer();
    this.defined = "";
    this.env = {};
    for (const { element } of this.groups) near.unobserve(element);
    this.groups = [];
    this.shown = 0;
    this.element.replaceChildren();
  }

  private show(): void {
    if (this.slicer.definitions !== this.defined) {
      this.defined = this.slicer.definitions;
      this.env = definitions(this.defined);
      for (const group of this.groups)
        group.parts?.forEach((_, at) => {
          this.render(group, at);
        });
    }
    const { slices } = this.slicer;
    // All but the last one are as they were.
    const first = Math.max(0, this.shown - 1);
    this.shown = slices.length;
    for (let number = Math.floor(first / TOGETHER); number * TOGETHER < slices.length; number++) {
      const begin = number * TOGETHER;
      this.showGroup(number, slices.slice(begin, begin + TOGETHER), Math.max(0, first - begin));
    }
  }

  /** Show the slices of a group, of which those before `first` are as they were. */
  private showGroup(number: number, slices: Slice[], first: number): void {
    let group = this.groups[number];
    if (group === undefined) {
      const begun: Group = { element: h("div", { class: "group" }), slices, parts: undefined, isShown: false };
      group = begun;
      this.groups[number] = begun;
      this.element.append(begun.element);
      coming.set(begun.element, () => {
        this.begin(begun);
      });
      // What goes on below what is in sight is seen at once.
      if (number > 0 && this.groups[number - 1]?.parts?.length === TOGETHER && slices.length === 1)
        Object.assign(begun, { parts: [], isShown: true });
      else near.observe(begun.element);
    }
    group.slices = slices;
    // About the room it takes, as long as it was never laid out.
    const lines = slices.reduce(
      (sum, { text }) => sum + text.split("\n").length + Math.floor(text.length / COLUMNS),
      0,
    );
    group.element.style.setProperty("--lines", String(lines));
    if (group.parts !== undefined) {
      for (let at = first; at < slices.length; at++) this.render(group, at);
    } else if (slices.some(({ text }) => text.length > MOST)) this.begin(group);
    else {
      // Until it is rendered it can be found and read as it is written, and takes about as much room.
      const text = slices.map((slice) => slice.text).join("\n");
      group.element.replaceChildren(h("div", { class: "raw", dir: "auto" }, turned(text)));
    }
  }

  private begin(group: Group): void {
    if (group.parts !== undefined) return;
    group.parts = [];
    for (const at of group.slices.keys())
      soon(() => {
        this.render(group, at);
      });
    soon(() => {
      group.isShown = true;
      group.element.replaceChildren(...(group.parts ?? []).map(({ element }) => element));
    });
  }

  private render(group: Group, at: number): void {
    const slice = group.slices[at];
    const parts = group.parts ?? [];
    let part = parts[at];
    if (slice === undefined) return;
    if (part === undefined) {
      part = { element: h("div", { class: "slice" }) };
      parts[at] = part;
      if (group.isShown) group.element.append(part.element);
    }
    const { element } = part;
    if (slice.kind === "code") {
      if (part.code === undefined) {
        part.code = new CodeBlock(slice.info, this.around.take);
        element.replaceChildren(part.code.element);
      }
      part.code.show(slice.text, !slice.isOpen || this.isWhole);
      return;
    }
    delete part.code;
    if (slice.kind === "plain") element.replaceChildren(h("div", { class: "raw", dir: "auto" }, turned(slice.text)));
    else element.replaceChildren(render(slice.text, this.env, this.around));
  }
}
