import assert from "node:assert/strict";
import { test } from "node:test";

import { placesAfter, withHunks } from "../src/core/hunks.js";
import { frameOf } from "../src/core/messages.js";
import { type ItemHunk, type Kept, Reviews, asDecided, hunksOf, nextOf } from "../src/core/review.js";
import { type OpenItem, SessionState } from "../src/core/session.js";
import type { EditProposed } from "../src/protocol/types.js";
import { Log } from "./events.js";

const TEXT = "a\nb\nc\nd\n";
const EDIT: EditProposed = {
  changeId: "chg_1",
  path: "a.py",
  hunks: [
    { line: 1, removed: "a\n", added: "A\nA\n" },
    { line: 3, removed: "c\n", added: "" },
  ],
};
const RENAME: EditProposed = { changeId: "chg_2", path: "b.py", operation: "rename", to: "c.py", hunks: [] };

function item(...proposals: EditProposed[]): OpenItem {
  return { id: "open_1", kind: "approval", turnId: "turn_1", title: "Edit", proposals };
}

function hunk(of: OpenItem, id: string): ItemHunk {
  const found = hunksOf(of).find((one) => one.id === id);
  assert.ok(found);
  return found;
}

test("hunks are numbered over all files, and a file that gets another name is one", () => {
  assert.deepEqual(
    hunksOf(item(EDIT, RENAME)).map(({ id, number, index }) => [id, number, index]),
    [
      ["chg_1#1", 1, 0],
      ["chg_1#2", 2, 1],
      ["chg_2#1", 3, 0],
    ],
  );
});

test("what is left out is named, and what nothing was said about is taken", () => {
  const [edit, reviews] = [item(EDIT, RENAME), new Reviews()];
  reviews.decide(edit, hunk(edit, "chg_1#2"), "reject", " it is needed ");
  assert.deepEqual(
    reviews.left(edit).map(({ id }) => id),
    ["chg_1#1", "chg_2#1"],
  );
  assert.equal(reviews.said(edit), "Of 3 hunks 0 taken, 1 left out, 2 open. Allow once takes what is open.");
  assert.deepEqual(reviews.answer(edit, "Nearly."), {
    id: "open_1",
    decision: "allow_once",
    review: [{ id: "chg_1#2", decision: "reject", reason: "it is needed" }],
    note: "Nearly.",
  });
});

test("a decision can be changed until all are made", () => {
  const [edit, reviews] = [item(EDIT), new Reviews()];
  reviews.decide(edit, hunk(edit, "chg_1#1"), "reject");
  reviews.decide(edit, hunk(edit, "chg_1#1"), "take");
  assert.equal(reviews.verdict(edit, hunk(edit, "chg_1#1")), "taken");
  assert.deepEqual(reviews.answer(edit), { id: "open_1", decision: "allow_once" });
});

test("a hunk that is rewritten is taken with the text of the user, unless it is left out", () => {
  const [edit, reviews] = [item(EDIT), new Reviews()];
  assert.equal(reviews.rewrite(edit, hunk(edit, "chg_1#1"), "mine\n"), true);
  assert.equal(reviews.rewrite(edit, hunk(edit, "chg_1#1"), "mine\n"), false);
  assert.equal(reviews.hasBegun("open_1"), true);
  assert.equal(
    reviews.said(edit),
    "Of 2 hunks 0 taken, 0 left out, 2 open; you rewrote 1. Allow once takes what is open.",
  );
  assert.equal(withHunks(TEXT, asDecided(reviews, edit, "chg_1")), "mine\nb\nd\n");
  const review = [{ id: "chg_1#1", decision: "take", text: "mine\n" }];
  assert.deepEqual(reviews.answer(edit), { id: "open_1", decision: "allow_once", review });
  reviews.decide(edit, hunk(edit, "chg_1#2"), "reject", "no");
  assert.deepEqual(reviews.answer(edit).review, [{ id: "chg_1#2", decision: "reject", reason: "no" }, ...review]);
  reviews.decide(edit, hunk(edit, "chg_1#1"), "reject");
  assert.equal(reviews.answer(edit).decision, "reject");
});

