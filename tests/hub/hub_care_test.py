#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models by name where a cache is not as it was left or a hub keeps one waiting (hub_server.py).

usage: hub_care_test.py BITTERN MODEL.gguf
"""
import pathlib
import signal
import subprocess
import time
import unittest

from hub_case import BITTERN, REPO, HubTest
from hub_server import COMMIT


class Cache(HubTest):
    def test_check_finds_wrong_bytes(self):
        """Right size and wrong bytes: a blob of the cache is damaged, with links and without."""
        place = pathlib.Path(self.pull(REPO).stdout.strip())
        self.hub.calm()
        self.assertIn("its hash is the hub's", self.pull(REPO, "--check").stderr)
        self.assertEqual(self.hub.asked(kind="blob"), [])
        for file in (place.resolve(), place):
            if file == place:
                place.unlink()
            wrong = bytearray(self.model)
            wrong[12345] ^= 1
            file.write_bytes(wrong)
            self.pull(REPO)
            self.assertEqual(place.read_bytes(), wrong)  # not looked at
            self.assertIn("other bytes than the hub", self.pull(REPO, "--check").stderr)
            self.assertEqual(place.read_bytes(), self.model)
        self.assertIn("needs the hub", self.pull(REPO, "--check", "--offline", code=1).stderr)

    def test_revision_that_is_a_link(self):
        self.pull(REPO)
        ref = self.repo_folder(REPO) / "refs" / "main"
        other = self.folder / "notes"
        other.write_text("mine")
        ref.unlink()
        ref.symlink_to(other)
        self.pull(REPO)
        self.assertEqual(other.read_text(), "mine")
        self.assertFalse(ref.is_symlink())
        self.assertEqual(ref.read_text(), COMMIT)


class Patience(HubTest):
    def test_retry_after_of_minutes_is_obeyed(self):
        """The hub's own window is 300 s."""
        self.hub.hook = lambda request: request.send(429, b"no", Retry_After="299") or True
        pull = subprocess.Popen([BITTERN, "pull", REPO], env=self.env(), text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)
        self.addCleanup(pull.kill)
        self.assertIn("trying again in 299.0 s", pull.stderr.readline())
        pull.send_signal(signal.SIGINT)
        pull.communicate(timeout=20)
        self.hub.hook = lambda request: request.send(429, b"no", Retry_After="301") or True
        self.assertIn("300 s are waited at most", self.pull(REPO, code=3).stderr)

    def drip(self, most):
        """The first `most` answers with bytes of the large file come at 20 bytes a second."""
        asked = []

        def hook(request):
            if request.kind != "blob":
                return False
            asked.append(time.monotonic())
            if len(asked) > most:
                return False
            data = self.hub.blobs[request.what]
            request.raw(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(data))
            for at in range(1200):
                request.wfile.write(data[at:at + 1])
                request.wfile.flush()
                time.sleep(0.05)
            return True
        self.hub.hook = hook
        return asked

    def test_drops_are_a_stall(self):
        asked = self.drip(1)
        done = self.pull(REPO, HF_HUB_DOWNLOAD_TIMEOUT="2")
        self.assertEqual(pathlib.Path(done.stdout.strip()).read_bytes(), self.model)
        self.assertLess(asked[1] - asked[0], 15)
        self.drip(100)
        start = time.monotonic()
        self.assertIn("fewer than 256 bytes per second came for 4 s",
                      self.pull(REPO, "--retries", "1", code=3, HF_HUB_DOWNLOAD_TIMEOUT="2",
                                HF_HUB_CACHE=str(self.folder / "other")).stderr)
        self.assertLess(time.monotonic() - start, 30)


if __name__ == "__main__":
    unittest.main()
