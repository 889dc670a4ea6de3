/**
 * What the language servers of this editor know, for the server. Nothing is applied, shown or saved.
 *
 * VS Code does not tell whether anybody serves a language: where nobody does, most of its commands give the same empty
 * list as where nothing was found. So who answers nothing is asked about a name that is in the document for certain; only
 * who answers that serves it.
 */

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import type { LanguageParams, LanguageReply } from "../protocol/types.js";

type Method = LanguageParams["method"];
type Converter = LanguageClient["code2ProtocolConverter"];

interface Place {
  readonly line: number;
  readonly character: number;
}

/** Params of LSP, as far as one of the methods has them. */
interface Asked {
  readonly position?: Place;
  readonly range?: { readonly start: Place; readonly end: Place };
  readonly newName?: string;
  readonly query?: string;
  readonly item?: { readonly data?: unknown };
  readonly context?: { readonly only?: readonly string[] };
  readonly options?: vscode.FormattingOptions;
}

/** What was answered: nothing of it may be an answer too. */
type Answer = { readonly result: unknown } | { readonly unserved: string };

/** Actions whose edits are worked out. */
const MOST_ACTIONS = 40;
/** Items of call hierarchies that can be asked about; the editor itself keeps those of ten questions. */
const MOST_ITEMS = 2000;
/** Names that a document is tried with. */
const MOST_PROBES = 3;
/** For how long an extension that a document wakes may take to offer what it can. */
const WAKING_MILLISECONDS = 5000;
const AGAIN_MILLISECONDS = 250;

const SYMBOLS = "vscode.executeDocumentSymbolProvider";
const OWN_SOURCE = "outrider";

const AT_PLACE: Partial<Record<Method, string>> = {
  "textDocument/definition": "vscode.executeDefinitionProvider",
  "textDocument/references": "vscode.executeReferenceProvider",
  "textDocument/hover": "vscode.executeHoverProvider",
  "textDocument/prepareCallHierarchy": "vscode.prepareCallHierarchy",
};
/** Commands that say something about a place; an empty list where they say nothing. */

const CALLABLE: readonly vscode.SymbolKind[] = [
  vscode.SymbolKind.Function,
  vscode.SymbolKind.Method,
  vscode.SymbolKind.Constructor,
];

export class Language {
  /** Languages, and what somebody has answered about them. */
  private readonly known = new Set<string>();
  /** When a language was asked about first. */
  private readonly since = new Map<string, number>();
  private readonly items = new Map<number, vscode.CallHierarchyItem>();
  private nextItem = 1;

  constructor(private readonly convert: Converter) {}

