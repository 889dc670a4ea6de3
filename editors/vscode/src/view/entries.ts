/** Draws the steps of a session. */

import type { CallEntry, CallStatus, EditEntry, EndEntry, TaskEntry } from "../core/entries.js";
import type { ShownAnswer, ShownEntry } from "../core/messages.js";
import type { FileRef } from "../core/links.js";
import { type EndMark, endOf, evidenceOf, hintOf, lasting, spent } from "../core/words.js";
import { Answer } from "./answer.js";
import { button, h, withCode, withCommand } from "./dom.js";
import type { PlanItem } from "../protocol/types.js";
import type { Surroundings } from "./markdown.js";

type StillEntry = Exclude<ShownEntry, ShownAnswer>;

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

/** An answer of the model, with its reasoning. */
export class AnswerBox {
  readonly element: HTMLElement;
  private readonly answer: Answer;
  private reasoning: Answer | undefined;

  constructor(
    key: string,
    private readonly around: Surroundings,
  ) {
    this.answer = new Answer(around);
    this.element = h("article", { class: "entry answer", tabindex: -1, "data-key": key }, this.answer.element);
  }

  /** Take what came of it. */
  take({ text, reasoning, done }: ShownAnswer): void {
    this.answer.take(text.from, text.text, done);
    if (this.reasoning === undefined && reasoning.text !== "") {
      this.reasoning = new Answer(this.around);
      this.element.prepend(h("details", { class: "reasoning" }, h("summary", {}, "Reasoning"), this.reasoning.element));
    }
    this.reasoning?.take(reasoning.from, reasoning.text, done);
    this.element.hidden = this.answer.source === "" && (this.reasoning?.source ?? "") === "";
    this.element.setAttribute("aria-label", `Outrider: ${this.answer.source.slice(0, 200)}`);
    // A screen reader waits until it is whole.
    this.element.setAttribute("aria-busy", String(!done));
  }
}

