import assert from "node:assert/strict";
import { test } from "node:test";

import { Pulse } from "../src/core/pulse.js";

/** A pulse, its clock, and a server that answers when it is told to. */
class Bed {
  isAwaited = true;
  asked = 0;
  readonly told: number[] = [];
  private readonly acts = new Set<() => void>();
  private answer: () => void = () => undefined;
  readonly pulse = new Pulse(
    {
      every: (_, act) => {
        this.acts.add(act);
        return () => this.acts.delete(act);
      },
    },
    () => {
      this.asked += 1;
      return new Promise<void>((resolve) => (this.answer = resolve));
    },
    () => this.isAwaited,
    (seconds) => this.told.push(seconds),
  );

  get clocks(): number {
    return this.acts.size;
  }

  tick(): void {
    for (const act of [...this.acts]) act();
  }

  async answers(): Promise<void> {
    this.answer();
    await Promise.resolve();
    await Promise.resolve();
  }
}

test("a server that answers nothing is told of once, until it answers again", async () => {
  const bed = new Bed();
  bed.pulse.update();
  bed.pulse.update();
  assert.equal(bed.clocks, 1);
  for (let ticks = 0; ticks < 2; ticks++) bed.tick();
  assert.deepEqual(bed.told, [], "missed once");
  for (let ticks = 0; ticks < 5; ticks++) bed.tick();
  assert.deepEqual(bed.told, [10]);
  assert.equal(bed.asked, 1);
  await bed.answers();
  for (let ticks = 0; ticks < 3; ticks++) bed.tick();
  assert.deepEqual(bed.told, [10, 10]);
});

test("one that answers is asked again as long as something is awaited, and no clock runs after that", async () => {
  const bed = new Bed();
  bed.pulse.update();
  for (let asked = 1; asked < 4; asked++) {
    bed.tick();
    assert.equal(bed.asked, asked);
    await bed.answers();
  }
  bed.isAwaited = false;
  bed.tick();
  bed.pulse.update();
  assert.equal(bed.clocks, 0);
  assert.equal(bed.asked, 3);
  assert.deepEqual(bed.told, []);
});

test("a late answer of a server that has ended says nothing of the next one", async () => {
  const bed = new Bed();
  bed.pulse.update();
  bed.tick();
  const late = bed.answers.bind(bed);
  bed.pulse.end();
  assert.equal(bed.clocks, 0);
  bed.pulse.update();
  await late();
  for (let ticks = 0; ticks < 3; ticks++) bed.tick();
  assert.deepEqual(bed.told, [10]);
});
