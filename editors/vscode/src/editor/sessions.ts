/** The view of the workspace's sessions: found, opened, named, copied and deleted. */

import * as vscode from "vscode";

import { byDay, type DayLine, type SessionLine, sessionLine } from "../core/sessions.js";
import { messageOf, oneLine } from "../core/words.js";
import type { SessionSummary } from "../protocol/types.js";
import { openSession } from "./history.js";
import { type CommandTable, type House, LAST_SESSION } from "./house.js";

export const SESSIONS_VIEW = "outrider.sessions";
const FLAT = "outrider.sessionsFlat";
/** Of what another process does in a session nobody tells. */
const AGAIN_MILLISECONDS = 3000;
const NAME_COLUMNS = 60;

type Line = DayLine | SessionLine;

export class SessionsView implements vscode.TreeDataProvider<Line>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly tree: vscode.TreeView<Line>;
  private sessions: readonly SessionSummary[] = [];
  private query = "";
  /** What this window knew of its sessions when the list was read last. */
  private known = "";
  private shown = "";
  private again: NodeJS.Timeout | undefined;
  private isLooking = false;
  private isStale = false;

  constructor(private readonly house: House) {
    this.tree = vscode.window.createTreeView(SESSIONS_VIEW, { treeDataProvider: this, canSelectMany: true });
    this.tree.onDidChangeVisibility(() => {
      this.look();
    });
    void vscode.commands.executeCommand("setContext", FLAT, this.isFlat);
  }

  /** Whether the sessions are listed one after the other, and not by day. */
  get isFlat(): boolean {
    return this.house.context.globalState.get(FLAT, false);
  }

  /** The sessions that a command is about: those of the lines it was given on or that are chosen, else the one that is looked at. */
  async meant(line: unknown, lines?: unknown): Promise<SessionSummary[]> {
    const given = line === "selected" ? this.tree.selection : Array.isArray(lines) ? (lines as unknown[]) : [line];
    const found = given.filter(isSessionLine).map(({ session }) => session);
    if (found.length > 0 || line !== undefined) return found;
    const current = this.house.book.current?.sessionId;
    const { sessions } = await this.house.connection.execute("outrider.sessions", {});
    return sessions.filter(({ sessionId }) => sessionId === current);
  }

  /** Something happened in this window: read the list again, if somebody sees it and it may look otherwise. */
  update(): void {
    const { book } = this.house;
    const known = [
      book.current?.sessionId,
      ...book.all.map(({ sessionId, title, running, away, open }) =>
        [sessionId, title, running?.turnId, away, open.size].join(),
      ),
    ].join("\n");
    if (known === this.known) return;
    this.known = known;
    this.look();
  }

  /** Show how it is now, if somebody sees it. */
  look(): void {
    clearTimeout(this.again);
    this.isStale = this.isLooking;
    if (!this.tree.visible || this.isLooking) return;
    this.isLooking = true;
    void this.ask().finally(() => {
      this.isLooking = false;
      if (this.isStale) this.look();
      // What was searched for is searched in all texts, so only at what happens here.
      else if (this.tree.visible && this.query === "")
        this.again = setTimeout(() => {
          this.look();
        }, AGAIN_MILLISECONDS);
    });
  }

  /** List only the sessions in which a text has these words; all of them with none. */
  find(query: string): void {
    this.query = query.trim();
    void vscode.commands.executeCommand("setContext", "outrider.sessionsFound", this.query !== "");
    this.look();
  }

  /** Ask for the words, and list the sessions that have them. */
  async askAndFind(): Promise<void> {
    const query = await vscode.window.showInputBox({
      title: "Outrider: find sessions",
      prompt: "All these words in one text: a name, a task, an answer",
      value: this.query,
    });
    if (query === undefined) return;
    await vscode.commands.executeCommand(`${SESSIONS_VIEW}.focus`);
    this.find(query);
  }

  /** List by day, or one after the other. */
  async setFlat(isFlat: boolean): Promise<void> {
    await this.house.context.globalState.update(FLAT, isFlat);
    await vscode.commands.executeCommand("setContext", FLAT, isFlat);
    this.changed.fire(undefined);
  }

  getTreeItem(line: Line): vscode.TreeItem {
    if (line.kind === "day") {
      const day = new vscode.TreeItem(line.label, vscode.TreeItemCollapsibleState.Expanded);
      day.id = `day:${line.label}`;
      day.description = String(line.lines.length);
      return day;
    }
    const item = new vscode.TreeItem(line.label);
    item.id = line.session.sessionId;
    item.description = line.description;
    item.iconPath = new vscode.ThemeIcon(line.icon);
    item.tooltip = line.more.join("\n");
    item.contextValue = line.can.map((one) => `[${one}]`).join("");
    item.accessibilityInformation = { label: `${line.label}, ${line.said}` };
    item.command = { command: "outrider.client.openSession", title: "Open", arguments: [line] };
    return item;
  }

  getChildren(line?: Line): Line[] {
    if (line !== undefined) return line.kind === "day" ? [...line.lines] : [];
    const listing = { now: Date.now(), current: this.house.book.current?.sessionId };
    return this.isFlat ? this.sessions.map((one) => sessionLine(one, listing)) : byDay(this.sessions, listing);
  }

  dispose(): void {
    clearTimeout(this.again);
    this.tree.dispose();
    this.changed.dispose();
  }

  private async ask(): Promise<void> {
    const { connection } = this.house;
    const query = this.query;
    if (connection.state !== "running") {
      this.show([], "The server does not run.");
      return;
    }
    try {
      const { sessions } = await connection.execute("outrider.sessions", query === "" ? {} : { query });
      if (query !== this.query) this.isStale = true;
      else if (query === "")
        this.show(sessions, sessions.length > 0 ? "" : "There is no session in this workspace yet.");
      else this.show(sessions, `${sessions.length > 0 ? "Sessions" : "No session"} with “${oneLine(query, 80)}”`);
    } catch (error) {
      this.show([], `They cannot be shown: ${messageOf(error)}`);
    }
  }

  private show(sessions: readonly SessionSummary[], message: string): void {
    this.sessions = sessions;
    const day = new Date().toDateString();
    const shown = JSON.stringify([sessions, message, this.house.book.current?.sessionId, day]);
    // Drawn anew a list loses what the pointer is at.
    if (shown === this.shown) return;
    this.shown = shown;
    this.tree.message = message;
    this.changed.fire(undefined);
  }
}

