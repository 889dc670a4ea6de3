/** Open items and their answers: messages that point at them, a list to choose from, and the way of an answer to the server. */

import * as vscode from "vscode";

import type { SessionBook } from "../core/book.js";
import { type Question, headOfAll, questionIdOf, questionsOf } from "../core/groups.js";
import { meaningsOf } from "../core/options.js";
import type { Reviews } from "../core/review.js";
import { Inert, chosenAfterReading } from "../core/inert.js";
import { type OpenItem, type SessionState, canReview, diffsOf, headOf } from "../core/session.js";
import {
  ALWAYS_EVERYWHERE,
  ALWAYS_HERE,
  REJECT,
  REJECT_ALL,
  REVIEW,
  SAVE_AND_CONTINUE,
  type Decision,
  allowAll,
  decisionOf,
  isYes,
  yesAndNo,
} from "../core/titles.js";
import { type Sight, pointSoon } from "../core/sight.js";
import { oneLine, ruleText } from "../core/words.js";
import type { AnswerParams, Open } from "../protocol/types.js";
import { CommandFailure, type Connection } from "./connection.js";
import { uriOf } from "./places.js";
import type { Proposals } from "./proposals.js";
import { saveOne } from "./saving.js";

const SHOW = "Show";
const OTHER = "Something else…";
const TOO_EARLY = "Outrider: that answer came too quickly to have read the question. Answer once more.";
const HINT_MILLISECONDS = 6000;

export class Answers {
  private readonly seen = new Set<string>();
  private readonly inert = new Inert(Date.now);
  private readonly settling = new Map<string, (() => void)[]>();

  /**
   * @param sight whether the user sees the session view
   */
  constructor(
    private readonly book: SessionBook,
    private readonly reviews: Reviews,
    private readonly connection: Connection,
    private readonly proposals: Proposals,
    private readonly sight: () => Sight,
    private readonly log: Pick<vscode.LogOutputChannel, "info">,
  ) {}

  /** Every open item, that of the session that is looked at first. */
  get open(): OpenItem[] {
    return this.questions.flat();
  }

  /** All that is asked, in the same order; the edits of one step are one question. */
  get questions(): Question[] {
    const current = this.book.current;
    const others = this.book.all.filter((session) => session !== current);
    return [...(current === undefined ? [] : [current]), ...others].flatMap((session) =>
      questionsOf(session.open.values()),
    );
  }

  /** The question that an open item is a part of. */
  questionOf(item: OpenItem): Question {
    return this.questions.find((question) => question.includes(item)) ?? [item];
  }

  find(id: string): OpenItem | undefined {
    return this.open.find((item) => item.id === id);
  }

  /** Look at what a session asks now: point at what is new, let go of what is answered. */
  update(session: SessionState): void {
    for (const item of session.open.values()) {
      if (this.seen.has(item.id)) continue;
      const question = questionIdOf(item);
      const isPointedAt = this.seen.has(question);
      this.seen.add(item.id).add(question);
      this.inert.appeared(item.id);
      if (!isPointedAt) this.pointSoon(question);
    }
    for (const [id, waiting] of this.settling) {
      if (this.find(id) !== undefined) continue;
      this.settling.delete(id);
      for (const done of waiting) done();
    }
  }

  /** Ask again for all that is open: the server is a new one. */
  restart(): void {
    this.seen.clear();
    for (const waiting of this.settling.values()) for (const done of waiting) done();
    this.settling.clear();
  }

  /** Ask what belongs to no step, such as whether a folder is trusted; it is in no session. Esc is no answer. */
  async askApart(item: Open, token: vscode.CancellationToken): Promise<{ answer: string } | null> {
    const titles = item.options ?? [];
    const { of, rest } = meaningsOf(titles, item.detail ?? "");
    const options = { title: `Outrider: ${oneLine(item.title, 200)}`, placeHolder: oneLine(rest, 300) };
    const chosen = await chosenAfterReading(
      Date.now,
      () => vscode.window.showQuickPick(picksOf(titles, of), { ...options, ignoreFocusOut: true }, token),
      ({ label }) => isYes(label),
    );
    return chosen === undefined ? null : { answer: chosen.label };
  }

