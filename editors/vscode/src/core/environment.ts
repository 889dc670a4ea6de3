/** The extension's own Python environments, in which the server runs that came with it: one for each wheel. */

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

/** The environments of the extension: where they are, and what is installed into the one that is wanted. */
export interface Environment {
  /** The folder of all of them, which belongs to them alone. */
  readonly folder: string;
  /** The wheel of the server. */
  readonly wheel: string;
  /** Changes with the wheel; the name of its environment. */
  readonly stamp: string;
}

/** For how many days an environment is kept after a server was started in it last: one may still run there. */
export const KEPT_DAYS = 30;
/** For how many hours one that was not finished is kept: another window may be at it. */
export const UNFINISHED_HOURS = 24;
const HOUR_MILLISECONDS = 60 * 60_000;

/**
 * The program of an environment that is complete, of this wheel, and still runs; undefined: it has to be made.
 *
 * The Python that it was made with may be gone by now, or be another version, which does not look where this one's
 * packages are.
 */
export async function madeServer(machine: Machine, environment: Environment): Promise<string[] | undefined> {
  const folder = folderOf(environment);
  const python = pythonOf(machine, folder);
  if ((await machine.read(`${folder}/complete`)) !== environment.stamp) return undefined;
  if ((await machine.program(python)) === undefined) return undefined;
  if ((await machine.run(python, ["-I", "-c", "import outrider"])).code !== 0) return undefined;
  return serverOf(python);
}

/**
 * Make the environment aside, and put it in its place once it is complete. So no window sees one that is half made, and
 * none takes away what the server of another one runs in. Of several windows that make it the first one wins, and the
 * others use what it made.
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
  const aside = `${folderOf(environment)}.${machine.unique()}`;
  try {
    const problem = await fill(machine, environment, aside, python, report, signal);
    return problem ?? (await putInPlace(machine, environment, aside));
  } finally {
    await machine.remove(aside);
  }
}

async function fill(
  machine: Machine,
  environment: Environment,
  aside: string,
  python: Python,
  report: (message: string) => void,
  signal?: AbortSignal,
): Promise<Problem | undefined> {
  report(`making an environment with Python ${python.version}`);
  const made = await machine.run(python.path, ["-I", "-m", "venv", aside], signal);
  if (made.code !== 0)
    return { problem: `An environment could not be made with ${python.path}: ${lastLine(made.output)}` };
  report("installing the server and what it needs");
  const pip = ["-I", "-m", "pip", "install", "--disable-pip-version-check", "--no-input", environment.wheel];
  const installed = await machine.run(pythonOf(machine, aside), pip, signal);
  if (installed.code !== 0) {
    return { problem: `The server could not be installed: ${lastLine(installed.output)} The log has all of it.` };
  }
  await machine.write(`${aside}/complete`, environment.stamp);
  return undefined;
}

async function putInPlace(machine: Machine, environment: Environment, aside: string): Promise<string[] | Problem> {
  const folder = folderOf(environment);
  if (await machine.rename(aside, folder)) return serverOf(pythonOf(machine, folder));
  const winner = await madeServer(machine, environment);
  if (winner !== undefined) return winner;
  // What is there does not run; another window may be about to replace it just as well.
  const broken = `${folder}.${machine.unique()}`;
  await machine.rename(folder, broken);
  const isIn = await machine.rename(aside, folder);
  await machine.remove(broken);
  if (isIn) return serverOf(pythonOf(machine, folder));
  return (
    (await madeServer(machine, environment)) ?? {
      problem: `The server was installed, but its folder could not be put at ${folder}.`,
    }
  );
}

/**
 * Take note that a server is started in the environment, and remove those that none was started in for long.
 *
 * @param now milliseconds, as files are dated
 */
export async function sweep(machine: Machine, environment: Environment, now: number): Promise<void> {
  // Not the one that says that it is complete: another window may read that just now.
  await machine.write(`${folderOf(environment)}/used`, "");
  for (const name of await machine.list(environment.folder)) {
    const folder = `${environment.folder}/${name}`;
    if (name === environment.stamp) continue;
    const started = name.includes(".") ? undefined : await machine.modified(`${folder}/used`);
    const hours = started === undefined ? UNFINISHED_HOURS : KEPT_DAYS * 24;
    const last = started ?? (await machine.modified(folder));
    if (last !== undefined && now - last > hours * HOUR_MILLISECONDS) await machine.remove(folder);
  }
}

function folderOf(environment: Environment): string {
  return `${environment.folder}/${environment.stamp}`;
}

function pythonOf(machine: Machine, folder: string): string {
  return `${folder}/${machine.windows ? "Scripts/python.exe" : "bin/python"}`;
}

/** Isolated: neither the folder it is started in nor variables of the environment bring modules of a project in. */
function serverOf(python: string): string[] {
  return [python, "-I", "-m", "outrider"];
}

function lastLine(output: string): string {
  const lines = output.trim().split(/\r?\n/);
  return (lines.reverse().find((line) => /error/i.test(line)) ?? lines[0] ?? "").trim();
}
