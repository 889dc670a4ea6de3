/** The session view, in the webview: keeps the page as the extension says, and tells it what the user does. */

import type { Frame, FromView, ToView, ViewCommand } from "../core/messages.js";
import { shortModel } from "../core/status.js";
import { type Mode, spent, waiting } from "../core/words.js";
import { button, h } from "./dom.js";
import { draw, labelOf, replace } from "./entries.js";
import { Inert } from "../core/inert.js";
import { card, rest } from "./open.js";
import { type Kept, type Outcome, Sending, keptFrom } from "../core/sending.js";

declare function acquireVsCodeApi(): {
  postMessage(message: FromView): void;
  getState(): unknown;
  setState(state: unknown): void;
};

const api = acquireVsCodeApi();
const send = (message: FromView): void => {
  api.postMessage(message);
};
const command = (name: ViewCommand) => (): void => {
  send({ type: "command", command: name });
};

const title = h("h1", { id: "title" });
const doing = h("span", { class: "doing" });
const used = h("span", { class: "used" });
const facts = h("p", { class: "facts" }, doing, " ", used);
const stop = button(
  "Stop",
  () => {
    send({ type: "cancel" });
  },
  { class: "secondary", title: "End the running turn" },
);
const retry = h(
  "div",
  { class: "buttons retry" },
  h("span", { class: "quiet" }),
  button("Retry now", command("retryNow"), { class: "primary", title: "Ask the provider again at once" }),
);
retry.hidden = true;
const toolbar = h(
  "div",
  { class: "toolbar", role: "toolbar", "aria-label": "Session" },
  stop,
  button("Changes", command("reviewChanges"), { class: "secondary", title: "Review what this session changed" }),
  button("Undo turn", command("undo"), { class: "secondary", title: "Take back what the last turn changed" }),
);
// Above the steps, as those are looked at from their end.
const broken = h(
  "div",
  { class: "buttons broken" },
  button("Restart", command("restart"), { class: "primary" }),
  button("Show log", command("showLog"), { class: "secondary" }),
);
const plan = h("details", { class: "plan", open: true });
const earlier = button(
  "Show earlier steps",
  () => {
    look("earlier");
  },
  { class: "secondary" },
);
const later = h(
  "div",
  { class: "buttons later" },
  button(
    "Show later steps",
    () => {
      look("later");
    },
    { class: "secondary" },
  ),
  button(
    "Go to the latest",
    () => {
      send({ type: "latest" });
    },
    { class: "secondary" },
  ),
);
const feed = h("div", { id: "feed", role: "feed", "aria-label": "Steps", tabindex: 0 });
const empty = h(
  "p",
  { class: "empty" },
  "Give a task below. Outrider reads and searches by itself, and asks before it changes or runs anything. All it changes can be undone.",
);
const open = h("div", { id: "open", role: "group", "aria-label": "What waits for you" });
const text = h("textarea", { id: "task", rows: 2, "aria-label": "Task", dir: "auto" });
const mode = h(
  "select",
  { "aria-label": "Mode", title: "Plan and Explore change nothing" },
  h("option", { value: "agent" }, "Agent"),
  h("option", { value: "plan" }, "Plan"),
  h("option", { value: "explore" }, "Explore"),
);
const give = button("Send", submit, { class: "primary" });
const model = button("", command("chooseModel"), { class: "link", title: "Choose the model" });
const permission = button("", command("choosePermissionMode"), {
  class: "link",
  title: "Choose what Outrider may do without asking",
});
const notSent = h("p", { class: "problem", role: "alert" });
const said = h("div", { class: "unseen", role: "status", "aria-live": "polite" });

document.getElementById("root")?.append(
  h("header", {}, title, facts, toolbar, retry, broken, plan),
  h("div", { id: "scroller" }, earlier, empty, feed, later),
  open,
  h(
    "form",
    {
      class: "composer",
      "aria-label": "Give a task",
      on: {
        submit: (event) => {
          event.preventDefault();
          submit();
        },
      },
    },
    text,
    notSent,
    h("div", { class: "row" }, mode, model, permission, give),
  ),
  said,
);
const scroller = document.getElementById("scroller") ?? document.body;

/** The steps on the page, by their keys. */
const drawn = new Map<string, HTMLElement>();
/** A step that is to stay where it is, so far below the upper edge. */
let anchor: { key: string; above: number } | undefined;
let frame: Frame | undefined;
let cards = "";
const inert = new Inert(() => performance.now());
const kept = keptFrom(api.getState());
const sending = new Sending(kept.underWay);

