# SPDX-License-Identifier: Apache-2.0
"""The network in NumPy and float64, from a GGUF file: slow, short, and independent of the engine.

Integer products are exact, activations are rounded to int8 per token as the format says; all else
is float64. Keys and values are kept, so text is generated one token at a time.
"""
import numpy as np

import gguf


class Reference:
    def __init__(self, path):
        metadata, tensors = gguf.read(path)
        key = lambda name: metadata["bitnet-b1.58." + name]
        self.layers = key("block_count")
        self.heads, self.kv_heads = key("attention.head_count"), key("attention.head_count_kv")
        self.dim = key("embedding_length") // self.heads
        self.eps, self.theta = key("attention.layer_norm_rms_epsilon"), key("rope.freq_base")
        self.weights = {name: self.tensor(*facts) for name, facts in tensors.items()}
        self.zeros = np.zeros((self.layers, 2))  # gates not above zero, zeros into down_proj
        self.tokens = 0
        self.clear()

    @staticmethod
    def tensor(shape, kind, raw):
        count = int(np.prod(shape))
        if kind != gguf.I2S_TENSOR:
            width = "<f4" if kind == gguf.F32_TENSOR else "<f2"
            return np.frombuffer(raw, width, count).astype(np.float64).reshape(shape)
        packed = np.frombuffer(raw, np.uint8, count // 4).reshape(-1, 1, 32)
        codes = (packed >> np.array([6, 4, 2, 0], np.uint8).reshape(1, 4, 1)) & 3
        scale = float(np.frombuffer(raw, "<f4", 1, count // 4)[0])
        return codes.astype(np.float64).reshape(shape) - 1, scale

    def clear(self):
        self.cache = [None] * self.layers

    def norm(self, x, name):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.eps) * self.weights[name + ".weight"]

    def quantised(self, x):
        """(int8 values, scale) per row, in float32 as the format defines them."""
        x = x.astype(np.float32)
        scale = np.float32(127) / np.maximum(np.abs(x).max(-1, keepdims=True), np.float32(1e-5))
        return np.clip(np.rint(x * scale), -128, 127).astype(np.float64), scale

    def linear(self, q, name):
        codes, scale = self.weights[name + ".weight"]
        return (q[0] @ codes.T) / q[1] * scale

    def rope(self, x, start):
        half = self.dim // 2
        angles = (start + np.arange(len(x)))[:, None] * self.theta ** (-np.arange(half) / half)
        cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
        a, b = x[..., :half], x[..., half:]
        return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

    def attention(self, layer, q, k, v):
        old = self.cache[layer]
        if old is not None:
            k, v = np.concatenate([old[0], k]), np.concatenate([old[1], v])
        self.cache[layer] = k, v
        group = self.heads // self.kv_heads
        scores = np.einsum("qhd,khd->hqk", q, np.repeat(k, group, 1)) / np.sqrt(self.dim)
        scores += np.triu(np.full(scores.shape[1:], -np.inf), 1 + len(k) - len(q))
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
        return np.einsum("hqk,khd->qhd", scores, np.repeat(v, group, 1)).reshape(len(q), -1)

    def forward(self, ids):
        """Logits float64[len(ids), vocab] of tokens that follow those seen since clear()."""
        start = 0 if self.cache[0] is None else len(self.cache[0][0])
        x = self.weights["token_embd.weight"][ids]
        for i in range(self.layers):
            name = "blk.%d." % i
            h = self.quantised(self.norm(x, name + "attn_norm"))
            q, k, v = (self.linear(h, name + "attn_" + p).reshape(len(ids), -1, self.dim)
                       for p in "qkv")
            a = self.attention(i, self.rope(q, start), self.rope(k, start), v)
            x = x + self.linear(self.quantised(self.norm(a, name + "attn_sub_norm")),
                                name + "attn_output")
            h = self.quantised(self.norm(x, name + "ffn_norm"))
            gate = self.linear(h, name + "ffn_gate")
            f = np.maximum(gate, 0) ** 2 * self.linear(h, name + "ffn_up")
            f = self.quantised(self.norm(f, name + "ffn_sub_norm"))
            self.zeros[i] += (gate <= 0).mean() * len(ids), (f[0] == 0).mean() * len(ids)
            x = x + self.linear(f, name + "ffn_down")
        self.tokens += len(ids)
        return self.norm(x, "output_norm") @ self.weights["token_embd.weight"].T

    def greedy(self, ids, count):
        """The `count` likeliest tokens after ids, end tokens included."""
        self.clear()
        found, logits = [], self.forward(ids)
        for _ in range(count):
            found.append(int(logits[-1].argmax()))
            logits = self.forward(found[-1:])
        return found


def nll(logits, ids):
    """Nats of each of ids[1:], given logits of ids."""
    logits = logits[:-1].astype(np.float64)
    logits = logits - logits.max(-1, keepdims=True)
    return np.log(np.exp(logits).sum(-1)) - logits[np.arange(len(ids) - 1), ids[1:]]
