/** The colours that an editor's theme gives to code. */

/** The colours of code, and the scopes of a theme that say them, the first one that it knows. */
export const SCOPES = {
  comment: ["comment"],
  keyword: ["keyword.control", "keyword", "storage.type", "storage"],
  string: ["string"],
  number: ["constant.numeric", "constant"],
  constant: ["constant.language", "constant", "variable.language"],
  type: ["entity.name.type", "support.type", "support.class", "entity.name.class"],
  function: ["entity.name.function", "support.function"],
  variable: ["variable.other", "variable", "meta.definition.variable"],
  tag: ["entity.name.tag"],
  attribute: ["entity.other.attribute-name", "support.type.property-name"],
  meta: ["meta.preprocessor", "keyword.control.directive", "keyword.other", "keyword"],
  inserted: ["markup.inserted"],
  deleted: ["markup.deleted"],
} as const;

export type Colour = keyof typeof SCOPES;

/** A rule of a theme: the colour of what is called so. */
export interface ThemeRule {
  readonly scope?: string | readonly string[];
  readonly settings?: { readonly foreground?: string };
}

/** The colours of code that a theme's rules give, as far as they do. A later rule counts more than an earlier one. */
export function coloursOf(rules: readonly ThemeRule[]): Partial<Record<Colour, string>> {
  const bySelector = new Map<string, string>();
  for (const { scope = [], settings } of rules) {
    const foreground = settings?.foreground;
    if (typeof foreground !== "string" || !/^#[0-9a-f]{3,8}$/i.test(foreground)) continue;
    const selectors = (Array.isArray(scope) ? scope : [scope])
      .join(",")
      .split(",")
      .map((one) => one.trim());
    for (const selector of selectors) bySelector.set(selector, foreground);
  }
  const found: Partial<Record<Colour, string>> = {};
  for (const [colour, scopes] of Object.entries(SCOPES) as [Colour, readonly string[]][]) {
    const said = scopes.flatMap((scope) => covering(scope).flatMap((one) => bySelector.get(one) ?? []));
    if (said[0] !== undefined) found[colour] = said[0];
  }
  return found;
}

/** The selectors that cover a scope, the narrowest first: `a.b.c`, `a.b`, `a`. */
function covering(scope: string): string[] {
  const parts = scope.split(".");
  return parts.map((_, index) => parts.slice(0, parts.length - index).join("."));
}
