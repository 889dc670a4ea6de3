/** Commands that look after the extension itself. */

import * as vscode from "vscode";

import type { SetupModel, SetupParams, SetupProvider, SetupResult } from "../protocol/types.js";
import { type CommandFailure, lacksModel } from "./connection.js";
import type { CommandTable, House } from "./house.js";
import { useTheSettings } from "./models.js";

/** The button under each message that there is no model. */
const SET_UP = "Set Up a Model";
const SHOW_FILE = "Show File";
const OTHER_KEY = "Give a Key…";
const ICONS = { ok: "$(pass)", warn: "$(warning)", fail: "$(error)" } as const;

export function setupCommands(house: House): CommandTable {
  const { connection, log, keys, view } = house;
  const outdate = (): Promise<void> => outdated(house, "the key counts");
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
    setUp: async () => {
      await setUp(house);
    },
    showLog: () => {
      log.show();
    },
    restart: () => connection.restart(),
    setKey: async () => {
      if (!(await keys.set())) return;
      house.milestones.reach("key");
      await outdate();
    },
    forgetKey: async () => {
      if (await keys.forget()) await outdate();
    },
    showView: (what) => view.show(what === "open" ? "open" : "composer"),
  };
}

/**
 * Lead from nothing to a model that answers. The server does the steps and writes its settings file, where it runs; leaving a
 * question ends it, and nothing is written before the last one. The key is kept in the editor's secret storage.
 *
 * @returns whether there is a model now
 */
export async function setUp(house: House): Promise<boolean> {
  const listed = await setupStep(house, { action: "list" });
  const provider = await pick(listed?.providers, "Outrider: which provider?", (one) => ({
    label: one.title,
    description: one.found ?? "",
  }));
  if (provider === undefined) return false;
  const reached = await modelsOf(house, provider, !provider.needsKey || provider.found !== undefined);
  if (reached === undefined) return false;
  const { given, models } = reached;
  const model = await pick(models, "Outrider: which model?", ({ name, contextWindow }) => ({
    label: name,
    description: contextWindow === undefined ? "" : `${contextWindow.toLocaleString()} tokens`,
  }));
  if (model === undefined) return false;
  const chosen = { ...given, model: model.name };
  if ((await setupStep(house, { action: "try", ...chosen })) === undefined) return false;
  const keep = given.key === undefined ? {} : ({ keep: "client" } as const);
  const saved = await setupStep(house, { action: "save", ...chosen, ...keep });
  if (saved?.model === undefined) return false;
  // It was tried with its key, or needs none.
  for (const done of ["model", "key"] as const) house.milestones.reach(done);
  if (given.key !== undefined && given.apiKeyEnv !== undefined) await house.keys.keep(given.apiKeyEnv, given.key);
  // One that was chosen for this workspace before would be used in its place.
  await useTheSettings(house);
  void tellOfSaved(saved);
  return true;
}

async function tellOfSaved({ model = "", note, file = "" }: SetupResult): Promise<void> {
  const but = note === undefined ? "" : `, but ${note}`;
  const said = `Outrider: ${model} is used from the next task on${but}. Written to ${file}.`;
  if ((await vscode.window.showInformationMessage(said, SHOW_FILE)) === SHOW_FILE)
    await vscode.window.showTextDocument(vscode.Uri.file(file));
}

/**
 * Do something that needs a model. If no model is set, a message leads to the set-up, and it is done afterwards.
 *
 * @param left what is done where the user does not come to a model
 */
export async function withModel(house: House, act: () => Promise<unknown>, left?: () => void): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!lacksModel(error)) throw error;
    await offerModel(house, error, () => withModel(house, act, left), left);
  }
}

/**
 * Say that there is no model, and lead to one.
 *
 * @param again done where the user comes to a model
 * @param left done where not
 */
export async function offerModel(
  house: House,
  failure: CommandFailure,
  again: () => Promise<unknown>,
  left?: () => void,
): Promise<void> {
  house.log.error(failure.message);
  const chosen = await vscode.window.showErrorMessage(`Outrider: ${failure.message}`, SET_UP);
  if (chosen === SET_UP && (await setUp(house))) await again();
  else left?.();
}

/** A provider as it is reached. */
type Reached = Pick<SetupParams, "provider" | "key" | "apiKeyEnv">;

/**
 * The models of a provider, and how it is reached. Where it says no, another key may be what it wants.
 *
 * @param hasKey whether none is asked for at first
 */
async function modelsOf(
  house: House,
  provider: SetupProvider,
  hasKey: boolean,
): Promise<{ readonly given: Reached; readonly models: readonly SetupModel[] } | undefined> {
  const given = await keyFor(provider, hasKey);
  if (given === undefined) return undefined;
  const { result, problem } = await ask(house, { action: "models", ...given });
  if (problem === undefined) return { given, models: result.models ?? [] };
  const buttons = provider.needsKey ? [OTHER_KEY] : [];
  const chosen = await vscode.window.showErrorMessage(nothingWritten(problem), ...buttons);
  return chosen === OTHER_KEY ? modelsOf(house, provider, false) : undefined;
}

/**
 * A provider with the key that the user pastes; undefined where they leave.
 *
 * @param hasKey whether none is asked for
 */
async function keyFor({ name, title, apiKeyEnv }: SetupProvider, hasKey: boolean): Promise<Reached | undefined> {
  if (hasKey) return { provider: name };
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
async function setupStep(house: House, params: SetupParams): Promise<SetupResult | undefined> {
  const { result, problem } = await ask(house, params);
  if (problem === undefined) return result;
  void vscode.window.showErrorMessage(nothingWritten(problem));
  return undefined;
}

async function ask(
  { connection }: House,
  params: SetupParams,
): Promise<{ readonly result: SetupResult; readonly problem: string | undefined }> {
  const options = { location: vscode.ProgressLocation.Notification, title: "Outrider: setting up…" };
  const result = await vscode.window.withProgress(options, () => connection.execute("outrider.setup", params));
  return { result, problem: result.problem ?? (result.trial?.ok === false ? result.trial.detail : undefined) };
}

function nothingWritten(problem: string): string {
  return `Outrider: ${problem}. Nothing was written.`;
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
  else await connection.readModel();
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
  return connection.state === "running" && book.isAtWork;
}
