/** The model and the permission mode: chosen, shown, changed. */

import * as vscode from "vscode";

import { chosenAfterReading } from "../core/inert.js";
import { type Choice, choicesOf } from "../core/choices.js";
import { isMode, nextMode } from "../core/settings.js";
import { type Next, modeOf } from "../core/status.js";
import { PERMISSION_MEANINGS, PERMISSION_MODES, type PermissionMode, messageOf } from "../core/words.js";
import type { ModelsResult } from "../protocol/types.js";
import { inspect } from "./connection.js";
import type { CommandTable, House } from "./house.js";

const CHOSEN = "outrider.model";
const RECENT = "outrider.recentModels";
const MOST_RECENT = 8;

/** The model that was chosen in this workspace for the next tasks; undefined: that of the settings. */
export function chosenModel(house: Pick<House, "context">): string | undefined {
  return house.context.workspaceState.get<string>(CHOSEN);
}

/** What the next task gets: as the editor's settings say, and where those say nothing as the server does. */
export function nextTurn(house: Pick<House, "context" | "connection">): Next {
  const { served, isRefused } = house.connection;
  const set = inspect("model");
  const chosen = chosenModel(house);
  const model = [chosen, set.workspace, set.global, served].find((one) => typeof one === "string" && one !== "");
  const permissionMode = nextMode(inspect, vscode.workspace.isTrusted);
  const lacksModel = isRefused || (chosen === undefined && served === "");
  return { model: typeof model === "string" ? model : "", permissionMode, lacksModel };
}

/** Use the model of the settings for the next tasks in this workspace. */
export async function useTheSettings(house: Pick<House, "context" | "connection">): Promise<void> {
  await house.context.workspaceState.update(CHOSEN, undefined);
  await house.connection.readModel();
}

export function modelCommands(house: House): CommandTable {
  return {
    chooseModel: () => chooseModel(house),
    choosePermissionMode: () => choosePermissionMode(house),
    permissions: () => showPermissions(house),
  };
}

async function chooseModel({ context, update, connection, log }: House): Promise<void> {
  const { global } = inspect("model");
  const recent = context.globalState.get<string[]>(RECENT, []).filter((name) => name !== "");
  const chosen = context.workspaceState.get<string>(CHOSEN);
  const choose = (found?: ModelsResult): Choice[] =>
    choicesOf(found, chosen, typeof global === "string" ? global : "", recent);
  const picked = await pick(choose(), async () => {
    try {
      return choose(await connection.execute("outrider.models", {}));
    } catch (error) {
      log.warn(messageOf(error));
      return undefined;
    }
  });
  if (picked === undefined || picked.kind === "heading") return;
  if (picked.kind === "problem") {
    await vscode.commands.executeCommand("workbench.action.openSettings", "outrider.providers");
    return;
  }
  if (picked.kind === "setUp") {
    await vscode.commands.executeCommand("outrider.client.setUp");
    return;
  }
  const model = picked.kind === "model" ? picked.model : picked.kind === "other" ? await written() : undefined;
  if (picked.kind === "other" && model === undefined) return;
  await context.workspaceState.update(CHOSEN, model);
  if (model !== undefined)
    await context.globalState.update(RECENT, [...new Set([model, ...recent])].slice(0, MOST_RECENT));
  update();
  await connection.readModel();
}

type Line = vscode.QuickPickItem & { readonly choice: Choice };

/** Have one of the choices picked. More of them come from the server, which asks the providers: nobody waits for that. */
function pick(choices: readonly Choice[], more: () => Promise<Choice[] | undefined>): Promise<Choice | undefined> {
  const picker = vscode.window.createQuickPick<Line>();
  picker.title = "The model for the next tasks in this workspace";
  picker.placeholder = "Asking the providers what they have…";
  picker.busy = true;
  picker.matchOnDescription = true;
  picker.items = choices.map(lineOf);
  void more().then((all) => {
    picker.busy = false;
    picker.placeholder = "";
    if (all === undefined) return;
    const at = picker.items.findIndex((item) => item === picker.activeItems[0]);
    picker.items = all.map(lineOf);
    picker.activeItems = picker.items.slice(at, at + 1);
  });
  return new Promise((resolve) => {
    picker.onDidAccept(() => {
      resolve(picker.selectedItems[0]?.choice);
      picker.hide();
    });
    picker.onDidHide(() => {
      resolve(undefined);
      picker.dispose();
    });
    picker.show();
  });
}

function lineOf(choice: Choice): Line {
  return choice.kind === "heading"
    ? { label: choice.label, kind: vscode.QuickPickItemKind.Separator, choice }
    : { label: choice.label, description: choice.description, choice };
}

/** A model that the user writes. */
async function written(): Promise<string | undefined> {
  const model = await vscode.window.showInputBox({
    title: "Model",
    prompt: "provider/name, with a provider of the settings",
    placeHolder: "my/model-name",
  });
  return model?.trim() === "" ? undefined : model?.trim();
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
  await tellOfOtherMode(house, mode);
}

/** Say why the mode that was chosen is not the one that counts here, if it is not. */
async function tellOfOtherMode(house: House, chosen: PermissionMode): Promise<void> {
  const { permissionMode } = nextTurn(house);
  if (permissionMode === chosen) return;
  if (vscode.workspace.isTrusted) {
    const said = `Outrider: the settings of this workspace keep it at ${String(permissionMode)}.`;
    void vscode.window.showInformationMessage(said);
    return;
  }
  const manage = "Manage Workspace Trust";
  const said = "Outrider: this workspace is not trusted, so here it is only read.";
  if ((await vscode.window.showInformationMessage(said, manage)) === manage)
    await vscode.commands.executeCommand("workbench.trust.manage");
}

async function isSure(): Promise<boolean> {
  const detail = "Commands and edits, also outside the workspace, go through unasked.";
  const yes = "Allow Everything";
  const ask = (): Thenable<string | undefined> =>
    vscode.window.showWarningMessage("Let Outrider do everything without a question?", { modal: true, detail }, yes);
  return (await chosenAfterReading(Date.now, ask, () => true)) === yes;
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

/** A grant for a user: its kind, and the file or the command. */
function grantText(grant: string): string {
  const [, kind = "", what = grant] = /^(\w+):(.*)$/s.exec(grant) ?? [];
  const command = what.slice(what.indexOf("\0") + 1);
  return kind === "edit"
    ? `edit ${vscode.workspace.asRelativePath(vscode.Uri.parse(what))}`
    : `${kind} ${command}`.trim();
}
