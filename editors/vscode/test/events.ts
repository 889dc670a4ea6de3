/** Events as the server sends them, for the tests. */

import type { Event, EventData } from "../src/protocol/types.js";

/** Makes the events of one session, with their numbers and times in order. */
export class Log {
  readonly events: Event[] = [];

  constructor(readonly sessionId = "ses_1") {}

  add<T extends keyof EventData>(type: T, data: EventData[T], turnId?: string): Event {
    const seq = this.events.length + 1;
    const event: Event = {
      v: 1,
      seq,
      ts: new Date(Date.UTC(2026, 0, 1) + seq * 1000).toISOString(),
      sessionId: this.sessionId,
      type,
      data: data as unknown as Record<string, unknown>,
      ...(turnId === undefined ? {} : { turnId }),
    };
    this.events.push(event);
    return event;
  }

  /** A session with a turn that reads a file and asks to edit it. */
  asking(): this {
    this.add("session.started", { folders: ["file:///w"], permissionMode: "ask", version: "0.1.0" });
    this.add("turn.started", { prompt: "Fix it", mode: "agent", model: "my/model" }, "turn_1");
    this.add(
      "model.responded",
      {
        messageId: "msg_1",
        text: "I look.",
        toolCalls: [],
        finishReason: "tool_calls",
        usage: { inputTokens: 10, outputTokens: 2, cost: 0.5 },
      },
      "turn_1",
    );
    this.add("tool.requested", { callId: "c1", name: "edit_file", input: { path: "a.py" } }, "turn_1");
    this.add(
      "edit.proposed",
      { changeId: "chg_1", callId: "c1", path: "a.py", hunks: [{ line: 1, removed: "x\n", added: "y\n" }] },
      "turn_1",
    );
    this.add(
      "approval.requested",
      {
        id: "open_1",
        callId: "c1",
        digest: "d",
        title: "Edit a.py (+1 −1)",
        detail: "@@ -1 +1 @@\n-x\n+y",
        options: ["Allow once", "Allow for this session", "Reject"],
      },
      "turn_1",
    );
    return this;
  }
}

/** A request to the model, whose answer has that id. */
export function requested(messageId: string): EventData["model.requested"] {
  return { purpose: "main", messageId, model: "my/model", messages: [], tools: [], toolsHash: "" };
}
