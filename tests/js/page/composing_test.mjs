// SPDX-License-Identifier: Apache-2.0
// What goes into a message and what stands around it: files, titles, deleting, the greeting, errors, keys, progress.
import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { ask, isReady, isWriting, kept, newContext, noProblems, openPage, picture, say, serve, settle, stopAll, texts,
  wire } from "./browser.mjs";

const { url, control } = await wire(await serve());
after(stopAll);
afterEach(() => { Object.assign(control, { delay: 0, holdAfter: Infinity, cutAfter: 0, refuse: null }); control.bodies.length = 0; noProblems(); });
const fresh = async () => openPage(await newContext(), url);
const file = (name, text) => ({ name, mimeType: "text/plain", buffer: Buffer.from(text) });
/** Files as a drop or a paste brings them. */
const bring = (page, kind, name, text) => page.evaluate(([kind, name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  const target = document.querySelector("#input");
  target.dispatchEvent(kind === "drop" ? new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true })
    : new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
}, [kind, name, text]);

test("text files are picked, dropped and pasted, shown with their size, and sent with their name", async () => {
  const page = await fresh();
  await page.setInputFiles("#files", [file("notes.txt", "one tern"), file("fence.md", "a\n````\nb\n````\n")]);
  await bring(page, "drop", "dropped.csv", "a,b\n1,2\n");
  await bring(page, "paste", "pasted.txt", "a gull");
  const chips = page.locator("#chips li");
  await chips.nth(3).waitFor();
  assert.match(await chips.first().innerText(), /notes\.txt\s+8 bytes/);
  await page.getByRole("button", { name: "Do not send pasted.txt" }).click();
  await page.reload();
  await isReady(page);
  assert.equal(await chips.count(), 3);
  await picture(page, "chips");
  await ask(page, "What is it?");
  assert.equal(await chips.count(), 0);
  assert.equal(control.bodies[0].messages[0].content, "What is it?\n\nnotes.txt:\n```\none tern\n```\n\n"
    + "fence.md:\n`````\na\n````\nb\n````\n`````\n\ndropped.csv:\n```\na,b\n1,2\n```");
  assert.deepEqual(await page.locator("article.user .chips .name").allInnerTexts(), ["notes.txt", "fence.md", "dropped.csv"]);
  assert.deepEqual(await texts(page, "user"), ["What is it?"]);
  await page.getByRole("button", { name: "Edit" }).click();
  assert.equal(await chips.count(), 3);
});

test("a file that is too large, too long or no text is told with numbers and not attached", async () => {
  const page = await fresh();
  const cases = [[file("big.txt", "x".repeat(2_000_000)), /big\.txt.*1\.9 MiB.*1\.0 MiB/],
    [file("long.txt", "tern and gull ".repeat(1500)), /long\.txt.*[\d,]{5} tokens.*2,048/],
    [{ name: "picture.png", mimeType: "image/png", buffer: Buffer.from([137, 80, 78, 71, 0, 255]) }, /picture\.png is not a text/]];
  for (const [bad, words] of cases) {
    await page.setInputFiles("#files", [bad]);
    await page.locator(".notice.bad", { hasText: words }).waitFor();
    assert.equal(await page.locator("#chips li").count(), 0);
  }
});

test("a conversation is renamed, and deleted with a way back", async () => {
  const page = await fresh();
  await ask(page, "What is a tern?");
  await page.getByRole("button", { name: "Rename What is a tern?" }).click();
  await page.keyboard.type("Birds");
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("#list .open").innerText(), "What is a tern?");
  await page.getByRole("button", { name: "Rename What is a tern?" }).click();
  await page.keyboard.type("Birds");
  await page.keyboard.press("Enter");
  await page.reload();
  await isReady(page);
  assert.equal(await page.locator("#list .open").innerText(), "Birds");
  await page.getByRole("button", { name: "Delete Birds" }).click();
  assert.equal(await page.locator("#list li").count(), 0);
  assert.equal(await page.locator("article").count(), 0);
  await page.getByRole("button", { name: "Undo" }).click();
  assert.equal(await page.locator("article").count(), 2);
  await page.reload();
  await isReady(page);
  assert.equal(await page.locator("article").count(), 2);
  // The page goes in the same moment.
  await page.evaluate(() => { document.querySelector("#list .drop").click(); location.reload(); });
  await isReady(page);
  assert.equal(await page.locator("#list li").count(), 0);
  await page.waitForTimeout(300);
  const rest = await kept(page);
  assert.ok(!rest.includes("tern?") && !rest.includes("Birds"), rest);
});

