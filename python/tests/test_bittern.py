#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: test_bittern.py BITTERN [TEST...]

The package against the command line and against itself. `bittern` must be importable (installed,
or PYTHONPATH=python with BITTERN_LIBRARY). Tests of arrays are skipped where NumPy is missing."""
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import bittern

try:
    import numpy
except ImportError:
    numpy = None

PROGRAM = sys.argv[1]
MODEL = bittern.Model()
GREEDY = {"n_predict": 20, "temperature": 0}


def run(*arguments, text=None):
    done = subprocess.run([PROGRAM, *arguments], input=text, capture_output=True, text=True,
                          check=True)
    return done.stdout


DRAW = {"n_predict": 40, "seed": 3, "temperature": 1.2, "ignore_eos": True}
DRAW_FLAGS = {"-n": "40", "-s": "3", "--temp": "1.2"}
ADAPTIVE = {"samplers": ["top_k", "adaptive_p"], "adaptive_target": 0.3}
ADAPTIVE_FLAGS = ["--samplers", "top_k;adaptive_p", "--adaptive-target", "0.3"]
# Settings of the draw, the flags that say the same, and a wrong value for the first of them.
SAMPLERS = [
    ({"dry_multiplier": 2, "dry_allowed_length": 1},
     ["--dry-multiplier", "2", "--dry-allowed-length", "1"], "much"),
    ({"dry_base": 1, "dry_multiplier": 2, "dry_allowed_length": 1},
     ["--dry-base", "1", "--dry-multiplier", "2", "--dry-allowed-length", "1"], 0.5),
    ({"dry_penalty_last_n": 8, "dry_multiplier": 2, "dry_allowed_length": 1},
     ["--dry-penalty-last-n", "8", "--dry-multiplier", "2", "--dry-allowed-length", "1"], -2),
    ({"dry_sequence_breakers": ["e", "a"], "dry_multiplier": 2, "dry_allowed_length": 1},
     ["--dry-sequence-breaker", "e", "--dry-sequence-breaker", "a", "--dry-multiplier", "2",
      "--dry-allowed-length", "1"], None),
    ({"dry_allowed_length": 1, "dry_sequence_breakers": [], "dry_multiplier": 2},
     ["--dry-sequence-breaker", "none", "--dry-multiplier", "2", "--dry-allowed-length", "1"], -1),
    ({"mirostat": 1}, ["--mirostat", "1"], 3),
    ({"mirostat_tau": 3, "mirostat": 2}, ["--mirostat", "2", "--mirostat-ent", "3"], "x"),
    ({"mirostat_eta": 0.5, "mirostat": 2}, ["--mirostat", "2", "--mirostat-lr", "0.5"], "x"),
    ({"dynatemp_range": 1}, ["--dynatemp-range", "1"], "x"),
    ({"dynatemp_exponent": 2, "dynatemp_range": 1},
     ["--dynatemp-range", "1", "--dynatemp-exp", "2"], "x"),
    (ADAPTIVE, ADAPTIVE_FLAGS, "tall"),
    ({"adaptive_target": 0.7, "samplers": "top_k;adaptive_p"},
     ["--samplers", "top_k;adaptive_p", "--adaptive-target", "0.7"], "x"),
    ({"adaptive_decay": 0.2, **ADAPTIVE}, [*ADAPTIVE_FLAGS, "--adaptive-decay", "0.2"], 1),
    ({"top_k": 3}, ["--top-k", "3"], -2),
    ({"top_p": 0.1}, ["--top-p", "0.1"], 2),
    ({"min_keep": 3, "top_p": 0.1}, ["--top-p", "0.1", "--min-keep", "3"], -1),
    ({"min_p": 0.3}, ["--min-p", "0.3"], -1),
    ({"logit_bias": {300: 4, 290: False, 291: -0.5}}, ["-l", "300+4", "-l", "290-inf", "-l", "291-0.5"],
     "300"),
    ({"typical_p": 0.5}, ["--typical", "0.5"], "x"),
    ({"xtc_probability": 0.9}, ["--xtc-probability", "0.9"], "x"),
    ({"xtc_threshold": 0.05, "xtc_probability": 0.9},
     ["--xtc-probability", "0.9", "--xtc-threshold", "0.05"], "x"),
    ({"presence_penalty": 1}, ["--presence-penalty", "1"], "x"),
    ({"frequency_penalty": 1}, ["--frequency-penalty", "1"], "x"),
    ({"repeat_penalty": 1.3}, ["--repeat-penalty", "1.3"], 0),
    ({"repeat_last_n": 4, "repeat_penalty": 1.3},
     ["--repeat-penalty", "1.3", "--repeat-last-n", "4"], -2),
    ({"top_n_sigma": 1}, ["--top-nsigma", "1"], "x"),
    ({"temperature": 0.5}, ["--temp", "0.5"], "warm"),
    ({"seed": 6}, ["-s", "6"], -2)]


class Texts(unittest.TestCase):
    def test_every_option_of_the_sampler(self):
        keys = {next(iter(settings)) for settings, _, _ in SAMPLERS}
        self.assertEqual(len(keys), 28)
        self.assertLessEqual(keys, {row["key"] for row in bittern.options()})
        without = MODEL.generate("On the", **DRAW)
        for settings, flags, wrong in SAMPLERS:
            with self.subTest(settings):
                others = [text for flag, value in DRAW_FLAGS.items() if flag not in flags
                          for text in (flag, value)]
                expected = json.loads(run("run", "-p", "On the", "--json", "--ignore-eos", *others,
                                          *flags))
                self.assertEqual(MODEL.generate("On the", **{**DRAW, **settings}), expected["text"])
                self.assertNotEqual(expected["text"], without)
                key = next(iter(settings))
                if wrong is not None:
                    with self.assertRaisesRegex(bittern.BitternError, rf"^{key}: .* expected"):
                        MODEL.generate("On the", **{key: wrong})

    def test_the_same_as_the_command_line(self):
        for prompt, settings, flags in [
                ("A tern is", GREEDY, ["-n", "20", "--temp", "0"]),
                ("On the", {"n_predict": 30, "seed": 5, "temperature": 1.5, "ignore_eos": True},
                 ["-n", "30", "-s", "5", "--temp", "1.5", "--ignore-eos"]),
                ("The sea", {"n_predict": 30, "seed": 7, "stop": ["a", "zz"]},
                 ["-n", "30", "-s", "7", "-r", "a", "-r", "zz"])]:
            expected = json.loads(run("run", "-p", prompt, "--json", *flags))
            text = MODEL.generate(prompt, **settings)
            self.assertEqual(text, expected["text"])
            self.assertEqual(text.ids, expected["ids"])
            self.assertEqual(text.finish_reason, expected["finish_reason"])
            self.assertEqual("".join(MODEL.stream(prompt, **settings)), expected["text"])

    def test_chat(self):
        expected = run("chat", "--temp", "0", "-n", "30", text="What is a tern?\n").strip()
        message = [{"role": "user", "content": "What is a tern?"}]
        settings = {"n_predict": 30, "temperature": 0}
        self.assertEqual(MODEL.chat(message, **settings).strip(), expected)
        self.assertEqual("".join(MODEL.chat(message, stream=True, **settings)).strip(), expected)
        answer = MODEL.create_chat_completion(message, max_tokens=30, temperature=0)
        self.assertEqual(answer["choices"][0]["message"]["content"].strip(), expected)
        self.assertEqual(answer["choices"][0]["finish_reason"], "stop")
        parts = MODEL.create_chat_completion(message, max_tokens=30, temperature=0, stream=True)
        text = "".join(part["choices"][0]["delta"].get("content", "") for part in parts)
        self.assertEqual(text.strip(), expected)

    def test_event_loops(self):
        async def both():
            parts = [part async for part in MODEL.stream_async("A tern is", **GREEDY)]
            text, other = await asyncio.gather(MODEL.generate_async("A tern is", **GREEDY),
                                               MODEL.generate_async("On the", **GREEDY))
            return "".join(parts), text, other
        streamed, text, other = asyncio.run(both())
        self.assertEqual(streamed, MODEL.generate("A tern is", **GREEDY))
        self.assertEqual(streamed, text)
        self.assertEqual(other, MODEL.generate("On the", **GREEDY))

    def test_tokens(self):
        text = "Grüße, \U0001f426 and\ttabs"
        self.assertEqual(MODEL.detokenize(MODEL.tokenize(text, bos=False)), text)
        self.assertEqual(MODEL.tokenize("A tern is"),
                         json.loads(run("tokenize", "-p", "A tern is", "--json"))["ids"])
        self.assertIn("what?", MODEL.apply_template([{"role": "user", "content": "What?"}])[0])


class Sequences(unittest.TestCase):
    def test_forks_and_states(self):
        ids = MODEL.tokenize("A tern is")
        sequence = MODEL.sequence(max_sequences=2)
        sequence.eval(ids)
        self.assertEqual((len(sequence), sequence.tokens), (len(ids), ids))
        fork = sequence.fork()
        state = sequence.save()
        text = sequence.generate(**GREEDY)
        self.assertEqual(fork.generate(**GREEDY), text)
        other = MODEL.sequence()
        other.restore(state)
        self.assertEqual("".join(other.stream(**GREEDY)), text)
        with self.assertRaises(bittern.FileError):
            other.restore(state[:-1])
        other.close()
        with self.assertRaises(bittern.BitternError):
            len(other)

    @unittest.skipIf(numpy is None, "needs NumPy")
    def test_arrays(self):
        ids = MODEL.tokenize("A tern is")
        sequence = MODEL.sequence(hidden=True)
        sequence.eval(ids)
        logits = sequence.logits()
        self.assertEqual((logits.shape, logits.dtype), ((MODEL.vocab_size,), numpy.float32))
        self.assertEqual(logits.ctypes.data, sequence.logits().ctypes.data)  # no copy
        self.assertEqual(sequence.hidden().shape, (MODEL.hidden_size,))
        rows = MODEL.sequence().logits_of_all(ids)
        numpy.testing.assert_array_equal(rows[-1], logits)
        with tempfile.NamedTemporaryFile() as file:
            run("logits", "-p", "A tern is", "-o", file.name)
            numpy.testing.assert_array_equal(numpy.fromfile(file.name, numpy.float32), logits)


class Pieces(unittest.TestCase):
    def test_tokens_one_by_one(self):
        ids = MODEL.tokenize("A tern is, \U0001f426", bos=False)
        self.assertEqual(b"".join(MODEL.token_bytes(one) for one in ids).decode(),
                         "A tern is, \U0001f426")
        self.assertTrue(MODEL.token_is_end(MODEL.eos_id))
        self.assertFalse(MODEL.token_is_end(ids[0]))
        with self.assertRaises(bittern.ArgumentError):
            MODEL.token_bytes(10**6)

    @unittest.skipIf(numpy is None, "needs NumPy")
    def test_own_draws(self):
        settings = {"temperature": 1.2, "seed": 5, "repeat_penalty": 1.3}
        text = MODEL.generate("On the", n_predict=20, ignore_eos=True, logit_bias={MODEL.eos_id: False},
                              **settings)
        sampler, sequence = bittern.Sampler(logit_bias={MODEL.eos_id: False}, **settings), MODEL.sequence()
        ids = MODEL.tokenize("On the")
        sequence.eval(ids)
        for token in ids:
            sampler.accept(token)
        for wanted in text.ids:
            chosen = sampler.sample(sequence.logits())
            self.assertEqual(chosen, wanted)
            sampler.accept(chosen)
            sequence.eval([chosen])
        self.assertEqual(bittern.Sampler(temperature=0).sample([0.5, 2, 1]), 1)
        with self.assertRaises(bittern.ArgumentError):
            bittern.Sampler(regex="[ab]+")
        of_model, text = bittern.Sampler(MODEL, regex=" [abc]{3}", **settings), b""
        sequence.set_tokens(ids)
        while True:
            chosen = of_model.sample(sequence.logits())
            if MODEL.token_is_end(chosen):
                break
            of_model.accept(chosen)
            text += MODEL.token_bytes(chosen)
            sequence.eval([chosen])
        self.assertRegex(text.decode(), "^ [abc]{3}$")
        with self.assertRaises(bittern.BitternError):
            bittern.Sampler().sample([float("nan")])
        with self.assertRaises(TypeError):
            bittern.Sampler(temprature=1)

    def test_from_bytes(self):
        path = os.path.join(os.path.dirname(__file__), "../../models/kjv-5m-i2s.gguf")
        with open(path, "rb") as file:
            data = file.read()
        with bittern.Model.from_bytes(data) as model, bittern.Model(path) as other:
            self.assertEqual(model.generate("In the", **GREEDY), other.generate("In the", **GREEDY))
        with self.assertRaisesRegex(bittern.FileError, "^the name"):
            bittern.Model.from_bytes(data[:1000], name="the name")
        with self.assertRaises(TypeError):
            bittern.Model.from_bytes(path)

    def test_memory(self):
        one, four = MODEL.memory(context_length=512), MODEL.memory(context_length=512, max_sequences=4)
        self.assertEqual(four["kv_bytes"], 4 * one["kv_bytes"])
        with self.assertRaises(TypeError):
            MODEL.memory(size=1)

    def test_repr(self):
        model = bittern.Model()
        self.assertRegex(repr(model), r"^<bittern\.Model '.+': bitnet-b1\.58, .*, \d+\.\d million parameters>$")
        model.close()
        self.assertEqual(repr(model), "<bittern.Model, closed>")

    @unittest.skipIf(numpy is None, "needs NumPy")
    def test_examples(self):
        folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../examples")
        for name, given, wanted in [("chat", "What is a tern?\n", "tern"), ("logprobs", None, "%"),
                                    ("hidden", None, "1.00")]:
            done = subprocess.run([sys.executable, os.path.join(folder, name + ".py")], input=given,
                                  capture_output=True, text=True, check=True, timeout=60)
            self.assertIn(wanted, done.stdout)


class Rest(unittest.TestCase):
    def test_what_is_known(self):
        self.assertEqual(MODEL.metadata("general.architecture"), "bitnet-b1.58")
        self.assertEqual(MODEL.info["architecture"], "bitnet-b1.58")
        self.assertIn("general.name", MODEL.metadata_keys())
        self.assertIn("temperature", [option["key"] for option in bittern.options()])

    def test_convert_and_progress(self):
        with tempfile.TemporaryDirectory() as folder:
            source, target = os.path.join(folder, "a.gguf"), os.path.join(folder, "b.gguf")
            first = os.path.join(os.path.dirname(__file__), "../../models/kjv-5m-i2s.gguf")
            told = []
            bittern.convert(first, source, "i2_s:arm-64", progress=told.append)  # loses nothing
            self.assertEqual(told[-1], 1)
            with self.assertRaises(bittern.CancelledError):
                bittern.convert(source, target, "i2_s", progress=lambda done: False)
            self.assertFalse(os.path.exists(target))
            self.assertEqual(bittern.Model(source).certify().split("model=")[1],
                             bittern.Model(first).certify().split("model=")[1])

    def test_ctrl_c(self):
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        begin = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            while True:  # texts end at a full context
                MODEL.generate("On the", n_predict=-1, ignore_eos=True, temperature=1)
        self.assertLess(time.monotonic() - begin, 30)
        self.assertEqual(MODEL.generate("A tern is", **GREEDY).finish_reason, "end_of_text")

    def test_other_threads_run_meanwhile(self):
        turns = [0]
        stop = threading.Event()

        def count():
            while not stop.is_set():
                turns[0] += 1
                time.sleep(0.001)
        thread = threading.Thread(target=count)
        thread.start()
        MODEL.generate("On the", n_predict=400, ignore_eos=True, temperature=1, seed=1)
        stop.set()
        thread.join()
        self.assertGreater(turns[0], 3)

    def test_a_stream_that_is_left_early(self):
        for part in MODEL.stream("On the", n_predict=-1, ignore_eos=True):
            self.assertTrue(part)
            break
        self.assertEqual(MODEL.generate("A tern is", **GREEDY).finish_reason, "end_of_text")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
