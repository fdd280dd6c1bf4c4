# SPDX-License-Identifier: Apache-2.0
"""What tests of models by name share: a hub with three repositories, an empty home for each test, `bittern` run in
it. The program and the model are the first two arguments of the test."""
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

from hub_server import Hub, sha256

BITTERN, MODEL = os.path.abspath(sys.argv.pop(1)), pathlib.Path(sys.argv.pop(1))
CHUNK = 16 << 20  # bytes of one request
REPO, FILE = "user/tern-GGUF", "tern-i2_s.gguf"


class HubTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.hub = Hub()
        cls.model = MODEL.read_bytes()
        cls.big = random.Random(1).randbytes(3 * CHUNK + 12345)
        cls.hub.add(REPO, {FILE: cls.model, "README.md": b"# A tern\n"})
        cls.hub.add("user/big", {"big-tq2_0.gguf": cls.big})
        cls.hub.add("user/gated", {FILE: cls.model}, token="hf_secret")

    @classmethod
    def tearDownClass(cls):
        cls.hub.close()

    def setUp(self):
        self.hub.calm()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bittern-hub-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.cache = self.folder / "cache" / "hub"

    def env(self, **more):
        keep = {k: v for k, v in os.environ.items() if k in ("PATH", "LD_LIBRARY_PATH", "ASAN_OPTIONS")}
        return keep | {"HOME": str(self.folder), "HF_HUB_CACHE": str(self.cache), "HF_ENDPOINT": self.hub.url,
                       "no_proxy": "*", "HF_HUB_DOWNLOAD_TIMEOUT": "5"} | more

    def run_bittern(self, *words, code=0, timeout=120, preexec_fn=None, **env):
        done = subprocess.run([BITTERN, *words], capture_output=True, text=True, env=self.env(**env),
                              stdin=subprocess.DEVNULL, timeout=timeout, preexec_fn=preexec_fn)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def pull(self, *words, **more):
        return self.run_bittern("pull", *words, **more)

    def repo_folder(self, repo):
        return self.cache / ("models--" + repo.replace("/", "--"))

    def unfinished(self, repo):
        return sorted((self.repo_folder(repo) / "blobs").glob("*.incomplete"))

    def check_big(self, done):
        self.assertEqual(pathlib.Path(done.stdout.strip()).read_bytes(), self.big)
        self.assertEqual(self.unfinished("user/big"), [])
