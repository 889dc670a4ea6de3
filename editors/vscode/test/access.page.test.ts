import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";

import type { ShownEntry } from "../src/core/messages.js";
import { View, answer, skip } from "./page.js";

const AXE = readFileSync(createRequire(`${process.cwd()}/`).resolve("axe-core/axe.min.js"), "utf8");

interface Found {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

const ENTRIES: ShownEntry[] = [
  { kind: "task", key: "task:t1", prompt: "Make the price what its docstring says", mode: "agent", model: "my/big-1" },
  answer(
    "# Found\n\nThe price is **wrong**, see `tariff.py`.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```py\nx = 1  # one\n```\n\n- [x] read\n- [ ] written",
    "answer:m",
    "The docstring says two.",
  ),
  { kind: "call", key: "call:c1", name: "read_file", about: "tariff.py", status: "ok", seconds: 0.2, output: "1: x" },
  {
    kind: "edit",
    key: "edit:e1",
    path: "tariff.py",
    operation: "edit",
    added: 2,
    removed: 1,
    undone: false,
    merged: false,
  },
  { kind: "note", key: "note:1", text: "Allowed: Edit a.py", level: "info" },
  {
    kind: "end",
    key: "end:t1",
    outcome: "failed",
    reason: "timeout",
    done: "",
    mark: "bad",
    failed: [],
    failures: [],
    usage: { inputTokens: 10 },
    seconds: 3,
  },
];

const FRAME = {
  title: "Make the price what its docstring says",
  usage: { inputTokens: 2700, outputTokens: 120, cost: 0.0051 },
  context: { tokens: 50_000, window: 200_000 },
  along: "tariff.py:3-5",
  can: ["continue", "resend", "restore", "queue"],
  waiting: [{ id: "t2", kind: "task", text: "Then the tests" }],
  open: [
    {
      id: "open_1",
      kind: "approval",
      title: "Edit tariff.py (+1 −1)",
      detail: "@@ -1 +1 @@\n-    return hours * 3\n+    return hours * 2",
      isCommand: false,
      options: ["Allow once", "Allow for this session", "Reject"],
      allowFreeForm: false,
      canReview: true,
      review: "",
      edits: [],
      added: 0,
      removed: 0,
    },
  ],
} as const;

for (const theme of ["dark", "light", "contrast"])
  for (const width of [175, 600])
    test(
      `axe finds nothing in theme ${theme} at ${String(width)} pixels, and nothing is wider than the page`,
      { skip },
      async () => {
        const view = await View.open({ theme, width, height: 900 });
        const { page } = view;
        await view.show(ENTRIES, { frame: FRAME });
        await page.locator(".card:not(.inert)").waitFor();
        await page.locator("figure.code").waitFor();
        await page.evaluate(AXE);
        // Disabled boxes and what is folded away need no contrast; what the theme's own colours lack is the theme's.
        const violations = await page.evaluate(async () => {
          const { axe } = window as unknown as { axe: { run(options: object): Promise<{ violations: Found[] }> } };
          return (await axe.run({ rules: { "color-contrast": { enabled: false } } })).violations;
        });
        assert.deepEqual(
          violations.map(({ id, nodes }) => [id, nodes[0]?.html.slice(0, 120)]),
          [],
        );
        const [wide, seen] = await page.evaluate(() => [document.body.scrollWidth, document.body.clientWidth]);
        assert.ok(wide <= seen, `${String(wide)} of ${String(seen)} pixels`);
        assert.equal(await page.locator("button.primary:visible").count(), 1, "one primary button at a time");
        await view.shot(`theme-${theme}-${String(width)}`);
        await view.close();
      },
    );

test("the accessibility tree has the parts of the view in their order, each with its name", { skip }, async () => {
  const view = await View.open();
  await view.show(ENTRIES, { frame: FRAME });
  await view.page.locator(".card:not(.inert)").waitFor();
  await view.page.locator("figure.code").waitFor();
  const tree = await view.page.locator("main").ariaSnapshot();
  const parts = [
    'heading "Make the price what its docstring says" [level=1]',
    'meter "Context window"',
    'toolbar "Session"',
    'feed "Steps"',
    'article "Task: Make the price what its docstring says"',
    'heading "Found" [level=3]',
    'region "Table"',
    'button "Copy"',
    'checkbox "done" [checked] [disabled]',
    'article "read_file tariff.py, done"',
    'article "Edited tariff.py, 2 lines added, 1 removed"',
    'article "Failed: timeout"',
    'group "What waits for you"',
    'region "Outrider needs you: Edit tariff.py (+1 −1)"',
    'button "Allow once"',
    'form "Give a task"',
    'list "What waits"',
    'textbox "Task"',
    'button "Send"',
  ];
  let from = 0;
  for (const part of parts) {
    const at = tree.indexOf(part, from);
    assert.ok(at >= from, `${part} in\n${tree}`);
    from = at;
  }
  await view.close();
});
