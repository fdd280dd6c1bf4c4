// SPDX-License-Identifier: Apache-2.0
// The AI SDK with its providers.
import assert from "node:assert/strict";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createDeepSeek } from "@ai-sdk/deepseek";
import { createGroq } from "@ai-sdk/groq";
import { createMistral } from "@ai-sdk/mistral";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createXai } from "@ai-sdk/xai";
import { generateText, Output, stepCountIs, streamText, tool } from "ai";
import { createOllama } from "ollama-ai-provider-v2";
import { z } from "zod";

const Bird = z.object({ kind: z.enum(["tern", "gull"]), count: z.number().int().min(1).max(9) });
const tools = { get_time: tool({ description: "The time", inputSchema: z.object({ zone: z.enum(["UTC", "CET"]) }), execute: () => "12:00" }) };
const v1 = (url) => ({ baseURL: url + "/v1", apiKey: "key" });
const models = {
  "openai chat": (url) => createOpenAI(v1(url)).chat("pocket"),
  "openai responses": (url) => createOpenAI(v1(url)).responses("pocket"),
  "openai completion": (url) => createOpenAI(v1(url)).completion("pocket"),
  "openai-compatible": (url) => createOpenAICompatible({ name: "bittern", includeUsage: true, supportsStructuredOutputs: true, ...v1(url) })("pocket"),
  "anthropic": (url) => createAnthropic(v1(url))("pocket"),
  "mistral": (url) => createMistral(v1(url))("pocket"),
  "deepseek": (url) => createDeepSeek(v1(url))("pocket"),
  "xai": (url) => createXai(v1(url)).chat("pocket"),
  "groq": (url) => createGroq(v1(url))("pocket"),
  "ollama": (url) => createOllama({ baseURL: url + "/api", headers: { Authorization: "Bearer key" } })("pocket"),
};

function testsOf(name) {
  const ask = (url, more) => ({ model: models[name](url), prompt: "Hello", maxOutputTokens: 8, temperature: 0, maxRetries: 0, ...more });
  const forced = { tools, maxOutputTokens: 80, toolChoice: { type: "tool", toolName: "get_time" } };
  const onError = ({ error }) => { throw error; };
  const texts = {
    async "text and stream"({ url }) {
      const whole = await generateText(ask(url, { system: name.endsWith("completion") ? undefined : "Be brief." }));
      assert.ok(whole.text.length > 0);
      const stream = streamText(ask(url, { system: name.endsWith("completion") ? undefined : "Be brief.", onError }));
      let text = "";
      for await (const part of stream.textStream) text += part;
      assert.equal(text, whole.text);
      assert.equal(await stream.finishReason, whole.finishReason);
    },
  };
  if (name.endsWith("completion")) return texts;
  return { ...texts,
    async "a tool, whole and streamed"({ url }) {
      const whole = await generateText(ask(url, forced));
      assert.ok(["UTC", "CET"].includes(whole.toolCalls[0].input.zone));
      const stream = streamText(ask(url, { ...forced, onError }));
      await stream.consumeStream();
      if (name === "xai") return;  // Its client takes each piece of a call's arguments for a whole call.
      assert.deepEqual((await stream.toolCalls)[0].input, whole.toolCalls[0].input);
    },
    async "two steps"({ url }) {
      const prepareStep = ({ stepNumber }) => ({ toolChoice: stepNumber ? "none" : forced.toolChoice });
      const whole = await generateText(ask(url, { ...forced, prepareStep, stopWhen: stepCountIs(2) }));
      assert.equal(whole.steps.length, 2);
      assert.ok(whole.text.length > 0);
    },
    async "an object, whole and streamed"({ url }) {
      if (name === "deepseek") return;  // It asks for any JSON object, and the tiny model says {}.
      const object = { output: Output.object({ schema: Bird }), maxOutputTokens: 80 };
      const whole = await generateText(ask(url, object));
      assert.ok(Bird.safeParse(whole.output).success);
      const stream = streamText(ask(url, { ...object, onError }));
      await stream.consumeStream();
      assert.deepEqual(await stream.output, whole.output);
    },
    async "an object beside a tool"({ url }) {
      // The tiny model would call for ever.
      const prepareStep = ({ stepNumber }) => ({ toolChoice: stepNumber ? "none" : forced.toolChoice });
      if (name === "deepseek") return;  // As above.
      const both = { tools, output: Output.object({ schema: Bird }), maxOutputTokens: 80, stopWhen: stepCountIs(2), prepareStep };
      const whole = await generateText(ask(url, both));
      assert.ok(Bird.safeParse(whole.output).success);
    },
  };
}

export const tests = Object.fromEntries(Object.keys(models).flatMap((name) =>
  Object.entries(testsOf(name)).map(([what, test]) => [`${name}: ${what}`, test])));
