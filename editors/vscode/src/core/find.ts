/** Where the server comes from: the setting, PATH, or the extension's own environment. Never the project. */

import { type Environment, madeServer } from "./environment.js";
import { type Machine, type Problem, isInside, onPath } from "./machine.js";

export interface Found {
  readonly command: readonly string[];
  readonly from: "setting" | "PATH" | "own environment";
}

/** Nothing is there: the own environment has to be made. */
export interface ToMake {
  readonly make: true;
}

/** The command that the setting `outrider.server.command` says; a text alone is a program. */
export function commandOf(setting: unknown): string[] {
  const words: unknown[] = Array.isArray(setting) ? setting : [setting];
  return words.filter((word): word is string => typeof word === "string" && word !== "");
}

/**
 * Find the server.
 *
 * @param command of the setting; empty for none
 */
export async function findServer(
  machine: Machine,
  command: readonly string[],
  environment: Environment,
): Promise<Found | ToMake | Problem> {
  const [program] = command;
  if (program !== undefined) {
    if (isAbsolute(program)) {
      if ((await machine.program(program)) === undefined) {
        return { problem: `The server ${program} (setting outrider.server.command) is not there, or cannot be run.` };
      }
      return { command, from: "setting" };
    }
    const path = /[\\/]/.test(program) ? undefined : await onPath(machine, program);
    if (path === undefined) {
      return {
        problem: `The server ${program} (setting outrider.server.command) is not on PATH; give an absolute path.`,
      };
    }
    return { command: [path, ...command.slice(1)], from: "setting" };
  }
  const path = await onPath(machine, "outrider");
  if (path !== undefined) return { command: [path], from: "PATH" };
  const own = isInside(environment.folder, machine.workspace) ? undefined : await madeServer(machine, environment);
  return own === undefined ? { make: true } : { command: own, from: "own environment" };
}

function isAbsolute(path: string): boolean {
  return path.startsWith("/") || /^[A-Za-z]:[\\/]/.test(path);
}

/** Variables of a project's Python, which the server must not get. */
const OF_PROJECTS = ["PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__"];

/** The environment that the server is started with: the editor's, without what belongs to a project's Python, and the keys. */
export function serverEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  keys: Readonly<Record<string, string>>,
): Record<string, string> {
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && !OF_PROJECTS.includes(name)) given[name] = value;
  }
  return { ...given, ...keys };
}