  /** Resolves when an item is not open any more. */
  settled(id: string): Promise<void> {
    if (this.find(id) === undefined) return Promise.resolve();
    return new Promise((resolve) => {
      this.settling.set(id, [...(this.settling.get(id) ?? []), resolve]);
    });
  }

  /**
   * Decide on an approval, or on several edits at once: on exactly those that the user was shown.
   * For one that is to hold always the user sees the rules and says where; Esc leaves it open.
   */
  async decide(ids: readonly string[], decision: Decision, note = ""): Promise<void> {
    const items = ids.flatMap((id) => this.find(id) ?? []);
    const options = items[0]?.options ?? [];
    if (options.length > 0 && !options.some((title) => decisionOf(title) === decision)) {
      const [yes, no] = yesAndNo(options);
      void vscode.window.showInformationMessage(`Outrider: the answers here are “${yes}” and “${no}”.`);
      return;
    }
    if (decision !== "reject" && ids.filter((id) => !this.inert.takesYes(id)).length > 0) {
      vscode.window.setStatusBarMessage(TOO_EARLY, HINT_MILLISECONDS);
      return;
    }
    const stray = decision === "reject" ? undefined : items.find((item) => this.proposals.hasStray(item));
    if (stray !== undefined) {
      await this.tellOfStray(stray);
      return;
    }
    // Of several those that were answered meanwhile are left out; of what is all answered the server says so.
    const left = items.length > 0 ? items.map(({ id }) => id) : ids;
    for (const id of left) await this.decideOne(id, decision, note);
  }

  private async decideOne(id: string, decision: Decision, note: string): Promise<void> {
    const item = this.find(id);
    if (item !== undefined && decision !== "reject" && this.reviews.hasBegun(id)) {
      // What the user left out or rewrote stays so, and no yes for later can say that.
      if (decision === "allow_once") await this.send(this.reviews.answer(item, note));
      else
        void vscode.window.showInformationMessage(
          "Outrider: you decided about single hunks, so this can only be allowed once.",
        );
      return;
    }
    const params = { id, decision, ...(note.trim() === "" ? {} : { note: note.trim() }) };
    if (decision !== "allow_always") {
      await this.send(params);
      return;
    }
    const scope = await this.where(id);
    if (scope !== undefined) await this.send({ ...params, scope });
  }

  /** Show what is asked about: in diffs where hunks can be decided about and rewritten, else in a document. */
  async review(items: readonly OpenItem[]): Promise<void> {
    const [item] = items;
    if (item === undefined) return;
    if (items.some((one) => diffsOf(one).length > 0)) await this.proposals.showDiffs(items);
    else if (canReview(item)) await this.connection.execute("outrider.open", { what: "review", id: item.id });
    else await vscode.commands.executeCommand("outrider.client.showView", "open");
  }

  private async tellOfStray(item: OpenItem): Promise<void> {
    const chosen = await vscode.window.showWarningMessage(
      "Outrider: in the diff you changed more than the proposed lines, which cannot be a part of this edit. Take that back there, and write it in the file itself.",
      REVIEW,
    );
    if (chosen === REVIEW) await this.review([item]);
  }

  private async where(id: string): Promise<AnswerParams["scope"]> {
    const rules = (this.find(id)?.always ?? []).map(ruleText);
    const detail = rules.map((rule) => `allow ${rule}`).join(" · ");
    const picked = await chosenAfterReading(
      Date.now,
      () =>
        vscode.window.showQuickPick(
          [
            { label: ALWAYS_HERE, detail, scope: "workspace" as const },
            { label: ALWAYS_EVERYWHERE, detail, scope: "everywhere" as const },
          ],
          { title: "Always allow exactly this?", ignoreFocusOut: true },
        ),
      () => true,
    );
    return picked?.scope;
  }

