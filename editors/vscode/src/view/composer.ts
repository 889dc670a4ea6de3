/** Where a task is written: with completion of `@` and `/`, recall of what was sent before, and what waits above it. */

import type { Completion, Frame, FromView, ViewCommand } from "../core/messages.js";
import { type Kept, type Outcome, Sending } from "../core/sending.js";
import { shortModel } from "../core/status.js";
import { visible } from "../core/visible.js";
import { oneLine, type Mode } from "../core/words.js";
import { button, h } from "./dom.js";
import { Popup, wordBefore } from "./popup.js";

const MODES: readonly Mode[] = ["agent", "plan", "explore"];
/** How many texts that were sent can be recalled. */
const RECALLED = 50;

/** What `/` offers: a mode for the task, or a command of the view. */
const COMMANDS: readonly (readonly [string, string, Mode | ViewCommand])[] = [
  ["agent", "Give a task that may change things", "agent"],
  ["plan", "Have a plan made; nothing is changed", "plan"],
  ["explore", "Ask a question; nothing is changed", "explore"],
  ["new", "Begin a new session", "newSession"],
  ["sessions", "Look at another session", "sessions"],
  ["model", "Choose the model", "chooseModel"],
  ["permissions", "Show what is allowed without asking", "permissions"],
  ["mode", "Choose what is allowed without asking", "choosePermissionMode"],
  ["changes", "Review what this session changed", "reviewChanges"],
  ["undo", "Take back what the last turn changed", "undo"],
  ["redo", "Do again what was undone", "redo"],
  ["doctor", "Check the set-up", "doctor"],
];

export class Composer {
  readonly element: HTMLElement;
  readonly text = h("textarea", {
    id: "task",
    rows: 2,
    dir: "auto",
    "aria-autocomplete": "list",
    "aria-haspopup": "listbox",
    "aria-controls": "completions",
    "aria-label": "Task",
  });
  private readonly mode = h(
    "select",
    { "aria-label": "Mode", title: "Plan and Explore change nothing" },
    h("option", { value: "agent" }, "Agent"),
    h("option", { value: "plan" }, "Plan"),
    h("option", { value: "explore" }, "Explore"),
  );
  private readonly give: HTMLButtonElement;
  private readonly after: HTMLButtonElement;
  private readonly stop: HTMLButtonElement;
  private readonly model: HTMLButtonElement;
  private readonly permission: HTMLButtonElement;
  private readonly problem = h("p", { class: "problem", role: "alert" });
  private readonly waiting = h("ol", { class: "waiting-list", "aria-label": "What waits" });
  private readonly chips = h("div", { class: "chips" });
  private readonly popup: Popup;
  private readonly sending: Sending;
  private frame: Frame | undefined;
  private isAlong = true;
  /** The turn whose task is being written anew. */
  private instead: string | undefined;
  private recalled: string[];
  /** Where among the recalled texts one is; undefined while a new one is written. */
  private at: number | undefined;
  private asked = 0;
  /** What the view itself offers for the word before the cursor. */
  private offered: readonly Completion[] = [];

  /** @param sent told when a text is on its way */
  constructor(
    private readonly send: (message: FromView) => void,
    private readonly keep: (kept: Kept) => void,
    private readonly sent: () => void,
    kept: Kept,
  ) {
    this.sending = new Sending(kept.underWay);
    this.recalled = [...kept.recalled];
    this.text.value = kept.draft;
    const command = (name: ViewCommand) => (): void => {
      this.send({ type: "command", command: name });
    };
    this.give = button(
      "Send",
      () => {
        this.submit("now");
      },
      { class: "primary" },
    );
    this.after = button(
      "Queue",
      () => {
        this.submit("after");
      },
      {
        class: "secondary",
        title: "Have it done when the running turn has ended (Alt+Enter)",
      },
    );
    this.stop = button(
      "■",
      () => {
        this.send({ type: "cancel" });
      },
      { class: "secondary", title: "Stop: end the running turn", "aria-label": "Stop" },
    );
    this.model = button("", command("chooseModel"), { class: "link", title: "Choose the model" });
    this.permission = button("", command("choosePermissionMode"), {
      class: "link",
      title: "Choose what Outrider may do without asking",
    });
    this.popup = new Popup(this.text, (chosen) => {
      this.complete(chosen);
    });
    this.element = h(
      "form",
      {
        class: "composer",
        "aria-label": "Give a task",
        on: {
          submit: (event) => {
            event.preventDefault();
            this.submit("now");
          },
        },
      },
      this.waiting,
      this.chips,
      h("div", { class: "box" }, this.popup.element, this.text),
      this.problem,
      h(
        "div",
        { class: "row" },
        this.mode,
        this.model,
        this.permission,
        h("span", { class: "gap" }),
        this.stop,
        this.after,
        this.give,
      ),
    );
    this.text.addEventListener("keydown", (event) => {
      this.key(event);
    });
    this.text.addEventListener("input", () => {
      this.at = undefined;
      this.remember();
      this.look();
    });
    this.text.addEventListener("blur", () => {
      this.popup.hide();
    });
    this.text.addEventListener("paste", (event) => {
      this.take(event, event.clipboardData);
    });
    for (const type of ["dragover", "drop"] as const)
      this.element.addEventListener(type, (event) => {
        event.preventDefault();
        if (type === "drop") this.take(event, event.dataTransfer);
      });
  }

