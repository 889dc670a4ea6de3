/** Proposed changes, before anything is written: their diffs, and their hunks at the lines of the file. */

import * as vscode from "vscode";

import type { SessionBook } from "../core/book.js";
import { type Place, asDiff, countsOf, linesOf, placeBefore, placesAfter, withHunks } from "../core/hunks.js";
import { type ItemHunk, type Reviews, asDecided, hunksOf } from "../core/review.js";
import type { OpenItem } from "../core/session.js";
import { visible } from "../core/visible.js";
import type { EditProposed, WireHunk } from "../protocol/types.js";
import { textOf, uriOf } from "./places.js";

export const PROPOSAL = "outrider-proposal";

const AGAIN_MILLISECONDS = 1500;

/** A proposed change, and the item that is to be answered for it. */
interface Proposed {
  readonly item: OpenItem;
  readonly change: EditProposed;
}

/** Where a hunk stands in an editor. */
export interface Standing {
  readonly item: OpenItem;
  readonly hunk: ItemHunk;
  readonly place: Place;
}

export class Proposals implements vscode.TextDocumentContentProvider, vscode.CodeLensProvider {
  private readonly contents = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.contents.event;
  private readonly lenses = new vscode.EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.lenses.event;
  private readonly lastGood = new Map<string, string>();
  private readonly disposables: { dispose(): unknown }[];
  private readonly removed: vscode.TextEditorDecorationType;
  private readonly added: vscode.TextEditorDecorationType;
  private shown = "";
  private hasKeyboard = false;
  private again: NodeJS.Timeout | undefined;

  constructor(
    private readonly book: SessionBook,
    private readonly reviews: Reviews,
  ) {
    const ruler = {
      overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.modifiedForeground"),
      overviewRulerLane: vscode.OverviewRulerLane.Left,
    };
    this.removed = vscode.window.createTextEditorDecorationType({
      isWholeLine: true,
      backgroundColor: new vscode.ThemeColor("diffEditor.removedLineBackground"),
      ...ruler,
    });
    const ghost = { color: new vscode.ThemeColor("editorGhostText.foreground"), margin: "0 0 0 2em" };
    this.added = vscode.window.createTextEditorDecorationType({ after: ghost, ...ruler });
    this.disposables = [
      vscode.workspace.registerTextDocumentContentProvider(PROPOSAL, this),
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
      this.removed,
      this.added,
      this.contents,
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
    void this.closeDecided();
    void vscode.commands.executeCommand("setContext", "outrider.proposal", this.all.length > 0);
  }

  /** A command decides now: if it was given in a diff, the keyboard goes to the editor behind it when that closes. */
  deciding(): void {
    this.hasKeyboard = vscode.window.activeTextEditor?.document.uri.scheme === PROPOSAL;
  }

  /** Something was decided about a hunk of an item: show it as it stands now. */
  decided(item: OpenItem): void {
    for (const change of item.proposals) this.contents.fire(this.uri({ item, change }, "after"));
    this.lenses.fire();
    this.decorate();
  }

  /** Show the changes of an item in the editor's diff view, the first of them in front. */
  async showDiff(item: OpenItem): Promise<void> {
    const shown = item.proposals.filter((change) => change.operation !== "rename");
    for (const change of [...shown].reverse()) {
      const line = this.places(item, change, "after")[0]?.line ?? 0;
      const selection = new vscode.Range(line, 0, line, 0);
      await this.openDiff({ item, change }, { preview: shown.length === 1, selection });
    }
  }

  /** Bring a hunk before the person: where they look already, in the diff, or in its file. One that renames has no place. */
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
    if (uri === undefined) {
      const line = this.places(item, change, "after")[hunk.index]?.line ?? 0;
      await this.openDiff({ item, change }, { preview: true, selection: new vscode.Range(line, 0, line, 0) });
    } else {
      const { line } = placeBefore(hunk.hunk);
      await vscode.window.showTextDocument(uri, { preview: true, selection: new vscode.Range(line, 0, line, 0) });
    }
  }

