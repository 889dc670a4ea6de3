/** Proposed changes, before anything is written: their hunks at the lines of the file, and their diffs. */

import * as vscode from "vscode";

import type { SessionBook } from "../core/book.js";
import { fitsBeside, ghostsOf } from "../core/ghosts.js";
import { type Place, asDiff, countsOf, placeBefore, placesAfter, withoutMark } from "../core/hunks.js";
import { type ItemHunk, type Reviews, asDecided, hunksOf } from "../core/review.js";
import { type OpenItem, diffsOf } from "../core/session.js";
import { visible } from "../core/visible.js";
import type { EditProposed, WireHunk } from "../protocol/types.js";
import type { Between, BetweenLines } from "./between.js";
import { Diffs, PROPOSAL, type Proposed, isBefore } from "./diffs.js";
import { uriOf } from "./places.js";

const AGAIN_MILLISECONDS = 1500;

/** Where a hunk stands in an editor. */
export interface Standing {
  readonly item: OpenItem;
  readonly hunk: ItemHunk;
  readonly place: Place;
}

export class Proposals implements vscode.CodeLensProvider {
  private readonly lenses = new vscode.EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.lenses.event;
  private readonly diffs: Diffs;
  private readonly disposables: { dispose(): unknown }[];
  private readonly removed: vscode.TextEditorDecorationType;
  private readonly outlined: vscode.TextEditorDecorationType;
  private readonly added: vscode.TextEditorDecorationType;
  private shown = "";
  /** The document for which the user has asked for something, until it is proposed. */
  private awaited = "";
  private hasKeyboard = false;
  private again: NodeJS.Timeout | undefined;

