/** Commands about what was done: undo, redo, review, sessions. */

import * as vscode from "vscode";

import { withoutHunks } from "../core/hunks.js";
import { byFile } from "../core/changes.js";
import type { Away } from "../core/session.js";
import { byDay } from "../core/sessions.js";
import { oneLine } from "../core/words.js";
import type { SessionSummary, UndoResult } from "../protocol/types.js";
import { CommandFailure } from "./connection.js";
import type { CommandTable, House } from "./house.js";
import { textOf, uriOf } from "./places.js";

export const BEFORE = "outrider-before";

/** Milliseconds between two checks whether another process has released a session. */
export const AGAIN_MILLISECONDS = 500;

/** The texts as they were before a session changed them, for the review. */
export class Befores implements vscode.TextDocumentContentProvider {
  private readonly texts = new Map<string, string>();

  /** Keep a text of a file, and give the document that shows it: with the path it had, as else it looks renamed. */
  keep(file: vscode.Uri, text: string): vscode.Uri {
    const uri = vscode.Uri.from({ scheme: BEFORE, path: file.path, query: String(this.texts.size) });
    this.texts.set(uri.toString(), text);
    return uri;
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.toString()) ?? "";
  }
}

export function historyCommands(house: House, befores: Befores): CommandTable {
  return {
    undo: () => takeBack(house, "outrider.undo"),
    redo: () => takeBack(house, "outrider.redo"),
    reviewChanges: () => review(house, befores),
    sessions: () => chooseSession(house, false),
    resume: () => chooseSession(house, true),
  };
}

async function takeBack(house: House, command: "outrider.undo" | "outrider.redo"): Promise<void> {
  const session = house.book.current;
  const of = session === undefined ? {} : { sessionId: session.sessionId };
  const result = command === "outrider.undo" ? await undoTurn(house, of) : await house.connection.execute(command, of);
  if (result === undefined) return;
  void vscode.window.showInformationMessage(
    `Outrider: ${told(result, command === "outrider.undo" ? "Undid" : "Redid")}`,
  );
}

/** Undo the latest turn; where that changed nothing, the one before it is named, and undone only if the user says so. */
async function undoTurn(house: House, of: { sessionId?: string }): Promise<UndoResult | undefined> {
  try {
    return await house.connection.execute("outrider.undo", { ...of, latest: true });
  } catch (error) {
    if (!(error instanceof CommandFailure) || error.reason !== "not_latest") throw error;
    const { sessionId, turnId, prompt } = error.data as { sessionId: string; turnId: string; prompt: string };
    const undo = "Undo It";
    const said = `Outrider: the latest turn changed nothing that can be undone. Undo the turn “${oneLine(prompt, 80)}”?`;
    if ((await vscode.window.showWarningMessage(said, undo)) !== undo) return undefined;
    return house.connection.execute("outrider.undo", { sessionId, scope: "turn", id: turnId });
  }
}

function told(result: UndoResult, done: string): string {
  const files = result.undone.map(({ path, hunks }) => `${String(hunks)} ${hunks === 1 ? "hunk" : "hunks"} of ${path}`);
  // What was left as it is the server says by itself.
  return files.length === 0 ? "nothing was changed." : `${done} ${files.join(", ")}.`;
}

/** All that the session changed, as one diff: what it would be without, and what it is. */
async function review(house: House, befores: Befores): Promise<void> {
  const shown: [vscode.Uri, vscode.Uri, vscode.Uri][] = [];
  const lost: string[] = [];
  for (const { path, before: first, changes } of byFile(house.book.current?.changes.inPlace ?? [])) {
    const uri = uriOf(path);
    const text = uri === undefined ? undefined : await textOf(uri);
    let before: string | undefined = text ?? "";
    for (const change of [...changes].reverse()) {
      if (before !== undefined)
        before =
          change.operation === "create"
            ? ""
            : change.operation === "delete"
              ? change.hunks.map((hunk) => hunk.removed).join("")
              : withoutHunks(before, change.hunks);
    }
    if (uri === undefined || before === undefined) lost.push(path);
    else {
      const old = befores.keep(uriOf(first) ?? uri, before);
      shown.push([uri, old, text === undefined ? befores.keep(uri, "") : uri]);
    }
  }
  if (shown.length > 0)
    await vscode.commands.executeCommand("vscode.changes", "Outrider: changes of this session", shown);
  else if (lost.length === 0) void vscode.window.showInformationMessage("Outrider: this session has changed nothing.");
  if (lost.length > 0)
    void vscode.window.showInformationMessage(
      `Outrider: ${lost.join(", ")} was changed too much since to show what Outrider did there.`,
    );
}

