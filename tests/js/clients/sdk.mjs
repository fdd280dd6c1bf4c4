// SPDX-License-Identifier: Apache-2.0
// The makers' own clients: openai, ollama, @anthropic-ai/sdk; and the AI SDK in short.
import assert from "node:assert/strict";
import OpenAI from "openai";
import Anthropic from "@anthropic-ai/sdk";
import { Ollama } from "ollama";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { embedMany, generateText, streamText } from "ai";

const messages = [{ role: "user", content: "Hello" }];
const common = { model: "pocket", messages, max_tokens: 6, seed: 3 };

export const tests = {
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
  async "openai, ollama, ai: vectors of texts"({ url }) {
    const client = new OpenAI({ baseURL: url + "/v1", apiKey: "key", maxRetries: 0 });
    const input = ["a small bird", "a large bird", "the sea"];
    const asked = await client.embeddings.create({ model: "pocket", input });  // in base64, which it decodes
    assert.deepEqual(asked.data.map((one) => one.index), [0, 1, 2]);
    assert.ok(asked.usage.prompt_tokens > 3);
    const plain = await client.embeddings.create({ model: "pocket", input, encoding_format: "float" });
    for (let i = 0; i < input.length; ++i) {
      assert.deepEqual(Float32Array.from(asked.data[i].embedding), Float32Array.from(plain.data[i].embedding));
      assert.ok(Math.abs(Math.hypot(...plain.data[i].embedding) - 1) < 1e-5);
    }
    const ollama = await new Ollama({ host: url, headers: { Authorization: "Bearer key" } }).embed({ model: "pocket", input });
    assert.deepEqual(ollama.embeddings, plain.data.map((one) => one.embedding));
    const provider = createOpenAICompatible({ name: "bittern", baseURL: url + "/v1", apiKey: "key" });
    const many = await embedMany({ model: provider.textEmbeddingModel("pocket"), values: input, maxRetries: 0 });
    assert.deepEqual(many.embeddings, ollama.embeddings);
  },
  async "openai: tools, single, parallel, by name, streamed"({ url }) {
    const client = new OpenAI({ baseURL: url + "/v1", apiKey: "key", maxRetries: 0 });
    const weather = { type: "function", function: { name: "get_weather", description: "The weather", strict: true, parameters: {
      type: "object", properties: { city: { type: "string", enum: ["Oslo", "Rome"] }, days: { type: "integer", minimum: 1, maximum: 9 } },
      required: ["city", "days"], additionalProperties: false } } };
    const clock = { type: "function", function: { name: "get_time", parameters: { type: "object", properties: {
      zone: { type: "string", enum: ["UTC", "CET"] } }, required: ["zone"], additionalProperties: false } } };
    const ask = { model: "x", messages: [{ role: "user", content: "The weather in Oslo?" }], tools: [weather, clock], max_tokens: 250, seed: 1 };
    const check = (call) => {
      const given = JSON.parse(call.function.arguments);
      if (call.function.name === "get_time") return assert.ok(["UTC", "CET"].includes(given.zone));
      assert.equal(call.function.name, "get_weather");
      assert.ok(["Oslo", "Rome"].includes(given.city) && given.days >= 1 && given.days <= 9);
    };
    const named = { ...ask, tool_choice: { type: "function", function: { name: "get_time" } } };
    const one = (await client.chat.completions.create(named)).choices[0];
    assert.equal(one.finish_reason, "tool_calls");
    assert.equal(one.message.content, null);
    assert.deepEqual(one.message.tool_calls.map((call) => call.function.name), ["get_time"]);
    check(one.message.tool_calls[0]);
    const single = await client.chat.completions.create({ ...ask, tool_choice: "required", parallel_tool_calls: false });
    assert.equal(single.choices[0].message.tool_calls.length, 1);
    // The tiny model would end after one call: a bias against the end asks for more.
    const ends = await (await fetch(url + "/tokenize", { method: "POST", headers: { Authorization: "Bearer key" },
      body: JSON.stringify({ content: "<|eot_id|><|end_of_text|>" }) })).json();
    const biased = (bias) => Object.fromEntries(ends.tokens.map((token) => [token, bias]));
    let most = 0;
    for (let seed = 1; seed < 12 && most < 2; seed++) {
      const request = { ...ask, tool_choice: "required", seed, temperature: 1, max_tokens: 400, logit_bias: biased(-4 - (seed % 4)) };
      const whole = (await client.chat.completions.create(request)).choices[0];
      if (whole.finish_reason !== "tool_calls") continue;
      const stream = client.chat.completions.stream(request);
      const names = [];
      stream.on("tool_calls.function.arguments.done", (event) => names.push(event.name));
      const last = (await stream.finalChatCompletion()).choices[0];
      assert.equal(last.finish_reason, "tool_calls");
      last.message.tool_calls.forEach(check);
      assert.deepEqual(last.message.tool_calls.map((call) => call.function.arguments), whole.message.tool_calls.map((call) => call.function.arguments));
      assert.deepEqual(names, whole.message.tool_calls.map((call) => call.function.name));
      most = Math.max(most, last.message.tool_calls.length);
    }
    assert.ok(most > 1, "no seed gave two calls");
    const back = [...ask.messages, one.message, { role: "tool", tool_call_id: one.message.tool_calls[0].id, content: "12:00" }];
    const told = await client.chat.completions.create({ ...ask, messages: back, max_tokens: 8, tool_choice: "none" });
    assert.ok(told.choices[0].message.content.length > 0);
    const schema = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"], additionalProperties: false };
    const format = { type: "json_schema", json_schema: { name: "answer", strict: true, schema } };
    const parsed = await client.chat.completions.parse({ model: "x", messages, response_format: format, max_tokens: 40 });
    assert.equal(typeof JSON.parse(parsed.choices[0].message.content).ok, "boolean");
    await assert.rejects(client.chat.completions.create({ ...common, response_format: { type: "json_schema", json_schema: {
      name: "bad", schema: { not: {} , type: "string" } } } }), OpenAI.BadRequestError);
  },
  async "openai: responses, whole, streamed, tools, format"({ url }) {
    const client = new OpenAI({ baseURL: url + "/v1", apiKey: "key", maxRetries: 0 });
    const ask = { model: "x", input: "Hello", max_output_tokens: 6, seed: 3, instructions: "Be brief." };
    const whole = await client.responses.create(ask);
    assert.ok(whole.output_text.length > 0);
    assert.equal(whole.status, "incomplete");
    assert.equal(whole.incomplete_details.reason, "max_output_tokens");
    assert.equal(whole.usage.output_tokens, 6);
    let text = "";
    const types = [];
    for await (const event of await client.responses.create({ ...ask, stream: true })) {
      types.push(event.type);
      if (event.type === "response.output_text.delta") text += event.delta;
    }
    assert.equal(text, whole.output_text);
    assert.deepEqual(types.slice(0, 4), ["response.created", "response.in_progress", "response.output_item.added", "response.content_part.added"]);
    assert.equal(types.at(-1), "response.incomplete");
    const helped = await client.responses.stream(ask).finalResponse();
    assert.equal(helped.output_text, whole.output_text);
    const tool = { type: "function", name: "get_time", strict: true, parameters: { type: "object", properties: {
      zone: { type: "string", enum: ["UTC", "CET"] } }, required: ["zone"], additionalProperties: false } };
    const forced = { model: "x", input: [{ role: "user", content: "What time is it?" }], tools: [tool],
      tool_choice: { type: "function", name: "get_time" }, max_output_tokens: 80, seed: 1 };
    const called = await client.responses.create(forced);
    assert.equal(called.output[0].type, "function_call");
    assert.ok(["UTC", "CET"].includes(JSON.parse(called.output[0].arguments).zone));
    const streamed = await client.responses.stream(forced).finalResponse();
    assert.equal(streamed.output[0].arguments, called.output[0].arguments);
    const back = [...forced.input, called.output[0], { type: "function_call_output", call_id: called.output[0].call_id, output: "12:00" }];
    const told = await client.responses.create({ model: "x", input: back, tools: [tool], tool_choice: "none", max_output_tokens: 5 });
    assert.ok(told.output_text.length > 0);
    const schema = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"], additionalProperties: false };
    const kept = await client.responses.create({ ...ask, max_output_tokens: 30, text: { format: { type: "json_schema", name: "a", strict: true, schema } } });
    assert.equal(typeof JSON.parse(kept.output_text).ok, "boolean");
    await assert.rejects(client.responses.create({ ...ask, previous_response_id: "resp_1" }), /not stored/);
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
    const tools = [{ type: "function", function: { name: "get_time", parameters: { type: "object", properties: { zone: { type: "string", enum: ["UTC"] } }, required: ["zone"] } } }];
    const called = await client.chat({ model: "m", messages, tools, tool_choice: "required", options: { seed: 1, num_predict: 80 } });
    assert.deepEqual(called.message.tool_calls[0].function, { name: "get_time", arguments: { zone: "UTC" } });
    assert.equal((await client.embed({ model: "m", input: "a" })).embeddings.length, 1);
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
    const tools = [{ name: "get_time", input_schema: { type: "object", properties: { zone: { enum: ["UTC", "CET"] } }, required: ["zone"] } }];
    const forced = { ...ask, max_tokens: 80, tools, tool_choice: { type: "tool", name: "get_time" } };
    const called = await client.messages.create(forced);
    assert.equal(called.stop_reason, "tool_use");
    assert.ok(["UTC", "CET"].includes(called.content[0].input.zone));
    const same = await client.messages.stream(forced).finalMessage();
    assert.deepEqual(same.content[0].input, called.content[0].input);
    await assert.rejects(client.messages.create({ ...ask, top_p: 7 }), Anthropic.BadRequestError);
  },
};
