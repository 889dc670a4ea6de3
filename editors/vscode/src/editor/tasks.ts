/** Commands that give tasks, steer them and end them. */

import * as vscode from "vscode";

import { type Mode, mendingTask, messageOf, oneLine } from "../core/words.js";
import type { Context } from "../protocol/types.js";
import type { SessionState } from "../core/session.js";
import { CommandFailure } from "./connection.js";
import { type CommandTable, type House, LAST_SESSION } from "./house.js";
import { chosenModel } from "./models.js";
import { pathOf } from "./places.js";
import { withModel } from "./setup.js";

/** Files whose problems go along with a task. */
const MOST_FILES = 50;

interface Task {
  readonly prompt: string;
  readonly mode: Mode;
  readonly context?: Context;
  /** Commands that show that it is done. */
  readonly acceptance?: readonly string[];
}

/** Name files and folders in the task that is being written: those that a menu was opened on, else what is open. */
async function addToTask(house: House, uri: unknown, all: unknown): Promise<void> {
  const many = Array.isArray(all) ? (all as unknown[]) : [];
  const chosen = (many.length > 0 ? many : [uri]).filter((one): one is vscode.Uri => one instanceof vscode.Uri);
  const open = vscode.window.activeTextEditor?.document.uri;
  const uris = chosen.length > 0 ? chosen : open === undefined ? [] : [open];
  const paths = uris.flatMap((one) => pathOf(one) ?? []);
  if (paths.length === 0) {
    void vscode.window.showInformationMessage("Outrider: only files of the workspace can be named.");
    return;
  }
  house.view.draft(paths.map((path) => `@${path} `).join(""));
  await house.view.show("composer");
}

/** Give a task to the session that is looked at, or to a new one, and show it. */
export async function run(house: House, task: Task): Promise<void> {
  const { book, connection, view } = house;
  if (connection.isOutdated && !book.isAtWork) await connection.restart();
  const model = chosenModel(house);
  // What was joined takes it, behind its running turn; what cannot be reached does not.
  const isOutOfReach = book.current?.away === "elsewhere" && book.current.running !== undefined;
  const session = isOutOfReach ? undefined : book.current;
  const given = {
    prompt: task.prompt,
    mode: task.mode,
    ...(task.context === undefined ? {} : { context: task.context }),
    ...(task.acceptance === undefined ? {} : { acceptance: [...task.acceptance] }),
    ...(session === undefined ? {} : { sessionId: session.sessionId }),
    ...(model === undefined ? {} : { model }),
  };
  try {
    const { sessionId } = await connection.execute("outrider.run", given);
    book.select(sessionId);
  } catch (error) {
    // Another window took the session over, or its log is gone: the task is worth a new one.
    if (
      !(error instanceof CommandFailure) ||
      session === undefined ||
      !["session_in_use", "unknown_id"].includes(error.reason)
    )
      throw error;
    const { sessionId: _, ...fresh } = given as typeof given & { sessionId?: string };
    const { sessionId } = await connection.execute("outrider.run", fresh);
    book.select(sessionId);
  }
  await view.show();
}

/** Give a task in the place of an earlier one: what came after that is taken back, files too. */
export async function resend(house: House, turnId: string, task: Task): Promise<void> {
  const sessionId = house.book.current?.sessionId;
  if (sessionId === undefined) return;
  const model = chosenModel(house);
  await house.connection.execute("outrider.resend", {
    sessionId,
    turnId,
    prompt: task.prompt,
    mode: task.mode,
    files: true,
    ...withContext(task.context),
    ...(model === undefined ? {} : { model }),
  });
}

/** Go on where a turn stopped. One that ended by itself with a failed check is over: another one corrects what failed. */
export async function goOn(house: House, turnId: string): Promise<void> {
  const sessionId = house.book.current?.sessionId;
  const end = house.book.current?.entry(`end:${turnId}`);
  if (end?.kind === "end" && end.mark === "check_failed") {
    const task: Task = { prompt: mendingTask(end.failed), mode: "agent", acceptance: end.failed };
    await withModel(house, () => run(house, task));
    return;
  }
  if (sessionId !== undefined)
    await withModel(house, () => house.connection.execute("outrider.continue", { sessionId }));
}

/** Give the task of a turn that failed once more. */
export async function again(house: House, turnId: string): Promise<void> {
  await withModel(house, () => house.connection.execute("outrider.retry", { turnId }));
}

/** Go back to before a task, with the files, and have the task written anew. */
export async function restore(house: House, turnId: string): Promise<string | undefined> {
  const sessionId = house.book.current?.sessionId;
  if (sessionId === undefined) return undefined;
  const yes = "Restore";
  const said = "Go back to before this task? What Outrider changed since is undone; what you changed stays.";
  if ((await vscode.window.showWarningMessage(said, { modal: true }, yes)) !== yes) return undefined;
  const { prompt } = await house.connection.execute("outrider.restore", {
    sessionId,
    turnId,
    files: true,
    conversation: true,
  });
  return prompt;
}

