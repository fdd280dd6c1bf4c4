#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a tiny ternary model of LLaMA's or Qwen3's shape on the King James Bible, for the fault kit of `doctor`.

    train/small.py llama --out tests/doctor/llama-1m-i2s.gguf
    train/small.py qwen3 --out tests/doctor/qwen3-1m-i2s.gguf

The text (copyright expired) is printed by the program `bible` of Debian's package bible-kjv. The chapters of HELD_OUT
are left out, as they were of kjv-5m's training: doctor's own texts and those of the fault kit are taken from them.
No sub-norms; SiLU. llama: the rotation turns neighbours, as rows lie in GGUF files. qwen3: it turns halves, and the
heads of q and k have norms.
"""
import argparse
import ctypes
import re
import subprocess
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import gguf
import tokenizer
from export import quantise
from model import NormQuant, TernaryLinear

VOCAB, HIDDEN, FFN, LAYERS, HEADS, KV, HEAD = 1024, 128, 384, 6, 4, 2, 32
CONTEXT, EPS, BASE = 512, 1e-5, 10000.0


# 34 of the 1,189 chapters: those that kjv-5m never saw.
HELD_OUT = set("""Ge4 Ge11 Ge27 Exo10 Lev17 Num31 Josh22 Jdgs21 1Sm24 2Sm4 2Sm18 2Ki9 2Ki14 1Chr2 1Chr3 2Chr6 Est3 Job6 Job8
Psa27 Psa33 Psa46 Psa95 Isa56 Jer17 Jer35 Lam1 Eze34 Zec1 Mat25 Mark4 2Cor8 1Th3 Rev17""".split())


def bible(held_out=False):
    """Chapters as texts of verses joined by blanks: all but those held out, or these alone."""
    lines = subprocess.run(["bible", "-f", "gen1:1-rev22:21"], check=True, capture_output=True, text=True).stdout
    chapters = {}
    for chapter, verse in re.findall(r"^(\w+?\d+):\d+ (.+)$", lines, re.M):
        chapters.setdefault(chapter, []).append(verse.strip())
    assert len(chapters) == 1189 and HELD_OUT < set(chapters)
    return [" ".join(verses) for chapter, verses in chapters.items() if (chapter in HELD_OUT) == held_out]


def rms(x, weight):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + EPS) * weight


class Block(nn.Module):
    def __init__(self, head_norms):
        super().__init__()
        ones = lambda n: nn.Parameter(torch.ones(n))
        self.attn_norm, self.ffn_norm = ones(HIDDEN), ones(HIDDEN)
        if head_norms:
            self.attn_q_norm, self.attn_k_norm = ones(HEAD), ones(HEAD)
        shapes = {"attn_q": (HEADS * HEAD, HIDDEN), "attn_k": (KV * HEAD, HIDDEN), "attn_v": (KV * HEAD, HIDDEN),
                  "attn_output": (HIDDEN, HEADS * HEAD), "ffn_gate": (FFN, HIDDEN), "ffn_up": (FFN, HIDDEN),
                  "ffn_down": (HIDDEN, FFN)}
        for name, shape in shapes.items():
            self.register_parameter(name, nn.Parameter(torch.randn(shape) * 0.02))
        self.unit = torch.ones(HIDDEN), torch.ones(FFN)
        self.head_norms = head_norms

    def rotate(self, x, cos, sin):
        if self.head_norms:
            a, b = x.chunk(2, -1)
            return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)
        a, b = x[..., ::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, b * cos + a * sin], -1).flatten(-2)

    def forward(self, x, batch, rope, mask):
        """x [batch * length, HIDDEN]"""
        h = NormQuant.apply(x, self.attn_norm, EPS)
        q, k, v = TernaryLinear.apply(h, self.attn_q, self.attn_k, self.attn_v).split(
            [HEADS * HEAD, KV * HEAD, KV * HEAD], -1)
        q, k, v = (y.reshape(batch, -1, y.shape[-1] // HEAD, HEAD).transpose(1, 2) for y in (q, k, v))
        if self.head_norms:
            q, k = rms(q, self.attn_q_norm), rms(k, self.attn_k_norm)
        q, k = self.rotate(q, *rope), self.rotate(k, *rope)
        k, v = (y.repeat_interleave(HEADS // KV, 1) for y in (k, v))
        a = ((q @ k.transpose(2, 3)) * HEAD ** -0.5 + mask).softmax(-1) @ v
        x = x + self.product(a.transpose(1, 2).reshape(-1, HEADS * HEAD), self.attn_output)
        h = NormQuant.apply(x, self.ffn_norm, EPS)
        gate, up = TernaryLinear.apply(h, self.ffn_gate, self.ffn_up).chunk(2, -1)
        return x + self.product(F.silu(gate) * up, self.ffn_down)

    @staticmethod
    def product(x, weight):
        """Rounds x to int8 by rows; gradients pass through."""
        scale = 127 / x.detach().abs().amax(-1, keepdim=True).clamp(min=1e-5)
        rounded = (x.detach() * scale).round() / scale
        return TernaryLinear.apply(x + (rounded - x).detach(), weight)


class Small(nn.Module):
    def __init__(self, head_norms):
        super().__init__()
        self.embed = nn.Parameter(torch.randn(VOCAB, HIDDEN) * 0.02)
        self.blocks = nn.ModuleList(Block(head_norms) for _ in range(LAYERS))
        self.norm = nn.Parameter(torch.ones(HIDDEN))

    def loss(self, rows):
        """Mean nats of rows [B, T + 1]."""
        batch, length = rows.shape[0], rows.shape[1] - 1
        angles = torch.arange(length)[:, None] * BASE ** (-torch.arange(HEAD // 2) / (HEAD // 2))
        mask = torch.full((length, length), -1e9).triu(1)
        x = F.embedding(rows[:, :-1], self.embed).reshape(-1, HIDDEN)
        for block in self.blocks:
            x = block(x, batch, (angles.cos(), angles.sin()), mask)
        return F.cross_entropy(rms(x, self.norm) @ self.embed.t(), rows[:, 1:].reshape(-1))


def metadata(shape, tok):
    arch, u32 = shape + ".", gguf.U32
    types = [1] * tok.first_special + [3] * (len(tok.tokens) - tok.first_special)
    return [
        ("general.architecture", gguf.STRING, shape), ("general.name", gguf.STRING, shape + "-1m"),
        ("general.description", gguf.STRING, "King James Bible, to try faults on"),
        ("general.license", gguf.STRING, "apache-2.0"),
        (arch + "vocab_size", u32, VOCAB), (arch + "context_length", u32, CONTEXT),
        (arch + "embedding_length", u32, HIDDEN), (arch + "block_count", u32, LAYERS),
        (arch + "feed_forward_length", u32, FFN), (arch + "rope.dimension_count", u32, HEAD),
        (arch + "attention.head_count", u32, HEADS), (arch + "attention.head_count_kv", u32, KV),
        (arch + "attention.key_length", u32, HEAD), (arch + "attention.value_length", u32, HEAD),
        (arch + "attention.layer_norm_rms_epsilon", gguf.F32, EPS), (arch + "rope.freq_base", gguf.F32, BASE),
        ("general.file_type", u32, 40), ("tokenizer.ggml.model", gguf.STRING, "gpt2"),
        ("tokenizer.ggml.pre", gguf.STRING, "llama-bpe"),
        ("tokenizer.ggml.tokens", (gguf.ARRAY, gguf.STRING), tok.tokens),
        ("tokenizer.ggml.token_type", (gguf.ARRAY, gguf.I32), types),
        ("tokenizer.ggml.merges", (gguf.ARRAY, gguf.STRING), ["%s %s" % m for m in tok.merges]),
        ("tokenizer.ggml.bos_token_id", u32, tok.bos), ("tokenizer.ggml.eos_token_id", u32, tok.eos),
        ("tokenizer.ggml.add_bos_token", gguf.BOOL, True), ("general.quantization_version", u32, 2)]


def write(path, shape, net, tok):
    tensors = [("token_embd.weight", (VOCAB, HIDDEN), gguf.F16_TENSOR,
                net.embed.detach().numpy().astype("<f2").tobytes())]
    for i, block in enumerate(net.blocks):
        for name, parameter in block.named_parameters():
            w, name = parameter.detach().numpy(), "blk.%d.%s.weight" % (i, name)
            if w.ndim == 1:
                tensors.append((name, w.shape, gguf.F32_TENSOR, w.astype("<f4").tobytes()))
            else:
                tensors.append((name, w.shape, gguf.I2S_TENSOR, gguf.i2s(*quantise(w))))
    tensors.append(("output_norm.weight", (HIDDEN,), gguf.F32_TENSOR,
                    net.norm.detach().numpy().astype("<f4").tobytes()))
    gguf.write(path, metadata(shape, tok), tensors)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("shape", choices=("llama", "qwen3"))
    p.add_argument("--out", required=True)
    p.add_argument("--steps", type=int, default=3000)
    p.add_argument("--rows", type=int, default=8)
    p.add_argument("--rate", type=float, default=4e-3)
    p.add_argument("--threads", type=int, default=1)
    o = p.parse_args()
    torch.set_num_threads(o.threads)
    for option, value in ((-3, 32 << 20), (-1, 1 << 30), (-2, 256 << 20)):  # glibc: keep memory, do not give it back
        ctypes.CDLL(None).mallopt(option, value)
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    chapters = bible()
    tok = tokenizer.train([(c, 1) for c in chapters], VOCAB)
    ids = np.array([i for c in chapters for i in [tok.bos] + tok.encode(c)])
    print("%d tokens" % len(ids), flush=True)
    net = Small(o.shape == "qwen3")
    optimizer = torch.optim.AdamW(net.parameters(), betas=(0.9, 0.98), weight_decay=0.0)
    length, start, mean = 256, time.time(), 7.0
    for step in range(o.steps):
        rate = o.rate * min(1, (step + 1) / 50) * min(1, (1 - step / o.steps) * 2.5)
        for group in optimizer.param_groups:
            group["lr"] = rate
        # Rows begin with the token that begins texts.
        at = rng.integers(0, len(ids) - length - 1, o.rows)
        rows = torch.tensor(np.stack([np.r_[tok.bos, ids[a + (ids[a] == tok.bos):][:length]] for a in at]))
        loss = net.loss(rows)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        mean += 0.03 * (loss.item() - mean)
        if step % 50 == 49:
            print("step %4d  %.3f nats  %.0f s" % (step + 1, mean, time.time() - start), flush=True)
    write(o.out, o.shape, net, tok)


if __name__ == "__main__":
    main()