  /** Answer a question, or give the result of a tool. To save and go on saves what the session changed. */
  async answer(id: string, answer: string): Promise<void> {
    const session = this.book.all.find((session) => session.open.has(id));
    // What another process changed is in its buffers, and is saved there.
    if (answer === SAVE_AND_CONTINUE && session !== undefined && session.away !== "joined") {
      const unsaved: string[] = [];
      for (const path of session.changes.touched) {
        const uri = uriOf(path);
        const problem = uri === undefined ? undefined : await keptOffDisk(uri);
        if (problem !== undefined) unsaved.push(`${path} (${problem})`);
      }
      if (unsaved.length > 0) {
        // The server would wait for it without a word of why; so the question stays.
        void vscode.window.showWarningMessage(
          `Outrider: the editor could not save ${unsaved.join(", ")}. Save it in another way and choose again, or run without saving.`,
        );
        return;
      }
    }
    await this.send({ id, answer });
  }

  /** Take one of the titles of a question for an answer. */
  private async take(question: Question, title: string): Promise<void> {
    const [item] = question;
    const ids = question.map(({ id }) => id);
    const decision = item.kind === "approval" ? decisionOf(title) : undefined;
    if (decision !== undefined) await this.decide(ids, decision);
    else if (item.kind !== "approval") await this.answer(item.id, title);
  }

  /** Let the user choose what is asked and answer it: all edits of a step, or one of them. */
  async choose(): Promise<void> {
    const questions = this.questions.flatMap((question): Question[] =>
      question.length === 1 ? [question] : [question, ...question.map((item): Question => [item])],
    );
    const [first] = questions;
    if (first === undefined) {
      void vscode.window.showInformationMessage("Outrider waits for nothing.");
      return;
    }
    const sessions = this.book.all.filter((session) => session.open.size > 0);
    const picks = questions.map((question) => {
      const [{ id, kind }] = question;
      const title = sessions.length > 1 ? sessions.find((session) => session.open.has(id))?.title : undefined;
      const description = [kind, title ?? ""].filter(Boolean).join(" · ");
      return { label: oneLine(headOfAll(question), 120), description, question };
    });
    const picked =
      questions.length === 1
        ? { question: first }
        : await vscode.window.showQuickPick(picks, { title: "Answer what?" });
    if (picked !== undefined) await this.ask(picked.question);
  }

  private async ask(question: Question): Promise<void> {
    const [item] = question;
    const options =
      question.length > 1
        ? [allowAll(question.length), REJECT_ALL]
        : (item.options ?? []).filter((title) => item.kind !== "approval" || decisionOf(title) !== undefined);
    const more = [
      ...(question.some(canReview) ? [REVIEW] : []),
      ...(item.allowFreeForm || item.kind === "tool" ? [OTHER] : []),
    ];
    const isQuestion = question.length === 1 && item.kind === "question";
    const { of, rest } = meaningsOf(isQuestion ? options : [], item.detail ?? "");
    const chosen =
      options.length + more.length === 1 && more[0] === OTHER
        ? OTHER
        : (
            await chosenAfterReading(
              Date.now,
              () =>
                vscode.window.showQuickPick(picksOf([...options, ...more], of), {
                  title: oneLine(headOfAll(question), 200),
                  placeHolder: oneLine(question.length > 1 ? headsOf(question) : rest, 200),
                  ignoreFocusOut: true,
                }),
              ({ label }) => isYes(label) && label !== OTHER,
            )
          )?.label;
    if (chosen === undefined) return;
    if (chosen === REVIEW) await this.review(question);
    else if (chosen === REJECT || chosen === REJECT_ALL) await this.reject(question);
    else if (chosen === OTHER) {
      const text = await vscode.window.showInputBox({ title: oneLine(headOf(item), 200), ignoreFocusOut: true });
      if (text) await this.answer(item.id, text);
    } else await this.take(question, chosen);
  }

