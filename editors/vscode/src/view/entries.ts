/** Draws the steps of a session. */

import type { CallEntry, CallStatus, EditEntry, EndEntry, Entry, TaskEntry } from "../core/entries.js";
import { type Block, type Span, parse } from "../core/markdown.js";
import { OUTCOMES, hintOf, lasting, reasonOf, spent } from "../core/words.js";
import { h } from "./dom.js";

/** What a status looks like, and how it is said. */
const STATUS: Readonly<Record<CallStatus, readonly [string, string]>> = {
  asked: ["○", "waiting"],
  running: ["◐", "running"],
  ok: ["✓", "done"],
  error: ["✗", "failed"],
  denied: ["⊘", "denied"],
  cancelled: ["■", "cancelled"],
  interrupted: ["■", "interrupted"],
  skipped: ["–", "skipped"],
};

/** The element of an entry. What the user folded open in `before` stays open. */
export function draw(entry: Entry, before: HTMLElement | undefined, openFile: (path: string) => void): HTMLElement {
  const element = h("article", { class: `entry ${entry.kind}`, tabindex: -1, "data-key": entry.key });
  element.append(...body(entry, openFile));
  element.setAttribute("aria-label", labelOf(entry));
  element.hidden = element.childElementCount === 0;
  const open = [...(before?.querySelectorAll("details") ?? [])].map((details) => details.open);
  element.querySelectorAll("details").forEach((details, index) => {
    if (open[index] !== undefined) details.open = open[index];
  });
  return element;
}

/** Put the element of an entry in the place of the one before: the keyboard stays where it is, and so does what is read. */
export function replace(before: HTMLElement, after: HTMLElement): void {
  const [old, now] = [before, after].map((one) => [one, ...one.querySelectorAll<HTMLElement>("summary, pre, button")]);
  const focused = old?.findIndex((one) => one === document.activeElement) ?? -1;
  // Only of what is unfolded: to ask for a place lays the page out, and there may be many entries.
  const read = [...before.querySelectorAll("details[open] pre")].map((one) => ({
    top: one.scrollTop,
    isAtEnd: one.scrollHeight - one.scrollTop - one.clientHeight < 4,
  }));
  before.replaceWith(after);
  for (const [index, { top, isAtEnd }] of read.entries()) {
    const element = after.querySelectorAll("details[open] pre")[index];
    // Who is at the end of an output goes along with it.
    if (element !== undefined) element.scrollTop = isAtEnd ? element.scrollHeight : top;
  }
  if (focused >= 0) (now?.[focused] ?? after).focus({ preventScroll: true });
}

function body(entry: Entry, openFile: (path: string) => void): (Node | string)[] {
  switch (entry.kind) {
    case "task":
      return task(entry);
    case "answer": {
      const parts: Node[] = [];
      if (entry.reasoning !== "") {
        parts.push(
          h(
            "details",
            { class: "reasoning" },
            h("summary", {}, "Reasoning"),
            h("div", { class: "text", dir: "auto" }, entry.reasoning),
          ),
        );
      }
      if (entry.text !== "") parts.push(h("div", { class: "text" }, ...parse(entry.text).map(block)));
      return parts;
    }
    case "call":
      return call(entry);
    case "edit":
      return edit(entry, openFile);
    case "note":
      return [h("p", { class: `note-${entry.level}`, dir: "auto" }, entry.text)];
    case "end":
      return end(entry);
  }
}

function task({ prompt, mode, model }: TaskEntry): Node[] {
  const about = [mode === "agent" ? "" : mode, model].filter(Boolean).join(" · ");
  return [h("h2", { dir: "auto" }, prompt), h("p", { class: "quiet" }, about)];
}