/** The element of an entry. What the user folded open in `before` stays open. */
export function draw(
  entry: StillEntry,
  before: HTMLElement | undefined,
  openFile: (ref: FileRef) => void,
  actions: Actions,
): HTMLElement {
  const element = h("article", { class: `entry ${entry.kind}`, tabindex: -1, "data-key": entry.key });
  element.append(...body(entry, openFile, actions));
  element.setAttribute("aria-label", labelOf(entry));
  element.hidden = element.childElementCount === 0;
  const old = [...(before?.querySelectorAll("details") ?? [])];
  element.querySelectorAll("details").forEach((details, index) => {
    const known = old[index];
    if (known === undefined) return;
    const wasRunning = known.dataset["status"] === "running";
    const folds = wasRunning && known.open && details.dataset["status"] !== "running" && known.dataset["by"] !== "user";
    if (known.dataset["by"] === "user") details.dataset["by"] = "user";
    if (!folds) details.open = known.open;
  });
  for (const summary of element.querySelectorAll("summary"))
    summary.addEventListener("click", () => {
      if (summary.parentElement !== null) summary.parentElement.dataset["by"] = "user";
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

function body(entry: StillEntry, openFile: (ref: FileRef) => void, actions: Actions): (Node | string)[] {
  switch (entry.kind) {
    case "task":
      return task(entry, openFile, actions);
    case "call":
      return call(entry);
    case "edit":
      return edit(entry, openFile);
    case "note":
      return [h("p", { class: `note-${entry.level}`, dir: "auto" }, ...withCommand(entry.text))];
    case "end":
      return end(entry, openFile, actions);
    case "plan":
      return [planList(entry.items)];
  }
}

/** What is done about a turn. The page shows only those buttons that the server has a command for. */
export interface Actions {
  readonly edit: (turn: string, prompt: string) => void;
  readonly does: (what: "restore" | "continue" | "retry", turn: string) => void;
  /** Lead to a model. */
  readonly setUp: () => void;
}

function turnOf(key: string): string {
  return key.slice(key.indexOf(":") + 1);
}

/** A link to a place of the workspace. */
function link(text: string, ref: FileRef, openFile: (ref: FileRef) => void): HTMLElement {
  const act = (): void => {
    openFile(ref);
  };
  return button(text, act, { class: "link" });
}

function task(
  { key, prompt, planDocument, mode, model }: TaskEntry,
  openFile: (ref: FileRef) => void,
  { edit, does }: Actions,
): Node[] {
  const about = [mode === "agent" ? "" : mode, model].filter(Boolean).join(" · ");
  const turn = turnOf(key);
  const change = button(
    "Edit",
    () => {
      edit(turn, prompt);
    },
    { class: "quiet", title: "Write this task anew, in its place", "data-needs": "resend" },
  );
  const restore = button(
    "Restore",
    () => {
      does("restore", turn);
    },
    { class: "quiet", title: "Go back to before this task, with the files", "data-needs": "restore" },
  );
  return [
    h("h2", { dir: "auto" }, prompt),
    ...(planDocument === undefined ? [] : [link(planDocument, { path: planDocument }, openFile)]),
    h(
      "div",
      { class: "line" },
      h("span", { class: "quiet about-turn" }, about),
      // A plan is changed in its document.
      ...(planDocument === undefined ? [change] : []),
      restore,
    ),
  ];
}

const PLAN_SIGNS = { pending: "○", in_progress: "◐", done: "✓" } as const;

/** A plan, with how much of it is done. */
export function planList(items: readonly PlanItem[], open = false): HTMLElement {
  const done = items.filter(({ status }) => status === "done").length;
  const rows = items.map(({ text, status = "pending" }) =>
    h(
      "li",
      { class: status, "aria-current": status === "in_progress" ? "step" : undefined, dir: "auto" },
      h("span", { "aria-hidden": "true" }, `${PLAN_SIGNS[status]} `),
      text,
      h("span", { class: "unseen" }, ` (${status.replace("_", " ")})`),
    ),
  );
  return h(
    "details",
    { class: "plan", open },
    h("summary", {}, `Plan: ${String(done)} of ${String(items.length)} done`),
    h("ol", {}, ...rows),
  );
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
      // What runs is seen; what has run is folded again, unless the user unfolded it.
      { open: status === "running", "data-status": status },
      h("summary", { class: "line" }, ...line),
      h("pre", { class: "output", tabindex: 0, dir: "auto" }, output),
    ),
  ];
}

const DONE = { edit: "Edited", create: "Created", delete: "Deleted", rename: "Renamed" } as const;

function edit(
  { path, operation, added, removed, undone, merged }: EditEntry,
  openFile: (ref: FileRef) => void,
): Node[] {
  const file = link(path, { path }, openFile);
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

/** What the end of a turn looks like. */
const MARKS: Readonly<Record<EndMark, readonly [sign: string, kind: string]>> = {
  good: ["✓", "ok"],
  open: ["•", "open"],
  check_failed: ["✗", "error"],
  stopped: ["■", "error"],
  bad: ["✗", "error"],
};
/** So many places of what failed are shown. */
const MOST_FAILURES = 10;

function end(entry: EndEntry, openFile: (ref: FileRef) => void, { does, setUp }: Actions): Node[] {
  const { key, outcome, reason, mark, failures, usage, seconds } = entry;
  const offer = (label: string, what: "continue" | "retry", title: string): HTMLElement =>
    button(
      label,
      () => {
        does(what, turnOf(key));
      },
      { class: "secondary", title, "data-needs": "continue" },
    );
  const buttons = [
    ...(reason === "model_unavailable" ? [button("Set up a model", setUp, { class: "secondary" })] : []),
    ...(outcome === "failed" || outcome === "refused" ? [offer("Retry", "retry", "Give the same task again")] : []),
    ...(mark === "check_failed" ? [offer("Continue", "continue", "Let the model correct what failed")] : []),
    ...(outcome === "completed" ? [] : [offer("Continue", "continue", "Go on where it stopped, with a new budget")]),
  ];
  const hint = outcome === "failed" ? hintOf(reason) : undefined;
  const [sign, kind] = MARKS[mark];
  const places = failures
    .slice(0, MOST_FAILURES)
    .map(({ path, line, message }) =>
      h("li", { dir: "auto" }, link(`${path}:${String(line)}`, { path, line }, openFile), ` ${message}`),
    );
  const left = failures.length - places.length;
  if (left > 0) places.push(h("li", {}, `and ${String(left)} more`));
  return [
    h(
      "div",
      { class: "line" },
      h("span", { class: `sign ${kind}`, "aria-hidden": "true" }, sign),
      h("strong", {}, endOf(entry)),
      h(
        "span",
        { class: "quiet" },
        ...withCode([evidenceOf(entry), lasting(seconds), spent(usage)].filter(Boolean).join(" · ")),
      ),
    ),
    ...(places.length === 0 ? [] : [h("ul", { class: "failures" }, ...places)]),
    ...(hint === undefined ? [] : [h("p", {}, hint)]),
    ...(buttons.length === 0 ? [] : [h("div", { class: "buttons" }, ...buttons)]),
  ];
}

/** How an entry is said to who does not see it. */
export function labelOf(entry: StillEntry): string {
  switch (entry.kind) {
    case "task":
      return `Task: ${entry.prompt}`;
    case "call":
      return `${entry.name} ${entry.about}, ${STATUS[entry.status][1]}`;
    case "edit":
      return `${DONE[entry.operation]} ${entry.path}, ${String(entry.added)} lines added, ${String(entry.removed)} removed${entry.undone ? ", undone" : ""}`;
    case "note":
      return entry.text;
    case "plan":
      return `Plan: ${entry.items.map(({ text, status = "pending" }) => `${text}, ${status.replace("_", " ")}`).join("; ")}`;
    case "end":
      return `${endOf(entry)}: ${evidenceOf(entry)}`;
  }
}
