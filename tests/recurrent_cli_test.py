#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A model of each architecture that tools/synth_model.py makes, through the commands: recurrent_cli_test.py
BITTERN. One certificate with any number of threads, in any format, and the same logits by plain C++; its certificates, which
take seven seconds each, with BITTERN_TEST_DEAREST in the environment."""
import functools
import hashlib
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = sys.argv.pop(1)


def bittern(*arguments, isa=None, code=0, **options):
    """Standard output of a command that ends with `code`."""
    env = {**os.environ, **({"BITTERN_ISA": isa} if isa else {})}
    run = subprocess.run([PROGRAM, *map(str, arguments)], env=env, capture_output=True, text=True, check=False, **options)
    if run.returncode != code:
        raise AssertionError("%s: exit code %d\n%s" % (arguments, run.returncode, run.stderr))
    return run.stdout


def logits(model, isa=None, threads=1):
    """A hash of every logit of a prompt that a batch reads."""
    run = subprocess.run([PROGRAM, "logits", model, "-p", "abcdefgh" * 9, "-t", str(threads), "--all", "-o", "-"],
                         env={**os.environ, **({"BITTERN_ISA": isa} if isa else {})}, capture_output=True, check=True)
    assert len(run.stdout) > 60 * 512 * 4, len(run.stdout)
    return hashlib.sha256(run.stdout).hexdigest()


class Generated:
    """Noise of an architecture."""
    arch = ""

    @classmethod
    def generate(cls, path, *flags):
        subprocess.run([sys.executable, ROOT / "tools/synth_model.py", "--arch", cls.arch, *flags, path], check=True)


class Common(Generated):
    """What each architecture must do."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path = pathlib.Path(cls.folder.name)
        cls.model = cls.path / "model.gguf"
        cls.generate(cls.model)
        cls.line = bittern("certify", cls.model)

    def test_the_generator_repeats_itself(self):
        again = self.path / "again.gguf"
        self.generate(again)
        self.assertEqual(again.read_bytes(), self.model.read_bytes())

    def test_one_certificate(self):
        for threads in (1, 3):
            self.assertEqual(bittern("certify", self.model, "-t", threads), self.line)
        self.assertEqual(logits(self.model, "scalar", 2), logits(self.model))  # any machine has these two

    @unittest.skipUnless(os.environ.get("BITTERN_TEST_DEAREST"), "left to ./check rest")
    def test_one_certificate_by_plain_code(self):
        self.assertEqual(bittern("certify", self.model, "-t", "2", isa="scalar"), self.line)

    def test_conversion_keeps_it(self):
        one, other = self.path / "one_scale.gguf", self.path / "other.gguf"
        self.generate(one, "--one-scale")
        line = bittern("certify", one)
        self.assertNotEqual(line, self.line)
        for form in ("i2_s:row4", "f32", "tq1_0"):
            bittern("convert", one, other, "--to", form)
            self.assertEqual(bittern("certify", other), line, form)
            other.unlink()

    def test_texts_are_the_same_however_they_are_cut(self):
        want = bittern("run", self.model, "-p", "abcdefgh" * 40, "-n", "20", "--temp", "0")
        for flags in (["-ub", "1"], ["-ub", "7"], ["-t", "1"], ["-c", "400"]):
            self.assertEqual(bittern("run", self.model, "-p", "abcdefgh" * 40, "-n", "20", "--temp", "0", *flags), want)


def same_folder(test, form, *flags):
    """A Hugging Face folder and its conversion have the certificate of the GGUF file of the same weights; a wide one the
    logits."""
    name = "-".join((form, *flags)).replace("--", "")
    folder, file, converted = (test.path / (name + end) for end in ("", ".gguf", "-converted.gguf"))
    test.generate(folder, "--form", form, *flags)
    test.generate(file, *flags)
    proof = logits if "wide" in flags else functools.partial(bittern, "certify")
    line = proof(file)
    test.assertEqual(proof(folder), line, name)
    target = "tq2_0" if "one-scale" in name else "pq2_0" if "pq2_0" in name else "q2_0"
    test.assertIn("all equal", bittern("convert", folder, converted, "--to", target, "--prove"))
    test.assertEqual(proof(converted), line, name)
    return folder


