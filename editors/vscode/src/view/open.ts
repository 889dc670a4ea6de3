/** Draws what waits for the user: an approval with its diff and buttons, a question with its options. */

import type { EditView, FromView, OpenView } from "../core/messages.js";
import { INERT_MILLISECONDS, type Inert } from "../core/inert.js";
import { type Decision, REJECT, REJECT_ALL, REVIEW, allowAll, decisionOf, isYes, yesAndNo } from "../core/titles.js";
import { button, h, withCommand } from "./dom.js";

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
  const isSeveral = item.edits.length > 0;
  const ids = asksOf(item);
  const options = isSeveral ? [allowAll(ids.length), REJECT_ALL] : item.options;
  for (const [index, title] of options.entries()) {
    const decision = item.kind === "approval" ? decisionOf(title) : undefined;
    if (item.kind === "approval" && decision === undefined) continue;
    const give = (): void => {
      send(
        decision === undefined
          ? { type: "answer", id: item.id, answer: title }
          : { type: "decide", ids, decision, note: note.value },
      );
    };
    const act = isYes(title) ? afterReading(give) : give;
    const key = decision === undefined ? String(index + 1) : KEYS[decision];
    byKey.set(key, act);
    const isFirst = decision === undefined || isSeveral ? index === 0 : title === yesAndNo(options)[0];
    const kind = isFirst ? "primary" : "secondary";
    const one = button(title, act, { class: kind, "aria-keyshortcuts": key, title: `${title} (${key})` });
    if (item.meanings !== undefined) asRow(one, key, title, item.meanings[index] ?? "");
    if (isYes(title)) heed(one, () => inert.takesYes(item.id));
    buttons.push(one);
  }
  if (item.canReview) {
    const review = (): void => {
      send({ type: "review", ids });
    };
    byKey.set("d", review);
    const help = "See all of it; of an edit take, leave out or rewrite single hunks (d)";
    buttons.push(button(REVIEW, review, { class: "secondary", "aria-keyshortcuts": "d", title: help }));
  }
  const own = item.kind === "approval" ? "Tell the model why, with your decision" : "Answer in your own words";
  const takesNote = item.kind === "approval" && (isSeveral || options.includes(REJECT));
  if (takesNote || item.allowFreeForm || item.kind === "tool") {
    note.placeholder = own;
    note.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || note.value.trim() === "") return;
      if (item.kind === "approval") send({ type: "decide", ids, decision: "reject", note: note.value });
      else send({ type: "answer", id: item.id, answer: note.value.trim() });
    });
    if (item.kind === "approval") note.title = `Enter rejects ${isSeveral ? "all of them " : ""}with this note`;
  } else note.hidden = true;
  const element = h(
    "section",
    {
      class: "card",
      "data-id": item.id,
      "data-asks": asksOf(item).join(" "),
      "aria-label": `Outrider needs you: ${item.title}`,
      tabindex: -1,
    },
    h("h2", { dir: "auto" }, ...withCommand(item.title), ...(isSeveral ? counts(item) : [])),
    ...(isSeveral ? [edits(item, note, afterReading, send, inert)] : []),
    ...(item.detail === "" ? [] : item.isCommand ? commandDetail(item.detail) : [detail(item.detail)]),
    h("p", { class: "review", role: "status" }, item.review),
    h("div", { class: item.meanings === undefined ? "buttons" : "buttons options" }, ...buttons),
    note,
  );
  answerByKey(element, (key) => byKey.get(key));
  rest(element, inert);
  return element;
}

/** Show an option with the key it has, and with what it means beneath it. */
function asRow(one: HTMLButtonElement, key: string, title: string, meaning: string): void {
  one.replaceChildren(
    h("span", { class: "key", "aria-hidden": "true" }, key),
    h("span", { class: "option", dir: "auto" }, title),
    ...(meaning === "" ? [] : [h("span", { class: "meaning", dir: "auto" }, meaning)]),
  );
}

