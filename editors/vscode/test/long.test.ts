import assert from "node:assert/strict";
import { test } from "node:test";

import { Sent } from "../src/core/messages.js";
import { SessionState } from "../src/core/session.js";
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

/** What a page has of the answer, which gets each time what it lacks. */
class Reader {
  private readonly sent = new Sent();
  text = "";
  /** Characters that came in all. */
  got = 0;

  show(session: SessionState): void {
    const entry = session.entry("answer:m");
    assert.ok(entry?.kind === "answer");
    const view = this.sent.entry(entry, false);
    assert.ok(view.kind === "answer");
    this.text = this.text.slice(0, view.text.from) + view.text.text;
    this.got += view.text.text.length;
  }
}

function textOf(length: number): string {
  return LINE.repeat(Math.ceil(length / LINE.length)).slice(0, length);
}

/** Processor time, in milliseconds, to take an answer of a length and show it after each piece. */
function taking(length: number, piece: number): number {
  const pieces = Array.from({ length: length / piece }, (_, index) => textOf(piece - (index % 2)));
  const { session } = begun();
  const sent = new Sent();
  const before = process.cpuUsage();
  let offset = 0;
  for (const text of pieces) {
    stream(session, text, offset);
    offset += text.length;
    const entry = session.entry("answer:m");
    if (entry !== undefined) sent.entry(entry, false);
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
    assert.ok(four <= 10 * one, `${String(four)} ms for 4 MB, ${String(one)} ms for 1 MB`);
  });
}

test("of an answer that is coming the view gets each piece once, and nothing more when it is whole", () => {
  const { log, session } = begun();
  const reader = new Reader();
  for (let at = 0; at < 4 * MEGABYTE; at += PIECE) {
    stream(session, textOf(PIECE), at);
    reader.show(session);
  }
  const whole = textOf(PIECE).repeat(64);
  assert.equal(reader.text, whole);
  const responded = { messageId: "m", text: whole, toolCalls: [], finishReason: "stop" };
  session.apply(log.add("model.responded", responded, "turn_1"));
  reader.show(session);
  assert.equal(reader.text, whole);
  assert.equal(reader.got, whole.length);
});

test("a text that was withdrawn, or came only in part, is replaced", () => {
  const { log, session } = begun();
  const reader = new Reader();
  stream(session, "Never mind", 0);
  reader.show(session);
  session.apply(log.add("model.reset", { messageId: "m", text: "Never mind", reason: "x" }, "turn_1"));
  reader.show(session);
  assert.equal(reader.text, "");
  stream(session, " the end", 9);
  reader.show(session);
  const responded = { messageId: "m", text: "All up to the end", toolCalls: [], finishReason: "stop" };
  session.apply(log.add("model.responded", responded, "turn_1"));
  reader.show(session);
  assert.equal(reader.text, "All up to the end");
});

test("a single delta of 2 MB is taken, also before its request", () => {
  const log = new Log();
  const early = new SessionState("ses_1");
  early.apply(log.add("turn.started", { prompt: "Go on", mode: "agent", model: "my/model" }, "turn_1"));
  stream(early, textOf(2 * MEGABYTE), 0);
  early.apply(log.add("model.requested", requested("m"), "turn_1"));
  const reader = new Reader();
  reader.show(early);
  assert.equal(reader.text, textOf(2 * MEGABYTE));
});
