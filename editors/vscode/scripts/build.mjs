// Bundles the extension and the session view into dist/; with --tests also the unit tests, into out/.
import { build } from "esbuild";
import { cpSync, mkdirSync, readdirSync, rmSync } from "node:fs";

const production = process.argv.includes("--production");
const common = {
  bundle: true,
  minify: production,
  sourcemap: !production,
  logLevel: "warning",
  absWorkingDir: new URL("..", import.meta.url).pathname,
};

rmSync(new URL("../dist", import.meta.url), { recursive: true, force: true });
mkdirSync(new URL("../dist", import.meta.url));
await build({
  ...common,
  entryPoints: ["src/extension.ts"],
  outfile: "dist/extension.js",
  platform: "node",
  format: "cjs",
  target: "node20",
  // The other form of some libraries looks for their files when it runs.
  mainFields: ["module", "main"],
  external: ["vscode"],
});
await build({
  ...common,
  entryPoints: ["src/view/main.ts"],
  outfile: "dist/view.js",
  platform: "browser",
  format: "iife",
  target: "es2022",
});
cpSync(new URL("../src/view/view.css", import.meta.url), new URL("../dist/view.css", import.meta.url));

if (process.argv.includes("--tests")) {
  rmSync(new URL("../out", import.meta.url), { recursive: true, force: true });
  const tests = readdirSync(new URL("../test", import.meta.url)).filter((name) => name.endsWith(".test.ts"));
  await build({
    ...common,
    minify: false,
    sourcemap: "inline",
    entryPoints: tests.map((name) => `test/${name}`),
    outdir: "out",
    platform: "node",
    format: "cjs",
    target: "node20",
    mainFields: ["module", "main"],
    external: ["playwright-core", "axe-core"],
  });
}
