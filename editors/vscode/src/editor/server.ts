/** Finds the server or makes it, and tells the user what is missing. */

import { createHash } from "node:crypto";
import { mkdir, readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import * as vscode from "vscode";

import { type Environment, makeEnvironment, sweep } from "../core/environment.js";
import { commandOf, findServer } from "../core/find.js";
import { isProblem } from "../core/machine.js";
import { thisMachine } from "./machine.js";

/** Short, as some systems limit how long a path may be. */
const STAMP_LENGTH = 16;

export interface Server {
  readonly command: readonly string[];
  /** The folder it is started in: never the project, whose modules it might load. */
  readonly cwd: string;
}

/**
 * Find the server, or make it with progress.
 *
 * @returns undefined where there is none; the user was told why
 */
export async function provideServer(
  context: vscode.ExtensionContext,
  log: vscode.LogOutputChannel,
): Promise<Server | undefined> {
  const settings = vscode.workspace.getConfiguration("outrider");
  const machine = thisMachine(log);
  const environment = await ownEnvironment(context);
  const cwd = context.globalStorageUri.fsPath;
  await mkdir(cwd, { recursive: true });
  const found = await findServer(machine, commandOf(globally<unknown>(settings, "server.command", [])), environment);
  if (isProblem(found)) {
    tell(found.problem, log);
    return undefined;
  }
  if ("command" in found) {
    log.info(`The server is ${found.command.join(" ")} (${found.from}).`);
    if (found.from === "own environment") await sweep(machine, environment, Date.now());
    return { command: found.command, cwd };
  }
  if (environment.wheel === "") {
    tell(
      "Outrider's server is not on PATH, and none came with this extension. Install it, or name it in the setting outrider.server.command.",
      log,
    );
    return undefined;
  }
  const progress = { location: vscode.ProgressLocation.Notification, title: "Outrider", cancellable: true };
  const made = await vscode.window.withProgress(progress, (progress, token) => {
    const abort = new AbortController();
    token.onCancellationRequested(() => {
      abort.abort();
    });
    return makeEnvironment(
      machine,
      environment,
      globally(settings, "server.python", ""),
      (message) => {
        progress.report({ message });
      },
      abort.signal,
    );
  });
  if (isProblem(made)) {
    tell(made.problem, log);
    return undefined;
  }
  log.info(`The server was installed: ${made.join(" ")}`);
  await sweep(machine, environment, Date.now());
  return { command: made, cwd };
}

/** What the user set for this machine; a workspace cannot say what is run. */
function globally<T>(settings: vscode.WorkspaceConfiguration, key: string, otherwise: T): T {
  return settings.inspect<T>(key)?.globalValue ?? otherwise;
}

async function ownEnvironment(context: vscode.ExtensionContext): Promise<Environment> {
  const wheels = join(context.extensionPath, "wheel");
  const folder = join(context.globalStorageUri.fsPath, "servers");
  const names = await readdir(wheels).catch(() => []);
  const name = names.find((name) => name.endsWith(".whl"));
  if (name === undefined) return { folder, wheel: "", stamp: "" };
  const wheel = join(wheels, name);
  const digest = createHash("sha256")
    .update(await readFile(wheel))
    .digest("hex");
  return { folder, wheel, stamp: digest.slice(0, STAMP_LENGTH) };
}

function tell(problem: string, log: vscode.LogOutputChannel): void {
  log.error(problem);
  const open = "Open Settings";
  const again = "Try Again";
  const show = "Show Log";
  void vscode.window.showErrorMessage(`Outrider cannot start. ${problem}`, open, again, show).then((chosen) => {
    if (chosen === open) void vscode.commands.executeCommand("workbench.action.openSettings", "outrider.server");
    if (chosen === again) void vscode.commands.executeCommand("outrider.client.restart");
    if (chosen === show) log.show();
  });
}
