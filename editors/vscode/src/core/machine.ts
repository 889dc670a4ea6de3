/** What looking for a server and making one need of the machine, so that both can be tried without it. */

export interface Ran {
  readonly code: number;
  readonly output: string;
}

export interface Machine {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly windows: boolean;
  /** The folders of the workspace. Nothing in them is ever run. */
  readonly workspace: readonly string[];
  /** The path with its links followed, if there is something that can be run; else undefined. */
  program(path: string): Promise<string | undefined>;
  /** Run a program without a shell; a code of -1 says that it could not be started. */
  run(command: string, args: readonly string[], signal?: AbortSignal): Promise<Ran>;
  read(path: string): Promise<string | undefined>;
  write(path: string, text: string): Promise<void>;
  /** Remove a folder, as far as that can be done. */
  remove(folder: string): Promise<void>;
  /** Give a folder another name, at once. Gives whether that was done: not where there is something of that name. */
  rename(folder: string, name: string): Promise<boolean>;
  /** The names in a folder; none where there is no such folder. */
  list(folder: string): Promise<string[]>;
  /** When something was written last, in milliseconds. */
  modified(path: string): Promise<number | undefined>;
  /** A name that nobody else has. */
  unique(): string;
}

/** What keeps something from being done, and what the user can do. */
export interface Problem {
  readonly problem: string;
}

export function isProblem(value: unknown): value is Problem {
  return typeof value === "object" && value !== null && "problem" in value;
}

/** Whether a path lies in one of the folders. */
export function isInside(path: string, folders: readonly string[]): boolean {
  const plain = (text: string): string => text.replaceAll("\\", "/").replace(/\/+$/, "");
  const one = plain(path);
  return folders.some((folder) => one === plain(folder) || one.startsWith(`${plain(folder)}/`));
}

/**
 * Find a program on PATH. Relative folders of PATH are passed over, and programs that lie in the workspace or are
 * links into it: an environment of the project is on PATH where the editor was started from its shell.
 */
export async function onPath(
  machine: Pick<Machine, "env" | "windows" | "workspace" | "program">,
  name: string,
): Promise<string | undefined> {
  const separator = machine.windows ? ";" : ":";
  const slash = machine.windows ? "\\" : "/";
  for (const folder of (machine.env["PATH"] ?? machine.env["Path"] ?? "").split(separator)) {
    if (!(machine.windows ? /^[A-Za-z]:[\\/]/.test(folder) : folder.startsWith("/"))) continue;
    if (isInside(folder, machine.workspace)) continue;
    for (const end of machine.windows ? [".exe"] : [""]) {
      const path = `${folder.replace(/[\\/]+$/, "")}${slash}${name}${end}`;
      const real = await machine.program(path);
      if (real !== undefined && !isInside(real, machine.workspace)) return path;
    }
  }
  return undefined;
}
