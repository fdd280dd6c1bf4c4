#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares fast.c with plain PyTorch: loss and every gradient of a small network.

    train/fast_test.py

The gradient of a layer's input is rounded to int8 in fast.c, so gradients agree in direction
(cosine) and not to the last bit.
"""
import os
import sys
import tempfile

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import torch  # noqa: E402

import fast  # noqa: E402
import model  # noqa: E402


def gradients(net, batch):
    net.zero_grad(set_to_none=True)
    loss = net.loss(*batch)
    loss.backward()
    return loss.item(), {n: p.grad.clone() for n, p in net.named_parameters()}


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    shape = {"vocab": 300, "hidden": 128, "ffn": 256, "layers": 3, "heads": 4, "kv_heads": 2}
    net = model.Pocket(model.Config(**shape))
    tokens = torch.randint(300, (3, 151))
    docs = torch.zeros_like(tokens)
    docs[0, 37:] = 1
    docs[1, 5:] += 1
    docs[1, 140:] += 1
    batch = tokens, docs, (torch.rand(tokens.shape) < 0.5).long()
    plain, wanted = gradients(net, batch)
    with tempfile.TemporaryDirectory() as folder:
        if not fast.load(folder):
            print("fast.c is not used here: no AVX-512 VNNI, or no gcc or OpenBLAS")
            return 0
        loss, found = gradients(net, batch)
    cosines = {n: torch.cosine_similarity(found[n].reshape(-1), g.reshape(-1), 0).item()
               for n, g in wanted.items()}
    sizes = {n: (found[n].norm() / g.norm()).item() for n, g in wanted.items()}
    worst = min(cosines, key=cosines.get)
    print("loss %.6f and %.6f; least cosine of gradients %.5f (%s); sizes %.4f to %.4f" % (
        plain, loss, cosines[worst], worst, min(sizes.values()), max(sizes.values())))
    right = abs(loss - plain) < 2e-4 and cosines[worst] > 0.998 and all(
        0.98 < s < 1.02 for s in sizes.values())
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