  private async openDiff(proposed: Proposed, options: vscode.TextDocumentShowOptions): Promise<void> {
    const [before, after] = [this.uri(proposed, "before"), this.uri(proposed, "after")];
    await vscode.commands.executeCommand("vscode.diff", before, after, `${proposed.change.path} (proposed)`, options);
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

  /** The item whose diff the person looks at, or whose file. */
  get looked(): OpenItem | undefined {
    const active = vscode.window.activeTextEditor?.document.uri;
    if (active === undefined) return undefined;
    return this.at(active)[0]?.item;
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const proposed = this.at(uri)[0];
    const target = proposed === undefined ? undefined : uriOf(proposed.change.path);
    const now = proposed === undefined ? undefined : this.sideOf(uri, proposed, target && (await textOf(target)));
    if (now !== undefined) this.lastGood.set(uri.toString(), now);
    // Where the text is not what the change was worked out for any more, it will be asked again if it is allowed.
    return now ?? this.lastGood.get(uri.toString()) ?? "";
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

  private uri({ item, change }: Proposed, side: "before" | "after"): vscode.Uri {
    const query = new URLSearchParams({ item: item.id, change: change.changeId, side }).toString();
    return vscode.Uri.from({ scheme: PROPOSAL, path: `/${change.path.replace(/^\//, "")}`, query });
  }

  private decorate(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      if (editor.document.uri.scheme === PROPOSAL) continue;
      const hunks = this.standing(editor.document)
        .filter(({ item, hunk }) => this.reviews.verdict(item, hunk) !== "left out")
        .map(({ hunk }) => hunk.hunk);
      const taken = hunks.filter((hunk) => hunk.removed !== "");
      editor.setDecorations(
        this.removed,
        taken.map((hunk) => ({ range: rangeOf(hunk), hoverMessage: hover(hunk) })),
      );
      editor.setDecorations(
        this.added,
        hunks.filter((hunk) => hunk.added !== "").map((hunk) => ghostOf(hunk, editor.document)),
      );
    }
  }

  private textChanged(document: vscode.TextDocument): void {
    for (const proposed of this.at(document.uri)) {
      if (document.uri.scheme === PROPOSAL) continue;
      for (const side of ["before", "after"] as const) this.contents.fire(this.uri(proposed, side));
    }
  }

  private async closeDecided(): Promise<void> {
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
    const decided = tabs.filter(
      ({ input }) =>
        input instanceof vscode.TabInputTextDiff &&
        input.modified.scheme === PROPOSAL &&
        this.at(input.modified).length === 0,
    );
    const keepsFocus = !this.hasKeyboard;
    this.hasKeyboard = false;
    if (decided.length > 0) await vscode.window.tabGroups.close(decided, keepsFocus);
    for (const key of this.lastGood.keys()) if (this.at(vscode.Uri.parse(key)).length === 0) this.lastGood.delete(key);
  }

  /** One side of a diff, from the text as it is now; undefined where the change does not fit it. */
  private sideOf(uri: vscode.Uri, { item, change }: Proposed, text: string | undefined): string | undefined {
    if (isBefore(uri)) return change.operation === "create" ? "" : text;
    const hunks = asDecided(this.reviews, item, change.changeId);
    const [whole] = hunksOf(item).filter((hunk) => hunk.change.changeId === change.changeId);
    const isOut = whole !== undefined && this.reviews.verdict(item, whole) === "left out";
    if (change.operation === "delete") return isOut ? text : "";
    if (change.operation === "create") return isOut ? "" : hunks.map((hunk) => hunk.added).join("");
    return text === undefined ? undefined : withHunks(text, hunks);
  }

  private lensesOf({ item, hunk }: Standing, isDiff: boolean): vscode.Command[] {
    const { added, removed } = countsOf([hunk.hunk]);
    const count = hunksOf(item).length;
    const verdict = this.reviews.verdict(item, hunk);
    const show = { command: "outrider.client.showDiff", arguments: [item.id] };
    const one = (title: string, command: string): vscode.Command => ({
      title,
      command: `outrider.client.${command}`,
      arguments: [item.id, hunk.id],
    });
    if (count === 1) {
      return [
        { title: `Outrider: +${String(added)} −${String(removed)}`, ...show },
        one("$(check) Allow once", "allow"),
        one("$(close) Reject…", "reject"),
        ...(isDiff ? [] : [{ title: "$(diff) Show diff", ...show }]),
      ];
    }
    const which = `${String(hunk.number)} of ${String(count)}${verdict === "open" ? "" : `, ${verdict}`}`;
    const rest = this.reviews.hasBegun(item.id) ? "Allow the rest" : "Allow all once";
    return [
      { title: `Outrider: +${String(added)} −${String(removed)} (${which})`, ...show },
      ...(verdict === "taken" ? [] : [one("$(check) Take", "acceptHunk")]),
      ...(verdict === "left out" ? [] : [one("$(circle-slash) Leave out", "rejectHunk")]),
      ...(hunk.index > 0 ? [] : [one(rest, "allow"), one("Reject all…", "reject")]),
      ...(hunk.index > 0 || isDiff ? [] : [{ title: "$(diff) Show diff", ...show }]),
    ];
  }
}

function isBefore(uri: vscode.Uri): boolean {
  return uri.scheme === PROPOSAL && new URLSearchParams(uri.query).get("side") === "before";
}

function rangeOf(hunk: WireHunk): vscode.Range {
  const { line, count } = placeBefore(hunk);
  return new vscode.Range(line, 0, line + Math.max(1, count) - 1, Number.MAX_SAFE_INTEGER);
}

function ghostOf(hunk: WireHunk, document: vscode.TextDocument): vscode.DecorationOptions {
  const { line, count } = placeBefore(hunk);
  const at = Math.min(Math.max(0, line + count - 1), Math.max(0, document.lineCount - 1));
  const [first = "", ...more] = linesOf(hunk.added).map((text) => text.trim());
  const rest = more.length === 0 ? "" : `  (+${String(more.length)} lines)`;
  const text = visible(`→ ${first.length > 100 ? `${first.slice(0, 99)}…` : first}${rest}`);
  const end = document.lineAt(at).range.end;
  return {
    range: new vscode.Range(end, end),
    hoverMessage: hover(hunk),
    renderOptions: { after: { contentText: text } },
  };
}

function hover(hunk: WireHunk): vscode.MarkdownString {
  return new vscode.MarkdownString().appendText("Outrider proposes").appendCodeblock(visible(asDiff(hunk)), "diff");
}
