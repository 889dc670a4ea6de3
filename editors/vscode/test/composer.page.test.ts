import assert from "node:assert/strict";
import { test } from "node:test";

import type { Completion, FromView } from "../src/core/messages.js";
import { FRAME, View, answer, skip } from "./page.js";

function sends(view: View): Extract<FromView, { type: "send" }>[] {
  return view.said.filter((one): one is Extract<FromView, { type: "send" }> => one.type === "send");
}

const FILES: Completion[] = [
  { kind: "file", label: "tariff.py", detail: "src/tariff.py", text: "@src/tariff.py" },
  { kind: "folder", label: "src", detail: "src/", text: "@src/" },
];

test("Enter sends, Shift+Enter makes a line, and a setting turns it around", { skip }, async () => {
  const view = await View.open();
  const { page } = view;
  await view.show([]);
  const box = page.locator("#task");
  await box.focus();
  await page.keyboard.type("one");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("two");
  await page.keyboard.press("Enter");
  await view.until(() => sends(view).length === 1, "it is sent");
  const [first] = sends(view);
  assert.deepEqual(
    { ...first, id: "" },
    { type: "send", id: "", text: "one\ntwo", mode: "agent", how: "now", along: true },
  );
  await view.post({ type: "sent", id: first?.id ?? "" });
  await view.until(async () => (await box.inputValue()) === "", "the box is empty");
  await view.show([], { frame: { enterSends: false } });
  await page.keyboard.type("three");
  await page.keyboard.press("Enter");
  assert.equal(await box.inputValue(), "three\n");
  await page.keyboard.press("Control+Enter");
  await view.until(() => sends(view).length === 2, "it is sent");
  await view.close();
});

test("what was sent is recalled by arrows, and what is written stays", { skip }, async () => {
  const view = await View.open();
  const { page } = view;
  await view.show([]);
  const box = page.locator("#task");
  await box.focus();
  for (const text of ["first", "second"]) {
    await page.keyboard.type(text);
    await page.keyboard.press("Enter");
    await view.until(() => sends(view).at(-1)?.text === text, text);
    await view.post({ type: "sent", id: sends(view).at(-1)?.id ?? "" });
    await view.until(async () => (await box.inputValue()) === "", "the box is empty");
  }
  await page.keyboard.press("ArrowUp");
  assert.equal(await box.inputValue(), "second");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  assert.equal(await box.inputValue(), "first");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  assert.equal(await box.inputValue(), "");
  await page.keyboard.type("a draft");
  await page.keyboard.press("ArrowUp");
  assert.equal(await box.inputValue(), "a draft");
  await view.close();
});

test("@ names files and / gives commands, by keyboard alone", { skip }, async () => {
  const view = await View.open();
  const { page } = view;
  await view.show([]);
  const box = page.locator("#task");
  await box.focus();
  await page.keyboard.type("look at @tar");
  await view.until(() => view.said.some((one) => one.type === "complete" && one.query === "tar"), "it is asked for");
  const asked = view.said.findLast((one) => one.type === "complete");
  assert.ok(asked?.type === "complete");
  await view.post({ type: "completed", id: asked.id - 1, found: [] });
  await view.post({ type: "completed", id: asked.id, found: FILES });
  await page.getByRole("option", { name: "tariff.py" }).waitFor();
  assert.equal(await box.getAttribute("aria-activedescendant"), "completion-0");
  await view.shot("completion");
  await page.keyboard.press("Enter");
  assert.equal(await box.inputValue(), "look at @src/tariff.py ");
  assert.equal(sends(view).length, 0, "the key was the list's");
  await box.fill("");
  await page.keyboard.type("/pl");
  await page.keyboard.press("Tab");
  assert.equal(await page.getByLabel("Mode", { exact: true }).inputValue(), "plan");
  await page.keyboard.type("/und");
  await page.keyboard.press("Enter");
  await view.until(() => view.said.some((one) => one.type === "command" && one.command === "undo"), "the command");
  await page.keyboard.type("/p");
  await page.keyboard.press("ArrowDown");
  const listed = view.said.findLast((one) => one.type === "complete");
  assert.ok(listed?.type === "complete");
  assert.equal(listed.sign, "/");
  const custom = { kind: "custom", label: "/polish", detail: "Make it neat", text: "/polish" } as const;
  await view.post({ type: "completed", id: listed.id, found: [custom] });
  await page.getByRole("option", { name: "Make it neat" }).waitFor();
  assert.equal(await box.getAttribute("aria-activedescendant"), "completion-1", "what was chosen stays chosen");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.equal(await box.inputValue(), "/polish ", "its arguments follow");
  await box.fill("");
  await page.keyboard.type("/");
  await page.keyboard.press("Escape");
  const late = view.said.findLast((one) => one.type === "complete");
  assert.ok(late?.type === "complete");
  await view.post({ type: "completed", id: late.id, found: [custom] });
  await view.until(async () => (await page.getByRole("listbox").count()) === 0, "the list is closed");
  await view.close();
});

