import assert from "node:assert/strict";
import { test } from "node:test";

import type { EndEntry } from "../src/core/entries.js";
import { View, skip } from "./page.js";

const END: EndEntry = {
  kind: "end",
  key: "end:t1",
  outcome: "completed",
  reason: "unverified",
  done: "unverified: no check was run",
  mark: "open",
  failed: [],
  failures: [],
  usage: {},
  seconds: 3,
};

test(
  "the end of a turn is marked as its evidence says, and a failed check has its places and a way on",
  { skip },
  async () => {
    const view = await View.open();
    const { page } = view;
    const can = ["continue"] as const;
    const end = page.locator(".entry.end");
    await view.show([END], { frame: { title: "Fix it", can } });
    await end.locator(".sign.open", { hasText: "•" }).waitFor();
    assert.equal(await end.getByRole("button").count(), 0);
    const checked = { ...END, done: "checked: tests (`pytest -q`)", mark: "good" } as const;
    await view.show([checked], { frame: { title: "Fix it", can }, reset: true });
    await end.locator(".sign.ok", { hasText: "✓" }).waitFor();
    assert.equal(await end.locator("code").innerText(), "pytest -q");
    const failures = Array.from({ length: 12 }, (_, at) => ({ path: "a.py", line: at + 1, message: "no" }));
    const done = "check failed: `pytest -q` (exit code 1)";
    await view.show([{ ...END, done, mark: "check_failed", failed: ["pytest -q"], failures }], {
      frame: { title: "Fix it", can },
      reset: true,
    });
    await end.locator(".sign.error", { hasText: "✗" }).waitFor();
    assert.equal(await end.locator(".line").innerText(), "✗Check failedpytest -q (exit code 1) · 3.0 s");
    assert.deepEqual((await end.locator("li").allInnerTexts()).slice(-2), ["a.py:10 no", "and 2 more"]);
    await end.getByRole("button", { name: "a.py:3" }).click();
    await end.getByRole("button", { name: "Continue" }).click();
    await view.until(() => view.said.at(-1)?.type === "continue", "both are said");
    assert.deepEqual(view.said.slice(-2), [
      { type: "file", ref: { path: "a.py", line: 3 } },
      { type: "continue", turn: "t1" },
    ]);
    await view.shot("check-failed");
    await view.close();
  },
);

test("options have what they mean beneath them, and the document of a plan is a link", { skip }, async () => {
  const view = await View.open();
  const { page } = view;
  const question = {
    id: "q",
    kind: "question",
    title: "Round `price` how?",
    detail: "",
    isCommand: false,
    options: ["Up", "Down", "Ask"],
    meanings: ["As shops do.", "As banks do.", ""],
    allowFreeForm: true,
    canReview: false,
    review: "",
    edits: [],
    added: 0,
    removed: 0,
  } as const;
  const prompt = "Start plan: Fix the price";
  const planDocument = ".outrider/plans/price.md";
  const task = { kind: "task", key: "task:t1", prompt, planDocument, mode: "agent", model: "m" } as const;
  await view.show([task], { frame: { title: prompt, open: [question], can: ["resend", "restore"] } });
  await page.locator(".card:not(.inert)").waitFor();
  assert.equal(await page.locator(".card h2 code").innerText(), "price");
  assert.deepEqual(await page.locator(".card .buttons button").allInnerTexts(), [
    "1\nUp\nAs shops do.",
    "2\nDown\nAs banks do.",
    "3\nAsk",
  ]);
  assert.equal(await page.locator(".card pre").count(), 0);
  await view.shot("options");
  await page.getByRole("button", { name: "Down" }).click();
  assert.equal(await page.getByRole("button", { name: "Edit" }).isVisible(), false);
  await page.getByRole("button", { name: planDocument }).click();
  await view.until(() => view.said.at(-1)?.type === "file", "both are said");
  assert.deepEqual(view.said.slice(-2), [
    { type: "answer", id: "q", answer: "Down" },
    { type: "file", ref: { path: planDocument } },
  ]);
  await view.close();
});
