/** What the server asks of the editor: dialogs, saving, diagnostics. */

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import type { SessionBook } from "../core/book.js";
import { noticeOf } from "../core/notices.js";
import type { DiagnosticsParams, DiagnosticsReply, EditApplied, Event, Frame, Open } from "../protocol/types.js";
import type { Answers } from "./answers.js";
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
 */
export function serve(client: LanguageClient, book: SessionBook, answers: Answers, isShown: () => boolean): void {
  client.onNotification("outrider/event", (event: Event) => {
    book.onEvent(event);
    if (event.type === "edit.applied") {
      const { where, path, to } = event.data as object as EditApplied;
      const uri = where === "buffer" ? uriOf(to ?? path) : undefined;
      if (uri !== undefined) void warnIfReadOnly(uri);
    }
  });
  client.onNotification("outrider/stream", (frame: Frame) => {
    book.onFrame(frame);
  });

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

  client.onRequest("outrider/diagnostics", async (params: DiagnosticsParams): Promise<DiagnosticsReply> => {
    const all =
      params.uris === undefined
        ? vscode.languages.getDiagnostics()
        : params.uris.map((uri): [vscode.Uri, vscode.Diagnostic[]] => {
            const parsed = vscode.Uri.parse(uri);
            return [parsed, vscode.languages.getDiagnostics(parsed)];
          });
    const diagnostics = all.map(async ([uri, items]) => ({
      uri: client.code2ProtocolConverter.asUri(uri),
      items: await client.code2ProtocolConverter.asDiagnostics(items),
    }));
    return { diagnostics: await Promise.all(diagnostics) };
  });
}
