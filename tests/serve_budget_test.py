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

from serve_bombs import CASES, TINY
from serve_client import Server

BITTERN = sys.argv.pop(1)
TICKS = os.sysconf("SC_CLK_TCK")


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
