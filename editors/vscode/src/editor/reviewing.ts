/** Commands that decide about an edit hunk by hunk, and bring the user to where they can rewrite one. */

import * as vscode from "vscode";

import { chosenAfterReading } from "../core/inert.js";
import { type ItemHunk, type Reviews, hunksOf, nextOf } from "../core/review.js";
import type { OpenItem } from "../core/session.js";
import type { Answers } from "./answers.js";
import type { CommandTable, House } from "./house.js";
import type { Proposals } from "./proposals.js";

const HINT_MILLISECONDS = 6000;

interface Meant {
  readonly item: OpenItem;
  readonly hunk: ItemHunk;
}

export function reviewCommands({ answers, proposals, reviews, view }: House): CommandTable {
  const decide = async ({ item, hunk }: Meant, decision: "take" | "reject", reason = ""): Promise<void> => {
    const isInDiff = proposals.isInDiff;
    reviews.decide(item, hunk, decision, reason);
    proposals.decided(item);
    view.update();
    const left = reviews.left(item);
    if (left.length === 0) {
      await answers.decide([item.id], "allow_once");
      if (isInDiff) await goOn(item);
      return;
    }
    const next = nextOf(left, hunk.number, 1);
    if (next === undefined) return;
    if (next.change.operation === "rename") await rename({ item, hunk: next });
    else if (isLookedAt(proposals, item)) await proposals.go(item, next);
  };

  /** Bring the next edit of the step before the user, who is at the diffs. */
  const goOn = async (decided: OpenItem): Promise<void> => {
    const others = answers.questionOf(decided).filter(({ id }) => id !== decided.id);
    const next = others.find((item) => reviews.left(item).some(({ change }) => change.operation !== "rename"));
    const [hunk] = next === undefined ? [] : reviews.left(next).filter(({ change }) => change.operation !== "rename");
    if (next !== undefined && hunk !== undefined) await proposals.goInDiff(next, hunk);
  };

  /** A file's new name stands at no line, so it is asked about. */
  const rename = async (meant: Meant): Promise<void> => {
    const { path, to } = meant.hunk.change;
    const take = `$(check) Take: rename ${path} to ${to ?? ""}`;
    const picked = await chosenAfterReading(
      Date.now,
      () =>
        vscode.window.showQuickPick([take, "$(circle-slash) Leave out"], {
          title: "The file would get another name",
          ignoreFocusOut: true,
        }),
      (choice) => choice === take,
    );
    if (picked !== undefined) await decide(meant, picked === take ? "take" : "reject");
  };

  const withHunk =
    (act: (meant: Meant) => Promise<void>) =>
    async (itemId: unknown, hunkId: unknown): Promise<void> => {
      // A lens of what is decided already may still stand there: no other hunk is meant by it.
      const isNamed = typeof itemId === "string";
      const meant = isNamed ? named(answers, itemId, hunkId) : await wanted(answers, proposals, reviews);
      if (isNamed && meant === undefined) nothing();
      if (meant === undefined) return;
      proposals.deciding();
      await act(meant);
    };

  const move = (step: 1 | -1) => async (): Promise<void> => {
    const item = edit(answers, proposals);
    const found = item === undefined ? undefined : neighbour(answers, proposals, reviews, item, step);
    if (found === undefined) nothing();
    else await proposals.go(found.item, found.hunk);
  };

  return {
    acceptHunk: withHunk((meant) => decide(meant, "take")),
    rejectHunk: withHunk((meant) => decide(meant, "reject")),
    rejectHunkBecause: withHunk(async (meant) => {
      const reason = await vscode.window.showInputBox({
        title: `Leave out hunk ${String(meant.hunk.number)}`,
        prompt: "Why? The model is told.",
        ignoreFocusOut: true,
      });
      if (reason !== undefined) await decide(meant, "reject", reason);
    }),
    rewriteHunk: withHunk(async ({ item, hunk }) => {
      if (["delete", "rename"].includes(hunk.change.operation ?? "edit"))
        void vscode.window.showInformationMessage("Outrider: this hunk puts in no lines that could be rewritten.");
      else await proposals.goInDiff(item, hunk);
    }),
    nextHunk: move(1),
    previousHunk: move(-1),
  };
}