async function chooseSession(house: House, resumable: boolean): Promise<void> {
  const { sessions } = await house.connection.execute("outrider.sessions", {});
  const wanted = resumable ? sessions.filter(({ state }) => state !== "idle") : sessions;
  if (wanted.length === 0) {
    void vscode.window.showInformationMessage(
      `Outrider: there is no session ${resumable ? "to resume " : ""}in this workspace yet.`,
    );
    return;
  }
  const listing = { now: Date.now(), current: house.book.current?.sessionId };
  const picks = byDay(wanted, listing).flatMap(({ label, lines }): SessionPick[] => [
    { label, kind: vscode.QuickPickItemKind.Separator },
    ...lines.map((line) => ({ label: line.label, description: line.said, session: line.session })),
  ]);
  const picked = await vscode.window.showQuickPick(picks, {
    title: resumable ? "Resume which session?" : "Look at which session?",
    matchOnDescription: true,
  });
  if (picked?.session !== undefined) await openSession(house, picked.session, resumable);
}

interface SessionPick extends vscode.QuickPickItem {
  readonly session?: SessionSummary;
}

/** Show a session; one that waits goes on, and one of another process is joined. One that was cut off goes on if the user says so. */
export async function openSession(
  house: House,
  { sessionId, elsewhere, state }: SessionSummary,
  resume: boolean,
): Promise<void> {
  const { book, view } = house;
  if (elsewhere === true && book.get(sessionId)?.away !== "joined") book.lookOn(sessionId, "elsewhere");
  book.select(sessionId);
  await book.load(sessionId);
  const isCutOff = state === "closed" && book.get(sessionId)?.running !== undefined;
  if (elsewhere === true || resume || state === "parked") await resumeSession(house, sessionId);
  else if (isCutOff) book.lookOn(sessionId, "cut off");
  await view.show();
  if (!isCutOff || resume) return;
  const goOn = "Go On";
  const said = "Outrider: this session was cut off in the middle of a turn.";
  if ((await vscode.window.showInformationMessage(said, goOn)) === goOn) await resumeSession(house, sessionId);
}

/**
 * Open a session of the log again, so that it goes on and asks again; one that another process runs is joined.
 *
 * @param patience milliseconds for which a process that has it may still let go of it
 */
export async function resumeSession(
  house: Pick<House, "connection" | "book">,
  sessionId: string,
  patience = 0,
): Promise<void> {
  for (const until = Date.now() + patience; ;) {
    const away = await resumed(house, sessionId);
    if (away === undefined) return;
    if (Date.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MILLISECONDS));
      continue;
    }
    if (away === "elsewhere")
      void vscode.window.showInformationMessage(
        "Outrider: another window or editor is at this session and cannot be reached. Here it can be looked at; it is answered, steered and cancelled there.",
      );
    return;
  }
}

/** Show a session that was joined. */
export async function showJoined({ book, view }: Pick<House, "book" | "view">, sessionId: string): Promise<void> {
  book.lookOn(sessionId, "joined");
  book.select(sessionId);
  // What happened before it was joined nobody tells of.
  await book.load(sessionId);
  await view.show();
}

/** Open a session of the log, or join it. Gives why it is not run here; undefined where it is. */
export async function resumed(
  { book, connection }: Pick<House, "connection" | "book">,
  sessionId: string,
): Promise<Away | undefined> {
  let away: Away | undefined;
  try {
    const { elsewhere } = await connection.execute("outrider.resume", { sessionId });
    away = elsewhere === true ? "joined" : undefined;
  } catch (error) {
    if (!(error instanceof CommandFailure) || error.reason !== "session_in_use") throw error;
    away = "elsewhere";
  }
  book.lookOn(sessionId, away);
  // What happened before it was joined nobody tells of.
  if (away === "joined") await book.load(sessionId);
  return away;
}