test("what goes along is shown, and can be left out", { skip }, async () => {
  const view = await View.open();
  const { page } = view;
  await view.show([], { frame: { along: "tariff.py:3-5" } });
  await page.getByText("tariff.py:3-5").waitFor();
  await page.getByRole("button", { name: "Leave out tariff.py:3-5" }).click();
  await page.locator("#task").fill("do it");
  await page.locator("#task").press("Enter");
  await view.until(() => sends(view).length === 1, "it is sent");
  assert.equal(sends(view)[0]?.along, false);
  await view.close();
});

test("what waits is shown, and can be edited, moved, steered with and removed", { skip }, async () => {
  const view = await View.open();
  const { page } = view;
  const waiting = [
    { id: "p1", kind: "steering", text: "In whole coins" },
    { id: "t1", kind: "task", text: "Then the tests" },
    { id: "t2", kind: "task", text: "Then the docs" },
  ] as const;
  const frame = { running: true, title: "x", waiting, can: ["queue"] as const, began: Date.now() - 65_000 };
  await view.show([answer("I am at it.")], { frame });
  await page.getByRole("button", { name: "Move up: Then the docs" }).click();
  await page.getByRole("button", { name: "Steer the running turn with it: Then the tests" }).click();
  await page.getByRole("button", { name: "Remove: In whole coins" }).click();
  await page.getByRole("button", { name: "Edit: Then the docs" }).click();
  assert.equal(await page.locator("#task").inputValue(), "Then the docs");
  await view.until(() => view.said.filter(({ type }) => type === "queue").length === 4, "all are told");
  assert.deepEqual(
    view.said.filter(({ type }) => type === "queue"),
    [
      { type: "queue", action: "move", item: "t2", to: 0 },
      { type: "queue", action: "steer", item: "t1" },
      { type: "queue", action: "remove", item: "p1" },
      { type: "queue", action: "remove", item: "t2" },
    ],
  );
  await page.locator("#task").press("Alt+Enter");
  await view.until(() => sends(view).length === 1, "it waits");
  assert.equal(sends(view)[0]?.how, "after");
  assert.match(await page.locator(".doing").innerText(), /^running · 1:0\d$/);
  await view.shot("waiting");
  await view.close();
});

test(
  "a task is given anew, and a turn goes on, is tried again and is taken back, where the server can",
  { skip },
  async () => {
    const view = await View.open();
    const { page } = view;
    const end = {
      kind: "end",
      key: "end:t1",
      outcome: "failed",
      reason: "timeout",
      done: "",
      mark: "bad",
      failed: [],
      failures: [],
      usage: {},
      seconds: 3,
    } as const;
    const task = { kind: "task", key: "task:t1", prompt: "Fix it", mode: "agent", model: "my/big" } as const;
    await view.show([task, end], { frame: { title: "Fix it" } });
    await page.getByText("Failed").waitFor();
    assert.equal(await page.getByRole("button", { name: /Retry|Continue|Edit|Restore/ }).count(), 0);
    await view.show([task, end], { frame: { title: "Fix it", can: ["continue", "resend", "restore"] }, reset: true });
    await page.getByRole("button", { name: "Retry", exact: true }).click();
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("button", { name: "Restore" }).click();
    await page.getByRole("button", { name: "Edit" }).click();
    await view.shot("failed");
    await page.locator("#task").fill("Fix it well");
    await page.locator("#task").press("Enter");
    await view.until(() => sends(view).length === 1, "it is sent");
    assert.equal(sends(view)[0]?.instead, "t1");
    assert.deepEqual(view.said.slice(-4, -1), [
      { type: "retry", turn: "t1" },
      { type: "continue", turn: "t1" },
      { type: "restore", turn: "t1" },
    ]);
    await view.close();
  },
);

