/** The model and the permission mode: chosen, shown, changed. */

import * as vscode from "vscode";

import { isMode, nextMode } from "../core/settings.js";
import { type Next, modeOf } from "../core/status.js";
import { PERMISSION_MEANINGS, PERMISSION_MODES } from "../core/words.js";
import { inspect } from "./connection.js";
import type { CommandTable, House } from "./house.js";

const CHOSEN = "outrider.model";
const RECENT = "outrider.recentModels";
const MOST_RECENT = 8;

/** The model that was chosen in this workspace for the next tasks; undefined: that of the settings. */
export function chosenModel(house: Pick<House, "context">): string | undefined {
  return house.context.workspaceState.get<string>(CHOSEN);
}

/** What the next task gets, as far as it is known here: the server's own settings may say more. */
export function nextTurn(house: Pick<House, "context">): Next {
  const set = inspect("model");
  const model = chosenModel(house) ?? set.workspace ?? set.global;
  const permissionMode = nextMode(inspect, vscode.workspace.isTrusted);
  return { model: typeof model === "string" ? model : "", permissionMode };
}

export function modelCommands(house: House): CommandTable {
  return {
    chooseModel: () => chooseModel(house),
    choosePermissionMode: () => choosePermissionMode(house),
    permissions: () => showPermissions(house),
  };
}

async function chooseModel({ context, view }: House): Promise<void> {
  const { global } = inspect("model");
  const recent = context.globalState.get<string[]>(RECENT, []);
  const own = "$(settings-gear) The one of the settings";
  const other = "$(edit) Another…";
  const known = [...new Set([...recent, ...(typeof global === "string" ? [global] : [])])].filter(
    (name) => name !== "",
  );
  const picked = await vscode.window.showQuickPick(
    [
      { label: own, description: typeof global === "string" ? global : "" },
      ...known.map((label) => ({ label, description: "" })),
      { label: other, description: "provider/name" },
    ],
    { title: "The model for the next tasks in this workspace" },
  );
  if (picked === undefined) return;
  let model: string | undefined = picked.label;
  if (picked.label === other) {
    model = await vscode.window.showInputBox({
      title: "Model",
      prompt: "provider/name, with a provider of the settings",
      placeHolder: "my/model-name",
    });
    if (!model?.trim()) return;
  }
  const chosen = picked.label === own ? undefined : model.trim();
  await context.workspaceState.update(CHOSEN, chosen);
  if (chosen !== undefined)
    await context.globalState.update(RECENT, [...new Set([chosen, ...recent])].slice(0, MOST_RECENT));
  view.update();
}

async function choosePermissionMode(house: House): Promise<void> {
  const now = modeOf(undefined, nextTurn(house));
  const picks = PERMISSION_MODES.map((mode) => ({
    label: mode,
    description: mode === now ? "now" : "",
    detail: PERMISSION_MEANINGS[mode],
  }));
  const picked = await vscode.window.showQuickPick(picks, {
    title: "What may happen without a question, in all your workspaces",
  });
  const mode = picked?.label;
  if (!isMode(mode)) return;
  if (mode === "full" && !(await isSure())) return;
  await vscode.workspace.getConfiguration("outrider").update("permissionMode", mode, vscode.ConfigurationTarget.Global);
}

async function isSure(): Promise<boolean> {
  const detail = "Commands and edits, also outside the workspace, go through unasked.";
  const yes = "Allow Everything";
  return (
    (await vscode.window.showWarningMessage(
      "Let Outrider do everything without a question?",
      { modal: true, detail },
      yes,
    )) === yes
  );
}

async function showPermissions(house: House): Promise<void> {
  const session = house.book.current;
  const mode = modeOf(session, nextTurn(house));
  const change = "$(shield) Change the permission mode…";
  const settings = "$(settings-gear) Open the settings";
  const grants = (session?.grants ?? []).map((grant) => ({
    label: `$(check) ${grantText(grant)}`,
    description: "allowed for this session",
  }));
  const picked = await vscode.window.showQuickPick(
    [
      { label: `$(info) ${mode}`, description: isMode(mode) ? PERMISSION_MEANINGS[mode] : "" },
      ...(vscode.workspace.isTrusted
        ? []
        : [{ label: "$(workspace-untrusted) The workspace is not trusted", description: "so it is only read" }]),
      ...grants,
      { label: change, description: "" },
      { label: settings, description: "" },
    ],
    { title: "What Outrider may do" },
  );
  if (picked?.label === change) await choosePermissionMode(house);
  if (picked?.label === settings) await vscode.commands.executeCommand("workbench.action.openSettings", "outrider.");
}

/** A grant for a person: its kind, and the file or the command. */
function grantText(grant: string): string {
  const [, kind = "", what = grant] = /^(\w+):(.*)$/s.exec(grant) ?? [];
  const command = what.slice(what.indexOf("\0") + 1);
  return kind === "edit"
    ? `edit ${vscode.workspace.asRelativePath(vscode.Uri.parse(what))}`
    : `${kind} ${command}`.trim();
}
