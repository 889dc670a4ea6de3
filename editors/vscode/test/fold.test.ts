import assert from "node:assert/strict";
import { test } from "node:test";

import { byFile } from "../src/core/changes.js";
import type { Entry } from "../src/core/entries.js";
import { OUTPUT_KEPT, SessionState, aboutOf, canReview, diffsOf } from "../src/core/session.js";
import type { EditProposed, EventData } from "../src/protocol/types.js";
import { Log, requested } from "./events.js";

/** A session that takes its events one by one, as the server tells them. */
class Live {
  readonly log = new Log();
  readonly session = new SessionState(this.log.sessionId);

  take<T extends keyof EventData>(type: T, data: EventData[T], turnId: string | undefined = "turn_1"): this {
    this.session.apply(this.log.add(type, data, turnId));
    return this;
  }

  asking(): this {
    for (const event of this.log.asking().events) this.session.apply(event);
    return this;
  }

  entry<K extends Entry["kind"]>(kind: K, key: string): Extract<Entry, { kind: K }> {
    const entry = this.session.entry(key);
    assert.equal(entry?.kind, kind);
    return entry as Extract<Entry, { kind: K }>;
  }

  /** What the notes say, with their levels. */
  get notes(): string[] {
    return this.session.entries.flatMap((one) => (one.kind === "note" ? [`${one.level}: ${one.text}`] : []));
  }
}

const STARTED = { prompt: "Fix it", mode: "agent", model: "my/model" } as const;

test("what happens beside the steps has a line each, as serious as it is", () => {
  const live = new Live().take("turn.started", STARTED);
  const message = { messageId: "m" };
  live
    .take("settings.changed", { permissionMode: "read-only" })
    .take("model.failed", { ...message, kind: "connection", purpose: "main", message: "no route" })
    .take("model.retried", { ...message, model: "a/b", attempt: 2, reason: "rate_limit" })
    .take("model.fellBack", { ...message, from: "a/b", to: "c/d", reason: "overloaded" })
    .take("model.switched", { ...message, model: "a/b", reason: "unread_calls", toolFormat: "hermes" })
    .take("model.switched", { ...message, model: "a/b", reason: "no_tools", toolFormat: "hermes" })
    .take("steering.received", { pendingId: "p1", text: "in coins" })
    .take("steering.received", { pendingId: "p2", text: "in notes", state: "removed" })
    .take("context.compacted", { before: 9, after: 3, reason: "too_long" })
    .take("budget.exhausted", { limit: "steps", allowed: 3, used: 3 })
    .take("job.started", { callId: "c", jobId: "j", command: "npm start", cwd: "/w", sandboxed: true })
    .take("job.finished", { jobId: "j", status: "killed_idle" })
    .take("job.finished", { jobId: "other", status: "exited", exitCode: 0 })
    .take("error", { code: "x", message: "the disk is full" });
  assert.deepEqual(live.notes, [
    "info: The permission mode is read-only from now on.",
    "warning: The model gave no answer: no route",
    "info: Asked a/b again: rate limit.",
    "warning: Went on with c/d in place of a/b.",
    "info: a/b wrote tool calls that were not recognised: its calls are text.",
    "info: a/b does not support tools: its calls are text.",
    "info: You said: in coins",
    "info: Older messages were replaced by a summary.",
    "warning: The budget steps is spent.",
    "info: Runs in the background: npm start",
    "info: Ended in the background (killed idle): npm start",
    "info: Ended in the background (code 0): other",
    "error: the disk is full",
  ]);
});

test("the permission mode is that of the start, of a change, and of the log that is opened again", () => {
  const live = new Live().take("session.started", { folders: [], permissionMode: "auto-edit", version: "0" });
  assert.equal(live.session.permissionMode, "auto-edit");
  assert.equal(live.take("settings.changed", { permissionMode: "ask" }).session.permissionMode, "ask");
  live.take("session.restored", { folders: [], permissionMode: "full" });
  assert.equal(live.session.permissionMode, "full");
});

