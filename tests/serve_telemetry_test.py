#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: serve_telemetry_test.py BITTERN   What answers of `bittern serve` tell beside their text: "timings_per_token"
and "return_progress" in streams, "verbose", "post_sampling_probs"."""
import math
import json
import sys
import unittest

from serve_client import Server

BITTERN = sys.argv[1]


class TelemetryTest(unittest.TestCase):
    BATCH = 16
    LONG = "the quick brown fox jumps over the lazy dog " * 8
    ASKED = {"timings_per_token": True, "return_progress": True}
    DOORS = {"/completion": {"prompt": LONG, "n_predict": 8},
             "/v1/completions": {"prompt": LONG, "max_tokens": 8},
             "/v1/chat/completions": {"messages": [{"role": "user", "content": LONG}], "max_tokens": 8},
             "/v1/responses": {"input": LONG, "max_output_tokens": 8}}

    def setUp(self):
        self.server = Server(BITTERN, "-np", "2", "-t", "2", "-b", str(self.BATCH))  # nothing in its cache

    def tearDown(self):
        self.assertEqual(self.server.stop(), 0, self.server.output())

    def ask(self, path, **more):
        body = {**self.DOORS[path], "seed": 3, "ignore_eos": True, "stream": True, **more}
        status, text, _ = self.server.request("POST", path, body)
        self.assertEqual(status, 200, text)
        return [json.loads(line[6:]) for line in text.split("\n") if line.startswith("data: {")]

    def text(self, event):
        """What a chunk says; empty: nothing."""
        if "choices" in event:
            choice = event["choices"][0]
            return choice["text"] if "text" in choice else choice["delta"].get("content") or ""
        if "type" in event:
            return event["delta"] if event["type"] == "response.output_text.delta" else ""
        return event["content"]

    def check_progress(self, progress, cold):
        first, last = progress[0], progress[-1]
        for one in progress:
            self.assertEqual(set(one), {"total", "cache", "processed", "time_ms"})
            self.assertEqual((one["total"], one["cache"]), (first["total"], first["cache"]))
        self.assertEqual(first["processed"], first["cache"])
        self.assertEqual(last["processed"], last["total"])
        done = [one["processed"] for one in progress]
        self.assertEqual(done, sorted(set(done)))
        self.assertEqual(first["cache"] == 0, cold)
        self.assertEqual(len(progress) - 1, -(-(first["total"] - first["cache"]) // self.BATCH))
        times = [one["time_ms"] for one in progress]
        self.assertEqual(times, sorted(times))
        self.assertEqual(times[0], 0)

    def check_timings(self, timings):
        """Of all chunks in turn that have some."""
        for one in timings:
            for key, value in one.items():
                self.assertGreaterEqual(value, 0, key)
        for key in ("prompt_n", "prompt_ms", "predicted_n", "predicted_ms"):
            values = [one[key] for one in timings]
            self.assertEqual(values, sorted(values), key)
            self.assertGreater(values[-1], 0, key)
        self.assertEqual(timings[-1]["predicted_n"], 8)

    def test_stream_with_everything(self):
        for path in self.DOORS:
            with self.subTest(path):
                plain = self.ask(path)
                self.assertFalse([e for e in plain if "prompt_progress" in e])
                self.assertFalse([e for e in plain if self.text(e) and "timings" in e])
                events = self.ask(path, **self.ASKED)
                self.assertEqual(list(filter(None, map(self.text, events))), list(filter(None, map(self.text, plain))))
                self.check_progress([e["prompt_progress"] for e in events if "prompt_progress" in e], cold=False)
                says = [i for i, e in enumerate(events) if self.text(e)]
                told = [i for i, e in enumerate(events) if "prompt_progress" in e]
                self.assertGreater(len(says), 2)
                self.assertLess(told[-1], says[0])
                for i in told + says:
                    self.assertIn("timings", events[i])
                self.check_timings([e["timings"] for e in events if "timings" in e])
                if "choices" in events[0]:
                    self.assertIn("timings", events[-1])  # the chunk with finish_reason

    def test_each_chunk_of_a_prompt(self):
        events = self.ask("/completion", **self.ASKED)
        progress = [e for e in events if "prompt_progress" in e]
        self.assertGreater(len(progress), 3)
        self.check_progress([e["prompt_progress"] for e in progress], cold=True)
        for e in progress:
            timings, told = e["timings"], e["prompt_progress"]
            self.assertEqual((e["content"], e["stop"]), ("", False))
            self.assertEqual((timings["prompt_n"], timings["cache_n"]), (told["processed"], 0))
            self.assertEqual((timings["predicted_n"], timings["predicted_ms"]), (0, 0))
        self.assertEqual(progress[0]["timings"]["prompt_ms"], 0)
        says = [e["timings"] for e in events if self.text(e)]
        self.assertEqual({one["prompt_n"] for one in says}, {progress[-1]["prompt_progress"]["total"]})
        self.assertEqual(says[0]["predicted_n"], 1)

    def test_each_alone(self):
        for path in self.DOORS:
            only = self.ask(path, return_progress=True)
            self.assertTrue([e for e in only if "prompt_progress" in e], path)
            self.assertFalse([e for e in only if (self.text(e) or "prompt_progress" in e) and "timings" in e], path)
            only = self.ask(path, timings_per_token=True)
            self.assertFalse([e for e in only if "prompt_progress" in e], path)
            self.assertTrue(all("timings" in e for e in only if self.text(e)), path)

    def test_choices_have_their_own(self):
        prompts = {"prompt": [self.LONG, "In the"], "n": 2}
        events = self.ask("/v1/completions", **prompts, **self.ASKED)
        plain = self.ask("/v1/completions", **prompts)
        for i in range(4):
            mine = [e for e in events if e["choices"][0]["index"] == i]
            progress = [e["prompt_progress"] for e in mine if "prompt_progress" in e]
            self.assertEqual(progress[-1]["processed"], progress[-1]["total"])
            self.assertEqual(progress[-1]["total"] > 50, i < 2)
            self.check_timings([e["timings"] for e in mine if "timings" in e])
            self.assertEqual("".join(map(self.text, mine)),
                             "".join(self.text(e) for e in plain if e["choices"][0]["index"] == i))

    def test_without_stream(self):
        for path in self.DOORS:
            plain = self.server.post(path, {**self.DOORS[path], "seed": 3})[1]
            status, answer = self.server.post(path, {**self.DOORS[path], "seed": 3, **self.ASKED})
            self.assertEqual(status, 200, answer)
            self.assertEqual(set(answer), set(plain))
            self.assertNotIn("prompt_progress", answer)

    def test_refusals(self):
        for path in self.DOORS:
            for field in self.ASKED:
                status, answer = self.server.post(path, {**self.DOORS[path], field: 1})
                self.assertEqual((status, answer["error"]["param"]), (400, field))
        for path, field in (("/completion", "post_sampling_probs"), ("/v1/completions", "verbose"), ("/v1/chat/completions", "verbose")):
            status, answer = self.server.post(path, {**self.DOORS[path], field: "yes"})
            self.assertEqual((status, answer["error"]["param"]), (400, field))

    def draws(self, **more):
        """The tokens of an answer with the probabilities that they were drawn with."""
        body = {"prompt": "In the", "n_predict": 6, "seed": 5, "ignore_eos": True, "n_probs": 4, "post_sampling_probs": True, **more}
        whole = self.server.post("/completion", body)[1]
        streamed = [t for e in self.ask("/completion", **{**body, "n_predict": 6}) for t in e.get("completion_probabilities", [])]
        self.assertEqual(streamed, whole["completion_probabilities"])
        plain = self.server.post("/completion", {**body, "post_sampling_probs": False})[1]
        self.assertEqual([t["id"] for t in plain["completion_probabilities"]], [t["id"] for t in streamed])
        self.assertEqual(len(streamed), 6)
        for token in streamed:
            self.assertEqual(set(token), {"id", "token", "bytes", "prob", "top_probs"})
            top = [one["prob"] for one in token["top_probs"]]
            self.assertEqual(top, sorted(top, reverse=True))
            self.assertTrue(top and all(0 < one <= 1 for one in [*top, token["prob"]]), token)
            self.assertLess(sum(top), 1 + 1e-6)
        return streamed, plain["completion_probabilities"]

    def test_probabilities_of_the_draw(self):
        for one in self.draws(temperature=0)[0]:
            self.assertEqual([one["prob"], *[t["prob"] for t in one["top_probs"]]], [1, 1])
        for one in self.draws(top_k=3, top_p=1, min_p=0, temperature=1.5)[0]:
            self.assertEqual(len(one["top_probs"]), 3)
            self.assertAlmostEqual(sum(t["prob"] for t in one["top_probs"]), 1, places=6)
            self.assertIn(one["prob"], [t["prob"] for t in one["top_probs"] if t["id"] == one["id"]])
        plain_draw = {"top_k": 0, "top_p": 1, "min_p": 0, "temperature": 1, "repeat_penalty": 1}
        for draw, model in zip(*self.draws(**plain_draw)):  # nothing changes the model's own
            self.assertAlmostEqual(draw["prob"], math.exp(model["logprob"]), places=5)
            self.assertEqual([t["id"] for t in draw["top_probs"]], [t["id"] for t in model["top_logprobs"]])
        for options in ({"mirostat": 2}, {"adaptive_target": 0.5, "samplers": ["top_k", "temperature", "adaptive_p"]},
                        {"xtc_probability": 1.0, "xtc_threshold": 0.05}, {"grammar": 'root ::= ("ab" | "cd")+'}):
            self.draws(**options)

    def test_receipt_of_a_draw(self):
        """A receipt is of the model's own numbers."""
        answers = [self.server.post("/completion", {"prompt": "In the", "n_predict": 6, "seed": 5, "n_probs": 2, "receipt": True,
                                                    "post_sampling_probs": draw})[1] for draw in (False, True)]
        self.assertEqual(answers[0]["receipt"], answers[1]["receipt"])
        status, verdict = self.server.post("/verify", answers[1]["receipt"])
        self.assertEqual((status, verdict["identical"]), (200, True), verdict)

    def test_verbose(self):
        for path in ("/v1/completions", "/v1/chat/completions"):
            body = {**self.DOORS[path], "seed": 3, "ignore_eos": True, "verbose": True, "logprobs": path == "/v1/chat/completions" or 0}
            answer = self.server.post(path, body)[1]
            told, choice = answer["__verbose"], answer["choices"][0]
            self.assertEqual(told["content"], choice["text"] if "text" in choice else choice["message"]["content"])
            self.assertIn(self.LONG.strip(), told["prompt"])
            self.assertEqual((told["generation_settings"]["seed"], told["tokens_predicted"]), (3, 8))
            self.assertNotIn("completion_probabilities", told)  # the answer has them
            again = self.server.post("/completion", {"prompt": told["prompt"], "n_predict": 8, "seed": 3, "ignore_eos": True,
                                                     "return_tokens": True})[1]
            for name in ("content", "tokens", "stop_type", "tokens_evaluated", "generation_settings"):
                self.assertEqual(told[name], again[name], name)
            events = self.ask(path, verbose=True)
            self.assertEqual([i for i, e in enumerate(events) if "__verbose" in e], [len(events) - 1])
            self.assertEqual(events[-1]["__verbose"]["tokens"], told["tokens"])
            both = self.server.post(path, {**body, "n": 2})[1]
            self.assertEqual([one["index"] for one in both["__verbose"]], [0, 1])
            self.assertNotIn("__verbose", self.server.post(path, {**body, "verbose": False})[1])
        server = Server(BITTERN, "--verbose", "-t", "1")
        body = {"prompt": "a", "max_tokens": 1}
        self.assertIn("__verbose", server.post("/v1/completions", body)[1])
        self.assertNotIn("__verbose", server.post("/v1/completions", {**body, "verbose": False})[1])
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:])
