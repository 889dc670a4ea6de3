import assert from "node:assert/strict";
import { test } from "node:test";

import { SessionBook } from "../src/core/book.js";
import { Joining, joinedBy } from "../src/core/joining.js";
import { frameOf } from "../src/core/messages.js";
import { Reviews } from "../src/core/review.js";
import type { SessionSummary } from "../src/protocol/types.js";
import { Log } from "./events.js";
import { View, skip } from "./page.js";

const END = { outcome: "cancelled", reason: "x", summary: "", usage: {} } as const;

/** A window that has joined a session of another one, which asks about an edit, and what it asks the server. */
async function joined(log = new Log().asking()) {
  const asked: string[] = [];
  const summary: SessionSummary = {
    sessionId: "ses_1",
    title: "Fix it",
    state: "running",
    elsewhere: true,
    turns: 1,
    startedAt: "",
    lastAt: "",
  };
  const listed = [summary];
  const atList: { end: () => unknown } = { end: () => undefined };
  const book: SessionBook = new SessionBook(
    (sessionId, fromSeq) => {
      const events = log.events.filter((one) => one.sessionId === sessionId && one.seq >= fromSeq);
      return Promise.resolve({ events, nextSeq: fromSeq + events.length, more: false });
    },
    () => undefined,
  );
  const joining = new Joining(
    book,
    () => {
      asked.push("list");
      atList.end();
      return Promise.resolve(listed);
    },
    (sessionId) => {
      asked.push(`join ${sessionId}`);
      book.lookOn(sessionId, "joined");
      return Promise.resolve();
    },
  );
  book.lookOn("ses_1", "joined");
  book.select("ses_1");
  await book.load("ses_1");
  const session = book.current;
  assert.ok(session);
  return { log, book, session, joining, asked, listed, summary, atList };
}

/** What of a session can be done here: what is asked, what can be steered and stopped, what this window's server does. */
function here({ book, session }: Awaited<ReturnType<typeof joined>>) {
  return [session.away, session.open.size, session.runningHere?.turnId, book.running?.sessionId, book.isAtWork];
}

test("what was joined is asked, steered and stopped here, and is not the work of this window", async () => {
  const other = await joined();
  assert.deepEqual(here(other), ["joined", 1, "turn_1", "ses_1", false]);
  assert.equal(other.session.isAtWork, false, "the server of this window is not what has to answer");
  const { log, book } = other;
  const decided = { id: "open_1", decision: "allow_once", by: "person", callId: "c1" } as const;
  book.onEvent(log.add("approval.resolved", decided, "turn_1"));
  assert.deepEqual(here(other), ["joined", 0, "turn_1", "ses_1", false], "the answer of the other window counts here");
  book.onEvent(log.add("turn.finished", END, "turn_1"));
  assert.deepEqual(here(other), ["joined", 0, undefined, undefined, false]);
});

test("what was joined is run here from the time on when it is opened here", async () => {
  const other = await joined();
  const { log, book } = other;
  book.onEvent(log.add("session.restored", { folders: ["file:///w"], permissionMode: "ask" }, "turn_1"));
  assert.deepEqual(here(other), [undefined, 1, "turn_1", "ses_1", true]);
});

test("when the process goes away that ran it, what was asked waits, and what was in the middle is cut off", async () => {
  for (const [state, away, open] of [
    ["parked", "waiting", 1],
    ["closed", "cut off", 0],
  ] as const) {
    const other = await joined();
    await other.joining.look(false);
    assert.deepEqual([other.session.away, other.asked], ["joined", ["list"]]);
    other.listed[0] = { ...other.summary, state, elsewhere: false };
    await other.joining.look(false);
    assert.deepEqual(here(other), [away, open, undefined, undefined, false]);
    const [last] = other.log.events.slice(-1);
    assert.ok(last);
    other.book.onEvent(last);
    assert.equal(other.session.away, away, "what comes late of the process that is gone means nothing");
  }
});

test("a session that was deleted in between is cut off", async () => {
  const other = await joined();
  other.listed.length = 0;
  await other.joining.look(true);
  assert.equal(other.session.away, "cut off");
});

test("a turn that ended in between was not cut off", async () => {
  const other = await joined();
  const { log, listed, summary } = other;
  listed[0] = { ...summary, elsewhere: false, state: "closed" };
  // It is in the log only when the list has been made.
  other.atList.end = () => log.add("turn.finished", END, "turn_1");
  await other.joining.look(true);
  assert.deepEqual(here(other), ["joined", 0, undefined, undefined, false]);
});

test("who goes on with the session that is looked at is joined, and of one that is not seen nobody asks", async () => {
  const other = await joined();
  const { log, book, asked, joining } = other;
  book.onEvent(log.add("turn.finished", END, "turn_1"));
  log.add("turn.started", { prompt: "And this", mode: "agent", model: "my/model" }, "turn_2");
  await joining.look(false);
  assert.deepEqual([asked, other.session.runningHere], [[], undefined]);
  await joining.look(true);
  assert.deepEqual(asked, ["list", "join ses_1"]);
  assert.equal(other.session.runningHere?.turnId, "turn_2");
  for (const away of ["elsewhere", "cut off", "waiting"] as const) {
    book.lookOn("ses_1", away);
    log.add("session.renamed", { title: away });
    await joining.look(true);
    assert.equal(other.session.away, "joined", away);
  }
});

test("a code action that joined a session is known by its result", () => {
  assert.equal(joinedBy("outrider.resume", { sessionId: "ses_1", elsewhere: true }), "ses_1");
  assert.equal(joinedBy("outrider.resume", { sessionId: "ses_1", elsewhere: false }), undefined);
  assert.equal(joinedBy("outrider.status", { sessionId: "ses_1", elsewhere: true }), undefined);
  for (const odd of [undefined, null, "x", {}]) assert.equal(joinedBy("outrider.resume", odd), undefined);
});

test("one look at a time", async () => {
  const other = await joined();
  await Promise.all([other.joining.look(true), other.joining.look(true)]);
  assert.deepEqual(other.asked, ["list"]);
});

test("the view says who runs what was joined, and where its edits are", { skip }, async () => {
  const other = await joined();
  const view = await View.open();
  const next = { model: "", permissionMode: undefined };
  const frame = () => frameOf("running", other.session, next, new Reviews(undefined, () => undefined));
  await view.show([], { frame: frame() });
  const { page } = view;
  const says = (text: string) =>
    view.until(async () => (await page.locator(".facts").innerText()).includes(text), `“${text}”`);
  const stop = page.getByRole("button", { name: "Stop" });
  await says("needs you · another window or editor runs this; buffers and edits stay there");
  assert.equal(await page.locator(".card").count(), 1);
  assert.match((await page.locator("#task").getAttribute("placeholder")) ?? "", /turn of another window or editor/);
  assert.equal(await stop.isVisible(), true);
  const decided = { id: "open_1", decision: "reject", by: "person", callId: "c1" } as const;
  other.book.onEvent(other.log.add("approval.resolved", decided, "turn_1"));
  await view.show([], { frame: frame() });
  await says("running · another window or editor runs this; buffers");
  assert.equal(await page.locator(".card").count(), 0);
  other.book.lookOn("ses_1", "cut off");
  await view.show([], { frame: frame() });
  await says("cut off in the middle");
  await view.until(async () => !(await stop.isVisible()), "that nothing can be stopped");
  await view.close();
});
