# SPDX-License-Identifier: Apache-2.0
"""Writes a trace folder for `bittern trace --compare` (docs/trace.md) from NumPy arrays."""
import json
import pathlib

import numpy as np


def sign_bits(count):
    """splitmix64 of 0, 1, ...: the signs of the sixteen sums."""
    with np.errstate(over="ignore"):
        z = np.arange(count, dtype=np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return z ^ z >> np.uint64(31)


class Dump:
    def __init__(self, program, tokens, layers, precision="float32", kv="f32"):
        self.facts = {"trace": "bittern trace v1", "program": program, "precision": precision, "kv": kv, "isa": "",
                      "layers": layers, "tokens": [int(t) for t in tokens], "steps": []}
        self.values = {}

    def add(self, layer, operation, rows):
        """rows: (positions, values); layer -1 outside the layers."""
        rows = np.asarray(rows, np.float64).reshape(len(self.facts["tokens"]), -1)
        bits = sign_bits(rows.shape[1])
        signs = np.array([np.where(bits >> np.uint64(k) & np.uint64(1), 1.0, -1.0) for k in range(16)])
        for p, row in enumerate(rows):
            self.facts["steps"].append({
                "layer": layer, "operation": operation, "position": p, "count": len(row),
                "norm": float(np.linalg.norm(row)), "mean": float(row.mean()), "min": float(row.min()),
                "max": float(row.max()), "zeros": float((row == 0).mean()), "hash": "",
                "sketch": [float(s) for s in signs @ row]})
        self.values[(operation if layer < 0 else "%02d.%s" % (layer, operation))] = rows.astype("<f4")

    def write(self, folder):
        folder = pathlib.Path(folder)
        (folder / "values").mkdir(parents=True, exist_ok=True)
        for name, rows in self.values.items():
            np.save(folder / "values" / (name + ".npy"), rows)
        (folder / "trace.json").write_text(json.dumps(self.facts))
