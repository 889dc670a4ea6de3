import assert from "node:assert/strict";
import { test } from "node:test";

import {
  KEPT_DAYS,
  UNFINISHED_HOURS,
  findPython,
  madeServer,
  makeEnvironment,
  sweep,
} from "../src/core/environment.js";
import { commandOf, findServer, serverEnvironment } from "../src/core/find.js";
import { KeyWatch } from "../src/core/keywatch.js";
import { problemOf } from "../src/core/handshake.js";
import { type Machine, type Ran, isProblem } from "../src/core/machine.js";

interface Fake {
  readonly programs?: Record<string, string>;
  readonly path?: string;
  readonly versions?: Record<string, string>;
  readonly files?: Record<string, string>;
  readonly run?: (command: string, args: readonly string[]) => Ran;
  /** By path when it was written last. */
  readonly times?: Record<string, number>;
}

function machine({ programs = {}, path = "/usr/bin", versions = {}, files = {}, run, times = {} }: Fake) {
  const ran: string[][] = [];
  const removed: string[] = [];
  let names = 0;
  const below = (folder: string) => Object.keys(files).filter((name) => name.startsWith(`${folder}/`));
  const fake: Machine = {
    env: { PATH: path },
    windows: false,
    workspace: ["/project"],
    program: (name) => Promise.resolve(programs[name]),
    run: (command, args) => {
      ran.push([command, ...args]);
      const version = versions[command];
      if (args.includes("-c") && !args.includes("import outrider"))
        return Promise.resolve(version === undefined ? { code: 1, output: "" } : { code: 0, output: `${version}\n` });
      return Promise.resolve(run?.(command, args) ?? { code: 0, output: "" });
    },
    read: (name) => Promise.resolve(files[name]),
    write: (name, text) => {
      files[name] = text;
      return Promise.resolve();
    },
    remove: (folder) => {
      removed.push(folder);
      for (const name of below(folder)) Reflect.deleteProperty(files, name);
      return Promise.resolve();
    },
    rename: (folder, name) => {
      if (below(folder).length === 0 || below(name).length > 0) return Promise.resolve(false);
      for (const one of below(folder)) {
        files[name + one.slice(folder.length)] = files[one] ?? "";
        Reflect.deleteProperty(files, one);
      }
      return Promise.resolve(true);
    },
    list: (folder) =>
      Promise.resolve([
        ...new Set(
          [...below(folder), ...Object.keys(times)].map((name) => name.split("/")[folder.split("/").length] ?? ""),
        ),
      ]),
    modified: (path) => Promise.resolve(times[path]),
    unique: () => String((names += 1)),
  };
  return { fake, ran, files, removed };
}

const OWN = { folder: "/storage/servers", wheel: "/ext/outrider.whl", stamp: "abc" };
const PYTHON = "/storage/servers/abc/bin/python";
const WITH_PYTHON = {
  programs: { "/usr/bin/python3": "/usr/bin/python3", [PYTHON]: "/usr/bin/python3" },
  versions: { "/usr/bin/python3": "3.12.1" },
};

test("the setting comes first, then PATH, then the own environment, and then it has to be made", async () => {
  const there = {
    "/opt/outrider": "/opt/outrider",
    "/usr/bin/outrider": "/usr/bin/outrider",
    "/storage/servers/abc/bin/python": "/usr/bin/python3",
  };
  const files = { "/storage/servers/abc/complete": "abc" };
  const all = machine({ programs: there, files });
  assert.deepEqual(await findServer(all.fake, ["/opt/outrider", "--log-level", "debug"], OWN), {
    command: ["/opt/outrider", "--log-level", "debug"],
    from: "setting",
  });
  assert.deepEqual(await findServer(all.fake, [], OWN), { command: ["/usr/bin/outrider"], from: "PATH" });
  const own = machine({ programs: there, path: "/bin", files });
  assert.deepEqual(await findServer(own.fake, [], OWN), {
    command: ["/storage/servers/abc/bin/python", "-I", "-m", "outrider"],
    from: "own environment",
  });
  assert.deepEqual(await findServer(machine({}).fake, [], OWN), { make: true });
});

test("a command that is no list is a program, or none", () => {
  assert.deepEqual(commandOf(["sh", "-c", "x"]), ["sh", "-c", "x"]);
  assert.deepEqual(commandOf("/opt/my tools/outrider"), ["/opt/my tools/outrider"]);
  assert.deepEqual([commandOf(""), commandOf([""]), commandOf(null), commandOf({ a: 1 })], [[], [], [], []]);
});

test("an environment of another wheel, or one that was not finished, is not used", async () => {
  const programs = { "/storage/servers/abc/bin/python": "/usr/bin/python3" };
  assert.equal(
    await madeServer(machine({ programs, files: { "/storage/servers/abc/complete": "older" } }).fake, OWN),
    undefined,
  );
  assert.equal(await madeServer(machine({ programs }).fake, OWN), undefined);
});

