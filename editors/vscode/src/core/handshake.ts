/** Whether what answered `initialize` is a server that this extension can speak with. */

import type { Problem } from "./machine.js";

/** The version of the protocol that the types of this extension are made of. */
export const PROTOCOL_VERSION = 1;

/**
 * Look at the answer of `initialize`.
 *
 * @returns what is wrong, in words for the user; undefined if it is fine
 */
export function problemOf(result: unknown): Problem | undefined {
  const name = at(result, "serverInfo", "name");
  const version = at(result, "capabilities", "experimental", "outrider", "protocolVersion");
  if (name === "outrider" && typeof version !== "number") {
    return { problem: "The server is too old for this extension: update the server." };
  }
  if (name !== "outrider" || typeof version !== "number") {
    return { problem: `What was started is not an Outrider server${typeof name === "string" ? ` but ${name}` : ""}.` };
  }
  if (version === PROTOCOL_VERSION) return undefined;
  const which =
    version < PROTOCOL_VERSION
      ? "The server is too old for this extension: update the server"
      : "The server is newer than this extension: update the extension";
  return { problem: `${which} (protocol ${String(version)}, wanted ${String(PROTOCOL_VERSION)}).` };
}

function at(value: unknown, ...keys: string[]): unknown {
  for (const key of keys) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}