/** Change what waits for the running turn, or for its next request. */
export async function changeWaiting(
  house: House,
  action: "edit" | "move" | "remove" | "steer",
  id: string,
  to: number | undefined,
): Promise<void> {
  const session = house.book.current;
  const waiting = session?.waiting.find((one) => one.id === id);
  if (session === undefined || waiting === undefined) return;
  const { sessionId } = session;
  if (waiting.kind === "steering" && action === "remove")
    await house.connection.execute("outrider.steer", { sessionId, remove: id });
  else await house.connection.execute("outrider.queue", { sessionId, id, action, ...(to === undefined ? {} : { to }) });
}

/** What of the editor goes along with a task, in words. */
export function alongText(): string {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined || !isKnown(editor.document)) return "";
  const name = vscode.workspace.asRelativePath(editor.document.uri).split("/").at(-1) ?? "";
  const { selection } = editor;
  if (selection.isEmpty) return name;
  const [first, last] = [selection.start.line + 1, selection.end.line + 1];
  return first === last ? `${name}:${String(first)}` : `${name}:${String(first)}-${String(last)}`;
}

/** What goes along with a task of the view: what is open, and the problems where the task names them. */
export async function alongContext(house: House, prompt: string, isAlong: boolean): Promise<Context | undefined> {
  const open = isAlong ? documentContext() : undefined;
  if (!/(^|\s)@problems(\s|$)/.test(prompt)) return open;
  const all = vscode.languages.getDiagnostics().filter(([uri, items]) => uri.scheme === "file" && items.length > 0);
  const diagnostics = await Promise.all(
    all.slice(0, MOST_FILES).map(async ([uri, items]) => ({
      uri: uri.toString(),
      items: await house.connection.diagnostics(items),
    })),
  );
  return { ...open, ...(diagnostics.length === 0 ? {} : { diagnostics }) };
}

/** Say something to the running turn of a session. */
export async function steer(house: House, session: SessionState, text: string): Promise<void> {
  await house.connection.execute("outrider.steer", { sessionId: session.sessionId, text });
}

/** End the turn that is running, or waits for the user. */
export async function cancel(house: House): Promise<void> {
  const running = house.book.running?.runningHere;
  if (running === undefined) nothingRuns();
  else await house.connection.execute("outrider.cancel", { turnId: running.turnId, reason: "cancelled in the editor" });
}

/** Have the turn that waits for its next attempt at a provider make it at once. */
export async function retryNow(house: House): Promise<void> {
  const sessions = [house.book.current, ...house.book.all];
  const session = sessions.find((one) => one?.retrying(Date.now()) !== undefined);
  const retrying = session?.retrying(Date.now());
  if (session === undefined || retrying === undefined) {
    void vscode.window.showInformationMessage("Outrider: no turn waits for its next attempt at a provider.");
    return;
  }
  await house.connection.execute("outrider.retry", { turnId: retrying.turnId });
  session.attempted();
  house.update();
}

export function taskCommands(house: House): CommandTable {
  const ask = (title: string, mode: Mode, context?: Context): Promise<void> =>
    given(house, { title, prompt: "What is to be done?" }, (prompt) =>
      run(house, { prompt, mode, ...withContext(context) }),
    );
  return {
    runTask: () => ask("Outrider: a task", "agent", documentContext()),
    runOnSelection: () => ask("Outrider: a task for the selection", "agent", selectionContext()),
    askHere: () => askHere(house),
    explore: () => ask("Outrider: a question (nothing is changed)", "explore", documentContext()),
    plan: () => ask("Outrider: a plan for… (nothing is changed)", "plan", documentContext()),
    startPlan: () => startPlan(house),
    explain: async () => {
      const editor = vscode.window.activeTextEditor;
      if (editor === undefined) {
        nothingOpen();
        return;
      }
      const path = vscode.workspace.asRelativePath(editor.document.uri);
      const what = editor.selection.isEmpty
        ? `what ${path} does at line ${String(editor.selection.active.line + 1)}`
        : `the selected text of ${path}`;
      const task: Task = { prompt: `Explain ${what}.`, mode: "explore", ...withContext(selectionContext()) };
      await withModel(house, () => run(house, task));
    },
    fixProblems: () => fixProblems(house),
    steer: async () => {
      const session = house.book.running;
      if (session === undefined) nothingRuns();
      else {
        const title = `Outrider: say something to the running turn of “${oneLine(session.title, 60)}”`;
        await given(house, { title }, (text) => steer(house, session, text));
      }
    },
    addToTask: (uri, all) => addToTask(house, uri, all),
    cancel: () => cancel(house),
    retryNow: () => retryNow(house),
    newSession: async () => {
      house.book.select(undefined);
      house.update();
      await house.context.workspaceState.update(LAST_SESSION, undefined);
      await house.view.show("composer");
    },
  };
}

