#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: test_llama_cpp.py BITTERN [TEST...] (BITTERN is not used)

Answers in OpenAI's shape, by a Model and by llama-cpp-python's names."""
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import warnings

import bittern
from bittern.llama_cpp import Llama, LlamaGrammar

try:
    import numpy
except ImportError:
    numpy = None

MODEL = bittern.Model()
LLAMA = Llama(n_ctx=512, seed=1, verbose=False)
GREEDY = {"max_tokens": 5, "temperature": 0}
USER = [{"role": "user", "content": "What is a tern?"}]


def text_of(chunks):
    """The text and the last finish_reason of a stream of completions or conversations."""
    choices = [chunk["choices"][0] for chunk in chunks]
    text = "".join(choice["text"] if "text" in choice else choice["delta"].get("content", "")
                   for choice in choices)
    return text, choices[-1]["finish_reason"], [one for one in choices if one["finish_reason"]]


class Completions(unittest.TestCase):
    def test_finish_reasons(self):
        for ask in (lambda **more: MODEL.create_chat_completion(USER, temperature=0, **more),
                    lambda **more: MODEL.create_completion("A tern is", temperature=0, **more),
                    lambda **more: LLAMA.create_chat_completion(USER, temperature=0, **more),
                    lambda **more: LLAMA("A tern is", temperature=0, **more)):
            for most, reason in ((3, "length"), (200, "stop")):
                whole = ask(max_tokens=most)["choices"][0]
                self.assertEqual(whole["finish_reason"], reason)
                text, last, ended = text_of(ask(max_tokens=most, stream=True))
                self.assertEqual(text, whole.get("text") or whole["message"]["content"])
                self.assertEqual((last, len(ended)), (reason, 1))

    def test_completion(self):
        expected = MODEL.generate("A tern is", n_predict=5, temperature=0, logprobs=2)
        for model in (MODEL, LLAMA):
            whole = model.create_completion("A tern is", logprobs=2, **GREEDY)
            choice = whole["choices"][0]
            self.assertEqual((whole["object"], choice["text"]), ("text_completion", expected))
            self.assertEqual(whole["usage"], {"prompt_tokens": len(MODEL.tokenize("A tern is")),
                                              "completion_tokens": 5,
                                              "total_tokens": 5 + len(MODEL.tokenize("A tern is"))})
            logprobs = choice["logprobs"]
            self.assertEqual("".join(logprobs["tokens"]), expected)
            self.assertEqual([len(top) for top in logprobs["top_logprobs"]], [2] * 5)
            for token, offset in zip(logprobs["tokens"], logprobs["text_offset"]):
                self.assertTrue(expected[offset:].startswith(token))
            parts = [chunk["choices"][0]["logprobs"] for chunk in model.create_completion(
                "A tern is", logprobs=2, stream=True, **GREEDY)]
            for key, values in logprobs.items():
                self.assertEqual([one for part in parts if part for one in part[key]], values)
            self.assertEqual(model.create_completion("A tern is", echo=True, **GREEDY)["choices"][0]["text"],
                             "A tern is" + expected)
            ids = MODEL.tokenize("A tern is")
            self.assertEqual(text_of(model.create_completion(ids, echo=True, stream=True, **GREEDY))[0],
                             "A tern is" + expected)
            self.assertEqual(model.create_completion(ids, model="x", **GREEDY)["model"], "x")

    def test_streams_of_conversations_have_logprobs(self):
        ask = {"logprobs": True, "top_logprobs": 1, **GREEDY}
        whole = MODEL.create_chat_completion(USER, **ask)["choices"][0]["logprobs"]["content"]
        chunks = [chunk["choices"][0] for chunk in MODEL.create_chat_completion(USER, stream=True, **ask)]
        self.assertEqual([one for chunk in chunks for one in chunk.get("logprobs", {}).get("content", [])], whole)

    def test_refused_by_name(self):
        for name, work in [
                ("suffix", lambda: MODEL.create_completion("x", suffix="y")),
                ("suffix", lambda: LLAMA("x", suffix="y")),
                ("echo", lambda: MODEL.create_completion("x", echo=True, logprobs=1)),
                ("temprature", lambda: MODEL.create_completion("x", temprature=1)),
                ("functions", lambda: LLAMA.create_chat_completion(USER, functions=[{"name": "f"}])),
                ("tfs_z", lambda: LLAMA("x", tfs_z=0.5)),
                ("logits_processor", lambda: LLAMA("x", logits_processor=[len])),
                ("rope_freq_base", lambda: Llama(rope_freq_base=1.0)),
                ("pooling_type", lambda: Llama(pooling_type=4)),
                ("lora_path", lambda: Llama(lora_path="x")),
                ("type_k", lambda: Llama(type_k=8, type_v=8)),
                ("chat_format", lambda: Llama(chat_format="vicuna"))]:
            with self.subTest(name), self.assertRaisesRegex(bittern.ArgumentError, f"^(there is no .*)?{name}"):
                work()
        with self.assertRaises(TypeError):
            Llama(n_contexts=5)


class Embeddings(unittest.TestCase):
    TEXTS = ["A tern is a bird.", "x"]

    def test_shape(self):
        answer = LLAMA.create_embedding(self.TEXTS)
        count = sum(len(MODEL.tokenize(text)) for text in self.TEXTS)
        self.assertEqual({key: value for key, value in answer.items() if key != "data"},
                         {"object": "list", "model": MODEL.name,
                          "usage": {"prompt_tokens": count, "total_tokens": count}})
        self.assertEqual([(row["object"], row["index"], len(row["embedding"])) for row in answer["data"]],
                         [("embedding", 0, MODEL.hidden_size), ("embedding", 1, MODEL.hidden_size)])
        self.assertEqual(LLAMA.create_embedding("x", model="m")["data"][0]["embedding"],
                         answer["data"][1]["embedding"])

    def test_values(self):
        of_list, count = LLAMA.embed(self.TEXTS, return_count=True)
        self.assertEqual(of_list[0], LLAMA.embed(self.TEXTS[0]))
        self.assertEqual(of_list[0], MODEL.vector(self.TEXTS[0], pooling="mean"))
        self.assertEqual(count, LLAMA.create_embedding(self.TEXTS)["usage"]["total_tokens"])
        unit = LLAMA.embed("x", normalize=True)
        self.assertAlmostEqual(sum(value * value for value in unit), 1, 5)
        with Llama(pooling_type=3) as last:
            self.assertEqual(last.embed("A tern is"), MODEL.vector("A tern is"))

    def test_a_model_for_vectors(self):
        """As its file says, and with the token behind the text that it asks for."""
        root = pathlib.Path(__file__).resolve().parents[2]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.gguf"
            subprocess.run([sys.executable, root / "tools/synth_model.py", "--arch", "gemma3", path], check=True)
            with Llama(str(path), n_ctx=8) as llama, bittern.Model(path) as model:
                ids = model.tokenize("abcd", eos=True)
                self.assertEqual(ids, model.tokenize("abcd") + [511])
                mean = model.vector(ids, pooling="mean")
                self.assertEqual(llama.embed("abcd"), mean)
                self.assertEqual(model.vector("abcd"), mean)
                self.assertNotEqual(model.vector("abcd", pooling="last"), mean)
                self.assertEqual(llama.embed("c" * 20), llama.embed("c" * 7))  # cut before that token

    def test_long_texts(self):
        text = "A tern is a bird. " * 20
        with Llama(n_ctx=16) as small:
            cut = MODEL.tokenize(text)[:16]
            self.assertEqual(small.embed(text), MODEL.vector(cut, pooling="mean"))
            with self.assertRaises(bittern.ContextFullError):
                small.embed(text, truncate=False)


class Names(unittest.TestCase):
    def test_tokens_and_sizes(self):
        ids = LLAMA.tokenize(b"A tern is")
        self.assertEqual(ids, MODEL.tokenize("A tern is"))
        self.assertEqual(LLAMA.detokenize(LLAMA.tokenize(b"A tern is", add_bos=False)), b"A tern is")
        self.assertEqual(LLAMA.detokenize(ids[-1:], prev_tokens=ids[:-1]), b" is")
        self.assertEqual((LLAMA.n_ctx(), LLAMA.n_vocab(), LLAMA.n_embd()),
                         (512, MODEL.vocab_size, MODEL.hidden_size))
        self.assertEqual((LLAMA.token_eos(), LLAMA.token_bos()), (MODEL.eos_id, MODEL.bos_id))
        self.assertEqual(Llama(n_ctx=0).n_ctx(), MODEL.context_length)
        with self.assertRaises(TypeError):
            LLAMA.tokenize(5)

    def test_gpu_arguments(self):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            Llama(n_gpu_layers=-1, use_mlock=True).close()
        self.assertEqual([str(one.message) for one in told], ["n_gpu_layers: Bittern runs on the CPU; ignored"])

    def test_grammars_and_formats(self):
        text = LLAMA("x", grammar=LlamaGrammar.from_string('root ::= "ab" | "cd"'))["choices"][0]["text"]
        self.assertIn(text, ("ab", "cd"))
        grammar = LlamaGrammar.from_json_schema('{"enum": ["ab", "cd"]}')
        self.assertIn(LLAMA("x", grammar=grammar)["choices"][0]["text"], ('"ab"', '"cd"'))
        with Llama(chat_format="llama-2", kv_overrides={"general.name": "a name"}) as other:
            self.assertEqual(other.create_chat_completion(USER, max_tokens=1)["model"], "a name")
            self.assertEqual(other.model.apply_template([{"role": "system", "content": "S"}, *USER])[0],
                             other.model.detokenize([other.token_bos()], special=True) * (other.token_bos() >= 0)
                             + "[INST] <<SYS>>\nS\n<</SYS>>\n\nWhat is a tern? [/INST]")

    def test_from_pretrained(self):
        for filename, name in [("*i2_s.gguf", "a/b:i2_s"), ("m-tq2_0.gguf", "a/b:m-tq2_0.gguf"), (None, "a/b")]:
            with unittest.mock.patch("bittern.llama_cpp.pull", return_value=None) as pull:
                Llama.from_pretrained("a/b", filename, cache_dir="/c", n_ctx=64).close()
            pull.assert_called_once_with(name, update=False, cache="/c")

    def test_the_same_seed(self):
        ask = {"max_tokens": 20, "temperature": 1.5}
        self.assertEqual(LLAMA("On the", **ask)["choices"], LLAMA("On the", seed=1, **ask)["choices"])
        self.assertNotEqual(LLAMA("On the", **ask)["choices"], LLAMA("On the", seed=2, **ask)["choices"])
        drawn = {Llama()("On the", **ask)["choices"][0]["text"] for _ in range(10)}  # a fifth of the draws are alike
        self.assertGreater(len(drawn), 1)

    @unittest.skipIf(numpy is None, "needs NumPy")
    def test_token_by_token(self):
        expected = MODEL.generate("A tern is", n_predict=6, temperature=0).ids
        tokens = LLAMA.tokenize(b"A tern is")
        made = LLAMA.generate(tokens, temp=0)
        self.assertEqual([next(made) for _ in range(3)], expected[:3])
        state = pickle.loads(pickle.dumps(LLAMA.save_state()))
        self.assertEqual(LLAMA.eval_tokens, tokens + expected[:2])
        LLAMA.reset()
        self.assertEqual(LLAMA.n_tokens, 0)
        LLAMA.load_state(state)
        again = LLAMA.generate(expected[2:3], temp=0, reset=False)
        self.assertEqual([next(again) for _ in range(3)], expected[3:])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
