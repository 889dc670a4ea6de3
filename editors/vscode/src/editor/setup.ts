/** Commands that look after the extension itself. */

import * as vscode from "vscode";

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
