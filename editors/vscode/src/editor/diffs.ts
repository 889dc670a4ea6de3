/** The two sides of the diff of a proposed change, as files of a scheme of their own. The right one can be written in. */

import * as vscode from "vscode";

import { withHunks, withMark, withoutMark } from "../core/hunks.js";
import { type ItemHunk, type Reviews, asDecided, hunksOf } from "../core/review.js";
import { type Shown, rewritten } from "../core/rewrite.js";
import type { OpenItem } from "../core/session.js";
import type { EditProposed } from "../protocol/types.js";
import { textOf, uriOf } from "./places.js";

export const PROPOSAL = "outrider-proposal";

// With it a file is read as UTF-8, whatever the settings say of files.
const MARK = "\ufeff";

/** A proposed change, and the item that is to be answered for it. */
export interface Proposed {
  readonly item: OpenItem;
  readonly change: EditProposed;
}

/** What the right side was made of when it was shown last. */
interface Made {
  readonly before: string;
  readonly hunks: readonly Shown[];
  /** Of the free hunks. */
  readonly free: readonly ItemHunk[];
}

export class Diffs implements vscode.FileSystemProvider {
  private readonly files = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.files.event;
  private readonly lastGood = new Map<string, string>();
  private readonly made = new Map<string, Made>();
  private readonly versions = new Map<string, number>();

  /**
   * @param find the change that a side is of; undefined where it is decided
   * @param reviews what is decided about hunks, and written in their place
   */
  constructor(
    private readonly find: (uri: vscode.Uri) => Proposed | undefined,
    private readonly reviews: Reviews,
  ) {}

  dispose(): void {
    this.files.dispose();
  }

  /** Open the diff of a change. */
  async open(proposed: Proposed, options: vscode.TextDocumentShowOptions): Promise<void> {
    const [before, after] = [sideUri(proposed, "before"), sideUri(proposed, "after")];
    await vscode.commands.executeCommand("vscode.diff", before, after, `${proposed.change.path} (proposed)`, options);
  }

  /** Show a change as it stands now. What was written in the diff is in it already. */
  async refresh(proposed: Proposed): Promise<void> {
    const sides = [sideUri(proposed, "before"), sideUri(proposed, "after")].map(String);
    const shown = vscode.workspace.textDocuments.filter(({ uri }) => sides.includes(uri.toString()));
    // An editor does not read anew what it thinks unsaved.
    for (const document of shown.filter(({ isDirty }) => isDirty)) {
      // One that came back with its window was not made here.
      if (!this.made.has(document.uri.toString())) await this.readFile(document.uri);
      await document.save();
    }
    for (const key of sides) this.versions.set(key, this.version(key) + 1);
    this.files.fire(sides.map((key) => ({ type: vscode.FileChangeType.Changed, uri: vscode.Uri.parse(key) })));
  }

  /**
   * Take what the user wrote in the right side.
   *
   * @returns whether it is something new; undefined where something else than hunks was changed
   */
  take(document: vscode.TextDocument): boolean | undefined {
    const proposed = this.find(document.uri);
    const made = this.made.get(document.uri.toString());
    if (proposed === undefined || made === undefined) return false;
    const texts = rewritten(made.before, made.hunks, document.getText());
    if (texts === undefined) return undefined;
    const news = made.free.map((hunk, index) =>
      this.reviews.rewrite(proposed.item, hunk, withMark(texts[index] ?? "", hunk.hunk)),
    );
    return news.includes(true);
  }

  /** Whether something was written in a diff of an item that can be no part of the edit. */
  hasStray(item: OpenItem): boolean {
    return vscode.workspace.textDocuments.some(
      (document) =>
        document.uri.scheme === PROPOSAL &&
        document.isDirty &&
        this.find(document.uri)?.item.id === item.id &&
        this.take(document) === undefined,
    );
  }

