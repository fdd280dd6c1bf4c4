#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: serve_test.py BITTERN MODEL   `bittern serve`: every door, streams, errors, limits, cancelling,
draining. Compares answers with each other and with `bittern run`."""
import http.client
import json
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from serve_client import Server

BITTERN, MODEL = sys.argv[1:3]
TEXT = {"prompt": "In the beginning", "max_tokens": 12, "seed": 3, "temperature": 1.0}
CHAT = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 6, "seed": 3}
COUNTED = ("id", "created", "timings")


def bare(answer):
    """What must be the same for the same request."""
    return {key: value for key, value in answer.items() if key not in COUNTED}


def text_of(events):
    return "".join(e["choices"][0].get("text", "") for e in events if e != "[DONE]" and e["choices"])


def delta_of(events, index=0):
    parts = [c for e in events if e != "[DONE]" for c in e["choices"] if c["index"] == index]
    return "".join(c["delta"].get("content") or "" for c in parts)


class ServeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(BITTERN, "-m", MODEL, "-np", "4", "-t", "2", "--metrics", "--alias", "kjv,king,king,v 1",
                            "--log-format", "json", "--strict")
        cls.chat = Server(BITTERN, "-np", "4", "-t", "2", "--api-key", "secret one", "--api-key", "two")

    @classmethod
    def tearDownClass(cls):
        for server in (cls.server, cls.chat):
            assert server.stop() == 0, server.output()

    def talk(self, body, path="/v1/chat/completions"):
        return self.chat.post(path, body, {"Authorization": "Bearer secret one"})

    def refused(self, path, body, *words, status=400, param=None):
        code, answer = self.server.post(path, body)
        self.assertEqual(code, status, answer)
        error = answer["error"]
        self.assertEqual(error["code"], status)
        for word in words:
            self.assertIn(str(word), error["message"])
        if param is not None:
            self.assertEqual(error["param"], param, answer)
        return error

    def test_health_and_models(self):
        self.assertEqual(self.server.get("/health"), (200, '{"status":"ok"}'))
        models = json.loads(self.server.get("/v1/models")[1])
        self.assertEqual(models["data"][0]["id"], "kjv")
        self.assertEqual(models["data"][0]["aliases"], ["kjv", "king", "v 1"])
        for name in ("kjv", "king", "v%201"):
            self.assertEqual(json.loads(self.server.get("/v1/models/" + name)[1])["id"], "kjv", name)
        for name in ("kjv", "king"):
            self.assertEqual(self.server.post("/v1/completions", {**TEXT, "model": name})[1]["model"], "kjv")
        self.assertEqual(self.server.get("/v1/models/other")[0], 404)
        props = json.loads(self.server.get("/props")[1])
        self.assertEqual(props["total_slots"], 4)
        self.assertGreater(props["default_generation_settings"]["n_ctx"], 0)

    def test_same_text_as_run(self):
        status, answer = self.server.post("/v1/completions", TEXT)
        self.assertEqual(status, 200, answer)
        run = subprocess.run([BITTERN, "run", "-m", MODEL, "-p", TEXT["prompt"], "-n", "12", "-s", "3", "--temp", "1"],
                             capture_output=True, text=True, check=True)
        self.assertEqual(run.stdout.rstrip("\n"), (TEXT["prompt"] + answer["choices"][0]["text"]).rstrip("\n"))
        self.assertEqual(answer["usage"]["completion_tokens"], 12)
        self.assertEqual(answer["choices"][0]["finish_reason"], "length")
        self.assertEqual(answer["model"], "kjv")

    def test_stream_is_the_whole(self):
        whole = self.server.post("/v1/completions", TEXT)[1]
        events = self.server.stream("/v1/completions", {**TEXT, "stream": True,
                                                        "stream_options": {"include_usage": True}})
        self.assertEqual(events[-1], "[DONE]")
        self.assertEqual(text_of(events), whole["choices"][0]["text"])
        self.assertEqual(events[-2]["choices"], [])
        self.assertEqual(events[-2]["usage"]["completion_tokens"], 12)
        self.assertEqual([event["usage"] for event in events[:-2]], [None] * (len(events) - 2))
        self.assertEqual(events[-3]["choices"][0]["finish_reason"], "length")
        native = self.server.stream("/completion", {"prompt": TEXT["prompt"], "n_predict": 12, "seed": 3,
                                                    "temperature": 1.0, "stream": True})
        self.assertEqual("".join(e["content"] for e in native), whole["choices"][0]["text"])
        self.assertTrue(native[-1]["stop"])
        self.assertEqual(native[-1]["stop_type"], "limit")

    def test_chat(self):
        status, whole = self.talk(CHAT)
        self.assertEqual(status, 200, whole)
        message = whole["choices"][0]["message"]
        self.assertEqual(message["role"], "assistant")
        self.assertTrue(message["content"])
        status, text, _ = self.chat.request("POST", "/v1/chat/completions", {**CHAT, "stream": True},
                                            {"X-Api-Key": "two"})
        events = [json.loads(l[6:]) for l in text.split("\n\n") if l.startswith("data: {")]
        self.assertEqual(delta_of(events), message["content"])
        self.assertEqual(events[0]["choices"][0]["delta"]["role"], "assistant")
        parts = {**CHAT, "messages": [{"role": "user", "content": [{"type": "text", "text": "Hel"},
                                                                   {"type": "text", "text": "lo"}]}]}
        self.assertEqual(bare(self.talk(parts)[1])["choices"], whole["choices"])

    def test_cached_tokens(self):
        body = {**CHAT, "messages": [{"role": "user", "content": "a long question " * 40}]}
        first, again = self.talk(body)[1], self.talk(body)[1]
        self.assertEqual(first["choices"], again["choices"])
        usage = again["usage"]
        self.assertGreater(usage["prompt_tokens_details"]["cached_tokens"], 0)
        self.assertLess(usage["prompt_tokens_details"]["cached_tokens"], usage["prompt_tokens"])

    def test_choices(self):
        answer = self.server.post("/v1/completions", {**TEXT, "n": 3, "prompt": ["In the", "And he"]})[1]
        texts = [choice["text"] for choice in answer["choices"]]
        self.assertEqual([choice["index"] for choice in answer["choices"]], list(range(6)))
        for i in range(3):
            alone = self.server.post("/v1/completions", {**TEXT, "prompt": "And he", "seed": 3 + i})[1]
            self.assertEqual(alone["choices"][0]["text"], texts[3 + i])
        self.assertGreater(len(set(texts)), 3)
        events = self.server.stream("/v1/completions", {**TEXT, "n": 3, "stream": True, "prompt": ["In the", "And he"]})
        for i in range(6):
            parts = [c["text"] for e in events if e != "[DONE]" for c in e["choices"] if c["index"] == i]
            self.assertEqual("".join(parts), texts[i])

    def test_stop(self):
        whole = self.server.post("/completion", {"prompt": "In the beginning", "n_predict": 40, "temperature": 0})[1]
        word = whole["content"][10:14]
        for stream in (False, True):
            body = {"prompt": "In the beginning", "n_predict": 40, "temperature": 0, "stop": ["@@", word],
                    "stream": stream}
            if stream:
                events = self.server.stream("/completion", body)
                last, content = events[-1], "".join(e["content"] for e in events)
            else:
                last = self.server.post("/completion", body)[1]
                content = last["content"]
            self.assertEqual(last["stop_type"], "word")
            self.assertEqual(last["stopping_word"], word)
            self.assertEqual(content, whole["content"][: whole["content"].index(word)])

    def test_tokens(self):
        status, answer = self.server.post("/tokenize", {"content": "In the beginning", "with_pieces": True})
        self.assertEqual(status, 200)
        ids = [token["id"] for token in answer["tokens"]]
        self.assertEqual("".join(token["piece"] for token in answer["tokens"]).strip(), "In the beginning")
        self.assertEqual(self.server.post("/detokenize", {"tokens": ids})[1]["content"].strip(), "In the beginning")
        by_ids = self.server.post("/v1/completions", {**TEXT, "prompt": self.server.post(
            "/tokenize", {"content": TEXT["prompt"], "add_special": True})[1]["tokens"]})[1]
        self.assertEqual(by_ids["choices"], self.server.post("/v1/completions", TEXT)[1]["choices"])
        self.refused("/detokenize", {"tokens": [0, 1 << 40]}, param="tokens[1]")

    def test_apply_template(self):
        status, answer = self.talk({"messages": CHAT["messages"]}, "/apply-template")
        self.assertEqual(status, 200, answer)
        self.assertIn("User: hello", answer["prompt"])  # the template writes small letters
        ids = answer["tokens"]
        tokens = self.talk(CHAT, "/v1/chat/completions/input_tokens")[1]["input_tokens"]
        self.assertEqual(tokens, self.talk(CHAT)[1]["usage"]["prompt_tokens"])
        self.assertEqual(tokens, len(ids))
        again = {"prompt": ids, "max_tokens": CHAT["max_tokens"], "seed": CHAT["seed"]}
        self.assertEqual(self.talk(again, "/v1/completions")[1]["choices"][0]["text"],
                         self.talk(CHAT)[1]["choices"][0]["message"]["content"])

    def told(self, path, body, *ignored):
        """A request as a client sends it is answered; the fields that had no effect are told."""
        status, text, headers = self.chat.request("POST", path, body, {"Authorization": "Bearer secret one"})
        self.assertEqual(status, 200, text)
        self.assertEqual(headers.get("bittern-ignored", ""), ", ".join(ignored), body)
        return json.loads(text) if text.startswith("{") else text

    def test_threads_of_anthropic(self):
        """Nothing is stored: a thread is refused so that Anthropic's SDK goes on without one and sends all messages."""
        said = {"model": "m", "max_tokens": 6, "messages": CHAT["messages"]}
        for thread in ({"type": "create"}, {"type": "continue", "previous_message_id": "msg_1"}):
            for path in ("/v1/messages", "/v1/messages/count_tokens"):
                status, answer = self.server.post(path, {**said, "thread": thread})
                self.assertEqual(status, 400, answer)
                self.assertEqual(answer["error"]["details"],
                                 {"error_code": "thread_unsupported_request", "unsupported": ["thread"]})
        status, answer = self.server.post("/v1/messages", {**said, "thread": None})
        self.assertEqual(status, 200, answer)
        status, answer = self.server.post("/v1/messages", {**said, "top_p": 7})
        self.assertNotIn("details", answer["error"])

    def test_every_answer_has_its_headers(self):
        """An answer by another thread does not overtake the headers that the thread of the sockets adds."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        for i in range(2000):
            connection.request("POST", "/v1/chat/completions", json.dumps({**CHAT, "top_p": 7}))
            answer = connection.getresponse()
            answer.read()
            self.assertIsNotNone(answer.getheader("X-Request-Id"), f"request {i}")
        connection.close()

    def test_fields_that_clients_send(self):
        chat, plain = "/v1/chat/completions", self.talk(CHAT)[1]
        user = CHAT["messages"][0]
        part = {"type": "text", "text": user["content"], "role": "user", "refusal": None}
        tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
        for more, *ignored in [
                ({"temprature": 1, "n": 1}, "temprature"),
                ({"messages": [{"role": "user", "content": [part]}]}, "messages[0].content[0].role"),
                ({"messages": [{**user, "id": "m1", "createdAt": 5}]}, "messages[0].id", "messages[0].createdAt"),
                ({"reasoning_effort": "low", "verbosity": "high", "thread": None}, "reasoning_effort", "verbosity"),
                ({"web_search_options": {"x": 1}, "prediction": {"type": "content", "content": "x"}},
                 "prediction", "web_search_options"),
                ({"tools": [{"type": "web_search"}]}, "tools[0]"),
                ({"a\r\nSet-Cookie: x": 1}, "a%0D%0ASet-Cookie%3A%20x"),
                ({f"field{i}": 1 for i in range(100)}, *[f"field{i}" for i in range(32)])]:
            answer = self.told(chat, {**CHAT, **more}, *ignored)
            self.assertEqual(answer["choices"], plain["choices"], more)
        self.told(chat, {**CHAT, "tools": [{**tool, "eager": True}, {"type": "custom", "name": "x"}],
                         "tool_choice": "none"}, "tools[0].eager", "tools[1]")
        said = {"model": "m", "max_tokens": 6, "messages": CHAT["messages"]}
        self.told("/v1/messages", {**said, "context_management": {"edits": []}}, "context_management")
        self.told("/v1/messages", {**said, "tools": [{"name": "look", "input_schema": {"type": "object"},
                                                      "eager_input_streaming": True},
                                                     {"type": "web_search_20250305", "name": "web_search"}],
                                   "tool_choice": {"type": "none"}}, "tools[0].eager_input_streaming", "tools[1]")
        self.told("/api/chat", {"messages": CHAT["messages"], "stream": False, "temperature": 0,
                                "options": {"num_predict": 4, "tfs_z": 1}}, "options.tfs_z", "temperature")
        self.told("/v1/responses", {"model": "m", "input": [{"type": "reasoning", "summary": []}, user],
                                    "truncation": "auto", "max_output_tokens": 6,
                                    "tools": [{"type": "local_shell"}, {"type": "namespace", "name": "n"}]},
                  "truncation", "tools[0]", "tools[1]", "input[0]")
        # A field that changes the answer and cannot be obeyed is refused all the same.
        for more, param in [({"functions": [{"name": "f"}]}, "functions"), ({"guided_json": {"type": "object"}}, "guided_json"),
                            ({"repetition_penalty": 1.5}, "repetition_penalty")]:
            status, answer = self.talk({**CHAT, **more})
            self.assertEqual((status, answer["error"].get("param")), (400, param), answer)

    def test_refusals(self):
        complete, chat = "/v1/completions", "/v1/chat/completions"
        self.refused(complete, {**TEXT, "temprature": 1}, "no such field", param="temprature")
        self.refused(complete, {**TEXT, "top_p": 2}, "from 0 to 1", param="top_p")
        self.refused(complete, {**TEXT, "temperature": "hot"}, "a number", "hot", param="temperature")
        self.refused(complete, {**TEXT, "max_tokens": 1.5}, "whole number", param="max_tokens")
        self.refused(complete, {**TEXT, "stop": ["a", 7]}, param="stop[1]")
        self.refused(complete, {**TEXT, "stop": ["a"] * 10000}, "10000", param="stop")
        self.refused(complete, {**TEXT, "n": 0}, param="n")
        self.refused(complete, {**TEXT, "repeat_penalty": 0}, param="repeat_penalty")
        self.refused(complete, {**TEXT, "stream_options": {"x": 1}}, param="stream_options.x")
        self.refused(complete, {"max_tokens": 3}, param="prompt")
        self.refused(complete, {**TEXT, "prompt": [1, "a", {}]}, param="prompt[2]")
        self.refused(complete, {**TEXT, "prompt": [1 << 30]}, "outside the vocabulary")
        self.refused(complete, b'{"prompt": "\xff"}', "UTF-8")
        self.refused(complete, '{"prompt": ', "not JSON")
        self.refused(complete, "[]", "a JSON object", "an array")
        self.refused(complete, "[" * 100000, "not JSON")
        self.assertEqual(self.talk({**CHAT, "tools": [{"type": "function"}]})[1]["error"]["param"], "tools[0].function")
        for messages, param in (([], "messages"), ([{"role": "king", "content": ""}], "messages[0].role"),
                                ([{"role": "user"}], "messages[0].content"),
                                ([{"role": "user", "content": [{"type": "image_url"}]}], "messages[0].content[0].type")):
            status, answer = self.talk({"messages": messages})
            self.assertEqual((status, answer["error"]["param"]), (400, param), answer)
        error = self.refused(complete, {**TEXT, "prompt": "word " * 5000}, status=400)
        self.assertEqual(error["type"], "exceed_context_size_error")
        self.assertGreater(error["n_prompt_tokens"], error["n_ctx"])
        self.assertIn(str(error["n_ctx"]), error["message"])

    def test_paths_methods_keys(self):
        self.assertEqual(self.server.get("/nothing")[0], 404)
        status, _, headers = self.server.request("GET", "/v1/completions")
        self.assertEqual((status, headers["Allow"]), (405, "POST"))
        self.assertEqual(self.chat.get("/health")[0], 200)
        for headers in ({}, {"Authorization": "Bearer secret"}, {"Authorization": "Bearer twotwo"}, {"X-Api-Key": ""}):
            status, answer = self.chat.post("/v1/chat/completions", CHAT, headers)
            self.assertEqual((status, answer["error"]["type"]), (401, "authentication_error"))
        self.assertEqual(self.chat.get("/metrics", {"X-Api-Key": "two"})[0], 501)

    def test_origin_and_host(self):
        for headers, status in (({"Host": "evil.example"}, 403), ({"Host": "127.evil.example"}, 403), ({"Host": "127.0.0.2:1"}, 200), ({"Origin": "http://evil.example"}, 403),
                                ({"Host": "localhost:1"}, 200),
                                ({"Origin": f"http://127.0.0.1:{self.server.port}"}, 200)):
            self.assertEqual(self.server.request("GET", "/health", headers=headers)[0], status, headers)

    def test_origins_of_this_machine(self):
        server = Server(BITTERN, "-m", MODEL, "--cors-origin", "localhost", "--log-format", "none")
        for origin, status in (("http://localhost", 200), ("http://127.0.0.1:3000", 200), ("https://[::1]:3000", 200),
                               ("http://localhost.evil.example", 403), ("http://127.evil.example", 403), ("null", 403)):
            code, _, headers = server.request("OPTIONS", "/completion", headers={"Origin": origin})
            self.assertEqual((code, headers.get("Access-Control-Allow-Origin")), (status, origin if status == 200 else None))
        self.assertEqual(server.stop(), 0)

    def test_native_answers(self):
        body = {"prompt": "In the beginning", "n_predict": 8, "seed": 3}
        whole = self.server.post("/completion", body)[1]
        parts = self.server.post("/completion", {**body, "response_fields": ["content", "timings/predicted_n", "nothing/at/all"]})[1]
        self.assertEqual(parts, {"content": whole["content"], "timings/predicted_n": 8})
        self.refused("/completion", {**body, "response_fields": ["a~"]}, param="response_fields")
        wrapped = self.server.post("/completion", {**body, "prompt": {"prompt_string": body["prompt"]}})[1]
        self.assertEqual(wrapped["content"], whole["content"])
        self.refused("/completion", {**body, "prompt": {"prompt_string": "a", "multimodal_data": ["x"]}})
        timings = self.server.post("/completion", {**body, "n_predict": 1})[1]["timings"]
        self.assertEqual((timings["predicted_n"], timings["predicted_per_second"]), (1, 0))
        self.assertFalse(whole["truncated"])
        full = self.server.post("/completion", {**body, "n_predict": -1, "ignore_eos": True})[1]
        self.assertTrue(full["truncated"])

    def test_metrics_and_slots(self):
        before = self.server.get("/metrics")[1]
        self.server.post("/v1/completions", TEXT)
        after = self.server.get("/metrics")[1]
        value = lambda text: int(text.split("\nllamacpp:tokens_predicted_total ")[1].split()[0])
        self.assertGreaterEqual(value(after) - value(before), 12)
        self.assertEqual(len(json.loads(self.server.get("/slots")[1])), 4)

    def test_http(self):
        raw = self.server.raw
        get = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
        two = raw(get + get.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        self.assertEqual(two.count(b"200 OK"), 2)
        self.assertIn(b"400 Bad Request", raw(b"hello there\r\n\r\n"))
        self.assertIn(b"431 ", raw(b"GET / HTTP/1.1\r\nA: " + b"x" * 100000 + b"\r\n\r\n"))
        self.assertIn(b"413 ", raw(b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n"))
        both = b"POST /tokenize HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        self.assertIn(b"400 ", raw(both))
        chunked = b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        self.assertIn(b'{"tokens":[]}', raw(chunked + b"2\r\n{}\r\n0\r\n\r\n"))
        waits = b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
        self.assertTrue(raw(waits, wait=0.5).startswith(b"HTTP/1.1 100 Continue\r\n\r\n"))
        old = raw(b"GET /health HTTP/1.0\r\n\r\n")
        self.assertIn(b"200 OK", old)
        head = raw(b"HEAD /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        self.assertTrue(head.endswith(b"\r\n\r\n") and b"Content-Length: 15" in head)

    def test_half_requests(self):
        whole = b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 15\r\n\r\n" + b'{"content":"a"}'
        for end in range(0, len(whole), 3):
            self.assertEqual(self.server.raw(whole[:end], shut=True), b"")
        self.assertEqual(self.server.get("/health")[0], 200)

    def test_gone_client_frees_its_sequence(self):
        body = json.dumps({"prompt": "In the beginning", "n_predict": -1, "ignore_eos": True, "stream": True}).encode()
        head = b"POST /completion HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
        for stream in (True, False):
            sent = body if stream else body.replace(b"true}", b"false}")
            client = socket.create_connection(("127.0.0.1", self.server.port))
            client.sendall(head.replace(b"%d" % len(body), b"%d" % len(sent)) + sent)
            busy = lambda: any(slot["is_processing"] for slot in json.loads(self.server.get("/slots")[1]))
            self.wait_for(busy)
            client.close()
            begin = time.monotonic()
            self.wait_for(lambda: not busy())
            self.assertLess(time.monotonic() - begin, 2)

    def wait_for(self, condition):
        for _ in range(500):
            if condition():
                return
            time.sleep(0.01)
        self.fail("waited 5 s in vain")

    def test_same_bytes_beside_others(self):
        bodies = [{**TEXT, "seed": i, "max_tokens": 5 + i, "prompt": "In the beginning " + "of it " * (i % 5),
                   "top_k": 0 if i % 3 == 0 else 40} for i in range(24)]
        alone = [bare(self.server.post("/v1/completions", body)[1])["choices"] for body in bodies]
        together = [None] * len(bodies)

        def ask(i):
            together[i] = bare(self.server.post("/v1/completions", bodies[i])[1])["choices"]

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(bodies))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(alone, together)


    def test_logprobs(self):
        body = {**TEXT, "logprobs": 2}
        whole = self.server.post("/v1/completions", body)[1]["choices"][0]
        shape = whole["logprobs"]
        self.assertEqual("".join(shape["tokens"]).strip(), whole["text"].strip())
        self.assertEqual([len(shape[key]) for key in ("token_logprobs", "top_logprobs", "text_offset")], [12] * 3)
        self.assertTrue(all(value <= 0 for value in shape["token_logprobs"]))
        self.assertTrue(all(len(top) == 2 for top in shape["top_logprobs"]))
        events = self.server.stream("/v1/completions", {**body, "stream": True})
        parts = [c["logprobs"] for e in events if e != "[DONE]" for c in e["choices"] if c["logprobs"]]
        for key in shape:
            self.assertEqual([value for part in parts for value in part[key]], shape[key])
        chat = self.talk({**CHAT, "logprobs": True, "top_logprobs": 3})[1]["choices"][0]["logprobs"]
        self.assertEqual(set(chat), {"content", "refusal"})
        self.assertTrue(all(len(token["top_logprobs"]) == 3 for token in chat["content"]))
        native = self.server.post("/completion", {"prompt": "In the", "n_predict": 4, "n_probs": 1})[1]
        self.assertEqual(len(native["completion_probabilities"]), 4)
        self.assertEqual(self.talk({**CHAT, "top_logprobs": 3})[1]["error"]["param"], "top_logprobs")

    def test_sampler_chain(self):
        first = self.server.post("/v1/completions", {**TEXT, "temperature": 0, "max_tokens": 1})[1]
        ids = self.server.post("/completion", {"prompt": TEXT["prompt"], "n_predict": 1, "temperature": 0,
                                               "return_tokens": True})[1]["tokens"]
        other = self.server.post("/v1/completions", {**TEXT, "temperature": 0, "max_tokens": 1,
                                                     "logit_bias": {str(ids[0]): -100}})[1]
        self.assertNotEqual(first["choices"][0]["text"], other["choices"][0]["text"])
        self.refused("/v1/completions", {**TEXT, "samplers": ["top_k", "magic"]}, param="samplers[1]")
        self.refused("/v1/completions", {**TEXT, "logit_bias": {"x": 1}}, param="logit_bias")
        self.refused("/v1/completions", {**TEXT, "presence_penalty": "a"}, param="presence_penalty")
        settings = self.server.post("/completion", {"prompt": "In", "n_predict": 1, "top_p": 0.9, "dry_multiplier": 0.5,
                                                    })[1]["generation_settings"]
        self.assertEqual((settings["top_p"], settings["dry_multiplier"]), (0.9, 0.5))

    def verify(self, text, model=MODEL):
        run = subprocess.run([BITTERN, "verify", "-", "-m", model, "-t", "1"], input=text, capture_output=True, text=True)
        return run.returncode, run.stdout + run.stderr

    def test_receipts(self):
        plain = self.server.post("/v1/completions", TEXT)[1]
        for more in ({}, {"temperature": 0}, {"stop": ["the"]}, {"n": 3}, {"repeat_penalty": 1.3}, {"max_tokens": -1}):
            status, text, _ = self.server.request("POST", "/v1/completions", {**TEXT, **more, "receipt": True})
            self.assertEqual(status, 200, text)
            code, said = self.verify(text)
            self.assertEqual(code, 0, said)
            self.assertEqual(said.count("identical: "), more.get("n", 1))
        answer = self.server.post("/v1/completions", {**TEXT, "receipt": True})[1]
        self.assertEqual(answer["choices"][0]["text"], plain["choices"][0]["text"])
        receipt = answer["choices"][0]["receipt"]
        self.assertEqual(self.server.post("/verify", receipt)[1]["identical"], True)
        for key, change in (("ids", lambda v: v[:3] + [v[3] ^ 1] + v[4:]), ("prompt", lambda v: [v[0] ^ 1] + v[1:]),
                            ("chain", lambda v: ("1" if v[0] == "0" else "0") + v[1:]), ("hash", lambda v: v[::-1]),
                            ("options", lambda v: {**v, "seed": v["seed"] ^ 1})):
            changed = {**receipt, key: change(receipt[key])}
            self.assertEqual(self.verify(json.dumps(changed))[0], 4, key)
            self.assertEqual(self.server.post("/verify", changed)[1]["identical"], False)
        self.assertEqual(self.verify("{}")[0], 1)
        events = self.server.stream("/v1/completions", {**TEXT, "receipt": True, "stream": True})
        streamed = [c["receipt"] for e in events if e != "[DONE]" for c in e["choices"] if "receipt" in c]
        self.assertEqual(streamed, [receipt])

    def test_changed_weights(self):
        text = self.server.request("POST", "/v1/completions", {**TEXT, "receipt": True})[1]
        data = bytearray(open(MODEL, "rb").read())
        with tempfile.TemporaryDirectory() as folder:
            for i in range(1, 6):
                place = len(data) - len(data) // 2 * i // 6 - 1
                data[place] ^= 1
                with open(f"{folder}/changed.gguf", "wb") as out:
                    out.write(data)
                data[place] ^= 1
                code, said = self.verify(text, f"{folder}/changed.gguf")
                self.assertIn(code, (2, 4), said)

    def test_anthropic(self):
        body = {"model": "any", "max_tokens": 6, "seed": 3, "messages": CHAT["messages"]}
        status, whole = self.talk(body, "/v1/messages")
        self.assertEqual(status, 200, whole)
        self.assertEqual(whole["content"][0]["text"], self.talk(CHAT)[1]["choices"][0]["message"]["content"])
        self.assertEqual(whole["stop_reason"], "max_tokens")
        usage = whole["usage"]
        count = self.talk({key: body[key] for key in ("model", "messages")}, "/v1/messages/count_tokens")[1]
        self.assertEqual(usage["input_tokens"] + usage["cache_read_input_tokens"], count["input_tokens"])
        text = self.chat.request("POST", "/v1/messages", {**body, "stream": True}, {"X-Api-Key": "two"})[1]
        events = [part.split("\ndata: ") for part in text.strip().split("\n\n")]
        names = [event[0].removeprefix("event: ") for event in events]
        self.assertEqual([names[0], names[1], *names[-3:]], ["message_start", "content_block_start",
                                                             "content_block_stop", "message_delta", "message_stop"])
        start = json.loads(events[0][1])["message"]["usage"]
        self.assertEqual(start, {"input_tokens": count["input_tokens"], "cache_creation_input_tokens": 0,
                                 "cache_read_input_tokens": 0, "output_tokens": 0})
        deltas = [json.loads(event[1]) for event in events if "content_block_delta" in event[0]]
        self.assertEqual("".join(delta["delta"]["text"] for delta in deltas), whole["content"][0]["text"])
        system = {**body, "system": [{"type": "text", "text": "Be brief."}], "stop_sequences": [" "]}
        self.assertEqual(self.talk(system, "/v1/messages")[0], 200)
        status, error = self.talk({**body, "tools": [{}]}, "/v1/messages")
        self.assertEqual((status, error["type"], error["error"]["type"]), (400, "error", "invalid_request_error"))
        self.assertEqual(self.talk({"messages": CHAT["messages"]}, "/v1/messages")[0], 400)

    def test_tokenizer_of_vllm(self):
        """lm-evaluation-harness finds the tokenizer by itself."""
        info = json.loads(self.server.get("/tokenizer_info")[1])
        self.assertTrue(info["eos_token"])
        ids = self.server.post("/tokenize", {"prompt": "In the", "add_special_tokens": False})[1]["tokens"]
        self.assertEqual(ids, self.server.post("/tokenize", {"content": "In the"})[1]["tokens"])
        whole = self.server.post("/tokenize", {"prompt": "In the"})[1]["tokens"]
        self.assertEqual(whole, self.server.post("/tokenize", {"content": "In the", "add_special": True})[1]["tokens"])
        self.assertEqual(self.server.post("/detokenize", {"tokens": ids})[1]["prompt"], "In the")
        self.assertEqual(self.server.post("/tokenize", {"prompt": "a", "content": "b"})[0], 400)

    def test_ollama(self):
        server, options = self.server, {"seed": 3, "num_predict": 12, "temperature": 1.0}
        self.assertIn("version", json.loads(server.get("/api/version")[1]))
        self.assertEqual(json.loads(server.get("/api/tags")[1])["models"][0]["name"], "kjv:latest")
        self.assertGreater(json.loads(server.get("/api/tags")[1])["models"][0]["size"], 1_000_000)
        self.assertEqual(json.loads(server.get("/api/ps")[1])["models"][0]["name"], "kjv:latest")
        show = server.post("/api/show", {"model": "kjv"})[1]
        self.assertTrue(any(key.endswith(".context_length") for key in show["model_info"]))
        body = {"model": "kjv", "prompt": TEXT["prompt"], "raw": True, "options": options, "stream": False}
        whole = server.post("/api/generate", body)[1]
        self.assertEqual(whole["response"], server.post("/v1/completions", TEXT)[1]["choices"][0]["text"])
        self.assertEqual((whole["done"], whole["done_reason"], whole["eval_count"]), (True, "length", 12))
        status, text, headers = server.request("POST", "/api/generate", {**body, "stream": True})
        lines = [json.loads(line) for line in text.splitlines()]
        self.assertEqual(headers["Content-Type"], "application/x-ndjson")
        self.assertEqual("".join(line["response"] for line in lines), whole["response"])
        self.assertEqual([line["done"] for line in lines], [False] * (len(lines) - 1) + [True])
        chat = {"model": "m", "messages": CHAT["messages"], "stream": False, "format": "", "keep_alive": "5m",
                "options": {"seed": 3, "num_predict": 6, "num_ctx": 8192}}
        content = self.talk(chat, "/api/chat")[1]["message"]["content"]
        self.assertEqual(content, self.talk(CHAT)[1]["choices"][0]["message"]["content"])
        self.assertEqual(server.post("/api/generate", {"model": "kjv"})[1]["done_reason"], "load")
        status, answer = server.post("/api/embed", {"input": ["a", "b"]})
        self.assertEqual((status, len(answer["embeddings"])), (200, 2))
        status, error = server.post("/api/generate", {**body, "format": "yaml"})
        self.assertEqual(status, 400)
        self.assertIsInstance(error["error"], str)

    def test_page(self):
        status, text, headers = self.server.request("GET", "/")
        self.assertEqual(status, 200)
        policy = headers["Content-Security-Policy"]
        nonce = policy.split("nonce-")[1].split("'")[0]
        self.assertEqual(text.count(f'nonce="{nonce}"'), 2)
        self.assertNotIn("@NONCE@", text)
        self.assertNotIn(nonce, self.server.get("/")[1])
        self.assertIn("default-src 'none'", policy)
        self.assertLess(len(text), 150_000)
        for word in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "src="):
            self.assertNotIn(word, text)


class LifeTest(unittest.TestCase):
    def test_queue_is_bounded(self):
        server = Server(BITTERN, "-m", MODEL, "-np", "1", "--queue", "1", "-t", "1")
        try:
            ended = threading.Event()
            def keep_busy():
                while not ended.is_set():
                    server.post("/v1/completions", {**TEXT, "n": 2, "max_tokens": 100, "ignore_eos": True})
            busy = threading.Thread(target=keep_busy)
            busy.start()
            refused = None
            for _ in range(2000):
                status, answer, headers = server.request("POST", "/v1/completions", {**TEXT, "n": 2, "max_tokens": 1})
                if status != 200:
                    refused = (status, headers.get("Retry-After"), answer)
                    break
            ended.set()
            busy.join()
            self.assertEqual(refused[:2], (503, "1"), refused)
            self.assertEqual(server.post("/v1/completions", {**TEXT, "n": 2})[0], 200)
        finally:
            self.assertEqual(server.stop(), 0)

    def test_slow_request_times_out(self):
        server = Server(BITTERN, "-m", MODEL, "--timeout", "1", "-t", "1")
        try:
            begin = time.monotonic()
            self.assertIn(b"408 ", server.raw(b"POST /tokenize HTTP/1.1\r\nHost: loc", wait=20))
            self.assertLess(time.monotonic() - begin, 10)
        finally:
            self.assertEqual(server.stop(), 0)

    def test_drain(self):
        server = Server(BITTERN, "-m", MODEL, "-t", "1")
        got = {}

        def ask():
            got["answer"] = server.post("/completion", {"prompt": "In the", "n_predict": 200, "ignore_eos": True})

        thread = threading.Thread(target=ask)
        thread.start()
        while not any(slot["is_processing"] for slot in json.loads(server.get("/slots")[1])):
            time.sleep(0.005)
        code = server.stop()
        thread.join()
        self.assertEqual(got["answer"][0], 200)
        self.assertEqual(got["answer"][1]["tokens_predicted"], 200)
        self.assertEqual(code, 0)

    def test_port_taken(self):
        server = Server(BITTERN, "-m", MODEL, "-t", "1")
        other = subprocess.run([BITTERN, "serve", "-m", MODEL, "--port", str(server.port)], capture_output=True, text=True)
        self.assertEqual(other.returncode, 3)
        self.assertIn("cannot listen", other.stderr)
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:])