test("a task that waits says so, and its heading stands where its work begins", () => {
  const live = new Live().take("turn.started", STARTED);
  live.take("turn.queued", { ...STARTED, prompt: "And the\u202e tests" }, "turn_2");
  assert.equal(live.session.running?.turnId, "turn_1");
  assert.deepEqual([...live.session.queued], ["turn_2"]);
  assert.deepEqual(live.session.waiting, [{ id: "turn_2", kind: "task", text: "And the\u202e tests" }]);
  live.take("turn.finished", { outcome: "completed", reason: "stop", summary: "", usage: {} });
  live.take("turn.started", { ...STARTED, prompt: "And the tests" }, "turn_2");
  assert.deepEqual(
    live.session.entries.map(({ kind }) => kind),
    ["task", "end", "task"],
  );
  assert.deepEqual(live.session.waiting, []);
  assert.deepEqual(live.entry("task", "task:turn_2"), {
    kind: "task",
    key: "task:turn_2",
    prompt: "And the tests",
    mode: "agent",
    model: "my/model",
  });
  assert.deepEqual(live.session.running, {
    turnId: "turn_2",
    mode: "agent",
    model: "my/model",
    parked: false,
    steps: 0,
    began: live.session.running.began,
  });
});

test("the output of a call grows as it comes, to a bound, and only that of calls", () => {
  const live = new Live().asking();
  const frame = { sessionId: "ses_1", turnId: "turn_1", kind: "output" as const, offset: 0 };
  const watched = live.session.watch();
  live.session.stream({ ...frame, callId: "c1", text: "12 " });
  live.session.stream({ ...frame, callId: "c1", text: "passed" });
  assert.equal(live.entry("call", "call:c1").output, "12 passed");
  assert.deepEqual(watched.take(), ["call:c1"]);
  live.session.stream({ ...frame, callId: "c1", text: "x".repeat(OUTPUT_KEPT) });
  assert.equal(live.entry("call", "call:c1").output, "x".repeat(OUTPUT_KEPT));
  live.session.stream({ ...frame, callId: "nobody", text: "lost" });
  assert.equal(live.session.entry("call:nobody"), undefined);
});

test("thoughts and text grow apart, and the steps are counted by the answers to the task alone", () => {
  const live = new Live().take("turn.started", STARTED).take("model.requested", requested("m"));
  const frame = { sessionId: "ses_1", turnId: "turn_1", messageId: "m", offset: 0 };
  const watched = live.session.watch();
  live.session.stream({ ...frame, kind: "reasoning", text: "Hm." });
  live.session.stream({ ...frame, kind: "text", text: "Yes" });
  assert.deepEqual(watched.take(), ["answer:m"]);
  live.session.stream({ ...frame, kind: "text", text: ", yes" });
  assert.deepEqual(watched.take(), ["answer:m"], "each time anew");
  const answer = live.entry("answer", "answer:m");
  assert.deepEqual([answer.reasoning.text, answer.text.text, answer.done], ["Hm.", "Yes, yes", false]);
  const said = { messageId: "m", text: "Yes.", toolCalls: [], finishReason: "stop" };
  live.take("model.responded", { ...said, reasoning: "Hm. So." });
  assert.deepEqual([answer.reasoning.text, answer.text.text, answer.done], ["Hm. So.", "Yes.", true]);
  live.take("model.responded", { ...said, messageId: "t", purpose: "compaction", usage: { inputTokens: 4 } });
  assert.equal(live.session.entry("answer:t"), undefined);
  assert.deepEqual([live.session.running?.steps, live.session.usage.inputTokens], [1, 4]);
});

test("the server is at work as long as a turn runs and nobody is asked", () => {
  const live = new Live();
  assert.equal(live.session.isAtWork, false);
  live.take("turn.started", STARTED);
  assert.equal(live.session.isAtWork, true);
  live.take("turn.parked", { open: [] });
  assert.deepEqual([live.session.isAtWork, live.session.running?.parked], [false, true]);
  live.take("turn.resumed", { id: "open_1" });
  assert.deepEqual([live.session.isAtWork, live.session.running?.parked], [true, false]);
  live.take("question.asked", { id: "q", question: "Which?" });
  assert.equal(live.session.isAtWork, false);
  live.take("question.answered", { id: "q", answer: "Both" });
  assert.equal(live.session.isAtWork, true);
  live.session.away = "elsewhere";
  assert.equal(live.session.isAtWork, false);
});

