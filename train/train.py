#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains Pocket. Stops cleanly on SIGTERM or SIGINT and goes on where it stopped when run again.

    train/train.py --work models/local/pocket --steps 3000

Schedule, after the b1.58 recipes: a short warm-up, a first stage at a high constant rate with
weight decay, a second one at a lower rate falling to zero without. Until the second stage begins
nothing depends on --steps, so it may be changed at a restart.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import signal
import sys
import time

# Both are read when the library is loaded. OpenBLAS 0.3.21 does not know newer processors.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
if "avx512f" in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"):
    os.environ.setdefault("OPENBLAS_CORETYPE", "SKYLAKEX")
import torch  # noqa: E402

import data  # noqa: E402
import model  # noqa: E402
import team  # noqa: E402
import tokenizer  # noqa: E402


def options():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--work", default="models/local/pocket", help="folder of all that is made")
    p.add_argument("--config", help="JSON file with the shape of the network (model.Config)")
    p.add_argument("--steps", type=int, default=3000)
    p.add_argument("--rows", type=int, default=8, help="rows of a batch")
    p.add_argument("--length", type=int, default=256, help="tokens of a row")
    p.add_argument("--lr", type=float, default=2.5e-3)
    p.add_argument("--warmup", type=int, default=60)
    p.add_argument("--second-stage", type=float, default=0.6, help="where it starts, of all steps")
    p.add_argument("--weight-decay", type=float, default=0.1)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--workers", type=int, help="processes (default: one per CPU; 1 on a GPU)")
    p.add_argument("--save-minutes", type=float, default=3)
    p.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    o = p.parse_args()
    if o.workers is None:
        o.workers = min(len(os.sched_getaffinity(0)), o.rows) if o.device == "cpu" else 1
    return o


def rate(o, step):
    """(learning rate, weight decay) of a step."""
    second = int(o.steps * o.second_stage)
    if step < o.warmup:
        return o.lr * (step + 1) / o.warmup, o.weight_decay
    if step < second:
        return o.lr, o.weight_decay
    return o.lr * 2 / 3 * (o.steps - step) / (o.steps - second), 0.0


def prepare(o):
    """Corpus, tokenizer and network; the tokenizer is trained once and kept."""
    work = pathlib.Path(o.work)
    work.mkdir(parents=True, exist_ok=True)
    shape = json.load(open(o.config, encoding="utf-8")) if o.config else {}
    config = model.Config(**shape)
    corpus = data.Corpus(work)
    path = work / "tokenizer.json"
    if not path.exists():
        print("training the tokenizer (a minute or two)", flush=True)
        tokenizer.train(corpus.tokenizer_texts(), config.vocab).save(path)
    tok = tokenizer.load(path)
    torch.manual_seed(o.seed)
    return corpus, tok, model.Pocket(config).to(o.device)


def make_optimizer(o, net):
    """AdamW; norms and the embedding are not decayed."""
    matrices = [p for n, p in net.named_parameters() if n.endswith("_proj")]
    others = [p for n, p in net.named_parameters() if not n.endswith("_proj")]
    return torch.optim.AdamW([{"params": matrices}, {"params": others, "fixed": True}],
                             lr=o.lr, betas=(0.9, 0.95))


def save(o, net, optimizer, step, tokens, name="checkpoint.pt"):
    """Writes the checkpoint beside itself first, so that it is whole whenever the power goes."""
    path = pathlib.Path(o.work) / name
    torch.save({"config": dataclasses.asdict(net.c), "net": net.state_dict(),
                "optimizer": optimizer.state_dict(), "step": step, "tokens": tokens,
                "options": vars(o)}, str(path) + ".new")
    os.replace(str(path) + ".new", path)


def restore(o, net, optimizer):
    """(step, tokens) to go on from."""
    path = pathlib.Path(o.work) / "checkpoint.pt"
    if not path.exists():
        return 0, 0
    state = torch.load(path, map_location=o.device)
    net.load_state_dict(state["net"])
    optimizer.load_state_dict(state["optimizer"])
    return state["step"], state["tokens"]


def one_step(o, net, optimizer, corpus, tok, step, crew, stop):
    """Trains on batch `step`; returns (loss, tokens, whether to stop)."""
    # Every 32nd batch has rows as long as the context.
    rows, length = (o.workers, net.c.context) if step % 32 == 31 else (o.rows, o.length)
    batch = data.batch(corpus, tok, rows, length, o.seed, step)
    batch = [torch.from_numpy(b[crew.rank::o.workers]).to(o.device) for b in batch]
    for group in optimizer.param_groups:
        group["lr"], decay = rate(o, step)
        group["weight_decay"] = 0.0 if group.get("fixed") else decay
    loss = net.loss(*batch)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    loss, stop = crew.share(list(net.parameters()), loss.item(), stop)
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    return loss, rows * length, stop


class Progress:
    """One line every 20 steps: loss, rate, tokens, time left."""

    def __init__(self, o):
        self.o, self.began, self.shown, self.done, self.losses = o, time.time(), time.time(), 0, []

    def add(self, step, loss, tokens, total):
        self.losses.append(loss)
        self.done += tokens
        if len(self.losses) < 20 and step < self.o.steps:
            return
        now = time.time()
        speed = self.done / (now - self.shown)
        left = (self.o.steps - step) * self.o.rows * self.o.length / speed / 60
        print("step %d loss %.4f lr %.2e %.0f tok/s %.2f Mtok %.0f min, %.0f min left" % (
            step, sum(self.losses) / len(self.losses), rate(self.o, step - 1)[0], speed,
            total / 1e6, (now - self.began) / 60, left), flush=True)
        self.shown, self.done, self.losses = now, 0, []


def main():
    o = options()
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    corpus, tok, net = prepare(o)
    crew = team.Team(o.workers, list(net.parameters()))
    asked_to_stop = []
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: asked_to_stop.append(1))
    crew.start()
    optimizer = make_optimizer(o, net)
    step, tokens = restore(o, net, optimizer)
    chief = crew.rank == 0
    if chief:
        print("%d parameters, from step %d of %d, on %s, %d workers" % (
            sum(p.numel() for p in net.parameters()), step, o.steps, o.device, o.workers),
            flush=True)
    progress, saved, stop = Progress(o), time.time(), False
    while step < o.steps and not stop:
        loss, n, stop = one_step(o, net, optimizer, corpus, tok, step, crew, bool(asked_to_stop))
        step, tokens = step + 1, tokens + n
        if not chief:
            continue
        progress.add(step, loss, n, tokens)
        if step == int(o.steps * o.second_stage):  # what a longer run would go on from
            save(o, net, optimizer, step, tokens, "first-stage.pt")
        if time.time() - saved > o.save_minutes * 60:
            save(o, net, optimizer, step, tokens)
            saved = time.time()
    if chief:
        save(o, net, optimizer, step, tokens)
        print("stopped at step %d, checkpoint saved" % step, flush=True)


if __name__ == "__main__":
    sys.exit(main())
