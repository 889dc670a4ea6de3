/** Saving documents, because a command is about to read them from the disk. */

import * as vscode from "vscode";

const READ_ONLY =
  "it treats the file as read-only (the settings files.readonlyInclude and files.readonlyFromPermissions say of which it does)";

/** Save a document. Gives what kept it from being saved, in words; undefined if it is saved now. */
export async function saveOne(uri: vscode.Uri): Promise<string | undefined> {
  const document = vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri.toString());
  if (document === undefined) return "it is not open";
  if (document.isUntitled) return "it has no file";
  // Asked even where nothing seems to be unsaved: the editor never says so of what it treats as read-only.
  if (await document.save()) return undefined;
  return document.isDirty ? "the editor could not save it" : READ_ONLY;
}

/** Say that a document was changed which the editor will never save; it shows that nowhere itself. */
export async function warnIfReadOnly(uri: vscode.Uri): Promise<void> {
  const document = vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri.toString());
  if (document?.isDirty !== false || (await saveOne(uri)) !== READ_ONLY) return;
  void vscode.window.showWarningMessage(
    `Outrider: ${vscode.workspace.asRelativePath(uri)} was changed in the editor, but cannot be saved: ${READ_ONLY}. Run “File: Set Active Editor Writeable in Session” in it and save it, or take the change back.`,
  );
}
