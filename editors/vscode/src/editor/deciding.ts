/** Commands that answer what is open: at the lines, in a diff, by key, from a list. */

import * as vscode from "vscode";

import type { OpenItem } from "../core/session.js";
import type { CommandTable, House } from "./house.js";

export function decidingCommands({ answers, proposals }: House): CommandTable {
  // A lens names its item; a key means what the user looks at, else what has waited longest.
  const wanted = (id: unknown): OpenItem | undefined =>
    typeof id === "string"
      ? answers.find(id)
      : (proposals.looked ?? answers.open.find((item) => item.kind === "approval"));
  const withItem = (act: (item: OpenItem) => Promise<void>) => async (id: unknown) => {
    const item = wanted(id);
    if (item === undefined) void vscode.window.showInformationMessage("Outrider: nothing waits for a decision.");
    else {
      proposals.deciding();
      await act(item);
    }
  };
  return {
    allow: withItem((item) => answers.decide(item.id, "allow_once")),
    allowSession: withItem(async (item) => {
      const offered = (item.options ?? []).includes("Allow for this session");
      if (offered) await answers.decide(item.id, "allow_session");
      else void vscode.window.showInformationMessage("Outrider: this can only be allowed once.");
    }),
    reject: withItem((item) => answers.reject(item)),
    review: withItem((item) => answers.review(item)),
    answerPending: () => answers.choose(),
  };
}
