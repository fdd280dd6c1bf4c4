// SPDX-License-Identifier: Apache-2.0
// @anthropic-ai/sdk: the runner of tools, and helpers with schemas.
import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";
import { z } from "zod";

// The helper drops the limits of numbers from a schema.
const Bird = z.object({ kind: z.enum(["tern", "gull"]), count: z.enum(["one", "two"]) });
const messages = [{ role: "user", content: "What time is it?" }];
const ask = { model: "pocket", max_tokens: 80, messages, temperature: 0 };
const client = (url) => new Anthropic({ baseURL: url, apiKey: "key", maxRetries: 0 });

export const tests = {
  async "the runner of tools, whole and streamed"({ url }) {
    for (const stream of [false, true]) {
      let called = 0;
      const clock = betaZodTool({ name: "get_time", description: "The time", inputSchema: z.object({ zone: z.enum(["UTC", "CET"]) }),
        run: () => { called++; return "12:00"; } });
      const runner = client(url).beta.messages.toolRunner({ ...ask, tools: [clock], stream, max_iterations: 2,
        tool_choice: { type: "tool", name: "get_time" } });
      const last = await runner;
      assert.equal(called, 2);
      assert.equal(last.role, "assistant");
    }
  },
  async "a schema, parsed"({ url }) {
    const whole = await client(url).messages.parse({ ...ask, output_config: { format: zodOutputFormat(Bird) } });
    assert.ok(Bird.safeParse(whole.parsed_output).success);
  },
  async "blocks, caching and an answer that was begun"({ url }) {
    const text = (words) => ({ type: "text", text: words, cache_control: { type: "ephemeral" } });
    const whole = await client(url).messages.create({ ...ask, max_tokens: 8, system: [text("Be brief.")], metadata: { user_id: "u" },
      stop_sequences: ["\n\n"], messages: [{ role: "user", content: [text("What is a tern?")] }, { role: "assistant", content: "A tern is" }] });
    assert.equal(whole.content[0].type, "text");
  },
};
