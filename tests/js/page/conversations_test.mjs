// SPDX-License-Identifier: Apache-2.0
// Nothing that was said is lost: edits and versions, a reload in the middle, two tabs, a full storage, files.
import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { ask, exported, importText, isReady, isWriting, kept, newContext, noProblems, openPage, picture, say, serve, set, settle,
  stopAll, texts, wire } from "./browser.mjs";

const { url, control } = await wire(await serve());
after(stopAll);
afterEach(() => { Object.assign(control, { delay: 0, holdAfter: Infinity, cutAfter: 0, refuse: null }); control.bodies.length = 0; noProblems(); });
const fresh = async () => openPage(await newContext(), url);
const LONG = "Write a long story.";
const asOfNow = (file) => file.conversations.map((one) => one.turns ?? one.messages);

test("an edit is cancelled by Escape and by a button, and the draft comes back", async () => {
  const page = await fresh();
  await ask(page, "What is a tern?");
  await ask(page, "Where does it live?");
  const before = await texts(page, "assistant");
  for (const cancel of [() => page.keyboard.press("Escape"), () => page.getByRole("button", { name: "Cancel" }).click()]) {
    await page.fill("#input", "a draft");
    await page.locator("article.user").first().hover();
    await page.locator("article.user").first().getByRole("button", { name: "Edit" }).click();
    assert.equal(await page.inputValue("#input"), "What is a tern?");
    assert.equal(await page.locator("article").count(), 4);
    await page.fill("#input", "half of an edit");
    await cancel();
    assert.equal(await page.inputValue("#input"), "a draft");
    assert.deepEqual(await texts(page, "user"), ["What is a tern?", "Where does it live?"]);
    assert.deepEqual(await texts(page, "assistant"), before);
  }
  await page.locator("article.user").first().getByRole("button", { name: "Edit" }).click();
  await page.click("#new");
  await page.locator("#list .open, #list button").first().click();
  assert.equal(await page.locator("article").count(), 4);
  assert.equal(asOfNow(await exported(page))[0].length, 4);
});

test("an edit and a regenerated answer are versions, stepped through, exported and imported", async () => {
  const page = await fresh();
  await set(page, { temperature: "1", max_tokens: "12" });
  await ask(page, "What is a tern?");
  await ask(page, "Where does it live?");
  await page.fill("#input", "a draft");
  await page.locator("article.user").first().getByRole("button", { name: "Edit" }).click();
  await ask(page, "What is a crab?");
  assert.equal(await page.inputValue("#input"), "a draft");
  assert.deepEqual(await texts(page, "user"), ["What is a crab?"]);
  const versions = page.locator("article.user").first().locator(".versions");
  assert.match(await versions.innerText(), /2\s*\/\s*2/);
  await page.getByRole("button", { name: "Previous version" }).first().click();
  assert.deepEqual(await texts(page, "user"), ["What is a tern?", "Where does it live?"]);
  for (let i = 0; i < 2; ++i) {
    await page.locator("article.assistant").last().getByRole("button", { name: "Regenerate" }).click();
    await settle(page);
  }
  assert.match(await page.locator("article.assistant").last().locator(".versions").innerText(), /3\s*\/\s*3/);
  await picture(page, "versions");
  const file = await exported(page);
  assert.equal(file.conversations.length, 1);
  assert.equal(file.conversations[0].turns.length, 8);
  const other = await fresh();
  await importText(other, JSON.stringify(file));
  await other.locator("#list .open").click();
  assert.deepEqual(await texts(other, "assistant"), await texts(page, "assistant"));
  const again = await exported(other);
  assert.deepEqual(new Set(again.conversations[0].turns.map((turn) => turn.content)),
    new Set(file.conversations[0].turns.map((turn) => turn.content)));
});

