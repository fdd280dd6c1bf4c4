#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: one_request_test.py BITTERN [LIBRARY [NODE_PACKAGE]]   `batch`, `serve`, Python and Node.js take the same
bodies, give the same bytes and refuse with the same words."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

from serve_client import Server

BITTERN = sys.argv[1]
LIBRARY, NODE_PACKAGE = (sys.argv[2:] + ["", ""])[:2]
CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
TURN = [{"role": "user", "content": "Name a bird."}]
TOOL = {"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": {
    "type": "object", "properties": {"at": {"enum": ["sea", "sky"]}}, "required": ["at"]}}}
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}, "ok": {"type": "boolean"}},
          "required": ["n", "ok"], "additionalProperties": False}

BODIES = [
    {"prompt": "A tern is"},
    {"prompt": [5, 6, 7, 8]},
    {"prompt_ids": [5, 6, 7, 8]},
    {"prompt": ["In the beginning", "And it came to pass"]},
    {"prompt": "A tern is", "n": 3, "temperature": 0.9},
    {"prompt": "A tern is", "echo": True},
    {"prompt": "A tern is", "stop": [" a", "\n"], "min_p": 0.1, "top_k": 20, "temperature": 1.3},
    {"prompt": "A tern is", "logprobs": 3},
    {"prompt": "A tern is", "n_probs": 2, "ignore_eos": True},
    {"prompt": "A tern is", "regex": "( the| a| sea| bird){1,4}"},
    {"prompt": "A tern is", "grammar": 'root ::= " yes" | " no"'},
    {"prompt": "A tern is", "json_schema": SCHEMA, "max_tokens": 40},
    {"prompt": "A tern is", "dry_multiplier": 0.8, "mirostat": 2, "logit_bias": [[5, -1]], "temperature": 1},
    {"prompt": "A tern is", "user": "u", "metadata": {"k": "v"}, "model": "any", "stream": False, "store": False},
    {"messages": TURN},
    {"messages": [{"role": "developer", "content": [{"type": "text", "text": "Be brief."}]}, *TURN]},
    {"messages": TURN, "logprobs": True, "top_logprobs": 2},
    {"messages": TURN, "n": 2, "temperature": 1},
    {"messages": TURN, "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}},
    {"messages": TURN, "tools": [TOOL], "tool_choice": "required", "max_tokens": 60},
    {"messages": TURN, "tools": [TOOL], "max_tokens": 30},
    {"messages": TURN, "tools": [TOOL], "tool_choice": "none"},
]

WRONG = [
    {"prompt": "x", "temprature": 1},
    {"prompt": "x", "top_logprobs": 2},
    {"prompt": "x", "n": 0},
    {"prompt": ["x"] * 9, "n": 128},
    {"prompt": "x", "regex": "a", "grammar": 'root ::= "a"'},
    {"prompt": "x", "stop": 5},
    {"prompt": [1, {"a": 1}]},
    {"messages": []},
    {"messages": TURN, "tools": [{"type": "function", "function": {"name": "no good"}}]},
    {"messages": TURN, "tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "other"}}},
    {"messages": TURN, "suffix": "x"},
    {"messages": TURN, "json_schema": {"type": "object", "unevaluatedItems": {"type": "null"}, "contains": 5}},
]


class OneRequest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(BITTERN, "-np", "4", "-t", "2", "--strict")

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0, cls.server.output()

    def batch(self, bodies):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "in.jsonl")
            with open(path, "w") as out:
                for number, body in enumerate(bodies):
                    # Both kinds of line.
                    line = {"id": str(number), **body} if number % 2 else {
                        "custom_id": str(number), "method": "POST", "url": "/v1/x", "body": body}
                    out.write(json.dumps(line) + "\n")
            done = subprocess.run([BITTERN, "batch", path, "-t", "2"], capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr)
            return [json.loads(line) for line in done.stdout.splitlines()]

    def ask(self, body):
        status, text, _ = self.server.request("POST", CHAT if "messages" in body else TEXT, body)
        return status, json.loads(text)

    def same_choice(self, served, line, body):
        message = served.get("message", {})
        self.assertEqual(message.get("content", served.get("text")) or "", line["text"])
        calls = [call["function"] for call in message.get("tool_calls", [])]
        self.assertEqual(calls, [call["function"] for call in line.get("tool_calls", [])])
        if body.get("logprobs") is True:
            self.assertEqual(served["logprobs"]["content"], line["logprobs"]["content"])
        elif "logprobs" in body:
            self.assertEqual(served["logprobs"]["token_logprobs"],
                             [one["logprob"] for one in line["logprobs"]["content"]])

    def test_same_answers(self):
        bodies = [{"max_tokens": 16, "temperature": 0, "seed": 7, **body} for body in BODIES]
        lines = self.batch(bodies)
        self.assertEqual(len(lines), len(bodies))
        for body, line in zip(bodies, lines):
            with self.subTest(body=body):
                self.assertNotIn("error", line)
                status, answer = self.ask(body)
                self.assertEqual(status, 200, answer)
                choices = line.get("choices", [line])
                self.assertEqual(len(choices), len(answer["choices"]))
                for served, one in zip(answer["choices"], choices):
                    self.same_choice(served, one, body)

    def test_tools_are_called(self):
        line = self.batch([{"messages": TURN, "tools": [TOOL], "tool_choice": "required", "n_predict": 80}])[0]
        call = line["tool_calls"][0]["function"]
        self.assertEqual(call["name"], "look")
        self.assertIn(json.loads(call["arguments"])["at"], ("sea", "sky"))

    def test_python(self):
        if not LIBRARY:
            self.skipTest("no library was given")
        os.environ["BITTERN_LIBRARY"] = LIBRARY
        sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
        import bittern
        bodies = [{"max_tokens": 16, "temperature": 0, "seed": 7, **body} for body in BODIES]
        lines = self.batch(bodies + WRONG)
        with bittern.Engine(bittern.Model(), max_sequences=4) as engine:
            futures = [engine.answer(body) for body in bodies]
            for body, line, future in zip(bodies, lines, futures):
                with self.subTest(body=body):
                    del line["id"]
                    self.assertEqual(future.result(), line)
            for body, line in zip(WRONG, lines[len(bodies):]):
                with self.assertRaises(bittern.ArgumentError) as caught:
                    engine.answer(body)
                self.assertEqual(caught.exception.message, line["error"])
            parts = []
            whole = engine.answer({"prompt": "A tern is", "max_tokens": 9, "seed": 1}, on_text=parts.append).result()
            self.assertEqual("".join(parts), whole["text"])
            answer = engine.answer({"prompt": "A tern is"}, n_predict=3, temperature=0).result()  # settings as defaults
            self.assertEqual(len(answer["ids"]), 3)
        text = bittern.Model().generate("A tern is", n_predict=4, temperature=0, logprobs=2)
        self.assertEqual([one["id"] for one in text.logprobs], text.ids)
        self.assertEqual([len(one["top_logprobs"]) for one in text.logprobs], [2] * 4)
        calls = bittern.Model().create_chat_completion(TURN, tools=[TOOL], tool_choice="required", max_tokens=60,
                                                       temperature=0)
        self.assertEqual(calls["choices"][0]["finish_reason"], "tool_calls")
        streamed = list(bittern.Model().create_chat_completion(TURN, tools=[TOOL], tool_choice="required",
                                                               max_tokens=60, temperature=0, stream=True))
        found = [call for one in streamed for call in one["choices"][0]["delta"].get("tool_calls", [])]
        self.assertEqual([call["function"] for call in found],
                         [call["function"] for call in calls["choices"][0]["message"]["tool_calls"]])

    def test_receipts(self):
        """One receipt at every door, but for the name that a server goes by."""
        if not LIBRARY or not NODE_PACKAGE:
            self.skipTest("no library or no package was given")
        body = {"prompt": "A tern is", "max_tokens": 9, "temperature": 1, "seed": 3, "receipt": True}
        script = f"""
          const {{ Model }} = require({json.dumps(os.path.realpath(NODE_PACKAGE))});
          (async () => {{
            const model = await Model.load();
            const engine = await model.engine();
            const {{ receipt }} = await engine.answer({json.dumps(body)});
            const text = await model.complete('A tern is', {{ nPredict: 9, temperature: 1, seed: 3, receipt: true }});
            await engine.close();
            process.stdout.write(JSON.stringify([receipt, text.receipt]));
          }})();"""
        done = subprocess.run(["node", "-e", script], capture_output=True, text=True, timeout=300, check=True)
        node, node_text = json.loads(done.stdout)
        os.environ["BITTERN_LIBRARY"] = LIBRARY
        sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
        import bittern
        model = bittern.Model()
        with bittern.Engine(model) as engine:
            python = engine.answer(body).result()["receipt"]
        text = model.generate("A tern is", n_predict=9, temperature=1, seed=3, receipt=True)
        served = self.ask(body)[1]["choices"][0]["receipt"]
        for other in (node, node_text, text.receipt):
            self.assertEqual(other, python)
        for name in ("model", "hash"):
            del served[name]
        self.assertEqual(served, {k: v for k, v in python.items() if k not in ("model", "hash")})
        self.assertTrue(model.verify(python)["identical"])

    def test_node(self):
        if not NODE_PACKAGE:
            self.skipTest("no package was given")
        bodies = [{"max_tokens": 16, "temperature": 0, "seed": 7, **body} for body in BODIES]
        lines = self.batch(bodies + WRONG)
        script = f"""
          const bittern = require({json.dumps(os.path.realpath(NODE_PACKAGE))});
          (async () => {{
            const model = await bittern.Model.load();
            const engine = await model.engine({{ maxSequences: 4 }});
            const bodies = JSON.parse(require('fs').readFileSync(0));
            const answers = await Promise.all(bodies.map((body) => engine.answer(body).catch((e) => ({{ error: e.message }}))));
            const {{ logprobs, ids }} = await engine.complete('A tern is', {{ nPredict: 4, temperature: 0, logprobs: 1 }});
            const tools = {{ messages: {json.dumps(TURN)}, tools: [{json.dumps(TOOL)}], tool_choice: 'required', max_tokens: 60, temperature: 0 }};
            const whole = await model.createChatCompletion(tools);
            let calls = [];
            for await (const chunk of await model.createChatCompletion({{ ...tools, stream: true }})) calls.push(...chunk.choices[0].delta.tool_calls ?? []);
            await engine.close();
            console.log(JSON.stringify([answers, logprobs, ids, whole.choices[0].message.tool_calls, calls]));
          }})();"""
        out = subprocess.run(["node", "-e", script], input=json.dumps(bodies + WRONG).encode(), capture_output=True)
        self.assertEqual(out.returncode, 0, out.stderr)
        answers, logprobs, ids, whole, calls = json.loads(out.stdout)
        for body, line, answer in zip(bodies + WRONG, lines, answers):
            with self.subTest(body=body):
                del line["id"]
                self.assertEqual(answer, line)
        self.assertEqual([one["id"] for one in logprobs], ids)
        self.assertEqual([call["function"] for call in whole], [call["function"] for call in calls])

    def test_same_refusals(self):
        for body, line in zip(WRONG, self.batch(WRONG)):
            with self.subTest(body=body):
                status, answer = self.ask(body)
                self.assertEqual(status, 400, answer)
                self.assertEqual(answer["error"]["message"], line["error"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
