/** The steps of a session, in the order they happened, and which part of them is in sight. */

import type { FileRef } from "../core/links.js";
import type { FromView, ToView } from "../core/messages.js";
import { button, h } from "./dom.js";
import { type Actions, AnswerBox, draw, labelOf, replace } from "./entries.js";
import type { Surroundings } from "./markdown.js";
import { breath } from "./work.js";

type State = Extract<ToView, { type: "state" }>;

/** Steps that are laid out together, or not at all while they are out of sight. */
const TOGETHER = 25;
/** How far from its end counts as being there. */
const AT_END = 40;

export class Feed {
  readonly element: HTMLElement;
  /** The page says it to those who do not see it. */
  onEnd: (said: string) => void = () => undefined;

  private readonly scroller = h("div", { id: "scroller" });
  private readonly list = h("div", { id: "feed", role: "feed", "aria-label": "Steps", tabindex: 0 });
  private readonly content: HTMLElement;
  private readonly earlier: HTMLElement;
  private readonly later: HTMLElement;
  private readonly down: HTMLButtonElement;
  /** The steps on the page, by their keys. */
  private readonly drawn = new Map<string, HTMLElement>();
  private readonly answers = new Map<string, AnswerBox>();
  /** Whether the end is followed as it grows. */
  private follows = true;
  /** Where the scroller was when it last said so. */
  private wasAt = 0;
  private blocks = new Map<number, HTMLElement>();
  private before = 0;
  private behind = 0;
  private total = 0;
  private isLooking = false;

  /** @param empty what is shown where there are no steps */
  constructor(
    private readonly send: (message: FromView) => void,
    private readonly around: Surroundings,
    private readonly actions: Actions,
    private readonly empty: HTMLElement,
  ) {
    this.earlier = button("Show earlier steps", this.looker("earlier"), { class: "secondary" });
    this.later = h(
      "div",
      { class: "buttons later" },
      button("Show later steps", this.looker("later"), { class: "secondary" }),
    );
    this.down = button(
      "New ↓",
      () => {
        this.toEnd();
      },
      { class: "down", title: "Go to the end" },
    );
    this.down.hidden = true;
    this.content = h("div", { class: "content" }, this.earlier, empty, this.list, this.later);
    this.scroller.append(this.content);
    this.element = h("div", { class: "feed" }, this.scroller, this.down);
    this.scroller.addEventListener(
      "scroll",
      () => {
        this.scrolled();
      },
      { passive: true },
    );
    this.list.addEventListener("keydown", (event) => {
      this.key(event);
    });
    // What is rendered later, or unfolded by itself, must not move the end out of sight.
    new ResizeObserver(() => {
      this.settle();
    }).observe(this.content);
  }

  /** Go to the end and follow it. */
  toEnd(): void {
    this.follows = true;
    if (this.behind > 0) this.send({ type: "latest" });
    else this.settle();
    this.down.hidden = true;
  }

  /** Show new and changed steps. */
  async show(message: State): Promise<void> {
    const focused = document.activeElement?.closest<HTMLElement>(".entry")?.dataset["key"];
    const { reset } = message;
    if (reset) {
      this.drawn.clear();
      this.answers.clear();
    }
    const blocks = reset ? new Map<number, HTMLElement>() : this.blocks;
    // What is new is put together aside: to lay it out in between would take longer than all else.
    const aside: HTMLElement[] = [];
    let isMore = false;
    let since = performance.now();
    for (const { at, entry } of message.entries) {
      const known = this.drawn.get(entry.key);
      const element = this.draw(entry, known);
      element.setAttribute("aria-posinset", String(at + 1));
      element.setAttribute("aria-setsize", "-1");
      if (known === undefined) {
        isMore ||= at >= this.total;
        const number = Math.floor(at / TOGETHER);
        let block = blocks.get(number);
        if (block === undefined) {
          block = h("div", { class: "block", role: "none", "data-number": number });
          blocks.set(number, block);
          aside.push(block);
        }
        place(block, element, at);
      }
      if (entry.kind === "end" && !reset) this.onEnd(labelOf(entry));
      const pause = breath(since);
      if (pause !== undefined) {
        await pause;
        since = performance.now();
      }
    }
    const still = reset ? undefined : this.firstInSight();
    this.blocks = blocks;
    if (reset) this.list.replaceChildren(...aside);
    else for (const block of aside) this.placeBlock(block);
    this.dropOutside(message);
    this.before = message.before;
    this.behind = message.behind;
    this.total = message.total;
    this.earlier.hidden = message.before === 0;
    this.later.hidden = message.behind === 0;
    this.empty.hidden = this.drawn.size > 0;
    if (reset && focused !== undefined) this.drawn.get(focused)?.focus({ preventScroll: true });
    if (reset) this.follows = message.behind === 0;
    else if (!this.follows && still?.element.isConnected === true)
      this.scroller.scrollTop += this.below(still.element) - still.above;
    this.isLooking = false;
    this.settle();
    if (!this.follows && (message.behind > 0 || (isMore && !reset))) this.down.hidden = false;
  }