  get underWay(): string | undefined {
    return this.sending.underWay?.id;
  }

  focus(): void {
    this.text.focus();
  }

  /** Put a text behind what is written. */
  draft(text: string): void {
    const { value } = this.text;
    this.text.value = value === "" || /\s$/.test(value) ? value + text : `${value} ${text}`;
    this.remember();
    this.focus();
  }

  /** Write the task of a turn anew, which then takes its place. */
  edit(turn: string, text: string): void {
    this.instead = turn;
    this.text.value = text;
    this.remember();
    this.showChips();
    this.focus();
  }

  show(frame: Frame): void {
    const before = this.frame;
    this.frame = frame;
    const steering = frame.running;
    const sends = frame.enterSends ? "Enter sends" : "Ctrl+Enter sends";
    this.text.placeholder = steering
      ? `Say something to the running turn${frame.away === "joined" ? " of another window or editor" : ""}. ${sends}`
      : frame.away === "elsewhere"
        ? `A task for a session of this window. ${sends}`
        : `Give a task. @ names files, / lists commands. ${sends}`;
    this.text.setAttribute("aria-label", steering ? "Say something to the running turn" : "Task");
    this.mode.hidden = steering;
    this.stop.hidden = !steering;
    this.after.hidden = !steering;
    this.model.textContent = frame.model === "" ? "choose a model" : shortModel(frame.model);
    this.model.title = `${frame.model} (choose another)`;
    this.model.setAttribute("aria-label", `Model: ${this.model.textContent}`);
    this.permission.textContent = frame.permissionMode;
    this.permission.setAttribute("aria-label", `Permission mode: ${frame.permissionMode}`);
    if (before?.along !== frame.along) this.isAlong = true;
    // What kept the text here is mended.
    if (before?.lacksModel === true && !frame.lacksModel) this.problem.textContent = "";
    this.showChips();
    this.showWaiting(frame);
    this.showSending();
  }

  /** Take what became of a text. */
  done(outcome: Outcome): void {
    const left = this.sending.end(outcome, this.text.value);
    if (left === undefined) return;
    this.text.value = left;
    this.remember();
    this.problem.textContent = outcome.problem ?? "";
    this.showSending();
  }

  /** Offer what a word may become. */
  completed(id: number, found: readonly Completion[]): void {
    if (id === this.asked) this.popup.show([...this.offered, ...found]);
  }

  private submit(how: "now" | "after"): void {
    const id = crypto.randomUUID();
    const value = this.sending.begin(id, this.text.value);
    if (value === undefined) return;
    this.recalled = [...this.recalled.filter((one) => one !== value), value].slice(-RECALLED);
    this.at = undefined;
    const along = this.isAlong && this.frame?.running !== true;
    const instead = this.instead === undefined ? {} : { instead: this.instead };
    this.instead = undefined;
    this.remember();
    this.problem.textContent = "";
    this.popup.hide();
    this.send({ type: "send", id, text: value, mode: this.mode.value as Mode, how, along, ...instead });
    this.showChips();
    this.showSending();
    this.sent();
  }

  /** Keep what is written, and what is under way, for when the view is hidden and shown again. */
  private remember(): void {
    this.keep({ draft: this.text.value, underWay: this.sending.underWay, recalled: this.recalled });
  }

  private showSending(): void {
    const isUnderWay = this.sending.underWay !== undefined;
    this.give.textContent = isUnderWay ? "Sending…" : this.frame?.running === true ? "Steer" : "Send";
    this.give.setAttribute("aria-disabled", String(isUnderWay));
    // One primary button at a time: what is asked goes first.
    const isAskedElse = (this.frame?.open.length ?? 0) > 0 || this.frame?.lacksModel === true;
    this.give.className = isAskedElse ? "secondary" : "primary";
  }

  private showChips(): void {
    const along = this.frame?.running === true ? "" : (this.frame?.along ?? "");
    const chip = (label: string, title: string, remove: () => void): HTMLElement =>
      h(
        "span",
        { class: "chip", title },
        h("span", { class: "name" }, label),
        button("×", remove, { class: "quiet", "aria-label": `Leave out ${label}` }),
      );
    const shown: HTMLElement[] = [];
    if (this.instead !== undefined)
      shown.push(
        chip("Takes the place of an earlier task", "What came after it is taken back", () => {
          this.instead = undefined;
          this.showChips();
        }),
      );
    if (along !== "" && this.isAlong)
      shown.push(
        chip(along, "Goes along with the task", () => {
          this.isAlong = false;
          this.showChips();
        }),
      );
    this.chips.replaceChildren(...shown);
    this.chips.hidden = shown.length === 0;
  }

