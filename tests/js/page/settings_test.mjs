// SPDX-License-Identifier: Apache-2.0
// Settings: the values in force, wrong ones at their field, forms of the answer, functions and their results.
import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { ask, isReady, newContext, noProblems, openPage, picture, serve, set, settle, stopAll, texts, wire } from "./browser.mjs";

const { url, control } = await wire(await serve("--temp", "0.35", "--top-k", "17"));
after(stopAll);
afterEach(() => { Object.assign(control, { delay: 0, holdAfter: Infinity, cutAfter: 0, refuse: null }); control.bodies.length = 0; noProblems(); });
const fresh = async (options) => openPage(await newContext(options), url);

test("fields show the values in force", async () => {
  const page = await fresh();
  await page.click("#settings");
  assert.equal(await page.getAttribute("#temperature", "placeholder"), "0.35");
  assert.equal(await page.getAttribute("#top_k", "placeholder"), "17");
  for (const name of ["top_p", "min_p", "repeat_penalty"]) {
    assert.match(await page.getAttribute("#" + name, "placeholder"), /^[\d.]+$/, name);
  }
  assert.equal(await page.getAttribute("#seed", "placeholder"), "drawn");
});

test("a wrong value is told at its field, never stored and never sent", async () => {
  const page = await fresh();
  const wrong = { temperature: "-1", top_k: "1.5", top_p: "2", min_p: "-0.1", repeat_penalty: "0", max_tokens: "0", seed: "4294967295" };
  for (const [name, value] of Object.entries(wrong)) {
    await page.click("#settings");
    await page.fill("#" + name, value);
    await page.click("#close");
    assert.ok(await page.locator("#drawer").isVisible(), name);
    assert.equal(await page.evaluate(() => document.activeElement.id), name);
    assert.equal(await page.getAttribute("#" + name, "aria-invalid"), "true");
    assert.ok((await page.locator("#" + name + "-problem").innerText()).length > 5);
    if (name === "top_p") await picture(page, "wrong");
    await page.keyboard.press("Escape");
  }
  await page.click("#settings");
  await page.locator("#temperature").pressSequentially("1e");
  await page.click("#close");
  assert.equal(await page.getAttribute("#temperature", "aria-invalid"), "true");
  await page.fill("#temperature", "0.5");
  await page.click("#close");
  assert.ok(!await page.locator("#drawer").isVisible());
  await ask(page, "What is a tern?");
  const sent = control.bodies[0];
  assert.equal(sent.temperature, 0.5);
  for (const name of Object.keys(wrong)) if (name !== "temperature") assert.ok(!(name in sent), name);
});

test("Done is in view on a small screen", async () => {
  for (const viewport of [{ width: 1000, height: 500 }, { width: 320, height: 480 }]) {
    const page = await fresh({ viewport });
    if (viewport.width < 700) await page.click("#menu");
    await page.click("#settings");
    const box = await page.locator("#close").boundingBox();
    assert.ok(box.y + box.height <= viewport.height, JSON.stringify(box));
    await picture(page, "settings-" + viewport.width);
    await page.keyboard.press("Escape");
  }
});

test("an answer is of a schema, a grammar or an expression; a wrong schema is told at its field", async () => {
  const page = await fresh();
  await page.click("#settings");
  await page.selectOption("#form_of", "json_schema");
  await page.click("#close");
  assert.match(await page.locator("#form_text-problem").innerText(), /empty/);
  await page.fill("#form_text", "{\"type\": ");
  await page.click("#close");
  assert.equal(await page.getAttribute("#form_text", "aria-invalid"), "true");
  await page.fill("#form_text", JSON.stringify({ type: "object", properties: { a: { type: "integer", maximum: 9, minimum: 0 } }, required: ["a"], additionalProperties: false }));
  await page.click("#close");
  await ask(page, "A number?");
  assert.ok(Number.isInteger(JSON.parse((await texts(page, "assistant"))[0]).a));
  for (const [form, text, answer] of [["grammar", "root ::= \"tern\"", "tern"], ["regex", "gu(ll){2}", "gullll"]]) {
    await set(page, { form_of: form, form_text: text });
    await page.click("#new");
    await ask(page, "A word?");
    assert.deepEqual(await texts(page, "assistant"), [answer]);
  }
  await set(page, { form_of: "" });
  await page.click("#new");
  await ask(page, "What is a tern?");
  assert.ok(!("regex" in control.bodies.at(-1)));
});

test("a call is a card, and its typed result goes back to the model", async () => {
  const page = await fresh();
  const tool = { name: "weather", parameters: { type: "object", properties: { city: { enum: ["Paris"] } }, required: ["city"], additionalProperties: false } };
  await page.click("#settings");
  await page.fill("#tools", "{\"name\": \"weather\"}");
  await page.click("#close");
  assert.equal(await page.getAttribute("#tools", "aria-invalid"), "true");
  await page.fill("#tools", JSON.stringify([tool]));
  await page.locator("#tools").blur();
  await page.selectOption("#tool_choice", "required");
  await page.click("#close");
  await set(page, { max_tokens: "60" });
  await ask(page, "How is the weather in Paris?");
  const card = page.locator(".card").first();
  assert.match(await card.innerText(), /Calls weather[^]*"city": "Paris"/);
  await set(page, { tool_choice: "auto" });
  for (const field of await page.getByLabel("Result of weather").all()) await field.fill("rain");
  await picture(page, "call");
  await page.getByRole("button", { name: "Send results" }).click();
  await settle(page);
  const roles = control.bodies[1].messages.map((one) => one.role);
  assert.deepEqual([roles[0], roles[1], roles[2], new Set(roles).size], ["user", "assistant", "tool", 3]);
  const [, call, result] = control.bodies[1].messages;
  assert.equal(call.tool_calls[0].function.name, "weather");
  assert.deepEqual([result.tool_call_id, result.content], [call.tool_calls[0].id, "rain"]);
  assert.equal(await page.locator(".failure").count(), 0);
  const count = await page.locator("article").count();
  await page.reload();
  await isReady(page);
  assert.equal(await page.locator("article").count(), count);
  assert.match(await page.locator("article.tool").first().innerText(), /weather[^]*rain/);
});
