import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { frameOf } from "../src/core/messages.js";
import { locate } from "../src/core/paths.js";
import { Reviews } from "../src/core/review.js";
import { SessionState } from "../src/core/session.js";
import { modeOf, statusText } from "../src/core/status.js";
import {
  ALLOW_ONCE,
  ALLOW_SESSION,
  ALWAYS_ALLOW,
  ALWAYS_EVERYWHERE,
  ALWAYS_HERE,
  REJECT,
  PUT_BACK,
  KEEP,
  RUN_OUTSIDE,
  SAVE_AND_CONTINUE,
  decisionOf,
} from "../src/core/titles.js";
import { doing, lastWords, lasting, oneLine, ruleText, short, spent } from "../src/core/words.js";
import { Log } from "./events.js";

const NEXT = { model: "", permissionMode: undefined };

function asking(): SessionState {
  const session = new SessionState("ses_1");
  for (const event of new Log().asking().events) session.apply(event);
  return session;
}

test("the titles are those of the protocol", () => {
  const protocol = readFileSync("../../protocol/outrider_protocol/__init__.py", "utf8");
  const titles = [
    ALLOW_ONCE,
    ALLOW_SESSION,
    ALWAYS_ALLOW,
    ALWAYS_HERE,
    ALWAYS_EVERYWHERE,
    REJECT,
    RUN_OUTSIDE,
    PUT_BACK,
    KEEP,
  ];
  for (const title of [...titles, SAVE_AND_CONTINUE]) assert.ok(protocol.includes(`"${title}"`), title);
  assert.equal(decisionOf(ALLOW_ONCE), "allow_once");
  assert.equal(decisionOf(ALWAYS_ALLOW), "allow_always");
  assert.equal(decisionOf("Review…"), undefined);
});

test("a rule is shown as what it would allow", () => {
  assert.equal(ruleText({ tool: "run_command", command: "git diff" }), "run_command “git diff …”");
  assert.equal(ruleText({ tool: "run_command", command: "make", exact: true }), "run_command “make”");
  assert.equal(ruleText({ tool: "edit", path: "src/a.py" }), "edit src/a.py");
  assert.match(ruleText({ tool: "run_command", command: "./x.sh", script: "ab12" }), /its script as it is now$/);
});

test("the ids of the extension's commands are none of the server's", () => {
  const { contributes } = JSON.parse(readFileSync("package.json", "utf8")) as {
    contributes: { commands: { command: string }[] };
  };
  const schema = JSON.parse(readFileSync("../../protocol/schema.json", "utf8")) as {
    commands: Record<string, unknown>;
  };
  const own = contributes.commands.map(({ command }) => command);
  assert.ok(own.length > 20);
  assert.deepEqual(
    own.filter((command) => command in schema.commands),
    [],
  );
});

test("paths are found in one folder, in several, absolute and without a file", () => {
  const one = [{ name: "w", path: "/home/w" }];
  assert.deepEqual(locate("src/a.py", one), { kind: "file", path: "/home/w/src/a.py" });
  assert.deepEqual(locate("./x:y", one), { kind: "file", path: "/home/w/x:y" });
  assert.deepEqual(locate("/etc/hosts", one), { kind: "file", path: "/etc/hosts" });
  assert.deepEqual(locate("untitled:Untitled-1", one), { kind: "untitled", name: "Untitled-1" });
  const two = [...one, { name: "w", path: "/other/w" }];
  assert.deepEqual(locate("w-2/a.py", two), { kind: "file", path: "/other/w/a.py" });
  assert.deepEqual(locate("w/a.py", two), { kind: "file", path: "/home/w/a.py" });
  assert.equal(locate("a.py", []), undefined);
});

