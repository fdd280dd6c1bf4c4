# SPDX-License-Identifier: Apache-2.0
"""fast.c for PyTorch: the same network as model.py's Block in about a third of the time.

Needs a processor with AVX-512 VNNI, gcc and OpenBLAS; load() returns None elsewhere, and model.py
goes on with plain PyTorch.
"""
import ctypes
import hashlib
import os
import pathlib
import subprocess

import numpy as np
import torch

SOURCE = pathlib.Path(__file__).with_name("fast.c")
C = None
WEIGHTS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


def load(folder):
    """Compiles fast.c into folder once and loads it; None where that is not possible."""
    global C
    if "avx512_vnni" not in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"):
        return None
    name = "fast-%s.so" % hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:12]
    path = pathlib.Path(folder) / name
    if not path.exists():
        new = "%s.%d" % (path, os.getpid())
        command = ["gcc", "-O3", "-march=native", "-ffast-math", "-shared", "-fPIC", "-o", new,
                   str(SOURCE), "-l:libopenblas.so.0", "-lm"]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            return None
        os.replace(new, path)
    C = ctypes.CDLL(str(path))
    C.mean_abs.restype = ctypes.c_float
    return C


def p(t):
    return ctypes.c_void_p(t.data_ptr())


def f(x):
    return ctypes.c_float(x)


class Codes:
    """Weights of one product rounded to codes and packed; stacked by rows, each with its scale."""

    def __init__(self, weights):
        self.weights = [w.detach() for w in weights]
        self.scales = [C.mean_abs(p(w), ctypes.c_long(w.numel())) for w in self.weights]

    def times(self, q, scales, sums, m):
        """int8 rows times the transpose of every weight, side by side: [m, all rows]."""
        k = self.weights[0].shape[1]
        wide = sum(w.shape[0] for w in self.weights)
        out, at = torch.empty(m, wide), 0
        for w, scale in zip(self.weights, self.scales):
            n = w.shape[0]
            packed = torch.empty(n * k, dtype=torch.uint8)
            C.pack(p(w), n, k, f(scale), 0, p(packed))
            C.product(p(q), p(scales), p(sums), p(packed), f(scale), m, n, k,
                      ctypes.c_void_p(out.data_ptr() + 4 * at), wide)
            at += n
        return out

    def back(self, grad):
        """Gradient of the input: grad [m, all rows], rounded to int8 by rows and weights."""
        m, at, out = grad.shape[0], 0, None
        for w, scale in zip(self.weights, self.scales):
            n, k = w.shape
            part = grad if len(self.weights) == 1 else grad[:, at:at + n].contiguous()
            q, scales, sums = rounded(m, n)
            C.round_rows(p(part), m, n, p(q), p(scales), p(sums))
            packed = torch.empty(n * k, dtype=torch.uint8)
            C.pack(p(w), n, k, f(scale), 1, p(packed))
            y = torch.empty(m, k)
            C.product(p(q), p(scales), p(sums), p(packed), f(scale), m, k, n, p(y), k)
            out = y if out is None else out.add_(y)
            at += n
        return out


