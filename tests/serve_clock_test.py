#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: serve_clock_test.py BITTERN   `bittern serve` while the clock of the wall jumps by days: no time limit of a
connection looks at it. Needs libfaketime (Debian: libfaketime); skipped without it."""
import email.utils
import json
import os
import pathlib
import select
import socket
import sys
import tempfile
import time
import unittest

from serve_client import Server

BITTERN = sys.argv[1]
LIBRARY = next(iter(sorted(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))), None)
DAY = 86400
REQUEST = b"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n"
BODY = json.dumps({"prompt": "A tern is", "max_tokens": 3, "seed": 1}).encode()


@unittest.skipIf(LIBRARY is None, "SKIPPED: no libfaketime")
class ClockTest(unittest.TestCase):
    LIMIT = 3

    def setUp(self):
        self.file = tempfile.NamedTemporaryFile("w")
        self.jump(0)
        env = {**os.environ, "LD_PRELOAD": str(LIBRARY), "FAKETIME_TIMESTAMP_FILE": self.file.name, "FAKETIME_NO_CACHE": "1",
               "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        self.server = Server(BITTERN, "-t", "1", "--timeout", str(self.LIMIT), env=env)

    def tearDown(self):
        self.assertEqual(self.server.stop(), 0, self.server.output())
        self.file.close()

    def jump(self, seconds):
        """Sets the server's clock of the wall; 0: the true time."""
        self.file.seek(0)
        self.file.truncate()
        self.file.write(f"{seconds:+d}\n")
        self.file.flush()

    def shown(self):
        """How far the server's clock is from ours."""
        _, _, headers = self.server.request("GET", "/health")
        return email.utils.parsedate_to_datetime(headers["Date"]).timestamp() - time.time()

    def open(self):
        client = socket.create_connection(("127.0.0.1", self.server.port))
        client.settimeout(20)
        return client

    def test_jumps_end_nothing_early_and_keep_nothing_open(self):
        for days in (30, -30, 0):
            with self.open() as half, self.open() as silent:
                half.sendall(REQUEST % len(BODY) + BODY[:10])
                begin = time.monotonic()
                self.jump(days * DAY)
                self.assertAlmostEqual(self.shown() / DAY, days, delta=0.01)  # else nothing was tried
                time.sleep(self.LIMIT / 3)
                half.sendall(BODY[10:])
                self.assertTrue(half.recv(64).startswith(b"HTTP/1.1 200"))
                self.assertEqual(silent.recv(1), b"")  # closed when its time was over, by the steady clock
                self.assertGreater(time.monotonic() - begin, self.LIMIT * 0.8)
                self.assertLess(time.monotonic() - begin, self.LIMIT * 3)

    def test_times_of_answers_are_never_negative(self):
        with self.open() as client:
            body = json.dumps({"prompt": "A tern is", "max_tokens": 1500, "seed": 1, "ignore_eos": True}).encode()
            client.sendall(REQUEST % len(body) + body)
            time.sleep(0.2)
            self.jump(-30 * DAY)
            self.assertEqual(select.select([client], [], [], 0)[0], [])  # in the middle of it
            text = b""
            while b'"timings"' not in text:
                part = client.recv(65536)
                self.assertTrue(part, text[-200:])
                text += part
            while not text.endswith(b"}"):
                text += client.recv(65536)
        timings = json.loads(text.partition(b"\r\n\r\n")[2])["timings"]
        self.assertGreater(timings["predicted_n"], 100)
        for name, value in timings.items():
            self.assertGreaterEqual(value, 0, name)
            self.assertLess(value, 1e6, name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