test("a text that is again what was proposed is none, whatever ends its lines", () => {
  const [edit, reviews] = [item(EDIT), new Reviews()];
  reviews.rewrite(edit, hunk(edit, "chg_1#1"), "mine\n");
  assert.equal(reviews.rewrite(edit, hunk(edit, "chg_1#1"), "A\r\nA\r\n"), true);
  assert.equal(reviews.hasBegun("open_1"), false);
  const one = item({ ...EDIT, hunks: EDIT.hunks.slice(0, 1) });
  reviews.rewrite(one, hunk(one, "chg_1#1"), "");
  assert.equal(reviews.said(one), "You rewrote it. Allow once takes it so.");
  assert.deepEqual(reviews.answer(one).review, [{ id: "chg_1#1", decision: "take", text: "" }]);
  // As the arrow of the diff does it.
  reviews.rewrite(one, hunk(one, "chg_1#1"), "a\r\n");
  assert.deepEqual(reviews.answer(one), { id: "open_1", decision: "reject" });
});

test("an edit of which nothing is left is rejected, with the reasons alone", () => {
  const [edit, reviews] = [item(EDIT), new Reviews()];
  reviews.decide(edit, hunk(edit, "chg_1#1"), "reject", "no");
  reviews.decide(edit, hunk(edit, "chg_1#2"), "reject");
  assert.deepEqual(reviews.answer(edit), {
    id: "open_1",
    decision: "reject",
    review: [{ id: "chg_1#1", decision: "reject", reason: "no" }],
  });
  const [one, others] = [item(RENAME), new Reviews()];
  others.decide(one, hunk(one, "chg_2#1"), "reject", "keep the name");
  assert.deepEqual(others.answer(one), { id: "open_1", decision: "reject", note: "keep the name" });
});

test("the diff shows a hunk that is left out as no change, at its place", () => {
  const [edit, reviews] = [item(EDIT), new Reviews()];
  reviews.decide(edit, hunk(edit, "chg_1#1"), "reject");
  const hunks = asDecided(reviews, edit, "chg_1");
  assert.equal(withHunks(TEXT, hunks), "a\nb\nd\n");
  assert.deepEqual(placesAfter(hunks), [
    { line: 0, count: 1 },
    { line: 2, count: 0 },
  ]);
});

test("the next hunk is looked for round and round", () => {
  const hunks = hunksOf(item(EDIT, RENAME));
  assert.equal(nextOf(hunks, undefined, 1)?.number, 1);
  assert.equal(nextOf(hunks, 1, 1)?.number, 2);
  assert.equal(nextOf(hunks, 3, 1)?.number, 1);
  assert.equal(nextOf(hunks, 1, -1)?.number, 3);
  assert.equal(nextOf([], 1, 1), undefined);
});

test("the view says what is decided, and an item that is answered is forgotten", () => {
  const session = new SessionState("ses_1");
  for (const event of new Log().asking().events) session.apply(event);
  const [open] = session.open.values();
  assert.ok(open);
  const reviews = new Reviews();
  assert.equal(frameOf("running", session, { model: "", permissionMode: undefined }, reviews).open[0]?.review, "");
  reviews.decide(open, hunk(open, "chg_1#1"), "reject");
  const frame = frameOf("running", session, { model: "", permissionMode: undefined }, reviews);
  assert.match(frame.open[0]?.review ?? "", /1 left out/);
  reviews.keepOnly(["open_1"]);
  reviews.keepOnly([]);
  assert.equal(reviews.hasBegun("open_1"), false);
});

