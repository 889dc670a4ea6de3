import assert from "node:assert/strict";
import { test } from "node:test";

import { connected, isMoving, type Line } from "../src/core/connected.js";
import type { CommandsResult, ServerInfo } from "../src/protocol/types.js";

const NONE: CommandsResult = { commands: [] };

function shown(server: Partial<ServerInfo>): Line {
  const whole: ServerInfo = { name: "notes", kind: "mcp", state: "running", ...server };
  const line = connected({ servers: [whole] }, NONE)[0]?.lines[0];
  assert.ok(line);
  return line;
}

void test("what is wrong comes first, and empty groups are left out", () => {
  const groups = connected(
    {
      servers: [
        { name: "python", kind: "language", state: "missing" },
        { name: "notes", kind: "mcp", state: "running", tools: ["notes__add"] },
      ],
      problems: ["old: the transport sse is not supported"],
    },
    { commands: [{ name: "fix", description: "Fix it", source: "user" }], withheld: 2 },
  );
  assert.deepEqual(
    groups.map(({ label, lines }) => [label, lines.map((line) => line.label)]),
    [
      ["Problems", ["old: the transport sse is not supported"]],
      ["MCP servers", ["notes"]],
      ["Language servers", ["python"]],
      ["Commands and skills", ["/fix", "2 more after you trust this workspace"]],
    ],
  );
  assert.deepEqual(connected({ servers: [] }, NONE), []);
});

void test("a server says its state, and offers only what can be done", () => {
  const states: [Partial<ServerInfo>, string, string[]][] = [
    [{ state: "login", runs: "https://a.example/mcp" }, "log in to use it", ["login"]],
    [{ runs: "https://a.example/mcp", tools: ["a", "b"] }, "running · 2 tools", ["logout", "restart"]],
    [{ runs: "node server.js", tools: [] }, "running · 0 tools", ["restart"]],
    [{ state: "failed" }, "failed", ["restart"]],
    [{ state: "waiting" }, "asked about with the next task", []],
    [{ state: "running", kind: "language" }, "running", []],
    [
      { state: "login", loginUrl: "https://a.example/login" },
      "log in to use it · the log-in waits for you in the browser",
      ["login"],
    ],
  ];
  for (const [server, description, can] of states) {
    const line = shown(server);
    assert.equal(line.description, description);
    assert.deepEqual(line.can, can);
  }
});

void test("the tools of a server are beneath it, and what it says of itself cannot draw over the view", () => {
  const line = shown({ tools: ["notes__add"], detail: "bad\u202eevil\u0007", memory: 3 * 2 ** 20, version: "1.2" });
  assert.deepEqual(
    line.lines.map(({ label }) => label),
    ["notes__add"],
  );
  assert.ok(line.more.includes("3 MB of memory") && line.more.includes("Version 1.2"));
  assert.ok(!["\u202e", "\u0007"].some((sign) => line.more.join("").includes(sign)));
});

void test("it is looked at again only as long as something is under way", () => {
  const with_ = (server: Partial<ServerInfo>): boolean =>
    isMoving({ servers: [{ name: "a", kind: "mcp", state: "running", ...server }] });
  assert.equal(with_({}), false);
  assert.equal(with_({ state: "starting" }), true);
  assert.equal(with_({ state: "login", loginUrl: "https://a.example" }), true);
});
