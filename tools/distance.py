#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far Bittern is from other programs, as the tables of docs/numerics.md.

  distance.py BITTERN [--shared DIR] [--bitnet-cpp DIR] [--windows 8]
  distance.py BITTERN [--shared DIR] [--windows 8] --other NAME MODEL FILE...

The reference is a float64 NumPy forward pass that shares no code with Bittern (reference.py in the
folder of shared test data, BITTERN_SHARED). --bitnet-cpp: the folder of its llama-perplexity; it is
run a token at a time, because its batched path disagrees with its own single steps. --other: only the
rows of another program, e.g. transformers, from its logits for a GGUF file: float32, a row for each
position of the windows that --write-ids FILE prints, one window after the other. Needs numpy.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
WINDOW = 256


def to_bf16(x):
    bits = np.atleast_1d(np.asarray(x, np.float32)).view(np.uint32).astype(np.int64)
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return bits.astype(np.uint32).view(np.float32).astype(np.float64).reshape(np.shape(x))


def to_f16(x):
    return x.astype(np.float16).astype(np.float64)


def make_variants(reference):
    """The reference, and what one kind of rounding at a time does to it."""

    class Watched(reference.Model):
        """Keeps the residual stream: what the norms before attention and at the end are given."""

        def norm(self, x, name):
            if name.endswith("attn_norm.weight") or name == "output_norm.weight":
                self.hidden.append(x.copy())
            return super().norm(x, name)

        def forward(self, ids):
            self.hidden = []
            return super().forward(ids)

    class Float32(Watched):
        def norm(self, x, name):
            return super().norm(x, name).astype(np.float32).astype(np.float64)

        def linear(self, x, name):
            return super().linear(x, name).astype(np.float32).astype(np.float64)

    class F16Head(Watched):
        def norm(self, x, name):
            y = super().norm(x, name)
            return to_f16(y) if name == "output_norm.weight" else y

    class Bf16Scales(Watched):
        def linear(self, x, name):
            codes, scale = self.w[name]
            return super().linear(x, name) / scale * float(to_bf16(np.float32(scale)))

    class Bf16(Watched):
        """transformers in bfloat16, but for the residual stream and attention's dot products."""

        def norm(self, x, name):
            return to_bf16(super().norm(x, name))

        def rope(self, x):
            return to_bf16(super().rope(x))

        def linear(self, x, name):
            codes, scale = self.w[name]
            x = x.astype(np.float32)
            s = (127 / np.maximum(np.abs(x).max(-1, keepdims=True), np.float32(1e-5))).astype(np.float32)
            q = to_bf16(np.clip(np.rint(x * s), -128, 127) / s)
            return to_bf16(to_bf16(q @ codes.T) * to_bf16(np.float32(scale)))

    return {"exact": Watched, "float32 norms and projections": Float32, "f16 head input": F16Head, "bf16 scales": Bf16Scales, "bf16": Bf16}


class Bittern:
    def __init__(self, program, model):
        self.program, self.model = program, model

    def run(self, *arguments):
        return subprocess.run([self.program, *arguments], check=True, capture_output=True, text=True).stdout

    def metadata(self):
        values = json.loads(self.run("inspect", "--json", "--no-codes", str(self.model)))["metadata"]
        return {key: value["value"] for key, value in values.items()}

    def tokenize(self, text):
        command = [self.program, "tokenize", "-m", str(self.model), "--json"]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True,
                                         input=text).stdout)["ids"]

    def logits(self, ids, kv):
        """Logits (positions, vocab) and residual streams (layers + 1, positions, hidden)."""
        meta = self.metadata()
        arch = meta["general.architecture"]
        rows, hidden = meta[arch + ".block_count"] + 1, meta[arch + ".embedding_length"]
        with tempfile.TemporaryDirectory() as folder:
            out, states = folder + "/logits", folder + "/hidden"
            self.run("logits", "-m", str(self.model), "--prompt-ids", ",".join(map(str, ids)), "--all",
                     "-ctk", kv, "-ctv", kv, "-o", out, "--hidden", states)
            logits = np.fromfile(out, "<f4").astype(np.float64).reshape(len(ids), -1)
            return logits, np.fromfile(states, "<f4").astype(np.float64).reshape(
                len(ids), rows, hidden).transpose(1, 0, 2)


def log_softmax(logits):
    shifted = logits - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


