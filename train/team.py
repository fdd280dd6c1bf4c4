# SPDX-License-Identifier: Apache-2.0
"""Several processes that train one network on a CPU, each with a share of the rows of a batch.

Threads inside a matrix product wait for each other hundreds of times a step and lose much when
others use the machine too; processes meet three times a step, and sleep while they wait. All
parameters lie in one array that the processes share, and each updates its part of it.
"""
import multiprocessing
import os

import torch

import fast

PATIENCE_S = 24 * 3600  # a worker whose partner is gone for so long gives up
BETAS, EPS = (0.9, 0.95), 1e-8


class Team:
    """Parameters, gradients and AdamW's moments; matrices, which are decayed, come first."""

    def __init__(self, net, workers, device="cpu"):
        named = sorted(net.named_parameters(), key=lambda x: not x[0].endswith("_proj"))
        self.decayed = sum(p.numel() for n, p in named if n.endswith("_proj"))
        self.parameters = [p for _, p in named]
        self.size = size = sum(p.numel() for p in self.parameters)
        fork = multiprocessing.get_context("fork")
        self.workers, self.rank, self.barrier = workers, 0, fork.Barrier(workers)
        make = lambda *shape: (torch.zeros(*shape).share_memory_() if device == "cpu"
                               else torch.zeros(*shape, device=device))
        self.weights, self.first, self.second = make(size), make(size), make(size)
        self.grads = make(workers, size)
        self.facts = torch.zeros(workers, 3, dtype=torch.float64).share_memory_()
        at = 0
        for p in self.parameters:
            view = self.weights[at:at + p.numel()].view_as(p)
            view.copy_(p.data)
            p.data, at = view, at + p.numel()

    def start(self):
        """Forks; each process returns with its rank."""
        for rank in range(1, self.workers):
            if os.fork() == 0:
                self.rank = rank
                return

    def meet(self):
        if self.workers > 1:
            self.barrier.wait(PATIENCE_S)

    def step(self, number, loss, stop, rate, decay):
        """One step of AdamW by the mean gradient, clipped at norm 1; number counts from 1.

        Returns (mean loss, whether any process was asked to stop).
        """
        torch.cat([p.grad.reshape(-1) for p in self.parameters], out=self.grads[self.rank])
        self.facts[self.rank, 0], self.facts[self.rank, 1] = loss, float(stop)
        self.meet()
        share = -(-self.size // self.workers)
        begin, end = self.rank * share, min(self.size, (self.rank + 1) * share)
        grad = self.grads[0, begin:end]
        for other in range(1, self.workers):
            grad.add_(self.grads[other, begin:end])
        grad.div_(self.workers)
        self.facts[self.rank, 2] = grad.dot(grad).item()
        self.meet()
        loss, stop = self.facts[:, 0].mean().item(), bool(self.facts[:, 1].any())
        clip = min(1.0, 1.0 / (self.facts[:, 2].sum().item() ** 0.5 + 1e-6))
        for low, high, d in ((begin, min(end, self.decayed), decay),
                             (max(begin, self.decayed), end, 0.0)):
            if low < high:
                adamw(self.weights[low:high], grad[low - begin:high - begin], self.first[low:high],
                      self.second[low:high], clip, rate, d, number)
        self.meet()
        return loss, stop


def adamw(w, grad, first, second, clip, rate, decay, number):
    """AdamW on flat arrays, in place."""
    corrections = 1 - BETAS[0] ** number, 1 - BETAS[1] ** number
    if fast.C and not w.is_cuda:
        fast.adamw(w, grad, first, second, clip, rate, decay, BETAS, corrections, EPS)
        return
    grad = grad * clip
    first.mul_(BETAS[0]).add_(grad, alpha=1 - BETAS[0])
    second.mul_(BETAS[1]).addcmul_(grad, grad, value=1 - BETAS[1])
    below = (second / corrections[1]).sqrt_().add_(EPS)
    w.mul_(1 - rate * decay).addcdiv_(first, below, value=-rate / corrections[0])
