// SPDX-License-Identifier: Apache-2.0
// @openai/agents by both of OpenAI's APIs.
import assert from "node:assert/strict";
import { Agent, OpenAIProvider, Runner, tool } from "@openai/agents";
import { z } from "zod";

// By the responses API the client takes an answer that was cut for a failure.
const brief = { maxTokens: 200, temperature: 0 };
const Bird = z.object({ kind: z.enum(["tern", "gull"]), count: z.number().int().min(1).max(9) });

// Each tool is there until one was called: the tiny model would call for ever.
function makeTools(called) {
  const one = (name, values) => tool({ name, isEnabled: () => called.length === 0, description: "Tells " + name, parameters: z.object({ place: z.enum(values) }),
    execute: ({ place }) => { called.push([name, place]); return "fine"; } });
  return [one("get_weather", ["Oslo", "Rome"]), one("get_time", ["Oslo", "Rome"])];
}

function testsOf(useResponses) {
  const runner = (url) => new Runner({ tracingDisabled: true,
    modelProvider: new OpenAIProvider({ apiKey: "key", baseURL: url + "/v1", useResponses }) });
  const agent = (more) => new Agent({ name: "Helper", instructions: "Be brief.", model: "pocket", modelSettings: brief, ...more });
  return {
    async "two turns, and a stream"({ url }) {
      const helper = agent();
      const first = await runner(url).run(helper, "Hello");
      assert.equal(typeof first.finalOutput, "string");
      const next = [...first.history, { role: "user", content: "And now?" }];
      const whole = await runner(url).run(helper, next);
      const stream = await runner(url).run(helper, next, { stream: true });
      let text = "";
      for await (const part of stream.toTextStream()) text += part;
      await stream.completed;
      assert.equal(text, whole.finalOutput);
    },
    async "two tools, whole and streamed"({ url }) {
      for (const stream of [false, true]) {
        const called = [];
        const helper = agent({ tools: makeTools(called), modelSettings: { ...brief, toolChoice: "get_time" } });
        const result = await runner(url).run(helper, "What time is it in Oslo?", { stream, maxTurns: 4 });
        if (stream) for await (const event of result) assert.ok(event.type);
        assert.equal(called[0][0], "get_time");
        assert.equal(typeof result.finalOutput, "string");
      }
    },
    async "a handoff"({ url }) {
      const other = agent({ name: "Other", handoffDescription: "Knows birds" });
      const helper = agent({ handoffs: [other], modelSettings: { ...brief, toolChoice: "transfer_to_Other" } });
      const result = await runner(url).run(helper, "What is a tern?");
      assert.equal(result.lastAgent.name, "Other");
      assert.equal(typeof result.finalOutput, "string");
    },
    async "an output type, alone and beside tools"({ url }) {
      const alone = await runner(url).run(agent({ outputType: Bird }), "A bird?");
      assert.ok(Bird.safeParse(alone.finalOutput).success);
      for (const stream of [false, true]) {
        const called = [];
        const helper = agent({ tools: makeTools(called), outputType: Bird, modelSettings: { ...brief, toolChoice: "get_weather" } });
        const result = await runner(url).run(helper, "A bird?", { stream, maxTurns: 6 });
        if (stream) await result.completed;
        assert.equal(called[0][0], "get_weather");
        assert.ok(Bird.safeParse(result.finalOutput).success);
      }
    },
  };
}

const named = (api, tests) => Object.entries(tests).map(([name, test]) => [`${api}: ${name}`, test]);
export const tests = Object.fromEntries([...named("chat", testsOf(false)), ...named("responses", testsOf(true))]);