class Tally:
    """Sums over windows of what two programs gave for the same tokens."""

    def __init__(self):
        self.count = self.same = self.predicted = 0
        self.kl = self.worst = self.nll_a = self.nll_b = 0.0
        self.gap = 0.0

    def add(self, a, b, ids):
        """a: the one measured against; logits or log probabilities of the positions of ids."""
        p, q = log_softmax(a), log_softmax(b)
        self.count += len(a)
        same = p.argmax(-1) == q.argmax(-1)
        self.same += int(same.sum())
        two = np.sort(p, -1)[:, -2:]
        self.gap = max([self.gap, *(two[:, 1] - two[:, 0])[~same]])
        kl = np.maximum((np.exp(p) * (p - q)).sum(-1), 0)
        self.kl += kl.sum()
        self.worst = max(self.worst, kl.max())
        after = np.array(ids[1:len(a) + 1])
        rows = np.arange(len(after))
        self.predicted += len(after)
        self.nll_a -= p[rows, after].sum()
        self.nll_b -= q[rows, after].sum()

    def row(self, model, what):
        disagree = self.count - self.same
        ppl_a, ppl_b = np.exp(self.nll_a / self.predicted), np.exp(self.nll_b / self.predicted)
        gap = f" (margin {self.gap:.2g})" if disagree else ""
        print(f"| {model} | {what} | {self.count} | {100 * self.same / self.count:.2f} %{gap} | "
              f"{self.kl / self.count:.1e} | {self.worst:.1e} | {ppl_a:.4f} | {ppl_b:.4f} "
              f"({100 * (ppl_b / ppl_a - 1):+.4f} %) |", flush=True)


def by_layer(model, name, pairs):
    """Residual streams: relative distance, median and largest over the positions."""
    a = np.concatenate([p[0] for p in pairs], 1)
    b = np.concatenate([p[1] for p in pairs], 1)
    error = np.linalg.norm(a - b, axis=-1) / np.linalg.norm(a, axis=-1)
    cells = " | ".join(f"{np.median(e):.1e} / {e.max():.1e}" for e in error)
    print(f"| {model} | {name} | {cells} |", flush=True)


def read_kl_base(path):
    """llama-perplexity --kl-divergence-base: tokens (chunks, n) and log probabilities of the second
    half of each chunk but its last position, kept in 16 bits over at most 16 nats."""
    raw = pathlib.Path(path).read_bytes()
    assert raw[:8] == b"_logits_"
    n_ctx, n_vocab, n_chunk = struct.unpack_from("<3i", raw, 8)
    tokens = np.frombuffer(raw, "<i4", n_ctx * n_chunk, 20).reshape(n_chunk, n_ctx)
    rows = n_ctx - 1 - n_ctx // 2
    words = 4 + (n_vocab + 1) // 2 * 2
    data = np.frombuffer(raw, "<u2", n_chunk * rows * words, 20 + 4 * n_ctx * n_chunk)
    data = data.reshape(n_chunk, rows, words)
    head = np.ascontiguousarray(data[..., :4]).view("<f4").astype(np.float64)
    return tokens, head[..., 1:] + head[..., :1] * data[..., 4:4 + n_vocab]


def run_bitnet_cpp(folder, model, text, windows):
    with tempfile.TemporaryDirectory() as work:
        pathlib.Path(work, "text").write_text(text)
        command = [str(pathlib.Path(folder) / "llama-perplexity"), "-m", str(model), "-f", work + "/text",
                   "-c", str(WINDOW), "-b", "1", "-ub", "1", "-t", "1", "--chunks", str(windows),
                   "--kl-divergence-base", work + "/base"]
        subprocess.run(command, check=True, capture_output=True)
        return read_kl_base(work + "/base")


def compare(o, name, path, reference, windows, text):
    """Prints the rows of one model; returns its pairs of residual streams by cache type."""
    bittern = Bittern(o.bittern, path)
    variants = make_variants(reference)
    streams = {}
    for kv in ("f32", "f16"):
        model = variants["exact"](str(path), kv == "f16")
        tally, pairs = Tally(), []
        for ids in windows:
            expected = model.forward(ids)
            logits, hidden = bittern.logits(ids, kv)
            tally.add(expected, logits, ids)
            pairs.append((np.stack(model.hidden), hidden))
        tally.row(name, f"reference, {kv} cache : Bittern, {kv} cache")
        streams[kv] = pairs
    exact = variants["exact"](str(path))
    rounded = [("f16 cache", variants["exact"](str(path), True))]
    rounded += [(what, kind(str(path))) for what, kind in variants.items() if what != "exact"]
    for what, model in rounded:
        tally = Tally()
        for ids in windows:
            tally.add(exact.forward(ids), model.forward(ids), ids)
        tally.row(name, f"reference : reference with {what}")
    if o.bitnet_cpp and text:
        compare_bitnet_cpp(o, name, path, bittern, variants, text, len(windows))
    return streams


def compare_bitnet_cpp(o, name, path, bittern, variants, text, num_windows):
    tokens, expected = run_bitnet_cpp(o.bitnet_cpp, path, text, num_windows)
    meta = bittern.metadata()
    to_reference, to_bittern = Tally(), Tally()
    model = variants["exact"](str(path), True)
    for ids, log_probs in zip(tokens.tolist(), expected):
        if meta.get("tokenizer.ggml.add_bos_token"):
            ids[0] = meta["tokenizer.ggml.bos_token_id"]
        first = WINDOW // 2
        rows = slice(first, WINDOW - 1)
        to_reference.add(model.forward(ids)[rows], log_probs, ids[first:])
        to_bittern.add(log_probs, bittern.logits(ids, "f16")[0][rows], ids[first:])
    to_reference.row(name, "reference, f16 cache : bitnet.cpp")
    to_bittern.row(name, "bitnet.cpp : Bittern, f16 cache")


