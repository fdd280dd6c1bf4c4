#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No false alarm: `bittern doctor` finds nothing in a healthy file, whatever format `convert` gives it.

usage: healthy_test.py BITTERN MODEL... [--formats A,B | all]

MODEL: a GGUF file or a Hugging Face folder. Without --formats only the files themselves. A format that cannot hold a
model's shapes is told and left out. Also compares each with what it was made of (--like): nothing may differ.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

# Formats that keep the weights as codes and scales: --like has to find them all.
SKIPPED = "has no weight 0|cannot|multiple|does not fit|no tiling|not supported|shape|columns|rows"


def run(*arguments):
    return subprocess.run(arguments, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def formats_of(bittern):
    text = run(bittern, "convert", "--help").stdout
    listed = re.search(r"--to FORMAT\s+Format of the ternary weights: (.*?)\(required\)", text, re.S).group(1)
    return [name.strip() for name in re.sub(r"\s+", " ", listed).split(",")]


def examine(bittern, path, of=None):
    done = run(bittern, "doctor", path, "--json")
    try:
        said = json.loads(done.stdout)
    except json.JSONDecodeError:
        return "error: " + done.stderr.strip()
    if said["verdict"] not in ("healthy", "nothing_found") or done.returncode != 0 or said["findings"]:
        return said["verdict"] + ": " + said["summary"]
    if of:
        said = json.loads(run(bittern, "doctor", path, "--json", "--like", of).stdout)
        if said["like"]["unlike"]:
            return "unlike: " + str(said["like"]["unlike"][:3])
    return "healthy"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bittern")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--formats", default="")
    options = parser.parse_args()
    formats = formats_of(options.bittern) if options.formats == "all" else [f for f in options.formats.split(",") if f]
    bad = good = 0
    for model in options.models:
        cases = [(model, None, "as it is")]
        with tempfile.TemporaryDirectory() as folder:
            for name in formats:
                out = os.path.join(folder, name.replace(":", "-") + ("" if name == "safetensors" else ".gguf"))
                done = run(options.bittern, "convert", model, out, "--to", name)
                if done.returncode != 0:
                    left_out = re.search(SKIPPED, done.stderr) is not None
                    bad += not left_out
                    print(f"{model} {name}: {'left out' if left_out else 'FAILED'}: {done.stderr.strip()}", flush=True)
                    continue
                cases.append((out, model, name))
            for path, of, name in cases:
                said = examine(options.bittern, path, of)
                good += said == "healthy"
                bad += said != "healthy"
                print(f"{model} {name}: {said}", flush=True)
    print(f"{good} healthy, {bad} not")
    return 1 if bad or not good else 0


sys.exit(main())
