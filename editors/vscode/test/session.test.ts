import assert from "node:assert/strict";
import { test } from "node:test";

import { SessionBook } from "../src/core/book.js";
import { SessionState, aboutOf } from "../src/core/session.js";
import type { Event } from "../src/protocol/types.js";
import { Log, requested } from "./events.js";

function folded(log: Log): SessionState {
  const session = new SessionState(log.sessionId);
  for (const event of log.events) session.apply(event);
  return session;
}

test("an approval is open with the changes it is about until it is answered", () => {
  const log = new Log().asking();
  const session = folded(log);
  const item = session.open.get("open_1");
  assert.equal(item?.title, "Edit a.py (+1 −1)");
  assert.deepEqual(
    item.proposals.map((proposal) => proposal.changeId),
    ["chg_1"],
  );
  session.apply(
    log.add("approval.resolved", { id: "open_1", callId: "c1", decision: "allow_once", by: "person" }, "turn_1"),
  );
  assert.equal(session.open.size, 0);
});

test("a session is called by its first task until a model has named it", () => {
  const log = new Log();
  log.add("turn.started", { prompt: "Look\nat it", mode: "agent", model: "tiers" }, "turn_1");
  assert.equal(folded(log).title, "Look at it");
  log.add("session.titled", { model: "my/small", reason: "auth" }, "turn_1");
  assert.equal(folded(log).title, "Look at it");
  log.add("session.titled", { model: "my/small", title: "Ferries", usage: { inputTokens: 3, outputTokens: 1 } });
  const session = folded(log);
  assert.equal(session.title, "Ferries");
  assert.equal(session.usage.inputTokens, 3);
});

test("what is asked again has the newer changes only", () => {
  const log = new Log().asking();
  log.add("approval.resolved", { id: "open_1", callId: "c1", decision: "reject", by: "rule" }, "turn_1");
  log.add("edit.proposed", { changeId: "chg_2", callId: "c1", path: "a.py", hunks: [] }, "turn_1");
  log.add(
    "approval.requested",
    { id: "open_2", callId: "c1", digest: "e", title: "Edit", detail: "", options: [] },
    "turn_1",
  );
  assert.deepEqual(
    folded(log)
      .open.get("open_2")
      ?.proposals.map(({ changeId }) => changeId),
    ["chg_2"],
  );
});

test("a parked turn keeps its open items and their changes, and the end of the turn closes them", () => {
  const log = new Log().asking();
  log.add(
    "turn.parked",
    { open: [{ id: "open_1", kind: "approval", turnId: "turn_1", title: "Edit a.py (+1 −1)" }] },
    "turn_1",
  );
  const session = folded(log);
  assert.equal(session.running?.parked, true);
  assert.equal(session.open.get("open_1")?.proposals.length, 1);
  session.apply(log.add("turn.finished", { outcome: "cancelled", reason: "x", summary: "", usage: {} }, "turn_1"));
  assert.equal(session.open.size, 0);
  assert.equal(session.running, undefined);
});

test("usage is the sum of the requests, and a cost of which a part is unknown is unknown", () => {
  const log = new Log().asking();
  assert.deepEqual(folded(log).usage, { inputTokens: 10, outputTokens: 2, cost: 0.5 });
  const failed = { messageId: "m", reason: "cut_stream", usage: { inputTokens: 10, outputTokens: 0, cost: 0.25 } };
  log.add("model.retried", { ...failed, model: "a/b", attempt: 2 }, "turn_1");
  assert.deepEqual(folded(log).usage, { inputTokens: 20, outputTokens: 2, cost: 0.75 });
  const cancelled = { messageId: "m", text: "Half of", toolCalls: [], finishReason: "cancelled" };
  const guessed = { inputTokens: 8, outputTokens: 1, cost: 0.25, estimated: true };
  log.add("model.responded", { ...cancelled, usage: guessed }, "turn_1");
  assert.deepEqual(folded(log).usage, { inputTokens: 28, outputTokens: 3, cost: 1, estimated: true });
  log.add("model.responded", cancelled, "turn_1");
  log.add("model.fellBack", { ...failed, from: "a/b", to: "c/d" }, "turn_1");
  assert.deepEqual(folded(log).usage, { inputTokens: 38, outputTokens: 3, estimated: true });
  const other = new Log();
  other.add("model.responded", {
    messageId: "m",
    text: "",
    toolCalls: [],
    finishReason: "stop",
    usage: { inputTokens: 1, outputTokens: 1 },
  });
  assert.equal(folded(other).usage.cost, undefined);
});

