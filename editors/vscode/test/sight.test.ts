import assert from "node:assert/strict";
import { test } from "node:test";

import { Arrival, COMING_MILLISECONDS, pointSoon } from "../src/core/sight.js";

/** A user, a view, a clock, and an item that may have to be pointed at. */
class Bed {
  isVisible = false;
  isOpen = true;
  readonly pointed: boolean[] = [];
  private now = 0;
  private due: { at: number; act: () => void }[] = [];
  readonly arrival = new Arrival(() => this.now);

  /** The item comes. */
  asks(): this {
    pointSoon(
      (act, milliseconds) => this.due.push({ at: this.now + milliseconds, act }),
      () => (this.isOpen ? this.arrival.sight(this.isVisible) : undefined),
      (isShown) => this.pointed.push(isShown),
    );
    return this;
  }

  pass(milliseconds: number): this {
    for (const end = this.now + milliseconds; this.now < end; this.now++) {
      const ripe = this.due.filter(({ at }) => at <= this.now);
      this.due = this.due.filter(({ at }) => at > this.now);
      for (const { act } of ripe) act();
    }
    return this;
  }

  get isDone(): boolean {
    return this.due.length === 0;
  }
}

test("nothing is pointed at while the view that was asked for is still coming up", () => {
  const bed = new Bed();
  bed.arrival.asked();
  bed.asks().pass(COMING_MILLISECONDS - 1000);
  assert.deepEqual(bed.pointed, []);
  bed.isVisible = true;
  bed.arrival.changed();
  bed.pass(5000);
  assert.deepEqual([bed.pointed, bed.isDone], [[true], true], "told once, and that it is seen");
});

test("a view that does not come, or is hidden, shows nothing: then it is pointed at", () => {
  const late = new Bed();
  late.arrival.asked();
  late.asks().pass(2 * COMING_MILLISECONDS);
  assert.deepEqual([late.pointed, late.isDone], [[false], true]);

  const hidden = new Bed();
  hidden.arrival.asked();
  hidden.asks().pass(1000);
  hidden.arrival.changed();
  hidden.pass(1000);
  assert.deepEqual(hidden.pointed, [false]);
  assert.deepEqual(new Bed().asks().pass(2000).pointed, [false]);
});

test("what is answered meanwhile is not pointed at", () => {
  const bed = new Bed();
  bed.arrival.asked();
  bed.asks().pass(3000);
  bed.isOpen = false;
  bed.pass(2 * COMING_MILLISECONDS);
  assert.deepEqual([bed.pointed, bed.isDone], [[], true]);
});
