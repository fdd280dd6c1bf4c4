#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random odd models through every variant of running them, and against float64.

  differential.py ODD_MODEL [--count N] [--first-seed S] [--seed S] [--shrink SECONDS] [--list]

ODD_MODEL is the program built from main.cpp. Each seed describes one model; all variants must give
the same bits or the same error, and the logits a cosine of at least 0.9999 to oracle.py wherever
that itself does not depend on roundings. A model that fails is made smaller as long as it fails;
what is left is printed with its seed. --seed S runs one again, --list says it of every model.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # matrices are small

import numpy as np  # noqa: E402

import oracle  # noqa: E402

LAYOUTS = ["i2_s", "i2_s:arm-64", "i2_s:row4", "i2_s:sequential", "tl1", "tl2", "tq1_0", "tq2_0",
           "q2_0", "pq2_0", "ptq1_0", "q1_0", "iq1_bn", "iq2_bn", "iq2_bn_r4", "f32", "f16", "bf16"]
DENSE = ["f32", "f16", "bf16", "q8_0", "q6_k", "q4_0", "q4_1", "q5_0", "q5_1", "q4_k", "q5_k",
         "iq4_nl"]
HALF_SCALES = ["stq1_0", "tq1_0", "tq2_0", "q2_0", "pq2_0", "ptq1_0", "q1_0", "iq1_bn", "f16"]
MATRICES = ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"]
DELTA_MATRICES = ["attn_qkv", "attn_gate", "ssm_out"]
MIXTURES = ("maple", "qwen3moe")
EXPERT_MATRICES = ["ffn_gate_exps", "ffn_up_exps", "ffn_down_exps"]
KINDS = ["zero", "onehot", "ones", "duplicate"]
GOOD = 0.9999       # cosine that is asked for
ROUNDING = 3e-7     # what float32 makes of a value, relatively
TRIALS = 6, 60      # of the oracle with noise: always; before a difference is called a defect


