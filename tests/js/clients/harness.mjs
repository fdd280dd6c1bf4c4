// SPDX-License-Identifier: Apache-2.0
// A server of `bittern serve` for the clients' tests, a runner, and a proxy that keeps the bodies which clients send.
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import http from "node:http";

const kHeaders = ["accept", "anthropic-version", "anthropic-beta", "openai-beta"];
const kLongestText = 60;

/** Starts PROGRAM; resolves to {server, url} when it is ready. */
export function startServer(program) {
  const flags = ["-c", "4096", "-np", "4", "-t", "2", "--api-key", "key", "--log-format", "none"];
  const server = spawn(program, ["serve", "--port", "0", ...flags]);
  return new Promise((resolve, reject) => {
    let text = "";
    server.stderr.on("data", (part) => {
      text += part;
      const ready = /ready: .* at (http:\S+),/.exec(text);
      if (ready) resolve({ server, url: ready[1] });
    });
    server.on("exit", () => reject(new Error(text)));
  });
}

// Ids that the server drew change with each run, and long texts are other people's prompts.
function smaller(value, key = "") {
  if (Array.isArray(value)) return value.map((item) => smaller(item));
  if (key === "client_metadata") return {};  // Times and names of the machine.
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, smaller(item, name)]));
  }
  if (typeof value !== "string" || key === "arguments") return value;
  const plain = value.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "1").replace(/<cwd>[^<]*/g, "<cwd>/").replace(/\b(call|msg|fc|resp|chatcmpl|toolu|req|rs)[-_][A-Za-z0-9_-]{8,}/g, "$1_1");
  return plain.length > kLongestText ? plain.slice(0, kLongestText) : plain;
}

// Two bodies of the same shape differ only in their values.
function shape(value) {
  if (Array.isArray(value)) return "[" + [...new Set(value.map(shape))].join() + "]";
  if (value === null || typeof value !== "object") return value === null ? "null" : typeof value;
  return "{" + Object.keys(value).sort().map((key) => key + ":" + shape(value[key])).join() + "}";
}

/** A proxy in front of `url`; resolves to {url, bodies, close}. `bodies` has one POST of each shape that got a 200. */
export async function startRecorder(url) {
  const bodies = new Map();
  const keep = (request, text) => {
    const body = smaller(JSON.parse(text));
    const headers = Object.fromEntries(kHeaders.filter((name) => request.headers[name]).map((name) => [name, request.headers[name]]));
    const key = request.url + shape(body) + Boolean(body.stream);
    if (!bodies.has(key)) bodies.set(key, { path: request.url, headers, ignored: [], body });
    return bodies.get(key);
  };
  const proxy = http.createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const body = Buffer.concat(parts);
    const onward = http.request(url + request.url, { method: request.method, headers: request.headers }, (answer) => {
      if (request.method === "POST" && answer.statusCode === 200 && /^\/(v1|api)\//.test(request.url)) {
        keep(request, body.toString()).ignored = (answer.headers["bittern-ignored"] ?? "").split(", ").filter(Boolean);
      } else if (answer.statusCode !== 200) {
        answer.on("data", (part) => console.log("  refused:", answer.statusCode, request.url, part.toString().slice(0, 300)));
      }
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    response.on("close", () => onward.destroy());
    onward.on("error", () => response.destroy());
    onward.end(body);
  });
  await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${proxy.address().port}`, bodies, close: () => proxy.closeAllConnections() ?? proxy.close() };
}

/** One body a line, so that a change is seen. */
export function writeBodies(file, bodies) {
  writeFileSync(file, "[\n" + [...bodies.values()].map((body) => JSON.stringify(body)).join(",\n") + "\n]\n");
}

/** Runs each of `tests` (name: function of {url}) for at most a minute; the number that failed. */
export async function runTests(family, tests, running) {
  let failures = 0;
  for (const [name, test] of Object.entries(tests)) {
    let timer;
    const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error("no end after 60 s")), 60000); });
    try {
      await Promise.race([test(running), late]);
      console.log("passed:", family, name);
    } catch (error) {
      failures++;
      console.log("FAILED:", family, name, error);
    } finally {
      clearTimeout(timer);
    }
  }
  return failures;
}