test("who has scrolled up stays there and is told of what is new; who sends is at the end", { skip }, async () => {
  const view = await View.open({ height: 400 });
  const { page } = view;
  await view.show(Array.from({ length: 40 }, (_, at) => answer(`Answer ${String(at)}`, `answer:${String(at)}`)));
  await page.getByText("Answer 39").waitFor();
  const scroller = page.locator("#scroller");
  const below = (): Promise<number> => scroller.evaluate((one) => one.scrollHeight - one.scrollTop - one.clientHeight);
  await view.until(async () => (await below()) < 5, "the end is in sight");
  await scroller.evaluate((one) => {
    one.scrollTop -= 300;
  });
  // The page is told of it with the next frame.
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  const top = await scroller.evaluate((one) => one.scrollTop);
  await view.show([answer("A new one", "answer:new")]);
  await page.getByRole("button", { name: "New ↓" }).waitFor();
  assert.ok(Math.abs((await scroller.evaluate((one) => one.scrollTop)) - top) < 5);
  await page.getByRole("button", { name: "New ↓" }).click();
  await view.until(async () => (await below()) < 5, "the end is in sight");
  await scroller.evaluate((one) => {
    one.scrollTop -= 300;
  });
  await page.locator("#task").fill("go on");
  await page.locator("#task").press("Enter");
  await view.until(async () => (await below()) < 5, "the end is in sight again");
  await view.close();
});

test(
  "output of what runs is in sight, is folded when it has run, and stays as the user folds it",
  { skip },
  async () => {
    const view = await View.open();
    const { page } = view;
    const call = {
      kind: "call",
      key: "call:c",
      name: "run_command",
      about: "make",
      status: "running",
      output: "1\n",
    } as const;
    await view.show([call]);
    const details = page.locator(".entry.call details");
    const change = (more: object): Promise<void> =>
      view.post({
        type: "state",
        frame: FRAME,
        entries: [{ at: 0, entry: { ...call, ...more } }],
        reset: false,
        before: 0,
        behind: 0,
        total: 1,
      });
    await view.until(() => details.evaluate((one) => (one as HTMLDetailsElement).open), "it is open");
    await change({ status: "ok", output: "1\n2\n" });
    await view.until(() => details.evaluate((one) => !(one as HTMLDetailsElement).open), "it is folded");
    await page.locator(".entry.call summary").click();
    await change({ status: "ok", output: "1\n2\n3\n" });
    await page.getByText("3").waitFor();
    assert.ok(await details.evaluate((one) => (one as HTMLDetailsElement).open));
    await view.close();
  },
);

test("the context window and an old plan are shown", { skip }, async () => {
  const view = await View.open();
  const { page } = view;
  const items = [
    { text: "Read", status: "done" },
    { text: "Write", status: "in_progress" },
  ] as const;
  const frame = { title: "x", running: true, plan: items, context: { tokens: 50_000, window: 200_000 } };
  await view.show([{ kind: "plan", key: "plan:t1", items }], { frame });
  assert.equal(await page.getByRole("meter").getAttribute("title"), "25 % of the context window: 50k of 200k tokens");
  assert.ok(await page.locator("header .plan").evaluate((one) => (one as HTMLDetailsElement).open));
  assert.ok(await page.locator(".entry .plan").evaluate((one) => !(one as HTMLDetailsElement).open));
  await view.shot("plan");
  await view.close();
});

test("where there is no model one button leads to one, and what is written stays", { skip }, async () => {
  const view = await View.open();
  const { page } = view;
  await view.show([], { frame: { lacksModel: true, model: "" } });
  const box = page.locator("#task");
  await box.focus();
  await page.keyboard.type("Two an hour");
  await page.keyboard.press("Enter");
  await view.until(() => sends(view).length === 1, "it is sent");
  await view.post({ type: "sent", id: sends(view)[0]?.id ?? "", problem: "Not sent: no model is set" });
  const problem = page.locator(".problem");
  await view.until(async () => (await problem.innerText()) === "Not sent: no model is set", "the problem");
  assert.equal(await page.locator("button.primary:visible").count(), 1);
  await page.getByRole("button", { name: "Set up a model" }).click();
  assert.deepEqual(view.said.at(-1), { type: "command", command: "setUp" });
  await view.show([], { frame: { lacksModel: false } });
  await view.until(async () => (await problem.innerText()) === "", "nothing is wrong any more");
  assert.equal(await page.getByRole("button", { name: "Set up a model" }).count(), 0);
  assert.equal(await box.inputValue(), "Two an hour");
  await view.close();
});