test("a question is open with its options until it is answered, and the result of a tool likewise", () => {
  const live = new Live().take("turn.started", STARTED);
  live.take("question.asked", {
    id: "q1",
    question: "Which\u202e?",
    options: ["Euro"],
    callId: "c",
    allowFreeForm: false,
  });
  live.take("question.asked", { id: "q2", question: "Why?" });
  assert.deepEqual(
    [...live.session.open.values()],
    [
      {
        id: "q1",
        kind: "question",
        turnId: "turn_1",
        title: "Which\\u202e?",
        options: ["Euro"],
        allowFreeForm: false,
        proposals: [],
        callId: "c",
      },
      { id: "q2", kind: "question", turnId: "turn_1", title: "Why?", options: [], allowFreeForm: true, proposals: [] },
    ],
  );
  live.take("question.answered", { id: "q1", answer: "Euro" });
  live.take("turn.parked", {
    open: [{ id: "t1", kind: "tool", turnId: "turn_1", title: "Look it up", detail: "a\u202eb" }],
  });
  assert.deepEqual([...live.session.open.keys()], ["q2", "t1"]);
  assert.equal(live.session.open.get("t1")?.detail, "a\\u202eb");
  live.take("tool.answered", { id: "t1", callId: "c", content: "found", status: "ok" });
  assert.deepEqual([...live.session.open.keys()], ["q2"]);
  assert.deepEqual(live.notes, ["info: You answered: Euro"]);
});

test("an answer of the user is told with their words, and what holds for the session is kept", () => {
  const answer = { id: "open_1", callId: "c1" } as const;
  const said = (data: Omit<EventData["approval.resolved"], "id" | "callId">): [string[], readonly string[]] => {
    const live = new Live().asking().take("approval.resolved", { ...answer, ...data });
    assert.equal(live.session.open.size, 0);
    return [live.notes, live.session.grants];
  };
  assert.deepEqual(said({ decision: "allow_session", by: "person", grant: "edit:file:///w/a.py" }), [
    ["info: Allowed for this session: Edit a.py"],
    ["edit:file:///w/a.py"],
  ]);
  assert.deepEqual(said({ decision: "allow_session", by: "person" })[1], ["open_1"]);
  assert.deepEqual(said({ decision: "allow_always", by: "person" }), [["info: Always allowed: Edit a.py"], []]);
  assert.deepEqual(said({ decision: "choose", by: "person" })[0], ["info: To be chosen in the editor: Edit a.py"]);
  const review = [{ id: "chg_1#1", decision: "reject" as const }];
  assert.deepEqual(said({ decision: "reject", by: "person", note: "No.", review })[0], [
    "info: Rejected: Edit a.py: No.",
  ]);
  const own = [{ id: "chg_1#1", decision: "take" as const, text: "z\n" }];
  assert.deepEqual(said({ decision: "allow_once", by: "person", review: own })[0], ["info: Allowed: Edit a.py"]);
  assert.deepEqual(said({ decision: "allow_session", by: "rule" }), [[], []]);
});

test("an approval keeps its rules and its detail when the turn is parked, and takes what that tells anew", () => {
  const live = new Live().asking();
  live.take("approval.requested", {
    id: "open_2",
    callId: "c2",
    digest: "d",
    title: "Run: npm test",
    detail: "in /w",
    options: ["Always allow…"],
    always: [{ tool: "run_command", command: "npm test" }],
  });
  assert.deepEqual(live.session.open.get("open_2")?.always, [{ tool: "run_command", command: "npm test" }]);
  assert.equal("always" in (live.session.open.get("open_1") ?? {}), false);
  const item = { kind: "approval", turnId: "turn_1", title: "Run: npm\u200btest" } as const;
  live.take("turn.parked", { open: [{ ...item, id: "open_2" }] });
  assert.deepEqual(
    [live.session.open.get("open_2")?.detail, live.session.open.get("open_2")?.title],
    ["in /w", "Run: npm\\u200btest"],
  );
  live.take("turn.parked", { open: [{ ...item, id: "open_2", detail: "in /v" }] });
  assert.equal(live.session.open.get("open_2")?.detail, "in /v");
});