test("a session of 100 000 lines is taken in a moment, and keeps little of what the calls gave", () => {
  const log = new Log();
  log.add("turn.started", { prompt: "Go on", mode: "agent", model: "my/model" }, "turn_1");
  const session = folded(log);
  const content = "x".repeat(20_000);
  const began = performance.now();
  for (let call = 0; call < 33_333; call++) {
    const callId = `c${String(call)}`;
    const ts = "2026-01-01T00:00:00Z";
    const add = (type: string, data: Record<string, unknown>): void => {
      session.apply({ v: 1, seq: session.nextSeq, ts, sessionId: "ses_1", turnId: "turn_1", type, data });
    };
    add("tool.requested", { callId, name: "read_file", input: { path: "a.py" } });
    add("tool.started", { callId });
    add("tool.finished", { callId, status: "ok", content: content + callId });
  }
  assert.ok(performance.now() - began < 5000);
  assert.equal(session.entries.length, 33_334);
  const kept = session.entries.reduce((sum, entry) => sum + (entry.kind === "call" ? entry.output.length : 0), 0);
  assert.ok(kept < 50_000_000, String(kept));
  const [, oldest] = session.entries;
  assert.match(oldest?.kind === "call" ? oldest.output : "", /only the end is kept here.*x+c0$/s);
  assert.match(JSON.stringify(session.entries.at(-1)), /"output":"x{15000,}c33332"/);
});

test("live text grows, is withdrawn by a reset, and gives way to the whole", () => {
  const session = new SessionState("ses_1");
  const frame = { sessionId: "ses_1", turnId: "turn_1", messageId: "m", kind: "text" as const };
  const log = new Log();
  session.apply(log.add("model.requested", requested("m")));
  session.stream({ ...frame, offset: 0, text: "Hel" });
  session.stream({ ...frame, offset: 3, text: "lo" });
  const answer = session.entry("answer:m");
  assert.equal(answer?.kind === "answer" && answer.text.text, "Hello");
  session.apply(log.add("model.reset", { messageId: "m", text: "Hello", reason: "r" }));
  assert.equal(answer?.kind === "answer" && answer.text.text, "");
  session.apply(log.add("model.responded", { messageId: "m", text: "Done.", toolCalls: [], finishReason: "stop" }));
  session.stream({ ...frame, offset: 0, text: "late" });
  assert.equal(answer?.kind === "answer" && answer.text.text, "Done.");
});

test("live text that is here before the steps it comes after stands behind them", () => {
  const log = new Log().asking();
  const session = folded(log);
  const frame = { sessionId: "ses_1", turnId: "turn_1", messageId: "m", kind: "text" as const };
  session.stream({ ...frame, offset: 0, text: "Do" });
  session.stream({ ...frame, offset: 2, text: "ne" });
  const change = { changeId: "chg_1", path: "a.py", hunks: [], where: "buffer" as const };
  session.apply(log.add("edit.applied", change, "turn_1"));
  session.apply(log.add("model.requested", requested("m"), "turn_1"));
  session.stream({ ...frame, offset: 4, text: "." });
  assert.deepEqual(
    session.entries.slice(-2).map((entry) => (entry.kind === "answer" ? entry.text.text : entry.kind)),
    ["edit", "Done."],
  );
  session.stream({ ...frame, messageId: "summary", offset: 0, text: "Short." });
  session.apply(log.add("model.requested", { ...requested("summary"), purpose: "summary" }, "turn_1"));
  assert.equal(session.entry("answer:summary"), undefined);
});

test("a call has its status and the time between its start and its end", () => {
  const log = new Log().asking();
  log.add("tool.started", { callId: "c1" }, "turn_1");
  log.add("tool.finished", { callId: "c1", name: "edit_file", status: "ok", content: "Edited" }, "turn_1");
  const call = folded(log).entry("call:c1");
  assert.deepEqual(call?.kind === "call" && [call.status, call.seconds, call.about], ["ok", 1, "a.py"]);
});

test("changes are in place, undone hunk by hunk, and brought back", () => {
  const log = new Log();
  const hunks = [
    { line: 1, removed: "x\n", added: "y\n" },
    { line: 5, removed: "", added: "z\n" },
  ];
  const change = { path: "a.py", hunks, where: "buffer" as const };
  const undone = (session: SessionState): unknown => {
    const entry = session.entry("edit:chg_1");
    return entry?.kind === "edit" && entry.undone;
  };
  log.add("edit.applied", { ...change, changeId: "chg_1" }, "turn_1");
  assert.equal(folded(log).changes.inPlace.length, 1);
  log.add("edit.applied", { ...change, changeId: "chg_2", undoes: "chg_1", undoesHunks: [1] });
  assert.deepEqual([folded(log).changes.inPlace[0]?.hunks, undone(folded(log))], [[hunks[1]], false]);
  log.add("edit.applied", { ...change, changeId: "chg_3", undoes: "chg_1" });
  assert.deepEqual([folded(log).changes.inPlace, undone(folded(log))], [[], true]);
  assert.deepEqual(folded(log).changes.touched, ["a.py"]);
  log.add("edit.applied", { ...change, changeId: "chg_4", undoes: "chg_3" });
  assert.deepEqual([folded(log).changes.inPlace[0]?.hunks, undone(folded(log))], [hunks, false]);
});

