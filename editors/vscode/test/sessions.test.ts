import assert from "node:assert/strict";
import { test } from "node:test";

import { byDay, sessionLine } from "../src/core/sessions.js";
import type { SessionSummary } from "../src/protocol/types.js";

const NOW = new Date(2026, 4, 20, 9, 30).getTime();

function summary(sessionId: string, ago: { days?: number; hours?: number }, more: Partial<SessionSummary> = {}) {
  const at = new Date(NOW);
  at.setDate(at.getDate() - (ago.days ?? 0));
  at.setHours(at.getHours() - (ago.hours ?? 0));
  const lastAt = at.toISOString();
  const known = { state: "closed", outcome: "completed", turns: 1, title: sessionId, startedAt: lastAt } as const;
  return { ...known, sessionId, lastAt, ...more } satisfies SessionSummary;
}

void test("sessions are grouped by the day of what happened last, by the clock of the user", () => {
  const sessions = [
    summary("ahead", { hours: -30 }),
    summary("now", {}),
    summary("last night", { hours: 9 }),
    summary("before midnight", { hours: 10 }),
    summary("yesterday at nine", { days: 1 }),
    summary("the day before", { days: 1, hours: 10 }),
    summary("long ago", { days: 400 }),
  ];
  const days = byDay(sessions, { now: NOW, current: undefined });
  assert.deepEqual(
    days.map(({ label, lines }) => [label, lines.map((line) => line.label)]),
    [
      ["Today", ["ahead", "now", "last night"]],
      ["Yesterday", ["before midnight", "yesterday at nine"]],
      ["Older", ["the day before", "long ago"]],
    ],
  );
  assert.deepEqual(byDay([], { now: NOW, current: undefined }), []);
});

void test("a line says what its session is at, and offers only what can be done", () => {
  type Some = Partial<Omit<SessionSummary, "outcome">> & { outcome?: SessionSummary["outcome"] | undefined };
  const rows: [Some, string, string, string[]][] = [
    [{}, "completed", "comment", ["rename", "fork", "delete"]],
    [{ state: "idle" }, "completed", "comment", ["rename", "fork", "delete"]],
    [{ state: "parked", outcome: undefined }, "needs you", "bell-dot", ["rename", "delete"]],
    [{ state: "parked", turns: 2 }, "needs you", "bell-dot", ["rename", "fork", "delete"]],
    [{ state: "running", turns: 2, outcome: undefined }, "running", "loading~spin", ["rename", "fork"]],
    [
      { state: "running", elsewhere: true, outcome: undefined },
      "running in another window or editor",
      "loading~spin",
      ["rename"],
    ],
    [{ outcome: undefined }, "cut off", "debug-disconnect", ["resume", "rename", "delete"]],
    [{ outcome: undefined, turns: 0 }, "", "circle-outline", ["rename", "delete"]],
    [{ outcome: "failed" }, "failed", "error", ["rename", "fork", "delete"]],
  ];
  for (const [more, said, icon, can] of rows) {
    const { outcome, ...others }: Some & SessionSummary = { ...summary("one", {}), ...more } as SessionSummary;
    const line = sessionLine(outcome === undefined ? others : { ...others, outcome }, { now: NOW, current: undefined });
    const [first = ""] = line.said.split(" · ");
    assert.equal(line.description.startsWith(said), said !== "completed");
    assert.deepEqual([said === "" ? "" : first, line.icon, line.can], [said, icon, can]);
  }
});

void test("the one that is looked at is named, and what was searched for is shown in one line", () => {
  const found = summary("one", { days: 1 }, { match: { text: "two an\nhour\u202e", turnId: "turn_1" } });
  const line = sessionLine(found, { now: NOW, current: "one" });
  assert.match(line.said, /^shown · completed · yesterday .*9:30.* · “two an hour.*”$/);
  assert.ok(!line.description.includes("\u202e"));
  assert.ok(line.more.some((fact) => fact.startsWith("Found: “two an hour")));
  assert.equal(sessionLine(summary("ses_9", {}, { title: "" }), { now: NOW, current: "one" }).label, "ses_9");
  const copy = sessionLine(summary("copy", {}, { forkedFrom: "one" }), { now: NOW, current: undefined });
  assert.ok(copy.more.includes("A copy of another session"));
});