test("a change has its file and its lines, also one that was merged or gives a file another name", () => {
  const live = new Live();
  const hunks = [{ line: 1, removed: "x\n", added: "y\nz\n" }];
  live.take("edit.applied", { changeId: "chg_1", path: "a.py", hunks, where: "buffer" });
  live.take("edit.merged", { changeId: "chg_2", path: "b.py", hunks, operation: "create" });
  live.take("edit.applied", {
    changeId: "chg_3",
    path: "b.py",
    to: "c.py",
    hunks: [],
    operation: "rename",
    where: "disk",
  });
  const lines = { added: 2, removed: 1, undone: false };
  assert.deepEqual(live.session.entries, [
    { kind: "edit", key: "edit:chg_1", path: "a.py", operation: "edit", ...lines, merged: false },
    { kind: "edit", key: "edit:chg_2", path: "b.py", operation: "create", ...lines, merged: true },
    {
      kind: "edit",
      key: "edit:chg_3",
      path: "c.py",
      operation: "rename",
      added: 0,
      removed: 0,
      undone: false,
      merged: false,
    },
  ]);
  const watched = live.session.watch();
  live.take("edit.applied", { changeId: "chg_4", path: "a.py", hunks, undoes: "chg_1", where: "buffer" });
  assert.deepEqual(watched.take(), ["edit:chg_1"]);
  live.take("edit.applied", { changeId: "chg_5", path: "x.py", hunks, undoes: "of a log that is gone", where: "disk" });
  assert.equal(live.session.entries.length, 3);
  assert.deepEqual(live.session.changes.touched, ["a.py", "b.py"]);
});

test("the end of a turn says how long it took, and ends only what was its own", () => {
  const live = new Live().asking();
  const usage = { inputTokens: 5 };
  const end = { outcome: "failed", reason: "auth", summary: "", usage } as const;
  live.take("turn.finished", end, "turn_0");
  assert.equal(live.entry("end", "end:turn_0").seconds, 0);
  assert.deepEqual([live.session.running?.turnId, live.session.open.size], ["turn_1", 1]);
  live.take("turn.finished", end);
  assert.deepEqual(live.entry("end", "end:turn_1"), {
    kind: "end",
    key: "end:turn_1",
    outcome: "failed",
    reason: "auth",
    done: "",
    mark: "bad",
    failed: [],
    failures: [],
    usage,
    seconds: 6,
  });
});

test("a call that was told of is waiting, then runs, and has no time where it never began", () => {
  const live = new Live().asking();
  assert.deepEqual(live.entry("call", "call:c1"), {
    kind: "call",
    key: "call:c1",
    name: "edit_file",
    about: "a.py",
    status: "asked",
    output: "",
  });
  live.take("tool.requested", { callId: "c2", name: "search", input: { pattern: "x" } });
  live.take("tool.started", { callId: "c1" });
  assert.equal(live.entry("call", "call:c1").status, "running");
  live.take("tool.finished", { callId: "c2", name: "search", status: "denied", content: "no" });
  assert.deepEqual(
    [live.entry("call", "call:c2").seconds, live.entry("call", "call:c2").output, live.entry("call", "call:c2").status],
    [undefined, "no", "denied"],
  );
});

test("the plan is the latest", () => {
  const live = new Live().take("plan.updated", { items: [{ text: "Look" }] });
  live.take("plan.updated", { items: [{ text: "Look", status: "done" }] });
  assert.deepEqual(live.session.plan, [{ text: "Look", status: "done" }]);
});

test("a long title is cut", () => {
  const live = new Live().take("turn.started", { ...STARTED, prompt: "x".repeat(90) });
  assert.equal(live.session.title, `${"x".repeat(79)}…`);
  live.take("session.titled", { model: "my/small", title: "y".repeat(90) });
  assert.equal(live.session.title, `${"y".repeat(79)}…`);
});

test("a diff shows what is more than a name, and a document of the server the rest", () => {
  const change = { changeId: "chg_1", path: "a.py", hunks: [] };
  const renamed: EditProposed = { ...change, operation: "rename", to: "b.py" };
  const item = { id: "open_1", kind: "approval", turnId: "t", title: "Edit", proposals: [renamed] } as const;
  assert.deepEqual(diffsOf({ proposals: [renamed, change] }), [change]);
  assert.equal(canReview(item), false);
  assert.equal(canReview({ ...item, options: ["Allow once", "Review…"] }), true);
  assert.equal(canReview({ ...item, proposals: [change] }), true);
});

test("a call is about the first of what it is given that says it", () => {
  assert.equal(aboutOf({ path: "a.py", pattern: "x" }), "a.py");
  assert.equal(aboutOf({ limit: 3, from: "a.py", question: "Why?" }), "a.py");
  assert.equal(aboutOf({ question: `Wh\u202ey${"?".repeat(300)}` }), `Wh\\u202ey${"?".repeat(195)}…`);
  assert.equal(aboutOf({ path: 3 }), "");
  assert.equal(aboutOf(null), "");
});

