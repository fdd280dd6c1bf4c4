// SPDX-License-Identifier: Apache-2.0
// A server, a slow wire in front of it, and headless Chromium. The program is the environment's BITTERN, pictures go to
// the folder PICTURES.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import http from "node:http";
import { chromium } from "playwright-core";

const pictures = process.env.PICTURES;
const launched = [];
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Starts `bittern serve`; resolves to its address. */
export async function serve(...flags) {
  const server = spawn(process.env.BITTERN, ["serve", "--port", "0", "-t", "1", "--log-format", "none", ...flags]);
  launched.push(() => server.kill("SIGTERM"));
  return new Promise((resolve, reject) => {
    let text = "";
    server.stderr.on("data", (part) => {
      text += part;
      const found = /ready: .* at (http:[^\s,]+),?/.exec(text);
      if (found) resolve(found[1].replace(/\/$/, ""));
    });
    server.on("exit", () => reject(new Error(text)));
  });
}

/**
 * A proxy whose answers of the chat can be slow (`delay` between pieces), held (after `holdAfter` pieces, until it is let
 * go), cut (`cutAfter` pieces) or refused (`refuse`: a function of the body that gives {status, message} or nothing).
 * `bodies` are the requests that came.
 */
export async function wire(target) {
  const control = { delay: 0, holdAfter: Infinity, cutAfter: 0, refuse: null, reply: null, bodies: [] };
  const proxy = http.createServer((request, response) => {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => pass(Buffer.concat(parts), request, response));
  });
  const pass = (body, request, response) => {
    const chat = request.url.includes("/chat/completions");
    if (chat) control.bodies.push(JSON.parse(body));
    const refusal = chat && control.refuse?.(control.bodies.at(-1));
    if (refusal) {
      response.writeHead(refusal.status, { "Content-Type": "application/json" });
      response.end(JSON.stringify({ error: { message: refusal.message, code: refusal.status } }));
      return;
    }
    const { host, origin, ...rest } = request.headers;
    const forward = http.request(target + request.url, { method: request.method, headers: rest }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      if (chat) trickle(answer, response).catch(() => response.destroy()); else answer.pipe(response);
    });
    forward.on("error", () => response.destroy());
    response.on("close", () => forward.destroy());
    forward.end(body);
  };
  const trickle = async (answer, response) => {
    let text = "", count = 0;
    for await (const part of answer) {
      text += part;
      const events = text.split("\n\n");
      text = events.pop();
      for (const event of events) {
        ++count;
        if (control.cutAfter && count > control.cutAfter) return response.destroy();
        while (count > control.holdAfter && !response.destroyed) await pause(20);
        response.write(event + "\n\n");
        if (control.delay) await pause(control.delay);
      }
    }
    response.end(text);
  };
  await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  launched.push(() => { proxy.closeAllConnections(); proxy.close(); });
  return { url: "http://127.0.0.1:" + proxy.address().port, control };
}

export const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
launched.push(() => browser.close());
export async function stopAll() { for (const stop of launched.reverse()) await stop(); }

export const problems = [];
/** Notes errors of scripts and requests that leave the server. `expected`: errors that are no fault of the page. */
function watch(page, url) {
  page.on("console", (message) => {
    if (message.type() === "error" && !/Failed to load resource/.test(message.text())) problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(String(error.stack)));
  page.on("request", (request) => {
    if (!new RegExp("^(" + url + "|data:|blob:)").test(request.url())) problems.push("foreign " + request.url());
  });
}
export function newContext(options) {
  return browser.newContext({ viewport: { width: 1100, height: 750 }, acceptDownloads: true, ...options });
}
/** A tab that has the page and its model. */
export async function openPage(context, url, path = "/") {
  const page = await context.newPage();
  page.setDefaultTimeout(8000);
  watch(page, url);
  await page.goto(url + path);
  await isReady(page);
  return page;
}
export function isReady(page) {
  return page.waitForFunction(() => /\/ \d+/.test(document.querySelector("#used").textContent));
}
export async function say(page, text) {
  await page.fill("#input", text);
  await page.press("#input", "Enter");
}
export function settle(page) {
  return page.waitForFunction(() => document.querySelector("#stop").hidden, null, { timeout: 60000 });
}
export async function ask(page, text) {
  await say(page, text);
  await settle(page);
}
/** Texts of all messages of a role. */
export function texts(page, role) { return page.locator("article." + role + " .text").allInnerTexts(); }
/** Waits until an answer has begun. */
export function isWriting(page) {
  return page.waitForFunction(() => {
    const text = [...document.querySelectorAll("article.assistant .text")].at(-1);
    return text && text.textContent.length > 8 && !document.querySelector("#stop").hidden;
  });
}
export async function set(page, values) {
  await page.click("#settings");
  for (const [name, value] of Object.entries(values)) {
    const field = page.locator("#" + name);
    if (await field.evaluate((node) => node.tagName) === "SELECT") await field.selectOption(value);
    else await field.fill(value);
    await field.blur();
  }
  await page.click("#close");
}
export async function exported(page) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#export")]);
  const parts = [];
  for await (const part of await download.createReadStream()) parts.push(part);
  return JSON.parse(Buffer.concat(parts).toString());
}
export async function importText(page, text, name = "file.json") {
  await page.setInputFiles("#file", { name, mimeType: "application/json", buffer: Buffer.from(text) });
}
/** All that the database has, as a text. */
export function kept(page) {
  return page.evaluate(() => new Promise((resolve) => {
    indexedDB.open("bittern").onsuccess = (event) => {
      const all = event.target.result.transaction("conversations").objectStore("conversations").getAll();
      all.onsuccess = () => resolve(JSON.stringify(all.result));
    };
  }));
}
export async function picture(page, name) {
  if (pictures) await page.screenshot({ path: pictures + "/" + name + ".png" });
}
export function noProblems() { assert.deepEqual(problems.splice(0), []); }
