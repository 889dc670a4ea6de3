import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { MILESTONES, Milestones } from "../src/core/milestones.js";
import { Log } from "./events.js";

/** Milestones that tell what is reached. */
function watched(before: readonly string[] = []) {
  const told: string[] = [];
  const milestones = new Milestones(before, (one) => told.push(one));
  return { milestones, told };
}

void test("a step is done when it has happened, once, and not when it was only begun", () => {
  const { milestones, told } = watched();
  const log = new Log().asking();
  for (const event of log.events.slice(0, 2)) milestones.see(event);
  assert.deepEqual(told, []);
  for (const event of log.events.slice(2)) milestones.see(event);
  assert.deepEqual(told, ["model", "key"], "it asked, and nobody has answered");
  const resolved = { id: "open_1", callId: "c1", decision: "allow_once" } as const;
  milestones.see(log.add("approval.resolved", { ...resolved, by: "rule" }));
  assert.deepEqual(told, ["model", "key"]);
  milestones.see(log.add("approval.resolved", { ...resolved, by: "person" }));
  milestones.see(log.add("turn.finished", { outcome: "cancelled", reason: "cancelled", usage: {}, summary: "" }));
  assert.deepEqual(told, ["model", "key", "answer"]);
  for (const _ of [1, 2])
    milestones.see(log.add("turn.finished", { outcome: "completed", reason: "", usage: {}, summary: "" }));
  assert.deepEqual(told, ["model", "key", "answer", "task"]);
});

void test("only a turn that was taken back is an undo", () => {
  const { milestones, told } = watched();
  const log = new Log();
  const rest = { conflicts: [], notUndoable: [] };
  const undone = [{ path: "a.py", hunks: 1 }];
  const steps = [
    [{ scope: "hunk" }, undone],
    [{ scope: "turn", redo: true }, undone],
    [{ scope: "turn" }, []],
  ] as const;
  for (const [requested, what] of steps) {
    milestones.see(log.add("undo.requested", requested));
    milestones.see(log.add("undo.finished", { undone: [...what], ...rest }));
  }
  assert.deepEqual(told, []);
  milestones.see(log.add("undo.requested", { scope: "turn" }));
  milestones.see(log.add("undo.finished", { undone, ...rest }));
  assert.deepEqual(told, ["undo"]);
});

void test("what was done in a window of before is known, and what else was kept is not", () => {
  const { milestones, told } = watched(["task", "nonsense"]);
  milestones.reach("task");
  milestones.reach("key");
  assert.deepEqual([milestones.all, told], [["task", "key"], ["key"]]);
});

void test("each step of the walkthrough is ticked by what was done alone", () => {
  const manifest = JSON.parse(readFileSync("package.json", "utf8")) as {
    contributes: { walkthroughs: { steps: { id: string; completionEvents: string[] }[] }[] };
  };
  const steps = manifest.contributes.walkthroughs.flatMap((one) => one.steps);
  assert.deepEqual(
    steps.map(({ id, completionEvents }) => [id, completionEvents]),
    MILESTONES.map((one) => [one, [`onContext:outrider.done.${one}`]]),
  );
});