  /** Reject an approval, or several edits, with a reason that the model is told if the user gives one. Esc leaves it open. */
  async reject(question: Question): Promise<void> {
    const note = await vscode.window.showInputBox({
      title: `Reject: ${oneLine(headOfAll(question), 120)}`,
      prompt: "What the model is told; leave it empty to say nothing",
      ignoreFocusOut: true,
    });
    const ids = question.map(({ id }) => id);
    if (note !== undefined) await this.decide(ids, "reject", note);
  }

  /** Point at a question where the view does not show it. */
  private pointSoon(id: string): void {
    const find = (): Question | undefined => this.questions.find(([first]) => questionIdOf(first) === id);
    pointSoon(
      setTimeout,
      () => (find() === undefined ? undefined : this.sight()),
      (isShown) => {
        const question = find();
        if (question !== undefined && wants(isShown && this.book.current?.open.has(question[0].id) === true))
          void this.point(question);
      },
    );
  }

  private async point(question: Question): Promise<void> {
    const [item] = question;
    const options = item.options ?? [];
    const [yes, no] = question.length > 1 ? [allowAll(question.length), REJECT_ALL] : yesAndNo(options);
    const buttons =
      item.kind === "approval"
        ? [yes, question.some(canReview) ? REVIEW : SHOW, no]
        : options.length > 0 && options.length <= 3
          ? [...options]
          : [SHOW];
    const about = question.length > 1 ? `${headOfAll(question)}: ${headsOf(question)}` : headOf(item);
    const chosen = await chosenAfterReading(
      Date.now,
      () => vscode.window.showInformationMessage(`Outrider: ${oneLine(about, 300)}`, ...buttons),
      (title) => isYes(title) && title !== SHOW,
    );
    if (chosen === undefined) return;
    // The editor cannot take a message down, so it may be there when the items are not.
    const [first, ...rest] = question.filter(({ id }) => this.find(id) !== undefined);
    if (first === undefined) {
      this.tellOfLate(item, chosen);
      return;
    }
    if (chosen === REVIEW) await this.review([first, ...rest]);
    else if (chosen === SHOW && !options.includes(SHOW))
      await vscode.commands.executeCommand("outrider.client.answerPending");
    else await this.take([first, ...rest], chosen);
  }

  /** The first answer counted. The server is not asked again: it would take this one for none as well. */
  private tellOfLate(item: OpenItem, chosen: string): void {
    this.log.info(`“${chosen}” came late to ${item.id}, which was already answered`);
    void vscode.window.showInformationMessage(
      `Outrider: this was already answered, so “${chosen}” changes nothing: ${oneLine(headOf(item), 200)}`,
    );
  }

  private async send(params: AnswerParams): Promise<void> {
    try {
      await this.connection.execute("outrider.answer", params);
    } catch (error) {
      if (error instanceof CommandFailure && ["already_resolved", "unknown_id"].includes(error.reason)) {
        void vscode.window.showInformationMessage("Outrider: that is answered already.");
        return;
      }
      throw error;
    }
  }
}

/** Titles to choose from, each with what it means where that is known. */
function picksOf(titles: readonly string[], meanings: ReadonlyMap<string, string>): vscode.QuickPickItem[] {
  return titles.map((label) => ({ label, ...detailOf(meanings.get(label)) }));
}

function detailOf(meaning: string | undefined): { detail?: string } {
  return meaning === undefined ? {} : { detail: oneLine(meaning, 300) };
}

/** What each edit of a question is about. */
function headsOf(question: Question): string {
  return question.map(headOf).join(", ");
}

/** Save what is open. Gives what keeps it from the disk, in words; undefined if nothing does. */
async function keptOffDisk(uri: vscode.Uri): Promise<string | undefined> {
  const document = vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri.toString());
  return document === undefined || document.isUntitled ? undefined : saveOne(uri);
}

function wants(isShown: boolean): boolean {
  const when = vscode.workspace.getConfiguration("outrider").get<string>("messages", "whenHidden");
  return when === "always" || (when === "whenHidden" && !isShown);
}
