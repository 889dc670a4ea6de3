// Writes src/protocol/types.ts from protocol/schema.json; with --check it only says whether the file is up to date.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const SCHEMA = new URL("../../../protocol/schema.json", import.meta.url);
const TYPES = new URL("../src/protocol/types.ts", import.meta.url);

/** The name that a `$ref` points at. */
function named(ref) {
  return ref.slice(ref.lastIndexOf("/") + 1);
}

/** The TypeScript type of a schema. Null is left out: on the wire a key without a value is absent. */
function typeOf(schema) {
  if (schema.$ref !== undefined) return named(schema.$ref);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) {
    const types = choices.filter((choice) => choice.type !== "null").map(typeOf);
    return [...new Set(types)].join(" | ");
  }
  switch (schema.type) {
    case "string":
      return "string";
    case "integer":
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    case "array": {
      const item = schema.items === undefined ? "unknown" : typeOf(schema.items);
      return item.includes("|") ? `(${item})[]` : `${item}[]`;
    }
    case "object": {
      const values = schema.additionalProperties;
      return `Record<string, ${typeof values === "object" ? typeOf(values) : "unknown"}>`;
    }
    default:
      return "unknown";
  }
}

function interfaceOf(name, schema) {
  const required = new Set(schema.required ?? []);
  const keys = Object.entries(schema.properties ?? {}).map(([key, value]) => {
    const name = /^\w+$/.test(key) ? key : JSON.stringify(key);
    return `  ${name}${required.has(key) ? "" : "?"}: ${typeOf(value)};`;
  });
  const comment = schema.description ? `/** ${schema.description.replaceAll("\n", " ")} */\n` : "";
  if (schema.properties === undefined) return `${comment}export type ${name} = ${typeOf(schema)};`;
  return `${comment}export interface ${name} {\n${keys.join("\n")}\n}`;
}

/** The definitions that are reachable from some schemas. */
function reachable(definitions, roots) {
  const found = new Set();
  const visit = (value) => {
    if (typeof value !== "object" || value === null) return;
    if (typeof value.$ref === "string" && !found.has(named(value.$ref))) {
      found.add(named(value.$ref));
      visit(definitions[named(value.$ref)]);
    }
    Object.values(value).forEach(visit);
  };
  visit(roots);
  return [...found].sort();
}

/** The text of types.ts. */
function render() {
  const schema = JSON.parse(readFileSync(SCHEMA, "utf8"));
  const { commands, events, notifications, requests, settings } = schema;
  const names = reachable(schema.$defs, { commands, events, notifications, requests, settings });
  const table = (name, rows) => `export interface ${name} {\n${rows.join("\n")}\n}`;
  const calls = (rows) =>
    Object.entries(rows).map(
      ([name, row]) => `  ${JSON.stringify(name)}: { params: ${typeOf(row.params)}; result: ${typeOf(row.result)} };`,
    );
  return (
    [
      "// Made of protocol/schema.json by `npm run types`. Do not edit.",
      ...names.map((name) => interfaceOf(name, schema.$defs[name])),
      "/** The commands of `workspace/executeCommand`. */\n" + table("Commands", calls(commands)),
      "/** Requests to the client. */\n" + table("Requests", calls(requests)),
      "/** The data of each type of event. */\n" +
        table(
          "EventData",
          Object.entries(events).map(([name, row]) => `  ${JSON.stringify(name)}: ${typeOf(row)};`),
        ),
      "/** An event whose `data` is known by its `type`. */\n" +
        'export type KnownEvent = { [T in keyof EventData]: Omit<Event, "type" | "data"> & { type: T; data: EventData[T] } }[keyof EventData];',
    ].join("\n\n") + "\n"
  );
}

const text = render();
if (process.argv.includes("--check")) {
  const there = readFileSync(TYPES, "utf8");
  if (there !== text) {
    console.error("src/protocol/types.ts is not what protocol/schema.json says: run `npm run types`.");
    process.exit(1);
  }
} else {
  writeFileSync(fileURLToPath(TYPES), text);
}
