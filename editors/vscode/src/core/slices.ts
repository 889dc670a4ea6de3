/**
 * Cuts Markdown into slices that are rendered one by one, while the text is still coming and however long it is.
 *
 * A slice that is followed by another one never changes again. None is longer than `MOST` but code, which needs no
 * parser. Nothing of the text is left out.
 */

/** Characters of a slice: what is parsed at once. */
export const MOST = 6000;
/** A slice is not cut at the end of a block before it has so many. */
const LEAST = 2500;
/** Deeper lists and quotes than this are shown as they are written. */
const DEEPEST = 20;

export type Slice =
  | { readonly kind: "markdown"; readonly text: string }
  /** A fenced block; `isOpen` until its end comes. */
  | { readonly kind: "code"; readonly text: string; readonly info: string; readonly isOpen: boolean }
  /** Shown as it is written. */
  | { readonly kind: "plain"; readonly text: string };

type Kind = Slice["kind"];

const FENCE = /^( *)(`{3,}|~{3,})([^\n]{0,200})$/;
const ITEM = /^ {0,3}(?:[-*+]|\d{1,9}[.)])(?: |$)/;
const HEAD = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t:-]*)*$/;
const DEFINITION = /^ {0,3}\[[^\]\n]{1,200}\]:[ \t]+\S/;

export class Slicer {
  /** Those that are whole. */
  private readonly whole: Slice[] = [];
  private readonly defined: string[] = [];
  private text = "";
  private kind: Kind = "markdown";
  private info = "";
  /** What ends the fence that a line is in, and how far that is indented; undefined outside of one. */
  private fence: { readonly mark: string; readonly indent: number } | undefined;
  private wasBlank = true;
  private isList = false;
  private before = "";
  /** The first two lines of the table that a line is in. */
  private table = "";
  /** Blanks that lines of a list lose, whose beginning is in the slice before. */
  private dedent = 0;
  /** The line that is still coming. */
  private tail = "";

  /** Take more of the text. */
  append(text: string): void {
    const lines = (this.tail + text).split("\n");
    this.tail = lines.pop() ?? "";
    for (const line of lines) this.line(line.endsWith("\r") ? line.slice(0, -1) : line);
    while (this.tail.length > MOST && this.fence === undefined) this.tail = this.part(this.tail);
  }

  /** The slices so far, the last one with the line that is still coming. */
  get slices(): readonly Slice[] {
    if (this.kind === "markdown" && isDeep(this.tail)) {
      const before = this.text === "" ? [] : [this.slice(this.text)];
      return [...this.whole, ...before, { kind: "plain", text: this.tail }];
    }
    const last = this.text + this.tail;
    const isEmpty = last === "" && this.kind !== "code";
    return isEmpty ? this.whole : [...this.whole, this.slice(last)];
  }

  /** How many of the slices can never change any more. */
  get wholes(): number {
    return this.whole.length;
  }

  /** The lines that say where links of the form `[text][name]` lead to. */
  get definitions(): string {
    return this.defined.join("\n");
  }

  private slice(text: string): Slice {
    if (this.kind !== "code") return { kind: this.kind, text };
    const isOpen = this.fence !== undefined;
    const isEnd = isOpen && this.tail !== "" && this.isEnd(this.tail);
    const shown = isEnd ? text.slice(0, -this.tail.length) : text;
    return { kind: "code", text: shown.replace(/\n$/, ""), info: this.info, isOpen };
  }

  private line(line: string): void {
    if (this.fence !== undefined) {
      if (!this.isEnd(line)) this.inFence(line);
      else {
        this.fence = undefined;
        if (this.kind === "code") this.cut();
        else this.text += `${line}\n`;
      }
      this.wasBlank = false;
      return;
    }
    for (let rest = line; ;) {
      if (rest.length <= MOST) {
        this.outside(rest);
        return;
      }
      rest = this.part(rest);
    }
  }

  /** Take the beginning of a line that is too long, and give the rest of it. */
  private part(line: string): string {
    const space = line.lastIndexOf(" ", MOST);
    const end = space > MOST / 2 ? space + 1 : MOST;
    this.outside(line.slice(0, end));
    this.cut();
    return line.slice(end);
  }

  private outside(line: string): void {
    const isBlank = line.trim() === "";
    const isItem = ITEM.test(line);
    const isInList = this.isList && (isItem || line.startsWith("  ") || line.startsWith("\t"));
    if (DEFINITION.test(line)) this.defined.push(line);
    if (!isBlank && this.wasBlank && !isInList && this.text.length > LEAST) this.cut();
    else if (isItem && !/^ /.test(line) && this.text.length > MOST / 2) this.cut();
    else if (this.text.length + line.length > MOST) this.cutHard(line);
    if (isDeep(line) !== (this.kind === "plain") && !isBlank) {
      this.cut();
      this.kind = isDeep(line) ? "plain" : "markdown";
    }
    const fence = FENCE.exec(line);
    const [, indent = "", mark = "", info = ""] = fence ?? [];
    if (fence !== null && !(mark.startsWith("`") && info.includes("`"))) {
      this.fence = { mark, indent: indent.length };
      if (!isInList && indent.length < 4) {
        this.cut();
        this.kind = "code";
        this.info = info.trim();
        return;
      }
    }
    if (isBlank) this.table = "";
    else if (HEAD.test(line) && line.includes("|") && this.before.includes("|"))
      this.table = `${this.before}\n${line}\n`;
    this.isList = isInList || isItem || (this.isList && isBlank);
    this.text += `${line.slice(Math.min(this.dedent, indentOf(line)))}\n`;
    this.wasBlank = isBlank;
    this.before = line;
  }

  private inFence(line: string): void {
    const { indent, mark } = this.fence ?? { indent: 0, mark: "" };
    if (this.kind === "code") this.text += `${line.slice(Math.min(indent, indentOf(line)))}\n`;
    else if (this.text.length + line.length <= MOST)
      this.text += `${line.slice(Math.min(this.dedent, indentOf(line)))}\n`;
    else {
      // Code in a list that is too long for it goes on by itself.
      const opening = this.text.slice(this.text.lastIndexOf(mark));
      this.cut();
      this.kind = "code";
      this.info = opening.slice(mark.length, Math.max(0, opening.indexOf("\n"))).trim();
      this.fence = { indent, mark };
      this.inFence(line);
    }
  }

  private isEnd(line: string): boolean {
    const mark = this.fence?.mark ?? "";
    const text = line.trim();
    return text.startsWith(mark) && text === (mark[0] ?? "").repeat(text.length);
  }

  /** End the slice where no block ends: what the next one needs to be read alike it begins with. */
  private cutHard(line: string): void {
    const { table, isList } = this;
    this.cut();
    this.text = table;
    this.table = table;
    this.isList = isList;
    this.dedent = isList ? indentOf(line) : 0;
  }

  private cut(): void {
    if (this.text !== "" || this.kind === "code") this.whole.push(this.slice(this.text));
    this.text = "";
    this.kind = "markdown";
    this.info = "";
    this.isList = false;
    this.table = "";
    this.dedent = 0;
  }
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

/** Whether a line is in more lists and quotes than anybody reads: a parser may leave out what is in them. */
function isDeep(line: string): boolean {
  let at = 0;
  let depth = 0;
  for (;;) {
    while (line[at] === " " || line[at] === "\t") at++;
    const digits = /^\d{0,9}/.exec(line.slice(at, at + 9))?.[0].length ?? 0;
    const isMark = line[at] === ">" || (/[-*+]/.test(line[at] ?? "") && /^\s/.test(line[at + 1] ?? ""));
    const isNumber = digits > 0 && /[.)]/.test(line[at + digits] ?? "") && /^\s/.test(line[at + digits + 1] ?? "");
    if (!isMark && !isNumber) return depth > DEEPEST;
    depth += depth === 0 ? 1 + Math.floor(at / 2) : 1;
    if (depth > DEEPEST) return true;
    at += isMark ? 1 : digits + 1;
  }
}
