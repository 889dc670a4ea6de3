/** What the server asks of the editor: dialogs, saving, what its language servers know. */

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import type { SessionBook } from "../core/book.js";
import { noticeOf } from "../core/notices.js";
import type { EditApplied, Event, Frame, LanguageParams, Open } from "../protocol/types.js";
import type { Answers } from "./answers.js";
import { Language } from "./language.js";
import { uriOf } from "./places.js";
import { saveOne, warnIfReadOnly } from "./saving.js";

const SHOW = {
  error: vscode.window.showErrorMessage,
  warning: vscode.window.showWarningMessage,
  info: vscode.window.showInformationMessage,
} as const;

interface DialogParams {
  readonly message: string;
  readonly actions?: readonly { readonly title: string }[];
}

interface AskParams {
  readonly sessionId: string;
  readonly item: Open;
}

/**
 * Answer what the server that `client` speaks with may ask; called before it is started.
 *
 * @param isShown whether the user sees the session view
 * @param happened told of each event
 * @param left told that a session which was joined is run no longer where it ran
 */
export function serve(
  client: LanguageClient,
  book: SessionBook,
  answers: Answers,
  isShown: () => boolean,
  happened: (event: Event) => void,
  left: () => void,
): void {
  client.onNotification("outrider/event", (event: Event) => {
    book.onEvent(event);
    happened(event);
    if (event.type === "edit.applied") {
      const { where, path, to } = event.data as object as EditApplied;
      const isHere = book.get(event.sessionId)?.away !== "joined";
      const uri = isHere && where === "buffer" ? uriOf(to ?? path) : undefined;
      if (uri !== undefined) void warnIfReadOnly(uri);
    }
  });
  client.onNotification("outrider/stream", (frame: Frame) => {
    book.onFrame(frame);
  });

  client.onNotification("outrider/left", left);

  client.onNotification("window/showMessage", ({ type, message }: { type: number; message: string }) => {
    const notice = noticeOf(type, message, isShown() && book.hasEnded);
    if (notice !== undefined) void SHOW[notice.level](notice.text);
  });

  client.onRequest("window/showMessageRequest", async (params: DialogParams) => {
    // What an undo asks about. Other messages hide themselves, and show no lines.
    const titles = (params.actions ?? []).map(({ title }) => title);
    const [first = "", ...more] = params.message.split("\n");
    const options = { modal: true, detail: more.join("\n") };
    const chosen = await vscode.window.showWarningMessage(`Outrider: ${first}`, options, ...titles);
    return chosen === undefined ? null : { title: chosen };
  });

  client.onRequest("outrider/ask", async ({ sessionId, item }: AskParams, token: vscode.CancellationToken) => {
    if (item.callId === undefined) return answers.askApart(item, token);
    // It is asked in the view, at the lines and in a message of our own; the answer goes by command.
    await book.load(sessionId);
    await answers.settled(item.id);
    return null;
  });

  client.onRequest("outrider/save", async (params: { uris: string[] }) => {
    const saved: string[] = [];
    const failed: { uri: string; reason: string }[] = [];
    for (const uri of params.uris) {
      const problem = await saveOne(vscode.Uri.parse(uri));
      if (problem === undefined) saved.push(uri);
      else failed.push({ uri, reason: problem });
    }
    return { saved, ...(failed.length === 0 ? {} : { failed }) };
  });

  const language = new Language(client.code2ProtocolConverter);
  client.onRequest("outrider/language", (params: LanguageParams, token: vscode.CancellationToken) =>
    language.answer(params, token),
  );
}
