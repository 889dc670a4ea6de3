/**
 * What stands between the lines of a file: the lines that a hunk puts in. VS Code lets an extension put nothing else there
 * than comments, so each is a comment, which nobody can answer and nobody keeps.
 */

import * as vscode from "vscode";

import { putIn } from "../core/hunks.js";
import { visible } from "../core/visible.js";
import type { WireHunk } from "../protocol/types.js";

const CONTROLLER = "outrider";
/** Of how many lines of a hunk so much is shown; the diff has all of them. */
const MOST_LINES = 200;

/** A hunk that is shown between the lines of a document. */
export interface Between {
  readonly uri: vscode.Uri;
  readonly hunk: WireHunk;
  /** The line that it stands below, from 0. */
  readonly below: number;
  readonly title: string;
}

interface Shown {
  readonly thread: vscode.CommentThread;
  readonly text: string;
}

export class BetweenLines implements vscode.Disposable {
  private readonly controller = vscode.comments.createCommentController(CONTROLLER, "Outrider");
  private readonly shown = new Map<string, Shown>();

  /** Show these hunks, and no others. */
  show(hunks: readonly Between[]): void {
    const wanted = new Map(hunks.map((one) => [`${one.uri.toString()} ${String(one.below)} ${one.title}`, one]));
    for (const [key, { thread, text }] of this.shown) {
      const one = wanted.get(key);
      if (one !== undefined && textOf(one.hunk) === text) continue;
      thread.dispose();
      this.shown.delete(key);
    }
    for (const [key, one] of wanted) {
      if (this.shown.has(key)) continue;
      const text = textOf(one.hunk);
      const comment: vscode.Comment = {
        author: { name: one.title },
        body: new vscode.MarkdownString().appendCodeblock(text, "diff"),
        mode: vscode.CommentMode.Preview,
      };
      const range = new vscode.Range(one.below, 0, one.below, 0);
      const thread = this.controller.createCommentThread(one.uri, range, [comment]);
      thread.canReply = false;
      thread.label = "Outrider proposes";
      thread.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
      this.shown.set(key, { thread, text });
    }
  }

  dispose(): void {
    this.controller.dispose();
  }
}

function textOf(hunk: WireHunk): string {
  return visible(putIn(hunk, MOST_LINES));
}
