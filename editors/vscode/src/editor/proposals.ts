/** Proposed changes, before anything is written: their diffs, and their hunks at the lines of the file. */

import * as vscode from "vscode";

import type { SessionBook } from "../core/book.js";
import { asDiff, countsOf, linesOf, placeBefore, placesAfter, withHunks } from "../core/hunks.js";
import type { OpenItem } from "../core/session.js";
import type { EditProposed, WireHunk } from "../protocol/types.js";
import { textOf, uriOf } from "./places.js";

export const PROPOSAL = "outrider-proposal";

/** A proposed change, and the item that is to be answered for it. */
interface Proposed {
  readonly item: OpenItem;
  readonly change: EditProposed;
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

  constructor(private readonly book: SessionBook) {
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
    for (const disposable of this.disposables) disposable.dispose();
  }

  /** Show what is proposed now, and close the diffs of what is decided. */
  update(): void {
    const now = this.all.map(({ item, change }) => `${item.id} ${change.changeId}`).join();
    if (now === this.shown) return;
    this.shown = now;
    this.lenses.fire();
    this.decorate();
    void this.closeDecided();
    void vscode.commands.executeCommand("setContext", "outrider.proposal", this.all.length > 0);
  }

  /** Show the changes of an item in the editor's diff view. */
  async showDiff(item: OpenItem): Promise<void> {
    for (const change of item.proposals) {
      if (change.operation === "rename") continue;
      const title = `${change.path} (proposed)`;
      const [before, after] = [this.uri({ item, change }, "before"), this.uri({ item, change }, "after")];
      await vscode.commands.executeCommand("vscode.diff", before, after, title, { preview: true });
    }
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
    const now = proposed === undefined ? undefined : sideOf(uri, proposed.change, target && (await textOf(target)));
    if (now !== undefined) this.lastGood.set(uri.toString(), now);
    // Where the text is not what the change was worked out for any more, it will be asked again if it is allowed.
    return now ?? this.lastGood.get(uri.toString()) ?? "";
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    if (isBefore(document.uri)) return [];
    return this.at(document.uri).flatMap(({ item, change }) => {
      const isDiff = document.uri.scheme === PROPOSAL;
      const places = isDiff ? placesAfter(change.hunks) : change.hunks.map(placeBefore);
      return change.hunks.flatMap((hunk, index) => {
        const line = Math.min(Math.max(0, places[index]?.line ?? 0), Math.max(0, document.lineCount - 1));
        return lensesOf(item, change, hunk, index, isDiff).map(
          (command) => new vscode.CodeLens(new vscode.Range(line, 0, line, 0), command),
        );
      });
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
      const hunks = this.at(editor.document.uri).flatMap(({ change }) => change.hunks);
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
    if (decided.length > 0) await vscode.window.tabGroups.close(decided, true);
    for (const key of this.lastGood.keys()) if (this.at(vscode.Uri.parse(key)).length === 0) this.lastGood.delete(key);
  }
}

function isBefore(uri: vscode.Uri): boolean {
  return uri.scheme === PROPOSAL && new URLSearchParams(uri.query).get("side") === "before";
}

/** One side of a diff, from the text as it is now; undefined where the change does not fit it. */
function sideOf(uri: vscode.Uri, change: EditProposed, text: string | undefined): string | undefined {
  if (isBefore(uri)) return change.operation === "create" ? "" : text;
  if (change.operation === "delete") return "";
  if (change.operation === "create") return change.hunks.map((hunk) => hunk.added).join("");
  return text === undefined ? undefined : withHunks(text, change.hunks);
}

function lensesOf(
  item: OpenItem,
  change: EditProposed,
  hunk: WireHunk,
  index: number,
  isDiff: boolean,
): vscode.Command[] {
  const { added, removed } = countsOf([hunk]);
  const several = change.hunks.length > 1;
  const which = several ? ` (${String(index + 1)} of ${String(change.hunks.length)})` : "";
  const whole = several ? " all" : "";
  const first: vscode.Command[] =
    index > 0
      ? []
      : [
          { title: `$(check) Allow${whole} once`, command: "outrider.client.allow", arguments: [item.id] },
          { title: `$(close) Reject${whole}…`, command: "outrider.client.reject", arguments: [item.id] },
          ...(isDiff
            ? []
            : [{ title: "$(diff) Show diff", command: "outrider.client.showDiff", arguments: [item.id] }]),
        ];
  const label = {
    title: `Outrider: +${String(added)} −${String(removed)}${which}`,
    command: "outrider.client.showDiff",
    arguments: [item.id],
  };
  const without = several
    ? [
        {
          title: "$(circle-slash) Not this one…",
          command: "outrider.client.rejectHunk",
          arguments: [item.id, change.changeId, index],
        },
      ]
    : [];
  return [label, ...first, ...without];
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
  const text = `→ ${first.length > 100 ? `${first.slice(0, 99)}…` : first}${rest}`;
  const end = document.lineAt(at).range.end;
  return {
    range: new vscode.Range(end, end),
    hoverMessage: hover(hunk),
    renderOptions: { after: { contentText: text } },
  };
}

function hover(hunk: WireHunk): vscode.MarkdownString {
  return new vscode.MarkdownString().appendText("Outrider proposes").appendCodeblock(asDiff(hunk), "diff");
}