test("an empty page greets with the model and examples that can be asked", async () => {
  const page = await fresh();
  const greeting = page.locator(".greeting");
  assert.match(await greeting.innerText(), /pocket-3-i2s is a small dictionary .*2,048 tokens/);
  // The built-in model's examples are questions that it can answer.
  assert.match(await greeting.getByRole("button").first().innerText(), /What is a tern/);
  await picture(page, "greeting");
  await greeting.getByRole("button").first().click();
  await settle(page);
  assert.equal(await page.locator("article").count(), 2);
  assert.equal(await greeting.count(), 0);
});

test("an error looks like one, is no message and not in what is sent later", async () => {
  const page = await fresh();
  control.refuse = () => ({ status: 400, message: "The schema <b>cannot</b> be obeyed." });
  await ask(page, "What is a tern?");
  const failure = page.getByRole("alert").filter({ hasText: "The schema <b>cannot</b> be obeyed." });
  await failure.waitFor();
  await picture(page, "error");
  assert.equal(await page.locator("article").count(), 1);
  control.refuse = null;
  await page.getByRole("button", { name: "Try again" }).click();
  await settle(page);
  assert.equal(await failure.count(), 0);
  assert.deepEqual(control.bodies[1].messages.map((one) => one.role), ["user"]);
  control.refuse = () => ({ status: 503, message: "The queue is full." });
  await ask(page, "Where does it live?");
  await failure.or(page.getByText("The queue is full.")).waitFor();
  await page.reload();
  await isReady(page);
  assert.equal(await page.getByText("The queue is full.").count(), 0);
  assert.equal(await page.locator("article").count(), 3);
  await page.getByText("There is no answer yet.").waitFor();
});

test("the prompt's progress and the speed are shown while they grow", async () => {
  const page = await fresh();
  control.delay = 300;
  await say(page, "word ".repeat(900));
  await page.locator("article .live progress").waitFor();
  assert.match(await page.locator("article .live").innerText(), /Reading the prompt: [\d,]+ of [\d,]+ tokens/);
  await picture(page, "progress");
  await page.waitForFunction(() => /\d+ tokens · [\d.]+ tokens\/s/.test(document.querySelector("article .live")?.textContent));
  control.delay = 0;
  await page.keyboard.press("Escape");
  await settle(page);
});

test("an answer goes on while another conversation is read", async () => {
  const page = await fresh();
  await ask(page, "What is a tern?");
  await page.click("#new");
  control.holdAfter = 10;
  await say(page, "What is a crab?");
  await isWriting(page);
  await page.locator("#list .open", { hasText: "tern" }).click();
  assert.deepEqual(await texts(page, "user"), ["What is a tern?"]);
  assert.ok(await page.locator("#send").isVisible());
  control.holdAfter = Infinity;
  await page.waitForFunction(() => !document.querySelector("#list").textContent.includes("…"));
  assert.deepEqual(await texts(page, "user"), ["What is a tern?"]);
  await page.locator("#list .open", { hasText: "crab" }).click();
  assert.equal(await page.locator(".mark").count(), 0);
  assert.ok((await texts(page, "assistant"))[0].length > 8);
});

test("all is done by keys, and a key tells them", async () => {
  const page = await fresh();
  await page.keyboard.type("What is a tern?");
  await page.keyboard.press("Enter");
  await settle(page);
  await page.keyboard.press("ArrowUp");
  assert.equal(await page.inputValue("#input"), "What is a tern?");
  await page.keyboard.press("Escape");
  await page.keyboard.type("really?");
  assert.equal(await page.inputValue("#input"), "really?");
  await page.keyboard.press("Shift+Tab");
  // From message to message: the quiet buttons show where the focus is.
  for (let i = 0; i < 30 && await page.evaluate(() => document.activeElement.textContent) !== "Verify"; ++i) {
    await page.keyboard.press("Shift+Tab");
  }
  await page.waitForTimeout(200);
  assert.equal(await page.evaluate(() => getComputedStyle(document.activeElement.closest(".actions")).opacity), "1");
  await page.keyboard.press("?");
  assert.ok(await page.getByRole("dialog", { name: "Keys" }).isVisible());
  await picture(page, "keys");
  await page.keyboard.press("Escape");
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement.id), "input");
  await page.keyboard.press("Control+Shift+O");
  assert.equal(await page.locator("article").count(), 0);
});
