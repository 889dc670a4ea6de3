/** The options of a question, which say what they mean in its detail: a line `OPTION: what it means` for each that does. */

/** What options mean, by their titles, and what else the detail says. */
export interface Meanings {
  readonly of: ReadonlyMap<string, string>;
  readonly rest: string;
}

export function meaningsOf(options: readonly string[], detail: string): Meanings {
  const of = new Map<string, string>();
  const rest: string[] = [];
  let current: string | undefined;
  for (const line of detail.split("\n")) {
    const begun = options.find((option) => !of.has(option) && line.startsWith(`${option}: `));
    if (begun !== undefined) {
      current = begun;
      of.set(begun, line.slice(begun.length + 2));
    } else if (current === undefined) rest.push(line);
    else of.set(current, `${of.get(current) ?? ""}\n${line}`);
  }
  return { of, rest: rest.join("\n") };
}