  /** @param rewrote told when the user wrote something in the place of a hunk */
  constructor(
    private readonly book: SessionBook,
    private readonly reviews: Reviews,
    private readonly between: BetweenLines,
    private readonly rewrote: () => void,
  ) {
    this.diffs = new Diffs((uri) => this.at(uri)[0], reviews);
    const ruler = {
      overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.modifiedForeground"),
      overviewRulerLane: vscode.OverviewRulerLane.Left,
    };
    this.removed = vscode.window.createTextEditorDecorationType({
      isWholeLine: true,
      backgroundColor: new vscode.ThemeColor("diffEditor.removedLineBackground"),
      ...ruler,
    });
    // Themes of high contrast have neither a colour of their own for ghost text nor a background for removed lines.
    this.outlined = vscode.window.createTextEditorDecorationType({
      isWholeLine: true,
      border: "1px dashed",
      borderColor: new vscode.ThemeColor("diffEditor.removedTextBorder"),
    });
    const ghost = { color: new vscode.ThemeColor("editorCodeLens.foreground"), margin: "0 0 0 2em" };
    this.added = vscode.window.createTextEditorDecorationType({ after: ghost, ...ruler });
    this.disposables = [
      vscode.workspace.registerFileSystemProvider(PROPOSAL, this.diffs, { isCaseSensitive: true }),
      vscode.languages.registerCodeLensProvider(
        [{ scheme: "file" }, { scheme: "untitled" }, { scheme: PROPOSAL }],
        this,
      ),
      vscode.window.onDidChangeVisibleTextEditors(() => {
        this.decorate();
      }),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        this.textChanged(document);
      }),
      vscode.window.onDidChangeActiveColorTheme(() => {
        this.decorate();
      }),
      this.removed,
      this.outlined,
      this.added,
      this.diffs,
      this.lenses,
    ];
  }

  dispose(): void {
    clearTimeout(this.again);
    for (const disposable of this.disposables) disposable.dispose();
  }

  /** Show what is proposed now, and close the diffs of what is decided. */
  update(): void {
    const now = this.all.map(({ item, change }) => `${item.id} ${change.changeId}`).join();
    if (now === this.shown) return;
    this.shown = now;
    this.lenses.fire();
    // A file that comes from behind a diff gets its lenses of before, and may miss what was fired meanwhile.
    clearTimeout(this.again);
    this.again = setTimeout(() => {
      this.lenses.fire();
    }, AGAIN_MILLISECONDS);
    this.decorate();
    this.bringIntoSight();
    const keepsFocus = !this.hasKeyboard;
    this.hasKeyboard = false;
    void this.diffs.closeDecided(keepsFocus);
    // A diff that came back with its window is empty until now.
    for (const { uri } of vscode.workspace.textDocuments)
      if (uri.scheme === PROPOSAL) for (const proposed of this.at(uri)) void this.diffs.refresh(proposed);
    void vscode.commands.executeCommand("setContext", "outrider.proposal", this.all.length > 0);
  }

  /** The user has asked for something in a document: what is proposed there next is brought into sight. */
  await(uri: vscode.Uri): void {
    this.awaited = uri.toString();
  }

  /** A command decides now: if it was given in a diff, the keyboard goes to the editor behind it when that closes. */
  deciding(): void {
    this.hasKeyboard = this.isInDiff;
  }

  /** Whether the keyboard is in a diff. */
  get isInDiff(): boolean {
    return vscode.window.activeTextEditor?.document.uri.scheme === PROPOSAL;
  }

  /** Something was decided about a hunk of an item: show it as it stands now. */
  decided(item: OpenItem): void {
    for (const change of item.proposals) void this.diffs.refresh({ item, change });
    this.lenses.fire();
    this.decorate();
  }

  /** Show the changes of items in the editor's diff view, the first of them in front. */
  async showDiffs(items: readonly OpenItem[]): Promise<void> {
    const shown = items.flatMap((item) => diffsOf(item).map((change) => ({ item, change })));
    for (const { item, change } of [...shown].reverse()) {
      const line = this.places(item, change, "after")[0]?.line ?? 0;
      const selection = new vscode.Range(line, 0, line, 0);
      await this.diffs.open({ item, change }, { preview: shown.length === 1, selection });
    }
  }

  /** Bring a hunk before the user: where they look already, in the diff, or in its file. One that renames has no place. */
  async go(item: OpenItem, hunk: ItemHunk): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const standing = editor === undefined ? [] : this.standing(editor.document);
    const here = standing.find((one) => one.item.id === item.id && one.hunk.id === hunk.id);
    if (editor !== undefined && here !== undefined) {
      const at = new vscode.Position(Math.min(here.place.line, editor.document.lineCount - 1), 0);
      editor.selection = new vscode.Selection(at, at);
      editor.revealRange(new vscode.Range(at, at), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
      return;
    }
    const { change } = hunk;
    const isEdit = (change.operation ?? "edit") === "edit";
    const uri = isEdit && editor?.document.uri.scheme !== PROPOSAL ? uriOf(change.path) : undefined;
    if (uri === undefined) await this.goInDiff(item, hunk);
    else {
      const { line } = placeBefore(hunk.hunk);
      await vscode.window.showTextDocument(uri, { preview: true, selection: new vscode.Range(line, 0, line, 0) });
    }
  }

  /** Bring a hunk before the user in the diff, where they can write it anew. */
  async goInDiff(item: OpenItem, hunk: ItemHunk): Promise<void> {
    const line = this.places(item, hunk.change, "after")[hunk.index]?.line ?? 0;
    const selection = new vscode.Range(line, 0, line, 0);
    await this.diffs.open({ item, change: hunk.change }, { preview: true, selection });
  }

  /** Whether something is proposed for a document: then what is to be decided there has the room of all other lenses. */
  isIn(uri: vscode.Uri): boolean {
    return this.at(uri).length > 0;
  }

  /** Whether something was written in the diff of an item that can be no part of the edit. */
  hasStray(item: OpenItem): boolean {
    return this.diffs.hasStray(item);
  }

  /** The hunks that stand in a document: a file, or a side of a diff. */
  standing(document: vscode.TextDocument): Standing[] {
    const side = document.uri.scheme === PROPOSAL && !isBefore(document.uri) ? "after" : "before";
    return this.at(document.uri).flatMap(({ item, change }) => {
      const places = this.places(item, change, side);
      return hunksOf(item)
        .filter((hunk) => hunk.change.changeId === change.changeId)
        .flatMap((hunk) => {
          const place = places[hunk.index];
          return place === undefined ? [] : [{ item, hunk, place }];
        });
    });
  }

  private places(item: OpenItem, change: EditProposed, side: "before" | "after"): Place[] {
    const hunks = asDecided(this.reviews, item, change.changeId);
    return side === "after" ? placesAfter(hunks) : hunks.map(placeBefore);
  }

  /** The item whose diff the user looks at, or whose file. */
  get looked(): OpenItem | undefined {
    const active = vscode.window.activeTextEditor?.document.uri;
    if (active === undefined) return undefined;
    return this.at(active)[0]?.item;
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    if (isBefore(document.uri)) return [];
    const isDiff = document.uri.scheme === PROPOSAL;
    return this.standing(document).flatMap((one) => {
      const line = Math.min(Math.max(0, one.place.line), Math.max(0, document.lineCount - 1));
      return this.lensesOf(one, isDiff).map(
        (command) => new vscode.CodeLens(new vscode.Range(line, 0, line, 0), command),
      );
    });
  }

  private get all(): Proposed[] {
    return this.book.all.flatMap((session) =>
      [...session.open.values()].flatMap((item) => item.proposals.map((change) => ({ item, change }))),
    );
  }

  /** What is proposed for a document, be it the file or a side of a diff. */
  private at(uri: vscode.Uri): Proposed[] {
    if (uri.scheme === PROPOSAL) {
      const query = new URLSearchParams(uri.query);
      return this.all.filter(
        ({ item, change }) => item.id === query.get("item") && change.changeId === query.get("change"),
      );
    }
    return this.all.filter(({ change }) => uriOf(change.path)?.toString() === uri.toString());
  }

  private decorate(): void {
    const between: Between[] = [];
    for (const editor of vscode.window.visibleTextEditors) {
      const { document } = editor;
      if (document.uri.scheme === PROPOSAL) continue;
      const hunks = this.standing(document)
        .filter(({ item, hunk }) => this.reviews.verdict(item, hunk) !== "left out")
        .map(({ item, hunk }) => ({
          hunk: withoutMark({ ...hunk.hunk, added: this.reviews.textOf(item, hunk) ?? hunk.hunk.added }),
          title: titleOf(hunk, hunksOf(item).length),
        }));
      const taken = hunks.map(({ hunk }) => hunk).filter((hunk) => hunk.removed !== "");
      const places = taken.map((hunk) => ({ range: rangeOf(hunk), hoverMessage: hover(hunk) }));
      editor.setDecorations(this.removed, places);
      editor.setDecorations(this.outlined, isHighContrast() ? places : []);
      const [beside, below] = [true, false].map((fits) => hunks.filter(({ hunk }) => fitsBeside(hunk) === fits));
      editor.setDecorations(this.added, beside?.flatMap(({ hunk }) => shownBeside(hunk, document)) ?? []);
      for (const { hunk, title } of below ?? []) {
        const { line, count } = placeBefore(hunk);
        const last = Math.min(Math.max(0, line + count - 1), Math.max(0, document.lineCount - 1));
        between.push({ uri: document.uri, hunk, below: last, title });
      }
    }
    this.between.show(between);
  }

  /** Scroll to what was awaited in a document. The cursor stays where it is. */
  private bringIntoSight(): void {
    const editor = vscode.window.visibleTextEditors.find(({ document }) => document.uri.toString() === this.awaited);
    const [first] = editor === undefined ? [] : this.standing(editor.document);
    if (editor === undefined || first === undefined) return;
    this.awaited = "";
    editor.revealRange(rangeOf(first.hunk.hunk), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }

  private textChanged(document: vscode.TextDocument): void {
    if (document.uri.scheme === PROPOSAL) {
      if (this.diffs.take(document) !== true) return;
      this.decorate();
      this.lenses.fire();
      this.rewrote();
      return;
    }
    for (const proposed of this.at(document.uri)) void this.diffs.refresh(proposed);
  }

  private lensesOf({ item, hunk }: Standing, isDiff: boolean): vscode.Command[] {
    const own = this.reviews.textOf(item, hunk);
    const { added, removed } = countsOf([{ ...hunk.hunk, added: own ?? hunk.hunk.added }]);
    const count = hunksOf(item).length;
    const verdict = this.reviews.verdict(item, hunk);
    const said = [...(verdict === "open" ? [] : [verdict]), ...(own === undefined ? [] : ["rewritten"])];
    const canRewrite = !isDiff && !["delete", "rename"].includes(hunk.change.operation ?? "edit");
    const show = { command: "outrider.client.review", arguments: [item.id] };
    const one = (title: string, command: string): vscode.Command => ({
      title,
      command: `outrider.client.${command}`,
      arguments: [item.id, hunk.id],
    });
    if (count === 1) {
      return [
        { title: [`Outrider: +${String(added)} −${String(removed)}`, ...said].join(", "), ...show },
        one("$(check) Allow once", "allow"),
        one("$(close) Reject…", "reject"),
        ...(canRewrite ? [one("$(edit) Rewrite", "rewriteHunk")] : []),
        ...(isDiff ? [] : [{ title: "$(diff) Review…", ...show }]),
      ];
    }
    const which = [`${String(hunk.number)} of ${String(count)}`, ...said].join(", ");
    const rest = this.reviews.hasBegun(item.id) ? "Allow the rest" : "Allow all once";
    return [
      { title: `Outrider: +${String(added)} −${String(removed)} (${which})`, ...show },
      ...(verdict === "taken" ? [] : [one("$(check) Take", "acceptHunk")]),
      ...(verdict === "left out" ? [] : [one("$(circle-slash) Leave out", "rejectHunk")]),
      one("Because…", "rejectHunkBecause"),
      ...(canRewrite && verdict !== "left out" ? [one("$(edit) Rewrite", "rewriteHunk")] : []),
      ...(hunk.index > 0 ? [] : [one(rest, "allow"), one("Reject all…", "reject")]),
    ];
  }
}

