#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Samplers as their papers and authors define them, in plain Python, against Bittern's: each alone and
in random chains, over texts that repeat themselves. Candidates must be the same, probabilities equal to
1e-6, and the token the one that the draw gives.

usage: sampler_oracle.py SAMPLER_CHAINS MODEL [CHAINS [SEED]]

Written from: CTRL (arXiv:1909.05858) for repetition; OpenAI's API reference for frequency and presence;
top-p arXiv:1904.09751; typical arXiv:2202.00666; min-p arXiv:2407.01082; top-n-sigma arXiv:2411.07641;
mirostat arXiv:2007.14966; DRY and XTC as their author p-e-w describes them; SplitMix64 (OOPSLA 2014).
"""
import json
import math
import random
import subprocess
import sys

TOOL, MODEL = sys.argv[1:3]
CHAINS = int(sys.argv[3]) if len(sys.argv) > 3 else 200
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else 1

DEFAULTS = dict(
    temperature=0.8, top_k=40, top_p=0.95, min_p=0.05, repeat_penalty=1.0, repeat_last_n=64,
    frequency_penalty=0.0, presence_penalty=0.0, typical_p=1.0, top_n_sigma=-1.0, xtc_probability=0.0,
    xtc_threshold=0.1, dynatemp_range=0.0, dynatemp_exponent=1.0, dry_multiplier=0.0, dry_base=1.75,
    dry_allowed_length=2, dry_penalty_last_n=-1, dry_sequence_breakers=["\n", ":", "\"", "*"], mirostat=0,
    mirostat_tau=5.0, mirostat_eta=0.1, adaptive_target=-1.0, adaptive_decay=0.9, min_keep=0, logit_bias={},
    samplers=["penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature"])
NEUTRAL = dict(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0)


class Random64:
    def __init__(self, seed):
        self.state = seed

    def uniform(self):
        mask = (1 << 64) - 1
        self.state = (self.state + 0x9E3779B97F4A7C15) & mask
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return ((z ^ (z >> 31)) >> 11) / 2**53


def softmax(tokens):
    best = max(logit for _, logit in tokens)
    weights = [math.exp(logit - best) for _, logit in tokens]
    total = math.fsum(weights)
    return [w / total for w in weights]


def best_first(tokens):
    return sorted(tokens, key=lambda t: (-t[1], t[0]))


def log(p):
    return math.log(p) if p > sys.float_info.min else -1e4


def entropy(p):
    return -math.fsum(x * math.log(x) for x in p if x > 0)


class Oracle:
    """One text. sample() returns {id: probability}; picked() tells which one it was."""

    def __init__(self, options, pieces):
        self.o = {**DEFAULTS, **options}
        self.pieces = pieces
        self.random = Random64(options["seed"])
        self.history = []
        self.mu = 2 * self.o["mirostat_tau"]
        target, decay = self.o["adaptive_target"], self.o["adaptive_decay"]
        self.sums = [target / (1 - decay), 1 / (1 - decay)]
        self.before = None

    def last(self, count):
        return self.history if count < 0 else self.history[len(self.history) - min(count, len(self.history)):]

    def penalties(self, tokens):
        recent, o = self.last(self.o["repeat_last_n"]), self.o
        out = []
        for token, logit in tokens:
            count = recent.count(token)
            if count:
                logit = logit / o["repeat_penalty"] if logit > 0 else logit * o["repeat_penalty"]
                logit -= count * o["frequency_penalty"] + o["presence_penalty"]
            out.append((token, logit))
        return out

    def dry(self, tokens):
        o = self.o
        if o["dry_multiplier"] == 0 or o["dry_penalty_last_n"] == 0:
            return tokens
        window = self.last(o["dry_penalty_last_n"])
        # The text after the last breaker, in tokens: by the bytes of the whole text.
        text, ends = b"", []
        for token in self.history:
            text += self.pieces[token]
            ends.append(len(text))
        since = len(window)
        for breaker in (b.encode() for b in o["dry_sequence_breakers"]):
            at = text.rfind(breaker)
            if at >= 0:
                completed = next(i for i, end in enumerate(ends) if end >= at + len(breaker))
                since = min(since, len(self.history) - 1 - completed)
        longest = {}
        for place in range(1, len(window)):  # the token window[place] stood after window[:place]
            length = 0
            while length < place and length < since and window[place - 1 - length] == window[-1 - length]:
                length += 1
            longest[window[place]] = max(longest.get(window[place], 0), length)
        over = {t: n - o["dry_allowed_length"] for t, n in longest.items() if n >= o["dry_allowed_length"]}
        if len(window) <= o["dry_allowed_length"] or since < o["dry_allowed_length"]:
            return tokens
        return [(t, logit - o["dry_multiplier"] * o["dry_base"] ** over[t] if t in over else logit)
                for t, logit in tokens]

    def top_n_sigma(self, tokens):
        if self.o["top_n_sigma"] <= 0:
            return tokens
        logits = [logit for _, logit in tokens]
        mean = math.fsum(logits) / len(logits)
        sigma = math.sqrt(math.fsum((x - mean) ** 2 for x in logits) / len(logits))
        return [t for t in tokens if t[1] >= max(logits) - self.o["top_n_sigma"] * sigma]

    def top_k(self, tokens):
        return best_first(tokens)[: self.o["top_k"]] if self.o["top_k"] > 0 else tokens

    def typ_p(self, tokens):
        if self.o["typical_p"] >= 1:
            return tokens
        p = softmax(tokens)
        h = entropy(p)
        order = sorted(range(len(tokens)), key=lambda i: (abs(-log(p[i]) - h), tokens[i][0]))
        return self.until(order, p, tokens, lambda total: total > self.o["typical_p"])

    def top_p(self, tokens):
        if self.o["top_p"] >= 1:
            return tokens
        tokens = best_first(tokens)
        return self.until(range(len(tokens)), softmax(tokens), tokens, lambda total: total >= self.o["top_p"])

    def until(self, order, p, tokens, enough):
        kept, total = [], 0.0
        for i in order:
            kept.append(tokens[i])
            total += p[i]
            if enough(total) and len(kept) >= self.o["min_keep"]:
                break
        return kept

    def min_p(self, tokens):
        if self.o["min_p"] <= 0:
            return tokens
        least = max(logit for _, logit in tokens) + math.log(self.o["min_p"])
        kept = [t for t in tokens if t[1] >= least]
        return kept if len(kept) >= self.o["min_keep"] else best_first(tokens)[: self.o["min_keep"]]

    def xtc(self, tokens):
        o = self.o
        if o["xtc_probability"] <= 0 or o["xtc_threshold"] > 0.5:
            return tokens
        if self.random.uniform() > o["xtc_probability"]:
            return tokens
        tokens = best_first(tokens)
        above = sum(1 for p in softmax(tokens) if p >= o["xtc_threshold"])
        return tokens[above - 1:] if above >= 2 and len(tokens) - above + 1 >= o["min_keep"] else tokens

    def temperature(self, tokens):
        o, t = self.o, self.o["temperature"]
        if o["dynatemp_range"] > 0:
            low, high = max(0.0, t - o["dynatemp_range"]), t + o["dynatemp_range"]
            share = entropy(softmax(tokens)) / math.log(len(tokens)) if len(tokens) > 1 else 1
            t = low + (high - low) * min(share, 1) ** o["dynatemp_exponent"]
        return [(i, logit / t) for i, logit in tokens] if t > 0 else best_first(tokens)[:1]

    def mirostat(self, tokens):
        t = self.o["temperature"]
        tokens = [(i, logit / t) for i, logit in tokens] if t > 0 else best_first(tokens)[:1]
        tokens = best_first(tokens)
        p = softmax(tokens)
        if self.o["mirostat"] == 2:
            kept = sum(1 for x in p if -log(x) / math.log(2) <= self.mu)
        else:
            pairs = [(math.log((i + 2) / (i + 1)), tokens[i][1] - tokens[i + 1][1]) for i in range(min(99, len(p) - 1))]
            squares = sum(a * a for a, _ in pairs)
            kept = 1
            if squares:
                s = sum(a * b for a, b in pairs) / squares
                k = ((s - 1) * 2**self.mu / (1 - len(self.pieces) ** (1 - s))) ** (1 / s)
                kept = min(int(k), len(p))
        return tokens[: max(kept, 1)]

    def adaptive(self, tokens):
        o = self.o
        p = softmax(tokens)
        self.before = {t[0]: x for t, x in zip(tokens, p)}
        goal = min(max(2 * min(o["adaptive_target"], 1) - self.sums[0] / self.sums[1], 0), 1)
        off = [abs(x - goal) / 0.3 for x in p]
        return [(t[0], 5 - 10 * d * d / (1 + d)) for t, d in zip(tokens, off)]

    def sample(self, ids, logits):
        bias = {int(i): b for i, b in self.o["logit_bias"].items()}
        tokens = [(i, x + (bias.get(i) or 0)) for i, x in zip(ids, logits) if bias.get(i, 0) is not False]
        if self.o["mirostat"]:
            tokens = self.mirostat(tokens)
        else:
            names = [n for n in self.o["samplers"] if n != "adaptive_p" or self.o["adaptive_target"] >= 0]
            for name in names:
                if name != "adaptive_p":
                    tokens = getattr(self, name)(tokens)
                if name != names[-1]:  # between steps logits are of single precision
                    tokens = [(i, float32(x)) for i, x in tokens]
            if "adaptive_p" in self.o["samplers"] and self.o["adaptive_target"] >= 0:
                tokens = self.adaptive(tokens)
        self.now = {t[0]: p for t, p in zip(tokens, softmax(tokens))}
        return self.now

    def picked(self, token):
        if self.o["mirostat"]:
            self.mu -= self.o["mirostat_eta"] * (-log(self.now[token]) / math.log(2) - self.o["mirostat_tau"])
        elif self.before:
            self.sums = [self.before[token] + self.o["adaptive_decay"] * self.sums[0],
                         1 + self.o["adaptive_decay"] * self.sums[1]]
        self.history.append(token)


def float32(x):
    import struct
    return struct.unpack("f", struct.pack("f", x))[0]


def pick(rng, name):
    """Active values of one sampler."""
    f = lambda a, b: float32(rng.uniform(a, b))
    return {
        "penalties": lambda: dict(repeat_penalty=f(0.8, 1.6), frequency_penalty=f(-0.5, 1), presence_penalty=f(-0.5, 1),
                                  repeat_last_n=rng.choice([-1, 4, 64])),
        "dry": lambda: dict(dry_multiplier=f(0.2, 2), dry_base=f(1, 2.5), dry_allowed_length=rng.randint(1, 3),
                            dry_penalty_last_n=rng.choice([-1, 20, 200]),
                            dry_sequence_breakers=rng.choice([["\n", ":", "\"", "*"], [], [" the", "and"]])),
        "top_n_sigma": lambda: dict(top_n_sigma=f(0.3, 2)),
        "top_k": lambda: dict(top_k=rng.randint(1, 60)),
        "typ_p": lambda: dict(typical_p=f(0.1, 0.99)),
        "top_p": lambda: dict(top_p=f(0.1, 0.99)),
        "min_p": lambda: dict(min_p=f(0.005, 0.5)),
        "xtc": lambda: dict(xtc_probability=f(0.2, 1), xtc_threshold=f(0.01, 0.5)),
        "temperature": lambda: dict(temperature=rng.choice([0.0, f(0.2, 3)]), **rng.choice(
            [{}, dict(dynatemp_range=f(0.1, 2), dynatemp_exponent=f(0.5, 2))])),
        "adaptive_p": lambda: dict(adaptive_target=f(0, 1), adaptive_decay=f(0, 0.99)),
        "mirostat": lambda: dict(mirostat=rng.choice([1, 2]), mirostat_tau=f(0.5, 6), mirostat_eta=f(0.01, 0.5),
                                 temperature=f(0.5, 2)),
    }[name]()


def make_chain(rng, names):
    options = {**NEUTRAL, "seed": rng.randrange(2**32 - 1)}
    for name in names:
        options.update(pick(rng, name))
    options["samplers"] = [n for n in names if n != "mirostat"]
    if rng.random() < 0.3:
        options["min_keep"] = rng.randint(1, 12)
    if rng.random() < 0.3:
        options["logit_bias"] = {str(rng.randrange(40)): rng.choice([False, float32(rng.uniform(-5, 5))])
                                 for _ in range(4)}
    return options


def make_steps(rng, vocab, pieces):
    words = rng.sample(range(vocab), 5) + rng.sample(range(40), 3)
    words += [i for i, p in enumerate(pieces) if p in (b":", b"\n", b" the")][:2]
    steps = []
    for _ in range(6):
        phrase = [rng.choice(words) for _ in range(rng.randint(1, 5))]
        ids = sorted(set(range(40)) | set(rng.sample(range(vocab), rng.choice([0, 30, 300]))))
        logits = [float32(rng.gauss(0, rng.choice([0.5, 2, 5]))) for _ in ids]
        steps.append(dict(accept=phrase * rng.randint(1, 4), ids=ids, logits=logits))
    return steps


def compare(options, steps, answer, pieces):
    """What is wrong with one line; an empty text where nothing is."""
    if "error" in answer:
        return answer["error"]
    oracle = Oracle(options, pieces)
    for number, (step, got) in enumerate(zip(steps, answer)):
        oracle.history += step["accept"]
        wanted = oracle.sample(step["ids"], step["logits"])
        found = {t: p for t, p in got["candidates"]}
        if set(wanted) != set(found):
            return f"step {number}: {len(wanted)} candidates expected, {len(found)} found"
        off = max(abs(wanted[t] - found[t]) for t in wanted)
        if off > 1e-6:
            return f"step {number}: a probability is off by {off:.3g}"
        if len(found) > 1:
            total, u = 0.0, oracle.random.uniform()
            for drawn, p in got["candidates"]:
                total += p
                if total > u:
                    break
            if drawn != got["id"] and abs(total - u) > 1e-9:
                return f"step {number}: the draw gives {drawn}, {got['id']} found"
        elif got["id"] not in found:
            return f"step {number}: {got['id']} is no candidate"
        else:
            oracle.random.uniform()
        oracle.picked(got["id"])
    return ""


def main():
    rng = random.Random(SEED)
    tool = subprocess.Popen([TOOL, MODEL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    pieces = [bytes(p) for p in json.loads(tool.stdout.readline())]
    every = ["penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature", "adaptive_p"]
    lists = [[name] for name in every + ["mirostat"] for _ in range(10)]
    lists += [rng.sample(every, rng.randint(2, len(every))) for _ in range(CHAINS)]
    lists += [["mirostat"] + rng.sample(every, 3) for _ in range(CHAINS // 10)]
    failures, tokens = 0, 0
    for names in lists:
        options, steps = make_chain(rng, names), make_steps(rng, len(pieces), pieces)
        print(json.dumps(dict(options=options, steps=steps)), file=tool.stdin, flush=True)
        problem = compare(options, steps, json.loads(tool.stdout.readline()), pieces)
        tokens += len(steps)
        if problem:
            failures += 1
            print(f"FAILED: {names} {options}: {problem}")
    tool.stdin.close()
    print(f"{len(lists)} chains, {tokens} tokens, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
