import assert from "node:assert/strict";
import { test } from "node:test";

import { MOST_GHOSTS, fitsBeside, ghostsOf } from "../src/core/ghosts.js";
import type { WireHunk } from "../src/protocol/types.js";

function hunk(line: number, removed: string, added: string): WireHunk {
  return { line, removed, added };
}

test("each new line stands beside an old one, and the last has what is left", () => {
  assert.deepEqual(ghostsOf(hunk(4, "a\n  b\n", "  c\n  d\n\n  e\n")), [
    { line: 3, text: "→ c" },
    { line: 4, text: "→ d ⏎  ⏎ e" },
  ]);
  assert.deepEqual(ghostsOf(hunk(4, "a\nb\n", "c\n")), [{ line: 3, text: "→ c" }]);
  assert.deepEqual(ghostsOf(hunk(4, "a\n", "")), []);
});

test("what is only put in stands beside the line before it", () => {
  assert.deepEqual(ghostsOf(hunk(4, "", "a\nb\n")), [{ line: 2, text: "→ a ⏎ b" }]);
  assert.deepEqual(ghostsOf(hunk(1, "", "a\n")), [{ line: 0, text: "→ a" }]);
});

test("what has no room is counted, and nothing hides in it", () => {
  const long = Array.from({ length: 40 }, (_, index) => `line ${String(index)}\n`).join("");
  const [ghost] = ghostsOf(hunk(2, "", long));
  assert.match(ghost?.text ?? "", /^→ line 0 ⏎ line 1 .* {2}\(\+\d+ lines\)$/);
  assert.ok((ghost?.text.length ?? 0) < 200);
  assert.ok((ghostsOf(hunk(2, "", "x".repeat(5000)))[0]?.text.length ?? 0) < 200);
  assert.equal(ghostsOf(hunk(2, "", "a\u202eb\n"))[0]?.text, "→ a\\u202eb");
  assert.equal(ghostsOf(hunk(1, "a\n".repeat(5000), "b\n".repeat(5000))).length, MOST_GHOSTS);
});

test("a line that has no room is cut at a hundred columns", () => {
  const [ghost] = ghostsOf(hunk(1, "a\n", `${"x".repeat(101)}\n`));
  assert.equal(ghost?.text, `→ ${"x".repeat(99)}…`);
  assert.equal(ghostsOf(hunk(1, "a\n", `${"x".repeat(100)}\n`))[0]?.text, `→ ${"x".repeat(100)}`);
});

test("beside its lines is what can be read there: a line or two, each beside an old one", () => {
  const fits: [string, string, boolean][] = [
    ["a\n", "b\n", true],
    ["", "b\n", true],
    ["a\nb\n", "c\nd\n", true],
    ["a\nb\nc\n", "d\n", true],
    ["a\n", "", true],
    ["a\n", "b\nc\n", false],
    ["", "b\nc\n", false],
    ["a\nb\nc\n", "d\ne\nf\n", false],
    ["a\n", `${"x".repeat(101)}\n`, false],
  ];
  for (const [removed, added, does] of fits) assert.equal(fitsBeside(hunk(4, removed, added)), does, added);
});
