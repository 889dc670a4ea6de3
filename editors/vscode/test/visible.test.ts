import assert from "node:assert/strict";
import { test } from "node:test";

import { frameOf } from "../src/core/messages.js";
import { Reviews } from "../src/core/review.js";
import { SessionState, aboutOf } from "../src/core/session.js";
import { visible } from "../src/core/visible.js";
import { Log } from "./events.js";

const NEXT = { model: "", permissionMode: undefined };

function asked(title: string, detail: string): SessionState {
  const log = new Log();
  log.add("turn.started", { prompt: "Go", mode: "agent", model: "m" }, "turn_1");
  log.add("approval.requested", { id: "o", callId: "c", digest: "d", title, detail, options: ["Reject"] }, "turn_1");
  const session = new SessionState("ses_1");
  for (const event of log.events) session.apply(event);
  return session;
}

test("what hides or turns the writing around is spelled out, and lines, letters and emoji stay", () => {
  assert.equal(visible("rm \u202e/oot\u2066"), "rm \\u202e/oot\\u2066");
  assert.equal(visible("a\u200bb\x1b[2K\x07"), "a\\u200bb\\x1b[2K\\x07");
  assert.equal(visible("one\r\ntwo\rthree\tfour"), "one\r\ntwo\\rthree\tfour");
  assert.equal(visible("tag \u{e0041}"), "tag \\U000e0041");
  assert.equal(visible("می\u200cخواهم 👩\u200d💻 ❤\ufe0f שלום"), "می\u200cخواهم 👩\u200d💻 ❤\ufe0f שלום");
  assert.equal(visible("a\u200db"), "a\\u200db");
});

test("nothing hides in what is decided about", () => {
  const session = asked("Run: ls \u202egnp.exe", "in \u200bthe folder");
  const [item] = frameOf("running", session, NEXT, new Reviews()).open;
  assert.equal(item?.title, "Run: ls \\u202egnp.exe");
  assert.equal(item.detail, "in \\u200bthe folder");
  assert.equal(aboutOf({ command: "echo \u202e1" }), "echo \\u202e1");
});

test("the view gets as much of a long detail as is looked at there", () => {
  const lines = Array.from({ length: 100_000 }, (_, index) => `+${String(index)}`);
  const session = asked("Edit", ["x".repeat(1_000_000), ...lines].join("\n"));
  const [item] = frameOf("running", session, NEXT, new Reviews()).open;
  const shown = (item?.detail ?? "").split("\n");
  assert.equal(shown.length, 401);
  assert.equal(shown[0]?.length, 1001);
  assert.match(shown.at(-1) ?? "", /99601 more lines/);
});

test("a session of a hundred thousand steps is taken in, and the view gets its end", () => {
  const log = new Log();
  log.add("session.started", { folders: ["file:///w"], permissionMode: "ask", version: "0.1.0" });
  log.add("turn.started", { prompt: "Read it all", mode: "agent", model: "m" }, "turn_1");
  for (let number = 0; number < 50_000; number++) {
    const callId = `c${String(number)}`;
    log.add("tool.requested", { callId, name: "read_file", input: { path: `f${callId}` } }, "turn_1");
    log.add("tool.finished", { callId, name: "read_file", status: "ok", content: "text" }, "turn_1");
  }
  const session = new SessionState("ses_1");
  const before = Date.now();
  for (const event of log.events) session.apply(event);
  assert.equal(session.entries.length, 50_001);
  assert.ok(Date.now() - before < 5000, "it must not grow with the square of the steps");
});

test("a view without a session has nothing around its steps, and what an item does not say it may not do", () => {
  const empty = frameOf("starting", undefined, NEXT, new Reviews());
  assert.deepEqual([empty.parked, empty.running, empty.usage, empty.plan, empty.open], [false, false, {}, [], []]);
  const session = new SessionState("ses_1");
  const log = new Log();
  session.apply(log.add("turn.started", { prompt: "Go", mode: "agent", model: "m" }, "turn_1"));
  assert.equal(frameOf("running", session, NEXT, new Reviews()).parked, false);
  const item = { id: "t", kind: "tool", turnId: "turn_1", title: "Look" } as const;
  const detail = Array.from({ length: 401 }, () => "x".repeat(1001)).join("\n");
  session.apply(log.add("turn.parked", { open: [{ ...item, detail }] }, "turn_1"));
  const [open] = frameOf("running", session, NEXT, new Reviews()).open;
  assert.deepEqual([open?.options, open?.allowFreeForm, open?.canReview], [[], false, false]);
  assert.match(open?.detail ?? "", /^x{1000}…\n[^]*\n… 1 more lines; Review… shows them all\.$/);
  session.apply(log.add("turn.parked", { open: [{ ...item, detail: Array(400).fill("y").join("\n") }] }, "turn_1"));
  assert.match(frameOf("running", session, NEXT, new Reviews()).open[0]?.detail ?? "", /y$/);
});
