import assert from "node:assert/strict";
import { test } from "node:test";

import { Delivery, Sending, keptFrom } from "../src/core/sending.js";

test("a text goes once it is taken, and stays where it is refused", () => {
  const sending = new Sending();
  assert.equal(sending.begin("1", " Two an hour\n"), "Two an hour");
  assert.equal(sending.end({ id: "1", problem: "Not sent" }, " Two an hour\n"), " Two an hour\n");
  assert.equal(sending.begin("2", " Two an hour\n"), "Two an hour");
  assert.equal(sending.end({ id: "2" }, " Two an hour\n"), "");
});

test("nothing is sent twice, and nothing that is empty", () => {
  const sending = new Sending();
  assert.equal(sending.begin("1", " \n"), undefined);
  assert.equal(sending.underWay, undefined);
  assert.equal(sending.begin("2", "Two an hour"), "Two an hour");
  assert.equal(sending.begin("3", "Two an hour"), undefined);
  assert.deepEqual(sending.underWay, { id: "2", text: "Two an hour" });
});

test("what is written while it is under way stays", () => {
  const sending = new Sending();
  sending.begin("1", "Two an hour");
  assert.equal(sending.end({ id: "1" }, "Two an hour\nand tell me"), "and tell me");
  sending.begin("2", "Two an hour");
  assert.equal(sending.end({ id: "2" }, "Something else"), "Something else");
});

test("a view that was hidden while a text was under way goes on waiting, and takes one answer", () => {
  const before = new Sending();
  before.begin("1", "Two an hour");
  const kept = keptFrom(JSON.parse(JSON.stringify({ draft: "Two an hour", underWay: before.underWay })));
  const sending = new Sending(kept.underWay);
  assert.equal(sending.begin("2", kept.draft), undefined);
  assert.equal(sending.end({ id: "0" }, kept.draft), undefined);
  assert.equal(sending.end({ id: "1" }, kept.draft), "");
  assert.equal(sending.end({ id: "1" }, "Something else"), undefined);
});

test("of what a view kept only what can be read counts", () => {
  for (const state of [undefined, null, "draft", { draft: 1, underWay: "1" }, { underWay: { id: "1" } }])
    assert.deepEqual(keptFrom(state), { draft: "", underWay: undefined, recalled: [] });
});

test("the extension knows what became of the text that was sent last", () => {
  const delivery = new Delivery();
  delivery.begin("1");
  assert.equal(delivery.of("1"), undefined);
  delivery.end({ id: "1" });
  assert.deepEqual(delivery.of("1"), { id: "1" });
  delivery.begin("2");
  delivery.end({ id: "1", problem: "late" });
  assert.equal(delivery.of("2"), undefined);
  delivery.end({ id: "2", problem: "Not sent" });
  assert.deepEqual(delivery.of("2"), { id: "2", problem: "Not sent" });
  assert.match(delivery.of("0")?.problem ?? "", /not known whether this was sent/);
});
