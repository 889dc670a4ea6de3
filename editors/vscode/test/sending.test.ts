import assert from "node:assert/strict";
import { test } from "node:test";

import { Sending } from "../src/core/sending.js";

test("a text goes once it is taken, and stays where it is refused", () => {
  const sending = new Sending();
  assert.equal(sending.begin(" Two an hour\n"), "Two an hour");
  assert.equal(sending.end(" Two an hour\n", false), " Two an hour\n");
  assert.equal(sending.begin(" Two an hour\n"), "Two an hour");
  assert.equal(sending.end(" Two an hour\n", true), "");
});

test("nothing is sent twice, and nothing that is empty", () => {
  const sending = new Sending();
  assert.equal(sending.begin(" \n"), undefined);
  assert.equal(sending.isUnderWay, false);
  assert.equal(sending.begin("Two an hour"), "Two an hour");
  assert.equal(sending.begin("Two an hour"), undefined);
  assert.equal(sending.isUnderWay, true);
});

test("what is written while it is under way stays", () => {
  const sending = new Sending();
  sending.begin("Two an hour");
  assert.equal(sending.end("Two an hour\nand tell me", true), "and tell me");
  sending.begin("Two an hour");
  assert.equal(sending.end("Something else", true), "Something else");
});