  /** Close the diffs of what is decided. */
  async closeDecided(preserveFocus: boolean): Promise<void> {
    const tabs = vscode.window.tabGroups.all
      .flatMap((group) => group.tabs)
      .filter(
        ({ input }) =>
          input instanceof vscode.TabInputTextDiff &&
          input.modified.scheme === PROPOSAL &&
          this.find(input.modified) === undefined,
      );
    for (const tab of tabs) await this.forget((tab.input as vscode.TabInputTextDiff).modified);
    if (tabs.length > 0) await vscode.window.tabGroups.close(tabs, preserveFocus);
    const keys = [this.lastGood, this.made, this.versions].flatMap((known) => [...known.keys()]);
    const gone = [...new Set(keys)].filter((key) => this.find(vscode.Uri.parse(key)) === undefined);
    for (const known of [this.lastGood, this.made, this.versions]) for (const key of gone) known.delete(key);
    // Else the editor offers them among the files of late.
    this.files.fire(gone.map((key) => ({ type: vscode.FileChangeType.Deleted, uri: vscode.Uri.parse(key) })));
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined);
  }

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    const { text } = await this.render(uri);
    const size = encoded(text).length;
    const stat = { type: vscode.FileType.File, ctime: 0, mtime: this.version(uri.toString()), size };
    return this.isFree(uri) ? stat : { ...stat, permissions: vscode.FilePermission.Readonly };
  }

  async readFile(uri: vscode.Uri): Promise<Uint8Array> {
    const { text, made } = await this.render(uri);
    if (made !== undefined) this.made.set(uri.toString(), made);
    return encoded(text);
  }

  writeFile(uri: vscode.Uri): void {
    const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri.toString());
    // What is decided already is only closed.
    if (document !== undefined && this.take(document) === undefined)
      throw vscode.FileSystemError.NoPermissions("only the proposed lines can be rewritten here");
  }

  readDirectory(uri: vscode.Uri): [string, vscode.FileType][] {
    throw vscode.FileSystemError.FileNotADirectory(uri);
  }

  createDirectory(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  delete(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  rename(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  private version(key: string): number {
    return this.versions.get(key) ?? 1;
  }

  private isFree(uri: vscode.Uri): boolean {
    const proposed = this.find(uri);
    // One that is decided is saved once more before it is closed: an editor refuses that where it can only be read.
    if (proposed === undefined) return this.made.has(uri.toString());
    return !isBefore(uri) && proposed.change.operation !== "delete";
  }

  /** Have the editor think that nothing is unsaved in a diff that is to be closed. */
  private async forget(uri: vscode.Uri): Promise<void> {
    const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri.toString());
    if (document?.isDirty === true) await document.save();
  }

  /** A side as it is now, and what it is made of. */
  private async render(uri: vscode.Uri): Promise<{ text: string; made: Made | undefined }> {
    const key = uri.toString();
    const proposed = this.find(uri);
    const target = proposed === undefined ? undefined : uriOf(proposed.change.path);
    const now = target === undefined ? undefined : await textOf(target);
    const side = proposed === undefined ? undefined : this.sideOf(uri, proposed, now);
    if (side?.text !== undefined) this.lastGood.set(key, side.text);
    // Where the text is not what the change was worked out for any more, it will be asked again if it is allowed.
    return { text: side?.text ?? this.lastGood.get(key) ?? "", made: side?.made };
  }

  /** One side of a diff, from the text of the file; no text where the change does not fit it. */
  private sideOf(
    uri: vscode.Uri,
    { item, change }: Proposed,
    text: string | undefined,
  ): { text: string | undefined; made?: Made } {
    const before = change.operation === "create" ? "" : text;
    if (isBefore(uri) || before === undefined) return { text: before };
    const hunks = asDecided(this.reviews, item, change.changeId).map(withoutMark);
    const ours = hunksOf(item).filter((hunk) => hunk.change.changeId === change.changeId);
    const isOut = (hunk: ItemHunk | undefined): boolean =>
      hunk !== undefined && this.reviews.verdict(item, hunk) === "left out";
    if (change.operation === "delete") return { text: isOut(ours[0]) ? before : "" };
    const after = withHunks(before, hunks);
    if (after === undefined) return { text: after };
    const shown = hunks.map((hunk, index) => ({ hunk, isFree: !isOut(ours[index]) }));
    return { text: after, made: { before, hunks: shown, free: ours.filter((hunk) => !isOut(hunk)) } };
  }
}

function encoded(text: string): Uint8Array {
  return new TextEncoder().encode(MARK + text);
}

/** The document of a side of a diff. */
export function sideUri({ item, change }: Proposed, side: "before" | "after"): vscode.Uri {
  const query = new URLSearchParams({ item: item.id, change: change.changeId, side }).toString();
  return vscode.Uri.from({ scheme: PROPOSAL, path: `/${change.path.replace(/^\//, "")}`, query });
}

export function isBefore(uri: vscode.Uri): boolean {
  return uri.scheme === PROPOSAL && new URLSearchParams(uri.query).get("side") === "before";
}