test("what was changed is listed by the names that files have now, each once", () => {
  const live = new Live();
  const hunks = [{ line: 1, removed: "x\n", added: "y\n" }];
  const take = (changeId: string, data: Partial<EventData["edit.applied"]> & { path: string }): Live =>
    live.take("edit.applied", { changeId, hunks, where: "buffer", ...data });
  take("chg_1", { path: "a.py" });
  take("chg_2", { path: "d.py" });
  take("chg_3", { path: "a.py", to: "b.py", operation: "rename", hunks: [] });
  take("chg_4", { path: "b.py" });
  take("chg_5", { path: "a.py", operation: "create" });
  assert.deepEqual(
    byFile(live.session.changes.inPlace).map(({ path, before, changes }) => [
      path,
      before,
      changes.map(({ changeId }) => changeId),
    ]),
    [
      ["d.py", "d.py", ["chg_2"]],
      ["b.py", "a.py", ["chg_1", "chg_3", "chg_4"]],
      ["a.py", "a.py", ["chg_5"]],
    ],
  );
});

test("the changes of a command are listed and can be undone; those of others are not", () => {
  const live = new Live();
  const take = (path: string, data: Partial<EventData["workspace.changed"]>): Live =>
    live.take("workspace.changed", { path, hunks: [{ line: 1, removed: "x\n", added: "y\n" }], ...data });
  const by = { by: "command", callId: "c" } as const;
  take("check.py", { ...by, changeId: "chg_1", before: "a", after: "b" });
  take("made.txt", { ...by, changeId: "chg_2", after: "b", hunks: [{ line: 1, removed: "", added: "y\n" }] });
  take("old.txt", { ...by, changeId: "chg_3", before: "a", hunks: [{ line: 1, removed: "x\n", added: "" }] });
  take("unsure.txt", { ...by, before: "a", after: "b", unsure: true });
  take("mine.txt", { by: "editor", before: "a", after: "b" });
  const listed = (): string[] =>
    byFile(live.session.changes.inPlace).map(({ path, changes }) => `${path}: ${String(changes[0]?.operation)}`);
  assert.deepEqual(listed(), ["check.py: edit", "made.txt: create", "old.txt: delete"]);
  assert.deepEqual(live.session.changes.touched, [], "no buffer was written in");
  const shown = live.session.entries.flatMap((one) => (one.kind === "edit" ? [`${one.operation} ${one.path}`] : []));
  assert.deepEqual(shown, ["edit check.py", "create made.txt", "delete old.txt"]);

  live.take("edit.applied", {
    changeId: "chg_4",
    path: "old.txt",
    operation: "create",
    hunks: [{ line: 1, removed: "", added: "x\n" }],
    where: "disk",
    undoes: "chg_3",
  });
  assert.deepEqual(listed(), ["check.py: edit", "made.txt: create"]);
  assert.equal(live.entry("edit", "edit:chg_3").undone, true);
});

test("an answer that is withdrawn is empty, and what it cost before it failed or was stopped counts", () => {
  const live = new Live().take("turn.started", STARTED).take("model.requested", requested("m"));
  const frame = { sessionId: "ses_1", turnId: "turn_1", messageId: "m", offset: 0 };
  live.session.stream({ ...frame, kind: "reasoning", text: "Hm." });
  const watched = live.session.watch();
  live.take("model.reset", { messageId: "m", text: "", reason: "cut_stream" });
  assert.equal(live.entry("answer", "answer:m").reasoning.text, "");
  assert.deepEqual(watched.take(), ["answer:m"]);
  const failed = { messageId: "m", kind: "auth", purpose: "main", message: "no" };
  live.take("model.failed", { ...failed, usage: { inputTokens: 3, cost: 0.5 } });
  assert.deepEqual(live.session.usage, { inputTokens: 3, outputTokens: 0, cost: 0.5 });
  const stopped = { messageId: "s", text: "", toolCalls: [], finishReason: "cancelled" };
  live.take("model.responded", stopped);
  assert.equal(live.session.usage.cost, 0.5, "nothing had come of it");
  live.take("model.responded", { ...stopped, finishReason: "stop", text: "Yes." });
  assert.equal(live.session.usage.cost, 0.5, "what says nothing of its cost is no request");
});

