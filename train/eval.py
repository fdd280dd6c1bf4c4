#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures an exported model: the figures of train/README.md.

    train/eval.py --work models/local/pocket --model models/pocket-8m-i2s.gguf WHAT...

  definitions  exact and near matches of definitions, words asked for most first (the engine, greedy)
  zeros        share of gates not above zero and of zeros into down_proj, per layer
  agree        the engine against reference.py: greedy ids, perplexity
  samples      30 transcripts drawn by a seed, as Markdown

What strangers ask is judged by judge.py.
"""
import argparse
import difflib
import json
import math
import pathlib
import random
import subprocess
import tempfile

import numpy as np

import data
import draw
import reference
import talk
import tokenizer


class Evaluation:
    def __init__(self, o):
        self.o = o
        self.tok = tokenizer.load(pathlib.Path(o.work) / "tokenizer.json")
        self.corpus = data.Corpus(o.work)
        rng = random.Random(12345)
        self.texts = [self.corpus.plain(rng) for _ in range(100)]

    def bittern(self, *arguments, text=""):
        run = subprocess.run([self.o.bittern, *arguments], input=text, capture_output=True,
                             text=True, check=False)
        if run.returncode != 0:
            raise SystemExit("bittern %s: %s" % (" ".join(arguments), run.stderr))
        return run.stdout

    def chat(self, questions, *flags):
        """The engine's reply to each question, each in a conversation of its own."""
        text = "".join(q + "\n/clear\n" for q in questions)
        out = self.bittern("chat", "-m", self.o.model, "--json", "-t", "1", *flags, text=text)
        return [json.loads(line)["text"] for line in out.splitlines()]

    def definitions(self):
        words = self.corpus.words
        known = sorted(words.known, key=lambda w: (-words.weights[w], -words.known[w].count, w))
        asks = ["What does %s mean?" % w if words.known[w].pos != "noun" else
                "What is %s?" % words.subject(w) for w in known]
        exact, near = [], []
        for word, reply in zip(known, self.chat(asks, "--temp", "0", "-n", "64")):
            wanted, reply = words.definition(word), reply.strip()
            same = difflib.SequenceMatcher(None, wanted.split(), reply.split()).ratio()
            exact.append(reply == wanted)
            near.append(same >= 0.8)
        for first in (100, 300, 1000, len(known)):
            print("definitions, first %4d words: exact %.1f %%, near (word ratio >= 0.8) %.1f %%" % (
                first, 100 * np.mean(exact[:first]), 100 * np.mean(near[:first])))

    def zeros(self):
        """Shares by reference.py and, in brackets, by the engine (`bittern logits --zeros`)."""
        model = reference.Reference(self.o.model)
        counts = 0
        for text in self.texts[:100]:
            ids = [self.tok.bos] + self.tok.encode(text)
            model.clear()
            model.forward(ids)
            out = self.bittern("logits", "-m", self.o.model, "--prompt-ids",
                               ",".join(map(str, ids)), "-t", "1", "--zeros", "-", "-o", "/dev/null")
            counts = counts + np.array([list(layer.values()) for layer in json.loads(out)["layers"]])
        engine = counts[:, [1, 3]] / counts[:, [0, 2]]
        for i, (gate, down) in enumerate(model.zeros / model.tokens):
            print("layer %d: gates not above zero %.2f %% (%.2f %%), zeros into down_proj %.2f %% "
                  "(%.2f %%)" % (i, 100 * gate, 100 * engine[i, 0], 100 * down, 100 * engine[i, 1]))

    def until_end(self, ids):
        return next((ids[:i] for i, t in enumerate(ids) if t in (self.tok.eot, self.tok.eos)), ids)

    def agree(self):
        model = reference.Reference(self.o.model)
        self.agree_greedy(model, "answers to one question", [
            "What is %s?" % e.word for e in self.corpus.commonest[:1000:20]])
        self.agree_greedy(model, "longer questions", self.long_questions(50))
        self.agree_perplexity(model)

    def long_questions(self, count):
        """Questions about several nouns at once."""
        rng, asks = random.Random(self.o.seed), []
        while len(asks) < count:
            nouns = [draw.pick(self.corpus.commonest, rng) for _ in range(5)]
            asks.append("What are %s?" % " and ".join(
                self.corpus.words.named(e) for e in nouns))
        return asks

    def agree_greedy(self, model, what, questions):
        """64 greedy ids of engine and reference, the end of the reply ignored."""
        same, replies, ended, margins = 0, 0, 0, []
        for question in questions:
            ids = [self.tok.bos] + self.tok.encode("User: %s<|eot_id|>Assistant: " % question)
            out = self.bittern("run", "-m", self.o.model, "--prompt-ids", ",".join(map(str, ids)),
                               "-n", "64", "--temp", "0", "--ignore-eos", "--json", "-t", "1",
                               "-ctk", "f32", "-ctv", "f32")
            theirs, ours = json.loads(out)["ids"], model.greedy(ids, 64)
            same += theirs == ours
            if theirs != ours:  # how much the reference preferred its own token where they part
                at = next(i for i in range(64) if theirs[i] != ours[i])
                model.clear()
                logits = model.forward(ids + ours[:at])[-1]
                margins.append(float(logits[ours[at]] - logits[theirs[at]]))
            replies += self.until_end(theirs) == self.until_end(ours)
            ended += len(self.until_end(ours)) < 64
        print("%s: 64 greedy ids equal on %d of %d prompts (%d replies end earlier and were made to go "
              "on); to the end of the reply on %d" % (what, same, len(questions), ended, replies))
        if margins:
            print("  where they part, the reference preferred its token by %s (difference of logits)"
                  % ", ".join("%.4f" % m for m in sorted(margins)))

    def agree_perplexity(self, model):
        text = " ".join(self.texts[:40])
        ids = ([self.tok.bos] + self.tok.encode(text))[:500]
        model.clear()
        ours = reference.nll(model.forward(ids), ids).mean()
        with tempfile.NamedTemporaryFile() as file:
            self.bittern("logits", "-m", self.o.model, "--prompt-ids", ",".join(map(str, ids)),
                         "--all", "-t", "1", "-o", file.name)
            theirs = np.fromfile(file.name, "<f4").reshape(len(ids), -1)
        theirs = reference.nll(theirs, ids).mean()
        print("perplexity of %d tokens: reference %.4f, engine %.4f (%+.3f %%)" % (
            len(ids), math.exp(ours), math.exp(theirs), 100 * (math.exp(theirs - ours) - 1)))

    def samples(self):
        rng = random.Random(self.o.seed)
        for _ in range(28):
            question, _, _ = self.corpus.talk.turn(talk.WEIGHTS, None, rng)
            self.sample("chat", question, rng.randrange(1000))
        for _ in range(2):
            start = self.corpus.words.definition(self.corpus.talk.word(rng))
            self.sample("run", " ".join(start.split()[:3]), rng.randrange(1000))

    def sample(self, command, text, seed):
        if command == "chat":
            reply, = self.chat([text], "-s", str(seed))
            print("- **%s** %s <sub>-s %d</sub>" % (text, reply.strip(), seed))
        else:
            out = self.bittern("run", "-m", self.o.model, "-p", text, "-s", str(seed))
            print("- `run -p` **%s**%s <sub>-s %d</sub>" % (
                text, out.strip()[len(text):].replace("\n", " "), seed))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--work", default="models/local/pocket")
    p.add_argument("--model", default="models/pocket-8m-i2s.gguf")
    p.add_argument("--bittern", default="build/dev/apps/cli/bittern")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("what", nargs="+",
                   choices=["definitions", "zeros", "agree", "samples"])
    o = p.parse_args()
    evaluation = Evaluation(o)
    for what in o.what:
        getattr(evaluation, what)()


if __name__ == "__main__":
    main()