class RecurrentTest(Common, unittest.TestCase):
    arch = "qwen35"

    def test_inspect_says_what_it_takes(self):
        summary = json.loads(bittern("inspect", self.model, "--json"))["summary"]
        state = 6 * (4 * 64 * 64 + 3 * (2 * 2 + 4) * 64) * 4
        keys = 2 * 2 * 2 * 64 * 2 * 2048
        self.assertEqual(summary["context_bytes"], keys + state)

    def test_a_rotated_model_has_one_certificate(self):
        lines = set()
        for form in ("pq2_0", "ptq1_0"):
            model, other = self.path / (form + ".gguf"), self.path / (form + "-other.gguf")
            subprocess.run([sys.executable, ROOT / "tools/synth_model.py", "--arch", "qwen35", "--rotated", "--type", form,
                            model], check=True)
            line = bittern("certify", model)
            self.assertEqual(bittern("certify", model, "-t", "3"), line)
            self.assertEqual(logits(model, "scalar", 3), logits(model))
            if os.environ.get("BITTERN_TEST_DEAREST"):
                self.assertEqual(bittern("certify", model, "-t", "3", isa="scalar"), line)
            bittern("convert", model, other, "--to", "ptq1_0" if form == "pq2_0" else "pq2_0")
            self.assertEqual(bittern("certify", other), line, form)
            lines.add(line)
            self.assertIn("Walsh-Hadamard", bittern("inspect", model))
        self.assertEqual(len(lines), 2)

    def test_a_head_of_ternary_weights_is_scanned_itself(self):
        for isa, threads in (("scalar", "1"), (None, "3")):
            texts = set()
            for head in ("screened", "exact"):
                run = json.loads(bittern("run", "-m", self.model, "-p", "hello there", "-n", "12", "--temp", "0", "-t", threads,
                                         "--head", head, "--json", isa=isa))
                texts.add(run["text"])
                if head == "screened":
                    screen = run["savings"]["screen"]
                    self.assertIsNone(screen["after_5_bits"])
                    self.assertLess(screen["after_7_bits"], 0.1)
            self.assertEqual(len(texts), 1)

    def test_folders_have_its_certificate(self):
        for form, *flags in (["mlx"], ["hf", "--half-head"], ["hf", "--half-head", "--type", "pq2_0", "--size", "wide"],
                             ["mlx", "--type", "pq2_0", "--size", "wide"], ["mlx", "--rotated"],
                             ["mlx", "--rotated", "--type", "pq2_0", "--size", "wide"]):
            same_folder(self, form, *flags)

    def test_an_unknown_rotation_is_refused_by_name(self):
        model = self.path / "rotated.gguf"
        subprocess.run([sys.executable, ROOT / "tools/synth_model.py", "--arch", "qwen35", "--rotated", model], check=True)
        for override, words in (("prism.hadamard.version=int:3", "expected 1 or 2, found 3"),
                                ("prism.hadamard.colour=str:blue", "prism.hadamard.colour: this way to rotate")):
            run = subprocess.run([PROGRAM, "run", model, "-p", "x", "-n", "1", "--override-kv", override],
                                 capture_output=True, text=True, check=False)
            self.assertNotEqual(run.returncode, 0)
            self.assertIn(words, run.stderr)


class PlainQwen3Test(Generated, unittest.TestCase):
    arch = "qwen3"

    def test_folders_of_scaled_weights_have_its_certificate(self):
        with tempfile.TemporaryDirectory() as folder:
            self.path = pathlib.Path(folder)
            for form in ("q2_0", "pq2_0"):
                model = same_folder(self, "hf", "--plain", "--type", form)
                self.assertIn("groups of %d columns" % {"q2_0": 64, "pq2_0": 128}[form],
                              self.decisions(model))

    def decisions(self, model):
        return subprocess.run([PROGRAM, "run", model, "-p", "a", "-n", "1", "-v"], capture_output=True, text=True,
                              check=True).stderr


class Qwen3ExpertsTest(Common, unittest.TestCase):
    arch = "qwen3moe"


