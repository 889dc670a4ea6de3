// Brings what the package needs of the project: the wheel of the server it was made for, and the licence.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../wheel", import.meta.url));
const project = fileURLToPath(new URL("../../..", import.meta.url));
const python = process.env.PYTHON ?? (process.platform === "win32" ? "python" : "python3");
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
execFileSync(
  python,
  ["-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--wheel-dir", folder, project],
  { stdio: ["ignore", "inherit", "inherit"] },
);
cpSync(`${project}/LICENSE`, fileURLToPath(new URL("../LICENSE", import.meta.url)));
