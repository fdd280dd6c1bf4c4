#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces the NumPy reference of train/ (float64, nothing shared with the engine) for `bittern trace --compare`.

    tools/trace_numpy.py models/kjv-5m-i2s.gguf 4000,73,271 DIR [--fault LAYER,OPERATION]

--fault multiplies the result of one operation by 1.5, to see that the comparison finds it.
"""
import argparse
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "train"))
from reference import Reference  # noqa: E402

from trace_dump import Dump  # noqa: E402

NORMS = {"attn_norm": "qkv_input", "attn_sub_norm": "o_input", "ffn_norm": "gate_up_input",
         "ffn_sub_norm": "down_input"}


class Traced(Reference):
    def run(self, ids, dump, fault):
        def keep(layer, operation, rows):
            if fault == (layer, operation):
                rows = rows * 1.5
            dump.add(layer, operation, rows)
            return rows

        def norm_input(x, layer, name):
            normed = keep(layer, name, self.norm(x, "blk.%d.%s" % (layer, name)))
            q, scale = self.quantised(normed)
            return keep(layer, NORMS[name], q / scale) * scale, scale

        n, x = len(ids), keep(-1, "embedding", self.weights["token_embd.weight"][ids])
        for i in range(self.layers):
            name = "blk.%d." % i
            h = norm_input(x, i, "attn_norm")
            parts = [self.linear(h, name + "attn_" + p) for p in "qkv"]
            qkv = keep(i, "qkv_proj", np.concatenate(parts, -1))
            cuts = np.cumsum([p.shape[1] for p in parts])[:2]
            q, k, v = (p.reshape(n, -1, self.dim) for p in np.split(qkv, cuts, -1))
            q, k = self.rope(q, 0).reshape(n, -1), self.rope(k, 0).reshape(n, -1)
            q, k = np.split(keep(i, "rope", np.concatenate([q, k], -1)), [q.shape[1]], -1)
            a = keep(i, "attention", self.attention(i, q.reshape(n, -1, self.dim), k.reshape(n, -1, self.dim), v))
            o = keep(i, "o_proj", self.linear(norm_input(a, i, "attn_sub_norm"), name + "attn_output"))
            x = keep(i, "attn_residual", x + o)
            h = norm_input(x, i, "ffn_norm")
            gate = keep(i, "gate", self.linear(h, name + "ffn_gate"))
            act = keep(i, "act", np.maximum(gate, 0) ** 2 * self.linear(h, name + "ffn_up"))
            down = keep(i, "down_proj", self.linear(norm_input(act, i, "ffn_sub_norm"), name + "ffn_down"))
            x = keep(i, "ffn_residual", x + down)
        normed = keep(-1, "final_norm", self.norm(x, "output_norm"))
        keep(-1, "head", normed @ self.weights["token_embd.weight"].T)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("ids", type=lambda text: [int(t) for t in text.split(",")])
    parser.add_argument("folder")
    parser.add_argument("--fault", type=lambda text: (int(text.split(",")[0]), text.split(",")[1]))
    options = parser.parse_args()
    model = Traced(options.model)
    dump = Dump("numpy", options.ids, model.layers)
    model.run(options.ids, dump, options.fault)
    dump.write(options.folder)


if __name__ == "__main__":
    main()