class ExpertsTest(Common, unittest.TestCase):
    arch = "maple"

    def test_a_folder_has_its_certificate(self):
        folder = same_folder(self, "hf", "--one-scale", "--half-head")
        listed = json.loads(bittern("inspect", folder, "--json"))["tensors"]
        sizes = {tensor["name"]: tensor["bytes"] for tensor in listed}
        self.assertEqual(sizes["blk.0.ffn_up_exps.weight"], 2 * 8 * 256 * 256)  # of all experts

    def test_a_pack_of_mlx_has_its_certificate(self):
        folder = same_folder(self, "mlx", "--one-scale", "--affine-head")
        listed = {tensor["name"]: tensor for tensor in json.loads(bittern("inspect", folder, "--json"))["tensors"]}
        self.assertEqual(listed["token_embd.weight"]["format"], "Q4_1")
        self.assertEqual(listed["blk.0.ffn_down_exps.weight"]["format"], "MLX_2BIT")
        run = [bittern("run", "-m", model, "-p", "abcdefgh", "-n", "12", "--temp", "0")
               for model in (folder, self.path / "mlx-one-scale-affine-head.gguf")]
        self.assertEqual(run[0], run[1])

    def test_explain_counts_the_chosen_experts_alone(self):
        bench = json.loads(bittern("bench", "-m", self.model, "-p", "0", "-n", "4", "-r", "1", "--explain", "-o", "json"))
        parts = {part["name"]: part["bytes"] for part in bench[0]["explain"]["parts"]}
        expert = 256 * 256 // 4 + 256 * 256 // 128 * 2  # codes, and a binary16 scale for 128 of them
        self.assertEqual(parts["gate_up_proj"], 4 * 2 * 2 * expert)
        self.assertEqual(parts["down_proj"], 4 * 2 * expert)
        self.assertEqual(parts["router"], 4 * 8 * 256 * 4)

    def test_inspect_counts_experts_and_their_weights(self):
        report = json.loads(bittern("inspect", self.model, "--json"))
        self.assertEqual((report["summary"]["experts"], report["summary"]["experts_used"]), (8, 2))
        text = bittern("inspect", self.model)
        self.assertIn("2 of 8 experts", text)
        self.assertIn("rows of zeros only: 0 of 27,648 ", text)  # 4 layers of 768 and of 8 experts of 768

    def test_a_run_says_how_many_experts_were_read(self):
        run = json.loads(bittern("run", "-m", self.model, "-p", "abc", "-n", "8", "--json"))
        experts = run["savings"]["experts"]
        self.assertLess(experts["read"], experts["all"])
        self.assertEqual(experts["all"] % (4 * 8), 0)

    def test_other_mixtures_are_refused_by_name(self):
        for change, words in (("maple.expert_used_count=int:9", "maple.expert_count 8, found 9"),
                              ("maple.expert_gating_func=int:2", "maple.expert_gating_func"),
                              ("maple.attention.sliding_window_pattern=int:4", "an array of bool expected")):
            run = subprocess.run([PROGRAM, "run", "-m", self.model, "-p", "x", "-n", "1", "--override-kv", change],
                                 capture_output=True, text=True, check=False)
            self.assertNotEqual(run.returncode, 0)
            self.assertIn(words, run.stderr)


def refusal(*arguments):
    """Standard error of a command that must fail."""
    run = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False)
    if run.returncode == 0:
        raise AssertionError("%s: no error" % (arguments,))
    return run.stderr


class HunyuanTest(Common, unittest.TestCase):
    arch = "hunyuan-dense"

    def test_a_conversion_is_proven(self):
        there, back = self.path / "there.gguf", self.path / "back.gguf"
        self.assertIn("all equal", bittern("convert", self.model, there, "--to", "tq2_0", "--prove"))
        bittern("convert", there, back, "--to", "stq1_0", "--prove")
        self.assertEqual({bittern("certify", path) for path in (there, back)}, {self.line})

    def test_released_files_have_another_type_id(self):
        data = self.model.read_bytes()
        old = data.replace(struct.pack("<I", 43), struct.pack("<I", 42))
        self.assertNotEqual(old, data)
        path = self.path / "type42.gguf"
        path.write_bytes(old)
        self.assertEqual(bittern("certify", path), self.line)
        self.assertIn("STQ1_0", bittern("inspect", path))

    def test_what_has_other_fours_is_refused(self):
        other = self.path / "maple.gguf"
        subprocess.run([sys.executable, ROOT / "tools/synth_model.py", "--arch", "maple", other], check=True)
        self.assertIn("one 0 among four weights",
                      refusal("convert", other, self.path / "no.gguf", "--to", "stq1_0"))

    def test_folders_are_read_alone(self):
        self.assertIn("read, not written", refusal("convert", self.model, self.path / "folder", "--to", "safetensors"))


class MiniCpmTest(Common, unittest.TestCase):
    arch = "minicpm"

    def test_the_context_of_the_model_chooses_the_factors(self):
        shown = bittern("inspect", self.model)
        short = bittern("certify", self.model, "--override-kv", "minicpm.context_length=int:512")
        self.assertNotEqual(short, self.line)
        self.assertIn("minicpm.rope.scaling.original_context_length", shown)
        notes = subprocess.run([PROGRAM, "run", "-m", self.model, "-p", "a", "-n", "1", "-v"], capture_output=True,
                               text=True, check=True).stderr
        self.assertIn("factors of a long context", notes)

    def test_a_file_without_scales_is_refused_by_name(self):
        raw = self.model.read_bytes()
        for key in (b"minicpm.embedding_scale", b"minicpm.residual_scale", b"minicpm.logit_scale"):
            path = self.path / "without.gguf"
            path.write_bytes(raw.replace(key, key[:-1] + b"_"))
            self.assertIn(key.decode() + " is missing", refusal("run", "-m", path, "-p", "a", "-n", "1"))


if __name__ == "__main__":
    unittest.main()