def int16_overflow():
    """bitnet.cpp's AVX2 kernel adds 32 blocks in int16 before it widens: rows that come out wrong."""
    rng = np.random.default_rng(1)
    print("\n| columns | activations | rows wrong of 2,000 |\n|---|---|---|")
    for cols in (2560, 6912, 14336):
        for what, acts in (("all 127", np.full(cols, 127)), ("random int8", rng.integers(-127, 128, cols))):
            codes = rng.integers(0, 3, (2000, cols))
            total = np.zeros(2000, np.int64)
            for begin in range(0, cols, 4096):
                part = codes[:, begin:begin + 4096] * acts[begin:begin + 4096]
                lanes = part.reshape(2000, -1, 4, 16, 2).sum((1, 2, 4))
                total += lanes.astype(np.int16).astype(np.int64).sum(-1)
            wrong = int((total != (codes * acts).sum(-1)).sum())
            print(f"| {cols:,} | {what} | {wrong:,} |")


def text_and_windows(o, shared, model):
    """The held-out text and its first windows of token ids for a model file."""
    text = (shared / "golden/kjv-5m-heldout.txt").read_text()[:6 * WINDOW * o.windows]
    ids = Bittern(o.bittern, model).tokenize(text)
    if pathlib.Path(model).name.startswith("kjv-5m"):
        ids = json.loads((shared / "golden/kjv-5m-heldout-ids.json").read_text())
    return text, [ids[i * WINDOW:(i + 1) * WINDOW] for i in range(o.windows)]


def inputs(o, shared):
    """(name, model file, windows of ids, text) of each model that is there."""
    for name in ("kjv-5m", "pocket-8m"):
        path = ROOT / f"models/{name}-i2s.gguf"
        text, windows = text_and_windows(o, shared, path)
        yield name, path, windows, text
    tiny = pathlib.Path(os.environ.get("BITTERN_TINY", ROOT / "build/data/tiny.gguf"))
    if tiny.exists():
        rng = np.random.default_rng(1)
        yield "random 4 layers", tiny, [rng.integers(0, 1014, 64).tolist() for _ in range(o.windows)], None


def compare_other(o, shared, reference, what, path, file):
    """The rows of another program's logits for the windows of a model file."""
    _, windows = text_and_windows(o, shared, path)
    logits = np.fromfile(file, "<f4").astype(np.float64).reshape(len(windows), WINDOW, -1)
    model = make_variants(reference)["exact"](str(path))
    to_reference, to_bittern = Tally(), Tally()
    for ids, rows in zip(windows, logits):
        to_reference.add(model.forward(ids), rows, ids)
        to_bittern.add(rows, Bittern(o.bittern, path).logits(ids, "f16")[0], ids)
    name = pathlib.Path(path).stem
    to_reference.row(name, f"reference, f32 cache : {what}")
    to_bittern.row(name, f"{what} : Bittern, f16 cache")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("bittern")
    p.add_argument("--shared", default=os.environ.get("BITTERN_SHARED", ROOT.parent / "shared"))
    p.add_argument("--bitnet-cpp")
    p.add_argument("--windows", type=int, default=8)
    p.add_argument("--other", nargs=3, action="append", default=[], metavar=("NAME", "MODEL", "FILE"))
    p.add_argument("--write-ids", metavar="FILE", help="print the windows of a model file as JSON and leave")
    o = p.parse_args()
    shared = pathlib.Path(o.shared)
    spec = importlib.util.spec_from_file_location("reference", shared / "tools/reference.py")
    if not (shared / "tools/reference.py").exists():
        sys.exit(f"{shared}: no tools/reference.py there; set BITTERN_SHARED or --shared")
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    if o.write_ids:
        return print(json.dumps(text_and_windows(o, shared, o.write_ids)[1]))
    print("| model | A : B | positions | top-1 equal | mean KL(A, B), nats | largest KL | perplexity of A | "
          "of B |\n|---|---|---|---|---|---|---|---|")
    for other in o.other:
        compare_other(o, shared, reference, *other)
    if o.other:
        return
    streams = {name: compare(o, name, path, reference, windows, text)
               for name, path, windows, text in inputs(o, shared)}
    layers = max(len(s["f32"][0][0]) for s in streams.values())
    print("\n| model | cache | embedding | " + " | ".join(f"layer {i}" for i in range(layers - 1)) +
          " |\n|" + "---|" * (layers + 2))
    for name, by_cache in streams.items():
        for kv, pairs in by_cache.items():
            by_layer(name, kv, pairs)
    int16_overflow()


if __name__ == "__main__":
    main()
