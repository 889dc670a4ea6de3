/** Saving documents, because a command is about to read them from the disk. */

import * as vscode from "vscode";

/** Save a document. Gives what kept it from being saved, in words; undefined if it is saved now. */
export async function saveOne(uri: vscode.Uri): Promise<string | undefined> {
  const document = vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri.toString());
  if (document === undefined) return "it is not open";
  if (document.isUntitled) return "it has no file";
  return !document.isDirty || (await document.save()) ? undefined : "the editor could not save it";
}