/** Keep what is written, and what is under way, for when the view is hidden and shown again. */
function keep(): void {
  api.setState({ draft: text.value, underWay: sending.underWay } satisfies Kept);
}

function submit(): void {
  const id = crypto.randomUUID();
  const value = sending.begin(id, text.value);
  if (value === undefined) return;
  keep();
  notSent.textContent = "";
  send({ type: "send", id, text: value, mode: mode.value as Mode });
  showSending();
}

function showSent(outcome: Outcome): void {
  const left = sending.end(outcome, text.value);
  if (left === undefined) return;
  text.value = left;
  keep();
  notSent.textContent = outcome.problem ?? "";
  showSending();
}

/** Show the seconds to the next attempt at the provider, as long as there are some. */
function showRetry(): void {
  const text = frame?.retryAt === undefined ? "" : waiting(frame.retryAt - Date.now());
  const line = retry.firstElementChild;
  if (line !== null && line.textContent !== text) line.textContent = text;
  retry.hidden = text === "";
}
setInterval(showRetry, 1000);

function showSending(): void {
  const isUnderWay = sending.underWay !== undefined;
  give.textContent = isUnderWay ? "Sending…" : frame?.running === true ? "Steer" : "Send";
  give.setAttribute("aria-disabled", String(isUnderWay));
}

function showState(message: Extract<ToView, { type: "state" }>): void {
  const atEnd = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 40;
  const focused = document.activeElement?.closest<HTMLElement>(".entry")?.dataset["key"];
  if (message.reset) {
    feed.replaceChildren();
    drawn.clear();
  }
  for (const { at, entry } of message.entries) {
    const before = drawn.get(entry.key);
    const element = draw(entry, before, (path) => {
      send({ type: "file", path });
    });
    element.setAttribute("aria-posinset", String(at + 1));
    element.setAttribute("aria-setsize", "-1");
    drawn.set(entry.key, element);
    if (before === undefined) feed.append(element);
    else replace(before, element);
    if (entry.kind === "end" && !message.reset) said.textContent = labelOf(entry);
  }
  for (let first = feed.firstElementChild; first instanceof HTMLElement; first = feed.firstElementChild) {
    if (Number(first.getAttribute("aria-posinset")) > message.before) break;
    drawn.delete(first.dataset["key"] ?? "");
    first.remove();
  }
  earlier.hidden = message.before === 0;
  later.hidden = message.behind === 0;
  showFrame(message.frame);
  if (message.reset && focused !== undefined) drawn.get(focused)?.focus({ preventScroll: true });
  const still = message.reset ? drawn.get(anchor?.key ?? "") : undefined;
  if (still !== undefined) scroller.scrollTop = still.offsetTop - (anchor?.above ?? 0);
  else if (atEnd || message.reset) scroller.scrollTop = scroller.scrollHeight;
  if (message.reset) anchor = undefined;
}

/** Have other steps shown, and the first one that is in sight stay where it is. */
function look(type: "earlier" | "later"): void {
  const top = scroller.scrollTop;
  const first = [...drawn].find(([, element]) => !element.hidden && element.offsetTop + element.offsetHeight > top);
  anchor = first === undefined ? undefined : { key: first[0], above: first[1].offsetTop - top };
  send({ type });
}

function showFrame(now: Frame): void {
  const before = frame;
  frame = now;
  showRetry();
  title.textContent = now.title || "Outrider";
  title.title = now.title;
  const state =
    now.server !== "running"
      ? serverWord(now)
      : now.away !== undefined
        ? AWAY[now.away]
        : now.parked || now.open.length > 0
          ? "needs you"
          : now.running
            ? "running"
            : "idle";
  doing.textContent = state;
  used.textContent = now.title === "" ? "" : spent(now.usage);
  facts.className = `facts ${now.open.length > 0 ? "waiting" : ""}`;
  stop.hidden = !now.running;
  showPlan(now);
  showOpen(now);
  broken.hidden = now.server !== "failed";
  empty.hidden = feed.childElementCount > 0 || !broken.hidden;
  const steering = now.running;
  text.placeholder = steering
    ? "Say something to the running turn…"
    : now.away === "elsewhere"
      ? "A task for a session of this window. Ctrl+Enter sends"
      : "What is to be done? Ctrl+Enter sends";
  text.setAttribute("aria-label", steering ? "Say something to the running turn" : "Task");
  showSending();
  mode.hidden = steering;
  model.textContent = now.model === "" ? "choose a model" : shortModel(now.model);
  model.title = `${now.model} (choose another)`;
  model.setAttribute("aria-label", `Model: ${model.textContent}`);
  permission.textContent = now.permissionMode;
  permission.setAttribute("aria-label", `Permission mode: ${now.permissionMode}`);
  const [first] = now.open;
  if (first !== undefined && before?.open[0]?.id !== first.id) said.textContent = `Outrider needs you: ${first.title}`;
  else if (now.server === "failed" && before?.server !== "failed") said.textContent = "The server is not running.";
}

