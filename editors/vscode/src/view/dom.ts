/** Makes elements. Texts are always texts, never HTML. */

type Child = Node | string | undefined;

interface Props {
  readonly class?: string;
  readonly title?: string;
  readonly on?: Readonly<Record<string, (event: globalThis.Event) => void>>;
  readonly [attribute: string]: unknown;
}

/** An element with attributes, listeners (`on`) and children; an attribute that is undefined or false is left out. */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name === "on") {
      for (const [type, listener] of Object.entries(props.on ?? {})) element.addEventListener(type, listener);
    } else if (value === true) element.setAttribute(name, "");
    else if (typeof value === "string" || typeof value === "number") element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child): child is Node | string => child !== undefined));
  return element;
}

/** A button that is one: reachable, named, and with its key said. */
export function button(label: string, act: () => void, props: Props = {}): HTMLButtonElement {
  return h("button", { type: "button", ...props, on: { click: act } }, label);
}

/** A text with what it has between backticks as code. */
export function withCode(text: string): (HTMLElement | string)[] {
  return text.split(/`([^`]+)`/).map((part, at) => (at % 2 === 0 ? part : h("code", {}, part)));
}

/** The same of a text that may name one command: one with backticks of its own is shown as it is, as they mean something to a shell. */
export function withCommand(text: string): (HTMLElement | string)[] {
  const [, before, command, after] = /^([^`]*)`([^`]+)`([^`]*)$/.exec(text) ?? [];
  return command === undefined ? [text] : [before ?? "", h("code", {}, command), after ?? ""];
}
