#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains Pocket on one GPU by the clock: a run of M minutes always ends with a finished model.

    train/gpu.py --work WORK --minutes 8 --out OUT       # writes OUT/NAME-i2s.gguf and OUT/master-*.pt
    train/gpu.py --work WORK --minutes 5 --out OUT --start OLD --lr 2e-3    # goes on from OLD/master-*.pt
    train/gpu.py --work WORK --join OUT                  # masters -> WORK/decayed.pt, for export.py

The same network, data and recipe as train.py, with bf16 products: codes and int8 activations are whole
numbers that bf16 holds exactly, and the sums are float32. Rows are drawn by many processes. The rate
warms up, stays constant, and falls to zero in the last part of the time; weight decay ends with the constant
part. Results are written anew every minute: the file that runs, and the master weights in bf16 in parts of less
than 16 MiB. WORK holds tokenizer.json and the lexicon's pickle.
"""
import argparse
import dataclasses
import json
import multiprocessing
import os
import pathlib
import queue
import time

import numpy as np
import torch
from torch.nn import functional as F

import data
import export
import model
import tokenizer

SHAPE = {"hidden": 512, "ffn": 1408, "layers": 6, "heads": 8}
LONG = 16  # every 16th batch has rows as long as the context
ROOM = 0.62  # at most this share of a batch's tokens carries loss; what is beyond is left out
PARTS = 3  # files of master weights


def options():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--work", required=True)
    p.add_argument("--out", default=".")
    p.add_argument("--start", help="folder with master-*.pt to go on from")
    p.add_argument("--join", help="folder with master-*.pt: make WORK/decayed.pt of them and stop")
    p.add_argument("--name", default="pocket-3")
    p.add_argument("--config", help="JSON file with the shape of the network (model.Config)")
    p.add_argument("--minutes", type=float, default=1, help="from the start of the program to its end")
    p.add_argument("--rows", type=int, default=32)
    p.add_argument("--length", type=int, default=512)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--warmup", type=int, default=200, help="steps")
    p.add_argument("--fall", type=float, default=0.45, help="last share of the time in which the rate falls")
    p.add_argument("--weight-decay", type=float, default=0.1)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--workers", type=int, default=max(1, len(os.sched_getaffinity(0)) - 2))
    p.add_argument("--no-compile", action="store_true")
    p.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    return p.parse_args()


def whole(x):
    """x rounded, with the gradient of x."""
    return x + (x.round() - x).detach()


def linear(x, *weights):
    """The rounded x [N, K] times the rounded transpose of weights stacked by rows."""
    step = (x.abs().amax(-1, keepdim=True).clamp(min=1e-5) / 127).detach()
    codes, scales = [], []
    for w in weights:
        scale = w.abs().mean().clamp(min=1e-5).detach()
        share = w * (1 / scale)
        codes.append(share + (share.round().clamp(-1, 1) - share).detach())
        scales.append(scale.expand(w.shape[0]))
    y = whole(x * (1 / step)).to(torch.bfloat16) @ torch.cat(codes).to(torch.bfloat16).t()
    return y.float() * step * torch.cat(scales)


def norm(x, weight, eps):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * weight


def attend(q, k, v, bias):
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
    return ((q @ k.transpose(2, 3)).float() * q.shape[-1] ** -0.5 + bias).softmax(-1).to(v.dtype) @ v  # PyTorch 1


def block(p, c, x, bias, cos, sin):
    """One layer with parameters p; bias [B, 1, T, T] is added to the scores."""
    batch, length, kv = bias.shape[0], bias.shape[-1], c.kv_heads * c.head_dim
    q, k, v = linear(norm(x, p["input_layernorm"], c.eps), p["q_proj"], p["k_proj"], p["v_proj"]).split(
        [c.hidden, kv, kv], -1)
    heads = lambda y: y.reshape(batch, length, -1, c.head_dim).transpose(1, 2)
    q, k, v = model.rotate(heads(q), cos, sin), model.rotate(heads(k), cos, sin), heads(v)
    k, v = (y.repeat_interleave(c.heads // c.kv_heads, 1) for y in (k, v))
    mixed = attend(*(y.to(torch.bfloat16) for y in (q, k, v)), bias.expand(-1, c.heads, -1, -1))
    mixed = mixed.transpose(1, 2).reshape(-1, c.hidden).float()
    x = x + linear(norm(mixed, p["attn_sub_norm"], c.eps), p["o_proj"])
    gate, up = linear(norm(x, p["post_attention_layernorm"], c.eps), p["gate_proj"], p["up_proj"]).chunk(2, -1)
    gate = gate.clamp(min=0)
    return x + linear(norm(gate * gate * up, p["ffn_sub_norm"], c.eps), p["down_proj"])


def head(x, weight, embed, eps, wanted, target, counts):
    """Mean nats over the wanted positions."""
    x = norm(x.index_select(0, wanted), weight, eps).to(torch.bfloat16)
    loss = F.cross_entropy((x @ embed.to(torch.bfloat16).t()).float(), target, reduction="none")
    return (loss * counts).sum() / counts.sum()


class Network:
    """model.Pocket's parameters with the forward pass of this file."""

    def __init__(self, o, config):
        torch.manual_seed(o.seed)
        self.net = model.Pocket(config).to(o.device)
        self.c, self.tables, self.device = config, {}, o.device
        self.block, self.head = block, head
        if not o.no_compile and o.device == "cuda":
            self.block, self.head = torch.compile(block, dynamic=False), torch.compile(head, dynamic=False)

    def loss(self, tokens, docs, wanted, counts):
        batch, length = tokens.shape[0], tokens.shape[1] - 1
        if length not in self.tables:
            below = torch.ones(length, length, dtype=torch.bool, device=self.device).tril()
            self.tables[length] = (*model.rope_table(self.c, length, self.device), below)
        cos, sin, below = self.tables[length]
        docs = docs[:, :-1]
        bias = torch.zeros(batch, 1, length, length, device=self.device, dtype=torch.bfloat16)
        bias.masked_fill_(~((docs[:, None, :, None] == docs[:, None, None, :]) & below), -1e9)
        x = F.embedding(tokens[:, :-1], self.net.embed_tokens).reshape(-1, self.c.hidden)
        for layer in self.net.layers:
            x = self.block(dict(layer.named_parameters()), self.c, x, bias, cos, sin)
        target = tokens[:, 1:].reshape(-1).index_select(0, wanted)
        return self.head(x, self.net.norm, self.net.embed_tokens, self.c.eps, wanted, target, counts)