test("an environment whose Python is gone or another version by now is made anew", async () => {
  const files = { "/storage/servers/abc/complete": "abc", "/storage/servers/abc/old": "" };
  let isUpgraded = true;
  const upgraded = machine({
    ...WITH_PYTHON,
    files,
    run: (command, args) =>
      command === PYTHON && args.includes("import outrider") && isUpgraded
        ? { code: 1, output: "ModuleNotFoundError: No module named 'outrider'" }
        : { code: 0, output: "" },
  });
  assert.deepEqual(await findServer(upgraded.fake, [], OWN), { make: true });
  assert.deepEqual(await makeEnvironment(upgraded.fake, OWN, "", () => undefined), [PYTHON, "-I", "-m", "outrider"]);
  assert.deepEqual(upgraded.files, { "/storage/servers/abc/complete": "abc" }, "the old one is gone");
  isUpgraded = false;
  assert.deepEqual(await madeServer(upgraded.fake, OWN), [PYTHON, "-I", "-m", "outrider"]);
});

test("of two windows that make the environment the second uses what the first made, and takes nothing from it", async () => {
  const files: Record<string, string> = {};
  const second = machine({
    ...WITH_PYTHON,
    files,
    run: (_, args) => {
      // While this one installs, the other one gets done.
      if (args.includes("pip")) {
        files["/storage/servers/abc/complete"] = "abc";
        files["/storage/servers/abc/of the first"] = "";
      }
      return { code: 0, output: "" };
    },
  });
  assert.deepEqual(await makeEnvironment(second.fake, OWN, "", () => undefined), [PYTHON, "-I", "-m", "outrider"]);
  assert.deepEqual(Object.keys(files).sort(), ["/storage/servers/abc/complete", "/storage/servers/abc/of the first"]);
  assert.ok(!second.removed.includes("/storage/servers/abc"));
});

test("a new wheel leaves the environment alone that a server may still run in, for a while", async () => {
  const now = 1e12;
  const hour = 3_600_000;
  const times = {
    "/storage/servers/older/used": now - KEPT_DAYS * 24 * hour - 1,
    "/storage/servers/last/used": now - KEPT_DAYS * 24 * hour + 1,
    "/storage/servers/abc/used": 0,
    "/storage/servers/abc.left": now - UNFINISHED_HOURS * hour - 1,
    "/storage/servers/abc.left/used": now,
    "/storage/servers/abc.made": now - UNFINISHED_HOURS * hour + 1,
  };
  const { fake, files, removed } = machine({ times });
  await sweep(fake, OWN, now);
  assert.deepEqual(removed.sort(), ["/storage/servers/abc.left", "/storage/servers/older"]);
  assert.deepEqual(files, { "/storage/servers/abc/used": "" }, "it is dated by its last start");
});

test("nothing of the project is run, be it on PATH or linked to", async () => {
  const programs = {
    "/project/.venv/bin/outrider": "/project/.venv/bin/outrider",
    "/home/me/bin/outrider": "/project/evil",
    "./bin/outrider": "/x",
  };
  const { fake } = machine({ programs, path: "/project/.venv/bin:bin:.:/home/me/bin" });
  assert.deepEqual(await findServer(fake, [], OWN), { make: true });
});

test("a server of the settings that is not there is said with the setting's name", async () => {
  for (const command of ["/nowhere/outrider", "nothing", "./outrider"]) {
    const found = await findServer(machine({}).fake, [command], OWN);
    assert.ok(isProblem(found));
    assert.match(found.problem, /outrider\.server\.command/);
  }
});

test("a Python that is missing or too old is said with what is needed", async () => {
  const missing = await findPython(machine({}).fake, "");
  assert.ok(isProblem(missing));
  assert.match(missing.problem, /not found.*3\.11/);
  const old = machine({
    programs: { "/usr/bin/python3": "/usr/bin/python3.9" },
    versions: { "/usr/bin/python3": "3.9.2" },
  });
  const tooOld = await findPython(old.fake, "");
  assert.ok(isProblem(tooOld));
  assert.match(tooOld.problem, /\/usr\/bin\/python3 is Python 3\.9\.2.*3\.11/);
  const chosen = await findPython(old.fake, "/usr/bin/python3");
  assert.ok(isProblem(chosen));
  assert.match(chosen.problem, /outrider\.server\.python/);
});

test("a newer Python beside an old one is taken", async () => {
  const two = machine({
    programs: { "/usr/bin/python3": "/a", "/usr/bin/python3.12": "/b" },
    versions: { "/usr/bin/python3": "3.9.2", "/usr/bin/python3.12": "3.12.1" },
  });
  assert.deepEqual(await findPython(two.fake, ""), { path: "/usr/bin/python3.12", version: "3.12.1" });
});

