#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What it costs to round the inputs of ternary matrices, in networks that were trained without: KL and agreement of the most
likely token with the same network in float64, on chapters that training did not see.

    train/activations.py FOLDER...        folders of train/shapes.py
"""
import argparse
import json
import pathlib

import numpy as np
import torch
from safetensors.torch import load_file

import shapes
import small
import tokenizer

CHAPTERS, LENGTH = 12, 448


def rounded(x, group, most):
    """group 0: the whole row."""
    parts = x.reshape(-1, group or x.shape[-1])
    scale = most / parts.abs().amax(-1, keepdim=True).clamp(min=1e-5)
    return ((parts * scale).round() / scale).reshape(x.shape)


WAYS = {"int8 a token": (0, 127), "int8 in groups of 256": (256, 127), "int8 in groups of 128": (128, 127),
        "int8 in groups of 64": (64, 127), "int8 in groups of 32": (32, 127), "9 bits in groups of 64": (64, 255), "10 bits in groups of 64": (64, 511),
        "11 bits in groups of 64": (64, 1023), "12 bits in groups of 64": (64, 2047), "int16 a token": (0, 32767),
        "int16 in groups of 64": (64, 32767)}


def network(folder):
    """The network of a folder in float64, and its matrices."""
    shape = json.loads((folder / "says.json").read_text())["shape"]
    net = shapes.SHAPES[shape][0]()
    state = load_file(folder / "model.safetensors")
    names = net.tensors()
    with torch.no_grad():
        for name, parameter in names.items():
            parameter.copy_(state[name if name in state else "model.embed_tokens.weight"].float())
    net.double().eval()
    return net, [m for name, m in net.named_modules() if isinstance(m, torch.nn.Linear) and shapes.is_matrix(name)]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folders", nargs="+", type=pathlib.Path)
    texts = sorted(small.bible(held_out=True))[:CHAPTERS]
    for folder in p.parse_args().folders:
        tok, (net, matrices) = tokenizer.load(folder / "tokenizer.json"), network(folder)
        rows = [torch.tensor([([tok.bos] + tok.encode(text))[:LENGTH]]) for text in texts]
        way = [None]
        for matrix in matrices:
            matrix.register_forward_pre_hook(lambda _, x: (rounded(x[0], *way[0]),) if way[0] else None)
        with torch.no_grad():
            want = [net.logits(row)[0].log_softmax(-1) for row in rows]
            nats = np.concatenate([-w[:-1].gather(1, r[0, 1:, None])[:, 0].numpy() for w, r in zip(want, rows)])
            print("%s: %d positions, %.3f nats" % (folder.name, sum(map(len, want)), nats.mean()))
            for name, way[0] in WAYS.items():
                kl, same = [], []
                for row, w in zip(rows, want):
                    got = net.logits(row)[0].log_softmax(-1)
                    kl.append((w.exp() * (w - got)).sum(-1))
                    same.append(w.argmax(-1) == got.argmax(-1))
                kl, same = torch.cat(kl), torch.cat(same).double()
                print("  %-22s KL %.2e (largest %.2e), most likely token the same %.2f %%"
                      % (name, kl.mean(), kl.max(), 100 * same.mean()), flush=True)


if __name__ == "__main__":
    main()
