import assert from "node:assert/strict";
import { test } from "node:test";

import { headOfAll, questionsOf } from "../src/core/groups.js";
import { type Frame, type FromView, type OpenView, frameOf } from "../src/core/messages.js";
import { Reviews } from "../src/core/review.js";
import { SessionState } from "../src/core/session.js";
import { INERT_MILLISECONDS } from "../src/core/inert.js";
import { Log } from "./events.js";
import { type Page, View, skip } from "./page.js";

const NAMES = ["a.py", "b.py", "c.py", "d.py"];
const OPTIONS = ["Allow once", "Allow for this session", "Review…", "Reject"];

/** A session that asks to edit some files in one step. */
function asking(count: number, lines = 1): { log: Log; session: SessionState } {
  const log = new Log();
  const session = new SessionState("ses_1");
  log.add("session.started", { folders: ["file:///w"], permissionMode: "ask", version: "0.1.0" });
  log.add("turn.started", { prompt: "Fix them", mode: "agent", model: "my/model" }, "turn_1");
  for (const [index, path] of NAMES.slice(0, count).entries()) {
    const callId = `c${String(index)}`;
    const added = "y\n".repeat(lines);
    log.add("tool.requested", { callId, name: "edit_file", input: { path } }, "turn_1");
    log.add(
      "edit.proposed",
      { changeId: `chg_${String(index)}`, callId, path, hunks: [{ line: 1, removed: "x\n", added }] },
      "turn_1",
    );
  }
  for (const [index, path] of NAMES.slice(0, count).entries())
    log.add(
      "approval.requested",
      {
        id: `open_${String(index)}`,
        callId: `c${String(index)}`,
        digest: "d",
        title: `Edit ${path} (+${String(lines)} −1)`,
        detail: `@@ -1 +1 @@\n-x${"\n+y".repeat(lines)}`,
        options: OPTIONS,
        group: "open_0",
        changeIds: [`chg_${String(index)}`],
      },
      "turn_1",
    );
  for (const event of log.events) session.apply(event);
  return { log, session };
}

function answer({ log, session }: ReturnType<typeof asking>, index: number, decision: "allow_once" | "reject"): void {
  const data = { id: `open_${String(index)}`, callId: `c${String(index)}`, decision, by: "person" } as const;
  session.apply(log.add("approval.resolved", data, "turn_1"));
}

function frame(session: SessionState, reviews = new Reviews()): Frame {
  return frameOf("running", session, { model: "my/model", permissionMode: undefined }, reviews);
}

function only(session: SessionState): OpenView {
  const { open } = frame(session);
  const [view] = open;
  assert.ok(view !== undefined && open.length === 1, "it is one question");
  return view;
}

test("the edits of one step are one question, whose count goes down with each that is answered alone", () => {
  const asked = asking(3, 2);
  const [question] = questionsOf(asked.session.open.values());
  assert.ok(question !== undefined);
  assert.equal(headOfAll(question), "3 edits in one step");
  const view = only(asked.session);
  assert.deepEqual([view.id, view.added, view.removed, view.canReview], ["open_0", 6, 3, true]);
  assert.deepEqual(
    view.edits.map(({ id, title }) => [id, title]),
    [0, 1, 2].map((index) => [`open_${String(index)}`, `Edit ${NAMES[index] ?? ""} (+2 −1)`]),
  );
  answer(asked, 0, "reject");
  assert.deepEqual(
    [only(asked.session).title, only(asked.session).edits.map(({ id }) => id)],
    ["2 edits in one step", ["open_1", "open_2"]],
  );
  answer(asked, 2, "allow_once");
  const last = only(asked.session);
  assert.deepEqual([last.id, last.title, last.edits, last.options], ["open_1", "Edit b.py (+2 −1)", [], OPTIONS]);
});

test("what is said about single hunks stands at its edit", () => {
  const { session } = asking(2);
  const reviews = new Reviews();
  const item = session.open.get("open_1");
  assert.ok(item !== undefined);
  const hunk = { id: "chg_1#1", number: 1, index: 0, change: item.proposals[0], hunk: item.proposals[0]?.hunks[0] };
  reviews.decide(item, hunk as Parameters<Reviews["decide"]>[1], "reject");
  const [view] = frame(session, reviews).open;
  assert.deepEqual(view?.review, "");
  assert.match(view.edits[1]?.review ?? "", /1 left out/);
});

async function shown(
  count: number,
  options: { width?: number; height?: number; theme?: string; lines?: number } = {},
): Promise<ReturnType<typeof asking> & { view: View; page: Page; update: () => Promise<void> }> {
  const asked = asking(count, options.lines ?? 1);
  const view = await View.open(options);
  const update = async (): Promise<void> => view.show([], { frame: frame(asked.session) });
  await update();
  await view.page.locator(".card").waitFor();
  return { ...asked, view, page: view.page, update };
}

function decisions(view: View): Extract<FromView, { type: "decide" }>[] {
  return view.said.filter((one) => one.type === "decide");
}

/** Say yes to each card that appears, by click and by key, sooner than anybody could have read it. */
async function sayYesAtOnce(page: Page): Promise<void> {
  await page.evaluate(() => {
    const open = document.querySelector("#open");
    new MutationObserver(() => {
      for (const card of document.querySelectorAll<HTMLElement>(".card:not([data-tried])")) {
        card.dataset["tried"] = "";
        for (const one of card.querySelectorAll("button")) if (one.textContent.startsWith("Allow")) one.click();
        card.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true }));
        const edit = card.querySelector("details.edit");
        edit?.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true, cancelable: true }));
      }
    }).observe(open ?? document.body, { childList: true });
  });
}

