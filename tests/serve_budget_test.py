#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one request may cost (docs/serving.md, "Budgets"): each kind of request that once held the server for long or took
its memory is sent, while tiny requests come in between.

usage: serve_budget_test.py BITTERN
"""
import json
import os
import pathlib
import sys
import threading
import time
import unittest

from serve_client import Server

BITTERN = sys.argv.pop(1)
TINY = {"prompt": "A tern is", "n_predict": 1, "temperature": 0}
TICKS = os.sysconf("SC_CLK_TCK")


def conditions(count):
    one = lambda i: {"if": {"properties": {f"a{i}": {"const": 1}}, "required": [f"a{i}"]},
                     "then": {"required": [f"b{i}"]}, "else": {"required": [f"c{i}"]}}
    return {"type": "object", "allOf": [one(i) for i in range(count)]}


def one_of(count):
    return {"oneOf": [{"type": "object", "properties": {"k": {"const": i}}, "required": ["k", f"p{i}"]} for i in range(count)]}


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
    ("prompt", "/completion", {"prompt": "and the " * 2_000_000, "n_predict": 1}, 400, "at least: the prompt has", 3),
    ("message", "/v1/chat/completions", chat(messages=[{"role": "user", "content": "and the " * 2_000_000}]), 400,
     "at least: the prompt has", 4),
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


class BudgetTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(BITTERN)
        cls.pid = cls.server.process.pid

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0

    def cpu(self):
        fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def peak_mib(self):
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1024

    def test_what_a_request_costs(self):
        """The right answer, within its CPU time and memory."""
        for name, path, body, status, words, seconds in CASES:
            with self.subTest(name):
                sent = json.dumps(body)
                pathlib.Path(f"/proc/{self.pid}/clear_refs").write_text("5")  # the peak begins anew
                before, memory = self.cpu(), self.peak_mib()
                found, text, _ = self.server.request("POST", path, sent)
                self.assertEqual(found, status, text[:300])
                self.assertIn(words, text)
                used = self.cpu() - before
                print(f"{name}: {used:.2f} s, {self.peak_mib() - memory:.0f} MiB", file=sys.stderr)
                self.assertLess(used, seconds)
                self.assertLess(self.peak_mib() - memory, 400, "MiB")

    def test_a_tiny_request_does_not_wait(self):
        """Requests that are slow to read come as fast as they can; tiny ones are read beside them."""
        slow = [(path, json.dumps(body)) for name, path, body, *_ in CASES
                if name in ("message", "numbers", "conditions", "tools", "calls")]
        stop, sent = threading.Event(), [0]

        def flood(path, body):
            while not stop.is_set():
                self.server.request("POST", path, body)
                sent[0] += 1

        threads = [threading.Thread(target=flood, args=case, daemon=True) for case in slow for _ in range(2)]
        for thread in threads:
            thread.start()
        waits, used = [], []
        try:
            while sent[0] < 3 * len(threads) or len(waits) < 20:
                begin, cpu = time.monotonic(), self.cpu()
                status, text, _ = self.server.request("POST", "/completion", TINY)
                waits.append(time.monotonic() - begin)
                used.append(self.cpu() - cpu)
                self.assertEqual(status, 200, text)
                time.sleep(0.05)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        used.sort()
        print(f"tiny requests: {len(waits)}, median {sorted(waits)[len(waits) // 2]:.3f} s, longest {max(waits):.3f} s, "
              f"{used[-1]:.2f} s of CPU time meanwhile", file=sys.stderr)
        # Both threads of the machine may be busy with others' requests: time of the server, not of the wall.
        self.assertLess(used[int(0.95 * len(used))], 1.5)


if __name__ == "__main__":
    unittest.main()
