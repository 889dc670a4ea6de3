/** Finds what answers name: files of the workspace, and where symbols are defined. */

import * as vscode from "vscode";

import type { FileRef } from "../core/links.js";
import { uriOf } from "./places.js";

/** Symbols that are looked up for one request of a page; each is a question to the language servers. */
const MOST_SYMBOLS = 40;
const SYMBOL_MILLISECONDS = 3000;
const FORGET_MILLISECONDS = 30_000;

export class References {
  private readonly symbols = new Map<string, Promise<vscode.Location | undefined>>();

  /** Which of the names there are. */
  async resolve(paths: readonly string[], symbols: readonly string[]): Promise<{ exist: string[]; not: string[] }> {
    const files = paths.map(async (path) => [`file:${path}`, await isFile(path)] as const);
    const places = symbols
      .slice(0, MOST_SYMBOLS)
      .map(async (name) => [`symbol:${name}`, (await this.symbol(name)) !== undefined] as const);
    const found = await Promise.all([...files, ...places]);
    const keys = (exists: boolean): string[] => found.flatMap(([key, one]) => (one === exists ? [key] : []));
    const unasked = symbols.slice(MOST_SYMBOLS).map((name) => `symbol:${name}`);
    return { exist: keys(true), not: [...keys(false), ...unasked] };
  }

  /** Show a file, with the lines that are named selected. */
  async openFile({ path, line, end }: FileRef): Promise<void> {
    const uri = inWorkspace(path);
    if (uri === undefined) return;
    const first = Math.max(0, (line ?? 1) - 1);
    const last = Math.max(first, (end ?? line ?? 1) - 1);
    const selection = new vscode.Range(first, 0, last, end === undefined ? 0 : Number.MAX_SAFE_INTEGER);
    await vscode.window.showTextDocument(uri, { preview: true, ...(line === undefined ? {} : { selection }) });
  }

  async openSymbol(name: string): Promise<void> {
    const place = await this.symbol(name);
    if (place === undefined) return;
    const { start } = place.range;
    await vscode.window.showTextDocument(place.uri, { preview: true, selection: new vscode.Range(start, start) });
  }

  private symbol(name: string): Promise<vscode.Location | undefined> {
    const known = this.symbols.get(name);
    if (known !== undefined) return known;
    const asked = find(name);
    this.symbols.set(name, asked);
    // A file that was closed or written meanwhile may change the answer.
    setTimeout(() => this.symbols.delete(name), FORGET_MILLISECONDS);
    return asked;
  }
}

/** What an answer names outside of the workspace is no link. */
function inWorkspace(path: string): vscode.Uri | undefined {
  const uri = path.split(/[\\/]/).includes("..") ? undefined : uriOf(path);
  return uri !== undefined && vscode.workspace.getWorkspaceFolder(uri) !== undefined ? uri : undefined;
}

async function isFile(path: string): Promise<boolean> {
  const uri = inWorkspace(path);
  if (uri === undefined) return false;
  try {
    return ((await vscode.workspace.fs.stat(uri)).type & vscode.FileType.File) !== 0;
  } catch {
    return false;
  }
}

async function find(name: string): Promise<vscode.Location | undefined> {
  const last = name.split(/\.|::|#/).at(-1) ?? name;
  const owner = name.split(/\.|::|#/).at(-2);
  const late = new Promise<undefined>((resolve) => {
    setTimeout(() => {
      resolve(undefined);
    }, SYMBOL_MILLISECONDS);
  });
  const asked = vscode.commands.executeCommand<vscode.SymbolInformation[] | undefined>(
    "vscode.executeWorkspaceSymbolProvider",
    last,
  );
  const found = (await Promise.race([Promise.resolve(asked).catch(() => undefined), late])) ?? [];
  const exact = found.filter(
    ({ name, location }) =>
      name.replace(/\(.*$/, "") === last && vscode.workspace.getWorkspaceFolder(location.uri) !== undefined,
  );
  const owned = exact.find(({ containerName }) => owner !== undefined && containerName === owner);
  return (owned ?? (owner === undefined ? exact[0] : undefined))?.location;
}

/** Put a code of an answer on the clipboard, or in the place of what is selected in the editor. */
export async function taken(what: "copy" | "insert", text: string): Promise<void> {
  if (what === "copy") {
    await vscode.env.clipboard.writeText(text);
    return;
  }
  const editor = vscode.window.activeTextEditor ?? vscode.window.visibleTextEditors[0];
  if (editor === undefined) {
    void vscode.window.showInformationMessage("Outrider: open the file that the code is to be inserted in first.");
    return;
  }
  await editor.edit((edit) => {
    for (const selection of editor.selections) edit.replace(selection, text);
  });
  await vscode.window.showTextDocument(editor.document, editor.viewColumn);
}
