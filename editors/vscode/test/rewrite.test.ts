import assert from "node:assert/strict";
import { test } from "node:test";

import { withHunks } from "../src/core/hunks.js";
import { type Shown, rewritten } from "../src/core/rewrite.js";

const BEFORE = "a\nb\n\nc\n\nd\n";
const HUNKS: Shown[] = [
  { hunk: { line: 2, removed: "b\n", added: "B\n" }, isFree: true },
  { hunk: { line: 4, removed: "", added: "new\n" }, isFree: true },
  { hunk: { line: 6, removed: "d\n", added: "" }, isFree: true },
];
const NOW = "a\nB\n\nnew\nc\n\n";

test("what nobody touched is as it was proposed", () => {
  assert.equal(
    withHunks(
      BEFORE,
      HUNKS.map(({ hunk }) => hunk),
    ),
    NOW,
  );
  assert.deepEqual(rewritten(BEFORE, HUNKS, NOW), ["B\n", "new\n", ""]);
});

test("lines written in a hunk, before it, behind it, or where it only takes away are its text", () => {
  assert.deepEqual(rewritten(BEFORE, HUNKS, NOW.replace("B\n", "one\ntwo\n")), ["one\ntwo\n", "new\n", ""]);
  assert.deepEqual(rewritten(BEFORE, HUNKS, NOW.replace("B\n", "# why\nB\n# because\n")), [
    "# why\nB\n# because\n",
    "new\n",
    "",
  ]);
  assert.deepEqual(rewritten(BEFORE, HUNKS, `${NOW}D\n`), ["B\n", "new\n", "D\n"]);
});

test("a hunk can be emptied", () => {
  assert.deepEqual(rewritten(BEFORE, HUNKS, NOW.replace("new\n", "")), ["B\n", "", ""]);
});

test("a change of any other line is no part of the edit", () => {
  for (const other of [
    NOW.replace("a\n", "A\n"),
    NOW.replace("c\n", ""),
    `# mine\n${NOW}`,
    NOW.replace("c\n", "c \n"),
    "",
  ])
    assert.equal(rewritten(BEFORE, HUNKS, other), undefined, JSON.stringify(other));
});

test("a hunk that is left out holds still", () => {
  const [first, second, third] = HUNKS;
  assert.ok(first && second && third);
  const out: Shown[] = [first, { hunk: { ...second.hunk, added: second.hunk.removed }, isFree: false }, third];
  const shown = "a\nB\n\nc\n\n";
  assert.deepEqual(rewritten(BEFORE, out, shown.replace("B", "X")), ["X\n", ""]);
  assert.equal(rewritten(BEFORE, out, shown.replace("\nc", "\nnew\nc")), undefined);
});

test("lines between hunks that stand in a hunk as well are found where the whole fits", () => {
  const hunks: Shown[] = [
    { hunk: { line: 1, removed: "", added: "x\n" }, isFree: true },
    { hunk: { line: 2, removed: "", added: "y\n" }, isFree: true },
  ];
  assert.deepEqual(rewritten("\nz\n", hunks, "x\n\ny\nz\n"), ["x\n", "y\n"]);
  const texts = rewritten("\nz\n", hunks, "x\n\nx2\n\n\ny\nz\n");
  assert.ok(texts);
  assert.equal(`${texts.join("\n")}z\n`, "x\n\nx2\n\n\ny\nz\n");
});

test("line ends are those of the text, and are no change", () => {
  const crlf = (text: string): string => text.replaceAll("\n", "\r\n");
  assert.deepEqual(rewritten(crlf(BEFORE), HUNKS, crlf(NOW).replace("B", "X")), ["X\r\n", "new\r\n", ""]);
});

test("an end of the text without a line end can be rewritten, and a file that is made as a whole", () => {
  const end: Shown[] = [{ hunk: { line: 2, removed: "b", added: "B" }, isFree: true }];
  assert.deepEqual(rewritten("a\nb", end, "a\nB\nC"), ["B\nC"]);
  assert.deepEqual(rewritten("", [{ hunk: { line: 1, removed: "", added: "x\n" }, isFree: true }], "y\nz\n"), [
    "y\nz\n",
  ]);
  assert.deepEqual(rewritten("a\n", [], "a\n"), []);
  assert.equal(rewritten("a\n", [], "a\nb\n"), undefined);
});

test("a long text with many hunks is found again at once", () => {
  const lines = Array.from({ length: 50_000 }, (_, at) => (at % 3 === 0 ? "" : `line ${String(at % 7)}`));
  const before = `${lines.join("\n")}\n`;
  const hunks: Shown[] = Array.from({ length: 400 }, (_, at) => ({
    hunk: { line: at * 100 + 1, removed: "", added: "put\n" },
    isFree: true,
  }));
  const now = withHunks(
    before,
    hunks.map(({ hunk }) => hunk),
  );
  assert.ok(now !== undefined);
  const began = performance.now();
  const texts = rewritten(before, hunks, now.replace("put\n", "mine\nand more\n"));
  assert.deepEqual([texts?.length, texts?.[0], texts?.[1]], [400, "mine\nand more\n", "put\n"]);
  assert.equal(rewritten(before, hunks, now.replace("line 1\n", "line one\n")), undefined);
  assert.ok(performance.now() - began < 2000);
});

test("of places that are alike the nearest to where the lines were is taken, before and behind it", () => {
  const shown = (added: string): Shown[] => [
    { hunk: { line: 1, removed: "x\n", added }, isFree: true },
    { hunk: { line: 3, removed: "y\n", added: "C\n" }, isFree: true },
  ];
  const texts = (now: string): string[] | undefined => rewritten("x\nm\ny\n", shown("A\nA\n"), now);
  assert.deepEqual(texts("A\nA\nm\nm\nC\n"), ["A\nA\n", "m\nC\n"], "right there");
  assert.deepEqual(texts("A\nm\nB\nB\nm\nC\n"), ["A\n", "B\nB\nm\nC\n"], "before it");
  assert.deepEqual(texts("A\nA\nA\nm\nB\nB\nm\nC\n"), ["A\nA\nA\n", "B\nB\nm\nC\n"], "behind it");
  assert.deepEqual(texts("m\nC\n"), ["", "C\n"], "at the very beginning");
  assert.deepEqual(texts("A\r\nm\r\nC\r\n"), ["A\r\n", "C\r\n"], "with other line ends");
  assert.equal(texts("A\nC\n"), undefined, "nowhere");
});
