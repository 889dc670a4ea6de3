import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import {
  type Said,
  configuration,
  initializationOptions,
  isVariable,
  keyNames,
  nextMode,
} from "../src/core/settings.js";

function settings(said: Record<string, Partial<Said>>) {
  return (key: string): Said => ({ global: said[key]?.global, workspace: said[key]?.workspace });
}

test("only what the user said becomes initializationOptions", () => {
  const inspect = settings({
    model: { global: "my/model", workspace: "evil/model" },
    providers: { workspace: { evil: { kind: "openai-chat", baseUrl: "http://evil" } } },
    permissionMode: { workspace: "full" },
    stateDir: { global: "", workspace: "/evil" },
    limits: { global: {} },
  });
  assert.deepEqual(initializationOptions(inspect, true), {
    events: true,
    trusted: true,
    extensions: ["ask", "save", "language"],
    model: "my/model",
  });
});

/** Each setting of the manifest with its scope, by its name after `outrider.`. */
function scopes(): Map<string, string> {
  const manifest = JSON.parse(readFileSync("package.json", "utf8")) as {
    contributes: { configuration: { properties: Record<string, { scope: string }> } };
  };
  return new Map(
    Object.entries(manifest.contributes.configuration.properties).map(([name, { scope }]) => [
      name.replace("outrider.", ""),
      scope,
    ]),
  );
}

test("a remote window finds what the user said in the user settings, but for paths, which are those of a machine", () => {
  // In a remote window VS Code reads no setting of the scope `machine` out of the settings of the user's own machine.
  const ofMachine = [...scopes()].filter(([, scope]) => scope === "machine").map(([name]) => name);
  assert.deepEqual(ofMachine.sort(), ["server.command", "server.python", "stateDir"]);
});

test("what the user says of any setting reaches the server", () => {
  const alone = new Set(["messages", "notifications", "sendKey"]); // they are about what is shown, and no business of the server
  const own = [...scopes().keys()].filter((name) => !alone.has(name) && !name.startsWith("server."));
  const inspect = (key: string): Said => ({ global: `own ${key}`, workspace: "of the repository" });
  const { events, trusted, extensions, ...given } = initializationOptions(inspect, true);
  assert.deepEqual(given, Object.fromEntries(own.map((key) => [key, `own ${key}`])));
  assert.deepEqual([events, trusted, extensions.length], [true, true, 3]);
});

test("whatever a workspace says, nothing of it that could widen goes to the server", () => {
  const narrowing = ["model", "permissionMode", "limits", "sandbox", "codeLens"];
  const evil = settings(Object.fromEntries([...scopes().keys()].map((name) => [name, { workspace: { evil: 1 } }])));
  assert.deepEqual(Object.keys(initializationOptions(evil, true)).sort(), ["events", "extensions", "trusted"]);
  assert.deepEqual(Object.keys(configuration(evil, undefined)).sort(), narrowing.sort());
});

test("a workspace that is not trusted is not vouched for", () => {
  assert.equal(initializationOptions(settings({}), false).trusted, false);
});

test("of the workspace only what can be narrowed is passed on, as the configuration", () => {
  const inspect = settings({
    model: { workspace: "my/other" },
    providers: { workspace: { evil: {} } },
    permissionMode: { workspace: "read-only" },
    limits: { workspace: { steps: 3 } },
    stateDir: { workspace: "/evil" },
    "server.command": { workspace: ["evil"] },
  });
  assert.deepEqual(configuration(inspect, "auto-edit"), {
    model: "my/other",
    permissionMode: "read-only",
    limits: { steps: 3 },
  });
});

test("a mode that the user narrows counts at once, one that is wider only for a new server", () => {
  assert.deepEqual(configuration(settings({ permissionMode: { global: "ask" } }), "full"), { permissionMode: "ask" });
  assert.deepEqual(configuration(settings({ permissionMode: { global: "full" } }), "ask"), {});
  assert.deepEqual(configuration(settings({ permissionMode: { global: "auto-edit" } }), undefined), {});
  assert.deepEqual(configuration(settings({ permissionMode: { global: "ask" } }), undefined), {
    permissionMode: "ask",
  });
  assert.deepEqual(configuration(settings({ permissionMode: { global: "ask", workspace: "read-only" } }), "full"), {
    permissionMode: "read-only",
  });
});

test("the mode of the next turn is the narrowest that somebody may say", () => {
  assert.equal(nextMode(settings({}), true), undefined);
  assert.equal(nextMode(settings({ permissionMode: { global: "full" } }), false), "read-only");
  assert.equal(nextMode(settings({ permissionMode: { global: "full", workspace: "ask" } }), true), "ask");
  assert.equal(nextMode(settings({ permissionMode: { workspace: "full" } }), true), "ask");
});

test("keys are named by the providers, if they can be names of variables", () => {
  const provider = (apiKeyEnv: unknown) => ({ kind: "openai-chat", baseUrl: "", apiKeyEnv });
  assert.deepEqual(
    keyNames({ a: provider("A_KEY"), b: provider("A_KEY"), c: provider("no name"), d: provider(1), e: 5 }),
    ["A_KEY"],
  );
  assert.deepEqual(keyNames(undefined), []);
  assert.equal(isVariable("1A"), false);
});
