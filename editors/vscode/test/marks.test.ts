import assert from "node:assert/strict";
import { test } from "node:test";

import { meaningsOf } from "../src/core/options.js";
import { endOf, evidenceOf, markOf, mendingTask } from "../src/core/words.js";
import type { Done } from "../src/protocol/types.js";

const CHECKED: Done = { state: "checked", line: "checked: tests (`pytest`)" };

test("only what is shown to be done is marked as good", () => {
  const mark = (done: Done): string => markOf("completed", done.state, done);
  assert.equal(mark(CHECKED), "good");
  assert.equal(mark({ state: "no_changes", line: "" }), "good");
  assert.equal(mark({ state: "unverified", line: "unverified: no check was run after the last change" }), "open");
  assert.equal(mark({ ...CHECKED, openItems: ["Write the tests"] }), "open");
  assert.equal(mark({ ...CHECKED, diagnostics: { introduced: 1, fixed: 0 } }), "open");
  const run = { kind: "test", command: "true", ok: true, seconds: 1, stale: false } as const;
  assert.equal(mark({ ...CHECKED, checks: [run, { ...run, ok: false, stale: true }] }), "good");
  assert.equal(mark({ ...CHECKED, checks: [run, { ...run, ok: false }] }), "open");
  assert.equal(mark({ state: "no_changes", line: "nothing was changed, so its checks did not run" }), "open");
  assert.equal(mark({ state: "no_changes", line: "2 items of the plan are open", openItems: ["a", "b"] }), "open");
  assert.equal(mark({ state: "check_failed", line: "check failed: `pytest` (exit code 1)" }), "check_failed");
});

test("a log of an older version says it as the reason, and what did not come to its end is not done", () => {
  assert.deepEqual(
    ["checked", "no_changes", "unverified", "check_failed"].map((reason) => markOf("completed", reason)),
    ["good", "good", "open", "check_failed"],
  );
  assert.deepEqual([markOf("cancelled", "user", CHECKED), markOf("failed", "auth")], ["stopped", "bad"]);
});

test("a failed check is said once, and goes on with a task of its own", () => {
  const end = {
    outcome: "completed",
    mark: "check_failed",
    done: "check failed: `a` (exit code 1)",
    reason: "",
  } as const;
  assert.deepEqual([endOf(end), evidenceOf(end)], ["Check failed", "`a` (exit code 1)"]);
  assert.equal(mendingTask(["a", "b"]), "`a`, `b` failed. Correct what is wrong, so that it passes.");
  assert.equal(mendingTask([]), "A check failed. Correct what is wrong, so that it passes.");
});

test("what options mean is told apart, and what belongs to none of them stays", () => {
  const { of, rest } = meaningsOf(
    ["Euro", "Dollar", "Both"],
    "Of the price.\nEuro: as it is\nso far\nBoth: a column each",
  );
  assert.deepEqual(
    [...of],
    [
      ["Euro", "as it is\nso far"],
      ["Both", "a column each"],
    ],
  );
  assert.equal(rest, "Of the price.");
});