test("a file of the older form is imported, twice the same; a broken one changes nothing and is told", async () => {
  const page = await fresh();
  const messages = [{ role: "user", content: "Hello" }, { role: "assistant", content: "Good day", about: { speed: 1, predicted: 2, prompt: 3, cached: 0, seed: 4 } }];
  const old = { bittern_conversations: 1, conversations: [{ id: "one", title: "Hello", changed: 5, messages }] };
  for (let i = 0; i < 2; ++i) {
    await importText(page, JSON.stringify(old));
    await page.getByText("Imported 1 conversation.").waitFor();
    assert.equal(await page.locator("#list li").count(), 1);
    await page.reload();
    await isReady(page);
  }
  await page.locator("#list .open").click();
  assert.deepEqual(await texts(page, "assistant"), ["Good day"]);
  assert.equal(await page.locator(".versions").count(), 0);
  const circle = [{ id: "a", parent: "b", role: "user", content: "x" }, { id: "b", parent: "a", role: "user", content: "y" }];
  const twice = [{ id: "a", parent: null, role: "user", content: "x" }, { id: "a", parent: "a", role: "user", content: "y" }];
  const broken = ["", "{", "[]", "{}", JSON.stringify({ conversations: [old.conversations[0], { id: "two" }] }),
    JSON.stringify({ conversations: [{ id: "two", turns: circle }] }),
    JSON.stringify({ conversations: [{ id: "two", turns: twice }] }),
    JSON.stringify({ conversations: [{ id: "two", messages: [{ role: "user" }] }] }),
    JSON.stringify({ conversations: [{ id: "two", turns: [{ id: "a", parent: null, role: "system", content: "x" }] }] })];
  for (const text of broken) {
    await importText(page, text, "broken.json");
    const told = page.locator(".notice.bad", { hasText: "broken.json was not imported" });
    await told.waitFor();
    await told.getByRole("button", { name: "Close" }).click();
    assert.equal(await page.locator("#list li").count(), 1, text);
  }
});

test("what the older page kept is taken over", async () => {
  const context = await newContext();
  const page = await openPage(context, url);
  await page.evaluate(() => new Promise((resolve) => {
    const request = indexedDB.open("bittern", 1);
    request.onsuccess = () => {
      const put = request.result.transaction("conversations", "readwrite").objectStore("conversations");
      put.put({ id: "old", title: "An old one", changed: 1, messages: [{ role: "user", content: "Hi" }, { role: "assistant", content: "Hello", about: {} }] }).onsuccess = resolve;
    };
  }));
  await page.goto("about:blank");
  await page.goto(url + "/#old");
  await isReady(page);
  assert.deepEqual(await texts(page, "assistant"), ["Hello"]);
  await ask(page, "What is a tern?");
  await page.reload();
  await isReady(page);
  assert.deepEqual(await texts(page, "user"), ["Hi", "What is a tern?"]);
  assert.equal(await page.locator("#list li").count(), 1);
});

test("a question is kept as it is sent, a part of its answer as it grows", async () => {
  const page = await fresh();
  control.holdAfter = 0;
  await page.fill("#input", LONG);
  // The page goes in the same moment: nothing could be saved later.
  await page.evaluate(() => { document.querySelector("#form").requestSubmit(); location.reload(); });
  await isReady(page);
  await page.locator("#list li").first().waitFor();
  assert.deepEqual(await texts(page, "user"), [LONG]);
  control.holdAfter = 10;
  await page.getByRole("button", { name: "Answer" }).click();
  await isWriting(page);
  await page.reload();
  await isReady(page);
  const part = (await texts(page, "assistant"))[0];
  assert.ok(part.length > 5, part);
  assert.match(await page.locator(".mark").innerText(), /Stopped/);
  await picture(page, "stopped");
  control.bodies.length = 0;
  control.holdAfter = Infinity;
  await page.getByRole("button", { name: "Continue" }).click();
  await settle(page);
  assert.equal(control.bodies[0].continue_final_message, true);
  assert.deepEqual(control.bodies[0].messages.map((one) => one.role), ["user", "assistant"]);
  const whole = (await texts(page, "assistant"))[0];
  assert.ok(whole.startsWith(part) && whole.length > part.length, whole);
  assert.equal(await page.locator(".mark", { hasText: "Stopped" }).count(), 0);
});