  /**
   * Answer a request of the server.
   *
   * @returns the answer, or that nobody in this editor has one
   */
  async answer(
    { method, params, uris }: LanguageParams,
    token: Pick<vscode.CancellationToken, "isCancellationRequested">,
  ): Promise<LanguageReply> {
    if (method === "workspace/diagnostic") return { result: { items: await this.allProblems() }, encoding: "utf-16" };
    if (method === "textDocument/diagnostic") return this.problems(uris);
    const documents: vscode.TextDocument[] = [];
    for (const uri of uris) {
      try {
        documents.push(await vscode.workspace.openTextDocument(vscode.Uri.parse(uri)));
      } catch {
        return { unserved: "the editor cannot open it as text" };
      }
    }
    const [document] = documents;
    if (document === undefined) return { unserved: "no document is named" };
    for (;;) {
      // Those of before: what is typed while somebody works on the answer makes it one about a text that is gone.
      const versions = Object.fromEntries(documents.map(({ version }, at) => [uris[at] ?? "", version]));
      const answer = await this.ask(method, params, document);
      if ("result" in answer) return { result: answer.result, versions, encoding: "utf-16" };
      if (token.isCancellationRequested || !this.isWaking(document)) return answer;
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MILLISECONDS));
    }
  }

  private async ask(method: Method, asked: Asked, document: vscode.TextDocument): Promise<Answer> {
    const { uri } = document;
    const command = AT_PLACE[method];
    if (command !== undefined) {
      const found = await list(command, uri, placeOf(asked.position));
      if (found.length === 0 && !(await this.serves(document, method))) return nobody(document);
      this.know(document, method);
      return { result: this.placed(method, found) };
    }
    switch (method) {
      case "textDocument/documentSymbol": {
        const found = await list(SYMBOLS, uri);
        if (found.length === 0 && !this.isKnown(document, method)) return nobody(document);
        this.know(document, method);
        return { result: (found as Symbol[]).map((one) => this.symbol(one)) };
      }
      case "workspace/symbol": {
        const found = (await list("vscode.executeWorkspaceSymbolProvider", asked.query ?? "")) as Symbol[];
        const isOfIt = found.some(({ location }) => endingOf(location.uri.path) === endingOf(uri.path));
        if (!isOfIt && !(await this.serves(document, method))) return nobody(document);
        this.know(document, method);
        return { result: found.map((one) => this.named(one)) };
      }
      case "callHierarchy/incomingCalls":
      case "callHierarchy/outgoingCalls":
        return { result: await this.calls(method, asked.item) };
      case "textDocument/rename":
        return this.rename(document, asked);
      case "textDocument/codeAction": {
        const found = await this.actions(uri, rangeOf(asked.range), asked.context?.only?.[0]);
        if (found.length === 0 && !(await this.serves(document, method))) return nobody(document);
        return { result: found };
      }
      case "codeAction/resolve":
        // Its edit was worked out when it was offered.
        return { result: asked.item ?? asked };
      case "textDocument/formatting":
      case "textDocument/rangeFormatting": {
        const range = method === "textDocument/formatting" ? [] : [rangeOf(asked.range)];
        const kind = range.length === 0 ? "Document" : "Range";
        const options = asked.options ?? { tabSize: 4, insertSpaces: true };
        // Where nobody formats it is undefined, and where nothing is to be changed an empty list.
        const edits = await vscode.commands.executeCommand<vscode.TextEdit[] | undefined>(
          `vscode.executeFormat${kind}Provider`,
          uri,
          ...range,
          options,
        );
        return edits === undefined ? nobody(document) : { result: edits.map((edit) => this.convert.asTextEdit(edit)) };
      }
      default:
        return { unserved: `this editor has no answer to ${method}` };
    }
  }

  // Whether somebody serves a document

  private isKnown({ languageId }: vscode.TextDocument, method: Method): boolean {
    return this.known.has(`${languageId} ${method}`);
  }

  private know({ languageId }: vscode.TextDocument, method: Method): void {
    this.known.add(`${languageId} ${method}`);
  }

  /** Whether somebody answers about a name that is in the document for certain. */
  private async serves(document: vscode.TextDocument, method: Method): Promise<boolean> {
    if (this.isKnown(document, method)) return true;
    const { uri } = document;
    const symbols = flat((await list(SYMBOLS, uri)) as Symbol[]);
    const isCalled = method === "textDocument/prepareCallHierarchy";
    const fit = isCalled ? symbols.filter(({ kind }) => CALLABLE.includes(kind)) : symbols;
    for (const symbol of fit.slice(0, MOST_PROBES)) {
      const place = (symbol.selectionRange ?? symbol.location.range).start;
      const command = AT_PLACE[method];
      const isAnswered =
        command !== undefined
          ? (await list(command, uri, place)).length > 0
          : method === "workspace/symbol"
            ? (await list("vscode.executeWorkspaceSymbolProvider", symbol.name)).length > 0
            : true;
      if (!isAnswered) continue;
      this.know(document, method);
      return true;
    }
    return false;
  }

  /** Whether an extension that the document wakes may still be starting. */
  private isWaking({ languageId }: vscode.TextDocument): boolean {
    const began = this.since.get(languageId) ?? Date.now();
    this.since.set(languageId, began);
    if (Date.now() - began >= WAKING_MILLISECONDS) return false;
    return vscode.extensions.all.some(({ packageJSON }) => {
      const { activationEvents } = packageJSON as { activationEvents?: unknown };
      return Array.isArray(activationEvents) && activationEvents.includes(`onLanguage:${languageId}`);
    });
  }

  // Problems

  private async allProblems(): Promise<unknown[]> {
    const all = vscode.languages.getDiagnostics().filter(([, items]) => theirs(items).length > 0);
    return Promise.all(
      all.map(async ([uri, items]) => ({ uri: this.convert.asUri(uri), version: null, ...(await this.report(items)) })),
    );
  }

  /** The problems that the editor shows of a document. It is not opened for that: they would come at some later time. */
  private async problems(uris: readonly string[]): Promise<LanguageReply> {
    const [named = ""] = uris;
    const uri = vscode.Uri.parse(named);
    const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri.toString());
    const items = theirs(vscode.languages.getDiagnostics(uri));
    const isServed =
      items.length > 0 || (document !== undefined && (await this.serves(document, "textDocument/diagnostic")));
    if (!isServed) return nobody(document);
    const versions = document === undefined ? {} : { [named]: document.version };
    const by = [...new Set(items.flatMap(({ source }) => source ?? []))];
    const report = await this.report(theirs(vscode.languages.getDiagnostics(uri)));
    return { result: report, versions, encoding: "utf-16", ...(by.length === 0 ? {} : { by }) };
  }

  private async report(items: readonly vscode.Diagnostic[]): Promise<{ kind: "full"; items: unknown[] }> {
    return { kind: "full", items: await this.convert.asDiagnostics(theirs(items)) };
  }

  // Edits

  private async rename(document: vscode.TextDocument, { position, newName = "" }: Asked): Promise<Answer> {
    let edit: vscode.WorkspaceEdit | undefined;
    try {
      edit = await vscode.commands.executeCommand<vscode.WorkspaceEdit | undefined>(
        "vscode.executeDocumentRenameProvider",
        document.uri,
        placeOf(position),
        newName,
      );
    } catch (error) {
      // It fails both where nobody renames and where somebody says that this cannot be renamed.
      if (!(await this.serves(document, "textDocument/references"))) return nobody(document);
      throw error;
    }
    if (edit === undefined) return nobody(document);
    return { result: this.edit(edit) ?? null };
  }

  /** The actions that are edits. What runs a command would do something that nobody has reviewed. */
  private async actions(uri: vscode.Uri, range: vscode.Range, kind: string | undefined): Promise<unknown[]> {
    const found = (await list(
      "vscode.executeCodeActionProvider",
      uri,
      range,
      kind,
      MOST_ACTIONS,
    )) as vscode.CodeAction[];
    return found.flatMap((action) => {
      const edit = action.edit === undefined ? undefined : this.edit(action.edit);
      if (edit === undefined || action.disabled !== undefined) return [];
      return [
        {
          title: action.title,
          ...(action.kind === undefined ? {} : { kind: action.kind.value }),
          ...(action.isPreferred === true ? { isPreferred: true } : {}),
          edit,
        },
      ];
    });
  }

  /** An edit of texts alone; undefined for one that changes no text, or does more, which the editor does not let be seen. */
  private edit(edit: vscode.WorkspaceEdit): { changes: Record<string, unknown[]> } | undefined {
    const entries = edit.entries();
    const count = entries.reduce((sum, [, edits]) => sum + edits.length, 0);
    const all = (edit as { _allEntries?: () => readonly unknown[] })._allEntries?.();
    if (count === 0 || (all !== undefined && all.length !== count)) return undefined;
    return {
      changes: Object.fromEntries(
        entries.map(([uri, edits]) => [this.convert.asUri(uri), edits.map((one) => this.convert.asTextEdit(one))]),
      ),
    };
  }

  // Places and names

  private placed(method: Method, found: readonly unknown[]): unknown {
    switch (method) {
      case "textDocument/hover": {
        const hovers = found as { readonly contents: readonly Said[] }[];
        const value = hovers.flatMap(({ contents }) => contents.map(textOf)).join("\n\n");
        return value.trim() === "" ? null : { contents: { kind: "markdown", value } };
      }
      case "textDocument/prepareCallHierarchy":
        return (found as vscode.CallHierarchyItem[]).map((one) => this.item(one));
      default:
        return (found as (vscode.Location | vscode.LocationLink)[]).map((one) =>
          "targetUri" in one
            ? this.location(one.targetUri, one.targetSelectionRange ?? one.targetRange)
            : this.location(one.uri, one.range),
        );
    }
  }

  private location(uri: vscode.Uri, range: vscode.Range): unknown {
    return { uri: this.convert.asUri(uri), range: this.convert.asRange(range) };
  }

  private symbol(symbol: Symbol): unknown {
    if (symbol.selectionRange === undefined || symbol.range === undefined) return this.named(symbol);
    return {
      name: symbol.name,
      detail: symbol.detail ?? "",
      kind: this.convert.asSymbolKind(symbol.kind),
      range: this.convert.asRange(symbol.range),
      selectionRange: this.convert.asRange(symbol.selectionRange),
      children: (symbol.children ?? []).map((one) => this.symbol(one)),
    };
  }

  private named({ name, kind, containerName, location }: Symbol): unknown {
    return {
      name,
      kind: this.convert.asSymbolKind(kind),
      location: this.location(location.uri, location.range),
      ...(containerName ? { containerName } : {}),
    };
  }

  private item(item: vscode.CallHierarchyItem): unknown {
    const id = this.nextItem;
    this.nextItem += 1;
    this.items.set(id, item);
    this.items.delete(id - MOST_ITEMS);
    return { ...this.convert.asCallHierarchyItem(item), data: id };
  }

  private async calls(
    method: "callHierarchy/incomingCalls" | "callHierarchy/outgoingCalls",
    asked: Asked["item"],
  ): Promise<unknown> {
    const item = this.items.get(Number(asked?.data));
    if (item === undefined) throw new Error("that item is not known any more");
    const ranges = (of: readonly vscode.Range[]): unknown[] => of.map((range) => this.convert.asRange(range));
    if (method === "callHierarchy/incomingCalls")
      return ((await list("vscode.provideIncomingCalls", item)) as vscode.CallHierarchyIncomingCall[]).map((call) => ({
        from: this.item(call.from),
        fromRanges: ranges(call.fromRanges),
      }));
    return ((await list("vscode.provideOutgoingCalls", item)) as vscode.CallHierarchyOutgoingCall[]).map((call) => ({
      to: this.item(call.to),
      fromRanges: ranges(call.fromRanges),
    }));
  }
}

