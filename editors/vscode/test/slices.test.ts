import assert from "node:assert/strict";
import { test } from "node:test";

import { MOST, type Slice, Slicer } from "../src/core/slices.js";

function slices(text: string): readonly Slice[] {
  const slicer = new Slicer();
  slicer.append(text);
  return slicer.slices;
}

/** Numbers that look random and are the same each time. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return Math.floor((state / 2147483648) * below);
  };
}

const LINES = [
  "# Head",
  "Some words of a paragraph.",
  "",
  "",
  "- one",
  "  - deep",
  "    text of it",
  "1. first",
  "> a quote",
  "```py",
  "```",
  "~~~",
  "| a | b |",
  "|---|---|",
  "| 1 | 2 |",
  "[name]: https://example.org",
  "    indented",
  "x".repeat(9000),
  "word ".repeat(2000),
  `${"  ".repeat(30)}- deeper`,
  `${">".repeat(40)} quoted`,
  "---",
  "\r",
  "`",
  "***",
];

test("nothing of a text is left out, and only code and plain text are longer than what is parsed at once", () => {
  for (let seed = 1; seed <= 150; seed++) {
    const random = numbers(seed);
    const text = Array.from({ length: 60 }, () => LINES[random(LINES.length)] ?? "").join("\n");
    const found = slices(text);
    const kept = found.map((one) => (one.kind === "code" ? `${one.info}${one.text}` : one.text)).join("");
    const letters = (all: string): string => all.replace(/[\s`~|-]/g, "");
    // The head of a table is said again where a table is cut; nothing else comes twice.
    assert.equal(letters(kept).replaceAll("ab", ""), letters(text).replaceAll("ab", ""), `seed ${String(seed)}`);
    for (const one of found) if (one.kind === "markdown") assert.ok(one.text.length < 2 * MOST, `seed ${String(seed)}`);
  }
});

test("however the text comes, the slices are the same, and those that are whole never change", () => {
  for (let seed = 1; seed <= 60; seed++) {
    const random = numbers(seed);
    const text = Array.from({ length: 40 }, () => LINES[random(LINES.length)] ?? "").join("\n");
    const slicer = new Slicer();
    let before: readonly Slice[] = [];
    for (let at = 0; at < text.length;) {
      const end = at + 1 + random(400);
      slicer.append(text.slice(at, end));
      at = end;
      const now = slicer.slices;
      const wholes = before.slice(0, -1);
      assert.deepEqual(now.slice(0, wholes.length), wholes, `seed ${String(seed)}`);
      before = now;
    }
    assert.deepEqual(before, slices(text), `seed ${String(seed)}`);
  }
});

test("code is a slice of its own, open until its end comes", () => {
  assert.deepEqual(slices("a\n```py\nx = 1\n"), [
    { kind: "markdown", text: "a\n" },
    { kind: "code", text: "x = 1", info: "py", isOpen: true },
  ]);
  assert.deepEqual(slices("```py\nx = 1\n```\nb"), [
    { kind: "code", text: "x = 1", info: "py", isOpen: false },
    { kind: "markdown", text: "b" },
  ]);
  assert.deepEqual(slices("````md\n```py\n```\n````"), [
    { kind: "code", text: "```py\n```", info: "md", isOpen: true },
  ]);
  assert.deepEqual(slices("- one\n  ```py\n  x\n  ```\n- two"), [
    { kind: "markdown", text: "- one\n  ```py\n  x\n  ```\n- two" },
  ]);
});

test("a long list is cut between its items, a long table has its head again, and deep lists stay as written", () => {
  const list = slices(Array.from({ length: 2000 }, (_, at) => `- item ${String(at)}`).join("\n"));
  assert.ok(list.length > 3);
  for (const { kind, text } of list) assert.ok(kind === "markdown" && /^- item \d+\n/.test(text));
  const table = slices(`| a | b |\n|---|---|\n${"| 1 | 2 |\n".repeat(2000)}`);
  assert.ok(table.length > 2);
  for (const { text } of table) assert.ok(text.startsWith("| a | b |\n|---|---|\n| 1 | 2 |"));
  const deep = slices(Array.from({ length: 300 }, (_, at) => `${"  ".repeat(at)}- level ${String(at)}`).join("\n"));
  assert.ok(deep.some(({ kind }) => kind === "plain"));
  assert.match(deep.map(({ text }) => text).join(""), /level 299/);
});

test("10 000 levels of lists in one line are no Markdown", () => {
  const [one] = slices("- ".repeat(2500));
  assert.equal(one?.kind, "plain");
  assert.equal(slices("> ".repeat(2500))[0]?.kind, "plain");
});

test("1 MB is cut in pieces in a time that grows with its length alone", () => {
  const time = (length: number): number => {
    const text = "Some `words` and [more](a.py).\n- item\n\n".repeat(length / 38);
    const before = process.cpuUsage();
    const slicer = new Slicer();
    for (let at = 0; at < text.length; at += 500) {
      slicer.append(text.slice(at, at + 500));
      if (at % 50_000 === 0) assert.ok(slicer.slices.length > 0);
    }
    const { user, system } = process.cpuUsage(before);
    return Math.max(5, (user + system) / 1000);
  };
  time(200_000);
  const best = (length: number): number => Math.min(...[1, 2, 3].map(() => time(length)));
  // Eight times the text; the square of that would be 64, and what the collector does in between is counted as well.
  assert.ok(best(1_600_000) < 40 * best(200_000));
});
