import assert from "node:assert/strict";
import { test } from "node:test";

import { shownEntry } from "../src/core/messages.js";
import { SessionState } from "../src/core/session.js";
import type { Entry } from "../src/core/entries.js";
import { Log, requested } from "./events.js";

const PIECE = 64 * 1024;
const MEGABYTE = 1024 * 1024;
const LINE = "Many words make a line of text, and many lines an answer.\n";

function begun(): { log: Log; session: SessionState } {
  const log = new Log();
  const session = new SessionState("ses_1");
  session.apply(log.add("turn.started", { prompt: "Go on", mode: "agent", model: "my/model" }, "turn_1"));
  session.apply(log.add("model.requested", requested("m"), "turn_1"));
  return { log, session };
}

function stream(session: SessionState, text: string, offset: number): void {
  session.stream({ sessionId: "ses_1", turnId: "turn_1", kind: "text", messageId: "m", offset, text });
}

function shown(session: SessionState): Extract<Entry, { kind: "answer" }> {
  const entry = session.entry("answer:m");
  assert.equal(entry?.kind, "answer");
  const view = shownEntry(entry);
  assert.equal(view.kind, "answer");
  return view;
}

function textOf(length: number): string {
  return LINE.repeat(Math.ceil(length / LINE.length)).slice(0, length);
}

/** Processor time, in milliseconds, to take an answer of a length and show it after each piece. */
function taking(length: number, piece: number): number {
  const pieces = Array.from({ length: length / piece }, (_, index) => textOf(piece - (index % 2)));
  const { session } = begun();
  const before = process.cpuUsage();
  let offset = 0;
  for (const text of pieces) {
    stream(session, text, offset);
    offset += text.length;
    shown(session);
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

for (const piece of [PIECE, 256]) {
  test(`four times the answer in pieces of ${String(piece)} takes about four times as long`, () => {
    taking(MEGABYTE, piece);
    const best = (length: number): number => Math.min(...[1, 2, 3].map(() => taking(length, piece)));
    // A few milliseconds are below what the clock of the processor can tell.
    const one = Math.max(best(MEGABYTE), 5);
    const four = best(4 * MEGABYTE);
    assert.ok(four <= 6 * one, `${String(four)} ms for 4 MB, ${String(one)} ms for 1 MB`);
  });
}

test("of an answer that is coming the view gets the end and how much was before", () => {
  const { log, session } = begun();
  for (let at = 0; at < 4 * MEGABYTE; at += PIECE) stream(session, textOf(PIECE), at);
  const live = shown(session);
  assert.match(live.text, new RegExp(`^\\(${String(4 * MEGABYTE - 8000)} characters before\\)`));
  assert.ok(live.text.endsWith(textOf(PIECE).slice(-8000)));
  const whole = textOf(4 * MEGABYTE);
  session.apply(
    log.add("model.responded", { messageId: "m", text: whole, toolCalls: [], finishReason: "stop" }, "turn_1"),
  );
  assert.ok(shown(session).text.endsWith(whole.slice(-50_000)));
  assert.match(shown(session).text, new RegExp(`^\\(${String(whole.length - 50_000)} characters before\\)`));
});

test("a single delta of 2 MB is taken, also before its request", () => {
  const { session } = begun();
  stream(session, textOf(2 * MEGABYTE), 0);
  assert.match(shown(session).text, new RegExp(`^\\(${String(2 * MEGABYTE - 8000)} characters before\\)`));
  const log = new Log();
  const early = new SessionState("ses_1");
  early.apply(log.add("turn.started", { prompt: "Go on", mode: "agent", model: "my/model" }, "turn_1"));
  stream(early, textOf(2 * MEGABYTE), 0);
  early.apply(log.add("model.requested", requested("m"), "turn_1"));
  assert.equal(shown(early).text, shown(session).text);
});
