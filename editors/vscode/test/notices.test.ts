import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { SessionBook } from "../src/core/book.js";
import { COMPLETED, noticeOf } from "../src/core/notices.js";
import { Log } from "./events.js";

function bookWhere(...ended: string[]): SessionBook {
  const book = new SessionBook(
    () => Promise.reject(new Error("nothing is missed")),
    () => undefined,
  );
  for (const sessionId of ended) {
    const log = new Log(sessionId).asking();
    log.add("turn.finished", { outcome: "completed", reason: "checked", summary: "Done.", usage: {} }, "turn_1");
    for (const event of log.events) book.onEvent(event);
  }
  return book;
}

test("a completion that is in sight needs no message, everything else is said", () => {
  const done = `${COMPLETED}Done.`;
  assert.equal(noticeOf(3, done, true), undefined);
  assert.deepEqual(noticeOf(3, done, false), { level: "info", text: done });
  assert.deepEqual(noticeOf(1, "Outrider, failed: x", true), { level: "error", text: "Outrider, failed: x" });
  assert.deepEqual(noticeOf(2, "y", true), { level: "warning", text: "y" });
});

test("the server begins so what it says of a turn that completed", () => {
  const reporter = readFileSync("../../server/outrider/lsp/features/progress_reporter.py", "utf8");
  const [before, after] = COMPLETED.split("completed");
  assert.ok(reporter.includes(`f"${before ?? ""}{data['outcome'].replace('_', ' ')}${after ?? ""}`));
});

test("a book knows whether what ended last is what is looked at", () => {
  const book = bookWhere("ses_1", "ses_2");
  assert.equal(book.hasEnded, false);
  book.select("ses_1");
  assert.equal(book.hasEnded, false);
  book.select("ses_2");
  assert.equal(book.hasEnded, true);
});
