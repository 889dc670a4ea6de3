import assert from "node:assert/strict";
import { test } from "node:test";

import { SessionBook } from "../src/core/book.js";
import { frameOf } from "../src/core/messages.js";
import { Reviews } from "../src/core/review.js";
import type { SessionState } from "../src/core/session.js";
import type { Event } from "../src/protocol/types.js";
import { Log, requested } from "./events.js";

/** A book over a log, with what it read and which sessions it told of. */
function bookOver(events: readonly Event[], most = 100) {
  const read: number[] = [];
  const told: string[] = [];
  const book: SessionBook = new SessionBook(
    (sessionId, fromSeq) => {
      read.push(fromSeq);
      const there = events.filter((one) => one.sessionId === sessionId && one.seq >= fromSeq).slice(0, most);
      return Promise.resolve({ events: there, nextSeq: fromSeq + there.length, more: true });
    },
    (session: SessionState) => told.push(session.sessionId),
  );
  return { book, read, told };
}

function at(log: Log, place: number): Event {
  const event = log.events[place];
  assert.ok(event);
  return event;
}

test("each change of a session is told, also live text and that another window runs it", () => {
  const log = new Log().asking();
  const { book, told } = bookOver([]);
  book.onEvent(at(log, 0));
  assert.deepEqual(told, ["ses_1"]);
  book.get("ses_1")?.apply({ ...log.add("model.requested", requested("m")), seq: 2 });
  book.onFrame({ sessionId: "ses_1", turnId: "turn_1", messageId: "m", kind: "text", offset: 0, text: "Hel" });
  const answer = book.get("ses_1")?.entry("answer:m");
  assert.deepEqual([told.length, answer?.kind === "answer" && answer.text.text], [2, "Hel"]);
  book.lookOn("ses_1", "elsewhere");
  book.select("ses_1");
  assert.equal(told.length, 4);
  assert.equal(book.current?.sessionId, "ses_1");
  book.select(undefined);
  assert.deepEqual([told.length, book.current, book.hasEnded], [4, undefined, false]);
});

test("an event that comes too early waits until what is missing was read, and one that comes twice counts once", async () => {
  const log = new Log().asking();
  const { book, read, told } = bookOver(log.events.slice(0, 4), 3);
  const early = [at(log, 5), at(log, 4)];
  for (const event of early) book.onEvent(event);
  await book.load("ses_1");
  assert.deepEqual(read.slice(0, 3), [1, 4, 5], "to the end of the log, where there is nothing more to read");
  // The later of the two was first to be taken up again, so the gap before it was looked for once more.
  await book.load("ses_1");
  const session = book.get("ses_1");
  assert.equal(session?.entries.length, 3);
  assert.ok(told.length > 0);
  const next = session.nextSeq;
  book.onEvent(at(log, 0));
  assert.deepEqual([session.nextSeq, session.entries.length], [next, 3]);
});

test("what runs is found where something else is looked at, and that of the session looked at comes first", () => {
  const { book } = bookOver([]);
  for (const event of [...new Log("ses_1").asking().events, ...new Log("ses_2").asking().events]) book.onEvent(event);
  const running = (): string | undefined => book.running?.sessionId;
  assert.equal(running(), "ses_1");
  book.select("ses_2");
  assert.equal(running(), "ses_2");
  book.select("ses_3");
  assert.equal(running(), "ses_1");
  for (const id of ["ses_1", "ses_2"]) book.lookOn(id, "elsewhere");
  assert.equal(running(), undefined);
});

test("a session that waits calls without being run here, until somebody has opened it", async () => {
  const log = new Log().asking();
  const { book } = bookOver(log.events);
  await book.wait("ses_1");
  const session = book.get("ses_1");
  assert.ok(session);
  assert.deepEqual([...session.open.keys()].length, 1);
  assert.deepEqual(
    [session.runningHere, book.running, session.isAtWork, book.current],
    [undefined, undefined, false, undefined],
  );
  const now = frameOf(
    "running",
    session,
    { model: "", permissionMode: undefined },
    new Reviews(undefined, () => undefined),
  );
  assert.deepEqual([now.running, now.away, now.open.length], [false, undefined, 1]);
  book.onEvent(log.add("turn.resumed", { id: "o" }, "turn_1"));
  assert.equal(book.running, session);
  await book.wait("ses_1");
  assert.equal(book.running, session, "what runs here is not only waited for");
});

test("what waited for the server of before is not taken up again", async () => {
  const log = new Log().asking();
  const { book } = bookOver(log.events.slice(0, 3));
  book.onEvent(at(log, 4));
  book.restart();
  await book.load("ses_1");
  assert.equal(book.get("ses_1")?.nextSeq, 4);
});

test("only the end of a turn is an end", () => {
  const log = new Log().asking();
  const { book } = bookOver([]);
  book.select("ses_1");
  for (const event of log.events) book.onEvent(event);
  assert.equal(book.hasEnded, false);
  book.onEvent(log.add("turn.finished", { outcome: "failed", reason: "auth", summary: "", usage: {} }, "turn_1"));
  assert.equal(book.hasEnded, true);
});

void test("of a session that was deleted nothing is left, and it is looked at no more", () => {
  const log = new Log().asking();
  const { book } = bookOver([]);
  for (const event of log.events) book.onEvent(event);
  book.select("ses_1");
  assert.equal(book.running?.sessionId, "ses_1");
  book.forget("ses_1");
  assert.deepEqual([book.current, book.running, book.all], [undefined, undefined, []]);
});