export function sessionsCommands(house: House, view: SessionsView): CommandTable {
  const withSome =
    (act: (sessions: readonly [SessionSummary, ...SessionSummary[]]) => Promise<void>) =>
    async (line: unknown, lines: unknown) => {
      const [first, ...more] = await view.meant(line, lines);
      if (first === undefined) void vscode.window.showInformationMessage("Outrider: choose a session first.");
      else
        await act([first, ...more]).finally(() => {
          view.look();
        });
    };
  return {
    showSessions: () => vscode.commands.executeCommand(`${SESSIONS_VIEW}.focus`),
    findSessions: () => view.askAndFind(),
    allSessions: () => {
      view.find("");
    },
    sessionsFlat: () => view.setFlat(true),
    sessionsByDay: () => view.setFlat(false),
    lookForSessions: () => {
      view.look();
    },
    openSession: withSome(([session]) => openSession(house, session, false)),
    resumeSession: withSome(([session]) => openSession(house, session, true)),
    renameSession: withSome(([session]) => rename(house, session)),
    forkSession: withSome(([session]) => fork(house, session)),
    deleteSession: withSome((sessions) => remove(house, sessions)),
  };
}

async function rename({ connection }: House, { sessionId, title }: SessionSummary): Promise<void> {
  const name = await vscode.window.showInputBox({
    title: "Outrider: name of the session",
    value: title,
    validateInput: (text) => (text.trim() === "" ? "A name has at least one letter." : undefined),
  });
  if (name === undefined || name.trim() === title) return;
  await connection.execute("outrider.rename", { sessionId, title: name.trim() });
}

/** Begin a copy of a session, and show it. */
async function fork({ connection, book, view }: House, { sessionId }: SessionSummary): Promise<void> {
  const copy = await connection.execute("outrider.fork", { sessionId });
  book.select(copy.sessionId);
  await book.load(copy.sessionId);
  await view.show("composer");
}

/** Delete sessions for good, if the user says so. */
async function remove(house: House, sessions: readonly [SessionSummary, ...SessionSummary[]]): Promise<void> {
  const { book, connection, context } = house;
  const [first] = sessions;
  const what =
    sessions.length === 1
      ? `the session “${oneLine(first.title || first.sessionId, NAME_COLUMNS)}”`
      : `these ${String(sessions.length)} sessions`;
  const detail =
    "Its record is gone for good, and nothing that it changed can be undone any more. Files stay as they are.";
  const yes = "Delete";
  const chosen = await vscode.window.showWarningMessage(`Delete ${what}?`, { modal: true, detail }, yes);
  if (chosen !== yes) return;
  for (const { sessionId } of sessions) {
    // What it asks here is asked no more; the turn has ended when that is answered.
    const waiting = book.get(sessionId)?.runningHere;
    if (waiting !== undefined)
      await connection.execute("outrider.cancel", { turnId: waiting.turnId, reason: "its session is deleted" });
    await connection.execute("outrider.delete", { sessionId });
    book.forget(sessionId);
    if (context.workspaceState.get(LAST_SESSION) === sessionId)
      await context.workspaceState.update(LAST_SESSION, undefined);
    house.update();
  }
}

function isSessionLine(line: unknown): line is SessionLine {
  return typeof line === "object" && line !== null && "kind" in line && line.kind === "session";
}
