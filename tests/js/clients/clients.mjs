// SPDX-License-Identifier: Apache-2.0
// Unmodified npm clients against `bittern serve`: clients.mjs BITTERN. Needs openai 6.49.0, ollama 0.6.4,
// @ai-sdk/openai-compatible 2.0.91 with ai 6, @anthropic-ai/sdk 1.12.0.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import OpenAI from "openai";
import Anthropic from "@anthropic-ai/sdk";
import { Ollama } from "ollama";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, streamText } from "ai";

const program = process.argv[2];
const messages = [{ role: "user", content: "Hello" }];
const common = { model: "pocket", messages, max_tokens: 6, seed: 3 };

function start() {
  const server = spawn(program, ["serve", "--port", "0", "-t", "2", "--api-key", "key", "--log-format", "none"]);
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

const tests = {
  async "openai: chat, stream, n, logprobs, stop"({ url }) {
    const client = new OpenAI({ baseURL: url + "/v1", apiKey: "key", maxRetries: 0 });
    const whole = await client.chat.completions.create(common);
    const text = whole.choices[0].message.content;
    assert.ok(text.length > 0);
    assert.equal(whole.usage.completion_tokens, 6);
    const stream = client.chat.completions.stream({ ...common, stream_options: { include_usage: true } });
    const last = await stream.finalChatCompletion();
    assert.equal(last.choices[0].message.content, text);
    assert.equal(last.choices[0].finish_reason, "length");
    assert.equal(last.usage.completion_tokens, 6);
    const many = await client.chat.completions.create({ ...common, n: 3 });
    assert.deepEqual(many.choices.map((choice) => choice.index), [0, 1, 2]);
    assert.equal(many.choices[0].message.content, text);
    const sums = client.chat.completions.stream({ ...common, logprobs: true, top_logprobs: 2 });
    const tokens = (await sums.finalChatCompletion()).choices[0].logprobs.content;
    assert.equal(tokens.length, 6);
    assert.equal(tokens[0].top_logprobs.length, 2);
    const word = text.slice(3, 6);
    const stopped = await client.chat.completions.create({ ...common, stop: [word] });
    assert.equal(stopped.choices[0].message.content, text.slice(0, text.indexOf(word)));
    assert.equal(stopped.choices[0].finish_reason, "stop");
    const models = [];
    for await (const model of client.models.list()) models.push(model.id);
    assert.equal(models.length, 1);
    const completion = await client.completions.create({ model: "x", prompt: "A tern", max_tokens: 5, logprobs: 1 });
    assert.equal(completion.choices[0].logprobs.tokens.length, 5);
  },
  async "openai: errors, retries, cancellation"({ url }) {
    const client = new OpenAI({ baseURL: url + "/v1", apiKey: "key" });
    await assert.rejects(client.chat.completions.create({ ...common, top_p: 7 }), (error) => {
      assert.ok(error instanceof OpenAI.BadRequestError);
      assert.equal(error.param, "top_p");
      assert.match(error.requestID, /^req-/);
      return true;
    });
    const wrong = new OpenAI({ baseURL: url + "/v1", apiKey: "other", maxRetries: 0 });
    await assert.rejects(wrong.chat.completions.create(common), OpenAI.AuthenticationError);
    const stream = await client.chat.completions.create({ ...common, max_tokens: -1, ignore_eos: true, stream: true });
    for await (const chunk of stream) if (chunk.choices[0].delta.content) break;
    for (let i = 0; ; i++) {
      const slots = await (await fetch(url + "/slots", { headers: { Authorization: "Bearer key" } })).json();
      if (!slots.some((slot) => slot.is_processing)) break;
      assert.ok(i < 200, "the sequence goes on");
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  },
  async "ollama: chat, stream, generate, list, show"({ url }) {
    const client = new Ollama({ host: url, headers: { Authorization: "Bearer key" } });
    const options = { seed: 3, num_predict: 6 };
    const { models } = await client.list();
    const whole = await client.chat({ model: models[0].name, messages, options });
    assert.equal(whole.eval_count, 6);
    let text = "";
    for await (const part of await client.chat({ model: "m", messages, options, stream: true })) text += part.message.content;
    assert.equal(text, whole.message.content);
    const made = await client.generate({ model: "m", prompt: "Hello", options });
    assert.equal(made.response, whole.message.content);
    assert.deepEqual((await client.show({ model: "m" })).capabilities, ["completion", "tools"]);
    await assert.rejects(client.embed({ model: "m", input: "a" }), /no embeddings/);
    await assert.rejects(client.chat({ model: "m", messages, format: "yaml" }), /format/);
  },
  async "ai-sdk: text and stream"({ url }) {
    const provider = createOpenAICompatible({ name: "bittern", baseURL: url + "/v1", apiKey: "key", includeUsage: true });
    const ask = { model: provider("pocket"), prompt: "Hello", maxOutputTokens: 6, seed: 3 };
    const whole = await generateText(ask);
    assert.equal(whole.usage.outputTokens, 6);
    let text = "";
    const stream = streamText(ask);
    for await (const part of stream.textStream) text += part;
    assert.equal(text, whole.text);
    assert.equal(await stream.finishReason, "length");
  },
  async "anthropic: message and stream"({ url }) {
    const client = new Anthropic({ baseURL: url, apiKey: "key", maxRetries: 0 });
    const ask = { model: "pocket", max_tokens: 6, messages, temperature: 0, system: "Be brief." };
    const whole = await client.messages.create(ask);
    const streamed = await client.messages.stream(ask).finalMessage();
    assert.deepEqual(streamed.content, whole.content);
    assert.equal(streamed.stop_reason, whole.stop_reason);
    const count = await client.messages.countTokens({ model: "pocket", messages, system: "Be brief." });
    assert.equal(count.input_tokens, whole.usage.input_tokens + whole.usage.cache_read_input_tokens);
    await assert.rejects(client.messages.create({ ...ask, top_p: 7 }), Anthropic.BadRequestError);
  },
};

const running = await start();
let failures = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    await test(running);
    console.log("passed:", name);
  } catch (error) {
    failures++;
    console.log("FAILED:", name, error);
  }
}
running.server.removeAllListeners("exit");
running.server.kill("SIGTERM");
process.exit(failures ? 1 : 0);