test("a stopped answer has a mark and its numbers, and can be asked again", async () => {
  const page = await fresh();
  control.holdAfter = 10;
  await say(page, LONG);
  await isWriting(page);
  await page.waitForFunction(() => /\d+ tokens · [\d.]+ tokens\/s/.test(document.querySelector("article .live").textContent));
  await page.keyboard.press("Escape");
  await settle(page);
  const article = page.locator("article.assistant");
  await article.locator("summary").click();
  assert.match(await article.innerText(), /Stopped before its end\.[^]*tokens\/s\s+\d+ tokens · prompt \d+/);
  control.holdAfter = Infinity;
  const part = (await texts(page, "assistant"))[0];
  await page.getByRole("button", { name: "Ask again" }).click();
  await settle(page);
  assert.match(await page.locator(".versions").innerText(), /2\s*\/\s*2/);
  await page.getByRole("button", { name: "Previous version" }).click();
  assert.equal((await texts(page, "assistant"))[0], part);
});

test("a connection that ends in the middle leaves the part, marked, and says why", async () => {
  const page = await fresh();
  Object.assign(control, { cutAfter: 14, delay: 20 });
  await ask(page, LONG);
  assert.match(await page.locator(".failure").innerText(), /broke off/);
  assert.match(await page.locator(".mark").innerText(), /Stopped/);
  control.cutAfter = 0;
  await page.reload();
  await isReady(page);
  assert.equal(await page.locator(".failure").count(), 0);
  assert.equal(await page.locator("article.assistant").count(), 1);
});

test("two tabs do not overwrite each other and show what the other one does", async () => {
  const context = await newContext();
  const one = await openPage(context, url);
  await ask(one, "What is a tern?");
  const two = await openPage(context, url, "/" + new URL(one.url()).hash);
  assert.deepEqual(await texts(two, "user"), ["What is a tern?"]);
  await ask(two, "Where does it live?");
  await one.waitForFunction(() => document.querySelectorAll("article").length === 4);
  assert.deepEqual(await texts(one, "assistant"), await texts(two, "assistant"));
  // Both at the same time: two branches, and nothing is gone.
  control.delay = 30;
  await Promise.all([say(one, "And what is a crab?"), say(two, "And what is a gull?")]);
  await Promise.all([settle(one), settle(two)]);
  control.delay = 0;
  await one.waitForTimeout(300);
  for (const page of [one, two]) {
    await page.reload();
    await isReady(page);
    const all = (await exported(page)).conversations[0].turns.filter((turn) => turn.role === "user").map((turn) => turn.content);
    assert.deepEqual(all.sort(), ["And what is a crab?", "And what is a gull?", "What is a tern?", "Where does it live?"]);
    assert.match(await page.locator(".versions").first().innerText(), /[12]\s*\/\s*2/);
  }
  // An answer that one tab writes is no stopped one in the other.
  control.holdAfter = 10;
  await one.click("#new");
  await say(one, LONG);
  await isWriting(one);
  await two.goto("about:blank");
  await two.goto(one.url());
  await two.getByText("Another tab writes this answer.").waitFor();
  await one.keyboard.press("Escape");
  await two.getByText("Stopped before its end.").waitFor();
});

test("a deleted conversation stays deleted, whatever another tab saves, until it is brought back", async () => {
  const context = await newContext();
  const one = await openPage(context, url);
  await ask(one, "What is a tern?");
  const two = await openPage(context, url, "/" + new URL(one.url()).hash);
  control.holdAfter = 10;
  await say(two, LONG);
  await isWriting(two);
  await one.locator("#list li").first().hover();
  await one.locator("#list .drop").first().click();
  await two.getByText("deleted in another tab").waitFor();
  control.holdAfter = Infinity;
  await settle(two);
  assert.equal(await two.locator("article").count(), 4);
  await one.reload();
  await isReady(one);
  assert.equal(await one.locator("#list li").count(), 0);
  await two.getByRole("button", { name: "Bring it back" }).click();
  await one.locator("#list li").first().waitFor();
  await one.locator("#list .open").click();
  assert.equal(await one.locator("article").count(), 4);
});