def rounded(m, n):
    """Room for m rows of n int8, whole blocks of 12; scales; sums."""
    return (torch.empty((m + 11) // 12 * 12, n, dtype=torch.int8), torch.empty(m),
            torch.empty(m, dtype=torch.int32))


class NormLinear(torch.autograd.Function):
    """RMSNorm, int8 rounding, product with rounded weights; gated: relu(gate)^2 * up before."""

    @staticmethod
    def forward(ctx, x, norm, eps, gated, *weights):
        x = x.contiguous()
        m, n = x.shape[0], norm.shape[0]
        q, scales, sums = rounded(m, n)
        inverses = torch.empty(m)
        C.norm(p(x), p(norm), f(eps), m, n, int(gated), p(q), p(scales), p(sums), p(inverses))
        codes = Codes(weights)
        ctx.codes, ctx.gated = codes, gated
        ctx.save_for_backward(x, norm, q, scales, inverses)
        return codes.times(q, scales, sums, m)

    @staticmethod
    def backward(ctx, grad):
        x, norm, q, scales, inverses = ctx.saved_tensors
        grad = grad.contiguous()
        m, n = x.shape[0], norm.shape[0]
        y = torch.empty(m, n)
        C.unround_rows(p(q), p(scales), m, n, p(y))
        dweights = (grad.t() @ y).split([w.shape[0] for w in ctx.codes.weights])
        dy = ctx.codes.back(grad)
        dx, dnorm = torch.empty_like(x), torch.zeros_like(norm)
        C.norm_back(p(dy), p(x), p(norm), p(inverses), m, n, int(ctx.gated), p(dx), p(dnorm))
        return (dx, dnorm, None, None, *dweights)


class Attend(torch.autograd.Function):
    """Rotary embedding and causal attention inside documents; qkv [m, all heads]."""

    @staticmethod
    def forward(ctx, qkv, places, c):
        positions, bounds, cosines, sines = places
        m, stride, kv = qkv.shape[0], qkv.shape[1], c.kv_heads
        qkv = qkv.contiguous()  # fresh from a product: turned in place
        C.rotate(p(qkv), p(positions), p(cosines), p(sines), m, c.heads + kv, stride, c.head_dim, 0)
        out = torch.empty(m, c.heads * c.head_dim)
        C.attend(p(qkv), p(bounds), bounds.numel() - 1, c.heads, kv, c.head_dim, p(out))
        ctx.places, ctx.c, ctx.saved = places, c, (qkv, out)
        return out

    @staticmethod
    def backward(ctx, grad):
        positions, bounds, cosines, sines = ctx.places
        (qkv, out), c = ctx.saved, ctx.c
        grad, dqkv = grad.contiguous(), torch.zeros_like(qkv)
        C.attend_back(p(grad), p(qkv), p(out), p(bounds), bounds.numel() - 1, c.heads, c.kv_heads,
                      c.head_dim, p(dqkv))
        C.rotate(p(dqkv), p(positions), p(cosines), p(sines), qkv.shape[0], c.heads + c.kv_heads,
                 qkv.shape[1], c.head_dim, 1)
        return dqkv, None, None


def places(docs, rope):
    """(position in its row of every token, where documents begin, rope tables); docs [B, T]."""
    rows, length = docs.shape
    flat = docs.numpy().astype(np.int64) + np.arange(rows)[:, None] * (length + 1)
    starts = np.flatnonzero(np.diff(flat.reshape(-1), prepend=-1))
    bounds = torch.from_numpy(np.append(starts, rows * length).astype(np.int32))
    positions = torch.arange(length, dtype=torch.int32).repeat(rows)
    if length > rope[0].shape[0]:
        raise ValueError("rope tables are too short")
    return positions, bounds, *rope


def block(layer, x, where):
    """model.Block.forward without a probe."""
    c = layer.c
    qkv = NormLinear.apply(x, layer.input_layernorm, c.eps, False, layer.q_proj, layer.k_proj,
                           layer.v_proj)
    a = Attend.apply(qkv, where, c)
    x = x + NormLinear.apply(a, layer.attn_sub_norm, c.eps, False, layer.o_proj)
    gates = NormLinear.apply(x, layer.post_attention_layernorm, c.eps, False, layer.gate_proj,
                             layer.up_proj)
    return x + NormLinear.apply(gates, layer.ffn_sub_norm, c.eps, True, layer.down_proj)


def adamw(w, grad, first, second, clip, rate, decay, betas, corrections, eps):
    """team.adamw in one pass over memory."""
    C.adamw(p(w), p(grad), p(first), p(second), ctypes.c_long(w.numel()), f(clip), f(rate), f(decay),
            f(betas[0]), f(betas[1]), f(corrections[0]), f(corrections[1]), f(eps))
