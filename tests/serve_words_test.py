#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: serve_words_test.py BITTERN   What answers of `bittern serve` may look like: grammars and JSON schemas by
every door, alone and among others, streamed and with receipts. With the built-in model."""
import json
import re
import subprocess
import sys
import tempfile
import threading
import unittest

from serve_client import Server

BITTERN = sys.argv[1]
PERSON = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 12},
                                           "age": {"type": "integer", "minimum": 0, "maximum": 120},
                                           "kind": {"enum": ["tern", "gull"]}},
          "required": ["name", "age", "kind"], "additionalProperties": False}
FORMAT = {"type": "json_schema", "json_schema": {"name": "person", "strict": True, "schema": PERSON}}
CHAT = {"messages": [{"role": "user", "content": "Describe a person."}], "max_tokens": 120, "seed": 5, "temperature": 1.0}


def is_person(text):
    person = json.loads(text)
    assert list(person) == ["name", "age", "kind"], person
    assert len(person["name"]) <= 12 and 0 <= person["age"] <= 120 and person["kind"] in ("tern", "gull"), person
    return True


class WordsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(BITTERN, "-np", "8", "-t", "2", "--alias", "pocket", "--log-format", "none")

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0, cls.server.output()

    def post(self, path, body, want=200):
        status, answer = self.server.post(path, body)
        self.assertEqual(status, want, answer)
        return answer

    def chat(self, **more):
        return self.post("/v1/chat/completions", {**CHAT, **more})

    def refused(self, path, body, param, *words):
        error = self.post(path, body, 400)["error"]
        self.assertEqual(error["param"], param, error)
        for word in words:
            self.assertIn(word, error["message"])

    def test_response_format(self):
        answer = self.chat(response_format=FORMAT, n=4)
        texts = [choice["message"]["content"] for choice in answer["choices"]]
        self.assertTrue(all(is_person(text) for text in texts))
        self.assertEqual([choice["finish_reason"] for choice in answer["choices"]], ["stop"] * 4)
        self.assertGreater(len(set(texts)), 1)
        for i, text in enumerate(texts):
            alone = self.chat(response_format=FORMAT, seed=5 + i)["choices"][0]["message"]["content"]
            self.assertEqual(alone, text)
        events = self.server.stream("/v1/chat/completions", {**CHAT, "response_format": FORMAT, "n": 4, "stream": True})
        for i, text in enumerate(texts):
            parts = [c["delta"].get("content") or "" for e in events if e != "[DONE]" for c in e["choices"] if c["index"] == i]
            self.assertEqual("".join(parts), text)
        for _ in range(3):
            text = self.chat(response_format={"type": "json_object"}, seed=7, max_tokens=300)["choices"][0]
            if text["finish_reason"] == "stop":
                self.assertIsInstance(json.loads(text["message"]["content"]), dict)
        free = self.chat()["choices"]
        self.assertEqual(self.chat(response_format={"type": "text"}, grammar="", json_schema=None)["choices"], free)

    def test_usage_counts_no_end_token(self):
        answer = self.post("/completion", {"prompt": "Is it so? ", "grammar": 'root ::= "yes" | "no"', "return_tokens": True})
        self.assertIn(answer["content"], ("yes", "no"))
        self.assertEqual(answer["stop_type"], "eos")
        self.assertLessEqual(answer["tokens_predicted"] - len(answer["tokens"]), 0)

    def test_every_door(self):
        native = {"prompt": "A person: ", "n_predict": 120, "seed": 2}
        self.assertTrue(is_person(self.post("/completion", {**native, "json_schema": PERSON})["content"]))
        legacy = {"prompt": "A person: ", "max_tokens": 120, "seed": 2}
        for more in ({"json_schema": PERSON}, {"response_format": FORMAT}):
            self.assertTrue(is_person(self.post("/v1/completions", {**legacy, **more})["choices"][0]["text"]))
        date = self.post("/v1/completions", {**legacy, "regex": "[0-9]{4}-[0-9]{2}"})["choices"][0]["text"]
        self.assertRegex(date, r"^[0-9]{4}-[0-9]{2}$")
        word = self.chat(grammar='root ::= ("tern" | "gull"){1,3} "!"', temperature=3)["choices"][0]["message"]["content"]
        self.assertRegex(word, r"^(tern|gull)+!$")
        options = {"seed": 2, "num_predict": 120}
        ollama = {"messages": CHAT["messages"], "options": options, "stream": False}
        self.assertTrue(is_person(self.post("/api/chat", {**ollama, "format": PERSON})["message"]["content"]))
        text = self.post("/api/generate", {"prompt": "x", "options": options, "stream": False, "format": PERSON})
        self.assertTrue(is_person(text["response"]))
        text = self.post("/api/chat", {**ollama, "format": "json", "options": {**options, "num_predict": 9}})
        self.assertTrue(text["message"]["content"].startswith("{"))
        message = self.post("/v1/messages", {"max_tokens": 120, "messages": CHAT["messages"], "output_config": {
            "format": {"type": "json_schema", "schema": PERSON}}})
        self.assertTrue(is_person(message["content"][0]["text"]))

    def test_refused_by_name(self):
        bad = {"type": "object", "properties": {"a": {"unevaluatedItems": False}}}
        chat, text = "/v1/chat/completions", "/v1/completions"
        wrapped = {"type": "json_schema", "json_schema": {"name": "x", "schema": bad}}
        self.refused(chat, {**CHAT, "response_format": wrapped}, "response_format", "/properties/a/unevaluatedItems")
        self.refused(chat, {**CHAT, "json_schema": bad}, "json_schema", "/properties/a/unevaluatedItems")
        self.refused(text, {"prompt": "x", "response_format": wrapped}, "response_format", "/properties/a/unevaluatedItems")
        self.refused("/completion", {"prompt": "x", "grammar": "root ::= nothing"}, "grammar", "nothing")
        self.refused(chat, {**CHAT, "regex": "(?=a)"}, "regex")
        self.refused(chat, {**CHAT, "response_format": {"type": "xml"}}, "response_format.type", "xml")
        self.refused(chat, {**CHAT, "response_format": {"type": "json_schema"}}, "response_format.schema", "none found")
        self.refused(chat, {**CHAT, "response_format": {"type": "text", "x": 1}}, "response_format.x")
        self.refused(chat, {**CHAT, "response_format": FORMAT, "grammar": 'root ::= "a"'}, "response_format", "grammar")
        self.refused("/completion", {"prompt": "x", "json_schema": PERSON, "grammar": 'root ::= "a"'}, "json_schema")
        error = self.post("/api/chat", {"messages": CHAT["messages"], "format": bad}, 400)["error"]
        self.assertIn("/properties/a/unevaluatedItems", error)
        self.post("/api/chat", {"messages": CHAT["messages"], "format": "yaml"}, 400)

    def test_receipts(self):
        for more in ({"response_format": FORMAT, "n": 2}, {"grammar": 'root ::= [a-z]+ "."', "max_tokens": 30},
                     {"response_format": {"type": "json_object"}, "max_tokens": 12}, {"regex": "a{3}"}):
            status, text, _ = self.server.request("POST", "/v1/chat/completions", {**CHAT, **more, "receipt": True})
            self.assertEqual(status, 200, text)
            verify = subprocess.run([BITTERN, "verify", "-", "-t", "1"], input=text, capture_output=True, text=True)
            self.assertEqual(verify.returncode, 0, verify.stdout + verify.stderr)
            self.assertTrue(self.post("/verify", json.loads(text))["identical"])
        receipt = self.chat(regex="[ab]{9}", receipt=True)["choices"][0]["receipt"]
        receipt["options"]["constraint"]["text"] = "[xy]{9}"
        self.assertFalse(self.post("/verify", receipt)["identical"])

    def test_beside_others(self):
        bodies = [{**CHAT, "seed": i, **({"response_format": FORMAT} if i % 2 else {"regex": "[a-f ]{20}"})} for i in range(12)]
        content = lambda body: self.post("/v1/chat/completions", body)["choices"][0]["message"]["content"]
        alone = [content(body) for body in bodies]
        together = [None] * len(bodies)
        threads = [threading.Thread(target=lambda i=i: together.__setitem__(i, content(bodies[i]))) for i in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(together, alone)

    def test_all_allowing_grammar_changes_nothing(self):
        free = self.chat(max_tokens=40)["choices"]
        kept = self.chat(max_tokens=40, grammar="root ::= [^\\x00]*")["choices"]
        self.assertEqual(kept, free)
        self.assertIsNotNone(re.match(r"[^\x00]*$", kept[0]["message"]["content"]))

WEATHER = {"type": "function", "function": {"name": "get_weather", "description": "Weather of a city", "parameters": {
    "type": "object", "properties": {"city": {"enum": ["Oslo", "Rome"]}, "days": {"type": "integer", "minimum": 1, "maximum": 9}},
    "required": ["city", "days"], "additionalProperties": False}}}
CLOCK = {"type": "function", "function": {"name": "get_time", "parameters": {"type": "object", "properties": {
    "zone": {"type": "string", "maxLength": 8}}, "required": ["zone"]}}}
# As models of several families write them, in short.
HERMES = """{%- if tools %}{{ '<|start_header_id|>system<|end_header_id|>\\n\\n' }}{% for tool in tools %}{{ tool | tojson }}
{% endfor %}{{ '<tool_call>...</tool_call><|eot_id|>' }}{% endif %}
{%- for m in messages %}{{ '<|start_header_id|>' + m.role + '<|end_header_id|>\\n\\n' + m.content }}
{%- for c in m.tool_calls or [] %}{{ '<tool_call>\\n{"name": "' + c.function.name + '", "arguments": ' }}{{ c.function.arguments | tojson }}{{ '}\\n</tool_call>' }}{% endfor %}
{{- '<|eot_id|>' }}{% endfor %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}"""
LLAMA3 = HERMES.replace("<tool_call>...</tool_call>", "Environment: ipython; {name, parameters}").replace("<tool_call>", "").replace("</tool_call>", "")
MISTRAL = HERMES.replace("<tool_call>...</tool_call>", "[TOOL_CALLS]").replace("<tool_call>", "").replace("</tool_call>", "")


def check_call(call, case):
    arguments = json.loads(call["function"]["arguments"])
    if call["function"]["name"] == "get_weather":
        case.assertEqual(sorted(arguments), ["city", "days"])
        case.assertIn(arguments["city"], ("Oslo", "Rome"))
        case.assertTrue(1 <= arguments["days"] <= 9)
    else:
        case.assertEqual(call["function"]["name"], "get_time")
        case.assertLessEqual(len(arguments["zone"]), 8)


def joined(events, index=0):
    """The message that the deltas of a choice make, and its finish_reason."""
    content, calls, finish = "", [], None
    for event in events:
        for choice in event["choices"] if event != "[DONE]" else []:
            if choice["index"] != index:
                continue
            finish = choice["finish_reason"] or finish
            content += choice["delta"].get("content") or ""
            for part in choice["delta"].get("tool_calls", []):
                if part["index"] == len(calls):
                    assert part["id"] and part["type"] == "function"
                    calls.append({"function": {"name": part["function"]["name"], "arguments": ""}})
                calls[part["index"]]["function"]["arguments"] += part["function"]["arguments"]
    return content, calls, finish


class ToolsTest(unittest.TestCase):
    ASK = {"messages": [{"role": "user", "content": "What is the weather in Oslo?"}], "max_tokens": 160, "seed": 1,
           "temperature": 1.0, "tools": [WEATHER, CLOCK]}

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.servers = {"own": Server(BITTERN, "-np", "4", "-t", "2", "--log-format", "none")}
        for name, text in (("hermes", HERMES), ("llama3", LLAMA3), ("mistral", MISTRAL)):
            path = f"{cls.folder.name}/{name}.jinja"
            with open(path, "w") as file:
                file.write(text)
            cls.servers[name] = Server(BITTERN, "-np", "4", "-t", "2", "--log-format", "none", "--chat-template", path)

    @classmethod
    def tearDownClass(cls):
        for server in cls.servers.values():
            assert server.stop() == 0, server.output()
        cls.folder.cleanup()

    def ask(self, server="own", want=200, **more):
        status, answer = self.servers[server].post("/v1/chat/completions", {**self.ASK, **more})
        self.assertEqual(status, want, answer)
        return answer["choices"][0] if want == 200 else answer["error"]

    def named(self, name):
        return {"type": "function", "function": {"name": name}}

    def test_forced_by_name(self):
        for server in self.servers:
            for name in ("get_weather", "get_time"):
                choice = self.ask(server, tool_choice=self.named(name))
                self.assertEqual(choice["finish_reason"], "tool_calls", choice)
                self.assertIsNone(choice["message"]["content"])
                self.assertEqual([call["function"]["name"] for call in choice["message"]["tool_calls"]], [name])
                check_call(choice["message"]["tool_calls"][0], self)
                self.assertRegex(choice["message"]["tool_calls"][0]["id"], "^call_[0-9a-f]{24}$")

    def test_required_and_streamed(self):
        for server in self.servers:
            most = 0
            for seed in range(1, 7):
                whole = self.ask(server, tool_choice="required", seed=seed, max_tokens=220)
                calls = whole["message"]["tool_calls"]
                most = max(most, len(calls))
                if whole["finish_reason"] == "tool_calls":
                    for call in calls:
                        check_call(call, self)
                events = self.servers[server].stream("/v1/chat/completions", {
                    **self.ASK, "tool_choice": "required", "seed": seed, "max_tokens": 220, "stream": True})
                content, streamed, finish = joined(events)
                self.assertEqual((content, finish), ("", whole["finish_reason"]))
                self.assertEqual([c["function"] for c in streamed], [c["function"] for c in calls])
                single = self.ask(server, tool_choice="required", seed=seed, parallel_tool_calls=False)
                self.assertEqual(len(single["message"]["tool_calls"]), 1)
            if server == "llama3":
                self.assertEqual(most, 1)

    def test_parallel(self):
        # What follows a call is the separator or the end: a bias against the end asks for more.
        for server in ("own", "hermes", "mistral"):
            ends = self.servers[server].post("/tokenize", {"content": "<|eot_id|><|end_of_text|>"})[1]["tokens"]
            self.assertEqual(len(ends), 2)
            more = {"logit_bias": [[end, -14] for end in ends] + [["]", -14], ["}]", -14]]}
            found = [self.ask(server, tool_choice="required", seed=seed, max_tokens=200, **more) for seed in range(4)]
            many = max(found, key=lambda choice: len(choice["message"]["tool_calls"]))["message"]["tool_calls"]
            self.assertGreater(len(many), 1, server)
            for call in many[:-1]:
                check_call(call, self)
            self.assertEqual(len({call["id"] for call in many}), len(many))

    def test_auto(self):
        for server in self.servers:
            free = self.ask(server, max_tokens=30)
            if free["finish_reason"] == "stop":
                self.assertNotIn("tool_calls", free["message"])
            self.assertTrue(free["message"]["content"] or free["message"].get("tool_calls"))
            events = self.servers[server].stream("/v1/chat/completions", {**self.ASK, "max_tokens": 30, "stream": True})
            self.assertEqual(joined(events)[0], free["message"]["content"] or "")
            none = self.ask(server, tool_choice="none", max_tokens=30)
            plain = {key: value for key, value in self.ASK.items() if key != "tools"}
            same = self.servers[server].post("/v1/chat/completions", {**plain, "max_tokens": 30})[1]["choices"][0]
            self.assertEqual(none, same)
        # A call that the model is led into is recognised.
        lead = self.servers["own"].post("/tokenize", {"content": "<tool_call>"})[1]["tokens"]
        bias = {str(token): 60 for token in lead}
        led = self.ask("own", logit_bias=bias, max_tokens=120, temperature=0.3)
        self.assertTrue(led["message"].get("tool_calls") or led["message"]["content"])

    def test_beside_a_schema(self):
        """The answer is calls or JSON under the schema; agents with functions and an output type ask so."""
        shape = {"type": "object", "properties": {"kind": {"enum": ["weather", "<tool_call>"]}, "days": {"type": "integer"}},
                 "required": ["kind", "days"], "additionalProperties": False}
        formats = {"type": "json_schema", "json_schema": {"name": "x", "schema": shape}}
        seen = set()
        for server, first in (("own", "<"), ("hermes", "<"), ("mistral", "[")):
            leads = [self.servers[server].post("/tokenize", {"content": x})[1]["tokens"][-1] for x in ("{", first)]
            for seed in range(8):
                more = {"seed": seed, "max_tokens": 220, "response_format": formats, "logit_bias": {str(leads[seed % 2]): 20.0}}
                choice = self.ask(server, **more)
                calls = choice["message"].get("tool_calls")
                seen.add((server, bool(calls)))
                events = self.servers[server].stream("/v1/chat/completions", {**self.ASK, **more, "stream": True})
                content, streamed, finish = joined(events)
                self.assertEqual((content or None, finish), (choice["message"]["content"], choice["finish_reason"]))
                self.assertEqual([c["function"] for c in streamed], [c["function"] for c in calls or []])
                if choice["finish_reason"] == "length":
                    continue
                for call in calls or []:
                    check_call(call, self)
                if not calls:
                    self.assertEqual(list(json.loads(content)), ["kind", "days"])
            self.assertTrue(self.ask(server, response_format=formats, tool_choice="required")["message"]["tool_calls"])
            answer = self.ask(server, response_format=formats, tool_choice="none")["message"]["content"]
            self.assertEqual(list(json.loads(answer)), ["kind", "days"])
            self.assertTrue(self.ask(server, response_format={"type": "json_object"})["message"])
        self.assertEqual(len(seen), 6, seen)
        self.assertIn("cannot be kept apart", self.ask("llama3", want=400, response_format=formats)["message"])

    def test_an_answer_that_was_begun(self):
        """A last message of the assistant's is gone on with, at every door."""
        server, begun = self.servers["own"], "A tern is a small slender"
        said = [{"role": "user", "content": "What is a tern?"}, {"role": "assistant", "content": begun}]
        ask = {"messages": said, "max_tokens": 12, "temperature": 0}
        prompt = server.post("/apply-template", {"messages": said})[1]["prompt"]
        self.assertTrue(prompt.endswith(begun), prompt)
        text = server.post("/completion", {"prompt": prompt, "n_predict": 12, "temperature": 0})[1]["content"]
        self.assertTrue(text)
        self.assertEqual(server.post("/v1/chat/completions", ask)[1]["choices"][0]["message"]["content"], text)
        self.assertEqual(server.post("/v1/messages", {**ask, "model": "x"})[1]["content"][0]["text"], text)
        ollama = server.post("/api/chat", {"messages": said, "stream": False, "options": {"num_predict": 12, "temperature": 0}})[1]
        self.assertEqual(ollama["message"]["content"], text)
        other = server.post("/v1/chat/completions", {**ask, "add_generation_prompt": True})[1]["choices"][0]["message"]["content"]
        self.assertNotEqual(other, text)

    def test_a_call_that_was_cut(self):
        """It does not look like a call without arguments, and the history may have it."""
        server = self.servers["own"]
        tool = {"name": "get_weather", "input_schema": WEATHER["function"]["parameters"]}
        cut = server.post("/v1/messages", {"messages": self.ASK["messages"], "tools": [tool], "tool_choice": {"type": "any"},
                                           "max_tokens": 32, "seed": 1, "model": "x"})[1]
        self.assertEqual(cut["stop_reason"], "max_tokens", cut)
        self.assertEqual([block["type"] for block in cut["content"]], ["text"], cut)
        self.assertIn("get_weather", cut["content"][0]["text"])
        choice = self.ask(tool_choice="required", max_tokens=32)
        self.assertEqual(choice["finish_reason"], "length")
        call = choice["message"]["tool_calls"][0]
        with self.assertRaises(ValueError):
            json.loads(call["function"]["arguments"])
        history = self.ASK["messages"] + [choice["message"], {"role": "tool", "tool_call_id": call["id"], "content": "cut"}]
        for name in self.servers:
            self.assertTrue(self.ask(name, messages=history, max_tokens=5)["message"])

    def test_prompt(self):
        for server, words in (("own", ["You can call functions", '"name": "get_weather"', "<tool_call>"]),
                              ("hermes", ['"name": "get_weather"'])):
            prompt = self.servers[server].post("/apply-template", {"messages": self.ASK["messages"], "tools": [WEATHER]})[1]["prompt"]
            for word in words:
                self.assertIn(word, prompt)
        history = self.ASK["messages"] + [
            {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": {
                "name": "get_weather", "arguments": "{\"city\": \"Oslo\", \"days\": 2}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "rain"}]
        for server in ("own", "hermes"):
            prompt = self.servers[server].post("/apply-template", {"messages": history, "tools": [WEATHER]})[1]["prompt"]
            self.assertIn('<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2}}\n</tool_call>', prompt)
            self.assertIn("rain", prompt)
        self.assertIn("<tool_response>\nrain\n</tool_response>", self.servers["own"].post(
            "/apply-template", {"messages": history})[1]["prompt"])
        self.assertTrue(self.ask(messages=history, max_tokens=5)["message"])

    def test_receipts(self):
        for more in ({"tool_choice": "required"}, {"max_tokens": 20}):
            status, text, _ = self.servers["own"].request("POST", "/v1/chat/completions", {**self.ASK, **more, "receipt": True})
            self.assertEqual(status, 200, text)
            verify = subprocess.run([BITTERN, "verify", "-", "-t", "1"], input=text, capture_output=True, text=True)
            self.assertEqual(verify.returncode, 0, verify.stdout + verify.stderr)

    def test_refused(self):
        function = lambda **more: {"type": "function", "function": {"name": "f", **more}}
        for tools, param in (([{"type": "function"}], "tools[0].function"),
                             ([function(name="a b")], "tools[0].function.name"), ("x", "tools"),
                             ([function(), function()], "tools[1].function.name"),
                             ([function(parameters={"type": "string"})], "tools[0].function.parameters.type"),
                             ([function(parameters={"properties": {"a": {"unevaluatedItems": False}}})], "tools[0].function.parameters")):
            self.assertEqual(self.ask(want=400, tools=tools)["param"], param)
        self.assertEqual(self.ask(want=400, tool_choice=self.named("other"))["param"], "tool_choice")
        self.assertEqual(self.ask(want=400, tool_choice="sometimes")["param"], "tool_choice")
        self.assertEqual(self.ask(want=400, tools=None, tool_choice="required")["param"], "tool_choice")
        self.assertEqual(self.ask(want=400, grammar='root ::= "a"')["param"], "tools")
        bad = [{"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": "[1]"}}]}]
        self.assertEqual(self.ask(want=400, messages=bad)["param"], "messages[0].tool_calls[0].function.arguments")

    def test_anthropic(self):
        tool = {"name": "get_weather", "input_schema": WEATHER["function"]["parameters"]}
        body = {"max_tokens": 160, "messages": self.ASK["messages"], "seed": 1, "tools": [tool], "tool_choice": {"type": "any"}}
        status, whole = self.servers["own"].post("/v1/messages", {**body, "tool_choice": {"type": "tool", "name": "get_weather"}})
        self.assertEqual(status, 200, whole)
        block = whole["content"][0]
        self.assertEqual((whole["stop_reason"], block["type"], block["name"]), ("tool_use", "tool_use", "get_weather"))
        self.assertIn(block["input"]["city"], ("Oslo", "Rome"))
        text = self.servers["own"].request("POST", "/v1/messages", {**body, "stream": True, "tool_choice": {"type": "tool", "name": "get_weather"}})[1]
        events = [json.loads(part.split("\ndata: ")[1]) for part in text.strip().split("\n\n")]
        partial = "".join(event["delta"]["partial_json"] for event in events if event["type"] == "content_block_delta")
        self.assertEqual(json.loads(partial), block["input"])
        self.assertEqual(events[-2]["delta"]["stop_reason"], "tool_use")
        turns = body["messages"] + [{"role": "assistant", "content": [block]}, {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": block["id"], "content": [{"type": "text", "text": "rain"}]}]}]
        status, answer = self.servers["own"].post("/v1/messages", {**body, "messages": turns, "tool_choice": {"type": "none"}, "max_tokens": 5})
        self.assertEqual(status, 200, answer)

    def test_ollama(self):
        body = {"messages": self.ASK["messages"], "tools": [WEATHER], "options": {"seed": 1, "num_predict": 160}, "tool_choice": "required"}
        status, whole = self.servers["own"].post("/api/chat", {**body, "stream": False})
        self.assertEqual(status, 200, whole)
        call = whole["message"]["tool_calls"][0]["function"]
        self.assertEqual(call["name"], "get_weather")
        self.assertIn(call["arguments"]["city"], ("Oslo", "Rome"))
        lines = [json.loads(line) for line in self.servers["own"].request("POST", "/api/chat", body)[1].splitlines()]
        streamed = [call for line in lines for call in line["message"].get("tool_calls", [])]
        self.assertEqual(streamed, whole["message"]["tool_calls"])
        history = body["messages"] + [{"role": "assistant", "content": "", "tool_calls": streamed},
                                      {"role": "tool", "tool_name": "get_weather", "content": "rain"}]
        status, answer = self.servers["own"].post("/api/chat", {"messages": history, "stream": False, "options": {"num_predict": 4}})
        self.assertEqual(status, 200, answer)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:])
