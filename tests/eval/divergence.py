#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""divergence.py SAVED SUMMARY BITTERN CACHE: the Kullback-Leibler divergence that `bittern eval --kl-divergence`
printed, computed again from the saved file and `bittern logits --all` with that cache. The model is $BITTERN_MODEL."""
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

saved, summary, bittern, cache = sys.argv[1:]
found = json.load(open(summary))["kl"]
raw = open(saved, "rb").read()
window, vocab, windows = struct.unpack_from("<3i", raw, 8)
tokens = struct.unpack_from(f"<{window * windows}i", raw, 20)
rows, words = window - 1 - window // 2, 2 * ((vocab + 1) // 2) + 4
start = 20 + 4 * len(tokens)
model = os.environ["BITTERN_MODEL"]
bos = int(subprocess.run([bittern, "meta", "get", model, "tokenizer.ggml.bos_token_id"], capture_output=True,
                         text=True, check=True).stdout)


def log_probabilities(logits):
    most = max(logits)
    total = math.log(sum(math.exp(x - most) for x in logits)) + most
    return [x - total for x in logits]


total = same = 0
with tempfile.NamedTemporaryFile() as out:
    for i in range(windows):
        ids = [bos, *tokens[i * window + 1:(i + 1) * window - 1]]
        subprocess.run([bittern, "logits", "--all", "--force", "-o", out.name, "-m", model, "--prompt-ids", ",".join(map(str, ids)),
                        "-ctk", cache, "-ctv", cache], check=True, capture_output=True)
        logits = open(out.name, "rb").read()
        for r in range(rows):
            row = struct.unpack_from(f"<{vocab}f", logits, 4 * vocab * (window // 2 + r))
            at = start + 2 * words * (i * rows + r)
            scale, least = struct.unpack_from("<2f", raw, at)
            base = [least + scale * w for w in struct.unpack_from(f"<{vocab}H", raw, at + 8)]
            own = log_probabilities(row)
            total += sum(math.exp(a) * (a - b) for a, b in zip(base, own) if a > -16)
            same += base.index(max(base)) == row.index(max(row))
count = windows * rows
assert abs(total / count - found["mean"]) < 1e-6 + 1e-4 * found["mean"], (total / count, found)
assert abs(same / count - found["same_top"]) < 0.005, (same / count, found)
