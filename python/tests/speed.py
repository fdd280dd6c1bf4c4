#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tokens a second beside the command line's, in turn: no test, since machines are noisy. The twin of
node/test/speed.mjs. The prompt is read before the clock starts, as the command line counts it.

usage: BITTERN_LIBRARY=... PYTHONPATH=python speed.py BITTERN [MODEL [TOKENS [ROUNDS]]]
"""
import json
import statistics
import subprocess
import sys
import time

import bittern

PROMPT = "On the"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program, path, tokens, rounds = (sys.argv[1:] + [None, "500", "7"][len(sys.argv) - 2:])[:4]
    settings = {"n_predict": int(tokens), "ignore_eos": True, "temperature": 1, "seed": 1}
    model = bittern.Model(path or None)
    ids = model.tokenize(PROMPT)

    def command_line():
        words = ["run", "-p", PROMPT, "-n", tokens, "--temp", "1", "-s", "1", "--ignore-eos", "--json"]
        done = subprocess.run([program, *words, *(["-m", path] if path else [])], check=True, capture_output=True)
        return json.loads(done.stdout)["timings"]["predicted_per_second"]

    def timed(work):
        with model.sequence() as sequence:  # threads that slept are placed anew: the command line's have just loaded
            sequence.eval(ids)
            sequence.generate(**settings | {"n_predict": 16})
        with model.sequence() as sequence:
            sequence.eval(ids)
            begin = time.perf_counter()
            work(sequence)
            return int(tokens) / (time.perf_counter() - begin)

    ways = {"command line": command_line,
            "generate()": lambda: timed(lambda sequence: sequence.generate(**settings)),
            "for": lambda: timed(lambda sequence: sum(1 for _ in sequence.stream(**settings)))}
    speeds = {name: [] for name in ways}
    for first in range(int(rounds)):
        names = list(ways)
        for name in names[first % len(names):] + names[:first % len(names)]:
            speeds[name].append(ways[name]())
    base = statistics.median(speeds["command line"])
    for name, found in speeds.items():
        middle = statistics.median(found)
        print(f"{name:13} {middle:8.1f} tokens/s  {(middle / base - 1) * 100:6.1f} %  ({min(found):.1f} to {max(found):.1f})")


main()
