/** The session view alone in a real Chromium: the built page, with a test in the place of the extension. */

import assert from "node:assert/strict";
import { existsSync, readFileSync, mkdirSync } from "node:fs";
import { after } from "node:test";
import { type Browser, type BrowserContext, type Page, chromium } from "playwright-core";

import type { Frame, FromView, ShownEntry, ToView } from "../src/core/messages.js";

export type { Page } from "playwright-core";

const PROGRAM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
/** Why the page cannot be tried here; false where it can. */
export const skip = PROGRAM === undefined ? "Chromium is not installed" : false;

/** The variables of a theme that the view uses, as the editor gives them to a page. */
const THEMES = JSON.parse(readFileSync("test/themes.json", "utf8")) as Record<string, Record<string, string>>;

const SHOTS = process.env["OUTRIDER_SHOTS"];
let browser: Browser | undefined;

after(async () => {
  await browser?.close();
});

/** A page, and what it said to the extension. */
export class View {
  readonly said: FromView[] = [];
  /** What it asked the network for. */
  readonly requests: string[] = [];
  readonly problems: string[] = [];
  private total = 0;

  constructor(
    readonly page: Page,
    private readonly context: BrowserContext,
  ) {}

  static async open(options: { width?: number; height?: number; theme?: string } = {}): Promise<View> {
    browser ??= await chromium.launch({ executablePath: PROGRAM ?? "", args: ["--no-sandbox", "--disable-gpu"] });
    const context = await browser.newContext({
      viewport: { width: options.width ?? 320, height: options.height ?? 720 },
    });
    const page = await context.newPage();
    const view = new View(page, context);
    page.on("pageerror", (error) => view.problems.push(String(error)));
    page.on("console", (message) => {
      if (message.type() === "error") view.problems.push(message.text());
    });
    await page.route("**/*", (route) => {
      const { pathname, origin } = new URL(route.request().url());
      const name = pathname.slice(1);
      if (origin !== "https://view.test") {
        view.requests.push(route.request().url());
        return route.abort();
      }
      if (name === "") return route.fulfill({ contentType: "text/html", body: html(options.theme ?? "dark") });
      const type = name.endsWith(".css") ? "text/css" : "text/javascript";
      return route.fulfill({ contentType: type, body: readFileSync(`dist/${name}`) });
    });
    await page.exposeFunction("say", (message: FromView) => {
      view.said.push(message);
    });
    await page.goto("https://view.test/");
    await view.until(() => view.said.some(({ type }) => type === "ready"), "ready");
    return view;
  }

  async post(message: ToView): Promise<void> {
    await this.prepare(message);
    await this.send();
  }

  /** Bring a message to the page, which only then is sent: how it comes there is no matter of the page. */
  async prepare(message: ToView): Promise<void> {
    await this.page.evaluate((text) => {
      Object.assign(window, { prepared: JSON.parse(text) as unknown });
    }, JSON.stringify(message));
  }

  async send(): Promise<void> {
    await this.page.evaluate(() => {
      window.postMessage((window as unknown as { prepared: unknown }).prepared, "*");
    });
  }

  /** Show steps behind those that are there, or all anew. */
  async show(entries: readonly ShownEntry[], options: { frame?: Partial<Frame>; reset?: boolean } = {}): Promise<void> {
    await this.post(this.state(entries, options));
  }

  state(entries: readonly ShownEntry[], options: { frame?: Partial<Frame>; reset?: boolean } = {}): ToView {
    const { frame = {}, reset = this.total === 0 } = options;
    const first = reset ? 0 : this.total;
    this.total = first + entries.length;
    const placed = entries.map((entry, at) => ({ at: first + at, entry }));
    return {
      type: "state",
      frame: { ...FRAME, ...frame },
      entries: placed,
      reset,
      before: 0,
      behind: 0,
      total: this.total,
    };
  }

  async until(check: () => unknown, what: string): Promise<void> {
    const end = Date.now() + 10_000;
    while (!(await check())) {
      assert.ok(Date.now() < end, `not seen: ${what}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /**
   * The tasks of the page's main thread that take longer than a user would feel, while something is done.
   *
   * @returns their processor time in milliseconds: what other programs take meanwhile does not count
   */
  async tasks(act: () => Promise<void>): Promise<number[]> {
    const session = await this.context.newCDPSession(this.page);
    const events: { name: string; tdur?: number; tid: number; pid: number; args: { name?: string } }[] = [];
    session.on("Tracing.dataCollected", ({ value }) => events.push(...(value as unknown as typeof events)));
    await session.send("Tracing.start", {
      transferMode: "ReportEvents",
      traceConfig: { includedCategories: ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"] },
    });
    try {
      await act();
    } finally {
      const complete = new Promise((resolve) => session.once("Tracing.tracingComplete", resolve));
      await session.send("Tracing.end");
      await complete;
    }
    const main = events.find(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain");
    assert.ok(main !== undefined, "the trace has the main thread");
    const tasks = events.filter(({ name, tid, pid }) => name === "RunTask" && tid === main.tid && pid === main.pid);
    assert.ok(tasks.length > 0, "the trace has tasks");
    return tasks.map(({ tdur = 0 }) => tdur / 1000).sort((a, b) => b - a);
  }

  async shot(name: string): Promise<void> {
    if (SHOTS === undefined) return;
    mkdirSync(SHOTS, { recursive: true });
    await this.page.screenshot({ path: `${SHOTS}/${name}.png` });
  }

  async close(): Promise<void> {
    await this.context.close();
  }
}

export const FRAME: Frame = {
  server: "running",
  title: "",
  running: false,
  parked: false,
  retryAt: undefined,
  away: undefined,
  model: "my/big-1",
  lacksModel: false,
  permissionMode: "ask",
  usage: {},
  context: undefined,
  began: undefined,
  waiting: [],
  along: "",
  enterSends: true,
  can: [],
  plan: [],
  open: [],
};

/** An answer, whole. */
export function answer(text: string, key = "answer:m", reasoning = ""): ShownEntry {
  return { kind: "answer", key, text: { from: 0, text }, reasoning: { from: 0, text: reasoning }, done: true };
}

function html(theme: string): string {
  const variables = Object.entries(THEMES[theme] ?? {}).map(([name, value]) => `${name}: ${value};`);
  const kind = theme === "dark" ? "vscode-dark" : theme === "light" ? "vscode-light" : "vscode-high-contrast";
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'nonce-t' https://view.test; script-src 'nonce-t';">
<style nonce="t">:root { ${variables.join("\n")} } body { background: var(--vscode-sideBar-background); }</style>
<link rel="stylesheet" href="/view.css">
<title>Outrider</title>
</head>
<body class="${kind}" data-vscode-theme-kind="${kind}">
<main id="root"></main>
<script nonce="t">
let kept;
window.acquireVsCodeApi = () => ({
  postMessage: (message) => window.say(message),
  getState: () => kept,
  setState: (state) => { kept = state; },
});
</script>
<script nonce="t" src="/view.js"></script>
</body>
</html>`;
}