def shape(rng):
    """hidden, ffn, heads, kv_heads, head_dim: mostly what formats of blocks can hold."""
    block = rng.choice([2, 32, 64, 128, 128, 256, 256])
    wide = 1024 if rng.random() < 0.06 else 512 if rng.random() < 0.15 else 256
    size = lambda most: block * rng.randint(max(1, -(-32 // block)), max(1, most // block))
    hidden, ffn = size(wide), size(2 * wide)
    kv_heads = rng.choice([1, 1, 2, 3, 4, 8])
    heads = kv_heads * rng.choice([1, 2, 2, 3, 4, 5, 8, 16])
    if rng.random() < 0.03:
        kv_heads, heads = rng.choice([(1, 128), (128, 128), (16, 128)])
    if heads == 1:
        heads = kv_heads = 2
    dims = [d for d in (2, 4, 6, 8, 16, 32, 64, 128, 256) if heads * d <= 1024]
    head_dim = rng.choice(dims)
    if rng.random() < 0.6:  # q as wide as a block
        fitting = [d for d in dims if heads * d % block == 0]
        head_dim = rng.choice(fitting or dims)
    return hidden, ffn, heads, kv_heads, head_dim


def recurrent(rng, head_dim):
    """The shape of delta layers, and what else their networks have."""
    key_heads = rng.choice([1, 1, 2, 3, 4])
    return {"interval": rng.choice([1, 2, 2, 3, 4, 4, 9]), "taps": rng.choice([1, 2, 3, 4, 4, 4, 9]),
            "delta_dim": 16 * rng.choice([1, 1, 2, 3, 4, 8]), "key_heads": key_heads,
            "value_heads": key_heads * rng.choice([1, 1, 2, 3]),
            "rotated_dim": rng.choice([head_dim, 2 * rng.randint(1, head_dim // 2)])}


def mixture(rng, layers, head_dim):
    """The shape of experts and windows, and what else their networks have."""
    experts = rng.choice([1, 2, 4, 5, 8, 16])
    return {"experts": experts, "used": rng.randint(1, min(experts, 4)), "neurons": rng.choice([128, 128, 256]),
            "router": rng.choice([0.1, 1, 3]), "window": rng.choice([1, 2, 5, 8, 16, 512]),
            "windowed": [rng.random() < 0.7 for _ in range(layers)],
            "clamps": [rng.choice([7.0, 7.0, 1.0, 0.1]) for _ in range(layers)],
            "rotated_dim": rng.choice([head_dim, 2 * rng.randint(1, head_dim // 2)])}


def scaled(rng, spec):
    """Makes a model one of MiniCPM's kind: factors of its stream and, mostly, of its rotation."""
    spec["scales_of_stream"] = {"embedding_scale": rng.choice([1, 12, rng.uniform(0.1, 30)]),
                                "residual_scale": rng.choice([1, 0.25, rng.uniform(0.05, 3)]),
                                "logit_scale": rng.choice([1, 16, rng.uniform(0.1, 20)])}
    if rng.random() < 0.8:
        factors = lambda most: [rng.uniform(0.9, most) for _ in range(256)]
        spec["long_rope"] = {"long": factors(40), "short": factors(2), "original": rng.choice([64, 511, 512, 4096])}


def rotate(rng, spec):
    """Makes a model one whose weights were rotated: widths that blocks divide, and their signs."""
    for name in ("hidden", "ffn", "head_dim"):
        spec[name] = -(-spec[name] // 16) * 16
    widths = {spec["hidden"], spec["ffn"], spec["heads"] * spec["head_dim"]}
    if "delta_dim" in spec:
        widths.add(spec["value_heads"] * spec["delta_dim"])
    blocks = [b for b in (16, 32, 64, 128, 256, 512, 1024) if all(w % b == 0 for w in widths)]
    widths = sorted(widths, key=lambda _: rng.random())
    signs = [[rng.choice([1, -1]) for _ in range(w)] for w in widths] if rng.random() < 0.8 else []
    spec["rotation"] = {"block": rng.choice(blocks), "widths": widths, "signs": signs,
                        "values_by_key": "delta_dim" in spec and rng.random() < 0.7}


def exponent(rng, most):
    return 10 ** rng.uniform(-most, most)


def describe(seed):
    rng = random.Random(seed)
    hidden, ffn, heads, kv_heads, head_dim = shape(rng)
    architecture = rng.choice(["bitnet-b1.58"] * 4 + ["bitnet", "bitnet-25", "llama", "qwen3"] + ["qwen35"] * 2)
    if random.Random("experts %d" % seed).random() < 0.15:  # drawn apart: other seeds stay what they were
        architecture = "maple"
    dense = random.Random("dense %d" % seed)
    if random.Random("mixture %d" % seed).random() < 0.08:
        architecture = "qwen3moe"
    if architecture not in MIXTURES and dense.random() < 0.15:
        architecture = dense.choice(["hunyuan-dense", "minicpm"])
    apart = random.Random("norms of inputs %d" % seed)
    if apart.random() < 0.15:
        architecture = apart.choice(["qwen3", "gemma3", "gemma3"])
    layers = rng.choice([1, 1, 2, 2, 3, 4])
    vocab = rng.choice([258, 259, 263, 271, 272, 300, 333, 333, 513, rng.randint(258, 1500)])
    wild = rng.random() < 0.3
    width = {"ffn_down": ffn, "attn_output": heads * head_dim}
    scales = {m: 1.2 / width.get(m, hidden) ** 0.5 * rng.uniform(0.5, 3) for m in MATRICES}
    if wild:
        for m in rng.sample(MATRICES, rng.randint(1, 3)):
            scales[m] *= exponent(rng, 30)
    layout = rng.choice(LAYOUTS)
    if dense.random() < 0.08:
        layout = "stq1_0"
    if layout in HALF_SCALES:
        scales = {m: min(max(s, 1e-7), 6e4) for m, s in scales.items()}
    delta = {}
    if architecture == "qwen35":
        delta = recurrent(rng, head_dim)
        width["ssm_out"] = delta["value_heads"] * delta["delta_dim"]
        for m in DELTA_MATRICES:
            scales[m] = 1.2 / width.get(m, hidden) ** 0.5 * rng.uniform(0.5, 3)
        layers = rng.choice([1, 2, 3, 4, 5])
    matrices = MATRICES
    if architecture in MIXTURES:
        delta = mixture(rng, layers, head_dim)
        if architecture == "qwen3moe":
            delta = {name: value for name, value in delta.items() if name in ("experts", "used", "neurons", "router")}
        hidden = rng.choice([32, 48, 64, 128, 256, 256])
        matrices = MATRICES[:4] + EXPERT_MATRICES
        width["ffn_down_exps"] = delta["neurons"]
        for m in EXPERT_MATRICES:
            scales[m] = 1.2 / width.get(m, hidden) ** 0.5 * rng.uniform(0.5, 3)
    spec = {
        **delta, "seed": seed, "architecture": architecture,
        "activation": rng.choice(["", "relu2", "silu"]) if architecture == "bitnet" else "",
        "layers": layers, "hidden": hidden, "ffn": ffn, "heads": heads, "kv_heads": kv_heads,
        "head_dim": head_dim, "vocab": vocab,
        "eps": rng.choice([1e-5, 1e-5, 1e-6, 0.0, 1.0, 1e-12, 1e-30, 1e-2]),
        "theta": rng.choice([10000.0, 500000.0, 1.0, 2.0, 1e12, 10 ** rng.uniform(0, 12)]),
        "layout": layout, "embedding": rng.choice(DENSE),
        "head": rng.choice(["tied"] + DENSE), "scales": scales,
        "row_spread": rng.choice([0.0, 0.0, 0.3, 3.0]),
        "embedding_scale": exponent(rng, 4) if wild else rng.uniform(0.02, 1),
        "norm_scale": exponent(rng, 5) if wild and rng.random() < 0.3 else 1.0,
        "rows": [], "row_scales": [], "generate": rng.randint(1, 10)}
    for _ in range(rng.choice([0, 0, 1, 3, 6])):
        name = "blk.%d.%s.weight" % (rng.randrange(layers), rng.choice(matrices))
        kind = rng.choice(KINDS)
        for row in rng.choice([[-1], [0], range(rng.randint(1, 64)), range(5, 40, 3)]):
            spec["rows"].append([name, row, kind])
    if rng.random() < 0.25:  # dead neurons
        layer = rng.randrange(layers)
        for row in range(rng.randint(1, ffn)):
            spec["rows"].append(["blk.%d.ffn_gate.weight" % layer, row, "zero"])
    for _ in range(rng.choice([0, 0, 2])):
        name = rng.choice(["token_embd.weight", "output.weight"])
        kind = rng.choice(["zero", "onehot", "duplicate"] + ["huge", "tiny"] * wild)
        for row in range(rng.randint(1, 40)):
            spec["rows"].append([name, row * 3, kind])
    if wild and rng.random() < 0.3:
        name = "blk.%d.%s.weight" % (rng.randrange(layers), rng.choice(matrices))
        spec["row_scales"].append([name, rng.randrange(64), rng.choice([3e38, 1e30, 1e-30, 1e-44])])
    piece = [rng.randrange(vocab) for _ in range(rng.randint(1, 8))]
    prompt = (piece * 12)[:rng.randint(2, 24)]  # repeats itself: there is something to draft
    for _ in range(rng.randint(0, 4)):
        prompt[rng.randrange(len(prompt))] = rng.randrange(vocab)
    spec["prompt"] = prompt
    if architecture in ("qwen3", "gemma3") and apart.random() < 0.8:
        spec["input_norms"] = True
    if architecture == "gemma3" and apart.random() < 0.6:
        spec.update(window=apart.choice([1, 2, 5, 16, 512]), window_theta=apart.choice([10000.0, 1.5]),
                    windowed=[apart.random() < 0.7 for _ in range(layers)])
    if rng.random() < 0.25 and architecture not in MIXTURES and "input_norms" not in spec:
        rotate(rng, spec)
    if rng.random() < 0.2 and spec["theta"] > 1:
        spec["yarn"] = {"factor": rng.choice([1, 2, 4, 40]), "original": rng.choice([8, 64, 2048])}
    if architecture == "minicpm":
        scaled(dense, spec)
        if "long_rope" in spec:
            spec.pop("yarn", None)
    return spec


def smaller(spec):
    """Descriptions a step smaller, the largest steps first."""
    def change(**values):
        return {**spec, **values}
    if spec["rows"]:
        half = len(spec["rows"]) // 2
        yield change(rows=[])
        yield change(rows=spec["rows"][:half])
        yield change(rows=spec["rows"][half:])
    if spec["row_scales"]:
        yield change(row_scales=[])
    prompt = spec["prompt"]
    if len(prompt) > 1:
        yield change(prompt=prompt[:len(prompt) // 2])
        yield change(prompt=prompt[1:])
        yield change(prompt=prompt[:-1])
    if spec["layers"] > 1:
        yield change(layers=1)
        yield change(layers=spec["layers"] - 1)
    if spec["heads"] > spec["kv_heads"]:
        yield change(heads=spec["kv_heads"])
    if spec["kv_heads"] > 1:
        yield change(heads=spec["heads"] // spec["kv_heads"], kv_heads=1)
    for key, least in (("hidden", 32), ("ffn", 32), ("head_dim", 2), ("vocab", 258)):
        for value in (least, spec[key] // 2, spec[key] // 4 * 2):
            if least <= value < spec[key] and value % 2 == 0:
                fits = [t % max(value, 1) for t in prompt] if key == "vocab" else prompt
                yield change(**{key: value, "prompt": fits})
    if spec["generate"] > 1:
        yield change(generate=1)
    plain = {"eps": 1e-5, "theta": 10000.0, "row_spread": 0.0, "embedding": "f32", "head": "tied",
             "layout": "f32", "norm_scale": 1.0, "embedding_scale": 1.0}
    for key, value in plain.items():
        if spec[key] != value:
            yield change(**{key: value})


class Runner:
    """One odd_model process, which answers description after description."""

    def __init__(self, program, folder):
        self.program, self.folder = program, pathlib.Path(folder)
        self.start()

    def start(self):
        self.process = subprocess.Popen([self.program, str(self.folder)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, spec):
        try:
            self.process.stdin.write(json.dumps(spec) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if line:
            return json.loads(line)
        code = self.process.wait()
        self.start()
        return {"differences": ["the program ended with status %d" % code], "runs": 0, "error": "",
                "prompt_error": "", "tensors": []}


def stable(spec, answer, numbers, want, trials):
    """The positions whose float64 logits do not depend on roundings of the size of float32's."""
    worst = np.ones(len(want))
    for trial in range(trials):
        shaken = oracle.Oracle(spec, answer["tensors"], numbers, ROUNDING, trial)
        worst = np.minimum(worst, oracle.cosines(shaken.forward(spec["prompt"]), want))
    return worst > GOOD + 2e-5


def against_float64(spec, answer, folder):
    """(verdict, text): same, refused, unstable or defect."""
    numbers = (folder / "numbers.bin").read_bytes()
    exact = oracle.Oracle(spec, answer["tensors"], numbers)
    with np.errstate(all="ignore"):
        want = exact.forward(spec["prompt"])
    facts = exact.facts
    most = max(facts.largest, facts.bound)
    if answer["prompt_error"]:
        if facts.zero_over_zero or not most < 1e36 or facts.vanishing:
            return "refused", answer["prompt_error"]
        return "defect", "refused, but nothing is above %g: %s" % (most, answer["prompt_error"])
    if facts.zero_over_zero and spec["eps"] == 0:
        return "defect", "0 / 0 went unnoticed"
    if not facts.largest < 1e39:
        return "defect", "a value of %g went unnoticed" % facts.largest
    got = np.frombuffer((folder / "logits.bin").read_bytes(), "<f4").reshape(want.shape)
    cosines = oracle.cosines(got, want)
    if facts.vanishing:
        return "unstable", "products below what float32 holds (cosine %.6f)" % cosines.min()
    for trials in TRIALS:
        compared = stable(spec, answer, numbers, want, trials)
        worst = cosines[compared].min() if compared.any() else 1.0
        if worst >= GOOD:
            break
    else:
        return "defect", "position %d: cosine %.6f to float64" % (
            np.where(compared, cosines, 1).argmin(), worst)
    if compared.all():
        return "same", "%.7f" % worst
    return ("partly" if compared.any() else "unstable"), (
        "moved by %g, float64 itself has a cosine below %g (an int8 rounding or a sharp softmax) at "
        "%d of %d positions; of the others %.7f" % (ROUNDING, GOOD, (~compared).sum(),
                                                   len(compared), worst))


def judge(runner, spec):
    """(verdict, text, runs) of one description."""
    answer = runner.ask(spec)
    if "broken" in answer:
        return "broken", answer["broken"], 0
    if answer["differences"]:
        return "defect", "\n    ".join(answer["differences"]), answer["runs"]
    if answer["error"]:
        return "not loaded", answer["error"], answer["runs"]
    return (*against_float64(spec, answer, runner.folder), answer["runs"])


def shrink(runner, spec, text, seconds):
    """The smallest description found in that time that still fails, and how it does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for candidate in smaller(spec):
            if time.monotonic() > end:
                break
            verdict, found, _ = judge(runner, candidate)
            if verdict == "defect":
                spec, text = candidate, found
                break
        else:
            break
    return spec, text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--shrink", type=float, default=60, help="seconds to make a failure smaller")
    parser.add_argument("--list", action="store_true", help="also what passes, and what cannot be compared")
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.count)
    if options.seed is not None:
        seeds = [options.seed]
    verdicts, runs, failed, worst = collections.Counter(), 0, 0, 1.0
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(options.program, folder)
        for seed in seeds:
            spec = describe(seed)
            verdict, text, count = judge(runner, spec)
            verdicts[verdict] += 1
            runs += count
            if verdict in ("same", "partly"):
                worst = min(worst, float(text.split()[-1]))
            if verdict in ("defect", "broken"):
                failed += 1
                if verdict == "defect":
                    spec, text = shrink(runner, spec, text, options.shrink)
                print("FAILED: seed %d: %s\n  smallest: %s" % (seed, text, json.dumps(spec)))
            elif options.list:
                print("seed %d: %s: %s" % (seed, verdict, text))
            sys.stdout.flush()
    print("differential: %d models, %d runs: %s; least cosine to float64 where it is stable: %.7f"
          % (len(seeds), runs, ", ".join("%d %s" % (n, v) for v, n in verdicts.items()), worst))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