test("a full storage is told in plain words, and nothing is lost in the open tab", async () => {
  const page = await fresh();
  await ask(page, "What is a gull?");
  await page.click("#new");
  await page.evaluate(() => {
    window.put = IDBObjectStore.prototype.put;
    IDBObjectStore.prototype.put = () => { throw new DOMException("no", "QuotaExceededError"); };
  });
  await ask(page, "What is a tern?");
  const told = page.locator(".notice.bad", { hasText: "storage is full" });
  await told.waitFor();
  await picture(page, "full");
  await ask(page, "Where does it live?");
  assert.equal(await page.locator("article").count(), 4);
  assert.deepEqual((await exported(page)).conversations.map((one) => one.turns.length).sort(), [2, 4]);
  // The mark of a deletion is refused, too: the record goes all the same, and stays away.
  await page.getByRole("button", { name: "Delete What is a gull?" }).click();
  for (let i = 0; i < 40 && (await kept(page)).includes("gull?"); ++i) await page.waitForTimeout(100);
  assert.ok(!(await kept(page)).includes("gull?"));
  await page.evaluate(() => { IDBObjectStore.prototype.put = window.put; });
  await ask(page, "What is a crab?");
  await told.waitFor({ state: "detached" });
  await page.reload();
  await isReady(page);
  assert.equal(await page.locator("article").count(), 6);
  assert.equal(await page.locator("#list li").count(), 1);
});

test("a storage that is really full: what was refused is saved once there is room", async () => {
  const context = await newContext();
  const page = await openPage(context, url);
  const browser = await context.newCDPSession(page);
  const origin = new URL(url).origin;
  await browser.send("Storage.overrideQuotaForOrigin", { origin, quotaSize: 300_000 });
  await ask(page, "What is a tern?");
  await page.click("#new");
  control.refuse = () => ({ status: 400, message: "too long" });
  const long = "A long question. ".repeat(40_000);
  await ask(page, long);
  const told = page.locator(".notice.bad", { hasText: "storage is full" });
  await told.waitFor();
  await browser.send("Storage.overrideQuotaForOrigin", { origin });
  await page.getByRole("button", { name: "Delete What is a tern?" }).click();
  await told.waitFor({ state: "detached" });
  await page.reload();
  await isReady(page);
  assert.equal((await exported(page)).conversations.length, 1);
  assert.equal((await exported(page)).conversations[0].turns[0].content, long);
});

test("the open conversation and every draft come back after a reload", async () => {
  const page = await fresh();
  await ask(page, "What is a tern?");
  await page.fill("#input", "draft of the first");
  await page.click("#new");
  assert.equal(await page.inputValue("#input"), "");
  await ask(page, "What is a crab?");
  await page.fill("#input", "draft of the second");
  await page.reload();
  await isReady(page);
  assert.deepEqual(await texts(page, "user"), ["What is a crab?"]);
  assert.equal(await page.inputValue("#input"), "draft of the second");
  await page.locator("#list .open", { hasText: "tern" }).click();
  assert.equal(await page.inputValue("#input"), "draft of the first");
  await page.goBack();
  assert.deepEqual(await texts(page, "user"), ["What is a crab?"]);
  await page.locator("article.user").getByRole("button", { name: "Edit" }).click();
  await page.fill("#input", "an edit in the middle");
  await page.reload();
  await isReady(page);
  assert.equal(await page.inputValue("#input"), "an edit in the middle");
  await page.keyboard.press("Escape");
  assert.equal(await page.inputValue("#input"), "draft of the second");
});
