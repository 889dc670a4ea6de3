import assert from "node:assert/strict";
import { test } from "node:test";

import { INERT_MILLISECONDS, Inert, chosenAfterReading } from "../src/core/inert.js";

test("what has just appeared takes no yes, and a key that is held down never gives one", () => {
  let now = 0;
  const inert = new Inert(() => now);
  inert.appeared("open_1");
  for (let repeat = 0; repeat < 100; repeat++, now += 30) assert.equal(inert.takesYes("open_1"), false);
  now += INERT_MILLISECONDS;
  assert.equal(inert.takesYes("open_1"), true);
  assert.equal(inert.takesYes("open_1"), true);
  inert.appeared("open_1");
  assert.equal(inert.takesYes("open_1"), false, "it moved under the pointer");
});

test("what never appeared here is not held up", () => {
  assert.equal(new Inert(() => 0).takesYes("open_1"), true);
});

test("a dialog is shown again where a yes comes sooner than it can be read, and a no is taken at once", async () => {
  let now = 0;
  const choices = ["yes", "yes", "yes"];
  const takes = [10, 20, INERT_MILLISECONDS];
  const asked = await chosenAfterReading(
    () => now,
    () => {
      now += takes.shift() ?? 0;
      return Promise.resolve(choices.shift());
    },
    (choice) => choice === "yes",
  );
  assert.deepEqual([asked, choices.length], ["yes", 0]);
  const no = await chosenAfterReading(
    () => now,
    () => Promise.resolve("no"),
    (choice) => choice === "yes",
  );
  assert.equal(no, "no");
});
