import assert from "node:assert/strict";
import { test } from "node:test";

import { AT_ONCE, MOST, Stretch } from "../src/core/stretch.js";

const TOTAL = 100_000;

test("the latest are shown at first, and what comes is shown as well, up to a bound", () => {
  const stretch = new Stretch();
  stretch.latest(10);
  assert.deepEqual(stretch.range(10), { first: 0, end: 10 });
  assert.deepEqual(stretch.range(11), { first: 0, end: 11 });
  stretch.latest(TOTAL);
  assert.deepEqual(stretch.range(TOTAL), { first: TOTAL - AT_ONCE, end: TOTAL });
  assert.deepEqual(stretch.range(2 * TOTAL), { first: 2 * TOTAL - MOST, end: 2 * TOTAL });
});

test("one can look back to the first one and on to the last, with a bounded number at a time", () => {
  const stretch = new Stretch();
  stretch.latest(TOTAL);
  const seen: number[] = [];
  for (let looks = 0; stretch.range(TOTAL).first > 0; looks++) {
    assert.ok(looks < TOTAL / AT_ONCE + 1);
    const before = stretch.range(TOTAL);
    stretch.earlier(TOTAL);
    const now = stretch.range(TOTAL);
    assert.ok(now.end - now.first <= MOST);
    assert.ok(now.end > before.first, "nothing is left out between");
    seen.push(now.first);
  }
  assert.equal(seen.at(-1), 0);
  // Who looks back is not taken away from there by what comes.
  assert.deepEqual(stretch.range(TOTAL + 50), { first: 0, end: MOST });
  for (let looks = 0; stretch.range(TOTAL).end < TOTAL; looks++) {
    assert.ok(looks < TOTAL / AT_ONCE + 1);
    const before = stretch.range(TOTAL);
    stretch.later(TOTAL);
    assert.ok(stretch.range(TOTAL).first < before.end);
  }
  assert.deepEqual(stretch.range(TOTAL + 1), { first: TOTAL + 1 - MOST, end: TOTAL + 1 });
});

test("three hundred come at a time, fifteen hundred at most, and who goes to the latest goes along again", () => {
  const stretch = new Stretch();
  stretch.latest(3000);
  assert.deepEqual(stretch.range(3000), { first: 2700, end: 3000 });
  for (let look = 0; look < 4; look++) stretch.earlier(3000);
  assert.deepEqual(stretch.range(3000), { first: 1500, end: 3000 });
  stretch.earlier(3000);
  assert.deepEqual(stretch.range(4000), { first: 1200, end: 2700 });
  stretch.later(4000);
  assert.deepEqual(stretch.range(4000), { first: 1500, end: 3000 });
  stretch.latest(4000);
  assert.deepEqual(stretch.range(4100), { first: 3700, end: 4100 });
  const few = new Stretch();
  assert.deepEqual(few.range(2), { first: 0, end: 2 });
});
