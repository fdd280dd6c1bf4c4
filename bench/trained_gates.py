#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes random weights skip like trained ones. Of a random I2_S model half of the gates are above
zero, of the trained 2B-4T about a quarter; this writes a copy of MODEL whose share is --alive in
every layer, for measurements of speed (the text stays nonsense).

One channel becomes the same for every token: a column of the embedding that no layer adds to. Every
gate takes it away, and the layer's norm says how much of it there is; that weight is found by
running `bittern logits --zeros` a few times.

Usage: trained_gates.py BITTERN MODEL.gguf OUT.gguf [--alive 0.24]
MODEL: type I2_S in the order of the official file, embeddings F16, squared ReLU.
"""
import argparse
import json
import mmap
import os
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile

TEXT = "The quick brown fox jumps over the lazy dog and then what happened was that"
ROUNDS = 5


def output_of(command):
    done = subprocess.run(command, check=False, capture_output=True)
    if done.returncode != 0:
        sys.exit(done.stderr.decode(errors="replace").strip() or f"{command[0]}: exit {done.returncode}")
    return done.stdout


def tensors_of(bittern, path):
    tensors = {t["name"]: t for t in json.loads(output_of([bittern, "inspect", "--json", path]))["tensors"]}
    found = [
        tensors.get(name, {}).get("format", "nothing")
        for name in ("token_embd.weight", "blk.0.ffn_gate.weight")
    ]
    if found != ["F16", "I2_S"]:
        sys.exit(f"{path}: F16 embeddings and I2_S gates expected, found {' and '.join(found)}")
    return tensors


def plant_channel(data, tensors, num_layers):
    """Column 0: twice the embedding's deviation for every token, -1 in every gate, and in the
    matrices whose output is added to it a row of zeros."""
    embedding = tensors["token_embd.weight"]
    cols, rows = embedding["shape"]
    start = embedding["offset"]
    sample = struct.unpack_from(f"<{64 * cols}e", data, start)
    constant = struct.pack("<e", 2 * statistics.pstdev(sample))
    for row in range(rows):
        at = start + row * cols * 2
        data[at : at + 2] = constant
    for layer in range(num_layers):
        gate = tensors[f"blk.{layer}.ffn_gate.weight"]
        for row in range(gate["shape"][1]):
            data[gate["offset"] + row * cols // 4] &= 0x3F  # bits 7-6: code 0, weight -1
        for name in ("attn_output", "ffn_down"):
            adds = tensors[f"blk.{layer}.{name}.weight"]
            row_bytes = adds["shape"][0] // 4
            data[adds["offset"] : adds["offset"] + row_bytes] = b"\x55" * row_bytes


def shares(bittern, path):
    """Of every layer: gates above zero, and inputs of down_proj that are not zero."""
    with tempfile.TemporaryDirectory() as folder:
        zeros = os.path.join(folder, "zeros.json")
        command = [bittern, "logits", "-m", path, "-p", TEXT, "-o", os.path.join(folder, "logits")]
        output_of(command + ["--zeros", zeros])
        with open(zeros, encoding="utf-8") as file:
            layers = json.load(file)["layers"]
    return [
        (1 - x["zero_gates"] / x["gates"], 1 - x["zero_down_proj_inputs"] / x["down_proj_inputs"])
        for x in layers
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("bittern")
    parser.add_argument("model")
    parser.add_argument("out")
    parser.add_argument("--alive", type=float, default=0.24)
    options = parser.parse_args()
    if not 0 < options.alive < 0.5:
        parser.error(f"--alive: between 0 and 0.5 expected, found {options.alive}")
    if os.path.exists(options.out) and os.path.samefile(options.model, options.out):
        parser.error("OUT.gguf must be another file than MODEL.gguf")
    tensors = tensors_of(options.bittern, options.model)
    num_layers = sum(name.endswith("ffn_gate.weight") for name in tensors)
    shutil.copyfile(options.model, options.out)
    with open(options.out, "r+b") as file, mmap.mmap(file.fileno(), 0) as data:
        plant_channel(data, tensors, num_layers)
        weights = [1000.0] * num_layers
        target = -statistics.NormalDist().inv_cdf(options.alive)
        for attempt in range(ROUNDS):
            for layer, weight in enumerate(weights):
                struct.pack_into("<f", data, tensors[f"blk.{layer}.ffn_norm.weight"]["offset"], weight)
            data.flush()
            found = shares(options.bittern, options.out)
            gates, inputs = (statistics.mean(x) for x in zip(*found))
            print(f"round {attempt + 1} of {ROUNDS}: {gates:.1%} of the gates are above zero, "
                  f"{inputs:.1%} of down_proj's inputs are not zero", flush=True)
            for layer, (alive, _) in enumerate(found):
                distance = -statistics.NormalDist().inv_cdf(min(max(alive, 1e-4), 0.48))
                weights[layer] *= target / distance


if __name__ == "__main__":
    main()