/** Have a task written for the lines that are chosen, with the keyboard there again, where the proposal will stand. */
async function askHere(house: House): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const context = selectionContext();
  if (editor === undefined || context === undefined) {
    nothingOpen();
    return;
  }
  const { document, selection } = editor;
  const options = { title: `Outrider: ${alongText()}`, prompt: "What is to be done here?" };
  await given(house, options, async (prompt) => {
    house.proposals.await(document.uri);
    await run(house, { prompt, mode: "agent", context });
    await vscode.window.showTextDocument(document, { selection });
  });
}

/** Carry out the plan that is open, or one that is chosen. */
async function startPlan(house: House): Promise<void> {
  const uri = await planToStart();
  if (uri === undefined) return;
  const model = chosenModel(house);
  const given = { uri: uri.toString(), ...(model === undefined ? {} : { model }) };
  await withModel(house, async () => {
    const { sessionId } = await house.connection.execute("outrider.plan", given);
    house.book.select(sessionId);
    await house.view.show();
  });
}

async function planToStart(): Promise<vscode.Uri | undefined> {
  const open = vscode.window.activeTextEditor?.document.uri;
  if (open?.path.includes("/.outrider/plans/") === true && open.path.endsWith(".md")) return open;
  const found = (await Promise.all((vscode.workspace.workspaceFolders ?? []).map(plansOf))).flat();
  if (found.length === 0) {
    void vscode.window.showInformationMessage(
      "Outrider: there is no plan yet. “Outrider: Plan… (Read-Only)” makes one.",
    );
    return undefined;
  }
  const items = found.map((uri) => ({ label: vscode.workspace.asRelativePath(uri), uri }));
  const chosen = await vscode.window.showQuickPick(items, { title: "Outrider: start a plan" });
  return chosen?.uri;
}

/** The plan documents of a workspace folder. Listed, not searched for: git ignores their folder. */
async function plansOf({ uri }: vscode.WorkspaceFolder): Promise<vscode.Uri[]> {
  const plans = vscode.Uri.joinPath(uri, ".outrider/plans");
  const names = await vscode.workspace.fs.readDirectory(plans).then(
    (entries) => entries.map(([name]) => name),
    () => [], // there is no such folder yet
  );
  return names.filter((name) => name.endsWith(".md")).map((name) => vscode.Uri.joinPath(plans, name));
}

/** Have a text written and sent; where it is refused it can be sent once more, and nobody has to write it again. */
async function given(
  house: House,
  options: vscode.InputBoxOptions,
  send: (text: string) => Promise<void>,
): Promise<void> {
  const text = await vscode.window.showInputBox({ ...options, ignoreFocusOut: true });
  if (!text?.trim()) return;
  try {
    // Who does not come to a model finds what they wrote in the view.
    await withModel(
      house,
      () => send(text.trim()),
      () => {
        house.view.draft(text.trim());
        void house.view.show("composer");
      },
    );
  } catch (error) {
    house.log.error(messageOf(error));
    const again = "Try Again";
    const chosen = await vscode.window.showErrorMessage(`Outrider: ${messageOf(error)}`, again);
    if (chosen === again) await given(house, { ...options, value: text }, send);
  }
}

async function fixProblems(house: House): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) {
    nothingOpen();
    return;
  }
  const { document, selection } = editor;
  const all = vscode.languages.getDiagnostics(document.uri);
  const here = all.filter(
    ({ range }) => range.start.line <= selection.end.line && range.end.line >= selection.start.line,
  );
  const items = here.length > 0 ? here : all;
  if (items.length === 0) {
    void vscode.window.showInformationMessage("Outrider: the editor shows no problems in this file.");
    return;
  }
  const path = vscode.workspace.asRelativePath(document.uri);
  const [first] = items;
  const prompt =
    items.length === 1
      ? `Fix this problem in ${path}: ${first?.message ?? ""}`
      : `Fix these ${String(items.length)} problems in ${path}.`;
  const diagnostics = [{ uri: document.uri.toString(), items: await house.connection.diagnostics(items) }];
  const context = { ...selectionContext(), diagnostics };
  await withModel(house, () => run(house, { prompt: oneLine(prompt, 2000), mode: "agent", context }));
}

function nothingRuns(): void {
  void vscode.window.showInformationMessage("Outrider: nothing is running.");
}

function nothingOpen(): void {
  void vscode.window.showInformationMessage("Outrider: open a file first.");
}

function withContext(context: Context | undefined): { context?: Context } {
  return context === undefined ? {} : { context };
}

function selectionContext(): Context | undefined {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined || !isKnown(editor.document)) return undefined;
  const { start, end } = editor.selection;
  const place = ({ line, character }: vscode.Position): { line: number; character: number } => ({ line, character });
  return { selection: { uri: editor.document.uri.toString(), range: { start: place(start), end: place(end) } } };
}

/** The selection, if there is one, and what else is open to be seen. */
function documentContext(): Context | undefined {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined || !isKnown(editor.document)) return undefined;
  return editor.selection.isEmpty ? { documents: [editor.document.uri.toString()] } : selectionContext();
}

function isKnown(document: vscode.TextDocument): boolean {
  return document.uri.scheme === "file" || document.uri.scheme === "untitled";
}