test("what was decided about the edits of one step is one line, and what had a reason is one of its own", () => {
  const live = new Live().take("turn.started", STARTED);
  for (const path of ["a.py", "b.py", "c.py"])
    live.take("approval.requested", {
      id: `open_${path}`,
      callId: path,
      digest: "d",
      title: `Edit ${path} (+1 −1)`,
      detail: "",
      options: ["Allow once", "Reject"],
      group: "g",
    });
  const by = { decision: "allow_once", by: "person" } as const;
  for (const path of ["a.py", "b.py"]) live.take("approval.resolved", { id: `open_${path}`, callId: path, ...by });
  const no = { decision: "reject", by: "person", note: "Not that." } as const;
  live.take("approval.resolved", { id: "open_c.py", callId: "c.py", ...no });
  assert.deepEqual(live.notes, ["info: Allowed: Edit a.py, b.py", "info: Rejected: Edit c.py: Not that."]);
});

test("a question that was not asked again shows what counts, and one over the limit that it was not asked", () => {
  const live = new Live().take("turn.started", STARTED);
  for (const callId of ["c1", "c2", "c3"])
    live.take("tool.requested", { callId, name: "ask_user", input: { question: "Which\u202e?" } });
  const told = {
    name: "ask_user",
    content: "Euro\n[The user answered this question before, and was not asked again.]",
  };
  const recalled = { question: "Which\u202e?", answer: "Euro" };
  live.take("tool.finished", { callId: "c1", status: "ok", ...told, recalled });
  const most =
    "Not asked: this turn has asked the user 3 questions, which is the most it may. Assume what is most likely.";
  live.take("tool.finished", { callId: "c2", name: "ask_user", status: "error", content: most });
  live.take("tool.finished", { callId: "c3", name: "ask_user", status: "error", content: "no such option" });
  assert.deepEqual(live.notes, [
    "info: Which\\u202e? – answered as before: Euro",
    "info: Which\\u202e? – not asked: the limit of questions is reached",
  ]);
  assert.equal(live.entry("call", "call:c3").status, "error");
});

test("a plan that is started is told by its title and its document, also where another turn goes on with it", () => {
  const live = new Live();
  const planDocument = ".outrider/plans/price.md";
  const prompt = `Carry out the plan in ${planDocument}: Fix the price\n\nThe steps, which the user has approved.`;
  live.take("turn.started", { ...STARTED, prompt, planDocument, plan: [{ text: "Look" }] });
  assert.deepEqual(
    [live.entry("task", "task:turn_1").prompt, live.entry("task", "task:turn_1").planDocument, live.session.title],
    ["Start plan: Fix the price", planDocument, "Start plan: Fix the price"],
  );
  live.take("turn.finished", { outcome: "cancelled", reason: "cancelled", summary: "", usage: {} });
  live.take("turn.queued", { ...STARTED, prompt, continues: "turn_1" }, "turn_2");
  assert.deepEqual(live.session.waiting, [{ id: "turn_2", kind: "task", text: "Start plan: Fix the price" }]);
  live.take("turn.started", { ...STARTED, prompt, continues: "turn_1" }, "turn_2");
  assert.equal(live.entry("task", "task:turn_2").planDocument, planDocument);
});

test("the end of a turn has the places that failed checks named, of those that were run last", () => {
  const live = new Live().take("turn.started", STARTED);
  const failures = [{ path: "a.py", line: 3, message: "two is not three" }];
  const ran = { kind: "test", command: "pytest", exitCode: 1 } as const;
  const call = { callId: "c", name: "run_command", status: "ok", content: "" } as const;
  live.take("tool.finished", { ...call, ran: { ...ran, failures } });
  live.take("tool.finished", { ...call, ran: { ...ran, kind: "lint", command: "ruff", failures } });
  live.take("tool.finished", { ...call, ran: { ...ran, kind: "lint", command: "ruff", exitCode: 0 } });
  const run = { kind: "test", exitCode: 1, ok: false, seconds: 1, stale: false } as const;
  const checks = [
    { ...run, command: "pytest" },
    { ...run, command: "ruff", ok: true },
    { ...run, command: "mypy", stale: true },
  ];
  const done = { state: "check_failed", line: "check failed: `pytest` (exit code 1)", checks } as const;
  const end = {
    outcome: "completed",
    reason: "check_failed",
    summary: "",
    usage: {},
    done: { ...done, checks },
  } as const;
  live.take("turn.finished", end);
  const { mark, failed, failures: shown } = live.entry("end", "end:turn_1");
  assert.deepEqual([mark, failed, shown], ["check_failed", ["pytest"], failures]);
});
