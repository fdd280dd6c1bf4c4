# SPDX-License-Identifier: Apache-2.0
"""Several processes that train one network on a CPU, each with a share of the rows of a batch.

Threads inside a matrix product wait for each other hundreds of times a step and lose much when
others use the machine too; processes meet once a step, and sleep while they wait.
"""
import multiprocessing
import os

import torch

PATIENCE_S = 3600  # a worker whose partner is gone for so long gives up


class Team:
    """What the workers share. All make the same optimizer step from the same mean gradient."""

    def __init__(self, workers, parameters):
        fork = multiprocessing.get_context("fork")
        size = sum(p.numel() for p in parameters)
        self.workers, self.rank = workers, 0
        self.grads = torch.zeros(workers, size).share_memory_()
        self.facts = torch.zeros(workers, 2, dtype=torch.float64).share_memory_()
        self.barrier = fork.Barrier(workers)

    def start(self):
        """Forks; each process returns with its rank."""
        for rank in range(1, self.workers):
            if os.fork() == 0:
                self.rank = rank
                return

    def share(self, parameters, loss, stop):
        """Replaces gradients by their mean; returns (mean loss, whether anyone wants to stop)."""
        if self.workers == 1:
            return loss, stop
        torch.cat([p.grad.reshape(-1) for p in parameters], out=self.grads[self.rank])
        self.facts[self.rank, 0], self.facts[self.rank, 1] = loss, float(stop)
        self.barrier.wait(PATIENCE_S)
        mean = self.grads.mean(0)
        loss, stop = self.facts[:, 0].mean().item(), bool(self.facts[:, 1].any())
        self.barrier.wait(PATIENCE_S)  # all have read; the next step may write
        parts = mean.split([p.numel() for p in parameters])
        for p, part in zip(parameters, parts):
            p.grad.copy_(part.view_as(p))
        return loss, stop
