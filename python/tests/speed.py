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
import tempfile
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
        """The second of two lines: the first one makes what a model makes once (the copy of its head)."""
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/in", "w", encoding="utf-8") as file:
                for count in (16, int(tokens)):
                    file.write(json.dumps({"prompt": PROMPT, **settings, "n_predict": count}) + "\n")
            subprocess.run([program, "batch", f"{folder}/in", "-o", f"{folder}/out", "-np", "1", "--timings", "--quiet",
                            *(["-m", path] if path else [])], check=True)
            with open(f"{folder}/out", encoding="utf-8") as file:
                return json.loads(list(file)[1])["timings"]["predicted_per_second"]

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
