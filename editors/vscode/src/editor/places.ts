/** The workspace's folders and documents, by the paths that the server uses. */

import * as vscode from "vscode";

import { decoded } from "../core/hunks.js";
import { type Folder, locate } from "../core/paths.js";

/** The folders that the server knows. */
export function folders(): Folder[] {
  return (vscode.workspace.workspaceFolders ?? [])
    .filter(({ uri }) => uri.scheme === "file")
    .map(({ name, uri }) => ({ name, path: uri.path }));
}

/** The document that a path of the server names. */
export function uriOf(path: string): vscode.Uri | undefined {
  const found = locate(path, folders());
  if (found === undefined) return undefined;
  return found.kind === "file"
    ? vscode.Uri.file(found.path)
    : vscode.Uri.from({ scheme: "untitled", path: found.name });
}

/** The path by which the server knows a document; undefined outside of the workspace. */
export function pathOf(uri: vscode.Uri): string | undefined {
  return vscode.workspace.getWorkspaceFolder(uri) === undefined
    ? undefined
    : vscode.workspace.asRelativePath(uri).replaceAll("\\", "/");
}

/** The text as the user sees it: the open document, else the file; undefined where there is neither. */
export async function textOf(uri: vscode.Uri): Promise<string | undefined> {
  const open = vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri.toString());
  if (open !== undefined) return open.getText();
  try {
    return decoded(await vscode.workspace.fs.readFile(uri));
  } catch {
    return undefined;
  }
}
