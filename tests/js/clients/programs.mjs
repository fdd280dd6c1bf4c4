// SPDX-License-Identifier: Apache-2.0
// Programs that talk to a server: codex and opencode, one question each, without an account. The usual prompts of both
// are longer than the tiny model's context, so they get short ones and most of codex's tools are off.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const resolve = createRequire(import.meta.url).resolve;
const codexProgram = join(dirname(resolve("@openai/codex/package.json")), "bin", "codex.js");

// The exit code, the standard output and the standard error; the input is empty.
function runProgram(program, words, folder, more = {}) {
  const env = { PATH: process.env.PATH, HOME: folder, CODEX_HOME: folder, KEY: "key", ...more };
  return new Promise((done) => {
    const child = execFile(program, words, { env, cwd: join(folder, "empty"), timeout: 50000 },
      (error, out, err) => done({ code: error ? error.code ?? 1 : 0, out, err }));
    child.stdin.end();
  });
}

async function inFolder(use) {
  const folder = mkdtempSync(join(tmpdir(), "clients-"));
  mkdirSync(join(folder, "empty"));
  writeFileSync(join(folder, "short.md"), "Be brief.");
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function codex(url, folder) {
  const { out } = await runProgram(process.execPath, [codexProgram, "features", "list"], folder);
  const features = out.split("\n").filter((line) => /\strue\s*$/.test(line)).map((line) => line.split(" ")[0]);
  const provider = `{name="b",base_url="${url}/v1",env_key="KEY",wire_api="responses",request_max_retries=0,stream_max_retries=0}`;
  const settings = ['web_search="disabled"', "model_provider=b", `model_providers.b=${provider}`,
    `model_instructions_file="${join(folder, "short.md")}"`];
  return runProgram(process.execPath, [codexProgram, "exec", "--skip-git-repo-check", "-s", "read-only", "-m", "pocket",
    ...features.flatMap((name) => ["--disable", name]), ...settings.flatMap((setting) => ["-c", setting]), "Hello"], folder);
}

async function opencode(url, folder) {
  const model = { name: "pocket", limit: { context: 2048, output: 40 } };
  writeFileSync(join(folder, "opencode.json"), JSON.stringify({ share: "disabled", autoupdate: false, model: "b/pocket", small_model: "b/pocket",
    provider: { b: { npm: "@ai-sdk/openai-compatible", name: "b", options: { baseURL: url + "/v1", apiKey: "key" }, models: { pocket: model } } },
    agent: { short: { mode: "primary", prompt: "Be brief.", model: "b/pocket", permission: { "*": "deny" } } } }));
  const program = resolve(`opencode-${process.platform}-${process.arch}/package.json`);
  return runProgram(join(dirname(program), "bin", "opencode"), ["run", "--agent", "short", "Hello"], folder,
    { OPENCODE_CONFIG: join(folder, "opencode.json"), OPENCODE_DISABLE_MODELS_FETCH: "1" });
}

const answers = (program) => ({ url }) => inFolder(async (folder) => {
  const { code, out, err } = await program(url, folder);
  assert.equal(code, 0, err);
  assert.ok(out.trim().length > 0, err);
});

export const tests = { "codex exec": answers(codex), "opencode run": answers(opencode) };
