/** What goes to the server of the editor's settings, and by which way: the user's own widen, the workspace's only narrow. */

import { PERMISSION_MODES, type PermissionMode } from "./words.js";
import type { Settings } from "../protocol/types.js";

/** One setting, by where it is said. */
export interface Said {
  /** By the user, for all workspaces of this machine. */
  readonly global: unknown;
  /** By the workspace, which a repository may have written; the innermost of its levels. */
  readonly workspace: unknown;
}

/** Gives a setting of the section `outrider`. */
export type Inspect = (key: string) => Said;

const OWN = [
  "model",
  "thinking",
  "fallbackModels",
  "retry",
  "providers",
  "models",
  "tiers",
  "routing",
  "modelTitles",
  "permissionMode",
  "limits",
  "sandbox",
  "commandEnvironment",
  "verify",
  "reminders",
  "autonomy",
  "codeLens",
  "stateDir",
  "store",
  "recording",
  "repositoryMap",
  "languageServers",
  "trialDiagnostics",
  "mcpServers",
  "hooks",
  "web",
  "memory",
  "skills",
] as const;
/** The requests beyond LSP that the extension answers. */
const EXTENSIONS = ["ask", "save", "language"] as const;

/** The settings, and what stands beside them there. */
export type Options = Settings & { readonly extensions: typeof EXTENSIONS };

const NARROWING = ["model", "permissionMode", "limits", "sandbox", "codeLens"] as const;

/**
 * The `initializationOptions`. Only what the user said counts: nothing here comes from the workspace.
 *
 * @param trusted whether the user trusts the workspace
 */
export function initializationOptions(inspect: Inspect, trusted: boolean): Options {
  const said: Record<string, unknown> = {};
  for (const key of OWN) {
    const { global } = inspect(key);
    if (isSaid(global)) said[key] = global;
  }
  return { ...said, events: true, trusted, extensions: EXTENSIONS };
}

/**
 * The answer to `workspace/configuration`: what the workspace says of the settings that can be narrowed. The server
 * ignores what would widen. A narrower mode that the user chose meanwhile goes the same way, and counts at once.
 *
 * @param started the mode that the server was started with
 */
export function configuration(inspect: Inspect, started: PermissionMode | undefined): Settings {
  const values: Record<string, unknown> = {};
  for (const key of NARROWING) {
    const { workspace } = inspect(key);
    if (isSaid(workspace)) values[key] = workspace;
  }
  const { global } = inspect("permissionMode");
  if (isMode(global) && global !== started) {
    values["permissionMode"] = isMode(values["permissionMode"]) ? narrowest(global, values["permissionMode"]) : global;
  }
  const mode = values["permissionMode"];
  // The server would say that a wider one is ignored; who chose it is told to restart in another place.
  if (isMode(mode) && mode === global && isWider(mode, started)) delete values["permissionMode"];
  return values;
}

/** The mode that the next turn gets, as far as the editor's settings say it. */
export function nextMode(inspect: Inspect, trusted: boolean): PermissionMode | undefined {
  if (!trusted) return "read-only";
  const { global, workspace } = inspect("permissionMode");
  if (!isMode(workspace)) return isMode(global) ? global : undefined;
  return isMode(global) ? narrowest(global, workspace) : narrowest("ask", workspace);
}

/** Whether a mode allows more than another; the mode of a server that was told none is `ask`. */
export function isWider(mode: PermissionMode, than: PermissionMode | undefined): boolean {
  return PERMISSION_MODES.indexOf(mode) > PERMISSION_MODES.indexOf(than ?? "ask");
}

export function isMode(value: unknown): value is PermissionMode {
  return PERMISSION_MODES.includes(value as PermissionMode);
}

function narrowest(one: PermissionMode, other: PermissionMode): PermissionMode {
  return isWider(one, other) ? other : one;
}

function isSaid(value: unknown): boolean {
  if (value === undefined || value === null || value === "") return false;
  return typeof value !== "object" || Object.keys(value).length > 0;
}

/** The names of the environment variables that the providers take their keys from. */
export function keyNames(providers: unknown): string[] {
  if (typeof providers !== "object" || providers === null) return [];
  const names = Object.values(providers as Record<string, unknown>).map((provider) =>
    typeof provider === "object" && provider !== null ? (provider as Record<string, unknown>)["apiKeyEnv"] : undefined,
  );
  return [...new Set(names.filter((name): name is string => typeof name === "string" && isVariable(name)))];
}

/** Whether a text can be the name of an environment variable. */
export function isVariable(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);
}