/** How much a hunk puts in and takes out, and which of several it is. */
function titleOf({ hunk, number }: ItemHunk, count: number): string {
  const { added, removed } = countsOf([hunk]);
  const which = count === 1 ? "" : ` (${String(number)} of ${String(count)})`;
  return `+${String(added)} −${String(removed)}${which}`;
}

function isHighContrast(): boolean {
  const { HighContrast, HighContrastLight } = vscode.ColorThemeKind;
  return [HighContrast, HighContrastLight].includes(vscode.window.activeColorTheme.kind);
}

function rangeOf(hunk: WireHunk): vscode.Range {
  const { line, count } = placeBefore(hunk);
  return new vscode.Range(line, 0, line + Math.max(1, count) - 1, Number.MAX_SAFE_INTEGER);
}

/** The new text beside the lines, and the whole hunk for who points at one of them, or asks there by keyboard. */
function shownBeside(hunk: WireHunk, document: vscode.TextDocument): vscode.DecorationOptions[] {
  const hoverMessage = hunk.removed === "" ? hover(hunk) : [];
  return ghostsOf(hunk).map(({ line, text }) => ({
    range: document.lineAt(Math.min(line, Math.max(0, document.lineCount - 1))).range,
    hoverMessage,
    renderOptions: { after: { contentText: text } },
  }));
}

function hover(hunk: WireHunk): vscode.MarkdownString {
  return new vscode.MarkdownString().appendText("Outrider proposes").appendCodeblock(visible(asDiff(hunk)), "diff");
}
