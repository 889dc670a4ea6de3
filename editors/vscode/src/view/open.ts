/** Draws what waits for the user: an approval with its diff and buttons, a question with its options. */

import type { FromView, OpenView } from "../core/messages.js";
import { INERT_MILLISECONDS, type Inert } from "../core/inert.js";
import { type Decision, REJECT, REVIEW, decisionOf, isYes, yesAndNo } from "../core/titles.js";
import { button, h } from "./dom.js";

/** The keys of the decisions, while the card has the keyboard. */
const KEYS: Readonly<Record<Decision, string>> = {
  allow_once: "a",
  allow_session: "s",
  allow_always: "w",
  reject: "r",
  put_back: "p",
  keep: "k",
};

/** Behind this the server puts each line of a command that it shows. */
const MARGIN = "│";

/** Let a card take no yes for a moment: it appeared, or moved under the pointer or the keyboard. */
export function rest(element: HTMLElement, inert: Inert): void {
  const id = element.dataset["id"] ?? "";
  inert.appeared(id);
  element.classList.add("inert");
  setTimeout(() => {
    element.classList.remove("inert");
  }, INERT_MILLISECONDS);
}

/** The card of an open item. */
export function card(item: OpenView, send: (message: FromView) => void, inert: Inert): HTMLElement {
  const note = h("input", {
    type: "text",
    class: "note",
    "aria-label": item.kind === "approval" ? "A note for the model, with your decision" : "Your own answer",
  });
  const afterReading = (act: () => void) => (): void => {
    if (inert.takesYes(item.id)) act();
    else rest(element, inert);
  };
  const buttons: HTMLButtonElement[] = [];
  const byKey = new Map<string, () => void>();
  for (const [index, title] of item.options.entries()) {
    const decision = item.kind === "approval" ? decisionOf(title) : undefined;
    if (item.kind === "approval" && decision === undefined) continue;
    const give = (): void => {
      send(
        decision === undefined
          ? { type: "answer", id: item.id, answer: title }
          : { type: "decide", id: item.id, decision, note: note.value },
      );
    };
    const act = isYes(title) ? afterReading(give) : give;
    const key = decision === undefined ? String(index + 1) : KEYS[decision];
    byKey.set(key, act);
    const isFirst = decision === undefined ? index === 0 : title === yesAndNo(item.options)[0];
    const kind = isFirst ? "primary" : "secondary";
    const one = button(title, act, { class: kind, "aria-keyshortcuts": key, title: `${title} (${key})` });
    if (isYes(title)) heed(one, () => inert.takesYes(item.id));
    buttons.push(one);
  }
  if (item.canReview) {
    const review = (): void => {
      send({ type: "review", id: item.id });
    };
    byKey.set("d", review);
    const help = "See all of it; of an edit take, leave out or rewrite single hunks (d)";
    buttons.push(button(REVIEW, review, { class: "secondary", "aria-keyshortcuts": "d", title: help }));
  }
  const own = item.kind === "approval" ? "Tell the model why, with your decision" : "Answer in your own words";
  const takesNote = item.kind === "approval" && item.options.includes(REJECT);
  if (takesNote || item.allowFreeForm || item.kind === "tool") {
    note.placeholder = own;
    note.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || note.value.trim() === "") return;
      if (item.kind === "approval") send({ type: "decide", id: item.id, decision: "reject", note: note.value });
      else send({ type: "answer", id: item.id, answer: note.value.trim() });
    });
    if (item.kind === "approval") note.title = "Enter rejects with this note";
  } else note.hidden = true;
  const element = h(
    "section",
    { class: "card", "data-id": item.id, "aria-label": `Outrider needs you: ${item.title}`, tabindex: -1 },
    h("h2", { dir: "auto" }, item.title),
    ...(item.detail === "" ? [] : item.isCommand ? commandDetail(item.detail) : [detail(item.detail)]),
    h("p", { class: "review", role: "status" }, item.review),
    h("div", { class: "buttons" }, ...buttons),
    note,
  );
  element.addEventListener("keydown", (event) => {
    if (event.target === note || event.ctrlKey || event.altKey || event.metaKey) return;
    const act = byKey.get(event.key);
    if (act === undefined && event.key !== "Enter") return;
    // A key that is held down decides about one item, and not about the next one as well, which takes its place.
    if (event.repeat) event.preventDefault();
    else if (act !== undefined) {
      event.preventDefault();
      act();
    }
  });
  rest(element, inert);
  return element;
}

/** Have a click count only if the button was pressed down when a yes counted: what moved under the pointer was not meant. */
function heed(one: HTMLButtonElement, takesYes: () => boolean): void {
  let isMeant = true;
  one.addEventListener("pointerdown", () => {
    isMeant = takesYes();
  });
  // Before the button's own listener, which is at the target, too.
  one.addEventListener(
    "click",
    (event) => {
      if (event.detail > 0 && !isMeant) event.stopImmediatePropagation();
      isMeant = true;
    },
    { capture: true },
  );
}

/** The detail of a command: as much of its text as one line did not show, and the rest folded. */
function commandDetail(text: string): HTMLElement[] {
  const lines = text.trimEnd().split("\n");
  const command = lines.filter((line) => line.startsWith(MARGIN));
  const others = lines.filter((line) => !line.startsWith(MARGIN));
  return [
    ...(command.length === 0 ? [] : [detail(command.join("\n"))]),
    h("details", { class: "why" }, h("summary", {}, "How it runs, and why it asks"), detail(others.join("\n"))),
  ];
}

/** The detail of an item: a diff in its colours, else the text. */
function detail(text: string): HTMLElement {
  const lines = text.trimEnd().split("\n");
  const isDiff = lines.some((line) => line.startsWith("@@"));
  const shown = lines.filter((line) => !isDiff || !/^(---|\+\+\+) /.test(line));
  const rows = shown.map((line) => h("div", { class: isDiff ? kindOf(line) : "" }, line === "" ? " " : line));
  return h(
    "pre",
    { class: isDiff ? "diff" : "output", tabindex: 0, "aria-label": isDiff ? "The proposed change" : "Details" },
    ...rows,
  );
}

function kindOf(line: string): string {
  if (line.startsWith("@@")) return "place";
  if (line.startsWith("+")) return "inserted";
  return line.startsWith("-") ? "removed" : "";
}
