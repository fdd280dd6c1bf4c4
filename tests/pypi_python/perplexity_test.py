# SPDX-License-Identifier: Apache-2.0
"""Model.score_text beside llama.cpp's llama-perplexity: the same tokens in the same windows, on two small ternary
models, each as plain float32 and as Q2_0. llama.cpp rounds the inputs of the latter to int8 in blocks of 32, and not
at all for the former; Bittern rounds rows, as the models were trained. So the numbers are near, not equal.

usage: perplexity_test.py BITTERN LLAMA_PERPLEXITY
"""
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import bittern

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = ROOT / "tests" / "eval" / "kjv.txt"
WINDOW = 128
MOST = 0.002  # difference, as a share of the perplexity


def theirs_of(program, model, logits):
    """The final estimate, and the tokens that were read. The program may end before its thread has written the last lines."""
    estimate = None
    for _ in range(4):
        run = subprocess.run([program, "-m", model, "-f", TEXT, "-c", str(WINDOW), "-t", "2", "--kl-divergence-base",
                              logits], capture_output=True, text=True, check=True)
        estimate = re.search(r"Final estimate: PPL = ([\d.]+)", run.stdout + run.stderr)
        if estimate:
            break
    assert estimate, run.stdout + run.stderr
    data = pathlib.Path(logits).read_bytes()
    assert data[:8] == b"_logits_", data[:8]
    window, _, windows = struct.unpack_from("<3i", data, 8)
    assert window == WINDOW, window
    return float(estimate.group(1)), list(struct.unpack_from(f"<{window * windows}i", data, 20))


def compare(program, peer, kind, form, folder):
    """Whether the two are as near as they have to be; says how near."""
    model, logits = str(folder / f"{kind}-{form}.gguf"), str(folder / "logits")
    subprocess.run([program, "convert", ROOT / f"tests/doctor/{kind}-i2s.gguf", model, "--to", form, "-f"],
                   capture_output=True, check=True)
    theirs, tokens = theirs_of(peer, model, logits)
    with bittern.Model(model) as loaded:
        text = TEXT.read_bytes().removesuffix(b"\n")
        ours = loaded.score_text(text, window=WINDOW)
        mine = loaded.tokenize(text)[:len(tokens)]
    assert mine == tokens, "other tokens"
    assert ours["windows"] * WINDOW == len(tokens), "other windows"
    away = ours["perplexity"] / theirs - 1
    print(f"{kind}, {form}: llama.cpp {theirs:.4f}, Bittern {ours['perplexity']:.4f} ({100 * away:+.3f} %), "
          f"{ours['windows']} windows")
    return abs(away) <= MOST


def main():
    program, peer = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        near = [compare(program, peer, kind, form, pathlib.Path(folder))
                for kind in ("llama-1m", "qwen3-1m") for form in ("f32", "q2_0")]
    return 0 if all(near) else 1


if __name__ == "__main__":
    sys.exit(main())
