// SPDX-License-Identifier: Apache-2.0
// A conversation as anyone has it: ask, verify, regenerate, go on, edit, stop; markup stays text; several models.
import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { ask, exported, importText, isReady, newContext, noProblems, openPage, picture, serve, set, settle, stopAll,
  texts } from "./browser.mjs";

const url = await serve();
after(stopAll);
afterEach(noProblems);
const isVerified = (page) => page.waitForFunction(() =>
  [...document.querySelectorAll("button")].some((b) => /Identical/.test(b.textContent)), null, { timeout: 60000 });

test("ask, verify, regenerate, go on, edit, stop, export, delete, import", async () => {
  const page = await openPage(await newContext(), url);
  await set(page, { max_tokens: "40", seed: "5" });
  await ask(page, "What is a tern?");
  assert.equal(await page.locator("article").count(), 2);
  const [first] = await texts(page, "assistant");
  assert.ok(first.length > 0);
  await ask(page, "And where does it live?");
  assert.equal(await page.locator("article").count(), 4);
  await picture(page, "chat");
  await page.getByRole("button", { name: "Verify" }).last().click();
  await isVerified(page);
  await page.getByRole("button", { name: "Regenerate" }).last().click();
  await settle(page);
  assert.equal(await page.locator("article").count(), 4);
  await page.getByRole("button", { name: "Continue" }).last().click();
  await settle(page);
  await page.getByRole("button", { name: "Edit" }).first().click();
  assert.equal(await page.inputValue("#input"), "What is a tern?");
  await page.press("#input", "Enter");
  await settle(page);
  assert.equal(await page.locator("article").count(), 2);
  assert.equal((await texts(page, "assistant"))[0], first);
  await set(page, { max_tokens: "" });
  // Both at once, or a short answer may end before it is stopped.
  await page.fill("#input", "Write a long story.");
  await page.evaluate(() => {
    document.querySelector("#form").requestSubmit();
    document.querySelector("#stop").click();
  });
  await settle(page);
  assert.equal(await page.locator("#status").textContent(), "Stopped.");
  const data = await exported(page);
  await page.locator("#list .drop").first().click();
  await page.waitForFunction(() => document.querySelectorAll("#list li").length === 0);
  await importText(page, JSON.stringify(data));
  await page.waitForFunction(() => document.querySelectorAll("#list li").length === 1);
});

test("markup that a model writes stays text", async () => {
  const page = await openPage(await newContext(), url);
  const bad = '<img src=x onerror="window.bad=1"><script>window.bad=1</script> [x](javascript:alert(1)) **bold** `code`\n\n'
    + '```js\nlet a = "<b>";\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- one\n  - two\n\n![a tern](https://example.org/tern.png)\n';
  const data = { conversations: [{ id: "bad", title: "<b>x</b>", messages: [{ role: "user", content: bad }, { role: "assistant", content: bad }] }] };
  await importText(page, JSON.stringify(data));
  await page.locator("#list .open").click();
  assert.equal(await page.evaluate(() => window.bad), undefined);
  assert.equal(await page.locator("#log img, #log script, #list b").count(), 0);
  assert.deepEqual(await page.locator("#log a").evaluateAll((all) => all.map((a) => [a.href, a.textContent])),
    [["https://example.org/tern.png", "a tern"]]);
  assert.ok(!(await texts(page, "assistant"))[0].includes("!"));
  assert.equal(await page.locator("#log strong").innerText(), "bold");
  assert.equal(await page.locator("#log td").count(), 2);
  assert.equal(await page.locator("#log ul ul li").count(), 1);
  assert.equal(await page.locator("#log pre code").innerText(), 'let a = "<b>";');
  const [copy, code] = await Promise.all([".block button", ".block pre"].map((part) => page.locator(part).boundingBox()));
  assert.ok(copy.y + copy.height <= code.y + 1, "the button covers the code");
  await picture(page, "markdown");
});

test("several models: the page lists them, and keeps the one that was chosen", async () => {
  const many = await serve("--models-dir", new URL("../../../models", import.meta.url).pathname);
  const page = await (await newContext()).newPage();
  const isShown = async () => {
    await isReady(page);
    await page.waitForFunction(() => document.querySelector("#model").textContent === "");
  };
  await page.goto(many);
  await isShown();
  assert.ok(await page.locator("#choice option").count() >= 2);
  await page.selectOption("#choice", "pocket-3-i2s");
  await isShown();
  await ask(page, "What is the capital of France?");
  assert.equal((await texts(page, "assistant")).at(-1), "The capital of France is Paris.");
  await page.getByRole("button", { name: "Verify" }).last().click();
  await isVerified(page);
  await page.selectOption("#choice", "pocket-8m-i2s");
  await isShown();
  await page.click("#new");
  assert.match(await page.locator(".greeting").innerText(), /pocket-8m-i2s/);
  await ask(page, "What is the capital of France?");
  assert.notEqual((await texts(page, "assistant")).at(-1), "The capital of France is Paris.");
  await picture(page, "models");
  await page.reload();
  await isShown();
  assert.equal(await page.inputValue("#choice"), "pocket-8m-i2s");
});
