import assert from "node:assert/strict";
import { test } from "node:test";

import { pieces } from "../src/core/colours.js";
import { address, fileRef, symbolName } from "../src/core/links.js";
import { coloursOf } from "../src/core/theme.js";

test("a place in a file is known by how it is written", () => {
  assert.deepEqual(fileRef("src/a.ts"), { path: "src/a.ts" });
  assert.deepEqual(fileRef("./a.py:12"), { path: "a.py", line: 12 });
  assert.deepEqual(fileRef("a.py:12:5"), { path: "a.py", line: 12 });
  assert.deepEqual(fileRef("a.py#L3-L9"), { path: "a.py", line: 3, end: 9 });
  assert.deepEqual(fileRef("a.py:3-9"), { path: "a.py", line: 3, end: 9 });
  assert.deepEqual(fileRef("Makefile/x"), { path: "Makefile/x" });
  assert.deepEqual(fileRef(".gitignore"), undefined, "a name without a folder needs an ending");
  for (const no of [
    "3.11",
    "a b.py",
    "https://x.org/a.py",
    "command:x.y",
    "-rf",
    "//host/share",
    "x".repeat(400) + ".py",
    "",
    "e.g.",
    "1/2",
  ])
    assert.equal(fileRef(no), undefined, no);
});

test("a symbol is a name, maybe of something and called", () => {
  assert.equal(symbolName("price"), "price");
  assert.equal(symbolName("Ticket.total()"), "Ticket.total");
  assert.equal(symbolName("std::vector"), "std::vector");
  for (const no of ["a", "x = 1", "rm -rf", "a.b.c.d.e.f", "'text'", "x".repeat(100)])
    assert.equal(symbolName(no), undefined);
});

test("only addresses of the web and of mail lead out, and a host that the text hides is named", () => {
  assert.deepEqual(address("https://example.org/a", "the page"), { href: "https://example.org/a", host: undefined });
  assert.deepEqual(address("https://example.org/a", "https://example.org/a"), {
    href: "https://example.org/a",
    host: undefined,
  });
  assert.equal(address("https://evil.example", "https://github.com/a")?.host, "evil.example");
  assert.equal(address("https://evil.example", "github.com")?.host, "evil.example");
  assert.equal(
    address("https://gіthub.com", "here")?.host,
    "xn--gthub-n2e.com",
    "letters of another script are spelled out",
  );
  assert.deepEqual(address("mailto:a@b.org", "a@b.org"), { href: "mailto:a@b.org", host: undefined });
  for (const no of [
    "command:workbench.action.reload",
    "javascript:alert(1)",
    "data:text/html,x",
    "vscode://x",
    "file:///etc/passwd",
    "https://github.com@evil.example",
    "a.py",
    "",
  ])
    assert.equal(address(no, "text"), undefined, no);
});

test("code is divided by what it is, and all of it is there", () => {
  const code = "def f(x):\n    return f\"{x} <b>\" # hi & 'a'";
  const found = pieces(code, "python title=x");
  assert.equal(found.map(({ text }) => text).join(""), code);
  assert.deepEqual(
    found.filter(({ colour }) => colour === "keyword").map(({ text }) => text),
    ["def", "return"],
  );
  assert.deepEqual(found.find(({ text }) => text === "f")?.colour, "function");
  assert.deepEqual(pieces("<script>", "no-such-language"), [{ text: "<script>", colour: undefined }]);
  assert.deepEqual(pieces("x".repeat(30_000), "py").length, 1);
});

test("a theme's rules give colours, the later and the narrower one first", () => {
  const colours = coloursOf([
    { scope: "comment, string", settings: { foreground: "#111111" } },
    { scope: ["string"], settings: { foreground: "#222222" } },
    { scope: "keyword", settings: { foreground: "#333333" } },
    { scope: "keyword.control", settings: { foreground: "#444444" } },
    { scope: "constant.numeric", settings: { foreground: "url(https://evil.example)" } },
    { settings: { foreground: "#555555" } },
  ]);
  assert.deepEqual(colours, { comment: "#111111", string: "#222222", keyword: "#444444", meta: "#444444" });
});
