/** The extension's own Python environment, in which the server runs that came with it. */

import { type Machine, type Problem, isProblem, onPath } from "./machine.js";

/** The oldest Python that the server runs on. */
export const OLDEST: readonly [number, number] = [3, 11];

const NAMES = ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python"];
const WHICH = "import sys, venv, ensurepip; print('%d.%d.%d' % sys.version_info[:3])";

export interface Python {
  readonly path: string;
  readonly version: string;
}

/**
 * Find a Python to make the environment with: the one of the settings, else the first on PATH that is new enough.
 *
 * @param chosen the path that the settings name; empty for none
 */
export async function findPython(machine: Machine, chosen: string): Promise<Python | Problem> {
  const wanted = OLDEST.join(".");
  if (chosen !== "") {
    const version = await versionOf(machine, chosen);
    if (version === undefined) {
      return { problem: `${chosen} (setting outrider.server.python) is no Python that can make environments.` };
    }
    if (isNewEnough(version)) return { path: chosen, version };
    return {
      problem: `${chosen} (setting outrider.server.python) is Python ${version}; Outrider needs ${wanted} or newer.`,
    };
  }
  let found = "";
  for (const name of NAMES) {
    const path = await onPath(machine, name);
    const version = path === undefined ? undefined : await versionOf(machine, path);
    if (path === undefined || version === undefined) continue;
    if (isNewEnough(version)) return { path, version };
    found ||= `${path} is Python ${version}`;
  }
  const seen =
    found === "" ? "Python was not found (or it lacks its modules venv and ensurepip)" : `Python is too old: ${found}`;
  return {
    problem: `${seen}. Outrider needs Python ${wanted} or newer: install it, or name one in the setting outrider.server.python.`,
  };
}

async function versionOf(machine: Machine, path: string): Promise<string | undefined> {
  const { code, output } = await machine.run(path, ["-I", "-c", WHICH]);
  return code === 0 ? /^\d+\.\d+\.\d+$/m.exec(output)?.[0] : undefined;
}

function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
}

/** An environment: where it is, and what is installed into it. */
export interface Environment {
  /** Its folder, which belongs to it alone. */
  readonly folder: string;
  /** The wheel of the server. */
  readonly wheel: string;
  /** Changes with the wheel. */
  readonly stamp: string;
}

/** The program of an environment that is complete and of this wheel; undefined: it has to be made. */
export async function madeServer(machine: Machine, environment: Environment): Promise<string[] | undefined> {
  const stamp = await machine.read(`${environment.folder}/complete`);
  const python = pythonOf(machine, environment);
  if (stamp !== environment.stamp || (await machine.program(python)) === undefined) return undefined;
  return serverOf(python);
}

/**
 * Make the environment anew.
 *
 * @param report told what is being done
 * @param signal ends it
 * @returns the command of the server in it
 */
export async function makeEnvironment(
  machine: Machine,
  environment: Environment,
  chosen: string,
  report: (message: string) => void,
  signal?: AbortSignal,
): Promise<string[] | Problem> {
  report("looking for Python");
  const python = await findPython(machine, chosen);
  if (isProblem(python)) return python;
  await machine.remove(environment.folder);
  report(`making an environment with Python ${python.version}`);
  const made = await machine.run(python.path, ["-I", "-m", "venv", environment.folder], signal);
  if (made.code !== 0)
    return { problem: `An environment could not be made with ${python.path}: ${lastLine(made.output)}` };
  report("installing the server and what it needs");
  const own = pythonOf(machine, environment);
  const pip = ["-I", "-m", "pip", "install", "--disable-pip-version-check", "--no-input", environment.wheel];
  const installed = await machine.run(own, pip, signal);
  if (installed.code !== 0) {
    return { problem: `The server could not be installed: ${lastLine(installed.output)} The log has all of it.` };
  }
  await machine.write(`${environment.folder}/complete`, environment.stamp);
  return serverOf(own);
}

function pythonOf(machine: Machine, environment: Environment): string {
  return `${environment.folder}/${machine.windows ? "Scripts/python.exe" : "bin/python"}`;
}

/** Isolated: neither the folder it is started in nor variables of the environment bring modules of a project in. */
function serverOf(python: string): string[] {
  return [python, "-I", "-m", "outrider"];
}

function lastLine(output: string): string {
  const lines = output.trim().split(/\r?\n/);
  return (lines.reverse().find((line) => /error/i.test(line)) ?? lines[0] ?? "").trim();
}
