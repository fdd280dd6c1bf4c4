#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What users of Ollama and llama.cpp type first: models by name where a file stands, commands of those programs. Each does
what it says there, or says what does it here.

usage: first_words_test.py BITTERN MODEL
"""
import os
import pathlib
import pty
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "hub"))
from hub_case import BITTERN, FILE, MODEL, REPO, HubTest  # noqa: E402

WORDS = ("-p", "In the beginning", "-n", "6", "--temp", "0")


class FirstWords(HubTest):
    def typed(self, answer, *words, **env):
        """Exit code, standard output and the terminal's text of a command whose question gets `answer`."""
        ours, theirs = pty.openpty()
        child = subprocess.Popen([BITTERN, *words], stdin=theirs, stdout=subprocess.PIPE, stderr=theirs,
                                 env=self.env(NO_COLOR="1", **env), cwd=self.folder)
        os.close(theirs)
        os.write(ours, answer)
        shown = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:
                break
            if not part:
                break
            shown += part
        out = child.stdout.read().decode()
        child.stdout.close()
        os.close(ours)
        return child.wait(60), out, shown.decode()


class Names(FirstWords):
    def setUp(self):
        super().setUp()
        self.wanted = self.run_bittern("run", "-m", str(MODEL), *WORDS).stdout

    def test_a_name_that_is_not_here_is_refused_in_scripts(self):
        for words in (("run", "bitnet-2b"), ("run", "-m", "bitnet-2b"), ("chat", "bitnet-2b"), ("bench", "bitnet-2b"),
                      ("serve", "bitnet-2b"), ("inspect", "bitnet-2b"), ("doctor", "BitNet-2B"), ("eval", "-", "-m", "bitnet-2b"),
                      ("certify", "bitnet-2b"), ("logits", "bitnet-2b", "-p", "x", "-o", "x.bin"), ("report", "bitnet-2b"),
                      ("selftest", "bitnet-2b"), ("trace", "-m", "bitnet-2b", "-p", "x"), ("tokenize", "x", "-m", "bitnet-2b")):
            for env in ({}, {"HF_HUB_OFFLINE": "1"}, {"HF_ENDPOINT": "http://127.0.0.1:9"}):
                said = self.run_bittern(*words, code=2, **env).stderr
                for part in ("-hf", "1187.8 MB", "-y", "ggml-model-i2_s.gguf", str(self.cache)):
                    self.assertIn(part, said, words)
        said = self.run_bittern("run", *WORDS, code=2, BITTERN_MODEL="bitnet-2b").stderr
        self.assertIn("$BITTERN_MODEL", said)
        self.assertIn("-hf", said)
        self.assertEqual(self.hub.log, [])
        self.assertFalse(self.cache.exists())

    def test_yes_downloads_and_the_cache_is_used(self):
        for name in (REPO, f"{REPO}:{FILE}", f"{REPO}:i2_s", f"hf.co/{REPO}", f"https://huggingface.co/{REPO}",
                     f"https://huggingface.co/{REPO}/blob/main/{FILE}"):
            self.assertIn("-hf", self.run_bittern("run", name, *WORDS, code=2).stderr, name)
            self.assertEqual(self.run_bittern("run", name, *WORDS, "-y").stdout, self.wanted, name)
            asked = len(self.hub.log)
            for words in ((name,), ("-m", name)):
                self.assertEqual(self.run_bittern("run", *words, *WORDS).stdout, self.wanted, name)
            self.assertEqual(self.run_bittern("run", *WORDS, BITTERN_MODEL=name).stdout, self.wanted, name)
            self.assertEqual(len(self.hub.log), asked, name)
            shutil.rmtree(self.cache)

    def test_a_short_name(self):
        self.hub.add("microsoft/bitnet-b1.58-2B-4T-gguf", {"ggml-model-i2_s.gguf": self.model})
        self.assertEqual(self.run_bittern("run", "bitnet-2b", *WORDS, "--yes").stdout, self.wanted)
        self.assertEqual(self.run_bittern("run", "BitNet-2b", *WORDS).stdout, self.wanted)

    def test_the_question(self):
        code, out, shown = self.typed(b"n\n", "run", REPO, *WORDS)
        self.assertEqual((code, out), (2, ""))
        for part in (REPO, "[y/N]", str(self.cache), "not downloaded"):
            self.assertIn(part, shown)
        self.assertIn("1187.8 MB", self.typed(b"\n", "chat", "bitnet-2b")[2])
        self.assertEqual(self.hub.log, [])
        code, out, shown = self.typed(b"yes\n", "run", REPO, *WORDS)
        self.assertEqual((code, out), (0, self.wanted), shown)
        self.assertNotIn("[y/N]", self.typed(b"", "run", REPO, *WORDS)[2])

    def test_a_file_or_folder_goes_first(self):
        (self.folder / "bitnet-2b").symlink_to(MODEL.resolve())
        (self.folder / "user").mkdir()
        (self.folder / "user" / "tern-GGUF").symlink_to(MODEL.resolve())
        for name in ("bitnet-2b", REPO):
            done = subprocess.run([BITTERN, "run", name, *WORDS], cwd=self.folder, env=self.env(), capture_output=True,
                                  text=True, stdin=subprocess.DEVNULL)
            self.assertEqual(done.stdout, self.wanted, done.stderr)
        self.assertEqual(self.hub.log, [])

    def test_what_is_no_name(self):
        for name, part in (("bitnet-2", "did you mean the model bitnet-2b?"), ("falcon-e1b", "falcon-e-1b"),
                           ("./user/tern", "no such"), ("user/tern.gguf", "no such"), ("model.gguf", "no such"),
                           ("/no/such", "no such"), ("a b", "no such")):
            self.assertIn(part, self.run_bittern("run", name, "-p", "x", code=2).stderr)
            self.assertIn(part.replace("no such", "No such"), self.run_bittern("run", "-m", name, "-p", "x", code=2).stderr)
        self.assertIn("a prompt needs -p", self.run_bittern("run", "hello", code=2).stderr)
        self.assertIn("did you mean bitnet-2b?", self.run_bittern("run", "-hf", "bitnet-2", "-p", "x", code=1).stderr)
        self.assertEqual(self.hub.log, [])


if __name__ == "__main__":
    unittest.main(verbosity=2 if os.environ.get("VERBOSE") else 1)
