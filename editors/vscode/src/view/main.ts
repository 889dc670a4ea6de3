/** The session view, in the webview: keeps the page as the extension says, and tells it what the user does. */

import { Inert } from "../core/inert.js";
import { ABILITIES, type Frame, type FromView, type ToView, type ViewCommand } from "../core/messages.js";
import { keptFrom } from "../core/sending.js";
import { type Colour, SCOPES } from "../core/theme.js";
import { clock, short, spent, waiting } from "../core/words.js";
import { Composer } from "./composer.js";
import { button, h } from "./dom.js";
import { planList } from "./entries.js";
import { Feed } from "./feed.js";
import { asksOf, card, replaceCard, rest } from "./open.js";
import { Places } from "./places.js";

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
const meter = h("meter", { min: 0, max: 100, high: 80, "aria-label": "Context window" });
const facts = h("p", { class: "facts" }, doing, h("span", { class: "figures" }, meter, used));
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
const plan = h("div", { class: "pinned" });
const empty = h(
  "p",
  { class: "empty" },
  "Give a task below. Outrider reads and searches by itself, and asks before it changes or runs anything. All it changes can be undone.",
);
const lacking = h(
  "div",
  { class: "buttons lacking" },
  h("span", {}, "There is no model to work with yet."),
  button("Set up a model", command("setUp"), {
    class: "primary",
    title: "Choose a provider, give its key, choose a model and try it",
  }),
);
lacking.hidden = true;
const open = h("div", { id: "open", role: "group", "aria-label": "What waits for you" });
const said = h("div", { class: "unseen", role: "status", "aria-live": "polite" });

const places = new Places({
  resolve: (paths, symbols) => {
    send({ type: "resolve", paths, symbols });
  },
  openFile: (ref) => {
    send({ type: "file", ref });
  },
  openSymbol: (name) => {
    send({ type: "symbol", name });
  },
});
const take = (what: "copy" | "insert", text: string): void => {
  send({ type: "take", what, text });
};
const feed = new Feed(
  send,
  { places, take },
  {
    edit: (turn, prompt) => {
      composer.edit(turn, prompt);
    },
    does: (type, turn) => {
      send({ type, turn });
    },
    setUp: command("setUp"),
  },
  empty,
);
feed.onEnd = (text) => {
  said.textContent = text;
};
const kept = keptFrom(api.getState());
const composer = new Composer(
  send,
  (now) => {
    api.setState(now);
  },
  () => {
    feed.toEnd();
  },
  kept,
);

document
  .getElementById("root")
  ?.append(
    h("header", {}, title, facts, toolbar, retry, broken, plan),
    feed.element,
    open,
    lacking,
    composer.element,
    said,
  );

let frame: Frame | undefined;
let cards = "";
let isPlanOpen = true;
const inert = new Inert(() => performance.now());

/** Show what goes on with the time: how long the turn lasts, and the seconds to the next attempt at the provider. */
function showTime(): void {
  const text = frame?.retryAt === undefined ? "" : waiting(frame.retryAt - Date.now());
  const line = retry.firstElementChild;
  if (line !== null && line.textContent !== text) line.textContent = text;
  retry.hidden = text === "";
  const state = frame === undefined ? "" : stateOf(frame);
  const lasted = frame?.began === undefined ? "" : ` · ${clock(Date.now() - frame.began)}`;
  if (doing.textContent !== state + lasted) doing.textContent = state + lasted;
}
setInterval(showTime, 1000);

function stateOf(now: Frame): string {
  if (now.server !== "running")
    return now.server === "starting" ? "the server is starting" : "the server is not running";
  if (now.away === "elsewhere" || now.away === "cut off") return AWAY[now.away];
  const where = now.away === undefined ? "" : JOINED;
  if (now.parked || now.open.length > 0) return `needs you${where}`;
  return now.running ? `running${where}` : "idle";
}

const JOINED = " · another window or editor runs this; buffers and edits stay there";

const AWAY = {
  elsewhere: "another window or editor runs this and cannot be reached; look on here, answer there",
  "cut off": "cut off in the middle; “Outrider: Resume…” goes on with it",
} as const;