test("the environment is made, filled, and only then marked as complete", async () => {
  const programs = { "/usr/bin/python3": "/usr/bin/python3" };
  const versions = { "/usr/bin/python3": "3.12.1" };
  const said: string[] = [];
  const good = machine({ programs, versions });
  assert.deepEqual(await makeEnvironment(good.fake, OWN, "", (message) => said.push(message)), [
    "/storage/servers/abc/bin/python",
    "-I",
    "-m",
    "outrider",
  ]);
  assert.equal(good.files["/storage/servers/abc/complete"], "abc");
  assert.equal(said.length, 3);
  assert.ok(good.ran.some((line) => line.includes("/ext/outrider.whl")));
  const offline = machine({
    programs,
    versions,
    run: (_, args) => (args.includes("pip") ? { code: 1, output: "x\nERROR: no network\n" } : { code: 0, output: "" }),
  });
  const failed = await makeEnvironment(offline.fake, OWN, "", () => undefined);
  assert.ok(isProblem(failed));
  assert.match(failed.problem, /ERROR: no network/);
  assert.equal(offline.files["/storage/servers/abc/complete"], undefined);
});

test("the server gets the keys, and nothing of a project's Python", () => {
  const given = serverEnvironment(
    { PATH: "/bin", PYTHONPATH: "/project", VIRTUAL_ENV: "/project/.venv", EMPTY: undefined },
    { MY_KEY: "k" },
  );
  assert.deepEqual(given, { PATH: "/bin", MY_KEY: "k" });
});

test("a key that another window changed is news, and one that this window or its server has is none", () => {
  const watch = new KeyWatch();
  watch.given = { MY_KEY: "old" };
  assert.equal(watch.isNews("MY_KEY", "old"), false);
  assert.equal(watch.isNews("MY_KEY", "new"), true);
  assert.equal(watch.isNews("MY_KEY", undefined), true, "it was forgotten there");
  assert.equal(watch.isNews("OTHER", "k"), true);
  watch.changing("MY_KEY", "mine");
  assert.equal(watch.isNews("MY_KEY", "mine"), false);
  assert.equal(watch.isNews("MY_KEY", "theirs"), true);
  assert.equal(watch.isNews("MY_KEY", "mine"), true, "another window set it back");
});

test("a partner that is no server, or speaks another version, is refused in words", () => {
  const answer = (name: unknown, protocolVersion: unknown) => ({
    serverInfo: { name },
    capabilities: { experimental: { outrider: { protocolVersion } } },
  });
  assert.equal(problemOf(answer("outrider", 1)), undefined);
  assert.match(problemOf(answer("outrider", 0))?.problem ?? "", /too old/);
  assert.match(problemOf(answer("outrider", 2))?.problem ?? "", /newer/);
  assert.match(problemOf(answer("outrider", undefined))?.problem ?? "", /too old/);
  assert.match(problemOf(answer("pylsp", undefined))?.problem ?? "", /pylsp/);
  assert.match(problemOf(undefined)?.problem ?? "", /not an Outrider server/);
});

test("a server of the settings is a program by its path, or by a name on PATH with its arguments", async () => {
  const there = machine({
    programs: { "/usr/bin/mine": "/usr/bin/mine", "C:/bin/outrider.exe": "C:/bin/outrider.exe" },
  });
  assert.deepEqual(await findServer(there.fake, ["mine", "--log-level", "debug"], OWN), {
    command: ["/usr/bin/mine", "--log-level", "debug"],
    from: "setting",
  });
  assert.deepEqual(await findServer(there.fake, ["C:/bin/outrider.exe"], OWN), {
    command: ["C:/bin/outrider.exe"],
    from: "setting",
  });
  const bare = machine({ programs: { "/usr/bin/./mine": "/usr/bin/mine" } });
  assert.deepEqual(await findServer(bare.fake, ["./mine"], OWN), {
    problem: "The server ./mine (setting outrider.server.command) is not on PATH; give an absolute path.",
  });
  assert.deepEqual(await findServer(bare.fake, ["/opt/mine"], OWN), {
    problem: "The server /opt/mine (setting outrider.server.command) is not there, or cannot be run.",
  });
});

test("a Python is found by whichever of its names it has", async () => {
  for (const name of ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python"]) {
    const path = `/usr/bin/${name}`;
    const { fake } = machine({ programs: { [path]: path }, versions: { [path]: "3.12.1" } });
    assert.deepEqual(await findPython(fake, ""), { path, version: "3.12.1" });
  }
});

test("nothing that a project says of Python reaches the server", () => {
  const names = ["PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__"];
  const env = Object.fromEntries(names.map((name) => [name, "/project"]));
  assert.deepEqual(serverEnvironment({ ...env, HOME: "/home/me", EMPTY: undefined }, {}), { HOME: "/home/me" });
});