test("what is decided is there again in the next window, until the item is answered", () => {
  let stored: string | undefined;
  const keep = (kept: readonly Kept[]): void => {
    stored = JSON.stringify(kept);
  };
  const edit = item(EDIT);
  const reviews = new Reviews([], keep);
  reviews.decide(edit, hunk(edit, "chg_1#1"), "reject", "no");
  reviews.rewrite(edit, hunk(edit, "chg_1#2"), "mine\n");
  const next = new Reviews(JSON.parse(stored ?? "") as Kept[], keep);
  next.keepOnly([]); // nothing is known yet of what is open
  assert.deepEqual(next.answer(edit), reviews.answer(edit));
  next.keepOnly(["open_1"]);
  next.keepOnly([]);
  assert.equal(stored, "[]");
});

test("a hunk that was rewritten and then left out is left out, and told of once", () => {
  const [edit, reviews] = [item(EDIT), new Reviews()];
  reviews.rewrite(edit, hunk(edit, "chg_1#1"), "mine\n");
  reviews.decide(edit, hunk(edit, "chg_1#1"), "reject", "  ");
  assert.equal(reviews.said(edit), "Of 2 hunks 0 taken, 1 left out, 1 open. Allow once takes what is open.");
  assert.deepEqual(reviews.answer(edit).review, [{ id: "chg_1#1", decision: "reject" }]);
});

test("a hunk that is rewritten to what stands there already is left out, but for a file that is made empty", () => {
  const [edit, reviews] = [item(EDIT), new Reviews()];
  reviews.rewrite(edit, hunk(edit, "chg_1#1"), "a\r");
  assert.deepEqual(reviews.answer(edit), {
    id: "open_1",
    decision: "allow_once",
    review: [{ id: "chg_1#1", decision: "reject" }],
  });
  const made = item({ ...EDIT, operation: "create", hunks: [{ line: 1, removed: "", added: "a\n" }] });
  reviews.rewrite(made, hunk(made, "chg_1#1"), "");
  assert.deepEqual(reviews.answer(made).review, [{ id: "chg_1#1", decision: "take", text: "" }]);
});

test("what makes or deletes a file is one hunk, with its lines", () => {
  const lines = { line: 1, removed: "", added: "a\n" };
  assert.deepEqual(
    hunksOf(item({ ...EDIT, operation: "create", hunks: [lines, lines] })).map((one) => one.hunk),
    [lines],
  );
  assert.deepEqual(
    hunksOf(item(RENAME)).map((one) => one.hunk),
    [{ line: 1, removed: "", added: "" }],
  );
});

test("each file of an edit is shown with its own hunks", () => {
  const other = { changeId: "chg_3", path: "d.py", hunks: [{ line: 2, removed: "b\n", added: "B\n" }] };
  assert.deepEqual(asDecided(new Reviews(), item(EDIT, other), "chg_3"), other.hunks);
});

test("who looks back where nothing is named begins at the last hunk", () => {
  assert.equal(nextOf(hunksOf(item(EDIT, RENAME)), undefined, -1)?.number, 3);
});

test("what is kept is what was decided last, of twenty items, and is written only where something changed", () => {
  const written: (readonly Kept[])[] = [];
  const reviews = new Reviews([], (kept) => written.push(kept));
  for (let number = 1; number <= 21; number++) {
    const one = { ...item(EDIT), id: `open_${String(number)}` };
    reviews.decide(one, hunk(one, "chg_1#1"), "take");
  }
  assert.deepEqual(
    [written.length, written.at(-1)?.length, written.at(-1)?.[0]?.id, written.at(-1)?.at(-1)?.id],
    [21, 20, "open_2", "open_21"],
  );
  const untouched = item(EDIT);
  reviews.keepOnly([...Array.from({ length: 21 }, (_, index) => `open_${String(index + 1)}`), "other"]);
  reviews.keepOnly(Array.from({ length: 21 }, (_, index) => `open_${String(index + 1)}`));
  assert.equal(written.length, 21, "nothing was decided about what is gone");
  assert.equal(reviews.hasBegun(untouched.id), true);
  const again = new Reviews(written.at(-1));
  assert.equal(again.hasBegun("open_21"), true);
  const empty = new Reviews([{ id: "open_1", decided: [], texts: [] }]);
  assert.equal(empty.hasBegun("open_1"), false);
});