/** Take keys for answers where the keyboard is in an element, and no note is written. */
function answerByKey(element: HTMLElement, actOf: (key: string) => (() => void) | undefined): void {
  element.addEventListener("keydown", (event) => {
    const isTyped = event.target instanceof HTMLInputElement || event.ctrlKey || event.altKey || event.metaKey;
    // What was taken by one of several edits is not for all of them.
    if (isTyped || event.defaultPrevented) return;
    const act = actOf(event.key);
    if (act === undefined && event.key !== "Enter") return;
    // A key that is held down decides about one item, and not about the next one as well, which takes its place.
    if (event.repeat) event.preventDefault();
    else if (act !== undefined) {
      event.preventDefault();
      act();
    }
  });
}

/** The items that a card asks about: one that asks about others is another card. */
export function asksOf({ id, edits }: OpenView): string[] {
  return edits.length > 0 ? edits.map((edit) => edit.id) : [id];
}

/** Put a card in the place of one that asked about more: what is written, unfolded and read there stays so. */
export function replaceCard(before: HTMLElement, after: HTMLElement): void {
  const [old, now] = [before, after].map((one) => one.querySelector<HTMLInputElement>(":scope > .note"));
  if (old != null && now != null) now.value = old.value;
  for (const edit of before.querySelectorAll<HTMLDetailsElement>("details.edit")) {
    const same = after.querySelector<HTMLDetailsElement>(`details.edit[data-edit="${edit.dataset["edit"] ?? ""}"]`);
    if (same !== null) same.open = edit.open;
  }
  const top = before.querySelector(".edits")?.scrollTop ?? 0;
  const focused = document.activeElement;
  const hadFocus = before.contains(focused);
  const place = [...before.querySelectorAll("details.edit")].findIndex((edit) => edit.contains(focused));
  before.replaceWith(after);
  const list = after.querySelector(".edits");
  if (list !== null) list.scrollTop = top;
  if (!hadFocus) return;
  const next = place < 0 ? undefined : [...after.querySelectorAll<HTMLElement>("details.edit > summary")];
  // Never to a button: what is pressed again there would be a yes to more than was meant.
  (focused === old ? now : (next?.[Math.min(place, next.length - 1)] ?? after))?.focus();
}

/** The edits of one step: each with its diff, and with answers of its own. */
function edits(
  item: OpenView,
  note: HTMLInputElement,
  afterReading: (act: () => void) => () => void,
  send: (message: FromView) => void,
  inert: Inert,
): HTMLElement {
  const one = (edit: EditView): HTMLElement => {
    const decide = (decision: "allow_once" | "reject") => (): void => {
      send({ type: "decide", ids: [edit.id], decision, note: note.value });
      note.value = "";
    };
    const act = { [KEYS.allow_once]: afterReading(decide("allow_once")), [KEYS.reject]: decide("reject") };
    const offer = (label: string, key: string): HTMLButtonElement =>
      button(label, act[key] ?? (() => undefined), {
        class: "quiet",
        title: `${label} (${key})`,
        "aria-keyshortcuts": key,
        "aria-label": `${label}: ${edit.title}`,
      });
    const allow = offer("Allow this edit", KEYS.allow_once);
    heed(allow, () => inert.takesYes(item.id));
    const reject = offer("Reject this edit", KEYS.reject);
    const element = h(
      "details",
      { class: "edit", open: true, "data-edit": edit.id },
      h("summary", { dir: "auto" }, edit.title),
      ...(edit.detail === "" ? [] : [detail(edit.detail)]),
      h("p", { class: "review", role: "status" }, edit.review),
      h("div", { class: "buttons" }, allow, reject),
    );
    answerByKey(element, (key) => act[key]);
    return element;
  };
  return h("div", { class: "edits" }, ...item.edits.map(one));
}

function counts({ added, removed }: OpenView): (HTMLElement | string)[] {
  const plus = h("span", { class: "plus" }, `+${String(added)}`);
  return [" ", plus, " ", h("span", { class: "minus" }, `−${String(removed)}`)];
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
