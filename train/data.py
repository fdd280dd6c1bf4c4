# SPDX-License-Identifier: Apache-2.0
"""What Pocket reads: conversations packed into rows of tokens.

A row of a batch holds several conversations of one turn to as many as fit; none sees another
(model.py masks by document). Loss is taken on replies only. Batch `step` depends on (seed, step)
alone, so a resumed run sees what an unbroken one would have.
"""
import random

import numpy as np

import lexicon
import talk
from draw import pick

SYSTEM = ("You are a helpful assistant.", "You are a dictionary.", "Answer briefly.",
          "You explain words in plain English.")


class Corpus:
    """All that is asked and answered."""

    def __init__(self, work):
        self.words = lexicon.load(work)
        self.talk = talk.Talk(self.words)
        known = self.words.known.values()
        self.commonest = sorted((e for e in known if e.pos == "noun"),
                                key=lambda e: (-self.words.weights[e.word], -e.count, e.word))[:1000]

    def tokenizer_texts(self):
        """(text, weight) the tokenizer is trained on: every definition, and 20,000 turns."""
        for word in self.words.known:
            yield "and %s: %s" % (self.words.subject(word), self.words.definition(word)), 12
            yield "User: %s" % word, 12
        rng = random.Random(0)
        weights = {k: w for k, w in talk.WEIGHTS.items() if k not in ("unknown", "delicate")}
        state = None
        for _ in range(20000):
            question, answer, state = self.talk.turn(weights, state, rng)
            yield "User: %s" % question, 1
            yield answer, 1
        for text in ("Assistant: ", "User: What is a", "System: "):
            yield text, 5000

    def plain(self, rng):
        """One document of running text."""
        return " ".join(self.words.definition(self.talk.word(rng))
                        for _ in range(rng.randrange(1, 3)))

    def document(self, tok, rng, room):
        """(ids, is_target): target tokens are those the model is to say itself."""
        x = rng.random()
        if x < 0.04:
            ids = tok.encode(self.plain(rng)) + [tok.eos]
            return [tok.bos] + ids, [0] + [1] * len(ids)
        turns = 1 if x < 0.45 else rng.randrange(2, 6) if x < 0.75 else 1000
        ids, target = [tok.bos], [0]
        if rng.random() < 0.04:
            ids += tok.encode("System: %s<|eot_id|>" % pick(SYSTEM, rng))
        state = None
        for _ in range(turns):
            question, answer, state = self.talk.turn(talk.WEIGHTS, state, rng)
            ids += tok.encode("User: %s<|eot_id|>Assistant: " % question)
            target += [0] * (len(ids) - len(target))
            ids += tok.encode(answer) + [tok.eot]
            target += [1] * (len(ids) - len(target))
            if len(ids) >= room:
                break
        return ids, target


def batch(corpus, tok, rows, length, seed, step):
    """(tokens [rows, length+1], document number, is_target): the packed batch number `step`."""
    rng = random.Random("%d %d" % (seed, step))
    tokens = np.full((rows, length + 1), tok.eos, np.int64)
    docs, target = np.zeros_like(tokens), np.zeros_like(tokens)
    for row in range(rows):
        at = number = 0
        while at < length:
            ids, wanted = corpus.document(tok, rng, length + 1 - at)
            n = min(len(ids), length + 1 - at)
            tokens[row, at:at + n], target[row, at:at + n] = ids[:n], wanted[:n]
            docs[row, at:at + n] = number
            at, number = at + n, number + 1
    return tokens, docs, target