function call({ name, about, status, seconds, output }: CallEntry): Node[] {
  const [sign, word] = STATUS[status];
  const line = [
    h("span", { class: `sign ${status}`, "aria-hidden": "true" }, sign),
    h("span", { class: "name" }, name),
    h("span", { class: "about", title: about, dir: "auto" }, about),
    h(
      "span",
      { class: "quiet" },
      status === "ok" && seconds !== undefined
        ? lasting(seconds)
        : seconds === undefined
          ? word
          : `${word}, ${lasting(seconds)}`,
    ),
  ];
  if (output === "") return [h("div", { class: "line" }, ...line)];
  return [
    h(
      "details",
      {},
      h("summary", { class: "line" }, ...line),
      h("pre", { class: "output", tabindex: 0, dir: "auto" }, output),
    ),
  ];
}

const DONE = { edit: "Edited", create: "Created", delete: "Deleted", rename: "Renamed" } as const;

function edit(
  { path, operation, added, removed, undone, merged }: EditEntry,
  openFile: (path: string) => void,
): Node[] {
  const file = h(
    "button",
    {
      type: "button",
      class: "link",
      on: {
        click: () => {
          openFile(path);
        },
      },
    },
    path,
  );
  const more = [undone ? "undone" : "", merged ? "together with what was written meanwhile" : ""]
    .filter(Boolean)
    .join(", ");
  return [
    h(
      "div",
      { class: `line${undone ? " undone" : ""}` },
      h("span", { class: "sign ok", "aria-hidden": "true" }, "✎"),
      h("span", { class: "name" }, DONE[operation]),
      file,
      h("span", { class: "plus" }, `+${String(added)}`),
      h("span", { class: "minus" }, `−${String(removed)}`),
      h("span", { class: "quiet" }, more),
    ),
  ];
}

function end({ outcome, reason, usage, seconds }: EndEntry): Node[] {
  const hint = outcome === "failed" ? hintOf(reason) : undefined;
  const sign = outcome === "completed" ? "✓" : outcome === "cancelled" ? "■" : "✗";
  return [
    h(
      "div",
      { class: "line" },
      h("span", { class: `sign ${outcome === "completed" ? "ok" : "error"}`, "aria-hidden": "true" }, sign),
      h("strong", {}, OUTCOMES[outcome]),
      h("span", { class: "quiet" }, [reasonOf(reason), lasting(seconds), spent(usage)].filter(Boolean).join(" · ")),
    ),
    ...(hint === undefined ? [] : [h("p", {}, hint)]),
  ];
}

/** How an entry is said to who does not see it. */
export function labelOf(entry: Entry): string {
  switch (entry.kind) {
    case "task":
      return `Task: ${entry.prompt}`;
    case "answer":
      return `Outrider: ${entry.text.slice(0, 200)}`;
    case "call":
      return `${entry.name} ${entry.about}, ${STATUS[entry.status][1]}`;
    case "edit":
      return `${DONE[entry.operation]} ${entry.path}, ${String(entry.added)} lines added, ${String(entry.removed)} removed${entry.undone ? ", undone" : ""}`;
    case "note":
      return entry.text;
    case "end":
      return `${OUTCOMES[entry.outcome]}: ${reasonOf(entry.reason)}`;
  }
}

function block(part: Block): Node {
  switch (part.kind) {
    case "code":
      return h("pre", { class: "code", tabindex: 0, "data-language": part.language || undefined }, part.text);
    case "heading":
      return h("h3", { dir: "auto" }, ...part.spans.map(span));
    case "item":
      return h(
        "p",
        { class: `item deep${String(Math.min(3, Math.floor(part.indent / 2)))}`, dir: "auto" },
        h("span", { class: "mark" }, part.sign),
        h("span", {}, ...part.spans.map(span)),
      );
    case "paragraph":
      return h("p", { dir: "auto" }, ...part.spans.map(span));
  }
}

function span(part: Span): Node | string {
  if (part.kind === "code") return h("code", {}, part.text);
  return part.kind === "bold" ? h("strong", {}, part.text) : part.text;
}