/** What the command for symbols gives: each is of both kinds where its extension says all of it. */
interface Symbol extends vscode.SymbolInformation {
  readonly detail?: string;
  readonly range?: vscode.Range;
  readonly selectionRange?: vscode.Range;
  readonly children?: readonly Symbol[];
}

function flat(symbols: readonly Symbol[]): Symbol[] {
  return symbols.flatMap((one) => [one, ...flat(one.children ?? [])]);
}

async function list(command: string, ...args: readonly unknown[]): Promise<readonly unknown[]> {
  return (await vscode.commands.executeCommand<readonly unknown[] | undefined>(command, ...args)) ?? [];
}

function nobody(document: vscode.TextDocument | undefined): { unserved: string } {
  return {
    unserved: `no extension of this editor has an answer ${document === undefined ? "about it" : `for ${document.languageId}`}`,
  };
}

/** Without those that are Outrider's own. */
function theirs(items: readonly vscode.Diagnostic[]): vscode.Diagnostic[] {
  return items.filter(({ source }) => source?.toLowerCase() !== OWN_SOURCE);
}

function placeOf({ line, character }: Place = { line: 0, character: 0 }): vscode.Position {
  return new vscode.Position(line, character);
}

function rangeOf(range: Asked["range"]): vscode.Range {
  return new vscode.Range(placeOf(range?.start), placeOf(range?.end));
}

function endingOf(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1);
}

/** What a hover says, be it in the old form, which names a language. */
type Said = string | { readonly language?: string; readonly value: string };

function textOf(content: Said): string {
  if (typeof content === "string") return content;
  return content.language !== undefined ? `\`\`\`${content.language}\n${content.value}\n\`\`\`` : content.value;
}
