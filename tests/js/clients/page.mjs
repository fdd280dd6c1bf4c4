// SPDX-License-Identifier: Apache-2.0
// The web page in headless Chromium: page.mjs BITTERN FOLDER_FOR_PICTURES. Needs playwright-core.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chromium } from "playwright-core";
const [program, pictures] = process.argv.slice(2);
async function start(...flags) {
  const server = spawn(program, ["serve", "--port", "0", "-t", "1", "--log-format", "none", ...flags]);
  const url = await new Promise((resolve) => {
    let text = "";
    server.stderr.on("data", (part) => { text += part; const m = /ready: .* at (http:[^\s,]+),?/.exec(text); if (m) resolve(m[1]); });
  });
  return { server, url };
}
const { server, url } = await start();
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: 1100, height: 750 }, acceptDownloads: true });
const page = await context.newPage();
const problems = [];
page.on("console", (message) => { if (message.type() === "error") problems.push(message.text()); });
page.on("pageerror", (error) => problems.push(String(error)));
page.on("request", (request) => { if (!request.url().startsWith(url) && !request.url().startsWith("data:") && !request.url().startsWith("blob:")) problems.push("foreign " + request.url()); });
await page.goto(url);
await page.waitForFunction(() => /\/ \d+/.test(document.querySelector("#used").textContent));
const settle = () => page.waitForFunction(() => document.querySelector("#stop").hidden, null, { timeout: 120000 });
const say = async (text) => { await page.fill("#input", text); await page.press("#input", "Enter"); };
await page.click("#settings"); await page.fill("#max_tokens", "40"); await page.press("#max_tokens", "Tab"); await page.fill("#seed", "5"); await page.press("#seed", "Tab"); await page.click("#close");
await say("What is a tern?"); await settle();
assert.equal(await page.locator("article").count(), 2);
const first = await page.locator("article.assistant .text").first().innerText();
assert.ok(first.length > 0);
await say("And where does it live?"); await settle();
assert.equal(await page.locator("article").count(), 4);
await page.screenshot({ path: pictures + "/chat.png" });
await page.getByRole("button", { name: "Verify" }).last().click();
await page.waitForFunction(() => [...document.querySelectorAll("button")].some((b) => /Identical/.test(b.textContent)), null, { timeout: 60000 });
await page.getByRole("button", { name: "Regenerate" }).click(); await settle();
assert.equal(await page.locator("article").count(), 4);
await page.getByRole("button", { name: "Continue" }).click(); await settle();
await page.getByRole("button", { name: "Edit" }).first().click();
assert.equal(await page.inputValue("#input"), "What is a tern?");
await page.press("#input", "Enter"); await settle();
assert.equal(await page.locator("article").count(), 2);
assert.equal(await page.locator("article.assistant .text").first().innerText(), first);
await page.click("#settings"); await page.fill("#max_tokens", ""); await page.press("#max_tokens", "Tab"); await page.click("#close");
// Both at once, or a short answer may end before it is stopped.
await page.evaluate(() => { $("input").value = "Write a long story."; $("form").requestSubmit(); $("stop").click(); });
await settle();
assert.equal(await page.locator("#status").textContent(), "Stopped.");
await page.reload();
await page.waitForFunction(() => document.querySelectorAll("#list li").length === 1);
await page.locator("#list button").first().click();
assert.ok(await page.locator("article").count() >= 4);
// What a model writes stays text.
const bad = '<img src=x onerror="window.bad=1"><script>window.bad=1</script> [x](javascript:alert(1)) **bold** `code`\n\n```js\nlet a = "<b>";\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- one\n  - two\n';
await page.evaluate((text) => { const into = document.querySelector("#log"); into.replaceChildren(); markdown(text, into.appendChild(el("div", { className: "text" }))); }, bad);
assert.equal(await page.evaluate(() => window.bad), undefined);
assert.equal(await page.locator("#log img, #log script, #log a").count(), 0);
assert.equal(await page.locator("#log strong").innerText(), "bold");
assert.equal(await page.locator("#log td").count(), 2);
assert.equal(await page.locator("#log ul ul li").count(), 1);
assert.equal(await page.locator("#log pre code").innerText(), 'let a = "<b>";');
await page.screenshot({ path: pictures + "/markdown.png" });
const [download] = await Promise.all([page.waitForEvent("download"), page.click("#export")]);
await download.saveAs(pictures + "/export.json");
page.on("dialog", (dialog) => dialog.accept());
await page.locator("#list .drop").first().click();
await page.waitForFunction(() => document.querySelectorAll("#list li").length === 0);
await page.setInputFiles("#file", pictures + "/export.json");
await page.waitForFunction(() => document.querySelectorAll("#list li").length === 1);
await page.click("#settings"); await page.selectOption("#theme", "dark"); await page.screenshot({ path: pictures + "/dark.png" }); await page.click("#close");
await page.setViewportSize({ width: 390, height: 800 });
await page.locator("#menu").click(); await page.locator("#list button").first().click();
await page.screenshot({ path: pictures + "/phone.png" });
const overflow = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
assert.equal(overflow, false, "the phone scrolls sideways");
const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
console.log("first paint", paint, "ms; problems:", problems);
assert.deepEqual(problems, []);
server.kill("SIGTERM");

// Several models: the page lists them, and keeps the one that was chosen.
const many = await start("--models-dir", new URL("../../../models", import.meta.url).pathname);
const other = await (await browser.newContext({ viewport: { width: 1100, height: 750 } })).newPage();
other.on("console", (message) => { if (message.type() === "error") problems.push(message.text()); });
const isShown = () => other.waitForFunction(() => /\/ \d+/.test(document.querySelector("#used").textContent) && document.querySelector("#model").textContent === "");
const replyTo = async (text) => {
  await other.fill("#input", text); await other.press("#input", "Enter");
  await other.waitForFunction(() => document.querySelector("#stop").hidden, null, { timeout: 120000 });
  return other.locator("article.assistant .text").last().innerText();
};
await other.goto(many.url);
await isShown();
assert.ok(await other.locator("#choice option").count() >= 2);
await other.selectOption("#choice", "pocket-2-i2s"); await isShown();
assert.equal(await replyTo("What is the capital of France?"), "The capital of France is Paris.");
await other.getByRole("button", { name: "Verify" }).last().click();
await other.waitForFunction(() => [...document.querySelectorAll("button")].some((b) => /Identical/.test(b.textContent)), null, { timeout: 60000 });
await other.selectOption("#choice", "pocket-8m-i2s"); await isShown();
await other.click("#new");
assert.notEqual(await replyTo("What is the capital of France?"), "The capital of France is Paris.");
await other.screenshot({ path: pictures + "/models.png" });
await other.reload(); await isShown();
assert.equal(await other.inputValue("#choice"), "pocket-8m-i2s");
assert.deepEqual(problems, []);
await browser.close();
many.server.kill("SIGTERM");
console.log("passed: the page");
