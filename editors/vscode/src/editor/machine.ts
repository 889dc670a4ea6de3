/** This machine, as `core` needs it. */

import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { access, mkdir, readFile, readdir, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import * as vscode from "vscode";

import type { Machine, Ran } from "../core/machine.js";

const RUN_MILLISECONDS = 10 * 60_000;

/** The machine that the extension runs on. What programs print goes to the log. */
export function thisMachine(log: vscode.LogOutputChannel): Machine {
  return {
    env: process.env,
    windows: process.platform === "win32",
    workspace: (vscode.workspace.workspaceFolders ?? [])
      .filter(({ uri }) => uri.scheme === "file")
      .map(({ uri }) => uri.fsPath),
    async program(path) {
      try {
        await access(path, constants.X_OK);
        return (await stat(path)).isFile() ? await realpath(path) : undefined;
      } catch {
        return undefined;
      }
    },
    run(command, args, signal) {
      return new Promise<Ran>((resolve) => {
        const options = {
          timeout: RUN_MILLISECONDS,
          maxBuffer: 1 << 24,
          env: { ...process.env, PYTHONPATH: "" },
          ...(signal ? { signal } : {}),
        };
        log.debug(`${command} ${args.join(" ")}`);
        execFile(command, [...args], options, (error, stdout, stderr) => {
          const output = `${stdout}${stderr}`;
          if (error !== null) log.warn(`${error.message}\n${output}`.trim());
          else if (output.trim() !== "") log.debug(output.trim());
          const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
          resolve({ code, output: output || (error?.message ?? "") });
        });
      });
    },
    async read(path) {
      try {
        return await readFile(path, "utf8");
      } catch {
        return undefined;
      }
    },
    async write(path, text) {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
    },
    async remove(folder) {
      try {
        await rm(folder, { recursive: true, force: true });
      } catch (error) {
        log.warn(String(error));
      }
    },
    async rename(folder, name) {
      try {
        await rename(folder, name);
        return true;
      } catch (error) {
        log.debug(String(error));
        return false;
      }
    },
    async list(folder) {
      return readdir(folder).catch(() => []);
    },
    async modified(path) {
      try {
        return (await stat(path)).mtimeMs;
      } catch {
        return undefined;
      }
    },
    unique: () => randomUUID().slice(0, 8),
  };
}
