import assert from "node:assert/strict";
import { test } from "node:test";

import { choicesOf, withModel } from "../src/core/choices.js";

const FOUND = {
  model: "tiers",
  models: [
    { model: "my/large", named: true, tier: "frontier", contextWindow: 200_000, price: { input: 3, output: 15 } },
    { model: "my/set", named: true, contextWindow: 8000 },
    { model: "my/seen", named: false, contextWindow: 128_000 },
    { model: "other/one", named: false, contextWindow: 32_768 },
  ],
  problems: ["provider gone: no answer in 5 s"],
} as const;

test("models stand by tier, and then by who has them, with their windows and prices", () => {
  const choices = choicesOf({ ...FOUND, models: [...FOUND.models], problems: [...FOUND.problems] }, "my/set", "", [
    "my/seen",
  ]);
  assert.deepEqual(
    choices.map((one) => ("description" in one ? `${one.label} | ${one.description}` : `— ${one.label}`)),
    [
      "The one of the settings | tiers",
      "$(edit) Another… | provider/name",
      "$(add) Set up a model… | a provider, its key, its models, a trial",
      "— chosen lately",
      "my/seen | 128k tokens",
      "— tier frontier",
      "my/large | 200k tokens · 3 in, 15 out",
      "— named in the settings",
      "$(check) my/set | 8.0k tokens",
      "— of the provider other",
      "other/one | 33k tokens",
      "— not reached",
      "$(warning) provider gone: no answer in 5 s | ",
    ],
  );
});

test("what is known at once stays where it is when the rest comes", () => {
  const before = choicesOf(undefined, undefined, "my/large", ["my/seen"]);
  const after = choicesOf({ ...FOUND, models: [...FOUND.models], problems: [] }, undefined, "my/large", ["my/seen"]);
  assert.equal(before[0]?.label, "$(check) The one of the settings");
  assert.deepEqual(
    after.slice(0, before.length).map(({ label }) => label),
    before.map(({ label }) => label),
  );
});

test("a task of a code action gets the model that was chosen, unless it names one; nothing else does", () => {
  const task = { prompt: "Fix it" };
  assert.deepEqual(withModel("outrider.run", [task], "my/large"), [{ prompt: "Fix it", model: "my/large" }]);
  assert.deepEqual(withModel("outrider.run", [{ ...task, model: "my/set" }], "my/large"), [
    { prompt: "Fix it", model: "my/set" },
  ]);
  assert.deepEqual(withModel("outrider.run", [task], undefined), [task]);
  assert.deepEqual(withModel("outrider.undo", [{}], "my/large"), [{}]);
  assert.deepEqual(withModel("outrider.run", [], "my/large"), []);
});