  private showWaiting({ waiting, can }: Frame): void {
    this.waiting.hidden = waiting.length === 0;
    const tasks = waiting.filter(({ kind }) => kind === "task");
    this.waiting.replaceChildren(
      ...waiting.map(({ id, kind, text }) => {
        const act = (action: "move" | "remove" | "steer", to?: number) => (): void => {
          this.send({ type: "queue", action, item: id, ...(to === undefined ? {} : { to }) });
        };
        const said = visible(oneLine(text, 60));
        const at = tasks.findIndex((one) => one.id === id);
        const canChange = can.includes("queue");
        const edit = (): void => {
          act("remove")();
          this.draft(text);
        };
        const does = (label: string, title: string, action: () => void): HTMLElement =>
          button(label, action, { class: "quiet", title, "aria-label": `${title}: ${said}` });
        return h(
          "li",
          {},
          h("span", { class: "quiet" }, kind === "steering" ? "next" : "queued"),
          h("span", { class: "about", title: visible(text), dir: "auto" }, said),
          ...(kind === "steering" || canChange ? [does("✎", "Edit", edit), does("×", "Remove", act("remove"))] : []),
          ...(kind === "task" && canChange && at > 0 ? [does("↑", "Move up", act("move", at - 1))] : []),
          ...(kind === "task" && canChange ? [does("Steer", "Steer the running turn with it", act("steer"))] : []),
        );
      }),
    );
  }

  private key(event: KeyboardEvent): void {
    if (event.isComposing) return;
    if (this.popup.key(event)) {
      if (event.key === "Escape") this.asked += 1; // what comes now opens it no more
      return;
    }
    const { value, selectionStart, selectionEnd } = this.text;
    if (event.key === "Enter") {
      const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
      if (event.shiftKey || (isPlain && this.frame?.enterSends === false)) return;
      event.preventDefault();
      // A key that is held down sends once.
      if (!event.repeat) this.submit(event.altKey && this.frame?.running === true ? "after" : "now");
      return;
    }
    const isRecalling = this.at !== undefined;
    const step = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" && isRecalling ? 1 : 0;
    if (step === 0 || selectionStart !== selectionEnd || (value !== "" && !isRecalling)) return;
    const at = (this.at ?? this.recalled.length) + step;
    if (at < 0) return;
    event.preventDefault();
    this.at = at < this.recalled.length ? at : undefined;
    this.text.value = this.recalled[at] ?? "";
    this.remember();
  }

  /** Ask what the word before the cursor may become. */
  private look(): void {
    const word = wordBefore(this.text.value, this.text.selectionStart);
    this.asked += 1;
    if (word === undefined) {
      this.popup.hide();
      return;
    }
    const { sign, query } = word;
    const named = sign === "/" ? COMMANDS.filter(([name]) => name.startsWith(query)) : [];
    this.offered = named.map(([name, detail]) => ({ kind: "command", label: `/${name}`, detail, text: name }));
    if (sign === "/") this.popup.show(this.offered);
    this.send({ type: "complete", id: this.asked, sign, query });
  }

  private complete({ kind, text }: Completion): void {
    const word = wordBefore(this.text.value, this.text.selectionStart);
    if (word === undefined) return;
    const { value, selectionStart } = this.text;
    const put = kind === "command" ? "" : kind === "folder" ? text : `${text} `;
    this.text.value = value.slice(0, word.start) + put + value.slice(selectionStart);
    this.text.selectionStart = this.text.selectionEnd = word.start + put.length;
    this.remember();
    if (kind === "folder") this.look();
    const [, , does] = (kind === "command" && COMMANDS.find(([name]) => name === text)) || [];
    if (does === undefined) return;
    if (MODES.includes(does as Mode)) this.mode.value = does;
    else this.send({ type: "command", command: does as ViewCommand });
  }

  /** Name the files that are pasted or dropped. */
  private take(event: Event, data: DataTransfer | null): void {
    const uris = (data?.getData("application/vnd.code.uri-list") || data?.getData("text/uri-list") || "")
      .split(/\r?\n/)
      .filter((one) => one.startsWith("file:") || one.startsWith("vscode-remote:"));
    if (uris.length > 0) {
      event.preventDefault();
      this.send({ type: "name", uris: uris.slice(0, 20) });
      return;
    }
    const isPicture = [...(data?.files ?? [])].length > 0;
    if (!isPicture) return;
    event.preventDefault();
    this.problem.textContent =
      "Save the file in the workspace, and name it with @: the model is only given files of the workspace.";
  }
}
