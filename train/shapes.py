#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small ternary model of a shape of 2026 on the King James Bible: what it says is English, so texts can be compared
and not only logits. Writes a Hugging Face folder, which `bittern convert` makes a GGUF file of, and what it says.

    train/shapes.py qwen35 --work WORK --out FOLDER

Three shapes are the classes of `transformers` (needed: torch, transformers, safetensors): qwen35 (gated delta layers),
hunyuan (one weight of four is zero), minicpm (Granite's class with MiniCPM's three scales). maple (windows, global layers
without positions, experts) is written here. Weights alone are ternary, as in the published models: activations are not
rounded. The text is small.py's; WORK keeps its tokens, so that training needs no Debian.
"""
import argparse
import json
import pathlib
import time

import numpy as np
import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrize

import tokenizer

VOCAB, CONTEXT, LENGTH, EPS = 512, 512, 256, 1e-5
PLAIN = dict(hidden_size=256, intermediate_size=512, num_attention_heads=4, num_key_value_heads=2, vocab_size=VOCAB,
             max_position_embeddings=CONTEXT, rms_norm_eps=EPS, hidden_act="silu", head_dim=64)
MINICPM = {key: value for key, value in PLAIN.items() if key != "head_dim"}
EXPERTS, USED, WINDOW, CLAMP, ROTATED = 8, 2, 64, 7.0, 32
PROMPTS = ("In the beginning God created", "And it came to pass in those days, that", "The LORD is my", "Jesus said unto them,",
           "And the king of Israel", "Blessed are they", "Now these are the names of the children of")
SAID = 48  # tokens of a greedy text


class Groups(nn.Module):
    """Weights -s, 0 and s; s is the mean magnitude of a group of columns, rounded as bf16."""

    def __init__(self, group):
        super().__init__()
        self.group = group

    def forward(self, w):
        parts = w.detach().reshape(len(w), -1, self.group)
        scale = parts.abs().mean(-1, keepdim=True).clamp(min=1e-6)
        return w + ((parts / scale).round().clamp(-1, 1) * scale.bfloat16()).reshape(w.shape) - w.detach()


class ThreeOfFour(nn.Module):
    """The smallest of four weights is zero, the others are -s or s: one s for 256 columns (Sherry). The four are 16 columns
    apart, as STQ1_0 holds them."""

    def forward(self, w):
        fours = w.detach().reshape(len(w), -1, 4, 4, 16)
        kept = torch.ones_like(fours).scatter_(-2, fours.abs().argmin(-2, keepdim=True), 0)
        scale = (fours.abs() * kept).sum((-1, -2, -3), keepdim=True) / (3 * 64)
        signs = torch.where(fours < 0, -1.0, 1.0) * kept
        return w + (signs * scale.bfloat16()).reshape(w.shape) - w.detach()


class Rows(nn.Module):
    """Maple's: zero up to 0.7 of a row's mean magnitude; the others are the mean of what is left."""

    def forward(self, w):
        size = w.detach().abs()
        kept = size > 0.7 * size.mean(-1, keepdim=True)
        alpha = (size * kept).sum(-1, keepdim=True) / kept.sum(-1, keepdim=True).clamp(min=1)
        return w + w.detach().sign() * kept * alpha.bfloat16() - w.detach()


def rms(x, weight):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + EPS) * weight


class MapleLayer(nn.Module):
    def __init__(self, windowed):
        super().__init__()
        hidden, heads, kv, dim = (PLAIN[key] for key in ("hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim"))
        self.windowed, self.dim = windowed, dim
        linear = lambda rows, cols=hidden: nn.Linear(cols, rows, bias=False)
        self.q_proj, self.k_proj, self.v_proj = linear(heads * dim), linear(kv * dim), linear(kv * dim)
        self.o_proj, self.router = linear(hidden, heads * dim), linear(EXPERTS)
        self.norms = nn.ParameterDict({name: nn.Parameter(torch.ones(size)) for name, size in (
            ("input_layernorm", hidden), ("post_attention_layernorm", hidden), ("q_norm", dim), ("k_norm", dim))})
        self.gate_proj, self.up_proj, self.down_proj = (
            nn.ModuleList(linear(hidden) for _ in range(EXPERTS)) for _ in range(3))

    def attend(self, h):
        batch, length, _ = h.shape
        q, k, v = (p(h).reshape(batch, length, -1, self.dim).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        q, k = rms(q, self.norms["q_norm"]), rms(k, self.norms["k_norm"])
        at = torch.arange(length, device=h.device)
        back = at[:, None] - at
        seen = back >= 0
        if self.windowed:
            half = ROTATED // 2
            angles = at[:, None] * 10000.0 ** (-torch.arange(half, device=h.device, dtype=h.dtype) / half)
            q, k = (self.rotate(x, angles.cos(), angles.sin()) for x in (q, k))
            seen = seen & (back < WINDOW)
        k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
        scores = (q @ k.transpose(2, 3)) * self.dim ** -0.5
        a = scores.masked_fill(~seen, -torch.inf).softmax(-1) @ v
        return self.o_proj(a.transpose(1, 2).reshape(batch, length, -1))

    @staticmethod
    def rotate(x, cos, sin):
        a, b, rest = x.split([ROTATED // 2, ROTATED // 2, x.shape[-1] - ROTATED], -1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin, rest], -1)

    def mixture(self, h):
        """All experts are computed, those that were not chosen with a weight of zero."""
        p = self.router(h).softmax(-1)
        best = p.topk(USED, -1)
        share = torch.zeros_like(p).scatter(-1, best.indices, best.values / best.values.sum(-1, keepdim=True))
        # Where all experts are chosen as often and as surely, this is 1 (Switch Transformer).
        self.balance = EXPERTS * ((share > 0).to(p.dtype).mean((0, 1)) / USED * p.mean((0, 1))).sum()
        out = 0
        for e in range(EXPERTS):
            gate, up = self.gate_proj[e](h).clamp(max=CLAMP), self.up_proj[e](h).clamp(-CLAMP, CLAMP)
            out = out + share[..., e:e + 1] * self.down_proj[e](F.silu(gate) * up)
        return out

    def forward(self, x):
        x = x + self.attend(rms(x, self.norms["input_layernorm"]))
        return x + self.mixture(rms(x, self.norms["post_attention_layernorm"]))


class Maple(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, PLAIN["hidden_size"])
        self.layers = nn.ModuleList(MapleLayer(windowed) for windowed in (True, False, True))
        self.norm = nn.Parameter(torch.ones(PLAIN["hidden_size"]))
        self.head = nn.Linear(PLAIN["hidden_size"], VOCAB, bias=False)
        for p in self.parameters():
            if p.ndim == 2:
                nn.init.normal_(p, std=0.02)

    def logits(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(rms(x, self.norm))

    def balance(self):
        return sum(layer.balance for layer in self.layers) / len(self.layers)

    def tensors(self):
        """By the names of the published folder."""
        out = {"model.word_embeddings.weight": self.embed.weight, "model.norm.weight": self.norm, "lm_head.weight": self.head.weight}
        for i, layer in enumerate(self.layers):
            name = "model.layers.%d." % i
            for norm, weight in layer.norms.items():
                out[name + ("self_attn." if norm[1] == "_" else "") + norm + ".weight"] = weight
            for part in ("q_proj", "k_proj", "v_proj", "o_proj"):
                out[name + "self_attn.%s.weight" % part] = getattr(layer, part).weight
            out[name + "mlp.gate.weight"] = layer.router.weight
            for part in ("gate_proj", "up_proj", "down_proj"):
                for e, expert in enumerate(getattr(layer, part)):
                    out[name + "mlp.experts.%d.%s.weight" % (e, part)] = expert.weight
        return out

    @staticmethod
    def config():
        kinds = ["sliding_attention", "full_attention", "sliding_attention"]
        return {**PLAIN, "architectures": ["MapleForCausalLM"], "num_hidden_layers": len(kinds), "layer_types": kinds,
                "sliding_window": WINDOW, "num_experts": EXPERTS, "num_experts_per_tok": USED,
                "moe_intermediate_size": PLAIN["hidden_size"], "num_shared_experts": 0, "norm_topk_prob": True,
                "nope_on_global_attention": True, "partial_rotary_factor": ROTATED / PLAIN["head_dim"], "rope_theta": 10000,
                "tie_word_embeddings": False}


class Theirs(nn.Module):
    """A network of transformers."""

    def __init__(self, network, config=None):
        super().__init__()
        self.network = network
        self.changed = config or {}

    def logits(self, ids):
        return self.network(ids, use_cache=False).logits

    def balance(self):
        return 0.0

    def tensors(self):
        state = {name: value for name, value in self.network.named_parameters() if ".parametrizations." not in name}
        for name, module in self.network.named_modules():
            if parametrize.is_parametrized(module):
                state[name + ".weight"] = module.weight
        return state

    def config(self):
        return {**self.network.config.to_dict(), "architectures": [type(self.network).__name__], **self.changed}


def qwen35():
    from transformers import Qwen3_5ForCausalLM, Qwen3_5TextConfig
    return Theirs(Qwen3_5ForCausalLM(Qwen3_5TextConfig(
        **PLAIN, num_hidden_layers=4, layer_types=["linear_attention"] * 3 + ["full_attention"], linear_num_key_heads=2,
        linear_num_value_heads=4, linear_key_head_dim=64, linear_value_head_dim=64, tie_word_embeddings=False,
        rope_parameters={"rope_type": "default", "rope_theta": 1e7, "partial_rotary_factor": 0.25})))


def hunyuan():
    from transformers import HunYuanDenseV1Config, HunYuanDenseV1ForCausalLM
    return Theirs(HunYuanDenseV1ForCausalLM(HunYuanDenseV1Config(
        **PLAIN, num_hidden_layers=4, rope_theta=10000.0, tie_word_embeddings=True,
        rope_scaling={"type": "dynamic", "rope_type": "dynamic", "alpha": 1000.0, "factor": 1.0, "beta_fast": 32,
                      "beta_slow": 1, "mscale": 1.0, "mscale_all_dim": 1.0})), {"model_type": "hunyuan_v1_dense"})


def minicpm():
    from transformers import GraniteConfig, GraniteForCausalLM
    layers, base = 4, 64
    factors = [1 + 0.02 * i for i in range(32)]
    scaling = {"rope_type": "longrope", "original_max_position_embeddings": CONTEXT, "short_factor": factors,
               "long_factor": [1 + 0.5 * i for i in range(32)]}
    network = GraniteForCausalLM(GraniteConfig(
        **MINICPM, num_hidden_layers=layers, embedding_multiplier=12, residual_multiplier=1.4 / layers ** 0.5,
        logits_scaling=PLAIN["hidden_size"] / base, attention_multiplier=64 ** -0.5, tie_word_embeddings=False,
        rope_theta=10000.0, rope_scaling={**scaling, "rope_theta": 10000.0, "long_factor": factors, "factor": 1.0}))
    return Theirs(network, {"architectures": ["MiniCPMForCausalLM"], "model_type": "minicpm", "scale_emb": 12, "scale_depth": 1.4,
                            "dim_model_base": base, "rope_theta": 10000.0, "rope_scaling": scaling, "rope_parameters": None})


# Network and rounding of its matrices.
SHAPES = {"qwen35": (qwen35, lambda: Groups(128)), "hunyuan": (hunyuan, ThreeOfFour), "minicpm": (minicpm, lambda: Groups(256)),
          "maple": (Maple, Rows)}
MATRICES = ("_proj", "in_proj_qkv", "in_proj_z")


def is_matrix(name):
    return any(part.endswith(MATRICES) for part in name.split("."))


def text_ids(work):
    """The tokenizer, and the text as ids; chapters begin with the token that begins texts."""
    work.mkdir(parents=True, exist_ok=True)
    if not (work / "tokenizer.json").exists():
        from small import bible
        chapters = bible()
        tok = tokenizer.train([(chapter, 1) for chapter in chapters], VOCAB)
        np.save(work / "ids.npy", np.array([i for c in chapters for i in [tok.bos] + tok.encode(c)], np.uint16))
        tok.save(work / "tokenizer.json")
    return tokenizer.load(work / "tokenizer.json"), np.load(work / "ids.npy").astype(np.int64)


def fit(net, tok, ids, o):
    """By steps, or by the clock where that ends sooner."""
    matrices = [p for p in net.parameters() if p.ndim >= 2]
    others = [p for p in net.parameters() if p.ndim < 2]
    optimizer = torch.optim.AdamW([{"params": matrices}, {"params": others}], betas=(0.9, 0.98), weight_decay=0.0)
    rng, start, mean, done = np.random.default_rng(0), time.time(), 6.0, 0.0
    step = 0
    while done < 1:
        rate = o.rate * min(1, (step + 1) / 100) * min(1, (1 - done) * 2.5)
        for group in optimizer.param_groups:
            group["lr"] = rate
        at = rng.integers(0, len(ids) - LENGTH - 1, o.rows)
        rows = torch.tensor(np.stack([np.r_[tok.bos, ids[a + (ids[a] == tok.bos):][:LENGTH]] for a in at])).to(o.device)
        loss = F.cross_entropy(net.logits(rows[:, :-1]).reshape(-1, VOCAB), rows[:, 1:].reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        (loss + 0.01 * net.balance()).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        step += 1
        done = max(step / o.steps, (time.time() - start) / (60 * o.minutes))
        if step % 50 == 0 or done >= 1:
            mean = loss.item() if step == 50 else mean + 0.3 * (loss.item() - mean)
            print("step %5d  %.3f nats  %.0f s" % (step, mean, time.time() - start), flush=True)
    return mean


def greedy(net, tok, prompt):
    """A greedy text in float64: ids, and by how much each is ahead of the next likely."""
    ids, margins = [tok.bos] + tok.encode(prompt), []
    start = len(ids)
    with torch.no_grad():
        for _ in range(SAID):
            best = net.logits(torch.tensor([ids]))[0, -1].topk(2)
            margins.append(round(float(best.values[0] - best.values[1]), 4))
            ids.append(int(best.indices[0]))
    return {"prompt": prompt, "ids": ids[:start], "said": ids[start:], "margins": margins, "text": tok.decode(ids[start:])}


def write(folder, net, tok, report):
    """Ternary matrices as bf16, which holds them exactly; embedding and head as binary16; the rest as float32."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {}
    for name, value in net.tensors().items():
        wide = torch.bfloat16 if is_matrix(name) else torch.float16 if "embed" in name or "lm_head" in name else torch.float32
        if "lm_head" not in name or not net.config()["tie_word_embeddings"]:
            tensors[name] = value.detach().cpu().to(wide).contiguous().clone()
    save_file(tensors, folder / "model.safetensors")
    config = {**net.config(), "bos_token_id": tok.bos, "eos_token_id": tok.eos, "pad_token_id": None}
    (folder / "config.json").write_text(json.dumps(config, indent=1, default=str) + "\n")
    tok.save(folder / "tokenizer.json")
    (folder / "tokenizer_config.json").write_text(json.dumps({"bos_token": "<|begin_of_text|>", "eos_token": "<|end_of_text|>"}))
    (folder / "says.json").write_text(json.dumps(report, indent=1) + "\n")