def draw(o, context, step):
    """Batch number step: (tokens, documents, wanted positions, which of those count)."""
    rows, length = (o.rows, o.length) if step % LONG != LONG - 1 else (
        max(1, o.rows * o.length // context), context)
    tokens, docs, target = data.batch(*draw.sources, rows, length, o.seed, step)
    wanted = target[:, 1:].reshape(-1).nonzero()[0]
    room = int(rows * length * ROOM)
    places, counts = np.zeros(room, np.int64), np.zeros(room, np.float32)
    n = min(room, len(wanted))
    places[:n], counts[:n] = wanted[:n], 1
    return tokens.astype(np.int16), docs.astype(np.int16), places.astype(np.int32), counts


def draw_all(o, context, rank, out):
    """A process that draws every o.workers-th batch."""
    torch.set_num_threads(1)
    for step in range(rank, 10 ** 9, o.workers):
        out.put(draw(o, context, step))


class Feed:
    """Batches drawn by o.workers processes, in order; waits are counted."""

    def __init__(self, o, context):
        fork = multiprocessing.get_context("fork")
        self.queues = [fork.Queue(24) for _ in range(o.workers)]
        self.waited, self.step, self.device = 0.0, 0, o.device
        self.processes = [fork.Process(target=draw_all, args=(o, context, rank, q), daemon=True)
                          for rank, q in enumerate(self.queues)]
        for process in self.processes:
            process.start()

    def next(self):
        began = time.time()
        while True:
            try:
                batch = self.queues[self.step % len(self.queues)].get(timeout=60)
                break
            except queue.Empty:
                print("no batch for 60 s", flush=True)
        self.waited += time.time() - began
        self.step += 1
        tokens, docs, wanted, counts = (torch.from_numpy(x) for x in batch)
        return (tokens.to(self.device).long(), docs.to(self.device), wanted.to(self.device).long(),
                counts.to(self.device))

    def end(self):
        for process in self.processes:
            process.kill()


def rate(o, step, passed):
    """(rate, weight decay) when a share `passed` of the time is over."""
    warm = min(1.0, (step + 1) / o.warmup)
    if passed < 1 - o.fall:
        return o.lr * warm, o.weight_decay
    return o.lr * warm * 2 / 3 * max(0.0, (1 - passed) / o.fall), 0.0


def write(o, net, tok, facts):
    """The GGUF file and the master weights, each beside itself first."""
    out = pathlib.Path(o.out)
    out.mkdir(parents=True, exist_ok=True)
    state = {n: p.detach().float().cpu() for n, p in net.net.state_dict().items()}
    config = dataclasses.asdict(net.c)
    weights = {n: export.from_bf16(export.to_bf16(p.numpy())) for n, p in state.items()}
    file = out / (o.name + "-i2s.gguf")
    export.write_gguf(str(file) + ".new", config, weights, tok, o.name)
    os.replace(str(file) + ".new", file)
    names = sorted(state, key=lambda n: -state[n].numel())
    for part in range(PARTS):
        path = out / ("master-%d.pt" % part)
        torch.save({"config": config, "net": {n: state[n].bfloat16() for n in names[part::PARTS]}, **facts},
                   str(path) + ".new")
        os.replace(str(path) + ".new", path)


def masters(folder):
    """The parts of a checkpoint as one."""
    parts = [torch.load(p, map_location="cpu") for p in sorted(pathlib.Path(folder).glob("master-*.pt"))]
    return dict(parts[0], net={n: w.float() for part in parts for n, w in part["net"].items()})


def train(o, began):
    config = model.Config(**(json.load(open(o.config, encoding="utf-8")) if o.config else SHAPE))
    tok = tokenizer.load(pathlib.Path(o.work) / "tokenizer.json")
    draw.sources = data.Corpus(o.work), tok
    feed = Feed(o, config.context)  # before CUDA: the processes are forks
    torch.set_num_threads(2)
    net = Network(o, config)
    step = tokens = 0
    if o.start:
        state = masters(o.start)
        net.net.load_state_dict(state["net"])
        step, tokens = state["step"], state["tokens"]
    named = list(net.net.named_parameters())
    matrices = [p for n, p in named if n.endswith("_proj")]
    others = [p for n, p in named if not n.endswith("_proj")]
    adam = torch.optim.AdamW([{"params": matrices}, {"params": others}], lr=o.lr, betas=(0.9, 0.95), eps=1e-8,
                             **({"fused": True} if o.device == "cuda" else {}))
    ends = began + 60 * o.minutes
    first, before = step, tokens
    losses, shown, saved, start = [], time.time(), time.time(), None
    print("%d parameters, %d workers, %s, ready after %.0f s" % (
        sum(p.numel() for _, p in named), o.workers, o.device, time.time() - began), flush=True)
    while True:
        if step == first + LONG:
            start = time.time()  # both shapes are compiled now
            print("compiled after %.0f s" % (start - began), flush=True)
        passed = 0.0 if start is None else (time.time() - start) / (ends - start)
        if passed >= 1 or time.time() >= ends:
            break
        lr, decay = rate(o, step - first, passed)
        adam.param_groups[0].update(lr=lr, weight_decay=decay)
        adam.param_groups[1].update(lr=lr, weight_decay=0.0)
        batch = feed.next()
        loss = net.loss(*batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(matrices + others, 1.0)
        adam.step()
        adam.zero_grad(set_to_none=True)
        step, tokens = step + 1, tokens + batch[0].shape[0] * (batch[0].shape[1] - 1)
        losses.append(loss.detach())
        if step % 100 == 0 or time.time() - shown > 10:
            print("step %d loss %.4f lr %.2e %.1f Mtok %.0f tok/s waited %.1f s %.0f s" % (
                step, torch.stack(losses).mean().item(), lr, tokens / 1e6,
                (tokens - before) / (time.time() - began), feed.waited, time.time() - began), flush=True)
            losses, shown = [], time.time()
        if time.time() - saved > 60:
            write(o, net, tok, {"step": step, "tokens": tokens})
            saved = time.time()
    feed.end()
    write(o, net, tok, {"step": step, "tokens": tokens})
    print("done: %d steps, %.2f Mtok, %.0f s" % (step, tokens / 1e6, time.time() - began), flush=True)


def main():
    began = time.time()
    o = options()
    if o.join:
        torch.save(masters(o.join), pathlib.Path(o.work) / "decayed.pt")
    else:
        train(o, began)


if __name__ == "__main__":
    main()
