/** Divides code into what has a colour of its own. */

import highlighter from "highlight.js/lib/common";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import powershell from "highlight.js/lib/languages/powershell";

import type { Colour } from "./theme.js";

highlighter.registerLanguage("dockerfile", dockerfile);
highlighter.registerLanguage("powershell", powershell);

/** Longer code has no colours: to find them takes too long. */
export const LONGEST = 20_000;

/** What the highlighter calls a piece, where that is not the colour's own name. */
const COLOURS: Readonly<Record<string, Colour | "">> = {
  addition: "inserted",
  attr: "attribute",
  attribute: "attribute",
  built_in: "type",
  bullet: "keyword",
  "char escape_": "constant",
  comment: "comment",
  deletion: "deleted",
  doctag: "keyword",
  keyword: "keyword",
  link: "string",
  literal: "constant",
  meta: "meta",
  name: "tag",
  number: "number",
  property: "attribute",
  quote: "comment",
  regexp: "string",
  section: "keyword",
  "selector-attr": "attribute",
  "selector-class": "tag",
  "selector-id": "tag",
  "selector-pseudo": "attribute",
  "selector-tag": "tag",
  string: "string",
  // What is put into a string has the colours of code again.
  subst: "",
  symbol: "constant",
  "template-variable": "variable",
  title: "function",
  "title class_": "type",
  type: "type",
  variable: "variable",
  "variable constant_": "constant",
  "variable language_": "constant",
};

/** A piece of code and its colour; undefined where it has none of its own. */
export interface Piece {
  readonly text: string;
  readonly colour: Colour | undefined;
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#x27": "'" };

/**
 * The pieces of a code.
 *
 * @param info what stands behind the fence, of which the first word is the language
 */
export function pieces(code: string, info: string): Piece[] {
  const language = languageOf(info);
  if (code.length > LONGEST || highlighter.getLanguage(language) === undefined)
    return [{ text: code, colour: undefined }];
  const { value } = highlighter.highlight(code, { language, ignoreIllegals: true });
  const found: Piece[] = [];
  const within: (Colour | "" | undefined)[] = [];
  // What the library gives is text with these entities, in these elements.
  for (const [whole, classes] of value.matchAll(/<span class="([^"]*)">|<\/span>|[^<]+/g)) {
    if (classes !== undefined) within.push(colourOf(classes) ?? within.at(-1));
    else if (whole === "</span>") within.pop();
    else {
      const text = whole.replace(/&(amp|lt|gt|quot|#x27);/g, (_, name: string) => ENTITIES[name] ?? "");
      found.push({ text, colour: within.at(-1) || undefined });
    }
  }
  return found;
}

function colourOf(classes: string): Colour | "" | undefined {
  const [first = "", second = ""] = classes.replaceAll("hljs-", "").split(" ");
  return COLOURS[`${first} ${second}`] ?? COLOURS[first];
}

/** The language that is named behind a fence. */
export function languageOf(info: string): string {
  return (/^\{?\.?([\w+#-]+)/.exec(info)?.[1] ?? "").toLowerCase();
}
