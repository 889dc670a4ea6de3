import assert from "node:assert/strict";
import { test } from "node:test";

import { frameOf } from "../src/core/messages.js";
import { Reviews } from "../src/core/review.js";
import { SessionState } from "../src/core/session.js";
import { waiting } from "../src/core/words.js";
import type { EventData } from "../src/protocol/types.js";
import { Log, requested } from "./events.js";

const NEXT = { model: "", permissionMode: undefined };
const FAILED = { messageId: "m", model: "my/model", reason: "overloaded", attempt: 2, attempts: 10, wait: 30 };

/** A turn whose first request failed, when that was, and its log. */
function failed(data: Partial<EventData["model.retried"]> = {}): { log: Log; session: SessionState; time: number } {
  const log = new Log();
  log.add("turn.started", { prompt: "Go on", mode: "agent", model: "my/model" }, "turn_1");
  log.add("model.requested", requested("m"), "turn_1");
  const event = log.add("model.retried", { ...FAILED, ...data }, "turn_1");
  const session = new SessionState("ses_1");
  for (const one of log.events) session.apply(one);
  return { log, session, time: Date.parse(event.ts) };
}

function retryAt(session: SessionState): number | undefined {
  return frameOf("running", session, NEXT, new Reviews()).retryAt;
}

test("a turn that waits for its next attempt says when that is, until the time has passed", () => {
  const { session, time } = failed();
  assert.deepEqual(session.retrying(time), { turnId: "turn_1", at: time + 30_000 });
  assert.equal(retryAt(session), time + 30_000);
  assert.equal(session.retrying(time + 30_000), undefined);
});

test("a request that is made again at once is not waited for", () => {
  const { session, time } = failed({ wait: 0 });
  assert.equal(session.retrying(time), undefined);
});

test("what is waited for is over with the attempt, its text, and the end of the turn", () => {
  const ends: ((log: Log, session: SessionState) => void)[] = [
    (log, session) => {
      session.apply(log.add("model.requested", requested("m"), "turn_1"));
    },
    (_, session) => {
      session.stream({ sessionId: "ses_1", turnId: "turn_1", kind: "text", messageId: "m", offset: 0, text: "It" });
    },
    (log, session) => {
      const end = { outcome: "cancelled", reason: "x", summary: "", usage: {} } as const;
      session.apply(log.add("turn.finished", end, "turn_1"));
    },
    (_, session) => {
      session.attempted();
    },
    (_, session) => {
      session.away = "elsewhere";
    },
  ];
  for (const end of ends) {
    const { log, session, time } = failed();
    end(log, session);
    assert.equal(session.retrying(time), undefined);
    assert.equal(retryAt(session), undefined);
  }
});

test("another failure sets a new time, and a title in between changes nothing", () => {
  const { log, session, time } = failed();
  const title = { ...requested("t"), purpose: "title" };
  session.apply(log.add("model.requested", title, "turn_1"));
  assert.equal(session.retrying(time)?.at, time + 30_000);
  const again = log.add("model.retried", { ...FAILED, attempt: 3, wait: 60 }, "turn_1");
  session.apply(again);
  assert.equal(session.retrying(time)?.at, Date.parse(again.ts) + 60_000);
});

test("the time left is said in whole seconds, and no longer once it has passed", () => {
  assert.equal(waiting(29_001), "The provider is asked again in 30 s.");
  assert.equal(waiting(1), "The provider is asked again in 1 s.");
  assert.equal(waiting(0), "");
});
