/** What there is to choose from where a model is chosen. */

import { short } from "./words.js";
import type { ModelInfo, ModelsResult } from "../protocol/types.js";

/** A line of the list: a model, another act, or the heading of a group. */
export type Choice =
  | { readonly kind: "heading"; readonly label: string }
  | { readonly kind: "model"; readonly label: string; readonly description: string; readonly model: string }
  | { readonly kind: "settings" | "other" | "setUp" | "problem"; readonly label: string; readonly description: string };

/**
 * The list. What is known at once stands first, and stays where it is when the rest comes.
 *
 * @param found what the server lists; undefined as long as it has not answered
 * @param chosen the model that was chosen here; undefined for that of the settings
 * @param set the model that the settings name, as far as the editor knows it
 * @param recent those that were chosen lately
 */
export function choicesOf(
  found: ModelsResult | undefined,
  chosen: string | undefined,
  set: string,
  recent: readonly string[],
): Choice[] {
  const infos = new Map((found?.models ?? []).map((one) => [one.model, one]));
  const line = (model: string): Choice => ({
    kind: "model",
    label: `${model === chosen ? "$(check) " : ""}${model}`,
    description: factsOf(infos.get(model)),
    model,
  });
  const groups = new Map<string, Choice[]>();
  for (const one of found?.models ?? []) {
    if (recent.includes(one.model)) continue;
    const name = groupOf(one);
    groups.set(name, [...(groups.get(name) ?? []), line(one.model)]);
  }
  return [
    {
      kind: "settings",
      label: `${chosen === undefined ? "$(check) " : ""}The one of the settings`,
      description: found?.model ?? set,
    },
    { kind: "other", label: "$(edit) Another…", description: "provider/name" },
    { kind: "setUp", label: "$(add) Set up a model…", description: "a provider, its key, its models, a trial" },
    ...group("chosen lately", recent.map(line)),
    ...[...groups].flatMap(([name, lines]) => group(name, lines)),
    ...group(
      "not reached",
      (found?.problems ?? []).map((problem) => ({
        kind: "problem",
        label: `$(warning) ${problem}`,
        description: "",
      })),
    ),
  ];
}

/** What a command of the server is given, as of a code action: a task that names no model gets the one that was chosen. */
export function withModel(command: string, args: readonly unknown[], chosen: string | undefined): unknown[] {
  const [params, ...more] = args;
  const isTask = command === "outrider.run" && typeof params === "object" && params !== null;
  return isTask && chosen !== undefined ? [{ model: chosen, ...params }, ...more] : [...args];
}

function group(name: string, lines: readonly Choice[]): Choice[] {
  return lines.length === 0 ? [] : [{ kind: "heading", label: name }, ...lines];
}

function groupOf({ model, named, tier }: ModelInfo): string {
  if (tier !== undefined) return `tier ${tier}`;
  return named ? "named in the settings" : `of the provider ${model.slice(0, model.indexOf("/"))}`;
}

function factsOf(info: ModelInfo | undefined): string {
  if (info === undefined) return "";
  const { contextWindow, price } = info;
  const window = `${short(contextWindow)} tokens`;
  return price === undefined ? window : `${window} · ${String(price.input)} in, ${String(price.output)} out`;
}
