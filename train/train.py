#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains Pocket. Stops cleanly on SIGTERM or SIGINT and goes on where it stopped when run again.

    train/train.py --work models/local/pocket                 # at a constant rate, until stopped
    train/train.py --work models/local/pocket --decay 1000    # a finished model: decayed.pt

Two stages, after the b1.58 recipes: warm-up and a constant rate with weight decay for as long as
there is time (checkpoint.pt), and from any point of it 1,000 steps or so in which the rate falls to
zero, without weight decay. The second stage has a checkpoint of its own, so the first one can go on
another day. While the file named by --pause-file is there, training waits.
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
import fast  # noqa: E402
import model  # noqa: E402
import talk  # noqa: E402
import team  # noqa: E402
import tokenizer  # noqa: E402

LONG = 32  # every 32nd batch has rows as long as the context


def options():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--work", default="models/local/pocket", help="folder of all that is made")
    p.add_argument("--config", help="JSON file with the shape of the network (model.Config)")
    p.add_argument("--steps", type=int, default=10 ** 6, help="of the first stage")
    p.add_argument("--decay", type=int, default=0, help="second stage of so many steps")
    p.add_argument("--rows", type=int, default=2, help="rows of a batch")
    p.add_argument("--length", type=int, default=512, help="tokens of a row")
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--warmup", type=int, default=100)
    p.add_argument("--weight-decay", type=float, default=0.1)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--workers", type=int, help="processes (default: one per CPU; 1 on a GPU)")
    p.add_argument("--save-minutes", type=float, default=5)
    p.add_argument("--pause-file", default="", help="training waits while this file is there")
    p.add_argument("--share", action="append", default=[], metavar="KIND=X",
                   help="share of a kind of question in place of talk.WEIGHTS")
    p.add_argument("--no-fast", action="store_true", help="plain PyTorch without fast.c")
    p.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    o = p.parse_args()
    if o.workers is None:
        o.workers = min(len(os.sched_getaffinity(0)), o.rows) if o.device == "cpu" else 1
    return o


def rate(o, step, second):
    """(learning rate, weight decay) of a step; second: step at which the second stage began."""
    if second is not None:
        return o.lr * 2 / 3 * (1 - (step - second) / o.decay), 0.0
    return o.lr * min(1.0, (step + 1) / o.warmup), o.weight_decay


def prepare(o):
    """Corpus, tokenizer and network; the tokenizer is trained once and kept."""
    work = pathlib.Path(o.work)
    work.mkdir(parents=True, exist_ok=True)
    shape = json.load(open(o.config, encoding="utf-8")) if o.config else {}
    config = model.Config(**shape)
    for kind, share in (x.split("=") for x in o.share):
        talk.WEIGHTS[kind] = float(share)
    corpus = data.Corpus(work)
    path = work / "tokenizer.json"
    if not path.exists():
        print("training the tokenizer (a minute or two)", flush=True)
        tokenizer.train(corpus.tokenizer_texts(), config.vocab).save(path)
    tok = tokenizer.load(path)
    torch.manual_seed(o.seed)
    return corpus, tok, model.Pocket(config).to(o.device)


class Run:
    """The state that checkpoints hold."""

    def __init__(self, o, net, crew):
        self.o, self.net, self.crew = o, net, crew
        self.step, self.tokens, self.second = 0, 0, None
        self.restore()

    def path(self):
        return pathlib.Path(self.o.work) / ("decayed.pt" if self.o.decay else "checkpoint.pt")

    def save(self):
        """Writes the checkpoint beside itself first, so that it is whole whenever the power goes."""
        path = self.path()
        torch.save({"config": dataclasses.asdict(self.net.c), "net": self.net.state_dict(),
                    "moments": (self.crew.first, self.crew.second), "step": self.step,
                    "tokens": self.tokens, "second": self.second, "options": vars(self.o)},
                   str(path) + ".new")
        os.replace(str(path) + ".new", path)

    def restore(self):
        """Goes on from the checkpoint; a second stage begins from that of the first."""
        path = self.path()
        if self.o.decay and not path.exists():
            path = path.with_name("checkpoint.pt")
        if path.exists():
            state = torch.load(path, map_location=self.o.device)
            with torch.no_grad():
                for name, p in self.net.named_parameters():
                    p.copy_(state["net"][name])
            for mine, saved in zip((self.crew.first, self.crew.second), state["moments"]):
                mine.copy_(saved)
            self.step, self.tokens, self.second = state["step"], state["tokens"], state["second"]
        if self.o.decay and self.second is None:
            self.second = self.step

    def last(self):
        return self.second + self.o.decay if self.o.decay else self.o.steps

    def train(self, corpus, tok, stop):
        """One step; returns (loss, tokens, whether to stop)."""
        o, crew = self.o, self.crew
        rows, length = (o.rows, o.length) if self.step % LONG != LONG - 1 else (
            o.workers, max(self.net.c.context, o.length))
        batch = data.batch(corpus, tok, rows, length, o.seed, self.step)
        batch = [torch.from_numpy(b[crew.rank::o.workers].copy()).to(o.device) for b in batch]
        loss = self.net.loss(*batch)
        self.net.zero_grad(set_to_none=True)
        loss.backward()
        loss, stop = crew.step(self.step + 1, loss.item(), stop, *rate(o, self.step, self.second))
        self.step, self.tokens = self.step + 1, self.tokens + rows * length
        return loss, rows * length, stop


class Progress:
    """One line every 20 steps: loss, rate, tokens, speed by the clock and by time on a CPU."""

    def __init__(self, run):
        self.run, self.began, self.losses, self.done = run, time.time(), [], 0
        self.shown, self.cpu = time.time(), time.process_time()

    def add(self, loss, tokens):
        run = self.run
        self.losses.append(loss)
        self.done += tokens
        if len(self.losses) < 20 and run.step < run.last():
            return
        now, cpu = time.time(), time.process_time()
        print("step %d loss %.4f lr %.2e %.0f tok/s (%.0f a CPU second) %.2f Mtok %.0f min" % (
            run.step, sum(self.losses) / len(self.losses), rate(run.o, run.step - 1, run.second)[0],
            self.done / (now - self.shown), self.done / run.o.workers / (cpu - self.cpu),
            run.tokens / 1e6, (now - self.began) / 60), flush=True)
        self.shown, self.cpu, self.done, self.losses = now, cpu, 0, []


def main():
    o = options()
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    corpus, tok, net = prepare(o)
    if o.device == "cpu" and not o.no_fast:
        fast.load(o.work)
    crew = team.Team(net, o.workers, o.device)
    run = Run(o, net, crew)
    asked_to_stop = []
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: asked_to_stop.append(1))
    crew.start()
    chief = crew.rank == 0
    if chief:
        print("%d parameters, from step %d of %d, on %s, %d workers, %s" % (
            crew.size, run.step, run.last(), o.device, o.workers,
            "fast.c" if fast.C else "plain PyTorch"), flush=True)
    progress, saved, stop = Progress(run), time.time(), False
    while run.step < run.last() and not stop:
        while chief and o.pause_file and os.path.exists(o.pause_file) and not asked_to_stop:
            time.sleep(1)
        loss, n, stop = run.train(corpus, tok, bool(asked_to_stop))
        if not chief:
            continue
        progress.add(loss, n)
        if time.time() - saved > o.save_minutes * 60:
            run.save()
            saved = time.time()
    if chief:
        run.save()
        print("stopped at step %d, checkpoint saved" % run.step, flush=True)


if __name__ == "__main__":
    sys.exit(main())
