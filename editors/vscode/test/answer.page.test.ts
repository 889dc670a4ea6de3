import assert from "node:assert/strict";
import { test } from "node:test";

import { View, answer, skip } from "./page.js";

const RICH = [
  "# What was wrong",
  "The docstring says **two** per hour, the code said *three*, ~~four~~. See [the tariff](https://example.org/tariff),",
  "`tariff.py:6` and `price()`.",
  "",
  "| hours | before | after |",
  "|------:|:------:|-------|",
  "| 1 | 3 | **2** |",
  "| 2 | 6 | 4<br>coins |",
  "",
  "```python",
  "def price(hours):",
  '    """Two for each hour begun."""',
  "    return hours * 2  # corrected",
  "```",
  "",
  "1. First, `check.py` was run",
  "2. Then the price was corrected",
  "   - nested item with **bold**",
  "",
  "> A quote: nothing else changed.",
  "",
  "- [x] done",
  "- [ ] not done",
  "",
  "---",
  "",
  "See [the function](tariff.py#L4-L6) and [there][t].",
  "",
  "[t]: https://example.org/there",
].join("\n");

test("an answer is drawn as its Markdown says", { skip }, async () => {
  const view = await View.open();
  await view.show([answer(RICH)]);
  const { page } = view;
  await page.locator(".markdown h3", { hasText: "What was wrong" }).waitFor();
  assert.deepEqual(await page.locator(".markdown strong").allTextContents(), ["two", "2", "bold"]);
  assert.deepEqual(await page.locator(".markdown em, .markdown s").allTextContents(), ["three", "four"]);
  assert.deepEqual(await page.locator("th").allTextContents(), ["hours", "before", "after"]);
  assert.equal(await page.locator("td.right").count(), 2);
  assert.equal(await page.locator("td br").count(), 1);
  assert.deepEqual(await page.locator("ol > li").count(), 2);
  assert.equal(await page.locator("ol ul li").count(), 1);
  assert.equal(await page.locator("blockquote").innerText(), "A quote: nothing else changed.");
  assert.deepEqual(
    await page.locator("li.box input").evaluateAll((all) => all.map((one) => (one as HTMLInputElement).checked)),
    [true, false],
  );
  assert.deepEqual(
    await page.locator(".markdown a").evaluateAll((all) => all.map((one) => (one as HTMLAnchorElement).href)),
    ["https://example.org/tariff", "https://example.org/there"],
  );
  assert.deepEqual(await page.locator(".code-keyword").allTextContents(), ["def", "return"]);
  assert.equal(await page.locator(".code-comment").innerText(), "# corrected");
  await view.shot("answer");
  await view.close();
});

test("files and symbols that exist are links, and lead to their lines", { skip }, async () => {
  const view = await View.open();
  const { page } = view;
  await view.show([answer(RICH)]);
  const asked = (): string[] =>
    view.said.flatMap((one) => (one.type === "resolve" ? [...one.paths, ...one.symbols] : []));
  await view.until(() => asked().length === 3, "the names are asked for");
  assert.deepEqual(asked().sort(), ["check.py", "price", "tariff.py"]);
  await view.post({ type: "resolved", exist: ["file:tariff.py", "symbol:price"], not: ["file:check.py"] });
  await page.getByRole("link", { name: "tariff.py:6" }).click();
  await page.getByRole("link", { name: "price()" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "the function" }).click();
  assert.equal(await page.getByRole("link", { name: "check.py" }).count(), 0);
  await view.until(() => view.said.at(-1)?.type === "file", "all are opened");
  assert.deepEqual(view.said.slice(-3), [
    { type: "file", ref: { path: "tariff.py", line: 6 } },
    { type: "symbol", name: "price" },
    { type: "file", ref: { path: "tariff.py", line: 4, end: 6 } },
  ]);
  await view.close();
});

test("code is copied and inserted as it was written", { skip }, async () => {
  const view = await View.open();
  await view.show([answer("```py\nx = '<b>'\n\ny\u202e = 2\n```")]);
  await view.page.getByRole("button", { name: "Copy" }).click();
  await view.page.getByRole("button", { name: "Insert" }).click();
  await view.page.getByRole("button", { name: "Copied" }).waitFor();
  const taken = view.said.filter(({ type }) => type === "take");
  const text = "x = '<b>'\n\ny\u202e = 2";
  assert.deepEqual(taken, [
    { type: "take", what: "copy", text },
    { type: "take", what: "insert", text },
  ]);
  assert.match(await view.page.locator("pre").innerText(), /y\\u202e = 2/);
  await view.close();
});

const HOSTILE = [
  "<script>document.title='stolen'</script><img src=https://evil.example/a.png onerror=alert(1)>",
  "",
  "![picture](https://evil.example/b.png) ![local](data:image/png;base64,AAAA) ![file](shot.png)",
  "",
  "[reload](command:workbench.action.reloadWindow) [script](javascript:alert(1)) <javascript:alert(2)>",
  "",
  "[https://github.com/outrider](https://evil.example/login) [here](https://gіthub.com) [in](https://github.com@evil.example)",
  "",
  "Text \u202eturned around\u202c and `code\u2066\u200b`.",
  "",
  '<a href="command:x">y</a> <iframe src="https://evil.example"></iframe> <style>* {display: none}</style>',
  "",
  "`".repeat(500),
  "[".repeat(2000),
  "*".repeat(2000),
  "- ".repeat(10_000),
  Array.from({ length: 1000 }, (_, at) => `${"  ".repeat(at % 400)}- level ${String(at)}`).join("\n"),
  "",
  "```never-closed",
  "const end = 1;",
].join("\n");

test("hostile Markdown loads nothing, runs nothing, hides nothing and leaves nothing out", { skip }, async () => {
  const view = await View.open();
  const { page } = view;
  await view.show([answer(HOSTILE)]);
  await page.getByText("const end = 1;").waitFor();
  assert.equal(await page.title(), "Outrider");
  assert.deepEqual(view.requests, []);
  assert.equal(await page.locator(".markdown :is(script, img, iframe, style, object, svg)").count(), 0);
  const links = await page
    .locator(".markdown a")
    .evaluateAll((all) => all.map((one) => (one as HTMLAnchorElement).href));
  // An address that is written out leads to where it says.
  assert.deepEqual(
    links.filter(
      (one) => !["https://evil.example/a.png", "https://evil.example/", "https://github.com/"].includes(one),
    ),
    ["https://evil.example/b.png", "https://evil.example/login", "https://xn--gthub-n2e.com/"],
  );
  const text = await page.locator(".entry.answer > .markdown").textContent();
  for (const said of [
    "<script>document.title='stolen'</script>",
    "[reload](command:workbench.action.reloadWindow)",
    "https://github.com/outrider (evil.example)",
    "here (xn--gthub-n2e.com)",
    "[in](https://github.com@evil.example)",
    "\\u202eturned around\\u202c",
    "code\\u2066\\u200b",
    "<iframe",
    "level 999",
  ])
    assert.ok(text?.includes(said), said);
  assert.deepEqual(view.problems, []);
  await view.close();
});
