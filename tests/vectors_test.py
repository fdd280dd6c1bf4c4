#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Vectors of texts, through every door: vectors_test.py BITTERN. Small synthetic models in the shape of
BitNet-embedding-0.6B and -270M beside float64 (differential/oracle.py), and the same floats from the command
and from the server."""
import array
import base64
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = sys.argv.pop(1)
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/differential"), str(ROOT / "tools")]

import oracle  # noqa: E402
import serve_client  # noqa: E402
import synth_model  # noqa: E402

END = 511  # the token that the generator's models want behind a text
TEXTS = ["a small bird", "What is a tern?", "abab" * 30, "ü", "0"]


def embed(model, *flags, text="\n".join(TEXTS), code=0):
    run = subprocess.run([PROGRAM, "embed", "-m", model, *flags], input=text.encode(), capture_output=True,
                         check=False)
    assert run.returncode == code, run.stderr.decode()
    return run.stdout if code == 0 else run.stderr.decode()


def vectors(model, *flags, **options):
    lines = embed(model, "--json", *flags, **options).decode().splitlines()
    return np.array([json.loads(line)["embedding"] for line in lines], np.float32)


def oracle_of(arch, path, noise=0.0, seed=0):
    """The model in float64, from its bytes. noise: as oracle.Oracle takes it."""
    shape = synth_model.ARCHITECTURES[arch][0]["tiny"]
    tensors, numbers, at = [], b"", 0
    data = path.read_bytes()
    listed = list(synth_model.ARCHITECTURES[arch][3](shape))
    padded = lambda n: -(-n // 32) * 32
    writer = synth_model.Writer("i2_s", 1, False)
    begin = len(data) - sum(padded(writer.size(cols, rows, kind)) for _, cols, rows, kind in listed)
    for name, cols, rows, kind in listed:
        size = writer.size(cols, rows, kind)
        raw = data[begin + at:begin + at + size]
        at += padded(size)
        entry = {"name": name, "rows": rows or 1, "cols": cols, "group_cols": 0, "offset": len(numbers)}
        if kind == "matrix":
            packed = np.frombuffer(raw, np.uint8, rows * cols // 4).reshape(-1, 1, 32)
            codes = packed >> np.array([6, 4, 2, 0])[:, None] & 3
            entry["group_cols"] = cols
            numbers += (codes.astype(np.int8) - 1).tobytes()
            numbers += np.full(rows, struct.unpack_from("<f", raw, rows * cols // 4)[0], "<f4").tobytes()
        else:
            numbers += np.frombuffer(raw, "<f2").astype("<f4").tobytes()
        tensors.append(entry)
    spec = {"architecture": arch, "eps": 1e-6, "theta": 1e6, "activation": "", "input_norms": True, **shape}
    return oracle.Oracle(spec, tensors, numbers, noise, seed)


def cosines(a, b):
    return (a * b).sum(-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)


class Common:
    arch = ""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.model = pathlib.Path(folder.name) / "model.gguf"
        subprocess.run([sys.executable, ROOT / "tools/synth_model.py", "--arch", cls.arch, cls.model], check=True)

    def test_vectors_are_those_of_float64(self):
        ids = [np.array([*self.ids(text), END]) for text in TEXTS]
        exact = oracle_of(self.arch, self.model)
        hidden = [exact.hidden(one) for one in ids]
        shaken = [oracle_of(self.arch, self.model, 3e-7, seed) for seed in range(4)]
        moved = [[one.hidden(text) for text in ids] for one in shaken]
        for pooling, pool in (("auto", lambda h: h.mean(0)), ("mean", lambda h: h.mean(0)),
                              ("last", lambda h: h[-1]), ("first", lambda h: h[0])):
            want = np.array([pool(h) for h in hidden])
            got = vectors(self.model, "--pooling", pooling, "-ctk", "f32", "-ctv", "f32").astype(np.float64)
            # A rounding to int8 that could go either way moves float64's vectors, too.
            stable = np.min([cosines(np.array([pool(h) for h in one]), want) for one in moved], 0) > 0.99995
            self.assertGreater(stable.sum(), 1, pooling)
            self.assertGreater(cosines(got, want)[stable].min(), 0.9999, pooling)
            self.assertGreater(cosines(got, want).min(), 0.999, pooling)
            self.assertLess(abs(np.linalg.norm(got, axis=-1) - 1).max(), 1e-6)

    def ids(self, text):
        """Tokens of the generator's vocabulary: a byte each, but for "ab"."""
        spelled, ids = list(text.encode()), []
        while spelled:
            pair = spelled[:2] == [97, 98]
            ids.append(256 if pair else spelled[0])
            spelled = spelled[2 if pair else 1:]
        return ids

    def test_forms_of_output(self):
        want = vectors(self.model)
        self.assertTrue((np.frombuffer(embed(self.model, "--format", "raw"), "<f4").reshape(want.shape) == want).all())
        with tempfile.NamedTemporaryFile(suffix=".npy") as file:
            file.write(embed(self.model, "--format", "npy"))
            file.flush()
            self.assertTrue((np.load(file.name) == want).all())
        lines = "".join(json.dumps({"text": t} if i % 2 else t) + "\n" for i, t in enumerate(TEXTS))
        self.assertTrue((vectors(self.model, "--jsonl", text=lines) == want).all())
        self.assertIn("line 2", embed(self.model, "--jsonl", text='"a"\n{"b":1}\n', code=1))

    def test_threads_and_instruction_sets(self):
        want = vectors(self.model)
        for flags in (["-t", "1"], ["-t", "3"], ["-ub", "1"], ["-ub", "3"]):
            self.assertTrue((vectors(self.model, *flags) == want).all(), flags)
        lines = set()
        for isa in ("scalar", ""):
            run = subprocess.run(["env", "BITTERN_ISA=" + isa if isa else "A=", PROGRAM, "certify", self.model],
                                 capture_output=True, check=True, text=True)
            lines.add(run.stdout)
        self.assertEqual(len(lines), 1)

    def test_a_folder_has_the_same_vectors(self):
        folder, converted = self.model.with_name("folder"), self.model.with_name("converted.gguf")
        subprocess.run([sys.executable, ROOT / "tools/synth_model.py", "--arch", self.arch, "--form", "hf", folder],
                       check=True)
        want = vectors(self.model)
        self.assertTrue((vectors(folder) == want).all())
        subprocess.run([PROGRAM, "convert", folder, converted, "--to", "i2_s"], check=True, capture_output=True)
        self.assertTrue((vectors(converted) == want).all())
        lines = {subprocess.run([PROGRAM, "certify", model], capture_output=True, check=True).stdout
                 for model in (self.model, folder, converted)}
        self.assertEqual(len(lines), 1)
        # What the folder says of pooling counts; where it says nothing, a notice tells.
        pooling = folder / "1_Pooling/config.json"
        pooling.write_text(pooling.read_text().replace("true", "0").replace("lasttoken\": false", "lasttoken\": true"))
        self.assertTrue((vectors(folder) == vectors(self.model, "--pooling", "last")).all())
        (folder / "modules.json").unlink()
        run = subprocess.run([PROGRAM, "embed", "-m", folder, "-p", "a"], capture_output=True, check=True, text=True)
        self.assertIn("GGUF files of BitNet-embedding say: pooling=mean", run.stderr.replace("--pooling ", "pooling="))

    def test_texts_that_are_too_long(self):
        long = "c" * 2000
        self.assertIn("2001 tokens", embed(self.model, "-p", long, code=3))
        # The token behind the text stays.
        cut = vectors(self.model, "--truncate", "--pooling", "last", text=long)
        self.assertTrue((cut == vectors(self.model, "--pooling", "last", text="c" * 511)).all())

    def test_files_that_are_wrong(self):
        key = "--override-kv", "%s.pooling_type=int:4" % self.arch
        self.assertIn("expected 0 (none), 1 (mean), 2 (first) or 3 (last), found 4", embed(self.model, *key, code=1))
        for name in (b"blk.1.attn_k_norm_in", b"blk.0.ffn_down_norm_in"):
            with tempfile.NamedTemporaryFile(suffix=".gguf") as file:
                file.write(self.model.read_bytes().replace(name, name[:-1] + b"x"))
                file.flush()
                self.assertIn('"%s.weight" is missing' % name.decode(), embed(file.name, code=2))

    def test_the_server_gives_the_same_floats(self):
        want = vectors(self.model)
        raw = vectors(self.model, "--no-normalize")
        server = serve_client.Server(PROGRAM, "-m", self.model, "-t", "2", "-np", "3")
        try:
            status, answer = server.post("/v1/embeddings", {"input": TEXTS, "model": "x"})
            self.assertEqual(status, 200)
            self.assertEqual([d["index"] for d in answer["data"]], list(range(len(TEXTS))))
            self.same([d["embedding"] for d in answer["data"]], want)
            tokens = sum(len(self.ids(t)) + 1 for t in TEXTS)
            self.assertEqual(answer["usage"], {"prompt_tokens": tokens, "total_tokens": tokens})
            _, coded = server.post("/v1/embeddings", {"input": TEXTS[0], "encoding_format": "base64"})
            self.same([array.array("f", base64.b64decode(coded["data"][0]["embedding"]))], want[:1])
            _, ids = server.post("/v1/embeddings", {"input": [*self.ids(TEXTS[0]), END]})
            self.same([ids["data"][0]["embedding"]], want[:1])
            _, native = server.post("/embedding", {"content": TEXTS, "embd_normalize": -1})
            self.same([one["embedding"][0] for one in native], raw)
            _, ollama = server.post("/api/embed", {"model": "x", "input": TEXTS})
            self.same(ollama["embeddings"], want)
            self.assertEqual(ollama["prompt_eval_count"], tokens)
            _, older = server.post("/api/embeddings", {"model": "x", "prompt": TEXTS[1]})
            self.same([older["embedding"]], raw[1:2])
            self.refusals(server)
            self.many(server)
        finally:
            server.stop()

    def same(self, got, want):
        self.assertTrue((np.array(got, np.float32) == want).all())

    def refusals(self, server):
        for path, body, words in (("/v1/embeddings", {}, "input"), ("/v1/embeddings", {"input": []}, "1 to 2048"),
                                  ("/v1/embeddings", {"input": ""}, None), ("/v1/embeddings", {"input": 5}, "input"),
                                  ("/v1/embeddings", {"input": [[1, 99999]]}, "input[0]"),
                                  ("/v1/embeddings", {"input": "c" * 3000}, "the context holds"),
                                  ("/v1/embeddings", {"input": "a", "dimensions": 3}, "dimensions"),
                                  ("/v1/embeddings", {"input": "a", "encoding_format": "int8"}, "encoding_format"),
                                  ("/embedding", {"content": "a", "embd_normalize": 0}, "embd_normalize"),
                                  ("/api/embed", {"input": "c" * 3000, "truncate": False}, "the context holds"),
                                  ("/v1/embeddings", {"input": ["a"] * 2049}, "2049 found"),
                                  ("/v1/embeddings", {"input": ["c" * 400] * 1000}, "300000 tokens at most")):
            status, answer = server.post(path, body)
            if words is None:
                self.assertEqual(status, 200)  # the token behind it is a text
                continue
            self.assertEqual(status, 400, (path, answer))
            self.assertIn(words, json.dumps(answer))
        self.assertEqual(server.post("/api/embed", {"input": "c" * 3000})[0], 200)

    def many(self, server):
        """A thousand texts in one request, more than the queue holds, beside a text that is written."""
        texts = ["text %d" % i for i in range(1000)]
        status, answer = server.post("/v1/embeddings", {"input": texts})
        self.assertEqual(status, 200)
        got = [d["embedding"] for d in answer["data"]]
        self.same(got[:50], vectors(self.model, text="\n".join(texts[:50])))
        self.same(got[-5:], vectors(self.model, text="\n".join(texts[-5:])))


class Qwen3(Common, unittest.TestCase):
    arch = "qwen3"


class Gemma3(Common, unittest.TestCase):
    arch = "gemma3"


if __name__ == "__main__":
    unittest.main()
