/** Saving documents, because a command is about to read them from the disk. */

import * as vscode from "vscode";

/** Save the unsaved documents that have a file and are wanted. Gives those that are saved now. */
export async function save(wanted: (document: vscode.TextDocument) => boolean): Promise<vscode.Uri[]> {
  const saved: vscode.Uri[] = [];
  for (const document of vscode.workspace.textDocuments) {
    if (document.isDirty && !document.isUntitled && wanted(document) && (await document.save()))
      saved.push(document.uri);
  }
  return saved;
}
