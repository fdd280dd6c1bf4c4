#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rest of the program from Python: receipts, scores, vectors, inspect, doctor, calls in a text."""
import contextlib
import json
import logging
import os
import pathlib
import sys
import tempfile
import unittest

import bittern

POCKET = os.path.join(os.path.dirname(__file__), "../../models/pocket-3-i2s.gguf")
MODEL = bittern.Model()


class Reach(unittest.TestCase):
    def test_receipts(self):
        text = MODEL.generate("A tern is", n_predict=6, temperature=1, seed=4, receipt=True)
        self.assertTrue(MODEL.verify(text.receipt)["identical"])
        self.assertTrue(MODEL.verify(json.dumps({"choices": [{"receipt": text.receipt}]}))["identical"])
        chain = ("1" if text.receipt["chain"][0] == "0" else "0") + text.receipt["chain"][1:]
        self.assertFalse(MODEL.verify({**text.receipt, "chain": chain})["identical"])
        with self.assertRaises(bittern.ArgumentError):
            MODEL.verify({})
        with self.assertRaises(TypeError):
            MODEL.verify(5)

    def test_scores(self):
        shares = []
        text = "A tern is a bird. A dog is an animal. A horse is an animal that people ride."
        score = MODEL.score_text(text, window=8, every_token=True, progress=shares.append)
        self.assertGreater(score["perplexity"], 1)
        self.assertEqual(shares[-1], 1)
        with self.assertRaises(bittern.CancelledError):
            MODEL.score_text(text, window=8, progress=lambda _: False)
        line = json.dumps({"query": "A tern is a", "choices": [" bird", " gd"], "gold": 0})
        self.assertEqual(MODEL.score_choices(line)["acc"], 1)

    def test_vectors(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("no NumPy")
        ids = MODEL.tokenize("A tern is")
        sequence = MODEL.sequence(hidden=True)
        rows = []
        for token in ids:
            sequence.eval([token])
            rows.append(sequence.hidden().copy())
        self.assertTrue((MODEL.sequence().hidden_of_all(ids) == numpy.stack(rows)).all())
        self.assertTrue((MODEL.embedding("A tern is") == rows[-1]).all())
        self.assertTrue((MODEL.embedding(ids, pooling="first") == rows[0]).all())
        mean = MODEL.embedding(ids, pooling="mean")
        want = numpy.stack(rows).astype(numpy.float64).sum(0) / len(rows)
        self.assertLess(abs(mean - want).max(), 1e-6)
        self.assertAlmostEqual(float((MODEL.embedding(ids, normalize=True) ** 2).sum()), 1, 5)

    def test_trace(self):
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place, "trace")
            text = MODEL.trace("A tern is", folder)
            self.assertIn("attn_norm", text)
            self.assertEqual(MODEL.trace(MODEL.tokenize("A tern is")), text)
            self.assertEqual(json.loads((folder / "trace.json").read_text())["tokens"], MODEL.tokenize("A tern is"))
            self.assertFalse((folder / "values").exists())
            MODEL.trace("A tern is", folder, values=True)
            self.assertTrue((folder / "values" / "embedding.npy").exists())
            (folder / "trace.json").write_text("kept")
            with self.assertRaisesRegex(bittern.ArgumentError, "trace.json found"):
                MODEL.trace("A tern is", folder)

    def test_log(self):
        with self.assertLogs("bittern", logging.INFO) as heard:
            bittern.Model()
            MODEL.score_text("A tern is a bird.", window=100000)
        self.assertEqual({record.levelname for record in heard.records}, {"INFO", "WARNING"})
        self.assertTrue(any("window=100000" in line for line in heard.output))
        with self.assertNoLogs("bittern", logging.INFO) if hasattr(self, "assertNoLogs") else contextlib.nullcontext():
            MODEL.generate("A tern is", n_predict=2)

    def test_files(self):
        self.assertTrue(bittern.inspect(POCKET)["tensors"])
        self.assertEqual(bittern.doctor(POCKET)["verdict"], "healthy")
        with self.assertRaises(FileNotFoundError):
            bittern.inspect("/no/such/file")

    def test_calls(self):
        text, calls = MODEL.parse_answer(
            'so\n<tool_call>\n{"name": "f", "arguments": {"x": 1}}\n</tool_call>')
        self.assertEqual(calls[0]["function"]["name"], "f")
        self.assertTrue(text.startswith("so"))
        self.assertEqual(MODEL.parse_answer("plain"), ("plain", []))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
