/** Commands that look after the extension itself. */

import * as vscode from "vscode";

import type { SetupParams, SetupProvider, SetupResult } from "../protocol/types.js";
import type { CommandTable, House } from "./house.js";

const ICONS = { ok: "$(pass)", warn: "$(warning)", fail: "$(error)" } as const;

export function setupCommands(house: House): CommandTable {
  const { connection, log, keys, view } = house;
  const restartFor = async (changed: Promise<boolean>): Promise<void> => {
    if (await changed) await outdated(house, "the key counts");
  };
  return {
    doctor: async () => {
      const { checks } = await connection.execute("outrider.doctor", {});
      const picks = checks.map(({ name, status, detail }) => ({ label: `${ICONS[status]} ${name}`, detail }));
      const picked = await vscode.window.showQuickPick(picks, {
        title: "Outrider: how the set-up is",
        matchOnDetail: true,
        placeHolder: "Enter copies a line",
      });
      if (picked !== undefined)
        await vscode.env.clipboard.writeText(`${picked.label.replace(/^\S+ /, "")}: ${picked.detail}`);
    },
    setUp: () => setUp(house),
    showLog: () => {
      log.show();
    },
    restart: () => connection.restart(),
    setKey: () => restartFor(keys.set()),
    forgetKey: () => restartFor(keys.forget()),
    showView: (what) => view.show(what === "open" ? "open" : "composer"),
  };
}

/**
 * Lead from nothing to a model that answers. The server does the steps and writes its settings file, where it runs; leaving a
 * question ends it, and nothing is written before the last one. The key is kept in the editor's secret storage.
 */
async function setUp(house: House): Promise<void> {
  const listed = await setupStep(house, { action: "list" });
  const provider = await pick(listed?.providers, "Outrider: which provider?", (one) => ({
    label: one.title,
    description: one.found ?? "",
  }));
  if (provider === undefined) return;
  const given = await keyFor(provider);
  if (given === undefined) return;
  const found = await setupStep(house, { action: "models", ...given });
  const model = await pick(found?.models, "Outrider: which model?", ({ name, contextWindow }) => ({
    label: name,
    description: contextWindow === undefined ? "" : `${contextWindow.toLocaleString()} tokens`,
  }));
  if (model === undefined) return;
  const chosen = { ...given, model: model.name };
  if ((await setupStep(house, { action: "try", ...chosen })) === undefined) return;
  const keep = given.key === undefined ? {} : ({ keep: "client" } as const);
  const saved = await setupStep(house, { action: "save", ...chosen, ...keep });
  if (saved?.model === undefined) return;
  if (given.key !== undefined && given.apiKeyEnv !== undefined) await house.keys.keep(given.apiKeyEnv, given.key);
  const note = saved.note === undefined ? "" : `, but ${saved.note}`;
  void vscode.window.showInformationMessage(
    `Outrider: ${saved.model} is used from the next task on${note}. Written to ${saved.file ?? ""}.`,
  );
}

/** A provider with its key, if it needs one that is not there; undefined where the user leaves. */
async function keyFor({
  name,
  title,
  needsKey,
  found,
  apiKeyEnv,
}: SetupProvider): Promise<Pick<SetupParams, "provider" | "key" | "apiKeyEnv"> | undefined> {
  if (!needsKey || found !== undefined) return { provider: name };
  const key = await vscode.window.showInputBox({
    title: `Outrider: key of ${title}`,
    prompt: "It is kept in the editor's secret storage.",
    password: true,
    ignoreFocusOut: true,
  });
  if (!key?.trim()) return undefined;
  return {
    provider: name,
    key: key.trim(),
    apiKeyEnv: apiKeyEnv ?? `${name.replace(/\W/g, "_").toUpperCase()}_API_KEY`,
  };
}

/** One step of the server; what went wrong is told. */
async function setupStep({ connection }: House, params: SetupParams): Promise<SetupResult | undefined> {
  const options = { location: vscode.ProgressLocation.Notification, title: "Outrider: setting up…" };
  const result = await vscode.window.withProgress(options, () => connection.execute("outrider.setup", params));
  const problem = result.problem ?? (result.trial?.ok === false ? result.trial.detail : undefined);
  if (problem === undefined) return result;
  void vscode.window.showErrorMessage(`Outrider: ${problem}. Nothing was written.`);
  return undefined;
}

async function pick<T>(
  from: readonly T[] | undefined,
  title: string,
  shown: (one: T) => vscode.QuickPickItem,
): Promise<T | undefined> {
  if (from === undefined) return undefined;
  const items = from.map((one) => ({ ...shown(one), one }));
  return (await vscode.window.showQuickPick(items, { title, matchOnDescription: true, ignoreFocusOut: true }))?.one;
}

/**
 * Let changed settings count. What narrows counts at once; the rest needs a new server, so that nothing that runs is
 * widened behind anybody's back.
 */
export async function settingsChanged(house: House): Promise<void> {
  const { connection } = house;
  await connection.settingsChanged();
  if (connection.isOutdated && !(isBusy(house) && connection.isNarrowed))
    await restartUnlessBusy(house, "the new settings count");
}

/**
 * Let something else count that only a new server has.
 *
 * @param what what counts then, in words
 */
export async function outdated(house: House, what: string): Promise<void> {
  house.connection.outdate();
  await restartUnlessBusy(house, what);
}

/** Start the server anew. That cancels what runs, so then it is done with the next task, or now if the user says so. */
async function restartUnlessBusy(house: House, what: string): Promise<void> {
  if (isBusy(house)) {
    const now = "Restart Now";
    const said = `Outrider: ${what} from the next task on that is given when nothing runs. “${now}” cancels what runs.`;
    if ((await vscode.window.showInformationMessage(said, now)) !== now) return;
  }
  await house.connection.restart();
}

function isBusy({ connection, book }: House): boolean {
  return connection.state === "running" && book.running !== undefined;
}
