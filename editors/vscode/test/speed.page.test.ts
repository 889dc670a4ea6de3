import assert from "node:assert/strict";
import { test } from "node:test";

import type { ShownEntry } from "../src/core/messages.js";
import { FRAME, type Page, View, answer, skip } from "./page.js";

/** The longest task of the main thread, in milliseconds. */
const LONGEST = 50;

const PARAGRAPHS = [
  "## A heading of it\n\nSome words with `code`, **bold** text and [a link](src/a.ts#L3), which go on for a line or two.",
  "| a | b |\n|---|---|\n| 1 | `two` |\n| 3 | four |",
  "- one item\n  - below it\n- another\n\n1. first\n2. second",
  '```python\ndef price(hours: int) -> int:\n    """Two for each hour begun."""\n    return hours * 2  # corrected\n```',
  "> A quote, and then a long paragraph. " + "Many words make a line of text, and many lines an answer. ".repeat(8),
];

function longest(tasks: readonly number[]): string {
  return `${tasks
    .slice(0, 3)
    .map((one) => one.toFixed())
    .join(", ")} ms`;
}

function markdown(length: number): string {
  let text = "";
  for (let at = 0; text.length < length; at++) text += `${PARAGRAPHS[at % PARAGRAPHS.length] ?? ""}\n\n`;
  return text;
}

/** Wait for the last step. To look for a text would take longer than what is measured. */
async function last(page: Page): Promise<void> {
  await page.waitForFunction(() => document.querySelector('[data-key="answer:999"] .slice p') !== null);
}

function steps(count: number): ShownEntry[] {
  return Array.from({ length: count }, (_, at): ShownEntry => {
    const number = String(at);
    if (at % 3 === 0)
      return answer(`Step ${number}: I look at \`src/a${number}.ts\`.\n\n- one\n- two`, `answer:${number}`);
    return {
      kind: "call",
      key: `call:${number}`,
      name: "read_file",
      about: `src/a${number}.ts`,
      status: "ok",
      seconds: 0.1,
      output: "1: x = 1\n".repeat(200),
    };
  });
}

test("1 000 steps open in a second, and no task is long then, or in scrolling through them", { skip }, async (t) => {
  const view = await View.open();
  const { page } = view;
  await view.prepare(view.state(steps(1000)));
  const opening = await view.tasks(async () => {
    await view.send();
    await last(page);
  });
  const took = opening.reduce((sum, one) => sum + one, 0);
  t.diagnostic(`opened with ${took.toFixed()} ms of the processor, longest tasks ${longest(opening)}`);
  const scrolling = await view.tasks(async () => {
    for (let at = 0; at < 60; at++) {
      await page.locator("#scroller").evaluate((one) => {
        one.scrollTop -= 700;
      });
      await page.waitForTimeout(16);
    }
  });
  t.diagnostic(`longest tasks of scrolling ${longest(scrolling)}`);
  assert.ok(took < 1000, `opened in ${took.toFixed()} ms`);
  for (const tasks of [opening, scrolling]) assert.ok((tasks[0] ?? 0) < LONGEST, longest(tasks));
  await view.close();
});

for (const [what, text] of [
  ["Markdown", markdown(1_000_000)],
  ["code never ended", `\`\`\`ts\n${"const a = 1; // a line of code\n".repeat(31_000)}`],
] as const) {
  test(`1 MB of ${what} comes and is scrolled through without a long task`, { skip }, async (t) => {
    const view = await View.open();
    await view.prepare(view.state([answer(text)]));
    const tasks = await view.tasks(async () => {
      await view.send();
      for (let at = 0; at < 60; at++) {
        await view.page.locator("#scroller").evaluate((one, at) => {
          one.scrollTop = (one.scrollHeight * (60 - at)) / 60;
        }, at);
        await view.page.waitForTimeout(16);
      }
    });
    t.diagnostic(`longest tasks ${longest(tasks)}`);
    assert.ok((tasks[0] ?? 0) < LONGEST, longest(tasks));
    await view.close();
  });
}

test("keys are typed while an answer streams below 1 000 steps, and no task is long", { skip }, async (t) => {
  const view = await View.open();
  const { page } = view;
  await view.show(steps(1000), { frame: { running: true } });
  await last(page);
  const text = markdown(120_000).slice(0, 120_000);
  const reasoning = { from: 0, text: "" };
  const rest = { frame: FRAME, reset: false, before: 0, behind: 0, total: 1001 };
  const tasks = await view.tasks(async () => {
    await page.locator("#task").focus();
    for (let from = 0; from < text.length; from += 1500) {
      const piece = { from, text: text.slice(from, from + 1500) };
      const entry = { kind: "answer", key: "answer:live", text: piece, reasoning, done: false } as const;
      await view.post({ type: "state", entries: [{ at: 1000, entry }], ...rest });
      await page.keyboard.type("ab");
    }
  });
  assert.equal(await page.locator("#task").inputValue(), "ab".repeat(80));
  t.diagnostic(`longest tasks ${longest(tasks)}`);
  assert.ok((tasks[0] ?? 0) < LONGEST, longest(tasks));
  await view.close();
});
