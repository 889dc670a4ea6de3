/**
 * What is completed in the composer: `@` to files, folders and symbols of the workspace and to the problems that the editor shows, `/` to
 * custom commands.
 */

import * as vscode from "vscode";

import type { Completion } from "../core/messages.js";
import { byNearness } from "../core/nearness.js";
import { visible } from "../core/visible.js";
import { oneLine } from "../core/words.js";
import type { CustomCommandInfo } from "../protocol/types.js";
import type { Connection } from "./connection.js";
import { pathOf } from "./places.js";

const MOST_FILES = 20_000;
const MOST_SHOWN = 12;
const MOST_SYMBOLS = 4;
const SYMBOL_MILLISECONDS = 700;
/** The list of files is as old as this at most. */
const FRESH_MILLISECONDS = 10_000;

/** The word that stands for the problems of the editor. */
export const PROBLEMS = "@problems";

export class Completing {
  private commands: { readonly at: number; readonly listed: Promise<readonly CustomCommandInfo[]> } | undefined;
  private files: { readonly at: number; readonly paths: Promise<string[]> } | undefined;

  /** What a word may become, the likeliest first. */
  async find(query: string): Promise<Completion[]> {
    const [paths, symbols] = await Promise.all([this.paths(), symbolsOf(query)]);
    const files = byNearness(query, [...paths, ...foldersOf(paths)], MOST_SHOWN).map((path): Completion => ({
      kind: path.endsWith("/") ? "folder" : "file",
      label: path.replace(/\/$/, "").split("/").at(-1) ?? path,
      detail: path,
      text: `@${path}`,
    }));
    const problems: Completion[] =
      query !== "" && !PROBLEMS.startsWith(`@${query}`)
        ? []
        : [{ kind: "problems", label: "problems", detail: "What the editor reports", text: PROBLEMS }];
    return [...(query === "" ? problems : []), ...files, ...symbols, ...(query === "" ? [] : problems)];
  }

  /** The custom commands, skills and prompts of MCP servers whose names begin so; the server calls them by their names. */
  async findCommands(query: string, connection: Connection): Promise<Completion[]> {
    const now = Date.now();
    if (this.commands === undefined || now - this.commands.at > FRESH_MILLISECONDS) {
      const asked = connection.state === "running" ? connection.execute("outrider.commands", {}) : undefined;
      const listed = asked?.then(({ commands }) => commands).catch(() => []) ?? Promise.resolve([]);
      this.commands = { at: now, listed };
    }
    const commands = await this.commands.listed;
    return commands
      .filter(({ name }) => name.startsWith(query) && name === visible(name))
      .slice(0, MOST_SHOWN)
      .map(({ name, description }) => ({
        kind: "custom",
        label: `/${name}`,
        detail: visible(oneLine(description, 100)),
        text: `/${name}`,
      }));
  }

  private paths(): Promise<string[]> {
    const now = Date.now();
    if (this.files === undefined || now - this.files.at > FRESH_MILLISECONDS) {
      const found = vscode.workspace.findFiles("**/*", undefined, MOST_FILES);
      const paths = Promise.resolve(found).then((uris) => uris.flatMap((uri) => pathOf(uri) ?? []));
      this.files = { at: now, paths };
    }
    return this.files.paths;
  }
}

function foldersOf(paths: readonly string[]): string[] {
  const folders = new Set<string>();
  for (const path of paths)
    for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) folders.add(path.slice(0, at + 1));
  return [...folders];
}

async function symbolsOf(query: string): Promise<Completion[]> {
  if (query.length < 2 || query.includes("/")) return [];
  const late = new Promise<undefined>((resolve) => {
    setTimeout(() => {
      resolve(undefined);
    }, SYMBOL_MILLISECONDS);
  });
  const asked = vscode.commands.executeCommand<vscode.SymbolInformation[] | undefined>(
    "vscode.executeWorkspaceSymbolProvider",
    query,
  );
  const found = (await Promise.race([Promise.resolve(asked).catch(() => undefined), late])) ?? [];
  return found
    .flatMap(({ name, location }): Completion[] => {
      const path = pathOf(location.uri);
      if (path === undefined) return [];
      const line = location.range.start.line + 1;
      return [{ kind: "symbol", label: name, detail: path, text: `\`${name}\` in @${path}:${String(line)}` }];
    })
    .slice(0, MOST_SYMBOLS);
}
