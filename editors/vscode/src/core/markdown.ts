/** The little of Markdown that the view draws: fenced code, headings, list items, paragraphs; code and bold in them. */

export type Span = { readonly kind: "text" | "code" | "bold"; readonly text: string };

export type Block =
  | { readonly kind: "code"; readonly language: string; readonly text: string }
  | { readonly kind: "heading" | "paragraph"; readonly spans: readonly Span[] }
  /** With the sign that stands before it, and how many columns it is indented. */
  | { readonly kind: "item"; readonly sign: string; readonly indent: number; readonly spans: readonly Span[] };

/** Divide a text into blocks. Anything it does not know stays as it is written; a fence that is still open is code. */
export function parse(text: string): Block[] {
  const blocks: Block[] = [];
  let paragraph: string[] = [];
  const flush = (): void => {
    if (paragraph.length > 0) blocks.push({ kind: "paragraph", spans: spansOf(paragraph.join("\n")) });
    paragraph = [];
  };
  const lines = text.split("\n");
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] ?? "";
    const fence = /^\s*(`{3,}|~{3,})\s*(\S*)/.exec(line);
    if (fence !== null) {
      flush();
      const [, mark = "", language = ""] = fence;
      const code: string[] = [];
      for (index++; index < lines.length && !(lines[index] ?? "").trimStart().startsWith(mark); index++)
        code.push(lines[index] ?? "");
      blocks.push({ kind: "code", language, text: code.join("\n") });
      continue;
    }
    const heading = /^#{1,6}\s+(.*)$/.exec(line);
    const item = /^(\s*)([-*+]|\d+[.)])\s+(.*)$/.exec(line);
    if (line.trim() === "") flush();
    else if (heading !== null) {
      flush();
      blocks.push({ kind: "heading", spans: spansOf(heading[1] ?? "") });
    } else if (item !== null) {
      flush();
      const [, indent = "", sign = "", text = ""] = item;
      blocks.push({ kind: "item", sign: /\d/.test(sign) ? sign : "•", indent: indent.length, spans: spansOf(text) });
    } else paragraph.push(line);
  }
  flush();
  return blocks;
}

function spansOf(text: string): Span[] {
  const spans: Span[] = [];
  let rest = 0;
  for (const match of text.matchAll(/`([^`\n]+)`|\*\*([^*\n]+)\*\*/g)) {
    if (match.index > rest) spans.push({ kind: "text", text: text.slice(rest, match.index) });
    spans.push(match[1] === undefined ? { kind: "bold", text: match[2] ?? "" } : { kind: "code", text: match[1] });
    rest = match.index + match[0].length;
  }
  if (rest < text.length) spans.push({ kind: "text", text: text.slice(rest) });
  return spans;
}