/** The next hunk in a direction: of the same edit, then of the next one of its step, round and round. */
function neighbour(
  answers: Answers,
  proposals: Proposals,
  reviews: Reviews,
  item: OpenItem,
  step: 1 | -1,
): Meant | undefined {
  const placed = (one: OpenItem): ItemHunk[] => hunksOf(one).filter(({ change }) => change.operation !== "rename");
  const hunks = placed(item);
  const number = around(proposals, reviews, item, step);
  const isLast = number !== undefined && !hunks.some((hunk) => (hunk.number - number) * step > 0);
  const edits = answers.questionOf(item).filter((one) => placed(one).length > 0);
  const next = isLast ? edits.at((edits.indexOf(item) + step) % edits.length) : item;
  const hunk = next === undefined ? undefined : nextOf(placed(next), isLast ? undefined : number, step);
  return next === undefined || hunk === undefined ? undefined : { item: next, hunk };
}

/** The hunk that a lens names. */
function named(answers: Answers, itemId: string, hunkId: unknown): Meant | undefined {
  const item = answers.find(itemId);
  const hunk = item && hunksOf(item).find(({ id }) => id === hunkId);
  return item === undefined || hunk === undefined ? undefined : { item, hunk };
}

/** The edit that the user looks at, else the one that has waited longest. */
function edit(answers: Answers, proposals: Proposals): OpenItem | undefined {
  return proposals.looked ?? answers.open.find((item) => item.proposals.length > 0);
}

/** The hunk at the cursor. Where there is none the next one is shown first, and nothing is done with it. */
async function wanted(answers: Answers, proposals: Proposals, reviews: Reviews): Promise<Meant | undefined> {
  const here = atCursor(proposals, reviews);
  if (here !== undefined) return here;
  const item = edit(answers, proposals);
  const left = item === undefined ? [] : reviews.left(item);
  const hunk = nextOf(left, item === undefined ? undefined : around(proposals, reviews, item, 1), 1);
  if (item === undefined || hunk === undefined) {
    nothing();
    return undefined;
  }
  await proposals.go(item, hunk);
  vscode.window.setStatusBarMessage(
    `Outrider: hunk ${String(hunk.number)} of ${String(hunksOf(item).length)}. The same keys again decide about it.`,
    HINT_MILLISECONDS,
  );
  return undefined;
}

function atCursor(proposals: Proposals, reviews: Reviews): Meant | undefined {
  const editor = vscode.window.activeTextEditor;
  const line = editor?.selection.active.line ?? 0;
  const standing = editor === undefined ? [] : proposals.standing(editor.document);
  const here = standing.filter(({ place }) => place.line <= line && line < place.line + Math.max(1, place.count));
  // Of two at one line the one that is not decided yet is meant.
  return here.find(({ item, hunk }) => reviews.verdict(item, hunk) === "open") ?? here[0];
}

/** The number from which the next hunk is looked for: that at the cursor, else of the one before it, or after it. */
function around(proposals: Proposals, reviews: Reviews, item: OpenItem, step: 1 | -1): number | undefined {
  const here = atCursor(proposals, reviews);
  if (here?.item.id === item.id) return here.hunk.number;
  const editor = vscode.window.activeTextEditor;
  const line = editor?.selection.active.line ?? 0;
  const standing = (editor === undefined ? [] : proposals.standing(editor.document)).filter(
    (one) => one.item.id === item.id,
  );
  const above = standing.filter(({ place }) => place.line < line).at(-1)?.hunk.number;
  const below = standing.find(({ place }) => place.line > line)?.hunk.number;
  return step === 1 ? (above ?? (below === undefined ? undefined : below - 1)) : (below ?? above);
}

function isLookedAt(proposals: Proposals, item: OpenItem): boolean {
  const editor = vscode.window.activeTextEditor;
  return editor !== undefined && proposals.standing(editor.document).some((one) => one.item.id === item.id);
}

function nothing(): void {
  void vscode.window.showInformationMessage("Outrider: no edit waits for a decision.");
}
