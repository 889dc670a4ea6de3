/** Renders Markdown as elements. No text becomes HTML, and nothing is ever loaded. */

import MarkdownIt, { type Env, type Token } from "markdown-it";

import { address, fileRef, symbolName } from "../core/links.js";
import { turned, visible } from "../core/visible.js";
import { CodeBlock, type Take } from "./code.js";
import { h } from "./dom.js";
import type { Places } from "./places.js";

const parser = new MarkdownIt({ html: false, linkify: true, breaks: true });
// Lines that are indented are more often part of a list that was cut than they are code.
parser.disable("code");
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
// What leads nowhere stays as it is written.
parser.validateLink = (href) => address(href, "") !== undefined || fileRef(decoded(href)) !== undefined;

/** What answers of a session have in common. */
export interface Surroundings {
  readonly places: Places;
  readonly take: Take;
}

/** What `[text][name]` leads to, from the lines of an answer that say so. */
export function definitions(text: string): Env {
  const env: Env = {};
  if (text !== "") parser.parse(text, env);
  return env;
}

/** The elements of a text. */
export function render(text: string, env: Env, around: Surroundings): DocumentFragment {
  const root = document.createDocumentFragment();
  // Each gets its own: what it defines itself must not be defined twice.
  const own: Env = env.references === undefined ? {} : { references: { ...env.references } };
  new Builder(root, around).take(parser.parse(text, own));
  return root;
}

/** The elements of tokens that may open others. */
const BLOCKS: Readonly<Record<string, keyof HTMLElementTagNameMap>> = {
  blockquote_open: "blockquote",
  bullet_list_open: "ul",
  list_item_open: "li",
  tbody_open: "tbody",
  thead_open: "thead",
  tr_open: "tr",
  em_open: "em",
  s_open: "s",
  strong_open: "strong",
};

class Builder {
  private readonly stack: (DocumentFragment | HTMLElement)[];

  constructor(
    root: DocumentFragment,
    private readonly around: Surroundings,
  ) {
    this.stack = [root];
  }

  take(tokens: readonly Token[]): void {
    for (const token of tokens) this.token(token);
  }

  private add(child: Node | string): void {
    this.stack.at(-1)?.append(child);
  }

  private open(element: HTMLElement): void {
    this.add(element);
    this.stack.push(element);
  }

  private token(token: Token): void {
    const tag = BLOCKS[token.type];
    if (token.type === "table_open") {
      const table = h("table");
      // It scrolls by itself where it is too wide.
      this.add(h("div", { class: "table", tabindex: 0, role: "region", "aria-label": "Table" }, table));
      this.stack.push(table);
    } else if (tag !== undefined) this.open(h(tag, tag === "li" || tag === "blockquote" ? { dir: "auto" } : {}));
    else if (token.type === "link_close") this.closeLink();
    else if (token.nesting === -1) {
      if (!token.hidden) this.stack.pop();
    } else this.other(token);
  }

  private other(token: Token): void {
    switch (token.type) {
      case "paragraph_open":
        if (!token.hidden) this.open(h("p", { dir: "auto" }));
        break;
      case "heading_open":
        this.open(h(HEADINGS[token.tag] ?? "h6", { dir: "auto" }));
        break;
      case "ordered_list_open": {
        const start = token.attrGet("start");
        this.open(h("ol", start === null ? {} : { start }));
        break;
      }
      case "th_open":
      case "td_open": {
        const align = /text-align:(center|right)/.exec(String(token.attrGet("style")))?.[1];
        const shown = { dir: "auto", ...(align === undefined ? {} : { class: align }) };
        this.open(token.type === "th_open" ? h("th", { scope: "col", ...shown }) : h("td", shown));
        break;
      }
      case "inline":
        this.inline(token.children ?? []);
        break;
      case "fence":
      case "code_block":
        this.code(token.content.replace(/\n$/, ""), token.info);
        break;
      case "hr":
        this.add(h("hr"));
        break;
      case "text":
        this.text(token.content);
        break;
      case "code_inline":
        this.name(token.content);
        break;
      case "softbreak":
      case "hardbreak":
        this.add(h("br"));
        break;
      case "link_open":
        this.open(h("a", { "data-href": String(token.attrGet("href")) }));
        break;
      case "image":
        this.open(h("a", { "data-href": String(token.attrGet("src")) }, `Image: ${turned(token.content)}`));
        this.closeLink();
        break;
      default:
        // What is not known stays as it is written.
        this.add(turned(token.content));
    }
  }

  private inline(children: readonly Token[]): void {
    const [first] = children;
    const box = /^\[([ xX])\] /.exec(first?.content ?? "");
    const item = this.stack.findLast((one) => one instanceof HTMLLIElement);
    const isBox = first?.type === "text" && box !== null && item?.textContent === "";
    if (isBox) {
      item.classList.add("box");
      const checked = box[1] !== " ";
      this.add(h("input", { type: "checkbox", disabled: true, checked, "aria-label": checked ? "done" : "not done" }));
      this.text(` ${first.content.slice(4)}`);
    }
    this.take(isBox ? children.slice(1) : children);
  }

  private text(text: string): void {
    for (const [index, part] of text.split(/<br *\/?>/i).entries()) {
      if (index > 0) this.add(h("br"));
      this.add(turned(part));
    }
  }

  private code(text: string, info: string): void {
    const block = new CodeBlock(info, this.around.take);
    block.show(text, true);
    this.add(block.element);
  }

  /** Code in a line, which may name a file or a symbol. */
  private name(text: string): void {
    const code = h("code", {}, visible(text));
    this.add(code);
    if (this.stack.some((one) => one instanceof HTMLAnchorElement)) return;
    const ref = fileRef(text);
    const symbol = symbolName(text);
    if (ref !== undefined) this.around.places.file(code, ref);
    else if (symbol !== undefined) this.around.places.symbol(code, symbol);
  }

  private closeLink(): void {
    const link = this.stack.pop();
    if (!(link instanceof HTMLAnchorElement)) return;
    const href = link.dataset["href"] ?? "";
    delete link.dataset["href"];
    const found = address(href, link.textContent);
    if (found !== undefined) {
      link.href = found.href;
      link.title = found.href;
      if (found.host !== undefined) link.after(h("span", { class: "host" }, ` (${found.host})`));
      return;
    }
    const ref = fileRef(decoded(href));
    const place = h("span", { title: decoded(href) }, ...link.childNodes);
    link.replaceWith(place);
    if (ref !== undefined) this.around.places.file(place, ref);
  }
}

/** The headings of an answer are below the title of the page and the task. */
const HEADINGS: Readonly<Record<string, "h3" | "h4" | "h5" | "h6">> = { h1: "h3", h2: "h3", h3: "h4", h4: "h5" };

function decoded(href: string): string {
  try {
    return decodeURI(href);
  } catch {
    return href;
  }
}
