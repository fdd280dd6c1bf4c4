// SPDX-License-Identifier: Apache-2.0
// LangChain's chat models, and an agent of LangGraph.
import assert from "node:assert/strict";
import { ChatAnthropic } from "@langchain/anthropic";
import { tool } from "@langchain/core/tools";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { ChatOllama } from "@langchain/ollama";
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";

const Bird = z.object({ kind: z.enum(["tern", "gull"]), count: z.number().int().min(1).max(9) });
const clock = tool(() => "12:00", { name: "get_time", description: "The time", schema: z.object({ zone: z.enum(["UTC", "CET"]) }) });
const openai = (url, more) => new ChatOpenAI({ model: "pocket", apiKey: "key", temperature: 0, maxRetries: 0, configuration: { baseURL: url + "/v1" }, ...more });
const models = {
  "openai chat": (url, count) => openai(url, { maxTokens: count }),
  "openai responses": (url, count) => openai(url, { maxTokens: count, useResponsesApi: true }),
  "ollama": (url, count) => new ChatOllama({ model: "pocket", baseUrl: url, temperature: 0, numPredict: count, headers: { Authorization: "Bearer key" } }),
  "anthropic": (url, count) => new ChatAnthropic({ model: "pocket", apiKey: "key", anthropicApiUrl: url, temperature: 0, maxTokens: count, maxRetries: 0 }),
};

function testsOf(name) {
  const model = (url, count = 80) => models[name](url, count);
  return {
    async "invoke, stream, batch"({ url }) {
      const ask = [["system", "Be brief."], ["human", "Hello"]];
      const whole = await model(url, 8).invoke(ask);
      assert.ok(whole.text.length > 0);
      let text = "";
      for await (const part of await model(url, 8).stream(ask)) text += part.text;
      assert.equal(text, whole.text);
      const many = await model(url, 8).batch([ask, ask]);
      assert.deepEqual(many.map((answer) => answer.text), [whole.text, whole.text]);
    },
    async "bound tools, and the way back"({ url }) {
      const force = name === "ollama" ? {} : { tool_choice: "get_time" };
      const bound = model(url).bindTools([clock], force);
      const whole = await bound.invoke("What time is it?");
      if (name === "ollama" && !whole.tool_calls.length) return;  // Ollama's API cannot ask for a call.
      assert.ok(["UTC", "CET"].includes(whole.tool_calls[0].args.zone));
      let last;
      for await (const part of await bound.stream("What time is it?")) last = last ? last.concat(part) : part;
      assert.deepEqual(last.tool_calls[0].args, whole.tool_calls[0].args);
      const result = await clock.invoke(whole.tool_calls[0]);
      const told = await model(url, 8).bindTools([clock]).invoke([["human", "What time is it?"], whole, result]);
      assert.equal(typeof told.text, "string");
    },
    async "structured output"({ url }) {
      for (const method of name === "anthropic" ? ["functionCalling"] : ["jsonSchema", "functionCalling"]) {
        if (name === "ollama" && method === "functionCalling") continue;  // As above.
        const answer = await model(url).withStructuredOutput(Bird, { name: "bird", method }).invoke("A bird?");
        assert.ok(Bird.safeParse(answer).success, method);
      }
    },
    async "an agent of LangGraph"({ url }) {
      const agent = createReactAgent({ llm: model(url, 40), tools: [clock] });
      const { messages } = await agent.invoke({ messages: [["human", "Hello"]] }, { recursionLimit: 9 });
      assert.ok(messages.length >= 2);
      for await (const part of await agent.stream({ messages }, { streamMode: "messages", recursionLimit: 9 })) assert.ok(part);
    },
  };
}

export const tests = Object.fromEntries(Object.keys(models).flatMap((name) =>
  Object.entries(testsOf(name)).map(([what, test]) => [`${name}: ${what}`, test])));