const AWAY = {
  elsewhere: "another window or editor runs this; look on here, answer there",
  "cut off": "cut off in the middle; “Outrider: Resume…” goes on with it",
} as const;

function serverWord({ server }: Frame): string {
  return server === "starting" ? "the server is starting" : "the server is not running";
}

function showPlan({ plan: items }: Frame): void {
  plan.hidden = items.length === 0;
  const done = items.filter(({ status }) => status === "done").length;
  const rows = items.map(({ text, status }) =>
    h(
      "li",
      { class: status ?? "pending", "aria-current": status === "in_progress" ? "step" : undefined, dir: "auto" },
      h("span", { "aria-hidden": "true" }, `${SIGNS[status ?? "pending"]} `),
      text,
      h("span", { class: "unseen" }, ` (${(status ?? "pending").replace("_", " ")})`),
    ),
  );
  plan.replaceChildren(h("summary", {}, `Plan: ${String(done)} of ${String(items.length)} done`), h("ol", {}, ...rows));
}

const SIGNS = { pending: "○", in_progress: "◐", done: "✓" } as const;

function showOpen({ open: items }: Frame): void {
  const now = JSON.stringify(items);
  if (now === cards) return;
  cards = now;
  const hadFocus = open.contains(document.activeElement);
  // A note that is being written in a card that stays is kept.
  const kept = new Map(
    [...open.querySelectorAll<HTMLElement>(".card")].map((element) => [element.dataset["id"], element]),
  );
  for (const [id = "", element] of kept) {
    if (items.some((item) => item.id === id)) continue;
    element.remove();
    inert.forget(id);
    // The others move to where it was, and the pointer and the keyboard with them.
    for (const other of open.querySelectorAll<HTMLElement>(".card")) rest(other, inert);
  }
  // One that stays is not moved: the keyboard may be in it.
  open.append(...items.filter(({ id }) => !kept.has(id)).map((item) => card(item, send, inert)));
  for (const [index, item] of items.entries()) {
    const said = open.children[index]?.querySelector(".review");
    if (said != null && said.textContent !== item.review) said.textContent = item.review;
  }
  if (hadFocus && !open.contains(document.activeElement)) focusOpen();
}

function focusOpen(): void {
  const target = open.querySelector<HTMLElement>(".buttons button") ?? open.querySelector<HTMLElement>("input") ?? text;
  target.focus();
}

feed.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[event.key];
  const target = event.target as HTMLElement;
  if (target.closest("pre, button, summary") !== null && !["j", "k"].includes(event.key)) return;
  const entries = [...feed.querySelectorAll<HTMLElement>(".entry:not([hidden])")];
  const index = entries.findIndex((entry) => entry.contains(document.activeElement));
  const next =
    event.key === "Home"
      ? entries[0]
      : event.key === "End"
        ? entries.at(-1)
        : step === undefined
          ? undefined
          : index < 0
            ? entries.at(-1)
            : entries[Math.min(Math.max(0, index + step), entries.length - 1)];
  if (event.key === "Enter" && target.classList.contains("entry")) {
    const details = target.querySelector("details");
    if (details !== null) details.open = !details.open;
  }
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
});

text.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    submit();
  }
});
text.addEventListener("input", keep);

window.addEventListener("message", ({ data }: MessageEvent<ToView>) => {
  if (data.type === "state") showState(data);
  else if (data.type === "sent") showSent(data);
  else if (data.what === "open" && frame !== undefined && frame.open.length > 0) focusOpen();
  else text.focus();
});

text.value = kept.draft;
send({ type: "ready", ...(kept.underWay === undefined ? {} : { waitsFor: kept.underWay.id }) });
