/** Commands that answer what is open: at the lines, in a diff, by key, from a list. */

import * as vscode from "vscode";

import type { Question } from "../core/groups.js";
import type { CommandTable, House } from "./house.js";

export function decidingCommands({ answers, proposals }: House): CommandTable {
  // A lens names its item; a key means what the user looks at, else the question that has waited longest.
  const wanted = (id: unknown): Question | undefined => {
    const item = typeof id === "string" ? answers.find(id) : proposals.looked;
    if (item !== undefined) return [item];
    return typeof id === "string" ? undefined : answers.questions.find(([{ kind }]) => kind === "approval");
  };
  const withQuestion = (act: (question: Question) => Promise<void>) => async (id: unknown) => {
    const question = wanted(id);
    if (question === undefined) void vscode.window.showInformationMessage("Outrider: nothing waits for a decision.");
    else {
      proposals.deciding();
      await act(question);
    }
  };
  const idsOf = (question: Question): string[] => question.map(({ id }) => id);
  return {
    allow: withQuestion((question) => answers.decide(idsOf(question), "allow_once")),
    allowSession: withQuestion(async (question) => {
      const offered = question.every(({ options }) => (options ?? []).includes("Allow for this session"));
      if (offered && question.length === 1) await answers.decide(idsOf(question), "allow_session");
      else if (question.length === 1)
        void vscode.window.showInformationMessage("Outrider: this can only be allowed once.");
      else
        void vscode.window.showInformationMessage(
          "Outrider: edits of one step can only be allowed once. Open the diff of one of them to allow that file for the session.",
        );
    }),
    reject: withQuestion((question) => answers.reject(question)),
    review: withQuestion((question) => answers.review(question)),
    answerPending: () => answers.choose(),
  };
}
