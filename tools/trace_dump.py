# SPDX-License-Identifier: Apache-2.0
"""Writes a trace folder for `bittern trace --compare` (docs/trace.md) from NumPy arrays."""
import json
import pathlib

import numpy as np


class Dump:
    def __init__(self, program, tokens, layers, precision="float32", kv="f32"):
        self.index = {"trace": "bittern trace v1", "program": program, "precision": precision, "kv": kv,
                      "layers": layers, "tokens": [int(t) for t in tokens]}
        self.arrays = {}

    def add(self, layer, operation, rows):
        """rows: (positions, values); layer -1 outside the layers."""
        name = operation if layer < 0 else "%02d.%s" % (layer, operation)
        self.arrays[name] = np.asarray(rows, "<f4").reshape(len(self.index["tokens"]), -1)

    def write(self, folder):
        folder = pathlib.Path(folder)
        (folder / "values").mkdir(parents=True, exist_ok=True)
        for name, rows in self.arrays.items():
            np.save(folder / "values" / (name + ".npy"), rows)
        (folder / "trace.json").write_text(json.dumps(self.index))