  private placeBlock(block: HTMLElement): void {
    const number = Number(block.dataset["number"]);
    const after = [...this.list.children].find((one) => Number((one as HTMLElement).dataset["number"]) > number);
    this.list.insertBefore(block, after ?? null);
  }

  /** The step at the upper edge, and how far below it that begins. */
  private firstInSight(): { element: Element; above: number } | undefined {
    const isBelow = (one: Element): boolean => this.below(one) + one.clientHeight > 0;
    const block = [...this.list.children].find(isBelow);
    const element = [...(block?.children ?? [])].find(isBelow);
    return element === undefined ? undefined : { element, above: this.below(element) };
  }

  /** How far below the upper edge an element begins: its offset would count from its block, which is contained. */
  private below(element: Element): number {
    return element.getBoundingClientRect().top - this.scroller.getBoundingClientRect().top;
  }

  private draw(entry: State["entries"][number]["entry"], known: HTMLElement | undefined): HTMLElement {
    if (entry.kind === "answer") {
      const box = this.answers.get(entry.key) ?? new AnswerBox(entry.key, this.around);
      this.answers.set(entry.key, box);
      this.drawn.set(entry.key, box.element);
      box.take(entry);
      return box.element;
    }
    const openFile = (ref: FileRef): void => {
      this.send({ type: "file", ref });
    };
    const element = draw(entry, known, openFile, this.actions);
    this.drawn.set(entry.key, element);
    if (known !== undefined) replace(known, element);
    return element;
  }

  /** Drop the steps that are not shown any more. */
  private dropOutside({ before, behind, total }: State): void {
    for (const [number, block] of this.blocks) {
      const first = number * TOGETHER;
      if (first >= before && first + TOGETHER <= total - behind) continue;
      for (const one of block.querySelectorAll<HTMLElement>(".entry")) {
        const at = placeOf(one);
        if (at >= before && at < total - behind) continue;
        const key = one.dataset["key"] ?? "";
        this.drawn.delete(key);
        this.answers.delete(key);
        one.remove();
      }
      if (block.childElementCount > 0) continue;
      block.remove();
      this.blocks.delete(number);
    }
  }

  private settle(): void {
    if (this.follows) this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  private scrolled(): void {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    // Steps that came meanwhile push the end away; only who scrolls up leaves it.
    const isAtEnd = scrollHeight - scrollTop - clientHeight < AT_END;
    this.follows = this.behind === 0 && (isAtEnd || (this.follows && scrollTop >= this.wasAt));
    this.wasAt = scrollTop;
    if (this.follows) this.down.hidden = true;
    if (this.isLooking) return;
    if (scrollTop < clientHeight && this.before > 0 && !this.follows) this.look("earlier");
    else if (this.behind > 0 && scrollHeight - scrollTop < 2 * clientHeight) this.look("later");
  }

  private looker(type: "earlier" | "later"): () => void {
    return () => {
      this.look(type);
    };
  }

  private look(type: "earlier" | "later"): void {
    this.isLooking = true;
    this.send({ type });
  }

  private key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (target.closest("pre, button, summary, a, input, [role=link]") !== null && !["j", "k"].includes(event.key))
      return;
    const entries = [...this.list.querySelectorAll<HTMLElement>(".entry:not([hidden])")];
    const at = entries.findIndex((entry) => entry.contains(document.activeElement));
    const moves: Readonly<Record<string, number>> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      j: at + 1,
      k: at - 1,
      Home: 0,
      End: entries.length - 1,
    };
    if (event.key === "Enter" && target.classList.contains("entry")) {
      const details = target.querySelector("details");
      if (details !== null) details.open = !details.open;
    }
    const to = moves[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const isFromOutside = at < 0 && !["Home", "End"].includes(event.key);
    entries[isFromOutside ? entries.length - 1 : Math.min(Math.max(0, to), entries.length - 1)]?.focus();
  }
}

/** Which of the session's entries an element is of, from 0. */
function placeOf(element: Element): number {
  return Number(element.getAttribute("aria-posinset")) - 1;
}

/** Put an entry where it belongs among those of its block. */
function place(block: HTMLElement, element: HTMLElement, at: number): void {
  let after: Element | null = null;
  for (let one = block.lastElementChild; one !== null && placeOf(one) > at; one = one.previousElementSibling)
    after = one;
  block.insertBefore(element, after);
}
