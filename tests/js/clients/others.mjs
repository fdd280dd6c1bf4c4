// SPDX-License-Identifier: Apache-2.0
// LlamaIndex and instructor.
import assert from "node:assert/strict";
import instructor from "@instructor-ai/instructor";
import { openai } from "@llamaindex/openai";
import { agent } from "@llamaindex/workflow";
import { tool } from "llamaindex";
import OpenAI from "openai";
import { z } from "zod";
import { z as old } from "zod/v3";

const Bird = z.object({ kind: z.enum(["tern", "gull"]), count: z.number().int().min(1).max(9) });
// Instructor reads schemas of zod 3 only: one of zod 4 becomes an empty schema.
const OldBird = old.object({ kind: old.enum(["tern", "gull"]), count: old.number().int().min(1).max(9) });
const messages = [{ role: "user", content: "What time is it?" }];
const llm = (url, maxTokens) => openai({ model: "gpt-4o-mini", apiKey: "key", baseURL: url + "/v1", temperature: 0, maxTokens, maxRetries: 0 });
const clock = tool({ name: "get_time", description: "The time", parameters: z.object({ zone: z.enum(["UTC", "CET"]) }), execute: () => "12:00" });

async function bird(url, mode) {
  const client = instructor({ client: new OpenAI({ baseURL: url + "/v1", apiKey: "key", maxRetries: 0 }), mode });
  return client.chat.completions.create({ model: "pocket", messages, max_tokens: 80, temperature: 0, max_retries: 0,
    response_model: { schema: OldBird, name: "Bird" } });
}

export const tests = {
  async "llamaindex: chat, stream, complete"({ url }) {
    const whole = await llm(url, 8).chat({ messages });
    assert.ok(whole.message.content.length > 0);
    let text = "";
    for await (const part of await llm(url, 8).chat({ messages, stream: true })) text += part.delta;
    assert.equal(text, whole.message.content);
    const made = await llm(url, 8).complete({ prompt: "Hello" });
    assert.ok(made.text.length > 0);
  },
  async "llamaindex: tools, a schema, an agent"({ url }) {
    const called = await llm(url, 80).chat({ messages, tools: [clock], additionalChatOptions: { tool_choice: "required" } });
    const call = called.message.options.toolCall[0];
    assert.equal(call.name, "get_time");
    const kept = await llm(url, 80).chat({ messages, responseFormat: Bird });
    assert.ok(Bird.safeParse(JSON.parse(kept.message.content)).success);
    const ran = await agent({ llm: llm(url, 40), tools: [clock] }).run("Hello");
    assert.equal(typeof ran.data.result, "string");
  },
  // Instructor's FUNCTIONS mode sends `functions`, which the server refuses; JSON mode leaves the schema to the model.
  async "instructor: TOOLS"({ url }) { assert.ok(OldBird.safeParse(await bird(url, "TOOLS")).success); },
  async "instructor: JSON_SCHEMA"({ url }) { assert.ok(OldBird.safeParse(await bird(url, "JSON_SCHEMA")).success); },
};