test("the status bar says what is going on, and calls when somebody is needed", () => {
  const session = new SessionState("ses_1");
  assert.match(statusText("failed", undefined, NEXT, []).tooltip, /not running/);
  assert.equal(statusText("running", undefined, NEXT, []).calls, false);
  assert.match(statusText("running", undefined, { ...NEXT, model: "my/model" }, []).text, /Outrider · model · ask$/);
  for (const event of new Log().asking().events.slice(0, 4)) session.apply(event);
  const running = statusText("running", session, NEXT, []);
  assert.deepEqual([running.running, running.calls], [true, false]);
  assert.match(running.text, /step 2 · model · ask · 0\.5000/);
  const waiting = statusText("running", asking(), NEXT, ["Edit a.py (+1 −1)"]);
  assert.deepEqual([waiting.calls, waiting.running], [true, true]);
  assert.match(waiting.tooltip, /Edit a\.py/);
  // What another session asks than the one that is looked at calls as well.
  const other = statusText("running", undefined, NEXT, ["Edit a.py (+1 −1)"]);
  assert.deepEqual([other.calls, other.running, other.text], [true, false, "$(bell-dot) Outrider needs you"]);
});

test("the mode is that of the running turn, and else that of the next", () => {
  const session = asking();
  assert.equal(modeOf(session, { model: "", permissionMode: "full" }), "ask");
  session.running = undefined;
  assert.equal(modeOf(session, { model: "", permissionMode: "full" }), "full");
  assert.equal(modeOf(undefined, NEXT), "ask");
});

test("the view gets what stands around the steps", () => {
  const frame = frameOf("running", asking(), NEXT, new Reviews());
  assert.deepEqual(
    [frame.title, frame.running, frame.model, frame.open[0]?.canReview],
    ["Fix it", true, "my/model", true],
  );
  assert.equal(frameOf("failed", undefined, { ...NEXT, model: "m" }, new Reviews()).model, "m");
});

test("numbers and times are said shortly", () => {
  assert.deepEqual([short(999), short(1234), short(12_345), short(1_200_000)], ["999", "1.2k", "12k", "1.2M"]);
  assert.equal(spent({ inputTokens: 1500, outputTokens: 20, cost: 0.01 }), "1.5k in, 20 out, cost 0.0100");
  assert.equal(spent({ inputTokens: 0, outputTokens: 0 }), "");
  assert.deepEqual([lasting(0.42), lasting(12.4), lasting(185)], ["0.4 s", "12 s", "3 min 5 s"]);
  assert.equal(oneLine("a\n  b", 10), "a b");
});

test("what a server printed last is quoted", () => {
  assert.equal(lastWords("Traceback\nValueError: no licence.\n\n"), " It said: ValueError: no licence.");
  assert.equal(lastWords("\n"), "");
});

test("the list of sessions says what each is at, and where", () => {
  const one = { sessionId: "ses_1", title: "", startedAt: "", lastAt: "", turns: 1 };
  assert.equal(doing({ ...one, state: "running", elsewhere: true }), "running in another window or editor");
  assert.equal(doing({ ...one, state: "parked" }), "needs you");
  assert.equal(doing({ ...one, state: "closed" }), "cut off");
  assert.equal(doing({ ...one, state: "closed", outcome: "budget_exhausted" }), "budget spent");
  assert.equal(doing({ ...one, state: "idle", turns: 0 }), "");
});

test("the status bar and what is said at it name the model, the mode and the cost", () => {
  assert.deepEqual(statusText("starting", undefined, NEXT, []), {
    text: "$(loading~spin) Outrider",
    tooltip: "The server is starting",
    calls: false,
    running: false,
  });
  assert.deepEqual(statusText("failed", undefined, NEXT, []), {
    text: "$(error) Outrider",
    tooltip: "The server is not running: something is wrong",
    calls: true,
    running: false,
  });
  assert.equal(
    statusText("running", undefined, NEXT, []).tooltip,
    "Idle\nModel: that of the settings file\nPermission: ask\nUsed: nothing yet",
  );
  const log = new Log();
  const session = new SessionState("ses_1");
  session.apply(log.add("turn.started", { prompt: "How?", mode: "plan", model: `my/${"m".repeat(25)}` }, "turn_1"));
  const planning = statusText("running", session, NEXT, []);
  assert.equal(planning.text, `$(loading~spin) Outrider: plan · step 1 · ${"m".repeat(23)}… · ask`);
  assert.match(planning.tooltip, /^How\?\nModel: my\/m{25}\n/);
  const open = ["Edit a.py", "Edit b.py"];
  const asked = statusText("running", session, NEXT, open);
  assert.equal(asked.text, "$(bell-dot) Outrider needs you (2)");
  assert.match(asked.tooltip, /^Edit a\.py\nModel: /);
});