function showFrame(now: Frame): void {
  const before = frame;
  frame = now;
  showTime();
  title.textContent = now.title || "Outrider";
  title.title = now.title;
  // In one line beside what it does; all of it where one asks.
  const { inputTokens = 0, outputTokens = 0, cost } = now.usage;
  const tokens = inputTokens + outputTokens;
  used.textContent = cost !== undefined ? `cost ${cost.toFixed(4)}` : tokens === 0 ? "" : `${short(tokens)} tokens`;
  used.title = spent(now.usage);
  showContext(now);
  facts.className = `facts ${now.open.length > 0 ? "waiting" : now.running ? "running" : ""}`;
  toolbar.hidden = now.title === "";
  showPlan(now);
  showOpen(now);
  broken.hidden = now.server !== "failed";
  lacking.hidden = !now.lacksModel;
  composer.show(now);
  showAbilities(now);
  const [first] = now.open;
  const asked = before?.open[0];
  if (first !== undefined && (asked?.id !== first.id || asked.title !== first.title))
    said.textContent = `Outrider needs you: ${first.title}`;
  else if (now.server === "failed" && before?.server !== "failed") said.textContent = "The server is not running.";
}

function showContext({ context }: Frame): void {
  meter.hidden = context === undefined;
  if (context === undefined) return;
  const percent = Math.min(100, Math.round((100 * context.tokens) / context.window));
  meter.value = percent;
  const text = `${String(percent)} % of the context window: ${short(context.tokens)} of ${short(context.window)} tokens`;
  meter.title = text;
  meter.textContent = text;
}

/** Offer what can be done about turns: nothing while one runs, and only what the server knows. */
function showAbilities({ can, running }: Frame): void {
  for (const one of ABILITIES) feed.element.classList.toggle(`can-${one}`, !running && can.includes(one));
}

function showPlan({ plan: items }: Frame): void {
  const known = plan.querySelector("details");
  if (known !== null) isPlanOpen = known.open;
  plan.hidden = items.length === 0;
  plan.replaceChildren(...(items.length === 0 ? [] : [planList(items, isPlanOpen)]));
}

function showOpen({ open: items }: Frame): void {
  const now = JSON.stringify(items);
  if (now === cards) return;
  cards = now;
  const hadFocus = open.contains(document.activeElement);
  for (const item of items) {
    const asks = asksOf(item);
    const before = [...open.querySelectorAll<HTMLElement>(".card")].find((element) =>
      (element.dataset["asks"] ?? "").split(" ").some((id) => asks.includes(id)),
    );
    // What is left of several edits moves to where another one was, under the pointer and the keyboard.
    if (before !== undefined && before.dataset["asks"] !== asks.join(" ")) replaceCard(before, card(item, send, inert));
  }
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
    const own = open.children[index];
    tell(own?.querySelector(":scope > .review"), item.review);
    for (const edit of item.edits) tell(own?.querySelector(`details[data-edit="${edit.id}"] > .review`), edit.review);
  }
  if (hadFocus && !open.contains(document.activeElement)) focusOpen();
}

function tell(element: Element | null | undefined, text: string): void {
  if (element != null && element.textContent !== text) element.textContent = text;
}

function focusOpen(): void {
  const target =
    open.querySelector<HTMLElement>(".card > .buttons button") ??
    open.querySelector<HTMLElement>("input") ??
    composer.text;
  target.focus();
}

/** What is shown one after the other: a long one takes its time. */
let showing = Promise.resolve();

function receive(message: ToView): void {
  switch (message.type) {
    case "state":
      showing = showing.then(() => {
        showFrame(message.frame);
        return feed.show(message);
      });
      break;
    case "sent":
      composer.done(message);
      break;
    case "resolved":
      places.resolved(message.exist, message.not);
      break;
    case "completed":
      composer.completed(message.id, message.found);
      break;
    case "draft":
      composer.draft(message.text);
      break;
    case "colours":
      for (const colour of Object.keys(SCOPES) as Colour[])
        document.documentElement.style.setProperty(`--code-${colour}`, message.colours[colour] ?? "");
      break;
    case "focus":
      if (message.what === "open" && frame !== undefined && frame.open.length > 0) focusOpen();
      else composer.focus();
      break;
  }
}

window.addEventListener("message", ({ data }: MessageEvent<ToView>) => {
  receive(data);
});

send({ type: "ready", ...(composer.underWay === undefined ? {} : { waitsFor: composer.underWay }) });
