/** The tools that the extension gives to the model: what only the editor knows. */

import * as vscode from "vscode";

import { locate } from "../core/paths.js";
import type { ClientTool, ToolParams, ToolReply } from "../protocol/types.js";
import { folders, uriOf } from "./places.js";

/** What is registered with the server. */
export const TOOLS: readonly ClientTool[] = [
  {
    name: "problems",
    description:
      "Lists the errors and warnings that the editor's language servers and linters show now, of one file or of all.",
    inputSchema: {
      type: "object",
      properties: { path: { type: "string", description: "A file; absent: the whole workspace." } },
      additionalProperties: false,
    },
    effect: "read",
  },
];

const MOST = 200;

/** Run a tool of TOOLS. */
export function runTool(params: ToolParams): ToolReply {
  if (params.name !== "problems") return { content: `There is no tool ${params.name}.`, isError: true };
  const path = params.input["path"];
  if (typeof path === "string" && locate(path, folders()) === undefined)
    return { content: `${path} is in no workspace folder.`, isError: true };
  const wanted = typeof path === "string" ? uriOf(path)?.toString() : undefined;
  const lines: string[] = [];
  for (const [uri, items] of vscode.languages.getDiagnostics()) {
    if (wanted !== undefined && uri.toString() !== wanted) continue;
    if (wanted === undefined && vscode.workspace.getWorkspaceFolder(uri) === undefined) continue;
    for (const item of items) lines.push(lineOf(uri, item));
  }
  if (lines.length === 0) return { content: "The editor shows no problems." };
  const more = lines.length > MOST ? `\n[${String(lines.length - MOST)} more]` : "";
  return { content: lines.slice(0, MOST).join("\n") + more };
}

function lineOf(uri: vscode.Uri, item: vscode.Diagnostic): string {
  const place = `${vscode.workspace.asRelativePath(uri)}:${String(item.range.start.line + 1)}`;
  const source = item.source === undefined ? "" : ` (${item.source})`;
  return `${place}: ${vscode.DiagnosticSeverity[item.severity].toLowerCase()}: ${item.message}${source}`;
}
