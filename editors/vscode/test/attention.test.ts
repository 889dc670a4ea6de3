import assert from "node:assert/strict";
import { test } from "node:test";

import { Attention, type Notification, type Wanted, notificationOf, show, showerOf } from "../src/core/attention.js";

/** A window that is looked at or not, and what its system was asked to show. */
function window(wanted: Wanted = "waitingAndDone") {
  const shown: Notification[] = [];
  const timers: (() => void)[] = [];
  const now = { isSeen: false, open: new Set(["q1", "q2"]) };
  const attention = new Attention(
    (act) => timers.push(act),
    () => now.isSeen,
    () => wanted,
    (id) => now.open.has(id),
    (one) => shown.push(one),
  );
  const pass = (): void => {
    for (const act of timers.splice(0)) act();
  };
  return { attention, shown, now, pass };
}

const WAITS = { id: "q1", kind: "waiting", session: "Two an hour" } as const;
const DONE = { id: "turn_1", kind: "done", session: "Two an hour" } as const;

void test("where nobody looks at the window it is told that somebody is needed, and that something is done, once", () => {
  const { attention, shown, pass } = window();
  attention.take(WAITS);
  attention.take(WAITS);
  assert.deepEqual(shown, [], "who is quick is not told");
  pass();
  attention.take(WAITS);
  attention.take(DONE);
  pass();
  assert.deepEqual(shown, [
    { title: "Outrider needs you", text: "Two an hour" },
    { title: "Outrider has finished", text: "Two an hour" },
  ]);
});

void test("what comes at once is told at once, and what waits comes first", () => {
  const { attention, shown, pass } = window();
  for (const one of [DONE, WAITS, { ...WAITS, id: "q2", session: "Another" }]) attention.take(one);
  pass();
  assert.deepEqual(shown, [{ title: "Outrider needs you (2)", text: "Two an hour, Another" }]);
});

void test("who looks at the window, has answered, or wants no word is not told", () => {
  const seen = window();
  seen.now.isSeen = true;
  seen.attention.take(WAITS);
  seen.now.isSeen = false;
  seen.pass();
  const back = window();
  back.attention.take(WAITS);
  back.now.isSeen = true;
  back.pass();
  const answered = window();
  answered.attention.take(WAITS);
  answered.now.open.clear();
  answered.pass();
  const never = window("never");
  never.attention.take(WAITS);
  never.attention.take(DONE);
  never.pass();
  const waiting = window("waiting");
  waiting.attention.take(DONE);
  waiting.pass();
  for (const { shown } of [seen, back, answered, never, waiting]) assert.deepEqual(shown, []);
  waiting.attention.take(WAITS);
  waiting.pass();
  assert.equal(waiting.shown.length, 1);
});

void test("what a model wrote is an argument of its own, in one line, and neither an option nor markup nor script", () => {
  const session = '-e "do shell script" \n<a href="x">&\u202e';
  const told = notificationOf([{ ...WAITS, session }]);
  const linux = showerOf("linux", told);
  assert.deepEqual(linux.args.slice(0, 3), ["--app-name=Outrider", "--", "Outrider needs you"]);
  assert.equal(linux.args[3], '-e "do shell script" &lt;a href="x"&gt;&amp;\\u202e');
  const mac = showerOf("darwin", told);
  assert.equal(mac.program, "osascript");
  assert.deepEqual(mac.args.slice(-3), ["--", told.title, told.text]);
  assert.ok(!mac.args.slice(0, -1).some((arg) => arg.includes("shell script")));
});

void test("only a program outside of the workspace is run, and what went wrong is said", async () => {
  const ran: string[][] = [];
  const machine = {
    env: { PATH: "bin:/project/bin:/opt/linked:/usr/bin" },
    windows: false,
    workspace: ["/project"],
    program: (path: string) =>
      Promise.resolve(
        { "/opt/linked/notify-send": "/project/x", "/usr/bin/notify-send": "/usr/bin/notify-send" }[path] ??
          (path.startsWith("/project/") ? path : undefined),
      ),
    run: (command: string, args: readonly string[]) => {
      ran.push([command, ...args]);
      return Promise.resolve(ran.length === 1 ? { code: 0, output: "" } : { code: 1, output: "no bus\n" });
    },
  };
  const said = { title: "Outrider needs you", text: "Two an hour" };
  assert.equal(await show(machine, "linux", said), undefined);
  assert.deepEqual(ran, [["/usr/bin/notify-send", "--app-name=Outrider", "--", "Outrider needs you", "Two an hour"]]);
  assert.equal(await show(machine, "linux", said), "notify-send failed: no bus");
  assert.equal(await show(machine, "darwin", said), "there is no osascript on PATH");
});
