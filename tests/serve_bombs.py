# SPDX-License-Identifier: Apache-2.0
"""Requests that once held the server for long or took its memory, each with what it may cost now (docs/serving.md, "Budgets")."""

TINY = {"prompt": "A tern is", "n_predict": 1, "temperature": 0}


def conditions(count):
    one = lambda i: {"if": {"properties": {f"a{i}": {"const": 1}}, "required": [f"a{i}"]},
                     "then": {"required": [f"b{i}"]}, "else": {"required": [f"c{i}"]}}
    return {"type": "object", "allOf": [one(i) for i in range(count)]}


def one_of(count):
    return {"oneOf": [{"type": "object", "required": [f"p{i}"]} for i in range(count)]}


def chat(**more):
    return {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1, **more}


def schema(value):
    return chat(response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": value}})


def call(i):
    return {"type": "function_call", "call_id": f"c{i}", "name": "f", "arguments": "{}"}


def tool(i, parameters):
    return {"type": "function", "function": {"name": f"f{i}", "parameters": parameters}}


# Name, path, body, status, the field or words of the error, most CPU seconds. They are several times those that an idle
# machine takes; without its budget a case takes ten times as much, or minutes.
CASES = (
    ("calls", "/v1/responses", {"input": [call(i) for i in range(30_000)], "max_output_tokens": 1}, 400, "tokens", 6),
    ("kwargs", "/v1/chat/completions", chat(chat_template_kwargs={f"k{i}": 1 for i in range(50_000)}), 400,
     "chat_template_kwargs: 64 members", 2),
    ("kwargs, deep", "/v1/chat/completions", chat(chat_template_kwargs={"k": {f"k{i}": 1 for i in range(50_000)}}), 200, "", 2),
    ("conditions", "/v1/chat/completions", schema(conditions(16)), 400, "steps of work", 2),
    ("oneOf", "/v1/chat/completions", schema(one_of(4000)), 400, "steps of work", 3),
    ("tools", "/v1/chat/completions", chat(tools=[tool(i, conditions(6)) for i in range(100)]), 400, "steps of work", 3),
    ("prompt", "/completion", {"prompt": "and the " * 2_000_000, "n_predict": 1}, 400, "the prompt has at least", 3),
    ("message", "/v1/chat/completions", chat(messages=[{"role": "user", "content": "and the " * 2_000_000}]), 400,
     "the prompt has at least", 4),
    ("messages", "/v1/chat/completions", chat(messages=[{"role": "user", "content": "a"}] * 100_000), 400, "the prompt has", 8),
    ("bias", "/completion", {**TINY, "logit_bias": [[i % 300, 1] for i in range(100_000)]}, 400, "logit_bias", 2),
    ("stops", "/completion", {**TINY, "stop": ["a"] * 100_000}, 400, "stop", 2),
    ("prompts", "/v1/completions", {"prompt": ["a"] * 100_000, "max_tokens": 1}, 400, "prompt", 2),
    ("tools, many", "/v1/chat/completions", chat(tools=[tool(i, {"type": "object"}) for i in range(20_000)]), 400, "tools", 2),
    ("logprobs", "/v1/chat/completions", chat(n=64, max_tokens=500, logprobs=True, top_logprobs=100, ignore_eos=True), 400,
     "logprobs: 250000", 2),
    ("logprobs, open end", "/v1/chat/completions", {**chat(n=64, logprobs=True, top_logprobs=100, ignore_eos=True), "max_tokens": -1},
     400, "logprobs: 250000", 20),
    ("pieces", "/tokenize", {"content": "~^" * 4_000_000, "with_pieces": True}, 400, "with_pieces: 1000000", 6),
    ("numbers", "/tokenize", {"content": "and the " * 1_900_000}, 200, "", 8),
)
