#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Texts of trained models (tests/trained) beside those of the networks that trained them, in float64: trained_test.py BITTERN.

Of each model: its folder, a GGUF file made of it, and what float64 says. A token may be another one where float64 itself was
near a tie."""
import array
import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

TRAINED = pathlib.Path(__file__).resolve().parent / "trained"
PROGRAM = sys.argv.pop(1)
# Where float64's first choice is ahead of its second by so many nats, it must be ours. The bits of activations decide: those without a
# flag (10), 16, and 8.
SURE, SURE_OF_16, SURE_OF_8 = 0.02, 0.005, 0.15


def bittern(*arguments):
    run = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if run.returncode:
        raise AssertionError("%s: exit code %d\n%s" % (arguments, run.returncode, run.stderr))
    return run.stdout


def rows_of(path, count):
    values = array.array("f", path.read_bytes())
    size = len(values) // count
    return [values[i * size:(i + 1) * size] for i in range(count)]


class Trained:
    """What each of them must do. form: GGUF's type that holds the weights."""
    name = form = ""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        path = pathlib.Path(folder.name)
        with tarfile.open(TRAINED / (cls.name + ".tar.xz")) as archive:
            archive.extractall(path)
        cls.folder, cls.file, cls.rows = path / cls.name, path / "model.gguf", path / "rows"
        cls.proved = bittern("convert", cls.folder, cls.file, "--to", cls.form, "--prove")
        cls.said = json.loads((cls.folder / "says.json").read_text())["said"]

    def choices(self, one, *flags):
        """Behind float64's own words: our choice, and by how much it is ahead."""
        ids = one["ids"] + one["said"]
        bittern("logits", "-m", self.file, "--prompt-ids", ",".join(map(str, ids)), "--all", "-o", self.rows, "--force", *flags)
        out = []
        for row in rows_of(self.rows, len(ids))[len(one["ids"]) - 1:-1]:
            best = max(range(len(row)), key=row.__getitem__)
            out.append((best, row[best] - max(value for i, value in enumerate(row) if i != best)))
        return out

    def test_a_file_and_its_folder_are_one_model(self):
        self.assertIn("all equal", self.proved)
        self.assertEqual(bittern("certify", self.file), bittern("certify", self.folder))

    def check_words(self, sure, off, *flags):
        """off: the mean of what our margins may differ by from float64's. Returns the largest of the means."""
        means = []
        for one in self.said:
            ours = self.choices(one, "-ctk", "f32", "-ctv", "f32", *flags)
            for (best, _), said, margin in zip(ours, one["said"], one["margins"]):
                self.assertTrue(best == said or margin < sure, (one["prompt"], best, said, margin))
            means.append(sum(abs(ahead - margin) for (_, ahead), margin in zip(ours, one["margins"])) / len(ours))
            self.assertLess(means[-1], off, one["prompt"])
        return max(means)

    def test_its_words_are_float64s(self):
        fine = self.check_words(SURE_OF_16, 0.001, "--activations", "int16")
        self.check_words(SURE, 0.015)
        coarse = self.check_words(SURE_OF_8, 0.06, "--activations", "int8")
        self.assertGreater(coarse, 20 * fine)

    def test_a_wrong_twin_says_something_else(self):
        wrong = 0
        for one in self.said:
            ours = self.choices(one, "--override-kv", self.wrong)
            wrong += sum(best != said and margin >= SURE for (best, _), said, margin in zip(ours, one["said"], one["margins"]))
        self.assertGreater(wrong, 10)

    def test_text_is_what_it_says(self):
        """Free, not behind float64's words, to where float64 is no longer sure."""
        compared = 0
        for one in self.said:
            told = bittern("run", "-m", self.file, "-p", one["prompt"], "-n", len(one["said"]), "--temp", 0, "--ignore-eos",
                           "--quiet", "-ctk", "f32", "-ctv", "f32")
            sure = next((i for i, margin in enumerate(one["margins"]) if margin < SURE), len(one["said"]))
            start = json.loads(bittern("detokenize", "-m", self.file, "--json", *one["said"][:sure]))["text"] if sure else ""
            self.assertTrue(told.startswith(one["prompt"] + start), (told, one["prompt"] + start))
            compared += sure
        self.assertGreater(compared, 0.6 * sum(len(one["said"]) for one in self.said))


class Qwen35(Trained, unittest.TestCase):
    name, form, wrong = "qwen35", "q2_0", "qwen35.rope.freq_base=float:100"


class HunYuan(Trained, unittest.TestCase):
    name, form, wrong = "hunyuan", "stq1_0", "hunyuan-dense.rope.freq_base=float:100"


class MiniCpm(Trained, unittest.TestCase):
    name, form, wrong = "minicpm", "tq2_0", "minicpm.residual_scale=float:0.5"


class Maple(Trained, unittest.TestCase):
    name, form, wrong = "maple", "tq2_0", "maple.attention.sliding_window=int:4"


if __name__ == "__main__":
    unittest.main()