test("one card has all diffs, one primary button, and answers all of them", { skip }, async () => {
  const { view, page } = await shown(4, { width: 360 });
  assert.equal(await page.locator(".card").count(), 1);
  assert.equal(await page.locator(".card h2").innerText(), "4 edits in one step +4 −4");
  assert.equal(await page.locator(".card .edit .diff:visible").count(), 4);
  assert.deepEqual(await page.locator("button.primary:visible").allInnerTexts(), ["Allow all 4"]);
  assert.deepEqual(await page.locator(".card > .buttons button").allInnerTexts(), [
    "Allow all 4",
    "Reject all",
    "Review…",
  ]);
  await page.locator(".card:not(.inert)").waitFor();
  await view.shot("together-4");
  await page.locator(".card button", { hasText: "Review…" }).click();
  await page.locator(".card button", { hasText: "Allow all 4" }).click();
  const ids = ["open_0", "open_1", "open_2", "open_3"];
  await view.until(() => decisions(view).length === 1, "the answer");
  assert.deepEqual(decisions(view), [{ type: "decide", ids, decision: "allow_once", note: "" }]);
  assert.deepEqual(
    view.said.filter(({ type }) => type === "review"),
    [{ type: "review", ids }],
  );
  await view.close();
});

test("all are rejected with a reason by Enter in the note", { skip }, async () => {
  const { view, page } = await shown(2);
  await page.locator(".card > .note").fill("Not now.");
  await page.locator(".card > .note").press("Enter");
  await view.until(() => decisions(view).length === 1, "the answer");
  const ids = ["open_0", "open_1"];
  assert.deepEqual(decisions(view), [{ type: "decide", ids, decision: "reject", note: "Not now." }]);
  await view.close();
});

test("one edit is answered by itself; the rest takes no yes until it was seen as it is now", { skip }, async () => {
  const { log, session, view, page, update } = await shown(3);
  await page.locator(".card:not(.inert)").waitFor();
  const edit = page.locator(".edit", { hasText: "b.py" });
  await page.locator(".card > .note").fill("half a no");
  await page.locator(".edit", { hasText: "c.py" }).locator("summary").click();
  await edit.locator("button", { hasText: "Reject this edit" }).focus();
  await page.keyboard.press("r");
  await view.until(() => decisions(view).length === 1, "the answer");
  assert.deepEqual(decisions(view)[0], { type: "decide", ids: ["open_1"], decision: "reject", note: "half a no" });
  await page.locator(".card > .note").fill("half a yes");
  await edit.locator("button", { hasText: "Reject this edit" }).focus();
  answer({ log, session }, 1, "reject");
  await sayYesAtOnce(page);
  await update();
  await page.locator(".card[data-tried]", { hasText: "2 edits in one step" }).waitFor();
  assert.equal(await page.locator(".card > .note").inputValue(), "half a yes");
  assert.deepEqual(
    await page.locator("details.edit").evaluateAll((all) => all.map((one) => (one as HTMLDetailsElement).open)),
    [true, false],
    "what was folded stays so",
  );
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), "SUMMARY");
  assert.equal(decisions(view).length, 1, "a key and a click that come too early say nothing");
  await page.waitForTimeout(INERT_MILLISECONDS + 50);
  await page.locator(".card > .buttons .primary").click();
  await view.until(() => decisions(view).length === 2, "the answer");
  assert.deepEqual(decisions(view)[1]?.ids, ["open_0", "open_2"]);
  await view.close();
});

test("the last one that is left is asked about like any edit", { skip }, async () => {
  const { log, session, view, page, update } = await shown(2);
  await page.locator(".card > .note").fill("half a no");
  answer({ log, session }, 0, "allow_once");
  await update();
  await page.locator(".card:not(.inert) h2", { hasText: "Edit b.py" }).waitFor();
  assert.equal(await page.locator(".card").count(), 1);
  assert.equal(await page.locator(".card > .note").inputValue(), "half a no");
  assert.equal(await page.locator(".card .edit").count(), 0);
  assert.deepEqual(await page.locator("button.primary:visible").allInnerTexts(), ["Allow once"]);
  await page.locator(".card button", { hasText: "Reject" }).click();
  await view.until(() => decisions(view).length === 1, "the answer");
  assert.deepEqual(decisions(view)[0]?.ids, ["open_1"]);
  assert.deepEqual(view.problems, []);
  await view.close();
});

for (const theme of ["dark", "light", "contrast"])
  test(`long edits leave the answers in sight, in theme ${theme}`, { skip }, async () => {
    const { view, page } = await shown(4, { theme, width: 300, height: 600, lines: 60 });
    await page.locator(".card:not(.inert)").waitFor();
    await view.shot(`together-long-${theme}`);
    for (const one of [page.locator(".card > .buttons .primary"), page.locator(".card > .note")]) {
      const box = await one.boundingBox();
      assert.ok(box !== null && box.y >= 0 && box.y + box.height <= 600, JSON.stringify(box));
    }
    const [wide, seen] = await page.evaluate(() => [document.body.scrollWidth, document.body.clientWidth]);
    assert.ok(wide <= seen, `${String(wide)} of ${String(seen)} pixels`);
    await view.close();
  });
