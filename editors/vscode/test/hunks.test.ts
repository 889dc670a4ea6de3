import assert from "node:assert/strict";
import { test } from "node:test";

import {
  asDiff,
  countsOf,
  decoded,
  placeBefore,
  placesAfter,
  putIn,
  withHunks,
  withMark,
  withoutHunks,
  withoutMark,
} from "../src/core/hunks.js";

const BEFORE = "a\nb\nc\nd\n";
const HUNKS = [
  { line: 2, removed: "b\n", added: "B\nB2\n" },
  { line: 4, removed: "", added: "new\n" },
];
const AFTER = "a\nB\nB2\nc\nnew\nd\n";

test("hunks are put in and taken out", () => {
  assert.equal(withHunks(BEFORE, HUNKS), AFTER);
  assert.equal(withoutHunks(AFTER, HUNKS), BEFORE);
});

test("hunks do not go into a text that is another one", () => {
  assert.equal(withHunks("a\nx\nc\nd\n", HUNKS), undefined);
});

test("hunks are found where they moved to, and not where they are gone", () => {
  assert.equal(withoutHunks(`# typed\n${AFTER}`, HUNKS), `# typed\n${BEFORE}`);
  assert.equal(withoutHunks(AFTER.replace("B2", "mine"), HUNKS), undefined);
});

test("line ends and a last line without one are kept", () => {
  const hunk = { line: 2, removed: "b", added: "B" };
  assert.equal(withHunks("a\r\nb", [hunk]), "a\r\nB");
  assert.equal(withoutHunks("a\r\nB", [hunk]), "a\r\nb");
});

test("a byte order mark, which no editor shows, is in the way of no hunk", () => {
  const hunks = [
    { line: 1, removed: "\ufeffa\n", added: "\ufeffA\n" },
    { line: 4, removed: "d\n", added: "D\n" },
  ];
  assert.equal(withHunks(BEFORE, hunks), "A\nb\nc\nD\n");
  assert.equal(withoutHunks("A\nb\nc\nD\n", hunks), BEFORE);
  const [first] = hunks;
  assert.ok(first !== undefined);
  assert.deepEqual(withoutMark(first), { line: 1, removed: "a\n", added: "A\n" });
  assert.equal(withMark("mine\n", first), "\ufeffmine\n");
  assert.equal(withMark("mine\n", { line: 4, removed: "d\n", added: "D\n" }), "mine\n");
});

test("a file is read as the server reads it: UTF-8, or UTF-16 with its mark", () => {
  assert.equal(decoded(new TextEncoder().encode("\ufeffä\n")), "ä\n");
  assert.equal(decoded(Uint8Array.of(0xff, 0xfe, 0xe4, 0, 0x0a, 0)), "ä\n");
  assert.equal(decoded(Uint8Array.of(0xfe, 0xff, 0, 0xe4, 0, 0x0a)), "ä\n");
  assert.equal(decoded(Uint8Array.of()), "");
});

test("hunks lie at their lines before and after", () => {
  assert.deepEqual(HUNKS.map(placeBefore), [
    { line: 1, count: 1 },
    { line: 3, count: 0 },
  ]);
  assert.deepEqual(placesAfter(HUNKS), [
    { line: 1, count: 2 },
    { line: 4, count: 1 },
  ]);
});

test("hunks are counted and shown as a diff", () => {
  assert.deepEqual(countsOf(HUNKS), { added: 3, removed: 1 });
  assert.equal(asDiff({ line: 1, removed: "x\r\n", added: "y\n" }), "-x\n+y");
});

test("hunks are taken out where those before them put them, in whichever order they are named", () => {
  const first = { line: 1, removed: "", added: "n\nn\n" };
  const second = { line: 2, removed: "x\n", added: "a\n" };
  for (const hunks of [
    [first, second],
    [second, first],
  ])
    assert.equal(withoutHunks("n\nn\na\na\na\n", hunks), "a\nx\na\n");
  assert.equal(withoutHunks("y\nq\n", [{ line: 3, removed: "x\n", added: "y\n" }]), "x\nq\n", "it moved up");
  assert.equal(withoutHunks("p\np\ny\n", [{ line: 1, removed: "x\n", added: "y\n" }]), "p\np\nx\n", "it moved down");
});

test("what a hunk puts in is shown as lines of a diff, of many the first", () => {
  assert.equal(putIn({ line: 1, removed: "x\n", added: "a\r\n\n  b" }, 3), "+a\n+\n+  b");
  assert.equal(putIn({ line: 1, removed: "", added: "a\nb\nc\nd\n" }, 2), "+a\n+b\n… 2 more in the diff");
});