def halved(net):
    """Embedding and head as they are written."""
    with torch.no_grad():
        for name, p in net.named_parameters():
            if "embed" in name or "head" in name:
                p.copy_(p.half().to(p.dtype))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("shape", choices=SHAPES)
    p.add_argument("--work", type=pathlib.Path, required=True, help="folder of the text's tokens")
    p.add_argument("--out", type=pathlib.Path, required=True)
    p.add_argument("--steps", type=int, default=4000)
    p.add_argument("--minutes", type=float, default=600)
    p.add_argument("--rows", type=int, default=32)
    p.add_argument("--rate", type=float, default=3e-3)
    p.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    o = p.parse_args()
    torch.manual_seed(0)
    tok, ids = text_ids(o.work)
    make, rounding = SHAPES[o.shape]
    net = make()
    for name, module in list(net.named_modules()):
        if isinstance(module, nn.Linear) and is_matrix(name):
            parametrize.register_parametrization(module, "weight", rounding())
    net.to(o.device).float().train()
    nats = fit(net, tok, ids, o)
    net.cpu().double().eval()
    halved(net)
    said = [greedy(net, tok, prompt) for prompt in PROMPTS]
    for one in said:
        print("%s |%s" % (one["prompt"], one["text"]))
    write(o.out, net, tok, {"shape": o.shape, "nats": round(nats, 3), "said": said})


if __name__ == "__main__":
    main()
