/** Commands that look after the extension itself. */

import * as vscode from "vscode";

import type { CommandTable, House } from "./house.js";

const ICONS = { ok: "$(pass)", warn: "$(warning)", fail: "$(error)" } as const;

export function setupCommands({ connection, log, keys, view }: House): CommandTable {
  const restartFor = async (changed: Promise<boolean>): Promise<void> => {
    if (await changed) await connection.restart();
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
  await house.connection.settingsChanged();
  if (house.connection.isOutdated) await restartUnlessBusy(house, "the new settings count");
}

/** Let a key count that was set or forgotten in another window. */
export async function keysChanged(house: House): Promise<void> {
  if (house.connection.state === "running") await restartUnlessBusy(house, "a key that another window changed counts");
}

async function restartUnlessBusy({ connection, book }: House, what: string): Promise<void> {
  if (book.all.some((session) => session.runningHere !== undefined)) {
    const now = "Restart Now";
    const said = `Outrider: ${what} once the server is started again. What is running goes on after that.`;
    if ((await vscode.window.showInformationMessage(said, now)) !== now) return;
  }
  await connection.restart();
}