test("events of an unknown type are let be", () => {
  const session = new SessionState("ses_1");
  session.apply({ v: 1, seq: 1, ts: "2026-01-01T00:00:00.000Z", sessionId: "ses_1", type: "something.new", data: {} });
  assert.deepEqual([session.nextSeq, session.entries.length], [2, 0]);
});

test("only entries that are new or different are handed out again", () => {
  const log = new Log().asking();
  const session = folded(log);
  const watched = session.watch();
  session.apply(log.add("tool.started", { callId: "c1" }, "turn_1"));
  assert.deepEqual(watched.take(), ["call:c1"]);
});

test("what a call is about is its path, command or pattern, on one line", () => {
  assert.equal(aboutOf({ command: "a\n b" }), "a b");
  assert.equal(aboutOf("no JSON"), "");
});

test("what was missed is read from the log, and nothing is taken twice", async () => {
  const { events } = new Log().asking();
  const asked: number[] = [];
  const book = new SessionBook(
    (_, fromSeq) => {
      asked.push(fromSeq);
      const there = events.filter(({ seq }) => seq >= fromSeq && seq < fromSeq + 2);
      const nextSeq = fromSeq + there.length;
      return Promise.resolve({ events: there, nextSeq, more: nextSeq <= 5 });
    },
    () => undefined,
  );
  book.onEvent(events[5] as Event);
  await book.load("ses_1");
  const session = book.get("ses_1");
  assert.deepEqual(asked, [1, 3, 5]);
  assert.equal(session?.nextSeq, 7);
  assert.equal(session.entries.filter(({ kind }) => kind === "task").length, 1);
  book.onEvent(events[5] as Event);
  assert.equal(session.nextSeq, 7);
});

test("a log of 100 000 events is folded quickly", () => {
  const session = new SessionState("ses_1");
  const log = new Log();
  for (let number = 0; number < 100_000; number++)
    log.add("steering.received", { pendingId: String(number), text: "on" });
  const began = performance.now();
  for (const event of log.events) session.apply(event);
  assert.equal(session.entries.length, 100_000);
  assert.ok(performance.now() - began < 5000);
});

test("what the user left out, what runs in the background and what went otherwise has a line", () => {
  const log = new Log().asking();
  const review = [{ id: "chg_1#1", decision: "reject" as const, reason: "Not in this file." }];
  log.add(
    "approval.resolved",
    { id: "open_1", callId: "c1", decision: "allow_once", by: "person", review, note: "Nearly." },
    "turn_1",
  );
  const hunks = [{ line: 1, removed: "x\n", added: "y\n" }];
  const stays = "another place was changed";
  log.add("edit.applied", { changeId: "chg_1", callId: "c1", path: "a.py", hunks, where: "buffer", stays }, "turn_1");
  log.add("job.started", { callId: "c2", jobId: "job_1", command: "npm  start", cwd: "/w", sandboxed: true }, "turn_1");
  log.add("job.finished", { jobId: "job_1", status: "exited", exitCode: 1 }, "turn_1");
  const notes = folded(log).entries.flatMap((entry) => (entry.kind === "note" ? [entry.text] : []));
  assert.deepEqual(notes, [
    "Allowed: Edit a.py, without 1 of the hunks: Nearly. · Not in this file.",
    "a.py is not as it was planned: another place was changed",
    "Runs in the background: npm start",
    "Ended in the background (code 1): npm start",
  ]);
});

test("what another window runs asks nothing here, until it goes on here", () => {
  const log = new Log().asking();
  const events = [...log.events];
  const more = log.add("turn.parked", { open: [{ id: "open_1", kind: "approval", turnId: "turn_1", title: "Edit" }] });
  const book = new SessionBook(
    () => Promise.reject(new Error("nothing is missing")),
    () => undefined,
  );
  for (const event of events) book.onEvent(event);
  book.lookOn("ses_1", "elsewhere");
  const session = book.get("ses_1");
  // What is written there is a task of its own, and no word to the turn that runs.
  const here = () => [session?.away, session?.open.size, session?.runningHere?.turnId];
  assert.deepEqual(here(), ["elsewhere", 0, undefined]);
  book.onEvent(more);
  assert.deepEqual(here(), [undefined, 1, "turn_1"]);
});

test("what is read on from the log of a session that another window runs asks nothing here either", async () => {
  const log = new Log().asking();
  const book = new SessionBook(
    () => Promise.resolve({ events: log.events, nextSeq: log.events.length + 1, more: false }),
    () => undefined,
  );
  book.lookOn("ses_1", "elsewhere");
  await book.load("ses_1");
  assert.equal(book.get("ses_1")?.entries.length, folded(log).entries.length);
  assert.equal(book.get("ses_1")?.open.size, 0);
  // It goes on here, and what happened in between is read from the log.
  log.add("session.closed", { reason: "the other window was closed" });
  book.onEvent(log.add("session.restored", { folders: ["file:///w"], permissionMode: "ask" }));
  await book.load("ses_1");
  assert.equal(book.get("ses_1")?.open.size, 1);
});
