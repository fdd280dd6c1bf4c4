#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that tokenizer.py and `bittern tokenize` give the same ids.

    train/agree.py --work models/local/pocket --model FILE --bittern build/dev/apps/cli/bittern
"""
import argparse
import json
import pathlib
import random
import subprocess

import tokenizer

HARD = ["", "Hello world", "User: What is a tern?<|eot_id|>Assistant: ", "it's IT'S don'T we'Re",
        "  two  spaces\n\n\tand tabs 12345 \r\n", "na\u00efve caf\u00e9 \u0395\u03bb\u03bb \u6f22\u5b57 \u00bd x\u00b2 \u200b a\u0301",
        "a\x1cb\u00a0c\u3000d\u2028e", "..!!\r\n\r\n  x  ", "<|begin_of_text|><|eot_id", "\U0001f426\U0001f427 birds"]


def texts():
    """Hard cases, and random strings over characters where classes meet."""
    rng = random.Random(1)
    alphabet = "ab ABs'tlr1234  \n\r\t.,!?-\u00e9\u6f22\u0301\u00bd\u00a0\U0001f426<|>_"
    return HARD + ["".join(rng.choices(alphabet, k=rng.randint(1, 40))) for _ in range(2000)]


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--work", default="models/local/pocket")
    p.add_argument("--model", required=True)
    p.add_argument("--bittern", default="build/dev/apps/cli/bittern")
    o = p.parse_args()
    tok = tokenizer.load(pathlib.Path(o.work) / "tokenizer.json")
    lines = "".join(json.dumps(t) + "\n" for t in texts())
    run = subprocess.run([o.bittern, "tokenize", "-m", o.model, "--jsonl", "--no-bos",
                          "--parse-special"], input=lines, capture_output=True, text=True,
                         check=True)
    found = [json.loads(line)["ids"] for line in run.stdout.splitlines()]
    bad = [t for t, ids in zip(texts(), found) if tok.encode(t) != ids]
    if bad or len(found) != len(texts()):
        raise SystemExit("%d of %d texts differ, e.g. %r" % (len(bad), len(found), bad[:3]))
    print("tokenizer: %d texts, the same ids" % len(found))


if __name__ == "__main__":
    main()
